/*-------------------------------------------------------------------------
 *
 * trigger.c
 *	  Claiming the ids of the rows that go into a table.
 *
 *		CREATE TRIGGER ... BEFORE INSERT ON messages FOR EACH ROW EXECUTE
 *		FUNCTION roaring64_dedup_trigger('set', 'key column', 'id column'
 *		[, 'skip' | 'raise'])
 *
 * A row trigger sees every row that is to be inserted, whichever statement
 * brings it, and before anything is written of it.  What it drops, COPY and
 * INSERT do not count.
 *
 * The set is found by its name for every row, in the schema of
 * the message table if none is given: search_path is the caller's, and
 * must not choose the set.
 *
 * src/dedup/trigger.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "dedup/dedup.h"

/* Reports a trigger that was made wrongly. */
static void
wrong_trigger(const char *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("roaring64_dedup_trigger() %s", problem),
			 errhint("Write CREATE TRIGGER ... BEFORE INSERT ... FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('set', 'key column', 'id column' [, 'skip' | 'raise']).")));
}

/* The trigger, which has been fired as it is meant to be. */
static TriggerData *
get_trigger(FunctionCallInfo fcinfo)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		wrong_trigger("was not called by a trigger");
	if (!TRIGGER_FIRED_BEFORE(data->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(data->tg_event))
		wrong_trigger("must be fired BEFORE INSERT FOR EACH ROW");
	if (data->tg_trigger->tgnargs < 3 || data->tg_trigger->tgnargs > 4)
		wrong_trigger("must be given a set and two columns");
	return data;
}

/* The set that the first argument names. */
static Oid
named_set(const TriggerData *data)
{
	const char *name = data->tg_trigger->tgargs[0];
	RangeVar   *range;

	range = makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name)));
	if (range->schemaname == NULL)
		range->schemaname = get_namespace_name(RelationGetNamespace(data->tg_relation));
	return RangeVarGetRelid(range, AccessShareLock, false);
}

/* The column that an argument names. */
static AttrNumber
named_column(const TriggerData *data, int argument)
{
	const char *name = data->tg_trigger->tgargs[argument];
	AttrNumber	attno = get_attnum(RelationGetRelid(data->tg_relation), name);

	if (attno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" does not exist", name,
						RelationGetRelationName(data->tg_relation))));
	return attno;
}

/* The value of a column in the new row, which must not be NULL. */
static Datum
column_value(const TriggerData *data, AttrNumber attno, Oid *type)
{
	TupleDesc	desc = RelationGetDescr(data->tg_relation);
	bool		isnull;
	Datum		value = heap_getattr(data->tg_trigtuple, attno, desc, &isnull);

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("column \"%s\" of table \"%s\" must not be null",
						NameStr(TupleDescAttr(desc, attno - 1)->attname),
						RelationGetRelationName(data->tg_relation)),
				 errdetail("Trigger \"%s\" claims its value.",
						   data->tg_trigger->tgname)));
	*type = getBaseType(TupleDescAttr(desc, attno - 1)->atttypid);
	return value;
}

/* The key in the new row: its value as text, of whatever type it is. */
static Datum
row_key(const TriggerData *data)
{
	Oid			type;
	Oid			output;
	bool		is_varlena;
	Datum		value = column_value(data, named_column(data, 1), &type);

	if (type == TEXTOID || type == VARCHAROID)
		return value;
	getTypeOutputInfo(type, &output, &is_varlena);
	return CStringGetTextDatum(OidOutputFunctionCall(output, value));
}

static int64
row_id(const TriggerData *data)
{
	Oid			type;
	Datum		value = column_value(data, named_column(data, 2), &type);

	if (type == INT8OID)
		return DatumGetInt64(value);
	if (type == INT4OID)
		return DatumGetInt32(value);
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of table \"%s\" is of type %s",
					data->tg_trigger->tgargs[2],
					RelationGetRelationName(data->tg_relation),
					format_type_be(type)),
			 errdetail("An id is of type bigint or integer.")));
}

/* Whether the fourth argument says that a duplicate is an error. */
static bool
raises(const TriggerData *data)
{
	const char *word;

	if (data->tg_trigger->tgnargs < 4)
		return false;
	word = data->tg_trigger->tgargs[3];
	if (strcmp(word, "raise") != 0 && strcmp(word, "skip") != 0)
		wrong_trigger("must be told \"skip\" or \"raise\"");
	return strcmp(word, "raise") == 0;
}

static void
report_duplicate(const TriggerData *data, Datum key, int64 id,
				 DedupAnswer answer)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("id " INT64_FORMAT " of key \"%s\" %s", id,
					TextDatumGetCString(key),
					answer == DEDUP_TOO_OLD ?
					"is older than what the dedup set remembers" :
					"has been claimed before"),
			 errtable(data->tg_relation)));
}

/*
 * roaring64_dedup_trigger() returns trigger: lets a row pass if its id is
 * new, and claims it; drops it or reports ERRCODE_UNIQUE_VIOLATION if not.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_trigger);
Datum
roaring64_dedup_trigger(PG_FUNCTION_ARGS)
{
	TriggerData *data = get_trigger(fcinfo);
	bool		raise = raises(data);
	Datum		key = row_key(data);
	int64		id = row_id(data);
	DedupAnswer answer;

	dedup_connect();
	answer = dedup_claim(dedup_open_relation(named_set(data)), key, id);
	SPI_finish();
	if (answer == DEDUP_NEW)
		return PointerGetDatum(data->tg_trigtuple);
	if (raise)
		report_duplicate(data, key, id, answer);
	return PointerGetDatum(NULL);
}
