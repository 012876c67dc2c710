--
-- Making a rollup.
--
-- First what prevents one though the server would make it: everything at once, each with a
-- remedy.  Before it is known that the caller owns the table, nothing is locked and nothing
-- is done to it.
--
CREATE FUNCTION _roaring64_rollup_check(source regclass, target name, given json)
RETURNS TABLE (reason text, remedy text) LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	c pg_class := (SELECT c FROM pg_class AS c WHERE oid = source);
	members oid[] := ARRAY(SELECT source::oid UNION SELECT relid::oid FROM pg_partition_tree(source));
	keys text[] := ARRAY(SELECT json_array_elements_text(given->'key_columns'));
	id_column text := given->>'id_column';
	period_column text := given->>'period_column';
	deletes text := given->>'deletes';
	set_names text[] := ARRAY(SELECT json_object_keys(given->'sets') WHERE json_typeof(given->'sets') = 'object');
BEGIN
	IF pg_has_role(c.relowner, 'USAGE') IS NOT TRUE THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('must be owner of table %s', coalesce(c.relname::text, source::text)),
			HINT = 'Call it as the owner of the table or as a member of that role.';
	END IF;
	RETURN QUERY SELECT v.reason, v.remedy
	FROM (VALUES
		(c.relkind NOT IN ('r', 'p'), 'it is not a table', 'Name the table that the rows are in.'),
		(c.relpersistence <> 'p', 'after a crash it would be empty, but the sets would not',
		 'Name a table that is neither temporary nor unlogged.'),
		(NOT has_database_privilege(current_database(), 'TEMPORARY')
		 OR NOT has_database_privilege(c.relowner, current_database(), 'TEMPORARY'),
		 'the owner of the table or you lack the privilege TEMPORARY, by which conditions are checked',
		 'GRANT TEMPORARY ON DATABASE ... to both.'),
		(to_regclass(format('pg_temp.%I', c.relname)) <> source, 'this session has a temporary table of the same name',
		 'Drop it, or use another session.'),
		(c.relispartition, 'it is a partition', 'Name the whole table.'),
		(NOT c.relispartition AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE source IN (inhrelid,
			inhparent)),
		 'it has parents or children by inheritance', 'Make it a partitioned table, or ALTER TABLE ... NO INHERIT.'),
		(EXISTS (SELECT FROM pg_class WHERE oid = ANY (members) AND relkind = 'f'), 'a partition is a foreign table',
		 'Detach it, or make the rollup on the server where its rows are.'),
		(EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = ANY (members)),
		 'a subscription writes to it, and triggers do not fire for that',
		 'Make the rollup on the publisher, and publish the target.'),
		((SELECT bool_or(@extschema@._roaring64_helpers_distributed(m::regclass)) FROM unnest(members) AS m),
		 'it is distributed by Citus, which does not fire the triggers',
		 'Fill the sets with INSERT ... SELECT ... GROUP BY ... ON CONFLICT (key) DO UPDATE SET s = t.s | excluded.s.'),
		(keys = '{}' AND period_column IS NULL OR array_position(keys, NULL) IS NOT NULL, 'there are no key columns',
		 'Name them: key_columns => ''{user_id}'', or a period column.'),
		(id_column IS NULL, 'there is no id column', 'Name it: id_column => ''message_id''.'),
		(period_column IS NULL AND given->>'period' IS NOT NULL, 'there is a period but no period column',
		 'Name it: period_column => ''created_at''.'),
		(deletes NOT IN ('follow', 'keep'), format('deletes cannot be %L', deletes), 'Use follow or keep.'),
		(set_names = '{}', 'there are no sets',
		 'Give each a name and a condition: sets => ''{"pushed": true, "read": "is_read"}''.'),
		((SELECT max(octet_length(n)) FROM unnest(set_names) AS n) > 63, 'the name of a set is too long',
		 'A name has at most 63 bytes.'),
		(octet_length(target) NOT BETWEEN 1 AND 54, format('the target cannot be called %L', target),
		 'A name has 1 to 54 bytes: what belongs to it has longer ones.'),
		(deletes = 'follow' AND c.relkind IN ('r', 'p') AND (SELECT count(*) FROM pg_attribute
			WHERE attrelid = source AND attname = ANY (keys || id_column)) = cardinality(keys) + 1
		 AND NOT @extschema@._roaring64_rollup_is_indexed(source, keys, id_column),
		 'to follow deletes, rows are looked up by key and id, and there is no index for that',
		 format('CREATE INDEX%s ON %s (%s%s%I); or use deletes => ''keep''.',
				CASE c.relkind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END, source,
				(SELECT string_agg(quote_ident(n) || ', ', '') FROM unnest(keys) AS n),
				(SELECT '(' || @extschema@._roaring64_rollup_period(given->>'period', attname,
					@extschema@._roaring64_dict_base_type(atttypid)) || '), '
				 FROM pg_attribute WHERE attrelid = source AND attname = period_column), coalesce(id_column, ''))))
		AS v (holds, reason, remedy) WHERE v.holds;
	RETURN QUERY SELECT format(v.reason, a.attname, format_type(a.atttypid, a.atttypmod)), v.remedy
	FROM pg_attribute AS a, LATERAL (VALUES
		(NOT attnotnull AND attname = ANY (keys || period_column)
		 AND current_setting('server_version_num')::integer < 150000,
		 'column %I may be null, and a unique index of PostgreSQL 14 takes nulls as different', 'Make it NOT NULL.'),
		(NOT attnotnull AND attname = ANY (keys)
		 AND (SELECT typtype FROM pg_type WHERE oid = @extschema@._roaring64_dict_base_type(atttypid)) = 'c',
		 'column %I is of type %s and may be null, which a row of nulls is not, though IS NULL says so',
			'Make it NOT NULL.'),
		(attname = id_column AND atttypid <> ALL ('{smallint,integer,bigint}'::regtype[]), 'column %I is of type %s',
		 'Ids must be smallint, integer or bigint. For another type, give each value a number: SELECT '
		 'roaring64_dict_create(...), and keep the number in a column of the table.'),
		(attname = period_column AND @extschema@._roaring64_rollup_period(
			given->>'period', attname, @extschema@._roaring64_dict_base_type(atttypid)) IS NULL,
		 format('column %%I of type %%s has no period %L', given->>'period'), 'Of a date, timestamp or timestamptz, use '
		 'day, week, month, quarter or year or, of a timestamp, what divides a day: hour, minute, ''15 minutes''.'),
		(attgenerated = 'v' AND attname = ANY (keys || id_column || period_column),
			'column %I is a virtual generated column',
		 'Triggers do not see it: make it STORED.'))
		AS v (holds, reason, remedy)
	WHERE a.attrelid = source AND a.attnum > 0 AND v.holds
	ORDER BY a.attnum;
	RETURN QUERY SELECT format('there is no column %I', n), format('The table has %s.', (
		SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = source AND attnum > 0 AND NOT attisdropped))
	FROM unnest(keys || id_column || period_column) AS n
	WHERE n <> ALL (ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = source AND attnum > 0)) ORDER BY n;
	RETURN QUERY SELECT format('the target would have two columns %I', n),
		'Name each column of the key, the period''s column and each set once.'
	FROM unnest(keys || period_column || set_names) AS n WHERE n IS NOT NULL GROUP BY n HAVING count(*) > 1 ORDER BY n;
	RETURN QUERY SELECT format('%s columns of the key may be null', count(*)),
		'At most three can be: make others NOT NULL.'
	FROM pg_attribute WHERE attrelid = source AND attname = ANY (keys || period_column)
		AND NOT attnotnull HAVING count(*) > 3;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_check(regclass, name, json) IS 'what prevents a rollup';

