/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Claiming one id, whether one is remembered, and what all can see.
 *
 * A claim is one statement, whose snapshot lasts until its row is in.  If that
 * snapshot does not see the id in a chunk, then a claim of it that was folded
 * is still there: fold deletes a claim only when no snapshot is left that
 * misses the chunk (roaring64_dedup_settled).  So the unique index finds it.
 *
 * In REPEATABLE READ and SERIALIZABLE it may find a row that the transaction's
 * snapshot does not see, which ON CONFLICT DO NOTHING reports as an error.
 *
 * src/dedup/claim.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "storage/procarray.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "dedup/dedup.h"

static bool
is_seen(DedupSet *set, Datum key, int64 id, bool read_only)
{
	int64		place = dedup_place(set, id);
	Datum		values[] = {
		key, Int64GetDatum(id), Int64GetDatum(dedup_chunk(set, place)),
		Int64GetDatum(place)
	};

	return dedup_run(set, DEDUP_SEEN, values, read_only) > 0;
}

static bool
is_forgotten(DedupSet *set, Datum key, int64 id, bool read_only)
{
	int64		highest;

	return dedup_forgotten(set, key, read_only, &highest) && id <= highest;
}

/* See dedup.h. */
DedupAnswer
dedup_claim(DedupSet *set, Datum key, int64 id)
{
	int64		place = dedup_place(set, id);
	Datum		values[] = {
		key, Int64GetDatum(id), Int64GetDatum(dedup_chunk(set, place)),
		Int64GetDatum(place)
	};
	DedupAnswer answer;

	dedup_check_key(key);
	if (set->owned)
	{
		if (is_seen(set, key, id, false))
			return DEDUP_DUPLICATE;
		if (is_forgotten(set, key, id, false))
			return DEDUP_TOO_OLD;
		dedup_claim_owned(set, key, &id, 1, &answer);
		return answer;
	}
	if (dedup_run(set, DEDUP_CLAIM, values, false) > 0)
		return DEDUP_NEW;
	if (is_forgotten(set, key, id, false) && !is_seen(set, key, id, false))
		return DEDUP_TOO_OLD;
	return DEDUP_DUPLICATE;
}

/*
 * roaring64_dedup_claim(regclass, key text, id bigint) returns boolean: claims
 * an id; true if it is new, NULL if it is too old to tell.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_claim);
Datum
roaring64_dedup_claim(PG_FUNCTION_ARGS)
{
	DedupAnswer answer;

	dedup_writable("roaring64_dedup_claim()");
	dedup_not_null(fcinfo, 0, "dedup set");
	dedup_not_null(fcinfo, 1, "key");
	dedup_not_null(fcinfo, 2, "id");
	SPI_connect();
	answer = dedup_claim(dedup_open(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid),
						 PointerGetDatum(PG_GETARG_TEXT_PP(1)),
						 PG_GETARG_INT64(2));
	SPI_finish();
	if (answer == DEDUP_TOO_OLD)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(answer == DEDUP_NEW);
}

/*
 * roaring64_dedup_seen(regclass, key text, id bigint) returns boolean: whether
 * the calling statement sees the id remembered; NULL if it is too old to tell.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_seen);
Datum
roaring64_dedup_seen(PG_FUNCTION_ARGS)
{
	DedupSet   *set;
	Datum		key;
	bool		seen;
	bool		too_old;

	dedup_not_null(fcinfo, 0, "dedup set");
	dedup_not_null(fcinfo, 1, "key");
	dedup_not_null(fcinfo, 2, "id");
	SPI_connect();
	set = dedup_open(PG_GETARG_OID(0), fcinfo->flinfo->fn_oid);
	key = PointerGetDatum(PG_GETARG_TEXT_PP(1));
	seen = is_seen(set, key, PG_GETARG_INT64(2), true);
	too_old = !seen && is_forgotten(set, key, PG_GETARG_INT64(2), true);
	SPI_finish();
	if (too_old)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(seen);
}

/*
 * roaring64_dedup_settled(oid, xid) returns boolean: whether every snapshot
 * that there is, and that there will be, sees what a committed transaction
 * wrote to a table of that OID.  xid is the xmin of a row that the caller sees.
 *
 * It is asked as VACUUM asks whether it may remove a row.  A statement asks
 * once, so that it gets one answer for a transaction.  An xmin that is frozen
 * stays in its row, and can come to look like one of the future.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_settled);
Datum
roaring64_dedup_settled(PG_FUNCTION_ARGS)
{
	TransactionId xid = PG_GETARG_TRANSACTIONID(1);
	TransactionId *horizon = fcinfo->flinfo->fn_extra;

	if (horizon == NULL)
	{
		Relation	table = RelationIdGetRelation(PG_GETARG_OID(0));

		if (table == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("relation with OID %u does not exist",
							PG_GETARG_OID(0))));
		horizon = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
									 sizeof(TransactionId));
		*horizon = GetOldestNonRemovableTransactionId(table);
		RelationClose(table);
		fcinfo->flinfo->fn_extra = horizon;
	}
	PG_RETURN_BOOL(!TransactionIdIsNormal(xid) ||
				   TransactionIdPrecedes(xid, *horizon) ||
				   TransactionIdFollowsOrEquals(xid, ReadNextTransactionId()));
}
