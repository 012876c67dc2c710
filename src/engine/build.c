/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Building sets: from values or ranges in any order, or from a set that is moved.
 *
 * Everything is known before the set is made.  A set that grows is an accumulator.
 *
 * src/engine/build.c
 *
 *-------------------------------------------------------------------------
 */
#include "sort.h"
#include "writer.h"

#define NO_PREFIX	UINT64_MAX	/* more than any value >> 16 */
#define SHIFT_BATCH	512			/* elements read at a time */
#define LONG_RUN	32			/* a run of more is moved at once */

/*
 * The open container is a list of runs until that gets longer than any array
 * or run container could be; from then on it is a bitset.
 */
typedef struct builder
{
	r64_writer	w;
	bool		is_bitset;
	uint64_t	prefix;			/* of the open container: value >> 16 */
	uint32_t	nruns;
	rle16_t		runs[R64_ARRAY_MAX];
	r64_words	bitset;
} builder;

/* Opens a bucket, for as many containers as the last one had. */
static void
begin_bucket(r64_writer *w, uint32_t high)
{
	w->env->poll();
	r64_writer_begin(w, high, w->n > 0 ? w->n : 1, false);
}

/* Starts a set; expected_size is a guess at its size in bytes. */
static void
begin_set(builder *b, const r64_env *env, size_t expected_size)
{
	r64_writer_init(&b->w, env, expected_size);
	b->prefix = NO_PREFIX;
}

/*
 * Ends the open container, if any, and opens that of a prefix, unless that is
 * NO_PREFIX.  Where the high half changes, so does the bucket.
 */
static void
turn_to(builder *b, uint64_t prefix)
{
	bool		same_bucket = prefix >> 16 == b->prefix >> 16;

	if (b->prefix != NO_PREFIX)
	{
		uint16_t	key = (uint16_t) b->prefix;

		if (b->is_bitset)
			r64_writer_bitset(&b->w, key, b->bitset.w, 0);
		else
			r64_writer_runs(&b->w, key, b->runs, b->nruns);
		if (!same_bucket)
			r64_writer_end(&b->w);
	}
	if (prefix != NO_PREFIX && !same_bucket)
		begin_bucket(&b->w, (uint32_t) (prefix >> 16));
	b->is_bitset = false;
	b->prefix = prefix;
	b->nruns = 0;
}

/* Adds [start, end] to the open container. */
static inline void
add_run(builder *b, uint32_t start, uint32_t end)
{
	if (!b->is_bitset && b->nruns > 0)
	{
		rle16_t    *last = &b->runs[b->nruns - 1];
		uint32_t	last_end = (uint32_t) last->value + last->length;

		if (start <= last_end + 1)
		{
			if (end > last_end)
				last->length = (uint16_t) (end - last->value);
			return;
		}
		if (b->nruns == R64_ARRAY_MAX)
		{
			memset(b->bitset.w, 0, R64_BITSET_BYTES + sizeof(uint64_t));
			r64_set_runs(b->w.env, b->bitset.w, (const uint8_t *) b->runs,
						 b->nruns);
			b->is_bitset = true;
		}
	}
	if (b->is_bitset)
		bitset_set_lenrange(b->bitset.w, start, end - start);
	else
		b->runs[b->nruns++] = r64_make_run(start, end);
}

/*
 * Adds [lo, hi], unsigned, lo <= hi.  Each range must begin after the end of
 * the one before, or be a value that was just added.
 */
static void
add_range(builder *b, uint64_t lo, uint64_t hi)
{
	for (;;)
	{
		uint64_t	end = lo | UINT16_MAX;

		if (end > hi)
			end = hi;
		if (b->prefix != lo >> 16)
			turn_to(b, lo >> 16);
		add_run(b, R64_LOW(lo), R64_LOW(end));
		if (end == hi)
			return;
		lo = end + 1;
	}
}

/* Returns the set. */
static r64_buf
end_set(builder *b)
{
	turn_to(b, NO_PREFIX);
	return r64_writer_finish(&b->w);
}

/* Makes a set of one element without allocating: writes its bytes to out. */
r64_set
r64_singleton(const r64_env *env, int64_t v, uint8_t out[R64_SINGLETON_SIZE])
{
	r64_set		s = {.env = env,.bytes = out,.size = R64_SINGLETON_SIZE};
	uint64_t	u = (uint64_t) v;

	r64_store64(out, 1);
	r64_store32(out + 8, R64_HIGH(u));
	r64_store32(out + 12, R64_COOKIE_NO_RUN);
	r64_store32(out + 16, 1);
	r64_store32(out + 20, R64_KEY(u));	/* cardinality - 1 is 0 */
	r64_store32(out + 24, (uint32_t) r64_bucket_header_size(1, false));
	r64_store16(out + 28, R64_LOW(u));
	return s;
}

