--
-- The list of all tables of helpers.
--

-- Whether the caller may read a table, and trusts the owners of it, of its partitions and of
-- their schemas.  A query of a table can execute what they have attached, if only to plan it:
-- functions of policies, and of conditions of indexes; and the owner of a schema can put
-- another table there.  A superuser, who can act as anybody, trusts superusers only.
CREATE FUNCTION _roaring64_may_look(named regclass)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE parts (oid) AS (
		SELECT named::oid UNION SELECT inhrelid FROM pg_inherits, parts WHERE inhparent = parts.oid)
	SELECT has_table_privilege(named, 'SELECT')
		AND bool_and((o.rolsuper OR NOT me.rolsuper AND pg_has_role(o.oid, 'USAGE'))
					 AND (s.rolsuper OR NOT me.rolsuper AND pg_has_role(s.oid, 'USAGE')))
	FROM parts, pg_class AS c, pg_namespace AS n, pg_database AS d, pg_roles AS o, pg_roles AS s, pg_roles AS me
	WHERE c.oid = parts.oid AND n.oid = c.relnamespace AND d.datname = current_database() AND o.oid = c.relowner
		AND s.oid = CASE n.nspowner WHEN 'pg_database_owner'::regrole THEN d.datdba ELSE n.nspowner END
		AND me.rolname = current_user
$$;
COMMENT ON FUNCTION _roaring64_may_look(regclass) IS
'whether the caller may read a table and trusts its owners';

-- Whether Citus has the rows of a table, on whichever node.
CREATE FUNCTION _roaring64_helpers_distributed(named regclass)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	distributed boolean := false;
BEGIN
	IF to_regclass('pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = $1)' INTO distributed USING named;
	END IF;
	RETURN distributed;
END $$;
COMMENT ON FUNCTION _roaring64_helpers_distributed(regclass) IS
'whether a table is distributed by Citus';

CREATE FUNCTION _roaring64_helpers_bytes(VARIADIC tables regclass[])
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part regclass;
	size bigint;
	bytes bigint;
BEGIN
	FOR part IN SELECT unnest(tables) UNION SELECT relid FROM unnest(tables) AS t (oid), pg_partition_tree(t.oid) LOOP
		EXECUTE format('SELECT %s($1)', CASE WHEN @extschema@._roaring64_helpers_distributed(part)
					   THEN 'citus_total_relation_size' ELSE 'pg_total_relation_size' END) INTO size USING part;
		bytes := coalesce(bytes + size, bytes, size);
	END LOOP;
	RETURN bytes;
END $$;
COMMENT ON FUNCTION _roaring64_helpers_bytes(regclass[]) IS
'bytes on disk of tables and their partitions';

-- The tables are recognised by their columns and constraints, so nothing has to be
-- kept in step with a rename, a dump or DROP TABLE.  A kind of table is a row of
-- VALUES: what it has; the query that gives the names of its other tables, which
-- are in its schema; and the query that gives what waits, and since when, in the
-- first of these or, if it has no others, in itself.
CREATE FUNCTION _roaring64_helpers_tables(OUT kind text, OUT name regclass, OUT schema regnamespace,
										 OUT others text, OUT waits text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH have (oid, features) AS (
		SELECT f.oid, array_agg(feature)
		FROM (SELECT attrelid, attname || ' ' || format_type(atttypid, NULL)
			FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped
			UNION ALL
			SELECT conrelid, 'constraint ' || conname FROM pg_constraint) AS f (oid, feature)
		GROUP BY f.oid)
	SELECT k.kind, c.oid::regclass, c.relnamespace::regnamespace, k.others, k.waits
	FROM (VALUES
		('dedup',
		 ARRAY['claims text', 'chunks text', 'windows text', 'id_type text'],
		 'SELECT ARRAY[claims, chunks, windows] FROM ONLY %s',
		 'SELECT count(*), min(claimed_at) FROM %s'),
		('delay',
		 ARRAY['bucket timestamp with time zone', 'group_id bigint', 'ids ' || '@extschema@.roaring64'::regtype,
			'constraint bucket_width'],
		 NULL,
		 'SELECT coalesce(sum(@extschema@.roaring64_cardinality(ids)), 0), min(bucket) FROM %s WHERE bucket <= now()'),
		('numbers',
		 ARRAY['key text', 'weight bigint', 'ids ' || '@extschema@.roaring64'::regtype],
		 NULL,
		 NULL),
		('dictionary',
		 ARRAY['code bigint', 'constraint codes_from_1'],
		 NULL,
		 NULL),
		-- the table that says how far it is, NAME_rollup; NAME is the second of the others
		('rollup',
		 ARRAY['given json', 'meaning text[]', 'copied jsonb'],
		 $q$SELECT ARRAY[(SELECT relname FROM pg_class AS p WHERE relnamespace = s.relnamespace AND relowner = s.relowner
						  AND relname = n || '_pending'), n]
			FROM pg_class AS s, regexp_replace(relname, '_rollup$', '') AS n WHERE oid = $1$q$,
		 'SELECT count(*), NULL FROM %s'))
		AS k (kind, features, others, waits)
		JOIN have AS h ON h.features @> k.features
		JOIN pg_class AS c ON c.oid = h.oid
	WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT pg_is_other_temp_schema(c.relnamespace)
	ORDER BY k.kind, c.oid::regclass::text
$$;
COMMENT ON FUNCTION _roaring64_helpers_tables() IS
'the tables of helpers, and how to look into them';

-- The caller names no table, so only those are looked into whose owner it trusts.
CREATE FUNCTION roaring64_helpers(OUT kind text, OUT name regclass, OUT size bigint,
								  OUT waiting bigint, OUT since timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET lock_timeout = '100ms'
AS $$
DECLARE
	made record;
	names text[];
	tables regclass[];
BEGIN
	FOR made IN SELECT * FROM @extschema@._roaring64_helpers_tables() LOOP
		kind := made.kind;
		name := made.name;
		size := NULL;
		waiting := NULL;
		since := NULL;
		-- one table that is not what it seems, or goes now, does not hide the others
		BEGIN
			names := '{}';
			-- of a rollup, that is a query of the catalog
			IF made.others IS NOT NULL AND (kind = 'rollup' OR @extschema@._roaring64_may_look(name)) THEN
				EXECUTE format(made.others, name) INTO STRICT names USING name;
			END IF;
			tables := ARRAY(SELECT to_regclass(made.schema || '.' || quote_ident(n))
							FROM unnest(names) WITH ORDINALITY AS t (n, i) ORDER BY i) || name;
			size := @extschema@._roaring64_helpers_bytes(VARIADIC tables);
			IF @extschema@._roaring64_may_look(name) AND @extschema@._roaring64_may_look(tables[1])
				AND made.waits IS NOT NULL THEN
				EXECUTE format(made.waits, tables[1]) INTO waiting, since;
			END IF;
			IF kind = 'rollup' THEN
				name := coalesce(tables[2], name);
			END IF;
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING 'could not look into "%": %', name, sqlerrm;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
COMMENT ON FUNCTION roaring64_helpers() IS
'all dedup sets, tables of delayed messages, tables of numbers, rollups and dictionaries, and what waits in them';
