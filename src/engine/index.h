/*-------------------------------------------------------------------------
 *
 * index.h
 *	  The index of a view: where its buckets are, and how many elements precede each.
 *
 * It lives as long as the view and is never stored.
 *
 * src/engine/index.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_INDEX_H
#define R64_INDEX_H

#include "format.h"

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
	uint64_t	asked;			/* u >> 16 of the last element asked for */
	r64_container container;	/* its container; an empty array if it has
								 * none */
	r64_index_entry entries[];	/* in stored order */
} r64_index;

extern uint64_t r64_index_seek(const r64_index *index, uint32_t high);
extern bool r64_index_find(const r64_set *s, uint64_t u, uint64_t *i,
						   r64_bucket *b, uint32_t *k);

#endif							/* R64_INDEX_H */
