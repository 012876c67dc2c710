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

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

#define PART_IDS	128			/* of a chunk, that are fetched at once */

/* Ids that roaring64_uuids_split returns in parts. */
typedef struct Split
{
	DedupId    *ids;			/* distinct, ascending */
	int			n;
	int			level;			/* of chunks, at least */
	int			most;			/* ids of one above the last level, or 0 */
	int			done;			/* ids returned */
	uint32		levels;			/* of chunks returned, as bits */
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

/* Whether one of n ascending ids is an id. */
bool
dedup_contains(const DedupId *ids, int n, const DedupId *id)
{
	return bsearch(id, ids, n, sizeof(DedupId), dedup_compare) != NULL;
}

/*
 * Whether a chunk has an id.  The first 64 bits of its ids, and of that id, are from
 * first to last.  Of a chunk that is stored out of line, uncompressed, only the parts
 * are fetched in which a binary search looks, first where the id is if all are spread
 * evenly.
 */
bool
dedup_uuids_contain(Datum members, const DedupId *id, uint64 first, uint64 last)
{
	const int	header = ARR_OVERHEAD_NONULLS(1) - VARHDRSZ;
	struct varlena *value = (struct varlena *) DatumGetPointer(members);
	struct varatt_external pointer = {0};
	int			size = 0;
	int			lo = 0;
	int			hi;
	int			guess;

	if (VARATT_IS_EXTERNAL_ONDISK(value))
	{
		VARATT_EXTERNAL_GET_POINTER(pointer, value);
		if (!VARATT_EXTERNAL_IS_COMPRESSED(pointer))
			size = VARATT_EXTERNAL_GET_EXTSIZE(pointer) - header;
	}
	if (size <= 2 * PART_IDS * (int) sizeof(DedupId) || size % sizeof(DedupId) != 0)
	{
		ArrayType  *array = DatumGetArrayTypeP(members);
		const DedupId *ids = dedup_uuids(array, &hi);
		bool		result = dedup_contains(ids, hi, id);

		if (PointerGetDatum(array) != members)
			pfree(array);
		return result;
	}
	hi = size / sizeof(DedupId);
	guess = (int) ((double) (dedup_high(id) - first) / ((double) (last - first) + 1) * hi);
	while (lo < hi)
	{
		int			begin = Max(lo, Min(guess - PART_IDS / 2, hi - PART_IDS));
		int			n = Min(PART_IDS, hi - begin);
		struct varlena *part = detoast_attr_slice(value, header + begin * sizeof(DedupId),
												  n * sizeof(DedupId));
		const DedupId *ids = (const DedupId *) VARDATA_ANY(part);
		bool		below = dedup_compare(id, &ids[0]) < 0;
		bool		above = dedup_compare(id, &ids[n - 1]) > 0;
		bool		found = !below && !above && dedup_contains(ids, n, id);

		CHECK_FOR_INTERRUPTS();
		pfree(part);
		if (!below && !above)
			return found;
		if (below)
			hi = begin;
		else
			lo = begin + n;
		guess = lo + (hi - lo) / 2;
	}
	return false;
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
	split->levels = 0;
	funcctx->user_fctx = split;
}

/*
 * Returns the ids of the next chunk, and its number: it has all ids of the level, or
 * of a finer one where they are too many.
 */
static Datum
split_chunk(Split *split, int64 *chunk)
{
	int			level = split->level;
	int			begin = split->done;
	uint64		high = dedup_high(&split->ids[begin]);
	uint64		mask;
	int			lo;

	for (;; level++)
	{
		mask = dedup_level_mask(level);
		dedup_range(split->ids, split->n, high & mask, high | ~mask, &lo, &split->done);
		if (split->most == 0 || split->done - lo <= split->most ||
			level == DEDUP_LEVELS - 1)
			break;
	}
	if (split->most > 0 && level > 0)
		split->levels |= 1 << level;
	*chunk = (int64) ((high & mask) | level);
	return dedup_uuid_array(split->ids + begin, split->done - begin);
}

/*
 * roaring64_uuids_split(uuid[], bits integer, most integer) returns rows (chunk
 * bigint, ids uuid[]): the ids, in any order, by the chunks that they belong to,
 * whose ids differ in that many of their first 64 bits.  If "most" is not 0, they
 * differ in fewer where there are more than that, and the marks of levels follow.
 */
PG_FUNCTION_INFO_V1(roaring64_uuids_split);
Datum
roaring64_uuids_split(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	Split	   *split;
	int64		chunk;
	Datum		values[2];
	bool		nulls[2] = {false, false};

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
		values[1] = split_chunk(split, &chunk);
	else if (split->levels != 0)
	{
		chunk = DEDUP_MARK(pg_rightmost_one_pos32(split->levels));
		split->levels &= split->levels - 1;
		values[1] = dedup_uuid_array(NULL, 0);
	}
	else
		SRF_RETURN_DONE(funcctx);
	values[0] = Int64GetDatum(chunk);
	SRF_RETURN_NEXT(funcctx, HeapTupleGetDatum(heap_form_tuple(funcctx->tuple_desc,
															   values, nulls)));
}
