/*-------------------------------------------------------------------------
 *
 * query.c
 *	  Order statistics and iteration, over an index of the buckets.
 *
 * In this file values are unsigned, as stored.  Signed order is the same circle,
 * entered at 2^63: a range of int64 is one interval of unsigned values, or two if
 * it contains both -1 and 0.  Questions that need no index are in reader.c.
 *
 * src/engine/query.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "index.h"

#define SIGN_BIT	(UINT64_C(1) << 63)
#define MAX_VALUE	UINT64_MAX

/*
 * Counts the elements < u, but not those in containers of its bucket before the
 * key first.
 */
static uint64_t
below(r64_set *s, uint64_t u, uint16_t first)
{
	uint64_t	i;
	uint64_t	sum;
	uint32_t	begin;
	uint32_t	k;
	r64_bucket	b;
	r64_container c;

	r64_index_set(s);
	i = r64_index_seek(s->index, R64_HIGH(u));
	if (i == s->index->n)
		return s->index->total;
	sum = s->index->entries[i].before;
	if (s->index->entries[i].high != R64_HIGH(u))
		return sum;
	r64_bucket_open(s, s->index->entries[i].pos, &b);
	begin = first == 0 ? 0 : r64_bucket_seek(&b, 0, first);
	k = r64_bucket_seek(&b, begin, R64_KEY(u));
	sum += r64_bucket_cards(&b, begin, k);
	if (k < b.n && r64_bucket_key(&b, k) == R64_KEY(u))
	{
		r64_container_at(s->env, &b, k, &c);
		sum += r64_container_below(&c, R64_LOW(u));
	}
	return sum;
}

/*
 * Counts the elements in [lo, hi].  The rank of v is the count of [min, v].  For
 * a range within one bucket the containers before it are not counted.
 */
uint64_t
r64_count_range(r64_set *s, int64_t lo, int64_t hi)
{
	uint64_t	end = (uint64_t) hi + 1;
	uint16_t	first = 0;
	uint64_t	sum;

	if (lo > hi)
		return 0;
	if ((uint64_t) lo < end && R64_HIGH(lo) == R64_HIGH(end))
		first = R64_KEY(lo);
	r64_index_set(s);
	sum = (end == 0 ? s->index->total : below(s, end, first)) -
		below(s, (uint64_t) lo, first);
	/* from a negative through zero: around the end of the stored order */
	return lo < 0 && hi >= 0 ? sum + s->index->total : sum;
}

/*
 * Finds the element with n smaller elements; returns false if there is none.
 */
bool
r64_select(r64_set *s, uint64_t n, int64_t *v)
{
	uint64_t	nonnegative = below(s, SIGN_BIT, 0);
	uint64_t	negative = s->index->total - nonnegative;
	uint64_t	i = 0;
	r64_bucket	b;
	r64_container c;

	if (n >= s->index->total)
		return false;
	/* position in stored order */
	n = n < negative ? nonnegative + n : n - negative;

	/* the last bucket with no more than n elements before it */
	R64_SEARCH(i, s->index->n, at, s->index->entries[at].before <= n);
	i--;
	r64_bucket_open(s, s->index->entries[i].pos, &b);
	n -= s->index->entries[i].before;
	for (uint32_t k = 0; k < b.n; k++)
	{
		uint32_t	card = r64_bucket_card(&b, k);

		if (n < card)
		{
			r64_container_at(s->env, &b, k, &c);
			*v = (int64_t) (r64_base(&b, c.key) |
							r64_container_select(&c, (uint32_t) n));
			return true;
		}
		n -= card;
	}
	r64_corrupt(s->env, "set changed after it was indexed");
}

/* Finds the smallest element >= v; returns false if there is none. */
bool
r64_next(r64_set *s, int64_t v, int64_t *found)
{
	return r64_read(s, v, INT64_MAX, false, found, 1) == 1;
}

/* Finds the largest element <= v; returns false if there is none. */
bool
r64_prev(r64_set *s, int64_t v, int64_t *found)
{
	return r64_read(s, INT64_MIN, v, true, found, 1) == 1;
}

/*
 * If u is an element, sets *end to the last of the consecutive elements that
 * begin with it. *end may be beyond limit, but no container beyond it is
 * read.
 */
static bool
run_from(r64_set *s, uint64_t u, uint64_t limit, uint64_t *end)
{
	uint64_t	i;
	uint32_t	k;
	r64_bucket	b;
	r64_container c;

	r64_index_set(s);
	if (!r64_index_find(s, u, &i, &b, &k))
		return false;
	r64_container_at(s->env, &b, k, &c);
	if (!r64_container_contains(&c, R64_LOW(u)))
		return false;

	for (;;)
	{
		uint64_t	next;

		*end = r64_base(&b, c.key) | r64_container_run_end(&c, R64_LOW(u));
		if (R64_LOW(*end) != R64_LOW_MAX || *end >= limit)
			return true;

		/*
		 * the run reaches the container's end: does it go on in the next one?
		 */
		next = *end + 1;
		k++;
		if (k == b.n)
		{
			if (++i == s->index->n)
				return true;
			s->env->poll();
			r64_bucket_open(s, s->index->entries[i].pos, &b);
			k = 0;
		}
		if (b.high != R64_HIGH(next) || r64_bucket_key(&b, k) != R64_KEY(next))
			return true;
		r64_container_at(s->env, &b, k, &c);
		if (!r64_container_contains(&c, 0))
			return true;
		u = next;
	}
}

