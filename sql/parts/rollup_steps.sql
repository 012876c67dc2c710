--
-- The steps of a rollup.
--
-- Why the target is right.  From the beginning, the triggers carry what a
-- statement changes, in the writer's own transaction.
--
-- Where the sets follow what goes, statements of one transaction may be nested,
-- and their triggers fire in another order than the rows were changed in.  So a
-- trigger changes the sets of a key, which locks its row of the target until
-- the end of the transaction, and then looks up what the source has now of the
-- ids that it changed.  What it finds is right, and the last trigger that has
-- to do with an id finds it last.  Who changes rows of the same key waits, and
-- looks with a newer snapshot, or gets a serialization error.
--
-- Where the sets do not follow what goes, ids are only added to them, and no
-- order matters.  Deferred, they are appended to a table without looking at
-- the sets, so no writer waits for another, and the sets take them up later.
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
-- At the end, the triggers get a function without notes, which carries only what
-- a statement changes.  From then on, others can write to the sets directly.
--
-- A crash or an error takes back a step; the next call goes on from the state.
--

-- Fails if a target or one of its columns is not there.
CREATE FUNCTION _roaring64_rollup_expect(target text, columns name[])
RETURNS void LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing name;
BEGIN
	SELECT name INTO missing FROM unnest(columns) AS name
	WHERE NOT EXISTS (SELECT FROM pg_attribute
					  WHERE attrelid = to_regclass(target) AND attname = name AND NOT attisdropped);
	IF FOUND THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = CASE WHEN to_regclass(target) IS NULL THEN format('the rollup %s is not there', target)
				ELSE format('the rollup %s has no column %I', target, missing) END,
			DETAIL = 'It was dropped, renamed or moved, while triggers carry changes to it.',
			HINT = format('Give it its name again, or CALL roaring64_rollup_drop(%L).', target);
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_expect(text, name[]) IS 'fails if a rollup''s target or one of its columns is not there';

-- Makes the function of the triggers.
CREATE FUNCTION _roaring64_rollup_follow(source regclass, target name, copying boolean)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	m record;
	target_table text := @extschema@._roaring64_rollup_object(source, target, '');
	facts_function text := @extschema@._roaring64_rollup_object(source, target, '_facts');
	row_type text := @extschema@._roaring64_rollup_object(source, target, '_row');
	facts text;					-- of the rows of a transition table
	keys text;
	flags text;
	sets text;					-- and of which sets they are, a row a set
	refusal text;
	change text;				-- the sets to add to and take from each key
	gone text := '%3$s.roaring64_andnot(%3$s.roaring64_or(roaring64_change.a%1$s, roaring64_change.r%1$s), roaring64_found.a%1$s)';
	pending text := @extschema@._roaring64_rollup_object(source, target, '_pending');
	columns text;				-- of what is pending
	append text;
	body text;
	settings text := 'SET search_path = pg_catalog, pg_temp';
