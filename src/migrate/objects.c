/*-------------------------------------------------------------------------
 *
 * objects.c
 *	  What a migration makes in the database: tables, triggers, privileges.
 *
 * All belong to the owner of the source.  Nobody's rights are borrowed: who
 * writes to the source while a migration lasts does what its triggers do, so
 * who may do the one is granted the other.
 *
 * The statements that triggers execute stand in their arguments, complete:
 * see trigger.c.
 *
 * src/migrate/objects.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "migrate.h"

/* Executes what a query gives: a statement a row.  $1 is the source. */
static void
run_each(const Migration *m, const char *template)
{
	char	   *all = migration_ask(m, psprintf(
		"SELECT pg_catalog.string_agg(statement, '; ') "
		"FROM (%s) AS s (statement)",
												template));

	if (all != NULL && SPI_execute(all, false, 0) < 0)
		elog(ERROR, "could not execute: %s", all);
}

static void
set_owner(const Migration *m, const char *relation)
{
	run_each(m, psprintf(
		"SELECT pg_catalog.format('ALTER TABLE %%s OWNER TO %%I', {'%s}, "
		"pg_catalog.pg_get_userbyid(relowner)) FROM pg_catalog.pg_class "
		"WHERE oid {.=} $1",
						 relation));
}

/* Grants on a relation what others have on the source. */
static void
copy_privileges(const Migration *m, const char *relation)
{
	run_each(m, psprintf(
		"SELECT pg_catalog.format('GRANT %%s ON %%s TO %%s%%s', "
		"a.privilege_type, {'%s}, CASE WHEN a.grantee {.=} 0::pg_catalog.oid "
		"THEN 'PUBLIC' "
		"ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) "
		"END, CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' END) "
		"FROM pg_catalog.pg_class AS c, pg_catalog.aclexplode(c.relacl) AS a "
		"WHERE c.oid {.=} $1 AND a.grantee {.<>} c.relowner",
						 relation));
}

/* Grants to those who may write to the source. */
static void
grant_to_writers(const Migration *m, const char *privileges,
				 const char *relation)
{
	run_each(m, psprintf(
		"SELECT DISTINCT pg_catalog.format('GRANT %s ON %%s TO %%s', {'%s}, "
		"CASE WHEN a.grantee {.=} 0::pg_catalog.oid THEN 'PUBLIC' "
		"ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) "
		"END) FROM pg_catalog.pg_class AS c, pg_catalog.aclexplode(c.relacl) "
		"AS a WHERE c.oid {.=} $1 AND a.grantee {.<>} c.relowner "
		"AND a.privilege_type {.=} ANY (ARRAY['INSERT', 'UPDATE', 'DELETE'])",
						 privileges, relation));
}

