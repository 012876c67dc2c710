/*-------------------------------------------------------------------------
 *
 * model_test.c
 *	  The functions of r64.h against the model, on random sets.
 *
 * A case draws two sets and asks one function about them, the functions in
 * turn.  Sets that the engine makes must have the model's canonical bytes.
 * Accumulators have a program of their own.
 *
 * test/unit/model_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "shapes.h"

#define DEFAULT_CASES	6000
#define PROBES			20

/* Results of more elements than this have over RESULT_LIMIT bytes. */
#define HUGE_CARDINALITY	(UINT64_C(1) << 35)
#define RESULT_LIMIT		((size_t) 2 << 20)

static const r64_op all_ops[] = {R64_OR, R64_AND, R64_ANDNOT, R64_XOR};
static const char *const op_names[] = {" or", " and", " andnot", " xor"};

/* What a case works on. */
static universe u;
static model ma;
static model mb;
static r64_set a;
static r64_set b;

static void
check_result(r64_buf got, const model *want)
{
	size_t		size;
	uint8_t    *bytes = model_encode(want, &size, NULL);

	CHECK_BYTES(unit_result(got), got.size, bytes, size);
}

/* A call that may fail, and what came of it. */
typedef struct model_call
{
	r64_op		op;
	r64_set    *s;
	const r64_set *t;
	int64_t		lo;				/* or delta */
	int64_t		hi;
	int64_t    *values;
	const r64_range *ranges;
	size_t		n;
	r64_buf		result;
} model_call;

static void
call_combine(void *arg)
{
	model_call *c = arg;

	c->result = r64_combine(c->op, c->s, c->t);
}

static void
call_combine_range(void *arg)
{
	model_call *c = arg;

	c->result = r64_combine_range(c->op, c->s, c->lo, c->hi);
}

static void
call_shift(void *arg)
{
	model_call *c = arg;

	c->result = r64_shift(c->s, c->lo);
}

static void
call_copy(void *arg)
{
	model_call *c = arg;

	c->result = r64_copy(c->s->env, c->s);
}

static void
call_from_values(void *arg)
{
	model_call *c = arg;

	c->result = r64_from_values(&unit_env, c->values, c->n);
}

static void
call_from_ranges(void *arg)
{
	model_call *c = arg;

	c->result = r64_from_ranges(&unit_env, c->ranges, c->n);
}

/* Whether the set is too large to be encoded; it may be all of bigint. */
static bool
is_huge(const model *m)
{
	uint64_t	count = 0;

	for (size_t i = 0; i < m->n && count <= HUGE_CARDINALITY; i++)
	{
		uint64_t	more = (uint64_t) m->runs[i].hi - (uint64_t) m->runs[i].lo;

		if (more > HUGE_CARDINALITY)
			return true;
		count += more + 1;
	}
	return count > HUGE_CARDINALITY;
}

/*
 * The call gives exactly the wanted set, or fails with R64_TOO_LARGE if that
 * set does not fit.
 */
static void
check_call(void (*body) (void *arg), model_call *c, const model *want)
{
	unit_outcome outcome;
	bool		fits = false;
	size_t		size = 0;

	if (!is_huge(want))
	{
		(void) model_encode(want, &size, NULL);
		fits = size <= unit_env.max_size;
	}
	outcome = unit_try(body, c);
	if (outcome == UNIT_FAILED)
		unit_note(" (%s)", unit_reason);
	if (fits)
	{
		if (CHECK(outcome == UNIT_DONE))
			check_result(c->result, want);
	}
	else
	{
		CHECK(outcome == UNIT_FAILED && unit_error == R64_TOO_LARGE);
		/* a range that is combined with a set may cancel out as much as that */
		CHECK(unit_largest <= 2 * unit_env.max_size + ((size_t) 4 << 20) +
			  (c->s == NULL ? 0 : 2 * c->s->size));
	}
}

/*
 * The tests: each makes its own sets' business of u, ma, mb, a and b.
 */

static void
test_contains(void)
{
	if (unit_one_in(2))
		r64_index_set(&a);
	for (int i = 0; i < PROBES; i++)
	{
		int64_t		v = shape_probe(&u, &ma);

		CHECK(r64_contains(&a, v) == model_contains(&ma, v));
		/* of the same container, and of the same place in another bucket */
		CHECK(r64_contains(&a, v ^ 1) == model_contains(&ma, v ^ 1));
		v ^= INT64_C(1) << 32;
		CHECK(r64_contains(&a, v) == model_contains(&ma, v));
	}
	CHECK(r64_is_empty(&a) == (ma.n == 0));
}

