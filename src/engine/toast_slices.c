/*-------------------------------------------------------------------------
 *
 * toast_slices.c
 *	  Questions to a set that is fetched in parts.
 *
 * A bucket is read in two fetches, its cookie and its header.  If there is
 * another after it, and its last container is a run container, a third tells
 * where the bucket ends.  The data of a container is fetched only if the
 * answer is in it.
 *
 * src/engine/toast_slices.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "writer.h"

/* At most this part of what the whole would cost is spent in vain. */
#define WASTE	20

#define MAX_HEADER	r64_bucket_header_size(65536, true)

/* Numbers of runs that are read to find a container without offsets. */
#define RUN_COUNTS	(2 * (R64_NO_OFFSET_LIMIT - 1))

/*
 * A walk over the buckets.  The pointers of the bucket point into the fetched
 * header and are valid until the walk moves on; there is nothing at data.
 */
typedef struct sliced_walk
{
	const r64_source *source;
	uint64_t	left;			/* buckets after the current one */
	bool		begun;			/* there is a current one */
	size_t		cookie;			/* offset of its cookie */
	size_t		header;			/* size of its header, from the cookie */
	r64_bucket	b;
} sliced_walk;

static const uint8_t *
fetch(const r64_source *source, r64_part part, size_t offset, size_t size)
{
	if (offset > source->size || size > source->size - offset)
		r64_corrupt(source->env, "bucket past the end");
	return source->fetch(source->arg, part, offset, size);
}

/* Returns where in the set container i begins, and what its header says. */
static size_t
locate_container(const sliced_walk *w, uint32_t i, r64_container *c,
				 size_t *size)
{
	size_t		offset = w->header;
	uint32_t	from = 0;

	if (w->b.offsets != NULL)
	{
		from = i;
		offset = r64_load32(w->b.offsets + 4 * (size_t) i);
		if (offset < w->header)
			r64_corrupt(w->source->env, "container offset outside its bucket");
	}
	/* without offsets, add up the sizes of the containers before it */
	for (;; from++)
	{
		r64_container_describe(&w->b, from, c);
		if (c->type == R64_RUN)
		{
			c->nruns = r64_load16(fetch(w->source, R64_PART_DATA,
										w->cookie + offset, 2));
			if (c->nruns == 0)
				r64_corrupt(w->source->env, "run container without runs");
		}
		*size = r64_container_size(c) + (c->type == R64_RUN ? 2 : 0);
		if (from == i)
			return w->cookie + offset;
		offset += *size;
	}
}

/* Reads the current bucket's header, of which at least eight bytes are there. */
static void
read_header(sliced_walk *w, const uint8_t *cookie)
{
	const char *wrong = r64_header_read(cookie, &w->b);

	if (wrong != NULL)
		r64_corrupt(w->source->env, wrong);
	if (w->b.n == 0)
		r64_corrupt(w->source->env, "bucket without containers");
}

/*
 * Moves to the next bucket, of which only the beginning is fetched yet; false
 * at the end.  The header of the current one must have been fetched.
 */
static bool
next_cookie(sliced_walk *w)
{
	const uint8_t *p;
	size_t		start = R64_HEADER_SIZE;

	if (w->left == 0)
		return false;
	w->left--;
	w->source->env->poll();
	if (w->begun)
	{
		r64_container last;
		size_t		size;

		start = locate_container(w, w->b.n - 1, &last, &size);
		start += size;
	}
	w->begun = true;
	p = fetch(w->source, R64_PART_HEADER, start, R64_MIN_BUCKET);
	w->cookie = start + 4;
	w->b.high = r64_load32(p);
	read_header(w, p + 4);
	w->header = (size_t) (w->b.data - w->b.cookie);
	return true;
}

/* Fetches the header of the current bucket, and reads it. */
static void
fetch_header(sliced_walk *w)
{
	read_header(w, fetch(w->source, R64_PART_HEADER, w->cookie, w->header));
	if (w->header != (size_t) (w->b.data - w->b.cookie))
		r64_corrupt(w->source->env, "header that changes");
}

/* Moves to the next bucket; false at the end. */
static bool
next_bucket(sliced_walk *w)
{
	if (!next_cookie(w))
		return false;
	fetch_header(w);
	return true;
}

static void
start(sliced_walk *w, const r64_source *source)
{
	w->source = source;
	w->left = r64_source_buckets(source);
	w->begun = false;
}

/* Fetches container i of the current bucket. */
static void
fetch_container(const sliced_walk *w, uint32_t i, r64_container *c)
{
	size_t		size;
	size_t		offset = locate_container(w, i, c, &size);

	c->data = fetch(w->source, R64_PART_DATA, offset, size);
	if (c->type == R64_RUN)
		c->data += 2;
}

/* Returns how many buckets the set has. */
uint64_t
r64_source_buckets(const r64_source *source)
{
	return r64_load64(fetch(source, R64_PART_HEADER, 0, R64_HEADER_SIZE));
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
			fetch_header(&w);
			break;
		}
	fetch_container(&w, 0, &c);
	*v = (int64_t) (r64_base(&w.b, c.key) | r64_container_min(&c));
	return true;
}

static const uint8_t *
fetch_from_memory(void *arg, r64_part part, size_t offset, size_t size)
{
	const r64_set *s = arg;

	(void) part;
	(void) size;
	return s->bytes + offset;
}

/* Returns a set in memory, which has to stay, as a source. */
r64_source
r64_set_source(r64_set *s)
{
	r64_source	source = {
		.env = s->env,
		.arg = s,
		.fetch = fetch_from_memory,
		.size = s->size
	};

	return source;
}

