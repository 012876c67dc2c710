/*-------------------------------------------------------------------------
 *
 * finish.c
 *	  The end of a migration: a view takes the source's place, or nothing
 *	  does; and the way back.
 *
 * Each of these is one transaction, the caller's.
 *
 * src/migrate/finish.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "migrate.h"

/*
 * The migration to a table, with the source locked, and so the table that the
 * view in its place reads.  What follows must see what it waited for.
 */
static Migration *
load_locked(FunctionCallInfo fcinfo, Oid target)
{
	Oid			source;

	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the end of a migration needs the isolation level READ COMMITTED")));
	source = migration_source(fcinfo, target);
	if (!OidIsValid(source))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the source of the migration to \"%s\" does not exist any more",
						get_rel_name(target))));
	LockRelationOid(source, AccessExclusiveLock);
	return migration_load_target(fcinfo, target, true);
}

static void
require_state(const Migration *m, const char *state, const char *hint)
{
	if (strcmp(m->state, state) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the migration to \"%s\" is in state \"%s\", not \"%s\"",
						m->target_name, m->state, state),
				 errhint("%s", hint)));
}

/* The view takes the source's name, and the source is NAME_old. */
static void
finish_migration(Migration *m)
{
	require_state(m, "copied",
				  strcmp(m->state, "finished") == 0 ?
				  "It need not be finished again." :
				  "CALL roaring64_migrate with the same source and target goes on with it.");
	migration_check_shape(m);
	migration_check_dependents(m);
	migration_unfollow(m);
	m->source_name = pstrdup(get_rel_name(m->source));
	migration_run(m, "UPDATE {status} SET source_name = {'name}");
	migration_run(m, "ALTER TABLE {source} RENAME TO {old}");
	migration_create_view(m);
	migration_note_target(m);
	migration_set_state(m, "finished");
}

/*
 * roaring64_migrate_finish(target): waits for the writers, then puts the view
 * in the source's place.
 */
PG_FUNCTION_INFO_V1(roaring64_migrate_finish);
Datum
roaring64_migrate_finish(PG_FUNCTION_ARGS)
{
	SPI_connect();
	finish_migration(load_locked(fcinfo, PG_GETARG_OID(0)));
	SPI_finish();
	PG_RETURN_VOID();
}

/* The facts that have changed since the finish, by key; and their rows. */
#define TOUCHED \
	"WITH c AS MATERIALIZED (SELECT [k:g.{k}~, ]," \
	" {x}roaring64_or_agg(g.roaring64_ids) AS ids" \
	" FROM {changes} AS g GROUP BY [k:g.{k}~, ]) "
#define IS_IN_TARGET \
	"c JOIN {target} AS t ON [k:t.{k} {=} c.{k}~ AND ]," \
	" LATERAL {x}roaring64_elements(c.ids {x&} t.{all}) AS e (id)"

