--
-- Aggregates, against plain SQL over the same rows.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- sets from elements, arrays and ranges
SELECT roaring64_agg(v), roaring64_count_distinct(v)
FROM unnest('{5,-1,5,70000,9223372036854775807,0,-9223372036854775808,-1}'::bigint[]) AS v;
SELECT roaring64_agg(a)
FROM (VALUES ('{3,1}'::bigint[]), ('{}'), ('{{5,1},{-7,3}}'), ('[7:8]={9,4}')) AS t (a);
SELECT roaring64_agg(r)
FROM (VALUES ('[1,3]'::int8range), ('empty'), ('(5,8)'), ('[2,4)'),
			 ('(,-9223372036854775807)'), ('[9223372036854775806,)')) AS t (r);
-- smaller integers are bigint to them
SELECT roaring64_agg(v::integer) AS "integer", roaring64_agg(v::smallint) AS "smallint",
	   roaring64_agg(ARRAY[v::integer, -1]) AS "array", roaring64_count_distinct(v::integer)
FROM unnest('{3,1,3}'::int[]) AS v;

-- sets from sets
SELECT roaring64_or_agg(s), roaring64_and_agg(s), roaring64_xor_agg(s),
	   roaring64_or_cardinality_agg(s), roaring64_and_cardinality_agg(s),
	   roaring64_xor_cardinality_agg(s)
FROM (VALUES ('{-1,1,2,3}'::roaring64), ('{-1,2,3,4}'), ('{-1,3,4,5}')) AS t (s) \gx

--
-- No rows, and NULL
--
CREATE TEMP TABLE inputs (v bigint, a bigint[], r int8range, s roaring64);
PREPARE everything AS
SELECT roaring64_agg(v) AS elements, roaring64_agg(a) AS arrays, roaring64_agg(r) AS ranges,
	   roaring64_or_agg(s) AS "or", roaring64_and_agg(s) AS "and", roaring64_xor_agg(s) AS "xor",
	   roaring64_count_distinct(v) AS distinct_count, roaring64_or_cardinality_agg(s) AS or_count,
	   roaring64_and_cardinality_agg(s) AS and_count, roaring64_xor_cardinality_agg(s) AS xor_count
FROM inputs;
\x on
\pset null NULL
-- no rows, nothing but NULL
EXECUTE everything;
INSERT INTO inputs SELECT FROM generate_series(1, 3);
EXECUTE everything;
-- nothing but empty, which is not nothing
INSERT INTO inputs VALUES (7, '{}', 'empty', '{}');
EXECUTE everything;
-- NULL before, between and after; an empty set makes and_agg's result empty
INSERT INTO inputs VALUES (8, '{1,2}', '[1,2]', '{1,2}'), (NULL, NULL, NULL, NULL);
EXECUTE everything;
DELETE FROM inputs WHERE v = 7;
INSERT INTO inputs VALUES (8, '{2,3}', '[2,3]', '{2,3}'), (NULL, NULL, NULL, NULL);
EXECUTE everything;
\x off
\pset null ''
DEALLOCATE everything;
DROP TABLE inputs;

-- an array must not have a NULL in it, wherever it comes
SELECT roaring64_agg(a) FROM (VALUES ('{1,2}'::bigint[]), ('{3,NULL}')) AS t (a);
SELECT roaring64_agg(a) FROM (VALUES ('{NULL}'::bigint[])) AS t (a);
-- a set that no value can hold
SELECT roaring64_agg(r) FROM (VALUES ('[1,2]'::int8range), ('[0,)')) AS t (r);

--
-- Their support functions are for the executor
--
SELECT _roaring64_agg_transfn('{1}', 2);
SELECT _roaring64_agg_transfn(NULL, NULL);
SELECT _roaring64_agg_array_transfn('{1}', '{2}');
SELECT _roaring64_agg_array_transfn('{1}', NULL);
SELECT _roaring64_agg_range_transfn(NULL, '[1,2]');
SELECT _roaring64_agg_range_transfn(NULL, NULL);
SELECT _roaring64_or_agg_transfn('{1}', '{2}');
SELECT _roaring64_or_agg_transfn(NULL, NULL);
SELECT _roaring64_and_agg_transfn('{1}', '{2}');
SELECT _roaring64_and_agg_transfn('{1}', NULL);
SELECT _roaring64_xor_agg_transfn('{1}', '{2}');
SELECT _roaring64_xor_agg_transfn(NULL, '{2}');
SELECT _roaring64_set_finalfn('{1,2}'), _roaring64_set_finalfn(NULL);
SELECT _roaring64_cardinality_finalfn('{1,2}'), _roaring64_cardinality_finalfn(NULL);

