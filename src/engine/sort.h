/*-------------------------------------------------------------------------
 *
 * sort.h
 *	  Sorting what has a prefix: values, or containers of many sets.
 *
 * src/engine/sort.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_SORT_H
#define R64_SORT_H

#include "format.h"

#define R64_DIGIT_BITS	11		/* counters fit the L1 cache */

/*
 * Sorts n items of so many words by their first word, without its low 16
 * bits, least significant digit first.  Passes over the items once per digit
 * in which they differ: for ids of one time or one table, that is one to
 * three of the six.  Items of the same prefix keep their order.  (Knuth, The
 * Art of Computer Programming 3, 5.2.5.)
 */
static R64_ALWAYS_INLINE void
r64_sort_prefixes(const r64_env *env, uint64_t *items, size_t n, size_t words)
{
	const uint64_t mask = (1 << R64_DIGIT_BITS) - 1;
	uint64_t   *from = items;
	uint64_t   *to;
	uint64_t   *spare;
	uint64_t	differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= items[0] ^ items[i * words];
	differ >>= 16;
	if (differ == 0)
		return;

	to = spare = env->alloc(env->arg, n * words * sizeof(uint64_t));
	for (int shift = 0; shift < 48 && differ >> shift != 0;
		 shift += R64_DIGIT_BITS)
	{
		size_t		count[1 << R64_DIGIT_BITS] = {0};
		size_t		start = 0;
		uint64_t   *swap = from;

		/* begin the digit at a bit that differs */
		shift += __builtin_ctzll(differ >> shift);
		env->poll(env->arg);
		for (size_t i = 0; i < n; i++)
			count[from[i * words] >> (16 + shift) & mask]++;
		for (uint64_t k = 0; k <= mask; k++)
		{
			size_t		here = count[k];

			count[k] = start;
			start += here;
		}
		for (size_t i = 0; i < n; i++)
		{
			size_t		at = count[from[i * words] >> (16 + shift) & mask]++;

			for (size_t k = 0; k < words; k++)
				to[at * words + k] = from[i * words + k];
		}
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, n * words * sizeof(uint64_t));
	env->release(env->arg, spare);
}

#endif							/* R64_SORT_H */
