/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Sets from values and ranges in any order.
 *
 * src/portable/build.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "builder.h"

#define DIGITS		8			/* radix sort by bytes */
#define RADIX		256
#define INSERTION_MAX 32		/* below that, insertion sort is faster */

r64_set
r64_singleton(const r64_env *env, int64_t v, uint8_t out[R64_SINGLETON_SIZE])
{
	uint64_t	u = (uint64_t) v;

	r64_store64(out, 1);
	r64_store32(out + 8, R64_HIGH(u));
	r64_store32(out + 12, R64_COOKIE_NO_RUN);
	r64_store32(out + 16, 1);
	r64_store32(out + 20, R64_KEY(u));	/* cardinality - 1 is 0 */
	r64_store32(out + 24, (uint32_t) r64_bucket_header_size(1, false));
	r64_store16(out + 28, R64_LOW(u));
	return (r64_set) {.env = env,.bytes = out,.size = R64_SINGLETON_SIZE};
}

static void
insertion_sort(uint64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64_t	x = v[i];
		size_t		j = i;

		for (; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

/*
 * Sorts by the least significant byte first, going over the values once per
 * byte in which they differ at all: for ids of one time or one table that is
 * a few of the eight.  (Knuth, The Art of Computer Programming 3, 5.2.5.)
 */
static void
radix_sort(const r64_env *env, uint64_t *v, size_t n)
{
	uint64_t   *from = v;
	uint64_t   *to = env->alloc(env->arg, n * sizeof(uint64_t));
	uint64_t   *spare = to;
	size_t		count[DIGITS][RADIX] = {{0}};

	for (size_t i = 0; i < n; i++)
		for (int d = 0; d < DIGITS; d++)
			count[d][v[i] >> (8 * d) & 0xFF]++;
	for (int d = 0; d < DIGITS; d++)
	{
		size_t		start = 0;
		uint64_t   *swap = from;

		if (count[d][v[0] >> (8 * d) & 0xFF] == n)
			continue;
		env->poll(env->arg);
		for (int k = 0; k < RADIX; k++)
		{
			size_t		here = count[d][k];

			count[d][k] = start;
			start += here;
		}
		for (size_t i = 0; i < n; i++)
			to[count[d][from[i] >> (8 * d) & 0xFF]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(uint64_t));
	env->release(env->arg, spare);
}

r64_buf
r64_from_values(const r64_env *env, int64_t *values, size_t n)
{
	/* stored order is that of the unsigned values */
	uint64_t   *v = (uint64_t *) values;
	r64_builder b;
	size_t		ascending = 1;

	while (ascending < n && v[ascending - 1] <= v[ascending])
		ascending++;
	if (ascending < n)
	{
		if (n <= INSERTION_MAX)
			insertion_sort(v, n);
		else
			radix_sort(env, v, n);
	}

	/* a lone value takes 10 bytes and more, a dense one less than 2 */
	r64_builder_init(&b, env, 4 * n + R64_SINGLETON_SIZE);
	for (size_t i = 0; i < n; i++)
	{
		r64_builder_add(&b, v[i], v[i]);
		r64_poll_every(env, i, 0xFFFF);
	}
	return r64_builder_finish(&b);
}

/* A range of unsigned values, lo <= hi. */
typedef struct interval
{
	uint64_t	lo;
	uint64_t	hi;
} interval;

static int
compare_intervals(const void *a, const void *b)
{
	uint64_t	x = ((const interval *) a)->lo;
	uint64_t	y = ((const interval *) b)->lo;

	return (x > y) - (x < y);
}

r64_buf
r64_from_ranges(const r64_env *env, const r64_range *ranges, size_t n)
{
	/* one that goes through zero makes two */
	interval   *v = env->alloc(env->arg, (2 * n + 1) * sizeof(interval));
	size_t		m = 0;
	r64_builder b;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t	lo = (uint64_t) ranges[i].lo;
		uint64_t	hi = (uint64_t) ranges[i].hi;

		if (ranges[i].lo > ranges[i].hi)
			continue;
		if (ranges[i].lo < 0 && ranges[i].hi >= 0)
		{
			v[m++] = (interval) {.lo = 0,.hi = hi};
			hi = UINT64_MAX;
		}
		v[m++] = (interval) {.lo = lo,.hi = hi};
	}
	qsort(v, m, sizeof(interval), compare_intervals);

	r64_builder_init(&b, env, 16 * m + R64_SINGLETON_SIZE);
	for (size_t i = 0; i < m; i++)
	{
		/* skip what the ranges before have covered */
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
			env->fail(env->arg, R64_TOO_LARGE, "result too large");
		r64_builder_add(&b, v[i].lo, v[i].hi);
		r64_poll_every(env, i, 0xFFFF);
	}
	env->release(env->arg, v);
	return r64_builder_finish(&b);
}
