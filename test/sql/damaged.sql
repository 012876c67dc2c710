--
-- Stored values that are not what they must be: every function answers, be it
-- wrongly, or reports corrupted data; none crashes or reports anything else
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- bytes taken for a stored value without a look, as no cast would do
CREATE FUNCTION pg_temp.raw(bytea) RETURNS roaring64
LANGUAGE internal IMMUTABLE STRICT AS 'byteasend';

SELECT pg_temp.raw('{1,2}'::roaring64::bytea);
SELECT pg_temp.raw('');
SELECT pg_temp.raw('\x01000000000000');
SELECT roaring64_cardinality(pg_temp.raw('\x0100000000000000'));
SELECT pg_temp.raw('\x0100000000000000000000003a30000001000000000001001000000001') | '{5}';
SELECT pg_temp.raw('\x01000000000000000000000039300000010000000000010010000000010002') @> 1;
SELECT roaring64_eq(pg_temp.raw(''), '{}');

CREATE TEMP TABLE damaged AS
	SELECT s.name, d.what, pg_temp.raw(d.bytes) AS value
	FROM (VALUES
			('array', '{-5,1,2,70000}'::roaring64::bytea),
			('runs', (int8range(10, 20)::roaring64 | int8range(65530, 65540)
					  | int8range(200000, 200010) | int8range(-9, -2))::bytea),
			('no offsets', (int8range(1, 9)::roaring64 | 100000)::bytea),
			('empty', '{}'::roaring64::bytea)
		) AS s(name, bytes),
		LATERAL (
			SELECT 'cut at ' || n, substr(s.bytes, 1, n)
			FROM generate_series(0, length(s.bytes) - 1) AS n
			UNION ALL
			SELECT 'byte ' || n || ' xor ' || x, set_byte(s.bytes, n, get_byte(s.bytes, n) # x)
			FROM generate_series(0, length(s.bytes) - 1) AS n, unnest(ARRAY[1, 128, 255]) AS x
			UNION ALL
			SELECT 'one byte more', s.bytes || '\x00'
		) AS d(what, bytes);
-- a bitset takes 8 kB: its header, its first and its last bytes
INSERT INTO damaged
	SELECT 'bitset', 'byte ' || n, pg_temp.raw(set_byte(b, n, get_byte(b, n) # 255))
	FROM (SELECT array_agg(i * 2)::roaring64::bytea FROM generate_series(0, 9999) AS i) AS t(b),
		generate_series(0, length(b) - 1) AS n
	WHERE n < 40 OR n > length(b) - 4;
INSERT INTO damaged
	SELECT 'bitset', 'all zero', pg_temp.raw(substr(b, 1, length(b) - 8192)
											 || decode(repeat('00', 8192), 'hex'))
	FROM (SELECT array_agg(i * 2)::roaring64::bytea FROM generate_series(0, 9999) AS i) AS t(b);

-- a call that never ends is a failure as well; all are in one statement, which
-- takes some minutes under valgrind
SET statement_timeout = '40min';

-- GIN indexes, to store the damaged one in and to search for it
CREATE TEMP TABLE indexed (value roaring64);
CREATE INDEX ON indexed USING gin (value);
CREATE INDEX ON indexed USING gin (value gin_roaring64_ops (key = container));
CREATE FUNCTION pg_temp.index_value(roaring64) RETURNS void LANGUAGE sql AS
'INSERT INTO indexed VALUES ($1)';
CREATE TEMP TABLE by_element AS
	SELECT roaring64_from_array(ARRAY[i, i * 65536]) AS value FROM generate_series(-9, 20) AS i;
CREATE TEMP TABLE by_container AS TABLE by_element;
CREATE INDEX ON by_element USING gin (value);
CREATE INDEX ON by_container USING gin (value gin_roaring64_ops (key = container));
SET enable_seqscan = off;

-- everything that takes a set, called with the damaged one in each place
CREATE TEMP TABLE calls AS
	SELECT expression
	FROM (
		SELECT CASE WHEN p.proretset
				THEN format('(SELECT count(*) FROM %s(%s) AS r)', p.proname, q.args)
				ELSE format('%s(%s)', p.proname, q.args) END
		FROM pg_proc AS p,
			generate_subscripts(p.proargtypes::oid[], 1) AS place,
			LATERAL (
				SELECT string_agg(CASE WHEN t = 'roaring64'::regtype
										THEN CASE WHEN i = place + 1 THEN '$1' ELSE '$2' END
									WHEN t = 'integer'::regtype THEN '7'
									WHEN t = 'bigint'::regtype THEN '3'
									WHEN t = 'boolean'::regtype THEN 'true'
									WHEN t IN ('int8range'::regtype, 'anyrange'::regtype) THEN 'int8range(-7, 70001)'
									WHEN t = 'bigint[]'::regtype THEN '''{1,70000}''::bigint[]'
									ELSE 'NULL::' || t::regtype END, ', ' ORDER BY i)
				FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS u(t, i)
			) AS q(args)
		WHERE p.proname ~ '^roaring64_' AND p.prokind = 'f'
			AND p.proargtypes[place] = 'roaring64'::regtype
			-- what works on tables reads its set as the others do
			AND 'regclass'::regtype <> ALL (p.proargtypes::oid[])
			-- support functions of aggregates run in aggregates only
			AND NOT EXISTS (SELECT FROM pg_aggregate AS a
							WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn))
			-- and those of GIN with an index only
			AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
		UNION ALL
		SELECT format('(SELECT count(*) FROM %s WHERE value %s $1)', t, o)
		FROM unnest('{by_element,by_container}'::text[]) t, unnest('{@>,<@,&&,=}'::text[]) o
		UNION ALL
		VALUES ('$1::text'), ('$1::bytea::roaring64'), ('$1::text::roaring64'),
			('$1::bigint[]'), ('$1::int8multirange'), ('pg_temp.index_value($1)')
	) AS c(expression);
SELECT count(*) > 60 AS enough_calls, (SELECT count(*) > 500 FROM damaged) AS enough_values
FROM calls;

CREATE FUNCTION pg_temp.outcome(expression text, bad roaring64, good roaring64)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ignored text;
BEGIN
	EXECUTE format('SELECT (%s)::text', expression) INTO ignored USING bad, good;
	RETURN 'answered';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
CREATE TEMP TABLE outcomes AS
	SELECT name, what, expression,
		pg_temp.outcome(expression, value, '{-5,-4,1,2,3,15,65537,70000}') AS outcome
	FROM damaged, calls;
-- XX001 is data_corrupted; 22P03 is for those that read the bytes as foreign,
-- 22003 for a shift past the end of bigint, 54000 for a result that is too large
SELECT name, what, expression, outcome
FROM outcomes
WHERE outcome NOT IN ('answered', 'XX001')
	AND NOT (outcome = '22P03' AND expression IN ('$1::bytea::roaring64', '$1::text::roaring64'))
	AND NOT (outcome = '22003' AND expression ~ 'roaring64_shift')
	AND outcome <> '54000'
ORDER BY 1, 2, 3;
SELECT count(*) FILTER (WHERE outcome = 'answered') > 1000 AS answered,
	count(*) FILTER (WHERE outcome = 'XX001') > 1000 AS reported
FROM outcomes;
SELECT count(*) FILTER (WHERE outcome = 'answered') > 1000 AS answered,
	count(*) FILTER (WHERE outcome = 'XX001') > 1000 AS reported
FROM outcomes WHERE expression ~ 'by_|index_value';
