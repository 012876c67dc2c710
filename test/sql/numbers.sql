--
-- Numbers attached to ids: what the functions of docs/numbers.md give and refuse,
-- and random cases beside a row for every id.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
RESET client_min_messages;
\set SHOW_CONTEXT never

-- the function behind an aggregate, as a query could call it
SELECT _roaring64_and_or_agg_transfn('{1}', '{2}', true);
SELECT _roaring64_and_or_agg_transfn(NULL, '{2}', NULL);

SELECT roaring64_numbers_create('amounts');
\d amounts

SELECT roaring64_numbers_set('amounts', 'a', '{1,2,3,4,5}', '{5,0,-3,7,-9223372036854775808}');
SELECT weight, ids FROM amounts ORDER BY weight;
-- one changes, one goes, one comes; rows that are no more needed go
SELECT roaring64_numbers_set('amounts', 'a', '{5,3,6}', '{9223372036854775807,NULL,-1}');
SELECT weight, ids FROM amounts WHERE weight NOT BETWEEN 8 AND 1::bigint << 61 ORDER BY weight;
SELECT roaring64_numbers_add('amounts', 'a', '{5,5,6,9}', '{-9223372036854775807,1,1,2}');
SELECT weight, ids FROM amounts ORDER BY weight;
-- what is the same is not written
CREATE FUNCTION written() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', TG_OP, new.weight; RETURN new; END $$;
CREATE TRIGGER written AFTER INSERT OR UPDATE ON amounts FOR EACH ROW EXECUTE FUNCTION written();
SELECT roaring64_numbers_set('amounts', 'a', '{1,2}', '{5,0}');
SELECT roaring64_numbers_set('amounts', 'a', '{1}', '{4}');
DROP TRIGGER written ON amounts;
SELECT r, roaring64_numbers_in_range('amounts', 'a', r)
FROM unnest(ARRAY['(,)', '[0,)', '(,0)', '[1,4]', '[0,0]', 'empty', '[100,200)', '[-9223372036854775808,1)', '(-9223372036854775808,)', '(,-9223372036854775808)', '[9223372036854775806,)', '(9223372036854775806,)']::int8range[]) AS r;
SELECT n, roaring64_numbers_top('amounts', 'a', n) AS top, roaring64_numbers_top('amounts', 'a', n, lowest => true) AS lowest,
	   roaring64_numbers_top('amounts', 'a', n, '{1,2,99}') AS among
FROM generate_series(0, 7) AS n;
-- a key that is not there
SELECT roaring64_numbers_in_range('amounts', 'b', '(,)') AS range, roaring64_numbers_in_range('amounts', 'b', '[1,)') AS above,
	   roaring64_numbers_top('amounts', 'b', 3) AS top;
SELECT roaring64_numbers_merge('amounts', 'b', 'c');
SELECT roaring64_numbers_set('amounts', 'b', '{}', '{}'), roaring64_numbers_add('amounts', 'b', '{}', '{}'), roaring64_numbers_set('amounts', 'b', '{1}', '{NULL}');
SELECT count(*) FROM amounts WHERE key <> 'a';
-- with itself
BEGIN;
SELECT roaring64_numbers_merge('amounts', 'a', 'a');
SELECT weight, ids FROM amounts ORDER BY weight;
ROLLBACK;

-- equal numbers have equal rows, however they came about: by one and less one again
-- over every end of a run of bits, or from two halves
WITH given (ids, given, one, half, rest) AS
	(SELECT array_agg(id), array_agg(v), array_agg(CASE WHEN v > 0 THEN -1 ELSE 1 END), array_agg(v / 2), array_agg(v - v / 2)
	FROM unnest('{-1,0,1,7,-8,4611686018427387904,9223372036854775807,-9223372036854775807,-9223372036854775808}'::bigint[]) WITH ORDINALITY AS n (v, id))
