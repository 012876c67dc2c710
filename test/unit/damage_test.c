/*-------------------------------------------------------------------------
 *
 * damage_test.c
 *	  Damaged bytes through every function that takes them for a set.
 *
 * Stored bytes are trusted to be canonical, but not to be in bounds.  So on
 * damaged ones a function may answer wrongly, or fail with R64_CORRUPT or
 * R64_TOO_LARGE, and nothing else: it ends, keeps to its limits, and reads and
 * writes nothing out of bounds.  The last only shows under AddressSanitizer;
 * inputs lie at all alignments, at the end of a block of their size.
 *
 * One thing even a wrong answer must keep to: what a caller goes on from lies
 * where it was looked for, or going through a damaged set would never end.
 *
 * test/unit/damage_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "model.h"
#include "engine/accumulator.h"
#include "engine/format.h"
#include "mutate.h"

#define DEFAULT_CASES	10000
#define SIZE_LIMIT		((size_t) 256 << 10)
/* staging arrays, an index, scratch: for the largest bucket there can be */
#define SLACK_LIMIT		((size_t) 4 << 20)
#define PROBES			6
#define READ_MAX		300

static const r64_op all_ops[] = {R64_OR, R64_AND, R64_ANDNOT, R64_XOR};

static byte_string damaged;
static byte_string partner;		/* damaged too, or not */
static int64_t probes[PROBES];

static uint64_t calls;
static uint64_t calls_failed;

/* Views: each call opens its own, as every SQL function does. */
static r64_set
open_damaged(void)
{
	return r64_open(&unit_env, damaged.bytes, damaged.size);
}

static r64_set
open_partner(void)
{
	return r64_open(&unit_env, partner.bytes, partner.size);
}

static void
check_buf(r64_buf buf)
{
	(void) unit_result(buf);
}

/*
 * The calls.
 */

static void
call_header(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	(void) arg;
	(void) r64_is_empty(&s);
	(void) r64_cardinality(&s);
	(void) r64_min(&s, &v);
	(void) r64_max(&s, &v);
	r64_close(&s);
}

static void
call_min(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	(void) arg;
	(void) r64_min(&s, &v);
	r64_close(&s);
}

static void
call_max(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	(void) arg;
	(void) r64_max(&s, &v);
	r64_close(&s);
}

static void
call_stats(void *arg)
{
	r64_set		s = open_damaged();

	(void) arg;
	(void) r64_get_stats(&s);
	r64_close(&s);
}

static void
call_contains(void *arg)
{
	r64_set		s = open_damaged();

	(void) r64_contains(&s, *(int64_t *) arg);
	r64_index_set(&s);
	(void) r64_contains(&s, *(int64_t *) arg);
	(void) r64_contains(&s, *(int64_t *) arg ^ 1);
	r64_close(&s);
}

static void
call_count_range(void *arg)
{
	r64_set		s = open_damaged();
	const int64_t *p = arg;

	(void) r64_count_range(&s, INT64_MIN, p[0]);
	(void) r64_count_range(&s, p[0], p[1]);
	r64_close(&s);
}

static void
call_select(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	(void) r64_select(&s, (uint64_t) *(int64_t *) arg, &v);
	(void) r64_select(&s, unit_skewed(1 << 20), &v);
	r64_close(&s);
}

static void
call_next(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	if (r64_next(&s, *(int64_t *) arg, &v))
		CHECK(v >= *(int64_t *) arg);
	r64_close(&s);
}

static void
call_prev(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	if (r64_prev(&s, *(int64_t *) arg, &v))
		CHECK(v <= *(int64_t *) arg);
	r64_close(&s);
}

static void
call_next_absent(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	if (r64_next_absent(&s, *(int64_t *) arg, &v))
		CHECK(v >= *(int64_t *) arg);
	r64_close(&s);
}

static void
call_prev_absent(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		v;

	if (r64_prev_absent(&s, *(int64_t *) arg, &v))
		CHECK(v <= *(int64_t *) arg);
	r64_close(&s);
}

static void
call_read(void *arg)
{
	r64_set		s = open_damaged();
	const int64_t *p = arg;
	bool		reverse = unit_one_in(2);
	size_t		n = 1 + unit_skewed(READ_MAX);
	int64_t    *out = unit_alloc(n * sizeof(int64_t));
	size_t		got;

	got = r64_read(&s, p[0], p[1], reverse, out, n);
	if (CHECK(got <= n) && got > 0)
		CHECK(out[got - 1] >= p[0] && out[got - 1] <= p[1]);
	CHECK(r64_read(&s, INT64_MIN, INT64_MAX, reverse, out, n) <= n);
	r64_close(&s);
}

/* A caller that goes on after each run must come to an end. */
static void
call_runs(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		lo = *(int64_t *) arg;
	int64_t		first;
	int64_t		last;

	for (int i = 0; i < READ_MAX; i++)
	{
		if (!r64_next_run(&s, lo, INT64_MAX, &first, &last))
			break;
		if (!CHECK(first >= lo) || !CHECK(last >= first) || last == INT64_MAX)
			break;
		lo = last + 1;
	}
	r64_close(&s);
}

