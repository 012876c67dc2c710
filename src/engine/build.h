/*-------------------------------------------------------------------------
 *
 * build.h
 *	  Building a set from ranges that ascend.
 *
 * For values or ranges in any order see r64_from_values() and r64_from_ranges().
 *
 * src/engine/build.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_BUILD_H
#define R64_BUILD_H

#include "writer.h"

/*
 * The open container is a list of runs until that gets longer than any array
 * or run container could be; from then on it is a bitset.
 */
typedef struct r64_builder
{
	r64_writer	w;
	bool		is_bitset;
	uint64_t	prefix;			/* of the open container: value >> 16 */
	uint32_t	nruns;
	rle16_t		runs[R64_ARRAY_MAX];
	r64_words	bitset;
} r64_builder;

extern void r64_builder_init(r64_builder *b, const r64_env *env,
							 size_t expected_size);
extern void r64_builder_add(r64_builder *b, uint64_t lo, uint64_t hi);
extern r64_buf r64_builder_finish(r64_builder *b);

#endif							/* R64_BUILD_H */
