--
-- All that must be the same after pg_upgrade as before, by the same statements
--
\set ON_ERROR_STOP 1
\pset format unaligned
SET timezone = 'UTC';
SELECT 'contents', t, md5(string_agg(k || ' ' || coalesce(md5(s::bytea), '-'), ',' ORDER BY k)),
	sum(roaring64_cardinality(s)), bool_and(roaring64_invalid_reason(s::bytea) IS NULL)
FROM (SELECT 'sets' AS t, * FROM sets UNION ALL SELECT 'sets_lz4', * FROM sets_lz4
	UNION ALL SELECT 'sets_external', * FROM sets_external) x GROUP BY t ORDER BY t;
SELECT 'stored', attrelid::regclass, attstorage, attcompression FROM pg_attribute
WHERE atttypid = 'roaring64'::regtype AND attrelid::regclass::text ~ '^sets' AND attnum > 0 ORDER BY attrelid::regclass::text;
SELECT 'others', * FROM others;
SELECT 'extension', extname, extversion, extnamespace::regnamespace FROM pg_extension WHERE extname ~ '^roaring64' ORDER BY extname;
SELECT 'united', md5(s::bytea) FROM united;
SELECT 'by hash', tableoid::regclass, md5(string_agg(s::text, ' ' ORDER BY s)) FROM by_hash GROUP BY tableoid ORDER BY tableoid::regclass::text;
SELECT 'by hash, refound', count(*) FROM by_hash h WHERE s = ANY (SELECT s FROM sets);
SELECT 'compat', * FROM moved ORDER BY id;
SELECT 'compat', rb64_or_agg(members), rb_and_cardinality_agg(small), rb64_iterate(rb64_or_agg(members)) FROM audience;

-- by the indexes, and without them
CREATE FUNCTION pg_temp.answer(query text, index text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
	by_index text;
	by_table text;
BEGIN
	SET LOCAL enable_seqscan = off;
	-- GIN has no other
	PERFORM set_config('enable_indexscan', CASE WHEN index ~ 'elements|containers' THEN 'off' ELSE 'on' END, true);
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP plan := plan || line; END LOOP;
	EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) q', query) INTO by_index;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_indexonlyscan = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE format('SELECT string_agg(q::text, '' '') FROM (%s) q', query) INTO by_table;
	RETURN concat_ws(', ', CASE WHEN plan ~ index THEN index ELSE 'ANOTHER PLAN: ' || plan END,
		CASE WHEN by_index IS NOT DISTINCT FROM by_table THEN 'right' ELSE 'WRONG' END, left(by_index, 60));
END $$;
SELECT 'index', pg_temp.answer('SELECT k FROM sets_lz4 WHERE s @> 3000::bigint AND roaring64_cardinality(s) < 20000 ORDER BY k', 'sets_elements');
SELECT 'index', pg_temp.answer('SELECT k FROM sets_lz4 WHERE s && ''{-1,7,17}'' AND roaring64_cardinality(s) < 20000 ORDER BY k', 'sets_elements');
SELECT 'index', pg_temp.answer('SELECT k FROM sets WHERE s && ''{-1,7,5368709120000}'' ORDER BY k', 'sets_containers');
SELECT 'index', pg_temp.answer('SELECT k FROM sets WHERE s @> ''[4000,4010)''::int8range ORDER BY k', 'sets_containers');
SELECT 'index', pg_temp.answer('SELECT k FROM sets WHERE s <@ ''{0,1,2}''::roaring64 ORDER BY k', 'sets_containers');
SELECT 'index', pg_temp.answer('SELECT k FROM sets WHERE s = ''{0}''', 'sets_hash');
SELECT 'index', pg_temp.answer('SELECT k FROM sets WHERE k < 5 AND s > ''{}'' ORDER BY s', 'sets_btree');
SELECT 'index', pg_temp.answer('SELECT k FROM sets WHERE roaring64_cardinality(s) = 1200 ORDER BY k', 'sets_cardinality');
SELECT 'index', pg_temp.answer('SELECT id FROM audience WHERE rb64_max(members) = 3', 'audience_most');

-- the state of the helpers
SELECT 'dedup', s, k, roaring64_dedup_count(s, k), md5(roaring64_dedup_export(s, k)::bytea)
FROM unnest('{forever,latest,days}'::regclass[]) s, unnest('{bulk,k0,k1,k2,mail}'::text[]) k ORDER BY s::text, k;
SELECT 'dedup', s, x.* FROM unnest('{forever,latest,days}'::regclass[]) s,
	roaring64_dedup_stats(s) AS x ORDER BY s::text;
SELECT 'dedup', * FROM latest_windows ORDER BY key;
SELECT 'dedup', 'forever', count(*), bool_and(roaring64_dedup_seen('forever', 'k' || i % 3, i)) FROM generate_series(1::bigint, 400) i;
SELECT 'dedup', 'uuids', roaring64_dedup_count('uuids', 'k'), md5(roaring64_dedup_export_uuids('uuids', 'k')::text), roaring64_dedup_seen('uuids', 'k', md5('7')::uuid);
SELECT 'delay', roaring64_delay_count('later'), roaring64_delay_next_due('later'),
	(SELECT md5(string_agg(l::text, ',' ORDER BY bucket, group_id)) FROM later l);
SELECT 'rollup', md5(string_agg(f::text, ',' ORDER BY who)) FROM finished_sets AS f;
SELECT 'rollup', 'followed', count(*), count(*) FILTER (WHERE done), sum(id) FROM followed;
SELECT 'follows', count(*) FROM roaring64_rollup_verify('followed_sets');
SELECT 'setting', current_setting('roaring64.output_format');
SELECT 'uses', * FROM uses;
