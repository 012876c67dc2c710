/*-------------------------------------------------------------------------
 *
 * selfuncs.c
 *	  Selectivities of @>, <@ and &&, what GIN costs for them, and rows of the
 *	  functions that return a set's elements.
 *
 * One restriction and one join estimator serve all of these operators and the
 * functions behind them.  They use our statistics of a column of sets (setstats.c),
 * or core's of a column of bigint that is looked up in a set (idstats.c).  Without
 * statistics, and for joins of two columns of sets, the answer is a constant, as
 * for arrays.  Paths are made elsewhere (lookuppath.c).
 *
 * src/planner/selfuncs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "utils/index_selfuncs.h"

#include "index/scans.h"
#include "planner/planner.h"
#include "type/roaring64.h"

/* The cost of checking a key for a row in GIN, in operators. */
#define KEY_COST	2

/* Runs of a constant set to count; the others are taken to be alike. */
#define MAX_RUNS		8

typedef struct Test
{
	TestKind	kind;
	Oid			left;			/* types of the arguments */
	Oid			right;
	Oid			function;
} Test;

/* What a function tests; false if it is not ours. */
static bool
describe_test(Oid function, List *args, Test *test)
{
	static const struct
	{
		PGFunction	function;
		TestKind	kind;
	}			tests[] =
	{
		{roaring64_contains, TEST_CONTAINS},
		{roaring64_contains_element, TEST_CONTAINS},
		{roaring64_contains_range, TEST_CONTAINS},
		{roaring64_contained, TEST_CONTAINED},
		{roaring64_element_contained, TEST_CONTAINED},
		{roaring64_contained_range, TEST_CONTAINED},
		{roaring64_overlaps, TEST_OVERLAPS},
		{roaring64_overlaps_range, TEST_OVERLAPS}
	};
	PGFunction	called = roaring64_c_function(function);
	int			i = 0;

	while (i < lengthof(tests) && tests[i].function != called)
		i++;
	if (i == lengthof(tests) || list_length(args) != 2)
		return false;
	test->kind = tests[i].kind;
	test->function = function;
	test->left = getBaseType(exprType(linitial(args)));
	test->right = getBaseType(exprType(lsecond(args)));
	return true;
}

/* A column of sets, on the left, against any value. */
static double
set_selectivity(PlannerInfo *root, const Test *test, VariableStatData *vardata,
				Node *other)
{
	SetStats	stats;
	Probe		probe;
	bool		is_known = roaring64_make_probe(root, other, &probe);
	double		size = is_known ? 0 : test->right == INT8OID ? 1 :
		roaring64_expected_cardinality(root, other, NULL);
	double		share = ROARING64_DEFAULT_SHARE;

	roaring64_load_stats(vardata, test->function, true, &stats);
	if (size >= 0)
		share = roaring64_share_passing(&stats, test->kind,
										is_known ? &probe : NULL, size);
	share *= stats.nonnull;
	roaring64_free_stats(&stats);
	return share;
}

/* The distinct values of a column of bigint: one per row, if not analyzed. */
static double
distinct_values(VariableStatData *vardata)
{
	bool		isdefault;
	double		distinct = get_variable_numdistinct(vardata, &isdefault);

	if (isdefault && vardata->rel != NULL)
		distinct = Max(distinct, vardata->rel->tuples);
	return Max(distinct, 1);
}

static double
null_fraction(const VariableStatData *vardata)
{
	if (!HeapTupleIsValid(vardata->statsTuple))
		return 0;
	return ((Form_pg_statistic) GETSTRUCT(vardata->statsTuple))->stanullfrac;
}

/*
 * A column of integers, on the left, looked up in a set.  If it is cast to bigint,
 * the column itself has the statistics, and *vardata becomes the column.
 */
static double
element_selectivity(PlannerInfo *root, const Test *test,
					VariableStatData *vardata, Node *other)
{
	Node	   *cast = vardata->var;
	double		distinct;
	double		n;
	r64_set		set;

	if (!HeapTupleIsValid(vardata->statsTuple) && vardata->rel != NULL &&
		roaring64_is_cast(cast))
	{
		ReleaseVariableStats(*vardata);
		examine_variable(root, linitial(((FuncExpr *) cast)->args), 0, vardata);
	}
	distinct = distinct_values(vardata);
	if (roaring64_constant_set(root, other, &set))
		return roaring64_share_in_set(root, vardata, test->function, distinct,
									  &set);
	n = roaring64_expected_matches(root, other, NULL, distinct);
	if (n < 0)
		n = ROARING64_DEFAULT_CARDINALITY;
	return (1 - null_fraction(vardata)) * Min(n / distinct, 1);
}

