/*-------------------------------------------------------------------------
 *
 * copy.c
 *	  The steps of a migration, a transaction each.
 *
 * Every step locks the source, so that it keeps its shape and its file; then
 * the row of {status}, so that steps follow each other whoever takes them;
 * and does a part of the work and says so in that row.  What was not
 * committed was not done, so any step may be cancelled or killed.
 *
 * Why the target is right in the end.  Since the triggers were made, with no
 * writer under way, every change of the source leaves a note in {changes} that
 * is committed with it.  What copying reads may be older than the notes or
 * newer; either way each fact changed since is noted, or is yet to be.  When a
 * note is taken away, the fact is looked up in the same snapshot: the change
 * that left the note is in it, and a later change leaves a note of its own.
 * The last notes are replayed while no writer is under way, and from then on
 * the triggers keep the target exact.
 *
 * Copying goes by blocks.  A source that is written anew (TRUNCATE, VACUUM
 * FULL, CLUSTER, some ALTER TABLE, or a restored dump) is a new file, and
 * copying begins again.
 *
 * src/migrate/copy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/block.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "migrate.h"

/* Keys that are merged, and notes that are replayed, in one transaction. */
#define MERGE_KEYS		5000
#define REPLAY_NOTES	50000

/*
 * A statement that must be planned in a certain way, and gives a number.  The
 * settings hold for this statement alone; an error gives them back too.
 */
