/*-------------------------------------------------------------------------
 *
 * set_returning.c
 *	  A set as rows: its elements, its runs, a histogram of it.
 *
 * All of these return one row per call and read at most a small batch ahead.
 * So a LIMIT above them, or a set of billions, costs no more than the rows
 * that are taken.  Only the histogram counts all its ranges first, to know
 * the longest bar.
 *
 * Each has its set, and the index that the engine makes for it, in the
 * context that lives until the last row; what one row needs goes where the
 * caller keeps rows.
 *
 * src/type/set_returning.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/int.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "roaring64.h"

#define ELEMENTS_BATCH	512
#define LONGEST_BAR		40		/* characters of the fullest range's bar */

/* What roaring64_elements keeps between two rows. */
typedef struct ElementsState
{
	r64_set		set;
	int64		lo;				/* what is not read yet; nothing if done */
	int64		hi;
	bool		reverse;
	bool		done;
	size_t		next;			/* where we are in the batch */
	size_t		count;
	int64		batch[ELEMENTS_BATCH];
} ElementsState;

/* What roaring64_ranges keeps between two rows. */
typedef struct RangesState
{
	r64_set		set;
	TypeCacheEntry *typcache;	/* of int8range */
	int64		lo;				/* what is not read yet; nothing if done */
	bool		done;
} RangesState;

/* What roaring64_histogram keeps between two rows. */
typedef struct HistogramState
{
	r64_set		set;
	TypeCacheEntry *typcache;	/* of int8range */
	int64		lo;				/* first integer of the next bar */
	uint64		width;			/* integers in a bar */
	uint64		wider;			/* so many bars get one more */
	uint64		most;			/* elements in the fullest one */
} HistogramState;

/* The first call of a function on rows: opens argument 0 for all of them. */
static r64_set
open_for_rows(FunctionCallInfo fcinfo, FuncCallContext *funcctx)
{
	MemoryContext oldcontext;
	r64_set		set;

	oldcontext = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
	set = roaring64_view(PG_GETARG_VARLENA_PP(0));
	r64_index_set(&set);
	MemoryContextSwitchTo(oldcontext);
	return set;
}

/* The first call of roaring64_elements. */
static void
begin_elements(FunctionCallInfo fcinfo, int64 lo, int64 hi, bool reverse)
{
	FuncCallContext *funcctx = SRF_FIRSTCALL_INIT();
	ElementsState *state;

	state = MemoryContextAlloc(funcctx->multi_call_memory_ctx,
							   sizeof(ElementsState));
	state->set = open_for_rows(fcinfo, funcctx);
	state->lo = lo;
	state->hi = hi;
	state->reverse = reverse;
	state->done = false;
	state->next = 0;
	state->count = 0;
	funcctx->user_fctx = state;
}

/* Reads the next batch, and notes what is left to read. */
static void
read_batch(ElementsState *state)
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
	ElementsState *state = (ElementsState *) funcctx->user_fctx;

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
		begin_elements(fcinfo, PG_INT64_MIN, PG_INT64_MAX, PG_GETARG_BOOL(1));
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

		roaring64_range_bounds(fcinfo, 1, &lo, &hi);
		begin_elements(fcinfo, lo, hi, PG_GETARG_BOOL(2));
	}
	return next_element(fcinfo);
}

/* The first call of roaring64_ranges. */
static void
begin_ranges(FunctionCallInfo fcinfo)
{
	FuncCallContext *funcctx = SRF_FIRSTCALL_INIT();
	RangesState *state;

	state = MemoryContextAlloc(funcctx->multi_call_memory_ctx,
							   sizeof(RangesState));
	state->set = open_for_rows(fcinfo, funcctx);
	state->typcache = roaring64_range_typcache();
	state->lo = PG_INT64_MIN;
	state->done = false;
	funcctx->user_fctx = state;
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
	RangesState *state;
	int64		first;
	int64		last;

	if (SRF_IS_FIRSTCALL())
		begin_ranges(fcinfo);
	funcctx = SRF_PERCALL_SETUP();
	state = (RangesState *) funcctx->user_fctx;

	if (state->done || !r64_next_run(&state->set, state->lo, PG_INT64_MAX,
									 &first, &last))
		SRF_RETURN_DONE(funcctx);

	state->done = pg_add_s64_overflow(last, 1, &state->lo);
	SRF_RETURN_NEXT(funcctx,
					roaring64_make_range(state->typcache, first, last));
}

