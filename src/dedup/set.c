/*-------------------------------------------------------------------------
 *
 * set.c
 *	  What a dedup set is: its options, its statements, its arguments.
 *
 * No statement names an object of the extension, which may be moved to
 * another schema while plans are kept: sets are taken out of the chunks and
 * put back as they are, and what is to be done with them is done here.
 *
 * src/dedup/set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"
#include "state/statement.h"
#include "type/ids.h"

/* What tells the tables of a set from others. */
static const StateColumn set_columns[] = {
	{"keys", REGCLASSOID}, {"claims", REGCLASSOID}, {"chunks", REGCLASSOID},
	{"capacity", INT8OID}, {"remember", INTERVALOID},
	{"generations", INT4OID}, {"layout", TEXTOID}, {"chunk_bits", INT4OID},
	{"ascending", BOOLOID}, {"fold_after", INT4OID}
};
static const StateColumn keys_columns[] = {
	{"key", TEXTOID}, {"generation", INT8OID}, {"ids", INT8OID},
	{"started", TIMESTAMPTZOID}, {"forgotten", INT8OID},
	{"highs", INT8ARRAYOID}
};
static const StateColumn claims_columns[] = {
	{"key", TEXTOID}, {"id", INT8OID}, {"claimed_at", TIMESTAMPTZOID}
};
static const StateColumn chunks_columns[] = {
	{"key", TEXTOID}, {"generation", INT8OID}, {"chunk", INT8OID},
	{"ids", INT8OID}, {"members", InvalidOid}
};

#define has_columns(relid, columns) \
	state_has_columns(relid, columns, lengthof(columns))

static void
not_a_set(Oid relid, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a dedup set", get_rel_name(relid)),
			 errdetail("%s", detail),
			 errhint("Name a table that roaring64_dedup_create has made.")));
}

/* Reports options that roaring64_dedup_create and _alter do not write. */
static void
wrong_options(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("invalid options of dedup set \"%s\"",
					get_rel_name(relid)),
			 errhint("Correct the row in that table, and change it with roaring64_dedup_alter only.")));
}

/* Column n (from 1) of the row that SPI has read. */
static Datum
option(int n, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, n,
						 isnull);
}

/*
 * Reads the row of options, with what is committed by now.  A query that has
 * parallel workers may call this too, and cannot take the latest snapshot, but
 * can one for catalogs, which for other tables is always a new one.
 */
static void
read_options(DedupSet *set)
{
	StateOwner *owner = &set->owner;
	StringInfoData query;
	SPIPlanPtr	plan;
	Datum		remember;
	Datum		layout;
	bool		isnull;
	bool		no_layout;

	initStringInfo(&query);
	appendStringInfo(&query,
					 "SELECT keys, claims, chunks, capacity, remember,"
					 " generations, layout, chunk_bits, ascending, fold_after"
					 " FROM ONLY %s", state_relation(owner->relid));
	plan = SPI_prepare(query.data, 0, NULL);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed for: %s", query.data);
	if (SPI_execute_snapshot(plan, NULL, NULL, GetCatalogSnapshot(owner->relid),
							 InvalidSnapshot, true, true, 2) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_snapshot failed for: %s", query.data);
	if (SPI_processed != 1)
		not_a_set(owner->relid, "The table of a set has exactly one row.");

	for (int i = 1; i < DEDUP_TABLES; i++)
		owner->tables[i] = DatumGetObjectId(option(i, &isnull));
	owner->ntables = DEDUP_TABLES;

	set->generations = DatumGetInt32(option(6, &isnull));
	layout = option(7, &no_layout);
	set->chunk_bits = DatumGetInt32(option(8, &isnull));
	if (no_layout || set->generations < DEDUP_MIN_GENERATIONS ||
		set->generations > DEDUP_MAX_GENERATIONS ||
		set->chunk_bits < DEDUP_MIN_CHUNK_BITS ||
		set->chunk_bits > DEDUP_MAX_CHUNK_BITS)
		wrong_options(owner->relid);
	set->snowflake = strcmp(TextDatumGetCString(layout), "snowflake") == 0;
	set->generation_ids = DatumGetInt64(option(4, &isnull));
	set->by_count = !isnull;
	if (set->by_count)
		set->generation_ids /= set->generations;
	if (set->by_count && set->generation_ids < 1)
		wrong_options(owner->relid);
	remember = option(5, &isnull);
	set->by_time = !isnull;
	if (set->by_time)
	{
		remember = DirectFunctionCall2(interval_div, remember,
									   Float8GetDatum(set->generations - 1));
		set->generation_time = *DatumGetIntervalP(remember);
	}
	set->ascending = DatumGetBool(option(9, &isnull));
	set->fold_after = DatumGetInt32(option(10, &isnull));
	if (isnull || set->fold_after < 0)
		set->fold_after = 0;
}

/* StateKind.resolve */
static void
resolve_set(StateOwner *owner)
{
	DedupSet   *set = (DedupSet *) owner;

	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(owner->relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("dedup set with OID %u does not exist",
						owner->relid)));
	if (!has_columns(owner->relid, set_columns))
		not_a_set(owner->relid, "It has not the columns of a set.");
	read_options(set);
	for (int i = 1; i < DEDUP_TABLES; i++)
	{
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(owner->tables[i])))
			not_a_set(owner->relid, "One of its tables does not exist.");
	}
	if (!has_columns(owner->tables[DEDUP_KEYS], keys_columns) ||
		!has_columns(owner->tables[DEDUP_CLAIMS], claims_columns) ||
		!has_columns(owner->tables[DEDUP_CHUNKS], chunks_columns))
		not_a_set(owner->relid,
				  "One of its tables has not the columns that it was made with.");
	set->type = get_atttype(owner->tables[DEDUP_CHUNKS],
							get_attnum(owner->tables[DEDUP_CHUNKS], "members"));
	dedup_find_indexes(set);
}

