/*-------------------------------------------------------------------------
 *
 * statements.c
 *	  The prepared statements of dedup sets, and what a session knows of them.
 *
 * One hash table for the session, by the OID of the set's first table.  When
 * any table of a set or a schema changes, the set is taken out, and the next
 * call makes another: statements name tables, and after a rename the old text
 * would find nothing, or another table.  That can happen while one of its
 * statements runs, so it is freed only with the transaction.
 *
 * src/dedup/statements.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "jit/jit.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
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
 * The statements.  %0 to %3 stand for the tables, %4 for the extension's schema;
 * a type that is not given is roaring64.
 *
 * All but the insertion of a batch have one plan for all their parameters.  A
 * statement that finds rows finds them by their index: see plan_by_index().
 *
 * On Citus, only a statement on one table can have one plan for all, so no
 * other is here; and where an INSERT ... SELECT leaves rows out, Citus counts
 * them as returned, which SPI reports as an error, unless the statement is
 * within another, as that of a batch is.
 *
 * A batch goes in in the order of the array, which is sorted: two of them meet
 * in the same order and never deadlock.
 */
typedef struct Statement
{
	const char *text;
	int			nargs;
	Oid			types[3];
	bool		custom_plan;	/* made for each array */
	bool		by_index;
	int			result;
	const char *columns;		/* of rows: b for bigint, S for roaring64 */
} Statement;

