/*-------------------------------------------------------------------------
 *
 * lookuppath.c
 *	  Paths for "id <@ set" by a scan that suits any set (index/lookup.c).
 *
 * With a btree on id the server can search for an array of the elements, or
 * read the range that they span.  Each is hopeless for some sets, and for a set
 * that is not known when the plan is made nobody can say which.  So for all but
 * the sets that suit one of them (indexcond.c) there is a path of our own.
 *
 * The hook is set when the library is loaded, by a session's first query in its
 * estimate of the clause, before paths are made.
 *
 * src/planner/lookuppath.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/index_selfuncs.h"
#include "utils/syscache.h"

#include "index/lookup.h"
#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/roaring64.h"

/* As core's cost of a page on the way through a btree, in operators. */
#define PAGE_CPU_MULTIPLIER	50

static set_rel_pathlist_hook_type previous_hook;
static ROARING64_RELATION_HOOK_TYPE previous_relation_hook;

static bool enable_lookup = true;	/* setting */

/*
 * Whether a clause looks the first column of an index up in a set that stays
 * the same during a scan.  This must dismiss most clauses at once, as it is
 * asked in every query of a session that has ever used a set.
 */
static bool
match_lookup(PlannerInfo *root, IndexOptInfo *index, RestrictInfo *clause,
			 Node **id, Node **set)
{
	Oid			function;
	List	   *args = roaring64_call((Node *) clause->clause, &function);
	Node	   *looked_up;
	int			argno;

	if (list_length(args) != 2 || function < FirstGenbkiObjectId)
		return false;
	/* the operand first, since the function may have to be loaded */
	argno = match_index_to_operand(linitial(args), 0, index) ? 1 :
		match_index_to_operand(lsecond(args), 0, index) ? 0 : -1;
	if (argno < 0)
		return false;
	looked_up = list_nth(args, argno);
	/* copies of our functions have no support function */
	if (clause->pseudoconstant ||
		!restriction_is_securely_promotable(clause, index->rel) ||
		!roaring64_is_type(getBaseType(exprType(looked_up))) ||
		roaring64_c_function(get_func_support(function)) != roaring64_test_support ||
		roaring64_lookup_argument(function) != argno ||
		contain_volatile_functions(looked_up) ||
		bms_is_member(index->rel->relid, pull_varnos(root, looked_up)))
		return false;
	*id = list_nth(args, 1 - argno);
	*set = looked_up;
	return true;
}

/* The cost of a lookup as an index scan, so that core's model does the rest. */
typedef struct LookupCost
{
	IndexPath	path;			/* must be first */
	IndexOptInfo *offered;
	IndexOptInfo index;			/* the same, with our cost estimate */
	double		selectivity;	/* of the test */
	double		searches;
	double		descent_cost;
	double		read_cost;		/* of reading the table */
	double		table_cost;		/* and testing all rows */
	double		least_cost;		/* that a set of unknown size is charged */
	double		order;			/* of the table: 1 if it is the index's */
	bool		can_turn;		/* to the table */
	bool		is_known;		/* the set is */
	double		scan_cost;		/* if index and table are in memory */
} LookupCost;

/* amcostestimate for a lookup: see amapi.h. */
static void
estimate_lookup(PlannerInfo *root, IndexPath *path, double loop_count,
				Cost *startup_cost, Cost *total_cost,
				Selectivity *selectivity, double *correlation, double *pages)
{
	LookupCost *cost = (LookupCost *) path;
	IndexOptInfo *index = path->indexinfo;
	double		rows = cost->selectivity * index->tuples;
	bool		index_only = path->path.pathtype == T_IndexOnlyScan;
	double		entry_cost = cpu_index_tuple_cost;
	double		visits;
	double		cpu_cost;
	double		read;

	/* for a scan of the whole index; we only use the correlation */
	btcostestimate(root, path, loop_count, startup_cost, total_cost,
				   selectivity, correlation, pages);
	read = index_pages_fetched((cost->searches +
								cost->selectivity * index->pages) * loop_count,
							   index->pages, index->pages, root) / loop_count;
	/* an entry takes longer than a row of the table, but not index-only */
	if (!index_only)
		entry_cost += 2 * cpu_tuple_cost + 10 * cpu_operator_cost;
	/* it walks over all entries if that is cheaper than to search */
	cpu_cost = Min(cost->searches * cost->descent_cost +
				   (rows + cost->searches) * entry_cost,
				   cost->descent_cost + index->tuples * entry_cost);
	*startup_cost = cost->descent_cost;
	*total_cost = cpu_cost + read * random_page_cost;
	*selectivity = cost->selectivity;
	*pages = read;
	cost->order = *correlation * *correlation;
	/* of table pages; in a batch another row of a page costs an eighth of one */
	visits = index_only ? rows * (1 - index->rel->allvisfrac) :
		rows / 8 + index_pages_fetched(rows, index->rel->pages, index->pages,
									   root);
	visits -= cost->order *
		Max(visits - cost->selectivity * index->rel->pages, 0);
	cost->scan_cost = cpu_cost + rows * cpu_tuple_cost +
		visits * ROARING64_PAGE_COST;
}

