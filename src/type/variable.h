/*-------------------------------------------------------------------------
 *
 * variable.h
 *	  Variables of a procedural language that are changed in place.
 *
 * src/type/variable.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_VARIABLE_H
#define ROARING64_VARIABLE_H

#include "utils/expandeddatum.h"

#include "roaring64.h"

/* Edits that wait; more are applied at once. */
#define ROARING64_MAX_EDITS (64 * 1024)

extern Datum roaring64_edit(Datum value, const int64 *values, int n,
							bool remove);
extern bool roaring64_is_variable(Datum value);
extern bool roaring64_is_writable_variable(Datum value);
extern bool roaring64_variable_contains(Datum value, int64 element);

#endif							/* ROARING64_VARIABLE_H */
