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

-- The triggers of a rollup call this first.
CREATE FUNCTION _roaring64_own(fired regclass, whole text, schema name, target name, suffixes text[])
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_own'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 1;
COMMENT ON FUNCTION _roaring64_own(regclass, text, name, name, text[]) IS
'raises an error if what the triggers of a rollup name is not their owner''s';
