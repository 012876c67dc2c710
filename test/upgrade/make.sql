--
-- What is taken through pg_upgrade
--
-- Sets of all shapes, stored in all ways, with indexes of all kinds; dedup sets,
-- delayed messages and rollups in their states.
--
\set ON_ERROR_STOP 1
CREATE EXTENSION roaring64;
CREATE EXTENSION roaring64_tables;
CREATE EXTENSION roaring64_compat;
ALTER DATABASE :DBNAME SET roaring64.output_format = 'array';

CREATE TABLE sets (k int PRIMARY KEY, s roaring64);
CREATE TABLE sets_lz4 (k int PRIMARY KEY, s roaring64 COMPRESSION lz4);
CREATE TABLE sets_external (k int PRIMARY KEY, s roaring64);
ALTER TABLE sets_external ALTER s SET STORAGE EXTERNAL;
INSERT INTO sets VALUES (1, NULL), (2, '{}'), (3, '{0}'),
	(4, '{-9223372036854775808,-1,0,1,9223372036854775807}');
INSERT INTO sets SELECT 10 + n, roaring64_agg(i * n)
FROM generate_series(1, 19) n, generate_series(1::bigint, 1200) i GROUP BY n;
INSERT INTO sets SELECT 40 + n, roaring64_agg(int8range(i * 1000, i * 1000 + n * 40))
FROM generate_series(1, 20) n, generate_series(1::bigint, 300) i GROUP BY n;
INSERT INTO sets SELECT 70, roaring64_agg((1279929600000 + i * 37) << 22) FROM generate_series(1::bigint, 50000) i;
INSERT INTO sets SELECT 71, roaring64_agg(hashint8extended(i, 1)) FROM generate_series(1::bigint, 20000) i;
INSERT INTO sets SELECT 72, roaring64_agg(2 * i + (hashint8extended(i, 2) & 1)) FROM generate_series(0::bigint, 524287) i;
INSERT INTO sets_lz4 SELECT * FROM sets;
INSERT INTO sets_external SELECT * FROM sets;

CREATE INDEX sets_elements ON sets_lz4 USING gin (s) WHERE roaring64_cardinality(s) < 20000;
CREATE INDEX sets_containers ON sets USING gin (s gin_roaring64_ops (key = container));
CREATE INDEX sets_hash ON sets USING hash (s);
CREATE UNIQUE INDEX sets_btree ON sets (s) WHERE k < 5;
CREATE INDEX sets_cardinality ON sets (roaring64_cardinality(s));
CREATE STATISTICS sets_statistics ON k, (roaring64_cardinality(s)) FROM sets;

-- other places where the type may be
CREATE DOMAIN small_set AS roaring64 CHECK (roaring64_cardinality(VALUE) < 10);
CREATE TYPE named_set AS (name text, s roaring64);
CREATE TABLE others (a roaring64[], d small_set, c named_set, g bigint GENERATED ALWAYS AS (roaring64_max(d::roaring64)) STORED,
	CHECK (d @> 1::bigint));
INSERT INTO others (a, d, c) VALUES ('{"{1,2}","{}"}', '{1,5}', ROW ('x', '{1,2,3}'));
CREATE MATERIALIZED VIEW united AS SELECT roaring64_or_agg(s) AS s FROM sets WHERE k < 60;
CREATE TABLE by_hash (s roaring64) PARTITION BY HASH (s);
CREATE TABLE by_hash_0 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE by_hash_1 PARTITION OF by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO by_hash SELECT s FROM sets WHERE s IS NOT NULL;

-- by the names of pg_roaringbitmap
CREATE TABLE audience (id int PRIMARY KEY, members roaringbitmap64, small roaringbitmap);
INSERT INTO audience VALUES (1, '{1,2,3}', '{1,2,3}'), (2, '{3,-1}', '{3,-1}'), (3, '{}', '{}'), (4, NULL, NULL);
CREATE INDEX audience_members ON audience USING gin (members);
CREATE INDEX audience_most ON audience (rb64_max(members));
CREATE VIEW moved AS SELECT id, rb64_shiftright(members, 1) AS right, rb_range(small, 2, 4294967296) AS part,
	rb64_select(members, 2, reverse => true) AS two, rb64_to_array(members) AS list FROM audience;

-- dedup sets: chunks and claims that are not folded
SELECT roaring64_dedup_create('forever');
SELECT roaring64_dedup_create('latest', keep => 1000);
SELECT roaring64_dedup_create('days', remember => '30 days');
SELECT roaring64_dedup_create('uuids', id_type => 'uuid');
SELECT roaring64_dedup_import(s, 'bulk', int8range(1, 5001)::roaring64)
FROM unnest('{forever,latest,days}'::regclass[]) s;
SELECT count(roaring64_dedup_claim(s, 'k' || i % 3, i)) FROM unnest('{forever,latest,days}'::regclass[]) s, generate_series(1::bigint, 300) i;
SELECT count(roaring64_dedup_claim('uuids', 'k', md5(i::text)::uuid)) FROM generate_series(1, 2000) i;
CALL roaring64_dedup_fold('uuids');
SELECT roaring64_dedup_forget('uuids', 'k', md5('7')::uuid);
CALL roaring64_dedup_fold('forever');
CALL roaring64_dedup_fold('latest');
CALL roaring64_dedup_fold('days');
SELECT count(roaring64_dedup_claim(s, 'k' || i % 3, i)) FROM unnest('{forever,latest,days}'::regclass[]) s, generate_series(301::bigint, 400) i;
CREATE TABLE inbox (queue text, id bigint);
CREATE FUNCTION once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF roaring64_dedup_claim('public.forever', NEW.queue, NEW.id) THEN RETURN NEW; END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER once BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION once();
INSERT INTO inbox SELECT 'mail', i FROM generate_series(1, 50) i;

-- delayed messages
SELECT roaring64_delay_create('later', '4 s');
SELECT count(roaring64_delay_add('later', i % 5, i, to_timestamp(1000 + i / 10.0))) FROM generate_series(1::bigint, 1000) i;

-- rollups: one detached, one that follows its source
CREATE TABLE finished (who int, id bigint, done boolean NOT NULL, PRIMARY KEY (who, id));
INSERT INTO finished SELECT i % 10, i, i % 3 = 0 FROM generate_series(1, 2000) i;
CREATE TABLE followed (LIKE finished INCLUDING ALL);
INSERT INTO followed SELECT * FROM finished;
CALL roaring64_rollup_create('finished', 'finished_sets', '{who}', 'id', '{"all": true, "done": "done"}');
SELECT roaring64_rollup_detach('finished_sets');
CALL roaring64_rollup_create('followed', 'followed_sets', '{who}', 'id', '{"all": true, "done": "done"}');

CREATE TABLE uses (n int);
INSERT INTO uses VALUES (0);
ANALYZE;
