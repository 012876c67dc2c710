/*-------------------------------------------------------------------------
 *
 * aggregates.c
 *	  Transition, combine and final functions of the aggregates.
 *
 * The transition state is a roaring64 like any other, so aggregation can be
 * split among workers and servers, which exchange it as a value.  Between two
 * calls it is an expanded object below the aggregate's context, which the
 * executor passes on without copying it.
 *
 * The states share a memory context.  With every new group, a hash
 * aggregation adds up the memory of all contexts below its own, so with a
 * context per group its time would be quadratic.
 *
 * A NULL state stands for the start.  NULL inputs are ignored; if there are no
 * others, the state stays NULL.  Moving frames are in moving.c.
 *
 * src/aggregate/aggregates.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/memnodes.h"
#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "type/expanded.h"

/* Contexts of others to pass in search of the one for states. */
#define MAX_PASSED	16

#define STATES_NAME "roaring64 aggregate states"

/* The context that the state lives in; only the executor has one. */
static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("aggregate support function called outside an aggregate")));
	return context;
}

/*
 * Finds or makes the context of all states in an aggregate's context.  It is deleted
 * when the executor resets the aggregate's.  No state is deleted before: the
 * executor deletes a state if a transition function replaces it, and ours return
 * the state that they were given.
 */
static MemoryContext
states_context(MemoryContext aggregate)
{
	MemoryContext context = aggregate->firstchild;

	for (int i = 0; context != NULL && i < MAX_PASSED; i++)
	{
		if (strcmp(context->name, STATES_NAME) == 0)
			return context;
		context = context->nextchild;
	}
	return AllocSetContextCreate(aggregate, STATES_NAME,
								 ALLOCSET_DEFAULT_SIZES);
}

/*
 * The env of a new state.  If only the number of elements is wanted, the state never
 * has to be a value, and may be larger than one.  (Partial aggregation returns the
 * state, not the number.)
 */
static const r64_env *
state_env(FunctionCallInfo fcinfo)
{
	Aggref	   *aggref = AggGetAggref(fcinfo);

	return aggref != NULL && aggref->aggtype == INT8OID ?
		&roaring64_count_env : &roaring64_env;
}

/* The state to change, made if it is NULL. */
static ExpandedRoaring64 *
get_state(FunctionCallInfo fcinfo)
{
	MemoryContext context = aggregate_context(fcinfo);
	ExpandedRoaring64 *state = NULL;

	if (!PG_ARGISNULL(0))
		state = roaring64_writable(PG_GETARG_DATUM(0));
	if (state == NULL)
	{
		state = roaring64_new_expanded(states_context(context),
									   state_env(fcinfo));
		if (!PG_ARGISNULL(0))
			roaring64_expanded_combine(state, R64_OR,
									   DatumGetRoaring64(PG_GETARG_DATUM(0)));
	}
	return state;
}

