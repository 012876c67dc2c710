/*-------------------------------------------------------------------------
 *
 * edits_test.c
 *	  Histories of edits of one set, each on what the one before it left.
 *
 * The other programs ask about sets that the model has encoded.  Here every
 * result of the engine is the next call's argument, as it is for a column
 * that is updated: elements and ranges in and out, shifts, slices, a split
 * whose parts are put together again, operations with other sets.
 *
 * test/unit/edits_test.c
 *
 *-------------------------------------------------------------------------
 */
#include "unit.h"
#include "engine/accumulator.h"
#include "shapes.h"

#define DEFAULT_CASES	1500
#define SIZE_LIMIT		((size_t) 1 << 20)
#define CHUNKS_MAX		50

static const r64_op all_ops[] = {R64_OR, R64_AND, R64_ANDNOT, R64_XOR};
static const char *const op_names[] = {" or", " and", " andnot", " xor"};

static universe u;
static model want;				/* what set must be */
static r64_set set;

/* A result takes the set's place, if it is what it must be. */
static void
replace(r64_buf buf, model wanted)
{
	size_t		size;
	uint8_t    *bytes = model_encode(&wanted, &size, NULL);
	const uint8_t *got = unit_result(buf);

	CHECK_BYTES(got, buf.size, bytes, size);
	r64_close(&set);
	set = r64_open(&unit_env, unit_place(got, buf.size,
										 (unsigned) unit_below(8)), buf.size);
	unit_env.release(buf.base);
	want = wanted;
}

static void
edit_element(void)
{
	r64_op		op = all_ops[unit_below(4)];
	int64_t		v = shape_probe(&u, &want);
	uint8_t		bytes[R64_SINGLETON_SIZE];
	r64_set		one = r64_singleton(&unit_env, v, bytes);
	model		mv = model_range(v, v);

	unit_note("%s %" PRId64, op_names[op], v);
	replace(r64_combine(op, &set, &one), model_combine(op, &want, &mv));
	r64_close(&one);
}

static void
edit_range(void)
{
	r64_op		op = all_ops[unit_below(4)];
	int64_t		lo = shape_probe(&u, &want);
	int64_t		hi = (int64_t) ((uint64_t) lo + unit_skewed(300000));
	model		range = model_range(lo, hi);

	unit_note("%s %" PRId64 " to %" PRId64, op_names[op], lo, hi);
	replace(r64_combine_range(op, &set, lo, hi),
			model_combine(op, &want, &range));
}

static void
edit_set(void)
{
	r64_op		op = all_ops[unit_below(4)];
	model		other = unit_one_in(3) ? shape_relative(&u, &want) :
		shape_set(&u, SHAPE_SMALL);
	r64_set		s = model_open(&other);

	unit_note("%s that", op_names[op]);
	if (unit_one_in(2))
		replace(r64_combine(op, &set, &s), model_combine(op, &want, &other));
	else
		replace(r64_combine(op, &s, &set), model_combine(op, &other, &want));
	r64_close(&s);
}

static void
edit_shift(void)
{
	int64_t		delta = unit_one_in(2) ? (int64_t) unit_skewed(1 << 20) :
		(int64_t) (unit_below(5) << (unit_one_in(2) ? 16 : 32));
	model		shifted;

	if (unit_one_in(2))
		delta = -delta;
	unit_note(" shifted by %" PRId64, delta);
	if (model_shift(&want, delta, &shifted))
		replace(r64_shift(&set, delta), shifted);
}

/* What roaring64_slice does: the elements between two places. */
static void
edit_slice(void)
{
	uint64_t	n = model_cardinality(&want);
	uint64_t	from = unit_below(n + 1);
	uint64_t	to = from + unit_below(n + 1);
	int64_t		lo = 0;
	int64_t		hi = 0;
	model		range;

	unit_note(" slice %" PRIu64 " to %" PRIu64, from, to);
	if (!CHECK(r64_select(&set, from, &lo) == (from < n)) || from >= n)
		return;
	if (!r64_select(&set, to, &hi))
	{
		CHECK(to >= n);
		CHECK(r64_max(&set, &hi));
	}
	range = model_range(lo, hi);
	replace(r64_combine_range(R64_AND, &set, lo, hi),
			model_combine(R64_AND, &want, &range));
}

/* What roaring64_split does: whole chunks of the upper bits.  Then united. */
static void
edit_split(void)
{
	unsigned	bits = 8 + (unsigned) unit_below(40);
	int64_t		v = INT64_MIN;
	r64_accumulator acc;
	r64_set		all;

	unit_note(" split at %u bits", bits);
	r64_accumulator_init(&acc, &unit_env);
	for (int i = 0; r64_next(&set, v, &v); i++)
	{
		int64_t		hi = v | (((int64_t) 1 << bits) - 1);
		r64_set		part;

		if (i == CHUNKS_MAX)
			hi = INT64_MAX;
		part = r64_open_buf(&unit_env,
							r64_combine_range(R64_AND, &set, v, hi));
		CHECK_U64(r64_cardinality(&part), model_count_range(&want, v, hi));
		r64_accumulator_combine(&acc, R64_OR, &part);
		r64_close(&part);
		if (hi == INT64_MAX)
			break;
		v = hi + 1;
	}
	all = r64_accumulator_set(&acc);
	replace(r64_copy(&unit_env, &all), want);
	r64_close(&all);
}

static void
run_case(void *number)
{
	size_t		size;
	uint8_t    *bytes;

	(void) number;
	u = shape_universe();
	want = shape_set(&u, unit_one_in(3) ? SHAPE_MEDIUM : SHAPE_SMALL);
	bytes = model_encode(&want, &size, NULL);
	set = r64_open(&unit_env, bytes, size);
	if (unit_one_in(2))
		unit_env.headroom = unit_below(17);
	for (uint64_t n = 1 + unit_below(20); n > 0; n--)
	{
		switch (unit_below(8))
		{
			case 0:
			case 1:
				edit_element();
				break;
			case 2:
			case 3:
				edit_range();
				break;
			case 4:
				edit_set();
				break;
			case 5:
				edit_shift();
				break;
			case 6:
				edit_slice();
				break;
			default:
				edit_split();
				break;
		}
		if (set.size > SIZE_LIMIT || unit_case_failed())
			break;
	}
	CHECK_U64(r64_cardinality(&set), model_cardinality(&want));
	r64_close(&set);
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "edits of edits",.cases = DEFAULT_CASES,.run_case = run_case
	};

	return unit_run(&program, argc, argv);
}