static void
call_contains_range(void *arg)
{
	r64_set		s = open_damaged();
	const int64_t *p = arg;

	(void) r64_contains_range(&s, p[0], p[1]);
	r64_close(&s);
}

static void
call_relations(void *arg)
{
	r64_set		s = open_damaged();
	r64_set		t = open_partner();
	const bool *swapped = arg;
	const r64_set *a = *swapped ? &t : &s;
	const r64_set *b = *swapped ? &s : &t;

	switch (unit_below(3))
	{
		case 0:
			(void) r64_is_subset(a, b);
			break;
		case 1:
			(void) r64_overlaps(a, b);
			break;
		default:
			(void) r64_and_cardinality(a, b);
			break;
	}
	r64_close(&s);
	r64_close(&t);
}

typedef struct operation
{
	r64_op		op;
	bool		swapped;
} operation;

static void
call_combine(void *arg)
{
	const operation *o = arg;
	r64_set		s = open_damaged();
	r64_set		t = open_partner();

	check_buf(r64_combine(o->op, o->swapped ? &t : &s, o->swapped ? &s : &t));
	r64_close(&s);
	r64_close(&t);
}

static void
call_splice(void *arg)
{
	const operation *o = arg;
	uint8_t		bytes[R64_SINGLETON_SIZE];
	r64_set		s = open_damaged();
	r64_set		t = r64_singleton(&unit_env, probes[0], bytes);

	check_buf(r64_combine(o->op, o->swapped ? &t : &s, o->swapped ? &s : &t));
	r64_close(&s);
	r64_close(&t);
}

static void
call_combine_range(void *arg)
{
	const operation *o = arg;
	r64_set		s = open_damaged();

	check_buf(r64_combine_range(o->op, &s, probes[0], probes[1]));
	r64_close(&s);
}

static void
call_shift(void *arg)
{
	r64_set		s = open_damaged();
	int64_t		delta = *(int64_t *) arg;
	int64_t		outermost = 0;

	if (delta < 0 ? !r64_min(&s, &outermost) || outermost >= INT64_MIN - delta :
		!r64_max(&s, &outermost) || outermost <= INT64_MAX - delta)
		check_buf(r64_shift(&s, delta));
	r64_close(&s);
}

static void
call_sample(void *arg)
{
	r64_set		s = open_damaged();

	check_buf(r64_sample(&s, (uint64_t) *(int64_t *) arg % 20000, 1));
	r64_close(&s);
}

static void
call_copy(void *arg)
{
	r64_set		s = open_damaged();

	(void) arg;
	check_buf(r64_copy(s.env, &s));
	r64_close(&s);
}

/* As an aggregate does: some sound sets first, or none; by chance counted. */
static void
call_accumulate(void *arg)
{
	const operation *o = arg;
	r64_op		join = o->op == R64_XOR ? R64_XOR : R64_OR;
	uint8_t		bytes[R64_SINGLETON_SIZE];
	r64_accumulator acc;
	r64_set		one = r64_singleton(&unit_env, probes[0], bytes);
	r64_set		s = open_damaged();
	r64_set		t = open_partner();
	r64_set		all;
	bool		counting = unit_one_in(2);

	r64_accumulator_init(&acc, &unit_env);
	for (uint64_t n = unit_below(2) * 5; n > 0; n--)
		r64_accumulator_combine(&acc, R64_OR, &one);
	r64_accumulator_combine(&acc, join, &s);
	if (counting)
		(void) r64_accumulator_cardinality(&acc);
	r64_accumulator_combine(&acc, join, &one);
	if (counting)
		(void) r64_accumulator_cardinality(&acc);
	r64_accumulator_combine(&acc, join, &t);
	r64_accumulate(&acc, probes[1]);
	r64_accumulate_range(&acc, probes[2], probes[2]);
	r64_accumulator_combine(&acc, o->op, &t);
	all = r64_accumulator_set(&acc);
	CHECK(all.size <= unit_env.max_size);
	r64_close(&all);
	r64_close(&s);
	r64_close(&t);
}

/*
 * A container of many runs, one of which is damaged, as the start of a running
 * count: to be changed in place, the runs become a bitset.
 */
