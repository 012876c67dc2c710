/*-------------------------------------------------------------------------
 *
 * gin_query.c
 *	  The GIN operator class: which keys a search looks for.
 *
 * The planner asks this too, of every constant, so it must not take long for
 * a huge operand, and GIN's work grows with the number of keys.  So there are
 * limits, and past them the index finds more rows than match and the operator
 * itself decides:
 *
 *	- to contain a set or a range, or to equal a set, is to have all of its
 *	  keys.  Some are enough to find few rows: up to MAX_REQUIRED of them,
 *	  evenly spaced and with both ends;
 *
 *	- to overlap it, or to be contained in it, is to have one of its keys, or
 *	  for the latter none at all.  There none may be left out.  Keys that
 *	  follow each other are searched for as a range, by a partial match; if
 *	  that is still too many, sets are covered by GIN_MAX_RANGES ranges.
 *
 * src/index/gin_query.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "gin.h"
#include "type/roaring64.h"

/*
 * Every key costs a descent of the tree and some work a row that is found.
 * Rows that have so many evenly spaced elements of a set, and not all of it,
 * are few wherever the index is of use at all.
 */
#define MAX_REQUIRED	128

/* The keys of a search while they are chosen. */
typedef struct SearchKeys
{
	int			shift;			/* of elements, to make keys */
	SearchKey  *keys;			/* ascending */
	int			n;
	int			nranges;		/* of them, those of more than one key */
	bool		inexact;		/* to have them does not suffice */
} SearchKeys;

static void
add_range(SearchKeys *search, int64 first, int64 last)
{
	search->keys[search->n].first = first;
	search->keys[search->n++].last = last;
	if (first < last)
		search->nranges++;
}

/*
 * The ith of steps + 1 evenly spaced numbers from 0 to span.  steps is
 * small; steps * span may exceed 64 bits.
 */
static uint64
spaced(uint64 span, uint64 steps, uint64 i)
{
	return span / steps * i + span % steps * i / steps;
}

/*
 * All keys of the set, or of the integers from lo to hi if there is none; or as
 * many as are enough.  Each is a single one.
 */
static void
require(SearchKeys *search, r64_set *set, int64 lo, int64 hi)
{
	int64		first = lo >> search->shift;
	uint64		span = set != NULL ? r64_cardinality(set) - 1 :
		(uint64) (hi >> search->shift) - (uint64) first;
	uint64		steps = Max(Min(span, MAX_REQUIRED - 1), 1);

	search->inexact |= (steps < span);
	for (uint64 i = 0; i <= steps; i++)
	{
		uint64		place = spaced(span, steps, i);
		int64		key = (int64) ((uint64) first + place);

		if (set != NULL)
		{
			if (!r64_select(set, place, &key))
				break;
			key >>= search->shift;
		}
		if (search->n == 0 || search->keys[search->n - 1].first < key)
			add_range(search, key, key);
	}
}

/*
 * Adds the keys from first to last, as a range if they are many.  Returns false
 * if that would exceed a limit.
 */
static bool
cover_run(SearchKeys *search, int64 first, int64 last)
{
	uint64		span = (uint64) last - (uint64) first;
	int			nsingle = search->n - search->nranges;

	if (span >= GIN_MIN_RANGE - 1 && search->nranges < GIN_MAX_RANGES)
	{
		add_range(search, first, last);
		return true;
	}
	if (span >= (uint64) (GIN_MAX_SINGLE - nsingle))
		return false;
	for (uint64 i = 0; i <= span; i++)
		add_range(search, first + (int64) i, first + (int64) i);
	return true;
}

/*
 * Exactly the keys of the set.  Returns false, with search->keys in disorder,
 * if there are too many.
 */
static bool
cover_exactly(SearchKeys *search, r64_set *set)
{
	int64		from = PG_INT64_MIN >> search->shift;
	int64		first;
	int64		last;

	while (roaring64_gin_next_run(set, search->shift, from, &first, &last))
	{
		CHECK_FOR_INTERRUPTS();
		if (!cover_run(search, first, last))
			return false;
		if (last == PG_INT64_MAX >> search->shift)
			break;
		from = last + 1;
	}
	return true;
}

/* Ranges that hold the keys of the set, as many elements in each. */
static void
cover_roughly(SearchKeys *search, r64_set *set)
{
	uint64		n = r64_cardinality(set);

	search->n = search->nranges = 0;
	search->inexact = true;
	for (uint64 i = 0; i < GIN_MAX_RANGES; i++)
	{
		int64		least;
		int64		greatest;

		if (!r64_select(set, n * i / GIN_MAX_RANGES, &least) ||
			!r64_select(set, n * (i + 1) / GIN_MAX_RANGES - 1, &greatest))
			break;
		add_range(search, least >> search->shift, greatest >> search->shift);
	}
}