static const Statement statements[DEDUP_STATEMENTS] = {
	[DEDUP_LOOK] = {
		"SELECT members FROM %2 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND chunk OPERATOR(pg_catalog.=) $2",
		2, {TEXTOID, INT8OID}, false, true, SPI_OK_SELECT, "S"
	},
	[DEDUP_CLAIM] = {
		"INSERT INTO %1 (key, id, claimed_at) VALUES ($1, $2, $3)"
		" ON CONFLICT (key, id) DO NOTHING",
		3, {TEXTOID, INT8OID, TIMESTAMPTZOID}, false, false, SPI_OK_INSERT, ""
	},
	[DEDUP_LOOK_MANY] = {
		"SELECT chunk, members FROM %2 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND chunk OPERATOR(pg_catalog.=) ANY ($2) ORDER BY chunk, generation",
		2, {TEXTOID, INT8ARRAYOID}, false, true, SPI_OK_SELECT, "bS"
	},
	[DEDUP_LOOK_CLAIMS] = {
		"SELECT id FROM %1 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND id OPERATOR(pg_catalog.=) ANY ($2)",
		2, {TEXTOID, INT8ARRAYOID}, false, true, SPI_OK_SELECT, "b"
	},
	[DEDUP_CLAIM_MANY] = {
		"WITH claimed AS (INSERT INTO %1 (key, id, claimed_at)"
		" SELECT $1, i, $3 FROM pg_catalog.unnest($2) AS i"
		" ON CONFLICT (key, id) DO NOTHING RETURNING id) SELECT id FROM claimed",
		3, {TEXTOID, INT8ARRAYOID, TIMESTAMPTZOID}, true, false,
		SPI_OK_SELECT, "b"
	},
	[DEDUP_UNDO] = {
		"DELETE FROM %1 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND id OPERATOR(pg_catalog.=) ANY ($2)",
		2, {TEXTOID, INT8ARRAYOID}, false, true, SPI_OK_DELETE, ""
	},
	[DEDUP_FORGOTTEN] = {
		"SELECT forgotten FROM %3 WHERE key OPERATOR(pg_catalog.=) $1"
		" AND forgotten IS NOT NULL",
		1, {TEXTOID}, false, true, SPI_OK_SELECT, "b"
	},
	[DEDUP_APPEND] = {
		"SELECT a.fresh, a.old FROM %4._roaring64_dedup_append(%5, $1, $2) AS a",
		2, {TEXTOID, InvalidOid}, false, false, SPI_OK_SELECT, "SS"
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

/* The text of a statement with the names of what it works on. */
static char *
statement_text(DedupSet *set, DedupStatement n)
{
	StringInfoData text;

	initStringInfo(&text);
	for (const char *p = statements[n].text; *p != '\0'; p++)
	{
		if (*p != '%')
			appendStringInfoChar(&text, *p);
		else if (*++p == '4')
			appendStringInfoString(&text, set->schema);
		else if (*p == '5')
			appendStringInfo(&text, "%u", set->tables[DEDUP_SET]);
		else
			appendStringInfoString(&text, relation_name(set->tables[*p - '0']));
	}
	return text.data;
}

/* A statement of the set, prepared on first use. */
static SPIPlanPtr
get_plan(DedupSet *set, DedupStatement n)
{
	const Statement *statement = &statements[n];
	SPIPlanPtr	plan = set->plans[n];
	Oid			types[3];

	if (plan != NULL)
		return plan;
	for (int i = 0; i < statement->nargs; i++)
		types[i] = OidIsValid(statement->types[i]) ? statement->types[i] :
			set->type;
	plan = SPI_prepare_cursor(statement_text(set, n), statement->nargs, types,
							  statement->custom_plan ?
							  CURSOR_OPT_CUSTOM_PLAN : CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare statement %d of a dedup set", (int) n);
	return set->plans[n] = plan;
}

/*
 * Makes the plan of a statement, if there is none that is valid, without
 * sequential scans: a plan that is kept must find its rows by their index, also
 * where the table was empty when it was made and is not any more.  It finds few
 * rows: a bitmap and compiled code cost more than they save.
 *
 * The settings hold for the planner alone, and not for the statement, which may
 * fire triggers.  It uses this plan, for its tables are locked from here on, and
 * nothing that is done before it runs could have found the plan invalid.
 */
static void
plan_by_index(SPIPlanPtr plan)
{
	bool		seqscan = enable_seqscan;
	bool		bitmapscan = enable_bitmapscan;
	bool		jit = jit_enabled;
	CachedPlan *cached;

	PG_TRY();
	{
		enable_seqscan = false;
		enable_bitmapscan = false;
		jit_enabled = false;
		cached = SPI_plan_get_cached_plan(plan);
	}
	PG_FINALLY();
	{
		enable_seqscan = seqscan;
		enable_bitmapscan = bitmapscan;
		jit_enabled = jit;
	}
	PG_END_TRY();
	ReleaseCachedPlan(cached, CurrentResourceOwner);
}

/*
 * Runs a statement.  Returns the number of rows.  A trigger of the user's may have
 * altered a table that it reads, so what it returns is looked at.
 */
uint64
dedup_run(DedupSet *set, DedupStatement n, Datum *values, DedupView view)
{
	const Statement *statement = &statements[n];
	SPIPlanPtr	plan = get_plan(set, n);
	Snapshot	snapshot = InvalidSnapshot;
	int			code;

	if (statement->by_index)
		plan_by_index(plan);
	if (view == DEDUP_LATEST && IsolationUsesXactSnapshot())
	{
		/* what this transaction has done so far must be in the snapshot */
		CommandCounterIncrement();
		snapshot = GetLatestSnapshot();
	}
	/* a reading statement has the given snapshot or else the active one */
	code = SPI_execute_snapshot(plan, values, NULL, snapshot, InvalidSnapshot,
								snapshot != InvalidSnapshot ||
								view == DEDUP_CALLERS, true, 0);
	if (code != statement->result)
		elog(ERROR, "statement %d of a dedup set returned %s", (int) n,
			 SPI_result_code_string(code));
	for (int i = 0; statement->columns[i] != '\0'; i++)
	{
		if (SPI_gettypeid(SPI_tuptable->tupdesc, i + 1) !=
			(statement->columns[i] == 'S' ? set->type : INT8OID))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a dedup set",
							relation_name(set->tables[DEDUP_SET])),
					 errdetail("A column of its tables has another type.")));
	}
	return SPI_processed;
}

/*
 * Reads the options of a set, with the snapshot of the calling statement.  The
 * SQL function that all others use says whether they are those of a set.
 */
