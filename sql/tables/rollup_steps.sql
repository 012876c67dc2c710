--
-- The steps of a rollup.
--
-- First its tables and triggers are created, while nobody writes to the source.  From then
-- on, the triggers append what a statement writes to what is pending, and no writer waits.
--
-- Then the rows of each table are copied by one statement, of which all rows are seen by
-- one snapshot.  What it does not see was written later, and is pending.  Deferred, that is
-- all.  A partition is known by the trigger that PostgreSQL gave it.  One that has come
-- since, or has come back, has another, and a fold copies it in the same way.
--
-- At commit, what is pending is brought to the sets until little is left.  Then, while
-- nobody writes, the rest is, and the triggers get the functions that change the sets.
-- To follow what goes, every id of a row that was written, the old one and the new one, is
-- pending until then, and the sets get what the source has of it: at the end, that is right
-- for the ids that are pending because it was looked up, and for all others because
-- nothing has changed since they were copied.
--
-- A crash or an error takes back a step; the next call goes on from the state.
--

-- Creates what a rollup has, but for the triggers.  First what a row of the source means,
-- as a view of the source and as a function of a row: its key k1, k2 ..., of which a period
-- is the last, its id, as it is and as a bigint, and whether it is in the sets c1, c2 ...;
-- nothing if it is in none.  The conditions are texts that mean the same with these
-- settings.  The planner sees through the cast of source_row.
CREATE FUNCTION _roaring64_rollup_define(source regclass, names jsonb, options jsonb, conditions text[])
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO'
SET intervalstyle = 'postgres' SET standard_conforming_strings = on
AS $$
DECLARE
	keys text[] := ARRAY(SELECT quote_ident(k) FROM jsonb_array_elements_text(options->'key_columns') AS k)
		|| ARRAY(SELECT @extschema@._roaring64_rollup_period(
					options->>'period', attname, @extschema@._roaring64_dict_base_type(atttypid))
				 FROM pg_attribute WHERE attrelid = source AND attname = options->>'period_column');
BEGIN
	names := names || jsonb_build_object(
		'only', CASE WHEN (names->>'partitioned')::boolean THEN '' ELSE 'ONLY' END,
		'facts_of_rows', format('SELECT %s, %I AS i, %2$I::bigint AS id, %s',
		(SELECT string_agg(format('%s AS k%s', e, i), ', ' ORDER BY i) FROM unnest(keys) WITH ORDINALITY AS k (e, i)),
		options->>'id_column',
		(SELECT string_agg(format('(%s) IS TRUE AS c%s', e, i), ', ' ORDER BY i)
		 FROM unnest(conditions) WITH ORDINALITY AS c (e, i))),
		-- in this order, by which a row without an id tells as much of the conditions as any other
		'in_a_set', format('CASE WHEN (%s) IS TRUE THEN %I IS NOT NULL ELSE false END',
						   array_to_string(conditions, ') IS TRUE OR ('), options->>'id_column'));
	EXECUTE @extschema@._roaring64_rollup_fill(
		'CREATE VIEW {rows} AS {facts_of_rows} FROM {only} {source} WHERE {in_a_set}; COMMENT ON VIEW {rows} IS {part}; '
		'CREATE DOMAIN {row} AS {source}; COMMENT ON DOMAIN {row} IS {part}', names);
	EXECUTE @extschema@._roaring64_rollup_fill(
		'CREATE FUNCTION {facts}(source_row {row}) RETURNS TABLE ({results}) LANGUAGE sql IMMUTABLE PARALLEL SAFE '
		'BEGIN ATOMIC {facts_of_rows} FROM (SELECT {fields}) AS {alias} WHERE {in_a_set}; END; '
		'COMMENT ON FUNCTION {facts} IS {part}',
		names || jsonb_build_object(
			'results', (SELECT string_agg(format('%I %s', attname, format_type(atttypid, NULL)), ', ' ORDER BY attnum)
						FROM pg_attribute WHERE attrelid = (names->>'rows')::regclass AND attnum > 0),
			-- those columns that the view uses
			'fields', (SELECT string_agg(DISTINCT format('(source_row::%s).%I AS %2$I', source, attname), ', ')
					   FROM pg_rewrite AS w JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = w.oid
						   JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
					   WHERE ev_class = (names->>'rows')::regclass AND refobjid = source AND attnum > 0),
			'alias', (SELECT quote_ident(relname) FROM pg_class WHERE oid = source)));
	EXECUTE @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_statement('tables'), names);
	EXECUTE @extschema@._roaring64_rollup_fill(CASE WHEN names->'keys' @> '[{"null": "DROP"}]' THEN
		'CREATE UNIQUE INDEX ON {target} ([{column}, ...]) NULLS NOT DISTINCT; ALTER TABLE {target} REPLICA IDENTITY FULL'
		ELSE 'ALTER TABLE {target} ADD PRIMARY KEY ([{column}, ...])' END, names);
	IF (names->>'deferred')::boolean THEN
		EXECUTE @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_statement('deferred'), names);
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_define(regclass, jsonb, jsonb, text[]) IS 'creates the tables of a rollup';

