/*-------------------------------------------------------------------------
 *
 * walk.h
 *	  Which stretches of an ordered index to read for the elements of a set, or
 *	  for all but them.
 *
 * src/index/walk.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_WALK_H
#define ROARING64_WALK_H

#include "engine/r64.h"

/*
 * So many entries a step may pass for each of its elements.  That takes about
 * as long as a search.  A step that ends in a gap has passed more.
 */
#define ROARING64_PASSED_PER_SEARCH	12

/* Elements to read at a time: a search of the set takes as long as some. */
#define ROARING64_MAX_AHEAD		64

typedef struct Walk
{
	r64_set    *set;
	bool		ascending;
	bool		negated;		/* entries are wanted that are not in the set */
	bool		done;			/* there is nothing left */
	bool		in_step;
	int64_t		limit;			/* last value that can be wanted */
	int64_t		from;			/* first value that we have not reached */
	int64_t		start;			/* first value of this step */
	int64_t		end;			/* and last one */
	int64_t		first;			/* first entry of the gap */
	int64_t		ahead[ROARING64_MAX_AHEAD]; /* elements, in the walk's order */
	size_t		nahead;
	size_t		next;			/* of them */
	uint64_t	step;			/* integers of this step */
	int			patience;		/* steps to wait before a longer one */
	uint64_t	passed;			/* entries of this step that are not wanted */
	uint64_t	gap;			/* those since the last that is */
} Walk;

extern void roaring64_walk_begin(Walk *walk, r64_set *set, bool ascending,
								 bool negated);
extern bool roaring64_walk_step(Walk *walk);
extern bool roaring64_walk_wants(Walk *walk, int64_t id);
extern void roaring64_walk_end_step(Walk *walk);

#endif							/* ROARING64_WALK_H */
