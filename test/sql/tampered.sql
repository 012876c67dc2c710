--
-- Tables of state that somebody has made, or changed, by hand
--
-- Helpers find their tables by what they look like, and anybody can make such
-- a table.  Whatever is in it, there is an answer or an error: nothing is read
-- as what it is not.
--
-- Each change is made alone, in a subtransaction that is taken back, and after
-- it everything is called that would read what was changed.  An answer is
-- "ok" or the SQLSTATE.  XX000 would be an internal error, 22P01 one of the
-- processor's.
--

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA tampered;
SET search_path = tampered, public;
\set SHOW_CONTEXT never
-- without their indexes, statements are expensive enough to be compiled
SET jit = off;

CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'ok';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;

-- What the calls answer after a change, in alphabetical order.
CREATE FUNCTION answers_after(change text, calls text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answers text;
BEGIN
	BEGIN
		EXECUTE change;
		SELECT string_agg(DISTINCT try(c), ' ') INTO answers FROM unnest(calls) c;
		RAISE EXCEPTION 'take it back';
	EXCEPTION WHEN raise_exception THEN
		RETURN answers;
	WHEN OTHERS THEN
		RETURN 'cannot be made: ' || SQLERRM;
	END;
END $$;

-- Every column as a NULL, and with values of other types.
CREATE FUNCTION changes_of(tables regclass[])
RETURNS TABLE (changed text, change text) LANGUAGE sql AS $$
	SELECT format('%s.%I %s', t.name, attname, kind),
		format('ALTER TABLE %s ALTER %I DROP NOT NULL; ', t.name, attname) ||
		CASE kind WHEN 'null' THEN format('UPDATE %s SET %I = NULL', t.name, attname)
			ELSE format('ALTER TABLE %s ALTER %2$I DROP DEFAULT, ALTER %2$I TYPE %s USING %s',
				t.name, attname, kind, value) END
	FROM unnest(tables) WITH ORDINALITY AS t (name, n)
		JOIN pg_attribute ON attrelid = t.name AND attnum > 0,
		(VALUES (1, 'null', NULL), (2, 'bigint', '77'), (3, 'text', '''x''')) AS k (k, kind, value)
	WHERE format_type(atttypid, NULL) <> kind AND attname <> 'one'
	ORDER BY t.n, attnum, k
$$;

--
-- Dedup sets: test/sql/dedup.sql changes their tables.  These are what triggers
-- below need.
--

SELECT roaring64_dedup_create('forever');
SELECT roaring64_dedup_import('forever', 'k', '{1}');
SELECT change, answers_after(change, ARRAY[c]) FROM
	unnest(ARRAY['SELECT', 'ALTER TABLE forever_chunks ALTER ids DROP NOT NULL; UPDATE forever_chunks SET ids = NULL']) AS change,
	unnest(ARRAY[$$SELECT roaring64_dedup_claim_many('forever', 'k', '{2}')$$, $$SELECT roaring64_dedup_seen_many('forever', 'k', '{2}')$$,
		$$SELECT roaring64_dedup_claim('forever', 'k', 2)$$]) WITH ORDINALITY AS c (c, n) ORDER BY 1 DESC, n;
CREATE FUNCTION other_id() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := 1000 + NEW.id; RETURN NEW; END';
SELECT answers_after('CREATE TRIGGER t BEFORE INSERT ON forever_claims FOR EACH ROW EXECUTE FUNCTION other_id(); INSERT INTO forever_claims (key, id) VALUES (''k'', 5)',
	ARRAY[$$SELECT roaring64_dedup_claim_many('forever', 'k', '{4,5}')$$]);
CREATE DOMAIN false_set AS roaring64;
SET client_min_messages = error;

--
-- Delayed messages
--

SELECT roaring64_delay_create('later');
SELECT roaring64_delay_add_many('later', '{1,1,2}', '{7,8,8}', array_fill('2026-01-01 00:00+00'::timestamptz, '{3}'));
CREATE TABLE bare_later (LIKE later INCLUDING CONSTRAINTS);
INSERT INTO bare_later SELECT * FROM later;
CREATE FUNCTION delay_calls(t text) RETURNS text[] LANGUAGE sql AS $$
	SELECT ARRAY(SELECT format(c, t) FROM unnest(ARRAY[
		$q$SELECT roaring64_delay_add('%s', 3, 7, '2026-01-01 00:00+00')$q$,
		$q$SELECT roaring64_delay_add_many('%s', '{3,4}', '{7,8}', '{2026-01-01 00:00+00,2026-01-01 00:00+00}')$q$,
		$q$SELECT roaring64_delay_next_due('%s')$q$,
		$q$SELECT roaring64_delay_count('%s')$q$,
		$q$SELECT roaring64_delay_cancel('%s', 1, 7, '2026-01-01 00:00+00')$q$,
		$q$SELECT roaring64_delay_take('%s', 'infinity', 1)$q$,
		$q$SELECT roaring64_delay_take('%s', 'infinity')$q$]) c)
$$;
SELECT answers_after('SELECT', delay_calls('later')), string_agg(c, ' / ') FILTER (WHERE answers_after('SELECT', ARRAY[c]) <> 'ok')
FROM unnest(delay_calls('later')) c;
SELECT changed, answers_after(change, delay_calls('bare_later')) FROM changes_of('{bare_later}');
SELECT change, answers_after(change, delay_calls('false_later'))
FROM unnest(ARRAY[
	'CREATE TABLE false_later (bucket timestamptz, group_id bigint, ids int, CONSTRAINT bucket_width CHECK (bucket = date_bin(''1 s'', bucket, ''epoch'')))',
	'CREATE TABLE false_later (bucket timestamptz, group_id bigint, ids false_set, CONSTRAINT bucket_width CHECK (bucket = date_bin(''1 s'', bucket, ''epoch'')))',
	'CREATE TABLE false_later (bucket timestamptz, group_id bigint, ids roaring64, CONSTRAINT bucket_width CHECK (bucket = date_bin(''1 month'', bucket, ''epoch'')))',
	'CREATE TABLE false_later (bucket timestamptz, group_id bigint, ids roaring64, CONSTRAINT bucket_width CHECK (bucket = date_bin(NULL, bucket, ''epoch'')))',
	'CREATE TABLE false_later (bucket text, group_id bigint, ids roaring64, CONSTRAINT bucket_width CHECK (bucket <> ''date_bin(x''))',
	'CREATE VIEW false_later AS SELECT * FROM later']) change;

--
-- Estimators that others use, for a function with the name of ours
--

CREATE SCHEMA others;
CREATE FUNCTION others.roaring64_contains(bigint, integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT true';
CREATE FUNCTION others.roaring64_overlaps(integer, integer) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT true';
CREATE FUNCTION others.roaring64_contained(text, text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT true';
CREATE OPERATOR others.@@@ (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = others.roaring64_contains,
	RESTRICT = _roaring64_contsel, JOIN = _roaring64_contjoinsel);
CREATE OPERATOR others.@@@ (LEFTARG = integer, RIGHTARG = integer, FUNCTION = others.roaring64_overlaps,
	RESTRICT = _roaring64_contsel, JOIN = _roaring64_contjoinsel);
CREATE OPERATOR others.@@@ (LEFTARG = text, RIGHTARG = text, FUNCTION = others.roaring64_contained,
	RESTRICT = _roaring64_contsel, JOIN = _roaring64_contjoinsel);
CREATE TABLE numbers AS SELECT i::bigint AS a, i AS b, i::text AS c FROM generate_series(1, 1000) i;
ANALYZE numbers;
SELECT n, try('EXPLAIN SELECT FROM numbers x, numbers y WHERE ' || n) FROM unnest(ARRAY[
	'x.a OPERATOR(others.@@@) 7', 'x.b OPERATOR(others.@@@) 7', '7 OPERATOR(others.@@@) x.b',
	'x.c OPERATOR(others.@@@) ''y''', 'x.a OPERATOR(others.@@@) y.b', 'x.b OPERATOR(others.@@@) y.b',
	'x.c OPERATOR(others.@@@) y.c']) n;
