/*-------------------------------------------------------------------------
 *
 * variable.c
 *	  Variables of a procedural language that are changed in place.
 *
 * "x := x | id" in a loop would copy x every time.  From PostgreSQL 18 on,
 * PL/pgSQL hands an expanded object in x to a function that says it can change
 * it in place.  (Before 18 only functions of the server can get it.)
 *
 * A failure leaves the set as it was, so the variable stays valid if the error
 * is caught.
 *
 * src/type/variable.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/supportnodes.h"
#include "utils/memutils.h"

#include "expanded.h"

static ExpandedRoaring64 *
new_variable(Datum value)
{
	r64_set		s = DatumGetRoaring64(value);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "roaring64 variable",
												  ALLOCSET_START_SMALL_SIZES);
	ExpandedRoaring64 *v = roaring64_new_expanded(context, &roaring64_env);

	roaring64_expanded_combine(v, R64_OR, s);
	return v;
}

/*
 * Adds a value to a set that roaring64_edits_in_place() said yes to, or removes
 * it, and returns the datum.  Values that are added wait, at most until the set is
 * read; to remove one copies the set.
 */
Datum
roaring64_edit(Datum value, r64_op op, int64 element)
{
	ExpandedRoaring64 *v = roaring64_writable(value);
	uint8_t		one[R64_SINGLETON_SIZE];

	if (v == NULL)
		v = new_variable(value);
	if (op == R64_OR)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(v->hdr.eoh_context);

		r64_accumulate(v->acc, element);
		MemoryContextSwitchTo(oldcontext);
	}
	else
		roaring64_expanded_combine(v, op,
								   r64_singleton(&roaring64_env, element, one));
	return ExpandedRoaring64GetDatum(v);
}

/*
 * roaring64_setop_support(internal) returns internal: for a set operation,
 * whether it can change a variable that is an argument in place.
 */
PG_FUNCTION_INFO_V1(roaring64_setop_support);
Datum
roaring64_setop_support(PG_FUNCTION_ARGS)
{
#if ROARING64_MODIFIES_IN_PLACE
	SupportRequestModifyInPlace *request =
		(SupportRequestModifyInPlace *) PG_GETARG_POINTER(0);
	ListCell   *lc;

	if (!IsA(request, SupportRequestModifyInPlace))
		PG_RETURN_POINTER(NULL);
	foreach(lc, request->args)
	{
		Param	   *param = lfirst(lc);

		if (IsA(param, Param) && param->paramkind == PARAM_EXTERN &&
			param->paramid == request->paramid)
			PG_RETURN_POINTER(param);
	}
#endif
	PG_RETURN_POINTER(NULL);
}
