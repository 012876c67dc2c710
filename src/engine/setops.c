/*-------------------------------------------------------------------------
 *
 * setops.c
 *	  Union, intersection, difference and symmetric difference of two sets.
 *
 * One streaming merge serves all four: read both sets bucket by bucket and
 * container by container, copy what only one side has if the operation keeps it,
 * and combine what both have.  Nothing is decoded, and long stretches of one side
 * are copied at once, so that adding one value to a set costs a search for its
 * container and a memcpy.
 *
 * r64_get_operation() has all that differs between the operations; the merge and
 * the choice of a kernel by container types do not know which one it is.  Ranges
 * are in range.c, and many sets at once in merge.c.
 *
 * src/engine/setops.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "setops.h"

/* The kernels are known only at run time, so the table is filled per call. */
r64_operation
r64_get_operation(r64_op op)
{
	r64_operation o = {.code = op};

	switch (op)
	{
		case R64_OR:
			o.keep_a = true;
			o.keep_b = true;
			o.keep_both = true;
			o.arrays = r64_kernel.array_container_union;
			o.bitsets = r64_kernel.bitset_container_or;
			o.runs = r64_kernel.run_container_union;
			break;
		case R64_AND:
			o.keep_both = true;
			o.arrays = r64_kernel.array_container_intersection;
			o.bitsets = r64_kernel.bitset_container_and;
			o.runs = r64_kernel.run_container_intersection;
			o.filter_by_bitset =
				r64_kernel.array_bitset_container_intersection;
			o.filter_by_runs = r64_kernel.array_run_container_intersection;
			break;
		case R64_ANDNOT:
			o.keep_a = true;
			o.arrays = r64_kernel.array_container_andnot;
			o.bitsets = r64_kernel.bitset_container_andnot;
			o.runs = r64_kernel.run_container_andnot;
			o.filter_by_bitset = r64_kernel.array_bitset_container_andnot;
			o.filter_by_runs = r64_kernel.array_run_container_andnot;
			break;
		case R64_XOR:
			o.keep_a = true;
			o.keep_b = true;
			o.arrays = r64_kernel.array_container_xor;
			o.bitsets = r64_kernel.bitset_container_xor;
			o.runs = r64_kernel.run_container_xor;
			break;
	}
	return o;
}

/*
 * The runs of a run container, or of an array at most.  If two containers have
 * more than three quarters of the most runs, bitsets are faster.
 */
static inline uint32_t
weight(const r64_container *c)
{
	return c->type == R64_RUN ? c->nruns : c->card;
}

/* The last value of a run. */
static inline uint32_t
run_last(rle16_t run)
{
	return (uint32_t) run.value + run.length;
}

/*
 * Unites a run container with few runs: searches for the position of each, and
 * copies the runs in between.  Returns the number of runs of the union.  No
 * kernel sees the container, so its order need not be checked.
 */
static uint32_t
insert_runs(const r64_container *c, const run_container_t *few, rle16_t *out)
{
	uint32_t	n = 0;
	uint32_t	i = 0;

	for (int32_t j = 0; j < few->n_runs; j++)
	{
		uint32_t	start = few->runs[j].value;
		uint32_t	last = run_last(few->runs[j]);
		uint32_t	pos = i;

		/* the first run that overlaps or touches this one, or is behind it */
		R64_SEARCH(pos, c->nruns - i, at,
				   r64_run_last(c->data, at) + 1 < start);
		memcpy(out + n, c->data + 4 * (size_t) i, 4 * (size_t) (pos - i));
		n += pos - i;
		/* the run before, once united, may reach this one */
		if (n > 0 && run_last(out[n - 1]) + 1 >= start)
		{
			start = out[--n].value;
			if (last < run_last(out[n]))
				last = run_last(out[n]);
		}
		for (i = pos; i < c->nruns && r64_run_start(c->data, i) <= last + 1; i++)
		{
			if (start > r64_run_start(c->data, i))
				start = r64_run_start(c->data, i);
			if (last < r64_run_last(c->data, i))
				last = r64_run_last(c->data, i);
		}
		out[n++] = r64_make_run(start, last);
	}
	memcpy(out + n, c->data + 4 * (size_t) i, 4 * (size_t) (c->nruns - i));
	return n + c->nruns - i;
}

