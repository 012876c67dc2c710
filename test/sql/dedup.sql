--
-- The dedup helper: what every function answers and refuses.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
CREATE SCHEMA dedup;
SET search_path = dedup, public;
\set SHOW_CONTEXT never

-- a set is four tables
SELECT roaring64_dedup_create('jobs');
SELECT relname FROM pg_class WHERE relnamespace = 'dedup'::regnamespace AND relkind = 'r' ORDER BY relname;
SELECT * FROM jobs;

-- an id is new once, for each key
SELECT roaring64_dedup_claim('jobs', 'a', 1), roaring64_dedup_claim('jobs', 'a', 1), roaring64_dedup_claim('jobs', 'b', 1);
-- also within one statement
SELECT i, roaring64_dedup_claim('jobs', 'a', i % 3) FROM generate_series(1, 6) AS i;
-- a batch: what is new, in its order, each once
SELECT roaring64_dedup_claim('jobs', 'a', ARRAY[9, 5, 1, 9, -4, 5, 9223372036854775807, (-9223372036854775808)::bigint]);
SELECT roaring64_dedup_claim('jobs', 'a', ARRAY[5, 6, 9]), roaring64_dedup_claim('jobs', 'a', ARRAY[5, 6, 9]);
SELECT roaring64_dedup_claim('jobs', 'a', '{{7,8},{7,5}}'::bigint[]);
SELECT roaring64_dedup_count('jobs', 'a'), roaring64_dedup_export('jobs', 'a');

-- fold changes no answer
CALL roaring64_dedup_fold('jobs');
SELECT count(*) FROM jobs_claims;
SELECT key, generation, chunk, ids, members FROM jobs_chunks ORDER BY key, chunk;
SELECT roaring64_dedup_claim('jobs', 'a', i), roaring64_dedup_seen('jobs', 'a', i)
FROM unnest('{0,1,10,-4,9223372036854775807,-9223372036854775808}'::bigint[]) AS i;
SELECT roaring64_dedup_claim('jobs', 'a', ARRAY[11, 10, 9, 8]);
SELECT roaring64_dedup_seen('jobs', 'a', ARRAY[11, 12, 8, 11]), roaring64_dedup_seen('jobs', 'nobody', ARRAY[1]);
SELECT roaring64_dedup_count('jobs', 'a'), roaring64_dedup_export('jobs', 'a');
SELECT roaring64_dedup_is_empty('jobs', 'a'), roaring64_dedup_is_empty('jobs', 'nobody'),
	   roaring64_dedup_count('jobs', 'nobody'), roaring64_dedup_export('jobs', 'nobody');

-- forget: claimed or folded, the id is new again
SELECT roaring64_dedup_forget('jobs', 'a', 10), roaring64_dedup_forget('jobs', 'a', 1), roaring64_dedup_forget('jobs', 'a', 1);
SELECT roaring64_dedup_forget('jobs', 'a', ARRAY[11, 5, 5, 777, 9223372036854775807]);
SELECT roaring64_dedup_claim('jobs', 'a', ARRAY[1, 2, 5, 10, 11]);
-- a chunk without ids is gone
SELECT roaring64_dedup_forget('jobs', 'b', 1);
SELECT roaring64_dedup_is_empty('jobs', 'b'), (SELECT count(*) FROM jobs_chunks WHERE key = 'b');

-- in bulk, and from a set
SELECT roaring64_dedup_claim_bulk('jobs', 'a', ARRAY[100, 2, 101, 100, 5]);
SELECT roaring64_dedup_load('jobs', 'c', '{-1,1,3}'), roaring64_dedup_load('jobs', 'c', '{-1,1,2,5000000000}');
SELECT roaring64_dedup_claim('jobs', 'c', 2), roaring64_dedup_claim('jobs', 'c', 4);
SELECT roaring64_dedup_load('jobs', 'c', '{4,5}');
SELECT roaring64_dedup_export('jobs', 'c');

