--
-- Rollups: sets that follow a table.  What users call.
--
-- A procedure with "SET search_path" cannot commit.  So procedures qualify all
-- names and leave the work to functions.
--

-- One step, in a transaction of its own.  Returns the new state, or "busy" if
-- it could not get a lock.
CREATE FUNCTION _roaring64_rollup_step(source regclass, target name, given jsonb, sets json, path text,
									   batch_rows integer)
RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
DECLARE
	state_table text := @extschema@._roaring64_rollup_object(source, target, '_rollup');
	owner oid;
	m record;
	result text;
BEGIN
	IF NOT @extschema@._roaring64_rollup_exists(source, target) THEN
		PERFORM @extschema@._roaring64_rollup_begin(source, target,
			@extschema@._roaring64_rollup_options(given), sets, path, batch_rows);
		RETURN 'copying';
	END IF;

	SELECT relowner INTO STRICT owner FROM pg_class WHERE oid = source;
	IF NOT pg_has_role(owner, 'USAGE')
		OR owner <> (SELECT relowner FROM pg_class WHERE oid = state_table::regclass) THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('must be owner of the rollup %I of %s', target, source);
	END IF;
	PERFORM set_config('role', pg_get_userbyid(owner)::text, true)
	WHERE pg_get_userbyid(owner) <> current_user;
	-- one step at a time, whoever takes it
	EXECUTE format('SELECT * FROM %s FOR UPDATE', state_table) INTO STRICT m;
	IF m.given || given <> m.given THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('the rollup %I was started with other arguments', target),
			DETAIL = format('They were %s.', m.given),
			HINT = format('Omit them to go on, or CALL roaring64_rollup_drop(%L) to start over.',
						  @extschema@._roaring64_rollup_object(source, target, ''));
	END IF;
	PERFORM @extschema@._roaring64_rollup_expect(@extschema@._roaring64_rollup_object(source, target, ''),
												 m.names || m.set_names);
	IF source <> ALL (@extschema@._roaring64_rollup_members(source, target)) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('%s has no triggers of the rollup %I', source, target),
			DETAIL = 'It is another table, or they were dropped.',
			HINT = format('CALL roaring64_rollup_drop(%L) and start over.',
						  @extschema@._roaring64_rollup_object(source, target, ''));
	END IF;

	-- new partitions
	PERFORM @extschema@._roaring64_rollup_attach(source, target);
	CASE m.state
		WHEN 'copying' THEN
			PERFORM @extschema@._roaring64_rollup_copy(source, target);
			result := 'copying';
		WHEN 'merging' THEN
			IF m.keys_done < m.keys THEN
				result := @extschema@._roaring64_rollup_merge(source, target);
			ELSE
				PERFORM @extschema@._roaring64_rollup_follow(source, target, false);
				EXECUTE 'DROP TABLE ' || @extschema@._roaring64_rollup_object(source, target, '_keys');
				EXECUTE 'ANALYZE ' || @extschema@._roaring64_rollup_object(source, target, '');
				EXECUTE format('UPDATE %s SET state = ''following'', changed = now(), time_left = NULL', state_table);
				RAISE NOTICE '% follows %: % rows copied', format('%I', target), source, m.rows_done;
				result := 'followed';
			END IF;
		WHEN 'following' THEN
			-- transactions that still use the former function of the triggers
			-- may need it, so it is emptied but not dropped
			BEGIN
				PERFORM set_config('lock_timeout', '100ms', true);
				EXECUTE 'TRUNCATE ' || @extschema@._roaring64_rollup_object(source, target, '_parts');
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
COMMENT ON FUNCTION _roaring64_rollup_step(regclass, name, jsonb, json, text, integer) IS 'a step of a rollup';

