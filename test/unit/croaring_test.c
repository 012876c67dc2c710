/*-------------------------------------------------------------------------
 *
 * croaring_test.c
 *	  The engine's bytes and answers against CRoaring's 64-bit API.
 *
 * CRoaring's set, after remove_run_compression and run_optimize, serialises
 * to what we call canonical, so every set that the engine makes is compared
 * with it byte for byte.  CRoaring knows unsigned elements only: where order
 * matters, the sets or the questions are those that mean the same in both.
 *
 * test/unit/croaring_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "oracle.h"
#include "shapes.h"

#define DEFAULT_CASES	10000
#define PROBES			20

static const r64_op all_ops[] = {R64_OR, R64_AND, R64_ANDNOT, R64_XOR};
static const char *const op_names[] = {" or", " and", " andnot", " xor"};

static universe u;
static model ma;
static model mb;
static r64_set a;
static r64_set b;
static roaring64_bitmap_t *ra;
static roaring64_bitmap_t *rb;

/* Compares, and frees want. */
static void
check_set(const uint8_t *bytes, size_t size, roaring64_bitmap_t *want)
{
	size_t		want_size;
	uint8_t    *want_bytes = oracle_canonical(want, &want_size);

	CHECK_BYTES(bytes, size, want_bytes, want_size);
	roaring64_bitmap_free(want);
}

static void
check_result(r64_buf got, roaring64_bitmap_t *want)
{
	check_set(unit_result(got), got.size, want);
}

/* What CRoaring reads is what we wrote, and it writes the same. */
static void
test_bytes(void)
{
	roaring64_bitmap_t *r = oracle_read(a.bytes, a.size);
	size_t		size;
	uint8_t    *bytes;

	if (!CHECK(r != NULL))
		return;
	CHECK(roaring64_bitmap_equals(r, ra));
	bytes = oracle_bytes(r, &size);
	CHECK_BYTES(bytes, size, a.bytes, a.size);
	check_set(a.bytes, a.size, r);
	check_result(r64_copy(a.env, &a), roaring64_bitmap_copy(ra));
}

/* The same op by CRoaring, as a new set. */
static roaring64_bitmap_t *
reference(r64_op op, const roaring64_bitmap_t *x, const roaring64_bitmap_t *y)
{
	switch (op)
	{
		case R64_OR:
			return roaring64_bitmap_or(x, y);
		case R64_AND:
			return roaring64_bitmap_and(x, y);
		case R64_ANDNOT:
			return roaring64_bitmap_andnot(x, y);
		case R64_XOR:
			return roaring64_bitmap_xor(x, y);
	}
	abort();
}

static void
test_combine(void)
{
	for (int i = 0; i < 4; i++)
	{
		unit_note("%s", op_names[i]);
		check_result(r64_combine(all_ops[i], &a, &b),
					 reference(all_ops[i], ra, rb));
	}
}

static void
test_relations(void)
{
	uint64_t	n = roaring64_bitmap_and_cardinality(ra, rb);
	uint64_t	both = roaring64_bitmap_or_cardinality(ra, rb);

	CHECK_U64(r64_and_cardinality(&a, &b), n);
	CHECK_U64(r64_cardinality(&a), roaring64_bitmap_get_cardinality(ra));
	/* what the SQL functions make of these */
	CHECK_U64(r64_cardinality(&a) + r64_cardinality(&b) - n, both);
	CHECK_U64(r64_cardinality(&a) - n,
			  roaring64_bitmap_andnot_cardinality(ra, rb));
	CHECK_U64(r64_cardinality(&a) + r64_cardinality(&b) - 2 * n,
			  roaring64_bitmap_xor_cardinality(ra, rb));
	if (both > 0)
		CHECK(fabs((double) n / (double) both -
				   roaring64_bitmap_jaccard_index(ra, rb)) < 1e-12);
	CHECK(r64_overlaps(&a, &b) == roaring64_bitmap_intersect(ra, rb));
	CHECK(r64_is_subset(&a, &b) == roaring64_bitmap_is_subset(ra, rb));
	CHECK(r64_is_subset(&b, &a) == roaring64_bitmap_is_subset(rb, ra));
	CHECK((a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0) ==
		  roaring64_bitmap_equals(ra, rb));
	CHECK(r64_is_empty(&a) == roaring64_bitmap_is_empty(ra));
}

static void
test_statistics(void)
{
	roaring64_bitmap_t *r = oracle_read(a.bytes, a.size);
	roaring64_statistics_t want;
	r64_stats	got = r64_get_stats(&a);

	if (!CHECK(r != NULL))
		return;
	roaring64_bitmap_statistics(r, &want);
	CHECK_U64(got.cardinality, want.cardinality);
	CHECK_U64(got.arrays, want.n_array_containers);
	CHECK_U64(got.bitsets, want.n_bitset_containers);
	CHECK_U64(got.runs, want.n_run_containers);
	roaring64_bitmap_free(r);
}