/* Array and run containers, at least one of them a run container. */
static void
combine_runs(const r64_operation *op, r64_writer *w,
			 const r64_container *a, const r64_container *b)
{
	r64_run_list scratch_a;
	r64_run_list scratch_b;
	r64_run_list result;
	run_container_t x = r64_copy_as_runs(w->env, a, &scratch_a);
	run_container_t y = r64_copy_as_runs(w->env, b, &scratch_b);
	run_container_t out = {.capacity = R64_SCRATCH_RUNS,.runs = result.r};

	op->runs(&x, &y, &out);
	r64_writer_runs(w, a->key, out.runs, (uint32_t) out.n_runs);
}

/* A union searches for runs if the other side has this many times as many. */
#define RUNS_RATIO 8

/* Unites a run container with one of few runs; false if they are others. */
static bool
unite_few(const r64_operation *op, r64_writer *w,
		  const r64_container *c, const r64_container *few)
{
	r64_run_list scratch;
	r64_run_list result;
	run_container_t y;

	if (op->code != R64_OR || c->type != R64_RUN || few->type == R64_BITSET ||
		c->nruns / RUNS_RATIO <= weight(few) || c->nruns > R64_RUNS_MAX)
		return false;
	y = r64_copy_as_runs(w->env, few, &scratch);
	r64_writer_runs(w, c->key, result.r, insert_runs(c, &y, result.r));
	return true;
}

/*
 * Two arrays, together small enough for an array, or an array filtered by b: the
 * operation keeps its values in b, or not in b.
 */
static void
combine_array(const r64_operation *op, r64_writer *w,
			  const r64_container *a, const r64_container *b)
{
	r64_values	scratch_a;
	r64_values	result;
	array_container_t x = r64_view_array(w->env, a, &scratch_a);
	array_container_t out = {
		.capacity = 2 * R64_ARRAY_MAX,
		.array = result.v
	};

	if (b->type == R64_ARRAY)
	{
		r64_values	scratch_b;
		array_container_t y = r64_view_array(w->env, b, &scratch_b);

		op->arrays(&x, &y, &out);
	}
	else if (b->type == R64_BITSET)
	{
		r64_words	scratch_b;
		bitset_container_t y = r64_view_bitset(b, &scratch_b);

		op->filter_by_bitset(&x, &y, &out);
	}
	else
	{
		r64_run_list scratch_b;
		run_container_t y = r64_view_runs(w->env, b, &scratch_b);

		op->filter_by_runs(&x, &y, &out);
	}
	r64_writer_array(w, a->key, out.array, (uint32_t) out.cardinality);
}

/* Two containers that are best combined as bitsets. */
static void
combine_bitsets(const r64_operation *op, r64_writer *w,
				const r64_container *a, const r64_container *b)
{
	/*
	 * Each of the three is a little longer than two pages.  With the result
	 * first, a store never has the same page offset as the next load, which
	 * would make the processor delay that load.
	 */
	struct
	{
		r64_words	result;
		r64_words	a;
		r64_words	b;
	}			words;
	bitset_container_t x = r64_view_as_bitset(w->env, a, &words.a);
	bitset_container_t y = r64_view_as_bitset(w->env, b, &words.b);
	bitset_container_t out = {.words = words.result.w};
	int			card = op->bitsets(&x, &y, &out);

	r64_writer_bitset(w, a->key, out.words, (uint32_t) card);
}

/* Appends all values that an array lacks. */
static void
complement_array(r64_writer *w, const r64_container *c)
{
	r64_values	scratch;
	r64_run_list runs;
	array_container_t x = r64_view_array(w->env, c, &scratch);
	uint32_t	n = 0;
	uint32_t	start = 0;

	for (uint32_t i = 0; i < c->card; i++)
	{
		runs.r[n] = r64_make_run(start, x.array[i] - 1U);
		n += x.array[i] > start;
		start = x.array[i] + 1U;
	}
	if (start <= R64_LOW_MAX)
		runs.r[n++] = r64_make_run(start, R64_LOW_MAX);
	r64_writer_runs(w, c->key, runs.r, n);
}