-- as a set in chunks
SELECT roaring64_dedup_add('jobs', 'd', 1), roaring64_dedup_add('jobs', 'd', 1), roaring64_dedup_add('jobs', 'd', ARRAY[1, 2, -3, 2]);
SELECT roaring64_dedup_seen('jobs', 'd', 2), roaring64_dedup_count('jobs', 'd'), roaring64_dedup_forget('jobs', 'd', 2);
SELECT roaring64_dedup_seen('jobs', 'd', 2), roaring64_dedup_export('jobs', 'd');

-- what there is
CALL roaring64_dedup_fold('jobs');
SELECT roaring64_dedup_claim('jobs', 'e', 1);
SELECT keys, claims, chunks, ids, bytes > 0 AS bytes, bytes_per_id = bytes / ids::float8 AS per_id, oldest_generation, oldest_claim <= clock_timestamp() AS oldest
FROM roaring64_dedup_stats('jobs');

--
-- All or nothing
--
BEGIN;
SELECT roaring64_dedup_claim('jobs', 'tx', 1);
SAVEPOINT s;
SELECT roaring64_dedup_claim('jobs', 'tx', 2), roaring64_dedup_claim('jobs', 'tx', 1);
ROLLBACK TO s;
SELECT roaring64_dedup_claim('jobs', 'tx', 2);
ROLLBACK TO s;
DO $$
BEGIN
	PERFORM roaring64_dedup_claim('jobs', 'tx', 3);
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
	IF NOT roaring64_dedup_claim('jobs', 'tx', 4) THEN RAISE 'not new'; END IF;
END $$;
COMMIT;
SELECT roaring64_dedup_export('jobs', 'tx');
BEGIN;
SELECT roaring64_dedup_claim('jobs', 'tx', 5), roaring64_dedup_claim_bulk('jobs', 'tx', ARRAY[6]), roaring64_dedup_forget('jobs', 'tx', 1);
CALL roaring64_dedup_fold('jobs');
ROLLBACK;
SELECT roaring64_dedup_export('jobs', 'tx');

-- a duplicate needs no transaction id and writes nothing, claimed or folded
SELECT roaring64_dedup_claim('jobs', 'tx', 9);
BEGIN;
SELECT roaring64_dedup_claim('jobs', 'tx', 9), roaring64_dedup_claim('jobs', 'a', 1),
	   roaring64_dedup_claim('jobs', 'tx', ARRAY[1, 9]);
SELECT pg_current_xact_id_if_assigned() IS NULL AS nothing_written;
COMMIT;

-- fold and rotate in a transaction block are part of it
BEGIN;
CALL roaring64_dedup_fold('jobs');
CALL roaring64_dedup_rotate('jobs');
SELECT count(*) FROM jobs_claims;
ROLLBACK;
SELECT count(*) > 0 AS claims FROM jobs_claims;
-- in a procedure, with commits
DO $$ BEGIN CALL public.roaring64_dedup_fold('dedup.jobs'); END $$;
SELECT count(*) FROM jobs_claims;

--
-- A window of so many ids: two halves, of which the older goes
--
SELECT roaring64_dedup_create('by_count', capacity => 1000);
SELECT count(*) FILTER (WHERE roaring64_dedup_claim('by_count', 'k', i)) FROM generate_series(1, 1500) AS i;
SELECT roaring64_dedup_count('by_count', 'k');
CALL roaring64_dedup_fold('by_count');
SELECT roaring64_dedup_export('by_count', 'k')::int8multirange;
SELECT generation, ids, forgotten FROM by_count_keys;
SELECT roaring64_dedup_claim('by_count', 'k', 1000), roaring64_dedup_claim('by_count', 'k', 1001);
-- the same in bulk and loaded, to the id
SELECT cardinality(roaring64_dedup_claim_bulk('by_count', 'bulk', array_agg(i))) FROM generate_series(1, 1499) AS i;
SELECT roaring64_dedup_export('by_count', 'bulk')::int8multirange;
SELECT roaring64_dedup_claim_bulk('by_count', 'bulk', ARRAY[1500, 1500, 1499]);
SELECT roaring64_dedup_export('by_count', 'bulk')::int8multirange;
SELECT roaring64_dedup_load('by_count', 'load', int8range(1, 1500)::roaring64);
SELECT roaring64_dedup_export('by_count', 'load')::int8multirange;
-- in the order of the claims, not of the ids
SELECT cardinality(roaring64_dedup_claim('by_count', 'down', array_agg(1501 - i ORDER BY i))) FROM generate_series(1, 1500) AS i;
CALL roaring64_dedup_fold('by_count');
SELECT roaring64_dedup_export('by_count', 'down')::int8multirange;
-- four generations of 250
SELECT roaring64_dedup_create('by_four', capacity => 1000, generations => 4);
SELECT cardinality(roaring64_dedup_claim_bulk('by_four', 'k', array_agg(i))) FROM generate_series(1, 1499) AS i;
SELECT roaring64_dedup_export('by_four', 'k')::int8multirange;
SELECT roaring64_dedup_alter('by_four', capacity => 500, generations => 2);
CALL roaring64_dedup_rotate('by_four');
SELECT roaring64_dedup_export('by_four', 'k')::int8multirange;
SELECT roaring64_dedup_add('by_four', 'k', 1);

