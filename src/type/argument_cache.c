/*-------------------------------------------------------------------------
 *
 * argument_cache.c
 *	  An argument as a set, detoasted and indexed once if it comes again.
 *
 * A plan can hand the same value to a function row after row: a constant, a
 * parameter, or a column of the outer side of a join.  Detoasting it every
 * time can cost a thousand times as much as the function itself.  So each
 * call site keeps at most one value of each argument in fn_extra.
 *
 * There is one rule of identity: a value is remembered as all bytes of the datum by
 * which it is recognised, beside what is kept of it.  The bytes of a TOAST pointer
 * name a value that never changes: an update writes another one, whose OID can be
 * the same only four billion OIDs later.  The bytes of a compressed value are
 * compared in less time than it takes to decompress them.  A constant is part of the
 * call site's own expression, so its address recognises it.
 * No length, beginning, other address or memory context shows that a value is the
 * same: the next time, another one may be there.
 *
 * The first time only the datum is remembered, so a scan over many values pays next
 * to nothing; the second time its set is kept.  A parameter of the plan or of its
 * caller, and a constant, will probably come again, so if they have to be fetched
 * whole, they are kept the first time.
 *
 * Nothing is kept at a call site of unknown expression, such as that of an
 * output function, which a session may hold on to; elsewhere it is kept as
 * long as the expression's state.
 *
 * src/type/argument_cache.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "expanded.h"

#define MAX_SETS	2			/* no function has more set arguments */

/*
 * A plain value is remembered if it has at most MAX_COMPARED bytes, which fit into a
 * processor's cache, and at least MIN_BUCKETS buckets, which take longer to read.
 */
#define MAX_COMPARED	(256 * 1024)
#define MIN_BUCKETS		16

/* Copying a variable of fewer bytes is cheaper than making it an object. */
#define MIN_EDITED_SIZE 4096

typedef struct KeptArgument
{
	struct varlena *constant;	/* the argument, if it is one */
	bool		is_parameter;	/* of the plan or of the query */

	struct varlena *datum;		/* the last one handed over, or NULL */
	struct varlena *flat;		/* detoasted, or NULL; may be datum itself */
	r64_set		set;			/* of flat */
} KeptArgument;

typedef struct CallSite
{
	KeptArgument arg[MAX_SETS];
} CallSite;

/* The expression of an argument, or NULL if that is not known. */
static Node *
argument_expression(FmgrInfo *flinfo, int argno)
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

/*
 * Whether to change argument argno in place: it is an object that may be changed,
 * or may be a variable of a language that will pass the object for the next
 * change.  A portal executes a query, whose parameters do not change.  (Parameters
 * of other queries cannot be told from variables, and become objects in vain.)
 */
bool
roaring64_edits_in_place(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	Node	   *expr;

	if (roaring64_writable(datum) != NULL)
		return true;
	if (!ROARING64_MODIFIES_IN_PLACE || VARATT_IS_EXTERNAL(value) ||
		VARSIZE_ANY(value) < MIN_EDITED_SIZE)
		return false;
	expr = argument_expression(fcinfo->flinfo, argno);
	return expr != NULL && IsA(expr, Param) &&
		((Param *) expr)->paramkind == PARAM_EXTERN &&
		MemoryContextGetParent(fcinfo->flinfo->fn_mcxt) != PortalContext;
}

/* Begins to keep arguments of a call site; NULL if nothing ever is kept. */
static CallSite *
make_call_site(FmgrInfo *flinfo)
{
	CallSite   *site;

	if (argument_expression(flinfo, 0) == NULL)
		return NULL;
	site = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(CallSite));
	for (int i = 0; i < MAX_SETS; i++)
	{
		Node	   *expr = argument_expression(flinfo, i);

		if (expr != NULL && IsA(expr, Const))
			site->arg[i].constant = (struct varlena *)
				DatumGetPointer(((Const *) expr)->constvalue);
		site->arg[i].is_parameter = expr != NULL && IsA(expr, Param);
	}
	flinfo->fn_extra = site;
	return site;
}

/* The kept state of an argument, or NULL if its call site keeps nothing. */
static inline KeptArgument *
get_kept(FunctionCallInfo fcinfo, int argno)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	CallSite   *site = flinfo == NULL ? NULL : flinfo->fn_extra;

	if (site == NULL)
		site = make_call_site(flinfo);
	return site == NULL ? NULL : &site->arg[argno];
}

/* Whether a datum can be recognised, at less cost than opening it. */
static bool
is_recognisable(const KeptArgument *arg, struct varlena *value)
{
	uint64		buckets;

	if (value == arg->constant || VARATT_IS_EXTERNAL_ONDISK(value) ||
		VARATT_IS_COMPRESSED(value))
		return true;
	if (VARATT_IS_EXTERNAL(value) || VARSIZE_ANY(value) > MAX_COMPARED ||
		VARSIZE_ANY_EXHDR(value) < sizeof(buckets))
		return false;

	/* the format begins with their number */
	memcpy(&buckets, VARDATA_ANY(value), sizeof(buckets));
	return buckets >= MIN_BUCKETS;
}

