/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Support functions and estimators: what the planner learns of our functions.
 *
 * There is a support function for each family of functions.  It recognises a
 * function by the C function behind it, since names and OIDs differ between
 * databases.  Nothing here executes a query (src/index).
 *
 * A column of sets has statistics of the standard kinds for its values: distinct
 * values, most common values, histogram in byte order.  Like core's arrays it has
 * MCELEM, the most common elements with the share of the non-null rows that has
 * each, and DECHIST, a histogram of the cardinalities and their average.  A third
 * kind is ours, for the elements that are not in MCELEM:
 *
 *	  values	bounds of n bins that hold the same number of occurrences each
 *	  numbers	how many of them a non-null row has on average; then how many
 *				different ones each of the n bins has
 *
 * It takes the slot of the correlation between the order of the rows and the
 * byte order of their sets, as pg_statistic has five slots for a column.
 *
 * src/planner/planner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_PLANNER_H
#define ROARING64_PLANNER_H

#include "postgres.h"

#include <math.h>

#include "access/transam.h"
#include "fmgr.h"

#include "engine/r64.h"
#include "server_planner.h"

/* Elements of an unknown set. */
#define ROARING64_DEFAULT_CARDINALITY	100

/*
 * The cost of a test of two sets, or of an operation on them, and the cost for each
 * element of one, in operators.
 */
#define ROARING64_SET_COST		50
#define ROARING64_ELEMENT_COST	0.05

/* In the range that core leaves to private use (see pg_statistic.h). */
#define ROARING64_STATISTIC_KIND_REST	20064

/* The share of the rows that pass a test without statistics, as for arrays. */
#define ROARING64_DEFAULT_SHARE	0.005

/* Swapping the arguments negates the kind. */
typedef enum TestKind
{
	TEST_CONTAINED = -1,
	TEST_OVERLAPS,
	TEST_CONTAINS
} TestKind;

/* A set to test a column with, or the range [lo, hi]. */
typedef struct Probe
{
	bool		is_set;
	r64_set		set;
	int64		lo;
	int64		hi;
} Probe;

/* How many integers [lo, hi] has; as a double, which they fit in. */
static inline double
roaring64_width(int64 lo, int64 hi)
{
	return lo > hi ? 0 : (double) ((uint64) hi - (uint64) lo) + 1;
}

/* The statistics of a column of sets. */
typedef struct SetStats
{
	double		nonnull;		/* share of the rows */
	double		average;		/* elements of a non-null row; -1 if unknown */
	double		distinct;		/* elements of the column; -1 if unknown */
	AttStatsSlot sets;			/* the most common ones */
	AttStatsSlot mcelem;		/* .nvalues = 0 if missing */
	AttStatsSlot dechist;		/* .nnumbers = 0 if missing */
	AttStatsSlot rest;			/* .nnumbers = 0 if missing */
} SetStats;

/* The functions that the planner tells apart, in src/type. */
extern Datum roaring64_contains(PG_FUNCTION_ARGS);
extern Datum roaring64_contains_element(PG_FUNCTION_ARGS);
extern Datum roaring64_contains_range(PG_FUNCTION_ARGS);
extern Datum roaring64_contained(PG_FUNCTION_ARGS);
extern Datum roaring64_element_contained(PG_FUNCTION_ARGS);
extern Datum roaring64_contained_range(PG_FUNCTION_ARGS);
extern Datum roaring64_overlaps(PG_FUNCTION_ARGS);
extern Datum roaring64_overlaps_range(PG_FUNCTION_ARGS);
extern Datum roaring64_is_empty(PG_FUNCTION_ARGS);
extern Datum roaring64_or(PG_FUNCTION_ARGS);
extern Datum roaring64_and(PG_FUNCTION_ARGS);
extern Datum roaring64_and_range(PG_FUNCTION_ARGS);
extern Datum roaring64_andnot_range(PG_FUNCTION_ARGS);
extern Datum roaring64_xor(PG_FUNCTION_ARGS);

/* expressions.c */
extern PGFunction roaring64_c_function(Oid function);
extern List *roaring64_call(Node *node, Oid *function);
extern bool roaring64_is_lookup(PlannerInfo *root, Index relid, Node *node,
								Node **id, Node **set);
extern Node *roaring64_estimate_once(PlannerInfo *root, Node *node);
extern bool roaring64_make_probe(PlannerInfo *root, Node *node, Probe *probe);
extern bool roaring64_constant_set(PlannerInfo *root, Node *node,
								   r64_set *set);
extern double roaring64_share_empty(PlannerInfo *root, Node *node);
extern double roaring64_expected_matches(PlannerInfo *root, Node *node,
										 Node *part, double most);
#define roaring64_expected_cardinality(root, node, part) \
	roaring64_expected_matches(root, node, part, HUGE_VAL)
extern SupportRequestCost *roaring64_support_cost(SupportRequestCost *request,
												  bool is_test);

/* setstats.c */
extern void roaring64_load_stats(VariableStatData *vardata, Oid function,
								 bool with_elements, SetStats *stats);
extern void roaring64_free_stats(SetStats *stats);
extern double roaring64_share_passing(const SetStats *stats, TestKind kind,
									  Probe *probe, double size);
extern double roaring64_mean_size(VariableStatData *vardata, double most);
extern double roaring64_probe_size(Probe *probe);
extern double roaring64_expected_hits(const SetStats *stats, Probe *probe);

/* idstats.c */
extern double roaring64_share_in_set(PlannerInfo *root,
									 VariableStatData *vardata, Oid function,
									 double distinct, r64_set *set);

/* lookuppath.c */
extern void roaring64_install_planner_hooks(void);

/* selfuncs.c */
extern double roaring64_count_runs(r64_set *set);
extern void roaring64_cost_gin(RelOptInfo *rel);

/* implied.c */
extern OpExpr *roaring64_compare(Oid family, Node *id, int strategy,
								 int64 bound);
extern List *roaring64_support_index(SupportRequestIndexCondition *request);
extern bool roaring64_suits_btree(Node *set);
extern bool roaring64_is_column_of_ids(const IndexOptInfo *index, int column);
extern bool roaring64_is_cast(Node *node);
extern Node *roaring64_simplify_test(SupportRequestSimplify *request);

#endif							/* ROARING64_PLANNER_H */
