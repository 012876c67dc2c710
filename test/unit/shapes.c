/*-------------------------------------------------------------------------
 *
 * shapes.c
 *	  Random sets of every shape.
 *
 * What matters to the engine is decided per container (its type, the edges
 * between the types) and per set (how many containers and buckets there are,
 * and where), so a container is drawn from one table and a set from another.
 *
 * test/unit/shapes.c
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "unit.h"
#include "shapes.h"

#define CHUNK_LAST	0xffff
#define CHUNKS		(UINT64_C(1) << 48)

/*
 * Containers: each fills the 65536 places of one chunk.
 */

static void
add_low(range_list *list, uint64_t chunk, uint32_t lo, uint32_t hi)
{
	range_list_add(list, (int64_t) (chunk << 16 | lo),
				   (int64_t) (chunk << 16 | hi));
}

/* Exactly n values, none more likely than another. */
static void
add_distinct(range_list *list, uint64_t chunk, uint32_t n)
{
	uint8_t		taken[CHUNK_LAST + 1];
	bool		few = n <= 32768;
	uint32_t	left = few ? n : 65536 - n;

	memset(taken, !few, sizeof(taken));
	while (left > 0)
	{
		uint32_t	v = (uint32_t) unit_below(65536);

		if (taken[v] != few)
		{
			taken[v] = few;
			left--;
		}
	}
	for (uint32_t v = 0; v < 65536; v++)
	{
		uint32_t	from = v;

		if (!taken[v])
			continue;
		while (v < CHUNK_LAST && taken[v + 1])
			v++;
		add_low(list, chunk, from, v);
	}
}

/*
 * n runs of the given length, one gap apart each, of which the first is
 * longer by extra.
 */
static void
add_runs(range_list *list, uint64_t chunk, uint32_t n, uint32_t length,
		 uint32_t gap, uint32_t extra)
{
	uint32_t	v = (uint32_t) unit_below(2);

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	last = v + length - 1 + (i == 0 ? extra : 0);

		if (last > CHUNK_LAST)
			return;
		add_low(list, chunk, v, last);
		v = last + 1 + gap;
		if (v > CHUNK_LAST)
			return;
	}
}

static void
add_few_runs(range_list *list, uint64_t chunk, uint32_t n, uint32_t longest)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	v = (uint32_t) unit_below(65536);
		uint32_t	last = v + (uint32_t) unit_skewed(longest);

		add_low(list, chunk, v, last < CHUNK_LAST ? last : CHUNK_LAST);
	}
}

static void
add_small_container(range_list *list, uint64_t chunk)
{
	switch (unit_below(6))
	{
		case 0:
			add_low(list, chunk, 0, 0);
			break;
		case 1:
			add_low(list, chunk, CHUNK_LAST, CHUNK_LAST);
			break;
		case 2:
			/* around the smallest run container, 3 values in 1 run */
			add_runs(list, chunk, 1, 1 + (uint32_t) unit_below(4), 1, 0);
			break;
		case 3:
			add_few_runs(list, chunk, 1 + (uint32_t) unit_below(4), 300);
			break;
		default:
			for (uint64_t i = unit_between(1, 8); i > 0; i--)
			{
				uint32_t	v = (uint32_t) unit_below(65536);

				add_low(list, chunk, v, v);
			}
			break;
	}
}

