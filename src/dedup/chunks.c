/*-------------------------------------------------------------------------
 *
 * chunks.c
 *	  Writing ids into the chunks of a dedup set, and erasing them.
 *
 * The ids are made one set, which sorts them, and that is cut into chunks.
 * They are read, changed and written back one after the other, in order, so
 * that no two who do this deadlock.  A chunk is read without locking it, and
 * written if it is still the version that was read.  If somebody has written
 * another meanwhile, or there is nothing to change, which somebody may be about
 * to change, it is locked and read again.
 *
 * Each statement names one chunk: given many in an array, the server would
 * plan for how many rows the table had when the statement was prepared, and
 * that may be by reading all of a key's.
 *
 * src/dedup/chunks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "dedup/dedup.h"
#include "state/statement.h"

/* How often to try, if a chunk is neither found nor can be inserted. */
#define MOST_TRIES	10

/* The parameters of the statements, from 0; they have the first so many. */
enum
{
	KEY,
	GENERATION,
	CHUNK,						/* those that read */
	IDS,
	MEMBERS,					/* INSERT */
	ROW,
	XMIN,						/* UPDATE and DELETE */
	PARAMETERS
};

typedef struct Work
{
	DedupSet   *set;
	r64_op		op;				/* R64_OR or R64_ANDNOT */
	bool		may_scan;		/* chunks may be read without locking them */
	DedupChunk	chunk;			/* that is worked on */
	Datum		values[PARAMETERS];
} Work;

/* All elements of a chunk, as a range of places. */
static void
chunk_bounds(const DedupSet *set, int64 chunk, int64 *lo, int64 *hi)
{
	uint64		low = (UINT64CONST(1) << set->chunk_bits) - 1;

	*lo = (int64) ((uint64) chunk << set->chunk_bits);
	*hi = (int64) ((uint64) *lo | low);
}

static uint64
run(Work *work, int statement, int code)
{
	return state_run(&work->set->owner, statement, code, work->values, NULL);
}

/* Reports that something keeps our rows from being written: ids are lost. */
static R64_NORETURN void
not_written(const Work *work)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
			 errmsg("not all chunks of dedup set \"%s\" could be written",
					get_rel_name(work->set->owner.relid)),
			 errdetail("A trigger, a rule or row security is in the way, or others keep adding and forgetting the same ids.")));
}

/* Reads the chunk as of now; false if there is none. */
static bool
scan_chunk(Work *work)
{
	bool		found;

	/* what this transaction has done so far must be in the snapshot */
	CommandCounterIncrement();
	PushActiveSnapshot(GetLatestSnapshot());
	found = dedup_scan_chunk(work->set, work->values[KEY], &work->chunk);
	PopActiveSnapshot();
	return found;
}

/* Locks the chunk and reads it; false if there is none. */
static bool
lock_chunk(Work *work)
{
	DedupChunk *chunk = &work->chunk;
	bool		found = run(work, DEDUP_LOCK_CHUNK, SPI_OK_SELECT) > 0;

	if (found)
	{
		HeapTuple	row = SPI_tuptable->vals[0];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		Datum		members = state_value(row, desc, 1, work->set->type);

		chunk->members = roaring64_view(PG_DETOAST_DATUM_COPY(members));
		chunk->ids = DatumGetInt64(state_value(row, desc, 2, INT8OID));
		chunk->row = *(ItemPointer) DatumGetPointer(state_value(row, desc, 3,
																TIDOID));
		chunk->xmin = DatumGetTransactionId(state_value(row, desc, 4, XIDOID));
	}
	SPI_freetuptable(SPI_tuptable);
	return found;
}

/*
 * Writes what becomes of the chunk; false if it has to be locked for that.
 * Sets how many ids that changes.
 */
static bool
change_chunk(Work *work, bool locked, r64_set *change, int64 *changed)
{
	DedupChunk *old = &work->chunk;
	r64_buf		made = r64_combine(work->op, &old->members, change);
	r64_set		s = r64_open_buf(&roaring64_env, made);
	int64		ids = (int64) r64_cardinality(&s);

	*changed = work->op == R64_OR ? ids - old->ids : old->ids - ids;
	if (*changed == 0)
		return locked;
	work->values[IDS] = Int64GetDatum(ids);
	work->values[MEMBERS] = roaring64_datum(made);
	work->values[ROW] = PointerGetDatum(&old->row);
	work->values[XMIN] = TransactionIdGetDatum(old->xmin);
	if (ids == 0)
		return run(work, DEDUP_DELETE_CHUNK, SPI_OK_DELETE) == 1;
	return run(work, DEDUP_UPDATE_CHUNK, SPI_OK_UPDATE) == 1;
}

