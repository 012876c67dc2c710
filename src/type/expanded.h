/*-------------------------------------------------------------------------
 *
 * expanded.h
 *	  A set that grows: the state of an aggregate, or a variable of a procedural
 *	  language.
 *
 * Sets that only are read never are objects.
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
	r64_accumulator *acc;		/* the set; behind the struct */
} ExpandedRoaring64;

/* expanded.c */
extern ExpandedRoaring64 *roaring64_new_expanded(MemoryContext context,
												 const r64_env *env);
extern void roaring64_expanded_combine(ExpandedRoaring64 *e, r64_op op,
									   r64_set s);
extern uint64 roaring64_expanded_cardinality(Datum value);
extern bool roaring64_expanded_contains(Datum value, int64 element);
extern ExpandedRoaring64 *roaring64_writable(Datum value);
extern Datum roaring64_edit(Datum value, r64_op op, int64 element);

/* The object as a datum that its next user may change. */
#define ExpandedRoaring64GetDatum(e) EOHPGetRWDatum(&(e)->hdr)

#endif							/* ROARING64_EXPANDED_H */
