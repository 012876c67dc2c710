--
-- The steps of a migration.  Beside the target, named after it, there are:
--
--	  _migration	one row: the arguments and the progress
--	  _tables		the tables to copy, by name, and their progress
--	  _parts		sets of what was copied, and of ids that were removed
--	  _keys			the keys of the parts, numbered, while they are merged
--	  _follow()		the function of the triggers on the source
--
-- Why the target is right.  From the beginning, the triggers change the target
-- in the writer's own transaction, statement by statement: they add each id
-- that enters a set, and remove each id that leaves it.  Changes of one fact
-- are in order, because they lock its row of the source, and then the row of
-- the target, until the end of the transaction.  So for each id that has been
-- touched since the beginning, the target is right at once.
--
-- The other ids are copied into the parts, a range of blocks at a time.  What
-- is copied may be older than the target.  So when a part is merged into the
-- target, it must not bring back ids that were removed in the meantime: the
-- triggers note these in the parts too.  And a row that an UPDATE moves from a
-- block not yet copied to one that was is not copied at all.  So until all is
-- copied, the triggers add every id of a row that is written, not only changed
-- ones.
--
-- Then, key by key: the row of the target is locked.  After that, all notes
-- about the key are committed, or are written later and see what was done here.
-- Then, with a new snapshot, target := target | (parts - notes).
--
-- At the end, the function of the triggers is replaced by one without notes,
-- which adds and removes only what a statement changes.  From then on, others
-- can write to the sets directly.
--

