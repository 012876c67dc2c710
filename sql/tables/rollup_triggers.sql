--
-- The triggers of a rollup, as templates (see _roaring64_rollup_fill).
--
-- A table without partitions has triggers for each statement, which read all its rows at
-- once, and one for each row, which never runs: with it, PostgreSQL refuses to make the
-- table a part or a child of another one, through which rows would come unseen.
--
-- A partitioned table has one trigger for each row.  PostgreSQL itself gives it to all
-- partitions, also to those that come later, and takes it away from those that go.
-- Since partitions come and go with their rows, ids are only added to its sets, deferred;
-- a fold copies what came with a partition.
--
-- All triggers name the target in a condition that is true, so that it is not dropped
-- without them.
--
-- Why the sets are right.  Where they follow what goes, statements of one transaction may
-- be nested, and their triggers fire in another order than the rows were changed in.  So a
-- trigger changes the sets of a key, which locks its row of the target until the end of
-- the transaction, and then looks up what the source has now of the ids that it changed.
-- What it finds is right, and the last trigger that has to do with an id finds it last.
-- Who changes rows of the same key waits, and looks with a newer snapshot, or gets a
-- serialization error.  So does whose snapshot is older than the rollup.
--
-- Where the sets do not follow what goes, ids are only added to them, and no order
-- matters.  Deferred, they are appended to a table without looking at the sets, so no
-- writer waits for another, and the sets take them up later.
--
-- Where the sets do not follow what goes.  First what every trigger reads: the rows of its
-- statement, or its row, as facts, of which there are none for a row that is in no set.
CREATE FUNCTION _roaring64_rollup_adding(name text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE name
WHEN 'new' THEN 'roaring64_new AS r, {facts}(ROW(r.*)::{row}) AS f'
WHEN 'old' THEN 'roaring64_old AS r, {facts}(ROW(r.*)::{row}) AS f'
WHEN 'both' THEN '(TABLE roaring64_old UNION ALL TABLE roaring64_new) AS r, {facts}(ROW(r.*)::{row}) AS f'
WHEN 'row' THEN '{facts}(NEW::{source}::{row}) AS f'
-- Deferred, and at commit until all is copied: appends what is added.
WHEN 'append' THEN $$
BEGIN{own}{childless}{refused}
	INSERT INTO {pending} ([k{k}, ...], [c{n}, ...], id){added};
	RETURN NULL;
END
$$
-- At commit: adds its ids.
WHEN 'add' THEN $$
BEGIN{own}{childless}{refused}{merge};
	RETURN NULL;
END
$$
-- What is added: what is there,
WHEN 'added' THEN $$
	SELECT [f.k{k}{collate} AS k{k}, ...], [f.c{n}, ...], f.id
	FROM {from}{except}$$
-- and is not as it was.
WHEN 'except' THEN $$
	EXCEPT ALL
	SELECT [f.k{k}{collate}, ...], [f.c{n}, ...], f.id
	FROM {old}$$
-- Keys in their order.  An out-of-line value that does not change is not written again.
WHEN 'merge' THEN $$
	INSERT INTO {target} AS t ([{column}, ...], [{set}, ...])
	SELECT [k{k}, ...], [coalesce({ext}.roaring64_agg(id) FILTER (WHERE c{n}), '{}'), ...]
	FROM ({added}) AS a
	GROUP BY [k{k}, ...]
	ORDER BY [k{k}, ...]
	ON CONFLICT ([{column}, ...]) DO UPDATE SET
		[{set} = CASE WHEN {ext}.roaring64_is_empty(excluded.{set}) THEN t.{set}
			ELSE {ext}.roaring64_or(t.{set}, excluded.{set}) END, ...]$$
END;
COMMENT ON FUNCTION _roaring64_rollup_adding(text) IS 'templates of the triggers of a rollup that only adds';

-- Where they follow what goes, at commit: a key at a time, in their order.
CREATE FUNCTION _roaring64_rollup_following(name text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE name
WHEN 'change' THEN $$
#variable_conflict use_column
DECLARE
	change record;			-- of a key: ids to add to each set, and to take from it
	present record;			-- those of them that the source has
BEGIN{own}{childless}
	IF current_setting('transaction_isolation') <> 'read committed' AND NOT EXISTS (SELECT FROM {state}) THEN
		RAISE serialization_failure USING
			MESSAGE = format('could not serialize access: the rollup %s is newer than the transaction', {target_text}),
			HINT = 'The transaction might succeed if retried.';
	END IF;
	FOR change IN{changes}
	LOOP
		-- what is expected, and then what is there
		CONTINUE WHEN [{ext}.roaring64_is_empty(change.a{n}) AND {ext}.roaring64_is_empty(change.r{n}) AND ...];
		INSERT INTO {target} AS t ([{column}, ...], [{set}, ...])
		VALUES ([change.k{k}, ...], [change.a{n}, ...])
		ON CONFLICT ([{column}, ...]) DO UPDATE SET
			[{set} = CASE WHEN {ext}.roaring64_is_empty(change.a{n}) AND {ext}.roaring64_is_empty(change.r{n}) THEN t.{set}
				ELSE {ext}.roaring64_or({ext}.roaring64_andnot(t.{set}, change.r{n}), change.a{n}) END, ...];
		SELECT [{ext}.roaring64_and(coalesce({ext}.roaring64_agg(f.id) FILTER (WHERE f.c{n}), '{}'),
				{ext}.roaring64_or(change.a{n}, change.r{n})) AS a{n}, ...] INTO present
		FROM {rows} AS f
		WHERE [{rows_equal} AND ...] AND f.i = ANY (({changed})::bigint[]);
		IF [present.a{n} OPERATOR({ext}.<>) change.a{n} OR ...] THEN
			UPDATE {target} AS t SET
				[{set} = {ext}.roaring64_or({ext}.roaring64_andnot(t.{set}, {ext}.roaring64_or(change.a{n}, change.r{n})),
					present.a{n}), ...]
			WHERE [{target_equal} AND ...];
		END IF;
	END LOOP;{return}
END
$$
WHEN 'changes' THEN $$
		SELECT [k{k}, ...],
			[coalesce({ext}.roaring64_agg(id) FILTER (WHERE s{n} > 0), '{}') AS a{n}, ...],
			[coalesce({ext}.roaring64_agg(id) FILTER (WHERE s{n} < 0), '{}') AS r{n}, ...]
		FROM ({counted}) AS ids
		GROUP BY [k{k}, ...]
		ORDER BY [k{k}, ...]$$
-- Of what was appended until all was copied, nothing is expected: it is looked up.
WHEN 'pending' THEN $$
		WITH touched AS (DELETE FROM {pending} RETURNING [k{k}, ...], id)
		SELECT [k{k}, ...], ['{}'::{ext}.roaring64 AS a{n}, ...], [{ext}.roaring64_agg(id) AS r{n}, ...]
		FROM touched
		GROUP BY [k{k}, ...]
		ORDER BY [k{k}, ...]$$
END;
COMMENT ON FUNCTION _roaring64_rollup_following(text) IS 'templates of the triggers of a rollup that follows';

-- All of them, and what is refused.
CREATE FUNCTION _roaring64_rollup_template(name text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE name
WHEN 'refuse' THEN $$
BEGIN{own}{refused}
	RETURN NULL;
END
$$
WHEN 'refuse_truncate' THEN $$
	{refusal}$$
-- An id of which there are fewer rows than before is about to leave a set.
WHEN 'refuse_rows' THEN $$
	IF EXISTS (
		SELECT FROM ({counted}) AS ids
		WHERE [s{n} OPERATOR(pg_catalog.<) 0 OR ...]) THEN
		{refusal}
	END IF;$$
WHEN 'refusal' THEN $$RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot {verb} %I.%I, because the sets of %s do not follow that',
										TG_TABLE_SCHEMA, TG_TABLE_NAME, {target_text}),
			HINT = pg_catalog.format('{instead} the rollup with roaring64_rollup_detach(%L) or roaring64_rollup_drop(%L).',
									 {target_text}, {target_text});$$
-- By how many rows more or less than before an id is in a set.  An UPDATE can change a row again,
-- as actions of foreign keys do.
WHEN 'counted_insert' THEN $$
			SELECT [f.k{k}{collate} AS k{k}, ...], f.id, [CASE WHEN f.c{n} THEN 1 END AS s{n}, ...]
			FROM {new}$$
WHEN 'counted_delete' THEN $$
			SELECT [f.k{k}{collate} AS k{k}, ...], f.id, [CASE WHEN f.c{n} THEN -1 END AS s{n}, ...]
			FROM {old}$$
WHEN 'counted_update' THEN $$
			SELECT [f.k{k}{collate} AS k{k}, ...], f.id, [pg_catalog.sum(f.sign) FILTER (WHERE f.c{n}) AS s{n}, ...]
			FROM (
				SELECT f.*, 1 AS sign FROM {new}
				UNION ALL
				SELECT f.*, -1 FROM {old}) AS f
			GROUP BY [f.k{k}{collate}, ...], f.id$$
-- An UPDATE of a table changes rows of its children too, which count as its own.
WHEN 'childless' THEN $$
	IF EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE inhparent OPERATOR(pg_catalog.=) TG_RELID) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot update %I.%I, because it has children and the sets of %s do not follow these',
										TG_TABLE_SCHEMA, TG_TABLE_NAME, {target_text}),
			HINT = 'ALTER TABLE ... NO INHERIT the children.';
	END IF;$$
