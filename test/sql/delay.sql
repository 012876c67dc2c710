--
-- Delayed messages: what the functions give, what they refuse, and that the
-- table goes through renames, dumps and the like.  Concurrency is in test/specs
-- and test/t.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
RESET client_min_messages;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

-- so many milliseconds after the epoch, and back
CREATE FUNCTION at(ms bigint) RETURNS timestamptz IMMUTABLE LANGUAGE sql AS $$ SELECT to_timestamp(0) + interval '1 ms' * ms $$;
CREATE FUNCTION ats(ms bigint[]) RETURNS timestamptz[] IMMUTABLE LANGUAGE sql AS $$ SELECT ARRAY(SELECT at(m) FROM unnest(ms) AS m) $$;
CREATE FUNCTION ms(t timestamptz) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$ SELECT (extract(epoch FROM t) * 1000)::bigint $$;

--
-- A table with the default buckets, of a second
--
SELECT roaring64_delay_create('delayed');
\d delayed
SELECT roaring64_delay_count('delayed'), roaring64_delay_next_due('delayed');
SET quote_all_identifiers = on;
SELECT roaring64_delay_count('delayed');
RESET quote_all_identifiers;
CREATE VIEW rows AS SELECT ms(bucket) AS bucket, group_id, ids FROM delayed;

-- 999 and 1000 are of different buckets
SELECT roaring64_delay_add('delayed', 7, 1, at(999)), roaring64_delay_add('delayed', 7, 2, at(1000)),
	   roaring64_delay_add('delayed', 7, 3, at(0)), roaring64_delay_add('delayed', 6, 9, at(1001));
TABLE rows ORDER BY bucket, group_id;
-- again; another due time in the same bucket; in another one
SELECT roaring64_delay_add('delayed', 7, 1, at(999)) AS again, roaring64_delay_add('delayed', 7, 1, at(5)) AS same_bucket,
	   roaring64_delay_add('delayed', 7, 1, at(1000)) AS other_bucket;
SELECT roaring64_delay_cancel('delayed', 7, 1, at(2000)) AS other_bucket;

-- many: any order, repeats, what is there already, none
SELECT roaring64_delay_add_many('delayed', ARRAY[7, 7, 3, 7, 3], ARRAY[3, 4, 5, 4, 6], ats('{0,1,5000,2,5999}'));
SELECT roaring64_delay_add_many('delayed', '{}', '{}', '{}');
TABLE rows ORDER BY bucket, group_id;
SELECT roaring64_delay_count('delayed') AS all, roaring64_delay_count('delayed', at(999)) AS due_999,
	   roaring64_delay_count('delayed', at(1000)) AS due_1000, roaring64_delay_count('delayed', at(-1)) AS due_before,
	   ms(roaring64_delay_next_due('delayed'));

-- in the order of delivery; a limit within a row, at its end, and of none
SELECT * FROM roaring64_delay_take('delayed', at(-1));
SELECT * FROM roaring64_delay_take('delayed', at(9999), 0);
SELECT * FROM roaring64_delay_take('delayed', at(9999), 2);
TABLE rows ORDER BY bucket, group_id;
SELECT * FROM roaring64_delay_take('delayed', at(9999), 1);
TABLE rows ORDER BY bucket, group_id;
SELECT * FROM roaring64_delay_take('delayed', at(1000));
SELECT * FROM roaring64_delay_take('delayed', at(4999));
SELECT * FROM roaring64_delay_take('delayed', at(5000));
SELECT count(*) FROM delayed;
SELECT roaring64_delay_next_due('delayed'), roaring64_delay_count('delayed');

