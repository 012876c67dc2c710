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

-- A row of a table; what is not known is a dash.
CREATE FUNCTION pg_temp.line(VARIADIC cells text[]) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT '| ' || array_to_string(cells, ' | ', '-') || ' |'
$$;

SELECT format('PostgreSQL %s, work_mem %s, shared_buffers %s, jit %s.',
	current_setting('server_version'), current_setting('work_mem'),
	current_setting('shared_buffers'), current_setting('jit'));
\if :sets
SELECT format('roaring64 columns: %s where compression pays (%s), else STORAGE EXTERNAL, as'
	' the peer''s type has it always.', current_setting('default_toast_compression'),
	string_agg(name, ', ' ORDER BY a))
FROM data_sets
WHERE compressed;
\endif
SELECT format('roaring64 %s; the peer is %s.', max(extversion) FILTER (WHERE extname = 'roaring64'),
	coalesce('roaringbitmap64 of roaringbitmap '
		|| max(extversion) FILTER (WHERE extname = 'roaringbitmap'), 'not here'))
FROM pg_extension;
\if :sets
SELECT format('Pairs of %s ids (large dense: %s), streams of %s ids, %s users with about'
	' 1,800 of 20,000 ids each, %s rows to filter and to build from in parallel.',
	to_char(:ids, 'FM999,999,999'), to_char(:large_ids, 'FM999,999,999'),
	to_char(:stream, 'FM999,999,999'), to_char(:users, 'FM999,999,999'),
	to_char(:rows, 'FM999,999,999'));
\endif

/*
 * Sizes.
 */
\if :sets
\echo
\echo '### Stored bytes per id'
\echo
\echo '"In memory" is the portable format itself.  "Rows" is a table with a row'
\echo 'per id and a primary key, including its index.'
\echo
SELECT format('| data set | ids | roaring64 | with %s | with pglz | in memory | peer | bigint[] | rows |',
	current_setting('default_toast_compression'));
\echo '|---|---:|---:|---:|---:|---:|---:|---:|---:|'

CREATE TEMPORARY TABLE sizes (
	data text, ids bigint, roaring64 numeric, compressed numeric, pglz numeric, plain numeric,
	peer numeric, "array" numeric, per_row numeric);
INSERT INTO sizes
SELECT name, roaring64_cardinality(r.s), pg_column_size(r.s), pg_column_size(c.s),
	pg_column_size(p.s),
	octet_length(r.s::bytea), NULL, pg_column_size(l.s),
	(SELECT pg_total_relation_size('facts')::numeric / count(*) FROM facts)
FROM data_sets JOIN sets_roaring64 r ON r.set = a
	JOIN sets_compressed c USING (set) JOIN sets_pglz p USING (set) JOIN sets_array l USING (set)
ORDER BY a;
INSERT INTO sizes
SELECT 'users (all sets)', sum(roaring64_cardinality(s)), sum(pg_column_size(s)), NULL, NULL,
	sum(octet_length(s::bytea)), NULL,
	(SELECT :part * sum(pg_column_size(s)) FROM users_array),
	(SELECT pg_total_relation_size('users_rows')::numeric / count(*) FROM users_rows)
FROM users_roaring64;
\if :peer
UPDATE sizes
SET peer = (SELECT pg_column_size(s) FROM sets_peer JOIN data_sets ON set = a WHERE name = data);
UPDATE sizes
SET peer = (SELECT sum(pg_column_size(s)) FROM users_peer)
WHERE data = 'users (all sets)';
\endif

SELECT pg_temp.line(data, to_char(ids, 'FM999,999,999'),
	pg_temp.figure(roaring64 / ids), pg_temp.figure(compressed / ids),
	pg_temp.figure(pglz / ids),
	pg_temp.figure(plain / ids), pg_temp.figure(peer / ids),
	pg_temp.figure("array" / ids), pg_temp.figure(per_row))
FROM sizes;
\endif

SELECT to_regclass('tags_roaring64_gin') IS NOT NULL AS tags \gset
\if :tags
\echo
\echo '### Bytes of a GIN index'
\echo
SELECT format('%s sets with %s ids in all: %s; gin__int_ops on integer[]: %s (x %s).',
	to_char(sets, 'FM999,999,999'), to_char(ids, 'FM999,999,999'), to_char(ours, 'FM999,999,999,999'),
	coalesce(to_char(other, 'FM999,999,999,999'), '-'), pg_temp.figure(other::numeric / ours))
FROM (SELECT count(*) AS sets, sum(roaring64_cardinality(ids)) AS ids,
		pg_relation_size('tags_roaring64_gin') AS ours,
		pg_relation_size(to_regclass('tags_array_gin')) AS other
	  FROM tags_roaring64) sizes;
\endif

/*
 * Times.
 */
CREATE TEMPORARY TABLE medians AS
SELECT s.id, workload, data, system, scale > 1 AS scaled, timed_out,
	(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms))::numeric * scale AS ms
