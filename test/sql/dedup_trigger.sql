--
-- The trigger form of the dedup helper.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;
CREATE SCHEMA dedup_trigger;
SET search_path = dedup_trigger, public;
\set SHOW_CONTEXT never

SELECT roaring64_dedup_create('received');
CREATE TABLE messages (queue text, id bigint, body text DEFAULT 'x', UNIQUE (queue, body, id));
CREATE TRIGGER once BEFORE INSERT ON messages FOR EACH ROW
EXECUTE FUNCTION roaring64_dedup_trigger('received', 'queue', 'id');

-- several rows, some the same
INSERT INTO messages VALUES ('a', 1), ('a', 2), ('a', 1), ('b', 1), ('a', 2) RETURNING queue, id;
-- COPY
COPY messages (queue, id) FROM stdin;
a	2
a	3
a	3
c	-1
\.
-- a query, with both halves bringing duplicates
INSERT INTO messages SELECT 'd', i % 5 FROM generate_series(1, 20) AS i;
SELECT queue, array_agg(id ORDER BY id) FROM messages GROUP BY queue ORDER BY queue;
-- ON CONFLICT: a duplicate does not get there, with DO UPDATE either
INSERT INTO messages VALUES ('a', 1) ON CONFLICT DO NOTHING;
INSERT INTO messages VALUES ('a', 1), ('a', 4) ON CONFLICT (queue, body, id) DO UPDATE SET body = 'changed' RETURNING queue, id, body;
-- folded or not
CALL roaring64_dedup_fold('received');
INSERT INTO messages VALUES ('a', 1), ('a', 5) RETURNING queue, id;
-- a statement that fails has claimed nothing
INSERT INTO messages SELECT 'e', 1 / (3 - i) FROM generate_series(1, 4) AS i;
INSERT INTO messages VALUES ('e', 0), ('e', 1) RETURNING queue, id;
-- what is stored is what was claimed
SELECT count(*) AS messages, count(DISTINCT (queue, id)) AS distinct, n AS claimed
FROM messages, (SELECT ids AS n FROM roaring64_dedup_stats('received')) AS s GROUP BY n;

-- duplicates as errors; other types of columns
SELECT roaring64_dedup_create('strict');
CREATE DOMAIN small AS integer;
CREATE TABLE strict_messages (tenant integer, id small);
CREATE TRIGGER once BEFORE INSERT ON strict_messages FOR EACH ROW
EXECUTE FUNCTION roaring64_dedup_trigger('dedup_trigger.strict', 'tenant', 'id', 'raise');
INSERT INTO strict_messages VALUES (1, 1), (1, 2);
DO $$
BEGIN
	INSERT INTO strict_messages VALUES (1, 3), (1, 2);
EXCEPTION WHEN unique_violation THEN
	RAISE NOTICE '%', SQLERRM;
END $$;
SELECT * FROM strict_messages;
SELECT roaring64_dedup_export('strict', '1');

-- partitions, one of them inserted into by itself
SELECT roaring64_dedup_create('parted');
CREATE TABLE parted_messages (queue varchar, id bigint) PARTITION BY HASH (id);
CREATE TABLE part0 PARTITION OF parted_messages FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE part1 PARTITION OF parted_messages FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TRIGGER once BEFORE INSERT ON parted_messages FOR EACH ROW
EXECUTE FUNCTION roaring64_dedup_trigger('parted', 'queue', 'id', 'skip');
INSERT INTO parted_messages SELECT 'q', i % 10 FROM generate_series(1, 20) AS i;
INSERT INTO part0 SELECT queue, id FROM part0;
SELECT count(*), count(DISTINCT id) FROM parted_messages;
-- a set that has not been named with its schema is that beside the table
SET search_path = pg_catalog;
INSERT INTO dedup_trigger.parted_messages VALUES ('q', 1), ('q', 100) RETURNING id;
SET search_path = dedup_trigger, public;

-- one that is too old to tell is a duplicate
SELECT roaring64_dedup_create('upward', capacity => 4, ascending => true);
CREATE TABLE upward_messages (queue text, id bigint);
CREATE TRIGGER once BEFORE INSERT ON upward_messages FOR EACH ROW
EXECUTE FUNCTION roaring64_dedup_trigger('upward', 'queue', 'id');
SELECT roaring64_dedup_claim_bulk('upward', 'q', '{1,3,4,5,6,7}');
INSERT INTO upward_messages VALUES ('q', 2), ('q', 8) RETURNING id;

-- refused
INSERT INTO messages VALUES ('a', NULL);
INSERT INTO messages VALUES (NULL, 99);
SELECT roaring64_dedup_trigger();
CREATE TABLE wrong (queue text, id text);
CREATE TRIGGER t AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('received', 'queue', 'id');
INSERT INTO wrong VALUES ('a', 9);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE INSERT ON wrong EXECUTE FUNCTION roaring64_dedup_trigger('received', 'queue', 'id');
INSERT INTO wrong VALUES ('a', 9);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE UPDATE ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('received', 'queue', 'id');
INSERT INTO wrong VALUES ('a', 9);
UPDATE wrong SET id = 1;
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('received', 'queue');
INSERT INTO wrong VALUES ('a', 9);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('received', 'queue', 'id');
INSERT INTO wrong VALUES ('a', 9);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('received', 'nothing', 'id');
INSERT INTO wrong VALUES ('a', 9);
DROP TRIGGER t ON wrong;
ALTER TABLE wrong ALTER id TYPE bigint USING 1;
CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('nothing', 'queue', 'id');
INSERT INTO wrong VALUES ('a', 9);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('messages', 'queue', 'id');
INSERT INTO wrong VALUES ('a', 9);
DROP TRIGGER t ON wrong;
CREATE TRIGGER t BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION roaring64_dedup_trigger('received', 'queue', 'id', 'perhaps');
INSERT INTO wrong VALUES ('a', 9);

SET client_min_messages = warning;
DROP SCHEMA dedup_trigger CASCADE;