/*
 * Lays out at most n bars over [min, max], all of one width but for the
 * first few, which get what does not divide evenly.  Returns how many.
 *
 * There may be 2^64 integers from min to max, which is too many for any type
 * here, so this computes with one less, and adds it to the remainder.
 */
static uint64
lay_out_bars(HistogramState *state, int64 min, int64 max, int32 n)
{
	uint64		span = (uint64) max - (uint64) min;
	uint64		bars = (span < (uint64) n) ? span + 1 : (uint64) n;

	state->lo = min;
	state->width = span / bars;
	state->wider = span % bars + 1;
	return bars;
}

/* The last integer of bar i, counted from 0, which begins at lo. */
static int64
end_of_bar(const HistogramState *state, uint64 i, int64 lo)
{
	uint64		width = state->width + (i < state->wider ? 1 : 0);

	return (int64) ((uint64) lo + width - 1);
}

/*
 * Returns the number of elements of the fullest bar: at least 1, even if the
 * set is damaged and its counts contradict its ends.
 */
static uint64
count_fullest(HistogramState *state, uint64 bars)
{
	uint64		most = 1;
	int64		lo = state->lo;

	for (uint64 i = 0; i < bars; i++)
	{
		int64		last = end_of_bar(state, i, lo);

		CHECK_FOR_INTERRUPTS();
		most = Max(most, r64_count_range(&state->set, lo, last));
		/* wraps around only after the last bar */
		lo = (int64) ((uint64) last + 1);
	}
	return most;
}

/*
 * Returns a bar as text.  Its length is proportional to the fullest bar's,
 * and rounded up, so that only an empty range has none.  Counts are far below
 * 2^58: an element takes more than a millionth of a byte.
 */
static Datum
draw_bar(const HistogramState *state, uint64 count)
{
	char		marks[LONGEST_BAR];
	uint64		length = (count * LONGEST_BAR + state->most - 1) / state->most;

	memset(marks, '#', length);
	return PointerGetDatum(cstring_to_text_with_len(marks, (int) length));
}

/* The first call of roaring64_histogram. */
static void
begin_histogram(FunctionCallInfo fcinfo)
{
	FuncCallContext *funcctx = SRF_FIRSTCALL_INIT();
	int32		n = PG_GETARG_INT32(1);
	HistogramState *state;
	MemoryContext oldcontext;
	int64		min;
	int64		max;

	if (n < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of ranges must be at least 1")));

	oldcontext = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
	if (get_call_result_type(fcinfo, NULL,
							 &funcctx->tuple_desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	funcctx->tuple_desc = BlessTupleDesc(funcctx->tuple_desc);
	state = palloc(sizeof(HistogramState));
	MemoryContextSwitchTo(oldcontext);

	state->set = open_for_rows(fcinfo, funcctx);
	state->typcache = roaring64_range_typcache();
	funcctx->max_calls = 0;
	if (r64_min(&state->set, &min) && r64_max(&state->set, &max))
	{
		funcctx->max_calls = lay_out_bars(state, min, max, n);
		state->most = count_fullest(state, funcctx->max_calls);
	}
	funcctx->user_fctx = state;
}

/*
 * roaring64_histogram(roaring64, n integer) returns rows (range int8range,
 * count bigint, bar text): the span from the smallest element to the largest
 * in n ranges of equal width (to within one, the wider first; fewer ranges if
 * the span has fewer integers), how many elements each holds, 0 included, and
 * that as a bar of up to LONGEST_BAR characters.  No row for an empty set.
 * Errors if n is below 1.
 */
PG_FUNCTION_INFO_V1(roaring64_histogram);
Datum
roaring64_histogram(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	HistogramState *state;
	uint64		count;
	int64		last;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (SRF_IS_FIRSTCALL())
		begin_histogram(fcinfo);
	funcctx = SRF_PERCALL_SETUP();
	state = (HistogramState *) funcctx->user_fctx;

	if (funcctx->call_cntr == funcctx->max_calls)
		SRF_RETURN_DONE(funcctx);

	last = end_of_bar(state, funcctx->call_cntr, state->lo);
	count = r64_count_range(&state->set, state->lo, last);
	values[0] = roaring64_make_range(state->typcache, state->lo, last);
	values[1] = Int64GetDatum((int64) count);
	values[2] = draw_bar(state, count);
	/* wraps around only after the last bar */
	state->lo = (int64) ((uint64) last + 1);
	SRF_RETURN_NEXT(funcctx,
					HeapTupleGetDatum(heap_form_tuple(funcctx->tuple_desc,
													  values, nulls)));
}