static void
read_options(DedupSet *set)
{
	Oid			type = REGCLASSOID;
	Datum		value = ObjectIdGetDatum(set->tables[DEDUP_SET]);
	char	   *query = psprintf("SELECT o.ascending, o.snowflake, o.owned,"
								 " o.distributed, o.chunk_bits,"
								 " o.names[1]::pg_catalog.regclass,"
								 " o.names[2]::pg_catalog.regclass,"
								 " o.names[3]::pg_catalog.regclass"
								 " FROM %s._roaring64_dedup_options($1) AS o",
								 set->schema);
	Datum		row[8];

	if (SPI_execute_with_args(query, 1, &type, &value, NULL, true,
							  0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not read the options of a dedup set");
	for (int i = 0; i < lengthof(row); i++)
	{
		bool		isnull;

		row[i] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
							   i + 1, &isnull);
	}
	set->ascending = DatumGetBool(row[0]);
	set->snowflake = DatumGetBool(row[1]);
	set->owned = DatumGetBool(row[2]);
	set->distributed = DatumGetBool(row[3]);
	set->chunk_bits = DatumGetInt32(row[4]);
	for (int i = DEDUP_CLAIMS; i < DEDUP_TABLES; i++)
		set->tables[i] = DatumGetObjectId(row[4 + i]);
	SPI_freetuptable(SPI_tuptable);
}

/* Returns the set of a first table, which a function of the extension asks for. */
static DedupSet *
find_set(Oid relid, Oid function)
{
	Oid			schema;
	SetEntry   *entry;
	DedupSet   *set;
	MemoryContext context;

	if (sets == NULL)
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
	entry = hash_search(sets, &relid, HASH_FIND, NULL);
	if (entry != NULL)
		return entry->set;

	schema = get_func_namespace(function);
	context = AllocSetContextCreate(CurrentMemoryContext, "roaring64 dedup set",
									ALLOCSET_SMALL_SIZES);
	set = MemoryContextAllocZero(context, sizeof(DedupSet));
	set->context = context;
	set->callback.func = free_plans;
	set->callback.arg = set;
	MemoryContextRegisterResetCallback(context, &set->callback);
	set->tables[DEDUP_SET] = relid;
	set->schema = MemoryContextStrdup(context,
									  quote_identifier(get_namespace_name(schema)));
	set->type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
								CStringGetDatum("roaring64"),
								ObjectIdGetDatum(schema));
	read_options(set);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry = hash_search(sets, &relid, HASH_ENTER, NULL);
	return entry->set = set;
}

/*
 * Begins a function with the arguments set, key and a third, which must not be
 * NULL.  One that writes is given by its name; it cannot do so on a standby and
 * elsewhere.  Connects to SPI, and returns the set, valid until the end of the
 * transaction, and the key.  The set's first table is locked until then, whoever
 * works with it; only drop waits for that.
 */
DedupSet *
dedup_open(FunctionCallInfo fcinfo, const char *writer, const char *third,
		   Datum *key)
{
	const char *const names[] = {"dedup set", "key", third};
	Oid			relid = PG_GETARG_OID(0);
	AclResult	allowed;
	DedupSet   *set;
	Size		size;

	if (writer != NULL)
	{
		PreventCommandDuringRecovery(writer);
		PreventCommandIfReadOnly(writer);
		PreventCommandIfParallelMode(writer);
	}
	for (int i = 0; i < 3; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", names[i])));
	}
	*key = PointerGetDatum(PG_GETARG_TEXT_PP(1));
	size = VARSIZE_ANY_EXHDR(DatumGetPointer(*key));
	if (size > DEDUP_MAX_KEY)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("key is too long"),
				 errdetail("It has %zu bytes; a key has at most %d.", size,
						   DEDUP_MAX_KEY)));

	allowed = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_TABLE, get_rel_name(relid));
	LockRelationOid(relid, AccessShareLock);
	SPI_connect();
	set = find_set(relid, fcinfo->flinfo->fn_oid);
	/* another node cannot be asked for its latest snapshot */
	if (writer != NULL && set->distributed && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ids of a distributed dedup set can be claimed in READ COMMITTED only"),
				 errhint("Use SET TRANSACTION ISOLATION LEVEL READ COMMITTED.")));
	return set;
}

/* Returns an id as an element of a chunk. */
int64
dedup_place(const DedupSet *set, int64 id)
{
	return set->snowflake ? snowflake_fold(id) : id;
}
