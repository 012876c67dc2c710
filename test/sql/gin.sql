--
-- The GIN operator class: which searches use an index, and that one finds
-- what reading all rows finds
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- 64 bits that look random, the same on every server
CREATE FUNCTION gin_noise(i bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS
$$ SELECT (('x' || substr(md5(i::text), 1, 16))::bit(64))::bigint $$;
CREATE FUNCTION gin_noise(i bigint, n bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS
$$ SELECT (gin_noise(i) & 9223372036854775807) % n $$;

--
-- Rows: few elements, skewed; a few wide sets, some of which lack one element
-- of what the queries ask for; dense and sparse, negative, both ends of
-- bigint; the empty set and NULL
--
CREATE TABLE gin_rows (id serial, tags roaring64);
INSERT INTO gin_rows (tags)
SELECT (SELECT roaring64_agg(gin_noise(r * 100 + e, gin_noise(r * 77 + e, 1000) + 1) - 20)
		FROM generate_series(1, 1 + gin_noise(r, 12)) e)
FROM generate_series(1::bigint, 600) r;
INSERT INTO gin_rows (tags)
SELECT int8range(0, 1000)::roaring64 - i FROM generate_series(0, 999, 7) i;
INSERT INTO gin_rows (tags)
SELECT (SELECT roaring64_agg(gin_noise(r * 1000 + e) >> (r % 50)::int)
		FROM generate_series(1, 20) e)
FROM generate_series(1::bigint, 50) r;
INSERT INTO gin_rows (tags)
SELECT roaring64_agg(i * 65536 * s) FROM generate_series(-300, 300) i,
	generate_series(1::bigint, 5) s GROUP BY s;
INSERT INTO gin_rows (tags) VALUES ('{}'), ('{}'), (NULL), (NULL),
	('{-9223372036854775808}'), ('{9223372036854775807}'),
	('{-9223372036854775808,9223372036854775807}'), ('{-1,0}'),
	(int8range(-100000, 100000)::roaring64), (int8range(0, 1000)::roaring64);

--
-- Queries: an element, a set and a range each
--
CREATE TABLE gin_queries (n serial, e bigint, s roaring64, r int8range);
INSERT INTO gin_queries (e, s, r)
SELECT gin_noise(q, 1000) - 20,
	(SELECT roaring64_agg(gin_noise(q * 10 + i, gin_noise(q + i, 500) + 1) - 20)
	 FROM generate_series(1, 1 + q % 4) i),
	int8range(gin_noise(q + 1, 1000) - 20,
			  gin_noise(q + 1, 1000) - 20 + gin_noise(q + 2, 1 << (1 + q % 12)::int))
FROM generate_series(1000::bigint, 1040) q;
-- what some row is, or nearly
INSERT INTO gin_queries (e, s, r)
SELECT roaring64_max(tags), tags - roaring64_max(tags),
	int8range(roaring64_min(tags), roaring64_max(tags))
FROM gin_rows WHERE id % 60 = 0 AND tags <> '{}';
INSERT INTO gin_queries (e, s, r)
SELECT roaring64_min(tags), tags,
	int8range(roaring64_next_absent(tags, 0) - 200, roaring64_next_absent(tags, 0))
FROM gin_rows WHERE id % 65 = 0 AND tags <> '{}';
INSERT INTO gin_queries (e, s, r) VALUES
	(0, '{}', 'empty'),
	(-9223372036854775808, '{-9223372036854775808}', '(,-9223372036854775800)'),
	(9223372036854775807, '{9223372036854775807}', '[9223372036854775800,)'),
	(65536, '{-9223372036854775808,0,9223372036854775807}', '(,)'),
	(65535, '{65535,65536}', '[65535,65536]'),
	-- the whole and what is only nearly in it; more than an index searches
	-- for one by one, in runs and scattered
	(7, int8range(0, 1000)::roaring64, '[0,1000)'),
	(8, int8range(0, 100000)::roaring64, '[0,100000)'),
	(9, int8range(-100000, 100001)::roaring64, '[-100000,100000]'),
	(10, (SELECT roaring64_agg(i * 2) FROM generate_series(-400, 400) i), '(,0)'),
	(11, (SELECT roaring64_agg(i * 2) FROM generate_series(-5000, 5000) i), '[1,)'),
	(12, (SELECT roaring64_agg(i * 65536) FROM generate_series(-5000::bigint, 5000) i), '[65536,655361]'),
	(13, (SELECT roaring64_agg(i * 131072) FROM generate_series(-5000::bigint, 5000) i), '[65537,131071]'),
	(14, (SELECT roaring64_agg(gin_noise(i)) FROM generate_series(1, 2000) i), '[0,0]'),
	(15, (SELECT roaring64_or_agg(int8range(i * 30, i * 30 + 10)::roaring64)
		  FROM generate_series(0, 60) i), '[-20,1010)'),
	(NULL, NULL, NULL);

-- every operator of the class, both ways round where there are two
CREATE VIEW gin_answers AS
SELECT n, '@> set' AS op, id FROM gin_queries, gin_rows WHERE tags @> s
UNION ALL SELECT n, '@> bigint', id FROM gin_queries, gin_rows WHERE tags @> e
UNION ALL SELECT n, 'bigint <@', id FROM gin_queries, gin_rows WHERE e <@ tags
UNION ALL SELECT n, '@> range', id FROM gin_queries, gin_rows WHERE tags @> r
UNION ALL SELECT n, '<@ set', id FROM gin_queries, gin_rows WHERE tags <@ s
UNION ALL SELECT n, '<@ range', id FROM gin_queries, gin_rows WHERE tags <@ r
UNION ALL SELECT n, '&& set', id FROM gin_queries, gin_rows WHERE tags && s
UNION ALL SELECT n, '&& range', id FROM gin_queries, gin_rows WHERE tags && r
UNION ALL SELECT n, '=', id FROM gin_queries, gin_rows WHERE tags = s;

-- what reading all rows finds: something for every operator
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE gin_expected AS SELECT * FROM gin_answers;
SELECT op, count(*) > 10 AS some, count(DISTINCT n) > 10 AS for_many
FROM gin_expected GROUP BY op ORDER BY op;

-- how many scans of an index a statement's plan has
CREATE FUNCTION gin_scans(statement text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	scans bigint := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		scans := scans + (line LIKE '%Bitmap Index Scan on gin_rows_index%')::int;
	END LOOP;
	RETURN scans;
END $$;
-- answers that an index gives and should not, or should and does not
CREATE VIEW gin_wrong AS
WITH answers AS MATERIALIZED (SELECT * FROM gin_answers)
SELECT op, 'extra' AS what, n, id
FROM (SELECT * FROM answers EXCEPT ALL SELECT * FROM gin_expected) extra
UNION ALL
SELECT op, 'missing', n, id
FROM (SELECT * FROM gin_expected EXCEPT ALL SELECT * FROM answers) missing;
-- the same for each operand as a constant
CREATE FUNCTION gin_wrong_constants() RETURNS TABLE (op text, wrong bigint, scans bigint)
LANGUAGE plpgsql AS $$
DECLARE
	q gin_queries;
	condition text;
	got int[];
	want int[];
BEGIN
	FOR q IN SELECT * FROM gin_queries WHERE gin_queries.n % 5 = 0 LOOP
		FOR op, condition IN VALUES
			('@> set', format('tags @> %L::roaring64', q.s)),
			('@> bigint', format('tags @> %L::bigint', q.e)),
			('@> range', format('tags @> %L::int8range', q.r)),
			('<@ set', format('tags <@ %L::roaring64', q.s)),
			('<@ range', format('tags <@ %L::int8range', q.r)),
			('&& set', format('tags && %L::roaring64', q.s)),
			('&& range', format('tags && %L::int8range', q.r)),
			('=', format('tags = %L::roaring64', q.s))
		LOOP
			EXECUTE 'SELECT array_agg(id ORDER BY id) FROM gin_rows WHERE ' || condition
			INTO got;
			SELECT array_agg(x.id ORDER BY x.id) INTO want
			FROM gin_expected x WHERE x.n = q.n AND x.op = gin_wrong_constants.op;
			wrong := (got IS DISTINCT FROM want)::int;
			scans := gin_scans('SELECT FROM gin_rows WHERE ' || condition);
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;

-- by element
CREATE INDEX gin_rows_index ON gin_rows USING gin (tags);
SET enable_seqscan = off;
SELECT gin_scans('SELECT * FROM gin_answers');
SELECT * FROM gin_wrong;
SELECT op, sum(wrong) AS wrong, min(scans) AS scans
FROM gin_wrong_constants() GROUP BY op ORDER BY op;
DROP INDEX gin_rows_index;

-- by container
CREATE INDEX gin_rows_index ON gin_rows USING gin (tags gin_roaring64_ops (key = container));
SELECT gin_scans('SELECT * FROM gin_answers');
SELECT * FROM gin_wrong;
SELECT op, sum(wrong) AS wrong, min(scans) AS scans
FROM gin_wrong_constants() GROUP BY op ORDER BY op;
DROP INDEX gin_rows_index;

-- by either, filled row by row, with the list of pending entries and without,
-- and after VACUUM has moved that and rows have gone
CREATE FUNCTION gin_refill(options text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE kept_rows ON COMMIT DROP AS SELECT * FROM gin_rows;
	TRUNCATE gin_rows;
	EXECUTE 'CREATE INDEX gin_rows_index ON gin_rows USING gin ' || options;
	-- rows that are gone again when VACUUM comes
	INSERT INTO gin_rows SELECT -1 - id, tags FROM kept_rows;
	INSERT INTO gin_rows SELECT * FROM kept_rows;
	DELETE FROM gin_rows WHERE id < 0;
END $$;
SELECT gin_refill('(tags) WITH (fastupdate = on, gin_pending_list_limit = 10000)');
SELECT * FROM gin_wrong;
VACUUM gin_rows;
SELECT * FROM gin_wrong;
DROP INDEX gin_rows_index;
SELECT gin_refill('(tags) WITH (fastupdate = off)');
SELECT * FROM gin_wrong;
VACUUM gin_rows;
SELECT * FROM gin_wrong;
DROP INDEX gin_rows_index;
SELECT gin_refill('(tags gin_roaring64_ops (key = container)) WITH (fastupdate = on, gin_pending_list_limit = 10000)');
SELECT * FROM gin_wrong;
VACUUM gin_rows;
SELECT * FROM gin_wrong;
DROP INDEX gin_rows_index;
SELECT gin_refill('(tags gin_roaring64_ops (key = container)) WITH (fastupdate = off)');
SELECT * FROM gin_wrong;
VACUUM gin_rows;
SELECT * FROM gin_wrong;
DROP INDEX gin_rows_index;

--
-- Plans
--
CREATE INDEX gin_rows_index ON gin_rows USING gin (tags);
EXPLAIN (COSTS OFF) SELECT id FROM gin_rows WHERE tags @> 5;
EXPLAIN (COSTS OFF) SELECT id FROM gin_rows WHERE 5 <@ tags;
EXPLAIN (COSTS OFF) SELECT id FROM gin_rows WHERE tags && '{5,6}' AND tags @> 7;
EXPLAIN (COSTS OFF) SELECT id FROM gin_rows WHERE tags @> 5 OR tags @> 6;
EXPLAIN (COSTS OFF)
SELECT * FROM generate_series(1::bigint, 9) e CROSS JOIN LATERAL
	(SELECT count(*) FROM gin_rows WHERE tags @> e) c;
-- rows that the index alone decides are not looked at again: by element all
-- of these, where the operand is not too large; others are
CREATE FUNCTION gin_rechecked(condition text) RETURNS TABLE (matching text, removed text)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json)
		SELECT id FROM gin_rows WHERE ' || condition INTO plan;
	matching := (plan->0->'Plan'->>'Actual Rows')::numeric::bigint;
	removed := plan->0->'Plan'->>'Rows Removed by Index Recheck';
	RETURN NEXT;
END $$;
SELECT condition, r.*
FROM (VALUES ('tags @> 500'), ('tags @> ''{1,2,3}'''), ('tags @> int8range(100, 228)'),
	('tags @> int8range(0, 1000)'), ('tags && ''{500,501}'''),
	('tags && int8range(500, 900)'), ('tags <@ ''{1,2,3}'''),
	('tags <@ int8range(1, 4)'), ('tags = ''{1,2,3}'''), ('tags = ''{}''')) v (condition),
	gin_rechecked(condition) r;
DROP INDEX gin_rows_index;
CREATE INDEX gin_rows_index ON gin_rows USING gin (tags gin_roaring64_ops (key = container));
SELECT condition, r.*
FROM (VALUES ('tags @> 65535'), ('tags @> 6553500'), ('tags && int8range(65536, 655360)')) v (condition),
	gin_rechecked(condition) r;
DROP INDEX gin_rows_index;

--
-- With so little memory that of some pages it is only known that they have
-- rows; and the same without an index
--
CREATE TABLE gin_wide (id int, tags roaring64, filler char(900)) WITH (fillfactor = 10);
INSERT INTO gin_wide
SELECT i, roaring64_from_array(ARRAY[i, i % 7, -1 - i % 5]), '' FROM generate_series(10, 2009) i;
INSERT INTO gin_wide VALUES (-1, '{}', ''), (-2, NULL, '');
CREATE INDEX gin_wide_index ON gin_wide USING gin (tags);
CREATE FUNCTION gin_lossy(condition text) RETURNS TABLE (lossy boolean, count bigint)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json)
		SELECT FROM gin_wide WHERE ' || condition INTO plan;
	lossy := (plan->0->'Plan'->>'Lossy Heap Blocks')::int > 0;
	EXECUTE 'SELECT count(*) FROM gin_wide WHERE ' || condition INTO count;
	RETURN NEXT;
END $$;
SET work_mem = '64kB';
SELECT condition, l.*
FROM (VALUES ('tags && int8range(20, 10000)'),
	('tags && int8range(0, 10000) AND tags @> 3'),
	('tags && int8range(-5, -4) AND tags && int8range(10, 1000)'),
	('tags <@ int8range(10, 2010)'),
	('tags <@ int8range(-5, 2010)'),
	('tags @> ''{}''')) v (condition), gin_lossy(condition) l;
RESET work_mem;
DROP INDEX gin_wide_index;
SELECT condition, l.*
FROM (VALUES ('tags && int8range(20, 10000)'),
	('tags && int8range(0, 10000) AND tags @> 3'),
	('tags && int8range(-5, -4) AND tags && int8range(10, 1000)'),
	('tags <@ int8range(10, 2010)'),
	('tags <@ int8range(-5, 2010)'),
	('tags @> ''{}''')) v (condition), gin_lossy(condition) l;

--
-- The empty set and the empty range
--
CREATE INDEX gin_rows_index ON gin_rows USING gin (tags);
SELECT count(*) FILTER (WHERE tags IS NULL) AS "null", count(*) FILTER (WHERE tags = '{}') AS empty,
	count(*) AS "all" FROM gin_rows;
SELECT gin_scans('SELECT FROM gin_rows WHERE tags @> ''{}''') AS scans, count(*), bool_and(tags IS NOT NULL)
FROM gin_rows WHERE tags @> '{}';
SELECT gin_scans('SELECT FROM gin_rows WHERE tags @> ''empty''::int8range') AS scans, count(*)
FROM gin_rows WHERE tags @> 'empty'::int8range;
SELECT gin_scans('SELECT FROM gin_rows WHERE tags <@ ''{}''') AS scans, count(*), max(tags::text)
FROM gin_rows WHERE tags <@ '{}';
SELECT gin_scans('SELECT FROM gin_rows WHERE tags <@ ''empty''::int8range') AS scans, count(*)
FROM gin_rows WHERE tags <@ 'empty'::int8range;
SELECT gin_scans('SELECT FROM gin_rows WHERE tags && ''{}''') AS scans, count(*)
FROM gin_rows WHERE tags && '{}';
SELECT gin_scans('SELECT FROM gin_rows WHERE tags = ''{}''') AS scans, count(*)
FROM gin_rows WHERE tags = '{}';
SELECT count(*) FROM gin_rows WHERE tags @> '{}' AND tags @> 500;
SELECT count(*) FROM gin_rows WHERE tags @> (SELECT s FROM gin_queries WHERE s IS NULL);
DROP INDEX gin_rows_index;

--
-- More than one column, parts of a table, expressions, partitions
--
CREATE TABLE gin_more (id int, a roaring64, b roaring64, list bigint[]);
INSERT INTO gin_more
SELECT i, roaring64_from_array(ARRAY[i % 7, i % 11]), roaring64_from_array(ARRAY[i % 13]),
	ARRAY[i, i * 2]
FROM generate_series(1, 1000) i;
CREATE INDEX gin_more_two ON gin_more USING gin (a, b gin_roaring64_ops (key = container));
EXPLAIN (COSTS OFF) SELECT count(*) FROM gin_more WHERE a @> '{3,5}' AND b @> 7;
SELECT count(*), count(*) = (SELECT count(*) FROM generate_series(1, 1000) i
	WHERE ARRAY[i % 7, i % 11] @> ARRAY[3, 5] AND i % 13 = 7) AS right
FROM gin_more WHERE a @> '{3,5}' AND b @> 7;
SELECT count(*) FROM gin_more WHERE b && int8range(2, 4) AND a <@ '{1,2,3}';
SELECT count(*) FROM gin_more WHERE b @> 12;
DROP INDEX gin_more_two;

CREATE INDEX gin_more_part ON gin_more USING gin (a) WHERE id > 500;
EXPLAIN (COSTS OFF) SELECT count(*) FROM gin_more WHERE a @> 3 AND id > 500;
SELECT count(*), count(*) = (SELECT count(*) FROM generate_series(501, 1000) i
	WHERE 3 IN (i % 7, i % 11)) AS right
FROM gin_more WHERE a @> 3 AND id > 500;
DROP INDEX gin_more_part;

CREATE INDEX gin_more_list ON gin_more USING gin (roaring64_from_array(list), (a | b));
EXPLAIN (COSTS OFF) SELECT id FROM gin_more WHERE list::roaring64 && '{40,80}' AND (a | b) @> 12;
SELECT id FROM gin_more WHERE list::roaring64 && '{40,80}' ORDER BY id;
SELECT id FROM gin_more WHERE list::roaring64 && '{40,80}' AND (a | b) @> 2 ORDER BY id;
DROP INDEX gin_more_list;

CREATE TABLE gin_parted (id int, tags roaring64) PARTITION BY RANGE (id);
CREATE TABLE gin_parted_1 PARTITION OF gin_parted FOR VALUES FROM (0) TO (500);
CREATE TABLE gin_parted_2 PARTITION OF gin_parted FOR VALUES FROM (500) TO (2000);
CREATE INDEX ON gin_parted USING gin (tags gin_roaring64_ops (key = container));
INSERT INTO gin_parted SELECT id, a FROM gin_more;
EXPLAIN (COSTS OFF) SELECT count(*) FROM gin_parted WHERE tags @> 10;
SELECT count(*), count(*) = (SELECT count(*) FROM gin_more WHERE a @> 10) AS right
FROM gin_parted WHERE tags @> 10;

-- a generic plan
PREPARE gin_search(bigint, roaring64, int8range) AS
SELECT count(*) FILTER (WHERE a @> $1), count(*) FILTER (WHERE a && $2), count(*)
FROM gin_more WHERE a @> $1 OR a && $2 OR a && $3;
CREATE INDEX gin_more_a ON gin_more USING gin (a);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE gin_search(3, '{4}', '[5,5]');
EXECUTE gin_search(3, '{4}', '[5,5]');
EXECUTE gin_search(NULL, '{}', 'empty');
RESET plan_cache_mode;

--
-- The option
--
CREATE INDEX gin_bad ON gin_more USING gin (a gin_roaring64_ops (key = bucket));
CREATE INDEX gin_bad ON gin_more USING gin (a gin_roaring64_ops (keys = container));
CREATE INDEX gin_named ON gin_more USING gin (a gin_roaring64_ops (key = 'container'), b gin_roaring64_ops (key = element));
SELECT pg_get_indexdef('gin_named'::regclass);

-- a set of more elements than an index takes of one value, and what the hint
-- says
CREATE TABLE gin_large (tags roaring64);
CREATE INDEX gin_large_element ON gin_large USING gin (tags);
INSERT INTO gin_large VALUES (int8range(0, 100000000)::roaring64);
DROP INDEX gin_large_element;
CREATE INDEX gin_large_container ON gin_large USING gin (tags gin_roaring64_ops (key = container));
INSERT INTO gin_large VALUES (int8range(0, 100000000)::roaring64), ('{100000000}');
SELECT count(*) FROM gin_large WHERE tags @> 99999999;
SELECT count(*) FROM gin_large WHERE tags @> 100000000;
-- constants of up to a billion elements
SELECT count(*) FROM gin_large WHERE tags && int8range(50000000, 1000000000)::roaring64;
SELECT count(*) FROM gin_large WHERE tags @> int8range(50000000, 90000000)::roaring64;
SELECT count(*) FROM gin_large WHERE tags <@ int8range(50000000, 1000000000)::roaring64;
RESET enable_seqscan;

DROP TABLE gin_rows, gin_wide, gin_queries, gin_expected, gin_more, gin_parted, gin_large CASCADE;
