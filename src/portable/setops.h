/*-------------------------------------------------------------------------
 *
 * setops.h
 *	  What is merged without being a set.
 *
 * src/portable/setops.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_SETOPS_H
#define R64_SETOPS_H

#include "writer.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

/* a op [lo, hi], for operations that keep what only the range has. */
extern r64_buf r64_merge_range(r64_op op, const r64_set *a,
							   int64_t lo, int64_t hi);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif							/* R64_SETOPS_H */
