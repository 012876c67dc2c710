--
-- Facets: the keys of which most elements are in a filter, of any table of sets.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
\set SHOW_CONTEXT never
CREATE TABLE tags (tag text, lang text, docs roaring64, PRIMARY KEY (tag, lang));
INSERT INTO tags
SELECT 't' || t, l, (SELECT roaring64_agg(d) FROM generate_series(1, 3000) d WHERE hashint8extended(d * 100 + t, length(l)) % (t * length(l)) = 0)
FROM generate_series(1, 60) t, unnest(ARRAY['a', 'bb', 'ccc']) l;
INSERT INTO tags VALUES ('none', 'a', '{}'), ('null', 'a', NULL);
-- against all of them, for filters of all sizes
CREATE FUNCTION facets_differ() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (VALUES ('{}'), ('{5}'), ('{5,6,7,8}'), ((int8range(1, 300)::roaring64)), ((int8range(1, 3001)::roaring64)), ('{99999}'),
		((SELECT roaring64_agg(3 * i) FROM generate_series(1, 900) i))) AS f (filter),
		generate_series(1, 250, 31) AS n,
		LATERAL (SELECT array_agg(count ORDER BY count DESC) AS counts, count(DISTINCT key), count(*) AS rows,
			bool_and(count = (SELECT roaring64_and_cardinality(docs, filter) FROM tags WHERE tag = key->>'tag' AND lang = key->>'lang')) AS true_counts
			FROM roaring64_facets('tags', 'docs', filter, n)) AS found,
		LATERAL (SELECT array_agg(c ORDER BY c DESC) AS counts FROM (SELECT roaring64_and_cardinality(docs, filter) AS c FROM tags ORDER BY 1 DESC NULLS LAST LIMIT n) t WHERE c > 0) AS expected
	WHERE found.counts IS DISTINCT FROM expected.counts OR found.count <> found.rows OR NOT found.true_counts $$;
SELECT facets_differ();
SELECT * FROM roaring64_facets('tags', 'docs', '{1,2,3,4,5,6,7,8,9,10}', 2) WHERE count > 5;
-- of a view
CREATE VIEW tags_seen AS SELECT * FROM tags;
SELECT count(*) FROM roaring64_facets('tags_seen', 'docs', int8range(1, 3001)::roaring64, 7);
SELECT * FROM roaring64_facets('tags', 'docs', '{1}', 0);
SELECT * FROM roaring64_facets('tags', 'gone', '{1}');
SELECT * FROM roaring64_facets('tags', 'docs', NULL);

-- of tables with any columns
DO $$
BEGIN
	EXECUTE 'CREATE TABLE wide (roaring64_count int, k int, s int, t int, c int, ids roaring64, ' || (SELECT string_agg('c' || i || ' int', ', ') FROM generate_series(1, 120) i) || ')';
END $$;
INSERT INTO wide (roaring64_count, k, s, t, c, ids) SELECT i, i, i, i, i, (SELECT roaring64_agg(j) FROM generate_series(1, i) j) FROM generate_series(1, 30) i;
SELECT key->>'k' AS k, count, key->>'roaring64_count' AS c FROM roaring64_facets('wide', 'ids', '{1,2,3,25,26,27,28}', 3) ORDER BY 2 DESC, 1;
-- a domain over sets is a set
CREATE DOMAIN readers AS roaring64;
CREATE TABLE articles (id int, readers readers, writers roaring64);
INSERT INTO articles VALUES (1, '{1,2}', '{3}');
SELECT * FROM roaring64_facets('articles', 'readers', '{2,3}');
DROP TABLE tags, wide, articles CASCADE;
DROP DOMAIN readers;
DROP FUNCTION facets_differ;
