/*-------------------------------------------------------------------------
 *
 * plans.c
 *	  Prepared statements on the tables in which a helper keeps its state.
 *
 * One hash table for the session, by owner.  The server tells of changes to
 * relations and schemas by callbacks, which may come while one of the owner's
 * statements runs; so they only mark it stale.  The next call puts a stale
 * owner aside, or one that an error has left incomplete, and makes another.
 * What was put aside is freed at the end of the transaction, when no statement
 * of it can be running.
 *
 * Statements name tables, and a plan that the server has to make anew is
 * parsed anew: after a rename the old text would find nothing, or another
 * table.  That is why names are not left to the server's own invalidation.
 *
 * src/state/plans.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "nodes/params.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "state/plans.h"
#include "state/statement.h"

/* An owner may be of several kinds as far as this file is concerned. */
typedef struct OwnerKey
{
	const StateKind *kind;
	Oid			relid;
} OwnerKey;

typedef struct OwnerEntry
{
	OwnerKey	key;
	StateOwner *owner;			/* NULL if it could not be made */
} OwnerEntry;

static HTAB *owners = NULL;
static StateOwner *put_aside = NULL;

static bool
has_table(const StateOwner *owner, Oid relid)
{
	for (int i = 0; i < owner->ntables; i++)
	{
		if (owner->tables[i] == relid)
			return true;
	}
	return false;
}

/* Marks those stale that have the table, or all of them. */
static void
relation_changed(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	OwnerEntry *entry;

	hash_seq_init(&status, owners);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->owner != NULL &&
			(!OidIsValid(relid) || has_table(entry->owner, relid)))
			entry->owner->stale = true;
	}
}

static void
schema_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	relation_changed(arg, InvalidOid);
}

static void
free_owner(StateOwner *owner)
{
	for (int i = 0; i < STATE_MAX_PLANS; i++)
	{
		if (owner->plans[i] != NULL)
			SPI_freeplan(owner->plans[i]);
	}
	MemoryContextDelete(owner->context);
}

/* At the end of every transaction. */
static void
free_put_aside(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE)
		return;
	while (put_aside != NULL)
	{
		StateOwner *owner = put_aside;

		put_aside = owner->next;
		free_owner(owner);
	}
}

static void
make_hash_table(void)
{
	HASHCTL		control = {
		.keysize = sizeof(OwnerKey),
		.entrysize = sizeof(OwnerEntry)
	};

	owners = hash_create("roaring64 state", 16, &control,
						 HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, schema_changed, (Datum) 0);
	RegisterXactCallback(free_put_aside, NULL);
}

/*
 * Learns about an owner.  It is in the hash table before it is complete, so
 * that changes during the work are noticed.
 */
