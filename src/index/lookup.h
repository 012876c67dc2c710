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

#include "planner/server.h"

/*
 * What it costs to come to another page of the table; it is a share of what is
 * charged besides if that is not in memory.
 */
#define ROARING64_PAGE_COST	(random_page_cost / 8)

/*
 * A step may pass so many entries for each of its elements, which takes about
 * half the time of a search for each.
 */
#define ROARING64_PASSED_PER_SEARCH	8

/*
 * A plan of this scan has, besides what every plan of a scan has,
 *
 *	custom_exprs	what is indexed, by its first column; the set that it is
 *					looked up in; the test of the two
 *	custom_private	OID of the index; whether the rows are to come in
 *					descending order, 1 or 0; the costs of a search in the
 *					index, and of reading the whole table instead
 */
extern const CustomScanMethods roaring64_lookup_methods;

extern void roaring64_register_lookup(void);

#endif							/* ROARING64_LOOKUP_H */
