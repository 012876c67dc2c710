/*-------------------------------------------------------------------------
 *
 * variable.c
 *	  Variables of a procedural language that are changed in place.
 *
 * "x := x | id" in a loop would copy x every time.  From PostgreSQL 18 on,
 * PL/pgSQL hands an expanded object in x to a function that says it can change
 * it in place.  (Before 18 only functions of the server can get it.)
 *
 * Elements are not added to the set one by one: they are noted as edits,
 * which are applied together when the set is read.  A failure leaves the set
 * and its edits as they were, so the variable stays valid if the error is
 * caught.
 *
 * src/type/variable.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/supportnodes.h"
#include "utils/memutils.h"

#include "expanded.h"
#include "variable.h"

#define FIRST_ROOM	64			/* edits */

/* Up to this many edits are searched for an element, not applied. */
#define FEW_EDITS	1024

typedef struct Edit
{
	int64		value;
	int32		number;			/* in the order in which they were made */
	bool		remove;
} Edit;

typedef struct Variable
{
	ExpandedObjectHeader hdr;	/* standard header; must be first */
	r64_buf		flat;			/* the set, but for the edits */
	r64_set		indexed;		/* a view on flat, if one was asked for */
	Edit	   *edits;			/* to be applied to it, in this order */
	int			nedits;
	int			room;
} Variable;

static Size variable_get_flat_size(ExpandedObjectHeader *eohptr);
static void variable_flatten_into(ExpandedObjectHeader *eohptr,
								  void *result, Size allocated_size);

static const ExpandedObjectMethods variable_methods =
{
	variable_get_flat_size,
	variable_flatten_into
};

/* The variable that a datum points to, or NULL if it is something else. */
static Variable *
get_variable(Datum value)
{
	ExpandedObjectHeader *eohptr;

	if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return NULL;
	eohptr = DatumGetEOHP(value);
	return eohptr->eoh_methods == &variable_methods ? (Variable *) eohptr : NULL;
}

/* One that may be changed, or NULL. */
static Variable *
get_writable(Datum value)
{
	return VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(value)) ?
		get_variable(value) : NULL;
}

/* Whether a value is the expanded object of a variable. */
bool
roaring64_is_variable(Datum value)
{
	return get_variable(value) != NULL;
}

/* Whether a value is such an object, and one that may be changed. */
bool
roaring64_is_writable_variable(Datum value)
{
	return get_writable(value) != NULL;
}

static Variable *
new_variable(const r64_set *s)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "roaring64 variable",
												  ALLOCSET_START_SMALL_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	Variable   *v = palloc0(sizeof(Variable));

	EOH_init_header(&v->hdr, &variable_methods, context);
	v->flat = r64_copy(&roaring64_env, s);
	MemoryContextSwitchTo(oldcontext);
	return v;
}

static int
compare_edits(const void *a, const void *b)
{
	const Edit *x = a;
	const Edit *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return x->number - y->number;
}

/* A set with, or without, n values, which may be reordered. */
static r64_buf
combine_values(r64_op op, r64_buf flat, int64 *values, size_t n)
{
	r64_set		s = r64_open_buf(&roaring64_env, flat);
	r64_buf		buf = r64_from_values(&roaring64_env, values, n);
	r64_set		other = r64_open_buf(&roaring64_env, buf);
	r64_buf		result = r64_combine(op, &s, &other);

	pfree(buf.base);
	return result;
}

/* The set with all edits.  Of several edits of a value, the last one counts. */
static r64_buf
edited(Variable *v)
{
	int64	   *values = palloc(v->nedits * sizeof(int64));
	int			nadded = 0;
	int			nremoved = 0;
	r64_buf		added;
	r64_buf		result;

	qsort(v->edits, v->nedits, sizeof(Edit), compare_edits);

	/* added from the front, removed from the back */
	for (int i = 0; i < v->nedits; i++)
	{
		const Edit *edit = &v->edits[i];

		if (i + 1 < v->nedits && edit[1].value == edit->value)
			continue;
		if (edit->remove)
			values[v->nedits - ++nremoved] = edit->value;
		else
			values[nadded++] = edit->value;
	}
	result = added = combine_values(R64_OR, v->flat, values, nadded);
	if (nremoved > 0)
	{
		result = combine_values(R64_ANDNOT, added,
								values + v->nedits - nremoved, nremoved);
		pfree(added.base);
	}
	pfree(values);
	return result;
}

