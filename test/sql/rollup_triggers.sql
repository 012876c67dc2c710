--
-- What a rollup is made of: each trigger, view and fold once.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA shown;
SET search_path = shown, public;
\pset format unaligned
\pset tuples_only on
CREATE TABLE visit (site text COLLATE "C" NOT NULL, who int NOT NULL, at timestamptz NOT NULL, paid boolean);
CREATE INDEX ON visit (site, who);
CREATE TABLE visit_parts (who bigint, site text NOT NULL, paid boolean, day date) PARTITION BY RANGE (day);
CREATE INDEX ON visit_parts (site, who);
CREATE TABLE visit_nulls (a int, b int NOT NULL, c int, UNIQUE (a, b, c));
CREATE FUNCTION triggers(target text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_get_triggerdef(oid) || ';' FROM pg_trigger WHERE tgname ~ ('^' || target || '_') ORDER BY tgname $$;

-- it follows: key, period and two sets
CALL roaring64_rollup_create('visit', 'followed', '{site}', 'who', '{"users": true, "payers": "paid"}', 'at', 'day');
SELECT * FROM triggers('followed');
\sf followed_insert
\sf followed_update
\sf followed_delete
\sf followed_truncate
-- of which the deparsed form depends on the version
SELECT regexp_replace(pg_get_viewdef('followed_rows'), 'visit\.', '', 'g');
CREATE FUNCTION statement(rollup text, what text) RETURNS text LANGUAGE sql AS $$
	SELECT _roaring64_rollup_statement(what, _roaring64_rollup_names(s.parts, s.source, s.given)) FROM _roaring64_rollup_state(rollup::regclass) AS s $$;
SELECT statement('followed', 'now');
SELECT statement('followed', 'differs');
SELECT statement('followed', 'fold');
SELECT statement('followed', 'copy');
SELECT statement('followed', 'repair');
\pset format aligned
\pset tuples_only off
\d followed_pending
TABLE followed_rollup;
\pset format unaligned
\pset tuples_only on
-- it keeps
CALL roaring64_rollup_create('visit', 'kept', '{site}', 'who', '{"users": true, "payers": "paid"}', deletes => 'keep');
SELECT * FROM triggers('kept');
\sf kept_update
SELECT statement('kept', 'fold');
SELECT statement('kept', 'repair');
-- of a partitioned table
CALL roaring64_rollup_create('visit_parts', 'parts', '{site}', 'who', '{"users": true}');
SELECT * FROM triggers('parts');
\sf parts_insert
\sf parts_update
-- how rows are found by a key of which two columns can be NULL
SELECT jsonb_array_elements(_roaring64_rollup_names('{"target": "shown.visit_nulls"}', 'visit_nulls', '{"key_columns": ["a", "b", "c"], "sets": {"s": true}}')->'patterns');
DROP SCHEMA shown CASCADE;
