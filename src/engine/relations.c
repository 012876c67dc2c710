/*-------------------------------------------------------------------------
 *
 * relations.c
 *	  Two sets compared: overlap, containment, and how many elements they share.
 *
 * No set is made here, unlike in setops.c; only containers that both have are
 * read.
 *
 * src/engine/relations.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "pairs.h"
#include "writer.h"

/* Counts what two containers share: by a kernel for two of a type, or as bitsets. */
static inline uint32_t
count_common(const r64_env *env, const r64_container *a,
			 const r64_container *b)
{
	if (a->type == R64_ARRAY && b->type == R64_ARRAY)
	{
		r64_values	scratch[2];
		array_container_t x = r64_view_array_unchecked(a, &scratch[0]);
		array_container_t y = r64_view_array_unchecked(b, &scratch[1]);

		return (uint32_t) r64_kernel.array_container_intersection_cardinality(&x, &y);
	}
	else if (a->type == R64_RUN && b->type == R64_RUN)
	{
		r64_run_list scratch[2];
		run_container_t x = r64_view_runs_unchecked(env, a, &scratch[0]);
		run_container_t y = r64_view_runs_unchecked(env, b, &scratch[1]);

		return (uint32_t) r64_kernel.run_container_intersection_cardinality(&x, &y);
	}
	else
	{
		r64_words	scratch[2];
		bitset_container_t x = r64_view_as_bitset(env, a, &scratch[0]);
		bitset_container_t y = r64_view_as_bitset(env, b, &scratch[1]);

		return (uint32_t) r64_kernel.bitset_container_and_justcard(&x, &y);
	}
}

/* Up to this many values are looked up in runs. */
#define FEW_IN_RUNS	64

/*
 * Whether to look up each value of a in b: one, for which a kernel call would cost
 * more; few beside an array or runs; or any in a bitset.  A kernel compares eight
 * values of arrays at once, and fewer than that one by one.
 */
static inline bool
are_few(const r64_container *a, const r64_container *b)
{
	if (a->type != R64_ARRAY)
		return false;
	if (b->type == R64_ARRAY)
		return a->card == 1 || a->card * (a->card < 8 ? 8 : 32) <= b->card;
	return b->type == R64_BITSET || a->card <= FEW_IN_RUNS;
}

/* Counts the values of the array a that b contains. */
static inline uint32_t
few_in_common(const r64_container *a, const r64_container *b)
{
	uint32_t	sum = 0;

	for (uint32_t i = 0; i < a->card; i++)
	{
		uint16_t	v = r64_load16(a->data + 2 * (size_t) i);

		sum += b->type == R64_BITSET ? b->data[v / 8] >> (v % 8) & 1 :
			r64_container_contains(b, v);
	}
	return sum;
}

/* Returns how many values two containers have in common. */
uint32_t
r64_in_common(const r64_env *env, const r64_container *a, const r64_container *b)
{
	if (r64_container_is_full(a))
		return b->card;
	if (r64_container_is_full(b))
		return a->card;
	if (are_few(a, b))
		return few_in_common(a, b);
	if (are_few(b, a))
		return few_in_common(b, a);
	return count_common(env, a, b);
}

/*
 * Whether every value of a is one of b.  Most that are not differ in the first; and a
 * set that has grown to long runs holds what is added in one of them.
 */
bool
r64_container_is_subset(const r64_env *env, const r64_container *a,
						const r64_container *b)
{
	uint32_t	first = r64_container_select(a, 0);

	if (a->card > b->card || !r64_container_contains(b, first))
		return false;
	return (b->type == R64_RUN &&
			r64_run_last(b->data, r64_find_run(b->data, b->nruns, first)) >=
			r64_container_max(a)) ||
		r64_in_common(env, a, b) == a->card;
}

/* Counts the elements that a and b have in common. */
uint64_t
r64_and_cardinality(const r64_set *a, const r64_set *b)
{
	uint64_t	sum = 0;
	r64_pairs	p;
	r64_container x;
	r64_container y;

	r64_pairs_start(&p, a, b, false);
	while (r64_pairs_next(&p, &x, &y))
		sum += r64_in_common(a->env, &x, &y);
	return sum;
}

/* Whether a and b have an element in common. */
bool
r64_overlaps(const r64_set *a, const r64_set *b)
{
	r64_pairs	p;
	r64_container x;
	r64_container y;

	r64_pairs_start(&p, a, b, false);
	while (r64_pairs_next(&p, &x, &y))
		if (r64_in_common(a->env, &x, &y) > 0)
			return true;
	return false;
}

/* Whether every element of a is an element of b. */
bool
r64_is_subset(const r64_set *a, const r64_set *b)
{
	r64_pairs	p;
	r64_container x;
	r64_container y;

	r64_pairs_start(&p, a, b, true);
	while (r64_pairs_next(&p, &x, &y))
		if (!r64_container_is_subset(a->env, &x, &y))
			return false;
	return r64_pairs_complete(&p);
}