-- The statements of a rollup, as templates.  A publication of all tables wants to know what
-- is deleted.
CREATE FUNCTION _roaring64_rollup_statement(name text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE name
WHEN 'tables' THEN $$
CREATE TABLE {target} ([{column}, ...]) AS SELECT [k{k}, ...] FROM {rows} WITH NO DATA;
ALTER TABLE {target} [ALTER COLUMN {column} {null} NOT NULL, ...],
	[ADD COLUMN {set} {ext}.roaring64 NOT NULL DEFAULT '{}', ALTER COLUMN {set} SET STORAGE EXTERNAL, ...];
CREATE TABLE {pending} AS SELECT [k{k}, ...], [c{n}, ...], id FROM {rows} WITH NO DATA;
ALTER TABLE {pending} REPLICA IDENTITY FULL, [ALTER COLUMN k{k} {null} NOT NULL, ...];
COMMENT ON TABLE {pending} IS {part};
CREATE TABLE {tables} (trigger oid, name text, PRIMARY KEY (trigger, name));
COMMENT ON TABLE {tables} IS {part};
CREATE TABLE {state} (state text PRIMARY KEY, given jsonb NOT NULL, names jsonb NOT NULL);
COMMENT ON TABLE {state} IS {part}$$
-- The index is in no order that GROUP BY can use, which would fetch each row by it.
WHEN 'deferred' THEN $$
CREATE INDEX ON {pending} ([k{k} NULLS FIRST, ...]);
CREATE VIEW {now} AS
SELECT [{column}, ...], [coalesce({ext}.roaring64_or_agg({set}), '{}') AS {set}, ...]
FROM (
	SELECT [{column}, ...], [{set}, ...] FROM {target}
	UNION ALL
	SELECT [k{k}, ...], [{ext}.roaring64_agg(id) FILTER (WHERE c{n}), ...] FROM {pending} GROUP BY [k{k}, ...]) AS u
GROUP BY [{column}, ...];
COMMENT ON VIEW {now} IS {part}$$
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
		'ext', '@extschema@', 'name', target, 'part', quote_literal('part of the rollup ' || target),
		'target_text', quote_literal(@extschema@._roaring64_rollup_object(source, target, '')),
		'words', (SELECT format('%L, %L', nspname, target) FROM pg_namespace AS n, pg_class AS c
				  WHERE n.oid = relnamespace AND c.oid = source),
		'partitioned', (SELECT relkind = 'p' FROM pg_class WHERE oid = source),
		'deferred', options->'deferred', 'deletes', options->'deletes', 'keeps', options->>'deletes' = 'keep',
		'events', CASE WHEN (SELECT relkind = 'p' FROM pg_class WHERE oid = source) THEN '["insert"]'
			WHEN options->>'deletes' = 'keep' THEN '["insert", "update"]'
			ELSE '["insert", "update", "delete", "truncate"]' END::jsonb,
		'held', @extschema@._roaring64_rollup_object(source, target,
			CASE WHEN (options->>'deferred')::boolean THEN '_now' ELSE '' END),
		-- a key that cannot be null cannot become so later: what compares it would not find it
		'keys', (SELECT jsonb_agg(jsonb_build_object('k', i, 'column', quote_ident(c), 'null', coalesce(
					(SELECT CASE WHEN attnotnull THEN 'SET' ELSE 'DROP' END
					 FROM pg_attribute WHERE attrelid = source AND attname = c), 'DROP')) ORDER BY i)
				 FROM unnest(ARRAY(SELECT jsonb_array_elements_text(options->'key_columns'))
							 || (options->>'period_column')) WITH ORDINALITY AS k (c, i) WHERE c IS NOT NULL),
		'sets', (SELECT jsonb_agg(jsonb_build_object('n', i, 'set', quote_ident(s), 'set_text', quote_literal(s)) ORDER BY i)
				 FROM unnest(set_names) WITH ORDINALITY AS n (s, i)),
		'changed', (SELECT string_agg(format('change.a%s OPERATOR(%s.|) change.r%1$s', i, '@extschema@'),
									  ' OPERATOR(@extschema@.|) ') FROM generate_subscripts(set_names, 1) AS i))
	FROM (VALUES ('target', ''), ('state', '_rollup'), ('rows', '_rows'), ('row', '_row'), ('facts', '_facts'),
			('tables', '_tables'), ('pending', '_pending'), ('now', '_now'),
			('insert', '_insert'), ('update', '_update'), ('delete', '_delete'), ('truncate', '_truncate')) AS o (name, suffix)
