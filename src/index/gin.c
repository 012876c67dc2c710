/*-------------------------------------------------------------------------
 *
 * gin.c
 *	  The GIN operator class: what is indexed, and what keys say of a row.
 *
 * Which keys a search looks for is in gin_query.c.  NULLs and sets without
 * elements have no key; GIN keeps entries of its own for them.  What the keys
 * are is an option of the operator class:
 *
 *		CREATE INDEX ... USING gin (tags gin_roaring64_ops (key = container))
 *
 * src/index/gin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "gin.h"
#include "type/roaring64.h"

/*
 * GIN sorts the keys of a value in one allocation of so many bytes for each
 * (keyEntryData in ginutil.c).
 */
#define BYTES_PER_KEY	16
#define MAX_KEYS		((int) (MaxAllocSize / BYTES_PER_KEY))

/* The values of "key" are the distances to shift by. */
#define KEY_ELEMENT		0
#define KEY_CONTAINER	16

/* The option as the server keeps it, a varlena. */
typedef struct GinOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			key;
} GinOptions;

static relopt_enum_elt_def key_values[] =
{
	{"element", KEY_ELEMENT},
	{"container", KEY_CONTAINER},
	{(const char *) NULL}
};

/*
 * How far elements are shifted to make keys, in the index that a support
 * function is called for.
 */
int
roaring64_gin_shift(FunctionCallInfo fcinfo)
{
	if (!PG_HAS_OPCLASS_OPTIONS())
		return KEY_ELEMENT;
	return ((GinOptions *) PG_GET_OPCLASS_OPTIONS())->key;
}

/*
 * roaring64_gin_options(internal) returns void: tells the server which
 * options there are.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_options);
Datum
roaring64_gin_options(PG_FUNCTION_ARGS)
{
	local_relopts *relopts = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(relopts, sizeof(GinOptions));
	add_local_enum_reloption(relopts, "key", "what the keys of the index are",
							 key_values, KEY_ELEMENT,
							 "Valid values are \"element\" and \"container\".",
							 offsetof(GinOptions, key));
	PG_RETURN_VOID();
}

/*
 * Finds the first run of consecutive keys of a set, none of them before from.
 * Returns false if there is none.
 */
bool
roaring64_gin_next_run(r64_set *set, int shift, int64 from,
					   int64 *first, int64 *last)
{
	if (shift == 0)
		return r64_next_run(set, from, PG_INT64_MAX, first, last);
	return r64_next_container_run(set, from * (INT64CONST(1) << shift),
								  first, last);
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
	r64_stats	stats = r64_get_stats(&set);
	uint64		n = shift == 0 ? stats.cardinality :
		stats.arrays + stats.bitsets + stats.runs;
	int64		from = PG_INT64_MIN >> shift;
	int64		first;
	int64		last;
	Datum	   *keys;

	if (n > MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("roaring64 value has too many keys for a GIN index"),
				 errdetail("A GIN index accepts at most %d keys per value.", MAX_KEYS),
				 errhint("Create the index with gin_roaring64_ops (key = container), or split the set into several rows with roaring64_split.")));
	keys = palloc(sizeof(Datum) * Max(n, 1));
	*nkeys = 0;
	while (*nkeys < n && roaring64_gin_next_run(&set, shift, from, &first, &last))
	{
		/* a damaged set can have more than it says */
		uint64		more = Min((uint64) last - (uint64) first, n - *nkeys - 1);

		for (uint64 i = 0; i <= more; i++)
		{
			CHECK_FOR_INTERRUPTS();
			keys[(*nkeys)++] = Int64GetDatum(first + (int64) i);
		}
		if (last == PG_INT64_MAX >> shift)
			break;
		from = last + 1;
	}
	PG_RETURN_POINTER(keys);
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
 * roaring64_gin_triconsistent(internal, smallint, roaring64, integer,
 * internal, internal, internal) returns "char": whether a row matches, from
 * which keys it has, where of some that may not be known; GIN_MAYBE leaves it to
 * the operator.
 *
 * A search without keys is one for the empty set or the empty range, which
 * every row contains.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_triconsistent);
Datum
roaring64_gin_triconsistent(PG_FUNCTION_ARGS)
{
	GinTernaryValue *check = (GinTernaryValue *) PG_GETARG_POINTER(0);
	StrategyNumber strategy = PG_GETARG_UINT16(1);
	int32		nkeys = PG_GETARG_INT32(3);
	Pointer    *extra_data = (Pointer *) PG_GETARG_POINTER(4);

	/* a row that is to equal a set may have other elements, too */
	bool		inexact = strategy == GIN_EQUAL ||
		(nkeys > 0 && (roaring64_gin_shift(fcinfo) > 0 ||
					   ((SearchKey *) extra_data[0])->inexact));
	GinTernaryValue result;

	switch (strategy)
	{
		case GIN_CONTAINS_SET:
		case GIN_CONTAINS_ELEMENT:
		case GIN_CONTAINS_RANGE:
		case GIN_EQUAL:
			result = combine_keys(check, nkeys, GIN_FALSE);
			break;
		case GIN_OVERLAPS_SET:
		case GIN_OVERLAPS_RANGE:
			result = combine_keys(check, nkeys, GIN_TRUE);
			break;
		case GIN_CONTAINED_SET:
		case GIN_CONTAINED_RANGE:
			result = GIN_MAYBE; /* whichever it has */
			break;
		default:
			elog(ERROR, "unknown strategy number: %d", strategy);
	}
	if (result == GIN_TRUE && inexact)
		result = GIN_MAYBE;
	PG_RETURN_GIN_TERNARY_VALUE(result);
}