/* The estimator for a restriction, by function. */
static Selectivity
estimate_restriction(PlannerInfo *root, Oid function, List *args,
					 int varRelid)
{
	Test		test;
	VariableStatData vars[2];
	Selectivity selectivity = ROARING64_DEFAULT_SHARE;

	if (!describe_test(function, args, &test))
		return selectivity;
	examine_variable(root, linitial(args), varRelid, &vars[0]);
	examine_variable(root, lsecond(args), varRelid, &vars[1]);
	if ((vars[0].rel == NULL) != (vars[1].rel == NULL))
	{
		int			column = vars[0].rel == NULL;

		/* get_restriction_variable() would compute this for every estimate */
		Node	   *other = roaring64_estimate_once(root, vars[1 - column].var);
		Test		swapped = {-test.kind, test.right, test.left, function};

		if (column == 1)
			test = swapped;
		if (IsA(other, Const) && ((Const *) other)->constisnull)
			selectivity = 0;	/* all of our tests are strict */
		else if (roaring64_is_type(test.left))
			selectivity = set_selectivity(root, &test, &vars[column], other);
		else if (test.left == INT8OID)
			selectivity = element_selectivity(root, &test, &vars[column],
											  other);
	}
	ReleaseVariableStats(vars[0]);
	ReleaseVariableStats(vars[1]);
	CLAMP_PROBABILITY(selectivity);
	return selectivity;
}

/* The estimator for a join, by function. */
static Selectivity
estimate_join(PlannerInfo *root, Oid function, List *args,
			  JoinType jointype, SpecialJoinInfo *sjinfo)
{
	Test		test;
	VariableStatData left;
	VariableStatData right;
	bool		reversed;
	Selectivity selectivity = ROARING64_DEFAULT_SHARE;

	if (!describe_test(function, args, &test) || sjinfo == NULL)
		return selectivity;
	get_join_variables(root, args, sjinfo, &left, &right, &reversed);
	if (test.left == INT8OID || test.right == INT8OID)
	{
		bool		is_left = test.left == INT8OID;
		VariableStatData *set = is_left ? &right : &left;

		selectivity = (1 - null_fraction(set)) *
			element_selectivity(root, &test, is_left ? &left : &right,
								set->var);
	}

	if (jointype == JOIN_SEMI || jointype == JOIN_ANTI)
	{
		RelOptInfo *inner = reversed ? left.rel : right.rel;

		/* the share of the outer rows that have any match */
		if (inner != NULL)
			selectivity *= Max(inner->rows, 1);
	}
	ReleaseVariableStats(left);
	ReleaseVariableStats(right);
	CLAMP_PROBABILITY(selectivity);
	return selectivity;
}

/*
 * The share of the rows that a GIN index finds by a condition with its column on
 * the left, if more than those that pass; else -1.  If one key is enough for a row,
 * *keys becomes the number of keys that GIN checks for each row.
 */
static double
share_read(PlannerInfo *root, Node *condition, int relid, double *keys)
{
	Oid			function;
	List	   *args = roaring64_call(condition, &function);
	Test		test;
	VariableStatData vardata;
	r64_set		set;
	double		share;

	if (!describe_test(function, args, &test) || test.kind == TEST_CONTAINS)
		return -1;
	if (roaring64_is_type(test.right))
		*keys = Max(roaring64_expected_cardinality(root, lsecond(args), NULL), 1);
	if (roaring64_constant_set(root, lsecond(args), &set) &&
		*keys > GIN_MIN_RANGE * roaring64_count_runs(&set))
		*keys = roaring64_count_runs(&set);
	if (*keys > GIN_MAX_SINGLE)
		*keys = 1;
	if (test.kind != TEST_CONTAINED)
		return -1;
	/* it finds the sets that overlap, and the empty ones */
	test.kind = TEST_OVERLAPS;
	examine_variable(root, linitial(args), relid, &vardata);
	share = set_selectivity(root, &test, &vardata, lsecond(args)) +
		roaring64_share_empty(root, linitial(args));
	ReleaseVariableStats(vardata);
	return Min(share, 1);
}

/*
 * amcostestimate for GIN: see amapi.h.  Core assumes that a scan finds just the rows
 * that pass.  But for <@ it finds all rows with any of the elements, and the empty
 * ones, to be rechecked.  And core does not charge for checking each key of a search
 * for every row found.
 */
