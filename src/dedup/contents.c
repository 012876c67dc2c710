/*-------------------------------------------------------------------------
 *
 * contents.c
 *	  What a dedup set has: asking, forgetting, adding, taking in and out.
 *
 * Functions that only read use the snapshot of the statement that calls them,
 * as a query on the tables would, and run on a standby.
 *
 * src/dedup/contents.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "dedup/dedup.h"
#include "state/statement.h"

#define LOAD_AT_ONCE	(1024 * 1024)

/*
 * roaring64_dedup_seen(regclass, key text, id bigint) returns boolean:
 * whether the id is remembered; NULL if it is older than what is.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_seen);
Datum
roaring64_dedup_seen(PG_FUNCTION_ARGS)
{
	DedupAnswer answer;

	dedup_not_null(fcinfo, 2, "id");
	dedup_connect();
	answer = dedup_seen(dedup_open(fcinfo), dedup_key(fcinfo),
						PG_GETARG_INT64(2));
	SPI_finish();
	if (answer == DEDUP_TOO_OLD)
		PG_RETURN_NULL();
	PG_RETURN_BOOL(answer == DEDUP_DUPLICATE);
}

/* Sorts ids and drops repeats; returns how many are left. */
static int
sort_ids(int64 *ids, int n)
{
	int			count = 0;

	qsort(ids, n, sizeof(int64), dedup_compare_ids);
	for (int i = 0; i < n; i++)
	{
		if (count == 0 || ids[count - 1] != ids[i])
			ids[count++] = ids[i];
	}
	return count;
}

/* The boolean[] that answers for ids, of which each is in sorted. */
static Datum
answer_array(const int64 *ids, int n, const int64 *sorted, int nsorted,
			 const DedupAnswer *answers)
{
	Datum	   *values = palloc(sizeof(Datum) * n);
	bool	   *nulls = palloc(sizeof(bool) * n);
	int			lower = 1;

	for (int i = 0; i < n; i++)
	{
		const int64 *at = bsearch(&ids[i], sorted, nsorted, sizeof(int64),
								  dedup_compare_ids);
		DedupAnswer answer = answers[at - sorted];

		values[i] = BoolGetDatum(answer == DEDUP_DUPLICATE);
		nulls[i] = answer == DEDUP_TOO_OLD;
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower,
											  BOOLOID, 1, true,
											  TYPALIGN_CHAR));
}

/*
 * roaring64_dedup_seen(regclass, key text, ids bigint[]) returns boolean[]:
 * the same for every id of the array.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_seen_batch);
Datum
roaring64_dedup_seen_batch(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	int			n;
	int64	   *ids = dedup_batch(fcinfo, &n);
	int64	   *sorted = palloc(sizeof(int64) * n);
	DedupAnswer *answers = palloc(sizeof(DedupAnswer) * n);
	int			nsorted;
	Datum		result;

	memcpy(sorted, ids, sizeof(int64) * n);
	nsorted = sort_ids(sorted, n);
	dedup_connect();
	dedup_seen_batch(dedup_open(fcinfo), dedup_key(fcinfo), sorted, nsorted,
					 answers);
	MemoryContextSwitchTo(context);
	result = answer_array(ids, n, sorted, nsorted, answers);
	SPI_finish();
	return result;
}

/* The chunks of some ids, each once: a bigint[]. */
static Datum
chunks_of(const DedupSet *set, const int64 *ids, int n)
{
	int64	   *chunks = palloc(sizeof(int64) * Max(n, 1));

	for (int i = 0; i < n; i++)
		chunks[i] = dedup_chunk(set, dedup_place(set, ids[i]));
	return roaring64_bigint_array(chunks, sort_ids(chunks, n));
}

/* Takes sorted ids out of claims and chunks; returns how many were there. */
static int64
forget(DedupSet *set, Datum key, const int64 *ids, int n)
{
	Datum		values[2] = {key};
	int64		count;
	int64	   *generations;
	uint64		ngenerations;

	dedup_lock(set, key, DEDUP_LOCK_ERASE);
	/* in order, lest two who forget deadlock */
	count = dedup_undo_claims(set, key, ids, n);

	values[1] = chunks_of(set, ids, n);
	ngenerations = state_run(&set->owner, DEDUP_GENERATIONS, SPI_OK_SELECT,
							 values, NULL);
	generations = palloc(sizeof(int64) * Max(ngenerations, 1));
	for (uint64 i = 0; i < ngenerations; i++)
	{
		bool		isnull;

		generations[i] = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i],
													 SPI_tuptable->tupdesc,
													 1, &isnull));
	}
	SPI_freetuptable(SPI_tuptable);
	for (uint64 i = 0; i < ngenerations; i++)
		count += dedup_erase(set, key, generations[i], ids, n);
	return count;
}

