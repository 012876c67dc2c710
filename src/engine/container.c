/*-------------------------------------------------------------------------
 *
 * container.c
 *	  Questions to one container, answered on the stored bytes.
 *
 * These functions do not need CRoaring's kernels.  They read a few bytes at any
 * address, whereas a kernel needs a container struct over aligned memory.
 *
 * A damaged container may hold values in any order.  Then the answers are wrong,
 * but every position stays within the container.
 *
 * src/engine/container.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"

static inline uint64_t
word_at(const r64_container *c, uint32_t i)
{
	return r64_load64(c->data + 8 * (size_t) i);
}

static inline uint16_t
value_at(const r64_container *c, uint32_t i)
{
	return r64_load16(c->data + 2 * (size_t) i);
}

/* Last value of run i; a damaged run is cut at the container's end. */
static inline uint32_t
run_end(const r64_container *c, uint32_t i)
{
	uint32_t	end = r64_run_last(c->data, i);

	return end > R64_LOW_MAX ? R64_LOW_MAX : end;
}

/*
 * Returns the position of the first of n ascending u16 values that is >= x,
 * or n if there is none.  It has no branch that depends on the values.
 */
static uint32_t
lower_bound(const uint8_t *values, uint32_t n, uint32_t x)
{
	uint32_t	lo = 0;

	R64_SEARCH(lo, n, at, r64_load16(values + 2 * (size_t) at) < x);
	return lo;
}

/* Returns the position of the last of n runs that starts at <= x, or -1. */
int32_t
r64_find_run(const uint8_t *runs, uint32_t n, uint32_t x)
{
	uint32_t	lo = 0;

	R64_SEARCH(lo, n, at, r64_run_start(runs, at) <= x);
	return (int32_t) lo - 1;
}

bool
r64_container_contains(const r64_container *c, uint32_t low)
{
	uint32_t	i;
	int32_t		run;

	switch (c->type)
	{
		case R64_ARRAY:
			i = lower_bound(c->data, c->card, low);
			return i < c->card && value_at(c, i) == low;
		case R64_BITSET:
			return (c->data[low / 8] >> (low % 8)) & 1;
		case R64_RUN:
			run = r64_find_run(c->data, c->nruns, low);
			return run >= 0 && low <= run_end(c, (uint32_t) run);
	}
	return false;
}

/* Counts the values < low; low may be 65536. */
uint32_t
r64_container_below(const r64_container *c, uint32_t low)
{
	uint32_t	sum = 0;

	switch (c->type)
	{
		case R64_ARRAY:
			return lower_bound(c->data, c->card, low);
		case R64_BITSET:
			for (uint32_t i = 0; i < low / 64; i++)
				sum += (uint32_t) __builtin_popcountll(word_at(c, i));
			if (low % 64 != 0)
				sum += (uint32_t)
					__builtin_popcountll(word_at(c, low / 64) << (64 - low % 64));
			return sum;
		case R64_RUN:
			for (uint32_t i = 0; i < c->nruns; i++)
			{
				uint32_t	start = r64_run_start(c->data, i);

				if (start >= low)
					break;
				sum += (run_end(c, i) < low ? run_end(c, i) + 1 : low) - start;
			}
			return sum;
	}
	return sum;
}

/* Returns the value that has n smaller ones, n < c->card. */
uint16_t
r64_container_select(const r64_container *c, uint32_t n)
{
	switch (c->type)
	{
		case R64_ARRAY:
			return value_at(c, n);
		case R64_BITSET:
			for (uint32_t i = 0; i < R64_BITSET_WORDS; i++)
			{
				uint64_t	word = word_at(c, i);
				uint32_t	bits = (uint32_t) __builtin_popcountll(word);

				if (n < bits)
				{
					while (n-- > 0)
						word &= word - 1;
					return (uint16_t) (i * 64 +
									   (uint32_t) __builtin_ctzll(word));
				}
				n -= bits;
			}
			break;
		case R64_RUN:
			for (uint32_t i = 0; i < c->nruns; i++)
			{
				uint32_t	start = r64_run_start(c->data, i);
				uint32_t	length = run_end(c, i) - start + 1;

				if (n < length)
					return (uint16_t) (start + n);
				n -= length;
			}
			break;
	}
	/* only if the header overstates a damaged container's cardinality */
	return R64_LOW_MAX;
}

/* The last of the consecutive bits that begin with low in a bitset. */
static uint32_t
bitset_run_end(const r64_container *c, uint32_t low)
{
	uint32_t	i = low / 64;
	uint64_t	gaps = ~word_at(c, i) & (~UINT64_C(0) << (low % 64));

	while (gaps == 0)
	{
		if (++i == R64_BITSET_WORDS)
			return R64_LOW_MAX;
		gaps = ~word_at(c, i);
	}
	i = i * 64 + (uint32_t) __builtin_ctzll(gaps);
	return i > low ? i - 1 : low;
}

