/*-------------------------------------------------------------------------
 *
 * check.c
 *	  What cannot be migrated, and what to do about it.
 *
 * All is asked before anything is made.  A migration stands on this: no row
 * of the source without a place in the target, and no two rows in the same;
 * every change of the source fires its triggers; and at the end a view can
 * take its place without anybody missing something.
 *
 * src/migrate/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "migrate.h"
#include "state/statement.h"

/* What kind of table the source is, if not the right one. */
static void
check_kind(const Migration *m)
{
	const char *kind = migration_ask(m,
										"SELECT CASE WHEN relkind {.<>} 'r' "
										"THEN 'It is not an ordinary table.' "
										"WHEN relispartition OR EXISTS "
										"(SELECT FROM pg_catalog.pg_inherits "
										"WHERE c.oid {.=} ANY "
										"(ARRAY[inhrelid, inhparent])) THEN "
										"'It is a partition, or has or is a "
										"parent.' WHEN relpersistence {.=} "
										"'t' THEN 'It is a temporary table.' "
										"WHEN relrowsecurity THEN 'It has "
										"row-level security, which the view "
										"that takes its place would not "
										"have.' END FROM pg_catalog.pg_class "
										"AS c WHERE oid {.=} $1");

	if (kind != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot migrate \"%s\"", get_rel_name(m->source)),
				 errdetail("%s", kind),
				 errhint("Migrate an ordinary table, for instance one that the rows are copied to.")));
}

/* Making triggers and renaming takes the owner. */
void
migration_check_owner(const Migration *m)
{
	if (migration_ask(m,
					  "SELECT 'yes' FROM pg_catalog.pg_class "
					  "WHERE oid {.=} $1 AND pg_catalog.pg_has_role(relowner, "
					  "'USAGE')") == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be owner of table %s", get_rel_name(m->source)),
				 errhint("Call it as the owner of the table or as a member of that role.")));
}

/* Names: of relations beside the target, and of the target's columns. */
static void
check_names(const Migration *m)
{
	static const char *const suffixes[] = {"", "_migration", "_facts",
	"_changes", "_parts"};
	Oid			schema = get_rel_namespace(m->source);
	const char *twice;

	if (strlen(m->target_name) == 0 ||
		strlen(m->target_name) + strlen("_migration") >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid name of a target: \"%s\"", m->target_name),
				 errdetail("It must have 1 to %d bytes, as other names are made of it.",
						   (int) (NAMEDATALEN - 1 - strlen("_migration")))));
	for (int i = 0; i < lengthof(suffixes); i++)
	{
		const char *name = psprintf("%s%s", m->target_name, suffixes[i]);

		if (OidIsValid(get_relname_relid(name, schema)))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_TABLE),
					 errmsg("relation \"%s\" already exists", name),
					 errhint("Choose another name for the target, or drop or rename the relation. A migration that has begun goes on with the same source and target.")));
	}
	if (strlen(m->source_name) + strlen("_old") >= NAMEDATALEN ||
		OidIsValid(get_relname_relid(psprintf("%s_old", m->source_name),
									 schema)))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("the name \"%s_old\" is taken or too long",
						m->source_name),
				 errdetail("It is what the source is called in the end."),
				 errhint("Rename that relation, or the source.")));

	twice = migration_ask(m,
							"SELECT name FROM (SELECT "
							"pg_catalog.unnest(ARRAY[[k:{'k}~, ], [s:{'s}~, "
							"]])) AS n (name) GROUP BY name HAVING "
							"pg_catalog.count(*) {.>} 1 OR "
							"pg_catalog.starts_with(name, 'roaring64_') "
							"LIMIT 1");
	if (twice != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("the target cannot have a column \"%s\"", twice),
				 errdetail("Keys, sets and the period must have names of their own, which do not start with roaring64_."),
				 errhint("Give the set another name.")));
}

/* NULL has no place in a key or a set. */
static void
check_nulls(const Migration *m)
{
	const char *column = migration_ask(m,
										"SELECT attname FROM "
										"pg_catalog.pg_attribute WHERE "
										"attrelid {.=} $1 AND NOT attnotnull "
										"AND attname {.=} ANY "
										"(ARRAY[{'id}[k:, {'column}~][c:, "
										"{'column}~]]::pg_catalog.name[]) "
										"ORDER BY attnum LIMIT 1");
	char	   *table;

	if (column == NULL)
		return;
	table = migration_sql(m, "{source}");
	ereport(ERROR,
			(errcode(ERRCODE_NOT_NULL_VIOLATION),
			 errmsg("column \"%s\" of relation \"%s\" may be null",
					column, get_rel_name(m->source)),
			 errdetail("Keys, ids and columns that become sets have no nulls in the target."),
			 errhint("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL, after changing or deleting the rows with nulls. A set can also have the condition \"%s IS TRUE\".",
					 table, quote_identifier(column),
					 quote_identifier(column))));
}

/*
 * No two rows for the same fact: a unique index over some of the key columns
 * and the id sees to that, if it has no conditions and checks at once.
 */
