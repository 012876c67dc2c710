/*-------------------------------------------------------------------------
 *
 * cells.h
 *	  Containers being united: bitsets that many containers are added to.
 *
 * src/portable/cells.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_CELLS_H
#define R64_CELLS_H

#include "writer.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

#define R64_MAX_CELLS	1024	/* 8 MB of bitsets */

typedef struct r64_cells r64_cells;

extern r64_cells *r64_cells_new(const r64_env *env);

/*
 * Adds a container of the bucket with the given high half.  Returns false,
 * having done nothing, if its key is new and there is no cell left for it.
 */
extern bool r64_cells_add(r64_cells *cells, uint32_t high,
						  const r64_container *c);

/* The set of all that was added, and no cells any more. */
extern r64_buf r64_cells_take(r64_cells *cells);

extern bool r64_cells_empty(const r64_cells *cells);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif							/* R64_CELLS_H */
