--
-- id <@ set beside conditions with indexes of their own, however the rows are found:
-- by the lookup alone, with the bitmap too, or the rest by the other indexes.  They are
-- the same as without any index.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
SET max_parallel_workers_per_gather = 0;
SET jit = off;

-- a few rows to a page, so that work_mem is short for all pages; some rows were changed, some are dead
CREATE TABLE filed (id bigint, tag int, tags int[], at int, note text) WITH (fillfactor = 10, autovacuum_enabled = off);
INSERT INTO filed
SELECT CASE WHEN i % 50 > 0 THEN i END, hashint4(i) % 10, ARRAY[abs(hashint4(i + 1)) % 10, 10 + abs(hashint4(i + 2)) % 3], i / 10, repeat('x', 100)
FROM generate_series(1, 10000) i;
CREATE INDEX filed_id ON filed (id);
CREATE INDEX filed_tag ON filed (tag);
CREATE INDEX filed_tags ON filed USING gin (tags);
CREATE INDEX filed_at ON filed USING brin (at) WITH (pages_per_range = 4);
UPDATE filed SET note = 'changed' WHERE id % 7 = 0;
UPDATE filed SET tags = '{3,10}', at = at + 1 WHERE id % 11 = 0;
DELETE FROM filed WHERE id % 13 = 0;
ANALYZE filed;
CREATE TABLE wanted (n int, s roaring64);
INSERT INTO wanted SELECT n, roaring64_agg(i) FROM generate_series(1, 4) n, generate_series(1, 12000) i WHERE abs(hashint4(i * 5 + n)) % (n * 3) = 0 GROUP BY n;
INSERT INTO wanted VALUES (5, '{}'), (6, NULL), (7, '{14,21,22,33,77}'), (8, int8range(2000, 9000)::roaring64 - 4444);
ANALYZE wanted;
SET enable_seqscan = off;
SET random_page_cost = 100;
SET seq_page_cost = 100;

CREATE FUNCTION plan(query text, wanted text DEFAULT '.', options text DEFAULT 'COSTS OFF') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE format('EXPLAIN (%s) %s', options, query) LOOP
		IF line ~ wanted AND line !~ 'Disabled' THEN
			line := regexp_replace(line, '<@ ''.*''::roaring64', '<@ (known)');
			-- what versions of the server write in other words
			line := regexp_replace(line, '\$0|\(InitPlan \w+\)\.col1', '(subquery)');
			line := replace(line, 'InitPlan expr_1', 'InitPlan 1');
			line := regexp_replace(line, ' \(returns .*\)', '');
			RETURN NEXT regexp_replace(line, '\(actual .*(loops=\d+)\)', '\1');
		END IF;
	END LOOP;
