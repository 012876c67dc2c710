/*-------------------------------------------------------------------------
 *
 * example.c
 *	  roaring64 with C: libpq and CRoaring.
 *
 * Connects as libpq does by default (PGHOST, PGDATABASE and so on) and wants
 * CREATE EXTENSION roaring64 to have been done.
 *
 * CRoaring is unsigned where SQL is signed: -1 there is UINT64_MAX here.
 *
 * test/drivers/libpq/example.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>
#include <roaring/roaring64.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) \
		{ \
			fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

#define TEXT	0
#define BINARY	1

/* A statement with one parameter, or none, and an answer in a given format. */
static PGresult *
query(PGconn *conn, const char *sql, const char *value, size_t length,
	  int value_format, int result_format)
{
	int			lengths[] = {(int) length};
	PGresult   *result = PQexecParams(conn, sql, value != NULL, NULL, &value,
									  lengths, &value_format, result_format);

	if (PQresultStatus(result) != PGRES_COMMAND_OK &&
		PQresultStatus(result) != PGRES_TUPLES_OK)
	{
		fprintf(stderr, "%s%s\n", PQerrorMessage(conn), sql);
		exit(1);
	}
	return result;
}

static PGresult *
query_text(PGconn *conn, const char *sql, const char *value)
{
	return query(conn, sql, value, 0, TEXT, TEXT);
}

/* A set as the binary parameter of a statement without an answer. */
static void
send_set(PGconn *conn, const char *sql, const roaring64_bitmap_t *set)
{
	size_t		size = roaring64_bitmap_portable_size_in_bytes(set);
	char	   *bytes = malloc(size);

	roaring64_bitmap_portable_serialize(set, bytes);
	PQclear(query(conn, sql, bytes, size, BINARY, TEXT));
	free(bytes);
}

/* The set in the first column of the first row, which was asked for in binary. */
static roaring64_bitmap_t *
get_set(const PGresult *result)
{
	return roaring64_bitmap_portable_deserialize_safe(PQgetvalue(result, 0, 0),
													  (size_t) PQgetlength(result, 0, 0));
}

int
main(void)
{
	PGconn	   *conn = PQconnectdb("");
	PGresult   *result;
	roaring64_bitmap_t *million = roaring64_bitmap_create();
	roaring64_bitmap_t *set;

	CHECK(PQstatus(conn) == CONNECTION_OK);
	PQclear(query_text(conn, "CREATE TEMP TABLE readers (id int PRIMARY KEY, read roaring64)",
					   NULL));

	/* As text: what psql shows. */
	PQclear(query_text(conn, "INSERT INTO readers VALUES (1, $1)", "{1,2,3}"));
	result = query_text(conn, "SELECT read FROM readers WHERE id = 1", NULL);
	CHECK(strcmp(PQgetvalue(result, 0, 0), "{1,2,3}") == 0);
	PQclear(result);
	puts("ok - text");

	/* An array parameter, and an element. */
	PQclear(query_text(conn, "INSERT INTO readers VALUES (2, $1::bigint[])",
					   "{10,2,10,-1}"));
	result = query_text(conn, "SELECT read::bigint[], read @> $1::bigint FROM readers WHERE id = 2",
						"10");
	CHECK(strcmp(PQgetvalue(result, 0, 0), "{-1,2,10}") == 0);
	CHECK(strcmp(PQgetvalue(result, 0, 1), "t") == 0);
	PQclear(result);
	puts("ok - array");

	/* As bytes: the portable format, which other programs read and write too. */
	result = query(conn, "SELECT read FROM readers WHERE id = 2", NULL, 0, TEXT, BINARY);
	PQclear(query(conn, "INSERT INTO readers VALUES (3, $1)", PQgetvalue(result, 0, 0),
				  (size_t) PQgetlength(result, 0, 0), BINARY, TEXT));
	PQclear(result);
	result = query_text(conn, "SELECT a.read = b.read FROM readers a, readers b "
						"WHERE a.id = 2 AND b.id = 3", NULL);
	CHECK(strcmp(PQgetvalue(result, 0, 0), "t") == 0);
	PQclear(result);
	puts("ok - bytes");

	/* As CRoaring's own type. */
	for (uint64_t i = 0; i < 2000000; i += 2)
		roaring64_bitmap_add(million, i);
	roaring64_bitmap_run_optimize(million);
	send_set(conn, "INSERT INTO readers VALUES (4, $1)", million);
	result = query(conn, "SELECT read FROM readers WHERE id = 4", NULL, 0, TEXT, BINARY);
	set = get_set(result);
	CHECK(set != NULL && roaring64_bitmap_equals(set, million));
	roaring64_bitmap_free(set);
	PQclear(result);
	result = query(conn, "SELECT read FROM readers WHERE id = 2", NULL, 0, TEXT, BINARY);
	set = get_set(result);
	CHECK(set != NULL && roaring64_bitmap_get_cardinality(set) == 3);
	CHECK(roaring64_bitmap_contains(set, UINT64_MAX));
	roaring64_bitmap_free(set);
	PQclear(result);
	puts("ok - own type");

	roaring64_bitmap_free(million);
	PQfinish(conn);
	return 0;
}
