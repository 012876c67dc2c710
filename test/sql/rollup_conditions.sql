--
-- Conditions of rollups mean what they mean to their creator, for good: whatever the search_path
-- and the settings of those who write, fold and read; or they are refused by name.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA conditions;
SET search_path = conditions, public;
\set SHOW_CONTEXT never

-- words that are equal whatever their case; without these operators, they are equal as records
CREATE TYPE word AS (w text);
CREATE FUNCTION word_eq(word, word) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN lower($1.w) = lower($2.w);
CREATE FUNCTION word_ne(word, word) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN lower($1.w) <> lower($2.w);
CREATE FUNCTION word_cmp(word, word) RETURNS int LANGUAGE sql IMMUTABLE RETURN bttextcmp(lower($1.w), lower($2.w));
CREATE FUNCTION word_lt(word, word) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN lower($1.w) < lower($2.w);
CREATE FUNCTION word_gt(word, word) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN lower($1.w) > lower($2.w);
CREATE OPERATOR = (LEFTARG = word, RIGHTARG = word, FUNCTION = word_eq);
CREATE OPERATOR <> (LEFTARG = word, RIGHTARG = word, FUNCTION = word_ne);
CREATE OPERATOR < (LEFTARG = word, RIGHTARG = word, FUNCTION = word_lt);
CREATE OPERATOR > (LEFTARG = word, RIGHTARG = word, FUNCTION = word_gt);
CREATE OPERATOR CLASS word_ops DEFAULT FOR TYPE word USING btree AS
	OPERATOR 1 <, OPERATOR 3 =, OPERATOR 5 >, FUNCTION 1 word_cmp(word, word);