static void
apply_edits(Variable *v)
{
	MemoryContext oldcontext;
	r64_buf		flat;

	if (v->nedits == 0)
		return;
	oldcontext = MemoryContextSwitchTo(v->hdr.eoh_context);
	flat = edited(v);
	MemoryContextSwitchTo(oldcontext);
	r64_close(&v->indexed);
	v->indexed.env = NULL;
	pfree(v->flat.base);
	v->flat = flat;
	v->nedits = 0;
}

/* Returns a view of the set of an expanded object, without flattening it. */
r64_set
roaring64_expanded_view(Datum value)
{
	Variable   *v = get_variable(value);

	if (v == NULL)
		return roaring64_accumulated(value);
	apply_edits(v);
	return r64_open_buf(&roaring64_env, v->flat);
}

static Size
variable_get_flat_size(ExpandedObjectHeader *eohptr)
{
	Variable   *v = (Variable *) eohptr;

	apply_edits(v);
	return VARHDRSZ + v->flat.size;
}

static void
variable_flatten_into(ExpandedObjectHeader *eohptr, void *result,
					  Size allocated_size)
{
	Variable   *v = (Variable *) eohptr;

	apply_edits(v);
	Assert(allocated_size == VARHDRSZ + v->flat.size);
	SET_VARSIZE(result, allocated_size);
	memcpy(VARDATA(result), v->flat.base + VARHDRSZ, v->flat.size);
}

/* Makes room for n more edits. */
static void
reserve_edits(Variable *v, int n)
{
	int			room = Max(v->room, FIRST_ROOM);

	if (v->nedits + n > ROARING64_MAX_EDITS)
		apply_edits(v);
	while (room < v->nedits + n)
		room *= 2;
	if (room == v->room)
		return;
	v->edits = v->edits == NULL ?
		MemoryContextAlloc(v->hdr.eoh_context, room * sizeof(Edit)) :
		repalloc(v->edits, room * sizeof(Edit));
	v->room = room;
}

/*
 * Adds n values to a set that roaring64_edits_in_place() said yes to, or removes
 * them, and returns the datum.
 */
Datum
roaring64_edit(Datum value, const int64 *values, int n, bool remove)
{
	Variable   *v = get_writable(value);

	Assert(n <= ROARING64_MAX_EDITS);
	if (v == NULL)
	{
		r64_set		s = DatumGetRoaring64(value);

		v = new_variable(&s);
	}
	reserve_edits(v, n);
	for (int i = 0; i < n; i++)
	{
		Edit	   *edit = &v->edits[v->nedits];

		edit->value = values[i];
		edit->number = v->nedits++;
		edit->remove = remove;
	}
	return EOHPGetRWDatum(&v->hdr);
}

/* Whether a variable contains an element, without applying its edits. */
bool
roaring64_variable_contains(Datum value, int64 element)
{
	Variable   *v = get_variable(value);

	/* a loop that looks before it adds must not apply edits every time */
	if (v->nedits > FEW_EDITS)
		apply_edits(v);
	for (int i = v->nedits; i-- > 0;)
		if (v->edits[i].value == element)
			return !v->edits[i].remove;
	if (v->indexed.env == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(v->hdr.eoh_context);

		v->indexed = r64_open_buf(&roaring64_env, v->flat);
		r64_index_set(&v->indexed);
		MemoryContextSwitchTo(oldcontext);
	}
	return r64_contains(&v->indexed, element);
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