/* Order within the elements of one sign, where both orders agree. */
static void
test_order(void)
{
	uint64_t	card = roaring64_bitmap_get_cardinality(ra);
	uint64_t	others = roaring64_bitmap_rank(ra, (uint64_t) INT64_MAX);
	uint64_t	negative = card - others;
	uint64_t	want;
	int64_t		got;

	if (card > 0)
	{
		/* min is the first unsigned one from the sign bit on, if any */
		if (CHECK(roaring64_bitmap_select(ra, negative > 0 ? others : 0,
										  &want)) &&
			CHECK(r64_min(&a, &got)))
			CHECK_I64(got, (int64_t) want);
		if (CHECK(roaring64_bitmap_select(ra, others > 0 ? others - 1 :
										  card - 1, &want)) &&
			CHECK(r64_max(&a, &got)))
			CHECK_I64(got, (int64_t) want);
	}
	if (card > 0 && negative == 0)
	{
		CHECK(r64_min(&a, &got) &&
			  (uint64_t) got == roaring64_bitmap_minimum(ra));
		CHECK(r64_max(&a, &got) &&
			  (uint64_t) got == roaring64_bitmap_maximum(ra));
	}
	for (int i = 0; i < PROBES; i++)
	{
		int64_t		v = shape_probe(&u, &ma);
		uint64_t	rank = roaring64_bitmap_rank(ra, (uint64_t) v);
		uint64_t	n;

		/* unsigned rank counts the others below all negative ones */
		CHECK_U64(r64_count_range(&a, INT64_MIN, v),
				  v < 0 ? rank - others : rank + negative);
		CHECK(r64_contains(&a, v) ==
			  roaring64_bitmap_contains(ra, (uint64_t) v));
		n = unit_below(card + 2);
		if (n < card)
		{
			CHECK(roaring64_bitmap_select(ra, n < negative ? n + others :
										  n - negative, &want));
			if (CHECK(r64_select(&a, n, &got)))
				CHECK_I64(got, (int64_t) want);
		}
		else
			CHECK(!r64_select(&a, n, &got));
	}
}

static void
test_range(void)
{
	int64_t		lo;
	int64_t		hi;
	roaring64_bitmap_t *range;

	shape_range(&u, &ma, &lo, &hi);
	if (lo > hi)
		lo = hi;
	if ((uint64_t) hi - (uint64_t) lo > 20000000)
		hi = lo + (int64_t) unit_skewed(200000);
	if (hi < lo)
		hi = INT64_MAX;
	unit_note(" range %" PRId64 " to %" PRId64, lo, hi);
	range = roaring64_bitmap_create();
	oracle_add_range(range, lo, hi);
	for (int i = 0; i < 4; i++)
	{
		unit_note("%s", op_names[i]);
		check_result(r64_combine_range(all_ops[i], &a, lo, hi),
					 reference(all_ops[i], ra, range));
	}
	CHECK(r64_contains_range(&a, lo, hi) ==
		  roaring64_bitmap_is_subset(range, ra));
	CHECK_U64(r64_count_range(&a, lo, hi),
			  roaring64_bitmap_and_cardinality(range, ra));
	roaring64_bitmap_free(range);

	/* a wide one, which leaves little */
	shape_range(&u, &ma, &lo, &hi);
	if (lo > hi)
		lo = hi;
	range = roaring64_bitmap_copy(ra);
	oracle_remove_range(range, lo, hi);
	check_result(r64_combine_range(R64_ANDNOT, &a, lo, hi), range);
}

static void
test_add_remove(void)
{
	uint8_t		bytes[R64_SINGLETON_SIZE];
	int64_t		v = shape_probe(&u, &ma);
	r64_set		one = r64_singleton(&unit_env, v, bytes);
	roaring64_bitmap_t *r = roaring64_bitmap_create();

	roaring64_bitmap_add(r, (uint64_t) v);
	check_set(one.bytes, one.size, r);
	r = roaring64_bitmap_copy(ra);
	roaring64_bitmap_add(r, (uint64_t) v);
	check_result(r64_combine(R64_OR, &a, &one), r);
	r = roaring64_bitmap_copy(ra);
	roaring64_bitmap_remove(r, (uint64_t) v);
	check_result(r64_combine(R64_ANDNOT, &a, &one), r);
	r64_close(&one);
}