-- Makes the function of the triggers.
CREATE FUNCTION roaring64_migrate_follow(source regclass, target name,
										 copying boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ext text := (SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'roaring64');
	m record;
	target_table text;
	source_name name := (SELECT relname FROM pg_class WHERE oid = source);
	all_columns name[];			-- of the target's key
	facts text;
	keys text;
	sets text;					-- of a key: what is to be added and taken away
	change text;
	nothing text;
	left_over text;
	lookup text := '';
BEGIN
	PERFORM set_config('search_path', 'pg_catalog,' || ext || ',pg_temp', true);
	EXECUTE 'SELECT * FROM ' || roaring64_migrate_object(source, target, '_migration')
		INTO STRICT m;
	target_table := roaring64_migrate_object(source, target, '');
	all_columns := array_remove(m.key_columns || m.period_column, NULL);
	facts := roaring64_migrate_facts(source, m.key_columns, m.id_column,
									 m.conditions, m.period_column, m.period);
	keys := roaring64_migrate_list('k%1$s', all_columns);
	-- these are used as templates again, and a schema's name may have a %
	sets := roaring64_migrate_list(
		'coalesce(%3$s.roaring64_agg(id) FILTER (WHERE is_new AND c%1$s), ''{}'') AS a%1$s, '
		'coalesce(%3$s.roaring64_agg(id) FILTER (WHERE NOT is_new AND c%1$s), ''{}'') AS r%1$s',
		m.set_names, replace(ext, '%', '%%'));
	change := roaring64_migrate_list(
		CASE WHEN copying THEN 'a%1$s' ELSE '%3$s.roaring64_andnot(a%1$s, r%1$s)' END
		|| ' AS a%1$s, %3$s.roaring64_andnot(r%1$s, a%1$s) AS r%1$s', m.set_names, replace(ext, '%', '%%'));
	change := format('SELECT %s, %s FROM (SELECT %s, %s FROM (%%s) AS f GROUP BY %s) AS g ORDER BY %s',
					 keys, change, keys, sets, keys, keys);
	nothing := roaring64_migrate_list('%3$s.roaring64_is_empty(roaring64_change.%%1$s%1$s)',
									  m.set_names, replace(ext, '%', '%%'), ' AND ');

	-- If several rows may have the same key and id, an id is removed with the
	-- last of them.  By now the row of the target is locked and changed.  So
	-- others that change rows of this key have committed or will wait, and
	-- those with an older snapshot get a serialization error.  What TRUNCATE
	-- leaves, perhaps in other partitions, is seen when all of it is done.
	IF NOT roaring64_migrate_is_unique(source, m.key_columns || m.id_column) THEN
		left_over := format(
			'SELECT %s INTO roaring64_left FROM (SELECT %s FROM %s AS %I WHERE %s AND %I = ANY ((%s)::bigint[])) AS f%s',
			roaring64_migrate_list('coalesce(%3$s.roaring64_agg(id) FILTER (WHERE c%1$s), ''{}'') AS a%1$s',
								   m.set_names, ext),
			facts, roaring64_migrate_object(source, source_name, ''), source_name,
			(SELECT string_agg(format('%I %s roaring64_change.k%s', name, e, i), ' AND ')
			 FROM unnest(m.key_columns, roaring64_migrate_equal(target_table::regclass))
				 WITH ORDINALITY AS k (name, e, i) WHERE name IS NOT NULL),
			m.id_column,
			(SELECT string_agg(format('roaring64_change.r%s', i), format(' OPERATOR(%s.|) ', ext))
			 FROM generate_series(1, cardinality(m.set_names)) AS i),
			' WHERE k' || nullif(cardinality(all_columns), cardinality(m.key_columns))
			|| ' = roaring64_change.k' || cardinality(all_columns));
		lookup := format($lookup$
		IF TG_OP <> 'TRUNCATE' AND NOT (%s) THEN
			%s;
			UPDATE %s AS t SET %s WHERE %s;
		END IF;$lookup$,
			format(nothing, 'r'), left_over, target_table,
			roaring64_migrate_list('%2$I = %3$s.roaring64_or(t.%2$I, %3$s.roaring64_and(roaring64_left.a%1$s, roaring64_change.r%1$s))',
								   m.set_names, ext),
			(SELECT string_agg(format('t.%I %s roaring64_change.k%s', name, e, i), ' AND ')
			 FROM unnest(all_columns, roaring64_migrate_equal(target_table::regclass))
				 WITH ORDINALITY AS k (name, e, i)));
	END IF;

	EXECUTE format($create$
CREATE OR REPLACE FUNCTION %s() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET jit = off%s
AS %L$create$,
		roaring64_migrate_object(source, target, '_follow'),
		CASE WHEN lookup <> '' THEN ' SET enable_seqscan = off' END,
		format($body$
-- made by roaring64_migrate: carries changes of %s to %s
#variable_conflict use_column
DECLARE
	roaring64_changes refcursor;
	roaring64_change record;
	roaring64_left record;
BEGIN
	IF to_regclass(%L) IS NULL THEN
		RETURN NULL;	-- the target was dropped
	ELSIF TG_OP = 'INSERT' THEN
		OPEN roaring64_changes FOR %s;
	ELSIF TG_OP = 'UPDATE' THEN
		OPEN roaring64_changes FOR %s;
	ELSIF TG_OP = 'DELETE' THEN
		OPEN roaring64_changes FOR %s;
	%sELSIF current_setting('transaction_isolation') = 'read committed' THEN
		OPEN roaring64_changes FOR EXECUTE %L || TG_RELID::regclass || %L;
	ELSE
		RAISE feature_not_supported USING
			MESSAGE = 'cannot truncate a table that is being migrated unless the isolation level is READ COMMITTED',
			DETAIL = 'It might not see all rows that are removed.';
	END IF;
	LOOP
		FETCH roaring64_changes INTO roaring64_change;
		EXIT WHEN NOT FOUND;
		CONTINUE WHEN %s AND %s;
		INSERT INTO %s AS t (%s, %s) VALUES (%s, %s)
		ON CONFLICT (%s) DO UPDATE SET %s;%s%s
	END LOOP;
	CLOSE roaring64_changes;
	RETURN NULL;
END
$body$,
			source, target_table, target_table,
			format(change, format('SELECT true AS is_new, %s FROM roaring64_new AS %I', facts, source_name)),
			format(change, format('SELECT true AS is_new, %s FROM roaring64_new AS %I UNION ALL '
								  'SELECT false, %s FROM roaring64_old AS %I',
								  facts, source_name, facts, source_name)),
			format(change, format('SELECT false AS is_new, %s FROM roaring64_old AS %I', facts, source_name)),
			CASE WHEN lookup <> '' THEN format(E'ELSIF TG_WHEN = ''AFTER'' THEN\n\t\tOPEN roaring64_changes FOR %s;\n\t',
				format(change, format('SELECT true AS is_new, %s FROM %s AS %I', facts,
									  roaring64_migrate_object(source, source_name, ''), source_name))) END,
			split_part(format(change, format('SELECT false AS is_new, %s FROM roaring64:here AS %I',
											 facts, source_name)), 'roaring64:here', 1),
			split_part(format(change, format('SELECT false AS is_new, %s FROM roaring64:here AS %I',
											 facts, source_name)), 'roaring64:here', 2),
			format(nothing, 'a'), format(nothing, 'r'),
			target_table,
			roaring64_migrate_list('%2$I', all_columns), roaring64_migrate_list('%2$I', m.set_names),
			roaring64_migrate_list('roaring64_change.k%1$s', all_columns),
			roaring64_migrate_list('roaring64_change.a%1$s', m.set_names),
			roaring64_migrate_list('%2$I', all_columns),
			-- an out-of-line value that does not change is not written again
			roaring64_migrate_list(
				'%2$I = CASE WHEN %3$s.roaring64_is_empty(roaring64_change.a%1$s) '
				'AND %3$s.roaring64_is_empty(roaring64_change.r%1$s) THEN t.%2$I '
				'ELSE %3$s.roaring64_or(%3$s.roaring64_andnot(t.%2$I, roaring64_change.r%1$s), '
				'roaring64_change.a%1$s) END', m.set_names, ext),
			CASE WHEN copying THEN format($note$
		IF NOT (%s) THEN
			INSERT INTO %s (%s, %s) VALUES (%s, %s);
		END IF;$note$,
				format(nothing, 'r'), roaring64_migrate_object(source, target, '_parts'), keys,
				roaring64_migrate_list('r%1$s', m.set_names),
				roaring64_migrate_list('roaring64_change.k%1$s', all_columns),
				roaring64_migrate_list('roaring64_change.r%1$s', m.set_names))
			ELSE '' END,
			lookup));
END
$$;
COMMENT ON FUNCTION roaring64_migrate_follow(regclass, name, boolean) IS
'creates the function of a migration''s triggers';

-- Locks tables.  Waits for all of them no longer than lock_timeout or, without
-- one, half of deadlock_timeout and at most half a second, because others wait
-- behind us.  A transaction that has written to a partition and then needs its
-- parent waits for us while we wait for the partition, so we have to give up
-- before either of us looks for a deadlock.
CREATE FUNCTION roaring64_migrate_lock(tables regclass[], mode text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
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
END
$$;
COMMENT ON FUNCTION roaring64_migrate_lock(regclass[], text) IS
'locks tables of a migration within a bounded time';

-- Creates the triggers on the source and on partitions that lack them.
CREATE FUNCTION roaring64_migrate_attach(source regclass, target name)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing regclass[];
	tab regclass;
	many boolean;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	EXECUTE format('SELECT NOT roaring64_migrate_is_unique($1, key_columns || id_column) FROM %s',
				   roaring64_migrate_object(source, target, '_migration'))
	INTO STRICT many USING source;
	missing := ARRAY(
		SELECT relid FROM (SELECT source UNION SELECT relid FROM pg_partition_tree(source)) AS t (relid)
		WHERE relid <> ALL (roaring64_migrate_members(source, target))
		ORDER BY relid <> source, relid);
	PERFORM roaring64_migrate_lock(missing, 'SHARE ROW EXCLUSIVE');
	FOREACH tab IN ARRAY missing LOOP
		EXECUTE (
			SELECT string_agg(format('CREATE TRIGGER %I %s %s ON %s %s FOR EACH STATEMENT EXECUTE FUNCTION %s();',
									 roaring64_migrate_name(target, suffix), timing, event, tab, rows,
									 roaring64_migrate_object(source, target, '_follow')), '')
			FROM (VALUES
				('_insert', 'AFTER', 'INSERT', 'REFERENCING NEW TABLE AS roaring64_new'),
				('_update', 'AFTER', 'UPDATE', 'REFERENCING OLD TABLE AS roaring64_old NEW TABLE AS roaring64_new'),
				('_delete', 'AFTER', 'DELETE', 'REFERENCING OLD TABLE AS roaring64_old'),
				('_truncate', 'BEFORE', 'TRUNCATE', ''),
				('_truncated', 'AFTER', 'TRUNCATE', '')) AS t (suffix, timing, event, rows)
			WHERE many OR suffix <> '_truncated');
	END LOOP;
END
$$;
COMMENT ON FUNCTION roaring64_migrate_attach(regclass, name) IS
'creates the triggers on the source of a migration';

-- The first step.
CREATE FUNCTION roaring64_migrate_begin(source regclass, target name,
										key_columns name[], id_column name,
										sets json, period_column name,
										period text, batch_rows integer,
										path text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	told text;
	set_names name[];
	conditions text[];
	keys text;
	all_columns name[];
	tables text[];
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	period := CASE WHEN period_column IS NOT NULL THEN coalesce(period, 'month') ELSE period END;
	PERFORM roaring64_migrate_tell(source, target, key_columns, id_column, sets,
								   period_column, period, path, false);
	SELECT array_agg(key::name), array_agg(expression) INTO STRICT set_names, conditions
	FROM (SELECT key, (roaring64_migrate_condition(source, id_column, value, path)).expression
		  FROM json_each_text(sets)) AS s;
	all_columns := array_remove(key_columns || period_column, NULL);
	keys := roaring64_migrate_keys(source, key_columns, period_column, period);
	tables := ARRAY(SELECT roaring64_migrate_object(source, target, suffix)
					FROM unnest(ARRAY['', '_migration', '_tables', '_parts']) AS suffix);

	-- owned by the source's owner, whoever calls this
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class
	WHERE oid = source AND pg_get_userbyid(relowner) <> current_user;
	EXECUTE format('CREATE TABLE %s (%s) AS SELECT %s FROM %s WITH NO DATA', tables[1],
				   roaring64_migrate_list('%2$I', all_columns), keys, source);
	EXECUTE format('ALTER TABLE %s %s, ADD PRIMARY KEY (%s)', tables[1],
				   roaring64_migrate_list('ADD COLUMN %2$I roaring64 NOT NULL DEFAULT ''{}''', set_names),
				   roaring64_migrate_list('%2$I', all_columns));
	IF period_column IS NOT NULL THEN
		EXECUTE format('COMMENT ON COLUMN %s.%I IS %L', tables[1], period_column,
					   format('first day of the %s, in UTC', period));
	END IF;
	EXECUTE format('CREATE TABLE %s AS SELECT NULL::bigint AS n, %s FROM %s WITH NO DATA',
				   tables[4], keys, source);
	EXECUTE format('ALTER TABLE %s %s', tables[4], concat_ws(', ',
		roaring64_migrate_list('ADD COLUMN s%1$s roaring64, ALTER COLUMN s%1$s SET STORAGE EXTERNAL', set_names),
		roaring64_migrate_list('ADD COLUMN r%1$s roaring64', set_names)));
	EXECUTE format('CREATE INDEX ON %s (%s)', tables[4], roaring64_migrate_list('k%1$s', all_columns));
	EXECUTE format('CREATE TABLE %s (name text PRIMARY KEY, file bigint NOT NULL, blocks bigint NOT NULL, '
				   'blocks_done bigint NOT NULL, copied boolean NOT NULL)', tables[3]);
	EXECUTE format('CREATE TABLE %s (source text PRIMARY KEY, state text NOT NULL, rows_done bigint NOT NULL, '
				   'rows_estimated bigint NOT NULL, keys_done bigint NOT NULL, keys bigint NOT NULL, '
				   'rows_per_second bigint, time_left interval, started timestamptz NOT NULL, '
				   'changed timestamptz NOT NULL, told timestamptz NOT NULL, key_columns name[] NOT NULL, '
				   'id_column name NOT NULL, set_names name[] NOT NULL, conditions text[] NOT NULL, '
				   'period_column name, period text, batch_rows bigint NOT NULL, batch_keys bigint NOT NULL, '
				   'given jsonb NOT NULL)', tables[2]);
	EXECUTE format('INSERT INTO %s SELECT $1, ''copying'', 0, $2, 0, 0, NULL, NULL, now(), now(), now(), '
				   '$3, $4, $5, $6, $7, $8, $9, 100, $10', tables[2])
	USING roaring64_migrate_object(source, (SELECT relname FROM pg_class WHERE oid = source), ''),
		(SELECT coalesce(sum(CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 100 END
							 * (pg_relation_size(oid) / 8192)), 0)::bigint
		 FROM pg_class
		 WHERE relkind = 'r' AND oid IN (SELECT source UNION SELECT relid FROM pg_partition_tree(source))),
		key_columns, id_column, set_names, conditions, period_column, period, coalesce(batch_rows, 800000),
		roaring64_migrate_given(key_columns, id_column, sets, period_column, period);
	PERFORM roaring64_migrate_follow(source, target, true);
	EXECUTE format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC',
				   roaring64_migrate_object(source, target, '_follow'));
	PERFORM roaring64_migrate_attach(source, target);
END
$$;
COMMENT ON FUNCTION roaring64_migrate_begin(regclass, name, name[], name, json, name, text, integer, text) IS
'first step of a migration: creates its tables and triggers';

-- Copies a range of blocks of a table into the parts.  Returns false if nothing
-- is left.  A table that was rewritten is copied from the beginning.  work_mem
-- is for a default number of rows, which are sorted.
CREATE FUNCTION roaring64_migrate_copy(source regclass, target name)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET jit = off
SET work_mem = '80MB'
AS $$
DECLARE
	m record;
	c record;
	progress record;
	state text;
	tables text;
	start timestamptz := clock_timestamp();
	blocks_end bigint;
	rows_copied bigint;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	state := roaring64_migrate_object(source, target, '_migration');
	tables := roaring64_migrate_object(source, target, '_tables');
	EXECUTE format('SELECT * FROM %s', state) INTO STRICT m;
	EXECUTE format(
		'SELECT c.oid::regclass AS tab, format(''%%I.%%I'', nspname, relname) AS name, '
		'CASE WHEN reltuples > 0 AND relpages > 0 THEN reltuples / relpages ELSE 100 END AS density, '
		'amname = ''heap'' AS heap '
		'FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace JOIN pg_am AS a ON a.oid = relam '
		'WHERE relkind = ''r'' AND c.oid IN (SELECT $1 UNION SELECT relid FROM pg_partition_tree($1)) '
		'AND NOT EXISTS (SELECT FROM %s AS t WHERE t.copied AND t.name = format(''%%I.%%I'', nspname, relname)) '
		'ORDER BY 2 LIMIT 1', tables) INTO c USING source;
	IF c.tab IS NULL THEN
		RETURN false;
	END IF;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', c.tab);
	EXECUTE format(
		'INSERT INTO %s AS t VALUES ($1, pg_relation_filenode($2), $3, 0, false) '
		'ON CONFLICT (name) DO UPDATE SET file = excluded.file, blocks = excluded.blocks, blocks_done = 0 '
		'WHERE t.file <> excluded.file', tables)
	USING c.name, c.tab, CASE WHEN c.heap THEN pg_relation_size(c.tab) / 8192 ELSE 0 END;
	EXECUTE format('SELECT * FROM %s WHERE name = $1', tables) INTO STRICT progress USING c.name;
	blocks_end := progress.blocks_done + greatest(1, m.batch_rows / greatest(c.density, 1))::bigint;

	-- the triggers take care of rows in blocks that are added later
	EXECUTE format(
		'WITH copied AS (INSERT INTO %s (n, %s, %s) SELECT count(*), %s, %s FROM (SELECT %s FROM ONLY %s AS %I %s) AS f '
		'GROUP BY %s ORDER BY %s RETURNING n) SELECT coalesce(sum(n), 0)::bigint FROM copied',
		roaring64_migrate_object(source, target, '_parts'),
		roaring64_migrate_list('k%1$s', array_remove(m.key_columns || m.period_column, NULL)),
		roaring64_migrate_list('s%1$s', m.set_names),
		roaring64_migrate_list('k%1$s', array_remove(m.key_columns || m.period_column, NULL)),
		(SELECT string_agg(CASE condition WHEN 'true' THEN 'roaring64_agg(id)'
							   ELSE format('roaring64_agg(id) FILTER (WHERE c%s)', i) END, ', ' ORDER BY i)
		 FROM unnest(m.conditions) WITH ORDINALITY AS s (condition, i)),
		roaring64_migrate_facts(source, m.key_columns, m.id_column, m.conditions, m.period_column, m.period),
		c.tab, (SELECT relname FROM pg_class WHERE oid = source),
		CASE WHEN c.heap THEN format('WHERE ctid >= ''(%s,0)'' AND ctid < ''(%s,0)''',
									 progress.blocks_done, least(blocks_end, 4294967295)) END,
		roaring64_migrate_list('k%1$s', array_remove(m.key_columns || m.period_column, NULL)),
		roaring64_migrate_list('k%1$s', array_remove(m.key_columns || m.period_column, NULL)))
	INTO rows_copied;
	EXECUTE format('UPDATE %s SET blocks_done = least($2, blocks), copied = $2 >= blocks WHERE name = $1', tables)
	USING c.name, blocks_end;
	EXECUTE format(
		'UPDATE %s SET rows_done = rows_done + $1, rows_estimated = greatest(rows_estimated, rows_done + $1), '
		'rows_per_second = $1 / $2, changed = now(), '
		'time_left = greatest(rows_estimated - rows_done - $1, 0) * $2 / greatest($1, 1) * interval ''1 second''', state)
	USING rows_copied, greatest(extract(epoch FROM clock_timestamp() - start), 0.001);
	RETURN true;
END
$$;
COMMENT ON FUNCTION roaring64_migrate_copy(regclass, name) IS
'step of a migration: copies some rows';

-- Numbers the keys, after everything was copied.
CREATE FUNCTION roaring64_migrate_number(source regclass, target name)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET jit = off
SET work_mem = '64MB'
AS $$
DECLARE
	m record;
	keys text;
	list text;
	n bigint;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	keys := roaring64_migrate_object(source, target, '_keys');
	EXECUTE format('SELECT * FROM %s', roaring64_migrate_object(source, target, '_migration')) INTO STRICT m;
	list := roaring64_migrate_list('k%1$s', array_remove(m.key_columns || m.period_column, NULL));
	EXECUTE format('CREATE TABLE %s AS SELECT row_number() OVER (ORDER BY %s) AS n, %s '
				   'FROM (SELECT %s FROM %s WHERE n IS NOT NULL GROUP BY %s) AS k',
				   keys, list, list, list, roaring64_migrate_object(source, target, '_parts'), list);
	GET DIAGNOSTICS n = ROW_COUNT;
	EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (n)', keys);
	EXECUTE format('ANALYZE %s', keys);
	EXECUTE format('ANALYZE %s', roaring64_migrate_object(source, target, '_parts'));
	EXECUTE format('UPDATE %s SET state = ''merging'', keys = $1, rows_estimated = rows_done, changed = now(), '
				   'time_left = NULL', roaring64_migrate_object(source, target, '_migration')) USING n;
END
$$;
COMMENT ON FUNCTION roaring64_migrate_number(regclass, name) IS
'step of a migration: numbers the keys';

-- Merges the parts of some keys into the target.  Writers of these keys have to
-- wait, so it takes as many keys as can be merged in about a tenth of a second.
-- It waits for each lock for at most 100 ms, and asks for no more locks once 50
-- ms have passed, first for new keys and then for all.  So it gives up long
-- before a writer looks for a deadlock.  Keys are locked one by one in the
-- order of n, so those locked in time are the first ones.  Of these it takes as
-- many as have no gap: a key that was not inserted in time has no row to lock,
-- but a writer may have made one for a later key.
CREATE FUNCTION roaring64_migrate_merge(source regclass, target name)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET enable_hashagg = off SET jit = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_sort = off SET work_mem = '64MB' SET lock_timeout = '100ms'
AS $$
DECLARE
	m record;
	state text;
	target_table text;
	keys_table text;
	batch text;
	match text;
	keys name[];
	last_key bigint;
	start timestamptz := clock_timestamp();
	seconds numeric;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	state := roaring64_migrate_object(source, target, '_migration');
	target_table := roaring64_migrate_object(source, target, '');
	EXECUTE format('SELECT * FROM %s', state) INTO STRICT m;
	keys := array_remove(m.key_columns || m.period_column, NULL);
	keys_table := roaring64_migrate_object(source, target, '_keys');
	batch := format('SELECT * FROM %s WHERE n > %s AND n <= %s AND (n = %s OR clock_timestamp() < $1) ORDER BY n',
					keys_table, m.keys_done, m.keys_done + m.batch_keys, m.keys_done + 1);
	match := (SELECT string_agg(format('t.%I %s p.k%s', name, e, i), ' AND ')
			  FROM unnest(keys, roaring64_migrate_equal(target_table::regclass)) WITH ORDINALITY AS k (name, e, i));
	BEGIN
		EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM (%s) AS b ON CONFLICT DO NOTHING',
					   target_table, roaring64_migrate_list('%2$I', keys), roaring64_migrate_list('k%1$s', keys), batch)
		USING clock_timestamp() + interval '50 ms';
		EXECUTE format('SELECT max(n) FROM (SELECT n, %s + row_number() OVER (ORDER BY n) AS next '
					   'FROM (SELECT p.n FROM (%s) AS p JOIN %s AS t ON %s ORDER BY p.n FOR UPDATE OF t) AS l) AS o '
					   'WHERE n = next', m.keys_done, batch, target_table, match)
		INTO STRICT last_key USING clock_timestamp() + interval '50 ms';
	EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
		EXECUTE format('UPDATE %s SET batch_keys = greatest(batch_keys / 2, 1)', state);
		RETURN 'busy';
	END;
	batch := format('SELECT * FROM %s WHERE n > %s AND n <= %s', keys_table, m.keys_done, last_key);
	EXECUTE format(
		'UPDATE %s AS t SET %s FROM (SELECT n, %s, %s FROM (SELECT b.n, %s, %s FROM (%s) AS b JOIN %s AS q ON %s) AS j '
		'GROUP BY n, %s) AS p WHERE %s',
		target_table,
		roaring64_migrate_list('%2$I = roaring64_or(t.%2$I, p.s%1$s)', m.set_names),
		roaring64_migrate_list('k%1$s', keys),
		roaring64_migrate_list('roaring64_andnot(coalesce(roaring64_or_agg(s%1$s), ''{}''), '
							   'coalesce(roaring64_or_agg(r%1$s), ''{}'')) AS s%1$s', m.set_names),
		roaring64_migrate_list('b.k%1$s', keys),
		roaring64_migrate_list('q.s%1$s, q.r%1$s', m.set_names),
		batch, roaring64_migrate_object(source, target, '_parts'),
		(SELECT string_agg(format('q.k%s %s b.k%s', i, e, i), ' AND ')
		 FROM unnest(roaring64_migrate_equal(target_table::regclass)) WITH ORDINALITY AS k (e, i)),
		roaring64_migrate_list('k%1$s', keys), match);
	seconds := greatest(extract(epoch FROM clock_timestamp() - start), 0.001);
	EXECUTE format('UPDATE %s SET keys_done = $2, changed = now(), '
				   'batch_keys = CASE WHEN $1 < 0.05 THEN batch_keys * 2 WHEN $1 > 0.2 THEN greatest(batch_keys / 2, 1) '
				   'ELSE batch_keys END, '
				   'time_left = (keys - $2) * $1 / ($2 - keys_done) * interval ''1 second''',
				   state) USING seconds, last_key;
	RETURN 'merging';
END
$$;
COMMENT ON FUNCTION roaring64_migrate_merge(regclass, name) IS
'step of a migration: brings what was copied of some keys to the target';
