/*-------------------------------------------------------------------------
 *
 * gin.h
 *	  What the files of the GIN operator class share.
 *
 * The keys of an index are bigints: the elements themselves, or the numbers
 * of the containers that hold them, which are the elements without their low
 * 16 bits.  Either way a key is element >> shift, so keys are ordered as
 * elements are, and a range of elements is a range of keys.
 *
 * src/index/gin.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_GIN_H
#define ROARING64_GIN_H

#include "postgres.h"

#include "access/gin.h"
#include "access/stratnum.h"
#include "fmgr.h"

#include "engine/r64.h"

/* The operators, with the indexed column on the left. */
#define GIN_CONTAINS_SET		1	/* column @> roaring64 */
#define GIN_CONTAINS_ELEMENT	2	/* column @> bigint */
#define GIN_CONTAINS_RANGE		3	/* column @> int8range */
#define GIN_CONTAINED_SET		4	/* column <@ roaring64 */
#define GIN_CONTAINED_RANGE		5	/* column <@ int8range */
#define GIN_OVERLAPS_SET		6	/* column && roaring64 */
#define GIN_OVERLAPS_RANGE		7	/* column && int8range */
#define GIN_EQUAL				8	/* column = roaring64 */

/*
 * Single keys to look for if one is enough.  For every row that is found GIN
 * looks at each of them, so the work grows with the square: scattered over
 * half the keys of an index, 2000 take as long as the ranges that cover them,
 * and 8000 twenty times as long.
 */
#define GIN_MAX_SINGLE		1024

/*
 * Ranges to look for.  Each is read in full into a bitmap of its own, which
 * may have work_mem bytes.
 */
#define GIN_MAX_RANGES		32

/* From how many keys on a range is cheaper than to look for each. */
#define GIN_MIN_RANGE		8

/* What a search looks for, a key or a range of them, as GIN's extra_data. */
typedef struct SearchKey
{
	int64		first;
	int64		last;
	bool		inexact;		/* the keys found do not decide the search */
} SearchKey;

/* gin.c */
extern int	roaring64_gin_shift(FunctionCallInfo fcinfo);
extern bool roaring64_gin_next_run(r64_set *set, int shift, int64 from,
								   int64 *first, int64 *last);

#endif							/* ROARING64_GIN_H */
