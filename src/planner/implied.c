/*-------------------------------------------------------------------------
 *
 * implied.c
 *	  Comparisons that "id <@ set" implies for a known set: conditions for an index
 *	  on id, and what prunes partitions and children.
 *
 * For an index there is one of these, or a path of our own (lookuppath.c), but
 * not both:
 *
 *	- id = ANY ('{...}') for a btree and a known set of few elements; not for a
 *	  later column to 16, where the server does not see that the rows come out
 *	  of the index's order, unless the query itself has the array;
 *	- id >= smallest AND id <= largest for a known set that is a run, for
 *	  any known set and a later column of a btree, and for BRIN.  The rows are
 *	  tested again unless the set is a run;
 *	- a lookup for all others and the first column of a btree.
 *
 * The server prunes by comparisons of a column with constants, and "id <@ set"
 * is none.  But it implies that id is in one of the ranges that the set has
 * between the bounds of the partitions.  This is added to the conditions of a
 * partitioned table before its partitions are opened, and taken away before a
 * partition gets its copies of them: there it would be tested again, and count
 * twice in estimates.
 *
 * src/planner/implied.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "partitioning/partbounds.h"
#include "utils/fmgroids.h"

#include "planner/planner.h"
#include "type/roaring64.h"

/*
 * The most keys of an array in a plan, and ranges of a condition.  The planner
 * takes some microseconds to estimate each.
 */
#define MAX_ALTERNATIVES	256

/*
 * A set of more bytes is for a lookup without a look at it.  It has more than
 * MAX_ALTERNATIVES elements, and as a run it has hundreds of millions.
 */
#define MAX_KNOWN_SIZE	65536

/*
 * The place in the query's text that implied comparisons have, by which they are
 * known.  No other has it: the server writes -1 where there is none.  Copies keep
 * it, and nothing but messages of the parser reads it.
 */
#define IMPLIED_LOCATION	(-20064)

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

/* lo <= id <= hi, as one comparison or two. */
static List *
make_within(Oid family, Node *id, int64 lo, int64 hi)
{
	if (lo == hi)
		return list_make1(roaring64_compare(family, id,
											BTEqualStrategyNumber, lo));
	return list_make2(roaring64_compare(family, id,
										BTGreaterEqualStrategyNumber, lo),
					  roaring64_compare(family, id,
										BTLessEqualStrategyNumber, hi));
}

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
		(r64_cardinality(&set) <= MAX_ALTERNATIVES || is_run(&set));
}

/* id = ANY (elements) */
static List *
any_of_elements(SupportRequestIndexCondition *request, Node *id, r64_set *set)
{
	ScalarArrayOpExpr *test = makeNode(ScalarArrayOpExpr);
	int64		elements[MAX_ALTERNATIVES];
	int			n = (int) r64_read(set, PG_INT64_MIN, PG_INT64_MAX, false,
								   elements, MAX_ALTERNATIVES);

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
List *
roaring64_support_index(SupportRequestIndexCondition *request)
{
	bool		is_btree = request->index->relam == BTREE_AM_OID;
	bool		is_first = is_btree && request->indexcol == 0;
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
		(is_first && !roaring64_suits_btree(set)))
		return NIL;				/* or for a lookup */
	request->lossy = !is_run(&known);
	if (request->lossy && r64_cardinality(&known) <= MAX_ALTERNATIVES &&
		(is_first || (is_btree && ROARING64_ARRAY_KEEPS_ORDER)))
		return any_of_elements(request, id, &known);
	/* nothing is in both bounds of an empty set */
	(void) r64_min(&known, &lo);
	(void) r64_max(&known, &hi);
	return make_within(request->opfamily, id, lo, hi);
}

static bool
is_implied(Expr *condition)
{
	while (IsA(condition, BoolExpr))
		condition = linitial(((BoolExpr *) condition)->args);
	return IsA(condition, OpExpr) &&
		((OpExpr *) condition)->location == IMPLIED_LOCATION;
}

/* lo <= id <= hi */
static Expr *
make_range(Node *id, int64 lo, int64 hi)
{
	List	   *comparisons = make_within(INTEGER_BTREE_FAM_OID, id, lo, hi);
	ListCell   *cell;

	foreach(cell, comparisons)
		lfirst_node(OpExpr, cell)->location = IMPLIED_LOCATION;
	return make_ands_explicit(comparisons);
}

/* A bound of a table's partitions by its first column, an integer. */
static int64
get_bound(const RelOptInfo *rel, int i)
{
	PartitionBoundInfo bounds = rel->boundinfo;
	Datum		datum = bounds->datums[i][0];
	Oid			type = rel->part_scheme->partopcintype[0];

	if (bounds->kind && bounds->kind[i][0] != PARTITION_RANGE_DATUM_VALUE)
		return bounds->kind[i][0] == PARTITION_RANGE_DATUM_MINVALUE ?
			PG_INT64_MIN : PG_INT64_MAX;
	return type == INT2OID ? DatumGetInt16(datum) :
		type == INT4OID ? DatumGetInt32(datum) : DatumGetInt64(datum);
}

/* Whether the partitions of a table are ranges or lists of integers. */
static bool
has_bounds(const RelOptInfo *rel)
{
	return rel->boundinfo != NULL &&
		rel->boundinfo->strategy != PARTITION_STRATEGY_HASH &&
		rel->part_scheme->partopfamily[0] == INTEGER_BTREE_FAM_OID;
}

/*
 * That id is in a set, as far as comparisons can say: it is in one of the ranges
 * that the set has between two bounds of a partitioned table, or, if that has
 * none that are integers, equals one of its few elements.
 */
