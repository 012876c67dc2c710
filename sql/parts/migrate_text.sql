--
-- The SQL that a migration executes: names, and lists of expressions.
--
-- Functions in PL/pgSQL that follow have search_path set to pg_catalog, and
-- begin by adding the extension's schema behind it, wherever that is.
--

-- The name of an object that belongs to a target, cut to make room for the
-- suffix.
CREATE FUNCTION roaring64_migrate_name(target name, suffix text)
RETURNS name
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN pg_catalog.left(target::text,
	(SELECT max(n)::integer FROM generate_series(0, length(target::text)) AS n
	 WHERE octet_length(left(target::text, n)) + octet_length(suffix) <= 63))
	|| suffix;
COMMENT ON FUNCTION roaring64_migrate_name(name, text) IS
'name of a relation that belongs to the target of a migration';

-- The same, qualified with the schema of a relation.
CREATE FUNCTION roaring64_migrate_object(place regclass, target name,
										 suffix text)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 10
RETURN (SELECT format('%I.%I', n.nspname,
					  roaring64_migrate_name(target, suffix))
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE c.oid = place);
COMMENT ON FUNCTION roaring64_migrate_object(regclass, name, text) IS
'name with schema of a relation that belongs to a migration';

-- A list with an entry for every name.  In the template %1$s is its number,
-- %2$I the name and %3$s the extra text.
CREATE FUNCTION roaring64_migrate_list(template text, names name[],
									   extra text DEFAULT '',
									   separator text DEFAULT ', ')
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN (SELECT string_agg(format(template, i, name, extra), separator ORDER BY i)
		FROM unnest(names) WITH ORDINALITY AS n (name, i));
COMMENT ON FUNCTION roaring64_migrate_list(text, name[], text, text) IS
'list of expressions, one for each name';

-- A period's first day.  A timestamptz is taken in UTC, so that no TimeZone
-- setting matters.
CREATE FUNCTION roaring64_migrate_period(source regclass, period_column name,
										 period text)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 10
RETURN (SELECT format('date_trunc(%L, %I %s)::date', period, attname,
					  CASE atttypid
						  WHEN 'timestamptz'::regtype
						  THEN 'AT TIME ZONE ''UTC'''
						  ELSE '::timestamp'
					  END)
		FROM pg_attribute
		WHERE attrelid = source AND attname = period_column);
COMMENT ON FUNCTION roaring64_migrate_period(regclass, name, text) IS
'expression for the first day of a period';

-- The expressions of a source's key, of which a period is the last.
CREATE FUNCTION roaring64_migrate_keys(source regclass, key_columns name[],
									   period_column name, period text)
RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 10
RETURN concat_ws(', ', roaring64_migrate_list('%2$I AS k%1$s', key_columns),
				 roaring64_migrate_period(source, period_column, period)
				 || format(' AS k%s', cardinality(key_columns) + 1));
COMMENT ON FUNCTION roaring64_migrate_keys(regclass, name[], name, text) IS
'expressions for the key of a migration''s target';

-- What a row of the source means: its key k1, k2 ..., its id, and whether the
-- id is in the sets, c1, c2 ....
CREATE FUNCTION roaring64_migrate_facts(source regclass, key_columns name[],
										id_column name, conditions text[],
										period_column name, period text)
RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 10
RETURN format('%s, %I::bigint AS id, %s',
			  roaring64_migrate_keys(source, key_columns, period_column, period),
			  id_column,
			  (SELECT string_agg(format('(%s) AS c%s', condition, i), ', ' ORDER BY i)
			   FROM unnest(conditions) WITH ORDINALITY AS c (condition, i)));
COMMENT ON FUNCTION roaring64_migrate_facts(regclass, name[], name, text[], name, text) IS
'expressions for the facts in a row of a migration''s source';

