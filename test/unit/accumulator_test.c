/*-------------------------------------------------------------------------
 *
 * accumulator_test.c
 *	  Accumulators against the model.
 *
 * An accumulator keeps what it is given in several buffers until it has to
 * make one set of it.  So what is tested is a history: values, ranges, sets
 * and operations in any order and number, with a look at the set now and then.
 *
 * test/unit/accumulator_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "unit.h"
#include "engine/accumulator.h"
#include "engine/format.h"
#include "shapes.h"

#define DEFAULT_CASES	1500

static const r64_op all_ops[] = {R64_OR, R64_AND, R64_ANDNOT, R64_XOR};
static const r64_op merging_ops[] = {R64_OR, R64_AND, R64_XOR};
static const char *const op_names[] = {" or", " and", " andnot", " xor"};

static universe u;
static r64_accumulator acc;
static model want;				/* what acc must hold */
static bool counting;			/* after each set, as for a running count */
static bool looking;			/* after each set, as for a running union */

static bool leaving;			/* calls by chance before their end */

static void look(void);

/* What an accumulator is called with. */
typedef struct acc_call
{
	r64_op		op;
	const r64_set *s;
	int64_t		lo;
	int64_t		hi;
	uint64_t	result;
} acc_call;

static void
call_combine(void *arg)
{
	acc_call   *c = arg;

	r64_accumulator_combine(&acc, c->op, c->s);
}

static void
call_value(void *arg)
{
	r64_accumulate(&acc, ((acc_call *) arg)->lo);
}

static void
call_range(void *arg)
{
	acc_call   *c = arg;

	r64_accumulate_range(&acc, c->lo, c->hi);
}

static void
call_count(void *arg)
{
	((acc_call *) arg)->result = r64_accumulator_cardinality(&acc);
}

static void
call_common(void *arg)
{
	acc_call   *c = arg;

	c->result = r64_accumulator_and_cardinality(&acc, c->s);
}

static void
call_contains(void *arg)
{
	acc_call   *c = arg;

	c->result = r64_accumulator_contains(&acc, c->lo);
}

static void
call_set(void *arg)
{
	(void) arg;
	(void) r64_accumulator_set(&acc);
}

/*
 * Calls a function, by chance one that is left by longjmp from anywhere.  Then
 * nothing has changed, and it may be called again.  Returns whether it came to its
 * end.
 */
static bool
make_call(void (*call) (void *arg), acc_call *c)
{
	unit_outcome outcome = UNIT_INTERRUPTED;

	if (leaving && unit_one_in(4))
	{
		unit_poll_limit = 1 + unit_skewed(40);
		unit_polls = 0;
		outcome = unit_try(call, c);
		unit_poll_limit = 0;
		CHECK(outcome != UNIT_FAILED);
		if (outcome == UNIT_DONE || unit_one_in(2))
			return outcome == UNIT_DONE;
	}
	call(c);
	return true;
}

static void
begin_anew(void)
{
	r64_accumulator_clear(&acc);
	want.n = 0;
}

static void
want_too(const model *other)
{
	want = model_combine(R64_OR, &want, other);
}

static void
count(void)
{
	acc_call	c = {0};

	if (make_call(call_count, &c))
		CHECK_U64(c.result, model_cardinality(&want));
}

static void
add_model(r64_op op, const model *other)
{
	r64_set		s = model_open(other);
	acc_call	c = {.op = op,.s = &s};
	model		common;

	if (unit_one_in(10) && make_call(call_common, &c))
	{
		common = model_combine(R64_AND, &want, other);
		CHECK_U64(c.result, model_cardinality(&common));
	}
	if (make_call(call_combine, &c))
		want = model_combine(op, &want, other);
	r64_close(&s);
	if (looking)
		look();
	else if (counting)
		count();
}

/* Adds a value, and counts before and after that. */
static void
count_with(int64_t v)
{
	uint64_t	card = r64_accumulator_cardinality(&acc);
	bool		found = r64_accumulator_contains(&acc, v);

	r64_accumulate(&acc, v);
	CHECK_U64(r64_accumulator_cardinality(&acc), card + !found);
}