/*
 * Returns the last of the consecutive values that begin with low, a value of
 * c.
 */
uint16_t
r64_container_run_end(const r64_container *c, uint32_t low)
{
	uint32_t	i;
	int32_t		run;

	switch (c->type)
	{
		case R64_ARRAY:
			i = lower_bound(c->data, c->card, low);
			while (i + 1 < c->card && value_at(c, i + 1) == low + 1)
			{
				i++;
				low++;
			}
			break;
		case R64_BITSET:
			low = bitset_run_end(c, low);
			break;
		case R64_RUN:
			run = r64_find_run(c->data, c->nruns, low);
			if (run >= 0 && run_end(c, (uint32_t) run) > low)
				low = run_end(c, (uint32_t) run);
			break;
	}
	return (uint16_t) low;
}

static size_t
read_array(const r64_container *c, uint64_t base, uint32_t lo, uint32_t hi,
		   bool reverse, int64_t *out, size_t n)
{
	uint32_t	from = lower_bound(c->data, c->card, lo);
	uint32_t	to = lower_bound(c->data, c->card, hi + 1);
	size_t		got = 0;

	if (!reverse)
		while (from < to && got < n)
			out[got++] = (int64_t) (base | value_at(c, from++));
	else
		while (from < to && got < n)
			out[got++] = (int64_t) (base | value_at(c, --to));
	return got;
}

static size_t
read_bitset(const r64_container *c, uint64_t base, uint32_t lo, uint32_t hi,
			bool reverse, int64_t *out, size_t n)
{
	uint32_t	first = lo / 64;
	uint32_t	last = hi / 64;
	size_t		got = 0;

	for (uint32_t k = 0; k <= last - first && got < n; k++)
	{
		uint32_t	i = reverse ? last - k : first + k;
		uint64_t	word = word_at(c, i);
		uint64_t	word_base = base | i * 64;

		if (i == first)
			word &= ~UINT64_C(0) << (lo % 64);
		if (i == last)
			word &= ~UINT64_C(0) >> (63 - hi % 64);
		if (!reverse)
			for (; word != 0 && got < n; word &= word - 1)
				out[got++] = (int64_t)
					(word_base + (uint64_t) __builtin_ctzll(word));
		else
			while (word != 0 && got < n)
			{
				uint64_t	bit = 63 - (uint64_t) __builtin_clzll(word);

				out[got++] = (int64_t) (word_base + bit);
				word ^= UINT64_C(1) << bit;
			}
	}
	return got;
}

static size_t
read_runs(const r64_container *c, uint64_t base, uint32_t lo, uint32_t hi,
		  bool reverse, int64_t *out, size_t n)
{
	int32_t		i = r64_find_run(c->data, c->nruns, reverse ? hi : lo);
	size_t		got = 0;

	if (i < 0 && !reverse)
		i = 0;
	while (i >= 0 && (uint32_t) i < c->nruns && got < n)
	{
		uint32_t	start = r64_run_start(c->data, (uint32_t) i);
		uint32_t	end = run_end(c, (uint32_t) i);

		if (reverse ? end < lo : start > hi)
			break;
		if (start < lo)
			start = lo;
		if (end > hi)
			end = hi;
		if (!reverse)
			for (; start <= end && got < n; start++)
				out[got++] = (int64_t) (base | start);
		else
			for (; end >= start && got < n; end--)
			{
				out[got++] = (int64_t) (base | end);
				if (end == 0)
					break;
			}
		i += reverse ? -1 : 1;
	}
	return got;
}

/*
 * Writes base + v for each value v in [lo, hi] to out, n at most, in
 * ascending or descending order.  Returns how many.
 */
size_t
r64_container_read(const r64_container *c, uint64_t base,
				   uint32_t lo, uint32_t hi, bool reverse,
				   int64_t *out, size_t n)
{
	if (lo > hi)
		return 0;
	switch (c->type)
	{
		case R64_ARRAY:
			return read_array(c, base, lo, hi, reverse, out, n);
		case R64_BITSET:
			return read_bitset(c, base, lo, hi, reverse, out, n);
		case R64_RUN:
			return read_runs(c, base, lo, hi, reverse, out, n);
	}
	return 0;
}

/* Returns the largest value, or 0 if a damaged container has none. */
uint16_t
r64_container_max(const r64_container *c)
{
	int64_t		value = 0;

	(void) r64_container_read(c, 0, 0, R64_LOW_MAX, true, &value, 1);
	return (uint16_t) value;
}
