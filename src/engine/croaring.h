/*-------------------------------------------------------------------------
 *
 * croaring.h
 *	  What the engine takes from CRoaring: a table of functions, and stored
 *	  containers as the structs that these work on.
 *
 * CRoaring is called through pointers, never by name.  PostgreSQL loads
 * modules RTLD_GLOBAL, so a name like array_container_union in our module
 * would bind to whichever loaded library exports it first, and pg_roaringbitmap
 * exports all of them from a CRoaring of its own.
 *
 * They are called with container structs on the stack.  These point into the
 * caller's buffers, which are large enough that no kernel ever allocates.
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
	K(array_bitset_container_intersection_cardinality) \
	K(array_container_andnot) \
	K(array_container_intersection) \
	K(array_container_intersection_cardinality) \
	K(array_container_union) \
	K(array_container_xor) \
	K(array_run_container_andnot) \
	K(array_run_container_intersection) \
	K(array_run_container_intersection_cardinality) \
	K(bitset_clear_list) \
	K(bitset_container_and) \
	K(bitset_container_and_justcard) \
	K(bitset_container_andnot) \
	K(bitset_container_compute_cardinality) \
	K(bitset_container_or) \
	K(bitset_container_xor) \
	K(bitset_extract_setbits_uint16) \
	K(bitset_flip_list_withcard) \
	K(bitset_set_list_withcard) \
	K(run_bitset_container_intersection_cardinality) \
	K(run_container_andnot) \
	K(run_container_intersection) \
	K(run_container_union) \
	K(run_container_xor)

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif

#define R64_KERNEL_MEMBER(name) __typeof__(&name) name;
typedef struct r64_kernels
{
	R64_KERNELS(R64_KERNEL_MEMBER)
} r64_kernels;

/* Filled by r64_load_kernels. */
extern r64_kernels r64_kernel;

/* Memory that kernels can work on: aligned, with slack for vector stores. */
#define R64_SLACK 64
#define R64_SCRATCH_RUNS (R64_ARRAY_MAX + R64_RUNS_MAX + 1)
typedef struct r64_words
{
	_Alignas(64) uint64_t w[R64_BITSET_WORDS + R64_SLACK / 8];
} r64_words;
typedef struct r64_values
{
	_Alignas(64) uint16_t v[2 * R64_ARRAY_MAX + R64_SLACK];
} r64_values;
typedef struct r64_run_list
{
	_Alignas(64) rle16_t r[R64_SCRATCH_RUNS + R64_SLACK / 4];
} r64_run_list;

extern array_container_t r64_array_view(const r64_env *env,
										const r64_container *c,
										r64_values *scratch);
extern bitset_container_t r64_bitset_view(const r64_container *c,
										  r64_words *scratch);
extern void r64_check_runs(const r64_env *env, const r64_container *c);
extern run_container_t r64_run_view(const r64_env *env, const r64_container *c,
									r64_run_list *scratch);
extern array_container_t r64_array_unchecked(const r64_container *c,
											 r64_values *scratch);
extern run_container_t r64_run_unchecked(const r64_env *env,
										 const r64_container *c,
										 r64_run_list *scratch);
extern run_container_t r64_as_runs(const r64_env *env, const r64_container *c,
								   r64_run_list *scratch);

/* The run of the values [first, last]. */
static inline rle16_t
r64_make_run(uint32_t first, uint32_t last)
{
	rle16_t		run;

	run.value = (uint16_t) first;
	run.length = (uint16_t) (last - first);
	return run;
}

/* Up to so many runs are best set one after the other. */
#define R64_FEW_RUNS 128

/* Sets the values of runs, which must lie within the container. */
static inline void
r64_set_runs(uint64_t *words, const rle16_t *runs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bitset_set_lenrange(words, runs[i].value, runs[i].length);
}

/*
 * Sets the bits of an array's n values.  These are parameters and not a
 * container: as words might overlap that, it would be read anew for every value.
 */
static inline void
r64_set_values(uint64_t *words, const uint8_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint16_t	v = r64_load16(values + 2 * (size_t) i);

		words[v / 64] |= UINT64_C(1) << (v % 64);
	}
}

/* Flips them. */
static inline void
r64_flip_values(uint64_t *words, const uint8_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint16_t	v = r64_load16(values + 2 * (size_t) i);

		words[v / 64] ^= UINT64_C(1) << (v % 64);
	}
}

extern bitset_container_t r64_as_bitset(const r64_env *env,
										const r64_container *c,
										r64_words *scratch);

/* Returns any container as a bitset, a stored one where it is if it can be. */
static inline bitset_container_t
r64_bitset_of(const r64_env *env, const r64_container *c, r64_words *scratch)
{
	return c->type == R64_BITSET ? r64_bitset_view(c, scratch) :
		r64_as_bitset(env, c, scratch);
}

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif							/* R64_CROARING_H */
