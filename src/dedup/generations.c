/*-------------------------------------------------------------------------
 *
 * generations.c
 *	  What a dedup set with a window remembers, and when it forgets.
 *
 * The ids of a key are in generations.  New ones go into the current one.
 * When that is full, or has lasted its time, the next one begins, and those
 * go that are then one too many.  With two generations this is the pair of
 * bitmaps that swap at half the capacity.
 *
 * By count a generation is the capacity divided by how many there are, and it
 * ends with the id that fills it.  So between (g - 1) / g of the capacity and
 * all of it is remembered.
 *
 * By time a generation lasts the time to remember divided by one less than
 * how many there are.  An id is written while its generation is current, so
 * the generations that come before it goes last at least as long as is to be
 * remembered.  This needs every write to look first whether the generation
 * has ended, which dedup_append does.
 *
 * A key's row has the highest id of each generation that there is, the oldest
 * first, and the highest of all that were forgotten.
 *
 * src/dedup/generations.c
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
#include "state/statement.h"

#define NO_ID	PG_INT64_MIN	/* "highest" of a generation without ids */

/* The row of a key. */
typedef struct KeyState
{
	int64		generation;		/* the current one */
	int64		ids;			/* that have been written to it */
	TimestampTz started;
	bool		has_forgotten;
	int64		forgotten;		/* the highest id */
	int			nhighs;
	int64		highs[DEDUP_MAX_GENERATIONS + 1];
} KeyState;

/* Locks the row of a key, which is made if there is none. */
static void
lock_key(DedupSet *set, Datum key, KeyState *state)
{
	StateOwner *owner = &set->owner;
	bool		isnull;
	HeapTuple	row;
	TupleDesc	desc;
	Datum		highs;

	while (state_run(owner, DEDUP_LOCK_KEY, SPI_OK_SELECT, &key, NULL) == 0)
	{
		SPI_freetuptable(SPI_tuptable);
		state_run(owner, DEDUP_INSERT_KEY, SPI_OK_INSERT, &key, NULL);
	}
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	state->generation = DatumGetInt64(state_value(row, desc, 1, INT8OID));
	state->ids = DatumGetInt64(state_value(row, desc, 2, INT8OID));
	state->started = DatumGetTimestampTz(state_value(row, desc, 3,
													  TIMESTAMPTZOID));
	state->forgotten = DatumGetInt64(SPI_getbinval(row, desc, 4, &isnull));
	state->has_forgotten = !isnull;
	highs = state_value(row, desc, 5, INT8ARRAYOID);
	{
		int64	   *values = roaring64_array_values(DatumGetArrayTypeP(highs),
													&state->nhighs);

		if (state->nhighs < 1 || state->nhighs > DEDUP_MAX_GENERATIONS)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("row of key \"%s\" in table \"%s\" is damaged",
							TextDatumGetCString(key),
							get_rel_name(owner->tables[DEDUP_KEYS]))));
		memcpy(state->highs, values, sizeof(int64) * state->nhighs);
	}
	SPI_freetuptable(SPI_tuptable);
}

static void
save_key(DedupSet *set, Datum key, const KeyState *state)
{
	Datum		values[6] = {
		key,
		Int64GetDatum(state->generation),
		Int64GetDatum(state->ids),
		TimestampTzGetDatum(state->started),
		Int64GetDatum(state->forgotten),
		roaring64_bigint_array(state->highs, state->nhighs)
	};
	char		nulls[] = "      ";

	if (!state->has_forgotten)
		nulls[4] = 'n';
	state_run(&set->owner, DEDUP_UPDATE_KEY, SPI_OK_UPDATE, values, nulls);
}

