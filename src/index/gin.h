/*-------------------------------------------------------------------------
 *
 * gin.h
 *	  Limits of a search by the GIN operator class, which its price depends on.
 *
 * src/index/gin.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_GIN_H
#define ROARING64_GIN_H

/*
 * Single keys to look for if one is enough.  For every row that is found GIN
 * looks at each of them, so the work grows with the square: scattered over
 * half the keys of an index, 2000 take as long as the range that covers them,
 * and 8000 twenty times as long.
 */
#define GIN_MAX_SINGLE		1024

/* Ranges, each of which is read into a bitmap of its own of up to work_mem bytes. */
#define GIN_MAX_RANGES		32

/* From how many keys on a range is cheaper than to look for each. */
#define GIN_MIN_RANGE		8

#endif							/* ROARING64_GIN_H */
