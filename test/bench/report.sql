/*
 * report.sql
 *	  The times and sizes as Markdown.
 */

-- Three significant digits, or whole numbers.
CREATE FUNCTION pg_temp.figure(x numeric) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN x >= 99.95 THEN to_char(x, 'FM999,999,999,990')
		WHEN x >= 9.995 THEN to_char(x, 'FM990.0')
		WHEN x >= 0.9995 THEN to_char(x, 'FM990.00')
		ELSE to_char(x, 'FM990.000') END
$$;

\echo
SELECT format('PostgreSQL %s, toast compression %s, work_mem %s, shared_buffers %s, jit %s.',
	current_setting('server_version'), current_setting('default_toast_compression'),
	current_setting('work_mem'), current_setting('shared_buffers'), current_setting('jit'));
SELECT format('roaring64 %s; "peer" is %s.', max(extversion) FILTER (WHERE extname = 'roaring64'),
	coalesce('roaringbitmap64 of roaringbitmap '
		|| max(extversion) FILTER (WHERE extname = 'roaringbitmap'), 'not here'))
FROM pg_extension;
SELECT format('Medians of %s.', CASE WHEN :rounds = 1 THEN '1 round' ELSE :rounds || ' rounds' END);

/*
 * Stored sizes.
 */
\echo
\echo '### Stored bytes per id'
\echo
\echo '| data set | ids | roaring64 | with pglz | not compressed | peer | bigint[] | rows and index |'
\echo '|---|---:|---:|---:|---:|---:|---:|---:|'

SELECT format('%s', 0) AS no_peer_column \gset
CREATE TEMPORARY TABLE sizes AS
SELECT name, a AS number, roaring64_cardinality(s) AS ids,
	pg_column_size(s)::numeric AS roaring64,
	(SELECT pg_column_size(s) FROM sets_pglz WHERE set = a)::numeric AS pglz,
	octet_length(s::bytea)::numeric AS plain,
	NULL::numeric AS peer,
	(SELECT pg_column_size(s) FROM sets_array WHERE set = a)::numeric AS array,
	(SELECT pg_total_relation_size('facts')::numeric / count(*) FROM facts) AS per_row
FROM data_sets JOIN sets_roaring64 ON set = a;
