/*-------------------------------------------------------------------------
 *
 * look.c
 *	  Whether ids are remembered, as of now.
 *
 * "Now" is a snapshot taken by the look, also in a transaction that reads by
 * an older one (REPEATABLE READ, SERIALIZABLE): what somebody has claimed
 * since must not be claimed again.  But such a transaction must not learn of
 * it either, as all else that it reads is older.  It gets the error that it
 * would get from updating a row that has changed since.
 *
 * src/dedup/look.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "dedup/dedup.h"
#include "state/statement.h"

/* By which snapshot to look. */
typedef enum Reading
{
	LATEST,						/* taken now */
	TRANSACTIONS,				/* that of the transaction, for a statement */
	CALLERS						/* that of the calling statement */
} Reading;

/* Runs a SELECT. */
static uint64
look(DedupSet *set, int statement, Datum *values, Reading reading)
{
	switch (reading)
	{
		case LATEST:
			return state_read_latest(&set->owner, statement, values, 0);
		case TRANSACTIONS:
			return state_run(&set->owner, statement, SPI_OK_SELECT, values,
							 NULL);
		case CALLERS:
			break;
	}
	return state_read(&set->owner, statement, values, NULL);
}

/* See dedup.h. */
void
dedup_serialization_failure(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent claim"),
			 errhint("The transaction might succeed if retried.")));
}

/* Whether a row that SPI has read says that the place is taken. */
static bool
row_has(const DedupSet *set, uint64 row, int64 place)
{
	HeapTuple	tuple = SPI_tuptable->vals[row];
	TupleDesc	desc = SPI_tuptable->tupdesc;
	r64_set		s;

	/* a claim */
	if (heap_attisnull(tuple, 1, desc))
		return true;
	s = DatumGetRoaring64(state_value(tuple, desc, 1, set->type));
	return r64_contains(&s, place);
}

static bool
rows_have(const DedupSet *set, int64 place)
{
	bool		found = false;

	for (uint64 i = 0; i < SPI_processed && !found; i++)
		found = row_has(set, i, place);
	SPI_freetuptable(SPI_tuptable);
	return found;
}

/* The highest id of the key that was forgotten; false if none was. */
static bool
read_forgotten(DedupSet *set, Datum key, Reading reading, int64 *forgotten)
{
	bool		isnull;
	bool		any;

	if (!set->ascending || !dedup_is_windowed(set))
		return false;
	any = look(set, DEDUP_FORGOTTEN, &key, reading) > 0;
	if (any)
		*forgotten = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
												 SPI_tuptable->tupdesc,
												 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	return any;
}

/* The third answer, for a set whose ids ascend. */
static bool
is_too_old(DedupSet *set, Datum key, int64 id, Reading reading)
{
	int64		forgotten;

	return read_forgotten(set, key, reading, &forgotten) && id <= forgotten;
}

static bool
scan_latest(const DedupSet *set, Datum key, int64 id, int64 place,
			bool claims)
{
	bool		found;

	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
	found = dedup_scan(set, key, id, place, claims);
	PopActiveSnapshot();
	return found;
}

/* Whether an id is in the claims, if asked, or the chunks, by a snapshot. */
static bool
is_remembered(DedupSet *set, Datum key, int64 id, bool claims,
			  Reading reading)
{
	int64		place = dedup_place(set, id);
	Datum		chunk = Int64GetDatum(dedup_chunk(set, place));
	Datum		values[3] = {key, Int64GetDatum(id), chunk};

	if (reading == LATEST && dedup_may_scan(set))
		return scan_latest(set, key, id, place, claims);
	if (reading == CALLERS && dedup_may_scan(set))
		return dedup_scan(set, key, id, place, claims);
	if (!claims)
		values[1] = chunk;
	look(set, claims ? DEDUP_LOOK : DEDUP_LOOK_CHUNK, values, reading);
	return rows_have(set, place);
}

/* What an id is, by a snapshot. */
static DedupAnswer
look_for(DedupSet *set, Datum key, int64 id, Reading reading)
{
	if (is_remembered(set, key, id, true, reading))
		return DEDUP_DUPLICATE;
	/* after the chunks, so that what is forgotten meanwhile shows */
	return is_too_old(set, key, id, reading) ? DEDUP_TOO_OLD : DEDUP_NEW;
}

/* What an id is, before it is claimed. */
DedupAnswer
dedup_look(DedupSet *set, Datum key, int64 id)
{
	DedupAnswer answer = look_for(set, key, id, LATEST);

	if (answer == DEDUP_DUPLICATE && IsolationUsesXactSnapshot() &&
		look_for(set, key, id, TRANSACTIONS) != DEDUP_DUPLICATE)
		dedup_serialization_failure();
	return answer;
}

/*
 * Whether an id is found to be a duplicate without SPI, which most are.  If
 * not, dedup_look has to say what it is.
 */
bool
dedup_is_duplicate(DedupSet *set, Datum key, int64 id)
{
	return !IsolationUsesXactSnapshot() && dedup_may_scan(set) &&
		scan_latest(set, key, id, dedup_place(set, id), true);
}

/* What an id is for a statement that claims nothing. */
DedupAnswer
dedup_seen(DedupSet *set, Datum key, int64 id)
{
	return look_for(set, key, id, CALLERS);
}

/* What an id is that this transaction has just inserted into the claims. */
DedupAnswer
dedup_look_again(DedupSet *set, Datum key, int64 id)
{
	if (!is_remembered(set, key, id, false, LATEST))
		return is_too_old(set, key, id, LATEST) ? DEDUP_TOO_OLD : DEDUP_NEW;
	if (IsolationUsesXactSnapshot())
		dedup_serialization_failure();
	return DEDUP_DUPLICATE;
}

