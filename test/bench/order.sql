/*
 * order.sql
 *	  One stored set as a list in order: walked through, paged, counted off.
 *
 * Random 64-bit ids are left out, as the peer orders them otherwise.
 */

-- A statement that reads the first set of a pair, as s.
CREATE FUNCTION of_set(expression text, kind text, pair data_sets)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('SELECT %s FROM sets_%s WHERE set = %s', expression, kind, pair.a)
$$;

CREATE TABLE middles AS
SELECT d.name, cardinality(s) / 2 AS n, s[cardinality(s) / 2] AS id
FROM data_sets d JOIN sets_array ON set = a
WHERE name <> 'random 64-bit';

/*
 * All ids are had by a set-returning function in the select list, where the
 * executor takes rows as they come; in FROM it would store all of them first.
 */
INSERT INTO statements (workload, data, system, query)
SELECT w.workload, d.name, w.system, w.query
FROM data_sets d JOIN middles m USING (name), LATERAL (VALUES
	('all ids as rows', 'roaring64',
		format('SELECT count(id) FROM (%s) ids', of_set('roaring64_elements(s) AS id', 'roaring64', d))),
	('all ids as rows', 'peer',
		format('SELECT count(id) FROM (%s) ids', of_set('rb64_iterate(s) AS id', 'peer', d))),
	('all ids as rows', 'array',
		format('SELECT count(id) FROM (%s) ids', of_set('unnest(s) AS id', 'array', d))),
	('all ids as rows', 'rows',
		format('SELECT count(id) FROM facts WHERE set = %s', a)),

	('the first 20 as rows', 'roaring64',
		format('SELECT sum(id) FROM (%s LIMIT 20) ids', of_set('roaring64_elements(s) AS id', 'roaring64', d))),
	('the first 20 as rows', 'peer',
		format('SELECT sum(id) FROM (%s LIMIT 20) ids', of_set('rb64_iterate(s) AS id', 'peer', d))),
	('the first 20 as rows', 'array',
		format('SELECT sum(id) FROM (%s LIMIT 20) ids', of_set('unnest(s) AS id', 'array', d))),
	('the first 20 as rows', 'rows',
		format('SELECT sum(id) FROM (SELECT id FROM facts WHERE set = %s ORDER BY id LIMIT 20) ids', a)),

	('the last 20', 'roaring64',
		format('SELECT sum(id) FROM (%s) ids', of_set('unnest(roaring64_last(s, 20)) AS id', 'roaring64', d))),
	('the last 20', 'peer',
		format('SELECT sum(id) FROM (%s) ids',
			of_set('unnest(rb64_to_array(rb64_select(s, 20, 0, true))) AS id', 'peer', d))),
	('the last 20', 'array',
		format('SELECT sum(id) FROM (%s) ids', of_set('unnest(s[cardinality(s) - 19:]) AS id', 'array', d))),
	('the last 20', 'rows',
		format('SELECT sum(id) FROM (SELECT id FROM facts WHERE set = %s ORDER BY id DESC LIMIT 20) ids', a)),

	('rank of the middle id', 'roaring64',
		of_set(format('roaring64_rank(s, %s)', id), 'roaring64', d)),
	('rank of the middle id', 'peer',
		of_set(format('rb64_rank(s, %s)', id), 'peer', d)),
	('rank of the middle id', 'array',
		format('SELECT count(*) FROM sets_array, unnest(s) id WHERE set = %s AND id <= %s', a, id)),
	('rank of the middle id', 'rows',
		format('SELECT count(*) FROM facts WHERE set = %s AND id <= %s', a, id)),

	('the middle id by rank', 'roaring64',
		of_set(format('roaring64_select(s, %s)', n), 'roaring64', d)),
	('the middle id by rank', 'peer',
		of_set(format('(rb64_to_array(rb64_select(s, 1, %s)))[1]', n - 1), 'peer', d)),
	('the middle id by rank', 'array', of_set(format('s[%s]', n), 'array', d)),
	('the middle id by rank', 'rows',
		format('SELECT id FROM facts WHERE set = %s ORDER BY id OFFSET %s LIMIT 1', a, n - 1)))
	w (workload, system, query)
ORDER BY w.workload, d.a;

INSERT INTO statements (workload, data, system, query)
SELECT workload, data, w.*
FROM (SELECT DISTINCT workload, data, d.*::data_sets AS d
	FROM statements JOIN data_sets d ON data = name
	WHERE workload IN ('all ids as rows', 'the first 20 as rows', 'the last 20',
		'rank of the middle id', 'the middle id by rank')) of_sets,
	LATERAL (VALUES
	('floor', of_set('get_byte(s::bytea, 0)', 'roaring64', d)),
	('peer_floor', of_set('get_byte(s::bytea, 0)', 'peer', d))) w;
