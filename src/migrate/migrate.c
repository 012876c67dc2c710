/*-------------------------------------------------------------------------
 *
 * migrate.c
 *	  CALL roaring64_migrate: begins a migration, or goes on with it.
 *
 * src/migrate/migrate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "migrate.h"
#include "state/statement.h"

/* Rows that are copied in one transaction, unless the caller says. */
#define DEFAULT_BATCH_ROWS	2000000

/* So often there is a message, at most. */
#define REPORT_SECONDS		5

/* What this call has done, for its messages. */
typedef struct Progress
{
	TimestampTz start;
	TimestampTz reported;
	int64		rows_at_start;	/* -1 if not known yet */
} Progress;

enum
{
	ARG_SOURCE, ARG_TARGET, ARG_KEY_COLUMNS, ARG_ID_COLUMN, ARG_SETS,
	ARG_DROP_COLUMNS, ARG_PERIOD_COLUMN, ARG_PERIOD, ARG_BATCH_ROWS
};

static const char *
name_argument(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : pstrdup(NameStr(*PG_GETARG_NAME(n)));
}

static const char **
names_argument(FunctionCallInfo fcinfo, int argno, int *n)
{
	Datum	   *values;
	bool	   *nulls;
	const char **names;

	*n = 0;
	if (PG_ARGISNULL(argno))
		return NULL;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(argno), NAMEOID, NAMEDATALEN,
					  false, TYPALIGN_CHAR, &values, &nulls, n);
	names = palloc(sizeof(char *) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column names must not be null")));
		names[i] = NameStr(*DatumGetName(values[i]));
	}
	return names;
}

/* The sets: an object of names and conditions. */
static void
sets_argument(FunctionCallInfo fcinfo, Migration *m)
{
	Oid			type = JSONOID;
	Datum		value = PG_GETARG_DATUM(ARG_SETS);
	bool		isnull;
	Datum		array;
	int			n;

	(void) state_execute("SELECT pg_catalog.json_typeof($1)", SPI_OK_SELECT,
						 1, &type, &value, NULL);
	if (strcmp(SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1),
			   "object") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sets must be a JSON object"),
				 errhint("Such as '{\"pushed\": true, \"read\": \"is_read\"}'.")));
	(void) state_execute(
		"SELECT COALESCE(pg_catalog.array_agg(e.name "
		"ORDER BY e.n), '{}'), COALESCE(pg_catalog.array_agg(CASE WHEN "
		"e.condition OPERATOR(pg_catalog.<>) 'true' THEN e.condition END "
		"ORDER BY e.n), '{}'), pg_catalog.bool_and(e.type "
		"OPERATOR(pg_catalog.=) 'string' "
		"OR e.condition OPERATOR(pg_catalog.=) 'true') FROM "
		"(SELECT key::pg_catalog.name::pg_catalog.text, value "
		"OPERATOR(pg_catalog.#>>) '{}'::pg_catalog.text[], "
		"pg_catalog.json_typeof(value), n FROM pg_catalog.json_each($1) "
		"WITH ORDINALITY AS j (key, value, n)) AS e (name, condition, type, "
		"n)",
		SPI_OK_SELECT, 1, &type, &value, NULL);
	if (!DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0],
									SPI_tuptable->tupdesc, 3, &isnull)) ||
		isnull)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("every set must have a condition"),
				 errhint("A condition is true, for a set of all rows, or a string: a boolean column or an expression.")));
	array = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
						  &isnull);
	m->set_names = migration_strings(DatumGetArrayTypeP(array), &m->nsets);
	array = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2,
						  &isnull);
	m->set_conditions = migration_strings(DatumGetArrayTypeP(array), &n);
}

