/*-------------------------------------------------------------------------
 *
 * sets.c
 *	  Writes random sets of every shape, as plain text.
 *
 *	usage: sets folder sets seed
 *
 * Each set is a file of the folder, with the set's number as its name and a
 * line "first last" for every run of consecutive elements.  Elements are
 * unsigned and ascending here, as in the portable format: -1 of SQL is
 * 18446744073709551615.  A run ends where the next number is no element, so
 * there is one way to write a set.
 *
 * The shapes are those of the engine's own tests, but nothing of the engine
 * or of CRoaring has a part in what is written.
 *
 * test/interop/sets.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"
#include "shapes.h"

/* A run that may yet grow, and where it is to be written. */
typedef struct pending
{
	FILE	   *file;
	bool		any;
	uint64_t	first;
	uint64_t	last;
} pending;

static void
flush_run(pending *p)
{
	if (p->any)
		fprintf(p->file, "%" PRIu64 " %" PRIu64 "\n", p->first, p->last);
	p->any = false;
}

static void
add_run(pending *p, uint64_t first, uint64_t last)
{
	if (p->any && p->last + 1 == first)
	{
		p->last = last;
		return;
	}
	flush_run(p);
	p->any = true;
	p->first = first;
	p->last = last;
}

/*
 * A model is in the order of int64.  As unsigned numbers the negative ones
 * come last, and a run across zero is two.
 */
static void
write_set(FILE *file, const model *m)
{
	pending		p = {.file = file};

	for (size_t i = 0; i < m->n; i++)
	{
		int64_t		lo = m->runs[i].lo < 0 ? 0 : m->runs[i].lo;

		if (m->runs[i].hi >= 0)
			add_run(&p, (uint64_t) lo, (uint64_t) m->runs[i].hi);
	}
	for (size_t i = 0; i < m->n; i++)
	{
		int64_t		hi = m->runs[i].hi < 0 ? m->runs[i].hi : -1;

		if (m->runs[i].lo < 0)
			add_run(&p, (uint64_t) m->runs[i].lo, (uint64_t) hi);
	}
	flush_run(&p);
}

int
main(int argc, char **argv)
{
	if (argc != 4)
	{
		fprintf(stderr, "usage: %s folder sets seed\n", argv[0]);
		return 2;
	}
	unit_start("sets", 1, 3, argv + 1);
	for (uint64_t i = 0; i < unit_cases; i++)
	{
		char		path[1000];
		FILE	   *file;
		universe	u;
		model		m;

		unit_numbered_case(i);
		u = shape_universe();
		m = shape_set(&u, i % 2 == 0 ? SHAPE_MEDIUM : SHAPE_SMALL);
		snprintf(path, sizeof(path), "%s/%04" PRIu64, argv[1], i);
		file = fopen(path, "w");
		if (file != NULL)
			write_set(file, &m);
		if (file == NULL || ferror(file) || fclose(file) != 0)
		{
			perror(path);
			return 1;
		}
	}
	return unit_finish();
}
