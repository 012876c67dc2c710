--
-- Rollups of tables as applications have them.  Whatever the table, the sets
-- must be what plain SQL makes of its rows, when they follow and after changes;
-- or it is refused, with all reasons at once.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA rollup;
SET search_path = rollup, public;
\set SHOW_CONTEXT never
SET timezone = 'Asia/Tokyo';

-- The keys for which a query over the rows, of key and arrays of ids, gives other sets than
-- the view of a target; than the target, after a fold; and what verify says.
CREATE PROCEDURE compare(rows_query text, view_query text, target regclass, INOUT view bigint DEFAULT NULL,
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

-- 1. Django: an id of its own, a unique constraint, a timestamp
CREATE TABLE "notifications_delivery" (
	"id" bigserial NOT NULL PRIMARY KEY, "user_id" integer NOT NULL, "message_id" bigint NOT NULL,
	"is_read" boolean NOT NULL, "created_at" timestamp with time zone NOT NULL DEFAULT '2026-01-31 23:30+00',
	CONSTRAINT "notifications_delivery_user_id_message_id_uniq" UNIQUE ("user_id", "message_id"));
INSERT INTO notifications_delivery (user_id, message_id, is_read)
SELECT u, m, m % 3 = 0 FROM generate_series(1, 20) u, generate_series(1, 100) m WHERE (u + m) % 4 > 0;
CALL roaring64_rollup_create('notifications_delivery', 'deliveries', '{user_id}', 'message_id', '{"pushed": true, "read": "is_read"}');
UPDATE notifications_delivery SET is_read = true WHERE message_id < 9;
DELETE FROM notifications_delivery WHERE user_id = 3;
INSERT INTO notifications_delivery (user_id, message_id, is_read) VALUES (3, -7, false), (1, 5000, true)
ON CONFLICT (user_id, message_id) DO UPDATE SET is_read = true;
CALL compare('SELECT user_id, array_agg(message_id ORDER BY message_id), array_agg(message_id ORDER BY message_id) FILTER (WHERE is_read) FROM notifications_delivery GROUP BY 1',
	'SELECT user_id, pushed::bigint[], nullif(read::bigint[], ''{}'') FROM deliveries_now WHERE NOT roaring64_is_empty(pushed)', 'deliveries');

-- 2. Rails: created_at and updated_at, nullable read_at, names in the plural
CREATE TABLE "readings" ("id" bigserial PRIMARY KEY, "reader_id" bigint NOT NULL, "article_id" bigint NOT NULL,
	"read_at" timestamp(6), "created_at" timestamp(6) NOT NULL DEFAULT '2026-01-01', "updated_at" timestamp(6) NOT NULL DEFAULT '2026-01-01');
CREATE UNIQUE INDEX "index_readings_on_reader_id_and_article_id" ON "readings" ("reader_id", "article_id");
INSERT INTO readings (reader_id, article_id, read_at) SELECT i % 7, i, CASE WHEN i % 5 = 0 THEN '2026-01-02'::timestamp END FROM generate_series(1, 500) i;
CALL roaring64_rollup_create('readings', 'read_sets', '{reader_id}', 'article_id', '{"given": true, "read": "readings.read_at IS NOT NULL"}');
UPDATE readings SET read_at = now() WHERE article_id % 11 = 0;
UPDATE readings SET updated_at = now(), reader_id = reader_id + 1 WHERE article_id % 13 = 0;
CALL compare('SELECT reader_id, array_agg(article_id ORDER BY article_id), array_agg(article_id ORDER BY article_id) FILTER (WHERE read_at IS NOT NULL) FROM readings GROUP BY 1',
	'SELECT reader_id, given::bigint[], nullif(read::bigint[], ''{}'') FROM read_sets_now WHERE NOT roaring64_is_empty(given)', 'read_sets');

-- 3. Hibernate: a join table with a composite key and foreign keys that cascade
CREATE TABLE account (id bigint PRIMARY KEY);
CREATE TABLE role (id bigint PRIMARY KEY);
INSERT INTO account SELECT generate_series(1, 30);
INSERT INTO role SELECT generate_series(1, 12);
CREATE TABLE account_roles (account_id bigint NOT NULL, roles_id bigint NOT NULL, PRIMARY KEY (account_id, roles_id),
	CONSTRAINT fk1 FOREIGN KEY (account_id) REFERENCES account ON DELETE CASCADE ON UPDATE CASCADE,
	CONSTRAINT fk2 FOREIGN KEY (roles_id) REFERENCES role);
INSERT INTO account_roles SELECT a, r FROM generate_series(1, 30) a, generate_series(1, 12) r WHERE a % r = 0;
CALL roaring64_rollup_create('account_roles', 'roles_of', '{account_id}', 'roles_id', '{"roles": true}');
DELETE FROM account WHERE id % 6 = 0;
UPDATE account SET id = id + 1000 WHERE id % 5 = 0;
CALL compare('SELECT account_id, array_agg(roles_id ORDER BY roles_id) FROM account_roles GROUP BY 1',
	'SELECT account_id, roles::bigint[] FROM roles_of_now WHERE NOT roaring64_is_empty(roles)', 'roles_of');

-- 4. Events partitioned by time: one id may be in several partitions.  Sets remember, and
-- plain SQL does too, in a table without partitions
CREATE TABLE events (user_id int NOT NULL, event_id bigint NOT NULL, at timestamptz NOT NULL, done boolean, PRIMARY KEY (event_id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_2026_01 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE events_2026_02 PARTITION OF events FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
CREATE TABLE remembered (LIKE events);
CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO remembered SELECT NEW.*; RETURN NULL; END $$;
CREATE TRIGGER remember AFTER INSERT OR UPDATE ON events FOR EACH ROW EXECUTE FUNCTION remember();
INSERT INTO events SELECT i % 9, i % 300, '2026-01-01'::timestamptz + i * interval '1 hour', i % 4 = 0 FROM generate_series(1, 1400) i;
CREATE INDEX ON events (user_id, event_id);
CALL roaring64_rollup_create('events', 'event_sets', '{user_id}', 'event_id', '{"all": true, "done": "done"}', deletes => 'keep');
CALL roaring64_rollup_create('events', 'present', '{user_id}', 'event_id', '{"all": true, "done": "done"}');
DELETE FROM events_2026_01 WHERE event_id < 50;
DELETE FROM events WHERE event_id BETWEEN 100 AND 120 AND at > '2026-02-10';
INSERT INTO events_2026_02 VALUES (2, 77777, '2026-02-11', true);
UPDATE events SET at = at - interval '1 month' WHERE at >= '2026-02-20';
UPDATE events_2026_02 SET done = NOT done;
TRUNCATE events_2026_02;
CREATE TABLE events_2026_03 PARTITION OF events FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
INSERT INTO events VALUES (3, 88888, '2026-03-02', false);
INSERT INTO events_2026_03 VALUES (3, 88889, '2026-03-02', false);
\set events_query 'SELECT user_id, array_agg(DISTINCT event_id ORDER BY event_id), array_agg(DISTINCT event_id ORDER BY event_id) FILTER (WHERE done) FROM remembered GROUP BY 1'
\set events_target 'SELECT user_id, "all"::bigint[], nullif(done::bigint[], ''{}'') FROM event_sets_now'
\set present_query 'SELECT user_id, array_agg(DISTINCT event_id ORDER BY event_id), array_agg(DISTINCT event_id ORDER BY event_id) FILTER (WHERE done) FROM events GROUP BY 1'
\set present_target 'SELECT user_id, "all"::bigint[], nullif(done::bigint[], ''{}'') FROM present_now WHERE NOT roaring64_is_empty("all")'
-- a partition that is truncated by its name is seen by the next fold
SELECT state FROM roaring64_rollup_stats('present');
CALL compare(:'events_query', :'events_target', 'event_sets');
CALL roaring64_rollup_fold('present');
CALL compare(:'present_query', :'present_target', 'present');
-- what comes with its rows is looked up by the next fold
CREATE TABLE events_2026_04 (LIKE events);
INSERT INTO events_2026_04 VALUES (4, 99999, '2026-04-02', true);
INSERT INTO remembered TABLE events_2026_04;
ALTER TABLE events ATTACH PARTITION events_2026_04 FOR VALUES FROM ('2026-04-01') TO ('2026-05-01');
SELECT state FROM roaring64_rollup_stats('event_sets');
SELECT * FROM roaring64_rollup_verify('event_sets');
SELECT * FROM roaring64_rollup_verify('present');
CALL roaring64_rollup_fold('event_sets');
CALL roaring64_rollup_fold('present');
CALL compare(:'events_query', :'events_target', 'event_sets');
CALL compare(:'present_query', :'present_target', 'present');
-- and so is what goes with them
ALTER TABLE events DETACH PARTITION events_2026_04;
SELECT state FROM roaring64_rollup_stats('event_sets') UNION ALL SELECT state FROM roaring64_rollup_stats('present');
SELECT key, surplus FROM roaring64_rollup_verify('present');
CALL roaring64_rollup_fold('present');
SELECT state FROM roaring64_rollup_stats('present');
DELETE FROM events;
CALL compare(:'events_query', :'events_target', 'event_sets');
CALL compare(:'present_query', :'present_target', 'present');

-- 5. Soft deletes
CREATE TABLE follows (follower int, followed int, deleted_at timestamptz, PRIMARY KEY (follower, followed));
INSERT INTO follows SELECT a, b, CASE WHEN (a * b) % 5 = 0 THEN now() END FROM generate_series(1, 25) a, generate_series(1, 40) b;
CALL roaring64_rollup_create('follows', 'followed_by', '{followed}', 'follower', '{"live": "deleted_at IS NULL"}');
UPDATE follows SET deleted_at = now() WHERE follower < 4;
UPDATE follows SET deleted_at = NULL WHERE follower > 20;
CALL compare('SELECT followed, array_agg(follower::bigint ORDER BY follower) FROM follows WHERE deleted_at IS NULL GROUP BY 1',
	'SELECT followed, live::bigint[] FROM followed_by_now WHERE NOT roaring64_is_empty(live)', 'followed_by');

-- 6. A status: an enum, and text and a field of a composite type beside it
CREATE TYPE status AS ENUM ('new', 'seen', 'done');
CREATE TYPE parcel AS (status text, weight int);
CREATE TABLE jobs (queue text, id bigint GENERATED ALWAYS AS IDENTITY, status status NOT NULL DEFAULT 'new', note text, box parcel, PRIMARY KEY (queue, id));
INSERT INTO jobs (queue, status, note, box) SELECT 'q' || i % 4, (ARRAY['new', 'seen', 'done'])[i % 3 + 1]::status, i % 2, ('', i % 6)::parcel FROM generate_series(1, 300) i;
CALL roaring64_rollup_create('jobs', 'job_sets', '{queue}', 'id', '{"new": "status = ''new''", "seen": "status >= ''seen''", "odd": "note LIKE ''1%''", "heavy": "(box).weight > 3"}');
UPDATE jobs SET status = 'done' WHERE id % 7 = 0;
UPDATE jobs SET note = NULL, box.weight = 9 WHERE id % 9 = 0;
CALL compare('SELECT queue, coalesce(array_agg(id ORDER BY id) FILTER (WHERE status = ''new''), ''{}''), coalesce(array_agg(id ORDER BY id) FILTER (WHERE status >= ''seen''), ''{}''), coalesce(array_agg(id ORDER BY id) FILTER (WHERE note LIKE ''1%''), ''{}''), coalesce(array_agg(id ORDER BY id) FILTER (WHERE (box).weight > 3), ''{}'') FROM jobs GROUP BY 1',
	'SELECT queue, new::bigint[], seen::bigint[], odd::bigint[], heavy::bigint[] FROM job_sets_now', 'job_sets');

-- 7. Keys of uuid and text, mixed case, quotes, braces, columns called ids, n, key
CREATE TABLE "Mixed {Case}" (ids uuid, n text COLLATE "C", "key" int NOT NULL, "is""{Read}" boolean, PRIMARY KEY (ids, n, "key"));
INSERT INTO "Mixed {Case}" SELECT md5((i % 5)::text)::uuid, chr(65 + i % 3), i, i % 2 = 0 FROM generate_series(1, 200) i;
CALL roaring64_rollup_create('"Mixed {Case}"', '"Mixed Target"', '{ids,n}', 'key', '{"a1": true, "r1": "\"is\"\"{Read}\""}');
UPDATE "Mixed {Case}" SET "is""{Read}" = NULL WHERE "key" < 50;
DELETE FROM "Mixed {Case}" WHERE "key" % 10 = 0;
CALL compare('SELECT ids, n, array_agg("key"::bigint ORDER BY "key"), array_agg("key"::bigint ORDER BY "key") FILTER (WHERE "is""{Read}") FROM "Mixed {Case}" GROUP BY 1, 2',
	'SELECT ids, n, a1::bigint[], nullif(r1::bigint[], ''{}'') FROM "Mixed Target_now" WHERE NOT roaring64_is_empty(a1)', '"Mixed Target"');

-- 8. Names of 63 bytes, and of 54 for the target, which are not cut
CREATE TABLE a23456789012345678901234567890123456789012345678901234567890abc (k smallint, b23456789012345678901234567890123456789012345678901234567890abc smallint,
	PRIMARY KEY (k, b23456789012345678901234567890123456789012345678901234567890abc));
INSERT INTO a23456789012345678901234567890123456789012345678901234567890abc SELECT i % 3, i FROM generate_series(1, 30) i;
CALL roaring64_rollup_create('a23456789012345678901234567890123456789012345678901234567890abc', 't23456789012345678901234567890123456789012345678901234',
	'{k}', 'b23456789012345678901234567890123456789012345678901234567890abc', '{"s23456789012345678901234567890123456789012345678901234567890abc": true}');
DELETE FROM a23456789012345678901234567890123456789012345678901234567890abc WHERE k = 1;
SELECT count(*) FROM roaring64_rollup_verify('t23456789012345678901234567890123456789012345678901234');
SELECT roaring64_rollup_detach('t23456789012345678901234567890123456789012345678901234');
CREATE TABLE cut (k int, id int, PRIMARY KEY (k, id));
CREATE TABLE rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr ();
CALL roaring64_rollup_create('cut', repeat('r', 56) || '2', '{k}', 'id', '{"ids": true}');
CALL roaring64_rollup_create('cut', repeat('r', 54), '{k}', 'id', '{"ids": true}');
CALL roaring64_rollup_fold(repeat('r', 57)::regclass);
SELECT roaring64_rollup_drop(repeat('r', 57));
SELECT roaring64_rollup_drop(repeat('r', 55));
SELECT roaring64_rollup_drop(repeat('r', 54));
DROP TABLE rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr;

-- 9. A key and a period, in UTC for everybody
CREATE TABLE visits (site int, page int, at timestamptz NOT NULL, paid boolean GENERATED ALWAYS AS (page % 2 = 0) STORED, PRIMARY KEY (site, page, at));
INSERT INTO visits SELECT i % 3, i % 50, '2026-01-31 12:00+00'::timestamptz + i * interval '1 hour' FROM generate_series(1, 100) i;
CALL roaring64_rollup_create('visits', 'visit_days', '{site}', 'page', '{"pages": true, "paid": "paid"}', period_column => 'at', period => 'day');
SET timezone = 'America/Los_Angeles';
UPDATE visits SET at = at + interval '2 hours' WHERE page < 10;
DELETE FROM visits WHERE page BETWEEN 20 AND 22 AND site = 1;
SET timezone = 'Asia/Tokyo';
INSERT INTO visits VALUES (1, 1, '2026-02-01 23:59:59+00'), (1, 1, '2026-02-02 00:00+00');
CALL compare('SELECT site, (at AT TIME ZONE ''UTC'')::date, array_agg(DISTINCT page::bigint ORDER BY page::bigint), array_agg(DISTINCT page::bigint ORDER BY page::bigint) FILTER (WHERE paid) FROM visits GROUP BY 1, 2',
	'SELECT site, at, pages::bigint[], nullif(paid::bigint[], ''{}'') FROM visit_days_now WHERE NOT roaring64_is_empty(pages)', 'visit_days');
-- and a period alone
CALL roaring64_rollup_create('visits', 'page_months', '{}', 'page', '{"pages": true}', period_column => 'at');
CREATE INDEX ON visits (date_trunc('month', at AT TIME ZONE 'UTC'), page);
CALL roaring64_rollup_create('visits', 'page_months', '{}', 'page', '{"pages": true}', period_column => 'at');
CREATE INDEX ON visits (page);
CALL roaring64_rollup_create('visits', 'page_months', '{}', 'page', '{"pages": true}', period_column => 'at');
INSERT INTO visits SELECT 0, i, '2026-03-31 23:30:00-01'::timestamptz - i * interval '1 hour' FROM generate_series(1, 5) i;
UPDATE visits SET at = at + interval '27 days' WHERE page < 5;
DELETE FROM visits WHERE page = 6;
CALL compare('SELECT date_trunc(''month'', at AT TIME ZONE ''UTC'')::date, array_agg(DISTINCT page::bigint ORDER BY page::bigint) FROM visits GROUP BY 1',
	'SELECT at, pages::bigint[] FROM page_months_now WHERE NOT roaring64_is_empty(pages)', 'page_months');
SELECT at, roaring64_cardinality(pages) FROM page_months ORDER BY at;
SELECT roaring64_rollup_drop('page_months');
CALL roaring64_rollup_create('visits', 'nothing', '{}', 'page', '{"pages": true}');

-- functions that match rows better than a rollup's own, and tables with names like a
-- rollup's, of others who may create in the schema
CREATE ROLE regress_roaring64_creator;
CREATE TABLE trapped (k int, id bigint, PRIMARY KEY (k, id));
CALL roaring64_rollup_create('trapped', 'caught', '{k}', 'id', '{"ids": true}');
CREATE FUNCTION caught_facts(source_row record) RETURNS SETOF caught_rows LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'a trap'; END $$;
CREATE FUNCTION caught_facts(source_row anyelement) RETURNS SETOF caught_rows LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'a trap'; END $$;
CREATE FUNCTION caught_facts(trapped) RETURNS SETOF caught_rows LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'a trap'; END $$;
ALTER FUNCTION caught_facts(record) OWNER TO regress_roaring64_creator;
ALTER FUNCTION caught_facts(anyelement) OWNER TO regress_roaring64_creator;
ALTER FUNCTION caught_facts(trapped) OWNER TO regress_roaring64_creator;
CREATE TABLE caught_keys (mine int);
INSERT INTO trapped VALUES (1, 1), (1, 2);
SELECT * FROM caught_now;
DROP OWNED BY regress_roaring64_creator;
SELECT roaring64_rollup_drop('caught');
SELECT relname FROM pg_class WHERE relnamespace = 'rollup'::regnamespace AND relname ~ '^caught' ORDER BY 1;
DROP ROLE regress_roaring64_creator;
DROP TABLE trapped, caught_keys;

-- 10. No unique key at all: a log, with an index
CREATE TABLE clicks (who int NOT NULL, what int NOT NULL);
CREATE INDEX ON clicks (who, what);
INSERT INTO clicks SELECT i % 4, i % 60 FROM generate_series(1, 480) i;
CALL roaring64_rollup_create('clicks', 'clicked', '{who}', 'what', '{"what": true}');
DELETE FROM clicks WHERE ctid IN (SELECT min(ctid) FROM clicks WHERE what < 30 GROUP BY who, what);
DELETE FROM clicks WHERE what BETWEEN 10 AND 15;
CALL compare('SELECT who, array_agg(DISTINCT what::bigint ORDER BY what::bigint) FROM clicks GROUP BY 1',
	'SELECT who, what::bigint[] FROM clicked_now', 'clicked');

-- 11. Refused, with all that is wrong; nothing is left
CREATE UNLOGGED TABLE bad (k int NOT NULL, id uuid, flag boolean, at timestamptz, other json NOT NULL);
\set VERBOSITY default
CALL roaring64_rollup_create('bad', 'target', '{k,other,gone}', 'id',
	'{"flag": "flag AND gone", "k": true, "late": "at < now()", "many": "(SELECT count(*) > 1 FROM follows)", "n": 5}',
	period_column => 'k', period => 'decade');
-- and else what the server says first
CREATE TABLE better (k int, id int, flag boolean, at timestamptz, other json NOT NULL, PRIMARY KEY (k, id));
CREATE TABLE target_rollup ();
SELECT format('CALL roaring64_rollup_create(%L, %L, %L, %L, %L)', 'better', v.target, v.keys, 'id', v.sets)
FROM (VALUES
	('target', '{k}', '{"ids": true}'), ('here', '{k,gone}', '{"ids": true}'), ('here', '{k,other}', '{"ids": true}'),
	('here', '{k}', '{"flag": "flag AND gone"}'), ('here', '{k}', '{"late": "at < now()"}'), ('here', '{k}', '{"k": true}'),
	('here', '{k}', '{"many": "EXISTS (SELECT FROM follows)"}'), ('here', '{k}', '{"sum": "sum(k) > 1"}'), ('here', '{k}', '{"n": 5}'),
	('here', '{k}', '{"xmin": true}'), ('here', '{k,xmin}', '{"ids": true}'), ('here', '{k,NULL}', '{"ids": true}'), ('here', '{k}', '[]')) AS v (target, keys, sets)
\set VERBOSITY terse
\gexec
\set VERBOSITY default
CALL roaring64_rollup_create('better', 'target', '{k}', 'id', '{"ids": true}');
CALL roaring64_rollup_create('better', 'here', '{k,key,k}', 'ids', '["ids"]', period_column => 'when');
SELECT relname FROM pg_class WHERE relname ~ '^(target|here|there)' AND relnamespace = 'rollup'::regnamespace;
DROP TABLE target_rollup;
CREATE VIEW a_view AS SELECT * FROM follows;
CALL roaring64_rollup_create('a_view', 'target', '{}', 'follower', '{"live": true}');
CALL roaring64_rollup_create('events_2026_01', 'target', '{user_id}', 'event_id', '{"all": true}');
CALL roaring64_rollup_create('follows', 'followed_by', '{followed}', 'follower', '{"other": true}');

-- 12. Refused by its condition
CREATE TABLE posts (author int, id int, liked boolean NOT NULL, body text CHECK (body <> ''), size int GENERATED ALWAYS AS (length(body)) STORED, PRIMARY KEY (author, id));
SET client_min_messages = notice;
CALL roaring64_rollup_create('posts', 'post_sets', '{author}', 'id', '{"liked": "none"}');
SELECT to_regclass('post_sets');

--
-- Readers, writers, finish
--
CREATE TABLE facts (k int, id bigint, mark boolean NOT NULL, note int, PRIMARY KEY (k, id));
INSERT INTO facts SELECT i % 5, i, i % 2 = 0 FROM generate_series(1, 1000) i;
SET client_min_messages = warning;
CALL roaring64_rollup_create('facts', 'sets', '{k}', 'id', '{"all": true, "mark": "mark"}');
-- what was written to the sets stays, but for the ids that are looked up
UPDATE sets SET mark = mark - 2::bigint, "all" = "all" | 5000::bigint WHERE k = 2;
UPDATE facts SET note = 1;
UPDATE facts SET note = 2 WHERE k = 2 AND id = 2;
UPDATE facts SET mark = NOT mark WHERE k = 2 AND id = 7;
SELECT * FROM sets_pending;
CALL roaring64_rollup_fold('sets');
SELECT mark @> 2::bigint AS undone, "all" @> 5000::bigint AS kept, mark @> 7::bigint AS carried FROM sets WHERE k = 2;
UPDATE facts SET mark = NOT mark WHERE k = 2 AND id = 2;
CALL roaring64_rollup_fold('sets');
SELECT mark @> 2::bigint AS mark FROM sets WHERE k = 2;
UPDATE sets SET "all" = "all" - 5000::bigint WHERE k = 2;
SELECT count(*) FROM roaring64_rollup_verify('sets');
-- TRUNCATE is refused, and who drops the target is told what to do
TRUNCATE facts;
DROP TABLE sets;
INSERT INTO facts VALUES (-1, 1, true);
CALL roaring64_rollup_create('facts', 'sets');
SELECT roaring64_rollup_drop('rollup.sets');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'facts'::regclass;
SELECT count(*) FROM pg_class WHERE relname ~ '^sets' AND relnamespace = 'rollup'::regnamespace;
SELECT count(*) FROM pg_proc WHERE proname ~ '^sets' AND pronamespace = 'rollup'::regnamespace;
SELECT roaring64_rollup_drop('sets');
-- a transaction block
BEGIN;
CALL roaring64_rollup_create('facts', 'sets', '{k}', 'id', '{"all": true}');
ROLLBACK;

-- Nobody's table is locked before it is known to be the caller's
CREATE ROLE regress_rollup_eve;
GRANT CREATE, USAGE ON SCHEMA rollup TO regress_rollup_eve;
CALL roaring64_rollup_create('facts', 'sets', '{k}', 'id', '{"all": true}');
SET ROLE regress_rollup_eve;
CREATE TABLE x (k int);
CREATE TABLE x_rollup (source text, state text);
INSERT INTO x_rollup VALUES ('rollup.facts', 'following');
BEGIN;
SELECT roaring64_rollup_detach('x');
SELECT roaring64_rollup_detach('sets');
ROLLBACK;
SELECT roaring64_rollup_drop('sets');
CALL roaring64_rollup_create('facts', 'others', '{k}', 'id', '{"all": true}');
SELECT * FROM roaring64_rollup_verify('sets');
RESET ROLE;
-- a writer who had no right to write when the rollup was made is told what is missing
GRANT INSERT, DELETE, SELECT ON facts TO regress_rollup_eve;
SET ROLE regress_rollup_eve;
INSERT INTO facts VALUES (8, 8, true);
RESET ROLE;
GRANT INSERT ON rollup.sets_pending TO regress_rollup_eve;
SET ROLE regress_rollup_eve;
INSERT INTO facts VALUES (8, 8, true);
-- what it appends for nothing changes nothing
INSERT INTO sets_pending VALUES (8, 9), (77, 1);
RESET ROLE;
SELECT * FROM sets_now WHERE k IN (8, 77);
CALL roaring64_rollup_fold('sets');
SELECT * FROM sets WHERE k IN (8, 77);
-- and one who had is not, by a column, a partition, or a foreign key
CREATE ROLE regress_rollup_adam;
CREATE TABLE letter (id int PRIMARY KEY);
CREATE TABLE box (k int NOT NULL, id int REFERENCES letter ON DELETE CASCADE, part int, PRIMARY KEY (part, k, id)) PARTITION BY LIST (part);
CREATE TABLE box_1 PARTITION OF box FOR VALUES IN (1);
CREATE INDEX ON box (k, id);
GRANT USAGE ON SCHEMA rollup TO regress_rollup_adam;
GRANT UPDATE (k), SELECT ON box TO PUBLIC;
GRANT INSERT ON box_1 TO regress_rollup_adam;
GRANT SELECT, INSERT, DELETE ON letter TO regress_rollup_eve;
CALL roaring64_rollup_create('box', 'boxes', '{k}', 'id', '{"ids": true}');
SELECT grantee::regrole, privilege_type FROM pg_class, aclexplode(relacl) WHERE oid = 'boxes_pending'::regclass AND grantee <> relowner ORDER BY grantee::regrole::text;
SELECT roaring64_rollup_drop('boxes');
REVOKE ALL ON box FROM PUBLIC;
CALL roaring64_rollup_create('box', 'boxes', '{k}', 'id', '{"ids": true}');
INSERT INTO letter VALUES (1), (2);
SET ROLE regress_rollup_adam;
INSERT INTO box_1 VALUES (5, 1, 1), (5, 2, 1);
SET ROLE regress_rollup_eve;
DELETE FROM letter WHERE id = 1;
RESET ROLE;
SELECT * FROM boxes_now;
DROP OWNED BY regress_rollup_adam;
DROP ROLE regress_rollup_adam;

-- A table that Citus has is refused, a local one too: it says so in a catalog
BEGIN;
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char");
INSERT INTO pg_dist_partition VALUES ('posts', 'n');
SELECT reason FROM _roaring64_rollup_check('posts', 'x', '{"key_columns": ["author"], "id_column": "id", "sets": {"ids": true}, "deletes": "follow"}');
ROLLBACK;

-- What is published has to have a key: these tables are all published
SET client_min_messages = error;
CREATE PUBLICATION regress_rollup_all FOR ALL TABLES;

-- Names with %
CREATE SCHEMA "50% off %s";
SET search_path = "50% off %s", public;
CREATE TABLE "a%s" ("k%1$s" text, "id%" int, "%I" int, PRIMARY KEY ("k%1$s", "id%", "%I"));
INSERT INTO "a%s" SELECT i % 3 || '%', i, i FROM generate_series(1, 30) i;
CALL roaring64_rollup_create('"a%s"', '"t%L"', '{k%1$s}', 'id%', '{"s%s": true, "%%": "\"%I\" % 2 = 0"}');
DELETE FROM "a%s" WHERE "id%" < 10;
INSERT INTO "a%s" VALUES ('%', 100, 100);
SELECT sum(roaring64_cardinality("s%s")) AS all, sum(roaring64_cardinality("%%")) AS even FROM "t%L_now";
SELECT * FROM roaring64_rollup_verify('"t%L"');
SELECT roaring64_rollup_detach('"t%L"');
SET search_path = rollup, public;
DROP SCHEMA "50% off %s" CASCADE;
DROP PUBLICATION regress_rollup_all;
DROP SCHEMA rollup CASCADE;
DROP ROLE regress_rollup_eve;
