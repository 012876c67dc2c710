/*-------------------------------------------------------------------------
 *
 * cells.c
 *	  Containers being united.
 *
 * A cell is a bitset of the values of one container.  Adding to it costs a bit
 * set per value, whatever is in it already, and its canonical form is found
 * only once, at the end.
 *
 * src/portable/cells.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "cells.h"
#include "container.h"

#define SLOTS		2048		/* of the hash table; a power of two */

typedef struct cell
{
	uint64_t	prefix;			/* high half and key */
	uint32_t	min;
	uint32_t	max;
	uint32_t	card;
	r64_words	bitset;
} cell;

struct r64_cells
{
	const r64_env *env;
	uint32_t	n;
	cell	   *last;			/* the one used last */
	cell	   *cells[R64_MAX_CELLS];
	uint16_t	slots[SLOTS];	/* hash table of 1 + position in cells */
};

r64_cells *
r64_cells_new(const r64_env *env)
{
	r64_cells  *cells = env->alloc(env->arg, sizeof(r64_cells));

	memset(cells, 0, sizeof(*cells));
	cells->env = env;
	return cells;
}

bool
r64_cells_empty(const r64_cells *cells)
{
	return cells->n == 0;
}

/* The cell of a prefix, made if there is none; NULL if there can be none. */
static cell *
find_cell(r64_cells *cells, uint64_t prefix)
{
	/* Fibonacci hashing: the top bits of a product with 2^64 / phi */
	uint32_t	slot = (uint32_t)
		((prefix * UINT64_C(0x9E3779B97F4A7C15)) >> 53);
	cell	   *c;

	if (cells->last != NULL && cells->last->prefix == prefix)
		return cells->last;
	for (; cells->slots[slot] != 0; slot = (slot + 1) % SLOTS)
	{
		c = cells->cells[cells->slots[slot] - 1];
		if (c->prefix == prefix)
			return cells->last = c;
	}
	if (cells->n == R64_MAX_CELLS)
		return NULL;
	c = cells->env->alloc(cells->env->arg, sizeof(cell));
	memset(c, 0, sizeof(*c));
	c->prefix = prefix;
	c->min = R64_LOW_MAX + 1;
	cells->cells[cells->n++] = c;
	cells->slots[slot] = (uint16_t) cells->n;
	return cells->last = c;
}

bool
r64_cells_add(r64_cells *cells, uint32_t high, const r64_container *c)
{
	cell	   *to = find_cell(cells, (uint64_t) high << 16 | c->key);
	uint32_t	min = r64_container_min(c);
	uint32_t	max = r64_container_max(c);
	bitset_container_t x;

	if (to == NULL)
		return false;

	/* often all is there: nothing to do if the cell has no gaps there */
	if (to->min <= min && max <= to->max &&
		to->card == to->max - to->min + 1)
		return true;

	x = (bitset_container_t) {.words = to->bitset.w};
	if (c->type == R64_ARRAY)
	{
		r64_values	scratch;
		array_container_t y = r64_array_view(cells->env, c, &scratch);

		to->card = (uint32_t)
			r64_kernel.bitset_set_list_withcard(x.words, to->card, y.array,
												(uint64_t) y.cardinality);
	}
	else if (c->type == R64_BITSET)
	{
		r64_words	scratch;
		bitset_container_t y = r64_bitset_view(c, &scratch);

		to->card = (uint32_t) r64_kernel.bitset_container_or(&x, &y, &x);
	}
	else
	{
		r64_run_list scratch;
		run_container_t y = r64_run_view(cells->env, c, &scratch);

		r64_set_runs(x.words, y.runs, (uint32_t) y.n_runs);
		to->card = (uint32_t)
			r64_kernel.bitset_container_compute_cardinality(&x);
	}
	if (min < to->min)
		to->min = min;
	if (max > to->max)
		to->max = max;
	return true;
}

static int
compare_cells(const void *a, const void *b)
{
	uint64_t	x = (*(cell *const *) a)->prefix;
	uint64_t	y = (*(cell *const *) b)->prefix;

	return (x > y) - (x < y);
}

r64_buf
r64_cells_take(r64_cells *cells)
{
	const r64_env *env = cells->env;
	r64_writer	w;

	qsort(cells->cells, cells->n, sizeof(cell *), compare_cells);
	r64_writer_init(&w, env, (size_t) cells->n * 1024);
	for (uint32_t i = 0; i < cells->n; i++)
	{
		cell	   *c = cells->cells[i];
		uint32_t	high = (uint32_t) (c->prefix >> 16);

		if (i == 0 || high != w.high)
		{
			if (i > 0)
				r64_writer_end(&w);
			r64_writer_begin(&w, high, 1, false);
		}
		r64_writer_bitset(&w, (uint16_t) c->prefix, c->bitset.w, c->card);
		env->release(env->arg, c);
		env->poll(env->arg);
	}
	if (cells->n > 0)
		r64_writer_end(&w);
	cells->n = 0;
	cells->last = NULL;
	memset(cells->slots, 0, sizeof(cells->slots));
	return r64_writer_finish(&w);
}