--
-- A window of time.  What has happened when is made up.
--
SELECT roaring64_dedup_create('by_time', remember => '2 days', generations => 3);
CREATE FUNCTION hours_pass(hours integer) RETURNS void LANGUAGE sql AS
	'UPDATE by_time_keys SET started = started - make_interval(hours => hours);
	 UPDATE by_time_claims SET claimed_at = claimed_at - make_interval(hours => hours)';
SELECT roaring64_dedup_claim_bulk('by_time', 'k', ARRAY[1]);
SELECT hours_pass(23);
CALL roaring64_dedup_rotate('by_time');
SELECT roaring64_dedup_claim('by_time', 'k', 2), roaring64_dedup_claim('by_time', 'k', 1);
SELECT hours_pass(2);
CALL roaring64_dedup_fold('by_time');
SELECT generation, chunk, members FROM by_time_chunks ORDER BY generation;
SELECT hours_pass(24);
SELECT roaring64_dedup_claim('by_time', 'k', 3);
CALL roaring64_dedup_fold('by_time');
-- 71 hours after the first: what was current then goes when three have followed
SELECT hours_pass(22);
CALL roaring64_dedup_rotate('by_time');
SELECT roaring64_dedup_seen('by_time', 'k', ARRAY[1, 2, 3]);
SELECT roaring64_dedup_claim('by_time', 'k', 4);
SELECT hours_pass(2);
CALL roaring64_dedup_rotate('by_time');
SELECT roaring64_dedup_seen('by_time', 'k', ARRAY[1, 2, 3, 4]);
-- after a long silence all is past the window but what waits to be folded
SELECT hours_pass(10000);
CALL roaring64_dedup_rotate('by_time');
SELECT roaring64_dedup_seen('by_time', 'k', ARRAY[1, 2, 3, 4]);
SELECT started > now() - interval '1 day' AS fresh FROM by_time_keys;

--
-- Ids that ascend: one below what is forgotten is not new but too old to tell
--
SELECT roaring64_dedup_create('upward', capacity => 10, ascending => true);
SELECT roaring64_dedup_claim_bulk('upward', 'k', '{1,2,3,4,6,7,8,9,10,12,13}');
SELECT roaring64_dedup_export('upward', 'k');
SELECT i, roaring64_dedup_claim('upward', 'k', i), roaring64_dedup_seen('upward', 'k', i) FROM unnest('{4,5,6,7,11,14}'::bigint[]) AS i;
SELECT roaring64_dedup_claim('upward', 'k', ARRAY[5, 15, 6, 11, 12]), roaring64_dedup_seen('upward', 'k', ARRAY[5, 15, 6, 11, 12, 99]);
-- what to do with it is for the caller, but an IF does not take it for new
DO $$ BEGIN IF roaring64_dedup_claim('dedup.upward', 'k', 5) THEN RAISE 'new'; END IF; END $$;

