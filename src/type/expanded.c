/*-------------------------------------------------------------------------
 *
 * expanded.c
 *	  A set that grows: an expanded object with an accumulator.
 *
 * To be stored or read, it is flattened to the same canonical bytes as any
 * other value.  That merges what was added into the accumulator's flat set,
 * so flattening it again only copies.
 *
 * src/type/expanded.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "expanded.h"

static Size expanded_get_flat_size(ExpandedObjectHeader *eohptr);
static void expanded_flatten_into(ExpandedObjectHeader *eohptr,
								  void *result, Size allocated_size);

static const ExpandedObjectMethods expanded_methods =
{
	expanded_get_flat_size,
	expanded_flatten_into
};

/*
 * Makes an object with the empty set.  The context becomes the object's;
 * objects may share one if none of them is deleted before the others.  What
 * the accumulator allocates must go there, so use it with that as the current
 * context; env must allocate in the current context.
 */
ExpandedRoaring64 *
roaring64_new_expanded(MemoryContext context, const r64_env *env)
{
	ExpandedRoaring64 *e;

	e = MemoryContextAlloc(context,
						   sizeof(ExpandedRoaring64) + r64_accumulator_size());
	EOH_init_header(&e->hdr, &expanded_methods, context);
	e->acc = (r64_accumulator *) (e + 1);
	r64_accumulator_init(e->acc, env);
	return e;
}

/* Replaces the object's set by itself op s. */
void
roaring64_expanded_combine(ExpandedRoaring64 *e, r64_op op, r64_set s)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(e->hdr.eoh_context);

	r64_accumulator_combine(e->acc, op, &s);
	MemoryContextSwitchTo(oldcontext);
}

/* The object's set, whole; good until the object changes. */
static r64_set
get_set(ExpandedRoaring64 *e)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(e->hdr.eoh_context);
	r64_set		s;

	Assert(e->hdr.eoh_methods == &expanded_methods);
	s = r64_accumulator_set(e->acc);
	MemoryContextSwitchTo(oldcontext);
	/* a set made from this one does not belong to the object */
	s.env = &roaring64_env;
	return s;
}

/*
 * Returns the set of the object that a datum points to, valid until that
 * changes.
 */
r64_set
roaring64_expanded_set(Datum value)
{
	return get_set((ExpandedRoaring64 *) DatumGetEOHP(value));
}

/* How many elements that set has; for that it need not be canonical. */
uint64
roaring64_expanded_cardinality(Datum value)
{
	ExpandedRoaring64 *e = (ExpandedRoaring64 *) DatumGetEOHP(value);
	MemoryContext oldcontext = MemoryContextSwitchTo(e->hdr.eoh_context);
	uint64		cardinality = r64_accumulator_cardinality(e->acc);

	MemoryContextSwitchTo(oldcontext);
	return cardinality;
}

/* Whether that set contains an element; for that it need not be whole. */
bool
roaring64_expanded_contains(Datum value, int64 element)
{
	ExpandedRoaring64 *e = (ExpandedRoaring64 *) DatumGetEOHP(value);
	MemoryContext oldcontext = MemoryContextSwitchTo(e->hdr.eoh_context);
	bool		found = r64_accumulator_contains(e->acc, element);

	MemoryContextSwitchTo(oldcontext);
	return found;
}

/*
 * Returns the object that a datum points to, if it may be changed, or NULL.
 */
ExpandedRoaring64 *
roaring64_writable(Datum value)
{
	ExpandedObjectHeader *eohptr;

	if (!VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(value)))
		return NULL;
	eohptr = DatumGetEOHP(value);
	return eohptr->eoh_methods == &expanded_methods ?
		(ExpandedRoaring64 *) eohptr : NULL;
}

static Size
expanded_get_flat_size(ExpandedObjectHeader *eohptr)
{
	r64_set		s = get_set((ExpandedRoaring64 *) eohptr);

	/* a state that is only counted may be larger than a value */
	if (s.size > roaring64_env.max_size)
		roaring64_env.fail(R64_TOO_LARGE, "result too large");
	return VARHDRSZ + s.size;
}

static void
expanded_flatten_into(ExpandedObjectHeader *eohptr, void *result,
					  Size allocated_size)
{
	r64_set		s = get_set((ExpandedRoaring64 *) eohptr);

	Assert(allocated_size == VARHDRSZ + s.size);
	SET_VARSIZE(result, allocated_size);
	memcpy(VARDATA(result), s.bytes, s.size);
}
