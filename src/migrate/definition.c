/*-------------------------------------------------------------------------
 *
 * definition.c
 *	  What a migration is: from its arguments, and to and from its table.
 *
 * The table {target}_migration has one row.  Its names are as given, so that
 * it can be read; the source is a regclass, so that it stays the same table
 * when it is renamed, and is dumped by name.
 *
 * src/migrate/definition.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "migrate.h"
#include "state/statement.h"

/* The strings of a text[]; NULL elements are NULL. */
const char **
migration_strings(ArrayType *array, int *n)
{
	Datum	   *values;
	bool	   *nulls;
	const char **strings;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &values, &nulls, n);
	strings = palloc0(sizeof(char *) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		if (!nulls[i])
			strings[i] = TextDatumGetCString(values[i]);
	return strings;
}

/* The reverse. */
static Datum
strings_datum(const char **strings, int n)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));
	int			lower = 1;

	for (int i = 0; i < n; i++)
	{
		nulls[i] = strings[i] == NULL;
		values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(strings[i]);
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower,
											  TEXTOID, -1, false,
											  TYPALIGN_INT));
}

/* The table of a migration: what is read of it. */
static const StateColumn status_columns[] = {
	{"source", REGCLASSOID}, {"state", TEXTOID}, {"rows_done", INT8OID},
	{"rows_estimated", INT8OID}, {"key_columns", TEXTARRAYOID},
	{"id_column", TEXTOID}, {"set_names", TEXTARRAYOID},
	{"set_conditions", TEXTARRAYOID}, {"drop_columns", TEXTARRAYOID},
	{"period_column", TEXTOID}, {"period", TEXTOID},
	{"batch_rows", INT8OID}, {"source_name", TEXTOID},
	{"filenode", OIDOID}, {"blocks_done", INT8OID}, {"blocks", INT8OID}
};

bool
migration_exists(const char *schema, const char *target)
{
	Oid			namespace = get_namespace_oid(schema, true);

	return OidIsValid(namespace) &&
		OidIsValid(get_relname_relid(psprintf("%s_migration", target),
									 namespace));
}

/* A column of the row just read, as text or NULL. */
static char *
field(const char *name)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;

	return SPI_getvalue(SPI_tuptable->vals[0], desc, SPI_fnumber(desc, name));
}

/* The same if it must not be NULL. */
static char *
required_field(const char *name)
{
	char	   *value = field(name);

	if (value == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("column \"%s\" of the migration is null", name)));
	return value;
}

static int64
number_field(const char *name)
{
	return DatumGetInt64(DirectFunctionCall1(int8in,
						CStringGetDatum(required_field(name))));
}

/* InvalidOid for NULL. */
static Oid
oid_field(const char *name)
{
	char	   *oid = field(name);

	return oid == NULL ? InvalidOid :
		DatumGetObjectId(DirectFunctionCall1(oidin, CStringGetDatum(oid)));
}

/* An array of strings, none of them NULL unless that is allowed. */
static const char **
strings_field(const char *name, bool nulls, int *n)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;
	Datum		value = state_value(SPI_tuptable->vals[0], desc,
									SPI_fnumber(desc, name), TEXTARRAYOID);
	const char **strings = migration_strings(DatumGetArrayTypeP(value), n);

	for (int i = 0; i < *n && !nulls; i++)
	{
		if (strings[i] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("column \"%s\" of the migration has a null",
							name)));
	}
	return strings;
}

/* Anybody can make a table of that name; it must be one that we can read. */
static void
check_status_table(const Migration *m)
{
	char	   *name = psprintf("%s_migration", m->target_name);
	Oid			relid = get_relname_relid(name,
										  get_namespace_oid(m->schema, false));

	LockRelationOid(relid, AccessShareLock);
	if (!state_has_columns(relid, status_columns, lengthof(status_columns)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" does not describe a migration", name),
				 errdetail("It has not the columns of a table that roaring64_migrate has made.")));
}

/* A migration of which only the names are known; it must exist. */
static Migration *
named_migration(FunctionCallInfo fcinfo, const char *schema,
				const char *target)
{
	Migration  *m = palloc0(sizeof(Migration));

	if (schema == NULL || target == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the target does not exist")));
	m->extension = state_schema(fcinfo);
	m->schema = schema;
	m->target_name = target;
	if (!migration_exists(schema, target))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no migration to \"%s\"", target),
				 errdetail("There is no table \"%s.%s_migration\".",
						   schema, target),
				 errhint("A migration begins with CALL roaring64_migrate(...).")));
	check_status_table(m);
	return m;
}

Oid
migration_source(FunctionCallInfo fcinfo, Oid target)
{
	Migration  *m = named_migration(fcinfo,
									get_namespace_name(get_rel_namespace(target)),
									get_rel_name(target));
	char	   *source = migration_ask(m,
										"SELECT c.oid FROM {status} AS m "
										"JOIN pg_catalog.pg_class AS c ON "
										"c.oid {.=} m.source");

	return source == NULL ? InvalidOid :
		DatumGetObjectId(DirectFunctionCall1(oidin, CStringGetDatum(source)));
}

