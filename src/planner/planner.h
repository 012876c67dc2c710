/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  What our functions tell the planner when it asks.
 *
 * All functions that have something to say share one support function
 * (support.c), which hands each kind of request to one of these.  They return
 * NULL or false for a function that they have nothing to say about.
 *
 * src/planner/planner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_PLANNER_H
#define ROARING64_PLANNER_H

#include "postgres.h"

#include "planner/server.h"

/* Elements of a set of which nothing is known. */
#define ROARING64_DEFAULT_CARDINALITY	100

/* selfuncs.c: how many rows pass a test that is called by function. */
extern bool roaring64_support_selectivity(SupportRequestSelectivity *request);

/* size.c: rows of the set-returning functions, and cost by size. */
extern bool roaring64_support_rows(SupportRequestRows *request);
extern bool roaring64_support_cost(SupportRequestCost *request);

/* indexcond.c: conditions for an index on ids that are looked up in a set. */
extern List *roaring64_support_index(SupportRequestIndexCondition *request);

/* simplify.c: calls that can be replaced by cheaper ones. */
extern Node *roaring64_support_simplify(SupportRequestSimplify *request);

/*
 * support.c: the function of that name and arguments in the schema of another
 * one; InvalidOid if there is none.
 */
extern Oid roaring64_sibling(Oid function, const char *name,
							 const Oid *types, int ntypes);

/*
 * support.c: whether a function of that name is a verb ("or", "contains") on
 * two sets, or on a set and an element or a range on either side of it.
 */
extern bool roaring64_has_verb(const char *name, const char *verb);

/* support.c: the COST that a function is declared with. */
extern double roaring64_function_cost(Oid function);

#endif							/* ROARING64_PLANNER_H */
