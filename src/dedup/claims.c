/*-------------------------------------------------------------------------
 *
 * claims.c
 *	  Claims, forgets and looks up ids of a key, one or many.  Folding claims into
 *	  chunks is SQL (sql/parts/dedup.sql).
 *
 * An id's row of claims says whether it is remembered; without a row, the chunks
 * say it.  A change looks at both with one snapshot, in which a fold has moved an id
 * entirely or not at all.  If the id is not yet in the wanted state, it inserts a
 * row, or updates the row that is there.  After an insertion it looks into the
 * chunks again with a later snapshot, unless no transaction has ended since the
 * first.  An update needs no second look: the row counts until a fold takes it, and
 * that fold waits for us.
 *
 * A transaction whose snapshot is older than the second look must not learn of later
 * changes, nor change the id again.  It gets the error that it would get from
 * updating a row that has changed since.
 *
 * Ids are changed in ascending order, whatever order the array has, so that
 * batches that overlap do not deadlock.  The answers are in the order of the
 * array; where it repeats an id, only the first occurrence can change it.
 *
 * src/dedup/claims.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

/* The state of an id, as far as it was looked at. */
typedef struct State
{
	bool		row;			/* it has a row of claims */
	bool		present;		/* the row's column */
	bool		held;			/* a chunk holds it */
	bool		inserted;		/* this call has written its row */
	bool		answer;
} State;

typedef struct Batch
{
	Datum		key;
	int			ngiven;
	int		   *index;			/* of each given id: its position in ids */
	DedupId    *ids;			/* distinct, ascending */
	State	   *states;			/* of each */
	int			n;
} Batch;

/* A value of a type as an id of a set. */
static DedupId
get_id(const DedupSet *set, Datum value, Oid type)
{
	bool		bigints = set->id == INT8OID;
	DedupId		id = {{0}};
	uint64		high;

	if (type == TEXTOID || type == VARCHAROID)
		value = DirectFunctionCall1(bigints ? int8in : uuid_in,
									CStringGetDatum(TextDatumGetCString(value)));
	else if (bigints && type == INT4OID)
		value = Int64GetDatum(DatumGetInt32(value));
	else if (bigints && type == INT2OID)
		value = Int64GetDatum(DatumGetInt16(value));
	else if (type != set->id)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("ids of dedup set \"%s\" are of type %s, not %s",
						get_rel_name(set->tables[DEDUP_SET]),
						format_type_be(set->id), format_type_be(type))));
	if (!bigints)
		return *DatumGetUUIDP(value);
	high = pg_hton64((uint64) DatumGetInt64(value) ^ DEDUP_SIGN);
	memcpy(&id, &high, sizeof(high));
	return id;
}

/* Returns the elements of an array, or of an array's literal given as text. */
static DedupId *
get_ids(const DedupSet *set, Datum value, Oid type, int *n)
{
	Oid			element = get_base_element_type(type);
	ArrayType  *array;
	int16		length;
	bool		byval;
	char		align;
	Datum	   *values;
	bool	   *nulls;
	DedupId    *ids;

	if (!OidIsValid(element))
	{
		element = set->id;
		value = OidInputFunctionCall(F_ARRAY_IN, TextDatumGetCString(value),
									 element, -1);
	}
	array = DatumGetArrayTypeP(value);
	element = getBaseType(element);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, byval, align, &values,
					  &nulls, n);
	if (*n > DEDUP_MAX_BATCH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("batch of %d ids is too large", *n),
				 errdetail("A batch has at most %d ids.", DEDUP_MAX_BATCH),
				 errhint("Call the function several times.")));
	ids = palloc(sizeof(DedupId) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("array must not contain nulls"),
					 errhint("Remove them with array_remove(array, NULL).")));
		ids[i] = get_id(set, values[i], element);
	}
	return ids;
}

