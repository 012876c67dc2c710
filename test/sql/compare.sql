--
-- Equality, order and hashing, and what the server builds on them
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- one set, one value, however it was written
SELECT '{1,2,3}'::roaring64 = '{3,2,1,1}' AS equal,
	'{1,2,3}'::roaring64 = '[1,3]'::int8range::roaring64 AS from_range,
	'{1,2,3}'::roaring64 <> '{1,2}' AS differs,
	'{}'::roaring64 = '{}' AS empty, '{}'::roaring64 = '{0}' AS not_empty,
	'{-1}'::roaring64 = '{9223372036854775807}' AS not_unsigned;
SELECT ('{1,2}'::roaring64 | 3) - 3 = '{1,2}' AS after_changes,
	'{5}'::roaring64 - 5 = '{}' AS emptied;
SELECT '{1}'::roaring64 = NULL IS NULL, NULL::roaring64 < '{1}' IS NULL,
	roaring64_cmp('{1}', NULL) IS NULL, roaring64_hash(NULL) IS NULL;

-- the order: total, and that of the bytes
CREATE TEMP TABLE sets (id serial, s roaring64);
INSERT INTO sets (s) VALUES ('{3}'), ('{}'), ('{1,2}'), ('{-1}'), ('{1}'),
	('{9223372036854775807}'), ('{1,5000000000}'), ('{-9223372036854775808}'),
	('{0}'), ('{2,1}'), ('{}'), ('{1}');
SELECT s, count(*) FROM sets GROUP BY s ORDER BY s;
SELECT DISTINCT s FROM sets ORDER BY s DESC;
-- pairs for which the operators and the order of the bytes disagree; none
SELECT a.s, b.s
FROM sets AS a, sets AS b
WHERE (a.s = b.s) <> (a.s::bytea = b.s::bytea)
	OR (a.s <> b.s) <> (a.s::bytea <> b.s::bytea)
	OR (a.s < b.s) <> (a.s::bytea < b.s::bytea)
	OR (a.s <= b.s) <> (a.s::bytea <= b.s::bytea)
	OR (a.s > b.s) <> (a.s::bytea > b.s::bytea)
	OR (a.s >= b.s) <> (a.s::bytea >= b.s::bytea)
	OR sign(roaring64_cmp(a.s, b.s)) <> CASE WHEN a.s::bytea < b.s::bytea THEN -1
									WHEN a.s::bytea = b.s::bytea THEN 0
									ELSE 1 END;

-- equal sets hash alike, with the same seed
SELECT count(DISTINCT roaring64_hash(s)) AS hashes,
	count(DISTINCT roaring64_hash_extended(s, 0)) AS extended,
	count(DISTINCT roaring64_hash_extended(s, 1)) AS seeded,
	count(DISTINCT s) AS sets
FROM sets;
SELECT bool_and(roaring64_hash(s) = (roaring64_hash_extended(s, 0) & 4294967295)::bit(32)::integer) AS low_half_agrees,
	bool_or(roaring64_hash_extended(s, 0) = roaring64_hash_extended(s, 1)) AS seed_ignored
FROM sets;

-- joins by hash and by merge, and both kinds of aggregation
CREATE TEMP TABLE big AS
	SELECT i, ARRAY[i % 500, i % 500 + 1, (i % 500)::bigint << 33]::roaring64 AS s
	FROM generate_series(1, 2000) AS i;
ANALYZE big;
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT count(*) FROM big AS a JOIN big AS b USING (s);
SET enable_mergejoin = on;
SET enable_hashjoin = off;
SELECT count(*) FROM big AS a JOIN big AS b USING (s);
RESET enable_mergejoin;
RESET enable_nestloop;
RESET enable_hashjoin;
SET enable_sort = off;
SELECT count(*), sum(n) FROM (SELECT s, count(*) AS n FROM big GROUP BY s) AS g;
SET enable_sort = on;
SET enable_hashagg = off;
SELECT count(*), sum(n) FROM (SELECT s, count(*) AS n FROM big GROUP BY s) AS g;
RESET enable_sort;
RESET enable_hashagg;
SELECT count(*) FROM (SELECT s FROM big EXCEPT SELECT s FROM big WHERE i > 100) AS none;
SELECT count(*) FROM big WHERE s IN ('{1,2,8589934592}', '{2,3,17179869184}', '{7}');