/* An id of a batch as an element of its chunk. */
typedef struct Place
{
	int64		place;
	int			index;			/* in the batch */
} Place;

static int
compare_places(const void *a, const void *b)
{
	int64		x = ((const Place *) a)->place;
	int64		y = ((const Place *) b)->place;

	return x < y ? -1 : x > y;
}

static Place *
make_places(const DedupSet *set, const int64 *ids, int n)
{
	Place	   *places = MemoryContextAllocHuge(CurrentMemoryContext,
												sizeof(Place) * Max(n, 1));

	for (int i = 0; i < n; i++)
		places[i] = (Place) {dedup_place(set, ids[i]), i};
	/* if not folded, they are sorted already */
	if (set->snowflake)
		qsort(places, n, sizeof(Place), compare_places);
	return places;
}

/* The chunks of some places, each once: a bigint[]. */
static Datum
chunks_of(const DedupSet *set, const Place *places, int n)
{
	ArrayType  *array = roaring64_make_array(n);
	int64	   *chunks = ROARING64_ARRAY_DATA(array);
	int			count = 0;

	for (int i = 0; i < n; i++)
	{
		int64		chunk = dedup_chunk(set, places[i].place);

		if (count == 0 || chunks[count - 1] != chunk)
			chunks[count++] = chunk;
	}
	return roaring64_array_datum(array, count);
}

/* The first of the places that is in the chunk or after it. */
static int
first_place(const DedupSet *set, const Place *places, int n, int64 chunk)
{
	int			lo = 0;
	int			hi = n;

	while (lo < hi)
	{
		int			middle = lo + (hi - lo) / 2;

		if (dedup_chunk(set, places[middle].place) < chunk)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* Notes which places the chunks that SPI has read have. */
static void
look_into_chunks(const DedupSet *set, const Place *places, int n, bool *found)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "roaring64 chunk",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	for (uint64 row = 0; row < SPI_processed; row++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[row];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		int64		chunk = DatumGetInt64(state_value(tuple, desc, 1,
														INT8OID));
		r64_set		s = DatumGetRoaring64(state_value(tuple, desc, 2,
														   set->type));

		r64_index_set(&s);
		for (int i = first_place(set, places, n, chunk);
			 i < n && dedup_chunk(set, places[i].place) == chunk; i++)
			found[places[i].index] |= r64_contains(&s, places[i].place);
		MemoryContextReset(context);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}

/* Notes which of the ids, sorted, are among the claims that SPI has read. */
static void
look_into_claims(const int64 *ids, int n, bool *found)
{
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		bool		isnull;
		int64		id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row],
													 SPI_tuptable->tupdesc,
													 1, &isnull));
		const int64 *at = bsearch(&id, ids, n, sizeof(int64), dedup_compare_ids);

		/* it has been asked for, but an index may be damaged */
		if (at != NULL)
			found[at - ids] = true;
	}
}

/*
 * Notes which of the ids are remembered, by a snapshot.  First claims, then
 * chunks: an id that fold moves from the ones to the others meanwhile is found
 * in one of them.
 */
static void
find_batch(DedupSet *set, Datum key, const int64 *ids, int n, bool claims,
		   Reading reading, bool *found)
{
	Place	   *places = make_places(set, ids, n);
	Datum		values[2] = {key};

	if (claims)
	{
		values[1] = roaring64_bigint_array(ids, n);
		look(set, DEDUP_LOOK_CLAIMS, values, reading);
		look_into_claims(ids, n, found);
		SPI_freetuptable(SPI_tuptable);
	}

	values[1] = chunks_of(set, places, n);
	look(set, DEDUP_LOOK_CHUNKS, values, reading);
	look_into_chunks(set, places, n, found);
	SPI_freetuptable(SPI_tuptable);
	pfree(places);
}

/* The answers for a batch; returns whether there is a duplicate. */
static bool
look_for_batch(DedupSet *set, Datum key, const int64 *ids, int n, bool claims,
			   Reading reading, DedupAnswer *answers)
{
	bool	   *found = palloc0(Max(n, 1));
	bool		any = false;
	int64		forgotten = 0;
	bool		forgets;

	find_batch(set, key, ids, n, claims, reading, found);
	forgets = read_forgotten(set, key, reading, &forgotten);
	for (int i = 0; i < n; i++)
	{
		answers[i] = found[i] ? DEDUP_DUPLICATE :
			forgets && ids[i] <= forgotten ? DEDUP_TOO_OLD : DEDUP_NEW;
		any |= found[i];
	}
	pfree(found);
	return any;
}

/* See dedup.h. */
void
dedup_look_batch(DedupSet *set, Datum key, const int64 *ids, int n,
				 bool claims, DedupAnswer *answers)
{
	DedupAnswer *older;

	if (!look_for_batch(set, key, ids, n, claims, LATEST, answers) ||
		!IsolationUsesXactSnapshot())
		return;
	older = palloc(sizeof(DedupAnswer) * n);
	look_for_batch(set, key, ids, n, claims, TRANSACTIONS, older);
	for (int i = 0; i < n; i++)
	{
		if (answers[i] == DEDUP_DUPLICATE && older[i] != DEDUP_DUPLICATE)
			dedup_serialization_failure();
	}
	pfree(older);
}

/* The same for a statement that claims nothing. */
void
dedup_seen_batch(DedupSet *set, Datum key, const int64 *ids, int n,
				 DedupAnswer *answers)
{
	look_for_batch(set, key, ids, n, true, CALLERS, answers);
}
