/*-------------------------------------------------------------------------
 *
 * lookup.h
 *	  The scan that looks the elements of a set up in a btree.
 *
 * src/index/lookup.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_LOOKUP_H
#define ROARING64_LOOKUP_H

#include "postgres.h"

#include "server_planner.h"

/*
 * The cost of going to another page of the table that is in memory.  One that
 * is not costs random_page_cost besides.
 */
#define ROARING64_PAGE_COST	(random_page_cost / 8)

/*
 * What a plan of this scan has in addition to any scan's:
 *
 *	custom_exprs	the first column of the index; the set; the test
 *	custom_private	OID of the index; 1 if the rows have to come in ascending
 *					order, -1 in descending order, 0 in any; 1 if the index
 *					has all columns that are asked for, else 0; cost of a
 *					search of the index; cost of reading the whole table
 *					instead
 */
extern const CustomScanMethods roaring64_lookup_methods;

#endif							/* ROARING64_LOOKUP_H */
