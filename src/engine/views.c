/*-------------------------------------------------------------------------
 *
 * views.c
 *	  Stored containers as the structs that CRoaring's functions take.
 *
 * For functions that combine or count containers.  A question to one container is
 * answered on the stored bytes instead (container.c).
 *
 * src/engine/views.c
 *
 *-------------------------------------------------------------------------
 */
#include "views.h"

static inline bool
is_aligned(const void *p, size_t alignment)
{
	return ((uintptr_t) p & (alignment - 1)) == 0;
}

/*
 * Whether n values ascend.  This runs before every kernel call, so it works
 * on blocks of a fixed length, which compilers vectorize.
 */
#define BLOCK 32

static bool
is_ascending(const uint16_t *v, uint32_t n)
{
	uint32_t	i = 1;

	for (; i + BLOCK <= n; i += BLOCK)
	{
		const uint16_t *here = v + i;
		const uint16_t *before = v + i - 1;
		uint16_t	wrong = 0;

		for (int k = 0; k < BLOCK; k++)
			wrong += here[k] <= before[k];
		if (wrong > 0)
			return false;
	}
	for (; i < n; i++)
		if (v[i] <= v[i - 1])
			return false;
	return true;
}

/*
 * Like r64_view_array, but unchecked: for kernels that only count, and for
 * code that works on any values.  If the values are not in order they are
 * counted wrongly, but nothing beyond them is read.
 */
array_container_t
r64_view_array_unchecked(const r64_container *c, r64_values *scratch)
{
	array_container_t view = {
		.cardinality = (int32_t) c->card,
		.capacity = (int32_t) c->card
	};

	if (is_aligned(c->data, _Alignof(uint16_t)))
		view.array = (uint16_t *) (void *) (uintptr_t) c->data;
	else
		view.array = memcpy(scratch->v, c->data, 2 * (size_t) c->card);
	return view;
}

/*
 * Returns a stored array as kernels want it.  Data that is not aligned to its
 * element type is copied to the scratch; otherwise the view points into the
 * stored bytes.  Kernels write out of bounds if values do not ascend, so this
 * is checked.
 */
array_container_t
r64_view_array(const r64_env *env, const r64_container *c, r64_values *scratch)
{
	array_container_t view = r64_view_array_unchecked(c, scratch);

	if (R64_UNLIKELY(!is_ascending(view.array, c->card)))
		r64_corrupt(env, "array values not ascending");
	return view;
}

/*
 * Returns a stored bitset as kernels want it, copied to the scratch if it is
 * not aligned.
 */
bitset_container_t
r64_view_bitset(const r64_container *c, r64_words *scratch)
{
	bitset_container_t view = {.cardinality = (int32_t) c->card};

	if (is_aligned(c->data, _Alignof(uint64_t)))
		view.words = (uint64_t *) (void *) (uintptr_t) c->data;
	else
		view.words = memcpy(scratch->w, c->data, R64_BITSET_BYTES);
	return view;
}

/* Whether a run begins where the one before ends, or earlier. */
static inline bool
touches(const uint8_t *run)
{
	/* read as words, or they would not be vectorized */
	uint32_t	before = r64_load32(run - 4);
	uint32_t	here = r64_load32(run);

	return (here & UINT16_MAX) <= (before & UINT16_MAX) + (before >> 16) + 1;
}

/* Fails if the runs of a container do not ascend or leave the container. */
void
r64_check_runs(const r64_env *env, const r64_container *c)
{
	uint32_t	i = 1;
	uint32_t	wrong = 0;

	if (c->nruns > R64_RUNS_MAX)
		r64_corrupt(env, "run container with too many runs");
	for (; i + BLOCK <= c->nruns; i += BLOCK)
		for (uint32_t k = 0; k < BLOCK; k++)
			wrong += touches(c->data + 4 * (size_t) (i + k));
	for (; i < c->nruns; i++)
		wrong += touches(c->data + 4 * (size_t) i);
	if (wrong > 0)
		r64_corrupt(env, "runs not ascending");
	if (c->nruns > 0 && r64_run_last(c->data, c->nruns - 1) > UINT16_MAX)
		r64_corrupt(env, "run exceeds 65535");
}