/*
 * How many rows a value of the index's first column has.  *n is how many runs a
 * known set has, and is reduced to those that the column can have.
 */
static double
rows_per_id(PlannerInfo *root, Node *id, double tuples, r64_set *known, double *n)
{
	VariableStatData vardata;
	AttStatsSlot ids;
	bool		is_default;
	double		distinct;

	examine_variable(root, id, 0, &vardata);
	distinct = get_variable_numdistinct(&vardata, &is_default);
	if (known != NULL && HeapTupleIsValid(vardata.statsTuple) &&
		statistic_proc_security_check(&vardata, F_INT8LT) &&
		get_attstatsslot(&ids, vardata.statsTuple, STATISTIC_KIND_HISTOGRAM,
						 InvalidOid, ATTSTATSSLOT_VALUES))
	{
		*n = Min(*n, r64_count_range(known, DatumGetInt64(ids.values[0]),
									 DatumGetInt64(ids.values[ids.nvalues - 1])));
		free_attstatsslot(&ids);
	}
	ReleaseVariableStats(vardata);
	return is_default ? 1 : Max(tuples / Max(distinct, 1), 1);
}

/* How many searches a lookup takes, and which share of the rows it finds. */
static void
count_searches(PlannerInfo *root, Node *id, Node *set, bool is_join,
			   LookupCost *cost)
{
	double		tuples = Max(cost->index.tuples, 1);
	double		rows;
	double		all_entries = cost->path.path.pathtype == T_IndexOnlyScan ?
		cost->index.pages * random_page_cost +
		tuples * (cpu_index_tuple_cost + cpu_tuple_cost) : HUGE_VAL;
	double		n;
	int64		lo = 0;
	int64		hi = 0;
	r64_set		known;

	cost->is_known = roaring64_constant_set(root, set, &known);
	if (cost->is_known)
		r64_index_set(&known);
	n = cost->is_known ? roaring64_count_runs(&known) :
		roaring64_expected_cardinality(root, set);
	rows = rows_per_id(root, id, tuples, cost->is_known ? &known : NULL, &n);
	/* nor are there more than the column has values between its elements */
	if (cost->is_known && r64_min(&known, &lo) && r64_max(&known, &hi))
		n = Min(n, 1 + cost->selectivity * tuples / rows *
				roaring64_width(lo, hi) / r64_cardinality(&known));
	if (n < 0)
	{
		n = ROARING64_DEFAULT_CARDINALITY;

		/*
		 * It may have nearly all ids, so an index on another column is better
		 * if it finds few rows.  Plans for a join read the table for all.
		 */
		if (!is_join)
			cost->least_cost = Min(cost->read_cost, all_entries) / 2;
	}
	cost->searches = Max(Min(n, tuples / rows), 1);
	if (!cost->is_known)
		cost->selectivity = Min(cost->selectivity, n * rows / tuples);
}

/*
 * Makes the plan of a lookup.  The clauses are those of the path's relation,
 * which by now may be a partition of the one that the path was made for.
 */
static Plan *
plan_lookup(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
			List *tlist, List *clauses, List *custom_plans)
{
	IndexOptInfo *index = linitial(path->custom_private);
	Node	   *condition = lsecond(path->custom_private);
	CustomScan *scan = makeNode(CustomScan);
	RestrictInfo *test = NULL;
	Node	   *id;
	Node	   *set;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);

		if (!match_lookup(root, index, clause, &id, &set))
			continue;
		test = clause;
		scan->custom_exprs = list_make3(id, set, test->clause);
		if ((Node *) clause->clause == condition)
			break;
	}
	if (test == NULL)
		elog(ERROR, "no test of a set is left");

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual =
		extract_actual_clauses(list_delete_ptr(list_copy(clauses), test),
							   false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_private = lthird(path->custom_private);
	scan->methods = &roaring64_lookup_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Roaring64 Lookup",
	.PlanCustomPath = plan_lookup
};

#define MAKE_COST(cost) makeFloat(psprintf("%.17e", (cost)))

/*
 * Offers the planner a lookup, of which the cost is known, whose rows come in
 * some order, or in any.
 */
