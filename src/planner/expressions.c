/*-------------------------------------------------------------------------
 *
 * expressions.c
 *	  What the planner can know of an expression: the function that it calls, its
 *	  value, its number of elements, and the cost of a test or a set operation.
 *
 * Which rows pass a test is estimated in selfuncs.c.
 *
 * src/planner/expressions.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/memutils.h"

#include "planner/planner.h"
#include "type/roaring64.h"

/*
 * The cost of a test of an integer and a set that is a parameter, in operators: less
 * than that of a function in PL/pgSQL, which is to be called later.
 */
#define PARAMETER_COST		20

/* The C function behind a function of an extension, or NULL. */
PGFunction
roaring64_c_function(Oid function)
{
	FmgrInfo	info;

	if (function < FirstGenbkiObjectId) /* the server's, or invalid */
		return NULL;
	fmgr_info(function, &info);
	return info.fn_addr;
}

/*
 * The arguments of a function call or an operator, and its function in *function;
 * NIL and InvalidOid for other expressions.
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
 * Whether an expression is "id <@ set" or the same in another form, with a set that
 * is not volatile and, unless relid is 0, the same for all rows of that relation.
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
		(relid == 0 || !bms_is_member(relid, pull_varnos(root, *set)));
}

/*
 * A value that is known when a plan is made, beside the expression by which it is
 * recognised, which for a constant has all its bytes.
 */
typedef struct Known
{
	Node	   *node;
	Node	   *value;			/* a Const; of a constant, node itself */
	r64_set		set;			/* the value as a set, once opened: with an
								 * index */
} Known;

/*
 * The values known in a plan, kept because a stable function can take long, and a
 * large set is opened several times for each partition.  They are in the context
 * of the planner's run, and are forgotten with it.
 */
static struct
{
	PlannerGlobal *plan;
	List	   *values;			/* of Known */
}			known;

static void
forget_known(void *arg)
{
	memset(&known, 0, sizeof(known));
}

static Known *
find_known(PlannerInfo *root, Node *node)
{
	ListCell   *cell;

	if (known.plan != root->glob)
		return NULL;
	foreach(cell, known.values)
	{
		Known	   *entry = lfirst(cell);

		if (entry->value == node || equal(entry->node, node))
			return entry;
	}
	return NULL;
}

static Known *
remember(PlannerInfo *root, Node *node, Node *value)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(root->planner_cxt);
	Known	   *entry = palloc0(sizeof(Known));

	if (known.plan != root->glob)
	{
		MemoryContextCallback *callback = palloc0(sizeof(*callback));

		callback->func = forget_known;
		MemoryContextRegisterResetCallback(root->planner_cxt, callback);
		forget_known(NULL);
		known.plan = root->glob;
	}
	entry->node = copyObject(node);
	entry->value = node == value ? entry->node : copyObject(value);
	known.values = lappend(known.values, entry);
	MemoryContextSwitchTo(oldcontext);
	return entry;
}

/* estimate_expression_value(), but once per plan, or never if root is NULL. */
Node *
roaring64_estimate_once(PlannerInfo *root, Node *node)
{
	Node	   *value;
	Known	   *entry;

	if (root == NULL || IsA(node, Const))
		return node;
	entry = find_known(root, node);
	if (entry != NULL)
		return entry->value;
	/* this can make other plans */
	value = estimate_expression_value(root, node);
	return IsA(value, Const) ? remember(root, node, value)->value : value;
}

/*
 * A constant as a set, indexed once per plan, which keeps it.  Without a plan it is
 * valid as long as the current memory context.
 */
static r64_set
open_constant(PlannerInfo *root, Const *constant)
{
	Known	   *entry;

	if (root == NULL)
		return DatumGetRoaring64(constant->constvalue);
	entry = find_known(root, (Node *) constant);
	if (entry == NULL)
		entry = remember(root, (Node *) constant, (Node *) constant);
	if (entry->set.index == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(root->planner_cxt);

		entry->set = DatumGetRoaring64(((Const *) entry->value)->constvalue);
		r64_index_set(&entry->set);
		MemoryContextSwitchTo(oldcontext);
	}
	return entry->set;
}

/*
 * An expression with its known parts evaluated, without relabelling.  With a plan,
 * which is to be estimated, a value that an outer join may make NULL is taken for
 * the value itself.
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
 * The expression to estimate in place of another: for a parameter that a subquery
 * sets once, the subquery's target.  *root is then the subquery's.
 */