/*
 * The statements.  {k}, {c} and {m} stand for the tables of keys, claims and
 * chunks, other braces for an operator of pg_catalog.  The types of the
 * parameters are written before each: t text, b bigint, B bigint[], T
 * timestamptz, X timestamptz[], i interval, p tid, P tid[], x xid, S
 * roaring64.
 *
 * A batch of claims goes in in the order of the array, which is sorted: two
 * batches meet in the same order and never deadlock.
 */
#define THE_VERSION \
	" WHERE ctid {=} $6 AND xmin {=} $7" \
	" AND key {=} $1 AND generation {=} $2 AND chunk {=} $3"

typedef struct StatementText
{
	const char *types;
	const char *text;
} StatementText;

static const StatementText statement_text[DEDUP_STATEMENTS] = {
	/* the set that may have the id, if there is one; NULL for a claim */
	[DEDUP_LOOK] = {"tbb",
		"SELECT members FROM {m} WHERE key {=} $1 AND chunk {=} $3"
	" UNION ALL SELECT NULL FROM {c} WHERE key {=} $1 AND id {=} $2"},
	[DEDUP_LOOK_CHUNK] = {"tb",
	"SELECT members FROM {m} WHERE key {=} $1 AND chunk {=} $2"},
	[DEDUP_LOOK_CLAIMS] = {"tB",
	"SELECT id FROM {c} WHERE key {=} $1 AND id {=} ANY ($2)"},
	[DEDUP_LOOK_CHUNKS] = {"tB",
	"SELECT chunk, members FROM {m} WHERE key {=} $1 AND chunk {=} ANY ($2)"},
	[DEDUP_FORGOTTEN] = {"t",
	"SELECT forgotten FROM {k} WHERE key {=} $1 AND forgotten IS NOT NULL"},
	[DEDUP_CLAIM] = {"tbT",
		"INSERT INTO {c} (key, id, claimed_at) VALUES ($1, $2, $3)"
	" ON CONFLICT DO NOTHING"},
	[DEDUP_CLAIM_BATCH] = {"tBX",
		"INSERT INTO {c} (key, id, claimed_at)"
		" SELECT $1, i, c FROM ROWS FROM (pg_catalog.unnest($2), pg_catalog.unnest($3)) AS u (i, c)"
	" ON CONFLICT DO NOTHING RETURNING id"},
	[DEDUP_UNDO] = {"tb",
	"DELETE FROM {c} WHERE key {=} $1 AND id {=} $2"},
	[DEDUP_LIST] = {"",
	"SELECT ctid, key FROM {c}"},
	[DEDUP_LIST_IN_ORDER] = {"",
	"SELECT ctid, key FROM {c} ORDER BY claimed_at, id"},
	[DEDUP_TAKE] = {"P",
	"DELETE FROM {c} WHERE ctid {=} ANY ($1) RETURNING key, id, claimed_at"},
	[DEDUP_LIST_KEY] = {"t",
	"SELECT ctid, key FROM {c} WHERE key {=} $1"},
	[DEDUP_LOCK_CHUNK] = {"tbb",
		"SELECT members, ids, ctid, xmin FROM {m} WHERE key {=} $1"
	" AND generation {=} $2 AND chunk {=} $3 FOR NO KEY UPDATE"},
	[DEDUP_INSERT_CHUNK] = {"tbbbS",
		"INSERT INTO {m} (key, generation, chunk, ids, members)"
	" VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"},
	/* one version of a row; the key, for there may be partitions */
	[DEDUP_UPDATE_CHUNK] = {"tbbbSpx",
		"UPDATE {m} SET ids = $4, members = $5" THE_VERSION},
	[DEDUP_DELETE_CHUNK] = {"tbbbSpx",
	"DELETE FROM {m}" THE_VERSION},
	[DEDUP_FORGET_GENERATIONS] = {"tb",
	"DELETE FROM {m} WHERE key {=} $1 AND generation {<=} $2"},
	[DEDUP_LOCK_KEY] = {"t",
		"SELECT generation, ids, started, forgotten, highs FROM {k}"
	" WHERE key {=} $1 FOR NO KEY UPDATE"},
	[DEDUP_INSERT_KEY] = {"t",
	"INSERT INTO {k} (key) VALUES ($1) ON CONFLICT DO NOTHING"},
	[DEDUP_UPDATE_KEY] = {"tbbTbB",
		"UPDATE {k} SET generation = $2, ids = $3, started = $4,"
	" forgotten = $5, highs = $6 WHERE key {=} $1"},
	[DEDUP_LIST_DUE] = {"i",
		"SELECT key FROM {k} WHERE started {+} $1 {<=} pg_catalog.now()"
	" ORDER BY key"},
	[DEDUP_GENERATIONS] = {"tB",
		"SELECT DISTINCT generation FROM {m} WHERE key {=} $1"
	" AND chunk {=} ANY ($2) ORDER BY generation"},
	[DEDUP_ALL_CLAIMS] = {"t",
	"SELECT id FROM {c} WHERE key {=} $1"},
	[DEDUP_ALL_CHUNKS] = {"t",
	"SELECT members FROM {m} WHERE key {=} $1 ORDER BY chunk"},
	[DEDUP_COUNT] = {"t",
		"SELECT ((SELECT pg_catalog.count(*) FROM {c} WHERE key {=} $1)"
		" {+} coalesce((SELECT pg_catalog.sum(ids) FROM {m} WHERE key {=} $1), 0))"
		"::pg_catalog.int8"
	},
	[DEDUP_IS_EMPTY] = {"t",
		"SELECT NOT EXISTS (SELECT FROM {c} WHERE key {=} $1)"
	" AND NOT EXISTS (SELECT FROM {m} WHERE key {=} $1)"},
	[DEDUP_STATS] = {"",
		"SELECT (SELECT pg_catalog.count(DISTINCT key) FROM"
		" (SELECT key FROM {c} UNION ALL SELECT key FROM {m}) AS k),"
		" (SELECT pg_catalog.count(*) FROM {c}),"
		" pg_catalog.count(*), coalesce(pg_catalog.sum(ids), 0)::pg_catalog.int8,"
		" pg_catalog.min(generation),"
		" (SELECT pg_catalog.min(claimed_at) FROM {c})"
		" FROM {m}"
	}
};

