--
-- Rollups that keep, statements whose triggers fire in an order of their own, and what is
-- renamed, dropped, restored or gets another owner.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA changes;
SET search_path = changes, public;
\set SHOW_CONTEXT never

-- How many keys have other sets than a query over the rows, in the view of a target and, after a
-- fold, in the target; and how many verify finds
CREATE PROCEDURE differ(target regclass, view_query text, rows_query text, INOUT view bigint DEFAULT NULL,
						INOUT folded bigint DEFAULT NULL, INOUT verify bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*) FROM ((%1$s EXCEPT %2$s) UNION ALL (%2$s EXCEPT %1$s)) AS d';
BEGIN
	EXECUTE format(query, rows_query, view_query) INTO view;
	CALL roaring64_rollup_fold(target);
	EXECUTE format(query, rows_query, replace(view_query, '_now', '')) INTO folded;
	SELECT count(*) INTO verify FROM roaring64_rollup_verify(target);
END $$;

--
-- Rows go, sets remember: of a source without any index
--
CREATE TABLE visits (site int NOT NULL, who bigint NOT NULL, at timestamptz NOT NULL, paid boolean, note text);
INSERT INTO visits SELECT i % 7, i % 100, '2026-03-30 12:00+00'::timestamptz + i * interval '10 min', i % 3 = 0 FROM generate_series(1, 1000) i;
CALL roaring64_rollup_create('visits', 'kept', '{site}', 'who', '{"users": true, "payers": "paid"}', deletes => 'keep');
\set kept 'SELECT site, users::bigint[], payers::bigint[] FROM kept_now'
\set visits 'SELECT site, array_agg(DISTINCT who ORDER BY who), coalesce(array_agg(DISTINCT who ORDER BY who) FILTER (WHERE paid), ''{}'') FROM visits GROUP BY 1'
-- compressing sets at each write would gain little
SELECT attname, attstorage FROM pg_attribute WHERE attrelid = 'kept'::regclass AND atttypid = 'roaring64'::regtype ORDER BY attnum;
INSERT INTO visits VALUES (99, 1, '2026-04-01', NULL), (99, 1, '2026-04-01', true);
COPY visits FROM stdin;
98	5	2026-04-02 00:00+00	t	\N
98	6	2026-04-01 23:59+00	f	\N
\.
-- an UPDATE adds what it changes, and nothing for what no set looks at
UPDATE visits SET note = 'x';
UPDATE visits SET paid = true WHERE site = 98;
SELECT * FROM kept_pending ORDER BY k1, id, c2;
CALL differ('kept', :'kept', :'visits');
SELECT count(*) FROM kept_pending;
-- the index of either is used for one key
SET enable_seqscan = off;
CREATE FUNCTION scans(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	-- the layout above the scans differs between versions of the server
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Scan|Index Cond' THEN
			RETURN NEXT trim(ltrim(line, ' ->'));
		END IF;
	END LOOP;
END $$;
SELECT scans('SELECT * FROM kept_now WHERE site = 3');
RESET enable_seqscan;
DELETE FROM visits WHERE site = 5;
UPDATE visits SET who = who + 5000 WHERE site = 6;
TRUNCATE visits;
INSERT INTO visits VALUES (1, 4, now(), true), (1, 999, now(), true);
SELECT count(*), sum(roaring64_cardinality(users)), count(*) FILTER (WHERE users @> 999::bigint) FROM kept_now;
SELECT * FROM roaring64_rollup_verify('kept');
-- verify sees what is missing
CALL roaring64_rollup_fold('kept');
UPDATE kept SET users = users - 4::bigint WHERE site = 1;
SELECT * FROM roaring64_rollup_verify('kept');
-- several of one source; one is ended and keeps its sets, of which nothing is pending
CREATE INDEX ON visits (site, who);
CALL roaring64_rollup_create('visits', 'present', '{site}', 'who', '{"users": true}');
INSERT INTO visits VALUES (1, 8888, '2026-04-03', false);
DELETE FROM visits WHERE who = 999;
SELECT roaring64_rollup_detach('present');
SELECT * FROM present;
SELECT relname FROM pg_class WHERE relname ~ '^present' AND relkind <> 'i' AND relnamespace = 'changes'::regnamespace;
SELECT roaring64_rollup_drop('kept');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'visits'::regclass;
-- a trigger that is disabled is not silent
CALL roaring64_rollup_create('visits', 'present2', '{site}', 'who', '{"users": true}');
ALTER TABLE visits DISABLE TRIGGER present2_delete;
DELETE FROM visits WHERE who = 4;
SELECT state FROM roaring64_rollup_stats('present2');
ALTER TABLE visits ENABLE TRIGGER present2_delete;
SELECT * FROM roaring64_rollup_verify('present2');
-- what verify finds is repaired by looking it up
INSERT INTO present2_pending SELECT (key->>'site')::int, roaring64_elements(missing | surplus) FROM roaring64_rollup_verify('present2');
CALL roaring64_rollup_fold('present2');
SELECT * FROM present2;
-- bad words
CALL roaring64_rollup_create('visits', 'daily', '{site}', 'who', '{"users": true}', deletes => 'refuse');
CALL roaring64_rollup_create(NULL, 'daily', '{site}', 'who', '{"users": true}');
CALL roaring64_rollup_create('visits', NULL, '{site}', 'who', '{"users": true}');
CALL roaring64_rollup_create('visits', 'daily', '{site}', 'who', '{"users": true, "payers": null}');
-- the target is named as SQL names it: by its schema, or in the first of search_path
CREATE SCHEMA other;
CALL roaring64_rollup_create('visits', 'other.daily', '{site}', 'who', '{"users": true}');
CALL roaring64_rollup_create('visits', 'other."Daily"', '{site}', 'who', '{"users": true}');
CALL roaring64_rollup_create('visits', 'Daily', '{site}', 'who', '{"users": true}');
CALL roaring64_rollup_create('visits', 'a.b.c', '{site}', 'who', '{"users": true}');
SELECT name FROM roaring64_helpers() WHERE name::text ~* 'daily' ORDER BY name::text;
INSERT INTO visits VALUES (1, 77, now());
CALL roaring64_rollup_fold('other."Daily"');
SELECT * FROM other."Daily";
SELECT roaring64_rollup_drop('other.daily'), roaring64_rollup_drop('other."Daily"');

--
-- Statements within statements: the sets are what the rows are in the end
--
CREATE TABLE orders (who int, id bigint, state text, PRIMARY KEY (who, id));
CALL roaring64_rollup_create('orders', 'order_sets', '{who}', 'id', '{"all": true, "open": "state = ''open''"}');
\set orders_query 'SELECT who, array_agg(id ORDER BY id), coalesce(array_agg(id ORDER BY id) FILTER (WHERE state = ''open''), ''{}'') FROM orders GROUP BY 1'
\set order_sets 'SELECT who, "all"::bigint[], open::bigint[] FROM order_sets_now WHERE NOT roaring64_is_empty("all")'
-- an AFTER ROW trigger that changes, moves or deletes the new row
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	CASE NEW.id % 4
	WHEN 0 THEN UPDATE orders SET state = 'closed' WHERE who = NEW.who AND id = NEW.id;
	WHEN 1 THEN UPDATE orders SET who = who + 100 WHERE who = NEW.who AND id = NEW.id;
	WHEN 2 THEN DELETE FROM orders WHERE who = NEW.who AND id = NEW.id;
	ELSE NULL;
	END CASE;
	RETURN NULL;
END $$;
CREATE TRIGGER meddle AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION meddle();
INSERT INTO orders SELECT i % 3, i, 'open' FROM generate_series(1, 40) i;
CALL differ('order_sets', :'order_sets', :'orders_query');
-- the same on UPDATE
CREATE TRIGGER meddle_more AFTER UPDATE ON orders FOR EACH ROW WHEN (OLD.who < 3 AND NEW.state = 'seen') EXECUTE FUNCTION meddle();
UPDATE orders SET state = 'seen', id = id + 1 WHERE who < 3;
CALL differ('order_sets', :'order_sets', :'orders_query');
DROP TRIGGER meddle ON orders;
DROP TRIGGER meddle_more ON orders;
-- the statement that is written last fires first
INSERT INTO orders SELECT 9, i, 'open' FROM generate_series(1, 10) i;
WITH d AS (DELETE FROM orders WHERE who = 9 RETURNING *) INSERT INTO orders SELECT who, id, 'late' FROM d WHERE id > 100;
WITH d AS (DELETE FROM orders WHERE who = 0 RETURNING *) INSERT INTO orders SELECT 9, id + 50, state FROM d;
WITH i AS (INSERT INTO orders VALUES (9, 99, 'open') RETURNING *), u AS (UPDATE orders SET who = 8 WHERE who = 9 AND id < 5 RETURNING *)
DELETE FROM orders WHERE who = 9 AND id = 6;
CALL differ('order_sets', :'order_sets', :'orders_query');
-- rows that repeat, moved within one statement
CREATE TABLE repeated (k int NOT NULL, id int, n int);
CREATE INDEX ON repeated (k, id);
INSERT INTO repeated SELECT i % 3, i % 10, i FROM generate_series(1, 90) i;
CALL roaring64_rollup_create('repeated', 'repeated_sets', '{k}', 'id', '{"ids": true}');
WITH d AS (DELETE FROM repeated WHERE n < 60 RETURNING *) INSERT INTO repeated SELECT k, id, n FROM d WHERE n < 10;
WITH d AS (DELETE FROM repeated WHERE id = 4 RETURNING *) INSERT INTO repeated SELECT DISTINCT 1, 4, 0 FROM d;
CALL differ('repeated_sets', 'SELECT k, ids::bigint[] FROM repeated_sets_now WHERE NOT roaring64_is_empty(ids)', 'SELECT k, array_agg(DISTINCT id::bigint ORDER BY id::bigint) FROM repeated GROUP BY 1');
-- a function that deletes what the statement around it has inserted
CREATE FUNCTION sweep(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN DELETE FROM repeated WHERE id = i - 1; RETURN i; END $$;
INSERT INTO repeated SELECT 2, sweep(i), 1 FROM generate_series(200, 210) i;
CALL differ('repeated_sets', 'SELECT k, ids::bigint[] FROM repeated_sets_now WHERE NOT roaring64_is_empty(ids)', 'SELECT k, array_agg(DISTINCT id::bigint ORDER BY id::bigint) FROM repeated GROUP BY 1');

--
-- One statement that changes a row twice, as the actions of foreign keys do: each
-- of the versions between is old and new, and none of them is what the row was or is
--
CREATE TABLE person (id int PRIMARY KEY);
CREATE TABLE letter (id bigint PRIMARY KEY, sender int NOT NULL DEFAULT 9 REFERENCES person ON DELETE SET DEFAULT ON UPDATE CASCADE,
	recipient int NOT NULL DEFAULT 9 REFERENCES person ON DELETE SET DEFAULT ON UPDATE CASCADE, seen boolean NOT NULL DEFAULT false);
CREATE INDEX ON letter (sender, id);
CREATE INDEX ON letter (recipient, id);
INSERT INTO person SELECT generate_series(1, 9);
INSERT INTO letter SELECT i, 1 + i % 8, 1 + i % 3, i % 2 = 0 FROM generate_series(1, 60) i;
CALL roaring64_rollup_create('letter', 'sent', '{sender}', 'id', '{"ids": true, "seen": "seen"}');
CALL roaring64_rollup_create('letter', 'received', '{recipient}', 'id', '{"ids": true, "seen": "seen"}');
CALL roaring64_rollup_create('letter', 'ever_sent', '{sender}', 'id', '{"ids": true}', deletes => 'keep');
CALL roaring64_rollup_create('letter', 'ever_received', '{recipient}', 'id', '{"ids": true}', deletes => 'keep');
CREATE FUNCTION letters_differ() RETURNS TABLE (rollup regclass, n bigint) LANGUAGE sql AS $$
	SELECT r, (SELECT count(*) FROM roaring64_rollup_verify(r)) FROM unnest('{sent,received,ever_sent,ever_received}'::regclass[]) AS r $$;
DELETE FROM person WHERE id IN (1, 2);
SELECT * FROM letters_differ();
UPDATE person SET id = id + 100 WHERE id IN (3, 4);
SELECT * FROM letters_differ();
WITH seen AS (UPDATE letter SET seen = NOT seen WHERE sender > 4) UPDATE person SET id = id + 200 WHERE id < 200 AND id <> 9;
SELECT * FROM letters_differ();
SELECT count(*) FROM ever_sent WHERE sender > 104;

--
-- What is dropped or renamed
--
-- an index that is dropped is missed by nobody but the clock
DROP INDEX repeated_k_id_idx;
DELETE FROM repeated WHERE n = 1;
SELECT count(*) FROM roaring64_rollup_verify('repeated_sets');
-- the source and its columns, and those of the target: followed
ALTER TABLE orders RENAME TO purchases;
ALTER TABLE purchases RENAME state TO status;
ALTER TABLE purchases RENAME who TO buyer;
ALTER TABLE purchases RENAME id TO number;
ALTER TABLE order_sets RENAME open TO opened;
INSERT INTO purchases VALUES (20, 1, 'open'), (20, 2, 'closed');
UPDATE purchases SET status = 'open' WHERE number = 2;
DELETE FROM purchases WHERE buyer = 8;
SELECT who, open FROM order_sets_now WHERE who = 20;
CALL roaring64_rollup_fold('order_sets');
SELECT who, opened FROM order_sets WHERE who = 20;
SELECT count(*) FROM roaring64_rollup_verify('order_sets');
ALTER TABLE purchases DROP COLUMN status;
\set VERBOSITY terse
ALTER TABLE purchases ALTER COLUMN status TYPE varchar(10);
\set VERBOSITY default
-- the target: writers do not notice, and nothing is lost
ALTER TABLE order_sets RENAME TO other_sets;
INSERT INTO purchases VALUES (21, 1, 'open');
CALL roaring64_rollup_fold('other_sets');
SELECT who, open FROM order_sets_now WHERE who = 21;
ALTER TABLE other_sets SET SCHEMA other;
CALL roaring64_rollup_create('purchases', 'order_sets');
ALTER TABLE other.other_sets SET SCHEMA changes;
ALTER TABLE other_sets RENAME TO order_sets;
CALL roaring64_rollup_fold('order_sets');
SELECT who, opened FROM order_sets WHERE who = 21;
-- what is pending: writers fail
ALTER TABLE order_sets_pending RENAME TO waiting;
INSERT INTO purchases VALUES (22, 1, 'open');
CALL roaring64_rollup_fold('order_sets');
ALTER TABLE waiting RENAME TO order_sets_pending;
INSERT INTO purchases VALUES (22, 1, 'open');
SELECT who, open FROM order_sets_now WHERE who = 22;
-- the schema
ALTER SCHEMA other RENAME TO another;
CREATE TABLE another.seen (k int, id int, PRIMARY KEY (k, id));
CALL roaring64_rollup_create('another.seen', 'another.seen_sets', '{k}', 'id', '{"ids": true}');
ALTER SCHEMA another RENAME TO other;
-- servers word this in two ways
DO $$ BEGIN
	INSERT INTO other.seen VALUES (1, 1);
EXCEPTION WHEN invalid_schema_name OR undefined_table THEN
	RAISE WARNING 'refused';
END $$;
SELECT roaring64_rollup_drop('other.seen_sets');
INSERT INTO other.seen VALUES (1, 1);

--
-- Row security that holds for the owner too: refused, nothing is left
--
CREATE ROLE regress_rollup_owner;
GRANT CREATE, USAGE ON SCHEMA changes TO regress_rollup_owner;
SET ROLE regress_rollup_owner;
CREATE TABLE secret (k int, id int, PRIMARY KEY (k, id));
INSERT INTO secret SELECT i % 2, i FROM generate_series(1, 10) i;
CREATE POLICY later ON secret USING (id > 5);
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE secret FORCE ROW LEVEL SECURITY;
CALL roaring64_rollup_create('secret', 'secret_sets', '{k}', 'id', '{"ids": true}');
ALTER TABLE secret NO FORCE ROW LEVEL SECURITY;
CALL roaring64_rollup_create('secret', 'secret_sets', '{k}', 'id', '{"ids": true}');
-- forced afterwards, an error and not a wrong set
ALTER TABLE secret FORCE ROW LEVEL SECURITY;
DELETE FROM secret WHERE id = 6;
CALL roaring64_rollup_fold('secret_sets');
ALTER TABLE secret NO FORCE ROW LEVEL SECURITY;
CALL roaring64_rollup_fold('secret_sets');
SELECT * FROM secret_sets ORDER BY k;
RESET ROLE;

--
-- Another owner of the source
--
CREATE ROLE regress_rollup_next;
CREATE TABLE bequest (k int, id int, PRIMARY KEY (k, id));
ALTER TABLE bequest OWNER TO regress_rollup_owner;
GRANT ALL ON SCHEMA changes TO regress_rollup_owner, regress_rollup_next;
SET SESSION AUTHORIZATION regress_rollup_owner;
CALL roaring64_rollup_create('bequest', 'heirs', '{k}', 'id', '{"ids": true}');
RESET SESSION AUTHORIZATION;
ALTER TABLE bequest OWNER TO regress_rollup_next;
SET SESSION AUTHORIZATION regress_rollup_next;
INSERT INTO bequest VALUES (1, 1);
RESET SESSION AUTHORIZATION;
GRANT INSERT ON heirs_pending TO regress_rollup_next;
SET SESSION AUTHORIZATION regress_rollup_next;
INSERT INTO bequest VALUES (1, 1);
RESET SESSION AUTHORIZATION;
\set VERBOSITY terse
CALL roaring64_rollup_fold('heirs');
\set VERBOSITY default
GRANT SELECT ON bequest TO regress_rollup_owner;
CALL roaring64_rollup_fold('heirs');
SELECT * FROM heirs;
SELECT roaring64_rollup_drop('heirs');

--
-- What a user has with the names of a rollup's stays
--
CREATE TABLE audited (k int NOT NULL, id int);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER audit_delete AFTER DELETE ON audited EXECUTE FUNCTION nothing();
CALL roaring64_rollup_create('audited', 'audit', '{k}', 'id', '{"ids": true}', deletes => 'keep');
CREATE FUNCTION audit_facts(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
DROP TRIGGER audit_insert ON audited;
DROP TRIGGER audit_update ON audited;
SELECT roaring64_rollup_drop('audit');
SELECT tgname FROM pg_trigger WHERE tgrelid = 'audited'::regclass;
SELECT audit_facts(1);
SELECT oid::regprocedure FROM pg_proc WHERE proname IN ('audit_facts', 'audit_insert');
--
-- A key that may be NULL from now on: the row is refused, not what waits
--
CREATE TABLE strict (k int NOT NULL, id int);
CREATE INDEX ON strict (k, id);
CALL roaring64_rollup_create('strict', 'strict_sets', '{k}', 'id', '{"ids": true}');
ALTER TABLE strict ALTER k DROP NOT NULL;
\set VERBOSITY terse
INSERT INTO strict VALUES (NULL, 1);
\set VERBOSITY default
INSERT INTO strict VALUES (2, 2);
SELECT roaring64_rollup_detach('strict_sets');
SELECT * FROM strict_sets;

ALTER TABLE strict ALTER k SET NOT NULL;
-- names that cannot be, and what has nothing to do with them
CALL roaring64_rollup_create('strict', 'never', '{k,NULL}', 'id', '{"xmin": true}', deletes => 'keep');
SET default_transaction_read_only = on;
CALL roaring64_rollup_create('strict', 'never', '{k}', 'id', '{"ids": true}', deletes => 'keep');
RESET default_transaction_read_only;

--
-- The end
--
-- a table of the target's name that is not the target stays
CREATE TABLE seen (k int NOT NULL, id int);
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deletes => 'keep');
DROP TABLE seen_sets CASCADE;
CREATE TABLE seen_sets (mine int);
SELECT roaring64_rollup_drop('seen_sets');
SELECT relname FROM pg_class WHERE relname ~ '^seen_sets' ORDER BY 1;
DROP TABLE seen_sets;
-- without its source, the fold says that it is
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deletes => 'keep');
DROP TABLE seen CASCADE;
SELECT roaring64_rollup_drop('seen_sets');
SELECT relname FROM pg_class WHERE relname ~ '^seen_sets' ORDER BY 1;

-- a function of the trigger's name with an argument is another one
CREATE TABLE seen (k int NOT NULL, id int);
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deletes => 'keep');
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
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deletes => 'keep');
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
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": true}', 'at', '15 minutes', deletes => 'keep');
INSERT INTO seen VALUES (1, 7, '2026-01-01 00:16');
SELECT k, at, ids FROM seen_sets_now;
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
CALL roaring64_rollup_create('rollup_ends_owner.seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deletes => 'keep');
RESET ROLE;
CALL roaring64_rollup_create('rollup_ends_owner.seen', 'seen_sets', '{k}', 'id', '{"ids": true}', deletes => 'keep');
GRANT TEMPORARY ON DATABASE :"db" TO PUBLIC;
\set SHOW_CONTEXT errors
DROP TABLE rollup_ends_owner.seen;
DROP SCHEMA rollup_ends_owner;
DROP ROLE rollup_ends_owner;

-- a partition that came with rows has to be folded before the end, and does not keep
-- the rest from being folded if it cannot be
CREATE TABLE seen (k int NOT NULL, id bigint, day int) PARTITION BY LIST (day);
CREATE TABLE seen_1 PARTITION OF seen FOR VALUES IN (1);
CALL roaring64_rollup_create('seen', 'seen_sets', '{k}', 'id', '{"ids": "100 / (id - 5) > 0"}', deletes => 'keep');
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
		ASSERT (SELECT count(*) = 1 FROM seen_sets_now WHERE ids = '{7}');
		PERFORM roaring64_rollup_drop('seen_sets');
		DROP TABLE seen;
	END IF;
END $$;
DROP SCHEMA changes, other CASCADE;
DROP ROLE regress_rollup_owner, regress_rollup_next;
