--
-- How many elements a set, a range of it, or a pair of sets has.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- one set
SELECT s, roaring64_cardinality(s), roaring64_is_empty(s)
FROM (VALUES ('{}'::roaring64),
			 ('{0}'),
			 ('{-1,0,1}'),
			 ('{-9223372036854775808,9223372036854775807}')) AS t (s);

-- more elements than 32 bits count, in few bytes
SELECT roaring64_cardinality('[-2500000000,2500000000)'::int8range::roaring64);

-- a range of it; an infinite bound is the first or last bigint
SELECT r, roaring64_cardinality('{-9223372036854775808,-7,-1,0,1,5,70000,5000000000,9223372036854775807}', r)
FROM (VALUES ('empty'::int8range),
			 ('[0,0]'),
			 ('[2,4]'),
			 ('[1,5)'),
			 ('[1,5]'),
			 ('(1,5]'),
			 ('[-7,0)'),
			 ('[-1,1]'),
			 ('[5,5000000000]'),
			 ('(,0)'),
			 ('[0,)'),
			 ('[9223372036854775807,)'),
			 ('(,-9223372036854775807)'),
			 ('(,-9223372036854775808)'),
			 ('(,)')) AS t (r);

-- pairs
SELECT a, b,
	   roaring64_and_cardinality(a, b) AS "and",
	   roaring64_or_cardinality(a, b) AS "or",
	   roaring64_xor_cardinality(a, b) AS "xor",
	   roaring64_andnot_cardinality(a, b) AS "andnot",
	   roaring64_jaccard(a, b) AS jaccard
FROM (VALUES ('{}'::roaring64, '{}'::roaring64),
			 ('{}', '{1,2}'),
			 ('{1,2}', '{}'),
			 ('{1,2,3,4}', '{3,4,5,6}'),
			 ('{-1,1}', '{-1,1}'),
			 ('{-1}', '{9223372036854775807}'),
			 ('{1,2,3,70000,5000000000}', '{3,70000,70001}')) AS t (a, b);

-- NULL in, NULL out
SELECT roaring64_cardinality(NULL) IS NULL AS cardinality,
	   roaring64_cardinality('{1}', NULL) IS NULL AS in_range,
	   roaring64_is_empty(NULL) IS NULL AS is_empty,
	   roaring64_and_cardinality('{1}', NULL) IS NULL AS "and",
	   roaring64_jaccard(NULL, '{1}') IS NULL AS jaccard;

--
-- The same answers as plain SQL, for sets of every shape and all pairs
--
CREATE TEMP TABLE shapes AS
SELECT name, v, v::roaring64 AS s
FROM (VALUES
	('empty', '{}'::bigint[]),
	('one', '{0}'),
	('ends', '{-9223372036854775808,-1,0,9223372036854775807}'),
	('borders', (SELECT array_agg(sign * (1::bigint << bit) + d)
				 FROM unnest('{1,-1}'::int[]) AS sign,
					  unnest('{15,16,17,31,32,33,48,62}'::int[]) AS bit,
					  generate_series(-1, 1) AS d)),
	('dense', (SELECT array_agg(i) FROM generate_series(-1000, 20000) AS i)),
	('every third', (SELECT array_agg(i * 3) FROM generate_series(0, 20000) AS i)),
	('runs', (SELECT array_agg(i * 100 + d)
			  FROM generate_series(-100, 900) AS i, generate_series(0, 9) AS d)),
	('negative', (SELECT array_agg(i * 7 - 5000000000)
				  FROM generate_series(0, 5000) AS i)),
	('snowflake', (SELECT array_agg(((1279929600000 + i * 37) << 22) | ((i % 4) << 12) | (i % 3))
				   FROM generate_series(1::bigint, 3000) AS i)),
	('anywhere', (SELECT array_agg(hashint8extended(i, 64))
				  FROM generate_series(1, 3000) AS i))) AS t (name, v);

SELECT count(*) AS sets,
	   count(*) FILTER (WHERE roaring64_cardinality(s) = cardinality(v)) AS cardinality,
	   count(*) FILTER (WHERE roaring64_is_empty(s) = (cardinality(v) = 0)) AS is_empty
FROM shapes;

SELECT count(*) AS ranges,
	   count(*) FILTER (WHERE roaring64_cardinality(s, r) =
						(SELECT count(*) FROM unnest(v) AS e WHERE e <@ r)) AS cardinality
FROM shapes,
	 (SELECT int8range(lo, hi)
	  FROM unnest('{NULL,-5000000000,-70000,-1,0,1,65535,65536,4294967296}'::bigint[]) AS lo,
		   unnest('{NULL,-4999999993,-65536,0,1,9999,65536,131072,4294967297}'::bigint[]) AS hi
	  WHERE lo IS NULL OR hi IS NULL OR lo <= hi) AS t (r);

