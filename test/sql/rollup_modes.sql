--
-- Rollups: deferred or at commit, and what may go; statements whose triggers
-- fire in an order of their own; what is renamed or dropped; conditions that
-- mean the same in every session; facets.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA modes;
SET search_path = modes, public;
\set SHOW_CONTEXT never

-- How many keys have other sets in a target than in a query over the rows, and
-- how many verify finds
CREATE FUNCTION differ(target regclass, target_query text, rows_query text) RETURNS TABLE (differ bigint, verify bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM ((%1$s EXCEPT %2$s) UNION ALL (%2$s EXCEPT %1$s)) AS d', rows_query, target_query)
		INTO differ;
	SELECT count(*) INTO verify FROM roaring64_rollup_verify(target);
	RETURN NEXT;
END $$;

--
-- Deferred, each way with what goes, of a source without any index
--
CREATE TABLE visits (site int NOT NULL, who bigint NOT NULL, at timestamptz NOT NULL, paid boolean, note text);
INSERT INTO visits SELECT i % 7, i % 100, '2026-03-30 12:00+00'::timestamptz + i * interval '10 min', i % 3 = 0 FROM generate_series(1, 1000) i;
CALL roaring64_rollup_create('visits', 'daily', '{site}', 'who', '{"users": true, "payers": "paid"}', period_column => 'at', period => 'day', deferred => true);
CALL roaring64_rollup_create('visits', 'kept', '{site}', 'who', '{"users": true}', deferred => true, deletes => 'keep');
\set daily 'SELECT site, at, users::bigint[], payers::bigint[] FROM daily_now'
\set visits 'SELECT site, (at AT TIME ZONE ''UTC'')::date, array_agg(DISTINCT who ORDER BY who), coalesce(array_agg(DISTINCT who ORDER BY who) FILTER (WHERE paid), ''{}'') FROM visits GROUP BY 1, 2'
-- compressing sets at each write would gain little
SELECT attname, attstorage FROM pg_attribute WHERE attrelid = 'daily'::regclass AND atttypid = 'roaring64'::regtype ORDER BY attnum;
SELECT * FROM differ('daily', :'daily', :'visits');
INSERT INTO visits SELECT 3, 1000 + i, '2026-04-01 12:00+00', i % 2 = 0 FROM generate_series(1, 50) i;
INSERT INTO visits VALUES (99, 1, '2026-04-01', NULL), (99, 1, '2026-04-01', true);
COPY visits FROM stdin;
98	5	2026-04-02 00:00+00	t	\N
98	6	2026-04-01 23:59+00	f	\N
\.
SELECT * FROM differ('daily', :'daily', :'visits');
SELECT count(*) FROM daily_pending;
SELECT count(*) FROM daily WHERE site > 90;
-- an UPDATE may add, and change what no set looks at
UPDATE visits SET note = 'x';
SELECT count(*) FROM daily_pending;
UPDATE visits SET paid = true WHERE site = 5;
SELECT * FROM differ('daily', :'daily', :'visits');
-- what would go is refused, and says what to do
\set VERBOSITY default
DELETE FROM visits WHERE site = 5;
UPDATE visits SET paid = false WHERE site = 5;
UPDATE visits SET who = who + 1 WHERE site = 5;
TRUNCATE visits;
\set VERBOSITY terse
-- what no row is in is not missed
DELETE FROM visits WHERE site = -1;
UPDATE visits SET paid = NULL WHERE NOT paid;
SELECT * FROM differ('daily', :'daily', :'visits');
-- fold
CALL roaring64_rollup_fold('daily');
SELECT count(*) FROM daily_pending;
SELECT * FROM differ('daily', replace(:'daily', '_now', ''), :'visits');
SELECT * FROM differ('daily', :'daily', :'visits');
CALL roaring64_rollup_fold('daily');
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
SELECT scans($$SELECT * FROM daily_now WHERE site = 3 AND at BETWEEN '2026-04-01' AND '2026-04-03'$$);
DROP FUNCTION scans;
RESET enable_seqscan;
-- a transaction that is taken back, and one that folds what it has not written
BEGIN;
INSERT INTO visits VALUES (1, 7777, '2026-04-03', false);
SELECT count(*) FROM daily_now WHERE users @> 7777::bigint;
ROLLBACK;
SELECT count(*) FROM daily_now WHERE users @> 7777::bigint;
-- several of one source; one is ended and keeps its sets, of which nothing is pending
INSERT INTO visits VALUES (1, 8888, '2026-04-03', false);
SELECT roaring64_rollup_detach('daily');
SELECT * FROM differ('kept', replace(:'daily', '_now', ''), :'visits');
SELECT relname FROM pg_class WHERE relname ~ '^daily' AND relkind <> 'i' AND relnamespace = 'modes'::regnamespace;
-- keep: rows go, sets remember
DELETE FROM visits WHERE site = 5;
UPDATE visits SET who = who + 5000 WHERE site = 6;
TRUNCATE visits;
INSERT INTO visits VALUES (1, 4, now(), true), (1, 999, now(), true);
SELECT count(*), sum(roaring64_cardinality(users)), count(*) FILTER (WHERE users @> 999::bigint) FROM kept_now;
SELECT * FROM roaring64_rollup_verify('kept');
-- and verify sees what is missing
UPDATE kept SET users = users - 4::bigint WHERE site = 1;
DELETE FROM kept_pending WHERE id IN (4, 999);
SELECT * FROM roaring64_rollup_verify('kept');
SELECT roaring64_rollup_drop('kept');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'visits'::regclass;

-- Deferred is not for what has to be followed; bad words
\set VERBOSITY default
CALL roaring64_rollup_create('visits', 'daily2', '{site}', 'who', '{"users": true}', deferred => true, deletes => 'follow');
CALL roaring64_rollup_create('visits', 'daily2', '{site}', 'who', '{"users": true}', deletes => 'forget');
CALL roaring64_rollup_create(NULL, 'daily2', '{site}', 'who', '{"users": true}');
CALL roaring64_rollup_create('visits', NULL, '{site}', 'who', '{"users": true}');
-- rows may repeat: the index that is named can be made
CALL roaring64_rollup_create('visits', 'daily2', '{site}', 'who', '{"users": true}');
\set VERBOSITY terse
CREATE INDEX CONCURRENTLY ON visits (site, who);
CALL roaring64_rollup_create('visits', 'daily2', '{site}', 'who', '{"users": true}');
CALL roaring64_rollup_fold('daily2');

--
-- At commit, keep and refuse
--
CREATE TABLE log (topic text NOT NULL, id int NOT NULL, ok boolean);
INSERT INTO log SELECT 't' || i % 4, i, i % 2 = 0 FROM generate_series(1, 100) i;
CALL roaring64_rollup_create('log', 'log_kept', '{topic}', 'id', '{"ids": true, "ok": "ok"}', deletes => 'keep');
CALL roaring64_rollup_create('log', 'log_strict', '{topic}', 'id', '{"ids": true}', deletes => 'refuse');
INSERT INTO log VALUES ('t1', 500, true), ('new', 1, false);
UPDATE log SET ok = NOT ok WHERE id < 10;
SELECT topic, ids @> 500, roaring64_cardinality(ids), roaring64_cardinality(ok) FROM log_kept ORDER BY 1;
DELETE FROM log WHERE id = 500;
SELECT roaring64_rollup_drop('log_strict');
DELETE FROM log WHERE id = 500;
SELECT ids @> 500 FROM log_kept WHERE topic = 't1';

--
-- NULL keys, nullable ids, and keys that are equal but differ
--
CREATE TABLE holes (a int, b text, id int, mark boolean);
INSERT INTO holes SELECT nullif(i % 4, 0), nullif('b' || i % 3, 'b0'), nullif(i % 50, 0), i % 2 = 0 FROM generate_series(1, 600) i;
CREATE INDEX ON holes (a, b, id);
SELECT current_setting('server_version_num')::int >= 150000 AS nulls \gset
\if :nulls
CALL roaring64_rollup_create('holes', 'filled', '{a,b}', 'id', '{"ids": true, "mark": "mark"}');
CALL roaring64_rollup_create('holes', 'filled_later', '{a,b}', 'id', '{"ids": true, "mark": "mark"}', deferred => true, deletes => 'keep');
INSERT INTO holes VALUES (NULL, NULL, 1000, true), (NULL, 'b1', 1001, NULL), (7, NULL, 1002, false), (NULL, NULL, NULL, true);
UPDATE holes SET mark = NOT mark WHERE a IS NULL;
UPDATE holes SET b = NULL WHERE id = 5;
DELETE FROM holes WHERE a IS NULL AND b IS NULL AND id < 20;
UPDATE holes SET id = NULL WHERE id = 7;
\set holes_query 'SELECT a, b, array_agg(DISTINCT id::bigint ORDER BY id::bigint) FILTER (WHERE id IS NOT NULL), coalesce(array_agg(DISTINCT id::bigint ORDER BY id::bigint) FILTER (WHERE mark AND id IS NOT NULL), ''{}'') FROM holes GROUP BY 1, 2'
SELECT * FROM differ('filled', 'SELECT a, b, ids::bigint[], mark::bigint[] FROM filled', :'holes_query');
SELECT count(*) FROM (:holes_query) AS h (a, b, ids, mark) LEFT JOIN filled_later_now f ON (f.a, f.b) IS NOT DISTINCT FROM (h.a, h.b) WHERE NOT coalesce(f.ids @> h.ids::roaring64 AND f.mark @> h.mark::roaring64, false);
CALL roaring64_rollup_fold('filled_later');
SELECT count(*), count(*) FILTER (WHERE a IS NULL) FROM filled_later;
SELECT * FROM roaring64_rollup_verify('filled_later');
\else
CALL roaring64_rollup_create('holes', 'filled', '{a,b}', 'id', '{"ids": true, "mark": "mark"}');
\endif

--
-- Statements within statements: the sets are what the rows are in the end
--
CREATE TABLE orders (who int, id bigint, state text, PRIMARY KEY (who, id));
CALL roaring64_rollup_create('orders', 'order_sets', '{who}', 'id', '{"all": true, "open": "state = ''open''"}');
\set orders_query 'SELECT who, array_agg(id ORDER BY id), coalesce(array_agg(id ORDER BY id) FILTER (WHERE state = ''open''), ''{}'') FROM orders GROUP BY 1'
\set order_sets 'SELECT who, "all"::bigint[], open::bigint[] FROM order_sets WHERE NOT roaring64_is_empty("all")'
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
SELECT * FROM differ('order_sets', :'order_sets', :'orders_query');
-- the same on UPDATE
CREATE TRIGGER meddle_more AFTER UPDATE ON orders FOR EACH ROW WHEN (OLD.who < 3 AND NEW.state = 'seen') EXECUTE FUNCTION meddle();
UPDATE orders SET state = 'seen', id = id + 1 WHERE who < 3;
SELECT * FROM differ('order_sets', :'order_sets', :'orders_query');
DROP TRIGGER meddle ON orders;
DROP TRIGGER meddle_more ON orders;
-- the statement that is written last fires first
INSERT INTO orders SELECT 9, i, 'open' FROM generate_series(1, 10) i;
WITH d AS (DELETE FROM orders WHERE who = 9 RETURNING *) INSERT INTO orders SELECT who, id, 'late' FROM d WHERE id > 100;
WITH d AS (DELETE FROM orders WHERE who = 0 RETURNING *) INSERT INTO orders SELECT 9, id + 50, state FROM d;
WITH i AS (INSERT INTO orders VALUES (9, 99, 'open') RETURNING *), u AS (UPDATE orders SET who = 8 WHERE who = 9 AND id < 5 RETURNING *)
DELETE FROM orders WHERE who = 9 AND id = 6;
SELECT * FROM differ('order_sets', :'order_sets', :'orders_query');
-- rows that repeat, moved within one statement
CREATE TABLE repeated (k int NOT NULL, id int, n int);
CREATE INDEX ON repeated (k, id);
INSERT INTO repeated SELECT i % 3, i % 10, i FROM generate_series(1, 90) i;
CALL roaring64_rollup_create('repeated', 'repeated_sets', '{k}', 'id', '{"ids": true}');
WITH d AS (DELETE FROM repeated WHERE n < 60 RETURNING *) INSERT INTO repeated SELECT k, id, n FROM d WHERE n < 10;
WITH d AS (DELETE FROM repeated WHERE id = 4 RETURNING *) INSERT INTO repeated SELECT DISTINCT 1, 4, 0 FROM d;
SELECT * FROM differ('repeated_sets', 'SELECT k, ids::bigint[] FROM repeated_sets WHERE NOT roaring64_is_empty(ids)', 'SELECT k, array_agg(DISTINCT id::bigint ORDER BY id::bigint) FROM repeated GROUP BY 1');
-- a function that deletes what the statement around it has inserted
CREATE FUNCTION sweep(i int) RETURNS int LANGUAGE plpgsql VOLATILE AS $$ BEGIN DELETE FROM repeated WHERE id = i - 1; RETURN i; END $$;
INSERT INTO repeated SELECT 2, sweep(i), 1 FROM generate_series(200, 210) i;
SELECT * FROM differ('repeated_sets', 'SELECT k, ids::bigint[] FROM repeated_sets WHERE NOT roaring64_is_empty(ids)', 'SELECT k, array_agg(DISTINCT id::bigint ORDER BY id::bigint) FROM repeated GROUP BY 1');

--
-- What is dropped or renamed
--
-- an index that is dropped is missed by nobody but the clock
DROP INDEX repeated_k_id_idx;
DELETE FROM repeated WHERE n = 1;
SELECT count(*) FROM roaring64_rollup_verify('repeated_sets');
-- the source and its columns: followed
ALTER TABLE orders RENAME TO purchases;
ALTER TABLE purchases RENAME state TO status;
ALTER TABLE purchases RENAME who TO buyer;
ALTER TABLE purchases RENAME id TO number;
INSERT INTO purchases VALUES (20, 1, 'open'), (20, 2, 'closed');
UPDATE purchases SET status = 'open' WHERE number = 2;
DELETE FROM purchases WHERE buyer = 8;
SELECT who, open FROM order_sets WHERE who = 20;
SELECT count(*) FROM roaring64_rollup_verify('order_sets');
\set VERBOSITY default
ALTER TABLE purchases DROP COLUMN status;
-- versions end the DETAIL differently
\set VERBOSITY terse
ALTER TABLE purchases ALTER COLUMN status TYPE varchar(10);
\set VERBOSITY default
-- the target and its columns: an error of the server's, and nothing is lost
\set VERBOSITY terse
ALTER TABLE order_sets RENAME open TO opened;
INSERT INTO purchases VALUES (21, 1, 'open');
ALTER TABLE order_sets RENAME opened TO open;
ALTER TABLE order_sets RENAME TO other_sets;
INSERT INTO purchases VALUES (21, 1, 'open');
\set VERBOSITY default
SELECT * FROM roaring64_rollup_verify('other_sets');
ALTER TABLE other_sets SET SCHEMA public;
CALL roaring64_rollup_create('purchases', 'order_sets');
ALTER TABLE public.other_sets SET SCHEMA modes;
ALTER TABLE other_sets RENAME TO order_sets;
INSERT INTO purchases VALUES (21, 1, 'open');
SELECT * FROM roaring64_rollup_verify('order_sets');
-- a deferred one, whose writers do not notice
CREATE TABLE hits (page int NOT NULL, who int NOT NULL);
CALL roaring64_rollup_create('hits', 'hit_sets', '{page}', 'who', '{"who": true}', deferred => true);
ALTER TABLE hit_sets RENAME TO moved_sets;
INSERT INTO hits VALUES (1, 1);
CALL roaring64_rollup_fold('moved_sets');
ALTER TABLE moved_sets RENAME TO hit_sets;
CALL roaring64_rollup_fold('hit_sets');
SELECT * FROM hit_sets;
\set VERBOSITY terse
-- disabled triggers are not seen, but verify sees what they missed; the page's
-- repair is tested with the page
ALTER TABLE hits DISABLE TRIGGER USER;
INSERT INTO hits VALUES (1, 2), (2, 2);
SELECT * FROM roaring64_rollup_verify('hit_sets');

--
-- Conditions
--
-- a literal means what it meant to who gave it, in every session
SET timezone = 'America/New_York';
SET intervalstyle = 'sql_standard';
SET datestyle = 'SQL, DMY';
SET extra_float_digits = 0;
CREATE TABLE timed (k int, id int, at timestamptz, took interval, f float8, PRIMARY KEY (k, id));
INSERT INTO timed SELECT 1, i, '2025-12-31 12:00+00'::timestamptz + i * interval '1 hour', i * interval '1 hour', 0.1::float8 + CASE WHEN i > 20 THEN 0.2::float8 ELSE 0 END FROM generate_series(1, 48) i;
CALL roaring64_rollup_create('timed', 'timed_sets', '{k}', 'id', '{"late": "at >= ''2026-01-01 00:00''", "day": "at < ''02/01/2026''", "long": "took > ''-1 23:00''", "small": "f >= ''0.30000000000000004''"}');
SELECT roaring64_cardinality(late) AS late, roaring64_cardinality(day) AS day, roaring64_cardinality(long) AS long, roaring64_cardinality(small) AS small FROM timed_sets;
SELECT count(*) FILTER (WHERE at >= '2026-01-01 00:00') AS late, count(*) FILTER (WHERE at < '02/01/2026') AS day, count(*) FILTER (WHERE took > '-1 23:00') AS long, count(*) FILTER (WHERE f >= '0.30000000000000004') AS small FROM timed;
SET timezone = 'Asia/Tokyo';
SET intervalstyle = 'postgres';
SET datestyle = 'ISO, MDY';
RESET extra_float_digits;
UPDATE timed SET id = id + 100;
SELECT roaring64_cardinality(late) AS late, roaring64_cardinality(day) AS day, roaring64_cardinality(long) AS long, roaring64_cardinality(small) AS small FROM timed_sets;
SELECT count(*) FROM roaring64_rollup_verify('timed_sets');
RESET timezone;
-- and is one expression: nothing of it is executed
\set VERBOSITY default
SET client_min_messages = notice;
CREATE FUNCTION boom() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN CREATE TABLE modes.injected (); RETURN true; END $$;
CREATE FUNCTION refused(set_name text, condition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM _roaring64_rollup_condition('hits', 'who', set_name, condition, current_setting('search_path'));
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
SELECT refused(key, value) FROM jsonb_each_text(
	'{"a": "true); CREATE TABLE modes.injected (x int); --", "b": "true); CREATE TABLE modes.injected (x int); SELECT (true",
	"c": "true]; CREATE TABLE modes.injected (x int); SELECT ARRAY[true", "d": "modes.boom()", "e": "true) WITH (fillfactor = 10", "f": "true /*",
	"g": "'' || $a$", "h": "true, false", "i": "SELECT true", "j": "(SELECT modes.boom())", "k": "x''] ; CREATE TABLE modes.injected (x int); SELECT (1",
	"l": "page > 0 -- positive", "m": "page > 0 AND\nwho > 0"}') AS c;
SELECT to_regclass('modes.injected');
SET client_min_messages = warning;
-- a newline, a quote, a dollar and a % in names
CREATE TABLE "new
line $$ 'x' %s" ("k
%s" int, "i'd$body$" int, PRIMARY KEY ("k
%s", "i'd$body$"));
CALL roaring64_rollup_create(E'"new\nline $$ ''x'' %s"', E'sets\n; DROP TABLE modes.hits; -- %s', E'{"k\n%s"}', 'i''d$body$', E'{"a\\n%s": true}');
INSERT INTO "new
line $$ 'x' %s" VALUES (1, 2), (1, 3);
DELETE FROM "new
line $$ 'x' %s" WHERE "i'd$body$" = 3;
SELECT * FROM "sets
; DROP TABLE modes.hits; -- %s";
SELECT count(*) FROM roaring64_rollup_verify(E'"sets\n; DROP TABLE modes.hits; -- %s"');
SELECT roaring64_rollup_drop(E'"sets\n; DROP TABLE modes.hits; -- %s"');

--
-- Row security that holds for the owner too: refused, nothing is left
--
CREATE ROLE regress_rollup_owner;
GRANT CREATE, USAGE ON SCHEMA modes TO regress_rollup_owner;
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
ALTER TABLE secret NO FORCE ROW LEVEL SECURITY;
DELETE FROM secret WHERE id = 6;
SELECT * FROM secret_sets ORDER BY k;
RESET ROLE;

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
CALL roaring64_rollup_create('letter', 'ever_received', '{recipient}', 'id', '{"ids": true}', deferred => true, deletes => 'keep');
CREATE FUNCTION letters_differ() RETURNS TABLE (rollup regclass, n bigint) LANGUAGE sql AS $$
	SELECT r, (SELECT count(*) FROM roaring64_rollup_verify(r)) FROM unnest('{sent,received,ever_sent,ever_received}'::regclass[]) AS r $$;
DELETE FROM person WHERE id IN (1, 2);
SELECT * FROM letters_differ();
UPDATE person SET id = id + 100 WHERE id IN (3, 4);
SELECT * FROM letters_differ();
WITH seen AS (UPDATE letter SET seen = NOT seen WHERE sender > 4) UPDATE person SET id = id + 200 WHERE id < 200 AND id <> 9;
SELECT * FROM letters_differ();
SELECT count(*) FROM ever_sent WHERE sender > 104;
-- what is refused is what the row was before the statement
CALL roaring64_rollup_create('letter', 'in_post', '{recipient}', 'id', '{"ids": true}', deferred => true);
INSERT INTO letter VALUES (99, 205, 205);
UPDATE person SET id = 405 WHERE id = 205;
DELETE FROM person WHERE id = 205;
SELECT count(*) FROM roaring64_rollup_verify('in_post');

--
-- Conditions of the row as a whole, which is not what it was once it has more columns
--
CALL roaring64_rollup_create('letter', 'whole', '{sender}', 'id', '{"full": "letter IS NOT NULL", "ids": "letter = letter"}');

--
-- Another owner of the source: writers are told, and the rollup can be dropped
--
CREATE ROLE regress_rollup_next;
CREATE TABLE bequest (k int, id int, PRIMARY KEY (k, id));
ALTER TABLE bequest OWNER TO regress_rollup_owner;
GRANT ALL ON SCHEMA modes TO regress_rollup_owner, regress_rollup_next;
SET SESSION AUTHORIZATION regress_rollup_owner;
CALL roaring64_rollup_create('bequest', 'heirs', '{k}', 'id', '{"ids": true}');
RESET SESSION AUTHORIZATION;
ALTER TABLE bequest OWNER TO regress_rollup_next;
\set VERBOSITY terse
INSERT INTO bequest VALUES (1, 1);
\set VERBOSITY default
SELECT roaring64_rollup_drop('heirs');
INSERT INTO bequest VALUES (1, 1);

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
BEGIN;
SELECT roaring64_rollup_drop('in_post');
SHOW lock_timeout;
ROLLBACK;
SELECT count(*) FROM roaring64_rollup_verify('in_post');

--
-- A key that may be NULL from now on: the row is refused, not what waits
--
CREATE TABLE strict (k int NOT NULL, id int);
CALL roaring64_rollup_create('strict', 'strict_sets', '{k}', 'id', '{"ids": true}', deferred => true);
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
-- Facets
--
CREATE TABLE tags (tag text, lang text, docs roaring64, PRIMARY KEY (tag, lang));
INSERT INTO tags
SELECT 't' || t, l, (SELECT roaring64_agg(d) FROM generate_series(1, 3000) d WHERE hashint8extended(d * 100 + t, length(l)) % (t * length(l)) = 0)
FROM generate_series(1, 60) t, unnest(ARRAY['a', 'bb', 'ccc']) l;
INSERT INTO tags VALUES ('none', 'a', '{}'), ('null', 'a', NULL);
-- against all of them, for filters of all sizes
CREATE FUNCTION facets_differ() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (VALUES ('{}'), ('{5}'), ('{5,6,7,8}'), ((int8range(1, 300)::roaring64)), ((int8range(1, 3001)::roaring64)), ('{99999}'),
		((SELECT roaring64_agg(3 * i) FROM generate_series(1, 900) i))) AS f (filter),
		generate_series(1, 250, 31) AS n,
		LATERAL (SELECT array_agg(count ORDER BY count DESC) AS counts, count(DISTINCT key), count(*) AS rows,
			bool_and(count = (SELECT roaring64_and_cardinality(docs, filter) FROM tags WHERE tag = key->>'tag' AND lang = key->>'lang')) AS true_counts
			FROM roaring64_facets('tags', 'docs', filter, n)) AS found,
		LATERAL (SELECT array_agg(c ORDER BY c DESC) AS counts FROM (SELECT roaring64_and_cardinality(docs, filter) AS c FROM tags ORDER BY 1 DESC NULLS LAST LIMIT n) t WHERE c > 0) AS expected
	WHERE found.counts IS DISTINCT FROM expected.counts OR found.count <> found.rows OR NOT found.true_counts $$;
SELECT facets_differ();
SELECT * FROM roaring64_facets('tags', 'docs', '{1,2,3,4,5,6,7,8,9,10}', 2) WHERE count > 5;
-- of a view
CREATE VIEW tags_seen AS SELECT * FROM tags;
SELECT count(*) FROM roaring64_facets('tags_seen', 'docs', int8range(1, 3001)::roaring64, 7);
SELECT * FROM roaring64_facets('tags', 'docs', '{1}', 0);
SELECT * FROM roaring64_facets('tags', 'gone', '{1}');
SELECT * FROM roaring64_facets('tags', 'docs', NULL);

-- a built-in operator of arrays calls those of the elements' type, whose functions
-- must not find a writer's under the names that they use
CREATE TYPE ct AS (n int);
CREATE FUNCTION ct_cmp(ct, ct) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN btint4cmp(abs($1.n), abs($2.n)); END';
CREATE FUNCTION ct_eq(ct, ct) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN int4eq(abs($1.n), abs($2.n)); END';
CREATE OPERATOR = (LEFTARG = ct, RIGHTARG = ct, FUNCTION = ct_eq);
CREATE OPERATOR CLASS ct_ops DEFAULT FOR TYPE ct USING btree AS OPERATOR 3 =, FUNCTION 1 ct_cmp(ct, ct);
CREATE TABLE crates (k int NOT NULL, id int, a ct[], b ct[]);
CALL roaring64_rollup_create('crates', 'crate_sets', '{k}', 'id', '{"same": "a = b"}', deferred => true);
CREATE SCHEMA trap;
CREATE FUNCTION trap.abs(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''trapped''; RETURN $1; END';
SET search_path = trap, pg_catalog, modes, public;
INSERT INTO crates VALUES (1, 1, ARRAY[ROW(-1)::ct], ARRAY[ROW(1)::ct]);
SET search_path = modes, public;
SELECT * FROM crate_sets_now;
DROP FUNCTION trap.abs;
DROP SCHEMA trap;

DROP SCHEMA modes CASCADE;
DROP ROLE regress_rollup_owner, regress_rollup_next;
