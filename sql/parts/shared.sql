--
-- What roaring64_tables uses, too, as it does _roaring64_set_finalfn.  Each extension is
-- updated by itself, so a version of this one must serve those of the other.
--

-- What has to be given is an error where it is NULL: not all functions can be strict,
-- lest a change that was never made look like one, so none is.
CREATE FUNCTION _roaring64_not_null(what text, nulls integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF nulls > 0 THEN
		RAISE null_value_not_allowed USING MESSAGE = format('%s must not be null', what);
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_not_null(text, integer) IS
'raises an error if something that must be given is NULL';

-- The name of a table to be created, as it is written in a statement.  The schema is
-- the caller's, which only a function without a search_path of its own knows.
CREATE FUNCTION _roaring64_new_table(name text, schema text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	parts text[];
BEGIN
	PERFORM @extschema@._roaring64_not_null('name', num_nulls(name));
	parts := parse_ident(name);
	IF cardinality(parts) > 2 THEN
		RAISE invalid_name USING
			MESSAGE = format('"%s" has more parts than a schema and a name', name),
			HINT = 'Put a name that contains dots in double quotes.';
	END IF;
	IF cardinality(parts) = 2 THEN
		schema := parts[1];
	ELSIF schema IS NULL THEN
		RAISE invalid_schema_name USING
			MESSAGE = format('no schema has been selected to create "%s" in', name),
			HINT = 'Name one, "schema.name", or set search_path to one that exists.';
	END IF;
	RETURN format('%I.%I', schema, parts[cardinality(parts)]);
END $$;
COMMENT ON FUNCTION _roaring64_new_table(text, text) IS
'the quoted name of a table to be created';

-- Fills a template in one pass: what is filled in is not looked at again.
--
--	  {name}					the value of that name in the object "names"
--	  [list: {a} = {b}, ...]	an entry for each object in the array of that name, whose
--								values go before those of "names".  What stands before the
--								dots, a comma, AND, OR, UNION ALL or none, stands between them.
--
-- A name that has no value is an error, and an empty list is nothing.
CREATE FUNCTION _roaring64_fill(template text, names jsonb)
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part text[];				-- text, and then a name, a list and its entry, or a bracket as it is
	result text := '';
BEGIN
	-- without a list, which takes several times as long
	IF template !~ '[[][a-z_]+: ' THEN
		SELECT CASE WHEN bool_and(value IS NOT NULL) THEN string_agg(value, '' ORDER BY i) END INTO result
		FROM (SELECT i, CASE
				  WHEN i > 1 AND p ~ '^[a-z_]+[}]' THEN (names->>split_part(p, '}', 1)) || substr(p, strpos(p, '}') + 1)
				  WHEN i > 1 THEN '{' || p ELSE p END AS value
			FROM unnest(string_to_array(template, '{')) WITH ORDINALITY AS u (p, i)) AS v;
		IF result IS NOT NULL OR template = '' THEN
			RETURN coalesce(result, '');
		END IF;
	END IF;
	result := '';
	FOR part IN
		SELECT regexp_matches(template, '([^{[]*)(?:[{]([a-z_]+)[}]|[[]([a-z_]+): ([^]]+) [.]{3}[]]|([{[])|$)', 'g')
	LOOP
		result := result || part[1] || CASE
			WHEN part[2] IS NOT NULL THEN names->>part[2]
			WHEN names ? part[3] THEN (
				SELECT coalesce(string_agg(@extschema@._roaring64_fill(l.entry, names || e.value), l.joint ORDER BY e.i), '')
				FROM (SELECT regexp_replace(part[4], '(,| AND| OR| UNION ALL)$', ''),
						  coalesce(substring(part[4] FROM '(,| AND| OR| UNION ALL)$'), '')
						  || CASE WHEN part[4] ~ E'\n' THEN E'\n\t\t\t' ELSE ' ' END) AS l (entry, joint),
					jsonb_array_elements(names->part[3]) WITH ORDINALITY AS e (value, i))
			WHEN part[3] IS NULL THEN coalesce(part[5], '') END;
	END LOOP;
	IF result IS NULL THEN
		RAISE EXCEPTION 'a name has no value in the template %', template;
	END IF;
	RETURN result;
END $$;
COMMENT ON FUNCTION _roaring64_fill(text, jsonb) IS
'a template with the names filled in';

-- Rows of children by inheritance would count as the table's own; partitions are none.  Not
-- in SQL, which each call would plan anew.
CREATE FUNCTION _roaring64_has_children(parent regclass)
RETURNS boolean
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED COST 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN EXISTS (SELECT FROM pg_inherits JOIN pg_class AS p ON p.oid = inhparent
				   WHERE inhparent = parent AND p.relkind = 'r');
END $$;
COMMENT ON FUNCTION _roaring64_has_children(regclass) IS
'whether a table has children by inheritance';

-- A procedure that commits calls this first, to say more than the server does.
CREATE FUNCTION _roaring64_can_commit(procedure text)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_can_commit'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1;
COMMENT ON FUNCTION _roaring64_can_commit(text) IS
'raises an error if the calling procedure cannot commit';
