--
-- A set as rows: its elements, its runs, a histogram of it, what it is made
-- of.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- elements, in bigint's order
SELECT * FROM roaring64_elements('{5,-1,70000,5000000000,-9223372036854775808,9223372036854775807}');
SELECT * FROM roaring64_elements('{5,-1,70000,5000000000,-9223372036854775808,9223372036854775807}', true);
SELECT * FROM roaring64_elements('{5,-1,70000}', reverse => false);
SELECT * FROM roaring64_elements('{}');
SELECT * FROM roaring64_elements(NULL);

-- those of a range
SELECT r, ARRAY(SELECT roaring64_elements_range(s, r)) AS up,
	   ARRAY(SELECT roaring64_elements_range(s, r, true)) AS down
FROM (SELECT '{-9223372036854775808,-3,-1,0,5,65536,9223372036854775807}'::roaring64) AS t (s),
	 unnest('{"empty","[-1,5)","[-1,5]","(-1,5]","[6,65535]","(,0)","[0,)","(,)","(,-9223372036854775808)"}'::int8range[]) AS r;
SELECT * FROM roaring64_elements_range('{1}', NULL);

-- batches are 512: at their ends, above and below
SELECT n, array_agg(e ORDER BY o) = ARRAY(SELECT generate_series(1::bigint, n)) AS up,
	   (SELECT array_agg(e ORDER BY o) FROM roaring64_elements(s, true) WITH ORDINALITY AS t (e, o)) =
	   ARRAY(SELECT generate_series(n::bigint, 1, -1)) AS down
FROM unnest('{511,512,513,1023,1024,1025,5000}'::int[]) AS n,
	 LATERAL (SELECT int8range(1, n, '[]')::roaring64 AS s) AS a,
	 LATERAL roaring64_elements(s) WITH ORDINALITY AS b (e, o)
GROUP BY n, s ORDER BY n;
-- a batch that ends with the last bigint, or the first
SELECT count(*), min(e), max(e) FROM roaring64_elements('[9223372036854775296,)'::int8range::roaring64) AS e;
SELECT count(*), min(e), max(e) FROM roaring64_elements('[-9223372036854775808,-9223372036854775296)'::int8range::roaring64, true) AS e;

-- Rows are made as they are asked for: these would not come to an end
-- otherwise.
CREATE TEMP TABLE huge AS
SELECT '[-2500000000,2500000000)'::int8range::roaring64 AS s;
SELECT roaring64_elements(s) FROM huge LIMIT 3;
SELECT roaring64_elements_range(s, '[10,)', true) FROM huge LIMIT 3;
BEGIN;
DECLARE c CURSOR FOR SELECT roaring64_elements(s) FROM huge;
FETCH 2 FROM c;
MOVE 1000 IN c;
FETCH 2 FROM c;
COMMIT;

-- several at once in one list, and one per row of a join
SELECT roaring64_elements('{1,2}') AS a, roaring64_elements('{3,4,5}', true) AS b,
	   roaring64_ranges('{1,2,9}') AS c;
SELECT k, e FROM (VALUES (1, '{10,11}'::roaring64), (2, '{}'), (3, '{-5}')) AS t (k, s)
	LEFT JOIN LATERAL roaring64_elements(s) AS e ON true;

-- ranges
SELECT * FROM roaring64_ranges('{-3,-2,-1,0,1,5,65535,65536,4294967295,4294967296}');
SELECT * FROM roaring64_ranges('{-9223372036854775808,9223372036854775806,9223372036854775807}');
SELECT * FROM roaring64_ranges('{}');
SELECT * FROM roaring64_ranges(NULL);
SELECT roaring64_ranges(s) FROM huge;

-- histogram
SELECT * FROM roaring64_histogram('{0,1,2,50,99}', 4);
SELECT * FROM roaring64_histogram('{0,1,2,50,100}', 4);
SELECT * FROM roaring64_histogram('{-5,-4,3}', 3);
SELECT * FROM roaring64_histogram('{1,2,3}', 100);
SELECT * FROM roaring64_histogram('{7}', 5);
SELECT * FROM roaring64_histogram('{-9223372036854775808,-1,0,9223372036854775807}', 1);
SELECT * FROM roaring64_histogram('{-9223372036854775808,-1,0,9223372036854775807}', 2);
SELECT * FROM roaring64_histogram('{-9223372036854775808,-1,0,9223372036854775807}', 3);
SELECT h.* FROM huge, roaring64_histogram(s, 5) AS h;
SELECT * FROM roaring64_histogram('{}', 5);
SELECT * FROM roaring64_histogram(NULL, 5);
SELECT * FROM roaring64_histogram('{1}', NULL);
\set SHOW_CONTEXT never
SELECT * FROM roaring64_histogram('{1}', 0);
SELECT * FROM roaring64_histogram('{1}', -1);
\set SHOW_CONTEXT errors
-- ten ranges unless told otherwise; any element shows, and the fullest range has the longest bar
SELECT * FROM roaring64_histogram((int8range(0, 1000)::roaring64 | int8range(2000, 2500) | 4700) | 9999);

-- what a value is made of
SELECT * FROM roaring64_stats('{}');
SELECT * FROM roaring64_stats('{1}');
SELECT * FROM roaring64_stats('{-1,1,70000}');
SELECT (roaring64_stats(('[0,65536)'::int8range::roaring64 | '{65536,65538,131072}')
						| ARRAY(SELECT generate_series(-10000, -1, 2))::roaring64)).*;
