/*
 * unread.sql
 *	  The rows of a large table whose id is in a set: by an index on the id.
 *
 * Ten million messages, and readers of which one has 200 unread messages and
 * one has half of them all.  The first is read by index, the second not.
 */
CREATE TABLE mails AS
SELECT 3 * i AS id, (i % 1000)::int AS sender FROM generate_series(1::bigint, :rows) i;
ALTER TABLE mails ADD PRIMARY KEY (id);
CREATE TABLE unread_rows AS
SELECT 1 AS reader, id
FROM (SELECT DISTINCT 3 * (1 + (hashint8extended(i, 7) & 9223372036854775807) % :rows) AS id
	  FROM generate_series(1, 220) i LIMIT 200) few
UNION ALL
SELECT 2, id FROM mails WHERE hashint8(id) & 1 = 0;
CREATE TABLE unread_roaring64 AS
SELECT reader, roaring64_agg(id) AS unread FROM unread_rows GROUP BY reader;
CREATE TABLE unread_array AS
SELECT reader, array_agg(id) AS unread FROM unread_rows WHERE reader = 1 GROUP BY reader;
CREATE INDEX ON unread_rows (reader, id);
-- of the readers only the average is known, which none of them is near to
INSERT INTO unread_roaring64 SELECT i, '{1,2,3}' FROM generate_series(3, 200000) i;
ALTER TABLE unread_roaring64 ADD PRIMARY KEY (reader);
CREATE TABLE unread_half AS SELECT * FROM unread_roaring64 WHERE reader = 2;
VACUUM ANALYZE mails, unread_rows, unread_roaring64, unread_array, unread_half;

CREATE PROCEDURE use_id_index(yes boolean)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_bitmapscan', yes::text, true),
		set_config('enable_indexscan', yes::text, true),
		set_config('enable_indexonlyscan', yes::text, true);
END $$;

-- Fails unless the planner, left alone, reads mails by the index.
CREATE PROCEDURE check_plan(query text)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found OR line ~ 'Scan (using )?mails_pkey.* on mails|Roaring64 Lookup.* on mails';
	END LOOP;
	IF NOT found THEN
		RAISE 'not read by the index: %', query;
	END IF;
END $$;

CREATE TABLE unread_queries (data text, by_index boolean, system text, query text);
INSERT INTO unread_queries VALUES
	('200 of all', true, 'roaring64',
		'SELECT count(*), sum(hashint8(m.id)) FROM unread_roaring64 u JOIN mails m ON m.id <@ u.unread WHERE u.reader = 1'),
	('200 of all', true, 'rows',
		'SELECT count(*), sum(hashint8(m.id)) FROM unread_rows u JOIN mails m USING (id) WHERE u.reader = 1'),
	('200 of all', true, 'array',
		'SELECT count(*), sum(hashint8(m.id)) FROM unread_array u JOIN mails m ON m.id = ANY (u.unread) WHERE u.reader = 1'),
	('half of all', false, 'roaring64',
		'SELECT count(*), sum(hashint8(m.id)) FROM unread_half u JOIN mails m ON m.id <@ u.unread'),
	('half of all', false, 'rows',
		'SELECT count(*), sum(hashint8(m.id)) FROM unread_rows u JOIN mails m USING (id) WHERE u.reader = 2');
SELECT format('CALL check_plan(%L)', query)
FROM unread_queries WHERE system = 'roaring64' AND by_index \gexec

INSERT INTO statements (workload, data, system, query)
SELECT 'join messages with a reader''s set', data, system,
	replace(query, 'count(*), sum(hashint8(m.id))', '(count(*), sum(hashint8(m.id)))')
FROM unread_queries;
INSERT INTO statements (workload, data, system, query, setup)
SELECT 'the same by reading all messages', data, system,
	replace(query, 'count(*), sum(hashint8(m.id))', '(count(*), sum(hashint8(m.id)))'),
	'CALL use_id_index(false)'
FROM unread_queries
WHERE by_index AND system = 'roaring64';