FROM statements s LEFT JOIN times ON statement = s.id AND NOT timed_out
GROUP BY s.id;

CREATE TEMPORARY TABLE results AS
SELECT min(id) AS id, workload, data,
	min(ms) FILTER (WHERE system = 'roaring64') AS ours,
	min(ms) FILTER (WHERE system = 'floor') AS floor,
	min(ms) FILTER (WHERE system = 'peer') AS peer,
	coalesce(min(ms) FILTER (WHERE system = 'peer_floor'),
		min(ms) FILTER (WHERE system = 'floor')) AS peer_floor,
	min(ms) FILTER (WHERE system = 'array') AS "array",
	min(ms) FILTER (WHERE system = 'rows') AS "rows",
	array_agg(system) FILTER (WHERE scaled) AS scaled,
	array_agg(system) FILTER (WHERE timed_out) AS timed_out
FROM medians
GROUP BY workload, data;

-- How many times longer than roaring64 the others took: in each round, and of
-- those the median, so that what slows a round down does not count.
CREATE TEMPORARY TABLE ratios AS
SELECT workload, data,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY ours / floor)::numeric AS floor,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY peer / ours)::numeric AS peer,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY "array" / ours)::numeric AS "array",
	percentile_cont(0.5) WITHIN GROUP (ORDER BY "rows" / ours)::numeric AS "rows"
FROM (
	SELECT workload, data,
		max(ms * scale) FILTER (WHERE system = 'roaring64') AS ours,
		max(ms * scale) FILTER (WHERE system = 'floor') AS floor,
		max(ms * scale) FILTER (WHERE system = 'peer') AS peer,
		max(ms * scale) FILTER (WHERE system = 'array') AS "array",
		max(ms * scale) FILTER (WHERE system = 'rows') AS "rows"
	FROM statements s JOIN times ON statement = s.id
	WHERE NOT timed_out
	GROUP BY workload, data, round) rounds
GROUP BY workload, data;

-- The time of a contestant, and what must be said of it.
CREATE FUNCTION pg_temp.cell(system text, ms numeric, r results) RETURNS text
LANGUAGE sql STABLE AS $$
	SELECT CASE
		WHEN system = ANY (r.timed_out) THEN 'timed out'
		ELSE pg_temp.figure(ms) || CASE WHEN system = ANY (r.scaled) THEN '*' ELSE '' END END
$$;

\echo
\echo '### Times in milliseconds'
\echo
SELECT format('Medians of %s, planning included.',
	CASE WHEN :rounds = 1 THEN 'one round' ELSE :rounds || ' rounds, in turn' END);
\echo '"x" is how many times as long as roaring64 that took: the median of the'
\echo 'ratios of all rounds.  The "floor" reads the same input and does nothing but'
\echo 'decompress or count it; for "in memory", it copies both inputs.'
\echo '"Times floor" is how many times as long as the floor roaring64 took.  "Net x"'
\echo 'compares what roaring64 and the peer take above their floors; it is left out'
\echo 'if roaring64 is within 3 % of its floor.'
\echo '"*": measured on a part and extrapolated.'
\echo
\echo '| workload | data set | roaring64 | floor | times floor | peer | x | net x | bigint[] | x | rows | x |'
\echo '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|'
SELECT pg_temp.line(workload, data,
	pg_temp.cell('roaring64', ours, r), pg_temp.figure(r.floor), pg_temp.figure(x.floor),
	pg_temp.cell('peer', r.peer, r), pg_temp.figure(x.peer),
	CASE WHEN r.peer IS NOT NULL AND workload NOT LIKE '% in memory' AND ours > r.floor * 1.03
		THEN pg_temp.figure(greatest(r.peer - peer_floor, 0) / (ours - r.floor)) END,
	pg_temp.cell('array', r."array", r), pg_temp.figure(x."array"),
	pg_temp.cell('rows', r."rows", r), pg_temp.figure(x."rows"))
FROM results r LEFT JOIN ratios x USING (workload, data)
ORDER BY id;

/*
 * What workers bring.
 */
SELECT EXISTS (SELECT FROM results WHERE data = 'two workers') AS any_parallel \gset
\if :any_parallel
\echo
\echo '### Two workers against one process'
\echo
\echo '| workload | roaring64, times faster | peer, times faster |'
\echo '|---|---:|---:|'
SELECT pg_temp.line(workload, pg_temp.figure(alone.ours / together.ours),
	pg_temp.figure(alone.peer / together.peer))
FROM results alone JOIN results together USING (workload)
WHERE alone.data = 'one process' AND together.data = 'two workers'
ORDER BY alone.id;
\endif

/*
 * Where the peer is ahead.
 */
SELECT EXISTS (SELECT FROM ratios WHERE peer < 1) AS any_slower \gset
\if :any_slower
\echo
\echo 'Slower than the peer:'
\echo
SELECT format('- %s, %s: %s', workload, data, pg_temp.figure(peer))
FROM ratios
WHERE peer < 1
ORDER BY peer;
\endif
