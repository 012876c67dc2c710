--
-- Rollups: sets that follow a table.  What users call.
--
-- A procedure with "SET search_path" cannot commit.  So procedures qualify all
-- names and leave the work to functions.
--

-- The row of a rollup's state: of a target, or of a name where a table is.  Its triggers are
-- still there, and the owner of that table, whom the caller can be, owns all.
CREATE FUNCTION _roaring64_rollup_state(place regclass, target text DEFAULT NULL, complete boolean DEFAULT false)
RETURNS jsonb LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	state regclass;
	source regclass;
	members regclass[];
	owner regrole := (SELECT relowner FROM pg_class WHERE oid = place);
	other pg_class;
	unlogged regclass;
	m jsonb;
	problem text;
BEGIN
	PERFORM @extschema@._roaring64_not_null('rollup', num_nulls(place));
	target := coalesce(target, (SELECT relname FROM pg_class WHERE oid = place));
	state := to_regclass(@extschema@._roaring64_rollup_object(place, target, '_rollup'));
	IF NOT @extschema@._roaring64_rollup_exists(place, target) THEN
		RAISE undefined_object USING MESSAGE = format('there is no rollup %s', coalesce(quote_ident(target), place::text)),
			DETAIL = 'It was not made with roaring64_rollup_create, was detached, or has another name now.';
	END IF;
	source := @extschema@._roaring64_rollup_source(place, target);
	members := ARRAY(SELECT to_regclass(@extschema@._roaring64_rollup_object(place, target, suffix))
					 FROM unnest('{"",_rollup,_pending,_rows,_tables}'::text[]) AS suffix) || source;
	SELECT * INTO other FROM pg_class
	WHERE oid = ANY (members || place) AND (relowner <> owner OR NOT pg_has_role(relowner, 'USAGE'))
	ORDER BY relowner = owner, oid = place DESC LIMIT 1;
	IF FOUND THEN
		RAISE insufficient_privilege USING MESSAGE = CASE other.relowner
			WHEN owner THEN format('must be owner of table %s', other.relname)
			ELSE format('%s belongs to %s, and %s to %s', other.oid::regclass, other.relowner::regrole, place, owner) END;
	END IF;
	EXECUTE format('SELECT to_jsonb(m) FROM %s AS m', state) INTO m;
	SELECT oid INTO unlogged FROM pg_class WHERE oid = ANY (members) AND relpersistence = 'u' LIMIT 1;
	SELECT v.problem INTO problem FROM (VALUES
		(m IS NULL, format('the rollup %I has lost its row in %s', target, state)),
		(source IS NULL, format('the rollup %I has lost its triggers', target)),
		(@extschema@._roaring64_has_children(source),
		 format('%s has children, whose rows the rollup %I does not follow', source, target)),
		(unlogged IS NOT NULL,
		 format('%s is unlogged: after a crash it would be empty, but not the rest of the rollup %I', unlogged, target)),
		(to_regclass(m->'names'->>'target') IS NULL OR to_regclass(m->'names'->>'state') IS DISTINCT FROM state,
		 format('the rollup %I is not there: it was renamed or moved', target)),
		(m->'names' @> '{"deferred": true}' AND owner <> (
			SELECT relowner FROM pg_class WHERE oid = to_regclass(m->'names'->>'now')), 'its view belongs to another role'),
		(complete AND m->>'state' <> 'following',
		 format('the rollup %I is not yet complete: call roaring64_rollup_create again', target)))
		AS v (holds, problem) WHERE v.holds LIMIT 1;
	IF problem IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = problem,
			HINT = format('Mend that, or call roaring64_rollup_drop(%L).',
						  @extschema@._roaring64_rollup_object(place, target, ''));
	END IF;
	RETURN m || jsonb_build_object('source', source::oid);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_state(regclass, text, boolean) IS 'row of a rollup''s state';

-- One step, in a transaction of its own.  Returns whether it was the last one.  What
-- belongs to the rollup is where the place is: the source may have moved since.  Without a
-- source, it does not begin one.
CREATE FUNCTION _roaring64_rollup_step(source regclass, place regclass, target name, given jsonb, sets json, path text)
RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
DECLARE
	m jsonb;
	is_last boolean := true;
