/*-------------------------------------------------------------------------
 *
 * uuids.c
 *	  Chunks of UUIDs: a uuid[] that ascends and has no id twice.
 *
 * What roaring64 values are to sets of bigints, these are to sets of UUIDs; the
 * functions have the names that those of roaring64 have, so that sql/parts/dedup.sql
 * writes its statements once.  They are for arrays that they have made, or that
 * roaring64_uuids_split has, and sort no others.
 *
 * src/dedup/uuids.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

/* Ids that roaring64_uuids_split returns in parts. */
typedef struct Split
{
	DedupId    *ids;			/* distinct, ascending */
	int			n;
	int			level;			/* of chunks, at least */
	int			most;			/* ids of one, unless it is of the last level */
	int			done;			/* ids returned */
} Split;

/* Returns ids as a uuid[]. */
Datum
dedup_uuid_array(const DedupId *ids, int n)
{
	Size		size = ARR_OVERHEAD_NONULLS(1) + sizeof(DedupId) * n;
	ArrayType  *array;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(UUIDOID));
	if (size > MaxAllocSize)
		roaring64_too_large("array of UUIDs", "Use several keys.");
	array = palloc0(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->elemtype = UUIDOID;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	memcpy(ARR_DATA_PTR(array), ids, sizeof(DedupId) * n);
	return PointerGetDatum(array);
}

/* Returns the ids of a uuid[], in its order. */
const DedupId *
dedup_uuids(ArrayType *array, int *n)
{
	if (ARR_ELEMTYPE(array) != UUIDOID || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("array must not contain nulls"),
				 errhint("Remove them with array_remove(array, NULL).")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return (const DedupId *) ARR_DATA_PTR(array);
}

/* The first 64 bits of an id. */
uint64
dedup_high(const DedupId *id)
{
	uint64		high;

	memcpy(&high, id, sizeof(high));
	return pg_ntoh64(high);
}

/* Orders ids, as qsort() wants it. */
int
dedup_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(DedupId));
}

/* Copies distinct ids of n in ascending order; returns how many they are. */
int
dedup_sort(DedupId *ids, const DedupId *given, int n)
{
	int			distinct = 0;

	memcpy(ids, given, sizeof(DedupId) * n);
	qsort(ids, n, sizeof(DedupId), dedup_compare);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || dedup_compare(&ids[i], &ids[distinct - 1]) != 0)
			ids[distinct++] = ids[i];
	}
	return distinct;
}

