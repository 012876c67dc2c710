--
-- Where an element stands in a set.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- smallest and largest, in bigint's order
SELECT s, roaring64_min(s), roaring64_max(s)
FROM (VALUES ('{}'::roaring64),
			 ('{7}'),
			 ('{-1,5}'),
			 ('{-5000000000,-1}'),
			 ('{9223372036854775807,-9223372036854775808,0}')) AS t (s);

-- rank: how many up to and including the value
SELECT x, roaring64_rank('{-10,-1,0,3,70000,5000000000}', x)
FROM unnest('{-9223372036854775808,-11,-10,-1,0,2,3,4,69999,70000,4999999999,5000000000,9223372036854775807}'::bigint[]) AS x;

-- select: from 1, from the end if negative, NULL past either end
SELECT n, roaring64_select('{-10,-1,0,3,70000,5000000000}', n)
FROM unnest('{1,2,5,6,7,-1,-2,-6,-7,9223372036854775807,-9223372036854775808}'::bigint[]) AS n;
SELECT roaring64_select('{}', 1), roaring64_select('{}', -1);
SELECT roaring64_select('{1,2}', 0);

-- nearest elements and gaps
SELECT x, roaring64_next(s, x), roaring64_prev(s, x), roaring64_next_absent(s, x)
FROM (SELECT '{-10,-1,0,1,2,65535,65536,5000000000}'::roaring64) AS t (s),
	 unnest('{-9223372036854775808,-11,-10,-9,-1,0,2,3,65535,65536,65537,4999999999,5000000000,5000000001,9223372036854775807}'::bigint[]) AS x;
SELECT roaring64_next('{}', 0), roaring64_prev('{}', 0), roaring64_next_absent('{}', 0);

-- at the ends of bigint
SELECT roaring64_next(s, 9223372036854775807) AS next,
	   roaring64_prev(s, -9223372036854775808) AS prev,
	   roaring64_rank(s, -9223372036854775808) AS rank,
	   roaring64_next_absent(s, -9223372036854775808) AS next_absent,
	   roaring64_next_absent(s, 9223372036854775807) AS none
FROM (SELECT '{-9223372036854775808,-9223372036854775807,9223372036854775807}'::roaring64) AS t (s);
SELECT roaring64_next_absent(s, 9223372036854775700) AS inside,
	   roaring64_next_absent(s, 9223372036854775800) AS none
FROM (SELECT '[9223372036854775800,)'::int8range::roaring64) AS t (s);

-- in a run over several buckets
SELECT roaring64_min(s), roaring64_max(s),
	   roaring64_rank(s, -1), roaring64_rank(s, 2499999999),
	   roaring64_select(s, 2500000001), roaring64_select(s, 5000000001),
	   roaring64_next(s, -9223372036854775808), roaring64_prev(s, 9223372036854775807),
	   roaring64_next_absent(s, -2500000000)
FROM (SELECT '[-2500000000,2500000000)'::int8range::roaring64) AS t (s) \gx

-- NULL in, NULL out
SELECT roaring64_min(NULL) IS NULL AS min, roaring64_max(NULL) IS NULL AS max,
	   roaring64_rank('{1}', NULL) IS NULL AS rank,
	   roaring64_select('{1}', NULL) IS NULL AS "select",
	   roaring64_next('{1}', NULL) IS NULL AS next,
	   roaring64_prev('{1}', NULL) IS NULL AS prev,
	   roaring64_next_absent('{1}', NULL) IS NULL AS next_absent;

--
-- The same answers as plain SQL, for sets of every shape, asked at some of
-- their elements, next to them, and at the ends
--
CREATE TEMP TABLE shapes AS
SELECT name, v, v::roaring64 AS s
FROM (VALUES
	('empty', '{}'::bigint[]),
	('one', '{0}'),
	('ends', '{-9223372036854775808,-1,0,9223372036854775807}'),
	('borders', (SELECT array_agg(x ORDER BY x)
				 FROM (SELECT sign * (1::bigint << bit) + d
					   FROM unnest('{1,-1}'::int[]) AS sign,
							unnest('{15,16,17,31,32,33,48,62}'::int[]) AS bit,
							generate_series(-1, 1) AS d) AS t (x))),
	('dense', (SELECT array_agg(i) FROM generate_series(-1000, 9000) AS i)),
	('every third', (SELECT array_agg(i * 3) FROM generate_series(0, 25000) AS i)),
	('runs', (SELECT array_agg(i * 100 + d ORDER BY i, d)
			  FROM generate_series(-100, 900) AS i, generate_series(0, 9) AS d)),
	('negative', (SELECT array_agg(i * 7 - 5000000000)
				  FROM generate_series(0, 5000) AS i)),
	('snowflake', (SELECT array_agg(((1279929600000 + i * 37) << 22) | ((i % 4) << 12) | (i % 3) ORDER BY i)
				   FROM generate_series(1::bigint, 3000) AS i)),
	('anywhere', (SELECT array_agg(x ORDER BY x)
				  FROM (SELECT hashint8extended(i, 64)
						FROM generate_series(1, 3000) AS i) AS t (x)))) AS t (name, v);

