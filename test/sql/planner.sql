--
-- What the planner knows of sets: statistics, estimates, index conditions;
-- and that a plan never changes an answer.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- whether the estimate for a query is within a factor of what it gives
CREATE FUNCTION within(factor numeric, query text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	estimate numeric;
	actual numeric;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	estimate := plan -> 0 -> 'Plan' ->> 'Plan Rows';
	actual := greatest((plan -> 0 -> 'Plan' ->> 'Actual Rows')::numeric, 1);
	IF estimate BETWEEN actual / factor AND actual * factor THEN
		RETURN 'yes';
	END IF;
	RETURN format('no: %s estimated, %s found', estimate, actual);
END $$;
-- the plan of a query with a subquery, as the servers to 16 name its result
CREATE FUNCTION plan_of(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		RETURN NEXT replace(replace(replace(line, 'InitPlan expr_1', 'InitPlan 1'),
			'(InitPlan 1).col1', '$0'), ' (returns $0)', '');
	END LOOP;
END $$;
-- whether a query gives the same with and without indexes
CREATE FUNCTION same_without_index(query text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	with_index text;
	without text;
BEGIN
	query := format('SELECT string_agg(q::text, '' '' ORDER BY q::text) FROM (%s) q', query);
	SET enable_seqscan = off;
	EXECUTE query INTO with_index;
	SET enable_seqscan = on;
	SET enable_indexscan = off;
	SET enable_indexonlyscan = off;
	SET enable_bitmapscan = off;
	EXECUTE query INTO without;
	RESET enable_seqscan;
	RESET enable_indexscan;
	RESET enable_indexonlyscan;
	RESET enable_bitmapscan;
	RETURN with_index IS NOT DISTINCT FROM without;
END $$;

--
-- Statistics.  Elements from 0 to 5000, the fewer the higher, 1 to 20 in a
-- set, and every tenth row NULL.  The numbers are a fixed sequence, not random.
--
CREATE TABLE tagged (id int, tags roaring64);
INSERT INTO tagged
SELECT i, CASE WHEN i % 10 > 0 THEN
		roaring64_agg((5000 * (hash / 4294967296.0 + 0.5) ^ 3)::bigint) END
FROM generate_series(1, 20000) i, generate_series(1, 1 + i % 20) j,
	LATERAL (SELECT hashint8(i * 100 + j)::float8 AS hash) h
GROUP BY i;
ANALYZE tagged;

SELECT null_frac, most_common_elems IS NOT NULL AS elements,
	array_length(most_common_elem_freqs, 1) = array_length(most_common_elems::text::bigint[], 1) AS freqs,
	array_length(elem_count_histogram, 1) AS counts,
	round(elem_count_histogram[101]) AS average
FROM pg_stats WHERE tablename = 'tagged' AND attname = 'tags';
-- the most common elements are the most common ones
SELECT e, abs(freq - share) < 0.01 AS good
FROM (SELECT unnest(most_common_elems::text::bigint[]) AS e, unnest(most_common_elem_freqs) AS freq
	  FROM pg_stats WHERE tablename = 'tagged' AND attname = 'tags') s,
	LATERAL (SELECT avg((tags @> e)::int) AS share FROM tagged WHERE tags IS NOT NULL) t
ORDER BY freq DESC NULLS LAST LIMIT 5;

-- common elements, within a factor of 2
SELECT e, within(2, format('SELECT FROM tagged WHERE tags @> %s::bigint', e))
FROM unnest(ARRAY[0, 1, 2, 5, 10]) e;
SELECT within(2, 'SELECT FROM tagged WHERE 3::bigint <@ tags');
SELECT within(2, 'SELECT FROM tagged WHERE roaring64_contains_element(tags, 3)');
-- every tenth of those that the statistics name
SELECT count(*) FILTER (WHERE w = 'yes') AS good, count(*) FILTER (WHERE w <> 'yes') AS bad
FROM (SELECT e, row_number() OVER (ORDER BY e) AS n FROM pg_stats,
		unnest(most_common_elems::text::bigint[]) e
	  WHERE tablename = 'tagged' AND attname = 'tags') s,
	within(2, format('SELECT FROM tagged WHERE tags @> %s::bigint', e)) w
WHERE n % 10 = 0;
-- the others, and those that are not there, within a factor of 10
SELECT count(*) FILTER (WHERE w = 'yes') AS good, count(*) FILTER (WHERE w <> 'yes') AS bad
FROM generate_series(50, 5500, 50) e,
	within(10, format('SELECT FROM tagged WHERE tags @> %s::bigint', e)) w;
-- sets and ranges
SELECT s, within(2, format('SELECT FROM tagged WHERE tags && %L', s)) AS overlap,
	within(3, format('SELECT FROM tagged WHERE tags @> %L', s)) AS contains,
	within(10, format('SELECT FROM tagged WHERE tags <@ %L', s)) AS contained
FROM unnest(ARRAY['{0}', '{0,1}', '{1,5,10,20}', '{0,700,1000,1500,3000,3500,4000,4400,4700,4999}', '{}']) s;
SELECT within(10, 'SELECT FROM tagged WHERE tags && $${-5,6000}$$');
SELECT r, within(2, format('SELECT FROM tagged WHERE tags && %L::int8range', r)) AS overlap,
	within(10, format('SELECT FROM tagged WHERE tags <@ %L::int8range', r)) AS contained,
	within(10, format('SELECT FROM tagged WHERE tags <@ (%L * int8range(0, 100000))::roaring64', r)) AS in_set
FROM unnest(ARRAY['[0,1)', '[0,100)', '[10,1000)', '[0,3000)', '[,4500)', '[0,5000]', '(,)', 'empty',
	'[7000,8000)']) r;
-- what is not known at plan time
SELECT within(2, 'SELECT FROM tagged, roaring64_elements(tags)');
SELECT within(2, 'SELECT FROM tagged, roaring64_ranges(tags)');

-- most sets are empty; few are large; some elements are far more common than others
CREATE TABLE sparse AS SELECT i AS id, CASE WHEN i % 50 = 0 THEN (SELECT roaring64_agg(abs(hashint8(i * 10 + j)) % 100)
	FROM generate_series(1, 1 + i % 3) j) ELSE '{}' END AS s FROM generate_series(1, 20000) i;
CREATE TABLE few_large AS SELECT i AS id, (SELECT roaring64_agg(abs(hashint8(i * 10000 + j)) % 40000)
	FROM generate_series(1, CASE i % 100 WHEN 0 THEN 5000 ELSE 10 END) j) AS s FROM generate_series(1, 2000) i;
CREATE TABLE zipf AS SELECT i AS id, roaring64_agg(exp(11 * (hashint8(i * 10 + j) / 4294967296.0 + 0.5))::bigint) AS s
FROM generate_series(1, 5000) i, generate_series(1, 1 + i % 5) j GROUP BY i;
ANALYZE sparse, few_large, zipf;
SELECT q, within(2, 'SELECT FROM ' || q) FROM unnest(ARRAY[
	$$sparse WHERE s @> 7::bigint$$, $$sparse WHERE s && '{7,33,80}'$$, $$sparse WHERE s && int8range(50, 200)$$,
	$$sparse WHERE s <@ '{7,33,80}'$$, $$sparse WHERE NOT roaring64_is_empty(s)$$,
	$$few_large WHERE s @> (SELECT 5000::bigint)$$, $$few_large WHERE s && int8range(0, 40)$$,
	$$few_large WHERE s && int8range(0, 2000)$$, $$zipf WHERE s @> 2::bigint$$, $$zipf WHERE s && '{5,6,7}'$$]) q;

-- large sets are sampled; common elements are still found
CREATE TABLE large (id int, ids roaring64);
INSERT INTO large
SELECT i, roaring64_or_element(int8range(0, 100)::roaring64 | int8range(i * 1000000::bigint, i * 1000000::bigint + 2000), 7777777777 - i % 2)
FROM generate_series(1, 3000) i;
ANALYZE large;
SELECT within(2, 'SELECT FROM large WHERE ids @> 7777777777'),
	within(2, 'SELECT FROM large WHERE ids @> 50::bigint'),
	within(10, 'SELECT FROM large WHERE ids @> 1500000123');
SELECT round(elem_count_histogram[101]) FROM pg_stats WHERE tablename = 'large' AND attname = 'ids';

-- sets that are large and dense, within everything; ids that are all NULL
CREATE TABLE days AS SELECT i AS id, int8range(i * 10, i * 10 + 100000)::roaring64 AS s, NULL::bigint AS none FROM generate_series(1, 300) i;
ANALYZE days;
SELECT r, within(2, format('SELECT FROM days WHERE s <@ %L::int8range', r)) FROM unnest('{"(,)","[0,200000)"}'::text[]) r;
SELECT within(2, 'SELECT FROM days a JOIN days b USING (id) WHERE a.s <@ int8range(0, 1000000) AND b.s <@ int8range(0, 1000000)'),
	within(1, 'SELECT FROM days WHERE none <@ int8range(0, 2000)::roaring64');

-- a column of NULLs, of empty sets, of one row; a small statistics target
CREATE TABLE odd (a roaring64, b roaring64, c roaring64);
INSERT INTO odd SELECT NULL, '{}', '{9223372036854775807,-9223372036854775808}' FROM generate_series(1, 100);
ALTER TABLE odd ALTER c SET STATISTICS 1;
ANALYZE odd;
SELECT attname, most_common_elems, elem_count_histogram[array_length(elem_count_histogram, 1)] AS average
FROM pg_stats WHERE tablename = 'odd' ORDER BY attname;
SELECT within(1, 'SELECT FROM odd WHERE a @> 1::bigint'),
	within(1, 'SELECT FROM odd WHERE b @> 1::bigint'),
	within(1, 'SELECT FROM odd WHERE b <@ ''{1}'''),
	within(1, 'SELECT FROM odd WHERE c @> 9223372036854775807'),
	within(1, 'SELECT FROM odd WHERE c && ''(,)''::int8range');
TRUNCATE odd;
ANALYZE odd;
SELECT count(*) FROM odd WHERE c && '{1}';

-- sets that come again and again, of which every twentieth is empty
CREATE TABLE repeated AS
SELECT i AS id, int8range(i % 20 * 5, i % 20 * 5 + i % 20)::roaring64 AS s FROM generate_series(1, 2500) i;
CREATE STATISTICS sizes ON (roaring64_cardinality(s)) FROM repeated;
ANALYZE repeated;
SELECT q, within(2, 'SELECT FROM ' || q) FROM unnest(ARRAY[
	$$repeated WHERE s @> '{45,46,47,48,49,50}'$$, $$repeated WHERE '{45,46}' <@ s$$,
	$$repeated WHERE roaring64_contains_range(s, int8range(45, 50))$$,
	$$repeated WHERE s <@ int8range(0, 30)::roaring64$$, $$repeated WHERE s <@ '{}'$$,
	$$repeated WHERE roaring64_is_empty(s)$$, $$repeated WHERE roaring64_cardinality(s) = 0$$]) q;
-- and what is known of a part of a set; the planner takes less than a row for one
SELECT q, within(3, 'SELECT FROM ' || q) FROM unnest(ARRAY[
	$$tagged, roaring64_elements(tags & int8range(20, 400))$$, $$tagged, roaring64_elements_range(tags, '[20,400)')$$,
	$$tagged, roaring64_elements(tags & '{1,2,3,400}')$$, $$tagged, roaring64_elements('{1,2,3,400}' & tags)$$,
	$$tagged, roaring64_elements(tags - int8range(1, 3))$$, $$repeated, roaring64_elements(s | '{-1,-2,-3}')$$,
	$$repeated, roaring64_elements(s & int8range(20, 40))$$, $$repeated, roaring64_elements(s & s)$$]) q;

--
-- Rows of functions of constants
--
SELECT q, within(1, 'SELECT FROM ' || q) FROM unnest(ARRAY[
	$$roaring64_elements('{1,2,3}')$$, $$roaring64_elements('{}')$$,
	$$roaring64_elements_range(int8range(0, 5000)::roaring64, int8range(10, 20))$$,
	$$roaring64_elements_range(int8range(0, 5000)::roaring64, 'empty'::int8range)$$,
	$$roaring64_ranges('{1,2,3,7,9,10}')$$,
	$$roaring64_ranges('{-9223372036854775808,9223372036854775807}')$$]) q;
-- counted in part
SELECT within(1.1, format('SELECT FROM roaring64_ranges(%L)', roaring64_agg(3 * i)::bytea))
FROM generate_series(1, 10000) i;

--
-- id <@ set by an index on id
--
CREATE TABLE messages (id bigint PRIMARY KEY, sender int);
INSERT INTO messages SELECT i * 2, i % 100 FROM generate_series(1, 20000) i;
CREATE TABLE users (id int PRIMARY KEY, unread roaring64);
INSERT INTO users
SELECT u, roaring64_agg(2 + abs(hashint4(u * 100 + i)) % 40000)
FROM generate_series(1, 50) u, generate_series(1, 20) i GROUP BY u;
INSERT INTO users VALUES (51, NULL), (52, '{}');
ANALYZE messages, users;

-- a constant: few elements, many, dense, one run
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ '{2,400,30000}';
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE '{2,400,30000}' @> id;
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE roaring64_element_contained(id, '{2,400,30000}');
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE roaring64_contains_element('{2,400,30000}', id);
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ int8range(100, 1000)::roaring64;
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ '{100,101,104}';
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ '{}';
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE NOT id <@ '{2,400,30000}';
-- the same for NULL
SELECT id <@ '{}' AS none, id <@ '{1}' AS one, NOT id <@ '{1}' AS other FROM (SELECT NULL::bigint AS id OFFSET 0) AS t;
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ (int8range(1000, 10000)::roaring64 - 1001) AND sender = 3 AND id < 2000;
-- half of the table, from a subquery and as a constant
SELECT plan_of('SELECT * FROM messages
	WHERE id <@ (SELECT roaring64_agg(i * 4) FROM generate_series(1, 10000) i)');
DO $$
DECLARE
	half roaring64 := (SELECT roaring64_agg(i * 4) FROM generate_series(1, 10000) i);
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ %L', half::bytea) LOOP
		RAISE NOTICE '%', regexp_replace(line, '\\x[0-9a-f]+', '...');
	END LOOP;
END $$;
-- a join, by operator and by function, in both directions
EXPLAIN (COSTS OFF) SELECT m.* FROM users u JOIN messages m ON m.id <@ u.unread WHERE u.id = 1;
EXPLAIN (COSTS OFF) SELECT m.* FROM users u JOIN messages m ON u.unread @> m.id WHERE u.id = 1;
EXPLAIN (COSTS OFF) SELECT m.* FROM users u JOIN messages m ON roaring64_contains_element(u.unread, m.id) WHERE u.id = 1;
EXPLAIN (COSTS OFF) SELECT u.id, m.id FROM users u LEFT JOIN messages m ON m.id <@ (u.unread - 5) WHERE u.id > 50;
-- a subquery
SELECT plan_of('SELECT * FROM messages WHERE id <@ (SELECT unread FROM users WHERE id = 3)');
SELECT plan_of('SELECT * FROM messages WHERE id <@ (SELECT roaring64_agg(id) FROM messages WHERE id < 100)');
-- of the same table, volatile, not the plain column: no index
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ ('{1}'::roaring64 | id);
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ ('{1}'::roaring64 | (random() * 10)::bigint);
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id + 0 <@ '{1,5000}';
-- estimates
SELECT within(2, q) FROM unnest(ARRAY[
	$$SELECT FROM messages WHERE id <@ '{2,400,30000}'$$,
	$$SELECT FROM messages WHERE id <@ int8range(100, 10000)::roaring64$$,
	$$SELECT FROM messages WHERE sender::bigint <@ '{5,6,7}'$$]) q;
SELECT within(3, 'SELECT FROM users u JOIN messages m ON m.id <@ u.unread');
-- all seen; more random ids than there are rows; a column of which few sets are huge, or not empty
CREATE TABLE ids AS SELECT DISTINCT (hashint8(i) & 1048575)::bigint AS id FROM generate_series(1, 20000) i;
CREATE TABLE some_huge AS SELECT i AS id, CASE WHEN i % 200 = 0 THEN int8range(0, 100000000)::roaring64
	ELSE (SELECT roaring64_agg(hashint8(i * 100 + j) & 32767) FROM generate_series(1, 20) j) END AS s
FROM generate_series(1, 2000) i;
CREATE TABLE some_full AS SELECT i AS id, CASE WHEN i % 100 = 0 THEN int8range(0, 40001)::roaring64 ELSE '{}' END AS s
FROM generate_series(1, 2000) i;
ANALYZE ids, some_huge, some_full;
SELECT q, within(3, 'SELECT FROM ' || q) FROM unnest(ARRAY[
	$$messages WHERE NOT id <@ int8range(1, 40001)::roaring64$$, $$ids WHERE NOT id <@ int8range(0, 1048576)::roaring64$$,
	$$some_huge s JOIN messages m ON m.id <@ s.s$$, $$some_full s JOIN messages m ON s.s @> m.id$$]) q;
SELECT within(2, format('SELECT FROM ids WHERE id <@ %L', roaring64_agg(hashint8(-i) & 1048575)::bytea)) FROM generate_series(1, 60000) i;
DROP TABLE ids, some_huge, some_full;
-- a set of half of the table, from another one
CREATE TABLE halves AS SELECT roaring64_agg(i * 4) AS ids FROM generate_series(1, 10000) i;
ANALYZE halves;
EXPLAIN (COSTS OFF) SELECT m.* FROM halves JOIN messages m ON m.id <@ ids;
SELECT plan_of('SELECT * FROM messages WHERE id <@ (SELECT ids FROM halves)');

-- prepared, with generic plans
PREPARE unread(roaring64) AS SELECT count(*) FROM messages WHERE id <@ $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE unread('{2,4}');
EXECUTE unread('{2,4,5}');
EXECUTE unread('{}');
EXECUTE unread(NULL);
EXECUTE unread(int8range(1, 1000)::roaring64);
RESET plan_cache_mode;
DEALLOCATE unread;

-- views, partitions, domains, BRIN, row security
CREATE VIEW unread AS SELECT u.id AS reader, m.* FROM users u JOIN messages m ON m.id <@ u.unread;
EXPLAIN (COSTS OFF) SELECT * FROM unread WHERE reader = 1;
CREATE TABLE parted (id bigint, x int) PARTITION BY RANGE (id);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (10000);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (10000) TO (50000);
CREATE INDEX ON parted (id);
INSERT INTO parted SELECT id, sender FROM messages;
ANALYZE parted;
EXPLAIN (COSTS OFF) SELECT * FROM parted WHERE id <@ '{2,400,30000}';
EXPLAIN (COSTS OFF) SELECT p.* FROM users u JOIN parted p ON p.id <@ u.unread WHERE u.id = 1;
-- a known set of few elements prunes partitions and children wherever an array does; others do with BETWEEN
CREATE FUNCTION scanned(query text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(substring(line, ' on (\w+)'), ' ' ORDER BY substring(line, ' on (\w+)') COLLATE "C"), 'none')
	FROM plan_of(query) line WHERE line ~ ' on \w+' AND line !~ 'Bitmap Index Scan|Replaces' $$;
CREATE TABLE nested (k int, id bigint) PARTITION BY LIST (k);
CREATE TABLE n1 PARTITION OF nested FOR VALUES IN (1) PARTITION BY RANGE (id);
CREATE TABLE n1_low (id bigint, k int);
ALTER TABLE n1 ATTACH PARTITION n1_low FOR VALUES FROM (0) TO (10000);
CREATE TABLE n1_high PARTITION OF n1 FOR VALUES FROM (10000) TO (50000);
CREATE TABLE n2 PARTITION OF nested DEFAULT;
CREATE TABLE hashed (id bigint) PARTITION BY HASH (id);
DO $$
BEGIN
	FOR i IN 0 .. 49 LOOP
		EXECUTE format('CREATE TABLE h%s PARTITION OF hashed FOR VALUES WITH (MODULUS 50, REMAINDER %1$s)', i);
	END LOOP;
END $$;
CREATE TABLE listed (id int) PARTITION BY LIST (id);
CREATE TABLE l1 PARTITION OF listed FOR VALUES IN (1, 3, 300);
CREATE TABLE l2 PARTITION OF listed FOR VALUES IN (2, 200);
CREATE TABLE l3 PARTITION OF listed DEFAULT;
CREATE TABLE parent (id bigint);
CREATE TABLE child1 (CHECK (id BETWEEN 0 AND 9999)) INHERITS (parent);
CREATE TABLE child2 (CHECK (id BETWEEN 10000 AND 19999)) INHERITS (parent);
SELECT q, scanned('SELECT FROM ' || q) FROM unnest(ARRAY[
	$$parted WHERE id <@ '{2,400,9999}'$$, $$parted WHERE id <@ (int8range(20000, 30000)::roaring64 - 25000)$$,
	$$parted WHERE '{2,10000}' @> id$$, $$parted WHERE roaring64_contains_element('{2,3}', id)$$, $$parted WHERE id <@ '{}'$$,
	$$parted WHERE id <@ '{2}' OR x = 3$$, $$parted WHERE NOT id <@ '{2}'$$, $$users u JOIN parted p ON u.id = p.x AND p.id <@ '{2,7}'$$,
	$$users u LEFT JOIN parted p ON u.id = p.x WHERE p.id <@ '{2,7}'$$, $$parted p LEFT JOIN users u ON u.id = p.x AND p.id <@ '{2,7}'$$,
	$$users u LEFT JOIN parted p ON u.id = p.x AND p.id <@ '{2,7}'$$, $$users u FULL JOIN (SELECT * FROM parted WHERE id <@ '{2,7}') p ON u.id = p.x$$,
	$$users u WHERE EXISTS (SELECT FROM parted p WHERE u.id = p.x AND p.id <@ '{2,7}')$$,
	$$users u WHERE NOT EXISTS (SELECT FROM parted p WHERE u.id = p.x AND p.id <@ '{2,7}')$$,
	$$users u WHERE id IN (SELECT x FROM parted WHERE id <@ '{2,7}')$$, $$parted WHERE id <@ '{2}' OR id <@ '{5}'$$,
	$$parted WHERE id <@ (int8range(20000, 30000)::roaring64 - 25000) AND id BETWEEN roaring64_min(int8range(20000, 30000)::roaring64) AND 29999$$,
	$$(SELECT id FROM parted UNION ALL SELECT id FROM child1) q WHERE id <@ '{20000,20002}'$$, $$nested WHERE id <@ '{5,7}'$$,
	$$nested WHERE id <@ int8range(10000, 10100)::roaring64 AND k = 1$$, $$hashed WHERE id <@ '{5}'$$,
	$$listed WHERE id::bigint <@ '{1,3}'$$, $$listed WHERE id = ANY ('{2,4}'::roaring64::bigint[])$$,
	$$parent WHERE id <@ '{3,9000}'$$]) q;
-- a set that is not known prunes with BETWEEN, too, when the plan runs
SET plan_cache_mode = force_generic_plan;
PREPARE pruned(roaring64) AS SELECT count(*) FROM parted WHERE id <@ $1 AND id BETWEEN roaring64_min($1) AND roaring64_max($1);
SELECT scanned(format('EXECUTE pruned(%L)', s)) FROM unnest('{"{2,400,9999}","{2,10000}"}'::text[]) s;
EXECUTE pruned(int8range(20000, 30000)::roaring64 - 25000);
DEALLOCATE pruned;
RESET plan_cache_mode;
SET enable_partition_pruning = off;
SELECT scanned($$SELECT FROM parted WHERE id <@ '{2,400,9999}'$$);
RESET enable_partition_pruning;
-- what a known set has beyond the ends of partitions, which can be those of bigint
CREATE TABLE ends (id bigint) PARTITION BY RANGE (id);
CREATE TABLE ends_low PARTITION OF ends FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE ends_high PARTITION OF ends FOR VALUES FROM (10000) TO (14000);
CREATE TABLE ends_top PARTITION OF ends FOR VALUES FROM (18000) TO (MAXVALUE);
CREATE TABLE ends_rest PARTITION OF ends DEFAULT;
CREATE INDEX ON ends (id);
INSERT INTO ends SELECT i FROM generate_series(-10000, 20000) i;
ANALYZE ends;
SELECT set, within(4, 'SELECT FROM ends WHERE id <@ ' || set) FROM unnest(ARRAY[
	'(int8range(-500, 500)::roaring64 - 7)', '(int8range(9500, 10500)::roaring64 - 9999)',
	'(int8range(19990, 900000)::roaring64 - 19995)', '(int8range(-900000, -9990)::roaring64 - -9995)',
	'(int8range(20001, 900000)::roaring64 - 30000)', '(int8range(9000, 90000000)::roaring64 - 9500)',
	'(int8range(9900, 10100)::roaring64 | int8range(13900, 15000))', '(int8range(5000, 17000)::roaring64 - 9000)']) set;
SELECT scanned('SELECT FROM ends WHERE id <@ ' || set) FROM unnest(ARRAY[$$'{-7,16000}'$$, $$'{5,16000}'$$]) set;
INSERT INTO ends VALUES (-9223372036854775808), (9223372036854775807);
ANALYZE ends;
SELECT within(4, $$SELECT FROM ends WHERE id <@ '{-9223372036854775808,5,9223372036854775807}'$$);
DROP TABLE ends;
DROP TABLE nested, hashed, listed, parent CASCADE;
DROP FUNCTION scanned;
CREATE DOMAIN id_set AS roaring64 CHECK (NOT VALUE @> 0::bigint);
CREATE DOMAIN id AS bigint;
CREATE TABLE domains (id id PRIMARY KEY, ids id_set);
INSERT INTO domains SELECT id, '{1,2}'::roaring64 | id FROM messages;
ANALYZE domains;
EXPLAIN (COSTS OFF) SELECT * FROM domains WHERE id <@ '{2,400,30000}'::id_set;
EXPLAIN (COSTS OFF) SELECT b.* FROM domains a JOIN domains b ON b.id <@ a.ids WHERE a.id = 2;
SELECT within(2, 'SELECT FROM domains WHERE id <@ (int8range(30000, 900000)::roaring64 - 35000)');
SELECT within(2, 'SELECT FROM domains WHERE ids @> 2::bigint'),
	within(2, 'SELECT FROM domains WHERE ids @> 2::id');
CREATE TABLE logged AS SELECT i::bigint AS id, repeat('x', 100) AS line FROM generate_series(1, 20000) i;
CREATE INDEX ON logged USING brin (id) WITH (pages_per_range = 4);
ANALYZE logged;
EXPLAIN (COSTS OFF) SELECT * FROM logged WHERE id <@ '{5000,5002,5500}';
SELECT same_without_index($$SELECT id FROM logged WHERE id <@ '{5000,5002,5500}'$$);
CREATE ROLE regress_roaring64_reader;
GRANT SELECT ON messages, tagged TO regress_roaring64_reader;
ALTER TABLE messages ENABLE ROW LEVEL SECURITY;
CREATE POLICY three ON messages USING (id <@ '{2,4,30000}');
ALTER TABLE tagged ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON tagged USING (id < 10);
SET ROLE regress_roaring64_reader;
EXPLAIN (COSTS OFF) SELECT * FROM messages;
EXPLAIN (COSTS OFF) SELECT * FROM messages WHERE id <@ '{4,6,70000}';
SELECT * FROM messages WHERE id <@ '{4,6,70000}';
-- a policy beside a test of ours: that comes second
EXPLAIN (COSTS OFF) SELECT count(*) FROM tagged WHERE tags @> 1::bigint;
RESET ROLE;
DROP POLICY three ON messages;
DROP POLICY few ON tagged;
ALTER TABLE messages DISABLE ROW LEVEL SECURITY;
ALTER TABLE tagged DISABLE ROW LEVEL SECURITY;
DROP OWNED BY regress_roaring64_reader;
DROP ROLE regress_roaring64_reader;

-- a later column of an index: the rows come in the order of the first one
CREATE TABLE ordered (k int, id bigint);
INSERT INTO ordered SELECT g % 100, g FROM generate_series(1, 20000) g;
CREATE INDEX ON ordered (k, id);
ANALYZE ordered;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT k FROM ordered WHERE k BETWEEN 10 AND 12 AND id <@ '{1010,2011,3011,4012,5011,6010}' ORDER BY k;
SELECT DISTINCT k FROM ordered WHERE k BETWEEN 10 AND 12 AND id <@ '{1010,2011,3011,4012,5011,6010}' ORDER BY k;
SELECT min(k) FROM ordered WHERE k > 9 AND id <@ '{1011,2011,3011,4012,5011,6010}';
SELECT k FROM ordered WHERE k BETWEEN 10 AND 12 AND id <@ '{1011,2010,3012}' ORDER BY k LIMIT 1;
SELECT k FROM ordered WHERE k BETWEEN 10 AND 12 AND id <@ '{1011,2012,3010}' ORDER BY k DESC LIMIT 1;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT a.k, count(*) FROM ordered a JOIN ordered b USING (k)
WHERE a.k BETWEEN 10 AND 12 AND a.id <@ '{1012,2010,3011}' GROUP BY k;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_sort;
RESET enable_bitmapscan;
RESET enable_seqscan;
DROP TABLE ordered;

-- a plan costs what it reads: a page for each place where scattered ids are, the elements of sets, and the rows that a
-- GIN index finds and that do not pass; and a stable set is computed once
CREATE TABLE costs AS SELECT i::bigint AS id, hashint8(i) & 255 AS kind, hashint8(i) & 15 AS class,
	roaring64_agg(hashint8(i * 10 + j) & 1023) AS tags, repeat('x', 100) AS filler
FROM generate_series(1, 20000) i, generate_series(1, 2 + i % 3) j GROUP BY i ORDER BY i;
CREATE UNIQUE INDEX costs_id ON costs (id);
CREATE INDEX costs_kind ON costs (kind);
CREATE INDEX costs_class ON costs (class);
CREATE INDEX costs_tags ON costs USING gin (tags);
VACUUM ANALYZE costs;
CREATE FUNCTION scans_of(condition text, ids roaring64) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT trim(line, ' ->') FROM plan_of(format('SELECT * FROM costs WHERE %s %L::roaring64', condition, ids)) line
	WHERE line ~ ' on ' $$;
SELECT scans_of('kind = 45 AND id <@', roaring64_agg(abs(hashint8(i)) % 20000)) FROM generate_series(1, 500) i;
SELECT scans_of('tags &&', roaring64_agg(i * 3)) FROM generate_series(1, 150) i;
SELECT scans_of('class = 3 AND tags <@', roaring64_agg(i * 3)) FROM generate_series(1, 60) i;
CREATE FUNCTION permitted() RETURNS roaring64 STABLE LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE 'computed';
	RETURN '{5,7,15000}';
END $$;
EXPLAIN (COSTS OFF) SELECT * FROM costs WHERE id <@ permitted() AND kind = 3;
EXPLAIN (COSTS OFF) SELECT count(*) FROM parted WHERE id <@ permitted();
DROP FUNCTION permitted, scans_of;
DROP TABLE costs;

-- the same rows by index as without
SELECT q, same_without_index(q) FROM unnest(ARRAY[
	$$SELECT * FROM messages WHERE id <@ '{-5,2,3,400,30000,99999999}'$$,
	$$SELECT * FROM messages WHERE id <@ '{}'$$,
	$$SELECT * FROM messages WHERE id <@ NULL::roaring64$$,
	$$SELECT * FROM messages WHERE id <@ int8range(100, 10000)::roaring64$$,
	$$SELECT * FROM messages WHERE NOT id <@ int8range(100, 39000)::roaring64$$,
	$$SELECT * FROM messages WHERE id <@ '{-9223372036854775808,9223372036854775807,2}' AND id > 1$$,
	$$SELECT u.id, m.id FROM users u JOIN messages m ON m.id <@ u.unread$$,
	$$SELECT u.id, m.id FROM users u LEFT JOIN messages m ON m.id <@ u.unread$$,
	$$SELECT m.id FROM messages m WHERE EXISTS (SELECT FROM users u WHERE m.id <@ u.unread AND u.id < 5)$$,
	$$SELECT m.id FROM messages m WHERE NOT EXISTS (SELECT FROM users u WHERE m.id <@ u.unread)$$,
	$$SELECT id FROM messages WHERE id <@ (SELECT unread FROM users WHERE id = 51)$$,
	$$SELECT u.id, (SELECT count(*) FROM messages WHERE id <@ u.unread) FROM users u$$,
	$$SELECT p.id FROM users u JOIN parted p ON u.unread @> p.id WHERE u.id < 9$$,
	$$SELECT id FROM messages WHERE id <@ (SELECT ids FROM halves) AND sender < 10$$]) q;
SELECT bool_and(same_without_index(format('SELECT id FROM messages WHERE id <@ %L',
	(SELECT roaring64_agg(abs(hashint4(i * 1000 + j)) % (10 ^ (1 + i % 6))::bigint)
	 FROM generate_series(1, 1 + i * i) j)::bytea)))
FROM generate_series(1, 80) i;

-- a set and an id that an outer join makes NULL
CREATE TABLE one (k int);
INSERT INTO one VALUES (1);
CREATE TABLE two (k int);
INSERT INTO two VALUES (2);
CREATE TABLE defaulted (k int, id bigint) PARTITION BY LIST ((coalesce(id, 5)));
CREATE TABLE defaulted_5 PARTITION OF defaulted FOR VALUES IN (5);
CREATE TABLE defaulted_7 PARTITION OF defaulted FOR VALUES IN (7);
INSERT INTO defaulted VALUES (1, 7);
ANALYZE one, two, defaulted;
SELECT q, same_without_index(q) FROM unnest(ARRAY[
	$$SELECT one.k, m.id FROM one LEFT JOIN (SELECT '{2,4}'::roaring64 AS s, a.k FROM two a JOIN two b USING (k)) q USING (k)
		JOIN messages m ON m.id <@ q.s$$,
	$$SELECT one.k, m.id FROM one LEFT JOIN (SELECT k, '{2,4}'::roaring64 AS s FROM two) q USING (k)
		LEFT JOIN messages m ON m.id <@ q.s$$,
	$$SELECT one.k, m.id FROM one LEFT JOIN users u ON u.id = one.k + 1 LEFT JOIN messages m ON m.id <@ u.unread$$]) q;
SELECT * FROM one LEFT JOIN defaulted d USING (k) WHERE coalesce(d.id, 5) <@ '{5}';
DROP TABLE one, two, defaulted;

-- any plan: expressions, aggregates, set operations, functions without a table
SELECT count(*) FROM (SELECT tags FROM tagged WHERE id < 100 UNION SELECT ids FROM halves) x
WHERE tags && '{1,4}';
SELECT id, sum(n) FROM (SELECT id, roaring64_agg(id) AS s FROM users GROUP BY id) x,
	LATERAL (SELECT count(*) AS n FROM roaring64_elements(x.s)) y
WHERE id < 3 GROUP BY id, s HAVING roaring64_agg(id) @> 1::bigint ORDER BY id;
SELECT count(*) FROM (VALUES ('{1,2}'::roaring64), ('{3}')) v(s), roaring64_elements(s) e WHERE e <@ s AND s @> e;
SELECT roaring64_elements('{1,2}') AS e UNION ALL SELECT roaring64_min(s) FROM roaring64_split('{300}', 8) x(c, s) ORDER BY e;
SELECT (SELECT count(*) FROM messages m WHERE m.id <@ (u.unread & int8range(1, n))) AS n
FROM users u, generate_series(20000, 40000, 20000) n WHERE u.id = 2 ORDER BY 1;
WITH RECURSIVE r(s) AS (SELECT '{2}'::roaring64 UNION ALL
	SELECT s | (SELECT max(id) FROM messages WHERE id <@ ((s | 4) | 6)) FROM r WHERE roaring64_cardinality(s) < 2)
SELECT s FROM r ORDER BY 1;
-- The set of one row gives a join the order of the lookup; of several rows it does not.  What is read is mostly a part
-- of what was sent, so few are unread, and a set is dear to compute for each row of a table.
CREATE TABLE member (id bigint PRIMARY KEY, room bigint, sent roaring64, read roaring64);
INSERT INTO member
SELECT i, i % 2, s, s - (SELECT roaring64_agg(j) FROM unnest(roaring64_first(s, 30)) j)
FROM (SELECT i, (SELECT roaring64_agg(j) FROM generate_series(i, 40000, 10) j) AS s FROM generate_series(1, 9) i) t;
CREATE TABLE other_key (k int, id bigint, UNIQUE (k, id));
INSERT INTO other_key SELECT 1, i FROM generate_series(1, 5) i;
ANALYZE member, other_key;
SELECT plan_of(q) FROM unnest(ARRAY[
	'SELECT m.id FROM member u JOIN messages m ON m.id <@ (sent - read) WHERE u.id = 8 ORDER BY m.id DESC LIMIT 20',
	'SELECT m.id FROM member u JOIN messages m ON m.id <@ (sent - read) WHERE u.room = 0 ORDER BY m.id DESC LIMIT 20',
	'SELECT m.id FROM messages m WHERE EXISTS (SELECT FROM member u WHERE u.id = 8 AND m.id <@ (sent & read)) ORDER BY m.id LIMIT 20',
	'SELECT m.id FROM (SELECT roaring64_or_agg(sent - read) AS s FROM member) u JOIN messages m ON m.id <@ s ORDER BY m.id DESC LIMIT 20',
	'SELECT m.id FROM other_key k JOIN member u USING (id) JOIN messages m ON m.id <@ sent AND m.id > k.k WHERE k = 1 ORDER BY m.id LIMIT 3']) q;
SELECT q, same_without_index(q) FROM unnest(ARRAY[
	'SELECT m.id FROM member u JOIN messages m ON m.id <@ (sent - read) WHERE u.id = 8 ORDER BY m.id DESC LIMIT 20',
	'SELECT m.id, u.id AS u FROM member u JOIN messages m ON m.id <@ (sent - read) WHERE u.room = 0 ORDER BY m.id, u.id LIMIT 20',
	'SELECT m.id FROM messages m WHERE EXISTS (SELECT FROM member u WHERE u.id = 8 AND m.id <@ (sent & read)) ORDER BY m.id DESC LIMIT 20',
	'SELECT m.id FROM (SELECT room, roaring64_or_agg(sent - read) AS s FROM member GROUP BY 1) u JOIN messages m ON m.id <@ s ORDER BY m.id DESC LIMIT 40',
	'SELECT m.id, u.id AS u FROM other_key k JOIN member u USING (id) JOIN messages m ON m.id <@ sent WHERE k = 1 ORDER BY m.id LIMIT 30']) q;
-- estimates of what one row looks up: 30 unread, and the sent ones that are read; none of what all have read
SELECT within(2, q) FROM unnest(ARRAY[
	'SELECT m.id FROM member u JOIN messages m ON m.id <@ (sent - read) WHERE u.id = 8',
	'SELECT m.id FROM member u JOIN messages m ON m.id <@ (sent & read) WHERE u.id = 8',
	'SELECT m.id FROM messages m WHERE m.id <@ (SELECT sent - read FROM member u WHERE u.id = 8)',
	'SELECT e FROM member u, roaring64_elements(sent - read) e WHERE u.id = 8',
	'SELECT e FROM member u, roaring64_elements(sent - int8range(1, 20000)) e WHERE u.id = 8',
	'SELECT e FROM member u, roaring64_elements(sent - ''{7,17,27}'') e WHERE u.id = 8',
	'SELECT m.id FROM messages m WHERE m.id <@ (SELECT sent - sent FROM member u WHERE u.id = 8)',
	'SELECT e FROM member u, roaring64_elements(sent - int8range(1, 50000)) e WHERE u.id = 8']) q;
DROP TABLE member, other_key;
-- a column of empty sets, and what is known only when the query runs
CREATE TABLE nothing AS SELECT roaring64 '{}' AS s FROM generate_series(1, 1000);
ANALYZE nothing;
SELECT within(2, 'SELECT FROM nothing WHERE s ' || q) FROM unnest(ARRAY[
	'@> (SELECT 5::bigint)', '&& (SELECT s FROM nothing LIMIT 1)', '@> (SELECT s FROM nothing LIMIT 1)']) q;
DROP TABLE nothing;
-- a known set is computed once a plan, not for each partition
CREATE SEQUENCE calls;
CREATE FUNCTION scattered_ids() RETURNS roaring64 LANGUAGE sql STABLE AS
	'SELECT roaring64_agg(hashint8extended(i, 3)) FROM generate_series(nextval(''calls''), 1000) AS i';
CREATE TABLE split (id bigint) PARTITION BY RANGE (id);
DO $$ BEGIN FOR i IN 1 .. 30 LOOP
	EXECUTE format('CREATE TABLE split_%s PARTITION OF split FOR VALUES FROM (%s) TO (%s)', i, i, i + 1);
END LOOP; END $$;
DO $$ BEGIN EXECUTE 'EXPLAIN SELECT FROM split WHERE id <@ scattered_ids()'; END $$;
SELECT last_value AS calls FROM calls;
DROP TABLE split;
DROP FUNCTION scattered_ids;
DROP SEQUENCE calls;
DROP TABLE tagged, sparse, few_large, zipf, days, large, odd, users, messages, halves, parted, domains, logged CASCADE;
DROP DOMAIN id, id_set;
DROP FUNCTION within, plan_of, same_without_index;

-- partitions by ranges of two columns: the set prunes none, as 18.6 would prune too many
CREATE TABLE two (k int, id bigint) PARTITION BY RANGE (k, id);
CREATE TABLE two_1 PARTITION OF two FOR VALUES FROM (MINVALUE, MINVALUE) TO (9, 300);
CREATE TABLE two_2 PARTITION OF two FOR VALUES FROM (9, 300) TO (9, MAXVALUE);
CREATE TABLE two_3 PARTITION OF two DEFAULT;
INSERT INTO two SELECT i % 23, i FROM generate_series(1, 1000) AS i;
SELECT array_agg(id ORDER BY id) FROM two WHERE id <@ int8range(20, 60)::roaring64 AND k BETWEEN 12 AND 15;
DROP TABLE two;

-- a large set that is a parameter is not recognised when it comes again: for many rows the plan with the constant stays
CREATE TABLE plain AS SELECT i::bigint AS id FROM generate_series(1, 1000) AS i;
CREATE TABLE small AS SELECT * FROM plain LIMIT 50;
ANALYZE plain, small;
PREPARE among(roaring64) AS SELECT count(*) FROM plain WHERE id <@ $1;
PREPARE within(roaring64) AS SELECT count(*) FROM plain WHERE $1 @> id;
PREPARE among_few(roaring64) AS SELECT count(*) FROM small JOIN small AS other USING (id) WHERE id <@ $1;
DO $$ BEGIN FOR i IN 1..6 LOOP EXECUTE 'EXECUTE among(''{1}'')'; EXECUTE 'EXECUTE within(''{1}'')'; EXECUTE 'EXECUTE among_few(''{1}'')'; END LOOP; END $$;
SELECT name, custom_plans, generic_plans FROM pg_prepared_statements WHERE name ~ 'among|within' ORDER BY name;
DROP TABLE plain, small;
DEALLOCATE among;
DEALLOCATE within;
DEALLOCATE among_few;