/* Like r64_view_runs, but unchecked, as r64_view_array_unchecked is. */
run_container_t
r64_view_runs_unchecked(const r64_env *env, const r64_container *c,
						r64_run_list *scratch)
{
	run_container_t view = {
		.n_runs = (int32_t) c->nruns,
		.capacity = (int32_t) c->nruns
	};

	if (is_aligned(c->data, _Alignof(rle16_t)))
		view.runs = (rle16_t *) (void *) (uintptr_t) c->data;
	else
	{
		if (c->nruns > R64_RUNS_MAX)
			r64_corrupt(env, "run container with too many runs");
		view.runs = memcpy(scratch->r, c->data, 4 * (size_t) c->nruns);
	}
	return view;
}

/*
 * Returns stored runs as kernels want them, copied to the scratch if they are
 * not aligned.  Kernels write out of bounds if runs do not ascend or leave
 * the container, so this is checked.
 */
run_container_t
r64_view_runs(const r64_env *env, const r64_container *c, r64_run_list *scratch)
{
	r64_check_runs(env, c);
	return r64_view_runs_unchecked(env, c, scratch);
}

/* Returns an array or run container as runs, always copied. */
run_container_t
r64_copy_as_runs(const r64_env *env, const r64_container *c, r64_run_list *scratch)
{
	run_container_t view = {.capacity = R64_SCRATCH_RUNS,.runs = scratch->r};
	int32_t		n = 0;

	if (c->type == R64_RUN)
	{
		run_container_t stored = r64_view_runs(env, c, scratch);

		if (stored.runs != scratch->r)
			memcpy(scratch->r, stored.runs, 4 * (size_t) c->nruns);
		view.n_runs = (int32_t) c->nruns;
		return view;
	}
	for (uint32_t i = 0; i < c->card; i++)
	{
		uint16_t	v = r64_load16(c->data + 2 * (size_t) i);
		int32_t		next = n == 0 ? 0 :
			scratch->r[n - 1].value + scratch->r[n - 1].length + 1;

		if (R64_UNLIKELY(v < next))
			r64_corrupt(env, "array values not ascending");
		if (n > 0 && v == next)
			scratch->r[n - 1].length++;
		else
			scratch->r[n++] = r64_make_run(v, v);
	}
	view.n_runs = n;
	return view;
}

/*
 * Sets the values of n stored runs.  If n exceeds R64_FEW_RUNS, all words must be
 * zero, and so must one word more.
 *
 * Where runs are many, filling one after the other would spend its time on
 * branches that nobody can predict.  Instead, subtract the first bit of each
 * run and add the bit that follows the last one, as if the words were one long
 * number: 2^end - 2^start has all bits of a run.  A second pass subtracts what a
 * word borrows from the next one.
 */
void
r64_set_runs(const r64_env *env, uint64_t *words, const uint8_t *runs, uint32_t n)
{
	uint32_t	after = 0;		/* first value that the next run may have */
	uint64_t	word = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	start = r64_run_start(runs, i);
		uint32_t	end = start + r64_run_length(runs, i) + 1;

		if (R64_UNLIKELY(start < after))
			r64_corrupt(env, "runs not ascending");
		if (R64_UNLIKELY(end > R64_BITSET_WORDS * 64))
			r64_corrupt(env, "run exceeds 65535");
		after = end + 1;
		if (n <= R64_FEW_RUNS)
			bitset_set_lenrange(words, start, end - 1 - start);
		else
		{
			words[start / 64] -= UINT64_C(1) << (start % 64);
			words[end / 64] += UINT64_C(1) << (end % 64);
		}
	}
	if (n > R64_FEW_RUNS)
		for (uint32_t i = 0; i < R64_BITSET_WORDS; i++)
		{
			/* a run goes on if the last bit before is set */
			word = words[i] - (word >> 63);
			words[i] = word;
		}
}

/* Returns any container as a bitset, always copied. */
bitset_container_t
r64_copy_as_bitset(const r64_env *env, const r64_container *c, r64_words *scratch)
{
	bitset_container_t view = {
		.cardinality = (int32_t) c->card,
		.words = scratch->w
	};

	if (c->type == R64_BITSET)
	{
		memcpy(scratch->w, c->data, R64_BITSET_BYTES);
		return view;
	}
	memset(scratch->w, 0, R64_BITSET_BYTES + sizeof(uint64_t));
	if (c->type == R64_ARRAY)
		r64_set_values(scratch->w, c->data, c->card);
	else
		r64_set_runs(env, scratch->w, c->data, c->nruns);
	return view;
}
