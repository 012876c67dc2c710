/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  What the headers of a set's buckets tell: how many elements, the ends,
 *	  and where one element would be.
 *
 * src/engine/reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "index.h"

/* The smallest high half of a negative element. */
#define FIRST_NEGATIVE	(UINT32_C(1) << 31)

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
		s->env->release(s->env->arg, s->index);
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
	r64_walk	w;

	if (s->index != NULL)
		return s->index->total;
	for (r64_walk_start(&w, s); w.live; r64_walk_next(&w))
		sum += r64_bucket_cards(&w.b, 0, w.b.n);
	return sum;
}

bool
r64_contains(const r64_set *s, int64_t v)
{
	uint64_t	u = (uint64_t) v;
	r64_walk	w;

	if (s->index != NULL)
	{
		uint64_t	i = r64_index_seek(s->index, R64_HIGH(u));
		r64_bucket	b;

		if (i == s->index->n || s->index->entries[i].high != R64_HIGH(u))
			return false;
		r64_bucket_open(s, s->index->entries[i].pos, &b);
		return r64_bucket_contains(s->env, &b, u);
	}

	r64_walk_start(&w, s);
	while (w.live && w.b.high < R64_HIGH(u))
		r64_walk_next(&w);
	return w.live && w.b.high == R64_HIGH(u) &&
		r64_bucket_contains(s->env, &w.b, u);
}

static int64_t
bucket_end_value(const r64_env *env, const r64_bucket *b, bool last)
{
	r64_container c;

	r64_container_at(env, b, last ? b->n - 1 : 0, &c);
	return (int64_t) ((uint64_t) b->high << 32 | (uint32_t) c.key << 16 |
					  (last ? r64_container_max(&c) : r64_container_min(&c)));
}

/* The same of a bucket by its place in the index. */
static int64_t
indexed_end_value(const r64_set *s, uint64_t i, bool last)
{
	r64_bucket	b;

	r64_bucket_open(s, s->index->entries[i].pos, &b);
	return bucket_end_value(s->env, &b, last);
}

/*
 * Finds the smallest element; returns false if there is none.  Negative
 * elements are stored last, so it is in the first bucket with a negative high
 * half, if there is one.
 */
bool
r64_min(const r64_set *s, int64_t *v)
{
	r64_walk	w;
	r64_bucket	first;

	if (s->index != NULL && s->index->n > 0)
	{
		uint64_t	i = r64_index_seek(s->index, FIRST_NEGATIVE);

		*v = indexed_end_value(s, i < s->index->n ? i : 0, false);
		return true;
	}
	r64_walk_start(&w, s);
	if (!w.live)
		return false;
	first = w.b;
	while (w.live && (int32_t) w.b.high >= 0)
		r64_walk_next(&w);
	*v = bucket_end_value(s->env, w.live ? &w.b : &first, false);
	return true;
}

/*
 * Finds the largest element; returns false if there is none.  It is in the
 * last bucket before the first with a negative high half, if there is one.
 */
bool
r64_max(const r64_set *s, int64_t *v)
{
	r64_walk	w;
	r64_bucket	last;

	if (s->index != NULL && s->index->n > 0)
	{
		uint64_t	i = r64_index_seek(s->index, FIRST_NEGATIVE);

		*v = indexed_end_value(s, (i > 0 ? i : s->index->n) - 1, true);
		return true;
	}
	r64_walk_start(&w, s);
	if (!w.live)
		return false;
	last = w.b;
	for (; w.live; r64_walk_next(&w))
	{
		if ((int32_t) w.b.high < 0 && (int32_t) last.high >= 0)
			break;
		last = w.b;
	}
	*v = bucket_end_value(s->env, &last, true);
	return true;
}

/* Counts what a set is made of. */
r64_stats
r64_get_stats(const r64_set *s)
{
	r64_stats	stats = {0};
	r64_walk	w;

	for (r64_walk_start(&w, s); w.live; r64_walk_next(&w))
	{
		stats.buckets++;
		for (uint32_t i = 0; i < w.b.n; i++)
		{
			uint32_t	card = r64_bucket_card(&w.b, i);

			r64_poll_every(s->env, i + 1, 0x3FFF);
			stats.cardinality += card;
			if (r64_bucket_is_run(&w.b, i))
				stats.runs++;
			else if (card <= R64_ARRAY_MAX)
				stats.arrays++;
			else
				stats.bitsets++;
		}
	}
	return stats;
}