static void
add_container(range_list *list, uint64_t chunk)
{
	uint32_t	r;

	switch (unit_below(20))
	{
		case 0:					/* sparse array */
			add_distinct(list, chunk, 1 + (uint32_t) unit_skewed(4096));
			break;
		case 1:					/* the largest array, the smallest bitset */
			add_distinct(list, chunk, 4095 + (uint32_t) unit_below(4));
			break;
		case 2:					/* bitset */
			add_distinct(list, chunk,
						 4097 + (uint32_t) unit_below(65536 - 4097));
			break;
		case 3:					/* dense, nearly full */
			add_distinct(list, chunk, 65536 -
						 (uint32_t) (unit_one_in(2) ? unit_skewed(5000) :
									 unit_between(120, 2100)));
			break;
		case 4:					/* every second value: the most runs */
			add_runs(list, chunk, 32768, 1, 1, 0);
			break;
		case 5:					/* 2047 and 2048 runs: run and bitset */
			add_runs(list, chunk, 2046 + (uint32_t) unit_below(4),
					 3 + (uint32_t) unit_below(29), 1, 4000);
			break;
		case 6:					/* as many values as 2 per run, or 1 off */
			r = 1 + (uint32_t) unit_skewed(2048);
			add_runs(list, chunk, r, 2, 1 + (uint32_t) unit_below(3),
					 (uint32_t) unit_below(3));
			add_low(list, chunk, CHUNK_LAST,
					CHUNK_LAST);
			break;
		case 7:					/* runs with gaps */
			add_runs(list, chunk, 1 + (uint32_t) unit_skewed(3000),
					 1 + (uint32_t) unit_skewed(60),
					 1 + (uint32_t) unit_skewed(60), 0);
			break;
		case 8:
			add_few_runs(list, chunk, 1 + (uint32_t) unit_below(50), 20000);
			break;
		case 9:					/* full */
			add_low(list, chunk, 0, CHUNK_LAST);
			break;
		case 10:				/* full but for one */
			r = (uint32_t) unit_below(65536);
			if (r > 0)
				add_low(list, chunk, 0, r - 1);
			if (r < CHUNK_LAST)
				add_low(list, chunk, r + 1, CHUNK_LAST);
			break;
		case 11:				/* 4096 or 4097 in one run */
			add_low(list, chunk, 0, 4095 + (uint32_t) unit_below(2));
			break;
		case 12:				/* both ends */
			add_low(list, chunk, 0, (uint32_t) unit_skewed(65536));
			add_low(list, chunk, CHUNK_LAST - (uint32_t) unit_skewed(65536),
					CHUNK_LAST);
			break;
		default:
			add_small_container(list, chunk);
			break;
	}
}

/*
 * Where the containers are.
 */

universe
shape_universe(void)
{
	static const uint64_t limits[] = {
		0, 1, 0xffff, 0x10000,	/* first and last of the first bucket */
		0x7fffffffffff,			/* of the largest bigint */
		0x800000000000,			/* of the smallest */
		0xffffffffffff,			/* of -1 */
		0xffffffff0000			/* first of the last bucket */
	};
	universe	u;

	u.n = (int) unit_between(1, UNIVERSE_MAX);
	for (int i = 0; i < u.n; i++)
	{
		uint64_t	before = i > 0 ? u.chunks[i - 1] : unit_below(CHUNKS);

		switch (unit_below(4))
		{
			case 0:
				u.chunks[i] = limits[unit_below(8)];
				break;
			case 1:
				u.chunks[i] = (before + 1) % CHUNKS;
				break;
			case 2:
				u.chunks[i] = (before & ~UINT64_C(0xffff)) | unit_below(65536);
				break;
			default:
				u.chunks[i] = unit_below(CHUNKS);
				break;
		}
	}
	return u;
}

static int64_t
extreme(void)
{
	static const int64_t values[] = {
		0, 1, 65535, 65536, 65537, 131071,
		INT64_C(4294967295), INT64_C(4294967296), INT64_C(4294967297),
		INT64_C(281474976710656), INT64_MAX, INT64_MAX - 1,
		INT64_MAX - 65535, INT64_MAX - 65536, INT64_MAX - 70000, INT64_MIN, INT64_MIN + 1,
		INT64_MIN + 65535, INT64_MIN + 65536, -1, -2, -65536, -65537,
		INT64_C(-4294967296), INT64_C(-4294967297), INT64_C(-4294967295)
	};

	return values[unit_below(sizeof(values) / sizeof(values[0]))];
}

/* Ids as a generator makes them: time above, worker and sequence below. */
static void
add_snowflakes(range_list *list, const universe *u, uint64_t n)
{
	uint64_t	start = INT64_C(1279929600000) + u->chunks[0] % 5000;
	uint64_t	step = 1 + unit_skewed(100);

	for (uint64_t i = 0; i < n; i++)
	{
		int64_t		v = (int64_t) ((start + i * step) << 22 |
								   unit_below(4) << 12 | unit_below(3));

		range_list_add(list, v, v);
	}
}

