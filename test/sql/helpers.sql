--
-- The list of all tables of helpers: each kind, with what waits and since when; and
-- what happens to it when they are renamed, moved, copied, partitioned or dropped.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
RESET client_min_messages;
CREATE SCHEMA listed;
SET search_path = listed, public;

-- others' tables may be there
CREATE VIEW list AS
SELECT kind, name, size > 0 AS sized, waiting, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS since
FROM roaring64_helpers() WHERE name::text ~ '^(listed|pg_temp|"50%)' OR name IN (SELECT oid FROM pg_class WHERE relnamespace = 'listed'::regnamespace);
SELECT roaring64_dedup_create('seen'), roaring64_delay_create('later'), roaring64_numbers_create('amounts');
CREATE TABLE other (key text, weight integer, ids roaring64);
TABLE list;
SELECT roaring64_dedup_claim('seen', 'k', i) FROM generate_series(1::bigint, 3) AS i;
UPDATE seen_claims SET claimed_at = '2026-01-01 00:00:00+00' WHERE id = 2;
SELECT roaring64_delay_add_many('later', '{1,1,1}', '{1,2,3}', ARRAY['2026-01-01 00:00:07+00', '2026-01-02 00:00:00+00', 'infinity']::timestamptz[]);
TABLE list;
CALL roaring64_dedup_fold('seen');
SELECT count(*) FROM roaring64_delay_take('later', '2026-01-01 00:00:07+00');
TABLE list;

-- all that the tables of a set take
SELECT size = pg_total_relation_size('seen') + pg_total_relation_size('seen_claims') + pg_total_relation_size('seen_chunks') + pg_total_relation_size('seen_windows') AS whole
FROM roaring64_helpers() WHERE name = 'seen'::regclass;

-- renamed, moved, copied; partitioned, with what is in the partitions
CREATE SCHEMA "50% of it's";
ALTER TABLE later RENAME TO "la%1$ster";
ALTER TABLE "la%1$ster" SET SCHEMA "50% of it's";
ALTER TABLE amounts RENAME TO "x y";
CREATE TABLE copied (LIKE "50% of it's"."la%1$ster" INCLUDING ALL);
CREATE TABLE parted (LIKE copied INCLUDING CONSTRAINTS INCLUDING INDEXES) PARTITION BY RANGE (bucket);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
SELECT roaring64_delay_add('parted', 1, 1, '1970-01-01 00:00:00+00');
SELECT roaring64_dedup_create('"50% of it''s"."a''b%s"');
TABLE list;

-- who may not read a table is not told what waits in it
CREATE ROLE regress_roaring64_watcher;
GRANT USAGE ON SCHEMA listed, "50% of it's" TO regress_roaring64_watcher;
GRANT SELECT ON list, seen TO regress_roaring64_watcher;
SET ROLE regress_roaring64_watcher;
SELECT kind, name, size > 0 AS sized, waiting FROM roaring64_helpers() WHERE name IN ('seen'::regclass, 'parted'::regclass);
RESET ROLE;

