/*-------------------------------------------------------------------------
 *
 * version.c
 *	  Values that are changed one element at a time: versions of one set.
 *
 * "x := x | id" in a loop would copy x every time.  Up to PostgreSQL 17, a
 * function of an extension cannot get x to change it in place, as it must not
 * destroy what others may still see.  So it does not: it appends the change
 * to a log that x and its result share, and returns a new expanded object
 * that sees one entry more of it.
 *
 *	x	length 2 -----+
 *	x'	length 3 ---+ |
 *				 v v
 *	History: flat set, log [+5, +9, -5, ...]
 *
 * A version is the flat set with the first so many edits of the log applied.
 * Only the longest version may append; another one that is changed gets a
 * history of its own, and so does one whose log is full.  The history lives
 * as long as a version refers to it.
 *
 * A version is read by applying its edits: in the history itself, if it is
 * the only one left, else into a copy that the version keeps.
 *
 * src/type/version.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/primnodes.h"
#include "utils/memutils.h"

#include "version.h"

#define FIRST_ROOM	64			/* edits */
#define MAX_EDITS	(1024 * 1024)

typedef struct Edit
{
	int64		value;
	bool		remove;
} Edit;

typedef struct History
{
	MemoryContext context;		/* holds the history and all below */
	int			references;		/* versions */
	r64_env		env;			/* allocates in the context */
	r64_buf		flat;
	r64_set		indexed;		/* a view on flat, if one was asked for */
	Edit	   *log;
	Size		length;
	Size		room;
} History;

typedef struct Version
{
	ExpandedObjectHeader hdr;	/* standard header; must be first */
	MemoryContextCallback release;
	History    *history;
	Size		length;			/* edits that this version sees */
	r64_buf		own;			/* its set, if it had to be made apart */
} Version;

static Size version_get_flat_size(ExpandedObjectHeader *eohptr);
static void version_flatten_into(ExpandedObjectHeader *eohptr,
								 void *result, Size allocated_size);

static const ExpandedObjectMethods version_methods =
{
	version_get_flat_size,
	version_flatten_into
};

/* The version that a datum points to, or NULL if it is something else. */
static Version *
get_version(Datum value)
{
	ExpandedObjectHeader *eohptr;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return NULL;
	eohptr = DatumGetEOHP(value);
	return eohptr->eoh_methods == &version_methods ? (Version *) eohptr : NULL;
}

bool
roaring64_is_version(Datum value)
{
	return get_version(value) != NULL;
}

bool
roaring64_wants_version(FunctionCallInfo fcinfo, int argno)
{
	Node	   *expr;

	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(PG_GETARG_DATUM(argno))))
		return true;
	expr = roaring64_argument_expression(fcinfo->flinfo, argno);
	return expr != NULL && IsA(expr, Param) &&
		((Param *) expr)->paramkind == PARAM_EXTERN;
}

/*
 * A new history that begins with a set.  Until there is a version of it, it
 * goes with the current context.
 */
static History *
new_history(const r64_set *s)
{
	MemoryContext context;
	History    *history;

	context = AllocSetContextCreate(CurrentMemoryContext, "roaring64 history",
									ALLOCSET_SMALL_SIZES);
	history = MemoryContextAllocZero(context, sizeof(History));
	history->context = context;
	history->env = roaring64_env;
	history->env.arg = context;
	history->flat = r64_copy(&history->env, s);
	return history;
}

/* A version goes: forget it, and the history with the last one. */
static void
release_history(void *arg)
{
	History    *history = ((Version *) arg)->history;

	if (--history->references == 0)
		MemoryContextDelete(history->context);
}

/* A new version, of all of a history's edits. */
static Version *
new_version(History *history)
{
	MemoryContext context;
	Version    *v;

	context = AllocSetContextCreate(CurrentMemoryContext, "roaring64 version",
									ALLOCSET_START_SMALL_SIZES);
	v = MemoryContextAllocZero(context, sizeof(Version));
	EOH_init_header(&v->hdr, &version_methods, context);
	v->history = history;
	v->length = history->length;
	v->release.func = release_history;
	v->release.arg = v;

	/*
	 * Versions come and go with the variables that hold them, also across the
	 * end of a transaction.  The last one deletes the history.
	 */
	if (history->references++ == 0)
		MemoryContextSetParent(history->context, TopMemoryContext);
	MemoryContextRegisterResetCallback(context, &v->release);
	return v;
}

static int
compare_edits(const void *a, const void *b)
{
	const Edit *x = *(const Edit *const *) a;
	const Edit *y = *(const Edit *const *) b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	/* in the order in which they were made */
	return (x > y) - (x < y);
}

/*
 * The history's flat set with its first length edits applied, in memory of
 * context.  Of several edits of a value, the last one counts.
 */
