/*-------------------------------------------------------------------------
 *
 * handmade_test.c
 *	  Bytes made by hand: one set for everything that can be wrong with it.
 *
 * For each reason that r64_check has to refuse bytes there is at least one
 * string of bytes with just that fault, and for each choice that the format
 * leaves open one that is legal but not canonical.
 *
 * It takes no arguments.
 *
 * test/unit/handmade_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "oracle.h"

/*
 * A set written number by number.
 */
typedef struct script
{
	uint8_t		bytes[200000];
	size_t		size;
} script;

static script out;

static void
put(uint64_t value, unsigned nbytes)
{
	for (unsigned i = 0; i < nbytes; i++)
		out.bytes[out.size++] = (uint8_t) (value >> (8 * i));
}

static void
fill(uint8_t value, size_t n)
{
	memset(out.bytes + out.size, value, n);
	out.size += n;
}

/* The number of buckets, and of the first the high half. */
static void
begin(uint64_t nbuckets, uint32_t high)
{
	out.size = 0;
	put(nbuckets, 8);
	put(high, 4);
}

/* A bucket without runs, up to its offsets; then keys and counts follow. */
static void
plain_cookie(uint32_t n)
{
	put(12346, 4);
	put(n, 4);
}

static void
run_cookie(uint32_t n, uint8_t flags)
{
	put(12347 | (uint64_t) (n - 1) << 16, 4);
	put(flags, 1);
}

static void
key(uint16_t k, uint32_t card)
{
	put(k, 2);
	put(card - 1, 2);
}

/* One array container {7}: the smallest bucket's body, with its offset. */
static void
tiny_bucket(void)
{
	plain_cookie(1);
	key(0, 1);
	put(16, 4);
	put(7, 2);
}

/* One bucket with one run container that claims card values. */
static void
run_bucket(uint32_t card, uint32_t nruns)
{
	begin(1, 0);
	run_cookie(1, 1);
	key(0, card);
	put(nruns, 2);
}

static void
run(uint16_t start, uint16_t length)
{
	put(start, 2);
	put(length - 1u, 2);
}

/* One bucket with one bitset container: every byte the same. */
static void
bitset_bucket(uint32_t card, uint8_t value, size_t bytes)
{
	begin(1, 0);
	plain_cookie(1);
	key(0, card);
	put(16, 4);
	fill(value, bytes);
}

/* Four run containers, with an offset header or without. */
static void
four_runs(uint32_t first_offset, bool offsets)
{
	begin(1, 0);
	run_cookie(4, 0x0f);
	for (uint16_t i = 0; i < 4; i++)
		key(i, 4);
	for (uint32_t i = 0; offsets && i < 4; i++)
		put(first_offset + 6 * i, 4);
	for (int i = 0; i < 4; i++)
	{
		put(1, 2);
		run(5, 4);
	}
}

static void
too_short(void)
{
	out.size = 0;
	fill(0, 7);
}

static void
no_bytes(void)
{
	out.size = 0;
}

static void
count_without_buckets(void)
{
	out.size = 0;
	put(1, 8);
}

static void
count_above_2_32(void)
{
	begin(UINT64_C(1) << 32 | 1, 0);
	tiny_bucket();
}

static void
count_one_too_many(void)
{
	begin(2, 0);
	tiny_bucket();
}

static void
truncated_high(void)
{
	out.size = 0;
	put(1, 8);
	put(0, 3);
}

static void
truncated_second_high(void)
{
	begin(2, 0);
	tiny_bucket();
	put(1, 2);
}

static void
truncated_second_cookie(void)
{
	begin(2, 0);
	tiny_bucket();
	put(1, 4);
	put(12346, 2);
}

static void
truncated_cookie(void)
{
	begin(1, 0);
	put(12346, 3);
}

static void
truncated_count(void)
{
	begin(1, 0);
	put(12346, 4);
	put(1, 3);
}

static void
truncated_keys(void)
{
	begin(1, 0);
	plain_cookie(2);
	key(0, 1);
	put(1, 2);
}

static void
truncated_offsets(void)
{
	begin(1, 0);
	plain_cookie(1);
	key(0, 1);
	put(16, 3);
}