static Oid
parameter_type(const DedupSet *set, char letter)
{
	switch (letter)
	{
		case 't':
			return TEXTOID;
		case 'b':
			return INT8OID;
		case 'B':
			return INT8ARRAYOID;
		case 'T':
			return TIMESTAMPTZOID;
		case 'X':
			return TIMESTAMPTZARRAYOID;
		case 'i':
			return INTERVALOID;
		case 'p':
			return TIDOID;
		case 'P':
			return TIDARRAYOID;
		case 'x':
			return XIDOID;
		case 'S':
			return set->type;
	}
	elog(ERROR, "no parameter type is written \"%c\"", letter);
	return InvalidOid;
}

/* What stands between braces. */
static void
write_name(StateOwner *owner, const char *name, int length, StringInfo text)
{
	int			table = *name == 'k' ? DEDUP_KEYS :
		*name == 'c' ? DEDUP_CLAIMS :
		*name == 'm' ? DEDUP_CHUNKS : 0;

	if (table != 0)
		appendStringInfoString(text, state_table_name(owner, table));
	else
		appendStringInfo(text, "OPERATOR(pg_catalog.%.*s)", length, name);
}

/* StateKind.statement */
static int
write_statement(StateOwner *owner, int n, StringInfo text, Oid *types)
{
	const StatementText *statement = &statement_text[n];
	int			nargs = strlen(statement->types);

	for (int i = 0; i < nargs; i++)
		types[i] = parameter_type((DedupSet *) owner, statement->types[i]);
	for (const char *p = statement->text; *p != '\0'; p++)
	{
		const char *end;

		if (*p != '{')
		{
			appendStringInfoChar(text, *p);
			continue;
		}
		end = strchr(p, '}');
		write_name(owner, p + 1, end - p - 1, text);
		p = end;
	}
	return nargs;
}

