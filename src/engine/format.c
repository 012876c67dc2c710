/*-------------------------------------------------------------------------
 *
 * format.c
 *	  From stored bytes to buckets and containers.
 *
 * Every function here that makes a struct from bytes checks that the struct points
 * within the set, so that code that uses the structs need not.  It does not check
 * that the bytes are canonical: those from elsewhere go through validate.c first.
 *
 * src/engine/format.c
 *
 *-------------------------------------------------------------------------
 */
#include "format.h"

#define POLL_MASK 1023			/* buckets read between two polls */

void
r64_corrupt(const r64_env *env, const char *reason)
{
	env->fail(R64_CORRUPT, reason);
}

/* Opens the bucket at offset pos; fails if it is not within the set. */
void
r64_bucket_open(const r64_set *s, size_t pos, r64_bucket *b)
{
	const uint8_t *limit = s->bytes + s->size;
	const char *wrong;
	r64_container last;

	if (R64_UNLIKELY(pos > s->size || s->size - pos < R64_MIN_BUCKET))
		r64_corrupt(s->env, "bucket past the end");
	b->start = s->bytes + pos;
	b->high = r64_load32(b->start);
	wrong = r64_header_read(b->start + 4, b);
	if (R64_UNLIKELY(wrong != NULL))
		r64_corrupt(s->env, wrong);
	if (R64_UNLIKELY(b->n == 0))
		r64_corrupt(s->env, "bucket without containers");
	if (R64_UNLIKELY(b->data > limit))
		r64_corrupt(s->env, "bucket header past the end");

	/* the bucket ends where its last container does */
	b->end = limit;
	b->end = r64_container_read_at(s->env, b, b->n - 1, b->cookie +
								   r64_container_offset(s->env, b, b->n - 1),
								   limit, &last);
}

/* r64_container_offset() without an offset header: adds up sizes. */
size_t
r64_container_offset_summed(const r64_env *env, const r64_bucket *b, uint32_t i)
{
	const uint8_t *p = b->data;
	r64_container c;

	/* a bucket without offsets has at most three containers */
	for (uint32_t k = 0; k < i; k++)
		p = r64_container_read_at(env, b, k, p, b->end, &c);
	return (size_t) (p - b->cookie);
}

void
r64_cursor_start(r64_cursor *cur, const r64_set *s)
{
	cur->set = s;
	cur->remaining = r64_bucket_count(s);
	cur->pos = R64_HEADER_SIZE;
	cur->live = true;
	r64_cursor_next(cur);
}

void
r64_cursor_next(r64_cursor *cur)
{
	if (cur->remaining == 0)
	{
		cur->live = false;
		return;
	}
	r64_poll_every(cur->set->env, cur->remaining, POLL_MASK);
	cur->remaining--;
	r64_bucket_open(cur->set, cur->pos, &cur->b);
	cur->pos = (size_t) (cur->b.end - cur->set->bytes);
}

/*
 * Returns the first container, from i on, whose key is >= key, or b->n if
 * there is none.
 */
uint32_t
r64_bucket_seek(const r64_bucket *b, uint32_t i, uint32_t key)
{
	uint32_t	step = 1;
	uint32_t	end;

	/* gallop: the next key is often the right one, or near it */
	while (i < b->n && r64_bucket_key(b, i) < key)
	{
		if (b->n - i <= step || r64_bucket_key(b, i + step) >= key)
		{
			end = b->n - i <= step ? b->n : i + step;
			i++;
			R64_SEARCH(i, end - i, at, r64_bucket_key(b, at) < key);
			return i;
		}
		i += step;
		step *= 2;
	}
	return i;
}

/* Returns the sum of the cardinalities of containers [from, to). */
uint64_t
r64_bucket_cards(const r64_bucket *b, uint32_t from, uint32_t to)
{
	uint64_t	sum = to - from;

	for (uint32_t i = from; i < to; i++)
		sum += r64_load16(b->keycards + 4 * (size_t) i + 2);
	return sum;
}
