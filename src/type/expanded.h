/*-------------------------------------------------------------------------
 *
 * expanded.h
 *	  The mutable form of a roaring64: an expanded object.
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
	int			magic;			/* tells ours from other types' objects */
	r64_env		env;			/* allocates in the object's context */
	r64_accumulator acc;		/* the set */
} ExpandedRoaring64;

/*
 * A new object with the empty set.  The context becomes the object's: it may
 * be shared by objects of which nobody deletes one before the others.
 */
extern ExpandedRoaring64 *roaring64_new_expanded(MemoryContext context);

/*
 * The object that a datum points to, if it may be changed; else NULL, and
 * roaring64_expand makes a new one in context with the datum's set.
 */
extern ExpandedRoaring64 *roaring64_writable(Datum value);
extern ExpandedRoaring64 *roaring64_expand(Datum value, MemoryContext context);

/* The object as a datum that its next user may change. */
#define ExpandedRoaring64GetDatum(e) EOHPGetRWDatum(&(e)->hdr)

#endif							/* ROARING64_EXPANDED_H */
