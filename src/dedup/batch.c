/*-------------------------------------------------------------------------
 *
 * batch.c
 *	  Claiming many ids of a key, and which of them are remembered.
 *
 * Ids are claimed in ascending order, whatever order the array has, so that
 * batches that overlap do not deadlock.  The answers are in the order of the
 * array; where it repeats an id, only the first place can win.
 *
 * src/dedup/batch.c
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

/* What to sort by, first, and what it belongs to. */
typedef struct Sorted
{
	int64		by;
	int			i;
} Sorted;

typedef struct Batch
{
	Datum		key;
	int			ngiven;
	int		   *index;			/* of each given id: its position in ids */
	int64	   *ids;			/* distinct, ascending */
	DedupAnswer *answers;		/* of each */
	Sorted	   *chunks;			/* of each, by chunk */
	int			n;
} Batch;

/* Also compares what begins with an int64. */
static int
compare_int64(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* The third argument, ids of a key. */
static Batch
get_batch(FunctionCallInfo fcinfo, Datum key)
{
	Batch		batch = {.key = key};
	Sorted	   *given;

	batch.ids = roaring64_array_values(PG_GETARG_ARRAYTYPE_P(2),
									   &batch.ngiven);
	if (batch.ngiven > DEDUP_MAX_BATCH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("batch of %d ids is too large", batch.ngiven),
				 errdetail("A batch has at most %d ids.", DEDUP_MAX_BATCH),
				 errhint("Call the function several times.")));

	given = palloc(sizeof(Sorted) * batch.ngiven);
	for (int i = 0; i < batch.ngiven; i++)
	{
		given[i].by = batch.ids[i];
		given[i].i = i;
	}
	qsort(given, batch.ngiven, sizeof(Sorted), compare_int64);
	batch.index = palloc(sizeof(int) * batch.ngiven);
	for (int i = 0; i < batch.ngiven; i++)
	{
		if (i == 0 || given[i].by != given[i - 1].by)
			batch.ids[batch.n++] = given[i].by;
		batch.index[given[i].i] = batch.n - 1;
	}
	pfree(given);
	batch.answers = palloc0(sizeof(DedupAnswer) * batch.n);
	return batch;
}

/*
 * The answers as a boolean[]: whether an id has the wanted answer, NULL if it
 * is too old.  Once it has been said to be new, it is a duplicate.
 */
static Datum
answers_array(Batch *batch, DedupAnswer wanted)
{
	Datum	   *values = palloc(sizeof(Datum) * batch->ngiven);
	bool	   *nulls = palloc(batch->ngiven);
	int			dims[1] = {batch->ngiven};
	int			lbs[1] = {1};

	for (int i = 0; i < batch->ngiven; i++)
	{
		DedupAnswer *answer = &batch->answers[batch->index[i]];

		nulls[i] = *answer == DEDUP_TOO_OLD;
		values[i] = BoolGetDatum(*answer == wanted);
		if (*answer == wanted)
			*answer = DEDUP_DUPLICATE;
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, dims, lbs,
											  BOOLOID, 1, true, TYPALIGN_CHAR));
}

/* Sorts the ids by their chunks, and returns those, distinct. */
static Datum
sort_by_chunk(const DedupSet *set, Batch *batch)
{
	int64	   *chunks = palloc(sizeof(int64) * batch->n);
	int			n = 0;

	batch->chunks = palloc(sizeof(Sorted) * batch->n);
	for (int i = 0; i < batch->n; i++)
	{
		batch->chunks[i].by = dedup_chunk(set, dedup_place(set, batch->ids[i]));
		batch->chunks[i].i = i;
	}
	qsort(batch->chunks, batch->n, sizeof(Sorted), compare_int64);
	for (int i = 0; i < batch->n; i++)
	{
		if (i == 0 || batch->chunks[i].by != chunks[n - 1])
			chunks[n++] = batch->chunks[i].by;
	}
	return roaring64_bigint_array(chunks, n);
}

static Datum
row_column(SPITupleTable *rows, uint64 i, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(rows->vals[i], rows->tupdesc, column,
									  &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("tables of a dedup set must not contain nulls")));
	return value;
}

/*
 * Notes what of the batch is in rows (chunk, members) as duplicates.  Both are
 * gone through by chunk, and each set is opened once.
 */
static void
look_into(DedupSet *set, Batch *batch, SPITupleTable *rows)
{
	const Sorted *chunks = batch->chunks;
	int			first = 0;

	for (uint64 r = 0; r < rows->numvals; r++)
	{
		int64		chunk = DatumGetInt64(row_column(rows, r, 1));
		Datum		datum = row_column(rows, r, 2);
		struct varlena *value;
		r64_set		members;

		CHECK_FOR_INTERRUPTS();
		while (first < batch->n && chunks[first].by < chunk)
			first++;
		value = PG_DETOAST_DATUM_PACKED(datum);
		members = roaring64_view(value);
		r64_index_set(&members);
		for (int i = first; i < batch->n && chunks[i].by == chunk; i++)
		{
			if (r64_contains(&members,
							 dedup_place(set, batch->ids[chunks[i].i])))
				batch->answers[chunks[i].i] = DEDUP_DUPLICATE;
		}
		r64_close(&members);
		if (PointerGetDatum(value) != datum)
			pfree(value);
	}
}