static void
test_totals(void)
{
	r64_stats	want;
	r64_stats	got = r64_get_stats(&a);
	size_t		size;
	int64_t		v = 0;

	(void) model_encode(&ma, &size, &want);
	CHECK_U64(r64_cardinality(&a), model_cardinality(&ma));
	CHECK_U64(got.cardinality, want.cardinality);
	CHECK_U64(got.buckets, want.buckets);
	CHECK_U64(got.arrays, want.arrays);
	CHECK_U64(got.bitsets, want.bitsets);
	CHECK_U64(got.runs, want.runs);
	if (CHECK(r64_min(&a, &v) == (ma.n > 0)) && ma.n > 0)
		CHECK_I64(v, ma.runs[0].lo);
	if (CHECK(r64_max(&a, &v) == (ma.n > 0)) && ma.n > 0)
		CHECK_I64(v, ma.runs[ma.n - 1].hi);
}

static void
test_count_range(void)
{
	if (unit_one_in(2))
		r64_index_set(&a);
	for (int i = 0; i < PROBES; i++)
	{
		int64_t		lo;
		int64_t		hi;

		shape_range(&u, &ma, &lo, &hi);
		CHECK_U64(r64_count_range(&a, lo, hi),
				  model_count_range(&ma, lo, hi));
		CHECK_U64(r64_count_range(&a, INT64_MIN, hi),
				  model_count_range(&ma, INT64_MIN, hi));
	}
	CHECK_U64(r64_count_range(&a, INT64_MIN, INT64_MAX),
			  model_cardinality(&ma));
	CHECK_U64(r64_count_range(&a, 5, 4), 0);
	CHECK_U64(r64_count_range(&a, INT64_MAX, INT64_MIN), 0);
}

static void
check_select(uint64_t n)
{
	int64_t		got = 0;
	int64_t		want = 0;
	bool		exists = model_select(&ma, n, &want);

	if (CHECK(r64_select(&a, n, &got) == exists) && exists)
		CHECK_I64(got, want);
}

static void
test_select(void)
{
	uint64_t	card = model_cardinality(&ma);

	for (int i = 0; i < PROBES; i++)
		check_select(unit_below(card + 2));
	check_select(0);
	check_select(card - 1);		/* the largest number, if it is empty */
	check_select(card);
	check_select(UINT64_MAX);
}

static void
test_neighbours(void)
{
	for (int i = 0; i < PROBES; i++)
	{
		int64_t		v = shape_probe(&u, &ma);
		int64_t		got = 0;
		int64_t		want = 0;
		bool		exists = model_next(&ma, v, &want);

		if (CHECK(r64_next(&a, v, &got) == exists) && exists)
			CHECK_I64(got, want);
		exists = model_prev(&ma, v, &want);
		if (CHECK(r64_prev(&a, v, &got) == exists) && exists)
			CHECK_I64(got, want);
		exists = model_next_absent(&ma, v, &want);
		if (CHECK(r64_next_absent(&a, v, &got) == exists) && exists)
			CHECK_I64(got, want);
		exists = model_prev_absent(&ma, v, &want);
		if (CHECK(r64_prev_absent(&a, v, &got) == exists) && exists)
			CHECK_I64(got, want);
	}
}

/*
 * Reads [lo, hi] page by page, as a caller would; count elements at most.
 */
static void
check_read(int64_t lo, int64_t hi, bool reverse, size_t page, size_t count)
{
	int64_t    *out = unit_alloc(page * sizeof(int64_t));

	while (lo <= hi)
	{
		size_t		n = r64_read(&a, lo, hi, reverse, out, page);

		if (!CHECK(n <= page))
			return;
		for (size_t i = 0; i < n; i++)
		{
			int64_t		want = 0;

			if (!CHECK(reverse ? model_prev(&ma, hi, &want) && want >= lo :
					   model_next(&ma, lo, &want) && want <= hi) ||
				!CHECK_I64(out[i], want))
				return;
			if (reverse ? want == INT64_MIN : want == INT64_MAX)
				return;
			if (reverse)
				hi = want - 1;
			else
				lo = want + 1;
		}
		if (n < page)
		{
			CHECK_U64(model_count_range(&ma, lo, hi), 0);
			return;
		}
		if (count <= n)
			return;
		count -= n;
	}
}