/* The arguments; what is NULL is not given. */
static Migration *
arguments(FunctionCallInfo fcinfo)
{
	Migration  *m = palloc0(sizeof(Migration));

	if (PG_ARGISNULL(ARG_SOURCE) || PG_ARGISNULL(ARG_TARGET))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("source and target must not be null")));
	m->source = PG_GETARG_OID(ARG_SOURCE);
	m->extension = state_schema(fcinfo);
	m->source_name = get_rel_name(m->source);
	m->schema = get_namespace_name(get_rel_namespace(m->source));
	if (m->source_name == NULL || m->schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", m->source)));
	m->target_name = name_argument(fcinfo, ARG_TARGET);
	m->key_columns = names_argument(fcinfo, ARG_KEY_COLUMNS, &m->nkeys);
	m->id_column = name_argument(fcinfo, ARG_ID_COLUMN);
	if (!PG_ARGISNULL(ARG_SETS))
		sets_argument(fcinfo, m);
	m->drop_columns = names_argument(fcinfo, ARG_DROP_COLUMNS, &m->ndropped);
	m->period_column = name_argument(fcinfo, ARG_PERIOD_COLUMN);
	if (!PG_ARGISNULL(ARG_PERIOD))
		m->period = text_to_cstring(PG_GETARG_TEXT_PP(ARG_PERIOD));
	if (!PG_ARGISNULL(ARG_BATCH_ROWS))
		m->batch_rows = PG_GETARG_INT32(ARG_BATCH_ROWS);
	if (m->batch_rows < 1 && !PG_ARGISNULL(ARG_BATCH_ROWS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch_rows must be at least 1")));
	return m;
}

/* A new migration.  Writers are waited for, and wait for this. */
static void
begin_migration(Migration *m)
{
	if ((m->nkeys == 0 && m->period_column == NULL) ||
		m->id_column == NULL || m->set_names == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key_columns, id_column and sets must be given to begin a migration"),
				 errhint("Such as CALL roaring64_migrate('user_message', 'user_messages', key_columns => '{user_id}', id_column => 'message_id', sets => '{\"pushed\": true, \"read\": \"is_read\"}').")));
	if (m->period == NULL)
		m->period = "month";
	if (m->batch_rows == 0)
		m->batch_rows = DEFAULT_BATCH_ROWS;

	migration_check_owner(m);
	LockRelationOid(m->source, ShareRowExclusiveLock);
	migration_resolve(m);
	migration_check(m);
	migration_create(m);
	migration_measure(m);
	migration_store(m);
}

static bool
same_strings(const char **a, int na, const char **b, int nb)
{
	if (na != nb)
		return false;
	for (int i = 0; i < na; i++)
		if ((a[i] == NULL) != (b[i] == NULL) ||
			(a[i] != NULL && strcmp(a[i], b[i]) != 0))
			return false;
	return true;
}

/*
 * One that has begun: what was asked for then is what is asked for now, as far
 * as that is said.  Only the size of a batch may be another.
 */
static void
resume_migration(FunctionCallInfo fcinfo, const Migration *given)
{
	Migration  *m = migration_load(fcinfo, given->schema, given->target_name,
								   false);
	int			nkeys = m->nkeys - (m->period_column != NULL ? 1 : 0);
	const char *differs = NULL;

	if (strcmp(m->state, "finished") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the migration to \"%s\" is finished",
						m->target_name),
				 errhint("CALL roaring64_migrate_undo takes it back, CALL roaring64_migrate_drop_old ends it.")));
	if (m->source != given->source)
		differs = "source";
	else if (given->key_columns != NULL &&
			 !same_strings(given->key_columns, given->nkeys, m->key_columns,
						   nkeys))
		differs = "key_columns";
	else if (given->id_column != NULL &&
			 strcmp(given->id_column, m->id_column) != 0)
		differs = "id_column";
	else if (given->set_names != NULL &&
			 (!same_strings(given->set_names, given->nsets, m->set_names,
							m->nsets) ||
			  !same_strings(given->set_conditions, given->nsets,
							m->set_conditions, m->nsets)))
		differs = "sets";
	else if (given->drop_columns != NULL &&
			 !same_strings(given->drop_columns, given->ndropped,
						   m->drop_columns, m->ndropped))
		differs = "drop_columns";
	else if (given->period_column != NULL &&
			 !same_strings((const char **) &given->period_column, 1,
						   (const char **) &m->period_column, 1))
		differs = "period_column";
	else if (given->period != NULL && strcmp(given->period, m->period) != 0)
		differs = "period";
	if (differs != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the migration to \"%s\" was begun with another %s",
						m->target_name, differs),
				 errhint("To go on, give source and target alone. To begin with other arguments, CALL roaring64_migrate_undo first.")));
	migration_check_shape(m);
	if (given->batch_rows > 0)
		migration_run(m, psprintf(
			"UPDATE {status} SET batch_rows = " INT64_FORMAT,
								  given->batch_rows));
}

