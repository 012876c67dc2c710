--
-- The statements of dedup sets, as they are filled for a set of bigints with a window by
-- count, and those of a set of UUIDs without a window that differ.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
CREATE SCHEMA dedup_statements;
SET search_path = dedup_statements, public;
\pset format unaligned
\pset tuples_only on
SELECT roaring64_dedup_create('ids', keep => 100), roaring64_dedup_create('uuids', id_type => 'uuid');
-- all that there are
CREATE FUNCTION names() RETURNS SETOF text LANGUAGE sql AS
$$ SELECT m[1] FROM regexp_matches(pg_get_functiondef('_roaring64_dedup_statement'::regproc), 'WHEN ''([a-z_]+)'' THEN', 'g') AS m $$;
-- as a step of a fold fills them, of one key or of several, of which rows are locked
CREATE FUNCTION filled(dedup regclass, name text) RETURNS text LANGUAGE sql AS
$$
	SELECT E'\n-- ' || name || E'\n' || _roaring64_dedup_statement(_roaring64_dedup_options(dedup) || jsonb_build_object('few', true,
		'removed', 'c.key = ''k'' AND (c.changed OR NOT c.present)', 'present', 'c.key = ANY ($1) AND c.present AND NOT c.changed',
		'key', 'key', 'by_key', ' GROUP BY key'), name)
$$;
SELECT filled('ids', n) FROM names() AS n WHERE n NOT IN ('cut', 'export_uuids');
SELECT filled('uuids', n) FROM names() AS n WHERE n IN ('uncount', 'empty', 'subtract', 'move', 'cut', 'export_uuids', 'number');
-- nobody inserts a row of windows; of another table none is meant, and who may not read one is not told
SELECT _roaring64_dedup_inserting('ids_windows', 'k'), _roaring64_dedup_inserting('pg_class', 'k'), _roaring64_dedup_inserting('ids_windows_pkey', 'k');
CREATE ROLE regress_roaring64_nobody;
GRANT USAGE ON SCHEMA dedup_statements TO regress_roaring64_nobody;
SET ROLE regress_roaring64_nobody;
SELECT _roaring64_dedup_inserting('ids_windows', 'k');
RESET ROLE;
DROP SCHEMA dedup_statements CASCADE;
DROP ROLE regress_roaring64_nobody;