/* StateKind.reads_all */
static bool
reads_all(int n)
{
	return n == DEDUP_LIST || n == DEDUP_LIST_IN_ORDER ||
		n == DEDUP_LIST_DUE || n == DEDUP_STATS;
}

static const StateKind dedup_kind = {
	.size = sizeof(DedupSet),
	.resolve = resolve_set,
	.statement = write_statement,
	.reads_all = reads_all
};

/* The set that the OID is of; the caller is connected to SPI. */
DedupSet *
dedup_open_relation(Oid relid)
{
	return (DedupSet *) state_owner(&dedup_kind, relid);
}

/* The same if the session knows it already, else NULL; without SPI. */
DedupSet *
dedup_known(Oid relid)
{
	return (DedupSet *) state_known_owner(&dedup_kind, relid);
}

/* Reports an argument that is NULL. */
void
dedup_not_null(FunctionCallInfo fcinfo, int argno, const char *what)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", what)));
}

/* The set that is argument 0; the caller is connected to SPI. */
DedupSet *
dedup_open(FunctionCallInfo fcinfo)
{
	dedup_not_null(fcinfo, 0, "dedup set");
	return dedup_open_relation(PG_GETARG_OID(0));
}

/* The key that is argument 1. */
Datum
dedup_key(FunctionCallInfo fcinfo)
{
	dedup_not_null(fcinfo, 1, "key");
	return PointerGetDatum(PG_GETARG_TEXT_PP(1));
}

/* The ids that are argument 2, at least one, palloc'd. */
int64 *
dedup_batch(FunctionCallInfo fcinfo, int *n)
{
	int64	   *ids;

	dedup_not_null(fcinfo, 2, "array of ids");
	ids = roaring64_array_values(PG_GETARG_ARRAYTYPE_P(2), n);
	if (*n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array of ids must not be empty"),
				 errhint("Call the function only if there are ids.")));
	if (*n > DEDUP_MAX_BATCH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("batch of %d ids is too large", *n),
				 errdetail("A batch has at most %d ids.", DEDUP_MAX_BATCH),
				 errhint("Call the function several times.")));
	return ids;
}

/* For qsort and bsearch. */
int
dedup_compare_ids(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* Reports if nothing can be written here. */
void
dedup_writable(const char *function)
{
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
}

void
dedup_connect(void)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

/* The element of a chunk that an id is. */
int64
dedup_place(const DedupSet *set, int64 id)
{
	return set->snowflake ? snowflake_fold(id) : id;
}

/* The id that an element of a chunk is. */
int64
dedup_id(const DedupSet *set, int64 place)
{
	return set->snowflake ? snowflake_unfold(place) : place;
}
