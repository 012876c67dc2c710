--
-- Rollups: sets that follow a table.  Names and templates.
--
-- Triggers on the source append the key and the id of every row that came, went or changed
-- to what is pending.  They decide nothing, so no writer waits for another.
--
-- What the sets are is decided where they are read: of a key with something pending, the
-- set without the pending ids, and those of them that the source has in the same snapshot.
-- So it does not matter what happened, in which order, or how often; and an id that was
-- appended for nothing changes nothing.  The view reads that, and a fold writes it: one
-- statement, which has one snapshot, deletes pending rows, looks them up and writes the sets.
-- A writer who has not committed keeps its pending rows for the next fold, and a reader sees
-- the old sets with the pending rows or the new ones without.  Folds exclude each other, so
-- the sets that the snapshot shows are the latest.
--
-- Where sets keep what goes, the triggers append which sets a row is in, and that is added.
--
-- Beside the target, named after it and in its schema, there are:
--
--	  _rollup		one row: the arguments, what the conditions mean, and what has been copied
--	  _pending		what the triggers append: k1, k2 ... and id; where it is kept, c1, c2 ...
--	  _rows			a view of the source: the same, of each row that is in a set
--	  _facts()		the same of one row, as the domain _row, for the triggers
--	  _insert() ...	the functions of the triggers: _update, _delete, _truncate
--	  _now			a view of the target with what is pending
--	  _fold()		merges a part of what is pending, _copy() all rows
--	  _differs		a view of the sets that differ from the rows
--
-- All but the functions of the triggers are parsed once, so what they use may be renamed, and
-- what a condition means does not depend on who reads it.
--

-- The names of these, with their schema, which is that of the target.
CREATE FUNCTION _roaring64_rollup_parts(schema name, target name)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_object_agg(ltrim(part, '_'), format('%I.%I', schema, target || part)) || jsonb_build_object(
		'ext', '@extschema@', 'name', target,
		'target', format('%I.%I', schema, target), 'target_text', quote_literal(format('%I.%I', schema, target)))
	FROM unnest('{_rollup,_pending,_rows,_row,_facts,_now,_fold,_copy,_differs,_insert,_update,_delete,_truncate}'::text[])
		AS part
$$;
COMMENT ON FUNCTION _roaring64_rollup_parts(name, name) IS 'names of what belongs to a rollup';