/* The position of the first of n ascending ids whose first bits are high or more. */
static int
first_from(const DedupId *ids, int n, uint64 high)
{
	int			low = 0;

	while (low < n)
	{
		int			middle = low + (n - low) / 2;

		if (dedup_high(&ids[middle]) < high)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Finds the positions lo to before hi of ascending ids with first bits in a range. */
void
dedup_range(const DedupId *ids, int n, uint64 first, uint64 last, int *lo,
			int *hi)
{
	*lo = first_from(ids, n, first);
	*hi = last == PG_UINT64_MAX ? n : first_from(ids, n, last + 1);
}

/* Merges two arrays: the ids of either, or those of the first alone. */
static Datum
merge_uuids(FunctionCallInfo fcinfo, bool either)
{
	int			na;
	int			nb;
	const DedupId *a = dedup_uuids(PG_GETARG_ARRAYTYPE_P(0), &na);
	const DedupId *b = dedup_uuids(PG_GETARG_ARRAYTYPE_P(1), &nb);
	DedupId    *ids = MemoryContextAllocHuge(CurrentMemoryContext,
											 sizeof(DedupId) * ((Size) na + nb + 1));
	Datum		result;
	int			n = 0;

	for (int i = 0, j = 0; i < na || j < nb;)
	{
		int			order = i == na ? 1 : j == nb ? -1 :
			dedup_compare(&a[i], &b[j]);

		CHECK_FOR_INTERRUPTS();
		if (order < 0 || either)
			ids[n++] = order <= 0 ? a[i] : b[j];
		i += order <= 0;
		j += order >= 0;
	}
	result = dedup_uuid_array(ids, n);
	pfree(ids);
	return result;
}

/* roaring64_uuids_or(uuid[], uuid[]) returns uuid[]: the ids of either. */
PG_FUNCTION_INFO_V1(roaring64_uuids_or);
Datum
roaring64_uuids_or(PG_FUNCTION_ARGS)
{
	return merge_uuids(fcinfo, true);
}

/*
 * roaring64_uuids_andnot(uuid[], uuid[]) returns uuid[]: the ids of the first
 * that the second does not have.
 */
PG_FUNCTION_INFO_V1(roaring64_uuids_andnot);
Datum
roaring64_uuids_andnot(PG_FUNCTION_ARGS)
{
	return merge_uuids(fcinfo, false);
}

/*
 * roaring64_uuids_cardinality(uuid[]) returns bigint: how many ids there are.
 * Unlike the server's cardinality(), reads only the array's header.
 */
PG_FUNCTION_INFO_V1(roaring64_uuids_cardinality);
Datum
roaring64_uuids_cardinality(PG_FUNCTION_ARGS)
{
	ArrayType  *array;

	array = (ArrayType *) PG_DETOAST_DATUM_SLICE(PG_GETARG_DATUM(0), 0,
												 ARR_OVERHEAD_NONULLS(1) - VARHDRSZ);
	PG_RETURN_INT64(ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0]);
}

/* The first call of roaring64_uuids_split: what all rows need. */
static void
begin_split(FunctionCallInfo fcinfo, FuncCallContext *funcctx)
{
	Split	   *split = palloc(sizeof(Split));
	int32		bits = PG_GETARG_INT32(1);
	const DedupId *given;
	int			n;

	if (bits > 64 || bits < 64 - 4 * (DEDUP_LEVELS - 1) || bits % 4 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bits of UUIDs must be a multiple of 4 between %d and 64",
						64 - 4 * (DEDUP_LEVELS - 1))));
	if (get_call_result_type(fcinfo, NULL, &funcctx->tuple_desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	given = dedup_uuids(PG_GETARG_ARRAYTYPE_P(0), &n);
	split->ids = MemoryContextAllocHuge(CurrentMemoryContext,
										sizeof(DedupId) * ((Size) n + 1));
	split->n = dedup_sort(split->ids, given, n);
	split->level = (64 - bits) / 4;
	split->most = PG_GETARG_INT32(2);
	split->done = 0;
	funcctx->user_fctx = split;
}

/*
 * roaring64_uuids_split(uuid[], bits integer, most integer) returns rows (chunk
 * bigint, members uuid[]): the ids, in any order, by the chunks that they belong
 * to, whose ids differ in that many of their first 64 bits, or in fewer where
 * there are more than "most".
 */
PG_FUNCTION_INFO_V1(roaring64_uuids_split);
Datum
roaring64_uuids_split(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	Split	   *split;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		funcctx = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		begin_split(fcinfo, funcctx);
		MemoryContextSwitchTo(old);
	}
	funcctx = SRF_PERCALL_SETUP();
	split = funcctx->user_fctx;
	if (split->done < split->n)
	{
		uint64		high = dedup_high(&split->ids[split->done]);
		int			level = split->level;
		uint64		mask = DEDUP_LEVEL_MASK(level);
		Datum		values[2];
		bool		nulls[2] = {false, false};
		int			lo;
		int			hi;

		dedup_range(split->ids, split->n, high & mask, high | ~mask, &lo, &hi);
		while (hi - lo > split->most && level < DEDUP_LEVELS - 1)
		{
			mask = DEDUP_LEVEL_MASK(++level);
			dedup_range(split->ids, split->n, high & mask, high | ~mask, &lo, &hi);
		}
		values[0] = Int64GetDatum((int64) ((high & mask) | level));
		values[1] = dedup_uuid_array(split->ids + lo, hi - lo);
		split->done = hi;
		SRF_RETURN_NEXT(funcctx, HeapTupleGetDatum(heap_form_tuple(funcctx->tuple_desc,
																   values, nulls)));
	}
	SRF_RETURN_DONE(funcctx);
}