Migration *
migration_load(FunctionCallInfo fcinfo, const char *schema,
			   const char *target, bool lock)
{
	Migration  *m = named_migration(fcinfo, schema, target);
	int			n;

	if (migration_run(m, psprintf(
		"SELECT m.*, c.oid AS source_exists FROM {status} AS m LEFT "
		"JOIN pg_catalog.pg_class AS c ON c.oid {.=} m.source%s",
		lock ? " FOR UPDATE OF m" : "")) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("\"%s_migration\" must have one row", target)));
	m->source = oid_field("source_exists");
	m->source_name = required_field("source_name");
	m->key_columns = strings_field("key_columns", false, &m->nkeys);
	m->id_column = required_field("id_column");
	m->set_names = strings_field("set_names", false, &m->nsets);
	m->set_conditions = strings_field("set_conditions", true, &n);
	if (n != m->nsets)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("\"%s_migration\" must have a condition for every set",
						target)));
	m->drop_columns = strings_field("drop_columns", false, &m->ndropped);
	m->period_column = field("period_column");
	m->period = required_field("period");
	m->batch_rows = number_field("batch_rows");
	m->state = required_field("state");
	m->filenode = oid_field("filenode");
	m->blocks_done = number_field("blocks_done");
	m->blocks = number_field("blocks");
	m->rows_done = number_field("rows_done");
	m->rows_estimated = number_field("rows_estimated");
	SPI_freetuptable(SPI_tuptable);

	if (OidIsValid(m->source))
		migration_resolve(m);
	return m;
}

/* The same for a target that is there. */
Migration *
migration_load_target(FunctionCallInfo fcinfo, Oid target, bool lock)
{
	return migration_load(fcinfo,
						  get_namespace_name(get_rel_namespace(target)),
						  get_rel_name(target), lock);
}

/* A column of the source, which must be there and never NULL. */
static AttrNumber
find_column(const Migration *m, const char *name)
{
	AttrNumber	attnum = name == NULL ? InvalidAttrNumber :
		get_attnum(m->source, name);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name == NULL ? "" : name, get_rel_name(m->source)),
				 errhint("The columns are: %s.",
						 migration_ask(m,
										"SELECT "
										"pg_catalog.string_agg(pg_catalog.quote_ident(attname), "
										"', ' ORDER BY attnum) FROM "
										"pg_catalog.pg_attribute WHERE "
										"attrelid {.=} $1 AND attnum {.>} 0 "
										"AND NOT attisdropped"))));
	return attnum;
}

/* The equality that a primary key of this type has. */
static const char *
equality(Oid type, const char *column)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR |
											  TYPECACHE_LT_OPR);
	HeapTuple	tuple;
	Form_pg_operator op;
	char	   *equal;

	if (!OidIsValid(entry->eq_opr) || !OidIsValid(entry->lt_opr))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("key column \"%s\" is of type %s, which cannot be a key",
						column, format_type_be(type)),
				 errhint("A key needs a type with a btree operator class.")));
	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(entry->eq_opr));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", entry->eq_opr);
	op = (Form_pg_operator) GETSTRUCT(tuple);
	equal = psprintf("OPERATOR(%s.%s)",
					 quote_identifier(get_namespace_name(op->oprnamespace)),
					 NameStr(op->oprname));
	ReleaseSysCache(tuple);
	return equal;
}

static void
resolve_key(const Migration *m, MigrationKey *key, const char *name)
{
	AttrNumber	attnum = find_column(m, name);
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(m->source, attnum, &type, &typmod, &collation);
	key->name = name;
	key->column = name;
	key->before = "";
	key->after = "";
	key->type = format_type_extended(type, typmod,
									 FORMAT_TYPE_TYPEMOD_GIVEN |
									 FORMAT_TYPE_FORCE_QUALIFY);
	if (OidIsValid(collation))
		key->type = psprintf("%s COLLATE %s", key->type,
							 generate_collation_name(collation));
	key->equal = equality(type, name);
}

/*
 * The key that a period of time is: the day on which it begins.  Of a time
 * with time zone, that in UTC, as it must be the same in every session.
 */
static void
resolve_period(const Migration *m, MigrationKey *key)
{
	AttrNumber	attnum = find_column(m, m->period_column);
	Oid			type = getBaseType(get_atttype(m->source, attnum));
	static const char *const periods[] = {"day", "week", "month", "quarter",
	"year"};
	bool		known = false;

	for (int i = 0; i < lengthof(periods); i++)
		known = known || strcmp(m->period, periods[i]) == 0;
	if (!known)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid period \"%s\"", m->period),
				 errhint("The periods are day, week, month, quarter and year.")));
	if (type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("period column \"%s\" is of type %s",
						m->period_column, format_type_be(type)),
				 errhint("It must be date, timestamp or timestamptz.")));

	key->name = m->period;
	key->column = m->period_column;
	key->before = psprintf("pg_catalog.date_trunc('%s', %s", m->period,
						   type == TIMESTAMPTZOID ?
						   "pg_catalog.timezone('UTC', " : "(");
	key->after = ")::pg_catalog.timestamp)::pg_catalog.date";
	key->type = "pg_catalog.date";
	key->equal = "OPERATOR(pg_catalog.=)";
}

