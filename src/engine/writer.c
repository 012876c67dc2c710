/*-------------------------------------------------------------------------
 *
 * writer.c
 *	  Writing a set, every container in its canonical form.
 *
 * The caller appends buckets and containers in ascending order.  Values and ranges
 * in any order are for build.c, which calls this.
 *
 * src/engine/writer.c
 *
 *-------------------------------------------------------------------------
 */
#include "writer.h"

/* The most bytes that are reserved in vain for the header of an open bucket. */
#define HEADER_SLACK (r64_bucket_header_size(MAX_CONTAINERS, true) + 16)
#define MAX_CONTAINERS 65536	/* in a bucket */

#define FIRST_STAGED 256		/* containers staged without growing */
#define MAX_WASTE 8192			/* bytes that are not worth giving back */

/*
 * Above two steps, capacity is rounded up to a step, so that the block of a
 * slightly smaller set can be reused: new memory costs more than the copy.
 */
#define CAPACITY_STEP 32768

static void
too_large(const r64_env *env)
{
	env->fail(R64_TOO_LARGE, "result too large");
}

/* Grows the memory to have more bytes free at the end. */
void
r64_writer_grow(r64_writer *w, size_t more)
{
	const r64_env *env = w->env;
	size_t		limit = env->max_size + HEADER_SLACK;
	size_t		need = w->len + more;
	size_t		cap = w->cap * 2;

	if (need > limit)
		too_large(env);
	if (cap < need)
		cap = need;
	if (cap > limit)
		cap = limit;
	w->base = env->resize(w->base, env->headroom + cap);
	w->cap = cap;
}

/* Grows the list of staged containers to n. */
void
r64_writer_stage(r64_writer *w, uint32_t n)
{
	const r64_env *env = w->env;
	size_t		size;

	if (n <= w->staged_capacity)
		return;
	if (n < 2 * w->staged_capacity)
		n = 2 * w->staged_capacity;
	if (n < FIRST_STAGED)
		n = FIRST_STAGED;
	size = n * sizeof(r64_staged);
	w->staged = w->staged == NULL ? env->alloc(size) :
		env->resize(w->staged, size);
	w->staged_capacity = n;
}

/* Starts a set; expected is a guess at its size in bytes. */
void
r64_writer_init(r64_writer *w, const r64_env *env, size_t expected)
{
	memset(w, 0, sizeof(*w));
	w->env = env;
	w->cap = expected + R64_HEADER_SIZE;
	if (w->cap > 2 * CAPACITY_STEP)
		w->cap = (w->cap | (CAPACITY_STEP - 1)) + 1;
	if (w->cap > env->max_size + HEADER_SLACK)
		w->cap = env->max_size + HEADER_SLACK;
	w->base = env->alloc(env->headroom + w->cap);
	w->len = R64_HEADER_SIZE;
}

/* Ends the set: the writer's memory becomes the result. */
r64_buf
r64_writer_finish(r64_writer *w)
{
	const r64_env *env = w->env;
	r64_buf		buf = {.base = w->base,.size = w->len};

	if (w->len > env->max_size)
		too_large(env);
	/* results can be kept for long, and there can be many */
	if (w->cap > MAX_WASTE && w->len < w->cap / 4)
		buf.base = env->resize(w->base, env->headroom + w->len);
	r64_store64(buf.base + env->headroom, w->nbuckets);
	if (w->staged != NULL)
		env->release(w->staged);
	return buf;
}

/* Appends n whole buckets, which take size bytes, as they are. */
void
r64_writer_buckets(r64_writer *w, const uint8_t *bytes, size_t size, uint64_t n)
{
	if (size > 0)
		memcpy(r64_writer_reserve(w, size), bytes, size);
	w->len += size;
	w->nbuckets += n;
}

/*
 * Opens a bucket.  How many containers to expect, and whether there will be
 * runs among them, is a guess that saves work if it is right.
 */
