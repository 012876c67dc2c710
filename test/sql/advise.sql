--
-- Advice on how to store a column is compared with what its statements do: each is
-- run, what is stored is measured, and the statement is undone.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
RESET client_min_messages;
CREATE SCHEMA advise;
SET search_path = advise, public;
\set SHOW_CONTEXT never

CREATE TABLE sequence AS
SELECT u AS id, roaring64_agg(u * 1200 + i) AS ids FROM generate_series(1, 40) u, generate_series(1, 1200) i GROUP BY u;
CREATE TABLE snowflake AS
SELECT u AS id, roaring64_agg(((1279929600000 + (hashint8extended(i, u) & 1048575)) << 22) | ((i * 7919 % 4) << 12) | (i % 3)) AS ids
FROM generate_series(1, 3) u, generate_series(1::bigint, 12000) i GROUP BY u;
CREATE TABLE packed AS
SELECT id, (SELECT roaring64_agg(roaring64_snowflake_pack(i)) FROM roaring64_elements(ids) i) AS ids FROM snowflake;
CREATE TABLE random AS
SELECT u AS id, roaring64_agg(hashint8extended(i, u)) AS ids FROM generate_series(1, 3) u, generate_series(1::bigint, 5000) i GROUP BY u;
CREATE TABLE small AS
SELECT u AS id, roaring64_agg(hashint8extended(i, u) & 1048575) AS ids FROM generate_series(1, 1500) u, generate_series(1::bigint, 5) i GROUP BY u;
CREATE TABLE huge AS
SELECT u AS id, roaring64_agg(hashint8extended(i, u) & 33554431) AS ids FROM generate_series(1, 2) u, generate_series(1::bigint, 60000) i GROUP BY u;
-- tag t is on about every (t + 1)th row
CREATE TABLE tags AS
SELECT u AS id, coalesce(roaring64_agg(t) FILTER (WHERE hashint8extended(t, u) % (t + 1) = 0), '{}') AS ids
FROM generate_series(1, 1000) u, generate_series(1::bigint, 100) t GROUP BY u;
CREATE TABLE rows (user_id int, message_id int, PRIMARY KEY (user_id, message_id));
INSERT INTO rows SELECT u, u * 10 + i * 17 FROM generate_series(1, 50) u, generate_series(1, 400) i;

