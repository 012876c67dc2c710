--
-- One set and many values at once.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- any order, repeats, values that are there already, any dimensions
SELECT roaring64_add('{1,2,3}', '{5,-1,2,5,9223372036854775807}');
SELECT roaring64_add('{}', '{{3,1},{2,-9223372036854775808}}');
SELECT roaring64_add('{1,2}', '{}'), roaring64_add('{}', '{}');
SELECT roaring64_remove('{-1,1,2,3,70000,5000000000}', '{3,3,-1,4,5000000000}');
SELECT roaring64_remove('{1,2,3,4}', '{{4,1},{2,2}}');
SELECT roaring64_remove('{1,2}', '{}'), roaring64_remove('{}', '{1}'), roaring64_remove('{1,2}', '{2,1}');

-- one answer for every value, in its place
SELECT roaring64_contains_each('{-9223372036854775808,-1,1,70000,5000000000,9223372036854775807}',
							   '{1,0,-1,1,70000,70001,5000000000,705032704,9223372036854775807,-9223372036854775808}');
SELECT a, array_ndims(a), array_lower(a, 1), array_length(a, 1)
FROM roaring64_contains_each('{1,2}', '[0:1][5:6]={{1,2},{3,4}}') AS a;
SELECT roaring64_contains_each('{1}', '{}'), roaring64_contains_each('{}', '{1,2}');
SELECT roaring64_contains_each('{1}', '{1,2}') = '{t,f}'::boolean[] AS equal,
	   roaring64_contains_each('{1}', '{1,2}')::text = '{t,f}' AS as_text,
	   pg_column_size(roaring64_contains_each('{1}', '{1,2}')) = pg_column_size('{t,f}'::boolean[]) AS same_size;

-- a NULL element is an error, a NULL argument gives NULL
SELECT roaring64_add('{1}', '{2,NULL}');
SELECT roaring64_remove('{1}', '{NULL}');
SELECT roaring64_contains_each('{1}', '{1,NULL,2}');
SELECT roaring64_add('{1}', NULL) IS NULL AS add,
	   roaring64_remove(NULL, '{1}') IS NULL AS remove,
	   roaring64_contains_each('{1}', NULL) IS NULL AS contains_each;

--
-- The same answers as plain SQL, for sets and arrays of every shape.  The
-- arrays are shuffled and hold everything twice.
--
CREATE TEMP TABLE shapes AS
SELECT name, v, v::roaring64 AS s,
	   ARRAY(SELECT e FROM unnest(v || v) AS e ORDER BY hashint8(e)) AS shuffled
FROM (VALUES
	('empty', '{}'::bigint[]),
	('one', '{0}'),
	('ends', '{-9223372036854775808,-1,0,9223372036854775807}'),
	('dense', (SELECT array_agg(i) FROM generate_series(-1000, 9000) AS i)),
	('every third', (SELECT array_agg(i * 3) FROM generate_series(0, 20000) AS i)),
	('runs', (SELECT array_agg(i * 100 + d)
			  FROM generate_series(-100, 900) AS i, generate_series(0, 9) AS d)),
	('negative', (SELECT array_agg(i * 7 - 5000000000)
				  FROM generate_series(0, 5000) AS i)),
	('snowflake', (SELECT array_agg(((1279929600000 + i * 37) << 22) | ((i % 4) << 12) | (i % 3))
				   FROM generate_series(1::bigint, 3000) AS i)),
	('anywhere', (SELECT array_agg(hashint8extended(i, 64))
				  FROM generate_series(1, 3000) AS i))) AS t (name, v);

SELECT count(*) AS pairs,
	   count(*) FILTER (WHERE roaring64_to_array(roaring64_add(a.s, b.shuffled)) =
						ARRAY(SELECT unnest(a.v) UNION SELECT unnest(b.v) ORDER BY 1)) AS add,
	   count(*) FILTER (WHERE roaring64_to_array(roaring64_remove(a.s, b.shuffled)) =
						ARRAY(SELECT unnest(a.v) EXCEPT SELECT unnest(b.v) ORDER BY 1)) AS remove
FROM shapes AS a, shapes AS b;

-- stored bytes do not tell how a set came about
SELECT count(*) AS pairs,
	   count(*) FILTER (WHERE roaring64_add(a.s, b.shuffled)::bytea = (a.s | b.s)::bytea) AS add,
	   count(*) FILTER (WHERE roaring64_remove(a.s, b.shuffled)::bytea = (a.s - b.s)::bytea) AS remove
FROM shapes AS a, shapes AS b;

SELECT count(*) AS pairs,
	   count(*) FILTER (WHERE roaring64_contains_each(a.s, b.shuffled) =
						ARRAY(SELECT j.e IS NOT NULL
							  FROM unnest(b.shuffled) WITH ORDINALITY AS u (x, n)
							  LEFT JOIN (SELECT unnest(a.v) AS e) AS j ON j.e = u.x
							  ORDER BY n)) AS contains_each
FROM shapes AS a, shapes AS b;
