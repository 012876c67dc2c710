--
-- A set cut into pages and chunks, or moved.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- slice: leave out so many, keep so many
SELECT o, l, roaring64_slice('{-10,-1,0,3,70000,5000000000}', o, l)
FROM (VALUES (0::bigint, 2::bigint), (1, 3), (4, 2), (4, 100), (5, 1), (6, 1),
			 (100, 1), (0, 0), (0, NULL), (4, NULL), (6, NULL),
			 (9223372036854775807, 9223372036854775807),
			 (1, 9223372036854775807)) AS t (o, l);
SELECT roaring64_slice('{1,2,3}', 1);
SELECT roaring64_slice('{1,2,3}', n => 1, skip => 2);
SELECT roaring64_slice('{}', 0, 10);
SELECT roaring64_slice(NULL, 0, 1) IS NULL AS s, roaring64_slice('{1}', NULL, 1) IS NULL AS o;
SELECT roaring64_slice('{1}', -1, 1);
SELECT roaring64_slice('{1}', 0, -1);

-- first and last: pages in both directions
SELECT roaring64_first(s, 3), roaring64_first(s, 3, 4), roaring64_first(s, 3, 8),
	   roaring64_first(s, 3, 11), roaring64_first(s, 100), roaring64_first(s, 0)
FROM (SELECT '{2,3,4,6,8,10,11}'::roaring64) AS t (s);
SELECT roaring64_last(s, 3), roaring64_last(s, 3, 8), roaring64_last(s, 3, 3),
	   roaring64_last(s, 3, 2), roaring64_last(s, 100), roaring64_last(s, 0)
FROM (SELECT '{2,3,4,6,8,10,11}'::roaring64) AS t (s);
SELECT roaring64_first(s, 2, after => -2), roaring64_last(s, 2, before => 1)
FROM (SELECT '{-3,-2,-1,0,1,2}'::roaring64) AS t (s);
SELECT roaring64_first('{}', 3), roaring64_last('{}', 3);
-- more than there are, or could be
SELECT roaring64_first('{1,2}', 2147483647), roaring64_last('{1,2}', 2147483647);
-- at the ends of bigint
SELECT roaring64_first(s, 5, 9223372036854775807) AS after_last,
	   roaring64_first(s, 5, 9223372036854775806) AS last,
	   roaring64_first(s, 1, -9223372036854775808) AS second,
	   roaring64_last(s, 5, -9223372036854775808) AS before_first,
	   roaring64_last(s, 5, -9223372036854775807) AS first,
	   roaring64_last(s, 1, 9223372036854775807) AS last_but_one
FROM (SELECT '{-9223372036854775808,0,9223372036854775807}'::roaring64) AS t (s);
SELECT roaring64_first(NULL, 1) IS NULL AS s, roaring64_first('{1}', NULL) IS NULL AS n,
	   roaring64_first('{1}', 1, NULL) AS after;
SELECT roaring64_last(NULL, 1) IS NULL AS s, roaring64_last('{1}', NULL) IS NULL AS n,
	   roaring64_last('{1}', 1, NULL) AS before;
SELECT roaring64_first('{1}', -1);
SELECT roaring64_last('{1}', -1);
-- a page that no array can hold
SELECT roaring64_first('[0,200000000)'::int8range::roaring64, 200000000);

-- split: chunks of 2^bits, the ids as they are
SELECT * FROM roaring64_split('{-70000,-65536,-1,0,3,65535,65536,5000000000}', 16);
SELECT * FROM roaring64_split('{-9223372036854775808,-1,0,9223372036854775807}', 63);
SELECT * FROM roaring64_split('{-9223372036854775808,-1,0,9223372036854775807}', 0);
SELECT * FROM roaring64_split('{-9223372036854775808,-1,0,9223372036854775807}', 62);
SELECT * FROM roaring64_split('{}', 16);
SELECT * FROM roaring64_split(NULL, 16);
SELECT * FROM roaring64_split('{1}', NULL);
SELECT * FROM roaring64_split('{1}', -1);
SELECT * FROM roaring64_split('{1}', 64);

-- shift
SELECT d, roaring64_shift('{-10,-1,0,3,70000,5000000000}', d)
FROM unnest('{0,1,-1,10,65536,-65536,4294967296,-70001,9223372031854775807,-9223372036854775798}'::bigint[]) AS d;
SELECT roaring64_shift('{}', 9223372036854775807), roaring64_shift('{}', -9223372036854775808);
SELECT roaring64_shift('{-9223372036854775808}', 9223372036854775807),
	   roaring64_shift('{9223372036854775807}', -9223372036854775808);
SELECT roaring64_shift('{0}', -9223372036854775808);
SELECT roaring64_shift('{1,2}', 9223372036854775806);
SELECT roaring64_shift('{-1,5}', -9223372036854775808);
SELECT roaring64_shift(NULL, 1) IS NULL AS s, roaring64_shift('{1}', NULL) IS NULL AS delta;

