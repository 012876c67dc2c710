/*-------------------------------------------------------------------------
 *
 * toast_slices.c
 *	  Questions to a set that is fetched in parts.
 *
 * A bucket is read in up to three fetches: its cookie, the rest of its
 * header, and, if its last container is a run container, its number of runs,
 * to find the end of the bucket.  The data of a container is fetched only if
 * the answer is in it.
 *
 * src/engine/toast_slices.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "format.h"

/*
 * A walk over the buckets.  The pointers of the bucket point into the fetched
 * header and are valid until the next fetch; data and end are not set.
 */
typedef struct sliced_walk
{
	const r64_source *source;
	uint64_t	left;			/* buckets after the current one */
	size_t		next;			/* offset of the next one */
	size_t		cookie;			/* offset of the current one's cookie */
	size_t		header;			/* size of its header, from the cookie */
	r64_bucket	b;
} sliced_walk;

static const uint8_t *
fetch(const r64_source *source, size_t offset, size_t size)
{
	if (offset > source->size || size > source->size - offset)
		r64_corrupt(source->env, "bucket past the end");
	return source->fetch(source->arg, offset, size);
}

/* Fetches the header of the current bucket, and reads it. */
static void
fetch_header(sliced_walk *w)
{
	r64_bucket *b = &w->b;
	const uint8_t *p = fetch(w->source, w->cookie, w->header);

	b->cookie = p;
	b->data = b->end = NULL;
	if (r64_load32(p) == R64_COOKIE_NO_RUN)
	{
		b->run_flags = NULL;
		b->keycards = p + 8;
		b->offsets = b->keycards + 4 * (size_t) b->n;
	}
	else
	{
		b->run_flags = p + 4;
		b->keycards = p + 4 + (b->n + 7) / 8;
		b->offsets = b->n < R64_NO_OFFSET_LIMIT ? NULL :
			b->keycards + 4 * (size_t) b->n;
	}
}

/* Returns where in the set container i begins, and what its header says. */
static size_t
locate_container(sliced_walk *w, uint32_t i, r64_container *c, size_t *size)
{
	size_t		offset = w->header;
	uint32_t	from = i;

	fetch_header(w);
	if (w->b.offsets != NULL)
		offset = r64_load32(w->b.offsets + 4 * (size_t) i);
	else
		from = 0;
	/* without offsets, add up the sizes of the containers before it */
	for (;; from++)
	{
		c->key = r64_bucket_key(&w->b, from);
		c->card = r64_bucket_card(&w->b, from);
		c->nruns = 0;
		if (r64_bucket_is_run(&w->b, from))
		{
			c->type = R64_RUN;
			c->nruns = r64_load16(fetch(w->source, w->cookie + offset, 2));
			if (c->nruns == 0)
				r64_corrupt(w->source->env, "run container without runs");
			*size = 2 + 4 * (size_t) c->nruns;
			fetch_header(w);
		}
		else
		{
			c->type = c->card <= R64_ARRAY_MAX ? R64_ARRAY : R64_BITSET;
			*size = c->type == R64_ARRAY ? 2 * (size_t) c->card :
				R64_BITSET_BYTES;
		}
		if (from == i)
			return w->cookie + offset;
		offset += *size;
	}
}

/* Moves to the next bucket; false at the end. */
static bool
next_bucket(sliced_walk *w)
{
	const uint8_t *p;
	uint32_t	cookie;
	r64_container last;
	size_t		size;

	if (w->left == 0)
		return false;
	w->left--;
	w->source->env->poll(w->source->env->arg);
	p = fetch(w->source, w->next, R64_MIN_BUCKET);
	w->b.high = r64_load32(p);
	w->cookie = w->next + 4;
	cookie = r64_load32(p + 4);
	if (cookie == R64_COOKIE_NO_RUN)
		w->b.n = r64_load32(p + 8);
	else if ((cookie & 0xFFFF) == R64_COOKIE_RUN)
		w->b.n = (cookie >> 16) + 1;
	else
		r64_corrupt(w->source->env, "unknown cookie");
	if (w->b.n - 1 > UINT16_MAX)
		r64_corrupt(w->source->env, "impossible number of containers");
	w->header = r64_bucket_header_size(w->b.n, cookie != R64_COOKIE_NO_RUN);
	w->next = locate_container(w, w->b.n - 1, &last, &size);
	w->next += size;
	return true;
}

static void
start(sliced_walk *w, const r64_source *source)
{
	w->source = source;
	w->left = r64_source_buckets(source);
	w->next = R64_HEADER_SIZE;
}

/* Fetches container i of the current bucket. */
static void
fetch_container(sliced_walk *w, uint32_t i, r64_container *c)
{
	size_t		size;
	size_t		offset = locate_container(w, i, c, &size);

	c->data = fetch(w->source, offset, size);
	if (c->type == R64_RUN)
		c->data += 2;
}

/* Returns how many buckets the set has. */
uint64_t
r64_source_buckets(const r64_source *source)
{
	return r64_load64(fetch(source, 0, R64_HEADER_SIZE));
}

/* Whether v is an element. */
bool
r64_source_contains(const r64_source *source, int64_t v)
{
	uint64_t	u = (uint64_t) v;
	sliced_walk w;

	start(&w, source);
	while (next_bucket(&w) && w.b.high <= R64_HIGH(u))
	{
		uint32_t	i;
		r64_container c;

		if (w.b.high < R64_HIGH(u))
			continue;
		i = r64_bucket_seek(&w.b, 0, R64_KEY(u));
		if (i == w.b.n || r64_bucket_key(&w.b, i) != R64_KEY(u))
			return false;
		fetch_container(&w, i, &c);
		return r64_container_contains(&c, R64_LOW(u));
	}
	return false;
}

uint64_t
r64_source_cardinality(const r64_source *source)
{
	uint64_t	sum = 0;
	sliced_walk w;

	start(&w, source);
	while (next_bucket(&w))
		sum += r64_bucket_cards(&w.b, 0, w.b.n);
	return sum;
}

/* As in r64_min: from the first negative bucket, or else from the first. */
bool
r64_source_min(const r64_source *source, int64_t *v)
{
	sliced_walk w;
	sliced_walk first;
	r64_container c;

	start(&w, source);
	if (!next_bucket(&w))
		return false;
	first = w;
	while ((int32_t) w.b.high >= 0)
		if (!next_bucket(&w))
		{
			w = first;
			break;
		}
	fetch_container(&w, 0, &c);
	*v = (int64_t) ((uint64_t) w.b.high << 32 | (uint32_t) c.key << 16 |
					r64_container_min(&c));
	return true;
}
