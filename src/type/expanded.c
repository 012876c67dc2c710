/*-------------------------------------------------------------------------
 *
 * expanded.c
 *	  A set that grows: an expanded object with an accumulator.
 *
 * To be stored or read, it is flattened to the same canonical bytes as any
 * other value.  That merges what was added into the accumulator's flat set,
 * so flattening it again only copies.
 *
 * Aggregates have their states in it (aggregate/aggregates.c).  And "x := x | id"
 * in a loop would copy x every time, so from PostgreSQL 18 on PL/pgSQL hands an
 * object in x to a function that says it can change it in place.  (Before 18
 * only functions of the server can get it.)
 *
 * src/type/expanded.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

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
 * Makes an object with the empty set.  The context becomes the object's; objects
 * may share one if they are deleted together.  The accumulator allocates in the
 * current context, so switch to the object's to use it.
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

/*
 * Returns the set of the object that a datum points to, valid until that
 * changes.
 */
r64_set
roaring64_expanded_set(Datum value)
{
	ExpandedRoaring64 *e = (ExpandedRoaring64 *) DatumGetEOHP(value);
	MemoryContext oldcontext = MemoryContextSwitchTo(e->hdr.eoh_context);
	r64_set		s;

	Assert(e->hdr.eoh_methods == &expanded_methods);
	s = r64_accumulator_set(e->acc);
	MemoryContextSwitchTo(oldcontext);
	/* a set made from this one does not belong to the object */
	s.env = &roaring64_env;
	return s;
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

/*
 * Adds a value to a variable's set that roaring64_edits_in_place() said yes to, or
 * removes it, and returns the datum.  Values that are added wait, at most until the
 * set is read; to remove one copies the set.  A failure leaves the set as it was,
 * so the variable stays valid if the error is caught.
 */
Datum
roaring64_edit(Datum value, r64_op op, int64 element)
{
	ExpandedRoaring64 *e = roaring64_writable(value);
	uint8_t		one[R64_SINGLETON_SIZE];

	if (e == NULL)
	{
		r64_set		s = DatumGetRoaring64(value);

		e = roaring64_new_expanded(AllocSetContextCreate(CurrentMemoryContext,
														 "roaring64 variable",
														 ALLOCSET_START_SMALL_SIZES),
								   &roaring64_env);
		roaring64_expanded_combine(e, R64_OR, s);
	}
	if (op == R64_OR)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(e->hdr.eoh_context);

		r64_accumulate(e->acc, element);
		MemoryContextSwitchTo(oldcontext);
	}
	else
		roaring64_expanded_combine(e, op,
								   r64_singleton(&roaring64_env, element, one));
	return ExpandedRoaring64GetDatum(e);
}

static Size
expanded_get_flat_size(ExpandedObjectHeader *eohptr)
{
	r64_set		s = roaring64_expanded_set(EOHPGetRODatum(eohptr));

	/* a state that is only counted may be larger than a value */
	if (s.size > roaring64_env.max_size)
		roaring64_env.fail(R64_TOO_LARGE, "result too large");
	return VARHDRSZ + s.size;
}

static void
expanded_flatten_into(ExpandedObjectHeader *eohptr, void *result,
					  Size allocated_size)
{
	r64_set		s = roaring64_expanded_set(EOHPGetRODatum(eohptr));

	Assert(allocated_size == VARHDRSZ + s.size);
	SET_VARSIZE(result, allocated_size);
	memcpy(VARDATA(result), s.bytes, s.size);
}
