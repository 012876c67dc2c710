/*-------------------------------------------------------------------------
 *
 * set_returning.c
 *	  A set as rows: its elements, its runs.
 *
 * All of these return one row per call and read at most a small batch ahead.  So
 * under a LIMIT, a set of billions costs no more than the rows that are taken.
 * Arrays are in array.c, and chunks as rows in slice.c.
 *
 * The set, and the index that the engine makes for it, are in the context that
 * lives until the last row; a row is allocated in the caller's context.
 *
 * src/type/set_returning.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "funcapi.h"

#include "roaring64.h"

#define ELEMENTS_BATCH	512

/* State of a function on rows between two of them. */
typedef struct RowsState
{
	r64_set		set;
	int64		lo;				/* the next to read, unless done */
	int64		hi;
	bool		reverse;
	bool		done;
	size_t		next;			/* where we are in the batch */
	size_t		count;
	int64		batch[FLEXIBLE_ARRAY_MEMBER];	/* none for ranges */
} RowsState;

/*
 * The first call of a function on rows: opens argument 0 for all of them.  batch is
 * the number of elements to read at a time.
 */
static void
begin_rows(FunctionCallInfo fcinfo, int64 lo, int64 hi, bool reverse, size_t batch)
{
	FuncCallContext *funcctx = SRF_FIRSTCALL_INIT();
	MemoryContext oldcontext = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
	RowsState  *state = palloc0(offsetof(RowsState, batch) + batch * sizeof(int64));

	state->set = roaring64_view(PG_GETARG_VARLENA_PP(0));
	r64_index_set(&state->set);
	state->lo = lo;
	state->hi = hi;
	state->reverse = reverse;
	funcctx->user_fctx = state;
	MemoryContextSwitchTo(oldcontext);
}

/* Reads the next batch, and moves lo or hi behind it. */
static void
read_batch(RowsState *state)
{
	int64		last;

	state->next = 0;
	state->count = r64_read(&state->set, state->lo, state->hi, state->reverse,
							state->batch, ELEMENTS_BATCH);
	if (state->count < ELEMENTS_BATCH)
	{
		state->done = true;
		return;
	}

	last = state->batch[ELEMENTS_BATCH - 1];
	if (state->reverse)
		state->done = pg_sub_s64_overflow(last, 1, &state->hi);
	else
		state->done = pg_add_s64_overflow(last, 1, &state->lo);
}

/* Any call of roaring64_elements: the next row. */
static Datum
next_element(FunctionCallInfo fcinfo)
{
	FuncCallContext *funcctx = SRF_PERCALL_SETUP();
	RowsState  *state = (RowsState *) funcctx->user_fctx;

	if (state->next == state->count && !state->done)
		read_batch(state);
	if (state->next == state->count)
		SRF_RETURN_DONE(funcctx);
	SRF_RETURN_NEXT(funcctx, Int64GetDatum(state->batch[state->next++]));
}

/*
 * roaring64_elements(roaring64, reverse boolean) returns rows of bigint: the
 * elements, ascending, or descending if reverse.
 */
PG_FUNCTION_INFO_V1(roaring64_elements);
Datum
roaring64_elements(PG_FUNCTION_ARGS)
{
	if (SRF_IS_FIRSTCALL())
		begin_rows(fcinfo, PG_INT64_MIN, PG_INT64_MAX, PG_GETARG_BOOL(1),
				   ELEMENTS_BATCH);
	return next_element(fcinfo);
}

/*
 * roaring64_elements_range(roaring64, int8range, reverse boolean) returns
 * rows of bigint: the elements in the range, ascending, or descending if
 * reverse.
 */
PG_FUNCTION_INFO_V1(roaring64_elements_range);
Datum
roaring64_elements_range(PG_FUNCTION_ARGS)
{
	if (SRF_IS_FIRSTCALL())
	{
		int64		lo;
		int64		hi;

		roaring64_range_bounds(PG_GETARG_DATUM(1), &lo, &hi);
		begin_rows(fcinfo, lo, hi, PG_GETARG_BOOL(2), ELEMENTS_BATCH);
	}
	return next_element(fcinfo);
}

/*
 * roaring64_ranges(roaring64) returns rows of int8range: the fewest ranges
 * that hold the elements and nothing else, ascending.
 */
PG_FUNCTION_INFO_V1(roaring64_ranges);
Datum
roaring64_ranges(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	RowsState  *state;
	int64		first;
	int64		last;

	if (SRF_IS_FIRSTCALL())
		begin_rows(fcinfo, PG_INT64_MIN, PG_INT64_MAX, false, 0);
	funcctx = SRF_PERCALL_SETUP();
	state = (RowsState *) funcctx->user_fctx;

	if (state->done || !r64_next_run(&state->set, state->lo, state->hi,
									 &first, &last))
		SRF_RETURN_DONE(funcctx);

	state->done = pg_add_s64_overflow(last, 1, &state->lo);
	SRF_RETURN_NEXT(funcctx, roaring64_make_range(first, last));
}