SELECT count(*) AS pairs,
	   count(*) FILTER (WHERE roaring64_and_cardinality(a.s, b.s) = n) AS "and",
	   count(*) FILTER (WHERE roaring64_or_cardinality(a.s, b.s) =
						cardinality(a.v) + cardinality(b.v) - n) AS "or",
	   count(*) FILTER (WHERE roaring64_xor_cardinality(a.s, b.s) =
						cardinality(a.v) + cardinality(b.v) - 2 * n) AS "xor",
	   count(*) FILTER (WHERE roaring64_andnot_cardinality(a.s, b.s) =
						cardinality(a.v) - n) AS "andnot"
FROM shapes AS a, shapes AS b,
	 LATERAL (SELECT count(*) AS n
			  FROM (SELECT unnest(a.v) INTERSECT SELECT unnest(b.v)) AS t) AS t;

-- and as sets that are made and then counted
SELECT count(*) AS pairs,
	   count(*) FILTER (WHERE roaring64_and_cardinality(a.s, b.s) = roaring64_cardinality(a.s & b.s)) AS "and",
	   count(*) FILTER (WHERE roaring64_or_cardinality(a.s, b.s) = roaring64_cardinality(a.s | b.s)) AS "or",
	   count(*) FILTER (WHERE roaring64_xor_cardinality(a.s, b.s) = roaring64_cardinality(a.s # b.s)) AS "xor",
	   count(*) FILTER (WHERE roaring64_andnot_cardinality(a.s, b.s) = roaring64_cardinality(a.s - b.s)) AS "andnot"
FROM shapes AS a, shapes AS b;

--
-- Of many sets at once, against what the operators make
--
SELECT roaring64_and_cardinality('{1,2,3}', '{2,3,4}', '{3,4}') AS "and",
	   roaring64_or_cardinality('{1,2,3}', '{2,3,4}', '{-1}') AS "or",
	   roaring64_xor_cardinality('{1,2,3}', '{2,3,4}', '{3,4}') AS "xor",
	   roaring64_andnot_cardinality('{1,2,3}', '{2}', '{3,4}') AS andnot;
-- one, none, NULL
SELECT roaring64_and_cardinality('{1,2}'), roaring64_andnot_cardinality('{1,2}'),
	   roaring64_or_cardinality(VARIADIC '{}'), roaring64_and_cardinality(VARIADIC '{}'::roaring64[]),
	   roaring64_or_cardinality(VARIADIC NULL) IS NULL AS "null", roaring64_or_cardinality('{1}', NULL, '{2}') IS NULL AS "null";
-- two are not counted as an array
EXPLAIN (COSTS OFF) SELECT FROM shapes WHERE roaring64_or_cardinality(s, s) > 5;
-- all triples of shapes, and all of them at once; stored, so that some are compressed
SELECT count(*) > 500 AS triples,
	   count(*) FILTER (WHERE roaring64_and_cardinality(a.s, b.s, c.s) <> roaring64_cardinality(a.s & b.s & c.s)
						OR roaring64_or_cardinality(a.s, b.s, c.s) <> roaring64_cardinality(a.s | b.s | c.s)
						OR roaring64_xor_cardinality(a.s, b.s, c.s) <> roaring64_cardinality(a.s # b.s # c.s)
						OR roaring64_andnot_cardinality(a.s, b.s, c.s) <> roaring64_cardinality(a.s - b.s - c.s)) AS wrong
FROM shapes AS a, shapes AS b, shapes AS c;
-- up to fourteen of them, an odd number and an even one, some twice
WITH numbered AS (SELECT s, row_number() OVER (ORDER BY roaring64_cardinality(s), s) AS i FROM shapes),
	 many AS (SELECT array_agg(s ORDER BY i * k % 17) AS sets, roaring64_or_cardinality_agg(s) AS "or",
					 roaring64_and_cardinality_agg(s) AS "and", roaring64_xor_cardinality_agg(s) AS "xor"
			  FROM generate_series(1, 14) AS n CROSS JOIN generate_series(1, 16) AS k
			  CROSS JOIN generate_series(1, n) AS m JOIN numbered ON i = 1 + (m * m + k) % (SELECT count(*) FROM shapes)
			  GROUP BY n, k)
SELECT count(*) AS combinations, min(array_length(sets, 1)) AS least, max(array_length(sets, 1)) AS most,
	   count(*) FILTER (WHERE roaring64_or_cardinality(VARIADIC sets) <> "or"
						OR roaring64_and_cardinality(VARIADIC sets) <> "and"
						OR roaring64_xor_cardinality(VARIADIC sets) <> "xor"
						OR roaring64_andnot_cardinality(VARIADIC sets) <>
						   roaring64_cardinality(sets[1] - (SELECT coalesce(roaring64_or_agg(s), '{}') FROM unnest(sets[2:]) AS s))) AS wrong
FROM many;
