--
-- Dedup sets: what one session sees of them.  Others are in test/specs and in
-- test/t/016_dedup_kill.pl and 017_dedup_stress.pl.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
CREATE SCHEMA dedup_test;
SET search_path = dedup_test, public;
-- what a statement ends with
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate || ' ' || sqlerrm;
END $$;

--
-- One id, many, the same folded
--
SELECT roaring64_dedup_create('seen');
SELECT roaring64_dedup_claim('seen', 'k', 1), roaring64_dedup_claim('seen', 'k', 1), roaring64_dedup_claim('seen', 'other', 1);
SELECT roaring64_dedup_claim_many('seen', 'k', '{9,-5,1,9,-9223372036854775808,9223372036854775807}');
SELECT roaring64_dedup_claim_many('seen', 'k', '{}'), roaring64_dedup_seen_many('seen', 'k', '{}');
SELECT roaring64_dedup_seen('seen', 'k', -5), roaring64_dedup_seen('seen', 'k', -6), roaring64_dedup_seen('seen', 'nobody', -5),
	roaring64_dedup_seen_many('seen', 'k', '{-6,-5,-5,-9223372036854775808}');
CALL roaring64_dedup_fold('seen');
SELECT * FROM seen_chunks ORDER BY key, chunk;
SELECT * FROM roaring64_dedup_stats('seen');
SELECT roaring64_dedup_claim('seen', 'k', 1), roaring64_dedup_claim('seen', 'k', 2),
	roaring64_dedup_claim_many('seen', 'k', '{9,3,-5,2,3}'), roaring64_dedup_seen_many('seen', 'k', '{1,2,3,4,9}');
SELECT roaring64_dedup_count('seen', 'k'), roaring64_dedup_export('seen', 'k'), roaring64_dedup_export('seen', 'nobody');
SELECT roaring64_dedup_forget('seen', 'k', 1), roaring64_dedup_forget('seen', 'k', 1),
	roaring64_dedup_forget_many('seen', 'k', '{2,3,9,100,9}'), roaring64_dedup_claim_many('seen', 'k', '{1,2,5}');
-- a row says what is there until it is folded; what neither rows nor chunks have is not written
SELECT id, present, changed FROM seen_claims WHERE key = 'k' ORDER BY id;
SELECT roaring64_dedup_count('seen', 'k'), roaring64_dedup_export('seen', 'k'), roaring64_dedup_seen_many('seen', 'k', '{1,2,3,9}');
-- an import turns over the rows of what was forgotten
SELECT roaring64_dedup_import('seen', 'k', '{1,2,3,5,6,7}'), roaring64_dedup_import('seen', 'k', '{}'), roaring64_dedup_import('seen', 'k', '{3,6}');
SELECT id, present, changed FROM seen_claims WHERE key = 'k' ORDER BY id;
SELECT roaring64_dedup_count('seen', 'k'), roaring64_dedup_export('seen', 'k');
CALL roaring64_dedup_fold('seen');
SELECT roaring64_dedup_count('seen', 'k'), roaring64_dedup_export('seen', 'k'), (SELECT count(*) FROM seen_claims) AS claims;
-- the row of an id that was claimed and forgotten goes without a trace
SELECT roaring64_dedup_claim('seen', 'brief', 1), roaring64_dedup_forget('seen', 'brief', 1);
CALL roaring64_dedup_fold('seen');
SELECT (SELECT count(*) FROM seen_claims) AS claims, (SELECT count(*) FROM seen_chunks WHERE key = 'brief') AS chunks;
-- a chunk with nothing in it goes
SELECT roaring64_dedup_forget('seen', 'other', 1);
CALL roaring64_dedup_fold('seen');
SELECT count(*) AS chunks FROM seen_chunks WHERE key = 'other';

-- none of these statements seemed to be worth compiling
SELECT pg_read_file('/proc/self/maps', 0, 10000000, true) ~ 'llvmjit' IS TRUE AS compiled;

-- with the caller: savepoints, exceptions
BEGIN;
SELECT roaring64_dedup_claim('seen', 's', 1);
SAVEPOINT a;
SELECT roaring64_dedup_claim('seen', 's', 2), roaring64_dedup_claim_many('seen', 's', '{1,2,3}');
ROLLBACK TO a;
SELECT roaring64_dedup_claim_many('seen', 's', '{1,2,3}');
DO $$ BEGIN PERFORM roaring64_dedup_claim('seen', 's', 4); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END $$;
SELECT roaring64_dedup_seen('seen', 's', 4), roaring64_dedup_forget('seen', 's', 3), roaring64_dedup_claim('seen', 's', 3);
ROLLBACK;
SELECT roaring64_dedup_seen('seen', 's', 1);
-- forgotten and claimed in one statement
SELECT roaring64_dedup_forget('seen', 'k', 7), roaring64_dedup_claim('seen', 'k', 7);
BEGIN READ ONLY;
SELECT roaring64_dedup_seen('seen', 'k', 7), roaring64_dedup_count('seen', 'k') > 0;
SELECT outcome('SELECT roaring64_dedup_forget_many(''seen'', ''k'', ''{7}'')');
SELECT roaring64_dedup_claim('seen', 'k', 7);
ROLLBACK;
-- fold is not for a transaction block, nor a function, and says so
SELECT outcome('CALL roaring64_dedup_fold(''seen'')');
BEGIN;
CALL roaring64_dedup_fold('seen');
ROLLBACK;

-- statements prepared by drivers that send no types: ids are taken for text, which is read as the set's
PREPARE one AS SELECT roaring64_dedup_claim($1, $2, $3);
PREPARE many AS SELECT roaring64_dedup_claim_many($1, $2, $3), roaring64_dedup_seen_many($1, $2, $3), roaring64_dedup_forget_many($1, $2, $3);
PREPARE rest AS SELECT roaring64_dedup_seen($1, $2, $3), roaring64_dedup_forget($1, $2, $3), roaring64_dedup_import($1, $2, $4), roaring64_dedup_count($1, $2);
SELECT name, parameter_types FROM pg_prepared_statements ORDER BY name;
EXECUTE one('seen', 'p', 1);
EXECUTE many('seen', 'p', '{2,3}');
EXECUTE rest('seen', 'p', 1, '{4}');
-- whatever type of integer or text they have, or domain over one
CREATE DOMAIN message AS integer CHECK (VALUE > 0);
SELECT roaring64_dedup_claim('seen', 'types', '1'), roaring64_dedup_claim('seen', 'types', 1::smallint), roaring64_dedup_claim('seen', 'types', 1),
	roaring64_dedup_claim('seen', 'types', 1::bigint), roaring64_dedup_claim('seen', 'types', 1::message), roaring64_dedup_claim('seen', 'types', '1'::varchar),
	roaring64_dedup_seen_many('seen', 'types', '{1,2}'), roaring64_dedup_seen_many('seen', 'types', ARRAY[1,2]::smallint[]),
	roaring64_dedup_seen_many('seen', 'types', '{1,2}'::text[]), roaring64_dedup_seen_many('seen', 'types', '{1,2}'::message[]);