--
-- The same answers as plain SQL, for sets of every shape
--
CREATE TEMP TABLE shapes AS
SELECT name, v, v::roaring64 AS s
FROM (VALUES
	('empty', '{}'::bigint[]),
	('one', '{0}'),
	('borders', (SELECT array_agg(x ORDER BY x)
				 FROM (SELECT sign * (1::bigint << bit) + d
					   FROM unnest('{1,-1}'::int[]) AS sign,
							unnest('{15,16,17,31,32,33,48,61}'::int[]) AS bit,
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
				  FROM (SELECT hashint8extended(i, 64) / 2
						FROM generate_series(1, 3000) AS i) AS t (x)))) AS t (name, v);

SELECT count(*) AS slices,
	   count(*) FILTER (WHERE roaring64_slice(s, o, l) = v[o + 1 : o + l]::roaring64) AS slice
FROM shapes,
	 unnest('{0,1,2,7,100,4095,4096,10000}'::int[]) AS o,
	 unnest('{0,1,3,100,5000,100000}'::int[]) AS l;

-- pages put together are the whole, forward and backward
WITH RECURSIVE pages AS (
	SELECT name, s, roaring64_first(s, 1000) AS page, 1 AS n FROM shapes
	UNION ALL
	SELECT name, s, roaring64_first(s, 1000, page[1000]), n + 1 FROM pages
	WHERE cardinality(page) = 1000)
SELECT count(*) AS sets, count(*) FILTER (WHERE found = v) AS first
FROM shapes JOIN (SELECT name, ARRAY(SELECT unnest(p.page) FROM pages AS p
									 WHERE p.name = q.name ORDER BY n) AS found
				  FROM pages AS q GROUP BY name) AS t USING (name);
WITH RECURSIVE pages AS (
	SELECT name, s, roaring64_last(s, 1000) AS page, 1 AS n FROM shapes
	UNION ALL
	SELECT name, s, roaring64_last(s, 1000, page[1000]), n + 1 FROM pages
	WHERE cardinality(page) = 1000)
SELECT count(*) AS sets,
	   count(*) FILTER (WHERE found = ARRAY(SELECT unnest(v) AS e ORDER BY e DESC)) AS last
FROM shapes JOIN (SELECT name, ARRAY(SELECT unnest(p.page) FROM pages AS p
									 WHERE p.name = q.name ORDER BY n) AS found
				  FROM pages AS q GROUP BY name) AS t USING (name);

-- chunks: each element in its own, none lost, in order
SELECT count(*) AS splits,
	   count(*) FILTER (WHERE chunks = expected) AS split,
	   count(*) FILTER (WHERE total = cardinality(v)) AS total
FROM shapes, unnest('{4,10,16,22,32,40,63}'::int[]) AS bits,
	 LATERAL (SELECT array_agg(ROW(chunk, roaring64_to_array(ids))::text ORDER BY n) AS chunks,
					 coalesce(sum(roaring64_cardinality(ids)), 0) AS total
			  FROM roaring64_split(s, bits) WITH ORDINALITY AS t (chunk, ids, n)) AS a,
	 LATERAL (SELECT array_agg(ROW(chunk, ids)::text ORDER BY chunk) AS expected
			  FROM (SELECT e >> bits AS chunk, array_agg(e ORDER BY e) AS ids
					FROM unnest(v) AS e GROUP BY 1) AS t) AS b
WHERE cardinality(v) > 0;

SELECT count(*) AS shifts,
	   count(*) FILTER (WHERE roaring64_shift(s, d)::bytea =
						ARRAY(SELECT e + d FROM unnest(v) AS e)::roaring64::bytea) AS shift
FROM shapes,
	 unnest('{0,1,-1,100,-7,65535,65536,-65536,4294967295,4294967296,-4294967296,8589934592,1099511627777}'::bigint[]) AS d;

--
-- Samples
--
SELECT roaring64_sample('{1,2,3}', 0, 1), roaring64_sample('{1,2,3}', 3, 1), roaring64_sample('{1,2,3}', 9223372036854775807, 1),
	   roaring64_sample('{}', 5, 1), roaring64_sample('{1}', NULL, 1) IS NULL AS "null";
-- the same for the same seed, on every machine
SELECT roaring64_sample(int8range(1, 1001)::roaring64, 5, 42), roaring64_sample(int8range(-3, 5)::roaring64, 6, -1);
SELECT roaring64_sample('{1}', -1, 1);
SELECT roaring64_sample(int8range(0, 1000000000000)::roaring64, 500000000000, 1);
-- a few of four trillion, without listing them
SELECT roaring64_cardinality(roaring64_sample(int8range(0, 4000000000000)::roaring64, 1000, 1));
-- size, origin, and nothing twice, whatever the shape and the number
SELECT count(*) > 100 AS samples, count(*) FILTER (WHERE roaring64_cardinality(r) <> least(n, roaring64_cardinality(s)) OR NOT r <@ s) AS wrong
FROM (VALUES ((SELECT roaring64_agg(hashint8extended(i, 3)) FROM generate_series(1, 2000) AS i)),
			 ((SELECT roaring64_agg(-i * i) FROM generate_series(1, 3000::bigint) AS i)),
			 (int8range(-70000, 200000)::roaring64 - int8range(5, 500) - 77777), ('{-1,5}')) AS t (s),
	 unnest(ARRAY[0, 1, 2, 10, 63, 64, 65, 500, 1000, 1999, 2000, 5000, 100000, 134000, 136000, 269000]) AS n, generate_series(1, 3) AS seed,
	 LATERAL (SELECT roaring64_sample(s, n, seed) AS r OFFSET 0) AS q;
-- Every one of the 120 triples of 10 elements is as likely as any other: of
-- 12,000 samples each gets about 100.  Chi-squared with 119 degrees of freedom
-- exceeds 180 once in 4,000; so do samples of 7, which are what 3 are left out of.
SELECT n, count(*) AS different, sum((times - 100)^2 / 100) < 180 AS uniform
FROM (SELECT n, s, count(*) AS times
	  FROM unnest(ARRAY[3, 7]) AS n, generate_series(1, 12000) AS seed,
		   roaring64_sample('{-9000000000000000000,-5,-4,0,1,65535,65536,4294967296,4294967297,9000000000000000000}', n, seed) AS s
	  GROUP BY n, s) AS t GROUP BY n ORDER BY n;

-- the element that cannot be shifted
SELECT roaring64_shift('{1,9223372036854775800}', 8);
SELECT roaring64_shift('{-9223372036854775800,5}', -9);
