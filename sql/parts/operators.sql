--
-- src/type/operators.c: union, intersection, difference, symmetric difference
--

CREATE FUNCTION roaring64_or(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_or(roaring64, roaring64) IS
'union';

CREATE FUNCTION roaring64_or_element(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_or_element(roaring64, bigint) IS
'add an element';

CREATE FUNCTION roaring64_element_or(bigint, roaring64)
RETURNS roaring64
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 50
RETURN roaring64_or_element($2, $1);
COMMENT ON FUNCTION roaring64_element_or(bigint, roaring64) IS
'add an element';

CREATE FUNCTION roaring64_or_range(roaring64, anyrange)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_or_range(roaring64, anyrange) IS
'add all integers of a range';

CREATE FUNCTION roaring64_and(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_and(roaring64, roaring64) IS
'intersection';

CREATE FUNCTION roaring64_and_element(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_and_element(roaring64, bigint) IS
'the element as a set, if the set contains it';

CREATE FUNCTION roaring64_and_range(roaring64, anyrange)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_and_range(roaring64, anyrange) IS
'the elements in a range';

CREATE FUNCTION roaring64_andnot(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_andnot'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_andnot(roaring64, roaring64) IS
'difference';

CREATE FUNCTION roaring64_andnot_element(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_andnot_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_andnot_element(roaring64, bigint) IS
'remove an element';

CREATE FUNCTION roaring64_andnot_range(roaring64, anyrange)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_andnot_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_andnot_range(roaring64, anyrange) IS
'remove all integers of a range';

CREATE FUNCTION roaring64_xor(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_xor(roaring64, roaring64) IS
'symmetric difference';

CREATE FUNCTION roaring64_xor_element(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_xor_element(roaring64, bigint) IS
'add an element, or remove it if present';

CREATE FUNCTION roaring64_xor_range(roaring64, anyrange)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_setop_support;
COMMENT ON FUNCTION roaring64_xor_range(roaring64, anyrange) IS
'complement a range';

CREATE OPERATOR | (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_or,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (roaring64, roaring64) IS
'union';

CREATE OPERATOR | (
	LEFTARG = roaring64,
	RIGHTARG = bigint,
	FUNCTION = roaring64_or_element,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (roaring64, bigint) IS
'add an element';

CREATE OPERATOR | (
	LEFTARG = bigint,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_element_or,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (bigint, roaring64) IS
'add an element';

CREATE OPERATOR | (
	LEFTARG = roaring64,
	RIGHTARG = anyrange,
	FUNCTION = roaring64_or_range
);
COMMENT ON OPERATOR | (roaring64, anyrange) IS
'add all integers of a range';

CREATE OPERATOR & (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_and,
	COMMUTATOR = &
);
COMMENT ON OPERATOR & (roaring64, roaring64) IS
'intersection';

CREATE OPERATOR & (
	LEFTARG = roaring64,
	RIGHTARG = bigint,
	FUNCTION = roaring64_and_element
);
COMMENT ON OPERATOR & (roaring64, bigint) IS
'the element as a set, if the set contains it';

CREATE OPERATOR & (
	LEFTARG = roaring64,
	RIGHTARG = anyrange,
	FUNCTION = roaring64_and_range
);
COMMENT ON OPERATOR & (roaring64, anyrange) IS
'the elements in a range';

CREATE OPERATOR - (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_andnot
);
COMMENT ON OPERATOR - (roaring64, roaring64) IS
'difference';

CREATE OPERATOR - (
	LEFTARG = roaring64,
	RIGHTARG = bigint,
	FUNCTION = roaring64_andnot_element
);
COMMENT ON OPERATOR - (roaring64, bigint) IS
'remove an element';

CREATE OPERATOR - (
	LEFTARG = roaring64,
	RIGHTARG = anyrange,
	FUNCTION = roaring64_andnot_range
);
COMMENT ON OPERATOR - (roaring64, anyrange) IS
'remove all integers of a range';

CREATE OPERATOR # (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_xor,
	COMMUTATOR = #
);
COMMENT ON OPERATOR # (roaring64, roaring64) IS
'symmetric difference';

CREATE OPERATOR # (
	LEFTARG = roaring64,
	RIGHTARG = bigint,
	FUNCTION = roaring64_xor_element
);
COMMENT ON OPERATOR # (roaring64, bigint) IS
'add an element, or remove it if present';

CREATE OPERATOR # (
	LEFTARG = roaring64,
	RIGHTARG = anyrange,
	FUNCTION = roaring64_xor_range
);
COMMENT ON OPERATOR # (roaring64, anyrange) IS
'complement a range';

--
-- src/type/containment.c: tests.  The empty set and the empty range are
-- contained in everything and overlap nothing.
--

CREATE FUNCTION roaring64_contains(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contains'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_contains(roaring64, roaring64) IS
'contains';

CREATE FUNCTION roaring64_contains_element(roaring64, bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contains_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_contains_element(roaring64, bigint) IS
'contains element';

CREATE FUNCTION roaring64_contains_range(roaring64, anyrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contains_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_contains_range(roaring64, anyrange) IS
'contains all integers of range';

CREATE FUNCTION roaring64_contained(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contained'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_contained(roaring64, roaring64) IS
'is contained by';

CREATE FUNCTION roaring64_element_contained(bigint, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_element_contained'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_element_contained(bigint, roaring64) IS
'is element of';

CREATE FUNCTION roaring64_contained_range(roaring64, anyrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contained_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_contained_range(roaring64, anyrange) IS
'all elements are in the range';

CREATE FUNCTION roaring64_overlaps(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_overlaps'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_overlaps(roaring64, roaring64) IS
'overlaps (have elements in common)';

CREATE FUNCTION roaring64_overlaps_range(roaring64, anyrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_overlaps_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_overlaps_range(roaring64, anyrange) IS
'overlaps (have elements in common)';

CREATE OPERATOR @> (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_contains,
	COMMUTATOR = <@,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR @> (roaring64, roaring64) IS
'contains';

CREATE OPERATOR @> (
	LEFTARG = roaring64,
	RIGHTARG = bigint,
	FUNCTION = roaring64_contains_element,
	COMMUTATOR = <@,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR @> (roaring64, bigint) IS
'contains element';

CREATE OPERATOR @> (
	LEFTARG = roaring64,
	RIGHTARG = anyrange,
	FUNCTION = roaring64_contains_range,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR @> (roaring64, anyrange) IS
'contains all integers of range';

CREATE OPERATOR <@ (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_contained,
	COMMUTATOR = @>,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR <@ (roaring64, roaring64) IS
'is contained by';

CREATE OPERATOR <@ (
	LEFTARG = bigint,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_element_contained,
	COMMUTATOR = @>,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR <@ (bigint, roaring64) IS
'is element of';

CREATE OPERATOR <@ (
	LEFTARG = roaring64,
	RIGHTARG = anyrange,
	FUNCTION = roaring64_contained_range,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR <@ (roaring64, anyrange) IS
'all elements are in the range';

CREATE OPERATOR && (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_overlaps,
	COMMUTATOR = &&,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR && (roaring64, roaring64) IS
'overlaps (have elements in common)';

CREATE OPERATOR && (
	LEFTARG = roaring64,
	RIGHTARG = anyrange,
	FUNCTION = roaring64_overlaps_range,
	RESTRICT = _roaring64_contsel,
	JOIN = _roaring64_contjoinsel
);
COMMENT ON OPERATOR && (roaring64, anyrange) IS
'overlaps (have elements in common)';
