--
-- Damaged values where tables have them: read in parts, aggregated, analyzed,
-- searched for, edited in variables, and in the tables of the helpers.
-- damaged.sql calls all functions with such values
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
SELECT roaring64_dedup_create('damaged_seen', chunk_bits => 60) IS NULL AS a,
	roaring64_dedup_create('damaged_window', keep => 1000, chunk_bits => 60) IS NULL AS b,
	roaring64_delay_create('damaged_later') IS NULL AS c;
RESET client_min_messages;

-- bytes taken for a stored value without a look, as no cast would do
CREATE FUNCTION pg_temp.raw(bytea) RETURNS roaring64
LANGUAGE internal IMMUTABLE STRICT AS 'byteasend';

CREATE TEMP TABLE damaged AS
	SELECT s.name, d.what, pg_temp.raw(d.bytes) AS value
	FROM (VALUES
			('array', '{1,2,70000,4294967299}'::roaring64::bytea),
			('runs', (int8range(10, 20)::roaring64 | int8range(65530, 65540)
					  | int8range(200000, 200010) | int8range(400000, 400009))::bytea),
			('negative', (int8range(-7, -1)::roaring64 | 100000)::bytea)
		) AS s(name, bytes),
		LATERAL (
			SELECT 'cut at ' || n, substr(s.bytes, 1, n)
			FROM generate_series(0, length(s.bytes) - 1) AS n
			UNION ALL
			SELECT 'byte ' || n || ' xor ' || x, set_byte(s.bytes, n, get_byte(s.bytes, n) # x)
			FROM generate_series(0, length(s.bytes) - 1) AS n, unnest(ARRAY[1, 255]) AS x
		) AS d(what, bytes);

-- Large enough, in one bucket, that parts of it are fetched: not compressed,
-- and out of line.  What comes first, its keys, offsets, and a container's ends.
CREATE TEMP TABLE large (name text, what text, value roaring64);
ALTER TABLE large ALTER value SET STORAGE EXTERNAL;
INSERT INTO large
	SELECT 'large', 'byte ' || n || ' xor ' || x, pg_temp.raw(set_byte(b, n, get_byte(b, n) # x))
	FROM (SELECT roaring64_agg(i * 2)::bytea FROM generate_series(0::bigint, 300000) AS i) AS t(b),
		generate_series(0, length(b) - 1) AS n, unnest(ARRAY[1, 128, 255]) AS x
	WHERE n < 104 OR n > length(b) - 3;
INSERT INTO large
	SELECT 'large', 'cut at ' || n, pg_temp.raw(substr(b, 1, n))
	FROM (SELECT roaring64_agg(i * 2)::bytea FROM generate_series(0::bigint, 300000) AS i) AS t(b),
		unnest(ARRAY[60000, 65000, 70000, length(b) - 1]) AS n;
-- Larger, so that parts are fetched for a small set: of 90 bitsets, what comes first,
-- the places of the middle one and of the last in the header, and cut in each.
INSERT INTO large
	SELECT 'larger', 'byte ' || n || ' xor ' || x, pg_temp.raw(set_byte(b, n, get_byte(b, n) # x))
	FROM (SELECT roaring64_or_agg(roaring64_shift(s, i * 655360))::bytea
		  FROM (SELECT roaring64_agg(i * 2) FROM generate_series(0::bigint, 300000) AS i) AS t (s),
			generate_series(0, 8) AS i) AS t(b),
		generate_series(0, 739) AS n, unnest(ARRAY[1, 128]) AS x
	WHERE n < 24 OR (n - 20) % 360 / 4 IN (45, 89);
INSERT INTO large
	SELECT 'larger', 'cut at ' || n, pg_temp.raw(substr(value::bytea, 1, n))
	FROM (SELECT roaring64_or_agg(roaring64_shift(s, i * 655360))
		  FROM (SELECT roaring64_agg(i * 2) FROM generate_series(0::bigint, 300000) AS i) AS t (s),
			generate_series(0, 8) AS i) AS t(value),
		unnest(ARRAY[650000, 700000, 735000]) AS n;
SELECT count(*) > 300 AS small, (SELECT count(*) > 400 FROM large) AS large FROM damaged;

-- What comes of an expression; whatever it does to tables is undone.
CREATE FUNCTION pg_temp.outcome(expression text, bad roaring64) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ignored text;
BEGIN
	EXECUTE format('SELECT (%s)::text', expression) INTO ignored USING bad;
	RAISE EXCEPTION 'answered' USING ERRCODE = 'AAAAA';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;

-- what is done with each of them
CREATE TEMP TABLE one (value roaring64);
CREATE FUNCTION pg_temp.analyze(roaring64) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO one VALUES ($1), ('{1,2,70000}'), ($1), ('{5}'), ($1);
	ANALYZE one;
	PERFORM FROM one WHERE value && '{1,2}' OR value @> 3::bigint;
END $$;
CREATE FUNCTION pg_temp.edit(s roaring64) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 70 LOOP
		s := s | (i * 1000::bigint);
		s := s - 3::bigint;
	END LOOP;
	s := roaring64_add(s, ARRAY[1, 2, 70001]);
	RETURN roaring64_cardinality(s) + roaring64_rank(s, 500);
END $$;
CREATE TEMP TABLE ids AS SELECT i::bigint AS id FROM generate_series(1, 2000) AS i;
CREATE INDEX ON ids (id);
ANALYZE ids;
CREATE TEMP TABLE by_element AS
	SELECT roaring64_from_array(ARRAY[i, i * 65536]) AS value FROM generate_series(1, 300) AS i;
CREATE INDEX ON by_element USING gin (value);
ANALYZE by_element;
-- the helpers, with one set of their tables overwritten
CREATE FUNCTION pg_temp.in_chunk(bad roaring64, expression text, set_name text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ignored text;
BEGIN
	PERFORM roaring64_dedup_import(set_name::regclass, 'k', '{1,2,70000}');
	EXECUTE format('UPDATE %I SET ids = $1', set_name || '_chunks') USING bad;
	EXECUTE format('SELECT (%s)::text', expression) INTO ignored;
	RETURN ignored;
END $$;
CREATE FUNCTION pg_temp.in_messages(bad roaring64, expression text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ignored text;
BEGIN
	PERFORM roaring64_delay_add('damaged_later', 1, i, to_timestamp(1)) FROM generate_series(1, 5) AS i;
	UPDATE damaged_later SET ids = bad;
	EXECUTE format('SELECT (%s)::text', expression) INTO ignored;
	RETURN ignored;
END $$;

CREATE TEMP TABLE uses (kind text, expression text);
INSERT INTO uses
	SELECT 'value', format('(SELECT %s(v%s) FROM (VALUES (''{1,5}''::roaring64), ($1), (''{2,70000}''), ($1)) AS t (v))', p.oid::regproc, CASE p.pronargs WHEN 2 THEN ', false' END)
	FROM pg_proc AS p WHERE p.prokind = 'a' AND p.proargtypes[0] = 'roaring64'::regtype
	UNION ALL
	SELECT 'value', format('(SELECT count(x) FROM (SELECT %s(v%s) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM (VALUES ($1), (''{1,5}''::roaring64), ($1)) AS t (v)) AS u)', p.oid::regproc, CASE p.pronargs WHEN 2 THEN ', false' END)
	FROM pg_proc AS p WHERE p.prokind = 'a' AND p.proargtypes[0] = 'roaring64'::regtype
	UNION ALL
	VALUES ('value', 'pg_temp.analyze($1)'),
		('value', 'pg_temp.edit($1)'),
		('value', '(SELECT count(*) FROM ids WHERE id <@ $1)'),
		('value', '(SELECT count(*) FROM ids WHERE id = ANY (roaring64_to_array($1)))'),
		('value', '(SELECT count(*) FROM by_element WHERE value && $1)'),
		('value', '(SELECT count(*) FROM by_element WHERE value @> $1)'),
		('value', '(SELECT count(*) FROM by_element AS a JOIN by_element AS b ON a.value && (b.value | $1))');
INSERT INTO uses
	SELECT 'helper', format('pg_temp.in_chunk($1, %L, %L)', e, s)
	FROM (VALUES ('damaged_seen'), ('damaged_window')) AS v (s),
		LATERAL unnest(ARRAY['roaring64_dedup_claim(%L, ''k'', 5)', 'roaring64_dedup_claim_many(%L, ''k'', ARRAY[1, 5, 70001])',
			'roaring64_dedup_claim_many(%L, ''k'', (SELECT array_agg(i) FROM generate_series(1::bigint, 11000) AS i))',
			'roaring64_dedup_seen(%L, ''k'', 70000)', 'roaring64_dedup_seen_many(%L, ''k'', ARRAY[1, 5, 70001])',
			'roaring64_dedup_forget(%L, ''k'', 2)', 'roaring64_dedup_forget_many(%L, ''k'', ARRAY[2, 70000])',
			'roaring64_dedup_import(%L, ''k'', ''{1,2,3,70000}'')', 'roaring64_dedup_export(%L, ''k'')',
			'roaring64_dedup_count(%L, ''k'')']) AS f (f),
		LATERAL (SELECT format(f, s)) AS g (e)
	UNION ALL
	SELECT 'helper', format('pg_temp.in_messages($1, %L)', e)
	FROM unnest(ARRAY['(SELECT count(*) FROM roaring64_delay_take(''damaged_later''))',
		'(SELECT count(*) FROM roaring64_delay_take(''damaged_later'', now(), 2))',
		'roaring64_delay_add(''damaged_later'', 1, 6, to_timestamp(1))',
		'roaring64_delay_cancel(''damaged_later'', 1, 3, to_timestamp(1))',
		'roaring64_delay_count(''damaged_later'')']) AS u (e);
INSERT INTO uses
	SELECT 'column', e
	FROM unnest(ARRAY['value @> 4::bigint', 'value @> 599999::bigint', '4::bigint <@ value', 'roaring64_cardinality(value)',
		'roaring64_min(value)', 'roaring64_max(value)', 'roaring64_is_empty(value)', 'roaring64_rank(value, 500)',
		'roaring64_first(value, 3)', 'roaring64_last(value, 3)', 'value | 5::bigint',
		'roaring64_stats(value)', 'value & %L', '%L - value', 'value && %L', '%L <@ value', 'value @> %L',
		'roaring64_and_cardinality(value, %L)', 'roaring64_andnot_cardinality(value, %L)', 'roaring64_or_cardinality(%L, value)']) AS u (e);
UPDATE uses SET expression = format(expression, '{4,2949124,5832708}') WHERE kind = 'column' AND expression LIKE '%\%L%';

-- a scan that is not wanted counts as so dear that all of it would be compiled
SET enable_seqscan = off;
SET jit = off;
SET statement_timeout = '40min';
CREATE TEMP TABLE outcomes AS
	SELECT name, what, expression, pg_temp.outcome(expression, value) AS outcome
	FROM damaged, uses WHERE kind = 'value';
-- the helpers execute several statements for each: they get a fifteenth
INSERT INTO outcomes
	SELECT name, what, expression, pg_temp.outcome(expression, value)
	FROM damaged, uses
	WHERE kind = 'helper' AND hashtext(name || what) % 15 = 0;
-- here the value is fetched by the function, and not before
CREATE FUNCTION pg_temp.outcome_of_row(expression text, place tid) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	ignored text;
BEGIN
	EXECUTE format('SELECT (%s)::text FROM large WHERE ctid = $1', expression) INTO ignored USING place;
	RETURN 'AAAAA';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
INSERT INTO outcomes
	SELECT name, what, expression, pg_temp.outcome_of_row(expression, large.ctid)
	FROM large, uses WHERE kind = 'column';
-- AAAAA is an answer, XX001 is data_corrupted, 54000 is for a result that is too large
SELECT name, what, expression, outcome
FROM outcomes
WHERE outcome NOT IN ('AAAAA', 'XX001', '54000')
ORDER BY 1, 2, 3;
-- each use has met both; roaring64_is_empty asks for the size only
SELECT expression, count(*) FILTER (WHERE outcome = 'AAAAA') > 0 AS answered,
	count(*) FILTER (WHERE outcome = 'XX001') > 0 AS reported
FROM outcomes WHERE expression <> 'roaring64_is_empty(value)' GROUP BY 1
HAVING count(*) FILTER (WHERE outcome = 'AAAAA') = 0 OR count(*) FILTER (WHERE outcome = 'XX001') = 0
ORDER BY 1;
SELECT count(*) > 10000 AS enough FROM outcomes;

SELECT roaring64_dedup_drop('damaged_seen'), roaring64_dedup_drop('damaged_window');
DROP TABLE damaged_later;
