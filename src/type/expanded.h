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

/* A new object with the empty set, in a context below parent. */
extern ExpandedRoaring64 *roaring64_new_expanded(MemoryContext parent);

/*
 * The object of a datum that may be changed: the one that it points to, if it
 * is a read-write pointer to one, else a new one below parent with its set.
 */
extern ExpandedRoaring64 *roaring64_expand(Datum value, MemoryContext parent);

/* The object as a datum that its next user may change. */
#define ExpandedRoaring64GetDatum(e) EOHPGetRWDatum(&(e)->hdr)

#endif							/* ROARING64_EXPANDED_H */
