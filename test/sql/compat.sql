--
-- The names of pg_roaringbitmap, against what they do there said in plain SQL:
-- elements are unsigned, so those below 0 come last.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA compat;
-- traps: what matches better than pg_catalog's in a script that has the schema first
CREATE FUNCTION compat.trap(oid, regnamespace) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'trap'; RETURN $1 = $2::oid; END $$;
CREATE FUNCTION compat.trap(name, name) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'trap'; RETURN true; END $$;
CREATE FUNCTION compat.format(text, text, regprocedure) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'trap'; RETURN pg_catalog.format($1, $2, $3); END $$;
CREATE OPERATOR compat.= (LEFTARG = oid, RIGHTARG = regnamespace, FUNCTION = compat.trap);
CREATE OPERATOR compat.~ (LEFTARG = name, RIGHTARG = name, FUNCTION = compat.trap);
-- one's own function of such a name keeps its comment
CREATE FUNCTION compat.rb_mine() RETURNS int LANGUAGE sql RETURN 1;
COMMENT ON FUNCTION compat.rb_mine() IS 'mine';
CREATE EXTENSION roaring64_compat SCHEMA compat;
SELECT obj_description('compat.rb_mine()'::regprocedure, 'pg_proc');
DROP FUNCTION compat.rb_mine();
SELECT count(*) > 100 AS commented FROM pg_proc WHERE pronamespace = 'compat'::regnamespace AND obj_description(oid, 'pg_proc') ~ 'pg_roaringbitmap';
DROP OPERATOR compat.= (oid, regnamespace), compat.~ (name, name);
DROP FUNCTION compat.format, compat.trap(oid, regnamespace), compat.trap(name, name);
RESET client_min_messages;
SET search_path = public, compat;

-- as somebody would use it
CREATE TABLE audience (id int PRIMARY KEY, members roaringbitmap64, small roaringbitmap);
INSERT INTO audience VALUES (1, '{1,2,3}', '{1,2,3}'), (2, '{3,-1}', '{3,-1}'), (3, '{}', '{}'), (4, NULL, NULL);
CREATE INDEX ON audience USING gin (members);
SELECT id, rb64_to_array(members), rb64_max(members), rb_to_array(small), rb_max(small), rb64_shiftright(members, 1), small << 1
FROM audience ORDER BY id;
SELECT rb64_or_agg(members), rb64_and_cardinality_agg(members), rb_xor_agg(small), rb_or_cardinality_agg(small) FROM audience;
SELECT rb64_or_cardinality_agg(members), rb_and_agg(small), rb64_build_agg(id), rb_build_agg(id) FROM audience WHERE id > 3;
SELECT rb64_build_agg(id), rb_build_agg(id) FROM audience;
SELECT rb64_iterate('{5,-2,-1}'), rb_iterate('{5,-2,-1}');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SELECT array_agg(e ORDER BY n) FROM rb64_iterate('{5,-2,-1,7}') WITH ORDINALITY AS t (e, n);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
UPDATE audience SET members = rb64_add(members, 7), small = small | 7 WHERE id = 1;
SELECT id FROM audience WHERE members @> 7 AND 7 <@ small;
SELECT members::roaringbitmap, small::roaringbitmap64, roaringbitmap64(members::bytea) = members FROM audience WHERE id = 2;
-- elements that are no integers, which pg_roaringbitmap refuses, too
SELECT '{2147483648}'::roaringbitmap;
SELECT roaringbitmap64('{-2147483649}')::roaringbitmap;
SELECT rb_fill('{}', 1, 100) - 5 = rb_clear('{}' | int8range(1, 100), 5, 6) AS same;
-- what is renamed last: the column itself, whose rows are not written again
SELECT pg_relation_filenode('audience') AS before \gset
ALTER TABLE audience ALTER COLUMN members TYPE roaring64, ALTER COLUMN small TYPE roaring64;
SELECT pg_relation_filenode('audience') = :before AS not_rewritten;
-- nothing has a name twice, and everything is said to be what it is
SELECT count(*), count(*) FILTER (WHERE obj_description(oid, 'pg_proc') IS NULL) AS undescribed FROM pg_proc
WHERE pronamespace = 'compat'::regnamespace AND proname !~ '^_';