/* Adds n values: some spread, most of them within some containers. */
static void
add_values(size_t n)
{
	int64_t    *values = unit_alloc((n + 1) * sizeof(int64_t));
	int64_t		base = shape_probe(&u, &want) / 2;
	size_t		added = 0;
	model		other;

	unit_note(" %zu values", n);
	for (size_t i = 0; i < n; i++)
	{
		acc_call	c = {0};

		c.lo = values[added] = unit_one_in(8) ? shape_probe(&u, &want) :
			base + (int64_t) unit_below(200000);
		if (counting && i < 300)
			count_with(values[added++]);
		else
			added += make_call(call_value, &c);
	}
	other = model_from_values(values, added);
	want_too(&other);
}

/* So many that the buffer is merged before it is asked for. */
static void
add_many_values(void)
{
	uint64_t	n = unit_between(1000000, 1200000);
	int64_t		base = shape_probe(&u, &want) / 2;
	uint64_t	length = unit_between(100000, 3000000);
	range_list	list = {0};
	model		other;

	/* every third of a row, in an order that jumps about: 7919 is prime */
	length += length % 7919 == 0;
	unit_note(" %" PRIu64 " values of %" PRIu64, n, length);
	for (uint64_t i = 0; i < n; i++)
		r64_accumulate(&acc, base + 3 * (int64_t) (i * 7919 % length));
	for (uint64_t i = 0; i < n && i < length; i++)
	{
		int64_t		v = base + 3 * (int64_t) (i * 7919 % length);

		range_list_add(&list, v, v);
	}
	other = model_make(&list);
	want_too(&other);
}

static void
add_ranges(size_t n)
{
	range_list	list = {0};
	model		other;

	unit_note(" %zu ranges", n);
	for (size_t i = 0; i < n; i++)
	{
		int64_t		lo = shape_probe(&u, &want);
		int64_t		hi = (int64_t) ((uint64_t) lo + unit_skewed(300000));

		acc_call	c = {.lo = lo,.hi = hi};

		/* below lo, if it ran over the end: then it is empty */
		if (make_call(call_range, &c))
			range_list_add(&list, lo, hi);
	}
	other = model_make(&list);
	want_too(&other);
}

/* Sets that wait, until there are too many, and such as are too large to. */
static void
add_sets(r64_op op, size_t n)
{
	unit_note("%s %zu sets:", op_names[op], n);
	for (size_t i = 0; i < n; i++)
	{
		model		other = unit_one_in(8) ? shape_relative(&u, &want) :
			shape_set(&u, unit_one_in(4) ? SHAPE_MEDIUM : SHAPE_SMALL);

		add_model(op, &other);
	}
}

/*
 * Sets that fall on the same few containers, with few values in each or with
 * many or with runs, so that many are combined at once.
 */
static void
add_alike(r64_op op, size_t n)
{
	int64_t		base = shape_probe(&u, &want) / 2;
	uint64_t	width = 1 + unit_skewed(3 << 16);
	uint64_t	runs = unit_one_in(4) ? unit_between(200, 1500) :
		1 + unit_skewed(unit_one_in(4) ? 6000 : 20);
	uint64_t	length = unit_one_in(2) ? 0 :
		unit_skewed(unit_one_in(2) ? 20 : 5000);

	unit_note("%s %zu alike", op_names[op], n);
	for (size_t i = 0; i < n; i++)
	{
		range_list	list = {0};
		model		other;

		for (uint64_t k = 0; k < runs; k++)
		{
			int64_t		lo = base + (int64_t) unit_below(width);

			range_list_add(&list, lo, lo + (int64_t) length);
		}
		other = model_make(&list);
		add_model(op, &other);
	}
}

/*
 * A set of n containers from prefix on: each a bitset, or each nearly full, in
 * many runs or in few.
 */
static model
dense_set(int64_t prefix, uint64_t n, bool full)
{
	range_list	list = {0};

	for (uint64_t i = 0; i < n; i++)
	{
		int64_t		v = (prefix + (int64_t) i) * 65536;
		int64_t		end = v | 0xffff;
		uint64_t	longest = !full ? 12 : unit_one_in(3) ? 65536 : 128;

		while (v <= end)
		{
			int64_t		last = v + (int64_t) unit_below(longest);

			range_list_add(&list, v, last < end ? last : end);
			v = last + 2;
			if (!full || unit_one_in(16))
				v += (int64_t) unit_below(12);
		}
	}
	return model_make(&list);
}

/*
 * Dense sets alone: bitsets are combined in place, and what meets none waits.
 * Some are nearly what is there, so that little is left of a symmetric
 * difference.
 */