void
r64_writer_begin(r64_writer *w, uint32_t high, uint32_t expected,
				 bool expect_runs)
{
	size_t		header;

	/* the sum of two sides can exceed the number of keys */
	if (expected > MAX_CONTAINERS)
		expected = MAX_CONTAINERS;
	header = 4 + r64_bucket_header_size(expected, expect_runs);

	w->high = high;
	w->n = 0;
	w->nruns = 0;
	w->start = w->len;
	r64_writer_stage(w, expected);
	(void) r64_writer_reserve(w, header);
	w->len += header;
	w->data = w->len;
}

/* Ends the open bucket.  If it has no containers, it leaves no trace. */
void
r64_writer_end(r64_writer *w)
{
	bool		has_runs = w->nruns > 0;
	uint32_t	n = w->n;
	size_t		header = r64_bucket_header_size(n, has_runs);
	size_t		data = w->start + 4 + header;
	size_t		size = w->len - w->data;
	uint8_t    *p;

	if (n == 0)
	{
		w->len = w->start;
		return;
	}
	if (n > MAX_CONTAINERS)
		r64_corrupt(w->env, "container keys not ascending");
	if (data != w->data)
	{
		if (data > w->data)
			(void) r64_writer_reserve(w, data - w->data);
		memmove(r64_writer_at(w, data), r64_writer_at(w, w->data), size);
		w->len = data + size;
	}

	p = r64_writer_at(w, w->start);
	r64_store32(p, w->high);
	p += 4;
	if (has_runs)
	{
		r64_store32(p, R64_COOKIE_RUN | (n - 1) << 16);
		p += 4;
		memset(p, 0, (n + 7) / 8);
		for (uint32_t i = 0; i < n; i++)
			p[i / 8] |= (uint8_t) (w->staged[i].is_run << (i % 8));
		p += (n + 7) / 8;
	}
	else
	{
		r64_store32(p, R64_COOKIE_NO_RUN);
		r64_store32(p + 4, n);
		p += 8;
	}
	for (uint32_t i = 0; i < n; i++)
		r64_store32(p + 4 * (size_t) i, w->staged[i].keycard);
	p += 4 * (size_t) n;
	if (!has_runs || n >= R64_NO_OFFSET_LIMIT)
		for (uint32_t i = 0; i < n; i++)
			r64_store32(p + 4 * (size_t) i,
						w->staged[i].offset + (uint32_t) header);
	w->nbuckets++;
}

/* Appends containers [from, to) of a stored bucket as they are. */
void
r64_writer_copy(r64_writer *w, const r64_bucket *b, uint32_t from, uint32_t to)
{
	size_t		first = r64_container_offset(w->env, b, from);
	size_t		last = r64_container_offset(w->env, b, to);
	size_t		at = w->len - w->data;
	size_t		offset = first;
	uint8_t    *p;

	if (R64_UNLIKELY(last < first))
		r64_corrupt(w->env, "container offsets not ascending");
	r64_writer_stage(w, w->n + (to - from));
	p = r64_writer_reserve(w, last - first);
	memcpy(p, b->cookie + first, last - first);
	w->len += last - first;

	for (uint32_t i = from; i < to; i++)
	{
		bool		is_run = r64_bucket_is_run(b, i);

		w->staged[w->n].keycard = r64_load32(b->keycards + 4 * (size_t) i);
		w->staged[w->n].offset = (uint32_t) (at + offset - first);
		w->staged[w->n].is_run = is_run;
		w->n++;
		w->nruns += is_run;
		if (i + 1 < to)
			offset = r64_container_offset(w->env, b, i + 1);
	}
}

/* Appends a container as it is. */
void
r64_writer_container(r64_writer *w, const r64_container *c)
{
	size_t		header = c->type == R64_RUN ? 2 : 0;
	size_t		size = header + r64_container_size(c);

	memcpy(r64_writer_append(w, c->key, c->card, header > 0, size),
		   c->data - header, size);
}

/*
 * The number of runs of a container decides its type.  Most containers have
 * too many runs, which shows early.  So these functions count in blocks,
 * which compilers vectorize, and stop when there are too many; the number is
 * exact if r64_prefers_runs accepts it.
 */