SELECT setseed(0.5);
-- numbers near the ends, and near 0, of 32 and of 64 bits
CREATE TABLE numbers AS
	SELECT bits, u, (u - CASE WHEN u >= 2::numeric ^ (bits - 1) THEN 2::numeric ^ bits ELSE 0 END)::bigint AS e
	FROM (VALUES (32), (64)) AS types (bits),
		LATERAL (SELECT DISTINCT trunc((at * 2::numeric ^ (bits - 1))) + d
			FROM generate_series(0, 2) AS at, generate_series(-70000, 70000) AS d
			WHERE d BETWEEN -4 AND 4 OR d % 9973 = 0) AS t (u)
	WHERE u >= 0 AND u < 2::numeric ^ bits;
CREATE TABLE cases AS
	SELECT i, bits, (random() * 8)::int AS n, trunc((random() - 0.3) * 6)::bigint AS skip, random() < 0.5 AS backwards,
		(SELECT coalesce(array_agg(u ORDER BY u), '{}') FROM numbers AS t WHERE t.bits = types.bits AND hashint8(hashint8(e)::bigint * 31 + i) % 5 = 0) AS a,
		(SELECT u FROM numbers AS t WHERE t.bits = types.bits AND i > 0 ORDER BY random() LIMIT 1) AS m,
		(SELECT u FROM numbers AS t WHERE t.bits = types.bits AND i > 0 ORDER BY random() LIMIT 1) AS x,
		(SELECT u FROM numbers AS t WHERE t.bits = types.bits AND i > 0 ORDER BY random() LIMIT 1) AS l
	FROM (VALUES (32), (64)) AS types (bits), generate_series(1, 60) AS i;
-- the numbers as the functions take them, and what these answer
CREATE FUNCTION signed(numeric, bits int) RETURNS bigint LANGUAGE sql
	RETURN ($1 - CASE WHEN $1 >= 2::numeric ^ (bits - 1) THEN 2::numeric ^ bits ELSE 0 END)::bigint;
CREATE FUNCTION unsigned(bigint, bits int) RETURNS numeric LANGUAGE sql
	RETURN trunc($1 + CASE WHEN $1 < 0 THEN 2::numeric ^ bits ELSE 0 END);
CREATE FUNCTION members(roaring64, bits int) RETURNS numeric[] LANGUAGE sql
	RETURN (SELECT coalesce(array_agg(u ORDER BY u), '{}') FROM roaring64_elements($1) AS e, unsigned(e, bits) AS u);
CREATE FUNCTION answers(i bigint, bits int) RETURNS TABLE (name text, answer text) LANGUAGE plpgsql AS $$
DECLARE
	c cases;
	s roaring64;
	x bigint;
	m bigint;
	l bigint;
	step bigint;
	rb text := CASE bits WHEN 32 THEN 'rb_' ELSE 'rb64_' END;
	call text;