static void
add_dense(r64_op op, size_t n)
{
	int64_t		prefix = (int64_t) unit_below(4) - 2;
	uint64_t	width = unit_between(1, 3);
	model		all = want;
	model		start = dense_set(prefix, unit_between(1, width), false);
	model		full = model_range(prefix * 65536, prefix * 65536 + 65535);

	if (unit_one_in(4))
		start = model_combine(R64_OR, &start, &full);
	unit_note("%s %zu dense", op_names[op], n);
	add_model(R64_XOR, &all);
	look();
	add_model(op == R64_AND ? R64_OR : op, &start);
	for (size_t i = 0; i < n; i++)
	{
		model		other;

		if (unit_one_in(4))
			other = shape_relative(&u, &want);
		else if (op == R64_AND)
			other = dense_set(prefix - 1 + (int64_t) unit_below(2),
							  unit_between(1, width + 1), true);
		else
			other = dense_set(prefix + (int64_t) unit_below(width),
							  unit_between(1, 2), unit_one_in(2));
		if (op != R64_AND && unit_one_in(4))
			other = model_combine(R64_XOR, &want, &other);
		add_model(op, &other);
	}
}

/* One set of many containers. */
static void
add_wide_set(void)
{
	int64_t		base = shape_probe(&u, &want) / 2;
	range_list	list = {0};
	model		other;

	unit_note(" wide set");
	for (int64_t i = 0; i < 1500; i++)
	{
		int64_t		lo = base + i * 65536 + (int64_t) unit_below(1000);

		range_list_add(&list, lo, lo + (int64_t) unit_between(33, 100));
	}
	other = model_make(&list);
	add_model(R64_OR, &other);
}

static void
combine(void)
{
	r64_op		op = all_ops[unit_below(4)];
	model		other = unit_one_in(2) ? shape_relative(&u, &want) :
		shape_set(&u, SHAPE_MEDIUM);

	unit_note("%s that", op_names[op]);
	add_model(op, &other);
}

/* Single elements, which are looked for in what waits as well. */
static void
ask(void)
{
	unit_note(" ask");
	for (int i = 0; i < 20; i++)
	{
		acc_call	c = {.lo = shape_probe(&u, &want)};

		if (make_call(call_contains, &c))
			CHECK(c.result == model_contains(&want, c.lo));
	}
}

/* A merge whose result may be too large: nothing is lost then. */
static void
merge_within(size_t limit)
{
	size_t		usual = unit_env.max_size;
	bool		within = acc.flat.size <= limit;
	bool		done;

	unit_env.max_size = limit;
	done = unit_try(call_set, NULL) == UNIT_DONE;
	unit_env.max_size = usual;
	unit_note(done ? " merge" : " fail to merge");
	/* an empty set has its size in any case */
	if (done && within && want.n > 0)
		CHECK(r64_accumulator_set(&acc).size <= limit);
}

static void
look(void)
{
	size_t		size;
	uint8_t    *bytes = model_encode(&want, &size, NULL);
	r64_set		s;

	unit_note(" look");
	count();
	(void) make_call(call_set, NULL);
	s = r64_accumulator_set(&acc);
	CHECK_BYTES(s.bytes, s.size, bytes, size);
	CHECK_U64(r64_cardinality(&s), model_cardinality(&want));
	CHECK(r64_accumulator_is_empty(&acc) == (want.n == 0));
	r64_close(&s);
}

/*
 * Bitsets are combined with a set whose last run is not the last: that fails,
 * and nothing is lost unless it waits for a symmetric difference.
 */
static void
add_damaged(void)
{
	range_list	list = {0};
	model		start = dense_set(0, 2, false);
	model		other;
	size_t		size;
	uint8_t    *bytes;
	r64_set		s;
	acc_call	c = {.op = merging_ops[unit_below(3)],.s = &s};

	unit_note(" damaged");
	for (int64_t v = 0; v < 2 * 65536; v += 64)
		range_list_add(&list, v, v + 62);
	other = model_make(&list);
	bytes = model_encode(&other, &size, NULL);
	s = r64_open(&unit_env, bytes, size);
	begin_anew();
	add_model(R64_OR, &start);
	memset(bytes + size - 4, 0, 2);
	if (unit_try(call_combine, &c) == UNIT_DONE)
	{
		/* it waits */
		CHECK(c.op == R64_XOR);
		CHECK(unit_try(call_set, NULL) == UNIT_FAILED);
		CHECK(unit_error == R64_CORRUPT);
		begin_anew();
		return;
	}
	CHECK(unit_error == R64_CORRUPT);
	look();
}

