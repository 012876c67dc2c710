/*-------------------------------------------------------------------------
 *
 * indexcond.c
 *	  Indexes for our tests.
 *
 * A test that is written as a function can use every index that its operator
 * can.  Its condition is the operator's.
 *
 * For "id <@ set" and an index on id there are three more:
 *
 *	- id = ANY ('{...}'), if the set is known and has few elements, for a btree
 *	  whose first column is the id.  To 16 an array for a later column returns
 *	  rows out of the index's order, and the server is aware of that only if
 *	  the query itself has the array;
 *
 *	- id >= smallest AND id <= largest.  The rows are tested again unless the
 *	  set fills that span.  If the set is not known this is for BRIN only;
 *
 *	- for a btree, a scan of our own that suits any set.  It is not a condition
 *	  but a path of its own (lookuppath.c).
 *
 * The planner chooses by cost.
 *
 * src/planner/indexcond.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "index/gin.h"
#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/roaring64.h"

/*
 * The most keys of an array in a plan.  The planner takes some microseconds to
 * estimate each.
 */
#define MAX_KEYS		256

/* A set that has one in so many integers of its span is taken for a range. */
#define MAX_SPARSENESS	4

/*
 * A call of another of our functions, by name, or its result if the set is
 * known; NULL if there is no such function.
 */
static Node *
call_sibling(SupportRequestIndexCondition *request, const char *name,
			 Oid result_type, Node *set)
{
	Oid			set_type = getBaseType(exprType(set));
	Oid			function = roaring64_sibling(request->funcid, name,
											 &set_type, 1);
	FuncExpr   *call;

	if (!OidIsValid(function))
		return NULL;
	call = makeFuncExpr(function, result_type, list_make1(copyObject(set)),
						InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	return eval_const_expressions(request->root, (Node *) call);
}

/* id = ANY (elements) */
static List *
any_of_elements(SupportRequestIndexCondition *request, Node *id, Node *set)
{
	ScalarArrayOpExpr *test = makeNode(ScalarArrayOpExpr);
	Node	   *array = call_sibling(request, "roaring64_to_array",
									 INT8ARRAYOID, set);

	test->opno = get_opfamily_member(request->opfamily, INT8OID, INT8OID,
									 BTEqualStrategyNumber);
	if (array == NULL || !OidIsValid(test->opno))
		return NIL;
	test->opfuncid = get_opcode(test->opno);
	test->useOr = true;
	test->args = list_make2(id, array);
	test->location = -1;
	return list_make1(test);
}

/* id >= smallest AND id <= largest; of an empty set these are NULL */
static List *
within_span(SupportRequestIndexCondition *request, Node *id, Node *set)
{
	static const struct
	{
		StrategyNumber strategy;
		const char *name;
	}			bounds[] =
	{
		{BTGreaterEqualStrategyNumber, "roaring64_min"},
		{BTLessEqualStrategyNumber, "roaring64_max"}
	};
	List	   *condition = NIL;

	for (int i = 0; i < lengthof(bounds); i++)
	{
		Oid			operator = get_opfamily_member(request->opfamily, INT8OID,
												   INT8OID,
												   bounds[i].strategy);
		Node	   *bound = call_sibling(request, bounds[i].name, INT8OID,
										 set);

		if (bound == NULL || !OidIsValid(operator))
			return NIL;
		condition = lappend(condition,
							make_opclause(operator, BOOLOID, false,
										  (Expr *) copyObject(id),
										  (Expr *) bound,
										  InvalidOid, InvalidOid));
	}
	return condition;
}

/*
 * Which argument of a test is the set, if the other one is an id that is looked
 * up in it; else -1.
 */
int
roaring64_lookup_argument(Oid function)
{
	PGFunction	called = roaring64_c_function(function);

	return called == roaring64_contains_element ? 0 :
		called == roaring64_element_contained ? 1 : -1;
}

/* Whether an expression is the same for all rows of the index's table. */
static bool
is_same_for_all(SupportRequestIndexCondition *request, Node *node)
{
	return !contain_volatile_functions(node) &&
		!bms_is_member(request->index->rel->relid,
					   pull_varnos(request->root, node));
}

/* The condition for "id <@ set" and an index on id. */
static List *
lookup_condition(SupportRequestIndexCondition *request, Node *id, Node *set)
{
	bool		is_btree = request->index->relam == BTREE_AM_OID;
	r64_set		known;

	if (!is_btree && request->index->relam != BRIN_AM_OID)
		return NIL;
	if (roaring64_constant_set(NULL, set, &known))
	{
		double		n = (double) r64_cardinality(&known);
		double		width = 0;
		int64		lo;
		int64		hi;

		if (r64_min(&known, &lo) && r64_max(&known, &hi))
			width = roaring64_width(lo, hi);
		request->lossy = width > n;
		if (is_btree && request->indexcol == 0 && n <= MAX_KEYS &&
			(n <= 1 || width > n * MAX_SPARSENESS))
		{
			request->lossy = false;
			return any_of_elements(request, id, set);
		}
	}
	else if (is_btree)
		return NIL;				/* a span of which nothing is known */
	return within_span(request, id, set);
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

/* Conditions for an index, of the functions that test sets. */
List *
roaring64_support_index(SupportRequestIndexCondition *request)
{
	Oid			function;
	List	   *args = roaring64_call(request->node, &function);
	int			argno = roaring64_lookup_argument(request->funcid);

	if (list_length(args) != 2 ||
		!is_same_for_all(request, list_nth(args, 1 - request->indexarg)))
		return NIL;
	if (argno >= 0 && request->indexarg == 1 - argno &&
		request->index->opcintype[request->indexcol] == INT8OID)
		return lookup_condition(request, list_nth(args, 1 - argno),
								list_nth(args, argno));
	return IsA(request->node, FuncExpr) ?
		operator_condition(request, args) : NIL;
}
