/*-------------------------------------------------------------------------
 *
 * header.sql
 *	  Helpers that keep sets in tables: delayed messages, numbers, dictionaries,
 *	  rollups, and what there is of them all.
 *
 * An extension beside roaring64, whose library, type and functions it uses.  Put
 * together by the Makefile from sql/tables/, a file a section; what the header of
 * sql/parts/ says of names, schemas and COST holds here, too.  Of the internal
 * functions of roaring64 it uses only those that sql/parts/shared.sql has or names.
 *
 * @extschema@ is where this extension is, and stands for where roaring64 is as
 * well: to 15, PostgreSQL has no other name for that.  So both are in one schema.
 *
 * sql/tables/header.sql
 *
 *-------------------------------------------------------------------------
 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION roaring64_tables" to load this file. \quit

DO $$
DECLARE
	home pg_catalog.text := (
		SELECT pg_catalog.quote_ident(n.nspname)
		FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'roaring64');
BEGIN
	IF home OPERATOR(pg_catalog.<>) pg_catalog.quote_ident(pg_catalog.current_schema()) THEN
		RAISE invalid_schema_name USING
			MESSAGE = 'roaring64_tables must be in the schema of roaring64',
			DETAIL = pg_catalog.format('The extension roaring64 is in schema %s.', home),
			HINT = pg_catalog.format('CREATE EXTENSION roaring64_tables SCHEMA %s', home);
	END IF;
END $$;

--
-- The list of all tables of helpers.
--

-- Whether the caller may read a table, and trusts the owners of it, of its partitions and of
-- their schemas.  A query of a table can execute what they have attached, if only to plan it:
-- functions of policies, and of conditions of indexes; and the owner of a schema can put
-- another table there.  A superuser, who can act as anybody, trusts superusers only.
CREATE FUNCTION _roaring64_may_look(named regclass)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE parts (oid) AS (
		SELECT named::oid UNION SELECT inhrelid FROM pg_inherits, parts WHERE inhparent = parts.oid)
	SELECT has_table_privilege(named, 'SELECT')
		AND bool_and((o.rolsuper OR NOT me.rolsuper AND pg_has_role(o.oid, 'USAGE'))
					 AND (s.rolsuper OR NOT me.rolsuper AND pg_has_role(s.oid, 'USAGE')))
	FROM parts, pg_class AS c, pg_namespace AS n, pg_database AS d, pg_roles AS o, pg_roles AS s, pg_roles AS me
	WHERE c.oid = parts.oid AND n.oid = c.relnamespace AND d.datname = current_database() AND o.oid = c.relowner
		AND s.oid = CASE n.nspowner WHEN 'pg_database_owner'::regrole THEN d.datdba ELSE n.nspowner END
		AND me.rolname = current_user
$$;
COMMENT ON FUNCTION _roaring64_may_look(regclass) IS
'whether the caller may read a table and trusts its owners';

-- Whether Citus has the rows of a table, on whichever node.
CREATE FUNCTION _roaring64_helpers_distributed(named regclass)
RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	distributed boolean := false;
BEGIN
	IF to_regclass('pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = $1)' INTO distributed USING named;
	END IF;
	RETURN distributed;
END $$;
COMMENT ON FUNCTION _roaring64_helpers_distributed(regclass) IS
'whether a table is distributed by Citus';

CREATE FUNCTION _roaring64_helpers_bytes(VARIADIC tables regclass[])
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	part regclass;
	size bigint;
	bytes bigint;
BEGIN
	FOR part IN SELECT unnest(tables) UNION SELECT relid FROM unnest(tables) AS t (oid), pg_partition_tree(t.oid) LOOP
		EXECUTE format('SELECT %s($1)', CASE WHEN @extschema@._roaring64_helpers_distributed(part)
					   THEN 'citus_total_relation_size' ELSE 'pg_total_relation_size' END) INTO size USING part;
		bytes := coalesce(bytes + size, bytes, size);
	END LOOP;
	RETURN bytes;
END $$;
COMMENT ON FUNCTION _roaring64_helpers_bytes(regclass[]) IS
'bytes on disk of tables and their partitions';

-- The tables are recognised by their columns and constraints, so nothing has to be
-- kept in step with a rename, a dump or DROP TABLE.  A kind of table is a row of
-- VALUES: what it has; the query that gives the names of its other tables, which
-- are in its schema; and the query that gives what waits, and since when, in the
-- first of these or, if it has no others, in itself.
CREATE FUNCTION _roaring64_helpers_tables(OUT kind text, OUT name regclass, OUT schema regnamespace,
										 OUT others text, OUT waits text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
	WITH have (oid, features) AS (
		SELECT f.oid, array_agg(feature)
		FROM (SELECT attrelid, attname || ' ' || format_type(atttypid, NULL)
			FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped
			UNION ALL
			SELECT conrelid, 'constraint ' || conname FROM pg_constraint) AS f (oid, feature)
		GROUP BY f.oid)
	SELECT k.kind, c.oid::regclass, c.relnamespace::regnamespace, k.others, k.waits
	FROM (VALUES
		('dedup',
		 ARRAY['claims text', 'chunks text', 'windows text', 'id_type text'],
		 'SELECT ARRAY[claims, chunks, windows] FROM ONLY %s',
		 'SELECT count(*), min(claimed_at) FROM %s'),
		('delay',
		 ARRAY['bucket timestamp with time zone', 'group_id bigint', 'ids ' || '@extschema@.roaring64'::regtype,
			'constraint bucket_width'],
		 NULL,
		 'SELECT coalesce(sum(@extschema@.roaring64_cardinality(ids)), 0), min(bucket) FROM %s WHERE bucket <= now()'),
		('numbers',
		 ARRAY['key text', 'weight bigint', 'ids ' || '@extschema@.roaring64'::regtype],
		 NULL,
		 NULL),
		('dictionary',
		 ARRAY['code bigint', 'constraint codes_from_1'],
		 NULL,
		 NULL),
		-- the table that says how far it is, NAME_rollup; NAME is the second of the others
		('rollup',
		 ARRAY['given json', 'meaning text[]', 'copied jsonb'],
		 $q$SELECT ARRAY[(SELECT relname FROM pg_class AS p WHERE relnamespace = s.relnamespace AND relowner = s.relowner
						  AND relname = n || '_pending'), n]
			FROM pg_class AS s, regexp_replace(relname, '_rollup$', '') AS n WHERE oid = $1$q$,
		 'SELECT count(*), NULL FROM %s'))
		AS k (kind, features, others, waits)
		JOIN have AS h ON h.features @> k.features
		JOIN pg_class AS c ON c.oid = h.oid
	WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT pg_is_other_temp_schema(c.relnamespace)
	ORDER BY k.kind, c.oid::regclass::text
$$;
COMMENT ON FUNCTION _roaring64_helpers_tables() IS
'the tables of helpers, and how to look into them';

-- The caller names no table, so only those are looked into whose owner it trusts.
CREATE FUNCTION roaring64_helpers(OUT kind text, OUT name regclass, OUT size bigint,
								  OUT waiting bigint, OUT since timestamptz)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET lock_timeout = '100ms'
AS $$
DECLARE
	made record;
	names text[];
	tables regclass[];
BEGIN
	FOR made IN SELECT * FROM @extschema@._roaring64_helpers_tables() LOOP
		kind := made.kind;
		name := made.name;
		size := NULL;
		waiting := NULL;
		since := NULL;
		-- one table that is not what it seems, or goes now, does not hide the others
		BEGIN
			names := '{}';
			-- of a rollup, that is a query of the catalog
			IF made.others IS NOT NULL AND (kind = 'rollup' OR @extschema@._roaring64_may_look(name)) THEN
				EXECUTE format(made.others, name) INTO STRICT names USING name;
			END IF;
			tables := ARRAY(SELECT to_regclass(made.schema || '.' || quote_ident(n))
							FROM unnest(names) WITH ORDINALITY AS t (n, i) ORDER BY i) || name;
			size := @extschema@._roaring64_helpers_bytes(VARIADIC tables);
			IF @extschema@._roaring64_may_look(name) AND @extschema@._roaring64_may_look(tables[1])
				AND made.waits IS NOT NULL THEN
				EXECUTE format(made.waits, tables[1]) INTO waiting, since;
			END IF;
			IF kind = 'rollup' THEN
				name := coalesce(tables[2], name);
			END IF;
		EXCEPTION WHEN OTHERS THEN
			RAISE WARNING 'could not look into "%": %', name, sqlerrm;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
COMMENT ON FUNCTION roaring64_helpers() IS
'all dedup sets, tables of delayed messages, tables of numbers, rollups and dictionaries, and what waits in them';

--
-- Delayed messages.  A message is two bigints, a group and an id in it, and has a
-- due time.  Their table has a row for each bucket of time and group, with the set
-- of the ids that are due in that bucket:
--
--		bucket timestamptz, group_id bigint, ids roaring64,
--		PRIMARY KEY (bucket, group_id)
--
-- A bucket is named by its first moment, at which all of it becomes due.  So a
-- message may be delivered early, by less than the width of a bucket, but never
-- late.  No row has an empty set.
--
-- The width of the buckets is in a constraint of the table, CHECK (bucket =
-- date_bin(width, bucket, ...)), which keeps any other row out.  Unlike a
-- setting elsewhere, it is renamed, dumped, copied and replicated with the
-- table.
--
-- The caller names the table, so each call plans its statements, which are
-- formatted once, with the table; all else is a parameter.  Functions that lock
-- several rows do so in the order of the key, so they do not deadlock.
--

CREATE FUNCTION _roaring64_delay_make(made text, width interval)
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- refuses a width that is not positive, or has months
	IF date_bin(width, '2000-01-01 00:00:00+00', '2000-01-01 00:00:00+00') IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'width of the buckets must not be null';
	END IF;
	EXECUTE format($sql$
		CREATE TABLE %s (
			bucket timestamp with time zone NOT NULL,
			group_id bigint NOT NULL,
			ids @extschema@.roaring64 NOT NULL,
			PRIMARY KEY (bucket, group_id),
			CONSTRAINT bucket_width CHECK (bucket OPERATOR(pg_catalog.=)
				pg_catalog.date_bin(%L, bucket, '2000-01-01 00:00:00+00')))
		$sql$, made, width);
	RETURN made;
END $$;
COMMENT ON FUNCTION _roaring64_delay_make(text, interval) IS
'makes a table of delayed messages';

CREATE FUNCTION roaring64_delay_create(name text, width interval DEFAULT '1 second')
RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000
BEGIN ATOMIC
	SELECT _roaring64_delay_make(_roaring64_new_table($1, pg_catalog.current_schema()), $2);
END;
COMMENT ON FUNCTION roaring64_delay_create(text, interval) IS
'creates a table of delayed messages with time buckets of that width';

-- The other functions call this first.
CREATE FUNCTION _roaring64_delay_width(delay regclass)
RETURNS interval
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval := (SELECT substring(pg_get_expr(conbin, conrelid) FROM $re$date_bin"?\('([^']+)'$re$)
					   FROM pg_constraint WHERE conrelid = delay AND conname = 'bucket_width');
BEGIN
	PERFORM @extschema@._roaring64_not_null('table of delayed messages', num_nulls(delay));
	IF width IS NULL OR @extschema@._roaring64_has_children(delay) THEN
		RAISE '"%" is not a table of delayed messages', delay USING
			ERRCODE = 'wrong_object_type',
			DETAIL = 'Such a table has a constraint "bucket_width", which stores the width of the buckets, and no children.',
			HINT = 'Create one with roaring64_delay_create.';
	END IF;
	RETURN width;
END $$;
COMMENT ON FUNCTION _roaring64_delay_width(regclass) IS
'width of the time buckets, or an error if the table has none';

CREATE FUNCTION roaring64_delay_add(delay regclass, group_id bigint, id bigint,
									due timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval := @extschema@._roaring64_delay_width(delay);
	added bigint;
BEGIN
	PERFORM @extschema@._roaring64_not_null('group, id and due time', num_nulls(group_id, id, due));
	EXECUTE format($sql$
		INSERT INTO %s AS t (bucket, group_id, ids)
		VALUES ($1, $2, '{}'::@extschema@.roaring64 OPERATOR(@extschema@.|) $3)
		ON CONFLICT (bucket, group_id) DO UPDATE
		SET ids = t.ids OPERATOR(@extschema@.|) $3
		WHERE NOT t.ids OPERATOR(@extschema@.@>) $3
		$sql$, delay)
	USING date_bin(width, due, '2000-01-01 00:00:00+00'), group_id, id;
	GET DIAGNOSTICS added = ROW_COUNT;
	RETURN added > 0;
END $$;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint, bigint, timestamptz) IS
'adds a message; false if it is already there';

CREATE FUNCTION roaring64_delay_add_many(delay regclass, group_ids bigint[],
										 ids bigint[], due timestamptz[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval;
BEGIN
	PERFORM @extschema@._roaring64_not_null('groups, ids and due times', num_nulls(group_ids, ids, due));
	IF cardinality(group_ids) <> cardinality(ids) OR cardinality(due) <> cardinality(ids) THEN
		RAISE 'arrays must have the same number of elements' USING
			ERRCODE = 'array_subscript_error',
			DETAIL = format('There are %s groups, %s ids and %s due times.',
							cardinality(group_ids), cardinality(ids), cardinality(due));
	END IF;
	IF num_nonnulls(array_position(group_ids, NULL), array_position(ids, NULL), array_position(due, NULL)) > 0 THEN
		RAISE 'groups, ids and due times must not contain nulls' USING
			ERRCODE = 'null_value_not_allowed';
	END IF;
	width := @extschema@._roaring64_delay_width(delay);
	EXECUTE format($sql$
		INSERT INTO %s AS t (bucket, group_id, ids)
		SELECT date_bin($1, m.due, '2000-01-01 00:00:00+00') AS bucket, m.group_id,
			@extschema@.roaring64_agg(m.id)
		FROM unnest($2, $3, $4) AS m (group_id, id, due)
		GROUP BY 1, 2 ORDER BY 1, 2
		ON CONFLICT (bucket, group_id) DO UPDATE
		SET ids = t.ids OPERATOR(@extschema@.|) excluded.ids
		WHERE NOT t.ids OPERATOR(@extschema@.@>) excluded.ids
		$sql$, delay)
	USING width, group_ids, ids, due;
END $$;
COMMENT ON FUNCTION roaring64_delay_add_many(regclass, bigint[], bigint[], timestamptz[]) IS
'adds a message for each position in the arrays';

-- Fetches and locks rows one by one, in the order of delivery, until they have
-- as many messages as are wanted.  Rows that are locked by others are skipped,
-- so concurrent takers get messages of their own without waiting.  A row has at
-- least one message, hence the LIMIT, which keeps the planner from sorting the
-- whole table.
CREATE FUNCTION _roaring64_delay_lock(delay regclass, until timestamptz, n bigint,
									  OUT buckets timestamptz[], OUT group_ids bigint[], OUT parts bigint[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	due refcursor;
	bucket timestamptz;
	group_id bigint;
	size bigint;
	wanted bigint := n;
	i integer := 0;
BEGIN
	OPEN due NO SCROLL FOR EXECUTE format($sql$
		SELECT bucket, group_id, @extschema@.roaring64_cardinality(ids) FROM %s
		WHERE bucket <= $1 ORDER BY bucket, group_id LIMIT $2
		FOR UPDATE SKIP LOCKED
		$sql$, delay) USING until, n;
	WHILE (wanted <> 0) IS NOT FALSE LOOP
		FETCH due INTO bucket, group_id, size;
		EXIT WHEN NOT FOUND;
		i := i + 1;
		buckets[i] := bucket;
		group_ids[i] := group_id;
		parts[i] := CASE WHEN size > wanted THEN wanted END;
		wanted := wanted - least(size, wanted);
	END LOOP;
	CLOSE due;
END $$;
COMMENT ON FUNCTION _roaring64_delay_lock(regclass, timestamptz, bigint) IS
'locks what is due, and says how many messages of a row are wanted if not all';

CREATE FUNCTION roaring64_delay_take(delay regclass,
									 until timestamptz DEFAULT now(),
									 n bigint DEFAULT NULL,
									 OUT bucket timestamptz, OUT group_id bigint,
									 OUT id bigint)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000 ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	buckets timestamptz[];
	group_ids bigint[];
	parts bigint[];
	rows_found integer;
	removed bigint;
	kept bigint := 0;
BEGIN
	PERFORM @extschema@._roaring64_delay_width(delay),
		@extschema@._roaring64_not_null('"until"', num_nulls(until));
	SELECT * INTO buckets, group_ids, parts FROM @extschema@._roaring64_delay_lock(delay, until, n);
	rows_found := cardinality(buckets);
	IF rows_found IS NULL THEN
		RETURN;
	END IF;

	RETURN QUERY EXECUTE format($sql$
		SELECT t.bucket, t.group_id,
			@extschema@.roaring64_elements(coalesce(@extschema@.roaring64_slice(t.ids, 0, r.part), t.ids))
		FROM %s AS t, unnest($1, $2, $3) AS r (bucket, group_id, part)
		WHERE t.bucket = r.bucket AND t.group_id = r.group_id
		ORDER BY t.bucket, t.group_id
		$sql$, delay) USING buckets, group_ids, parts;
	EXECUTE format($sql$
		DELETE FROM %s AS t USING unnest($1, $2, $3) AS r (bucket, group_id, part)
		WHERE t.bucket = r.bucket AND t.group_id = r.group_id AND r.part IS NULL
		$sql$, delay) USING buckets, group_ids, parts;
	GET DIAGNOSTICS removed = ROW_COUNT;
	IF parts[rows_found] IS NOT NULL THEN
		EXECUTE format($sql$
			UPDATE %s AS t SET ids = @extschema@.roaring64_slice(t.ids, $3)
			WHERE t.bucket = $1 AND t.group_id = $2
			$sql$, delay) USING buckets[rows_found], group_ids[rows_found], parts[rows_found];
		GET DIAGNOSTICS kept = ROW_COUNT;
	END IF;
	IF removed + kept <> rows_found THEN
		RAISE 'could not remove messages from "%"', delay USING
			ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'A row-level security policy, a trigger or a rule prevented it.';
	END IF;
END $$;
COMMENT ON FUNCTION roaring64_delay_take(regclass, timestamptz, bigint) IS
'removes and returns the messages that are due, at most n';

-- The row is locked first, and created if there is none.  If the function only
-- waited for a taker that has locked it, it would not see the row that the
-- taker puts in its place.  Without a due time, the buckets that have the message
-- are looked for.
CREATE FUNCTION roaring64_delay_cancel(delay regclass, group_id bigint, id bigint,
									   due timestamptz DEFAULT NULL)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval := @extschema@._roaring64_delay_width(delay);
	buckets timestamptz[] := ARRAY[date_bin(width, due, '2000-01-01 00:00:00+00')];
	bucket timestamptz;
	n bigint;
	cancelled boolean := false;
BEGIN
	PERFORM @extschema@._roaring64_not_null('group and id', num_nulls(group_id, id));
	IF due IS NULL THEN
		EXECUTE format($sql$
			SELECT array_agg(t.bucket ORDER BY t.bucket) FROM %s AS t
			WHERE t.group_id = $1 AND t.ids OPERATOR(@extschema@.@>) $2
			$sql$, delay) INTO buckets USING group_id, id;
	END IF;
	FOREACH bucket IN ARRAY coalesce(buckets, '{}') LOOP
		EXECUTE format($sql$
			INSERT INTO %s AS t (bucket, group_id, ids) VALUES ($1, $2, '{}')
			ON CONFLICT (bucket, group_id) DO UPDATE SET ids = t.ids WHERE false
			$sql$, delay) USING bucket, group_id;
		EXECUTE format($sql$
			UPDATE %s AS t SET ids = t.ids OPERATOR(@extschema@.-) $3
			WHERE t.bucket = $1 AND t.group_id = $2 AND t.ids OPERATOR(@extschema@.@>) $3
			$sql$, delay) USING bucket, group_id, id;
		GET DIAGNOSTICS n = ROW_COUNT;
		cancelled := cancelled OR n > 0;
		EXECUTE format($sql$
			DELETE FROM %s AS t
			WHERE t.bucket = $1 AND t.group_id = $2 AND @extschema@.roaring64_is_empty(t.ids)
			$sql$, delay) USING bucket, group_id;
	END LOOP;
	RETURN cancelled;
END $$;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint, bigint, timestamptz) IS
'removes a message; false if it is not there';

CREATE FUNCTION roaring64_delay_next_due(delay regclass)
RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	due timestamptz;
BEGIN
	PERFORM @extschema@._roaring64_delay_width(delay);
	EXECUTE format('SELECT min(bucket) FROM %s', delay) INTO due;
	RETURN due;
END $$;
COMMENT ON FUNCTION roaring64_delay_next_due(regclass) IS
'when the first message is due';

CREATE FUNCTION roaring64_delay_count(delay regclass,
									  until timestamptz DEFAULT 'infinity')
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	messages bigint;
BEGIN
	PERFORM @extschema@._roaring64_delay_width(delay),
		@extschema@._roaring64_not_null('"until"', num_nulls(until));
	EXECUTE format($sql$
		SELECT coalesce(sum(@extschema@.roaring64_cardinality(ids)), 0)::bigint
		FROM %s WHERE bucket <= $1
		$sql$, delay) INTO messages USING until;
	RETURN messages;
END $$;
COMMENT ON FUNCTION roaring64_delay_count(regclass, timestamptz) IS
'number of messages due by then';

CREATE FUNCTION roaring64_delay_stats(delay regclass,
									  OUT width interval,
									  OUT messages bigint,
									  OUT next_due timestamptz,
									  OUT bytes bigint)
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 1000
BEGIN ATOMIC
	SELECT _roaring64_delay_width($1), roaring64_delay_count($1), roaring64_delay_next_due($1),
		_roaring64_helpers_bytes($1);
END;
COMMENT ON FUNCTION roaring64_delay_stats(regclass) IS
'width of the time buckets, number of messages, when the first is due, and bytes on disk';

CREATE FUNCTION roaring64_delay_drop(delay regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_delay_width(delay);
	EXECUTE format('DROP TABLE %s', delay);
END $$;
COMMENT ON FUNCTION roaring64_delay_drop(regclass) IS
'drops a table of delayed messages';

--
-- Numbers attached to ids.  A table of numbers has, for every key and every power
-- of two, the set of the ids in whose number that power is; together they are
-- known as a bit-sliced index:
--
--		key text, weight bigint, ids roaring64, PRIMARY KEY (key, weight)
--
-- The number of an id is the sum of the weights of the rows that have it.  A
-- weight is 0, in the row of all ids that have a number; or 2^0 to 2^62; or, of
-- negative numbers, -2^0 to -2^63.  So every weight and every number is a bigint,
-- a sum is one of weight * count, and a row says all there is to say of it:
-- nothing depends on how many others there are, as the sign of two's complement
-- does.  No row has an empty set, so equal numbers have equal rows.
--
-- Rows, and not one value of type roaring64[], which is as large: it is fetched and
-- written as a whole.  With 17 bits of two million ids, the number of one id took
-- 11 ms from it and 0.3 ms from rows, and one changed bit wrote 9 MB instead of 0.5.
--
-- Statements are formatted once, with the table; all else is a parameter.  Each
-- names its keys by equality, so that on Citus it goes to their shards.
--

CREATE FUNCTION _roaring64_numbers_make(made text)
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($sql$
		CREATE TABLE %s (
			key text COLLATE "C" NOT NULL,
			weight bigint NOT NULL,
			ids @extschema@.roaring64 NOT NULL,
			PRIMARY KEY (key, weight))
		$sql$, made);
	RETURN made;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_make(text) IS
'makes a table of numbers';

CREATE FUNCTION roaring64_numbers_create(name text)
RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000
BEGIN ATOMIC
	SELECT _roaring64_numbers_make(_roaring64_new_table($1, pg_catalog.current_schema()));
END;
COMMENT ON FUNCTION roaring64_numbers_create(text) IS
'creates a table of numbers';

-- Every other function calls this to check the table, before it names a column.
CREATE FUNCTION _roaring64_numbers_check(numbers regclass)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('table of numbers', num_nulls(numbers));
	IF 3 > (SELECT count(*) FROM pg_attribute AS a, pg_type AS t
			WHERE a.attrelid = numbers AND a.attnum > 0 AND NOT a.attisdropped AND t.oid = a.atttypid
			AND (a.attname, t.typname) IN (('key', 'text'), ('weight', 'int8'), ('ids', 'roaring64')))
		OR @extschema@._roaring64_has_children(numbers) THEN
		RAISE '"%" is not a table of numbers', numbers USING
			ERRCODE = 'wrong_object_type',
			DETAIL = 'A table of numbers has the columns "key" of type text, "weight" of type bigint, '
				'and "ids" of type roaring64, and no children.',
			HINT = 'Create one with roaring64_numbers_create.';
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_check(regclass) IS
'raises an error if it is not a table of numbers';

--
-- Reading
--

CREATE FUNCTION roaring64_numbers_get(numbers regclass, key text, ids bigint[])
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key and ids', num_nulls(key, ids));
	EXECUTE format($sql$
		SELECT array_agg(id) AS ids, array_agg(number) AS numbers
		FROM (SELECT id, sum(weight)::bigint AS number
			FROM (SELECT @extschema@.roaring64_elements(ids OPERATOR(@extschema@.&) $2) AS id, weight
				FROM %s WHERE key = $1) AS parts
			GROUP BY id) AS sums
		$sql$, numbers) INTO found USING key, array_remove(ids, NULL)::@extschema@.roaring64;
	RETURN ARRAY(SELECT f.number FROM unnest(ids) WITH ORDINALITY AS i (id, position)
				 LEFT JOIN unnest(found.ids, found.numbers) AS f (id, number) USING (id)
				 ORDER BY i.position);
END $$;
COMMENT ON FUNCTION roaring64_numbers_get(regclass, text, bigint[]) IS
'for each id its number, NULL if it has none';

-- What counts and sums are made of.  numeric, since a sum may be no bigint; without
-- it, only the set of all ids is read.
CREATE FUNCTION _roaring64_numbers_totals(numbers regclass, key text, among roaring64, with_sum boolean,
										  OUT n bigint, OUT total numeric)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key', num_nulls(key));
	EXECUTE format($sql$
		SELECT coalesce(sum(n) FILTER (WHERE weight = 0), 0), sum(weight * n)
		FROM (SELECT weight, coalesce(@extschema@.roaring64_and_cardinality(ids, $2),
				@extschema@.roaring64_cardinality(ids))::numeric AS n
			FROM %s WHERE key = $1 AND (weight = 0 OR $3)) AS counts
		$sql$, numbers) INTO n, total USING key, among, with_sum;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_totals(regclass, text, roaring64, boolean) IS
'how many ids have a number, and the sum of these';

CREATE FUNCTION roaring64_numbers_count(numbers regclass, key text,
										among roaring64 DEFAULT NULL)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000
RETURN (_roaring64_numbers_totals(numbers, key, among, false)).n;
COMMENT ON FUNCTION roaring64_numbers_count(regclass, text, roaring64) IS
'how many ids have a number: of a set, or all';

CREATE FUNCTION roaring64_numbers_sum(numbers regclass, key text,
									  among roaring64 DEFAULT NULL)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000
BEGIN ATOMIC
	SELECT CASE WHEN n > 0 THEN total END FROM _roaring64_numbers_totals(numbers, key, among, true);
END;
COMMENT ON FUNCTION roaring64_numbers_sum(regclass, text, roaring64) IS
'sum of the numbers of a set of ids, or of all';

CREATE FUNCTION roaring64_numbers_avg(numbers regclass, key text,
									  among roaring64 DEFAULT NULL)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000
BEGIN ATOMIC
	SELECT total / nullif(n, 0) FROM _roaring64_numbers_totals(numbers, key, among, true);
END;
COMMENT ON FUNCTION roaring64_numbers_avg(regclass, text, roaring64) IS
'average of the numbers of a set of ids, or of all';

CREATE FUNCTION _roaring64_and_or_agg_transfn(roaring64, roaring64, boolean)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_or_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_and_or_agg_transfn(roaring64, roaring64, boolean) IS
'aggregate transition function';

-- It depends on the order, so there is nothing to combine.
CREATE AGGREGATE _roaring64_and_or_agg(roaring64, boolean) (
	SFUNC = _roaring64_and_or_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	INITCOND = '{}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE _roaring64_and_or_agg(roaring64, boolean) IS
'starting with the empty set, the intersection with each set whose flag is true '
'and the union with each whose flag is false';

-- Both bounds ask for the ids with at least a number.  For a positive one, those
-- whose magnitude is above it less one among the positive numbers; for another,
-- all but those whose magnitude is above the bound's among the negative ones.
-- Who is above a magnitude is found from the lowest weight to the highest: who has
-- a bit that it lacks is above it, whatever the lower bits are; where it has the
-- bit, it takes the bit and to be above below it.  So nobody is above who is not
-- in a row for each bit that is higher than his: bits that have no row end the
-- walk below them.  There is no set to restrict it to: cutting each slice to one first
-- was 1.2 to 1.5 times as fast for a thousandth of the ids, and took four times as
-- long for a tenth, since bitsets become arrays.
CREATE FUNCTION roaring64_numbers_in_range(numbers regclass, key text, range int8range)
RETURNS roaring64
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lowest bigint := '-9223372036854775808';
	bound bigint;
	magnitude bigint;
	above @extschema@.roaring64;		-- ids whose numbers have a greater magnitude
	up @extschema@.roaring64;			-- ids whose numbers reach the bound
	reach @extschema@.roaring64;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key and range', num_nulls(key, range));
	FOREACH bound IN ARRAY CASE WHEN NOT isempty(range)
		THEN ARRAY[coalesce(lower(range), lowest), upper(range)] ELSE '{}' END
	LOOP
		EXIT WHEN bound IS NULL;
		magnitude := CASE WHEN bound > 0 THEN bound - 1 ELSE -nullif(bound, lowest) END;
		EXECUTE format($sql$
			SELECT @extschema@._roaring64_and_or_agg(ids, (size & $4 <> 0) IS TRUE ORDER BY size)
			FROM (SELECT ids, abs(nullif(weight, $2)) AS size, bit_or(abs(nullif(weight, $2))) OVER () AS sizes
				FROM %s WHERE key = $1 AND CASE WHEN $3 > 0 THEN weight > 0 ELSE weight < 0 AND $3 > $2 END) AS t
			WHERE (size > $4 & ~sizes) IS NOT FALSE
			$sql$, numbers) INTO above USING key, lowest, bound, magnitude;
		IF bound > 0 THEN
			up := above;
		ELSE
			EXECUTE format('SELECT ids OPERATOR(@extschema@.-) $2 FROM %s WHERE key = $1 AND weight = 0', numbers)
			INTO up USING key, above;
		END IF;
		reach := coalesce(reach OPERATOR(@extschema@.-) up, reach, up);
	END LOOP;
	RETURN coalesce(reach, '{}');
END $$;
COMMENT ON FUNCTION roaring64_numbers_in_range(regclass, text, int8range) IS
'the ids with a number in the range';

-- From the highest weight to the lowest: of the ids that are still equal, the better
-- half is in if there is place for all of it; if not, the other half is out.
CREATE FUNCTION roaring64_numbers_top(numbers regclass, key text, n bigint,
									  among roaring64 DEFAULT NULL,
									  lowest boolean DEFAULT false)
RETURNS roaring64
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	best @extschema@.roaring64 := '{}';
	equal @extschema@.roaring64;		-- ids that may be in or not
	better @extschema@.roaring64;
	more bigint;
	slice record;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key, "n" and "lowest"', num_nulls(key, n, lowest));
	EXECUTE format('SELECT coalesce(ids OPERATOR(@extschema@.&) $2, ids) FROM %s WHERE key = $1 AND weight = 0', numbers)
	INTO equal USING key, among;
	FOR slice IN EXECUTE format($sql$
		SELECT (weight > 0) <> $2 AS good, ids FROM %s WHERE key = $1 AND weight <> 0
		ORDER BY (weight > 0) <> $2 DESC, abs(weight::numeric) DESC
		$sql$, numbers) USING key, lowest
	LOOP
		IF slice.good THEN
			better := equal OPERATOR(@extschema@.&) slice.ids;
		ELSE
			better := equal OPERATOR(@extschema@.-) slice.ids;
		END IF;
		more := @extschema@.roaring64_cardinality(better);
		IF more > n THEN
			equal := better;
		ELSIF more > 0 THEN
			best := best OPERATOR(@extschema@.|) better;
			equal := equal OPERATOR(@extschema@.-) better;
			n := n - more;
		END IF;
		EXIT WHEN n = 0;
	END LOOP;
	RETURN best OPERATOR(@extschema@.|) @extschema@.roaring64_slice(coalesce(equal, '{}'), 0, n);
END $$;
COMMENT ON FUNCTION roaring64_numbers_top(regclass, text, bigint, roaring64, boolean) IS
'the n ids with the largest numbers, or the lowest';

--
-- Writing
--

-- Writers of a key come one after the other, as each writes the row of weight 0
-- first; it is written and not only locked, so that a REPEATABLE READ transaction
-- that missed another's rows gets an error, and locked before, so that one gets it too
-- that still sees rows which the key has lost.  A key that has no such row gets one
-- and loses it at once: who inserts it too waits for us just so, and no empty set
-- stays.  A statement a key: one INSERT ... SELECT of several is planned by Citus as
-- one that has no shards, and locks nothing.
CREATE FUNCTION roaring64_numbers_lock(numbers regclass, VARIADIC keys text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key text;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key', coalesce(num_nulls(VARIADIC keys), 1));
	FOR key IN SELECT DISTINCT k COLLATE "C" FROM unnest(keys) AS k ORDER BY 1 LOOP
		EXECUTE format('SELECT 1 FROM %s WHERE key = $1 AND weight = 0 FOR UPDATE', numbers) USING key;
		EXECUTE format($sql$
			INSERT INTO %s AS t (key, weight, ids) VALUES ($1, 0, '{}')
			ON CONFLICT (key, weight) DO UPDATE SET ids = t.ids
			$sql$, numbers) USING key;
		EXECUTE format('DELETE FROM %s WHERE key = $1 AND weight = 0 AND @extschema@.roaring64_is_empty(ids)', numbers)
		USING key;
	END LOOP;
END $$;
COMMENT ON FUNCTION roaring64_numbers_lock(regclass, text[]) IS
'locks the numbers of keys until the transaction ends';

-- What set and add are given: an amount for each id.
CREATE FUNCTION _roaring64_numbers_given(ids bigint[], amounts bigint[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('ids and amounts', num_nulls(ids, amounts));
	IF cardinality(ids) <> cardinality(amounts) THEN
		RAISE 'arrays must have the same number of elements' USING
			ERRCODE = 'array_subscript_error',
			DETAIL = format('There are %s ids and %s amounts.', cardinality(ids), cardinality(amounts));
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_given(bigint[], bigint[]) IS
'raises an error if ids and amounts are not as many';

-- All slices are made in one pass over the ids: an aggregate for each weight that
-- may be needed, with a filter.  What is written can be taken from the rows that
-- were read, as the key is locked; ON CONFLICT has no parameter, which Citus asks.
CREATE FUNCTION roaring64_numbers_set(numbers regclass, key text,
									  ids bigint[], amounts bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given @extschema@.roaring64;
	weights bigint[];
	slices text;
BEGIN
	PERFORM @extschema@._roaring64_numbers_given(ids, amounts);
	given := ids::@extschema@.roaring64;
	IF @extschema@.roaring64_cardinality(given) <> cardinality(ids) THEN
		RAISE 'ids must be distinct' USING
			ERRCODE = 'cardinality_violation',
			HINT = 'To add up several amounts of an id, use roaring64_numbers_add.';
	END IF;
	PERFORM @extschema@.roaring64_numbers_lock(numbers, key);

	SELECT array_agg(weight), string_agg(format('@extschema@.roaring64_agg(id) FILTER (WHERE %s)',
		CASE WHEN weight = 0 THEN 'amount IS NOT NULL' WHEN weight > 0 THEN format('above & %s <> 0', weight)
			WHEN size IS NULL THEN 'amount < 0 AND below IS NULL' ELSE format('below & %s <> 0', size) END), ', ')
	INTO weights, slices
	FROM (SELECT weight, abs(nullif(weight, '-9223372036854775808')) AS size
		FROM (SELECT 0::bigint UNION ALL SELECT sign << bit
			FROM unnest('{1,-1}'::bigint[]) AS sign, generate_series(0, 63) AS bit
			WHERE sign < 0 OR bit < 63) AS w (weight)) AS w,
		(SELECT least(min(a), 0), greatest(max(a), 0) FROM unnest(amounts) AS a) AS ends (least, most)
	WHERE weight BETWEEN least AND most;
	EXECUTE format($sql$
		INSERT INTO %1$s (key, weight, ids)
		SELECT $1, weight, ids
		FROM (SELECT weight, old.ids AS before,
				coalesce(@extschema@.roaring64_or(@extschema@.roaring64_andnot(old.ids, $5), new.ids), new.ids,
						 @extschema@.roaring64_andnot(old.ids, $5)) AS ids
			FROM (SELECT unnest($4) AS weight, unnest(ARRAY[%2$s]) AS ids
				FROM (SELECT id, amount, CASE WHEN amount > 0 THEN amount END AS above,
						CASE WHEN amount < 0 THEN -nullif(amount, '-9223372036854775808') END AS below
					FROM unnest($2, $3) AS n (id, amount)) AS n) AS new
				FULL JOIN (SELECT weight, ids FROM %1$s WHERE key = $1) AS old USING (weight)
			WHERE new.ids IS NOT NULL OR old.ids OPERATOR(@extschema@.&&) $5
			OFFSET 0) AS slices
		WHERE ids OPERATOR(@extschema@.=) before IS NOT TRUE
		ON CONFLICT (key, weight) DO UPDATE SET ids = excluded.ids
		$sql$, numbers, slices) USING key, ids, amounts, weights, given;
	EXECUTE format('DELETE FROM %s WHERE key = $1 AND @extschema@.roaring64_is_empty(ids)', numbers) USING key;
END $$;
COMMENT ON FUNCTION roaring64_numbers_set(regclass, text, bigint[], bigint[]) IS
'sets the number of each id; NULL removes it';

CREATE FUNCTION roaring64_numbers_add(numbers regclass, key text,
									  ids bigint[], amounts bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	sums record;
BEGIN
	PERFORM @extschema@._roaring64_numbers_given(ids, amounts);
	IF array_position(amounts, NULL) IS NOT NULL THEN
		RAISE 'amounts must not contain nulls' USING
			ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM @extschema@.roaring64_numbers_lock(numbers, key);
	EXECUTE format($sql$
		SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(number), '{}') AS numbers
		FROM (SELECT id, sum(amount)::bigint AS number
			FROM (SELECT unnest($2) AS id, unnest($3) AS amount
				UNION ALL
				SELECT @extschema@.roaring64_elements(ids OPERATOR(@extschema@.&) $4), weight FROM %s WHERE key = $1) AS parts
			GROUP BY id) AS sums
		$sql$, numbers) INTO sums USING key, ids, amounts, ids::@extschema@.roaring64;
	PERFORM @extschema@.roaring64_numbers_set(numbers, key, sums.ids, sums.numbers);
END $$;
COMMENT ON FUNCTION roaring64_numbers_add(regclass, text, bigint[], bigint[]) IS
'adds to the number of each id, which is 0 if it has none';

-- Adds the numbers of two keys a bit at a time, in two's complement, where adding needs
-- no cases.  There a number below 0 is its magnitude inverted, and one more, hence a
-- carry for each of the two to begin with; and so is the way back, for which the sign of
-- the sum must be known.  Without it, only that is found, which is the sum's highest
-- bit: ids whose sum is negative.  minus, minus_a and minus_b are ids with a negative
-- number: in the sum, in key, in source.
CREATE FUNCTION _roaring64_numbers_add_up(numbers regclass, key text, source text, bits integer,
										  minus_a roaring64, minus_b roaring64, minus roaring64)
RETURNS roaring64
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	get text := format($sql$
		SELECT coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight = $3), '{}') AS plus_a,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight = $4), '{}') AS minus_a,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $2 AND weight = $3), '{}') AS plus_b,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $2 AND weight = $4), '{}') AS minus_b
		FROM %s WHERE key IN ($1, $2) AND weight IN ($3, $4)
		$sql$, numbers);
	slice record;
	-- ids that have the bit, or carry it to the next
	a @extschema@.roaring64;
	b @extschema@.roaring64;
	half @extschema@.roaring64;
	sum @extschema@.roaring64;
	carry_a @extschema@.roaring64 := minus_a;
	carry_b @extschema@.roaring64 := minus_b;
	carry @extschema@.roaring64 := minus;
BEGIN
	FOR bit IN 0 .. bits - 1 LOOP
		EXECUTE get INTO slice USING key, source, CASE WHEN bit < 63 THEN 1::bigint << bit END, -1::bigint << bit;
		a := @extschema@.roaring64_or(slice.plus_a, @extschema@.roaring64_andnot(minus_a, slice.minus_a));
		b := @extschema@.roaring64_or(slice.plus_b, @extschema@.roaring64_andnot(minus_b, slice.minus_b));
		half := @extschema@.roaring64_xor(a, b);
		sum := @extschema@.roaring64_xor(half, carry_a);
		carry_a := @extschema@.roaring64_or(@extschema@.roaring64_and(a, b), @extschema@.roaring64_and(half, carry_a));
		half := sum;
		sum := @extschema@.roaring64_xor(half, carry_b);
		carry_b := @extschema@.roaring64_and(half, carry_b);
		CONTINUE WHEN minus IS NULL;
		half := @extschema@.roaring64_xor(sum, minus);
		a := @extschema@.roaring64_xor(half, carry);
		carry := @extschema@.roaring64_and(half, carry);
		PERFORM @extschema@._roaring64_numbers_put(numbers, key, 1::bigint << bit, slice.plus_a,
												   @extschema@.roaring64_andnot(a, minus)),
			@extschema@._roaring64_numbers_put(numbers, key, -1::bigint << bit, slice.minus_a,
											   @extschema@.roaring64_and(a, minus));
	END LOOP;
	RETURN sum;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_add_up(regclass, text, text, integer, roaring64, roaring64, roaring64) IS
'adds the numbers of two keys: the ids whose sum is negative';

CREATE FUNCTION _roaring64_numbers_put(numbers regclass, key text, weight bigint, before roaring64, ids roaring64)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF ids OPERATOR(@extschema@.<>) before THEN
		EXECUTE format($sql$
			INSERT INTO %s (key, weight, ids) VALUES ($1, $2, $3)
			ON CONFLICT (key, weight) DO UPDATE SET ids = excluded.ids
			$sql$, numbers) USING key, weight, ids;
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_put(regclass, text, bigint, roaring64, roaring64) IS
'writes a row of a table of numbers, unless it is as it was';

-- The bits are added once for the sign of the sum, unless there are no negative numbers,
-- and once for the sum.  The signs tell an overflow, too.  The sum has two bits more
-- than the largest magnitude, or 64.
CREATE FUNCTION roaring64_numbers_merge(numbers regclass, key text, source text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys record;
	minus @extschema@.roaring64 := '{}';
BEGIN
	PERFORM @extschema@.roaring64_numbers_lock(numbers, key, source);
	EXECUTE format($sql$
		SELECT @extschema@.roaring64_or_agg(ids) FILTER (WHERE weight = 0) AS ids,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight = 0), '{}') AS ids_before,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight < 0), '{}') AS minus_a,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $2 AND weight < 0), '{}') AS minus_b,
			least(coalesce(max(round(log(2, abs(nullif(weight, 0)::numeric))))::integer, 0) + 3, 64) AS bits
		FROM %s WHERE key IN ($1, $2)
		$sql$, numbers) INTO keys USING key, source;
	PERFORM @extschema@._roaring64_numbers_put(numbers, key, 0, keys.ids_before, keys.ids);
	IF NOT @extschema@.roaring64_is_empty(@extschema@.roaring64_or(keys.minus_a, keys.minus_b)) THEN
		minus := @extschema@._roaring64_numbers_add_up(numbers, key, source, keys.bits, keys.minus_a, keys.minus_b, NULL);
	END IF;
	minus := @extschema@._roaring64_numbers_add_up(numbers, key, source, keys.bits, keys.minus_a, keys.minus_b, minus);
	-- of two with the same sign, the sum has it
	IF NOT (@extschema@.roaring64_and(keys.minus_a, keys.minus_b) OPERATOR(@extschema@.<@) minus
			AND minus OPERATOR(@extschema@.<@) @extschema@.roaring64_or(keys.minus_a, keys.minus_b)) THEN
		RAISE 'bigint out of range' USING
			ERRCODE = 'numeric_value_out_of_range';
	END IF;
	EXECUTE format('DELETE FROM %s WHERE key = $1 AND @extschema@.roaring64_is_empty(ids)', numbers) USING key;
END $$;
COMMENT ON FUNCTION roaring64_numbers_merge(regclass, text, text) IS
'adds the numbers of another key to those of a key';

CREATE FUNCTION roaring64_numbers_stats(numbers regclass,
										OUT keys bigint,
										OUT ids bigint,
										OUT bytes bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	EXECUTE format('SELECT count(*), coalesce(sum(@extschema@.roaring64_cardinality(ids)), 0) FROM %s WHERE weight = 0',
				   numbers) INTO keys, ids;
	bytes := @extschema@._roaring64_helpers_bytes(numbers);
END $$;
COMMENT ON FUNCTION roaring64_numbers_stats(regclass) IS
'number of keys, of the ids in them that have a number, and bytes on disk';

CREATE FUNCTION roaring64_numbers_drop(numbers regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	EXECUTE format('DROP TABLE %s', numbers);
END $$;
COMMENT ON FUNCTION roaring64_numbers_drop(regclass) IS
'drops a table of numbers';

--
-- Dictionaries: small numbers for keys that are not integers.  A dictionary is a
-- table with a row for every key and its code:
--
--		key ANY TYPE WITH AN ORDER, PRIMARY KEY,
--		code bigint GENERATED ALWAYS AS IDENTITY, UNIQUE
--
-- Sets hold the codes.  A code comes from the column's sequence, which gives none
-- twice, and stands in one row with its key.  So no key is without a code, and
-- the primary key lets no key have two.  What is missing is known before codes
-- are drawn, so that a batch of known keys draws none.  Codes are lost where a
-- transaction is rolled back, where two sessions add a key at the same moment,
-- and up to 32 where the server crashes.
--
-- The equality of keys is that of the primary key, whatever search_path says: an
-- "=" found by its name would compare citext as text.
--

-- The type under a domain, and under those that it is one over.
CREATE FUNCTION _roaring64_dict_base_type(type regtype)
RETURNS regtype
LANGUAGE sql STABLE PARALLEL SAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE bases (oid, base) AS (
		SELECT oid, typbasetype FROM pg_type WHERE oid = type
		UNION ALL SELECT t.oid, typbasetype FROM bases JOIN pg_type AS t ON t.oid = base)
	SELECT oid FROM bases WHERE base = 0
$$;
COMMENT ON FUNCTION _roaring64_dict_base_type(regtype) IS
'type that a domain is made of; another type is its own';

CREATE FUNCTION _roaring64_dict_make(made text, key_type regtype)
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	base pg_type;
BEGIN
	PERFORM @extschema@._roaring64_not_null('type of keys', num_nulls(key_type));
	SELECT * INTO base FROM pg_type WHERE oid = @extschema@._roaring64_dict_base_type(key_type);
	IF (base.typtype IN ('c', 'p') OR base.typcategory = 'A') IS NOT FALSE THEN
		RAISE 'type % cannot be the key of a dictionary', key_type USING
			ERRCODE = 'feature_not_supported',
			HINT = 'Use a type of single values, such as text, uuid or bytea.';
	ELSIF base.oid = 'bpchar'::regtype THEN
		RAISE 'type % cannot be the key of a dictionary', key_type USING
			ERRCODE = 'feature_not_supported',
			DETAIL = 'Keys that differ in spaces at the end would have one code.',
			HINT = 'Use text.';
	END IF;
	-- text is compared by its bytes: an upgrade may change any other collation
	EXECUTE format($sql$
		CREATE TABLE %s (
			key %s %s PRIMARY KEY,
			code bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
			CONSTRAINT codes_from_1 CHECK (code > 0))
		$sql$, made, format_type(key_type, -1),
		CASE WHEN base.oid IN ('text'::regtype, 'varchar'::regtype) THEN 'COLLATE "C"' END);
	RETURN made;
END $$;
COMMENT ON FUNCTION _roaring64_dict_make(text, regtype) IS
'makes a dictionary';

CREATE FUNCTION roaring64_dict_create(name text, key_type regtype)
RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000
BEGIN ATOMIC
	SELECT _roaring64_dict_make(_roaring64_new_table($1, pg_catalog.current_schema()), $2);
END;
COMMENT ON FUNCTION roaring64_dict_create(text, regtype) IS
'creates a dictionary, which has a code for each key';

-- The type of a dictionary's keys, of arrays of them and their equality, as they are
-- written in a statement.  What is compared must have one collation, that of the
-- column, but a domain may have another.  Every other function calls this first.
CREATE FUNCTION _roaring64_dict_keys(dict regclass, OUT type text, OUT arrays text, OUT equals text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('dictionary', num_nulls(dict));
	SELECT t.name, format('%s[]%s', t.name, ' COLLATE ' || nullif(k.attcollation, 0)::regcollation),
		format('OPERATOR(%I.%s)', s.nspname, o.oprname)
	INTO type, arrays, equals
	FROM pg_index AS i
		JOIN pg_attribute AS k ON k.attrelid = i.indrelid AND k.attnum = i.indkey[0] AND k.attname = 'key'
		JOIN pg_attribute AS c ON c.attrelid = i.indrelid AND c.attname = 'code' AND c.atttypid = 'bigint'::regtype
		JOIN pg_opclass AS p ON p.oid = i.indclass[0]
		JOIN pg_amop AS m ON m.amopfamily = p.opcfamily AND m.amopstrategy = 3
			AND m.amoplefttype = p.opcintype AND m.amoprighttype = p.opcintype
		JOIN pg_operator AS o ON o.oid = m.amopopr
		JOIN pg_namespace AS s ON s.oid = o.oprnamespace,
		format_type(@extschema@._roaring64_dict_base_type(k.atttypid), -1) AS t (name)
	WHERE i.indrelid = dict AND i.indisprimary AND i.indnkeyatts = 1
		AND EXISTS (SELECT FROM pg_constraint WHERE conrelid = dict AND conname = 'codes_from_1');
	IF type IS NULL OR @extschema@._roaring64_has_children(dict) THEN
		RAISE '"%" is not a dictionary', dict USING
			ERRCODE = 'wrong_object_type',
			DETAIL = 'A dictionary has the columns "key", its primary key, and "code" of type bigint, the constraint '
				'"codes_from_1", and no children.',
			HINT = 'Create one with roaring64_dict_create.';
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dict_keys(regclass) IS
'type and equality operator of a dictionary''s keys';

-- Each key is looked up by the primary key, in the order of the keys: a join would
-- read a million rows for a batch of 10,000 keys.
CREATE FUNCTION roaring64_dict_lookup(dict regclass, keys anyarray)
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key record := @extschema@._roaring64_dict_keys(dict);
	given regtype := @extschema@._roaring64_dict_base_type((SELECT typelem FROM pg_type WHERE oid = pg_typeof(keys)));
	wanted regtype := key.type;
	codes bigint[];
BEGIN
	PERFORM @extschema@._roaring64_not_null('keys', num_nulls(keys));
	-- a cast that loses something, or depends on settings, would give two keys one code
	IF given <> wanted
		AND NOT (given = ANY ('{int2,int4,int8}'::regtype[]) AND wanted = ANY ('{int2,int4,int8,numeric}'::regtype[]))
		AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = given AND casttarget = wanted AND castmethod = 'b') THEN
		RAISE 'dictionary "%" takes %[], not %', dict, key.type, pg_typeof(keys) USING
			ERRCODE = 'datatype_mismatch',
			HINT = 'Cast the keys, if that loses nothing.';
	END IF;
	EXECUTE format($sql$
		SELECT coalesce(array_agg((SELECT d.code FROM %2$s AS d WHERE d.key %3$s k.key) ORDER BY k.place), '{}')
		FROM (SELECT * FROM unnest($1::%1$s) WITH ORDINALITY AS k (key, place) ORDER BY key) AS k
		$sql$, key.arrays, dict, key.equals) INTO codes USING keys;
	RETURN codes;
END $$;
COMMENT ON FUNCTION roaring64_dict_lookup(regclass, anyarray) IS
'the code of each key, NULL if it has none';

-- Keys are added in their order, so that batches wait for each other but do not
-- deadlock.  A key that another transaction adds first has its code once that has
-- committed: the next look has a later snapshot, or the INSERT fails where the
-- snapshot is the transaction's.  So a third look finds less than all only if rows
-- are kept out or deleted, and then there would be no end of looking.
CREATE FUNCTION roaring64_dict_encode(dict regclass, keys anyarray)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key record := @extschema@._roaring64_dict_keys(dict);
	unknown bigint := (SELECT count(*) FROM unnest(keys) AS k WHERE k IS NULL);
	codes bigint[];
BEGIN
	FOR look IN 1 .. 3 LOOP
		codes := @extschema@.roaring64_dict_lookup(dict, keys);
		EXIT WHEN cardinality(array_positions(codes, NULL)) = unknown;
		EXECUTE format($sql$
			WITH k AS NOT MATERIALIZED (
				SELECT unnest($1::%1$s) AS key, unnest($2) AS code, generate_series(1, cardinality($2)) AS place),
			added AS (
				INSERT INTO %2$s (key)
				SELECT key FROM k WHERE code IS NULL AND key IS NOT NULL GROUP BY key ORDER BY key
				ON CONFLICT (key) DO NOTHING
				RETURNING key, code)
			SELECT array_agg(coalesce(k.code, a.code) ORDER BY k.place)
			FROM k LEFT JOIN added AS a ON a.key %3$s k.key
			$sql$, key.arrays, dict, key.equals) INTO codes USING keys, codes;
		EXIT WHEN cardinality(array_positions(codes, NULL)) = unknown;
	END LOOP;
	IF cardinality(array_positions(codes, NULL)) = unknown THEN
		RETURN codes;
	END IF;
	RAISE 'keys were not added to dictionary "%"', dict USING
		ERRCODE = 'object_not_in_prerequisite_state',
		HINT = 'A trigger or rule of the table leaves them out, or other sessions delete them.';
END $$;
COMMENT ON FUNCTION roaring64_dict_encode(regclass, anyarray) IS
'the code of each key, which is added if it is new';

CREATE FUNCTION roaring64_dict_decode(dict regclass, codes roaring64, OUT code bigint, OUT key text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000 ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_dict_keys(dict), @extschema@._roaring64_not_null('codes', num_nulls(codes));
	RETURN QUERY EXECUTE format(
		'SELECT code, key::text FROM %s WHERE code OPERATOR(@extschema@.<@) $1 ORDER BY code', dict)
	USING codes;
END $$;
COMMENT ON FUNCTION roaring64_dict_decode(regclass, roaring64) IS
'rows of the codes in a set that have keys, ascending';

CREATE FUNCTION roaring64_dict_stats(dict regclass,
									 OUT keys bigint,
									 OUT last_code bigint,
									 OUT bytes bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_dict_keys(dict);
	EXECUTE format('SELECT count(*), coalesce(max(code), 0) FROM %s', dict) INTO keys, last_code;
	bytes := @extschema@._roaring64_helpers_bytes(dict);
END $$;
COMMENT ON FUNCTION roaring64_dict_stats(regclass) IS
'number of keys, highest code, and bytes on disk';

CREATE FUNCTION roaring64_dict_drop(dict regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_dict_keys(dict);
	EXECUTE format('DROP TABLE %s', dict);
END $$;
COMMENT ON FUNCTION roaring64_dict_drop(regclass) IS
'drops a dictionary';

--
-- Advice on how to store a column, measured on a sample of it.  Nothing is written,
-- so that it works on a standby.
--
-- The sample is the share of the table's pages that has about 16 MB, together with what
-- is stored out of line, and always the same one.  A set has to be whole, as the bytes
-- of an id depend on the ids beside it.  So of a set of more than 2^20 ids, 2^20 from
-- its middle are measured; and the ids of a larger table are read by an index: up to
-- 10,000 of each of 50 keys, or from each of 50 ids on, that the sample has.  At most
-- 10,000 sets are measured.
--

CREATE FUNCTION _roaring64_compressed_size(roaring64, method text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_compressed_size'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION _roaring64_compressed_size(roaring64, text) IS
'bytes of a set once the server has compressed it, if it is long enough for that';

-- What is known of the column and its key; "others" are the other columns.
CREATE FUNCTION _roaring64_advise_column(source regclass, column_name name, key_column name,
										 OUT is_set boolean, OUT key_type text, OUT others text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record;
BEGIN
	SELECT t.relkind, t.relnamespace, a.attnum, k.attnum AS key,
		format_type(@extschema@._roaring64_dict_base_type(a.atttypid), NULL) AS type INTO c
	FROM pg_class AS t
		LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attname = column_name AND NOT a.attisdropped
		LEFT JOIN pg_attribute AS k ON k.attrelid = t.oid AND k.attname = key_column AND NOT k.attisdropped
	WHERE t.oid = source;
	is_set := c.type = format_type('@extschema@.roaring64'::regtype, NULL);
	IF c.relkind IS NULL OR column_name IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'a table and a column must be given';
	ELSIF c.relkind NOT IN ('r', 'p', 'm') THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a table', source),
			DETAIL = 'Only tables and materialized views can be sampled.';
	ELSIF c.relnamespace = 'pg_catalog'::regnamespace THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is a system catalog', source),
			DETAIL = 'Its columns are not stored in another way.';
	ELSIF @extschema@._roaring64_helpers_distributed(source) THEN
		RAISE feature_not_supported USING
			MESSAGE = format('"%s" is distributed by Citus', source),
			DETAIL = 'Its rows are in tables of other names, its shards.',
			HINT = 'On the node of one, advise for that: they are alike.';
	ELSIF c.attnum IS NULL OR c.key IS NULL AND key_column IS NOT NULL THEN
		RAISE undefined_column USING
			MESSAGE = format('column "%s" of "%s" does not exist',
							 CASE WHEN c.attnum IS NULL THEN column_name ELSE key_column END, source);
	ELSIF c.key < 0 OR c.key = c.attnum THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('column "%s" cannot be the key', key_column),
			HINT = 'Name another column, which says which ids make a set.';
	ELSIF NOT is_set AND c.type NOT IN ('smallint', 'integer', 'bigint') THEN
		RAISE datatype_mismatch USING
			MESSAGE = format('column "%s" is of type %s', column_name, c.type),
			DETAIL = 'Ids are of type smallint, integer or bigint, and sets of type roaring64.',
			HINT = 'Give other keys numbers with roaring64_dict_create.';
	ELSIF is_set AND key_column IS NOT NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'a column of sets needs no key',
			HINT = 'For a column of ids, the key says which of them make a set.';
	END IF;
	SELECT format_type(atttypid, atttypmod) INTO key_type FROM pg_attribute WHERE attrelid = source AND attnum = c.key;
	SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO others
	FROM pg_attribute
	WHERE attrelid = source AND attnum > 0 AND NOT attisdropped
		AND attnum <> c.attnum AND attnum IS DISTINCT FROM c.key;
END $$;
COMMENT ON FUNCTION _roaring64_advise_column(regclass, name, name) IS
'what is known of a column and its key';

-- The bytes of a table, the rows that it has with a value and a key, and as a FROM item
-- the sample of these; "whole" if that is all of them.
CREATE FUNCTION _roaring64_advise_sample(source regclass, column_name name, key_column name,
										 OUT bytes bigint, OUT rows float8, OUT sample text, OUT whole boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	pages float8;
	percent numeric;
BEGIN
	WITH RECURSIVE tables (oid) AS (
		SELECT source::oid UNION SELECT inhrelid FROM tables JOIN pg_inherits ON inhparent = tables.oid)
	SELECT sum(pg_total_relation_size(oid)), sum(pg_relation_size(oid)) / current_setting('block_size')::int,
		least(100, 100 * 16777216.0 / greatest(sum(pg_table_size(oid)), 1))
	INTO bytes, pages, percent FROM tables;
	whole := percent = 100;
	-- where a few pages have all the bytes, none of them may be in the sample
	FOR try IN 1 .. 2 LOOP
		sample := format('(SELECT tableoid, ctid, %1$I AS value, %2$s AS key FROM %3$s%4$s
							WHERE (%1$I, %5$s) IS NOT NULL%6$s) AS sample',
						 column_name, coalesce(quote_ident(key_column), 'NULL'), source,
						 CASE try WHEN 1 THEN format(' TABLESAMPLE SYSTEM (%s) REPEATABLE (1)', percent) END,
						 coalesce(quote_ident(key_column), '1'), CASE try WHEN 2 THEN ' LIMIT 100' END);
		EXECUTE format('SELECT sum(n) * CASE WHEN $1 THEN 1 ELSE $2 / count(*) END
			FROM (SELECT count(*) AS n FROM %s GROUP BY tableoid, (ctid::text::point)[0]) AS pages', sample)
		INTO rows USING whole, pages;
		EXIT WHEN rows > 0 OR whole;
	END LOOP;
	IF rows IS NULL THEN
		RAISE no_data_found USING MESSAGE = format('column "%s" of "%s" has no values', column_name, source);
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_advise_sample(regclass, name, name) IS
'a sample of a column, and what it is a sample of';

-- The query that makes sets of a sample of ids and reads all ids of each: those of a
-- key, or those from an id on, which an index finds.
CREATE FUNCTION _roaring64_advise_runs(source regclass, column_name name, key_column name, sample text)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- what the index begins with
	begins_with name := coalesce(key_column, column_name);
	result text;
BEGIN
	SELECT format('SELECT i.s, 0 AS stored, i.n, 1::float8 / i.n AS weight
			FROM (SELECT %1$s AS first FROM %2$s ORDER BY hashtid(ctid), ctid LIMIT 50) AS p,
				LATERAL (SELECT @extschema@.roaring64_agg(id) AS s, count(*) AS n FROM (
					SELECT t.%3$I AS id FROM %4$s AS t
					WHERE t.%5$I OPERATOR(%6$I.%7$s) p.first AND t.%3$I IS NOT NULL%8$s LIMIT 10000) AS t) AS i',
		CASE WHEN key_column IS NULL THEN 'value' ELSE 'key' END, sample, column_name, source, begins_with,
		s.nspname, o.oprname, CASE WHEN by_id THEN ' ORDER BY id' END)
	INTO result
	FROM pg_index AS i
		JOIN pg_attribute AS c ON c.attrelid = i.indrelid AND c.attname = column_name
		JOIN pg_attribute AS k ON k.attrelid = i.indrelid AND k.attname = begins_with AND k.attnum = i.indkey[0]
		JOIN pg_opclass AS p ON p.oid = i.indclass[0]
		JOIN pg_am AS m ON m.oid = p.opcmethod AND m.amname = 'btree'
		JOIN pg_amop AS a ON a.amopfamily = p.opcfamily AND a.amoplefttype = p.opcintype AND a.amoprighttype = p.opcintype
			AND a.amopstrategy = CASE WHEN key_column IS NULL THEN 4 ELSE 3 END		-- >= or =
		JOIN pg_operator AS o ON o.oid = a.amopopr
		JOIN pg_namespace AS s ON s.oid = o.oprnamespace,
		LATERAL (SELECT c.attnum = i.indkey[0] OR i.indnkeyatts > 1 AND c.attnum = i.indkey[1]) AS f (by_id)
	WHERE i.indrelid = source AND i.indisvalid AND i.indpred IS NULL
	ORDER BY by_id DESC LIMIT 1;
	IF result IS NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('"%s" is too large to be read without an index', source),
			HINT = format('Create a btree index that begins with column "%s", or copy a part of the table.', begins_with);
	END IF;
	RETURN result;
END $$;
COMMENT ON FUNCTION _roaring64_advise_runs(regclass, name, name, text) IS
'a query for sets of a sample of ids, by an index';

-- A query for the sets of the sample: s; the bytes that are stored of it; the rows that
-- it is made of, n; and how often it counts, weight.  A row of the sample has a large key
-- in it more often than a small one.
CREATE FUNCTION _roaring64_advise_sets(source regclass, column_name name, key_column name, is_set boolean,
									   sample text, whole boolean)
RETURNS text
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT CASE
		WHEN is_set THEN format('SELECT value::@extschema@.roaring64 AS s, stored, 1 AS n, 1::float8 AS weight FROM (
				SELECT value, pg_column_size(value) AS stored,
					sum(pg_column_size(value)) OVER (ORDER BY hashtid(ctid), ctid, tableoid) AS upto
				FROM %s) AS s WHERE upto - stored < 16777216 LIMIT 10000', sample)
		WHEN whole THEN format('SELECT @extschema@.roaring64_agg(value) AS s, 0 AS stored, count(*) AS n, 1::float8 AS weight
				FROM %s GROUP BY key ORDER BY hashint8(min(value)) LIMIT 10000', sample)
		ELSE @extschema@._roaring64_advise_runs(source, column_name, key_column, sample) END
$$;
COMMENT ON FUNCTION _roaring64_advise_sets(regclass, name, name, boolean, text, boolean) IS
'a query for the sets of a sample';

-- Measures these sets: sums of rows, sets, ids, bytes and containers, and of the bytes that
-- they would have in other forms.  "bits" makes chunks of some 4 kB.  "by_element" and "by_container" are,
-- of a few ids of sets and of their containers, how many there are, how many different
-- ones, and how many of these only once.
CREATE FUNCTION _roaring64_advise_measure(source regclass, column_name name, key_column name, is_set boolean,
										  sample text, whole boolean,
										  OUT n float8, OUT sets float8, OUT ids float8, OUT stored float8,
										  OUT containers float8, OUT external float8, OUT pglz float8, OUT lz4 float8,
										  OUT bits int, OUT packed float8, OUT chunks float8,
										  OUT by_element numeric[], OUT by_container numeric[])
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($sql$
		WITH drawn AS MATERIALIZED (%s),
		parts AS MATERIALIZED (
			SELECT n, weight, stored, ids, @extschema@.roaring64_slice(s, greatest(ids - 1048576, 0) / 2, 1048576) AS part
			FROM drawn, @extschema@.roaring64_cardinality(s) AS ids),
		sizes AS MATERIALIZED (
			SELECT *, weight * greatest(ids, 1) / greatest(cardinality, 1) AS times,
				bytes + CASE WHEN bytes < 127 THEN 1 ELSE 4 END AS raw,
				array_containers + bitset_containers + run_containers AS containers, row_number() OVER () AS seed,
				sum(least(cardinality, 65536)) OVER (ROWS UNBOUNDED PRECEDING) AS upto
			FROM parts, @extschema@.roaring64_stats(part)),
		sums AS (
			SELECT sum(weight * n) AS n, sum(weight) AS sets, sum(weight * ids) AS ids, sum(weight * stored) AS stored,
				sum(times * containers) AS containers, sum(times * raw) AS external,
				sum(times * @extschema@._roaring64_compressed_size(part, 'pglz')) AS pglz,
				sum(times * CASE WHEN $2 THEN @extschema@._roaring64_compressed_size(part, 'lz4') END) AS lz4,
				least(round(log(2, greatest(4096 * sum(
					@extschema@.roaring64_max(part)::numeric - @extschema@.roaring64_min(part) + 1) / sum(raw), 1))), 63)::int AS bits
			FROM sizes),
		-- about 300,000 ids in all
		small AS MATERIALIZED (
			SELECT times * cardinality AS times, seed, containers > 0.25 * cardinality AS scattered,
				@extschema@.roaring64_slice(part, greatest(cardinality - 65536, 0) / 2, 65536) AS ids
			FROM sizes WHERE cardinality > 0 AND upto - least(cardinality, 65536) < 262144),
		packed AS MATERIALIZED (
			SELECT times / @extschema@.roaring64_cardinality(ids) AS times, ids,
				(SELECT @extschema@.roaring64_agg(@extschema@.roaring64_snowflake_pack(id))
				 FROM @extschema@.roaring64_elements(ids) AS id) AS packed
			FROM small WHERE scattered),
		elements AS (
			SELECT count(*) AS n FROM small, @extschema@.roaring64_elements(@extschema@.roaring64_sample(ids, 1000, seed)) AS id
			WHERE $1 GROUP BY id),
		containers AS (
			SELECT count(*) AS n FROM small, @extschema@.roaring64_split(ids, 16) WHERE $1 GROUP BY chunk)
		SELECT sums.*,
			(SELECT sum(times * (@extschema@.roaring64_stats(f.packed)).bytes)
				/ sum(times * (@extschema@.roaring64_stats(ids)).bytes) FROM packed AS f) AS packed,
			(SELECT sum(times * (60 + @extschema@._roaring64_compressed_size(t.ids, $3)))
			 FROM sizes, @extschema@.roaring64_split(part, bits) AS t
			 WHERE external > 100000 * sets) AS chunks,
			(SELECT ARRAY[sum(e.n), count(*), count(*) FILTER (WHERE e.n = 1)] FROM elements AS e) AS elements,
			(SELECT ARRAY[sum(e.n), count(*), count(*) FILTER (WHERE e.n = 1)] FROM containers AS e) AS found
		FROM sums
		$sql$, @extschema@._roaring64_advise_sets(source, column_name, key_column, is_set, sample, whole))
	INTO n, sets, ids, stored, containers, external, pglz, lz4, bits, packed, chunks, by_element, by_container
	USING is_set, (SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'),
		current_setting('default_toast_compression');
END $$;
COMMENT ON FUNCTION _roaring64_advise_measure(regclass, name, name, boolean, text, boolean) IS
'sums over the sets of a sample';

-- Weighs what was measured: ways to store the column, each with its bytes and what is
-- advised.  The kind is "now", "sets" or "packed", of which "how" is the compression; "chunks", of
-- which it is the bits; or "GIN", with what an entry is for.
CREATE FUNCTION _roaring64_advise_weigh(is_set boolean, others text, bytes bigint, rows float8, m record,
										OUT kind text, OUT how text, OUT size float8, OUT advice text)
RETURNS SETOF record
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 ROWS 8
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	scale float8 := rows / m.n;
	long boolean := m.external > 2000 * m.sets OR m.external > m.pglz;
	best text := CASE WHEN m.external <= 1.25 * least(m.pglz, m.lz4) THEN 'EXTERNAL'
					  WHEN m.lz4 <= 1.25 * m.pglz THEN 'lz4'
					  ELSE 'pglz' END;
BEGIN
	RETURN QUERY
	SELECT 'now', NULL, CASE WHEN is_set THEN scale * m.stored ELSE bytes END,
		CASE WHEN is_set AND NOT long THEN 'yes: sets of up to 2 kB are not compressed' END
	UNION ALL
	SELECT v.kind, v.how, scale * (v.value + CASE WHEN is_set THEN 0 ELSE 60 * m.sets END),
		CASE WHEN v.kind = 'packed' THEN 'if no query is about ranges, pages or the latest ids'
			 WHEN v.how <> best OR is_set AND NOT long THEN 'no'
			 WHEN v.value > 10 * m.ids + 30 * m.sets THEN 'no: in a bigint[] an id takes 8 bytes'
			 WHEN NOT is_set AND others IS NOT NULL THEN 'yes, if nobody needs ' || others
			 ELSE 'yes: ' || v.why END
	FROM (VALUES
		('sets', 'EXTERNAL', m.external, 'nothing has to be decompressed'),
		('sets', 'lz4', m.lz4, 'faster to read than pglz'),
		('sets', 'pglz', m.pglz, 'much smaller'),
		('packed', 'EXTERNAL', m.external * m.packed, NULL)) AS v (kind, how, value, why)
	WHERE v.value IS NOT NULL AND (v.kind = 'sets' OR v.value < 0.75 * least(m.external, m.lz4, m.pglz))
	UNION ALL
	SELECT 'chunks', m.bits::text, scale * m.chunks,
		format('if single ids come often: an update writes some 4 kB instead of %s',
			   pg_size_pretty((m.external / m.sets)::bigint))
	WHERE m.chunks IS NOT NULL
	UNION ALL
	-- an entry is 28 bytes in pages that are half full; a list of many rows has pages of its own
	SELECT 'GIN', v.entry,
		greatest(16384, d * CASE WHEN list < 2600 THEN 2 * (28 + list) ELSE 60 + 8192 * ceil(list / 8000) END),
		CASE WHEN v.entry = 'container' AND (m.containers > 0.25 * m.ids OR v.n / d > 0.1 * scale * m.sets) THEN
				format('no: an entry stands for %s rows of %s', round(v.n / d), round(scale * m.sets))
			 WHEN v.entry = 'element' AND m.ids > 1000 * m.sets THEN
				format('no: %s entries a row', round(m.ids / m.sets))
			 ELSE 'if you look for the sets that have an id' END
	FROM (VALUES
			('element', scale * m.ids, m.by_element),
			('container', scale * m.containers, m.by_container)) AS v (entry, n, seen),
		LATERAL (SELECT greatest(seen[1] * seen[2] / (seen[1] - seen[3] + seen[3] * seen[1] / v.n),
								 v.n / (scale * m.sets)) AS d) AS distinct_entries,
		LATERAL (SELECT 1.8 * (v.n / d - 1) AS list) AS rows_of_an_entry
	WHERE is_set AND seen[1] > 0;
END $$;
COMMENT ON FUNCTION _roaring64_advise_weigh(boolean, text, bigint, float8, record) IS
'ways to store a column, with their bytes';

-- What such a way is called, and the statement for it.
CREATE FUNCTION _roaring64_advise_word(source regclass, column_name name, key_column name, c record,
									   kind text, how text,
									   OUT what text, OUT statement text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	target text := (SELECT format('%s.%I', relnamespace::regnamespace,
								  left(relname, 56 - octet_length(relname) + length(relname)) || '_sets')
					FROM pg_class WHERE oid = source);
	rows text := format('FROM %s WHERE (%I, %s) IS NOT NULL', source, column_name, coalesce(quote_ident(key_column), '1'));
	-- a name that no column has
	chunk text := (SELECT 'chunk' || coalesce(max(substring(attname, 6)) || '_', '') FROM pg_attribute
				   WHERE attrelid = source AND attname ~ '^chunk_*$');
	storage text := CASE how WHEN 'EXTERNAL' THEN how
						 ELSE format('EXTENDED, ALTER COLUMN %I SET COMPRESSION %s', column_name, how) END;
BEGIN
	what := CASE kind WHEN 'now' THEN CASE WHEN c.is_set THEN 'as it is' ELSE 'rows as they are' END
				 WHEN 'chunks' THEN format('chunks of 2^%s ids', how)
				 WHEN 'GIN' THEN 'GIN by ' || how
				 ELSE CASE WHEN c.is_set THEN '' ELSE 'sets, ' END || how END
		|| CASE kind WHEN 'packed' THEN ', ids packed' ELSE '' END;
	statement := CASE
		WHEN kind = 'GIN' THEN
			format('CREATE INDEX ON %s USING gin (%I @extschema@.gin_roaring64_ops (key = %s))', source, column_name, how)
		WHEN kind = 'chunks' AND c.is_set THEN
			format('CREATE TABLE %s AS SELECT %ss.* FROM %s AS t, @extschema@.roaring64_split(t.%I, %s) AS s (%s, %4$I)',
				   target, c.others || ', ', source, column_name, how, chunk)
		WHEN kind = 'chunks' THEN
			format('CREATE TABLE %s AS SELECT %s%I::bigint >> %s AS %s, '
				   '@extschema@.roaring64_agg(%3$I) AS %3$I %6$s GROUP BY 1%7$s',
				   target, quote_ident(key_column) || ', ', column_name, how, chunk, rows,
				   CASE WHEN key_column IS NOT NULL THEN ', 2' END)
		WHEN kind <> 'now' AND c.is_set THEN
			-- a partition keeps the compression that it has
			(WITH RECURSIVE tables (oid) AS (
				SELECT source UNION SELECT inhrelid::regclass FROM tables JOIN pg_inherits ON inhparent = tables.oid)
			 SELECT string_agg(format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE %s', oid, column_name, storage), '; '
							   ORDER BY oid)
			 FROM tables)
			|| CASE kind WHEN 'packed' THEN
				format('; UPDATE %1$s SET %2$I = (SELECT coalesce('
					   '@extschema@.roaring64_agg(@extschema@.roaring64_snowflake_pack(id)), ''{}'') '
					   'FROM @extschema@.roaring64_elements(%2$I) AS id)', source, column_name) ELSE '' END
		WHEN kind <> 'now' THEN
			format('CREATE TABLE %1$s (%2$s%3$I @extschema@.roaring64 NOT NULL); '
				   'ALTER TABLE %1$s ALTER COLUMN %3$I SET STORAGE %4$s; '
				   'INSERT INTO %1$s SELECT %5$s@extschema@.roaring64_agg(%6$s) %7$s%8$s',
				   target, quote_ident(key_column) || ' ' || c.key_type || ' PRIMARY KEY, ', column_name, storage,
				   quote_ident(key_column) || ', ',
				   format(CASE kind WHEN 'packed' THEN '@extschema@.roaring64_snowflake_pack(%I)' ELSE '%I' END, column_name),
				   rows, ' GROUP BY ' || quote_ident(key_column)) END;
END $$;
COMMENT ON FUNCTION _roaring64_advise_word(regclass, name, name, record, text, text) IS
'name of a way to store a column, and the statement for it';

CREATE FUNCTION roaring64_advise(source regclass, column_name name, key_column name DEFAULT NULL,
								 OUT what text, OUT bytes bigint, OUT bytes_an_id numeric,
								 OUT saves bigint, OUT advice text, OUT statement text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000 ROWS 8
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c record := @extschema@._roaring64_advise_column(source, column_name, key_column);
	s record := @extschema@._roaring64_advise_sample(source, column_name, key_column);
	m record := @extschema@._roaring64_advise_measure(source, column_name, key_column, c.is_set, s.sample, s.whole);
BEGIN
	RETURN QUERY
	SELECT t.what, w.size::bigint, round((w.size / nullif(s.rows / m.n * m.ids, 0))::numeric, 4),
		CASE WHEN w.kind <> 'GIN' THEN (first_value(w.size) OVER () - w.size)::bigint END, w.advice, t.statement
	FROM @extschema@._roaring64_advise_weigh(c.is_set, c.others, s.bytes, s.rows, m) AS w,
		@extschema@._roaring64_advise_word(source, column_name, key_column, c, w.kind, w.how) AS t
	-- the values of a materialized view are not changed
	WHERE w.kind <> 'packed' OR NOT c.is_set OR source NOT IN (SELECT oid FROM pg_class WHERE relkind = 'm');
END $$;
COMMENT ON FUNCTION roaring64_advise(regclass, name, name) IS
'ways to store a column of sets or of ids, and what they would save';

--
-- Rollups: sets that follow a table.  Names and templates.
--
-- Triggers on the source append the key and the id of every row that came, went or changed
-- to what is pending.  They decide nothing, so no writer waits for another.
--
-- What the sets are is decided where they are read: of a key with something pending, the
-- set without the pending ids, and those of them that the source has in the same snapshot.
-- So it does not matter what happened, in which order, or how often; and an id that was
-- appended for nothing changes nothing.  The view reads that, and a fold writes it: one
-- statement, which has one snapshot, deletes pending rows, looks them up and writes the sets.
-- A writer who has not committed keeps its pending rows for the next fold, and a reader sees
-- the old sets with the pending rows or the new ones without.  Folds exclude each other, so
-- the sets that the snapshot shows are the latest.
--
-- Where sets keep what goes, the triggers append which sets a row is in, and that is added.
--
-- Beside the target, named after it and in its schema, there are:
--
--	  _rollup		one row: the arguments, what the conditions mean, and what has been copied
--	  _pending		what the triggers append: k1, k2 ... and id; where it is kept, c1, c2 ...
--	  _rows			a view of the source: the same, of each row that is in a set
--	  _facts()		the same of one row, as the domain _row, for the triggers
--	  _insert() ...	the functions of the triggers: _update, _delete, _truncate
--	  _now			a view of the target with what is pending
--	  _fold()		merges a part of what is pending, _copy() all rows
--	  _differs		a view of the sets that differ from the rows
--
-- All but the functions of the triggers are parsed once, so what they use may be renamed, and
-- what a condition means does not depend on who reads it.
--

-- The names of these, with their schema, which is that of the target.
CREATE FUNCTION _roaring64_rollup_parts(schema name, target name)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT jsonb_object_agg(ltrim(part, '_'), format('%I.%I', schema, target || part)) || jsonb_build_object(
		'ext', '@extschema@', 'name', target,
		'target', format('%I.%I', schema, target), 'target_text', quote_literal(format('%I.%I', schema, target)))
	FROM unnest('{_rollup,_pending,_rows,_row,_facts,_now,_fold,_copy,_differs,_insert,_update,_delete,_truncate}'::text[])
		AS part
$$;
COMMENT ON FUNCTION _roaring64_rollup_parts(name, name) IS 'names of what belongs to a rollup';

-- What the templates name besides: the source, the columns of the key and the sets, from the
-- arguments; and, once there is a target, the patterns: which columns of the key are NULL, for
-- those that can be, and when a row of the source, the target or what is pending matches.  It
-- does as the target's unique index says, with OPERATOR(schema.=).
CREATE FUNCTION _roaring64_rollup_names(parts jsonb, source regclass, given json)
RETURNS jsonb LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	WITH source AS (
		SELECT format('%I.%I', n.nspname, relname) AS name, relkind = 'p' AS partitioned,
			given->>'deletes' = 'keep' AS keeps
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace WHERE c.oid = source),
	keys AS (
		SELECT c AS name, i AS k, coalesce((SELECT attnotnull FROM pg_attribute
				WHERE attrelid = coalesce(to_regclass(parts->>'pending'), source)
					AND attname = CASE WHEN to_regclass(parts->>'pending') IS NULL THEN c ELSE 'k' || i END), false) AS not_null
		FROM unnest(ARRAY(SELECT json_array_elements_text(given->'key_columns')) || (given->>'period_column'))
			WITH ORDINALITY AS k (c, i) WHERE c IS NOT NULL),
	sets AS (SELECT c AS name, i AS n FROM json_object_keys(given->'sets') WITH ORDINALITY AS s (c, i)),
	columns AS (
		SELECT 'k' || k AS c, 'f.k' || k AS changed, 'k' || k AS repair, k AS i FROM keys UNION ALL
		SELECT 'id', 'f.id', '@extschema@.roaring64_elements(@extschema@.roaring64_or(missing, surplus))', 1000 UNION ALL
		SELECT 'c' || n, format('pg_catalog.sum(f.sign) FILTER (WHERE f.c%s) OPERATOR(pg_catalog.>) 0', n),
			format('set_name = %L', sets.name), 1000 + n
		FROM sets, source WHERE keeps),
	equal AS (
		SELECT k.i AS k, format('%%s OPERATOR(%s.%s) %%s', o.oprnamespace::regnamespace, replace(o.oprname, '%',
			'%%')) AS equal
		FROM pg_index AS x CROSS JOIN LATERAL unnest(x.indclass) WITH ORDINALITY AS k (opclass, i)
			JOIN pg_opclass AS p ON p.oid = k.opclass
			JOIN pg_amop AS s ON s.amopfamily = p.opcfamily AND s.amopstrategy = 3
				AND s.amoplefttype = p.opcintype AND s.amoprighttype = p.opcintype
			JOIN pg_operator AS o ON o.oid = s.amopopr
		WHERE x.indrelid = to_regclass(parts->>'target') AND x.indisunique),
	patterns AS (
		SELECT jsonb_build_object(
			'rows_match', string_agg(format(w.word, 'r.k' || k, 'g.k' || k), ' AND ' ORDER BY k),
			'sets_of', string_agg(format(w.word, 't.' || quote_ident(name), 'x.k' || k), ' AND ' ORDER BY k),
			'waiting', string_agg(format(w.word, 'p.k' || k, 't.' || quote_ident(name)), ' AND ' ORDER BY k)) AS pattern
		FROM (SELECT count(*)::int FROM keys WHERE NOT not_null) AS nullable (n), generate_series(0,
			(1 << n) - 1) AS pattern,
			(SELECT *, row_number() OVER (PARTITION BY not_null ORDER BY k)::int - 1 AS bit FROM keys) AS b
				JOIN equal USING (k),
			LATERAL (SELECT CASE WHEN NOT not_null AND (pattern >> bit) & 1 = 1
				THEN '%s IS NULL AND %s IS NULL' ELSE equal END) AS w (word)
		GROUP BY pattern ORDER BY pattern)
	SELECT parts || jsonb_build_object(
		'source', s.name, 'source_text', quote_literal(s.name), 'pending_text', quote_literal(parts->>'pending'),
		'only', CASE WHEN partitioned THEN '' ELSE 'ONLY ' END, 'partitioned', partitioned, 'keeps', keeps,
		'kind', CASE WHEN keeps THEN 'grow' ELSE 'follow' END, 'more', CASE WHEN keeps THEN '>' ELSE '<>' END,
		'surplus', CASE WHEN keeps THEN '''{}''::@extschema@.roaring64'
			ELSE '@extschema@.roaring64_andnot(s.held, s.fact)' END,
		'keys', (SELECT jsonb_agg(jsonb_build_object('k', k, 'column', quote_ident(name),
					'null', CASE WHEN not_null THEN 'SET' ELSE 'DROP' END) ORDER BY k) FROM keys),
		'sets', (SELECT jsonb_agg(jsonb_build_object('n', n, 'set', quote_ident(name), 'set_text',
			quote_literal(name)) ORDER BY n) FROM sets),
		'first', (SELECT quote_ident(name) FROM sets WHERE n = 1),
		'columns', (SELECT jsonb_agg(to_jsonb(c.*) ORDER BY i) FROM columns AS c),
		'patterns', (SELECT jsonb_agg(pattern) FROM patterns))
	FROM source AS s
$$;
COMMENT ON FUNCTION _roaring64_rollup_names(jsonb, regclass, json) IS 'names for the templates of a rollup';

-- The templates (see _roaring64_fill).
CREATE FUNCTION _roaring64_rollup_template(name text)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE name
-- The tables.  A publication of all tables wants to know what is deleted.  The index is in no
-- order that GROUP BY can use, which would fetch each row by it.
WHEN 'tables' THEN $$
CREATE TABLE {target} ([keys: {column}, ...]) AS SELECT [keys: k{k}, ...] FROM {rows} WITH NO DATA;
ALTER TABLE {target} [keys: ALTER COLUMN {column} {null} NOT NULL, ...],
	[sets: ADD COLUMN {set} {ext}.roaring64 NOT NULL DEFAULT '{}', ALTER COLUMN {set} SET STORAGE EXTERNAL, ...];
CREATE TABLE {pending} AS SELECT [columns: {c}, ...] FROM {rows} WITH NO DATA;
ALTER TABLE {pending} REPLICA IDENTITY FULL, [keys: ALTER COLUMN k{k} {null} NOT NULL, ...];
CREATE INDEX ON {pending} ([keys: k{k} NULLS FIRST, ...]);
CREATE TABLE {rollup} (meaning text[] PRIMARY KEY, given json NOT NULL, copied jsonb)$$
WHEN 'key' THEN 'ALTER TABLE {target} ADD PRIMARY KEY ([keys: {column}, ...])'
WHEN 'null_key' THEN $$CREATE UNIQUE INDEX ON {target} ([keys: {column}, ...]) NULLS NOT DISTINCT;
ALTER TABLE {target} REPLICA IDENTITY FULL$$
-- What the sets lose and then get for the rows that are touched, where they follow, and where
-- they only grow.
WHEN 'follow' THEN $$
	SELECT [keys: g.k{k}, ...], [sets: g.ids AS r{n}, l.a{n}, ...]
	FROM (SELECT [keys: k{k}, ...], {ext}.roaring64_agg(id) AS ids FROM {touched} GROUP BY [keys: k{k}, ...]) AS g,
		LATERAL (
			SELECT [sets: coalesce({ext}.roaring64_agg(r.id) FILTER (WHERE r.c{n}), '{}') AS a{n}, ...]
			FROM ([patterns: SELECT r.* FROM {rows} AS r
				WHERE {rows_match} AND r.i = ANY ({ext}.roaring64_to_array(g.ids)) UNION ALL ...]) AS r
		) AS l$$
WHEN 'grow' THEN $$
	SELECT g.*, [sets: g.a{n} AS r{n}, ...]
	FROM (
		SELECT [keys: k{k}, ...], [sets: coalesce({ext}.roaring64_agg(id) FILTER (WHERE c{n}), '{}') AS a{n}, ...]
		FROM {touched} GROUP BY [keys: k{k}, ...]) AS g$$
-- What they become.  A set that does not change is not written again, and no key begins with
-- nothing.
WHEN 'merged' THEN $$
SELECT [keys: x.k{k} AS {column}, ...],
	[sets: CASE WHEN {ext}.roaring64_and(t.{set}, x.r{n}) OPERATOR({ext}.=) x.a{n} THEN t.{set}
		ELSE {ext}.roaring64_or({ext}.roaring64_andnot(coalesce(t.{set}, '{}'), {ext}.roaring64_andnot(x.r{n}, x.a{n})),
			x.a{n}) END AS {set}, ...]
FROM ({found}) AS x
	LEFT JOIN LATERAL ([patterns: SELECT t.* FROM {target} AS t WHERE {sets_of} UNION ALL ...]) AS t ON true
WHERE t.{first} IS NOT NULL OR [sets: NOT {ext}.roaring64_is_empty(x.a{n}) OR ...]$$
-- What reads it and what writes it.
WHEN 'now' THEN $$
CREATE VIEW {now} AS {merged}
UNION ALL
SELECT [keys: t.{column}, ...], [sets: t.{set}, ...] FROM {target} AS t
WHERE [patterns: NOT EXISTS (SELECT FROM {pending} AS p WHERE {waiting}) AND ...]$$
WHEN 'fold' THEN $$
CREATE FUNCTION {fold}(tid, tid) RETURNS void LANGUAGE sql BEGIN ATOMIC
WITH gone AS (DELETE FROM {pending} WHERE ctid >= $1 AND ctid < $2 RETURNING [columns: {c}, ...])
{write}
END$$
WHEN 'copy' THEN $$
CREATE FUNCTION {copy}() RETURNS void LANGUAGE sql BEGIN ATOMIC
{write}
END$$
-- Keys in their order.
WHEN 'write' THEN $$INSERT INTO {target} ([keys: {column}, ...], [sets: {set}, ...]) {merged}
ORDER BY [keys: x.k{k}, ...]
ON CONFLICT ([keys: {column}, ...]) DO UPDATE SET [sets: {set} = excluded.{set}, ...];$$
WHEN 'differs' THEN $$
CREATE VIEW {differs} AS
SELECT (SELECT to_jsonb(j.*) FROM (SELECT [keys: g.k{k} AS {column}, ...]) AS j) AS key, s.name AS set_name,
	{ext}.roaring64_andnot(s.fact, s.held) AS missing, {surplus} AS surplus, [keys: g.k{k}, ...]
FROM (
	SELECT [keys: k{k}, ...], [sets: coalesce({ext}.roaring64_or_agg(f{n}), '{}') AS f{n}, ...],
		[sets: coalesce({ext}.roaring64_or_agg(t{n}), '{}') AS t{n}, ...]
	FROM (
		SELECT [keys: k{k}, ...], [sets: {ext}.roaring64_agg(id) FILTER (WHERE c{n}) AS f{n}, ...],
			[sets: NULL::{ext}.roaring64 AS t{n}, ...] FROM {rows} GROUP BY [keys: k{k}, ...]
		UNION ALL
		SELECT [keys: t.{column}, ...], [sets: NULL::{ext}.roaring64, ...], [sets: t.{set}, ...] FROM {now} AS t) AS u
	GROUP BY [keys: k{k}, ...]) AS g,
	LATERAL (VALUES [sets: ({set_text}::name, f{n}, t{n}), ...]) AS s (name, fact, held)
WHERE NOT {ext}.roaring64_is_empty({ext}.roaring64_andnot(s.fact, s.held)) OR NOT {ext}.roaring64_is_empty({surplus})$$
WHEN 'repair' THEN 'INSERT INTO {pending} ([columns: {c}, ...]) SELECT [columns: {repair}, ...] FROM {differs}'
-- The functions of the triggers, which run as the writer, with its settings.
WHEN 'append' THEN $$
CREATE {replace} FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql {settings} AS {body}$$
WHEN 'body' THEN $$
-- made by roaring64_rollup_create; see docs/rollups.md
BEGIN
	IF NOT pg_catalog.has_table_privilege({pending_text}::pg_catalog.regclass, 'INSERT') THEN
		RAISE insufficient_privilege USING
			MESSAGE = pg_catalog.format('permission denied for table %s, to which writers of %I append', {pending_text},
				TG_TABLE_NAME),
			HINT = pg_catalog.format('GRANT INSERT ON %s TO %I;', {pending_text}, current_user);
	END IF;{childless}
	INSERT INTO {pending} ([columns: {c}, ...]){renamed}{changes};
	RETURN NULL;
END
$$
WHEN 'insert' THEN $$
	SELECT [columns: f.{c}, ...] FROM {new} AS f$$
WHEN 'delete' THEN $$
	SELECT [columns: f.{c}, ...] FROM {old} AS f$$
-- What a row is after the statement and was not before, or the other way round.
WHEN 'update' THEN $$
	SELECT [columns: {changed}, ...]
	FROM (SELECT f.*, 1 AS sign FROM {new} AS f UNION ALL SELECT f.*, -1 FROM {old} AS f) AS f
	GROUP BY [keys: f.k{k}, ...], f.id
	HAVING [sets: pg_catalog.sum(f.sign) FILTER (WHERE f.c{n}) OPERATOR(pg_catalog.{more}) 0 OR ...]$$
-- An UPDATE of a table changes rows of its children too, which would be kept as its own, or stand
-- for a row of its own that comes or goes.
WHEN 'childless' THEN $$
	IF EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE inhparent OPERATOR(pg_catalog.=) TG_RELID) THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot update %I.%I, because it has children and the sets of %s do not follow these',
										TG_TABLE_SCHEMA, TG_TABLE_NAME, {target_text}),
			HINT = 'ALTER TABLE ... NO INHERIT the children.';
	END IF;$$
WHEN 'truncate' THEN $$
-- made by roaring64_rollup_create; see docs/rollups.md
BEGIN
	RAISE object_not_in_prerequisite_state USING
		MESSAGE = pg_catalog.format('cannot truncate %I.%I, because the sets of %s do not follow that',
									TG_TABLE_SCHEMA, TG_TABLE_NAME, {target_text}),
		HINT = 'Use DELETE, or stop the rollup with roaring64_rollup_detach or roaring64_rollup_drop.';
END
$$
-- Whatever is left of a rollup.  On the functions of triggers, only triggers depend.
WHEN 'end' THEN $$
DROP FUNCTION IF EXISTS {insert}(), {update}(), {delete}(), {truncate}() CASCADE;
DROP FUNCTION IF EXISTS {fold}(tid, tid), {copy}(), {facts}({row});
DROP VIEW IF EXISTS {differs}, {now}, {rows};
DROP TABLE IF EXISTS {pending}, {rollup};
DROP DOMAIN IF EXISTS {row}$$
END;
COMMENT ON FUNCTION _roaring64_rollup_template(text) IS 'templates of a rollup';

-- A template with the names, and with templates that it names: "name=template" or both in one,
-- the innermost first.
CREATE FUNCTION _roaring64_rollup_text(names jsonb, templates text)
RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	template text;
	part text[];
	filled text;
BEGIN
	FOREACH template IN ARRAY string_to_array(templates, ' ') LOOP
		part := string_to_array(template, '=');
		filled := @extschema@._roaring64_fill(@extschema@._roaring64_rollup_template(part[cardinality(part)]), names);
		names := names || jsonb_build_object(part[1], filled);
	END LOOP;
	RETURN filled;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_text(jsonb, text) IS 'SQL of a rollup: templates with the names filled in';

-- What reads and writes the sets, from the same templates.
CREATE FUNCTION _roaring64_rollup_statement(name text, names jsonb)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000
RETURN CASE name
	WHEN 'now' THEN @extschema@._roaring64_rollup_text(names || jsonb_build_object('touched', names->'pending'),
		'found=' || (names->>'kind') || ' merged now')
	WHEN 'fold' THEN @extschema@._roaring64_rollup_text(names || '{"touched": "gone"}', 'found=' || (names->>'kind')
		|| ' merged write fold')
	WHEN 'copy' THEN @extschema@._roaring64_rollup_text(names || jsonb_build_object('touched', names->'rows'),
		'found=grow merged write copy')
	ELSE @extschema@._roaring64_rollup_text(names, name) END;
COMMENT ON FUNCTION _roaring64_rollup_statement(text, jsonb) IS 'a statement of a rollup';

-- The expression that gives the period of a time, in UTC: the first day of a day or of
-- something longer, or the start of what divides a day.  NULL if there is no such period.
CREATE FUNCTION _roaring64_rollup_period(period text, period_column name, type regtype)
RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
RETURN CASE
	WHEN type <> ALL ('{date,timestamp,timestamptz}'::regtype[]) THEN NULL
	WHEN period IN ('day', 'week', 'month', 'quarter', 'year') THEN
		format('pg_catalog.date_trunc(%L, %I %s)::pg_catalog.date', period, period_column,
			   CASE type WHEN 'timestamptz'::regtype THEN 'AT TIME ZONE ''UTC''' ELSE '::timestamp' END)
	WHEN period ~ '^([1-9][0-9]{0,4} )?(hour|minute|second)s?$' AND type <> 'date'::regtype THEN
		(SELECT format('pg_catalog.date_bin(%L, %I, %L::pg_catalog.%s)', s || ' seconds', period_column,
			'2000-01-01 00:00+00',
					   CASE type WHEN 'timestamptz'::regtype THEN 'timestamptz' ELSE 'timestamp' END)
		 FROM (SELECT coalesce(substring(period FROM '[0-9]+')::integer, 1) * CASE substring(period
			FROM 'hour|minute|second')
					WHEN 'hour' THEN 3600 WHEN 'minute' THEN 60 ELSE 1 END) AS p (s)
		 WHERE 86400 % s = 0)
	END;
COMMENT ON FUNCTION _roaring64_rollup_period(text, name, regtype) IS 'expression that gives the period of a time';

--
-- Making a rollup.
--
-- First what prevents one though the server would make it: everything at once, each with a
-- remedy.  Before it is known that the caller owns the table, nothing is locked and nothing
-- is done to it.
--
CREATE FUNCTION _roaring64_rollup_check(source regclass, target name, given json)
RETURNS TABLE (reason text, remedy text) LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	c pg_class := (SELECT c FROM pg_class AS c WHERE oid = source);
	members oid[] := ARRAY(SELECT source::oid UNION SELECT relid::oid FROM pg_partition_tree(source));
	keys text[] := ARRAY(SELECT json_array_elements_text(given->'key_columns'));
	id_column text := given->>'id_column';
	period_column text := given->>'period_column';
	deletes text := given->>'deletes';
	set_names text[] := ARRAY(SELECT json_object_keys(given->'sets') WHERE json_typeof(given->'sets') = 'object');
BEGIN
	IF pg_has_role(c.relowner, 'USAGE') IS NOT TRUE THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('must be owner of table %s', coalesce(c.relname::text, source::text)),
			HINT = 'Call it as the owner of the table or as a member of that role.';
	END IF;
	RETURN QUERY SELECT v.reason, v.remedy
	FROM (VALUES
		(c.relkind NOT IN ('r', 'p'), 'it is not a table', 'Name the table that the rows are in.'),
		(c.relpersistence <> 'p', 'after a crash it would be empty, but the sets would not',
		 'Name a table that is neither temporary nor unlogged.'),
		(NOT has_database_privilege(current_database(), 'TEMPORARY')
		 OR NOT has_database_privilege(c.relowner, current_database(), 'TEMPORARY'),
		 'the owner of the table or you lack the privilege TEMPORARY, by which conditions are checked',
		 'GRANT TEMPORARY ON DATABASE ... to both.'),
		(to_regclass(format('pg_temp.%I', c.relname)) <> source, 'this session has a temporary table of the same name',
		 'Drop it, or use another session.'),
		(c.relispartition, 'it is a partition', 'Name the whole table.'),
		(NOT c.relispartition AND c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE source IN (inhrelid,
			inhparent)),
		 'it has parents or children by inheritance', 'Make it a partitioned table, or ALTER TABLE ... NO INHERIT.'),
		(EXISTS (SELECT FROM pg_class WHERE oid = ANY (members) AND relkind = 'f'), 'a partition is a foreign table',
		 'Detach it, or make the rollup on the server where its rows are.'),
		(EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = ANY (members)),
		 'a subscription writes to it, and triggers do not fire for that',
		 'Make the rollup on the publisher, and publish the target.'),
		((SELECT bool_or(@extschema@._roaring64_helpers_distributed(m::regclass)) FROM unnest(members) AS m),
		 'it is distributed by Citus, which does not fire the triggers',
		 'Fill the sets with INSERT ... SELECT ... GROUP BY ... ON CONFLICT (key) DO UPDATE SET s = t.s | excluded.s.'),
		(keys = '{}' AND period_column IS NULL OR array_position(keys, NULL) IS NOT NULL, 'there are no key columns',
		 'Name them: key_columns => ''{user_id}'', or a period column.'),
		(id_column IS NULL, 'there is no id column', 'Name it: id_column => ''message_id''.'),
		(period_column IS NULL AND given->>'period' IS NOT NULL, 'there is a period but no period column',
		 'Name it: period_column => ''created_at''.'),
		(deletes NOT IN ('follow', 'keep'), format('deletes cannot be %L', deletes), 'Use follow or keep.'),
		(set_names = '{}', 'there are no sets',
		 'Give each a name and a condition: sets => ''{"pushed": true, "read": "is_read"}''.'),
		((SELECT max(octet_length(n)) FROM unnest(set_names) AS n) > 63, 'the name of a set is too long',
		 'A name has at most 63 bytes.'),
		(octet_length(target) NOT BETWEEN 1 AND 54, format('the target cannot be called %L', target),
		 'A name has 1 to 54 bytes: what belongs to it has longer ones.'),
		(deletes = 'follow' AND c.relkind IN ('r', 'p') AND (SELECT count(*) FROM pg_attribute
			WHERE attrelid = source AND attname = ANY (keys || id_column)) = cardinality(keys) + 1
		 AND NOT @extschema@._roaring64_rollup_is_indexed(source, keys, id_column),
		 'to follow deletes, rows are looked up by key and id, and there is no index for that',
		 format('CREATE INDEX%s ON %s (%s%s%I); or use deletes => ''keep''.',
				CASE c.relkind WHEN 'p' THEN '' ELSE ' CONCURRENTLY' END, source,
				(SELECT string_agg(quote_ident(n) || ', ', '') FROM unnest(keys) AS n),
				(SELECT '(' || @extschema@._roaring64_rollup_period(given->>'period', attname,
					@extschema@._roaring64_dict_base_type(atttypid)) || '), '
				 FROM pg_attribute WHERE attrelid = source AND attname = period_column), coalesce(id_column, ''))))
		AS v (holds, reason, remedy) WHERE v.holds;
	RETURN QUERY SELECT format(v.reason, a.attname, format_type(a.atttypid, a.atttypmod)), v.remedy
	FROM pg_attribute AS a, LATERAL (VALUES
		(NOT attnotnull AND attname = ANY (keys || period_column)
		 AND current_setting('server_version_num')::integer < 150000,
		 'column %I may be null, and a unique index of PostgreSQL 14 takes nulls as different', 'Make it NOT NULL.'),
		(NOT attnotnull AND attname = ANY (keys)
		 AND (SELECT typtype FROM pg_type WHERE oid = @extschema@._roaring64_dict_base_type(atttypid)) = 'c',
		 'column %I is of type %s and may be null, which a row of nulls is not, though IS NULL says so',
			'Make it NOT NULL.'),
		(attname = id_column AND atttypid <> ALL ('{smallint,integer,bigint}'::regtype[]), 'column %I is of type %s',
		 'Ids must be smallint, integer or bigint. For another type, give each value a number: SELECT '
		 'roaring64_dict_create(...), and keep the number in a column of the table.'),
		(attname = period_column AND @extschema@._roaring64_rollup_period(
			given->>'period', attname, @extschema@._roaring64_dict_base_type(atttypid)) IS NULL,
		 format('column %%I of type %%s has no period %L', given->>'period'), 'Of a date, timestamp or timestamptz, use '
		 'day, week, month, quarter or year or, of a timestamp, what divides a day: hour, minute, ''15 minutes''.'),
		(attgenerated = 'v' AND attname = ANY (keys || id_column || period_column),
			'column %I is a virtual generated column',
		 'Triggers do not see it: make it STORED.'))
		AS v (holds, reason, remedy)
	WHERE a.attrelid = source AND a.attnum > 0 AND v.holds
	ORDER BY a.attnum;
	RETURN QUERY SELECT format('there is no column %I', n), format('The table has %s.', (
		SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = source AND attnum > 0 AND NOT attisdropped))
	FROM unnest(keys || id_column || period_column) AS n
	WHERE n <> ALL (ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = source AND attnum > 0)) ORDER BY n;
	RETURN QUERY SELECT format('the target would have two columns %I', n),
		'Name each column of the key, the period''s column and each set once.'
	FROM unnest(keys || period_column || set_names) AS n WHERE n IS NOT NULL GROUP BY n HAVING count(*) > 1 ORDER BY n;
	RETURN QUERY SELECT format('%s columns of the key may be null', count(*)),
		'At most three can be: make others NOT NULL.'
	FROM pg_attribute WHERE attrelid = source AND attname = ANY (keys || period_column)
		AND NOT attnotnull HAVING count(*) > 3;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_check(regclass, name, json) IS 'what prevents a rollup';

-- Whether rows of a key and an id are found by an index: one that begins with these columns, in
-- any order, or a unique one of the id.  Between them there may be an expression, such as that of
-- a period.
CREATE FUNCTION _roaring64_rollup_is_indexed(source regclass, keys text[], id_column text)
RETURNS boolean LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT EXISTS (
		SELECT FROM pg_index AS x JOIN pg_class AS c ON c.oid = indexrelid JOIN pg_am AS m ON m.oid = relam,
			LATERAL (SELECT array_agg(attname::text ORDER BY i) AS names
				FROM unnest(indkey::int2[]) WITH ORDINALITY AS k (attnum, i)
					JOIN pg_attribute AS a ON attrelid = indrelid AND a.attnum = k.attnum WHERE i <= indnkeyatts) AS n
		WHERE indrelid = source AND indisvalid AND indpred IS NULL AND amname = 'btree'
			AND (names[1 : cardinality(keys) + 1] @> (keys || id_column) OR indisunique AND names = ARRAY[id_column]))
$$;
COMMENT ON FUNCTION _roaring64_rollup_is_indexed(regclass, text[], text) IS 'whether an index finds key and id';

-- The operators that an expression uses and that are not built in: what IS DISTINCT FROM, NULLIF,
-- CASE and comparisons of rows found by search_path cannot be written with its schema.  A dump
-- writes the expression, and is restored with another search_path.
CREATE FUNCTION _roaring64_rollup_meaning(class regclass, object oid)
RETURNS text[] LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT ARRAY(
		SELECT DISTINCT format('%s(%s,%s)', oprname, l.typname, r.typname) COLLATE "C"
		FROM pg_depend JOIN pg_operator AS o ON o.oid = refobjid
			LEFT JOIN pg_type AS l ON l.oid = oprleft JOIN pg_type AS r ON r.oid = oprright
		WHERE classid = class AND refclassid = 'pg_operator'::regclass AND objid = CASE class
			WHEN 'pg_rewrite'::regclass THEN (SELECT oid FROM pg_rewrite WHERE ev_class = object) ELSE object END
		ORDER BY 1)
$$;
COMMENT ON FUNCTION _roaring64_rollup_meaning(regclass, oid) IS 'operators that an expression uses';

-- Refuses a condition unless it is what CREATE INDEX accepts, immutable and about the row
-- alone, and returns its meaning.  So an index is created on an empty copy of the table, which has the
-- same name, because the condition may use that.  It is read with the caller's search_path.
--
-- Before that, it must be one expression, and nothing of it is executed: it is
-- parsed in two kinds of brackets.  What closes one kind does not close the
-- other, so neither is closed by the condition.  The bodies of SQL functions are
-- strings, and are only parsed if a parameter is of any type.
CREATE FUNCTION _roaring64_rollup_condition(source regclass, id_column name, set_name text, condition text, path text)
RETURNS text[] LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
SET check_function_bodies = on
AS $$
DECLARE
	copy text := (SELECT quote_ident(relname) FROM pg_class WHERE oid = source);
	body text;
	probe regclass;
	problem text;
	meaning text[];
BEGIN
	FOREACH body IN ARRAY ARRAY[E'SELECT (%s\n)', E'SELECT ARRAY[%s\n]'] LOOP
		EXECUTE format('CREATE FUNCTION pg_temp._roaring64_probe(anyelement) RETURNS void LANGUAGE sql AS %L',
					   format(body, condition));
		DROP FUNCTION pg_temp._roaring64_probe(anyelement);
	END LOOP;
	EXECUTE format('CREATE TEMPORARY TABLE %s (LIKE %s INCLUDING GENERATED)', copy, source);
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.format(E'CREATE INDEX ON pg_temp.%s (%I) WHERE (%s\n)', copy, id_column, condition);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	SELECT indexrelid, CASE WHEN indpred::text ~ ':varattno 0 ' THEN 'it uses the row as a whole, not its columns' ELSE (
			SELECT min(o.identity) || ' ends with this session' FROM pg_depend, pg_identify_object(refclassid, refobjid,
				0) AS o
			WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid <> indrelid AND o.schema ~ '^pg_temp') END
	INTO STRICT probe, problem
	FROM pg_index WHERE indrelid = ('pg_temp.' || copy)::regclass;
	IF problem IS NOT NULL THEN
		RAISE feature_not_supported USING MESSAGE = problem;
	END IF;
	meaning := @extschema@._roaring64_rollup_meaning('pg_class', probe);
	EXECUTE 'DROP TABLE pg_temp.' || copy;
	RETURN meaning;
EXCEPTION
	WHEN lock_not_available OR deadlock_detected OR serialization_failure OR read_only_sql_transaction
		OR insufficient_privilege THEN
		RAISE;
	WHEN OTHERS THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('set %I cannot have the condition %s: %s', set_name, condition, SQLERRM),
			HINT = 'A condition must be what CREATE INDEX accepts: immutable, and about the row alone.';
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_condition(regclass, name, text, text, text) IS 'checks the condition of a set';

-- Creates what a row of the source means: as a view, its key k1, k2 ..., of which a period is the
-- last, its id, as it is and as a bigint, and whether it is in the sets c1, c2 ...; nothing if it
-- is in none.  And as a function of a row, through whose type, a domain, the planner sees, and
-- which nobody else's function matches better.  Both are parsed with the caller's
-- search_path, so that all else has its schema.
CREATE FUNCTION _roaring64_rollup_define(source regclass, names jsonb, given json, path text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
	keys text[] := ARRAY(SELECT quote_ident(k) FROM json_array_elements_text(given->'key_columns') AS k)
		|| ARRAY(SELECT @extschema@._roaring64_rollup_period(
					given->>'period', attname, @extschema@._roaring64_dict_base_type(atttypid))
				 FROM pg_attribute WHERE attrelid = source AND attname = given->>'period_column');
	conditions text[] := ARRAY(SELECT value || E'\n' FROM json_each_text(given->'sets'));
	facts text := format('SELECT %s, %I AS i, %2$I::bigint AS id, %s FROM ',
		(SELECT string_agg(format('%s AS k%s', e, i), ', ' ORDER BY i) FROM unnest(keys) WITH ORDINALITY AS k (e, i)),
		given->>'id_column',
		(SELECT string_agg(format('(%s) IS TRUE AS c%s', e, i), ', ' ORDER BY i) FROM unnest(conditions) WITH ORDINALITY
			AS c (e, i)));
	-- in this order, by which a row without an id tells as much of the conditions as any other
	in_a_set text := format(' WHERE CASE WHEN (%s) IS TRUE THEN %I IS NOT NULL ELSE false END',
							array_to_string(conditions, ') IS TRUE OR ('), given->>'id_column');
	fields text;
	alias text := (SELECT quote_ident(relname) FROM pg_class WHERE oid = source);
BEGIN
	EXECUTE @extschema@._roaring64_fill('CREATE DOMAIN {row} AS {source}; GRANT USAGE ON TYPE {row} TO PUBLIC', names);
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.concat('CREATE VIEW ', names OPERATOR(pg_catalog.->>) 'rows', ' AS ', facts,
		names OPERATOR(pg_catalog.->>) 'only', names OPERATOR(pg_catalog.->>) 'source', in_a_set);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	-- those columns that the view uses
	SELECT string_agg(DISTINCT format('(source_row::%s).%I AS %2$I', names->>'source', attname), ', ') INTO fields
	FROM pg_rewrite AS w JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = w.oid
		JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
	WHERE ev_class = (names->>'rows')::regclass AND refobjid = source AND attnum > 0;
	PERFORM set_config('search_path', path, true);
	EXECUTE pg_catalog.format('CREATE FUNCTION %s(source_row %s) RETURNS SETOF %s LANGUAGE sql IMMUTABLE PARALLEL SAFE '
		'BEGIN ATOMIC %s(SELECT %s) AS %s%s; END',
		names OPERATOR(pg_catalog.->>) 'facts', names OPERATOR(pg_catalog.->>) 'row', names OPERATOR(pg_catalog.->>) 'rows',
		facts, fields, alias, in_a_set);
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	EXECUTE @extschema@._roaring64_fill('GRANT EXECUTE ON FUNCTION {facts} TO PUBLIC', names);
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_define(regclass, jsonb, json, text) IS 'creates what a row means';

-- Makes or replaces the functions of the triggers.  All names in those are qualified, so
-- search_path, which takes as long to set as a row to append, is set there only for what
-- others' operators, functions and types (from OID 16384 on), also those of elements, look up.
CREATE FUNCTION _roaring64_rollup_functions(names jsonb, replace text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ours oid[] := ARRAY[(names->>'row')::regtype, (SELECT typbasetype FROM pg_type WHERE oid = (names->>'row')::regtype),
						(SELECT reltype FROM pg_class WHERE oid = (names->>'rows')::regclass)];
	others boolean := EXISTS (
		SELECT FROM pg_depend LEFT JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
		WHERE objid IN (to_regprocedure(format('%s(%s)', names->>'facts', names->>'row')),
						(SELECT indexrelid FROM pg_index WHERE indrelid = to_regclass(names->>'pending')))
			AND (atttypid >= 16384 OR refclassid <> ALL ('{pg_class,pg_namespace,pg_collation}'::regclass[])
				 AND refobjid <> ALL (ours)));
	event text;
	rows record;
BEGIN
	IF (names->>'partitioned')::boolean THEN
		rows := ('{facts}(NEW::{source}::{row})'::text, '{facts}(OLD::{source}::{row})'::text);
	ELSE
		rows := ('(SELECT f.* FROM roaring64_new AS r, {facts}(ROW(r.*)::{row}) AS f)'::text,
				 '(SELECT f.* FROM roaring64_old AS r, {facts}(ROW(r.*)::{row}) AS f)'::text);
	END IF;
	-- the error of a writer shows the statement, and so the comment
	names := names || jsonb_build_object('renamed', CASE WHEN (names->>'partitioned')::boolean
		THEN ' /* was the table renamed? CALL roaring64_rollup_fold */' ELSE '' END,
		'replace', replace, 'settings', CASE WHEN others THEN 'SET search_path = pg_catalog, pg_temp' ELSE '' END,
		'new', @extschema@._roaring64_fill(rows.f1, names), 'old', @extschema@._roaring64_fill(rows.f2, names));
	FOREACH event IN ARRAY CASE WHEN (names->>'keeps')::boolean THEN '{insert,update}'
		ELSE '{insert,update,delete,truncate}' END::text[] LOOP
		names := names || jsonb_build_object('function', names->event, 'childless', CASE
			WHEN event = 'update' AND NOT (names->>'partitioned')::boolean
			THEN @extschema@._roaring64_rollup_text(names, 'childless') ELSE '' END);
		EXECUTE @extschema@._roaring64_rollup_text(names || jsonb_build_object('body', quote_literal(CASE event
			WHEN 'truncate' THEN @extschema@._roaring64_rollup_text(names, 'truncate')
			ELSE @extschema@._roaring64_rollup_text(names, 'changes=' || event || ' body') END)), 'append');
	END LOOP;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_functions(jsonb, text) IS 'creates the functions of a rollup''s triggers';

