/*-------------------------------------------------------------------------
 *
 * range.c
 *	  A set cut by a range, or moved.
 *
 * src/engine/range.c
 *
 *-------------------------------------------------------------------------
 */
#include "builder.h"
#include "container.h"
#include "index.h"
#include "setops.h"

/*
 * What to keep of a set: up to two intervals of unsigned values, ascending.
 */
typedef struct range_mask
{
	int			n;
	struct
	{
		uint64_t	lo;
		uint64_t	hi;
	}			part[2];
} range_mask;

typedef enum coverage
{
	NOTHING,
	SOME,
	ALL
} coverage;

/* How much of the values [lo, hi] a mask keeps. */
static coverage
mask_covers(const range_mask *m, uint64_t lo, uint64_t hi)
{
	coverage	c = NOTHING;

	for (int i = 0; i < m->n; i++)
	{
		if (m->part[i].lo <= lo && hi <= m->part[i].hi)
			return ALL;
		if (m->part[i].lo <= hi && lo <= m->part[i].hi)
			c = SOME;
	}
	return c;
}

/* Appends the part of a container that a mask keeps. */
static void
write_masked_container(r64_writer *w, const range_mask *m,
					   const r64_container *c, uint64_t base)
{
	r64_words	scratch;
	bitset_container_t bitset = r64_as_bitset(w->env, c, &scratch);
	uint32_t	gap = 0;		/* first value not looked at yet */

	for (int i = 0; i < m->n; i++)
	{
		uint32_t	lo;
		uint32_t	hi;

		if (m->part[i].hi < base || m->part[i].lo > (base | R64_LOW_MAX))
			continue;
		lo = m->part[i].lo < base ? 0 : R64_LOW(m->part[i].lo);
		hi = m->part[i].hi > (base | R64_LOW_MAX) ? R64_LOW_MAX :
			R64_LOW(m->part[i].hi);
		if (gap < lo)
			bitset_reset_range(bitset.words, gap, lo);
		gap = hi + 1;
	}
	if (gap <= R64_LOW_MAX)
		bitset_reset_range(bitset.words, gap, R64_LOW_MAX + 1);
	r64_writer_bitset(w, c->key, bitset.words, (uint32_t)
					  r64_kernel.bitset_container_compute_cardinality(&bitset));
}

/* The containers of a bucket that a mask may keep: from the first up to *end. */
static uint32_t
masked_containers(const range_mask *m, const r64_bucket *b, uint32_t *end)
{
	uint64_t	lo;
	uint64_t	hi;
	uint32_t	first;
	int			from = 0;
	int			to = m->n - 1;

	/* of two intervals the bucket may have a part in one only */
	while (from < to && R64_HIGH(m->part[from].hi) < b->high)
		from++;
	while (from < to && R64_HIGH(m->part[to].lo) > b->high)
		to--;
	lo = m->part[from].lo;
	hi = m->part[to].hi;
	first = R64_HIGH(lo) == b->high ? r64_bucket_seek(b, 0, R64_KEY(lo)) : 0;
	*end = R64_HIGH(hi) == b->high ?
		r64_bucket_seek(b, first, (uint32_t) R64_KEY(hi) + 1) : b->n;
	return first;
}

/* The bytes of a bucket of containers [from, to) of another. */
static size_t
part_size(const r64_env *env, const r64_bucket *b, uint32_t from, uint32_t to)
{
	size_t		first = r64_container_offset(env, b, from);
	size_t		last = r64_container_offset(env, b, to);

	return 4 + r64_bucket_header_size(to - from, b->run_flags != NULL) +
		(last > first ? last - first : 0);
}

/* The buckets from *from up to *to have all that an interval keeps. */
static void
find_buckets(const r64_index *index, uint64_t lo, uint64_t hi,
			 uint64_t *from, uint64_t *to)
{
	*from = r64_index_seek(index, R64_HIGH(lo));
	*to = R64_HIGH(hi) == UINT32_MAX ? index->n :
		r64_index_seek(index, R64_HIGH(hi) + 1);
}

/*
 * An upper bound of the bytes that a mask keeps.  Each interval may keep only
 * a small part of its first and its last bucket, which often are the same.
 */
