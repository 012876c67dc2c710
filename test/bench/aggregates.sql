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
 * many groups as ids; and a million groups, of four ids each.
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

INSERT INTO statements (workload, data, system, query, check_query, setup)
SELECT 'build a set for each group', 'four ids each', system,
	format('SELECT %s FROM (SELECT %s AS s FROM generate_series(1::bigint, 4 * %s) id GROUP BY id %% %3$s) groups',
		result, expression, :stream),
	format('SELECT %s FROM (SELECT %s AS s FROM generate_series(1::bigint, 4 * %s) id GROUP BY id %% %3$s) groups',
		check_result, expression, :stream),
	'SELECT set_config(''enable_sort'', ''off'', true)'
FROM (VALUES
	('roaring64', 'sum(octet_length(s::bytea))', 'sum(roaring64_cardinality(s))',
		'roaring64_agg(id)'),
	('floor', 'sum(s)', 'sum(s)', 'count(id)'),
	('peer', 'sum(octet_length(s::bytea))', 'sum(rb64_cardinality(s))',
		'rb64_build_agg(id)'))
	w (system, result, check_result, expression);

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
 * Few different ids, each many times, in random order.
 */
INSERT INTO statements (workload, data, system, query)
SELECT 'count few distinct ids', 'at random', system,
	format('SELECT %s FROM (SELECT abs(hashint8(i)) %% %s::bigint AS id'
		' FROM generate_series(1::bigint, 4 * %s) i) s',
		expression, :stream / 8, :stream)
FROM (VALUES
	('roaring64', 'roaring64_count_distinct(id)'),
	('floor', 'count(id)'),
	('peer', 'rb64_cardinality(rb64_build_agg(id))'),
	('rows', 'count(DISTINCT id)'))
	w (system, expression);

/*
 * Many sets into one.  The answers are those of the first few.
 */
INSERT INTO statements (workload, data, system, query, check_query, scale)
SELECT o.workload, name, w.system,
	format('SELECT %s FROM %I', replace(w.expression, 'OP', o.op), name || w.suffix),
	format('SELECT %s FROM %I WHERE set <= %s', replace(w.check_expression, 'OP', o.op),
		name || w.suffix, few),
	CASE WHEN w.system IN ('array', 'rows') THEN part ELSE 1 END
FROM collections,
	(VALUES ('union of many sets', 'or'), ('intersection of many sets', 'and'),
		('symmetric difference of many sets', 'xor')) o (workload, op),
	LATERAL (VALUES
	('roaring64', '_roaring64', 'octet_length(roaring64_OP_agg(s)::bytea)',
		'roaring64_cardinality(roaring64_OP_agg(s))'),
	('floor', '_roaring64', 'count(get_byte(s::bytea, 0))', 'count(*)'),
	('peer', '_peer', 'octet_length(rb64_OP_agg(s)::bytea)',
		'rb64_cardinality(rb64_OP_agg(s))'),
	('peer_floor', '_peer', 'count(get_byte(s::bytea, 0))', 'count(*)'),
	('rows', '_rows', 'count(DISTINCT id)', 'count(DISTINCT id)'))
	w (system, suffix, expression, check_expression)
WHERE w.system <> 'rows' OR o.op = 'or'
ORDER BY o.op DESC, name DESC;

INSERT INTO statements (workload, data, system, query)
SELECT o.workload || ' of many sets, counted', name, w.system,
	format('SELECT %s FROM %I', replace(w.expression, 'OP', o.op), name || w.suffix)
FROM collections,
	(VALUES ('union', 'or'), ('intersection', 'and'),
		('symmetric difference', 'xor')) o (workload, op),
	LATERAL (VALUES
	('roaring64', '_roaring64', 'roaring64_OP_cardinality_agg(s)'),
	('floor', '_roaring64', 'count(get_byte(s::bytea, 0))'),
	('peer', '_peer', 'rb64_OP_cardinality_agg(s)'),
	('peer_floor', '_peer', 'count(get_byte(s::bytea, 0))'))
	w (system, suffix, expression)
ORDER BY o.op DESC, name DESC;

-- A total so far for each of the first few sets.
INSERT INTO statements (workload, data, system, query)
SELECT o.workload, name, w.system,
	format('SELECT sum(%s) FROM (SELECT %s AS s FROM %I WHERE set <= 200 WINDOW w AS (ORDER BY set)) t',
		w.result, w.expression, name || w.suffix)
FROM collections,
	(VALUES ('running union', false), ('running union, counted', true)) o (workload, counted),
	LATERAL (VALUES
	('roaring64', false, '_roaring64', 'roaring64_cardinality(s)', 'roaring64_or_agg(s) OVER w'),
	('roaring64', true, '_roaring64', 's', 'roaring64_or_cardinality_agg(s) OVER w'),
	('floor', o.counted, '_roaring64', 's', 'count(s) OVER w'),
	('peer', false, '_peer', 'rb64_cardinality(s)', 'rb64_or_agg(s) OVER w'),
	('peer', true, '_peer', 's', 'rb64_or_cardinality_agg(s) OVER w'))
	w (system, counted, suffix, result, expression)
WHERE o.counted = w.counted
ORDER BY o.counted, name DESC;

INSERT INTO statements (workload, data, system, query, scale)
SELECT 'union of many sets', name, 'array',
	format('SELECT count(DISTINCT id) FROM %I, unnest(s) id', name || '_array'), part
FROM collections;
