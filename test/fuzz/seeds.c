/*-------------------------------------------------------------------------
 *
 * seeds.c
 *	  Writes the files that fuzzing starts from.
 *
 *	usage: seeds folder
 *
 * folder/sets gets the bytes of random small sets, canonical or only legal,
 * and folder/chance random bytes of several lengths.  The same ones each time.
 *
 * test/fuzz/seeds.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"
#include "mutate.h"

#define SETS		96
#define SET_MAX		9000		/* bytes */
#define CHANCES		32

static void
write_file(const char *folder, const char *kind, int number,
		   const uint8_t *bytes, size_t size)
{
	char		path[1000];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s/%02d", folder, kind, number);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(bytes, 1, size, file) != size ||
		fclose(file) != 0)
	{
		perror(path);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	char	   *no_arguments[] = {argv[0], NULL};
	uint64_t	number = 0;

	if (argc != 2)
	{
		fprintf(stderr, "usage: %s folder\n", argv[0]);
		return 2;
	}
	unit_start("seeds for fuzzing", 0, 1, no_arguments);
	for (int i = 0; i < SETS;)
	{
		byte_string s;

		unit_numbered_case(number++);
		s = mutate_seed();
		if (s.size <= SET_MAX)
			write_file(argv[1], "sets", i++, s.bytes, s.size);
	}
	for (int i = 0; i < CHANCES; i++)
	{
		uint8_t		bytes[1024];
		size_t		size = (size_t) 32 << (i % 6);

		unit_numbered_case(number++);
		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t) unit_random();
		write_file(argv[1], "chance", i, bytes, size);
	}
	return unit_finish();
}
