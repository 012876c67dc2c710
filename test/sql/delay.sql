--
-- Delayed messages: what the functions give, what they refuse, and that the
-- table goes through renames, dumps and the like.  Concurrency is in test/specs
-- and test/t.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
SET timezone = 'UTC';

--
-- A table with the default buckets, of 1024 ms
--
SELECT roaring64_delay_create('delayed');
\d delayed
SELECT roaring64_delay_count('delayed'), roaring64_delay_next_due('delayed');

-- 1023 and 1024 are of different buckets
SELECT roaring64_delay_add('delayed', 7, 1, 1023), roaring64_delay_add('delayed', 7, 2, 1024),
	   roaring64_delay_add('delayed', 7, 3, 0), roaring64_delay_add('delayed', 6, 9, 1025);
TABLE delayed ORDER BY bucket, ledger;
-- again; another due time in the same bucket; in another one
SELECT roaring64_delay_add('delayed', 7, 1, 1023) AS again, roaring64_delay_add('delayed', 7, 1, 5) AS same_bucket,
	   roaring64_delay_add('delayed', 7, 1, 1024) AS other_bucket;
SELECT roaring64_delay_cancel('delayed', 7, 1, 2000) AS other_bucket;

-- a batch: any order, repeats, what is there already
SELECT roaring64_delay_add('delayed', ARRAY[7, 7, 3, 7, 3], ARRAY[3, 4, 5, 4, 6], ARRAY[0, 1, 5000, 2, 5119]);
SELECT roaring64_delay_add('delayed', '{}'::bigint[], '{}', '{}'::bigint[]);
TABLE delayed ORDER BY bucket, ledger;
SELECT roaring64_delay_count('delayed') AS all, roaring64_delay_count('delayed', 1023) AS due_1023,
	   roaring64_delay_count('delayed', 1024) AS due_1024, roaring64_delay_count('delayed', -1) AS due_before,
	   roaring64_delay_next_due('delayed');

-- in the order of delivery; a limit within a row, at its end, and of none
SELECT * FROM roaring64_delay_take('delayed', -1);
SELECT * FROM roaring64_delay_take('delayed', 9999, 0);
SELECT * FROM roaring64_delay_take('delayed', 9999, 2);
TABLE delayed ORDER BY bucket, ledger;
SELECT * FROM roaring64_delay_take('delayed', 9999, 1);
TABLE delayed ORDER BY bucket, ledger;
SELECT * FROM roaring64_delay_take('delayed', 1024);
SELECT * FROM roaring64_delay_take('delayed', 4095);
SELECT * FROM roaring64_delay_take('delayed', 4096);
SELECT count(*) FROM delayed;
SELECT roaring64_delay_next_due('delayed'), roaring64_delay_count('delayed');

-- given back by a rollback, and by one of a savepoint only
SELECT roaring64_delay_add('delayed', ARRAY[1, 1, 1], ARRAY[1, 2, 3], ARRAY[0, 0, 0]);
BEGIN;
SELECT entry FROM roaring64_delay_take('delayed', 0, 1);
SAVEPOINT s;
SELECT entry FROM roaring64_delay_take('delayed', 0, 1);
ROLLBACK TO s;
SELECT entry FROM roaring64_delay_take('delayed', 0);
ROLLBACK;
TABLE delayed;
BEGIN;
SELECT entry FROM roaring64_delay_take('delayed', 0);
-- taken and put off, in one transaction
SELECT roaring64_delay_add('delayed', 1, 2, 0), roaring64_delay_add('delayed', 1, 2, 9000);
COMMIT;
TABLE delayed ORDER BY bucket;
-- all rows are taken, whatever the query does with them
SELECT entry FROM roaring64_delay_take('delayed', 9999) LIMIT 1;
SELECT count(*) FROM delayed;

-- in a select list
SELECT roaring64_delay_add('delayed', ARRAY[1, 1], ARRAY[1, 2], ARRAY[0, 0]);
SELECT 'message', roaring64_delay_take('delayed', 0);

