/*-------------------------------------------------------------------------
 *
 * roaring64_compat--1.0.sql
 *	  The names of pg_roaringbitmap 1.2 over roaring64, for applications that
 *	  move from one to the other without touching their statements.
 *
 * Its types are domains over roaring64, so a column of them has roaring64's
 * storage, operators, indexes and statistics, and an application that has been
 * renamed makes it a roaring64 without rewriting the table.  What
 * docs/migration.md lists as different stays different.
 *
 * pg_roaringbitmap takes integers for unsigned ones, so that -1 comes last: a
 * set is what it has from 0 on, the low half, and then what it has below 0, the
 * high half.  The functions that depend on the order put the halves together.
 *
 * Bodies are parsed here, so that they need no search_path.  All arguments have
 * names: where some have none, the server writes a body that it cannot read, and
 * pg_upgrade fails.
 *
 * sql/roaring64_compat--1.0.sql
 *
 *-------------------------------------------------------------------------
 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION roaring64_compat" to load this file. \quit

CREATE DOMAIN roaringbitmap64 AS roaring64;
CREATE DOMAIN roaringbitmap AS roaring64 CONSTRAINT roaringbitmap_integers
	CHECK (roaring64_min(VALUE) >= -2147483648 AND roaring64_max(VALUE) <= 2147483647);

-- All integers from the first to the last, which are bigints if any are there.
CREATE FUNCTION _rb_between(first numeric, last numeric)
RETURNS int8range LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN $1 <= $2
	THEN int8range($1::bigint, nullif($2, 9223372036854775807)::bigint, '[]')
	ELSE 'empty' END;

-- Adds what is no bigint, too, if the results are; what lies between the two is
-- one as well.
CREATE FUNCTION _rb_move(bitmap roaring64, distance numeric)
RETURNS roaring64 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN abs($2) <= 9223372036854775807 THEN roaring64_shift($1, $2::bigint)
	ELSE roaring64_shift(roaring64_shift(roaring64_shift($1,
		div($2, 3)::bigint), div($2, 3)::bigint), ($2 - 2 * div($2, 3))::bigint) END;

-- The bounds of ranges, as unsigned numbers.  The range begins at the first and
-- ends before the other; with 64 bits an end of 0 is none.
CREATE FUNCTION _rb_start(bound bigint)
RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1;
CREATE FUNCTION _rb_end(bound bigint)
RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1;
CREATE FUNCTION _rb64_start(bound bigint)
RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 + CASE WHEN $1 < 0 THEN 18446744073709551616 ELSE 0 END;
CREATE FUNCTION _rb64_end(bound bigint)
RETURNS numeric LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 + CASE WHEN $1 <= 0 THEN 18446744073709551616 ELSE 0 END;

-- Counts, of no rows NULL and not 0.
CREATE FUNCTION _rb_cardinality_finalfn(bitmap roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality_finalfn'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;

CREATE FUNCTION roaringbitmap64(bytes bytea)
RETURNS roaringbitmap64 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1::roaring64;
CREATE FUNCTION roaringbitmap(bytes bytea)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1::roaring64;
CREATE FUNCTION rb64_to_roaringbitmap(bitmap roaringbitmap64)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1;
CREATE FUNCTION rb64_from_roaringbitmap(bitmap roaringbitmap)
RETURNS roaringbitmap64 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1;

CREATE FUNCTION _rb_shift(bitmap roaring64, distance numeric, half numeric)
RETURNS roaring64 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
	SELECT coalesce(roaring64_or_agg(_rb_move($1 & part, step)), '{}')
	FROM (VALUES (0, half - 1, 0, half - 1, $2),			-- low to low
			(0, half - 1, -half, -1, $2 - 2 * half),		-- low to high
			(-half, -1, -half, -1, $2),						-- high to high
			(-half, -1, 0, half - 1, $2 + 2 * half)			-- high to low
		) AS halves (a, b, c, d, step),
		_rb_between(greatest(a, c - step), least(b, d - step)) AS part
	WHERE NOT isempty(part));

-- The operators of roaring64 have these arguments, too, but for shifts.
CREATE FUNCTION _rb_shiftright(bitmap roaring64, distance bigint)
RETURNS roaring64 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN _rb_shift($1, $2, 9223372036854775808);
CREATE FUNCTION _rb_shiftleft(bitmap roaring64, distance bigint)
RETURNS roaring64 LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN _rb_shift($1, - $2::numeric, 9223372036854775808);
CREATE OPERATOR >> (LEFTARG = roaring64, RIGHTARG = bigint, FUNCTION = _rb_shiftright);
CREATE OPERATOR << (LEFTARG = roaring64, RIGHTARG = bigint, FUNCTION = _rb_shiftleft);

-- What both types have, written for the one of 32 bits.
DO $do$
DECLARE
	names text := $names$
CREATE FUNCTION _rb_low(range_start bigint, range_end bigint)
RETURNS int8range LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN _rb_between(greatest(_rb_start($1), 0), least(_rb_end($2), 2147483648) - 1);
CREATE FUNCTION _rb_high(range_start bigint, range_end bigint)
RETURNS int8range LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN _rb_between(greatest(_rb_start($1), 2147483648) - 4294967296,
	least(_rb_end($2), 4294967296) - 4294967297);

CREATE FUNCTION rb_build(elements integer[])
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_from_array($1);
CREATE FUNCTION rb_runoptimize(bitmap roaringbitmap)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1;
CREATE FUNCTION rb_and(a roaringbitmap, b roaringbitmap)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 & $2;
CREATE FUNCTION rb_or(a roaringbitmap, b roaringbitmap)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 | $2;
CREATE FUNCTION rb_xor(a roaringbitmap, b roaringbitmap)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 # $2;
CREATE FUNCTION rb_andnot(a roaringbitmap, b roaringbitmap)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 - $2;
CREATE FUNCTION rb_add(bitmap roaringbitmap, element integer)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 | $2;
CREATE FUNCTION rb_add(element integer, bitmap roaringbitmap)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $2 | $1;
CREATE FUNCTION rb_remove(bitmap roaringbitmap, element integer)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 - $2;
CREATE FUNCTION rb_shiftright(bitmap roaringbitmap, distance bigint)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN _rb_shift($1, $2, 2147483648);
CREATE FUNCTION rb_shiftleft(bitmap roaringbitmap, distance bigint)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN _rb_shift($1, - $2::numeric, 2147483648);
CREATE FUNCTION rb_contains(a roaringbitmap, b roaringbitmap)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 @> $2;
CREATE FUNCTION rb_contains(bitmap roaringbitmap, element integer)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 @> $2;
CREATE FUNCTION rb_containedby(a roaringbitmap, b roaringbitmap)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 <@ $2;
CREATE FUNCTION rb_containedby(element integer, bitmap roaringbitmap)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 <@ $2;
CREATE FUNCTION rb_intersect(a roaringbitmap, b roaringbitmap)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 && $2;
CREATE FUNCTION rb_equals(a roaringbitmap, b roaringbitmap)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 = $2;
CREATE FUNCTION rb_not_equals(a roaringbitmap, b roaringbitmap)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 <> $2;
CREATE FUNCTION rb_is_empty(bitmap roaringbitmap)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_is_empty($1);
CREATE FUNCTION rb_cardinality(bitmap roaringbitmap)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_cardinality($1);
CREATE FUNCTION rb_and_cardinality(a roaringbitmap, b roaringbitmap)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_and_cardinality($1, $2);
CREATE FUNCTION rb_or_cardinality(a roaringbitmap, b roaringbitmap)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_or_cardinality($1, $2);
CREATE FUNCTION rb_xor_cardinality(a roaringbitmap, b roaringbitmap)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_xor_cardinality($1, $2);
CREATE FUNCTION rb_andnot_cardinality(a roaringbitmap, b roaringbitmap)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_andnot_cardinality($1, $2);
CREATE FUNCTION rb_jaccard_dist(a roaringbitmap, b roaringbitmap)
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN roaring64_is_empty($1) AND roaring64_is_empty($2) THEN 'NaN'
	ELSE roaring64_jaccard($1, $2) END;

CREATE FUNCTION rb_min(bitmap roaringbitmap)
RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN coalesce(roaring64_min($1 & int8range(0, NULL)), roaring64_min($1));
CREATE FUNCTION rb_max(bitmap roaringbitmap)
RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN coalesce(roaring64_max($1 & int8range(NULL, 0)), roaring64_max($1));
CREATE FUNCTION rb_rank(bitmap roaringbitmap, element integer)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_rank($1, $2) - roaring64_rank($1, -1)
	+ CASE WHEN $2 < 0 THEN roaring64_cardinality($1) ELSE 0 END;
CREATE FUNCTION rb_index(bitmap roaringbitmap, element integer)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CASE WHEN $1 @> $2 THEN rb_rank($1, $2) - 1 ELSE -1 END;
CREATE FUNCTION rb_to_array(bitmap roaringbitmap)
RETURNS integer[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_to_array($1 & int8range(0, NULL)) || roaring64_to_array($1 & int8range(NULL, 0));
CREATE FUNCTION rb_iterate(bitmap roaringbitmap)
RETURNS SETOF integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	-- not by UNION ALL, which may be executed in parallel, in any order
	SELECT e::integer FROM (VALUES (int8range(0, NULL)), (int8range(NULL, 0))) AS r (part),
		roaring64_elements_range($1, part) AS e;
END;

CREATE FUNCTION rb_range(bitmap roaringbitmap, range_start bigint, range_end bigint)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN ($1 & _rb_low($2, $3)) | ($1 & _rb_high($2, $3));
CREATE FUNCTION rb_fill(bitmap roaringbitmap, range_start bigint, range_end bigint)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 | _rb_low($2, $3) | _rb_high($2, $3);
CREATE FUNCTION rb_clear(bitmap roaringbitmap, range_start bigint, range_end bigint)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 - _rb_low($2, $3) - _rb_high($2, $3);
CREATE FUNCTION rb_flip(bitmap roaringbitmap, range_start bigint, range_end bigint)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN $1 # _rb_low($2, $3) # _rb_high($2, $3);
CREATE FUNCTION rb_range_cardinality(bitmap roaringbitmap, range_start bigint, range_end bigint)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN roaring64_cardinality($1, _rb_low($2, $3)) + roaring64_cardinality($1, _rb_high($2, $3));
CREATE FUNCTION rb_select(bitmap roaringbitmap, bitset_limit bigint, bitset_offset bigint DEFAULT 0,
	reverse boolean DEFAULT false, range_start bigint DEFAULT 0, range_end bigint DEFAULT 4294967296)
RETURNS roaringbitmap LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
	SELECT CASE WHEN first >= last THEN '{}'
		ELSE roaring64_slice(low, least(first, n), least(last, n) - least(first, n))
			| roaring64_slice(high, greatest(first - n, 0), greatest(last, n) - greatest(first, n)) END
	FROM (SELECT $1 & _rb_low(range_start, range_end) AS low,
			$1 & _rb_high(range_start, range_end) AS high OFFSET 0) AS halves,
		roaring64_cardinality(low) AS n,
		LATERAL (SELECT n + roaring64_cardinality(high)) AS both_halves (total),
		-- as numeric, since limits are often the largest bigint there is
		LATERAL (SELECT greatest(bitset_offset, 0)::numeric,
			least(greatest(bitset_offset, 0)::numeric + bitset_limit, total)) AS part (a, b),
		LATERAL (SELECT CASE WHEN a >= b THEN 0 WHEN reverse THEN total - b ELSE a END::bigint,
			CASE WHEN a >= b THEN 0 WHEN reverse THEN total - a ELSE b END::bigint) AS place (first, last));

CREATE AGGREGATE rb_build_agg(bigint) (
	SFUNC = _roaring64_agg_transfn, STYPE = roaring64, SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn, COMBINEFUNC = _roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
$names$;
	aggregates text := $aggregates$
CREATE AGGREGATE rb_or_agg(roaring64) (
	SFUNC = _roaring64_or_agg_transfn, STYPE = roaring64, SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn, COMBINEFUNC = _roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
CREATE AGGREGATE rb_or_cardinality_agg(roaring64) (
	SFUNC = _roaring64_or_agg_transfn, STYPE = roaring64, SSPACE = 8192,
	FINALFUNC = _rb_cardinality_finalfn, COMBINEFUNC = _roaring64_or_agg_transfn,
	PARALLEL = SAFE
);
$aggregates$;
	prefix text;
	operation text;
BEGIN
	EXECUTE names;
	EXECUTE replace(replace(replace(replace(replace(replace(replace(replace(replace(names,
		'DEFAULT 4294967296', 'DEFAULT 0'),
		'2147483648', '9223372036854775808'),
		'4294967296', '18446744073709551616'),
		'4294967297', '18446744073709551617'),
		'rb_', 'rb64_'),
		'_rb64_between', '_rb_between'),
		'_rb64_shift', '_rb_shift'),
		'roaringbitmap', 'roaringbitmap64'),
		'integer', 'bigint');
	FOREACH prefix IN ARRAY '{rb,rb64}'::text[] LOOP
		FOREACH operation IN ARRAY '{or,and,xor}'::text[] LOOP
			EXECUTE replace(replace(aggregates, 'rb_or', prefix || '_' || operation),
				'_or_agg', '_' || operation || '_agg');
		END LOOP;
	END LOOP;
END $do$;

COMMENT ON DOMAIN roaringbitmap64 IS 'as in pg_roaringbitmap: a roaring64 by its name there';
COMMENT ON DOMAIN roaringbitmap IS 'as in pg_roaringbitmap: a roaring64 of integers';
COMMENT ON OPERATOR >> (roaring64, bigint) IS 'add to each element, unsigned, without those that leave 64 bits';
COMMENT ON OPERATOR << (roaring64, bigint) IS 'subtract from each element, unsigned, without those that leave 64 bits';

-- The script runs as a superuser, whoever has created the extension, and the schema
-- may have operators and functions that match better than those of pg_catalog.
DO $do$
DECLARE
	member record;
BEGIN
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	FOR member IN SELECT format('%s %s', CASE prokind WHEN 'a' THEN 'AGGREGATE' ELSE 'FUNCTION' END,
			oid::regprocedure) AS identity, proname AS name
		FROM pg_proc JOIN pg_depend ON classid = 'pg_proc'::regclass AND objid = oid AND deptype = 'e'
		WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'roaring64_compat')
	LOOP
		EXECUTE format('COMMENT ON %s IS %L', member.identity, CASE WHEN member.name ~ '^_'
			THEN 'implementation of what pg_roaringbitmap has'
			ELSE 'as in pg_roaringbitmap' END);
	END LOOP;
END $do$;