SELECT roaring64_numbers_set('amounts', 'set', ids, given) AS set, roaring64_numbers_set('amounts', 'there and back', ids, given) AS set,
	roaring64_numbers_add('amounts', 'there and back', ids, one) AS there, roaring64_numbers_add('amounts', 'there and back', ids, ARRAY(SELECT -v FROM unnest(one) AS v)) AS back,
	roaring64_numbers_set('amounts', 'merged', ids, half) AS half, roaring64_numbers_set('amounts', 'rest', ids, rest) AS rest, roaring64_numbers_merge('amounts', 'merged', 'rest') AS merged
FROM given;
DELETE FROM amounts WHERE key = 'rest';
SELECT count(*), count(DISTINCT slices) AS different
FROM (SELECT array_agg((weight, ids::bytea) ORDER BY weight) AS slices FROM amounts WHERE key <> 'a' GROUP BY key) AS t;
DELETE FROM amounts WHERE key <> 'a';

-- refused, and nothing has changed
SELECT key, weight, ids INTO before FROM amounts;
SELECT roaring64_numbers_set('amounts', 'a', '{1,2,1}', '{1,2,1}');
SELECT roaring64_numbers_set('amounts', 'a', '{1,NULL}', '{1,2}');
SELECT roaring64_numbers_set('amounts', 'a', '{1,2}', '{1}');
SELECT roaring64_numbers_set('amounts', 'a', NULL, NULL);
SELECT roaring64_numbers_set('amounts', NULL, '{1}', '{1}');
SELECT roaring64_numbers_add('amounts', 'a', '{1,2}', '{1}');
SELECT roaring64_numbers_add('amounts', 'a', '{1,2}', '{1,NULL}');
SELECT roaring64_numbers_add('amounts', 'a', '{1}', '{9223372036854775807}');
SELECT roaring64_numbers_top('amounts', 'a', -1);
SELECT roaring64_numbers_merge('amounts', 'a', NULL);
-- at both ends, and next to them
SELECT roaring64_numbers_set('amounts', 'most', '{1}', '{9223372036854775806}'), roaring64_numbers_set('amounts', 'least', '{1}', '{-9223372036854775807}');
SELECT roaring64_numbers_set('amounts', '1', '{1}', '{1}'), roaring64_numbers_set('amounts', '-1', '{1}', '{-1}');
SELECT roaring64_numbers_merge('amounts', 'most', '1'), roaring64_numbers_merge('amounts', 'least', '-1');
SELECT roaring64_numbers_merge('amounts', 'most', '1');
SELECT roaring64_numbers_merge('amounts', 'least', '-1');
SELECT roaring64_numbers_merge('amounts', 'least', 'least');
SELECT roaring64_numbers_merge('amounts', 'most', 'least');
SELECT weight, ids FROM amounts WHERE key = 'most' ORDER BY weight;
DELETE FROM amounts WHERE key <> 'a';
SELECT roaring64_numbers_set('before', 'a', '{1}', '{1}');
SELECT (SELECT count(*) FROM amounts) = count(*) AS unchanged FROM before NATURAL JOIN amounts;
DROP TABLE before;
DROP TABLE amounts;
-- what is not a table of numbers
CREATE TABLE points (key text, weight integer, ids roaring64);
SELECT roaring64_numbers_in_range('points', 'a', '[1,2]');
SELECT roaring64_numbers_top('points', 'a', 1);
SELECT roaring64_numbers_lock('points', 'a');
SELECT roaring64_numbers_set('pg_class', 'a', '{1}', '{1}');
SELECT roaring64_numbers_add('pg_class', 'a', '{1}', '{1}');
SELECT roaring64_numbers_merge('pg_class', 'a', 'b');
SELECT roaring64_numbers_lock(NULL, 'a');
SELECT roaring64_numbers_get('points', 'a', '{1}');
SELECT roaring64_numbers_sum('points', 'a');
SELECT roaring64_numbers_avg('points', 'a');
SELECT roaring64_numbers_count('points', 'a');
SELECT roaring64_numbers_merge('points', 'a', 'b');
SELECT roaring64_numbers_stats('points');
SELECT roaring64_numbers_drop('points');
DROP TABLE points;
-- a weight that is in a child, too, would count twice
SELECT roaring64_numbers_create('parent');
CREATE TABLE child () INHERITS (parent);
SELECT roaring64_numbers_sum('parent', 'a');
DROP TABLE child;
SELECT roaring64_numbers_drop('parent');
-- names that cannot be
SELECT roaring64_numbers_create('a.b.c');
SELECT roaring64_numbers_create('a b');
SELECT roaring64_numbers_create(NULL);
SET search_path = nowhere;
SELECT public.roaring64_numbers_create('amounts');
RESET search_path;

