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
#include "utils/array.h"
#include "utils/uuid.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

#define UUID_ARRAY_SIZE(n) \
	(ARR_OVERHEAD_NONULLS(1) + (Size) UUID_LEN * (n))

/* The ids lo to before hi of a split, all of one chunk. */
typedef struct Part
{
	int			lo;
	int			hi;
	int			level;
} Part;

typedef struct Split
{
	DedupId    *ids;
	int			most;			/* of a chunk, unless it is of the last level */
	Part	   *parts;
	int			nparts;
	int			maxparts;
} Split;

DedupId
dedup_uuid(const unsigned char *bytes)
{
	DedupId		id;

	memcpy(&id, bytes, UUID_LEN);
	id.high = pg_ntoh64(id.high);
	id.low = pg_ntoh64(id.low);
	return id;
}

static void
write_uuid(char *bytes, const DedupId *id)
{
	uint64		words[2] = {pg_hton64(id->high), pg_hton64(id->low)};

	memcpy(bytes, words, UUID_LEN);
}

Datum
dedup_uuid_datum(const DedupId *id)
{
	char	   *bytes = palloc(UUID_LEN);

	write_uuid(bytes, id);
	return PointerGetDatum(bytes);
}

/* Returns ids as a uuid[]. */
Datum
dedup_uuid_array(const DedupId *ids, int n)
{
	ArrayType  *array;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(UUIDOID));
	if (UUID_ARRAY_SIZE(n) > MaxAllocSize)
		roaring64_too_large("array of UUIDs", "Use several keys.");
	array = palloc0(UUID_ARRAY_SIZE(n));
	SET_VARSIZE(array, UUID_ARRAY_SIZE(n));
	array->ndim = 1;
	array->elemtype = UUIDOID;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	for (int i = 0; i < n; i++)
		write_uuid(ARR_DATA_PTR(array) + (Size) UUID_LEN * i, &ids[i]);
	return PointerGetDatum(array);
}

/* Returns the ids of a uuid[], palloc'd, in its order. */
DedupId *
dedup_uuids(Datum members, int *n)
{
	ArrayType  *array = DatumGetArrayTypeP(members);
	const char *data = ARR_DATA_PTR(array);
	DedupId    *ids;

	if (ARR_ELEMTYPE(array) != UUIDOID || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("array must not contain nulls"),
				 errhint("Remove them with array_remove(array, NULL).")));
	*n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	ids = MemoryContextAllocHuge(CurrentMemoryContext,
								 sizeof(DedupId) * Max((Size) *n, 1));
	for (int i = 0; i < *n; i++)
		ids[i] = dedup_uuid((const unsigned char *) data + (Size) UUID_LEN * i);
	if (PointerGetDatum(array) != members)
		pfree(array);
	return ids;
}

/* Orders ids, as qsort() wants it. */
int
dedup_compare(const void *a, const void *b)
{
	const DedupId *x = a;
	const DedupId *y = b;

	if (x->high != y->high)
		return x->high < y->high ? -1 : 1;
	return x->low < y->low ? -1 : x->low > y->low;
}

/* Whether an id is one of n that ascend. */
bool
dedup_uuids_contain(const DedupId *ids, int n, DedupId id)
{
	return bsearch(&id, ids, n, sizeof(DedupId), dedup_compare) != NULL;
}

/*
 * Merges two arrays: of the ids of the first alone, of both, and of the second
 * alone those that are asked for.
 */
static Datum
merge_uuids(FunctionCallInfo fcinfo, bool first, bool both, bool second)
{
	int			na;
	int			nb;
	DedupId    *a = dedup_uuids(PG_GETARG_DATUM(0), &na);
	DedupId    *b = dedup_uuids(PG_GETARG_DATUM(1), &nb);
	DedupId    *ids = MemoryContextAllocHuge(CurrentMemoryContext,
											 sizeof(DedupId) * ((Size) na + nb + 1));
	Datum		result;
	int			n = 0;

	for (int i = 0, j = 0; i < na || j < nb;)
	{
		int			order = i == na ? 1 : j == nb ? -1 :
			dedup_compare(&a[i], &b[j]);

		if (order < 0 ? first : order > 0 ? second : both)
			ids[n++] = order <= 0 ? a[i] : b[j];
		i += order <= 0;
		j += order >= 0;
	}
	result = dedup_uuid_array(ids, n);
	pfree(a);
	pfree(b);
	pfree(ids);
	return result;
}

