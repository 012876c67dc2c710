--
-- Rollups: sets that follow a table.  What users call.
--
-- A procedure with "SET search_path" cannot commit.  So procedures qualify all
-- names and leave the work to functions.
--

-- What there is of a rollup: the names of its parts, its arguments, and its source; of those
-- partitions that have the triggers, what is new once rows have come or gone unseen, by
-- which a fold knows what it has not copied; and the state.
CREATE FUNCTION _roaring64_rollup_state(rollup regclass, OUT parts jsonb, OUT given json, OUT source regclass,
										OUT partitions jsonb, OUT copied jsonb, OUT state text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class := (SELECT c FROM pg_class AS c WHERE oid = rollup);
	other pg_class;
	members regclass[];
	meaning text[];
	disabled boolean;
	problem text;
BEGIN
	PERFORM @extschema@._roaring64_not_null('rollup', num_nulls(rollup));
	parts := @extschema@._roaring64_rollup_parts((SELECT nspname FROM pg_namespace WHERE oid = c.relnamespace),
		c.relname);
	members := ARRAY(SELECT to_regclass(parts->>m) FROM unnest('{rollup,pending,rows,now,differs}'::text[]) AS m);
	IF to_regprocedure((parts->>'fold') || '(tid,tid)') IS NULL OR (SELECT relkind FROM pg_class
		WHERE oid = members[1]) IS DISTINCT FROM 'r' THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a rollup', rollup),
			DETAIL = 'It was detached, has another name now, or never was one.',
			HINT = 'Create one with roaring64_rollup_create.';
	END IF;
	IF NOT pg_has_role(c.relowner, 'USAGE') THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', c.relname);
	END IF;
	SELECT relname, relowner INTO other.relname, other.relowner
	FROM (SELECT relname, relowner FROM pg_class WHERE oid = ANY (members)
		UNION ALL SELECT proname, proowner FROM (VALUES ('fold', '(tid,tid)'), ('copy', '()'), ('insert', '()'))
			AS f (part, arguments), pg_proc
		WHERE pg_proc.oid = to_regprocedure((parts->>part) || arguments)) AS o
	WHERE relowner <> c.relowner LIMIT 1;
	IF FOUND THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('%I belongs to %s, and %s to %s', other.relname, other.relowner::regrole, rollup,
				c.relowner::regrole);
	END IF;
	EXECUTE format('SELECT given, meaning, copied FROM %s', members[1]) INTO given, meaning, copied;
	source := (SELECT tgrelid FROM pg_trigger
			   WHERE tgfoid = to_regprocedure((parts->>'insert') || '()') AND tgparentid = 0 LIMIT 1);
	SELECT v.problem INTO problem FROM (VALUES
		(given IS NULL, format('the rollup %s has lost its row in %s', rollup, members[1])),
		(source IS NULL, format('the rollup %s has lost its triggers', rollup)),
		(array_position(members, NULL) IS NOT NULL, format('the rollup %s has lost a part', rollup)),
		(@extschema@._roaring64_has_children(source),
		 format('%s has children, whose rows the rollup %s does not follow', source, rollup)),
		((SELECT relforcerowsecurity FROM pg_class WHERE oid = source),
			format('%s has row security that holds for its owner', source)),
		(EXISTS (SELECT FROM pg_class WHERE oid = ANY (members || rollup || source) AND relpersistence = 'u'),
		 format('a table of the rollup %s is unlogged: after a crash it would be empty, but not the rest', rollup)),
		(meaning <> @extschema@._roaring64_rollup_meaning('pg_rewrite', members[3]),
		 format('the conditions of the rollup %s do not mean what they meant, %s: it was restored with another search_path',
				rollup, nullif(meaning, '{}'))))
		AS v (holds, problem) WHERE v.holds LIMIT 1;
	IF problem IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = problem,
			HINT = format('Mend that, or call roaring64_rollup_drop(%L).', parts->>'target');
	END IF;
	-- a partition that was detached and comes back has another trigger, and one that was
	-- truncated another file
	SELECT coalesce(jsonb_object_agg(t.tgrelid, jsonb_build_array(t.oid, CASE WHEN given->>'deletes' = 'follow'
		THEN relfilenode END))
			FILTER (WHERE relkind <> 'p' AND t.tgrelid <> source), '{}'), bool_or(t.tgenabled NOT IN ('O', 'A'))
	INTO partitions, disabled
	FROM pg_trigger AS t JOIN pg_class AS p ON p.oid = t.tgrelid
	WHERE t.tgfoid = to_regprocedure((parts->>'insert') || '()');
	disabled := disabled OR EXISTS (
		SELECT FROM pg_trigger WHERE tgenabled NOT IN ('O', 'A')
			AND tgfoid IN (SELECT to_regprocedure((parts->>f) || '()') FROM unnest('{update,delete}'::text[]) AS f));
	state := CASE WHEN copied IS NULL THEN 'copying' WHEN disabled THEN 'triggers disabled'
		WHEN partitions <> copied AND (given->>'deletes' = 'follow' OR NOT copied @> partitions)
			THEN 'partitions changed' ELSE 'following' END;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_state(regclass) IS 'what there is of a rollup';

-- Folds exclude each other, and so do the steps of making a rollup.  The role is that of the owner
-- until the transaction ends.
CREATE FUNCTION _roaring64_rollup_lock(rollup regclass)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE',
		(@extschema@._roaring64_rollup_state(rollup)).parts->>'rollup');
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = rollup AND pg_get_userbyid(relowner) <> current_user;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_lock(regclass) IS 'lock for a fold';