/*
 * A union is left by longjmp from a poll: nothing of it is there then.  The set
 * is counted, so that what comes is spread and put in place, with more bitsets
 * than there are without a poll.
 */
static void
add_interrupted(void)
{
	range_list	few = {0};
	range_list	bitsets = {0};
	int64_t		n = (int64_t) unit_between(257, 300);
	model		start;
	model		other;
	r64_set		s;
	acc_call	c = {.op = R64_OR,.s = &s};
	unit_outcome outcome;

	unit_note(" interrupted");
	for (int64_t v = 0; v < n * 65536; v += 31)
		range_list_add(&bitsets, v, v + 1);
	start = model_make(&bitsets);
	for (int64_t i = 0; i <= n; i++)
		range_list_add(&few, i * 65536 + 2, i * 65536 + 2 + (int64_t) unit_below(20));
	other = model_make(&few);
	begin_anew();
	counting = looking = false;
	add_model(R64_OR, &start);
	count();
	s = model_open(&other);
	unit_poll_limit = 1 + unit_below(12);
	unit_polls = 0;
	outcome = unit_try(call_combine, &c);
	CHECK(outcome != UNIT_FAILED);
	unit_poll_limit = 0;
	if (outcome == UNIT_DONE)
		want_too(&other);
	look();
	r64_close(&s);
	add_model(R64_OR, &other);
	look();
}

/*
 * Sets of containers that are small, but would be combined as bitsets: nearly
 * full in few runs, or one short run.  The accumulated set may take more bytes
 * than they, but not much, or eight times as many when it is counted.
 */
static void
add_small_containers(void)
{
	bool		nearly_full = unit_one_in(2);
	size_t		size = 0;

	unit_note(nearly_full ? " nearly full" : " short runs");
	begin_anew();
	counting = looking = false;
	for (int i = 0; i < 5; i++)
	{
		range_list	list = {0};
		model		other;
		r64_set		s;

		for (int64_t key = 0; key < 200; key++)
		{
			int64_t		lo = key * 65536 +
				(nearly_full ? i : (int64_t) unit_below(65500));

			if (!nearly_full)
				range_list_add(&list, lo, lo + 9);
			/* gaps of one value, and a few values lack at both ends */
			for (int k = 0; nearly_full && k < 131; k++, lo += 500)
				range_list_add(&list, lo, k < 130 ? lo + 498 :
							   key * 65536 + 65530);
		}
		other = model_make(&list);
		s = model_open(&other);
		size += s.size;
		r64_close(&s);
		add_model(R64_OR, &other);
		if (i == 0 && !nearly_full)
			count();
	}
	if (nearly_full)
		ask();
	else
		count();
	CHECK(acc.flat.size <= (nearly_full ? 2 : 8) * size);
	look();
}

/*
 * Values of which a bitset has all, or all but one within a range of its values
 * or those behind its end.
 */
static void
add_covered(void)
{
	range_list	list = {0};
	int64_t		end = 20000 + (int64_t) unit_below(128);
	int64_t		hole = end - 1 - (int64_t) unit_skewed(19000);
	model		other;

	unit_note(" covered");
	begin_anew();
	counting = looking = false;
	range_list_add(&list, 64, hole - 1);
	range_list_add(&list, hole + 1, end);
	for (int64_t v = 30000; v < 65536; v += 2)
		range_list_add(&list, v, v);
	other = model_make(&list);
	add_model(R64_OR, &other);
	for (int i = 0; i < 3; i++)
	{
		range_list	values = {0};
		int64_t		last = end - 2 + (int64_t) unit_below(5);

		for (int64_t v = last; v >= 64 - (int64_t) unit_below(3); v -= 25)
			range_list_add(&values, v, v);
		if (i > 0)
			range_list_add(&values, hole, hole);
		other = model_make(&values);
		add_model(R64_OR, &other);
	}
	look();
}

/*
 * Bitsets that cancel out, two by two, each pair with another key: what they
 * leave takes no memory.
 */
