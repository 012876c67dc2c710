/*-------------------------------------------------------------------------
 *
 * lookuppath.c
 *	  Paths for "id <@ set" by a scan that suits any set (index/lookup.c).
 *
 * Known sets that the server's own scans suit get no lookup (implied.c).  Here a
 * lookup is offered and priced; it is executed in index/lookup.c.
 *
 * A join looks up a set for each row of its other side, and has the order of that
 * side.  If that side has one row at most, such as a table whose key is given, the
 * join has the lookup's order.  The server does not see that, and would sort all
 * rows, or test each row of the table that it reads in order.
 *
 * A session's first query with a set loads the library, which sets the hooks, when
 * it estimates the clause, before paths are made.
 *
 * src/planner/lookuppath.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "index/scans.h"
#include "index/steps.h"
#include "planner/planner.h"
#include "type/roaring64.h"

/* As core's cost of a page on the way through a btree, in operators. */
#define PAGE_CPU_MULTIPLIER	50

static set_rel_pathlist_hook_type previous_hook;
static set_join_pathlist_hook_type previous_join_hook;
static ROARING64_RELATION_HOOK_TYPE previous_relation_hook;

static bool enable_lookup = true;	/* setting */

/* "id <@ set", or its negation. */
typedef struct LookupTest
{
	RestrictInfo *clause;
	Node	   *id;
	Node	   *set;
	bool		negated;
} LookupTest;

/* Whether a clause of a table is such a test. */
static bool
describe_lookup(PlannerInfo *root, RelOptInfo *rel, RestrictInfo *clause,
				LookupTest *test)
{
	Node	   *node = (Node *) clause->clause;

	test->clause = clause;
	test->negated = is_notclause(node);
	if (test->negated)
		node = (Node *) get_notclausearg(node);
	return roaring64_is_lookup(root, rel->relid, node, &test->id, &test->set);
}

/* Whether a clause is a lookup of the first column of an index. */
static bool
match_lookup(PlannerInfo *root, IndexOptInfo *index, RestrictInfo *clause,
			 LookupTest *test)
{
	return describe_lookup(root, index->rel, clause, test) &&
		match_index_to_operand(test->id, 0, index) && !clause->pseudoconstant &&
		restriction_is_securely_promotable(clause, index->rel);
}

/* What a lookup by an index costs. */
typedef struct LookupCost
{
	LookupPlan	plan;
	IndexOptInfo *index;
	double		loop_count;
	double		selectivity;	/* of the test */
	double		searches;
	double		passed;			/* entries that do not pass */
	QualCost	set_cost;		/* of computing the set */
	double		read_cost;		/* of reading the table, without tests */
	double		least_cost;		/* that a set of unknown size is charged */
	double		order;			/* how far the table is in that of the index:
								 * the square of the correlation */
	bool		is_known;		/* the set is */
} LookupCost;

/* Of the index: pages, searches and entries. */
static double
index_cost(PlannerInfo *root, const LookupCost *cost)
{
	IndexOptInfo *index = cost->index;
	double		rows = cost->selectivity * index->tuples;
	double		entries = Min(rows + cost->passed, index->tuples);
	double		entry_cost = cpu_index_tuple_cost;
	double		pages;

	/* a lookup goes through the index in order, so it reads no page twice */
	pages = Min(cost->searches + entries * index->pages / Max(index->tuples, 1),
				index->pages);
	pages = index_pages_fetched(pages * cost->loop_count, index->pages,
								index->pages, root) / cost->loop_count;

	/*
	 * An entry takes longer than a row of the table, but not of few that are
	 * read index-only.  All entries in order are what core's scan of the
	 * index reads, too.
	 */
	if (cost->plan.negated ? cost->plan.direction == 0 : !cost->plan.index_only)
		entry_cost += ROARING64_ENTRY_COST;
	/* it reads all entries if that is cheaper than to search */
	return pages * random_page_cost +
		Min(cost->searches * cost->plan.descent_cost + entries * entry_cost,
			cost->plan.descent_cost + index->tuples * entry_cost);
}

