--
-- What else has a rollup's name, and what happens to its tables beside it.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;

-- a table of the target's name that is not the target stays
CREATE TABLE seen (k int NOT NULL, id int);
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deferred => true);
DROP TABLE seen_sets CASCADE;
CREATE TABLE seen_sets (mine int);
SELECT roaring64_rollup_drop('seen_sets');
SELECT relname FROM pg_class WHERE relname ~ '^seen_sets' ORDER BY 1;
DROP TABLE seen_sets;
-- and so does the target without its triggers: nothing else says that it is the target
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deferred => true);
DROP TABLE seen CASCADE;
SELECT roaring64_rollup_drop('seen_sets');
SELECT relname FROM pg_class WHERE relname ~ '^seen' ORDER BY 1;
DROP TABLE seen_sets;

-- a function of the trigger's name with an argument is another one
CREATE TABLE seen (k int NOT NULL, id int);
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deferred => true);
CREATE FUNCTION seen_sets_insert(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
INSERT INTO seen VALUES (1, 7);
CALL roaring64_rollup_fold('seen_sets');
SELECT * FROM seen_sets;
-- somebody else's comment says nothing
CREATE ROLE rollup_ends_other;
CREATE TABLE a_table ();
COMMENT ON TABLE a_table IS 'part of the rollup seen_sets';
ALTER TABLE a_table OWNER TO rollup_ends_other;
SELECT roaring64_rollup_drop('seen_sets');
SELECT relname FROM pg_class WHERE relname IN ('a_table', 'seen_sets');
DROP TABLE seen, a_table;
DROP FUNCTION seen_sets_insert;
DROP ROLE rollup_ends_other;

-- what belongs to a rollup is known whatever identifiers look like, and so is its name
CREATE TABLE seen (k int NOT NULL, id int) PARTITION BY LIST (k);
SET quote_all_identifiers = on;
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deferred => true, deletes => 'keep');
RESET quote_all_identifiers;
SELECT xmin AS made FROM seen_sets_rollup \gset
CALL roaring64_rollup_fold('seen_sets');
SELECT xmin = :made AS same FROM seen_sets_rollup;
\set VERBOSITY terse
SELECT roaring64_rollup_drop('elsewhere.public.seen_sets');
SELECT waiting FROM roaring64_helpers() WHERE name = 'seen_sets'::regclass;
SELECT roaring64_rollup_drop('seen_sets');
SELECT relname FROM pg_class WHERE relname ~ '^seen_sets' ORDER BY 1;
DROP TABLE seen;
-- nor do they depend on how a session writes strings (to 18), or what else it takes for an error
\c
SET client_min_messages = warning;
DO $$ BEGIN SET standard_conforming_strings = off; EXCEPTION WHEN OTHERS THEN NULL; END $$;
SET plpgsql.extra_errors = 'all';
CREATE TABLE seen (k int NOT NULL, id int, at timestamp NOT NULL);
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', 'at', '15 minutes', deletes => 'refuse');
INSERT INTO seen VALUES (1, 7, '2026-01-01 00:16');
SELECT k, at, ids FROM seen_sets;
SELECT count(*) FROM roaring64_rollup_verify('seen_sets');
\set VERBOSITY terse
TRUNCATE seen_sets_rollup;
ALTER TABLE seen SET UNLOGGED;
SELECT roaring64_rollup_stats('seen_sets');
SELECT roaring64_rollup_drop('seen_sets');
DROP TABLE seen;
RESET standard_conforming_strings;
RESET plpgsql.extra_errors;
-- where there is no table
SELECT roaring64_rollup_stats(1::regclass);
CALL roaring64_rollup_create(1::regclass, 'seen_sets', '{k}', 'id', '{"ids": true}');
\set VERBOSITY default

-- without the privilege for temporary tables, it is not the condition that is wrong
CREATE ROLE rollup_ends_owner;
CREATE SCHEMA AUTHORIZATION rollup_ends_owner;
CREATE TABLE rollup_ends_owner.seen (k int NOT NULL, id int);
ALTER TABLE rollup_ends_owner.seen OWNER TO rollup_ends_owner;
SELECT current_database() AS db \gset
\set SHOW_CONTEXT never
REVOKE TEMPORARY ON DATABASE :"db" FROM PUBLIC;
SET ROLE rollup_ends_owner;
CALL roaring64_rollup_create('rollup_ends_owner.seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deferred => true);
RESET ROLE;
CALL roaring64_rollup_create('rollup_ends_owner.seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deferred => true);
GRANT TEMPORARY ON DATABASE :"db" TO PUBLIC;
\set SHOW_CONTEXT errors
DROP TABLE rollup_ends_owner.seen;
DROP SCHEMA rollup_ends_owner;
DROP ROLE rollup_ends_owner;

-- a partition that came with rows has to be folded before the end, and does not keep
-- the rest from being folded if it cannot be
CREATE TABLE seen (k int NOT NULL, id bigint, day int) PARTITION BY LIST (day);
CREATE TABLE seen_1 PARTITION OF seen FOR VALUES IN (1);
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": "100 / (id - 5) > 0"}', deferred => true, deletes => 'keep');
INSERT INTO seen VALUES (1, 7, 1);
CREATE TABLE seen_2 (LIKE seen);
INSERT INTO seen_2 VALUES (1, 5, 2), (1, 8, 2);
ALTER TABLE seen ATTACH PARTITION seen_2 FOR VALUES IN (2);
\set VERBOSITY terse
CALL roaring64_rollup_fold('seen_sets');
SELECT * FROM seen_sets;
SELECT roaring64_rollup_detach('seen_sets');
\set VERBOSITY default
DELETE FROM seen WHERE id = 5;
CALL roaring64_rollup_fold('seen_sets');
SELECT roaring64_rollup_detach('seen_sets');
SELECT * FROM seen_sets;
DROP TABLE seen, seen_sets;

-- beside a column that may be null, one that may not cannot become so for the sets
DO $$
BEGIN
	IF current_setting('server_version_num')::int >= 150000 THEN
		CREATE TABLE seen (a int NOT NULL, b int, id int);
		CREATE INDEX ON seen (a, b, id);
		CALL roaring64_rollup_create('seen', 'seen_sets', '{a,b}', 'id', '{"ids": true}');
		ALTER TABLE seen ALTER a DROP NOT NULL;
		BEGIN
			INSERT INTO seen VALUES (NULL, 1, 7), (NULL, 1, 7);
			RAISE 'was accepted';
		EXCEPTION WHEN not_null_violation THEN
			NULL;
		END;
		INSERT INTO seen VALUES (1, NULL, 7);
		ASSERT (SELECT count(*) = 1 FROM seen_sets WHERE ids = '{7}');
		PERFORM roaring64_rollup_drop('seen_sets');
		DROP TABLE seen;
	END IF;
END $$;