-- An error if something is not the owner's.  PERFORM would take longer.
WHEN 'own' THEN $$
	IF NOT {ext}._roaring64_own(TG_RELID, {whole}, {words}, '{used}') THEN{renamed}
	END IF;$$
-- A row of a partition is cast to the type of the whole table, by its name.
WHEN 'renamed' THEN $$
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot write to %I.%I, because %s has another name now', TG_TABLE_SCHEMA,
										TG_TABLE_NAME, {source_text}),
			HINT = pg_catalog.format('CALL roaring64_rollup_fold(%L).', {target_text});$$
ELSE coalesce(@extschema@._roaring64_rollup_adding(name), @extschema@._roaring64_rollup_following(name))
END;
COMMENT ON FUNCTION _roaring64_rollup_template(text) IS 'templates of the triggers of a rollup';

-- What the trigger of an event does, or the end of copying with what is pending.
CREATE FUNCTION _roaring64_rollup_body(event text, names jsonb, copying boolean)
RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	deletes text := names->>'deletes';
	partitioned boolean := names->>'partitioned';
	kind text := CASE
		WHEN event = 'truncate' OR event = 'delete' AND deletes = 'refuse' THEN 'refuse'
		WHEN event = 'pending' OR deletes = 'follow' AND NOT copying THEN 'change'
		WHEN copying OR (names->>'deferred')::boolean THEN 'append'
		ELSE 'add' END;
	parts jsonb := names || jsonb_build_object('own', '', 'renamed', '', 'childless', '', 'refused', '', 'except', '',
		'whole', CASE WHEN partitioned THEN names->>'source_text' ELSE 'NULL' END,
		'used', CASE WHEN kind = 'change' THEN '{"",_rows,_rollup}'
			WHEN kind = 'append' OR (names->>'deferred')::boolean THEN '{_pending}' ELSE '{""}' END,
		'verb', CASE event WHEN 'delete' THEN 'delete from' ELSE event END,
		'instead', CASE WHEN event = 'truncate' AND deletes = 'follow' THEN 'Use DELETE, or stop' ELSE 'Stop' END,
		'return', CASE event WHEN 'pending' THEN '' ELSE E'\n\tRETURN NULL;' END);
	part record;
