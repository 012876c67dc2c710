/*-------------------------------------------------------------------------
 *
 * interop.c
 *	  Sets to bytes and back with CRoaring's roaring64_bitmap_t.
 *
 * See ../run for what its arguments are and what it has to do.
 *
 * test/interop/c/interop.c
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <roaring/roaring64.h>

static int	status = 0;

/* The file of a folder, with an ending; the caller closes it. */
static FILE *
file_of(const char *folder, const char *name, const char *ending,
		const char *mode)
{
	char		path[4096];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending);
	file = fopen(path, mode);
	if (file == NULL)
	{
		perror(path);
		exit(2);
	}
	return file;
}

static void
write_bytes(const roaring64_bitmap_t *set, const char *folder,
			const char *name, const char *ending)
{
	size_t		size = roaring64_bitmap_portable_size_in_bytes(set);
	char	   *bytes = malloc(size);
	FILE	   *file = file_of(folder, name, ending, "wb");

	roaring64_bitmap_portable_serialize(set, bytes);
	if (fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
	{
		perror(name);
		exit(2);
	}
	free(bytes);
}

static void
write_set(const char *in, const char *out, const char *name)
{
	roaring64_bitmap_t *set = roaring64_bitmap_create();
	FILE	   *file = file_of(in, name, "", "r");
	uint64_t	first;
	uint64_t	last;

	while (fscanf(file, "%" SCNu64 " %" SCNu64, &first, &last) == 2)
	{
		if (last - first >= 100)
			roaring64_bitmap_add_range_closed(set, first, last);
		else
		{
			for (uint64_t i = 0; i <= last - first; i++)
				roaring64_bitmap_add(set, first + i);
		}
	}
	fclose(file);
	write_bytes(set, out, name, ".plain");
	roaring64_bitmap_run_optimize(set);
	write_bytes(set, out, name, ".optimized");
	roaring64_bitmap_free(set);
}

static roaring64_bitmap_t *
read_bytes(const char *folder, const char *name)
{
	FILE	   *file = file_of(folder, name, "", "rb");
	long		size;
	char	   *bytes;
	roaring64_bitmap_t *set;
	const char *trouble = "is refused";

	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t) size);
	if (size < 0 || fread(bytes, 1, (size_t) size, file) != (size_t) size)
	{
		perror(name);
		exit(2);
	}
	fclose(file);
	set = roaring64_bitmap_portable_deserialize_safe(bytes, (size_t) size);
	free(bytes);
	if (set == NULL || !roaring64_bitmap_internal_validate(set, &trouble))
	{
		fprintf(stderr, "%s: %s\n", name, trouble);
		status = 1;
		roaring64_bitmap_free(set);
		return NULL;
	}
	return set;
}

static void
read_set(const char *in, const char *out, const char *name)
{
	roaring64_bitmap_t *set = read_bytes(in, name);
	roaring64_iterator_t *it;
	FILE	   *file;
	uint64_t	first = 0;
	uint64_t	last = 0;

	if (set == NULL)
		return;
	file = file_of(out, name, "", "w");
	it = roaring64_iterator_create(set);
	for (bool any = false;; any = true)
	{
		bool		more = roaring64_iterator_has_value(it);
		uint64_t	value = more ? roaring64_iterator_value(it) : 0;

		if (any && more && value == last + 1)
			last = value;
		else
		{
			if (any)
				fprintf(file, "%" PRIu64 " %" PRIu64 "\n", first, last);
			first = last = value;
		}
		if (!more)
			break;
		roaring64_iterator_advance(it);
	}
	roaring64_iterator_free(it);
	roaring64_bitmap_free(set);
	fclose(file);
}

int
main(int argc, char **argv)
{
	bool		writing = argc == 5 && strcmp(argv[2], "write") == 0;
	DIR		   *folder;
	struct dirent *entry;

	if (argc != 5 || (!writing && strcmp(argv[2], "read") != 0))
	{
		fprintf(stderr, "usage: %s type read|write from to\n", argv[0]);
		return 2;
	}
	folder = opendir(argv[3]);
	if (folder == NULL)
	{
		perror(argv[3]);
		return 2;
	}
	while ((entry = readdir(folder)) != NULL)
	{
		if (entry->d_name[0] == '.')
			continue;
		if (writing)
			write_set(argv[3], argv[4], entry->d_name);
		else
			read_set(argv[3], argv[4], entry->d_name);
	}
	closedir(folder);
	return status;
}
