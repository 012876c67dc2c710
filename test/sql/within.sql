--
-- A small set and a large one, of which only the containers that the small one
-- needs may be fetched: the same answers whatever way the large one is stored,
-- and whichever argument it is.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- one to three megabytes: in one bucket; in buckets below and above zero, one of
-- them of two containers of runs; at the ends of bigint; with runs
CREATE TEMP TABLE parts AS
SELECT roaring64_agg(hashint8extended(i, 1) & 1048575) AS s FROM generate_series(1::bigint, 60000) AS i;
CREATE FUNCTION pg_temp.spread(starts bigint[]) RETURNS roaring64 LANGUAGE sql AS
$$ SELECT roaring64_or_agg(roaring64_shift(s, start)) FROM parts, unnest(starts) AS start $$;
CREATE TEMP TABLE large (name text, memory roaring64, plain roaring64, compressed roaring64);
ALTER TABLE large ALTER memory SET STORAGE EXTERNAL, ALTER plain SET STORAGE EXTERNAL, ALTER compressed SET STORAGE EXTENDED;
INSERT INTO large
SELECT name, s, s, s
FROM (VALUES
	('one', pg_temp.spread(ARRAY(SELECT i * 1200000::bigint FROM generate_series(0, 8) AS i))),
	('many', pg_temp.spread(ARRAY(SELECT bucket * 4294967296 + i * 1048576 FROM unnest('{-1,0,5}'::bigint[]) AS bucket, generate_series(1, 8) AS i)) |
		int8range(-12884901800, -12884700000)),
	('ends', pg_temp.spread(ARRAY(SELECT 9223372036854775807 - i * 1048576 FROM generate_series(1, 8) AS i) ||
		ARRAY(SELECT -9223372036854775807 - 1 + i * 1048576 FROM generate_series(0, 7) AS i))),
	('runs', pg_temp.spread(ARRAY(SELECT i * 2000000::bigint FROM generate_series(0, 8) AS i)) |
		int8range(1300000, 1600000) | int8range(5300000, 5300010) | int8range(17900000, 17990000))) AS v (name, s);
SELECT name, cardinality, buckets, bytes > 1000000 AS large, run_containers > 0 AS runs
FROM large, roaring64_stats(plain) ORDER BY name;

-- small ones: none, elements, places next to them, containers that are not
-- there, one container, other buckets, and too many for parts
CREATE TEMP TABLE small (name text, what text, s roaring64, v bigint[]);
INSERT INTO small (name, what, s)
SELECT name, what, s
FROM large, LATERAL (VALUES
	('empty', '{}'::roaring64),
	('elements', roaring64_sample(plain, 9, 1)),
	('neighbours', roaring64_sample(plain, 5, 2) | (SELECT roaring64_agg(e + 1) FROM roaring64_elements(roaring64_sample(plain, 4, 3)) AS e WHERE e < 9223372036854775807)),
	('mixed', roaring64_sample(plain, 3, 4) | '{-9223372036854775808,-1,0,65535,65536,1100000,4294967296,9223372036854775807}'),
	('absent', '{-1099511627776,1099511627776,1200001}'::roaring64 - plain),
	('container', roaring64_slice(plain, 70000, 3000)),
	('run', int8range(1310000, 1310100)::roaring64),
	('last', roaring64_slice(plain, roaring64_cardinality(plain) - 3, 3)),
	('first', roaring64_slice(plain, 0, 3)),
	('many', roaring64_sample(plain, 2000, 5))) AS v (what, s);
UPDATE small SET v = roaring64_to_array(s);

-- what is in the large one, element by element
CREATE TEMP TABLE expected AS
SELECT s.name, what, s.s, roaring64_cardinality(l.memory) AS n, common,
	roaring64_from_array(common) AS shared, cardinality(v) AS few
FROM small AS s JOIN large AS l USING (name),
	LATERAL (SELECT coalesce(array_agg(e ORDER BY e), '{}') AS common FROM unnest(v) AS e WHERE e <@ (l.memory | '{}'::roaring64)) AS c;
SELECT count(*) AS pairs, count(*) FILTER (WHERE cardinality(common) = few) AS within,
	count(*) FILTER (WHERE common = '{}') AS apart FROM expected;

-- every operation, in both orders; each call is the first of its statement
CREATE FUNCTION pg_temp.differences(large_set text, OUT operation text, OUT wrong bigint) RETURNS SETOF record
LANGUAGE plpgsql AS $$
DECLARE
	pair record;
	good boolean;