static void
make_owner(OwnerEntry *entry)
{
	const StateKind *kind = entry->key.kind;
	MemoryContext context = AllocSetContextCreate(TopMemoryContext,
												  "roaring64 state owner",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	StateOwner *owner = palloc0(kind->size);

	owner->relid = entry->key.relid;
	owner->kind = kind;
	owner->context = context;
	owner->ntables = 1;
	owner->tables[0] = owner->relid;
	entry->owner = owner;
	kind->resolve(owner);
	owner->complete = true;
	MemoryContextSwitchTo(oldcontext);
}

/* Locking also makes us hear of what others did before. */
static void
lock_tables(StateOwner *owner)
{
	for (int i = 0; i < owner->ntables; i++)
		LockRelationOid(owner->tables[i], AccessShareLock);
}

/* The entry of an owner; with HASH_FIND NULL if there is none. */
static OwnerEntry *
find_entry(const StateKind *kind, Oid relid, HASHACTION action)
{
	OwnerKey	key;
	OwnerEntry *entry;
	bool		found;

	if (owners == NULL)
		make_hash_table();
	/* the padding is part of the key */
	memset(&key, 0, sizeof(key));
	key.kind = kind;
	key.relid = relid;
	entry = hash_search(owners, &key, action, &found);
	if (entry != NULL && !found)
		entry->owner = NULL;
	return entry;
}

/* See plans.h. */
StateOwner *
state_known_owner(const StateKind *kind, Oid relid)
{
	OwnerEntry *entry = find_entry(kind, relid, HASH_FIND);
	StateOwner *owner = entry != NULL ? entry->owner : NULL;

	if (owner == NULL)
		return NULL;
	lock_tables(owner);
	return owner->complete && !owner->stale ? owner : NULL;
}

/* See plans.h. */
StateOwner *
state_owner(const StateKind *kind, Oid relid)
{
	OwnerEntry *entry = find_entry(kind, relid, HASH_ENTER);

	for (;;)
	{
		StateOwner *owner = entry->owner;

		if (owner != NULL)
		{
			lock_tables(owner);
			if (owner->complete && !owner->stale)
				return owner;
			entry->owner = NULL;
			owner->next = put_aside;
			put_aside = owner;
		}
		LockRelationOid(relid, AccessShareLock);
		make_owner(entry);
	}
}

/* See plans.h. */
const char *
state_table_name(StateOwner *owner, int table)
{
	return state_relation(owner->tables[table]);
}

/*
 * Prepares a statement and plans it, once for all parameters.  The planner
 * knows neither how many elements an array will have nor how the table will
 * grow; to read the table for a few rows, or for a hundred thousand out of
 * ten million, is never what is wanted.
 */
static SPIPlanPtr
prepare(const char *text, int nargs, Oid *types, bool reads_all)
{
	int			level = NewGUCNestLevel();
	SPIPlanPtr	plan;
	CachedPlan *generic;

	if (!reads_all)
		(void) set_config_option("enable_seqscan", "off", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	plan = SPI_prepare_cursor(text, nargs, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare_cursor returned %s for: %s",
			 SPI_result_code_string(SPI_result), text);
	if (SPI_keepplan(plan) != 0)
		elog(ERROR, "SPI_keepplan failed for: %s", text);
	generic = SPI_plan_get_cached_plan(plan);
	if (generic != NULL)
		ReleaseCachedPlan(generic, CurrentResourceOwner);
	AtEOXact_GUC(false, level);
	return plan;
}

/* See plans.h. */
SPIPlanPtr
state_plan(StateOwner *owner, int n)
{
	StringInfoData text;
	Oid			types[STATE_MAX_ARGS];
	const StateKind *kind = owner->kind;
	int			nargs;

	Assert(n >= 0 && n < STATE_MAX_PLANS);
	if (owner->plans[n] != NULL)
		return owner->plans[n];

	initStringInfo(&text);
	nargs = kind->statement(owner, n, &text, types);
	Assert(nargs <= STATE_MAX_ARGS);
	owner->plans[n] = prepare(text.data, nargs, types,
							  kind->reads_all != NULL && kind->reads_all(n));
	return owner->plans[n];
}

/*
 * After a statement.  SPI leaves its own memory context behind; the caller is
 * given back the one it had.  A statement with another end than expected is a
 * wrong call, not an error.
 */
static uint64
checked(MemoryContext context, int code, int expected, int n)
{
	MemoryContextSwitchTo(context);
	if (code != expected)
		elog(ERROR, "SPI returned %s for statement %d",
			 SPI_result_code_string(code), n);
	return SPI_processed;
}

/* See plans.h. */
uint64
state_run(StateOwner *owner, int n, int expected, Datum *values,
		  const char *nulls)
{
	MemoryContext context = CurrentMemoryContext;
	int			code = SPI_execute_plan(state_plan(owner, n), values, nulls,
										false, 0);

	return checked(context, code, expected, n);
}

/* See plans.h. */
uint64
state_run_to(StateOwner *owner, int n, int expected, Datum *values,
			 DestReceiver *dest)
{
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr	plan = state_plan(owner, n);
	int			nargs = SPI_getargcount(plan);
	SPIExecuteOptions options = {
		.params = makeParamList(nargs),
		.dest = dest
	};

	for (int i = 0; i < nargs; i++)
	{
		ParamExternData *param = &options.params->params[i];

		param->value = values[i];
		param->isnull = false;
		param->pflags = PARAM_FLAG_CONST;
		param->ptype = SPI_getargtypeid(plan, i);
	}
	return checked(context, SPI_execute_plan_extended(plan, &options),
				   expected, n);
}

/* See plans.h. */
uint64
state_read_latest(StateOwner *owner, int n, Datum *values, long limit)
{
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr	plan = state_plan(owner, n);
	int			code;

	/* what this transaction has done so far must be in the snapshot */
	CommandCounterIncrement();
	code = SPI_execute_snapshot(plan, values, NULL, GetLatestSnapshot(),
								InvalidSnapshot, true, true, limit);
	return checked(context, code, SPI_OK_SELECT, n);
}

/* See plans.h. */
uint64
state_read(StateOwner *owner, int n, Datum *values, const char *nulls)
{
	MemoryContext context = CurrentMemoryContext;
	int			code = SPI_execute_plan(state_plan(owner, n), values, nulls,
										true, 0);

	return checked(context, code, SPI_OK_SELECT, n);
}

/* See plans.h. */
void
state_changed(Oid relid)
{
	CacheInvalidateRelcacheByRelid(relid);
}
