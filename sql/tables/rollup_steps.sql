--
-- The steps of a rollup.
--
-- From the beginning, the triggers carry what a statement changes, in the writer's own
-- transaction; rollup_triggers.sql tells why that is right.
--
-- The rows of the beginning are copied into the parts, a range of blocks at a
-- time.  What is copied may be older than the target.  So when a part is merged
-- into the target, it must not bring back ids that were removed in the
-- meantime: the triggers note these in the parts too.  And a row that an UPDATE
-- moves from a block not yet copied to one that was is not copied at all.  So
-- until all is copied, the triggers add every id of a row that is written, not
-- only changed ones.
--
-- Then, key by key: the row of the target is locked.  After that, all notes
-- about the key are committed, or are written later and see what was done here.
-- Then, with a new snapshot, target := target | (parts - notes).
--
-- At the end, the triggers get functions without notes, which carry only what
-- a statement changes.  From then on, others can write to the sets directly.
--
-- A partition is known by the trigger that PostgreSQL gave it.  One that has come since,
-- or has come back, has another, and is copied in the same way: ids are only added.
--
-- A crash or an error takes back a step; the next call goes on from the state.
--

-- Locks tables, by name.  Waits for all of them no longer than lock_timeout or, without
-- one, half of deadlock_timeout and at most half a second: others wait behind us,
-- and who has written to a partition and needs its parent waits for us while we
-- wait for the partition, so we give up before either looks for a deadlock.
CREATE FUNCTION _roaring64_rollup_lock(tables text[], mode text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given text := current_setting('lock_timeout');
	bound numeric := (SELECT coalesce(nullif(max(setting) FILTER (WHERE name = 'lock_timeout'), '0')::numeric,
									  least(500, max(setting) FILTER (WHERE name = 'deadlock_timeout')::numeric / 2))
					  FROM pg_settings WHERE name IN ('lock_timeout', 'deadlock_timeout'));
	start timestamptz := clock_timestamp();
	name text;
BEGIN
	FOREACH name IN ARRAY tables LOOP
		PERFORM set_config('lock_timeout', greatest(1, ceil(bound - 1000 * extract(
			epoch FROM clock_timestamp() - start)::numeric))::text, true);
		EXECUTE format('LOCK TABLE ONLY %s IN %s MODE', name, mode);
	END LOOP;
	PERFORM set_config('lock_timeout', given, true);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_lock(text[], text) IS 'locks tables of a rollup within a bounded time';

-- Waits before a lock is tried again, longer each time; says at times who has it.
CREATE FUNCTION _roaring64_rollup_wait(place regclass, target text, tries integer)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF tries = 3 OR tries % 6 = 0 THEN
		RAISE NOTICE 'the rollup % waits for a lock', quote_ident(target) USING
			DETAIL = coalesce((
				SELECT string_agg(coalesce(
						   format('process %s (%s), %s, in a transaction for %s', a.pid, a.usename, a.state,
								  date_trunc('second', clock_timestamp() - a.xact_start)),
						   format('the prepared transaction %L, for %s', x.gid,
								  date_trunc('second', clock_timestamp() - x.prepared))),
					   '; ' ORDER BY coalesce(a.xact_start, x.prepared))
				FROM (SELECT DISTINCT pid, virtualtransaction FROM pg_locks
					  WHERE granted AND pid IS DISTINCT FROM pg_backend_pid()
						  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
						  AND relation IN (SELECT place UNION SELECT relid FROM pg_partition_tree(place)
							  UNION SELECT unnest(@extschema@._roaring64_rollup_members(place, target))
							  UNION SELECT to_regclass(@extschema@._roaring64_rollup_object(place, target, '')))) AS l
					LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
					LEFT JOIN pg_prepared_xacts AS x ON l.virtualtransaction = '-1/' || x.transaction),
				'Nobody has it at the moment.');
	END IF;
	PERFORM pg_sleep(least(0.1 * 2 ^ least(tries - 1, 10), 5));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_wait(regclass, text, integer) IS 'waits before a lock of a rollup is tried again';

-- What a row of the source means, as a view of the source and as a function of
-- a row: its key k1, k2 ..., of which a period is the last, its id, as it is and
-- as a bigint, and whether it is in the sets c1, c2 ....  The conditions are texts
-- that mean the same with these settings.  The planner sees through the cast of source_row.
CREATE FUNCTION _roaring64_rollup_define(source regclass, names jsonb, options jsonb, conditions text[], columns name[])
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO'
SET intervalstyle = 'postgres' SET standard_conforming_strings = on
AS $$
DECLARE
	key_columns name[] := ARRAY(SELECT jsonb_array_elements_text(options->'key_columns'));
	keys text[] := ARRAY(SELECT quote_ident(k) FROM unnest(key_columns) AS k)
		|| ARRAY(SELECT @extschema@._roaring64_rollup_period(options->>'period', attname, atttypid)
				 FROM pg_attribute WHERE attrelid = source AND attname = options->>'period_column');
	used name[] := columns || key_columns || ARRAY[options->>'id_column', options->>'period_column']::name[];
BEGIN
	names := names || jsonb_build_object(
		'only', CASE WHEN (names->>'partitioned')::boolean THEN '' ELSE 'ONLY' END,
		'facts_of_rows', format('SELECT %s, %I AS i, %2$I::bigint AS id, %s',
		(SELECT string_agg(format('%s AS k%s', e, i), ', ' ORDER BY i) FROM unnest(keys) WITH ORDINALITY AS k (e, i)),
		options->>'id_column',
		(SELECT string_agg(format('(%s) IS TRUE AS c%s', e, i), ', ' ORDER BY i)
		 FROM unnest(conditions) WITH ORDINALITY AS c (e, i))));
	EXECUTE @extschema@._roaring64_rollup_fill(
		'CREATE VIEW {rows} AS {facts_of_rows} FROM {only} {source}; COMMENT ON VIEW {rows} IS {part}; '
		'CREATE DOMAIN {row} AS {source}; COMMENT ON DOMAIN {row} IS {part}', names);
	EXECUTE @extschema@._roaring64_rollup_fill(
		'CREATE FUNCTION {facts}(source_row {row}) RETURNS TABLE ({results}) LANGUAGE sql IMMUTABLE PARALLEL SAFE '
		'BEGIN ATOMIC {facts_of_rows} FROM (SELECT {fields}) AS {alias}; END; COMMENT ON FUNCTION {facts} IS {part}',
		names || jsonb_build_object(
			'results', (SELECT string_agg(format('%I %s', attname, format_type(atttypid, NULL)), ', ' ORDER BY attnum)
						FROM pg_attribute WHERE attrelid = (names->>'rows')::regclass AND attnum > 0),
			'fields', (SELECT string_agg(DISTINCT format('(source_row::%s).%I AS %2$I', source, name), ', ')
					   FROM unnest(used) AS name WHERE name IS NOT NULL),
			'alias', (SELECT quote_ident(relname) FROM pg_class WHERE oid = source)));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_define(regclass, jsonb, jsonb, text[], name[]) IS
'creates the view and the function of what a source''s rows mean';

-- The statements of a rollup, as templates.
CREATE FUNCTION _roaring64_rollup_statement(name text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE name
WHEN 'tables' THEN $$
CREATE TABLE {target} ([{column}, ...]) AS SELECT [k{k}, ...] FROM {rows} WITH NO DATA;
ALTER TABLE {target}
	[ADD COLUMN {set} {ext}.roaring64 NOT NULL DEFAULT '{}', ALTER COLUMN {set} SET STORAGE EXTERNAL, ...];
CREATE TABLE {parts} AS SELECT NULL::bigint AS n, [k{k}, ...] FROM {rows} WITH NO DATA;
ALTER TABLE {parts}
	[ADD COLUMN s{n} {ext}.roaring64, ALTER COLUMN s{n} SET STORAGE EXTERNAL, ADD COLUMN r{n} {ext}.roaring64, ...];
CREATE INDEX ON {parts} ([k{k}, ...]);
COMMENT ON TABLE {parts} IS {part};
CREATE TABLE {tables} (trigger oid, name text, file bigint NOT NULL, blocks bigint NOT NULL,
	blocks_done bigint NOT NULL, copied boolean NOT NULL, PRIMARY KEY (trigger, name));
COMMENT ON TABLE {tables} IS {part};
CREATE TABLE {state} (source text PRIMARY KEY, state text NOT NULL, deferred boolean NOT NULL, deletes text NOT NULL,
	rows_done bigint NOT NULL, rows_estimated bigint NOT NULL, keys_done bigint NOT NULL, keys bigint NOT NULL,
	rows_per_second bigint, time_left interval, started timestamptz NOT NULL, changed timestamptz NOT NULL,
	told timestamptz NOT NULL, batch_rows bigint NOT NULL, batch_keys bigint NOT NULL, given jsonb NOT NULL,
	names jsonb NOT NULL, statements jsonb NOT NULL);
COMMENT ON TABLE {state} IS {part}$$

-- The index is in no order that GROUP BY can use, which would fetch each row by it.  A
-- publication of all tables wants to know what is deleted.
WHEN 'deferred' THEN $$
CREATE TABLE {pending} AS SELECT [k{k}, ...], [c{n}, ...], id FROM {rows} WITH NO DATA;
CREATE INDEX ON {pending} ([k{k} NULLS FIRST, ...]);
ALTER TABLE {pending} REPLICA IDENTITY FULL{not_null};
COMMENT ON TABLE {pending} IS {part};
CREATE VIEW {now} AS
SELECT [{column}, ...], [coalesce({ext}.roaring64_or_agg({set}), '{}') AS {set}, ...]
FROM (
	SELECT [{column}, ...], [{set}, ...] FROM {target}
	UNION ALL
	SELECT [k{k}, ...], [{ext}.roaring64_agg(id) FILTER (WHERE c{n}), ...] FROM {pending} GROUP BY [k{k}, ...]) AS u
GROUP BY [{column}, ...];
COMMENT ON VIEW {now} IS {part}$$

WHEN 'copy' THEN $$
WITH copied AS (
	INSERT INTO {parts} (n, [k{k}, ...], [s{n}, ...])
	SELECT count(*), [f.k{k}{collate}, ...], [{ext}.roaring64_agg(f.id) FILTER (WHERE f.c{n}), ...]
	FROM (SELECT {source_columns} FROM ONLY {table}{range}) AS r, {facts}(ROW(r.*)::{row}) AS f
	GROUP BY [f.k{k}{collate}, ...]
	ORDER BY [f.k{k}{collate}, ...]
	RETURNING n)
SELECT coalesce(sum(n), 0)::bigint FROM copied$$
WHEN 'number_keys' THEN $$
CREATE TABLE {keys_table} AS SELECT row_number() OVER (ORDER BY [k{k}, ...]) AS n, [k{k}, ...]
FROM (SELECT [k{k}, ...] FROM {parts} WHERE n IS NOT NULL GROUP BY [k{k}, ...]) AS k;
COMMENT ON TABLE {keys_table} IS {part};
ALTER TABLE {keys_table} ADD PRIMARY KEY (n);
ANALYZE {keys_table}, {parts}$$

-- The keys of numbers $1 to $2, but only the first of those that come after the time $3
WHEN 'insert_keys' THEN $$
INSERT INTO {target} ([{column}, ...])
SELECT [k{k}, ...] FROM (
	SELECT * FROM {keys_table} WHERE n >= $1 AND n <= $2 AND (n = $1 OR clock_timestamp() < $3) ORDER BY n) AS b
ON CONFLICT DO NOTHING$$
WHEN 'lock_keys' THEN $$
SELECT max(n) FROM (
	SELECT n, $1 - 1 + row_number() OVER (ORDER BY n) AS next
	FROM (
		SELECT p.n FROM (
			SELECT * FROM {keys_table} WHERE n >= $1 AND n <= $2 AND (n = $1 OR clock_timestamp() < $3) ORDER BY n) AS p
		JOIN {target} AS t ON {merge_match} ORDER BY p.n FOR UPDATE OF t) AS l) AS o
WHERE n = next$$
WHEN 'merge' THEN $$
UPDATE {target} AS t SET [{set} = {ext}.roaring64_or(t.{set}, p.s{n}), ...]
FROM (
	SELECT n, [k{k}, ...], [{ext}.roaring64_andnot(coalesce({ext}.roaring64_or_agg(s{n}), '{}'),
		coalesce({ext}.roaring64_or_agg(r{n}), '{}')) AS s{n}, ...]
	FROM (
		SELECT b.n, [b.k{k}, ...], [q.s{n}, q.r{n}, ...]
		FROM (SELECT * FROM {keys_table} WHERE n >= $1 AND n <= $2) AS b JOIN {parts} AS q ON {parts_match}) AS j
	GROUP BY n, [k{k}, ...]) AS p
WHERE {merge_match}$$

-- What is read is what is deleted: one statement has one snapshot.  Two folds take keys in
-- order, so there is no deadlock; the second one of the same blocks adds what is there already.
WHEN 'fold' THEN $$
WITH taken AS (DELETE FROM {pending} WHERE ctid >= $1 AND ctid < $2)
INSERT INTO {target} AS t ([{column}, ...], [{set}, ...])
SELECT [k{k}, ...], [coalesce({ext}.roaring64_agg(id) FILTER (WHERE c{n}), '{}'), ...]
FROM {pending} WHERE ctid >= $1 AND ctid < $2
GROUP BY [k{k}, ...]
ORDER BY [k{k}, ...]
ON CONFLICT ([{column}, ...]) DO UPDATE SET
	[{set} = CASE WHEN {ext}.roaring64_is_empty(excluded.{set}) THEN t.{set}
		ELSE {ext}.roaring64_or(t.{set}, excluded.{set}) END, ...]$$
WHEN 'verify' THEN $$
SELECT (SELECT to_jsonb(k.*) FROM (SELECT [g.k{k} AS {column}, ...]) AS k), s.name,
	{ext}.roaring64_andnot(s.fact, s.held), CASE WHEN {keeps} THEN '{}' ELSE {ext}.roaring64_andnot(s.held, s.fact) END
FROM (
	SELECT [k{k}, ...], [coalesce({ext}.roaring64_or_agg(f{n}), '{}') AS f{n}, ...],
		[coalesce({ext}.roaring64_or_agg(t{n}), '{}') AS t{n}, ...]
	FROM (
		SELECT [k{k}, ...], [{ext}.roaring64_agg(id) FILTER (WHERE c{n}) AS f{n}, ...],
			[NULL::{ext}.roaring64 AS t{n}, ...] FROM {rows} GROUP BY [k{k}, ...]
		UNION ALL
		SELECT [t.{column}, ...], [NULL::{ext}.roaring64, ...], [t.{set}, ...] FROM {held} AS t) AS u
	GROUP BY [k{k}, ...]) AS g,
	LATERAL (VALUES [({set_text}::name, f{n}, t{n}), ...]) AS s (name, fact, held)
WHERE NOT {ext}.roaring64_is_empty({ext}.roaring64_andnot(s.fact, s.held))
	OR NOT {keeps} AND s.fact OPERATOR({ext}.<>) s.held
ORDER BY [k{k}, ...]$$
END;
COMMENT ON FUNCTION _roaring64_rollup_statement(text) IS 'templates of the statements of a rollup';

-- What the templates of a rollup name, before there is anything of it.
CREATE FUNCTION _roaring64_rollup_names(source regclass, target name, options jsonb, set_names text[])
RETURNS jsonb LANGUAGE sql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_object_agg(o.name, @extschema@._roaring64_rollup_object(source, target, o.suffix)) || jsonb_build_object(
		'ext', '@extschema@', 'name', target, 'part', quote_literal(format('part of the rollup %I', target)),
		'target_text', quote_literal(@extschema@._roaring64_rollup_object(source, target, '')),
		'partitioned', (SELECT relkind = 'p' FROM pg_class WHERE oid = source),
		'deferred', options->'deferred', 'deletes', options->'deletes', 'keeps', options->>'deletes' = 'keep',
		'events', CASE WHEN (SELECT relkind = 'p' FROM pg_class WHERE oid = source) THEN '["insert"]'
			WHEN options->>'deletes' = 'keep' THEN '["insert", "update"]'
			ELSE '["insert", "update", "delete", "truncate"]' END::jsonb,
		'held', @extschema@._roaring64_rollup_object(source, target,
			CASE WHEN (options->>'deferred')::boolean THEN '_now' ELSE '' END),
		'keys', (SELECT jsonb_agg(jsonb_build_object('k', i, 'column', quote_ident(c), 'column_text', quote_literal(c))
								   ORDER BY i)
				 FROM unnest(ARRAY(SELECT jsonb_array_elements_text(options->'key_columns'))
							 || (options->>'period_column')) WITH ORDINALITY AS k (c, i) WHERE c IS NOT NULL),
		'sets', (SELECT jsonb_agg(jsonb_build_object('n', i, 'set', quote_ident(s), 'set_text', quote_literal(s)) ORDER BY i)
				 FROM unnest(set_names) WITH ORDINALITY AS n (s, i)),
		'changed', (SELECT string_agg(format('change.a%s OPERATOR(%s.|) change.r%1$s', i, '@extschema@'),
									  ' OPERATOR(@extschema@.|) ') FROM generate_subscripts(set_names, 1) AS i))
	FROM (VALUES ('target', ''), ('state', '_rollup'), ('rows', '_rows'), ('row', '_row'), ('facts', '_facts'),
			('tables', '_tables'), ('parts', '_parts'), ('keys_table', '_keys'), ('pending', '_pending'), ('now', '_now'),
			('insert', '_insert'), ('update', '_update'), ('delete', '_delete'), ('truncate', '_truncate')) AS o (name, suffix)
$$;
COMMENT ON FUNCTION _roaring64_rollup_names(regclass, name, jsonb, text[]) IS 'names for the templates of a rollup';

-- The same with what the target's unique index says: the equality of each column of the
-- key, as OPERATOR(schema.=), and its collation.
CREATE FUNCTION _roaring64_rollup_matches(source regclass, names jsonb)
RETURNS jsonb LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	WITH keys AS (
		SELECT k.i, e.entry || jsonb_build_object('collate',
				CASE WHEN co.oid IS NULL THEN '' ELSE format(' COLLATE %s', co.oid::regcollation) END) AS entry,
			format(CASE WHEN a.attnotnull THEN '%%1$s %1$s %%2$s'
					   ELSE '(%%1$s %1$s %%2$s OR %%1$s IS NULL AND %%2$s IS NULL)' END,
				   replace(format('OPERATOR(%I.%s)', n.nspname, o.oprname), '%', '%%')) AS equal
		FROM pg_index AS x
			CROSS JOIN LATERAL unnest(x.indclass, x.indkey) WITH ORDINALITY AS k (opclass, attnum, i)
			JOIN jsonb_array_elements(names->'keys') WITH ORDINALITY AS e (entry, i) ON e.i = k.i
			JOIN pg_attribute AS r ON r.attrelid = x.indrelid AND r.attnum = k.attnum
			JOIN pg_attribute AS a ON a.attrelid = source AND a.attname = r.attname
			JOIN pg_type AS y ON y.oid = r.atttypid
			LEFT JOIN pg_collation AS co ON co.oid = r.attcollation AND co.oid <> y.typcollation
			JOIN pg_opclass AS p ON p.oid = k.opclass
			JOIN pg_amop AS s ON s.amopfamily = p.opcfamily AND s.amopstrategy = 3
				AND s.amoplefttype = p.opcintype AND s.amoprighttype = p.opcintype
			JOIN pg_operator AS o ON o.oid = s.amopopr
			JOIN pg_namespace AS n ON n.oid = o.oprnamespace
		WHERE x.indrelid = (names->>'target')::regclass)
	SELECT names || jsonb_build_object('keys', (SELECT jsonb_agg(entry ORDER BY i) FROM keys))
		|| jsonb_object_agg(m.name, (
			SELECT string_agg(format(equal, @extschema@._roaring64_rollup_fill(one, entry),
									 @extschema@._roaring64_rollup_fill(other, entry)), ' AND ' ORDER BY i) FROM keys))
	FROM (VALUES ('rows_match', 'f.k{k}', 'change.k{k}'), ('target_match', 't.{column}', 'change.k{k}'),
			('merge_match', 't.{column}', 'p.k{k}'), ('parts_match', 'q.k{k}', 'b.k{k}')) AS m (name, one, other)
$$;
COMMENT ON FUNCTION _roaring64_rollup_matches(regclass, jsonb) IS
'names for the templates of a rollup, and conditions of its keys';

-- Creates what a rollup has, but for the triggers.  Returns the names for templates.
CREATE FUNCTION _roaring64_rollup_tables(source regclass, names jsonb, options jsonb)
RETURNS jsonb LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	nullable boolean := (
		SELECT bool_or(NOT attnotnull)
		FROM pg_attribute JOIN jsonb_array_elements(names->'keys') AS k ON quote_ident(attname) = k->>'column'
		WHERE attrelid = source);
BEGIN
	EXECUTE @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_statement('tables'), names);
	EXECUTE @extschema@._roaring64_rollup_fill(CASE WHEN nullable THEN
		'CREATE UNIQUE INDEX ON {target} ([{column}, ...]) NULLS NOT DISTINCT; ALTER TABLE {target} REPLICA IDENTITY FULL'
		ELSE 'ALTER TABLE {target} ADD PRIMARY KEY ([{column}, ...])' END, names);
	IF options ? 'period_column' THEN
		EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', names->>'target', options->>'period_column', format(
			CASE WHEN options->>'period' ~ 'day|week|month|quarter|year' THEN 'first day of the %s, in UTC'
				ELSE 'start of each %s, in UTC' END, options->>'period'));
	END IF;
	IF (options->>'deferred')::boolean THEN
		EXECUTE @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_statement('deferred'),
			names || jsonb_build_object('not_null', CASE WHEN nullable THEN ''
				ELSE @extschema@._roaring64_rollup_fill(', [ALTER COLUMN k{k} SET NOT NULL, ...]', names) END));
	END IF;
	RETURN @extschema@._roaring64_rollup_matches(source, names);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_tables(regclass, jsonb, jsonb) IS 'creates the tables of a rollup';

