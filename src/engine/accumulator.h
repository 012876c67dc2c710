/*-------------------------------------------------------------------------
 *
 * accumulator.h
 *	  The members of an accumulator, for accumulator.c and the engine's tests only.
 *
 * src/engine/accumulator.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_ACCUMULATOR_H
#define R64_ACCUMULATOR_H

#include "r64.h"

struct r64_accumulator
{
	const r64_env *env;
	r64_buf		flat;			/* the set without what waits; NULL if empty */
	int64_t    *values;			/* waiting, in any order */
	r64_range  *ranges;			/* waiting, in any order */
	uint8_t    *sets;			/* waiting, one after the other */
	uint32_t	nvalues;
	uint32_t	values_capacity;
	uint32_t	nranges;
	uint32_t	ranges_capacity;
	uint32_t	sets_size;		/* bytes */
	uint32_t	sets_capacity;
	r64_op		sets_op;		/* by which they will be merged */
	uint32_t	settled;		/* values that the flat set lacks, ascending */
	bool		changed_in_place;	/* so bitsets of the flat set may be
									 * longer than their runs */
	bool		asked;			/* the set was read or counted last */
	uint64_t	card;			/* of the flat set; UINT64_MAX if unknown */
	struct r64_index *index;	/* of the flat set, or NULL */
};

#endif							/* R64_ACCUMULATOR_H */