-- Whether rows of a key and an id are found by an index: one that begins with these columns, in
-- any order, or a unique one of the id.  Between them there may be an expression, such as that of
-- a period.
CREATE FUNCTION _roaring64_rollup_is_indexed(source regclass, keys text[], id_column text)
RETURNS boolean LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (
		SELECT FROM pg_index AS x JOIN pg_class AS c ON c.oid = indexrelid JOIN pg_am AS m ON m.oid = relam,
			LATERAL (SELECT array_agg(attname::text ORDER BY i) AS names
				FROM unnest(indkey::int2[]) WITH ORDINALITY AS k (attnum, i)
					JOIN pg_attribute AS a ON attrelid = indrelid AND a.attnum = k.attnum WHERE i <= indnkeyatts) AS n
		WHERE indrelid = source AND indisvalid AND indpred IS NULL AND amname = 'btree'
			AND (names[1 : cardinality(keys) + 1] @> (keys || id_column) OR indisunique AND names = ARRAY[id_column]))
$$;
COMMENT ON FUNCTION _roaring64_rollup_is_indexed(regclass, text[], text) IS 'whether an index finds key and id';

-- The operators that an expression uses and that are not built in: what IS DISTINCT FROM, NULLIF,
-- CASE and comparisons of rows found by search_path cannot be written with its schema.  A dump
-- writes the expression, and is restored with another search_path.
CREATE FUNCTION _roaring64_rollup_meaning(class regclass, object oid)
RETURNS text[] LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY(
		SELECT DISTINCT format('%s(%s,%s)', oprname, l.typname, r.typname) COLLATE "C"
		FROM pg_depend JOIN pg_operator AS o ON o.oid = refobjid
			LEFT JOIN pg_type AS l ON l.oid = oprleft JOIN pg_type AS r ON r.oid = oprright
		WHERE classid = class AND refclassid = 'pg_operator'::regclass AND objid = CASE class
			WHEN 'pg_rewrite'::regclass THEN (SELECT oid FROM pg_rewrite WHERE ev_class = object) ELSE object END
		ORDER BY 1)
