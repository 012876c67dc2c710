/*-------------------------------------------------------------------------
 *
 * index.h
 *	  Where a set's buckets are, and how many elements precede each.
 *
 * src/engine/index.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_INDEX_H
#define R64_INDEX_H

#include "format.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

typedef struct r64_index_entry
{
	uint64_t	before;			/* elements in the buckets stored before */
	size_t		pos;			/* offset of the bucket in the set */
	uint32_t	high;
} r64_index_entry;

typedef struct r64_index
{
	uint64_t	n;				/* buckets */
	uint64_t	total;			/* elements */
	r64_index_entry entries[];	/* in stored order */
} r64_index;

extern uint64_t r64_index_seek(const r64_index *index, uint32_t high);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif							/* R64_INDEX_H */
