/*-------------------------------------------------------------------------
 *
 * support.c
 *	  The support function that our functions have in common.
 *
 * It learns from the request which function the planner asks about, and finds
 * out by name what that is; so one serves all, and moves with the extension
 * from schema to schema.
 *
 * src/planner/support.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "planner/planner.h"
#include "type/roaring64.h"

/* See planner.h. */
Oid
roaring64_sibling(Oid function, const char *name, const Oid *types, int ntypes)
{
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(types, ntypes)),
						   ObjectIdGetDatum(get_func_namespace(function)));
}

/* Moves *name past a prefix, if it has that. */
static bool
skip_prefix(const char **name, const char *prefix)
{
	if (strncmp(*name, prefix, strlen(prefix)) != 0)
		return false;
	*name += strlen(prefix);
	return true;
}

/* See planner.h. */
bool
roaring64_has_verb(const char *name, const char *verb)
{
	if (!skip_prefix(&name, "roaring64_"))
		return false;
	(void) (skip_prefix(&name, "element_") || skip_prefix(&name, "range_"));
	if (!skip_prefix(&name, verb))
		return false;
	return *name == '\0' || strcmp(name, "_element") == 0 ||
		strcmp(name, "_range") == 0;
}

/* See planner.h. */
double
roaring64_function_cost(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	double		cost;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	cost = ((Form_pg_proc) GETSTRUCT(tuple))->procost;
	ReleaseSysCache(tuple);
	return cost;
}

/*
 * roaring64_support(internal) returns internal: answers a request of the
 * planner, or NULL if there is nothing to say.
 */
PG_FUNCTION_INFO_V1(roaring64_support);
Datum
roaring64_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	void	   *answer = NULL;

	if (IsA(request, SupportRequestRows))
	{
		if (roaring64_support_rows((SupportRequestRows *) request))
			answer = request;
	}
	else if (IsA(request, SupportRequestCost))
	{
		if (roaring64_support_cost((SupportRequestCost *) request))
			answer = request;
	}
	else if (IsA(request, SupportRequestSelectivity))
	{
		if (roaring64_support_selectivity((SupportRequestSelectivity *) request))
			answer = request;
	}
	else if (IsA(request, SupportRequestIndexCondition))
		answer = roaring64_support_index((SupportRequestIndexCondition *) request);
	else if (IsA(request, SupportRequestSimplify))
		answer = roaring64_support_simplify((SupportRequestSimplify *) request);
	else
		answer = roaring64_support_in_place(request);
	PG_RETURN_POINTER(answer);
}