static void
add_lookup_path(PlannerInfo *root, LookupCost *cost, RestrictInfo *test,
				bool descending, List *pathkeys)
{
	IndexPath  *path = &cost->path;
	CustomPath *custom = makeNode(CustomPath);
	Cost	   *total = &custom->path.total_cost;
	bool		can_turn = cost->can_turn && pathkeys == NIL;

	custom->path = path->path;
	custom->path.type = T_CustomPath;
	custom->path.pathtype = T_CustomScan;
	custom->path.pathkeys = pathkeys;
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_private =
		list_make3(cost->offered, test->clause,
				   list_make5(makeInteger((int) cost->index.indexoid),
							  makeInteger(pathkeys == NIL ? 0 : descending ? -1 : 1),
							  makeInteger(path->path.pathtype == T_IndexOnlyScan),
							  MAKE_COST(cost->descent_cost),
							  MAKE_COST(can_turn ? cost->table_cost : 1e300)));
	custom->methods = &path_methods;

	/*
	 * Random access is charged as if the table were not in memory.  But a
	 * lookup that gets too expensive reads the table instead, so it costs no
	 * more than in memory, unless that can be foreseen; if the set is not
	 * known, half of the table.  If the rows have to come in order it cannot
	 * read the table.  Then it can cost more, the less the table is in order,
	 * and a sort is better unless few rows are asked for.
	 */
	if (!cost->is_known && pathkeys != NIL && root->tuple_fraction == 0)
		*total = Max(*total, cost->read_cost * (1 - cost->order));
	else if (can_turn &&
			 (!cost->is_known || cost->scan_cost < cost->table_cost))
		*total = Min(*total, cost->is_known ? cost->scan_cost : cost->read_cost / 2);
	*total = Max(*total, cost->least_cost);
	custom->path.startup_cost = Min(custom->path.startup_cost, *total);
	add_path(path->path.parent, (Path *) custom);
}

/*
 * Whether an index has all columns that the query reads, as core judges it.  A
 * name is kept in another form.
 */
static bool
has_all_columns(RelOptInfo *rel, IndexOptInfo *index)
{
	Bitmapset  *wanted = NULL;
	Bitmapset  *kept = NULL;
	ListCell   *cell;

	if (!roaring64_allows_indexonlyscan(rel))
		return false;
	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &wanted);
	foreach(cell, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, cell)->clause,
					   rel->relid, &wanted);
	for (int i = 0; i < index->ncolumns; i++)
		if (index->indexkeys[i] != 0 && index->canreturn[i] &&
			(i >= index->nkeycolumns || index->opcintype[i] != NAMEOID))
			kept = bms_add_member(kept, index->indexkeys[i] -
								  FirstLowInvalidHeapAttributeNumber);
	return bms_is_subset(wanted, kept);
}

/* Offers the planner lookups by an index for one clause. */
static void
add_lookup_paths(PlannerInfo *root, IndexOptInfo *index, RestrictInfo *test,
				 Node *id, Node *set, bool is_join)
{
	RelOptInfo *rel = index->rel;
	Relids		outer = rel->lateral_relids;
	double		loop_count = 1;
	LookupCost	cost = {.offered = index,.index = *index};

	if (is_join)
		outer = bms_del_member(bms_union(outer, test->clause_relids),
							   rel->relid);
	cost.index.amcostestimate = estimate_lookup;
	cost.path.path.type = T_IndexPath;
	cost.path.path.pathtype = has_all_columns(rel, index) ?
		T_IndexOnlyScan : T_IndexScan;
	cost.path.path.parent = rel;
	cost.path.path.pathtarget = rel->reltarget;
	cost.path.path.param_info = get_baserel_parampathinfo(root, rel, outer);
	cost.path.path.parallel_safe = rel->consider_parallel;
	cost.path.indexinfo = &cost.index;
	if (is_join)
	{
		if (cost.path.path.param_info == NULL ||
			!list_member_ptr(cost.path.path.param_info->ppi_clauses, test))
			return;
		for (int relid = -1; (relid = bms_next_member(outer, relid)) >= 0;)
			if (root->simple_rel_array[relid] != NULL)
				loop_count = Max(loop_count,
								 root->simple_rel_array[relid]->rows);
	}
	cost.selectivity = clauselist_selectivity(root, list_make1(test),
											  rel->relid, JOIN_INNER, NULL);
	cost.descent_cost = cpu_operator_cost *
		(ceil(log2(Max(index->tuples, 2))) +
		 (Max(index->tree_height, 0) + 1) * PAGE_CPU_MULTIPLIER);
	/* without the tests, which a join makes too without being charged */
	cost.read_cost = rel->pages * seq_page_cost + rel->tuples * cpu_tuple_cost;
	cost.table_cost = cost.read_cost + rel->tuples * 10 * cpu_operator_cost;

	/*
	 * An expression can fail for a row that a partial index leaves out, so it
	 * must not be computed for all rows.
	 */
	cost.can_turn = roaring64_allows_seqscan(rel) &&
		(index->indexprs == NIL || index->indpred == NIL);
	count_searches(root, id, set, is_join, &cost);
	cost_index(&cost.path, root, loop_count, false);

	add_lookup_path(root, &cost, test, false, NIL);
	for (int descending = 0; descending <= 1; descending++)
	{
		List	   *pathkeys;

		pathkeys = build_index_pathkeys(root, index,
										descending != index->reverse_sort[0] ?
										BackwardScanDirection : ForwardScanDirection);
		pathkeys = truncate_useless_pathkeys(root, rel, pathkeys);
		if (pathkeys != NIL)
			add_lookup_path(root, &cost, test, descending, pathkeys);
	}
}