static void
truncated_flags(void)
{
	begin(1, 0);
	put(12347 | 799 << 16, 4);
	fill(0, 10);
}

static void
truncated_array(void)
{
	begin(1, 0);
	plain_cookie(1);
	key(0, 2);
	put(16, 4);
	put(7, 2);
	put(8, 1);
}

static void
truncated_bitset(void)
{
	bitset_bucket(32768, 0x55, 8191);
}

static void
truncated_run_count(void)
{
	begin(1, 0);
	run_cookie(1, 1);
	key(0, 5);
	put(1, 1);
}

static void
truncated_runs(void)
{
	run_bucket(5, 1);
	put(5, 2);
	put(4, 1);
}

static void
trailing_byte(void)
{
	begin(1, 0);
	tiny_bucket();
	put(0, 1);
}

static void
trailing_after_empty(void)
{
	out.size = 0;
	fill(0, 9);
}

static void
buckets_equal(void)
{
	begin(2, 3);
	tiny_bucket();
	put(3, 4);
	tiny_bucket();
}

static void
buckets_descending(void)
{
	begin(2, 3);
	tiny_bucket();
	put(2, 4);
	tiny_bucket();
}

static void
cookie_unknown(void)
{
	begin(1, 0);
	tiny_bucket();
	out.bytes[12] = 12345 & 0xff;
}

static void
cookie_with_upper_half(void)
{
	begin(1, 0);
	tiny_bucket();
	out.bytes[14] = 1;
}

static void
containers_65537(void)
{
	begin(1, 0);
	plain_cookie(65537);
	fill(0, 64);
}

static void
keys_equal(void)
{
	begin(1, 0);
	plain_cookie(2);
	key(4, 1);
	key(4, 1);
	put(24, 4);
	put(26, 4);
	put(7, 2);
	put(8, 2);
}

static void
keys_descending(void)
{
	begin(1, 0);
	plain_cookie(2);
	key(4, 1);
	key(3, 1);
	put(24, 4);
	put(26, 4);
	put(7, 2);
	put(8, 2);
}

static void
array_equal(void)
{
	begin(1, 0);
	plain_cookie(1);
	key(0, 2);
	put(16, 4);
	put(7, 2);
	put(7, 2);
}

static void
array_descending(void)
{
	begin(1, 0);
	plain_cookie(1);
	key(0, 2);
	put(16, 4);
	put(7, 2);
	put(6, 2);
}

static void
bitset_card_too_high(void)
{
	bitset_bucket(32769, 0x55, 8192);
}

static void
bitset_card_too_low(void)
{
	bitset_bucket(5000, 0x55, 8192);
}

static void
runs_none(void)
{
	run_bucket(1, 0);
}

static void
run_past_end(void)
{
	run_bucket(20, 1);
	run(65530, 20);
}

static void
runs_overlapping(void)
{
	run_bucket(20, 2);
	run(10, 10);
	run(15, 10);
}

static void
runs_adjacent(void)
{
	run_bucket(20, 2);
	run(10, 10);
	run(20, 10);
}

static void
runs_descending(void)
{
	run_bucket(20, 2);
	run(100, 10);
	run(10, 10);
}

static void
run_card_too_high(void)
{
	run_bucket(21, 1);
	run(10, 20);
}

static void
run_card_too_low(void)
{
	run_bucket(19, 1);
	run(10, 20);
}

static void
offset_zero(void)
{
	begin(1, 0);
	tiny_bucket();
	out.bytes[24] = 0;
}

static void
offset_past_end(void)
{
	begin(1, 0);
	tiny_bucket();
	out.bytes[27] = 0x7f;
}

static void
offset_off_by_one_with_runs(void)
{
	four_runs(38, true);
}

static void
offsets_missing_with_runs(void)
{
	four_runs(0, false);
}

static void
offsets_present_below_limit(void)
{
	begin(1, 0);
	run_cookie(1, 1);
	key(0, 3);
	put(13, 4);
	put(1, 2);
	run(5, 3);
}

static void
second_bucket_bad(void)
{
	begin(2, 3);
	tiny_bucket();
	put(4, 4);
	plain_cookie(1);
	key(0, 2);
	put(16, 4);
	put(9, 2);
	put(8, 2);
}

