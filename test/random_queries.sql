--
-- random_queries.sql
--	  Random queries with "id <@ set" that are to give the same with and without indexes.
--
-- Defines random_script(seed, queries), which returns a script for psql.  It executes
-- each query in two ways: as the planner likes, with random kinds of plans disabled or
-- made parallel, and with no index.  The results must be equal in order, or sorted if the
-- query says nothing of their order.  test/t/011_random_queries.pl runs the script, as
-- plain statements of a client: the server gives no parallel plan to a cursor, which
-- loops in PL/pgSQL are.
--
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
CREATE SCHEMA random_queries;
SET search_path = random_queries, public;

-- ids that come once or often, are NULL, lie far away, or about the borders of containers; u is unique
CREATE TABLE original (k int, id bigint, v int, u int, r roaring64);
INSERT INTO original
SELECT i % 23, CASE WHEN i % 31 = 0 THEN NULL WHEN i % 37 = 0 THEN (i - 1000) * 1000000007::bigint
		WHEN i % 6 = 0 THEN 65536 * (1 + i / 6 % 2) + i / 12 % 200 - 100 WHEN i % 5 = 0 THEN i % 50 ELSE (i * 7) % 2500 - 300 END,
	(i * 13) % 100, i, int8range(i, i + i % 9)::roaring64 | (i % 40)
FROM generate_series(1, 2500) i;
CREATE TABLE indexes (no serial, definition text);
INSERT INTO indexes (definition) VALUES
	('(id)'), ('(id DESC)'), ('(id NULLS FIRST)'), ('(id DESC NULLS LAST)'), ('(k, id)'), ('(k, id DESC)'),
	('(k DESC NULLS LAST, id)'), ('(k, v, id)'), ('(k, id, v)'), ('(v, id DESC, k)'), ('(id, k)'), ('(id DESC, k)'),
	('(id, v DESC, k)'), ('(id) INCLUDE (k, v)'), ('(k) INCLUDE (id)'), ('(k, id) INCLUDE (u)'), ('(id) WHERE k < 12'),
	('(k, id) WHERE v > 20'), ('(id) WHERE id <@ ''{1,2,3,4,5,7,9,11,13,17,19,23,29,31,37,41,43,47,53,59}'''),
	('((id / 2))'), ('(k, (id / 2))'), ('((id / 2) DESC, id)'), ('USING hash (id)'),
	('USING brin (id) WITH (pages_per_range = 1)'), ('USING brin (k, id) WITH (pages_per_range = 2)'), ('USING gin (r)');

-- a table for each index; some rows are not all visible, some are dead
DO $$
DECLARE
	one record;
	name text;