$$;
COMMENT ON FUNCTION _roaring64_rollup_meaning(regclass, oid) IS 'operators that an expression uses';

-- Refuses a condition unless it is what CREATE INDEX accepts, immutable and about the row
-- alone, and returns its meaning.  So an index is created on an empty copy of the table, which has the
-- same name, because the condition may use that.  It is read with the caller's search_path.
--
-- Before that, it must be one expression, and nothing of it is executed: it is
-- parsed in two kinds of brackets.  What closes one kind does not close the
-- other, so neither is closed by the condition.  The bodies of SQL functions are
-- strings, and are only parsed if a parameter is of any type.
CREATE FUNCTION _roaring64_rollup_condition(source regclass, id_column name, set_name text, condition text, path text)
RETURNS text[] LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
SET check_function_bodies = on
AS $$
DECLARE
	copy text := (SELECT quote_ident(relname) FROM pg_class WHERE oid = source);
	body text;
	probe regclass;
	problem text;
	meaning text[];
BEGIN
	FOREACH body IN ARRAY ARRAY[E'SELECT (%s\n)', E'SELECT ARRAY[%s\n]'] LOOP
		EXECUTE format('CREATE FUNCTION pg_temp._roaring64_probe(anyelement) RETURNS void LANGUAGE sql AS %L',
					   format(body, condition));
		DROP FUNCTION pg_temp._roaring64_probe(anyelement);
	END LOOP;
	EXECUTE format('CREATE TEMPORARY TABLE %s (LIKE %s INCLUDING GENERATED)', copy, source);
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.format(E'CREATE INDEX ON pg_temp.%s (%I) WHERE (%s\n)', copy, id_column, condition);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT indexrelid, CASE WHEN indpred::text ~ ':varattno 0 ' THEN 'it uses the row as a whole, not its columns' ELSE (
			SELECT min(o.identity) || ' ends with this session' FROM pg_depend, pg_identify_object(refclassid, refobjid,
				0) AS o
			WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid <> indrelid AND o.schema ~ '^pg_temp') END
	INTO STRICT probe, problem
	FROM pg_index WHERE indrelid = ('pg_temp.' || copy)::regclass;
	IF problem IS NOT NULL THEN
		RAISE feature_not_supported USING MESSAGE = problem;
	END IF;
	meaning := @extschema@._roaring64_rollup_meaning('pg_class', probe);
	EXECUTE 'DROP TABLE pg_temp.' || copy;
	RETURN meaning;
EXCEPTION
	WHEN lock_not_available OR deadlock_detected OR serialization_failure OR read_only_sql_transaction
		OR insufficient_privilege THEN
		RAISE;
	WHEN OTHERS THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('set %I cannot have the condition %s: %s', set_name, condition, SQLERRM),
			HINT = 'A condition must be what CREATE INDEX accepts: immutable, and about the row alone.';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_condition(regclass, name, text, text, text) IS 'checks the condition of a set';

