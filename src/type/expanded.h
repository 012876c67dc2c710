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

extern ExpandedRoaring64 *roaring64_new_expanded(MemoryContext context,
												 const r64_env *env);
extern r64_set roaring64_accumulated(Datum value);
extern ExpandedRoaring64 *roaring64_writable(Datum value);

/* The object as a datum that its next user may change. */
#define ExpandedRoaring64GetDatum(e) EOHPGetRWDatum(&(e)->hdr)

#endif							/* ROARING64_EXPANDED_H */