/* Adds ids to a set without window. */
static int64
add(DedupSet *set, Datum key, const int64 *ids, int n)
{
	if (dedup_is_windowed(set))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot add ids to dedup set \"%s\", which has a window",
						get_rel_name(set->owner.relid)),
				 errhint("Claim them, or use roaring64_dedup_load.")));
	dedup_lock(set, key, DEDUP_LOCK_ERASE);
	return dedup_write(set, key, 0, ids, n);
}

/* One of the two above. */
typedef int64 (*Change) (DedupSet *set, Datum key, const int64 *ids, int n);

/* Changes the id that is argument 2. */
static bool
change_one(FunctionCallInfo fcinfo, const char *function, Change change)
{
	int64		id = PG_GETARG_INT64(2);
	int64		count;

	dedup_not_null(fcinfo, 2, "id");
	dedup_writable(function);
	dedup_connect();
	count = change(dedup_open(fcinfo), dedup_key(fcinfo), &id, 1);
	SPI_finish();
	return count > 0;
}

/* Changes the ids of the array that is argument 2. */
static int64
change_batch(FunctionCallInfo fcinfo, const char *function, Change change)
{
	int			n;
	int64	   *ids = dedup_batch(fcinfo, &n);
	int64		count;

	dedup_writable(function);
	dedup_connect();
	n = sort_ids(ids, n);
	count = change(dedup_open(fcinfo), dedup_key(fcinfo), ids, n);
	SPI_finish();
	return count;
}

/*
 * roaring64_dedup_forget(regclass, key text, id bigint) returns boolean:
 * makes the id new again; whether it was remembered.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_forget);
Datum
roaring64_dedup_forget(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(change_one(fcinfo, "roaring64_dedup_forget()", forget));
}

/*
 * roaring64_dedup_forget(regclass, key text, ids bigint[]) returns bigint:
 * the same for the ids of an array; how many of them were remembered.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_forget_batch);
Datum
roaring64_dedup_forget_batch(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(change_batch(fcinfo, "roaring64_dedup_forget()", forget));
}

/*
 * roaring64_dedup_add(regclass, key text, id bigint) returns boolean: puts
 * the id into its chunk; whether it was not there.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_add);
Datum
roaring64_dedup_add(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(change_one(fcinfo, "roaring64_dedup_add()", add));
}

/*
 * roaring64_dedup_add(regclass, key text, ids bigint[]) returns bigint: the
 * same for the ids of an array; how many were not there.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_add_batch);
Datum
roaring64_dedup_add_batch(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(change_batch(fcinfo, "roaring64_dedup_add()", add));
}

/* A statement about a key that gives one value, never NULL. */
static Datum
one_value(FunctionCallInfo fcinfo, int statement)
{
	Datum		key = dedup_key(fcinfo);
	DedupSet   *set;
	bool		isnull;
	Datum		value;

	dedup_connect();
	set = dedup_open(fcinfo);
	state_read(&set->owner, statement, &key, NULL);
	/* a bigint or a boolean, neither of which is in SPI's memory */
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						  &isnull);
	SPI_finish();
	return value;
}

/*
 * roaring64_dedup_count(regclass, key text) returns bigint: how many ids of
 * the key are remembered.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_count);
Datum
roaring64_dedup_count(PG_FUNCTION_ARGS)
{
	return one_value(fcinfo, DEDUP_COUNT);
}

/*
 * roaring64_dedup_is_empty(regclass, key text) returns boolean: whether no id
 * of the key is remembered.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_is_empty);
Datum
roaring64_dedup_is_empty(PG_FUNCTION_ARGS)
{
	return one_value(fcinfo, DEDUP_IS_EMPTY);
}

/* Writes those of some distinct ids that are new; returns how many. */
static int64
load_ids(DedupSet *set, Datum key, int64 *ids, int n)
{
	DedupAnswer *answers = MemoryContextAllocHuge(CurrentMemoryContext,
												  sizeof(DedupAnswer) * Max(n, 1));
	int			count = 0;

	dedup_look_batch(set, key, ids, n, true, answers);
	for (int i = 0; i < n; i++)
	{
		/* what is too old for the window may be loaded all the same */
		if (answers[i] != DEDUP_DUPLICATE)
			ids[count++] = ids[i];
	}
	if (count > 0)
		dedup_append(set, key, ids, count);
	pfree(answers);
	return count;
}

/* Loads the elements of a set, ascending, as if they were claimed now. */
static int64
load(DedupSet *set, Datum key, r64_set *s)
{
	int64	   *ids = MemoryContextAllocHuge(CurrentMemoryContext,
											 sizeof(int64) * LOAD_AT_ONCE);
	int64		lo = PG_INT64_MIN;
	int64		count = 0;
	size_t		n;

	dedup_lock(set, key, DEDUP_LOCK_ALONE);
	dedup_move_key(set, key);
	do
	{
		n = r64_read(s, lo, PG_INT64_MAX, false, ids, LOAD_AT_ONCE);
		if (n == 0)
			break;
		lo = ids[n - 1];
		count += load_ids(set, key, ids, (int) n);
	} while (n == LOAD_AT_ONCE && lo++ < PG_INT64_MAX);
	return count;
}

