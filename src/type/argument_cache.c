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
 * There is one rule of identity: a value is kept beside all bytes of the datum by
 * which it is recognised, and both are made and dropped together.  The bytes of a
 * TOAST pointer name a value that never changes: an update writes another one,
 * whose OID can be the same only four billion OIDs later.  A constant is part of
 * the call site's own expression, so its address recognises it.  No length,
 * beginning, other address or memory context shows that a value is the same: the
 * next time, another one may be there.
 *
 * The first bytes of the last value are remembered, too, but only as a reason to
 * keep the next one if it begins alike.  So a scan over many values pays nothing.
 * A parameter of the plan or of its caller will probably come again: if it has to
 * be detoasted, it is kept the first time.
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
#include "access/heaptoast.h"
#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "expanded.h"

#define MAX_SETS	2			/* no function has more set arguments */

/* The cost of fetching a part beside that of its bytes, in bytes. */
#define FETCH_COST	((size_t) 16 * TOAST_MAX_CHUNK_SIZE)

/*
 * A parameter will probably come again and then be fetched whole, so parts of it
 * may cost 1/8 of the whole.
 */
#define AGAIN_PART	8

/*
 * The bytes of a compressed value are compared, as that takes less time than to
 * decompress it.  The bytes of a plain value are compared if it has at most
 * MAX_COMPARED of them, which fit into a processor's cache, and at least
 * MIN_BUCKETS buckets, which would take longer to read.
 */
#define MAX_COMPARED	(256 * 1024)
#define MIN_BUCKETS		16

/* Copying a variable of fewer bytes is cheaper than making it an object. */
#define MIN_EDITED_SIZE 4096

/* A TOAST pointer is shorter than this. */
#define HEAD_SIZE		32

typedef struct KeptArgument
{
	struct varlena *constant;	/* the argument, if it is one */
	bool		is_parameter;	/* of the plan or of the query */

	/* the kept value; none if datum is NULL */
	struct varlena *datum;		/* as it was handed over */
	struct varlena *flat;		/* detoasted; may be datum itself */
	r64_set		set;			/* of flat */

	/* the last datum that was not recognised; last_size is 0 before the first */
	Size		last_size;
	char		last_head[HEAD_SIZE];
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

	if (value == arg->constant)
		return true;
	if (VARATT_IS_EXTERNAL(value))
		return VARATT_IS_EXTERNAL_ONDISK(value);
	if (VARATT_IS_COMPRESSED(value))
		return true;
	if (VARSIZE_ANY(value) > MAX_COMPARED)
		return false;
	if (VARSIZE_ANY_EXHDR(value) < sizeof(buckets))
		return false;

	/* the format begins with their number */
	memcpy(&buckets, VARDATA_ANY(value), sizeof(buckets));
	return buckets >= MIN_BUCKETS;
}

/* Whether a datum is the kept one. */
static inline bool
is_kept(const KeptArgument *arg, struct varlena *value)
{
	if (arg->datum == NULL)
		return false;
	if (value == arg->constant)
		return value == arg->datum;
	return VARSIZE_ANY(value) == VARSIZE_ANY(arg->datum) &&
		memcmp(value, arg->datum, VARSIZE_ANY(value)) == 0;
}

/* Whether a datum begins as the last one did. */
static bool
resembles_last(const KeptArgument *arg, struct varlena *value)
{
	Size		size = VARSIZE_ANY(value);

	return size == arg->last_size &&
		memcmp(value, arg->last_head, Min(size, HEAD_SIZE)) == 0;
}

/* Whether a datum that is not kept will probably come again. */
static bool
is_likely(const KeptArgument *arg, struct varlena *value)
{
	if (value == arg->constant)
		return true;
	if (arg->is_parameter &&
		(VARATT_IS_COMPRESSED(value) || VARATT_IS_EXTERNAL(value)))
		return true;
	return arg->datum == NULL && resembles_last(arg, value);
}

/* Drops the kept set, and remembers how another datum begins. */
static void
forget(KeptArgument *arg, struct varlena *value)
{
	if (arg->datum != NULL)
	{
		struct varlena *datum = arg->datum;

		arg->datum = NULL;
		r64_close(&arg->set);
		if (arg->flat != datum)
			pfree(arg->flat);
		if (datum != arg->constant)
			pfree(datum);
	}
	arg->last_size = VARSIZE_ANY(value);
	memcpy(arg->last_head, value, Min(arg->last_size, HEAD_SIZE));
}

