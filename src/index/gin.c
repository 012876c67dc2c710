/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  The GIN operator class: what is indexed, and what keys say of a row.
 *
 * Which keys a search looks for is in gin_query.c.  NULLs and sets without
 * elements have no key; GIN keeps entries of its own for them.
 *
 * src/index/gin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "gin.h"
#include "type/roaring64.h"

/* How many elements are read at once. */
#define BATCH	512

/*
 * GIN sorts the keys of a value in one allocation of so many bytes for each
 * (keyEntryData in ginutil.c).
 */
#define BYTES_PER_KEY	16
#define MAX_KEYS		((int) (MaxAllocSize / BYTES_PER_KEY))

/* The keys of a value while they are collected. */
typedef struct ExtractedKeys
{
	Datum	   *keys;
	Size		n;
	Size		room;
} ExtractedKeys;

static void
too_many_keys(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("roaring64 value has too many keys for a GIN index"),
			 errdetail("A GIN index accepts at most %d keys per value.", MAX_KEYS),
			 errhint("Create the index with gin_roaring64_ops (key = container), or split the set into several rows with roaring64_split.")));
}

static void
add_key(ExtractedKeys *extracted, int64 key)
{
	if (extracted->n == extracted->room)
	{
		if (extracted->n >= MAX_KEYS)
			too_many_keys();
		extracted->room = Min(extracted->room * 2, MAX_KEYS);
		extracted->keys = repalloc(extracted->keys,
								   sizeof(Datum) * extracted->room);
	}
	extracted->keys[extracted->n++] = Int64GetDatum(key);
}

/* Every element is a key. */
static void
extract_elements(ExtractedKeys *extracted, r64_set *set)
{
	int64		from = PG_INT64_MIN;
	int64		batch[BATCH];
	size_t		got;

	if (r64_cardinality(set) > MAX_KEYS)
		too_many_keys();
	do
	{
		CHECK_FOR_INTERRUPTS();
		got = r64_read(set, from, PG_INT64_MAX, false, batch, BATCH);
		for (size_t i = 0; i < got; i++)
			add_key(extracted, batch[i]);
		/* where the last bigint was read there is nothing more to read */
		if (got < BATCH || batch[got - 1] == PG_INT64_MAX)
			return;
		from = batch[got - 1] + 1;
	} while (true);
}

/* Every container is a key. */
static void
extract_containers(ExtractedKeys *extracted, r64_set *set, int shift)
{
	int64		from = PG_INT64_MIN;
	int64		key;
	int64		last;

	while (r64_next_container_run(set, from, &key, &last))
	{
		for (; key <= last; key++)
		{
			CHECK_FOR_INTERRUPTS();
			add_key(extracted, key);
		}
		if (last == PG_INT64_MAX >> shift)
			return;
		from = key * (INT64CONST(1) << shift);
	}
}

/*
 * roaring64_gin_extract_value(roaring64, internal) returns internal: the keys
 * of a value.  Errors if GIN could not take that many.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_extract_value);
Datum
roaring64_gin_extract_value(PG_FUNCTION_ARGS)
{
	r64_set		set = DatumGetRoaring64(PG_GETARG_DATUM(0));
	int32	   *nkeys = (int32 *) PG_GETARG_POINTER(1);
	int			shift = roaring64_gin_shift(fcinfo);
	ExtractedKeys extracted = {.room = 64};

	extracted.keys = palloc(sizeof(Datum) * extracted.room);
	if (shift == 0)
		extract_elements(&extracted, &set);
	else
		extract_containers(&extracted, &set, shift);
	*nkeys = (int32) extracted.n;
	PG_RETURN_POINTER(extracted.keys);
}

/*
 * Whether a row has all of the keys, if one that it has not decides that; or
 * any of them, if one that it has does.
 */
static GinTernaryValue
combine_keys(const GinTernaryValue *check, int nkeys, GinTernaryValue decides)
{
	GinTernaryValue result = decides == GIN_FALSE ? GIN_TRUE : GIN_FALSE;

	for (int i = 0; i < nkeys; i++)
	{
		if (check[i] == decides)
			return decides;
		if (check[i] == GIN_MAYBE)
			result = GIN_MAYBE;
	}
	return result;
}

/*
 * Whether a row matches, from which keys it has; GIN_MAYBE leaves that to
 * the operator.
 *
 * A search without keys is one for the empty set or the empty range, which
 * every row contains.
 */
static GinTernaryValue
judge(FunctionCallInfo fcinfo, StrategyNumber strategy,
	  const GinTernaryValue *check, int nkeys, const Pointer *extra_data)
{
	GinTernaryValue result;
	bool		inexact = nkeys > 0 &&
		(roaring64_gin_shift(fcinfo) > 0 ||
		 ((SearchKey *) extra_data[0])->inexact);

	switch (strategy)
	{
		case GIN_CONTAINS_SET:
		case GIN_CONTAINS_ELEMENT:
		case GIN_CONTAINS_RANGE:
			result = combine_keys(check, nkeys, GIN_FALSE);
			break;
		case GIN_EQUAL:
			result = combine_keys(check, nkeys, GIN_FALSE);
			inexact = true;		/* the row may have other elements, too */
			break;
		case GIN_OVERLAPS_SET:
		case GIN_OVERLAPS_RANGE:
			result = combine_keys(check, nkeys, GIN_TRUE);
			break;
		case GIN_CONTAINED_SET:
		case GIN_CONTAINED_RANGE:
			return GIN_MAYBE;	/* likewise, whichever it has */
		default:
			elog(ERROR, "unknown strategy number: %d", strategy);
	}
	return result == GIN_TRUE && inexact ? GIN_MAYBE : result;
}

/*
 * roaring64_gin_triconsistent(internal, smallint, roaring64, integer,
 * internal, internal, internal) returns "char": the same where of some keys
 * it is not known whether the row has them.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_triconsistent);
Datum
roaring64_gin_triconsistent(PG_FUNCTION_ARGS)
{
	GinTernaryValue *check = (GinTernaryValue *) PG_GETARG_POINTER(0);

	PG_RETURN_GIN_TERNARY_VALUE(judge(fcinfo, PG_GETARG_UINT16(1), check,
									  PG_GETARG_INT32(3),
									  (Pointer *) PG_GETARG_POINTER(4)));
}