-- Merges some blocks of what is pending; a place is given in bytes.  Rows are sorted by key, so
-- memory is for one set, whatever their number.
CREATE FUNCTION _roaring64_rollup_fold(rollup regclass, done bigint, bytes bigint)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	block_size bigint := current_setting('block_size');
BEGIN
	PERFORM @extschema@._roaring64_rollup_lock(rollup);
	-- a statement of its own, whose snapshot is younger than the lock
	EXECUTE format('SELECT %s($1, $2)', (@extschema@._roaring64_rollup_state(rollup)).parts->>'fold')
	USING format('(%s,0)', done / block_size)::tid, format('(%s,0)', least((done + bytes) / block_size,
		4294967295))::tid;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_fold(regclass, bigint, bigint) IS 'merges some blocks of what is pending';

-- Brings to the sets, or to what is pending, what no trigger saw: the rows that were there before
-- the rollup, all at once; then those of a partition that has come with rows.  Where partitions
-- have gone whose rows should not stay, and after a restore or an upgrade, all sets are
-- compared with the rows.  Returns whether there was something to do.
CREATE FUNCTION _roaring64_rollup_catch_up(rollup regclass)
RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	m record;
	names jsonb;
	known jsonb;
	came regclass;
	keeps boolean;
BEGIN
	PERFORM @extschema@._roaring64_rollup_lock(rollup);
	m := @extschema@._roaring64_rollup_state(rollup);
	names := @extschema@._roaring64_rollup_names(m.parts, m.source, m.given);
	-- before the snapshot: an older one does not see the rows of a table that was rewritten
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', m.source);
	-- the functions of these triggers name the source, which may have another name now
	IF (names->>'partitioned')::boolean AND position(format('NEW::%s::', names->>'source') IN
		(SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure((names->>'insert') || '()'))) = 0 THEN
		PERFORM @extschema@._roaring64_rollup_functions(names, 'OR REPLACE');
	END IF;
	keeps := names->>'keeps';
	m := @extschema@._roaring64_rollup_state(rollup);
	IF m.state = 'copying' THEN
		EXECUTE format('SELECT %s()', names->>'copy');
		EXECUTE format('UPDATE %s SET copied = $1', names->>'rollup') USING m.partitions;
		EXECUTE 'ANALYZE ' || rollup;
		RAISE NOTICE '% follows %', rollup, m.source;
		RETURN true;
	ELSIF m.copied = m.partitions THEN
		RETURN false;
	END IF;
	known := (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(m.copied)
		WHERE m.partitions->key = value);
	IF known <> m.copied AND (NOT keeps OR known = '{}') THEN
		EXECUTE @extschema@._roaring64_rollup_text(names, 'repair');
		known := m.partitions;
	ELSE
		came := (SELECT key::oid FROM jsonb_each(m.partitions) WHERE NOT known ? key ORDER BY 1 LIMIT 1);
		IF (SELECT relkind FROM pg_class WHERE oid = came) = 'f' THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('partition %s is a foreign table, whose rows a rollup does not see', came), HINT = 'Detach it.';
		ELSIF came IS NOT NULL THEN
			EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', came);
			-- while that waited, it may have been detached
			IF (@extschema@._roaring64_rollup_state(rollup)).partitions->(came::oid::text) IS DISTINCT
				FROM m.partitions->(came::oid::text) THEN
				RETURN true;
			END IF;
			EXECUTE @extschema@._roaring64_fill('INSERT INTO {pending} ([columns: {c}, ...]) SELECT [columns: f.{c}, ...]
				FROM (SELECT {fields} FROM ONLY {came}) AS r,
					{facts}(ROW(r.*)::{row}) AS f', names || jsonb_build_object('came', came,
				-- in the order of the whole table
				'fields', (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
						   FROM pg_attribute WHERE attrelid = m.source AND attnum > 0 AND NOT attisdropped)));
			known := known || jsonb_build_object(came::oid::text, m.partitions->(came::oid::text));
		END IF;
	END IF;
	EXECUTE format('UPDATE %s SET copied = $1', names->>'rollup') USING known;
	RETURN true;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_catch_up(regclass) IS 'brings to a rollup what no trigger saw';

