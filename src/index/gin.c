/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  The GIN operator class; the cost of its scans is in planner/selfuncs.c.
 *
 * The keys of an index are bigints: the elements themselves, or the numbers of the
 * containers that hold them, which are the elements without their low 16 bits.
 * Either way a key is element >> shift, so keys are ordered as elements are, and a
 * range of elements is a range of keys.  NULLs and empty sets have no key; GIN
 * keeps entries of its own for them.  An option of the operator class selects the
 * keys:
 *
 *		CREATE INDEX ... USING gin (tags gin_roaring64_ops (key = container))
 *
 * The planner asks for the keys of every constant, so it must not take long for
 * a huge operand, and GIN's work grows with the number of keys.  So there are
 * limits, and past them the index finds more rows than match and the operator
 * itself decides:
 *
 *	- a row that contains a set or a range, or equals a set, has all of its keys.
 *	  Some of them find few enough rows: up to MAX_REQUIRED, evenly spaced and with
 *	  both ends;
 *
 *	- a row that overlaps it, or is contained in it, has one of its keys, or is
 *	  empty.  So no key may be omitted.  Consecutive keys are searched for as a
 *	  range, by a partial match; if these are still too many, so are all from the
 *	  first to the last.
 *
 * src/index/gin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/gin.h"
#include "access/reloptions.h"
#include "access/stratnum.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/scans.h"
#include "type/roaring64.h"

/* The operators, with the indexed column on the left. */
#define GIN_CONTAINS_SET		1	/* column @> roaring64 */
#define GIN_CONTAINS_ELEMENT	2	/* column @> bigint */
#define GIN_CONTAINS_RANGE		3	/* column @> int8range */
#define GIN_CONTAINED_SET		4	/* column <@ roaring64 */
#define GIN_CONTAINED_RANGE		5	/* column <@ int8range */
#define GIN_OVERLAPS_SET		6	/* column && roaring64 */
#define GIN_OVERLAPS_RANGE		7	/* column && int8range */
#define GIN_EQUAL				8	/* column = roaring64 */

/*
 * Bytes per key in the one allocation in which GIN sorts the keys of a value
 * (keyEntryData in ginutil.c).
 */
#define BYTES_PER_KEY	16
#define MAX_KEYS		((int) (MaxAllocSize / BYTES_PER_KEY))

/*
 * Every key costs a descent of the tree and some work for each row found.  Rows that
 * have this many evenly spaced elements of a set, but not all of it, are few
 * wherever the index is of any use.
 */
#define MAX_REQUIRED	128

/* The most ranges; each is read into a bitmap of up to work_mem bytes. */
#define MAX_RANGES	32

/* A key or a range of keys to search for, as GIN's extra_data. */
typedef struct SearchKey
{
	int64		first;
	int64		last;
	bool		inexact;		/* the keys found do not decide the search */
} SearchKey;

/* The values of "key" are the distances to shift by. */
#define KEY_ELEMENT		0
#define KEY_CONTAINER	16

/* The option as the server keeps it, a varlena. */
typedef struct GinOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			key;
} GinOptions;

static relopt_enum_elt_def key_values[] =
{
	{"element", KEY_ELEMENT},
	{"container", KEY_CONTAINER},
	{(const char *) NULL}
};

/* How far the index of this call shifts elements to make keys. */
static int
get_shift(FunctionCallInfo fcinfo)
{
	if (!PG_HAS_OPCLASS_OPTIONS())
		return KEY_ELEMENT;
	return ((GinOptions *) PG_GET_OPCLASS_OPTIONS())->key;
}

/* roaring64_gin_options(internal) returns void: describes the options. */
PG_FUNCTION_INFO_V1(roaring64_gin_options);
Datum
roaring64_gin_options(PG_FUNCTION_ARGS)
{
	local_relopts *relopts = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(relopts, sizeof(GinOptions));
	add_local_enum_reloption(relopts, "key", "what the keys of the index are",
							 key_values, KEY_ELEMENT,
							 "Valid values are \"element\" and \"container\".",
							 offsetof(GinOptions, key));
	PG_RETURN_VOID();
}

