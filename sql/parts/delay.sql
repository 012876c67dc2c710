--
-- Delayed messages.  A message is identified by its ledger and its entry in it,
-- as in stores that write a log in segments, and has a due time.  Their table
-- has a row for each bucket of time and ledger, with the set of the entries
-- that are due in that bucket:
--
--		bucket timestamptz, ledger bigint, entries roaring64,
--		PRIMARY KEY (bucket, ledger)
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
-- ordinary ones with bound parameters.  Functions that lock several rows do so
-- in the order of the key, so they do not deadlock.
--

CREATE FUNCTION roaring64_delay_create(name text, width interval DEFAULT '1 second')
RETURNS regclass
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE COST 1000
AS $$
DECLARE
	parts pg_catalog.text[] := pg_catalog.parse_ident(name);
	delay pg_catalog.text;
BEGIN
	-- search_path is the caller's, so that the table is made where it is expected
	IF pg_catalog.cardinality(parts) OPERATOR(pg_catalog.=) 1 THEN
		parts := pg_catalog.array_prepend(pg_catalog.current_schema()::pg_catalog.text, parts);
	END IF;
	SELECT pg_catalog.string_agg(pg_catalog.quote_ident(part), '.') INTO delay
	FROM pg_catalog.unnest(parts) AS part;

	-- refuses a width that is not positive, or has months
	PERFORM pg_catalog.date_bin(width, '2000-01-01 00:00:00+00', '2000-01-01 00:00:00+00');
	EXECUTE pg_catalog.format($sql$
		CREATE TABLE %s (
			bucket timestamp with time zone NOT NULL,
			ledger bigint NOT NULL,
			entries @extschema@.roaring64 NOT NULL,
			PRIMARY KEY (bucket, ledger),
			CONSTRAINT bucket_width CHECK (bucket OPERATOR(pg_catalog.=)
				pg_catalog.date_bin(%L, bucket, '2000-01-01 00:00:00+00')))
		$sql$, delay, width);
	RETURN delay;
END $$;
COMMENT ON FUNCTION roaring64_delay_create(text, interval) IS
'creates a table of delayed messages with time buckets of that width';

-- The other functions call this first.  Privileges are checked by the
-- statements themselves; here it is said which ones are needed.
CREATE FUNCTION roaring64_delay_width(delay regclass, VARIADIC needs text[] DEFAULT '{SELECT}')
RETURNS interval
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval := (SELECT substring(pg_get_expr(conbin, conrelid) FROM $re$date_bin\('([^']+)'$re$)
					   FROM pg_constraint WHERE conrelid = delay AND conname = 'bucket_width');
BEGIN
	IF width IS NULL THEN
		RAISE '"%" is not a table of delayed messages', delay USING
			ERRCODE = 'wrong_object_type',
			DETAIL = 'It has no constraint "bucket_width", which stores the width of the buckets.',
			HINT = 'Create one with roaring64_delay_create.';
	END IF;
	FOR i IN 1 .. cardinality(needs) LOOP
		IF NOT (CASE needs[i] WHEN 'DELETE' THEN has_table_privilege(delay, 'DELETE')
				ELSE has_any_column_privilege(delay, needs[i]) END) THEN
			RAISE 'permission denied for table %', delay USING
				ERRCODE = 'insufficient_privilege',
				DETAIL = format('%s is needed.', array_to_string(needs, ', '));
		END IF;
	END LOOP;
	RETURN width;
END $$;
COMMENT ON FUNCTION roaring64_delay_width(regclass, text[]) IS
'width of the time buckets of a table of delayed messages';

-- Not STRICT, and neither is the next one: with a NULL argument, a message
-- would be lost silently.  The columns of the table refuse NULLs.
CREATE FUNCTION roaring64_delay_add(delay regclass, ledger bigint, entry bigint,
									due timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval := @extschema@.roaring64_delay_width(delay, 'SELECT', 'INSERT', 'UPDATE');
	added bigint;
BEGIN
	EXECUTE format($sql$
		INSERT INTO %s AS t (bucket, ledger, entries)
		VALUES (date_bin($1, $2, '2000-01-01 00:00:00+00'), $3,
			'{}'::@extschema@.roaring64 OPERATOR(@extschema@.|) $4)
		ON CONFLICT (bucket, ledger) DO UPDATE
		SET entries = t.entries OPERATOR(@extschema@.|) $4
		WHERE NOT t.entries OPERATOR(@extschema@.@>) $4
		$sql$, delay)
	USING width, due, ledger, entry;
	GET DIAGNOSTICS added = ROW_COUNT;
	RETURN added > 0;
END $$;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint, bigint, timestamptz) IS
'adds a message; false if it is already there';

