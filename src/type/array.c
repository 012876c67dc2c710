/*-------------------------------------------------------------------------
 *
 * array.c
 *	  Sets from arrays and arrays from sets.
 *
 * Arrays of bigint are read and written through their data area, where the
 * elements lie side by side, aligned; none is ever NULL.  Sets as rows are in
 * set_returning.c.
 *
 * src/type/array.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "roaring64.h"

/*
 * Returns the elements of a bigint[], integer[] or smallint[] argument.
 * Reports a NULL element; any number of dimensions will do.  The result is
 * palloc'd, and the caller may reorder it.
 */
int64 *
roaring64_array_values(ArrayType *array, int *n)
{
	int			count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	const char *data = ARR_DATA_PTR(array);
	int64	   *values;

	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("array must not contain nulls"),
				 errhint("Remove them with array_remove(array, NULL).")));

	/* narrower elements take less space than the result */
	values = MemoryContextAllocHuge(CurrentMemoryContext,
									sizeof(int64) * Max((Size) count, 1));
	if (ARR_ELEMTYPE(array) == INT8OID)
		memcpy(values, data, sizeof(int64) * count);
	else if (ARR_ELEMTYPE(array) == INT4OID)
	{
		for (int i = 0; i < count; i++)
			values[i] = ((const int32 *) data)[i];
	}
	else if (ARR_ELEMTYPE(array) == INT2OID)
	{
		for (int i = 0; i < count; i++)
			values[i] = ((const int16 *) data)[i];
	}
	else
		elog(ERROR, "unexpected array element type: %u",
			 ARR_ELEMTYPE(array));
	*n = count;
	return values;
}

/*
 * Makes a bigint[] for n elements, to be written to ROARING64_ARRAY_DATA.  Reports
 * that they do not fit, if so.
 */
ArrayType *
roaring64_make_array(uint64 n)
{
	Size		overhead = ARR_OVERHEAD_NONULLS(1);
	ArrayType  *array;

	if (n > (MaxAllocSize - overhead) / sizeof(int64))
		roaring64_too_large("array of elements",
							"Use roaring64_elements to get the elements as rows.");
	array = palloc(overhead + sizeof(int64) * n);
	/* the bytes between the header and aligned data are compared as well */
	memset(array, 0, overhead);
	array->ndim = 1;
	array->elemtype = INT8OID;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

/*
 * Makes that array a datum of the n elements that were written, or the
 * canonical empty array.
 */
Datum
roaring64_array_datum(ArrayType *array, int n)
{
	if (n == 0)
		return PointerGetDatum(construct_empty_array(INT8OID));
	ARR_DIMS(array)[0] = n;
	SET_VARSIZE(array, ARR_OVERHEAD_NONULLS(1) + sizeof(int64) * n);
	return PointerGetDatum(array);
}

/* Returns values as a bigint[]. */
Datum
roaring64_bigint_array(const int64 *values, int n)
{
	ArrayType  *array = roaring64_make_array(n);

	memcpy(ROARING64_ARRAY_DATA(array), values, sizeof(int64) * n);
	return roaring64_array_datum(array, n);
}

/*
 * roaring64_from_array(bigint[]) returns roaring64, also from_integer_array
 * and from_smallint_array: the casts.  Any order, repeats and dimensions.
 * Errors on a NULL element.
 */
PG_FUNCTION_INFO_V1(roaring64_from_array);
Datum
roaring64_from_array(PG_FUNCTION_ARGS)
{
	int			n;
	int64	   *values = roaring64_array_values(PG_GETARG_ARRAYTYPE_P(0), &n);

	PG_RETURN_ROARING64(r64_from_values(&roaring64_env, values, n));
}

/*
 * roaring64_to_array(roaring64) returns bigint[]: the elements, ascending;
 * also the cast.  Errors if they are too many for an array.
 */
PG_FUNCTION_INFO_V1(roaring64_to_array);
Datum
roaring64_to_array(PG_FUNCTION_ARGS)
{
	r64_set    *set = PG_GETARG_ROARING64(0);
	uint64		n = r64_cardinality(set);
	ArrayType  *array = roaring64_make_array(n);

	n = r64_read(set, PG_INT64_MIN, PG_INT64_MAX, false,
				 ROARING64_ARRAY_DATA(array), n);
	return roaring64_array_datum(array, (int) n);
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

	r64_index_set(s);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		found[i] = BoolGetDatum(r64_contains(s, values[i]));
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(found, n, BOOLOID, sizeof(bool), true,
										  TYPALIGN_CHAR));
}
