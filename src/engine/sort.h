/*-------------------------------------------------------------------------
 *
 * sort.h
 *	  Sorting items of several words by the high bits of their first.
 *
 * For the engine's own lists.  Others sort numbers with r64_sort().
 *
 * src/engine/sort.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_SORT_H
#define R64_SORT_H

#include "format.h"

#define R64_DIGIT_BITS	11		/* counters fit the L1 cache */

#define R64_INSERTION_MAX 48	/* below that, insertion sort is faster */
#define R64_POLLED		65536	/* items passed between two polls */

/*
 * Sorts n items of some words each by their first word without its lowest bits,
 * low of them, least significant digit first.  Passes over the items once per
 * digit in which they differ: for ids of one time or one table, that is one to
 * three of the six.  Items that compare equal keep their order.  (Knuth, The
 * Art of Computer Programming 3, 5.2.5.)
 *
 * If it fails, all items are there, in some order.
 */
static R64_ALWAYS_INLINE void
r64_sort_items(const r64_env *env, uint64_t *items, size_t n, size_t words,
			   int low)
{
	const uint64_t mask = (1 << R64_DIGIT_BITS) - 1;
	uint64_t   *from = items;
	uint64_t   *to;
	uint64_t   *spare;
	uint64_t	differ = 0;
	bool		in_order = true;

	for (size_t i = 1; i < n; i++)
	{
		in_order &= items[(i - 1) * words] >> low <= items[i * words] >> low;
		differ |= items[0] ^ items[i * words];
	}
	if (in_order)
		return;
	if (n <= R64_INSERTION_MAX)
	{
		for (size_t i = 1; i < n; i++)
			for (size_t j = i * words; j > 0 &&
				 items[j - words] >> low > items[j] >> low; j -= words)
				for (size_t k = j; k < j + words; k++)
				{
					uint64_t	swap = items[k];

					items[k] = items[k - words];
					items[k - words] = swap;
				}
		return;
	}
	differ >>= low;
	to = spare = env->alloc(n * words * sizeof(uint64_t));
	for (int shift = 0; shift < 64 - low && differ >> shift != 0;
		 shift += R64_DIGIT_BITS)
	{
		size_t		count[1 << R64_DIGIT_BITS] = {0};
		size_t		start = 0;
		uint64_t   *swap = from;

		/* begin the digit at a bit that differs */
		shift += __builtin_ctzll(differ >> shift);
		env->poll();
		for (size_t i = 0; i < n; i++)
			count[from[i * words] >> low >> shift & mask]++;
		for (uint64_t k = 0; k <= mask; k++)
		{
			size_t		here = count[k];

			count[k] = start;
			start += here;
		}
		for (size_t i = 0, end; i < n; i = end)
		{
			/* a poll that fails must not lose items: they may be used again */
			if (to == spare)
				env->poll();
			end = n - i < R64_POLLED ? n : i + R64_POLLED;
			for (size_t j = i; j < end; j++)
			{
				size_t		at = count[from[j * words] >> low >> shift & mask]++;

				for (size_t k = 0; k < words; k++)
					to[at * words + k] = from[j * words + k];
			}
		}
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * words * sizeof(uint64_t));
	env->release(spare);
}

#endif							/* R64_SORT_H */