/* Whether an index is a btree that can be used, and ids are its first column. */
static bool
is_index_of_ids(IndexOptInfo *index)
{
	return index->relam == BTREE_AM_OID && !index->hypothetical &&
		(index->indpred == NIL || index->predOK) &&
		roaring64_is_column_of_ids(index, 0);
}

/* Offers lookups for all clauses of a list by all indexes of a table. */
static void
match_clauses(PlannerInfo *root, RelOptInfo *rel, List *clauses, bool is_join)
{
	ListCell   *clause_cell;
	ListCell   *index_cell;

	foreach(clause_cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, clause_cell);

		foreach(index_cell, rel->indexlist)
		{
			IndexOptInfo *index = (IndexOptInfo *) lfirst(index_cell);
			Node	   *id;
			Node	   *set;

			if (match_lookup(root, index, clause, &id, &set) &&
				is_index_of_ids(index) && !roaring64_suits_btree(set))
				add_lookup_paths(root, index, clause, id, set, is_join);
		}
	}
}

/*
 * Whether the server reads a table itself.  An extension that keeps the rows
 * of some tables elsewhere has replaced the server's paths.
 */
static bool
is_read_by_server(RelOptInfo *rel)
{
	ListCell   *cell;

	foreach(cell, rel->pathlist)
	{
		NodeTag		type = ((Path *) lfirst(cell))->pathtype;

		if (type == T_SeqScan || type == T_IndexScan ||
			type == T_IndexOnlyScan || type == T_BitmapHeapScan)
			return true;
	}
	return false;
}

/* Whether a table has the access method that lookups were made and tried for. */
static bool
is_heap(Oid table)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	bool		heap;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", table);
	heap = ((Form_pg_class) GETSTRUCT(tuple))->relam == HEAP_TABLE_AM_OID;
	ReleaseSysCache(tuple);
	return heap;
}

/* set_rel_pathlist_hook: offers lookups for a table. */
static void
offer_lookups(PlannerInfo *root, RelOptInfo *rel, Index relid,
			  RangeTblEntry *entry)
{
	if (previous_hook != NULL)
		previous_hook(root, rel, relid, entry);
	if (rel->rtekind == RTE_RELATION && !entry->inh &&
		rel->reloptkind == RELOPT_OTHER_MEMBER_REL &&
		roaring64_is_excluded(root, rel, entry))
	{
		mark_dummy_rel(rel);
		return;
	}
	if (!enable_lookup || !roaring64_allows_indexscan(rel) ||
		rel->rtekind != RTE_RELATION || entry->inh ||
		entry->tablesample != NULL || rel->indexlist == NIL ||
		!is_read_by_server(rel) || !is_heap(entry->relid))
		return;
	match_clauses(root, rel, rel->baserestrictinfo, false);
	match_clauses(root, rel, rel->joininfo, true);
}

/* Told of a table before its conditions are known. */
static void
note_relation(ROARING64_RELATION_HOOK_PARAMETERS)
{
	if (previous_relation_hook != NULL)
		previous_relation_hook(ROARING64_RELATION_HOOK_ARGUMENTS);
	if (rel->rtekind == RTE_RELATION)
		roaring64_prepare_pruning(root, rel);
}

/* From now on the planner is offered lookups; to be called once. */
void
roaring64_offer_lookups(void)
{
	DefineCustomBoolVariable("roaring64.enable_lookup",
							 "Enables the planner's use of Roaring64 Lookup scans.",
							 NULL, &enable_lookup, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = offer_lookups;
	previous_relation_hook = ROARING64_RELATION_HOOK;
	ROARING64_RELATION_HOOK = note_relation;
}