static void
test_add_many(void)
{
	size_t		n = unit_skewed(5000);
	int64_t    *values = unit_alloc((n + 1) * sizeof(int64_t));
	r64_set		many;
	r64_buf		built;
	roaring64_bitmap_t *rmany = roaring64_bitmap_create();
	roaring64_bitmap_t *r;

	for (size_t i = 0; i < n; i++)
		values[i] = unit_one_in(2) ? shape_probe(&u, &ma) :
			(int64_t) (u.chunks[0] << 16 | unit_below(65536));
	roaring64_bitmap_add_many(rmany, n, (uint64_t *) values);
	r = roaring64_bitmap_copy(rmany);
	built = r64_from_values(&unit_env, values, n);
	check_result(built, r);
	many = r64_open(&unit_env, unit_result(built), built.size);
	check_result(r64_combine(R64_OR, &a, &many),
				 roaring64_bitmap_or(ra, rmany));
	check_result(r64_combine(R64_ANDNOT, &a, &many),
				 roaring64_bitmap_andnot(ra, rmany));
	r64_close(&many);
	roaring64_bitmap_free(rmany);
}

static void
test_from_ranges(void)
{
	roaring64_bitmap_t *r = roaring64_bitmap_create();
	size_t		n = unit_skewed(300);
	r64_range  *ranges = unit_alloc((n + 1) * sizeof(r64_range));

	for (size_t i = 0; i < n; i++)
	{
		int64_t		lo = shape_probe(&u, &ma);
		int64_t		hi = (int64_t) ((uint64_t) lo + unit_skewed(1 << 18));

		ranges[i].lo = lo;
		ranges[i].hi = hi;		/* below lo, if it ran over the end */
		if (lo <= hi)
			oracle_add_range(r, lo, hi);
	}
	check_result(r64_from_ranges(&unit_env, ranges, n), r);
}

/*
 * CRoaring shifts unsigned numbers.  That is the same as long as no element
 * changes its sign, so one sign's elements are shifted as far as they can be.
 */
static void
test_shift(void)
{
	bool		negative = unit_one_in(2);
	int64_t		from = negative ? INT64_MIN : 0;
	int64_t		to = negative ? -1 : INT64_MAX;
	int64_t		first;
	int64_t		last;
	int64_t		delta;
	r64_buf		half = r64_combine_range(R64_AND, &a, from, to);
	r64_set		s = r64_open(&unit_env, unit_result(half), half.size);
	roaring64_bitmap_t *r = roaring64_bitmap_copy(ra);

	if (negative)
		oracle_remove_range(r, 0, INT64_MAX);
	else
		oracle_remove_range(r, INT64_MIN, -1);
	if (!r64_min(&s, &first) || !r64_max(&s, &last))
		first = last = from;
	delta = (int64_t) unit_skewed(UINT64_C(1) << (unit_one_in(2) ? 20 : 50));
	if (unit_one_in(2))
		delta = first - from < delta ? from - first : -delta;
	else
		delta = to - last < delta ? to - last : delta;
	unit_note(" shifted by %" PRId64, delta);
	check_result(r64_shift(&s, delta),
				 roaring64_bitmap_add_offset_signed(r, delta >= 0,
													(uint64_t) llabs(delta)));
	roaring64_bitmap_free(r);
	r64_close(&s);
}

/* Other legal bytes of the set: CRoaring and we read the same. */
static void
test_canonicalise(void)
{
	size_t		size;
	uint8_t    *bytes = model_encode_legal(&ma, &size);
	roaring64_bitmap_t *r = oracle_read(bytes, size);
	r64_diagnosis why = {0};
	r64_verdict verdict = r64_check(&unit_env, bytes, size, &why);

	if (!CHECK(r != NULL))
		return;
	if (CHECK(verdict != R64_INVALID))
		check_result(r64_canonicalise(&unit_env, bytes, size), r);
	else
	{
		unit_note(" %s at %zu", why.reason, why.offset);
		roaring64_bitmap_free(r);
	}
}

static const struct
{
	const char *name;
	void		(*run) (void);
}			tests[] = {
	{"bytes", test_bytes},
	{"combine", test_combine},
	{"combine", test_combine},
	{"relations", test_relations},
	{"statistics", test_statistics},
	{"order", test_order},
	{"range", test_range},
	{"add and remove", test_add_remove},
	{"add many", test_add_many},
	{"from ranges", test_from_ranges},
	{"shift", test_shift},
	{"canonicalise", test_canonicalise}
};
#define NTESTS	(sizeof(tests) / sizeof(tests[0]))

static void
run_case(void *arg)
{
	uint64_t	i = *(uint64_t *) arg;

	unit_note(" %s,", tests[i % NTESTS].name);
	shape_pair(SHAPE_MEDIUM, &u, &ma, &mb);
	ra = oracle_make(&ma);
	rb = oracle_make(&mb);
	a = model_open(&ma);
	b = model_open(&mb);
	tests[i % NTESTS].run();
	r64_close(&a);
	r64_close(&b);
	roaring64_bitmap_free(ra);
	roaring64_bitmap_free(rb);
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "the engine against CRoaring",.cases = DEFAULT_CASES,.run_case = run_case
	};

	return unit_run(&program, argc, argv);
}
