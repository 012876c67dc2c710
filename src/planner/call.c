/*-------------------------------------------------------------------------
 *
 * call.c
 *	  What function an expression calls, and cheaper calls in place of some.
 *
 * roaring64_cardinality(a | b) makes a set in order to count it, which
 * roaring64_or_cardinality(a, b) does not; likewise for &, - and #.
 *
 * src/planner/call.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

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

/*
 * The function of a name for two arguments of a type, in the schema of another;
 * InvalidOid if there is none, as a user may have given it another name.
 */
Oid
roaring64_function_of_two(const char *name, Oid type, Oid other)
{
	Oid			types[2] = {type, type};

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, 2)),
						   ObjectIdGetDatum(get_func_namespace(other)));
}

/*
 * roaring64_cardinality_support(internal) returns internal: for the number of
 * elements of a set.
 */
PG_FUNCTION_INFO_V1(roaring64_cardinality_support);
Datum
roaring64_cardinality_support(PG_FUNCTION_ARGS)
{
	SupportRequestSimplify *request =
		(SupportRequestSimplify *) PG_GETARG_POINTER(0);
	Node	   *set;
	List	   *args;
	PGFunction	called;
	Oid			counted;
	Oid			counting;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	set = linitial(request->fcall->args);
	args = roaring64_call(set, &counted);
	called = roaring64_c_function(counted);
	if (called != roaring64_or && called != roaring64_and &&
		called != roaring64_andnot && called != roaring64_xor)
		PG_RETURN_POINTER(NULL);
	counting = roaring64_function_of_two(psprintf("%s_cardinality",
												  get_func_name(counted)),
										 getBaseType(exprType(set)),
										 request->fcall->funcid);
	if (!OidIsValid(counting))
		PG_RETURN_POINTER(NULL);
	PG_RETURN_POINTER(makeFuncExpr(counting, INT8OID, args,
								   InvalidOid, InvalidOid,
								   COERCE_EXPLICIT_CALL));
}