/* Legal, not canonical. */

static void
empty_bucket_only(void)
{
	begin(1, 9);
	plain_cookie(0);
}

static void
empty_bucket_between(void)
{
	begin(3, 0);
	tiny_bucket();
	put(1, 4);
	plain_cookie(0);
	put(0xffffffff, 4);
	tiny_bucket();
}

static void
run_of_one(void)
{
	run_bucket(1, 1);
	run(7, 1);
}

static void
run_of_two(void)
{
	run_bucket(2, 1);
	run(7, 2);
}

static void
run_of_three(void)
{
	run_bucket(3, 1);
	run(7, 3);
}

/* n values from 5 on. */
static void
row_of(uint32_t n)
{
	begin(1, 0);
	plain_cookie(1);
	key(0, n);
	put(16, 4);
	for (uint32_t i = 0; i < n; i++)
		put(5 + i, 2);
}

static void
array_of_four_in_a_row(void)
{
	row_of(4);
}

static void
full_bitset(void)
{
	bitset_bucket(65536, 0xff, 8192);
}

static void
run_cookie_without_runs(void)
{
	begin(1, 0);
	run_cookie(1, 0);
	key(0, 1);
	put(7, 2);
}

static void
runs_where_bitset(void)
{
	run_bucket(3 * 2048, 2048);
	for (uint16_t i = 0; i < 2048; i++)
		run((uint16_t) (8 * i), 3);
}

static void
runs_up_to_32768(void)
{
	run_bucket(32768, 32768);
	for (uint32_t i = 0; i < 32768; i++)
		run((uint16_t) (2 * i), 1);
}

/* Canonical. */

static void
empty(void)
{
	out.size = 0;
	put(0, 8);
}

/* As a run it would take as many bytes: then it stays an array. */
static void
array_of_three_in_a_row(void)
{
	row_of(3);
}

static void
largest_run(void)
{
	run_bucket(65536, 1);
	put(0, 2);
	put(65535, 2);
}

static void
run_at_the_end(void)
{
	run_bucket(4, 1);
	run(65532, 4);
}

static void
runs_one_apart(void)
{
	run_bucket(20, 2);
	run(10, 10);
	run(21, 10);
}

static void
four_runs_with_offsets(void)
{
	four_runs(37, true);
}

static void
bitset_every_second(void)
{
	bitset_bucket(32768, 0x55, 8192);
}

static void
last_bucket(void)
{
	begin(2, 0xfffffffe);
	tiny_bucket();
	put(0xffffffff, 4);
	tiny_bucket();
}

static void
spare_flag_bits(void)
{
	begin(1, 0);
	run_cookie(1, 0x81);
	key(0, 4);
	put(1, 2);
	run(5, 4);
}

