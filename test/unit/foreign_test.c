/*-------------------------------------------------------------------------
 *
 * foreign_test.c
 *	  Files that other implementations wrote, against their manifest.
 *
 * The files are those of shared/testdata, and what is to be made of them is in
 * the tables of its MANIFEST.md.  The folder is looked for beside the
 * repository's, or where the environment variable R64_SHARED says, and passed
 * over if it is not there.
 *
 * Run it in the root of the repository.  It takes no arguments.
 *
 * test/unit/foreign_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "oracle.h"

static char shared[1000];

/* A whole file, in memory of the case; NULL if there is none. */
static uint8_t *
slurp(const char *name, size_t *size)
{
	char		path[2000];
	FILE	   *file;
	uint8_t    *bytes;
	long		length;

	snprintf(path, sizeof(path), "%s/testdata/%s", shared, name);
	file = fopen(path, "rb");
	if (file == NULL)
		return NULL;
	if (fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0 ||
		fseek(file, 0, SEEK_SET) != 0)
		abort();
	*size = (size_t) length;
	bytes = unit_alloc(*size);
	if (fread(bytes, 1, *size, file) != *size)
		abort();
	fclose(file);
	return bytes;
}

/* What the manifest says of one file. */
typedef struct manifest_row
{
	char		path[300];
	uint64_t	size;
	bool		accept;
	bool		has_numbers;
	uint64_t	card;
	bool		has_limits;
	uint64_t	min;			/* unsigned */
	uint64_t	max;
	bool		has_types;
	uint64_t	arrays;
	uint64_t	bitsets;
	uint64_t	runs;
	bool		has_buckets;
	uint64_t	buckets;
} manifest_row;

/* The number after label in text; false if there is none. */
static bool
number_after(const char *text, const char *label, uint64_t *value)
{
	const char *p = strstr(text, label);
	char	   *end;

	if (p == NULL)
		return false;
	p += strlen(label);
	*value = strtoull(p, &end, 10);
	return end != p;
}

/*
 * Parses a line of a table, "| file | size | sha256 or ours | expected | ...".
 * Folders whose table has the verdict in its third column have no sum.
 * Returns false for lines that are none.
 */
static bool
parse_row(char *line, const char *folder, manifest_row *r)
{
	char	   *columns[5];
	int			n = 0;
	const char *verdict;
	const char *types;

	memset(r, 0, sizeof(*r));
	if (line[0] != '|' || folder[0] == '\0')
		return false;
	for (char *p = line + 1; n < 5 && p != NULL;)
	{
		char	   *bar = strchr(p, '|');

		if (bar == NULL)
			break;
		*bar = '\0';
		p += strspn(p, " ");
		columns[n++] = p;
		for (char *end = bar; end > p && end[-1] == ' ';)
			*--end = '\0';
		p = bar + 1;
	}
	if (n < 4 || columns[1][0] < '0' || columns[1][0] > '9')
		return false;
	snprintf(r->path, sizeof(r->path), "%s%s", folder, columns[0]);
	r->size = strtoull(columns[1], NULL, 10);
	verdict = strcmp(folder, "hostile/") == 0 ? columns[2] : columns[3];
	if (strncmp(verdict, "accept", 6) == 0)
	{
		r->accept = true;
		/* columns[3] tells the cardinality of both kinds of table */
		r->has_numbers = number_after(columns[3], "card=", &r->card) ||
			number_after(columns[3], "card ", &r->card);
		r->has_limits = number_after(verdict, "min=", &r->min) &&
			number_after(verdict, "max=", &r->max);
		types = strstr(verdict, "A/B/R=");
		r->has_types = types != NULL &&
			sscanf(types, "A/B/R=%" SCNu64 "/%" SCNu64 "/%" SCNu64,
				   &r->arrays, &r->bitsets, &r->runs) == 3;
		r->has_buckets = number_after(verdict, "buckets=", &r->buckets);
		return r->has_numbers;
	}
	return strncmp(verdict, "reject", 6) == 0 ||
		strncmp(verdict, "MUST REJECT", 11) == 0 ||
		strncmp(verdict, "container file", 14) == 0;
}