/*
 * Of the table's pages, priced as by core's scans: in the order of the index as
 * by an index scan, batch by batch as by a bitmap scan.  Where the table is in
 * the index's order each place that is searched for is on another page, too.
 */
static double
pages_cost(PlannerInfo *root, const LookupCost *cost)
{
	double		pages = Max(cost->index->rel->pages, 1);
	double		rows = cost->selectivity * cost->index->tuples;
	double		places = Min(cost->searches, rows);
	double		apart = index_pages_fetched(rows * cost->loop_count, pages,
											cost->index->pages, root) /
		cost->loop_count;
	double		together = Min(cost->selectivity * pages + places, pages);
	double		batched = Min(2 * pages * rows / (2 * pages + rows), pages);
	double		in_order;

	places = Min(places, together);
	in_order = (1 - cost->order) * apart * random_page_cost +
		cost->order * (places * random_page_cost +
					   (together - places) * seq_page_cost);
	batched += cost->order * Min(together - batched, 0);
	batched *= random_page_cost -
		(random_page_cost - seq_page_cost) * sqrt(batched / pages);
	batched = Min(batched, in_order);
	return (cost->plan.direction != 0 ? in_order : batched) *
		(cost->plan.index_only ? 1 - cost->index->rel->allvisfrac : 1);
}

/*
 * How many rows a value of the index's first column has, and how far the table is
 * in its order.  *n is how many runs a known set has, and is reduced to those that
 * the column can have.
 */