/* One trigger whose function executes these statements. */
static void
create_trigger(const Migration *m, const char *name, const char *event,
			   const char *relation, const char *how, const char *function,
			   int n, const char *const *statements)
{
	StringInfoData trigger;

	initStringInfo(&trigger);
	appendStringInfo(&trigger,
						"CREATE OR REPLACE TRIGGER roaring64_migrate_%s %s ON "
						"%s %s EXECUTE FUNCTION %s.%s(",
					 name, event, migration_sql(m, relation), how,
					 m->extension, function);
	for (int i = 0; i < n; i++)
		appendStringInfo(&trigger, "%s%s", i > 0 ? ", " : "",
						 quote_literal_cstr(migration_sql(m, statements[i])));
	appendStringInfoChar(&trigger, ')');
	if (SPI_execute(trigger.data, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not execute: %s", trigger.data);
}

/* A relation named after the target. */
static Oid
relation_oid(const Migration *m, const char *suffix)
{
	return get_relname_relid(psprintf("%s%s", m->target_name, suffix),
							 get_namespace_oid(m->schema, false));
}

/*
 * Nobody shall drop by accident what a trigger needs: then every statement of
 * the application would fail.
 */
static void
protect(const Migration *m, Oid relation, const char *trigger)
{
	static const char *const suffixes[] = {"", "_changes", "_migration"};
	ObjectAddress user;

	ObjectAddressSet(user, TriggerRelationId,
					 get_trigger_oid(relation, trigger, false));
	for (int i = 0; i < lengthof(suffixes); i++)
	{
		ObjectAddress used;

		ObjectAddressSet(used, RelationRelationId,
						 relation_oid(m, suffixes[i]));
		if (used.objectId != relation)
			recordDependencyOn(&user, &used, DEPENDENCY_NORMAL);
	}
}

/* A statement trigger on the source or the target. */
static void
create_statement_trigger(const Migration *m, const char *name,
						 const char *event, const char *relation,
						 const char *rows, const char *first,
						 const char *second)
{
	const char *statements[] = {first, second};

	create_trigger(m, name, event, relation,
				   psprintf("%s%s FOR EACH STATEMENT",
							rows[0] != '\0' ? "REFERENCING " : "", rows),
				   "roaring64_migrate_statement",
				   second != NULL ? 2 : 1, statements);
	protect(m, strcmp(relation, "{source}") == 0 ? m->source :
			relation_oid(m, ""),
			psprintf("roaring64_migrate_%s", name));
}

void
migration_create_parts(const Migration *m)
{
	migration_run(m,
				  "CREATE TABLE {parts} ([k:{k} {type} NOT NULL~, ], [s:{s} "
				  "{x}roaring64 NOT NULL~, ])");
	migration_run(m, "CREATE INDEX ON {parts} ([k:{k}~, ])");
	set_owner(m, "parts");
}

/* Makes all that the source needs beside it, and notes its changes. */
void
migration_create(const Migration *m)
{
	static const char *const relations[] = {"target", "status", "changes",
	"facts"};
	static const char *const note =
		"INSERT INTO {changes} ([k:{k}~, ], roaring64_ids) "
		"SELECT [k:{expr r}~, ], {x}roaring64_agg(r.{id}) FROM %s AS r "
		"GROUP BY [k:{expr r}~, ]";

	migration_run(m, psprintf(
		"CREATE TABLE {target} ([k:{k} {type} NOT NULL~, ], [s:{s} "
		"{x}roaring64 NOT NULL DEFAULT '{}'~, ], PRIMARY KEY ([k:{k}~, "
		"]))%s%s",
		m->period_column != NULL ? " PARTITION BY RANGE " : "",
		m->period_column != NULL ?
		psprintf("(%s)", quote_identifier(m->period)) : ""));
	migration_run(m,
				  "CREATE TABLE {status} (source pg_catalog.regclass NOT "
				  "NULL, target pg_catalog.regclass NOT NULL, state "
				  "pg_catalog.text NOT NULL DEFAULT 'copying', rows_done "
				  "bigint NOT NULL DEFAULT 0, rows_estimated bigint NOT NULL, "
				  "rows_per_second bigint, time_left interval, started "
				  "pg_catalog.timestamptz NOT NULL DEFAULT "
				  "pg_catalog.clock_timestamp(), changed "
				  "pg_catalog.timestamptz NOT NULL DEFAULT "
				  "pg_catalog.clock_timestamp(), key_columns "
				  "pg_catalog.text[] NOT NULL, id_column pg_catalog.text NOT "
				  "NULL, set_names pg_catalog.text[] NOT NULL, set_conditions "
				  "pg_catalog.text[] NOT NULL, drop_columns pg_catalog.text[] "
				  "NOT NULL, period_column pg_catalog.text, period "
				  "pg_catalog.text NOT NULL, batch_rows bigint NOT NULL, "
				  "source_name pg_catalog.text NOT NULL, filenode "
				  "pg_catalog.oid NOT NULL, blocks_done bigint NOT NULL "
				  "DEFAULT 0, blocks bigint NOT NULL)");
	migration_run(m,
				  "CREATE TABLE {changes} ([k:{k} {type} NOT NULL~, ], "
				  "roaring64_ids {x}roaring64 NOT NULL)");
	migration_run(m,
				  "CREATE VIEW {facts} AS SELECT [k:{expr} AS {k}~, ], {id} "
				  "AS roaring64_id, [s:(({condition}) IS TRUE) AS {s}~, ], "
				  "ctid AS roaring64_place FROM {source}");
	for (int i = 0; i < lengthof(relations); i++)
		set_owner(m, relations[i]);

	migration_create_parts(m);

	copy_privileges(m, "target");
	grant_to_writers(m, "SELECT, INSERT, UPDATE", "target");
	grant_to_writers(m, "SELECT", "facts");
	grant_to_writers(m, "INSERT", "changes");

	create_statement_trigger(m, "insert", "AFTER INSERT", "{source}",
							 "NEW TABLE AS new_rows",
							 psprintf(note, "new_rows"), NULL);
	create_statement_trigger(m, "update", "AFTER UPDATE", "{source}",
							 "OLD TABLE AS old_rows NEW TABLE AS new_rows",
							 psprintf(note,
								"(SELECT * FROM old_rows UNION ALL "
								"SELECT * FROM new_rows)"),
							 NULL);
	create_statement_trigger(m, "delete", "AFTER DELETE", "{source}",
							 "OLD TABLE AS old_rows",
							 psprintf(note, "old_rows"), NULL);
}

/*
 * A partition for every period in the parts that has none.  Others go to the
 * default partition, so that no row is refused.
 */
void
migration_create_partitions(const Migration *m)
{
	const char *format;

	if (m->period_column == NULL)
		return;
	format = (strcmp(m->period, "day") == 0 || strcmp(m->period, "week") == 0) ?
		"YYYYMMDD" : (strcmp(m->period, "year") == 0) ? "YYYY" : "YYYYMM";
	run_each(m, psprintf(
		"SELECT pg_catalog.format('CREATE TABLE %%s PARTITION OF %%s FOR "
		"VALUES FROM (%%L) TO (%%L); ALTER TABLE %%1$s OWNER TO %%5$I', "
		"pg_catalog.format('%%I.%%I', %s, %s {.||} '_' {.||} "
		"pg_catalog.to_char(p.first::pg_catalog.timestamp, '%s')), {'target}, "
		"p.first, (p.first::pg_catalog.timestamp {.+} "
		"'%s'::pg_catalog.interval)::pg_catalog.date, "
		"(SELECT pg_catalog.pg_get_userbyid(relowner) "
		"FROM pg_catalog.pg_class WHERE oid {.=} $1)) FROM "
		"(SELECT DISTINCT %s FROM {parts}) AS p (first) "
		"WHERE pg_catalog.isfinite(p.first) AND NOT EXISTS (SELECT "
		"FROM pg_catalog.pg_class WHERE oid {.=} "
		"pg_catalog.to_regclass(pg_catalog.format('%%I.%%I', %s, %s {.||} '_' "
		"{.||} pg_catalog.to_char(p.first::pg_catalog.timestamp, '%s'))))",
		quote_literal_cstr(m->schema), quote_literal_cstr(m->target_name),
		format,
		strcmp(m->period, "quarter") == 0 ? "3 months" :
		psprintf("1 %s", m->period),
		quote_identifier(m->period),
		quote_literal_cstr(m->schema), quote_literal_cstr(m->target_name),
		format));
	run_each(m, psprintf(
		"SELECT pg_catalog.format('CREATE TABLE %%s PARTITION OF %%s DEFAULT; "
		"ALTER TABLE %%1$s OWNER TO %%3$I', p.name, {'target}, "
		"pg_catalog.pg_get_userbyid(relowner)) "
		"FROM pg_catalog.pg_class, (SELECT pg_catalog.format('%%I.%%I', %s, "
		"%s {.||} '_default')) AS p (name) WHERE oid {.=} $1 "
		"AND pg_catalog.to_regclass(p.name) IS NULL",
		quote_literal_cstr(m->schema), quote_literal_cstr(m->target_name)));
}

/*
 * From here on the source's triggers change the target themselves.  First
 * there must be a row for every key; then the facts that were touched become
 * what they now are in the source.  The writer has locked these facts there,
 * so nobody else changes them; who changes others of the same key is waited
 * for, and their change is kept.
 */
void
migration_follow(const Migration *m)
{
	static const char *const make_rows =
		"INSERT INTO {target} ([k:{k}~, ]) "
		"SELECT DISTINCT [k:{expr r}~, ] FROM new_rows AS r "
		"ORDER BY [k:{expr r}~, ] ON CONFLICT DO NOTHING";
	static const char *const change =
		"UPDATE {target} AS t "
		"SET [s:{s} = t.{s} {x-} c.roaring64_ids {x|} c.{s}~, ] "
		"FROM (SELECT [k:{expr r} AS {k}~, ],"
		" {x}roaring64_agg(r.{id}) AS roaring64_ids, [s:{agg} AS {s}~, ]"
		" FROM %s AS r LEFT JOIN {facts} AS f"
		" ON [k:f.{k} {=} {expr r}~ AND ] AND f.roaring64_id {.=} r.{id}"
		" GROUP BY [k:{expr r}~, ] ORDER BY [k:{expr r}~, ]) AS c "
		"WHERE [k:t.{k} {=} c.{k}~ AND ]"
		" AND ([s:t.{s} {x&} c.roaring64_ids {x<>} c.{s}~ OR ])";

	create_statement_trigger(m, "insert", "AFTER INSERT", "{source}",
							 "NEW TABLE AS new_rows",
							 make_rows, psprintf(change, "new_rows"));
	create_statement_trigger(m, "update", "AFTER UPDATE", "{source}",
							 "OLD TABLE AS old_rows NEW TABLE AS new_rows",
							 make_rows,
							 psprintf(change,
								"(SELECT * FROM old_rows UNION ALL "
								"SELECT * FROM new_rows)"));
	create_statement_trigger(m, "delete", "AFTER DELETE", "{source}",
							 "OLD TABLE AS old_rows",
							 psprintf(change, "old_rows"), NULL);
	create_statement_trigger(m, "truncate", "AFTER TRUNCATE", "{source}",
							 "", "TRUNCATE {target}", NULL);
}

/* Those of our triggers that a relation has go. */
static void
drop_triggers(const Migration *m, const char *relation)
{
	run_each(m, psprintf(
		"SELECT pg_catalog.format('DROP TRIGGER %%I ON %%s', tgname, {'%s}) "
		"FROM pg_catalog.pg_trigger WHERE tgrelid {.=} "
		"{'%s}::pg_catalog.regclass AND "
		"pg_catalog.starts_with(tgname::pg_catalog.text, "
		"'roaring64_migrate_') AND NOT tgisinternal",
						 relation, relation));
}

/* The source has no triggers of ours any more. */
void
migration_unfollow(const Migration *m)
{
	drop_triggers(m, "source");
}

/* Nor has the target. */
void
migration_unnote_target(const Migration *m)
{
	drop_triggers(m, "target");
}

/* Changes of the target are noted, whoever makes them and how. */
void
migration_note_target(const Migration *m)
{
	static const char *const note =
		"INSERT INTO {changes} ([k:{k}~, ], roaring64_ids) "
		"SELECT [k:c.{k}~, ], c.ids FROM "
		"(SELECT [k:r.{k}~, ], [s:r.{s}~ {x|} ] AS ids "
		"FROM %s AS r) AS c WHERE NOT {x}roaring64_is_empty(c.ids)";
	static const char *const note_update =
		"INSERT INTO {changes} ([k:{k}~, ], roaring64_ids) "
		"SELECT [k:c.{k}~, ], c.ids FROM "
		"(SELECT [k:COALESCE(o.{k}, n.{k}) AS {k}~, ], [s:(COALESCE(o.{s}, "
		"'{}') {x#} COALESCE(n.{s}, '{}'))~ {x|} ] AS ids "
		"FROM old_rows AS o FULL JOIN new_rows AS n ON [k:o.{k} {=} n.{k}~ "
		"AND ]) AS c WHERE NOT {x}roaring64_is_empty(c.ids)";

	create_statement_trigger(m, "insert", "AFTER INSERT", "{target}",
							 "NEW TABLE AS new_rows",
							 psprintf(note, "new_rows"), NULL);
	create_statement_trigger(m, "update", "AFTER UPDATE", "{target}",
							 "OLD TABLE AS old_rows NEW TABLE AS new_rows",
							 note_update, NULL);
	create_statement_trigger(m, "delete", "AFTER DELETE", "{target}",
							 "OLD TABLE AS old_rows",
							 psprintf(note, "old_rows"), NULL);
	create_statement_trigger(m, "truncate", "BEFORE TRUNCATE", "{target}",
							 "", psprintf(note, "{target}"), NULL);
}

/*
 * The columns of the view: those of the source that are in the target, in
 * their order, and after them the sets with other conditions.  Says in the
 * migration which is which.
 */
static char *
view_columns(Migration *m, StringInfo defaults)
{
	StringInfoData columns;
	int			n = 0;

	initStringInfo(&columns);
	if (SPI_execute(migration_sql(m,
									"SELECT attname::pg_catalog.text, "
									"pg_catalog.format_type(atttypid, "
									"atttypmod), CASE WHEN attidentity {.<>} "
									"'' THEN "
									"pg_catalog.format('pg_catalog.nextval(%L)', "
									"pg_catalog.pg_get_serial_sequence({'source}, "
									"attname)) WHEN attgenerated {.=} '' "
									"THEN pg_catalog.pg_get_expr(adbin, "
									"adrelid) END FROM "
									"pg_catalog.pg_attribute LEFT "
									"JOIN pg_catalog.pg_attrdef ON adrelid "
									"{.=} attrelid AND adnum {.=} attnum "
									"WHERE attrelid {.=} "
									"{'source}::pg_catalog.regclass "
									"AND attnum {.>} 0 AND NOT attisdropped "
									"ORDER BY attnum"),
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the columns of the source");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		char	   *name = SPI_getvalue(row, SPI_tuptable->tupdesc, 1);
		char	   *type = SPI_getvalue(row, SPI_tuptable->tupdesc, 2);
		char	   *default_value = SPI_getvalue(row, SPI_tuptable->tupdesc, 3);
		char	   *value = NULL;

		for (int k = 0; k < m->nkeys; k++)
			if (strcmp(name, m->keys[k].column) == 0)
			{
				value = psprintf("t.%s", quote_identifier(m->keys[k].name));
				if (m->keys[k].before[0] != '\0')
					value = psprintf("%s::%s", value, type);
				m->keys[k].place = n + 1;
			}
		if (strcmp(name, m->id_column) == 0)
		{
			value = psprintf("e.id::%s", type);
			m->id_place = n + 1;
		}
		for (int s = 0; s < m->nsets; s++)
			if (m->sets[s].column != NULL &&
				strcmp(name, m->sets[s].column) == 0)
			{
				value = psprintf("(e.id OPERATOR(%s.<@) t.%s)", m->extension,
								 quote_identifier(m->sets[s].name));
				m->sets[s].place = n + 1;
			}
		if (value == NULL)
			continue;
		n++;
		appendStringInfo(&columns, "%s%s AS %s", n > 1 ? ", " : "",
						 value, quote_identifier(name));
		if (default_value != NULL)
			appendStringInfo(defaults,
				"ALTER VIEW %s ALTER COLUMN %s SET DEFAULT %s; ",
							 migration_sql(m, "{view}"),
							 quote_identifier(name), default_value);
	}
	for (int s = 0; s < m->nsets; s++)
	{
		const char *name = quote_identifier(m->sets[s].name);

		if (s == m->all || m->sets[s].column != NULL)
			continue;
		n++;
		m->sets[s].place = n;
		appendStringInfo(&columns, ", (e.id OPERATOR(%s.<@) t.%s) AS %s",
						 m->extension, name, name);
		appendStringInfo(defaults,
			"ALTER VIEW %s ALTER COLUMN %s SET DEFAULT false; ",
						 migration_sql(m, "{view}"), name);
	}
	m->places = n;
	return columns.data;
}

/*
 * The view that takes the source's name, with its rows, owner, privileges and
 * defaults, and with triggers that change the target.  A change of a row only
 * changes what is different in it, so that two who change different columns
 * of one row both succeed, as they would in a table.
 */
void
migration_create_view(Migration *m)
{
	static const char *const insert =
		"INSERT INTO {target} AS t ([k:{k}~, ], [s:{s}~, ]) "
		"VALUES ([k:{new}~, ], [s:CASE "
		"WHEN {new} THEN '{}'::{x}roaring64 {x|} {newid}::bigint "
		"ELSE '{}' END~, ]) ON CONFLICT ([k:{k}~, ]) DO UPDATE "
		"SET [s:{s} = t.{s} {x-} {newid}::bigint {x|} excluded.{s}~, ] "
		"WHERE NOT t.{all} {x@>} {newid}::bigint";
	static const char *const update =
		"UPDATE {target} AS t SET [s:{s} = CASE "
		"WHEN {new} {.=} {old} THEN t.{s} "
		"WHEN {new} THEN t.{s} {x|} {newid}::bigint "
		"ELSE t.{s} {x-} {newid}::bigint END~, ] "
		"WHERE [k:t.{k} {=} {new}~ AND ] AND [k:{new} {=} {old}~ AND ] "
		"AND {newid} {.=} {oldid} AND t.{all} {x@>} {newid}::bigint";
	static const char *const delete =
		"UPDATE {target} AS t SET [s:{s} = t.{s} {x-} {oldid}::bigint~, ] "
		"WHERE [k:t.{k} {=} {old}~ AND ] AND t.{all} {x@>} {oldid}::bigint";
	const char *statements[] = {update, delete, insert};
	StringInfoData defaults;
	char	   *columns;

	initStringInfo(&defaults);
	columns = view_columns(m, &defaults);
	if (SPI_execute(psprintf(
		"CREATE VIEW %s AS SELECT %s FROM %s AS t, "
		"LATERAL %s.roaring64_elements(t.%s) AS e (id)",
							 migration_sql(m, "{view}"), columns,
							 migration_sql(m, "{target}"), m->extension,
							 migration_sql(m, "{all}")), false, 0) < 0 ||
		(defaults.len > 0 && SPI_execute(defaults.data, false, 0) < 0))
		elog(ERROR, "could not create the view");
	set_owner(m, "view");
	copy_privileges(m, "view");

	create_trigger(m, "insert", "INSTEAD OF INSERT", "{view}", "FOR EACH ROW",
				   "roaring64_migrate_row", 1, &statements[2]);
	create_trigger(m, "update", "INSTEAD OF UPDATE", "{view}", "FOR EACH ROW",
				   "roaring64_migrate_row", 3, statements);
	create_trigger(m, "delete", "INSTEAD OF DELETE", "{view}", "FOR EACH ROW",
				   "roaring64_migrate_row", 1, &statements[1]);
}
