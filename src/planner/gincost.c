/*-------------------------------------------------------------------------
 *
 * gincost.c
 *	  What a scan of a GIN index on sets costs.
 *
 * Core's estimate takes a scan to find the rows that pass.  But to be contained
 * in a set is to have any of its elements, or none, and then a recheck.  And it
 * charges nothing for the keys of a search, each of which GIN looks at for every
 * row that it finds.
 *
 * src/planner/gincost.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "utils/index_selfuncs.h"

#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/roaring64.h"

/* A look at a key for a row, in operators. */
#define KEY_COST	2

/* amcostestimate for GIN: see amapi.h. */
static void
estimate_gin(PlannerInfo *root, IndexPath *path, double loop_count,
			 Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
			 double *correlation, double *pages)
{
	double		rows = path->indexinfo->tuples;
	ListCell   *clause;
	ListCell   *cell;

	gincostestimate(root, path, loop_count, startup_cost, total_cost,
					selectivity, correlation, pages);
	foreach(clause, path->indexclauses)
		foreach(cell, lfirst_node(IndexClause, clause)->indexquals)
	{
		RestrictInfo *qual = lfirst_node(RestrictInfo, cell);
		double		passing = clause_selectivity(root, (Node *) qual,
												 path->indexinfo->rel->relid,
												 JOIN_INNER, NULL);
		double		keys = 1;
		double		read = roaring64_share_read(root, (Node *) qual->clause,
												path->indexinfo->rel->relid,
												&keys);

		if (read > passing && passing > 0)
			*selectivity = Min(*selectivity * read / passing, 1);
		*total_cost += Max(read, passing) * rows * (keys - 1) * KEY_COST *
			cpu_operator_cost;
	}
}

/* Has GIN indexes of a table on sets estimated here. */
void
roaring64_price_gin(RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, cell);

		for (int i = 0; i < index->nkeycolumns && index->relam == GIN_AM_OID; i++)
			if (roaring64_is_type(index->opcintype[i]))
				index->amcostestimate = estimate_gin;
	}
}
