/*
 * gin.sql
 *	  Which rows have an id?  By a GIN index on sets.
 *
 * Rows with 1 to 40 ids each, some ids being in many rows and most in few.  The
 * other contestants are integer[] with the class gin__int_ops of intarray, if
 * the server has it, and a table with a row for every id.
 */

/*
 * A tenth as many rows as there are messages.  The nth most common id is about
 * n ^ (-2/3) as common as the first.  Nothing tells the planner how many there
 * are, and a hash table made for too few takes many times longer than a sort.
 */
SET enable_hashagg = off;
CREATE TABLE tags_rows AS
SELECT DISTINCT row, id::int
FROM (SELECT i AS row, 1 + floor(:rows / 10
			* ((hashint8extended(i * 64 + j, 5) & 4294967295)::float8 / 4294967296::float8) ^ 3) AS id
	  FROM generate_series(1::bigint, :rows / 10) i,
		generate_series(1, 1 + (hashint8extended(i, 6) & 9223372036854775807) % 40) j) given;
RESET enable_hashagg;
ANALYZE tags_rows;
CREATE TABLE tags_roaring64 AS
SELECT row, roaring64_agg(id) AS ids FROM tags_rows GROUP BY row;
CREATE TABLE tags_array AS
SELECT row, array_agg(id ORDER BY id) AS ids FROM tags_rows GROUP BY row;
CREATE INDEX ON tags_rows (id, row);
VACUUM ANALYZE tags_rows, tags_roaring64, tags_array;

SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'intarray') AS intarray \gset
\if :intarray
CREATE EXTENSION intarray;
\endif

/*
 * Building the index, by one process.  The last one that is built stays and is
 * what the others below use.
 */
CREATE PROCEDURE prepare_index(name text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DROP INDEX IF EXISTS %I', name);
	PERFORM set_config('max_parallel_maintenance_workers', '0', true);
END $$;

INSERT INTO statements (workload, data, system, query, check_query, setup)
SELECT 'build a GIN index', 'tags', system,
	format('CREATE INDEX %s_gin ON %1$s USING gin (ids%s)', input, class),
	format('SELECT count(*) FROM %s', input), format('CALL prepare_index(%L)', input || '_gin')
FROM (VALUES ('roaring64', 'tags_roaring64', ''),
	('array', 'tags_array', ' gin__int_ops')) w (system, input, class)
WHERE system <> 'array' OR :'intarray';

/*
 * Hundred ids that about one row in thousand has, one after the other; and sets
 * of ten of them.
 */
CREATE TABLE wanted AS
SELECT row_number() OVER (ORDER BY hashint4(id)) AS n, id
FROM (SELECT id FROM tags_rows GROUP BY id
	  ORDER BY abs(count(*) - :rows / 10 * 0.001), id LIMIT 100) ids;
CREATE TABLE wanted_sets AS
SELECT (n - 1) / 10 AS n, roaring64_agg(id) AS ids_roaring64, array_agg(id) AS ids_array
FROM wanted GROUP BY 1;
ANALYZE wanted, wanted_sets;

CREATE PROCEDURE use_index(yes boolean)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (NOT yes)::text, true),
		set_config('enable_bitmapscan', yes::text, true),
		set_config('enable_indexscan', yes::text, true),
		set_config('enable_indexonlyscan', yes::text, true);
END $$;

INSERT INTO statements (workload, data, system, query, setup)
SELECT format('find the rows with %s, by %s', w.what, how), 'tags', w.system,
	format('SELECT sum(found.count) FROM %s w, LATERAL
		(SELECT count(%s) FROM %s WHERE %s) found', "from", counted, input, condition),
	format('CALL use_index(%L)', how = 'an index')
FROM (VALUES
	('an id, for 100 ids', 'wanted', 'roaring64', 'tags_roaring64', 'ids @> w.id::bigint', 'row'),
	('an id, for 100 ids', 'wanted', 'array', 'tags_array', 'ids @> ARRAY[w.id]', 'row'),
	('an id, for 100 ids', 'wanted', 'rows', 'tags_rows', 'id = w.id', 'row'),
	('any of 10 ids, 10 times', 'wanted_sets', 'roaring64', 'tags_roaring64', 'ids && w.ids_roaring64', 'row'),
	('any of 10 ids, 10 times', 'wanted_sets', 'array', 'tags_array', 'ids && w.ids_array', 'row'),
	('any of 10 ids, 10 times', 'wanted_sets', 'rows', 'tags_rows', 'id = ANY (w.ids_array)', 'DISTINCT row'))
	w (what, "from", system, input, condition, counted),
	(VALUES ('an index'), ('reading all rows')) h (how)
WHERE (system <> 'array' OR :'intarray') AND (system <> 'rows' OR how = 'an index');