/* Whether two buckets of one high half have an element in common. */
static bool
buckets_overlap(const sliced_walk *x, const sliced_walk *y)
{
	uint32_t	i = 0;
	uint32_t	j = 0;
	r64_container c;
	r64_container d;

	while (i < x->b.n && j < y->b.n)
	{
		uint16_t	key_x = r64_bucket_key(&x->b, i);
		uint16_t	key_y = r64_bucket_key(&y->b, j);

		if (key_x < key_y)
			i = r64_bucket_seek(&x->b, i, key_y);
		else if (key_x > key_y)
			j = r64_bucket_seek(&y->b, j, key_x);
		else
		{
			fetch_container(x, i++, &c);
			fetch_container(y, j++, &d);
			if (r64_containers_overlap(x->source->env, &c, &d))
				return true;
			r64_poll_every(x->source->env, i, 15);
		}
	}
	return false;
}

/*
 * Whether two sets have an element in common.  Up to the first one, fetches
 * headers, and the containers of the places that both have.
 */
bool
r64_source_overlaps(const r64_source *a, const r64_source *b)
{
	sliced_walk x;
	sliced_walk y;
	bool		live;

	start(&x, a);
	start(&y, b);
	live = next_bucket(&x) && next_bucket(&y);
	while (live)
	{
		if (x.b.high < y.b.high)
			live = next_bucket(&x);
		else if (x.b.high > y.b.high)
			live = next_bucket(&y);
		else if (buckets_overlap(&x, &y))
			return true;
		else
			live = next_bucket(&x) && next_bucket(&y);
	}
	return false;
}

/* Returns how many containers a set has, if they are not more than enough. */
static uint64_t
count_containers(const r64_set *s, uint64_t enough)
{
	uint64_t	n = 0;
	r64_walk	w;

	for (r64_walk_start(&w, s); w.live && n <= enough; r64_walk_next(&w))
		n += w.b.n;
	return n;
}

/* Appends the containers of the current bucket whose keys are in wanted. */
static void
copy_wanted(r64_writer *out, const sliced_walk *w, const r64_bucket *wanted)
{
	uint32_t	i = 0;
	r64_container c;

	r64_writer_begin(out, wanted->high, wanted->n, w->b.run_flags != NULL);
	for (uint32_t j = 0; j < wanted->n; j++)
	{
		uint16_t	key = r64_bucket_key(wanted, j);

		r64_poll_every(out->env, j, 15);
		i = r64_bucket_seek(&w->b, i, key);
		if (i == w->b.n)
			break;
		if (r64_bucket_key(&w->b, i) != key)
			continue;
		fetch_container(w, i, &c);
		r64_writer_container(out, &c);
	}
	r64_writer_end(out);
}

/*
 * Makes the set of those containers of the source that have the place of a
 * container of few: what an operation needs whose result lies within few.  If
 * cardinality is not NULL, it becomes that of the source.
 *
 * Costs are in bytes.  A fetch costs fetch_cost and the bytes that it fetches,
 * and all of the set costs whole.  Returns false, and no set, if the parts
 * could cost more than that; about a twentieth of it at most has been spent
 * then.  So what lies ahead is taken for as large as it can be: a container of
 * few is the place of the largest, and the header of a bucket that has not been
 * reached is the largest.  The walk begins within that twentieth, and goes
 * beyond it when what lies ahead is sure to cost no more than the whole.
 */
bool
r64_source_restrict(const r64_source *source, const r64_set *few,
					size_t fetch_cost, size_t whole, r64_buf *result,
					uint64_t *cardinality)
{
	const r64_env *env = source->env;
	uint64_t	each = (uint64_t) fetch_cost + RUN_COUNTS + R64_BITSET_BYTES;
	uint64_t	walk = 3 * (uint64_t) fetch_cost + RUN_COUNTS +
		R64_MIN_BUCKET;			/* to a bucket's end, without its header */
	uint64_t	wanted = count_containers(few, whole / each);
	uint64_t	spent = (uint64_t) fetch_cost + R64_HEADER_SIZE;
	uint64_t	sum = 0;
	sliced_walk w;
	r64_walk	x;
	r64_writer	out;

	if (wanted * each > whole || fetch_cost > whole / WASTE)
		return false;
	r64_writer_init(&out, env, (size_t) wanted * R64_BITSET_BYTES);
	start(&w, source);
	r64_walk_start(&x, few);
	while ((x.live || cardinality != NULL) && next_cookie(&w))
	{
		uint64_t	here = 0;	/* for the containers in this bucket */
		uint64_t	ahead;		/* for the buckets after it */

		for (; x.live && x.b.high < w.b.high; r64_walk_next(&x))
			wanted -= x.b.n;
		if (x.live && x.b.high == w.b.high)
			here = x.b.n * each;
		ahead = here == wanted * each && cardinality == NULL ? 0 :
			w.left * (walk + MAX_HEADER);
		spent += walk + w.header;
		if (spent + here > whole / WASTE &&
			spent + wanted * each + ahead > whole)
		{
			env->release(r64_writer_finish(&out).base);
			return false;
		}
		fetch_header(&w);
		if (cardinality != NULL)
			sum += r64_bucket_cards(&w.b, 0, w.b.n);
		if (here > 0)
		{
			copy_wanted(&out, &w, &x.b);
			wanted -= x.b.n;
			spent += here;
			r64_walk_next(&x);
		}
	}
	*result = r64_writer_finish(&out);
	if (cardinality != NULL)
		*cardinality = sum;
	return true;
}