/* The numbers of a batch's chunks of bigints; for UUIDs, the ids' numbers. */
static Datum
chunks_array(const DedupSet *set, const Batch *batch)
{
	int64	   *chunks = palloc(sizeof(int64) * batch->n);
	int			n = 0;
	Datum		result;

	for (int i = 0; i < batch->n; i++)
	{
		int64		chunk = dedup_number(&batch->ids[i]) >> set->chunk_bits;

		if (n == 0 || chunk != chunks[n - 1])
			chunks[n++] = chunk;
	}
	result = roaring64_bigint_array(chunks, n);
	pfree(chunks);
	return result;
}

/* The third argument, as distinct ids of a key. */
static Batch
get_batch(FunctionCallInfo fcinfo, const DedupSet *set, Datum key, bool many)
{
	Oid			type = getBaseType(get_fn_expr_argtype(fcinfo->flinfo, 2));
	Batch		batch = {.key = key,.ngiven = 1};
	DedupId    *given;

	if (many)
		given = get_ids(set, PG_GETARG_DATUM(2), type, &batch.ngiven);
	else
	{
		given = palloc(sizeof(DedupId));
		*given = get_id(set, PG_GETARG_DATUM(2), type);
	}
	batch.ids = palloc(sizeof(DedupId) * Max(batch.ngiven, 1));
	batch.n = dedup_sort(batch.ids, given, batch.ngiven);
	batch.index = palloc(sizeof(int) * batch.ngiven);
	for (int i = 0; i < batch.ngiven; i++)
		batch.index[i] = (DedupId *) bsearch(&given[i], batch.ids, batch.n, sizeof(DedupId),
											 dedup_compare) - batch.ids;
	batch.states = palloc0(sizeof(State) * batch.n);
	return batch;
}

/* Some of the ids, as an array of the set's type. */
static Datum
ids_array(const DedupSet *set, const DedupId *ids, int n)
{
	int64	   *values;

	if (set->id == UUIDOID)
		return dedup_uuid_array(ids, n);
	values = palloc(sizeof(int64) * n);
	for (int i = 0; i < n; i++)
		values[i] = dedup_number(&ids[i]);
	return roaring64_bigint_array(values, n);
}

static Datum
id_datum(const DedupSet *set, const DedupId *id)
{
	return set->id == UUIDOID ? UUIDPGetDatum(id) : Int64GetDatum(dedup_number(id));
}

/* The state of an id, given as a row's first column. */
static State *
row_state(const DedupSet *set, Batch *batch, Datum value)
{
	DedupId		id = get_id(set, value, set->id);
	DedupId    *found = bsearch(&id, batch->ids, batch->n, sizeof(DedupId),
								dedup_compare);

	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("a trigger has changed the id of a claim")));
	return &batch->states[found - batch->ids];
}

/*
 * Notes which ids from lo on a chunk of UUIDs contains, and the highest number known
 * to be in its range.
 */
static void
look_into_uuids(Batch *batch, int lo, Datum members, int64 *known)
{
	ArrayType  *array = DatumGetArrayTypeP(members);
	int			n;
	const DedupId *ids = dedup_elements(array, UUIDOID, &n);

	for (int i = lo; n > 0 && i < batch->n &&
		 dedup_compare(&batch->ids[i], &ids[n - 1]) <= 0; i++)
		batch->states[i].held |= bsearch(&batch->ids[i], ids, n, sizeof(DedupId),
										 dedup_compare) != NULL;
	if (n > 0)
		*known = Max(*known, dedup_number(&ids[n - 1]));
	if (PointerGetDatum(array) != members)
		pfree(array);
}