--
-- What is refused
--
CREATE TABLE one_option (id bigint, id_type text);
SELECT outcome(s) FROM unnest(ARRAY[
	'SELECT roaring64_dedup_claim(NULL, ''k'', 1)', 'SELECT roaring64_dedup_claim(''seen'', NULL, 1)', 'SELECT roaring64_dedup_claim(''seen'', ''k'', NULL)',
	'SELECT roaring64_dedup_claim_many(''seen'', ''k'', ''{1,NULL}'')', 'SELECT roaring64_dedup_seen(''seen'', ''k'', NULL)',
	'SELECT roaring64_dedup_forget(''seen'', ''k'', NULL)', 'SELECT roaring64_dedup_import(''seen'', ''k'', NULL)', 'SELECT roaring64_dedup_export(''seen'', NULL)', 'SELECT roaring64_dedup_count(NULL, ''k'')',
	'SELECT roaring64_dedup_claim(''seen'', repeat(''k'', 1025), 1)', 'SELECT roaring64_dedup_import(''seen'', repeat(''k'', 1025), ''{1}'')',
	'SELECT roaring64_dedup_claim(''pg_class'', ''k'', 1)', 'SELECT roaring64_dedup_count(''seen_claims'', ''k'')', 'SELECT roaring64_dedup_claim(''one_option'', ''k'', 1)', 'SELECT roaring64_dedup_seen(0, ''k'', 1)',
	'SELECT roaring64_dedup_create(''seen'')', 'SELECT roaring64_dedup_create(''Mixed Case'')', 'SELECT roaring64_dedup_create(repeat(''x'', 60))',
	'SELECT roaring64_dedup_create(NULL)', 'SELECT roaring64_dedup_create(''nowhere.x'')',
	'SELECT roaring64_dedup_create(''x'', id_type => ''text'')', 'SELECT roaring64_dedup_create(''x'', id_type => NULL)',
	'SELECT roaring64_dedup_create(''x'', id_type => ''uuid'', chunk_bits => 48)', 'SELECT roaring64_dedup_create(''x'', remember => ''1 day'', keep => 5)',
	'SELECT roaring64_dedup_create(''x'', remember => ''1 month'')', 'SELECT roaring64_dedup_create(''x'', remember => ''294000 years'')',
	'SELECT roaring64_dedup_create(''x'', remember => ''0'')', 'SELECT roaring64_dedup_create(''x'', remember => ''-1 day'')',
	'SELECT roaring64_dedup_create(''x'', keep => 0)', 'SELECT roaring64_dedup_create(''x'', chunk_bits => 61)',
	'SELECT roaring64_dedup_create(''a.b.c'')', 'SELECT roaring64_dedup_create(''"a.b".c.d'')',
	'SELECT roaring64_dedup_claim(''seen'', ''k'', ''one'')', 'SELECT roaring64_dedup_claim(''seen'', ''k'', 1.0)', 'SELECT roaring64_dedup_claim(''seen'', ''k'', gen_random_uuid())',
	'SELECT roaring64_dedup_claim_many(''seen'', ''k'', ''1,2'')', 'SELECT roaring64_dedup_claim_many(''seen'', ''k'', ARRAY[''a''])', 'SELECT roaring64_dedup_seen_many(''seen'', ''k'', ''{{1,2},{3}}'')',
	'SELECT roaring64_dedup_export_uuids(''seen'', ''k'')', 'SELECT roaring64_dedup_forget_key(''seen'', NULL)', 'SELECT roaring64_dedup_forget_key(''seen'', repeat(''k'', 1025))',
	'SELECT roaring64_dedup_alter(''seen'', ''1 day'', 5)', 'SELECT roaring64_dedup_drop(NULL)', 'SELECT roaring64_dedup_drop(''pg_class'')']) AS s;
-- who leaves out the unit gets seconds, and is told; an hour is meant
SELECT roaring64_dedup_create('week', '7'), roaring64_dedup_create('an_hour', '1 hour');
SELECT roaring64_dedup_drop('week'), roaring64_dedup_drop('an_hour');
-- the longest key is folded
SELECT roaring64_dedup_claim('seen', repeat('ß', 512), 1);
CALL roaring64_dedup_fold('seen');
SELECT roaring64_dedup_claim('seen', repeat('ß', 512), 1);
SELECT roaring64_dedup_create('"Mixed Case"'), roaring64_dedup_create('dedup_test.x');
SELECT roaring64_dedup_drop('x');
SELECT roaring64_dedup_claim('"Mixed Case"', 'k', 1);
SELECT roaring64_dedup_drop('"Mixed Case"');

-- names and keys that look like a format, or need quotes
CREATE PROCEDURE odd_names() LANGUAGE plpgsql AS $$
DECLARE
	keys CONSTANT text[] := ARRAY['%', '%%', '%1$s', '%s', '%I', 'a''b', '"x y"', '', '$1', E'\\', '{}', 'NULL'];
	name text;
	options text;
	n integer := 0;
BEGIN
	FOREACH options IN ARRAY ARRAY['', ', keep => 2', ', remember => ''1 hour'''] LOOP
		FOREACH name IN ARRAY ARRAY['%', '%1$s', 'a''b', 'x y', '50% off %s', 'a"b'] LOOP
			n := n + 1;
			EXECUTE format('SELECT roaring64_dedup_create(%L%s)', quote_ident(name), options);
			FOR step IN 1 .. 3 LOOP
				IF ARRAY(SELECT roaring64_dedup_claim(quote_ident(name), k, step * 10) FROM unnest(keys) AS k) IS DISTINCT FROM array_fill(true, ARRAY[cardinality(keys)])
					OR ARRAY(SELECT roaring64_dedup_claim_many(quote_ident(name), k, ARRAY[step * 10, step * 10 + 1]) FROM unnest(keys) AS k)
						IS DISTINCT FROM ARRAY(SELECT '{f,t}'::boolean[] FROM unnest(keys))
					OR ARRAY(SELECT roaring64_dedup_import(quote_ident(name), k, ARRAY[step * 10, step * 10 + 2]::roaring64)::bigint[] FROM unnest(keys) AS k)
						IS DISTINCT FROM ARRAY(SELECT ARRAY[step * 10 + 2] FROM unnest(keys))::bigint[]
					OR ARRAY(SELECT roaring64_dedup_forget(quote_ident(name), k, step * 10 + 2) FROM unnest(keys) AS k) IS DISTINCT FROM array_fill(true, ARRAY[cardinality(keys)]) THEN
					RAISE 'wrong answers of % with %', name, options;
				END IF;
				COMMIT;
				CALL roaring64_dedup_fold(quote_ident(name));
			END LOOP;
			IF EXISTS (SELECT FROM unnest(keys) AS k WHERE NOT roaring64_dedup_export(quote_ident(name), k) @> '{30,31}'
					   OR roaring64_dedup_count(quote_ident(name), k) <> roaring64_cardinality(roaring64_dedup_export(quote_ident(name), k))
					   OR roaring64_dedup_seen(quote_ident(name), k, 10) IS DISTINCT FROM (options !~ 'keep')
					   OR NOT roaring64_dedup_seen(quote_ident(name), k, 30)) THEN
				RAISE 'wrong contents of % with %', name, options;
			END IF;
			PERFORM roaring64_dedup_alter(quote_ident(name), keep => 5), roaring64_dedup_stats(quote_ident(name)), roaring64_dedup_drop(quote_ident(name));
		END LOOP;
	END LOOP;
	RAISE NOTICE '% sets', n;
END $$;
CALL odd_names();

--
-- A key that cannot be folded is left, with a warning, and no other
--
SELECT count(*) FILTER (WHERE roaring64_dedup_claim('seen', 'k' || i, i + j)) FROM generate_series(1, 1000) AS i, generate_series(0, 4000, 1000) AS j;
CREATE FUNCTION no_500() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.key = 'k500' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
CREATE TRIGGER no_500 BEFORE INSERT ON seen_chunks FOR EACH ROW EXECUTE FUNCTION no_500();
CALL roaring64_dedup_fold('seen');
SELECT key, id FROM seen_claims ORDER BY key, id;
DROP TRIGGER no_500 ON seen_chunks;
CALL roaring64_dedup_fold('seen');
SELECT (SELECT count(*) FROM seen_claims) AS claims, count(*) FILTER (WHERE roaring64_dedup_seen('seen', 'k' || i, i + j)) AS seen
FROM generate_series(1, 1000) AS i, generate_series(0, 4000, 1000) AS j;

--
-- Half a million claims of one key a transaction.  A fold that stops in the middle of
-- a key leaves some, of which id 1 may be the latest: when its generation is full, the
-- next begins with as many less
--
SELECT roaring64_dedup_create('large', keep => 50000);
SELECT roaring64_cardinality(roaring64_dedup_import('large', 'k', int8range(-49990, 0)::roaring64));
INSERT INTO large_claims (key, id) SELECT 'k', i FROM generate_series(1, 1100000) AS i;
CREATE TABLE wrote (xid xid8 PRIMARY KEY);
CREATE FUNCTION note_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.chunk = 1 THEN RAISE 'not this one'; END IF;
	INSERT INTO dedup_test.wrote VALUES (pg_current_xact_id()) ON CONFLICT DO NOTHING;
	RETURN NEW;
