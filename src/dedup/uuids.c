/*-------------------------------------------------------------------------
 *
 * uuids.c
 *	  Chunks of UUIDs: a uuid[] that ascends and has no id twice.
 *
 * They are to sets of UUIDs what roaring64 values are to sets of bigints, and their
 * functions are named alike, so that sql/parts/dedup.sql writes its statements once.
 * The functions take arrays that they or roaring64_uuids_split made, and do not sort
 * others.
 *
 * src/dedup/uuids.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

#define CHUNK_IDS	247			/* of a new chunk; two fill a page */

/* Ids that roaring64_uuids_split returns in parts. */
typedef struct Split
{
	DedupId    *ids;			/* distinct, ascending */
	int			n;
	const int64 *chunks;		/* numbers, ascending */
	int			nchunks;
	int			next;			/* the first chunk above the ids returned */
	int			cut;			/* the first id that may start a new chunk */
	int			size;			/* of new chunks, or 0 */
	bool		cuts;			/* the last chunk was begun */
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

/* Returns the elements of an array, which must be of a type and not be NULL. */
const void *
dedup_elements(ArrayType *array, Oid type, int *n)
{
	if (ARR_ELEMTYPE(array) != type || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("array must not contain nulls"),
				 errhint("Remove them with array_remove(array, NULL).")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	return ARR_DATA_PTR(array);
}

/* The first 64 bits of an id. */
static uint64
high_bits(const DedupId *id)
{
	uint64		high;

	memcpy(&high, id, sizeof(high));
	return pg_ntoh64(high);
}

/* The bigint that an id is; for a UUID, the number by which its chunk is found. */
int64
dedup_number(const DedupId *id)
{
	return (int64) (high_bits(id) ^ DEDUP_SIGN);
}

/* Orders ids, as qsort() wants it. */
int
dedup_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(DedupId));
}

/* Copies the distinct ids of n in ascending order; returns their number. */
int
dedup_sort(DedupId *ids, const DedupId *given, int n)
{
	memcpy(ids, given, sizeof(DedupId) * n);
	qsort(ids, n, sizeof(DedupId), dedup_compare);
	return (int) qunique(ids, n, sizeof(DedupId), dedup_compare);
}

/* The position of the first of n ascending ids whose first 64 bits are >= high. */
int
dedup_first_from(const DedupId *ids, int n, uint64 high)
{
	int			low = 0;

	while (low < n)
	{
		int			middle = low + (n - low) / 2;

		if (high_bits(&ids[middle]) < high)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Merges two arrays: the ids of either, or those of the first alone. */
static Datum
merge_uuids(FunctionCallInfo fcinfo, bool either)
{
	int			na;
	int			nb;
	const DedupId *a = dedup_elements(PG_GETARG_ARRAYTYPE_P(0), UUIDOID, &na);
	const DedupId *b = dedup_elements(PG_GETARG_ARRAYTYPE_P(1), UUIDOID, &nb);
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
 * roaring64_uuids_andnot(uuid[], uuid[]) returns uuid[]: the ids of the first that
 * the second lacks.
 */
PG_FUNCTION_INFO_V1(roaring64_uuids_andnot);
Datum
roaring64_uuids_andnot(PG_FUNCTION_ARGS)
{
	return merge_uuids(fcinfo, false);
}

/* The position of the first id with a number or a higher one. */
static int
from_number(const Split *split, int64 number)
{
	return dedup_first_from(split->ids, split->n, (uint64) number ^ DEDUP_SIGN);
}

/* Finds the ids that may start new chunks: those above the last chunk's last id. */
static void
find_cut(Split *split, const DedupId *last)
{
	int			n;

	if (last != NULL)
		split->cut = dedup_number(last) == PG_INT64_MAX ? split->n :
			from_number(split, dedup_number(last) + 1);
	else if (split->nchunks > 0)
		split->cut = from_number(split, split->chunks[split->nchunks - 1]);
	n = split->n - split->cut;
	if (n > CHUNK_IDS)
	{
		int			parts = (n - 1) / CHUNK_IDS + 1;

		split->size = (n + parts - 1) / parts;
	}
}

/* The first call of roaring64_uuids_split: what all rows need. */
static void
begin_split(FunctionCallInfo fcinfo, FuncCallContext *funcctx)
{
	Split	   *split = palloc0(sizeof(Split));
	const DedupId *given;
	int			n;

	if (get_call_result_type(fcinfo, NULL, &funcctx->tuple_desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!PG_ARGISNULL(0))
	{
		given = dedup_elements(PG_GETARG_ARRAYTYPE_P(0), UUIDOID, &n);
		split->ids = MemoryContextAllocHuge(CurrentMemoryContext,
											sizeof(DedupId) * ((Size) n + 1));
		split->n = dedup_sort(split->ids, given, n);
	}
	if (!PG_ARGISNULL(1))
		split->chunks = dedup_elements(PG_GETARG_ARRAYTYPE_P(1), INT8OID,
									   &split->nchunks);
	if (!PG_ARGISNULL(2))
	{
		given = dedup_elements(PG_GETARG_ARRAYTYPE_P(2), UUIDOID, &n);
		find_cut(split, n == 0 ? NULL : &given[n - 1]);
	}
	funcctx->user_fctx = split;
}

/*
 * Moves the end of a chunk out of ids of one number: before these if that leaves the
 * chunk any id, or after them.
 */
static int
whole_number(const Split *split, int begin, int end)
{
	int64		number;
	int			first;

	if (end == split->n)
		return end;
	number = dedup_number(&split->ids[end]);
	first = from_number(split, number);
	if (first > begin)
		return first;
	return number == PG_INT64_MAX ? split->n : from_number(split, number + 1);
}

/* Returns the ids of the next chunk, and its number. */
static Datum
next_chunk(Split *split, int64 *chunk)
{
	int			begin = split->done;
	int			end = split->n;
	int64		number = dedup_number(&split->ids[begin]);

	while (split->next < split->nchunks && split->chunks[split->next] <= number)
		split->next++;
	*chunk = split->cuts ? number :
		split->next == 0 ? PG_INT64_MIN : split->chunks[split->next - 1];
	if (split->next < split->nchunks)
		end = from_number(split, split->chunks[split->next]);
	else if (split->size > 0)
	{
		end = Min(end, Max(begin, split->cut) + split->size);
		end = whole_number(split, begin, end);
		split->cuts = true;
	}
	split->done = end;
	return dedup_uuid_array(split->ids + begin, end - begin);
}

/*
 * roaring64_uuids_split(uuid[], chunks bigint[], last uuid[]) returns rows (chunk
 * bigint, ids uuid[]): the ids, given in any order, by chunk.  "chunks" are the
 * numbers of the existing chunks, ascending.  If "last" is not NULL, it has the ids
 * of the last of them, and ids above its last element, or from that chunk's start on
 * if it is empty, go into new chunks if they are too many for one.
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
	if (split->done == split->n)
		SRF_RETURN_DONE(funcctx);
	values[1] = next_chunk(split, &chunk);
	values[0] = Int64GetDatum(chunk);
	SRF_RETURN_NEXT(funcctx, HeapTupleGetDatum(heap_form_tuple(funcctx->tuple_desc,
															   values, nulls)));
}
