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