--
-- Rows of every kind: repeated, dense, one to a container, one to a bucket,
-- snowflake ids, negative, anywhere, NULL.  Not temporary, so that workers can
-- read them.
--
CREATE TABLE facts AS
SELECT i AS id, i % 9 AS g, i % 5 AS h,
	   CASE i % 8 WHEN 0 THEN i % 50
				  WHEN 1 THEN i / 8
				  WHEN 2 THEN (i % 800) * 65536 + 65535
				  WHEN 3 THEN (i % 400 - 200) * 4294967296
				  WHEN 4 THEN ((1279929600000 + i * 37) << 22) | ((i % 4) << 12) | (i % 3)
				  WHEN 5 THEN - i
				  WHEN 6 THEN hashint8extended(i / 3, 64) END AS v
FROM generate_series(1::bigint, 20000) AS i;
INSERT INTO facts
SELECT 20000 + n, n % 9, n % 5, v
FROM unnest('{-9223372036854775808,-9223372036854775807,-4294967297,-65537,-65536,-1,0,65535,65536,4294967295,4294967296,9223372036854775807}'::bigint[])
	 WITH ORDINALITY AS t (v, n);
-- some integers fewer than 100 above v, as array, range and set; some NULL
CREATE TABLE parts AS
SELECT id, g, h, a, r, a::roaring64 AS s
FROM (SELECT id, g, h,
			 ARRAY(SELECT v % 1000000 + k FROM generate_series(0, 99, 1 + id % 7) AS k ORDER BY k DESC) AS a,
			 int8range(v % 1000000, v % 1000000 + id % 100) AS r
	  FROM facts WHERE id % 11 = 0 AND v IS NOT NULL) AS t;
INSERT INTO parts SELECT 30000 + n, n % 9, n % 5, NULL, NULL, NULL FROM generate_series(1, 20) AS n;
INSERT INTO parts SELECT 40000 + n, 3, 1, '{}', 'empty', '{}' FROM generate_series(1, 3) AS n;
ANALYZE facts, parts;