/* How fast it goes, and how long it will take: to the table. */
static void
store_speed(const Migration *m, int64 rate, int64 left)
{
	Oid			types[] = {INT8OID, INT8OID};
	Datum		values[] = {Int64GetDatum(rate), Int64GetDatum(left)};

	(void) state_execute(migration_sql(m,
		"UPDATE {status} SET rows_per_second = $1, time_left = "
		"pg_catalog.make_interval(secs => $2::pg_catalog.float8)"),
						 SPI_OK_UPDATE, 2, types, values, NULL);
}

/* A message now and then, and the speed in the table while rows are copied. */
static void
report(const Migration *m, Progress *p)
{
	TimestampTz now = GetCurrentTimestamp();
	double		seconds = Max(now - p->start, 1) / 1000000.0;
	int64		rate = (int64) ((m->rows_done - p->rows_at_start) / seconds);
	int64		left = Max(m->rows_estimated - m->rows_done, 0) / Max(rate, 1);
	bool		copying = strcmp(m->state, "copying") == 0;

	if (copying)
		store_speed(m, rate, left);
	if (now - p->reported < REPORT_SECONDS * INT64CONST(1000000))
		return;
	p->reported = now;
	if (!copying)
		ereport(NOTICE, (errmsg("%s: %s", m->target_name, m->state)));
	else
		ereport(NOTICE,
				(errmsg("%s: " INT64_FORMAT " rows, %d %%, " INT64_FORMAT " rows a second, " INT64_FORMAT " s left",
						m->target_name, m->rows_done,
						(int) (100.0 * m->rows_done / Max(m->rows_estimated, 1)),
						rate, left)));
}

/* One step in a transaction of its own; the last was committed. */
static bool
take_step(FunctionCallInfo fcinfo, const Migration *given, Progress *progress,
		  bool *exclusive)
{
	Migration  *m;
	bool		more;

	/* With an older snapshot the step would not see what it waited for. */
	(void) state_execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
						 SPI_OK_UTILITY, 0, NULL, NULL, NULL);
	LockRelationOid(given->source,
					*exclusive ? ShareRowExclusiveLock : AccessShareLock);
	m = migration_load(fcinfo, given->schema, given->target_name, true);
	if (!OidIsValid(get_relname_relid(m->target_name,
									  get_rel_namespace(m->source))))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the target \"%s\" does not exist any more",
						m->target_name),
				 errhint("%s",
						 migration_sql(m,
							"To begin anew, DROP VIEW {facts}; DROP TABLE IF "
							"EXISTS {status}, {changes}, {parts}."))));
	if (progress->rows_at_start < 0)
		progress->rows_at_start = m->rows_done;
	more = migration_step(m, exclusive);
	report(m, progress);
	if (!more)
		ereport(NOTICE,
				(errmsg("\"%s\" is in step with \"%s\": " INT64_FORMAT " rows copied",
						m->target_name, m->source_name, m->rows_done)));
	return more;
}

/*
 * roaring64_migrate(source, target, key_columns, id_column, sets,
 * drop_columns, period_column, period, batch_rows): see the README.  Goes on
 * with a migration that has begun; the arguments after target may be left
 * out then.  Commits, so not for a transaction block.
 */
PG_FUNCTION_INFO_V1(roaring64_migrate);
Datum
roaring64_migrate(PG_FUNCTION_ARGS)
{
	CallContext *call = castNode(CallContext, fcinfo->context);
	Progress	progress = {GetCurrentTimestamp(), GetCurrentTimestamp(), -1};
	bool		exclusive = false;
	bool		more = true;
	Migration  *given;

	if (call->atomic)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("roaring64_migrate cannot run inside a transaction block")));
	SPI_connect_ext(SPI_OPT_NONATOMIC);
	given = arguments(fcinfo);
	if (migration_exists(given->schema, given->target_name))
		resume_migration(fcinfo, given);
	else
		begin_migration(given);
	for (; more; SPI_commit())
	{
		SPI_commit();
		more = take_step(fcinfo, given, &progress, &exclusive);
	}
	SPI_finish();
	PG_RETURN_VOID();
}
