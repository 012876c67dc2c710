/*-------------------------------------------------------------------------
 *
 * set.c
 *	  What a session knows of dedup sets, and their prepared statements.
 *
 * One hash table for the session, by the OID of the set's first table.  When
 * any table of a set or a schema changes, the set is marked stale, which can
 * happen while one of its statements runs.  So it is freed only at the end of
 * the transaction, and the next call makes another: statements name tables,
 * and after a rename the old text would find nothing, or another table.
 *
 * Statements name objects of the extension too, which may be moved to another
 * schema.  That makes another set as well.
 *
 * src/dedup/set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "dedup/dedup.h"
#include "planner/server.h"
#include "type/ids.h"
#include "type/roaring64.h"

typedef struct SetEntry
{
	Oid			relid;			/* the hash key */
	DedupSet   *set;			/* NULL if it could not be made */
} SetEntry;

static HTAB *sets = NULL;
static DedupSet *replaced = NULL;	/* by another, in this transaction */
static bool any_stale = false;

/*
 * The statements.  %1, %2 and %3 stand for the tables of claims, chunks and
 * windows, %4 for the extension's schema, %5 for chunk_bits.  What is in
 * brackets is for sets that ascend.  Each has one plan for all sets of values,
 * which finds all rows by their index.
 *
 * The arguments are the key, then an id, its chunk and its place there; or ids
 * in ascending order, their places and the times of their claims.  Batches go
 * in in that order: two of them meet in the same order and never deadlock.
 */
#define EQUALS " OPERATOR(pg_catalog.=) "
#define IN_CHUNK \
	"EXISTS (SELECT FROM %2 WHERE key" EQUALS "$1 AND chunk" EQUALS "$3" \
	" AND members OPERATOR(%4.@>) $4)"
#define NOT_FORGOTTEN(id) \
	"[ AND (" id " OPERATOR(pg_catalog.<=)" \
	" (SELECT forgotten FROM %3 WHERE key" EQUALS "$1)) IS NOT TRUE]"
#define WITH_KNOWN \
	"WITH given AS MATERIALIZED (SELECT id, place, t FROM ROWS FROM" \
	" (pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4))" \
	" AS u (id, place, t)), known AS MATERIALIZED (" \
	"SELECT %4.roaring64_or_agg(k.places) AS places FROM (" \
	"SELECT place OPERATOR(pg_catalog.>>) %5 AS chunk," \
	" %4.roaring64_agg(place) AS places FROM given GROUP BY 1) AS g," \
	" LATERAL (SELECT %4.roaring64_or_agg(members OPERATOR(%4.&) g.places)" \
	" AS places FROM %2 WHERE key" EQUALS "$1 AND chunk" EQUALS "g.chunk) AS k) "
#define IS_KNOWN "(SELECT places FROM known) OPERATOR(%4.@>) place"

typedef struct Statement
{
	const char *text;
	int			nargs;
	Oid			types[4];
	int			result;
} Statement;

static const Statement statements[DEDUP_STATEMENTS] = {
	[DEDUP_SEEN] = {
		"SELECT $2 WHERE EXISTS (SELECT FROM %1 WHERE key" EQUALS "$1"
		" AND id" EQUALS "$2) OR " IN_CHUNK,
		4, {TEXTOID, INT8OID, INT8OID, INT8OID}, SPI_OK_SELECT
	},
	[DEDUP_CLAIM] = {
		"INSERT INTO %1 (key, id, claimed_at)"
		" SELECT $1, $2, pg_catalog.clock_timestamp() WHERE NOT " IN_CHUNK
		NOT_FORGOTTEN("$2") " ON CONFLICT (key, id) DO NOTHING",
		4, {TEXTOID, INT8OID, INT8OID, INT8OID}, SPI_OK_INSERT
	},
	[DEDUP_SEEN_MANY] = {
		WITH_KNOWN "SELECT id FROM given WHERE " IS_KNOWN
		" UNION ALL SELECT id FROM %1 WHERE key" EQUALS "$1"
		" AND id" EQUALS "ANY ($2)",
		4, {TEXTOID, INT8ARRAYOID, INT8ARRAYOID, TIMESTAMPTZARRAYOID},
		SPI_OK_SELECT
	},
	[DEDUP_CLAIM_MANY] = {
		WITH_KNOWN "INSERT INTO %1 (key, id, claimed_at)"
		" SELECT $1, id, t FROM given WHERE (" IS_KNOWN ") IS NOT TRUE"
		NOT_FORGOTTEN("id") " ORDER BY id"
		" ON CONFLICT (key, id) DO NOTHING RETURNING id",
		4, {TEXTOID, INT8ARRAYOID, INT8ARRAYOID, TIMESTAMPTZARRAYOID},
		SPI_OK_INSERT_RETURNING
	},
	[DEDUP_FORGOTTEN] = {
		"SELECT forgotten FROM %3 WHERE key" EQUALS "$1"
		" AND forgotten IS NOT NULL",
		1, {TEXTOID}, SPI_OK_SELECT
	}
};