/*
 * Chooses the keys, none if the operand is empty.  Returns which rows without
 * any of them are to be found as well.
 */
static int32
choose_keys(SearchKeys *search, FunctionCallInfo fcinfo,
			StrategyNumber strategy)
{
	r64_set		set;
	int64		lo;
	int64		hi;

	switch (strategy)
	{
		case GIN_CONTAINS_ELEMENT:
			require(search, NULL, PG_GETARG_INT64(0), PG_GETARG_INT64(0));
			return GIN_SEARCH_MODE_DEFAULT;
		case GIN_CONTAINS_RANGE:
			if (!roaring64_range_bounds(fcinfo, 0, &lo, &hi))
				return GIN_SEARCH_MODE_ALL;
			require(search, NULL, lo, hi);
			return GIN_SEARCH_MODE_DEFAULT;
		case GIN_CONTAINED_RANGE:
		case GIN_OVERLAPS_RANGE:
			if (roaring64_range_bounds(fcinfo, 0, &lo, &hi))
				(void) cover_run(search, lo >> search->shift,
								 hi >> search->shift);
			return strategy == GIN_CONTAINED_RANGE ?
				GIN_SEARCH_MODE_INCLUDE_EMPTY : GIN_SEARCH_MODE_DEFAULT;
		case GIN_CONTAINS_SET:
		case GIN_EQUAL:
			set = DatumGetRoaring64(PG_GETARG_DATUM(0));
			if (r64_is_empty(&set))
				return strategy == GIN_EQUAL ?
					GIN_SEARCH_MODE_INCLUDE_EMPTY : GIN_SEARCH_MODE_ALL;
			require(search, &set, 0, 0);
			return GIN_SEARCH_MODE_DEFAULT;
		case GIN_CONTAINED_SET:
		case GIN_OVERLAPS_SET:
			set = DatumGetRoaring64(PG_GETARG_DATUM(0));
			if (!r64_is_empty(&set) && !cover_exactly(search, &set))
				cover_roughly(search, &set);
			return strategy == GIN_CONTAINED_SET ?
				GIN_SEARCH_MODE_INCLUDE_EMPTY : GIN_SEARCH_MODE_DEFAULT;
		default:
			elog(ERROR, "unknown strategy number: %d", strategy);
	}
}

/*
 * roaring64_gin_extract_query(roaring64, internal, smallint, internal,
 * internal, internal, internal) returns internal: the keys to look for.  The
 * first argument is of the type that the operator has on its right.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_extract_query);
Datum
roaring64_gin_extract_query(PG_FUNCTION_ARGS)
{
	int32	   *nkeys = (int32 *) PG_GETARG_POINTER(1);
	StrategyNumber strategy = PG_GETARG_UINT16(2);
	bool	  **partial_match = (bool **) PG_GETARG_POINTER(3);
	Pointer   **extra_data = (Pointer **) PG_GETARG_POINTER(4);
	int32	   *mode = (int32 *) PG_GETARG_POINTER(6);
	SearchKeys	search = {0};
	Datum	   *keys;

	search.shift = roaring64_gin_shift(fcinfo);
	search.keys = palloc(sizeof(SearchKey) * (GIN_MAX_SINGLE + GIN_MAX_RANGES));
	*mode = choose_keys(&search, fcinfo, strategy);
	*nkeys = search.n;

	keys = palloc(sizeof(Datum) * Max(search.n, 1));
	*partial_match = palloc(sizeof(bool) * Max(search.n, 1));
	*extra_data = palloc(sizeof(Pointer) * Max(search.n, 1));
	for (int i = 0; i < search.n; i++)
	{
		search.keys[i].inexact = search.inexact;
		keys[i] = Int64GetDatum(search.keys[i].first);
		(*partial_match)[i] = search.keys[i].first < search.keys[i].last;
		(*extra_data)[i] = (Pointer) &search.keys[i];
	}
	PG_RETURN_POINTER(keys);
}

/*
 * roaring64_gin_compare_partial(bigint, bigint, smallint, internal) returns
 * integer: whether a key of the index is in the range that a search began
 * with its first key, 0, or past its end, 1.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_compare_partial);
Datum
roaring64_gin_compare_partial(PG_FUNCTION_ARGS)
{
	int64		key = PG_GETARG_INT64(1);
	SearchKey  *search = (SearchKey *) PG_GETARG_POINTER(3);

	PG_RETURN_INT32(key > search->last ? 1 : 0);
}
