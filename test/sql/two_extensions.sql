--
-- roaring64 and roaring64_tables: what each has, the schema of both, what is left
-- when they are dropped, and that the first one makes no functions.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE ROLE regress_roaring64_owner;
CREATE DATABASE regress_roaring64 OWNER regress_roaring64_owner;
\set database :DBNAME
\c regress_roaring64
SET SESSION AUTHORIZATION regress_roaring64_owner;
SET client_min_messages = warning;
CREATE SCHEMA sets;
CREATE SCHEMA "Other ones";
CREATE VIEW extensions AS SELECT extname, extnamespace::regnamespace FROM pg_extension WHERE extname ~ '^roaring64' ORDER BY extname;
CREATE VIEW functions AS
	SELECT e.extname, p.oid, p.proname, p.prosecdef,
		CASE WHEN p.prokind <> 'a' THEN pg_get_functiondef(p.oid) END AS definition
	FROM pg_extension AS e
		JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
		JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	WHERE e.extname ~ '^roaring64';

-- the first alone, in a schema that is not in search_path
CREATE EXTENSION roaring64 SCHEMA sets;
CREATE TABLE item (id bigint PRIMARY KEY, tags sets.roaring64);
INSERT INTO item SELECT i, ARRAY[i, i % 10]::sets.roaring64 FROM generate_series(1, 1000) AS i;
CREATE INDEX ON item USING gin (tags sets.gin_roaring64_ops);
SELECT count(*), sets.roaring64_or_cardinality_agg(tags) FROM item WHERE id OPERATOR(sets.<@) '{5,7,9000}'::sets.roaring64;
SELECT sets.roaring64_histogram('{1,2,9}', 2);
SELECT sets.roaring64_dedup_create('seen');
SELECT sets.roaring64_dedup_claim('seen', 'k', 7), sets.roaring64_dedup_claim('seen', 'k', 7), sets.roaring64_dedup_forget('seen', 'k', 8);
CALL sets.roaring64_dedup_fold('seen');
SELECT sets.roaring64_dedup_export('seen', 'k');
SELECT count(*) FROM functions WHERE proname ~ '^_?roaring64_(delay|numbers|dict|rollup|facets|advise|helpers)';

-- no other schema than that of the first
CREATE EXTENSION roaring64_tables;
\echo :LAST_ERROR_SQLSTATE
CREATE EXTENSION roaring64_tables SCHEMA "Other ones" CASCADE;
SELECT * FROM extensions;
CREATE EXTENSION roaring64_tables SCHEMA sets;
SELECT * FROM extensions;

-- what each has, by its name
SELECT oid::regprocedure FROM functions
WHERE (extname = 'roaring64_tables')
	<> (proname ~ '^_?roaring64_(delay|numbers|dict|rollup|facets|advise|helpers|may_look|compressed_size|and_or_agg)');
-- functions that have their owner's rights, and those that make such: none of the first
SELECT count(*) FILTER (WHERE prosecdef) AS own, count(*) FILTER (WHERE definition ~* 'security\s+definer') AS made
FROM functions;
SELECT extname, proname FROM functions
WHERE definition ~* 'security\s+definer' OR extname = 'roaring64'
	AND regexp_replace(definition, '^CREATE OR REPLACE ', '') ~* '\m(create|alter)( or replace)? (function|procedure|trigger|rule|policy)\M';
-- what is internal in the first and used by the second: no version may take it away
SELECT DISTINCT f.proname
FROM functions AS f JOIN functions AS t ON t.extname = 'roaring64_tables'
	AND (t.definition ~ ('\m' || f.proname || '\M')
		 OR EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = t.oid
					AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = f.oid))
WHERE f.extname = 'roaring64' AND f.proname ~ '^_' ORDER BY 1;