END $$;
-- how a query finds its rows: by what was executed in the end
CREATE FUNCTION found_by(query text) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN NOT bool_or(p ~ 'Roaring64 Lookup') THEN 'no lookup'
		WHEN bool_or(p ~ 'Bitmap Heap Scan.*loops') THEN 'lookup, then others'
		WHEN bool_or(p ~ 'Bitmap Index Scan.*loops') THEN 'both'
		WHEN bool_or(p ~ 'Bitmap') THEN 'lookup' ELSE 'no bitmap' END
	FROM plan(query, '.', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') p $$;
-- how many rows a query finds, how many without indexes, and whether they are the same
CREATE FUNCTION compare(conditions text, OUT found_by text, OUT has bigint, OUT expected bigint, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*), sum(id), sum(hashtext(t::text)), sum(hashtext(t.ctid::text)), max(t.tableoid) FROM wanted, filed t WHERE ' || conditions;
	one record;
	two record;
BEGIN
	found_by := found_by(query);
	EXECUTE query INTO one;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE query INTO two;
	RESET enable_indexscan;
	RESET enable_bitmapscan;
	SET LOCAL enable_seqscan = off;
	has := one.count;
	expected := two.count;
	same := one IS NOT DISTINCT FROM two;
END $$;

-- a known set, a subquery, a parameter, and the set of a row of another table
SELECT s::text AS known FROM wanted WHERE n = 2 \gset
SELECT plan(format('SELECT * FROM filed WHERE id <@ %L::roaring64 AND tags @> ''{3}''', :'known'));
SELECT plan('SELECT * FROM filed WHERE id <@ (SELECT s FROM wanted WHERE n = 2) AND tags @> ''{3}'' AND note > ''a''');
PREPARE tagged(roaring64, int[]) AS SELECT count(*), sum(id) FROM filed WHERE id <@ $1 AND tags @> $2;
SET plan_cache_mode = force_generic_plan;
SELECT plan('EXECUTE tagged(NULL, NULL)');
EXECUTE tagged(:'known', '{3}');
EXECUTE tagged('{}', '{3}');
EXECUTE tagged(NULL, '{3}');
EXECUTE tagged('{11,22,23,1000000}', '{3,10}');
RESET plan_cache_mode;
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 2 AND tags @> ''{3}''');
-- several indexes, and one that knows only pages
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 2 AND (tags @> ''{3}'' OR tag = 4)');
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 1 AND tags @> ''{10}'' AND at < 800');
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 1 AND at < 800', 'Bitmap');
SELECT w.n, c.* FROM wanted w, LATERAL compare(format('id <@ s AND n = %s AND tags @> ''{3}''', w.n)) c ORDER BY 1;
SELECT w.n, c.* FROM wanted w, LATERAL compare(format('id <@ s AND n = %s AND at BETWEEN 100 AND 600', w.n)) c ORDER BY 1;
SELECT w.n, c.* FROM wanted w, LATERAL compare(format('id <@ s AND n = %s AND (tags @> ''{3}'' OR tag = 4) AND tag > -5', w.n)) c ORDER BY 1;
-- what is subtracted, and what another condition leaves out
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 2 AND NOT id <@ ''{22,24}'' AND tags @> ''{3}'' AND at % 2 = 0');
SELECT * FROM compare('id <@ s AND n = 1 AND NOT id <@ ''{22,24}'' AND tags @> ''{3}'' AND at % 2 = 0');
-- little memory: pages of which the bitmap does not know the rows.  A plan made for more
-- memory looks rows up in it.
SET plan_cache_mode = force_generic_plan;
PREPARE in_both(int) AS
SELECT count(*), sum(id), sum(hashtext(t::text)) FROM wanted, filed t WHERE id <@ s AND n = $1 AND tags && '{3,4,5}' AND tag >= 0;
PREPARE expected(int) AS
SELECT count(*), sum(id), sum(hashtext(t::text)) FROM wanted, filed t WHERE id + 0 <@ s AND n = $1 AND tags && '{3,4,5}' AND tag + 0 >= 0;
EXECUTE in_both(NULL);
SET work_mem = '64kB';
SELECT n, found_by(format('EXECUTE in_both(%s)', n)) FROM generate_series(1, 3) n;
EXECUTE in_both(1);
EXECUTE expected(1);
EXECUTE in_both(3);
EXECUTE expected(3);
RESET plan_cache_mode;
SELECT w.n, c.* FROM wanted w, LATERAL compare(format('id <@ s AND n = %s AND tags @> ''{10}''', w.n)) c ORDER BY 1;
SELECT w.n, c.* FROM wanted w, LATERAL compare(format('id <@ s AND n = %s AND tags && ''{10,11,12}'' AND tag >= 0', w.n)) c ORDER BY 1;
RESET work_mem;

