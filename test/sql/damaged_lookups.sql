--
-- Lookups of damaged sets: in either direction each ends, with an answer, be it
-- wrong, or with an error that the data is corrupted
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- bytes taken for a stored value without a look, as no cast would do
CREATE FUNCTION pg_temp.raw(bytea) RETURNS roaring64
LANGUAGE internal IMMUTABLE STRICT AS 'byteasend';

-- ids once each, and thirty times each at both ends of bigint
CREATE TEMP TABLE once AS SELECT i::bigint AS id FROM generate_series(1, 20000) AS i;
CREATE TEMP TABLE often AS
	SELECT id FROM (SELECT i FROM generate_series(-40, 40) AS i UNION ALL
					SELECT 9223372036854775807 - i FROM generate_series(0, 9) AS i UNION ALL
					SELECT -9223372036854775808 + i FROM generate_series(0, 9) AS i) AS i (id),
		generate_series(1, 30);
CREATE INDEX ON once (id);
CREATE INDEX ON often (id);
ANALYZE once, often;

-- a container whose runs go back: the walk must not go back with them
SELECT pg_temp.raw('\x0100000000000000000000003a300000010000000000020010000000018002000300') AS back \gset
SELECT id FROM once WHERE id <@ (SELECT :'back'::roaring64) ORDER BY id LIMIT 5;

-- Up to four bytes at random places, of sets of all kinds of containers.
SELECT setseed(0.5);
CREATE TEMP TABLE damaged AS
	SELECT n, pg_temp.raw(bytes) AS value
	FROM (SELECT n, (ARRAY['{-5,1,2,3,70000}'::roaring64,
						   int8range(10, 20)::roaring64 | int8range(40, 90) | int8range(65530, 65540),
						   int8range(-30, 20)::roaring64 | int8range(9223372036854775800, NULL),
						   int8range(1, 90000)::roaring64 - 7000::bigint,
						   (SELECT roaring64_agg(i * 3) FROM generate_series(0, 7000) AS i),
						   (SELECT roaring64_agg(i * 40) FROM generate_series(0, 400) AS i),
						   (SELECT roaring64_agg(i << 31) FROM generate_series(-9::bigint, 9) AS i) | int8range(1, 99)
						  ])[1 + n % 7]::bytea AS bytes
		  FROM generate_series(1, 350) AS n) AS good;
CREATE FUNCTION pg_temp.damage(bytes bytea, places int, head boolean) RETURNS bytea LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. places LOOP
		bytes := set_byte(bytes, (random() * (CASE WHEN head THEN least(length(bytes), 60) ELSE length(bytes) END - 1))::int,
						  (CASE WHEN random() < 0.5 THEN (random() * 255)::int ELSE (ARRAY[0, 1, 2, 127, 128, 255])[1 + (random() * 5)::int] END));
	END LOOP;
	RETURN bytes;
END $$;
UPDATE damaged SET value = pg_temp.raw(pg_temp.damage(roaring64_send(value), 1 + n / 7 % 4, n % 3 > 0));

CREATE FUNCTION pg_temp.outcome(query text, bad roaring64) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query USING bad;
	RETURN 'answered';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
-- Without a sequential scan there is also no reading on.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET jit = off;
SET statement_timeout = '10min';
CREATE TEMP TABLE outcomes AS
	SELECT n, query, pg_temp.outcome(query, value) AS outcome
	FROM damaged, unnest(ARRAY['once', 'often']) AS t (t),
		unnest(ARRAY['SELECT id FROM %I WHERE id <@ (SELECT $1) ORDER BY id',
					 'SELECT id FROM %I WHERE id <@ (SELECT $1) ORDER BY id DESC',
					 'SELECT id FROM %I WHERE id <@ (SELECT $1) ORDER BY id LIMIT 5',
					 'SELECT id FROM %I WHERE id <@ (SELECT $1) ORDER BY id DESC LIMIT 5',
					 'SELECT min(id), max(id) FROM %I WHERE id <@ (SELECT $1)',
					 'SELECT count(*) FROM %I WHERE id <@ (SELECT $1)',
					 'SELECT id FROM %I WHERE NOT id <@ (SELECT $1) ORDER BY id',
					 'SELECT id FROM %I WHERE NOT id <@ (SELECT $1) ORDER BY id DESC']) AS f (f),
		LATERAL format(f, t) AS query
	ORDER BY n;
-- XX001 is data_corrupted
SELECT n, query, outcome FROM outcomes WHERE outcome NOT IN ('answered', 'XX001') ORDER BY 1, 2;
SELECT query FROM outcomes GROUP BY 1
HAVING count(*) FILTER (WHERE outcome = 'answered') < 50 OR count(*) FILTER (WHERE outcome = 'XX001') < 50;
SELECT count(*) FROM outcomes;