-- The aggregate ignores NULL, so the columns would not refuse a NULL entry.
CREATE FUNCTION roaring64_delay_add_many(delay regclass, ledgers bigint[],
										 entries bigint[], due timestamptz[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval;
BEGIN
	IF (cardinality(ledgers) = cardinality(entries)
		AND cardinality(due) = cardinality(entries)) IS NOT TRUE THEN
		RAISE 'arrays must have the same number of elements' USING
			ERRCODE = 'array_subscript_error',
			DETAIL = format('There are %s ledgers, %s entries and %s due times.',
							coalesce(cardinality(ledgers)::text, 'NULL'),
							coalesce(cardinality(entries)::text, 'NULL'),
							coalesce(cardinality(due)::text, 'NULL'));
	END IF;
	IF array_position(entries, NULL) IS NOT NULL THEN
		RAISE 'entries must not contain nulls' USING
			ERRCODE = 'null_value_not_allowed';
	END IF;
	width := @extschema@.roaring64_delay_width(delay, 'SELECT', 'INSERT', 'UPDATE');
	EXECUTE format($sql$
		INSERT INTO %s AS t (bucket, ledger, entries)
		SELECT date_bin($1, m.due, '2000-01-01 00:00:00+00') AS bucket, m.ledger,
			@extschema@.roaring64_agg(m.entry)
		FROM unnest($2, $3, $4) AS m (ledger, entry, due)
		GROUP BY 1, 2 ORDER BY 1, 2
		ON CONFLICT (bucket, ledger) DO UPDATE
		SET entries = t.entries OPERATOR(@extschema@.|) excluded.entries
		WHERE NOT t.entries OPERATOR(@extschema@.@>) excluded.entries
		$sql$, delay)
	USING width, ledgers, entries, due;
END $$;
COMMENT ON FUNCTION roaring64_delay_add_many(regclass, bigint[], bigint[], timestamptz[]) IS
'adds a message for each position in the arrays';

-- Fetches and locks rows one by one, in the order of delivery, until they have
-- as many messages as are wanted.  Rows that are locked by others are skipped,
-- so concurrent takers get messages of their own without waiting.  A row has at
-- least one message, hence the LIMIT, which keeps the planner from sorting the
-- whole table.
CREATE FUNCTION roaring64_delay_take(delay regclass,
									 until timestamptz DEFAULT now(),
									 "limit" bigint DEFAULT NULL,
									 OUT bucket timestamptz, OUT ledger bigint,
									 OUT entry bigint)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000 ROWS 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	due refcursor;
	size bigint;
	wanted bigint := "limit";
	part bigint;				-- of the last row, if not all of it
	buckets timestamptz[] := '{}';		-- of the rows that are taken whole
	ledgers bigint[] := '{}';
	n integer := 0;
	removed bigint := 0;
	kept bigint := 1;
BEGIN
	IF delay IS NULL THEN
		RETURN;
	END IF;
	PERFORM @extschema@.roaring64_delay_width(delay, 'SELECT', 'UPDATE', 'DELETE');
	OPEN due NO SCROLL FOR EXECUTE format($sql$
		SELECT bucket, ledger, @extschema@.roaring64_cardinality(entries) FROM %s
		WHERE bucket <= $1 ORDER BY bucket, ledger LIMIT $2
		FOR UPDATE SKIP LOCKED
		$sql$, delay) USING until, "limit";
	WHILE (wanted <> 0) IS NOT FALSE LOOP
		FETCH due INTO bucket, ledger, size;
		EXIT WHEN NOT FOUND;
		IF size > wanted THEN
			part := wanted;
			EXIT;
		END IF;
		n := n + 1;
		buckets[n] := bucket;
		ledgers[n] := ledger;
		wanted := wanted - size;
	END LOOP;
	CLOSE due;

	IF n > 0 THEN
		RETURN QUERY EXECUTE format($sql$
			SELECT t.bucket, t.ledger, @extschema@.roaring64_elements(t.entries)
			FROM %s AS t, unnest($1, $2) AS r (bucket, ledger)
			WHERE t.bucket = r.bucket AND t.ledger = r.ledger
			ORDER BY t.bucket, t.ledger
			$sql$, delay) USING buckets, ledgers;
		EXECUTE format($sql$
			DELETE FROM %s AS t USING unnest($1, $2) AS r (bucket, ledger)
			WHERE t.bucket = r.bucket AND t.ledger = r.ledger
			$sql$, delay) USING buckets, ledgers;
		GET DIAGNOSTICS removed = ROW_COUNT;
	END IF;
	IF part IS NOT NULL THEN
		RETURN QUERY EXECUTE format($sql$
			SELECT t.bucket, t.ledger,
				@extschema@.roaring64_elements(@extschema@.roaring64_slice(t.entries, 0, $3))
			FROM %s AS t WHERE t.bucket = $1 AND t.ledger = $2
			$sql$, delay) USING bucket, ledger, part;
		EXECUTE format($sql$
			UPDATE %s AS t SET entries = @extschema@.roaring64_slice(t.entries, $3)
			WHERE t.bucket = $1 AND t.ledger = $2
			$sql$, delay) USING bucket, ledger, part;
		GET DIAGNOSTICS kept = ROW_COUNT;
	END IF;
	IF removed <> n OR kept <> 1 THEN
		RAISE 'could not remove messages from "%"', delay USING
			ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'A row-level security policy, a trigger or a rule prevented it.';
	END IF;
END $$;
COMMENT ON FUNCTION roaring64_delay_take(regclass, timestamptz, bigint) IS
'removes and returns the messages that are due';

-- The row is locked first, and created if there is none.  If the function only
-- waited for a taker that has locked it, it would not see the row that the
-- taker puts in its place.
CREATE FUNCTION roaring64_delay_cancel(delay regclass, ledger bigint,
									   entry bigint, due timestamptz)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	width interval := @extschema@.roaring64_delay_width(delay, 'SELECT', 'INSERT', 'UPDATE', 'DELETE');
	bucket timestamptz;
	found bigint;
BEGIN
	bucket := date_bin(width, due, '2000-01-01 00:00:00+00');
	EXECUTE format($sql$
		INSERT INTO %s AS t (bucket, ledger, entries) VALUES ($1, $2, '{}')
		ON CONFLICT (bucket, ledger) DO UPDATE SET entries = t.entries WHERE false
		$sql$, delay) USING bucket, ledger;
	EXECUTE format($sql$
		UPDATE %s AS t SET entries = t.entries OPERATOR(@extschema@.-) $3
		WHERE t.bucket = $1 AND t.ledger = $2 AND t.entries OPERATOR(@extschema@.@>) $3
		$sql$, delay) USING bucket, ledger, entry;
	GET DIAGNOSTICS found = ROW_COUNT;
	EXECUTE format($sql$
		DELETE FROM %s AS t
		WHERE t.bucket = $1 AND t.ledger = $2 AND @extschema@.roaring64_is_empty(t.entries)
		$sql$, delay) USING bucket, ledger;
	RETURN found > 0;
END $$;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint, bigint, timestamptz) IS
'removes a message; false if it is not there';

CREATE FUNCTION roaring64_delay_next_due(delay regclass)
RETURNS timestamptz
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	due timestamptz;
BEGIN
	PERFORM @extschema@.roaring64_delay_width(delay);
	EXECUTE format('SELECT min(bucket) FROM %s', delay) INTO due;
	RETURN due;
END $$;
COMMENT ON FUNCTION roaring64_delay_next_due(regclass) IS
'when the first message is due';

CREATE FUNCTION roaring64_delay_count(delay regclass,
									  until timestamptz DEFAULT 'infinity')
RETURNS bigint
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	messages bigint;
BEGIN
	PERFORM @extschema@.roaring64_delay_width(delay);
	EXECUTE format($sql$
		SELECT coalesce(sum(@extschema@.roaring64_cardinality(entries)), 0)::bigint
		FROM %s WHERE bucket <= $1
		$sql$, delay) INTO messages USING until;
	RETURN messages;
END $$;
COMMENT ON FUNCTION roaring64_delay_count(regclass, timestamptz) IS
'number of messages due by then';
