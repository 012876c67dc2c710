/*-------------------------------------------------------------------------
 *
 * views.h
 *	  Stored containers as the structs that CRoaring's functions take.
 *
 * These structs are on the stack.  They point into the caller's buffers, which
 * are large enough that no kernel ever allocates.
 *
 * src/engine/views.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_VIEWS_H
#define R64_VIEWS_H

#include "croaring.h"

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

extern array_container_t r64_view_array(const r64_env *env,
										const r64_container *c,
										r64_values *scratch);
extern bitset_container_t r64_view_bitset(const r64_container *c,
										  r64_words *scratch);
extern void r64_check_runs(const r64_env *env, const r64_container *c);
extern run_container_t r64_view_runs(const r64_env *env,
									 const r64_container *c,
									 r64_run_list *scratch);
extern array_container_t r64_view_array_unchecked(const r64_container *c,
												  r64_values *scratch);
extern run_container_t r64_view_runs_unchecked(const r64_env *env,
											   const r64_container *c,
											   r64_run_list *scratch);
extern run_container_t r64_copy_as_runs(const r64_env *env,
										const r64_container *c,
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

/* Up to this many runs are best set one after the other. */
#define R64_FEW_RUNS 128

extern void r64_set_runs(const r64_env *env, uint64_t *words,
						 const uint8_t *runs, uint32_t n);

/*
 * Sets the bits of an array's n values.  The parameters are not a container,
 * which the compiler would read again for each value, as words might overlap it.
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

extern bitset_container_t r64_copy_as_bitset(const r64_env *env,
											 const r64_container *c,
											 r64_words *scratch);

/* Returns any container as a bitset, a stored one where it is if it can be. */
static inline bitset_container_t
r64_view_as_bitset(const r64_env *env, const r64_container *c, r64_words *scratch)
{
	return c->type == R64_BITSET ? r64_view_bitset(c, scratch) :
		r64_copy_as_bitset(env, c, scratch);
}

#endif							/* R64_VIEWS_H */
