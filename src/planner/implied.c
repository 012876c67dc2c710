/*-------------------------------------------------------------------------
 *
 * implied.c
 *	  Core's conditions in place of "id <@ set", for a known set.
 *
 * For a set of few elements the planner sees id = ANY ('{...}') from the start, and
 * so prunes, estimates and uses indexes as for that.  For other known sets and an
 * index on id there is
 *
 * 	- id >= smallest AND id <= largest, for a set that is a run, for a later column
 * 	  of a btree, and for BRIN.  The rows are tested again unless the set is a run;
 * 	- otherwise, for the first column of a btree, a path of our own (lookuppath.c).
 *
 * Nothing is done here for a set that is known only when the query runs.
 *
 * src/planner/implied.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"

#include "planner/planner.h"
#include "type/roaring64.h"

/*
 * The most elements of an array in place of a set.  The planner takes some
 * microseconds to estimate each.
 */
#define MAX_ARRAY		256

/* That many elements take fewer bytes, even if each has a bucket of its own. */
#define MAX_ARRAY_SIZE	8192

/*
 * Larger sets always get a lookup, so need not be read to decide.  A run of as many
 * bytes has hundreds of millions of elements.
 */
#define MAX_RUN_SIZE	65536

/* A comparison of an integer with bound. */
OpExpr *
roaring64_compare(Oid family, Node *id, int strategy, int64 bound)
{
	Oid			operator = get_opfamily_member(family,
											   getBaseType(exprType(id)),
											   INT8OID, strategy);
	Const	   *constant = makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
									 Int64GetDatum(bound), false,
									 FLOAT8PASSBYVAL);

	return (OpExpr *) make_opclause(operator, BOOLOID, false,
									copyObject((Expr *) id),
									(Expr *) constant, InvalidOid, InvalidOid);
}

/* Whether a set has all integers between its ends. */
static bool
is_run(const r64_set *set)
{
	int64		lo;
	int64		hi;

	return r64_min(set, &lo) && r64_max(set, &hi) &&
		(uint64) hi - (uint64) lo == r64_cardinality(set) - 1;
}

/* Whether a range of a btree is exactly a set: a known one that is a run. */
bool
roaring64_suits_btree(Node *node)
{
	r64_set		set;

	return roaring64_constant_set(NULL, node, &set) &&
		set.size <= MAX_RUN_SIZE && is_run(&set);
}

/* Whether an expression is an integer that is cast to bigint. */
bool
roaring64_is_cast(Node *node)
{
	return IsA(node, FuncExpr) &&
		(((FuncExpr *) node)->funcid == F_INT8_INT4 ||
		 ((FuncExpr *) node)->funcid == F_INT8_INT2);
}

/*
 * id = ANY (elements) for "id <@ set", if the set is known and has few elements;
 * else NULL.  Not for an empty set, since NULL = ANY ('{}') is false; nor for an
 * integer that is cast, whose statistics core would not find.
 */
Node *
roaring64_simplify_test(SupportRequestSimplify *request)
{
	ScalarArrayOpExpr *test;
	Node	   *id;
	Node	   *node;
	Const	   *constant;
	r64_set		set;
	int64		elements[MAX_ARRAY];
	int			n;

	if (!roaring64_is_lookup(request->root, 0, (Node *) request->fcall, &id, &node))
		return NULL;
	constant = (Const *) node;
	if (!IsA(constant, Const) || constant->constisnull || roaring64_is_cast(id) ||
		toast_raw_datum_size(constant->constvalue) > MAX_ARRAY_SIZE ||
		!roaring64_constant_set(NULL, node, &set) ||
		r64_cardinality(&set) > MAX_ARRAY)
		return NULL;
	n = (int) r64_read(&set, PG_INT64_MIN, PG_INT64_MAX, false, elements,
					   MAX_ARRAY);
	if (n == 0)
		return NULL;
	test = makeNode(ScalarArrayOpExpr);
	test->opno = get_opfamily_member(INTEGER_BTREE_FAM_OID, INT8OID, INT8OID,
									 BTEqualStrategyNumber);
	test->opfuncid = F_INT8EQ;
	test->useOr = true;
	test->args = list_make2(id, makeConst(INT8ARRAYOID, -1, InvalidOid, -1,
										  roaring64_bigint_array(elements, n),
										  false, false));
	test->location = -1;
	return (Node *) test;
}

/*
 * Whether a column of a btree or BRIN has bigints in their usual order, as all of
 * the server's own operator families with an order have.
 */
bool
roaring64_is_column_of_ids(const IndexOptInfo *index, int column)
{
	Oid			family = index->opfamily[column];

	return index->opcintype[column] == INT8OID && family < FirstGenbkiObjectId &&
		OidIsValid(get_opfamily_member(family, INT8OID, INT8OID,
									   BTLessEqualStrategyNumber));
}

/* The condition for "id <@ set" and an index on id: see docs/indexes.md. */
List *
roaring64_support_index(SupportRequestIndexCondition *request)
{
	bool		is_btree = request->index->relam == BTREE_AM_OID;
	int64		lo = PG_INT64_MAX;
	int64		hi = PG_INT64_MIN;
	Node	   *id;
	Node	   *set;
	r64_set		known;

	if ((!is_btree && request->index->relam != BRIN_AM_OID) ||
		!roaring64_is_column_of_ids(request->index, request->indexcol) ||
		!roaring64_is_lookup(request->root, request->index->rel->relid,
							 request->node, &id, &set) ||
		!roaring64_constant_set(NULL, set, &known) ||
		(is_btree && request->indexcol == 0 && !roaring64_suits_btree(set)))
		return NIL;				/* a lookup may suit it */
	request->lossy = !is_run(&known);
	/* for an empty set the bounds exclude each other */
	(void) r64_min(&known, &lo);
	(void) r64_max(&known, &hi);
	if (lo == hi)
		return list_make1(roaring64_compare(request->opfamily, id,
											BTEqualStrategyNumber, lo));
	return list_make2(roaring64_compare(request->opfamily, id,
										BTGreaterEqualStrategyNumber, lo),
					  roaring64_compare(request->opfamily, id,
										BTLessEqualStrategyNumber, hi));
}
