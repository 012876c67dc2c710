/*-------------------------------------------------------------------------
 *
 * indexcond.c
 *	  Indexes for our tests.
 *
 * A test that is written as a function can use any index that its operator
 * can: its condition is the operator's.
 *
 * For "id <@ set" and an index on id there are more ways:
 *
 *	- by a btree, a scan of our own (index/lookup.c), which suits any set.  It
 *	  is offered as a path beside what the server makes of its conditions;
 *
 *	- as id = ANY ('{...}'), if the set is known and has few elements;
 *
 *	- as id >= smallest AND id <= largest, whose rows are tested as before
 *	  unless the set fills that span.  This is what a BRIN index can do, and a
 *	  btree within OR or if the id is not its first column.
 *
 * Which of them is used is for the planner to decide, by cost.
 *
 * src/planner/indexcond.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/index_selfuncs.h"

#include "index/gin.h"
#include "index/lookup.h"
#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/roaring64.h"

/*
 * Keys of an array in a plan.  The planner estimates every one of them, some
 * microseconds each.
 */
#define MAX_KEYS		256

/* A set that has one of so many integers of its span is taken for a range. */
#define MAX_SPARSENESS	4

/* Entries of an index that are passed rather than to search again; roughly. */
#define PASSED_PER_SEARCH	16

/* As core's cost of a page on the way through a btree, in operators. */
#define PAGE_CPU_MULTIPLIER	50

/* The elements as an array. */
static Datum
make_keys(r64_set *set)
{
	uint64		n = r64_cardinality(set);
	ArrayType  *array = roaring64_make_array(n);

	n = r64_read(set, PG_INT64_MIN, PG_INT64_MAX, false,
				 ROARING64_ARRAY_DATA(array), n);
	return roaring64_array_datum(array, (int) n);
}

/* id = ANY (array) */
static List *
any_of_array(Oid opfamily, Node *id, Node *array)
{
	ScalarArrayOpExpr *test = makeNode(ScalarArrayOpExpr);

	test->opno = get_opfamily_member(opfamily, INT8OID, INT8OID,
									 BTEqualStrategyNumber);
	if (!OidIsValid(test->opno))
		return NIL;
	test->opfuncid = get_opcode(test->opno);
	test->useOr = true;
	test->args = list_make2(id, array);
	test->location = -1;
	return list_make1(test);
}

/* id op bound, by the operator's number in the operator family */
static Expr *
compare_with(Oid opfamily, StrategyNumber strategy, Node *id, Node *bound)
{
	Oid			operator = get_opfamily_member(opfamily, INT8OID, INT8OID,
											   strategy);

	if (!OidIsValid(operator))
		return NULL;
	return make_opclause(operator, BOOLOID, false, (Expr *) id,
						 (Expr *) bound, InvalidOid, InvalidOid);
}

/* id >= lo AND id <= hi */
static List *
between_bounds(Oid opfamily, Node *id, Node *lo, Node *hi)
{
	Expr	   *above = compare_with(opfamily, BTGreaterEqualStrategyNumber,
									 id, lo);
	Expr	   *below = compare_with(opfamily, BTLessEqualStrategyNumber,
									 copyObject(id), hi);

	if (above == NULL || below == NULL)
		return NIL;
	return list_make2(above, below);
}

static Node *
make_integer(int64 value)
{
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
							  Int64GetDatum(value), false, FLOAT8PASSBYVAL);
}

/* The condition for a set that is known. */
static List *
constant_condition(SupportRequestIndexCondition *request, Node *id,
				   r64_set *set)
{
	double		n = (double) r64_cardinality(set);
	bool		is_btree = request->index->relam == BTREE_AM_OID;
	int64		lo;
	int64		hi;

	if (r64_min(set, &lo) && r64_max(set, &hi))
	{
		double		width = roaring64_width(lo, hi);

		if (!is_btree || n > MAX_KEYS || (n > 1 && width <= n * MAX_SPARSENESS))
		{
			request->lossy = width > n;
			return between_bounds(request->opfamily, id,
								  make_integer(lo), make_integer(hi));
		}
	}
	else if (!is_btree)
		return NIL;
	request->lossy = false;
	return any_of_array(request->opfamily, id,
						(Node *) makeConst(INT8ARRAYOID, -1, InvalidOid, -1,
										   make_keys(set), false, false));
}