BEGIN
	FOR one IN SELECT * FROM indexes LOOP
		name := 't' || one.no;
		EXECUTE format('CREATE TABLE %I (LIKE original)', name);
		EXECUTE format('INSERT INTO %I SELECT * FROM original ORDER BY %s', name,
			(ARRAY['id', 'k, id', 'hashint4(u)'])[1 + one.no % 3]);
		EXECUTE format('CREATE INDEX ON %I %s', name, one.definition);
	END LOOP;
	-- several on one table, and partitions
	CREATE TABLE many (LIKE original);
	INSERT INTO many SELECT * FROM original;
	CREATE INDEX ON many (id);
	CREATE INDEX ON many (k, id);
	CREATE INDEX ON many (v);
	CREATE INDEX ON many (u, id);
	-- some hundreds of rows for each id, in no order
	CREATE TABLE dense (LIKE original);
	INSERT INTO dense SELECT k, id % 9, v, u, r FROM original ORDER BY hashint4(u);
	CREATE INDEX ON dense (id);
	-- more pages than little work_mem has room for, and an index on each column
	CREATE TABLE wide (LIKE original) WITH (fillfactor = 10);
	INSERT INTO wide SELECT k, id, v, u + 2500 * i, r FROM original, generate_series(0, 4) i ORDER BY i < 3, hashint4(u);
	CREATE INDEX ON wide (id);
	CREATE INDEX ON wide (k);
	CREATE INDEX ON wide (v);
	CREATE INDEX ON wide USING brin (u) WITH (pages_per_range = 3);
	CREATE INDEX ON wide USING gin (r);
	CREATE TABLE by_id (LIKE original) PARTITION BY RANGE (id);
	CREATE TABLE by_id_1 PARTITION OF by_id FOR VALUES FROM (MINVALUE) TO (200);
	CREATE TABLE by_id_2 PARTITION OF by_id FOR VALUES FROM (200) TO (900);
	CREATE TABLE by_id_3 PARTITION OF by_id DEFAULT;
	INSERT INTO by_id SELECT * FROM original;
	CREATE INDEX ON by_id (id, k);
	CREATE TABLE by_k (LIKE original) PARTITION BY LIST (k);
	CREATE TABLE by_k_1 PARTITION OF by_k FOR VALUES IN (1, 2, 3, 4, 5, 6, 7, 8, 9);
	CREATE TABLE by_k_2 PARTITION OF by_k DEFAULT;
	INSERT INTO by_k SELECT * FROM original;
	CREATE INDEX ON by_k (k, id);
	CREATE INDEX ON by_k_1 (id);
	CREATE TABLE by_list (LIKE original) PARTITION BY LIST (id);
	CREATE TABLE by_list_1 PARTITION OF by_list FOR VALUES IN (0, 5, 10, 20, 45);
	CREATE TABLE by_list_2 PARTITION OF by_list FOR VALUES IN (7, 25, 35, NULL);
	CREATE TABLE by_list_3 PARTITION OF by_list DEFAULT;
	INSERT INTO by_list SELECT * FROM original;
	CREATE INDEX ON by_list (id);
	-- below partitions by another column and by id, with columns in another order
	-- no bound is (9, MAXVALUE): with it, PostgreSQL itself prunes the default partition for k = 20 AND
	-- id BETWEEN 10 AND 500, although such rows are there
	CREATE TABLE by_two (LIKE original) PARTITION BY RANGE (k, id);
	CREATE TABLE by_two_1 PARTITION OF by_two FOR VALUES FROM (MINVALUE, MINVALUE) TO (9, 300);
	CREATE TABLE by_two_2 PARTITION OF by_two FOR VALUES FROM (9, 300) TO (9, 450);
	CREATE TABLE by_two_3 PARTITION OF by_two DEFAULT;
	INSERT INTO by_two SELECT * FROM original;
	CREATE INDEX ON by_two (id, k);
	CREATE TABLE nested (LIKE original) PARTITION BY LIST (k);
	CREATE TABLE nested_1 PARTITION OF nested FOR VALUES IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) PARTITION BY RANGE (id);
	CREATE TABLE nested_1_1 PARTITION OF nested_1 FOR VALUES FROM (-500) TO (300);
	CREATE TABLE nested_1_2 PARTITION OF nested_1 FOR VALUES FROM (300) TO (1200) PARTITION BY HASH (id);
	CREATE TABLE nested_1_2_1 PARTITION OF nested_1_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE nested_1_2_2 (u int, r roaring64, id bigint, gone int, v int, k int);
	ALTER TABLE nested_1_2_2 DROP COLUMN gone;
	ALTER TABLE nested_1_2 ATTACH PARTITION nested_1_2_2 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE nested_1_3 PARTITION OF nested_1 DEFAULT;
	CREATE TABLE nested_2 PARTITION OF nested DEFAULT;
	INSERT INTO nested SELECT * FROM original;
	CREATE INDEX ON nested (id);
	CREATE TABLE inherited (LIKE original);
	FOR one IN SELECT i FROM generate_series(0, 4) i LOOP
		EXECUTE format('CREATE TABLE inherited_%s (CHECK (id >= %s AND id < %s)) INHERITS (inherited)', one.i, one.i * 500 - 300, one.i * 500 + 200);
		EXECUTE format('INSERT INTO inherited_%s SELECT * FROM original WHERE id >= %s AND id < %s', one.i, one.i * 500 - 300, one.i * 500 + 200);
		EXECUTE format('CREATE INDEX ON inherited_%s (id)', one.i);
	END LOOP;
	INSERT INTO inherited SELECT * FROM original WHERE id < -300 OR id >= 2200 OR id IS NULL;
	-- most sets are empty
	CREATE TABLE empty (LIKE original);
	INSERT INTO empty SELECT k, id, v, u, CASE WHEN u % 40 = 0 THEN r ELSE '{}' END FROM original;
	CREATE INDEX ON empty USING gin (r);
	CREATE INDEX ON empty (id) INCLUDE (u);
	CREATE TABLE by_hash (LIKE original) PARTITION BY HASH (id);
	CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE by_hash_2 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO by_hash SELECT * FROM original;
	CREATE INDEX ON by_hash (id);
	-- by an expression that is not strict
	CREATE TABLE by_default (LIKE original) PARTITION BY RANGE ((coalesce(id, 7)));
	CREATE TABLE by_default_1 PARTITION OF by_default FOR VALUES FROM (MINVALUE) TO (7);
	CREATE TABLE by_default_2 PARTITION OF by_default FOR VALUES FROM (7) TO (8);
	CREATE TABLE by_default_3 PARTITION OF by_default FOR VALUES FROM (8) TO (500);
	CREATE TABLE by_default_4 PARTITION OF by_default DEFAULT;
	INSERT INTO by_default SELECT * FROM original;
	CREATE INDEX ON by_default ((coalesce(id, 7)));
