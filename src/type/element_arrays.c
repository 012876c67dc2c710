/*-------------------------------------------------------------------------
 *
 * element_arrays.c
 *	  One set and many values at once.
 *
 * The values come as an array in any order, with repeats.  They are turned
 * into a set first, which is merged in one pass.  So n values cost a sort and
 * one copy of the set, not n copies.
 *
 * src/type/element_arrays.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"

#include "expanded.h"

/* Combines the set that is argument 0 with the array that is argument 1. */
static Datum
combine_with_array(FunctionCallInfo fcinfo, r64_op op)
{
	int			n;
	int64	   *values = roaring64_array_values(PG_GETARG_ARRAYTYPE_P(1), &n);
	r64_buf		built;
	r64_set		other;

	if (roaring64_edits_in_place(fcinfo, 0))
		return roaring64_edit(PG_GETARG_DATUM(0), op, values, n);
	built = r64_from_values(&roaring64_env, values, n);
	other = r64_open_buf(&roaring64_env, built);
	PG_RETURN_ROARING64(r64_combine(op, PG_GETARG_ROARING64(0), &other));
}

/*
 * roaring64_add(roaring64, bigint[]) returns roaring64: the set with the
 * array's values.  Errors on a NULL element.
 */
PG_FUNCTION_INFO_V1(roaring64_add);
Datum
roaring64_add(PG_FUNCTION_ARGS)
{
	return combine_with_array(fcinfo, R64_OR);
}

/*
 * roaring64_remove(roaring64, bigint[]) returns roaring64: the set without
 * the array's values.  Errors on a NULL element.
 */
PG_FUNCTION_INFO_V1(roaring64_remove);
Datum
roaring64_remove(PG_FUNCTION_ARGS)
{
	return combine_with_array(fcinfo, R64_ANDNOT);
}

/*
 * roaring64_contains_each(roaring64, bigint[]) returns boolean[]: for every
 * value of the array, in its order, whether it is an element.  The result
 * has one dimension, whatever the array has.  Errors on a NULL element.
 */
PG_FUNCTION_INFO_V1(roaring64_contains_each);
Datum
roaring64_contains_each(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int			n;
	int64	   *values = roaring64_array_values(PG_GETARG_ARRAYTYPE_P(1), &n);
	Datum	   *found = palloc(n * sizeof(Datum));

	/* for one value a walk to its bucket is cheaper than an index of all */
	if (n > 1)
		r64_index_set(s);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found[i] = BoolGetDatum(r64_contains(s, values[i]));
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(found, n, BOOLOID, sizeof(bool), true,
										  TYPALIGN_CHAR));
}
