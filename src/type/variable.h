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

/*
 * Whether argument argno had better be changed in place: it is an object that
 * may be, or becomes one as it is the variable of a language that will hand it
 * over when it is changed again.  Then roaring64_edit gives the datum with n
 * values added or removed.
 */
#define ROARING64_MAX_EDITS (64 * 1024)
extern bool roaring64_edits_in_place(FunctionCallInfo fcinfo, int argno);
extern Datum roaring64_edit(Datum value, const int64 *values, int n,
							bool remove);

extern bool roaring64_is_variable(Datum value);

/* Whether it has an element, which does not apply its edits. */
extern bool roaring64_variable_contains(Datum value, int64 element);

#endif							/* ROARING64_VARIABLE_H */
