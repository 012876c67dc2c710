/*-------------------------------------------------------------------------
 *
 * expressions.c
 *	  What is known of an expression before the query runs: what function it
 *	  calls, its value, or how many elements it will have.
 *
 * src/planner/expressions.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "planner/planner.h"
#include "type/roaring64.h"

/* The C function behind a function; NULL if that is none. */
PGFunction
roaring64_c_function(Oid function)
{
	FmgrInfo	info;

	if (function < FirstGenbkiObjectId) /* the server's, or none */
		return NULL;
	fmgr_info(function, &info);
	return info.fn_addr;
}

/*
 * The arguments of an expression that is a call or an operator, and in *function
 * what it calls; NIL and InvalidOid if it is neither.
 */
List *
roaring64_call(Node *node, Oid *function)
{
	if (IsA(node, OpExpr))
	{
		set_opfuncid((OpExpr *) node);
		*function = ((OpExpr *) node)->opfuncid;
		return ((OpExpr *) node)->args;
	}
	if (IsA(node, FuncExpr))
	{
		*function = ((FuncExpr *) node)->funcid;
		return ((FuncExpr *) node)->args;
	}
	*function = InvalidOid;
	return NIL;
}

/*
 * Whether an expression is "id <@ set", however that is written, and the set stays
 * the same for all rows of a relation.
 */
bool
roaring64_is_lookup(PlannerInfo *root, Index relid, Node *node,
					Node **id, Node **set)
{
	Oid			function;
	List	   *args = roaring64_call(node, &function);
	PGFunction	called = list_length(args) == 2 ?
		roaring64_c_function(function) : NULL;

	if (called != roaring64_contains_element &&
		called != roaring64_element_contained)
		return false;
	*id = list_nth(args, called == roaring64_contains_element);
	*set = list_nth(args, called == roaring64_element_contained);
	return roaring64_is_type(getBaseType(exprType(*set))) &&
		!contain_volatile_functions(*set) &&
		!bms_is_member(relid, pull_varnos(root, *set));
}

/*
 * What expressions have been estimated to in a plan, since a stable function can
 * take long.  It lies in the context of the plan, and is forgotten with that.
 */
static struct
{
	PlannerGlobal *plan;
	List	   *pairs;			/* of lists: an expression, its value */
}			estimated;

static void
forget_estimated(void *arg)
{
	memset(&estimated, 0, sizeof(estimated));
}

/* estimate_expression_value(), but once a plan; not at all if root is NULL. */
Node *
roaring64_estimate_once(PlannerInfo *root, Node *node)
{
	Node	   *value;
	MemoryContext oldcontext;
	ListCell   *cell;

	if (root == NULL || IsA(node, Const))
		return node;
	if (estimated.plan == root->glob)
	{
		foreach(cell, estimated.pairs)
		{
			if (equal(linitial(lfirst(cell)), node))
				return lsecond(lfirst(cell));
		}
	}
	/* this can make other plans */
	value = estimate_expression_value(root, node);
	if (!IsA(value, Const))
		return value;
	oldcontext = MemoryContextSwitchTo(root->planner_cxt);
	if (estimated.plan != root->glob)
	{
		MemoryContextCallback *callback = palloc0(sizeof(*callback));

		callback->func = forget_estimated;
		MemoryContextRegisterResetCallback(root->planner_cxt, callback);
		forget_estimated(NULL);
		estimated.plan = root->glob;
	}
	estimated.pairs = lappend(estimated.pairs, list_make2(copyObject(node),
														  copyObject(value)));
	MemoryContextSwitchTo(oldcontext);
	return value;
}

/*
 * The expression with what is known before execution filled in.  To estimate it,
 * also that of a row which an outer join may put a NULL in place of.
 */
static Node *
reduce(PlannerInfo *root, Node *node)
{
	node = roaring64_estimate_once(root, node);
	while (IsA(node, RelabelType) || (root != NULL && IsA(node, PlaceHolderVar)))
		node = IsA(node, RelabelType) ? (Node *) ((RelabelType *) node)->arg :
			(Node *) ((PlaceHolderVar *) node)->phexpr;
	return node;
}

/*
 * Whether an expression is a constant that a column can be tested with.  It is
 * good for as long as the current memory context is.  root may be NULL.
 */