/*
 * Combines a container that has all values with another one, if the result is
 * one of the two, nothing, or the complement of an array, for which CRoaring's
 * kernel takes three times as long; otherwise returns false.  keep_rest says
 * whether the values that the other one lacks stay.
 */
static bool
combine_full(const r64_operation *op, r64_writer *w, const r64_container *full,
			 const r64_container *other, bool keep_rest)
{
	if (op->keep_both)
		r64_writer_container(w, keep_rest ? full : other);
	else if (keep_rest && other->type == R64_ARRAY)
		complement_array(w, other);
	else
		return !keep_rest;
	return true;
}

/*
 * Combines two containers of any size.  How depends on their types; the sides
 * of an intersection are swapped to have fewer cases.
 */
static void
combine_large(const r64_operation *op, r64_writer *w,
			  const r64_container *a, const r64_container *b)
{
	bool		filters = !op->keep_b;

	if ((r64_container_is_full(a) && combine_full(op, w, a, b, op->keep_a)) ||
		(r64_container_is_full(b) && combine_full(op, w, b, a, op->keep_b)))
		return;
	if (unite_few(op, w, a, b) || unite_few(op, w, b, a))
		return;
	if (a->type == R64_ARRAY &&
		(filters ||
		 (b->type == R64_ARRAY && a->card + b->card <= R64_ARRAY_MAX)))
		combine_array(op, w, a, b);
	else if (filters && !op->keep_a && b->type == R64_ARRAY)
		combine_array(op, w, b, a);
	/* two arrays that are too large for one have too many runs, too */
	else if (a->type != R64_BITSET && b->type != R64_BITSET &&
			 (!op->keep_a || weight(a) + weight(b) <= R64_RUNS_MAX * 3 / 4))
		combine_runs(op, w, a, b);
	else
		combine_bitsets(op, w, a, b);
}

/*
 * Merges two arrays of at most TINY values in total.  Sets of sparse ids
 * consist of such arrays, and calling a kernel would cost more than the work.
 */
#define TINY 16

static inline void
combine_tiny(const r64_operation *op, r64_writer *w,
			 const r64_container *a, const r64_container *b)
{
	uint16_t	out[TINY];
	uint32_t	n = 0;
	uint32_t	i = 0;
	uint32_t	j = 0;

	while (i < a->card && j < b->card)
	{
		uint16_t	x = r64_load16(a->data + 2 * (size_t) i);
		uint16_t	y = r64_load16(b->data + 2 * (size_t) j);

		out[n] = x < y ? x : y;
		n += x < y ? op->keep_a : y < x ? op->keep_b : op->keep_both;
		i += x <= y;
		j += y <= x;
	}
	if (op->keep_a)
		while (i < a->card)
			out[n++] = r64_load16(a->data + 2 * (size_t) i++);
	if (op->keep_b)
		while (j < b->card)
			out[n++] = r64_load16(b->data + 2 * (size_t) j++);

	r64_writer_array(w, a->key, out, n);
}

/* Combines two containers of the same key and appends the result. */
void
r64_combine_containers(const r64_operation *op, r64_writer *w,
					   const r64_container *a, const r64_container *b)
{
	if (a->type == R64_ARRAY && b->type == R64_ARRAY &&
		a->card + b->card <= TINY)
		combine_tiny(op, w, a, b);
	else
		combine_large(op, w, a, b);
}

/* An upper bound of the containers of a merged bucket. */
static uint32_t
merged_containers(const r64_operation *op, const r64_bucket *a, const r64_bucket *b)
{
	if (op->keep_b)
		return a->n + b->n;
	return op->keep_a || a->n < b->n ? a->n : b->n;
}