static void
table_changed(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	SetEntry   *entry;

	hash_seq_init(&status, sets);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		DedupSet   *set = entry->set;

		if (set == NULL || set->stale)
			continue;
		for (int i = 0; i < DEDUP_TABLES; i++)
		{
			if (!OidIsValid(relid) || set->tables[i] == relid)
				set->stale = any_stale = true;
		}
	}
}

static void
schema_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	table_changed(arg, InvalidOid);
}

static void
free_set(DedupSet *set)
{
	for (int i = 0; i < DEDUP_STATEMENTS; i++)
	{
		if (set->plans[i] != NULL)
			SPI_freeplan(set->plans[i]);
	}
	MemoryContextDelete(set->context);
}

/* At the end of a transaction, when no statement runs, stale sets are freed. */
static void
free_stale(XactEvent event, void *arg)
{
	HASH_SEQ_STATUS status;
	SetEntry   *entry;

	if (!any_stale || (event != XACT_EVENT_COMMIT &&
					   event != XACT_EVENT_ABORT &&
					   event != XACT_EVENT_PREPARE))
		return;
	any_stale = false;
	while (replaced != NULL)
	{
		DedupSet   *set = replaced;

		replaced = set->next;
		free_set(set);
	}
	hash_seq_init(&status, sets);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->set != NULL && !entry->set->stale)
			continue;
		if (entry->set != NULL)
			free_set(entry->set);
		hash_search(sets, &entry->relid, HASH_REMOVE, NULL);
	}
}

static void
make_hash_table(void)
{
	HASHCTL		control = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(SetEntry)
	};

	sets = hash_create("roaring64 dedup sets", 16, &control,
					   HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(table_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, schema_changed, (Datum) 0);
	RegisterXactCallback(free_stale, NULL);
}

/* The qualified, quoted name of a relation. */
static char *
relation_name(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *schema = get_namespace_name(get_rel_namespace(relid));

	if (name == NULL || schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(schema, name);
}

static void
not_a_set(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a dedup set", relation_name(relid)),
			 errhint("Name a table that roaring64_dedup_create has made.")));
}

/* Whether a table has a column of the type. */
static bool
has_column(Oid relid, const char *name, Oid type)
{
	AttrNumber	attno = get_attnum(relid, name);

	return attno != InvalidAttrNumber && get_atttype(relid, attno) == type;
}

/* Column n (from 1) of the row of options; never NULL. */
static Datum
option(DedupSet *set, int n)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0],
									  SPI_tuptable->tupdesc, n, &isnull);

	if (isnull)
		not_a_set(set->relid);
	return value;
}

/* Reads the row of options, with the snapshot of the calling statement. */
static void
read_options(DedupSet *set)
{
	static const char *const tables[] = {"claims", "chunks", "windows"};
	static const char *const flags[] = {"ascending", "snowflake", "owned"};
	Oid			schema = get_rel_namespace(set->relid);
	AttrNumber	members;

	for (int i = 0; i < 3; i++)
	{
		if (!has_column(set->relid, tables[i], TEXTOID) ||
			!has_column(set->relid, flags[i], BOOLOID))
			not_a_set(set->relid);
	}
	if (!has_column(set->relid, "chunk_bits", INT4OID))
		not_a_set(set->relid);
	if (SPI_execute(psprintf("SELECT claims, chunks, windows, ascending,"
							 " snowflake, owned, chunk_bits FROM ONLY %s",
							 relation_name(set->relid)),
					true, 2) != SPI_OK_SELECT || SPI_processed != 1)
		not_a_set(set->relid);
	for (int i = 0; i < 3; i++)
	{
		char	   *name = TextDatumGetCString(option(set, i + 1));
		Oid			relid = get_relname_relid(name, schema);

		if (!OidIsValid(relid))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("table \"%s\" of dedup set \"%s\" does not exist",
							name, get_rel_name(set->relid)),
					 errdetail("It is looked for in the schema of the set."),
					 errhint("If it was renamed, write its name into column \"%s\" of \"%s\".",
							 tables[i], get_rel_name(set->relid))));
		set->tables[DEDUP_CLAIMS + i] = relid;
	}
	set->ascending = DatumGetBool(option(set, 4));
	set->snowflake = DatumGetBool(option(set, 5));
	set->owned = DatumGetBool(option(set, 6));
	set->chunk_bits = DatumGetInt32(option(set, 7));
	members = get_attnum(set->tables[DEDUP_CHUNKS], "members");
	if (set->chunk_bits < 0 || set->chunk_bits > 63 ||
		members == InvalidAttrNumber ||
		!roaring64_is_type(get_atttype(set->tables[DEDUP_CHUNKS], members)))
		not_a_set(set->relid);
	SPI_freetuptable(SPI_tuptable);
}

