/*-------------------------------------------------------------------------
 *
 * trigger.c
 *	  The triggers of a migration.
 *
 * The statements that they execute are their arguments, written in full when
 * the triggers were made.  So a trigger reads no definition and needs no
 * privileges but those for what it does, and "\d" shows what that is.
 * Statements are planned once in a session.
 *
 * src/migrate/trigger.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "migrate.h"

/* A planned statement: which argument of which trigger it is. */
typedef struct PlanKey
{
	Oid			trigger;
	int			argument;
} PlanKey;

typedef struct PlanEntry
{
	PlanKey		key;			/* must be first */
	char	   *statement;		/* what was planned, for parameters of these */
	Oid		   *types;			/* types; in TopMemoryContext */
	int			ntypes;
	SPIPlanPtr	plan;			/* NULL if there is none */
} PlanEntry;

static HTAB *plans = NULL;

/* Whether what was planned is what is to be executed now. */
static bool
is_planned(const PlanEntry *entry, const char *statement, int nargs,
		   const Oid *types)
{
	return entry->plan != NULL &&
		strcmp(entry->statement, statement) == 0 &&
		entry->ntypes == nargs &&
		(nargs == 0 ||
		 memcmp(entry->types, types, sizeof(Oid) * nargs) == 0);
}

/* The entry for a statement, without a plan if it is new. */
static PlanEntry *
find_plan(const Trigger *trigger, int argument)
{
	PlanKey		key;
	PlanEntry  *entry;
	bool		found;

	if (plans == NULL)
	{
		HASHCTL		control = {0};

		control.keysize = sizeof(PlanKey);
		control.entrysize = sizeof(PlanEntry);
		plans = hash_create("statements of migration triggers", 16, &control,
							HASH_ELEM | HASH_BLOBS);
	}
	memset(&key, 0, sizeof(key));
	key.trigger = trigger->tgoid;
	key.argument = argument;
	entry = hash_search(plans, &key, HASH_ENTER, &found);
	if (!found)
		entry->plan = NULL;
	return entry;
}

/* Executes an argument of the trigger; returns how many rows it processed. */
static uint64
execute_argument(const Trigger *trigger, int argument, int nargs, Oid *types,
				 Datum *values, const char *nulls)
{
	PlanEntry  *entry = find_plan(trigger, argument);
	int			code;

	if (!is_planned(entry, trigger->tgargs[argument], nargs, types))
	{
		SPIPlanPtr	plan = SPI_prepare(trigger->tgargs[argument], nargs, types);

		if (plan == NULL)
			elog(ERROR, "SPI_prepare returned %s for: %s",
				 SPI_result_code_string(SPI_result),
				 trigger->tgargs[argument]);
		/* what was planned for a former trigger may be running, and stays */
		entry->statement = MemoryContextStrdup(TopMemoryContext,
											   trigger->tgargs[argument]);
		entry->types = MemoryContextAlloc(TopMemoryContext,
										  sizeof(Oid) * Max(nargs, 1));
		entry->ntypes = nargs;
		if (nargs > 0)
			memcpy(entry->types, types, sizeof(Oid) * nargs);
		SPI_keepplan(plan);
		entry->plan = plan;
	}
	code = SPI_execute_plan(entry->plan, values, nulls, false, 0);
	if (code < 0)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("a trigger cannot execute: %s",
						trigger->tgargs[argument]),
				 errdetail("SPI returned %s.", SPI_result_code_string(code))));
	return SPI_processed;
}

/* What an error in one of our statements adds to its context. */
static void
trigger_context(void *arg)
{
	TriggerData *data = arg;

	errcontext("trigger \"%s\" of \"%s\", made by roaring64_migrate",
			   data->tg_trigger->tgname,
			   RelationGetRelationName(data->tg_relation));
}

static TriggerData *
trigger_data(FunctionCallInfo fcinfo, const char *name)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" was not called by trigger manager",
						name)));
	return (TriggerData *) fcinfo->context;
}

/*
 * roaring64_migrate_statement() returns trigger: executes the statements that
 * are its arguments.  They may read the transition tables.  For statement
 * triggers.
 */
PG_FUNCTION_INFO_V1(roaring64_migrate_statement);
Datum
roaring64_migrate_statement(PG_FUNCTION_ARGS)
{
	TriggerData *data = trigger_data(fcinfo, "roaring64_migrate_statement");
	ErrorContextCallback context = {error_context_stack, trigger_context, data};

	error_context_stack = &context;
	SPI_connect();
	SPI_register_trigger_data(data);
	for (int i = 0; i < data->tg_trigger->tgnargs; i++)
		(void) execute_argument(data->tg_trigger, i, 0, NULL, NULL, NULL);
	SPI_finish();
	error_context_stack = context.previous;
	return PointerGetDatum(NULL);
}

