--
-- The triggers of rollups of each kind, as they are made, and what follows in them from a
-- statement.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE SCHEMA shown;
SET search_path = shown, public;
\pset format unaligned
\pset tuples_only on
CREATE TABLE visit (site text COLLATE "C", who bigint NOT NULL, paid boolean);
CREATE INDEX ON visit (site, who);
ALTER TABLE visit ALTER site SET NOT NULL;
CREATE TABLE visit_parts (site text, who bigint, paid boolean, day date) PARTITION BY RANGE (day);
ALTER TABLE visit_parts ALTER site SET NOT NULL;
CREATE FUNCTION show(target text) RETURNS SETOF text LANGUAGE sql AS $$
	(SELECT DISTINCT ON (tgname) pg_get_triggerdef(oid) || ';' FROM pg_trigger
	 WHERE tgfoid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'shown'::regnamespace AND proname ~ ('^' || target || '_')) ORDER BY tgname)
	UNION ALL
	(SELECT pg_get_functiondef(oid) FROM pg_proc
	 WHERE pronamespace = 'shown'::regnamespace AND proname ~ ('^' || target || '_(insert|update|delete|truncate)$') ORDER BY proname) $$;

-- at commit
CALL roaring64_rollup_create('visit', 'followed', '{site}', 'who', '{"users": true, "payers": "paid"}');
SELECT * FROM show('followed');
CALL roaring64_rollup_create('visit', 'kept', '{site}', 'who', '{"users": true}', deletes => 'keep');
SELECT * FROM show('kept');
CALL roaring64_rollup_create('visit', 'strict', '{site}', 'who', '{"users": true}', deletes => 'refuse');
SELECT * FROM show('strict');
-- deferred
CALL roaring64_rollup_create('visit', 'later', '{site}', 'who', '{"users": true, "payers": "paid"}', deferred => true);
SELECT * FROM show('later');
CALL roaring64_rollup_create('visit', 'later_kept', '{site}', 'who', '{"users": true}', deferred => true, deletes => 'keep');
SELECT * FROM show('later_kept');
-- of a partitioned table
CALL roaring64_rollup_create('visit_parts', 'parts', '{site}', 'who', '{"users": true, "payers": "paid"}', deferred => true, deletes => 'keep');
SELECT * FROM show('parts');
-- until all is copied, what follows only notes the ids, which are taken up at the end
SELECT _roaring64_rollup_body(event, names, true) FROM followed_rollup, unnest('{insert,update,delete,pending}'::text[]) AS event;
-- what a fold does with the rows that it takes
SELECT _roaring64_rollup_fill(_roaring64_rollup_template('merge'), names || '{"added": "SELECT * FROM shown.later_pending"}') FROM later_rollup;
-- templates: filled in one pass, and what is filled in is not looked at again
SELECT _roaring64_rollup_fill('{a} [x{n} = {set} AND ...] {} [] [a] {} {B} [{k}, ...] ''{}'' {a}',
	'{"a": "{b} [c{n}, ...]", "b": "no", "sets": [{"n": 1, "set": "{a}"}, {"n": 2, "set": "[]"}], "keys": [{"k": 1}, {"k": 2}]}');
SELECT _roaring64_rollup_fill('{none}', '{}');
SELECT _roaring64_rollup_fill('[{n}{none}, ...]', '{"sets": [{"n": 1}]}');
DROP SCHEMA shown CASCADE;
