--
-- Rollups: names, templates, and the condition of a set.
--
-- Beside the target, named after it and in its schema, there are:
--
--	  _rollup		one row: the arguments, the state and the statements
--	  _rows			a view of the source: key, id, and the sets of each row
--	  _facts()		the same of one row, as the domain _row, for the triggers
--	  _insert() ...	the functions of the triggers on the source: _update, _delete, _truncate
--	  _tables		the tables that are copied
--	  _pending		what the triggers append, until it is folded or, at commit, until all is copied
--	  _now			deferred: a view of the target with what is pending
--
-- Each has a comment that says so, by which it is found when the rollup ends.  The
-- view and the function of facts are parsed once.  So a literal in a condition means
-- what it meant to the session that gave it, and they follow the source and its
-- columns when these are renamed.  The rest are names.
--

-- The name, with its schema, of what belongs to a target: the schema is that of the
-- source or the target, which have one.  NULL for a name that no rollup can have.
CREATE FUNCTION _roaring64_rollup_object(place regclass, target text, suffix text)
RETURNS text LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 10
RETURN (SELECT format('%I.%I', n.nspname, target || suffix)
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.oid = place AND octet_length(target || suffix) < 64);
COMMENT ON FUNCTION _roaring64_rollup_object(regclass, text, text) IS 'name with schema of what belongs to a rollup';

-- Fills a template in one pass: what is filled in is not looked at again.
--
--	  {name}		the value of that name, of which there has to be one
--	  [x{n}, ...]	x1, x2: an entry for each set, with its number {n} and its name
--					{set}; or for each column of the key, if it says {k}, {column} ....
--					What stands before the dots, a comma, AND or OR, stands between.
CREATE FUNCTION _roaring64_rollup_fill(template text, names jsonb)
RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part text[];				-- text, and then a name, a list, or a bracket as it is
	result text := '';
BEGIN
	FOR part IN
		SELECT regexp_matches(template, '([^{[]*)(?:[{]([a-z_]+)[}]|[[]([^]]+ [.]{3})[]]|([{[])|$)', 'g')
	LOOP
		result := result || part[1] || CASE
			WHEN part[2] IS NOT NULL THEN names->>part[2]
			WHEN part[3] IS NOT NULL THEN (
				SELECT string_agg(@extschema@._roaring64_rollup_fill(l.entry, names || e.value),
								  l.joint || CASE WHEN l.entry ~ E'\n' THEN E'\n\t\t\t' ELSE ' ' END ORDER BY e.i)
				FROM (SELECT regexp_replace(part[3], '(,| AND| OR) [.]{3}$', ''),
						  substring(part[3] FROM '(,| AND| OR) [.]{3}$'),
						  CASE WHEN part[3] ~ '[{](k|column|[a-z]+_equal)[}]' THEN 'keys' ELSE 'sets' END) AS l (entry, joint, kind),
					jsonb_array_elements(names->l.kind) WITH ORDINALITY AS e (value, i))
			ELSE coalesce(part[4], '') END;
	END LOOP;
	IF result IS NULL THEN
		RAISE EXCEPTION 'a name has no value in the template %', template;
	END IF;
	RETURN result;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_fill(text, jsonb) IS 'SQL of a rollup: a template with the names filled in';

-- An index's condition, as text that depends on no setting.
CREATE FUNCTION _roaring64_rollup_deparse(probe oid)
RETURNS text LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO'
SET intervalstyle = 'postgres' SET extra_float_digits = 1
AS $$
	SELECT coalesce(nullif(pg_get_expr(indpred, indrelid), ''), 'true') FROM pg_index WHERE indexrelid = probe
$$;
COMMENT ON FUNCTION _roaring64_rollup_deparse(oid) IS 'condition of an index';

-- A condition in a form that means the same in every session.  It must be what
-- CREATE INDEX accepts: immutable, and about the row alone.  So an index is created
-- on an empty copy of the table, which has the same name, because the condition may
-- use that.  It is read with the caller's search_path and settings.
--
-- Before that, it must be one expression, and nothing of it is executed: it is
-- parsed in two kinds of brackets.  What closes one kind does not close the
-- other, so neither is closed by the condition.  The bodies of SQL functions are
-- strings, and are only parsed if a parameter is of any type.
CREATE FUNCTION _roaring64_rollup_condition(source regclass, id_column name, set_name text, condition text, path text)
RETURNS text LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
SET check_function_bodies = on
AS $$
DECLARE
	copy name := (SELECT relname FROM pg_class WHERE oid = source);
	body text;
	expression text;
	whole boolean;
	temporary text;
