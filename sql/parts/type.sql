--
-- The type.  Its payload is the portable 64-bit Roaring format; see
-- src/engine/r64.h.
--

CREATE TYPE roaring64;

--
-- src/type/io.c: text
--

CREATE FUNCTION roaring64_in(cstring)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_in(cstring) IS
'I/O';

-- STABLE: what it writes depends on roaring64.output_format
CREATE FUNCTION roaring64_out(roaring64)
RETURNS cstring
AS 'MODULE_PATHNAME', 'roaring64_out'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_out(roaring64) IS
'I/O';

--
-- src/type/bytes.c: bytes
--

CREATE FUNCTION roaring64_recv(internal)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_recv(internal) IS
'I/O';

CREATE FUNCTION roaring64_send(roaring64)
RETURNS bytea
AS 'byteasend'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_send(roaring64) IS
'I/O';

--
-- src/planner/: ANALYZE, estimators and support functions.  They come first
-- because other objects name them.
--

CREATE FUNCTION _roaring64_typanalyze(internal)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_typanalyze'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_typanalyze(internal) IS
'roaring64 typanalyze';

CREATE FUNCTION _roaring64_contsel(internal, oid, internal, integer)
RETURNS double precision
AS 'MODULE_PATHNAME', 'roaring64_contsel'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_contsel(internal, oid, internal, integer) IS
'restriction selectivity of containment and overlap';

CREATE FUNCTION _roaring64_contjoinsel(internal, oid, internal, smallint, internal)
RETURNS double precision
AS 'MODULE_PATHNAME', 'roaring64_contjoinsel'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_contjoinsel(internal, oid, internal, smallint, internal) IS
'join selectivity of containment and overlap';

CREATE FUNCTION _roaring64_test_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_test_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_test_support(internal) IS
'planner support: tests of sets';

CREATE FUNCTION _roaring64_setop_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_setop_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_setop_support(internal) IS
'planner support: set operations';

CREATE FUNCTION _roaring64_rows_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_rows_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_rows_support(internal) IS
'planner support: rows of elements';

CREATE TYPE roaring64 (
	INPUT = roaring64_in,
	OUTPUT = roaring64_out,
	RECEIVE = roaring64_recv,
	SEND = roaring64_send,
	ANALYZE = _roaring64_typanalyze,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = int4,
	STORAGE = extended,
	CATEGORY = 'U'
);
COMMENT ON TYPE roaring64 IS
'set of bigint, stored as a portable 64-bit Roaring bitmap';

CREATE FUNCTION roaring64_from_bytea(bytea)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_bytea'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_bytea(bytea) IS
'set from portable 64-bit Roaring bytes, which are validated';

CREATE FUNCTION roaring64_invalid_reason(bytea)
RETURNS text
AS 'MODULE_PATHNAME', 'roaring64_invalid_reason'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_invalid_reason(bytea) IS
'why bytes are not a portable 64-bit Roaring bitmap, NULL if they are';

-- explicit only, so that functions of bytea do not accept sets
CREATE CAST (roaring64 AS bytea)
WITHOUT FUNCTION;
COMMENT ON CAST (roaring64 AS bytea) IS
'the portable 64-bit Roaring bytes';

CREATE CAST (bytea AS roaring64)
WITH FUNCTION roaring64_from_bytea(bytea);
COMMENT ON CAST (bytea AS roaring64) IS
'set from portable 64-bit Roaring bytes, which are validated';

-- RFC 4648 without the line breaks of encode(), which strict decoders refuse
CREATE FUNCTION roaring64_to_base64(roaring64)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 100
RETURN replace(encode($1::bytea, 'base64'), E'\n', '');
COMMENT ON FUNCTION roaring64_to_base64(roaring64) IS
'the portable 64-bit Roaring bytes in base64, on one line';

CREATE FUNCTION roaring64_from_base64(text)
RETURNS roaring64
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 100
RETURN roaring64_from_bytea(decode($1, 'base64'));
COMMENT ON FUNCTION roaring64_from_base64(text) IS
'set from portable 64-bit Roaring bytes in base64, which are validated';