static int64
run_planned(const Migration *m, const char *template,
			const char *const *settings)
{
	int			level = NewGUCNestLevel();
	int64		answer;

	for (; settings[0] != NULL; settings += 2)
		(void) set_config_option(settings[0], settings[1], PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	answer = migration_ask_number(m, template);
	AtEOXact_GUC(true, level);
	return answer;
}

/*
 * Groups are made one at a time from sorted rows.  Hashing would keep a set
 * for every key in memory, and those grow after the memory was counted.
 */
static int64
run_sorted(const Migration *m, const char *template)
{
	char		memory[32];
	const char *settings[] = {"enable_hashagg", "off", "jit", "off",
	"work_mem", memory, NULL};

	snprintf(memory, sizeof(memory), "%dkB", maintenance_work_mem);
	return run_planned(m, template, settings);
}

/* Facts are looked up one by one: they are few, and the source is large. */
int64
migration_run_by_index(const Migration *m, const char *template)
{
	static const char *const settings[] = {"enable_hashjoin", "off",
	"enable_mergejoin", "off", "enable_seqscan", "off", "jit", "off", NULL};

	return run_planned(m, template, settings);
}

/* The source's file: another one when it is written anew. */
Oid
migration_filenode(const Migration *m)
{
	char	   *filenode = migration_ask(m,
		"SELECT pg_catalog.pg_relation_filenode($1)");

	return filenode == NULL ? InvalidOid :
		DatumGetObjectId(DirectFunctionCall1(oidin, CStringGetDatum(filenode)));
}

/*
 * What there is to copy.  Rows that come into further blocks later are noted
 * by the triggers, which are there by now.
 */
void
migration_measure(Migration *m)
{
	m->filenode = migration_filenode(m);
	m->blocks = migration_ask_number(m,
		"SELECT pg_catalog.pg_relation_size($1)") / BLCKSZ;
	m->rows_estimated = migration_ask_number(m, psprintf(
		"SELECT (CASE WHEN reltuples {.>} 0::pg_catalog.float4 "
		"AND relpages {.>} 0 THEN reltuples::pg_catalog.float8 {./} "
		"relpages::pg_catalog.float8 ELSE 100::pg_catalog.float8 END {.*} "
		"%u::pg_catalog.float8)::bigint FROM pg_catalog.pg_class "
		"WHERE oid {.=} $1",
		(uint32) m->blocks));
}

/* The file of the source has changed: begin again. */
static void
start_over(Migration *m)
{
	ereport(NOTICE,
			(errmsg("\"%s\" has been written anew, so copying begins again",
					get_rel_name(m->source))));
	migration_run(m, "TRUNCATE {target}");
	if (strcmp(m->state, "replaying") != 0)
		migration_run(m, "DROP TABLE {parts}");
	migration_create_parts(m);
	migration_measure(m);
	m->blocks_done = 0;
	m->rows_done = 0;
	migration_set_state(m, "copying");
}

/* How many blocks have about as many rows as a batch. */
static int64
batch_blocks(const Migration *m)
{
	double		rows_per_block = m->blocks_done > 0 ?
		(double) m->rows_done / m->blocks_done :
		(double) m->rows_estimated / Max(m->blocks, 1);

	return (int64) Max(1, m->batch_rows / Max(rows_per_block, 1));
}

/* Copies the next blocks to the parts: of each key what these have of it. */
static void
copy_batch(Migration *m)
{
	int64		end = Min(m->blocks, m->blocks_done + batch_blocks(m));

	m->rows_done += run_sorted(m, psprintf(
		"WITH batch AS (INSERT INTO {parts} ([k:{k}~, ], [s:{s}~, ])"
		" SELECT [k:f.{k}~, ], [s:{agg}~, ] FROM {facts} AS f"
		" WHERE f.roaring64_place {.>=} '(%u,0)'::pg_catalog.tid"
		" AND f.roaring64_place {.<} '(%u,0)'::pg_catalog.tid"
		" GROUP BY [k:f.{k}~, ]"
		" RETURNING {x}roaring64_cardinality({all}) AS n) "

		"SELECT pg_catalog.sum(n)::bigint FROM batch",
		(BlockNumber) m->blocks_done,
		(BlockNumber) Min(end, MaxBlockNumber)));
	m->blocks_done = end;
	m->rows_estimated = (int64) ((double) m->rows_done * m->blocks /
								 Max(end, 1));
	if (end == m->blocks)
		migration_run(m, "ANALYZE {parts}");
	migration_set_state(m, end < m->blocks ? "copying" : "merging");
}

/* Merges the parts of the first keys; the parts go. */
static void
merge_batch(Migration *m)
{
	int64		n;

	migration_create_partitions(m);
	n = run_sorted(m, psprintf(
		"WITH next AS MATERIALIZED (SELECT [k:{k}~, ] FROM {parts}"
		" GROUP BY [k:{k}~, ] ORDER BY [k:{k}~, ] LIMIT %d), "

		"gone AS (DELETE FROM {parts} AS p USING next AS n"
		" WHERE [k:p.{k} {=} n.{k}~ AND ] RETURNING p.*), "

		"merged AS (INSERT INTO {target} ([k:{k}~, ], [s:{s}~, ])"
		" SELECT [k:g.{k}~, ], [s:{x}roaring64_or_agg(g.{s})~, ]"
		" FROM gone AS g GROUP BY [k:g.{k}~, ] ORDER BY [k:g.{k}~, ]"
		" RETURNING 1) "

		"SELECT pg_catalog.count(*) FROM merged",
		MERGE_KEYS));
	if (n == 0)
	{
		migration_run(m, "DROP TABLE {parts}");
		migration_run(m, "ANALYZE {target}");
	}
	migration_set_state(m, n > 0 ? "merging" : "replaying");
}

/*
 * Replays some notes: the facts they name become what the source says now.
 * Nobody else writes to the target in this state.  Returns how many notes.
 */
static int64
replay_batch(Migration *m)
{
	return migration_run_by_index(m, psprintf(
		"WITH gone AS (DELETE FROM {changes} WHERE ctid {.=} ANY"
		" (ARRAY(SELECT ctid FROM {changes} LIMIT %d)) RETURNING *), "

		"touched AS MATERIALIZED (SELECT [k:g.{k}~, ],"
		" {x}roaring64_or_agg(g.roaring64_ids) AS ids"
		" FROM gone AS g GROUP BY [k:g.{k}~, ]), "

		"now AS MATERIALIZED (SELECT [k:c.{k}~, ], [s:{agg} AS {s}~, ]"
		" FROM touched AS c, LATERAL {x}roaring64_elements(c.ids) AS e (id),"
		" {facts} AS f"
		" WHERE [k:f.{k} {=} c.{k}~ AND ] AND f.roaring64_id {.=} e.id"
		" GROUP BY [k:c.{k}~, ]), "

		"done AS (INSERT INTO {target} ([k:{k}~, ], [s:{s}~, ])"
		" SELECT [k:c.{k}~, ], [s:COALESCE(t.{s}, '{}') {x-} c.ids"
		" {x|} COALESCE(n.{s}, '{}')~, ]"
		" FROM touched AS c"
		" LEFT JOIN {target} AS t ON [k:t.{k} {=} c.{k}~ AND ]"
		" LEFT JOIN now AS n ON [k:n.{k} {=} c.{k}~ AND ]"
		" ON CONFLICT ([k:{k}~, ])"
		" DO UPDATE SET [s:{s} = excluded.{s}~, ]) "

		"SELECT pg_catalog.count(*) FROM gone",
		REPLAY_NOTES));
}

/* Replays the last notes, with no writer under way, and changes over. */
static void
change_over(Migration *m)
{
	while (replay_batch(m) > 0)
		CHECK_FOR_INTERRUPTS();
	migration_follow(m);
	migration_set_state(m, "copied");
}

/*
 * One transaction on the way to "copied"; false if it is there.  exclusive
 * says that no writer is under way; it is set where the next step needs that.
 */
bool
migration_step(Migration *m, bool *exclusive)
{
	bool		alone = *exclusive;

	*exclusive = false;
	if (strcmp(m->state, "copied") == 0)
		return false;
	if (migration_filenode(m) != m->filenode)
		start_over(m);
	else if (strcmp(m->state, "copying") == 0)
		copy_batch(m);
	else if (strcmp(m->state, "merging") == 0)
		merge_batch(m);
	else if (alone)
		change_over(m);
	else if (replay_batch(m) < REPLAY_NOTES)
		*exclusive = true;
	return true;
}