/* The engine's answers about an accepted file, once canonical. */
static void
check_answers(const manifest_row *r, const uint8_t *bytes, size_t size,
			  r64_verdict verdict)
{
	r64_buf		buf = r64_canonicalise(&unit_env, bytes, size);
	r64_set		s = r64_open(&unit_env, unit_result(buf), buf.size);
	r64_stats	stats = r64_get_stats(&s);
	int64_t		v;
	int64_t		want;

	CHECK_U64(r64_cardinality(&s), r->card);
	CHECK_U64(stats.cardinality, r->card);
	if (r->has_limits)
	{
		/* the smallest unsigned element is our smallest from 0 on, if any */
		if (CHECK(r64_next(&s, 0, &v) || r64_min(&s, &v)))
			CHECK_U64((uint64_t) v, r->min);
		if (CHECK(r64_prev(&s, -1, &v) || r64_max(&s, &v)))
			CHECK_U64((uint64_t) v, r->max);
		/* where no sign is set, or all are, the orders agree */
		if ((int64_t) r->min < 0 || (int64_t) r->max >= 0)
		{
			want = (int64_t) r->min;
			CHECK(r64_min(&s, &v) && v == want);
			want = (int64_t) r->max;
			CHECK(r64_max(&s, &v) && v == want);
		}
		CHECK(r64_contains(&s, (int64_t) r->min));
		CHECK(r64_contains(&s, (int64_t) r->max));
	}
	else
		CHECK(r->card > 0 || (r64_is_empty(&s) && !r64_min(&s, &v)));
	/* the file's own container counts, which stay if it is canonical */
	if (verdict == R64_CANONICAL && r->has_types)
	{
		CHECK_U64(stats.arrays, r->arrays);
		CHECK_U64(stats.bitsets, r->bitsets);
		CHECK_U64(stats.runs, r->runs);
	}
	if (verdict == R64_CANONICAL && r->has_buckets)
		CHECK_U64(stats.buckets, r->buckets);
	r64_close(&s);
}

static void
test_file(const manifest_row *r)
{
	r64_diagnosis why = {0};
	r64_verdict verdict;
	size_t		size = 0;
	uint8_t    *bytes;

	unit_case("file %s", r->path);
	bytes = slurp(r->path, &size);
	if (!CHECK(bytes != NULL) || !CHECK_U64(size, r->size))
		return;
	verdict = r64_check(&unit_env, bytes, size, &why);
	if (verdict == R64_INVALID)
		unit_note(" (%s at %zu)", why.reason, why.offset);
	if (!CHECK((verdict != R64_INVALID) == r->accept))
		return;
	if (verdict == R64_INVALID)
	{
		oracle_check_refused(size, &why);
		return;
	}
	oracle_check_accepted(bytes, size, verdict);
	check_answers(r, bytes, size, verdict);
}

/*
 * All rows of the manifest.  Every line of a table must be understood, or a
 * change there would leave files untested unnoticed.
 */
static void
test_files(void)
{
	const char *where = getenv("R64_SHARED");
	char		folder[200] = "";
	char		line[4000];
	char		copy[4000];
	FILE	   *manifest;
	uint64_t	files = 0;
	manifest_row r;

	snprintf(shared, sizeof(shared), "%s", where ? where : "../shared");
	snprintf(line, sizeof(line), "%s/testdata/MANIFEST.md", shared);
	manifest = fopen(line, "r");
	if (manifest == NULL)
	{
		printf("skipped, no %s\n", line);
		return;
	}
	while (fgets(line, sizeof(line), manifest) != NULL)
	{
		memcpy(copy, line, sizeof(copy));
		if (strncmp(line, "## ", 3) == 0)
		{
			line[strcspn(line, "/") + 1] = '\0';
			snprintf(folder, sizeof(folder), "%.199s", line + 3);
		}
		else if (parse_row(line, folder, &r))
		{
			test_file(&r);
			files++;
		}
		else if (copy[0] == '|' && strncmp(copy, "| file", 6) != 0 &&
				 strncmp(copy, "|---", 4) != 0)
		{
			unit_case("line of the manifest: %s", copy);
			CHECK(!"understood");
		}
	}
	fclose(manifest);
	printf("%" PRIu64 " files\n", files);
}

int
main(int argc, char **argv)
{
	unit_start("files of other implementations", 0, argc, argv);
	test_files();
	return unit_finish();
}
