/*-------------------------------------------------------------------------
 *
 * statements.c
 *	  The SQL on a table of delayed messages.
 *
 * An add and a take of the same row wait for each other.  If the row is gone
 * when the add goes on, ON CONFLICT inserts it again; if it is not, the entry
 * goes into the set that is there then.  Takes do not wait for anything.
 *
 * Whatever locks many rows does so in the order of the key, so that no two
 * such statements wait for each other in a circle.
 *
 * src/delay/statements.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "delay/delay.h"

/* For appendStringInfo: the table, and the schema of the extension. */
#define TABLE	"%1$s"
#define SCHEMA	"%2$s"

typedef struct Statement
{
	const char *text;
	int			nparameters;
	Oid			types[3];
} Statement;

/* What all rows of a bucket and ledger have, compared with parameters. */
#define THE_ROW \
	" WHERE t.bucket OPERATOR(pg_catalog.=) $1" \
	" AND t.ledger OPERATOR(pg_catalog.=) $2"

static const Statement statements[] = {
	/* bucket, ledger, entry; no row if it is there already */
	[DELAY_ADD] = {
		"INSERT INTO " TABLE " AS t (bucket, ledger, entries)"
		" VALUES ($1, $2,"
		" '{}'::" SCHEMA ".roaring64 OPERATOR(" SCHEMA ".|) $3)"
		" ON CONFLICT (bucket, ledger) DO UPDATE"
		" SET entries = t.entries OPERATOR(" SCHEMA ".|) $3"
		" WHERE NOT t.entries OPERATOR(" SCHEMA ".@>) $3",
		3, {INT8OID, INT8OID, INT8OID}
	},

	/* arrays of buckets, ledgers and entries */
	[DELAY_ADD_BATCH] = {
		"INSERT INTO " TABLE " AS t (bucket, ledger, entries)"
		" SELECT m.bucket, m.ledger, " SCHEMA ".roaring64_agg(m.entry)"
		" FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2),"
		" pg_catalog.unnest($3)) AS m (bucket, ledger, entry)"
		" GROUP BY m.bucket, m.ledger ORDER BY m.bucket, m.ledger"
		" ON CONFLICT (bucket, ledger) DO UPDATE"
		" SET entries = t.entries OPERATOR(" SCHEMA ".|) excluded.entries"
		" WHERE NOT t.entries OPERATOR(" SCHEMA ".@>) excluded.entries",
		3, {INT8ARRAYOID, INT8ARRAYOID, INT8ARRAYOID}
	},

	/*
	 * until, limit; for a cursor, so that rows are locked as they are
	 * fetched.  A row has a message at least, so no more rows than messages
	 * are wanted; to say so keeps the planner from sorting the whole table.
	 */
	[DELAY_DUE] = {
		"SELECT t.bucket, t.ledger, t.entries FROM " TABLE " AS t"
		" WHERE t.bucket OPERATOR(pg_catalog.<=) $1"
		" ORDER BY t.bucket, t.ledger LIMIT $2 FOR UPDATE SKIP LOCKED",
		2, {INT8OID, INT8OID}
	},

	/* arrays of buckets and ledgers, of rows that we have locked */
	[DELAY_REMOVE_ROWS] = {
		"DELETE FROM " TABLE " AS t"
		" USING ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2))"
		" AS r (bucket, ledger)"
		" WHERE t.bucket OPERATOR(pg_catalog.=) r.bucket"
		" AND t.ledger OPERATOR(pg_catalog.=) r.ledger",
		2, {INT8ARRAYOID, INT8ARRAYOID}
	},

	/* bucket, ledger, how many entries to remove, of a row locked by us */
	[DELAY_KEEP_REST] = {
		"UPDATE " TABLE " AS t"
		" SET entries = " SCHEMA ".roaring64_slice(t.entries, $3)" THE_ROW,
		3, {INT8OID, INT8OID, INT8OID}
	},

	/* bucket, ledger, entry; the row stays locked, and may be empty now */
	[DELAY_CANCEL] = {
		"UPDATE " TABLE " AS t"
		" SET entries = t.entries OPERATOR(" SCHEMA ".-) $3" THE_ROW
		" AND t.entries OPERATOR(" SCHEMA ".@>) $3",
		3, {INT8OID, INT8OID, INT8OID}
	},
	[DELAY_REMOVE_IF_EMPTY] = {
		"DELETE FROM " TABLE " AS t" THE_ROW
		" AND " SCHEMA ".roaring64_is_empty(t.entries)",
		2, {INT8OID, INT8OID}
	},

	/* ledger */
	[DELAY_LOCK_LEDGER] = {
		"SELECT FROM " TABLE " AS t"
		" WHERE t.ledger OPERATOR(pg_catalog.=) $1"
		" ORDER BY t.bucket FOR UPDATE",
		1, {INT8OID}
	},
	[DELAY_CANCEL_LEDGER] = {
		"WITH gone AS (DELETE FROM " TABLE " AS t"
		" WHERE t.ledger OPERATOR(pg_catalog.=) $1"
		" RETURNING " SCHEMA ".roaring64_cardinality(t.entries) AS n)"
		" SELECT COALESCE(pg_catalog.sum(n), 0)::pg_catalog.int8 FROM gone",
		1, {INT8OID}
	},

	[DELAY_NEXT_DUE] = {
		"SELECT pg_catalog.min(t.bucket) FROM " TABLE " AS t",
		0, {0}
	},

	/* until */
	[DELAY_COUNT] = {
		"SELECT COALESCE(pg_catalog.sum(" SCHEMA ".roaring64_cardinality("
		"t.entries)), 0)::pg_catalog.int8 FROM " TABLE " AS t"
		" WHERE t.bucket OPERATOR(pg_catalog.<=) $1",
		1, {INT8OID}
	}
};

/* See delay.h. */
int
delay_statement(StateOwner *owner, int n, StringInfo text, Oid *types)
{
	const Statement *statement = &statements[n];
	Oid			extension = ((DelayTable *) owner)->extension;

	appendStringInfo(text, statement->text, state_table_name(owner, 0),
					 quote_identifier(get_namespace_name(extension)));
	memcpy(types, statement->types, sizeof(statement->types));
	return statement->nparameters;
}
