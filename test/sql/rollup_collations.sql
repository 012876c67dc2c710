--
-- Keys that are equal by their own collation, though their bytes differ, and that change no set.
-- Collations of ICU are in a server that was built with it.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA collations;
SET search_path = collations, public;
\set SHOW_CONTEXT never
SELECT count(*) = 0 AS none FROM pg_collation WHERE collname = 'und-x-icu' \gset
\if :none
DROP SCHEMA collations;
\quit
\endif
CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE words (k text COLLATE ci NOT NULL, id int);
CREATE INDEX ON words (k, id);
INSERT INTO words VALUES ('A', 1), ('b', 2);
CALL roaring64_rollup_create('words', 'of_words', '{k}', 'id', '{"ids": true}');
CALL roaring64_rollup_create('words', 'of_words_kept', '{k}', 'id', '{"ids": true}', deletes => 'keep');
UPDATE words SET k = lower(k);
INSERT INTO words VALUES ('B', 3), ('b', 4);
UPDATE words SET k = 'c' WHERE id = 1;
SELECT lower(k COLLATE "C") AS k, ids FROM of_words_now ORDER BY 1;
CALL roaring64_rollup_fold('of_words');
CALL roaring64_rollup_fold('of_words_kept');
SELECT lower(k COLLATE "C") AS k, ids, (SELECT ids FROM of_words_kept AS l WHERE l.k = w.k) AS kept FROM of_words AS w ORDER BY 1;
-- whatever a writer's search_path has under the collation's name
CREATE TABLE terms (k text COLLATE "C" NOT NULL, id int);
INSERT INTO terms VALUES ('a', 1);
CALL roaring64_rollup_create('terms', 'of_terms', '{k}', 'id', '{"ids": true}', deletes => 'keep');
CREATE SCHEMA writers;
CREATE COLLATION writers."C" FROM ci;
SET search_path = writers, collations, public, pg_catalog;
UPDATE terms SET k = 'A';
SET search_path = collations, public;
DROP COLLATION writers."C";
DROP SCHEMA writers;
SELECT * FROM of_terms_now ORDER BY k;
SELECT * FROM roaring64_rollup_verify('of_terms');
DROP SCHEMA collations CASCADE;
