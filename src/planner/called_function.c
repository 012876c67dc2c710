/*-------------------------------------------------------------------------
 *
 * called_function.c
 *	  What function an expression calls.
 *
 * src/planner/called_function.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "planner/planner.h"

/* The C function behind a function; NULL if that is none. */
PGFunction
roaring64_c_function(Oid function)
{
	FmgrInfo	info;

	if (roaring64_is_builtin(function))
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