/* The parameters of a row trigger: the new row's columns, then the old's. */
typedef struct RowParameters
{
	int			n;
	Oid		   *types;
	Datum	   *values;
	char	   *nulls;
} RowParameters;

static void
add_row(RowParameters *p, HeapTuple row, TupleDesc desc)
{
	for (int i = 0; i < desc->natts; i++)
	{
		bool		isnull = true;

		p->values[p->n] = row == NULL ? (Datum) 0 :
			heap_getattr(row, i + 1, desc, &isnull);
		p->types[p->n] = TupleDescAttr(desc, i)->atttypid;
		p->nulls[p->n++] = isnull ? 'n' : ' ';
	}
}

/*
 * Anybody may make a trigger with our function: it must be one for the rows of
 * a view, with the statements that its events need.
 */
static void
check_row_trigger(const TriggerData *data)
{
	int			needed = TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? 3 : 1;

	if (!TRIGGER_FIRED_INSTEAD(data->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		data->tg_trigger->tgnargs != needed)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" of \"%s\" is not as roaring64_migrate makes it",
						data->tg_trigger->tgname,
						RelationGetRelationName(data->tg_relation)),
				 errdetail("The function is for INSTEAD OF triggers FOR EACH ROW, with three statements for UPDATE and one for INSERT or DELETE.")));
}

/* A new row has no nulls, as the table had none. */
static void
check_new_row(const TriggerData *data, HeapTuple row)
{
	TupleDesc	desc = RelationGetDescr(data->tg_relation);

	for (int i = 0; i < desc->natts; i++)
		if (heap_attisnull(row, i + 1, desc))
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
							NameStr(TupleDescAttr(desc, i)->attname),
							RelationGetRelationName(data->tg_relation))));
}

/* Executes the last argument, which inserts. */
static void
insert_row(const TriggerData *data, const RowParameters *p)
{
	const Trigger *trigger = data->tg_trigger;

	if (execute_argument(trigger, trigger->tgnargs - 1, p->n, p->types,
						 p->values, p->nulls) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNIQUE_VIOLATION),
				 errmsg("duplicate key value in \"%s\"",
						RelationGetRelationName(data->tg_relation)),
				 errdetail("A row with this key and id exists already.")));
}

/*
 * What a row trigger does; false if the row that it was for is no more.  An
 * update has three statements: one that changes the row if it stays where it
 * is, and if that finds none, one that deletes and one that inserts.
 */
static bool
execute_row(const TriggerData *data, const RowParameters *p)
{
	const Trigger *trigger = data->tg_trigger;

	if (TRIGGER_FIRED_BY_INSERT(data->tg_event))
		insert_row(data, p);
	else if (execute_argument(trigger, 0, p->n, p->types, p->values,
							  p->nulls) > 0)
		return true;
	else if (TRIGGER_FIRED_BY_DELETE(data->tg_event) ||
			 execute_argument(trigger, 1, p->n, p->types, p->values,
							  p->nulls) == 0)
		return false;
	else
		insert_row(data, p);
	return true;
}

/* Connects, and does it for the row that the trigger is called for. */
static HeapTuple
change_row(TriggerData *data)
{
	TupleDesc	desc = RelationGetDescr(data->tg_relation);
	bool		insert = TRIGGER_FIRED_BY_INSERT(data->tg_event);
	bool		delete = TRIGGER_FIRED_BY_DELETE(data->tg_event);
	HeapTuple	new = insert ? data->tg_trigtuple : data->tg_newtuple;
	HeapTuple	old = insert ? NULL : data->tg_trigtuple;
	RowParameters p = {0};
	bool		done;

	if (delete)
		new = NULL;
	else
		check_new_row(data, new);
	p.types = palloc(sizeof(Oid) * 2 * desc->natts);
	p.values = palloc(sizeof(Datum) * 2 * desc->natts);
	p.nulls = palloc(2 * desc->natts);
	add_row(&p, new, desc);
	add_row(&p, old, desc);

	SPI_connect();
	done = execute_row(data, &p);
	SPI_finish();
	return !done ? NULL : delete ? old : new;
}

/*
 * roaring64_migrate_row() returns trigger: for the INSTEAD OF triggers of the
 * view that has the source's place.  Errors are those of a table with a
 * unique index on key and id.
 */
PG_FUNCTION_INFO_V1(roaring64_migrate_row);
Datum
roaring64_migrate_row(PG_FUNCTION_ARGS)
{
	TriggerData *data = trigger_data(fcinfo, "roaring64_migrate_row");
	ErrorContextCallback context = {error_context_stack, trigger_context, data};
	HeapTuple	row;

	check_row_trigger(data);
	error_context_stack = &context;
	row = change_row(data);
	error_context_stack = context.previous;
	return PointerGetDatum(row);
}
