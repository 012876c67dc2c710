--
-- id <@ set by a btree on id: whatever way a lookup takes through the index,
-- or from it to the table, it finds the same rows as a look at all of them.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- ids that come once, often, never, or are NULL; in no order; a column that
-- is dropped and one that is added later
CREATE TABLE things (gone int, id bigint, part int, name text);
ALTER TABLE things DROP COLUMN gone;
INSERT INTO things
SELECT CASE WHEN i % 50 > 0 THEN (i - 5000) * 3 + i % 7 END, i % 5, 'n' || i
FROM (SELECT i FROM generate_series(1, 10000) i ORDER BY hashint4(i)) s;
INSERT INTO things SELECT id, 9, 'again' FROM things WHERE id BETWEEN 300 AND 600;
INSERT INTO things VALUES (9223372036854775807, 1, 'last'), (-9223372036854775808, 1, 'first');
ALTER TABLE things ADD COLUMN late int DEFAULT 3;
CREATE TABLE shapes (shape text, s roaring64);
INSERT INTO shapes VALUES ('empty', '{}'::roaring64), ('null', NULL), ('first', '{-9223372036854775808}'),
	('last', '{9223372036854775807}'), ('ends', '{-9223372036854775808,5,9223372036854775807}'),
	('absent', '{1000000,2000000,3000000}'),
	('all', int8range(-50000, 50000)::roaring64 | 9223372036854775807 | (-9223372036854775808)),
	('long run', int8range(-200, 200000000)::roaring64), ('run', int8range(300, 600)::roaring64),
	('two runs', int8range(-15000, -14000)::roaring64 | int8range(14000, 15000)),
	('duplicates', '{300,303,306,600}');
INSERT INTO shapes
SELECT 'every ' || n, roaring64_agg(i) FROM unnest('{2,7,40,333,2500}'::int[]) n,
	LATERAL generate_series(-20000::bigint, 25000, n) i GROUP BY n;
INSERT INTO shapes
SELECT 'clusters of ' || n, roaring64_agg(c * 1500 + i) FROM unnest('{3,50,700}'::int[]) n,
	generate_series(-10, 10) c, LATERAL generate_series(0::bigint, n) i GROUP BY n;
CREATE INDEX things_id ON things (id);
ANALYZE things, shapes;