/* Appends the container of n ascending values that share a prefix. */
static void
write_values(r64_writer *w, const uint64_t *v, size_t n)
{
	uint16_t	key = R64_KEY(v[0]);
	r64_values	low;
	uint32_t	card = 0;

	if (n > R64_ARRAY_MAX)
	{
		r64_words	bitset;

		memset(bitset.w, 0, R64_BITSET_BYTES);
		for (size_t i = 0; i < n; i++)
			bitset.w[R64_LOW(v[i]) / 64] |= UINT64_C(1) << (v[i] % 64);
		r64_writer_bitset(w, key, bitset.w, 0);
		return;
	}
	for (size_t i = 0; i < n; i++)
	{
		low.v[card] = R64_LOW(v[i]);
		card += i + 1 == n || v[i] != v[i + 1];
	}
	r64_writer_array(w, key, low.v, card);
}

/* Makes a set of n values in any order; values may repeat.  Reorders them. */
r64_buf
r64_from_values(const r64_env *env, int64_t *values, size_t n)
{
	/* stored order is that of the unsigned values */
	uint64_t   *v = (uint64_t *) values;
	r64_writer	w;

	r64_sort_items(env, v, n, 1, 0);

	/* a lone value takes 10 bytes and more, a dense one less than 2 */
	r64_writer_init(&w, env, 4 * n + R64_SINGLETON_SIZE);
	for (size_t i = 0; i < n;)
	{
		uint32_t	high = R64_HIGH(v[i]);

		begin_bucket(&w, high);
		while (i < n && R64_HIGH(v[i]) == high)
		{
			size_t		first = i;

			while (i < n && v[i] >> 16 == v[first] >> 16)
				i++;
			write_values(&w, v + first, i - first);
			r64_poll_every(env, w.n, 255);
		}
		r64_writer_end(&w);
	}
	return r64_writer_finish(&w);
}

/* Sorts numbers in ascending order. */
void
r64_sort(const r64_env *env, uint64_t *numbers, size_t n)
{
	r64_sort_items(env, numbers, n, 1, 0);
}

/* A range of unsigned values, lo <= hi. */
typedef struct u64_range
{
	uint64_t	lo;
	uint64_t	hi;
} u64_range;

/* Makes the set of all integers in n ranges, which may come in any order. */
r64_buf
r64_from_ranges(const r64_env *env, const r64_range *ranges, size_t n)
{
	/* a range across zero becomes two */
	u64_range  *v = env->alloc((2 * n + 1) * sizeof(u64_range));
	size_t		m = 0;
	builder		b;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	lo = (uint64_t) ranges[i].lo;
		uint64_t	hi = (uint64_t) ranges[i].hi;

		if (ranges[i].lo > ranges[i].hi)
			continue;
		if (ranges[i].lo < 0 && ranges[i].hi >= 0)
		{
			v[m].lo = 0;
			v[m++].hi = hi;
			hi = UINT64_MAX;
		}
		v[m].lo = lo;
		v[m++].hi = hi;
	}
	r64_sort_items(env, &v->lo, m, sizeof(u64_range) / sizeof(uint64_t), 0);

	begin_set(&b, env, 16 * m + R64_SINGLETON_SIZE);
	for (size_t i = 0; i < m; i++)
	{
		/* skip what earlier ranges have covered */
		if (i > 0 && v[i].lo <= v[i - 1].hi)
		{
			if (v[i].hi <= v[i - 1].hi)
			{
				v[i].hi = v[i - 1].hi;
				continue;
			}
			v[i].lo = v[i - 1].hi + 1;
		}

		/* every full container takes 14 bytes; refuse before writing them */
		if ((v[i].hi >> 16) - (v[i].lo >> 16) > env->max_size / 14 + 1)
			env->fail(R64_TOO_LARGE, "result too large");
		add_range(&b, v[i].lo, v[i].hi);
		r64_poll_every(env, i, 0xFFFF);
	}
	env->release(v);
	return end_set(&b);
}

/*
 * Adds the elements in [lo, hi], moved by delta, to a builder.  A long run is added
 * at once; otherwise elements are read in batches.
 */
static void
shift_range(builder *out, r64_set *s, int64_t lo, int64_t hi, uint64_t delta)
{
	int64_t		batch[SHIFT_BATCH];
	int64_t		last;

	while (r64_next_run(s, lo, hi, &batch[0], &last))
	{
		if ((uint64_t) last - (uint64_t) batch[0] >= LONG_RUN)
			add_range(out, (uint64_t) batch[0] + delta,
					  (uint64_t) last + delta);
		else
		{
			size_t		n = r64_read(s, batch[0], hi, false, batch, SHIFT_BATCH);

			for (size_t i = 0; i < n; i++)
				add_range(out, (uint64_t) batch[i] + delta,
						  (uint64_t) batch[i] + delta);
			if (n > 0)
				last = batch[n - 1];
		}
		if (last == hi)
			break;
		lo = last + 1;
		s->env->poll();
	}
}

/*
 * Returns every element plus delta.  The caller has checked that no element
 * leaves int64.
 *
 * The result is built in stored order: first the elements that become
 * non-negative (none do if delta is the smallest bigint), then the negative ones.
 */
r64_buf
r64_shift(r64_set *s, int64_t delta)
{
	builder		out;
	uint64_t	d = (uint64_t) delta;

	begin_set(&out, s->env, s->size);
	if (delta > INT64_MIN)
		shift_range(&out, s, -delta, INT64_MAX, d);
	shift_range(&out, s, INT64_MIN, (int64_t) (-d - 1), d);
	return end_set(&out);
}
