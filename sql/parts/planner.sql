--
-- src/planner/indexcond.c: used in plans only
--

CREATE FUNCTION roaring64_index_keys(roaring64)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_index_keys'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_index_keys(roaring64) IS
'the elements, as the keys of an index scan';

--
