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

#include "access/sdir.h"
#include "nodes/plannodes.h"

/*
 * What it costs to come to another page of the table; it is a share of what is
 * charged besides if that is not in memory.
 */
#define ROARING64_PAGE_COST	(random_page_cost / 8)

/* What a plan of this scan says, besides what every plan of a scan does. */
typedef struct LookupPlan
{
	Node	   *id;				/* what is indexed, by its first column */
	Node	   *set;			/* what it is looked up in */
	Node	   *condition;		/* the test of the two */
	Oid			index;
	ScanDirection order;		/* of the rows, by id; or no movement */
	double		descent_cost;	/* of one search in the index */
	double		table_cost;		/* of reading the whole table instead */
} LookupPlan;

extern void roaring64_store_lookup(CustomScan *scan, const LookupPlan *plan);

/* What copies and reads such plans; once, when the library is loaded. */
extern void roaring64_register_lookup(void);

#endif							/* ROARING64_LOOKUP_H */
