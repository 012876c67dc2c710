/*-------------------------------------------------------------------------
 *
 * set.c
 *	  What a session knows of dedup sets, and their prepared statements.
 *
 * One hash table for the session, by the OID of the set's first table.  When
 * any table of a set or a schema changes, the set is taken out, and the next
 * call makes another: statements name tables, and after a rename the old text
 * would find nothing, or another table.  That can happen while one of its
 * statements runs, so it is freed only with the transaction.
 *
 * No statement names an object of the extension, which may be moved to another
 * schema.
 *
 * src/dedup/set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "dedup/dedup.h"
#include "server_planner.h"
#include "type/roaring64.h"
#include "type/snowflake.h"

typedef struct SetEntry
{
	Oid			relid;			/* the hash key */
	DedupSet   *set;
} SetEntry;

static HTAB *sets = NULL;

/*
 * The statements.  %0 to %3 stand for the tables.  What takes one id has one
 * plan for all; that for many is made for each array, as it depends on how long
 * that is.
 *
 * On Citus, only a statement on one table can have one plan for all, so no
 * other is here; and where an INSERT ... SELECT leaves rows out, Citus counts
 * them as returned, which SPI reports as an error, unless the statement is
 * within another.
 *
 * A batch goes in in the order of the array, which is sorted: two of them meet
 * in the same order and never deadlock.
 */
typedef struct Statement
{
	const char *text;
	int			nargs;
	Oid			types[3];
	int			cursor_options;
	int			result;
	const char *columns;		/* of rows: b for bigint, S for roaring64 */
} Statement;

#define CLAIM_MANY \
	"INSERT INTO %1 (key, id, claimed_at)" \
	" SELECT $1, i, $3 FROM pg_catalog.unnest($2) AS i" \
	" ON CONFLICT (key, id) DO NOTHING RETURNING id"

static const Statement statements[DEDUP_STATEMENTS] = {
	/* all columns, as the table may be none of ours */
	[DEDUP_OPTIONS] = {
		"SELECT * FROM ONLY %0 LIMIT 2", 0, {0}, CURSOR_OPT_GENERIC_PLAN,
		SPI_OK_SELECT, ""
	},
	[DEDUP_LOOK] = {
		"SELECT members FROM %2 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND chunk OPERATOR(pg_catalog.=) $2",
		2, {TEXTOID, INT8OID}, CURSOR_OPT_GENERIC_PLAN, SPI_OK_SELECT, "S"
	},
	[DEDUP_LOOK_CLAIM] = {
		"SELECT id FROM %1 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND id OPERATOR(pg_catalog.=) $2",
		2, {TEXTOID, INT8OID}, CURSOR_OPT_GENERIC_PLAN, SPI_OK_SELECT, "b"
	},
	[DEDUP_CLAIM] = {
		"INSERT INTO %1 (key, id, claimed_at) VALUES ($1, $2, $3)"
		" ON CONFLICT (key, id) DO NOTHING",
		3, {TEXTOID, INT8OID, TIMESTAMPTZOID}, CURSOR_OPT_GENERIC_PLAN,
		SPI_OK_INSERT, ""
	},
	[DEDUP_LOOK_MANY] = {
		"SELECT chunk, members FROM %2 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND chunk OPERATOR(pg_catalog.=) ANY ($2) ORDER BY chunk, generation",
		2, {TEXTOID, INT8ARRAYOID}, CURSOR_OPT_CUSTOM_PLAN, SPI_OK_SELECT, "bS"
	},
	[DEDUP_LOOK_CLAIMS] = {
		"SELECT id FROM %1 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND id OPERATOR(pg_catalog.=) ANY ($2)",
		2, {TEXTOID, INT8ARRAYOID}, CURSOR_OPT_CUSTOM_PLAN, SPI_OK_SELECT, "b"
	},
	[DEDUP_CLAIM_MANY] = {
		CLAIM_MANY,
		3, {TEXTOID, INT8ARRAYOID, TIMESTAMPTZOID},
		CURSOR_OPT_CUSTOM_PLAN, SPI_OK_INSERT_RETURNING, "b"
	},
	[DEDUP_CLAIM_MANY_DISTRIBUTED] = {
		"WITH claimed AS (" CLAIM_MANY ") SELECT id FROM claimed",
		3, {TEXTOID, INT8ARRAYOID, TIMESTAMPTZOID},
		CURSOR_OPT_CUSTOM_PLAN, SPI_OK_SELECT, "b"
	},
	[DEDUP_UNDO] = {
		"DELETE FROM %1 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND id OPERATOR(pg_catalog.=) ANY ($2)",
		2, {TEXTOID, INT8ARRAYOID}, CURSOR_OPT_CUSTOM_PLAN, SPI_OK_DELETE, ""
	},
	[DEDUP_FORGOTTEN] = {
		"SELECT forgotten FROM %3 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND forgotten IS NOT NULL",
		1, {TEXTOID}, CURSOR_OPT_GENERIC_PLAN, SPI_OK_SELECT, "b"
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
		bool		changed = !OidIsValid(relid);

		for (int i = 0; i < DEDUP_TABLES; i++)
			changed |= set->tables[i] == relid;
		if (!changed)
			continue;
		MemoryContextSetParent(set->context, TopTransactionContext);
		hash_search(sets, &entry->relid, HASH_REMOVE, NULL);
	}
}