-- NULLs: no table, time or limit
SELECT roaring64_delay_add('delayed', 1, 1, NULL::bigint), roaring64_delay_add(NULL, 1, 1, 1);
SELECT roaring64_delay_add('delayed', 1, 1, 0);
SELECT * FROM roaring64_delay_take(NULL, 0);
SELECT * FROM roaring64_delay_take('delayed', NULL::bigint);
SELECT * FROM roaring64_delay_take('delayed', NULL::timestamptz);
SELECT * FROM roaring64_delay_take('delayed', 0, NULL);

--
-- Cancelling
--
SELECT roaring64_delay_add('delayed', ARRAY[1, 1, 2, 1], ARRAY[1, 2, 1, 3], ARRAY[0, 0, 0, 5000]);
SELECT roaring64_delay_cancel('delayed', 1, 1, 1000) AS there, roaring64_delay_cancel('delayed', 1, 1, 1000) AS gone,
	   roaring64_delay_cancel('delayed', 1, 2, 1024) AS other_bucket;
TABLE delayed ORDER BY bucket, ledger;
SELECT roaring64_delay_cancel('delayed', 1, 2, 0) AS last_of_row;
TABLE delayed ORDER BY bucket, ledger;
SELECT roaring64_delay_add('delayed', ARRAY[1, 1], ARRAY[7, 8], ARRAY[0, 0]);
SELECT roaring64_delay_cancel('delayed', 1) AS of_ledger_1, roaring64_delay_cancel('delayed', 9) AS of_ledger_9;
TABLE delayed ORDER BY bucket, ledger;
SELECT roaring64_delay_cancel('delayed', 2);

--
-- Due times as timestamps: whole milliseconds, rounded down, on both sides of
-- 1970 and 2000; as late as timestamps go
--
SELECT roaring64_delay_drop('delayed');
SELECT roaring64_delay_create('delayed', 0);
CREATE TEMP TABLE dues (n, due) AS
VALUES (1, '1970-01-01 00:00:00.0019+00'::timestamptz), (2, '1969-12-31 23:59:59.9999+00'),
	   (3, '1999-12-31 23:59:59.9991+00'), (4, '2000-01-01 00:00:00.0011+00'), (5, '2026-07-01 12:00:00+02'),
	   (6, '294276-12-31 23:59:59.0019+00'), (7, '4713-01-01 00:00:00+00 BC');
SELECT count(*) FILTER (WHERE roaring64_delay_add('delayed', 1, n, due)) FROM dues;
SELECT bucket, bucket = floor(extract(epoch FROM due) * 1000) AS as_extract, entries, due
FROM delayed JOIN dues ON entries @> n::bigint ORDER BY bucket;
SELECT roaring64_delay_count('delayed', '1970-01-01 00:00:00.001+00'::timestamptz),
	   roaring64_delay_count('delayed', 'infinity'::timestamptz), roaring64_delay_count('delayed', '-infinity'::timestamptz);
-- an integer is milliseconds, anything with a time zone a time
SELECT roaring64_delay_cancel('delayed', 1, 5, '2026-07-01 10:00:00+00'::timestamptz), roaring64_delay_cancel('delayed', 1, 1, 1);
SELECT roaring64_delay_add('delayed', ARRAY[1, 1], ARRAY[8, 9], ARRAY['1970-01-01 00:00:01+00', '1970-01-01 00:00:02+00']::timestamptz[]);
SELECT bucket, entry FROM roaring64_delay_take('delayed', '2000-01-01 00:00:00.001+00'::timestamptz);
SELECT entry FROM roaring64_delay_take('delayed', 'infinity'::timestamptz);
-- until now, unless told otherwise
SELECT roaring64_delay_add('delayed', 1, 1, now() - interval '1 s'), roaring64_delay_add('delayed', 1, 2, now() + interval '1 h');
SELECT entry FROM roaring64_delay_take('delayed');
SELECT entry FROM roaring64_delay_take('delayed', "limit" => 5);
SELECT roaring64_delay_count('delayed', now()), roaring64_delay_count('delayed');
SELECT roaring64_delay_drop('delayed');