-- given back by a rollback, and by one of a savepoint only
SELECT roaring64_delay_add_many('delayed', '{1,1,1}', '{1,2,3}', ats('{0,0,0}'));
BEGIN;
SELECT id FROM roaring64_delay_take('delayed', at(0), 1);
SAVEPOINT s;
SELECT id FROM roaring64_delay_take('delayed', at(0), 1);
ROLLBACK TO s;
SELECT id FROM roaring64_delay_take('delayed', at(0));
ROLLBACK;
TABLE rows;
BEGIN;
SELECT id FROM roaring64_delay_take('delayed', at(0));
-- taken and put off, in one transaction
SELECT roaring64_delay_add('delayed', 1, 2, at(0)), roaring64_delay_add('delayed', 1, 2, at(9000));
COMMIT;
TABLE rows ORDER BY bucket;
-- all rows are taken, whatever the query does with them
SELECT id FROM roaring64_delay_take('delayed', at(9999)) LIMIT 1;
SELECT count(*) FROM delayed;

-- in a select list
SELECT roaring64_delay_add_many('delayed', '{1,1}', '{1,2}', ats('{0,0}'));
SELECT 'message', roaring64_delay_take('delayed', at(0));

-- no time, and no limit
SELECT roaring64_delay_add('delayed', 1, 1, at(0));
SELECT * FROM roaring64_delay_take('delayed', NULL);
SELECT roaring64_delay_cancel('delayed', 1, NULL, at(0));
SELECT id FROM roaring64_delay_take('delayed', at(0), NULL);
-- until now, unless told otherwise
SELECT roaring64_delay_add('delayed', 1, 1, now() - interval '1 s'), roaring64_delay_add('delayed', 1, 2, now() + interval '1 h');
SELECT id FROM roaring64_delay_take('delayed');
SELECT id FROM roaring64_delay_take('delayed', n => 5);
SELECT roaring64_delay_count('delayed', now()), roaring64_delay_count('delayed');
DELETE FROM delayed;

--
-- Cancelling
--
SELECT roaring64_delay_add_many('delayed', '{1,1,1}', '{1,2,3}', ats('{0,0,5000}'));
SELECT roaring64_delay_cancel('delayed', 1, 1, at(999)) AS there, roaring64_delay_cancel('delayed', 1, 1, at(999)) AS gone,
	   roaring64_delay_cancel('delayed', 1, 2, at(1000)) AS other_bucket, roaring64_delay_cancel('delayed', 2, 2, at(0)) AS other_group;
TABLE rows ORDER BY bucket, group_id;
SELECT roaring64_delay_cancel('delayed', 1, 2, at(0)) AS last_of_row;
TABLE rows ORDER BY bucket, group_id;
-- without the due time: wherever it is, in that group
SELECT roaring64_delay_add_many('delayed', '{1,1,1,2}', '{7,7,8,7}', ats('{0,9000,9000,0}'));
SELECT roaring64_delay_cancel('delayed', 1, 7) AS there, roaring64_delay_cancel('delayed', 1, 7) AS gone, roaring64_delay_cancel('delayed', 3, 7) AS other_group;
TABLE rows ORDER BY bucket, group_id;
DROP VIEW rows;
DROP TABLE delayed;

--
-- Untyped parameters, as most drivers send them
--
SELECT roaring64_delay_create('delayed');
PREPARE add_one AS SELECT roaring64_delay_add($1, $2, $3, $4);
PREPARE add_many AS SELECT roaring64_delay_add_many($1, $2, $3, $4);
PREPARE take AS SELECT * FROM roaring64_delay_take($1, $2, $3);
PREPARE cancel AS SELECT roaring64_delay_cancel($1, $2, $3, $4);
PREPARE next_due AS SELECT roaring64_delay_next_due($1);
PREPARE count AS SELECT roaring64_delay_count($1, $2);
PREPARE make AS SELECT roaring64_delay_create($1, $2);
EXECUTE add_one('delayed', '1', '1', '2030-01-01 00:00:00.5+00');
EXECUTE add_many('delayed', '{1,2}', '{2,1}', '{2030-01-01 00:00:00+00,2030-01-01 00:00:01+00}');
EXECUTE cancel('delayed', '1', '2', '2030-01-01 00:00:00+00');
EXECUTE next_due('delayed');
EXECUTE count('delayed', 'infinity');
EXECUTE take('delayed', 'infinity', '10');
EXECUTE make('another', '1 minute');
DEALLOCATE ALL;
DROP TABLE delayed, another;