static void
test_read(void)
{
	int64_t		lo;
	int64_t		hi;
	int64_t		none;

	shape_range(&u, &ma, &lo, &hi);
	check_read(lo, hi, false, 1 + unit_skewed(3000), 10000);
	check_read(lo, hi, true, 1 + unit_skewed(3000), 10000);
	check_read(INT64_MIN, INT64_MAX, false, 1 + unit_skewed(3000), 20000);
	check_read(INT64_MIN, INT64_MAX, true, 1 + unit_skewed(3000), 20000);
	CHECK_U64(r64_read(&a, lo, hi, false, &none, 0), 0);
	CHECK_U64(r64_read(&a, 7, 6, true, &none, 1), 0);
}

static void
test_runs(void)
{
	int64_t		lo;
	int64_t		hi;
	int64_t		first = 0;
	int64_t		last = 0;

	/* all of them, one after the other */
	lo = INT64_MIN;
	for (size_t i = 0; i < ma.n && i < 3000; i++)
	{
		if (!CHECK(r64_next_run(&a, lo, INT64_MAX, &first, &last)) ||
			!CHECK_I64(first, ma.runs[i].lo) ||
			!CHECK_I64(last, ma.runs[i].hi))
			return;
		if (last == INT64_MAX)
			break;
		lo = last + 1;
	}
	/* any, clipped */
	for (int i = 0; i < PROBES; i++)
	{
		int64_t		want = 0;
		int64_t		want_last = 0;
		bool		exists;

		shape_range(&u, &ma, &lo, &hi);
		exists = lo <= hi && model_next(&ma, lo, &want) && want <= hi;
		if (exists && model_next_absent(&ma, want, &want_last) &&
			want_last <= hi)
			want_last--;
		else
			want_last = hi;
		if (CHECK(r64_next_run(&a, lo, hi, &first, &last) == exists) &&
			exists)
		{
			CHECK_I64(first, want);
			CHECK_I64(last, want_last);
		}
		CHECK(r64_contains_range(&a, lo, hi) ==
			  model_contains_range(&ma, lo, hi));
		if (ma.n > 0)
		{
			const r64_range *run = &ma.runs[unit_below(ma.n)];

			CHECK(r64_contains_range(&a, run->lo, run->hi));
			if (run->hi < INT64_MAX)
				CHECK(!r64_contains_range(&a, run->lo, run->hi + 1));
			if (run->lo > INT64_MIN)
				CHECK(!r64_contains_range(&a, run->lo - 1, run->hi));
		}
	}
	CHECK(r64_contains_range(&a, 1, 0));
}

static void
test_ends(void)
{
	int64_t		v;

	for (int i = 0; i < 2; i++)
	{
		CHECK(r64_min(&a, &v) == (ma.n > 0) &&
			  (ma.n == 0 || v == ma.runs[0].lo));
		CHECK(r64_max(&a, &v) == (ma.n > 0) &&
			  (ma.n == 0 || v == ma.runs[ma.n - 1].hi));
		r64_index_set(&a);
	}
}

static void
test_relations(void)
{
	model		common = model_combine(R64_AND, &ma, &mb);
	uint64_t	n = model_cardinality(&common);

	/* equal sets, and no others, have the same bytes */
	CHECK((a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0) ==
		  model_equal(&ma, &mb));
	CHECK_U64(r64_and_cardinality(&a, &b), n);
	CHECK_U64(r64_and_cardinality(&b, &a), n);
	CHECK(r64_overlaps(&a, &b) == (n > 0));
	CHECK(r64_overlaps(&b, &a) == (n > 0));
	CHECK(r64_is_subset(&a, &b) == model_equal(&common, &ma));
	CHECK(r64_is_subset(&b, &a) == model_equal(&common, &mb));
	CHECK(r64_is_subset(&a, &a));
}

static void
test_combine(void)
{
	for (int i = 0; i < 4; i++)
	{
		model		want = model_combine(all_ops[i], &ma, &mb);
		model_call	c = {.op = all_ops[i],.s = &a,.t = &b};

		unit_note("%s", op_names[i]);
		check_call(call_combine, &c, &want);
	}
}

