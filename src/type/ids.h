/*-------------------------------------------------------------------------
 *
 * ids.h
 *	  Ids whose high bits are a clock, cut into aligned chunks.
 *
 * A chunk of so many bits is all the integers that agree in everything but
 * their low bits.  As bigints are two's complement, that holds for negative
 * ones without a special case: chunks tile the whole range, in order.
 *
 * src/type/ids.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_IDS_H
#define ROARING64_IDS_H

#include "postgres.h"

#include "fmgr.h"

/* ids.c: as it is called by SQL; also what a constraint is recognised by. */
extern PGDLLEXPORT Datum roaring64_time_bucket(PG_FUNCTION_ARGS);

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

#endif							/* ROARING64_IDS_H */
