/*-------------------------------------------------------------------------
 *
 * scans.h
 *	  What the planner has to know of scans: by a lookup of the elements of a set
 *	  in a btree, and by GIN.
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
 * The cost of going to another page of the table that is in memory.  One that
 * is not costs random_page_cost besides.
 */
#define ROARING64_PAGE_COST	(random_page_cost / 8)

/*
 * Single keys that GIN looks for if one is enough.  For every row that is found it
 * looks at each of them, so the work grows with the square: scattered over half
 * the keys of an index, 2000 take as long as the range that covers them, and 8000
 * twenty times as long.
 */
#define GIN_MAX_SINGLE	1024

/* From how many keys on a range is cheaper than to look for each. */
#define GIN_MIN_RANGE	8

/*
 * What a plan of a lookup has in addition to any scan's.  custom_exprs are the
 * first column of the index; the set, and those that are left out of it; the
 * test.  custom_private is this.
 */
typedef struct LookupPlan
{
	Oid			index;
	int			direction;		/* of the rows: 1 ascending, -1 descending, 0
								 * any */
	bool		index_only;		/* the index has all columns that are asked
								 * for */
	bool		negated;		/* ids are wanted that are not in the set */
	double		descent_cost;	/* of a search of the index */
	double		table_cost;		/* of reading the whole table instead */
} LookupPlan;

extern List *roaring64_pack_lookup(const LookupPlan *plan);
extern const CustomScanMethods roaring64_lookup_methods;

#endif							/* ROARING64_SCANS_H */
