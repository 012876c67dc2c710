/*-------------------------------------------------------------------------
 *
 * pairs.h
 *	  The pairs of containers of two sets that have the same high half and key,
 *	  that is, whose values may be equal.
 *
 * Containers that only one set has are skipped: a merge, which copies those,
 * has a loop of its own (setops.c).
 *
 * src/engine/pairs.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_PAIRS_H
#define R64_PAIRS_H

#include "format.h"

typedef struct r64_pairs
{
	r64_cursor	a;
	r64_cursor	b;
	uint32_t	i;				/* next container in the bucket of a */
	uint32_t	j;				/* next container in the bucket of b */
	bool		all;			/* end at a container of a without a partner */
} r64_pairs;

static inline void
r64_pairs_start(r64_pairs *p, const r64_set *a, const r64_set *b, bool all)
{
	r64_cursor_start(&p->a, a);
	r64_cursor_start(&p->b, b);
	p->i = p->j = 0;
	p->all = all;
}

/*
 * Moves to the next pair, x of a and y of b.  Returns false at the end: if all
 * containers of a need partners, at the first that lacks one.
 */
static R64_ALWAYS_INLINE bool
r64_pairs_next(r64_pairs *p, r64_container *x, r64_container *y)
{
	const r64_bucket *a = &p->a.b;
	const r64_bucket *b = &p->b.b;

	while (p->a.live && p->b.live)
	{
		while (a->high == b->high && p->i < a->n && p->j < b->n)
		{
			uint16_t	key_a = r64_bucket_key(a, p->i);
			uint16_t	key_b = r64_bucket_key(b, p->j);

			if (key_a == key_b)
			{
				r64_container_at(p->a.set->env, a, p->i++, x);
				r64_container_at(p->b.set->env, b, p->j++, y);
				r64_poll_every(p->a.set->env, p->i, 255);
				return true;
			}
			if (key_a > key_b)
				p->j = r64_bucket_seek(b, p->j, key_a);
			else if (p->all)
				return false;
			else
				p->i = r64_bucket_seek(a, p->i, key_b);
		}
		if (a->high > b->high)
		{
			r64_cursor_next(&p->b);
			p->j = 0;
			continue;
		}
		if (p->all && (a->high < b->high || p->i < a->n))
			return false;
		if (a->high == b->high)
			r64_cursor_next(&p->b);
		r64_cursor_next(&p->a);
		p->i = p->j = 0;
	}
	return false;
}

/* After the last pair: whether each container of a that needs a partner had one. */
static inline bool
r64_pairs_complete(const r64_pairs *p)
{
	return !p->a.live;
}

#endif							/* R64_PAIRS_H */
