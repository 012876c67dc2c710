--
-- What prevents a rollup, and what its owner should know: everything at once,
-- each with a remedy.  Before it is known that the caller owns the table,
-- nothing is locked and nothing is done to it.  Of what the caller gives nothing
-- is executed.  The arguments but for the sets are one jsonb.
--

CREATE FUNCTION _roaring64_rollup_check(source regclass, target name, options jsonb, sets json, path text)
RETURNS TABLE (refused boolean, reason text, remedy text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class;
	members oid[];
	key_columns name[] := ARRAY(SELECT coalesce(k, 'NULL') FROM jsonb_array_elements_text(options->'key_columns') AS k);
	id_column name := options->>'id_column';
	period_column name := options->>'period_column';
	period text := options->>'period';
	deletes text := options->>'deletes';
	follows boolean := deletes = 'follow';
	plain name[] := key_columns || id_column;
	named name[];
	used name[];
	complete boolean := false;
	sound boolean;
	set_name text;
	set_condition json;
	text_condition text;
	condition_columns name[];
	distributed boolean;
BEGIN
	IF source IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'a rollup needs a source';
	END IF;
	SELECT * INTO STRICT c FROM pg_class WHERE oid = source;
	IF NOT pg_has_role(c.relowner, 'USAGE') THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('must be owner of table %s', c.relname),
			HINT = 'Call it as the owner of the table or as a member of that role.';
	END IF;
	members := ARRAY(SELECT source::oid UNION
					 SELECT relid::oid FROM pg_partition_tree(source));

	--
	-- The table
	--
	RETURN QUERY SELECT true, v.reason, v.remedy
	FROM (VALUES
		(c.relkind NOT IN ('r', 'p'), 'it is not a table',
		 'Name the table that the rows are in.'),
		(c.relpersistence = 't', 'it is a temporary table',
		 'Name an ordinary table.'),
		(c.relpersistence = 'u', 'it is unlogged: after a crash it would be empty, but the sets would not',
		 format('ALTER TABLE %s SET LOGGED.', source)),
		(c.relispartition, 'it is a partition',
		 format('Name the whole table, %s.', pg_partition_root(source))),
		(NOT c.relispartition AND c.relkind = 'r' AND EXISTS (
			SELECT FROM pg_inherits WHERE source IN (inhrelid, inhparent)),
		 'it has parents or children by inheritance',
		 'Make it a partitioned table, or ALTER TABLE ... NO INHERIT.'))
		AS v (holds, reason, remedy)
	WHERE v.holds;
	IF c.relkind NOT IN ('r', 'p') THEN
		RETURN;
	END IF;
	RETURN QUERY SELECT true,
		format('partition %s is %s', p.oid::regclass,
			   CASE p.relkind WHEN 'f' THEN 'a foreign table' ELSE 'unlogged' END),
		CASE p.relkind WHEN 'f' THEN 'Detach it, or make the rollup on the server where its rows are.'
			ELSE format('ALTER TABLE %s SET LOGGED.', p.oid::regclass) END
	FROM pg_class AS p
	WHERE p.oid = ANY (members) AND p.oid <> source
		AND (p.relkind = 'f' OR p.relpersistence = 'u');
	IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition
				 WHERE logicalrelid::oid = ANY ($1))' INTO distributed USING members;
		RETURN QUERY SELECT true, 'it is distributed by Citus, which does not fire the triggers',
			'Fill the sets with INSERT ... SELECT ... GROUP BY ... ON CONFLICT (key) DO UPDATE SET s = t.s | excluded.s.'
		WHERE distributed;
	END IF;
	RETURN QUERY SELECT true, 'a subscription writes to it, and triggers do not fire for that',
		'Make the rollup on the publisher, and publish the target.'
	WHERE EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = ANY (members));

	RETURN QUERY SELECT true, 'its policies hold for its owner too, so the sets might not get all rows',
		format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.', source)
	WHERE c.relrowsecurity AND c.relforcerowsecurity AND NOT EXISTS (
		SELECT FROM pg_roles WHERE oid = c.relowner AND (rolsuper OR rolbypassrls));
	RETURN QUERY SELECT false, format('partition %s has its columns in another order than %s', m.oid, source),
		'Write to it through the whole table. What names the partition is refused.'
	FROM (SELECT unnest(members)::regclass) AS m (oid)
	WHERE @extschema@._roaring64_rollup_columns(m.oid) <> @extschema@._roaring64_rollup_columns(source);

	--
	-- Its columns
	--
	RETURN QUERY SELECT true, v.reason, v.remedy
	FROM (VALUES
		(cardinality(key_columns) = 0 AND period_column IS NULL, 'there are no key columns',
		 'Name them: key_columns => ''{user_id}'', or a period column.'),
		(id_column IS NULL, 'there is no id column',
		 'Name it: id_column => ''message_id''.'),
		(period_column IS NULL AND period IS NOT NULL, 'there is a period but no period column',
		 'Name it: period_column => ''created_at''.'),
		(period NOT IN ('day', 'week', 'month', 'quarter', 'year'), format('unknown period %L', period),
		 'Use day, week, month, quarter or year.'),
		(deletes NOT IN ('follow', 'refuse', 'keep'), format('deletes cannot be %L', deletes),
		 'Use follow, refuse or keep.'),
		(follows AND (options->>'deferred')::boolean, 'what goes cannot be followed if it is deferred',
		 'Use deletes => refuse or keep, or do not defer.'))
		AS v (holds, reason, remedy)
	WHERE v.holds;
	named := array_remove(plain || period_column, NULL);
	RETURN QUERY SELECT true, format('column %I is named more than once', n),
		'A column can be part of the key, the id, or the period.'
	FROM unnest(named) AS n GROUP BY n HAVING count(*) > 1;
	RETURN QUERY SELECT true, format('there is no column %I', n),
		'Its columns are: ' || (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
								FROM pg_attribute
								WHERE attrelid = source AND attnum > 0 AND NOT attisdropped) || '.'
	FROM unnest(named) AS n
	WHERE NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = source AND attname = n
					  AND attnum > 0 AND NOT attisdropped);
	sound := NOT FOUND AND num_nonnulls(VARIADIC key_columns || period_column) > 0 AND id_column IS NOT NULL;
	RETURN QUERY SELECT true, format('column %I may be null, and a unique index of PostgreSQL 14 takes nulls as different', a.attname),
		format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL, after handling the rows that have nulls.',
			   source, a.attname)
	FROM pg_attribute AS a
	WHERE a.attrelid = source AND a.attname = ANY (key_columns || period_column) AND NOT a.attnotnull
		AND a.attnum > 0 AND current_setting('server_version_num')::integer < 150000;
	RETURN QUERY SELECT true, format('column %I is of type %s', a.attname, format_type(a.atttypid, a.atttypmod)),
		'Ids must be smallint, integer or bigint. For another type, create a table that assigns a number to each value.'
	FROM pg_attribute AS a
	WHERE a.attrelid = source AND a.attname = id_column AND a.attnum > 0
		AND a.atttypid <> ALL (ARRAY['smallint', 'integer', 'bigint']::regtype[]);
	RETURN QUERY SELECT true, format('column %I is of type %s', a.attname, format_type(a.atttypid, a.atttypmod)),
		'The period column must be a date, timestamp or timestamptz.'
	FROM pg_attribute AS a
	WHERE a.attrelid = source AND a.attname = period_column AND a.attnum > 0
		AND a.atttypid <> ALL (ARRAY['date', 'timestamp', 'timestamptz']::regtype[]);
	RETURN QUERY SELECT true, format('column %I is a virtual generated column', a.attname),
		'Triggers do not see it: make it STORED.'
	FROM pg_attribute AS a
	WHERE a.attrelid = source AND a.attname = ANY (named) AND a.attgenerated = 'v';
	IF sound THEN
		BEGIN
			EXECUTE format('CREATE TEMPORARY TABLE _roaring64_probe AS SELECT %s FROM %s WITH NO DATA',
						   @extschema@._roaring64_rollup_list('%2$I', array_remove(key_columns || period_column, NULL)), source);
			EXECUTE format('CREATE UNIQUE INDEX ON pg_temp._roaring64_probe (%s)',
						   @extschema@._roaring64_rollup_list('%2$I', array_remove(key_columns || period_column, NULL)));
			DROP TABLE pg_temp._roaring64_probe;
		EXCEPTION WHEN lock_not_available OR read_only_sql_transaction THEN
			RAISE;
		WHEN OTHERS THEN
			RETURN QUERY SELECT true, format('the key columns cannot be a primary key: %s', SQLERRM),
				'Choose columns of types with a btree operator class.';
		END;
		-- to follow what goes, the rows of an id are looked up
		RETURN QUERY SELECT true, 'no index finds the rows of a key and an id',
			format('CREATE INDEX %sON %s (%s), or use deletes => refuse or keep, for which none is needed.',
				   CASE c.relkind WHEN 'r' THEN 'CONCURRENTLY ' END, source,
				   @extschema@._roaring64_rollup_list('%2$I', plain))
		WHERE follows AND NOT EXISTS (
			SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
			WHERE indrelid = source AND indisvalid AND indpred IS NULL AND attname = ANY (plain));
	END IF;

	--
	-- The sets
	--
	IF sets IS NULL OR json_typeof(sets) <> 'object' OR sets::jsonb = '{}' THEN
		RETURN QUERY SELECT true, 'there are no sets',
			'Give each a name and a condition: sets => ''{"pushed": true, "read": "is_read"}''.';
		sets := '{}';
	END IF;
	RETURN QUERY SELECT true, format('the target cannot have a column %I twice', n),
		'Give the set another name.'
	FROM (SELECT unnest(key_columns || period_column)::text UNION ALL
		  SELECT key FROM json_each(sets)) AS names (n)
	WHERE n IS NOT NULL GROUP BY n HAVING count(*) > 1;
	used := named;
	FOR set_name, set_condition IN SELECT * FROM json_each(sets) LOOP
		RETURN QUERY SELECT true, format('a set cannot be called %L', set_name), 'A name has 1 to 63 bytes, and is not a system column''s.'
		WHERE octet_length(set_name) NOT BETWEEN 1 AND 63
			OR EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'pg_class'::regclass AND attnum < 0 AND attname = set_name);
		IF json_typeof(set_condition) NOT IN ('string', 'boolean') THEN
			RETURN QUERY SELECT true, format('the condition of set %I is neither true nor text', set_name),
				'Use a boolean column or an SQL condition.';
		ELSIF sound THEN
			BEGIN
				text_condition := set_condition #>> '{}';
				SELECT expression, columns INTO text_condition, condition_columns
				FROM @extschema@._roaring64_rollup_condition(source, id_column, text_condition, path);
				complete := complete OR text_condition = 'true';
				used := used || condition_columns;
			EXCEPTION WHEN lock_not_available OR read_only_sql_transaction THEN
				RAISE;
			WHEN OTHERS THEN
				RETURN QUERY SELECT true, format('set %I cannot have the condition %s: %s', set_name,
												 set_condition #>> '{}', SQLERRM),
					'A condition must be what CREATE INDEX accepts: immutable, and about the row alone.';
			END;
		END IF;
	END LOOP;

	--
	-- Names and privileges
	--
	RETURN QUERY SELECT true, format('%s already exists', pg_describe_object(v.class, v.oid, 0)),
		'Choose another name for the target, or drop or rename it.'
	FROM unnest(ARRAY['', '_rollup', '_rows', '_row', '_tables', '_parts', '_keys', '_pending', '_now', '_facts', '_follow']) AS suffix,
		LATERAL @extschema@._roaring64_rollup_name(target, suffix) AS n,
		LATERAL (SELECT 'pg_class'::regclass, oid FROM pg_class
				 WHERE relnamespace = c.relnamespace AND relname = n AND suffix NOT IN ('_follow', '_facts')
				 UNION ALL
				 SELECT 'pg_type'::regclass, oid FROM pg_type
				 WHERE typnamespace = c.relnamespace AND typname = n AND suffix NOT IN ('_follow', '_facts')
					 AND typrelid = 0 AND typcategory <> 'A'
				 UNION ALL
				 SELECT 'pg_proc'::regclass, oid FROM pg_proc
				 WHERE pronamespace = c.relnamespace AND proname = n
					 AND suffix IN ('_follow', '_facts')) AS v (class, oid);
	RETURN QUERY SELECT true, 'the target has no name', 'Give it one.'
	WHERE coalesce(target, '') = '';
	RETURN QUERY SELECT true,
		format('its owner %I lacks the privilege to %s', pg_get_userbyid(c.relowner), v.what),
		format('GRANT %s TO %I.', v.granted, pg_get_userbyid(c.relowner))
	FROM pg_extension AS x, LATERAL (VALUES
		(has_schema_privilege(c.relowner, c.relnamespace, 'CREATE'), 'create in its schema',
		 format('CREATE ON SCHEMA %s', c.relnamespace::regnamespace)),
		(has_schema_privilege(c.relowner, x.extnamespace, 'USAGE'), 'use the schema of the extension',
		 format('USAGE ON SCHEMA %s', x.extnamespace::regnamespace))) AS v (held, what, granted)
	WHERE x.extname = 'roaring64' AND NOT v.held;

	--
	-- Notes, which prevent nothing
	--
	RETURN QUERY SELECT false,
		'these columns are not in the target: ' || string_agg(quote_ident(attname), ', ' ORDER BY attnum),
		'Save what you need of them before you drop the table.'
	FROM pg_attribute
	WHERE attrelid = source AND attnum > 0 AND NOT attisdropped AND attname <> ALL (used)
	HAVING count(*) > 0;
	RETURN QUERY SELECT false, format('only the %2$s of %1$I is kept', period_column, coalesce(period, 'month')),
		'It is computed in UTC.'
	WHERE period_column IS NOT NULL;
	RETURN QUERY SELECT false, 'no set contains every row, so rows in none of the sets are lost',
		'Add a set with the condition true if that matters.'
	WHERE NOT complete;
	RETURN QUERY SELECT false, 'these keep using the table: ' || string_agg(DISTINCT
			pg_describe_object(coalesce(view, classid), coalesce(ev_class, objid), 0), ', '),
		'Change them to use the sets before you drop the table.'
	FROM pg_depend AS d
		LEFT JOIN (SELECT r.oid, r.ev_class, 'pg_class'::regclass::oid AS view FROM pg_rewrite AS r WHERE r.rulename = '_RETURN') AS r
		ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
	WHERE d.deptype = 'n'
		-- not what goes with it, nor what another rollup has: a function, its argument's type, a view
		AND NOT EXISTS (SELECT FROM pg_depend AS o WHERE (o.classid, o.objid, o.refclassid, o.refobjid) = (d.classid, d.objid, 'pg_class'::regclass, source) AND o.deptype IN ('a', 'i'))
		AND NOT EXISTS (SELECT FROM pg_proc WHERE pronamespace = c.relnamespace AND proargnames[1] = 'source_row' AND (d.objid IN (oid, proargtypes[0])
						OR proname = (SELECT regexp_replace(relname, '_rows$', '_facts') FROM pg_class WHERE oid = r.ev_class)))
		AND ((d.refclassid = 'pg_class'::regclass AND d.refobjid = source)
			 OR (d.refclassid = 'pg_type'::regclass AND d.refobjid = c.reltype))
	HAVING count(*) > 0;
	RETURN QUERY SELECT false, 'the target does not have: ' || string_agg(what, ', ' ORDER BY what),
		'Add what it needs before readers and writers move.'
	FROM (SELECT pg_describe_object(d.classid, d.objid, 0)
		  FROM pg_depend AS d
		  WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = source
			  AND (d.classid IN ('pg_trigger'::regclass, 'pg_policy'::regclass, 'pg_rewrite'::regclass,
								 'pg_publication_rel'::regclass)
				   OR EXISTS (SELECT FROM pg_constraint WHERE d.classid = 'pg_constraint'::regclass
							  AND oid = d.objid AND conrelid = source AND contype IN ('f', 'c', 'x')))
			  AND d.deptype IN ('a', 'n')
			  AND NOT EXISTS (SELECT FROM pg_trigger WHERE d.classid = 'pg_trigger'::regclass
							  AND oid = d.objid AND (tgisinternal OR (SELECT prosrc ~ 'made by roaring64_rollup' FROM pg_proc WHERE oid = tgfoid)))
			  AND NOT EXISTS (SELECT FROM pg_rewrite WHERE d.classid = 'pg_rewrite'::regclass
							  AND oid = d.objid AND ev_class <> source)
		  UNION
		  SELECT 'row security' WHERE c.relrowsecurity
		  UNION
		  SELECT 'privileges' WHERE c.relacl IS NOT NULL
			  OR EXISTS (SELECT FROM pg_attribute WHERE attrelid = source AND attacl IS NOT NULL)) AS o (what)
	HAVING count(*) > 0;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_check(regclass, name, jsonb, json, text) IS
'what prevents a rollup, and what its owner should know';

-- Reports it: what prevents it as one error, or as a warning in a dry run, and
-- the rest as a notice.
CREATE FUNCTION _roaring64_rollup_tell(source regclass, target name, options jsonb, sets json, path text,
									   dry_run boolean)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	refused text;
	noted text;
BEGIN
	SELECT string_agg(format('- %s. %s', c.reason, c.remedy), E'\n') FILTER (WHERE c.refused),
		string_agg(format('- %s. %s', c.reason, c.remedy), E'\n') FILTER (WHERE NOT c.refused)
	INTO refused, noted
	FROM @extschema@._roaring64_rollup_check(source, target, options, sets, path) AS c;
	IF noted IS NOT NULL THEN
		RAISE NOTICE USING MESSAGE = format('notes on the rollup of %s', source), DETAIL = noted;
	END IF;
	IF refused IS NULL THEN
		IF dry_run THEN
			RAISE NOTICE 'a rollup of % can be made', source;
		END IF;
	ELSIF dry_run THEN
		RAISE WARNING USING MESSAGE = format('cannot make a rollup of %s', source), DETAIL = refused;
	ELSE
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('cannot make a rollup of %s', source), DETAIL = refused;
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_tell(regclass, name, jsonb, json, text, boolean) IS
'reports what prevents a rollup, and what its owner should know';
