/*-------------------------------------------------------------------------
 *
 * moving.c
 *	  Unions and intersections of the sets in a moving frame.  Other aggregates have
 *	  no inverse, and are in aggregates.c.
 *
 * A set cannot be taken out of a union again, but sets leave a frame in the order in
 * which they entered it.  So a frame has two parts.  Sets enter at the back, which
 * combines and keeps them.  They leave from the front, which keeps for each set the
 * difference that it makes to the combination of the sets after it.  When the front
 * is empty, the back becomes the front, from the last set to the first.  So a set is
 * fetched once and takes part in four operations, whatever the length of the frame.
 *
 * The differences of a front are disjoint, so they take no more memory than the
 * sets.  If the sets of the back exceed work_mem, nothing is kept any more, and the
 * inverse function returns NULL: then the executor starts again for the next frame.
 *
 * src/aggregate/moving.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "type/roaring64.h"

#define FIRST_CAPACITY	32		/* sets */

/*
 * All of it is in the aggregate's context, which the executor resets to start again.
 * Only the result has to fit into a value.
 */
typedef struct MovingState
{
	r64_op		op;				/* R64_OR or R64_AND */
	bool		has_back;		/* any set in the back */
	bool		keeps;			/* whether sets can be removed */
	r64_buf		front;			/* combined; no base: no set in the front */
	r64_accumulator *back;		/* combined */

	/*
	 * differences of the front, the last without a base; then sets of the
	 * back
	 */
	r64_buf    *kept;
	size_t		first;			/* the next one to leave */
	size_t		middle;			/* where the back begins */
	size_t		end;
	size_t		capacity;		/* entries of kept */
	size_t		back_size;		/* bytes kept for the back */
} MovingState;

static const r64_env *const env = &roaring64_count_env;

/* Switches to the aggregate's context and returns the one before. */
static MemoryContext
enter_aggregate(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (AggCheckCallContext(fcinfo, &context) != AGG_CONTEXT_WINDOW)
		elog(ERROR, "moving-aggregate function called outside a window");
	return MemoryContextSwitchTo(context);
}

/* Makes a state without sets. */
static MovingState *
new_state(r64_op op)
{
	MovingState *state = palloc0(sizeof(MovingState) + r64_accumulator_size());

	state->op = op;
	state->keeps = true;
	state->back = (r64_accumulator *) (state + 1);
	r64_accumulator_init(state->back, env);
	return state;
}

static void
release(r64_buf *buf)
{
	if (buf->base != NULL)
		pfree(buf->base);
	buf->base = NULL;
}

/* Keeps a set of the back, which becomes the state's; or stops keeping any. */
static void
keep(MovingState *state, r64_buf set)
{
	state->back_size += set.size + sizeof(r64_buf);
	if (state->back_size > (size_t) work_mem * 1024)
	{
		for (size_t i = state->first; i < state->end; i++)
			release(&state->kept[i]);
		release(&set);
		state->keeps = false;
		return;
	}
	if (state->end == state->capacity)
	{
		state->capacity = Max(2 * state->capacity, FIRST_CAPACITY);
		state->kept = state->kept == NULL ?
			palloc(state->capacity * sizeof(r64_buf)) :
			repalloc_huge(state->kept, state->capacity * sizeof(r64_buf));
	}
	state->kept[state->end++] = set;
}

/* Returns a op b, to be kept. */
static r64_buf
combine(r64_op op, r64_buf a, r64_buf b)
{
	r64_set		x = r64_open_buf(env, a);
	r64_set		y = r64_open_buf(env, b);
	r64_buf		result = r64_combine(op, &x, &y);

	/* its memory was for both */
	result.base = repalloc_huge(result.base, env->headroom + result.size);
	return result;
}

/* Makes the back the front, which is empty. */
static void
turn(MovingState *state)
{
	size_t		n = state->end - state->middle;

	memmove(state->kept, state->kept + state->middle, n * sizeof(r64_buf));
	state->first = 0;
	state->middle = state->end = n;
	state->back_size = 0;
	state->has_back = false;
	r64_accumulator_clear(state->back);

	while (n-- > 0)
	{
		r64_buf		set = state->kept[n];
		r64_buf		after = state->front;

		state->kept[n].base = NULL;
		if (after.base == NULL)
		{
			state->front = set;
			continue;
		}
		state->front = combine(state->op, after, set);
		state->kept[n] = state->op == R64_OR ? combine(R64_ANDNOT, set, after) :
			combine(R64_ANDNOT, after, set);
		release(&after);
		release(&set);
	}
}

