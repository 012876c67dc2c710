/*-------------------------------------------------------------------------
 *
 * prune.c
 *	  Partitions and children that no element of a known set can be in.
 *
 * The server prunes by comparisons of a column with constants, and "id <@ set"
 * is none.  But it implies that id is in one of the ranges that the set has
 * between the bounds of the partitions.  This is added to the conditions of a
 * partitioned table before its partitions are opened, and taken away before a
 * partition gets its copies of them: there it would be tested again, and count
 * twice in estimates.
 *
 * src/planner/prune.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/partition.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "partitioning/partbounds.h"
#include "utils/fmgroids.h"

#include "planner/planner.h"
#include "planner/statistics.h"

/* Ranges to imply.  Of more there is one, from the first to the last. */
#define MAX_RANGES		256

/*
 * The place in the query's text that implied comparisons have, by which they are
 * known.  No other has it: the server writes -1 where there is none.  Copies keep
 * it, and nothing but messages of the parser reads it.
 */
#define IMPLIED_LOCATION	(-20064)

static Expr *
make_comparison(Node *id, int strategy, int64 bound)
{
	OpExpr	   *comparison = roaring64_compare(INTEGER_BTREE_FAM_OID, id,
											   strategy, bound);

	comparison->location = IMPLIED_LOCATION;
	return (Expr *) comparison;
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
	if (lo == hi)
		return make_comparison(id, BTEqualStrategyNumber, lo);
	return make_andclause(list_make2(make_comparison(id, BTGreaterEqualStrategyNumber, lo),
									 make_comparison(id, BTLessEqualStrategyNumber, hi)));
}

/* A bound of a table's partitions by its first column, an integer. */
static int64
get_bound(const RelOptInfo *rel, int i)
{
	PartitionBoundInfo bounds = rel->boundinfo;
	Datum		datum = bounds->datums[i][0];

	if (bounds->kind && bounds->kind[i][0] != PARTITION_RANGE_DATUM_VALUE)
		return bounds->kind[i][0] == PARTITION_RANGE_DATUM_MINVALUE ?
			PG_INT64_MIN : PG_INT64_MAX;
	switch (rel->part_scheme->partopcintype[0])
	{
		case INT2OID:
			return DatumGetInt16(datum);
		case INT4OID:
			return DatumGetInt32(datum);
		default:
			return DatumGetInt64(datum);
	}
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
 * The greatest value that a column can have in a partition which has v there; or
 * the least one, if not above.  Knows ranges of one column, and says the end of
 * bigint of all other tables, also where v has come into the statistics from
 * elsewhere.
 */
int64
roaring64_partition_bound(PlannerInfo *root, const VariableStatData *vardata,
						  int64 v, bool above)
{
	AppendRelInfo *member = root->append_rel_array == NULL ? NULL :
		root->append_rel_array[vardata->rel->relid];
	RelOptInfo *parent = member == NULL ? NULL :
		root->simple_rel_array[member->parent_relid];
	int64		none = above ? PG_INT64_MAX : PG_INT64_MIN;
	Datum		value = Int64GetDatum(v);
	Var		   *key;
	bool		is_equal;
	int			part;
	int			i;

	if (parent == NULL || !has_bounds(parent) ||
		parent->boundinfo->strategy != PARTITION_STRATEGY_RANGE ||
		parent->part_scheme->partnatts != 1)
		return none;
	key = linitial(parent->partexprs[0]);
	if (!IsA(key, Var) ||
		!equal(list_nth(member->translated_vars, key->varattno - 1), vardata->var))
		return none;
	i = partition_range_datum_bsearch(parent->part_scheme->partsupfunc,
									  parent->part_scheme->partcollation,
									  parent->boundinfo, 1, &value, &is_equal);
	part = parent->boundinfo->indexes[i + 1];
	if (part < 0 || parent->part_rels[part] != vardata->rel)
		return none;
	if (!above)
		return i < 0 ? none : get_bound(parent, i);
	return i + 1 == parent->boundinfo->ndatums ||
		get_bound(parent, i + 1) == PG_INT64_MAX ? none :
		get_bound(parent, i + 1) - 1;
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
	if (nbounds == 0 && r64_cardinality(set) > MAX_RANGES)
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
	} while (hi < last && list_length(ranges) < MAX_RANGES &&
			 r64_next(set, hi + 1, &lo));
	if (hi < last)
		return make_range(id, first, last);
	return list_length(ranges) == 1 ? linitial(ranges) : make_orclause(ranges);
}

/*
 * What conditions of the relation relid imply that look it up in a known set, for
 * the bounds that rel has.
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
			contain_volatile_functions(id))
			continue;
		foreach(part, make_ands_implicit(make_implied(rel, id, &known)))
			implied = lappend(implied,
							  make_simple_restrictinfo(root, lfirst(part)));
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
	AppendRelInfo *member = root->append_rel_array == NULL ? NULL :
		root->append_rel_array[rel->relid];
	RelOptInfo *top = member == NULL ? rel :
		root->simple_rel_array[member->parent_relid];
	List	   *conditions;
	ListCell   *cell;

	foreach(cell, top->baserestrictinfo)
		if (is_implied(lfirst_node(RestrictInfo, cell)->clause))
		top->baserestrictinfo =
			foreach_delete_current(top->baserestrictinfo, cell);
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
