/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Claiming ids: one, a batch, and a batch by who owns the key.
 *
 * A claim looks first, so that a duplicate writes nothing.  Then it inserts
 * its row, where it meets all who have claimed the id and are not folded yet,
 * waiting for those that have not ended.  Then it looks into the chunks
 * again, for those that were folded between the two; if it finds the id
 * there, it takes its row back.
 *
 * The rows of a batch are inserted in the order of the ids, so that two
 * batches meet at the lowest id that they share and one of them waits there
 * without holding what the other wants.
 *
 * src/dedup/claim.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"

/* An id of a batch and where it comes first. */
typedef struct BatchId
{
	int64		id;
	int			first;
} BatchId;

/* A batch: the ids as given, and each once. */
typedef struct Batch
{
	int64	   *given;
	int			ngiven;
	int64	   *ids;			/* sorted, each once */
	int		   *first;			/* where it comes first in given */
	int			n;
	DedupAnswer *answers;		/* of ids */
} Batch;

/*
 * n moments, one microsecond apart, in which this session has claimed
 * nothing yet: the order of claims is the order of these.
 */
static TimestampTz
moments(int n)
{
	static TimestampTz next = 0;
	TimestampTz first = Max(GetCurrentTimestamp(), next);

	next = first + n;
	return first;
}

/* Deletes the claims of some ids; returns how many there were. */
int64
dedup_undo_claims(DedupSet *set, Datum key, const int64 *ids, int n)
{
	int64		count = 0;

	for (int i = 0; i < n; i++)
	{
		Datum		values[2] = {key, Int64GetDatum(ids[i])};

		CHECK_FOR_INTERRUPTS();
		count += state_run(&set->owner, DEDUP_UNDO, SPI_OK_DELETE, values,
						   NULL);
	}
	return count;
}

/* See dedup.h. */
DedupAnswer
dedup_claim(DedupSet *set, Datum key, int64 id)
{
	Datum		values[3] = {key, Int64GetDatum(id)};
	DedupAnswer answer = dedup_look(set, key, id);

	if (answer != DEDUP_NEW)
		return answer;

	dedup_lock(set, key, DEDUP_LOCK_CLAIM);
	values[2] = TimestampTzGetDatum(moments(1));
	if (state_run(&set->owner, DEDUP_CLAIM, SPI_OK_INSERT, values, NULL) == 0)
		return DEDUP_DUPLICATE;

	answer = dedup_look_again(set, key, id);
	if (answer != DEDUP_NEW)
		dedup_undo_claims(set, key, &id, 1);
	else
		dedup_fold_now_and_then(set, 1);
	return answer;
}

/* Whether the id is a duplicate, if that can be told without SPI. */
static bool
is_known_duplicate(FunctionCallInfo fcinfo)
{
	DedupSet   *set;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return false;
	set = dedup_known(PG_GETARG_OID(0));
	return set != NULL &&
		dedup_is_duplicate(set, dedup_key(fcinfo), PG_GETARG_INT64(2));
}

/*
 * roaring64_dedup_claim(regclass, key text, id bigint) returns boolean: true
 * if the id is new, and is remembered from now on if the transaction commits;
 * false if it is a duplicate; NULL if it is older than what the set
 * remembers.  Waits for another transaction that has claimed the same id.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_claim);
Datum
roaring64_dedup_claim(PG_FUNCTION_ARGS)
{
	DedupAnswer answer;

	dedup_not_null(fcinfo, 2, "id");
	dedup_writable("roaring64_dedup_claim()");
	if (is_known_duplicate(fcinfo))
		PG_RETURN_BOOL(false);
	dedup_connect();
	answer = dedup_claim(dedup_open(fcinfo), dedup_key(fcinfo),
						 PG_GETARG_INT64(2));
	SPI_finish();
	if (answer == DEDUP_TOO_OLD)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(answer == DEDUP_NEW);
}

static int
compare_batch_ids(const void *a, const void *b)
{
	const BatchId *x = a;
	const BatchId *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->first - y->first;
}

/* Sorts a batch, and takes every id once. */
static void
sort_batch(Batch *batch)
{
	int			n = batch->ngiven;
	BatchId    *sorted = MemoryContextAllocHuge(CurrentMemoryContext,
												sizeof(BatchId) * Max(n, 1));

	for (int i = 0; i < n; i++)
		sorted[i] = (BatchId) {batch->given[i], i};
	qsort(sorted, n, sizeof(BatchId), compare_batch_ids);

	batch->ids = palloc(sizeof(int64) * n);
	batch->first = palloc(sizeof(int) * n);
	batch->answers = palloc(sizeof(DedupAnswer) * n);
	batch->n = 0;
	for (int i = 0; i < n; i++)
	{
		if (i > 0 && sorted[i].id == sorted[i - 1].id)
			continue;
		batch->ids[batch->n] = sorted[i].id;
		batch->first[batch->n++] = sorted[i].first;
	}
	pfree(sorted);
}

/* Keeps of the batch what is new. */
static void
keep_new(Batch *batch)
{
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		if (batch->answers[i] != DEDUP_NEW)
			continue;
		batch->ids[n] = batch->ids[i];
		batch->first[n++] = batch->first[i];
	}
	batch->n = n;
}