/* Notes which ids from lo to before hi a chunk of bigints contains. */
static void
look_into_set(Batch *batch, int lo, int hi, Datum members)
{
	int64		id = dedup_number(&batch->ids[lo]);
	uint8_t		one[R64_SINGLETON_SIZE];
	r64_set		few = r64_singleton(&roaring64_env, id, one);
	r64_buf		part;
	struct varlena *flat;
	r64_set		view;

	if (hi - lo == 1 && roaring64_restrict(members, &few, NULL, &part))
	{
		view = r64_open_buf(&roaring64_env, part);
		batch->states[lo].held |= r64_contains(&view, id);
		pfree(part.base);
		return;
	}
	/* a batch can have ids of many chunks */
	flat = PG_DETOAST_DATUM_PACKED(members);
	view = roaring64_view(flat);
	if (hi - lo > 1)
		r64_index_set(&view);
	for (int i = lo; i < hi; i++)
		batch->states[i].held |= r64_contains(&view, dedup_number(&batch->ids[i]));
	r64_close(&view);
	if (PointerGetDatum(flat) != members)
		pfree(flat);
}

/*
 * Notes which ids of its range a chunk holds.  For bigints, leading ids that another
 * generation holds are skipped.
 */
static void
look_into_chunk(const DedupSet *set, Batch *batch, int64 chunk, Datum members,
				int64 *known)
{
	uint64		first = ((uint64) chunk << set->chunk_bits) ^ DEDUP_SIGN;
	uint64		last = first + (UINT64CONST(1) << set->chunk_bits) - 1;
	int			lo = dedup_first_from(batch->ids, batch->n, first);
	int			hi = batch->n;

	if (set->id == UUIDOID)
	{
		look_into_uuids(batch, lo, members, known);
		return;
	}
	if (last != PG_UINT64_MAX)
		hi = dedup_first_from(batch->ids, batch->n, last + 1);
	while (lo < hi && batch->states[lo].held)
		lo++;
	if (lo < hi)
		look_into_set(batch, lo, hi, members);
}

/* Reports a change since the transaction's snapshot was taken. */
static void
fail_to_serialize(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update"),
			 errdetail("The id was claimed or forgotten, or that was folded, after the transaction began."),
			 errhint("Retry the transaction.")));
}

/*
 * Looks at the rows of all ids.  A snapshot may show two rows of an id: one that was
 * there when it was taken and has been folded, and one that we wrote since.
 */
static void
look_at_rows(DedupSet *set, Batch *batch, Snapshot snapshot, bool locks)
{
	DedupRows	rows;
	Datum		row[2];

	dedup_find(set, DEDUP_CLAIMS, batch->key,
			   ids_array(set, batch->ids, batch->n), snapshot, locks, &rows);
	while (dedup_next(&rows, row))
	{
		State	   *state = row_state(set, batch, row[0]);

		if (state->row)
			fail_to_serialize();
		state->row = true;
		state->present = DatumGetBool(row[1]);
	}
	dedup_end(&rows);
}

/* Looks into the chunks of all ids; for a single id, until a chunk holds it. */
static void
look_at_chunks(DedupSet *set, Batch *batch, Snapshot snapshot)
{
	Datum		chunks = chunks_array(set, batch);
	DedupRows	rows;
	Datum		row[2];

	dedup_find(set, DEDUP_CHUNKS, batch->key, chunks, snapshot, true, &rows);
	while ((batch->n > 1 || !batch->states->held) && dedup_next(&rows, row))
		look_into_chunk(set, batch, DatumGetInt64(row[0]), row[1], &rows.known);
	dedup_end(&rows);
	pfree(DatumGetPointer(chunks));
}

/*
 * Looks at all ids with a snapshot: at their rows, with locks or without, and into
 * the chunks of all if one has no row.  On other nodes each statement has a snapshot
 * of its own, so the rows come first: a row that a fold takes in between is found in
 * the chunks.
 */
static void
look(DedupSet *set, Batch *batch, Snapshot snapshot, bool locks)
{
	bool		rows = true;

	for (int i = 0; i < batch->n; i++)
		batch->states[i].row = batch->states[i].held = false;
	snapshot = RegisterSnapshot(snapshot);
	look_at_rows(set, batch, snapshot, locks);
	for (int i = 0; i < batch->n; i++)
		rows &= batch->states[i].row;
	if (!rows)
		look_at_chunks(set, batch, snapshot);
	UnregisterSnapshot(snapshot);
}

