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
 * There is one rule of identity: a value that is kept stands beside all the
 * bytes of the datum by which it is recognised, and the two are made and
 * dropped together.  Those of a TOAST pointer name a value that never changes:
 * an update writes another one, whose OID can be the same only four billion
 * OIDs later.  A constant is a part of the call site's own expression, so that
 * to be it is to be that datum.  No length, beginning, address or memory
 * context says that a value is the same: the next time, another one may be
 * there.
 *
 * How the last value began is remembered, too, but only as a reason to keep
 * the next one, whatever that is.  So a scan over many values pays nothing.
 * What the plan or its caller hands over as a parameter will probably come
 * again: if it has to be detoasted, it is kept the first time.
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

/* What fetching a part costs beside its own rows, as so many bytes of rows. */
#define FETCH_COST	((size_t) 16 * TOAST_MAX_CHUNK_SIZE)

/*
 * Parts of what the plan will probably hand over again, to be fetched whole,
 * may cost this part of the whole.
 */
#define AGAIN_PART	8

/*
 * The bytes of a compressed value are compared, since that takes less than to
 * decompress it.  Those of another one are compared if it is at most this long, so
 * that it fits into a processor's cache, and has at least this many buckets, so that
 * passing them one by one would take longer.
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

	/* What is kept: all of it or, if datum is NULL, nothing. */
	struct varlena *datum;		/* as it was handed over */
	struct varlena *flat;		/* detoasted; may be datum itself */
	r64_set		set;			/* of flat */

	/* How the last datum began that was looked for and not found. */
	Size		last_size;		/* 0 if there was none */
	char		last_head[HEAD_SIZE];
} KeptArgument;

typedef struct CallSite
{
	KeptArgument arg[MAX_SETS];
} CallSite;

/*
 * Parts that are read on to the end take up to three times as long as all at
 * once, and less than a quarter longer from so many bytes on.
 */
#define READ_ON_MIN	(256 * 1024)

/* The forms in which an argument may answer a question. */
typedef enum ArgumentForm
{
	FORM_SET,
	FORM_PARTS,					/* in TOAST, of which not all is needed */
	FORM_OBJECT					/* expanded, to be read as it is */
} ArgumentForm;

typedef struct Argument
{
	ArgumentForm form;
	Datum		datum;
	ToastSource source;			/* FORM_PARTS */
	r64_set    *set;			/* FORM_SET; may be local */
	r64_set		local;
} Argument;

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
 * Whether argument argno had better be changed in place: it is an object that
 * may be changed, or becomes one because it may be the variable of a language
 * that will hand it over when it is changed again.  What a portal executes is a
 * query, whose parameters do not change.  (Those of other queries cannot be told
 * from variables, and become objects for nothing.)
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

/* What is kept of an argument, or NULL if nothing of it ever is. */
static inline KeptArgument *
get_kept(FunctionCallInfo fcinfo, int argno)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;
	CallSite   *site = flinfo == NULL ? NULL : flinfo->fn_extra;

	if (site == NULL)
		site = make_call_site(flinfo);
	return site == NULL ? NULL : &site->arg[argno];
}

/* Whether a datum can be recognised, and it is worth it. */
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

/* Whether a datum is the one of which a set is kept. */
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

/* Drops what is kept, for a datum that is not that. */
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
 * Keeps a datum and its set.  A failure leaves nothing kept, and what it had
 * made to the context.
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

/* Gives the set that is kept of an argument an index. */
static void
make_index(KeptArgument *arg, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	r64_index_set(&arg->set);
	MemoryContextSwitchTo(oldcontext);
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
		make_index(arg, fcinfo->flinfo->fn_mcxt);
	return &arg->set;
}

/* Returns an argument of which nothing is kept yet as a set. */
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
 * The same as a set from which elements may be missing, but none that has the
 * place of a container of few.  A large value that is stored uncompressed, and
 * seen for the first time, is fetched no further than that takes, if that is
 * cheaper.  *cardinality becomes the number of elements of the argument, unless
 * it is NULL.
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
 * Opens an argument in parts, if it is in TOAST, takes at least so many bytes,
 * and is seen for the first time.
 */
