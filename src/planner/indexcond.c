/*-------------------------------------------------------------------------
 *
 * indexcond.c
 *	  "id <@ set" by an index on id.
 *
 * A test whether a column of bigint is in a set can use a btree on the column:
 *
 *	- a set that is known when the query is planned becomes an array of its
 *	  elements, id = ANY ('{...}'), which the planner can estimate as any other;
 *	- one that has many elements, or that fills a good part of the span from its
 *	  smallest to its largest, becomes id >= smallest AND id <= largest, and the
 *	  rows are tested as before unless the set fills that span.  A BRIN index
 *	  can do that too;
 *	- any other, a parameter or a column of another table, becomes
 *	  id = ANY (roaring64_index_keys(set)).  The planner takes an array that it
 *	  does not know to have ten elements; what the others cost is said by that
 *	  function's support function (size.c), so that a set that holds a large
 *	  part of the table is not fetched element by element.
 *
 * Whether the index is used is for the planner to decide, by cost.
 *
 * src/planner/indexcond.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"

#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/roaring64.h"

/*
 * Keys of an array in a plan.  The planner estimates every one of them, some
 * microseconds each.
 */
#define MAX_KEYS		4096

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

/*
 * roaring64_index_keys(roaring64) returns bigint[]: the elements, for an index
 * scan.  Differs from roaring64_to_array by what it costs in a plan.
 */
PG_FUNCTION_INFO_V1(roaring64_index_keys);
Datum
roaring64_index_keys(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(make_keys(PG_GETARG_ROARING64(0)));
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
compare_with(Oid opfamily, StrategyNumber strategy, Node *id, int64 bound)
{
	Oid			operator = get_opfamily_member(opfamily, INT8OID, INT8OID,
											   strategy);
	Const	   *constant = makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
									 Int64GetDatum(bound), false,
									 FLOAT8PASSBYVAL);

	if (!OidIsValid(operator))
		return NULL;
	return make_opclause(operator, BOOLOID, false, (Expr *) id,
						 (Expr *) constant, InvalidOid, InvalidOid);
}

/* id >= lo AND id <= hi */
static List *
between_bounds(Oid opfamily, Node *id, int64 lo, int64 hi)
{
	Expr	   *above = compare_with(opfamily, BTGreaterEqualStrategyNumber,
									 id, lo);
	Expr	   *below = compare_with(opfamily, BTLessEqualStrategyNumber,
									 copyObject(id), hi);

	if (above == NULL || below == NULL)
		return NIL;
	return list_make2(above, below);
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
			return between_bounds(request->opfamily, id, lo, hi);
		}
	}
	else if (!is_btree)
		return NIL;
	request->lossy = false;
	return any_of_array(request->opfamily, id,
						(Node *) makeConst(INT8ARRAYOID, -1, InvalidOid, -1,
										   make_keys(set), false, false));
}

/* The condition for a set that is not known before execution. */
static List *
variable_condition(SupportRequestIndexCondition *request, Node *id,
				   Node *set, Oid set_type)
{
	Oid			keys = roaring64_sibling(request->funcid,
										 "roaring64_index_keys",
										 &set_type, 1);
	FuncExpr   *call;

	if (request->index->relam != BTREE_AM_OID || !OidIsValid(keys))
		return NIL;
	call = makeFuncExpr(keys, INT8ARRAYOID, list_make1(set),
						InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	request->lossy = false;
	return any_of_array(request->opfamily, id, (Node *) call);
}

/*
 * Which argument of a function is the set that the other one is looked up in;
 * -1 if it is no such function.
 */
static int
set_argument(Oid function, Oid *set_type)
{
	char	   *name = get_func_name(function);
	Oid		   *types;
	int			ntypes;
	int			argno;

	if (name == NULL)
		return -1;
	if (roaring64_has_verb(name, "contains"))
		argno = 0;
	else if (roaring64_has_verb(name, "contained"))
		argno = 1;
	else
		return -1;
	(void) get_func_signature(function, &types, &ntypes);
	if (ntypes != 2 || types[1 - argno] != INT8OID)
		return -1;
	*set_type = types[argno];
	return argno;
}

/* See planner.h. */
List *
roaring64_support_index(SupportRequestIndexCondition *request)
{
	IndexOptInfo *index = request->index;
	Oid			set_type;
	int			argno = set_argument(request->funcid, &set_type);
	List	   *args;
	Node	   *id;
	Node	   *node;
	r64_set		set;

	if (argno < 0 || request->indexarg != 1 - argno ||
		index->opcintype[request->indexcol] != INT8OID ||
		(index->relam != BTREE_AM_OID && index->relam != BRIN_AM_OID))
		return NIL;
	if (IsA(request->node, OpExpr))
		args = ((OpExpr *) request->node)->args;
	else if (IsA(request->node, FuncExpr))
		args = ((FuncExpr *) request->node)->args;
	else
		return NIL;

	id = list_nth(args, 1 - argno);
	node = list_nth(args, argno);
	if (roaring64_constant_set(NULL, node, set_type, &set))
		return constant_condition(request, id, &set);
	/* what is looked up must be the same during a scan */
	if (contain_volatile_functions(node) ||
		bms_is_member(index->rel->relid, pull_varnos(request->root, node)))
		return NIL;
	return variable_condition(request, id, node, set_type);
}