$$;
COMMENT ON FUNCTION _roaring64_rollup_names(regclass, name, jsonb, text[]) IS 'names for the templates of a rollup';

-- The same with what the target's unique index says: when each column of the key is equal to
-- that of a change, as OPERATOR(schema.=), and its collation.
CREATE FUNCTION _roaring64_rollup_matches(names jsonb)
RETURNS jsonb LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT names || jsonb_build_object('keys', jsonb_agg(e.entry || jsonb_build_object(
			'collate', CASE WHEN a.attcollation IN (0, y.typcollation) THEN ''
					   ELSE format(' COLLATE %s.%I', l.collnamespace::regnamespace, l.collname) END,
			'rows_equal', format(q.equal, 'f.k' || k.i, 'change.k' || k.i),
			'target_equal', format(q.equal, 't.' || (e.entry->>'column'), 'change.k' || k.i)) ORDER BY k.i))
	FROM pg_index AS x
		CROSS JOIN LATERAL unnest(x.indclass, x.indkey) WITH ORDINALITY AS k (opclass, attnum, i)
		JOIN jsonb_array_elements(names->'keys') WITH ORDINALITY AS e (entry, i) ON e.i = k.i
		JOIN pg_attribute AS a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
		JOIN pg_type AS y ON y.oid = a.atttypid LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
		JOIN pg_opclass AS p ON p.oid = k.opclass
		JOIN pg_amop AS s ON s.amopfamily = p.opcfamily AND s.amopstrategy = 3
			AND s.amoplefttype = p.opcintype AND s.amoprighttype = p.opcintype
		JOIN pg_operator AS o ON o.oid = s.amopopr
		CROSS JOIN LATERAL replace(format('OPERATOR(%s.%s)', o.oprnamespace::regnamespace, o.oprname), '%', '%%') AS w (word)
		CROSS JOIN LATERAL format(CASE e.entry->>'null' WHEN 'SET' THEN '%%1$s %1$s %%2$s'
								  ELSE '(%%1$s %1$s %%2$s OR %%1$s IS NULL AND %%2$s IS NULL)' END, w.word) AS q (equal)
	WHERE x.indrelid = (names->>'target')::regclass
$$;
COMMENT ON FUNCTION _roaring64_rollup_matches(jsonb) IS 'names for the templates, with what the index says';

