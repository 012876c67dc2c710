--
-- What prevents a rollup though the server would make it: everything at once, each with a
-- remedy.  Before it is known that the caller owns the table, nothing is locked and
-- nothing is done to it.  The arguments but for the sets are one jsonb.
--

-- The table
CREATE FUNCTION _roaring64_rollup_check_table(source regclass, options jsonb)
RETURNS TABLE (reason text, remedy text) LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class := (SELECT c FROM pg_class AS c WHERE oid = source);
	members oid[] := ARRAY(SELECT source::oid UNION SELECT relid::oid FROM pg_partition_tree(source));
	distributed boolean := false;
BEGIN
	IF pg_has_role(c.relowner, 'USAGE') IS NOT TRUE THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('must be owner of table %s', coalesce(c.relname::text, source::text)),
			HINT = 'Call it as the owner of the table or as a member of that role.';
	END IF;
	IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition
				 WHERE logicalrelid::oid = ANY ($1))' INTO distributed USING members;
	END IF;
	RETURN QUERY SELECT v.reason, v.remedy
	FROM (VALUES
		(c.relkind NOT IN ('r', 'p'), 'it is not a table', 'Name the table that the rows are in.'),
		(c.relpersistence <> 'p', 'after a crash it would be empty, but the sets would not',
		 'Name a table that is neither temporary nor unlogged.'),
		(NOT has_database_privilege(current_database(), 'TEMPORARY')
		 OR NOT has_database_privilege(c.relowner, current_database(), 'TEMPORARY'),
		 'the owner of the table or you lack the privilege TEMPORARY, which the trial of a rollup needs',
		 'GRANT TEMPORARY ON DATABASE ... to both.'),
		(to_regclass(format('pg_temp.%I', c.relname)) <> source, 'this session has a temporary table of the same name',
		 'Drop it, or use another session.'),
		(c.relispartition, 'it is a partition', 'Name the whole table.'),
		(NOT c.relispartition AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE source IN (inhrelid, inhparent)),
		 'it has parents or children by inheritance', 'Make it a partitioned table, or ALTER TABLE ... NO INHERIT.'),
		(c.relkind = 'p' AND NOT (options @> '{"deferred": true, "deletes": "keep"}'),
		 'it is partitioned, and partitions come and go with rows that no trigger sees',
		 'Use deferred => true, deletes => ''keep'': then folds add what came, and the sets remember what went.'),
		(EXISTS (SELECT FROM pg_class WHERE oid = ANY (members) AND relkind = 'f'), 'a partition is a foreign table',
		 'Detach it, or make the rollup on the server where its rows are.'),
		(EXISTS (SELECT FROM pg_class WHERE oid = ANY (members) AND relowner <> c.relowner), 'a partition has another owner',
		 'ALTER TABLE ... OWNER TO the owner of the whole table.'),
		(EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = ANY (members)),
		 'a subscription writes to it, and triggers do not fire for that',
		 'Make the rollup on the publisher, and publish the target.'),
		(distributed, 'it is distributed by Citus, which does not fire the triggers',
		 'Fill the sets with INSERT ... SELECT ... GROUP BY ... ON CONFLICT (key) DO UPDATE SET s = t.s | excluded.s.'))
		AS v (holds, reason, remedy) WHERE v.holds;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_check_table(regclass, jsonb) IS 'what prevents a rollup of a table';