static void
add_span(range_list *list, int64_t lo, uint64_t length)
{
	int64_t		hi = (uint64_t) INT64_MAX - (uint64_t) lo < length ?
		INT64_MAX : (int64_t) ((uint64_t) lo + length);

	range_list_add(list, lo, hi);
}

static int64_t
in_universe(const universe *u)
{
	return (int64_t) (u->chunks[unit_below((uint64_t) u->n)] << 16 |
					  unit_below(65536));
}

/* Whole buckets and a little more or less at each end. */
static void
add_full_buckets(range_list *list, const universe *u)
{
	uint64_t	high = u->chunks[0] >> 16;
	uint64_t	lo = high << 32;
	uint64_t	length = unit_between(1, 2) << 32;
	int64_t		from;

	switch (unit_below(4))
	{
		case 0:
			lo += unit_skewed(100000);
			break;
		case 1:
			lo -= unit_skewed(100000);
			break;
	}
	from = (int64_t) lo;
	add_span(list, from, length - 1 - unit_skewed(100000));
}

/* Many containers of one bucket, some of them runs, or none. */
static void
add_wide_bucket(range_list *list, const universe *u, uint64_t n)
{
	uint64_t	first = u->chunks[0] & ~UINT64_C(0xffff);
	bool		close = unit_one_in(2);
	bool		runs = unit_one_in(2);

	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t	chunk = first + (close ? i : unit_below(65536));

		if (runs && unit_one_in(3))
			add_low(list, chunk, 5, 5 + (uint32_t) unit_below(1000));
		else
			add_low(list, chunk, (uint32_t) unit_below(3), 3);
	}
}

/*
 * Ids so far apart that hardly two share a container, in the same buckets as
 * those of other sets in this universe.
 */
static void
add_sparse(range_list *list, const universe *u, uint64_t n)
{
	uint64_t	first = u->chunks[0] & ~UINT64_C(0xffff);

	for (uint64_t i = 0; i < n; i++)
	{
		uint32_t	v = (uint32_t) unit_below(65536);

		add_low(list, (first + unit_below(3 * 65536)) % CHUNKS, v, v);
	}
}

static void
add_many_buckets(range_list *list, const universe *u, uint64_t n)
{
	uint64_t	first = u->chunks[0] >> 16;
	bool		close = unit_one_in(2);

	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t	high = close ? first + i : unit_random();

		add_small_container(list, (high & 0xffffffff) << 16 |
							(unit_one_in(2) ? 0 : unit_below(65536)));
	}
}

model
shape_set(const universe *u, shape_size size)
{
	range_list	list = {0};
	uint64_t	many = size == SHAPE_SMALL ? 20 : 400;
	uint64_t	n;

	if (size == SHAPE_LARGE && unit_one_in(150))
	{
		unit_note(" full buckets");
		add_full_buckets(&list, u);
		return model_make(&list);
	}
	switch (unit_below(16))
	{
		case 0:
			unit_note(" empty");
			break;
		case 1:
			unit_note(" single");
			n = (uint64_t) (unit_one_in(2) ? extreme() : in_universe(u));
			range_list_add(&list, (int64_t) n, (int64_t) n);
			break;
		case 2:
			unit_note(" extremes");
			for (n = unit_between(1, 12); n > 0; n--)
				add_span(&list, extreme(),
						 unit_one_in(4) ? unit_skewed(200000) : unit_skewed(4));
			break;
		case 3:
			unit_note(" snowflakes");
			add_snowflakes(&list, u, 1 + unit_skewed(5 * many));
			break;
		case 4:
			unit_note(" random numbers");
			for (n = 1 + unit_skewed(many); n > 0; n--)
				add_span(&list, (int64_t) unit_random(), 0);
			break;
		case 5:
			unit_note(" sequence");
			add_span(&list, unit_one_in(2) ? extreme() : in_universe(u),
					 unit_skewed(300000));
			break;
		case 6:
			unit_note(" wide bucket");
			add_wide_bucket(&list, u, 1 + unit_skewed(many));
			break;
		case 7:
			unit_note(" many buckets");
			add_many_buckets(&list, u, 1 + unit_skewed(many));
			break;
		case 8:
			unit_note(" sparse");
			add_sparse(&list, u, 1 + unit_skewed(many));
			break;
		case 9:
			unit_note(" both ends");
			add_span(&list, INT64_MIN, unit_skewed(200000));
			add_span(&list, INT64_MAX - (int64_t) unit_below(300000),
					 unit_one_in(2) ? UINT64_MAX : unit_skewed(300000));
			break;
		default:
			unit_note(" containers");
			for (int i = 0; i < u->n; i++)
			{
				if (unit_one_in(3))
					continue;
				if (size == SHAPE_SMALL && !unit_one_in(10))
					add_small_container(&list, u->chunks[i]);
				else
					add_container(&list, u->chunks[i]);
			}
			break;
	}
	return model_make(&list);
}

