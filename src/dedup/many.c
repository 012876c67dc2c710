/*-------------------------------------------------------------------------
 *
 * many.c
 *	  Claiming many ids of a key, and which of them are remembered.
 *
 * Ids are claimed in ascending order, whatever order the array has, so that
 * batches that overlap do not deadlock.  The answers are in the order of the
 * array; of ids that are in it several times the first is the one that counts.
 *
 * src/dedup/many.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

/* An id and where it stands in the array. */
typedef struct Given
{
	int64		id;
	int			position;
} Given;

typedef struct Batch
{
	Datum		key;
	Given	   *given;			/* by id, then by position */
	int			ngiven;
	int64	   *ids;			/* distinct, ascending */
	int		   *positions;		/* of the first of each */
	DedupAnswer *answers;		/* of each */
	int			n;
} Batch;

/* Rows (chunk, members) of a look, by chunk. */
typedef struct Rows
{
	SPITupleTable *table;
	uint64		n;
} Rows;

static int
compare_given(const void *a, const void *b)
{
	const Given *x = a;
	const Given *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->position < y->position ? -1 : 1;
}

static int
compare_ids(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* The arguments key and ids. */
static Batch
get_batch(FunctionCallInfo fcinfo)
{
	Batch		batch = {0};
	int64	   *values;

	dedup_not_null(fcinfo, 0, "dedup set");
	dedup_not_null(fcinfo, 1, "key");
	dedup_not_null(fcinfo, 2, "array of ids");
	batch.key = PointerGetDatum(PG_GETARG_TEXT_PP(1));
	dedup_check_key(batch.key);
	values = roaring64_array_values(PG_GETARG_ARRAYTYPE_P(2), &batch.ngiven);
	if (batch.ngiven > DEDUP_MAX_BATCH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("batch of %d ids is too large", batch.ngiven),
				 errdetail("A batch has at most %d ids.", DEDUP_MAX_BATCH),
				 errhint("Call the function several times.")));

	batch.given = palloc(sizeof(Given) * Max(batch.ngiven, 1));
	for (int i = 0; i < batch.ngiven; i++)
	{
		batch.given[i].id = values[i];
		batch.given[i].position = i;
	}
	qsort(batch.given, batch.ngiven, sizeof(Given), compare_given);

	batch.ids = values;			/* not needed any more, and long enough */
	batch.positions = palloc(sizeof(int) * Max(batch.ngiven, 1));
	for (int i = 0; i < batch.ngiven; i++)
	{
		if (i > 0 && batch.given[i].id == batch.given[i - 1].id)
			continue;
		batch.ids[batch.n] = batch.given[i].id;
		batch.positions[batch.n++] = batch.given[i].position;
	}
	batch.answers = palloc0(sizeof(DedupAnswer) * Max(batch.n, 1));
	return batch;
}

/*
 * The answers as a boolean[]: whether an id has the wanted answer, NULL if it
 * is too old.  What is no first is a duplicate.
 */
static Datum
answers_array(const Batch *batch, DedupAnswer wanted, bool repeat)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(batch->ngiven, 1));
	bool	   *nulls = palloc(Max(batch->ngiven, 1));
	int			dims[1] = {batch->ngiven};
	int			lbs[1] = {1};
	int			j = -1;

	if (batch->ngiven == 0)
		return PointerGetDatum(construct_empty_array(BOOLOID));
	for (int i = 0; i < batch->ngiven; i++)
	{
		const Given *given = &batch->given[i];
		bool		first = i == 0 || given->id != given[-1].id;
		DedupAnswer answer;

		if (first)
			j++;
		answer = batch->answers[j];
		if (!first && !repeat && answer == DEDUP_NEW)
			answer = DEDUP_DUPLICATE;
		nulls[given->position] = answer == DEDUP_TOO_OLD;
		values[given->position] = BoolGetDatum(answer == wanted);
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, dims, lbs,
											  BOOLOID, 1, true, TYPALIGN_CHAR));
}

/* The chunks of all ids, distinct. */
static Datum
chunk_numbers(const DedupSet *set, const Batch *batch)
{
	int64	   *chunks = palloc(sizeof(int64) * batch->n);
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
		chunks[i] = dedup_chunk(set, dedup_place(set, batch->ids[i]));
	qsort(chunks, batch->n, sizeof(int64), compare_ids);
	for (int i = 0; i < batch->n; i++)
	{
		if (i == 0 || chunks[i] != chunks[n - 1])
			chunks[n++] = chunks[i];
	}
	return roaring64_bigint_array(chunks, n);
}