--
-- The ends of bigint; wide and narrow buckets
--
SELECT roaring64_delay_create('narrow', 0), roaring64_delay_create('wide', 63);
SELECT roaring64_delay_add(q, l, e, d)
FROM (VALUES ('narrow'::regclass), ('wide')) AS q (q),
	 (VALUES (-9223372036854775808, 9223372036854775807, -9223372036854775808),
			 (9223372036854775807, -9223372036854775808, 9223372036854775807), (0, -1, -1), (0, 5, -1)) AS m (l, e, d);
TABLE narrow ORDER BY bucket, ledger;
TABLE wide ORDER BY bucket, ledger;
SELECT * FROM roaring64_delay_take('narrow', 9223372036854775807);
SELECT * FROM roaring64_delay_take('wide', 9223372036854775807);
DROP TABLE narrow, wide;

--
-- Against a table with a row for every message
--
SELECT roaring64_delay_create('delayed', 6);
CREATE TABLE messages (ledger bigint, entry bigint, due bigint);
DO $$
DECLARE
	seed double precision := random();
	until bigint;
	most bigint;
	ours bigint[];
	theirs bigint[];
	taken bigint := 0;
BEGIN
	PERFORM setseed(seed);
	FOR step IN 1 .. 200 LOOP
		WITH fresh AS (
			INSERT INTO messages
			SELECT DISTINCT ON (l, e) l, e, d
			FROM (SELECT (random() * 3)::bigint AS l, step * 100 + (random() * 20)::bigint AS e, (random() * 3000)::bigint AS d
				  FROM generate_series(1, 10)) AS t RETURNING *)
		SELECT CASE WHEN step % 5 = 0 THEN (SELECT count(*) FILTER (WHERE roaring64_delay_add('delayed', ledger, entry, due)) FROM fresh)
					ELSE (SELECT count(*) FROM (SELECT roaring64_delay_add('delayed', array_agg(ledger), array_agg(entry), array_agg(due)) FROM fresh OFFSET 0) AS t) END
		INTO most;
		WITH chosen AS (
			SELECT * FROM messages ORDER BY random() LIMIT 2),
		gone AS (
			DELETE FROM messages AS m USING chosen AS c WHERE m.ledger = c.ledger AND m.entry = c.entry RETURNING m.*)
		SELECT count(*) FILTER (WHERE NOT roaring64_delay_cancel('delayed', ledger, entry, due)) FROM gone INTO most;
		IF most <> 0 THEN
			RAISE EXCEPTION 'with setseed(%): a message could not be cancelled in step %', seed, step;
		END IF;
		until := (random() * 3200)::bigint;
		most := CASE WHEN random() < 0.8 THEN (random() * 12)::bigint END;
		IF roaring64_delay_count('delayed', until) <> (SELECT count(*) FROM messages WHERE due >> 6 <= until >> 6)
		   OR roaring64_delay_next_due('delayed') <> (SELECT min(due >> 6 << 6) FROM messages) THEN
			RAISE EXCEPTION 'with setseed(%): counts differ in step %', seed, step;
		END IF;
		ours := ARRAY(SELECT ARRAY[bucket, ledger, entry] FROM roaring64_delay_take('delayed', until, most));
		WITH due AS (
			SELECT m.due >> 6 << 6 AS bucket, ledger, entry FROM messages AS m
			WHERE due >> 6 <= until >> 6 ORDER BY 1, 2, 3 LIMIT most),
		gone AS (
			DELETE FROM messages AS m USING due AS d WHERE m.ledger = d.ledger AND m.entry = d.entry)
		SELECT coalesce(array_agg(ARRAY[bucket, ledger, entry] ORDER BY bucket, ledger, entry), '{}') FROM due INTO theirs;
		IF ours IS DISTINCT FROM theirs THEN
			RAISE EXCEPTION 'with setseed(%): step % took % instead of %', seed, step, ours, theirs;
		END IF;
		taken := taken + coalesce(array_length(ours, 1), 0);
	END LOOP;
	IF taken < 200 THEN
		RAISE EXCEPTION 'with setseed(%): only % were taken', seed, taken;
	END IF;
