--
-- src/aggregate/aggregates.c
--
-- The state is a roaring64, so that it can be sent to other workers and
-- servers.  NULL inputs are ignored.  Without input, sets are NULL and counts
-- are 0.
--

CREATE FUNCTION _roaring64_agg_transfn(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_agg_transfn(roaring64, bigint) IS
'aggregate transition function';

CREATE FUNCTION _roaring64_agg_array_transfn(roaring64, bigint[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_agg_array_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_agg_array_transfn(roaring64, bigint[]) IS
'aggregate transition function';

CREATE FUNCTION _roaring64_agg_range_transfn(roaring64, int8range)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_agg_range_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_agg_range_transfn(roaring64, int8range) IS
'aggregate transition function';

CREATE FUNCTION _roaring64_or_agg_transfn(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_or_agg_transfn(roaring64, roaring64) IS
'aggregate transition function';

CREATE FUNCTION _roaring64_and_agg_transfn(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_and_agg_transfn(roaring64, roaring64) IS
'aggregate transition function';

CREATE FUNCTION _roaring64_xor_agg_transfn(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_xor_agg_transfn(roaring64, roaring64) IS
'aggregate transition function';

CREATE FUNCTION _roaring64_set_finalfn(roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_set_finalfn'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_set_finalfn(roaring64) IS
'aggregate final function';

CREATE FUNCTION _roaring64_cardinality_finalfn(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality_finalfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION _roaring64_cardinality_finalfn(roaring64) IS
'aggregate final function';

--
-- src/aggregate/moving.c
--
-- A state in the frame of a window never leaves the process.
--

CREATE FUNCTION _roaring64_or_agg_moving_transfn(internal, roaring64)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_or_agg_moving_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_or_agg_moving_transfn(internal, roaring64) IS
'aggregate transition function of a moving frame';

CREATE FUNCTION _roaring64_and_agg_moving_transfn(internal, roaring64)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_and_agg_moving_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_and_agg_moving_transfn(internal, roaring64) IS
'aggregate transition function of a moving frame';

CREATE FUNCTION _roaring64_agg_moving_invfn(internal, roaring64)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_agg_moving_invfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_agg_moving_invfn(internal, roaring64) IS
'aggregate inverse transition function';

CREATE FUNCTION _roaring64_set_moving_finalfn(internal)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_set_moving_finalfn'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_set_moving_finalfn(internal) IS
'aggregate final function of a moving frame';

CREATE FUNCTION _roaring64_cardinality_moving_finalfn(internal)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality_moving_finalfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_cardinality_moving_finalfn(internal) IS
'aggregate final function of a moving frame';

--
-- The size of a state is the one that the server assumes for its own aggregates
-- that grow, such as array_agg.  By default it would assume a short string, and
-- build one hash table for many groups whose sets are far larger than the
-- caches.
--
CREATE AGGREGATE roaring64_agg(bigint) (
	SFUNC = _roaring64_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	COMBINEFUNC = _roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_agg(bigint) IS
'the set of the input values';

CREATE AGGREGATE roaring64_agg(bigint[]) (
	SFUNC = _roaring64_agg_array_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	COMBINEFUNC = _roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_agg(bigint[]) IS
'the set of all elements of the input arrays';

CREATE AGGREGATE roaring64_agg(int8range) (
	SFUNC = _roaring64_agg_range_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	COMBINEFUNC = _roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_agg(int8range) IS
'the set of all integers of the input ranges';

CREATE AGGREGATE roaring64_or_agg(roaring64) (
	SFUNC = _roaring64_or_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	COMBINEFUNC = _roaring64_or_agg_transfn,
	MSFUNC = _roaring64_or_agg_moving_transfn,
	MINVFUNC = _roaring64_agg_moving_invfn,
	MSTYPE = internal,
	MFINALFUNC = _roaring64_set_moving_finalfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_or_agg(roaring64) IS
'the union of the input sets';

CREATE AGGREGATE roaring64_and_agg(roaring64) (
	SFUNC = _roaring64_and_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	COMBINEFUNC = _roaring64_and_agg_transfn,
	MSFUNC = _roaring64_and_agg_moving_transfn,
	MINVFUNC = _roaring64_agg_moving_invfn,
	MSTYPE = internal,
	MFINALFUNC = _roaring64_set_moving_finalfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_and_agg(roaring64) IS
'the intersection of the input sets';

CREATE AGGREGATE roaring64_xor_agg(roaring64) (
	SFUNC = _roaring64_xor_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	COMBINEFUNC = _roaring64_xor_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_xor_agg(roaring64) IS
'the elements that are in an odd number of the input sets';

CREATE AGGREGATE roaring64_count_distinct(bigint) (
	SFUNC = _roaring64_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_cardinality_finalfn,
	COMBINEFUNC = _roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_count_distinct(bigint) IS
'number of distinct input values';

CREATE AGGREGATE roaring64_or_cardinality_agg(roaring64) (
	SFUNC = _roaring64_or_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_cardinality_finalfn,
	COMBINEFUNC = _roaring64_or_agg_transfn,
	MSFUNC = _roaring64_or_agg_moving_transfn,
	MINVFUNC = _roaring64_agg_moving_invfn,
	MSTYPE = internal,
	MFINALFUNC = _roaring64_cardinality_moving_finalfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_or_cardinality_agg(roaring64) IS
'number of elements in the union of the input sets';

CREATE AGGREGATE roaring64_and_cardinality_agg(roaring64) (
	SFUNC = _roaring64_and_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_cardinality_finalfn,
	COMBINEFUNC = _roaring64_and_agg_transfn,
	MSFUNC = _roaring64_and_agg_moving_transfn,
	MINVFUNC = _roaring64_agg_moving_invfn,
	MSTYPE = internal,
	MFINALFUNC = _roaring64_cardinality_moving_finalfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_and_cardinality_agg(roaring64) IS
'number of elements in the intersection of the input sets';

CREATE AGGREGATE roaring64_xor_cardinality_agg(roaring64) (
	SFUNC = _roaring64_xor_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_cardinality_finalfn,
	COMBINEFUNC = _roaring64_xor_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_xor_cardinality_agg(roaring64) IS
'number of elements that are in an odd number of the input sets';
