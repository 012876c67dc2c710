/*-------------------------------------------------------------------------
 *
 * migrate.h
 *	  From a table with a row for every fact to one with a row for every key.
 *
 * The source has key columns, one id column and boolean columns or what else
 * conditions can be made of.  The target has the keys as primary key and a
 * set of ids for every condition.  Four more objects beside the target, named
 * after it, exist while the migration lasts:
 *
 *	  _migration	a table of one row: the definition, and how far it is
 *	  _facts		a view of the source in the target's terms.  It is made
 *					once, so it pins down what the user's conditions mean
 *	  _changes		facts changed meanwhile, as sets of ids by key
 *	  _parts		the sets of what was copied; dropped when it is merged
 *
 * The way of a migration, a transaction each step:
 *
 *	  copying		triggers on the source note changed facts in _changes.
 *					Stretches of blocks of the source go to _parts
 *	  merging		key by key, _parts go to the target
 *	  replaying		noted facts are looked up in the source again, which says
 *					how they are now.  That may be done any number of times
 *	  copied		the triggers change the target in the writer's own
 *					transaction
 *	  finished		a view has the source's place; triggers on the target note
 *					changed facts in _changes, for the way back
 *
 * src/migrate/migrate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_MIGRATE_H
#define ROARING64_MIGRATE_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/array.h"

/* A key column of the target.  Names are not quoted. */
typedef struct MigrationKey
{
	const char *name;			/* in the target */
	const char *column;			/* of the source */
	const char *type;			/* in the target, with collation */
	const char *equal;			/* its equality, as OPERATOR(schema.=) */
	const char *before;			/* the key of a row of the source is this, */
	const char *after;			/* the column, and this */
	int			place;			/* in the view, from 1; 0 if not known yet */
} MigrationKey;

/* A set of the target.  Names are not quoted. */
typedef struct MigrationSet
{
	const char *name;
	const char *condition;		/* on a row of the source; NULL: every row */
	const char *column;			/* if that is a boolean column: it */
	int			place;			/* in the view; 0 for the set of every row */
} MigrationSet;

typedef struct Migration
{
	/* as given */
	Oid			source;			/* InvalidOid if it is no more */
	const char *schema;			/* not quoted, of source and target */
	const char *target_name;	/* not quoted */
	int			nkeys;
	const char **key_columns;
	const char *id_column;
	int			nsets;
	const char **set_names;
	const char **set_conditions;
	int			ndropped;
	const char **drop_columns;
	const char *period_column;	/* or NULL */
	const char *period;
	int64		batch_rows;

	/* derived */
	const char *extension;		/* the extension's schema, quoted */
	const char *source_name;	/* the name of the source before the finish,
								 * not quoted */
	MigrationKey *keys;
	MigrationSet *sets;
	int			id_place;		/* in the view */
	int			places;			/* columns of the view */
	int			all;			/* which of the sets is that of every row */

	/* how far it is */
	const char *state;
	Oid			filenode;
	int64		blocks_done;
	int64		blocks;
	int64		rows_done;
	int64		rows_estimated;
} Migration;

/*
 * definition.c: what a migration is.  In all of these SPI is connected, and
 * results are palloc'd where the caller is.
 *
 * migration_exists: is there a migration to a table of that name?
 * migration_source: the source of a migration, InvalidOid if it is no more.
 *		Reports that there is no migration.
 * migration_load: the migration, with its row locked if so wanted.
 * migration_resolve: derives names, types and operators from what is given,
 *		and reports columns that there are not or that cannot be used.
 * migration_store: makes the row, in state "copying".
 */
extern bool migration_exists(const char *schema, const char *target);
extern Oid	migration_source(FunctionCallInfo fcinfo, Oid target);
extern Migration *migration_load(FunctionCallInfo fcinfo, const char *schema,
								 const char *target, bool lock);
extern Migration *migration_load_target(FunctionCallInfo fcinfo, Oid target,
										bool lock);
extern void migration_resolve(Migration *m);
extern void migration_store(Migration *m);
extern void migration_set_state(Migration *m, const char *state);
extern const char **migration_strings(ArrayType *array, int *n);

/*
 * sql.c: statements from templates; see there for what those may have.
 * migration_run executes one that gives no rows and returns how many it
 * processed.  migration_ask gives the first column of its first row as text,
 * NULL if there is none; migration_ask_number the same as a number, 0 if there
 * is none; $1 is the source.
 */
extern char *migration_sql(const Migration *m, const char *template);
extern uint64 migration_run(const Migration *m, const char *template);
extern char *migration_ask(const Migration *m, const char *template);
extern int64 migration_ask_number(const Migration *m, const char *template);
extern char *migration_relation(const Migration *m, const char *suffix);

/*
 * check.c: reports why a source cannot be migrated, or not so.
 *
 * migration_check_owner: to be asked before the source is locked.
 * migration_check: all the rest, of a new migration.
 * migration_check_shape: does the source have columns that would be lost?
 * migration_check_dependents: what would go on using the old table?
 */
extern void migration_check_owner(const Migration *m);
extern void migration_check(const Migration *m);
extern void migration_check_shape(const Migration *m);
extern void migration_check_dependents(const Migration *m);

/*
 * objects.c: what a migration makes in the database.
 *
 * migration_create: all that a new one needs; the source's triggers note
 *		changes.
 * migration_create_parts: the parts alone, empty.
 * migration_create_partitions: of the target, for what is in the parts.
 * migration_follow: the source's triggers change the target.
 * migration_unfollow: the source has no triggers of ours.
 * migration_note_target: the target's triggers note changes.
 * migration_unnote_target: it has none of ours.
 * migration_create_view: what takes the source's name.
 */
extern void migration_create(const Migration *m);
extern void migration_create_parts(const Migration *m);
extern void migration_create_partitions(const Migration *m);
extern void migration_follow(const Migration *m);
extern void migration_unfollow(const Migration *m);
extern void migration_note_target(const Migration *m);
extern void migration_unnote_target(const Migration *m);
extern void migration_create_view(Migration *m);

/*
 * copy.c: the way to "copied".
 *
 * migration_filenode, migration_measure: which file the source is now, and
 *		how much there is to copy.
 * migration_step: one transaction; false if there is nothing to do any more.
 * migration_run_by_index: executes a statement that looks few facts up in the
 *		source; returns the number that it gives.
 */
extern Oid	migration_filenode(const Migration *m);
extern void migration_measure(Migration *m);
extern bool migration_step(Migration *m, bool *exclusive);
extern int64 migration_run_by_index(const Migration *m, const char *template);

#endif							/* ROARING64_MIGRATE_H */
