/*-------------------------------------------------------------------------
 *
 * rank.c
 *	  Where an element stands in a set: first, last, nth, nearest.
 *
 * The order is bigint's, so that these agree with ORDER BY over the
 * elements.  What does not exist (the smallest element of an empty set, the
 * hundredth of ten) is NULL.
 *
 * src/type/rank.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "roaring64.h"

/* roaring64_min(roaring64) returns bigint: smallest element, or NULL. */
PG_FUNCTION_INFO_V1(roaring64_min);
Datum
roaring64_min(PG_FUNCTION_ARGS)
{
	int64		found;

	if (!roaring64_arg_min(fcinfo, 0, &found))
		PG_RETURN_NULL();
	PG_RETURN_INT64(found);
}

/* roaring64_max(roaring64) returns bigint: largest element, or NULL. */
PG_FUNCTION_INFO_V1(roaring64_max);
Datum
roaring64_max(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		found;

	if (!r64_max(s, &found))
		PG_RETURN_NULL();
	PG_RETURN_INT64(found);
}

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

/*
 * roaring64_next(roaring64, bigint) returns bigint: smallest element not
 * below the value, or NULL.
 */
PG_FUNCTION_INFO_V1(roaring64_next);
Datum
roaring64_next(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		found;

	if (!r64_next(s, PG_GETARG_INT64(1), &found))
		PG_RETURN_NULL();
	PG_RETURN_INT64(found);
}

/*
 * roaring64_prev(roaring64, bigint) returns bigint: largest element not above
 * the value, or NULL.
 */
PG_FUNCTION_INFO_V1(roaring64_prev);
Datum
roaring64_prev(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		found;

	if (!r64_prev(s, PG_GETARG_INT64(1), &found))
		PG_RETURN_NULL();
	PG_RETURN_INT64(found);
}

/*
 * roaring64_next_absent(roaring64, bigint) returns bigint: smallest bigint
 * not below the value that is no element.  NULL if the set holds all of them
 * up to the last bigint.
 */
PG_FUNCTION_INFO_V1(roaring64_next_absent);
Datum
roaring64_next_absent(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		found;

	if (!r64_next_absent(s, PG_GETARG_INT64(1), &found))
		PG_RETURN_NULL();
	PG_RETURN_INT64(found);
}
