--
-- What a call site keeps of its last argument (src/type/argument_cache.c) must
-- never be older than the argument.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- sets that are kept out of line, compressed (1) and not (2)
CREATE TABLE kept (k int PRIMARY KEY, s roaring64);
INSERT INTO kept
SELECT 1, roaring64_agg(i * 65536) FROM generate_series(1, 20000) i
UNION ALL
SELECT 2, roaring64_agg(i * i * 7919 % 100000007)
FROM generate_series(1::bigint, 20000) i;
CREATE TABLE kept_plain (k int PRIMARY KEY, s roaring64);
ALTER TABLE kept_plain ALTER s SET STORAGE EXTERNAL;
INSERT INTO kept_plain SELECT * FROM kept;
SELECT k, pg_column_size(k.s) < pg_column_size(p.s) AS compressed,
	pg_column_size(p.s) > 8000 AS out_of_line
FROM kept k JOIN kept_plain p USING (k) ORDER BY k;

CREATE TABLE probe AS
SELECT i, CASE i % 3 WHEN 0 THEN i * 65536
	WHEN 1 THEN i::bigint * i * 7919 % 100000007 ELSE i END AS id
FROM generate_series(1::bigint, 3000) i;

-- every probe against one set, then against alternating ones; as arrays say
SELECT t, k, count(*) FILTER (WHERE id <@ s) AS found,
	count(*) FILTER (WHERE (id <@ s) <> (id = ANY (a))) AS wrong
FROM probe,
	(SELECT 'kept' AS t, k, s, s::bigint[] AS a FROM kept
	 UNION ALL SELECT 'plain', k, s, s::bigint[] FROM kept_plain) sets
GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) FILTER (WHERE id <@ s) AS found,
	count(*) FILTER (WHERE (id <@ s) <> (id IN (SELECT roaring64_elements(s)))) AS wrong
FROM (SELECT * FROM probe WHERE i <= 200) p, kept;

-- a constant, of either length of header
SELECT count(*) FROM probe WHERE id <@ '{65536,3,7919,196608}'::roaring64;
DO $$
DECLARE
	set roaring64 := (SELECT s FROM kept WHERE k = 1);
	n bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM probe WHERE id <@ %L::roaring64', set)
	INTO n;
	RAISE NOTICE '%', n;
END $$;

-- other functions on the same value row after row
SELECT bool_and(roaring64_rank(s, id) = r AND
				roaring64_cardinality(s, int8range(NULL, id, '[]')) = r)
FROM (SELECT s, id, (SELECT count(*) FROM roaring64_elements(s) e
					 WHERE e <= id) AS r
	  FROM probe, kept WHERE k = 2 AND i <= 100) x;

-- the row changes while a query reads it: the query sees what it began with
BEGIN;
DECLARE c CURSOR FOR
	SELECT p.i, p.id <@ s AS found, roaring64_cardinality(s) AS n
	FROM kept, probe p WHERE k = 1 AND p.i IN (3, 6, 9, 12, 15) ORDER BY p.i;
FETCH 2 FROM c;
UPDATE kept SET s = s - '{196608,393216,589824,786432,983040}' WHERE k = 1;
FETCH 2 FROM c;
SELECT p.i, p.id <@ s AS found, roaring64_cardinality(s) AS n
FROM kept, probe p WHERE k = 1 AND p.i IN (3, 6, 9, 12, 15) ORDER BY p.i;
FETCH ALL FROM c;
CLOSE c;
ROLLBACK;

-- a function that changes the row between its looks, by one call site
CREATE FUNCTION flip(n int) RETURNS TABLE (step int, has boolean, card bigint)
LANGUAGE plpgsql AS $$
DECLARE
	x roaring64;
BEGIN
	FOR step IN 1..n LOOP
		SELECT s @> 65536::bigint, roaring64_cardinality(s)
		FROM kept WHERE k = 1 INTO has, card;
		flip.step := step;
		RETURN NEXT;
		SELECT s FROM kept WHERE k = 1 INTO x;
		IF (x @> 65536::bigint) IS DISTINCT FROM has THEN
			RAISE EXCEPTION 'stale';
		END IF;
		UPDATE kept SET s = s # 65536::bigint WHERE k = 1;
	END LOOP;