/*
 * Adds ids to the chunk, or erases them; returns how many were changed.  A
 * chunk that is not there is inserted, unless another who adds ids does that
 * meanwhile.
 */
static int64
work_on_chunk(Work *work, r64_buf part)
{
	r64_set		change = r64_open_buf(&roaring64_env, part);
	int64		ids = (int64) r64_cardinality(&change);
	int64		changed;

	for (int i = 0; i < MOST_TRIES; i++)
	{
		bool		locked = i > 0 || !work->may_scan;

		CHECK_FOR_INTERRUPTS();
		if (locked ? lock_chunk(work) : scan_chunk(work))
		{
			if (change_chunk(work, locked, &change, &changed))
				return changed;
			if (locked)
				break;
			continue;
		}
		if (work->op == R64_ANDNOT)
			return 0;
		work->values[IDS] = Int64GetDatum(ids);
		work->values[MEMBERS] = roaring64_datum(part);
		if (run(work, DEDUP_INSERT_CHUNK, SPI_OK_INSERT) == 1)
			return ids;
	}
	not_written(work);
}

/*
 * Works through all chunks of some ids, given as places; returns how many ids
 * that changed.
 */
static int64
change_set(DedupSet *set, Datum key, int64 generation, r64_op op,
		   r64_set *all)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "roaring64 chunk",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext;
	Work		work = {
		.set = set,
		.op = op,
		.may_scan = !IsolationUsesXactSnapshot() && dedup_may_scan_chunks(set),
		.chunk.generation = generation,
		.values = {
			[KEY] = key,
			[GENERATION] = Int64GetDatum(generation)
		}
	};
	int64		lo = PG_INT64_MIN;
	int64		hi;
	int64		place;
	int64		changed = 0;

	r64_index_set(all);
	oldcontext = MemoryContextSwitchTo(context);
	while (r64_next(all, lo, &place))
	{
		int64		number = dedup_chunk(set, place);

		work.chunk.number = number;
		work.values[CHUNK] = Int64GetDatum(number);
		chunk_bounds(set, number, &lo, &hi);
		changed += work_on_chunk(&work, r64_combine_range(R64_AND, all, lo, hi));
		MemoryContextReset(context);
		if (hi == PG_INT64_MAX)
			break;
		lo = hi + 1;
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	r64_close(all);
	return changed;
}

/* The same for ids in any order. */
static int64
change(DedupSet *set, Datum key, int64 generation, r64_op op,
	   const int64 *ids, int n)
{
	int64	   *places = MemoryContextAllocHuge(CurrentMemoryContext,
												sizeof(int64) * Max(n, 1));
	r64_buf		buf;
	r64_set		all;
	int64		changed;

	for (int i = 0; i < n; i++)
		places[i] = dedup_place(set, ids[i]);
	buf = r64_from_values(&roaring64_env, places, n);
	all = r64_open_buf(&roaring64_env, buf);
	changed = change_set(set, key, generation, op, &all);
	pfree(buf.base);
	pfree(places);
	return changed;
}

/* Adds ids that are given as a set of places to the chunks of a generation. */
int64
dedup_write_set(DedupSet *set, Datum key, int64 generation, r64_set *places)
{
	return change_set(set, key, generation, R64_OR, places);
}

/*
 * Adds ids, in any order, to the chunks of a generation; returns how many
 * were not there.
 */
int64
dedup_write(DedupSet *set, Datum key, int64 generation, const int64 *ids,
			int n)
{
	return change(set, key, generation, R64_OR, ids, n);
}

/* Takes ids out of the chunks of a generation; returns how many were there. */
int64
dedup_erase(DedupSet *set, Datum key, int64 generation, const int64 *ids,
			int n)
{
	return change(set, key, generation, R64_ANDNOT, ids, n);
}
