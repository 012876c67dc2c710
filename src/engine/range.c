/*-------------------------------------------------------------------------
 *
 * range.c
 *	  A set cut by a range.
 *
 * Cutting copies whole buckets and containers, and works on two containers at most,
 * those with the ends of the range.  Two sets are combined in setops.c.
 *
 * src/engine/range.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "index.h"
#include "setops.h"

/*
 * Appends the result of op, an intersection or a difference, for container i of a
 * bucket.  lo and hi are the range's bounds, cut to those of the bucket.
 */
static void
cut_container(const r64_operation *op, r64_writer *w, const r64_bucket *b,
			  uint32_t i, uint32_t lo, uint32_t hi)
{
	uint16_t	key = r64_bucket_key(b, i);
	uint32_t	first = key == R64_KEY(lo) ? R64_LOW(lo) : 0;
	uint32_t	last = key == R64_KEY(hi) ? R64_LOW(hi) : R64_LOW_MAX;
	uint16_t	stored[3];
	r64_container c;
	r64_container range = {
		.key = key,
		.card = last - first + 1,
		.data = (const uint8_t *) stored
	};

	if (r64_prefers_runs(range.card, 1))
	{
		range.type = R64_RUN;
		range.nruns = 1;
		range.data += sizeof(uint16_t);
		stored[0] = 1;
		stored[1] = (uint16_t) first;
		stored[2] = (uint16_t) (last - first);
	}
	else
		for (uint32_t v = first; v <= last; v++)
			stored[v - first] = (uint16_t) v;
	r64_container_at(w->env, b, i, &c);
	r64_combine_containers(op, w, &c, &range);
}

/*
 * Appends the result of op for a bucket.  Only the first and the last container
 * that meet the range may lie in it partly.
 */
static void
cut_bucket(const r64_operation *op, r64_writer *w, const r64_bucket *b,
		   uint64_t range_lo, uint64_t range_hi)
{
	uint32_t	lo = R64_HIGH(range_lo) == b->high ? (uint32_t) range_lo : 0;
	uint32_t	hi = R64_HIGH(range_hi) == b->high ? (uint32_t) range_hi :
		UINT32_MAX;
	uint32_t	from = r64_bucket_seek(b, 0, R64_KEY(lo));
	uint32_t	to = r64_bucket_seek(b, from, (uint32_t) R64_KEY(hi) + 1);

	r64_writer_begin(w, b->high, op->keep_a ? b->n : to - from,
					 b->run_flags != NULL);
	if (op->keep_a && from > 0)
		r64_writer_copy(w, b, 0, from);
	if (from < to)
		cut_container(op, w, b, from, lo, hi);
	if (op->keep_both && from + 2 < to)
		r64_writer_copy(w, b, from + 1, to - 1);
	if (from + 1 < to)
		cut_container(op, w, b, to - 1, lo, hi);
	if (op->keep_a && to < b->n)
		r64_writer_copy(w, b, to, b->n);
	r64_writer_end(w);
}

/* Appends the buckets [from, to) of an indexed set as they are. */
static void
copy_buckets(r64_writer *w, const r64_set *s, uint64_t from, uint64_t to)
{
	const r64_index *index = s->index;
	size_t		start;
	size_t		end;

	if (from >= to)
		return;
	start = index->entries[from].pos;
	end = to == index->n ? s->size : index->entries[to].pos;
	r64_writer_buckets(w, s->bytes + start, end - start, to - from);
}

/*
 * Appends the result of op for the buckets of a set that can have elements of
 * [lo, hi], unsigned; before that, if op keeps them, the buckets from next on.
 * Returns the number of the first bucket after them.
 */
static uint64_t
cut_interval(const r64_operation *op, r64_writer *w, const r64_set *s,
			 uint64_t next, uint64_t lo, uint64_t hi)
{
	const r64_index *index = s->index;
	uint64_t	from = r64_index_seek(index, R64_HIGH(lo));
	uint64_t	to = R64_HIGH(hi) == UINT32_MAX ? index->n :
		r64_index_seek(index, R64_HIGH(hi) + 1);
	r64_bucket	b;

	if (op->keep_a)
		copy_buckets(w, s, next, from);
	if (from < to)
	{
		r64_bucket_open(s, index->entries[from].pos, &b);
		cut_bucket(op, w, &b, lo, hi);
	}
	if (from + 1 < to)
	{
		if (op->keep_both)
			copy_buckets(w, s, from + 1, to - 1);
		r64_bucket_open(s, index->entries[to - 1].pos, &b);
		cut_bucket(op, w, &b, lo, hi);
	}
	return to;
}

/* Returns s and [lo, hi], or s without that, lo <= hi. */
static r64_buf
cut(r64_op opcode, r64_set *s, int64_t lo, int64_t hi)
{
	r64_operation op = r64_get_operation(opcode);
	uint64_t	next = 0;
	r64_writer	w;

	r64_index_set(s);
	r64_writer_init(&w, s->env, op.keep_a ? s->size : R64_SINGLETON_SIZE);
	/* stored order is that of the unsigned values */
	if (hi >= 0)
		next = cut_interval(&op, &w, s, next, lo < 0 ? 0 : (uint64_t) lo,
							(uint64_t) hi);
	if (lo < 0)
		next = cut_interval(&op, &w, s, next, (uint64_t) lo,
							hi < 0 ? (uint64_t) hi : UINT64_MAX);
	if (op.keep_a)
		copy_buckets(&w, s, next, s->index->n);
	return r64_writer_finish(&w);
}

/* Returns a op [lo, hi], for a union or a symmetric difference. */
static r64_buf
combine_as_set(r64_op op, const r64_set *a, int64_t lo, int64_t hi)
{
	r64_range	range = {.lo = lo,.hi = hi};
	r64_env		env = *a->env;
	r64_buf		made;
	r64_set		b;
	r64_buf		result;

	/*
	 * The range may be larger than the result, as elements of a may cancel it
	 * out.  But each of its containers is one of a's or one of the result's,
	 * of the same size or, in a bucket of less than four, nearly so.
	 */
	env.max_size += 2 * a->size;
	made = r64_from_ranges(&env, &range, 1);
	b = r64_open_buf(&env, made);
	result = r64_combine(op, a, &b);
	env.release(made.base);
	return result;
}

/* Returns a op [lo, hi] for any of the four operations. */
r64_buf
r64_combine_range(r64_op op, r64_set *a, int64_t lo, int64_t hi)
{
	if (op == R64_OR || op == R64_XOR)
		return combine_as_set(op, a, lo, hi);
	if (lo <= hi)
		return cut(op, a, lo, hi);
	return op == R64_AND ? r64_from_values(a->env, NULL, 0) : r64_copy(a->env, a);
}