END $$;
SELECT * FROM flip(6);
DROP FUNCTION flip;

-- the same statement reads the old row and writes the new one
UPDATE kept SET s = s | 1::bigint WHERE k = 1
RETURNING s @> 1::bigint AS now, roaring64_cardinality(s) AS n;
WITH new AS (UPDATE kept SET s = s - 1::bigint WHERE k = 1 RETURNING s)
SELECT o.s @> 1::bigint AS old, n.s @> 1::bigint AS new
FROM kept o, new n WHERE o.k = 1;

-- a subplan run again for every row
SELECT k, found FROM generate_series(1, 3) again, kept o,
	LATERAL (SELECT count(*) AS found FROM probe p
			 WHERE p.id <@ (SELECT s FROM kept i WHERE i.k = o.k)) x
ORDER BY again, k;

-- the outer side of a join, for one row of the inner side or for many
SELECT n, count(*) AS sets, count(*) FILTER (WHERE found <> expected) AS wrong,
	sum(found) AS found
FROM (VALUES (1), (2), (100)) c (n),
	(SELECT k, s FROM kept UNION ALL SELECT k, s FROM kept_plain) o,
	LATERAL (SELECT count(*) FILTER (WHERE id <@ o.s) AS found,
				count(*) FILTER (WHERE id = ANY (o.s::bigint[])) AS expected
			 FROM (SELECT id FROM probe WHERE i > 5 LIMIT n) p) x
GROUP BY n ORDER BY n;

-- in parallel workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT k, count(*) FROM probe, kept WHERE id <@ s GROUP BY k ORDER BY k;
RESET ALL;

-- large and of few buckets, not compressed: read in parts the first time
INSERT INTO kept_plain
SELECT k, roaring64_agg(i * CASE WHEN i % 2 = 0 THEN 3 ELSE 5 END + shift)
FROM (VALUES (3, 0), (4, -300000), (5, (1::bigint << 40)),
	  (6, -(1::bigint << 40) - 7)) AS sets (k, shift),
	generate_series(1::bigint, 100000) i
GROUP BY k;
SELECT k, pg_column_size(s) > 48 * 1024 AS large, (roaring64_stats(s)).buckets,
	roaring64_cardinality(s), roaring64_min(s)
FROM kept_plain WHERE k > 2 ORDER BY k;
SELECT k, roaring64_cardinality(s) =
	(SELECT count(DISTINCT e) FROM roaring64_elements(s) e) AS card,
	roaring64_min(s) = (SELECT min(e) FROM roaring64_elements(s) e) AS least
FROM kept_plain WHERE k > 2 ORDER BY k;
SELECT s.k, count(*) FILTER (WHERE (SELECT s @> e FROM kept_plain i WHERE i.k = s.k)) AS found,
	count(*) AS asked
FROM kept_plain s, LATERAL (
	SELECT e FROM roaring64_elements(s) e ORDER BY e % 1009, e LIMIT 50) x
WHERE k > 2 GROUP BY s.k ORDER BY s.k;
SELECT k, bool_or(s @> e) AS found
FROM (SELECT k, s, e FROM generate_series(4, 100, 5) e, kept_plain
	  WHERE k = 3 AND e % 3 <> 0 AND e % 5 <> 0) x
GROUP BY k;

DROP TABLE kept, kept_plain, probe;

-- Values that are no TOAST pointers are told apart by their bytes: here sets of
-- 40 buckets, alike in size and but for their last element
CREATE FUNCTION alike(last bigint) RETURNS roaring64 LANGUAGE sql IMMUTABLE AS
$$ SELECT roaring64_agg(i << 32) | ((40::bigint << 32) + last)
   FROM generate_series(1::bigint, 39) i $$;
CREATE TABLE alike AS
SELECT i, alike(i / 3 % 2) AS s, i / 3 % 2 AS last FROM generate_series(0, 29) i;
-- in memory, from a subquery that is run anew for each row
SELECT count(*) AS rows,
	count(*) FILTER (WHERE ((40::bigint << 32) + p <@ s) <> (p = last)) AS wrong
