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
 *	- by a btree, a scan of our own, which suits any set.  It is a path of its
 *	  own (lookuppath.c), beside what the server makes of the conditions here;
 *
 *	- as id = ANY ('{...}'), if the set is known and has few elements;
 *
 *	- as id >= smallest AND id <= largest, whose rows are tested as before
 *	  unless the set fills that span.  If the set is not known, only by a BRIN
 *	  index, or by a btree if the id is not its first column.
 *
 * Which of them is used is for the planner to decide, by cost.
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
 * Keys of an array in a plan.  The planner estimates every one of them, some
 * microseconds each.
 */
#define MAX_KEYS		256

/* A set that has one of so many integers of its span is taken for a range. */
#define MAX_SPARSENESS	4

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

/* See planner.h. */
int
roaring64_lookup_argument(Oid function)
{
	PGFunction	called = roaring64_c_function(function);

	return called == roaring64_contains_element ? 0 :
		called == roaring64_element_contained ? 1 : -1;
}

/* The condition for "id <@ set" and an index on id. */
static List *
lookup_condition(SupportRequestIndexCondition *request, Node *id, Node *set,
				 Oid set_type)
{
	IndexOptInfo *index = request->index;
	r64_set		constant;

	/* what is looked up must be the same during a scan */
	if (contain_volatile_functions(set) ||
		bms_is_member(index->rel->relid, pull_varnos(request->root, set)))
		return NIL;
	if (index->relam != BTREE_AM_OID && index->relam != BRIN_AM_OID)
		return NIL;
	if (roaring64_constant_set(NULL, set, set_type, &constant))
		return constant_condition(request, id, &constant);
	/* of its span nothing is known, so it is hardly worth a whole index */
	if (index->relam == BTREE_AM_OID && request->indexcol == 0)
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
	int			argno = roaring64_lookup_argument(request->funcid);

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
