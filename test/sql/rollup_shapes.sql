--
-- What becomes of a rollup when its source changes its shape: the sets are right, or the
-- statement or the next one fails and says why.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA shapes;
SET search_path = shapes, public;
\set SHOW_CONTEXT never

--
-- A table without partitions does not become a part of another
--
CREATE TABLE plain (k int NOT NULL, id int NOT NULL, day int NOT NULL);
CREATE INDEX ON plain (k, id);
INSERT INTO plain SELECT i % 3, i, 1 FROM generate_series(1, 30) i;
CALL roaring64_rollup_create('plain', 'sets', '{k}', 'id', '{"ids": true}');
CALL roaring64_rollup_create('plain', 'kept', '{k}', 'id', '{"ids": true}', deletes => 'keep');
CREATE FUNCTION wrong() RETURNS TABLE (rollup regclass, keys bigint) LANGUAGE sql AS $$
	SELECT r, (SELECT count(*) FROM roaring64_rollup_verify(r)) FROM unnest('{sets,kept}'::regclass[]) AS r $$;
CREATE TABLE whole (k int NOT NULL, id int NOT NULL, day int NOT NULL) PARTITION BY LIST (day);
\set VERBOSITY terse
ALTER TABLE whole ATTACH PARTITION plain FOR VALUES IN (1);
\set VERBOSITY default
CREATE TABLE parent (k int NOT NULL, id int NOT NULL, day int NOT NULL);
ALTER TABLE plain INHERIT parent;
-- nor is its target dropped by mistake
DROP TABLE kept;
-- children: their rows are not its own, and are not followed
CREATE TABLE child () INHERITS (plain);
INSERT INTO child VALUES (7, 70, 1);
INSERT INTO plain VALUES (7, 71, 1);
UPDATE plain SET day = 2;
SELECT * FROM wrong();
ALTER TABLE child NO INHERIT plain;
UPDATE plain SET day = 2;
SELECT * FROM wrong();
SELECT ids FROM sets_now WHERE k = 7;
-- also where its own are: a child's row must not stand for one of them
CREATE TABLE followed (k int, id int, PRIMARY KEY (k, id));
INSERT INTO followed VALUES (3, 57);
CALL roaring64_rollup_create('followed', 'followers', '{k}', 'id', '{"ids": "true"}');
CREATE TABLE younger () INHERITS (followed);
INSERT INTO younger VALUES (4, 57);
UPDATE followed SET k = k + 1;
TABLE followers_now;
CALL roaring64_rollup_fold('followers');
ALTER TABLE younger NO INHERIT followed;
UPDATE followed SET k = k + 1;
TABLE followers_now;
SELECT roaring64_rollup_drop('followers');
DROP TABLE followed, younger;
-- what rewrites it, and what moves it
ALTER TABLE plain SET UNLOGGED;
SELECT * FROM wrong();
ALTER TABLE plain SET LOGGED;
ALTER TABLE sets SET UNLOGGED;
SELECT * FROM wrong();
ALTER TABLE sets SET LOGGED;
ALTER TABLE kept_pending SET UNLOGGED;
SELECT state FROM roaring64_rollup_stats('kept');
ALTER TABLE kept_pending SET LOGGED;
CREATE INDEX plain_by_id ON plain (id);
CLUSTER plain USING plain_by_id;
ALTER TABLE plain ADD COLUMN note text, DROP COLUMN day;
INSERT INTO plain VALUES (8, 80, 'x');
ALTER TABLE plain RENAME TO plainer;
ALTER TABLE plainer RENAME k TO key;
CREATE SCHEMA elsewhere;
ALTER TABLE plainer SET SCHEMA elsewhere;
UPDATE elsewhere.plainer SET id = id + 1000 WHERE key = 2;
INSERT INTO elsewhere.plainer VALUES (9, 90);
ALTER TABLE elsewhere.plainer SET SCHEMA shapes;
SELECT * FROM wrong();
-- types of columns that are used, and these columns, stay
\set VERBOSITY terse
ALTER TABLE plainer DROP COLUMN id;
ALTER TABLE plainer ALTER COLUMN id TYPE bigint;
\set VERBOSITY default

