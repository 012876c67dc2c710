/*-------------------------------------------------------------------------
 *
 * ids.c
 *	  Ids made by a clock, rearranged to suit a bitmap.
 *
 * A snowflake id is, from the top: the sign bit (0), 41 bits of
 * milliseconds, 10 bits of worker, 12 bits of sequence.  A millisecond
 * rarely sees more than a few ids, so a run of such ids leaves one or two to
 * every container of 65536, each paying the container's header.  Folding
 * moves worker and sequence, which are nearly constant, above the clock,
 * which then counts up densely in the low bits:
 *
 *				63		62 ... 22		21 ... 12	11 ... 0
 *		plain	sign	milliseconds	worker		sequence
 *
 *				63		62 ... 53	52 ... 41	40 ... 0
 *		folded	sign	worker		sequence	milliseconds
 *
 * All 64 bits are kept, so that this is a bijection on bigint and the two
 * functions undo each other for any value at all, snowflake or not.  The
 * order by time holds among the ids of one worker and sequence only.
 *
 * src/type/ids.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "ids.h"

#define SNOWFLAKE_LOW_BITS	22	/* worker and sequence */
#define SNOWFLAKE_TIME_BITS 41

#define SIGN_MASK	(UINT64CONST(1) << 63)
#define LOW_MASK	((UINT64CONST(1) << SNOWFLAKE_LOW_BITS) - 1)
#define TIME_MASK	((UINT64CONST(1) << SNOWFLAKE_TIME_BITS) - 1)

StaticAssertDecl(SNOWFLAKE_LOW_BITS + SNOWFLAKE_TIME_BITS == 63,
				 "a folded id has to keep every bit");

/*
 * roaring64_snowflake_fold(bigint) returns bigint: the id with its clock
 * moved to the low bits.
 */
PG_FUNCTION_INFO_V1(roaring64_snowflake_fold);
Datum
roaring64_snowflake_fold(PG_FUNCTION_ARGS)
{
	uint64		id = (uint64) PG_GETARG_INT64(0);
	uint64		folded;

	folded = (id & SIGN_MASK) |
		((id & LOW_MASK) << SNOWFLAKE_TIME_BITS) |
		((id >> SNOWFLAKE_LOW_BITS) & TIME_MASK);
	PG_RETURN_INT64((int64) folded);
}

/*
 * roaring64_snowflake_unfold(bigint) returns bigint: undoes
 * roaring64_snowflake_fold.
 */
PG_FUNCTION_INFO_V1(roaring64_snowflake_unfold);
Datum
roaring64_snowflake_unfold(PG_FUNCTION_ARGS)
{
	uint64		folded = (uint64) PG_GETARG_INT64(0);
	uint64		id;

	id = (folded & SIGN_MASK) |
		((folded & TIME_MASK) << SNOWFLAKE_LOW_BITS) |
		((folded >> SNOWFLAKE_TIME_BITS) & LOW_MASK);
	PG_RETURN_INT64((int64) id);
}

/*
 * roaring64_time_bucket(bigint, bits integer) returns bigint: the id with so
 * many low bits cleared, which is the first of its chunk: the largest
 * multiple of 2^bits that is not above it.  Errors unless bits is 0 to 63.
 */
PG_FUNCTION_INFO_V1(roaring64_time_bucket);
Datum
roaring64_time_bucket(PG_FUNCTION_ARGS)
{
	uint64		id = (uint64) PG_GETARG_INT64(0);
	uint64		low = roaring64_low_bits(PG_GETARG_INT32(1));

	PG_RETURN_INT64((int64) (id & ~low));
}
