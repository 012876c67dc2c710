/*-------------------------------------------------------------------------
 *
 * snowflake.c
 *	  Ids whose high bits are a clock, rearranged to suit a bitmap.
 *
 * A snowflake id is, from the top: the sign bit (0), 41 bits of
 * milliseconds, 10 bits of worker, 12 bits of sequence.  A millisecond
 * rarely sees more than a few ids, so a run of such ids leaves one or two to
 * every container of 65536, each paying the container's header.  Packing
 * moves worker and sequence, which are nearly constant, above the clock,
 * which then counts up densely in the low bits:
 *
 *				63		62 ... 22		21 ... 12	11 ... 0
 *		plain	sign	milliseconds	worker		sequence
 *
 *				63		62 ... 53	52 ... 41	40 ... 0
 *		packed	sign	worker		sequence	milliseconds
 *
 * All 64 bits are kept, so that this is a bijection on bigint and the two
 * functions undo each other for any value at all, snowflake or not.  The
 * order by time holds among the ids of one worker and sequence only.  Nothing
 * here knows of sets.
 *
 * src/type/snowflake.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#define LOW_BITS	22			/* worker and sequence */
#define TIME_BITS	41
#define SIGN_MASK	(UINT64CONST(1) << 63)
#define LOW_MASK	((UINT64CONST(1) << LOW_BITS) - 1)
#define TIME_MASK	((UINT64CONST(1) << TIME_BITS) - 1)

StaticAssertDecl(LOW_BITS + TIME_BITS == 63,
				 "a packed id has to keep every bit");

/*
 * roaring64_snowflake_pack(bigint) returns bigint: the id with its clock
 * moved to the low bits.
 */
PG_FUNCTION_INFO_V1(roaring64_snowflake_pack);
Datum
roaring64_snowflake_pack(PG_FUNCTION_ARGS)
{
	uint64		id = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_INT64((int64) ((id & SIGN_MASK) |
							 ((id & LOW_MASK) << TIME_BITS) |
							 ((id >> LOW_BITS) & TIME_MASK)));
}

/*
 * roaring64_snowflake_unpack(bigint) returns bigint: undoes
 * roaring64_snowflake_pack.
 */
PG_FUNCTION_INFO_V1(roaring64_snowflake_unpack);
Datum
roaring64_snowflake_unpack(PG_FUNCTION_ARGS)
{
	uint64		packed = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_INT64((int64) ((packed & SIGN_MASK) |
							 ((packed & TIME_MASK) << LOW_BITS) |
							 ((packed >> TIME_BITS) & LOW_MASK)));
}
