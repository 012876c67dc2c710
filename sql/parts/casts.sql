--
-- src/type/array.c: arrays
--

CREATE FUNCTION roaring64_from_array(bigint[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_array'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_array(bigint[]) IS
'set of the elements of an array';

-- functions of their own, since a cast accepts only the array type it is made
-- for
CREATE FUNCTION roaring64_from_integer_array(integer[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_array'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_integer_array(integer[]) IS
'set of the elements of an array';

CREATE FUNCTION roaring64_from_smallint_array(smallint[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_array'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_smallint_array(smallint[]) IS
'set of the elements of an array';

CREATE FUNCTION roaring64_to_array(roaring64)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_to_array'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_to_array(roaring64) IS
'the elements, ascending';

CREATE CAST (bigint[] AS roaring64)
WITH FUNCTION roaring64_from_array(bigint[]) AS ASSIGNMENT;
COMMENT ON CAST (bigint[] AS roaring64) IS
'set of the elements of an array';

CREATE CAST (integer[] AS roaring64)
WITH FUNCTION roaring64_from_integer_array(integer[]) AS ASSIGNMENT;
COMMENT ON CAST (integer[] AS roaring64) IS
'set of the elements of an array';

CREATE CAST (smallint[] AS roaring64)
WITH FUNCTION roaring64_from_smallint_array(smallint[]) AS ASSIGNMENT;
COMMENT ON CAST (smallint[] AS roaring64) IS
'set of the elements of an array';

CREATE CAST (roaring64 AS bigint[])
WITH FUNCTION roaring64_to_array(roaring64);
COMMENT ON CAST (roaring64 AS bigint[]) IS
'the elements, ascending';

--
-- src/type/int8range.c: ranges and multiranges
--

CREATE FUNCTION roaring64_from_range(int8range)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_range(int8range) IS
'set of all integers of a range';

CREATE FUNCTION roaring64_from_multirange(int8multirange)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_multirange'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_multirange(int8multirange) IS
'set of all integers of a multirange';

CREATE FUNCTION roaring64_to_multirange(roaring64)
RETURNS int8multirange
AS 'MODULE_PATHNAME', 'roaring64_to_multirange'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_to_multirange(roaring64) IS
'the elements as a multirange';

CREATE CAST (int8range AS roaring64)
WITH FUNCTION roaring64_from_range(int8range);
COMMENT ON CAST (int8range AS roaring64) IS
'set of all integers of a range';

CREATE CAST (int8multirange AS roaring64)
WITH FUNCTION roaring64_from_multirange(int8multirange);
COMMENT ON CAST (int8multirange AS roaring64) IS
'set of all integers of a multirange';

CREATE CAST (roaring64 AS int8multirange)
WITH FUNCTION roaring64_to_multirange(roaring64);
COMMENT ON CAST (roaring64 AS int8multirange) IS
'the elements as a multirange';