--
-- Widths, before 1970 and 2000 too; times that never come, or have always been;
-- the ends of bigint
--
CREATE TABLE widths (name text, width interval);
INSERT INTO widths VALUES ('narrow', '1 us'), ('pulsar', '1.024 s'), ('day', '1 day'), ('wide', '1000000 days'), ('odd', '1 day 02:03:04.000005');
SELECT count(roaring64_delay_create(name, width)) FROM widths;
CREATE TABLE dues (n bigint, due timestamptz);
INSERT INTO dues VALUES (1, '1970-01-01 00:00:00.0019+00'), (2, '1969-12-31 23:59:59.9999+00'), (3, '1999-12-31 23:59:59.9991+00'),
	(4, '2000-01-01 00:00:00+00'), (5, '2026-07-01 12:00:00+02'), (6, 'infinity'), (7, '-infinity'),
	(-9223372036854775808, '2026-07-01 12:00:01+02'), (9223372036854775807, '2026-07-01 12:00:02+02');
SELECT bool_and(roaring64_delay_add(name, n, -1 - n, due)) FROM widths, dues;
CREATE TABLE found (name text, bucket timestamptz, group_id bigint, id bigint);
INSERT INTO found SELECT name, t.* FROM widths, roaring64_delay_take(name, 'infinity') AS t;
SELECT count(*), bool_and(bucket <= due AND (due < bucket + width OR NOT isfinite(due) AND bucket = due) AND id = -1 - n) AS right_buckets,
	   count(DISTINCT bucket) FILTER (WHERE name = 'narrow') AS narrow, count(DISTINCT bucket) FILTER (WHERE name = 'day') AS day
FROM found JOIN widths USING (name) JOIN dues ON group_id = n;
-- what comes at once, and what never does
SELECT roaring64_delay_add_many('day', '{1,1}', '{1,2}', '{-infinity,infinity}');
SELECT * FROM roaring64_delay_take('day');
SELECT * FROM roaring64_delay_take('day');
DROP TABLE narrow, pulsar, day, wide, odd, widths, dues, found;

--
-- Against a table with a row for every message
--
SELECT roaring64_delay_create('delayed', '64 ms');
CREATE TABLE messages (group_id bigint, id bigint, due bigint);
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
		SELECT CASE WHEN step % 5 = 0 THEN (SELECT count(*) FILTER (WHERE roaring64_delay_add('delayed', group_id, id, at(due))) FROM fresh)
					ELSE (SELECT count(*) FROM (SELECT roaring64_delay_add_many('delayed', array_agg(group_id), array_agg(id), array_agg(at(due))) FROM fresh OFFSET 0) AS t) END
		INTO most;
		WITH chosen AS (
			SELECT * FROM messages ORDER BY random() LIMIT 2),
		gone AS (
			DELETE FROM messages AS m USING chosen AS c WHERE m.group_id = c.group_id AND m.id = c.id RETURNING m.*)
		SELECT count(*) FILTER (WHERE NOT roaring64_delay_cancel('delayed', group_id, id, at(due))) FROM gone INTO most;
		IF most <> 0 THEN
			RAISE EXCEPTION 'with setseed(%): a message could not be cancelled in step %', seed, step;
		END IF;
		until := (random() * 3200)::bigint;
		most := CASE WHEN random() < 0.8 THEN (random() * 12)::bigint END;
		IF roaring64_delay_count('delayed', at(until)) <> (SELECT count(*) FROM messages WHERE due >> 6 <= until >> 6)
		   OR roaring64_delay_next_due('delayed') <> (SELECT at(min(due >> 6 << 6)) FROM messages) THEN
			RAISE EXCEPTION 'with setseed(%): counts differ in step %', seed, step;
		END IF;
		ours := ARRAY(SELECT ARRAY[ms(bucket), group_id, id] FROM roaring64_delay_take('delayed', at(until), most));
		WITH due AS (
			SELECT m.due >> 6 << 6 AS bucket, group_id, id FROM messages AS m
			WHERE due >> 6 <= until >> 6 ORDER BY 1, 2, 3 LIMIT most),
		gone AS (
			DELETE FROM messages AS m USING due AS d WHERE m.group_id = d.group_id AND m.id = d.id)
		SELECT coalesce(array_agg(ARRAY[bucket, group_id, id] ORDER BY bucket, group_id, id), '{}') FROM due INTO theirs;
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
SELECT count(*) AS empty_sets FROM delayed WHERE roaring64_is_empty(ids);
DROP TABLE delayed, messages;

