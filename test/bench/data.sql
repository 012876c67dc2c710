/*
 * data.sql
 *	  The ids, made without chance: every run has the same.
 *
 * Here as rows; sets.sql makes sets of them.  What looks random is a hash.
 */

/*
 * The data sets: pairs of sets, whose numbers are a and b.  Each is an
 * expression over i (0, 1, 2 ...), n (how many), side (0 for a, 1 for b) and
 * hash (of i, another one for each side).
 *
 * uniform		random ones of 100 million; the two sets have few in common
 * snowflake	an id every 37 ms, with 2 bits of worker and 12 of sequence
 *				below the time; the two sets have every twelfth in common
 * random 64-bit, sequential, runs with gaps
 *				the two sets have half of their ids in common
 * dense		half of all integers of a range
 *
 * compressed: whether compression pays; docs/storage.md says how one knows.
 */
CREATE TABLE data_sets (name text PRIMARY KEY, a int, b int, expression text,
	compressed boolean NOT NULL DEFAULT false);
INSERT INTO data_sets VALUES
	('uniform', 1, 2, '(hash & 9223372036854775807) % 100000000'),
	('snowflake', 3, 4,
		'((1279929600000 + i * 37) << 22) | ((hash & 3) << 12) | ((hash >> 8 & 127) % 3)'),
	('packed snowflake', 5, 6,
		'roaring64_snowflake_pack(((1279929600000 + i * 37) << 22)
			| ((hash & 3) << 12) | ((hash >> 8 & 127) % 3))'),
	('random 64-bit', 7, 8, 'hashint8extended(i + side * n / 2, 2)'),
	('sequential', 9, 10, 'i + side * n / 2'),
	('runs with gaps', 11, 12,
		'(i + side * n / 2) / 60 * 160 + (i + side * n / 2) % 60
			+ (hashint8extended((i + side * n / 2) / 60, 3) & 31)'),
	('dense', 13, 14, '2 * i + (hash & 1)');
UPDATE data_sets SET compressed = true
WHERE name IN ('snowflake', 'random 64-bit');

-- The ids of one set, not sorted out and not in order.
CREATE FUNCTION ids(name text, side int, n bigint) RETURNS SETOF bigint
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE (
		SELECT format('SELECT %s FROM (
			SELECT i, %s::bigint AS side, %s::bigint AS n, hashint8extended(i, %2$s) AS hash
			FROM generate_series(0::bigint, %3$s - 1) i) given', expression, side, n)
		FROM data_sets d
		WHERE d.name = ids.name);
END $$;

-- The row-per-fact table.  The index comes when all is loaded (sets.sql).
CREATE TABLE facts (set int NOT NULL, id bigint NOT NULL);
INSERT INTO facts
SELECT DISTINCT a, id FROM data_sets, ids(name, 0, :ids) id
UNION ALL
SELECT DISTINCT b, id FROM data_sets, ids(name, 1, :ids) id;

/*
 * Streams of ids as they come in, for building: without order, but for
 * sequential, which is in order.
 */

SELECT format('CREATE TABLE %I AS SELECT id FROM ids(%L, 0, %s) id %s',
	'stream ' || name, name, :stream,
	CASE WHEN name <> 'sequential' THEN 'ORDER BY hashint8(id)' END)
FROM data_sets
WHERE name <> 'dense' \gexec

-- Ten million rows: of 20,000 ids, and of snowflake ids each its own.
CREATE TABLE messages AS
SELECT (hashint8extended(i, 0) & 9223372036854775807) % 20000 AS id
FROM generate_series(1::bigint, :rows) i;
CREATE TABLE flakes AS
SELECT id FROM ids('snowflake', 0, :rows) id ORDER BY hashint8(id);

-- Real data sets of many sets, which the driver copies in where it has them.
CREATE TABLE realdata (name text, set int, id bigint);
