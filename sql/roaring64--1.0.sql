/*-------------------------------------------------------------------------
 *
 * roaring64--1.0.sql
 *	  The SQL side of roaring64: the type, its functions and operators.
 *
 * Sections are in the order of the C files.  The extension is relocatable:
 * CREATE EXTENSION sets search_path, so names stand unqualified, and no body
 * here depends on search_path later.
 *
 * COST is in tiers, in units of a simple built-in operator:
 *
 *	  1		looks at the arguments or a few bytes of the set
 *	 10		walks headers, or looks into a few containers; per row or element
 *	 50		reads the whole of its sets: merges, tests, comparisons
 *	100		parses, validates, builds or prints a whole set
 *
 * The function behind an operator has the comment that \df+ shows, the
 * operator the one that \do shows.
 *
 * sql/roaring64--1.0.sql
 *
 *-------------------------------------------------------------------------
 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION roaring64" to load this file. \quit

--
-- The type.  Its payload is the portable 64-bit Roaring format; see
-- src/portable/r64.h.
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
-- src/type/foreign.c: bytes
--

CREATE FUNCTION roaring64_recv(internal)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_recv(internal) IS
'I/O';

CREATE FUNCTION roaring64_send(roaring64)
RETURNS bytea
AS 'MODULE_PATHNAME', 'roaring64_send'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_send(roaring64) IS
'I/O';

--
-- src/planner/: ANALYZE, estimators and the support function.  They come
-- before what names them.
--

CREATE FUNCTION roaring64_typanalyze(internal)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_typanalyze'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_typanalyze(internal) IS
'roaring64 typanalyze';

CREATE FUNCTION roaring64_contsel(internal, oid, internal, integer)
RETURNS double precision
AS 'MODULE_PATHNAME', 'roaring64_contsel'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_contsel(internal, oid, internal, integer) IS
'restriction selectivity of containment and overlap';

CREATE FUNCTION roaring64_contjoinsel(internal, oid, internal, smallint, internal)
RETURNS double precision
AS 'MODULE_PATHNAME', 'roaring64_contjoinsel'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_contjoinsel(internal, oid, internal, smallint, internal) IS
'join selectivity of containment and overlap';

CREATE FUNCTION roaring64_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_support'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_support(internal) IS
'planner support for functions of roaring64';

CREATE TYPE roaring64 (
	INPUT = roaring64_in,
	OUTPUT = roaring64_out,
	RECEIVE = roaring64_recv,
	SEND = roaring64_send,
	ANALYZE = roaring64_typanalyze,
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

CREATE FUNCTION roaring64_check(bytea)
RETURNS text
AS 'MODULE_PATHNAME', 'roaring64_check'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_check(bytea) IS
'why bytes are not a portable 64-bit Roaring bitmap, NULL if they are';

-- explicit only, lest functions of bytea take a set
CREATE CAST (roaring64 AS bytea)
WITHOUT FUNCTION;
COMMENT ON CAST (roaring64 AS bytea) IS
'the portable 64-bit Roaring bytes';

CREATE CAST (bytea AS roaring64)
WITH FUNCTION roaring64_from_bytea(bytea);
COMMENT ON CAST (bytea AS roaring64) IS
'set from portable 64-bit Roaring bytes, which are validated';

--
-- src/type/array.c: arrays
--

CREATE FUNCTION roaring64_from_array(bigint[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_array'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_array(bigint[]) IS
'set of the elements of an array';

CREATE FUNCTION roaring64_from_array(integer[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_from_array'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_from_array(integer[]) IS
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
WITH FUNCTION roaring64_from_array(integer[]) AS ASSIGNMENT;
COMMENT ON CAST (integer[] AS roaring64) IS
'set of the elements of an array';

CREATE CAST (roaring64 AS bigint[])
WITH FUNCTION roaring64_to_array(roaring64);
COMMENT ON CAST (roaring64 AS bigint[]) IS
'the elements, ascending';

--
-- src/type/range.c: ranges and multiranges
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
'the multirange of exactly the elements';

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
'the multirange of exactly the elements';

--
-- src/type/compare.c: equality, order and hashing.  The order is that of the
-- bytes and serves sorting only.
--

CREATE FUNCTION roaring64_eq(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_eq(roaring64, roaring64) IS
'implementation of = operator';

CREATE FUNCTION roaring64_ne(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_ne'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_ne(roaring64, roaring64) IS
'implementation of <> operator';

CREATE FUNCTION roaring64_lt(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_lt'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_lt(roaring64, roaring64) IS
'implementation of < operator';

CREATE FUNCTION roaring64_le(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_le'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_le(roaring64, roaring64) IS
'implementation of <= operator';

CREATE FUNCTION roaring64_gt(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_gt'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_gt(roaring64, roaring64) IS
'implementation of > operator';

CREATE FUNCTION roaring64_ge(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_ge'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_ge(roaring64, roaring64) IS
'implementation of >= operator';

CREATE FUNCTION roaring64_cmp(roaring64, roaring64)
RETURNS integer
AS 'MODULE_PATHNAME', 'roaring64_cmp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_cmp(roaring64, roaring64) IS
'less-equal-greater in byte order';

CREATE FUNCTION roaring64_hash(roaring64)
RETURNS integer
AS 'MODULE_PATHNAME', 'roaring64_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_hash(roaring64) IS
'hash';

CREATE FUNCTION roaring64_hash_extended(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_hash_extended'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_hash_extended(roaring64, bigint) IS
'hash with a seed';

CREATE OPERATOR = (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_eq,
	COMMUTATOR = =,
	NEGATOR = <>,
	RESTRICT = eqsel,
	JOIN = eqjoinsel,
	HASHES,
	MERGES
);
COMMENT ON OPERATOR = (roaring64, roaring64) IS
'equal';

CREATE OPERATOR <> (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_ne,
	COMMUTATOR = <>,
	NEGATOR = =,
	RESTRICT = neqsel,
	JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (roaring64, roaring64) IS
'not equal';

CREATE OPERATOR < (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_lt,
	COMMUTATOR = >,
	NEGATOR = >=,
	RESTRICT = scalarltsel,
	JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (roaring64, roaring64) IS
'before in byte order';

CREATE OPERATOR <= (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_le,
	COMMUTATOR = >=,
	NEGATOR = >,
	RESTRICT = scalarlesel,
	JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (roaring64, roaring64) IS
'before in byte order, or equal';

CREATE OPERATOR > (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_gt,
	COMMUTATOR = <,
	NEGATOR = <=,
	RESTRICT = scalargtsel,
	JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (roaring64, roaring64) IS
'after in byte order';

CREATE OPERATOR >= (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_ge,
	COMMUTATOR = <=,
	NEGATOR = <,
	RESTRICT = scalargesel,
	JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (roaring64, roaring64) IS
'after in byte order, or equal';

-- bytea's sort support compares bytes, then lengths: our very order
CREATE OPERATOR CLASS roaring64_ops
DEFAULT FOR TYPE roaring64 USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 roaring64_cmp(roaring64, roaring64),
	FUNCTION 2 bytea_sortsupport(internal),
	FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS roaring64_ops USING btree IS
'equality and byte order of sets';

CREATE OPERATOR CLASS roaring64_ops
DEFAULT FOR TYPE roaring64 USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 roaring64_hash(roaring64),
	FUNCTION 2 roaring64_hash_extended(roaring64, bigint);
COMMENT ON OPERATOR CLASS roaring64_ops USING hash IS
'equality of sets';

--
-- src/type/setops.c: union, intersection, difference, symmetric difference
--

CREATE FUNCTION roaring64_or(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_or(roaring64, roaring64) IS
'union';

CREATE FUNCTION roaring64_or(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_or(roaring64, bigint) IS
'set with an element';

CREATE FUNCTION roaring64_or(bigint, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_element_or'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_or(bigint, roaring64) IS
'set with an element';

CREATE FUNCTION roaring64_or(roaring64, int8range)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_or(roaring64, int8range) IS
'set with all integers of a range';

CREATE FUNCTION roaring64_and(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_and(roaring64, roaring64) IS
'intersection';

CREATE FUNCTION roaring64_and(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_and(roaring64, bigint) IS
'the element if the set has it, as a set';

CREATE FUNCTION roaring64_and(roaring64, int8range)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_and(roaring64, int8range) IS
'the elements within a range';

CREATE FUNCTION roaring64_andnot(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_andnot'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_andnot(roaring64, roaring64) IS
'difference';

CREATE FUNCTION roaring64_andnot(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_andnot_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_andnot(roaring64, bigint) IS
'set without an element';

CREATE FUNCTION roaring64_andnot(roaring64, int8range)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_andnot_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_andnot(roaring64, int8range) IS
'the elements outside a range';

CREATE FUNCTION roaring64_xor(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_xor(roaring64, roaring64) IS
'symmetric difference';

CREATE FUNCTION roaring64_xor(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_xor(roaring64, bigint) IS
'set with an element if absent, without if present';

CREATE FUNCTION roaring64_xor(roaring64, int8range)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_xor(roaring64, int8range) IS
'set with a range complemented';

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
	FUNCTION = roaring64_or,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (roaring64, bigint) IS
'set with an element';

CREATE OPERATOR | (
	LEFTARG = bigint,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_or,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (bigint, roaring64) IS
'set with an element';

CREATE OPERATOR | (
	LEFTARG = roaring64,
	RIGHTARG = int8range,
	FUNCTION = roaring64_or
);
COMMENT ON OPERATOR | (roaring64, int8range) IS
'set with all integers of a range';

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
	FUNCTION = roaring64_and
);
COMMENT ON OPERATOR & (roaring64, bigint) IS
'the element if the set has it, as a set';

CREATE OPERATOR & (
	LEFTARG = roaring64,
	RIGHTARG = int8range,
	FUNCTION = roaring64_and
);
COMMENT ON OPERATOR & (roaring64, int8range) IS
'the elements within a range';

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
	FUNCTION = roaring64_andnot
);
COMMENT ON OPERATOR - (roaring64, bigint) IS
'set without an element';

CREATE OPERATOR - (
	LEFTARG = roaring64,
	RIGHTARG = int8range,
	FUNCTION = roaring64_andnot
);
COMMENT ON OPERATOR - (roaring64, int8range) IS
'the elements outside a range';

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
	FUNCTION = roaring64_xor
);
COMMENT ON OPERATOR # (roaring64, bigint) IS
'set with an element if absent, without if present';

CREATE OPERATOR # (
	LEFTARG = roaring64,
	RIGHTARG = int8range,
	FUNCTION = roaring64_xor
);
COMMENT ON OPERATOR # (roaring64, int8range) IS
'set with a range complemented';

--
-- src/type/containment.c: tests.  The empty set and the empty range are
-- contained in everything and overlap nothing.
--

CREATE FUNCTION roaring64_contains(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contains'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contains(roaring64, roaring64) IS
'has all elements of the other set';

CREATE FUNCTION roaring64_contains(roaring64, bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contains_element'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contains(roaring64, bigint) IS
'has the element';

CREATE FUNCTION roaring64_contains(roaring64, int8range)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contains_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contains(roaring64, int8range) IS
'has all integers of the range';

CREATE FUNCTION roaring64_contains(int8range, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_range_contains'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contains(int8range, roaring64) IS
'all elements are in the range';

CREATE FUNCTION roaring64_contained(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contained'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contained(roaring64, roaring64) IS
'the other set has all its elements';

CREATE FUNCTION roaring64_contained(bigint, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_element_contained'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contained(bigint, roaring64) IS
'is an element';

CREATE FUNCTION roaring64_contained(int8range, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_range_contained'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contained(int8range, roaring64) IS
'all its integers are elements';

CREATE FUNCTION roaring64_contained(roaring64, int8range)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_contained_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_contained(roaring64, int8range) IS
'all elements are in the range';

CREATE FUNCTION roaring64_overlaps(roaring64, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_overlaps'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_overlaps(roaring64, roaring64) IS
'some element is common';

CREATE FUNCTION roaring64_overlaps(roaring64, int8range)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_overlaps_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_overlaps(roaring64, int8range) IS
'some element is in the range';

CREATE FUNCTION roaring64_overlaps(int8range, roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_range_overlaps'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_overlaps(int8range, roaring64) IS
'some element is in the range';

CREATE OPERATOR @> (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_contains,
	COMMUTATOR = <@,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR @> (roaring64, roaring64) IS
'has all elements of the other set';

CREATE OPERATOR @> (
	LEFTARG = roaring64,
	RIGHTARG = bigint,
	FUNCTION = roaring64_contains,
	COMMUTATOR = <@,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR @> (roaring64, bigint) IS
'has the element';

CREATE OPERATOR @> (
	LEFTARG = roaring64,
	RIGHTARG = int8range,
	FUNCTION = roaring64_contains,
	COMMUTATOR = <@,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR @> (roaring64, int8range) IS
'has all integers of the range';

CREATE OPERATOR @> (
	LEFTARG = int8range,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_contains,
	COMMUTATOR = <@,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR @> (int8range, roaring64) IS
'all elements are in the range';

CREATE OPERATOR <@ (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_contained,
	COMMUTATOR = @>,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR <@ (roaring64, roaring64) IS
'the other set has all its elements';

CREATE OPERATOR <@ (
	LEFTARG = bigint,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_contained,
	COMMUTATOR = @>,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR <@ (bigint, roaring64) IS
'is an element';

CREATE OPERATOR <@ (
	LEFTARG = int8range,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_contained,
	COMMUTATOR = @>,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR <@ (int8range, roaring64) IS
'all its integers are elements';

CREATE OPERATOR <@ (
	LEFTARG = roaring64,
	RIGHTARG = int8range,
	FUNCTION = roaring64_contained,
	COMMUTATOR = @>,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR <@ (roaring64, int8range) IS
'all elements are in the range';

CREATE OPERATOR && (
	LEFTARG = roaring64,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_overlaps,
	COMMUTATOR = &&,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR && (roaring64, roaring64) IS
'some element is common';

CREATE OPERATOR && (
	LEFTARG = roaring64,
	RIGHTARG = int8range,
	FUNCTION = roaring64_overlaps,
	COMMUTATOR = &&,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR && (roaring64, int8range) IS
'some element is in the range';

CREATE OPERATOR && (
	LEFTARG = int8range,
	RIGHTARG = roaring64,
	FUNCTION = roaring64_overlaps,
	COMMUTATOR = &&,
	RESTRICT = roaring64_contsel,
	JOIN = roaring64_contjoinsel
);
COMMENT ON OPERATOR && (int8range, roaring64) IS
'some element is in the range';

--
-- src/type/counts.c: sizes of sets and of pairs of sets
--

CREATE FUNCTION roaring64_cardinality(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_cardinality(roaring64) IS
'number of elements';

CREATE FUNCTION roaring64_cardinality(roaring64, int8range)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_cardinality(roaring64, int8range) IS
'number of elements in the range';

CREATE FUNCTION roaring64_is_empty(roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_is_empty'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_is_empty(roaring64) IS
'whether there is no element';

CREATE FUNCTION roaring64_and_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_and_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_and_cardinality(roaring64, roaring64) IS
'number of elements of both sets';

CREATE FUNCTION roaring64_or_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_or_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_or_cardinality(roaring64, roaring64) IS
'number of elements of either set';

CREATE FUNCTION roaring64_xor_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_xor_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_xor_cardinality(roaring64, roaring64) IS
'number of elements of exactly one of the sets';

CREATE FUNCTION roaring64_andnot_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_andnot_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_andnot_cardinality(roaring64, roaring64) IS
'number of elements of the first set only';

CREATE FUNCTION roaring64_jaccard(roaring64, roaring64)
RETURNS double precision
AS 'MODULE_PATHNAME', 'roaring64_jaccard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_jaccard(roaring64, roaring64) IS
'Jaccard index: share of the elements of either set that both have';

--
-- src/type/order.c: where an element stands in a set
--

CREATE FUNCTION roaring64_min(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_min'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_min(roaring64) IS
'smallest element, NULL if there is none';

CREATE FUNCTION roaring64_max(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_max'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_max(roaring64) IS
'largest element, NULL if there is none';

CREATE FUNCTION roaring64_rank(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_rank'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_rank(roaring64, bigint) IS
'number of elements up to and including the value';

CREATE FUNCTION roaring64_select(roaring64, n bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_select'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_select(roaring64, bigint) IS
'nth element, from 1, or from the end if negative; NULL past either end';

CREATE FUNCTION roaring64_next(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_next'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_next(roaring64, bigint) IS
'smallest element not below the value, NULL if there is none';

CREATE FUNCTION roaring64_prev(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_prev'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_prev(roaring64, bigint) IS
'largest element not above the value, NULL if there is none';

CREATE FUNCTION roaring64_next_absent(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_next_absent'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_next_absent(roaring64, bigint) IS
'smallest bigint not below the value that is no element, NULL if there is none';

--
-- src/type/parts.c: pages, chunks, shifted sets
--

-- not STRICT: a limit of NULL is no limit
CREATE FUNCTION roaring64_slice(roaring64, "offset" bigint,
								"limit" bigint DEFAULT NULL)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_slice'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_slice(roaring64, bigint, bigint) IS
'the elements after the first offset ones, at most limit of them';

-- not STRICT: without "after" it is the first page
CREATE FUNCTION roaring64_first(roaring64, n integer,
								after bigint DEFAULT NULL)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_first'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_first(roaring64, integer, bigint) IS
'the n smallest elements above a value, ascending';

-- not STRICT: without "before" it is the last page
CREATE FUNCTION roaring64_last(roaring64, n integer,
							   before bigint DEFAULT NULL)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_last'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_last(roaring64, integer, bigint) IS
'the n largest elements below a value, descending';

CREATE FUNCTION roaring64_split(roaring64, bits integer,
								OUT chunk bigint, OUT members roaring64)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_split'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 ROWS 100
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_split(roaring64, integer) IS
'the set cut at multiples of 2^bits: chunk is element >> bits';

CREATE FUNCTION roaring64_shift(roaring64, delta bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_shift'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_shift(roaring64, bigint) IS
'every element plus delta';

--
-- src/type/rows.c: a set as rows
--

CREATE FUNCTION roaring64_elements(roaring64, reverse boolean DEFAULT false)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'roaring64_elements'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 1000
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_elements(roaring64, boolean) IS
'the elements as rows, ascending, or descending if reverse';

CREATE FUNCTION roaring64_elements(roaring64, int8range,
								   reverse boolean DEFAULT false)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'roaring64_elements_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 1000
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_elements(roaring64, int8range, boolean) IS
'the elements in the range as rows, ascending, or descending if reverse';

CREATE FUNCTION roaring64_ranges(roaring64)
RETURNS SETOF int8range
AS 'MODULE_PATHNAME', 'roaring64_ranges'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 1000
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_ranges(roaring64) IS
'the fewest ranges that hold the elements and nothing else, ascending';

CREATE FUNCTION roaring64_histogram(roaring64, n integer DEFAULT 10,
									OUT range int8range, OUT count bigint,
									OUT bar text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_histogram'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 10
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_histogram(roaring64, integer) IS
'element counts of n ranges of equal width from the smallest element to the largest, with bars';

--
-- src/type/stats.c: what a value is made of
--

CREATE FUNCTION roaring64_stats(roaring64,
								OUT cardinality bigint,
								OUT bytes bigint,
								OUT buckets bigint,
								OUT array_containers bigint,
								OUT bitset_containers bigint,
								OUT run_containers bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'roaring64_stats'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_stats(roaring64) IS
'number of elements, bytes before compression, buckets, and containers by kind';

--
-- src/type/bulk.c: one set and many values at once
--

CREATE FUNCTION roaring64_add(roaring64, bigint[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_add'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_add(roaring64, bigint[]) IS
'the set with the values of the array';

CREATE FUNCTION roaring64_remove(roaring64, bigint[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_remove'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_remove(roaring64, bigint[]) IS
'the set without the values of the array';

CREATE FUNCTION roaring64_contains_each(roaring64, bigint[])
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_contains_each'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_contains_each(roaring64, bigint[]) IS
'for every value of the array, whether it is an element';

--
-- src/type/ids.c: ids made by a clock
--

CREATE FUNCTION roaring64_snowflake_fold(bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_snowflake_fold'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_snowflake_fold(bigint) IS
'snowflake id with worker and sequence moved above the clock, for small sets';

CREATE FUNCTION roaring64_snowflake_unfold(bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_snowflake_unfold'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_snowflake_unfold(bigint) IS
'undoes roaring64_snowflake_fold';

CREATE FUNCTION roaring64_time_bucket(bigint, bits integer)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_time_bucket'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_time_bucket(bigint, integer) IS
'the id with its low bits cleared';

--
-- src/dedup/: the dedup helper.  Nothing here is strict: what is NULL and must
-- not be is an error, lest a claim that was never made look like one.  What
-- only reads is STABLE and can be called on a standby.
--

CREATE FUNCTION roaring64_dedup_create(name text,
									   capacity bigint DEFAULT NULL,
									   remember interval DEFAULT NULL,
									   generations integer DEFAULT 2,
									   layout text DEFAULT 'plain',
									   chunk_bits integer DEFAULT NULL,
									   ascending boolean DEFAULT false,
									   fold_after integer DEFAULT NULL)
RETURNS regclass
AS 'MODULE_PATHNAME', 'roaring64_dedup_create'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_create(text, bigint, interval, integer, text, integer, boolean, integer) IS
'makes the tables of a dedup set';

CREATE FUNCTION roaring64_dedup_alter(set regclass,
									  capacity bigint DEFAULT NULL,
									  remember interval DEFAULT NULL,
									  generations integer DEFAULT NULL,
									  ascending boolean DEFAULT NULL,
									  fold_after integer DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_dedup_alter'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_alter(regclass, bigint, interval, integer, boolean, integer) IS
'changes options of a dedup set';

CREATE FUNCTION roaring64_dedup_drop(set regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_dedup_drop'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_drop(regclass) IS
'drops the tables of a dedup set';

CREATE FUNCTION roaring64_dedup_claim(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim(regclass, text, bigint) IS
'claims an id: true if it is new, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_claim(set regclass, key text, ids bigint[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim_batch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim(regclass, text, bigint[]) IS
'claims ids: those that are new';

CREATE FUNCTION roaring64_dedup_claim_bulk(set regclass, key text, ids bigint[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim_bulk'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim_bulk(regclass, text, bigint[]) IS
'claims ids for the owner of a key: those that are new';

CREATE FUNCTION roaring64_dedup_seen(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, bigint) IS
'whether an id is remembered, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_seen(set regclass, key text, ids bigint[])
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen_batch'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, bigint[]) IS
'whether ids are remembered';

CREATE FUNCTION roaring64_dedup_forget(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget(regclass, text, bigint) IS
'makes an id new again: whether it was remembered';

CREATE FUNCTION roaring64_dedup_forget(set regclass, key text, ids bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget_batch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget(regclass, text, bigint[]) IS
'makes ids new again: how many were remembered';

CREATE FUNCTION roaring64_dedup_add(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_add'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_add(regclass, text, bigint) IS
'adds an id to its chunk: whether it was not there';

CREATE FUNCTION roaring64_dedup_add(set regclass, key text, ids bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_add_batch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_add(regclass, text, bigint[]) IS
'adds ids to their chunks: how many were not there';

CREATE FUNCTION roaring64_dedup_count(set regclass, key text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_count(regclass, text) IS
'how many ids of a key are remembered';

CREATE FUNCTION roaring64_dedup_is_empty(set regclass, key text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_is_empty'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_is_empty(regclass, text) IS
'whether no id of a key is remembered';

CREATE FUNCTION roaring64_dedup_load(set regclass, key text, ids roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_load'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_load(regclass, text, roaring64) IS
'remembers all ids of a set: how many were new';

CREATE FUNCTION roaring64_dedup_export(set regclass, key text)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_dedup_export'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_export(regclass, text) IS
'all ids of a key that are remembered';

CREATE FUNCTION roaring64_dedup_stats(set regclass,
									  OUT keys bigint,
									  OUT claims bigint,
									  OUT chunks bigint,
									  OUT ids bigint,
									  OUT bytes bigint,
									  OUT bytes_per_id double precision,
									  OUT oldest_generation bigint,
									  OUT oldest_claim timestamp with time zone)
RETURNS record
AS 'MODULE_PATHNAME', 'roaring64_dedup_stats'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_stats(regclass) IS
'what a dedup set has, and what it takes';

CREATE FUNCTION roaring64_dedup_trigger()
RETURNS trigger
AS 'MODULE_PATHNAME', 'roaring64_dedup_trigger'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_trigger() IS
'claims the ids of rows that are inserted';

CREATE PROCEDURE roaring64_dedup_fold(set regclass)
AS 'MODULE_PATHNAME', 'roaring64_dedup_fold'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_dedup_fold(regclass) IS
'moves committed claims into chunks';

CREATE PROCEDURE roaring64_dedup_rotate(set regclass)
AS 'MODULE_PATHNAME', 'roaring64_dedup_rotate'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_dedup_rotate(regclass) IS
'forgets what is past the window';

--
-- src/aggregate/aggregates.c
--
-- The state is a roaring64, so that it can travel between parallel workers and
-- servers.  NULL inputs are ignored; without input the sets are NULL and the
-- counts 0.
--

CREATE FUNCTION roaring64_agg_transfn(roaring64, bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_agg_transfn(roaring64, bigint) IS
'aggregate transition function';

CREATE FUNCTION roaring64_agg_array_transfn(roaring64, bigint[])
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_agg_array_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_agg_array_transfn(roaring64, bigint[]) IS
'aggregate transition function';

CREATE FUNCTION roaring64_agg_range_transfn(roaring64, int8range)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_agg_range_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_agg_range_transfn(roaring64, int8range) IS
'aggregate transition function';

CREATE FUNCTION roaring64_or_agg_transfn(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_or_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_or_agg_transfn(roaring64, roaring64) IS
'aggregate transition function';

CREATE FUNCTION roaring64_and_agg_transfn(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_and_agg_transfn(roaring64, roaring64) IS
'aggregate transition function';

CREATE FUNCTION roaring64_xor_agg_transfn(roaring64, roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_xor_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_xor_agg_transfn(roaring64, roaring64) IS
'aggregate transition function';

CREATE FUNCTION roaring64_set_finalfn(roaring64)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_set_finalfn'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_set_finalfn(roaring64) IS
'aggregate final function';

CREATE FUNCTION roaring64_cardinality_finalfn(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality_finalfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_cardinality_finalfn(roaring64) IS
'aggregate final function';

--
-- The size of a state is what the server takes for its own aggregates that grow,
-- as array_agg.  Left to itself, it would take a set for a short string, and make
-- one hash table of many groups whose sets are far larger than the caches.
--
CREATE AGGREGATE roaring64_agg(bigint) (
	SFUNC = roaring64_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_set_finalfn,
	COMBINEFUNC = roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_agg(bigint) IS
'the set of the input values';

CREATE AGGREGATE roaring64_agg(bigint[]) (
	SFUNC = roaring64_agg_array_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_set_finalfn,
	COMBINEFUNC = roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_agg(bigint[]) IS
'the set of all elements of the input arrays';

CREATE AGGREGATE roaring64_agg(int8range) (
	SFUNC = roaring64_agg_range_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_set_finalfn,
	COMBINEFUNC = roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_agg(int8range) IS
'the set of all integers of the input ranges';

CREATE AGGREGATE roaring64_or_agg(roaring64) (
	SFUNC = roaring64_or_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_set_finalfn,
	COMBINEFUNC = roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_or_agg(roaring64) IS
'the union of the input sets';

CREATE AGGREGATE roaring64_and_agg(roaring64) (
	SFUNC = roaring64_and_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_set_finalfn,
	COMBINEFUNC = roaring64_and_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_and_agg(roaring64) IS
'the intersection of the input sets';

CREATE AGGREGATE roaring64_xor_agg(roaring64) (
	SFUNC = roaring64_xor_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_set_finalfn,
	COMBINEFUNC = roaring64_xor_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_xor_agg(roaring64) IS
'the elements that an odd number of the input sets has';

CREATE AGGREGATE roaring64_count_distinct(bigint) (
	SFUNC = roaring64_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_cardinality_finalfn,
	COMBINEFUNC = roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_count_distinct(bigint) IS
'how many different values the input has';

CREATE AGGREGATE roaring64_or_cardinality_agg(roaring64) (
	SFUNC = roaring64_or_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_cardinality_finalfn,
	COMBINEFUNC = roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_or_cardinality_agg(roaring64) IS
'how many elements the union of the input sets has';

CREATE AGGREGATE roaring64_and_cardinality_agg(roaring64) (
	SFUNC = roaring64_and_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_cardinality_finalfn,
	COMBINEFUNC = roaring64_and_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_and_cardinality_agg(roaring64) IS
'how many elements the intersection of the input sets has';

CREATE AGGREGATE roaring64_xor_cardinality_agg(roaring64) (
	SFUNC = roaring64_xor_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = roaring64_cardinality_finalfn,
	COMBINEFUNC = roaring64_xor_agg_transfn,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE roaring64_xor_cardinality_agg(roaring64) IS
'how many elements an odd number of the input sets has';

--
-- src/index/gin_options.c, gin_query.c and gin.c: the GIN operator class.  The
-- query of a search is of the type on the right of its operator, whatever the
-- functions here say; GIN has one of each for all operators.
--

CREATE FUNCTION roaring64_gin_options(internal)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_gin_options'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_gin_options(internal) IS
'GIN support: options';

CREATE FUNCTION roaring64_gin_extract_query(roaring64, internal, smallint,
											internal, internal, internal,
											internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_gin_extract_query'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_gin_extract_query(roaring64, internal, smallint, internal, internal, internal, internal) IS
'GIN support: the keys to search for';

CREATE FUNCTION roaring64_gin_compare_partial(bigint, bigint, smallint,
											  internal)
RETURNS integer
AS 'MODULE_PATHNAME', 'roaring64_gin_compare_partial'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_gin_compare_partial(bigint, bigint, smallint, internal) IS
'GIN support: whether a key is in a range that is searched';

CREATE FUNCTION roaring64_gin_extract_value(roaring64, internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'roaring64_gin_extract_value'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_gin_extract_value(roaring64, internal) IS
'GIN support: the keys of a value';

CREATE FUNCTION roaring64_gin_consistent(internal, smallint, roaring64,
										 integer, internal, internal,
										 internal, internal)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_gin_consistent'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_gin_consistent(internal, smallint, roaring64, integer, internal, internal, internal, internal) IS
'GIN support: whether a row with some of the keys matches';

CREATE FUNCTION roaring64_gin_triconsistent(internal, smallint, roaring64,
											integer, internal, internal,
											internal)
RETURNS "char"
AS 'MODULE_PATHNAME', 'roaring64_gin_triconsistent'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_gin_triconsistent(internal, smallint, roaring64, integer, internal, internal, internal) IS
'GIN support: the same with keys of which it is not known';

CREATE OPERATOR CLASS gin_roaring64_ops
DEFAULT FOR TYPE roaring64 USING gin AS
	OPERATOR 1 @> (roaring64, roaring64),
	OPERATOR 2 @> (roaring64, bigint),
	OPERATOR 3 @> (roaring64, int8range),
	OPERATOR 4 <@ (roaring64, roaring64),
	OPERATOR 5 <@ (roaring64, int8range),
	OPERATOR 6 && (roaring64, roaring64),
	OPERATOR 7 && (roaring64, int8range),
	OPERATOR 8 = (roaring64, roaring64),
	FUNCTION 1 btint8cmp(bigint, bigint),
	FUNCTION 2 roaring64_gin_extract_value(roaring64, internal),
	FUNCTION 3 roaring64_gin_extract_query(roaring64, internal, smallint, internal, internal, internal, internal),
	FUNCTION 4 roaring64_gin_consistent(internal, smallint, roaring64, integer, internal, internal, internal, internal),
	FUNCTION 5 roaring64_gin_compare_partial(bigint, bigint, smallint, internal),
	FUNCTION 6 roaring64_gin_triconsistent(internal, smallint, roaring64, integer, internal, internal, internal),
	FUNCTION 7 roaring64_gin_options(internal),
	STORAGE bigint;
COMMENT ON OPERATOR CLASS gin_roaring64_ops USING gin IS
'containment, overlap and equality of sets, by element or container';

--
-- src/planner/indexcond.c: in plans only
--

CREATE FUNCTION roaring64_index_keys(roaring64)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_index_keys'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
SUPPORT roaring64_support;
COMMENT ON FUNCTION roaring64_index_keys(roaring64) IS
'the elements, as the keys of an index scan';

--
-- src/delay/: messages for later, in a table of sets.  What changes a table is
-- volatile and leaves its statement to one process; what looks at one sees what
-- the calling statement sees, and the table may be a temporary one.
--

CREATE FUNCTION roaring64_delay_create(name text, bucket_bits integer DEFAULT 10)
RETURNS regclass
AS 'MODULE_PATHNAME', 'roaring64_delay_create'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_create(text, integer) IS
'makes a table of delayed messages, with time buckets of 2^bucket_bits ms';

CREATE FUNCTION roaring64_delay_drop(delay regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_delay_drop'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_drop(regclass) IS
'drops a table of delayed messages';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledger bigint, entry bigint,
									due bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_add'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint, bigint, bigint) IS
'adds a message that is due so many ms after 1970; false if it is there';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledger bigint, entry bigint,
									due timestamptz)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_add_timestamp'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint, bigint, timestamptz) IS
'adds a message; false if it is there';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledgers bigint[],
									entries bigint[], due bigint[])
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_delay_add_batch'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint[], bigint[], bigint[]) IS
'adds messages that are due so many ms after 1970';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledgers bigint[],
									entries bigint[], due timestamptz[])
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_delay_add_batch_timestamp'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint[], bigint[], timestamptz[]) IS
'adds messages';

-- not STRICT: a limit of NULL is no limit
CREATE FUNCTION roaring64_delay_take(delay regclass, until bigint,
									 "limit" bigint DEFAULT NULL,
									 OUT bucket bigint, OUT ledger bigint,
									 OUT entry bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_delay_take'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 ROWS 1000;
COMMENT ON FUNCTION roaring64_delay_take(regclass, bigint, bigint) IS
'removes and returns messages that are due so many ms after 1970';

CREATE FUNCTION roaring64_delay_take(delay regclass, until timestamptz DEFAULT now(),
									 "limit" bigint DEFAULT NULL,
									 OUT bucket bigint, OUT ledger bigint,
									 OUT entry bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_delay_take_timestamp'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 ROWS 1000;
COMMENT ON FUNCTION roaring64_delay_take(regclass, timestamptz, bigint) IS
'removes and returns messages that are due';

CREATE FUNCTION roaring64_delay_cancel(delay regclass, ledger bigint,
									   entry bigint, due bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_cancel'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint, bigint, bigint) IS
'removes a message; false if it is not there';

CREATE FUNCTION roaring64_delay_cancel(delay regclass, ledger bigint,
									   entry bigint, due timestamptz)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_cancel_timestamp'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint, bigint, timestamptz) IS
'removes a message; false if it is not there';

CREATE FUNCTION roaring64_delay_cancel(delay regclass, ledger bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_cancel_ledger'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint) IS
'removes the messages of a ledger; how many';

CREATE FUNCTION roaring64_delay_next_due(delay regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_next_due'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_next_due(regclass) IS
'when the first message is due, in ms after 1970';

CREATE FUNCTION roaring64_delay_count(delay regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_count'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_count(regclass) IS
'how many messages wait';

CREATE FUNCTION roaring64_delay_count(delay regclass, until bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_count_until'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_count(regclass, bigint) IS
'how many messages are due so many ms after 1970';

CREATE FUNCTION roaring64_delay_count(delay regclass, until timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_count_timestamp'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_count(regclass, timestamptz) IS
'how many messages are due';

--
-- src/migrate/: from a row for every fact to a row for every key.  Those who
-- have nothing to call but a trigger come first.
--

CREATE FUNCTION roaring64_migrate_statement()
RETURNS trigger
AS 'MODULE_PATHNAME', 'roaring64_migrate_statement'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION roaring64_migrate_statement() IS
'trigger of a migration, which executes its arguments';

CREATE FUNCTION roaring64_migrate_row()
RETURNS trigger
AS 'MODULE_PATHNAME', 'roaring64_migrate_row'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION roaring64_migrate_row() IS
'trigger of the view that a migration puts in the place of a table';

CREATE PROCEDURE roaring64_migrate(source regclass, target name,
								   key_columns name[] DEFAULT NULL,
								   id_column name DEFAULT NULL,
								   sets json DEFAULT NULL,
								   drop_columns name[] DEFAULT NULL,
								   period_column name DEFAULT NULL,
								   period text DEFAULT NULL,
								   batch_rows integer DEFAULT NULL)
AS 'MODULE_PATHNAME', 'roaring64_migrate'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate(regclass, name, name[], name, json, name[], name, text, integer) IS
'copies a table with a row for every fact to one with sets, or goes on with it';

CREATE FUNCTION roaring64_migrate_verify(target regclass,
										 OUT key jsonb, OUT set_name name,
										 OUT missing roaring64,
										 OUT surplus roaring64)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_migrate_verify'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION roaring64_migrate_verify(regclass) IS
'sets in which a migration''s target differs from its source';

CREATE PROCEDURE roaring64_migrate_finish(target regclass)
AS 'MODULE_PATHNAME', 'roaring64_migrate_finish'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate_finish(regclass) IS
'puts a view on the target of a migration in the place of its source';

CREATE PROCEDURE roaring64_migrate_undo(target regclass)
AS 'MODULE_PATHNAME', 'roaring64_migrate_undo'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate_undo(regclass) IS
'takes a migration back, with the changes made since, and drops its target';

CREATE PROCEDURE roaring64_migrate_drop_old(target regclass)
AS 'MODULE_PATHNAME', 'roaring64_migrate_drop_old'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate_drop_old(regclass) IS
'drops the old table of a migration that is finished, and with it the way back';