BEGIN
	-- from the innermost to the outermost
	FOR part IN
		SELECT * FROM (VALUES
			('new', 'new', true),
			('old', 'old', true),
			('from', CASE WHEN partitioned THEN 'row' WHEN event = 'insert' OR deletes <> 'follow' THEN 'new'
					 WHEN event = 'delete' THEN 'old' ELSE 'both' END, true),
			('counted', 'counted_' || event, true),
			('refusal', 'refusal', true),
			('childless', 'childless', event = 'update'),
			('renamed', 'renamed', partitioned),
			('own', 'own', event <> 'pending'),
			('refused', 'refuse_truncate', event = 'truncate'),
			('refused', 'refuse_rows', event IN ('update', 'delete') AND deletes = 'refuse'),
			('except', 'except', event = 'update' AND deletes <> 'follow'),
			('added', 'added', kind IN ('append', 'add')),
			('merge', 'merge', kind = 'add'),
			('changes', CASE event WHEN 'pending' THEN 'pending' ELSE 'changes' END, kind = 'change'),
			('body', kind, true)) AS p (name, template, is_used)
		WHERE is_used
	LOOP
		parts := parts || jsonb_build_object(part.name, @extschema@._roaring64_rollup_fill(
			@extschema@._roaring64_rollup_template(part.template), parts));
	END LOOP;
	RETURN parts->>'body';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_body(text, jsonb, boolean) IS 'body of a trigger''s function of a rollup';

