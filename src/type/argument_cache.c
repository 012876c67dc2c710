/*-------------------------------------------------------------------------
 *
 * argument_cache.c
 *	  An argument as a set, detoasted and indexed once if it comes again.
 *
 * A plan can hand the same value to a function row after row: a constant, a
 * parameter, or a column of the outer side of a join.  Detoasting it every
 * time can cost a thousand times as much as the function itself.  So each
 * call site remembers the last value of each argument in fn_extra.
 *
 * Two values are known to be the same
 *
 * - if the expression is a constant, or a parameter of the query being run;
 *
 * - if both are pointers to the same TOAST value: it is never changed in place,
 *   an update writes another one.  (Its OID could be given to another value
 *   only after it was vacuumed away and four billion OIDs later, within one
 *   execution.)
 *
 * - if their bytes are the same, which is worth finding out if the value is
 *   compressed, as it is small then (large ones are out of line); or if it has
 *   many buckets, as passing them one by one takes longer than to compare them.
 *
 * The address says nothing: the next time, another value may be there.
 *
 * The first time, only the first bytes are remembered, so that a scan over
 * many values pays nothing.  The second time in a row, the value is kept,
 * with an index of its buckets.  What the plan hands over as a parameter of its
 * own, from a subquery or the outer side of a join, will probably come again:
 * it is detoasted the first time into where it is kept.  At most one value per
 * argument is kept, for as long as the plan.
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

/*
 * Fetching part of a TOAST value takes a few index scans; fetching all of it
 * takes one, and a row for every 2 kB.  A walk to a bucket fetches up to
 * three parts per bucket on the way, so parts pay from so many bytes per
 * bucket on.
 */
#define SLICE_MIN_BUCKET_SIZE (48 * 1024)
#define MIN_PART	((size_t) 2 * TOAST_MAX_CHUNK_SIZE)

/* What fetching a part costs beside its own rows, as so many bytes of rows. */
#define FETCH_COST	((size_t) 16 * TOAST_MAX_CHUNK_SIZE)

/*
 * Parts of what the plan will probably hand over again, to be fetched whole,
 * may cost this part of the whole.
 */
#define AGAIN_PART	8

/*
 * The bytes of a value are compared if it is at most this long, so that it
 * fits into a processor's cache, and if it is compressed or has at least this
 * many buckets.
 */
#define MAX_COMPARED	(256 * 1024)
#define MIN_BUCKETS		16

/* Copying a variable of fewer bytes is cheaper than making it an object. */
#define MIN_EDITED_SIZE 4096

/* A TOAST pointer is shorter than this. */
#define HEAD_SIZE		32

typedef struct KeptArgument
{
	bool		is_stable;		/* the same in every call */
	bool		from_plan;		/* a parameter of the plan */
	bool		seen;			/* the last value began with head */
	bool		kept;			/* and it is in set */
	Size		size;			/* of the last datum, head included */
	char		head[HEAD_SIZE];
	struct varlena *bytes;		/* the datum, if it is longer than head */
	struct varlena *copy;		/* what was detoasted, or NULL */
	r64_set		set;
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

static bool
is_parameter(Node *expr, ParamKind kind)
{
	return expr != NULL && IsA(expr, Param) &&
		((Param *) expr)->paramkind == kind;
}

/*
 * Whether flinfo belongs to a query, whose parameters do not change while it
 * runs.  PL/pgSQL also evaluates expressions without running a query, again and
 * again with the same flinfo, while its variables, which are parameters to
 * these, change.
 *
 * There is no official way to tell.  get_fn_expr_arg_stable, which window
 * functions ask, takes any such parameter for stable, and an element of a
 * constant array in "= ANY" as well.  Neither the expression nor the call says
 * who evaluates it.  But the state of a query's execution, and flinfo with it,
 * lies in the memory of its portal or of SPI's execution, and that of
 * PL/pgSQL's expressions in the memory of the transaction or of SPI's caller.
 * Names that are not these, as in a parallel worker, cost time and nothing
 * else: the argument is then one that may change.
 */
static bool
belongs_to_query(FmgrInfo *flinfo)
{
	MemoryContext parent = MemoryContextGetParent(flinfo->fn_mcxt);

	return parent != NULL &&
		(strcmp(parent->name, "PortalContext") == 0 ||
		 strcmp(parent->name, "SPI Exec") == 0);
}

/* Whether an argument has the same value in all calls of flinfo. */
static bool
is_stable(FmgrInfo *flinfo, int argno)
{
	Node	   *expr = argument_expression(flinfo, argno);

	return (expr != NULL && IsA(expr, Const)) ||
		(is_parameter(expr, PARAM_EXTERN) && belongs_to_query(flinfo));
}

/*
 * Whether an argument is a variable of a procedural language, or may be one:
 * a parameter that can change from call to call.
 */
static bool
is_variable(FmgrInfo *flinfo, int argno)
{
	return is_parameter(argument_expression(flinfo, argno), PARAM_EXTERN) &&
		!belongs_to_query(flinfo);
}

/*
 * Whether argument argno had better be changed in place: it is an object that
 * may be changed, or becomes one because it is the variable of a language
 * that will hand it over when it is changed again.
 */
bool
roaring64_edits_in_place(FunctionCallInfo fcinfo, int argno)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (roaring64_writable(datum) != NULL)
		return true;
	return ROARING64_MODIFIES_IN_PLACE && !VARATT_IS_EXTERNAL(value) &&
		VARSIZE_ANY(value) >= MIN_EDITED_SIZE &&
		is_variable(fcinfo->flinfo, argno);
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
			site->arg[i].is_stable = is_stable(flinfo, i);
			site->arg[i].from_plan =
				is_parameter(argument_expression(flinfo, i), PARAM_EXEC);
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
	if (arg->bytes != NULL)
		pfree(arg->bytes);
	arg->copy = arg->bytes = NULL;
	arg->seen = arg->kept = false;
}