--
-- Partitions, whatever becomes of them
--
CREATE TABLE tree (k int NOT NULL, id int NOT NULL, day int NOT NULL, mark text) PARTITION BY LIST (day);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2, 3) PARTITION BY LIST (day);
CREATE TABLE tree_2a PARTITION OF tree_2 FOR VALUES IN (2);
CREATE TABLE tree_4 (mark text, gone int, day int NOT NULL, id int NOT NULL, k int NOT NULL);
ALTER TABLE tree_4 DROP COLUMN gone;
ALTER TABLE tree ATTACH PARTITION tree_4 FOR VALUES IN (4);
INSERT INTO tree SELECT i % 3, i, 1 + i % 2, '1' FROM generate_series(1, 30) i;
INSERT INTO tree VALUES (1, 40, 4, 'x'), (1, 41, 4, '1');
CALL roaring64_rollup_create('tree', 'leaves', '{k}', 'id', '{"ids": true, "mark": "mark::int = 1"}', deletes => 'keep');
UPDATE tree SET mark = '1' WHERE mark = 'x';
SELECT roaring64_rollup_drop('leaves');
UPDATE tree SET mark = '1' WHERE mark = 'x';
CALL roaring64_rollup_create('tree', 'leaves', '{k}', 'id', '{"ids": true, "mark": "mark::int = 1"}', deletes => 'keep');
CREATE INDEX ON tree (k, id);
CALL roaring64_rollup_create('tree', 'living', '{k}', 'id', '{"ids": true, "mark": "mark::int = 1"}');
CREATE FUNCTION has(key int) RETURNS TABLE (kept roaring64, present roaring64) LANGUAGE sql AS $$
	SELECT (SELECT ids FROM leaves_now WHERE k = key), (SELECT ids FROM living_now WHERE k = key) $$;
