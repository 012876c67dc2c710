--
-- From a row for every fact to a row for every key: what users call.
--
-- These have no "SET search_path", because a procedure with one cannot commit.
-- So they qualify all names and leave the work to functions.
--

-- Reports what roaring64_migrate_check returns: refusals as one error, or as a
-- warning if this is only a check; notes as a notice.
CREATE FUNCTION roaring64_migrate_tell(source regclass, target name,
									   key_columns name[], id_column name,
									   sets json, period_column name,
									   period text, path text,
									   dry_run boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	refused text;
	noted text;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	SELECT string_agg(format('- %s. %s', c.reason, c.remedy), E'\n') FILTER (WHERE c.refused),
		string_agg(format('- %s. %s', c.reason, c.remedy), E'\n') FILTER (WHERE NOT c.refused)
	INTO refused, noted
	FROM roaring64_migrate_check(source, target, key_columns, id_column, sets, period_column, period, path) AS c;
	IF noted IS NOT NULL THEN
		RAISE NOTICE USING
			MESSAGE = format('notes on the migration of %s', source), DETAIL = noted;
	END IF;
	IF refused IS NULL THEN
		IF dry_run THEN
			RAISE NOTICE '% can be migrated', source;
		END IF;
	ELSIF dry_run THEN
		RAISE WARNING USING MESSAGE = format('cannot migrate %s', source), DETAIL = refused;
	ELSE
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('cannot migrate %s', source), DETAIL = refused;
	END IF;
END
$$;
COMMENT ON FUNCTION roaring64_migrate_tell(regclass, name, name[], name, json, name, text, text, boolean) IS
'reports what prevents a migration, and what it would lose';

-- The arguments with which a migration was started; NULL if there is none.
CREATE FUNCTION roaring64_migrate_given(key_columns name[], id_column name,
										sets json, period_column name,
										period text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10
RETURN nullif(jsonb_strip_nulls(jsonb_build_object(
	'key_columns', key_columns, 'id_column', id_column, 'sets', sets::jsonb,
	'period_column', period_column, 'period', period)), '{}');
COMMENT ON FUNCTION roaring64_migrate_given(name[], name, json, name, text) IS
'arguments of a migration';

-- One step, in a transaction of its own.  Returns the new state, or "busy" if
-- it could not get a lock.
CREATE FUNCTION roaring64_migrate_step(source regclass, target name,
									   key_columns name[], id_column name,
									   sets json, period_column name,
									   period text, batch_rows integer,
									   path text)
RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
DECLARE
	state_table text;
	owner oid;
	m record;
	given jsonb;
	result text;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	state_table := roaring64_migrate_object(source, target, '_migration');
	-- without the function, a table of that name is not ours
	IF to_regclass(state_table) IS NULL
		OR to_regproc(roaring64_migrate_object(source, target, '_follow')) IS NULL THEN
		PERFORM roaring64_migrate_begin(source, target, key_columns, id_column, sets,
										period_column, period, batch_rows, path);
		RETURN 'copying';
	END IF;

	SELECT relowner INTO STRICT owner FROM pg_class WHERE oid = source;
	IF NOT pg_has_role(owner, 'USAGE')
		OR owner <> (SELECT relowner FROM pg_class WHERE oid = state_table::regclass) THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('must be owner of the migration of %s to %I', source, target);
	END IF;
	PERFORM set_config('role', pg_get_userbyid(owner)::text, true)
	WHERE pg_get_userbyid(owner) <> current_user;
	-- one step at a time, whoever takes it
	EXECUTE format('SELECT * FROM %s FOR UPDATE', state_table) INTO STRICT m;
	given := roaring64_migrate_given(key_columns, id_column, sets, period_column,
									 CASE WHEN period_column IS NOT NULL THEN coalesce(period, 'month') ELSE period END);
	IF given <> m.given THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('the migration to %I was started with other arguments', target),
			DETAIL = format('They were %s.', m.given),
			HINT = format('Omit them to continue, or CALL roaring64_migrate_cancel(%L, %L) to start over.',
						  source, target);
	ELSIF to_regclass(roaring64_migrate_object(source, target, '')) IS NULL
		OR source <> ALL (roaring64_migrate_members(source, target)) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the migration of %s to %I was abandoned', source, target),
			DETAIL = 'The target or its triggers were dropped.',
			HINT = format('CALL roaring64_migrate_cancel(%L, %L) and start over.', source, target);
	END IF;

	-- new partitions
	PERFORM roaring64_migrate_attach(source, target);
	CASE m.state
		WHEN 'copying' THEN
			IF NOT roaring64_migrate_copy(source, target) THEN
				PERFORM roaring64_migrate_number(source, target);
			END IF;
			result := 'copying';
		WHEN 'merging' THEN
			IF m.keys_done < m.keys THEN
				result := roaring64_migrate_merge(source, target);
			ELSE
				PERFORM roaring64_migrate_follow(source, target, false);
				EXECUTE 'DROP TABLE ' || roaring64_migrate_object(source, target, '_keys');
				EXECUTE 'ANALYZE ' || roaring64_migrate_object(source, target, '');
				EXECUTE format('UPDATE %s SET state = ''following'', changed = now(), time_left = NULL', state_table);
				RAISE NOTICE '% is in step with %: % rows copied', format('%I', target), source, m.rows_done;
				result := 'followed';
			END IF;
		WHEN 'following' THEN
			-- transactions that still use the former function of the triggers
			-- may need it, so it is emptied but not dropped
			BEGIN
				PERFORM set_config('lock_timeout', '100ms', true);
				EXECUTE 'TRUNCATE ' || roaring64_migrate_object(source, target, '_parts');
			EXCEPTION WHEN lock_not_available THEN
				NULL;
			END;
			result := 'following';
	END CASE;
	EXECUTE format('SELECT * FROM %s', state_table) INTO STRICT m;
	IF m.state <> 'following' AND clock_timestamp() - m.told > interval '5 seconds' THEN
		RAISE NOTICE '%', CASE m.state
			WHEN 'copying' THEN format('copied %s of about %s rows, %s a second, about %s left', m.rows_done,
									   m.rows_estimated, m.rows_per_second, date_trunc('second', m.time_left))
			ELSE format('merged %s of %s keys, about %s left', m.keys_done, m.keys,
						date_trunc('second', m.time_left)) END;
		EXECUTE format('UPDATE %s SET told = clock_timestamp()', state_table);
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION roaring64_migrate_step(regclass, name, name[], name, json, name, text, integer, text) IS
'a step of a migration';

CREATE PROCEDURE roaring64_migrate(source regclass, target name,
								   key_columns name[] DEFAULT NULL,
								   id_column name DEFAULT NULL,
								   sets json DEFAULT NULL,
								   period_column name DEFAULT NULL,
								   period text DEFAULT NULL,
								   batch_rows integer DEFAULT NULL,
								   dry_run boolean DEFAULT false,
								   path text DEFAULT current_setting('search_path'))
LANGUAGE plpgsql
AS $$
DECLARE
	ext pg_catalog.name := (SELECT nspname FROM pg_catalog.pg_extension
				 JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) extnamespace
				 WHERE extname OPERATOR(pg_catalog.=) 'roaring64');
	patient pg_catalog.bool;
	state pg_catalog.text;
BEGIN
	IF dry_run THEN
		EXECUTE pg_catalog.format('SELECT %I.roaring64_migrate_tell($1, $2, $3, $4, $5, $6, $7, $8, true)', ext)
		USING source, target, key_columns, id_column, sets, period_column, period, path;
		RETURN;
	END IF;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		patient := pg_catalog.current_setting('lock_timeout') OPERATOR(pg_catalog.=) '0';
		BEGIN
			EXECUTE pg_catalog.format('SELECT %I.roaring64_migrate_step($1, $2, $3, $4, $5, $6, $7, $8, $9)', ext)
			INTO state
			USING source, target, key_columns, id_column, sets, period_column, period, batch_rows, path;
		EXCEPTION
			WHEN lock_not_available THEN
				IF NOT patient THEN
					RAISE;
				END IF;
				state := 'busy';
			WHEN deadlock_detected THEN
				state := 'busy';
		END;
		EXIT WHEN state OPERATOR(pg_catalog.=) 'following';
		IF state OPERATOR(pg_catalog.=) 'busy' THEN
			COMMIT;
			PERFORM pg_catalog.pg_sleep(0.1);
		END IF;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE roaring64_migrate(regclass, name, name[], name, json, name, text, integer, boolean, text) IS
'copies a table with a row for every fact to one with sets, and keeps the sets in step';

CREATE FUNCTION roaring64_migrate_verify(target regclass,
										 OUT key jsonb, OUT set_name name,
										 OUT missing roaring64,
										 OUT surplus roaring64)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	target_name name := (SELECT relname FROM pg_class WHERE oid = target);
	state_table regclass;
	m record;
	source regclass;
	keys name[];
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	state_table := roaring64_migrate_state(target);
	EXECUTE format('SELECT * FROM %s', state_table) INTO STRICT m;
	IF m.state <> 'following' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('%I is not yet in step', target_name),
			HINT = format('CALL roaring64_migrate(%L, %L).', m.source, target_name);
	END IF;
	source := (
		SELECT oid::regclass FROM pg_class
		WHERE oid = ANY (roaring64_migrate_members(target, target_name)) AND NOT relispartition
		ORDER BY oid::regclass = to_regclass(m.source) DESC NULLS LAST LIMIT 1);
	IF source IS NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('%s has no triggers that write to %I', m.source, target_name);
	END IF;
	keys := array_remove(m.key_columns || m.period_column, NULL);
	RETURN QUERY EXECUTE format(
		'SELECT jsonb_build_object(%s), s.name, roaring64_andnot(s.fact, s.held), roaring64_andnot(s.held, s.fact) '
		'FROM (SELECT %s, %s FROM (SELECT %s, %s, %s FROM (SELECT %s FROM %s AS %I) AS f GROUP BY %s '
		'UNION ALL SELECT %s, %s, %s FROM %s AS t) AS u GROUP BY %s) AS g, LATERAL (VALUES %s) AS s (name, fact, held) '
		'WHERE s.fact <> s.held ORDER BY %s',
		roaring64_migrate_list('%2$L, k%1$s', keys),
		roaring64_migrate_list('k%1$s', keys),
		roaring64_migrate_list('coalesce(roaring64_or_agg(f%1$s), ''{}'') AS f%1$s, '
							   'coalesce(roaring64_or_agg(t%1$s), ''{}'') AS t%1$s', m.set_names),
		roaring64_migrate_list('k%1$s', keys),
		roaring64_migrate_list('roaring64_agg(id) FILTER (WHERE c%1$s) AS f%1$s', m.set_names),
		roaring64_migrate_list('NULL AS t%1$s', m.set_names),
		roaring64_migrate_facts(source, m.key_columns, m.id_column, m.conditions, m.period_column, m.period),
		source, (SELECT relname FROM pg_class WHERE oid = source),
		roaring64_migrate_list('k%1$s', keys),
		roaring64_migrate_list('t.%2$I', keys),
		roaring64_migrate_list('NULL', m.set_names),
		roaring64_migrate_list('t.%2$I', m.set_names), target,
		roaring64_migrate_list('k%1$s', keys),
		roaring64_migrate_list('(%2$L::name, f%1$s, t%1$s)', m.set_names),
		roaring64_migrate_list('k%1$s', keys));
END
$$;
COMMENT ON FUNCTION roaring64_migrate_verify(regclass) IS
'sets in which a migration''s target differs from its source';

-- Removes the triggers, their function and the tables beside the target, and
-- the target.  Waits for the lock on the source no longer than the first step
-- does.  Returns false if it should be tried again.
CREATE FUNCTION roaring64_migrate_end(place regclass, target name,
									  with_target boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	members regclass[];
	other regclass;
	objects text[];
	member regclass;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	members := roaring64_migrate_members(place, target);
	objects := ARRAY(
		SELECT roaring64_migrate_object(place, target, suffix)
		FROM unnest(ARRAY['_keys', '_parts', '_tables', '_migration', '']) AS suffix
		WHERE with_target OR suffix <> '');
	SELECT oid::regclass INTO other
	FROM pg_class
	WHERE oid = ANY (members || ARRAY(SELECT to_regclass(o) FROM unnest(objects) AS o))
		AND NOT pg_has_role(relowner, 'USAGE')
	ORDER BY relname LIMIT 1;
	IF FOUND THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', other);
	END IF;
	BEGIN
		-- what is dropped, too, because somebody may be reading it
		PERFORM roaring64_migrate_lock(ARRAY(
			SELECT oid::regclass FROM pg_class
			WHERE oid = ANY (members || ARRAY(SELECT to_regclass(o) FROM unnest(objects) AS o))
			ORDER BY oid <> ALL (members), relispartition, oid), 'ACCESS EXCLUSIVE');
	EXCEPTION
		WHEN lock_not_available THEN
			IF current_setting('lock_timeout') <> '0' THEN
				RAISE;
			END IF;
			RETURN false;
		WHEN deadlock_detected THEN
			RETURN false;
	END;
	FOREACH member IN ARRAY members LOOP
		EXECUTE (SELECT string_agg(format('DROP TRIGGER %I ON %s;', tgname, member), '')
				 FROM pg_trigger
				 WHERE tgrelid = member AND tgname = ANY (ARRAY(
					 SELECT roaring64_migrate_name(target, suffix)
					 FROM unnest(ARRAY['_insert', '_update', '_delete', '_truncate', '_truncated']) AS suffix)));
	END LOOP;
	EXECUTE format('DROP FUNCTION IF EXISTS %s()', roaring64_migrate_object(place, target, '_follow'));
	EXECUTE (SELECT coalesce(string_agg(format('DROP TABLE %s;', o), ''), '') FROM unnest(objects) AS o
			 WHERE to_regclass(o) IS NOT NULL);
	RETURN true;
END
$$;
COMMENT ON FUNCTION roaring64_migrate_end(regclass, name, boolean) IS
'removes what a migration has created';

-- The state table of a migration, which the caller must own.
CREATE FUNCTION roaring64_migrate_state(target regclass)
RETURNS regclass
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	target_name name := (SELECT relname FROM pg_class WHERE oid = target);
	other name;
	state regclass;
BEGIN
	PERFORM set_config('search_path', format('pg_catalog, %s, pg_temp', extnamespace::regnamespace), true)
	FROM pg_extension WHERE extname = 'roaring64';
	state := to_regclass(roaring64_migrate_object(target, target_name, '_migration'));
	IF state IS NULL THEN
		RAISE undefined_object USING
			MESSAGE = format('there is no migration to %I', target_name),
			HINT = 'Start a migration with CALL roaring64_migrate(...).';
	END IF;
	SELECT relname INTO other FROM pg_class
	WHERE oid IN (target, state) AND NOT pg_has_role(relowner, 'USAGE');
	IF FOUND THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', other);
	END IF;
	RETURN state;
END
$$;
COMMENT ON FUNCTION roaring64_migrate_state(regclass) IS
'table with the state of a migration';

CREATE PROCEDURE roaring64_migrate_finish(target regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	ext pg_catalog.name := (SELECT nspname FROM pg_catalog.pg_extension
				 JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) extnamespace
				 WHERE extname OPERATOR(pg_catalog.=) 'roaring64');
	target_name pg_catalog.name := (SELECT relname FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) target);
	state_table pg_catalog.regclass;
	state pg_catalog.text;
	done pg_catalog.bool;
BEGIN
	EXECUTE pg_catalog.format('SELECT %I.roaring64_migrate_state($1)', ext) INTO state_table USING target;
	EXECUTE pg_catalog.format('SELECT state FROM %s', state_table) INTO STRICT state;
	IF state OPERATOR(pg_catalog.<>) 'following' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('%I is not yet in step', target_name),
			HINT = 'Call roaring64_migrate again, or cancel it with roaring64_migrate_cancel.';
	END IF;
	LOOP
		EXECUTE pg_catalog.format('SELECT %I.roaring64_migrate_end($1, $2, false)', ext) INTO done
		USING target, target_name;
		EXIT WHEN done;
		COMMIT;
		PERFORM pg_catalog.pg_sleep(0.1);
	END LOOP;
END
$$;
COMMENT ON PROCEDURE roaring64_migrate_finish(regclass) IS
'finishes a migration: removes its triggers and bookkeeping tables';

CREATE PROCEDURE roaring64_migrate_cancel(source regclass, target name)
LANGUAGE plpgsql
AS $$
DECLARE
	ext pg_catalog.name := (SELECT nspname FROM pg_catalog.pg_extension
				 JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) extnamespace
				 WHERE extname OPERATOR(pg_catalog.=) 'roaring64');
	state pg_catalog.text;
	done pg_catalog.bool;
BEGIN
	EXECUTE pg_catalog.format('SELECT %I.roaring64_migrate_object($1, $2, $3)', ext) INTO state
	USING source, target, '_migration';
	IF pg_catalog.to_regclass(state) IS NULL THEN
		RAISE undefined_object USING
			MESSAGE = pg_catalog.format('there is no migration of %s to %I', source, target);
	END IF;
	LOOP
		EXECUTE pg_catalog.format('SELECT %I.roaring64_migrate_end($1, $2, true)', ext) INTO done
		USING source, target;
		EXIT WHEN done;
		COMMIT;
		PERFORM pg_catalog.pg_sleep(0.1);
	END LOOP;
END
$$;
COMMENT ON PROCEDURE roaring64_migrate_cancel(regclass, name) IS
'cancels a migration: drops its target and everything else that it created';
