/*-------------------------------------------------------------------------
 *
 * slice.c
 *	  A set cut into pages and chunks, or moved.
 *
 * Positions are those of the ascending order of the elements.  Only the requested
 * part is read and copied; of the rest of the set only the bucket headers are
 * read.
 *
 * src/type/slice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/int.h"
#include "funcapi.h"

#include "roaring64.h"

/* State of roaring64_split between two rows. */
typedef struct SplitState
{
	r64_set		set;
	int32		bits;
	uint64		low;			/* mask of that many bits */
	int64		next;			/* where the next chunk starts or later */
	bool		done;
} SplitState;

/* Checks a number of elements that is an argument. */
static int64
check_count(int64 n)
{
	if (n < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of elements must not be negative")));
	return n;
}

/*
 * roaring64_slice(roaring64, skip bigint, n bigint) returns roaring64: the n
 * elements after the skip smallest, or all of these if n is NULL.  NULL if
 * another argument is.  Errors if skip or n is negative.
 */
PG_FUNCTION_INFO_V1(roaring64_slice);
Datum
roaring64_slice(PG_FUNCTION_ARGS)
{
	r64_set    *s;
	int64		skip;
	int64		n;
	int64		lo;
	int64		hi;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	s = PG_GETARG_ROARING64(0);
	skip = check_count(PG_GETARG_INT64(1));
	n = PG_ARGISNULL(2) ? PG_INT64_MAX : check_count(PG_GETARG_INT64(2));

	if (n > 0 && r64_select(s, (uint64) skip, &lo))
	{
		if (!r64_select(s, (uint64) skip + (uint64) n - 1, &hi))
			hi = PG_INT64_MAX;
	}
	else
	{
		lo = 1;					/* an empty range */
		hi = 0;
	}
	PG_RETURN_ROARING64(r64_combine_range(R64_AND, s, lo, hi));
}

/*
 * The first n elements above the bound that is the last argument, ascending, or
 * if reverse the last n below it, descending, as a bigint[].
 */
static Datum
make_page(FunctionCallInfo fcinfo, bool reverse)
{
	r64_set    *s;
	int64		n;
	int64		lo = PG_INT64_MIN;
	int64		hi = PG_INT64_MAX;
	ArrayType  *page;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	s = PG_GETARG_ROARING64(0);
	n = check_count(PG_GETARG_INT32(1));
	if (!PG_ARGISNULL(2) &&
		(reverse ? pg_sub_s64_overflow(PG_GETARG_INT64(2), 1, &hi) :
		 pg_add_s64_overflow(PG_GETARG_INT64(2), 1, &lo)))
		n = 0;					/* nothing is beyond the outermost bigint */
	n = Min(n, (int64) r64_count_range(s, lo, hi));
	page = roaring64_make_array(n);
	n = r64_read(s, lo, hi, reverse, ROARING64_ARRAY_DATA(page), n);
	return roaring64_array_datum(page, (int) n);
}

/*
 * roaring64_first(roaring64, n integer, after bigint) returns bigint[]: the
 * n smallest elements above after, or of all if after is NULL, ascending.
 * For the next page, give the last element of this one.  NULL if another
 * argument is.  Errors if n is negative.
 */
ROARING64_FUNCTION(roaring64_first, make_page(fcinfo, false))

/*
 * roaring64_last(roaring64, n integer, before bigint) returns bigint[]: the n
 * largest elements below before, or of all if before is NULL, descending.
 * Otherwise as roaring64_first.
 */
ROARING64_FUNCTION(roaring64_last, make_page(fcinfo, true))

/*
 * roaring64_sample(roaring64, n bigint, seed bigint) returns roaring64: n
 * elements drawn at random, or all if there are fewer.  The same arguments
 * give the same sample.  Errors if n is negative.
 */
PG_FUNCTION_INFO_V1(roaring64_sample);
Datum
roaring64_sample(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		n = check_count(PG_GETARG_INT64(1));
	int64		total = (int64) r64_cardinality(s);

	if (n < total && Min(n, total - n) > MaxAllocSize / sizeof(int64))
		roaring64_too_large("list of sampled elements",
							"Sample the parts of the set that roaring64_split returns.");
	PG_RETURN_ROARING64(r64_sample(s, (uint64) n,
								   (uint64) PG_GETARG_INT64(2)));
}

/*
 * roaring64_shift(roaring64, delta bigint) returns roaring64: every element
 * plus delta.  Errors if one leaves the range of bigint.
 */
PG_FUNCTION_INFO_V1(roaring64_shift);
Datum
roaring64_shift(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	int64		delta = PG_GETARG_INT64(1);
	int64_t		outermost;
	int64		shifted;

	if ((delta < 0 ? r64_min(s, &outermost) : r64_max(s, &outermost)) &&
		pg_add_s64_overflow(outermost, delta, &shifted))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range"),
				 errdetail("Adding %lld to element %lld exceeds the range of bigint.",
						   (long long) delta, (long long) outermost)));
	PG_RETURN_ROARING64(r64_shift(s, delta));
}

/* The first call of roaring64_split: what all rows need. */
static void
begin_split(FunctionCallInfo fcinfo)
{
	FuncCallContext *funcctx = SRF_FIRSTCALL_INIT();
	MemoryContext oldcontext;
	SplitState *state;

	oldcontext = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
	if (get_call_result_type(fcinfo, NULL,
							 &funcctx->tuple_desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	funcctx->tuple_desc = BlessTupleDesc(funcctx->tuple_desc);

	state = palloc0(sizeof(SplitState));
	state->bits = PG_GETARG_INT32(1);
	if (state->bits < 0 || state->bits > 63)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of bits must be between 0 and 63")));
	state->low = (UINT64CONST(1) << state->bits) - 1;
	state->set = roaring64_view(PG_GETARG_VARLENA_PP(0));
	state->next = PG_INT64_MIN;
	/* here, so that the index is not made in the context of one row */
	r64_index_set(&state->set);
	funcctx->user_fctx = state;
	MemoryContextSwitchTo(oldcontext);
}

/*
 * roaring64_split(roaring64, bits integer) returns rows (chunk bigint,
 * ids roaring64): the set cut at the multiples of 2^bits, chunks
 * ascending, none empty.  The chunk's number is what its ids have in
 * common, element >> bits; the ids are the elements as they are, so that
 * the union of all is the set.  Errors unless bits is 0 to 63.
 */
PG_FUNCTION_INFO_V1(roaring64_split);
Datum
roaring64_split(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	SplitState *state;
	int64		first;
	int64		last;
	Datum		values[2];
	bool		nulls[2] = {false};

	if (SRF_IS_FIRSTCALL())
		begin_split(fcinfo);
	funcctx = SRF_PERCALL_SETUP();
	state = (SplitState *) funcctx->user_fctx;

	if (state->done || !r64_next(&state->set, state->next, &first))
		SRF_RETURN_DONE(funcctx);

	last = (int64) ((uint64) first | state->low);
	state->done = pg_add_s64_overflow(last, 1, &state->next);
	values[0] = Int64GetDatum(first >> state->bits);
	/* from where the chunk starts, since a whole container is copied */
	values[1] = roaring64_datum(r64_combine_range(R64_AND, &state->set,
												  (int64) ((uint64) first & ~state->low),
												  last));
	SRF_RETURN_NEXT(funcctx,
					HeapTupleGetDatum(heap_form_tuple(funcctx->tuple_desc,
													  values, nulls)));
}
