/*-------------------------------------------------------------------------
 *
 * compare.c
 *	  Equality, the total order and hashing, for btree and hash indexes.
 *
 * A set has one byte string, so equal sets are equal bytes.  The order is
 * that of the bytes, as bytea has it: it serves sorting and indexes, and says
 * nothing about the elements.
 *
 * These functions free detoasted copies of their arguments, as support
 * functions of indexes must.  The type's other functions do not.
 *
 * src/type/compare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "common/hashfn.h"

#include "roaring64.h"

/* The order of arguments 0 and 1: -1, 0 or 1. */
static int
compare_args(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);
	r64_set		set_a = roaring64_view(a);
	r64_set		set_b = roaring64_view(b);
	int			result = r64_compare(&set_a, &set_b);

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

/*
 * Whether arguments 0 and 1 are equal.  Sets of different size are not, and
 * the size of a toasted value is known without fetching it.
 */
static bool
equal_args(FunctionCallInfo fcinfo)
{
	if (toast_raw_datum_size(PG_GETARG_DATUM(0)) !=
		toast_raw_datum_size(PG_GETARG_DATUM(1)))
		return false;
	return compare_args(fcinfo) == 0;
}

/* roaring64_eq(roaring64, roaring64) returns boolean: a = b. */
PG_FUNCTION_INFO_V1(roaring64_eq);
Datum
roaring64_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(equal_args(fcinfo));
}

/* roaring64_ne(roaring64, roaring64) returns boolean: a <> b. */
PG_FUNCTION_INFO_V1(roaring64_ne);
Datum
roaring64_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!equal_args(fcinfo));
}

/* roaring64_lt(roaring64, roaring64) returns boolean: a < b. */
PG_FUNCTION_INFO_V1(roaring64_lt);
Datum
roaring64_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) < 0);
}

/* roaring64_le(roaring64, roaring64) returns boolean: a <= b. */
PG_FUNCTION_INFO_V1(roaring64_le);
Datum
roaring64_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) <= 0);
}

/* roaring64_gt(roaring64, roaring64) returns boolean: a > b. */
PG_FUNCTION_INFO_V1(roaring64_gt);
Datum
roaring64_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) > 0);
}

/* roaring64_ge(roaring64, roaring64) returns boolean: a >= b. */
PG_FUNCTION_INFO_V1(roaring64_ge);
Datum
roaring64_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_args(fcinfo) >= 0);
}

/* roaring64_cmp(roaring64, roaring64) returns integer: -1, 0 or 1. */
PG_FUNCTION_INFO_V1(roaring64_cmp);
Datum
roaring64_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_args(fcinfo));
}

/* roaring64_hash(roaring64) returns integer: for hash indexes and joins. */
PG_FUNCTION_INFO_V1(roaring64_hash);
Datum
roaring64_hash(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	Datum		result = hash_any((unsigned char *) VARDATA_ANY(value),
								  VARSIZE_ANY_EXHDR(value));

	PG_FREE_IF_COPY(value, 0);
	return result;
}

/*
 * roaring64_hash_extended(roaring64, seed bigint) returns bigint: for hash
 * partitioning.
 */
PG_FUNCTION_INFO_V1(roaring64_hash_extended);
Datum
roaring64_hash_extended(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	Datum		result = hash_any_extended((unsigned char *) VARDATA_ANY(value),
										   VARSIZE_ANY_EXHDR(value),
										   PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(value, 0);
	return result;
}