/* roaring64_min or roaring64_max of a set; NULL if there is no such function */
static Node *
call_of_bound(Oid sibling, const char *name, Node *set, Oid set_type)
{
	Oid			function = roaring64_sibling(sibling, name, &set_type, 1);

	return OidIsValid(function) ?
		(Node *) makeFuncExpr(function, INT8OID, list_make1(set),
							  InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL) :
		NULL;
}

/* The condition for a set that is not known before execution. */
static List *
variable_condition(SupportRequestIndexCondition *request, Node *id,
				   Node *set, Oid set_type)
{
	Node	   *lo = call_of_bound(request->funcid, "roaring64_min",
								   set, set_type);
	Node	   *hi = call_of_bound(request->funcid, "roaring64_max",
								   copyObject(set), set_type);

	return lo == NULL || hi == NULL ? NIL :
		between_bounds(request->opfamily, id, lo, hi);
}

/*
 * Which argument of a test is the set that an id, the other one, is looked up
 * in; -1 if it is no such test.
 */
static int
lookup_argument(Oid function)
{
	PGFunction	called = roaring64_c_function(function);

	return called == roaring64_contains_element ? 0 :
		called == roaring64_element_contained ? 1 : -1;
}

/* The cost of a lookup as an index scan, so that core's model does the rest. */
typedef struct LookupCost
{
	IndexPath	path;			/* must be first */
	IndexOptInfo index;			/* its index, with our cost estimate */
	double		selectivity;	/* of the test */
	double		searches;
	double		descent_cost;
	double		table_cost;		/* of reading the table instead */
	bool		is_known;		/* the set is */
	double		cpu_cost;		/* of the index, found by the estimate */
} LookupCost;

/* amcostestimate for a lookup: see amapi.h. */
static void
estimate_lookup(PlannerInfo *root, IndexPath *path, double loop_count,
				Cost *startup_cost, Cost *total_cost,
				Selectivity *selectivity, double *correlation, double *pages)
{
	LookupCost *cost = (LookupCost *) path;
	IndexOptInfo *index = path->indexinfo;
	double		entries = cost->selectivity * index->tuples +
		cost->searches * PASSED_PER_SEARCH;
	double		read;

	/* for a scan of all; what we use of it is the correlation */
	btcostestimate(root, path, loop_count, startup_cost, total_cost,
				   selectivity, correlation, pages);
	read = index_pages_fetched((cost->searches +
								cost->selectivity * index->pages) * loop_count,
							   index->pages, index->pages, root) / loop_count;
	cost->cpu_cost = cost->searches * cost->descent_cost +
		Min(entries, index->tuples) * cpu_index_tuple_cost;
	*startup_cost = cost->descent_cost;
	*total_cost = cost->cpu_cost + read * random_page_cost;
	*selectivity = cost->selectivity;
	*pages = read;
}

/*
 * How many searches a lookup takes.  Of sets that differ in size those are
 * counted in full that it can look up for the price of reading the table.
 */
static void
count_searches(PlannerInfo *root, Node *node, Oid set_type, LookupCost *cost)
{
	double		most = cost->table_cost /
		(cost->descent_cost + ROARING64_PAGE_COST);
	double		n;
	r64_set		set;

	cost->is_known = roaring64_constant_set(root, node, set_type, &set);
	n = cost->is_known ? roaring64_count_runs(&set) :
		roaring64_expected_cardinality(root, node, set_type, most);
	if (n < 0)
		n = ROARING64_DEFAULT_CARDINALITY;
	cost->searches = Max(Min(n, cost->index.tuples / PASSED_PER_SEARCH), 1);
	if (!cost->is_known)
		cost->selectivity = Min(cost->selectivity,
								n / Max(cost->index.tuples, 1));
}

static const CustomPathMethods path_methods;

