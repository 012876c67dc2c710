/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  Bytes from elsewhere: are they a set, and are they canonical?
 *
 * Bytes are refused if they are not what RoaringFormatSpec describes, or if they
 * contradict themselves: counts, cardinalities and offsets that do not match the
 * containers; keys, values and runs out of order; trailing bytes.  Where the
 * format leaves a choice, they are accepted although not canonical: empty
 * buckets, a container of another type than ours, a run cookie without run
 * containers, spare run flags that are set.
 *
 * Stored values are not checked here: they were on their way in.
 *
 * src/engine/validate.c
 *
 *-------------------------------------------------------------------------
 */
#include "writer.h"

typedef struct checker
{
	const r64_env *env;
	const uint8_t *bytes;
	size_t		size;
	size_t		pos;			/* next byte to read */
	bool		canonical;
	r64_diagnosis *why;
} checker;

/* Notes why the bytes are refused, and where. */
static bool
refuse(checker *k, const char *reason, size_t offset)
{
	k->why->reason = reason;
	k->why->offset = offset;
	return false;
}

/* Whether there are size more bytes. */
static inline bool
have(const checker *k, size_t size)
{
	return size <= k->size - k->pos;
}

static bool
check_array(checker *k, uint32_t card)
{
	const uint8_t *p = k->bytes + k->pos;
	uint32_t	nruns = 1;

	if (!have(k, 2 * (size_t) card))
		return refuse(k, "truncated array container", k->pos);
	for (uint32_t i = 1; i < card; i++)
	{
		uint16_t	before = r64_load16(p + 2 * (size_t) (i - 1));
		uint16_t	v = r64_load16(p + 2 * (size_t) i);

		if (v <= before)
			return refuse(k, "array values not ascending",
						  k->pos + 2 * (size_t) i);
		nruns += v != before + 1;
	}
	if (r64_prefers_runs(card, nruns))
		k->canonical = false;
	k->pos += 2 * (size_t) card;
	return true;
}

static bool
check_bitset(checker *k, uint32_t card)
{
	r64_container c = {.data = k->bytes + k->pos};
	r64_words	scratch;
	bitset_container_t view;

	if (!have(k, R64_BITSET_BYTES))
		return refuse(k, "truncated bitset container", k->pos);
	view = r64_view_bitset(&c, &scratch);
	if ((uint32_t) r64_kernel.bitset_container_compute_cardinality(&view) != card)
		return refuse(k, "bitset container with wrong cardinality", k->pos);
	if (r64_prefers_runs(card, r64_bitset_runs(view.words)))
		k->canonical = false;
	k->pos += R64_BITSET_BYTES;
	return true;
}

static bool
check_runs(checker *k, uint32_t card)
{
	size_t		start = k->pos;
	const uint8_t *p;
	uint32_t	nruns;
	uint32_t	count = 0;
	int32_t		end = -2;		/* of the run before */

	if (!have(k, 2))
		return refuse(k, "truncated run container", k->pos);
	nruns = r64_load16(k->bytes + k->pos);
	if (nruns == 0)
		return refuse(k, "run container without runs", k->pos);
	k->pos += 2;
	if (!have(k, 4 * (size_t) nruns))
		return refuse(k, "truncated run container", start);
	p = k->bytes + k->pos;
	for (uint32_t i = 0; i < nruns; i++)
	{
		int32_t		first = r64_run_start(p, i);
		int32_t		length = r64_run_length(p, i);

		if (first <= end)
			return refuse(k, "runs overlap or do not ascend",
						  k->pos + 4 * (size_t) i);
		if (first == end + 1)
			return refuse(k, "adjacent runs not merged", k->pos + 4 * (size_t) i);
		end = first + length;
		if (end > UINT16_MAX)
			return refuse(k, "run exceeds 65535", k->pos + 4 * (size_t) i);
		count += (uint32_t) length + 1;
	}
	if (count != card)
		return refuse(k, "run container with wrong cardinality", start);
	if (!r64_prefers_runs(card, nruns))
		k->canonical = false;
	k->pos += 4 * (size_t) nruns;
	return true;
}

/*
 * Checks the 32-bit bitmap at pos.
 */
