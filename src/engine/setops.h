/*-------------------------------------------------------------------------
 *
 * setops.h
 *	  Set operations on containers and buckets, for code that merges in other ways.
 *
 * Whole sets are combined with r64_combine().
 *
 * src/engine/setops.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_SETOPS_H
#define R64_SETOPS_H

#include "writer.h"

/*
 * An operation: whose elements it keeps, and its kernels.  There are kernels
 * for some pairs of types only; r64_combine_containers reduces the others to
 * these.
 */
typedef struct r64_operation
{
	r64_op		code;			/* which it is */
	bool		keep_a;			/* elements only in a stay */
	bool		keep_b;			/* elements only in b stay */
	bool		keep_both;		/* elements of both stay */

	void		(*arrays) (const array_container_t *,
						   const array_container_t *, array_container_t *);
	int			(*bitsets) (const bitset_container_t *,
							const bitset_container_t *, bitset_container_t *);
	void		(*runs) (const run_container_t *,
						 const run_container_t *, run_container_t *);

	/* if the result is a subset of a: a's array filtered by b */
	void		(*filter_by_bitset) (const array_container_t *,
									 const bitset_container_t *,
									 array_container_t *);
	void		(*filter_by_runs) (const array_container_t *,
								   const run_container_t *,
								   array_container_t *);
} r64_operation;

extern r64_operation r64_get_operation(r64_op op);
extern void r64_combine_containers(const r64_operation *op, r64_writer *w,
								   const r64_container *a,
								   const r64_container *b);
extern void r64_pass_buckets(r64_writer *w, r64_cursor *cur, bool keep,
							 const uint32_t *limit);

/* merge.c: many sets at once, from a list of them. */
extern r64_buf r64_merge_list(r64_op op, const r64_set *s,
							  const uint8_t *list, size_t size);

extern uint32_t r64_apply_container(const r64_operation *op,
									const r64_env *env, uint64_t *words,
									const r64_container *c);

/* inplace.c */
extern bool r64_combine_in_place(r64_op op, const r64_set *a, const r64_set *b,
								 bool *changed);

/* The bytes that a set takes in a list. */
static inline size_t
r64_listed_size(const r64_set *s)
{
	return sizeof(uint64_t) + (s->size + 7) / 8 * 8;
}

extern void r64_list_set(uint8_t *at, const r64_set *s);

#endif							/* R64_SETOPS_H */
