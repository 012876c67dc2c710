--
-- Aggregates over frames that move, against the same aggregates without
-- functions for that, which begin anew for every frame.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

CREATE AGGREGATE plain_or (roaring64) (SFUNC = _roaring64_or_agg_transfn, STYPE = roaring64,
	FINALFUNC = _roaring64_set_finalfn);
CREATE AGGREGATE plain_and (roaring64) (SFUNC = _roaring64_and_agg_transfn, STYPE = roaring64,
	FINALFUNC = _roaring64_set_finalfn);
CREATE AGGREGATE plain_or_count (roaring64) (SFUNC = _roaring64_or_agg_transfn, STYPE = roaring64,
	FINALFUNC = _roaring64_cardinality_finalfn);
CREATE AGGREGATE plain_and_count (roaring64) (SFUNC = _roaring64_and_agg_transfn, STYPE = roaring64,
	FINALFUNC = _roaring64_cardinality_finalfn);

--
-- Some frames, all of them, to read
--
CREATE TABLE few AS
SELECT n, s::roaring64 FROM unnest('{"{1,2,3}","{2,3}",NULL,"{3,4}","{}","{2}",NULL,NULL,"{-1,2}"}'::text[]) WITH ORDINALITY AS t (s, n);
\pset null NULL
SELECT n, s, roaring64_or_agg(s) OVER w AS "or", roaring64_or_cardinality_agg(s) OVER w AS or_count,
	   roaring64_and_agg(s) OVER w AS "and", roaring64_and_cardinality_agg(s) OVER w AS and_count
FROM few WINDOW w AS (ORDER BY n ROWS 1 PRECEDING) ORDER BY n;
\pset null ''

--
-- How often the argument is evaluated: once when its row enters the frame, and
-- once when it leaves, unless the executor begins anew
--
CREATE FUNCTION seen(roaring64) RETURNS roaring64
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM set_config('moving.seen', (current_setting('moving.seen')::int + 1)::text, false);
	RETURN $1;
END $$;
CREATE FUNCTION times_seen(query text) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('moving.seen', '0', false);
	EXECUTE format('SELECT count(*) FROM (%s) AS t WHERE t IS NOT NULL', query);
	RETURN current_setting('moving.seen');
END $$;
-- 100 sets that take 8 kB each
CREATE TABLE sets AS
SELECT n, n / 50 AS g, (SELECT roaring64_agg(2 * v + n % 2) FROM generate_series(0, 9999) AS v) | n AS s
FROM generate_series(0::bigint, 99) AS n;
SELECT what, times_seen(format('SELECT roaring64_or_cardinality_agg(seen(s)) %s FROM sets', clauses)) AS seen
FROM (VALUES
	('10 rows', 'OVER (ORDER BY n ROWS 9 PRECEDING)'),
	('10 rows of a part', 'OVER (PARTITION BY g ORDER BY n ROWS 9 PRECEDING)'),
	('every second row', 'FILTER (WHERE n % 2 = 0) OVER (ORDER BY n ROWS 9 PRECEDING)'),
	('until the end', 'OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)'),
	('from the beginning', 'OVER (ORDER BY n ROWS UNBOUNDED PRECEDING)'),
	('one row', 'OVER (ORDER BY n ROWS CURRENT ROW)'),
	('without the row', 'OVER (ORDER BY n ROWS 9 PRECEDING EXCLUDE CURRENT ROW)')) AS t (what, clauses);
-- a volatile argument
ALTER FUNCTION seen VOLATILE;
SELECT times_seen('SELECT roaring64_or_cardinality_agg(seen(s)) OVER (ORDER BY n ROWS 9 PRECEDING) FROM sets');
ALTER FUNCTION seen IMMUTABLE;
-- one that is not immutable though it says so, and asks to take out more than there is
CREATE FUNCTION sometimes(roaring64) RETURNS roaring64
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN CASE WHEN random() < 0.5 THEN $1 END;
END $$;
SELECT count(*), count(c) > 0 AS sets FROM (SELECT roaring64_or_agg(sometimes(s)) OVER (ORDER BY n ROWS 3 PRECEDING) AS c FROM sets) AS t;

--
-- Memory: the sets of a frame, up to work_mem; in each partition anew
--
CREATE FUNCTION held(result bigint) RETURNS numeric
LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT sum(total_bytes) / 1024 FROM pg_backend_memory_contexts WHERE name = 'WindowAgg Per Aggregate');
END $$;
CREATE FUNCTION most_held(frame text) RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
	most numeric;
BEGIN
	EXECUTE format('SELECT max(held(c)) FROM (SELECT roaring64_or_cardinality_agg(s) OVER (%s) AS c FROM sets) AS t', frame)
	INTO most;
	RETURN most;
