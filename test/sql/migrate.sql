--
-- Migration of a table with a row for every fact.  What the target has is
-- always compared with what plain SQL says of the rows.
--
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

CREATE SCHEMA migrate;
SET search_path = migrate, public;

-- the sets that the rows of a table make, and those that a target has, as rows
CREATE FUNCTION expected(source text, rows_of text DEFAULT 'user_id, message_id, is_read') RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT concat_ws('','', %s) FROM %s', rows_of, source);
END $$;
CREATE FUNCTION found(target text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT concat_ws('','', user_id, id, id <@ read) FROM %s, roaring64_elements(pushed) AS id', target);
END $$;
-- how many differ, in either direction, repeats counted
CREATE FUNCTION differences(source text, target text) RETURNS bigint
LANGUAGE sql AS $$
	SELECT count(*) FROM (
		(SELECT * FROM expected(source) EXCEPT ALL SELECT * FROM found(target))
		UNION ALL
		(SELECT * FROM found(target) EXCEPT ALL SELECT * FROM expected(source))) AS d
$$;

-- Stops a migration when it comes to a certain id, to look at it half way.
CREATE FUNCTION passes(id bigint) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF id = nullif(current_setting('test.stop_at', true), '')::bigint THEN
		RAISE 'stopped at %', id;
	END IF;
	RETURN id % 5 = 0;
END $$;

-- counted rows would change how many pages are a batch
CREATE TABLE user_message (
	user_id int, message_id bigint, is_read boolean NOT NULL DEFAULT false,
	PRIMARY KEY (user_id, message_id)) WITH (autovacuum_enabled = off);
INSERT INTO user_message
SELECT u, m, hashint8(u * 1000 + m) % 3 = 0
FROM generate_series(1, 40) AS m, generate_series(1, 50) AS u
WHERE hashint8(m * 1000 + u) % 2 = 0;

--
-- All the way.
--
CALL roaring64_migrate('user_message', 'user_messages',
	key_columns => '{user_id}', id_column => 'message_id',
	sets => '{"pushed": true, "read": "is_read"}', batch_rows => 100);
\d user_messages
SELECT source, target, state, rows_done = (SELECT count(*) FROM user_message) AS all_rows,
	key_columns, id_column, set_names, set_conditions, drop_columns
FROM user_messages_migration;
SELECT differences('user_message', 'user_messages');
SELECT count(*), sum(roaring64_cardinality(pushed)) = (SELECT count(*) FROM user_message) AS all_pushed,
	sum(roaring64_cardinality(read)) = (SELECT count(*) FROM user_message WHERE is_read) AS all_read
FROM user_messages;

-- the application goes on writing, and the target follows
INSERT INTO user_message VALUES (1, -5, true), (1, 9223372036854775807, false), (999, 1, true);
UPDATE user_message SET is_read = NOT is_read WHERE user_id IN (2, 3);
UPDATE user_message SET message_id = message_id + 100000 WHERE user_id = 4;
UPDATE user_message SET user_id = user_id + 1000 WHERE message_id = 7;
DELETE FROM user_message WHERE user_id = 5 OR message_id = 11;
INSERT INTO user_message VALUES (1, -5, false), (6, 600, false)
ON CONFLICT (user_id, message_id) DO UPDATE SET is_read = excluded.is_read;
BEGIN;
INSERT INTO user_message VALUES (7, 700, true);
SAVEPOINT s;
DELETE FROM user_message WHERE user_id = 7;
ROLLBACK TO s;
UPDATE user_message SET is_read = false WHERE user_id = 7 AND message_id = 700;
COMMIT;
BEGIN;
DELETE FROM user_message;
ROLLBACK;
COPY user_message FROM stdin;
8	800	t
8	801	f
\.
-- one statement that does all at once
WITH gone AS (DELETE FROM user_message WHERE user_id = 9 RETURNING message_id),
	here AS (INSERT INTO user_message SELECT 10, 5000 + message_id, true FROM gone)
UPDATE user_message SET is_read = true WHERE user_id = 12;
-- a change of nothing writes nothing
SELECT ctid AS place FROM user_messages WHERE user_id = 13 \gset
UPDATE user_message SET is_read = is_read WHERE user_id = 13;
SELECT ctid = :'place' AS same_row FROM user_messages WHERE user_id = 13;
SELECT differences('user_message', 'user_messages');
SELECT * FROM roaring64_migrate_verify('user_messages');
-- going on with it is harmless, with the same arguments or with none
CALL roaring64_migrate('user_message', 'user_messages');
CALL roaring64_migrate('user_message', 'user_messages',
	key_columns => '{user_id}', id_column => 'message_id',
	sets => '{"pushed": true, "read": "is_read"}');

-- verify lists what differs, in both directions
BEGIN;
UPDATE user_messages SET pushed = pushed | 77777, read = read - roaring64_min(read) WHERE user_id = 14;
DELETE FROM user_messages WHERE user_id = 999;
INSERT INTO user_messages VALUES (12345, '{1,2}', '{}');
INSERT INTO user_messages VALUES (12346, '{}', '{}');
SELECT key, set_name, missing, surplus FROM roaring64_migrate_verify('user_messages') ORDER BY key, set_name;
ROLLBACK;
SELECT count(*) FROM roaring64_migrate_verify('user_messages');

-- all goes
BEGIN;
TRUNCATE user_message;
INSERT INTO user_message VALUES (1, 1, true);
SELECT * FROM user_messages;
ROLLBACK;
SELECT differences('user_message', 'user_messages');

--
-- The view in the old table's place.
--
CREATE TABLE model (LIKE user_message INCLUDING DEFAULTS);
INSERT INTO model SELECT * FROM user_message;
CALL roaring64_migrate_finish('user_messages');
SELECT relname, relkind FROM pg_class
WHERE relnamespace = 'migrate'::regnamespace AND relname ~ '^user_message' AND relkind IN ('r', 'v') ORDER BY relname;
SELECT count(*) FROM ((TABLE user_message EXCEPT ALL TABLE model) UNION ALL (TABLE model EXCEPT ALL TABLE user_message)) AS d;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'user_message'::regclass AND attnum > 0 ORDER BY attnum;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM user_message WHERE user_id = 3 AND is_read;
RESET enable_seqscan;

-- the same statements for the view and for a table
CREATE TABLE statements (n int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO statements (statement) VALUES
	('INSERT INTO %s (user_id, message_id) VALUES (1, 12345), (2000, 1)'),
	('INSERT INTO %s SELECT 2001, m, m %% 2 = 0 FROM generate_series(1, 10) AS m'),
	('UPDATE %s SET is_read = true WHERE user_id = 3'),
	('UPDATE %s SET is_read = NOT is_read WHERE message_id < 10'),
	('UPDATE %s SET message_id = message_id + 1000000 WHERE user_id = 15'),
	('UPDATE %s SET user_id = 16000 + user_id, is_read = true WHERE user_id = 16'),
	('UPDATE %s SET is_read = is_read'),
	('DELETE FROM %s WHERE user_id = 17'),
	('DELETE FROM %s WHERE is_read AND message_id > 30'),
	('DELETE FROM %s WHERE user_id = -1');
-- and how many rows each says it did
DO $$
DECLARE
	st text;
	n bigint;
	m bigint;
BEGIN
	FOR st IN SELECT statement FROM statements ORDER BY statements.n LOOP
		EXECUTE format(st, 'user_message');
		GET DIAGNOSTICS n = ROW_COUNT;
		EXECUTE format(st, 'model');
		GET DIAGNOSTICS m = ROW_COUNT;
		IF n <> m THEN
			RAISE '% rows, not %: %', n, m, st;
		END IF;
	END LOOP;
END $$;
SELECT count(*) FROM ((TABLE user_message EXCEPT ALL TABLE model) UNION ALL (TABLE model EXCEPT ALL TABLE user_message)) AS d;
INSERT INTO user_message VALUES (20, 100, true) RETURNING *;
INSERT INTO model VALUES (20, 100, true);
-- errors of a table, by their codes
\set VERBOSITY sqlstate
INSERT INTO user_message VALUES (20, 100, false);
UPDATE user_message SET message_id = 100 WHERE user_id = 20 AND message_id <> 100;
INSERT INTO user_message VALUES (NULL, 100, false);
UPDATE user_message SET is_read = NULL WHERE user_id = 20;
\set VERBOSITY default
SELECT count(*) FROM ((TABLE user_message EXCEPT ALL TABLE model) UNION ALL (TABLE model EXCEPT ALL TABLE user_message)) AS d;
-- who writes to the target itself is seen through the view
UPDATE user_messages SET read = pushed WHERE user_id = 21;
UPDATE model SET is_read = true WHERE user_id = 21;
DELETE FROM user_messages WHERE user_id = 22;
DELETE FROM model WHERE user_id = 22;
UPDATE user_messages SET user_id = 2300 WHERE user_id = 23;
UPDATE model SET user_id = 2300 WHERE user_id = 23;

-- what is over cannot be begun or finished again
CALL roaring64_migrate('user_message', 'user_messages');
CALL roaring64_migrate_finish('user_messages');
SELECT * FROM roaring64_migrate_verify('user_messages');

--
-- The way back, with all that was done meanwhile.
--

CALL roaring64_migrate_undo('user_messages');
SELECT count(*) FROM ((TABLE user_message EXCEPT ALL TABLE model) UNION ALL (TABLE model EXCEPT ALL TABLE user_message)) AS d;
-- nothing is left of it
SELECT relname, relkind FROM pg_class
WHERE relnamespace = 'migrate'::regnamespace AND relname ~ '^user_message' ORDER BY relname;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'user_message'::regclass;
-- a target that is truncated is gone in the old table too
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read"}');
CALL roaring64_migrate_finish('user_messages');
BEGIN;
TRUNCATE user_messages;
INSERT INTO user_message VALUES (1, 2, true);
CALL roaring64_migrate_undo('user_messages');
TABLE user_message;
ROLLBACK;
-- and the end of the way back
CALL roaring64_migrate_drop_old('user_messages');
INSERT INTO user_message VALUES (3000, 1, true);
SELECT * FROM user_messages WHERE user_id = 3000;
CALL roaring64_migrate_undo('user_messages');
SELECT relname, relkind FROM pg_class
WHERE relnamespace = 'migrate'::regnamespace AND relname ~ '^user_message' ORDER BY relname;
DROP VIEW user_message;
DROP TABLE user_messages;
ALTER TABLE model RENAME TO user_message;
ALTER TABLE user_message ADD PRIMARY KEY (user_id, message_id), ALTER is_read SET NOT NULL;

--
-- Stopped half way.  What was committed stays, and what changes meanwhile is
-- noted.
--
INSERT INTO user_message VALUES (500, 424242, true);
SET test.stop_at = 424242;
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read", "fifth": "passes(message_id)"}', batch_rows => 1);
SELECT state, rows_done > 0 AS some, rows_done < (SELECT count(*) FROM user_message) AS not_all,
	blocks_done < blocks AS further_blocks
FROM user_messages_migration;
SELECT * FROM roaring64_migrate_verify('user_messages');
CALL roaring64_migrate_finish('user_messages');
INSERT INTO user_message VALUES (501, 1, true);
UPDATE user_message SET is_read = NOT is_read WHERE user_id < 20;
UPDATE user_message SET user_id = user_id + 7000 WHERE user_id BETWEEN 20 AND 25;
DELETE FROM user_message WHERE user_id BETWEEN 30 AND 33;
-- others cannot go on with it in another way
CALL roaring64_migrate('user_message', 'user_messages', key_columns => '{message_id}');
CALL roaring64_migrate('user_message', 'user_messages', id_column => 'user_id');
CALL roaring64_migrate('user_message', 'user_messages', sets => '{"pushed": true, "read": "is_read"}');
CALL roaring64_migrate('user_message', 'user_messages', drop_columns => '{is_read}');
CALL roaring64_migrate('user_message', 'user_messages', period_column => 'is_read');
CALL roaring64_migrate('statements', 'user_messages');
SET test.stop_at = '';
CALL roaring64_migrate('user_message', 'user_messages');
SELECT differences('user_message', 'user_messages');
SELECT * FROM roaring64_migrate_verify('user_messages');
SELECT count(*) FROM user_messages_changes;
SELECT count(*) FROM (
	SELECT user_id, coalesce(roaring64_agg(message_id) FILTER (WHERE message_id % 5 = 0), '{}') FROM user_message GROUP BY user_id
	EXCEPT SELECT user_id, fifth FROM user_messages) AS d;

-- before the finish, the way back leaves everything to the source
CALL roaring64_migrate_undo('user_messages');
SELECT relname, relkind FROM pg_class
WHERE relnamespace = 'migrate'::regnamespace AND relname ~ '^user_message' ORDER BY relname;

-- stopped, then the source is written anew: copying begins again
SET test.stop_at = 424242;
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read", "fifth": "passes(message_id)"}', batch_rows => 1);
CLUSTER user_message USING user_message_pkey;
SET test.stop_at = '';
CALL roaring64_migrate('user_message', 'user_messages');
SELECT differences('user_message', 'user_messages');
CALL roaring64_migrate_undo('user_messages');
-- or emptied
SET test.stop_at = 424242;
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read", "fifth": "passes(message_id)"}', batch_rows => 1);
CREATE TABLE saved AS SELECT * FROM user_message;
TRUNCATE user_message;
INSERT INTO user_message VALUES (1, 1, true), (2, 2, false);
SET test.stop_at = '';
CALL roaring64_migrate('user_message', 'user_messages');
SELECT user_id, pushed, read, fifth FROM user_messages ORDER BY user_id;
CALL roaring64_migrate_undo('user_messages');
INSERT INTO user_message SELECT * FROM saved WHERE user_id > 2;
-- stopped, then undone
SET test.stop_at = 424242;
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read", "fifth": "passes(message_id)"}', batch_rows => 1);
CALL roaring64_migrate_undo('user_messages');
-- stopped, then another column is added, which would be lost
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read", "fifth": "passes(message_id)"}', batch_rows => 1);
SET test.stop_at = '';
ALTER TABLE user_message ADD note text;
CALL roaring64_migrate('user_message', 'user_messages');
-- what is needed cannot be changed
ALTER TABLE user_message DROP is_read;
ALTER TABLE user_message ALTER message_id TYPE numeric;
DROP TABLE user_message;
\set VERBOSITY terse
DROP TABLE user_messages;
DROP TABLE user_messages_changes, user_messages_migration;
\set VERBOSITY default
ALTER TABLE user_message DROP note;
CALL roaring64_migrate('user_message', 'user_messages');
-- also after it was copied
ALTER TABLE user_message ADD note text;
CALL roaring64_migrate_finish('user_messages');
ALTER TABLE user_message DROP note;
SELECT differences('user_message', 'user_messages');
CALL roaring64_migrate_undo('user_messages');
DROP TABLE saved;

--
-- Conditions that are no columns: in the view the sets are columns, and on the
-- way back they must agree with what the rows say.
--
CREATE TABLE inbox (
	id serial PRIMARY KEY, owner text COLLATE "C" NOT NULL, folder varchar(10) NOT NULL,
	read_at timestamptz, body text);
INSERT INTO inbox (owner, folder, read_at, body)
SELECT 'user ' || i % 7, 'f' || i % 2, CASE WHEN i % 3 = 0 THEN '2026-01-01'::timestamptz END, 'x'
FROM generate_series(1, 60) AS i;
CALL roaring64_migrate('inbox', 'mail', '{owner,folder}', 'id',
	'{"all": true, "read": "read_at IS NOT NULL", "early": "id < 10"}', '{read_at,body}');
\d mail
UPDATE inbox SET read_at = now() WHERE id IN (4, 5);
UPDATE inbox SET folder = 'f3' WHERE id = 6;
SELECT count(*) FROM roaring64_migrate_verify('mail');
SELECT count(*) FROM (
	SELECT owner, folder, id, read_at IS NOT NULL, id < 10 FROM inbox
	EXCEPT SELECT owner, folder, e, e <@ read, e <@ early FROM mail, roaring64_elements("all") AS e) AS d;
CALL roaring64_migrate_finish('mail');
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
WHERE attrelid = 'inbox'::regclass AND attnum > 0 ORDER BY attnum;
INSERT INTO inbox (owner, folder) VALUES ('new', 'f0') RETURNING *;
UPDATE inbox SET read = true WHERE id = 8;
CALL roaring64_migrate_undo('mail');
UPDATE inbox_old SET read_at = now() WHERE id = 8;
CALL roaring64_migrate_undo('mail');
SELECT id, owner, folder, read_at IS NOT NULL AS read, body FROM inbox WHERE id IN (7, 8, 61) ORDER BY id;
DROP TABLE inbox;

--
-- By month.
--
CREATE TABLE seen (user_id int NOT NULL, at timestamptz NOT NULL, event smallint NOT NULL, UNIQUE (event, user_id));
INSERT INTO seen
SELECT i % 5, '2026-01-30 12:00+00'::timestamptz + i * interval '1 day', i FROM generate_series(1, 80) AS i;
SET timezone = 'Asia/Tokyo';
CALL roaring64_migrate('seen', 'seen_by_month', '{user_id}', 'event', '{"events": true}', period_column => 'at');
SET timezone = 'America/New_York';
SELECT c.relname, pg_get_expr(relpartbound, c.oid, true)
FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
WHERE inhparent = 'seen_by_month'::regclass AND relkind = 'r' ORDER BY relname;
INSERT INTO seen VALUES (1, '2026-02-28 23:59:59.999+00', 100), (1, '2026-03-01 00:00+00', 101), (1, '2031-05-06 00:00+00', 102);
UPDATE seen SET at = at + interval '1 month' WHERE event < 3;
SELECT * FROM roaring64_migrate_verify('seen_by_month');
SELECT count(*) FROM (
	SELECT user_id, date_trunc('month', at AT TIME ZONE 'UTC')::date, roaring64_agg(event) FROM seen GROUP BY 1, 2
	EXCEPT SELECT user_id, month, events FROM seen_by_month) AS d;
SELECT tableoid::regclass, month, events FROM seen_by_month WHERE user_id = 1 AND events && '{100,101,102}' ORDER BY month;
CREATE TABLE model_seen AS SELECT * FROM seen;
CALL roaring64_migrate_finish('seen_by_month');
SET timezone = 'UTC';
SELECT * FROM seen WHERE event IN (100, 101, 102) ORDER BY event;
INSERT INTO seen VALUES (1, '2026-02-14 12:00+00', 103);
DELETE FROM seen WHERE event = 100;
CALL roaring64_migrate_undo('seen_by_month');
SELECT event, at FROM (TABLE seen EXCEPT TABLE model_seen) AS d;
SELECT event, at FROM (TABLE model_seen EXCEPT TABLE seen) AS d;
RESET timezone;

--
-- Names that need care, types whose equality is elsewhere.
--
CREATE TABLE "Odd ] ~ {t}" ("k'1 {x}" text NOT NULL, "K [k:2~] $1" uuid NOT NULL, "id ""x"" %s" int NOT NULL, "is so?" boolean NOT NULL,
	UNIQUE ("id ""x"" %s", "K [k:2~] $1", "k'1 {x}"));
INSERT INTO "Odd ] ~ {t}"
SELECT 'k' || i % 3, md5((i % 2)::text)::uuid, i, i % 4 = 0 FROM generate_series(-10, 10) AS i;
CALL roaring64_migrate('"Odd ] ~ {t}"', 'Odd''s {target} %s', ARRAY['k''1 {x}', 'K [k:2~] $1'], 'id "x" %s',
	'{"all [s:~]": true, "it''s {so}": "is so?"}');
UPDATE "Odd ] ~ {t}" SET "is so?" = NOT "is so?" WHERE "id ""x"" %s" < 0;
DELETE FROM "Odd ] ~ {t}" WHERE "id ""x"" %s" = 3;
SELECT * FROM roaring64_migrate_verify('"Odd''s {target} %s"');
CREATE TABLE model_odd AS TABLE "Odd ] ~ {t}";
CALL roaring64_migrate_finish('"Odd''s {target} %s"');
TABLE "Odd ] ~ {t}" EXCEPT TABLE model_odd;
TABLE model_odd EXCEPT TABLE "Odd ] ~ {t}";
UPDATE "Odd ] ~ {t}" SET "is so?" = false, "id ""x"" %s" = 50 WHERE "id ""x"" %s" = 4;
CALL roaring64_migrate_undo('"Odd''s {target} %s"');
TABLE "Odd ] ~ {t}" EXCEPT TABLE model_odd;
TABLE model_odd EXCEPT TABLE "Odd ] ~ {t}";

--
-- A search_path on which everything has been replaced.
--
CREATE SCHEMA evil;
CREATE FUNCTION evil.trap(anyelement, anyelement) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE OPERATOR evil.= (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = evil.trap);
CREATE OPERATOR evil.<> (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = evil.trap);
CREATE FUNCTION evil.trap_id(int, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE OPERATOR evil.= (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.trap_id);
CREATE FUNCTION evil.trap_set(roaring64, roaring64) RETURNS roaring64 LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
CREATE OPERATOR evil.| (LEFTARG = roaring64, RIGHTARG = roaring64, FUNCTION = evil.trap_set);
CREATE OPERATOR evil.- (LEFTARG = roaring64, RIGHTARG = roaring64, FUNCTION = evil.trap_set);
CREATE FUNCTION evil.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS $$ SELECT 'DROP TABLE migrate.user_message' $$;
CREATE FUNCTION evil.roaring64_agg(bigint) RETURNS roaring64 LANGUAGE sql AS $$ SELECT '{666}'::roaring64 $$;
CREATE FUNCTION evil.count() RETURNS bigint LANGUAGE sql AS $$ SELECT 666 $$;
CREATE TABLE evil.user_messages_changes (user_id int, roaring64_ids roaring64);
CREATE TABLE evil.pg_class (oid oid, relname text);
CREATE DOMAIN evil.int8 AS text;
CREATE DOMAIN evil."bigint" AS text;
SET search_path = evil, pg_catalog, public;
CALL roaring64_migrate('migrate.user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read"}');
INSERT INTO migrate.user_message VALUES (9000, 1, true), (9000, 2, false);
UPDATE migrate.user_message SET is_read = NOT is_read WHERE user_id OPERATOR(pg_catalog.=) 9000;
DELETE FROM migrate.user_message WHERE user_id OPERATOR(pg_catalog.=) 9000 AND message_id OPERATOR(pg_catalog.=) 1;
SELECT * FROM roaring64_migrate_verify('migrate.user_messages');
CALL roaring64_migrate_finish('migrate.user_messages');
INSERT INTO migrate.user_message VALUES (9000, 3, true);
UPDATE migrate.user_message SET message_id = 4 WHERE user_id OPERATOR(pg_catalog.=) 9000 AND is_read;
DELETE FROM migrate.user_message WHERE user_id OPERATOR(pg_catalog.=) 1;
CALL roaring64_migrate_undo('migrate.user_messages');
SET search_path = migrate, public;
SELECT * FROM user_message WHERE user_id = 9000;
SELECT count(*) FROM user_message WHERE user_id = 1;
SET client_min_messages = warning;
DROP SCHEMA evil CASCADE;
RESET client_min_messages;

--
-- The extension somewhere else.
--
SET client_min_messages = warning;
CREATE SCHEMA "Else";
ALTER EXTENSION roaring64 SET SCHEMA "Else";
CALL "Else".roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read"}');
DELETE FROM user_message WHERE user_id = 9000;
SELECT * FROM "Else".roaring64_migrate_verify('user_messages');
CALL "Else".roaring64_migrate_finish('user_messages');
INSERT INTO user_message VALUES (1, 2, true);
CALL "Else".roaring64_migrate_undo('user_messages');
SELECT * FROM user_message WHERE user_id = 1;
ALTER EXTENSION roaring64 SET SCHEMA public;
DROP SCHEMA "Else";
RESET client_min_messages;

--
-- Privileges: what others may do with the source they may go on doing.
--
CREATE ROLE migrate_owner;
CREATE ROLE migrate_writer;
CREATE ROLE migrate_reader;
GRANT USAGE, CREATE ON SCHEMA migrate TO migrate_owner;
GRANT USAGE ON SCHEMA migrate TO migrate_writer, migrate_reader;
ALTER TABLE user_message OWNER TO migrate_owner;
GRANT SELECT, INSERT, UPDATE, DELETE ON user_message TO migrate_writer;
GRANT SELECT ON user_message TO migrate_reader WITH GRANT OPTION;
SET ROLE migrate_reader;
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read"}');
SET ROLE migrate_owner;
SET test.stop_at = 424242;
CALL roaring64_migrate('user_message', 'user_messages', '{user_id}', 'message_id',
	'{"pushed": true, "read": "is_read", "fifth": "passes(message_id)"}', batch_rows => 1);
SET test.stop_at = '';
SET ROLE migrate_writer;
INSERT INTO user_message VALUES (9001, 1, true), (9001, 2, true);
UPDATE user_message SET is_read = false WHERE user_id = 9001;
DELETE FROM user_message WHERE user_id = 9001 AND message_id = 1;
RESET ROLE;
CALL roaring64_migrate('user_message', 'user_messages');
SET ROLE migrate_writer;
INSERT INTO user_message VALUES (9002, 1, true), (9002, 2, true);
UPDATE user_message SET is_read = false WHERE user_id = 9002;
DELETE FROM user_message WHERE user_id = 9002 AND message_id = 1;
CALL roaring64_migrate_finish('user_messages');
RESET ROLE;
SELECT differences('user_message', 'user_messages');
CALL roaring64_migrate_finish('user_messages');
SET ROLE migrate_writer;
INSERT INTO user_message VALUES (9003, 1, true), (9003, 2, true);
UPDATE user_message SET is_read = false WHERE user_id = 9003;
DELETE FROM user_message WHERE user_id = 9003 AND message_id = 1;
SELECT * FROM user_message WHERE user_id BETWEEN 9001 AND 9999 ORDER BY user_id, message_id;
CALL roaring64_migrate_undo('user_messages');
SET ROLE migrate_reader;
SELECT count(*) FROM user_message WHERE user_id > 9000;
INSERT INTO user_message VALUES (9004, 1, true);
RESET ROLE;
SELECT relname, relowner::regrole, (
	SELECT string_agg(concat_ws(' ', a.grantee::regrole, a.privilege_type, CASE WHEN a.is_grantable THEN '*' END), ', '
		ORDER BY a.grantee::regrole::text, a.privilege_type)
	FROM aclexplode(relacl) AS a WHERE a.grantee <> relowner) AS others
FROM pg_class
WHERE relnamespace = 'migrate'::regnamespace AND relname ~ '^user_message' AND relkind IN ('r', 'v') ORDER BY relname;
SET ROLE migrate_owner;
CALL roaring64_migrate_undo('user_messages');
SELECT * FROM user_message WHERE user_id BETWEEN 9001 AND 9999 ORDER BY user_id, message_id;
RESET ROLE;

--
-- What cannot be migrated, and what to do about it.  Nothing is left of the
-- attempts.
--
CREATE TABLE bad (a int NOT NULL, b bigint NOT NULL, c boolean NOT NULL, UNIQUE (a, b));
CALL roaring64_migrate(NULL, 't', '{a}', 'b', '{"s": true}');
CALL roaring64_migrate('no_such_table', 't', '{a}', 'b', '{"s": true}');
CALL roaring64_migrate('bad', 't');
CALL roaring64_migrate('bad', 't', '{}', 'b', '{"s": true}');
CALL roaring64_migrate('bad', 't', '{NULL}', 'b', '{"s": true}');
CALL roaring64_migrate('bad', 't', '{no_such_column}', 'b', '{"s": true, "c": "c"}');
CALL roaring64_migrate('bad', 't', '{a}', 'no_such_column', '{"s": true, "c": "c"}');
CALL roaring64_migrate('bad', 't', '{ctid}', 'b', '{"s": true, "c": "c"}');
CALL roaring64_migrate('bad', 't', '{a,a}', 'b', '{"s": true, "c": "c"}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "no_such_column"}', '{c}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "b"}', '{c}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "sum(b) > 0"}', '{c}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '["s"]');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": 1}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"c": "c"}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "t": true, "c": "c"}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"a": true, "c": "c"}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"roaring64_x": true, "c": "c"}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true}', drop_columns => '{d}');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}', period_column => 'b');
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}', batch_rows => 0);
CALL roaring64_migrate('bad', repeat('t', 54)::name, '{a}', 'b', '{"s": true, "c": "c"}');
CALL roaring64_migrate('bad', 'statements', '{a}', 'b', '{"s": true, "c": "c"}');
CREATE TABLE t_facts ();
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
DROP TABLE t_facts;
CREATE TABLE bad_old ();
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
DROP TABLE bad_old;
BEGIN;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ROLLBACK;
ALTER TABLE bad ALTER b DROP NOT NULL;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ALTER TABLE bad ALTER b SET NOT NULL, ALTER c DROP NOT NULL;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ALTER TABLE bad ALTER c SET NOT NULL, ALTER b TYPE numeric(20, 0);
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ALTER TABLE bad ALTER b TYPE text;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ALTER TABLE bad ALTER b TYPE bigint USING b::bigint, ALTER a TYPE point USING NULL, DROP CONSTRAINT bad_a_b_key;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ALTER TABLE bad ALTER a TYPE int USING NULL;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
CREATE UNIQUE INDEX bad_a_b_key ON bad (a, b) WHERE c;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
DROP INDEX bad_a_b_key;
ALTER TABLE bad ADD UNIQUE (a, b) DEFERRABLE;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ALTER TABLE bad DROP CONSTRAINT bad_a_b_key, ADD CONSTRAINT bad_a_b_key UNIQUE (b, a);
CREATE TABLE refers (a int, b bigint, FOREIGN KEY (a, b) REFERENCES bad (a, b));
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
DROP TABLE refers;
CREATE VIEW reads AS SELECT * FROM bad;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
CALL roaring64_migrate('reads', 't', '{a}', 'b', '{"s": true, "c": "c"}');
DROP VIEW reads;
ALTER TABLE bad ENABLE ROW LEVEL SECURITY;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
ALTER TABLE bad DISABLE ROW LEVEL SECURITY;
CREATE TABLE child () INHERITS (bad);
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
DROP TABLE child;
GRANT UPDATE (c) ON bad TO public;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
REVOKE UPDATE (c) ON bad FROM public;
CREATE TEMP TABLE short_lived (a int NOT NULL, b int NOT NULL UNIQUE);
CALL roaring64_migrate('short_lived', 't', '{a}', 'b', '{"s": true}');
CREATE TABLE by_day (a int NOT NULL, b int NOT NULL UNIQUE, at timestamp NOT NULL);
CALL roaring64_migrate('by_day', 't', '{a}', 'b', '{"s": true}', period_column => 'at', period => 'hour');
SELECT relname FROM pg_class WHERE relnamespace = 'migrate'::regnamespace AND relname ~ '^t(_|$)';
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'bad'::regclass;
CALL roaring64_migrate_finish('bad');
CALL roaring64_migrate_undo(NULL);
CALL roaring64_migrate_drop_old('bad');
SELECT * FROM roaring64_migrate_verify('bad');
SELECT roaring64_migrate_statement();
-- an empty table is no problem; what will have no effect is said
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER own AFTER INSERT ON bad FOR EACH ROW EXECUTE FUNCTION nothing();
ALTER TABLE bad ADD CONSTRAINT positive CHECK (a > 0);
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
CALL roaring64_migrate_drop_old('t');
-- someone comes to use the source before the finish
CREATE VIEW reads AS SELECT * FROM bad;
CALL roaring64_migrate_finish('t');
DROP VIEW reads;
SET default_transaction_isolation = 'repeatable read';
CALL roaring64_migrate('bad', 't');
CALL roaring64_migrate_finish('t');
RESET default_transaction_isolation;
CALL roaring64_migrate_finish('t');
INSERT INTO bad VALUES (1, 2, true);
TABLE t;
-- the view is not needed for the way back
DROP TABLE t;
DROP VIEW bad;
CALL roaring64_migrate_undo('t');
TABLE bad;
-- who drops the target on purpose frees the source, and is told what is left
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
\set VERBOSITY terse
DROP TABLE t CASCADE;
\set VERBOSITY default
INSERT INTO bad VALUES (2, 3, false);
CALL roaring64_migrate('bad', 't');
DROP VIEW t_facts; DROP TABLE IF EXISTS t_migration, t_changes, t_parts;
CALL roaring64_migrate('bad', 't', '{a}', 'b', '{"s": true, "c": "c"}');
TABLE t ORDER BY a;

\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA migrate CASCADE;
DROP ROLE migrate_owner;
DROP ROLE migrate_writer;
DROP ROLE migrate_reader;