static bool
open_parts(FunctionCallInfo fcinfo, int argno, Size least, Argument *a)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	KeptArgument *arg;

	if (!VARATT_IS_EXTERNAL_ONDISK(value) ||
		toast_raw_datum_size(datum) < least + VARHDRSZ ||
		(arg = get_kept(fcinfo, argno)) == NULL ||
		is_kept(arg, value) || resembles_last(arg, value) ||
		!roaring64_toast_source(datum, &a->source))
		return false;
	forget(arg, value);
	a->form = FORM_PARTS;
	return true;
}

/*
 * Opens an argument in the form that answers a question about a little of it
 * best.
 */
static void
open_argument(FunctionCallInfo fcinfo, int argno, Argument *a)
{
	a->datum = PG_GETARG_DATUM(argno);
	a->form = FORM_SET;
	a->set = find_kept(fcinfo, argno);
	if (a->set != NULL)
		return;
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(a->datum)))
		a->form = FORM_OBJECT;
	else if (!open_parts(fcinfo, argno, 0, a))
		a->set = load_argument(fcinfo, argno, &a->local);
}

/* Whether an argument contains an element. */
bool
roaring64_arg_contains(FunctionCallInfo fcinfo, int argno, int64 element)
{
	Argument	a;

	open_argument(fcinfo, argno, &a);
	switch (a.form)
	{
		case FORM_OBJECT:
			return roaring64_expanded_contains(a.datum, element);
		case FORM_PARTS:
			return r64_source_contains(&a.source.source, element);
		default:
			return r64_contains(a.set, element);
	}
}

/* How many elements an argument has. */
uint64
roaring64_arg_cardinality(FunctionCallInfo fcinfo, int argno)
{
	Argument	a;

	open_argument(fcinfo, argno, &a);
	switch (a.form)
	{
		case FORM_OBJECT:
			return roaring64_expanded_cardinality(a.datum);
		case FORM_PARTS:
			return r64_source_cardinality(&a.source.source);
		default:
			return r64_cardinality(a.set);
	}
}

/* The smallest element of an argument; false if it is empty. */
bool
roaring64_arg_min(FunctionCallInfo fcinfo, int argno, int64 *found)
{
	Argument	a;

	open_argument(fcinfo, argno, &a);
	switch (a.form)
	{
		case FORM_OBJECT:
			a.local = roaring64_expanded_set(a.datum);
			return r64_min(&a.local, found);
		case FORM_PARTS:
			return r64_source_min(&a.source.source, found);
		default:
			return r64_min(a.set, found);
	}
}

/* Whether the first two arguments have an element in common. */
bool
roaring64_args_overlap(FunctionCallInfo fcinfo)
{
	int			n = roaring64_larger_argument(fcinfo);
	Argument	large;
	Argument	small;
	r64_source	in_memory;

	if (!open_parts(fcinfo, n, READ_ON_MIN, &large))
	{
		small.set = roaring64_getarg(fcinfo, 1 - n, &small.local);
		large.set = roaring64_getarg_within(fcinfo, n, small.set, NULL,
											&large.local);
		return r64_overlaps(small.set, large.set);
	}
	if (open_parts(fcinfo, 1 - n, READ_ON_MIN, &small))
		return r64_source_overlaps(&small.source.source,
								   &large.source.source);
	in_memory = r64_set_source(roaring64_getarg(fcinfo, 1 - n, &small.local));
	return r64_source_overlaps(&in_memory, &large.source.source);
}

/* Which of the first two arguments takes more bytes, uncompressed: 0 or 1. */
int
roaring64_larger_argument(FunctionCallInfo fcinfo)
{
	return toast_raw_datum_size(PG_GETARG_DATUM(0)) >
		toast_raw_datum_size(PG_GETARG_DATUM(1)) ? 0 : 1;
}