-- places in the sorted array, and values at them and around
CREATE TEMP TABLE places AS
SELECT DISTINCT name, n
FROM shapes,
	 LATERAL (SELECT generate_series(1, cardinality(v), 1 + cardinality(v) / 30)
			  UNION ALL
			  SELECT unnest(ARRAY[2, cardinality(v) - 1, cardinality(v)])) AS t (n)
WHERE n BETWEEN 1 AND cardinality(v);
CREATE TEMP TABLE probes AS
SELECT name, v[n] + d AS x
FROM shapes JOIN places USING (name), generate_series(-1, 1) AS d
WHERE v[n] BETWEEN -9223372036854775807 AND 9223372036854775806
UNION
SELECT name, x
FROM shapes,
	 unnest('{-9223372036854775808,-4294967296,-1,0,65535,65536,4294967295,9223372036854775807}'::bigint[]) AS x;

SELECT count(*) AS sets,
	   count(*) FILTER (WHERE roaring64_min(s) IS NOT DISTINCT FROM (SELECT min(e) FROM unnest(v) AS e)) AS min,
	   count(*) FILTER (WHERE roaring64_max(s) IS NOT DISTINCT FROM (SELECT max(e) FROM unnest(v) AS e)) AS max
FROM shapes;

SELECT count(*) > 400 AS enough,
	   count(*) FILTER (WHERE roaring64_rank(s, x) IS DISTINCT FROM
						(SELECT count(*) FROM unnest(v) AS e WHERE e <= x)) AS wrong_rank,
	   count(*) FILTER (WHERE roaring64_next(s, x) IS DISTINCT FROM
						(SELECT min(e) FROM unnest(v) AS e WHERE e >= x)) AS wrong_next,
	   count(*) FILTER (WHERE roaring64_prev(s, x) IS DISTINCT FROM
						(SELECT max(e) FROM unnest(v) AS e WHERE e <= x)) AS wrong_prev
FROM shapes JOIN probes USING (name);

-- the first gap follows the end of the run that x is in, or is x
SELECT count(*) > 400 AS enough,
	   count(*) FILTER (WHERE roaring64_next_absent(s, x) IS DISTINCT FROM
						CASE WHEN NOT x = ANY (v) THEN x
							 WHEN gap = 9223372036854775807 THEN NULL
							 ELSE gap + 1 END) AS wrong_next_absent
FROM shapes JOIN probes USING (name),
	 LATERAL (SELECT min(e) AS gap
			  FROM (SELECT e, lead(e) OVER (ORDER BY e) AS after
					FROM unnest(v) AS e WHERE e >= x) AS t
			  WHERE after IS NULL OR after - 1 <> e) AS t;

-- select undoes rank, and agrees with the sorted array from both ends
SELECT count(*) > 200 AS enough,
	   count(*) FILTER (WHERE roaring64_select(s, n) IS DISTINCT FROM v[n]) AS wrong_select,
	   count(*) FILTER (WHERE roaring64_select(s, n - cardinality(v) - 1) IS DISTINCT FROM v[n]) AS wrong_from_end,
	   count(*) FILTER (WHERE roaring64_select(s, roaring64_rank(s, v[n])) IS DISTINCT FROM v[n]) AS wrong_inverse
FROM shapes JOIN places USING (name);
SELECT count(*) AS sets,
	   count(*) FILTER (WHERE roaring64_select(s, cardinality(v) + 1) IS NULL) AS past_end,
	   count(*) FILTER (WHERE roaring64_select(s, - cardinality(v) - 1) IS NULL) AS past_start
FROM shapes;

-- Every range between ids that lie in several containers at both ends of bigint
-- and around zero: in the stored order the most negative id follows the largest.
CREATE TEMPORARY VIEW ids AS
	SELECT i FROM unnest('{-9223372036854775808,-9223372036854775807,-9223372036854710272,-9223372036854644735,
		-9223372032559808512,-4294967297,-4294967296,-131073,-65536,-1,0,65535,65536,131072,4294967295,4294967296,
		9223372032559808511,9223372036854644736,9223372036854710271,9223372036854775806,9223372036854775807}'::bigint[]) AS i;
SELECT count(*) AS ranges,
	count(*) FILTER (WHERE roaring64_cardinality(s, int8range(lo.i, nullif(hi.i, 9223372036854775807) + 1)) <>
					 (SELECT count(*) FROM ids WHERE i BETWEEN lo.i AND hi.i)) AS wrong
FROM ids AS lo JOIN ids AS hi ON lo.i <= hi.i, (SELECT roaring64_agg(i) AS s FROM ids) AS whole;
-- and the same as runs of a set that has both ends
SELECT count(*) AS runs,
	count(*) FILTER (WHERE NOT s @> r) AS lacking,
	count(*) FILTER (WHERE roaring64_next_absent(s, lo) IS DISTINCT FROM CASE WHEN hi < 9223372036854775806 THEN hi + 1 END) AS wrong_absent,
	count(*) FILTER (WHERE (s::int8multirange)::roaring64 <> s) AS wrong_ranges
FROM (SELECT lo.i AS lo, hi.i AS hi, int8range(lo.i, nullif(hi.i, 9223372036854775807) + 1) AS r FROM ids AS lo JOIN ids AS hi ON lo.i <= hi.i
	  WHERE hi.i::numeric - lo.i < 9000000000) AS t,
	LATERAL (SELECT r::roaring64 | '{-9223372036854775808,9223372036854775807}' AS s) AS u;