END $$;
SET work_mem = '256kB';
SELECT frame, times_seen(format('SELECT roaring64_or_cardinality_agg(seen(s)) OVER (%s) FROM sets', frame)) AS seen,
	   most_held(frame) BETWEEN least_kb AND least_kb * 2 + 64 AS held
FROM (VALUES
	('ORDER BY n ROWS 9 PRECEDING', 80),
	('ORDER BY n ROWS 29 PRECEDING', 240),
	('ORDER BY n ROWS 39 PRECEDING', 240),
	('PARTITION BY n > 70 ORDER BY n ROWS 39 PRECEDING', 240),
	('ORDER BY n ROWS 9 PRECEDING EXCLUDE TIES', 80)) AS t (frame, least_kb);
-- also where the first rows of a partition have empty frames
SET work_mem = '64kB';
SELECT times_seen('SELECT roaring64_or_cardinality_agg(seen(CASE WHEN n < 70 THEN s ELSE ''{1}'' END))
	OVER (PARTITION BY n >= 70 ORDER BY n ROWS BETWEEN 9 PRECEDING AND 1 PRECEDING) FROM sets') AS seen;
RESET work_mem;
DROP FUNCTION most_held, held, seen, sometimes, times_seen;
DROP TABLE few, sets;

--
-- Random frames of random sets, every kind with every other.  Results are
-- compared row by row, as the next row's state is this row's changed.
--
CREATE TABLE kinds (kind int, s roaring64);
-- compressed, out of line and not, in the row; dense, runs, sparse; few, none
INSERT INTO kinds
SELECT i % 8, CASE i % 8
	WHEN 0 THEN ARRAY(SELECT (hashint8extended(v, i) & 63) FROM generate_series(1, i % 7) AS v)::roaring64
	WHEN 1 THEN int8range(i * 10, i * 10 + 50)::roaring64 - (i * 10 + 5)
	WHEN 2 THEN ARRAY(SELECT hashint8extended(v, i / 16) FROM generate_series(1, 20) AS v)::roaring64
	WHEN 3 THEN (SELECT roaring64_agg(v * 3) FROM generate_series(i * 20, i * 20 + 9000) AS v)
	WHEN 4 THEN int8range(i * 100, i * 300)::roaring64 | int8range(70000, 70000 + i)
	WHEN 5 THEN (SELECT roaring64_agg((hashint8extended(v, i) & 65535) - 30000) FROM generate_series(1, 3000) AS v)
	WHEN 6 THEN '{}'
	END
FROM generate_series(1::bigint, 80) AS i;
CREATE TABLE rows (n int, g int, v int, t date, s roaring64);
ALTER TABLE rows ALTER s SET STORAGE EXTERNAL;

-- a bound of a frame, by how far it is from the row: 0 and 4 are the ends
CREATE FUNCTION random_bound(side int, mode text) RETURNS text
LANGUAGE sql
RETURN CASE side WHEN 0 THEN 'UNBOUNDED PRECEDING' WHEN 2 THEN 'CURRENT ROW' WHEN 4 THEN 'UNBOUNDED FOLLOWING'
	ELSE CASE WHEN mode = 'days' THEN format('%L::interval', floor(random() * 9) || ' days')
			  ELSE floor(random() * random() * 20)::text END ||
		 CASE side WHEN 1 THEN ' PRECEDING' ELSE ' FOLLOWING' END END;
CREATE FUNCTION random_window() RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	mode text := (ARRAY['ROWS', 'ROWS', 'GROUPS', 'RANGE', 'days'])[1 + floor(random() * 5)];
	sides int[];
BEGIN
	-- both in order, and neither at the wrong end; only every fourth from the beginning
	LOOP
		sides := ARRAY[floor(random() * 4), 1 + floor(random() * 4)];
		EXIT WHEN sides[1] <= sides[2] AND (sides[1] > 0 OR random() < 0.25);
	END LOOP;
	RETURN (ARRAY['', '', 'PARTITION BY g '])[1 + floor(random() * 3)] || 'ORDER BY ' ||
		CASE mode WHEN 'days' THEN 't' WHEN 'ROWS' THEN 'n' ELSE 'v' END ||
		(ARRAY['', ' DESC'])[1 + floor(random() * 2)] ||
		(ARRAY['', ' NULLS FIRST'])[1 + floor(random() * 2)] || ' ' ||
		CASE mode WHEN 'days' THEN 'RANGE' ELSE mode END ||
		format(' BETWEEN %s AND %s', random_bound(sides[1], mode), random_bound(sides[2], mode)) ||
		CASE WHEN random() < 0.1 THEN
			(ARRAY[' EXCLUDE CURRENT ROW', ' EXCLUDE GROUP', ' EXCLUDE TIES'])[1 + floor(random() * 3)] ELSE '' END;
END $$;

-- Compares so many frames.  Stops and says what it was at the first difference.
CREATE FUNCTION compare_frames(times int, OUT windows bigint, OUT not_null bigint, OUT counted bigint)
LANGUAGE plpgsql AS $$
DECLARE
	query text;
	r record;
BEGIN
	windows := 0;
	not_null := 0;
	counted := 0;
	FOR i IN 1..times LOOP
		IF i % 10 = 1 THEN
			TRUNCATE rows;
			INSERT INTO rows
			SELECT row_number() OVER (), random() * 3, CASE WHEN random() < 0.9 THEN random() * 15 END,
				   CASE WHEN random() < 0.9 THEN date '2026-01-01' + (random() * 40)::int END,
				   (SELECT CASE WHEN random() < 0.9 THEN s END FROM kinds
					WHERE mask >> kind & 1 = 1 AND n IS NOT NULL ORDER BY random() LIMIT 1)
			FROM (SELECT 1 + floor(random() * 255)::int AS mask, ceil(random() * random() * 60)::int AS size OFFSET 0) AS t,
				 generate_series(1, size) AS n;
		END IF;
		PERFORM set_config('work_mem', (ARRAY['64kB', '256kB', '4MB'])[1 + floor(random() * 3)], true);
		query := format($query$
			SELECT count(*) AS windows, count(o) AS not_null, sum(a_count) AS counted,
				   bool_and(o::bytea IS NOT DISTINCT FROM o_::bytea AND a::bytea IS NOT DISTINCT FROM a_::bytea AND
							o_count = o_count_ AND a_count = a_count_) AS same
			FROM (SELECT roaring64_or_agg(s) %1$s OVER w AS o, plain_or(s) %1$s OVER w AS o_,
						 roaring64_and_agg(s) %1$s OVER w AS a, plain_and(s) %1$s OVER w AS a_,
						 roaring64_or_cardinality_agg(s) %1$s OVER w AS o_count, plain_or_count(s) %1$s OVER w AS o_count_,
						 roaring64_and_cardinality_agg(s) %1$s OVER w AS a_count, plain_and_count(s) %1$s OVER w AS a_count_
				  FROM rows WINDOW w AS (%2$s)) AS t $query$,
			(ARRAY['', '', '', 'FILTER (WHERE v % 3 > 0)', 'FILTER (WHERE n % 5 = 0)'])[1 + floor(random() * 5)],
			random_window());
		EXECUTE query INTO r;
		IF NOT r.same THEN
			RAISE EXCEPTION 'a moving frame differs' USING DETAIL = query;
		END IF;
		windows := windows + r.windows;
		not_null := not_null + r.not_null;
		counted := counted + r.counted;
	END LOOP;
END $$;
-- 600 frames, times $ROARING64_TEST_EFFORT
\set times `awk "BEGIN { print int(600 * ${ROARING64_TEST_EFFORT:-1}) }"`
SELECT setseed(0.51);
SELECT windows > :times * 5 AS windows, not_null > :times * 2 AS not_null, counted > 0 AS counted
FROM compare_frames(:times);

--
-- Damaged sets: an answer, or an error that says so, whether they are found when
-- they come or when the back becomes the front
--
CREATE FUNCTION pg_temp.raw(bytea) RETURNS roaring64
LANGUAGE internal IMMUTABLE STRICT AS 'byteasend';
CREATE FUNCTION outcome(place int, mask int, aggregate text, length int) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($query$
		SELECT count(r) FROM (SELECT %1$s(s) OVER (ORDER BY n ROWS %2$s PRECEDING) AS r
		FROM (SELECT n, CASE WHEN n = 5 THEN pg_temp.raw(set_byte(b, $1, get_byte(b, $1) # $2)) ELSE s END AS s
			  FROM (SELECT n, s, s::bytea AS b
					FROM (SELECT n, roaring64_add(int8range(n, n + 9)::roaring64, ARRAY[70000, 70002, 70000 + n, -n]) AS s
						  FROM generate_series(1::bigint, 9) AS n) AS t) AS t) AS t) AS t $query$, aggregate, length) USING place, mask;
	RETURN 'answer';
EXCEPTION WHEN data_corrupted THEN
	RETURN 'error';
END $$;
SELECT outcome, count(*) > 100 AS many
FROM generate_series(0, 58) AS place, unnest('{1,128,255}'::int[]) AS mask,
	 unnest('{roaring64_or_agg,roaring64_and_agg,roaring64_or_cardinality_agg,roaring64_and_cardinality_agg}'::text[]) AS aggregate,
	 generate_series(1, 4) AS length, outcome(place, mask, aggregate, length)
GROUP BY outcome ORDER BY outcome;

DROP FUNCTION outcome, compare_frames, random_window, random_bound;
DROP TABLE kinds, rows;
DROP AGGREGATE plain_or(roaring64), plain_and(roaring64), plain_or_count(roaring64), plain_and_count(roaring64);
