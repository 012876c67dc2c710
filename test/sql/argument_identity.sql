--
-- Every function and aggregate that takes a set, over sets that look alike: of
-- one size, with one beginning, different in one element.  Each gets its set in
-- every way in which a plan hands over a value, and must answer as it does in a
-- statement of its own, which cannot remember any other set.  The calls are made
-- from the catalogs, so that a new function is here without being named.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
SET jit = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

-- for each way of storing: the sets, an element of one of them, and where it is
CREATE TABLE storing (
	name text PRIMARY KEY, storage text, compression text,
	base roaring64, above bigint, place bigint);
WITH lz4 AS (
	SELECT CASE WHEN 'lz4' = ANY (enumvals) THEN 'lz4' ELSE 'pglz' END AS method
	FROM pg_settings WHERE name = 'default_toast_compression'),
even AS (
	SELECT roaring64_agg(i * 2) AS s FROM generate_series(0::bigint, 4200) i),
scattered AS (
	SELECT roaring64_agg(i * 7919 % 1000003 * 2) AS s FROM generate_series(1::bigint, 3000) i),
large AS (
	SELECT roaring64_agg(i * 7919 % 8388593 * 2) AS s FROM generate_series(1::bigint, 26000) i),
buckets AS (
	SELECT roaring64_agg(i << 32) AS s FROM generate_series(1::bigint, 39) i)
INSERT INTO storing
SELECT 'inline, pglz', 'EXTENDED', 'pglz', s, 8001, 4003 FROM even UNION ALL
SELECT 'inline, lz4', 'EXTENDED', method, s, 8001, 4003 FROM even, lz4 UNION ALL
SELECT 'inline, many buckets', 'PLAIN', 'pglz', s, (40::bigint << 32) + 1, 40 FROM buckets UNION ALL
SELECT 'out of line, compressed', 'EXTENDED', method, s, 2001, 4 FROM scattered, lz4 UNION ALL
SELECT 'out of line, plain', 'EXTERNAL', 'pglz', s, 2001, 4 FROM scattered UNION ALL
SELECT 'out of line, in parts', 'EXTERNAL', 'pglz', s, 2001, 4 FROM large;

CREATE TABLE alike (id int PRIMARY KEY, s roaring64);
CREATE TABLE third (third roaring64);
CREATE TABLE expected (id int, r text);
CREATE INDEX ON expected (r, id);
CREATE TABLE copy (id int, r text);
CREATE ROLE regress_roaring64_reader;
GRANT SELECT ON alike, third, expected TO regress_roaring64_reader;
ALTER TABLE alike ENABLE ROW LEVEL SECURITY;

-- Calls of all functions, as text with {set} for the set.  A function of two
-- sets is here with each of them, and each time with two others.
CREATE VIEW call AS
WITH fn AS (
	SELECT p.oid::regprocedure::text AS name, proname, prokind, proretset, provariadic,
		proargtypes::oid[] AS types, format_type(prorettype, NULL) AS result
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
		AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname LIKE 'roaring64%'
	WHERE proname NOT LIKE E'\\_%' AND prokind IN ('f', 'a')
		AND '{roaring64,roaring64[]}'::regtype[]::oid[] && proargtypes::oid[]
		AND NOT '{internal,regclass,cstring}'::regtype[]::oid[] && proargtypes::oid[]
		AND prorettype <> 'cstring'::regtype),
given AS (
	SELECT fn.*, place, variant, (
		SELECT string_agg(CASE
			WHEN n = place AND type = 'roaring64[]'::regtype THEN 'VARIADIC ARRAY[{set}, {other}, {set}]'
			WHEN n = place THEN '{set}'
			WHEN type = 'roaring64'::regtype THEN CASE variant WHEN 1 THEN '{other}' ELSE '{alike}' END
			WHEN type = 'bigint'::regtype THEN CASE variant WHEN 1 THEN '{element}' ELSE '{place}' END
			WHEN type = 'integer'::regtype THEN '16'
			WHEN type = 'boolean'::regtype THEN 'true'
			WHEN type = 'bigint[]'::regtype THEN 'ARRAY[5, {element}, {element} + 2]'
			WHEN type IN ('int8range'::regtype, 'anyrange'::regtype) THEN 'int8range({element} - 1, {element} + {variant})'
			END, ', ' ORDER BY n)
		FROM unnest(types) WITH ORDINALITY AS a (type, n)) AS args
	FROM fn, generate_subscripts(types, 1) AS i (zero), LATERAL (SELECT zero + 1) AS p (place),
		generate_series(1, 2) AS variant
	WHERE types[zero] IN ('roaring64'::regtype, 'roaring64[]'::regtype))
