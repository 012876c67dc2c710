/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  Questions that bucket headers answer: how many elements, the smallest and the
 *	  largest, and whether one value is an element.
 *
 * An index is used if the view has one, but never made, unlike in query.c.
 *
 * src/engine/reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "index.h"

/*
 * Returns a view of size bytes.  Fails with R64_CORRUPT if they cannot be a
 * set.
 */
r64_set
r64_open(const r64_env *env, const void *bytes, size_t size)
{
	r64_set		s = {.env = env,.bytes = bytes,.size = size};

	if (size < R64_HEADER_SIZE)
		r64_corrupt(env, "truncated header");
	if (r64_bucket_count(&s) > (size - R64_HEADER_SIZE) / R64_MIN_BUCKET)
		r64_corrupt(env, "too short for its number of buckets");
	return s;
}

/* Releases what the view has obtained (its index), but not the bytes. */
void
r64_close(r64_set *s)
{
	if (s->index != NULL)
		s->env->release(s->index);
	s->index = NULL;
}

bool
r64_is_empty(const r64_set *s)
{
	return r64_bucket_count(s) == 0;
}

/* Returns the number of elements: the sum of the container headers. */
uint64_t
r64_cardinality(const r64_set *s)
{
	uint64_t	sum = 0;
	r64_cursor	cur;

	if (s->index != NULL)
		return s->index->total;
	for (r64_cursor_start(&cur, s); cur.live; r64_cursor_next(&cur))
		sum += r64_bucket_cards(&cur.b, 0, cur.b.n);
	return sum;
}

/* Makes the container of u, or one of no values, the last one asked for. */
static void
open_container(const r64_set *s, uint64_t u)
{
	r64_container *c = &s->index->container;
	uint64_t	i;
	uint32_t	k;
	r64_bucket	b;

	/* a failure leaves no container cached */
	s->index->asked = UINT64_MAX;
	if (r64_index_find(s, u, &i, &b, &k))
		r64_container_at(s->env, &b, k, c);
	else
		memset(c, 0, sizeof(*c));
	s->index->asked = u >> 16;
}

bool
r64_contains(const r64_set *s, int64_t v)
{
	uint64_t	u = (uint64_t) v;
	uint32_t	i;
	r64_cursor	cur;
	r64_container c;

	if (s->index != NULL)
	{
		/* rows that come one after the other often have neighbouring ids */
		if (s->index->asked != u >> 16)
			open_container(s, u);
		return r64_container_contains(&s->index->container, R64_LOW(u));
	}

	r64_cursor_start(&cur, s);
	while (cur.live && cur.b.high < R64_HIGH(u))
		r64_cursor_next(&cur);
	if (!cur.live || cur.b.high != R64_HIGH(u))
		return false;
	i = r64_bucket_seek(&cur.b, 0, R64_KEY(u));
	if (i == cur.b.n || r64_bucket_key(&cur.b, i) != R64_KEY(u))
		return false;
	r64_container_at(s->env, &cur.b, i, &c);
	return r64_container_contains(&c, R64_LOW(u));
}

/*
 * Finds the largest or the smallest element; returns false if there is none.
 * Negative elements are stored last.
 */
static bool
find_end(const r64_set *s, bool largest, int64_t *v)
{
	r64_cursor	cur;
	r64_bucket	b;
	r64_container c;
	uint16_t	low;

	if (r64_is_empty(s))
		return false;
	r64_cursor_start(&cur, s);
	for (b = cur.b; cur.live; r64_cursor_next(&cur))
		if (((int32_t) cur.b.high > (int32_t) b.high) == largest)
			b = cur.b;
	r64_container_at(s->env, &b, largest ? b.n - 1 : 0, &c);
	low = largest ? r64_container_max(&c) : r64_container_select(&c, 0);
	*v = (int64_t) (r64_base(&b, c.key) | low);
	return true;
}

/* Finds the smallest element; returns false if there is none. */
bool
r64_min(const r64_set *s, int64_t *v)
{
	return find_end(s, false, v);
}

/* Finds the largest element; returns false if there is none. */
bool
r64_max(const r64_set *s, int64_t *v)
{
	return find_end(s, true, v);
}

/* Counts the parts of a set. */
r64_stats
r64_get_stats(const r64_set *s)
{
	r64_stats	stats = {0};
	r64_cursor	cur;

	for (r64_cursor_start(&cur, s); cur.live; r64_cursor_next(&cur))
	{
		stats.buckets++;
		for (uint32_t i = 0; i < cur.b.n; i++)
		{
			uint32_t	card = r64_bucket_card(&cur.b, i);

			r64_poll_every(s->env, i + 1, 0x3FFF);
			stats.cardinality += card;
			if (r64_bucket_is_run(&cur.b, i))
				stats.runs++;
			else if (card <= R64_ARRAY_MAX)
				stats.arrays++;
			else
				stats.bitsets++;
		}
	}
	return stats;
}