--
-- Snowflake ids are folded in the chunks and nowhere else
--
SELECT roaring64_dedup_create('flakes', layout => 'snowflake');
CREATE VIEW ids AS SELECT ((1279929600000::bigint + i * 37) << 22) | (i % 4 << 12) | i % 3 AS id FROM generate_series(1, 1000) AS i;
SELECT cardinality(roaring64_dedup_claim('flakes', 'k', array_agg(id))) FROM ids;
CALL roaring64_dedup_fold('flakes');
SELECT count(*) AS chunks, sum(ids) AS ids FROM flakes_chunks;
SELECT roaring64_dedup_export('flakes', 'k') = (SELECT roaring64_agg(id) FROM ids) AS same;
SELECT count(*) FILTER (WHERE roaring64_dedup_claim('flakes', 'k', id)) AS new, count(*) FILTER (WHERE roaring64_dedup_seen('flakes', 'k', id)) AS seen FROM ids;
SELECT roaring64_dedup_claim('flakes', 'k', array_agg(id)) FROM ids;
SELECT roaring64_dedup_forget('flakes', 'k', array_agg(id)) FROM ids;
SELECT roaring64_dedup_is_empty('flakes', 'k');

--
-- A chunk so large, and out of line, that a look reads only parts of it
--
SELECT roaring64_dedup_create('large', chunk_bits => 24);
CREATE TABLE scattered AS SELECT DISTINCT hashint8(i)::bigint & 16777215 AS id FROM generate_series(1::bigint, 60000) AS i;
SELECT roaring64_dedup_load('large', 'k', roaring64_agg(id)) = count(*) AS loaded FROM scattered;
SELECT count(*), sum(pg_column_size(members)) BETWEEN 100000 AND 130000 AS large FROM large_chunks;
SELECT count(*) FILTER (WHERE roaring64_dedup_claim('large', 'k', id)) AS new, count(*) FILTER (WHERE roaring64_dedup_seen('large', 'k', id)) = count(*) AS seen FROM scattered;
SELECT count(*) FILTER (WHERE roaring64_dedup_seen('large', 'k', id)) AS wrong FROM (SELECT id + 1 AS id FROM scattered EXCEPT SELECT id FROM scattered) AS absent;

--
-- Fold now and then inside claims
--
SELECT roaring64_dedup_create('eager', fold_after => 1);
SELECT roaring64_dedup_claim('eager', 'k', 1), roaring64_dedup_claim('eager', 'k', ARRAY[1, 2]);
SELECT roaring64_dedup_claim('eager', 'k', 2), (SELECT count(*) FROM eager_claims) AS claims, roaring64_dedup_export('eager', 'k');
SELECT roaring64_dedup_alter('eager', fold_after => 0);
SELECT roaring64_dedup_claim('eager', 'k', 3), roaring64_dedup_claim('eager', 'k', 4);
SELECT id FROM eager_claims;

--
-- Renamed, moved, altered, dropped: what a session has prepared is thrown away
--
SELECT roaring64_dedup_create('old');
SELECT roaring64_dedup_claim('old', 'k', 1);
ALTER TABLE old RENAME TO new;
ALTER TABLE old_claims RENAME TO other;
SELECT roaring64_dedup_claim('new', 'k', ARRAY[1, 2]);
ALTER TABLE other RENAME TO "Quoted ""one""";
CREATE TABLE old_claims (key text, id bigint, claimed_at timestamptz);
SELECT roaring64_dedup_claim('new', 'k', 3), (SELECT count(*) FROM old_claims);
CREATE SCHEMA elsewhere;
ALTER TABLE old_chunks SET SCHEMA elsewhere;
CALL roaring64_dedup_fold('new');
SELECT roaring64_dedup_claim('new', 'k', 3), roaring64_dedup_claim('new', 'k', 4);
ALTER SCHEMA elsewhere RENAME TO "Else";
CALL roaring64_dedup_fold('new');
SELECT roaring64_dedup_claim('new', 'k', 4), roaring64_dedup_export('new', 'k');
ALTER TABLE "Else".old_chunks ADD COLUMN note text DEFAULT 'x';
SELECT roaring64_dedup_claim('new', 'k', 4), roaring64_dedup_claim('new', 'k', 5);
CALL roaring64_dedup_fold('new');
DROP TABLE "Else".old_chunks;
SELECT roaring64_dedup_claim('new', 'k', 4);
DROP TABLE new, old_keys, "Quoted ""one""", old_claims;
DROP SCHEMA "Else";
-- dropped and made again within a session
SELECT roaring64_dedup_create('again');
SELECT roaring64_dedup_claim('again', 'k', 1);
SELECT roaring64_dedup_drop('again');
SELECT roaring64_dedup_create('again');
SELECT roaring64_dedup_claim('again', 'k', 1);
-- made in a transaction that is rolled back
BEGIN;
SELECT roaring64_dedup_create('never');
SELECT roaring64_dedup_claim('never', 'k', 1);
ROLLBACK;
SELECT to_regclass('never');
BEGIN;
SELECT roaring64_dedup_alter('again', fold_after => 1);
SELECT roaring64_dedup_claim('again', 'k', 2), (SELECT count(*) FROM again_claims);
ROLLBACK;
SELECT roaring64_dedup_claim('again', 'k', 3), roaring64_dedup_claim('again', 'k', 4);
SELECT count(*) FROM again_claims;
-- the extension moves
ALTER EXTENSION roaring64 SET SCHEMA dedup;
SELECT dedup.roaring64_dedup_claim('again', 'k', 4), dedup.roaring64_dedup_claim('again', 'k', 5);
CALL dedup.roaring64_dedup_fold('again');
SELECT dedup.roaring64_dedup_export('again', 'k');
ALTER EXTENSION roaring64 SET SCHEMA public;
SELECT roaring64_dedup_export('again', 'k');