/* Offers the planner a lookup whose rows come in some order, or in any. */
static void
add_lookup_path(PlannerInfo *root, LookupCost *cost, RestrictInfo *test,
				ScanDirection order, List *pathkeys, double loop_count)
{
	IndexPath  *path = &cost->path;
	RelOptInfo *rel = path->path.parent;
	CustomPath *custom = makeNode(CustomPath);
	LookupPlan *plan = palloc0(sizeof(LookupPlan));

	cost_index(path, root, loop_count, false);
	plan->index = cost->index.indexoid;
	plan->order = order;
	plan->condition = (Node *) test->clause;
	plan->descent_cost = cost->descent_cost;
	plan->table_cost = cost->table_cost;
	custom->path = path->path;
	custom->path.type = T_CustomPath;
	custom->path.pathtype = T_CustomScan;
	custom->path.pathkeys = pathkeys;

	/*
	 * Random access is charged as if the table were not in memory.  A lookup
	 * that turns out to be too expensive turns to the table, so it costs no
	 * more than that, except for work that can be foreseen.  And a bit less, so
	 * that it is preferred.
	 */
	if (!enable_seqscan)
		plan->table_cost = 1e300;
	else if (ScanDirectionIsNoMovement(order) &&
			 (!cost->is_known ||
			  cost->cpu_cost + path->path.rows * cpu_tuple_cost <
			  plan->table_cost))
	{
		Path		table = {.parent = rel,.pathtarget = rel->reltarget};

		cost_seqscan(&table, root, rel, path->path.param_info);
		custom->path.total_cost = Min(custom->path.total_cost,
									  table.total_cost * 0.9);
		custom->path.startup_cost = Min(custom->path.startup_cost,
										custom->path.total_cost);
	}
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_private = list_make1(plan);
	custom->methods = &path_methods;
	add_path(rel, (Path *) custom);
}

/*
 * The clause of a relation that a request is about, if rows that do not pass
 * it are not wanted.  It may also be an arm of an OR.
 */
static RestrictInfo *
find_clause(RelOptInfo *rel, Node *node, bool *is_join)
{
	ListCell   *cell;

	foreach(cell, rel->baserestrictinfo)
		if ((Node *) lfirst_node(RestrictInfo, cell)->clause == node)
		{
			*is_join = false;
			return (RestrictInfo *) lfirst(cell);
		}
	foreach(cell, rel->joininfo)
		if ((Node *) lfirst_node(RestrictInfo, cell)->clause == node)
		{
			*is_join = true;
			return (RestrictInfo *) lfirst(cell);
		}
	return NULL;
}

