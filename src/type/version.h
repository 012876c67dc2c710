/*-------------------------------------------------------------------------
 *
 * version.h
 *	  Values that are changed one element at a time: versions of one set.
 *
 * src/type/version.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_VERSION_H
#define ROARING64_VERSION_H

#include "utils/expandeddatum.h"

#include "roaring64.h"

/*
 * Whether argument argno had better become a version than a flat value when
 * an element is added to or removed from it: it is a version already, or the
 * variable of a procedural language, which is likely to be changed again.
 */
extern bool roaring64_wants_version(FunctionCallInfo fcinfo, int argno);

/*
 * The set of a datum with n values added, or removed, as a new version.  For
 * more than a few it would not save anything.
 */
#define ROARING64_FEW_EDITS 1024
extern Datum roaring64_edit(Datum value, const int64 *values, int n,
							bool remove);

extern bool roaring64_is_version(Datum value);

/* A version's set: as a whole, which applies its edits; or one question. */
extern r64_set roaring64_version_view(Datum value);
extern bool roaring64_version_contains(Datum value, int64 element);

#endif							/* ROARING64_VERSION_H */