static size_t
masked_size(const r64_set *s, const range_mask *m)
{
	const r64_index_entry *entries = s->index->entries;
	size_t		size = 0;

	for (int p = 0; p < m->n; p++)
	{
		range_mask	one = {.n = 1,.part = {m->part[p]}};
		r64_bucket	b;
		uint64_t	from;
		uint64_t	to;
		uint32_t	i;
		uint32_t	end;

		find_buckets(s->index, m->part[p].lo, m->part[p].hi, &from, &to);
		if (from >= to)
			continue;
		r64_bucket_open(s, entries[from].pos, &b);
		i = masked_containers(&one, &b, &end);
		size += part_size(s->env, &b, i, end);
		if (to - from == 1)
			continue;
		size += entries[to - 1].pos - (size_t) (b.end - s->bytes);
		r64_bucket_open(s, entries[to - 1].pos, &b);
		i = masked_containers(&one, &b, &end);
		size += part_size(s->env, &b, i, end);
	}
	return size;
}

static void
write_masked_bucket(r64_writer *w, const range_mask *m, const r64_bucket *b)
{
	uint32_t	end;
	uint32_t	i = masked_containers(m, b, &end);

	r64_writer_begin(w, b->high, end - i, b->run_flags != NULL);
	while (i < end)
	{
		uint32_t	first = i;
		coverage	cover;
		uint64_t	base;

		do
		{
			base = (uint64_t) b->high << 32 |
				(uint32_t) r64_bucket_key(b, i) << 16;
			cover = mask_covers(m, base, base | R64_LOW_MAX);
			if (cover != ALL)
				break;
		} while (++i < end);

		if (first < i)
			r64_writer_copy(w, b, first, i);
		if (i == end)
			break;
		if (cover == SOME)
		{
			r64_container c;

			r64_container_at(w->env, b, i, &c);
			write_masked_container(w, m, &c, base);
		}
		i++;
	}
	r64_writer_end(w);
}

/* The elements of s that a mask keeps. */
static r64_buf
apply_mask(r64_set *s, const range_mask *m)
{
	const r64_index *index;
	r64_writer	w;
	uint64_t	i = 0;
	uint64_t	end = 0;

	r64_index_set(s);
	index = s->index;
	if (m->n > 0)
		find_buckets(index, m->part[0].lo, m->part[m->n - 1].hi, &i, &end);

	r64_writer_init(&w, s->env, masked_size(s, m));
	while (i < end)
	{
		uint64_t	first = i;
		coverage	cover;

		do
		{
			uint64_t	base = (uint64_t) index->entries[i].high << 32;

			cover = mask_covers(m, base, base | UINT32_MAX);
			if (cover != ALL)
				break;
		} while (++i < end);

		if (first < i)
		{
			size_t		from = index->entries[first].pos;
			size_t		to = i == index->n ? s->size : index->entries[i].pos;

			r64_writer_buckets(&w, s->bytes + from, to - from, i - first);
		}
		if (i == end)
			break;
		if (cover == SOME)
		{
			r64_bucket	b;

			r64_bucket_open(s, index->entries[i].pos, &b);
			write_masked_bucket(&w, m, &b);
		}
		i++;
		r64_poll_every(s->env, i, 0xFFFF);
	}
	return r64_writer_finish(&w);
}

/* The mask that keeps [lo, hi], or all but that. */
static range_mask
make_mask(int64_t lo, int64_t hi, bool keep)
{
	range_mask	m = {0};
	uint64_t	ulo = (uint64_t) lo;
	uint64_t	uhi = (uint64_t) hi;

	if (lo > hi)
	{
		/* nothing, or everything */
		m.n = keep ? 0 : 1;
		m.part[0].hi = UINT64_MAX;
		return m;
	}
	/* of the unsigned values, [ulo, uhi] is in the middle or around the end */
	if ((ulo <= uhi) == keep)
	{
		m.n = 1;
		m.part[0].lo = keep ? ulo : uhi + 1;
		m.part[0].hi = keep ? uhi : ulo - 1;
		if (!keep && ulo == uhi + 1)
			m.n = 0;			/* all values are dropped */
		return m;
	}
	if (keep || ulo > 0)
	{
		m.part[m.n].lo = 0;
		m.part[m.n++].hi = keep ? uhi : ulo - 1;
	}
	if (keep || uhi < UINT64_MAX)
	{
		m.part[m.n].lo = keep ? ulo : uhi + 1;
		m.part[m.n++].hi = UINT64_MAX;
	}
	return m;
}

