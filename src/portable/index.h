/*-------------------------------------------------------------------------
 *
 * index.h
 *	  Where a set's buckets are, and how many elements precede each.
 *
 * src/portable/index.h
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

/* Position of the first bucket whose high half is >= high; n if none. */
extern uint64_t r64_index_seek(const r64_index *index, uint32_t high);

/* r64_read for an interval of unsigned values, lo <= hi. */
extern size_t r64_read_interval(r64_set *s, uint64_t lo, uint64_t hi,
								bool reverse, int64_t *out, size_t n);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif							/* R64_INDEX_H */