SELECT name, place, variant, result, proname, types, replace(CASE
	WHEN prokind = 'a' THEN format('(SELECT %I(%s) FROM (VALUES ({set}), ({other})) AS v (x))', proname,
		replace(args, '{set}', 'x'))
	WHEN proretset THEN format('(SELECT string_agg(t::text, '' '') FROM %I(%s) AS t)', proname, args)
	ELSE format('%I(%s)', proname, args) END, '{variant}', variant::text) AS expression
FROM given WHERE args IS NOT NULL;

-- what no call could be made for
SELECT p.oid::regprocedure AS not_called FROM pg_proc p
WHERE proname LIKE 'roaring64%' AND proname <> 'roaring64_out' AND 'roaring64'::regtype = ANY (proargtypes::oid[])
	AND NOT 'regclass'::regtype = ANY (proargtypes::oid[])
	AND NOT EXISTS (SELECT FROM call WHERE name = p.oid::regprocedure::text)
ORDER BY 1;

CREATE TABLE difference (storing text, form text, call text);

-- Notes it if a query does not give the expected rows (id, r).
CREATE FUNCTION compare(storing text, form text, call text, query text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	wrong bigint;
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) AS q FULL JOIN (SELECT id AS eid, r AS er FROM expected) AS e'
				   ' ON id = eid WHERE r IS DISTINCT FROM er', query) INTO wrong;
	IF wrong > 0 THEN
		INSERT INTO difference VALUES (storing, form, call);
	END IF;
END $$;

