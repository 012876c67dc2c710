/*-------------------------------------------------------------------------
 *
 * rank.c
 *	  Where an element stands in a set: first, last, nth, nearest.
 *
 * The order is bigint's, so that these agree with ORDER BY over the elements.  An
 * answer that does not exist (the smallest element of an empty set, the hundredth
 * of ten) is NULL.  Several elements at once are in slice.c.
 *
 * src/type/rank.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "roaring64.h"

/* NAME(roaring64 ...) returns bigint: what the engine finds in set s, or NULL. */
#define ELEMENT_FUNCTION(name, find) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		r64_set    *s = PG_GETARG_ROARING64(0); \
		int64		found; \
	\
		if (!find) \
			PG_RETURN_NULL(); \
		PG_RETURN_INT64(found); \
	}

/* roaring64_min(roaring64): smallest element. */
ELEMENT_FUNCTION(roaring64_min, r64_min(s, &found))

/* roaring64_max(roaring64): largest element. */
ELEMENT_FUNCTION(roaring64_max, r64_max(s, &found))

/* roaring64_next(roaring64, bigint): smallest element not below the value. */
ELEMENT_FUNCTION(roaring64_next, r64_next(s, PG_GETARG_INT64(1), &found))

/* roaring64_prev(roaring64, bigint): largest element not above the value. */
ELEMENT_FUNCTION(roaring64_prev, r64_prev(s, PG_GETARG_INT64(1), &found))

/*
 * roaring64_next_absent(roaring64, bigint): smallest bigint not below the value
 * that is not an element; NULL if the set has all of them up to the last bigint.
 */
ELEMENT_FUNCTION(roaring64_next_absent,
				 r64_next_absent(s, PG_GETARG_INT64(1), &found))

/*
 * roaring64_rank(roaring64, bigint) returns bigint: number of elements up to
 * and including the value.
 */
PG_FUNCTION_INFO_V1(roaring64_rank);
Datum
roaring64_rank(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		value = PG_GETARG_INT64(1);

	PG_RETURN_INT64((int64) r64_count_range(s, PG_INT64_MIN, value));
}

/*
 * roaring64_select(roaring64, bigint) returns bigint: the element at a
 * position, counted from 1, or from the end if negative (-1 is the largest).
 * NULL past either end.  Errors on position 0.
 */
PG_FUNCTION_INFO_V1(roaring64_select);
Datum
roaring64_select(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		position = PG_GETARG_INT64(1);
	uint64		smaller = (uint64) position - 1;
	int64		found;

	if (position == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("position must not be zero"),
				 errdetail("Position 1 is the first element, and -1 is the last.")));
	if (position < 0)
	{
		/* leaves the index that r64_select wants, unlike r64_cardinality */
		uint64		total = r64_count_range(s, PG_INT64_MIN, PG_INT64_MAX);
		uint64		back = -(uint64) position;

		if (back > total)
			PG_RETURN_NULL();
		smaller = total - back;
	}
	if (!r64_select(s, smaller, &found))
		PG_RETURN_NULL();
	PG_RETURN_INT64(found);
}
