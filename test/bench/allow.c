/*
 * allow.c
 *	  Times statements about a list of ids that a program sends.
 *
 * For each list in the table "lists" (see "allow"), in turn:
 *
 *		set			id <@ $1
 *		array		id = ANY ($1)
 *		join		JOIN unnest($1)
 *		temporary	a temporary table is created, filled by COPY, analyzed and
 *					joined, in one transaction
 *
 * and for a scan that has to test all rows, since no index is on the expression:
 *
 *		set			id + 0 <@ $1
 *		array		id + 0 = ANY ($1), for which the server makes a hash table
 *
 * Parameters and results are binary.  Measured is the processor time that this
 * process and its server process take from sending the statement to reading its
 * row, so parsing, planning, and reading the parameter are in it.  The row is the
 * sum over the rows found, which has to be the same by every way.  A ratio is
 * that of two ways in the same round, and the median of the rounds is printed.
 * A round before them is not counted, for lists of up to 100,000 ids; and of up
 * to 10,000, each statement is run twice and the second time counts.
 *
 * With the argument "lookups" or "scans", only those.
 *
 * Exits with 1 if sums differ or a statement fails.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#define ROUNDS 3				/* odd, for a median */
#define SET_WAYS 4
#define ALL_WAYS 6

static const char *const statements[ALL_WAYS] = {
	"SELECT sum(amount), count(*) FROM items WHERE id <@ $1::roaring64",
	"SELECT sum(amount), count(*) FROM items WHERE id = ANY ($1::bigint[])",
	"SELECT sum(amount), count(*) FROM items JOIN unnest($1::bigint[]) AS list (id) USING (id)",
	"SELECT sum(amount), count(*) FROM items JOIN list USING (id)",
	"SELECT sum(amount), count(*) FROM items WHERE id + 0 <@ $1::roaring64",
	"SELECT sum(amount), count(*) FROM items WHERE id + 0 = ANY ($1::bigint[])",
};

/* One list, in the forms in which it is sent. */
typedef struct
{
	char		name[64];		/* its number of ids, and shape */
	long		n;
	char	   *set;			/* a roaring64 */
	int			set_length;
	char	   *array;			/* a bigint[] */
	int			array_length;
	char	   *copy;			/* what COPY reads */
	int			copy_length;
} List;

static PGconn *conn;

static void
fail(const char *what)
{
	fprintf(stderr, "%s: %s", what, PQerrorMessage(conn));
	exit(1);
}

static PGresult *
expect(PGresult *result, ExecStatusType status, const char *what)
{
	if (PQresultStatus(result) != status)
		fail(what);
	return result;
}

static void
command(const char *sql)
{
	PQclear(expect(PQexec(conn, sql), PGRES_COMMAND_OK, sql));
}

/* The processor time of the server process, in ms.  See "lookups". */
static double
server_time(void)
{
	char		path[64];
	char		line[1024];
	FILE	   *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", PQbackendPID(conn));
	file = fopen(path, "r");
	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		fail(path);
	fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", PQbackendPID(conn));
	file = fopen(path, "r");
	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		fail(path);
	fclose(file);
	return strtod(line, NULL) / 1e6;
}

/* That and our own. */
static double
used(void)
{
	struct timespec own;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
	return server_time() + own.tv_sec * 1e3 + own.tv_nsec / 1e6;
}

static char *
put(char *to, const void *from, size_t length)
{
	memcpy(to, from, length);
	return to + length;
}

static char *
put32(char *to, uint32_t value)
{
	value = htonl(value);
	return put(to, &value, sizeof(value));
}

/*
 * A list from its set and the same ids as text that the server has made of it,
 * one below the other.
 */
static void
read_list(List *list, const char *n, const char *shape)
{
	const char *values[2] = {n, shape};
	PGresult   *result;
	char	   *array;
	char	   *copy;
	static const char header[] = "PGCOPY\n\377\r\n";

	list->n = atol(n);
	snprintf(list->name, sizeof(list->name), "%s %s", n, shape);
	result = expect(PQexecParams(conn,
								 "SELECT ids, ids::bigint[] FROM lists WHERE n = $1::bigint AND shape = $2",
								 2, NULL, values, NULL, NULL, 1),
					PGRES_TUPLES_OK, "a list");
	list->set_length = PQgetlength(result, 0, 0);
	list->set = malloc(list->set_length);
	memcpy(list->set, PQgetvalue(result, 0, 0), list->set_length);
	list->array_length = PQgetlength(result, 0, 1);
	list->array = malloc(list->array_length);
	memcpy(list->array, PQgetvalue(result, 0, 1), list->array_length);
	PQclear(result);

	/* an array's elements are a length and eight bytes each, after 20 bytes */
	list->copy = malloc(19 + (size_t) list->n * 14 + 2);
	copy = put(list->copy, header, sizeof(header));
	copy = put32(copy, 0);
	copy = put32(copy, 0);
	array = list->array + 20;
	for (long i = 0; i < list->n; i++, array += 12)
	{
		uint16_t	columns = htons(1);

		copy = put(copy, &columns, sizeof(columns));
		copy = put(copy, array, 12);
	}
	copy = put(copy, "\377\377", 2);
	list->copy_length = copy - list->copy;
}