/* roaring64_uuids_or(uuid[], uuid[]) returns uuid[]: the ids of either. */
PG_FUNCTION_INFO_V1(roaring64_uuids_or);
Datum
roaring64_uuids_or(PG_FUNCTION_ARGS)
{
	return merge_uuids(fcinfo, true, true, true);
}

/* roaring64_uuids_and(uuid[], uuid[]) returns uuid[]: the ids of both. */
PG_FUNCTION_INFO_V1(roaring64_uuids_and);
Datum
roaring64_uuids_and(PG_FUNCTION_ARGS)
{
	return merge_uuids(fcinfo, false, true, false);
}

/*
 * roaring64_uuids_andnot(uuid[], uuid[]) returns uuid[]: the ids of the first
 * that the second does not have.
 */
PG_FUNCTION_INFO_V1(roaring64_uuids_andnot);
Datum
roaring64_uuids_andnot(PG_FUNCTION_ARGS)
{
	return merge_uuids(fcinfo, true, false, false);
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

/* Notes the parts of the ids lo to before hi, which agree down to a level. */
static void
add_parts(Split *split, int lo, int hi, int level)
{
	uint64		mask;

	check_stack_depth();
	if (level == DEDUP_LEVELS - 1 || hi - lo <= split->most)
	{
		if (split->nparts == split->maxparts)
		{
			split->maxparts *= 2;
			split->parts = repalloc_huge(split->parts,
										 sizeof(Part) * split->maxparts);
		}
		split->parts[split->nparts].lo = lo;
		split->parts[split->nparts].hi = hi;
		split->parts[split->nparts++].level = level;
		return;
	}
	mask = DEDUP_LEVEL_MASK(level + 1);
	for (int from = lo, to; from < hi; from = to)
	{
		for (to = from + 1; to < hi &&
			 (split->ids[to].high & mask) == (split->ids[from].high & mask);)
			to++;
		add_parts(split, from, to, level + 1);
	}
}

/* The first call of roaring64_uuids_split: what all rows need. */
static void
begin_split(FunctionCallInfo fcinfo, FuncCallContext *funcctx)
{
	Split	   *split = palloc0(sizeof(Split));
	int32		bits = PG_GETARG_INT32(1);
	uint64		mask;
	int			n;
	int			distinct = 0;

	if (bits > 64 || bits < 64 - 4 * (DEDUP_LEVELS - 1) || bits % 4 != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bits of UUIDs must be a multiple of 4 between %d and 64",
						64 - 4 * (DEDUP_LEVELS - 1))));
	if (get_call_result_type(fcinfo, NULL, &funcctx->tuple_desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	split->ids = dedup_uuids(PG_GETARG_DATUM(0), &n);
	qsort(split->ids, n, sizeof(DedupId), dedup_compare);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || dedup_compare(&split->ids[i], &split->ids[i - 1]) != 0)
			split->ids[distinct++] = split->ids[i];
	}
	split->most = PG_GETARG_INT32(2);
	split->maxparts = 64;
	split->parts = palloc(sizeof(Part) * split->maxparts);
	mask = DEDUP_LEVEL_MASK((64 - bits) / 4);
	for (int from = 0, to; from < distinct; from = to)
	{
		for (to = from + 1; to < distinct &&
			 (split->ids[to].high & mask) == (split->ids[from].high & mask);)
			to++;
		CHECK_FOR_INTERRUPTS();
		add_parts(split, from, to, (64 - bits) / 4);
	}
	funcctx->user_fctx = split;
	funcctx->max_calls = split->nparts;
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

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext old;

		funcctx = SRF_FIRSTCALL_INIT();
		old = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		begin_split(fcinfo, funcctx);
		MemoryContextSwitchTo(old);
	}
	funcctx = SRF_PERCALL_SETUP();
	if (funcctx->call_cntr < funcctx->max_calls)
	{
		const Split *split = funcctx->user_fctx;
		const Part *part = &split->parts[funcctx->call_cntr];
		uint64		chunk = (split->ids[part->lo].high & DEDUP_LEVEL_MASK(part->level)) | part->level;
		Datum		values[2];
		bool		nulls[2] = {false, false};

		values[0] = Int64GetDatum((int64) chunk);
		values[1] = dedup_uuid_array(split->ids + part->lo, part->hi - part->lo);
		SRF_RETURN_NEXT(funcctx, HeapTupleGetDatum(heap_form_tuple(funcctx->tuple_desc,
																   values, nulls)));
	}
	SRF_RETURN_DONE(funcctx);
}