/* One element in or out: what | id and - id do. */
static void
test_splice(void)
{
	uint8_t		bytes[R64_SINGLETON_SIZE];
	int64_t		v = shape_probe(&u, &ma);
	model		mv = model_range(v, v);
	r64_set		one = r64_singleton(&unit_env, v, bytes);
	size_t		size;
	uint8_t    *want_one = model_encode(&mv, &size, NULL);

	unit_note(" and %" PRId64, v);
	CHECK_BYTES(one.bytes, one.size, want_one, size);
	CHECK(one.bytes == bytes);
	for (int i = 0; i < 4; i++)
	{
		model		want = model_combine(all_ops[i], &ma, &mv);
		model		turned = model_combine(all_ops[i], &mv, &ma);
		model_call	c = {.op = all_ops[i],.s = &a,.t = &one};

		unit_note("%s", op_names[i]);
		check_call(call_combine, &c, &want);
		c.s = &one;
		c.t = &a;
		check_call(call_combine, &c, &turned);
	}
	r64_close(&one);
}

static void
test_combine_range(void)
{
	int64_t		lo;
	int64_t		hi;
	model		range;

	shape_range(&u, &ma, &lo, &hi);
	if (unit_one_in(20))
		lo = INT64_MIN;
	if (unit_one_in(20))
		hi = INT64_MAX;
	range = model_range(lo, hi);
	unit_env.max_size = RESULT_LIMIT;
	unit_note(" range %" PRId64 " to %" PRId64, lo, hi);
	for (int i = 0; i < 4; i++)
	{
		model		want = model_combine(all_ops[i], &ma, &range);
		model_call	c = {.op = all_ops[i],.s = &a,.lo = lo,.hi = hi};

		unit_note("%s", op_names[i]);
		check_call(call_combine_range, &c, &want);
	}
}

/* A small part of a large set takes little memory. */
static void
test_part(void)
{
	int64_t		lo = shape_probe(&u, &ma);
	int64_t		hi = (int64_t) ((uint64_t) lo + unit_skewed(200000));
	model		range = model_range(lo, hi);
	model		want = model_combine(R64_AND, &ma, &range);
	model_call	c = {.op = R64_AND,.s = &a,.lo = lo,.hi = hi};

	r64_index_set(&a);
	unit_largest = 0;
	check_call(call_combine_range, &c, &want);
	CHECK(unit_largest <= 2 * c.result.size + 4 * 8192);
}

/* A range that the set cancels out, as large as no result may be. */
static void
test_cancel(void)
{
	int64_t		lo = shape_probe(&u, &mb) / 2;
	int64_t		hi = lo + (int64_t) unit_skewed(UINT64_C(1) << 34);
	model		range = model_range(lo, hi);
	model		cancelled = model_combine(R64_XOR, &mb, &range);
	r64_set		s = model_open(&cancelled);
	model_call	c = {.op = R64_XOR,.s = &s,.lo = lo,.hi = hi};

	unit_note(" range %" PRId64 " to %" PRId64, lo, hi);
	unit_env.max_size = b.size;
	check_call(call_combine_range, &c, &mb);
	if (b.size > 8)
	{
		unit_env.max_size = b.size - 1;
		check_call(call_combine_range, &c, &mb);
	}
	r64_close(&s);
}

static void
test_shift(void)
{
	model_call	c = {.s = &a};
	model		want;

	switch (unit_below(5))
	{
		case 0:					/* to the very end, or one past it */
			if (ma.n > 0 && ma.runs[ma.n - 1].hi >= 0)
				c.lo = INT64_MAX - ma.runs[ma.n - 1].hi;
			if (unit_one_in(2) && c.lo < INT64_MAX)
				c.lo++;
			break;
		case 1:
			if (ma.n > 0 && ma.runs[0].lo < 0)
				c.lo = INT64_MIN - ma.runs[0].lo;
			if (unit_one_in(2) && c.lo > INT64_MIN)
				c.lo--;
			break;
		case 2:					/* whole containers, whole buckets */
			c.lo = (int64_t) (unit_below(5) << (unit_one_in(2) ? 16 : 32));
			break;
		case 3:
			c.lo = (int64_t) unit_skewed(1 << 20);
			break;
		default:
			c.lo = shape_probe(&u, &ma);
			break;
	}
	if (c.lo != INT64_MIN && unit_one_in(2))
		c.lo = -c.lo;
	unit_note(" shifted by %" PRId64, c.lo);
	if (model_shift(&ma, c.lo, &want))
		check_call(call_shift, &c, &want);
}

static void
test_copy(void)
{
	model_call	c = {.s = &a};

	check_call(call_copy, &c, &ma);
	CHECK(c.result.base + unit_env.headroom != a.bytes);
}