BEGIN
	FOREACH body IN ARRAY ARRAY[E'SELECT (%s\n)', E'SELECT ARRAY[%s\n]'] LOOP
		EXECUTE format('CREATE FUNCTION pg_temp._roaring64_probe(anyelement) RETURNS void LANGUAGE sql AS %L',
					   format(body, condition));
		DROP FUNCTION pg_temp._roaring64_probe(anyelement);
	END LOOP;
	EXECUTE format('CREATE TEMPORARY TABLE %I (LIKE %s INCLUDING GENERATED)',
				   copy, source);
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.format(E'CREATE INDEX ON pg_temp.%I (%I) WHERE (%s\n)',
							  copy, id_column, condition);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT @extschema@._roaring64_rollup_deparse(indexrelid), indpred::text ~ ':varattno 0 ', (
			SELECT min(o.identity) FROM pg_depend, pg_identify_object(refclassid, refobjid, 0) AS o
			WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid <> indrelid AND o.schema ~ '^pg_temp')
	INTO STRICT expression, whole, temporary
	FROM pg_index WHERE indrelid = format('pg_temp.%I', copy)::regclass;
	IF whole OR temporary IS NOT NULL THEN
		RAISE feature_not_supported USING MESSAGE = coalesce(
			temporary || ' ends with this session', 'it uses the row as a whole, not its columns');
	END IF;
	EXECUTE format('DROP TABLE pg_temp.%I', copy);
	RETURN expression;
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
COMMENT ON FUNCTION _roaring64_rollup_condition(regclass, name, text, text, text) IS 'condition of a set, deparsed';

-- The table that was given a rollup's triggers; its partitions have them from it.
CREATE FUNCTION _roaring64_rollup_source(place regclass, target text)
RETURNS regclass LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
RETURN (
	SELECT tgrelid::regclass FROM pg_trigger
	WHERE tgfoid = to_regprocedure(@extschema@._roaring64_rollup_object(place, target, '_insert') || '()')
		AND tgparentid = 0 LIMIT 1);
COMMENT ON FUNCTION _roaring64_rollup_source(regclass, text) IS 'source of a rollup';

-- Without the function, a table of the state's name is not ours, and a view is none.
CREATE FUNCTION _roaring64_rollup_exists(place regclass, target text)
RETURNS boolean LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100
RETURN EXISTS (SELECT FROM pg_class WHERE relkind = 'r'
			   AND oid = to_regclass(@extschema@._roaring64_rollup_object(place, target, '_rollup')))
	AND to_regprocedure(@extschema@._roaring64_rollup_object(place, target, '_insert') || '()') IS NOT NULL;
COMMENT ON FUNCTION _roaring64_rollup_exists(regclass, text) IS 'whether there is a rollup';

-- Arguments, with what holds where they were not given.
CREATE FUNCTION _roaring64_rollup_options(given jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN jsonb_build_object('deferred', false, 'deletes',
						  CASE WHEN (given->>'deferred')::boolean THEN 'refuse' ELSE 'follow' END)
	|| CASE WHEN given ? 'period_column' THEN '{"period": "month"}'::jsonb ELSE '{}' END || given;
COMMENT ON FUNCTION _roaring64_rollup_options(jsonb) IS 'arguments of a rollup, with the defaults';

-- The expression that gives the period of a time, in UTC: the first day of a day or of
-- something longer, or the start of what divides a day.  NULL if there is no such period.
CREATE FUNCTION _roaring64_rollup_period(period text, period_column name, type regtype)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE
	WHEN type <> ALL ('{date,timestamp,timestamptz}'::regtype[]) THEN NULL
	WHEN period IN ('day', 'week', 'month', 'quarter', 'year') THEN
		format('pg_catalog.date_trunc(%L, %I %s)::date', period, period_column,
			   CASE type WHEN 'timestamptz'::regtype THEN 'AT TIME ZONE ''UTC''' ELSE '::timestamp' END)
	WHEN period ~ '^([1-9][0-9]{0,4} )?(hour|minute|second)s?$' AND type <> 'date'::regtype THEN
		(SELECT format('pg_catalog.date_bin(%L, %I, %L::%s)', s || ' seconds', period_column, '2000-01-01 00:00+00', type)
		 FROM (SELECT coalesce(substring(period FROM '[0-9]+')::integer, 1) * CASE substring(period FROM 'hour|minute|second')
					WHEN 'hour' THEN 3600 WHEN 'minute' THEN 60 ELSE 1 END) AS p (s)
		 WHERE 86400 % s = 0)
	END;
COMMENT ON FUNCTION _roaring64_rollup_period(text, name, regtype) IS 'expression that gives the period of a time';
