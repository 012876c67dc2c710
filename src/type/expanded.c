/*-------------------------------------------------------------------------
 *
 * expanded.c
 *	  The mutable form of a roaring64: an expanded object.
 *
 * An accumulator.  It is flattened, to the same canonical bytes as any other
 * value, where somebody wants to store or read it; that merges what was added
 * into the accumulator's flat set, so that flattening twice costs a copy.
 *
 * src/type/expanded.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "expanded.h"
#include "version.h"

#define EXPANDED_MAGIC 0x52363445

static Size expanded_get_flat_size(ExpandedObjectHeader *eohptr);
static void expanded_flatten_into(ExpandedObjectHeader *eohptr,
								  void *result, Size allocated_size);

static const ExpandedObjectMethods expanded_methods =
{
	expanded_get_flat_size,
	expanded_flatten_into
};

ExpandedRoaring64 *
roaring64_new_expanded(MemoryContext context)
{
	ExpandedRoaring64 *e;

	e = MemoryContextAlloc(context, sizeof(ExpandedRoaring64));
	EOH_init_header(&e->hdr, &expanded_methods, context);
	e->magic = EXPANDED_MAGIC;
	e->env = roaring64_env;
	e->env.arg = context;
	r64_accumulator_init(&e->acc, &e->env);
	return e;
}

/* See roaring64.h. */
r64_set
roaring64_expanded_view(Datum value)
{
	ExpandedRoaring64 *e;
	r64_set		s;

	if (roaring64_is_version(value))
		return roaring64_version_view(value);
	e = (ExpandedRoaring64 *) DatumGetEOHP(value);
	Assert(e->magic == EXPANDED_MAGIC);
	s = r64_accumulator_set(&e->acc);
	/* what is made of it is not the object's */
	s.env = &roaring64_env;
	return s;
}

ExpandedRoaring64 *
roaring64_writable(Datum value)
{
	ExpandedRoaring64 *e;

	if (!VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(value)) ||
		roaring64_is_version(value))
		return NULL;
	e = (ExpandedRoaring64 *) DatumGetEOHP(value);
	Assert(e->magic == EXPANDED_MAGIC);
	return e;
}

ExpandedRoaring64 *
roaring64_expand(Datum value, MemoryContext context)
{
	r64_set		s = DatumGetRoaring64(value);
	ExpandedRoaring64 *e = roaring64_new_expanded(context);

	r64_accumulator_combine(&e->acc, R64_OR, &s);
	return e;
}

static Size
expanded_get_flat_size(ExpandedObjectHeader *eohptr)
{
	ExpandedRoaring64 *e = (ExpandedRoaring64 *) eohptr;
	r64_set		s;

	Assert(e->magic == EXPANDED_MAGIC);
	s = r64_accumulator_set(&e->acc);
	return VARHDRSZ + s.size;
}

static void
expanded_flatten_into(ExpandedObjectHeader *eohptr, void *result,
					  Size allocated_size)
{
	ExpandedRoaring64 *e = (ExpandedRoaring64 *) eohptr;
	r64_set		s;

	Assert(e->magic == EXPANDED_MAGIC);
	s = r64_accumulator_set(&e->acc);
	Assert(allocated_size == VARHDRSZ + s.size);
	SET_VARSIZE(result, allocated_size);
	memcpy(VARDATA(result), s.bytes, s.size);
}