-- The names, and the columns
CREATE FUNCTION _roaring64_rollup_check_columns(source regclass, target name, options jsonb, sets json)
RETURNS TABLE (reason text, remedy text) LANGUAGE sql STABLE PARALLEL RESTRICTED COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH given AS (
		SELECT options->>'id_column' AS id_column, options->>'period_column' AS period_column, options->>'deletes' AS deletes,
			ARRAY(SELECT jsonb_array_elements_text(options->'key_columns')) AS keys,
			ARRAY(SELECT json_object_keys(sets)) AS set_names)
	SELECT v.reason, v.remedy
	FROM given AS g, LATERAL (VALUES
		(keys = '{}' AND period_column IS NULL OR array_position(keys, NULL) IS NOT NULL, 'there are no key columns',
		 'Name them: key_columns => ''{user_id}'', or a period column.'),
		(id_column IS NULL, 'there is no id column', 'Name it: id_column => ''message_id''.'),
		(period_column IS NULL AND options ? 'period', 'there is a period but no period column',
		 'Name it: period_column => ''created_at''.'),
		(deletes NOT IN ('follow', 'refuse', 'keep'), format('deletes cannot be %L', deletes),
		 'Use follow, refuse or keep.'),
		(deletes = 'follow' AND (options->>'deferred')::boolean, 'what goes cannot be followed if it is deferred',
		 'Use deletes => refuse or keep, or do not defer.'),
		(set_names = '{}', 'there are no sets',
		 'Give each a name and a condition: sets => ''{"pushed": true, "read": "is_read"}''.'),
		((SELECT max(octet_length(n)) FROM unnest(set_names) AS n) > 63, 'the name of a set is too long',
		 'A name has at most 63 bytes.'),
		(octet_length(target) NOT BETWEEN 1 AND 54, format('the target cannot be called %L', target),
		 'A name has 1 to 54 bytes: what belongs to it has longer ones.'),
		-- to follow what goes, the rows of an id are looked up
		(deletes = 'follow' AND (SELECT relkind FROM pg_class WHERE oid = source) = 'r' AND NOT EXISTS (
			SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
			WHERE indrelid = source AND indisvalid AND indpred IS NULL AND attname = ANY (keys || id_column)),
		 'no index finds the rows of a key and an id',
		 format('CREATE INDEX CONCURRENTLY ON %s (%s), or use deletes => refuse or keep, for which none is needed.', source,
				(SELECT string_agg(quote_ident(n), ', ' ORDER BY i) FROM unnest(keys || id_column) WITH ORDINALITY AS k (n, i)))))
		AS v (holds, reason, remedy) WHERE v.holds
	UNION ALL
	(SELECT format(v.reason, a.attname, format_type(a.atttypid, a.atttypmod)), v.remedy
	FROM given AS g, pg_attribute AS a, LATERAL (VALUES
		(NOT attnotnull AND attname = ANY (keys || period_column)
		 AND current_setting('server_version_num')::integer < 150000,
		 'column %I may be null, and a unique index of PostgreSQL 14 takes nulls as different', 'Make it NOT NULL.'),
		(NOT attnotnull AND attname = ANY (keys)
		 AND (SELECT typtype FROM pg_type WHERE oid = @extschema@._roaring64_dict_base_type(atttypid)) = 'c',
		 'column %I is of type %s and may be null, which a row of nulls is not, though IS NULL says so', 'Make it NOT NULL.'),
		(attname = id_column AND atttypid <> ALL ('{smallint,integer,bigint}'::regtype[]), 'column %I is of type %s',
		 'Ids must be smallint, integer or bigint. For another type, create a table that assigns a number to each value.'),
		(attname = period_column AND @extschema@._roaring64_rollup_period(
			options->>'period', attname, @extschema@._roaring64_dict_base_type(atttypid)) IS NULL,
		 format('column %%I of type %%s has no period %L', options->>'period'), 'Of a date, timestamp or timestamptz, use '
		 'day, week, month, quarter or year or, of a timestamp, what divides a day: hour, minute, ''15 minutes''.'),
		(attgenerated = 'v' AND attname = ANY (keys || id_column || period_column), 'column %I is a virtual generated column',
		 'Triggers do not see it: make it STORED.'))
		AS v (holds, reason, remedy)
	WHERE a.attrelid = source AND a.attnum > 0 AND v.holds
	ORDER BY a.attnum)
$$;
COMMENT ON FUNCTION _roaring64_rollup_check_columns(regclass, name, jsonb, json) IS 'what prevents it by its arguments';