-- What the templates name besides: the source, the columns of the key and the sets, from the
-- arguments; and, once there is a target, the patterns: which columns of the key are NULL, for
-- those that can be, and when a row of the source, the target or what is pending matches.  It
-- does as the target's unique index says, with OPERATOR(schema.=).
CREATE FUNCTION _roaring64_rollup_names(parts jsonb, source regclass, given json)
RETURNS jsonb LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	WITH source AS (
		SELECT format('%I.%I', n.nspname, relname) AS name, relkind = 'p' AS partitioned,
			given->>'deletes' = 'keep' AS keeps
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = source),
	keys AS (
		SELECT c AS name, i AS k, coalesce((SELECT attnotnull FROM pg_attribute
				WHERE attrelid = coalesce(to_regclass(parts->>'pending'), source)
					AND attname = CASE WHEN to_regclass(parts->>'pending') IS NULL THEN c ELSE 'k' || i END), false) AS not_null
		FROM unnest(ARRAY(SELECT json_array_elements_text(given->'key_columns')) || (given->>'period_column'))
			WITH ORDINALITY AS k (c, i) WHERE c IS NOT NULL),
	sets AS (SELECT c AS name, i AS n FROM json_object_keys(given->'sets') WITH ORDINALITY AS s (c, i)),
	columns AS (
		SELECT 'k' || k AS c, 'f.k' || k AS changed, 'k' || k AS repair, k AS i FROM keys UNION ALL
		SELECT 'id', 'f.id', '@extschema@.roaring64_elements(@extschema@.roaring64_or(missing, surplus))', 1000 UNION ALL
		SELECT 'c' || n, format('pg_catalog.sum(f.sign) FILTER (WHERE f.c%s) OPERATOR(pg_catalog.>) 0', n),
			format('set_name = %L', sets.name), 1000 + n
		FROM sets, source WHERE keeps),
	equal AS (
		SELECT k.i AS k, format('%%s OPERATOR(%s.%s) %%s', o.oprnamespace::regnamespace, replace(o.oprname, '%',
			'%%')) AS equal
		FROM pg_index AS x CROSS JOIN LATERAL unnest(x.indclass) WITH ORDINALITY AS k (opclass, i)
			JOIN pg_opclass AS p ON p.oid = k.opclass
			JOIN pg_amop AS s ON s.amopfamily = p.opcfamily AND s.amopstrategy = 3
				AND s.amoplefttype = p.opcintype AND s.amoprighttype = p.opcintype
			JOIN pg_operator AS o ON o.oid = s.amopopr
		WHERE x.indrelid = to_regclass(parts->>'target') AND x.indisunique),
	patterns AS (
		SELECT jsonb_build_object(
			'rows_match', string_agg(format(w.word, 'r.k' || k, 'g.k' || k), ' AND ' ORDER BY k),
			'sets_of', string_agg(format(w.word, 't.' || quote_ident(name), 'x.k' || k), ' AND ' ORDER BY k),
			'waiting', string_agg(format(w.word, 'p.k' || k, 't.' || quote_ident(name)), ' AND ' ORDER BY k)) AS pattern
		FROM (SELECT count(*)::int FROM keys WHERE NOT not_null) AS nullable (n), generate_series(0,
			(1 << n) - 1) AS pattern,
			(SELECT *, row_number() OVER (PARTITION BY not_null ORDER BY k)::int - 1 AS bit FROM keys) AS b
				JOIN equal USING (k),
			LATERAL (SELECT CASE WHEN NOT not_null AND (pattern >> bit) & 1 = 1
				THEN '%s IS NULL AND %s IS NULL' ELSE equal END) AS w (word)
		GROUP BY pattern ORDER BY pattern)
	SELECT parts || jsonb_build_object(
		'source', s.name, 'source_text', quote_literal(s.name), 'pending_text', quote_literal(parts->>'pending'),
		'only', CASE WHEN partitioned THEN '' ELSE 'ONLY ' END, 'partitioned', partitioned, 'keeps', keeps,
		'kind', CASE WHEN keeps THEN 'grow' ELSE 'follow' END, 'more', CASE WHEN keeps THEN '>' ELSE '<>' END,
		'surplus', CASE WHEN keeps THEN '''{}''::@extschema@.roaring64'
			ELSE '@extschema@.roaring64_andnot(s.held, s.fact)' END,
		'keys', (SELECT jsonb_agg(jsonb_build_object('k', k, 'column', quote_ident(name),
					'null', CASE WHEN not_null THEN 'SET' ELSE 'DROP' END) ORDER BY k) FROM keys),
		'sets', (SELECT jsonb_agg(jsonb_build_object('n', n, 'set', quote_ident(name), 'set_text',
			quote_literal(name)) ORDER BY n) FROM sets),
		'first', (SELECT quote_ident(name) FROM sets WHERE n = 1),
		'columns', (SELECT jsonb_agg(to_jsonb(c.*) ORDER BY i) FROM columns AS c),
		'patterns', (SELECT jsonb_agg(pattern) FROM patterns))
	FROM source AS s
$$;
COMMENT ON FUNCTION _roaring64_rollup_names(jsonb, regclass, json) IS 'names for the templates of a rollup';

-- The templates (see _roaring64_fill).
CREATE FUNCTION _roaring64_rollup_template(name text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE name
-- The tables.  A publication of all tables wants to know what is deleted.  The index is in no
-- order that GROUP BY can use, which would fetch each row by it.
WHEN 'tables' THEN $$
CREATE TABLE {target} ([keys: {column}, ...]) AS SELECT [keys: k{k}, ...] FROM {rows} WITH NO DATA;
ALTER TABLE {target} [keys: ALTER COLUMN {column} {null} NOT NULL, ...],
	[sets: ADD COLUMN {set} {ext}.roaring64 NOT NULL DEFAULT '{}', ALTER COLUMN {set} SET STORAGE EXTERNAL, ...];
CREATE TABLE {pending} AS SELECT [columns: {c}, ...] FROM {rows} WITH NO DATA;
ALTER TABLE {pending} REPLICA IDENTITY FULL, [keys: ALTER COLUMN k{k} {null} NOT NULL, ...];
CREATE INDEX ON {pending} ([keys: k{k} NULLS FIRST, ...]);
CREATE TABLE {rollup} (meaning text[] PRIMARY KEY, given json NOT NULL, copied jsonb)$$
WHEN 'key' THEN 'ALTER TABLE {target} ADD PRIMARY KEY ([keys: {column}, ...])'
WHEN 'null_key' THEN $$CREATE UNIQUE INDEX ON {target} ([keys: {column}, ...]) NULLS NOT DISTINCT;
ALTER TABLE {target} REPLICA IDENTITY FULL$$
-- What the sets lose and then get for the rows that are touched, where they follow, and where
-- they only grow.
WHEN 'follow' THEN $$
	SELECT [keys: g.k{k}, ...], [sets: g.ids AS r{n}, l.a{n}, ...]
	FROM (SELECT [keys: k{k}, ...], {ext}.roaring64_agg(id) AS ids FROM {touched} GROUP BY [keys: k{k}, ...]) AS g,
		LATERAL (
			SELECT [sets: coalesce({ext}.roaring64_agg(r.id) FILTER (WHERE r.c{n}), '{}') AS a{n}, ...]
			FROM ([patterns: SELECT r.* FROM {rows} AS r
				WHERE {rows_match} AND r.i = ANY ({ext}.roaring64_to_array(g.ids)) UNION ALL ...]) AS r
		) AS l$$
WHEN 'grow' THEN $$
	SELECT g.*, [sets: g.a{n} AS r{n}, ...]
	FROM (
		SELECT [keys: k{k}, ...], [sets: coalesce({ext}.roaring64_agg(id) FILTER (WHERE c{n}), '{}') AS a{n}, ...]
		FROM {touched} GROUP BY [keys: k{k}, ...]) AS g$$
-- What they become.  A set that does not change is not written again, and no key begins with
-- nothing.
WHEN 'merged' THEN $$
SELECT [keys: x.k{k} AS {column}, ...],
	[sets: CASE WHEN {ext}.roaring64_and(t.{set}, x.r{n}) OPERATOR({ext}.=) x.a{n} THEN t.{set}
		ELSE {ext}.roaring64_or({ext}.roaring64_andnot(coalesce(t.{set}, '{}'), {ext}.roaring64_andnot(x.r{n}, x.a{n})),
			x.a{n}) END AS {set}, ...]
FROM ({found}) AS x
	LEFT JOIN LATERAL ([patterns: SELECT t.* FROM {target} AS t WHERE {sets_of} UNION ALL ...]) AS t ON true
WHERE t.{first} IS NOT NULL OR [sets: NOT {ext}.roaring64_is_empty(x.a{n}) OR ...]$$
-- What reads it and what writes it.
WHEN 'now' THEN $$
CREATE VIEW {now} AS {merged}
UNION ALL
SELECT [keys: t.{column}, ...], [sets: t.{set}, ...] FROM {target} AS t
WHERE [patterns: NOT EXISTS (SELECT FROM {pending} AS p WHERE {waiting}) AND ...]$$
WHEN 'fold' THEN $$
CREATE FUNCTION {fold}(tid, tid) RETURNS void LANGUAGE sql BEGIN ATOMIC
WITH gone AS (DELETE FROM {pending} WHERE ctid >= $1 AND ctid < $2 RETURNING [columns: {c}, ...])
{write}
END$$
WHEN 'copy' THEN $$
CREATE FUNCTION {copy}() RETURNS void LANGUAGE sql BEGIN ATOMIC
{write}
END$$
-- Keys in their order.
WHEN 'write' THEN $$INSERT INTO {target} ([keys: {column}, ...], [sets: {set}, ...]) {merged}
ORDER BY [keys: x.k{k}, ...]
ON CONFLICT ([keys: {column}, ...]) DO UPDATE SET [sets: {set} = excluded.{set}, ...];$$
WHEN 'differs' THEN $$
CREATE VIEW {differs} AS
SELECT (SELECT to_jsonb(j.*) FROM (SELECT [keys: g.k{k} AS {column}, ...]) AS j) AS key, s.name AS set_name,
	{ext}.roaring64_andnot(s.fact, s.held) AS missing, {surplus} AS surplus, [keys: g.k{k}, ...]
FROM (
	SELECT [keys: k{k}, ...], [sets: coalesce({ext}.roaring64_or_agg(f{n}), '{}') AS f{n}, ...],
		[sets: coalesce({ext}.roaring64_or_agg(t{n}), '{}') AS t{n}, ...]
	FROM (
		SELECT [keys: k{k}, ...], [sets: {ext}.roaring64_agg(id) FILTER (WHERE c{n}) AS f{n}, ...],
			[sets: NULL::{ext}.roaring64 AS t{n}, ...] FROM {rows} GROUP BY [keys: k{k}, ...]
		UNION ALL
		SELECT [keys: t.{column}, ...], [sets: NULL::{ext}.roaring64, ...], [sets: t.{set}, ...] FROM {now} AS t) AS u
	GROUP BY [keys: k{k}, ...]) AS g,
	LATERAL (VALUES [sets: ({set_text}::name, f{n}, t{n}), ...]) AS s (name, fact, held)
WHERE NOT {ext}.roaring64_is_empty({ext}.roaring64_andnot(s.fact, s.held)) OR NOT {ext}.roaring64_is_empty({surplus})$$
WHEN 'repair' THEN 'INSERT INTO {pending} ([columns: {c}, ...]) SELECT [columns: {repair}, ...] FROM {differs}'
-- The functions of the triggers, which run as the writer, with its settings.
WHEN 'append' THEN $$
CREATE {replace} FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql {settings} AS {body}$$
WHEN 'body' THEN $$
-- made by roaring64_rollup_create; see docs/rollups.md
BEGIN
	IF NOT pg_catalog.has_table_privilege({pending_text}::pg_catalog.regclass, 'INSERT') THEN
		RAISE insufficient_privilege USING
			MESSAGE = pg_catalog.format('permission denied for table %s, to which writers of %I append', {pending_text},
				TG_TABLE_NAME),
			HINT = pg_catalog.format('GRANT INSERT ON %s TO %I;', {pending_text}, current_user);
	END IF;{childless}
	INSERT INTO {pending} ([columns: {c}, ...]){renamed}{changes};
	RETURN NULL;
END
$$
WHEN 'insert' THEN $$
	SELECT [columns: f.{c}, ...] FROM {new} AS f$$
WHEN 'delete' THEN $$
	SELECT [columns: f.{c}, ...] FROM {old} AS f$$
-- What a row is after the statement and was not before, or the other way round.
WHEN 'update' THEN $$
	SELECT [columns: {changed}, ...]
	FROM (SELECT f.*, 1 AS sign FROM {new} AS f UNION ALL SELECT f.*, -1 FROM {old} AS f) AS f
	GROUP BY [keys: f.k{k}, ...], f.id
	HAVING [sets: pg_catalog.sum(f.sign) FILTER (WHERE f.c{n}) OPERATOR(pg_catalog.{more}) 0 OR ...]$$
-- An UPDATE of a table changes rows of its children too, which would be kept as its own, or stand
-- for a row of its own that comes or goes.
WHEN 'childless' THEN $$
	IF EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE inhparent OPERATOR(pg_catalog.=) TG_RELID) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot update %I.%I, because it has children and the sets of %s do not follow these',
										TG_TABLE_SCHEMA, TG_TABLE_NAME, {target_text}),
			HINT = 'ALTER TABLE ... NO INHERIT the children.';
	END IF;$$
WHEN 'truncate' THEN $$
-- made by roaring64_rollup_create; see docs/rollups.md
BEGIN
	RAISE object_not_in_prerequisite_state USING
		MESSAGE = pg_catalog.format('cannot truncate %I.%I, because the sets of %s do not follow that',
									TG_TABLE_SCHEMA, TG_TABLE_NAME, {target_text}),
		HINT = 'Use DELETE, or stop the rollup with roaring64_rollup_detach or roaring64_rollup_drop.';
END
$$
-- Whatever is left of a rollup.  On the functions of triggers, only triggers depend.
WHEN 'end' THEN $$
DROP FUNCTION IF EXISTS {insert}(), {update}(), {delete}(), {truncate}() CASCADE;
DROP FUNCTION IF EXISTS {fold}(tid, tid), {copy}(), {facts}({row});
DROP VIEW IF EXISTS {differs}, {now}, {rows};
DROP TABLE IF EXISTS {pending}, {rollup};
DROP DOMAIN IF EXISTS {row}$$
END;
COMMENT ON FUNCTION _roaring64_rollup_template(text) IS 'templates of a rollup';

-- A template with the names, and with templates that it names: "name=template" or both in one,
-- the innermost first.
CREATE FUNCTION _roaring64_rollup_text(names jsonb, templates text)
RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	template text;
	part text[];
	filled text;
BEGIN
	FOREACH template IN ARRAY string_to_array(templates, ' ') LOOP
		part := string_to_array(template, '=');
		filled := @extschema@._roaring64_fill(@extschema@._roaring64_rollup_template(part[cardinality(part)]), names);
		names := names || jsonb_build_object(part[1], filled);
	END LOOP;
	RETURN filled;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_text(jsonb, text) IS 'SQL of a rollup: templates with the names filled in';

-- What reads and writes the sets, from the same templates.
CREATE FUNCTION _roaring64_rollup_statement(name text, names jsonb)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000
RETURN CASE name
	WHEN 'now' THEN @extschema@._roaring64_rollup_text(names || jsonb_build_object('touched', names->'pending'),
		'found=' || (names->>'kind') || ' merged now')
	WHEN 'fold' THEN @extschema@._roaring64_rollup_text(names || '{"touched": "gone"}', 'found=' || (names->>'kind')
		|| ' merged write fold')
	WHEN 'copy' THEN @extschema@._roaring64_rollup_text(names || jsonb_build_object('touched', names->'rows'),
		'found=grow merged write copy')
	ELSE @extschema@._roaring64_rollup_text(names, name) END;
COMMENT ON FUNCTION _roaring64_rollup_statement(text, jsonb) IS 'a statement of a rollup';

-- The expression that gives the period of a time, in UTC: the first day of a day or of
-- something longer, or the start of what divides a day.  NULL if there is no such period.
CREATE FUNCTION _roaring64_rollup_period(period text, period_column name, type regtype)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE
	WHEN type <> ALL ('{date,timestamp,timestamptz}'::regtype[]) THEN NULL
	WHEN period IN ('day', 'week', 'month', 'quarter', 'year') THEN
		format('pg_catalog.date_trunc(%L, %I %s)::pg_catalog.date', period, period_column,
			   CASE type WHEN 'timestamptz'::regtype THEN 'AT TIME ZONE ''UTC''' ELSE '::timestamp' END)
	WHEN period ~ '^([1-9][0-9]{0,4} )?(hour|minute|second)s?$' AND type <> 'date'::regtype THEN
		(SELECT format('pg_catalog.date_bin(%L, %I, %L::pg_catalog.%s)', s || ' seconds', period_column,
			'2000-01-01 00:00+00',
					   CASE type WHEN 'timestamptz'::regtype THEN 'timestamptz' ELSE 'timestamp' END)
		 FROM (SELECT coalesce(substring(period FROM '[0-9]+')::integer, 1) * CASE substring(period
			FROM 'hour|minute|second')
					WHEN 'hour' THEN 3600 WHEN 'minute' THEN 60 ELSE 1 END) AS p (s)
		 WHERE 86400 % s = 0)
	END;
COMMENT ON FUNCTION _roaring64_rollup_period(text, name, regtype) IS 'expression that gives the period of a time';
