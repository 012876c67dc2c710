/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Claiming one id, and whether one is remembered.
 *
 * A claim looks into the chunk, inserts, and looks again with a snapshot taken
 * after that, unless that would see what the first has seen.  Else the row of the
 * chunk is as it was nearly always.  The same stored bytes are the same set, and
 * those of a set out of line are a pointer, as such a value is never changed in
 * place; so it costs no look into the set.
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
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
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

/* Whether one of the sets that a look has found holds a place. */
static bool
is_among(SPITupleTable *rows, int64 place)
{
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

/* Whether an id is claimed and has not been folded. */
static bool
is_claimed(DedupSet *set, Datum key, int64 id, DedupRun run)
{
	Datum		values[2] = {key, Int64GetDatum(id)};

	return run(set, DEDUP_LOOK_CLAIM, values) > 0;
}

/* Whether rows, which have no NULLs, are stored as the same bytes. */
bool
dedup_same_rows(SPITupleTable *a, SPITupleTable *b)
{
	if (a->numvals != b->numvals)
		return false;
	for (uint64 i = 0; i < a->numvals; i++)
	{
		HeapTuple	x = a->vals[i];
		HeapTuple	y = b->vals[i];
		Size		header = x->t_data->t_hoff;

		if (x->t_len != y->t_len || header != y->t_data->t_hoff ||
			memcmp((char *) x->t_data + header, (char *) y->t_data + header,
				   x->t_len - header) != 0)
			return false;
	}
	return true;
}

/*
 * Finds the id up to which ids of the key were forgotten; returns false if
 * none were.
 */
bool
dedup_forgotten(DedupSet *set, Datum key, DedupRun run, int64 *highest)
{
	bool		isnull;

	if (!set->ascending || run(set, DEDUP_FORGOTTEN, &key) == 0)
		return false;
	*highest = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
										   SPI_tuptable->tupdesc, 1, &isnull));
	return true;
}

static bool
is_too_old(DedupSet *set, Datum key, int64 id, DedupRun run)
{
	int64		highest;

	return dedup_forgotten(set, key, run, &highest) && id <= highest;
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
	dedup_run(set, DEDUP_UNDO, values);
}

/*
 * Writes ids straight into the chunks of an owned set, and returns those that
 * are new.  Writing waits for others that write to the key, so only the function
 * that writes knows what is new.  Its statement names an object of the
 * extension and is not kept.
 */
r64_set
dedup_append(DedupSet *set, Oid funcid, Datum key, const int64 *ids, int n)
{
	Oid			types[3] = {REGCLASSOID, TEXTOID, INT8ARRAYOID};
	Datum		values[3] = {
		ObjectIdGetDatum(set->tables[DEDUP_SET]), key,
		roaring64_bigint_array(ids, n)
	};
	const char *schema = quote_identifier(get_namespace_name(get_func_namespace(funcid)));
	bool		isnull;

	if (SPI_execute_with_args(psprintf("SELECT %s.roaring64_dedup_append($1, $2, %s.roaring64_from_array($3), $3)",
									   schema, schema),
							  3, types, values, NULL, false, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not write to an owned dedup set");
	return DatumGetRoaring64(SPI_getbinval(SPI_tuptable->vals[0],
										   SPI_tuptable->tupdesc, 1, &isnull));
}

/* Claims an id; funcid is the OID of the calling function. */
DedupAnswer
dedup_claim(DedupSet *set, Oid funcid, Datum key, int64 id)
{
	int64		place = dedup_place(set, id);
	Datum		look[2] = {key, Int64GetDatum(dedup_chunk(set, place))};
	Datum		claim[3] = {
		key, Int64GetDatum(id), TimestampTzGetDatum(GetCurrentTimestamp())
	};
	SnapshotData start,
				now;
	SPITupleTable *before;
	DedupAnswer answer;

	dedup_check_key(key);
	dedup_check_isolation(set);
	CommandCounterIncrement();
	start = *GetTransactionSnapshot();
	dedup_run(set, DEDUP_LOOK, look);
	before = SPI_tuptable;
	if (is_among(before, place))
		return DEDUP_DUPLICATE;
	if (is_too_old(set, key, id, dedup_run))
		return is_claimed(set, key, id, dedup_run) ? DEDUP_DUPLICATE :
			DEDUP_TOO_OLD;
	if (set->owned)
	{
		r64_set		fresh = dedup_append(set, funcid, key, &id, 1);

		return r64_contains(&fresh, id) ? DEDUP_NEW : DEDUP_DUPLICATE;
	}
	if (dedup_run(set, DEDUP_CLAIM, claim) == 0)
		return DEDUP_DUPLICATE;

	/*
	 * When a transaction that has written ends, xmax rises or xip, to which
	 * none is added below xmax, loses one.  This one has written nothing but
	 * the claim, unless a trigger has executed more commands.
	 */
	now = *GetLatestSnapshot();
	if (now.xmax == start.xmax && now.xcnt == start.xcnt &&
		now.curcid == start.curcid + 1 && !set->distributed)
		return DEDUP_NEW;
	dedup_run_latest(set, DEDUP_LOOK, look);
	if (!dedup_same_rows(before, SPI_tuptable) &&
		is_among(SPI_tuptable, place))
		answer = DEDUP_DUPLICATE;
	else if (is_too_old(set, key, id, dedup_run_latest))
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
	DedupAnswer answer;

	dedup_writable("roaring64_dedup_claim()");
	dedup_not_null(fcinfo, "id");
	SPI_connect();
	answer = dedup_claim(dedup_open(PG_GETARG_OID(0)), fcinfo->flinfo->fn_oid,
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
	int64		id = PG_GETARG_INT64(2);
	DedupSet   *set;
	Datum		look[2];
	int64		place;
	bool		seen,
				too_old;

	dedup_not_null(fcinfo, "id");
	SPI_connect();
	set = dedup_open(PG_GETARG_OID(0));
	place = dedup_place(set, id);
	look[0] = PointerGetDatum(PG_GETARG_TEXT_PP(1));
	look[1] = Int64GetDatum(dedup_chunk(set, place));
	dedup_read(set, DEDUP_LOOK, look);
	seen = is_among(SPI_tuptable, place) ||
		is_claimed(set, look[0], id, dedup_read);
	too_old = !seen && is_too_old(set, look[0], id, dedup_read);
	SPI_finish();
	if (too_old)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(seen);
}