END $$;
CREATE TRIGGER note BEFORE INSERT ON large_chunks FOR EACH ROW EXECUTE FUNCTION note_transaction();
CALL roaring64_dedup_fold('large');
SELECT (SELECT count(*) FROM wrote) AS transactions, generation, filled, (SELECT count(*) FROM large_claims) AS claims FROM large_windows;
DROP TRIGGER note ON large_chunks;
SELECT roaring64_cardinality(roaring64_dedup_import('large', 'k', int8range(-50010, -49990)::roaring64)), roaring64_dedup_import('large', 'k', '{-60000}');
SELECT generation, filled, roaring64_dedup_count('large', 'k') FROM large_windows;
CALL roaring64_dedup_fold('large');
SELECT generation, filled, roaring64_dedup_count('large', 'k'), roaring64_dedup_seen('large', 'k', 1) FROM large_windows;
-- one that does not stop counts them all
INSERT INTO large_claims (key, id) SELECT 'l', i FROM generate_series(1, 600000) AS i;
CALL roaring64_dedup_fold('large');
SELECT count(*) AS left_behind FROM large_claims;
SELECT roaring64_dedup_claim('large', 'l', 0);
CALL roaring64_dedup_fold('large');
SELECT generation, filled, roaring64_dedup_count('large', 'l') FROM large_windows WHERE key = 'l';
SELECT roaring64_dedup_drop('large');

--
-- Without the primary key, as a restore may leave it: an error, never two winners
--
BEGIN;
ALTER TABLE seen_claims DROP CONSTRAINT seen_claims_pkey;
SELECT roaring64_dedup_seen('seen', 'k', 12345), roaring64_dedup_seen('seen', 'k', 1);
SELECT roaring64_dedup_claim('seen', 'k', 12345);
ROLLBACK;

--
-- A window by count: at least so many later ids that are there
--
SELECT roaring64_dedup_create('recent', keep => 100);
DO $$
BEGIN
	FOR fold IN 0 .. 2 LOOP
		PERFORM roaring64_dedup_claim('recent', 'k', i) FROM generate_series(100 * fold + 1, least(100 * fold + 100, 250)) AS i;
		CALL roaring64_dedup_fold('recent');
	END LOOP;
END $$;
SELECT key, generation, filled FROM recent_windows;
SELECT min(id), max(id), count(*) FROM roaring64_elements(roaring64_dedup_export('recent', 'k')) AS id;
-- what is past the window is new again
SELECT roaring64_dedup_claim('recent', 'k', 100), roaring64_dedup_claim('recent', 'k', 101),
	roaring64_dedup_seen('recent', 'k', 5), roaring64_dedup_seen_many('recent', 'k', '{5,101,301}');
-- what one call imports is one generation
SELECT roaring64_cardinality(roaring64_dedup_import('recent', 'l', int8range(1, 100001)::roaring64));
SELECT roaring64_dedup_import('recent', 'l', ARRAY[i]::roaring64) FROM generate_series(100001, 100100) AS i \g /dev/null
SELECT roaring64_dedup_count('recent', 'l') AS before, roaring64_dedup_import('recent', 'l', '{200000}') AS next;
SELECT roaring64_dedup_count('recent', 'l') AS after;
-- what was forgotten does not count: 1 is remembered beside 2, however often that was
SELECT roaring64_dedup_create('two_ids', keep => 10);
DO $$
BEGIN
	PERFORM roaring64_dedup_claim('two_ids', 'k', 1);
	CALL roaring64_dedup_fold('two_ids');
	FOR i IN 1 .. 40 LOOP
		PERFORM roaring64_dedup_claim('two_ids', 'k', 2);
		IF i % 3 > 0 THEN CALL roaring64_dedup_fold('two_ids'); END IF;
		PERFORM roaring64_dedup_forget('two_ids', 'k', 2);
		IF i % 2 > 0 THEN CALL roaring64_dedup_fold('two_ids'); END IF;
	END LOOP;
	CALL roaring64_dedup_fold('two_ids');
END $$;
SELECT roaring64_dedup_claim('two_ids', 'k', 1) AS again, roaring64_dedup_export('two_ids', 'k'), w.generation, ids FROM two_ids_windows AS w, two_ids_chunks;
-- forgotten and claimed again, an id belongs to the generation that is written to
SELECT roaring64_dedup_import('two_ids', 'again', '{1,2,3,4,5,6,7,8,9,10}'), roaring64_dedup_import('two_ids', 'again', '{11}'),
	roaring64_dedup_forget('two_ids', 'again', 1), roaring64_dedup_claim('two_ids', 'again', 1);
CALL roaring64_dedup_fold('two_ids');
SELECT generation, ids, roaring64_dedup_count('two_ids', 'again') FROM two_ids_chunks WHERE key = 'again' ORDER BY generation;
SELECT roaring64_dedup_drop('two_ids');
-- whatever the clock said when they were claimed, and however many one fold takes
SELECT roaring64_dedup_create('order_of', keep => 10);
SELECT cardinality(roaring64_dedup_claim_many('order_of', 'k', ARRAY(SELECT i * 7919 % 100003 FROM generate_series(1, 80000) AS i)));
UPDATE order_of_claims SET claimed_at = clock_timestamp() - random() * interval '1 day';
CALL roaring64_dedup_fold('order_of');
SELECT bool_and(roaring64_dedup_seen('order_of', 'k', i * 7919 % 100003)) AS latest_kept FROM generate_series(79991, 80000) AS i;
DO $$
BEGIN
	FOR fold IN 1 .. 2 LOOP
		PERFORM roaring64_dedup_claim('order_of', 'k', 100003 + 10 * fold + i) FROM generate_series(1, 10) AS i;
		CALL roaring64_dedup_fold('order_of');
	END LOOP;
END $$;
SELECT roaring64_dedup_export('order_of', 'k') AS rest_forgotten;
SELECT roaring64_dedup_drop('order_of');

--
-- A window by time, on a clock that is watched: half an hour is at most an eighth
-- of it.  Time passes here by setting back what was read last.
--
SELECT roaring64_dedup_create('hours', remember => '4 hours');
CREATE PROCEDURE pass(dedup regclass, passed interval) LANGUAGE plpgsql AS $$
BEGIN
	WHILE passed > '0' LOOP
		EXECUTE format('UPDATE %s SET clock_read = clock_read - $1', dedup) USING least(passed, '30 minutes');
		CALL roaring64_dedup_fold(dedup);
		COMMIT;
		passed := passed - least(passed, '30 minutes');
	END LOOP;
END $$;
SELECT roaring64_dedup_claim('hours', 'k', 1), roaring64_dedup_claim('hours', 'silent', 1);
CALL pass('hours', '2 hours');
SELECT roaring64_dedup_claim('hours', 'k', 2);
CALL pass('hours', '2 hours');
SELECT roaring64_dedup_seen_many('hours', 'k', '{1,2}');
-- the clock jumps forth by years, and back, and forth; nothing is forgotten
UPDATE hours SET clock_read = clock_read - interval '9999 days';
CALL roaring64_dedup_fold('hours');
UPDATE hours SET clock_read = clock_read + interval '9999 days';
CALL roaring64_dedup_fold('hours');
UPDATE hours SET clock_read = clock_read - interval '9999 days';
CALL roaring64_dedup_fold('hours');
SELECT roaring64_dedup_seen_many('hours', 'k', '{1,2}');
CALL pass('hours', '5 hours');
-- all are forgotten, also of the key that nobody claims from, and new then
SELECT roaring64_dedup_seen_many('hours', 'k', '{1,2,3}'), roaring64_dedup_claim('hours', 'silent', 1), (SELECT count(*) FROM hours_chunks);
-- shorter: what is inside of both is kept
SELECT roaring64_dedup_claim('hours', 'k', 10);
CALL pass('hours', '1 hour');
SELECT roaring64_dedup_claim('hours', 'k', 11);
CALL roaring64_dedup_fold('hours');
SELECT roaring64_dedup_alter('hours', remember => '1 hour');
CALL roaring64_dedup_fold('hours');
SELECT roaring64_dedup_seen_many('hours', 'k', '{10,11}');