/*
 * roaring64_dedup_load(regclass, key text, ids roaring64) returns bigint:
 * remembers all elements of a set, in ascending order; how many were new.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_load);
Datum
roaring64_dedup_load(PG_FUNCTION_ARGS)
{
	r64_set		s;
	int64		count;

	dedup_not_null(fcinfo, 2, "set of ids");
	dedup_writable("roaring64_dedup_load()");
	s = DatumGetRoaring64(PG_GETARG_DATUM(2));
	dedup_connect();
	count = load(dedup_open(fcinfo), dedup_key(fcinfo), &s);
	SPI_finish();
	PG_RETURN_INT64(count);
}

/* Adds the ids of a chunk. */
static void
export_chunk(const DedupSet *set, r64_set *s, r64_accumulator *acc)
{
	int64		ids[512];
	int64		lo = PG_INT64_MIN;
	size_t		n;

	if (!set->snowflake)
	{
		r64_accumulate_set(acc, s);
		return;
	}
	do
	{
		n = r64_read(s, lo, PG_INT64_MAX, false, ids, lengthof(ids));
		for (size_t i = 0; i < n; i++)
			r64_accumulate(acc, dedup_id(set, ids[i]));
		if (n > 0)
			lo = ids[n - 1];
	} while (n == lengthof(ids) && lo++ < PG_INT64_MAX);
}

/* Adds what a statement that lists claims, or chunks, of a key gives. */
static void
export_rows(DedupSet *set, Datum key, int statement, r64_accumulator *acc)
{
	uint64		rows = state_read(&set->owner, statement, &key, NULL);

	for (uint64 i = 0; i < rows; i++)
	{
		Datum		value = state_value(SPI_tuptable->vals[i],
										SPI_tuptable->tupdesc, 1,
										statement == DEDUP_ALL_CLAIMS ?
										INT8OID : set->type);

		CHECK_FOR_INTERRUPTS();
		if (statement == DEDUP_ALL_CLAIMS)
			r64_accumulate(acc, DatumGetInt64(value));
		else
		{
			r64_set		s = DatumGetRoaring64(value);

			export_chunk(set, &s, acc);
		}
	}
	SPI_freetuptable(SPI_tuptable);
}

/*
 * roaring64_dedup_export(regclass, key text) returns roaring64: all ids of
 * the key that are remembered.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_export);
Datum
roaring64_dedup_export(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Datum		key = dedup_key(fcinfo);
	r64_accumulator acc;
	r64_set		all;
	Datum		result;
	DedupSet   *set;

	dedup_connect();
	set = dedup_open(fcinfo);
	r64_accumulator_init(&acc, &roaring64_env);
	export_rows(set, key, DEDUP_ALL_CLAIMS, &acc);
	export_rows(set, key, DEDUP_ALL_CHUNKS, &acc);
	all = r64_accumulator_set(&acc);
	MemoryContextSwitchTo(context);
	result = roaring64_datum(r64_copy(&roaring64_env, &all));
	SPI_finish();
	return result;
}

/* The bytes of all tables of a set, indexes and TOAST included. */
static int64
total_bytes(DedupSet *set)
{
	int64		bytes = 0;

	for (int i = 0; i < DEDUP_TABLES; i++)
		bytes += DatumGetInt64(DirectFunctionCall1(pg_total_relation_size,
												   ObjectIdGetDatum(set->owner.tables[i])));
	return bytes;
}

/*
 * roaring64_dedup_stats(regclass) returns a row: keys, claims that are not
 * folded, chunks, ids (in claims and chunks), bytes, bytes per id, the oldest
 * generation, and since when the oldest claim waits to be folded.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_stats);
Datum
roaring64_dedup_stats(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	TupleDesc	desc;
	Datum		values[8];
	bool		nulls[8];
	int			from[8] = {1, 2, 3, 4, 0, 0, 5, 6};
	DedupSet   *set;
	int64		bytes;
	int64		ids;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	desc = BlessTupleDesc(desc);
	dedup_connect();
	set = dedup_open(fcinfo);
	state_read(&set->owner, DEDUP_STATS, NULL, NULL);
	for (int i = 0; i < lengthof(values); i++)
	{
		nulls[i] = false;
		if (from[i] > 0)
			values[i] = SPI_getbinval(SPI_tuptable->vals[0],
									  SPI_tuptable->tupdesc, from[i],
									  &nulls[i]);
	}
	ids = DatumGetInt64(values[1]) + DatumGetInt64(values[3]);
	bytes = total_bytes(set);
	values[3] = Int64GetDatum(ids);
	values[4] = Int64GetDatum(bytes);
	values[5] = Float8GetDatum(ids > 0 ? (double) bytes / ids : 0);
	nulls[5] = ids == 0;
	SPI_finish();
	MemoryContextSwitchTo(context);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}