-- A condition as it is stored: names are qualified, so that it means the same
-- with any search_path.  It must be what CREATE INDEX accepts: immutable, and
-- about the row alone.  So an index is created on an empty copy of the table,
-- which has the same name, because the condition may use that.
CREATE FUNCTION roaring64_migrate_condition(source regclass, id_column name,
											condition text, path text,
											OUT expression text,
											OUT columns name[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO'
AS $$
DECLARE
	copy name := (SELECT relname FROM pg_class WHERE oid = source);
	probe oid;
BEGIN
	-- the name of a boolean column is quoted if necessary
	IF EXISTS (SELECT FROM pg_attribute
			   WHERE attrelid = source AND attname = condition::name
				   AND attnum > 0 AND atttypid = 'boolean'::regtype) THEN
		condition := quote_ident(condition);
	END IF;
	EXECUTE format('CREATE TEMPORARY TABLE %I (LIKE %s INCLUDING GENERATED)',
				   copy, source);
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.format('CREATE INDEX ON pg_temp.%I (%I) WHERE (%s)',
							  copy, id_column, condition);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT indexrelid, coalesce(nullif(pg_get_expr(indpred, indrelid), ''), 'true')
	INTO STRICT probe, expression
	FROM pg_index
	WHERE indrelid = format('pg_temp.%I', copy)::regclass;
	columns := ARRAY(
		SELECT attname
		FROM pg_depend JOIN pg_attribute
			ON attrelid = refobjid AND attnum = refobjsubid
		WHERE classid = 'pg_class'::regclass AND objid = probe
			AND refclassid = 'pg_class'::regclass AND refobjsubid > 0
			AND attname <> id_column);
	EXECUTE format('DROP TABLE pg_temp.%I', copy);
END
$$;
COMMENT ON FUNCTION roaring64_migrate_condition(regclass, name, text, text) IS
'condition of a set, in a form that does not depend on the search_path';

-- Whether there is at most one row for a key and an id.
CREATE FUNCTION roaring64_migrate_is_unique(source regclass, columns name[])
RETURNS boolean
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
RETURN EXISTS (
	SELECT FROM pg_index
	WHERE indrelid = source AND indisunique AND indimmediate AND indisvalid
		AND indpred IS NULL AND indexprs IS NULL
		AND NOT EXISTS (
			SELECT FROM pg_attribute
			WHERE attrelid = source AND attname <> ALL (columns)
				AND attnum = ANY ((indkey::smallint[])[0:indnkeyatts - 1])));
COMMENT ON FUNCTION roaring64_migrate_is_unique(regclass, name[]) IS
'whether a unique index allows one row for each key and id only';

-- The equality of each column of a primary key, as OPERATOR(schema.=).
CREATE FUNCTION roaring64_migrate_equal(target regclass)
RETURNS text[]
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
RETURN (
	SELECT array_agg(format('OPERATOR(%I.%s)', n.nspname, o.oprname) ORDER BY k.i)
	FROM pg_index AS x
		CROSS JOIN LATERAL unnest(x.indclass) WITH ORDINALITY AS k (opclass, i)
		JOIN pg_opclass AS c ON c.oid = k.opclass
		JOIN pg_amop AS a ON a.amopfamily = c.opcfamily AND a.amopstrategy = 3
			AND a.amoplefttype = c.opcintype AND a.amoprighttype = c.opcintype
		JOIN pg_operator AS o ON o.oid = a.amopopr
		JOIN pg_namespace AS n ON n.oid = o.oprnamespace
	WHERE x.indrelid = target AND x.indisprimary);
COMMENT ON FUNCTION roaring64_migrate_equal(regclass) IS
'equality operators of the columns of a primary key';

-- The tables that have a target's triggers.
CREATE FUNCTION roaring64_migrate_members(place regclass, target name)
RETURNS regclass[]
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
RETURN ARRAY(
	SELECT DISTINCT t.tgrelid::regclass
	FROM pg_proc AS p JOIN pg_trigger AS t ON t.tgfoid = p.oid
	WHERE p.proname = roaring64_migrate_name(target, '_follow') AND p.pronargs = 0
		AND p.pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = place)
	ORDER BY 1);
COMMENT ON FUNCTION roaring64_migrate_members(regclass, name) IS
'tables whose triggers write to the target of a migration';