/* What is left of the batch, in the order in which it was given. */
static int64 *
in_order(const Batch *batch)
{
	bool	   *is_new = palloc0(batch->ngiven);
	int64	   *ids = palloc(sizeof(int64) * Max(batch->n, 1));
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
		is_new[batch->first[i]] = true;
	for (int i = 0; i < batch->ngiven; i++)
	{
		if (is_new[i])
			ids[n++] = batch->given[i];
	}
	pfree(is_new);
	return ids;
}

/* The moments of the batch's claims: a timestamptz[]. */
static Datum
batch_moments(const Batch *batch)
{
	TimestampTz start = moments(batch->ngiven);
	ArrayType  *array = roaring64_make_array(batch->n);
	int64	   *values = ROARING64_ARRAY_DATA(array);

	for (int i = 0; i < batch->n; i++)
		values[i] = start + batch->first[i];
	/* laid out as a bigint[] is */
	array->elemtype = TIMESTAMPTZOID;
	return roaring64_array_datum(array, batch->n);
}

/* Inserts the claims of a batch that is not empty; keeps what was inserted. */
static void
insert_claims(DedupSet *set, Datum key, Batch *batch)
{
	Datum		values[3] = {
		key, roaring64_bigint_array(batch->ids, batch->n), batch_moments(batch)
	};
	uint64		inserted;

	inserted = state_run(&set->owner, DEDUP_CLAIM_BATCH,
						 SPI_OK_INSERT_RETURNING, values, NULL);
	/* what comes back is in the order of the ids, as they went in */
	for (int i = 0, row = 0; i < batch->n; i++)
	{
		bool		isnull;

		batch->answers[i] = DEDUP_DUPLICATE;
		if (row < inserted &&
			batch->ids[i] == DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row],
														 SPI_tuptable->tupdesc,
														 1, &isnull)))
		{
			batch->answers[i] = DEDUP_NEW;
			row++;
		}
	}
	SPI_freetuptable(SPI_tuptable);
	keep_new(batch);
}

/* Takes back the claims of ids that were found in the chunks after all. */
static void
undo_batch(DedupSet *set, Datum key, const Batch *batch)
{
	for (int i = 0; i < batch->n; i++)
	{
		if (batch->answers[i] != DEDUP_NEW)
			dedup_undo_claims(set, key, &batch->ids[i], 1);
	}
}

/* Claims a batch as dedup_claim does one id. */
static void
claim_batch(DedupSet *set, Datum key, Batch *batch)
{
	dedup_look_batch(set, key, batch->ids, batch->n, true, batch->answers);
	keep_new(batch);
	if (batch->n == 0)
		return;

	dedup_lock(set, key, DEDUP_LOCK_CLAIM);
	insert_claims(set, key, batch);
	dedup_look_batch(set, key, batch->ids, batch->n, false, batch->answers);
	undo_batch(set, key, batch);
	keep_new(batch);
	dedup_fold_now_and_then(set, batch->n);
}

/*
 * Claims a batch straight into the chunks, alone with the key.  The key's
 * claims are folded first, so that all is remembered in the order in which it
 * was claimed.  A transaction that reads by an older snapshot does not see the
 * latest of them, so it has to look there too.
 */
static void
claim_bulk(DedupSet *set, Datum key, Batch *batch)
{
	dedup_lock(set, key, DEDUP_LOCK_ALONE);
	dedup_move_key(set, key);
	dedup_look_batch(set, key, batch->ids, batch->n, true, batch->answers);
	keep_new(batch);
	if (batch->n > 0)
		dedup_append(set, key, in_order(batch), batch->n);
}

/* Both functions below. */
static Datum
claim_array(FunctionCallInfo fcinfo, const char *name,
			void (*claim) (DedupSet *, Datum, Batch *))
{
	MemoryContext context = CurrentMemoryContext;
	Batch		batch;
	Datum		result;

	dedup_writable(name);
	batch.given = dedup_batch(fcinfo, &batch.ngiven);
	dedup_connect();
	sort_batch(&batch);
	claim(dedup_open(fcinfo), dedup_key(fcinfo), &batch);
	MemoryContextSwitchTo(context);
	result = roaring64_bigint_array(in_order(&batch), batch.n);
	SPI_finish();
	return result;
}

/*
 * roaring64_dedup_claim(regclass, key text, ids bigint[]) returns bigint[]:
 * claims the ids; gives those that are new, in the order of the array, each
 * once.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_claim_batch);
Datum
roaring64_dedup_claim_batch(PG_FUNCTION_ARGS)
{
	return claim_array(fcinfo, "roaring64_dedup_claim()", claim_batch);
}

/*
 * roaring64_dedup_claim_bulk(regclass, key text, ids bigint[]) returns
 * bigint[]: the same, while nobody else claims ids of the key.  Waits for
 * the transactions that have claimed some, and makes others wait.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_claim_bulk);
Datum
roaring64_dedup_claim_bulk(PG_FUNCTION_ARGS)
{
	return claim_array(fcinfo, "roaring64_dedup_claim_bulk()", claim_bulk);
}