-- Makes or replaces the functions of the triggers.  All names in those of a deferred rollup
-- are qualified, so search_path, which takes as long to set as a row to append, is set there
-- only for what others' operators, functions and types (from OID 16384 on), also those of
-- elements, look up.
CREATE FUNCTION _roaring64_rollup_follow(names jsonb, copying boolean, replace text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	row_type oid := (names->>'row')::regtype;
	settings text := 'SET search_path = pg_catalog, pg_temp';
	event text;
BEGIN
	IF NOT (names->>'deferred')::boolean THEN
		settings := settings || ' SET enable_hashagg = off SET enable_seqscan = off SET jit = off SET row_security = off';
	ELSIF NOT EXISTS (
		SELECT FROM pg_depend LEFT JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
		WHERE objid IN (to_regprocedure(format('%s(%s)', names->>'facts', names->>'row')),
						(SELECT indexrelid FROM pg_index WHERE indrelid = to_regclass(names->>'pending')))
			AND (atttypid >= 16384 OR refclassid <> ALL ('{pg_class,pg_namespace,pg_collation}'::regclass[])
				 AND refobjid <> ALL (SELECT t FROM pg_type, unnest(ARRAY[oid, typbasetype]) AS t WHERE oid = row_type))) THEN
		settings := '';
	END IF;
	FOR event IN SELECT jsonb_array_elements_text(names->'events') LOOP
		EXECUTE @extschema@._roaring64_rollup_fill('CREATE {replace} FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql '
			'SECURITY DEFINER {settings} AS {body}; REVOKE ALL ON FUNCTION {function}() FROM PUBLIC; '
			'COMMENT ON FUNCTION {function}() IS {part}', names || jsonb_build_object(
				'replace', replace, 'function', names->event, 'settings', settings,
				'body', quote_literal(E'\n-- made by roaring64_rollup_create; see docs/rollups.md'
									  || @extschema@._roaring64_rollup_body(event, names, copying))));
	END LOOP;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_follow(jsonb, boolean, text) IS 'creates the functions of a rollup''s triggers';

-- Creates the triggers on the source, or on a table like it.
CREATE FUNCTION _roaring64_rollup_attach(place text, names jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE (
		SELECT string_agg(@extschema@._roaring64_rollup_fill(
			'CREATE TRIGGER {trigger} {event} ON {place} {kind} WHEN ({condition}) EXECUTE FUNCTION {function}()',
			names || jsonb_build_object('trigger', quote_ident(names->>'name' || suffix), 'event', event, 'place', place,
				'kind', kind, 'function', names->func, 'condition', CASE suffix WHEN '_rollup' THEN 'false'
					ELSE (names->>'target_text') || '::pg_catalog.regclass IS NOT NULL' END)), '; ')
		FROM (VALUES
			('_insert', 'insert', 'AFTER INSERT OR UPDATE', 'FOR EACH ROW', true),
			('_rollup', 'insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS roaring64_new FOR EACH ROW', false),
			('_insert', 'insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS roaring64_new FOR EACH STATEMENT', false),
			('_update', 'update', 'AFTER UPDATE',
			 'REFERENCING OLD TABLE AS roaring64_old NEW TABLE AS roaring64_new FOR EACH STATEMENT', false),
			('_delete', 'delete', 'AFTER DELETE', 'REFERENCING OLD TABLE AS roaring64_old FOR EACH STATEMENT', false),
			('_truncate', 'truncate', 'BEFORE TRUNCATE', 'FOR EACH STATEMENT', false))
			AS t (suffix, func, event, kind, by_row)
		WHERE by_row = (names->>'partitioned')::boolean AND names->'events' ? func);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_attach(text, jsonb) IS 'creates the triggers of a rollup';

-- Runs the triggers once, with a row of the source if there is one, and takes it back: what
-- cannot run is refused while nothing is there.  A row that nothing can be done to shows as
-- much.  A partition's row is of a type of its own, so there it is the statement that is run.
CREATE FUNCTION _roaring64_rollup_try(names jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
DECLARE
	copy text := (SELECT format('pg_temp.%I', relname) FROM pg_class WHERE oid = (names->>'source')::regclass);
BEGIN
	EXECUTE @extschema@._roaring64_rollup_fill(
		'CREATE TABLE {copy} AS SELECT * FROM {source} LIMIT 1; '
		'INSERT INTO {copy} SELECT (NULL::{source}).* WHERE NOT EXISTS (SELECT FROM {copy}); '
		'SELECT f FROM {copy} AS r, {facts}(ROW(r.*)::{row}) AS f', names || jsonb_build_object('copy', copy));
	IF NOT (names->>'partitioned')::boolean THEN
		PERFORM @extschema@._roaring64_rollup_attach(copy, names);
		EXECUTE format('INSERT INTO %s SELECT * FROM %1$s', copy);
	END IF;
	RAISE SQLSTATE 'R6400';
EXCEPTION
	WHEN SQLSTATE 'R6400' THEN NULL;
	WHEN lock_not_available OR deadlock_detected OR serialization_failure THEN
		RAISE;
	WHEN OTHERS THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('cannot make a rollup of %s: its triggers fail with "%s"', names->>'source', SQLERRM),
			HINT = 'They run as the owner of the table, and with search_path = pg_catalog, pg_temp.';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_try(jsonb) IS 'runs the triggers of a rollup once';