/* The same in signed order, where 0 comes after -1; *end is at most limit. */
static bool
signed_run_from(r64_set *s, int64_t v, int64_t limit, int64_t *end)
{
	bool		through_zero = v < 0 && limit >= 0;
	uint64_t	u;

	if (v > limit ||
		!run_from(s, (uint64_t) v, through_zero ? MAX_VALUE : (uint64_t) limit,
				  &u))
		return false;
	if (through_zero && u == MAX_VALUE)
		(void) run_from(s, 0, (uint64_t) limit, &u);
	*end = (int64_t) u < limit ? (int64_t) u : limit;
	return true;
}

/*
 * Finds the smallest integer >= v that is not an element; returns false if
 * there is none.
 */
bool
r64_next_absent(r64_set *s, int64_t v, int64_t *found)
{
	int64_t		end;

	if (!signed_run_from(s, v, INT64_MAX, &end))
		*found = v;
	else if (end == INT64_MAX)
		return false;
	else
		*found = end + 1;
	return true;
}

/* Whether every integer in [lo, hi] is an element (true if lo > hi). */
bool
r64_contains_range(r64_set *s, int64_t lo, int64_t hi)
{
	int64_t		end;

	return lo > hi || (signed_run_from(s, lo, hi, &end) && end == hi);
}

/*
 * Finds the largest integer <= v that is not an element; returns false if there
 * is none.  It asks for ranges that double in length, and then halve.
 */
bool
r64_prev_absent(r64_set *s, int64_t v, int64_t *found)
{
	uint64_t	before = (uint64_t) v - (uint64_t) INT64_MIN;
	uint64_t	in = 0;			/* v - in is an element, all above it, too */
	uint64_t	more = 1;
	bool		grows = true;

	*found = v;
	if (!r64_contains(s, v))
		return true;
	while (more > 0)
	{
		if (more <= before - in &&
			r64_contains_range(s, (int64_t) ((uint64_t) v - in - more),
							   (int64_t) ((uint64_t) v - in)))
			in += more;
		else
			grows = false;
		more = grows ? more * 2 : more / 2;
	}
	*found = (int64_t) ((uint64_t) v - in - 1);
	return in < before;
}

/*
 * Finds the first maximal run of consecutive elements within [lo, hi],
 * clipped to it; returns false if there is none.
 */
bool
r64_next_run(r64_set *s, int64_t lo, int64_t hi, int64_t *first, int64_t *last)
{
	if (lo > hi || !r64_next(s, lo, first) || *first > hi)
		return false;
	*last = *first;
	(void) signed_run_from(s, *first, hi, last);
	return true;
}

/*
 * Reads elements of the unsigned interval [lo, hi].  Both loops run over
 * positions in the direction asked for: k counts the buckets (containers) that
 * can hold any.
 *
 * Callers continue after the last value returned.  A value out of range, which
 * only a damaged set can have, could make them continue forever.
 */
static size_t
read_interval(r64_set *s, uint64_t lo, uint64_t hi, bool reverse,
			  int64_t *out, size_t n)
{
	size_t		got = 0;
	uint64_t	first;
	uint64_t	end;

	r64_index_set(s);
	first = r64_index_seek(s->index, R64_HIGH(lo));
	end = R64_HIGH(hi) == UINT32_MAX ? s->index->n :
		r64_index_seek(s->index, R64_HIGH(hi) + 1);

	for (uint64_t k = 0; first + k < end && got < n; k++)
	{
		uint64_t	i = reverse ? end - 1 - k : first + k;
		uint32_t	from = 0;
		uint32_t	to;
		r64_bucket	b;

		r64_poll_every(s->env, k, 255);
		r64_bucket_open(s, s->index->entries[i].pos, &b);
		to = b.n;
		if (b.high == R64_HIGH(lo))
			from = r64_bucket_seek(&b, 0, R64_KEY(lo));
		if (b.high == R64_HIGH(hi))
			to = r64_bucket_seek(&b, 0, (uint32_t) R64_KEY(hi) + 1);
		for (uint32_t m = 0; from + m < to && got < n; m++)
		{
			r64_container c;
			uint64_t	base;
			size_t		more;

			r64_poll_every(s->env, m + 1, 63);
			r64_container_at(s->env, &b, reverse ? to - 1 - m : from + m, &c);
			base = r64_base(&b, c.key);
			more = r64_container_read(&c, base, base < lo ? R64_LOW(lo) : 0,
									  (base | R64_LOW_MAX) > hi ? R64_LOW(hi) :
									  R64_LOW_MAX,
									  reverse, out + got, n - got);
			got += more;
			if (R64_UNLIKELY(more > 0 && ((uint64_t) out[got - 1] < lo ||
										  (uint64_t) out[got - 1] > hi)))
				r64_corrupt(s->env, "elements not ascending");
		}
	}
	return got;
}

/*
 * Writes up to n elements in [lo, hi] to out, ascending from lo or, if
 * reverse, descending from hi.  Returns how many; if that is less than n,
 * there are no more.  To go on, call again with lo (hi) past the last one.
 */
size_t
r64_read(r64_set *s, int64_t lo, int64_t hi, bool reverse,
		 int64_t *out, size_t n)
{
	size_t		got;

	if (lo > hi)
		return 0;
	if (lo >= 0 || hi < 0)
		return read_interval(s, (uint64_t) lo, (uint64_t) hi, reverse,
							 out, n);
	if (!reverse)
	{
		got = read_interval(s, (uint64_t) lo, MAX_VALUE, false, out, n);
		return got + read_interval(s, 0, (uint64_t) hi, false,
								   out + got, n - got);
	}
	got = read_interval(s, 0, (uint64_t) hi, true, out, n);
	return got + read_interval(s, (uint64_t) lo, MAX_VALUE, true,
							   out + got, n - got);
}