-- the second, in that schema
SELECT sets.roaring64_delay_create('later'), sets.roaring64_numbers_create('amounts'), sets.roaring64_dict_create('names', 'text');
SELECT sets.roaring64_delay_add('later', 1, 1, to_timestamp(0)), sets.roaring64_numbers_set('amounts', 'k', '{1,2}', '{5,-7}'),
	sets.roaring64_dict_encode('names', '{b,a}'::text[]);
CREATE TABLE visit (site int, id bigint, PRIMARY KEY (site, id));
INSERT INTO visit SELECT i % 3, i FROM generate_series(1, 9) AS i;
CALL sets.roaring64_rollup_create('visit', 'visitors', '{site}', 'id', '{"all": true}');
CALL sets.roaring64_rollup_create('visit', 'slowly', '{site}', 'id', '{"all": true}', deletes => 'keep');
SELECT kind, name, waiting FROM sets.roaring64_helpers();
SELECT key, count FROM sets.roaring64_facets('visitors', 'all', '{1,2,4}');
SELECT what FROM sets.roaring64_advise('item', 'tags') LIMIT 1;

-- the second is dropped: what it made is left, and follows
\set VERBOSITY terse
DROP EXTENSION roaring64;
\set VERBOSITY default
DROP EXTENSION roaring64_tables;
SELECT * FROM extensions;
INSERT INTO visit VALUES (1, 10);
DELETE FROM visit WHERE id = 4;
SELECT * FROM visitors_now ORDER BY site;
SELECT * FROM slowly_now ORDER BY site;
SELECT sets.roaring64_dedup_claim('seen', 'k', 7);
-- and is as before when it is created again, whatever that session's settings; 19 has no such strings
SET quote_all_identifiers = on;
DO $$ BEGIN SET standard_conforming_strings = off; EXCEPTION WHEN OTHERS THEN NULL; END $$;
CREATE EXTENSION roaring64_tables SCHEMA sets;
RESET quote_all_identifiers;
RESET standard_conforming_strings;
SELECT kind, name, waiting FROM sets.roaring64_helpers();
SELECT * FROM sets.roaring64_delay_take('later', to_timestamp(9));
SELECT sets.roaring64_numbers_sum('amounts', 'k'), sets.roaring64_dict_lookup('names', '{a}'::text[]);
CALL sets.roaring64_rollup_fold('slowly');
SELECT * FROM slowly ORDER BY site;
SELECT * FROM sets.roaring64_rollup_verify('visitors');
-- what uses it keeps it
CREATE VIEW waits AS SELECT kind, waiting FROM sets.roaring64_helpers();
\set VERBOSITY terse
DROP EXTENSION roaring64_tables;
DROP VIEW waits;

-- the first is dropped, with all that depends on it
DROP EXTENSION roaring64;
DROP EXTENSION roaring64 CASCADE;
SELECT * FROM extensions;
SELECT * FROM visitors ORDER BY site;
INSERT INTO visit VALUES (1, 11);
\set VERBOSITY default
-- the source is written to as before, and the rollups can be ended
CREATE EXTENSION roaring64_tables SCHEMA sets CASCADE;
SELECT sets.roaring64_rollup_drop('visitors');
SELECT sets.roaring64_rollup_drop('slowly');
INSERT INTO visit VALUES (1, 12);
DROP TABLE item, seen, seen_claims, seen_chunks, seen_windows, later, amounts, names, visit;
DROP EXTENSION roaring64_tables, roaring64;

-- CASCADE creates both in the schema that is named, or in the first of search_path
CREATE EXTENSION roaring64_tables SCHEMA "Other ones" CASCADE;
SELECT * FROM extensions;
DROP EXTENSION roaring64_tables;
CREATE EXTENSION roaring64_tables;
DROP EXTENSION roaring64 CASCADE;
CREATE EXTENSION roaring64_tables CASCADE;
SELECT * FROM extensions;

\c :database
DROP DATABASE regress_roaring64;
DROP ROLE regress_roaring64_owner;