END $$;
CREATE TABLE tables AS
SELECT 't' || no AS name, definition FROM indexes UNION ALL
SELECT 'wide', '' FROM generate_series(1, 9) UNION ALL
VALUES ('many', ''), ('dense', ''), ('by_id', ''), ('by_k', ''), ('by_hash', ''), ('by_list', ''), ('by_two', ''), ('nested', ''),
	('inherited', ''), ('empty', ''), ('by_default', '');

CREATE TABLE sets (n int, s roaring64);
INSERT INTO sets VALUES (1, '{}'), (2, NULL), (3, '{7}'), (4, '{1,2,3,4,5,7,9,11,13,17}'), (5, int8range(20, 60)::roaring64),
	(6, int8range(-300, 2300)::roaring64 - 17), (7, int8range(100, 2000)::roaring64), (8, '{5,9,2000,30000000210}');
INSERT INTO sets SELECT 8 + n, roaring64_agg(i) FROM generate_series(1, 8) n,
	(SELECT generate_series(-400, 2600) UNION ALL SELECT generate_series(65100, 66000) UNION ALL SELECT generate_series(130600, 131500)) b(i)
WHERE hashint4(i * 10 + n::int) % (1 << n::int) = 0 GROUP BY n;
INSERT INTO sets SELECT 17, roaring64_agg(id) FROM original WHERE id > 1000000 OR k = 3;
INSERT INTO sets SELECT 18, roaring64_or_agg(int8range(i * 200, i * 200 + 20)::roaring64) FROM generate_series(-2, 10) i;
INSERT INTO sets VALUES (19, int8range(65300, 131300)::roaring64 - 65535 - 131072),
	(20, int8range(65136, 65536)::roaring64 | int8range(65537, 131072)), (21, int8range(-300, 65536)::roaring64);
VACUUM (ANALYZE) sets;
CREATE TABLE other (k int, w int);
INSERT INTO other SELECT i % 25, i % 3 FROM generate_series(1, 60) i;
CREATE INDEX ON other (k);
VACUUM (ANALYZE) other;
CREATE TABLE few (k int, w int);
INSERT INTO few SELECT CASE WHEN i < 12 THEN i END, i % 3 FROM generate_series(1, 12) i;
VACUUM (ANALYZE) few;
CREATE ROLE random_queries_reader;
GRANT USAGE ON SCHEMA random_queries TO random_queries_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA random_queries TO random_queries_reader;
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{t1,t5,t11,t13,many,by_id}'::text[] LOOP
		EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
		EXECUTE format('CREATE POLICY one ON %I USING (id <@ ''{1,3,5,7,20,30,45,60,70,77,100,250,1000}'' OR k = 4)', name);
	END LOOP;
	CREATE POLICY two ON many USING (id <@ (SELECT s FROM sets WHERE n = 9));
END $$;
VACUUM ANALYZE;
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{t1,t5,t8,t11,t14,many,wide,by_k}'::text[] LOOP
		EXECUTE format('UPDATE %I SET v = v + 1 WHERE u %% 7 = 0', name);
		EXECUTE format('DELETE FROM %I WHERE u %% 29 = 0', name);
	END LOOP;
END $$;