-- a window is taken away, and comes back: what was written meanwhile counts as
-- claimed when it does
SELECT roaring64_dedup_alter('hours');
SELECT roaring64_dedup_claim('hours', 'k', 20);
CALL pass('hours', '9 hours');
SELECT roaring64_dedup_alter('hours', remember => '1 hour');
CALL pass('hours', '4 hours');
SELECT roaring64_dedup_seen_many('hours', 'k', '{10,11,20}');
CALL pass('hours', '8 hours');
SELECT roaring64_dedup_seen_many('hours', 'k', '{10,11,20}');

-- An import passes claims that wait: these come into its generation, although it
-- is full, and not into the next one, where they would count as later ids.
SELECT roaring64_dedup_create('passed', keep => 10);
SELECT bool_and(roaring64_dedup_claim('passed', 'k', i)) FROM generate_series(1::bigint, 5) AS i;
SELECT roaring64_cardinality(roaring64_dedup_import('passed', 'k', '[100,112)'::int8range::roaring64));
CALL roaring64_dedup_fold('passed');
SELECT bool_and(roaring64_dedup_claim('passed', 'k', i)) FROM generate_series(200::bigint, 204) AS i;
CALL roaring64_dedup_fold('passed');
SELECT roaring64_dedup_claim('passed', 'k', 205::bigint);
CALL roaring64_dedup_fold('passed');
SELECT roaring64_dedup_seen('passed', 'k', 111::bigint), roaring64_dedup_count('passed', 'k');
SELECT roaring64_dedup_drop('passed');