-- One call in all forms.
CREATE FUNCTION try(storing text, call text, expression text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	of_s text := format('md5(coalesce((%s)::text, ''null''))', replace(expression, '{set}', 's'));
	of_o text := format('md5(coalesce((%s)::text, ''null''))', replace(expression, '{set}', 'o.s'));
	of_1 text := format('md5(coalesce((%s)::text, ''null''))', replace(expression, '{set}', '$1'));
	rows bigint;
BEGIN
	TRUNCATE expected, copy;
	FOR n IN 1..8 LOOP
		EXECUTE format('INSERT INTO expected SELECT id, %s FROM alike WHERE id = %s', of_s, n);
	END LOOP;
	ANALYZE expected;

	PERFORM compare(storing, 'column', call, format('SELECT id, %s AS r FROM alike', of_s));
	PERFORM compare(storing, 'subquery', call, format('SELECT id, (SELECT %s) AS r FROM alike AS o', of_o));
	PERFORM compare(storing, 'lateral', call,
		format('SELECT id, r FROM alike AS o, LATERAL (SELECT %s AS r OFFSET 0) AS l', of_o));
	PERFORM compare(storing, 'lateral, rescanned', call,
		format('SELECT DISTINCT id, r FROM alike AS o, LATERAL (SELECT %s AS r FROM generate_series(1, 3) OFFSET 0) AS l', of_o));
	PERFORM compare(storing, 'nested loop', call,
		format('SELECT o.id, e.r FROM alike AS o JOIN expected AS e ON e.r = %s AND e.id = o.id', of_o));
	PERFORM compare(storing, 'outer side', call,
		format('SELECT DISTINCT id, %s AS r FROM (SELECT * FROM alike OFFSET 0) AS o, generate_series(1, 3)', of_o));

	EXECUTE format('CREATE POLICY one ON alike FOR SELECT USING (EXISTS (SELECT FROM expected AS e'
				   ' WHERE e.id = alike.id AND e.r = (SELECT %s)))', replace(of_o, 'o.s', 'alike.s'));
	SET LOCAL ROLE regress_roaring64_reader;
	SELECT count(*) INTO rows FROM alike;
	RESET ROLE;
	DROP POLICY one ON alike;
	IF rows <> 8 THEN
		INSERT INTO difference VALUES (storing, 'policy', call);
	END IF;

	EXECUTE format('CREATE OR REPLACE FUNCTION by_variable() RETURNS TABLE (id int, r text) LANGUAGE plpgsql AS $f$'
				   ' DECLARE s roaring64; BEGIN FOR id, s IN SELECT o.id, o.s FROM alike AS o LOOP'
				   ' r := %s; RETURN NEXT; END LOOP; END $f$', of_s);
	PERFORM compare(storing, 'variable', call, 'SELECT * FROM by_variable()');
	EXECUTE format('CREATE OR REPLACE FUNCTION by_function(roaring64) RETURNS text LANGUAGE sql SET jit = off'
				   ' AS $f$ SELECT %s $f$', of_1);
	PERFORM compare(storing, 'SQL function', call, 'SELECT id, by_function(s) AS r FROM alike');

	EXECUTE 'INSERT INTO copy SELECT id, NULL FROM alike';
	EXECUTE format('UPDATE copy AS c SET r = (SELECT %s) FROM alike AS o WHERE o.id = c.id', of_o);
	PERFORM compare(storing, 'UPDATE', call, 'SELECT * FROM copy');
	IF current_setting('server_version_num')::int >= 150000 THEN
		EXECUTE 'UPDATE copy SET r = NULL';
		EXECUTE format('MERGE INTO copy AS c USING alike AS o ON o.id = c.id'
					   ' WHEN MATCHED THEN UPDATE SET r = (SELECT %s)', of_o);
		PERFORM compare(storing, 'MERGE', call, 'SELECT * FROM copy');
	END IF;
END $$;

-- A user's aggregate over a function of two sets, and over one of a set and an
-- element, against a call a statement.
CREATE FUNCTION fold(storing text, name text, type text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	state roaring64 := '{1}';
	folded roaring64;
BEGIN
	FOR n IN 1..8 LOOP
		EXECUTE format('SELECT %I($1, %s) FROM alike WHERE id = $2', name,
					   CASE type WHEN 'roaring64' THEN 's' ELSE 'roaring64_min(s) + id' END)
		INTO state USING state, n;
	END LOOP;
	EXECUTE format('CREATE AGGREGATE folding(%s) (sfunc = %I, stype = roaring64, initcond = ''{1}'')', type, name);
	EXECUTE format('SELECT folding(%s ORDER BY id) FROM alike',
				   CASE type WHEN 'roaring64' THEN 's' ELSE 'roaring64_min(s) + id' END) INTO folded;
	EXECUTE format('DROP AGGREGATE folding(%s)', type);
	IF folded IS DISTINCT FROM state THEN
		INSERT INTO difference VALUES (storing, 'aggregate', name);
	END IF;
END $$;

-- Sets that look alike follow each other, and one comes back.  Returns how many
-- sizes they have.
CREATE FUNCTION try_all(stored storing) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	c record;
BEGIN
	TRUNCATE alike, third;
	EXECUTE format('ALTER TABLE alike ALTER s SET STORAGE %s, ALTER s SET COMPRESSION %s', stored.storage, stored.compression);
	INSERT INTO alike SELECT id, stored.base | (stored.above + CASE id WHEN 8 THEN 10 ELSE 2 * id END)
	FROM generate_series(1, 8) AS id;
	INSERT INTO third SELECT s FROM alike WHERE id = 3;
	-- of what is large and costs time to fetch, the first form of each call; of what is largest
	-- only those that do not read all of it for a long text
	FOR c IN SELECT * FROM call WHERE (variant = 1 OR stored.name LIKE 'inline%')
		AND (stored.name <> 'out of line, in parts' OR result IN ('bigint', 'boolean', 'integer', 'double precision', 'roaring64')) LOOP
		PERFORM try(stored.name, c.name || ' ' || c.place || ' ' || c.variant,
			replace(replace(replace(replace(c.expression,
				'{other}', format('roaring64 ''{7,%s,%s}''', stored.above + 4, stored.above + 6)),
				'{alike}', '(SELECT third FROM third)'),
				'{element}', format('%s::bigint', stored.above + 4)),
				'{place}', format('%s::bigint', stored.place)));
	END LOOP;
	FOR c IN SELECT DISTINCT proname, format_type(types[1], NULL) AS type FROM call
		WHERE result = 'roaring64' AND types[0] = 'roaring64'::regtype AND array_length(types, 1) = 2
			AND types[1] IN ('roaring64'::regtype, 'bigint'::regtype)
	LOOP
		PERFORM fold(stored.name, c.proname, c.type);
	END LOOP;
	RETURN (SELECT count(DISTINCT pg_column_size(s)) FROM alike);
END $$;

-- they look alike, and the calls can tell them apart
SELECT name, try_all(storing) AS sizes FROM storing ORDER BY name;
SELECT count(DISTINCT name) >= 60 AS functions, count(*) >= 130 AS calls FROM call;
SELECT * FROM difference ORDER BY 1, 2, 3;

DROP VIEW call;
DROP FUNCTION try_all, fold, try, compare, by_variable, by_function;
DROP TABLE storing, alike, third, expected, copy, difference;
DROP ROLE regress_roaring64_reader;