static void
resolve_set(Migration *m, int i)
{
	MigrationSet *set = &m->sets[i];
	const char *condition = m->set_conditions[i];

	set->name = m->set_names[i];
	set->condition = condition;
	set->column = NULL;
	if (condition != NULL)
	{
		AttrNumber	attnum = get_attnum(m->source, condition);

		if (attnum > 0 && get_atttype(m->source, attnum) == BOOLOID)
			set->column = condition;
	}
	else if (m->all >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("only one set can be that of every row"),
				 errdetail("\"%s\" and \"%s\" both are.",
						   m->set_names[m->all], m->set_names[i])));
	else
		m->all = i;
}

void
migration_resolve(Migration *m)
{
	Oid			type;

	m->keys = palloc0(sizeof(MigrationKey) * (m->nkeys + 1));
	for (int i = 0; i < m->nkeys; i++)
		resolve_key(m, &m->keys[i], m->key_columns[i]);
	if (m->period_column != NULL)
		resolve_period(m, &m->keys[m->nkeys]);

	type = getBaseType(get_atttype(m->source, find_column(m, m->id_column)));
	if (type != INT2OID && type != INT4OID && type != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("id column \"%s\" is of type %s",
						m->id_column, format_type_be(type)),
				 errdetail("Elements of a set are of type bigint."),
				 type == NUMERICOID ?
				 errhint("If all ids are integers that fit, change the column first: ALTER TABLE ... ALTER COLUMN ... TYPE bigint. Ids above 9223372036854775807 fit less 2^64.") :
				 errhint("Choose a column of type smallint, integer or bigint.")));

	m->sets = palloc0(sizeof(MigrationSet) * Max(m->nsets, 1));
	m->all = -1;
	for (int i = 0; i < m->nsets; i++)
		resolve_set(m, i);
	if (m->all < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no set is that of every row"),
				 errdetail("Rows that are in no set would be lost."),
				 errhint("Give one of the sets the condition true: sets => '{\"pushed\": true, ...}'.")));

	/* the period is one of the keys from here on */
	if (m->period_column != NULL)
		m->nkeys++;
}

void
migration_set_state(Migration *m, const char *state)
{
	Oid			types[] = {TEXTOID, OIDOID, INT8OID, INT8OID, INT8OID,
	INT8OID};
	Datum		values[] = {CStringGetTextDatum(state),
		ObjectIdGetDatum(m->filenode),
		Int64GetDatum(m->blocks_done), Int64GetDatum(m->blocks),
		Int64GetDatum(m->rows_done), Int64GetDatum(m->rows_estimated)
	};

	m->state = state;
	(void) state_execute(migration_sql(m,
									   "UPDATE {status} SET state = $1, "
									   "filenode = $2, blocks_done = $3, "
									   "blocks = $4, rows_done = $5, "
									   "rows_estimated = $6, time_left = "
									   "CASE WHEN $1 {.=} 'copying' THEN "
									   "time_left END, changed = "
									   "pg_catalog.clock_timestamp()"),
						 SPI_OK_UPDATE, lengthof(types), types, values, NULL);
}

void
migration_store(Migration *m)
{
	int			nkeys = m->nkeys - (m->period_column != NULL);
	Oid			types[] = {OIDOID, TEXTARRAYOID, TEXTOID, TEXTARRAYOID,
		TEXTARRAYOID, TEXTARRAYOID, TEXTOID, TEXTOID, INT8OID, OIDOID,
	INT8OID, INT8OID, TEXTOID};
	Datum		values[] = {ObjectIdGetDatum(m->source),
		strings_datum(m->key_columns, nkeys),
		CStringGetTextDatum(m->id_column),
		strings_datum(m->set_names, m->nsets),
		strings_datum(m->set_conditions, m->nsets),
		strings_datum(m->drop_columns, m->ndropped),
		m->period_column == NULL ? (Datum) 0 :
		CStringGetTextDatum(m->period_column),
		CStringGetTextDatum(m->period),
		Int64GetDatum(m->batch_rows), ObjectIdGetDatum(m->filenode),
		Int64GetDatum(m->blocks), Int64GetDatum(m->rows_estimated),
		CStringGetTextDatum(m->source_name)
	};
	const char *nulls = m->period_column == NULL ? "      n      " : NULL;

	(void) state_execute(migration_sql(m,
									   "INSERT INTO {status} (source, target, "
									   "key_columns, id_column, set_names, "
									   "set_conditions, drop_columns, "
									   "period_column, period, batch_rows, "
									   "filenode, blocks, rows_estimated, "
									   "source_name) SELECT $1, t.oid, $2, "
									   "$3, $4, $5, $6, $7, $8, $9, $10, $11, "
									   "$12, $13 FROM (SELECT "
									   "{'target}::pg_catalog.regclass) AS t "
									   "(oid)"),
						 SPI_OK_INSERT, lengthof(types), types, values, nulls);
}