-- The first step, as the source's owner, whoever calls it.
CREATE FUNCTION _roaring64_rollup_begin(source regclass, target name, options jsonb, sets json, path text,
										batch_rows bigint)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	role text := current_setting('role');
	tables oid[] := ARRAY(SELECT source::oid UNION SELECT relid::oid FROM pg_partition_tree(source));
	source_name text := (SELECT @extschema@._roaring64_rollup_object(oid, relname, '') FROM pg_class WHERE oid = source);
	names jsonb;
	conditions text[];
	columns name[];
	c record;
BEGIN
	-- one at a time, without a writer who notices
	PERFORM @extschema@._roaring64_rollup_lock(ARRAY[source_name], 'SHARE UPDATE EXCLUSIVE');
	IF @extschema@._roaring64_rollup_exists(source, target) THEN
		RETURN;
	END IF;
	FOR c IN SELECT * FROM @extschema@._roaring64_rollup_conditions(source, options->>'id_column', sets, path) LOOP
		conditions := conditions || c.expression;
		columns := columns || c.columns;
	END LOOP;
	names := @extschema@._roaring64_rollup_names(source, target, options, ARRAY(SELECT json_object_keys(sets)))
		|| jsonb_build_object('source', source_name, 'source_text', quote_literal(source_name));
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = source AND pg_get_userbyid(relowner) <> current_user;
	PERFORM @extschema@._roaring64_rollup_define(source, names, options, conditions, columns);
	names := @extschema@._roaring64_rollup_tables(source, names, options);
	EXECUTE format('INSERT INTO %s SELECT $1, ''copying'', $2, $3, 0, $4, 0, 0, NULL, NULL, now(), now(), now(), '
				   '$5, 100, $6, $7, $8', names->>'state')
	USING source_name, (options->>'deferred')::boolean, options->>'deletes',
		(SELECT coalesce(sum(CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 100 END
							 * (pg_relation_size(oid) / current_setting('block_size')::bigint)), 0)::bigint
		 FROM pg_class WHERE relkind = 'r' AND oid = ANY (tables)),
		coalesce(batch_rows, 800000), options, names,
		(SELECT jsonb_object_agg(s, @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_statement(s), names))
		 FROM unnest('{number_keys,insert_keys,lock_keys,merge,fold,verify}'::text[]) AS s);
	PERFORM @extschema@._roaring64_rollup_follow(names, true);
	PERFORM @extschema@._roaring64_rollup_try(names);
	PERFORM @extschema@._roaring64_rollup_lock(ARRAY(
		SELECT relnamespace::regnamespace || '.' || quote_ident(relname) FROM pg_class
		WHERE oid = ANY (tables) ORDER BY oid <> source, oid),
		'SHARE ROW EXCLUSIVE');
	PERFORM @extschema@._roaring64_rollup_attach(source_name, names);
	PERFORM set_config('role', role, true);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_begin(regclass, name, jsonb, json, text, bigint) IS
