/*-------------------------------------------------------------------------
 *
 * partial_test.c
 *	  Sets that are fetched in parts: the answers, and what is fetched.
 *
 * Every fetch hands out a block of exactly its size, and the block before it of
 * the same kind is overwritten, so that neither reading past a fetch nor
 * reading an old one goes unseen.  Damaged bytes must end in an answer or in
 * R64_CORRUPT.
 *
 * test/unit/partial_test.c
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

/* The set that is elsewhere, and the parts that were fetched last. */
static const uint8_t *bytes;
static size_t size;
static uint8_t *part[R64_PARTS];
static size_t part_size[R64_PARTS];
static size_t fetched;			/* bytes in all */

static const uint8_t *
fetch(void *arg, r64_part kind, size_t offset, size_t n)
{
	(void) arg;
	if (!CHECK(offset <= size && n <= size - offset))
		abort();
	if (part[kind] != NULL)
		memset(part[kind], 0xA5, part_size[kind]);
	part[kind] = unit_alloc(n);
	part_size[kind] = n;
	memcpy(part[kind], bytes + offset, n);
	fetched += n;
	return part[kind];
}

static r64_source
open_source(const uint8_t *b, size_t n)
{
	r64_source	source = {.env = &unit_env,.fetch = fetch,.size = n};

	bytes = b;
	size = n;
	memset(part, 0, sizeof(part));
	fetched = 0;
	return source;
}

/* Whether v is an element. */
static bool
contains(const r64_source *source, int64_t v)
{
	uint8_t		one[R64_SINGLETON_SIZE];
	r64_set		few = r64_singleton(&unit_env, v, one);
	r64_set		kept = r64_open_buf(&unit_env, r64_source_restrict(source, &few, NULL));

	return r64_contains(&kept, v);
}

/* How many elements there are. */
static uint64_t
count(const r64_source *source)
{
	static const uint8_t nothing[8];
	r64_set		few = r64_open(&unit_env, nothing, sizeof(nothing));
	uint64_t	cardinality = 0;

	(void) r64_source_restrict(source, &few, &cardinality);
	return cardinality;
}

static void
test_answers(void)
{
	universe	u = shape_universe();
	model		m = shape_set(&u, unit_one_in(8) ? SHAPE_MEDIUM : SHAPE_SMALL);
	r64_set		s = model_open(&m);
	r64_source	source = open_source(s.bytes, s.size);

	CHECK_U64(count(&source), model_cardinality(&m));
	for (int i = 0; i < PROBES; i++)
	{
		int64_t		v = shape_probe(&u, &m);

		CHECK(contains(&source, v) == model_contains(&m, v));
	}
}

/* Of one bucket of large containers, little more than the header. */
static void
test_thrift(void)
{
	range_list	list = {0};
	model		m;
	model		few;
	r64_set		s;
	r64_set		f;
	r64_source	source;

	for (int64_t k = 0; k < 30; k++)
		for (int64_t i = 0; i < 5000; i++)
			range_list_add(&list, k * 65536 + i * 13, k * 65536 + i * 13);
	m = model_make(&list);
	s = model_open(&m);
	source = open_source(s.bytes, s.size);
	CHECK(s.size > 30 * 8192);
	CHECK(contains(&source, 17 * 65536 + 13));
	CHECK(!contains(&source, 17 * 65536 + 14));
	CHECK_U64(count(&source), 30 * 5000);
	CHECK(fetched < 2 * 8192 + 3000);

	/* the same for a set of one element */
	few = model_range(7 * 65536 + 13, 7 * 65536 + 13);
	f = model_open(&few);
	source = open_source(s.bytes, s.size);
	(void) r64_source_restrict(&source, &f, NULL);
	CHECK(fetched < 8192 + 1000);
}

/*
 * What a restriction keeps is the same set as the source, as far as the
 * containers of the other set go, and nothing beyond them.
 */
static void
check_restricted(const model *whole, const model *few, r64_set *kept)
{
	r64_set		w = model_open(whole);
	r64_set		f = model_open(few);
	int64_t		v;

	for (int i = 0; i < 2; i++)
	{
		r64_op		op = i == 0 ? R64_AND : R64_ANDNOT;
		model		want = model_combine(op, few, whole);
		r64_set		s = model_open(&want);
		r64_set		made;

		made = r64_open_buf(&unit_env, r64_combine(op, &f, kept));
		CHECK_BYTES(made.bytes, made.size, s.bytes, s.size);
	}
	CHECK_U64(r64_and_cardinality(kept, &f), r64_and_cardinality(&w, &f));
	CHECK(r64_overlaps(kept, &f) == r64_overlaps(&w, &f));
	CHECK(r64_is_subset(&f, kept) == r64_is_subset(&f, &w));
	CHECK(r64_is_subset(kept, &w));
	for (int64_t at = INT64_MIN; r64_next(kept, at, &v);)
	{
		int64_t		place = v & ~INT64_C(0xFFFF);

		CHECK(r64_next(&f, place, &at) && at <= (place | 0xFFFF));
		if (place == (INT64_MAX & ~INT64_C(0xFFFF)))
			break;
		at = place + 0x10000;
	}
}

static void
test_restriction(void)
{
	universe	u;
	model		whole;
	model		few;
	r64_set		s;
	r64_set		f;
	r64_set		kept;
	r64_source	source;
	uint64_t	cardinality = 0;
	bool		counted = unit_one_in(2);

	shape_pair(unit_one_in(8) ? SHAPE_MEDIUM : SHAPE_SMALL, &u, &whole, &few);
	s = model_open(&whole);
	f = model_open(&few);
	source = open_source(s.bytes, s.size);
	kept = r64_open_buf(&unit_env,
						r64_source_restrict(&source, &f, counted ? &cardinality : NULL));
	if (counted)
		CHECK_U64(cardinality, model_cardinality(&whole));
	check_restricted(&whole, &few, &kept);
}

static int64_t probe;

/* Restricts the source to an element, and asks what is left. */
static void
ask_restricted(const r64_source *source, int64_t v)
{
	uint8_t		one[R64_SINGLETON_SIZE];
	r64_set		few = r64_singleton(&unit_env, v, one);
	r64_set		kept;
	uint64_t	cardinality;

	kept = r64_open_buf(&unit_env,
						r64_source_restrict(source, &few, v & 1 ? &cardinality : NULL));
	(void) r64_is_subset(&few, &kept);
	(void) r64_combine(R64_AND, &few, &kept);
}

static void
ask(void *arg)
{
	r64_source *source = arg;

	ask_restricted(source, probe);
	(void) count(source);
	(void) contains(source, probe);
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

	if (i % 2 == 1)
		test_damaged(i);
	else if (i % 4 == 0)
		test_answers();
	else
		test_restriction();
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