--
-- Names: quoted, with a schema, temporary; renamed and moved under way
--
CREATE SCHEMA "Other";
SELECT roaring64_delay_create('"Other"."Delayed Messages"', '1 s');
SELECT roaring64_delay_add('"Other"."Delayed Messages"', 1, 1, at(17));
SELECT roaring64_delay_create('pg_temp.delayed');
SELECT roaring64_delay_add('pg_temp.delayed', 1, 1, at(17)), roaring64_delay_count('delayed');
-- not the temporary one that hides it
SELECT roaring64_delay_create('delayed')::text;
DROP TABLE pg_temp.delayed, public.delayed;
ALTER TABLE "Other"."Delayed Messages" RENAME TO later;
ALTER TABLE "Other".later SET SCHEMA public;
SELECT roaring64_delay_create('"Other"."Delayed Messages"', '1 minute');
SELECT roaring64_delay_add('later', 1, 2, at(18)), roaring64_delay_add('"Other"."Delayed Messages"', 1, 3, at(59000));
TABLE later;
TABLE "Other"."Delayed Messages";
ALTER SCHEMA "Other" RENAME TO another;
SELECT * FROM roaring64_delay_take('another."Delayed Messages"', at(5000));
SET client_min_messages = warning;
DROP SCHEMA another CASCADE;
RESET client_min_messages;
-- a copy of the table is one as well
CREATE TABLE copied (LIKE later INCLUDING ALL);
SELECT roaring64_delay_add('copied', 1, 1, at(8));
TABLE copied;
-- so is a partitioned one
CREATE TABLE parted (LIKE later INCLUDING CONSTRAINTS INCLUDING INDEXES) PARTITION BY RANGE (bucket);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (MINVALUE) TO ('1970-01-01 00:01+00');
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM ('1970-01-01 00:01+00') TO (MAXVALUE);
SELECT roaring64_delay_add_many('parted', '{1,1,2}', '{1,2,3}', ats('{59999,60000,60001}'));
SELECT tableoid::regclass, * FROM parted ORDER BY bucket, group_id;
SELECT * FROM roaring64_delay_take('parted', at(60900), 2);
SELECT roaring64_delay_cancel('parted', 2, 3, at(60000)), roaring64_delay_count('parted');
SELECT bytes > 0 AS has_bytes FROM roaring64_delay_stats('parted');
DROP TABLE copied, parted;

-- names that mean something to format() or in a string
DO $$
DECLARE
	name text;
	t regclass;
BEGIN
	FOREACH name IN ARRAY ARRAY['%', '100%%', '%1$s', '%s', '%L', 'a''b', '"x y"', 'a\b', '$1'] LOOP
		EXECUTE format('CREATE SCHEMA %I', name);
		t := roaring64_delay_create(quote_ident(name) || '.' || quote_ident(name));
		ASSERT (SELECT c.relname = name AND n.nspname = name FROM pg_class AS c, pg_namespace AS n WHERE c.oid = t AND n.oid = relnamespace), name;
		ASSERT roaring64_delay_add(t, 1, 1, at(0)) AND roaring64_delay_add(t, 2, 2, at(0)), name;
		PERFORM roaring64_delay_add_many(t, '{1,1}', '{3,4}', ats('{0,5000}'));
		ASSERT roaring64_delay_stats(t) = ROW(interval '1 s', 4::bigint, at(0), pg_total_relation_size(t))
			AND roaring64_delay_count(t) = 4 AND roaring64_delay_next_due(t) = at(0), name;
		ASSERT roaring64_delay_cancel(t, 1, 1, at(0)) AND roaring64_delay_cancel(t, 1, 4), name;
		ASSERT (SELECT array_agg(id) = '{3}' FROM roaring64_delay_take(t, at(0), 1)), name;
		ASSERT (SELECT array_agg(id) = '{2}' FROM roaring64_delay_take(t)), name;
		ASSERT roaring64_delay_next_due(t) IS NULL, name;
		PERFORM roaring64_delay_drop(t);
		ASSERT NOT EXISTS (SELECT FROM pg_class WHERE oid = t), name;
		EXECUTE format('DROP SCHEMA %I', name);
	END LOOP;
