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
	('floor', 'count(id)', 'count(id)'),
	('peer', 'octet_length(rb64_build_agg(id)::bytea)',
		'rb64_cardinality(rb64_build_agg(id))'),
	('array', 'cardinality(array_agg(DISTINCT id))',
		'cardinality(array_agg(DISTINCT id))'))
	w (system, expression, check_expression)
WHERE name <> 'dense'
ORDER BY a;

/*
 * Building many sets at once, one for each group of a hash table: a tenth as
 * many groups as ids.
 */
INSERT INTO statements (workload, data, system, query, check_query, setup)
SELECT 'build a set for each group', name, w.system,
	format('SELECT %s FROM (SELECT %s AS s FROM %I GROUP BY hashint8(id) %% %s) groups',
		w.result, w.expression, 'stream ' || name, :stream / 10),
	format('SELECT %s FROM (SELECT %s AS s FROM %I GROUP BY hashint8(id) %% %s) groups',
		w.check_result, w.expression, 'stream ' || name, :stream / 10),
	'SELECT set_config(''enable_sort'', ''off'', true)'
FROM data_sets, LATERAL (VALUES
	('roaring64', 'sum(octet_length(s::bytea))', 'sum(roaring64_cardinality(s))',
		'roaring64_agg(id)'),
	('floor', 'sum(s)', 'sum(s)', 'count(id)'),
	('peer', 'sum(octet_length(s::bytea))', 'sum(rb64_cardinality(s))',
		'rb64_build_agg(id)'))
	w (system, result, check_result, expression)
WHERE name IN ('snowflake', 'sequential')
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
 * The union of many sets.  The answers are those of the first few.
 */
INSERT INTO statements (workload, data, system, query, check_query, scale)
SELECT 'union of many sets', name, w.system,
	format('SELECT %s FROM %I', w.expression, name || w.suffix),
	format('SELECT %s FROM %I WHERE set <= %s', w.check_expression, name || w.suffix, few),
	CASE WHEN w.system IN ('array', 'rows') THEN part ELSE 1 END
FROM collections, LATERAL (VALUES
	('roaring64', '_roaring64', 'octet_length(roaring64_or_agg(s)::bytea)',
		'roaring64_cardinality(roaring64_or_agg(s))'),
	('floor', '_roaring64', 'count(get_byte(s::bytea, 0))', 'count(*)'),
	('peer', '_peer', 'octet_length(rb64_or_agg(s)::bytea)',
		'rb64_cardinality(rb64_or_agg(s))'),
	('peer_floor', '_peer', 'count(get_byte(s::bytea, 0))', 'count(*)'),
	('rows', '_rows', 'count(DISTINCT id)', 'count(DISTINCT id)'))
	w (system, suffix, expression, check_expression)
ORDER BY name DESC;

INSERT INTO statements (workload, data, system, query, scale)
SELECT 'union of many sets', name, 'array',
	format('SELECT count(DISTINCT id) FROM %I, unnest(s) id', name || '_array'), part
FROM collections;
