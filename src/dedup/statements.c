/*-------------------------------------------------------------------------
 *
 * statements.c
 *	  The prepared statements of dedup sets, and a session's cache of sets.
 *
 * The cache is a hash table by the OID of the set's first table.  When any table of a
 * set or a schema changes, the set is removed, and the next call makes another:
 * statements name tables, and after a rename the old text would find no table, or
 * another.  That can happen while one of its statements runs, so it is freed only at
 * the end of the transaction.  If there are more than DEDUP_MAX_SETS then, all are
 * freed; within a transaction their number is bounded by its locks.
 *
 * claims.c decides which statement runs when.
 *
 * src/dedup/statements.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

typedef struct SetEntry
{
	Oid			relid;			/* the hash key */
	DedupSet   *set;
} SetEntry;

static HTAB *sets = NULL;

/*
 * The statements, each on a table of the set.  Parameters and columns are a letter
 * each: k a key, i an id, I ids, c a chunk's number, C several, p a boolean, t a time,
 * m members.
 *
 * A statement that writes one row has a generic plan; on Citus so has one that reads.
 * Elsewhere a custom plan for an array uses the index if the table has many rows
 * now.  On Citus, only a statement on one table, without WITH, can have a generic
 * plan.  But where an INSERT with RETURNING omits rows, Citus counts them as
 * returned, which SPI reports as an error, unless the statement is within another:
 * so on Citus one row is written as a batch is.
 *
 * A batch is inserted in the order of the array, which is sorted, and by one
 * statement, whether rows exist or not: two batches meet in the same order and never
 * deadlock.
 */
typedef struct Statement
{
	const char *text;
	int			table;			/* that %1$s stands for */
	const char *takes;
	const char *columns;		/* of rows */
	int			result;
} Statement;

#define ROWS "INSERT INTO %1$s AS c (key, id, present, claimed_at)"
#define ONE " VALUES ($1, $2, $3, $4)"
#define PUT(rows) \
	ROWS rows \
	" ON CONFLICT (key, id) DO UPDATE SET present = excluded.present," \
	" changed = true, claimed_at = excluded.claimed_at" \
	" WHERE c.present OPERATOR(pg_catalog.<>) excluded.present" \
	" RETURNING id, changed"
#define OF_KEY(column) \
	" WHERE key OPERATOR(pg_catalog.=) $1" \
	" AND " column " OPERATOR(pg_catalog.=) ANY ($2)"

static const Statement statements[DEDUP_STATEMENTS] = {
	[DEDUP_LOOK_ROWS] = {
		"SELECT id, present FROM %1$s" OF_KEY("id"),
		DEDUP_CLAIMS, "kI", "ip", SPI_OK_SELECT
	},
	[DEDUP_LOOK_CHUNKS] = {
		"SELECT chunk, ids FROM %1$s" OF_KEY("chunk"),
		DEDUP_CHUNKS, "kC", "cm", SPI_OK_SELECT
	},
	[DEDUP_LOOK_FLOORS] = {
		"SELECT chunk, ids FROM %1$s AS c WHERE key OPERATOR(pg_catalog.=) $1"
		" AND chunk OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT (SELECT chunk FROM %1$s AS b"
		" WHERE b.key OPERATOR(pg_catalog.=) $1 AND b.chunk OPERATOR(pg_catalog.<=) n"
		" ORDER BY chunk DESC LIMIT 1) FROM pg_catalog.unnest($2) AS n))",
		DEDUP_CHUNKS, "kC", "cm", SPI_OK_SELECT
	},
	[DEDUP_INSERT] = {
		ROWS ONE " ON CONFLICT (key, id) DO NOTHING",
		DEDUP_CLAIMS, "kipt", "", SPI_OK_INSERT
	},
	[DEDUP_PUT_ONE] = {
		PUT(ONE), DEDUP_CLAIMS, "kipt", "ip", SPI_OK_INSERT_RETURNING
	},
	[DEDUP_PUT_MANY] = {
		"WITH put AS (" PUT(" SELECT $1, i, $3, $4 FROM pg_catalog.unnest($2) AS i")
		") SELECT id, changed FROM put",
		DEDUP_CLAIMS, "kIpt", "ip", SPI_OK_SELECT
	},
	[DEDUP_UNDO] = {
		"DELETE FROM %1$s" OF_KEY("id"), DEDUP_CLAIMS, "kI", "", SPI_OK_DELETE
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
		set->changed = true;
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
transaction_ends(XactEvent event, void *arg)
{
	if (hash_get_num_entries(sets) > DEDUP_MAX_SETS)
		table_changed((Datum) 0, InvalidOid);
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

/* The type that a letter of a statement stands for. */
static Oid
type_of(const DedupSet *set, char letter)
{
	static const Oid types[] = {
		['k'] = TEXTOID,['c'] = INT8OID,['C'] = INT8ARRAYOID,
		['p'] = BOOLOID,['t'] = TIMESTAMPTZOID
	};

	return letter == 'i' ? set->id : letter == 'I' ? set->ids :
		letter == 'm' ? set->members : types[(uint8) letter];
}

/* A statement of the set, prepared on first use. */
static SPIPlanPtr
get_plan(DedupSet *set, DedupStatement n)
{
	const Statement *statement = &statements[n];
	SPIPlanPtr	plan = set->plans[n];
	int			nargs = strlen(statement->takes);
	Oid			types[4];
	char	   *query;
	bool		one_plan;

	if (plan != NULL)
		return plan;
	for (int i = 0; i < nargs; i++)
		types[i] = type_of(set, statement->takes[i]);
	one_plan = statement->takes[1] == 'i' ||
		(set->distributed && n != DEDUP_PUT_MANY && n != DEDUP_LOOK_FLOORS);
	query = psprintf(statement->text, relation_name(set->tables[statement->table]));
	plan = SPI_prepare_cursor(query, nargs, types, one_plan ?
							  CURSOR_OPT_GENERIC_PLAN : CURSOR_OPT_CUSTOM_PLAN);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "could not prepare statement %d of a dedup set", (int) n);
	return set->plans[n] = plan;
}

/*
 * Runs a statement, with a snapshot if it reads, and begins to read its rows unless
 * rows is NULL.  Returns their number.  A trigger of the user's may have altered the
 * table, so the types of the columns are checked.
 */
uint64
dedup_run(DedupSet *set, DedupStatement n, Datum *values, Snapshot snapshot,
		  DedupRows *rows)
{
	const Statement *statement = &statements[n];
	uint64		processed;
	int			code;

	SPI_connect();
	code = SPI_execute_snapshot(get_plan(set, n), values, NULL, snapshot,
								InvalidSnapshot, snapshot != InvalidSnapshot,
								true, 0);
	if (code != statement->result)
		elog(ERROR, "statement %d of a dedup set returned %s", (int) n,
			 SPI_result_code_string(code));
	for (int i = 0; statement->columns[i] != '\0'; i++)
	{
		if (SPI_gettypeid(SPI_tuptable->tupdesc, i + 1) !=
			type_of(set, statement->columns[i]))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a dedup set",
							relation_name(set->tables[DEDUP_SET])),
					 errdetail("A column of its tables has another type.")));
	}
	processed = SPI_processed;
	if (rows == NULL)
		SPI_finish();
	else
	{
		rows->table = NULL;
		rows->found = SPI_tuptable;
		rows->remaining = processed;
	}
	return processed;
}

