/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  What our functions tell the planner when it asks.
 *
 * There is a support function for each family of functions.  The support
 * function knows a member of the family, or the function that an expression
 * calls, by the C function behind it, since names and OIDs differ between
 * databases.
 *
 * src/planner/planner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_PLANNER_H
#define ROARING64_PLANNER_H

#include "postgres.h"

#include "access/transam.h"
#include "fmgr.h"

#include "engine/r64.h"
#include "server_planner.h"

/* Elements of a set of which nothing is known. */
#define ROARING64_DEFAULT_CARDINALITY	100

/* The functions that the planner tells apart, in src/type. */
extern Datum roaring64_contains(PG_FUNCTION_ARGS);
extern Datum roaring64_contains_element(PG_FUNCTION_ARGS);
extern Datum roaring64_contains_range(PG_FUNCTION_ARGS);
extern Datum roaring64_range_contains(PG_FUNCTION_ARGS);
extern Datum roaring64_contained(PG_FUNCTION_ARGS);
extern Datum roaring64_element_contained(PG_FUNCTION_ARGS);
extern Datum roaring64_range_contained(PG_FUNCTION_ARGS);
extern Datum roaring64_contained_range(PG_FUNCTION_ARGS);
extern Datum roaring64_overlaps(PG_FUNCTION_ARGS);
extern Datum roaring64_overlaps_range(PG_FUNCTION_ARGS);
extern Datum roaring64_range_overlaps(PG_FUNCTION_ARGS);
extern Datum roaring64_is_empty(PG_FUNCTION_ARGS);
extern Datum roaring64_or(PG_FUNCTION_ARGS);
extern Datum roaring64_and(PG_FUNCTION_ARGS);
extern Datum roaring64_and_range(PG_FUNCTION_ARGS);
extern Datum roaring64_andnot(PG_FUNCTION_ARGS);
extern Datum roaring64_andnot_range(PG_FUNCTION_ARGS);
extern Datum roaring64_xor(PG_FUNCTION_ARGS);
extern Datum roaring64_elements_range(PG_FUNCTION_ARGS);
extern Datum roaring64_ranges(PG_FUNCTION_ARGS);

/* call.c */
extern PGFunction roaring64_c_function(Oid function);
extern List *roaring64_call(Node *node, Oid *function);
extern Oid	roaring64_function_of_two(const char *name, Oid type, Oid other);
extern bool roaring64_is_lookup(PlannerInfo *root, Index relid, Node *node,
								Node **id, Node **set);
extern OpExpr *roaring64_compare(Oid family, Node *id, int strategy,
								 int64 bound);

/* indexcond.c */
extern List *roaring64_support_index(SupportRequestIndexCondition *request);
extern bool roaring64_suits_btree(Node *set);
extern bool roaring64_is_column_of_ids(const IndexOptInfo *index, int column);

/* lookuppath.c */
extern void roaring64_offer_lookups(void);

/* selfuncs.c */
extern double roaring64_count_runs(r64_set *set);
extern void roaring64_price_gin(RelOptInfo *rel);

/* prune.c */
extern void roaring64_prepare_pruning(PlannerInfo *root, RelOptInfo *rel);
extern int64 roaring64_partition_bound(PlannerInfo *root,
									   const VariableStatData *vardata,
									   int64 v, bool above);
extern bool roaring64_is_excluded(PlannerInfo *root, const RelOptInfo *rel,
								  RangeTblEntry *entry);

#endif							/* ROARING64_PLANNER_H */
