/*-------------------------------------------------------------------------
 *
 * snowflake.h
 *	  Ids whose high bits are a clock: packed, and cut into aligned chunks.
 *
 * A chunk of a number of bits has all integers that differ only in that many
 * low bits.  Since bigints are two's complement, negative ones are no special
 * case: chunks tile the whole range, in order.
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
 * order by time holds among the ids of one worker and sequence only.
 *
 * src/type/snowflake.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_SNOWFLAKE_H
#define ROARING64_SNOWFLAKE_H

#include "postgres.h"

#include "fmgr.h"

/* The low bits as a mask; an error if bits is not 0 to 63. */
static inline uint64
roaring64_low_bits(int32 bits)
{
	if (bits < 0 || bits > 63)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of bits must be between 0 and 63")));
	return (UINT64CONST(1) << bits) - 1;
}

#define SNOWFLAKE_LOW_BITS	22	/* worker and sequence */
#define SNOWFLAKE_TIME_BITS 41

#define SNOWFLAKE_SIGN_MASK	(UINT64CONST(1) << 63)
#define SNOWFLAKE_LOW_MASK	((UINT64CONST(1) << SNOWFLAKE_LOW_BITS) - 1)
#define SNOWFLAKE_TIME_MASK	((UINT64CONST(1) << SNOWFLAKE_TIME_BITS) - 1)

StaticAssertDecl(SNOWFLAKE_LOW_BITS + SNOWFLAKE_TIME_BITS == 63,
				 "a packed id has to keep every bit");

/* Moves the clock to the low bits. */
static inline int64
snowflake_pack(int64 value)
{
	uint64		id = (uint64) value;

	return (int64) ((id & SNOWFLAKE_SIGN_MASK) |
					((id & SNOWFLAKE_LOW_MASK) << SNOWFLAKE_TIME_BITS) |
					((id >> SNOWFLAKE_LOW_BITS) & SNOWFLAKE_TIME_MASK));
}

/* Undoes that. */
static inline int64
snowflake_unpack(int64 value)
{
	uint64		packed = (uint64) value;

	return (int64) ((packed & SNOWFLAKE_SIGN_MASK) |
					((packed & SNOWFLAKE_TIME_MASK) << SNOWFLAKE_LOW_BITS) |
					((packed >> SNOWFLAKE_TIME_BITS) & SNOWFLAKE_LOW_MASK));
}

#endif							/* ROARING64_SNOWFLAKE_H */
