/*
 * sets.sql
 *	  The ids as sets: in one value of each type that is measured.
 *
 *	sets_roaring64, sets_peer, sets_array
 *		the pairs of data_sets, which facts has as rows
 *	NAME_roaring64, NAME_peer, NAME_array, NAME_rows
 *		many sets, for each NAME in collections
 */

/*
 * Real data: the two largest sets are a pair, and all ids are a stream.
 */
INSERT INTO data_sets
SELECT name, 100 + 2 * rank, 101 + 2 * rank
FROM (SELECT name, (row_number() OVER (ORDER BY name))::int AS rank
	FROM realdata GROUP BY name) names;

INSERT INTO facts
SELECT a + rank - 1, id
FROM (SELECT name, set, (row_number() OVER (PARTITION BY name
		ORDER BY count(*) DESC, set))::int AS rank
	FROM realdata GROUP BY name, set) sizes
	JOIN data_sets USING (name)
	JOIN realdata USING (name, set)
WHERE rank <= 2;

SELECT format('CREATE TABLE %I AS SELECT id FROM realdata WHERE name = %L
	ORDER BY hashint8extended(id, set)', 'stream ' || name, name)
FROM data_sets
WHERE expression IS NULL \gexec

/*
 * The pairs.
 */
ALTER TABLE facts ADD PRIMARY KEY (set, id);

-- Compressed where that pays; else stored as the peer's type stores always.
CREATE TABLE sets_roaring64 (set int, s roaring64);
INSERT INTO sets_roaring64
SELECT set, roaring64_agg(id)
FROM facts JOIN data_sets ON set IN (a, b)
WHERE compressed
GROUP BY set;
ALTER TABLE sets_roaring64 ALTER s SET STORAGE EXTERNAL;
INSERT INTO sets_roaring64
SELECT set, roaring64_agg(id)
FROM facts JOIN data_sets ON set IN (a, b)
WHERE NOT compressed
GROUP BY set;
CREATE TABLE sets_array AS
SELECT set, array_agg(id ORDER BY id) AS s FROM facts GROUP BY set;

-- Only to see what compression makes of each.
CREATE TABLE sets_compressed (set int, s roaring64);
CREATE TABLE sets_pglz (set int, s roaring64 COMPRESSION pglz);
INSERT INTO sets_compressed SELECT set, s | '{}'::roaring64 FROM sets_roaring64;
INSERT INTO sets_pglz SELECT set, s | '{}'::roaring64 FROM sets_roaring64;

-- Large dense sets, which are measured in memory only.
CREATE TABLE large_sets AS
SELECT roaring64_agg(id) FILTER (WHERE side = 0) AS a,
	roaring64_agg(id) FILTER (WHERE side = 1) AS b
FROM generate_series(0, 1) side, ids('dense', side, :large_ids) id;

/*
 * Many sets: of 20,000 users, who have about 9 % of 20,000 ids; a hundred of
 * each of some shapes; and the real data.  What keeps every id by itself gets
 * the first "few" sets, which are one of "part".  Set k of a shape has those i
 * for which its condition holds.
 */
CREATE TABLE collections (name text PRIMARY KEY, part int, few int, condition text);
INSERT INTO collections VALUES ('users', :part, :users / :part);
INSERT INTO collections
SELECT name, :part, :many / :part, condition
FROM (VALUES
	('dense sets', 'hashint8extended(i, k) & 1023 < 307'),
	('nearly full', 'hashint8extended(i, k) & 63 > 0'),
	('nearly equal', 'i % 41 = 0 AND hashint8extended(i, k) & 127 > 0'),
	('disjoint', '(hashint8extended(i, 0) & 65535) % 100 = k % 100'),
	('long runs', '(i + 517 * k) % 3000 < 2500'))
	shapes (name, condition);
INSERT INTO collections SELECT name, 1, max(set) FROM realdata GROUP BY name;

CREATE TABLE users_roaring64 (set int, s roaring64);
ALTER TABLE users_roaring64 ALTER s SET STORAGE EXTERNAL;
INSERT INTO users_roaring64
SELECT u,
	roaring64_agg((hashint8extended(i, u) & 9223372036854775807) % 20000)
FROM generate_series(1, :users) u, generate_series(1::bigint, 1887) i
GROUP BY u;

SELECT format('CREATE TABLE %I (LIKE users_roaring64 INCLUDING STORAGE)',
		name || '_roaring64'),
	format('INSERT INTO %I SELECT k, roaring64_agg(i) FROM generate_series(1, %s) k,'
		' generate_series(0::bigint, %s) i WHERE %s GROUP BY k',
		name || '_roaring64', :many, :width - 1, condition)
FROM collections
WHERE condition IS NOT NULL \gexec

SELECT format('CREATE TABLE %I AS SELECT set, id FROM %I, roaring64_elements(s) id WHERE set <= %s',
		name || '_rows', name || '_roaring64', few)
FROM collections
WHERE part > 1 \gexec

SELECT format('CREATE TABLE %I AS SELECT set, id FROM realdata WHERE name = %L',
		name || '_rows', name),
	format('CREATE TABLE %I AS SELECT set, roaring64_agg(id) AS s FROM %I GROUP BY set',
		name || '_roaring64', name || '_rows')
FROM collections
WHERE part = 1 \gexec

SELECT format('ALTER TABLE %I ADD PRIMARY KEY (set, id)', name || '_rows'),
	format('CREATE TABLE %I AS SELECT set, array_agg(id ORDER BY id) AS s FROM %I GROUP BY set',
		name || '_array', name || '_rows')
FROM collections \gexec

/*
 * The peer's, made by the peer from the same ids.
 */
\if :peer
CREATE TABLE sets_peer AS
SELECT set, rb64_build_agg(id) AS s FROM facts GROUP BY set;
CREATE TABLE large_sets_peer AS
SELECT rb64_build(roaring64_to_array(a)) AS a,
	rb64_build(roaring64_to_array(b)) AS b
FROM large_sets;
SELECT format('CREATE TABLE %I AS SELECT set, rb64_build(roaring64_to_array(s)) AS s FROM %I',
	name || '_peer', name || '_roaring64')
FROM collections \gexec
\endif

-- One row of each is looked for by its number.
SELECT format('ALTER TABLE %I ADD PRIMARY KEY (set)', tablename)
FROM pg_tables
WHERE tablename ~ '_(roaring64|peer|array)$' AND tablename <> 'large_sets_peer' \gexec

VACUUM ANALYZE;
CHECKPOINT;
