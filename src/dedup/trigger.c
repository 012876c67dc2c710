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
 * The set is found by its name for every row, in the schema of the table if none
 * is given, or in that of the topmost one of a partition: search_path is the
 * caller's, and must not choose the set.
 *
 * In a partition a duplicate is always an error.  An UPDATE that moves a row
 * there fires this trigger too, with nothing to tell it by, and to skip the
 * row would be to delete it.
 *
 * src/dedup/trigger.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/partition.h"
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
	{
		Oid			table = RelationGetRelid(data->tg_relation);

		if (data->tg_relation->rd_rel->relispartition)
			table = llast_oid(get_partition_ancestors(table));
		range->schemaname = get_namespace_name(get_rel_namespace(table));
	}
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

/* Reports a column of a type that is not among those that may be. */
static void
wrong_type(const TriggerData *data, int argument, Oid type, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of table \"%s\" is of type %s",
					data->tg_trigger->tgargs[argument],
					RelationGetRelationName(data->tg_relation),
					format_type_be(type)),
			 errdetail("%s", detail)));
}

/*
 * The key in the new row.  What other types look like as text depends on the
 * session, and one key must not be two.
 */
static Datum
row_key(const TriggerData *data)
{
	Oid			type;
	Datum		value = column_value(data, named_column(data, 1), &type);

	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
			return value;
		case INT2OID:
			return CStringGetTextDatum(psprintf("%d", DatumGetInt16(value)));
		case INT4OID:
			return CStringGetTextDatum(psprintf("%d", DatumGetInt32(value)));
		case INT8OID:
			return CStringGetTextDatum(psprintf(INT64_FORMAT, DatumGetInt64(value)));
	}
	wrong_type(data, 1, type, "A key is of type text, varchar, smallint, integer or bigint.");
	return (Datum) 0;
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
	wrong_type(data, 2, type, "An id is of type bigint or integer.");
	return 0;
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

/* An id that is too old is another error, as it may be new. */
static void
report(const TriggerData *data, Datum key, int64 id, DedupAnswer answer)
{
	bool		too_old = answer == DEDUP_TOO_OLD;

	ereport(ERROR,
			(errcode(too_old ? ERRCODE_CHECK_VIOLATION :
					 ERRCODE_UNIQUE_VIOLATION),
			 errmsg(too_old ?
					"id " INT64_FORMAT " of key \"%s\" is older than what the dedup set remembers" :
					"id " INT64_FORMAT " of key \"%s\" has been claimed before",
					id, TextDatumGetCString(key)),
			 errtable(data->tg_relation)));
}

/*
 * roaring64_dedup_trigger() returns trigger: lets a row pass if its id is
 * new, and claims it; drops it or reports ERRCODE_UNIQUE_VIOLATION if not, and
 * ERRCODE_CHECK_VIOLATION if that cannot be told.
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

	dedup_writable("roaring64_dedup_trigger()");
	if (!raise && data->tg_relation->rd_rel->relispartition)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("duplicates cannot be skipped in partition \"%s\"",
						RelationGetRelationName(data->tg_relation)),
				 errdetail("An UPDATE that moves a row to another partition inserts it there; skipping the duplicate would lose the row."),
				 errhint("Give 'raise' as the trigger's last argument.")));
	SPI_connect();
	answer = dedup_claim(dedup_open(named_set(data)), fcinfo->flinfo->fn_oid,
						 key, id);
	SPI_finish();
	if (answer == DEDUP_NEW)
		return PointerGetDatum(data->tg_trigtuple);
	if (raise || answer == DEDUP_TOO_OLD)
		report(data, key, id, answer);
	return PointerGetDatum(NULL);
}
