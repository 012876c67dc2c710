/*-------------------------------------------------------------------------
 *
 * toast_slices_test.c
 *	  Sets that are fetched in parts: the answers, and what is fetched.
 *
 * Every fetch hands out a block of exactly its size, and the block before it
 * is overwritten, so that neither reading past a fetch nor reading an old one
 * goes unseen.  Damaged bytes must end in an answer or in R64_CORRUPT.
 *
 * test/unit/toast_slices_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "mutate.h"
#include "shapes.h"

#define DEFAULT_CASES	5000
#define PROBES			10

/* The set that is elsewhere, and the part that was fetched last. */
static const uint8_t *bytes;
static size_t size;
static uint8_t *part;
static size_t part_size;
static size_t fetched;			/* bytes in all */

static const uint8_t *
fetch(void *arg, size_t offset, size_t n)
{
	(void) arg;
	if (!CHECK(offset <= size && n <= size - offset))
		abort();
	if (part != NULL)
		memset(part, 0xA5, part_size);
	part = unit_alloc(n);
	part_size = n;
	memcpy(part, bytes + offset, n);
	fetched += n;
	return part;
}

static r64_source
open_source(const uint8_t *b, size_t n)
{
	r64_source	source = {.env = &unit_env,.fetch = fetch,.size = n};

	bytes = b;
	size = n;
	part = NULL;
	fetched = 0;
	return source;
}

static void
test_answers(void)
{
	universe	u = shape_universe();
	model		m = shape_set(&u, unit_one_in(8) ? SHAPE_MEDIUM : SHAPE_SMALL);
	r64_set		s = model_open(&m);
	r64_source	source = open_source(s.bytes, s.size);
	int64_t		least;
	int64_t		want;

	CHECK_U64(r64_source_cardinality(&source), model_cardinality(&m));
	if (CHECK(r64_source_min(&source, &least) ==
			  model_select(&m, 0, &want)) && model_select(&m, 0, &want))
		CHECK_I64(least, want);
	for (int i = 0; i < PROBES; i++)
	{
		int64_t		v = shape_probe(&u, &m);

		CHECK(r64_source_contains(&source, v) == model_contains(&m, v));
	}
}

/* Of one bucket of large containers, little more than the header. */
static void
test_thrift(void)
{
	range_list	list = {0};
	model		m;
	r64_set		s;
	r64_source	source;

	for (int64_t k = 0; k < 30; k++)
		for (int64_t i = 0; i < 5000; i++)
			range_list_add(&list, k * 65536 + i * 13, k * 65536 + i * 13);
	m = model_make(&list);
	s = model_open(&m);
	source = open_source(s.bytes, s.size);
	CHECK(s.size > 30 * 8192);
	CHECK(r64_source_contains(&source, 17 * 65536 + 13));
	CHECK(!r64_source_contains(&source, 17 * 65536 + 14));
	CHECK_U64(r64_source_cardinality(&source), 30 * 5000);
	CHECK(fetched < 2 * 8192 + 3000);
}

static int64_t probe;

static void
ask(void *arg)
{
	r64_source *source = arg;
	int64_t		least;

	(void) r64_source_cardinality(source);
	(void) r64_source_min(source, &least);
	(void) r64_source_contains(source, probe);
}

static void
test_damaged(uint64_t number)
{
	byte_string damaged = mutate_case(number);
	r64_source	source = open_source(damaged.bytes, damaged.size);

	probe = (int64_t) unit_random();
	if (damaged.size >= 22)
		memcpy((char *) &probe + 4, damaged.bytes + 8, 4);
	if (unit_try(ask, &source) == UNIT_FAILED)
		CHECK(unit_error == R64_CORRUPT);
}

static void
run_case(void *number)
{
	uint64_t	i = *(uint64_t *) number;

	if (i % 2 == 0)
		test_answers();
	else
		test_damaged(i);
}

static void
after_cases(void)
{
	unit_case("thrift");
	test_thrift();
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "sets fetched in parts",.cases = DEFAULT_CASES,.run_case = run_case,
		.after = after_cases
	};

	return unit_run(&program, argc, argv);
}
