/*-------------------------------------------------------------------------
 *
 * accumulator.c
 *	  A set that grows.
 *
 * What is added waits in one of three buffers: single values and the values of
 * small containers in an array, ranges in another, larger containers in cells
 * where they are united as they come.  A full buffer becomes a set that is
 * united with the flat one.
 *
 * src/portable/accumulator.c
 *
 *-------------------------------------------------------------------------
 */
#include "cells.h"
#include "container.h"

/*
 * Values are merged when there are BATCH of them or, once the set is larger,
 * when they take half as many bytes as the set does.  Each merge then makes
 * the set grow by a fixed share, so that all merges together cost a few copies
 * of the result, while the values take less memory than the result does.
 *
 * Room for the first few only, as there can be an accumulator for each of many
 * groups.
 */
#define FIRST_ROOM	8
#define BATCH		(1024 * 1024)

/* Containers with more values than this go to a cell. */
#define FEW_VALUES	32

/*
 * A set is united with the flat one directly if it is one of the first, when
 * cells of 8 kB would take more than they save; or if it is large, has more
 * containers than there are cells, and the flat one is not much larger.
 */
#define FIRST_SETS	4
#define LARGE_SET	(64 * 1024)

static r64_set
flat_set(const r64_accumulator *acc)
{
	return r64_open_buf(acc->env, acc->flat);
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

/* Combines the flat set alone with another, which stays the caller's. */
static void
combine_flat(r64_accumulator *acc, r64_op op, const r64_set *s)
{
	r64_set		a = flat_set(acc);

	replace_flat(acc, op == R64_OR && r64_is_empty(&a) ?
				 r64_copy(acc->env, s) : r64_combine(op, &a, s));
}

/* Unites the flat set with a buffer that has become a set, and takes that. */
static void
merge(r64_accumulator *acc, r64_buf more)
{
	r64_set		a = flat_set(acc);
	r64_set		b;

	if (r64_is_empty(&a))
	{
		replace_flat(acc, more);
		return;
	}
	b = r64_open_buf(acc->env, more);
	combine_flat(acc, R64_OR, &b);
	acc->env->release(acc->env->arg, more.base);
}

static void
merge_values(r64_accumulator *acc)
{
	size_t		n = acc->nvalues;

	acc->nvalues = 0;
	if (n > 0)
		merge(acc, r64_from_values(acc->env, acc->values, n));
}

static void
merge_ranges(r64_accumulator *acc)
{
	size_t		n = acc->nranges;

	acc->nranges = 0;
	if (n > 0)
		merge(acc, r64_from_ranges(acc->env, acc->ranges, n));
}

static void
merge_cells(r64_accumulator *acc)
{
	if (acc->cells != NULL && !r64_cells_empty(acc->cells))
		merge(acc, r64_cells_take(acc->cells));
}

r64_set
r64_accumulator_set(r64_accumulator *acc)
{
	merge_values(acc);
	merge_ranges(acc);
	merge_cells(acc);
	return flat_set(acc);
}

/*
 * The room that a full buffer of items grows to; 0 if it has to be merged
 * instead.
 */
static size_t
next_room(const r64_accumulator *acc, size_t room, size_t item_size)
{
	size_t		limit = acc->flat.size / (2 * item_size);

	if (limit < BATCH)
		limit = BATCH;
	if (room >= limit)
		return 0;
	if (room == 0)
		return FIRST_ROOM;
	return 2 * room < limit ? 2 * room : limit;
}

static void *
resize_buffer(const r64_env *env, void *buffer, size_t size)
{
	if (buffer == NULL)
		return env->alloc(env->arg, size);
	return env->resize(env->arg, buffer, size);
}

void
r64_accumulator_grow(r64_accumulator *acc)
{
	size_t		room = next_room(acc, acc->values_room, sizeof(int64_t));

	if (room == 0)
		merge_values(acc);
	else
	{
		acc->values = resize_buffer(acc->env, acc->values,
									room * sizeof(int64_t));
		acc->values_room = room;
	}
}

void
r64_accumulate_range(r64_accumulator *acc, int64_t lo, int64_t hi)
{
	if (lo > hi)
		return;
	if (acc->nranges == acc->ranges_room)
	{
		size_t		room = next_room(acc, acc->ranges_room, sizeof(r64_range));

		if (room == 0)
			merge_ranges(acc);
		else
		{
			acc->ranges = resize_buffer(acc->env, acc->ranges,
										room * sizeof(r64_range));
			acc->ranges_room = room;
		}
	}
	acc->ranges[acc->nranges++] = (r64_range) {.lo = lo,.hi = hi};
}

static void
accumulate_container(r64_accumulator *acc, uint32_t high,
					 const r64_container *c)
{
	uint64_t	base = (uint64_t) high << 32 | (uint32_t) c->key << 16;

	if (c->type == R64_ARRAY && c->card <= FEW_VALUES)
	{
		for (uint32_t i = 0; i < c->card; i++)
			r64_accumulate(acc, (int64_t)
						   (base | r64_load16(c->data + 2 * (size_t) i)));
		return;
	}
	if (acc->cells == NULL)
		acc->cells = r64_cells_new(acc->env);
	if (!r64_cells_add(acc->cells, high, c))
	{
		merge_cells(acc);
		(void) r64_cells_add(acc->cells, high, c);
	}
}

/* Whether a set has more than n containers. */
static bool
has_more_containers(const r64_set *s, uint64_t n)
{
	uint64_t	count = 0;
	r64_walk	w;

	for (r64_walk_start(&w, s); w.live && count <= n; r64_walk_next(&w))
		count += w.b.n;
	return count > n;
}

void
r64_accumulate_set(r64_accumulator *acc, const r64_set *s)
{
	r64_walk	w;

	if (acc->nsets < FIRST_SETS ||
		(s->size >= LARGE_SET && s->size >= acc->flat.size / 4 &&
		 has_more_containers(s, R64_MAX_CELLS)))
	{
		acc->nsets++;
		combine_flat(acc, R64_OR, s);
		return;
	}
	for (r64_walk_start(&w, s); w.live; r64_walk_next(&w))
	{
		for (uint32_t i = 0; i < w.b.n; i++)
		{
			r64_container c;

			r64_container_at(s->env, &w.b, i, &c);
			accumulate_container(acc, w.b.high, &c);
		}
	}
}

void
r64_accumulator_combine(r64_accumulator *acc, r64_op op, const r64_set *s)
{
	(void) r64_accumulator_set(acc);
	combine_flat(acc, op, s);
}
