/*-------------------------------------------------------------------------
 *
 * steps_test.c
 *	  The steps through an index for a set, or for all but it, with an array for
 *	  an index.
 *
 * Whatever steps it takes, it must return each entry that is wanted once, in
 * order, and without many more reads and searches than the best way has.
 *
 * test/unit/steps_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "unit.h"
#include "index/steps.h"
#include "shapes.h"

#define DEFAULT_CASES	3000
#define MAX_ENTRIES		4000

static int64_t entries[MAX_ENTRIES];
static size_t nentries;

static int
compare(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

/* Ids near the set's, some of them more than once, or all of a stretch. */
static void
make_entries(const universe *u, const model *m)
{
	nentries = (size_t) unit_below(MAX_ENTRIES);
	for (size_t i = 0; i < nentries; i++)
	{
		int64_t		last = i == 0 ? 0 : entries[i - 1];

		entries[i] = i == 0 || unit_below(20) == 0 ? shape_probe(u, m) :
			last + (last < INT64_MAX && unit_below(5) > 0);
	}
	qsort(entries, nentries, sizeof(int64_t), compare);
}

/*
 * Reads the index in steps, and checks the entries returned.  Returns how many
 * were read, each search counted for as many as take as long.
 */
static uint64_t
read_all(r64_set *set, const model *m, bool ascending, bool negated)
{
	Steps		steps;
	uint64_t	work = 0;
	size_t		next = 0;		/* entry that is due, in the order of the
								 * steps */

	roaring64_begin_steps(&steps, set, ascending, negated);
	while (roaring64_next_step(&steps))
	{
		int64_t		lo = ascending ? steps.start : steps.end;
		int64_t		hi = ascending ? steps.end : steps.start;

		work += ROARING64_PASSED_PER_SEARCH;
		CHECK(lo <= hi);
		for (size_t i = 0; i < nentries && steps.in_step; i++)
		{
			int64_t		id = entries[ascending ? i : nentries - 1 - i];

			if (id < lo || id > hi)
				continue;
			work++;
			if (!roaring64_step_wants(&steps, id))
				continue;
			steps.from = id;
			while (next < nentries &&
				   model_contains(m, entries[ascending ? next : nentries - 1 - next]) == negated)
				next++;
			CHECK(next < nentries);
			if (unit_case_failed())
				return work;
			CHECK_I64(id, entries[ascending ? next : nentries - 1 - next]);
			next++;
		}
		if (steps.in_step)
			roaring64_end_step(&steps, steps.end);
	}
	for (; next < nentries; next++)
		CHECK(model_contains(m, entries[ascending ? next : nentries - 1 - next]) == negated);
	return work;
}

/* What it takes to read the entries that are not in the set, but for its runs. */
static uint64_t
least_work(const model *m)
{
	uint64_t	work = 4 * ROARING64_PASSED_PER_SEARCH;
	uint64_t	in_run = 0;

	for (size_t i = 0; i < nentries; i++)
	{
		if (!model_contains(m, entries[i]))
			in_run = 0;
		else if (in_run > 0 && model_contains_range(m, entries[i - 1], entries[i]))
			in_run++;
		else
			in_run = 1;
		if (in_run < ROARING64_PASSED_PER_SEARCH)
			work++;
		else if (in_run == ROARING64_PASSED_PER_SEARCH)
			work += 2 * ROARING64_PASSED_PER_SEARCH;
	}
	return work;
}

static void
run_case(void *number)
{
	universe	u = shape_universe();
	model		m = shape_set(&u, SHAPE_SMALL);
	r64_set		set = model_open(&m);

	(void) number;
	make_entries(&u, &m);
	r64_index_set(&set);
	for (int i = 0; i < 4; i++)
	{
		uint64_t	work;

		unit_note("%s%s", i % 2 ? " ascending" : " descending",
				  i / 2 ? " negated" : "");
		work = read_all(&set, &m, i % 2, i / 2);
		if (i / 2)
			CHECK(work <= 2 * least_work(&m));
	}
	r64_close(&set);
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "steps through an index",.cases = DEFAULT_CASES,.run_case = run_case
	};

	return unit_run(&program, argc, argv);
}