static Datum
row_column(Rows rows, uint64 i, int column)
{
	bool		isnull;

	return SPI_getbinval(rows.table->vals[i], rows.table->tupdesc, column,
						 &isnull);
}

static bool
are_same(Rows a, Rows b)
{
	if (a.n != b.n)
		return false;
	for (uint64 i = 0; i < a.n; i++)
	{
		if (row_column(a, i, 1) != row_column(b, i, 1) ||
			!dedup_same_datum(row_column(a, i, 2), row_column(b, i, 2)))
			return false;
	}
	return true;
}

/* An id of a batch by its chunk. */
typedef struct Placed
{
	int64		chunk;
	int64		place;
	int			i;				/* in the batch */
} Placed;

static int
compare_placed(const void *a, const void *b)
{
	return compare_ids(&((const Placed *) a)->chunk,
					   &((const Placed *) b)->chunk);
}

/*
 * Notes what of the batch is in the rows as duplicates.  Both are gone through
 * by chunk, and each set is opened once.
 */
static void
look_into(DedupSet *set, Batch *batch, Rows rows)
{
	Placed	   *placed;
	int			first = 0;

	if (rows.n == 0)
		return;
	placed = palloc(sizeof(Placed) * batch->n);
	for (int i = 0; i < batch->n; i++)
	{
		placed[i].place = dedup_place(set, batch->ids[i]);
		placed[i].chunk = dedup_chunk(set, placed[i].place);
		placed[i].i = i;
	}
	qsort(placed, batch->n, sizeof(Placed), compare_placed);
	for (uint64 r = 0; r < rows.n; r++)
	{
		int64		chunk = DatumGetInt64(row_column(rows, r, 1));
		struct varlena *value;
		r64_set		members;

		CHECK_FOR_INTERRUPTS();
		while (first < batch->n && placed[first].chunk < chunk)
			first++;
		value = PG_DETOAST_DATUM_PACKED(row_column(rows, r, 2));
		members = roaring64_view(value);
		r64_index_set(&members);
		for (int i = first; i < batch->n && placed[i].chunk == chunk; i++)
		{
			if (r64_contains(&members, placed[i].place))
				batch->answers[placed[i].i] = DEDUP_DUPLICATE;
		}
		r64_close(&members);
		if (PointerGetDatum(value) != row_column(rows, r, 2))
			pfree(value);
	}
	pfree(placed);
}

/* Notes what is not above the highest that was forgotten. */
static void
look_for_old(DedupSet *set, Batch *batch, DedupRun run)
{
	int64		highest;

	if (!dedup_forgotten(set, batch->key, run, &highest))
		return;
	for (int i = 0; i < batch->n && batch->ids[i] <= highest; i++)
	{
		if (batch->answers[i] == DEDUP_NEW)
			batch->answers[i] = DEDUP_TOO_OLD;
	}
}

/*
 * Inserts the claims.  They are told apart, by a microsecond each, in the
 * order of the array.
 */
static void
insert_claims(DedupSet *set, Batch *batch)
{
	TimestampTz now = GetCurrentTimestamp();
	int64	   *ids = palloc(sizeof(int64) * batch->n);
	int64	   *times = palloc(sizeof(int64) * batch->n);
	int			n = 0;
	uint64		inserted;
	ArrayType  *array;
	Datum		values[3];
	bool		isnull;

	for (int i = 0; i < batch->n; i++)
	{
		if (batch->answers[i] != DEDUP_NEW)
			continue;
		ids[n] = batch->ids[i];
		times[n++] = now + batch->positions[i];
	}
	if (n == 0)
		return;
	values[0] = batch->key;
	values[1] = roaring64_bigint_array(ids, n);
	array = DatumGetArrayTypeP(roaring64_bigint_array(times, n));
	array->elemtype = TIMESTAMPTZOID;	/* which is an int64 too */
	values[2] = PointerGetDatum(array);
	inserted = dedup_run(set, DEDUP_CLAIM_MANY, values);
	if (inserted < n)
	{
		/* the rows come in the order in which they were inserted */
		uint64		row = 0;

		for (int i = 0; i < batch->n; i++)
		{
			if (batch->answers[i] != DEDUP_NEW)
				continue;
			if (row < inserted &&
				DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row],
											SPI_tuptable->tupdesc, 1,
											&isnull)) == batch->ids[i])
				row++;
			else
				batch->answers[i] = DEDUP_DUPLICATE;
		}
		if (row != inserted)
			elog(ERROR, "claims were not inserted in their order");
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Takes back the claims of ids that were new and are not any more. */
static void
undo(DedupSet *set, const Batch *batch, const DedupAnswer *before)
{
	int64	   *ids = palloc(sizeof(int64) * batch->n);
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		if (before[i] == DEDUP_NEW && batch->answers[i] != DEDUP_NEW)
			ids[n++] = batch->ids[i];
	}
	if (n > 0)
		dedup_undo(set, batch->key, ids, n);
}

