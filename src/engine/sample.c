/*-------------------------------------------------------------------------
 *
 * sample.c
 *	  Elements drawn at random.
 *
 * Positions are drawn, and one pass over the headers finds the elements there.
 * The random numbers are those of SplitMix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", 2014), so that a seed means the same
 * everywhere.  They are not for secrets.
 *
 * src/engine/sample.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"

/* For this many positions in a container, listing all its elements is cheaper. */
#define MANY_POSITIONS	64

#define SPLITMIX64_STEP	UINT64_C(0x9E3779B97F4A7C15)

/*
 * Draws n distinct numbers below limit, ascending; n is at most half of it.
 * Draws again for numbers that it already has, so all subsets of n are
 * equally likely.
 */
static void
draw_positions(const r64_env *env, int64_t *out, size_t n, uint64_t limit,
			   uint64_t seed)
{
	uint64_t	mask = UINT64_MAX >> __builtin_clzll(limit);

	for (size_t have = 0; have < n;)
	{
		r64_buf		buf;
		r64_set		drawn;

		while (have < n)
		{
			uint64_t	number = r64_mix(seed += SPLITMIX64_STEP) & mask;

			r64_poll_every(env, have, 0xFFFF);
			if (number < limit)
				out[have++] = (int64_t) number;
		}
		buf = r64_from_values(env, out, n);
		drawn = r64_open_buf(env, buf);
		have = r64_read(&drawn, 0, INT64_MAX, false, out, n);
		r64_close(&drawn);
		env->release(buf.base);
	}
}

/*
 * Replaces positions, which ascend and count elements in stored order, by the
 * elements there.
 */
static void
read_positions(const r64_set *s, int64_t *positions, size_t n)
{
	const r64_env *env = s->env;
	int64_t    *listed = NULL;
	uint64_t	before = 0;		/* elements before the container */
	size_t		i = 0;
	r64_cursor	cur;

	for (r64_cursor_start(&cur, s); cur.live && i < n; r64_cursor_next(&cur))
	{
		for (uint32_t k = 0; k < cur.b.n && i < n; k++)
		{
			uint64_t	end = before + r64_bucket_card(&cur.b, k);
			size_t		first = i;
			uint64_t	base;
			r64_container c;

			r64_poll_every(env, k, 255);
			while (i < n && (uint64_t) positions[i] < end)
				i++;
			if (i > first)
			{
				r64_container_at(env, &cur.b, k, &c);
				base = r64_base(&cur.b, c.key);
				if (i - first >= MANY_POSITIONS)
				{
					if (listed == NULL)
						listed = env->alloc((R64_LOW_MAX + 1) * sizeof(int64_t));
					if (r64_container_read(&c, base, 0, R64_LOW_MAX, false,
										   listed, c.card) != c.card)
						r64_corrupt(env, "container with wrong cardinality");
					for (size_t p = first; p < i; p++)
						positions[p] = listed[(uint64_t) positions[p] - before];
				}
				else
					for (size_t p = first; p < i; p++)
						positions[p] = (int64_t)
							(base | r64_container_select(&c, (uint32_t)
														 ((uint64_t) positions[p] - before)));
			}
			before = end;
		}
	}
	if (listed != NULL)
		env->release(listed);
}

/*
 * Draws n elements at random, or all if there are not more; all subsets of n
 * are equally likely.  The same set, n and seed give the same sample.  Takes
 * 8 bytes per element that is drawn or left out, whichever are fewer.
 */
r64_buf
r64_sample(const r64_set *s, uint64_t n, uint64_t seed)
{
	const r64_env *env = s->env;
	uint64_t	total = r64_cardinality(s);
	bool		leave_out;
	int64_t    *drawn;
	r64_buf		buf;
	r64_buf		result;
	r64_set		rest;

	if (n >= total)
		return r64_copy(env, s);

	/* for more than half of the elements, draw the elements to leave out */
	leave_out = n > total / 2;
	if (leave_out)
		n = total - n;
	drawn = env->alloc((n > 0 ? n : 1) * sizeof(int64_t));
	draw_positions(env, drawn, n, total, seed);
	read_positions(s, drawn, n);
	buf = r64_from_values(env, drawn, n);
	env->release(drawn);
	if (!leave_out)
		return buf;
	rest = r64_open_buf(env, buf);
	result = r64_combine(R64_ANDNOT, s, &rest);
	env->release(buf.base);
	return result;
}