-- whether a set is what SQL gives: its elements, and its bytes those of the
-- set made from them at once
CREATE FUNCTION same(s roaring64, elements bigint[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN s IS NULL OR elements IS NULL THEN s IS NULL AND elements IS NULL
			ELSE s::bigint[] = elements AND s::bytea = elements::roaring64::bytea END;
-- elements as the first argument of "same" should have them
CREATE FUNCTION sorted(bigint[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT array_agg(DISTINCT e ORDER BY e) FROM unnest($1) AS e WHERE e IS NOT NULL);

-- whether the plan of a query has a line like this
CREATE FUNCTION plan_has(query text, pattern text, options text DEFAULT 'COSTS OFF') RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		IF line ~ pattern THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;

-- PostgreSQL 19 aggregates below a join where that makes few rows of many.  A set can
-- be large, so SSPACE keeps it from doing so for more groups than work_mem has room for.
CREATE TABLE reads AS SELECT i % 20000 AS reader, i AS id FROM generate_series(1, 400000) i;
CREATE TABLE readers AS SELECT i AS reader, i % 10 AS town FROM generate_series(0, 19999) i;
ANALYZE reads, readers;
SET max_parallel_workers_per_gather = 0;
SELECT plan_has('SELECT town, ' || f || '(id) FROM reads JOIN readers USING (reader) GROUP BY town', 'Partial Hash') AS holds_many
FROM unnest('{roaring64_agg,roaring64_count_distinct}'::text[]) f;
RESET max_parallel_workers_per_gather;
DROP TABLE reads, readers;

-- what plain SQL says of every group
CREATE TABLE elements_of AS
SELECT g, h, array_agg(DISTINCT v ORDER BY v) FILTER (WHERE v IS NOT NULL) AS e, count(DISTINCT v) AS n
FROM facts GROUP BY GROUPING SETS ((g), (h), (g, h), ());
CREATE TABLE combined_of AS
WITH spread AS (
	SELECT p.g, e, count(*) AS times FROM parts AS p, unnest(p.a) AS e GROUP BY p.g, e),
total AS (
	SELECT g, count(a) AS sets FROM parts GROUP BY g)
SELECT g,
	   coalesce(array_agg(e ORDER BY e) FILTER (WHERE e IS NOT NULL), '{}') AS "or",
	   coalesce(array_agg(e ORDER BY e) FILTER (WHERE times = sets), '{}') AS "and",
	   coalesce(array_agg(e ORDER BY e) FILTER (WHERE times % 2 = 1), '{}') AS "xor"
FROM total LEFT JOIN spread USING (g) GROUP BY g;
SELECT count(*), count(e), min(n) > 100 AS many FROM elements_of;
SELECT count(*), bool_or("or" <> "xor") AS differ FROM combined_of;

--
-- Groups
--
SELECT count(*) AS groups, count(*) FILTER (WHERE same(s, e)) AS agg,
	   count(*) FILTER (WHERE c = n) AS count_distinct
FROM (SELECT g, roaring64_agg(v) AS s, roaring64_count_distinct(v) AS c FROM facts GROUP BY g) AS t
	 JOIN elements_of AS o USING (g)
WHERE o.h IS NULL;
SELECT count(*) AS groups, count(*) FILTER (WHERE same(s, e)) AS ranges
FROM (SELECT g, roaring64_agg(r) AS s FROM parts GROUP BY g) AS t
	 JOIN (SELECT g, coalesce(array_agg(DISTINCT x ORDER BY x), '{}') AS e
		   FROM parts, generate_series(lower(r), upper(r) - 1) AS x GROUP BY g) AS o USING (g);
SELECT count(*) AS groups,
	   count(*) FILTER (WHERE same(arrays, "or")) AS arrays,
	   count(*) FILTER (WHERE same(o, "or")) AS "or",
	   count(*) FILTER (WHERE same(a, "and")) AS "and",
	   count(*) FILTER (WHERE same(x, "xor")) AS "xor",
	   count(*) FILTER (WHERE oc = cardinality("or")) AS or_count,
	   count(*) FILTER (WHERE ac = cardinality("and")) AS and_count,
	   count(*) FILTER (WHERE xc = cardinality("xor")) AS xor_count
FROM (SELECT g, roaring64_agg(p.a) AS arrays,
			 roaring64_or_agg(s) AS o, roaring64_and_agg(s) AS a, roaring64_xor_agg(s) AS x,
			 roaring64_or_cardinality_agg(s) AS oc, roaring64_and_cardinality_agg(s) AS ac,
			 roaring64_xor_cardinality_agg(s) AS xc
	  FROM parts AS p GROUP BY g) AS t JOIN combined_of USING (g);
-- intersections with something left in them
SELECT roaring64_and_agg(s) AS "and", roaring64_and_cardinality_agg(s)
FROM (SELECT roaring64_agg(v) AS s FROM generate_series(1, 6) AS k, generate_series(0, 10000, k) AS v
	  GROUP BY k) AS t
\gset
SELECT same(:'and', ARRAY(SELECT generate_series(0::bigint, 10000, 60))) AS "and",
	   :roaring64_and_cardinality_agg AS and_count;

-- HAVING, and two aggregates that share a state, in either order
SELECT g, roaring64_count_distinct(v) = roaring64_cardinality(roaring64_agg(v)) AS shared
FROM facts GROUP BY g HAVING roaring64_agg(v) @> 65535 OR roaring64_count_distinct(v) < 0 ORDER BY g;
SELECT g FROM facts GROUP BY g HAVING bool_or(v = 65535) ORDER BY g;
SELECT roaring64_agg(v), roaring64_count_distinct(v), roaring64_agg(v) | 6, roaring64_max(roaring64_agg(v))
FROM generate_series(1::bigint, 5) AS v;
SELECT roaring64_count_distinct(v), roaring64_agg(v), roaring64_agg(v) - 3, roaring64_agg(v) # '{1,9}'
FROM generate_series(1::bigint, 5) AS v;

-- FILTER, DISTINCT, ORDER BY
SELECT same(roaring64_agg(v) FILTER (WHERE v < 0), sorted(array_agg(v) FILTER (WHERE v < 0))) AS filter,
	   roaring64_agg(v) FILTER (WHERE false) IS NULL AS nothing,
	   roaring64_count_distinct(v) FILTER (WHERE v % 2 = 0) = count(DISTINCT v) FILTER (WHERE v % 2 = 0) AS counted,
	   roaring64_agg(DISTINCT v) = roaring64_agg(v) AS "distinct",
	   roaring64_agg(v ORDER BY v DESC)::bytea = roaring64_agg(v)::bytea AS descending,
	   roaring64_agg(v ORDER BY v)::bytea = roaring64_agg(v ORDER BY hashint8(v))::bytea AS mixed
FROM facts;
-- the order of sets does not matter, but for xor how often each comes does
SELECT roaring64_xor_agg(s), roaring64_xor_agg(DISTINCT s), roaring64_xor_agg(s ORDER BY s DESC),
	   roaring64_or_agg(DISTINCT s), roaring64_and_agg(DISTINCT s ORDER BY s)
FROM (VALUES ('{1,2}'::roaring64), ('{2,3}'), ('{1,2}')) AS t (s);

-- grouping sets: hashed, sorted, both
SELECT count(*) AS groups, count(*) FILTER (WHERE same(s, e)) AS agg, count(*) FILTER (WHERE c = n) AS counted
FROM (SELECT g, h, GROUPING(g, h), roaring64_agg(v) AS s, roaring64_count_distinct(v) AS c
	  FROM facts GROUP BY CUBE (g, h)) AS t
	 JOIN elements_of AS o ON t.g IS NOT DISTINCT FROM o.g AND t.h IS NOT DISTINCT FROM o.h;
SET enable_hashagg = off;
SELECT count(*) AS groups, count(*) FILTER (WHERE same(s, e)) AS agg, count(*) FILTER (WHERE c = n) AS counted
FROM (SELECT g, h, roaring64_agg(v) AS s, roaring64_count_distinct(v) AS c
	  FROM facts GROUP BY GROUPING SETS ((g), (h), (g, h), ())) AS t
	 JOIN elements_of AS o ON t.g IS NOT DISTINCT FROM o.g AND t.h IS NOT DISTINCT FROM o.h;
RESET enable_hashagg;
SELECT g, h, roaring64_agg(v)
FROM (VALUES (1, 1, 10::bigint), (1, 2, 20), (2, 1, 30), (2, 2, NULL)) AS t (g, h, v)
GROUP BY ROLLUP (g, h) ORDER BY g, h;

--
-- Windows.  The next row's state is this row's grown, so results are kept and
-- compared when all are there.
--
CREATE TABLE few AS
SELECT row_number() OVER (ORDER BY id) AS n, id % 3 AS g, v, s
FROM (SELECT id, CASE id % 8 WHEN 4 THEN 17 ELSE v % 1000 END AS v,
			 CASE WHEN id % 13 <> 0 THEN ARRAY(SELECT generate_series(id % 5, id % 5 + 20, 1 + id % 3))::roaring64 END AS s
	  FROM facts ORDER BY hashint8(id) LIMIT 80) AS t;
ANALYZE few;

CREATE FUNCTION check_frame(frame text, OUT rows bigint, OUT agg bigint, OUT counted bigint,
							OUT "or" bigint, OUT "and" bigint, OUT "xor" bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($query$
	WITH framed AS MATERIALIZED (
		SELECT roaring64_agg(v) OVER w AS s, roaring64_count_distinct(v) OVER w AS c,
			   roaring64_or_agg(s) OVER w AS o, roaring64_and_agg(s) OVER w AS a,
			   roaring64_xor_agg(s) OVER w AS x,
			   array_agg(v) OVER w AS members, array_agg(n) OVER w AS frame
		FROM few WINDOW w AS (%s)),
	sets_of AS (
		SELECT f.*, t.* FROM framed AS f, LATERAL (
			SELECT CASE WHEN max(sets) > 0 THEN coalesce(array_agg(e ORDER BY e) FILTER (WHERE e IS NOT NULL), '{}') END AS o_,
				   CASE WHEN max(sets) > 0 THEN coalesce(array_agg(e ORDER BY e) FILTER (WHERE times = sets), '{}') END AS a_,
				   CASE WHEN max(sets) > 0 THEN coalesce(array_agg(e ORDER BY e) FILTER (WHERE times %% 2 = 1), '{}') END AS x_
			FROM (SELECT count(s) AS sets FROM few WHERE n = ANY (f.frame)) AS k
				 LEFT JOIN (SELECT e, count(*) AS times FROM few, roaring64_elements(s) AS e
							WHERE n = ANY (f.frame) GROUP BY e) AS l ON true) AS t)
	SELECT count(*), count(*) FILTER (WHERE same(s, sorted(members))),
		   count(*) FILTER (WHERE c = coalesce(cardinality(sorted(members)), 0)),
		   count(*) FILTER (WHERE same(o, o_)), count(*) FILTER (WHERE same(a, a_)),
		   count(*) FILTER (WHERE same(x, x_))
	FROM sets_of $query$, frame)
	INTO rows, agg, counted, "or", "and", "xor";
END $$;
SELECT frame, c.*
FROM unnest(ARRAY['',
	'ORDER BY n',
	'PARTITION BY g ORDER BY n',
	'PARTITION BY g ORDER BY n DESC ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
	'ORDER BY n ROWS BETWEEN 3 PRECEDING AND CURRENT ROW',
	'ORDER BY n ROWS BETWEEN 9 PRECEDING AND 4 PRECEDING',
	'ORDER BY n ROWS BETWEEN 2 FOLLOWING AND 5 FOLLOWING',
	'PARTITION BY g ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
	'ORDER BY v RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING',
	'ORDER BY v DESC GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW',
	'ORDER BY n ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING EXCLUDE CURRENT ROW',
	'ORDER BY v RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP',
	'ORDER BY v GROUPS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE TIES']) AS frame,
	 check_frame(frame) AS c;
SELECT n, roaring64_agg(n) OVER (ORDER BY n ROWS 2 PRECEDING),
	   roaring64_agg(n) FILTER (WHERE n % 2 = 0) OVER (ORDER BY n) AS even,
	   roaring64_agg(ARRAY[n, -n]) OVER (ORDER BY n DESC) AS arrays,
	   roaring64_agg(int8range(n, n + 2)) OVER (ORDER BY n ROWS CURRENT ROW) AS ranges
FROM generate_series(1::bigint, 5) AS n ORDER BY n;
-- a result may be worked on, the state behind it goes on as it was
SELECT n, roaring64_agg(n) OVER w | (n + 100) AS more, roaring64_agg(n) OVER w - n AS less,
	   roaring64_or_agg(ARRAY[n]::roaring64) OVER w | (n + 100) AS "or"
FROM generate_series(1::bigint, 4) AS n
WINDOW w AS (ORDER BY n) ORDER BY n;
-- over groups
SELECT g, roaring64_or_agg(roaring64_agg(v)) OVER (ORDER BY g) AS running
FROM (VALUES (1, 10::bigint), (1, 20), (2, 30), (3, 10), (3, 40)) AS t (g, v) GROUP BY g ORDER BY g;

--
-- Thousands of groups: in memory, spilled to disk, sorted
--
SET max_parallel_workers_per_gather = 0;
SET work_mem = '256MB';
SELECT plan_has('SELECT id % 4001, roaring64_agg(v) FROM facts GROUP BY 1', 'Batches: 1 ',
				'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') AS in_memory;
-- all states in one memory context, as the executor visits every one below its
-- own with each new group; beside another aggregate, and with sets of groups
SELECT count(s) AS groups, count(t) AS others, max(contexts) AS contexts
FROM (SELECT roaring64_agg(v) AS s, roaring64_or_agg('{1}') AS t,
			 (SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'roaring64 aggregate%') AS contexts
	  FROM facts GROUP BY id % 4001) AS t;
SELECT count(s) AS groups, count(n) AS others, max(contexts) <= 2 AS contexts
FROM (SELECT roaring64_agg(v) AS s, roaring64_count_distinct(id) AS n,
			 (SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'roaring64 aggregate%') AS contexts
	  FROM facts GROUP BY GROUPING SETS ((id % 4001), (id % 3001))) AS t;
CREATE TABLE serial AS
SELECT id % 4001 AS g, roaring64_agg(v) AS s, roaring64_count_distinct(v) AS n FROM facts GROUP BY 1;
SELECT count(*), count(DISTINCT s) > 3500 AS differ FROM serial;
SELECT bool_and(same(s, e)) AS agg, bool_and(n = c) AS counted
FROM serial JOIN (SELECT id % 4001 AS g, array_agg(DISTINCT v ORDER BY v) FILTER (WHERE v IS NOT NULL) AS e,
						 count(DISTINCT v) AS c FROM facts GROUP BY 1) AS t USING (g);
-- and what waits in many groups, however long, is not much more than work_mem
SET work_mem = '1MB';
SET hash_mem_multiplier = 1;
SET enable_sort = off;
SELECT what, plan_has(query, 'Memory Usage: (1[0-6]\d\d|\d{1,3})kB',
					  'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') AS fits
FROM (VALUES ('values', 'SELECT i % 50, roaring64_agg(i % 500) FROM generate_series(1::bigint, 500000) AS i GROUP BY 1'),
			 ('sets', 'SELECT i % 50, roaring64_or_agg(s) FROM generate_series(1, 4000) AS i,
					   (SELECT roaring64_agg(v * 997) AS s FROM generate_series(1::bigint, 1000) AS v) AS t GROUP BY 1'))
	 AS t (what, query);
RESET enable_sort;
RESET hash_mem_multiplier;
SET work_mem = '64kB';
SET hash_mem_multiplier = 1;
SET enable_sort = off;
SELECT plan_has('SELECT id % 4001, roaring64_agg(v) FROM facts GROUP BY 1', 'HashAggregate') AS hashed,
	   plan_has('SELECT id % 4001, roaring64_agg(v) FROM facts GROUP BY 1', 'Batches: ([2-9]|\d\d)',
				'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') AS spilled;
CREATE TABLE spilled AS
SELECT id % 4001 AS g, roaring64_agg(v) AS s, roaring64_count_distinct(v) AS n FROM facts GROUP BY 1;
RESET enable_sort;
SET enable_hashagg = off;
SELECT plan_has('SELECT id % 4001, roaring64_agg(v) FROM facts GROUP BY 1', 'GroupAggregate') AS sorted;
CREATE TABLE sorted AS
SELECT id % 4001 AS g, roaring64_agg(v) AS s, roaring64_count_distinct(v) AS n FROM facts GROUP BY 1;
RESET enable_hashagg;
RESET hash_mem_multiplier;
RESET work_mem;
RESET max_parallel_workers_per_gather;
SELECT count(*), count(*) FILTER (WHERE a.s::bytea IS NOT DISTINCT FROM b.s::bytea AND a.n = b.n) AS spilled,
	   count(*) FILTER (WHERE a.s::bytea IS NOT DISTINCT FROM c.s::bytea AND a.n = c.n) AS sorted
FROM serial AS a FULL JOIN spilled AS b USING (g) FULL JOIN sorted AS c USING (g);
DROP TABLE serial, spilled, sorted;

-- more elements than one batch of a state holds, out of order and repeated
SELECT roaring64_cardinality(s) AS elements, roaring64_stats(s) AS stats,
	   s = '[0,700001)'::int8range::roaring64 - '[200000,300000)'::int8range AS agg
FROM (SELECT roaring64_agg(v * 377777 % 700001) FILTER (WHERE v * 377777 % 700001 NOT BETWEEN 200000 AND 299999)
	  FROM generate_series(0::bigint, 1000000) AS v) AS t (s);

--
-- Parallel plans: partial states travel as values and are combined
--
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF)
SELECT roaring64_agg(v), roaring64_count_distinct(v) FROM facts;
EXPLAIN (COSTS OFF)
SELECT roaring64_agg(a), roaring64_agg(r), roaring64_or_agg(s), roaring64_and_agg(s), roaring64_xor_agg(s),
	   roaring64_or_cardinality_agg(s), roaring64_and_cardinality_agg(s), roaring64_xor_cardinality_agg(s)
FROM parts;
CREATE TABLE parallel_elements AS
SELECT roaring64_agg(v) AS s, roaring64_count_distinct(v) AS n FROM facts;
CREATE TABLE parallel_sets AS
SELECT g, roaring64_agg(a) AS a, roaring64_agg(r) AS r, roaring64_or_agg(s) AS o, roaring64_and_agg(s) AS n,
	   roaring64_xor_agg(s) AS x, roaring64_or_cardinality_agg(s) AS oc,
	   roaring64_and_cardinality_agg(s) AS nc, roaring64_xor_cardinality_agg(s) AS xc
FROM parts GROUP BY g;
INSERT INTO parallel_sets
SELECT NULL, roaring64_agg(a), roaring64_agg(r), roaring64_or_agg(s), roaring64_and_agg(s), roaring64_xor_agg(s),
	   roaring64_or_cardinality_agg(s), roaring64_and_cardinality_agg(s), roaring64_xor_cardinality_agg(s)
FROM parts;
SELECT plan_has('SELECT g, roaring64_agg(v) FROM facts GROUP BY g', 'Finalize (Group|Hash)Aggregate') AS grouped,
	   plan_has('SELECT g, roaring64_xor_agg(s) FROM parts GROUP BY g', 'Partial (Group|Hash)Aggregate') AS of_sets;
-- by workers alone, and with nothing for them to find
SET parallel_leader_participation = off;
SELECT same(roaring64_agg(v), (SELECT e FROM elements_of WHERE g IS NULL AND h IS NULL)) AS workers FROM facts;
SELECT roaring64_agg(v) IS NULL AS agg, roaring64_count_distinct(v) AS counted FROM facts WHERE v = 123456789;
SELECT roaring64_agg(v) IS NULL AS agg, roaring64_count_distinct(v) AS counted FROM facts WHERE v IS NULL;
RESET parallel_leader_participation;
-- a limit, an error (in whichever process, which its context tells) and a
-- rescan on the way
SELECT count(*) FROM (SELECT g, roaring64_agg(v) FROM facts GROUP BY g LIMIT 2) AS t;
\set SHOW_CONTEXT never
SELECT roaring64_agg(CASE WHEN id = 11110 THEN a || NULL::bigint ELSE a END) FROM parts;
\set SHOW_CONTEXT errors
SELECT bool_and(roaring64_cardinality(s) = n) AS rescans
FROM (SELECT DISTINCT g FROM facts) AS o,
	 LATERAL (SELECT roaring64_agg(v) AS s, count(DISTINCT v) AS n FROM facts AS f WHERE f.g <> o.g) AS t;
SET max_parallel_workers_per_gather = 0;
SELECT same(s, e) AS agg, p.n = o.n AS counted
FROM parallel_elements AS p, elements_of AS o WHERE g IS NULL AND h IS NULL;
SELECT count(*) AS groups, count(*) FILTER (WHERE p = q) AS same
FROM (SELECT g, a::bytea, r::bytea, o::bytea, n::bytea, x::bytea, oc, nc, xc FROM parallel_sets) AS p
	 JOIN (SELECT g, roaring64_agg(a)::bytea, roaring64_agg(r)::bytea, roaring64_or_agg(s)::bytea,
				  roaring64_and_agg(s)::bytea, roaring64_xor_agg(s)::bytea, roaring64_or_cardinality_agg(s),
				  roaring64_and_cardinality_agg(s), roaring64_xor_cardinality_agg(s)
		   FROM parts GROUP BY ROLLUP (g)) AS q ON p.g IS NOT DISTINCT FROM q.g;
DROP TABLE parallel_elements, parallel_sets;

-- partitions aggregated each for itself
CREATE TABLE split (g bigint, h bigint, v bigint) PARTITION BY HASH (g);
CREATE TABLE split0 PARTITION OF split FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE split1 PARTITION OF split FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE split2 PARTITION OF split FOR VALUES WITH (MODULUS 3, REMAINDER 2);
INSERT INTO split SELECT g, h, v FROM facts;
ANALYZE split;
SET enable_partitionwise_aggregate = on;
SELECT plan_has('SELECT h, roaring64_agg(v) FROM split GROUP BY h', 'Finalize (Group|Hash)Aggregate') AS partial,
	   NOT plan_has('SELECT g, roaring64_agg(v) FROM split GROUP BY g', 'Finalize|Gather') AS whole;
SELECT count(*) AS groups, count(*) FILTER (WHERE same(s, e)) AS agg, count(*) FILTER (WHERE c = n) AS counted
FROM (SELECT h, roaring64_agg(v) AS s, roaring64_count_distinct(v) AS c FROM split GROUP BY h) AS t
	 JOIN elements_of AS o USING (h) WHERE o.g IS NULL;
SELECT count(*) AS groups, count(*) FILTER (WHERE same(s, e)) AS agg
FROM (SELECT g, roaring64_agg(v) AS s FROM split GROUP BY g) AS t
	 JOIN elements_of AS o USING (g) WHERE o.h IS NULL;
RESET enable_partitionwise_aggregate;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_tuple_cost;
RESET parallel_setup_cost;
DROP TABLE split;

--
-- Results as any other value
--
-- aggregated again
SELECT roaring64_or_agg(s)::bytea = (SELECT roaring64_agg(v)::bytea FROM facts) AS "or",
	   roaring64_xor_agg(s) = (SELECT roaring64_agg(v) FROM (SELECT v FROM facts GROUP BY v
			HAVING count(DISTINCT g) % 2 = 1) AS t) AS "xor",
	   roaring64_and_agg(s) = (SELECT roaring64_agg(v) FROM (SELECT v FROM facts GROUP BY v
			HAVING count(DISTINCT g) = 9) AS t) AS "and",
	   roaring64_cardinality(roaring64_and_agg(s)) > 0 AS common
FROM (SELECT g, roaring64_agg(v) AS s FROM facts GROUP BY g) AS t;
-- arguments of operators and functions in the same query
SELECT roaring64_agg(v) & roaring64_agg(v + 1) AS "and", roaring64_agg(v) = roaring64_agg(v) AS eq,
	   roaring64_agg(v) <@ roaring64_agg(v * 1) AS contained, max(v) <@ roaring64_agg(v) AS has_max,
	   roaring64_rank(roaring64_agg(v), 3) AS rank, roaring64_agg(v)::text AS text,
	   roaring64_agg(v) - 2 | 9 AS twice, COALESCE(roaring64_agg(v), '{}') AS "coalesce"
FROM generate_series(1::bigint, 6) AS v \gx
SELECT array_agg(s ORDER BY s), count(DISTINCT s), ROW(min(g), roaring64_or_agg(s))
FROM (SELECT v % 3 AS g, roaring64_agg(v / 3) AS s FROM generate_series(0::bigint, 7) AS v GROUP BY 1) AS t;
-- in bytes, which the server's own functions read
SELECT octet_length(roaring64_agg(v)::bytea) = octet_length('{1,2,3}'::roaring64::bytea) AS octet_length,
	   pg_column_size(roaring64_agg(v)) >= octet_length(roaring64_agg(v)::bytea) AS column_size,
	   md5(roaring64_agg(v)::bytea) = md5('{1,2,3}'::roaring64::bytea) AS md5,
	   roaring64_agg(v)::bytea = '{1,2,3}'::roaring64::bytea AS eq,
	   roaring64_send(roaring64_agg(v)) = '{1,2,3}'::roaring64::bytea AS send,
	   roaring64_invalid_reason(roaring64_agg(v)::bytea) IS NULL AS valid
FROM generate_series(1::bigint, 3) AS v;
-- DISTINCT, GROUP BY and ORDER BY on them
SELECT DISTINCT roaring64_agg(v / 4) FROM generate_series(0::bigint, 11) AS v GROUP BY v % 2 ORDER BY 1;
SELECT s, array_agg(g ORDER BY g)
FROM (SELECT v % 4 AS g, roaring64_agg(v / 4 + v % 2) AS s FROM generate_series(0::bigint, 11) AS v GROUP BY 1) AS t
GROUP BY s ORDER BY s DESC;
SELECT v % 3 AS g, roaring64_agg(v) FROM generate_series(0::bigint, 8) AS v GROUP BY g ORDER BY roaring64_agg(v) DESC;
-- in a table, where large ones are compressed or moved out of line
CREATE TABLE stored AS SELECT g, roaring64_agg(v) AS s FROM facts GROUP BY g;
INSERT INTO stored SELECT -1, roaring64_agg(v) FROM facts;
INSERT INTO stored VALUES (-2, '{}');
UPDATE stored SET s = (SELECT roaring64_agg(v) FROM facts WHERE v > 0) WHERE g = -2;
SELECT count(*) AS rows, count(*) FILTER (WHERE same(s, e)) AS stored
FROM stored JOIN elements_of AS o ON o.h IS NULL AND o.g IS NOT DISTINCT FROM nullif(stored.g, -1);
SELECT same(roaring64_or_agg(s) FILTER (WHERE g >= 0), (SELECT e FROM elements_of WHERE g IS NULL AND h IS NULL)) AS "or",
	   same(roaring64_and_agg(s) FILTER (WHERE g < 0), (SELECT sorted(array_agg(v)) FROM facts WHERE v > 0)) AS "and"
FROM stored;
-- CTE, LATERAL, scalar subquery
WITH sets AS MATERIALIZED (SELECT g, roaring64_agg(v) AS s FROM facts GROUP BY g)
SELECT count(*) FROM sets AS a JOIN sets AS b ON a.g < b.g AND a.s && b.s;
SELECT o.g, t.n = o.n AS lateral, roaring64_cardinality((SELECT roaring64_agg(v) FROM facts AS f WHERE f.g = o.g)) = o.n AS scalar
FROM elements_of AS o, LATERAL (SELECT roaring64_count_distinct(v) AS n FROM facts AS f WHERE f.g = o.g) AS t
WHERE o.g < 3 AND o.h IS NULL ORDER BY o.g;
-- cursors
BEGIN;
DECLARE running SCROLL CURSOR WITH HOLD FOR
	SELECT n, roaring64_agg(n) OVER (ORDER BY n) FROM generate_series(1::bigint, 5) AS n;
FETCH 3 FROM running;
COMMIT;
FETCH BACKWARD 2 FROM running;
FETCH LAST FROM running;
CLOSE running;
-- variables of plpgsql, one of them past an error caught
DO $$
DECLARE
	s roaring64;
	t roaring64;
BEGIN
	SELECT roaring64_agg(v) INTO s FROM generate_series(1::bigint, 5) AS v;
	t := s;
	FOR i IN 6..8 LOOP
		s := s | i;
	END LOOP;
	BEGIN
		SELECT roaring64_agg(a) INTO t FROM (VALUES ('{7}'::bigint[]), ('{NULL}')) AS x (a);
	EXCEPTION WHEN null_value_not_allowed THEN
		t := t - 3;
	END;
	RAISE NOTICE '% %', s, t;
END $$;

--
-- Aggregates that users make of our functions
--
CREATE AGGREGATE plain_or (roaring64) (SFUNC = roaring64_or, STYPE = roaring64, INITCOND = '{}',
	COMBINEFUNC = roaring64_or, PARALLEL = SAFE);
CREATE AGGREGATE plain_agg (bigint) (SFUNC = roaring64_or_element, STYPE = roaring64, INITCOND = '{}');
-- a state in a variable
CREATE FUNCTION add_odd(roaring64, bigint) RETURNS roaring64
LANGUAGE plpgsql AS $$
BEGIN
	IF $2 % 2 = 1 THEN
		$1 := $1 | $2;
	END IF;
	RETURN $1;
END $$;
CREATE AGGREGATE odd_agg (bigint) (SFUNC = add_odd, STYPE = roaring64, INITCOND = '{}');
-- its own inverse, so that a moving frame can drop what leaves it
CREATE AGGREGATE moving_xor (roaring64) (SFUNC = roaring64_xor, STYPE = roaring64, INITCOND = '{}',
	MSFUNC = roaring64_xor, MINVFUNC = roaring64_xor, MSTYPE = roaring64, MINITCOND = '{}');
-- our transition functions with a start and an end of one's own; the start is
-- common to all groups
CREATE AGGREGATE largest_of (bigint) (SFUNC = _roaring64_agg_transfn, STYPE = roaring64,
	INITCOND = '{-5,42}', FINALFUNC = roaring64_max);
CREATE AGGREGATE started (bigint) (SFUNC = _roaring64_agg_transfn, STYPE = roaring64, INITCOND = '{42}');
SELECT plain_or(s), moving_xor(s) FROM (VALUES ('{1,2}'::roaring64), (NULL), ('{2,3}')) AS t (s);
SELECT plain_agg(v), plain_agg(v) FILTER (WHERE v > 9) AS none FROM unnest('{3,1,NULL,2}'::bigint[]) AS v;
SELECT g, largest_of(v), started(v), roaring64_agg(v)
FROM (VALUES (1, 7::bigint), (1, 70), (2, 8), (3, NULL)) AS t (g, v) GROUP BY g ORDER BY g;
SELECT g, plain_agg(v) = roaring64_agg(v) AS plain, odd_agg(v) = roaring64_agg(v) FILTER (WHERE v % 2 = 1) AS odd
FROM facts WHERE g < 4 GROUP BY g ORDER BY g;
SELECT n, odd_agg(n) OVER w, plain_agg(n) OVER w, started(n) OVER w
FROM generate_series(1::bigint, 5) AS n WINDOW w AS (ORDER BY n ROWS 3 PRECEDING) ORDER BY n;
SELECT count(*) AS rows, count(*) FILTER (WHERE a::bytea = b::bytea) AS same
FROM (SELECT moving_xor(s) OVER w AS a, coalesce(roaring64_xor_agg(s) OVER w, '{}') AS b
	  FROM few WINDOW w AS (ORDER BY n ROWS BETWEEN 4 PRECEDING AND 2 FOLLOWING)) AS t;
SELECT plain_or(s)::bytea = roaring64_or_agg(s)::bytea AS same FROM parts;

DROP AGGREGATE plain_or(roaring64), plain_agg(bigint), odd_agg(bigint), moving_xor(roaring64), largest_of(bigint), started(bigint);
DROP TABLE facts, parts, few, stored, elements_of, combined_of;
DROP FUNCTION add_odd, check_frame, plan_has, same, sorted;