static const struct
{
	const char *name;
	void		(*build) (void);
	r64_verdict verdict;
	const char *reason;			/* a word of it, if invalid */
}			built[] = {
#define BAD(build, reason) {#build, build, R64_INVALID, reason}
#define LEGAL(build) {#build, build, R64_LEGAL, NULL}
#define GOOD(build) {#build, build, R64_CANONICAL, NULL}
	BAD(no_bytes, "header"),
	BAD(too_short, "header"),
	BAD(count_without_buckets, "too short"),
	BAD(count_above_2_32, "too short"),
	BAD(count_one_too_many, "too short"),
	BAD(truncated_second_high, "truncated bucket"),
	BAD(truncated_second_cookie, "truncated bucket"),
	BAD(truncated_high, "too short"),
	BAD(truncated_cookie, "too short"),
	BAD(truncated_count, "too short"),
	BAD(truncated_keys, "truncated bucket header"),
	BAD(truncated_offsets, "truncated bucket header"),
	BAD(truncated_flags, "truncated bucket header"),
	BAD(truncated_array, "truncated array"),
	BAD(truncated_bitset, "truncated bitset"),
	BAD(truncated_run_count, "truncated run"),
	BAD(truncated_runs, "truncated run"),
	BAD(trailing_byte, "trailing"),
	BAD(trailing_after_empty, "trailing"),
	BAD(buckets_equal, "buckets not ascending"),
	BAD(buckets_descending, "buckets not ascending"),
	BAD(cookie_unknown, "unknown cookie"),
	BAD(cookie_with_upper_half, "unknown cookie"),
	BAD(containers_65537, "65536 containers"),
	BAD(keys_equal, "keys not ascending"),
	BAD(keys_descending, "keys not ascending"),
	BAD(array_equal, "values not ascending"),
	BAD(array_descending, "values not ascending"),
	BAD(bitset_card_too_high, "bitset container with wrong"),
	BAD(bitset_card_too_low, "bitset container with wrong"),
	BAD(runs_none, "without runs"),
	BAD(run_past_end, "exceeds 65535"),
	BAD(runs_overlapping, "overlap"),
	BAD(runs_adjacent, "adjacent"),
	BAD(runs_descending, "overlap or do not ascend"),
	BAD(run_card_too_high, "run container with wrong"),
	BAD(run_card_too_low, "run container with wrong"),
	BAD(offset_zero, "offset"),
	BAD(offset_past_end, "offset"),
	BAD(offset_off_by_one_with_runs, "offset"),
	BAD(offsets_missing_with_runs, "offset"),
	BAD(offsets_present_below_limit, "truncated run"),
	BAD(second_bucket_bad, "values not ascending"),
	LEGAL(empty_bucket_only),
	LEGAL(empty_bucket_between),
	LEGAL(run_of_one),
	LEGAL(run_of_two),
	LEGAL(run_of_three),
	LEGAL(array_of_four_in_a_row),
	LEGAL(full_bitset),
	LEGAL(run_cookie_without_runs),
	LEGAL(runs_where_bitset),
	LEGAL(runs_up_to_32768),
	LEGAL(spare_flag_bits),
	GOOD(empty),
	GOOD(array_of_three_in_a_row),
	GOOD(largest_run),
	GOOD(run_at_the_end),
	GOOD(runs_one_apart),
	GOOD(four_runs_with_offsets),
	GOOD(bitset_every_second),
	GOOD(last_bucket)
};
#define NBUILT	(sizeof(built) / sizeof(built[0]))

static void
test_built(void)
{
	for (size_t i = 0; i < NBUILT; i++)
	{
		r64_diagnosis why = {0};
		r64_verdict verdict;
		uint8_t    *bytes;

		unit_case("built by hand: %s", built[i].name);
		built[i].build();
		bytes = unit_place(out.bytes, out.size, (unsigned) i % 8);
		verdict = r64_check(&unit_env, bytes, out.size, &why);
		if (verdict == R64_INVALID)
			unit_note(" (%s at %zu)", why.reason, why.offset);
		if (!CHECK(verdict == built[i].verdict))
			continue;
		if (verdict != R64_INVALID)
			oracle_check_accepted(bytes, out.size, verdict);
		else
		{
			oracle_check_refused(out.size, &why);
			CHECK(strstr(why.reason, built[i].reason) != NULL);
		}
	}
}

/*
 * Each prefix of a set is refused, and so is the set with a byte more.
 */
static void
test_prefixes(void)
{
	for (size_t i = 0; i < NBUILT; i++)
	{
		if (built[i].verdict == R64_INVALID)
			continue;
		unit_case("cut short: %s", built[i].name);
		built[i].build();
		for (size_t n = 0; n <= out.size + 1; n++)
		{
			r64_diagnosis why = {0};
			uint8_t    *bytes;

			/* all of the first and last bytes, some of those between */
			if (n > 200 && n + 200 < out.size && n % 97 != 0)
				continue;
			if (n == out.size)
				continue;
			out.bytes[out.size] = 0;
			bytes = malloc(n + 1);
			if (bytes == NULL)
				abort();
			/* at its end, so that one byte too far is out of bounds */
			memcpy(bytes + 1, out.bytes, n);
			if (!CHECK(r64_check(&unit_env, bytes + 1, n, &why) ==
					   R64_INVALID))
				n = out.size + 1;
			else
				oracle_check_refused(n, &why);
			free(bytes);
		}
	}
}

int
main(int argc, char **argv)
{
	unit_start("bytes made by hand", 0, argc, argv);
	test_built();
	test_prefixes();
	return unit_finish();
}
