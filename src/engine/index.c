/*-------------------------------------------------------------------------
 *
 * index.c
 *	  The index of a view: made in one pass over the bucket headers, and searched.
 *
 * src/engine/index.c
 *
 *-------------------------------------------------------------------------
 */
#include "index.h"

/* Builds the index of a view, unless it has one. */
void
r64_index_set(r64_set *s)
{
	uint64_t	n = r64_bucket_count(s);
	r64_index  *index;
	r64_index_entry *entry;
	r64_cursor	cur;

	if (s->index != NULL)
		return;
	index = s->env->alloc(sizeof(r64_index) + n * sizeof(r64_index_entry));
	index->n = n;
	index->total = 0;
	index->asked = UINT64_MAX;
	entry = index->entries;
	for (r64_cursor_start(&cur, s); cur.live; r64_cursor_next(&cur), entry++)
	{
		entry->before = index->total;
		entry->pos = (size_t) (cur.b.start - s->bytes);
		entry->high = cur.b.high;
		index->total += r64_bucket_cards(&cur.b, 0, cur.b.n);
	}
	s->index = index;
}

/*
 * Returns the position of the first bucket whose high half is >= high, or the
 * number of buckets if there is none.
 */
uint64_t
r64_index_seek(const r64_index *index, uint32_t high)
{
	uint64_t	lo = 0;

	R64_SEARCH(lo, index->n, at, index->entries[at].high < high);
	return lo;
}

/*
 * Finds the container of u in an indexed set: container *k of bucket *b, which
 * is entry *i.  Returns false if there is none.
 */
bool
r64_index_find(const r64_set *s, uint64_t u, uint64_t *i, r64_bucket *b,
			   uint32_t *k)
{
	*i = r64_index_seek(s->index, R64_HIGH(u));
	if (*i == s->index->n || s->index->entries[*i].high != R64_HIGH(u))
		return false;
	r64_bucket_open(s, s->index->entries[*i].pos, b);
	*k = 0;
	R64_SEARCH(*k, b->n, at, r64_bucket_key(b, at) < R64_KEY(u));
	return *k < b->n && r64_bucket_key(b, *k) == R64_KEY(u);
}
