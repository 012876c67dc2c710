--
-- Keys and ids that are NULL, which PostgreSQL 14 refuses: its unique indexes take nulls as
-- different.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA nulls;
SET search_path = nulls, public;
\set SHOW_CONTEXT never
CREATE TABLE holes (a int, b text, id int, mark boolean);
INSERT INTO holes SELECT nullif(i % 4, 0), nullif('b' || i % 3, 'b0'), nullif(i % 50, 0), i % 2 = 0 FROM generate_series(1, 600) i;
CREATE INDEX ON holes (a, b, id);
SELECT current_setting('server_version_num')::int < 150000 AS refused \gset
\if :refused
CALL roaring64_rollup_create('holes', 'filled', '{a,b}', 'id', '{"ids": true, "mark": "mark"}');
DROP SCHEMA nulls CASCADE;
\quit
\endif
CALL roaring64_rollup_create('holes', 'filled', '{a,b}', 'id', '{"ids": true, "mark": "mark"}');
CALL roaring64_rollup_create('holes', 'filled_later', '{a,b}', 'id', '{"ids": true, "mark": "mark"}', deletes => 'keep');
INSERT INTO holes VALUES (NULL, NULL, 1000, true), (NULL, 'b1', 1001, NULL), (7, NULL, 1002, false), (NULL, NULL, NULL, true);
UPDATE holes SET mark = NOT mark WHERE a IS NULL;
UPDATE holes SET b = NULL WHERE id = 5;
DELETE FROM holes WHERE a IS NULL AND b IS NULL AND id < 20;
UPDATE holes SET id = NULL WHERE id = 7;
\set holes_query 'SELECT a, b, array_agg(DISTINCT id::bigint ORDER BY id::bigint) FILTER (WHERE id IS NOT NULL), coalesce(array_agg(DISTINCT id::bigint ORDER BY id::bigint) FILTER (WHERE mark AND id IS NOT NULL), ''{}'') FROM holes GROUP BY 1, 2'
\set view_query 'SELECT a, b, ids::bigint[], mark::bigint[] FROM filled_now WHERE NOT roaring64_is_empty(ids)'
SELECT count(*) FROM ((:holes_query EXCEPT :view_query) UNION ALL (:view_query EXCEPT :holes_query)) AS d;
CALL roaring64_rollup_fold('filled');
\set target_query 'SELECT a, b, ids::bigint[], mark::bigint[] FROM filled WHERE NOT roaring64_is_empty(ids)'
SELECT count(*) FROM ((:holes_query EXCEPT :target_query) UNION ALL (:target_query EXCEPT :holes_query)) AS d;
SELECT * FROM roaring64_rollup_verify('filled');
SELECT count(*) FROM (:holes_query) AS h (a, b, ids, mark) LEFT JOIN filled_later_now f ON (f.a, f.b) IS NOT DISTINCT FROM (h.a, h.b) WHERE NOT coalesce(f.ids @> h.ids::roaring64 AND f.mark @> h.mark::roaring64, false);
CALL roaring64_rollup_fold('filled_later');
SELECT count(*), count(*) FILTER (WHERE a IS NULL) FROM filled_later;
SELECT * FROM roaring64_rollup_verify('filled_later');

-- A row of nulls is not null, though IS NULL says so
CREATE TYPE pair AS (a int, b int);
CREATE TABLE pairs (k pair, id int);
CREATE INDEX ON pairs (k, id);
CALL roaring64_rollup_create('pairs', 'of_pairs', '{k}', 'id', '{"ids": true}');
ALTER TABLE pairs ALTER k SET NOT NULL;
INSERT INTO pairs VALUES (ROW(NULL, NULL), 1), (ROW(1, NULL), 2);
CALL roaring64_rollup_create('pairs', 'of_pairs', '{k}', 'id', '{"ids": true}');
INSERT INTO pairs VALUES (ROW(NULL, NULL), 3);
DELETE FROM pairs WHERE id = 1;
CALL roaring64_rollup_fold('of_pairs');
SELECT k, ids FROM of_pairs ORDER BY k;
DROP TABLE pairs, of_pairs CASCADE;
SELECT roaring64_rollup_drop('of_pairs');
-- as is a domain, however deep
CREATE DOMAIN couple AS pair;
CREATE DOMAIN spouses AS couple;
CREATE TABLE pairs (k spouses, id int);
CREATE INDEX ON pairs (k, id);
CALL roaring64_rollup_create('pairs', 'of_pairs', '{k}', 'id', '{"ids": true}');

-- A target that is published
SET client_min_messages = error;
CREATE PUBLICATION regress_rollup_nulls FOR ALL TABLES;
CREATE TABLE published (k int, id int);
CREATE INDEX ON published (k, id);
CALL roaring64_rollup_create('published', 'published_sets', '{k}', 'id', '{"ids": true}');
INSERT INTO published VALUES (1, 1), (NULL, 1);
CALL roaring64_rollup_fold('published_sets');
SELECT * FROM published_sets;
DROP PUBLICATION regress_rollup_nulls;
DROP SCHEMA nulls CASCADE;