-- indexes: every operator, unique, and the order of the sort
CREATE INDEX big_btree ON big USING btree (s);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FILTER (WHERE s = '{1,2,8589934592}') AS eq FROM big WHERE s = '{1,2,8589934592}';
SELECT
	(SELECT count(*) FROM big WHERE s < '{100,101,858993459200}') AS lt,
	(SELECT count(*) FROM big WHERE s <= '{100,101,858993459200}') AS le,
	(SELECT count(*) FROM big WHERE s > '{100,101,858993459200}') AS gt,
	(SELECT count(*) FROM big WHERE s >= '{100,101,858993459200}') AS ge;
SELECT bool_and(s >= before) AS in_order, count(*)
FROM (SELECT s, lag(s) OVER (ORDER BY s) AS before FROM big) AS t WHERE before IS NOT NULL;
DROP INDEX big_btree;
RESET enable_seqscan;
RESET enable_bitmapscan;
SELECT bool_and(s >= before) AS in_order, count(*)
FROM (SELECT s, lag(s) OVER (ORDER BY s) AS before FROM big) AS t WHERE before IS NOT NULL;
CREATE INDEX big_hash ON big USING hash (s);
SET enable_seqscan = off;
SELECT count(*) FROM big WHERE s = '{1,2,8589934592}';
RESET enable_seqscan;
SELECT amname, opcname, amvalidate(c.oid)
FROM pg_opclass AS c JOIN pg_am AS a ON a.oid = opcmethod
WHERE opcintype = 'roaring64'::regtype AND opcname = 'roaring64_ops'
ORDER BY amname COLLATE "C";

CREATE TEMP TABLE keyed (s roaring64 PRIMARY KEY, n integer);
INSERT INTO keyed VALUES ('{1,2}', 1), ('{}', 2);
INSERT INTO keyed VALUES ('{2,1}', 3);
INSERT INTO keyed VALUES ('{}', 3) ON CONFLICT (s) DO UPDATE SET n = excluded.n;
SELECT * FROM keyed ORDER BY n;

-- hash partitions
CREATE TEMP TABLE parted (s roaring64) PARTITION BY HASH (s);
CREATE TEMP TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TEMP TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT s FROM sets;
SELECT count(*), count(DISTINCT s) FROM parted;
SELECT count(*) FROM parted WHERE s = '{1}';
SELECT count(*) FROM parted_0 JOIN parted_1 USING (s);

-- sets of equal size out of line, that differ late, early, or not at all
CREATE TEMP TABLE wide (name text, s roaring64);
ALTER TABLE wide ALTER s SET STORAGE external;
INSERT INTO wide
	SELECT name, (SELECT array_agg(i * 13 + CASE WHEN i = odd THEN 1 ELSE 0 END)
				  FROM generate_series(1, 20000) AS i)::roaring64
	FROM (VALUES ('plain', 0), ('early', 1), ('late', 20000), ('again', 0)) AS t(name, odd);
INSERT INTO wide SELECT 'longer', s | 1000000 FROM wide WHERE name = 'plain';
SELECT a.name, string_agg(b.name, ' ' ORDER BY b.name COLLATE "C") AS equal_to
FROM wide AS a JOIN wide AS b ON a.s = b.s GROUP BY a.name ORDER BY a.name COLLATE "C";
SELECT count(DISTINCT s) FROM wide;
SELECT bool_and((a.s < b.s) = (a.s::bytea < b.s::bytea)) AS same_order
FROM wide AS a, wide AS b;
