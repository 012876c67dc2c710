/*-------------------------------------------------------------------------
 *
 * argument.c
 *	  An argument as a set, detoasted and indexed once if it comes again.
 *
 * A plan can hand the same value to a function row after row: a constant, or a
 * column of the outer side of a join.  To detoast it every time can cost a
 * thousand times what the function does with it.  So each call site remembers,
 * in fn_extra, what it got last for either argument.
 *
 * Two values are known to be the same without looking at their bytes if the
 * expression is a constant, or if both are pointers to the same TOAST value:
 * such a value is never changed in place, an update writes another one.  (Its
 * OID could be given to another value only after it was vacuumed away and four
 * billion OIDs later, within one execution.)  Any other datum is just memory,
 * which may hold another value the next time at the same address; that is
 * never taken from here.
 *
 * The first time nothing is kept, so a scan over many values pays nothing; the
 * second time in a row the value is, with an index of its buckets.  At most
 * one value per argument is kept, as long as the plan is.
 *
 * src/type/argument.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "nodes/primnodes.h"

#include "roaring64.h"

#define MAX_SETS	2			/* no function has more set arguments */

/*
 * To fetch a part of a TOAST value takes a few index scans, to fetch all of it
 * one and a row for every 2 kB.  A walk to a bucket needs up to three parts
 * for each one on the way, so parts pay from so many bytes a bucket on.
 */
#define SLICE_MIN_BUCKET_SIZE (48 * 1024)

typedef struct KeptArgument
{
	bool		is_constant;
	bool		seen;			/* the last value was this one */
	bool		kept;			/* and it is in set */
	struct varatt_external pointer; /* which TOAST value, unless constant */
	struct varlena *copy;		/* what was detoasted, or NULL */
	r64_set		set;
} KeptArgument;

typedef struct CallSite
{
	KeptArgument arg[MAX_SETS];
} CallSite;

/* See roaring64.h. */
Node *
roaring64_argument_expression(FmgrInfo *flinfo, int argno)
{
	Node	   *expr = flinfo == NULL ? NULL : flinfo->fn_expr;
	List	   *args;

	if (expr == NULL)
		return NULL;
	if (IsA(expr, FuncExpr))
		args = ((FuncExpr *) expr)->args;
	else if (IsA(expr, OpExpr))
		args = ((OpExpr *) expr)->args;
	else
		return NULL;
	return argno < list_length(args) ? list_nth(args, argno) : NULL;
}

static CallSite *
get_call_site(FmgrInfo *flinfo)
{
	CallSite   *site = flinfo->fn_extra;

	if (site == NULL)
	{
		site = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(CallSite));
		for (int i = 0; i < MAX_SETS; i++)
		{
			Node	   *expr = roaring64_argument_expression(flinfo, i);

			site->arg[i].is_constant = expr != NULL && IsA(expr, Const);
		}
		flinfo->fn_extra = site;
	}
	return site;
}

static void
forget(KeptArgument *arg)
{
	if (arg->kept)
		r64_close(&arg->set);
	if (arg->copy != NULL)
		pfree(arg->copy);
	arg->copy = NULL;
	arg->seen = arg->kept = false;
}

/* Keeps a value that was seen before. */
static void
keep(KeptArgument *arg, struct varlena *value, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	struct varlena *flat = pg_detoast_datum_packed(value);

	if (flat != value)
		arg->copy = flat;
	arg->set = roaring64_view(flat);
	r64_index_set(&arg->set);
	arg->kept = true;
	MemoryContextSwitchTo(oldcontext);
}

/* Whether a TOAST pointer is the one that came last. */
static bool
is_same(const KeptArgument *arg, const struct varatt_external *pointer)
{
	return arg->seen && memcmp(pointer, &arg->pointer, sizeof(*pointer)) == 0;
}

static void
remember(KeptArgument *arg, const struct varatt_external *pointer)
{
	forget(arg);
	arg->pointer = *pointer;
	arg->seen = true;
}

static const uint8_t *
fetch_part(void *arg, size_t offset, size_t size)
{
	ToastSource *source = arg;

	if (source->part != NULL)
		pfree(source->part);
	source->part = detoast_attr_slice(source->pointer, (int32) offset,
									  (int32) size);
	return (uint8_t *) VARDATA_ANY(source->part);
}

/* See roaring64.h. */
bool
roaring64_getarg_source(FunctionCallInfo fcinfo, int argno,
						ToastSource *source)
{
	struct varlena *value = (struct varlena *)
		DatumGetPointer(PG_GETARG_DATUM(argno));
	struct varatt_external pointer;
	KeptArgument *arg;

	if (fcinfo->flinfo == NULL || !VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer) ||
		VARATT_EXTERNAL_GET_EXTSIZE(pointer) < SLICE_MIN_BUCKET_SIZE)
		return false;
	arg = &get_call_site(fcinfo->flinfo)->arg[argno];
	if (is_same(arg, &pointer))
		return false;

	*source = (ToastSource) {
		.source = {
			.env = &roaring64_env,
			.arg = source,
			.fetch = fetch_part,
			.size = VARATT_EXTERNAL_GET_EXTSIZE(pointer)
		},
		.pointer = value
	};
	if (r64_source_buckets(&source->source) >
		source->source.size / SLICE_MIN_BUCKET_SIZE)
		return false;
	remember(arg, &pointer);
	return true;
}

/* See roaring64.h. */
r64_set *
roaring64_getarg(FunctionCallInfo fcinfo, int argno, r64_set *local)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	KeptArgument *arg;

	if (fcinfo->flinfo == NULL)
	{
		*local = DatumGetRoaring64(datum);
		return local;
	}
	arg = &get_call_site(fcinfo->flinfo)->arg[argno];
	if (!arg->is_constant)
	{
		struct varatt_external pointer;

		if (!VARATT_IS_EXTERNAL_ONDISK(value))
		{
			*local = DatumGetRoaring64(datum);
			return local;
		}
		VARATT_EXTERNAL_GET_POINTER(pointer, value);
		if (!is_same(arg, &pointer))
		{
			remember(arg, &pointer);
			*local = DatumGetRoaring64(datum);
			return local;
		}
	}
	else if (!arg->seen)
	{
		arg->seen = true;
		*local = DatumGetRoaring64(datum);
		return local;
	}
	if (!arg->kept)
		keep(arg, value, fcinfo->flinfo->fn_mcxt);
	return &arg->set;
}