/*
 * Finds the first run of consecutive keys of a set from a key on; returns false if
 * there is none.
 */
static bool
next_run(r64_set *set, int shift, int64 from,
		 int64 *first, int64 *last)
{
	int64		width = INT64CONST(1) << shift;
	int64		element;

	if (shift == 0)
		return r64_next_run(set, from, PG_INT64_MAX, first, last);
	if (!r64_next(set, from * width, &element))
		return false;
	*first = *last = element >> shift;
	while (*last < PG_INT64_MAX >> shift &&
		   r64_next(set, (*last + 1) * width, &element) &&
		   element >> shift == *last + 1)
		(*last)++;
	return true;
}

/*
 * roaring64_gin_extract_value(roaring64, internal) returns internal: the keys
 * of a value.  Errors if GIN could not take that many.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_extract_value);
Datum
roaring64_gin_extract_value(PG_FUNCTION_ARGS)
{
	r64_set		set = DatumGetRoaring64(PG_GETARG_DATUM(0));
	int32	   *nkeys = (int32 *) PG_GETARG_POINTER(1);
	int			shift = get_shift(fcinfo);
	r64_stats	stats = r64_get_stats(&set);
	uint64		n = shift == 0 ? stats.cardinality :
		stats.arrays + stats.bitsets + stats.runs;
	int64		from = PG_INT64_MIN >> shift;
	int64		first;
	int64		last;
	Datum	   *keys;

	if (n > MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("roaring64 value has too many keys for a GIN index"),
				 errdetail("A GIN index accepts at most %d keys per value.", MAX_KEYS),
				 errhint("Create the index with gin_roaring64_ops (key = container), or split the set into several rows with roaring64_split.")));
	keys = palloc(sizeof(Datum) * Max(n, 1));
	*nkeys = 0;
	while (*nkeys < n && next_run(&set, shift, from, &first, &last))
	{
		/* a damaged set can have more than it says */
		uint64		more = Min((uint64) last - (uint64) first, n - *nkeys - 1);

		for (uint64 i = 0; i <= more; i++)
		{
			CHECK_FOR_INTERRUPTS();
			keys[(*nkeys)++] = Int64GetDatum(first + (int64) i);
		}
		if (last == PG_INT64_MAX >> shift)
			break;
		from = last + 1;
	}
	PG_RETURN_POINTER(keys);
}

/* The keys of a search while they are chosen. */
typedef struct SearchKeys
{
	int			shift;			/* of elements, to make keys */
	SearchKey  *keys;			/* ascending */
	int			n;
	int			nranges;		/* entries of more than one key */
	bool		inexact;		/* a row that has them need not match */
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
 * Adds the keys of the set, or of the integers from lo to hi if it is NULL: all, or
 * as many as are enough, each as a single key.
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
		/* span * i / steps, but the product could exceed 64 bits */
		uint64		position = span / steps * i + span % steps * i / steps;
		int64		key = (int64) ((uint64) first + position);

		if (set != NULL)
		{
			if (!r64_select(set, position, &key))
				break;
			key >>= search->shift;
		}
		if (search->n == 0 || search->keys[search->n - 1].first < key)
			add_range(search, key, key);
	}
}

/*
 * Adds the keys from first to last, as a range if they are many; returns false if
 * that would exceed a limit.
 */