static void
schema_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	table_changed(arg, InvalidOid);
}

static void
free_plans(void *arg)
{
	DedupSet   *set = arg;

	for (int i = 0; i < DEDUP_STATEMENTS; i++)
	{
		if (set->plans[i] != NULL)
			SPI_freeplan(set->plans[i]);
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
}

/* Returns the qualified, quoted name of a relation. */
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

/* The text of a statement with the names of the tables. */
static char *
statement_text(DedupSet *set, DedupStatement n)
{
	StringInfoData text;

	initStringInfo(&text);
	for (const char *p = statements[n].text; *p != '\0'; p++)
	{
		if (*p == '%')
			appendStringInfoString(&text,
								   relation_name(set->tables[*++p - '0']));
		else
			appendStringInfoChar(&text, *p);
	}
	return text.data;
}

/* A statement of the set, prepared on first use. */
static SPIPlanPtr
get_plan(DedupSet *set, DedupStatement n)
{
	const Statement *statement = &statements[n];
	SPIPlanPtr	plan = set->plans[n];

	if (plan != NULL)
		return plan;
	plan = SPI_prepare_cursor(statement_text(set, n), statement->nargs,
							  (Oid *) statement->types,
							  statement->cursor_options);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare statement %d of a dedup set", (int) n);
	return set->plans[n] = plan;
}

/*
 * After a statement.  A trigger of the user's may have altered a table that the
 * next one reads.
 */
static uint64
checked(DedupSet *set, int code, DedupStatement n)
{
	const char *columns = statements[n].columns;

	if (code != statements[n].result)
		elog(ERROR, "statement %d of a dedup set returned %s", (int) n,
			 SPI_result_code_string(code));
	for (int i = 0; columns[i] != '\0'; i++)
	{
		if (SPI_gettypeid(SPI_tuptable->tupdesc, i + 1) !=
			(columns[i] == 'S' ? set->type : INT8OID))
			not_a_set(set->tables[DEDUP_SET]);
	}
	return SPI_processed;
}

/* A statement in the form that the set's tables take. */
static DedupStatement
form_of(const DedupSet *set, DedupStatement n)
{
	return set->distributed && n == DEDUP_CLAIM_MANY ?
		DEDUP_CLAIM_MANY_DISTRIBUTED : n;
}

/* Says which privileges are needed, where one is missing. */
static void
hint_at_privileges(void *arg)
{
	if (geterrcode() == ERRCODE_INSUFFICIENT_PRIVILEGE)
		errhint("To look into a dedup set takes SELECT on its tables; to claim from it, INSERT and DELETE on its claims too.");
}

/*
 * Executes a statement, planned now or before, without sequential scans: a plan
 * that is kept must find its rows by their index, also where the table was
 * empty when it was made and is not any more.  That may be at any execution, as
 * plans are made anew after DISCARD PLANS and much else.  It finds few rows: a
 * bitmap and compiled code cost more than they save, and the latter would be made
 * before PostgreSQL 18, where a scan that cannot be avoided seems to cost a lot.
 */
static uint64
execute(DedupSet *set, DedupStatement n, Datum *values, Snapshot snapshot,
		bool read_only)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = hint_at_privileges
	};
	bool		seqscan = enable_seqscan;
	bool		bitmapscan = enable_bitmapscan;
	bool		jit = jit_enabled;
	int			code;

	error_context_stack = &callback;
	PG_TRY();
	{
		enable_seqscan = false;
		enable_bitmapscan = false;
		jit_enabled = false;
		code = SPI_execute_snapshot(get_plan(set, n), values, NULL, snapshot,
									InvalidSnapshot, read_only, true, 0);
	}
	PG_FINALLY();
	{
		enable_seqscan = seqscan;
		enable_bitmapscan = bitmapscan;
		jit_enabled = jit;
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
	return checked(set, code, n);
}

/*
 * Runs a statement with a snapshot of its own.  Returns the number of rows.
 */
uint64
dedup_run(DedupSet *set, DedupStatement n, Datum *values)
{
	return execute(set, form_of(set, n), values, InvalidSnapshot, false);
}

/* The same, seeing what is committed by now, whatever the isolation level. */
uint64
dedup_run_latest(DedupSet *set, DedupStatement n, Datum *values)
{
	if (!IsolationUsesXactSnapshot())
		return dedup_run(set, n, values);
	/* what this transaction has done so far must be in the snapshot */
	CommandCounterIncrement();
	return execute(set, n, values, GetLatestSnapshot(), true);
}

/* The same, seeing what the calling statement sees.  Works on a standby. */
uint64
dedup_read(DedupSet *set, DedupStatement n, Datum *values)
{
	return execute(set, form_of(set, n), values, InvalidSnapshot, true);
}