END $$;
SELECT (SELECT count(*) FROM messages) = roaring64_delay_count('delayed') AS same_rest;
SELECT count(*) AS empty_sets FROM delayed WHERE roaring64_is_empty(entries);
DROP TABLE delayed, messages;

--
-- Names: quoted, with a schema, temporary; renamed and moved under way
--
CREATE SCHEMA "Other";
SELECT roaring64_delay_create('"Other"."Delayed Messages"', 3);
SELECT roaring64_delay_add('"Other"."Delayed Messages"', 1, 1, 17);
SELECT roaring64_delay_create('pg_temp.delayed');
SELECT roaring64_delay_add('pg_temp.delayed', 1, 1, 17), roaring64_delay_count('delayed');
DROP TABLE pg_temp.delayed;
-- no error in a session that has used it under another name; and what takes
-- the old name is not mistaken for it
ALTER TABLE "Other"."Delayed Messages" RENAME TO later;
ALTER TABLE "Other".later SET SCHEMA public;
SELECT roaring64_delay_create('"Other"."Delayed Messages"', 12);
SELECT roaring64_delay_add('later', 1, 2, 18), roaring64_delay_add('"Other"."Delayed Messages"', 1, 3, 5000);
TABLE later;
TABLE "Other"."Delayed Messages";
ALTER SCHEMA "Other" RENAME TO another;
SELECT * FROM roaring64_delay_take('another."Delayed Messages"', 5000);
DROP SCHEMA another CASCADE;
-- the extension moves
CREATE SCHEMA elsewhere;
ALTER EXTENSION roaring64 SET SCHEMA elsewhere;
SELECT elsewhere.roaring64_delay_add('later', 1, 3, 19);
SELECT * FROM elsewhere.roaring64_delay_take('later', 19, 2);
ALTER EXTENSION roaring64 SET SCHEMA public;
SELECT roaring64_delay_add('later', 1, 4, 20);
DROP SCHEMA elsewhere;
-- a copy of the table is one as well
CREATE TABLE copied (LIKE later INCLUDING ALL);
SELECT roaring64_delay_add('copied', 1, 1, 8);
TABLE copied;
-- so is a partitioned one
CREATE TABLE parted (LIKE later INCLUDING CONSTRAINTS INCLUDING INDEXES) PARTITION BY RANGE (bucket);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (800);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (800) TO (MAXVALUE);
SELECT roaring64_delay_add('parted', ARRAY[1, 1, 2], ARRAY[1, 2, 3], ARRAY[799, 800, 801]);
SELECT tableoid::regclass, * FROM parted ORDER BY bucket, ledger;
SELECT * FROM roaring64_delay_take('parted', 900, 2);
DROP TABLE copied, parted;

-- another meaning of every operator and function in front of search_path
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.no(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile operator'; END $$;
CREATE OPERATOR hostile.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.no);
CREATE OPERATOR hostile.<= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.no);
CREATE FUNCTION hostile.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE FUNCTION hostile.roaring64_slice(roaring64, bigint) RETURNS roaring64 LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE TABLE hostile.later ();
SET search_path = hostile, pg_catalog, public;
SELECT roaring64_delay_create('public.safe');
SELECT roaring64_delay_add('public.safe', ARRAY[1, 1, 2], ARRAY[1, 2, 3], ARRAY[0, 0, 1024]);
SELECT roaring64_delay_add('public.safe', 1, 3, 0), roaring64_delay_cancel('public.safe', 1, 1, 0), roaring64_delay_count('public.safe'),
	   roaring64_delay_next_due('public.safe'), roaring64_delay_cancel('public.safe', 2);