BEGIN
	IF source IS NOT NULL AND NOT @extschema@._roaring64_rollup_exists(place, target) THEN
		PERFORM @extschema@._roaring64_rollup_begin(source, target, @extschema@._roaring64_rollup_options(given), sets, path);
		RETURN false;
	END IF;
	m := @extschema@._roaring64_rollup_state(place, target);
	IF source <> (m->>'source')::oid THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the rollup %I is of another table, %s', target, (m->>'source')::oid::regclass);
	END IF;
	source := (m->>'source')::oid;
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = source AND pg_get_userbyid(relowner) <> current_user;
	-- one step at a time, whoever takes it
	EXECUTE format('SELECT FROM %s FOR UPDATE', m->'names'->>'state');
	m := @extschema@._roaring64_rollup_state(place, target);
	IF (m->'given') || given <> m->'given' THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('the rollup %I was started with other arguments', target),
			DETAIL = format('They were %s.', m->'given'),
			HINT = format('Omit them to go on, or call roaring64_rollup_drop(%L) to start over.', m->'names'->>'target');
	END IF;
	-- only partitions come later
	IF m->>'state' = 'copying' OR (m->'names'->>'partitioned')::boolean THEN
		IF @extschema@._roaring64_rollup_copy(source, @extschema@._roaring64_rollup_renew(source, m)) THEN
			is_last := false;
		ELSIF m->>'state' = 'copying' THEN
			PERFORM @extschema@._roaring64_rollup_complete(source, place, m);
		END IF;
	END IF;
	RETURN is_last;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_step(regclass, regclass, name, jsonb, json, text) IS 'a step of a rollup';

-- Steps, each in a transaction, with which the owner's role ends, until the sets follow.
CREATE PROCEDURE _roaring64_rollup_run(source regclass, place regclass, target name, given jsonb, sets json, path text)
LANGUAGE plpgsql
AS $$
BEGIN
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		EXIT WHEN @extschema@._roaring64_rollup_step(source, place, target, given, sets, path);
	END LOOP;
	COMMIT;
END
$$;
COMMENT ON PROCEDURE _roaring64_rollup_run(regclass, regclass, name, jsonb, json, text) IS 'steps of a rollup';

CREATE PROCEDURE roaring64_rollup_create(source regclass, target name, key_columns name[] DEFAULT NULL,
										 id_column name DEFAULT NULL, sets json DEFAULT NULL,
										 period_column name DEFAULT NULL, period text DEFAULT NULL,
										 deferred boolean DEFAULT NULL, deletes text DEFAULT NULL)
LANGUAGE plpgsql
AS $$
DECLARE
	given pg_catalog.jsonb := pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
		'key_columns', key_columns, 'id_column', id_column, 'sets', sets::pg_catalog.jsonb,
		'period_column', period_column, 'period', period, 'deferred', deferred, 'deletes', deletes));
	path pg_catalog.text := pg_catalog.current_setting('search_path');
BEGIN
	PERFORM @extschema@._roaring64_can_commit('roaring64_rollup_create');
	PERFORM @extschema@._roaring64_not_null('source and target', pg_catalog.num_nulls(source, target));
	CALL @extschema@._roaring64_rollup_run(source, source, target, given, sets, path);
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_create(regclass, name, name[], name, json, name, text, boolean, text) IS
'makes a table of sets that follows a table of rows, or goes on with it';

CREATE PROCEDURE roaring64_rollup_fold(rollup regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	target CONSTANT pg_catalog.name := (SELECT relname FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) rollup);
	bytes CONSTANT pg_catalog.int8 := (@extschema@.roaring64_rollup_stats(rollup)).pending_bytes;
	step CONSTANT pg_catalog.int8 := 134217728;
	done pg_catalog.int8 := 0;
BEGIN
	PERFORM @extschema@._roaring64_can_commit('roaring64_rollup_fold');
	-- first, as a partition that cannot be copied must not keep it
	WHILE done OPERATOR(pg_catalog.<) bytes LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		PERFORM @extschema@._roaring64_rollup_fold(rollup, target, done, step);
		done := done OPERATOR(pg_catalog.+) step;
	END LOOP;
	-- partitions may have come
	CALL @extschema@._roaring64_rollup_run(NULL, rollup, target, '{}', NULL, NULL);
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_fold(regclass) IS 'merges what is pending of a deferred rollup into its sets';