-- one of several, at random
CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT choices[1 + floor(random() * array_length(choices, 1))::int] $$;
CREATE FUNCTION up_to(n int) RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT floor(random() * (n + 1))::int $$;

-- an expression for the set, of which $1 is another one
CREATE FUNCTION some_set() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE up_to(9)
		WHEN 0 THEN '$1' WHEN 1 THEN '($1 - 7)' WHEN 2 THEN '$1' WHEN 3 THEN '$1'
		WHEN 4 THEN format('(SELECT s FROM sets WHERE n = %s)', 1 + up_to(20))
		WHEN 5 THEN format('(SELECT s | 5 FROM sets WHERE n = %s)', 1 + up_to(20))
		ELSE coalesce((SELECT format('%L::roaring64', s::bytea::text) FROM sets, (SELECT 1 + up_to(20) AS chosen OFFSET 0) c WHERE n = chosen),
			'''{1,9}''') END $$;
-- a test of a column in a set
CREATE FUNCTION set_test(id text, s text) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT format(pick('%1$s <@ %2$s', '%1$s <@ %2$s', '%2$s @> %1$s', 'roaring64_contains_element(%2$s, %1$s)',
		'roaring64_element_contained(%1$s, %2$s)'), id, s) $$;
CREATE FUNCTION some_condition(p text) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT replace(CASE up_to(21) WHEN 0 THEN format('P.k = %s', up_to(23)) WHEN 1 THEN format('P.k BETWEEN %s AND 15', up_to(15))
		WHEN 2 THEN format('P.k IN (%s, 3, 11)', up_to(23)) WHEN 3 THEN format('P.v < %s', up_to(110)) WHEN 4 THEN 'P.k < 12'
		WHEN 5 THEN 'P.v > 20' WHEN 6 THEN format('P.id > %s', up_to(2000) - 200) WHEN 7 THEN 'P.id BETWEEN 10 AND 500'
		WHEN 8 THEN 'P.k > 9 AND P.v > 20' WHEN 9 THEN 'P.id = ANY (''{5,7,20,45,300}'')'
		WHEN 10 THEN set_test('P.id', some_set()) WHEN 11 THEN 'P.r && ''{3,700}''' WHEN 12 THEN 'NOT ' || set_test('P.id', some_set())
		WHEN 13 THEN 'P.r <@ ''[0,400)''::int8range' WHEN 14 THEN 'P.r @> 7::bigint' WHEN 15 THEN 'NOT ' || set_test('P.id', some_set())
		WHEN 16 THEN format('P.u BETWEEN %s AND 9000', up_to(6000)) WHEN 17 THEN format('(P.r && ''{3,700}'' OR P.k = %s)', up_to(23))
		WHEN 18 THEN format('((P.k, P.u) < (%s, 1000) OR P.v = %s)', up_to(23), up_to(100)) WHEN 19 THEN format('(P.k, P.v) > (%s, 40)', up_to(23))
		ELSE 'true' END, 'P', p) $$;

-- The rest are for outer joins.  Sets s by number n: stored, known, NULL for some rows, or those of a semijoin or an antijoin.
CREATE FUNCTION some_sets() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT format(pick('sets', 'sets', '(SELECT * FROM sets WHERE n <> %2$s)', '(SELECT k AS n, %1$s AS s FROM few)',
		'(SELECT k AS n, %1$s AS s FROM few WHERE w > 0)', '(SELECT k AS n, %1$s AS s FROM few WHERE w > 0)',
		'(SELECT k AS n, %1$s AS s FROM few x JOIN few y USING (k) WHERE y.w = 1)',
		'(SELECT k AS n, CASE WHEN w > 0 THEN %1$s END AS s FROM few)', '(SELECT k AS n, s FROM few LEFT JOIN sets ON n = k + %2$s)',
		'(SELECT k AS n, (SELECT s FROM sets WHERE n = k + %2$s) AS s FROM few)',
		'(SELECT * FROM sets x WHERE EXISTS (SELECT FROM few WHERE k = x.n AND w > 0))',
		'(SELECT * FROM sets x WHERE NOT EXISTS (SELECT FROM few WHERE k = x.n AND w > 0))'), some_set(), up_to(20)) $$;