static void
estimate_gin(PlannerInfo *root, IndexPath *path, double loop_count,
			 Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
			 double *correlation, double *pages)
{
	double		rows = path->indexinfo->tuples;
	ListCell   *cell;

	gincostestimate(root, path, loop_count, startup_cost, total_cost,
					selectivity, correlation, pages);
	foreach(cell, get_quals_from_indexclauses(path->indexclauses))
	{
		RestrictInfo *qual = lfirst_node(RestrictInfo, cell);
		double		passing = clause_selectivity(root, (Node *) qual,
												 path->indexinfo->rel->relid,
												 JOIN_INNER, NULL);
		double		keys = 1;
		double		read = share_read(root, (Node *) qual->clause,
									  path->indexinfo->rel->relid, &keys);

		if (read > passing && passing > 0)
			*selectivity = Min(*selectivity * read / passing, 1);
		*total_cost += Max(read, passing) * rows * (keys - 1) * KEY_COST *
			cpu_operator_cost;
	}
}

/* Lets estimate_gin() cost the GIN indexes of a table on sets. */
void
roaring64_cost_gin(RelOptInfo *rel)
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

/*
 * roaring64_test_support(internal) returns internal: for the functions behind @>,
 * <@ and &&, their cost and selectivity, and conditions that replace them or that
 * an index on id supports; for roaring64_is_empty, its selectivity.
 */
PG_FUNCTION_INFO_V1(roaring64_test_support);
Datum
roaring64_test_support(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);
	SupportRequestSelectivity *request = (SupportRequestSelectivity *) node;

	if (IsA(node, SupportRequestSimplify))
		PG_RETURN_POINTER(roaring64_simplify_test((SupportRequestSimplify *) node));
	if (IsA(node, SupportRequestIndexCondition))
		PG_RETURN_POINTER(roaring64_support_index((SupportRequestIndexCondition *) node));
	if (IsA(node, SupportRequestCost))
		PG_RETURN_POINTER(roaring64_support_cost((SupportRequestCost *) node, true));
	if (!IsA(node, SupportRequestSelectivity))
		PG_RETURN_POINTER(NULL);
	request->selectivity =
		roaring64_c_function(request->funcid) == roaring64_is_empty ?
		roaring64_share_empty(request->root, linitial(request->args)) :
		request->is_join ?
		estimate_join(request->root, request->funcid, request->args,
					  request->jointype, request->sjinfo) :
		estimate_restriction(request->root, request->funcid, request->args,
							 request->varRelid);
	PG_RETURN_POINTER(request);
}

/*
 * roaring64_contsel(internal, oid, internal, integer) returns double
 * precision: restriction estimator of @>, <@ and &&.
 */
PG_FUNCTION_INFO_V1(roaring64_contsel);
Datum
roaring64_contsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(estimate_restriction((PlannerInfo *) PG_GETARG_POINTER(0),
										  get_opcode(PG_GETARG_OID(1)),
										  (List *) PG_GETARG_POINTER(2),
										  PG_GETARG_INT32(3)));
}

/*
 * roaring64_contjoinsel(internal, oid, internal, smallint, internal) returns
 * double precision: join estimator of @>, <@ and &&.
 */
PG_FUNCTION_INFO_V1(roaring64_contjoinsel);
Datum
roaring64_contjoinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(estimate_join((PlannerInfo *) PG_GETARG_POINTER(0),
								   get_opcode(PG_GETARG_OID(1)),
								   (List *) PG_GETARG_POINTER(2),
								   (JoinType) PG_GETARG_INT16(3),
								   (SpecialJoinInfo *) PG_GETARG_POINTER(4)));
}

/* The number of runs of consecutive elements of a set, or an estimate if many. */
double
roaring64_count_runs(r64_set *set)
{
	int64		from = PG_INT64_MIN;
	int64		first;
	int64		last;
	double		n = 0;

	while (r64_next_run(set, from, PG_INT64_MAX, &first, &last))
	{
		n++;
		if (last == PG_INT64_MAX)
			break;
		if (n == MAX_RUNS)
			return n * (double) r64_cardinality(set) /
				(double) r64_count_range(set, PG_INT64_MIN, last);
		from = last + 1;
	}
	return n;
}

/*
 * roaring64_rows_support(internal) returns internal: rows of the functions
 * that return the elements of a set, or parts of it.
 */
PG_FUNCTION_INFO_V1(roaring64_rows_support);
Datum
roaring64_rows_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	List	   *args;
	r64_set		set;

	if (!IsA(request, SupportRequestRows) || !IsA(request->node, FuncExpr))
		PG_RETURN_POINTER(NULL);
	args = ((FuncExpr *) request->node)->args;
	if (exprType(request->node) == INT8RANGEOID &&
		roaring64_constant_set(request->root, linitial(args), &set))
		request->rows = roaring64_count_runs(&set);
	else
		request->rows =
			roaring64_expected_cardinality(request->root, linitial(args),
										   list_length(args) > 1 ?
										   lsecond(args) : NULL);
	PG_RETURN_POINTER(request->rows < 0 ? NULL : request);
}