BEGIN
	FOR operation IN
		SELECT replace(o, 'large', large_set) FROM unnest(ARRAY[
			's & large = shared', 'large & s = shared', 's - large = s - shared', 'roaring64_cardinality(large - s) = n - cardinality(common)',
			'(s && large) = (common <> ''{}'')', '(large && s) = (common <> ''{}'')',
			'(s <@ large) = (shared = s)', '(large @> s) = (shared = s)', '(large <@ s) = (n = cardinality(common))', '(s @> large) = (n = cardinality(common))',
			'roaring64_and_cardinality(s, large) = cardinality(common)', 'roaring64_and_cardinality(large, s) = cardinality(common)',
			'roaring64_andnot_cardinality(s, large) = few - cardinality(common)', 'roaring64_andnot_cardinality(large, s) = n - cardinality(common)',
			'roaring64_or_cardinality(s, large) = n + few - cardinality(common)', 'roaring64_or_cardinality(large, s) = n + few - cardinality(common)',
			'roaring64_xor_cardinality(large, s) = n + few - 2 * cardinality(common)',
			'abs(roaring64_jaccard(s, large) - cardinality(common) / (n + few - cardinality(common))::float8) < 1e-12']) AS o
	LOOP
		wrong := 0;
		FOR pair IN SELECT name, what FROM expected LOOP
			EXECUTE format('SELECT %s FROM expected JOIN large USING (name) WHERE name = $1 AND what = $2', operation)
			INTO good USING pair.name, pair.what;
			wrong := wrong + (good IS NOT TRUE)::int;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT storage, count(*) AS operations, sum(wrong) AS wrong, array_agg(operation) FILTER (WHERE wrong > 0) AS which
FROM unnest(ARRAY['plain', 'compressed', '(memory | ''{}''::roaring64)', '(SELECT roaring64_or_agg(v) FROM (VALUES (plain)) AS t (v))']) AS storage,
	pg_temp.differences(storage) GROUP BY storage ORDER BY storage;

-- it is so that parts are fetched: less than half of the pages
CREATE FUNCTION pg_temp.pages(expression text, large_set text, small_set text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT %s FROM expected JOIN large USING (name) WHERE name = %L AND what = %L',
		expression, large_set, small_set) INTO plan;
	RETURN (plan->0->'Plan'->>'Local Hit Blocks')::int + (plan->0->'Plan'->>'Local Read Blocks')::int;
END $$;
SELECT expression, count(*) FILTER (WHERE pages < whole / 2) AS parts, count(*) FILTER (WHERE pages >= whole / 2) AS whole
FROM unnest('{s & plain,plain & s,s - plain,s && plain,plain && s,s <@ plain,plain @> s,plain - s,s | plain}'::text[] ||
		ARRAY(SELECT format('roaring64_%s_cardinality(%s)', c, a) FROM unnest('{and,andnot,or,xor}'::text[]) AS c, unnest('{"s, plain","plain, s"}'::text[]) AS a)) AS expression,
	unnest('{elements,last}'::text[]) AS what, large,
	LATERAL (SELECT pg_temp.pages(expression, name, what) AS pages, pg_temp.pages('roaring64_hash(plain)', name, what) AS whole) AS p
GROUP BY expression ORDER BY expression;

-- the same large set row after row, and different ones in turn
SELECT l.name, count(*) AS rows, count(*) FILTER (WHERE s & plain <> shared OR (s <@ plain) <> (shared = s) OR
	roaring64_or_cardinality(plain, s) <> n + few - cardinality(common)) AS wrong
FROM large AS l JOIN expected USING (name) GROUP BY l.name ORDER BY l.name;
SELECT count(*) AS rows, count(*) FILTER (WHERE s & plain <> shared OR s - plain <> s - shared OR (plain && s) <> (common <> '{}')) AS wrong
FROM (SELECT e.*, plain FROM expected AS e JOIN large USING (name) ORDER BY what, name OFFSET 0) AS x;
-- a large one as the parameter of a plan
SELECT count(*) AS rows, count(*) FILTER (WHERE s & (SELECT plain FROM large WHERE name = 'many') <> shared) AS wrong
FROM expected WHERE name = 'many';
-- both are stored, and either is the larger
SELECT count(*) AS pairs, count(*) FILTER (WHERE a.plain & b.plain <> (a.memory | '{}'::roaring64) & (b.memory | '{}'::roaring64) OR
	(a.plain && b.plain) <> (roaring64_and_cardinality(b.plain, a.plain) > 0)) AS wrong
FROM large AS a, large AS b;