-- Creates what a row of the source means: as a view, its key k1, k2 ..., of which a period is the
-- last, its id, as it is and as a bigint, and whether it is in the sets c1, c2 ...; nothing if it
-- is in none.  And as a function of a row, through whose type, a domain, the planner sees, and
-- which nobody else's function matches better.  Both are parsed with the caller's
-- search_path, so that all else has its schema.
CREATE FUNCTION _roaring64_rollup_define(source regclass, names jsonb, given json, path text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
	keys text[] := ARRAY(SELECT quote_ident(k) FROM json_array_elements_text(given->'key_columns') AS k)
		|| ARRAY(SELECT @extschema@._roaring64_rollup_period(
					given->>'period', attname, @extschema@._roaring64_dict_base_type(atttypid))
				 FROM pg_attribute WHERE attrelid = source AND attname = given->>'period_column');
	conditions text[] := ARRAY(SELECT value || E'\n' FROM json_each_text(given->'sets'));
	facts text := format('SELECT %s, %I AS i, %2$I::bigint AS id, %s FROM ',
		(SELECT string_agg(format('%s AS k%s', e, i), ', ' ORDER BY i) FROM unnest(keys) WITH ORDINALITY AS k (e, i)),
		given->>'id_column',
		(SELECT string_agg(format('(%s) IS TRUE AS c%s', e, i), ', ' ORDER BY i) FROM unnest(conditions) WITH ORDINALITY
			AS c (e, i)));
	-- in this order, by which a row without an id tells as much of the conditions as any other
	in_a_set text := format(' WHERE CASE WHEN (%s) IS TRUE THEN %I IS NOT NULL ELSE false END',
							array_to_string(conditions, ') IS TRUE OR ('), given->>'id_column');
	fields text;
	alias text := (SELECT quote_ident(relname) FROM pg_class WHERE oid = source);
BEGIN
	EXECUTE @extschema@._roaring64_fill('CREATE DOMAIN {row} AS {source}; GRANT USAGE ON TYPE {row} TO PUBLIC', names);
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.concat('CREATE VIEW ', names OPERATOR(pg_catalog.->>) 'rows', ' AS ', facts,
		names OPERATOR(pg_catalog.->>) 'only', names OPERATOR(pg_catalog.->>) 'source', in_a_set);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	-- those columns that the view uses
	SELECT string_agg(DISTINCT format('(source_row::%s).%I AS %2$I', names->>'source', attname), ', ') INTO fields
	FROM pg_rewrite AS w JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = w.oid
		JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
	WHERE ev_class = (names->>'rows')::regclass AND refobjid = source AND attnum > 0;
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.format('CREATE FUNCTION %s(source_row %s) RETURNS SETOF %s LANGUAGE sql IMMUTABLE PARALLEL SAFE '
		'BEGIN ATOMIC %s(SELECT %s) AS %s%s; END',
		names OPERATOR(pg_catalog.->>) 'facts', names OPERATOR(pg_catalog.->>) 'row', names OPERATOR(pg_catalog.->>) 'rows',
		facts, fields, alias, in_a_set);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	EXECUTE @extschema@._roaring64_fill('GRANT EXECUTE ON FUNCTION {facts} TO PUBLIC', names);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_define(regclass, jsonb, json, text) IS 'creates what a row means';

-- Makes or replaces the functions of the triggers.  All names in those are qualified, so
-- search_path, which takes as long to set as a row to append, is set there only for what
-- others' operators, functions and types (from OID 16384 on), also those of elements, look up.
CREATE FUNCTION _roaring64_rollup_functions(names jsonb, replace text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ours oid[] := ARRAY[(names->>'row')::regtype, (SELECT typbasetype FROM pg_type WHERE oid = (names->>'row')::regtype),
						(SELECT reltype FROM pg_class WHERE oid = (names->>'rows')::regclass)];
	others boolean := EXISTS (
		SELECT FROM pg_depend LEFT JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
		WHERE objid IN (to_regprocedure(format('%s(%s)', names->>'facts', names->>'row')),
						(SELECT indexrelid FROM pg_index WHERE indrelid = to_regclass(names->>'pending')))
			AND (atttypid >= 16384 OR refclassid <> ALL ('{pg_class,pg_namespace,pg_collation}'::regclass[])
				 AND refobjid <> ALL (ours)));
	event text;
	rows record;
BEGIN
	IF (names->>'partitioned')::boolean THEN
		rows := ('{facts}(NEW::{source}::{row})'::text, '{facts}(OLD::{source}::{row})'::text);
	ELSE
		rows := ('(SELECT f.* FROM roaring64_new AS r, {facts}(ROW(r.*)::{row}) AS f)'::text,
				 '(SELECT f.* FROM roaring64_old AS r, {facts}(ROW(r.*)::{row}) AS f)'::text);
	END IF;
	-- the error of a writer shows the statement, and so the comment
	names := names || jsonb_build_object('renamed', CASE WHEN (names->>'partitioned')::boolean
		THEN ' /* was the table renamed? CALL roaring64_rollup_fold */' ELSE '' END,
		'replace', replace, 'settings', CASE WHEN others THEN 'SET search_path = pg_catalog, pg_temp' ELSE '' END,
		'new', @extschema@._roaring64_fill(rows.f1, names), 'old', @extschema@._roaring64_fill(rows.f2, names));
	FOREACH event IN ARRAY CASE WHEN (names->>'keeps')::boolean THEN '{insert,update}'
		ELSE '{insert,update,delete,truncate}' END::text[] LOOP
		names := names || jsonb_build_object('function', names->event, 'childless', CASE
			WHEN event = 'update' AND NOT (names->>'partitioned')::boolean
			THEN @extschema@._roaring64_rollup_text(names, 'childless') ELSE '' END);
		EXECUTE @extschema@._roaring64_rollup_text(names || jsonb_build_object('body', quote_literal(CASE event
			WHEN 'truncate' THEN @extschema@._roaring64_rollup_text(names, 'truncate')
			ELSE @extschema@._roaring64_rollup_text(names, 'changes=' || event || ' body') END)), 'append');
	END LOOP;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_functions(jsonb, text) IS 'creates the functions of a rollup''s triggers';

-- Creates the triggers.  A table without partitions has them for each statement, which read all its
-- rows at once, and one for each row, which never runs: with it, PostgreSQL refuses to make the
-- table a part or a child of another one, through which rows would come unseen.  A partitioned
-- table has them for each row: PostgreSQL itself gives these to all partitions, also to those
-- that come later, and takes them away from those that go.  All name the target in a condition
-- that is true, so that it is not dropped without them.
CREATE FUNCTION _roaring64_rollup_attach(names jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE (
		SELECT string_agg(@extschema@._roaring64_fill(
			'CREATE TRIGGER {trigger} {event} ON {source} {kind} WHEN ({condition}) EXECUTE FUNCTION {function}()',
			names || jsonb_build_object('trigger', quote_ident(names->>'name' || suffix), 'event', event,
				'kind', kind, 'function', names->func, 'condition', CASE suffix WHEN '_rollup' THEN 'false'
					ELSE (names->>'target_text') || '::pg_catalog.regclass IS NOT NULL' END)), '; ')
		FROM (VALUES
			('_insert', 'insert', 'AFTER INSERT', 'FOR EACH ROW', true, true),
			('_update', 'update', 'AFTER UPDATE', 'FOR EACH ROW', true, true),
			('_delete', 'delete', 'AFTER DELETE', 'FOR EACH ROW', true, false),
			('_rollup', 'insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS roaring64_new FOR EACH ROW', false, true),
			('_insert', 'insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS roaring64_new FOR EACH STATEMENT', false, true),
			('_update', 'update', 'AFTER UPDATE',
			 'REFERENCING OLD TABLE AS roaring64_old NEW TABLE AS roaring64_new FOR EACH STATEMENT', false, true),
			('_delete', 'delete', 'AFTER DELETE', 'REFERENCING OLD TABLE AS roaring64_old FOR EACH STATEMENT', false, false),
			('_truncate', 'truncate', 'BEFORE TRUNCATE', 'FOR EACH STATEMENT', NULL, false))
			AS t (suffix, func, event, kind, by_row, keeps)
		WHERE by_row IS DISTINCT FROM NOT (names->>'partitioned')::boolean AND (keeps OR NOT (names->>'keeps')::boolean));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_attach(jsonb) IS 'creates the triggers of a rollup';

-- The roles that may write to the source now, to a partition of it, or to a table from which a
-- foreign key cascades to it.
CREATE FUNCTION _roaring64_rollup_writers(source regclass)
RETURNS text LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE written (oid) AS (
		SELECT source::oid
		UNION SELECT k.oid FROM written AS w, LATERAL (
			SELECT inhrelid FROM pg_inherits WHERE inhparent = w.oid
			UNION ALL SELECT confrelid FROM pg_constraint
			WHERE contype = 'f' AND conrelid = w.oid AND ('{c,n,d}' && ARRAY[confdeltype, confupdtype])) AS k (oid))
	SELECT string_agg(DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, ', ')
	FROM written JOIN pg_class AS c USING (oid), LATERAL (
		SELECT relowner, 'INSERT' UNION ALL SELECT grantee, privilege_type FROM aclexplode(relacl)
		UNION ALL SELECT a.grantee, a.privilege_type FROM pg_attribute, aclexplode(attacl) AS a WHERE attrelid = c.oid)
			AS w (grantee, privilege)
	WHERE privilege IN ('INSERT', 'UPDATE', 'DELETE')
$$;
COMMENT ON FUNCTION _roaring64_rollup_writers(regclass) IS 'roles that may write to the source of a rollup';

-- Creates, as the source's owner, all that a rollup has, and tries it with a row: what cannot run
-- is refused while nothing is there.
CREATE FUNCTION _roaring64_rollup_make(source regclass, target text, given json, path text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
DECLARE
	words text[] := parse_ident(target);
	parts jsonb := @extschema@._roaring64_rollup_parts(words[1], words[2]);
	names jsonb;
	meant jsonb;
	made text[];
	differing text;
BEGIN
	-- one at a time, without a writer who notices
	EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', source);
	meant := (SELECT jsonb_object_agg(key, @extschema@._roaring64_rollup_condition(source, given->>'id_column', key,
		value, path))
			  FROM json_each_text(given->'sets'));
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = source AND pg_get_userbyid(relowner) <> current_user;
	names := @extschema@._roaring64_rollup_names(parts, source, given);
	PERFORM @extschema@._roaring64_rollup_define(source, names, given, path);
	made := @extschema@._roaring64_rollup_meaning('pg_rewrite', (names->>'rows')::regclass);
	differing := (SELECT string_agg(quote_ident(key), ', ') FROM jsonb_each(meant) WHERE NOT to_jsonb(made) @> value);
	IF differing IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('the condition of %s would mean something else',
			differing);
	END IF;
	EXECUTE @extschema@._roaring64_rollup_text(names, 'tables');
	EXECUTE @extschema@._roaring64_rollup_text(names, CASE WHEN names->'keys' @> '[{"null": "DROP"}]' THEN 'null_key'
		ELSE 'key' END);
	EXECUTE format('INSERT INTO %s VALUES ($1, $2)', names->>'rollup') USING made, given;
	names := @extschema@._roaring64_rollup_names(parts, source, given);
	EXECUTE (SELECT string_agg(@extschema@._roaring64_rollup_statement(part, names), ';' ORDER BY i)
			 FROM unnest('{now,fold,copy,differs}'::text[]) WITH ORDINALITY AS p (part, i));
	PERFORM @extschema@._roaring64_rollup_functions(names, '');
	BEGIN
		EXECUTE @extschema@._roaring64_fill('SELECT count(f.*)
			FROM (SELECT ROW(s.*)::{row} FROM (SELECT * FROM {only}{source} LIMIT 1) AS s '
			'UNION ALL SELECT NULL) AS r (row), {facts}(r.row) AS f', names);
	EXCEPTION WHEN OTHERS THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('cannot make a rollup of %s: a condition fails with "%s"', source, SQLERRM),
			HINT = 'Conditions are evaluated with search_path = pg_catalog, pg_temp.';
	END;
	PERFORM @extschema@._roaring64_rollup_attach(names);
	EXECUTE format('GRANT INSERT ON %s TO %s', names->>'pending', @extschema@._roaring64_rollup_writers(source));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_make(regclass, text, json, text) IS 'creates what a rollup has';
