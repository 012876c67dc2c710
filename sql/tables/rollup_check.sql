--
-- What prevents a rollup, and what its owner should know: everything at once,
-- each with a remedy.  Before it is known that the caller owns the table,
-- nothing is locked and nothing is done to it.  Of what the caller gives nothing
-- is executed.  The arguments but for the sets are one jsonb.
--

-- The table
CREATE FUNCTION _roaring64_rollup_check_table(source regclass, options jsonb)
RETURNS TABLE (refused boolean, reason text, remedy text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class := (SELECT c FROM pg_class AS c WHERE oid = source);
	members oid[] := ARRAY(SELECT source::oid UNION SELECT relid::oid FROM pg_partition_tree(source));
	distributed boolean;
BEGIN
	RETURN QUERY SELECT true, v.reason, v.remedy
	FROM (VALUES
		(c.relkind NOT IN ('r', 'p'), 'it is not a table', 'Name the table that the rows are in.'),
		(c.relpersistence = 't', 'it is a temporary table', 'Name an ordinary table.'),
		(to_regclass(format('pg_temp.%I', c.relname)) <> source, 'this session has a temporary table of the same name',
		 'Drop it, or use another session.'),
		(c.relpersistence = 'u', 'it is unlogged: after a crash it would be empty, but the sets would not',
		 format('ALTER TABLE %s SET LOGGED.', source)),
		(c.relispartition, 'it is a partition', format('Name the whole table, %s.', pg_partition_root(source))),
		(NOT c.relispartition AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE source IN (inhrelid, inhparent)),
		 'it has parents or children by inheritance', 'Make it a partitioned table, or ALTER TABLE ... NO INHERIT.'),
		(c.relkind = 'p' AND NOT (options @> '{"deferred": true, "deletes": "keep"}'),
		 'it is partitioned, and partitions come and go with rows that no trigger sees',
		 'Use deferred => true, deletes => ''keep'': then folds add what came, and the sets remember what went.'),
		(c.relrowsecurity AND c.relforcerowsecurity
		 AND NOT EXISTS (SELECT FROM pg_roles WHERE oid = c.relowner AND (rolsuper OR rolbypassrls)),
		 'its policies hold for its owner too, so the sets might not get all rows',
		 format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.', source)),
		(EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = ANY (members)),
		 'a subscription writes to it, and triggers do not fire for that',
		 'Make the rollup on the publisher, and publish the target.'))
		AS v (holds, reason, remedy)
	WHERE v.holds;
	RETURN QUERY SELECT true, format('partition %s is a foreign table', p.oid::regclass),
		'Detach it, or make the rollup on the server where its rows are.'
	FROM pg_class AS p WHERE p.oid = ANY (members) AND p.oid <> source AND p.relkind = 'f';
	IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition
				 WHERE logicalrelid::oid = ANY ($1))' INTO distributed USING members;
		RETURN QUERY SELECT true, 'it is distributed by Citus, which does not fire the triggers',
			'Fill the sets with INSERT ... SELECT ... GROUP BY ... ON CONFLICT (key) DO UPDATE SET s = t.s | excluded.s.'
		WHERE distributed;
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_check_table(regclass, jsonb) IS 'what prevents a rollup of a table';