static void
merge_buckets(const r64_operation *op, r64_writer *w,
			  const r64_bucket *a, const r64_bucket *b)
{
	const r64_env *env = w->env;
	uint32_t	i = 0;
	uint32_t	j = 0;
	uint32_t	next;
	r64_container x;
	r64_container y;

	env->poll();
	r64_writer_begin(w, a->high, merged_containers(op, a, b),
					 a->run_flags != NULL || b->run_flags != NULL);
	while (i < a->n && j < b->n)
	{
		uint16_t	key_a = r64_bucket_key(a, i);
		uint16_t	key_b = r64_bucket_key(b, j);

		if (key_a < key_b)
		{
			next = r64_bucket_seek(a, i, key_b);
			if (op->keep_a)
				r64_writer_copy(w, a, i, next);
			i = next;
		}
		else if (key_a > key_b)
		{
			next = r64_bucket_seek(b, j, key_a);
			if (op->keep_b)
				r64_writer_copy(w, b, j, next);
			j = next;
		}
		else
		{
			r64_container_at(env, a, i++, &x);
			r64_container_at(env, b, j++, &y);
			r64_combine_containers(op, w, &x, &y);
			r64_poll_every(env, i, 63);
		}
	}
	if (op->keep_a && i < a->n)
		r64_writer_copy(w, a, i, a->n);
	if (op->keep_b && j < b->n)
		r64_writer_copy(w, b, j, b->n);
	r64_writer_end(w);
}

/*
 * Passes the buckets from a live cursor on whose high half is below limit (all
 * of them, if there is no limit), and copies them if keep says so.
 */
void
r64_pass_buckets(r64_writer *w, r64_cursor *cur, bool keep, const uint32_t *limit)
{
	const r64_set *s = cur->set;
	const uint8_t *from = cur->b.start;
	const uint8_t *to = s->bytes + s->size;
	uint64_t	n = 0;

	if (limit == NULL)
	{
		/* no need to look at the rest: copy it as it is */
		n = cur->remaining + 1;
		cur->live = false;
	}
	else
	{
		while (cur->live && cur->b.high < *limit)
		{
			to = cur->b.end;
			n++;
			r64_cursor_next(cur);
		}
	}
	if (keep)
		r64_writer_buckets(w, from, (size_t) (to - from), n);
}

/* Returns a op b, in memory of a->env. */
r64_buf
r64_combine(r64_op opcode, const r64_set *a, const r64_set *b)
{
	r64_operation op = r64_get_operation(opcode);
	r64_cursor	x;
	r64_cursor	y;
	r64_writer	w;
	size_t		expected = op.keep_a || a->size < b->size ? a->size : b->size;

	/*
	 * A guess.  A result can be larger, since a difference can cut runs
	 * apart; then the writer grows.
	 */
	if (op.keep_b)
		expected += b->size;
	r64_writer_init(&w, a->env, expected);
	r64_cursor_start(&x, a);
	r64_cursor_start(&y, b);
	while (x.live && y.live)
	{
		if (x.b.high < y.b.high)
			r64_pass_buckets(&w, &x, op.keep_a, &y.b.high);
		else if (x.b.high > y.b.high)
			r64_pass_buckets(&w, &y, op.keep_b, &x.b.high);
		else
		{
			merge_buckets(&op, &w, &x.b, &y.b);
			r64_cursor_next(&x);
			r64_cursor_next(&y);
		}
	}
	if (x.live)
		r64_pass_buckets(&w, &x, op.keep_a, NULL);
	if (y.live)
		r64_pass_buckets(&w, &y, op.keep_b, NULL);
	return r64_writer_finish(&w);
}

/* Returns a copy of the bytes, in memory of env. */
r64_buf
r64_copy(const r64_env *env, const r64_set *s)
{
	r64_writer	w;

	r64_writer_init(&w, env, s->size);
	r64_writer_buckets(&w, s->bytes + R64_HEADER_SIZE,
					   s->size - R64_HEADER_SIZE, r64_bucket_count(s));
	return r64_writer_finish(&w);
}