-- The first step: creates, as the source's owner, all that a rollup has, and tries it.
CREATE FUNCTION _roaring64_rollup_begin(source regclass, target name, options jsonb, sets json, path text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	refused text := (
		SELECT string_agg(format('- %s. %s', c.reason, c.remedy), E'\n')
		FROM (SELECT * FROM @extschema@._roaring64_rollup_check_table(source, options)
			UNION ALL SELECT * FROM @extschema@._roaring64_rollup_check_columns(source, target, options, sets)) AS c);
	source_name text := (SELECT @extschema@._roaring64_rollup_object(oid, relname, '') FROM pg_class WHERE oid = source);
	conditions text[];
	names jsonb;
BEGIN
	IF refused IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('cannot make a rollup of %s', source), DETAIL = refused;
	END IF;
	-- one at a time, without a writer who notices
	EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', source);
	IF @extschema@._roaring64_rollup_exists(source, target) THEN
		RETURN;
	END IF;
	names := @extschema@._roaring64_rollup_names(source, target, options, ARRAY(SELECT json_object_keys(sets)))
		|| jsonb_build_object('source', source_name, 'source_text', quote_literal(source_name));
	conditions := ARRAY(
		SELECT @extschema@._roaring64_rollup_condition(source, options->>'id_column', key, value, path)
		FROM json_each_text(sets));
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = source AND pg_get_userbyid(relowner) <> current_user;
	PERFORM @extschema@._roaring64_rollup_define(source, names, options, conditions);
	names := @extschema@._roaring64_rollup_matches(names);
	EXECUTE format('INSERT INTO %s VALUES (''copying'', $1, $2)', names->>'state') USING options, names;
	-- at first they are new, so that they are their owner's
	PERFORM @extschema@._roaring64_rollup_follow(names, false, '');
	PERFORM @extschema@._roaring64_rollup_try(names);
	PERFORM @extschema@._roaring64_rollup_follow(names, true, 'OR REPLACE');
	PERFORM @extschema@._roaring64_rollup_attach(source_name, names);
	-- these run, and what the state says is executed, as the owner: in that, default privileges give nobody a part
	EXECUTE @extschema@._roaring64_rollup_fill(
		'REVOKE ALL ON {state}, {pending}, {tables}, {rows} FROM {others}; REVOKE TRIGGER ON {target} FROM {others}; '
		'REVOKE ALL ON FUNCTION {functions} FROM {others}', names || jsonb_build_object(
		'functions', (SELECT string_agg(names->>e || '()', ', ') FROM jsonb_array_elements_text(names->'events') AS e),
		'others', concat_ws(', ', 'PUBLIC', (
			SELECT string_agg(DISTINCT quote_ident(r.rolname), ', ')
			FROM pg_default_acl, aclexplode(defaclacl) JOIN pg_roles AS r ON r.oid = grantee
			WHERE pg_get_userbyid(defaclrole) = current_user AND r.oid <> defaclrole))));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_begin(regclass, name, jsonb, json, text) IS 'first step of a rollup';

-- The names, in which a source that has partitions may have another name now: until they
-- say so, its writers fail.
CREATE FUNCTION _roaring64_rollup_renew(source regclass, m jsonb)
RETURNS jsonb LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	names jsonb := m->'names';
	source_name text := (SELECT @extschema@._roaring64_rollup_object(oid, relname, '') FROM pg_class WHERE oid = source);
BEGIN
	IF (names->>'partitioned')::boolean AND source IS DISTINCT FROM to_regclass(names->>'source') THEN
		names := names || jsonb_build_object('source', source_name, 'source_text', quote_literal(source_name));
		EXECUTE format('UPDATE %s SET names = $1', names->>'state') USING names;
		PERFORM @extschema@._roaring64_rollup_follow(names, false, 'OR REPLACE');
	END IF;
	RETURN names;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_renew(regclass, jsonb) IS 'names of a rollup whose source may have another one';

-- A table that is not copied yet, and its trigger.
CREATE FUNCTION _roaring64_rollup_next(names jsonb,
									   OUT tab regclass, OUT trigger oid, OUT name text, OUT relkind "char")
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE @extschema@._roaring64_rollup_fill($q$
		SELECT c.oid, t.oid, n.nspname || '.' || c.relname, c.relkind
		FROM (SELECT tgrelid, max(oid) AS oid FROM pg_trigger WHERE tgfoid = $1 GROUP BY tgrelid) AS t
			JOIN pg_class AS c ON c.oid = t.tgrelid AND c.relkind <> 'p'
			JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE NOT EXISTS (
			SELECT FROM {tables} AS d WHERE d.trigger = t.oid AND d.name = n.nspname || '.' || c.relname)
		ORDER BY 3 LIMIT 1$q$, names)
	INTO tab, trigger, name, relkind USING to_regprocedure((names->>'insert') || '()');
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_next(jsonb) IS 'a table that a rollup has not copied';

-- Copies such a table, if there is one, and says so.  Rows are sorted by keys, so memory is
-- for one set, whatever their number.
CREATE FUNCTION _roaring64_rollup_copy(source regclass, names jsonb)
RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	c record := @extschema@._roaring64_rollup_next(names);
	added text;
BEGIN
	IF c.tab IS NULL THEN
		RETURN false;
	ELSIF c.relkind = 'f' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('partition %s is a foreign table, whose rows a rollup does not see', c.tab),
			HINT = 'Detach it.';
	END IF;
	-- before the snapshot: an older one does not see the rows of a table that was rewritten
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', c.tab);
	-- while that waited, it may have been detached
	IF NOT EXISTS (SELECT FROM pg_trigger WHERE oid = c.trigger) THEN
		RETURN true;
	END IF;
	EXECUTE @extschema@._roaring64_rollup_fill(
		'SELECT {ext}._roaring64_own($1, NULL, {words}, ''{"",_tables}'')', names) USING c.tab;
	added := @extschema@._roaring64_rollup_fill(
		@extschema@._roaring64_rollup_template('added'), names || jsonb_build_object('except', '', 'from', (
			-- in the order of the whole table
			SELECT format('(SELECT %s FROM ONLY %s) AS r, %s(ROW(r.*)::%s) AS f',
						  string_agg(quote_ident(attname), ', ' ORDER BY attnum), c.tab, names->>'facts', names->>'row')
			FROM pg_attribute WHERE attrelid = source AND attnum > 0 AND NOT attisdropped)));
	EXECUTE @extschema@._roaring64_rollup_fill(
		@extschema@._roaring64_rollup_template('merge'), names || jsonb_build_object('added', added));
	EXECUTE format('INSERT INTO %s VALUES ($1, $2)', names->>'tables') USING c.trigger, c.name;
	RETURN true;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_copy(regclass, jsonb) IS 'step of a rollup: copies a table';

-- The last step.  What is pending becomes less from one round to the next, or it comes faster
-- than it goes, and writers would wait for what is left.
CREATE FUNCTION _roaring64_rollup_complete(source regclass, place regclass, m jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET enable_seqscan = off SET jit = off
AS $$
DECLARE
	names jsonb := m->'names';
	take text := CASE names->>'deletes'
		WHEN 'follow' THEN 'DO ' || quote_literal(@extschema@._roaring64_rollup_body('pending', names, true))
		ELSE format('SELECT @extschema@._roaring64_rollup_fold(%L, %L, 0, 1::bigint << 50)', place, names->>'name') END;
	start timestamptz;
	took interval;
	took_before interval;
BEGIN
	EXECUTE 'ANALYZE ' || (names->>'target');
	-- before the snapshots, as above
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', source);
	IF NOT (names->>'deferred')::boolean THEN
		FOR round IN 1 .. 10 LOOP
			start := clock_timestamp();
			EXECUTE take;
			took := clock_timestamp() - start;
			EXIT WHEN took < interval '0.1 seconds';
			IF took > interval '1 second' AND took > took_before THEN
				RAISE object_not_in_prerequisite_state USING
					MESSAGE = format('more is written to %s than the rollup %I can take up', source, names->>'name'),
					HINT = 'Call it again when less is written, or make one that is deferred.';
			END IF;
			took_before := took;
		END LOOP;
		EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', source);
		EXECUTE take;
		-- what was pending is empty, and stays: a reader of it would have writers wait for DROP TABLE
		PERFORM @extschema@._roaring64_rollup_follow(names, false, 'OR REPLACE');
	END IF;
	EXECUTE format('UPDATE %s SET state = ''following''', names->>'state');
	RAISE NOTICE '% follows %', quote_ident(names->>'name'), source;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_complete(regclass, regclass, jsonb) IS 'last step of a rollup';

-- Merges some blocks of what is pending; a place is given in bytes.  What is read is what is
-- deleted: one statement has one snapshot.  Two folds take keys in order, so there is no
-- deadlock; the second one of the same blocks adds what is there already.
CREATE FUNCTION _roaring64_rollup_fold(place regclass, target text, done bigint, bytes bigint)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	names jsonb := @extschema@._roaring64_rollup_state(place, target)->'names';
	block_size bigint := current_setting('block_size');
BEGIN
	EXECUTE format('WITH taken AS (DELETE FROM %s WHERE ctid >= $1 AND ctid < $2)', names->>'pending')
		|| @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_template('merge'), names || jsonb_build_object(
			'added', format('SELECT * FROM %s WHERE ctid >= $1 AND ctid < $2', names->>'pending')))
	USING format('(%s,0)', done / block_size)::tid, format('(%s,0)', least((done + bytes) / block_size, 4294967295))::tid;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_fold(regclass, text, bigint, bigint) IS 'merges some blocks of what is pending';