BEGIN
	SELECT * INTO c FROM cases WHERE cases.i = $1 AND cases.bits = $2;
	s := (SELECT coalesce(roaring64_agg(signed(u, bits)), '{}') FROM unnest(c.a) AS u);
	x := signed(c.x, bits);
	-- bounds of ranges are bigint, so that with 32 bits they are as they are
	m := CASE bits WHEN 32 THEN c.m ELSE signed(c.m, bits) END;
	l := CASE bits WHEN 32 THEN c.l ELSE signed(c.l, bits) END;
	step := signed(c.l, bits) / (CASE WHEN c.n < 4 THEN 1 ELSE 1000003 END);
	FOR name, call IN VALUES
		('min', 'unsigned(%1$smin($1), $2)'), ('max', 'unsigned(%1$smax($1), $2)'),
		('rank', '%1$srank($1, $3::%2$s)'), ('index', '%1$sindex($1, $3::%2$s)'),
		('array', '(SELECT array_agg(unsigned(e, $2) ORDER BY n) FROM unnest(%1$sto_array($1)) WITH ORDINALITY AS t (e, n))'),
		('iterate', '(SELECT array_agg(unsigned(e, $2) ORDER BY n) FROM %1$siterate($1) WITH ORDINALITY AS t (e, n))'),
		('range', 'members(%1$srange($1, $4, $5), $2)'), ('count', '%1$srange_cardinality($1, $4, $5)'),
		('clear', 'members(%1$sclear($1, $4, $5), $2)'),
		('right', 'members(%1$sshiftright($1, $6), $2)'), ('left', 'members(%1$sshiftleft($1, $6), $2)'),
		('select', 'members(%1$sselect($1, $7, $8, $9), $2)'),
		('select in', 'members(%1$sselect($1, $7, $8, $9, $4, $5), $2)')
	LOOP
		EXECUTE format('SELECT (' || call || ')::text', rb, CASE bits WHEN 32 THEN 'integer' ELSE 'bigint' END)
			INTO answer USING s, bits, x, m, l, step, c.n::bigint, c.skip, c.backwards;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION expected(i bigint, bits int) RETURNS TABLE (name text, answer text) LANGUAGE sql AS $$
	WITH c AS (
		SELECT *, CASE WHEN cases.bits = 64 AND cases.l = 0 THEN 2::numeric ^ 64 ELSE cases.l END AS stop,
			signed(l, $2) / (CASE WHEN cases.n < 4 THEN 1 ELSE 1000003 END) AS step, greatest(skip, 0) AS first
		FROM cases WHERE cases.i = $1 AND cases.bits = $2
	), e AS (
		SELECT u, o, count(*) OVER () - o AS back FROM c, unnest(a) WITH ORDINALITY AS t (u, o)
	), r AS (
		SELECT u, row_number() OVER (ORDER BY u) AS o, row_number() OVER (ORDER BY u DESC) - 1 AS back
		FROM c, e WHERE u >= m AND u < stop
	)
	SELECT 'min', (SELECT min(u) FROM e)::text UNION ALL
	SELECT 'max', (SELECT max(u) FROM e)::text UNION ALL
	SELECT 'rank', (SELECT count(*) FROM c, e WHERE u <= x)::text UNION ALL
	SELECT 'index', coalesce((SELECT o - 1 FROM c, e WHERE u = x), -1)::text UNION ALL
	SELECT 'array', (SELECT array_agg(u ORDER BY u) FROM e)::text UNION ALL
	SELECT 'iterate', (SELECT array_agg(u ORDER BY u) FROM e)::text UNION ALL
	SELECT 'range', (SELECT coalesce(array_agg(u ORDER BY u), '{}') FROM r)::text UNION ALL
	SELECT 'count', (SELECT count(*) FROM r)::text UNION ALL
	SELECT 'clear', (SELECT coalesce(array_agg(u ORDER BY u), '{}') FROM e WHERE u NOT IN (SELECT u FROM r))::text UNION ALL
	SELECT 'right', (SELECT coalesce(array_agg(u + step ORDER BY u), '{}') FROM c, e WHERE u + step >= 0 AND u + step < 2::numeric ^ $2)::text UNION ALL
	SELECT 'left', (SELECT coalesce(array_agg(u - step ORDER BY u), '{}') FROM c, e WHERE u - step >= 0 AND u - step < 2::numeric ^ $2)::text UNION ALL
	SELECT 'select', (SELECT coalesce(array_agg(u ORDER BY u), '{}') FROM c, e
		WHERE CASE WHEN backwards THEN back ELSE o - 1 END >= first AND CASE WHEN backwards THEN back ELSE o - 1 END < first + n)::text UNION ALL
	SELECT 'select in', (SELECT coalesce(array_agg(u ORDER BY u), '{}') FROM c, r
		WHERE CASE WHEN backwards THEN back ELSE o - 1 END >= first AND CASE WHEN backwards THEN back ELSE o - 1 END < first + n)::text