FROM generate_series(0, 1) p,
	(SELECT s - '{1}'::roaring64 AS s, last FROM alike OFFSET 0) a;
SELECT count(*) AS rows,
	count(*) FILTER (WHERE found <> (p = last)) AS wrong
FROM (SELECT p, last, (SELECT (40::bigint << 32) + p <@ roaring64_or_agg(i.s)
		FROM alike i WHERE i.i = o.i) AS found
	FROM alike o, generate_series(0, 1) p) x;
-- compressed within the row
CREATE TABLE alike_inside (i int, s roaring64, last int);
INSERT INTO alike_inside
SELECT i, s | roaring64_agg(j << 32), last
FROM alike, generate_series(41::bigint, 140) j GROUP BY i, s, last;
SELECT bool_and(pg_column_size(s) < octet_length(s::bytea) / 2) AS compressed,
	count(*) AS rows,
	count(*) FILTER (WHERE ((40::bigint << 32) + p <@ s) <> (p = last)) AS wrong
FROM generate_series(0, 1) p, (SELECT * FROM alike_inside ORDER BY i OFFSET 0) a;

-- a parameter is one value as long as the query runs; a variable of PL/pgSQL is
-- a parameter too where no query is run
SET plan_cache_mode = force_generic_plan;
PREPARE among(roaring64) AS
	SELECT count(*) FROM generate_series(0, 9) p WHERE (40::bigint << 32) + p <@ $1;
EXECUTE among(alike(3));
EXECUTE among(alike(3) | alike(7));
RESET plan_cache_mode;
CREATE FUNCTION count_alike(s roaring64) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	SELECT count(*) INTO n FROM generate_series(0, 9) p
	WHERE (40::bigint << 32) + p <@ s;
	RETURN n;
END $$;
SELECT sum(count_alike(alike(p))) AS in_range FROM generate_series(5, 14) p;
CREATE FUNCTION count_wrong() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	s roaring64;
	wrong int := 0;
BEGIN
	FOR i IN 0 .. 999 LOOP
		s := alike(i / 3 % 2);
		IF ((40::bigint << 32) + 1 <@ s) <> (i / 3 % 2 = 1) THEN
			wrong := wrong + 1;
		END IF;
	END LOOP;
	RETURN wrong;
END $$;
SELECT count_wrong() AS wrong;
DO $$
DECLARE
	s roaring64;
	wrong int := 0;
BEGIN
	FOR i IN 0 .. 999 LOOP
		s := alike(i / 3 % 2);
		IF ((40::bigint << 32) + 1 <@ s) <> (i / 3 % 2 = 1) THEN
			wrong := wrong + 1;
		END IF;
	END LOOP;
	RAISE NOTICE 'wrong: %', wrong;
END $$;
DROP FUNCTION alike, count_alike, count_wrong;
DROP TABLE alike, alike_inside;

-- A value of some pages is fetched as a whole, which is a scan of the TOAST
-- table's index where its slices would be one each; of a large one they are fewer.
CREATE TABLE stored (size text, s roaring64);
ALTER TABLE stored ALTER s SET STORAGE EXTERNAL;
INSERT INTO stored
SELECT size, roaring64_agg(CASE size WHEN 'small' THEN hashint4(i)::bigint * 16 ELSE hashint4(i) & 16777215 END)
FROM (VALUES ('small', 300), ('small', 500), ('small', 900), ('large', 200000)) AS v (size, n),
	generate_series(1, n) i GROUP BY size, n;
CREATE FUNCTION pages(call text, which text, OUT pages int) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	FOR i IN 1..2 LOOP			-- the first time fills the caches of the catalogs
		EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT %s FROM stored WHERE size = %L', call, which) INTO plan;
	END LOOP;
	pages := (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT call, pages(call, 'small') <= pages('roaring64_hash(s)', 'small') AS small,
	pages(call, 'large') < pages('roaring64_hash(s)', 'large') / 2 AS large
FROM unnest('{roaring64_cardinality(s),s @> 5::bigint}'::text[]) call;
DROP TABLE stored;
DROP FUNCTION pages;
