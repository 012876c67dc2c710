/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Claiming one id.
 *
 * A claim looks into the chunk, inserts, and looks again with a snapshot taken
 * after that, unless that would see what the first has seen: then no transaction
 * has ended in between.
 *
 * A transaction whose snapshot is older than the second look must not learn of
 * what was claimed since, nor claim it again.  It gets the error that it would
 * get from updating a row that has changed since.
 *
 * src/dedup/claim.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

/* Whether the members of a chunk, as they are in the table, contain a place. */
static bool
holds(Datum members, int64 place)
{
	ToastSource source;
	r64_set		set;

	if (roaring64_toast_source(members, &source))
		return r64_source_contains(&source.source, place);
	set = DatumGetRoaring64(members);
	return r64_contains(&set, place);
}

/* Whether one of the sets that the last statement has found holds a place. */
static bool
is_found(int64 place)
{
	SPITupleTable *rows = SPI_tuptable;

	for (uint64 i = 0; i < rows->numvals; i++)
	{
		bool		isnull;
		Datum		members = SPI_getbinval(rows->vals[i], rows->tupdesc, 1,
											&isnull);

		if (!isnull && holds(members, place))
			return true;
	}
	return false;
}

/*
 * Finds the id up to which ids of the key were forgotten; returns false if
 * none were.
 */
bool
dedup_forgotten(DedupSet *set, Datum key, DedupView view, int64 *highest)
{
	bool		isnull;

	if (!set->ascending || dedup_run(set, DEDUP_FORGOTTEN, &key, view) == 0)
		return false;
	*highest = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
										   SPI_tuptable->tupdesc, 1, &isnull));
	return true;
}

/* Whether an id is not above the highest that was forgotten. */
static bool
is_too_old(DedupSet *set, Datum key, int64 id, DedupView view)
{
	int64		highest;

	return dedup_forgotten(set, key, view, &highest) && id <= highest;
}

/*
 * Takes back claims of ids that turn out to have been claimed before.
 * Reports a serialization failure if the snapshot is the transaction's.
 */
void
dedup_undo(DedupSet *set, Datum key, const int64 *ids, int n)
{
	Datum		values[2] = {key, roaring64_bigint_array(ids, n)};

	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update"),
				 errdetail("The id was claimed, or its claim was folded, after the transaction began."),
				 errhint("Retry the transaction.")));
	dedup_run(set, DEDUP_UNDO, values, DEDUP_ITS_OWN);
}

/*
 * The moment of the snapshot that the next statement will take.  It is known in
 * READ COMMITTED only: a snapshot that is kept for the whole transaction is a
 * copy, which has no number.
 */
DedupMoment
dedup_moment(void)
{
	Snapshot	snapshot;
	DedupMoment moment;

	CommandCounterIncrement();
	snapshot = GetTransactionSnapshot();
	moment.ended = snapshot->snapXactCompletionCount;
	moment.command = snapshot->curcid;
	return moment;
}

/*
 * Whether a snapshot of now would see what one at the start has seen, but for
 * the command that inserted claims: no transaction has ended, and no trigger
 * has executed a command.  Another node cannot be asked.
 */
bool
dedup_unchanged(const DedupSet *set, DedupMoment start)
{
	Snapshot	now;

	if (start.ended == 0 || set->distributed)
		return false;
	now = GetLatestSnapshot();
	return now->snapXactCompletionCount == start.ended &&
		now->curcid == start.command + 1;
}

static DedupAnswer
claim(DedupSet *set, Datum key, int64 id)
{
	int64		place = dedup_place(set, id);
	Datum		look[2] = {key, Int64GetDatum(dedup_chunk(set, place))};
	Datum		values[3] = {
		key, Int64GetDatum(id), TimestampTzGetDatum(GetCurrentTimestamp())
	};
	DedupMoment start;
	DedupAnswer answer;

	if (set->owned)
	{
		dedup_claim_owned(set, key, &id, 1, &answer);
		return answer;
	}
	start = dedup_moment();
	dedup_run(set, DEDUP_LOOK, look, DEDUP_ITS_OWN);
	if (is_found(place))
		return DEDUP_DUPLICATE;
	if (is_too_old(set, key, id, DEDUP_ITS_OWN))
	{
		values[1] = roaring64_bigint_array(&id, 1);
		return dedup_run(set, DEDUP_LOOK_CLAIMS, values, DEDUP_ITS_OWN) > 0 ?
			DEDUP_DUPLICATE : DEDUP_TOO_OLD;
	}
	if (dedup_run(set, DEDUP_CLAIM, values, DEDUP_ITS_OWN) == 0)
		return DEDUP_DUPLICATE;
	if (dedup_unchanged(set, start))
		return DEDUP_NEW;
	dedup_run(set, DEDUP_LOOK, look, DEDUP_LATEST);
	if (is_found(place))
		answer = DEDUP_DUPLICATE;
	else if (is_too_old(set, key, id, DEDUP_LATEST))
		answer = DEDUP_TOO_OLD;
	else
		return DEDUP_NEW;
	dedup_undo(set, key, &id, 1);
	return answer;
}

/*
 * roaring64_dedup_claim(regclass, key text, id bigint) returns boolean: claims
 * an id; true if it is new, NULL if it is too old to tell.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_claim);
Datum
roaring64_dedup_claim(PG_FUNCTION_ARGS)
{
	DedupSet   *set;
	Datum		key;
	DedupAnswer answer;

	set = dedup_open(fcinfo, "roaring64_dedup_claim()", "id", &key);
	answer = claim(set, key, PG_GETARG_INT64(2));
	SPI_finish();
	if (answer == DEDUP_TOO_OLD)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(answer == DEDUP_NEW);
}