static void
call_running_count(void *arg)
{
	uint8_t		bytes[R64_SINGLETON_SIZE];
	uint32_t	n = (uint32_t) unit_between(300, 2000);
	size_t		size = 8 + 4 + 4 + 1 + 4 + 2 + 4 * (size_t) n;
	uint8_t    *p = unit_alloc(size);
	r64_accumulator acc;
	r64_set		s;

	(void) arg;
	memset(p, 0, size);
	r64_store64(p, 1);
	r64_store32(p + 12, R64_COOKIE_RUN);
	p[16] = 1;
	r64_store16(p + 19, (uint16_t) (2 * n - 1));
	r64_store16(p + 21, (uint16_t) n);
	for (uint32_t i = 0; i < n; i++)
	{
		r64_store16(p + 23 + 4 * i, (uint16_t) (i * 32));
		r64_store16(p + 23 + 4 * i + 2, 1);
	}
	r64_store16(p + 23 + 2 * unit_below(2 * n), (uint16_t) unit_random());
	s = r64_open(&unit_env, p, size);

	r64_accumulator_init(&acc, &unit_env);
	r64_accumulator_combine(&acc, R64_OR, &s);
	for (int i = 0; i < 3; i++)
	{
		r64_set		one = r64_singleton(&unit_env, (int64_t) unit_below(65536), bytes);

		r64_accumulator_combine(&acc, R64_OR, &one);
		(void) r64_accumulator_cardinality(&acc);
	}
	r64_close(&s);
}

/*
 * Makes a call and checks how it ended.
 */
static void
attempt(const char *name, void (*body) (void *arg), void *arg)
{
	unit_outcome outcome = unit_try(body, arg);

	calls++;
	if (outcome == UNIT_DONE)
		return;
	calls_failed++;
	if (!CHECK(outcome == UNIT_FAILED) ||
		!CHECK(unit_error == R64_CORRUPT || unit_error == R64_TOO_LARGE))
		printf("\tin %s: %s\n", name, unit_reason);
}

/* Numbers that are elements, or would be, were the bytes sound. */
static void
choose_probes(void)
{
	uint64_t	v;

	for (int i = 0; i < PROBES; i++)
	{
		v = unit_random();
		if (damaged.size >= 24 && !unit_one_in(4))
		{
			/* a high half, and key and value from any place */
			uint32_t	high;
			uint16_t	key;

			memcpy(&high, damaged.bytes + 8, 4);
			memcpy(&key, damaged.bytes + unit_below(damaged.size - 1), 2);
			v = (uint64_t) high << 32 | (uint64_t) key << 16 | (v & 0xffff);
		}
		probes[i] = (int64_t) v;
	}
	if (probes[0] > probes[1] && !unit_one_in(8))
	{
		int64_t		swapped = probes[0];

		probes[0] = probes[1];
		probes[1] = swapped;
	}
}

static void
run_case(void *number)
{
	byte_string origin;
	int64_t		deltas[] = {0, 1, -1, 65536, INT64_C(-4294967296), 0};

	damaged = mutate_case(*(uint64_t *) number);
	damaged.bytes = unit_place(damaged.bytes, damaged.size,
							   (unsigned) unit_below(8));
	origin = mutate_origin();
	switch (unit_below(3))
	{
		case 0:
			partner = mutate(origin);
			break;
		case 1:
			partner = mutate_seed();
			break;
		default:
			partner = origin;
			break;
	}
	partner.bytes = unit_place(partner.bytes, partner.size,
							   (unsigned) unit_below(8));
	choose_probes();
	deltas[5] = probes[2];
	unit_env.max_size = SIZE_LIMIT;
	unit_env.headroom = unit_below(17);

	attempt("header", call_header, NULL);
	attempt("min", call_min, NULL);
	attempt("max", call_max, NULL);
	attempt("stats", call_stats, NULL);
	for (int i = 0; i + 1 < PROBES; i++)
	{
		attempt("contains", call_contains, &probes[i]);
		attempt("count_range", call_count_range, &probes[i]);
		attempt("select", call_select, &probes[i]);
		attempt("next", call_next, &probes[i]);
		attempt("prev", call_prev, &probes[i]);
		attempt("next_absent", call_next_absent, &probes[i]);
		attempt("prev_absent", call_prev_absent, &probes[i]);
		attempt("contains_range", call_contains_range, &probes[i]);
	}
	attempt("read", call_read, &probes[0]);
	attempt("runs", call_runs, &probes[0]);
	for (int i = 0; i < 8; i++)
	{
		operation	o = {all_ops[i / 2], i % 2 == 1};

		attempt("relations", call_relations, &o.swapped);
		attempt("combine", call_combine, &o);
		attempt("splice", call_splice, &o);
		if (!o.swapped)
		{
			attempt("combine_range", call_combine_range, &o);
			attempt("accumulate", call_accumulate, &o);
		}
	}
	for (size_t i = 0; i < sizeof(deltas) / sizeof(deltas[0]); i++)
		attempt("shift", call_shift, &deltas[i]);
	attempt("sample", call_sample, &probes[0]);
	attempt("copy", call_copy, NULL);
	attempt("running count", call_running_count, NULL);
	/* bitsets of a running count take eight times as much; buffers double */
	CHECK(unit_largest <= 16 * (SIZE_LIMIT + damaged.size + partner.size) +
		  SLACK_LIMIT);
}

static void
say_calls(void)
{
	printf("%" PRIu64 " calls, of which %" PRIu64 " failed as they may\n",
		   calls, calls_failed);
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "damaged bytes used",.cases = DEFAULT_CASES,.run_case = run_case,
		.after = say_calls
	};

	return unit_run(&program, argc, argv);
}