-- whether an id is in the set of a row b, or of a row a if there is no b
CREATE FUNCTION row_test(id text, has_b boolean) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT pick('', '', 'NOT ') || set_test(id, CASE WHEN has_b
		THEN pick('b.s', 'b.s', 'b.s', 'b.s', 'b.s', 'b.s - 7', '(b.s | 20)', some_set(), format('coalesce(b.s, %s)', some_set()),
			format('CASE WHEN b.n > 5 THEN %s END', some_set()), '(SELECT s FROM sets WHERE n = b.n + 2)')
		ELSE pick(some_set(), format('CASE WHEN a.w > 0 THEN %s END', some_set()), '(SELECT s FROM sets WHERE n = a.k)') END) $$;
-- a condition above the joins
CREATE FUNCTION above_condition(id text) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT pick('true', 'true', 'true', 'true', set_test(id, some_set()), set_test(id, some_set()), set_test('coalesce(t.id, 7)', some_set()),
		row_test(id, true), row_test(id, false), row_test('coalesce(t.id, 7)', false), row_test('coalesce(t.id, a.k)', true),
		row_test('a.k', true), 't.u IS NULL', 'b.s IS NULL', some_condition('t'), format('(%s) IS NOT TRUE', row_test(id, true)),
		format('coalesce(%s, %s)', row_test(id, true), pick('true', 'a.k > 5', 't.k > 5')),
		format('(%s OR %s)', row_test(id, true), pick('a.w = 1', 't.u IS NULL', some_condition('t'))),
		format('%s (SELECT FROM sets b WHERE %s AND n = a.k)', pick('EXISTS', 'NOT EXISTS'), row_test(id, true))) $$;
-- the rows of a table, or some of them, or those of two
CREATE FUNCTION some_rows(name text, id text) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT format(pick('%1$I', '%1$I', '%1$I', '%1$I', '%1$I', '(SELECT * FROM %1$I t WHERE %2$s)',
		'(SELECT k, coalesce(id, 7) AS id, v, u, r FROM %1$I)', '(SELECT * FROM %1$I UNION ALL SELECT * FROM by_list)',
		'(SELECT * FROM %1$I UNION ALL (SELECT * FROM dense ORDER BY u LIMIT 90))',
		'(SELECT * FROM %1$I t WHERE %3$s (SELECT FROM sets b WHERE %4$s AND n = t.k))'),
		name, set_test(id, some_set()), pick('EXISTS', 'NOT EXISTS'), row_test(id, true)) $$;