$$;
SELECT a.name, count(*), count(DISTINCT a.answer) > 5 AS varied,
	count(*) FILTER (WHERE coalesce(nullif(a.answer, '{}'), '') <> coalesce(nullif(x.answer, '{}'), '')) AS wrong, min(i) FILTER (WHERE a.answer <> x.answer) AS in_case
FROM cases, answers(i, bits) AS a JOIN expected(i, bits) AS x USING (name)
GROUP BY a.name ORDER BY a.name;
-- unions with ranges: what is added has the range's elements, and those only
SELECT count(*) > 80 AS enough, count(*) FILTER (WHERE bits = 64) > 30 AS of_64,
	bool_and(CASE bits WHEN 32 THEN rb_fill(s, m, m + 1000) - s = rb_flip(s, m, m + 1000) - s AND rb_range_cardinality(rb_fill(s, m, m + 1000), m, m + 1000) = least(1000, 4294967296 - m)
		AND rb_clear(rb_fill(s, m, m + 1000), m, m + 1000) = rb_clear(s, m, m + 1000)
	ELSE rb64_fill(s, m, m + 1000) - s = rb64_flip(s, m, m + 1000) - s AND rb64_range_cardinality(rb64_fill(s, m, m + 1000), m, m + 1000) = 1000
		AND rb64_clear(rb64_fill(s, m, m + 1000), m, m + 1000) = rb64_clear(s, m, m + 1000) END) AS right
FROM (SELECT bits, CASE bits WHEN 32 THEN m ELSE signed(m, bits) END::bigint AS m,
		(SELECT coalesce(roaring64_agg(signed(u, bits)), '{}') FROM unnest(a) AS u) AS s FROM cases) AS t
WHERE m NOT BETWEEN -1000 AND -1 AND m < 9223372036854774000;

-- What pg_dump and pg_upgrade do: a function can be made again of what the server
-- says that it is, and is the same then.  Where some arguments of a function
-- in SQL have names and some have none, it could not be.
SET search_path = '';
CREATE TEMP VIEW functions AS
	SELECT p.oid, extname, proargnames, prosqlbody
	FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = refobjid JOIN pg_proc AS p ON p.oid = d.objid
	WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass AND d.classid = 'pg_proc'::regclass
		AND extname ~ '^roaring64' AND prokind <> 'a';
CREATE FUNCTION pg_temp.made_again(function oid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	definition text := pg_get_functiondef(function);
BEGIN
	EXECUTE definition;
	RETURN CASE WHEN definition = pg_get_functiondef(function) THEN 'the same' ELSE 'another' END;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlerrm;
END $$;
BEGIN;
CREATE TEMP TABLE outcomes AS SELECT extname, oid::regprocedure AS name, pg_temp.made_again(oid) FROM pg_temp.functions;
SELECT extname, count(*) > 70 AS many, bool_and(made_again = 'the same') AS all_the_same
FROM pg_temp.outcomes GROUP BY extname ORDER BY extname;
SELECT * FROM pg_temp.outcomes WHERE made_again <> 'the same';
ROLLBACK;
SELECT oid::regprocedure FROM pg_temp.functions WHERE prosqlbody IS NOT NULL AND '' = ANY (proargnames);

RESET search_path;
DROP EXTENSION roaring64_compat;
SET client_min_messages = warning;
DROP SCHEMA compat;
DROP TABLE audience, numbers, cases CASCADE;
DROP FUNCTION answers, expected, members, unsigned, signed;