/* A snapshot that shows all changes of this transaction. */
static Snapshot
snapshot_of(Snapshot (*get) (void))
{
	CommandCounterIncrement();
	return get();
}

/* Whether an id is remembered, by its state. */
static bool
is_there(const State *state)
{
	return state->row ? state->present : state->held;
}

/*
 * Whether a snapshot taken now would equal an earlier one, but for the rows that our
 * command wrote: no transaction has ended since, as the number of ended ones shows,
 * and no trigger has executed a command.  The number is 0 if the snapshot is kept
 * for the whole transaction.  Another node cannot be asked.
 */
static bool
is_unchanged(const DedupSet *set, uint64 ended, CommandId command)
{
	Snapshot	now;

	if (ended == 0 || set->distributed)
		return false;
	now = GetLatestSnapshot();
	return now->snapXactCompletionCount == ended && now->curcid == command + 1;
}

/*
 * Writes rows for the ids that are not yet in the wanted state, and answers which
 * were changed.  Returns whether a row was inserted.
 */
static bool
put(DedupSet *set, Batch *batch, bool present)
{
	DedupId    *ids = palloc(sizeof(DedupId) * batch->n);
	Datum		values[4] = {batch->key};
	DedupRows	rows;
	Datum		row[2];
	bool		inserted = false;
	bool		one;
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		if (is_there(&batch->states[i]) != present)
			ids[n++] = batch->ids[i];
	}
	if (n == 0)
		return false;
	one = n == 1 && !set->distributed;
	values[1] = one ? id_datum(set, ids) : ids_array(set, ids, n);
	values[2] = BoolGetDatum(present);
	values[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	dedup_run(set, one ? DEDUP_PUT_ONE : DEDUP_PUT_MANY, values,
			  InvalidSnapshot, &rows);
	while (dedup_next(&rows, row))
	{
		State	   *state = row_state(set, batch, row[0]);

		state->answer = true;
		state->inserted = !DatumGetBool(row[1]);
		/* the row that was seen is gone: the snapshot would show both */
		if (state->inserted && state->row && IsolationUsesXactSnapshot())
			fail_to_serialize();
		inserted |= state->inserted;
	}
	dedup_end(&rows);
	return inserted;
}

/*
 * Deletes inserted rows whose chunk had the wanted state already.  Reports a
 * serialization failure if the snapshot is the transaction's.
 */
static void
undo(DedupSet *set, Batch *batch, bool present)
{
	DedupId    *ids = palloc(sizeof(DedupId) * batch->n);
	Datum		values[2] = {batch->key};
	int			n = 0;

	for (int i = 0; i < batch->n; i++)
	{
		State	   *state = &batch->states[i];

		if (!state->inserted || state->held != present)
			continue;
		state->answer = false;
		ids[n++] = batch->ids[i];
	}
	if (n == 0)
		return;
	if (IsolationUsesXactSnapshot())
		fail_to_serialize();
	values[1] = ids_array(set, ids, n);
	dedup_run(set, DEDUP_UNDO, values, InvalidSnapshot, NULL);
}

/*
 * Inserts the row of the only id; returns false if it has one.  Unlike put(), does
 * not lock that row.
 */
static bool
insert(DedupSet *set, Batch *batch, bool present)
{
	State	   *state = batch->states;
	Datum		values[4] = {batch->key, id_datum(set, batch->ids)};

	values[2] = BoolGetDatum(present);
	values[3] = TimestampTzGetDatum(GetCurrentTimestamp());
	state->inserted = state->answer =
		dedup_run(set, DEDUP_INSERT, values, InvalidSnapshot, NULL) > 0;
	return state->inserted;
}

/*
 * In SERIALIZABLE, searching for a missing row with locks locks the page of the
 * index, so it would conflict with the insertion of any id beside it.  So a single id
 * is searched for without locks, and again with locks unless a row is inserted: an
 * insertion by itself conflicts with another of the same id.
 */
