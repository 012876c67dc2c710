/*-------------------------------------------------------------------------
 *
 * builder.c
 *	  Building a set from values or ranges that ascend.
 *
 * src/engine/builder.c
 *
 *-------------------------------------------------------------------------
 */
#include "builder.h"

/* Starts a set; expected_size is a guess at its size in bytes. */
void
r64_builder_init(r64_builder *b, const r64_env *env, size_t expected_size)
{
	r64_writer_init(&b->w, env, expected_size);
	b->bucket_open = false;
	b->container_open = false;
	b->expected = 1;
}

static void
end_container(r64_builder *b)
{
	uint16_t	key = (uint16_t) b->prefix;

	if (!b->container_open)
		return;
	if (b->is_bitset)
	{
		bitset_container_t view = {.words = b->bitset.w};

		r64_writer_bitset(&b->w, key, b->bitset.w, (uint32_t)
						  r64_kernel.bitset_container_compute_cardinality(&view));
	}
	else
		r64_writer_runs(&b->w, key, b->runs, b->nruns);
	b->container_open = false;
}

static void
end_bucket(r64_builder *b)
{
	end_container(b);
	if (!b->bucket_open)
		return;
	b->expected = b->w.n;
	r64_writer_end(&b->w);
	b->bucket_open = false;
}

/* Opens the container of a prefix, and its bucket if that is new. */
static void
begin_container(r64_builder *b, uint64_t prefix)
{
	uint32_t	high = (uint32_t) (prefix >> 16);

	end_container(b);
	if (!b->bucket_open || high != b->high)
	{
		end_bucket(b);
		b->w.env->poll(b->w.env->arg);
		r64_writer_begin(&b->w, high, b->expected, false);
		b->bucket_open = true;
		b->high = high;
	}
	b->container_open = true;
	b->is_bitset = false;
	b->prefix = prefix;
	b->nruns = 0;
}

static void
become_bitset(r64_builder *b)
{
	memset(b->bitset.w, 0, R64_BITSET_BYTES);
	r64_set_runs(b->bitset.w, b->runs, b->nruns);
	b->is_bitset = true;
}

/* Adds [start, end] to the open container. */
static inline void
add_run(r64_builder *b, uint32_t start, uint32_t end)
{
	if (!b->is_bitset && b->nruns > 0)
	{
		rle16_t    *last = &b->runs[b->nruns - 1];
		uint32_t	last_end = (uint32_t) last->value + last->length;

		if (start <= last_end + 1)
		{
			if (end > last_end)
				last->length = (uint16_t) (end - last->value);
			return;
		}
		if (b->nruns == R64_ARRAY_MAX)
			become_bitset(b);
	}
	if (b->is_bitset)
		bitset_set_lenrange(b->bitset.w, start, end - start);
	else
		b->runs[b->nruns++] = r64_make_run(start, end);
}

/*
 * Adds [lo, hi], unsigned, lo <= hi.  Each range must begin after the end of
 * the one before, or be a value that was just added.
 */
void
r64_builder_add(r64_builder *b, uint64_t lo, uint64_t hi)
{
	for (;;)
	{
		uint64_t	end = lo | UINT16_MAX;

		if (end > hi)
			end = hi;
		if (!b->container_open || b->prefix != lo >> 16)
			begin_container(b, lo >> 16);
		add_run(b, R64_LOW(lo), R64_LOW(end));
		if (end == hi)
			return;
		lo = end + 1;
	}
}

/* Returns the set. */
r64_buf
r64_builder_finish(r64_builder *b)
{
	end_bucket(b);
	return r64_writer_finish(&b->w);
}
