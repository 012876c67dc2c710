/*-------------------------------------------------------------------------
 *
 * walk.c
 *	  Which stretches of an ordered index to read for the elements of a set, or
 *	  for all but them.
 *
 * The index is gone through in steps.  A step is a search for its start, and a
 * walk over all entries from there to its end.
 *
 * For the elements a step begins with the next one.  Steps double in length
 * while they pass few entries that are not in the set, and halve when they pass
 * many.  A step is given up in a wide gap.  So elements that lie apart are
 * searched for one by one, and long runs are read in one go.
 *
 * For all but the elements a step goes on to the end of the index, until it has
 * passed some entries of one run of elements.  The next one begins after that
 * run.
 *
 * Nothing here knows of the server: the caller has the index, and says what the
 * walk reaches.
 *
 * src/index/walk.c
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "index/walk.h"

/* A step for elements is given up when it has passed so many entries in a row. */
#define MAX_GAP			32

/* How many steps to wait, after one that was too long, before a longer one. */
#define PATIENCE		256

/* Begins a walk for a set, which stays the caller's and is indexed. */
void
roaring64_walk_begin(Walk *walk, r64_set *set, bool ascending, bool negated)
{
	memset(walk, 0, sizeof(*walk));
	walk->set = set;
	walk->ascending = ascending;
	walk->negated = negated;
	walk->from = ascending ? INT64_MIN : INT64_MAX;
	walk->limit = ascending ? INT64_MAX : INT64_MIN;
	walk->step = 1;
	if (!negated)
		walk->done = !(ascending ? r64_max(set, &walk->limit) :
					   r64_min(set, &walk->limit));
}

/* Whether the walk reaches a before b. */
static bool
is_before(const Walk *walk, int64_t a, int64_t b)
{
	return walk->ascending ? a < b : a > b;
}

/* The next element, from v on; false if there is none. */
static bool
find_element(Walk *walk, int64_t v, int64_t *element)
{
	while (walk->next < walk->nahead &&
		   is_before(walk, walk->ahead[walk->next], v))
		walk->next++;
	if (walk->next == walk->nahead)
	{
		walk->next = 0;
		walk->nahead = r64_read(walk->set, walk->ascending ? v : INT64_MIN,
								walk->ascending ? INT64_MAX : v,
								!walk->ascending, walk->ahead,
								ROARING64_MAX_AHEAD);
	}
	if (walk->nahead > 0)
		*element = walk->ahead[walk->next];
	return walk->nahead > 0;
}

/* The last element of the step that begins now, with the one just found. */
static int64_t
end_of_step(const Walk *walk)
{
	uint64_t	left = walk->ascending ?
		(uint64_t) walk->limit - (uint64_t) walk->start :
		(uint64_t) walk->start - (uint64_t) walk->limit;
	uint64_t	more = walk->step - 1 < left ? walk->step - 1 : left;
	int64_t		end = (int64_t) ((uint64_t) walk->start +
								 (walk->ascending ? more : -more));
	size_t		after = walk->next + 1;

	/* in most cases the next element is beyond it, and has been read */
	if (after < walk->nahead && is_before(walk, end, walk->ahead[after]))
		return walk->start;
	(void) (walk->ascending ? r64_prev(walk->set, end, &end) :
			r64_next(walk->set, end, &end));
	return end;
}

/*
 * Begins a step: the entries from start to end are to be read, in the order of
 * the walk.  Returns false if there are none.
 */
bool
roaring64_walk_step(Walk *walk)
{
	walk->done = walk->done ||
		!(!walk->negated ? find_element(walk, walk->from, &walk->start) :
		  walk->ascending ? r64_next_absent(walk->set, walk->from, &walk->start) :
		  r64_prev_absent(walk->set, walk->from, &walk->start));
	if (!walk->done)
		walk->end = walk->negated ? walk->limit : end_of_step(walk);
	walk->passed = walk->gap = 0;
	walk->in_step = !walk->done;
	return walk->in_step;
}

/* Chooses the length of the next step, after this one has reached v. */
static void
adapt_step(Walk *walk, int64_t v)
{
	bool		up = walk->start < v;

	/* a step begins with an element, so there may be no need to count */
	if (walk->passed > ROARING64_PASSED_PER_SEARCH &&
		walk->passed > ROARING64_PASSED_PER_SEARCH *
		r64_count_range(walk->set, up ? walk->start : v, up ? v : walk->start))
	{
		walk->step = walk->step > 1 ? walk->step / 2 : 1;
		walk->patience = PATIENCE;
	}
	else if (walk->patience > 0)
		walk->patience--;
	else if (walk->step <= INT64_MAX)
		walk->step *= 2;
}

/* After the last entry of a step. */
void
roaring64_walk_end_step(Walk *walk)
{
	if (!walk->negated)
		adapt_step(walk, walk->end);
	walk->in_step = false;
	walk->done = (walk->end == walk->limit);
	if (!walk->done)
		walk->from = walk->ascending ? walk->end + 1 : walk->end - 1;
}

/*
 * Whether the walk is better off with a search past the elements, or the gap
 * between them, that it is in.
 */
static bool
leaves_step(Walk *walk, int64_t id)
{
	bool		up = walk->first < id;

	if (!walk->negated)
		return walk->gap >= MAX_GAP;
	if (walk->gap == 1)
		walk->first = id;
	if (walk->gap < ROARING64_PASSED_PER_SEARCH)
		return false;
	/* the next ones may be of one run */
	walk->gap = 0;
	return r64_contains_range(walk->set, up ? walk->first : id,
							  up ? id : walk->first);
}

/*
 * Whether an entry that the step has reached is wanted.  If not, the step may
 * be given up.
 */
bool
roaring64_walk_wants(Walk *walk, int64_t id)
{
	int64_t		element;
	bool		found = walk->negated ? r64_contains(walk->set, id) :
		find_element(walk, id, &element) && element == id;

	if (found != walk->negated)
	{
		walk->gap = 0;
		return true;
	}
	walk->passed++;
	walk->gap++;
	if (leaves_step(walk, id))
	{
		if (!walk->negated)
			adapt_step(walk, id);
		walk->from = id;
		walk->in_step = false;
	}
	return false;
}