static void
add_cancelling(void)
{
	enum
	{
		KEYS = 1200,
		KEY_AT = R64_HEADER_SIZE + 12,	/* after high half, cookie, size */
		MOST_BYTES = 5 * 1024 * 1024	/* half of what KEYS bitsets take */
	};
	static int64_t values[8192];
	r64_set		s;
	r64_buf		buf;

	unit_note(" cancelling");
	for (int64_t i = 0; i < 8192; i++)
		values[i] = 8 * i;
	buf = r64_from_values(&unit_env, values, 8192);
	s = r64_open_buf(&unit_env, buf);
	begin_anew();
	for (uint16_t i = 0; i < 2 * KEYS; i++)
	{
		r64_store16(buf.base + unit_env.headroom + KEY_AT, i / 2);
		r64_accumulator_combine(&acc, R64_XOR, &s);
		CHECK(acc.flat.size <= MOST_BYTES);
	}
	r64_close(&s);
	look();
}

/* Begins anew with a set, and combines it with another one. */
static void
combine_anew(const range_list *start, r64_op op, const range_list *list)
{
	model		first = model_make(start);
	model		other = model_make(list);

	begin_anew();
	add_model(R64_OR, &first);
	add_model(op, &other);
	look();
}

/*
 * As many values are left as an array has at most, or one more or less; and an
 * array with the first and last values of a container, or without, is taken out
 * of all values.
 */
static void
add_edges(void)
{
	range_list	start = {0};
	range_list	all = {0};
	range_list	less = {0};
	range_list	mirror = {0};
	range_list	ends = {0};
	int64_t		left = R64_ARRAY_MAX - 1 + (int64_t) unit_below(3);

	unit_note(" edges");
	for (int64_t v = 0; v < 20000; v += 2)
	{
		range_list_add(&start, v, v);
		if (v < 2 * left)
			range_list_add(&mirror, v, v);
		else
			range_list_add(&less, v, v);
		range_list_add(&mirror, v + 1, v + 1);
	}
	range_list_add(&mirror, 20000, 65535);
	combine_anew(&start, R64_XOR, &less);
	combine_anew(&start, R64_AND, &mirror);
	range_list_add(&all, 0, 65535);
	for (int64_t v = 0; v < 65536; v += v == 3 ? 65528 : 1)
		if (unit_one_in(2))
			range_list_add(&ends, v, v);
	combine_anew(&all, R64_XOR, &ends);
}

static void
run_case(void *arg)
{
	(void) arg;
	u = shape_universe();
	want.runs = NULL;
	want.n = 0;
	if (unit_one_in(2))
		unit_env.headroom = unit_below(17);
	r64_accumulator_init(&acc, &unit_env);
	for (uint64_t steps = unit_below(10); steps > 0; steps--)
	{
		looking = unit_one_in(8);
		counting = unit_one_in(4);
		leaving = unit_one_in(3);
		unit_scarce = unit_one_in(3);
		if (unit_one_in(20))
			begin_anew();
		unit_note(looking ? " looking" : counting ? " counting" : "");
		unit_note(unit_scarce ? " scarce" : "");
		unit_note(leaving ? " leaving" : "");
		switch (unit_below(10))
		{
			case 0:
			case 1:
				add_values(unit_skewed(3000));
				break;
			case 2:
				if (unit_one_in(100))
					add_many_values();
				else if (unit_one_in(10))
					add_wide_set();
				else if (unit_one_in(4))
					add_dense(merging_ops[unit_below(3)], 1 + unit_skewed(20));
				break;
			case 3:
				add_ranges(unit_skewed(50));
				break;
			case 4:
				add_sets(unit_one_in(3) ? R64_XOR : R64_OR, 1 + unit_skewed(20));
				break;
			case 5:
				add_alike(unit_one_in(3) ? R64_XOR : R64_OR, 1 + unit_skewed(60));
				break;
			case 6:
				combine();
				break;
			case 7:
				ask();
				break;
			case 8:
				merge_within(unit_skewed(1000));
				break;
			default:
				look();
				break;
		}
	}
	leaving = false;
	look();
	/* a look changes nothing */
	look();
	if (unit_one_in(50))
		add_damaged();
	if (unit_one_in(50))
		add_small_containers();
	if (unit_one_in(20))
		add_covered();
	if (unit_one_in(20))
		add_edges();
	if (unit_one_in(200))
		add_cancelling();
	if (unit_one_in(50))
		add_interrupted();
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "accumulators against a model",.cases = DEFAULT_CASES,.run_case = run_case
	};

	return unit_run(&program, argc, argv);
}