CREATE FUNCTION roaring64_rollup_stats(rollup regclass, OUT source regclass, OUT state text, OUT deferred boolean,
									   OUT deletes text, OUT pending_bytes bigint)
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT (m->>'source')::oid::regclass, m->>'state', (n->'deferred')::boolean, n->>'deletes',
		CASE WHEN (n->'deferred')::boolean THEN pg_relation_size(to_regclass(n->>'pending')) END
	FROM @extschema@._roaring64_rollup_state(rollup) AS m, jsonb_extract_path(m, 'names') AS n
$$;
COMMENT ON FUNCTION roaring64_rollup_stats(regclass) IS 'state of a rollup, and what is pending';

CREATE FUNCTION roaring64_rollup_verify(rollup regclass, OUT key jsonb, OUT set_name name, OUT missing roaring64,
										OUT surplus roaring64)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
BEGIN
	RETURN QUERY EXECUTE @extschema@._roaring64_rollup_fill(@extschema@._roaring64_rollup_statement('verify'),
		@extschema@._roaring64_rollup_state(rollup, NULL, true)->'names');
END
$$;
COMMENT ON FUNCTION roaring64_rollup_verify(regclass) IS 'sets of a rollup that differ from the rows of its source';

-- Ends a rollup: drops the triggers and what is beside the target, which has a part's comment
-- and the owner of the part that says where it is: others can comment on tables of their own.
CREATE FUNCTION _roaring64_rollup_end(place regclass, target text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	drops text;
BEGIN
	-- with its partitions, before any of them is looked at
	EXECUTE coalesce('LOCK TABLE ' || @extschema@._roaring64_rollup_source(place, target)
					 || ' IN ACCESS EXCLUSIVE MODE', '');
	WITH parts AS (
		SELECT o.class, o.oid
		FROM pg_class AS p JOIN (
				SELECT 'pg_proc'::regclass AS class, oid, pronamespace AS schema, proowner AS owner FROM pg_proc UNION ALL
				SELECT 'pg_class', oid, relnamespace, relowner FROM pg_class UNION ALL
				SELECT 'pg_type', oid, typnamespace, typowner FROM pg_type) AS o ON o.schema = relnamespace AND o.owner = relowner
			JOIN pg_description AS d ON d.objoid = o.oid AND d.classoid = o.class AND d.objsubid = 0
		WHERE p.oid = place AND d.description = 'part of the rollup ' || target)
	SELECT string_agg(format('DROP %s %s;', i.type, i.identity), ' '
					  ORDER BY array_position('{trigger,function,view,type,table}', i.type), o.oid DESC) INTO drops
	FROM (TABLE parts UNION ALL
		SELECT 'pg_trigger', t.oid FROM parts AS p JOIN pg_trigger AS t ON t.tgfoid = p.oid AND t.tgparentid = 0
		WHERE p.class = 'pg_proc'::regclass) AS o (class, oid),
		LATERAL pg_identify_object(o.class, o.oid, 0) AS i;
	IF drops IS NULL THEN
		RAISE undefined_object USING
			MESSAGE = format('there is no rollup %I', target),
			DETAIL = 'It was not made with roaring64_rollup_create, was detached, or has another name now.';
	END IF;
	EXECUTE drops;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_end(regclass, text) IS 'removes what a rollup has created, but for the sets';

CREATE FUNCTION roaring64_rollup_detach(rollup regclass)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	target text := (SELECT relname FROM pg_class WHERE oid = rollup);
	m jsonb := @extschema@._roaring64_rollup_state(rollup, target, true);
	names jsonb;
	waiting regclass;
BEGIN
	-- an old snapshot does not see all that is pending
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE invalid_transaction_state USING
			MESSAGE = 'roaring64_rollup_detach cannot be called in a transaction that is not READ COMMITTED';
	END IF;
	EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', (m->>'source')::oid::regclass);
	-- meanwhile it may have been ended, or have got another partition
	names := @extschema@._roaring64_rollup_state(rollup, target, true)->'names';
	SELECT tab INTO waiting FROM @extschema@._roaring64_rollup_next(names) WHERE (names->'partitioned')::boolean;
	IF waiting IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the sets of %I do not have the rows of %s yet', target, waiting),
			HINT = format('CALL roaring64_rollup_fold(%L).', rollup);
	END IF;
	-- what came since the last fold
	PERFORM @extschema@._roaring64_rollup_fold(rollup, target, 0, 1::bigint << 50) WHERE (names->'deferred')::boolean;
	PERFORM @extschema@._roaring64_rollup_end(rollup, target);
END
$$;
COMMENT ON FUNCTION roaring64_rollup_detach(regclass) IS 'ends a rollup and leaves its sets, which follow no longer';

-- The target may be gone, or the state: what is left of the parts says where the rollup is.
-- The target is dropped if the triggers name it, or else the table may be another one.
CREATE FUNCTION _roaring64_rollup_drop(rollup text, path name[])
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	words text[] := parse_ident(rollup);
	target text := words[cardinality(words)];
	place regclass;
	target_table regclass;
BEGIN
	PERFORM @extschema@._roaring64_not_null('rollup', num_nulls(rollup));
	SELECT c.oid INTO place
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		JOIN pg_description AS d ON d.objoid = c.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0
	WHERE d.description = 'part of the rollup ' || target
		AND n.nspname = ANY (CASE cardinality(words) WHEN 1 THEN path WHEN 2 THEN words[1:1] END)
	-- others can comment on theirs
	ORDER BY array_position(path, n.nspname), NOT pg_has_role(c.relowner, 'USAGE'), c.relname <> target || '_rollup'
	LIMIT 1;
	SELECT c.oid INTO target_table
	FROM pg_class AS p JOIN pg_class AS c USING (relnamespace, relowner)
	WHERE p.oid = place AND c.relname = target AND EXISTS (
		SELECT FROM pg_depend JOIN pg_trigger AS t ON t.oid = objid
		WHERE classid = 'pg_trigger'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = c.oid
			AND t.tgfoid = to_regprocedure(@extschema@._roaring64_rollup_object(place, target, '_insert') || '()'));
	PERFORM @extschema@._roaring64_rollup_end(place, target);
	IF target_table IS NOT NULL THEN
		EXECUTE 'DROP TABLE ' || target_table;
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_drop(text, name[]) IS 'drops a rollup that is in one of some schemas';

-- Only a function without a search_path of its own knows the caller's.
CREATE FUNCTION roaring64_rollup_drop(rollup text)
RETURNS void LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 10000
RETURN @extschema@._roaring64_rollup_drop(rollup, current_schemas(true));
COMMENT ON FUNCTION roaring64_rollup_drop(text) IS 'drops a rollup, its sets and everything else that it created';

-- The keys of which most elements are in a filter.
CREATE FUNCTION roaring64_facets(source regclass, set_column name, filter roaring64, n bigint DEFAULT 10,
								 OUT key jsonb, OUT count bigint)
RETURNS SETOF record LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 10000 ROWS 10
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('table, column, filter and "n"', num_nulls(source, set_column, filter, n));
	-- OFFSET 0, because the condition would count again
	RETURN QUERY EXECUTE format(
		'SELECT (SELECT to_jsonb(k.*) FROM (SELECT %s) AS k), f.c FROM %s AS t CROSS JOIN LATERAL ('
		'SELECT @extschema@.roaring64_and_cardinality(t.%I, $1) AS c OFFSET 0) AS f WHERE f.c > 0 ORDER BY f.c DESC LIMIT $2',
		(SELECT string_agg('t.' || quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		 WHERE attrelid = source AND attnum > 0 AND NOT attisdropped
			AND @extschema@._roaring64_dict_base_type(atttypid) <> '@extschema@.roaring64'::regtype),
		source, set_column) USING filter, n;
END
$$;
COMMENT ON FUNCTION roaring64_facets(regclass, name, roaring64, bigint) IS
'keys of a table of sets with most elements in a filter';
