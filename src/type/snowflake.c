/*-------------------------------------------------------------------------
 *
 * snowflake.c
 *	  Time-based ids, rearranged to suit a bitmap.
 *
 * snowflake.h explains the layout of a snowflake id, and what packing does
 * to it.
 *
 * src/type/snowflake.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "snowflake.h"

/*
 * roaring64_snowflake_pack(bigint) returns bigint: the id with its clock
 * moved to the low bits.
 */
PG_FUNCTION_INFO_V1(roaring64_snowflake_pack);
Datum
roaring64_snowflake_pack(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(snowflake_pack(PG_GETARG_INT64(0)));
}

/*
 * roaring64_snowflake_unpack(bigint) returns bigint: undoes
 * roaring64_snowflake_pack.
 */
PG_FUNCTION_INFO_V1(roaring64_snowflake_unpack);
Datum
roaring64_snowflake_unpack(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(snowflake_unpack(PG_GETARG_INT64(0)));
}

/*
 * roaring64_clear_low_bits(bigint, bits integer) returns bigint: the value
 * with so many low bits cleared: the largest multiple of 2^bits that is not
 * above it.  Errors unless bits is 0 to 63.
 */
PG_FUNCTION_INFO_V1(roaring64_clear_low_bits);
Datum
roaring64_clear_low_bits(PG_FUNCTION_ARGS)
{
	uint64		id = (uint64) PG_GETARG_INT64(0);
	uint64		low = roaring64_low_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64((int64) (id & ~low));
}