/*
 * Reads the options of a set, with the snapshot of the calling statement, by the SQL
 * function that all others use, which fails if the table is not a set.
 */
static void
read_options(DedupSet *set)
{
	Oid			type = REGCLASSOID;
	Datum		value = ObjectIdGetDatum(set->tables[DEDUP_SET]);
	char	   *query = psprintf("SELECT r.id_type OPERATOR(pg_catalog.<>) 'bigint',"
								 " r.distributed, coalesce(r.chunk_bits, 0),"
								 " r.claims::pg_catalog.regclass,"
								 " r.chunks::pg_catalog.regclass"
								 " FROM pg_catalog.jsonb_to_record(%s._roaring64_dedup_options($1))"
								 " AS r (id_type pg_catalog.text, distributed pg_catalog.bool,"
								 " chunk_bits pg_catalog.int4, claims pg_catalog.text,"
								 " chunks pg_catalog.text)",
								 set->schema);
	Datum		row[5];
	bool		uuids;

	SPI_connect();
	if (SPI_execute_with_args(query, 1, &type, &value, NULL, true,
							  0) != SPI_OK_SELECT || SPI_processed != 1)
		elog(ERROR, "could not read the options of a dedup set");
	for (int i = 0; i < lengthof(row); i++)
	{
		bool		isnull;

		row[i] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
							   i + 1, &isnull);
	}
	uuids = DatumGetBool(row[0]);
	set->id = uuids ? UUIDOID : INT8OID;
	set->ids = uuids ? UUIDARRAYOID : INT8ARRAYOID;
	if (uuids)
		set->members = UUIDARRAYOID;
	set->distributed = DatumGetBool(row[1]);
	set->chunk_bits = DatumGetInt32(row[2]);
	set->tables[DEDUP_CLAIMS] = DatumGetObjectId(row[3]);
	set->tables[DEDUP_CHUNKS] = DatumGetObjectId(row[4]);
	SPI_finish();
}

/* Returns the set of a first table, for a function of the extension. */
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
		RegisterXactCallback(transaction_ends, NULL);
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
	set->members = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
								   CStringGetDatum("roaring64"),
								   ObjectIdGetDatum(schema));
	read_options(set);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry = hash_search(sets, &relid, HASH_ENTER, NULL);
	return entry->set = set;
}

/* Locks a set's first table against drop, until the end of the transaction. */
static void
lock_set(Oid relid)
{
	AclResult	allowed = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_TABLE, get_rel_name(relid));
	LockRelationOid(relid, AccessShareLock);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("dedup set does not exist"),
				 errdetail("It was dropped while this waited for it.")));
}

/*
 * Begins a function with the arguments set, key and a third, which must not be NULL.
 * writer is its name if it writes, which fails on a standby, in a read-only
 * transaction and in parallel mode.  Returns the set, valid until the end of the
 * transaction, and the key.  The set's first table is locked until then; only drop
 * waits for that.
 */
DedupSet *
dedup_open(FunctionCallInfo fcinfo, const char *writer, const char *third,
		   Datum *key)
{
	const char *const names[] = {"dedup set", "key", third};
	Oid			relid = PG_GETARG_OID(0);
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

	lock_set(relid);
	set = find_set(relid, fcinfo->flinfo->fn_oid);
	/* another node cannot be asked for its latest snapshot */
	if (writer != NULL && set->distributed && IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("ids of a distributed dedup set can be claimed and forgotten in READ COMMITTED only"),
				 errhint("Use SET TRANSACTION ISOLATION LEVEL READ COMMITTED.")));
	return set;
}