static void
claim_many(DedupSet *set, Oid funcid, Batch *batch)
{
	Datum		values[2] = {batch->key, chunk_numbers(set, batch)};
	Rows		before;
	Rows		after;
	DedupAnswer *inserted;

	before.n = dedup_run(set, DEDUP_LOOK_MANY, values);
	before.table = SPI_tuptable;
	look_into(set, batch, before);
	look_for_old(set, batch, dedup_run);
	if (set->owned)
	{
		/* in the order of the array */
		Given	   *order = palloc(sizeof(Given) * batch->n);
		int64	   *ids = palloc(sizeof(int64) * batch->n);
		DedupAnswer *answers = palloc(sizeof(DedupAnswer) * batch->n);
		int			n = 0;

		for (int i = 0; i < batch->n; i++)
		{
			if (batch->answers[i] == DEDUP_NEW)
			{
				order[n].id = batch->positions[i];
				order[n++].position = i;
			}
		}
		qsort(order, n, sizeof(Given), compare_given);
		for (int i = 0; i < n; i++)
			ids[i] = batch->ids[order[i].position];
		dedup_claim_owned(set, funcid, batch->key, ids, n, answers);
		for (int i = 0; i < n; i++)
			batch->answers[order[i].position] = answers[i];
		return;
	}
	insert_claims(set, batch);
	inserted = palloc(sizeof(DedupAnswer) * batch->n);
	memcpy(inserted, batch->answers, sizeof(DedupAnswer) * batch->n);
	after.n = dedup_run_latest(set, DEDUP_LOOK_MANY, values);
	after.table = SPI_tuptable;
	if (!are_same(before, after))
		look_into(set, batch, after);
	look_for_old(set, batch, dedup_run_latest);
	undo(set, batch, inserted);
}

/*
 * roaring64_dedup_claim_many(regclass, key text, ids bigint[]) returns
 * boolean[]: claims up to a million ids; for each whether it is new, NULL if it
 * is too old to tell.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_claim_many);
Datum
roaring64_dedup_claim_many(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Batch		batch;
	DedupSet   *set;
	Datum		result;

	dedup_writable("roaring64_dedup_claim_many()");
	batch = get_batch(fcinfo);
	SPI_connect();
	set = dedup_open(PG_GETARG_OID(0));
	dedup_check_isolation(set);
	if (batch.n > 0)
		claim_many(set, fcinfo->flinfo->fn_oid, &batch);
	MemoryContextSwitchTo(context);
	result = answers_array(&batch, DEDUP_NEW, false);
	SPI_finish();
	return result;
}

/* Notes the claims of ids, in the snapshot of the calling statement. */
static void
see_claims(DedupSet *set, Batch *batch)
{
	Datum		values[2] = {batch->key, roaring64_bigint_array(batch->ids, batch->n)};
	uint64		n = dedup_read(set, DEDUP_LOOK_CLAIMS, values);

	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		int64		id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i],
													 SPI_tuptable->tupdesc, 1,
													 &isnull));
		int64	   *found = bsearch(&id, batch->ids, batch->n, sizeof(int64),
									compare_ids);

		batch->answers[found - batch->ids] = DEDUP_DUPLICATE;
	}
}

/*
 * roaring64_dedup_seen_many(regclass, key text, ids bigint[]) returns
 * boolean[]: for each of up to a million ids whether the calling statement sees
 * it remembered; NULL if it is too old to tell.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_seen_many);
Datum
roaring64_dedup_seen_many(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Batch		batch = get_batch(fcinfo);
	DedupSet   *set;
	Datum		result;

	SPI_connect();
	set = dedup_open(PG_GETARG_OID(0));
	if (batch.n > 0)
	{
		Datum		values[2] = {batch.key, chunk_numbers(set, &batch)};
		Rows		rows;

		see_claims(set, &batch);
		rows.n = dedup_read(set, DEDUP_LOOK_MANY, values);
		rows.table = SPI_tuptable;
		look_into(set, &batch, rows);
		look_for_old(set, &batch, dedup_read);
	}
	MemoryContextSwitchTo(context);
	result = answers_array(&batch, DEDUP_DUPLICATE, true);
	SPI_finish();
	return result;
}