CREATE PROCEDURE fold() LANGUAGE plpgsql AS $$ BEGIN CALL roaring64_rollup_fold('leaves'); CALL roaring64_rollup_fold('living'); END $$;
-- by any name, whatever the order of columns
INSERT INTO tree_4 (k, id, day) VALUES (10, 1, 4);
INSERT INTO tree_2 VALUES (10, 2, 2, '1');
INSERT INTO tree_2a VALUES (10, 3, 2, '1');
UPDATE tree_1 SET k = 10, day = 1 WHERE id = 2;
UPDATE tree SET k = 11, day = 4 WHERE k = 10;
SELECT * FROM has(10) UNION ALL SELECT * FROM has(11);
-- detached: left alone, with its own partitions
ALTER TABLE tree DETACH PARTITION tree_2;
ALTER TABLE tree DETACH PARTITION tree_4;
INSERT INTO tree_2 VALUES (20, 1, 2, '1');
INSERT INTO tree_2a VALUES (20, 2, 2, '1');
INSERT INTO tree_4 (k, id, day) VALUES (20, 3, 4);
TRUNCATE tree_4;
SELECT * FROM has(20);
-- attached to another table
CREATE TABLE other (LIKE tree) PARTITION BY LIST (day);
ALTER TABLE other ATTACH PARTITION tree_4 FOR VALUES IN (4);
INSERT INTO other VALUES (21, 1, 4, '1');
DELETE FROM other;
SELECT * FROM has(21);
-- and back again, with rows: the next fold copies them
INSERT INTO tree_4 (k, id, day) VALUES (22, 1, 4);
ALTER TABLE other DETACH PARTITION tree_4;
ALTER TABLE tree ATTACH PARTITION tree_4 FOR VALUES IN (4);
ALTER TABLE tree ATTACH PARTITION tree_2 FOR VALUES IN (2, 3);
INSERT INTO tree_4 (k, id, day) VALUES (22, 2, 4);
SELECT key, missing FROM roaring64_rollup_verify('leaves') WHERE set_name = 'ids';
SELECT key, missing FROM roaring64_rollup_verify('living') WHERE set_name = 'ids';
SELECT state FROM roaring64_rollup_stats('leaves');
CALL fold();
SELECT state FROM roaring64_rollup_stats('leaves');
SELECT * FROM has(20) UNION ALL SELECT * FROM has(22);
SELECT count(*) FROM (SELECT roaring64_rollup_verify('leaves') UNION ALL SELECT roaring64_rollup_verify('living')) AS wrong;
-- a partition by the name that another had, and one that is rewritten
ALTER TABLE tree_1 RENAME TO tree_9;
ALTER TABLE tree_4 RENAME TO tree_1;
ALTER TABLE tree_2a SET UNLOGGED;
INSERT INTO tree_1 (k, id, day) VALUES (23, 1, 4);
INSERT INTO tree_9 VALUES (23, 2, 1);
CALL fold();
SELECT * FROM has(23);
-- the source below another table
CREATE TABLE forest (LIKE tree) PARTITION BY LIST (day);
ALTER TABLE forest ATTACH PARTITION tree FOR VALUES IN (1, 2, 3, 4);
INSERT INTO forest VALUES (24, 1, 1, '1');
INSERT INTO tree_9 VALUES (24, 2, 1, '1');
UPDATE forest SET k = 25, day = 4 WHERE k = 24;
SELECT * FROM has(24) UNION ALL SELECT * FROM has(25);
ALTER TABLE forest DETACH PARTITION tree;
INSERT INTO tree VALUES (26, 1, 1, '1');
SELECT * FROM has(26);
-- columns that are added, dropped, renamed
ALTER TABLE tree ADD COLUMN more int;
ALTER TABLE tree RENAME id TO number;
INSERT INTO tree_1 (k, number, day) VALUES (27, 1, 4);
ALTER TABLE tree DROP COLUMN more;
INSERT INTO tree_1 (k, number, day) VALUES (27, 2, 4);
SELECT * FROM has(27);
-- the whole table by another name: writers are told, and fold mends it
ALTER TABLE tree RENAME TO trees;
INSERT INTO tree_9 VALUES (28, 1, 1, '1');
CREATE TABLE tree (k int, id int);
\c
SET client_min_messages = warning;
SET search_path = shapes, public;
INSERT INTO tree_9 VALUES (28, 1, 1, '1');
CALL fold();
INSERT INTO tree_9 VALUES (28, 1, 1, '1');
SELECT * FROM has(28);
DROP TABLE tree;
-- to a name with which the old one begins
ALTER TABLE trees RENAME TO tree;
CALL fold();
DISCARD PLANS;
INSERT INTO tree_9 VALUES (28, 1, 1, '1');
ALTER TABLE tree RENAME TO trees;
CALL fold();
-- rows that pg_partman moves from a default partition: by names of partitions, in a statement
CREATE TABLE tree_default PARTITION OF trees DEFAULT;
INSERT INTO trees SELECT 30, i, 77 FROM generate_series(1, 40) i;
CREATE TABLE tree_77 (LIKE trees INCLUDING ALL);
WITH moved AS (DELETE FROM tree_default WHERE day = 77 RETURNING *) INSERT INTO tree_77 SELECT * FROM moved;
ALTER TABLE trees ATTACH PARTITION tree_77 FOR VALUES IN (77);
SELECT roaring64_cardinality(kept), roaring64_cardinality(present) FROM has(30);
CALL fold();
SELECT count(*) FROM (SELECT roaring64_rollup_verify('leaves') UNION ALL SELECT roaring64_rollup_verify('living')) AS wrong;
DROP TABLE tree_77;
SELECT state FROM roaring64_rollup_stats('living');
CALL fold();
SELECT roaring64_cardinality(kept), roaring64_cardinality(present) FROM has(30);
-- a foreign one: its rows are somebody else's
CREATE FOREIGN DATA WRAPPER regress_shapes;
CREATE SERVER regress_shapes FOREIGN DATA WRAPPER regress_shapes;
CREATE FOREIGN TABLE tree_far PARTITION OF trees FOR VALUES IN (99) SERVER regress_shapes;
CALL roaring64_rollup_fold('leaves');
CALL roaring64_rollup_create('trees', 'far', '{k}', 'number', '{"ids": true}', deletes => 'keep');
DROP FOREIGN TABLE tree_far;
DROP FOREIGN DATA WRAPPER regress_shapes CASCADE;
CALL roaring64_rollup_fold('leaves');
SELECT roaring64_rollup_drop('leaves'), roaring64_rollup_drop('living');
SELECT count(*) FROM pg_trigger WHERE tgrelid IN (SELECT relid FROM pg_partition_tree('trees'));

