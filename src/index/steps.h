/*-------------------------------------------------------------------------
 *
 * steps.h
 *	  The parts of an ordered index to read for the elements of a set, or for all
 *	  but them.  Nothing here reads the index (lookup.c).
 *
 * src/index/steps.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_STEPS_H
#define ROARING64_STEPS_H

#include "engine/r64.h"

/*
 * The entries that a step may pass for each of its elements.  Passing them takes
 * about as long as a search.  A step that ends in a gap has passed more.
 */
#define ROARING64_PASSED_PER_SEARCH	12

/* Elements to read at a time, since each read begins with a search of the set. */
#define ROARING64_MAX_AHEAD		64

typedef struct Steps
{
	r64_set    *set;
	bool		ascending;
	bool		negated;		/* entries outside of the set are wanted */
	bool		done;			/* there is no other step */
	bool		in_step;
	int64_t		limit;			/* last value that can be wanted */
	int64_t		from;			/* first value not reached */
	int64_t		start;			/* first value of this step */
	int64_t		end;			/* and last one */
	int64_t		first;			/* first entry of the gap */
	int64_t		ahead[ROARING64_MAX_AHEAD]; /* elements, in order */
	size_t		nahead;
	size_t		next;			/* of them */
	uint64_t	length;			/* integers of this step */
	int			patience;		/* steps to wait before a longer one */
	uint64_t	found;			/* values wanted in this step */
	int64_t		last;			/* of these */
	uint64_t	passed;			/* entries of this step not wanted */
	uint64_t	gap;			/* of these, those since the last wanted entry */
} Steps;

extern void roaring64_begin_steps(Steps *steps, r64_set *set, bool ascending,
								  bool negated);
extern bool roaring64_next_step(Steps *steps);
extern bool roaring64_step_wants(Steps *steps, int64_t id);
extern void roaring64_end_step(Steps *steps, int64_t v);

#endif							/* ROARING64_STEPS_H */