-- A query with outer joins of few rows a, sets b, and rows t, and x, of a table.
CREATE FUNCTION some_outer_joins(name text, OUT query text, OUT is_ordered boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	id text := pick('t.id', 't.id', 't.id', 't.id', 't.id', 't.id', '(t.id / 2)', 't.k', 'coalesce(t.id, 7)');
	one text := pick('LEFT', 'LEFT', 'LEFT', 'RIGHT', 'FULL', 'INNER');
	two text := pick('LEFT', 'LEFT', 'LEFT', 'RIGHT', 'FULL', 'INNER');
	a_b text := pick('a.k = b.n', 'a.k = b.n', 'b.n = a.k + 1', 'b.n = a.w', 'a.k = b.n AND a.w = 1');
	b_t text := 'b.n = t.k';
	b text := some_sets();
	t text;
	x text;
	above text;
	rest text;
BEGIN
	IF up_to(2) = 0 THEN
		name := pick('by_id', 'by_k', 'by_hash', 'by_list', 'by_two', 'nested', 'inherited', 'by_default');
	END IF;
	IF name = 'by_default' AND up_to(3) > 0 THEN
		id := 'coalesce(t.id, 7)';
	END IF;
	IF two <> 'FULL' THEN
		b_t := row_test(id, true) || ' AND ' || pick('true', some_condition('t'), 't.u = b.n * 41');
	END IF;
	t := some_rows(name, id);
	above := above_condition(id);
	CASE up_to(5)
		WHEN 0 THEN rest := format('%s b %s JOIN %s t ON %s', b, two, t, b_t);
			rest := format('few a %s JOIN (%s) ON %s', one, rest, a_b);
		WHEN 1 THEN rest := format('few a LEFT JOIN %s t ON %s', t, row_test(id, false));
			rest := format('%s %s JOIN %s b ON b.n = t.k AND %s', rest, pick('LEFT', 'INNER'), b, b_t);
		WHEN 2 THEN rest := format('few a %s JOIN %s b ON %s LEFT JOIN %s t ON %s AND t.u < 300', one, b, a_b, t, b_t);
			x := replace(row_test(id, true), 't.', 'x.');
			rest := format('%s LEFT JOIN %I x ON x.id = t.id AND x.k = t.k AND x.u < 300 AND %s', rest, name, x);
			above := replace(above, 't.', pick('t.', 'x.'));
		ELSE rest := format('few a %s JOIN %s b ON %s %s JOIN %s t ON %s', one, b, a_b, two, t, b_t);
	END CASE;
	rest := rest || ' WHERE ' || above;
	is_ordered := true;
	CASE up_to(4)
		WHEN 0 THEN query := format('SELECT a.k, b.n, t.id, t.u FROM %s ORDER BY %s LIMIT %s', rest,
				pick('1, 2, 3, 4', '3, 1, 2, 4', '3 DESC, 4, 1, 2'), 1 + up_to(60));
		WHEN 1 THEN query := format('SELECT a.k, b.n, b.s IS NULL, count(*), count(t.k), sum(t.id) FROM %s GROUP BY 1, 2, 3', rest);
			is_ordered := false;
		WHEN 2 THEN query := format('SELECT DISTINCT t.id, a.k FROM %s', rest);
			is_ordered := false;
		WHEN 3 THEN query := format('SELECT count(*), count(t.id), min(t.id), max(a.k) FROM %s', rest);
		ELSE query := format('SELECT a.k, (t).* FROM %s ORDER BY 1, u, b.n, t LIMIT %s', rest, 1 + up_to(60));
	END CASE;
END $$;

-- A query on a table.  What it returns has one order only, or none.
CREATE FUNCTION some_query(name text, OUT query text, OUT is_ordered boolean) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	id text := pick('t.id', 't.id', 't.id', 't.id', '(t.id / 2)', '(t.id / 2)', 't.k', 'coalesce(t.id, 7)');
	test text := set_test(id, some_set());
	columns text := pick('k', 'id', 'k, id', 'id, k', 'id / 2', 'k, v', 'v', 'k DESC, id', 'id DESC', 'k, id DESC', 'id DESC, k',
		'v, id DESC, k', 'k DESC', 'id NULLS FIRST', 'k DESC NULLS LAST, id', 'k, id / 2', 'id, v DESC, k');
	plain text := regexp_replace(columns, ' (DESC|NULLS FIRST|NULLS LAST)', '', 'g');
	rest text;
BEGIN
	-- "wide" takes long in these
	IF up_to(CASE name WHEN 'wide' THEN 19 ELSE 2 END) = 0 THEN
		SELECT q.* INTO query, is_ordered FROM some_outer_joins(name) q;
		RETURN;
	END IF;
	plain := regexp_replace(plain, ' NULLS LAST', '', 'g');
	IF up_to(9) = 0 THEN
		test := '(' || test || ' OR ' || some_condition('t') || ')';
	ELSIF up_to(2) = 0 THEN
		test := 'NOT ' || test;
	END IF;
	rest := format('FROM %I t WHERE %s AND %s', name, test, some_condition('t'));
	IF up_to(1) = 0 THEN
		rest := rest || ' AND ' || some_condition('t');
	END IF;
	is_ordered := true;
	CASE up_to(13)
		WHEN 0 THEN query := format('SELECT %s %s ORDER BY %s', plain, rest, columns);
		WHEN 1 THEN query := format('SELECT %s %s ORDER BY %s LIMIT %s OFFSET %s', plain, rest, columns, 1 + up_to(20), up_to(5));
		WHEN 2 THEN query := format('SELECT *, ctid IS NULL %s ORDER BY %s, u LIMIT %s', rest, columns, 1 + up_to(100));
		WHEN 3 THEN query := format('SELECT DISTINCT %s %s', plain, rest);
			is_ordered := false;
		WHEN 4 THEN query := format('SELECT %s, count(*) %s GROUP BY %1$s', plain, rest);
			is_ordered := false;
		WHEN 5 THEN query := format('SELECT %s, count(*), sum(u), row_number() OVER (ORDER BY %s) %s GROUP BY %1$s ORDER BY %2$s LIMIT %4$s',
				plain, columns, rest, 1 + up_to(50));
		WHEN 6 THEN query := format('SELECT u, row_number() OVER (PARTITION BY %s ORDER BY id, u), sum(v) OVER (ORDER BY %s) %s', plain, columns, rest);
			is_ordered := false;
		WHEN 7 THEN query := format('SELECT %s(t.%s) %s', pick('min', 'max'), pick('k', 'id', 'v'), rest);
		WHEN 8 THEN query := format('SELECT count(*), count(t.id), min(t.k), max(t.id) %s', rest);
		WHEN 9 THEN query := format('SELECT t.k, id, w FROM %I t %s JOIN other o USING (k) WHERE %s AND %s ORDER BY t.k, id, w',
				name, pick('LEFT', ''), test, some_condition('t'));
		WHEN 10 THEN query := format('SELECT t.id, t.u, x.u FROM %I t JOIN %s x ON t.%s = x.%3$s WHERE %s AND t.%s AND %s AND x.u < 100',
				name, pick('many', 't1', 't5', 'by_id'), pick('k', 'id', 'id', 'u'), test, 'u < 500', some_condition('x'));
			is_ordered := false;
		WHEN 11 THEN query := format('SELECT n, q.* FROM sets CROSS JOIN LATERAL (SELECT %s FROM %I t WHERE %s AND %s ORDER BY %s %s) q WHERE n <= %s AND n <> 2',
				plain, name, set_test(id, 's'), some_condition('t'), columns, pick('LIMIT 5', 'LIMIT 40', 'OFFSET 0'), 4 + up_to(18));
			is_ordered := false;
		WHEN 12 THEN query := format('SELECT n, (SELECT count(*) FROM (SELECT FROM %I t WHERE %s AND %s LIMIT %s) q) FROM sets ORDER BY n',
				name, set_test(id, 's'), some_condition('t'), 1 + up_to(700));
		ELSE query := format('SELECT n, %s (SELECT %s FROM %I t WHERE %s AND %s) FROM sets', pick('EXISTS', 'NOT EXISTS', 'ARRAY'),
				pick('k', 'id'), name, set_test(id, 's'), some_condition('t'));
			IF query ~ 'ARRAY' THEN
				query := regexp_replace(query, '\) FROM sets$', format(' ORDER BY 1 LIMIT %s) FROM sets', 1 + up_to(30)));
			END IF;
			query := query || ' ORDER BY n';
	END CASE;
END $$;

-- The statements for a query by a cursor that moves about.
CREATE FUNCTION by_cursor(query text, moves int[]) RETURNS SETOF text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('BEGIN; DECLARE c SCROLL CURSOR FOR %s;', query)
	UNION ALL SELECT format(E'FETCH RELATIVE %s FROM c;\n\\echo = :ROW_COUNT', n) FROM unnest(moves) n
	UNION ALL SELECT E'\\echo == code :SQLSTATE\nCOMMIT;' $$;

-- A script of so many queries.  It prints, for each, lines that begin with "== ": "query", whether its rows are in
-- order and the text; "plan", "found" and "expected", each before what it names; and the code of an error, if any.
CREATE FUNCTION random_script(seed int, queries int) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SET search_path = random_queries, public AS $$
DECLARE
	settings text[] := '{enable_seqscan,enable_sort,enable_hashagg,enable_hashjoin,enable_nestloop,enable_mergejoin,enable_bitmapscan,enable_indexonlyscan,
		enable_material,enable_incremental_sort,enable_partitionwise_join}';
	debug_parallel text := (SELECT min(name) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query'));
	setting text;
	one record;
	moves int[];
	kind text;
	given text;
	statement text;
	is_parallel boolean;
BEGIN
	PERFORM setseed(seed / 1000000000.0);
	RETURN NEXT 'SET search_path = random_queries, public; SET jit = off; SET client_min_messages = error;';
	FOR i IN 1 .. queries LOOP
		SELECT q.* INTO one FROM (SELECT name FROM tables ORDER BY random() LIMIT 1) t, LATERAL some_query(t.name) q;
		-- $1 as a constant, or as a parameter
		given := coalesce(quote_literal((SELECT s::bytea::text FROM sets ORDER BY random() LIMIT 1)), 'NULL') || '::roaring64';
		kind := CASE WHEN one.query !~ '\$1' THEN 'plain' ELSE pick('constant', 'force_custom_plan', 'force_generic_plan', 'force_generic_plan') END;
		moves := CASE WHEN kind ~ 'plan' OR NOT one.is_ordered OR up_to(3) > 0 THEN NULL
			ELSE ARRAY(SELECT CASE WHEN j < 4 THEN 1 + up_to(3) ELSE up_to(6) - 3 END FROM generate_series(1, 20) j) END;
		is_parallel := moves IS NULL AND up_to(2) = 0;
		RETURN NEXT format('\echo == query %s %s', CASE WHEN one.is_ordered THEN 'ordered' ELSE 'unordered' END,
			quote_literal(replace(format('%s: %s; $1 = %s', kind, one.query, left(given, 300)), '''', '"')));
		-- any plan, then one without indexes
		FOREACH setting IN ARRAY settings LOOP
			RETURN NEXT format('SET %s = %s;', setting, CASE WHEN up_to(CASE setting WHEN 'enable_seqscan' THEN 4 ELSE 1 END) = 0 THEN 'on' ELSE 'off' END);
		END LOOP;
		RETURN NEXT format('SET work_mem = %L;', pick('64kB', '4MB'));
		RETURN NEXT format('SET random_page_cost = %s; SET seq_page_cost = %s; SET %s = %s; SET plan_cache_mode = %s;', pick('1', '4', '4', '100', '100', '100000'), pick('1', '1', '100', '100'), debug_parallel,
			CASE WHEN is_parallel AND up_to(5) = 0 THEN 'on' ELSE 'off' END, CASE WHEN kind ~ 'plan' THEN kind ELSE 'auto' END);
		-- so that bitmaps of other indexes pay
		IF one.query ~ 'wide' AND up_to(3) > 0 THEN
			RETURN NEXT 'SET enable_bitmapscan = on; SET random_page_cost = 100; SET seq_page_cost = 100;';
		END IF;
		IF is_parallel THEN
			RETURN NEXT 'SET parallel_setup_cost = 2; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0;';
		END IF;
		IF up_to(4) = 0 THEN
			RETURN NEXT 'SET ROLE random_queries_reader;';
		END IF;
		statement := CASE WHEN kind IN ('plain', 'constant') THEN replace(one.query, '$1', given) ELSE format('EXECUTE p(%s)', given) END;
		IF kind ~ 'plan' THEN
			RETURN NEXT format('PREPARE p(roaring64) AS %s;', one.query);
		END IF;
		-- how many workers there were, and which scans were executed, too
		RETURN NEXT format(E'\\echo == plan\nEXPLAIN (%s COSTS OFF) %s;\n\\echo == found',
			CASE WHEN is_parallel OR one.query ~ 'wide' THEN 'ANALYZE, TIMING OFF, SUMMARY OFF,' ELSE '' END, statement);
		IF moves IS NULL THEN
			RETURN NEXT statement || E';\n\\echo == code :SQLSTATE';
		ELSE
			RETURN QUERY SELECT * FROM by_cursor(statement, moves);
		END IF;
		IF kind ~ 'plan' THEN
			RETURN NEXT 'DEALLOCATE p;';
		END IF;
		FOREACH setting IN ARRAY settings || '{enable_indexscan}'::text[] LOOP
			RETURN NEXT format('SET %s = %s;', setting, CASE WHEN setting ~ 'index|bitmap|partitionwise' THEN 'off' ELSE 'on' END);
		END LOOP;
		RETURN NEXT format('SET %s = off; SET max_parallel_workers_per_gather = 0; SET enable_partition_pruning = off; SET constraint_exclusion = off;', debug_parallel);
		RETURN NEXT '\echo == expected';
		IF moves IS NULL THEN
			RETURN NEXT replace(one.query, '$1', given) || E';\n\\echo == code :SQLSTATE';
		ELSE
			RETURN QUERY SELECT * FROM by_cursor(replace(one.query, '$1', given), moves);
		END IF;
		RETURN NEXT 'RESET ROLE; RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size; RESET min_parallel_index_scan_size; RESET enable_indexscan; RESET enable_partition_pruning; RESET constraint_exclusion;';
	END LOOP;
	RETURN NEXT '\echo == end';
END $$;