static double
rows_per_id(PlannerInfo *root, Node *id, r64_set *known, double *n,
			LookupCost *cost)
{
	VariableStatData vardata;
	AttStatsSlot slot;
	bool		is_default;
	double		distinct;

	examine_variable(root, id, 0, &vardata);
	distinct = get_variable_numdistinct(&vardata, &is_default);
	if (HeapTupleIsValid(vardata.statsTuple) &&
		get_attstatsslot(&slot, vardata.statsTuple, STATISTIC_KIND_CORRELATION,
						 InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		cost->order = slot.numbers[0] * slot.numbers[0];
		free_attstatsslot(&slot);
	}
	if (known != NULL && HeapTupleIsValid(vardata.statsTuple) &&
		statistic_proc_security_check(&vardata, F_INT8LT) &&
		get_attstatsslot(&slot, vardata.statsTuple, STATISTIC_KIND_HISTOGRAM,
						 InvalidOid, ATTSTATSSLOT_VALUES))
	{
		if (slot.nvalues > 0)
			*n = Min(*n, r64_count_range(known, DatumGetInt64(slot.values[0]),
										 DatumGetInt64(slot.values[slot.nvalues - 1])));
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(vardata);
	return is_default ? 1 : Max(cost->index->tuples / Max(distinct, 1), 1);
}

/* How many searches a lookup takes, and which share of the rows it finds. */
static void
count_searches(PlannerInfo *root, const LookupTest *test, bool is_join,
			   LookupCost *cost)
{
	double		tuples = Max(cost->index->tuples, 1);
	double		rows;
	double		all_entries = cost->plan.index_only ?
		cost->index->pages * random_page_cost +
		tuples * (cpu_index_tuple_cost + cpu_tuple_cost) : HUGE_VAL;
	double		n;
	int64		lo = 0;
	int64		hi = 0;
	r64_set		known;

	cost->is_known = roaring64_constant_set(root, test->set, &known);
	n = cost->is_known ? roaring64_count_runs(&known) : -1;
	rows = rows_per_id(root, test->id, cost->is_known ? &known : NULL, &n, cost);
	if (!cost->is_known)
		n = roaring64_expected_matches(root, test->set, NULL, tuples / rows);
	/* nor are there more than the column has values between its elements */
	if (cost->is_known && r64_min(&known, &lo) && r64_max(&known, &hi))
		n = Min(n, 1 + cost->selectivity * tuples / rows *
				roaring64_width(lo, hi) / r64_cardinality(&known));
	if (cost->plan.negated)
	{
		/* a run of elements is passed over if it has more rows than that */
		cost->passed = (1 - cost->selectivity) * tuples;
		if (cost->is_known)
			cost->passed = Min(cost->passed, n * ROARING64_PASSED_PER_SEARCH);
		cost->searches = 1 + (cost->is_known ? cost->passed /
							  ROARING64_PASSED_PER_SEARCH : 0);
		return;
	}
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
	cost->passed = cost->searches = Max(Min(n, tuples / rows), 1);
	if (!cost->is_known)
		cost->selectivity = Min(cost->selectivity, n * rows / tuples);
}

/* The custom_private of a path of a lookup, by position. */
enum
{
	PATH_INDEX,					/* IndexOptInfo */
	PATH_CLAUSE,				/* RestrictInfo: the test */
	PATH_PLAN					/* LookupPlan, packed */
};

/*
 * Makes the plan of a lookup.  The clauses are those of the path's relation.  The
 * path's own test may have been replaced since it was made, by one with columns of
 * a partition for those of the table joined.  The sets of negated tests are
 * subtracted from the set that is looked up.
 */
static Plan *
plan_lookup(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
			List *tlist, List *clauses, List *custom_plans)
{
	IndexOptInfo *index = list_nth(path->custom_private, PATH_INDEX);
	RestrictInfo *wanted = list_nth(path->custom_private, PATH_CLAUSE);
	CustomScan *scan = makeNode(CustomScan);
	List	   *others = NIL;	/* conditions of the bitmap scan's indexes */
	List	   *rest = NIL;
	List	   *conditions;
	List	   *sets;
	LookupTest	test = {NULL};
	LookupTest	other;
	ListCell   *cell;

	foreach(cell, clauses)
	{
		if (match_lookup(root, index, lfirst_node(RestrictInfo, cell), &other) &&
			other.negated == is_notclause(wanted->clause) &&
			(test.clause == NULL || other.clause == wanted))
			test = other;
	}
	if (test.clause == NULL)
		elog(ERROR, "no test of a set is left");

	conditions = list_make1(test.clause->clause);
	sets = list_make1(test.set);

	/* the lookup tests the rows of the bitmap scan, in its scan slot */
	foreach(cell, custom_plans)
	{
		BitmapHeapScan *bitmap_scan = lfirst(cell);

		/* conditions without columns are tested above the lookup, too */
		if (IsA(bitmap_scan, Result))
			bitmap_scan = (BitmapHeapScan *) outerPlan(bitmap_scan);
		scan->custom_plans = list_make1(bitmap_scan);
		/* an OR with a lossy condition is in both, and has to be tested */
		others = list_difference(bitmap_scan->bitmapqualorig,
								 bitmap_scan->scan.plan.qual);
		bitmap_scan->scan.plan.qual = NIL;
	}
	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);

		if (!test.negated && match_lookup(root, index, clause, &other) &&
			other.negated)
		{
			conditions = lappend(conditions, clause->clause);
			sets = lappend(sets, other.set);
		}
		else if (clause != test.clause && !list_member(others, clause->clause))
			rest = lappend(rest, clause);
	}

	scan->custom_exprs = list_make3(test.id, sets, make_ands_explicit(conditions));
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = extract_actual_clauses(rest, false);
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_private = list_nth(path->custom_private, PATH_PLAN);
	scan->methods = &roaring64_lookup_methods;
	return &scan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "Roaring64 Lookup",
	.PlanCustomPath = plan_lookup
};

/*
 * The path of a lookup for a test, whose rows have the order of pathkeys.
 */
