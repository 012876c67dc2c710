/*-------------------------------------------------------------------------
 *
 * operators.c
 *	  The operators | & - # of a set with a set, an element or a range.
 *
 * All of them are one of three workers, told which of the engine's four operations
 * is meant.  Their sizes alone are in counts.c.
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
		return roaring64_edit(PG_GETARG_DATUM(0), op, element);
	b = r64_singleton(&roaring64_env, element, one);
	return roaring64_datum(r64_combine(op, PG_GETARG_ROARING64(0), &b));
}

/* roaring64 op int8range, declared as anyrange (int8range.c) */
static Datum
combine_range(FunctionCallInfo fcinfo, r64_op op)
{
	r64_set    *a = PG_GETARG_ROARING64(0);
	int64		lo;
	int64		hi;

	if (op == R64_OR)
		roaring64_filled_bounds(PG_GETARG_DATUM(1), &lo, &hi);
	else
		(void) roaring64_range_bounds(PG_GETARG_DATUM(1), &lo, &hi);
	return roaring64_datum(r64_combine_range(op, a, lo, hi));
}

/*
 * The functions of an operator, which take a set, an element or a range on its
 * right and return a set: NAME(roaring64, roaring64), NAME_element(roaring64,
 * bigint) and NAME_range(roaring64, anyrange).
 */
#define SET_OPERATOR(name, op) \
	ROARING64_FUNCTION(name, combine(fcinfo, op)) \
	ROARING64_FUNCTION(name##_element, combine_element(fcinfo, op)) \
	ROARING64_FUNCTION(name##_range, combine_range(fcinfo, op))

/* a | b: what a or b has.  Errors if a range makes it exceed the maximum size. */
SET_OPERATOR(roaring64_or, R64_OR)

/* a & b: what both have. */
SET_OPERATOR(roaring64_and, R64_AND)

/* a - b: what only a has. */
SET_OPERATOR(roaring64_andnot, R64_ANDNOT)

/* a # b: what exactly one has.  Errors as a | b does. */
SET_OPERATOR(roaring64_xor, R64_XOR)
