/*-------------------------------------------------------------------------
 *
 * croaring.h
 *	  The functions of CRoaring that the engine calls, as a table.
 *
 * CRoaring is called through pointers, never by name.  PostgreSQL loads modules
 * RTLD_GLOBAL, so a name like array_container_union in our module would bind to
 * whichever loaded library exports it first, and pg_roaringbitmap exports all of
 * them from a CRoaring of its own.
 *
 * src/engine/croaring.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_CROARING_H
#define R64_CROARING_H

#include <roaring/bitset_util.h>
#include <roaring/containers/array.h>
#include <roaring/containers/bitset.h>
#include <roaring/containers/mixed_andnot.h>
#include <roaring/containers/mixed_intersection.h>
#include <roaring/containers/run.h>

#include "format.h"

#define R64_KERNELS(K) \
	K(array_bitset_container_andnot) \
	K(array_bitset_container_intersection) \
	K(array_container_andnot) \
	K(array_container_intersection) \
	K(array_container_intersection_cardinality) \
	K(array_container_union) \
	K(array_container_xor) \
	K(array_run_container_andnot) \
	K(array_run_container_intersection) \
	K(bitset_container_and) \
	K(bitset_container_and_justcard) \
	K(bitset_container_andnot) \
	K(bitset_container_compute_cardinality) \
	K(bitset_container_or) \
	K(bitset_container_xor) \
	K(bitset_extract_setbits_uint16) \
	K(run_container_andnot) \
	K(run_container_intersection) \
	K(run_container_intersection_cardinality) \
	K(run_container_union) \
	K(run_container_xor)

#define R64_KERNEL_MEMBER(name) __typeof__(&name) name;
typedef struct r64_kernels
{
	R64_KERNELS(R64_KERNEL_MEMBER)
} r64_kernels;

/* Filled by r64_load_kernels. */
extern r64_kernels r64_kernel;

#endif							/* R64_CROARING_H */