static Path *
make_lookup_path(PlannerInfo *root, LookupCost *cost, const Path *like,
				 const LookupTest *test, List *pathkeys)
{
	CustomPath *custom = makeNode(CustomPath);
	Path	   *path = &custom->path;
	List	   *others = list_copy(like->parent->baserestrictinfo);
	bool		is_uncertain = !cost->is_known && !cost->plan.negated;
	bool		all_in_order = cost->plan.direction != 0 &&
		root->tuple_fraction == 0;
	QualCost	quals;

	*path = *like;
	path->type = T_CustomPath;
	path->pathtype = T_CustomScan;
	path->pathkeys = pathkeys;
	if (path->param_info != NULL)
		others = list_concat(others, path->param_info->ppi_clauses);
	others = list_delete_ptr(others, test->clause);
	if (cost->plan.direction != 0)
		cost->plan.table_cost = HUGE_VAL;
	custom->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	custom->custom_private = list_make3(cost->index, test->clause,
										roaring64_pack_lookup(&cost->plan));
	custom->methods = &path_methods;

	path->startup_cost = cost->plan.descent_cost;
	path->total_cost = index_cost(root, cost) + pages_cost(root, cost);

	/*
	 * A lookup in a set that is not known costs at most half of the table,
	 * since if it gets too expensive it reads the table instead.  If the rows
	 * have to come in order it cannot do that.  Then it can cost more, the
	 * less the table is in order, and a sort is better unless few rows are
	 * asked for.
	 */
	if (is_uncertain && (all_in_order || cost->plan.table_cost < HUGE_VAL))
		path->total_cost = Min(path->total_cost, cost->read_cost / 2);
	if (is_uncertain && all_in_order)
		path->total_cost = Max(path->total_cost,
							   cost->read_cost * (1 - cost->order));
	path->total_cost = Max(path->total_cost, cost->least_cost);
	cost_qual_eval(&quals, others, root);
	quals.startup += path->pathtarget->cost.startup +
		cost->set_cost.startup + cost->set_cost.per_tuple;
	path->startup_cost = quals.startup + Min(path->startup_cost, path->total_cost);
	path->total_cost += quals.startup +
		cost->selectivity * cost->index->tuples *
		(cpu_tuple_cost + quals.per_tuple) +
		path->pathtarget->cost.per_tuple * path->rows;
	return path;
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

/* A join of a relation that has at most one row. */
typedef struct OneRowJoin
{
	RelOptInfo *rel;			/* of the join */
	RelOptInfo *outer;			/* what has one row */
	JoinPathExtraData *extra;
} OneRowJoin;

/* Offers a join with a lookup that has the order of the lookup. */
static void
join_in_order(PlannerInfo *root, const OneRowJoin *join, Path *lookup)
{
	Path	   *outer = join->outer->cheapest_total_path;
	JoinCostWorkspace workspace;

	if (PATH_REQ_OUTER(outer) != NULL ||
		!bms_is_subset(PATH_REQ_OUTER(lookup), join->outer->relids))
		return;
	roaring64_initial_cost_nestloop(root, &workspace, JOIN_INNER, outer, lookup,
									join->extra);
	add_path(join->rel, (Path *)
			 create_nestloop_path(root, join->rel, JOIN_INNER, &workspace,
								  join->extra, outer, lookup,
								  join->extra->restrictlist, lookup->pathkeys,
								  NULL));
}

/*
 * Whether a relation has at most one row, whatever it is joined with.  The server
 * finds a key that is given by constants when asked whether other conditions give
 * one, and the conditions of a join with a lookup never do.
 */
static bool
has_one_row(PlannerInfo *root, RelOptInfo *rel, List *conditions)
{
	int			relid = -1;

	while ((relid = bms_next_member(rel->relids, relid)) >= 0)
	{
		RelOptInfo	part;

		if (root->simple_rel_array[relid] == NULL)
			continue;			/* it is an outer join */
		/* what it knows is for conditions of other joins */
		part = *root->simple_rel_array[relid];
		part.unique_for_rels = part.non_unique_for_rels = NIL;
		if (!innerrel_is_unique(root, rel->relids, NULL, &part, JOIN_INNER,
								conditions, false))
			return false;
	}
	return true;
}

/*
 * Whether what an index computes can be computed for all rows.  An expression can
 * fail for a row that a partial index leaves out.
 */
static bool
suits_all_rows(const IndexOptInfo *index)
{
	return index->indexprs == NIL || index->indpred == NIL;
}

/* Estimates all but what depends on the order of the rows. */
static void
estimate_lookup(PlannerInfo *root, const LookupTest *test, bool is_join,
				LookupCost *cost)
{
	IndexOptInfo *index = cost->index;
	RelOptInfo *rel = index->rel;

	cost->plan.index_only = has_all_columns(rel, index);
	cost->selectivity = clause_selectivity(root, (Node *) test->clause,
										   rel->relid, JOIN_INNER, NULL);
	cost->plan.descent_cost = cpu_operator_cost *
		(ceil(log2(Max(index->tuples, 2))) +
		 (Max(index->tree_height, 0) + 1) * PAGE_CPU_MULTIPLIER);
	/* a join makes the tests, too, without being charged */
	cost->read_cost = rel->pages * seq_page_cost + rel->tuples * cpu_tuple_cost;

	cost->plan.table_cost = roaring64_allows_seqscan(rel) &&
		suits_all_rows(index) ?
		cost->read_cost + rel->tuples * 10 * cpu_operator_cost : HUGE_VAL;
	cost_qual_eval_node(&cost->set_cost, test->set, root);
	count_searches(root, test, is_join, cost);
}

/*
 * Offers a lookup with a bitmap scan by other indexes for the other conditions, which
 * core makes again, as it keeps none that is worse than another path without a set.
 * Since such a lookup adapts, it costs as little as the better of the two.
 */
static void
add_bitmap_lookup(PlannerInfo *root, LookupCost cost, const Path *like,
				  const LookupTest *test)
{
	RelOptInfo *rel = memcpy(makeNode(RelOptInfo), like->parent, sizeof(RelOptInfo));
	BitmapHeapPath *others;
	Path	   *path;
	double		tuples;
	ListCell   *cell;

	rel->pathlist = rel->partial_pathlist = rel->joininfo = rel->indexlist = NIL;
	rel->has_eclass_joins = false;
	/* without a target, some servers fetch no row that needs no test */
	rel->reltarget = makeNode(PathTarget);
	rel->reltarget->exprs = list_make1(test->id);
	rel->baserestrictinfo = list_delete_ptr(list_copy(rel->baserestrictinfo),
											test->clause);
	foreach(cell, rel->baserestrictinfo == NIL ? NIL : like->parent->indexlist)
	{
		IndexOptInfo *other = lfirst_node(IndexOptInfo, cell);

		if (other == cost.index || !other->amhasgetbitmap || !suits_all_rows(other))
			continue;
		other = memcpy(makeNode(IndexOptInfo), other, sizeof(IndexOptInfo));
		other->rel = rel;
		/* no plain scan, and no index for the columns that it has */
		other->amhasgettuple = false;
		other->canreturn = palloc0(other->ncolumns * sizeof(bool));
		other->indrestrictinfo = list_delete_ptr(list_copy(other->indrestrictinfo),
												 test->clause);
		rel->indexlist = lappend(rel->indexlist, other);
	}
	create_index_paths(root, rel);
	if (rel->pathlist == NIL)
		return;
	others = linitial_node(BitmapHeapPath, rel->pathlist);
	cost.plan.index_only = false;
	cost.plan.bitmap_pages = compute_bitmap_pages(root, rel, others->bitmapqual, 1,
												  &cost.plan.bitmap_cost, &tuples);
	cost.plan.bitmap_share = tuples / Max(rel->tuples, 1);
	/* core takes the rows of ranges of pages to be all over the table */
	if (IsA(others->bitmapqual, IndexPath) &&
		((IndexPath *) others->bitmapqual)->indexinfo->relam == BRIN_AM_OID)
		tuples = cost.plan.bitmap_pages = cost.plan.bitmap_share * rel->pages;
	/* nor does it charge for all that its bitmaps take */
	cost.plan.bitmap_cost += ROARING64_ENTRY_COST *
		(tuples / 2 + cost.plan.bitmap_pages);
	path = make_lookup_path(root, &cost, like, test, NIL);
	((CustomPath *) path)->custom_paths = list_make1(others);
	path->total_cost = 0.9 * Min(path->total_cost, others->path.total_cost);
	path->startup_cost = Min(path->startup_cost, path->total_cost);
	add_path(like->parent, path);
}

/*
 * Offers the planner lookups by an index for a test; or, if join is not NULL, joins
 * with them that have their order.
 */
static void
add_lookup_paths(PlannerInfo *root, IndexOptInfo *index,
				 const LookupTest *test, const OneRowJoin *join)
{
	RelOptInfo *rel = index->rel;
	LookupCost	cost;
	Path		path = {.parent = rel,.pathtarget = rel->reltarget};
	bool		is_join = !bms_is_subset(test->clause->clause_relids, rel->relids);
	Relids		outer = bms_union(rel->lateral_relids, test->clause->clause_relids);

	memset(&cost, 0, sizeof(cost)); /* also between the fields of the plan */
	cost.plan.index = index->indexoid;
	cost.plan.negated = test->negated;
	cost.index = index;
	cost.loop_count = 1;
	outer = bms_del_member(outer, rel->relid);
	if (join != NULL && (!is_join || !bms_is_subset(outer, join->outer->relids)))
		return;
	path.param_info = get_baserel_parampathinfo(root, rel, outer);
	path.parallel_safe = rel->consider_parallel;
	path.rows = path.param_info ? path.param_info->ppi_rows : rel->rows;
	if (!list_member_ptr(rel->baserestrictinfo, test->clause) &&
		(!join_clause_is_movable_to(test->clause, rel) ||
		 path.param_info == NULL ||
		 !list_member_ptr(path.param_info->ppi_clauses, test->clause)))
		return;
	for (int relid = -1; is_join && (relid = bms_next_member(outer, relid)) >= 0;)
		if (root->simple_rel_array[relid] != NULL)
			cost.loop_count = Max(cost.loop_count,
								  root->simple_rel_array[relid]->rows);

	estimate_lookup(root, test, is_join, &cost);
	if (join == NULL)
	{
		/* core's bitmap scan names what is lateral in its own way */
		if (roaring64_allows_bitmapscan(rel) && bms_is_empty(rel->lateral_relids) &&
			suits_all_rows(index) &&
			cost.selectivity * index->tuples > ROARING64_MIN_BATCH)
			add_bitmap_lookup(root, cost, &path, test);
		add_path(rel, make_lookup_path(root, &cost, &path, test, NIL));
	}
	for (int direction = 1; direction >= -1; direction -= 2)
	{
		List	   *pathkeys;
		Path	   *ordered;

		pathkeys = build_index_pathkeys(root, index,
										(direction < 0) != index->reverse_sort[0] ?
										BackwardScanDirection : ForwardScanDirection);
		pathkeys = truncate_useless_pathkeys(root, rel, pathkeys);
		cost.plan.direction = direction;
		/* the order of one side of a join is of no use to the server */
		if (pathkeys == NIL || (join == NULL && is_join))
			continue;
		ordered = make_lookup_path(root, &cost, &path, test, pathkeys);
		if (join == NULL)
			add_path(rel, ordered);
		else
			join_in_order(root, join, ordered);
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
		if (IsA(lfirst(cell), Path) || IsA(lfirst(cell), IndexPath) ||
			IsA(lfirst(cell), BitmapHeapPath))
		return true;
	return false;
}

/* Whether a table has the access method that lookups were made and tried for. */
static bool
is_heap(Oid oid)
{
	Relation	table = table_open(oid, NoLock);
	bool		heap = table->rd_rel->relam == HEAP_TABLE_AM_OID;

	table_close(table, NoLock);
	return heap;
}

/* Whether a relation is a table that may be read by lookups at all. */
static bool
allows_lookup(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *entry = root->simple_rte_array[rel->relid];

	return enable_lookup && rel->rtekind == RTE_RELATION && !entry->inh &&
		roaring64_allows_indexscan(rel) && entry->tablesample == NULL &&
		rel->indexlist != NIL && is_read_by_server(rel) && is_heap(entry->relid);
}

/*
 * The tests of sets by which a table may be looked up.  The clauses are searched
 * first, so that a query without sets costs nothing else.
 */
static List *
find_tests(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *sources[] = {rel->baserestrictinfo, rel->joininfo};
	List	   *tests = NIL;
	ListCell   *cell;

	for (int i = 0; i < lengthof(sources); i++)
	{
		foreach(cell, sources[i])
		{
			RestrictInfo *clause = lfirst_node(RestrictInfo, cell);
			LookupTest	test;

			if (describe_lookup(root, rel, clause, &test))
				tests = lappend(tests, clause);
		}
	}
	return tests != NIL && allows_lookup(root, rel) ? tests : NIL;
}

/*
 * Offers lookups for tests of a table by its indexes; or, if join is not NULL,
 * joins with them.
 */
static void
match_tests(PlannerInfo *root, RelOptInfo *rel, List *tests,
			const OneRowJoin *join)
{
	ListCell   *i;
	ListCell   *cell;

	if (tests == NIL)
		return;
	foreach(i, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, i);

		if (index->relam != BTREE_AM_OID || index->hypothetical ||
			(index->indpred != NIL && !index->predOK) ||
			!roaring64_is_column_of_ids(index, 0))
			continue;
		foreach(cell, tests)
		{
			LookupTest	test;

			if (match_lookup(root, index, lfirst_node(RestrictInfo, cell), &test) &&
				(test.negated || !roaring64_suits_btree(test.set)))
				add_lookup_paths(root, index, &test, join);
		}
	}
}

/* set_rel_pathlist_hook: adds lookups to the paths of a table. */
static void
roaring64_set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index relid,
						   RangeTblEntry *entry)
{
	if (previous_hook != NULL)
		previous_hook(root, rel, relid, entry);
	match_tests(root, rel, find_tests(root, rel), NULL);
}