-- a locked key that is new gets no row, and one that is there keeps its rows
SELECT roaring64_numbers_create('locked');
SELECT roaring64_numbers_set('locked', 'a', '{1}', '{0}');
SELECT roaring64_numbers_lock('locked', 'new', 'a', 'new', 'b');
SELECT * FROM locked;
SELECT roaring64_numbers_lock('locked', 'a', NULL);
-- the ids of each key are counted, not their slices
SELECT roaring64_numbers_set('locked', 'b', '{1,2,3}', '{0,7,-7}');
SELECT keys, ids, bytes = pg_total_relation_size('locked') AS bytes FROM roaring64_numbers_stats('locked');
SELECT roaring64_numbers_drop(NULL);
SELECT roaring64_numbers_stats(NULL);
SELECT roaring64_numbers_drop('locked');
SELECT to_regclass('locked');

-- Names and keys that mean something to format() or in a string.  Each key of each
-- table gets numbers of its own by every function, and keeps them.
CREATE FUNCTION odd_names(OUT tables bigint, OUT differences text[]) LANGUAGE plpgsql AS $$
DECLARE
	odd text[] := ARRAY['%', '100%', '100%%', '%1$s', '%s', '%L', 'a''b', '"x y"', 'a\b', '$1', 'src', ''];
	name text;
	t regclass;
	k integer;
BEGIN
	tables := 0;
	differences := '{}';
	FOREACH name IN ARRAY odd[1 : 11] LOOP
		t := roaring64_numbers_create(quote_ident(name));
		IF (SELECT relname FROM pg_class WHERE oid = t) <> name THEN
			differences := differences || format('%s is %s', name, t);
		END IF;
		FOR k IN 1 .. 12 LOOP
			PERFORM roaring64_numbers_lock(t, odd[k]), roaring64_numbers_set(t, odd[k], ARRAY[1, 2], ARRAY[k, 0]),
				roaring64_numbers_add(t, odd[k], '{2}', ARRAY[-k]);
		END LOOP;
		FOR k IN 1 .. 11 LOOP
			PERFORM roaring64_numbers_merge(t, odd[k], odd[k + 1]);
		END LOOP;
		differences := differences || ARRAY(
			SELECT format('%s %s', t, odd[i]) FROM generate_series(1, 12) AS i, CAST(CASE i WHEN 12 THEN 12 ELSE 2 * i + 1 END AS bigint) AS n
			WHERE (roaring64_numbers_get(t, odd[i], '{1,2}') = ARRAY[n, -n] AND roaring64_numbers_sum(t, odd[i]) = 0
				AND roaring64_numbers_avg(t, odd[i], '{1}') = n AND roaring64_numbers_count(t, odd[i], '{2,3}') = 1
				AND roaring64_numbers_in_range(t, odd[i], int8range(n, n, '[]')) = '{1}'
				AND roaring64_numbers_in_range(t, odd[i], int8range(NULL, 0)) = '{2}'
				AND roaring64_numbers_top(t, odd[i], 1) = '{1}') IS NOT TRUE);
		EXECUTE format('SELECT %L || count(*) FROM %s WHERE key <> ALL ($1) OR roaring64_is_empty(ids) HAVING count(*) > 0', t || ': ', t)
		INTO name USING odd;
		differences := array_remove(differences || name, NULL);
		PERFORM roaring64_numbers_drop(t);
		tables := tables + 1;
	END LOOP;