END $$;

-- another meaning of operators and functions in front of search_path, and other
-- settings of how an interval or a time looks
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.no(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile operator'; END $$;
CREATE FUNCTION hostile.no(timestamptz, timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile operator'; END $$;
CREATE OPERATOR hostile.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.no);
CREATE OPERATOR hostile.> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.no);
CREATE OPERATOR hostile.= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = hostile.no);
CREATE OPERATOR hostile.<= (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = hostile.no);
CREATE FUNCTION hostile.unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE FUNCTION hostile.cardinality(bigint[]) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE FUNCTION hostile.roaring64_slice(roaring64, bigint) RETURNS roaring64 LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile function'; END $$;
CREATE TABLE hostile.later ();
SET search_path = hostile, pg_catalog, public;
SET intervalstyle = 'iso_8601';
SET timezone = 'America/St_Johns';
SET datestyle = 'SQL, DMY';
SELECT roaring64_delay_create('public.safe', '1.5 s');
SELECT roaring64_delay_add_many('public.safe', '{1,1,2}', '{1,2,3}', '{1970-01-01 00:00:00+00,1970-01-01 00:00:00+00,1970-01-01 00:00:02+00}');
SELECT roaring64_delay_add('public.safe', 1, 3, '1970-01-01 00:00:00+00'), roaring64_delay_cancel('public.safe', 1, 1, '1970-01-01 00:00:00+00'),
	   roaring64_delay_count('public.safe');
SELECT roaring64_delay_next_due('public.safe'), (SELECT count(*) FROM roaring64_delay_take('public.safe', 'infinity', 1));
SET intervalstyle = 'sql_standard';
SELECT roaring64_delay_add('public.safe', 1, 4, '1970-01-01 00:00:00+00');
SELECT count(*) FROM roaring64_delay_take('public.safe', 'infinity');
RESET intervalstyle;
SET timezone = 'UTC';
RESET datestyle;
RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA hostile CASCADE;
RESET client_min_messages;
DROP TABLE safe;

