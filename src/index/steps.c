/*-------------------------------------------------------------------------
 *
 * steps.c
 *	  The parts of an ordered index to read for the elements of a set, or for all
 *	  but them.
 *
 * The index is read in steps.  A step is a search for its start, and a scan of all
 * entries from there to its end.
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
 * Steps only go forward, so they end.  A set that returns an element outside of the
 * integers not yet reached is damaged, and reported.
 *
 * Nothing here knows of the server: the caller has the index, and says which
 * entries the scan reaches.
 *
 * src/index/steps.c
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "index/steps.h"

/* A step for elements is given up after this many unwanted entries in a row. */
#define MAX_GAP			32

/* Steps before a longer one, after one that was too long. */
#define PATIENCE		256

/* Begins the steps for a set, which stays the caller's and is indexed. */
void
roaring64_begin_steps(Steps *steps, r64_set *set, bool ascending, bool negated)
{
	memset(steps, 0, sizeof(*steps));
	steps->set = set;
	steps->ascending = ascending;
	steps->negated = negated;
	steps->from = ascending ? INT64_MIN : INT64_MAX;
	steps->limit = ascending ? INT64_MAX : INT64_MIN;
	steps->length = 1;
	if (!negated)
		steps->done = !(ascending ? r64_max(set, &steps->limit) :
						r64_min(set, &steps->limit));
}

/* Whether the steps reach a before b. */
static bool
is_before(const Steps *steps, int64_t a, int64_t b)
{
	return steps->ascending ? a < b : a > b;
}

/* An error unless v, which the set has returned, is from first to last. */
static void
check_within(const Steps *steps, int64_t v, int64_t first, int64_t last)
{
	if (is_before(steps, v, first) || is_before(steps, last, v))
		steps->set->env->fail(R64_CORRUPT, "elements out of order");
}

/* The next element, from v on; false if there is none. */
static bool
find_element(Steps *steps, int64_t v, int64_t *element)
{
	while (steps->next < steps->nahead &&
		   is_before(steps, steps->ahead[steps->next], v))
		steps->next++;
	if (steps->next == steps->nahead)
	{
		steps->next = 0;
		steps->nahead = r64_read(steps->set, steps->ascending ? v : INT64_MIN,
								 steps->ascending ? INT64_MAX : v,
								 !steps->ascending, steps->ahead,
								 ROARING64_MAX_AHEAD);
	}
	if (steps->nahead == 0)
		return false;
	*element = steps->ahead[steps->next];
	check_within(steps, *element, v, steps->limit);
	return true;
}

/* The last element of the step that begins now, with the one just found. */
static int64_t
end_of_step(const Steps *steps)
{
	uint64_t	distance = steps->ascending ?
		(uint64_t) steps->limit - (uint64_t) steps->start :
		(uint64_t) steps->start - (uint64_t) steps->limit;
	uint64_t	more = steps->length - 1 < distance ? steps->length - 1 : distance;
	int64_t		most = (int64_t) ((uint64_t) steps->start +
								  (steps->ascending ? more : -more));
	int64_t		end = most;
	size_t		after = steps->next + 1;

	/* in most cases the next element is beyond it, and has been read */
	if (after < steps->nahead && is_before(steps, most, steps->ahead[after]))
		return steps->start;
	(void) (steps->ascending ? r64_prev(steps->set, most, &end) :
			r64_next(steps->set, most, &end));
	check_within(steps, end, steps->start, most);
	return end;
}

/*
 * Begins a step: the entries from start to end are to be read, in
 * order.  Returns false if there are none.
 */
bool
roaring64_next_step(Steps *steps)
{
	steps->done = steps->done ||
		!(!steps->negated ? find_element(steps, steps->from, &steps->start) :
		  steps->ascending ? r64_next_absent(steps->set, steps->from, &steps->start) :
		  r64_prev_absent(steps->set, steps->from, &steps->start));
	if (!steps->done)
	{
		check_within(steps, steps->start, steps->from, steps->limit);
		steps->end = steps->negated ? steps->limit : end_of_step(steps);
	}
	steps->found = steps->passed = steps->gap = 0;
	steps->in_step = !steps->done;
	return steps->in_step;
}

/* Chooses the length of the next step, after this one has reached v. */
static void
adapt_step(Steps *steps, int64_t v)
{
	bool		up = steps->start < v;

	/* those found are elements, so there may be no need to count */
	if (steps->passed > ROARING64_PASSED_PER_SEARCH &&
		steps->passed > ROARING64_PASSED_PER_SEARCH * steps->found &&
		steps->passed > ROARING64_PASSED_PER_SEARCH *
		r64_count_range(steps->set, up ? steps->start : v, up ? v : steps->start))
	{
		steps->length = steps->length > 1 ? steps->length / 2 : 1;
		steps->patience = PATIENCE;
	}
	else if (steps->patience > 0)
		steps->patience--;
	else if (steps->length <= INT64_MAX)
		steps->length *= 2;
}

/* Ends a step with v, the last value that it has reached. */
void
roaring64_end_step(Steps *steps, int64_t v)
{
	if (!steps->negated)
		adapt_step(steps, v);
	steps->in_step = false;
	steps->done = v == steps->limit;
	if (!steps->done)
		steps->from = steps->ascending ? v + 1 : v - 1;
}

/*
 * Whether a search past the elements, or the gap between them, is cheaper than
 * reading on.
 */
static bool
leaves_step(Steps *steps, int64_t id)
{
	bool		up = steps->first < id;

	if (!steps->negated)
		return steps->gap >= MAX_GAP;
	if (steps->gap == 1)
		steps->first = id;
	if (steps->gap < ROARING64_PASSED_PER_SEARCH)
		return false;
	/* the next ones may be of one run */
	steps->gap = 0;
	return r64_contains_range(steps->set, up ? steps->first : id,
							  up ? id : steps->first);
}

/*
 * Whether an entry that the step has reached is wanted.  If not, the step may
 * be given up.
 */
bool
roaring64_step_wants(Steps *steps, int64_t id)
{
	int64_t		element;
	bool		found = steps->negated ? r64_contains(steps->set, id) :
		find_element(steps, id, &element) && element == id;

	if (found != steps->negated)
	{
		steps->gap = 0;
		if (steps->found == 0 || id != steps->last)
			steps->found++;
		steps->last = id;
		return true;
	}
	steps->passed++;
	steps->gap++;
	if (leaves_step(steps, id))
		roaring64_end_step(steps, id);
	return false;
}