CREATE FUNCTION is_b(word) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN $1 = ROW('b')::word;
CREATE FUNCTION needs_path(word) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN is_b($1); END';
CREATE FUNCTION has_path(word) RETURNS boolean LANGUAGE plpgsql IMMUTABLE SET search_path = conditions, public AS 'BEGIN RETURN is_b($1); END';
-- the same operators for others, who mean something else
CREATE SCHEMA elsewhere;
CREATE FUNCTION elsewhere.never(word, word) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN false;
CREATE FUNCTION elsewhere.never(int, int) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN false;
CREATE FUNCTION elsewhere.never(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN false;
CREATE OPERATOR elsewhere.= (LEFTARG = word, RIGHTARG = word, FUNCTION = elsewhere.never);
CREATE OPERATOR elsewhere.= (LEFTARG = int, RIGHTARG = int, FUNCTION = elsewhere.never);
CREATE OPERATOR elsewhere.= (LEFTARG = text, RIGHTARG = text, FUNCTION = elsewhere.never);
CREATE OPERATOR elsewhere.< (LEFTARG = int, RIGHTARG = int, FUNCTION = elsewhere.never);
CREATE DOMAIN elsewhere.date AS text;

CREATE TABLE doc (g int NOT NULL, id int NOT NULL, kind word, other word, n int, t text, s roaring64, at timestamptz, PRIMARY KEY (g, id));
CREATE TABLE sample AS SELECT 1 + i % 3 AS g, i AS id, CASE WHEN i % 5 > 0 THEN ROW((ARRAY['a', 'B', 'b', 'c'])[1 + i % 4])::word END AS kind,
	ROW((ARRAY['b', 'C'])[1 + i % 2])::word AS other, nullif(i % 7, 0) AS n, (ARRAY['x', 'y', NULL])[1 + i % 3] AS t,
	CASE WHEN i % 2 = 0 THEN '{1,2}'::roaring64 WHEN i % 3 = 0 THEN '{}'::roaring64 END AS s,
	'2025-12-31 12:00+00'::timestamptz + i * interval '1 hour' AS at
	FROM generate_series(1, 60) AS i;
INSERT INTO doc SELECT * FROM sample WHERE id <= 30;
CREATE TABLE condition (n int GENERATED ALWAYS AS IDENTITY, condition text);
INSERT INTO condition (condition) VALUES
	('kind = ROW(''b'')::word'), ('kind <> ROW(''b'')::word'), ('kind IS DISTINCT FROM ROW(''b'')::word'), ('kind IS NOT DISTINCT FROM ROW(''b'')::word'),
	('kind IS DISTINCT FROM other'), ('nullif(kind, ROW(''b'')::word) IS NULL'), ('nullif(kind, other) IS NOT NULL'),
	('CASE kind WHEN ROW(''b'')::word THEN true WHEN other THEN false END'), ('CASE WHEN kind = other THEN true END'),
	('(kind, n) = (ROW(''b'')::word, 3)'), ('(kind, n) < (ROW(''b'')::word, 3)'), ('(kind, n) IS DISTINCT FROM (other, n)'), ('(kind, n) >= (other, 2)'),
	('kind IN (ROW(''b'')::word, ROW(''c'')::word)'), ('kind NOT IN (other)'), ('kind = ANY (ARRAY[other, ROW(''b'')::word])'),
	('(kind, n) IN ((ROW(''b'')::word, 3), (other, 2))'), ('NOT kind > other'), ('greatest(kind, other) = other'),
	('is_b(kind)'), ('has_path(kind)'), ('needs_path(kind)'), ('kind::text = ''(b)'''), ('(kind).w = ''b'''), ('kind IS NULL'), ('kind IS NOT NULL'),
	('n = 3'), ('n IS DISTINCT FROM 3'), ('nullif(n, 3) < 5'), ('CASE n WHEN 3 THEN true END'), ('(n, t) < (3, ''y'')'), ('t IS DISTINCT FROM ''x'''), ('t IN (''x'', ''y'')'),
	('n::text || t = ''3x'''), ('at::date = ''2026-01-01'''), ('(at AT TIME ZONE ''UTC'')::date = ''2026-01-01'''), ('at > ''2026-01-01 05:00'''), ('doc.n > 3'), ('conditions.doc.n > 3'),
	('s IS DISTINCT FROM ''{1,2}'''), ('nullif(s, ''{1,2}'') IS NULL'), ('s @> 1::bigint'), ('s = ''{}'''), ('CASE s WHEN ''{}'' THEN true END'), ('NOT (n > 3 OR t = ''x'')'),
	('t ~ ''[{]x}'' OR t = ''{n}'''), ('n > 3 -- more'), ('NULL'), ('true'), ('doc IS NOT NULL'), ('n > random()'), ('n > (SELECT 3)'), ('n'), ('gone > 1');
-- under two paths, in one of which built-in operators are not the first
\set VERBOSITY terse
SET search_path = elsewhere, conditions, public, pg_catalog;
SELECT format('CALL roaring64_rollup_create(''conditions.doc'', ''conditions.mine%1$s'', ''{g}'', ''id'', %2$L)', n, json_build_object('ids', condition)) FROM condition
WHERE n OPERATOR(pg_catalog.=) ANY ('{3,6,8,10,14,19,20,22,28,30,32,35}') \gexec
SET search_path = conditions, public;
SELECT format('CALL roaring64_rollup_create(''conditions.doc'', ''conditions.set%1$s'', ''{g}'', ''id'', %2$L)', n, json_build_object('ids', condition)) FROM condition \gexec
\set VERBOSITY default
-- written, folded and read with others, and with other settings
SET search_path = pg_catalog;
SET timezone = 'Asia/Tokyo';
INSERT INTO conditions.doc SELECT * FROM conditions.sample WHERE id > 30 AND id < 50;
SET search_path = elsewhere, public, conditions, pg_catalog;
INSERT INTO conditions.doc SELECT * FROM conditions.sample WHERE id >= 50;
UPDATE conditions.doc SET kind = other WHERE id % 11 OPERATOR(pg_catalog.=) 0;
DELETE FROM conditions.doc WHERE id % 13 OPERATOR(pg_catalog.=) 0;
SET search_path = pg_catalog;
SELECT format('CALL public.roaring64_rollup_fold(%L)', oid::regclass) FROM pg_class
WHERE relname ~ '^(mine|set)[0-9]*[02468]$' AND relnamespace = 'conditions'::regnamespace ORDER BY oid \gexec
RESET timezone;
CREATE FUNCTION conditions.held(target text) RETURNS public.roaring64 LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
	ids public.roaring64;
BEGIN
	IF to_regclass('conditions.' || target) IS NOT NULL THEN
		EXECUTE format('SELECT public.roaring64_or_agg(ids) FROM conditions.%I', target || '_now') INTO ids;
		RETURN coalesce(ids, '{}');
	END IF;
	RETURN NULL;
END $$;
-- as plain SQL in the creators' sessions
CREATE FUNCTION conditions.meant(condition text) RETURNS public.roaring64 LANGUAGE plpgsql AS $$
DECLARE
	ids public.roaring64;
BEGIN
	EXECUTE pg_catalog.format(E'SELECT coalesce(public.roaring64_agg(id) FILTER (WHERE %s\n), ''{}'') FROM conditions.doc', condition) INTO ids;
	RETURN ids;
EXCEPTION WHEN OTHERS THEN
	RETURN NULL;
END $$;
SET search_path = elsewhere, conditions, public, pg_catalog;
CREATE TABLE conditions.result AS SELECT n, condition, held('mine' || n) AS mine, meant(condition) AS mine_meant FROM condition;
SET search_path = conditions, public;
ALTER TABLE result ADD COLUMN theirs roaring64, ADD COLUMN theirs_meant roaring64;
UPDATE result SET theirs = held('set' || n), theirs_meant = meant(condition);
SELECT n, condition, v.*
FROM result, LATERAL (SELECT CASE WHEN n NOT IN (3, 6, 8, 10, 14, 19, 20, 22, 28, 30, 32, 35) THEN '' WHEN mine IS NULL THEN 'refused' WHEN mine = mine_meant THEN 'equal' ELSE 'wrong' END AS mine,
	CASE WHEN theirs IS NULL THEN 'refused' WHEN theirs = theirs_meant THEN 'equal' ELSE 'wrong' END AS theirs,
	roaring64_cardinality(mine_meant) AS n_mine, roaring64_cardinality(theirs_meant) AS n_theirs) AS v ORDER BY n;
SELECT relname, v FROM pg_class, roaring64_rollup_verify(pg_class.oid) AS v WHERE relname ~ '^(mine|set)[0-9]+$' AND relnamespace = 'conditions'::regnamespace;
-- a dump writes the view, and restores it with an empty search_path: where a condition would mean something else, nothing goes on
SELECT pg_get_viewdef('set3_rows') AS third, pg_get_viewdef('set28_rows') AS other \gset
SET search_path = '';
SELECT replace(replace(:'third', '::word', '::conditions.word'), 'ONLY doc', 'ONLY conditions.doc') AS third, replace(:'other', 'ONLY doc', 'ONLY conditions.doc') AS other \gset
CREATE OR REPLACE VIEW conditions.set3_rows AS :third
CREATE OR REPLACE VIEW conditions.set28_rows AS :other
SET search_path = conditions, public;
CALL roaring64_rollup_fold('set3');
SELECT state FROM roaring64_rollup_stats('set28');

--
-- Literals
--
-- a literal means what it meant to who gave it, in every session
SET timezone = 'America/New_York';
SET intervalstyle = 'sql_standard';
SET datestyle = 'SQL, DMY';
SET extra_float_digits = 0;
CREATE TABLE timed (k int, id int, at timestamptz, took interval, f float8, PRIMARY KEY (k, id));
INSERT INTO timed SELECT 1, i, '2025-12-31 12:00+00'::timestamptz + i * interval '1 hour', i * interval '1 hour', 0.1::float8 + CASE WHEN i > 20 THEN 0.2::float8 ELSE 0 END FROM generate_series(1, 48) i;
CALL roaring64_rollup_create('timed', 'timed_sets', '{k}', 'id', '{"late": "at >= ''2026-01-01 00:00''", "day": "at < ''02/01/2026''", "long": "took > ''-1 23:00''", "small": "f >= ''0.30000000000000004''"}');
SELECT roaring64_cardinality(late) AS late, roaring64_cardinality(day) AS day, roaring64_cardinality(long) AS long, roaring64_cardinality(small) AS small FROM timed_sets_now;
SELECT count(*) FILTER (WHERE at >= '2026-01-01 00:00') AS late, count(*) FILTER (WHERE at < '02/01/2026') AS day, count(*) FILTER (WHERE took > '-1 23:00') AS long, count(*) FILTER (WHERE f >= '0.30000000000000004') AS small FROM timed;
SET timezone = 'Asia/Tokyo';
SET intervalstyle = 'postgres';
SET datestyle = 'ISO, MDY';
RESET extra_float_digits;
UPDATE timed SET id = id + 100;
SELECT roaring64_cardinality(late) AS late, roaring64_cardinality(day) AS day, roaring64_cardinality(long) AS long, roaring64_cardinality(small) AS small FROM timed_sets_now;
SELECT count(*) FROM roaring64_rollup_verify('timed_sets');
RESET timezone;
-- and is one expression: nothing of it is executed
SET client_min_messages = notice;
CREATE FUNCTION boom() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN CREATE TABLE conditions.injected (); RETURN true; END $$;
CREATE FUNCTION refused(set_name text, condition text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM _roaring64_rollup_condition('doc', 'id', set_name, condition, current_setting('search_path'));
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
SELECT refused(key, value) FROM jsonb_each_text(
	'{"a": "true); CREATE TABLE conditions.injected (x int); --", "b": "true); CREATE TABLE conditions.injected (x int); SELECT (true",
	"c": "true]; CREATE TABLE conditions.injected (x int); SELECT ARRAY[true", "d": "conditions.boom()", "e": "true) WITH (fillfactor = 10", "f": "true /*",
	"g": "'' || $a$", "h": "true, false", "i": "SELECT true", "j": "(SELECT conditions.boom())", "k": "x''] ; CREATE TABLE conditions.injected (x int); SELECT (1",
	"l": "n > 0 -- positive", "m": "n > 0 AND\nid > 0"}') AS c;
SELECT to_regclass('conditions.injected');
SET client_min_messages = warning;
-- a newline, a quote, a dollar and a % in names
CREATE TABLE "new
line $$ 'x' %s" ("k
%s" int, "i'd$body$" int, PRIMARY KEY ("k
%s", "i'd$body$"));
CALL roaring64_rollup_create(E'"new\nline $$ ''x'' %s"', E'"sets\n; DROP TABLE conditions.doc; -- %s"', E'{"k\n%s"}', 'i''d$body$', E'{"a\\n%s": true}');
INSERT INTO "new
line $$ 'x' %s" VALUES (1, 2), (1, 3);
DELETE FROM "new
line $$ 'x' %s" WHERE "i'd$body$" = 3;
SELECT * FROM "sets
; DROP TABLE conditions.doc; -- %s_now";
SELECT count(*) FROM roaring64_rollup_verify(E'"sets\n; DROP TABLE conditions.doc; -- %s"');
SELECT roaring64_rollup_drop(E'"sets\n; DROP TABLE conditions.doc; -- %s"');

--
-- Conditions of the row as a whole, which is not what it was once it has more columns
--
CREATE TABLE letter (sender int, id int, PRIMARY KEY (sender, id));
CALL roaring64_rollup_create('letter', 'whole', '{sender}', 'id', '{"full": "letter IS NOT NULL", "ids": "letter = letter"}');

-- a built-in operator of arrays calls those of the elements' type, whose functions
-- must not find a writer's under the names that they use
CREATE TYPE ct AS (n int);
CREATE FUNCTION ct_cmp(ct, ct) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN btint4cmp(abs($1.n), abs($2.n)); END';
CREATE FUNCTION ct_eq(ct, ct) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN int4eq(abs($1.n), abs($2.n)); END';
CREATE OPERATOR = (LEFTARG = ct, RIGHTARG = ct, FUNCTION = ct_eq);
CREATE OPERATOR CLASS ct_ops DEFAULT FOR TYPE ct USING btree AS OPERATOR 3 =, FUNCTION 1 ct_cmp(ct, ct);
CREATE TABLE crates (k int NOT NULL, id int, a ct[], b ct[]);
CALL roaring64_rollup_create('crates', 'crate_sets', '{k}', 'id', '{"same": "a = b"}', deletes => 'keep');
CREATE SCHEMA trap;
CREATE FUNCTION trap.abs(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''trapped''; RETURN $1; END';
SET search_path = trap, pg_catalog, conditions, public;
INSERT INTO crates VALUES (1, 1, ARRAY[ROW(-1)::ct], ARRAY[ROW(1)::ct]);
SET search_path = conditions, public;
SELECT * FROM crate_sets_now;
DROP FUNCTION trap.abs;
DROP SCHEMA trap;

DROP SCHEMA conditions, elsewhere CASCADE;