/* A column of the row of options, which must be there and not be NULL. */
static Datum
option(DedupSet *set, const char *name, Oid type)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;
	int			column = SPI_fnumber(desc, name);
	Datum		value = 0;
	bool		isnull = true;

	if (column > 0 && SPI_gettypeid(desc, column) == type)
		value = SPI_getbinval(SPI_tuptable->vals[0], desc, column, &isnull);
	if (isnull)
		not_a_set(set->tables[DEDUP_SET]);
	return value;
}

/* Whether Citus has a table: it lists those in one of its own. */
static bool
is_distributed(Oid relid)
{
	Oid			type = OIDOID;
	Datum		value = ObjectIdGetDatum(relid);

	return OidIsValid(get_relname_relid("pg_dist_partition", PG_CATALOG_NAMESPACE)) &&
		SPI_execute_with_args("SELECT 1 FROM pg_catalog.pg_dist_partition"
							  " WHERE logicalrelid::oid OPERATOR(pg_catalog.=) $1",
							  1, &type, &value, NULL, true, 1) == SPI_OK_SELECT &&
		SPI_processed > 0;
}

/* Reads the row of options, with the snapshot of the calling statement. */
static void
read_options(DedupSet *set)
{
	static const char *const tables[] = {NULL, "claims", "chunks", "windows"};
	Oid			relid = set->tables[DEDUP_SET];
	AttrNumber	members;

	if (dedup_read(set, DEDUP_OPTIONS, NULL) != 1)
		not_a_set(relid);
	for (int i = DEDUP_CLAIMS; i < DEDUP_TABLES; i++)
	{
		char	   *name = TextDatumGetCString(option(set, tables[i], TEXTOID));

		set->tables[i] = get_relname_relid(name, get_rel_namespace(relid));
		if (!OidIsValid(set->tables[i]))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("table \"%s\" of dedup set \"%s\" does not exist",
							name, get_rel_name(relid)),
					 errdetail("It is looked for in the schema of the set."),
					 errhint("If it was renamed, write its name into column \"%s\" of \"%s\".",
							 tables[i], get_rel_name(relid))));
	}
	set->ascending = DatumGetBool(option(set, "ascending", BOOLOID));
	set->snowflake = DatumGetBool(option(set, "snowflake", BOOLOID));
	set->owned = DatumGetBool(option(set, "owned", BOOLOID));
	set->chunk_bits = DatumGetInt32(option(set, "chunk_bits", INT4OID));
	members = get_attnum(set->tables[DEDUP_CHUNKS], "members");
	if (set->chunk_bits < 0 || set->chunk_bits > 63 ||
		members == InvalidAttrNumber ||
		!roaring64_is_type(set->type = get_atttype(set->tables[DEDUP_CHUNKS], members)))
		not_a_set(relid);
	SPI_freetuptable(SPI_tuptable);
	set->distributed = is_distributed(set->tables[DEDUP_CLAIMS]);
}

/*
 * Returns the set of a table, valid until the end of the transaction.
 * Reports a table that is none.  The caller must be connected to SPI, here
 * and below.
 */
DedupSet *
dedup_open(Oid relid)
{
	SetEntry   *entry;
	DedupSet   *set;
	MemoryContext context;

	if (sets == NULL)
		make_hash_table();
	entry = hash_search(sets, &relid, HASH_FIND, NULL);
	if (entry != NULL)
		return entry->set;

	context = AllocSetContextCreate(CurrentMemoryContext, "roaring64 dedup set",
									ALLOCSET_SMALL_SIZES);
	set = MemoryContextAllocZero(context, sizeof(DedupSet));
	set->context = context;
	set->callback.func = free_plans;
	set->callback.arg = set;
	MemoryContextRegisterResetCallback(context, &set->callback);
	set->tables[DEDUP_SET] = relid;
	read_options(set);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry = hash_search(sets, &relid, HASH_ENTER, NULL);
	return entry->set = set;
}

/* Reports an argument that is NULL: the set, the key, or what comes third. */
void
dedup_not_null(FunctionCallInfo fcinfo, const char *third)
{
	const char *const names[] = {"dedup set", "key", third};

	for (int i = 0; i < 3; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", names[i])));
	}
}

/* Reports a key that is too long. */
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

/* Reports that a function cannot write, on a standby and elsewhere. */
void
dedup_writable(const char *function)
{
	PreventCommandDuringRecovery(function);
	PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
}

/*
 * Reports a set that is distributed, if the snapshot is the transaction's:
 * another node cannot be asked for its latest.
 */
void
dedup_check_isolation(DedupSet *set)
{
	if (set->distributed && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ids of a distributed dedup set can be claimed in READ COMMITTED only"),
				 errhint("Use SET TRANSACTION ISOLATION LEVEL READ COMMITTED.")));
}

/* Returns an id as an element of a chunk. */
int64
dedup_place(const DedupSet *set, int64 id)
{
	return set->snowflake ? snowflake_fold(id) : id;
}