/* Returns a value detoasted: in arg->copy, if it was not already. */
static struct varlena *
detoast(KeptArgument *arg, struct varlena *value, MemoryContext context)
{
	MemoryContext oldcontext;
	struct varlena *flat;

	if (arg->copy != NULL)
		return arg->copy;
	oldcontext = MemoryContextSwitchTo(context);
	flat = pg_detoast_datum_packed(value);
	MemoryContextSwitchTo(oldcontext);
	if (flat != value)
		arg->copy = flat;
	return flat;
}

/* Keeps a value that was seen before. */
static void
keep(KeptArgument *arg, struct varlena *value, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);

	if (!arg->is_stable && arg->size > HEAD_SIZE)
		value = arg->bytes = (struct varlena *)
			memcpy(palloc(arg->size), value, arg->size);
	arg->set = roaring64_view(detoast(arg, value, context));
	r64_index_set(&arg->set);
	arg->kept = true;
	MemoryContextSwitchTo(oldcontext);
}

/* Whether comparing a value with the last one is worth it. */
static bool
is_comparable(struct varlena *value)
{
	uint64		buckets;

	if (VARATT_IS_EXTERNAL(value))
		return VARATT_IS_EXTERNAL_ONDISK(value);
	if (VARSIZE_ANY(value) > MAX_COMPARED)
		return false;
	if (VARATT_IS_COMPRESSED(value))
		return true;
	if (VARSIZE_ANY_EXHDR(value) < sizeof(buckets))
		return false;

	/* the format begins with their number */
	memcpy(&buckets, VARDATA_ANY(value), sizeof(buckets));
	return buckets >= MIN_BUCKETS;
}

/*
 * Whether a value is the one that came last, as far as that was remembered: all
 * of its bytes, if it is kept.
 */
static bool
is_same(const KeptArgument *arg, struct varlena *value)
{
	Size		size = VARSIZE_ANY(value);

	if (!arg->seen || size != arg->size ||
		memcmp(value, arg->head, Min(size, HEAD_SIZE)) != 0)
		return false;
	return arg->bytes == NULL || memcmp(value, arg->bytes, size) == 0;
}

static void
remember(KeptArgument *arg, struct varlena *value)
{
	forget(arg);
	arg->size = VARSIZE_ANY(value);
	memcpy(arg->head, value, Min(arg->size, HEAD_SIZE));
	arg->seen = true;
}

/*
 * Fetches two TOAST rows even if one would do, or none if the last part of the
 * kind has the bytes.  So a header of up to 400 containers is fetched once.
 */