CREATE PROCEDURE roaring64_rollup(source regclass, target name,
								  key_columns name[] DEFAULT NULL,
								  id_column name DEFAULT NULL,
								  sets json DEFAULT NULL,
								  period_column name DEFAULT NULL,
								  period text DEFAULT NULL,
								  deferred boolean DEFAULT NULL,
								  deletes text DEFAULT NULL,
								  batch_rows integer DEFAULT NULL,
								  dry_run boolean DEFAULT false,
								  path text DEFAULT current_setting('search_path'))
LANGUAGE plpgsql
AS $$
DECLARE
	given pg_catalog.jsonb := pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
		'key_columns', key_columns, 'id_column', id_column, 'sets', sets::pg_catalog.jsonb,
		'period_column', period_column, 'period', period, 'deferred', deferred, 'deletes', deletes));
	patient pg_catalog.bool;
	state pg_catalog.text;
	tries pg_catalog.int4 := 0;
BEGIN
	IF dry_run OR NOT @extschema@._roaring64_rollup_exists(source, target) THEN
		PERFORM @extschema@._roaring64_rollup_tell(source, target, @extschema@._roaring64_rollup_options(given),
												   sets, path, dry_run);
		IF dry_run THEN
			RETURN;
		END IF;
	END IF;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		patient := pg_catalog.current_setting('lock_timeout') OPERATOR(pg_catalog.=) '0';
		BEGIN
			state := @extschema@._roaring64_rollup_step(source, target, given, sets, path, batch_rows);
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			IF SQLSTATE OPERATOR(pg_catalog.=) '55P03' AND NOT patient THEN
				RAISE;
			END IF;
			state := 'busy';
		END;
		EXIT WHEN state OPERATOR(pg_catalog.=) 'following';
		IF state OPERATOR(pg_catalog.=) 'busy' THEN
			tries := tries OPERATOR(pg_catalog.+) 1;
			COMMIT;
			PERFORM @extschema@._roaring64_rollup_wait(source, target, tries);
		ELSE
			tries := 0;
		END IF;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE roaring64_rollup(regclass, name, name[], name, json, name, text, boolean, text, integer, boolean, text) IS
'makes a table of sets that follows a table of rows, or goes on with it';