/*
 * Keeps a datum and its set.  A failure keeps nothing, and leaves its
 * allocations to the context.
 */
static void
keep(KeptArgument *arg, struct varlena *value, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	struct varlena *datum = value;
	struct varlena *flat;

	Assert(arg->datum == NULL);
	if (value != arg->constant)
		datum = memcpy(palloc(VARSIZE_ANY(value)), value, VARSIZE_ANY(value));
	flat = pg_detoast_datum_packed(datum);
	MemoryContextSwitchTo(oldcontext);
	arg->set = roaring64_view(flat);
	arg->flat = flat;
	arg->datum = datum;
}

/* The set that is kept of an argument, with its index, or NULL. */
static inline r64_set *
find_kept(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	KeptArgument *arg = get_kept(fcinfo, argno);

	if (arg == NULL || !is_kept(arg, (struct varlena *) DatumGetPointer(datum)))
		return NULL;
	if (arg->set.index == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		r64_index_set(&arg->set);
		MemoryContextSwitchTo(oldcontext);
	}
	return &arg->set;
}

/*
 * Returns an argument that is not kept as a set, and keeps it if it will probably
 * come again.
 */
static r64_set *
load_argument(FunctionCallInfo fcinfo, int argno, r64_set *local)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	KeptArgument *arg = get_kept(fcinfo, argno);

	if (arg != NULL && is_recognisable(arg, value))
	{
		bool		likely = is_likely(arg, value);

		forget(arg, value);
		if (likely)
		{
			keep(arg, value, fcinfo->flinfo->fn_mcxt);
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
 * The same, restricted to the containers that meet those of few: elements of other
 * containers may be missing.  A large value that is stored uncompressed, and seen
 * for the first time, is fetched in part if that is cheaper.  Unless it is NULL,
 * *cardinality becomes the number of elements of the whole argument.
 */
r64_set *
roaring64_getarg_within(FunctionCallInfo fcinfo, int argno,
						const r64_set *few, uint64 *cardinality,
						r64_set *local)
{
	struct varlena *value =
		(struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argno));
	KeptArgument *arg = get_kept(fcinfo, argno);
	ToastSource source;
	r64_buf		within;
	r64_set    *set;

	if (arg != NULL && !is_kept(arg, value) && !resembles_last(arg, value) &&
		roaring64_open_source(value, &source) &&
		r64_source_restrict(&source.source, few, FETCH_COST,
							source.source.size /
							(arg->is_parameter ? AGAIN_PART : 1),
							&within, cardinality))
	{
		forget(arg, value);
		*local = r64_open_buf(&roaring64_env, within);
		return local;
	}
	set = roaring64_getarg(fcinfo, argno, local);
	if (cardinality != NULL)
		*cardinality = r64_cardinality(set);
	return set;
}

/*
 * Opens an argument to answer a question about a little of it: as a set, which
 * may be *local, or as a source of parts, and then returns NULL.
 */
static r64_set *
open_argument(FunctionCallInfo fcinfo, int argno, ToastSource *source,
			  r64_set *local)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	KeptArgument *arg;
	r64_set    *set = find_kept(fcinfo, argno);

	if (set != NULL)
		return set;
	arg = get_kept(fcinfo, argno);
	if (arg == NULL || resembles_last(arg, value) ||
		!roaring64_toast_source(datum, source))
		return load_argument(fcinfo, argno, local);
	forget(arg, value);
	return NULL;
}

/* Whether an argument contains an element. */
bool
roaring64_arg_contains(FunctionCallInfo fcinfo, int argno, int64 element)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	ToastSource source;
	r64_set		local;
	r64_set    *set;

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return roaring64_expanded_contains(datum, element);
	set = open_argument(fcinfo, argno, &source, &local);
	return set != NULL ? r64_contains(set, element) :
		r64_source_contains(&source.source, element);
}

/* How many elements an argument has. */
uint64
roaring64_arg_cardinality(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	ToastSource source;
	r64_set		local;
	r64_set    *set;

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(datum)))
		return roaring64_expanded_cardinality(datum);
	set = open_argument(fcinfo, argno, &source, &local);
	return set != NULL ? r64_cardinality(set) :
		r64_source_cardinality(&source.source);
}

/* Which of the first two arguments takes more bytes, uncompressed: 0 or 1. */
int
roaring64_larger_argument(FunctionCallInfo fcinfo)
{
	return toast_raw_datum_size(PG_GETARG_DATUM(0)) >
		toast_raw_datum_size(PG_GETARG_DATUM(1)) ? 0 : 1;
}
