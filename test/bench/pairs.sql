/*
 * pairs.sql
 *	  Set operations on two stored sets, their counts, and the same in memory.
 *
 * Stored means that the time includes reading and decompressing both sets,
 * which the floor shows by itself.
 */

-- A statement that reads both sets of a pair, as a.s and b.s.
CREATE FUNCTION of_pair(expression text, kind text, pair data_sets)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('SELECT %s FROM sets_%2$s a, sets_%2$s b WHERE a.set = %3$s AND b.set = %4$s',
		expression, kind, pair.a, pair.b)
$$;

/*
 * The ways to do the four operations.  Of rows, the form that is fastest.
 */
CREATE TABLE operations (
	name text, operator text, function text, of_arrays text, of_rows text);
INSERT INTO operations VALUES
	('union', '|', 'or',
		'SELECT unnest(a.s) UNION SELECT unnest(b.s)',
		'SELECT count(*) FROM (SELECT id FROM facts WHERE set = %s
			UNION SELECT id FROM facts WHERE set = %s) u'),
	('intersection', '&', 'and',
		'SELECT unnest(a.s) INTERSECT SELECT unnest(b.s)',
		'SELECT count(*) FROM facts a JOIN facts b USING (id)
			WHERE a.set = %s AND b.set = %s'),
	('difference', '-', 'andnot',
		'SELECT unnest(a.s) EXCEPT SELECT unnest(b.s)',
		'SELECT count(*) FROM facts a WHERE a.set = %s
			AND NOT EXISTS (SELECT FROM facts b WHERE b.set = %s AND b.id = a.id)'),
	('symmetric difference', '#', 'xor',
		'SELECT e FROM unnest(a.s || b.s) e GROUP BY e HAVING count(*) = 1',
		'SELECT count(*) FROM (SELECT id FROM facts WHERE set IN (%s, %s)
			GROUP BY id HAVING count(*) = 1) x');

-- The result as a set.
INSERT INTO statements (workload, data, system, query, check_query)
SELECT o.name, d.name, w.*
FROM operations o, data_sets d, LATERAL (VALUES
	('roaring64',
		of_pair(format('octet_length((a.s %s b.s)::bytea)', operator), 'roaring64', d),
		of_pair(format('roaring64_cardinality(a.s %s b.s)', operator), 'roaring64', d)),
	('floor',
		of_pair('get_byte(a.s::bytea, 0) + get_byte(b.s::bytea, 0)', 'roaring64', d), NULL),
	('peer',
		of_pair(format('octet_length((a.s %s b.s)::bytea)', operator), 'peer', d),
		of_pair(format('rb64_cardinality(a.s %s b.s)', operator), 'peer', d)),
	('peer_floor',
		of_pair('get_byte(a.s::bytea, 0) + get_byte(b.s::bytea, 0)', 'peer', d), NULL),
	('array',
		of_pair(format('cardinality(ARRAY(%s))', of_arrays), 'array', d), NULL)) w;

-- The size of the result, with and without making it.
INSERT INTO statements (workload, data, system, query)
SELECT 'size of the union, by making it', d.name, w.*
FROM data_sets d, LATERAL (VALUES
	('roaring64', of_pair('roaring64_cardinality(a.s | b.s)', 'roaring64', d)),
	('floor', of_pair('get_byte(a.s::bytea, 0) + get_byte(b.s::bytea, 0)', 'roaring64', d)),
	('peer', of_pair('rb64_cardinality(a.s | b.s)', 'peer', d)),
	('peer_floor', of_pair('get_byte(a.s::bytea, 0) + get_byte(b.s::bytea, 0)', 'peer', d))) w;

INSERT INTO statements (workload, data, system, query)
SELECT 'size of the ' || o.name, d.name, w.*
FROM operations o, data_sets d, LATERAL (VALUES
	('roaring64', of_pair(format('roaring64_%s_cardinality(a.s, b.s)', function), 'roaring64', d)),
	('floor', of_pair('get_byte(a.s::bytea, 0) + get_byte(b.s::bytea, 0)', 'roaring64', d)),
	('peer', of_pair(format('rb64_%s_cardinality(a.s, b.s)', function), 'peer', d)),
	('peer_floor', of_pair('get_byte(a.s::bytea, 0) + get_byte(b.s::bytea, 0)', 'peer', d)),
	('rows', format(of_rows, d.a, d.b))) w;

/*
 * In memory: both sets are read before the clock matters, and the operation is
 * repeated.  The floor copies both inputs into one new value.
 */
CREATE FUNCTION in_memory(expression text, kind text, source text, loops int)
RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
	SELECT format('WITH v AS MATERIALIZED (
			SELECT a | ''{}''::%s AS a, b | ''{}''::%1$s AS b FROM %s)
		SELECT sum(%s) FROM v, generate_series(1, %s)',
		kind, source, expression, loops)
$$;

INSERT INTO statements (workload, data, system, query, check_query, scale)
SELECT o.name || ' in memory', d.name, w.system,
	in_memory(format(w.expression, operator), w.kind, w.source, w.loops),
	in_memory(format(w.check_expression, operator), w.kind, w.source, 1),
	1.0 / w.loops
FROM operations o, LATERAL (
	SELECT name, format('(SELECT a.s AS a, b.s AS b FROM sets_%%s a, sets_%%s b
		WHERE a.set = %s AND b.set = %s) pair', a, b) AS stored
	FROM data_sets
	UNION ALL
	SELECT 'large dense', NULL) d, LATERAL (VALUES
	('roaring64', 'roaring64', coalesce(format(stored, 'roaring64', 'roaring64'), 'large_sets'),
		'octet_length((a %s b)::bytea)', 'roaring64_cardinality(a %s b)', 50),
	('floor', 'roaring64', coalesce(format(stored, 'roaring64', 'roaring64'), 'large_sets'),
		'octet_length(a::bytea || b::bytea)', NULL, 50),
	('peer', 'roaringbitmap64', coalesce(format(stored, 'peer', 'peer'), 'large_sets_peer'),
		'octet_length((a %s b)::bytea)', 'rb64_cardinality(a %s b)', 5),
	('peer_floor', 'roaringbitmap64', coalesce(format(stored, 'peer', 'peer'), 'large_sets_peer'),
		'octet_length(a::bytea || b::bytea)', NULL, 50))
	w (system, kind, source, expression, check_expression, loops)
WHERE o.name IN ('union', 'intersection')
	AND d.name IN ('large dense', 'snowflake', 'packed snowflake', 'uniform');
