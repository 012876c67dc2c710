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

/* The operators, with the indexed column on the left. */
#define GIN_CONTAINS_SET		1	/* column @> roaring64 */
#define GIN_CONTAINS_ELEMENT	2	/* column @> bigint */
#define GIN_CONTAINS_RANGE		3	/* column @> int8range */
#define GIN_CONTAINED_SET		4	/* column <@ roaring64 */
#define GIN_CONTAINED_RANGE		5	/* column <@ int8range */
#define GIN_OVERLAPS_SET		6	/* column && roaring64 */
#define GIN_OVERLAPS_RANGE		7	/* column && int8range */
#define GIN_EQUAL				8	/* column = roaring64 */

/* What a search looks for, a key or a range of them, as GIN's extra_data. */
typedef struct SearchKey
{
	int64		first;
	int64		last;
	bool		inexact;		/* the keys found do not decide the search */
} SearchKey;

/* gin.c */
extern int	roaring64_gin_shift(FunctionCallInfo fcinfo);

#endif							/* ROARING64_GIN_H */
