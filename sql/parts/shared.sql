--
-- What roaring64_tables uses, too, as it does _roaring64_set_finalfn.  Each extension is
-- updated by itself, so a version of this one must serve those of the other.
--

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
	IF name IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'name must not be null';
	END IF;
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

-- A procedure that commits asks first, to say more than the server does.
CREATE FUNCTION _roaring64_can_commit()
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_can_commit'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1;
COMMENT ON FUNCTION _roaring64_can_commit() IS
'whether the calling procedure may commit';
