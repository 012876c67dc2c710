/*-------------------------------------------------------------------------
 *
 * scans.h
 *	  What the planner has to know of the scans of a lookup and of GIN: their plans,
 *	  limits and unit costs.
 *
 * The scans themselves are in lookup.c and gin.c.
 *
 * src/index/scans.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_SCANS_H
#define ROARING64_SCANS_H

#include "postgres.h"

#include "server_planner.h"

/*
 * The cost of going to another page of the table, in memory.  Reading it costs
 * random_page_cost in addition.
 */
#define ROARING64_PAGE_COST	(random_page_cost / 8)

/* Of taking an entry from a btree and passing it or its row. */
#define ROARING64_ENTRY_COST	(2 * cpu_tuple_cost + 10 * cpu_operator_cost)

/*
 * The most single keys to search GIN for if any will do.  GIN checks each of them
 * for every row found, so the work grows with the square: scattered over half the
 * keys of an index, 2000 take as long as the range that covers them, and 8000 twenty
 * times as long.
 */
#define GIN_MAX_SINGLE	1024

/* From this many keys on a range is cheaper than single keys. */
#define GIN_MIN_RANGE	8

/* Rows that a lookup fetches one by one before the first batch. */
#define ROARING64_MIN_BATCH	64

/* The custom_exprs of a lookup's plan, by position. */
enum
{
	LOOKUP_ID,					/* the first column of the index */
	LOOKUP_SETS,				/* a list: the set, then those to subtract */
	LOOKUP_TEST					/* what the rows found pass */
};

/* Its custom_private, which roaring64_pack_lookup() makes. */
typedef struct LookupPlan
{
	Oid			index;
	int			direction;		/* of the rows: 1 ascending, -1 descending, 0
								 * any */
	bool		index_only;		/* the index has all columns wanted */
	bool		negated;		/* ids outside of the set are wanted */
	double		descent_cost;	/* of a search of the index */
	double		table_cost;		/* of reading the whole table instead */

	/* if other conditions have indexes: a bitmap of these */
	double		bitmap_cost;
	double		bitmap_pages;
	double		bitmap_share;	/* of the rows, with those of lossy pages */
} LookupPlan;

extern List *roaring64_pack_lookup(const LookupPlan *plan);
extern const CustomScanMethods roaring64_lookup_methods;

#endif							/* ROARING64_SCANS_H */
