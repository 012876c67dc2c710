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

/*
 * A pair of containers of the same key, as views of their two types, in the
 * order in which kernels for mixed pairs take them.
 */
typedef struct container_pair
{
	array_container_t array[2];
	bitset_container_t bitset[2];
	run_container_t run[2];
	r64_values	values[2];
	r64_words	words[2];
	r64_run_list runs[2];
} container_pair;

static inline void
view_pair(const r64_env *env, container_pair *pair,
		  const r64_container *a, const r64_container *b)
{
	const r64_container *c[2] = {a, b};

	for (int i = 0; i < 2; i++)
	{
		if (c[i]->type == R64_ARRAY)
			pair->array[i] = r64_view_array_unchecked(c[i], &pair->values[i]);
		else if (c[i]->type == R64_BITSET)
			pair->bitset[i] = r64_view_bitset(c[i], &pair->words[i]);
		/* a run that leaves the container would be read beyond a bitset */
		else if (c[1 - i]->type == R64_BITSET)
			pair->run[i] = r64_view_runs(env, c[i], &pair->runs[i]);
		else
			pair->run[i] = r64_view_runs_unchecked(env, c[i], &pair->runs[i]);
	}
}

#define TYPES(a, b) ((int) (a) * 3 + (int) (b))

/* Symmetric kernels exist only for pairs whose types are in this order. */
static bool
in_kernel_order(const r64_container *a, const r64_container *b)
{
	static const int rank[] = {[R64_ARRAY] = 0,[R64_RUN] = 1,[R64_BITSET] = 2};

	return rank[a->type] <= rank[b->type];
}

/* Counts what two containers in kernel order share. */
static uint32_t
count_common(const r64_env *env, const r64_container *a,
			 const r64_container *b)
{
	container_pair p;

	view_pair(env, &p, a, b);
	switch (TYPES(a->type, b->type))
	{
		case TYPES(R64_ARRAY, R64_ARRAY):
			return (uint32_t) r64_kernel.array_container_intersection_cardinality(&p.array[0], &p.array[1]);
		case TYPES(R64_ARRAY, R64_RUN):
			return (uint32_t) r64_kernel.array_run_container_intersection_cardinality(&p.array[0], &p.run[1]);
		case TYPES(R64_ARRAY, R64_BITSET):
			return (uint32_t) r64_kernel.array_bitset_container_intersection_cardinality(&p.array[0], &p.bitset[1]);
		case TYPES(R64_RUN, R64_RUN):
			return (uint32_t) r64_kernel.run_container_intersection_cardinality(&p.run[0], &p.run[1]);
		case TYPES(R64_RUN, R64_BITSET):
			return (uint32_t) r64_kernel.run_bitset_container_intersection_cardinality(&p.run[0], &p.bitset[1]);
		default:
			return (uint32_t) r64_kernel.bitset_container_and_justcard(&p.bitset[0], &p.bitset[1]);
	}
}

/*
 * Whether to look up each value of a in b, as they are few: one, for which a
 * kernel call would cost more, or few beside an array that a kernel would read.
 * A kernel compares eight values at once, and fewer than that one by one.
 */
static inline bool
are_few(const r64_container *a, const r64_container *b)
{
	return a->type == R64_ARRAY &&
		(a->card == 1 ||
		 (b->type == R64_ARRAY &&
		  a->card * (a->card < 8 ? 8 : 32) <= b->card));
}

/* Counts the values of the array a that b contains. */
static inline uint32_t
few_in_common(const r64_container *a, const r64_container *b)
{
	uint32_t	sum = 0;

	for (uint32_t i = 0; i < a->card; i++)
		sum += r64_container_contains(b, r64_load16(a->data + 2 * (size_t) i));
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
	return in_kernel_order(a, b) ? count_common(env, a, b) :
		count_common(env, b, a);
}

/*
 * Whether every value of a is one of b.  Most that are not differ in the first; and a
 * set that has grown to long runs holds what is added in one of them.
 */
bool
r64_container_is_subset(const r64_env *env, const r64_container *a,
						const r64_container *b)
{
	uint32_t	first = r64_container_min(a);

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