static Expr *
make_implied(const RelOptInfo *rel, Node *id, r64_set *set)
{
	List	   *ranges = NIL;
	int			nbounds = has_bounds(rel) ? rel->boundinfo->ndatums : 0;
	int			next = 0;
	int64		first;
	int64		last;
	int64		lo;
	int64		hi;

	r64_index_set(set);
	if (!r64_min(set, &first) || !r64_max(set, &last))
		return (Expr *) makeBoolConst(false, false);
	if (nbounds == 0 && r64_cardinality(set) > MAX_ALTERNATIVES)
		return make_range(id, first, last);
	lo = first;
	do
	{
		while (next < nbounds && get_bound(rel, next) <= lo)
			next++;
		hi = nbounds == 0 ? lo : last;
		if (next < nbounds)
			(void) r64_prev(set, get_bound(rel, next) - 1, &hi);
		ranges = lappend(ranges, make_range(id, lo, hi));
	} while (hi < last && list_length(ranges) < MAX_ALTERNATIVES &&
			 r64_next(set, hi + 1, &lo));
	if (hi < last)
		return make_range(id, first, last);
	return list_length(ranges) == 1 ? linitial(ranges) : make_orclause(ranges);
}

/*
 * What conditions of the relation relid imply that look it up in a known set, for
 * the bounds that rel has.  If an outer join makes an id that is strict NULL, its
 * row does not pass.
 */
static List *
find_implied(PlannerInfo *root, Index relid, const RelOptInfo *rel,
			 List *conditions)
{
	List	   *implied = NIL;
	ListCell   *cell;

	foreach(cell, conditions)
	{
		ListCell   *part;
		Node	   *id;
		Node	   *set;
		r64_set		known;

		if (!roaring64_is_lookup(root, relid, lfirst(cell), &id, &set) ||
			!roaring64_constant_set(NULL, set, &known))
			continue;
		if (IsA(id, FuncExpr) && (((FuncExpr *) id)->funcid == F_INT8_INT4 ||
								  ((FuncExpr *) id)->funcid == F_INT8_INT2))
			id = linitial(((FuncExpr *) id)->args);
		if (!bms_equal(pull_varnos(root, id), bms_make_singleton(relid)) ||
			contain_volatile_functions(id) || contain_nonstrict_functions(id))
			continue;
		foreach(part, make_ands_implicit(make_implied(rel, id, &known)))
			implied = lappend(implied,
							  make_simple_restrictinfo(root, lfirst(part)));
		r64_close(&known);
	}
	return implied;
}

/* The conditions of a join tree that hold for all rows of the query. */
static List *
list_conditions(Node *tree)
{
	List	   *parts = NIL;
	List	   *conditions = NIL;
	ListCell   *cell;

	if (IsA(tree, FromExpr))
	{
		parts = ((FromExpr *) tree)->fromlist;
		conditions = list_copy((List *) ((FromExpr *) tree)->quals);
	}
	else if (IsA(tree, JoinExpr) && ((JoinExpr *) tree)->jointype == JOIN_INNER)
	{
		parts = list_make2(((JoinExpr *) tree)->larg, ((JoinExpr *) tree)->rarg);
		conditions = list_copy((List *) ((JoinExpr *) tree)->quals);
	}
	foreach(cell, parts)
		conditions = list_concat(conditions, list_conditions(lfirst(cell)));
	return conditions;
}

/*
 * Told of a table: lets the server prune its partitions by the conditions of the
 * query, or of the partitioned table above, whose partitions the server opens
 * when it knows all of them.  Not by several columns.
 */
void
roaring64_prepare_pruning(PlannerInfo *root, RelOptInfo *rel)
{
	RelOptInfo *top = rel;
	RelOptInfo *above = rel;
	AppendRelInfo *member;
	List	   *conditions;
	ListCell   *cell;

	/* from all above: the next child may be a subquery, which has no call */
	while (root->append_rel_array != NULL &&
		   (member = root->append_rel_array[above->relid]) != NULL)
	{
		above = root->simple_rel_array[member->parent_relid];
		top = top == rel ? above : top;
		foreach(cell, above->baserestrictinfo)
		{
			if (is_implied(lfirst_node(RestrictInfo, cell)->clause))
				above->baserestrictinfo =
					foreach_delete_current(above->baserestrictinfo, cell);
		}
	}
	/* by ranges of several columns, 18.6 prunes partitions that have rows */
	if (rel->boundinfo == NULL || rel->part_scheme->partnatts > 1 ||
		root->parse->jointree == NULL)
		return;
	conditions = top == rel ? list_conditions((Node *) root->parse->jointree) :
		extract_actual_clauses(top->baserestrictinfo, false);
	top->baserestrictinfo = list_concat(top->baserestrictinfo,
										find_implied(root, top->relid, rel,
													 conditions));
}

/*
 * Whether the constraints of a child, which is no partition, say that no element
 * of a known set is in it.
 */
bool
roaring64_is_excluded(PlannerInfo *root, const RelOptInfo *rel,
					  RangeTblEntry *entry)
{
	RelOptInfo	implied = *rel;

	if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL ||
		root->simple_rel_array[root->append_rel_array[rel->relid]->parent_relid]->part_scheme)
		return false;
	implied.baserestrictinfo =
		find_implied(root, rel->relid, rel,
					 extract_actual_clauses(rel->baserestrictinfo, false));
	return implied.baserestrictinfo != NIL &&
		relation_excluded_by_constraints(root, &implied, entry);
}