/* See dedup.h. */
DedupSet *
dedup_open(Oid relid, Oid funcid)
{
	Oid			home = get_func_namespace(funcid);
	SetEntry   *entry;
	DedupSet   *set;
	MemoryContext context;
	bool		found;

	if (sets == NULL)
		make_hash_table();
	entry = hash_search(sets, &relid, HASH_ENTER, &found);
	if (!found)
		entry->set = NULL;
	set = entry->set;
	if (set != NULL && !set->stale && set->home == home)
		return set;

	context = AllocSetContextCreate(CurrentMemoryContext, "roaring64 dedup set",
									ALLOCSET_SMALL_SIZES);
	set = MemoryContextAllocZero(context, sizeof(DedupSet));
	set->relid = set->tables[DEDUP_SET] = relid;
	set->home = home;
	set->context = context;
	if (entry->set != NULL)
	{
		entry->set->next = replaced;
		replaced = entry->set;
		entry->set = NULL;
	}
	any_stale = true;			/* for an entry that stays empty */
	read_options(set);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry = hash_search(sets, &relid, HASH_ENTER, &found);
	entry->set = set;
	return set;
}

/* The text of a statement with what stands for names. */
static char *
statement_text(DedupSet *set, const char *text)
{
	StringInfoData result;
	bool		skip = false;

	initStringInfo(&result);
	for (const char *p = text; *p != '\0'; p++)
	{
		if (*p == '[')
			skip = !set->ascending;
		else if (*p == ']')
			skip = false;
		else if (skip)
			continue;
		else if (*p != '%')
			appendStringInfoChar(&result, *p);
		else if (*++p == '4')
			appendStringInfoString(&result, quote_identifier(get_namespace_name(set->home)));
		else if (*p == '5')
			appendStringInfo(&result, "%d", set->chunk_bits);
		else
			appendStringInfoString(&result, relation_name(set->tables[*p - '0']));
	}
	return result.data;
}

/* A statement of the set, prepared on first use. */
static SPIPlanPtr
get_plan(DedupSet *set, DedupStatement n)
{
	const Statement *statement = &statements[n];
	SPIPlanPtr	plan = set->plans[n];

	if (plan != NULL)
		return plan;
	plan = SPI_prepare_cursor(statement_text(set, statement->text),
							  statement->nargs, (Oid *) statement->types,
							  CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare statement %d of a dedup set", (int) n);
	return set->plans[n] = plan;
}

/*
 * See dedup.h.  Statements are executed, planned now or before, without
 * sequential scans: a plan that is kept must find its rows by their index, also
 * where the table was empty when it was made and is not any more.  That may be
 * at any execution, as plans are made anew after DISCARD PLANS and much else.
 */
uint64
dedup_run(DedupSet *set, DedupStatement n, Datum *values, bool read_only)
{
	bool		seqscan = enable_seqscan;
	int			code;

	PG_TRY();
	{
		enable_seqscan = false;
		code = SPI_execute_plan(get_plan(set, n), values, NULL, read_only, 0);
	}
	PG_FINALLY();
	{
		enable_seqscan = seqscan;
	}
	PG_END_TRY();
	if (code != statements[n].result)
		elog(ERROR, "statement %d of a dedup set returned %s", (int) n,
			 SPI_result_code_string(code));
	/* a trigger of the user's may alter a table that the next one reads */
	if (SPI_tuptable != NULL && SPI_processed > 0 &&
		SPI_gettypeid(SPI_tuptable->tupdesc, 1) != INT8OID)
		not_a_set(set->relid);
	return SPI_processed;
}

/* See dedup.h. */
int64
dedup_result(uint64 row)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row],
									   SPI_tuptable->tupdesc, 1, &isnull));
}

/* See dedup.h. */
bool
dedup_forgotten(DedupSet *set, Datum key, bool read_only, int64 *highest)
{
	if (!set->ascending ||
		dedup_run(set, DEDUP_FORGOTTEN, &key, read_only) == 0)
		return false;
	*highest = dedup_result(0);
	return true;
}

/* See dedup.h. */
void
dedup_not_null(FunctionCallInfo fcinfo, int argno, const char *what)
{
	if (PG_ARGISNULL(argno))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", what)));
}

/* See dedup.h. */
void
dedup_check_key(Datum key)
{
	Size		size = VARSIZE_ANY_EXHDR(DatumGetPointer(key));

	if (size > DEDUP_MAX_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("key is too long"),
				 errdetail("It has %zu bytes; a key has at most %d.", size,
						   DEDUP_MAX_KEY)));
}

/* See dedup.h. */
void
dedup_writable(const char *function)
{
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
}

/* See dedup.h. */
int64
dedup_place(const DedupSet *set, int64 id)
{
	return set->snowflake ? snowflake_fold(id) : id;
}
