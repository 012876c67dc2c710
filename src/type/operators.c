/*-------------------------------------------------------------------------
 *
 * operators.c
 *	  The operators | & - # of a set with a set, an element or a range.
 *
 * All of them are one of three workers, told which of the engine's four
 * operations is meant.
 *
 * src/type/operators.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "expanded.h"

/* roaring64 op roaring64 */
static Datum
combine(FunctionCallInfo fcinfo, r64_op op)
{
	int			n = op == R64_AND ? roaring64_larger_argument(fcinfo) : 1;
	r64_set    *a = PG_GETARG_ROARING64(1 - n);
	r64_set    *b = op == R64_AND || op == R64_ANDNOT ?
		PG_GETARG_ROARING64_WITHIN(n, a) : PG_GETARG_ROARING64(n);

	return roaring64_datum(r64_combine(op, a, b));
}

/* roaring64 op bigint */
static Datum
combine_element(FunctionCallInfo fcinfo, r64_op op)
{
	int64		element = PG_GETARG_INT64(1);
	uint8_t		one[R64_SINGLETON_SIZE];
	r64_set		b;

	if ((op == R64_OR || op == R64_ANDNOT) &&
		roaring64_edits_in_place(fcinfo, 0))
		return roaring64_edit(PG_GETARG_DATUM(0), op, &element, 1);
	b = r64_singleton(&roaring64_env, element, one);
	return roaring64_datum(r64_combine(op, PG_GETARG_ROARING64(0), &b));
}

/* roaring64 op int8range */
static Datum
combine_range(FunctionCallInfo fcinfo, r64_op op)
{
	r64_set    *a = PG_GETARG_ROARING64(0);
	int64		lo;
	int64		hi;

	if (op == R64_OR)
		roaring64_filled_bounds(fcinfo, 1, &lo, &hi);
	else
		(void) roaring64_range_bounds(fcinfo, 1, &lo, &hi);
	return roaring64_datum(r64_combine_range(op, a, lo, hi));
}

/* roaring64_or(roaring64, roaring64) returns roaring64: a | b. */
PG_FUNCTION_INFO_V1(roaring64_or);
Datum
roaring64_or(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, R64_OR);
}

/*
 * roaring64_or_element(roaring64, bigint) returns roaring64: with the
 * element.
 */
PG_FUNCTION_INFO_V1(roaring64_or_element);
Datum
roaring64_or_element(PG_FUNCTION_ARGS)
{
	return combine_element(fcinfo, R64_OR);
}

/*
 * roaring64_or_range(roaring64, int8range) returns roaring64: with all
 * integers of the range.  Errors if the result exceeds the maximum size.
 */
PG_FUNCTION_INFO_V1(roaring64_or_range);
Datum
roaring64_or_range(PG_FUNCTION_ARGS)
{
	return combine_range(fcinfo, R64_OR);
}

/* roaring64_and(roaring64, roaring64) returns roaring64: a & b. */
PG_FUNCTION_INFO_V1(roaring64_and);
Datum
roaring64_and(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, R64_AND);
}

/*
 * roaring64_and_element(roaring64, bigint) returns roaring64: the element
 * alone if the set has it, else the empty set.
 */
PG_FUNCTION_INFO_V1(roaring64_and_element);
Datum
roaring64_and_element(PG_FUNCTION_ARGS)
{
	return combine_element(fcinfo, R64_AND);
}

/*
 * roaring64_and_range(roaring64, int8range) returns roaring64: those within
 * it.
 */
PG_FUNCTION_INFO_V1(roaring64_and_range);
Datum
roaring64_and_range(PG_FUNCTION_ARGS)
{
	return combine_range(fcinfo, R64_AND);
}

/* roaring64_andnot(roaring64, roaring64) returns roaring64: a - b. */
PG_FUNCTION_INFO_V1(roaring64_andnot);
Datum
roaring64_andnot(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, R64_ANDNOT);
}

/*
 * roaring64_andnot_element(roaring64, bigint) returns roaring64: without it.
 */
PG_FUNCTION_INFO_V1(roaring64_andnot_element);
Datum
roaring64_andnot_element(PG_FUNCTION_ARGS)
{
	return combine_element(fcinfo, R64_ANDNOT);
}

/*
 * roaring64_andnot_range(roaring64, int8range) returns roaring64: those
 * outside.
 */
PG_FUNCTION_INFO_V1(roaring64_andnot_range);
Datum
roaring64_andnot_range(PG_FUNCTION_ARGS)
{
	return combine_range(fcinfo, R64_ANDNOT);
}

/* roaring64_xor(roaring64, roaring64) returns roaring64: a # b. */
PG_FUNCTION_INFO_V1(roaring64_xor);
Datum
roaring64_xor(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, R64_XOR);
}

/*
 * roaring64_xor_element(roaring64, bigint) returns roaring64: without the
 * element if the set has it, else with it.
 */
PG_FUNCTION_INFO_V1(roaring64_xor_element);
Datum
roaring64_xor_element(PG_FUNCTION_ARGS)
{
	return combine_element(fcinfo, R64_XOR);
}

/*
 * roaring64_xor_range(roaring64, int8range) returns roaring64: the complement
 * within the range, the same outside.  Errors as roaring64_or does.
 */
PG_FUNCTION_INFO_V1(roaring64_xor_range);
Datum
roaring64_xor_range(PG_FUNCTION_ARGS)
{
	return combine_range(fcinfo, R64_XOR);
}
