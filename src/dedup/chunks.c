/*-------------------------------------------------------------------------
 *
 * chunks.c
 *	  Writing ids into the chunks of a dedup set, and erasing them.
 *
 * The ids are made one set, which sorts them, and that is cut into chunks.
 * The chunks that there are already come locked, in order; what is new is
 * merged into them by the engine, and all go back in one statement.  Batches
 * of chunks are bounded in number and bytes, since they travel as arrays.
 *
 * src/dedup/chunks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "dedup/dedup.h"
#include "state/statement.h"

#define CHUNKS_AT_ONCE	4096
#define BYTES_AT_ONCE	(64 * 1024 * 1024)

/* A chunk to be written. */
typedef struct Chunk
{
	int64		chunk;
	r64_set		change;			/* what to add or to erase */
	bool		exists;			/* there is a row for it */
	int64		ids;			/* in it, when done */
	Datum		members;		/* when done; 0 if nothing changes */
} Chunk;

typedef struct Work
{
	DedupSet   *set;
	Datum		key;
	int64		generation;
	r64_op		op;				/* R64_OR or R64_ANDNOT */
	int			at_once;		/* most chunks to lock and write together */
	Chunk	   *chunks;
	int			n;
	int64		changed;		/* ids that are there now, or no longer */
} Work;

/* All elements of a chunk, as a range of places. */
static void
chunk_bounds(const DedupSet *set, int64 chunk, int64 *lo, int64 *hi)
{
	uint64		low = (UINT64CONST(1) << set->chunk_bits) - 1;

	*lo = (int64) ((uint64) chunk << set->chunk_bits);
	*hi = (int64) ((uint64) *lo | low);
}

/*
 * Cuts the next chunks off a set, from the place *next on; false if that was
 * the last of them.
 */
static bool
cut_chunks(Work *work, r64_set *all, int64 *next)
{
	Size		bytes = 0;
	int64		place;

	work->n = 0;
	while (r64_next(all, *next, &place))
	{
		Chunk	   *chunk = &work->chunks[work->n++];
		int64		lo;
		int64		hi;
		r64_buf		part;

		memset(chunk, 0, sizeof(Chunk));
		chunk->chunk = dedup_chunk(work->set, place);
		chunk_bounds(work->set, chunk->chunk, &lo, &hi);
		part = r64_combine_range(R64_AND, all, lo, hi);
		chunk->change = r64_open_buf(&roaring64_env, part);
		bytes += part.size;
		if (hi == PG_INT64_MAX)
			return false;
		*next = hi + 1;
		if (work->n == work->at_once || bytes > BYTES_AT_ONCE)
			return true;
	}
	return false;
}

static Datum
chunk_numbers(const Work *work)
{
	ArrayType  *array = roaring64_make_array(work->n);

	for (int i = 0; i < work->n; i++)
		ROARING64_ARRAY_DATA(array)[i] = work->chunks[i].chunk;
	return roaring64_array_datum(array, work->n);
}

/* What becomes of a chunk that had these ids. */
static void
change_chunk(Work *work, Chunk *chunk, r64_set *old, int64 old_ids)
{
	r64_buf		made = r64_combine(work->op, old, &chunk->change);
	r64_set		s = r64_open_buf(&roaring64_env, made);

	chunk->exists = true;
	chunk->ids = (int64) r64_cardinality(&s);
	work->changed += Max(chunk->ids, old_ids) - Min(chunk->ids, old_ids);
	if (chunk->ids != old_ids)
		chunk->members = roaring64_datum(made);
	else
		pfree(made.base);
}

/* Locks those chunks that there are, and works out what becomes of them. */
static void
change_existing(Work *work)
{
	Datum		values[3] = {
		work->key, Int64GetDatum(work->generation), chunk_numbers(work)
	};
	Chunk	   *chunk = work->chunks;
	Oid			type = work->set->type;
	const Chunk *end = work->chunks + work->n;
	uint64		rows = state_run(&work->set->owner, DEDUP_LOCK_CHUNKS,
								 SPI_OK_SELECT, values, NULL);

	/* both are in the order of the chunks */
	for (uint64 row = 0; row < rows; row++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[row];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		int64		number = DatumGetInt64(state_value(tuple, desc, 1,
													   INT8OID));
		struct varlena *members = PG_DETOAST_DATUM_PACKED(state_value(tuple,
																	  desc, 2,
																	  type));
		r64_set		old = roaring64_view(members);

		while (chunk < end && chunk->chunk != number)
			chunk++;
		if (chunk == end)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("chunks of dedup set \"%s\" have been changed meanwhile",
							get_rel_name(work->set->owner.relid))));
		change_chunk(work, chunk, &old,
					 DatumGetInt64(state_value(tuple, desc, 3, INT8OID)));
		CHECK_FOR_INTERRUPTS();
	}
	SPI_freetuptable(SPI_tuptable);
}