SELECT * FROM roaring64_delay_take('public.safe', 0, 1);
SELECT roaring64_delay_drop('public.safe');
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA hostile CASCADE;
RESET client_min_messages;

--
-- What is refused
--
SELECT roaring64_delay_create('later');
SELECT roaring64_delay_create('missing.later');
SELECT roaring64_delay_create('a.b.c');
SELECT roaring64_delay_create('not a name');
SELECT roaring64_delay_create('bits', -1);
SELECT roaring64_delay_create('bits', 64);
CREATE TABLE ordinary (bucket bigint, ledger bigint, entries roaring64,
					   CHECK (bucket = roaring64_time_bucket(bucket + 0, 10)), CHECK (bucket > 0), CHECK (bucket = roaring64_snowflake_fold(bucket)),
					   CHECK (bucket >= roaring64_time_bucket(bucket, 10)), CHECK (roaring64_is_empty(entries)));
SELECT roaring64_delay_add('ordinary', 1, 1, 1);
SELECT roaring64_delay_drop('ordinary');
SELECT roaring64_delay_add('missing', 1, 1, 1);
SELECT roaring64_delay_count(0);
SELECT roaring64_delay_count('pg_class');
DROP TABLE ordinary;
SELECT roaring64_delay_add('later', 1, 1, 'infinity'::timestamptz);
SELECT roaring64_delay_cancel('later', 1, 1, '-infinity'::timestamptz);
SELECT roaring64_delay_add('later', ARRAY[1], ARRAY[1], ARRAY['infinity']::timestamptz[]);
SELECT roaring64_delay_add('later', ARRAY[1, 2], ARRAY[1], ARRAY[1]);
SELECT roaring64_delay_add('later', ARRAY[1, 2], ARRAY[1, 2], ARRAY[1]);
SELECT roaring64_delay_add('later', ARRAY[1, NULL], ARRAY[1, 2], ARRAY[1, 2]);
SELECT roaring64_delay_take('later', 1, -1);
-- a table that is no longer what it was
BEGIN;
ALTER TABLE later DROP CONSTRAINT bucket_width;
SELECT roaring64_delay_add('later', 1, 1, 1);
ROLLBACK;
SELECT roaring64_delay_add('later', 1, 1, 1);
-- what does not belong into it
INSERT INTO later VALUES (1, 1, '{1}');
BEGIN READ ONLY;
SELECT roaring64_delay_count('later');
SELECT count(*) FROM roaring64_delay_take('later', 0);
ROLLBACK;

--
-- Privileges are those on the table
--
CREATE ROLE regress_roaring64_delay;
SET ROLE regress_roaring64_delay;
SELECT roaring64_delay_count('later');
SELECT roaring64_delay_drop('later');
RESET ROLE;
GRANT SELECT, INSERT ON later TO regress_roaring64_delay;
SET ROLE regress_roaring64_delay;
SELECT roaring64_delay_count('later') > 0 AS counts;
SELECT roaring64_delay_take('later', 0);
SELECT roaring64_delay_cancel('later', 1, 1, 1);
RESET ROLE;
GRANT UPDATE, DELETE ON later TO regress_roaring64_delay;
-- row security may show a row and not let it go
ALTER TABLE later ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON later FOR SELECT USING (true);
CREATE POLICY change ON later FOR UPDATE USING (true);
SET ROLE regress_roaring64_delay;
SELECT count(*) FROM roaring64_delay_take('later', 1000);
RESET ROLE;
ALTER TABLE later DISABLE ROW LEVEL SECURITY;
SET ROLE regress_roaring64_delay;
SELECT count(*) > 0 AS taken FROM roaring64_delay_take('later', 1000);
RESET ROLE;
DROP TABLE later;
DROP ROLE regress_roaring64_delay;
