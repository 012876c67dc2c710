/*-------------------------------------------------------------------------
 *
 * oracle.h
 *	  CRoaring's own 64-bit sets, as judge of the engine's bytes.
 *
 * test/unit/oracle.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <roaring/roaring64.h>

#include "model.h"

/* A CRoaring set with the model's elements; the caller frees it. */
extern roaring64_bitmap_t *oracle_make(const model *m);

/*
 * Reads foreign bytes with everything that CRoaring has against bad ones;
 * NULL if it refuses them.  The caller frees the set.
 */
extern roaring64_bitmap_t *oracle_read(const uint8_t *bytes, size_t size);

/* The set's bytes as it stands, in the case's memory. */
extern uint8_t *oracle_bytes(const roaring64_bitmap_t *r, size_t *size);

/* The set's canonical bytes; changes the set's containers. */
extern uint8_t *oracle_canonical(roaring64_bitmap_t *r, size_t *size);

/* The inclusive range [lo, hi] of int64 is two ranges of uint64. */
extern void oracle_add_range(roaring64_bitmap_t *r, int64_t lo, int64_t hi);
extern void oracle_remove_range(roaring64_bitmap_t *r, int64_t lo, int64_t hi);

/*
 * Checks bytes that r64_check has accepted: they are canonical exactly if
 * CRoaring would write the same, and their canonical form is what it would
 * write.
 */
extern void oracle_check_accepted(const uint8_t *bytes, size_t size,
								  r64_verdict verdict);

/* Checks what r64_check said of size bytes that it refused. */
extern void oracle_check_refused(size_t size, const r64_diagnosis *why);

#endif							/* ORACLE_H */
