/*-------------------------------------------------------------------------
 *
 * indexcond.c
 *	  Conditions for an index on id that "id <@ set" implies.
 *
 * There is one of these, or a path of our own (lookuppath.c), but not both:
 *
 *	- id = ANY ('{...}') for a btree and a known set of few elements; not for a
 *	  later column to 16, where the server does not see that the rows come out
 *	  of the index's order, unless the query itself has the array;
 *	- id >= smallest AND id <= largest for a known set that is a long run, for
 *	  any known set and a later column of a btree, and for BRIN.  The rows are
 *	  tested again unless the set is a run;
 *	- a lookup for all others and the first column of a btree.
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
 * The most keys of an array in a plan.  The planner takes some microseconds to
 * estimate each.
 */
#define MAX_KEYS		256

/*
 * The most elements of a run for which an array is offered.  To estimate a
 * range at the end of a column the server searches the index, which takes
 * longer than some more searches do when the plan is executed.
 */
#define MAX_SHORT_RUN	4

/*
 * A set of more bytes is for a lookup without a look at it.  It has more than
 * MAX_KEYS elements, and as a run it has hundreds of millions.
 */
#define MAX_KNOWN_SIZE	65536

/* Whether a set has all of the span of its elements. */
static bool
is_run(const r64_set *set)
{
	int64		lo;
	int64		hi;

	return r64_min(set, &lo) && r64_max(set, &hi) &&
		(uint64) hi - (uint64) lo == r64_cardinality(set) - 1;
}

/*
 * Whether the server's own scans of a btree suit a set: it is known, not large,
 * and has few elements or is a run.
 */
bool
roaring64_suits_btree(Node *node)
{
	r64_set		set;

	return roaring64_constant_set(NULL, node, &set) &&
		set.size <= MAX_KNOWN_SIZE &&
		(r64_cardinality(&set) <= MAX_KEYS || is_run(&set));
}

/* id = ANY (elements) */
static List *
any_of_elements(SupportRequestIndexCondition *request, Node *id, r64_set *set)
{
	ScalarArrayOpExpr *test = makeNode(ScalarArrayOpExpr);
	int64		elements[MAX_KEYS];
	int			n = (int) r64_read(set, PG_INT64_MIN, PG_INT64_MAX, false,
								   elements, MAX_KEYS);

	test->opno = get_opfamily_member(request->opfamily, INT8OID, INT8OID,
									 BTEqualStrategyNumber);
	test->opfuncid = get_opcode(test->opno);
	test->useOr = true;
	test->args = list_make2(id, makeConst(INT8ARRAYOID, -1, InvalidOid, -1,
										  roaring64_bigint_array(elements, n),
										  false, false));
	test->location = -1;
	request->lossy = false;
	return list_make1(test);
}

/* id >= smallest AND id <= largest; nothing is both of an empty set */
static List *
within_span(SupportRequestIndexCondition *request, Node *id, r64_set *set)
{
	int64		lo = PG_INT64_MAX;
	int64		hi = PG_INT64_MIN;

	(void) r64_min(set, &lo);
	(void) r64_max(set, &hi);
	return list_make2(roaring64_compare(request->opfamily, id,
										BTGreaterEqualStrategyNumber, lo),
					  roaring64_compare(request->opfamily, id,
										BTLessEqualStrategyNumber, hi));
}

/*
 * Whether a column of a btree or BRIN has bigints in their usual order: the
 * server's own operator families that have an order have that one.
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
static List *
lookup_condition(SupportRequestIndexCondition *request, Node *id, Node *set)
{
	bool		is_btree = request->index->relam == BTREE_AM_OID;
	bool		is_first = is_btree && request->indexcol == 0;
	r64_set		known;

	if (!is_btree && request->index->relam != BRIN_AM_OID)
		return NIL;
	if (!roaring64_constant_set(NULL, set, &known) ||
		(is_first && !roaring64_suits_btree(set)))
		return NIL;				/* for a lookup */
	request->lossy = !is_run(&known);
	if (is_btree &&
		r64_cardinality(&known) <= (request->lossy ? MAX_KEYS : MAX_SHORT_RUN) &&
		(is_first || ROARING64_ARRAY_KEEPS_ORDER))
		return any_of_elements(request, id, &known);
	return within_span(request, id, &known);
}

/* Conditions for an index, of the functions that look an id up in a set. */
List *
roaring64_support_index(SupportRequestIndexCondition *request)
{
	Node	   *id;
	Node	   *set;

	return roaring64_is_column_of_ids(request->index, request->indexcol) &&
		roaring64_is_lookup(request->root, request->index->rel->relid,
							request->node, &id, &set) ?
		lookup_condition(request, id, set) : NIL;
}
