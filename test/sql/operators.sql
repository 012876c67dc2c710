--
-- Set operators and tests, of a set with a set, an element or a range
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- | & - #
SELECT '{1,2,3}'::roaring64 | '{3,4}' AS "or", '{1,2,3}'::roaring64 & '{3,4}' AS "and",
	'{1,2,3}'::roaring64 - '{3,4}' AS andnot, '{1,2,3}'::roaring64 # '{3,4}' AS "xor";
SELECT '{}'::roaring64 | '{}' AS "or", '{}'::roaring64 & '{1}' AS "and",
	'{}'::roaring64 - '{1}' AS andnot, '{1}'::roaring64 # '{1}' AS "xor";
SELECT '{-1,1}'::roaring64 | '{-9223372036854775808,9223372036854775807}' AS "or",
	'{-9223372036854775808,0,9223372036854775807}'::roaring64 & '{-9223372036854775808,9223372036854775807}' AS "and",
	'{-9223372036854775808,0,9223372036854775807}'::roaring64 - '{0}' AS andnot,
	'{-9223372036854775808,0}'::roaring64 # '{0,9223372036854775807}' AS "xor";

-- with an element: integer and bigint, a member or not
SELECT '{1,3}'::roaring64 | 2 AS "or", '{1,3}'::roaring64 | 3 AS or_member,
	2 | '{1,3}'::roaring64 AS element_or, 3::bigint | '{1,3}'::roaring64 AS element_or_member;
SELECT '{1,3}'::roaring64 & 2 AS "and", '{1,3}'::roaring64 & 3 AS and_member,
	'{1,3}'::roaring64 - 2 AS andnot, '{1,3}'::roaring64 - 3 AS andnot_member,
	'{1,3}'::roaring64 # 2 AS "xor", '{1,3}'::roaring64 # 3 AS xor_member;
SELECT '{}'::roaring64 | 9223372036854775807 AS last,
	'{}'::roaring64 | '-9223372036854775808'::bigint AS first,
	'{9223372036854775807}'::roaring64 - 9223372036854775807 AS none,
	'{-1}'::roaring64 # (-1) AS gone;

-- with a range: bounds of either kind, none, and the empty range
SELECT '{1,9}'::roaring64 | '[3,5]'::int8range AS "or",
	'{1,4,9}'::roaring64 & '[3,5]'::int8range AS "and",
	'{1,4,9}'::roaring64 - '[3,5]'::int8range AS andnot,
	'{1,4,9}'::roaring64 # '[3,5]'::int8range AS "xor";
SELECT s | 'empty'::int8range AS "or", s & 'empty'::int8range AS "and",
	s - 'empty'::int8range AS andnot, s # 'empty'::int8range AS "xor"
FROM (VALUES ('{1,2}'::roaring64), ('{}')) AS t(s);
SELECT s & '(,0)'::int8range AS negative, s & '[0,)'::int8range AS other,
	s - '(,0)'::int8range AS not_negative, s - '(,)'::int8range AS none,
	s & '(,)'::int8range AS "all", s & '(,-9223372036854775808)'::int8range AS nothing
FROM (VALUES ('{-9223372036854775808,-1,0,9223372036854775807}'::roaring64)) AS t(s);
SELECT '{}'::roaring64 | '[9223372036854775806,)'::int8range AS last_two,
	'{9223372036854775807}'::roaring64 # '[9223372036854775806,)'::int8range AS last_but_one,
	'{9223372036854775807}'::roaring64 - '[9223372036854775806,9223372036854775807)'::int8range AS kept;