/* The old table gets what has been changed in the target since. */
static void
restore_rows(const Migration *m)
{
	const char *lost;

	(void) migration_run_by_index(m, TOUCHED
		", done AS (DELETE FROM {source} AS s"
		" USING c LEFT JOIN {target} AS t ON [k:t.{k} {=} c.{k}~ AND ],"
		" LATERAL {x}roaring64_elements(c.ids {x-} COALESCE(t.{all}, '{}'))"
		" AS e (id)"
		" WHERE [k:{expr s} {=} c.{k}~ AND ] AND s.{id} {.=} e.id"
		" RETURNING 1) "
		"SELECT pg_catalog.count(*) FROM done");
	if (migration_sql(m, "[c:{s}~]")[0] != '\0')
		(void) migration_run_by_index(m, TOUCHED
			", done AS (UPDATE {source} AS s"
			" SET [c:{column} = e.id {x<@} t.{s}~, ] FROM " IS_IN_TARGET
			" WHERE [k:{expr s} {=} c.{k}~ AND ] AND s.{id} {.=} e.id"
			" AND ([c:s.{column} {.<>} (e.id {x<@} t.{s})~ OR ])"
			" RETURNING 1) "
			"SELECT pg_catalog.count(*) FROM done");
	(void) migration_run_by_index(m, TOUCHED
		", done AS (INSERT INTO {source}"
		" ([k:{column}~, ], {id}[c:, {column}~]) OVERRIDING SYSTEM VALUE"
		" SELECT [k:c.{k}~, ], e.id[c:, e.id {x<@} t.{s}~] FROM " IS_IN_TARGET
		" WHERE NOT EXISTS (SELECT FROM {facts} AS f"
		" WHERE [k:f.{k} {=} c.{k}~ AND ] AND f.roaring64_id {.=} e.id)"
		" RETURNING 1) "
		"SELECT pg_catalog.count(*) FROM done");

	lost = migration_ask(m, TOUCHED
		"SELECT pg_catalog.format('(%s)',"
		" pg_catalog.concat_ws(', ', [k:c.{k}~, ], e.id)) FROM " IS_IN_TARGET
		", {facts} AS f"
		" WHERE [k:f.{k} {=} c.{k}~ AND ] AND f.roaring64_id {.=} e.id"
		" AND ([s:f.{s} {.<>} (e.id {x<@} t.{s})~ OR ]) LIMIT 1");
	if (lost != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a change made since the finish cannot be made in \"%s\"",
						get_rel_name(m->source)),
				 errdetail("%s has come to be in another set, of which the condition on the row in the old table does not know.",
						   lost),
				 errhint("Change the row in the old table so that its conditions agree with the sets, or the sets, then try again.")));
}

/* After the finish: the source takes its place again. */
static void
restore_source(const Migration *m)
{
	/* The view may have been dropped, if nothing used it any more. */
	bool		view = migration_ask(m,
		"SELECT pg_catalog.to_regclass({'view})") != NULL;

	if (view)
		migration_run(m, "LOCK TABLE {view} IN ACCESS EXCLUSIVE MODE");
	migration_run(m, "LOCK TABLE {target} IN ACCESS EXCLUSIVE MODE");
	restore_rows(m);
	if (view)
		migration_run(m, "DROP VIEW {view}");
	migration_run(m, "ALTER TABLE {source} RENAME TO {name}");
}

/* All is as it was before the migration. */
static void
undo_migration(Migration *m)
{
	if (strcmp(m->state, "finished") == 0)
		restore_source(m);
	else
		migration_unfollow(m);
	if (strcmp(m->state, "copying") == 0 || strcmp(m->state, "merging") == 0)
		migration_run(m, "DROP TABLE {parts}");
	migration_run(m, "DROP VIEW {facts}");
	migration_run(m, "DROP TABLE {target}, {changes}, {status}");
}

/*
 * roaring64_migrate_undo(target): all is as it was, with the changes made
 * since.  The target is dropped.
 */
PG_FUNCTION_INFO_V1(roaring64_migrate_undo);
Datum
roaring64_migrate_undo(PG_FUNCTION_ARGS)
{
	SPI_connect();
	undo_migration(load_locked(fcinfo, PG_GETARG_OID(0)));
	SPI_finish();
	PG_RETURN_VOID();
}

/* Nothing is left but the target and the view. */
static void
drop_old(const Migration *m)
{
	require_state(m, "finished",
				  "CALL roaring64_migrate_finish comes before.");
	migration_unnote_target(m);
	migration_run(m, "DROP VIEW {facts}");
	migration_run(m, "DROP TABLE {source}, {changes}, {status}");
}

/*
 * roaring64_migrate_drop_old(target): drops the old table, and with it the
 * way back.
 */
PG_FUNCTION_INFO_V1(roaring64_migrate_drop_old);
Datum
roaring64_migrate_drop_old(PG_FUNCTION_ARGS)
{
	SPI_connect();
	drop_old(load_locked(fcinfo, PG_GETARG_OID(0)));
	SPI_finish();
	PG_RETURN_VOID();
}