--
-- What is refused
--
\set VERBOSITY terse
SELECT roaring64_delay_create('later');
SELECT roaring64_delay_create('missing.later');
SELECT roaring64_delay_create('a.b.c');
SELECT roaring64_delay_create('not a name');
SELECT roaring64_delay_create('months', '1 month');
SELECT roaring64_delay_create('zero', '0');
SELECT roaring64_delay_create('negative', '-1 s');
SELECT roaring64_delay_create('backwards', '1 day -25 hours');
-- NULL, where a message would be lost
SELECT roaring64_delay_add(NULL, 1, 1, at(0));
SELECT roaring64_delay_add('later', NULL, 1, at(0));
SELECT roaring64_delay_add('later', 1, NULL, at(0));
SELECT roaring64_delay_add('later', 1, 1, NULL);
SELECT roaring64_delay_add_many(NULL, '{1}', '{1}', ats('{0}'));
SELECT roaring64_delay_add_many('later', '{1,NULL}', '{1,2}', ats('{0,0}'));
SELECT roaring64_delay_add_many('later', '{1,1}', '{1,NULL}', ats('{0,0}'));
SELECT roaring64_delay_add_many('later', '{1,1}', '{1,2}', ats('{0,NULL}'));
SELECT roaring64_delay_add_many('later', '{1,1}', '{1,2}', NULL);
SELECT roaring64_delay_add_many('later', '{1,1}', NULL, NULL);
SELECT roaring64_delay_add_many('later', NULL, NULL, NULL);
SELECT * FROM roaring64_delay_take(NULL, at(0));
\set VERBOSITY default
SELECT roaring64_delay_add_many('later', '{1,2}', '{1}', ats('{1}'));
SELECT roaring64_delay_add_many('later', '{1,2}', '{1,2}', ats('{1}'));
SELECT roaring64_delay_add_many('later', '{}', '{}', ats('{1}'));
\set VERBOSITY terse
SELECT roaring64_delay_take('later', at(1), -1);
-- other tables, and one that is no longer what it was
SELECT roaring64_delay_add('pg_class', 1, 1, at(1));
SELECT roaring64_delay_add_many('pg_class', '{1}', '{1}', ats('{1}'));
SELECT roaring64_delay_cancel('pg_class', 1, 1, at(1));
SELECT roaring64_delay_take('pg_class');
SELECT roaring64_delay_count('pg_class');
SELECT roaring64_delay_next_due('pg_class');
SELECT roaring64_delay_stats('pg_class');
SELECT roaring64_delay_drop('pg_class');
SELECT roaring64_delay_drop(NULL);
SELECT width, messages, next_due FROM roaring64_delay_stats('later');
SELECT roaring64_delay_add('missing', 1, 1, at(1));
BEGIN;
ALTER TABLE later DROP CONSTRAINT bucket_width;
\set VERBOSITY default
SELECT roaring64_delay_add('later', 1, 1, at(1));
\set VERBOSITY terse
ROLLBACK;
CREATE TABLE other (LIKE later);
ALTER TABLE other ADD CONSTRAINT bucket_width CHECK (bucket > 'epoch');
SELECT roaring64_delay_add('other', 1, 1, at(1));
DROP TABLE other;
-- a bucket that is in a child, too, would be delivered twice
CREATE TABLE child () INHERITS (later);
SELECT roaring64_delay_take('later');
SELECT roaring64_delay_drop('later');
DROP TABLE child;
SELECT roaring64_delay_add('later', 1, 3, at(1));
-- what does not belong into it
INSERT INTO later VALUES (at(1), 1, '{1}');
BEGIN READ ONLY;
SELECT roaring64_delay_count('later');
SELECT count(*) FROM roaring64_delay_take('later', at(0));
ROLLBACK;

--
-- Privileges are those on the table
--
CREATE ROLE regress_roaring64_delay;
SET ROLE regress_roaring64_delay;
SELECT roaring64_delay_count('later');
RESET ROLE;
GRANT SELECT, INSERT ON later TO regress_roaring64_delay;
SET ROLE regress_roaring64_delay;
SELECT roaring64_delay_count('later') > 0 AS counts;
SELECT roaring64_delay_take('later', at(0));
SELECT roaring64_delay_cancel('later', 1, 1, at(1));
RESET ROLE;
GRANT UPDATE, DELETE ON later TO regress_roaring64_delay;
-- row security may show a row and not let it go, whole or in part
ALTER TABLE later ENABLE ROW LEVEL SECURITY;
CREATE POLICY see ON later FOR SELECT USING (true);
CREATE POLICY change ON later FOR UPDATE USING (true);
SET ROLE regress_roaring64_delay;
\set VERBOSITY default
SELECT count(*) FROM roaring64_delay_take('later', at(1000));
\set VERBOSITY terse
RESET ROLE;
SELECT roaring64_delay_count('later') > 1 AS kept;
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER keep BEFORE UPDATE ON later FOR EACH ROW EXECUTE FUNCTION keep();
SELECT count(*) FROM roaring64_delay_take('later', at(1000), 1);
DROP TRIGGER keep ON later;
DROP FUNCTION keep;
ALTER TABLE later DISABLE ROW LEVEL SECURITY;
SET ROLE regress_roaring64_delay;
SELECT count(*) > 0 AS taken FROM roaring64_delay_take('later', at(1000));
RESET ROLE;
\set VERBOSITY default
DROP TABLE later;
DROP ROLE regress_roaring64_delay;
DROP FUNCTION at, ats, ms;
