/*-------------------------------------------------------------------------
 *
 * counts.c
 *	  How many elements a set, a range of it, or a pair of sets has.
 *
 * Two sets are counted without a third: the size of a union or a difference comes
 * from the sizes of the two sets and of their intersection, and only the
 * intersection has to look into containers.
 *
 * src/type/counts.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"

#include "roaring64.h"

/*
 * The sizes of two sets and of their intersection.  A value is at most 1 GB and a
 * container of 65536 elements takes at least 14 bytes of it, so these, and the sum
 * of two, are far below the limit of a bigint.
 */
typedef struct Overlap
{
	int64		left;
	int64		right;
	int64		both;
} Overlap;

/* Sizes the two sets that a function has as its first two arguments. */
static Overlap
get_overlap(FunctionCallInfo fcinfo)
{
	int			n = roaring64_larger_argument(fcinfo);
	r64_set    *few = PG_GETARG_ROARING64(1 - n);
	uint64		size[2];
	r64_set		local;
	r64_set    *within = roaring64_getarg_within(fcinfo, n, few, &size[n],
												 &local);
	Overlap		o;

	size[1 - n] = r64_cardinality(few);
	o.left = (int64) size[0];
	o.right = (int64) size[1];
	o.both = (int64) r64_and_cardinality(few, within);
	return o;
}

/* roaring64_cardinality(roaring64) returns bigint: number of elements. */
PG_FUNCTION_INFO_V1(roaring64_cardinality);
Datum
roaring64_cardinality(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) roaring64_arg_cardinality(fcinfo, 0));
}

/*
 * roaring64_cardinality(roaring64, int8range) returns bigint: number of elements
 * in the range.
 */
PG_FUNCTION_INFO_V1(roaring64_cardinality_range);
Datum
roaring64_cardinality_range(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		lo;
	int64		hi;

	roaring64_range_bounds(PG_GETARG_DATUM(1), &lo, &hi);
	PG_RETURN_INT64((int64) r64_count_range(s, lo, hi));
}

/*
 * roaring64_is_empty(roaring64) returns boolean: no element at all.  The empty set
 * is the only one of eight bytes, so a stored one is not fetched.
 */
PG_FUNCTION_INFO_V1(roaring64_is_empty);
Datum
roaring64_is_empty(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(toast_raw_datum_size(PG_GETARG_DATUM(0)) ==
				   VARHDRSZ + sizeof(uint64));
}

/*
 * roaring64_and_cardinality(roaring64, roaring64) returns bigint: number of
 * elements of both.
 */
PG_FUNCTION_INFO_V1(roaring64_and_cardinality);
Datum
roaring64_and_cardinality(PG_FUNCTION_ARGS)
{
	int			n = roaring64_larger_argument(fcinfo);
	r64_set    *a = PG_GETARG_ROARING64(1 - n);
	r64_set    *b = PG_GETARG_ROARING64_WITHIN(n, a);

	PG_RETURN_INT64((int64) r64_and_cardinality(a, b));
}

/* Counts the result of an operation on the two sets that are the arguments. */
static Datum
pair_cardinality(FunctionCallInfo fcinfo, r64_op op)
{
	Overlap		o = get_overlap(fcinfo);
	int64		n = o.left - o.both;

	if (op == R64_OR)
		n += o.right;
	else if (op == R64_XOR)
		n += o.right - o.both;
	PG_RETURN_INT64(n);
}

/*
 * roaring64_or_cardinality(roaring64, roaring64) returns bigint: number of
 * elements of either.
 */
ROARING64_FUNCTION(roaring64_or_cardinality, pair_cardinality(fcinfo, R64_OR))

/*
 * roaring64_xor_cardinality(roaring64, roaring64) returns bigint: number of
 * elements of exactly one.
 */
ROARING64_FUNCTION(roaring64_xor_cardinality, pair_cardinality(fcinfo, R64_XOR))

/*
 * roaring64_andnot_cardinality(roaring64, roaring64) returns bigint: number
 * of elements of the first only.
 */
ROARING64_FUNCTION(roaring64_andnot_cardinality,
				   pair_cardinality(fcinfo, R64_ANDNOT))

/*
 * Counts the result of an operation on all sets in the array that is the only
 * argument; NULL if one is.
 */
static Datum
many_cardinality(FunctionCallInfo fcinfo, r64_op op)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	r64_accumulator *acc = palloc(r64_accumulator_size());
	Datum	   *values;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_INT,
					  &values, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (nulls[i])
			PG_RETURN_NULL();
	r64_accumulator_init(acc, &roaring64_count_env);
	for (int i = 0; i < n; i++)
	{
		r64_set		set = DatumGetRoaring64(values[i]);

		CHECK_FOR_INTERRUPTS();
		r64_accumulator_combine(acc, i == 0 ? R64_OR : op, &set);
	}
	PG_RETURN_INT64((int64) r64_accumulator_cardinality(acc));
}

/*
 * NAME_cardinality_many(VARIADIC roaring64[]) returns bigint: the number of
 * elements that all have, that any has, that an odd number of sets have, or that
 * only the first has.
 */
ROARING64_FUNCTION(roaring64_and_cardinality_many,
				   many_cardinality(fcinfo, R64_AND))
ROARING64_FUNCTION(roaring64_or_cardinality_many,
				   many_cardinality(fcinfo, R64_OR))
ROARING64_FUNCTION(roaring64_xor_cardinality_many,
				   many_cardinality(fcinfo, R64_XOR))
ROARING64_FUNCTION(roaring64_andnot_cardinality_many,
				   many_cardinality(fcinfo, R64_ANDNOT))

/*
 * roaring64_jaccard(roaring64, roaring64) returns double precision: Jaccard
 * index, the share of the elements of either set that both have.  Two empty
 * sets are equal, so that their index is 1, not the undefined 0 / 0.
 */
PG_FUNCTION_INFO_V1(roaring64_jaccard);
Datum
roaring64_jaccard(PG_FUNCTION_ARGS)
{
	Overlap		o = get_overlap(fcinfo);
	int64		either = o.left + o.right - o.both;

	if (either == 0)
		PG_RETURN_FLOAT8(1.0);
	PG_RETURN_FLOAT8((float8) o.both / (float8) either);
}