END $$;
SELECT * FROM odd_names();

--
-- Random cases, beside a table of a row for every id.  Numbers are small, or of so
-- many bits, or next to a power of two or to the ends of bigint, so that rows come
-- and go; ids are a few of each of some containers.  A round changes the numbers
-- of one of three keys, or does not as they would go out of range; then all numbers
-- of all keys are compared, and all that can be asked of the key is asked.  Each is
-- a transaction, so that dead rows go.
-- There are 60 rounds, times $ROARING64_TEST_EFFORT; 400 are more than 10,000 cases.
--
SELECT roaring64_numbers_create('numbers');
CREATE TABLE model (key text, id bigint, value bigint NOT NULL, PRIMARY KEY (key, id));

CREATE FUNCTION some_number(width integer) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT CASE (random() * 5)::int
		WHEN 0 THEN (random() * 6)::bigint - 3
		WHEN 1 THEN (ARRAY['-9223372036854775808', -9223372036854775807, -1, 0, 1, 9223372036854775806, 9223372036854775807]::bigint[])[CASE WHEN width > 61 THEN 1 + (random() * 6)::int ELSE 4 END]
		WHEN 2 THEN CASE WHEN random() < 0.5 THEN 1 ELSE -1 END * ((1::bigint << (random() * width)::int) + (random() * 2)::int - 1)
		ELSE ((random() - 0.5) * 2 * (1::bigint << width))::bigint END
$$;
CREATE FUNCTION some_ids() RETURNS bigint[] LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(array_agg(DISTINCT id), '{}')
	FROM (SELECT (ARRAY[0, 65536, -65536, 1::bigint << 40, '-9223372036854775808', 9223372036854775788])[1 + (random() * 5)::int] + (random() * 19)::int AS id
		FROM generate_series(1, (random() * random() * 60)::int)) AS t
$$;

CREATE PROCEDURE run(rounds integer) LANGUAGE plpgsql AS $$
DECLARE
	cases integer := 0;
	differences integer := 0;
	refused integer := 0;
	keys text[] := ARRAY['100%', '100%%', $k$%1$s 'a' "x y"$k$];
	this_key text;
	other_key text;
	width integer;
	these bigint[];
	given bigint[];
	segment roaring64;
	asked bigint[];
	span int8range;
	bound bigint;
	k integer;
	was_refused boolean;
	should boolean;
	same boolean[];
	weights bigint[] := ARRAY(SELECT 0 UNION ALL SELECT sign << bit FROM generate_series(0, 63) AS bit, unnest('{1,-1}'::bigint[]) AS sign WHERE sign < 0 OR bit < 63);