static r64_buf
apply_edits(const History *history, Size length, MemoryContext context)
{
	r64_env		env = roaring64_env;
	r64_set		flat;
	r64_set		edits;
	r64_buf		buf;
	r64_buf		result;
	const Edit **sorted = palloc(length * sizeof(Edit *));
	int64	   *values = palloc(length * sizeof(int64));
	Size		nadded = 0;
	Size		nremoved = 0;

	for (Size i = 0; i < length; i++)
		sorted[i] = &history->log[i];
	qsort(sorted, length, sizeof(Edit *), compare_edits);

	/* added from the front, removed from the back */
	for (Size i = 0; i < length; i++)
	{
		const Edit *edit = sorted[i];

		if (i + 1 < length && sorted[i + 1]->value == edit->value)
			continue;
		if (edit->remove)
			values[length - ++nremoved] = edit->value;
		else
			values[nadded++] = edit->value;
	}

	/* the result is allocated where its left operand's env says */
	env.arg = context;
	flat = r64_open_buf(&env, history->flat);
	buf = r64_from_values(&roaring64_env, values, nadded);
	edits = r64_open_buf(&roaring64_env, buf);
	result = r64_combine(R64_OR, &flat, &edits);
	pfree(buf.base);
	if (nremoved > 0)
	{
		void	   *with_added = result.base;

		flat = r64_open_buf(&env, result);
		buf = r64_from_values(&roaring64_env, values + length - nremoved,
							  nremoved);
		edits = r64_open_buf(&roaring64_env, buf);
		result = r64_combine(R64_ANDNOT, &flat, &edits);
		pfree(buf.base);
		pfree(with_added);
	}
	pfree(values);
	pfree(sorted);
	return result;
}

/* The flat form of a version's set. */
static r64_buf
materialize(Version *v)
{
	History    *history = v->history;

	if (v->length == 0)
		return history->flat;
	if (v->own.base == NULL)
	{
		if (history->references > 1)
			v->own = apply_edits(history, v->length, v->hdr.eoh_context);
		else
		{
			r64_buf		flat = apply_edits(history, v->length,
										   history->context);

			r64_close(&history->indexed);
			pfree(history->flat.base);
			history->flat = flat;
			history->indexed.env = NULL;
			history->length = v->length = 0;
			return flat;
		}
	}
	return v->own;
}

r64_set
roaring64_version_view(Datum value)
{
	r64_buf		flat = materialize(get_version(value));

	return r64_open_buf(&roaring64_env, flat);
}

static Size
version_get_flat_size(ExpandedObjectHeader *eohptr)
{
	return VARHDRSZ + materialize((Version *) eohptr).size;
}

static void
version_flatten_into(ExpandedObjectHeader *eohptr, void *result,
					 Size allocated_size)
{
	r64_buf		flat = materialize((Version *) eohptr);

	Assert(allocated_size == VARHDRSZ + flat.size);
	SET_VARSIZE(result, allocated_size);
	memcpy(VARDATA(result), flat.base + VARHDRSZ, flat.size);
}

/* Room for n more edits, if the log may grow by so many. */
static bool
reserve_edits(History *history, int n)
{
	Size		room = Max(history->room, FIRST_ROOM);

	if (history->length + n > MAX_EDITS)
		return false;
	while (room < history->length + n)
		room *= 2;
	if (room > history->room)
	{
		history->log = history->log == NULL ?
			MemoryContextAlloc(history->context, room * sizeof(Edit)) :
			repalloc(history->log, room * sizeof(Edit));
		history->room = room;
	}
	return true;
}

Datum
roaring64_edit(Datum value, const int64 *values, int n, bool remove)
{
	Version    *v = get_version(value);
	History    *history;

	Assert(n <= ROARING64_FEW_EDITS);
	if (v != NULL && v->length == v->history->length &&
		reserve_edits(v->history, n))
		history = v->history;
	else
	{
		r64_set		s = DatumGetRoaring64(value);

		history = new_history(&s);
		(void) reserve_edits(history, n);
	}
	for (int i = 0; i < n; i++)
		history->log[history->length++] = (Edit) {
			.value = values[i],.remove = remove
		};
	v = new_version(history);
	return EOHPGetRWDatum(&v->hdr);
}

bool
roaring64_version_contains(Datum value, int64 element)
{
	Version    *v = get_version(value);
	History    *history = v->history;

	/* a loop that looks before it adds must not apply an edit every time */
	if (v->length > ROARING64_FEW_EDITS)
	{
		r64_set		s = roaring64_version_view(value);

		return r64_contains(&s, element);
	}
	for (Size i = v->length; i-- > 0;)
		if (history->log[i].value == element)
			return !history->log[i].remove;
	if (history->indexed.env == NULL)
		history->indexed = r64_open_buf(&history->env, history->flat);
	r64_index_set(&history->indexed);
	return r64_contains(&history->indexed, element);
}