static void
check_unique(const Migration *m)
{
	char	   *columns;

	if (migration_ask(m,
					  "SELECT 'yes' FROM pg_catalog.pg_index AS i "
					  "WHERE indrelid {.=} $1 AND indisunique "
					  "AND indimmediate AND indisvalid "
					  "AND indpred IS NULL AND indexprs IS NULL "
					  "AND NOT EXISTS (SELECT FROM "
					  "pg_catalog.generate_series(0, indnkeyatts {.-} 1) AS n "
					  "WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_attribute "
					  "WHERE attrelid {.=} $1 AND attnum {.=} indkey[n] "
					  "AND attname {.=} ANY (ARRAY[{'id}[p:, "
					  "{'column}~]]::pg_catalog.name[]))) LIMIT 1") != NULL)
		return;
	columns = migration_sql(m, "[p:{column}~, ], {id}");
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 errmsg("table \"%s\" has no unique index on (%s)",
					get_rel_name(m->source), columns),
			 errdetail("A set has an id once, so the key columns and the id must tell every row from the others."),
			 errhint("Delete rows that are there twice, then CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s).",
					 migration_sql(m, "{source}"), columns)));
}

/* Every column becomes something or may go. */
void
migration_check_shape(const Migration *m)
{
	const char *lost;
	StringInfoData may_go;

	initStringInfo(&may_go);
	for (int i = 0; i < m->ndropped; i++)
	{
		if (get_attnum(m->source, m->drop_columns[i]) <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist",
							m->drop_columns[i], get_rel_name(m->source)),
					 errhint("Correct drop_columns.")));
		appendStringInfo(&may_go, ", %s",
						 quote_literal_cstr(m->drop_columns[i]));
	}
	lost = migration_ask(m, psprintf(
		"SELECT pg_catalog.string_agg(attname::pg_catalog.text, ',' "
		"ORDER BY attnum) FROM pg_catalog.pg_attribute "
		"WHERE attrelid {.=} $1 AND attnum {.>} 0 AND NOT attisdropped "
		"AND attname {.<>} ALL (ARRAY[{'id}[k:, {'column}~][c:, "
		"{'column}~]%s]::pg_catalog.name[])",
		may_go.data));
	if (lost != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("columns of \"%s\" would be lost: %s",
						get_rel_name(m->source), lost),
				 errdetail("A set keeps ids, and nothing else of a row."),
				 errhint("If they may go, begin the migration with drop_columns => '{%s}'. Otherwise keep them in a table of their own first.",
						 lost)));
}

/*
 * What uses the source by its identity goes on with the old table when a view
 * has its name.
 */
void
migration_check_dependents(const Migration *m)
{
	const char *user = migration_ask(m,
										"SELECT pg_catalog.format('%s "
										"(foreign key of %s)', "
										"pg_catalog.quote_ident(conname), "
										"conrelid::pg_catalog.regclass) "
										"FROM pg_catalog.pg_constraint "
										"WHERE confrelid {.=} $1 AND contype "
										"{.=} 'f' UNION ALL SELECT "
										"pg_catalog.format('view %s', "
										"ev_class::pg_catalog.regclass) "
										"FROM pg_catalog.pg_depend AS d "
										"JOIN pg_catalog.pg_rewrite AS r ON "
										"d.classid {.=} "
										"'pg_catalog.pg_rewrite'::pg_catalog.regclass "
										"AND d.objid {.=} r.oid WHERE "
										"d.refclassid {.=} "
										"'pg_catalog.pg_class'::pg_catalog.regclass "
										"AND d.refobjid {.=} $1 AND ev_class "
										"{.<>} $1 AND ev_class {.<>} "
										"COALESCE(pg_catalog.to_regclass({'facts})::pg_catalog.oid, "
										"0::pg_catalog.oid) LIMIT 1");

	if (user != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("\"%s\" is used by %s",
						get_rel_name(m->source), user),
				 errdetail("In the end that would go on with the old table, not with the view that takes its name."),
				 errhint("Drop it, and create it again after the migration.")));
}

/*
 * Who may write only to some columns would be stopped by the triggers, as
 * nothing could be granted to them that is so narrow.
 */
static void
check_column_privileges(const Migration *m)
{
	const char *column = migration_ask(m,
										"SELECT attname FROM "
										"pg_catalog.pg_attribute WHERE "
										"attrelid {.=} $1 AND attacl IS NOT "
										"NULL AND NOT attisdropped ORDER BY "
										"attnum LIMIT 1");

	if (column != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of relation \"%s\" has privileges of its own",
						column, get_rel_name(m->source)),
				 errhint("REVOKE them, and GRANT privileges on the table instead.")));
}

/* What holds for the table will not hold for the view. */
static void
warn_of_losses(const Migration *m)
{
	const char *losses = migration_ask(m,
										"SELECT pg_catalog.string_agg(name, "
										"', ' ORDER BY name) FROM (SELECT "
										"'constraint ' {.||} "
										"pg_catalog.quote_ident(conname) "
										"FROM pg_catalog.pg_constraint "
										"WHERE conrelid {.=} $1 AND contype "
										"{.=} ANY (ARRAY['f', 'c', 'x', "
										"'t']::pg_catalog.\"char\"[]) "
										"UNION ALL SELECT 'trigger ' {.||} "
										"pg_catalog.quote_ident(tgname) "
										"FROM pg_catalog.pg_trigger WHERE "
										"tgrelid {.=} $1 AND NOT "
										"tgisinternal) AS l (name)");

	if (losses != NULL)
		ereport(WARNING,
				(errmsg("some of \"%s\" will have no effect after the migration",
						get_rel_name(m->source)),
				 errdetail("This is: %s.", losses)));
}

void
migration_check(const Migration *m)
{
	check_kind(m);
	check_names(m);
	check_nulls(m);
	migration_check_shape(m);
	check_unique(m);
	migration_check_dependents(m);
	check_column_privileges(m);
	warn_of_losses(m);
}