bool
roaring64_make_probe(PlannerInfo *root, Node *node, Probe *probe)
{
	Const	   *constant = (Const *) reduce(root, node);
	Oid			type;

	memset(probe, 0, sizeof(*probe));
	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	type = getBaseType(constant->consttype);
	probe->is_set = roaring64_is_type(type);
	if (probe->is_set)
		probe->set = DatumGetRoaring64(constant->constvalue);
	else if (type == INT8RANGEOID)
		roaring64_datum_bounds(constant->constvalue, &probe->lo, &probe->hi);
	else if (type == INT8OID)
		probe->lo = probe->hi = DatumGetInt64(constant->constvalue);
	else
		return false;
	return true;
}

/* The same of sets only. */
bool
roaring64_constant_set(PlannerInfo *root, Node *node, r64_set *set)
{
	Probe		probe;

	if (!roaring64_make_probe(root, node, &probe))
		return false;
	*set = probe.set;
	return probe.is_set;
}

/*
 * Reads the statistics of an expression that is a column of a relation that the
 * planner knows.  examine_variable insists on that, but support functions are
 * also asked about expressions that are above all relations.
 */
static bool
load_column_stats(PlannerInfo *root, Node *node, bool with_elements,
				  SetStats *stats)
{
	Var		   *var = (Var *) node;
	VariableStatData vardata;

	if (root == NULL || !IsA(node, Var) || var->varlevelsup != 0 ||
		root->simple_rel_array == NULL ||
		var->varno <= 0 || var->varno >= root->simple_rel_array_size ||
		root->simple_rel_array[var->varno] == NULL)
		return false;
	examine_variable(root, node, 0, &vardata);
	roaring64_load_stats(&vardata, InvalidOid, with_elements, stats);
	ReleaseVariableStats(vardata);
	return true;
}

/* The share of the rows for which an expression is an empty set. */
double
roaring64_share_empty(PlannerInfo *root, Node *node)
{
	Probe		nothing = {.lo = 1,.hi = 0};
	SetStats	stats = {0};

	if (!load_column_stats(root, reduce(root, node), false, &stats))
		return ROARING64_DEFAULT_SHARE;
	stats.nonnull *= roaring64_share_passing(&stats, TEST_CONTAINED, &nothing,
											 0);
	roaring64_free_stats(&stats);
	return stats.nonnull;
}

/*
 * How many elements the result of a set operation has, as if the operands had
 * none in common unless the operation is an intersection; -1 if unknown.
 */
static double
operation_cardinality(PlannerInfo *root, Node *node)
{
	Oid			function;
	List	   *args = roaring64_call(node, &function);
	PGFunction	called = roaring64_c_function(function);
	double		left = -1;
	double		right = -1;

	if (list_length(args) != 2)
		return -1;
	if (called == roaring64_and || called == roaring64_and_range)
	{
		left = roaring64_expected_cardinality(root, linitial(args),
											  lsecond(args));
		if (called == roaring64_and)
			right = roaring64_expected_cardinality(root, lsecond(args),
												   linitial(args));
		return left < 0 ? right : right < 0 ? left : Min(left, right);
	}
	left = roaring64_expected_cardinality(root, linitial(args), NULL);
	if (called == roaring64_andnot || called == roaring64_andnot_range)
		return left;
	if (called == roaring64_or || called == roaring64_xor)
		right = roaring64_expected_cardinality(root, lsecond(args), NULL);
	return left < 0 || right < 0 ? -1 : left + right;
}

/*
 * How many elements an expression has that gives a set: those of a constant, the
 * average of a column; -1 if unknown.  Only those in part, if that is not NULL and
 * is a known set or range.
 */
double
roaring64_expected_cardinality(PlannerInfo *root, Node *node, Node *part)
{
	Probe		probe;
	bool		in_part = part != NULL && roaring64_make_probe(root, part, &probe);
	double		n = -1;
	SetStats	stats;
	r64_set		set;

	node = reduce(root, node);
	if (roaring64_constant_set(root, node, &set))
		n = in_part && !probe.is_set ?
			(double) r64_count_range(&set, probe.lo, probe.hi) :
			(double) r64_cardinality(&set);
	else if (load_column_stats(root, node, in_part, &stats))
	{
		if (in_part && probe.is_set)
			r64_index_set(&probe.set);
		if (in_part)
			n = roaring64_expected_hits(&stats, &probe);
		if (n < 0)
			n = stats.average;
		if (in_part && probe.is_set)
			r64_close(&probe.set);
		roaring64_free_stats(&stats);
	}
	else
		n = operation_cardinality(root, node);
	return in_part ? Min(n, roaring64_probe_size(&probe)) : n;
}