BEGIN
	EXECUTE format('SELECT * FROM %s', @extschema@._roaring64_rollup_object(source, target, '_rollup')) INTO STRICT m;
	-- the cast, because a function of records would match the row of a transition table better
	facts := format('SELECT %%s f.* FROM %%s AS roaring64_row, %s(roaring64_row::%s) AS f WHERE f.id IS NOT NULL',
					replace(facts_function, '%', '%%'), replace(row_type, '%', '%%'));
	keys := @extschema@._roaring64_rollup_list('k%1$s', m.names);
	flags := @extschema@._roaring64_rollup_list('c%1$s', m.set_names);
	refusal := format($refusal$
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot {what} %%I.%%I, because the sets of %%s do not follow that', TG_TABLE_SCHEMA, TG_TABLE_NAME, %L),
			HINT = %L;$refusal$,
		target_table, format(CASE m.deletes WHEN 'follow' THEN 'Use DELETE, or stop' ELSE 'Stop' END || ' the rollup with CALL roaring64_rollup_detach(%L) or roaring64_rollup_drop(%L).',
							 target_table, target_table));
	IF m.deletes <> 'keep' THEN
		body := concat('
	IF TG_OP OPERATOR(pg_catalog.=) ''TRUNCATE'' THEN', replace(refusal, '{what}', 'truncate'), '
	END IF;');
	END IF;
	IF m.deletes = 'refuse' THEN
		sets := format('SELECT %s, f.id, n FROM ({facts}) AS f, pg_catalog.unnest(ARRAY[%s]) WITH ORDINALITY AS s (c, n) WHERE c',
					   keys, flags);
		body := concat(body, '
	IF TG_OP OPERATOR(pg_catalog.=) ''DELETE'' THEN
		IF EXISTS (', replace(sets, '{facts}', format(facts, '', 'roaring64_old')), ') THEN',
			replace(refusal, '{what}', 'delete from'), '
		END IF;
	ELSIF TG_OP OPERATOR(pg_catalog.=) ''UPDATE'' THEN
		IF EXISTS (', replace(sets, '{facts}', format(facts, '', 'roaring64_old')), ' EXCEPT ALL ',
			replace(sets, '{facts}', format(facts, '', 'roaring64_new')), ') THEN',
			replace(refusal, '{what}', 'update'), '
		END IF;
	END IF;');
	END IF;

	IF m.deferred THEN
		columns := concat_ws(', ', keys, flags, 'id');
		append := format('INSERT INTO %s (%s) SELECT %2$s FROM (%s) AS f WHERE %s', pending, columns,
						 format(facts, '', 'roaring64_new'), replace(flags, ', ', ' OR '));
		body := concat(format('
	IF TG_OP OPERATOR(pg_catalog.=) ''INSERT'' THEN
		%s;
		RETURN NULL;
	END IF;', append), body, format('
	IF TG_OP OPERATOR(pg_catalog.=) ''UPDATE'' THEN
		%s%s;
	END IF;
	RETURN NULL;', append, CASE WHEN NOT copying THEN
			format(' EXCEPT ALL SELECT %s FROM (%s) AS f', columns, format(facts, '', 'roaring64_old')) END));
		-- all names are qualified, so search_path, which takes as long to set as a row to append, is for what
		-- others' operators, functions and types (from OID 16384 on), also those of elements, look up
		settings := (SELECT settings FROM pg_depend LEFT JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
					 WHERE objid IN (to_regprocedure(format('%s(%s)', facts_function, row_type)),
									 (SELECT indexrelid FROM pg_index WHERE indrelid = to_regclass(pending)))
						 AND (atttypid >= 16384 OR refclassid <> ALL ('{pg_class,pg_namespace,pg_collation}'::regclass[])
						 AND refobjid <> ALL (SELECT reltype FROM pg_class WHERE oid = source UNION SELECT row_type::regtype::oid)) LIMIT 1);
	ELSE
		change := format('SELECT %s, %s FROM (SELECT %s, %s FROM ({facts}) AS f GROUP BY %s) AS g ORDER BY %s',
			keys,
			@extschema@._roaring64_rollup_list(
				CASE WHEN copying THEN 'a%1$s' ELSE '%3$s.roaring64_andnot(a%1$s, r%1$s)' END
				|| ' AS a%1$s, %3$s.roaring64_andnot(r%1$s, a%1$s) AS r%1$s', m.set_names),
			keys,
			@extschema@._roaring64_rollup_list(
				'coalesce(%3$s.roaring64_agg(id) FILTER (WHERE is_new AND c%1$s), ''{}'') AS a%1$s, '
				'coalesce(%3$s.roaring64_agg(id) FILTER (WHERE NOT is_new AND c%1$s), ''{}'') AS r%1$s', m.set_names),
			keys, keys);
		settings := settings || ' SET enable_hashagg = off SET enable_seqscan = off SET jit = off SET row_security = off';
		body := concat(format($loop$
	PERFORM %s._roaring64_rollup_expect(%L, %L);$loop$, '@extschema@', target_table, m.names || m.set_names), body, format($loop$
	IF TG_OP = 'INSERT' THEN
		OPEN roaring64_changes FOR %s;
	ELSIF TG_OP = 'UPDATE' THEN
		OPEN roaring64_changes FOR %s;
	ELSE
		OPEN roaring64_changes FOR %s;
	END IF;
	LOOP
		FETCH roaring64_changes INTO roaring64_change;
		EXIT WHEN NOT FOUND;
		CONTINUE WHEN %s;
		INSERT INTO %s AS t (%s, %s) VALUES (%s, %s)
		ON CONFLICT (%s) DO UPDATE SET %s;$loop$,
			replace(change, '{facts}', format(facts, 'true AS is_new,', 'roaring64_new')),
			-- actions of foreign keys change a row again in the same statement
			replace(change, '{facts}', format(CASE WHEN copying THEN '%1$s UNION ALL %2$s' ELSE
				'SELECT sum(is_new::int - (NOT is_new)::int) > 0 AS is_new, %3$s, %4$s, id FROM (%1$s UNION ALL %2$s) AS f '
				'GROUP BY %3$s, %4$s, id HAVING sum(is_new::int - (NOT is_new)::int) <> 0' END,
				format(facts, 'true AS is_new,', 'roaring64_new'), format(facts, 'false,', 'roaring64_old'), keys, flags)),
			replace(change, '{facts}', format(facts, 'false AS is_new,', 'roaring64_old')),
			@extschema@._roaring64_rollup_list('%3$s.roaring64_is_empty(roaring64_change.a%1$s)'
				|| CASE m.deletes WHEN 'follow' THEN ' AND %3$s.roaring64_is_empty(roaring64_change.r%1$s)' ELSE '' END,
				m.set_names, ' AND '),
			target_table,
			@extschema@._roaring64_rollup_list('%2$I', m.names), @extschema@._roaring64_rollup_list('%2$I', m.set_names),
			@extschema@._roaring64_rollup_list('roaring64_change.k%1$s', m.names),
			@extschema@._roaring64_rollup_list('roaring64_change.a%1$s', m.set_names),
			@extschema@._roaring64_rollup_list('%2$I', m.names),
			-- an out-of-line value that does not change is not written again
			@extschema@._roaring64_rollup_list(
				CASE m.deletes WHEN 'follow' THEN
					'%2$I = CASE WHEN %3$s.roaring64_is_empty(roaring64_change.a%1$s) '
					'AND %3$s.roaring64_is_empty(roaring64_change.r%1$s) THEN t.%2$I '
					'ELSE %3$s.roaring64_or(%3$s.roaring64_andnot(t.%2$I, roaring64_change.r%1$s), '
					'roaring64_change.a%1$s) END'
				ELSE '%2$I = CASE WHEN %3$s.roaring64_is_empty(roaring64_change.a%1$s) THEN t.%2$I '
					'ELSE %3$s.roaring64_or(t.%2$I, roaring64_change.a%1$s) END' END, m.set_names)),
			CASE m.deletes WHEN 'follow' THEN format($truth$
		-- what the source has now
		SELECT %s INTO roaring64_found FROM %s AS f
		WHERE %s AND f.i = ANY ((%s)::bigint[]);
		IF %s THEN
			UPDATE %s AS t SET %s WHERE %s;
		END IF;%s$truth$,
				@extschema@._roaring64_rollup_list(
					'%3$s.roaring64_and(coalesce(%3$s.roaring64_agg(f.id) FILTER (WHERE f.c%1$s), ''{}''), '
					'%3$s.roaring64_or(roaring64_change.a%1$s, roaring64_change.r%1$s)) AS a%1$s', m.set_names),
				@extschema@._roaring64_rollup_object(source, target, '_rows'),
				@extschema@._roaring64_rollup_match(m.matches, m.names, 'f.k%1$s', 'roaring64_change.k%1$s'),
				@extschema@._roaring64_rollup_list('roaring64_change.a%1$s OPERATOR(%3$s.|) roaring64_change.r%1$s',
												   m.set_names, ' OPERATOR(@extschema@.|) '),
				@extschema@._roaring64_rollup_list('roaring64_found.a%1$s OPERATOR(%3$s.<>) roaring64_change.a%1$s',
												   m.set_names, ' OR '),
				target_table,
				@extschema@._roaring64_rollup_list(
					'%2$I = %3$s.roaring64_or(%3$s.roaring64_andnot(t.%2$I, '
					'%3$s.roaring64_or(roaring64_change.a%1$s, roaring64_change.r%1$s)), roaring64_found.a%1$s)', m.set_names),
				@extschema@._roaring64_rollup_match(m.matches, m.names, 't.%2$I', 'roaring64_change.k%1$s'),
				CASE WHEN copying THEN format('
		IF NOT (%s) THEN
			INSERT INTO %s (%s, %s) VALUES (%s, %s);
		END IF;',
					@extschema@._roaring64_rollup_list('%3$s.roaring64_is_empty(' || gone || ')', m.set_names, ' AND '),
					@extschema@._roaring64_rollup_object(source, target, '_parts'), keys,
					@extschema@._roaring64_rollup_list('r%1$s', m.set_names),
					@extschema@._roaring64_rollup_list('roaring64_change.k%1$s', m.names),
					@extschema@._roaring64_rollup_list(gone, m.set_names)) END) END, '
	END LOOP;
	CLOSE roaring64_changes;
	RETURN NULL;');
	END IF;
	EXECUTE format($create$
CREATE %s FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER %s
AS %L$create$,
		CASE WHEN NOT copying THEN 'OR REPLACE' END, -- at first it is new, so that it is its owner's
		@extschema@._roaring64_rollup_object(source, target, '_follow'), settings, format($body$
-- made by roaring64_rollup; see docs/rollups.md
#variable_conflict use_column
DECLARE roaring64_changes pg_catalog.refcursor; roaring64_change pg_catalog.record; roaring64_found pg_catalog.record;
BEGIN
	IF TG_NARGS OPERATOR(pg_catalog.>) 0 THEN
		-- it was detached; a query would see the catalogs of the transaction's snapshot
		IF coalesce(pg_catalog.pg_partition_root(TG_RELID)::pg_catalog.oid OPERATOR(pg_catalog.=) TG_RELID, true) THEN
			RETURN NULL;
		ELSIF TG_ARGV[0] OPERATOR(pg_catalog.=) 'refuse' THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = pg_catalog.format('cannot write to the partition %%I.%%I by its name', TG_TABLE_SCHEMA, TG_TABLE_NAME),
				DETAIL = 'Its columns are in another order than those of the table, whose changes sets follow.',
				HINT = 'Write to the table.';
		END IF;
	END IF;
	%s
END
$body$, body));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_follow(regclass, name, boolean) IS 'creates the function of a rollup''s triggers';

-- Locks tables.  Waits for all of them no longer than lock_timeout or, without
-- one, half of deadlock_timeout and at most half a second: others wait behind us,
-- and who has written to a partition and needs its parent waits for us while we
-- wait for the partition, so we give up before either looks for a deadlock.
CREATE FUNCTION _roaring64_rollup_lock(tables regclass[], mode text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given text := current_setting('lock_timeout');
	bound numeric := (SELECT coalesce(nullif(max(setting) FILTER (WHERE name = 'lock_timeout'), '0')::numeric,
									  least(500, max(setting) FILTER (WHERE name = 'deadlock_timeout')::numeric / 2))
					  FROM pg_settings WHERE name IN ('lock_timeout', 'deadlock_timeout'));
	start timestamptz := clock_timestamp();
	tab regclass;
BEGIN
	FOREACH tab IN ARRAY tables LOOP
		PERFORM set_config('lock_timeout', greatest(1, ceil(bound - 1000 * extract(
			epoch FROM clock_timestamp() - start)::numeric))::text, true);
		EXECUTE format('LOCK TABLE ONLY %s IN %s MODE', tab, mode);
	END LOOP;
	PERFORM set_config('lock_timeout', given, true);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_lock(regclass[], text) IS 'locks tables of a rollup within a bounded time';

-- Waits before a lock is tried again, longer each time; says at times who has it.
CREATE FUNCTION _roaring64_rollup_wait(place regclass, target name, tries integer)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF tries = 3 OR tries % 6 = 0 THEN
		RAISE NOTICE 'the rollup % waits for a lock', format('%I', target) USING
			DETAIL = coalesce((
				SELECT string_agg(format('process %s (%s), %s, in a transaction for %s', pid, usename, state,
										 date_trunc('second', clock_timestamp() - xact_start)), '; ' ORDER BY xact_start)
				FROM pg_stat_activity
				WHERE pid <> pg_backend_pid() AND pid IN (
					SELECT l.pid FROM pg_locks AS l
					WHERE granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
						AND relation IN (
							SELECT place UNION SELECT relid FROM pg_partition_tree(place)
							UNION SELECT unnest(@extschema@._roaring64_rollup_members(place, target))
							UNION SELECT to_regclass(@extschema@._roaring64_rollup_object(place, target, ''))))),
				'Nobody has it at the moment.');
	END IF;
	PERFORM pg_sleep(least(0.1 * 2 ^ least(tries - 1, 10), 5));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_wait(regclass, name, integer) IS 'waits before a lock of a rollup is tried again';

-- Creates the triggers where they lack or were for other columns.  An argument
-- tells their function which are partitions, and which of these it cannot read.
CREATE FUNCTION _roaring64_rollup_attach(source regclass, target name)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	follow regprocedure := @extschema@._roaring64_rollup_object(source, target, '_follow') || '()';
	missing regclass[];
	tab regclass;
	deletes text;
BEGIN
	EXECUTE format('SELECT deletes FROM %s', @extschema@._roaring64_rollup_object(source, target, '_rollup'))
	INTO STRICT deletes;
	missing := ARRAY(
		SELECT relid FROM (SELECT source UNION SELECT relid FROM pg_partition_tree(source)) AS t (relid)
		WHERE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = relid AND tgfoid = follow AND (tgnargs = 0) = (relid = source)
						  AND (encode(tgargs, 'escape') ~ 'refuse') = (@extschema@._roaring64_rollup_columns(relid)
							   <> @extschema@._roaring64_rollup_columns(source)))
		ORDER BY relid <> source, relid);
	PERFORM @extschema@._roaring64_rollup_lock(missing, 'SHARE ROW EXCLUSIVE');
	FOREACH tab IN ARRAY missing LOOP
		EXECUTE (SELECT coalesce(string_agg(format('DROP TRIGGER %I ON %s;', tgname, tab), ''), '')
				 FROM pg_trigger WHERE tgrelid = tab AND tgfoid = follow);
		EXECUTE (
			SELECT string_agg(format('CREATE TRIGGER %I %s ON %s %s FOR EACH STATEMENT EXECUTE FUNCTION %s(%s);',
									 @extschema@._roaring64_rollup_name(target, suffix), event, tab, rows,
									 @extschema@._roaring64_rollup_object(source, target, '_follow'),
									 CASE WHEN @extschema@._roaring64_rollup_columns(tab)
										 <> @extschema@._roaring64_rollup_columns(source) THEN '''refuse'''
										 WHEN tab <> source THEN '''partition''' END), '')
			FROM (VALUES
				('_insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS roaring64_new'),
				('_update', 'AFTER UPDATE', 'REFERENCING OLD TABLE AS roaring64_old NEW TABLE AS roaring64_new'),
				('_delete', 'AFTER DELETE', 'REFERENCING OLD TABLE AS roaring64_old'),
				('_truncate', 'BEFORE TRUNCATE', '')) AS t (suffix, event, rows)
			WHERE deletes <> 'keep' OR suffix IN ('_insert', '_update'));
	END LOOP;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_attach(regclass, name) IS 'creates the triggers on the source of a rollup';

-- What a row of the source means, as a view of the source and as a function of
-- a row: its key k1, k2 ..., of which a period is the last, its id, as it is and
-- as a bigint, and whether it is in the sets c1, c2 ....  A period is its first
-- day; a timestamptz is taken in UTC.  The conditions are texts that mean the
-- same with these settings.  The planner sees through the cast of source_row.
CREATE FUNCTION _roaring64_rollup_define(source regclass, target name, key_columns name[], id_column name,
										 conditions text[], columns name[], period_column name, period text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO'
SET intervalstyle = 'postgres' SET standard_conforming_strings = on
AS $$
DECLARE
	facts text := format('SELECT %s, %I AS i, %I::bigint AS id, %s',
		concat_ws(', ', @extschema@._roaring64_rollup_list('%2$I AS k%1$s', key_columns),
			(SELECT format('pg_catalog.date_trunc(%L, %I %s)::date AS k%s', period, attname,
						   CASE atttypid WHEN 'timestamptz'::regtype THEN 'AT TIME ZONE ''UTC'''
							   ELSE '::timestamp' END, cardinality(key_columns) + 1)
			 FROM pg_attribute WHERE attrelid = source AND attname = period_column)),
		id_column, id_column,
		(SELECT string_agg(format('(%s) IS TRUE AS c%s', condition, i), ', ' ORDER BY i)
		 FROM unnest(conditions) WITH ORDINALITY AS c (condition, i)));
	rows_view text := @extschema@._roaring64_rollup_object(source, target, '_rows');
BEGIN
	EXECUTE format('CREATE VIEW %s AS %s FROM %s', rows_view, facts, source);
	EXECUTE format('CREATE DOMAIN %s AS %s', @extschema@._roaring64_rollup_object(source, target, '_row'), source);
	EXECUTE format('CREATE FUNCTION %s(source_row %s) RETURNS TABLE (%s) LANGUAGE sql IMMUTABLE PARALLEL SAFE '
				   'BEGIN ATOMIC %s FROM (SELECT %s) AS %I; END',
				   @extschema@._roaring64_rollup_object(source, target, '_facts'), @extschema@._roaring64_rollup_object(source, target, '_row'),
				   (SELECT string_agg(format('%I %s', attname, format_type(atttypid, NULL)), ', ' ORDER BY attnum)
					FROM pg_attribute WHERE attrelid = rows_view::regclass AND attnum > 0),
				   facts,
				   (SELECT string_agg(DISTINCT format('(source_row::%s).%I AS %I', source, name, name), ', ')
					FROM unnest(key_columns || id_column || period_column || columns) AS name WHERE name IS NOT NULL),
				   (SELECT relname FROM pg_class WHERE oid = source));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_define(regclass, name, name[], name, text[], name[], name, text) IS
'creates the view and the function of what a source''s rows mean';

-- The first step.
CREATE FUNCTION _roaring64_rollup_begin(source regclass, target name, options jsonb, sets json, path text,
										batch_rows integer)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key_columns name[] := ARRAY(SELECT jsonb_array_elements_text(options->'key_columns'));
	period_column name := options->>'period_column';
	names name[] := array_remove(key_columns || period_column, NULL);
	set_names name[] := ARRAY(SELECT json_object_keys(sets));
	conditions text[];
	columns name[];
	set_condition text;
	c record;
	keys text;
	nullable boolean;
	matches text[];
	t text[];			-- the target, _rollup, _tables, _parts, _pending, _now, _rows
BEGIN
	FOR set_condition IN SELECT value FROM json_each_text(sets) LOOP
		SELECT * INTO STRICT c
		FROM @extschema@._roaring64_rollup_condition(source, options->>'id_column', set_condition, path);
		conditions := conditions || c.expression;
		columns := columns || c.columns;
	END LOOP;
	keys := @extschema@._roaring64_rollup_list('k%1$s', names);
	t := ARRAY(SELECT @extschema@._roaring64_rollup_object(source, target, suffix)
			   FROM unnest(ARRAY['', '_rollup', '_tables', '_parts', '_pending', '_now', '_rows']) AS suffix);
	SELECT coalesce(bool_or(NOT attnotnull), false) INTO nullable
	FROM pg_attribute WHERE attrelid = source AND attname = ANY (names);

	-- owned by the source's owner, whoever calls this
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = source AND pg_get_userbyid(relowner) <> current_user;
	PERFORM @extschema@._roaring64_rollup_define(source, target, key_columns, options->>'id_column',
												 conditions, columns, period_column, options->>'period');
	EXECUTE format('CREATE TABLE %s (%s) AS SELECT %s FROM %s WITH NO DATA', t[1],
				   @extschema@._roaring64_rollup_list('%2$I', names), keys, t[7]);
	EXECUTE format('ALTER TABLE %s %s', t[1], @extschema@._roaring64_rollup_list(
		'ADD COLUMN %2$I %3$s.roaring64 NOT NULL DEFAULT ''{}'', ALTER COLUMN %2$I SET STORAGE EXTERNAL', set_names));
	EXECUTE format(CASE WHEN nullable THEN 'CREATE UNIQUE INDEX ON %s (%s) NULLS NOT DISTINCT'
					   ELSE 'ALTER TABLE %s ADD PRIMARY KEY (%s)' END,
				   t[1], @extschema@._roaring64_rollup_list('%2$I', names));
	IF nullable THEN
		EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', t[1]);
	END IF;
	IF period_column IS NOT NULL THEN
		EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', t[1], period_column,
					   format('first day of the %s, in UTC', options->>'period'));
	END IF;
	EXECUTE format('CREATE TABLE %s AS SELECT NULL::bigint AS n, %s FROM %s WITH NO DATA', t[4], keys, t[7]);
	EXECUTE format('ALTER TABLE %s %s', t[4], @extschema@._roaring64_rollup_list(
		'ADD COLUMN s%1$s %3$s.roaring64, ALTER COLUMN s%1$s SET STORAGE EXTERNAL, '
		'ADD COLUMN r%1$s %3$s.roaring64', set_names));
	EXECUTE format('CREATE INDEX ON %s (%s)', t[4], keys);
	IF (options->>'deferred')::boolean THEN
		EXECUTE format('CREATE TABLE %s AS SELECT %s, %s, id FROM %s WITH NO DATA', t[5], keys,
					   @extschema@._roaring64_rollup_list('c%1$s', set_names), t[7]);
		-- in no order that GROUP BY can use, which would fetch each row by the index
		EXECUTE format('CREATE INDEX ON %s (%s)', t[5], @extschema@._roaring64_rollup_list('k%1$s NULLS FIRST', names));
		-- a publication of all tables wants to know what is deleted
		EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', t[5]) || CASE WHEN NOT nullable THEN
			@extschema@._roaring64_rollup_list(', ALTER COLUMN k%1$s SET NOT NULL', names, '') ELSE '' END;
		EXECUTE format('CREATE VIEW %s AS SELECT %s, %s FROM (SELECT %s, %s FROM %s UNION ALL '
					   'SELECT %s, %s FROM %s GROUP BY %s) AS u GROUP BY %s', t[6],
			@extschema@._roaring64_rollup_list('%2$I', names),
			@extschema@._roaring64_rollup_list('coalesce(%3$s.roaring64_or_agg(%2$I), ''{}'') AS %2$I', set_names),
			@extschema@._roaring64_rollup_list('%2$I', names), @extschema@._roaring64_rollup_list('%2$I', set_names), t[1],
			keys, @extschema@._roaring64_rollup_list('%3$s.roaring64_agg(id) FILTER (WHERE c%1$s)', set_names),
			t[5], keys, @extschema@._roaring64_rollup_list('%2$I', names));
	END IF;

	-- the equality of each column of the unique index, as OPERATOR(schema.=)
	SELECT array_agg(format(CASE WHEN a.attnotnull THEN '%%1$s %1$s %%2$s'
								ELSE '(%%1$s %1$s %%2$s OR %%1$s IS NULL AND %%2$s IS NULL)' END,
							replace(format('OPERATOR(%I.%s)', n.nspname, o.oprname), '%', '%%')) ORDER BY k.i)
	INTO STRICT matches
	FROM pg_index AS x
		CROSS JOIN LATERAL unnest(x.indclass, x.indkey) WITH ORDINALITY AS k (opclass, attnum, i)
		JOIN pg_attribute AS r ON r.attrelid = x.indrelid AND r.attnum = k.attnum
		JOIN pg_attribute AS a ON a.attrelid = source AND a.attname = r.attname
		JOIN pg_opclass AS p ON p.oid = k.opclass
		JOIN pg_amop AS s ON s.amopfamily = p.opcfamily AND s.amopstrategy = 3
			AND s.amoplefttype = p.opcintype AND s.amoprighttype = p.opcintype
		JOIN pg_operator AS o ON o.oid = s.amopopr
		JOIN pg_namespace AS n ON n.oid = o.oprnamespace
	WHERE x.indrelid = t[1]::regclass;
	EXECUTE format('CREATE TABLE %s (name text PRIMARY KEY, file bigint NOT NULL, blocks bigint NOT NULL, '
				   'blocks_done bigint NOT NULL, copied boolean NOT NULL)', t[3]);
	EXECUTE format('CREATE TABLE %s (source text PRIMARY KEY, state text NOT NULL, deferred boolean NOT NULL, '
				   'deletes text NOT NULL, rows_done bigint NOT NULL, rows_estimated bigint NOT NULL, '
				   'keys_done bigint NOT NULL, keys bigint NOT NULL, rows_per_second bigint, time_left interval, '
				   'started timestamptz NOT NULL, changed timestamptz NOT NULL, told timestamptz NOT NULL, '
				   'names name[] NOT NULL, set_names name[] NOT NULL, matches text[] NOT NULL, '
				   'batch_rows bigint NOT NULL, batch_keys bigint NOT NULL, given jsonb NOT NULL)', t[2]);
	EXECUTE format('INSERT INTO %s SELECT $1, ''copying'', $2, $3, 0, $4, 0, 0, NULL, NULL, now(), now(), now(), '
				   '$5, $6, $7, $8, 100, $9', t[2])
	USING @extschema@._roaring64_rollup_object(source, (SELECT relname FROM pg_class WHERE oid = source), ''),
		(options->>'deferred')::boolean, options->>'deletes',
		(SELECT coalesce(sum(CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 100 END
							 * (pg_relation_size(oid) / current_setting('block_size')::bigint)), 0)::bigint
		 FROM pg_class
		 WHERE relkind = 'r' AND oid IN (SELECT source UNION SELECT relid FROM pg_partition_tree(source))),
		names, set_names, matches, coalesce(batch_rows, 800000), options;
	PERFORM @extschema@._roaring64_rollup_follow(source, target, true);
	EXECUTE format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC',
				   @extschema@._roaring64_rollup_object(source, target, '_follow'));
	PERFORM @extschema@._roaring64_rollup_attach(source, target);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_begin(regclass, name, jsonb, json, text, integer) IS
'first step of a rollup: creates its tables and triggers';

-- Copies a range of blocks of a table into the parts, or numbers the keys if
-- nothing is left.  A table that was rewritten is copied from the beginning.
-- work_mem is for a default number of rows, which are sorted if the keys are many.
CREATE FUNCTION _roaring64_rollup_copy(source regclass, target name)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET jit = off
SET work_mem = '80MB' SET hash_mem_multiplier = 1
AS $$
DECLARE
	m record;
	c record;
	progress record;
	state text := @extschema@._roaring64_rollup_object(source, target, '_rollup');
	tables text := @extschema@._roaring64_rollup_object(source, target, '_tables');
	parts text := @extschema@._roaring64_rollup_object(source, target, '_parts');
	keys_table text := @extschema@._roaring64_rollup_object(source, target, '_keys');
	start timestamptz := clock_timestamp();
	blocks_end bigint;
	rows_copied bigint;
	keys text;
BEGIN
	EXECUTE format('SELECT * FROM %s', state) INTO STRICT m;
	EXECUTE format(
		'SELECT c.oid::regclass AS tab, format(''%%I.%%I'', nspname, relname) AS name, '
		'CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 100 END AS density, '
		'amname = ''heap'' AS heap '
		'FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace JOIN pg_am AS a ON a.oid = relam '
		'WHERE relkind = ''r'' AND c.oid IN (SELECT $1 UNION SELECT relid FROM pg_partition_tree($1)) '
		'AND NOT EXISTS (SELECT FROM %s AS t WHERE t.copied AND t.name = format(''%%I.%%I'', nspname, relname) '
		'AND t.file = pg_relation_filenode(c.oid)) '
		'ORDER BY 2 LIMIT 1', tables) INTO c USING source;
	keys := @extschema@._roaring64_rollup_list('k%1$s', m.names);
	IF c.tab IS NULL THEN
		EXECUTE format('CREATE TABLE %s AS SELECT row_number() OVER (ORDER BY %s) AS n, %s '
					   'FROM (SELECT %s FROM %s WHERE n IS NOT NULL GROUP BY %s) AS k',
					   keys_table, keys, keys, keys, parts, keys);
		GET DIAGNOSTICS rows_copied = ROW_COUNT;
		EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (n)', keys_table);
		EXECUTE format('ANALYZE %s, %s', keys_table, parts);
		EXECUTE format('UPDATE %s SET state = ''merging'', keys = $1, rows_estimated = rows_done, changed = now(), '
					   'time_left = NULL', state) USING rows_copied;
		RETURN;
	END IF;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', c.tab);
	EXECUTE format(
		'INSERT INTO %s AS t VALUES ($1, pg_relation_filenode($2), $3, 0, false) '
		'ON CONFLICT (name) DO UPDATE SET file = excluded.file, blocks = excluded.blocks, blocks_done = 0, copied = false '
		'WHERE t.file <> excluded.file', tables)
	USING c.name, c.tab, CASE WHEN c.heap THEN pg_relation_size(c.tab) / current_setting('block_size')::bigint ELSE 0 END;
	EXECUTE format('SELECT * FROM %s WHERE name = $1', tables) INTO STRICT progress USING c.name;
	blocks_end := progress.blocks_done + greatest(1, m.batch_rows / greatest(c.density, 1))::bigint;

	-- the triggers take care of rows in blocks that are added later
	EXECUTE format(
		'WITH copied AS (INSERT INTO %s (n, %s, %s) SELECT count(*), %s, %s '
		'FROM (SELECT f.* FROM (SELECT %s FROM ONLY %s %s) AS roaring64_row, %s(roaring64_row::%s) AS f) AS f '
		'GROUP BY %s ORDER BY %s RETURNING n) SELECT coalesce(sum(n), 0)::bigint FROM copied',
		parts, keys, @extschema@._roaring64_rollup_list('s%1$s', m.set_names), keys,
		@extschema@._roaring64_rollup_list('%3$s.roaring64_agg(id) FILTER (WHERE c%1$s)', m.set_names),
		-- the columns in the order of the whole table
		@extschema@._roaring64_rollup_list('%2$I', @extschema@._roaring64_rollup_columns(source)), c.tab,
		CASE WHEN c.heap THEN format('WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''',
									 progress.blocks_done, least(blocks_end, 4294967295)) END,
		@extschema@._roaring64_rollup_object(source, target, '_facts'), @extschema@._roaring64_rollup_object(source, target, '_row'), keys, keys)
	INTO rows_copied;
	EXECUTE format('UPDATE %s SET blocks_done = least($2, blocks), copied = $2 >= blocks WHERE name = $1', tables)
	USING c.name, blocks_end;
	EXECUTE format(
		'UPDATE %s SET rows_done = rows_done + $1, rows_estimated = greatest(rows_estimated, rows_done + $1), '
		'rows_per_second = $1 / $2, changed = now(), '
		'time_left = greatest(rows_estimated - rows_done - $1, 0) * $2 / greatest($1, 1) * interval ''1 second''', state)
	USING rows_copied, greatest(extract(epoch FROM clock_timestamp() - start), 0.001);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_copy(regclass, name) IS 'step of a rollup: copies some rows';

-- Merges the parts of some keys into the target.  Writers of these keys wait, so
-- it takes as many keys as can be merged in about a tenth of a second.  It waits
-- for each lock for at most 100 ms, and asks for no more once 50 ms have passed,
-- first for new keys and then for all; or for half of deadlock_timeout, and a
-- quarter: it gives up before a writer looks for a deadlock.  Keys are locked in
-- the order of n, so those locked in time are the first ones.  Of these it takes as
-- many as have no gap: a key that was not inserted in time has no row, but a writer
-- may have made one for a later key.
CREATE FUNCTION _roaring64_rollup_merge(source regclass, target name)
RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET jit = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_sort = off SET work_mem = '64MB'
AS $$
DECLARE
	m record;
	patience interval := least(interval '50 ms', current_setting('deadlock_timeout')::interval / 4);
	state text := @extschema@._roaring64_rollup_object(source, target, '_rollup');
	target_table text := @extschema@._roaring64_rollup_object(source, target, '');
	keys_table text := @extschema@._roaring64_rollup_object(source, target, '_keys');
	batch text;
	match text;
	last_key bigint;
	start timestamptz := clock_timestamp();
	seconds numeric;
BEGIN
	EXECUTE format('SELECT * FROM %s', state) INTO STRICT m;
	PERFORM @extschema@._roaring64_rollup_expect(target_table, m.names || m.set_names);
	PERFORM set_config('lock_timeout', format('%s ms', ceil(2000 * extract(epoch FROM patience))), true);
	batch := format('SELECT * FROM %s WHERE n > %s AND n <= %s AND (n = %s OR clock_timestamp() < $1) ORDER BY n',
					keys_table, m.keys_done, m.keys_done + m.batch_keys, m.keys_done + 1);
	match := @extschema@._roaring64_rollup_match(m.matches, m.names, 't.%2$I', 'p.k%1$s');
	BEGIN
		EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM (%s) AS b ON CONFLICT DO NOTHING',
					   target_table, @extschema@._roaring64_rollup_list('%2$I', m.names), @extschema@._roaring64_rollup_list('k%1$s', m.names), batch)
		USING clock_timestamp() + patience;
		EXECUTE format('SELECT max(n) FROM (SELECT n, %s + row_number() OVER (ORDER BY n) AS next '
					   'FROM (SELECT p.n FROM (%s) AS p JOIN %s AS t ON %s ORDER BY p.n FOR UPDATE OF t) AS l) AS o '
					   'WHERE n = next', m.keys_done, batch, target_table, match)
		INTO STRICT last_key USING clock_timestamp() + patience;
	EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
		EXECUTE format('UPDATE %s SET batch_keys = greatest(batch_keys / 2, 1)', state);
		RETURN 'busy';
	END;
	batch := format('SELECT * FROM %s WHERE n > %s AND n <= %s', keys_table, m.keys_done, last_key);
	EXECUTE format(
		'UPDATE %s AS t SET %s FROM (SELECT n, %s, %s FROM (SELECT b.n, %s, %s FROM (%s) AS b JOIN %s AS q ON %s) AS j '
		'GROUP BY n, %s) AS p WHERE %s',
		target_table,
		@extschema@._roaring64_rollup_list('%2$I = %3$s.roaring64_or(t.%2$I, p.s%1$s)', m.set_names),
		@extschema@._roaring64_rollup_list('k%1$s', m.names),
		@extschema@._roaring64_rollup_list('%3$s.roaring64_andnot(coalesce(%3$s.roaring64_or_agg(s%1$s), ''{}''), '
									'coalesce(%3$s.roaring64_or_agg(r%1$s), ''{}'')) AS s%1$s', m.set_names),
		@extschema@._roaring64_rollup_list('b.k%1$s', m.names),
		@extschema@._roaring64_rollup_list('q.s%1$s, q.r%1$s', m.set_names),
		batch, @extschema@._roaring64_rollup_object(source, target, '_parts'),
		@extschema@._roaring64_rollup_match(m.matches, m.names, 'q.k%1$s', 'b.k%1$s'),
		@extschema@._roaring64_rollup_list('k%1$s', m.names), match);
	seconds := greatest(extract(epoch FROM clock_timestamp() - start), 0.001);
	EXECUTE format('UPDATE %s SET keys_done = $2, changed = now(), '
				   'batch_keys = CASE WHEN $1 < 0.05 THEN batch_keys * 2 WHEN $1 > 0.2 THEN greatest(batch_keys / 2, 1) '
				   'ELSE batch_keys END, '
				   'time_left = (keys - $2) * $1 / ($2 - keys_done) * interval ''1 second''',
				   state) USING seconds, last_key;
	RETURN 'merging';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_merge(regclass, name) IS
'step of a rollup: brings what was copied of some keys to the target';

-- Merges some blocks of what is pending.  Two folds take keys in order, so there is no
-- deadlock; the second one of the same blocks adds what is there already.
CREATE FUNCTION _roaring64_rollup_fold(target regclass, block bigint, blocks bigint)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	target_name name := (SELECT relname FROM pg_class WHERE oid = target);
	pending text := @extschema@._roaring64_rollup_object(target, target_name, '_pending');
	m record;
	keys text;
BEGIN
	EXECUTE format('SELECT * FROM %s', @extschema@._roaring64_rollup_object(target, target_name, '_rollup')) INTO STRICT m;
	PERFORM @extschema@._roaring64_rollup_expect(@extschema@._roaring64_rollup_object(target, target_name, ''),
												 m.names || m.set_names);
	keys := @extschema@._roaring64_rollup_list('k%1$s', m.names);
	pending := pending || format(' WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''', block, least(block + blocks, 4294967295));
	-- what is read is what is deleted: one statement has one snapshot
	EXECUTE format(
		'WITH taken AS (DELETE FROM %s) INSERT INTO %s AS t (%s, %s) SELECT %s, %s FROM %s GROUP BY %s ORDER BY %s '
		'ON CONFLICT (%s) DO UPDATE SET %s', pending, target,
		@extschema@._roaring64_rollup_list('%2$I', m.names), @extschema@._roaring64_rollup_list('%2$I', m.set_names), keys,
		@extschema@._roaring64_rollup_list('coalesce(%3$s.roaring64_agg(id) FILTER (WHERE c%1$s), ''{}'')', m.set_names),
		pending, keys, keys, @extschema@._roaring64_rollup_list('%2$I', m.names),
		@extschema@._roaring64_rollup_list('%2$I = CASE WHEN %3$s.roaring64_is_empty(excluded.%2$I) THEN t.%2$I '
										   'ELSE %3$s.roaring64_or(t.%2$I, excluded.%2$I) END', m.set_names));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_fold(regclass, bigint, bigint) IS
'merges what is pending in some blocks into the target of a rollup';
