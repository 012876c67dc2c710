/*-------------------------------------------------------------------------
 *
 * mutate.h
 *	  Bytes of a set, damaged by chance.
 *
 * test/unit/mutate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>

typedef struct byte_string
{
	uint8_t    *bytes;
	size_t		size;
} byte_string;

/* The bytes, canonical or only legal, of a random set, mostly a small one. */
extern byte_string mutate_seed(void);

/*
 * A copy of s with one to four mutations: bits, bytes, numbers and fields
 * changed, pieces taken out, put in, cut off or taken from another set.  It is
 * noted for the case what was done.
 */
extern byte_string mutate(byte_string s);

/*
 * The damaged bytes of numbered case i, which has begun.  By chance (damaged.c)
 * sixteen cases in a row damage the same set, since making a set takes longer
 * than judging one.  Under a fuzzer (test/fuzz/run.c) they are its bytes, and
 * the origin is the same.
 */
extern byte_string mutate_case(uint64_t i);

/* The undamaged set of the current case, which lives longer than the case. */
extern byte_string mutate_origin(void);

#endif							/* MUTATE_H */