model
shape_relative(const universe *u, const model *m)
{
	int64_t		lo;
	int64_t		hi;
	model		other;

	shape_range(u, m, &lo, &hi);
	switch (unit_below(6))
	{
		case 0:
			unit_note(" with itself");
			return *m;
		case 1:
			unit_note(" with one more");
			lo = shape_probe(u, m);
			other = model_range(lo, lo);
			return model_combine(R64_OR, m, &other);
		case 2:
			unit_note(" with one less");
			lo = shape_probe(u, m);
			other = model_range(lo, lo);
			return model_combine(R64_ANDNOT, m, &other);
		case 3:
			unit_note(" with a part");
			other = model_range(lo, hi);
			return model_combine(R64_AND, m, &other);
		case 4:
			unit_note(" with a superset");
			other = shape_set(u, SHAPE_MEDIUM);
			return model_combine(R64_OR, m, &other);
		default:
			unit_note(" with its other half");
			if (m->n == 0)
				return *m;
			lo = m->runs[0].lo;
			hi = m->runs[m->n - 1].hi;
			/* the hole between two buckets can be most of all integers */
			if ((uint64_t) hi - (uint64_t) lo > UINT64_C(1) << 28)
				hi = m->runs[0].hi;
			other = model_range(lo, hi);
			return model_combine(R64_ANDNOT, &other, m);
	}
}

static model
sparse_set(const universe *u)
{
	range_list	list = {0};

	add_sparse(&list, u, 1 + unit_skewed(400));
	return model_make(&list);
}

void
shape_pair(shape_size size, universe *u, model *a, model *b)
{
	*u = shape_universe();
	if (unit_one_in(16))
	{
		unit_note(" both sparse");
		*a = sparse_set(u);
		*b = sparse_set(u);
		return;
	}
	*a = shape_set(u, size);
	*b = unit_one_in(4) ? shape_relative(u, a) : shape_set(u, size);
	if (unit_one_in(2))
	{
		model		swapped = *a;

		*a = *b;
		*b = swapped;
	}
}

int64_t
shape_probe(const universe *u, const model *m)
{
	const r64_range *run;
	uint64_t	v;

	if (m->n > 0 && !unit_one_in(4))
	{
		run = &m->runs[unit_below(m->n)];
		switch (unit_below(3))
		{
			case 0:
				v = (uint64_t) run->lo;
				break;
			case 1:
				v = (uint64_t) run->hi;
				break;
			default:
				v = unit_between((uint64_t) run->lo, (uint64_t) run->hi);
				break;
		}
		/* wraps around at the limits, which is as good a probe */
		return (int64_t) (v + unit_below(3) - 1);
	}
	switch (unit_below(3))
	{
		case 0:
			return extreme();
		case 1:
			return in_universe(u);
		default:
			return (int64_t) unit_random();
	}
}

void
shape_range(const universe *u, const model *m, int64_t *lo, int64_t *hi)
{
	*lo = shape_probe(u, m);
	switch (unit_below(4))
	{
		case 0:
			*hi = (int64_t) ((uint64_t) *lo + unit_skewed(200000));
			break;
		case 1:
			*hi = *lo;
			break;
		default:
			*hi = shape_probe(u, m);
			break;
	}
	if (*lo > *hi && !unit_one_in(10))
	{
		int64_t		swapped = *lo;

		*lo = *hi;
		*hi = swapped;
	}
}
