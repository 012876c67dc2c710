/*-------------------------------------------------------------------------
 *
 * int8range.c
 *	  Ranges of bigint: arguments, results, and casts with multiranges.  Operators
 *	  with a range are beside those with a set.
 *
 * An int8range is stored as [lower, upper), while the engine's ranges include
 * both ends.  So an int8range contains the last bigint only if it has no upper
 * bound, and a range that reaches the last bigint is returned without one.
 *
 * Operators of a set and a range are declared with anyrange: operators of
 * exactly int8range would be preferred to core's of (anyrange, anyrange) in
 * "range && '[5,12)'", whose literal would then be read as a set.  They accept
 * an int8range only.
 *
 * The type cache is asked on every call, which is one lookup in a hash table.
 * fn_extra is left to functions that have more to remember.
 *
 * src/type/int8range.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/multirangetypes.h"
#include "utils/rangetypes.h"

#include "roaring64.h"

/* A multirange's bytes per range: an item word, bound flags, two bounds. */
#define BYTES_PER_RANGE	(sizeof(uint32) + sizeof(uint8) + 2 * sizeof(int64))

/* The most ranges of a multirange of int8range. */
#define MAX_RANGES	((MaxAllocSize - 64) / BYTES_PER_RANGE)

/* More consecutive integers than any value can have. */
#define MAX_FILLED		(UINT64CONST(1) << 44)

/* The type cache's entry of int8range. */
static TypeCacheEntry *
range_typcache(void)
{
	return lookup_type_cache(INT8RANGEOID, TYPECACHE_RANGE_INFO);
}

/*
 * Reads an int8range as inclusive bounds.  An infinite bound is the first or last
 * bigint.  An empty range gives false, and bounds with lo > hi, which are an empty
 * range for the engine too.  Reports a range of another type.
 */
bool
roaring64_range_bounds(Datum datum, int64 *lo, int64 *hi)
{
	RangeType  *range = DatumGetRangeTypeP(datum);
	RangeBound	lower;
	RangeBound	upper;
	bool		empty;

	if (RangeTypeGetOid(range) != INT8RANGEOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("range must be an int8range, not %s",
						format_type_be(RangeTypeGetOid(range)))));
	range_deserialize(range_typcache(), range, &lower, &upper, &empty);

	/* int8range does not know that there is nothing below the first bigint */
	if (empty ||
		(!upper.infinite && DatumGetInt64(upper.val) == PG_INT64_MIN))
	{
		*lo = 1;
		*hi = 0;
		return false;
	}
	*lo = lower.infinite ? PG_INT64_MIN : DatumGetInt64(lower.val);
	*hi = upper.infinite ? PG_INT64_MAX : DatumGetInt64(upper.val) - 1;
	return true;
}

/*
 * The same of a range whose integers all become elements.  Reports an
 * unbounded range that is too large.
 */
void
roaring64_filled_bounds(Datum range, int64 *lo, int64 *hi)
{
	if (roaring64_range_bounds(range, lo, hi) &&
		(uint64) *hi - (uint64) *lo > MAX_FILLED &&
		(*lo == PG_INT64_MIN || *hi == PG_INT64_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("range is too large for a roaring64 value"),
				 errdetail("The range has no %s bound.",
						   *hi == PG_INT64_MAX ? "upper" : "lower")));
}

/*
 * Makes the int8range [lo, hi]; without an upper bound if hi is the last
 * bigint, because int8range has no other way to say so.
 */
Datum
roaring64_make_range(int64 lo, int64 hi)
{
	RangeBound	lower = {.val = Int64GetDatum(lo),.inclusive = true,.lower = true};
	RangeBound	upper = {.infinite = (hi == PG_INT64_MAX)};

	/* elements ascend, unless the set is damaged */
	if (lo > hi)
		roaring64_env.fail(R64_CORRUPT, "elements not ascending");
	if (!upper.infinite)
		upper.val = Int64GetDatum(hi + 1);
	return RangeTypePGetDatum(roaring64_range_serialize(range_typcache(),
														&lower, &upper));
}

/*
 * roaring64_from_range(int8range) returns roaring64: all its integers; the
 * cast.  Errors if that exceeds the maximum size of a value.
 */
PG_FUNCTION_INFO_V1(roaring64_from_range);
Datum
roaring64_from_range(PG_FUNCTION_ARGS)
{
	int64		lo;
	int64		hi;
	r64_range	range;

	roaring64_filled_bounds(PG_GETARG_DATUM(0), &lo, &hi);
	range.lo = lo;
	range.hi = hi;
	PG_RETURN_ROARING64(r64_from_ranges(&roaring64_env, &range, 1));
}

/*
 * roaring64_from_multirange(int8multirange) returns roaring64: all its
 * integers; the cast.  Errors as roaring64_from_range does.
 */
PG_FUNCTION_INFO_V1(roaring64_from_multirange);
Datum
roaring64_from_multirange(PG_FUNCTION_ARGS)
{
	int32		n;
	RangeType **parts;
	r64_range  *ranges;

	multirange_deserialize(range_typcache(), PG_GETARG_MULTIRANGE_P(0), &n,
						   &parts);
	ranges = MemoryContextAllocHuge(CurrentMemoryContext,
									sizeof(r64_range) * Max((Size) n, 1));
	for (int32 i = 0; i < n; i++)
	{
		int64		lo;
		int64		hi;

		roaring64_filled_bounds(RangeTypePGetDatum(parts[i]), &lo, &hi);
		ranges[i].lo = lo;
		ranges[i].hi = hi;
	}
	PG_RETURN_ROARING64(r64_from_ranges(&roaring64_env, ranges, n));
}

/*
 * roaring64_to_multirange(roaring64) returns int8multirange: its runs of
 * consecutive elements; the cast.  Errors if they are too many.
 */
PG_FUNCTION_INFO_V1(roaring64_to_multirange);
Datum
roaring64_to_multirange(PG_FUNCTION_ARGS)
{
	r64_set    *set = PG_GETARG_ROARING64(0);
	Size		capacity = 64;
	Size		n = 0;
	RangeType **parts = palloc(sizeof(RangeType *) * capacity);
	int64		from = PG_INT64_MIN;
	int64		first;
	int64		last;

	while (r64_next_run(set, from, PG_INT64_MAX, &first, &last))
	{
		CHECK_FOR_INTERRUPTS();
		if (n == MAX_RANGES)
			roaring64_too_large("int8multirange",
								"Use roaring64_ranges to get the ranges as rows.");
		if (n == capacity)
			parts = repalloc_huge(parts, sizeof(RangeType *) * (capacity *= 2));
		parts[n++] = DatumGetRangeTypeP(roaring64_make_range(first, last));
		if (last == PG_INT64_MAX)
			break;
		from = last + 1;
	}
	PG_RETURN_MULTIRANGE_P(make_multirange(INT8MULTIRANGEOID, range_typcache(),
										   (int32) n, parts));
}
