/*-------------------------------------------------------------------------
 *
 * expanded.h
 *	  The state of an aggregate: an expanded object with an accumulator.
 *
 * src/type/expanded.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_EXPANDED_H
#define ROARING64_EXPANDED_H

#include "utils/expandeddatum.h"

#include "roaring64.h"

typedef struct ExpandedRoaring64
{
	ExpandedObjectHeader hdr;	/* standard header; must be first */
	r64_accumulator acc;		/* the set */
} ExpandedRoaring64;

/*
 * A new object with the empty set.  The context becomes the object's: it may
 * be shared by objects of which nobody deletes one before the others.  What
 * the accumulator allocates must go there, so it is used with that as the
 * current context, and env is one that allocates in the current context.
 */
extern ExpandedRoaring64 *roaring64_new_expanded(MemoryContext context,
												 const r64_env *env);

/* The set of the object that a datum points to; good until that changes. */
extern r64_set roaring64_accumulated(Datum value);

/* The object that a datum points to, if it may be changed; else NULL. */
extern ExpandedRoaring64 *roaring64_writable(Datum value);

/* The object as a datum that its next user may change. */
#define ExpandedRoaring64GetDatum(e) EOHPGetRWDatum(&(e)->hdr)

#endif							/* ROARING64_EXPANDED_H */