--
-- What cannot run is refused, and nothing is there
--
CREATE FUNCTION in_list(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 > 1; END';
CREATE FUNCTION is_vip(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN in_list($1); END';
CREATE TABLE guests (k int NOT NULL, id int NOT NULL, roaring64_row int, change int NOT NULL DEFAULT 0, present int, f int NOT NULL DEFAULT 0, r int NOT NULL DEFAULT 0, t int, a1 int, c1 int);
CREATE INDEX ON guests (k, id);
INSERT INTO guests VALUES (1, 1), (2, 2);
CALL roaring64_rollup_create('guests', 'vips', '{k}', 'id', '{"ids": "is_vip(k)"}');
SELECT relname FROM pg_class WHERE relname ~ '^vips';
INSERT INTO guests VALUES (3, 3);
-- and names of columns do no harm
CREATE INDEX ON guests (k, change, f, r, id);
CALL roaring64_rollup_create('guests', 'vips', '{k,change,f,r}', 'id', '{"present": "k > 1", "t": "roaring64_row IS NULL", "c1": "a1 IS NULL"}');
INSERT INTO guests VALUES (4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
UPDATE guests SET t = 5, f = 6;
DELETE FROM guests WHERE k = 3;
CALL roaring64_rollup_fold('vips');
SELECT count(*) FROM roaring64_rollup_verify('vips');

--
-- Role and settings of the caller
--
CREATE ROLE regress_shapes_owner;
CREATE ROLE regress_shapes_member IN ROLE regress_shapes_owner;
GRANT ALL ON SCHEMA shapes TO regress_shapes_owner;
SET ROLE regress_shapes_owner;
CREATE TABLE owned (k int, id int, PRIMARY KEY (k, id));
SET ROLE regress_shapes_member;
SET lock_timeout = '7s';
DO $$
BEGIN
	CALL public.roaring64_rollup_create('owned', 'owned_sets', '{k}', 'id', '{"ids": true}');
	CALL public.roaring64_rollup_fold('owned_sets');
	CALL public.roaring64_rollup_create('owned', 'owned_sets');
	RAISE WARNING '% % % %', current_user, current_setting('role'), current_setting('lock_timeout'), current_setting('search_path');
END $$;
SELECT current_user, current_setting('lock_timeout'), tableowner FROM pg_tables WHERE tablename = 'owned_sets';
RESET lock_timeout;
RESET ROLE;
BEGIN;
CALL roaring64_rollup_fold('owned_sets');
ROLLBACK;

--
-- What is lost can be dropped
--
CREATE TABLE hits (page int NOT NULL, who int NOT NULL, PRIMARY KEY (page, who));
CALL roaring64_rollup_create('hits', 'hit_sets', '{page}', 'who', '{"who": true}');
CALL roaring64_rollup_create('hits', 'hit_sets2', '{page}', 'who', '{"who": true}');
CALL roaring64_rollup_create('hits', 'hit_sets3', '{page}', 'who', '{"who": true}');
CALL roaring64_rollup_create('hits', 'hit_sets4', '{page}', 'who', '{"who": true}');
CREATE TABLE hit_sets_keys (page int);
TRUNCATE hit_sets_rollup;
INSERT INTO hits VALUES (1, 1);
CALL roaring64_rollup_fold('hit_sets');
SELECT roaring64_rollup_drop('hit_sets');
DROP TABLE hit_sets2_rollup;
SELECT roaring64_rollup_drop('hit_sets2');
DROP TABLE hit_sets3 CASCADE;
INSERT INTO hits VALUES (2, 1);
SELECT roaring64_rollup_drop('shapes.hit_sets3');
DROP VIEW hit_sets4_rows CASCADE;
\set VERBOSITY terse
INSERT INTO hits VALUES (3, 1);
\set VERBOSITY default
SELECT roaring64_rollup_drop('shapes.hit_sets4');
SELECT relname FROM pg_class WHERE relname ~ '^hit_sets' AND relkind <> 'i' AND relnamespace = 'shapes'::regnamespace;
SELECT proname FROM pg_proc WHERE proname ~ '^hit_sets' AND pronamespace = 'shapes'::regnamespace;
-- and what is not a rollup is not
CREATE TABLE mine (k int);
SELECT roaring64_rollup_drop('mine');
SELECT roaring64_rollup_drop('nobody.mine');
-- nor is what took the name of one that was renamed
CALL roaring64_rollup_create('hits', 'k', '{page}', 'who', '{"who": true}');
ALTER TABLE k RENAME TO saved;
CREATE TABLE k (precious int);
SELECT roaring64_rollup_drop('k');
SELECT (SELECT count(*) FROM saved) AS saved, (SELECT count(*) FROM k) AS k;

--
-- Temporary tables of the source's name
--
CREATE TEMPORARY TABLE hits (page int);
CALL roaring64_rollup_create('shapes.hits', 'hit_sets4', '{page}', 'who', '{"who": true}');
DROP TABLE pg_temp.hits;

--
-- Periods, from seconds to years
--
CREATE TABLE logins (who int, at timestamptz NOT NULL, local timestamp NOT NULL, day date NOT NULL, PRIMARY KEY (who, at));
INSERT INTO logins SELECT i % 7, t, t AT TIME ZONE 'UTC', (t AT TIME ZONE 'UTC')::date
FROM generate_series(1, 500) i, LATERAL (SELECT timestamptz '2026-11-01 00:00+00' + i * interval '437 seconds') AS x (t);
SET timezone = 'Asia/Kathmandu';
CREATE FUNCTION by_period(period text, column_name name DEFAULT 'at') RETURNS TABLE (type regtype, keys bigint, wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT pg_typeof(min(%1$I)), count(*), (SELECT count(*) FROM roaring64_rollup_verify(''period''))
		+ count(*) FILTER (WHERE ids::bigint[] IS DISTINCT FROM (SELECT array_agg(DISTINCT who::bigint ORDER BY who::bigint) FROM logins AS l
			WHERE l.%1$I >= p.%1$I AND l.%1$I < p.%1$I + %2$L::interval))
		FROM period_now AS p', column_name, CASE WHEN $1 ~ '\d' THEN '' ELSE '1 ' END || $1);
	PERFORM roaring64_rollup_drop('period');
END $$;
CALL roaring64_rollup_create('logins', 'period', '{}', 'who', '{"ids": true}', 'at', 'hour');
SELECT * FROM by_period('hour');
CALL roaring64_rollup_create('logins', 'period', '{}', 'who', '{"ids": true}', 'at', '15 minutes', deletes => 'keep');
INSERT INTO logins VALUES (1, '2026-12-01 00:14:59.999999+00', '2026-12-01 00:14:59.999999', '2026-12-01'), (2, '2026-12-01 00:15:00+00', '2026-12-01 00:15:00', '2026-12-01');
SELECT * FROM period_now WHERE at > '2026-11-20' ORDER BY at;
CALL roaring64_rollup_fold('period');
SELECT * FROM by_period('15 minutes');
CALL roaring64_rollup_create('logins', 'period', '{}', 'who', '{"ids": true}', 'local', '30 seconds');
SELECT * FROM by_period('30 seconds', 'local');
CALL roaring64_rollup_create('logins', 'period', '{}', 'who', '{"ids": true}', 'local', 'minute');
SELECT * FROM by_period('minute', 'local');
SELECT period, reason, remedy FROM unnest('{decade,7 minutes,25 hours,0 hours,-1 hours,1 day,hours,6 hours}'::text[]) AS period,
	LATERAL _roaring64_rollup_check('logins', 'x', json_build_object('key_columns', '[]'::json, 'id_column', 'who', 'period_column', 'at', 'period', period, 'sets', '{"ids": true}'::json, 'deletes', 'follow'));
CALL roaring64_rollup_create('logins', 'x', '{}', 'who', '{"ids": true}', 'day', 'hour');
-- a domain is what it is over, and a text is no time
CREATE DOMAIN moment AS timestamptz;
CREATE DOMAIN instant AS moment;
ALTER TABLE logins ADD COLUMN moment moment, ADD COLUMN instant instant, ADD COLUMN word text;
-- of which the day is another one in Kathmandu
INSERT INTO logins VALUES (8, '2026-12-10 20:00+00', '2026-12-10 20:00', '2026-12-10');
UPDATE logins SET moment = at, instant = at, word = at;
ALTER TABLE logins ALTER moment SET NOT NULL, ALTER instant SET NOT NULL, ALTER word SET NOT NULL;
CALL roaring64_rollup_create('logins', 'period', '{}', 'who', '{"ids": true}', 'moment', 'day');
SELECT count(*) AS days, count(*) FILTER (WHERE ids::bigint[] IS DISTINCT FROM (SELECT array_agg(DISTINCT who::bigint ORDER BY who::bigint)
	FROM logins AS l WHERE (l.at AT TIME ZONE 'UTC')::date = p.moment)) AS wrong FROM period AS p;
SELECT roaring64_rollup_drop('period');
CALL roaring64_rollup_create('logins', 'period', '{}', 'who', '{"ids": true}', 'instant', '15 minutes');
SELECT * FROM by_period('15 minutes', 'instant');
CALL roaring64_rollup_create('logins', 'x', '{}', 'who', '{"ids": true}', 'word', 'day');
RESET timezone;

DROP SCHEMA shapes, elsewhere CASCADE;
DROP ROLE regress_shapes_member, regress_shapes_owner;
