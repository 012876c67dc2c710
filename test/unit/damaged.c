/*-------------------------------------------------------------------------
 *
 * damaged.c
 *	  Where the damaged bytes of a numbered case come from: chance.
 *
 * test/unit/damaged.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "mutate.h"

#define PER_SET	16				/* cases that share one set */

static byte_string origin;
static uint64_t origin_number = UINT64_MAX;
static uint64_t origin_seed;

byte_string
mutate_case(uint64_t i)
{
	uint64_t	number = i / PER_SET;

	if (number != origin_number || unit_seed != origin_seed)
	{
		byte_string made;

		/* no case draws from this stream */
		unit_reseed(~unit_seed, number);
		made = mutate_seed();
		free(origin.bytes);
		origin.size = made.size;
		origin.bytes = malloc(made.size);
		if (origin.bytes == NULL)
			abort();
		memcpy(origin.bytes, made.bytes, made.size);
		origin_number = number;
		origin_seed = unit_seed;
	}
	unit_reseed(unit_seed, i);
	return mutate(origin);
}

byte_string
mutate_origin(void)
{
	return origin;
}
