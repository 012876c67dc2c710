--
-- src/index/gin.c: the GIN operator class.  GIN
-- has one of each function for all operators.  Whatever their declarations say,
-- a query has the type of its operator's right argument.
--

CREATE FUNCTION _roaring64_gin_options(internal)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_gin_options'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_gin_options(internal) IS
'GIN support: options';

CREATE FUNCTION _roaring64_gin_extract_query(roaring64, internal, smallint,
											internal, internal, internal,
											internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_gin_extract_query'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_gin_extract_query(roaring64, internal, smallint,
												internal, internal, internal,
												internal) IS
'GIN support: the keys to search for';

CREATE FUNCTION _roaring64_gin_compare_partial(bigint, bigint, smallint,
											  internal)
RETURNS integer
AS 'MODULE_PATHNAME', 'roaring64_gin_compare_partial'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_gin_compare_partial(bigint, bigint, smallint, internal) IS
'GIN support: whether a key is in the range that is searched for';

CREATE FUNCTION _roaring64_gin_extract_value(roaring64, internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_gin_extract_value'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_gin_extract_value(roaring64, internal) IS
'GIN support: the keys of a value';

CREATE FUNCTION _roaring64_gin_triconsistent(internal, smallint, roaring64,
											integer, internal, internal,
											internal)
RETURNS "char"
AS 'MODULE_PATHNAME', 'roaring64_gin_triconsistent'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_gin_triconsistent(internal, smallint, roaring64,
												integer, internal, internal,
												internal) IS
'GIN support: whether a row matches if some keys are unknown';

CREATE OPERATOR CLASS gin_roaring64_ops
DEFAULT FOR TYPE roaring64 USING gin AS
	OPERATOR 1 @> (roaring64, roaring64),
	OPERATOR 2 @> (roaring64, bigint),
	OPERATOR 3 @> (roaring64, anyrange),
	OPERATOR 4 <@ (roaring64, roaring64),
	OPERATOR 5 <@ (roaring64, anyrange),
	OPERATOR 6 && (roaring64, roaring64),
	OPERATOR 7 && (roaring64, anyrange),
	OPERATOR 8 = (roaring64, roaring64),
	FUNCTION 1 btint8cmp(bigint, bigint),
	FUNCTION 2 _roaring64_gin_extract_value(roaring64, internal),
	FUNCTION 3 _roaring64_gin_extract_query(roaring64, internal, smallint, internal, internal, internal, internal),
	FUNCTION 5 _roaring64_gin_compare_partial(bigint, bigint, smallint, internal),
	FUNCTION 6 _roaring64_gin_triconsistent(internal, smallint, roaring64, integer, internal, internal, internal),
	FUNCTION 7 _roaring64_gin_options(internal),
	STORAGE bigint;
COMMENT ON OPERATOR CLASS gin_roaring64_ops USING gin IS
'containment, overlap and equality of sets, by element or container';