static bool
cover_run(SearchKeys *search, int64 first, int64 last)
{
	uint64		span = (uint64) last - (uint64) first;
	int			nsingle = search->n - search->nranges;

	if (span >= GIN_MIN_RANGE - 1 && search->nranges < MAX_RANGES)
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
 * Adds exactly the keys of the set; returns false, with search->keys undefined, if
 * they are too many.
 */
static bool
cover_exactly(SearchKeys *search, r64_set *set)
{
	int64		from = PG_INT64_MIN >> search->shift;
	int64		first;
	int64		last;

	while (next_run(set, search->shift, from, &first, &last))
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

/*
 * Chooses the keys, which an empty operand does not have.  Returns the search mode,
 * which says whether rows without any of the keys are found as well.
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
			if (!roaring64_range_bounds(PG_GETARG_DATUM(0), &lo, &hi))
				return GIN_SEARCH_MODE_ALL;
			require(search, NULL, lo, hi);
			return GIN_SEARCH_MODE_DEFAULT;
		case GIN_CONTAINED_RANGE:
		case GIN_OVERLAPS_RANGE:
			if (roaring64_range_bounds(PG_GETARG_DATUM(0), &lo, &hi))
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
			if (!cover_exactly(search, &set) && r64_min(&set, &lo) &&
				r64_max(&set, &hi))
			{
				search->n = search->nranges = 0;
				search->inexact = true;
				add_range(search, lo >> search->shift, hi >> search->shift);
			}
			return strategy == GIN_CONTAINED_SET ?
				GIN_SEARCH_MODE_INCLUDE_EMPTY : GIN_SEARCH_MODE_DEFAULT;
		default:
			elog(ERROR, "unknown strategy number: %d", strategy);
	}
}

/*
 * roaring64_gin_extract_query(roaring64, internal, smallint, internal,
 * internal, internal, internal) returns internal: the keys to look for.  The first
 * argument is the operator's right one.
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

	search.shift = get_shift(fcinfo);
	search.keys = palloc(sizeof(SearchKey) * (GIN_MAX_SINGLE + MAX_RANGES));
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

/* AND of the keys if GIN_FALSE decides, OR if GIN_TRUE does. */
static GinTernaryValue
combine_keys(const GinTernaryValue *check, int nkeys, GinTernaryValue decides)
{
	GinTernaryValue result = decides == GIN_FALSE ? GIN_TRUE : GIN_FALSE;

	for (int i = 0; i < nkeys; i++)
	{
		if (check[i] == decides)
			return decides;
		if (check[i] == GIN_MAYBE)
			result = GIN_MAYBE;
	}
	return result;
}

/*
 * roaring64_gin_triconsistent(internal, smallint, roaring64, integer,
 * internal, internal, internal) returns "char": whether a row matches, by the keys
 * that it has or may have; GIN_MAYBE leaves it to the operator.
 *
 * A search without keys is for the empty set or the empty range, which every row
 * contains.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_triconsistent);
Datum
roaring64_gin_triconsistent(PG_FUNCTION_ARGS)
{
	GinTernaryValue *check = (GinTernaryValue *) PG_GETARG_POINTER(0);
	StrategyNumber strategy = PG_GETARG_UINT16(1);
	int32		nkeys = PG_GETARG_INT32(3);
	Pointer    *extra_data = (Pointer *) PG_GETARG_POINTER(4);

	/* a row that is to equal a set may have other elements, too */
	bool		inexact = strategy == GIN_EQUAL ||
		(nkeys > 0 && (get_shift(fcinfo) > 0 ||
					   ((SearchKey *) extra_data[0])->inexact));
	bool		any = strategy == GIN_OVERLAPS_SET ||
		strategy == GIN_OVERLAPS_RANGE;
	GinTernaryValue result;

	/* whichever keys it has, it may have others that the operand lacks */
	if (strategy == GIN_CONTAINED_SET || strategy == GIN_CONTAINED_RANGE)
		PG_RETURN_GIN_TERNARY_VALUE(GIN_MAYBE);
	result = combine_keys(check, nkeys, any ? GIN_TRUE : GIN_FALSE);
	if (result == GIN_TRUE && inexact)
		result = GIN_MAYBE;
	PG_RETURN_GIN_TERNARY_VALUE(result);
}
