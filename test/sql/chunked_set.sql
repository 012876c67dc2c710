--
-- A set in rows of 2^20 ids, which many sessions change: the statements are
-- those of docs/storage.md, and no function of ours is needed for it.  The
-- functions here only give the statements names.  Writers at the same time are
-- in test/t/031_chunked_set.pl.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

CREATE TABLE large (chunk bigint PRIMARY KEY, ids roaring64 NOT NULL);
CREATE FUNCTION add(id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	added bigint;
BEGIN
	INSERT INTO large AS l VALUES (id >> 20, '{}'::roaring64 | id)
	ON CONFLICT (chunk) DO UPDATE SET ids = l.ids | id WHERE NOT l.ids @> id;
	GET DIAGNOSTICS added = ROW_COUNT;
	RETURN added;
END $$;
CREATE FUNCTION add_many(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	INSERT INTO large AS l SELECT chunk, ids FROM roaring64_split(ids::roaring64, 20) ORDER BY chunk
	ON CONFLICT (chunk) DO UPDATE SET ids = l.ids | excluded.ids WHERE NOT l.ids @> excluded.ids
$$;
CREATE FUNCTION remove(id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	removed bigint;
BEGIN
	UPDATE large SET ids = ids - id WHERE chunk = id >> 20 AND ids @> id;
	GET DIAGNOSTICS removed = ROW_COUNT;
	RETURN removed;
END $$;
CREATE FUNCTION remove_many(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	WITH s AS MATERIALIZED (
		SELECT l.chunk, s.ids FROM roaring64_split(ids::roaring64, 20) AS s JOIN large AS l USING (chunk)
		ORDER BY l.chunk FOR UPDATE OF l)
	UPDATE large AS l SET ids = l.ids - s.ids FROM s WHERE l.chunk = s.chunk
$$;
CREATE FUNCTION contains(id bigint) RETURNS boolean LANGUAGE sql AS $$
	SELECT EXISTS (SELECT 1 FROM large WHERE chunk = id >> 20 AND ids @> id)
$$;
CREATE FUNCTION contains_which(ids bigint[]) RETURNS roaring64 LANGUAGE sql AS $$
	SELECT coalesce(roaring64_or_agg(l.ids & s.ids), '{}') FROM roaring64_split(ids::roaring64, 20) AS s JOIN large AS l USING (chunk)
$$;
CREATE FUNCTION size() RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce(sum(roaring64_cardinality(ids)), 0)::bigint FROM large
$$;
CREATE FUNCTION is_empty() RETURNS boolean LANGUAGE sql AS $$
	SELECT NOT EXISTS (SELECT 1 FROM large WHERE NOT roaring64_is_empty(ids))
$$;

SELECT is_empty(), size(), contains(5);
SELECT add(5), add(5), add(1 << 20), add(-1), add(9223372036854775807), add(-9223372036854775808);
SELECT is_empty(), size(), contains(5), contains(6), contains(-1), contains_which('{-1,0,5,6,9223372036854775807}');
TABLE large ORDER BY chunk;
SELECT add_many('{5,6,6,-2,3000000}'), size();
SELECT remove(5), remove(5), remove(77777777777), size();
SELECT remove_many('{-1,-2,6,1048576,9223372036854775807,-9223372036854775808,8}'), size();
SELECT remove(3000000), is_empty(), size();

--
-- Against a table with a row for every id
--
TRUNCATE large;
CREATE TABLE ids (id bigint PRIMARY KEY);
DO $$
DECLARE
	seed double precision := random();
	x bigint;
	many bigint[];
	n bigint;
	m bigint;
BEGIN
	PERFORM setseed(seed);
	FOR step IN 1 .. 2000 LOOP
		x := (random() * 200)::bigint * 100003 - 5000000;
		many := ARRAY(SELECT x + (random() * 9)::bigint * 250000 FROM generate_series(1, 4));
		CASE (random() * 4)::int
			WHEN 0 THEN
				n := add(x);
				INSERT INTO ids VALUES (x) ON CONFLICT DO NOTHING;
				GET DIAGNOSTICS m = ROW_COUNT;
			WHEN 1 THEN
				n := remove(x);
				DELETE FROM ids WHERE id = x;
				GET DIAGNOSTICS m = ROW_COUNT;
			WHEN 2 THEN
				PERFORM add_many(many);
				INSERT INTO ids SELECT unnest(many) ON CONFLICT DO NOTHING;
				n := size(); m := (SELECT count(*) FROM ids);
			WHEN 3 THEN
				PERFORM remove_many(many);
				DELETE FROM ids WHERE id = ANY (many);
				n := size(); m := (SELECT count(*) FROM ids);
			ELSE
				n := contains(x)::int + roaring64_cardinality(contains_which(many));
				m := (SELECT count(*) FROM ids WHERE id = x) + (SELECT count(*) FROM ids WHERE id = ANY (many));
		END CASE;
		IF n <> m THEN
			RAISE EXCEPTION 'with setseed(%): % instead of % in step %, id %', seed, n, m, step, x;
		END IF;
	END LOOP;
	IF (SELECT roaring64_or_agg(ids) FROM large) <> (SELECT roaring64_agg(id) FROM ids) THEN
		RAISE EXCEPTION 'with setseed(%): the sets differ', seed;
	END IF;
END $$;
DROP TABLE large, ids;
DROP FUNCTION add, add_many, remove, remove_many, contains, contains_which, size, is_empty;