/* Returns a op [lo, hi] for any of the four operations. */
r64_buf
r64_combine_range(r64_op op, r64_set *a, int64_t lo, int64_t hi)
{
	range_mask	m;

	if (op == R64_OR || op == R64_XOR)
		return r64_merge_range(op, a, lo, hi);
	m = make_mask(lo, hi, op == R64_AND);
	return apply_mask(a, &m);
}

#define lengthof(array) (sizeof(array) / sizeof((array)[0]))

/* Adds container values that lie in [lo, hi], moved by delta, to a builder. */
static void
add_shifted(r64_builder *out, const r64_container *c, uint64_t base,
			uint64_t lo, uint64_t hi, uint64_t delta)
{
	uint32_t	from = base < lo ? R64_LOW(lo) : 0;
	uint32_t	to = (base | R64_LOW_MAX) > hi ? R64_LOW(hi) : R64_LOW_MAX;
	int64_t		values[512];
	size_t		n;

	if (c->type == R64_RUN)
	{
		int32_t		i = r64_find_run(c->data, c->nruns, from);

		for (i = i < 0 ? 0 : i; (uint32_t) i < c->nruns; i++)
		{
			uint32_t	start = r64_run_start(c->data, (uint32_t) i);
			uint32_t	end = start + r64_run_length(c->data, (uint32_t) i);

			if (start > to)
				break;
			if (start < from)
				start = from;
			if (end > to)
				end = to;
			if (start <= end)
				r64_builder_add(out, (base | start) + delta,
								(base | end) + delta);
		}
		return;
	}
	while ((n = r64_container_read(c, base, from, to, false, values,
								   lengthof(values))) > 0)
	{
		for (size_t i = 0; i < n; i++)
			r64_builder_add(out, (uint64_t) values[i] + delta,
							(uint64_t) values[i] + delta);
		if (R64_LOW(values[n - 1]) < from)
			r64_corrupt(out->w.env, "array values not ascending");
		from = (uint32_t) R64_LOW(values[n - 1]) + 1;
	}
}

/* Adds the elements in the unsigned interval [lo, hi], moved by delta. */
static void
shift_interval(r64_builder *out, r64_set *s, uint64_t lo, uint64_t hi,
			   uint64_t delta)
{
	uint64_t	i = r64_index_seek(s->index, R64_HIGH(lo));
	r64_bucket	b;
	r64_container c;

	for (; i < s->index->n && s->index->entries[i].high <= R64_HIGH(hi); i++)
	{
		r64_bucket_open(s, s->index->entries[i].pos, &b);
		for (uint32_t k = 0; k < b.n; k++)
		{
			uint64_t	base = (uint64_t) b.high << 32 |
				(uint32_t) r64_bucket_key(&b, k) << 16;

			if ((base | R64_LOW_MAX) < lo || base > hi)
				continue;
			r64_poll_every(s->env, k, 255);
			r64_container_at(s->env, &b, k, &c);
			add_shifted(out, &c, base, lo, hi, delta);
		}
	}
}

/*
 * Returns every element plus delta; fails with R64_OUT_OF_RANGE if one leaves
 * int64.
 *
 * The result is built in stored order: the results that are not negative come
 * first.  Seen from the elements, that is three unsigned intervals, taken in
 * the order of their results.
 */
r64_buf
r64_shift(r64_set *s, int64_t delta)
{
	r64_builder out;
	int64_t		lo;
	int64_t		hi;
	uint64_t	d = (uint64_t) delta;

	if (r64_min(s, &lo) && r64_max(s, &hi) &&
		(delta >= 0 ? hi > INT64_MAX - delta : lo < INT64_MIN - delta))
		s->env->fail(s->env->arg, R64_OUT_OF_RANGE, "shifted element out of range");

	r64_index_set(s);
	r64_builder_init(&out, s->env, s->size);
	if (delta >= 0)
	{
		/* first elements that pass zero, then non-negative, then negative */
		if (delta > 0)
			shift_interval(&out, s, -d, UINT64_MAX, d);
		shift_interval(&out, s, 0, INT64_MAX, d);
		shift_interval(&out, s, UINT64_C(1) << 63, -d - 1, d);
	}
	else
	{
		/* first elements that stay above zero, last elements that pass it */
		shift_interval(&out, s, -d, INT64_MAX, d);
		shift_interval(&out, s, UINT64_C(1) << 63, UINT64_MAX, d);
		shift_interval(&out, s, 0, -d - 1, d);
	}
	return r64_builder_finish(&out);
}