static Node *
estimated_expression(PlannerInfo **root, Node *node)
{
	PlannerInfo *level;
	ListCell   *cell;

	node = reduce(*root, node);
	if (!IsA(node, Param) || ((Param *) node)->paramkind != PARAM_EXEC)
		return node;
	for (level = *root; level != NULL; level = level->parent_root)
	{
		foreach(cell, level->init_plans)
		{
			SubPlan    *subplan = lfirst_node(SubPlan, cell);
			TargetEntry *target;

			if (subplan->subLinkType != EXPR_SUBLINK ||
				linitial_int(subplan->setParam) != ((Param *) node)->paramid)
				continue;
			*root = list_nth_node(PlannerInfo, level->glob->subroots,
								  subplan->plan_id - 1);
			target = linitial_node(TargetEntry, (*root)->parse->targetList);
			return estimated_expression(root, (Node *) target->expr);
		}
	}
	return node;
}

/*
 * Whether an expression is a constant that a column can be tested with, given as
 * *probe.  If root is not NULL, a set is indexed and belongs to the plan.
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
		probe->set = open_constant(root, constant);
	else if (type == INT8RANGEOID)
		roaring64_range_bounds(constant->constvalue, &probe->lo, &probe->hi);
	else if (type == INT8OID)
		probe->lo = probe->hi = DatumGetInt64(constant->constvalue);
	else
		return false;
	return true;
}

/* Whether an expression is a known set, given as *set. */
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
 * examine_variable(), for a column of a relation that the planner knows; else
 * returns false.  Support functions are also asked about expressions above all
 * relations, for which examine_variable() fails.
 */
static bool
examine_column(PlannerInfo *root, Node *node, VariableStatData *vardata)
{
	Var		   *var = (Var *) node;

	if (root == NULL || !IsA(node, Var) || var->varlevelsup != 0 ||
		root->simple_rel_array == NULL ||
		var->varno <= 0 || var->varno >= root->simple_rel_array_size ||
		root->simple_rel_array[var->varno] == NULL)
		return false;
	examine_variable(root, node, 0, vardata);
	return true;
}

