--
-- What prevents a migration, and what it would lose: everything at once, each
-- with a remedy.  Before it is known that the caller owns the table, nothing is
-- locked and nothing is done to it.
--

CREATE FUNCTION roaring64_migrate_check(source regclass, target name,
										key_columns name[], id_column name,
										sets json,
										period_column name DEFAULT NULL,
										period text DEFAULT NULL,
										path text DEFAULT current_setting('search_path'))
RETURNS TABLE (refused boolean, reason text, remedy text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ext name := (SELECT nspname FROM pg_extension
				 JOIN pg_namespace AS n ON n.oid = extnamespace
				 WHERE extname = 'roaring64');
	c pg_class;
	members oid[];
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
	PERFORM set_config('search_path', format('pg_catalog, %I, pg_temp', ext), true);
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
		 'Migrate the table that the rows are in.'),
		(c.relnamespace = 'pg_catalog'::regnamespace, 'it is a system table',
		 'Migrate a table of your own.'),
		(c.relpersistence = 't', 'it is a temporary table',
		 'Migrate an ordinary table.'),
		(c.relpersistence = 'u', 'it is unlogged: after a crash it would be empty, but the sets would not',
		 format('ALTER TABLE %s SET LOGGED.', source)),
		(c.relispartition, 'it is a partition',
		 format('Migrate the whole table, %s.', pg_partition_root(source))),
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
		CASE p.relkind WHEN 'f' THEN 'Detach it, or migrate on the server where its rows are.'
			ELSE format('ALTER TABLE %s SET LOGGED.', p.oid::regclass) END
	FROM pg_class AS p
	WHERE p.oid = ANY (members) AND p.oid <> source
		AND (p.relkind = 'f' OR p.relpersistence = 'u');
	IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition
				 WHERE logicalrelid::oid = ANY ($1))' INTO distributed USING members;
		RETURN QUERY SELECT true, 'it is distributed by Citus, which does not fire the triggers',
			'Fill the sets with INSERT ... SELECT roaring64_agg(...) ... GROUP BY while nobody writes to the table.'
		WHERE distributed;
	END IF;
	RETURN QUERY SELECT true, 'a subscription writes to it, and triggers do not fire for that',
		'Migrate on the publisher, and publish the target.'
	WHERE EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = ANY (members));

	--
	-- Its columns
	--
	RETURN QUERY SELECT true, v.reason, v.remedy
	FROM (VALUES
		(coalesce(cardinality(key_columns), 0) = 0, 'there are no key columns',
		 'Name them: key_columns => ''{user_id}''.'),
		(id_column IS NULL, 'there is no id column',
		 'Name it: id_column => ''message_id''.'),
		(period_column IS NULL AND period IS NOT NULL, 'there is a period but no period column',
		 'Name it: period_column => ''created_at''.'),
		(period NOT IN ('day', 'week', 'month', 'quarter', 'year'), format('unknown period %L', period),
		 'Use day, week, month, quarter or year.'))
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
	sound := NOT FOUND AND cardinality(key_columns) > 0 AND id_column IS NOT NULL;
	RETURN QUERY SELECT true, format('column %I may be null', a.attname),
		format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL, after handling the rows that have nulls.',
			   source, a.attname)
	FROM pg_attribute AS a
	WHERE a.attrelid = source AND a.attname = ANY (named) AND NOT a.attnotnull AND a.attnum > 0;
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
			EXECUTE format('CREATE TEMPORARY TABLE roaring64_probe AS SELECT %s FROM %s WITH NO DATA',
						   roaring64_migrate_list('%2$I', key_columns), source);
			EXECUTE format('ALTER TABLE pg_temp.roaring64_probe ADD PRIMARY KEY (%s)',
						   roaring64_migrate_list('%2$I', key_columns));
			DROP TABLE pg_temp.roaring64_probe;
		EXCEPTION WHEN OTHERS THEN
			RETURN QUERY SELECT true, format('the key columns cannot be a primary key: %s', SQLERRM),
				'Choose columns of types with a btree operator class.';
		END;
		-- how the rows of an id are found
		RETURN QUERY SELECT true, 'no index finds the rows of a key and an id',
			format('CREATE UNIQUE INDEX CONCURRENTLY ON %s (%s).', source,
				   roaring64_migrate_list('%2$I', plain))
		WHERE NOT EXISTS (
			SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
			WHERE indrelid = source AND indisvalid AND indpred IS NULL AND attname = ANY (plain));
		RETURN QUERY SELECT false,
			format('several rows may have the same %s, because no unique index prevents it; a set contains each id once',
				   roaring64_migrate_list('%2$I', plain)),
			'An id is removed from a set with the last of its rows. Each deletion looks for other rows.'
		WHERE NOT roaring64_migrate_is_unique(source, plain);
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
		RETURN QUERY SELECT true, format('a set cannot be called %L', set_name), 'A name has 1 to 63 bytes.'
		WHERE octet_length(set_name) NOT BETWEEN 1 AND 63;
		IF json_typeof(set_condition) NOT IN ('string', 'boolean') THEN
			RETURN QUERY SELECT true, format('the condition of set %I is neither true nor text', set_name),
				'Use a boolean column or an SQL condition.';
		ELSIF sound THEN
			BEGIN
				text_condition := set_condition #>> '{}';
				SELECT expression, columns INTO text_condition, condition_columns
				FROM roaring64_migrate_condition(source, id_column, text_condition, path);
				complete := complete OR text_condition = 'true';
				used := used || condition_columns;
			EXCEPTION WHEN OTHERS THEN
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
	FROM unnest(ARRAY['', '_migration', '_tables', '_parts', '_keys', '_follow']) AS suffix,
		LATERAL roaring64_migrate_name(target, suffix) AS n,
		LATERAL (SELECT 'pg_class'::regclass, oid FROM pg_class
				 WHERE relnamespace = c.relnamespace AND relname = n AND suffix <> '_follow'
				 UNION ALL
				 SELECT 'pg_type'::regclass, oid FROM pg_type
				 WHERE typnamespace = c.relnamespace AND typname = n AND suffix <> '_follow'
					 AND typrelid = 0 AND typcategory <> 'A'
				 UNION ALL
				 SELECT 'pg_proc'::regclass, oid FROM pg_proc
				 WHERE pronamespace = c.relnamespace AND proname = n AND suffix = '_follow'
					 AND pronargs = 0) AS v (class, oid);
	RETURN QUERY SELECT true, 'the target has no name', 'Give it one.'
	WHERE coalesce(target, '') = '';
	RETURN QUERY SELECT true,
		format('its owner %I lacks the privilege to %s', pg_get_userbyid(c.relowner), v.what),
		format('GRANT %s TO %I.', v.granted, pg_get_userbyid(c.relowner))
	FROM (VALUES
		(has_schema_privilege(c.relowner, c.relnamespace, 'CREATE'), 'create in its schema',
		 format('CREATE ON SCHEMA %s', c.relnamespace::regnamespace)),
		(has_schema_privilege(c.relowner, ext::text, 'USAGE'), 'use the schema of the extension',
		 format('USAGE ON SCHEMA %I', ext))) AS v (held, what, granted)
	WHERE NOT v.held;

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
		LEFT JOIN (SELECT r.oid, r.ev_class, 'pg_class'::regclass::oid AS view FROM pg_rewrite AS r
				   WHERE r.rulename = '_RETURN') AS r
		ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
	WHERE d.deptype = 'n'
		AND NOT EXISTS (SELECT FROM pg_constraint WHERE d.classid = 'pg_constraint'::regclass
						AND oid = d.objid AND conrelid = source)
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
							  AND oid = d.objid AND tgisinternal)
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
COMMENT ON FUNCTION roaring64_migrate_check(regclass, name, name[], name, json, name, text, text) IS
'what prevents a migration, and what it would lose';