/* Returns the state as it is, from a transition function. */
static Datum
keep_state(FunctionCallInfo fcinfo)
{
	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

/* roaring64_agg_transfn(state, bigint): adds an element. */
PG_FUNCTION_INFO_V1(roaring64_agg_transfn);
Datum
roaring64_agg_transfn(PG_FUNCTION_ARGS)
{
	ExpandedRoaring64 *state;
	MemoryContext oldcontext;

	if (PG_ARGISNULL(1))
		return keep_state(fcinfo);
	state = get_state(fcinfo);
	oldcontext = MemoryContextSwitchTo(state->hdr.eoh_context);
	r64_accumulate(state->acc, PG_GETARG_INT64(1));
	MemoryContextSwitchTo(oldcontext);
	return ExpandedRoaring64GetDatum(state);
}

/*
 * roaring64_agg_array_transfn(state, bigint[]): adds the elements of an
 * array, which must not be NULL.
 */
PG_FUNCTION_INFO_V1(roaring64_agg_array_transfn);
Datum
roaring64_agg_array_transfn(PG_FUNCTION_ARGS)
{
	ExpandedRoaring64 *state;
	MemoryContext oldcontext;
	int64	   *values;
	int			n;

	if (PG_ARGISNULL(1))
		return keep_state(fcinfo);
	values = roaring64_array_values(PG_GETARG_ARRAYTYPE_P(1), &n);
	state = get_state(fcinfo);
	oldcontext = MemoryContextSwitchTo(state->hdr.eoh_context);
	for (int i = 0; i < n; i++)
		r64_accumulate(state->acc, values[i]);
	MemoryContextSwitchTo(oldcontext);
	return ExpandedRoaring64GetDatum(state);
}

/* roaring64_agg_range_transfn(state, int8range): adds a range's integers. */
PG_FUNCTION_INFO_V1(roaring64_agg_range_transfn);
Datum
roaring64_agg_range_transfn(PG_FUNCTION_ARGS)
{
	ExpandedRoaring64 *state;
	MemoryContext oldcontext;
	int64		lo;
	int64		hi;

	if (PG_ARGISNULL(1))
		return keep_state(fcinfo);
	roaring64_filled_bounds(PG_GETARG_DATUM(1), &lo, &hi);
	state = get_state(fcinfo);
	oldcontext = MemoryContextSwitchTo(state->hdr.eoh_context);
	r64_accumulate_range(state->acc, lo, hi);
	MemoryContextSwitchTo(oldcontext);
	return ExpandedRoaring64GetDatum(state);
}

/* Whether the state is a set without elements. */
static bool
is_empty_state(FunctionCallInfo fcinfo)
{
	ExpandedRoaring64 *state = NULL;

	if (!PG_ARGISNULL(0))
		state = roaring64_writable(PG_GETARG_DATUM(0));
	return state != NULL && r64_accumulator_is_empty(state->acc);
}

/*
 * Combines the state with a set.  The first set becomes the state, so this
 * also works for operations whose neutral element is not the empty set.  If
 * the set cannot change the state, it is not even fetched.
 */
static Datum
combine_state(FunctionCallInfo fcinfo, r64_op op)
{
	ExpandedRoaring64 *state;
	r64_set		s;

	if (op == R64_AND && is_empty_state(fcinfo))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	if (PG_ARGISNULL(1))
		return keep_state(fcinfo);
	s = DatumGetRoaring64(PG_GETARG_DATUM(1));
	state = get_state(fcinfo);
	roaring64_expanded_combine(state, PG_ARGISNULL(0) ? R64_OR : op, s);
	return ExpandedRoaring64GetDatum(state);
}

/* roaring64_or_agg_transfn(state, roaring64): union. */
ROARING64_FUNCTION(roaring64_or_agg_transfn, combine_state(fcinfo, R64_OR))

/* roaring64_and_agg_transfn(state, roaring64): intersection. */
ROARING64_FUNCTION(roaring64_and_agg_transfn, combine_state(fcinfo, R64_AND))

/* roaring64_xor_agg_transfn(state, roaring64): symmetric difference. */
ROARING64_FUNCTION(roaring64_xor_agg_transfn, combine_state(fcinfo, R64_XOR))

/*
 * roaring64_and_or_agg_transfn(state, roaring64, boolean): intersection if true,
 * union if false.
 */
PG_FUNCTION_INFO_V1(roaring64_and_or_agg_transfn);
Datum
roaring64_and_or_agg_transfn(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(2))
		return keep_state(fcinfo);
	return combine_state(fcinfo, PG_GETARG_BOOL(2) ? R64_AND : R64_OR);
}

/*
 * roaring64_set_finalfn(state) returns roaring64: the state, read-only,
 * because the aggregation may go on.  A copy of the pointer in the caller's
 * context keeps servers before 16 from copying the whole set there.
 */
PG_FUNCTION_INFO_V1(roaring64_set_finalfn);
Datum
roaring64_set_finalfn(PG_FUNCTION_ARGS)
{
	Datum		state = PG_GETARG_DATUM(0);
	void	   *pointer;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(state)))
		PG_RETURN_DATUM(state);
	pointer = palloc(EXPANDED_POINTER_SIZE);
	memcpy(pointer, DatumGetEOHP(state)->eoh_ro_ptr, EXPANDED_POINTER_SIZE);
	PG_RETURN_POINTER(pointer);
}

/*
 * roaring64_cardinality_finalfn(state) returns bigint: how many elements;
 * 0 if there was no input.
 */
PG_FUNCTION_INFO_V1(roaring64_cardinality_finalfn);
Datum
roaring64_cardinality_finalfn(PG_FUNCTION_ARGS)
{
	Datum		state;
	r64_set		s;

	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(0);
	state = PG_GETARG_DATUM(0);
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(state)))
		PG_RETURN_INT64((int64) roaring64_expanded_cardinality(state));
	s = DatumGetRoaring64(state);
	PG_RETURN_INT64((int64) r64_cardinality(&s));
}
