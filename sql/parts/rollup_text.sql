--
-- Rollups: names, lists of expressions, and the condition of a set.
--
-- Beside the target, named after it and in its schema, there are:
--
--	  _rollup		one row: the arguments, the state and the progress
--	  _rows			a view of the source: key, id, and the sets of each row
--	  _facts()		the same of one row, as the domain _row, for the triggers
--	  _follow()		the function of the triggers on the source
--	  _tables		the tables to copy, by name, and their progress
--	  _parts		sets of what was copied, and of ids that left meanwhile
--	  _keys			the keys of the parts, numbered, while they are merged
--	  _pending		deferred: what the triggers append, until it is folded
--	  _now			deferred: a view of the target with what is pending
--
-- The view and the function of facts are parsed once.  So a literal in a
-- condition means what it meant to the session that gave it, and they follow
-- the source and its columns when these are renamed.  The rest are names.
--

-- The name of what belongs to a target, cut to make room for the suffix.
CREATE FUNCTION _roaring64_rollup_name(target name, suffix text)
RETURNS name LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN left(target::text,
	(SELECT max(n)::integer FROM generate_series(0, length(target::text)) AS n
	 WHERE octet_length(left(target::text, n)) + octet_length(suffix) <= 63))
	|| suffix;
COMMENT ON FUNCTION _roaring64_rollup_name(name, text) IS 'name of what belongs to a rollup';

-- The same, with the schema of the source or the target, which have one.
CREATE FUNCTION _roaring64_rollup_object(place regclass, target name, suffix text)
RETURNS text LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 10
RETURN (SELECT format('%I.%I', n.nspname,
					  @extschema@._roaring64_rollup_name(target, suffix))
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.oid = place);
COMMENT ON FUNCTION _roaring64_rollup_object(regclass, name, text) IS 'name with schema of what belongs to a rollup';

-- A list with an entry for every name.  In the template %1$s is its number,
-- %2$I the name and %3$s the extension's schema.
CREATE FUNCTION _roaring64_rollup_list(template text, names name[], separator text DEFAULT ', ',
									   ext text DEFAULT '@extschema@')
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN (SELECT string_agg(format(template, i, name, ext), separator ORDER BY i)
		FROM unnest(names) WITH ORDINALITY AS n (name, i));
COMMENT ON FUNCTION _roaring64_rollup_list(text, name[], text, text) IS 'list of expressions, one for each name';

-- That two rows have the same key; the state has a template for each column.
CREATE FUNCTION _roaring64_rollup_match(matches text[], names name[], one text, other text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN (SELECT string_agg(format(m, format(one, i, name), format(other, i, name)),
						  ' AND ' ORDER BY i)
		FROM unnest(matches, names) WITH ORDINALITY AS k (m, name, i));
COMMENT ON FUNCTION _roaring64_rollup_match(text[], name[], text, text) IS 'condition that two rows have the same key';

-- An index's condition, as text that depends on no setting, and its columns.
CREATE FUNCTION _roaring64_rollup_deparse(probe oid, id_column name, OUT expression text, OUT columns name[])
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO'
SET intervalstyle = 'postgres' SET extra_float_digits = 1
AS $$
SELECT coalesce(nullif(pg_get_expr(indpred, indrelid), ''), 'true'),
	ARRAY(SELECT attname
		  FROM pg_depend JOIN pg_attribute
			  ON attrelid = refobjid AND attnum = refobjsubid
		  WHERE classid = 'pg_class'::regclass AND objid = probe
			  AND refclassid = 'pg_class'::regclass AND refobjid = indrelid AND refobjsubid > 0
			  AND attname <> id_column)
FROM pg_index WHERE indexrelid = probe
$$;
COMMENT ON FUNCTION _roaring64_rollup_deparse(oid, name) IS 'condition of an index, and its columns';

-- A condition in a form that means the same in every session, and the columns
-- that it uses.  It must be what CREATE INDEX accepts: immutable, and about the
-- row alone.  So an index is created on an empty copy of the table, which has
-- the same name, because the condition may use that.  It is read with the
-- caller's search_path and settings.
--
-- Before that, it must be one expression, and nothing of it is executed: it is
-- parsed in two kinds of brackets.  What closes one kind does not close the
-- other, so neither is closed by the condition.  The bodies of SQL functions are
-- strings, and are only parsed if a parameter is of any type.
CREATE FUNCTION _roaring64_rollup_condition(source regclass, id_column name, condition text, path text,
											OUT expression text, OUT columns name[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
SET check_function_bodies = on
AS $$
DECLARE
	copy name := (SELECT relname FROM pg_class WHERE oid = source);
	body text;
	whole boolean;
BEGIN
	-- the name of a boolean column is quoted if necessary
	IF EXISTS (SELECT FROM pg_attribute
			   WHERE attrelid = source AND attname = condition::name
				   AND attnum > 0 AND atttypid = 'boolean'::regtype) THEN
		condition := quote_ident(condition);
	END IF;
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
	SELECT d.expression, d.columns, indpred::text ~ ':varattno 0 ' INTO STRICT expression, columns, whole
	FROM pg_index, @extschema@._roaring64_rollup_deparse(indexrelid, id_column) AS d
	WHERE indrelid = format('pg_temp.%I', copy)::regclass;
	IF whole THEN
		RAISE feature_not_supported USING MESSAGE = 'it uses the row as a whole, not its columns';
	END IF;
	EXECUTE format('DROP TABLE pg_temp.%I', copy);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_condition(regclass, name, text, text) IS
'condition of a set, in a form that means the same in every session';

-- The tables that have a target's triggers.
CREATE FUNCTION _roaring64_rollup_members(place regclass, target name)
RETURNS regclass[] LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
RETURN ARRAY(
	SELECT DISTINCT t.tgrelid::regclass
	FROM pg_proc AS p JOIN pg_trigger AS t ON t.tgfoid = p.oid
	WHERE p.proname = @extschema@._roaring64_rollup_name(target, '_follow') AND p.pronargs = 0
		AND p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = place)
	ORDER BY 1);
COMMENT ON FUNCTION _roaring64_rollup_members(regclass, name) IS 'tables whose triggers write to the target of a rollup';

-- The names of a table's columns, in their order.
CREATE FUNCTION _roaring64_rollup_columns(place regclass)
RETURNS name[] LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 10
RETURN ARRAY(SELECT attname FROM pg_attribute
			 WHERE attrelid = place AND attnum > 0 AND NOT attisdropped
			 ORDER BY attnum);
COMMENT ON FUNCTION _roaring64_rollup_columns(regclass) IS 'columns of a table, in their order';

-- Without the function, a table of the state's name is not ours.
CREATE FUNCTION _roaring64_rollup_exists(source regclass, target name)
RETURNS boolean LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100
RETURN to_regclass(@extschema@._roaring64_rollup_object(source, target, '_rollup')) IS NOT NULL
	AND to_regproc(@extschema@._roaring64_rollup_object(source, target, '_follow')) IS NOT NULL;
COMMENT ON FUNCTION _roaring64_rollup_exists(regclass, name) IS 'whether there is a rollup';

-- Arguments, with what holds where they were not given.
CREATE FUNCTION _roaring64_rollup_options(given jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN jsonb_build_object('deferred', false, 'deletes',
						  CASE WHEN (given->>'deferred')::boolean THEN 'refuse' ELSE 'follow' END)
	|| CASE WHEN given ? 'period_column' THEN '{"period": "month"}'::jsonb ELSE '{}' END
	|| given;
COMMENT ON FUNCTION _roaring64_rollup_options(jsonb) IS 'arguments of a rollup, with the defaults';
