/*-------------------------------------------------------------------------
 *
 * simplify.c
 *	  Calls that the planner replaces by cheaper ones.
 *
 * roaring64_cardinality(a | b) makes a set in order to count it, which
 * roaring64_or_cardinality(a, b) does not; likewise for &, - and #.
 *
 * src/planner/simplify.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "planner/planner.h"

/* The function behind a call or an operator, and its arguments. */
static Oid
called_function(Node *node, List **args)
{
	if (IsA(node, FuncExpr))
	{
		*args = ((FuncExpr *) node)->args;
		return ((FuncExpr *) node)->funcid;
	}
	if (IsA(node, OpExpr))
	{
		*args = ((OpExpr *) node)->args;
		return get_opcode(((OpExpr *) node)->opno);
	}
	return InvalidOid;
}

/* The function that counts what another one would make, or InvalidOid. */
static Oid
counting_function(Oid function, Oid counted)
{
	static const struct
	{
		const char *makes;
		const char *counts;
	}			pairs[] = {
		{"roaring64_or", "roaring64_or_cardinality"},
		{"roaring64_and", "roaring64_and_cardinality"},
		{"roaring64_andnot", "roaring64_andnot_cardinality"},
		{"roaring64_xor", "roaring64_xor_cardinality"}
	};
	char	   *name;
	Oid		   *types;
	int			ntypes;

	if (get_func_namespace(counted) != get_func_namespace(function))
		return InvalidOid;
	name = get_func_name(counted);
	(void) get_func_signature(counted, &types, &ntypes);
	/* not those of a set with an element or a range */
	if (name == NULL || ntypes != 2 || types[0] != types[1])
		return InvalidOid;
	for (int i = 0; i < lengthof(pairs); i++)
		if (strcmp(name, pairs[i].makes) == 0)
			return roaring64_sibling(function, pairs[i].counts, types, 2);
	return InvalidOid;
}

/* See planner.h. */
Node *
roaring64_support_simplify(SupportRequestSimplify *request)
{
	FuncExpr   *call = request->fcall;
	char	   *name = get_func_name(call->funcid);
	List	   *args = NIL;
	Oid			counted;
	Oid			counting;

	if (name == NULL || strcmp(name, "roaring64_cardinality") != 0 ||
		list_length(call->args) != 1)
		return NULL;
	counted = called_function(linitial(call->args), &args);
	if (!OidIsValid(counted))
		return NULL;
	counting = counting_function(call->funcid, counted);
	if (!OidIsValid(counting))
		return NULL;
	return (Node *) makeFuncExpr(counting, INT8OID, args,
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}