-- what an owner has attached to a table does not run as whoever lists it: functions
-- of an index's condition, a policy, a view, a cast; in a dedup set, and a rollup
CREATE ROLE regress_roaring64_owner;
CREATE SCHEMA AUTHORIZATION regress_roaring64_owner;
GRANT USAGE ON SCHEMA listed TO regress_roaring64_owner;
SET ROLE regress_roaring64_owner;
SET search_path = regress_roaring64_owner, public;
CREATE FUNCTION trap(integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'regress_roaring64_owner' THEN
		RAISE WARNING 'a trap runs as %', current_user;
	END IF;
	RETURN true;
END $$;
SELECT roaring64_dedup_create('theirs'), roaring64_dedup_create('viewed'), roaring64_delay_create('due');
CREATE INDEX ON theirs (claims) WHERE trap(1);
CREATE INDEX ON theirs_claims (id) WHERE trap(1);
ALTER TABLE theirs_claims ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON theirs_claims USING (trap(1));
ALTER TABLE viewed_claims RENAME TO old;
CREATE VIEW viewed_claims AS SELECT 'k'::text AS key, 1::bigint AS id, now() AS claimed_at WHERE trap(2);
CREATE INDEX ON due (bucket) WHERE trap(3);
CREATE TABLE x_rollup (meaning text[], given json, copied jsonb);
CREATE TABLE x ();
CREATE VIEW x_pending AS SELECT 1 WHERE trap(4);
SELECT roaring64_dedup_claim('theirs', 'k', 1);
CREATE VIEW listed_here AS SELECT kind, name, size > 0 AS sized, waiting FROM roaring64_helpers()
WHERE name IN (SELECT oid FROM pg_class WHERE relnamespace = 'regress_roaring64_owner'::regnamespace) ORDER BY kind, name::text;
GRANT USAGE ON SCHEMA regress_roaring64_owner TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA regress_roaring64_owner TO PUBLIC;
TABLE listed_here;
RESET ROLE;
TABLE listed_here;
SET ROLE regress_roaring64_watcher;
TABLE listed_here;
RESET ROLE;
-- nor in a table of one's own in a schema that is theirs, who can put another one there
GRANT CREATE ON SCHEMA regress_roaring64_owner, listed TO regress_roaring64_watcher;
SET ROLE regress_roaring64_watcher;
SELECT roaring64_delay_create('regress_roaring64_owner.in_theirs'), roaring64_delay_create('listed.in_trusted');
SELECT name, waiting FROM roaring64_helpers() WHERE name::text ~ 'in_theirs|in_trusted' ORDER BY name::text;
SELECT roaring64_delay_drop('regress_roaring64_owner.in_theirs'), roaring64_delay_drop('listed.in_trusted');
RESET ROLE;
-- nor in a partition of one's own table, or of a table in a schema that is theirs
CREATE TABLE listed.mixed (LIKE regress_roaring64_owner.due INCLUDING CONSTRAINTS) PARTITION BY RANGE (bucket);
CREATE TABLE listed.mixed_1 PARTITION OF listed.mixed DEFAULT;
CREATE TABLE regress_roaring64_owner.swapped (LIKE regress_roaring64_owner.due INCLUDING CONSTRAINTS);
SELECT name, waiting FROM roaring64_helpers() WHERE name::text ~ 'mixed|swapped' ORDER BY name::text;
ALTER TABLE listed.mixed_1 OWNER TO regress_roaring64_owner;
GRANT CREATE ON SCHEMA listed TO regress_roaring64_owner;
SET ROLE regress_roaring64_owner;
CREATE INDEX ON listed.mixed_1 (bucket) WHERE regress_roaring64_owner.trap(5);
RESET ROLE;
SELECT name, waiting FROM roaring64_helpers() WHERE name::text ~ 'mixed' ORDER BY name::text;
SET quote_all_identifiers = on;
SELECT count(*) > 5 AS many FROM roaring64_helpers();
RESET quote_all_identifiers;
DROP TABLE listed.mixed, regress_roaring64_owner.swapped;
SET search_path = listed, public;
SET client_min_messages = warning;
DROP OWNED BY regress_roaring64_owner CASCADE;
DROP ROLE regress_roaring64_owner;
RESET client_min_messages;
DROP OWNED BY regress_roaring64_watcher;
DROP ROLE regress_roaring64_watcher;

-- a rollup, and what it has not merged
CREATE TABLE facts (who int NOT NULL, id bigint NOT NULL, PRIMARY KEY (who, id));
INSERT INTO facts VALUES (1, 1), (1, 2);
SET client_min_messages = warning;
CALL roaring64_rollup_create('facts', 'who_has', '{who}', 'id', '{"ids": "true"}');
CALL roaring64_rollup_create('facts', 'who_had', '{who}', 'id', '{"ids": "true"}', deletes => 'keep');
RESET client_min_messages;
INSERT INTO facts VALUES (2, 1), (2, 2), (3, 3);
SELECT kind, name, sized, waiting FROM list WHERE kind = 'rollup';
CALL roaring64_rollup_fold('who_has');
SELECT kind, name, sized, waiting FROM list WHERE kind = 'rollup';
SELECT roaring64_rollup_drop('who_has');
SELECT roaring64_rollup_drop('who_had');
DROP TABLE facts;

-- what is none of them, or cannot be looked into, does not hide the others
CREATE TABLE forged (claims text, chunks text, windows text, id_type text);
INSERT INTO forged VALUES ('nowhere', 'seen_chunks', 'seen_windows', 'bigint');
CREATE DOMAIN "roaring64" AS bytea;
CREATE TABLE domains (key text, weight bigint, ids listed.roaring64);
TABLE list;
INSERT INTO forged VALUES ('seen_chunks', 'seen_chunks', 'seen_windows', 'bigint');
TABLE list;
DELETE FROM forged WHERE claims = 'nowhere';
TABLE list;
DROP TABLE forged, domains;

-- gone
SELECT roaring64_dedup_drop('seen');
DROP TABLE copied, parted, "x y";
TABLE list;
SET client_min_messages = warning;
DROP SCHEMA listed, "50% of it's" CASCADE;