#define ARRAY_BLOCK 32			/* values */
#define BITSET_BLOCK 32			/* words */
#define RUN_BLOCK 32

static uint32_t
array_runs(const uint16_t *v, uint32_t card)
{
	uint32_t	nruns = 1;
	uint32_t	i = 1;

	for (; i + ARRAY_BLOCK <= card; i += ARRAY_BLOCK)
	{
		const uint16_t *here = v + i;
		const uint16_t *before = v + i - 1;
		uint16_t	starts = 0;

		if (!r64_prefers_runs(card, nruns))
			return nruns;
		for (int k = 0; k < ARRAY_BLOCK; k++)
			starts += (uint16_t) (here[k] - before[k]) != 1;
		nruns += starts;
	}
	for (; i < card; i++)
		nruns += v[i] != v[i - 1] + 1;
	return nruns;
}

/*
 * The number of runs that start in a block of words, before which there is
 * another word.  At most four start in a byte, so the counts of all words are
 * added bytewise first, and the bytes at the end.
 */
static uint32_t
block_runs(const uint64_t *words)
{
	const uint64_t pairs = UINT64_C(0x3333333333333333);
	const uint64_t bytes = UINT64_C(0x00ff00ff00ff00ff);
	const uint64_t *before = words - 1;
	uint64_t	sums = 0;

	for (int k = 0; k < BITSET_BLOCK; k++)
	{
		uint64_t	n = words[k] & ~(words[k] << 1 | before[k] >> 63);

		/* no two starts are neighbours, so each pair of bits is a count */
		n = (n | n >> 1) & UINT64_C(0x5555555555555555);
		n = (n & pairs) + (n >> 2 & pairs);
		sums += (n + (n >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	}
	sums = (sums & bytes) + (sums >> 8 & bytes);
	return (uint32_t) (sums * UINT64_C(0x0001000100010001) >> 48);
}

/*
 * The number of runs of a bitset; exact if r64_prefers_runs accepts it.
 */
uint32_t
r64_bitset_runs(const uint64_t *words)
{
	uint64_t	first[1 + BITSET_BLOCK] = {0};
	uint32_t	nruns;

	memcpy(first + 1, words, BITSET_BLOCK * sizeof(uint64_t));
	nruns = block_runs(first + 1);
	for (uint32_t i = BITSET_BLOCK;
		 i < R64_BITSET_WORDS && nruns <= R64_RUNS_MAX; i += BITSET_BLOCK)
		nruns += block_runs(words + i);
	return nruns;
}

/* Appends a bitset as such. */
static void
append_bitset(r64_writer *w, uint16_t key, const uint64_t *words,
			  uint32_t card)
{
	memcpy(r64_writer_append(w, key, card, false, R64_BITSET_BYTES), words,
		   R64_BITSET_BYTES);
}

/*
 * Appends an array as a container in its canonical form, unless it is empty.
 */
void
r64_writer_array(r64_writer *w, uint16_t key, const uint16_t *values,
				 uint32_t card)
{
	uint32_t	nruns;
	uint8_t    *p;

	if (card == 0)
		return;
	/* a kernel returns more only if its input did not ascend */
	if (R64_UNLIKELY(card > R64_ARRAY_MAX))
		r64_corrupt(w->env, "array values not ascending");
	nruns = array_runs(values, card);
	if (!r64_prefers_runs(card, nruns))
	{
		p = r64_writer_append(w, key, card, false, 2 * (size_t) card);
		memcpy(p, values, 2 * (size_t) card);
		return;
	}

	/* fewer bytes as runs */
	p = r64_writer_append(w, key, card, true, 2 + 4 * (size_t) nruns);
	r64_store16(p, (uint16_t) nruns);
	p += 2;
	for (uint32_t i = 0, first = 0; i < card && nruns > 0; i++)
	{
		if (i + 1 < card && values[i + 1] == values[i] + 1)
			continue;
		r64_store16(p, values[first]);
		r64_store16(p + 2, (uint16_t) (i - first));
		p += 4;
		first = i + 1;
		nruns--;
	}
}

/*
 * Writes the runs of a bitset, nruns of them.  A run lies between two
 * changes of bits, and one kernel finds all changes, without a branch for each.
 */
static void
store_bitset_runs(uint8_t *p, const uint64_t *words, uint32_t nruns)
{
	r64_words	changes;
	r64_values	at;
	uint64_t	before = 0;

	for (uint32_t i = 0; i < R64_BITSET_WORDS; i++)
	{
		changes.w[i] = words[i] ^ (words[i] << 1 | before);
		before = words[i] >> 63;
	}
	/* a run through the last value ends at 65536, which is 0 here */
	at.v[r64_kernel.bitset_extract_setbits_uint16(changes.w, R64_BITSET_WORDS,
												  at.v, 0)] = 0;
	for (uint32_t i = 0; i < nruns; i++)
	{
		uint16_t	start = at.v[2 * i];

		r64_store16(p + 4 * (size_t) i, start);
		r64_store16(p + 4 * (size_t) i + 2,
					(uint16_t) (at.v[2 * i + 1] - 1 - start));
	}
}

/*
 * Appends a bitset as a container in its canonical form, unless it is empty.
 * card is its cardinality, or 0 if that is to be counted.
 */
void
r64_writer_bitset(r64_writer *w, uint16_t key, const uint64_t *words,
				  uint32_t card)
{
	bitset_container_t view = {
		.cardinality = (int32_t) card,
		.words = (uint64_t *) (uintptr_t) words
	};
	uint32_t	nruns;
	uint8_t    *p;

	/* write the bits that are set, whatever few the caller says */
	if (card <= R64_ARRAY_MAX)
		card = (uint32_t)
			r64_kernel.bitset_container_compute_cardinality(&view);
	if (card == 0)
		return;
	nruns = r64_bitset_runs(words);
	if (r64_prefers_runs(card, nruns))
	{
		p = r64_writer_append(w, key, card, true, 2 + 4 * (size_t) nruns);
		r64_store16(p, (uint16_t) nruns);
		store_bitset_runs(p + 2, words, nruns);
	}
	else if (card <= R64_ARRAY_MAX)
	{
		r64_values	values;

		(void) r64_kernel.bitset_extract_setbits_uint16(words, R64_BITSET_WORDS,
														values.v, 0);
		p = r64_writer_append(w, key, card, false, 2 * (size_t) card);
		memcpy(p, values.v, 2 * (size_t) card);
	}
	else
		append_bitset(w, key, words, card);
}

/*
 * Appends runs as a container in its canonical form, unless there are none.
 */
void
r64_writer_runs(r64_writer *w, uint16_t key, const rle16_t *runs,
				uint32_t nruns)
{
	uint32_t	card = nruns;
	uint32_t	i = 0;
	uint8_t    *p;

	for (; i + RUN_BLOCK <= nruns; i += RUN_BLOCK)
		for (int k = 0; k < RUN_BLOCK; k++)
			card += r64_load32((const uint8_t *) (runs + i + k)) >> 16;
	for (; i < nruns; i++)
		card += runs[i].length;
	if (card == 0)
		return;
	if (r64_prefers_runs(card, nruns))
	{
		p = r64_writer_append(w, key, card, true, 2 + 4 * (size_t) nruns);
		r64_store16(p, (uint16_t) nruns);
		memcpy(p + 2, runs, 4 * (size_t) nruns);
	}
	else if (card <= R64_ARRAY_MAX)
	{
		p = r64_writer_append(w, key, card, false, 2 * (size_t) card);
		for (i = 0; i < nruns; i++)
			for (uint32_t v = 0; v <= runs[i].length; v++, p += 2)
				r64_store16(p, (uint16_t) (runs[i].value + v));
	}
	else
	{
		r64_words	bitset;

		memset(bitset.w, 0, R64_BITSET_BYTES + sizeof(uint64_t));
		r64_set_runs(w->env, bitset.w, (const uint8_t *) runs, nruns);
		append_bitset(w, key, bitset.w, card);
	}
}