/* Forgets the generations that are too many. */
static void
forget_old(DedupSet *set, Datum key, KeyState *state)
{
	Datum		values[2] = {
		key, Int64GetDatum(state->generation - set->generations)
	};
	int			excess = state->nhighs - set->generations;

	if (excess <= 0)
		return;
	for (int i = 0; i < excess; i++)
	{
		if (state->highs[i] == NO_ID)
			continue;
		if (!state->has_forgotten || state->forgotten < state->highs[i])
			state->forgotten = state->highs[i];
		state->has_forgotten = true;
	}
	state->nhighs -= excess;
	memmove(state->highs, state->highs + excess,
			sizeof(int64) * state->nhighs);
	state_run(&set->owner, DEDUP_FORGET_GENERATIONS, SPI_OK_DELETE, values,
			  NULL);
}

/* Begins the next generation. */
static void
begin_next(DedupSet *set, Datum key, KeyState *state, TimestampTz started)
{
	state->generation++;
	state->ids = 0;
	state->started = started;
	state->highs[state->nhighs++] = NO_ID;
	forget_old(set, key, state);
}

static TimestampTz
end_of_generation(const DedupSet *set, const KeyState *state)
{
	return DatumGetTimestampTz(DirectFunctionCall2(timestamptz_pl_interval,
												   TimestampTzGetDatum(state->started),
												   IntervalPGetDatum(&set->generation_time)));
}

/*
 * Begins the generations that are due by now: after a long silence one after
 * the other until all of the old ones are gone, and then a fresh one.
 */
static void
catch_up(DedupSet *set, Datum key, KeyState *state)
{
	TimestampTz now = GetCurrentTimestamp();

	forget_old(set, key, state);
	if (!set->by_time)
		return;
	for (int i = 0; i <= set->generations; i++)
	{
		TimestampTz end = end_of_generation(set, state);

		if (end > now)
			return;
		begin_next(set, key, state, end);
	}
	state->started = now;
}

/* Notes ids, of which one is the highest, as written to the generation. */
static void
note_ids(KeyState *state, int64 id, int64 written)
{
	int64	   *high = &state->highs[state->nhighs - 1];

	state->ids += written;
	*high = Max(*high, id);
}

static int64
highest(const int64 *ids, int n)
{
	int64		result = ids[0];

	for (int i = 1; i < n; i++)
		result = Max(result, ids[i]);
	return result;
}

/*
 * Writes ids into the chunks, in the order in which they were claimed: those
 * that still fit into the current generation, and so on.  The caller has the
 * key's lock FOLD or ALONE.
 */
void
dedup_append(DedupSet *set, Datum key, const int64 *ids, int n)
{
	KeyState	state;

	if (!dedup_is_windowed(set))
	{
		dedup_write(set, key, 0, ids, n);
		return;
	}

	lock_key(set, key, &state);
	catch_up(set, key, &state);
	while (n > 0)
	{
		int			take = n;
		int64		written;

		if (set->by_count)
			take = (int) Min(n, Max(set->generation_ids - state.ids, 0));
		written = dedup_write(set, key, state.generation, ids, take);
		if (take > 0)
			note_ids(&state, highest(ids, take), written);
		ids += take;
		n -= take;
		if (set->by_count && state.ids >= set->generation_ids)
			begin_next(set, key, &state, GetCurrentTimestamp());
	}
	save_key(set, key, &state);
}

/*
 * The same for a set of places that is not empty, whose highest id is given,
 * and a window in which the order of ids does not matter.
 */
void
dedup_append_set(DedupSet *set, Datum key, r64_set *places, int64 high)
{
	KeyState	state;

	if (!dedup_is_windowed(set))
	{
		dedup_write_set(set, key, 0, places);
		return;
	}
	Assert(!set->by_count);
	lock_key(set, key, &state);
	catch_up(set, key, &state);
	note_ids(&state, high,
			 dedup_write_set(set, key, state.generation, places));
	save_key(set, key, &state);
}

/*
 * Begins the generations of a key that are due, and forgets others.  The
 * caller has the key's lock FOLD or ALONE.
 */
void
dedup_rotate_key(DedupSet *set, Datum key)
{
	KeyState	state;

	lock_key(set, key, &state);
	catch_up(set, key, &state);
	save_key(set, key, &state);
}