/* Sends the list into a temporary table. */
static void
fill_temporary(const List *list)
{
	command("BEGIN; CREATE TEMPORARY TABLE list (id bigint) ON COMMIT DROP");
	PQclear(expect(PQexec(conn, "COPY list FROM STDIN (FORMAT binary)"), PGRES_COPY_IN, "COPY"));
	for (int sent = 0; sent < list->copy_length; sent += 1 << 16)
	{
		int			left = list->copy_length - sent;

		if (PQputCopyData(conn, list->copy + sent, left < 1 << 16 ? left : 1 << 16) != 1)
			fail("PQputCopyData");
	}
	if (PQputCopyEnd(conn, NULL) != 1)
		fail("PQputCopyEnd");
	PQclear(expect(PQgetResult(conn), PGRES_COMMAND_OK, "COPY"));
	if (PQgetResult(conn) != NULL)
		fail("COPY");
	command("ANALYZE list");
}

/*
 * What a way takes, in ms.  answer gets the sum and the number of rows, at most
 * size bytes.
 */
static double
take(const List *list, int way, char *answer, size_t size)
{
	const bool	is_set = way == 0 || way == SET_WAYS;
	const bool	is_temporary = way == 3;
	const char *values[1] = {is_set ? list->set : list->array};
	int			lengths[1] = {is_set ? list->set_length : list->array_length};
	int			formats[1] = {1};
	double		start = used();
	double		ms;
	PGresult   *result;

	if (is_temporary)
		fill_temporary(list);
	result = expect(PQexecParams(conn, statements[way], is_temporary ? 0 : 1, NULL, values, lengths, formats, 0),
					PGRES_TUPLES_OK, statements[way]);
	if (is_temporary)
		command("COMMIT");
	ms = used() - start;
	snprintf(answer, size, "%s, %s", PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1));
	PQclear(result);
	return ms;
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The median of some times; of their ratios to those of base, if there is one. */
static double
median(const double *ms, const double *base)
{
	double		sorted[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		sorted[i] = base ? ms[i] / base[i] : ms[i];
	qsort(sorted, ROUNDS, sizeof(double), compare);
	return sorted[ROUNDS / 2];
}

/* Measures one list by the ways from first to before end, and prints a row. */
static void
measure(const List *list, int first, int end)
{
	double		ms[ALL_WAYS][ROUNDS];
	double		best[ROUNDS];
	char		answer[2][64];

	for (int round = list->n > 100000 ? 0 : -1; round < ROUNDS; round++)
	{
		for (int way = first; way < end; way++)
		{
			double		took;

			/* else the first way would read into the caches for the next */
			if (list->n <= 10000)
				(void) take(list, way, answer[way > first], sizeof(answer[0]));
			took = take(list, way, answer[way > first], sizeof(answer[0]));
			if (way > first && strcmp(answer[0], answer[1]) != 0)
			{
				fprintf(stderr, "%s: %s gives %s and not %s\n", list->name, statements[way], answer[1], answer[0]);
				exit(1);
			}
			if (round < 0)
				continue;
			ms[way][round] = took;
			/* the first is the set */
			if (way == first + 1 || (way > first && took < best[round]))
				best[round] = took;
		}
	}
	printf("| %s |", list->name);
	for (int way = first; way < end; way++)
		printf(" %.2f |", median(ms[way], NULL));
	printf(" %.2f |", median(best, ms[first]));
	if (first == 0)
		printf(" %d | %d | %.2f |", list->set_length, list->array_length,
			   (double) list->set_length / list->array_length);
	printf("\n");
	fflush(stdout);
}

/* Prints the table of the ways from first to before end, after its heading. */
static void
measure_all(const char *heading, int first, int end)
{
	PGresult   *lists;

	printf("%s", heading);
	lists = expect(PQexec(conn, "SELECT n, shape FROM lists ORDER BY array_position('{dense,scattered}', shape), n"),
				   PGRES_TUPLES_OK, "lists");
	for (int i = 0; i < PQntuples(lists); i++)
	{
		List		list;

		read_list(&list, PQgetvalue(lists, i, 0), PQgetvalue(lists, i, 1));
		measure(&list, first, end);
		free(list.set);
		free(list.array);
		free(list.copy);
	}
	PQclear(lists);
}

int
main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";

	conn = PQconnectdb("");
	if (PQstatus(conn) != CONNECTION_OK)
		fail("no connection");
	if (strcmp(only, "scans") != 0)
		measure_all("By the index, processor time of both ends in ms:\n\n"
					"| ids | id <@ $1 | = ANY ($1) | JOIN unnest($1) | temporary table "
					"| best of these / set | set, bytes | array, bytes | set / array |\n"
					"|---|---:|---:|---:|---:|---:|---:|---:|---:|\n", 0, SET_WAYS);
	if (strcmp(only, "lookups") != 0)
		measure_all("\nIn a scan of all rows:\n\n"
					"| ids | id + 0 <@ $1 | id + 0 = ANY ($1) | array / set |\n"
					"|---|---:|---:|---:|\n", SET_WAYS, ALL_WAYS);
	return 0;
}
