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
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
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
		batch.given[i] = (Given) {values[i], i};
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
	batch.answers = palloc(sizeof(DedupAnswer) * Max(batch.n, 1));
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

/*
 * Runs a statement about all ids of a batch, and notes one answer for those
 * that it returns and another for the rest.  They are claimed a microsecond
 * from each other, in the order of the array.
 */
static void
run(DedupSet *set, Batch *batch, DedupStatement n, bool read_only,
	DedupAnswer returned, DedupAnswer rest)
{
	int64	   *numbers = palloc(sizeof(int64) * batch->n);
	TimestampTz now = GetCurrentTimestamp();
	Datum		values[4];
	ArrayType  *times;
	uint64		rows;

	values[0] = batch->key;
	values[1] = roaring64_bigint_array(batch->ids, batch->n);
	for (int i = 0; i < batch->n; i++)
		numbers[i] = dedup_place(set, batch->ids[i]);
	values[2] = roaring64_bigint_array(numbers, batch->n);
	for (int i = 0; i < batch->n; i++)
		numbers[i] = now + batch->positions[i];
	times = DatumGetArrayTypeP(roaring64_bigint_array(numbers, batch->n));
	times->elemtype = TIMESTAMPTZOID;	/* which is an int64 too */
	values[3] = PointerGetDatum(times);

	rows = dedup_run(set, n, values, read_only);
	for (int i = 0; i < batch->n; i++)
		batch->answers[i] = rest;
	for (uint64 row = 0; row < rows; row++)
	{
		int64		id = dedup_result(row);
		int64	   *found = bsearch(&id, batch->ids, batch->n, sizeof(int64),
									compare_ids);

		if (found == NULL)
			elog(ERROR, "a dedup set knows of an id that was not asked for");
		batch->answers[found - batch->ids] = returned;
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Notes those that are remembered as duplicates, and those that are too old. */
static void
look(DedupSet *set, Batch *batch, bool read_only)
{
	int64		highest;

	run(set, batch, DEDUP_SEEN_MANY, read_only, DEDUP_DUPLICATE, DEDUP_NEW);
	if (!dedup_forgotten(set, batch->key, read_only, &highest))
		return;
	for (int i = 0; i < batch->n && batch->ids[i] <= highest; i++)
	{
		if (batch->answers[i] == DEDUP_NEW)
			batch->answers[i] = DEDUP_TOO_OLD;
	}
}

/* Claims what a look has not found, in the order of the array. */
static void
claim_owned(DedupSet *set, Batch *batch)
{
	Given	   *order = palloc(sizeof(Given) * batch->n);
	int64	   *ids = palloc(sizeof(int64) * batch->n);
	DedupAnswer *answers = palloc(sizeof(DedupAnswer) * batch->n);
	int			n = 0;

	look(set, batch, false);
	for (int i = 0; i < batch->n; i++)
	{
		if (batch->answers[i] == DEDUP_NEW)
			order[n++] = (Given) {batch->positions[i], i};
	}
	qsort(order, n, sizeof(Given), compare_given);
	for (int i = 0; i < n; i++)
		ids[i] = batch->ids[order[i].position];
	dedup_claim_owned(set, batch->key, ids, n, answers);
	for (int i = 0; i < n; i++)
		batch->answers[order[i].position] = answers[i];
}

static void
claim(DedupSet *set, Batch *batch)
{
	DedupAnswer *answers = batch->answers;
	int64		highest;
	bool		old = false;

	run(set, batch, DEDUP_CLAIM_MANY, false, DEDUP_NEW, DEDUP_DUPLICATE);
	if (!dedup_forgotten(set, batch->key, false, &highest))
		return;
	for (int i = 0; i < batch->n && batch->ids[i] <= highest; i++)
		old |= answers[i] == DEDUP_DUPLICATE;
	if (!old)
		return;

	/* now the others are remembered too */
	batch->answers = palloc(sizeof(DedupAnswer) * batch->n);
	look(set, batch, false);
	for (int i = 0; i < batch->n; i++)
	{
		if (answers[i] == DEDUP_DUPLICATE && batch->answers[i] == DEDUP_TOO_OLD)
			answers[i] = DEDUP_TOO_OLD;
	}
	batch->answers = answers;
}

/*
 * See dedup.h.  What is written waits for others that write to the key, so only
 * the function that writes knows what is new.
 */
void
dedup_claim_owned(DedupSet *set, Datum key, const int64 *ids, int n,
				  DedupAnswer *answers)
{
	Oid			types[3] = {REGCLASSOID, TEXTOID, INT8ARRAYOID};
	Datum		values[3] = {
		ObjectIdGetDatum(set->relid), key, roaring64_bigint_array(ids, n)
	};
	const char *schema = quote_identifier(get_namespace_name(set->home));
	bool		isnull;
	r64_set		fresh;

	if (n == 0)
		return;
	if (SPI_execute_with_args(psprintf("SELECT %s.roaring64_dedup_append($1, $2, %s.roaring64_from_array($3), $3)",
									   schema, schema),
							  3, types, values, NULL, false, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not write to an owned dedup set");
	fresh = DatumGetRoaring64(SPI_getbinval(SPI_tuptable->vals[0],
											SPI_tuptable->tupdesc, 1, &isnull));
	r64_index_set(&fresh);
	for (int i = 0; i < n; i++)
		answers[i] = r64_contains(&fresh, ids[i]) ? DEDUP_NEW : DEDUP_DUPLICATE;
	r64_close(&fresh);
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
	set = dedup_open(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid);
	if (batch.n > 0)
	{
		if (set->owned)
			claim_owned(set, &batch);
		else
			claim(set, &batch);
	}
	MemoryContextSwitchTo(context);
	result = answers_array(&batch, DEDUP_NEW, false);
	SPI_finish();
	return result;
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
	set = dedup_open(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid);
	if (batch.n > 0)
		look(set, &batch, true);
	MemoryContextSwitchTo(context);
	result = answers_array(&batch, DEDUP_DUPLICATE, true);
	SPI_finish();
	return result;
}