BEGIN
	FOR round IN 1 .. rounds LOOP
		this_key := keys[1 + (random() * 2)::int];
		other_key := keys[1 + (random() * 2)::int];
		width := (ARRAY[1, 3, 8, 8, 17, 17, 40, 62])[1 + (random() * 7)::int];
		these := some_ids();
		given := ARRAY(SELECT some_number(width) FROM unnest(these) AS id WHERE id IS NOT NULL);
		was_refused := false;
		should := false;
		CASE (random() * 9)::int
			WHEN 0, 1, 2 THEN		-- set, and take away every fifth
				given := ARRAY(SELECT CASE WHEN random() < 0.8 THEN v END FROM unnest(given) AS v);
				PERFORM roaring64_numbers_set('numbers', this_key, these, given);
				DELETE FROM model WHERE key = this_key AND id = ANY (these);
				INSERT INTO model SELECT this_key, n.* FROM unnest(these, given) AS n (id, value) WHERE value IS NOT NULL;
			WHEN 3, 4, 5 THEN		-- add, the first one twice
				these := these[1 : 1] || these;
				given := given[1 : 1] || given;
				BEGIN
					INSERT INTO model SELECT this_key, n.id, sum(n.value) FROM unnest(these, given) AS n (id, value) GROUP BY n.id
					ON CONFLICT (key, id) DO UPDATE SET value = model.value + excluded.value;
				EXCEPTION WHEN numeric_value_out_of_range THEN
					should := true;
				END;
				BEGIN
					PERFORM roaring64_numbers_add('numbers', this_key, these, given);
				EXCEPTION WHEN numeric_value_out_of_range THEN
					was_refused := true;
				END;
			WHEN 6, 7 THEN			-- merge
				BEGIN
					INSERT INTO model SELECT this_key, n.id, n.value FROM model AS n WHERE n.key = other_key
					ON CONFLICT (key, id) DO UPDATE SET value = model.value + excluded.value;
				EXCEPTION WHEN numeric_value_out_of_range THEN
					should := true;
				END;
				BEGIN
					PERFORM roaring64_numbers_merge('numbers', this_key, other_key);
				EXCEPTION WHEN numeric_value_out_of_range THEN
					was_refused := true;
				END;
			WHEN 8 THEN			-- one more, and one less again
				PERFORM roaring64_numbers_add('numbers', this_key, array_agg(id), array_agg(d)),
					roaring64_numbers_add('numbers', this_key, array_agg(id), array_agg(-d))
				FROM (SELECT id, CASE WHEN value < 0 THEN 1 ELSE -1 END FROM model WHERE key = this_key) AS m (id, d)
				HAVING count(*) > 0;
			ELSE				-- take all away
				PERFORM roaring64_numbers_set('numbers', this_key, array_agg(id), array_agg(NULL::bigint))
				FROM model WHERE key = this_key HAVING count(*) > 0;
				DELETE FROM model WHERE key = this_key;
		END CASE;
		refused := refused + was_refused::int;
		segment := some_ids() || some_ids();
		asked := some_ids();
		bound := some_number(width);
		span := CASE (random() * 5)::int
			WHEN 0 THEN int8range(bound, NULL, '()') WHEN 1 THEN int8range(NULL, bound)
			WHEN 2 THEN int8range(NULL, NULL) WHEN 3 THEN int8range(bound, nullif(bound, 9223372036854775807), '[]')
			ELSE int8range(least(bound, 0), greatest(bound, 1)) END;
		k := (random() * random() * 70)::int;
		same := ARRAY[
			was_refused = should,
			-- the rows are what they have to be, so equal numbers have equal rows
			NOT EXISTS (SELECT FROM numbers WHERE key = this_key AND (roaring64_is_empty(ids) OR weight <> ALL (weights))),
			coalesce((SELECT roaring64_and_cardinality(roaring64_or_agg(ids) FILTER (WHERE weight > 0), roaring64_or_agg(ids) FILTER (WHERE weight < 0)) FROM numbers WHERE key = this_key), 0) = 0,
			(SELECT ids FROM numbers WHERE key = this_key AND weight = 0) IS NOT DISTINCT FROM (SELECT roaring64_agg(id) FROM model WHERE key = this_key),
			-- every number, of every key
			NOT EXISTS (SELECT FROM (SELECT key, id, sum(weight) AS value FROM numbers, roaring64_elements(ids) AS id GROUP BY key, id) AS n
				FULL JOIN model AS m USING (key, id) WHERE n.value IS DISTINCT FROM m.value),
			-- by the functions: the sum over nothing is none
			(SELECT (roaring64_numbers_sum('numbers', this_key, segment), roaring64_numbers_avg('numbers', this_key, segment), roaring64_numbers_count('numbers', this_key, segment)))
				IS NOT DISTINCT FROM (SELECT (sum(value), avg(value), count(*)) FROM model WHERE key = this_key AND id <@ segment),
			(SELECT (roaring64_numbers_sum('numbers', this_key), roaring64_numbers_avg('numbers', this_key), roaring64_numbers_count('numbers', this_key)))
				IS NOT DISTINCT FROM (SELECT (sum(value), avg(value), count(*)) FROM model WHERE key = this_key),
			roaring64_numbers_get('numbers', this_key, these || asked || these[1 : 2])
				= roaring64_numbers_get('numbers', this_key, these) || roaring64_numbers_get('numbers', this_key, asked) || roaring64_numbers_get('numbers', this_key, these[1 : 2]),
			-- sum and count over a set, and over all
			(SELECT (sum(weight * roaring64_and_cardinality(ids, segment)::numeric), coalesce(sum(roaring64_and_cardinality(ids, segment)) FILTER (WHERE weight = 0), 0)::bigint) FROM numbers WHERE key = this_key)
				IS NOT DISTINCT FROM (SELECT (CASE WHEN count(*) > 0 THEN coalesce(sum(value) FILTER (WHERE id <@ segment), 0) END, count(*) FILTER (WHERE id <@ segment)) FROM model WHERE key = this_key),
			(SELECT sum(weight * roaring64_cardinality(ids)::numeric) FROM numbers WHERE key = this_key)
				IS NOT DISTINCT FROM (SELECT sum(value) FROM model WHERE key = this_key),
			-- ranges
			roaring64_numbers_in_range('numbers', this_key, int8range(bound, NULL)) = (SELECT coalesce(roaring64_agg(id), '{}') FROM model WHERE key = this_key AND value >= bound),
			roaring64_numbers_in_range('numbers', this_key, span) = (SELECT coalesce(roaring64_agg(id), '{}') FROM model WHERE key = this_key AND value <@ span),
			-- the first ones: of equal numbers, the smallest ids
			roaring64_numbers_top('numbers', this_key, k) =
				(SELECT coalesce(roaring64_agg(id), '{}') FROM (SELECT id FROM model WHERE key = this_key ORDER BY value DESC, id LIMIT k) AS t),
			roaring64_numbers_top('numbers', this_key, k, segment, true) =
				(SELECT coalesce(roaring64_agg(id), '{}') FROM (SELECT id FROM model WHERE key = this_key AND id <@ segment ORDER BY value, id LIMIT k) AS t)];
		same := same || ARRAY(SELECT n.number IS NOT DISTINCT FROM (SELECT value FROM model WHERE key = this_key AND model.id = n.id)
				FROM unnest(asked || these, roaring64_numbers_get('numbers', this_key, asked || these)) AS n (id, number) LIMIT 12);
		-- sums over some more sets, and numbers one by one
		same := same || ARRAY(SELECT (SELECT sum(weight * roaring64_and_cardinality(ids, s)::numeric) FROM numbers WHERE key = this_key)
				IS NOT DISTINCT FROM (SELECT CASE WHEN count(*) > 0 THEN coalesce(sum(value) FILTER (WHERE id <@ s), 0) END FROM model WHERE key = this_key)
				FROM unnest(ARRAY[some_ids()::roaring64, some_ids()::roaring64, some_ids()::roaring64, some_ids()::roaring64, these::roaring64]) AS s);
		same := same || ARRAY(SELECT (SELECT sum(weight) FROM numbers WHERE key = this_key AND ids @> i)
				IS NOT DISTINCT FROM (SELECT value FROM model WHERE key = this_key AND id = i)
				FROM unnest(these || some_ids() || some_ids()) AS i LIMIT 12);
		cases := cases + cardinality(same);
		IF NOT true = ALL (same) THEN
			differences := differences + (SELECT count(*) FROM unnest(same) AS s WHERE s IS NOT TRUE);
			RAISE WARNING 'round %, key %, width %, bound %, span %, k %: %', round, this_key, width, bound, span, k, same;
		END IF;
		COMMIT;
	END LOOP;
	RAISE LOG '% cases, % refused', cases, refused;
	RAISE NOTICE 'many cases: %, differences: %', cases >= 22 * rounds, differences;
END $$;
SELECT setseed(0.22);
\set rounds `awk "BEGIN { print int(60 * ${ROARING64_TEST_EFFORT:-1}) }"`
CALL run(:rounds);
DROP TABLE numbers, model;
DROP PROCEDURE run;
DROP FUNCTION written, odd_names, some_number, some_ids;
