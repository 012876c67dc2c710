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

/* How far to look for the end of a run, which can be as long as the set. */
#define MAX_RUN			(INT64_C(1) << 20)

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

/*
 * Finds the run of elements that comes next, from v on, or a part of it that
 * begins there.  Returns false if there is none.
 */
static bool
find_run(Walk *walk, int64_t v)
{
	const int64_t *ahead = walk->ahead;
	size_t		i;

	if (!walk->ascending)
	{
		if (!r64_prev(walk->set, v, &walk->last))
			return false;
		walk->first = walk->last;
		return true;
	}
	while (walk->next < walk->nahead && ahead[walk->next] < v)
		walk->next++;
	if (walk->next == walk->nahead)
	{
		walk->next = 0;
		walk->nahead = r64_read(walk->set, v, INT64_MAX, false, walk->ahead,
								ROARING64_MAX_AHEAD);
		if (walk->nahead == 0)
			return false;
		if ((uint64_t) ahead[walk->nahead - 1] - (uint64_t) ahead[0] ==
			ROARING64_MAX_AHEAD - 1)
		{
			/* a long one */
			walk->nahead = 0;
			return r64_next_run(walk->set, ahead[0],
								ahead[0] > INT64_MAX - MAX_RUN ? INT64_MAX :
								ahead[0] + MAX_RUN, &walk->first, &walk->last);
		}
	}
	/* the same run may be asked for again */
	i = walk->next;
	walk->first = walk->last = ahead[i];
	while (++i < walk->nahead && ahead[i] == walk->last + 1)
		walk->last = ahead[i];
	return true;
}

/* The last element of the step that begins now. */
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
	if (after < walk->nahead && walk->ahead[after] > end)
		return end < walk->last ? end : walk->last;
	if (end > walk->last)
		(void) r64_prev(walk->set, end, &end);
	else if (end < walk->first)
		(void) r64_next(walk->set, end, &end);
	return end;
}

/* The next value that is not in the set, from v on; false if there is none. */
static bool
find_absent(const Walk *walk, int64_t v, int64_t *absent)
{
	uint64_t	room = (uint64_t) v - (uint64_t) INT64_MIN;
	uint64_t	in = 0;			/* v - in is an element, all above it, too */
	uint64_t	more = 1;
	bool		grows = true;

	if (walk->ascending)
		return r64_next_absent(walk->set, v, absent);
	*absent = v;
	if (!r64_contains(walk->set, v))
		return true;
	while (more > 0)
	{
		if (more <= room - in &&
			r64_contains_range(walk->set, (int64_t) ((uint64_t) v - in - more),
							   (int64_t) ((uint64_t) v - in)))
			in += more;
		else
			grows = false;
		more = grows ? more * 2 : more / 2;
	}
	*absent = (int64_t) ((uint64_t) v - in - 1);
	return in < room;
}

/*
 * Begins a step: the entries from start to end are to be read, in the order of
 * the walk.  Returns false if there are none.
 */
bool
roaring64_walk_step(Walk *walk)
{
	if (!walk->done && walk->negated)
	{
		walk->done = !find_absent(walk, walk->from, &walk->start);
		walk->end = walk->limit;
	}
	else if (!walk->done && find_run(walk, walk->from))
	{
		walk->start = walk->ascending ? walk->first : walk->last;
		walk->end = end_of_step(walk);
	}
	else
		walk->done = true;
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
	walk->in_step = false;
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

/* Whether a run of elements has been passed that it is better to search past. */
static bool
leave_run(Walk *walk, int64_t id)
{
	bool		up = walk->first < id;

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
	bool		found;

	if (walk->negated)
		found = r64_contains(walk->set, id);
	else
	{
		if (walk->ascending ? id > walk->last : id < walk->first)
			(void) find_run(walk, id);
		found = walk->first <= id && id <= walk->last;
	}
	if (found != walk->negated)
	{
		walk->gap = 0;
		return true;
	}
	walk->passed++;
	walk->gap++;
	if (walk->negated && leave_run(walk, id))
	{
		walk->from = id;
		walk->in_step = false;
	}
	else if (!walk->negated && walk->gap >= MAX_GAP)
	{
		walk->from = walk->ascending ? walk->first : walk->last;
		adapt_step(walk, walk->from);
	}
	return false;
}