/*
 * set_join_pathlist_hook: adds joins in the order of a lookup, if the query has
 * some use for an order.
 */
static void
roaring64_set_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel,
							RelOptInfo *outer, RelOptInfo *inner,
							JoinType jointype, JoinPathExtraData *extra)
{
	OneRowJoin	join = {joinrel, outer, extra};
	List	   *conditions = NIL;
	List	   *tests;
	ListCell   *cell;

	if (previous_join_hook != NULL)
		previous_join_hook(root, joinrel, outer, inner, jointype, extra);
	if (jointype != JOIN_INNER || inner->reloptkind != RELOPT_BASEREL ||
		inner->joininfo == NIL || root->query_pathkeys == NIL ||
		joinrel->lateral_relids != NULL)
		return;
	tests = find_tests(root, inner);
	if (tests == NIL)
		return;
	foreach(cell, extra->restrictlist)
	{
		RestrictInfo *clause = lfirst_node(RestrictInfo, cell);

		if (clause->mergeopfamilies == NIL)
			conditions = lappend(conditions, clause);
	}
	if (conditions != NIL && has_one_row(root, outer, conditions))
		match_tests(root, inner, tests, &join);
}

/* ROARING64_RELATION_HOOK: called for a table before its conditions are known. */
static void
roaring64_get_relation_info(ROARING64_RELATION_HOOK_PARAMETERS)
{
	if (previous_relation_hook != NULL)
		previous_relation_hook(ROARING64_RELATION_HOOK_ARGUMENTS);
	roaring64_cost_gin(rel);
}

/* Defines roaring64.enable_lookup and sets the hooks; to be called once. */
void
roaring64_install_planner_hooks(void)
{
	DefineCustomBoolVariable("roaring64.enable_lookup",
							 "Enables the planner's use of Roaring64 Lookup scans.",
							 NULL, &enable_lookup, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = roaring64_set_rel_pathlist;
	previous_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = roaring64_set_join_pathlist;
	previous_relation_hook = ROARING64_RELATION_HOOK;
	ROARING64_RELATION_HOOK = roaring64_get_relation_info;
}
