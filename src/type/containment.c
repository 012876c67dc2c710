/*-------------------------------------------------------------------------
 *
 * containment.c
 *	  The operators @> <@ && of a set with a set, an element or a range.
 *
 * The empty set and the empty range are contained in everything and overlap
 * nothing.  Here rows are tested; how many will pass, and by which index, is in
 * src/planner and src/index.
 *
 * src/type/containment.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "roaring64.h"

/* Whether the set that is argument n contains the other argument, a set too. */
static Datum
contains_set(FunctionCallInfo fcinfo, int n)
{
	r64_set    *few = PG_GETARG_ROARING64(1 - n);
	r64_set    *set = PG_GETARG_ROARING64_WITHIN(n, few);

	PG_RETURN_BOOL(r64_is_subset(few, set));
}

/* roaring64_contains(roaring64, roaring64) returns boolean: a @> b. */
ROARING64_FUNCTION(roaring64_contains, contains_set(fcinfo, 0))

/* roaring64_contained(roaring64, roaring64) returns boolean: a <@ b. */
ROARING64_FUNCTION(roaring64_contained, contains_set(fcinfo, 1))

/*
 * roaring64_contains_element(roaring64, bigint) returns boolean: an element?
 */
PG_FUNCTION_INFO_V1(roaring64_contains_element);
Datum
roaring64_contains_element(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(roaring64_arg_contains(fcinfo, 0, PG_GETARG_INT64(1)));
}

/*
 * roaring64_contains_range(roaring64, anyrange) returns boolean: are all
 * integers of the range elements?
 */
PG_FUNCTION_INFO_V1(roaring64_contains_range);
Datum
roaring64_contains_range(PG_FUNCTION_ARGS)
{
	r64_set    *set = PG_GETARG_ROARING64(0);
	int64		lo;
	int64		hi;

	roaring64_range_bounds(PG_GETARG_DATUM(1), &lo, &hi);
	PG_RETURN_BOOL(r64_contains_range(set, lo, hi));
}

/*
 * roaring64_element_contained(bigint, roaring64) returns boolean: an element?
 */
PG_FUNCTION_INFO_V1(roaring64_element_contained);
Datum
roaring64_element_contained(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(roaring64_arg_contains(fcinfo, 1, PG_GETARG_INT64(0)));
}

/*
 * roaring64_contained_range(roaring64, anyrange) returns boolean: are all
 * elements in the range?
 */
PG_FUNCTION_INFO_V1(roaring64_contained_range);
Datum
roaring64_contained_range(PG_FUNCTION_ARGS)
{
	r64_set    *set = PG_GETARG_ROARING64(0);
	int64		lo;
	int64		hi;
	int64_t		least;
	int64_t		greatest;

	roaring64_range_bounds(PG_GETARG_DATUM(1), &lo, &hi);
	if (!r64_min(set, &least) || !r64_max(set, &greatest))
		PG_RETURN_BOOL(true);
	PG_RETURN_BOOL(lo <= least && greatest <= hi);
}

/* roaring64_overlaps(roaring64, roaring64) returns boolean: a && b. */
PG_FUNCTION_INFO_V1(roaring64_overlaps);
Datum
roaring64_overlaps(PG_FUNCTION_ARGS)
{
	int			n = roaring64_larger_argument(fcinfo);
	r64_set    *a = PG_GETARG_ROARING64(1 - n);
	r64_set    *b = PG_GETARG_ROARING64_WITHIN(n, a);

	PG_RETURN_BOOL(r64_overlaps(a, b));
}

/*
 * roaring64_overlaps_range(roaring64, anyrange) returns boolean: is some
 * element in the range?
 */
PG_FUNCTION_INFO_V1(roaring64_overlaps_range);
Datum
roaring64_overlaps_range(PG_FUNCTION_ARGS)
{
	r64_set    *set = PG_GETARG_ROARING64(0);
	int64		lo;
	int64		hi;
	int64_t		found;

	if (!roaring64_range_bounds(PG_GETARG_DATUM(1), &lo, &hi))
		PG_RETURN_BOOL(false);
	PG_RETURN_BOOL(r64_next(set, lo, &found) && found <= hi);
}
