/*-------------------------------------------------------------------------
 *
 * accumulator.h
 *	  What an accumulator consists of.  Only accumulator.c may know, and the
 *	  tests of the engine.
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
	int64_t    *values;			/* that wait, in any order */
	r64_range  *ranges;			/* that wait, in any order */
	uint8_t    *sets;			/* that wait, one after the other */
	uint32_t	nvalues;
	uint32_t	values_room;
	uint32_t	nranges;
	uint32_t	ranges_room;
	uint32_t	sets_size;		/* bytes */
	uint32_t	sets_room;
	r64_op		sets_op;		/* what they wait for */
	uint32_t	settled;		/* values that the flat set lacks, ascending */
	bool		changed_in_place;	/* so bitsets of the flat set may be
									 * longer than their runs */
	bool		asked;			/* the set was read or counted last */
	uint64_t	card;			/* of the flat set; UINT64_MAX if unknown */
	struct r64_index *index;	/* of the flat set, or NULL */
};

#endif							/* R64_ACCUMULATOR_H */