/* Notes ids not above the highest forgotten one; whether there are any. */
static bool
look_for_old(DedupSet *set, Batch *batch, DedupView view)
{
	int64		highest;
	bool		found = false;

	if (!dedup_forgotten(set, batch->key, view, &highest))
		return false;
	for (int i = 0; i < batch->n && batch->ids[i] <= highest; i++)
	{
		if (batch->answers[i] != DEDUP_NEW)
			continue;
		batch->answers[i] = DEDUP_TOO_OLD;
		found = true;
	}
	return found;
}

/* Gives an answer to the ids in rows (id). */
static void
answer_rows(Batch *batch, SPITupleTable *rows, DedupAnswer answer)
{
	for (uint64 i = 0; i < rows->numvals; i++)
	{
		int64		id = DatumGetInt64(row_column(rows, i, 1));
		int64	   *found = bsearch(&id, batch->ids, batch->n, sizeof(int64),
									compare_int64);

		if (found == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
					 errmsg("a trigger has changed the id of a claim")));
		batch->answers[found - batch->ids] = answer;
	}
}

/* Notes what is claimed and has not been folded. */
static void
look_for_claims(DedupSet *set, Batch *batch, DedupView view)
{
	Datum		values[2] = {
		batch->key, roaring64_bigint_array(batch->ids, batch->n)
	};

	dedup_run(set, DEDUP_LOOK_CLAIMS, values, view);
	answer_rows(batch, SPI_tuptable, DEDUP_DUPLICATE);
}

/*
 * Inserts the claims, and returns false if there are none to insert.  Only if
 * they are not all that were to be inserted does it matter which they are.
 */
static bool
insert_claims(DedupSet *set, Batch *batch)
{
	int64	   *ids = palloc(sizeof(int64) * batch->n);
	int			n = 0;
	Datum		values[3];

	for (int i = 0; i < batch->n; i++)
	{
		if (batch->answers[i] == DEDUP_NEW)
			ids[n++] = batch->ids[i];
	}
	if (n == 0)
		return false;
	values[0] = batch->key;
	values[1] = roaring64_bigint_array(ids, n);
	values[2] = TimestampTzGetDatum(GetCurrentTimestamp());
	if (dedup_run(set, DEDUP_CLAIM_MANY, values, DEDUP_ITS_OWN) < n)
	{
		for (int i = 0; i < batch->n; i++)
		{
			if (batch->answers[i] == DEDUP_NEW)
				batch->answers[i] = DEDUP_DUPLICATE;
		}
		answer_rows(batch, SPI_tuptable, DEDUP_NEW);
	}
	SPI_freetuptable(SPI_tuptable);
	return true;
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
claim_many(DedupSet *set, Batch *batch)
{
	Datum		values[2];
	DedupMoment start;
	DedupAnswer *inserted;

	if (set->owned)
	{
		dedup_claim_owned(set, batch->key, batch->ids, batch->n,
						  batch->answers);
		return;
	}
	values[0] = batch->key;
	values[1] = sort_by_chunk(set, batch);
	start = dedup_moment();
	dedup_run(set, DEDUP_LOOK_MANY, values, DEDUP_ITS_OWN);
	look_into(set, batch, SPI_tuptable);
	if (look_for_old(set, batch, DEDUP_ITS_OWN))
		look_for_claims(set, batch, DEDUP_ITS_OWN);
	if (!insert_claims(set, batch) || dedup_unchanged(set, start))
		return;
	inserted = palloc(sizeof(DedupAnswer) * batch->n);
	memcpy(inserted, batch->answers, sizeof(DedupAnswer) * batch->n);
	dedup_run(set, DEDUP_LOOK_MANY, values, DEDUP_LATEST);
	look_into(set, batch, SPI_tuptable);
	look_for_old(set, batch, DEDUP_LATEST);
	undo(set, batch, inserted);
}

/* Which of the batch are remembered. */
static void
seen_many(DedupSet *set, Batch *batch)
{
	Datum		values[2] = {batch->key, sort_by_chunk(set, batch)};

	look_for_claims(set, batch, DEDUP_CALLERS);
	dedup_run(set, DEDUP_LOOK_MANY, values, DEDUP_CALLERS);
	look_into(set, batch, SPI_tuptable);
	look_for_old(set, batch, DEDUP_CALLERS);
}

/* What a function of a set, a key and ids does; writer is that of dedup_open(). */
static Datum
answer_many(FunctionCallInfo fcinfo, const char *writer,
			void (*answer) (DedupSet *set, Batch *batch), DedupAnswer wanted)
{
	MemoryContext context = CurrentMemoryContext;
	Datum		key;
	DedupSet   *set = dedup_open(fcinfo, writer, "array of ids", &key);
	Batch		batch = get_batch(fcinfo, key);
	Datum		result;

	if (batch.n > 0)
		answer(set, &batch);
	MemoryContextSwitchTo(context);
	result = answers_array(&batch, wanted);
	SPI_finish();
	return result;
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
	return answer_many(fcinfo, "roaring64_dedup_claim_many()", claim_many,
					   DEDUP_NEW);
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
	return answer_many(fcinfo, NULL, seen_many, DEDUP_DUPLICATE);
}