--
-- A search_path that would have other functions and operators
--
CREATE SCHEMA evil;
CREATE FUNCTION evil.wrong(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE FUNCTION evil.wrong(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.wrong);
CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.wrong);
CREATE OPERATOR evil.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.wrong);
CREATE FUNCTION evil.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'hijacked'; END $$;
CREATE DOMAIN evil.text AS integer;
CREATE DOMAIN evil.regclass AS integer;
SET search_path = evil, pg_catalog;
SELECT public.roaring64_dedup_create('dedup.safe', capacity => 10);
SELECT public.roaring64_dedup_claim('dedup.safe', 'k', 1), public.roaring64_dedup_claim('dedup.safe', 'k', ARRAY[1, 2, 3]),
	   public.roaring64_dedup_claim_bulk('dedup.safe', 'k', ARRAY[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
CALL public.roaring64_dedup_fold('dedup.safe');
CALL public.roaring64_dedup_rotate('dedup.safe');
SELECT public.roaring64_dedup_forget('dedup.safe', 'k', 13), public.roaring64_dedup_export('dedup.safe', 'k'),
	   public.roaring64_dedup_count('dedup.safe', 'k'), public.roaring64_dedup_is_empty('dedup.safe', 'k');
SELECT public.roaring64_dedup_alter('dedup.safe', generations => 3), ids FROM public.roaring64_dedup_stats('dedup.safe');
SET search_path = dedup, public;
SET client_min_messages = warning;
DROP SCHEMA evil CASCADE;
RESET client_min_messages;

--
-- Privileges are those of the tables
--
CREATE ROLE dedup_consumer;
CREATE ROLE dedup_reader;
GRANT USAGE ON SCHEMA dedup TO dedup_consumer, dedup_reader;
SET ROLE dedup_consumer;
SELECT roaring64_dedup_claim('jobs', 'p', 1);
RESET ROLE;
GRANT SELECT ON jobs, jobs_claims, jobs_chunks TO dedup_consumer, dedup_reader;
GRANT INSERT, DELETE ON jobs_claims TO dedup_consumer;
SET ROLE dedup_reader;
SELECT roaring64_dedup_seen('jobs', 'p', 1), roaring64_dedup_count('jobs', 'p');
SELECT roaring64_dedup_claim('jobs', 'p', 1);
SET ROLE dedup_consumer;
SELECT roaring64_dedup_claim('jobs', 'p', 1), roaring64_dedup_claim('jobs', 'p', ARRAY[1, 2]);
CALL roaring64_dedup_fold('jobs');
SELECT roaring64_dedup_alter('jobs', fold_after => 5);
SELECT roaring64_dedup_drop('jobs');
RESET ROLE;
REVOKE SELECT ON jobs_chunks FROM dedup_reader;
SET ROLE dedup_reader;
SELECT roaring64_dedup_seen('jobs', 'p', 1);
RESET ROLE;
-- row security holds, too: a claim that may not be read is an error, not new
ALTER TABLE jobs_claims ENABLE ROW LEVEL SECURITY;
SET ROLE dedup_consumer;
SELECT roaring64_dedup_claim('jobs', 'p', 77);
RESET ROLE;
ALTER TABLE jobs_claims DISABLE ROW LEVEL SECURITY;
DROP OWNED BY dedup_consumer, dedup_reader;
DROP ROLE dedup_consumer, dedup_reader;

--
-- Something of the user's in the way of our own rows: an error, no id is lost
--
RESET ROLE;
SELECT roaring64_dedup_create('kept');
SELECT roaring64_dedup_add('kept', 'k', ARRAY[1, 2]);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep BEFORE INSERT ON kept_chunks FOR EACH ROW EXECUTE FUNCTION keep();
SELECT roaring64_dedup_add('kept', 'k', 3000000);
SELECT roaring64_dedup_add('kept', 'k', 3);
CREATE TRIGGER keep_too BEFORE UPDATE OR DELETE ON kept_chunks FOR EACH ROW EXECUTE FUNCTION keep();
SELECT roaring64_dedup_add('kept', 'k', 4);
SELECT roaring64_dedup_forget('kept', 'k', 1);
SELECT roaring64_dedup_forget('kept', 'k', ARRAY[1, 2, 3]);
SELECT roaring64_dedup_add('kept', 'k', 3), roaring64_dedup_forget('kept', 'k', 5);
DROP TRIGGER keep ON kept_chunks;
DROP TRIGGER keep_too ON kept_chunks;
-- a trigger that writes the chunk itself: an error of the server
CREATE FUNCTION also() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF pg_trigger_depth() = 1 THEN
		PERFORM roaring64_dedup_add('kept', 'k', 77);
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER also BEFORE UPDATE ON kept_chunks FOR EACH ROW EXECUTE FUNCTION also();
SELECT roaring64_dedup_add('kept', 'k', 6);
DROP TRIGGER also ON kept_chunks;
SELECT roaring64_dedup_export('kept', 'k');
-- chunks in partitions, put in place by hand
ALTER TABLE kept_chunks RENAME TO kept_chunks_0;
ALTER TABLE kept_chunks_0 RENAME CONSTRAINT kept_chunks_pkey TO kept_chunks_0_pkey;
CREATE TABLE kept_chunks (LIKE kept_chunks_0, PRIMARY KEY (key, chunk, generation)) PARTITION BY HASH (chunk);
CREATE TABLE kept_chunks_1 PARTITION OF kept_chunks FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE kept_chunks_2 PARTITION OF kept_chunks FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO kept_chunks SELECT * FROM kept_chunks_0;
DROP TABLE kept_chunks_0;
UPDATE kept SET chunks = 'kept_chunks';
SELECT roaring64_dedup_add('kept', 'k', (i * 1000000)) FROM generate_series(1, 4) AS i;
SELECT roaring64_dedup_claim('kept', 'k', i) FROM unnest(ARRAY[1, 8, 2000000, 5000000]) AS i;
SELECT roaring64_dedup_forget('kept', 'k', ARRAY[2, 3000000]), roaring64_dedup_seen('kept', 'k', 3000000);
CALL roaring64_dedup_fold('kept');
SELECT roaring64_dedup_export('kept', 'k'), (SELECT count(DISTINCT tableoid) FROM kept_chunks);
SELECT roaring64_dedup_drop('kept');
-- chunks and claims in a child table
SELECT roaring64_dedup_create('parent');
SELECT roaring64_dedup_add('parent', 'k', 5), roaring64_dedup_claim('parent', 'k', 7000000);
CREATE TABLE chunks_child () INHERITS (parent_chunks);
CREATE TABLE claims_child () INHERITS (parent_claims);
WITH gone AS (DELETE FROM parent_chunks RETURNING *) INSERT INTO chunks_child SELECT * FROM gone;
WITH gone AS (DELETE FROM parent_claims RETURNING *) INSERT INTO claims_child SELECT * FROM gone;
SELECT roaring64_dedup_seen('parent', 'k', 5), roaring64_dedup_claim('parent', 'k', 5), roaring64_dedup_claim('parent', 'k', 7000000);
SELECT roaring64_dedup_add('parent', 'k', 6), roaring64_dedup_add('parent', 'k', 5);
SELECT roaring64_dedup_forget('parent', 'k', 5), roaring64_dedup_export('parent', 'k'), (SELECT count(*) FROM parent_chunks);
SELECT roaring64_dedup_export('parent', 'k');
DROP TABLE chunks_child, claims_child;
SELECT roaring64_dedup_drop('parent');

--
-- Refused
--
SELECT roaring64_dedup_claim('nothing', 'k', 1);
SELECT roaring64_dedup_claim(12::regclass, 'k', 1);
SELECT roaring64_dedup_claim('pg_class', 'k', 1);
SELECT roaring64_dedup_claim('jobs_claims', 'k', 1);
SELECT roaring64_dedup_claim(NULL::regclass, 'k', 1);
SELECT roaring64_dedup_claim('jobs', NULL, 1);
SELECT roaring64_dedup_claim('jobs', 'k', NULL::bigint);
SELECT roaring64_dedup_claim('jobs', 'k', NULL::bigint[]);
SELECT roaring64_dedup_claim('jobs', 'k', ARRAY[1, NULL]);
SELECT roaring64_dedup_claim('jobs', 'k', '{}'::bigint[]);
SELECT roaring64_dedup_seen('jobs', 'k', '{}'::bigint[]), roaring64_dedup_add('jobs', 'k', '{}'::bigint[]);
SELECT roaring64_dedup_claim('jobs', 'k', array_agg(i)) FROM generate_series(1, 1000001) AS i;
SELECT roaring64_dedup_seen('jobs', 'k', NULL::bigint);
SELECT roaring64_dedup_load('jobs', 'k', NULL);
SELECT roaring64_dedup_export('jobs', NULL);
CALL roaring64_dedup_fold(NULL);
CALL roaring64_dedup_rotate('pg_class');
BEGIN READ ONLY;
SELECT roaring64_dedup_claim('jobs', 'k', 1);
ROLLBACK;
BEGIN READ ONLY;
SELECT roaring64_dedup_seen('jobs', 'k', 1), roaring64_dedup_count('jobs', 'k');
CALL roaring64_dedup_fold('jobs');
ROLLBACK;
SELECT roaring64_dedup_is_empty('jobs', 'k') AS nothing_changed;
SELECT roaring64_dedup_create('jobs');
SELECT roaring64_dedup_create(NULL);
SELECT roaring64_dedup_create('nowhere.jobs');
SELECT roaring64_dedup_create(repeat('x', 60));
SELECT roaring64_dedup_create('bad', capacity => 1);
SELECT roaring64_dedup_create('bad', remember => '-1 day');
SELECT roaring64_dedup_create('bad', capacity => 10, remember => '1 day');
SELECT roaring64_dedup_create('bad', capacity => 10, generations => 1);
SELECT roaring64_dedup_create('bad', layout => 'twitter');
SELECT roaring64_dedup_create('bad', chunk_bits => 61);
SELECT roaring64_dedup_create('bad', fold_after => -1);
SELECT roaring64_dedup_create('bad', ascending => NULL);
SELECT roaring64_dedup_alter('by_count', generations => 65);
SELECT to_regclass('bad'), to_regclass('bad_claims');
-- another table's row, or none
DELETE FROM eager;
SELECT roaring64_dedup_claim('eager', 'k', 9);

-- a session's first look at a set, by a query that has workers
CREATE TABLE many AS SELECT i FROM generate_series(1, 1000) AS i;
ALTER TABLE many SET (parallel_workers = 2);
\c -
SET search_path = dedup, public;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT roaring64_dedup_count('jobs', 'a') FROM many HAVING count(*) = 1000;
SELECT roaring64_dedup_count('jobs', 'a'), roaring64_dedup_export('jobs', 'a'), roaring64_dedup_is_empty('jobs', 'a'),
	roaring64_dedup_seen('jobs', 'a', 1), roaring64_dedup_seen('jobs', 'a', '{1,2}'::bigint[])
FROM many HAVING count(*) = 1000;

SET client_min_messages = warning;
DROP SCHEMA dedup CASCADE;
