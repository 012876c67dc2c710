/*-------------------------------------------------------------------------
 *
 * partial.c
 *	  A set that is fetched in parts: how many elements it has, and its containers
 *	  that meet a smaller set.
 *
 * A bucket is read in two fetches, its cookie and its header.  If another follows,
 * and its last container is a run container, a third finds where the bucket ends.
 * The data of a container is fetched only if the answer depends on it.  Where the
 * parts come from is the caller's business (type/toast_source.c).
 *
 * src/engine/partial.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "writer.h"

/*
 * Fetches the buckets one by one.  The pointers of bucket b point into the
 * fetched header and are valid until the next one is fetched; there is nothing
 * at data.
 */
typedef struct part_cursor
{
	const r64_source *source;
	uint64_t	remaining;		/* buckets after the current one */
	size_t		cookie;			/* offset of its cookie */
	size_t		header;			/* size of its header, from the cookie */
	r64_bucket	b;				/* without containers before the first */
} part_cursor;

static const uint8_t *
fetch(const r64_source *source, r64_part part, size_t offset, size_t size)
{
	if (offset > source->size || size > source->size - offset)
		r64_corrupt(source->env, "bucket past the end");
	return source->fetch(source->arg, part, offset, size);
}

/* Returns where in the set container i begins, and what its header says. */
static size_t
locate_container(const part_cursor *cur, uint32_t i, r64_container *c,
				 size_t *size)
{
	size_t		offset = cur->header;
	uint32_t	from = 0;

	if (cur->b.offsets != NULL)
	{
		from = i;
		offset = r64_load32(cur->b.offsets + 4 * (size_t) i);
		if (offset < cur->header)
			r64_corrupt(cur->source->env, "container offset outside its bucket");
	}
	/* without offsets, add up the sizes of the containers before it */
	for (;; from++)
	{
		r64_container_describe(&cur->b, from, c);
		if (c->type == R64_RUN)
		{
			c->nruns = r64_load16(fetch(cur->source, R64_PART_DATA,
										cur->cookie + offset, 2));
			if (c->nruns == 0)
				r64_corrupt(cur->source->env, "run container without runs");
		}
		*size = r64_container_size(c) + (c->type == R64_RUN ? 2 : 0);
		if (from == i)
			return cur->cookie + offset;
		offset += *size;
	}
}

/* Reads the current bucket's header, from at least its first eight bytes. */
static void
read_header(part_cursor *cur, const uint8_t *cookie)
{
	const char *wrong = r64_header_read(cookie, &cur->b);

	if (wrong != NULL)
		r64_corrupt(cur->source->env, wrong);
	if (cur->b.n == 0)
		r64_corrupt(cur->source->env, "bucket without containers");
}

/* Moves to the next bucket; false at the end. */
static bool
next_bucket(part_cursor *cur)
{
	const r64_source *source = cur->source;
	const uint8_t *p;
	size_t		start = R64_HEADER_SIZE;

	if (cur->remaining == 0)
		return false;
	cur->remaining--;
	source->env->poll();
	if (cur->b.n > 0)
	{
		r64_container last;
		size_t		size;

		start = locate_container(cur, cur->b.n - 1, &last, &size);
		start += size;
	}
	p = fetch(source, R64_PART_HEADER, start, R64_MIN_BUCKET);
	cur->b.high = r64_load32(p);
	read_header(cur, p + 4);
	cur->cookie = start + 4;
	cur->header = (size_t) (cur->b.data - cur->b.cookie);
	read_header(cur, fetch(source, R64_PART_HEADER, cur->cookie, cur->header));
	if (cur->header != (size_t) (cur->b.data - cur->b.cookie))
		r64_corrupt(source->env, "header that changes");
	return true;
}

/* Returns how many buckets the set has. */
uint64_t
r64_source_buckets(const r64_source *source)
{
	return r64_load64(fetch(source, R64_PART_HEADER, 0, R64_HEADER_SIZE));
}

/* Appends the containers of the current bucket whose keys are in wanted. */
static void
copy_wanted(r64_writer *out, const part_cursor *cur, const r64_bucket *wanted)
{
	uint32_t	i = 0;
	r64_container c;

	r64_writer_begin(out, wanted->high, wanted->n, cur->b.run_flags != NULL);
	for (uint32_t j = 0; j < wanted->n; j++)
	{
		uint16_t	key = r64_bucket_key(wanted, j);
		size_t		offset;
		size_t		size;

		r64_poll_every(out->env, j, 15);
		i = r64_bucket_seek(&cur->b, i, key);
		if (i == cur->b.n)
			break;
		if (r64_bucket_key(&cur->b, i) != key)
			continue;
		offset = locate_container(cur, i, &c, &size);
		c.data = fetch(cur->source, R64_PART_DATA, offset, size) +
			(c.type == R64_RUN ? 2 : 0);
		r64_writer_container(out, &c);
	}
	r64_writer_end(out);
}

/*
 * Makes the set of those containers of the source whose high half and key a
 * container of few has: all that an operation needs whose result lies within few.
 * If cardinality is not NULL, it becomes that of the source.
 */
r64_buf
r64_source_restrict(const r64_source *source, const r64_set *few,
					uint64_t *cardinality)
{
	part_cursor cur = {
		.source = source,
		.remaining = r64_source_buckets(source)
	};
	r64_cursor	x;
	r64_writer	out;

	r64_writer_init(&out, source->env, few->size);
	r64_cursor_start(&x, few);
	if (cardinality != NULL)
		*cardinality = 0;
	while ((x.live || cardinality != NULL) && next_bucket(&cur))
	{
		if (cardinality != NULL)
			*cardinality += r64_bucket_cards(&cur.b, 0, cur.b.n);
		while (x.live && x.b.high < cur.b.high)
			r64_cursor_next(&x);
		if (x.live && x.b.high == cur.b.high)
		{
			copy_wanted(&out, &cur, &x.b);
			r64_cursor_next(&x);
		}
	}
	return r64_writer_finish(&out);
}