'first step of a rollup: creates its tables and triggers';

-- A table that is not copied, or not all of it, and the trigger by which it is known.
CREATE FUNCTION _roaring64_rollup_next(names jsonb, OUT tab regclass, OUT trigger oid, OUT name text, OUT density real,
									   OUT is_heap boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	kind "char";
BEGIN
	EXECUTE @extschema@._roaring64_rollup_fill($q$
		SELECT c.oid, t.oid, n.nspname || '.' || c.relname, c.relkind,
			CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 100 END, coalesce(a.amname = 'heap', false)
		FROM (SELECT tgrelid, max(oid) AS oid FROM pg_trigger WHERE tgfoid = $1 GROUP BY tgrelid) AS t
			JOIN pg_class AS c ON c.oid = t.tgrelid AND c.relkind <> 'p'
			JOIN pg_namespace AS n ON n.oid = c.relnamespace
			LEFT JOIN pg_am AS a ON a.oid = c.relam
		WHERE NOT EXISTS (SELECT FROM {tables} AS d
						  WHERE d.copied AND d.trigger = t.oid AND d.name = n.nspname || '.' || c.relname)
		ORDER BY 3 LIMIT 1$q$, names)
	INTO tab, trigger, name, kind, density, is_heap USING (names->>'insert')::regproc;
	IF kind = 'f' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('partition %s is a foreign table, whose rows a rollup does not see', tab),
			HINT = 'Detach it.';
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_next(jsonb) IS 'table that a rollup has to copy';

-- Copies a range of blocks of a table into the parts, or numbers the keys if
-- nothing is left.  A table that was rewritten meanwhile is copied from the beginning.
-- work_mem is for a default number of rows, which are sorted if the keys are many.
CREATE FUNCTION _roaring64_rollup_copy(source regclass, m jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET jit = off
SET work_mem = '80MB' SET hash_mem_multiplier = 1
AS $$
DECLARE
	names jsonb := m->'names';
	c record := @extschema@._roaring64_rollup_next(m->'names');
	progress record;
	start timestamptz := clock_timestamp();
	blocks_end bigint;
	rows_copied bigint;
BEGIN
	IF c.tab IS NULL THEN
		EXECUTE m->'statements'->>'number_keys';
		EXECUTE @extschema@._roaring64_rollup_fill(
			'UPDATE {state} SET state = ''merging'', keys_done = 0, keys = (SELECT count(*) FROM {keys_table}), '
			'rows_estimated = rows_done, changed = now(), time_left = NULL', names);
		RETURN;
	END IF;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', c.tab);
	EXECUTE @extschema@._roaring64_rollup_fill(
		'INSERT INTO {tables} AS t VALUES ($1, $2, pg_relation_filenode($3), $4, 0, false) '
		'ON CONFLICT (trigger, name) DO UPDATE SET file = excluded.file, blocks = excluded.blocks, blocks_done = 0 '
		'WHERE t.file <> excluded.file', names)
	USING c.trigger, c.name, c.tab,
		CASE WHEN c.is_heap THEN pg_relation_size(c.tab) / current_setting('block_size')::bigint ELSE 0 END;
	EXECUTE format('SELECT * FROM %s WHERE trigger = $1 AND name = $2', names->>'tables')
	INTO STRICT progress USING c.trigger, c.name;
	blocks_end := progress.blocks_done + greatest(1, (m->>'batch_rows')::bigint / greatest(c.density, 1))::bigint;

	-- the triggers take care of rows in blocks that are added later
	EXECUTE @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_statement('copy'), names
		|| jsonb_build_object('table', c.tab, 'range', CASE WHEN c.is_heap THEN
			format(' WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''', progress.blocks_done,
				   least(blocks_end, 4294967295)) ELSE '' END,
		-- in the order of the whole table
		'source_columns', (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
						   WHERE attrelid = source AND attnum > 0 AND NOT attisdropped)))
	INTO rows_copied;
	EXECUTE format('UPDATE %s SET blocks_done = least($2, blocks), copied = $2 >= blocks WHERE trigger = $1 AND name = $3',
				   names->>'tables') USING c.trigger, blocks_end, c.name;
	EXECUTE format(
		'UPDATE %s SET rows_done = rows_done + $1, rows_estimated = greatest(rows_estimated, rows_done + $1), '
		'rows_per_second = $1 / $2, changed = now(), '
		'time_left = greatest(rows_estimated - rows_done - $1, 0) * $2 / greatest($1, 1) * interval ''1 second''',
		names->>'state')
	USING rows_copied, greatest(extract(epoch FROM clock_timestamp() - start), 0.001);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_copy(regclass, jsonb) IS 'step of a rollup: copies some rows';

-- Merges the parts of some keys into the target.  Writers of these keys wait, so
-- it takes as many keys as can be merged in about a tenth of a second.  It waits
-- for each lock for at most 100 ms, and asks for no more once 50 ms have passed,
-- first for new keys and then for all; or for half of deadlock_timeout, and a
-- quarter: it gives up before a writer looks for a deadlock.  Keys are locked in
-- the order of n, so those locked in time are the first ones.  Of these it takes as
-- many as have no gap: a key that was not inserted in time has no row, but a writer
-- may have made one for a later key.
CREATE FUNCTION _roaring64_rollup_merge(m jsonb)
RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET jit = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_sort = off SET work_mem = '64MB'
AS $$
DECLARE
	patience interval := least(interval '50 ms', current_setting('deadlock_timeout')::interval / 4);
	given text := current_setting('lock_timeout');
	state text := m->'names'->>'state';
	first_key bigint := (m->>'keys_done')::bigint + 1;
	last_key bigint := (m->>'keys_done')::bigint + (m->>'batch_keys')::bigint;
	start timestamptz := clock_timestamp();
	seconds numeric;
BEGIN
	BEGIN
		PERFORM set_config('lock_timeout', format('%s ms', ceil(2000 * extract(epoch FROM patience))), true);
		EXECUTE m->'statements'->>'insert_keys' USING first_key, last_key, clock_timestamp() + patience;
		EXECUTE m->'statements'->>'lock_keys' INTO STRICT last_key USING first_key, last_key, clock_timestamp() + patience;
		PERFORM set_config('lock_timeout', given, true);
	EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
		EXECUTE format('UPDATE %s SET batch_keys = greatest(batch_keys / 2, 1)', state);
		RETURN 'busy';
	END;
	EXECUTE m->'statements'->>'merge' USING first_key, last_key;
	seconds := greatest(extract(epoch FROM clock_timestamp() - start), 0.001);
	EXECUTE format('UPDATE %s SET keys_done = $2, changed = now(), '
				   'batch_keys = CASE WHEN $1 < 0.05 THEN batch_keys * 2 WHEN $1 > 0.2 THEN greatest(batch_keys / 2, 1) '
				   'ELSE batch_keys END, time_left = (keys - $2) * $1 / ($2 - keys_done) * interval ''1 second''',
				   state) USING seconds, last_key;
	RETURN 'merging';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_merge(jsonb) IS 'step of a rollup: brings what was copied to the target';

-- The last step.
CREATE FUNCTION _roaring64_rollup_complete(source regclass, m jsonb)
RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_rollup_follow(m->'names', false);
	EXECUTE @extschema@._roaring64_rollup_fill(
		'DROP TABLE {keys_table}; ANALYZE {target}; '
		'UPDATE {state} SET state = ''following'', changed = now(), time_left = NULL', m->'names');
	RAISE NOTICE '% follows %: % rows copied', quote_ident(m->'names'->>'name'), source, m->>'rows_done';
	RETURN 'followed';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_complete(regclass, jsonb) IS 'last step of a rollup';

-- A step after the last one: does what is to do since then.  Transactions that still use the
-- former functions of the triggers may need the parts, so these are emptied but not dropped.
CREATE FUNCTION _roaring64_rollup_renew(source regclass, m jsonb)
RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given text := current_setting('lock_timeout');
	names jsonb := m->'names';
	source_name text := (SELECT @extschema@._roaring64_rollup_object(oid, relname, '') FROM pg_class WHERE oid = source);
BEGIN
	IF pg_relation_size((names->>'parts')::regclass) > 0 THEN
		BEGIN
			PERFORM set_config('lock_timeout', '100ms', true);
			EXECUTE 'TRUNCATE ' || (names->>'parts');
			PERFORM set_config('lock_timeout', given, true);
		EXCEPTION WHEN lock_not_available THEN
			NULL;
		END;
	END IF;
	IF NOT (names->>'partitioned')::boolean THEN
		RETURN 'following';
	END IF;
	IF names->>'source' <> source_name THEN
		names := names || jsonb_build_object('source', source_name, 'source_text', quote_literal(source_name));
		EXECUTE format('UPDATE %s SET source = $1, names = $2', names->>'state') USING source_name, names;
		PERFORM @extschema@._roaring64_rollup_follow(names, false);
	END IF;
	IF (@extschema@._roaring64_rollup_next(names)).tab IS NULL THEN
		RETURN 'following';
	END IF;
	EXECUTE format('UPDATE %s SET state = ''copying'', rows_done = 0, rows_estimated = 0, told = clock_timestamp()',
				   names->>'state');
	RETURN 'copying';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_renew(regclass, jsonb) IS 'step of a rollup that follows: what has changed since';

-- Merges some blocks of what is pending; a place is given in bytes.
CREATE FUNCTION _roaring64_rollup_fold(rollup regclass, done bigint, bytes bigint)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	block_size bigint := current_setting('block_size');
BEGIN
	EXECUTE @extschema@._roaring64_rollup_state(rollup)->'statements'->>'fold'
	USING format('(%s,0)', done / block_size)::tid, format('(%s,0)', least((done + bytes) / block_size, 4294967295))::tid;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_fold(regclass, bigint, bigint) IS
'merges what is pending in some blocks into the target of a rollup';