SELECT (roaring64_stats(s)).cardinality, (roaring64_stats(s)).bytes = octet_length(s::bytea) AS bytes
FROM huge;
SELECT roaring64_stats(NULL);

--
-- The same answers as plain SQL, for sets of every shape, and the same from
-- a table, where values are short, compressed, or out of line
--
CREATE TEMP TABLE shapes (name text, v bigint[], s roaring64, compressed roaring64);
ALTER TABLE shapes ALTER COLUMN s SET STORAGE EXTERNAL;
INSERT INTO shapes
SELECT name, v, v::roaring64, v::roaring64
FROM (VALUES
	('empty', '{}'::bigint[]),
	('one', '{0}'),
	('ends', '{-9223372036854775808,-1,0,9223372036854775807}'),
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
				  FROM (SELECT hashint8extended(i, 64)
						FROM generate_series(1, 3000) AS i) AS t (x)))) AS t (name, v);
SELECT bool_or(pg_column_size(compressed) < octet_length(compressed::bytea)) AS some_compressed,
	   bool_or(pg_column_size(s) > 8000) AS some_out_of_line
FROM shapes;

SELECT count(*) AS sets,
	   count(*) FILTER (WHERE ARRAY(SELECT roaring64_elements(s)) = v) AS elements,
	   count(*) FILTER (WHERE ARRAY(SELECT roaring64_elements(compressed)) = v) AS compressed,
	   count(*) FILTER (WHERE ARRAY(SELECT roaring64_elements(s, true)) =
						ARRAY(SELECT unnest(v) AS e ORDER BY e DESC)) AS reverse
FROM shapes;

SELECT count(*) AS ranges,
	   count(*) FILTER (WHERE ARRAY(SELECT roaring64_elements_range(s, r)) =
						ARRAY(SELECT e FROM unnest(v) AS e WHERE e <@ r ORDER BY e)) AS elements,
	   count(*) FILTER (WHERE ARRAY(SELECT roaring64_elements_range(s, r, true)) =
						ARRAY(SELECT e FROM unnest(v) AS e WHERE e <@ r ORDER BY e DESC)) AS reverse
FROM shapes,
	 (SELECT int8range(lo, hi)
	  FROM unnest('{NULL,-5000000000,-70000,-1,0,1,65535,65536,4294967296}'::bigint[]) AS lo,
		   unnest('{NULL,-4999999993,-65536,0,1,9999,65536,131072,4294967297}'::bigint[]) AS hi
	  WHERE lo IS NULL OR hi IS NULL OR lo <= hi) AS t (r);

-- runs by the gaps between neighbours
SELECT count(*) AS sets,
	   count(*) FILTER (WHERE ARRAY(SELECT roaring64_ranges(s)) =
						ARRAY(SELECT int8range(min(e), nullif(max(e), 9223372036854775807) + 1)
							  FROM (SELECT e, e::numeric - row_number() OVER (ORDER BY e) AS run
									FROM unnest(v) AS e) AS t
							  GROUP BY run ORDER BY run)) AS ranges
FROM shapes;

-- A histogram covers the span without gap or overlap, its widths differ by
-- one at most, its counts are those of the ranges, and so are its bars.
SELECT count(*) AS histograms,
	   count(*) FILTER (WHERE bars = least(n, roaring64_max(s)::numeric - roaring64_min(s) + 1)) AS bars,
	   count(*) FILTER (WHERE starts = roaring64_min(s) AND ends = roaring64_max(s)) AS covers,
	   count(*) FILTER (WHERE gapless) AS gapless,
	   count(*) FILTER (WHERE widest - narrowest <= 1) AS even,
	   count(*) FILTER (WHERE total = roaring64_cardinality(s)) AS total,
	   count(*) FILTER (WHERE counted) AS counted,
	   count(*) FILTER (WHERE drawn) AS drawn
FROM shapes, unnest('{1,2,3,7,100}'::int[]) AS n,
	 LATERAL (SELECT count(*) AS bars, min(lo) AS starts, max(hi) AS ends,
					 max(hi::numeric - lo) AS widest, min(hi::numeric - lo) AS narrowest,
					 sum(c) AS total,
					 bool_and(c = (SELECT count(*) FROM unnest(v) AS e WHERE e <@ r)) AS counted,
					 bool_and(before IS NULL OR before + 1 = lo) AS gapless,
					 bool_and(bar = repeat('#', ceil(40.0 * c / most)::int)) AS drawn
			  FROM (SELECT r, c, bar, lower(r) AS lo, coalesce(upper(r) - 1, 9223372036854775807) AS hi,
						   lag(upper(r) - 1) OVER (ORDER BY o) AS before, max(c) OVER () AS most
					FROM roaring64_histogram(s, n) WITH ORDINALITY AS h (r, c, bar, o)) AS h) AS h
WHERE v <> '{}';

SELECT count(*) AS sets,
	   count(*) FILTER (WHERE st.cardinality = cardinality(v)) AS cardinality,
	   count(*) FILTER (WHERE st.bytes = octet_length(s::bytea)) AS bytes,
	   count(*) FILTER (WHERE st.buckets = (SELECT count(DISTINCT e >> 32) FROM unnest(v) AS e)) AS buckets,
	   count(*) FILTER (WHERE st.array_containers + st.bitset_containers + st.run_containers =
						(SELECT count(DISTINCT e >> 16) FROM unnest(v) AS e)) AS containers
FROM shapes, roaring64_stats(s) AS st;
