/*-------------------------------------------------------------------------
 *
 * reader.c
 *	  Reading a set by walking the headers of its buckets.
 *
 * Every function here that goes from bytes to a struct checks that what the
 * struct points to lies within the set, so that what builds on the structs
 * need not.
 *
 * src/portable/reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "format.h"
#include "index.h"

#define POLL_MASK 1023			/* buckets walked between two polls */

void
r64_corrupt(const r64_env *env, const char *reason)
{
	env->fail(env->arg, R64_CORRUPT, reason);
}

r64_set
r64_open(const r64_env *env, const void *bytes, size_t size)
{
	r64_set		s = {.env = env,.bytes = bytes,.size = size};

	if (size < R64_HEADER_SIZE)
		r64_corrupt(env, "shorter than its header");
	if (r64_bucket_count(&s) > (size - R64_HEADER_SIZE) / R64_MIN_BUCKET)
		r64_corrupt(env, "fewer bytes than its buckets need");
	return s;
}

void
r64_close(r64_set *s)
{
	if (s->index != NULL)
		s->env->release(s->env->arg, s->index);
	s->index = NULL;
}

void
r64_bucket_open(const r64_set *s, size_t pos, r64_bucket *b)
{
	const uint8_t *limit = s->bytes + s->size;
	uint32_t	cookie;
	size_t		header;
	r64_container last;

	if (R64_UNLIKELY(pos > s->size || s->size - pos < R64_MIN_BUCKET))
		r64_corrupt(s->env, "bucket past the end");
	b->start = s->bytes + pos;
	b->high = r64_load32(b->start);
	b->cookie = b->start + 4;
	cookie = r64_load32(b->cookie);
	if (cookie == R64_COOKIE_NO_RUN)
	{
		b->n = r64_load32(b->cookie + 4);
		if (R64_UNLIKELY(b->n - 1 > UINT16_MAX))
			r64_corrupt(s->env, "impossible number of containers");
		b->run_flags = NULL;
		b->keycards = b->cookie + 8;
		b->offsets = b->keycards + 4 * (size_t) b->n;
		header = r64_bucket_header_size(b->n, false);
	}
	else if ((cookie & 0xFFFF) == R64_COOKIE_RUN)
	{
		b->n = (cookie >> 16) + 1;
		b->run_flags = b->cookie + 4;
		b->keycards = b->run_flags + (b->n + 7) / 8;
		b->offsets = b->n < R64_NO_OFFSET_LIMIT ? NULL :
			b->keycards + 4 * (size_t) b->n;
		header = r64_bucket_header_size(b->n, true);
	}
	else
		r64_corrupt(s->env, "unknown cookie");

	if (R64_UNLIKELY(header > (size_t) (limit - b->cookie)))
		r64_corrupt(s->env, "bucket header past the end");
	b->data = b->cookie + header;

	/* the bucket ends where its last container does */
	b->end = limit;
	b->end = r64_container_read_at(s->env, b, b->n - 1, b->cookie +
								   r64_container_offset(s->env, b, b->n - 1),
								   limit, &last);
}

size_t
r64_container_offset_walk(const r64_env *env, const r64_bucket *b, uint32_t i)
{
	const uint8_t *p = b->data;
	r64_container c;

	/* such a bucket has at most three containers */
	for (uint32_t k = 0; k < i; k++)
		p = r64_container_read_at(env, b, k, p, b->end, &c);
	return (size_t) (p - b->cookie);
}

void
r64_walk_start(r64_walk *w, const r64_set *s)
{
	w->set = s;
	w->left = r64_bucket_count(s);
	w->pos = R64_HEADER_SIZE;
	w->live = true;
	r64_walk_next(w);
}

void
r64_walk_next(r64_walk *w)
{
	if (w->left == 0)
	{
		w->live = false;
		return;
	}
	r64_poll_every(w->set->env, w->left, POLL_MASK);
	w->left--;
	r64_bucket_open(w->set, w->pos, &w->b);
	w->pos = (size_t) (w->b.end - w->set->bytes);
}

uint32_t
r64_bucket_seek(const r64_bucket *b, uint32_t i, uint32_t key)
{
	uint32_t	step = 1;
	uint32_t	end;

	/* gallop, as the next key is often the one or near */
	while (i < b->n && r64_bucket_key(b, i) < key)
	{
		if (b->n - i <= step || r64_bucket_key(b, i + step) >= key)
		{
			end = b->n - i <= step ? b->n : i + step;
			i++;
			while (i < end)
			{
				uint32_t	mid = i + (end - i) / 2;

				if (r64_bucket_key(b, mid) < key)
					i = mid + 1;
				else
					end = mid;
			}
			return i;
		}
		i += step;
		step *= 2;
	}
	return i;
}

uint64_t
r64_bucket_cards(const r64_bucket *b, uint32_t from, uint32_t to)
{
	uint64_t	sum = to - from;

	for (uint32_t i = from; i < to; i++)
		sum += r64_load16(b->keycards + 4 * (size_t) i + 2);
	return sum;
}

bool
r64_is_empty(const r64_set *s)
{
	return r64_bucket_count(s) == 0;
}

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

/*
 * Negative elements are stored last, so the smallest is in the first bucket
 * with a negative high half, if there is one; and the largest in the last
 * bucket before it.
 */
bool
r64_min(const r64_set *s, int64_t *v)
{
	r64_walk	w;
	r64_bucket	first;

	r64_walk_start(&w, s);
	if (!w.live)
		return false;
	first = w.b;
	while (w.live && (int32_t) w.b.high >= 0)
		r64_walk_next(&w);
	*v = bucket_end_value(s->env, w.live ? &w.b : &first, false);
	return true;
}

bool
r64_max(const r64_set *s, int64_t *v)
{
	r64_walk	w;
	r64_bucket	last;

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
