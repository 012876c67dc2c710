/*
 * aggregates.sql
 *	  Many ids, or many sets, into one set.
 *
 * The floor is the same scan that only counts the ids, or opens the sets.
 */

/*
 * Building.  An array keeps repeats unless told not to.
 */
INSERT INTO statements (workload, data, system, query, check_query)
SELECT 'build a set', name, w.system,
	format('SELECT %s FROM %I', w.expression, 'stream ' || name),
	format('SELECT %s FROM %I', w.check_expression, 'stream ' || name)
FROM data_sets, LATERAL (VALUES
	('roaring64', 'octet_length(roaring64_agg(id)::bytea)',
		'roaring64_cardinality(roaring64_agg(id))'),
	('floor', 'count(id)', NULL),
	('peer', 'octet_length(rb64_build_agg(id)::bytea)',
		'rb64_cardinality(rb64_build_agg(id))'),
	('array', 'cardinality(array_agg(DISTINCT id))', NULL))
	w (system, expression, check_expression)
WHERE name <> 'dense'
ORDER BY a;

INSERT INTO statements (workload, data, system, query)
SELECT 'count distinct ids', name, w.system,
	format('SELECT %s FROM %I', w.expression, 'stream ' || name)
FROM data_sets, LATERAL (VALUES
	('roaring64', 'roaring64_count_distinct(id)'),
	('floor', 'count(id)'),
	('peer', 'rb64_cardinality(rb64_build_agg(id))'),
	('rows', 'count(DISTINCT id)'))
	w (system, expression)
WHERE name <> 'dense'
ORDER BY a;

/*
 * The union of many sets.
 */
INSERT INTO statements (workload, data, system, query, check_query, scale)
SELECT 'union of many sets', name, w.system,
	format('SELECT ' || w.expression, name || '_' || w.kind),
	format('SELECT ' || w.check_expression, name || '_' || w.kind),
	CASE WHEN w.system IN ('array', 'rows') THEN part ELSE 1 END
FROM collections, LATERAL (VALUES
	('roaring64', 'roaring64',
		'octet_length(roaring64_or_agg(s)::bytea) FROM %I',
		'roaring64_cardinality(roaring64_or_agg(s)) FROM %I'),
	('floor', 'roaring64', 'count(get_byte(s::bytea, 0)) FROM %I', NULL),
	('peer', 'peer',
		'octet_length(rb64_or_agg(s)::bytea) FROM %I',
		'rb64_cardinality(rb64_or_agg(s)) FROM %I'),
	('peer_floor', 'peer', 'count(get_byte(s::bytea, 0)) FROM %I', NULL),
	('array', 'array', 'count(DISTINCT id) FROM %I, unnest(s) id', NULL),
	('rows', 'rows', 'count(DISTINCT id) FROM %I', NULL))
	w (system, kind, expression, check_expression)
ORDER BY name DESC;