-- A shorter window brings back what was written in the longer one: it goes within twice
-- the new one.  With a window by count before, or none, likewise.
SELECT roaring64_dedup_create('shorter', remember => '3650 days'), roaring64_dedup_create('shorter_uuids', remember => '3650 days', id_type => 'uuid');
SELECT roaring64_dedup_claim_many('shorter', 'k', '{1,2}'), roaring64_dedup_claim('shorter_uuids', 'k', zero)
FROM (SELECT repeat('0', 32)::uuid) AS u (zero);
CALL roaring64_dedup_fold('shorter');
CALL roaring64_dedup_fold('shorter_uuids');
SELECT roaring64_dedup_alter('shorter', remember => '1000 days'), roaring64_dedup_alter('shorter_uuids', remember => '1 hour');
SELECT roaring64_dedup_claim_many('shorter', 'k', '{3,4}'), roaring64_dedup_forget('shorter', 'k', 1);
CALL roaring64_dedup_fold('shorter');
SELECT roaring64_dedup_alter('shorter', remember => '365 days'), roaring64_dedup_alter('shorter', keep => 100);
SELECT roaring64_dedup_import('shorter', 'k', '{5}'), roaring64_dedup_alter('shorter', remember => '1 hour');
SELECT key, chunk, ids, generation - clock BETWEEN 1 AND 1800000000 AS soon FROM shorter_chunks, shorter;
SELECT generation - clock BETWEEN 1 AND 1800000000 AS soon FROM shorter_uuids_chunks, shorter_uuids;
CREATE PROCEDURE pass_eighths(dedup regclass, n integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		EXECUTE format('UPDATE %s SET clock_read = clock_read - remember', dedup);
		CALL roaring64_dedup_fold(dedup);
		COMMIT;
	END LOOP;
END $$;
CALL pass_eighths('shorter', 8);
CALL pass_eighths('shorter_uuids', 8);
SELECT roaring64_dedup_seen_many('shorter', 'k', '{1,2,3,4,5}'), roaring64_dedup_count('shorter_uuids', 'k');
CALL pass_eighths('shorter', 9);
CALL pass_eighths('shorter_uuids', 9);
SELECT roaring64_dedup_seen_many('shorter', 'k', '{1,2,3,4,5}'), roaring64_dedup_count('shorter_uuids', 'k'),
	(SELECT count(*) FROM shorter_windows) AS windows, (SELECT dropped > 0 FROM shorter) AS noted;
SELECT roaring64_dedup_drop('shorter'), roaring64_dedup_drop('shorter_uuids');

-- An id that is in two generations is one: claimed while it was imported
SELECT roaring64_dedup_create('twice', keep => 2);
SELECT roaring64_dedup_import('twice', 'k', '{1,2}');
INSERT INTO twice_claims (key, id) VALUES ('k', 1), ('k', 3);
CALL roaring64_dedup_fold('twice');
SELECT count(*) AS chunks, sum(roaring64_cardinality(ids)) AS ids, roaring64_dedup_count('twice', 'k'), roaring64_dedup_export('twice', 'k') FROM twice_chunks;
-- a row of windows goes with the last id, whatever took it
SELECT roaring64_dedup_claim('twice', 'gone', 1), roaring64_dedup_import('twice', 'imported', '{1}'), roaring64_dedup_claim('twice', 'stays', 1);
CALL roaring64_dedup_fold('twice');
SELECT roaring64_dedup_forget('twice', 'gone', 1), roaring64_dedup_forget('twice', 'imported', 1), roaring64_dedup_claim('twice', 'brief', 1), roaring64_dedup_forget('twice', 'brief', 1);
CALL roaring64_dedup_fold('twice');
SELECT key FROM twice_windows ORDER BY key;
-- a key that is forgotten as a whole, folded or not, and in savepoints
BEGIN;
SELECT roaring64_dedup_claim('twice', 'k', 9), roaring64_dedup_forget('twice', 'k', 3);
SAVEPOINT a;
SELECT roaring64_dedup_forget_key('twice', 'k'), roaring64_dedup_forget_key('twice', 'none');
SELECT roaring64_dedup_export('twice', 'k'), roaring64_dedup_claim('twice', 'k', 9);
ROLLBACK TO a;
SELECT roaring64_dedup_export('twice', 'k');
ROLLBACK;
SELECT roaring64_dedup_forget_key('twice', 'k');
SELECT roaring64_dedup_claim_many('twice', 'k', '{1,2,3}'), (SELECT count(*) FROM twice_chunks WHERE key = 'k') AS chunks, (SELECT array_agg(key) FROM twice_windows) AS windows;
CALL roaring64_dedup_fold('twice');
SELECT roaring64_dedup_export('twice', 'k');
SELECT roaring64_dedup_drop('twice');

--
-- Random changes of windows against what must still be remembered: ids that were
-- within the window ever since they were claimed, as of each change and now
--
CREATE FUNCTION as_id(id_type text, n bigint) RETURNS text
RETURN CASE id_type WHEN 'bigint' THEN n::text ELSE md5(n::text)::uuid::text END;
CREATE FUNCTION import(name text, key text, id_type text, numbers bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF id_type = 'bigint' THEN
		RETURN roaring64_cardinality(roaring64_dedup_import(name, key, roaring64_from_array(numbers)));
	END IF;
	RETURN cardinality(array_positions(roaring64_dedup_claim_many(name, key, ARRAY(SELECT as_id('uuid', n)::uuid FROM unnest(numbers) AS n)), true));
END $$;
CREATE TABLE oracle (n bigint PRIMARY KEY, claimed double precision, due boolean NOT NULL DEFAULT true);
CREATE PROCEDURE random_windows(name text, id_type text) LANGUAGE plpgsql AS $$
DECLARE
	seed double precision := random();
	now_is double precision := 0;
	last bigint := 0;
	first bigint;
	in_force text := 'none';
	bound bigint := 0;
	step double precision;
	missing bigint;
	kept bigint := 0;
BEGIN
	PERFORM setseed(seed);
	DELETE FROM oracle;
	PERFORM roaring64_dedup_create(name, id_type => id_type);
	FOR i IN 1 .. 160 LOOP
		CASE floor(random() * 8)::int
			WHEN 0, 1, 2 THEN
				first := last + 1;
				last := last + 1 + (random() * 12)::int;
				IF random() < 0.3 THEN
					IF import(name, 'k', id_type, ARRAY(SELECT generate_series(first, last))) <> last - first + 1 THEN RAISE 'seed %: % was not new', seed, last; END IF;
				ELSIF NOT (SELECT bool_and(roaring64_dedup_claim(name, 'k', as_id(id_type, n))) FROM generate_series(first, last) AS n) THEN
					RAISE 'seed %: % was not new', seed, last;
				END IF;
				INSERT INTO oracle SELECT n, now_is FROM generate_series(first, last) AS n;
			WHEN 3 THEN
				-- of at most an eighth of the shortest window, so that the clock sees it all
				step := random() * 10;
				now_is := now_is + step;
				EXECUTE format('UPDATE %I SET clock_read = clock_read - make_interval(secs => $1)', name) USING step;
				COMMIT;
				CALL roaring64_dedup_fold(name);
			WHEN 4 THEN
				IF random() < 0.2 THEN
					in_force := 'none'; bound := 0;
					PERFORM roaring64_dedup_alter(name);
				ELSIF random() < 0.5 THEN
					in_force := 'time'; bound := 80 + (random() * 200)::int;
					PERFORM roaring64_dedup_alter(name, remember => make_interval(secs => bound));
				ELSE
					in_force := 'count'; bound := 1 + (random() * 50)::int;
					PERFORM roaring64_dedup_alter(name, keep => bound);
				END IF;
			WHEN 5, 6 THEN
				IF random() < 0.7 THEN
					WITH gone AS (DELETE FROM oracle WHERE due AND random() < 0.3 RETURNING n)
					SELECT count(*) INTO missing FROM gone WHERE NOT roaring64_dedup_forget(name, 'k', as_id(id_type, n));
					IF missing > 0 THEN RAISE 'seed %: % ids could not be forgotten in step %', seed, missing, i; END IF;
				END IF;
			ELSE
				COMMIT;
				CALL roaring64_dedup_fold(name);
		END CASE;
		-- what has once been out of the window is not asked for any more
		UPDATE oracle AS o SET due = false WHERE (in_force = 'time' AND now_is - claimed > bound)
			OR (in_force = 'count' AND (SELECT count(*) FROM oracle AS later WHERE later.n > o.n) >= bound);
		SELECT count(*) FILTER (WHERE NOT seen), kept + count(*) INTO missing, kept
		FROM unnest(roaring64_dedup_seen_many(name, 'k', ARRAY(SELECT as_id(id_type, n) FROM oracle WHERE due))) AS seen;
		IF missing > 0 THEN RAISE 'seed %: % ids are forgotten early in step % with %: %', seed, missing, i, in_force, bound; END IF;
	END LOOP;
	PERFORM roaring64_dedup_alter(name, keep => 1);
	-- an id that is forgotten, of those that waited when a generation began, keeps another one longer
	FOR i IN 1 .. 200 LOOP
		last := last + 1;
		PERFORM roaring64_dedup_claim(name, 'k', as_id(id_type, last));
		COMMIT;
		CALL roaring64_dedup_fold(name);
		EXIT WHEN roaring64_dedup_count(name, 'k') = 1;
	END LOOP;
	IF roaring64_dedup_count(name, 'k') <> 1 THEN RAISE 'seed %: what is past the window is not forgotten', seed; END IF;
	IF kept < 300 THEN RAISE 'seed %: only % were looked for', seed, kept; END IF;
	PERFORM roaring64_dedup_drop(name);
END $$;
CALL random_windows('w1', 'bigint');
CALL random_windows('w2', 'uuid');

--
-- UUIDs
--
SELECT roaring64_dedup_create('uuids', id_type => 'uuid');
SELECT roaring64_dedup_claim('uuids', 'k', '550e8400-e29b-41d4-a716-446655440000'), roaring64_dedup_claim('uuids', 'k', '{550E8400-E29B-41D4-A716-446655440000}'),
	roaring64_dedup_claim('uuids', 'k', '550e8400-e29b-41d4-a716-446655440000'::uuid), roaring64_dedup_claim_many('uuids', 'k', ARRAY['550e8400-e29b-41d4-a716-446655440000', '00000000-0000-0000-0000-000000000000']::uuid[]);
CALL roaring64_dedup_fold('uuids');
SELECT key, chunk, ids FROM uuids_chunks;
SELECT roaring64_dedup_export_uuids('uuids', 'k'), roaring64_dedup_count('uuids', 'k'), roaring64_dedup_export_uuids('uuids', 'none'), roaring64_dedup_count('uuids', 'none');
SELECT outcome(s) FROM unnest(ARRAY['SELECT roaring64_dedup_claim(''uuids'', ''k'', 7)', 'SELECT roaring64_dedup_claim(''uuids'', ''k'', ''7001'')',
	'SELECT roaring64_dedup_claim_many(''uuids'', ''k'', ARRAY[1])', 'SELECT roaring64_dedup_claim_many(''uuids'', ''k'', ''{NULL}'')',
	'SELECT roaring64_dedup_import(''uuids'', ''k'', ''{1}'')', 'SELECT roaring64_dedup_export(''uuids'', ''k'')']) AS s;
-- of all chunks, how many there are, how many ids the largest has, and how many there are
-- in all; and what is not as it must be: ids that are not in a chunk's range, which ends
-- where the next one of any generation begins, or that do not ascend
CREATE FUNCTION number(id uuid) RETURNS bigint IMMUTABLE
RETURN ('x' || left(replace(id::text, '-', ''), 16))::bit(64)::bigint # (-9223372036854775807 - 1);
CREATE FUNCTION shape(name text, OUT chunks bigint, OUT most bigint, OUT ids bigint, OUT wrong bigint) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), max(cardinality(c.ids)), sum(cardinality(c.ids)), count(*) FILTER (WHERE NOT'
		' (number(c.ids[1]) >= chunk AND (next IS NULL OR number(c.ids[cardinality(c.ids)]) < next)'
		' AND c.ids = ARRAY(SELECT DISTINCT u FROM unnest(c.ids) AS u ORDER BY u)))'
		' FROM %1$I AS c, LATERAL (SELECT min(chunk) FROM %1$I AS n WHERE n.key = c.key AND n.chunk > c.chunk) AS n (next)', name || '_chunks')
	INTO chunks, most, ids, wrong;
END $$;
-- one chunk, and many at once
SELECT roaring64_dedup_create('alike', id_type => 'uuid'), roaring64_dedup_create('grows', id_type => 'uuid');
SELECT cardinality(roaring64_dedup_claim_many('uuids', 'k', ARRAY(SELECT md5(i::text)::uuid FROM generate_series(1, 200) AS i)));
CALL roaring64_dedup_fold('uuids');
SELECT * FROM shape('uuids');
SELECT cardinality(roaring64_dedup_claim_many('uuids', 'k', ARRAY(SELECT md5(i::text)::uuid FROM generate_series(1, 20000) AS i)));
CALL roaring64_dedup_fold('uuids');
SELECT * FROM shape('uuids');
-- ids with the same first 64 bits are one chunk, however many
CREATE FUNCTION zeros(n bigint) RETURNS uuid IMMUTABLE RETURN format('00000000-0000-0000-0000-%s', lpad(to_hex(n), 12, '0'))::uuid;
SELECT cardinality(roaring64_dedup_claim_many('alike', 'k', ARRAY(SELECT zeros(i) FROM generate_series(1, 2000) AS i)));
CALL roaring64_dedup_fold('alike');
SELECT cardinality(roaring64_dedup_claim_many('alike', 'k', ARRAY(SELECT zeros(i) FROM generate_series(2001, 3000) AS i)));
CALL roaring64_dedup_fold('alike');
SELECT * FROM shape('alike');
SELECT cardinality(roaring64_dedup_claim_many('alike', 'k', ARRAY(SELECT md5(i::text)::uuid FROM generate_series(1, 2000) AS i) || 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid));
CALL roaring64_dedup_fold('alike');
SELECT * FROM shape('alike');
SELECT count(*) FILTER (WHERE roaring64_dedup_seen('alike', 'k', zeros(n)) <> (n BETWEEN 1 AND 3000)), roaring64_dedup_seen('alike', 'k', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
	roaring64_dedup_seen('alike', 'k', 'ffffffff-ffff-ffff-ffff-fffffffffffe') FROM generate_series(0, 3100, 7) AS n;
-- a key that grows fold by fold, of ids at random and then of ids that ascend
DO $$
BEGIN
	FOR i IN 0 .. 35 LOOP
		PERFORM roaring64_dedup_claim_many('grows', 'k', ARRAY(SELECT md5(n::text)::uuid FROM generate_series(i * 2500 + 1, i * 2500 + 2500) AS n));
		CALL roaring64_dedup_fold('grows');
	END LOOP;
END $$;
SELECT chunks BETWEEN 361 AND 800 AS chunks, most <= 250 AS most, ids, wrong FROM shape('grows');
CREATE FUNCTION ascending(n bigint) RETURNS uuid IMMUTABLE RETURN ('ff' || lpad(to_hex(n), 14, '0') || left(md5(n::text), 16))::uuid;
DO $$
BEGIN
	FOR i IN 0 .. 9 LOOP
		PERFORM roaring64_dedup_claim_many('grows', 'k', ARRAY(SELECT ascending(n) FROM generate_series(i * 300 + 1, i * 300 + 300) AS n));
		CALL roaring64_dedup_fold('grows');
	END LOOP;
	PERFORM roaring64_dedup_claim_many('grows', 'k', ARRAY(SELECT ascending(n) FROM generate_series(3001, 10000) AS n));
	CALL roaring64_dedup_fold('grows');
END $$;
SELECT most <= 250 AS most, ids, wrong FROM shape('grows');
SELECT (SELECT count(*) FROM unnest(roaring64_dedup_claim_many('grows', 'k', ARRAY(SELECT md5(n::text)::uuid FROM generate_series(1, 90000) AS n))) AS new WHERE new) AS new,
	(SELECT count(*) FROM unnest(roaring64_dedup_forget_many('grows', 'k', ARRAY(SELECT md5(n::text)::uuid FROM generate_series(1, 90000, 2) AS n))) AS gone WHERE gone) AS gone, roaring64_dedup_count('grows', 'k');
CALL roaring64_dedup_fold('grows');
SELECT wrong FROM shape('grows');
SELECT roaring64_dedup_count('grows', 'k'), roaring64_dedup_export_uuids('grows', 'k') =
	ARRAY(SELECT md5(n::text)::uuid FROM generate_series(2, 90000, 2) AS n UNION SELECT ascending(n) FROM generate_series(1, 10000) AS n ORDER BY 1) AS exported;
SELECT count(*) FILTER (WHERE roaring64_dedup_seen('grows', 'k', md5(n::text)::uuid) <> (n <= 90000 AND n % 2 = 0)),
	count(*) FILTER (WHERE roaring64_dedup_seen('grows', 'k', ascending(n)) <> (n <= 10000)) FROM generate_series(1, 100000, 7) AS n;
SELECT (SELECT count(*) FROM unnest(roaring64_dedup_seen_many('grows', 'k', ARRAY(SELECT md5(n::text)::uuid FROM generate_series(1, 100000) AS n))) AS s WHERE s) AS random,
	(SELECT count(*) FROM unnest(roaring64_dedup_seen_many('grows', 'k', ARRAY(SELECT ascending(n) FROM generate_series(0, 20000) AS n))) AS s WHERE s) AS ascending;
-- chunks of several generations are cut together: each fold adds 700 ids with one of four first digits
CREATE FUNCTION turning(n bigint) RETURNS uuid IMMUTABLE RETURN (((n - 1) / 700 % 4)::text || substr(md5(n::text), 2))::uuid;
SELECT roaring64_dedup_create('turns', keep => 3000, id_type => 'uuid');
DO $$
BEGIN
	FOR i IN 0 .. 23 LOOP
		PERFORM roaring64_dedup_claim_many('turns', 'k', ARRAY(SELECT turning(n) FROM generate_series(i * 700 + 1, i * 700 + 700) AS n));
		CALL roaring64_dedup_fold('turns');
		ASSERT (SELECT wrong FROM shape('turns')) = 0;
		ASSERT (SELECT bool_and(roaring64_dedup_seen('turns', 'k', turning(n))) FROM generate_series(greatest(1, i * 700 - 2299), i * 700 + 700) AS n);
	END LOOP;
END $$;
SELECT count(DISTINCT generation) AS generations, count(*) > count(DISTINCT chunk) AS shared FROM turns_chunks;
-- what is not as it must be is split somehow
SELECT count(*), sum(cardinality(ids)) FROM _roaring64_uuids_split(ARRAY(SELECT ('00' || lpad(to_hex(n), 14, '0') || repeat('0', 16))::uuid
	FROM generate_series(1, 1195) AS n WHERE n NOT BETWEEN 201 AND 999), ARRAY[-9223372036854774808], ARRAY['00000000-0000-0000-0000-000000000000'::uuid]);
-- a key of which all is forgotten begins again with one chunk
SELECT count(*) FROM unnest(roaring64_dedup_forget_many('grows', 'k', roaring64_dedup_export_uuids('grows', 'k'))) AS f WHERE f;
CALL roaring64_dedup_fold('grows');
SELECT roaring64_dedup_claim_many('grows', 'k', ARRAY[md5('a'), md5('b')]::uuid[]);
CALL roaring64_dedup_fold('grows');
SELECT chunk, cardinality(ids) FROM grows_chunks ORDER BY chunk;
SELECT chunks, ids FROM roaring64_dedup_stats('grows');

--
-- Random operations against a table
--
CREATE TABLE plain (key text, n bigint, PRIMARY KEY (key, n));
CREATE PROCEDURE random_operations(name text, id_type text, bits integer, kept text, steps integer, guarded text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
	seed double precision := random();
	k text;
	x bigint;
	xs bigint[];
	ids text[];
	a text;
	b text;
BEGIN
	PERFORM setseed(seed);
	DELETE FROM plain;
	EXECUTE format('SELECT roaring64_dedup_create(%L, id_type => %L, chunk_bits => %L%s)', name, id_type, bits, kept);
	IF guarded IS NOT NULL THEN EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name || guarded); END IF;
	IF bits IS NULL THEN		-- many chunks
		INSERT INTO plain SELECT 'k1', n FROM generate_series(1000001, 1009000) AS n;
		PERFORM import(name, 'k1', id_type, ARRAY(SELECT generate_series(1000001, 1003000)::bigint)),
			import(name, 'k1', id_type, ARRAY(SELECT generate_series(1000001, 1009000)::bigint));
	END IF;
	FOR i IN 1 .. steps LOOP
		k := 'k' || (random() * 3)::int;
		x := (random() * 400 - 200)::bigint * CASE (random() * 2)::int WHEN 0 THEN 1 WHEN 1 THEN 4096 ELSE 45035996273704960 END;
		xs := ARRAY(SELECT x + (random() * 20)::int FROM generate_series(1, (random() * 30)::int));
		ids := ARRAY(SELECT as_id(id_type, n) FROM unnest(xs) AS n);
		a := NULL;
		b := NULL;
		CASE floor(random() * 10)::int
			WHEN 0, 1 THEN
				a := roaring64_dedup_claim(name, k, as_id(id_type, x));
				INSERT INTO plain VALUES (k, x) ON CONFLICT DO NOTHING;
				b := FOUND;
			WHEN 2, 3 THEN
				a := roaring64_dedup_forget(name, k, as_id(id_type, x));
				DELETE FROM plain AS p WHERE p.key = k AND p.n = x;
				b := FOUND;
			WHEN 4 THEN
				a := roaring64_dedup_claim_many(name, k, ids);
				b := ARRAY(SELECT NOT EXISTS (SELECT FROM plain AS p WHERE p.key = k AND p.n = u.n) AND u.place = array_position(xs, u.n)
						   FROM unnest(xs) WITH ORDINALITY AS u (n, place) ORDER BY place);
				INSERT INTO plain SELECT DISTINCT k, n FROM unnest(xs) AS n ON CONFLICT DO NOTHING;
			WHEN 5 THEN
				a := roaring64_dedup_forget_many(name, k, ids);
				b := ARRAY(SELECT EXISTS (SELECT FROM plain AS p WHERE p.key = k AND p.n = u.n) AND u.place = array_position(xs, u.n)
						   FROM unnest(xs) WITH ORDINALITY AS u (n, place) ORDER BY place);
				DELETE FROM plain AS p WHERE p.key = k AND p.n = ANY (xs);
			WHEN 6 THEN
				a := roaring64_dedup_seen(name, k, as_id(id_type, x)) || ' ' || roaring64_dedup_seen_many(name, k, ids)::text;
				b := EXISTS (SELECT FROM plain AS p WHERE p.key = k AND p.n = x) || ' '
					|| ARRAY(SELECT EXISTS (SELECT FROM plain AS p WHERE p.key = k AND p.n = u.n) FROM unnest(xs) WITH ORDINALITY AS u (n, place) ORDER BY place)::text;
			WHEN 7 THEN
				a := import(name, k, id_type, xs);
				INSERT INTO plain SELECT DISTINCT k, n FROM unnest(xs) AS n ON CONFLICT DO NOTHING;
				GET DIAGNOSTICS b = ROW_COUNT;
			WHEN 8 THEN
				IF id_type = 'bigint' THEN
					a := roaring64_dedup_export(name, k)::text || roaring64_dedup_count(name, k);
					b := (SELECT coalesce(roaring64_agg(n), '{}')::text || count(*) FROM plain AS p WHERE p.key = k);
				ELSE
					a := roaring64_dedup_export_uuids(name, k)::text || roaring64_dedup_count(name, k);
					b := (SELECT coalesce(array_agg(id ORDER BY id), '{}')::text || count(*) FROM (
						SELECT as_id('uuid', n)::uuid AS id
						FROM plain AS p WHERE p.key = k) AS p);
				END IF;
			ELSE
				COMMIT;
				CALL roaring64_dedup_fold(name);
		END CASE;
		IF a IS DISTINCT FROM b THEN RAISE 'seed %, step %: % instead of %', seed, i, a, b; END IF;
	END LOOP;
	ASSERT id_type = 'bigint' OR (SELECT wrong FROM shape(name)) = 0;
	PERFORM roaring64_dedup_drop(name);
END $$;
CALL random_operations('r1', 'bigint', 20, '', 200);
CALL random_operations('r2', 'bigint', 8, ', keep => 1000000', 200);
CALL random_operations('r3', 'bigint', 60, ', remember => ''1 day''', 200);
CALL random_operations('r4', 'uuid', NULL, '', 200);
CALL random_operations('r5', 'uuid', NULL, ', keep => 1000000', 200);
CALL random_operations('r6', 'uuid', NULL, ', remember => ''1 day''', 200);
-- where rows are not found by their index but by statements: in one table or the other
CALL random_operations('r8', 'bigint', 20, '', 200, '_claims');
CALL random_operations('r9', 'bigint', 8, ', keep => 1000000', 200, '_chunks');
CALL random_operations('ra', 'uuid', NULL, '', 200, '_chunks');
CALL random_operations('rb', 'uuid', NULL, ', remember => ''1 day''', 200, '_claims');

--
-- A set lacks the columns of options that came after it, and has those of a later version,
-- of which nothing is executed.
CREATE TYPE later AS ENUM ('not known yet');
CREATE FUNCTION as_json(later) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RAISE 'executed by %', current_user; END $$;
CREATE CAST (later AS json) WITH FUNCTION as_json(later);
SELECT roaring64_dedup_create('older'), roaring64_dedup_create('older_uuids', id_type => 'uuid');
ALTER TABLE older DROP remember, DROP keep, ADD later later NOT NULL DEFAULT 'not known yet';
ALTER TABLE older_uuids DROP remember, DROP keep, DROP chunk_bits;
SELECT roaring64_dedup_claim_many('older', 'k', '{1,2,3}'), roaring64_dedup_claim('older_uuids', 'k', repeat('0', 32));
CALL roaring64_dedup_fold('older');
CALL roaring64_dedup_fold('older_uuids');
SELECT roaring64_dedup_forget('older', 'k', 2), roaring64_dedup_import('older', 'k', '{3,4}'), roaring64_dedup_claim('older_uuids', 'k', repeat('0', 32));
CALL roaring64_dedup_fold('older');
SELECT roaring64_dedup_export('older', 'k'), roaring64_dedup_count('older', 'k'), roaring64_dedup_count('older_uuids', 'k'), s.* FROM roaring64_dedup_stats('older') AS s;
-- what is written into statements has its type
ALTER TABLE older ADD keep text;
ALTER TABLE older_uuids DROP dropped;
SELECT outcome('SELECT roaring64_dedup_count(''older'', ''k'')'), outcome('SELECT roaring64_dedup_count(''older_uuids'', ''k'')');
ALTER TABLE older DROP keep;
ALTER TABLE older_uuids ADD dropped bigint NOT NULL DEFAULT -1;
-- a view is none of its tables
ALTER TABLE older_claims RENAME TO older_kept;
CREATE VIEW older_claims AS SELECT * FROM older_kept;
CREATE VIEW older_view AS SELECT * FROM older_uuids;
SELECT outcome('SELECT roaring64_dedup_count(''older'', ''k'')'), outcome('SELECT roaring64_dedup_count(''older_view'', ''k'')');
DROP VIEW older_claims, older_view;
ALTER TABLE older_kept RENAME TO older_claims;
SELECT roaring64_dedup_drop('older'), roaring64_dedup_drop('older_uuids');

-- Tables are ordinary ones: moved, renamed, altered, cut, while plans are kept
--
SELECT roaring64_dedup_create('moving');
SELECT roaring64_dedup_claim_many('moving', 'k', '{1,2}');
ALTER TABLE moving RENAME TO moved;
SELECT roaring64_dedup_claim_many('moved', 'k', '{2,3}');
CREATE SCHEMA dedup_elsewhere;
BEGIN;
ALTER TABLE moved SET SCHEMA dedup_elsewhere;
ALTER TABLE moving_claims SET SCHEMA dedup_elsewhere;
ALTER TABLE moving_chunks SET SCHEMA dedup_elsewhere;
ALTER TABLE moving_windows SET SCHEMA dedup_elsewhere;
SELECT roaring64_dedup_claim_many('dedup_elsewhere.moved', 'k', '{3,4}'), roaring64_dedup_seen('dedup_elsewhere.moved', 'k', 1);
COMMIT;
ALTER SCHEMA dedup_elsewhere RENAME TO dedup_again;
CALL roaring64_dedup_fold('dedup_again.moved');
SELECT roaring64_dedup_claim_many('dedup_again.moved', 'k', '{4,5}'), roaring64_dedup_seen('dedup_again.moved', 'k', 1);
ALTER TABLE dedup_again.moving_claims RENAME TO claims_too;
SELECT outcome('SELECT roaring64_dedup_claim(''dedup_again.moved'', ''k'', 5)');
UPDATE dedup_again.moved SET claims = 'claims_too';
SELECT roaring64_dedup_claim_many('dedup_again.moved', 'k', '{5,6}');
-- a table in the place of another is not taken for it
CREATE TABLE dedup_again.moving_claims (key int);
SELECT roaring64_dedup_claim_many('dedup_again.moved', 'k', '{6,7}');
ALTER TABLE dedup_again.moving_chunks ALTER ids TYPE bytea USING ids::bytea;
SELECT outcome('SELECT roaring64_dedup_claim(''dedup_again.moved'', ''k'', 55)');
SELECT outcome('SELECT roaring64_dedup_seen_many(''dedup_again.moved'', ''k'', ''{5}'')');
ALTER TABLE dedup_again.moving_chunks ALTER ids TYPE roaring64 USING ids::roaring64;
-- nor one that a trigger has altered meanwhile
CREATE FUNCTION alter_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	ALTER TABLE dedup_again.moving_chunks ALTER ids TYPE bigint USING 77;
	RETURN NEW;
END $$;
CREATE TRIGGER alter_chunks BEFORE INSERT ON dedup_again.claims_too FOR EACH ROW EXECUTE FUNCTION alter_chunks();
SELECT outcome('SELECT roaring64_dedup_claim(''dedup_again.moved'', ''k'', 77)');
SELECT outcome('SELECT roaring64_dedup_claim_many(''dedup_again.moved'', ''k'', ''{77,78}'')');
DROP TRIGGER alter_chunks ON dedup_again.claims_too;
VACUUM FULL dedup_again.moving_chunks;
REINDEX TABLE dedup_again.claims_too;
SELECT roaring64_dedup_claim_many('dedup_again.moved', 'k', '{1,7,8}');
-- rows are found by the index, also after the table was empty and is not
-- analyzed, and whatever makes the plans anew
CREATE FUNCTION scans() RETURNS bigint
RETURN (SELECT sum(seq_scan) FROM pg_stat_xact_user_tables WHERE relname LIKE 'grown\_c%');
SELECT roaring64_dedup_create('grown');
ALTER TABLE grown_claims SET (autovacuum_enabled = false);
ALTER TABLE grown_chunks SET (autovacuum_enabled = false);
VACUUM ANALYZE grown_claims, grown_chunks;
SELECT roaring64_dedup_claim('grown', 'k', i) FROM generate_series(-7, -1) AS i;
BEGIN;
INSERT INTO grown_claims (key, id) SELECT 'k', i FROM generate_series(1, 50000) AS i;
SELECT scans() AS scans \gset
SELECT roaring64_dedup_claim('grown', 'k', 1), roaring64_dedup_claim('grown', 'k', -8), roaring64_dedup_seen('grown', 'k', 2);
DISCARD PLANS;
SELECT roaring64_dedup_claim('grown', 'k', 3), roaring64_dedup_claim('grown', 'k', -9), roaring64_dedup_seen('grown', 'k', 4);
SET LOCAL search_path = dedup_test, public, pg_catalog;
SELECT roaring64_dedup_claim('grown', 'k', 5), roaring64_dedup_claim_many('grown', 'k', '{6,-10}'), roaring64_dedup_seen_many('grown', 'k', '{7,-11}');
SELECT scans() - :scans AS scans, current_setting('enable_seqscan');
SELECT roaring64_dedup_forget_many('grown', 'k', '{8,9}');
SELECT sum(seq_tup_read) AS read FROM pg_stat_xact_user_tables WHERE relname LIKE 'grown\_c%';
COMMIT;
DROP FUNCTION scans;
SELECT roaring64_dedup_drop('grown');
-- of a hundred sets plans are kept; in a transaction of all, but once
SELECT count(roaring64_dedup_create('many' || i)) FROM generate_series(1, 101) AS i;
BEGIN;
SELECT count(*) FILTER (WHERE roaring64_dedup_claim(('many' || i % 101 + 1)::regclass, 'k', i)) AS claimed FROM generate_series(101, 403) AS i;
SELECT count(*) BETWEEN 101 AND 201 AS once FROM pg_backend_memory_contexts WHERE name = 'roaring64 dedup set';
COMMIT;
SELECT count(*) <= 100 AS bounded FROM pg_backend_memory_contexts WHERE name = 'roaring64 dedup set';
SELECT count(*) FILTER (WHERE roaring64_dedup_seen(('many' || i % 101 + 1)::regclass, 'k', i)) AS seen FROM generate_series(101, 201) AS i;
SELECT count(*) FROM generate_series(1, 101) AS i, roaring64_dedup_drop(('many' || i)::regclass);
-- a child's rows would be found by some statements and not by others
SELECT outcome(format('CREATE TABLE child () INHERITS (seen_%s); SELECT roaring64_dedup_claim(''seen'', ''k'', 1)', name)) FROM unnest('{claims,chunks,windows}'::text[]) AS name;
SELECT roaring64_dedup_claim('seen', 'k', 1);
-- errors of triggers keep their hints
SELECT roaring64_dedup_create('triggered');
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE insufficient_privilege USING MESSAGE = 'not by you', HINT = 'Ask the owner.';
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON triggered_claims FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT roaring64_dedup_claim('triggered', 'k', 5);
SELECT roaring64_dedup_drop('triggered');
-- all that only reads can be part of a parallel plan
SELECT set_config(name, CASE vartype WHEN 'bool' THEN 'on' ELSE '1' END, false) FROM pg_settings
WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \g /dev/null
SELECT roaring64_dedup_count('seen', 'k') > 0 AS count, roaring64_dedup_export('seen', 'k') @> 1::bigint AS export, roaring64_dedup_seen('seen', 'k', 1) AS seen,
	roaring64_dedup_seen_many('seen', 'k', '{1,99}') AS seen_many, (roaring64_dedup_stats('seen')).chunks > 0 AS stats, count(*) > 0 AS rows FROM pg_class;
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \g /dev/null

--
-- Row security is that of the tables
--
SELECT roaring64_dedup_create('guarded');
SELECT roaring64_dedup_claim('guarded', 'mine', 1), roaring64_dedup_claim('guarded', 'theirs', 1);
CREATE ROLE dedup_tenant;
GRANT USAGE ON SCHEMA dedup_test TO dedup_tenant;
GRANT SELECT ON guarded, guarded_windows TO dedup_tenant;
GRANT SELECT, INSERT, UPDATE ON guarded_claims TO dedup_tenant;
GRANT SELECT ON guarded_chunks TO dedup_tenant;
ALTER TABLE guarded_claims ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON guarded_claims USING (key = 'mine');
SET ROLE dedup_tenant;
SELECT roaring64_dedup_claim('guarded', 'mine', 1), roaring64_dedup_claim('guarded', 'mine', 2), roaring64_dedup_seen('guarded', 'theirs', 1);
SELECT outcome('SELECT roaring64_dedup_claim(''guarded'', ''theirs'', 2)');
RESET ROLE;
-- of its options, too, and says so
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
SET ROLE dedup_tenant;
\set SHOW_CONTEXT never
SELECT roaring64_dedup_count('guarded', 'mine');
\set SHOW_CONTEXT errors
RESET ROLE;

--
-- In a trigger of the user's, as on the page; a key that is compressed is taken
-- for as long as it is
--
CREATE TABLE inbox (queue text, id bigint, body text);
CREATE FUNCTION once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF roaring64_dedup_claim('dedup_test.recent', NEW.queue, NEW.id) THEN RETURN NEW; END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER once BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION once();
INSERT INTO inbox VALUES ('q', 1, 'a'), ('q', 2, 'b'), ('q', 1, 'c') RETURNING *;
SELECT outcome('INSERT INTO inbox VALUES (''k'', 5, ''a'')'), outcome('INSERT INTO inbox VALUES (''k'', 240, ''a'')'),
	outcome('INSERT INTO inbox VALUES (NULL, 4, ''a'')'), outcome('INSERT INTO inbox VALUES (''q'', NULL, ''a'')');
CREATE TABLE outbox (LIKE inbox);
INSERT INTO outbox VALUES (repeat('k', 50000), 1);
SELECT pg_column_size(queue) < 1024 AS compressed, outcome('INSERT INTO inbox SELECT * FROM outbox') FROM outbox;

SET client_min_messages = warning;
DROP SCHEMA dedup_test, dedup_again CASCADE;
DROP ROLE dedup_tenant;