static void
test_from_values(void)
{
	model_call	c = {0};
	model		want = ma;
	int64_t    *values;

	if (model_cardinality(&ma) > 200000)
		want = mb;
	if (model_cardinality(&want) > 200000)
		want = model_range(-5, 5);
	values = model_values(&want, &c.n);
	c.values = unit_alloc((2 * c.n + 1) * sizeof(int64_t));
	if (c.n > 0)
		memcpy(c.values, values, c.n * sizeof(int64_t));
	/* some twice */
	for (uint64_t k = c.n > 0 ? unit_skewed(c.n + 1) : 0; k > 0; k--)
	{
		c.values[c.n] = c.values[unit_below(c.n)];
		c.n++;
	}
	switch (unit_below(4))
	{
		case 0:					/* as they are */
			break;
		case 1:					/* descending */
			for (size_t i = 0; i < c.n / 2; i++)
			{
				int64_t		swapped = c.values[i];

				c.values[i] = c.values[c.n - 1 - i];
				c.values[c.n - 1 - i] = swapped;
			}
			break;
		default:
			for (size_t i = c.n; i > 1; i--)
			{
				size_t		j = unit_below(i);
				int64_t		swapped = c.values[i - 1];

				c.values[i - 1] = c.values[j];
				c.values[j] = swapped;
			}
			break;
	}
	unit_note(" %zu values", c.n);
	check_call(call_from_values, &c, &want);
}

static void
test_from_ranges(void)
{
	model_call	c = {0};
	range_list	list = {0};
	model		want;

	/* the model's own ranges, cut up, and some more */
	for (size_t i = 0; i < ma.n && i < 5000; i++)
	{
		int64_t		lo = ma.runs[i].lo;
		int64_t		hi = ma.runs[i].hi;
		int64_t		mid = (int64_t) unit_between((uint64_t) lo, (uint64_t) hi);

		range_list_add(&list, mid, hi);
		range_list_add(&list, lo, unit_one_in(2) ? mid : hi);
	}
	for (uint64_t k = unit_below(6); k > 0; k--)
	{
		int64_t		lo;
		int64_t		hi;

		shape_range(&u, &mb, &lo, &hi);
		range_list_add(&list, lo, hi);
	}
	for (size_t i = list.n; i > 1; i--)
	{
		size_t		j = unit_below(i);
		r64_range	swapped = list.ranges[i - 1];

		list.ranges[i - 1] = list.ranges[j];
		list.ranges[j] = swapped;
	}
	want = model_make(&list);
	c.ranges = list.ranges;
	c.n = list.n;
	unit_env.max_size = RESULT_LIMIT;
	check_call(call_from_ranges, &c, &want);
}

static void
test_check(void)
{
	size_t		size;
	uint8_t    *bytes = model_encode_legal(&ma, &size);
	bool		same = size == a.size && memcmp(bytes, a.bytes, size) == 0;
	r64_diagnosis why = {0};
	r64_verdict verdict;

	CHECK(r64_check(&unit_env, a.bytes, a.size, &why) == R64_CANONICAL);
	bytes = unit_place(bytes, size, (unsigned) unit_below(8));
	verdict = r64_check(&unit_env, bytes, size, &why);
	if (!CHECK(verdict == (same ? R64_CANONICAL : R64_LEGAL)))
	{
		unit_note(" %s at %zu", why.reason ? why.reason : "-", why.offset);
		return;
	}
	check_result(r64_canonicalise(&unit_env, bytes, size), &ma);
}

/* Limits one byte short of the result, and exactly at it. */
static void
test_limit(void)
{
	r64_op		op = all_ops[unit_below(4)];
	model		want = model_combine(op, &ma, &mb);
	model_call	c = {.op = op,.s = &a,.t = &b};
	size_t		size;

	unit_note("%s", op_names[op]);
	(void) model_encode(&want, &size, NULL);
	unit_env.max_size = size;
	check_call(call_combine, &c, &want);
	unit_env.max_size = size - 1;
	check_call(call_combine, &c, &want);
	unit_env.max_size = a.size;
	check_call(call_copy, &c, &ma);
	unit_env.max_size = a.size - 1;
	check_call(call_copy, &c, &ma);
}

/* A call left by longjmp from a poll does no harm, and the next one works. */
static void
test_interrupt(void)
{
	model		want = model_combine(R64_XOR, &ma, &mb);
	model_call	c = {.op = R64_XOR,.s = &a,.t = &b};
	unit_outcome outcome;

	unit_poll_limit = 1 + unit_skewed(50);
	unit_polls = 0;
	outcome = unit_try(call_combine, &c);
	CHECK(outcome == UNIT_DONE || outcome == UNIT_INTERRUPTED);
	CHECK((outcome == UNIT_INTERRUPTED) == (unit_polls >= unit_poll_limit));
	unit_poll_limit = 0;
	check_call(call_combine, &c, &want);
}