static bool
check_bitmap(checker *k)
{
	size_t		cookie_pos = k->pos;
	const char *wrong;
	r64_bucket	b;
	bool		has_runs = false;

	if (!have(k, R64_MIN_BUCKET - 4))
		return refuse(k, "truncated bucket", k->pos);
	wrong = r64_header_read(k->bytes + k->pos, &b);
	if (wrong != NULL)
		return refuse(k, wrong, k->pos);
	if (!have(k, (size_t) (b.data - b.cookie)))
		return refuse(k, "truncated bucket header", k->pos);
	k->pos += (size_t) (b.data - b.cookie);
	if (b.n == 0 || (b.run_flags != NULL && b.n % 8 != 0 &&
					 b.run_flags[b.n / 8] >> (b.n % 8) != 0))
		k->canonical = false;

	for (uint32_t i = 0; i < b.n; i++)
	{
		uint32_t	card = r64_bucket_card(&b, i);
		bool		good;

		r64_poll_every(k->env, i, 255);
		if (i > 0 && r64_bucket_key(&b, i) <= r64_bucket_key(&b, i - 1))
			return refuse(k, "container keys not ascending",
						  (size_t) (b.keycards - k->bytes) + 4 * (size_t) i);
		if (b.offsets != NULL &&
			r64_load32(b.offsets + 4 * (size_t) i) != k->pos - cookie_pos)
			return refuse(k, "wrong container offset",
						  (size_t) (b.offsets - k->bytes) + 4 * (size_t) i);
		if (r64_bucket_is_run(&b, i))
		{
			has_runs = true;
			good = check_runs(k, card);
		}
		else if (card <= R64_ARRAY_MAX)
			good = check_array(k, card);
		else
			good = check_bitset(k, card);
		if (!good)
			return false;
	}
	if (b.run_flags != NULL && !has_runs)
		k->canonical = false;
	return true;
}

/* Checks all bytes. */
static bool
check_set(checker *k)
{
	uint64_t	n;
	uint64_t	next_high = 0;	/* smallest high half that may come */

	if (!have(k, R64_HEADER_SIZE))
		return refuse(k, "truncated header", 0);
	n = r64_load64(k->bytes);
	k->pos = R64_HEADER_SIZE;
	if (n > (k->size - R64_HEADER_SIZE) / R64_MIN_BUCKET)
		return refuse(k, "too short for its number of buckets", 0);
	for (uint64_t i = 0; i < n; i++)
	{
		uint32_t	high;

		r64_poll_every(k->env, i, 255);
		if (!have(k, 4))
			return refuse(k, "truncated bucket", k->pos);
		high = r64_load32(k->bytes + k->pos);
		if (high < next_high)
			return refuse(k, "buckets not ascending", k->pos);
		next_high = (uint64_t) high + 1;
		k->pos += 4;
		if (!check_bitmap(k))
			return false;
	}
	return k->pos == k->size || refuse(k, "trailing bytes", k->pos);
}

/*
 * Judges any bytes at all.  Never fails; fills *why only if they are invalid.
 */
r64_verdict
r64_check(const r64_env *env, const void *bytes, size_t size,
		  r64_diagnosis *why)
{
	checker		k = {
		.env = env,
		.bytes = bytes,
		.size = size,
		.canonical = true,
		.why = why
	};
	r64_diagnosis refused;

	if (check_set(&k))
		return k.canonical ? R64_CANONICAL : R64_LEGAL;

	/* a common mistake: a 32-bit bitmap, as in one bucket */
	refused = *why;
	k.pos = 0;
	refused.is_32bit = check_bitmap(&k) && k.pos == size;
	*why = refused;
	if (refused.is_32bit)
		(void) refuse(&k, "a 32-bit Roaring bitmap", 0);
	return R64_INVALID;
}

/* Appends a legal container, in its canonical form. */
static void
write_container(r64_writer *w, const r64_container *c)
{
	if (c->type == R64_ARRAY)
	{
		r64_values	scratch;
		array_container_t view = r64_view_array(w->env, c, &scratch);

		r64_writer_array(w, c->key, view.array, c->card);
	}
	else
	{
		/* a foreign run container can have more runs than ours */
		r64_words	scratch;

		r64_writer_bitset(w, c->key,
						  r64_view_as_bitset(w->env, c, &scratch).words, 0);
	}
}

/* Returns the canonical form of bytes that r64_check has found legal. */
r64_buf
r64_canonicalise(const r64_env *env, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t	n = r64_load64(p);
	size_t		pos = R64_HEADER_SIZE;
	r64_set		s = {.env = env,.bytes = p,.size = size};
	r64_writer	w;
	r64_bucket	b;
	r64_container c;

	r64_writer_init(&w, env, size);
	for (uint64_t i = 0; i < n; i++)
	{
		r64_poll_every(env, i, 255);

		/* an empty bucket, which only foreign bytes have, leaves no trace */
		if (size - pos >= R64_MIN_BUCKET &&
			r64_header_read(p + pos + 4, &b) == NULL && b.n == 0)
		{
			pos += R64_MIN_BUCKET;
			continue;
		}
		r64_bucket_open(&s, pos, &b);
		r64_writer_begin(&w, b.high, b.n, b.run_flags != NULL);
		for (uint32_t k = 0; k < b.n; k++)
		{
			r64_container_at(env, &b, k, &c);
			write_container(&w, &c);
			r64_poll_every(env, k, 255);
		}
		r64_writer_end(&w);
		pos = (size_t) (b.end - p);
	}
	return r64_writer_finish(&w);
}