SELECT ('{5}'::roaring64 | int8range(-100000, 100000))::int8multirange AS "or",
	('{5}'::roaring64 # int8range(-100000, 100000))::int8multirange AS "xor";
-- too large for a value, on the way in or by complement
SELECT '{5}'::roaring64 | '(,)'::int8range;
SELECT '{5}'::roaring64 # '[0,)'::int8range;

-- NULL in, NULL out
SELECT s | NULL::roaring64 IS NULL, s | NULL::bigint IS NULL,
	s | NULL::int8range IS NULL, NULL::bigint | s IS NULL,
	s @> NULL::bigint IS NULL, NULL::roaring64 && s IS NULL
FROM (VALUES ('{1}'::roaring64)) AS t(s);

-- @> <@ with a set
SELECT a, b, a @> b AS contains, a <@ b AS contained, a && b AS overlaps
FROM (VALUES ('{1,2,3}'::roaring64, '{2}'::roaring64), ('{2}', '{1,2,3}'),
	('{1,2}', '{2,3}'), ('{1,2}', '{1,2}'), ('{1}', '{2}'), ('{}', '{1}'),
	('{1}', '{}'), ('{}', '{}'), ('{-1}', '{1}'),
	('{-9223372036854775808,9223372036854775807}', '{9223372036854775807}')) AS t(a, b);
-- with an element
SELECT s @> 1 AS one, 1 <@ s AS one_in, s @> 2 AS two, (-5)::bigint <@ s AS minus_five,
	s @> 9223372036854775807 AS last, s @> '-9223372036854775808'::bigint AS first
FROM (VALUES ('{1,-5}'::roaring64), ('{}'),
	('{-9223372036854775808,9223372036854775807}')) AS t(s);
-- with a range
SELECT s, r, s @> r AS contains, s <@ r AS contained, s && r AS overlaps
FROM (VALUES ('{1,2,3}'::roaring64), ('{}'),
	('{-9223372036854775808,9223372036854775807}')) AS t(s),
	(VALUES ('[1,3]'::int8range), ('[2,2]'), ('[3,4]'), ('[4,9]'), ('empty'), ('(,)'),
		('[9223372036854775807,)'), ('(,3)'), ('(,-9223372036854775808)')) AS u(r)
ORDER BY r, s;

-- Everything at once, on sets of many shapes, against plain SQL.  The ranges
-- are cut out of the sets' own neighbourhood, as far as SQL can list them.
CREATE TEMP TABLE sample AS
	SELECT shape, a::roaring64 AS s, a
	FROM (
		SELECT 'empty', '{}'::bigint[]
		UNION ALL SELECT 'one', '{7}'
		UNION ALL SELECT 'ends', '{-9223372036854775808,-1,0,9223372036854775807}'
		UNION ALL SELECT 'borders', '{-65537,-65536,-1,0,65535,65536,131071,4294967295,4294967296}'
		UNION ALL SELECT 'few', (SELECT array_agg(i * 7) FROM generate_series(-40::bigint, 40) AS i)
		UNION ALL SELECT 'sparse', (SELECT array_agg(i * 4294967291) FROM generate_series(-200::bigint, 200) AS i)
		UNION ALL SELECT 'array', (SELECT array_agg(i * 16) FROM generate_series(-2000::bigint, 4095) AS i)
		UNION ALL SELECT 'bitset', (SELECT array_agg(i * 3) FROM generate_series(-3000::bigint, 5000) AS i)
		UNION ALL SELECT 'run', (SELECT array_agg(i) FROM generate_series(-2000::bigint, 6000) AS i)
		UNION ALL SELECT 'runs', (SELECT array_agg(i) FROM generate_series(-9000::bigint, 9000) AS i WHERE i % 100 < 90)
		UNION ALL SELECT 'full', (SELECT array_agg(i) FROM generate_series(0::bigint, 65535) AS i)
		UNION ALL SELECT 'snowflakes', (SELECT array_agg((1279929600000 + i * 37) << 22 | (i * 7919 % 4) << 12 | i % 3)
										FROM generate_series(1::bigint, 3000) AS i)
	) AS t(shape, a);

CREATE FUNCTION pg_temp.sorted(q anyarray) RETURNS anyarray
LANGUAGE sql AS $$ SELECT coalesce(array_agg(DISTINCT v ORDER BY v), '{}') FROM unnest(q) AS v $$;

-- pairs of which an operator differs from plain SQL; none
SELECT x.shape, y.shape
FROM sample AS x, sample AS y,
	LATERAL (SELECT
		ARRAY(SELECT unnest(x.a) INTERSECT SELECT unnest(y.a) ORDER BY 1) AS common,
		ARRAY(SELECT unnest(x.a) EXCEPT SELECT unnest(y.a) ORDER BY 1) AS only_x,
		ARRAY(SELECT unnest(y.a) EXCEPT SELECT unnest(x.a) ORDER BY 1) AS only_y
		OFFSET 0) AS q		-- computed once a pair
WHERE (x.s | y.s)::bigint[] IS DISTINCT FROM pg_temp.sorted(x.a || y.a)
	OR (x.s & y.s)::bigint[] IS DISTINCT FROM common
	OR (x.s - y.s)::bigint[] IS DISTINCT FROM only_x
	OR (x.s # y.s)::bigint[] IS DISTINCT FROM pg_temp.sorted(only_x || only_y)
	OR (x.s @> y.s) IS DISTINCT FROM (only_y = '{}')
	OR (x.s <@ y.s) IS DISTINCT FROM (only_x = '{}')
	OR (x.s && y.s) IS DISTINCT FROM (common <> '{}');

-- elements: each set's own, their neighbours and the ends of bigint
SELECT DISTINCT shape
FROM sample,
	LATERAL (SELECT unnest(a[1:3]) UNION SELECT unnest(a[cardinality(a) - 2:])
			 UNION SELECT unnest(a[1:3]) # 1 UNION SELECT 0
			 UNION SELECT 9223372036854775807 UNION SELECT '-9223372036854775808'::bigint) AS q(e)
WHERE (s | e)::bigint[] IS DISTINCT FROM pg_temp.sorted(a || e)
	OR (e | s)::bigint[] IS DISTINCT FROM pg_temp.sorted(a || e)
	OR (s & e)::bigint[] IS DISTINCT FROM CASE WHEN e = ANY (a) THEN ARRAY[e] ELSE '{}' END
	OR (s - e)::bigint[] IS DISTINCT FROM pg_temp.sorted(array_remove(a, e))
	OR (s # e)::bigint[] IS DISTINCT FROM CASE WHEN e = ANY (a) THEN pg_temp.sorted(array_remove(a, e))
								 ELSE pg_temp.sorted(a || e) END
	OR (s @> e) IS DISTINCT FROM (e = ANY (a))
	OR (e <@ s) IS DISTINCT FROM (e = ANY (a));

-- ranges
SELECT DISTINCT shape, r
FROM sample,
	(VALUES ('empty'::int8range), ('[7,7]'), ('[0,0]'), ('[-1,0]'), ('[-100,101)'),
		('[0,65536)'), ('[65535,65536]'), ('[-70000,-65000]'), ('[100,20000]')) AS q(r),
	LATERAL (SELECT ARRAY(SELECT generate_series(lower(r), upper(r) - 1)) AS listed OFFSET 0) AS l,
	LATERAL (SELECT ARRAY(SELECT v FROM unnest(a) AS v WHERE v <@ r ORDER BY 1) AS inside,
				ARRAY(SELECT v FROM unnest(a) AS v WHERE NOT v <@ r ORDER BY 1) AS outside
			 OFFSET 0) AS p
WHERE (s | r)::bigint[] IS DISTINCT FROM pg_temp.sorted(a || listed)
	OR (s & r)::bigint[] IS DISTINCT FROM inside
	OR (s - r)::bigint[] IS DISTINCT FROM outside
	OR (s # r)::bigint[] IS DISTINCT FROM pg_temp.sorted(outside ||
		ARRAY(SELECT unnest(listed) EXCEPT SELECT unnest(inside)))
	OR (s @> r) IS DISTINCT FROM (cardinality(inside) = cardinality(listed))
	OR (s <@ r) IS DISTINCT FROM (outside = '{}')
	OR (s && r) IS DISTINCT FROM (inside <> '{}');

-- what comes out is canonical: it is what its own elements make
SELECT x.shape, y.shape
FROM sample AS x, sample AS y,
	LATERAL (VALUES (x.s | y.s), (x.s & y.s), (x.s - y.s), (x.s # y.s)) AS q(r)
WHERE r::bigint[]::roaring64::bytea <> r::bytea;

-- the functions behind the operators answer as well
SELECT roaring64_or('{1}', '{2}'), roaring64_element_or('3', '{1}'),
	roaring64_and_element('{1,2}', 2), roaring64_andnot_range('{1,2}', '[2,3]'::int8range),
	roaring64_xor('{1,2}', '{2,3}'),
	roaring64_contains_element('{1}', '1'), roaring64_element_contained(1, '{1}'),
	roaring64_overlaps_range('{1}', '[0,2]'::int8range);

-- an operand of no known type is a set, as with any operator
SELECT '{1,2}'::roaring64 & '{2}', '{1}'::roaring64 @> '{}', '{1}' <@ '{1}'::roaring64;
SELECT '{1}'::roaring64 | '5';
\set VERBOSITY terse
SELECT '{1}'::roaring64 | 1.5;
SELECT 1 - '{1}'::roaring64;
\set VERBOSITY default

-- a range is an int8range, or of a domain over that
CREATE DOMAIN seats AS int8range;
SELECT '{1,2}'::roaring64 & '[2,3]'::seats AS inside;
SELECT '{1,2}'::roaring64 & '[2,3]'::int4range;
SELECT '{1,2}'::roaring64 && daterange('2026-01-01', NULL);
DROP DOMAIN seats;
-- every operator, its commutator and its estimators
SELECT oprname AS name, oprleft::regtype AS "left", oprright::regtype AS "right",
	oprcode::regproc AS function, oprcom::regoperator AS commutator,
	oprrest AS restrict, oprjoin AS "join"
FROM pg_operator
WHERE 'roaring64'::regtype IN (oprleft, oprright)
	AND oprname NOT IN ('=', '<>', '<', '<=', '>', '>=')
ORDER BY oprname COLLATE "C", oprleft::regtype::text COLLATE "C", oprright::regtype::text COLLATE "C";