typedef struct values_call
{
	int64_t    *values;
	size_t		n;
	r64_buf		result;
} values_call;

static void
call_values(void *arg)
{
	values_call *c = arg;

	c->result = r64_from_values(&unit_env, c->values, c->n);
}

/*
 * Values are sorted where they are, in passes that an interrupt can end in
 * their middle.  An accumulator makes a set of the same values later.
 */
static void
test_interrupted_values(void)
{
	size_t		n = 1 + (size_t) unit_below(unit_one_in(4) ? 200000 : 200);
	unsigned	shift = (unsigned) unit_below(64);
	values_call c = {.values = unit_alloc(n * sizeof(int64_t)),.n = n};
	values_call whole = {.values = unit_alloc(n * sizeof(int64_t)),.n = n};

	for (size_t i = 0; i < n; i++)
		c.values[i] = whole.values[i] = (int64_t) (unit_random() >> shift);
	unit_poll_limit = 1 + unit_skewed(50);
	unit_polls = 0;
	CHECK(unit_try(call_values, &c) != UNIT_FAILED);
	unit_poll_limit = 0;
	CHECK(unit_try(call_values, &c) == UNIT_DONE);
	CHECK(unit_try(call_values, &whole) == UNIT_DONE);
	CHECK_BYTES(unit_result(c.result), c.result.size,
				unit_result(whole.result), whole.result.size);
}

/* As many elements as asked for, and the same ones again. */
static void
test_sample(void)
{
	uint64_t	card = model_cardinality(&ma);
	uint64_t	n = unit_one_in(4) ? card - unit_skewed(1000) : unit_skewed(10000);
	uint64_t	seed = unit_random();
	uint64_t	size;
	r64_buf		got;
	r64_buf		again;
	r64_diagnosis why;
	r64_set		s;

	/* what is drawn, or left out, takes memory */
	if (n > card)
		n = card + unit_below(2);
	if (n > 1000000 && card - n > 1000000)
		n = 1000000;
	size = n < card ? n : card;
	unit_note(" %" PRIu64 " of %" PRIu64, n, card);
	got = r64_sample(&a, n, seed);
	again = r64_sample(&a, n, seed);
	s = r64_open_buf(&unit_env, got);
	CHECK_BYTES(unit_result(got), got.size, unit_result(again), again.size);
	CHECK_U64(r64_cardinality(&s), size);
	CHECK(r64_is_subset(&s, &a));
	CHECK(r64_check(&unit_env, unit_result(got), got.size, &why) ==
		  R64_CANONICAL);
	/* of many elements, another seed does not draw the same */
	if (size >= 100 && card - size >= 100)
	{
		again = r64_sample(&a, n, seed + 1);
		CHECK(again.size != got.size ||
			  memcmp(unit_result(got), unit_result(again), got.size) != 0);
	}
	r64_close(&s);
}

static const struct
{
	const char *name;
	void		(*run) (void);
}			tests[] = {
	{"contains", test_contains},
	{"totals", test_totals},
	{"count_range", test_count_range},
	{"select", test_select},
	{"neighbours", test_neighbours},
	{"read", test_read},
	{"runs", test_runs},
	{"ends", test_ends},
	{"relations", test_relations},
	{"combine", test_combine},
	{"combine", test_combine},
	{"splice", test_splice},
	{"combine_range", test_combine_range},
	{"part", test_part},
	{"cancel", test_cancel},
	{"shift", test_shift},
	{"copy", test_copy},
	{"from_values", test_from_values},
	{"from_ranges", test_from_ranges},
	{"check", test_check},
	{"sample", test_sample},
	{"limit", test_limit},
	{"interrupt", test_interrupt},
	{"interrupted values", test_interrupted_values}
};
#define NTESTS	(sizeof(tests) / sizeof(tests[0]))

static void
run_case(void *arg)
{
	uint64_t	i = *(uint64_t *) arg;

	unit_note(" %s,", tests[i % NTESTS].name);
	shape_pair(SHAPE_LARGE, &u, &ma, &mb);
	if (unit_one_in(2))
		unit_env.headroom = unit_below(17);
	a = model_open(&ma);
	b = model_open(&mb);
	tests[i % NTESTS].run();
	r64_close(&a);
	r64_close(&b);
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "the engine against a model",.cases = DEFAULT_CASES,.run_case = run_case
	};

	return unit_run(&program, argc, argv);
}
