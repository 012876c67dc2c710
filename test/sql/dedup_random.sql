--
-- The dedup helper against a plain table: random claims, batches, bulk
-- batches, loads, forgets, folds and rollbacks, on sets of every kind, and
-- after each the same answers from both.
--
-- All that is random follows from one number.  An answer that is wrong warns
-- with it, and "PGOPTIONS='-c roaring64_test.seed=N'" or, for a private server,
-- "--conf roaring64_test.seed=N" does the same run again.  The server's log has
-- the number of every run.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
CREATE SCHEMA dedup_random;
SET search_path = dedup_random, public;

DO $$
BEGIN
	IF coalesce(current_setting('roaring64_test.seed', true), '') = '' THEN
		PERFORM set_config('roaring64_test.seed',
						   (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text, false);
	END IF;
	RAISE LOG 'roaring64_test.seed = %', current_setting('roaring64_test.seed');
	PERFORM setseed((current_setting('roaring64_test.seed')::bigint % 1000003) / 1000003.0);
END $$;

-- What a window of generations holds, told by ordinary SQL: the ids of a key
-- that are remembered, with the generation that each is in.  Claims that are
-- not folded are in none yet.
CREATE TABLE oracle (name text, key text, id bigint, generation bigint, claimed serial, UNIQUE (name, key, id));
CREATE TABLE oracle_keys (name text, key text, generation bigint DEFAULT 0, ids bigint DEFAULT 0, PRIMARY KEY (name, key));
CREATE TABLE kinds (name text PRIMARY KEY, capacity bigint, generations integer, snowflake boolean);

CREATE PROCEDURE append(n text, k text, new_id bigint) LANGUAGE plpgsql AS $$
DECLARE
	kind kinds := (SELECT t FROM kinds AS t WHERE name = n);
	state oracle_keys;
BEGIN
	INSERT INTO oracle_keys (name, key) VALUES (n, k) ON CONFLICT DO NOTHING;
	UPDATE oracle_keys SET ids = ids + 1 WHERE name = n AND key = k RETURNING * INTO state;
	UPDATE oracle SET generation = state.generation WHERE name = n AND key = k AND id = new_id;
	IF state.ids >= kind.capacity / kind.generations THEN
		UPDATE oracle_keys SET ids = 0, generation = generation + 1 WHERE name = n AND key = k;
		DELETE FROM oracle WHERE name = n AND key = k AND generation <= state.generation + 1 - kind.generations;
	END IF;
END $$;

CREATE PROCEDURE append_pending(n text, k text) LANGUAGE plpgsql AS $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT key, id FROM oracle WHERE name = n AND (k IS NULL OR key = k) AND generation IS NULL ORDER BY claimed LOOP
		CALL append(n, c.key, c.id);
	END LOOP;
END $$;

-- ids that share chunks and containers, with repeats, over all of bigint
CREATE FUNCTION random_id(snowflake boolean) RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN snowflake
				THEN ((1279929600000 + (random() * 200)::bigint * 100) << 22) | ((random() * 2)::bigint << 12) | (random() * 2)::bigint
				WHEN random() < 0.1
				THEN (ARRAY[-9223372036854775808, -9223372036854775807, -1, 0, 1048575, 1048576, 9223372036854775807])[1 + (random() * 6)::int]
				ELSE (random() * 600)::bigint - 300 + ((random() * 2)::bigint - 1) * 1048576 END $$;

INSERT INTO kinds VALUES ('plain', NULL, 2, false), ('flakes', NULL, 2, true), ('two', 60, 2, false), ('five', 100, 5, false);
SELECT roaring64_dedup_create(name, capacity => capacity, generations => generations,
							  layout => CASE WHEN snowflake THEN 'snowflake' ELSE 'plain' END)
FROM kinds ORDER BY name;

CREATE FUNCTION step(kind kinds) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	set regclass := kind.name::regclass;
	k text := 'key ' || (random() * 2)::int;
	what integer := (random() * 11)::integer;
	given bigint[] := ARRAY(SELECT random_id(kind.snowflake) FROM generate_series(1, 1 + (random() * 30)::int));
	wanted bigint[] := ARRAY(SELECT id FROM unnest(given) WITH ORDINALITY AS u (id, n)
							 WHERE NOT EXISTS (SELECT FROM oracle AS o WHERE o.name = kind.name AND o.key = k AND o.id = u.id)
							 GROUP BY id ORDER BY min(n));
	got bigint[];
	one bigint;
	x bigint;
BEGIN
	IF what <= 3 THEN
		given := given[1:1];
		wanted := CASE WHEN given[1] = ANY (wanted) THEN given ELSE '{}' END;
		got := CASE WHEN roaring64_dedup_claim(set, k, given[1]) THEN given ELSE '{}' END;
	ELSIF what <= 6 THEN
		got := roaring64_dedup_claim(set, k, given);
	ELSIF what = 7 THEN
		CALL append_pending(kind.name, k);
		wanted := ARRAY(SELECT id FROM unnest(given) WITH ORDINALITY AS u (id, n)
						WHERE NOT EXISTS (SELECT FROM oracle AS o WHERE o.name = kind.name AND o.key = k AND o.id = u.id)
						GROUP BY id ORDER BY min(n));
		got := roaring64_dedup_claim_bulk(set, k, given);
	ELSIF what = 8 THEN
		CALL append_pending(kind.name, k);
		wanted := ARRAY(SELECT DISTINCT u.id FROM unnest(given) AS u (id)
						WHERE NOT EXISTS (SELECT FROM oracle AS o WHERE o.name = kind.name AND o.key = k AND o.id = u.id)
						ORDER BY u.id);
		got := wanted;
		one := roaring64_dedup_load(set, k, given::roaring64);
		IF one <> cardinality(wanted) THEN RETURN format('load of %s: %s', given, one); END IF;
	ELSIF what = 9 THEN
		WITH gone AS (DELETE FROM oracle AS o USING unnest(given) AS g (id)
					  WHERE o.name = kind.name AND o.key = k AND o.id = g.id RETURNING o.id)
		SELECT count(*) INTO one FROM gone;
		x := roaring64_dedup_forget(set, k, given);
		IF x <> one THEN RETURN format('forget of %s: %s', given, x); END IF;
		wanted := '{}';
		got := '{}';
	ELSIF what = 10 THEN
		BEGIN
			PERFORM roaring64_dedup_claim(set, k, given), roaring64_dedup_claim_bulk(set, k, given),
					roaring64_dedup_forget(set, k, given);
			CALL roaring64_dedup_fold(set);
			RAISE division_by_zero;
		EXCEPTION WHEN division_by_zero THEN
			wanted := '{}';
			got := '{}';
		END;
	ELSE
		CALL roaring64_dedup_fold(set);
		CALL append_pending(kind.name, NULL);
		wanted := '{}';
		got := '{}';
	END IF;
	IF got IS DISTINCT FROM wanted THEN RETURN format('%s of %s: %s, not %s', what, given, got, wanted); END IF;

	FOREACH x IN ARRAY wanted LOOP
		INSERT INTO oracle (name, key, id) VALUES (kind.name, k, x);
		IF what IN (7, 8) THEN CALL append(kind.name, k, x); END IF;
	END LOOP;

	IF roaring64_dedup_seen(set, k, given) IS DISTINCT FROM
	   ARRAY(SELECT EXISTS (SELECT FROM oracle AS o WHERE o.name = kind.name AND o.key = k AND o.id = u.id)
			 FROM unnest(given) WITH ORDINALITY AS u (id, n) ORDER BY n)
	   OR roaring64_dedup_seen(set, k, given[1]) IS DISTINCT FROM
	   EXISTS (SELECT FROM oracle AS o WHERE o.name = kind.name AND o.key = k AND o.id = given[1]) THEN
		RETURN format('seen after %s of %s', what, given);
	END IF;
	IF roaring64_dedup_export(set, k)::bigint[] <>
	   ARRAY(SELECT id FROM oracle AS o WHERE o.name = kind.name AND o.key = k ORDER BY id)
	   OR roaring64_dedup_count(set, k) <> (SELECT count(*) FROM oracle AS o WHERE o.name = kind.name AND o.key = k) THEN
		RETURN format('export after %s of %s', what, given);
	END IF;
	RETURN NULL;
END $$;

CREATE TABLE steps (name text, n integer, wrong text);
DO $$
DECLARE
	kind kinds;
	wrong text;
BEGIN
	FOR kind IN SELECT * FROM kinds ORDER BY name LOOP
		FOR n IN 1..250 LOOP
			wrong := step(kind);
			INSERT INTO steps VALUES (kind.name, n, wrong);
			IF wrong IS NOT NULL THEN
				RAISE WARNING 'with roaring64_test.seed = %: %, step %: %',
					current_setting('roaring64_test.seed'), kind.name, n, wrong;
				EXIT;
			END IF;
		END LOOP;
	END LOOP;
END $$;
SELECT name, count(*) AS steps, count(wrong) AS wrong FROM steps GROUP BY name ORDER BY name;
-- there was something to answer, and something to forget
SELECT name, count(*) > 10 AS remembers, count(DISTINCT key) AS keys,
	   (SELECT max(generation) > 3 FROM oracle_keys AS k WHERE k.name = o.name) AS forgot
FROM oracle AS o GROUP BY name ORDER BY name;

SET client_min_messages = warning;
DROP SCHEMA dedup_random CASCADE;