/* Whether a datum is the one that is remembered. */
static inline bool
is_last(const KeptArgument *arg, struct varlena *value)
{
	return arg->datum != NULL &&
		(value == arg->datum ||
		 (VARSIZE_ANY(value) == VARSIZE_ANY(arg->datum) &&
		  memcmp(value, arg->datum, VARSIZE_ANY(value)) == 0));
}

/* Remembers a datum in place of another. */
static void
remember(KeptArgument *arg, struct varlena *value, MemoryContext context)
{
	struct varlena *datum = arg->datum;
	struct varlena *flat = arg->flat;

	arg->datum = arg->flat = NULL;
	r64_close(&arg->set);
	if (flat != NULL && flat != datum)
		pfree(flat);
	if (datum != NULL && datum != arg->constant)
		pfree(datum);
	arg->datum = value == arg->constant ? value :
		memcpy(MemoryContextAlloc(context, VARSIZE_ANY(value)), value,
			   VARSIZE_ANY(value));
}

/*
 * Makes the set of the remembered datum, and its index if asked, unless they are
 * there.  A failure keeps nothing, and leaves its allocations to the context.
 */
static void
open_remembered(KeptArgument *arg, MemoryContext context, bool with_index)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	if (arg->flat == NULL)
	{
		struct varlena *flat = pg_detoast_datum_packed(arg->datum);

		arg->set = roaring64_view(flat);
		arg->flat = flat;
	}
	if (with_index)
		r64_index_set(&arg->set);
	MemoryContextSwitchTo(oldcontext);
}

/* The set that is kept of an argument, with its index, or NULL. */
static inline r64_set *
find_kept(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	KeptArgument *arg = get_kept(fcinfo, argno);

	if (arg == NULL || !is_last(arg, (struct varlena *) DatumGetPointer(datum)))
		return NULL;
	if (arg->set.index == NULL)
		open_remembered(arg, fcinfo->flinfo->fn_mcxt, true);
	return &arg->set;
}

/* Returns an argument that does not come again as a set, and remembers it. */
static r64_set *
load_argument(FunctionCallInfo fcinfo, int argno, r64_set *local)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	KeptArgument *arg = get_kept(fcinfo, argno);

	if (arg != NULL && is_recognisable(arg, value))
	{
		remember(arg, value, fcinfo->flinfo->fn_mcxt);
		if (value == arg->constant || arg->is_parameter)
		{
			open_remembered(arg, fcinfo->flinfo->fn_mcxt, false);
			/* a copy, as an index made by our caller is not to be kept */
			*local = arg->set;
			return local;
		}
	}
	*local = DatumGetRoaring64(datum);
	return local;
}

/*
 * Returns an argument as a set.  A value that comes call after call is
 * detoasted and indexed once; any other is in *local.  Not for functions that
 * keep something of their own in fn_extra.
 */
r64_set *
roaring64_getarg(FunctionCallInfo fcinfo, int argno, r64_set *local)
{
	r64_set    *set = find_kept(fcinfo, argno);

	return set != NULL ? set : load_argument(fcinfo, argno, local);
}

/*
 * Returns an argument restricted to the containers that meet those of few: elements
 * of other containers may be missing.  The first time it is perhaps read in parts.
 * Unless it is NULL, *cardinality becomes the number of elements of the whole
 * argument.
 */
r64_set *
roaring64_getarg_within(FunctionCallInfo fcinfo, int argno,
						const r64_set *few, uint64 *cardinality,
						r64_set *local)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	KeptArgument *arg = get_kept(fcinfo, argno);
	r64_set    *set = find_kept(fcinfo, argno);
	r64_buf		made;

	if (set == NULL && arg != NULL &&
		roaring64_restrict(datum, few, cardinality, &made))
	{
		remember(arg, (struct varlena *) DatumGetPointer(datum),
				 fcinfo->flinfo->fn_mcxt);
		*local = r64_open_buf(&roaring64_env, made);
		return local;
	}
	if (set == NULL)
		set = load_argument(fcinfo, argno, local);
	if (cardinality != NULL)
		*cardinality = r64_cardinality(set);
	return set;
}

/* Whether an argument contains an element. */
bool
roaring64_arg_contains(FunctionCallInfo fcinfo, int argno, int64 element)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	r64_set		few;
	r64_set		local;
	uint8_t		one[R64_SINGLETON_SIZE];

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return roaring64_expanded_contains(datum, element);
	few = r64_singleton(&roaring64_env, element, one);
	return r64_contains(roaring64_getarg_within(fcinfo, argno, &few, NULL, &local),
						element);
}

/* How many elements an argument has. */
uint64
roaring64_arg_cardinality(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	static const uint8_t nothing[sizeof(uint64)];
	r64_set		few = r64_open(&roaring64_env, nothing, sizeof(nothing));
	r64_set		local;
	uint64		cardinality;

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return roaring64_expanded_cardinality(datum);
	(void) roaring64_getarg_within(fcinfo, argno, &few, &cardinality, &local);
	return cardinality;
}

/* Which of the first two arguments takes more bytes, uncompressed: 0 or 1. */
int
roaring64_larger_argument(FunctionCallInfo fcinfo)
{
	return toast_raw_datum_size(PG_GETARG_DATUM(0)) >
		toast_raw_datum_size(PG_GETARG_DATUM(1)) ? 0 : 1;
}
