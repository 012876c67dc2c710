/*-------------------------------------------------------------------------
 *
 * accumulator.c
 *	  A set that grows.
 *
 * src/portable/accumulator.c
 *
 *-------------------------------------------------------------------------
 */
#include "format.h"

/*
 * Values are merged when there are BATCH of them or, once the set is larger,
 * when they take half as many bytes as the set does.  Each merge then makes
 * the set grow by a fixed share, so that all merges together cost a few copies
 * of the result, while the values take less memory than the result does.
 */
#define FIRST_ROOM	64
#define BATCH		(256 * 1024)

static r64_set
flat_set(const r64_accumulator *acc)
{
	return r64_open(acc->env, acc->flat.base + acc->env->headroom,
					acc->flat.size);
}

static void
replace_flat(r64_accumulator *acc, r64_buf flat)
{
	acc->env->release(acc->env->arg, acc->flat.base);
	acc->flat = flat;
}

void
r64_accumulator_init(r64_accumulator *acc, const r64_env *env)
{
	memset(acc, 0, sizeof(*acc));
	acc->env = env;
	acc->flat = r64_from_values(env, NULL, 0);
}

/* Moves the buffered values into the flat set. */
static void
merge_values(r64_accumulator *acc)
{
	r64_buf		batch;
	r64_set		a;
	r64_set		b;

	if (acc->n == 0)
		return;
	batch = r64_from_values(acc->env, acc->values, acc->n);
	acc->n = 0;
	a = flat_set(acc);
	if (r64_is_empty(&a))
	{
		replace_flat(acc, batch);
		return;
	}
	b = r64_open(acc->env, batch.base + acc->env->headroom, batch.size);
	replace_flat(acc, r64_combine(R64_OR, &a, &b));
	acc->env->release(acc->env->arg, batch.base);
}

void
r64_accumulator_grow(r64_accumulator *acc)
{
	const r64_env *env = acc->env;
	size_t		limit = acc->flat.size / (2 * sizeof(int64_t));
	size_t		room = acc->room == 0 ? FIRST_ROOM : 2 * acc->room;

	if (limit < BATCH)
		limit = BATCH;
	if (acc->room >= limit)
	{
		merge_values(acc);
		return;
	}
	if (room > limit)
		room = limit;
	if (acc->values == NULL)
		acc->values = env->alloc(env->arg, room * sizeof(int64_t));
	else
		acc->values = env->resize(env->arg, acc->values,
								  room * sizeof(int64_t));
	acc->room = room;
}

void
r64_accumulator_combine(r64_accumulator *acc, r64_op op, const r64_set *b)
{
	r64_set		a = r64_accumulator_set(acc);

	replace_flat(acc, r64_combine(op, &a, b));
}

void
r64_accumulator_combine_range(r64_accumulator *acc, r64_op op,
							  int64_t lo, int64_t hi)
{
	r64_set		a = r64_accumulator_set(acc);
	r64_buf		result = r64_combine_range(op, &a, lo, hi);

	r64_close(&a);
	replace_flat(acc, result);
}

r64_set
r64_accumulator_set(r64_accumulator *acc)
{
	merge_values(acc);
	return flat_set(acc);
}