-- Creates the triggers.  A table without partitions has them for each statement, which read all its
-- rows at once, and one for each row, which never runs: with it, PostgreSQL refuses to make the
-- table a part or a child of another one, through which rows would come unseen.  A partitioned
-- table has them for each row: PostgreSQL itself gives these to all partitions, also to those
-- that come later, and takes them away from those that go.  All name the target in a condition
-- that is true, so that it is not dropped without them.
CREATE FUNCTION _roaring64_rollup_attach(names jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE (
		SELECT string_agg(@extschema@._roaring64_fill(
			'CREATE TRIGGER {trigger} {event} ON {source} {kind} WHEN ({condition}) EXECUTE FUNCTION {function}()',
			names || jsonb_build_object('trigger', quote_ident(names->>'name' || suffix), 'event', event,
				'kind', kind, 'function', names->func, 'condition', CASE suffix WHEN '_rollup' THEN 'false'
					ELSE (names->>'target_text') || '::pg_catalog.regclass IS NOT NULL' END)), '; ')
		FROM (VALUES
			('_insert', 'insert', 'AFTER INSERT', 'FOR EACH ROW', true, true),
			('_update', 'update', 'AFTER UPDATE', 'FOR EACH ROW', true, true),
			('_delete', 'delete', 'AFTER DELETE', 'FOR EACH ROW', true, false),
			('_rollup', 'insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS roaring64_new FOR EACH ROW', false, true),
			('_insert', 'insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS roaring64_new FOR EACH STATEMENT', false, true),
			('_update', 'update', 'AFTER UPDATE',
			 'REFERENCING OLD TABLE AS roaring64_old NEW TABLE AS roaring64_new FOR EACH STATEMENT', false, true),
			('_delete', 'delete', 'AFTER DELETE', 'REFERENCING OLD TABLE AS roaring64_old FOR EACH STATEMENT', false, false),
			('_truncate', 'truncate', 'BEFORE TRUNCATE', 'FOR EACH STATEMENT', NULL, false))
			AS t (suffix, func, event, kind, by_row, keeps)
		WHERE by_row IS DISTINCT FROM NOT (names->>'partitioned')::boolean AND (keeps OR NOT (names->>'keeps')::boolean));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_attach(jsonb) IS 'creates the triggers of a rollup';

-- The roles that may write to the source now, to a partition of it, or to a table from which a
-- foreign key cascades to it.
CREATE FUNCTION _roaring64_rollup_writers(source regclass)
RETURNS text LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	WITH RECURSIVE written (oid) AS (
		SELECT source::oid
		UNION SELECT k.oid FROM written AS w, LATERAL (
			SELECT inhrelid FROM pg_inherits WHERE inhparent = w.oid
			UNION ALL SELECT confrelid FROM pg_constraint
			WHERE contype = 'f' AND conrelid = w.oid AND ('{c,n,d}' && ARRAY[confdeltype, confupdtype])) AS k (oid))
	SELECT string_agg(DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, ', ')
	FROM written JOIN pg_class AS c USING (oid), LATERAL (
		SELECT relowner, 'INSERT' UNION ALL SELECT grantee, privilege_type FROM aclexplode(relacl)
		UNION ALL SELECT a.grantee, a.privilege_type FROM pg_attribute, aclexplode(attacl) AS a WHERE attrelid = c.oid)
			AS w (grantee, privilege)
	WHERE privilege IN ('INSERT', 'UPDATE', 'DELETE')
$$;
COMMENT ON FUNCTION _roaring64_rollup_writers(regclass) IS 'roles that may write to the source of a rollup';

-- Creates, as the source's owner, all that a rollup has, and tries it with a row: what cannot run
-- is refused while nothing is there.
CREATE FUNCTION _roaring64_rollup_make(source regclass, target text, given json, path text)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
AS $$
DECLARE
	words text[] := parse_ident(target);
	parts jsonb := @extschema@._roaring64_rollup_parts(words[1], words[2]);
	names jsonb;
	meant jsonb;
	made text[];
	differing text;
BEGIN
	-- one at a time, without a writer who notices
	EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', source);
	meant := (SELECT jsonb_object_agg(key, @extschema@._roaring64_rollup_condition(source, given->>'id_column', key,
		value, path))
			  FROM json_each_text(given->'sets'));
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = source AND pg_get_userbyid(relowner) <> current_user;
	names := @extschema@._roaring64_rollup_names(parts, source, given);
	PERFORM @extschema@._roaring64_rollup_define(source, names, given, path);
	made := @extschema@._roaring64_rollup_meaning('pg_rewrite', (names->>'rows')::regclass);
	differing := (SELECT string_agg(quote_ident(key), ', ') FROM jsonb_each(meant) WHERE NOT to_jsonb(made) @> value);
	IF differing IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('the condition of %s would mean something else',
			differing);
	END IF;
	EXECUTE @extschema@._roaring64_rollup_text(names, 'tables');
	EXECUTE @extschema@._roaring64_rollup_text(names, CASE WHEN names->'keys' @> '[{"null": "DROP"}]' THEN 'null_key'
		ELSE 'key' END);
	EXECUTE format('INSERT INTO %s VALUES ($1, $2)', names->>'rollup') USING made, given;
	names := @extschema@._roaring64_rollup_names(parts, source, given);
	EXECUTE (SELECT string_agg(@extschema@._roaring64_rollup_statement(part, names), ';' ORDER BY i)
			 FROM unnest('{now,fold,copy,differs}'::text[]) WITH ORDINALITY AS p (part, i));
	PERFORM @extschema@._roaring64_rollup_functions(names, '');
	BEGIN
		EXECUTE @extschema@._roaring64_fill('SELECT count(f.*)
			FROM (SELECT ROW(s.*)::{row} FROM (SELECT * FROM {only}{source} LIMIT 1) AS s '
			'UNION ALL SELECT NULL) AS r (row), {facts}(r.row) AS f', names);
	EXCEPTION WHEN OTHERS THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('cannot make a rollup of %s: a condition fails with "%s"', source, SQLERRM),
			HINT = 'Conditions are evaluated with search_path = pg_catalog, pg_temp.';
	END;
	PERFORM @extschema@._roaring64_rollup_attach(names);
	EXECUTE format('GRANT INSERT ON %s TO %s', names->>'pending', @extschema@._roaring64_rollup_writers(source));
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_make(regclass, text, json, text) IS 'creates what a rollup has';

--
-- Rollups: sets that follow a table.  What users call.
--
-- A procedure with "SET search_path" cannot commit.  So procedures qualify all
-- names and leave the work to functions.
--

-- What there is of a rollup: the names of its parts, its arguments, and its source; of those
-- partitions that have the triggers, what is new once rows have come or gone unseen, by
-- which a fold knows what it has not copied; and the state.
CREATE FUNCTION _roaring64_rollup_state(rollup regclass, OUT parts jsonb, OUT given json, OUT source regclass,
										OUT partitions jsonb, OUT copied jsonb, OUT state text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	c pg_class := (SELECT c FROM pg_class AS c WHERE oid = rollup);
	other pg_class;
	members regclass[];
	meaning text[];
	disabled boolean;
	problem text;
BEGIN
	PERFORM @extschema@._roaring64_not_null('rollup', num_nulls(rollup));
	parts := @extschema@._roaring64_rollup_parts((SELECT nspname FROM pg_namespace WHERE oid = c.relnamespace),
		c.relname);
	members := ARRAY(SELECT to_regclass(parts->>m) FROM unnest('{rollup,pending,rows,now,differs}'::text[]) AS m);
	IF to_regprocedure((parts->>'fold') || '(tid,tid)') IS NULL OR (SELECT relkind FROM pg_class
		WHERE oid = members[1]) IS DISTINCT FROM 'r' THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a rollup', rollup),
			DETAIL = 'It was detached, has another name now, or never was one.',
			HINT = 'Create one with roaring64_rollup_create.';
	END IF;
	IF NOT pg_has_role(c.relowner, 'USAGE') THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', c.relname);
	END IF;
	SELECT relname, relowner INTO other.relname, other.relowner
	FROM (SELECT relname, relowner FROM pg_class WHERE oid = ANY (members)
		UNION ALL SELECT proname, proowner FROM (VALUES ('fold', '(tid,tid)'), ('copy', '()'), ('insert', '()'))
			AS f (part, arguments), pg_proc
		WHERE pg_proc.oid = to_regprocedure((parts->>part) || arguments)) AS o
	WHERE relowner <> c.relowner LIMIT 1;
	IF FOUND THEN
		RAISE insufficient_privilege USING
			MESSAGE = format('%I belongs to %s, and %s to %s', other.relname, other.relowner::regrole, rollup,
				c.relowner::regrole);
	END IF;
	EXECUTE format('SELECT given, meaning, copied FROM %s', members[1]) INTO given, meaning, copied;
	source := (SELECT tgrelid FROM pg_trigger
			   WHERE tgfoid = to_regprocedure((parts->>'insert') || '()') AND tgparentid = 0 LIMIT 1);
	SELECT v.problem INTO problem FROM (VALUES
		(given IS NULL, format('the rollup %s has lost its row in %s', rollup, members[1])),
		(source IS NULL, format('the rollup %s has lost its triggers', rollup)),
		(array_position(members, NULL) IS NOT NULL, format('the rollup %s has lost a part', rollup)),
		(@extschema@._roaring64_has_children(source),
		 format('%s has children, whose rows the rollup %s does not follow', source, rollup)),
		((SELECT relforcerowsecurity FROM pg_class WHERE oid = source),
			format('%s has row security that holds for its owner', source)),
		(EXISTS (SELECT FROM pg_class WHERE oid = ANY (members || rollup || source) AND relpersistence = 'u'),
		 format('a table of the rollup %s is unlogged: after a crash it would be empty, but not the rest', rollup)),
		(meaning <> @extschema@._roaring64_rollup_meaning('pg_rewrite', members[3]),
		 format('the conditions of the rollup %s do not mean what they meant, %s: it was restored with another search_path',
				rollup, nullif(meaning, '{}'))))
		AS v (holds, problem) WHERE v.holds LIMIT 1;
	IF problem IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = problem,
			HINT = format('Mend that, or call roaring64_rollup_drop(%L).', parts->>'target');
	END IF;
	-- a partition that was detached and comes back has another trigger, and one that was
	-- truncated another file
	SELECT coalesce(jsonb_object_agg(t.tgrelid, jsonb_build_array(t.oid, CASE WHEN given->>'deletes' = 'follow'
		THEN relfilenode END))
			FILTER (WHERE relkind <> 'p' AND t.tgrelid <> source), '{}'), bool_or(t.tgenabled NOT IN ('O', 'A'))
	INTO partitions, disabled
	FROM pg_trigger AS t JOIN pg_class AS p ON p.oid = t.tgrelid
	WHERE t.tgfoid = to_regprocedure((parts->>'insert') || '()');
	disabled := disabled OR EXISTS (
		SELECT FROM pg_trigger WHERE tgenabled NOT IN ('O', 'A')
			AND tgfoid IN (SELECT to_regprocedure((parts->>f) || '()') FROM unnest('{update,delete}'::text[]) AS f));
	state := CASE WHEN copied IS NULL THEN 'copying' WHEN disabled THEN 'triggers disabled'
		WHEN partitions <> copied AND (given->>'deletes' = 'follow' OR NOT copied @> partitions)
			THEN 'partitions changed' ELSE 'following' END;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_state(regclass) IS 'what there is of a rollup';

-- Folds exclude each other, and so do the steps of making a rollup.  The role is that of the owner
-- until the transaction ends.
CREATE FUNCTION _roaring64_rollup_lock(rollup regclass)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE',
		(@extschema@._roaring64_rollup_state(rollup)).parts->>'rollup');
	PERFORM set_config('role', pg_get_userbyid(relowner)::text, true)
	FROM pg_class WHERE oid = rollup AND pg_get_userbyid(relowner) <> current_user;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_lock(regclass) IS 'lock for a fold';

-- Merges some blocks of what is pending; a place is given in bytes.  Rows are sorted by key, so
-- memory is for one set, whatever their number.
CREATE FUNCTION _roaring64_rollup_fold(rollup regclass, done bigint, bytes bigint)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	block_size bigint := current_setting('block_size');
BEGIN
	PERFORM @extschema@._roaring64_rollup_lock(rollup);
	-- a statement of its own, whose snapshot is younger than the lock
	EXECUTE format('SELECT %s($1, $2)', (@extschema@._roaring64_rollup_state(rollup)).parts->>'fold')
	USING format('(%s,0)', done / block_size)::tid, format('(%s,0)', least((done + bytes) / block_size,
		4294967295))::tid;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_fold(regclass, bigint, bigint) IS 'merges some blocks of what is pending';

-- Brings to the sets, or to what is pending, what no trigger saw: the rows that were there before
-- the rollup, all at once; then those of a partition that has come with rows.  Where partitions
-- have gone whose rows should not stay, and after a restore or an upgrade, all sets are
-- compared with the rows.  Returns whether there was something to do.
CREATE FUNCTION _roaring64_rollup_catch_up(rollup regclass)
RETURNS boolean LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	m record;
	names jsonb;
	known jsonb;
	came regclass;
	keeps boolean;
BEGIN
	PERFORM @extschema@._roaring64_rollup_lock(rollup);
	m := @extschema@._roaring64_rollup_state(rollup);
	names := @extschema@._roaring64_rollup_names(m.parts, m.source, m.given);
	-- before the snapshot: an older one does not see the rows of a table that was rewritten
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', m.source);
	-- the functions of these triggers name the source, which may have another name now
	IF (names->>'partitioned')::boolean AND position(format('NEW::%s::', names->>'source') IN
		(SELECT prosrc FROM pg_proc WHERE oid = to_regprocedure((names->>'insert') || '()'))) = 0 THEN
		PERFORM @extschema@._roaring64_rollup_functions(names, 'OR REPLACE');
	END IF;
	keeps := names->>'keeps';
	m := @extschema@._roaring64_rollup_state(rollup);
	IF m.state = 'copying' THEN
		EXECUTE format('SELECT %s()', names->>'copy');
		EXECUTE format('UPDATE %s SET copied = $1', names->>'rollup') USING m.partitions;
		EXECUTE 'ANALYZE ' || rollup;
		RAISE NOTICE '% follows %', rollup, m.source;
		RETURN true;
	ELSIF m.copied = m.partitions THEN
		RETURN false;
	END IF;
	known := (SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(m.copied)
		WHERE m.partitions->key = value);
	IF known <> m.copied AND (NOT keeps OR known = '{}') THEN
		EXECUTE @extschema@._roaring64_rollup_text(names, 'repair');
		known := m.partitions;
	ELSE
		came := (SELECT key::oid FROM jsonb_each(m.partitions) WHERE NOT known ? key ORDER BY 1 LIMIT 1);
		IF (SELECT relkind FROM pg_class WHERE oid = came) = 'f' THEN
			RAISE object_not_in_prerequisite_state USING
				MESSAGE = format('partition %s is a foreign table, whose rows a rollup does not see', came), HINT = 'Detach it.';
		ELSIF came IS NOT NULL THEN
			EXECUTE format('LOCK TABLE ONLY %s IN ACCESS SHARE MODE', came);
			-- while that waited, it may have been detached
			IF (@extschema@._roaring64_rollup_state(rollup)).partitions->(came::oid::text) IS DISTINCT
				FROM m.partitions->(came::oid::text) THEN
				RETURN true;
			END IF;
			EXECUTE @extschema@._roaring64_fill('INSERT INTO {pending} ([columns: {c}, ...]) SELECT [columns: f.{c}, ...]
				FROM (SELECT {fields} FROM ONLY {came}) AS r,
					{facts}(ROW(r.*)::{row}) AS f', names || jsonb_build_object('came', came,
				-- in the order of the whole table
				'fields', (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
						   FROM pg_attribute WHERE attrelid = m.source AND attnum > 0 AND NOT attisdropped)));
			known := known || jsonb_build_object(came::oid::text, m.partitions->(came::oid::text));
		END IF;
	END IF;
	EXECUTE format('UPDATE %s SET copied = $1', names->>'rollup') USING known;
	RETURN true;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_catch_up(regclass) IS 'brings to a rollup what no trigger saw';

CREATE PROCEDURE roaring64_rollup_fold(rollup regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	step CONSTANT pg_catalog.int8 := 134217728;
	bytes pg_catalog.int8;
	done pg_catalog.int8;
BEGIN
	PERFORM @extschema@._roaring64_can_commit('roaring64_rollup_fold');
	LOOP
		-- first, as a partition that cannot be copied must not keep it
		bytes := (@extschema@.roaring64_rollup_stats(rollup)).pending_bytes;
		done := 0;
		WHILE done OPERATOR(pg_catalog.<) bytes LOOP
			COMMIT;
			SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			PERFORM @extschema@._roaring64_rollup_fold(rollup, done, step);
			done := done OPERATOR(pg_catalog.+) step;
		END LOOP;
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		EXIT WHEN NOT @extschema@._roaring64_rollup_catch_up(rollup);
	END LOOP;
	COMMIT;
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_fold(regclass) IS 'merges what is pending of a rollup into its sets';

-- The arguments of a rollup that goes on or, with the defaults, of one that is to be made; an error
-- if there is another one.
CREATE FUNCTION _roaring64_rollup_given(source regclass, target text, arguments json, OUT given json,
	OUT is_new boolean, OUT refused text)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	words text[] := parse_ident(target);
	before record;
BEGIN
	IF json_typeof(arguments->'sets') = 'object' THEN
		PERFORM @extschema@._roaring64_not_null('the condition of a set', num_nulls(value))
		FROM json_each_text(arguments->'sets');
	END IF;
	given := json_strip_nulls(arguments);
	is_new := to_regclass(target) IS NULL OR to_regclass(@extschema@._roaring64_rollup_parts(words[1],
		words[2])->>'rollup') IS NULL;
	IF is_new THEN
		given := json_strip_nulls(json_build_object(
			'key_columns', given->'key_columns', 'id_column', given->'id_column', 'sets', given->'sets', 'period_column',
				given->'period_column',
			'period', coalesce(given->>'period', CASE WHEN given->>'period_column' IS NOT NULL THEN 'month' END),
			'deletes', coalesce(given->>'deletes', 'follow')));
		SELECT string_agg(format('- %s. %s', reason, remedy), E'\n') INTO refused
		FROM @extschema@._roaring64_rollup_check(source, words[2], given);
		RETURN;
	END IF;
	before := @extschema@._roaring64_rollup_state(target::regclass);
	IF before.source <> source THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the rollup %I is of another table, %s', words[2], before.source);
	ELSIF before.given::jsonb || given::jsonb <> before.given::jsonb THEN
		RAISE invalid_parameter_value USING
			MESSAGE = format('the rollup %I was started with other arguments', words[2]),
			DETAIL = format('They were %s.', before.given),
			HINT = format('Omit them to go on, or call roaring64_rollup_drop(%L) to start over.', target);
	END IF;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_given(regclass, text, json) IS 'arguments of a rollup';

-- Makes it in a transaction of its own; a fold takes the other steps, also after a crash or an error.
CREATE PROCEDURE roaring64_rollup_create(source regclass, target text, key_columns name[] DEFAULT NULL,
										 id_column name DEFAULT NULL, sets json DEFAULT NULL,
										 period_column name DEFAULT NULL, period text DEFAULT NULL, deletes text DEFAULT NULL)
LANGUAGE plpgsql
AS $$
DECLARE
	path pg_catalog.text := pg_catalog.current_setting('search_path');
	named pg_catalog.text;
	given pg_catalog.record;
BEGIN
	PERFORM @extschema@._roaring64_can_commit('roaring64_rollup_create');
	PERFORM @extschema@._roaring64_not_null('source and target', pg_catalog.num_nulls(source, target));
	named := @extschema@._roaring64_new_table(target, pg_catalog.current_schema()::pg_catalog.text);
	COMMIT;
	SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
	given := @extschema@._roaring64_rollup_given(source, named, pg_catalog.json_build_object('key_columns', key_columns,
		'id_column', id_column, 'sets', sets, 'period_column', period_column, 'period', period, 'deletes', deletes));
	IF given.refused IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = pg_catalog.format('cannot make a rollup of %s', source), DETAIL = given.refused;
	ELSIF given.is_new THEN
		PERFORM @extschema@._roaring64_rollup_make(source, named, given.given, path);
	END IF;
	COMMIT;
	CALL @extschema@.roaring64_rollup_fold(named::pg_catalog.regclass);
END
$$;
COMMENT ON PROCEDURE roaring64_rollup_create(regclass, text, name[], name, json, name, text, text) IS
'makes a table of sets that follows a table of rows, or goes on with it';

CREATE FUNCTION roaring64_rollup_stats(rollup regclass, OUT source regclass, OUT state text, OUT deletes text,
	OUT pending_bytes bigint)
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT m.source, m.state, m.given->>'deletes', pg_relation_size(to_regclass(m.parts->>'pending'))
	FROM @extschema@._roaring64_rollup_state(rollup) AS m
$$;
COMMENT ON FUNCTION roaring64_rollup_stats(regclass) IS 'state of a rollup, and what is pending';

CREATE FUNCTION roaring64_rollup_verify(rollup regclass, OUT key jsonb, OUT set_name name, OUT missing roaring64,
										OUT surplus roaring64)
RETURNS SETOF record LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 10
SET search_path = pg_catalog, pg_temp SET row_security = off
SET enable_hashagg = off SET jit = off SET work_mem = '64MB'
AS $$
DECLARE
	m record := @extschema@._roaring64_rollup_state(rollup);
BEGIN
	IF m.state = 'copying' THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('the rollup %s is not yet complete', rollup), HINT = format('CALL roaring64_rollup_fold(%L).',
				rollup);
	END IF;
	RETURN QUERY EXECUTE format('SELECT key, set_name, missing, surplus FROM %s ORDER BY key::text, set_name',
		m.parts->>'differs');
END
$$;
COMMENT ON FUNCTION roaring64_rollup_verify(regclass) IS 'sets of a rollup that differ from the rows of its source';

CREATE FUNCTION roaring64_rollup_detach(rollup regclass)
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	m record := @extschema@._roaring64_rollup_state(rollup);
	role_before text := current_setting('role');
BEGIN
	-- an old snapshot does not see all that is pending
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE invalid_transaction_state USING
			MESSAGE = 'roaring64_rollup_detach cannot be called in a transaction that is not READ COMMITTED';
	END IF;
	PERFORM @extschema@._roaring64_rollup_lock(rollup);
	EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', m.source);
	LOOP
		PERFORM @extschema@._roaring64_rollup_fold(rollup, 0, 1::bigint << 50);
		EXIT WHEN NOT @extschema@._roaring64_rollup_catch_up(rollup);
	END LOOP;
	EXECUTE @extschema@._roaring64_rollup_text(m.parts, 'end');
	PERFORM set_config('role', role_before, true) WHERE current_setting('role') <> role_before;
END
$$;
COMMENT ON FUNCTION roaring64_rollup_detach(regclass) IS 'ends a rollup and leaves its sets, which follow no longer';

-- The target may be gone, or the row, or the triggers: what is left is found by its name, and
-- dropped as the owner, who cannot drop what others own.  The target is dropped if the fold
-- writes to it, or else the table may be another one.
CREATE FUNCTION _roaring64_rollup_drop(rollup text, path name[])
RETURNS void LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 10000
SET search_path = pg_catalog, pg_temp SET client_min_messages = warning
AS $$
DECLARE
	words text[] := parse_ident(rollup);
	target text := words[cardinality(words)];
	place record;
	parts jsonb;
	source regclass;
	target_table regclass;
	role_before text := current_setting('role');
BEGIN
	PERFORM @extschema@._roaring64_not_null('rollup', num_nulls(rollup));
	SELECT n.oid, nspname, owner INTO place
	FROM (SELECT pronamespace, proowner FROM pg_proc
			WHERE proname = target || '_insert' AND prosrc ~ 'made by roaring64_rollup_create'
		UNION SELECT relnamespace, relowner FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
			WHERE relname = target || '_rollup' AND attname = 'meaning' AND atttypid = 'text[]'::regtype) AS o (schema, owner)
		JOIN pg_namespace AS n ON n.oid = schema
	WHERE nspname = ANY (CASE cardinality(words) WHEN 1 THEN path WHEN 2 THEN words[1:1] END)
	-- others may have one of this name in the same schema
	ORDER BY array_position(path, nspname), NOT pg_has_role(owner, 'USAGE') LIMIT 1;
	IF place IS NULL THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a rollup', target),
			DETAIL = 'It was detached, has another name now, or never was one.',
			HINT = 'Create one with roaring64_rollup_create.';
	ELSIF NOT pg_has_role(place.owner, 'USAGE') THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of rollup %s', target);
	END IF;
	parts := @extschema@._roaring64_rollup_parts(place.nspname, target);
	target_table := (SELECT oid FROM pg_class AS c
		WHERE relname = target AND relnamespace = place.oid AND relowner = place.owner AND EXISTS (
			SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND refclassid = 'pg_class'::regclass
				AND refobjid = c.oid AND objid = to_regprocedure((parts->>'fold') || '(tid,tid)')));
	-- with its partitions, before any of them is looked at
	source := (SELECT tgrelid FROM pg_trigger
		WHERE tgfoid = to_regprocedure((parts->>'insert') || '()') AND tgparentid = 0 LIMIT 1);
	EXECUTE coalesce('LOCK TABLE ' || source || ' IN ACCESS EXCLUSIVE MODE', '');
	PERFORM set_config('role', pg_get_userbyid(place.owner)::text, true)
	WHERE pg_get_userbyid(place.owner) <> current_user;
	EXECUTE @extschema@._roaring64_rollup_text(parts, 'end');
	EXECUTE coalesce('DROP TABLE ' || target_table, '');
	PERFORM set_config('role', role_before, true) WHERE current_setting('role') <> role_before;
END
$$;
COMMENT ON FUNCTION _roaring64_rollup_drop(text, name[]) IS 'drops a rollup that is in one of some schemas';

-- Only a function without a search_path of its own knows the caller's.
CREATE FUNCTION roaring64_rollup_drop(rollup text)
RETURNS void LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 10000
RETURN @extschema@._roaring64_rollup_drop(rollup, current_schemas(true));
COMMENT ON FUNCTION roaring64_rollup_drop(text) IS 'drops a rollup, its sets and everything else that it created';

-- The keys of which most elements are in a filter.
CREATE FUNCTION roaring64_facets(source regclass, set_column name, filter roaring64, n bigint DEFAULT 10,
								 OUT key jsonb, OUT count bigint)
RETURNS SETOF record LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 10000 ROWS 10
SET search_path = pg_catalog, pg_temp SET jit = off
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('table, column, filter and "n"', num_nulls(source, set_column, filter, n));
	-- OFFSET 0, because the condition would count again
	RETURN QUERY EXECUTE format(
		'SELECT (SELECT to_jsonb(k.*) FROM (SELECT %s) AS k), f.c FROM %s AS t CROSS JOIN LATERAL ('
		'SELECT @extschema@.roaring64_and_cardinality(t.%I, $1) AS c OFFSET 0) AS f WHERE f.c > 0 ORDER BY f.c DESC LIMIT $2',
		(SELECT string_agg('t.' || quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		 WHERE attrelid = source AND attnum > 0 AND NOT attisdropped
			AND @extschema@._roaring64_dict_base_type(atttypid) <> '@extschema@.roaring64'::regtype),
		source, set_column) USING filter, n;
END
$$;
COMMENT ON FUNCTION roaring64_facets(regclass, name, roaring64, bigint) IS
'keys of a table of sets with most elements in a filter';