-- Its columns
CREATE FUNCTION _roaring64_rollup_check_columns(source regclass, options jsonb)
RETURNS TABLE (refused boolean, reason text, remedy text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	id_column name := options->>'id_column';
	period_column name := options->>'period_column';
	key_columns name[] := array_remove(ARRAY(
		SELECT coalesce(k, 'NULL') FROM jsonb_array_elements_text(options->'key_columns') AS k) || period_column, NULL);
	named name[] := array_remove(key_columns || id_column, NULL);
	follows boolean := options->>'deletes' = 'follow';
BEGIN
	RETURN QUERY SELECT true, v.reason, v.remedy
	FROM (VALUES
		(key_columns = '{}', 'there are no key columns', 'Name them: key_columns => ''{user_id}'', or a period column.'),
		(id_column IS NULL, 'there is no id column', 'Name it: id_column => ''message_id''.'),
		(period_column IS NULL AND options ? 'period', 'there is a period but no period column',
		 'Name it: period_column => ''created_at''.'),
		(options->>'deletes' NOT IN ('follow', 'refuse', 'keep'), format('deletes cannot be %L', options->>'deletes'),
		 'Use follow, refuse or keep.'),
		(follows AND (options->>'deferred')::boolean, 'what goes cannot be followed if it is deferred',
		 'Use deletes => refuse or keep, or do not defer.'))
		AS v (holds, reason, remedy)
	WHERE v.holds;
	RETURN QUERY SELECT true, format('column %I is named more than once', n),
		'A column can be part of the key, the id, or the period.'
	FROM unnest(named) AS n GROUP BY n HAVING count(*) > 1;
	RETURN QUERY SELECT true, format('there is no column %I', n),
		'Its columns are: ' || (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
								WHERE attrelid = source AND attnum > 0 AND NOT attisdropped) || '.'
	FROM unnest(named) AS n
	WHERE NOT EXISTS (SELECT FROM pg_attribute
					  WHERE attrelid = source AND attname = n AND attnum > 0 AND NOT attisdropped);
	IF FOUND OR id_column IS NULL OR key_columns = '{}'
		OR cardinality(named) > (SELECT count(DISTINCT n) FROM unnest(named) AS n) THEN
		RETURN;
	END IF;
	RETURN QUERY SELECT true, format(v.reason, a.attname, format_type(a.atttypid, a.atttypmod)), v.remedy
	FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid, LATERAL (VALUES
		(NOT attnotnull AND attname = ANY (key_columns) AND current_setting('server_version_num')::integer < 150000,
		 'column %I may be null, and a unique index of PostgreSQL 14 takes nulls as different',
		 format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL, after handling the rows that have nulls.', source, attname)),
		(NOT attnotnull AND attname = ANY (key_columns)
		 AND EXISTS (SELECT FROM pg_type WHERE oid IN (t.oid, t.typbasetype) AND typtype = 'c'),
		 'column %I is of type %s and may be null, which a row of nulls is not, though IS NULL says so',
		 format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL.', source, attname)),
		(attname = id_column AND atttypid <> ALL ('{smallint,integer,bigint}'::regtype[]), 'column %I is of type %s',
		 'Ids must be smallint, integer or bigint. For another type, create a table that assigns a number to each value.'),
		(attname = period_column AND atttypid <> ALL ('{date,timestamp,timestamptz}'::regtype[]), 'column %I is of type %s',
		 'The period column must be a date, timestamp or timestamptz.'),
		(attname = period_column AND atttypid = ANY ('{date,timestamp,timestamptz}'::regtype[])
		 AND @extschema@._roaring64_rollup_period(options->>'period', attname, atttypid) IS NULL,
		 format('column %%I of type %%s has no period %L', options->>'period'),
		 'Use day, week, month, quarter or year or, of a timestamp, what divides a day: hour, minute, ''15 minutes''.'),
		(attgenerated = 'v' AND attname = ANY (named), 'column %I is a virtual generated column',
		 'Triggers do not see it: make it STORED.'))
		AS v (holds, reason, remedy)
	WHERE a.attrelid = source AND a.attnum > 0 AND v.holds
	ORDER BY a.attnum;
	BEGIN
		EXECUTE format('CREATE TEMPORARY TABLE _roaring64_probe AS SELECT %s FROM %s WITH NO DATA',
					   (SELECT string_agg(quote_ident(k), ', ') FROM unnest(key_columns) AS k), source);
		EXECUTE format('CREATE UNIQUE INDEX ON pg_temp._roaring64_probe (%s)',
					   (SELECT string_agg(quote_ident(k), ', ') FROM unnest(key_columns) AS k));
		DROP TABLE pg_temp._roaring64_probe;
	EXCEPTION WHEN lock_not_available OR read_only_sql_transaction THEN
		RAISE;
	WHEN OTHERS THEN
		RETURN QUERY SELECT true, format('the key columns cannot be a primary key: %s', SQLERRM),
			'Choose columns of types with a btree operator class.';
	END;
	-- to follow what goes, the rows of an id are looked up
	named := array_remove(named, period_column);
	RETURN QUERY SELECT true, 'no index finds the rows of a key and an id',
		format('CREATE INDEX CONCURRENTLY ON %s (%s), or use deletes => refuse or keep, for which none is needed.', source,
			   (SELECT string_agg(quote_ident(n), ', ' ORDER BY i) FROM unnest(named) WITH ORDINALITY AS n (n, i)))
	WHERE follows AND (SELECT relkind FROM pg_class WHERE oid = source) = 'r' AND NOT EXISTS (
		SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
		WHERE indrelid = source AND indisvalid AND indpred IS NULL AND attname = ANY (named));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_check_columns(regclass, jsonb) IS 'what prevents a rollup by some columns';

-- The condition of each set, as one reads it, the columns that it uses, or what is wrong.
CREATE FUNCTION _roaring64_rollup_conditions(source regclass, id_column name, sets json, path text)
RETURNS TABLE (set_name text, expression text, columns name[], problem text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given json;
BEGIN
	FOR set_name, given IN SELECT * FROM json_each(CASE json_typeof(sets) WHEN 'object' THEN sets END) LOOP
		expression := NULL;
		columns := NULL;
		problem := NULL;
		BEGIN
			IF json_typeof(given) NOT IN ('string', 'boolean') THEN
				RAISE invalid_parameter_value USING MESSAGE = 'it is neither true nor text';
			END IF;
			SELECT c.expression, c.columns INTO expression, columns
			FROM @extschema@._roaring64_rollup_condition(source, id_column, given #>> '{}', path) AS c;
		EXCEPTION WHEN lock_not_available OR read_only_sql_transaction THEN
			RAISE;
		WHEN OTHERS THEN
			problem := format('set %I cannot have the condition %s: %s', set_name, given #>> '{}', SQLERRM);
		END;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_conditions(regclass, name, json, text) IS 'conditions of the sets of a rollup';

-- All of it: the table, the columns, then the sets, names and privileges, and notes that
-- prevent nothing.
CREATE FUNCTION _roaring64_rollup_check(source regclass, target name, options jsonb, sets json, path text)
RETURNS TABLE (refused boolean, reason text, remedy text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class := (SELECT c FROM pg_class AS c WHERE oid = source);
	named text[] := ARRAY(SELECT jsonb_array_elements_text(options->'key_columns')) || (options->>'period_column');
	conditions jsonb;
BEGIN
	IF source IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'a rollup needs a source';
	ELSIF NOT pg_has_role(c.relowner, 'USAGE') THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('must be owner of table %s', c.relname),
			HINT = 'Call it as the owner of the table or as a member of that role.';
	END IF;
	RETURN QUERY SELECT * FROM @extschema@._roaring64_rollup_check_table(source, options);
	IF c.relkind NOT IN ('r', 'p') THEN
		RETURN;
	END IF;
	RETURN QUERY SELECT * FROM @extschema@._roaring64_rollup_check_columns(source, options);
	SELECT coalesce(jsonb_agg(s), '[]') INTO conditions
	FROM @extschema@._roaring64_rollup_conditions(source, options->>'id_column', sets, path) AS s;
	RETURN QUERY SELECT true, v.reason, v.remedy
	FROM (
		SELECT s->>'problem', 'A condition must be what CREATE INDEX accepts: immutable, and about the row alone.'
		FROM jsonb_array_elements(conditions) AS s
		WHERE EXISTS (SELECT FROM pg_attribute WHERE attrelid = source AND attname = options->>'id_column')
			AND coalesce(to_regclass(format('pg_temp.%I', c.relname)), source) = source
		UNION ALL
		SELECT 'there are no sets', 'Give each a name and a condition: sets => ''{"pushed": true, "read": "is_read"}''.'
		WHERE conditions = '[]'
		UNION ALL
		SELECT format('the target cannot have a column %I twice', n), 'Give the set another name.'
		FROM (SELECT unnest(named) UNION ALL SELECT s->>'set_name' FROM jsonb_array_elements(conditions) AS s) AS names (n)
		WHERE n IS NOT NULL GROUP BY n HAVING count(*) > 1
		UNION ALL
		SELECT format('a set cannot be called %L', n), 'A name has 1 to 63 bytes, and is not a system column''s.'
		FROM jsonb_array_elements(conditions) AS s, LATERAL (SELECT s->>'set_name') AS names (n)
		WHERE octet_length(n) NOT BETWEEN 1 AND 63 OR n IN (
			SELECT attname FROM pg_attribute WHERE attrelid = 'pg_class'::regclass AND attnum < 0)
		UNION ALL
		SELECT format('the target cannot be called %L', target),
			'A name has 1 to 54 bytes: what belongs to it has longer ones.'
		WHERE octet_length(coalesce(target, '')) NOT BETWEEN 1 AND 54
		UNION ALL
		SELECT format('%s already exists', pg_describe_object(o.class, o.oid, 0)),
			'Choose another name for the target, or drop or rename it.'
		FROM unnest(ARRAY['', '_rollup', '_rows', '_row', '_tables', '_parts', '_keys', '_pending', '_now', '_facts',
						  '_insert', '_update', '_delete', '_truncate']) AS suffix,
			LATERAL (SELECT 'pg_class'::regclass, oid, relname FROM pg_class WHERE relnamespace = c.relnamespace
					 UNION ALL SELECT 'pg_type', oid, typname FROM pg_type
					 WHERE typnamespace = c.relnamespace AND typrelid = 0 AND typcategory <> 'A'
					 UNION ALL SELECT 'pg_proc', oid, proname FROM pg_proc
					 WHERE pronamespace = c.relnamespace) AS o (class, oid, name)
		WHERE o.name = target || suffix
			AND (o.class = 'pg_proc'::regclass) = (suffix ~ '_(facts|insert|update|delete|truncate)$')
		UNION ALL
		SELECT format('its owner %I lacks the privilege to %s', pg_get_userbyid(c.relowner), p.what),
			format('GRANT %s TO %I.', p.granted, pg_get_userbyid(c.relowner))
		FROM pg_extension AS x, LATERAL (VALUES
			(has_schema_privilege(c.relowner, c.relnamespace, 'CREATE'), 'create in its schema',
			 format('CREATE ON SCHEMA %s', c.relnamespace::regnamespace)),
			(has_schema_privilege(c.relowner, x.extnamespace, 'USAGE'), 'use the schema of the extension',
			 format('USAGE ON SCHEMA %s', x.extnamespace::regnamespace))) AS p (held, what, granted)
		WHERE x.extname = 'roaring64' AND NOT p.held) AS v (reason, remedy)
	WHERE v.reason IS NOT NULL;
	RETURN QUERY SELECT false, v.reason, v.remedy
	FROM (
		SELECT 'these columns are not in the target: ' || string_agg(quote_ident(attname), ', ' ORDER BY attnum),
			'If the table is to go one day, save what you need of them.'
		FROM pg_attribute
		WHERE attrelid = source AND attnum > 0 AND NOT attisdropped AND attname <> ALL (
			array_remove(named || (options->>'id_column'), NULL)) AND NOT EXISTS (
			SELECT FROM jsonb_array_elements(conditions) AS s WHERE s->'columns' ? attname)
		UNION ALL
		SELECT format('only the %s of %I is kept', CASE WHEN options->>'period' ~ 'hour|minute|second' THEN
			'start of each ' ELSE '' END || (options->>'period'), options->>'period_column'), 'It is computed in UTC.'
		WHERE options ? 'period_column'
		UNION ALL
		SELECT 'no set contains every row, so rows in none of the sets are lost',
			'Add a set with the condition true if that matters.'
		WHERE conditions <> '[]' AND NOT conditions @> '[{"expression": "true"}]') AS v (reason, remedy)
	WHERE v.reason IS NOT NULL;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_check(regclass, name, jsonb, json, text) IS
'what prevents a rollup, and what its owner should know';