/* The statistics of a column of sets; false if the expression is not a column. */
static bool
load_column_stats(PlannerInfo *root, Node *node, bool with_elements,
				  SetStats *stats)
{
	VariableStatData vardata;

	if (!examine_column(root, node, &vardata))
		return false;
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
 * How many elements two expressions have in common; -1 if unknown.  Unless one of
 * the two is known, the smaller set is taken for a subset of the larger, as read
 * messages are of those sent.
 */
static double
common_cardinality(PlannerInfo *root, Node *left, Node *right)
{
	bool		is_set = roaring64_is_type(getBaseType(exprType(right)));
	double		of_left = roaring64_expected_cardinality(root, left, right);
	double		of_right = is_set ?
		roaring64_expected_cardinality(root, right, left) : -1;

	return of_left < 0 ? of_right : of_right < 0 ? of_left :
		Min(of_left, of_right);
}

/*
 * How many elements of one set are not in another set or range; -1 if unknown.  If
 * neither is known, the second is taken for a subset of the first, and for the same
 * set if it has the same size, but not for a superset if it is larger.
 */
static double
difference_cardinality(PlannerInfo *root, Node *left, Node *right)
{
	double		n = roaring64_expected_cardinality(root, left, NULL);
	Probe		probe;
	bool		is_known = roaring64_make_probe(root, left, &probe) ||
		roaring64_make_probe(root, right, &probe);
	double		common = is_known ? common_cardinality(root, left, right) :
		roaring64_expected_cardinality(root, right, NULL);

	if (common < 0 || (!is_known && common > n))
		return n;
	return Max(n - common, 0);
}

/*
 * How many elements the result of a set operation has; -1 if unknown.  The operands
 * of a union are taken to be disjoint.
 */
static double
operation_cardinality(PlannerInfo *root, Node *node)
{
	Oid			function;
	List	   *args = roaring64_call(node, &function);
	PGFunction	called = roaring64_c_function(function);
	double		left;
	double		right;

	if (list_length(args) != 2)
		return -1;
	if (called == roaring64_and || called == roaring64_and_range)
		return common_cardinality(root, linitial(args), lsecond(args));
	if (called == roaring64_andnot || called == roaring64_andnot_range)
		return difference_cardinality(root, linitial(args), lsecond(args));
	if (called != roaring64_or && called != roaring64_xor)
		return -1;
	left = roaring64_expected_cardinality(root, linitial(args), NULL);
	right = roaring64_expected_cardinality(root, lsecond(args), NULL);
	return left < 0 || right < 0 ? -1 : left + right;
}

/*
 * How many elements the set has that an expression gives: those of a constant, the
 * average of a column; -1 if unknown.  If part is a known set or range, only the
 * elements in it are counted.  Else at most "most" are, for a column in each row.
 */
double
roaring64_expected_matches(PlannerInfo *root, Node *node, Node *part,
						   double most)
{
	Probe		probe;
	bool		in_part = part != NULL && roaring64_make_probe(root, part, &probe);
	double		n = -1;
	VariableStatData vardata;
	SetStats	stats;
	r64_set		set;

	node = estimated_expression(&root, node);
	if (roaring64_constant_set(root, node, &set))
		n = in_part && !probe.is_set ?
			(double) r64_count_range(&set, probe.lo, probe.hi) :
			(double) r64_cardinality(&set);
	else if (in_part && load_column_stats(root, node, true, &stats))
	{
		n = roaring64_expected_hits(&stats, &probe);
		roaring64_free_stats(&stats);
	}
	else if (!in_part && examine_column(root, node, &vardata))
	{
		n = roaring64_mean_size(&vardata, most);
		ReleaseVariableStats(vardata);
	}
	else
		n = operation_cardinality(root, node);
	return Min(n, in_part ? roaring64_probe_size(&probe) : most);
}

/*
 * The cost of a test of two sets or of a set operation: elements of both are read,
 * but a test reads a constant only once.  A test of an integer against a parameter
 * costs more than one against a constant, as a large set is not recognised when it
 * comes again; so for many rows the server prefers the plan with the constant.  NULL
 * for other tests, and for an operation with an element, which copies a set.
 */
SupportRequestCost *
roaring64_support_cost(SupportRequestCost *request, bool is_test)
{
	Oid			function;
	List	   *args = request->node == NULL ? NIL :
		roaring64_call(request->node, &function);
	double		cost = ROARING64_SET_COST;
	Oid			left;
	Oid			right;
	ListCell   *cell;

	if (list_length(args) != 2)
		return NULL;
	left = getBaseType(exprType(linitial(args)));
	right = getBaseType(exprType(lsecond(args)));
	if (left == INT8OID || right == INT8OID)
	{
		Param	   *set = list_nth(args, left == INT8OID);

		if (!is_test || !IsA(set, Param) || set->paramkind != PARAM_EXTERN)
			return NULL;
		cost = PARAMETER_COST;
	}
	else if (is_test && !roaring64_is_type(right))
		return NULL;
	else
	{
		foreach(cell, args)
		{
			Node	   *arg = lfirst(cell);
			double		n;

			if ((is_test && IsA(arg, Const)) ||
				!roaring64_is_type(getBaseType(exprType(arg))))
				continue;
			n = roaring64_expected_cardinality(request->root, arg, NULL);
			cost += ROARING64_ELEMENT_COST *
				(n < 0 ? ROARING64_DEFAULT_CARDINALITY : n);
		}
	}
	request->startup = 0;
	request->per_tuple = cpu_operator_cost * cost;
	return request;
}

#if ROARING64_MODIFIES_IN_PLACE
/*
 * The set of an operation with an element, its first argument, if that is the
 * requested variable, which can be changed in place; or NULL.
 */
static Param *
support_in_place(SupportRequestModifyInPlace *request)
{
	Param	   *param = linitial(request->args);

	if (exprType(llast(request->args)) == INT8OID && IsA(param, Param) &&
		param->paramkind == PARAM_EXTERN && param->paramid == request->paramid)
		return param;
	return NULL;
}
#endif

/*
 * roaring64_setop_support(internal) returns internal: for a set operation, its cost,
 * and whether it can change a variable in place.
 */
PG_FUNCTION_INFO_V1(roaring64_setop_support);
Datum
roaring64_setop_support(PG_FUNCTION_ARGS)
{
	Node	   *node = (Node *) PG_GETARG_POINTER(0);

	if (IsA(node, SupportRequestCost))
		PG_RETURN_POINTER(roaring64_support_cost((SupportRequestCost *) node, false));
#if ROARING64_MODIFIES_IN_PLACE
	if (IsA(node, SupportRequestModifyInPlace))
		PG_RETURN_POINTER(support_in_place((SupportRequestModifyInPlace *) node));
#endif
	PG_RETURN_POINTER(NULL);
}