CREATE PROCEDURE roaring64_rollup_fold(rollup regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	step CONSTANT pg_catalog.int8 := 134217728;
	bytes pg_catalog.int8;
	done pg_catalog.int8;
BEGIN
	PERFORM @extschema@._roaring64_can_commit('roaring64_rollup_fold');
	LOOP
		-- first, as a partition that cannot be copied must not keep it
		bytes := (@extschema@.roaring64_rollup_stats(rollup)).pending_bytes;
		done := 0;
		WHILE done OPERATOR(pg_catalog.<) bytes LOOP
			COMMIT;
			SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			PERFORM @extschema@._roaring64_rollup_fold(rollup, done, step);
			done := done OPERATOR(pg_catalog.+) step;
		END LOOP;
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		EXIT WHEN NOT @extschema@._roaring64_rollup_catch_up(rollup);
	END LOOP;
	COMMIT;
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_fold(regclass) IS 'merges what is pending of a rollup into its sets';

-- The arguments of a rollup that goes on or, with the defaults, of one that is to be made; an error
-- if there is another one.
CREATE FUNCTION _roaring64_rollup_given(source regclass, target text, arguments json, OUT given json,
	OUT is_new boolean, OUT refused text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	words text[] := parse_ident(target);
	before record;
BEGIN
	IF json_typeof(arguments->'sets') = 'object' THEN
		PERFORM @extschema@._roaring64_not_null('the condition of a set', num_nulls(value))
		FROM json_each_text(arguments->'sets');
	END IF;
	given := json_strip_nulls(arguments);
	is_new := to_regclass(target) IS NULL OR to_regclass(@extschema@._roaring64_rollup_parts(words[1],
		words[2])->>'rollup') IS NULL;
	IF is_new THEN
		given := json_strip_nulls(json_build_object(
			'key_columns', given->'key_columns', 'id_column', given->'id_column', 'sets', given->'sets', 'period_column',
				given->'period_column',
			'period', coalesce(given->>'period', CASE WHEN given->>'period_column' IS NOT NULL THEN 'month' END),
			'deletes', coalesce(given->>'deletes', 'follow')));
		SELECT string_agg(format('- %s. %s', reason, remedy), E'\n') INTO refused
		FROM @extschema@._roaring64_rollup_check(source, words[2], given);
		RETURN;
	END IF;
	before := @extschema@._roaring64_rollup_state(target::regclass);
	IF before.source <> source THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the rollup %I is of another table, %s', words[2], before.source);
	ELSIF before.given::jsonb || given::jsonb <> before.given::jsonb THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('the rollup %I was started with other arguments', words[2]),
			DETAIL = format('They were %s.', before.given),
			HINT = format('Omit them to go on, or call roaring64_rollup_drop(%L) to start over.', target);
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_given(regclass, text, json) IS 'arguments of a rollup';

-- Makes it in a transaction of its own; a fold takes the other steps, also after a crash or an error.
CREATE PROCEDURE roaring64_rollup_create(source regclass, target text, key_columns name[] DEFAULT NULL,
										 id_column name DEFAULT NULL, sets json DEFAULT NULL,
										 period_column name DEFAULT NULL, period text DEFAULT NULL, deletes text DEFAULT NULL)
LANGUAGE plpgsql
AS $$
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	named pg_catalog.text;
	given pg_catalog.record;
BEGIN
	PERFORM @extschema@._roaring64_can_commit('roaring64_rollup_create');
	PERFORM @extschema@._roaring64_not_null('source and target', pg_catalog.num_nulls(source, target));
	named := @extschema@._roaring64_new_table(target, pg_catalog.current_schema()::pg_catalog.text);
	COMMIT;
	SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
	given := @extschema@._roaring64_rollup_given(source, named, pg_catalog.json_build_object('key_columns', key_columns,
		'id_column', id_column, 'sets', sets, 'period_column', period_column, 'period', period, 'deletes', deletes));
	IF given.refused IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot make a rollup of %s', source), DETAIL = given.refused;
	ELSIF given.is_new THEN
		PERFORM @extschema@._roaring64_rollup_make(source, named, given.given, path);
	END IF;
	COMMIT;
	CALL @extschema@.roaring64_rollup_fold(named::pg_catalog.regclass);
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_create(regclass, text, name[], name, json, name, text, text) IS
'makes a table of sets that follows a table of rows, or goes on with it';

CREATE FUNCTION roaring64_rollup_stats(rollup regclass, OUT source regclass, OUT state text, OUT deletes text,
	OUT pending_bytes bigint)
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.source, m.state, m.given->>'deletes', pg_relation_size(to_regclass(m.parts->>'pending'))
	FROM @extschema@._roaring64_rollup_state(rollup) AS m
$$;
COMMENT ON FUNCTION roaring64_rollup_stats(regclass) IS 'state of a rollup, and what is pending';

CREATE FUNCTION roaring64_rollup_verify(rollup regclass, OUT key jsonb, OUT set_name name, OUT missing roaring64,
										OUT surplus roaring64)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	m record := @extschema@._roaring64_rollup_state(rollup);
BEGIN
	IF m.state = 'copying' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the rollup %s is not yet complete', rollup), HINT = format('CALL roaring64_rollup_fold(%L).',
				rollup);
	END IF;
	RETURN QUERY EXECUTE format('SELECT key, set_name, missing, surplus FROM %s ORDER BY key::text, set_name',
		m.parts->>'differs');
END
$$;
COMMENT ON FUNCTION roaring64_rollup_verify(regclass) IS 'sets of a rollup that differ from the rows of its source';

CREATE FUNCTION roaring64_rollup_detach(rollup regclass)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	m record := @extschema@._roaring64_rollup_state(rollup);
	role_before text := current_setting('role');
BEGIN
	-- an old snapshot does not see all that is pending
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE invalid_transaction_state USING
			MESSAGE = 'roaring64_rollup_detach cannot be called in a transaction that is not READ COMMITTED';
	END IF;
	PERFORM @extschema@._roaring64_rollup_lock(rollup);
	EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', m.source);
	LOOP
		PERFORM @extschema@._roaring64_rollup_fold(rollup, 0, 1::bigint << 50);
		EXIT WHEN NOT @extschema@._roaring64_rollup_catch_up(rollup);
	END LOOP;
	EXECUTE @extschema@._roaring64_rollup_text(m.parts, 'end');
	PERFORM set_config('role', role_before, true) WHERE current_setting('role') <> role_before;
END
$$;
COMMENT ON FUNCTION roaring64_rollup_detach(regclass) IS 'ends a rollup and leaves its sets, which follow no longer';

-- The target may be gone, or the row, or the triggers: what is left is found by its name, and
-- dropped as the owner, who cannot drop what others own.  The target is dropped if the fold
-- writes to it, or else the table may be another one.
CREATE FUNCTION _roaring64_rollup_drop(rollup text, path name[])
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	words text[] := parse_ident(rollup);
	target text := words[cardinality(words)];
	place record;
	parts jsonb;
	source regclass;
	target_table regclass;
	role_before text := current_setting('role');
BEGIN
	PERFORM @extschema@._roaring64_not_null('rollup', num_nulls(rollup));
	SELECT n.oid, nspname, owner INTO place
	FROM (SELECT pronamespace, proowner FROM pg_proc
			WHERE proname = target || '_insert' AND prosrc ~ 'made by roaring64_rollup_create'
		UNION SELECT relnamespace, relowner FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
			WHERE relname = target || '_rollup' AND attname = 'meaning' AND atttypid = 'text[]'::regtype) AS o (schema, owner)
		JOIN pg_namespace AS n ON n.oid = schema
	WHERE nspname = ANY (CASE cardinality(words) WHEN 1 THEN path WHEN 2 THEN words[1:1] END)
	-- others may have one of this name in the same schema
	ORDER BY array_position(path, nspname), NOT pg_has_role(owner, 'USAGE') LIMIT 1;
	IF place IS NULL THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a rollup', target),
			DETAIL = 'It was detached, has another name now, or never was one.',
			HINT = 'Create one with roaring64_rollup_create.';
	ELSIF NOT pg_has_role(place.owner, 'USAGE') THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of rollup %s', target);
	END IF;
	parts := @extschema@._roaring64_rollup_parts(place.nspname, target);
	target_table := (SELECT oid FROM pg_class AS c
		WHERE relname = target AND relnamespace = place.oid AND relowner = place.owner AND EXISTS (
			SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND refclassid = 'pg_class'::regclass
				AND refobjid = c.oid AND objid = to_regprocedure((parts->>'fold') || '(tid,tid)')));
	-- with its partitions, before any of them is looked at
	source := (SELECT tgrelid FROM pg_trigger
		WHERE tgfoid = to_regprocedure((parts->>'insert') || '()') AND tgparentid = 0 LIMIT 1);
	EXECUTE coalesce('LOCK TABLE ' || source || ' IN ACCESS EXCLUSIVE MODE', '');
	PERFORM set_config('role', pg_get_userbyid(place.owner)::text, true)
	WHERE pg_get_userbyid(place.owner) <> current_user;
	EXECUTE @extschema@._roaring64_rollup_text(parts, 'end');
	EXECUTE coalesce('DROP TABLE ' || target_table, '');
	PERFORM set_config('role', role_before, true) WHERE current_setting('role') <> role_before;
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