-- the bytes that a statement leaves, of the column that it is for
CREATE FUNCTION measure(tab regclass, what text, statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	bytes bigint;
BEGIN
	BEGIN
		EXECUTE statement;
		IF what ~ '^GIN' THEN
			bytes := (SELECT pg_relation_size(indexrelid) FROM pg_index WHERE indrelid = tab);
		ELSIF what ~ '^chunks' THEN
			EXECUTE format('SELECT sum(pg_column_size(ids) + 60) FROM %s_sets', tab) INTO bytes;
		ELSIF what ~ '^sets' THEN
			EXECUTE format('SELECT sum(pg_column_size(message_id) + 60) FROM %s_sets', tab) INTO bytes;
		ELSE
			-- every value is stored again, as the settings are now
			EXECUTE format('UPDATE %s SET ids = ids::bytea::roaring64', tab);
			EXECUTE format('SELECT sum(pg_column_size(ids)) FROM %s', tab) INTO bytes;
		END IF;
		RAISE 'undo';
	EXCEPTION WHEN raise_exception THEN
		RETURN bytes;
	END;
END $$;
CREATE TEMP TABLE advice AS
SELECT tab, a.*, CASE WHEN statement IS NOT NULL THEN measure(tab::regclass, what, statement) END AS measured
FROM unnest('{sequence,snowflake,packed,random,small,huge,tags}'::text[]) WITH ORDINALITY AS t (tab, place), roaring64_advise(tab::regclass, 'ids') AS a
UNION ALL
SELECT 'rows', a.*, CASE WHEN statement IS NOT NULL THEN measure('rows', what, statement) END FROM roaring64_advise('rows', 'message_id', 'user_id') AS a;

-- sizes: of sets to the hundredth part, of indexes to a factor of two
SELECT * FROM advice
WHERE statement IS NOT NULL AND (measured IS NULL OR bytes::float8 / measured NOT BETWEEN CASE WHEN what ~ 'GIN' THEN 0.5 ELSE 0.99 END AND CASE WHEN what ~ 'GIN' THEN 2 ELSE 1.01 END);
SELECT count(DISTINCT tab) AS columns, count(measured) >= 32 AS measured FROM advice;
-- what is advised takes at most a quarter more than the best, unless it is not compressed
SELECT a.tab, a.what, a.measured, min(b.measured) FROM advice AS a JOIN advice AS b USING (tab)
WHERE a.advice ~ '^yes' AND a.measured IS NOT NULL AND b.what !~ 'GIN|chunks|packed'
GROUP BY 1, 2, 3 HAVING a.measured > 1.25 * min(b.measured);
-- what the pages say of each: a server without lz4 advises pglz
SELECT tab, regexp_replace(what, 'lz4|pglz', 'compressed') AS what,
	regexp_replace(max(advice), 'yes: (faster to read than pglz|much smaller)', 'yes') AS advice
FROM advice GROUP BY 1, 2 ORDER BY 1, 2;
SELECT what, statement FROM advice WHERE tab IN ('rows', 'snowflake') AND what !~ 'lz4' ORDER BY tab, what;
-- the values of a materialized view are not packed
CREATE MATERIALIZED VIEW snowflakes AS TABLE snowflake;
SELECT source, what ~ 'packed' AS packed, count(*) > 0 AS found FROM unnest('{snowflake,snowflakes}'::regclass[]) AS source, roaring64_advise(source, 'ids')
GROUP BY 1, 2 ORDER BY 1, 2;
DROP MATERIALIZED VIEW snowflakes;
-- nothing is written
BEGIN READ ONLY;
SELECT count(*) > 5 AS rows FROM roaring64_advise('snowflake', 'ids');
COMMIT;

-- other tables and names: quotes, percent signs, a reserved word; parts and children;
-- a materialized view; a domain; a temporary table; dropped columns; empty sets and NULL
CREATE DOMAIN readers AS roaring64;
CREATE TABLE "Odd %s ""table""" (gone int, "user" int, "a %I $1" readers);
ALTER TABLE "Odd %s ""table""" DROP COLUMN gone;
INSERT INTO "Odd %s ""table""" SELECT u, roaring64_agg(u * i) FROM generate_series(1, 50) u, generate_series(1, 50) i GROUP BY u;
INSERT INTO "Odd %s ""table""" VALUES (51, '{}'), (52, NULL);
CREATE TABLE "odd ids %" ("the ""key""" text COLLATE "C", "id %s" smallint);
INSERT INTO "odd ids %" SELECT 'key ' || u, i FROM generate_series(1, 50) u, generate_series(1, 50) i;
INSERT INTO "odd ids %" VALUES (NULL, 1), ('x', NULL);
CREATE TABLE parts (id int, ids roaring64) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (50);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (50) TO (100);
INSERT INTO parts SELECT id, ids FROM small WHERE id < 100;
CREATE TABLE child () INHERITS (small);
INSERT INTO child SELECT * FROM small WHERE id <= 300;
CREATE MATERIALIZED VIEW seen AS SELECT * FROM small WHERE id <= 300;
CREATE TEMP TABLE passing AS SELECT * FROM packed WHERE id = 1;
CREATE TABLE none (id bigint, ids roaring64);
CREATE FUNCTION runs(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RAISE 'undo';
EXCEPTION WHEN raise_exception THEN
	RETURN true;
END $$;
CREATE FUNCTION try(tab text, col name, key name DEFAULT NULL) RETURNS TABLE (ways bigint, bytes_right boolean, ids_right boolean, run bigint) LANGUAGE plpgsql AS $$
DECLARE
	bytes_now bigint;
	ids_now bigint;
BEGIN
	IF key IS NULL THEN
		EXECUTE format('SELECT sum(pg_column_size(%I)) AS bytes, sum(roaring64_cardinality(%1$I)) AS ids FROM %s', col, tab) INTO bytes_now, ids_now;
	ELSE
		EXECUTE format('SELECT pg_total_relation_size($1::regclass) AS bytes, count(*) AS ids FROM %s WHERE (%I, %I) IS NOT NULL', tab, col, key) INTO bytes_now, ids_now USING tab;
	END IF;
	RETURN QUERY SELECT count(*), bool_and(abs(bytes - bytes_now) <= 0.001 * bytes_now) FILTER (WHERE what ~ 'as'), bool_and(abs(bytes_an_id / (bytes_now::numeric / ids_now) - 1) < 0.001) FILTER (WHERE what ~ 'as'),
		count(*) FILTER (WHERE CASE WHEN statement IS NOT NULL THEN runs(statement) END) FROM roaring64_advise(tab, col, key) WHERE what !~ 'lz4';
END $$;
SELECT tab, t.* FROM unnest('{parts,small,seen,passing}'::text[]) AS tab, try(tab, 'ids') AS t;
SELECT * FROM try('"Odd %s ""table"""', 'a %I $1');
SELECT * FROM try('"odd ids %"', 'id %s', 'the "key"');
SELECT count(*) AS ways, count(*) FILTER (WHERE CASE WHEN statement IS NOT NULL THEN runs(statement) END) AS run
FROM roaring64_advise('rows', 'message_id') WHERE what !~ 'lz4';
SELECT statement FROM roaring64_advise('"odd ids %"', 'id %s', 'the "key"') WHERE what ~ 'EXTERNAL';

-- each partition's compression; names of 63 bytes of which some are longer than a byte; a
-- domain over a domain; a span of all bigints
SELECT statement FROM roaring64_advise('parts', 'ids') WHERE what = 'pglz';
CREATE DOMAIN nearly_id AS bigint;
CREATE DOMAIN id AS nearly_id;
CREATE TABLE ééééééééééééééééééééééééééééééé1 (id id, key int);
INSERT INTO ééééééééééééééééééééééééééééééé1 SELECT i, i % 3 FROM generate_series(1, 50) i;
SELECT * FROM try('ééééééééééééééééééééééééééééééé1', 'id', 'key');
CREATE TABLE spans AS SELECT int8range(0, 1 << 30)::roaring64 AS ids UNION ALL SELECT '{-9223372036854775808,9223372036854775807}';
SELECT what, statement FROM roaring64_advise('spans', 'ids') WHERE what ~ 'chunks';
-- names that the statement for chunks uses itself
CREATE TABLE s AS SELECT 1 AS chunk, 2 AS chunk_, id AS ids, ids AS set FROM huge;
CREATE TABLE ids AS SELECT id AS chunk, roaring64_elements(ids) AS ids FROM huge;
SELECT a.statement, runs(a.statement) FROM (
	SELECT * FROM roaring64_advise('s', 'set') UNION ALL
	SELECT * FROM roaring64_advise('ids', 'ids', 'chunk') UNION ALL
	SELECT * FROM roaring64_advise('ids', 'ids')) AS a
WHERE a.what ~ 'chunks' ORDER BY 1;

-- sets of 126 bytes, which have the shortest header, stay as they are
CREATE TABLE edge AS SELECT roaring64_agg(i * 3) AS ids FROM generate_series(1, 49) AS i, generate_series(1, 100) AS g GROUP BY g;
SELECT DISTINCT pg_column_size(ids) FROM edge;
SELECT what, advice FROM roaring64_advise('edge', 'ids');
-- a sample: of sets of which a page has megabytes, and of ids, which need an index
CREATE TABLE many (id int, ids roaring64 NOT NULL);
ALTER TABLE many ALTER ids SET STORAGE EXTERNAL;
INSERT INTO many SELECT i, roaring64_shift(ids, i) FROM huge, generate_series(1, 80) i;
CREATE TABLE facts (key int, id int);
INSERT INTO facts SELECT i % 500, hashint4(i) & 16777215 FROM generate_series(1, 500000) i;
SELECT pg_table_size('many') > 17000000 AS many, pg_table_size('facts') > 17000000 AS facts;
SELECT roaring64_advise('facts', 'id');
SELECT roaring64_advise('facts', 'id', 'key');
CREATE INDEX ON facts (key, id);
CREATE INDEX ON facts (id);
SELECT what, round((bytes / (SELECT sum(pg_column_size(ids)) FROM many)), 1) AS bytes, round(bytes_an_id, 1) AS bytes_an_id
FROM roaring64_advise('many', 'ids') WHERE what IN ('as it is', 'EXTERNAL');
SELECT round(bytes / (SELECT sum(pg_column_size(ids)) FROM (SELECT roaring64_agg(id) AS ids FROM facts GROUP BY key) AS s), 1) AS bytes
FROM roaring64_advise('facts', 'id', 'key') WHERE what = 'sets, EXTERNAL';
SELECT round(bytes::numeric / (SELECT pg_column_size(roaring64_agg(id)) FROM facts), 1) AS bytes
FROM roaring64_advise('facts', 'id') WHERE what = 'sets, EXTERNAL';

-- what cannot be advised on
CREATE VIEW looked_at AS SELECT * FROM small;
SELECT roaring64_advise(NULL, 'ids');
SELECT roaring64_advise('small', NULL);
SELECT roaring64_advise(0, 'ids');
SELECT roaring64_advise('looked_at', 'ids');
SELECT roaring64_advise('pg_attribute', 'attnum');
SELECT roaring64_advise('small', 'tags');
SELECT roaring64_advise('rows', 'message_id', 'nobody');
SELECT roaring64_advise('small', 'ctid');
SELECT roaring64_advise('"odd ids %"', 'the "key"');
SELECT roaring64_advise('small', 'ids', 'id');
SELECT roaring64_advise('rows', 'message_id', 'message_id');
SELECT roaring64_advise('rows', 'message_id', 'tableoid');
SELECT roaring64_advise('none', 'id');
SELECT roaring64_advise('none', 'ids');
-- all sets are empty
INSERT INTO none VALUES (1, '{}'), (2, '{}');
SELECT what, bytes, bytes_an_id, advice FROM roaring64_advise('none', 'ids') WHERE what ~ 'as|EXT';
-- with row-level security, of the rows that the caller sees
SET client_min_messages = warning;
DROP ROLE IF EXISTS regress_adviser;
RESET client_min_messages;
CREATE ROLE regress_adviser;
GRANT USAGE ON SCHEMA advise TO regress_adviser;
CREATE POLICY first_ones ON small FOR SELECT TO regress_adviser USING (id <= 10);
SET ROLE regress_adviser;
SELECT roaring64_advise('small', 'ids');
RESET ROLE;
GRANT SELECT ON small TO regress_adviser;
ALTER TABLE small ENABLE ROW LEVEL SECURITY;
SET ROLE regress_adviser;
SELECT bytes < 2000 AS few FROM roaring64_advise('small', 'ids') WHERE what = 'as it is';
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA advise CASCADE;
DROP ROLE regress_adviser;