static void
change(DedupSet *set, Batch *batch, bool present)
{
	bool		one = batch->n == 1;
	bool		locks = !one || !IsolationIsSerializable();
	Snapshot	snapshot = snapshot_of(GetTransactionSnapshot);
	uint64		ended = snapshot->snapXactCompletionCount;
	CommandId	command = snapshot->curcid;
	bool		inserted = false;

	look(set, batch, snapshot, locks);
	if (one && !batch->states->row && batch->states->held != present)
	{
		inserted = insert(set, batch, present);
		if (!inserted)
			look(set, batch, snapshot_of(GetTransactionSnapshot), true);
	}
	else if (!locks)
		look(set, batch, snapshot, true);
	if (!inserted)
		inserted = put(set, batch, present);
	if (!inserted || is_unchanged(set, ended, command))
		return;
	for (int i = 0; i < batch->n; i++)
		batch->states[i].held = false;
	snapshot = RegisterSnapshot(snapshot_of(GetLatestSnapshot));
	look_at_chunks(set, batch, snapshot);
	UnregisterSnapshot(snapshot);
	undo(set, batch, present);
}

/* The answers as a boolean[]; true for the first occurrence only, if once. */
static Datum
answers_array(Batch *batch, bool once)
{
	Datum	   *values = palloc(sizeof(Datum) * batch->ngiven);

	for (int i = 0; i < batch->ngiven; i++)
	{
		State	   *state = &batch->states[batch->index[i]];

		values[i] = BoolGetDatum(state->answer);
		state->answer &= !once;
	}
	return PointerGetDatum(construct_array(values, batch->ngiven, BOOLOID, 1,
										   true, TYPALIGN_CHAR));
}

/*
 * Executes a function of a set, a key and an id, or of many ids; writer and writers
 * are their names for dedup_open(), and present is the state that they make.
 */
static Datum
answer(FunctionCallInfo fcinfo, const char *writer, const char *writers,
	   bool present)
{
	bool		many = get_fn_expr_rettype(fcinfo->flinfo) == BOOLARRAYOID;
	Datum		key;
	DedupSet   *set = dedup_open(fcinfo, many ? writers : writer,
								 many ? "array of ids" : "id", &key);
	Batch		batch = get_batch(fcinfo, set, key, many);

	if (batch.n > 0 && writer != NULL)
		change(set, &batch, present);
	else if (batch.n > 0)
	{
		look(set, &batch, GetActiveSnapshot(), true);
		for (int i = 0; i < batch.n; i++)
			batch.states[i].answer = is_there(&batch.states[i]);
	}
	return many ? answers_array(&batch, writer != NULL) :
		BoolGetDatum(batch.states[0].answer);
}

/*
 * roaring64_dedup_claim(regclass, key text, id) returns boolean: makes an id
 * remembered; true if it was not.  The id is a bigint or a uuid, as the set has
 * them, or text that is read as one.
 *
 * roaring64_dedup_claim_many(regclass, key text, ids) returns boolean[]: the same
 * for each of an array of up to a million ids.  So for those below.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_claim);
Datum
roaring64_dedup_claim(PG_FUNCTION_ARGS)
{
	return answer(fcinfo, "roaring64_dedup_claim()",
				  "roaring64_dedup_claim_many()", true);
}

/*
 * roaring64_dedup_forget(regclass, key text, id) returns boolean: makes an id
 * new again; true if it was remembered.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_forget);
Datum
roaring64_dedup_forget(PG_FUNCTION_ARGS)
{
	return answer(fcinfo, "roaring64_dedup_forget()",
				  "roaring64_dedup_forget_many()", false);
}

/*
 * roaring64_dedup_seen(regclass, key text, id) returns boolean: whether the
 * calling statement sees an id remembered.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_seen);
Datum
roaring64_dedup_seen(PG_FUNCTION_ARGS)
{
	return answer(fcinfo, NULL, NULL, false);
}