-- the bitmap is kept for the next set, and made again for other parameters of it
CREATE FUNCTION loops(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT regexp_replace(trim(p), ' +', ' ', 'g') FROM plan(query, 'Lookup|Bitmap', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF') p $$;
SELECT loops('SELECT n, (SELECT sum(id) FROM filed WHERE id <@ s AND tags @> ''{3}'') FROM wanted');
SELECT loops('SELECT n, (SELECT sum(id) FROM filed WHERE id <@ s AND tags @> ARRAY[n]) FROM wanted');
CREATE FUNCTION sums(conditions text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT string_agg(n || '':'' || (SELECT coalesce(sum(id), 0) FROM filed WHERE %s), '' '' ORDER BY n) FROM wanted', conditions) INTO result;
	RETURN result;
END $$;
SELECT sums('id <@ s AND tags @> ''{3}''') = sums('id + 0 <@ s AND tags || 3 = tags || 3 AND 3 = ANY (tags)') AS same_bitmap,
	sums('id <@ s AND tags @> ARRAY[n]') = sums('id + 0 <@ s AND n = ANY (tags)') AS other_bitmaps;

-- not if one of the two kinds of scans is unwanted, and not for rows in order
SET enable_bitmapscan = off;
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 2 AND tags @> ''{3}''', 'Bitmap|Lookup');
RESET enable_bitmapscan;
SET roaring64.enable_lookup = off;
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 2 AND tags @> ''{3}''', 'Bitmap|Lookup');
RESET roaring64.enable_lookup;
SET enable_sort = off;
SELECT plan('SELECT * FROM filed WHERE id <@ (SELECT s FROM wanted WHERE n = 1) AND tags @> ''{3}'' ORDER BY id', 'Bitmap|Lookup');
RESET enable_sort;
-- nor an index that has all columns wanted, but no condition
SELECT plan('SELECT count(*) FROM filed WHERE id <@ (SELECT s FROM wanted WHERE n = 2) AND tag % 10 = 4', 'Bitmap|Lookup');
-- a cursor ends before all rows are found, and a condition without columns says that none are
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM filed WHERE id <@ (SELECT s FROM wanted WHERE n = 8) AND tags @> '{3}';
FETCH 3 FROM c;
COMMIT;
SELECT * FROM filed WHERE id <@ (SELECT s FROM wanted WHERE n = 8) AND tags @> '{3}' AND current_user = 'nobody';

-- conditions of which an index knows only a part, alone and in an OR
ALTER TABLE filed ADD word text COLLATE "C";
UPDATE filed SET word = chr(97 + tag % 3) || at % 7;
CREATE INDEX filed_word ON filed (word);
ANALYZE filed;
SELECT plan('SELECT * FROM wanted, filed WHERE id <@ s AND n = 1 AND (word LIKE ''a%1'' OR tag = 4)');
SELECT w.n, c.* FROM wanted w, LATERAL compare(format('id <@ s AND n = %s AND (word LIKE ''a%%1'' OR tag = 4)', w.n)) c ORDER BY 1;
SELECT w.n, c.* FROM wanted w, LATERAL compare(format('id <@ s AND n = %s AND word LIKE ''a%%1''', w.n)) c ORDER BY 1;

-- an expression is not computed for rows that its partial index leaves out
CREATE TABLE divided AS SELECT i::bigint AS id, i % 5 AS y, i % 3 AS tag FROM generate_series(1, 2000) i;
CREATE INDEX ON divided (id);
CREATE INDEX ON divided (tag);
CREATE INDEX ON divided ((100 / y)) WHERE y <> 0;
CREATE INDEX ON divided ((1000::bigint / y)) WHERE y <> 0;
ANALYZE divided;
SELECT count(*) FROM divided WHERE id <@ (SELECT s FROM wanted WHERE n = 1) AND y <> 0 AND 100 / y = 50;
SELECT count(*) FROM divided WHERE 1000::bigint / y <@ (SELECT roaring64 '{333,500,1000}') AND y <> 0 AND tag = 1;
DROP TABLE divided;

-- an index-only lookup is not replaced by one with a bitmap, which reads the table
CREATE TABLE covered AS SELECT i::bigint AS id, i % 10 AS tag, repeat('x', 100) AS note FROM generate_series(1, 10000) i;
CREATE INDEX ON covered (id, tag);
CREATE INDEX covered_tag ON covered (tag);
VACUUM ANALYZE covered;
RESET random_page_cost;
RESET seq_page_cost;
SELECT plan('SELECT count(*) FROM covered WHERE id <@ (SELECT s FROM wanted WHERE n = 2) AND tag = 4', 'Bitmap|Lookup');
SELECT plan('SELECT max(note) FROM covered WHERE id <@ (SELECT s FROM wanted WHERE n = 2) AND tag = 4', 'Bitmap|Lookup');
DROP TABLE covered;

DROP FUNCTION plan, found_by, compare, loops, sums;
DROP TABLE filed, wanted;
