--
-- Equality, order and hashing: those of the bytes, by the server's functions for
-- bytea, since equal sets have the same bytes.  The order serves sorting only.
--

CREATE FUNCTION roaring64_eq(roaring64, roaring64)
RETURNS boolean
AS 'byteaeq'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_eq(roaring64, roaring64) IS
'implementation of = operator';

CREATE FUNCTION roaring64_ne(roaring64, roaring64)
RETURNS boolean
AS 'byteane'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_ne(roaring64, roaring64) IS
'implementation of <> operator';

CREATE FUNCTION roaring64_lt(roaring64, roaring64)
RETURNS boolean
AS 'bytealt'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_lt(roaring64, roaring64) IS
'implementation of < operator';

CREATE FUNCTION roaring64_le(roaring64, roaring64)
RETURNS boolean
AS 'byteale'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_le(roaring64, roaring64) IS
'implementation of <= operator';

CREATE FUNCTION roaring64_gt(roaring64, roaring64)
RETURNS boolean
AS 'byteagt'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_gt(roaring64, roaring64) IS
'implementation of > operator';

CREATE FUNCTION roaring64_ge(roaring64, roaring64)
RETURNS boolean
AS 'byteage'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_ge(roaring64, roaring64) IS
'implementation of >= operator';

CREATE FUNCTION roaring64_cmp(roaring64, roaring64)
RETURNS integer
AS 'byteacmp'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_cmp(roaring64, roaring64) IS
'less-equal-greater in byte order';

CREATE FUNCTION roaring64_hash(roaring64)
RETURNS integer
AS 'hashvarlena'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_hash(roaring64) IS
'hash';

CREATE FUNCTION roaring64_hash_extended(roaring64, bigint)
RETURNS bigint
AS 'hashvarlenaextended'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE COST 50;
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