/* Those chunks, as the arrays that a statement takes from $3 on. */
static int
chunk_arrays(Work *work, bool (*chosen) (const Chunk *), Datum *values)
{
	Datum	   *numbers = palloc(sizeof(Datum) * work->n);
	Datum	   *ids = palloc(sizeof(Datum) * work->n);
	Datum	   *members = palloc(sizeof(Datum) * work->n);
	int			n = 0;

	for (int i = 0; i < work->n; i++)
	{
		Chunk	   *chunk = &work->chunks[i];

		if (!chosen(chunk))
			continue;
		numbers[n] = Int64GetDatum(chunk->chunk);
		ids[n] = Int64GetDatum(chunk->ids);
		members[n++] = chunk->members;
	}
	values[0] = PointerGetDatum(construct_array(numbers, n, INT8OID, 8,
												FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	values[1] = PointerGetDatum(construct_array(ids, n, INT8OID, 8,
												FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	values[2] = PointerGetDatum(construct_array(members, n, work->set->type,
												-1, false, TYPALIGN_INT));
	return n;
}

static bool
is_changed(const Chunk *chunk)
{
	return chunk->exists && chunk->ids > 0 && chunk->members != (Datum) 0;
}

static bool
is_emptied(const Chunk *chunk)
{
	return chunk->exists && chunk->ids == 0;
}

static bool
is_missing(const Chunk *chunk)
{
	return !chunk->exists;
}

/* Writes those chunks by a statement. */
static void
write_back(Work *work, bool (*chosen) (const Chunk *), int statement,
		   int code)
{
	Datum		values[5] = {work->key, Int64GetDatum(work->generation)};
	int			n = chunk_arrays(work, chosen, values + 2);

	/* nothing may keep a row of ours from being written, or ids are lost */
	if (n > 0 && state_run(&work->set->owner, statement, code, values,
						   NULL) != n)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
				 errmsg("not all chunks of dedup set \"%s\" could be written",
						get_rel_name(work->set->owner.relid)),
				 errdetail("A trigger, a rule or row security is in the way.")));
}

/*
 * Inserts the chunks that there were not.  Another may have inserted one
 * meanwhile, if it adds ids of the key (members.c).  Those are left in the
 * work, to be looked at again; the others are done.
 */
static void
insert_missing(Work *work)
{
	Datum		values[5] = {work->key, Int64GetDatum(work->generation)};
	uint64		inserted = 0;
	int			n = 0;

	for (int i = 0; i < work->n; i++)
	{
		Chunk	   *chunk = &work->chunks[i];

		if (chunk->exists)
			continue;
		chunk->ids = (int64) r64_cardinality(&chunk->change);
		chunk->members = roaring64_datum(r64_copy(&roaring64_env,
												  &chunk->change));
	}
	if (chunk_arrays(work, is_missing, values + 2) > 0)
		inserted = state_run(&work->set->owner, DEDUP_INSERT_CHUNKS,
							 SPI_OK_INSERT_RETURNING, values, NULL);

	/* what comes back is in the order of the chunks, as they went in */
	for (int i = 0, row = 0; i < work->n; i++)
	{
		Chunk	   *chunk = &work->chunks[i];
		bool		isnull;

		if (chunk->exists)
			continue;
		if (row < inserted &&
			chunk->chunk == DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row],
														SPI_tuptable->tupdesc,
														1, &isnull)))
		{
			work->changed += chunk->ids;
			row++;
		}
		else
			work->chunks[n++] = *chunk;
	}
	if (inserted > 0)
		SPI_freetuptable(SPI_tuptable);
	work->n = n;
}

/* Writes some chunks. */
static void
write_chunks(Work *work)
{
	while (work->n > 0)
	{
		change_existing(work);
		write_back(work, is_changed, DEDUP_UPDATE_CHUNKS, SPI_OK_UPDATE);
		if (work->op == R64_ANDNOT)
		{
			write_back(work, is_emptied, DEDUP_DELETE_CHUNKS, SPI_OK_DELETE);
			return;
		}
		insert_missing(work);
	}
}

/*
 * Works through all chunks of some ids, given as places; returns how many ids
 * that changed.
 */
static int64
change_set(DedupSet *set, Datum key, int64 generation, r64_op op,
		   int at_once, r64_set *all)
{
	MemoryContext outer = AllocSetContextCreate(CurrentMemoryContext,
												"roaring64 chunks",
												ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(outer);
	MemoryContext inner = AllocSetContextCreate(outer,
												"roaring64 some chunks",
												ALLOCSET_DEFAULT_SIZES);
	Work		work = {
		.set = set,
		.key = key,
		.generation = generation,
		.op = op,
		.at_once = at_once,
		.chunks = palloc(sizeof(Chunk) * at_once)
	};
	int64		next = PG_INT64_MIN;
	bool		more = !r64_is_empty(all);

	r64_index_set(all);
	MemoryContextSwitchTo(inner);
	while (more)
	{
		more = cut_chunks(&work, all, &next);
		write_chunks(&work);
		MemoryContextReset(inner);
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(outer);
	return work.changed;
}

/* The same for ids in any order. */
static int64
change(DedupSet *set, Datum key, int64 generation, r64_op op, int at_once,
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
	changed = change_set(set, key, generation, op, at_once, &all);
	pfree(buf.base);
	pfree(places);
	return changed;
}

/* Adds ids that are given as a set of places to the chunks of a generation. */
int64
dedup_write_set(DedupSet *set, Datum key, int64 generation, r64_set *places)
{
	return change_set(set, key, generation, R64_OR, CHUNKS_AT_ONCE, places);
}

/*
 * Adds ids, in any order, to the chunks of a generation; returns how many
 * were not there.  The caller has the key's lock FOLD or ALONE.
 */
int64
dedup_write(DedupSet *set, Datum key, int64 generation, const int64 *ids,
			int n)
{
	return change(set, key, generation, R64_OR, CHUNKS_AT_ONCE, ids, n);
}

/*
 * The same for callers that are kept apart by the rows of the chunks alone:
 * they lock and write them one after the other, in order, lest two of them
 * deadlock.
 */
int64
dedup_write_shared(DedupSet *set, Datum key, const int64 *ids, int n)
{
	return change(set, key, 0, R64_OR, 1, ids, n);
}

/* Takes ids out of the chunks of a generation; returns how many were there. */
int64
dedup_erase(DedupSet *set, Datum key, int64 generation, const int64 *ids,
			int n)
{
	return change(set, key, generation, R64_ANDNOT, CHUNKS_AT_ONCE, ids, n);
}