/* Takes the first set out. */
static void
remove_first(MovingState *state)
{
	r64_buf		before;
	r64_buf    *difference;

	if (state->first == state->middle)
		turn(state);
	difference = &state->kept[state->first++];
	before = state->front;
	state->front.base = NULL;
	if (difference->base != NULL)
		state->front = combine(state->op == R64_OR ? R64_ANDNOT : R64_OR,
							   before, *difference);
	release(difference);
	release(&before);
}

/* Adds the argument, unless it is NULL, to the state, which is made if NULL. */
static Datum
add(FunctionCallInfo fcinfo, r64_op op)
{
	MemoryContext oldcontext = enter_aggregate(fcinfo);
	MovingState *state = PG_ARGISNULL(0) ? new_state(op) :
		(MovingState *) PG_GETARG_POINTER(0);

	if (!PG_ARGISNULL(1))
	{
		struct varlena *copy = PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(1));
		r64_set		set = roaring64_view(copy);
		r64_buf		buf = {.base = (uint8 *) copy,.size = set.size};

		r64_accumulator_combine(state->back,
								state->has_back ? op : R64_OR, &set);
		state->has_back = true;
		if (state->keeps)
			keep(state, buf);
		else
			release(&buf);
	}
	MemoryContextSwitchTo(oldcontext);
	PG_RETURN_POINTER(state);
}

/* roaring64_or_agg_moving_transfn(state, roaring64): union. */
ROARING64_FUNCTION(roaring64_or_agg_moving_transfn, add(fcinfo, R64_OR))

/* roaring64_and_agg_moving_transfn(state, roaring64): intersection. */
ROARING64_FUNCTION(roaring64_and_agg_moving_transfn, add(fcinfo, R64_AND))

/*
 * roaring64_agg_moving_invfn(state, roaring64): takes out the first set, which is
 * the argument, unless that is NULL.  Returns NULL if it cannot.
 */
PG_FUNCTION_INFO_V1(roaring64_agg_moving_invfn);
Datum
roaring64_agg_moving_invfn(PG_FUNCTION_ARGS)
{
	MemoryContext oldcontext = enter_aggregate(fcinfo);
	MovingState *state = (MovingState *) PG_GETARG_POINTER(0);
	bool		can_remove = PG_ARGISNULL(1) ||
		(state->keeps && state->first < state->end);

	if (can_remove && !PG_ARGISNULL(1))
		remove_first(state);
	MemoryContextSwitchTo(oldcontext);
	if (!can_remove)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/*
 * roaring64_set_moving_finalfn(state) returns roaring64: the combined set, or NULL
 * if the frame has no set.
 */
PG_FUNCTION_INFO_V1(roaring64_set_moving_finalfn);
Datum
roaring64_set_moving_finalfn(PG_FUNCTION_ARGS)
{
	MovingState *state = (MovingState *) PG_GETARG_POINTER(0);
	MemoryContext oldcontext = enter_aggregate(fcinfo);
	r64_set		back = r64_accumulator_set(state->back);
	r64_set		front;

	MemoryContextSwitchTo(oldcontext);
	back.env = &roaring64_env;
	if (state->front.base == NULL && !state->has_back)
		PG_RETURN_NULL();
	if (state->front.base == NULL)
		PG_RETURN_ROARING64(r64_copy(&roaring64_env, &back));
	front = r64_open_buf(&roaring64_env, state->front);
	if (!state->has_back)
		PG_RETURN_ROARING64(r64_copy(&roaring64_env, &front));
	PG_RETURN_ROARING64(r64_combine(state->op, &front, &back));
}

/*
 * roaring64_cardinality_moving_finalfn(state) returns bigint: how many elements
 * the set has; 0 if there was no input.
 */
PG_FUNCTION_INFO_V1(roaring64_cardinality_moving_finalfn);
Datum
roaring64_cardinality_moving_finalfn(PG_FUNCTION_ARGS)
{
	MovingState *state;
	MemoryContext oldcontext;
	uint64		n = 0;

	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(0);
	state = (MovingState *) PG_GETARG_POINTER(0);
	oldcontext = enter_aggregate(fcinfo);
	if (state->has_back)
		n = r64_accumulator_cardinality(state->back);
	if (state->front.base != NULL)
	{
		r64_set		front = r64_open_buf(env, state->front);
		uint64		both = 0;

		if (state->has_back)
			both = r64_accumulator_and_cardinality(state->back, &front);
		if (state->has_back && state->op == R64_AND)
			n = both;
		else
			n += r64_cardinality(&front) - both;
	}
	MemoryContextSwitchTo(oldcontext);
	PG_RETURN_INT64((int64) n);
}