-- The state of a rollup, which the caller must own, and its pending blocks, or NULL.
CREATE FUNCTION _roaring64_rollup_pending(target regclass, OUT state text, OUT blocks bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	target_name name := (SELECT relname FROM pg_class WHERE oid = target);
	state_table regclass := to_regclass(@extschema@._roaring64_rollup_object(target, target_name, '_rollup'));
	other name;
BEGIN
	IF state_table IS NULL THEN
		RAISE undefined_object USING
			MESSAGE = format('there is no rollup %I', target_name),
			DETAIL = 'It was not made with roaring64_rollup, was detached, or has another name now.';
	END IF;
	SELECT relname INTO other FROM pg_class
	WHERE oid IN (target, state_table)
		AND NOT (pg_has_role(relowner, 'USAGE') AND relowner = (SELECT relowner FROM pg_class WHERE oid = target));
	IF FOUND THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', other);
	END IF;
	EXECUTE format('SELECT state, CASE WHEN deferred THEN pg_relation_size(to_regclass(%L)) / $1 END FROM %s',
				   @extschema@._roaring64_rollup_object(target, target_name, '_pending'), state_table)
	INTO STRICT state, blocks USING current_setting('block_size')::bigint;
	IF state <> 'following' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the rollup %I is not yet complete', target_name),
			HINT = 'Call roaring64_rollup again, or drop it with roaring64_rollup_drop.';
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_pending(regclass) IS 'blocks that are pending of a rollup';

CREATE PROCEDURE roaring64_rollup_fold(target regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	block pg_catalog.int8 := 0;
	blocks pg_catalog.int8 := (@extschema@._roaring64_rollup_pending(target)).blocks;
	step CONSTANT pg_catalog.int8 := 16384;
BEGIN
	WHILE block OPERATOR(pg_catalog.<) blocks LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		PERFORM @extschema@._roaring64_rollup_fold(target, block, step);
		block := block OPERATOR(pg_catalog.+) step;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_fold(regclass) IS
'merges what is pending of a deferred rollup into its sets';

CREATE FUNCTION roaring64_rollup_verify(target regclass, OUT key jsonb, OUT set_name name, OUT missing roaring64,
										OUT surplus roaring64)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	target_name name := (SELECT relname FROM pg_class WHERE oid = target);
	m record;
BEGIN
	PERFORM @extschema@._roaring64_rollup_pending(target);
	EXECUTE format('SELECT * FROM %s', @extschema@._roaring64_rollup_object(target, target_name, '_rollup')) INTO STRICT m;
	PERFORM @extschema@._roaring64_rollup_expect(@extschema@._roaring64_rollup_object(target, target_name, ''),
												 m.names || m.set_names);
	RETURN QUERY EXECUTE format(
		'SELECT jsonb_build_object(%1$s), s.name, %2$s.roaring64_andnot(s.fact, s.held), '
		'CASE WHEN %3$L THEN ''{}'' ELSE %2$s.roaring64_andnot(s.held, s.fact) END '
		'FROM (SELECT %4$s, %5$s FROM (SELECT %4$s, %6$s, %7$s FROM %8$s AS r GROUP BY %4$s '
		'UNION ALL SELECT %9$s, %10$s, %11$s FROM %12$s AS t) AS u GROUP BY %4$s) AS g, LATERAL (VALUES %13$s) AS s (name, fact, held) '
		'WHERE NOT %2$s.roaring64_is_empty(%2$s.roaring64_andnot(s.fact, s.held)) OR NOT %3$L '
		'AND s.fact OPERATOR(%2$s.<>) s.held ORDER BY %4$s',
		@extschema@._roaring64_rollup_list('%2$L, k%1$s', m.names), '@extschema@', m.deletes = 'keep',
		@extschema@._roaring64_rollup_list('k%1$s', m.names),
		@extschema@._roaring64_rollup_list('coalesce(%3$s.roaring64_or_agg(f%1$s), ''{}'') AS f%1$s, '
										   'coalesce(%3$s.roaring64_or_agg(t%1$s), ''{}'') AS t%1$s', m.set_names),
		@extschema@._roaring64_rollup_list('%3$s.roaring64_agg(id) FILTER (WHERE c%1$s) AS f%1$s', m.set_names),
		@extschema@._roaring64_rollup_list('NULL::%3$s.roaring64 AS t%1$s', m.set_names),
		@extschema@._roaring64_rollup_object(target, target_name, '_rows'),
		@extschema@._roaring64_rollup_list('t.%2$I', m.names),
		@extschema@._roaring64_rollup_list('NULL::%3$s.roaring64', m.set_names),
		@extschema@._roaring64_rollup_list('t.%2$I', m.set_names),
		@extschema@._roaring64_rollup_object(target, target_name, CASE WHEN m.deferred THEN '_now' ELSE '' END),
		@extschema@._roaring64_rollup_list('(%2$L::name, f%1$s, t%1$s)', m.set_names));
END
$$;
COMMENT ON FUNCTION roaring64_rollup_verify(regclass) IS
'sets of a rollup that differ from the rows of its source';

-- Stops a rollup: removes the triggers and what is beside the target, and the
-- target if so asked.  Waits for the lock on the source no longer than the first
-- step does.  Returns false if it should be tried again.
CREATE FUNCTION _roaring64_rollup_end(place regclass, target name, with_target boolean)
RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	target_table regclass := to_regclass(@extschema@._roaring64_rollup_object(place, target, ''));
	members regclass[] := @extschema@._roaring64_rollup_members(place, target);
	state_table text := @extschema@._roaring64_rollup_object(place, target, '_rollup');
	owner oid := (SELECT relowner FROM pg_class WHERE oid = to_regclass(state_table));
	made record;
	objects regclass[];
	other regclass;
BEGIN
	SELECT oid::regclass INTO other FROM pg_class
	WHERE oid = ANY (members || target_table || to_regclass(state_table)) AND NOT pg_has_role(relowner, 'USAGE')
	ORDER BY relname LIMIT 1;
	IF FOUND THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', other);
	END IF;
	EXECUTE format('SELECT state, deferred FROM %s', state_table) INTO STRICT made;
	-- others, which have such names, are not the rollup's
	objects := ARRAY(
		SELECT c.oid FROM unnest(ARRAY['_now', '_rows', '_keys', '_parts', '_pending', '_tables', '_rollup', '']) WITH ORDINALITY AS s (suffix, i)
			JOIN pg_class AS c ON c.oid = to_regclass(@extschema@._roaring64_rollup_object(place, target, suffix)) AND c.relowner = owner
		WHERE CASE suffix WHEN '' THEN with_target WHEN '_keys' THEN made.state = 'merging' ELSE made.deferred OR suffix NOT IN ('_now', '_pending') END
		ORDER BY i);
	-- what is dropped, too, because somebody may be reading it; the lock of a view
	-- needs its owner's rights, so a view waits until it is dropped
	PERFORM @extschema@._roaring64_rollup_lock(ARRAY(
		SELECT oid::regclass FROM pg_class
		WHERE oid = ANY (members || objects) AND relkind <> 'v'
		ORDER BY oid <> ALL (members), relispartition, oid), 'ACCESS EXCLUSIVE');
	IF made.deferred AND NOT with_target THEN
		-- what came since the last fold
		PERFORM @extschema@._roaring64_rollup_fold(target_table, 0, 4294967295);
	END IF;
	EXECUTE (SELECT coalesce(string_agg(format('DROP TRIGGER %I ON %s;', tgname, tgrelid::regclass), ''), '')
			 FROM pg_trigger
			 WHERE tgfoid = to_regprocedure(@extschema@._roaring64_rollup_object(place, target, '_follow') || '()'));
	EXECUTE (SELECT coalesce(string_agg(format('DROP FUNCTION %s;', oid::regprocedure), ''), '')
			 FROM pg_proc
			 WHERE pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = place) AND proowner = owner
				 AND (proname = @extschema@._roaring64_rollup_name(target, '_follow') AND pronargs = 0
					  OR proname = @extschema@._roaring64_rollup_name(target, '_facts') AND proargnames[1] = 'source_row'));
	EXECUTE format('DROP DOMAIN IF EXISTS %s', @extschema@._roaring64_rollup_object(place, target, '_row'));
	EXECUTE (SELECT coalesce(string_agg(format('DROP %s %s;', CASE relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END,
											   oid::regclass), '' ORDER BY array_position(objects, oid::regclass)), '')
			 FROM pg_class WHERE oid = ANY (objects));
	RETURN true;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
	IF SQLSTATE = '55P03' AND current_setting('lock_timeout') <> '0' THEN
		RAISE;
	END IF;
	RETURN false;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_end(regclass, name, boolean) IS 'removes what a rollup has created';

CREATE PROCEDURE roaring64_rollup_detach(target regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	target_name pg_catalog.name := (SELECT relname FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) target);
	tries pg_catalog.int4 := 0;
BEGIN
	PERFORM @extschema@._roaring64_rollup_pending(target);
	LOOP
		CALL @extschema@.roaring64_rollup_fold(target);
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		EXIT WHEN @extschema@._roaring64_rollup_end(target, target_name, false);
		tries := tries OPERATOR(pg_catalog.+) 1;
		COMMIT;
		PERFORM @extschema@._roaring64_rollup_wait(target, target_name, tries);
	END LOOP;
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_detach(regclass) IS
'ends a rollup and leaves its sets, which follow no longer';

CREATE PROCEDURE roaring64_rollup_drop(target text)
LANGUAGE plpgsql
AS $$
DECLARE
	parts pg_catalog.text[] := pg_catalog.parse_ident(target);
	target_name pg_catalog.name := parts[pg_catalog.cardinality(parts)];
	state pg_catalog.regclass;
	tries pg_catalog.int4 := 0;
BEGIN
	-- the target may be gone
	parts[pg_catalog.cardinality(parts)] := @extschema@._roaring64_rollup_name(target_name, '_rollup');
	state := pg_catalog.to_regclass((SELECT pg_catalog.string_agg(pg_catalog.quote_ident(p), '.')
									 FROM pg_catalog.unnest(parts) AS p));
	IF state IS NULL THEN
		RAISE undefined_object USING MESSAGE = pg_catalog.format('there is no rollup %s', target);
	END IF;
	LOOP
		EXIT WHEN @extschema@._roaring64_rollup_end(state, target_name, true);
		tries := tries OPERATOR(pg_catalog.+) 1;
		COMMIT;
		PERFORM @extschema@._roaring64_rollup_wait(state, target_name, tries);
	END LOOP;
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_drop(text) IS
'drops a rollup, its sets and everything else that it created';

-- The keys of which most elements are in a filter.  A set cannot have more in
-- the filter than it has elements.  So those in the n largest sets are counted
-- first, and then those in sets down to an eighth of their size, and so on, while
-- a set can have more than the least of the best.
CREATE FUNCTION roaring64_facets(target regclass, set_name name, filter roaring64, n integer DEFAULT 10,
								 OUT key jsonb, OUT count bigint)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 10000 ROWS 10
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
DECLARE
	keys text := (SELECT string_agg(format('%L, %I', attname, attname), ', ' ORDER BY attnum)
				  FROM pg_attribute
				  WHERE attrelid = target AND attnum > 0 AND NOT attisdropped
					  AND atttypid <> '@extschema@.roaring64'::regtype);
	size text := format('@extschema@.roaring64_cardinality(%I)', set_name);
	is_large boolean := (SELECT relkind = 'r' FROM pg_class WHERE oid = target);
	count_some text;
	at_least bigint;			-- elements of the sets that come next
	below bigint := 9223372036854775807;
	best jsonb[] := '{}';
	counts bigint[] := '{}';
BEGIN
	IF n IS NULL OR n < 1 THEN
		RAISE invalid_parameter_value USING MESSAGE = 'the number of facets must be positive';
	END IF;
	IF is_large THEN
		EXECUTE format('SELECT EXISTS (SELECT FROM %s OFFSET 4 * $1)', target) INTO is_large USING n::bigint;
	END IF;
	-- OFFSET 0, because the condition would count again
	count_some := format(
		'SELECT jsonb_build_object(%s) AS k, roaring64_count AS c FROM (SELECT *, @extschema@.roaring64_and_cardinality(%I, $1) '
		'AS roaring64_count FROM %s %s OFFSET 0) AS f WHERE roaring64_count > $2 ORDER BY c DESC LIMIT $3',
		keys, set_name, target, CASE WHEN is_large THEN format('WHERE %1$s >= $4 AND %1$s < $5', size) END);
	IF NOT is_large THEN
		RETURN QUERY EXECUTE count_some USING filter, 0, n;
		RETURN;
	END IF;
	count_some := format('SELECT array_agg(k), array_agg(c) FROM ((%s) UNION ALL SELECT * FROM unnest($6, $7) '
						 'ORDER BY c DESC LIMIT $3) AS b', count_some);
	EXECUTE format('SELECT %1$s FROM %2$s WHERE %1$s > 0 ORDER BY 1 DESC OFFSET $1 - 1 LIMIT 1', size, target)
		INTO at_least USING n;
	at_least := coalesce(at_least, 1);
	WHILE at_least < below LOOP
		EXECUTE count_some INTO best, counts
			USING filter, coalesce(counts[n], 0), n, at_least, below, best, counts;
		below := at_least;
		at_least := greatest(below / 8, coalesce(counts[n], 0) + 1);
	END LOOP;
	RETURN QUERY SELECT * FROM unnest(best, counts);
END
$$;
COMMENT ON FUNCTION roaring64_facets(regclass, name, roaring64, integer) IS
'keys of a table of sets with most elements in a filter';
