/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Claiming one id, and whether one is remembered.
 *
 * The second look, after the insertion, finds the row of the chunk as it was
 * nearly always.  The same stored bytes are the same set, and those of a set out
 * of line are a pointer, as such a value is never changed in place; so it costs
 * no look into the set.
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
#include "utils/timestamp.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

/*
 * Whether the members of a chunk, as they are in the table, contain a place.
 */
bool
dedup_holds(Datum members, int64 place)
{
	ToastSource source;
	r64_set		set;

	if (roaring64_toast_source(members, &source))
		return r64_source_contains(&source.source, place);
	set = DatumGetRoaring64(members);
	return r64_contains(&set, place);
}

/* Whether two values are stored as the same bytes. */
bool
dedup_same_datum(Datum a, Datum b)
{
	struct varlena *x = (struct varlena *) DatumGetPointer(a);
	struct varlena *y = (struct varlena *) DatumGetPointer(b);

	return VARSIZE_ANY(x) == VARSIZE_ANY(y) &&
		memcmp(x, y, VARSIZE_ANY(x)) == 0;
}

/* The set, or NULL for a claim, in a row that a look has found. */
static Datum
found_set(SPITupleTable *rows, uint64 i, bool *isnull)
{
	return SPI_getbinval(rows->vals[i], rows->tupdesc, 1, isnull);
}

/* Whether one of the rows is of the id. */
static bool
is_among(SPITupleTable *rows, uint64 n, int64 place)
{
	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		members = found_set(rows, i, &isnull);

		if (isnull || dedup_holds(members, place))
			return true;
	}
	return false;
}

static bool
are_same(SPITupleTable *a, uint64 na, SPITupleTable *b, uint64 nb)
{
	bool		isnull;

	if (na != nb)
		return false;
	for (uint64 i = 0; i < na; i++)
	{
		if (!dedup_same_datum(found_set(a, i, &isnull),
							  found_set(b, i, &isnull)))
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
				 errdetail("The id was claimed after the transaction began."),
				 errhint("Retry the transaction.")));
	dedup_run(set, DEDUP_UNDO, values);
}

/*
 * Writes ids straight into the chunks of an owned set, and says of each
 * whether it is new.  Writing waits for others that write to the key, so only
 * the function that writes knows what is new.  Its statement names an object
 * of the extension and is not kept.
 */
void
dedup_claim_owned(DedupSet *set, Oid funcid, Datum key, const int64 *ids,
				  int n, DedupAnswer *answers)
{
	Oid			types[3] = {REGCLASSOID, TEXTOID, INT8ARRAYOID};
	Datum		values[3] = {
		ObjectIdGetDatum(set->relid), key, roaring64_bigint_array(ids, n)
	};
	const char *schema = quote_identifier(get_namespace_name(get_func_namespace(funcid)));
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

/* Claims an id; funcid is the OID of the calling function. */
DedupAnswer
dedup_claim(DedupSet *set, Oid funcid, Datum key, int64 id)
{
	int64		place = dedup_place(set, id);
	Datum		look[3] = {
		key, Int64GetDatum(dedup_chunk(set, place)), Int64GetDatum(id)
	};
	Datum		claim[3] = {
		key, Int64GetDatum(id), TimestampTzGetDatum(GetCurrentTimestamp())
	};
	SPITupleTable *before;
	uint64		nbefore;
	uint64		n;
	DedupAnswer answer;

	dedup_check_key(key);
	dedup_check_isolation(set);
	nbefore = dedup_run(set, DEDUP_LOOK, look);
	before = SPI_tuptable;
	if (is_among(before, nbefore, place))
		return DEDUP_DUPLICATE;
	if (is_too_old(set, key, id, dedup_run))
		return DEDUP_TOO_OLD;
	if (set->owned)
	{
		dedup_claim_owned(set, funcid, key, &id, 1, &answer);
		return answer;
	}
	if (dedup_run(set, DEDUP_CLAIM, claim) == 0)
		return DEDUP_DUPLICATE;

	n = dedup_run_latest(set, DEDUP_LOOK_AGAIN, look);
	if (!are_same(before, nbefore, SPI_tuptable, n) &&
		is_among(SPI_tuptable, n, place))
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
	dedup_not_null(fcinfo, 0, "dedup set");
	dedup_not_null(fcinfo, 1, "key");
	dedup_not_null(fcinfo, 2, "id");
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
	DedupSet   *set;
	Datum		look[3];
	int64		place;
	bool		seen;
	bool		too_old = false;

	dedup_not_null(fcinfo, 0, "dedup set");
	dedup_not_null(fcinfo, 1, "key");
	dedup_not_null(fcinfo, 2, "id");
	SPI_connect();
	set = dedup_open(PG_GETARG_OID(0));
	place = dedup_place(set, PG_GETARG_INT64(2));
	look[0] = PointerGetDatum(PG_GETARG_TEXT_PP(1));
	look[1] = Int64GetDatum(dedup_chunk(set, place));
	look[2] = PG_GETARG_DATUM(2);
	dedup_read(set, DEDUP_LOOK, look);
	seen = is_among(SPI_tuptable, SPI_processed, place);
	if (!seen)
		too_old = is_too_old(set, look[0], PG_GETARG_INT64(2), dedup_read);
	SPI_finish();
	if (too_old)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(seen);
}