/* Offers the planner lookups.  Returns false if there can be none. */
static bool
add_lookup_paths(SupportRequestIndexCondition *request, Node *set,
				 Oid set_type)
{
	PlannerInfo *root = request->root;
	IndexOptInfo *index = request->index;
	RelOptInfo *rel = index->rel;
	Relids		outer = rel->lateral_relids;
	double		loop_count = 1;
	LookupCost	cost = {.index = *index};
	RestrictInfo *test;
	bool		is_join;
	ScanDirection directions[] = {ForwardScanDirection, BackwardScanDirection};

	if (request->indexcol != 0 || !enable_indexscan ||
		get_opcode(get_opfamily_member(request->opfamily, INT8OID, INT8OID,
									   BTLessStrategyNumber)) != F_INT8LT)
		return false;
	test = find_clause(rel, request->node, &is_join);
	if (test == NULL)
		return false;
	if (is_join)
		outer = bms_del_member(bms_union(outer, test->clause_relids),
							   rel->relid);
	cost.index.amcostestimate = estimate_lookup;
	cost.path.path.type = T_IndexPath;
	cost.path.path.pathtype = T_IndexScan;
	cost.path.path.parent = rel;
	cost.path.path.pathtarget = rel->reltarget;
	cost.path.path.param_info = get_baserel_parampathinfo(root, rel, outer);
	cost.path.path.parallel_safe = rel->consider_parallel;
	cost.path.indexinfo = &cost.index;
	if (is_join)
	{
		if (cost.path.path.param_info == NULL ||
			!list_member_ptr(cost.path.path.param_info->ppi_clauses, test))
			return false;
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
	cost.table_cost = rel->pages * seq_page_cost +
		rel->tuples * (cpu_tuple_cost + 10 * cpu_operator_cost);
	count_searches(root, set, set_type, &cost);

	add_lookup_path(root, &cost, test, NoMovementScanDirection, NIL,
					loop_count);
	for (int i = 0; i < lengthof(directions); i++)
	{
		bool		up = ScanDirectionIsForward(directions[i]) !=
			index->reverse_sort[0];
		List	   *pathkeys;

		pathkeys = build_index_pathkeys(root, index, directions[i]);
		pathkeys = truncate_useless_pathkeys(root, rel, pathkeys);
		if (pathkeys != NIL)
			add_lookup_path(root, &cost, test,
							up ? ForwardScanDirection : BackwardScanDirection,
							pathkeys, loop_count);
	}
	return true;
}

/*
 * Makes the plan of a lookup.  Its clauses are those of the path's relation,
 * which may be another one by now than that of the test, a partition.
 */
static Plan *
plan_lookup(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
			List *tlist, List *clauses, List *custom_plans)
{
	LookupPlan	plan = *(LookupPlan *) linitial(path->custom_private);
	CustomScan *scan = makeNode(CustomScan);
	IndexOptInfo *index = NULL;
	RestrictInfo *test = NULL;
	ListCell   *cell;

	foreach(cell, rel->indexlist)
		if (((IndexOptInfo *) lfirst(cell))->indexoid == plan.index)
			index = (IndexOptInfo *) lfirst(cell);
	if (index == NULL)
		elog(ERROR, "index %u is not of the table", plan.index);
	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
		Oid			function;
		List	   *args = roaring64_call((Node *) clause->clause, &function);
		int			argno = lookup_argument(function);

		if (argno < 0 ||
			!match_index_to_operand(list_nth(args, 1 - argno), 0, index) ||
			bms_is_member(rel->relid, pull_varnos(root, list_nth(args, argno))))
			continue;
		test = clause;
		plan.id = list_nth(args, 1 - argno);
		plan.set = list_nth(args, argno);
		if ((Node *) clause->clause == plan.condition)
			break;
	}
	if (test == NULL)
		elog(ERROR, "no test of a set is left");
	plan.condition = (Node *) test->clause;

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual =
		extract_actual_clauses(list_delete_ptr(list_copy(clauses), test),
							   false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	roaring64_store_lookup(scan, &plan);
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Roaring64 Lookup",
	.PlanCustomPath = plan_lookup
};

/* The condition for "id <@ set" and an index on id. */
static List *
lookup_condition(SupportRequestIndexCondition *request, Node *id, Node *set,
				 Oid set_type)
{
	IndexOptInfo *index = request->index;
	bool		has_paths = false;
	r64_set		constant;

	/* what is looked up must be the same during a scan */
	if (contain_volatile_functions(set) ||
		bms_is_member(index->rel->relid, pull_varnos(request->root, set)))
		return NIL;
	if (index->relam == BTREE_AM_OID)
		has_paths = add_lookup_paths(request, set, set_type);
	else if (index->relam != BRIN_AM_OID)
		return NIL;
	if (roaring64_constant_set(NULL, set, set_type, &constant))
		return constant_condition(request, id, &constant);
	/* of its rows the planner knows nothing, so it is not to choose */
	if (has_paths)
		return NIL;
	return variable_condition(request, id, set, set_type);
}

/*
 * The condition for a function that has an operator in the index's family,
 * with the indexed argument on the left.
 */
static List *
operator_condition(SupportRequestIndexCondition *request, List *args)
{
	Node	   *indexed = list_nth(args, request->indexarg);
	Node	   *other = list_nth(args, 1 - request->indexarg);
	Oid			left = getBaseType(exprType(indexed));
	Oid			right = getBaseType(exprType(other));

	if (contain_volatile_functions(other) ||
		bms_is_member(request->index->rel->relid,
					  pull_varnos(request->root, other)))
		return NIL;
	for (int strategy = 1; strategy <= GIN_EQUAL; strategy++)
	{
		Oid			operator = get_opfamily_member(request->opfamily,
												   left, right, strategy);
		Oid			written = operator;

		if (OidIsValid(operator) && request->indexarg == 1)
			written = get_commutator(operator);
		if (!OidIsValid(written) || get_opcode(written) != request->funcid)
			continue;
		request->lossy = false;
		return list_make1(make_opclause(operator, BOOLOID, false,
										(Expr *) indexed, (Expr *) other,
										InvalidOid, request->indexcollation));
	}
	return NIL;
}

/* See planner.h. */
List *
roaring64_support_index(SupportRequestIndexCondition *request)
{
	Oid			function;
	List	   *args = roaring64_call(request->node, &function);
	int			argno = lookup_argument(request->funcid);

	if (list_length(args) != 2)
		return NIL;
	if (argno >= 0 && request->indexarg == 1 - argno &&
		request->index->opcintype[request->indexcol] == INT8OID)
	{
		Node	   *set = list_nth(args, argno);

		return lookup_condition(request, list_nth(args, 1 - argno), set,
								getBaseType(exprType(set)));
	}
	return IsA(request->node, FuncExpr) ?
		operator_condition(request, args) : NIL;
}