-- the shapes for which a lookup differs from a look at all rows; what an aggregate gives is not estimated
CREATE FUNCTION differing(suffix text DEFAULT '', prefix text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	which text;
	query text;
	sorted text := CASE WHEN suffix ~ 'ORDER' THEN '' ELSE ' ORDER BY q' END;
	plan text;
	expected text;
	found text;
BEGIN
	FOR which IN SELECT shape FROM shapes LOOP
		query := format('SELECT string_agg(q::text, '' ''%s) FROM (SELECT %s FROM things WHERE %sid%%s <@ (SELECT roaring64_or_agg(s) FROM shapes WHERE shape = %L) %s) q',
			sorted, CASE WHEN suffix ~ 'ORDER' THEN 'id' ELSE '*' END, prefix, which, suffix);
		plan := '';
		FOR found IN EXECUTE 'EXPLAIN ' || format(query, '') LOOP
			plan := plan || found;
		END LOOP;
		IF plan !~ 'Roaring64 Lookup' OR (suffix ~ 'ORDER' AND plan ~ 'Sort') THEN
			RETURN NEXT which || ': no lookup: ' || plan;
		END IF;
		EXECUTE format(query, '') INTO found;
		EXECUTE format(query, '+0') INTO expected;
		IF found IS DISTINCT FROM expected THEN
			RETURN NEXT which;
		END IF;
	END LOOP;
END $$;
-- how many of their lookups turn to the table
CREATE FUNCTION turns() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	which text;
	line text;
	n bigint := 0;
BEGIN
	FOR which IN SELECT shape FROM shapes LOOP
		FOR line IN EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM things WHERE id <@ (SELECT s FROM shapes WHERE shape = %L)', which) LOOP
			n := n + (line ~ 'Table Scans: 1')::int;
		END LOOP;
	END LOOP;
	RETURN n;
END $$;

-- in any order, only by the index, and turning to the table early or late
SET enable_seqscan = off;
SELECT differing();
SELECT differing('', 'NOT ');
SELECT turns();
SET enable_seqscan = on;
SELECT differing();
SET random_page_cost = 100;
SELECT differing();
SELECT turns() > 3 AS some;
SET random_page_cost = 100000;
SELECT differing();
SELECT differing('AND part = 3');
SELECT turns() > 10 AS most;
RESET random_page_cost;
-- in order, up and down, with and without a limit, by several indexes
SET enable_sort = off;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SELECT differing(s, p) FROM unnest('{ORDER BY id,ORDER BY id DESC,ORDER BY id LIMIT 5,ORDER BY id DESC LIMIT 5}'::text[]) s,
	unnest('{"", "NOT ", "id <@ (SELECT s FROM shapes WHERE shape = ''clusters of 50'') AND NOT "}'::text[]) p;
DROP INDEX things_id;
CREATE INDEX things_id ON things (id DESC, part);
SELECT differing(s, p) FROM unnest('{ORDER BY id,ORDER BY id DESC,AND part <> 3}'::text[]) s, unnest('{"", "NOT "}'::text[]) p;
DROP INDEX things_id;
CREATE INDEX things_id ON things (id) WHERE part < 3;
SELECT differing('AND part < 3 ORDER BY id DESC');
SELECT differing('AND part < 3 ORDER BY id DESC', 'NOT ');
RESET enable_sort;
RESET enable_seqscan;
RESET enable_indexonlyscan;
DROP INDEX things_id;
CREATE INDEX things_id ON things (id);
CREATE INDEX things_next ON things ((id / 2));
ANALYZE things;
-- by the index only where that has all columns; of a page that is not all
-- visible, rows are fetched, and what was changed since is seen
SET client_min_messages = warning;
CREATE TABLE kept (LIKE things);
INSERT INTO kept SELECT * FROM things ORDER BY id;
CREATE INDEX kept_id ON kept (id, part) INCLUDE (name);
VACUUM ANALYZE kept;
RESET client_min_messages;
CREATE FUNCTION analyzed(query text, wanted text DEFAULT 'Lookup|Set Elements|Heap Fetches|Table Scans') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		IF line ~ wanted THEN
			RETURN NEXT trim(regexp_replace(line, '\(actual.*', ''));
		END IF;
	END LOOP;
END $$;
SET enable_seqscan = off;
-- the first row is fetched before other ids are searched for
SELECT analyzed('SELECT name FROM things WHERE id <@ (SELECT s FROM shapes WHERE shape = ''duplicates'')' || l, 'Index Searches')
FROM unnest('{"", " LIMIT 1"}'::text[]) l;
SELECT analyzed('SELECT id, part, name FROM shapes, kept WHERE id <@ s AND shape = ''run''');
UPDATE kept SET part = 7 WHERE id = 308;
DELETE FROM kept WHERE id = 315;
SELECT analyzed('SELECT id, part, name FROM shapes, kept WHERE id <@ s AND shape = ''two runs''');
SELECT split_part(a, ': ', 1) FROM analyzed('SELECT id, part, name FROM shapes, kept WHERE id <@ s AND shape = ''run''') a;
SELECT analyzed('SELECT id, late FROM shapes, kept WHERE id <@ s AND shape = ''run''');
SET enable_indexonlyscan = off;
SELECT analyzed('SELECT id FROM shapes, kept WHERE id <@ s AND shape = ''run''');
RESET enable_indexonlyscan;
SELECT part, count(*), max(name), sum(id) FROM shapes, kept WHERE id <@ s AND shape = 'run' GROUP BY part ORDER BY part;
SELECT part, count(*), max(name), sum(id) FROM shapes, kept WHERE id + 0 <@ s AND shape = 'run' GROUP BY part ORDER BY part;
SELECT count(*), max(id) FROM shapes, kept WHERE id <@ s AND shape = 'run' AND name < 'n3';
RESET enable_seqscan;
SET random_page_cost = 100000;
SELECT part, count(*), max(name), sum(id) FROM shapes, kept WHERE id <@ s AND shape = 'run' GROUP BY part ORDER BY part;
SELECT count(*) FROM analyzed('SELECT id FROM shapes, kept WHERE id <@ s AND shape = ''all''') a WHERE a = 'Table Scans: 1';
RESET random_page_cost;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM kept WHERE id <@ (SELECT s FROM shapes WHERE shape = 'run');
MOVE 3 IN c;
FETCH c;
UPDATE kept SET name = 'current' WHERE CURRENT OF c RETURNING id;
SELECT id FROM kept WHERE name = 'current';
ROLLBACK;
-- blocks that the set was read from do not make it turn to the table
SET temp_buffers = '800kB';
CREATE TEMP TABLE others AS SELECT i AS id, repeat('x', 500) AS name FROM generate_series(1::bigint, 5000) i;
SELECT analyzed('SELECT name FROM things WHERE id <@ (SELECT roaring64_agg(id * 30) FROM others WHERE id <= 5)');
-- all but a set: a run of elements that has many rows is searched past
CREATE TABLE feed AS SELECT i::bigint AS id, i % 3 AS part FROM generate_series(1, 20000) i;
CREATE INDEX ON feed (id);
CREATE TABLE seen AS SELECT 'run' AS what, int8range(5000, 20001)::roaring64 AS ids UNION ALL
SELECT 'third', roaring64_agg(i * 3) FROM generate_series(0, 7000) i UNION ALL
SELECT 'runs of 50', roaring64_or_agg(int8range(i * 100, i * 100 + 50)::roaring64) FROM generate_series(0, 200) i UNION ALL
SELECT 'empty', '{}' UNION ALL SELECT 'null', NULL UNION ALL SELECT 'all', int8range(0, 30000)::roaring64;
VACUUM ANALYZE feed, seen;
SELECT what, o, analyzed(format('SELECT * FROM feed WHERE NOT id <@ (SELECT ids FROM seen WHERE what = %L) %s', what, o), 'Index Searches')
FROM seen, unnest('{"ORDER BY id DESC LIMIT 60", "ORDER BY id LIMIT 60"}'::text[]) o ORDER BY what, o;
-- with a condition on what may be seen; a known set; as a parameter; of a join
EXPLAIN (COSTS OFF) SELECT * FROM feed WHERE id <@ (int8range(0, 15000)::roaring64 - 7) AND NOT id <@ int8range(9, 3000)::roaring64 ORDER BY id DESC LIMIT 5;
SELECT id FROM feed WHERE id <@ (int8range(0, 15000)::roaring64 - 7) AND NOT id <@ int8range(4, 14998)::roaring64 ORDER BY id DESC LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM feed WHERE NOT roaring64_element_contained(id, int8range(5, 3000)::roaring64) ORDER BY id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT s.what, f.id FROM seen s, LATERAL (SELECT id FROM feed WHERE NOT id <@ s.ids ORDER BY id DESC LIMIT 2) f;
SELECT s.what, f.id FROM seen s, LATERAL (SELECT id FROM feed WHERE NOT id <@ s.ids ORDER BY id DESC LIMIT 2) f ORDER BY what, id;
PREPARE unseen(roaring64, roaring64) AS SELECT id FROM feed WHERE id <@ $1 AND NOT $2 @> id ORDER BY id DESC LIMIT 3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE unseen('{}', '{}');
EXECUTE unseen(int8range(5, 90)::roaring64, int8range(20, 88)::roaring64 | 19);
EXECUTE unseen(int8range(5, 90)::roaring64, NULL);
EXECUTE unseen(NULL, '{}');
RESET plan_cache_mode;
DROP TABLE feed, seen;
-- a name is kept in another form, so it is not read from the index
ALTER TABLE kept ADD COLUMN form name;
UPDATE kept SET form = name WHERE id BETWEEN 290 AND 330;
DROP INDEX kept_id;
CREATE INDEX ON kept (id, form);
CREATE INDEX ON kept (id, part) INCLUDE (form);
VACUUM ANALYZE kept;
SELECT id, form, part FROM shapes, kept WHERE id <@ s AND shape = 'run' AND part IN (1, 9) AND id < 330 ORDER BY id, form;
-- the setting
SET roaring64.enable_lookup = off;
SELECT analyzed('SELECT id FROM shapes, kept WHERE id <@ s AND shape = ''run''');
RESET roaring64.enable_lookup;
-- written as a function
SET enable_seqscan = off;
SELECT analyzed('SELECT id FROM shapes, kept WHERE roaring64_element_contained(id, s) AND shape = ''run''');
RESET enable_seqscan;
DROP TABLE kept;
DROP FUNCTION analyzed;
-- an expression, also when it turns to the table
EXPLAIN (COSTS OFF) SELECT name FROM things, shapes WHERE id / 2 <@ s AND shape = 'run';
SELECT shape, count(*) = sum((id / 2 + 0 <@ s)::int) FROM things, shapes WHERE id / 2 <@ s AND shape ~ 'clusters' GROUP BY shape ORDER BY shape;
SET random_page_cost = 100000;
SELECT shape, count(*) = sum((id / 2 + 0 <@ s)::int) FROM things, shapes WHERE id / 2 <@ s AND shape ~ 'clusters' GROUP BY shape ORDER BY shape;
RESET random_page_cost;
-- one after another, outer, semi and anti joins
SELECT shape, n = (SELECT count(*) FROM things WHERE id + 0 <@ s) AS same
FROM (SELECT shape, s, count(id) AS n FROM shapes LEFT JOIN things ON id <@ s GROUP BY shape, s) q ORDER BY shape;
SELECT count(*) = (SELECT count(*) FROM shapes, LATERAL (SELECT FROM things WHERE id + 0 <@ s LIMIT 1) t) AS same
FROM shapes WHERE EXISTS (SELECT FROM things WHERE id <@ s);
SELECT shape FROM shapes WHERE NOT EXISTS (SELECT FROM things WHERE id <@ s) ORDER BY shape;
-- two tests, and one arm of an OR
SELECT count(*) = (SELECT count(*) FROM things WHERE id + 0 <@ '{1,4,7,30,33,36}' OR id + 0 <@ (SELECT s FROM shapes WHERE shape = 'run')) AS same
FROM things WHERE id <@ '{1,4,7,30,33,36}' OR id <@ (SELECT s FROM shapes WHERE shape = 'run');
SELECT count(*) = (SELECT count(*) FROM things WHERE id + 0 <@ a.s AND id + 0 <@ b.s) AS same
FROM shapes a, shapes b, things WHERE id <@ a.s AND id <@ b.s AND a.shape = 'every 7' AND b.shape = 'run' GROUP BY a.s, b.s;
-- the second column of an index
CREATE INDEX things_part ON things (part, id);
SET enable_seqscan = off;
PREPARE part(roaring64) AS SELECT count(*) FROM things WHERE part = 1 AND id <@ $1;
SET plan_cache_mode = force_generic_plan;
DROP INDEX things_id;
EXPLAIN (COSTS OFF) EXECUTE part('{}');
EXECUTE part((int8range(-500, 3000)::roaring64 - 301));
SELECT count(*) FROM things WHERE part = 1 AND id + 0 <@ (int8range(-500, 3000)::roaring64 - 301);
EXECUTE part('{}');
RESET enable_seqscan;
RESET plan_cache_mode;
RESET enable_bitmapscan;
CREATE INDEX things_id ON things (id);

DROP INDEX things_part;
-- the same rows as without the index, by a lookup
CREATE FUNCTION looked_up(query text, wanted text DEFAULT 'Roaring64 Lookup') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
	found text;
	expected text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		plan := plan || line;
	END LOOP;
	query := format('SELECT string_agg(q::text, '' '' %s) FROM (%s) q',
		CASE WHEN query ~ 'ORDER' THEN '' ELSE 'ORDER BY q' END, query);
	EXECUTE query INTO found;
	EXECUTE replace(query, 'id <@', 'id + 0 <@') INTO expected;
	RETURN CASE WHEN plan !~ wanted OR plan !~ 'Roaring64 Lookup' THEN plan WHEN found = expected THEN 'same' ELSE found END;
END $$;
-- subqueries beside it that see another row each time
SELECT looked_up($$SELECT shape, t.* FROM shapes, LATERAL (SELECT id, part IN (SELECT o.part FROM things o WHERE o.part <> length(shape) % 5) AS hit
	FROM things WHERE id <@ s OFFSET 0) t WHERE shape ~ 'clusters'$$, 'SubPlan');
SELECT looked_up($$SELECT shape, t.* FROM shapes, LATERAL (SELECT id, name FROM things
	WHERE id <@ s AND part NOT IN (SELECT o.part FROM things o WHERE o.part <> length(shape) % 5) OFFSET 0) t WHERE shape ~ 'clusters'$$, 'SubPlan');
SELECT looked_up($$SELECT t.* FROM shapes a, things t WHERE t.id <@ (SELECT b.s FROM shapes b WHERE b.shape = 'clusters of ' || length(a.shape) - 10) AND a.shape ~ 'clusters'$$);
-- as the outer and the inner side of a merge join, with rows that come again
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_sort = off;
SET enable_seqscan = off;
SELECT looked_up($$SELECT a.*, b.name FROM things a JOIN things b USING (id) WHERE id <@ (SELECT s FROM shapes WHERE shape = 'run')$$, 'Merge Join');
SELECT looked_up($$SELECT a.*, b.name FROM things a JOIN (SELECT * FROM things WHERE id <@ (SELECT s FROM shapes WHERE shape = 'run')) b USING (id)$$, 'Merge Join');
RESET enable_hashjoin;
RESET enable_nestloop;
-- tables that inherit
CREATE TABLE more_things (more int) INHERITS (things);
INSERT INTO more_things SELECT *, 1 FROM things WHERE id % 2 = 0;
CREATE INDEX ON more_things (id) INCLUDE (name);
ANALYZE more_things;
SELECT looked_up($$SELECT id FROM things WHERE id <@ (SELECT s FROM shapes WHERE shape = 'every 40') ORDER BY id DESC$$, 'Merge Append');
DROP TABLE more_things;
RESET enable_sort;
RESET enable_seqscan;
-- an expression that fails for rows that the index has none of
CREATE INDEX things_quotient ON things ((1000::bigint / part)) WHERE part <> 0;
SET random_page_cost = 100000;
SELECT count(*) FROM things, shapes WHERE 1000::bigint / part <@ s AND part <> 0 AND shape = 'run';
SELECT count(*) FROM things WHERE part IN (2, 3);
RESET random_page_cost;
DROP INDEX things_quotient;
-- cursors that go back, that outlive their transaction, and whose row is changed
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT id FROM shapes, things WHERE id <@ s AND shape = 'run';
FETCH 3 FROM c;
FETCH BACKWARD 2 FROM c;
COMMIT;
FETCH 3 FROM c;
CLOSE c;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM things WHERE id <@ (SELECT s FROM shapes WHERE shape = 'run');
MOVE 3 IN c;
FETCH c;
UPDATE things SET name = name || ' now' WHERE CURRENT OF c RETURNING id;
FETCH BACKWARD c;
ROLLBACK;
-- a kept plan, when the index changes or goes
SET plan_cache_mode = force_generic_plan;
PREPARE kept(roaring64) AS SELECT count(*) FROM things WHERE id <@ $1;
EXECUTE kept('{300,303}');
REINDEX INDEX things_id;
EXECUTE kept('{300,303}');
REINDEX INDEX CONCURRENTLY things_id;
EXECUTE kept('{300,303}');
ALTER INDEX things_id RENAME TO things_other;
EXPLAIN (COSTS OFF) EXECUTE kept('{}');
DROP INDEX CONCURRENTLY things_other;
EXPLAIN (COSTS OFF) EXECUTE kept('{}');
EXECUTE kept('{300,303}');
CREATE INDEX things_id ON things (id);
EXPLAIN (COSTS OFF) EXECUTE kept('{}');
RESET plan_cache_mode;

-- a set that no array could hold, and that is not known to the plan
PREPARE generic(roaring64) AS SELECT count(*) FROM things WHERE id <@ $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE generic(int8range(0, 2000000000)::roaring64);
RESET plan_cache_mode;
-- rows that the scan itself changes are found once
UPDATE things SET id = id + 1 WHERE id <@ (SELECT s FROM shapes WHERE shape = 'long run');
SELECT count(*), sum(id) FROM things WHERE name <> 'last';
DELETE FROM things WHERE id <@ (SELECT s | 9223372036854775807 FROM shapes WHERE shape = 'every 2');
SELECT count(*) FROM things WHERE id <@ (SELECT s FROM shapes WHERE shape = 'every 2');
-- MERGE with a lookup in it, which matches each row as often as a join; before
-- 15 there is none
CREATE TABLE merged AS SELECT id, part, name FROM things WHERE id % 9 = 0 OR id = 9223372036854775807;
CREATE INDEX ON merged (id);
ANALYZE merged;
CREATE TABLE expected AS
SELECT CASE WHEN part = 2 THEN part + 100 ELSE part END AS part, id, name
FROM merged WHERE NOT (part = 1 AND id + 0 <@ (SELECT s FROM shapes WHERE shape = 'clusters of 50')) OR part IS NULL;
UPDATE expected SET part = part - 100 WHERE part > 99 AND NOT id + 0 <@ (SELECT s FROM shapes WHERE shape = 'clusters of 50');
INSERT INTO expected SELECT -1, NULL, shape FROM shapes WHERE shape IN ('absent', 'empty', 'null');
DO $$
DECLARE
	query text := 'MERGE INTO merged USING (SELECT * FROM shapes WHERE shape IN (''absent'', ''empty'', ''null'', ''clusters of 50'')) w ON id <@ s
		WHEN MATCHED AND part = 1 THEN DELETE
		WHEN MATCHED AND part = 2 THEN UPDATE SET part = part + 100
		WHEN NOT MATCHED THEN INSERT (part, name) VALUES (-1, shape)';
	line text;
	plan text := '';
BEGIN
	IF current_setting('server_version_num')::int < 150000 THEN
		TRUNCATE merged;
		INSERT INTO merged (part, id, name) SELECT * FROM expected;
		RETURN;
	END IF;
	SET LOCAL enable_seqscan = off;
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		plan := plan || line;
	END LOOP;
	IF plan !~ 'Roaring64 Lookup' THEN
		RAISE EXCEPTION 'no lookup: %', plan;
	END IF;
	EXECUTE query;
END $$;
SELECT count(*) FROM ((SELECT part, id, name FROM merged EXCEPT ALL SELECT * FROM expected)
	UNION ALL (SELECT * FROM expected EXCEPT ALL SELECT part, id, name FROM merged)) d;
DROP TABLE merged, expected;
-- system columns, whole rows, and rows that are locked
SELECT looked_up($$SELECT ctid, tableoid::regclass, t, xmin::text FROM things t WHERE id <@ (SELECT s FROM shapes WHERE shape = 'run')$$);
SELECT count(*) = (SELECT count(*) FROM things WHERE id + 0 <@ (SELECT s FROM shapes WHERE shape = 'run')) AS same
FROM (SELECT FROM things WHERE id <@ (SELECT s FROM shapes WHERE shape = 'run') FOR UPDATE SKIP LOCKED) t;
-- in a worker
SELECT count(*) FROM (SELECT set_config(name, 'on', false) FROM pg_settings
	WHERE name IN ('force_parallel_mode', 'debug_parallel_query')) s;
SELECT count(*) = (SELECT count(*) FROM things WHERE id + 0 <@ s) AS same
FROM things, shapes WHERE id <@ s AND shape = 'every 7' GROUP BY s;
SELECT count(*) FROM (SELECT set_config(name, 'off', false) FROM pg_settings
	WHERE name IN ('force_parallel_mode', 'debug_parallel_query')) s;

-- not where it would see rows before a condition that is to hide them, and not
-- of a sample
SET plan_cache_mode = force_generic_plan;
CREATE ROLE regress_roaring64_reader;
GRANT SELECT ON things TO regress_roaring64_reader;
ALTER TABLE things ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON things USING (part < 3);
SET ROLE regress_roaring64_reader;
PREPARE hidden(roaring64) AS SELECT id FROM things WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE hidden('{}');
DEALLOCATE hidden;
RESET ROLE;
DROP POLICY few ON things;
ALTER TABLE things DISABLE ROW LEVEL SECURITY;
REVOKE ALL ON things FROM regress_roaring64_reader;
DROP ROLE regress_roaring64_reader;
-- a policy that permits even ids, beside a query's test or the negation of one: the query's function sees no odd id, by
-- whatever plan, and the policy and the query share a lookup only if the test is leakproof
CREATE TABLE guarded AS SELECT i::bigint AS id FROM generate_series(1, 4000) i;
CREATE INDEX ON guarded (id);
CREATE TABLE lists AS SELECT roaring64_agg(i) FILTER (WHERE i % 2 = 0) AS even, roaring64_agg(i) FILTER (WHERE i % 2 = 1) AS odd,
	int8range(500, 2500)::roaring64 - 700 AS asked FROM generate_series(1::bigint, 4000) i;
VACUUM ANALYZE guarded, lists;
CREATE FUNCTION leaky(id bigint) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS $$
BEGIN
	IF id % 2 = 1 THEN
		RAISE EXCEPTION 'sees %', id;
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION guarded_by(query text, OUT plan text, OUT by_index text, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	without text;
BEGIN
	query := format('SELECT count(*) || '' '' || sum(id) FROM guarded WHERE leaky(id) AND %s (SELECT roaring64_or_agg(asked) FROM lists)', query);
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexonlyscan = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Roaring64 Lookup|Cond|Filter' THEN
			plan := concat_ws(E'\n', plan, trim(regexp_replace(line, '[$]\d|[(]InitPlan \w+[)][.]col1', 'set', 'g'), ' ->'));
		END IF;
	END LOOP;
	EXECUTE query INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO without;
	same := by_index = without;
	SET LOCAL enable_indexscan = on;
END $$;
CREATE ROLE regress_roaring64_reader;
GRANT SELECT ON guarded, lists TO regress_roaring64_reader;
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY even ON guarded USING (id <@ (SELECT roaring64_or_agg(even) FROM lists));
SET ROLE regress_roaring64_reader;
SELECT (guarded_by(q)).* FROM unnest('{id <@,NOT id <@}'::text[]) q;
RESET ROLE;
BEGIN;
ALTER FUNCTION roaring64_element_contained(bigint, roaring64) LEAKPROOF;
SET ROLE regress_roaring64_reader;
SELECT (guarded_by(q)).* FROM unnest('{id <@,NOT id <@}'::text[]) q;
ROLLBACK;
DROP POLICY even ON guarded;
CREATE POLICY not_odd ON guarded USING (NOT id <@ (SELECT roaring64_or_agg(odd) FROM lists));
SET ROLE regress_roaring64_reader;
SELECT (guarded_by(q)).* FROM unnest('{id <@,NOT id <@}'::text[]) q;
RESET ROLE;
BEGIN;
ALTER FUNCTION roaring64_element_contained(bigint, roaring64) LEAKPROOF;
SET ROLE regress_roaring64_reader;
SELECT (guarded_by(q)).* FROM unnest('{id <@,NOT id <@}'::text[]) q;
ROLLBACK;
DROP TABLE guarded, lists;
DROP FUNCTION leaky, guarded_by;
DROP ROLE regress_roaring64_reader;
PREPARE sampled(roaring64) AS SELECT id FROM things TABLESAMPLE SYSTEM (50) WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE sampled('{}');
-- the first query of a session, before anything of ours was called
\c
EXPLAIN (COSTS OFF) SELECT id FROM shapes JOIN things ON id <@ s WHERE shape = 'run';
\c
SET jit = off;
SET plan_cache_mode = force_generic_plan;
PREPARE first(roaring64) AS SELECT id FROM things WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE first('{}');
-- a row that proves dead marks its own entry, not the one that the walk has reached, by which others would be missed
CREATE TABLE killed AS SELECT i AS id, repeat('x', 500) AS filler FROM generate_series(1::bigint, 20000) AS i ORDER BY hashint8(i);
CREATE INDEX ON killed (id);
ANALYZE killed;
DELETE FROM killed WHERE id % 3 = 0;
SET enable_seqscan = off;
SET random_page_cost = 1;
SELECT count(filler) FROM killed WHERE id <@ (SELECT roaring64_agg(i) FROM generate_series(1::bigint, 20000) AS i);
SELECT count(filler) FROM killed WHERE id <@ (SELECT roaring64_agg(i) FROM generate_series(1::bigint, 20000) AS i);
SELECT count(filler) FROM killed WHERE id <@ (SELECT roaring64_agg(i) FROM generate_series(1::bigint, 20000) AS i);
RESET random_page_cost;
RESET enable_seqscan;
DROP TABLE killed;
-- a set of unknown size may have nearly all ids: an index that finds few rows is better, but not the whole table or index
CREATE TABLE wide AS SELECT i::bigint AS id, i % 100 AS few, i % 2 AS half, repeat('x', 1000) AS filler FROM generate_series(1, 5000) i;
CREATE INDEX ON wide (id);
CREATE INDEX ON wide (few);
CREATE INDEX ON wide (half);
VACUUM ANALYZE wide;
PREPARE beside_few(roaring64) AS SELECT filler FROM wide WHERE few = 5 AND id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE beside_few('{}');
PREPARE beside_half(roaring64) AS SELECT filler FROM wide WHERE half = 1 AND id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE beside_half('{}');
PREPARE only_index(roaring64) AS SELECT id FROM wide WHERE id <@ $1;
EXPLAIN (COSTS OFF) EXECUTE only_index('{}');
PREPARE in_order(roaring64) AS SELECT filler FROM wide WHERE id <@ $1 ORDER BY id;
EXPLAIN (COSTS OFF) EXECUTE in_order('{}');
DROP TABLE wide;
RESET plan_cache_mode;

-- partitions, joined one by one
SET enable_partitionwise_join = on;
CREATE TABLE a (id bigint, s roaring64) PARTITION BY RANGE (id);
CREATE TABLE a1 PARTITION OF a FOR VALUES FROM (0) TO (5000);
CREATE TABLE a2 PARTITION OF a FOR VALUES FROM (5000) TO (10000);
CREATE TABLE b (id bigint, member bigint) PARTITION BY RANGE (id);
CREATE TABLE b1 PARTITION OF b FOR VALUES FROM (0) TO (5000);
CREATE TABLE b2 PARTITION OF b FOR VALUES FROM (5000) TO (10000);
INSERT INTO a SELECT i * 507, ARRAY[7 * i % 100 + i % 2, 50]::roaring64 FROM generate_series(0, 19) i;
INSERT INTO b SELECT i, i % 100 FROM generate_series(0, 9999) i;
CREATE INDEX ON b (member);
ANALYZE a, b;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_seqscan = off;
SELECT count(*), sum(b.member) FROM a JOIN b ON a.id = b.id AND b.member <@ a.s;
RESET enable_seqscan;
SELECT count(*), sum(b.member) FROM a JOIN b ON a.id = b.id AND b.member + 0 <@ a.s;
-- rows that are moved to the partition that the scan comes to next are found once
SET enable_seqscan = off;
CREATE INDEX ON b (id);
ANALYZE b;
UPDATE b SET id = id % 5000 + 5000, member = member - 1000 WHERE id <@ (int8range(0, 4000)::roaring64 - 7 | int8range(5000, 9000));
RESET enable_seqscan;
SELECT count(*), count(*) FILTER (WHERE member < 0), min(member) >= -1000 AS once, count(*) FILTER (WHERE id < 4000) FROM b;
-- the partitions share a stored set, and one that is computed is kept by no lookup that has ended
CREATE TABLE p (id bigint) PARTITION BY HASH (id);
SELECT format('CREATE TABLE p%s PARTITION OF p FOR VALUES WITH (MODULUS 8, REMAINDER %1$s)', i) FROM generate_series(0, 7) i \gexec
INSERT INTO p SELECT generate_series(1, 8000);
CREATE INDEX ON p (id);
ANALYZE p;
CREATE TABLE large AS SELECT roaring64_agg(7 * i) AS s FROM generate_series(1, 1000000) i;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;
SELECT looked_up('SELECT * FROM p WHERE id <@ (SELECT s FROM large)');
SELECT count(*), (SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'roaring64 shared set') AS shared FROM p WHERE id <@ (SELECT s FROM large);
SELECT count(*), (SELECT count(*) || ' with ' || CASE WHEN sum(used_bytes) < 100000 THEN 'little' ELSE sum(used_bytes)::text END
	FROM pg_backend_memory_contexts WHERE name IN ('roaring64 lookup', 'roaring64 shared set')) AS contexts
FROM p WHERE id <@ (SELECT s | 5 FROM large);
-- two stored sets at the same time, and one after the other
CREATE TABLE two AS SELECT i, s - 7 * i AS s FROM large, generate_series(1, 2) i;
ANALYZE two;
SELECT looked_up(q) FROM unnest(ARRAY[
	'SELECT * FROM p x WHERE id <@ (SELECT s FROM two WHERE i = 1) AND EXISTS (SELECT FROM p y WHERE y.id <@ (SELECT s FROM two WHERE i = 2) AND y.id = x.id)',
	'SELECT i, count(*) FROM two JOIN p ON id <@ s GROUP BY i',
	'SELECT i, n FROM two, LATERAL (SELECT count(*) AS n FROM p WHERE id <@ s AND id <@ (SELECT s FROM large)) a',
	'SELECT * FROM p WHERE id <@ (SELECT s FROM two WHERE i = 1) UNION ALL SELECT * FROM p WHERE id <@ (SELECT s FROM two WHERE i = 2)']) q;
DROP TABLE two;
RESET max_parallel_workers_per_gather;

-- an index in an order of its own, whose equality may be another one too
CREATE FUNCTION compare_down(bigint, bigint) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint8cmp($2, $1)';
CREATE OPERATOR CLASS down_ops FOR TYPE bigint USING btree AS
	OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 compare_down(bigint, bigint);
CREATE TABLE down AS SELECT i::bigint AS id, -i::bigint AS other FROM generate_series(1, 10000) i;
CREATE INDEX ON down (id down_ops);
CREATE INDEX ON down (other, id down_ops);
ANALYZE down;
SELECT count(*) FROM down WHERE id <@ int8range(100, 200)::roaring64;
SELECT count(*) FROM down WHERE id <@ '{1,3,70}';
SELECT count(*) FROM down WHERE id <@ (SELECT s FROM large);
SELECT count(*) FROM down WHERE other < 0 AND id <@ int8range(100, 200)::roaring64;
DROP OPERATOR FAMILY down_ops USING btree CASCADE;
RESET enable_seqscan;

-- a table of another access method, which need not read rows as lookups do
CREATE ACCESS METHOD other_heap TYPE TABLE HANDLER heap_tableam_handler;
CREATE TABLE elsewhere USING other_heap AS SELECT * FROM down;
CREATE INDEX ON elsewhere (id);
ANALYZE elsewhere;
CREATE INDEX ON down (id);
SELECT name, looked_up(format('SELECT * FROM %s WHERE id <@ (SELECT s FROM large)', name)) = 'same' AS by_lookup FROM unnest('{down,elsewhere}'::text[]) name;
SELECT (SELECT count(*) FROM elsewhere WHERE id <@ (SELECT s FROM large)) = (SELECT count(*) FROM down WHERE id <@ (SELECT s FROM large)) AS same;

DROP TABLE a, b, p, large, down, elsewhere, things, shapes;
DROP ACCESS METHOD other_heap;
DROP FUNCTION differing, turns, looked_up, compare_down;