static const uint8_t *
fetch_part(void *arg, r64_part kind, size_t offset, size_t size)
{
	ToastSource *source = arg;
	ToastPart  *part = &source->part[kind];
	size_t		left = source->source.size - offset;

	if (part->bytes != NULL)
	{
		if (offset >= part->offset &&
			offset + size <= part->offset + part->size)
			return (uint8_t *) VARDATA_ANY(part->bytes) +
				(offset - part->offset);
		pfree(part->bytes);
	}
	part->offset = offset;
	part->size = Min(Max(size, MIN_PART), left);
	part->bytes = detoast_attr_slice(source->pointer, (int32) offset,
									 (int32) part->size);
	return (uint8_t *) VARDATA_ANY(part->bytes);
}

/*
 * Fills *source if parts of a value can be fetched: if it is stored out of
 * line, uncompressed, and not too small for that.
 */
static bool
open_source(struct varlena *value, ToastSource *source)
{
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer) ||
		VARATT_EXTERNAL_GET_EXTSIZE(pointer) < SLICE_MIN_BUCKET_SIZE)
		return false;
	memset(source, 0, sizeof(*source));
	source->source.env = &roaring64_env;
	source->source.arg = source;
	source->source.fetch = fetch_part;
	source->source.size = VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	source->pointer = value;
	return true;
}

/*
 * Whether a value is better read in parts: one that is large and of few
 * buckets.  Fills *source if so.
 */
bool
roaring64_toast_source(Datum datum, ToastSource *source)
{
	return open_source((struct varlena *) DatumGetPointer(datum), source) &&
		r64_source_buckets(&source->source) <=
		source->source.size / SLICE_MIN_BUCKET_SIZE;
}

/* The same for an argument, which must also be seen for the first time. */
bool
roaring64_getarg_source(FunctionCallInfo fcinfo, int argno,
						ToastSource *source)
{
	Datum		datum = PG_GETARG_DATUM(argno);
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	KeptArgument *arg;

	if (fcinfo->flinfo == NULL || !VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	arg = &get_call_site(fcinfo->flinfo)->arg[argno];
	if (is_same(arg, value) || !roaring64_toast_source(datum, source))
		return false;
	remember(arg, value);
	return true;
}

/*
 * Returns an argument as a set.  A value that comes call after call is
 * detoasted and indexed once; any other is in *local.  Not for functions that
 * keep something of their own in fn_extra.
 */
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
	if (!arg->is_stable && !is_comparable(value))
	{
		*local = DatumGetRoaring64(datum);
		return local;
	}
	if (arg->is_stable ? !arg->seen : !is_same(arg, value))
	{
		remember(arg, value);
		if (arg->from_plan)
			datum = PointerGetDatum(detoast(arg, value,
											fcinfo->flinfo->fn_mcxt));
		*local = DatumGetRoaring64(datum);
		return local;
	}
	if (!arg->kept)
		keep(arg, value, fcinfo->flinfo->fn_mcxt);
	return &arg->set;
}

/*
 * Returns an argument as a set from which elements may be missing, but none
 * that has the place of a container of few.  A large value that is stored
 * uncompressed, and seen for the first time, is fetched no further than that
 * takes, if that is cheaper.  *cardinality becomes the number of elements of
 * the argument, unless it is NULL.
 */
r64_set *
roaring64_getarg_within(FunctionCallInfo fcinfo, int argno,
						const r64_set *few, uint64 *cardinality,
						r64_set *local)
{
	struct varlena *value =
		(struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argno));
	r64_set    *set;

	if (fcinfo->flinfo != NULL && VARATT_IS_EXTERNAL_ONDISK(value))
	{
		KeptArgument *arg = &get_call_site(fcinfo->flinfo)->arg[argno];
		ToastSource source;
		r64_buf		within;

		if (!is_same(arg, value) && open_source(value, &source) &&
			r64_source_restrict(&source.source, few, FETCH_COST,
								source.source.size /
								(arg->from_plan ? AGAIN_PART : 1),
								&within, cardinality))
		{
			remember(arg, value);
			*local = r64_open_buf(&roaring64_env, within);
			return local;
		}
	}
	set = roaring64_getarg(fcinfo, argno, local);
	if (cardinality != NULL)
		*cardinality = r64_cardinality(set);
	return set;
}

/* Which of the first two arguments takes more bytes, uncompressed: 0 or 1. */
int
roaring64_larger_argument(FunctionCallInfo fcinfo)
{
	return toast_raw_datum_size(PG_GETARG_DATUM(0)) >
		toast_raw_datum_size(PG_GETARG_DATUM(1)) ? 0 : 1;
}
