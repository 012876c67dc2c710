--
-- The dedup helper: an id is claimed once, in the caller's transaction.
--
-- A set is four ordinary tables.  NAME has one row: the options, and the names
-- of the others, which are in its schema.  NAME_claims has a row for every id
-- that was claimed of late, and its primary key is what makes two transactions
-- that claim the same id wait for each other, and no others.  Fold moves
-- committed claims to NAME_chunks, where a row is a roaring64 of all ids of a
-- key that agree in their high bits.  NAME_windows has a row for a key where
-- its window needs one.
--
-- A claim looks into the chunks, inserts, and looks once more with a snapshot
-- taken after that.  If the id was claimed before, then either its row is still
-- in the claims and the insertion meets it; or the fold that removed it has
-- committed, and the second look sees the chunk.  Of folded ids the first look
-- alone would do, so that a duplicate writes nothing.
--
-- What a claim does is in C (src/dedup/), where plans are kept for each set; it
-- depends only on options that are never changed.  All else is here.
--
-- Locks are taken in one order, of tables NAME, windows, claims, chunks, and of
-- rows that of the primary key:
--
--	  claim				inserts claims
--	  forget			deletes claims, changes chunks
--	  fold				the row of NAME, so that one fold works at a time; then
--						windows, claims, chunks; waits for no row for long
--	  load, and claims	the key's row of windows, then chunks; they hold an
--	  of an owned set	ACCESS SHARE lock of NAME, because they have read it
--	  alter				NAME, ACCESS EXCLUSIVE
--
-- The generation of a row of chunks says when it goes.  With a window by time
-- it is a time before which all its ids were folded, on a clock of the set that
-- goes only while folds watch it, an eighth of the window at most from one to
-- the next.  So the clock of the server may jump: a jump back is no time, and a
-- jump forth an eighth, of which the window has four to spare.  With a window
-- by count generations are numbered, per key, and each takes as many ids as are
-- to be kept; when the next one begins, all before the one that is full go.  A
-- fold puts all claims of a key into one generation, however many: which of
-- them were the latest only the clock could tell.
-- Generations never get smaller, whatever the window is changed to, and what
-- was written under another window counts as written now.
--
-- Nothing is strict here: what is NULL and must not be is an error, lest a
-- claim that was never made look like one.  The extension is relocatable, and
-- its schema is looked up by every call.
--

-- The options of a set.  names are what the statements here are made of: the
-- tables of claims, chunks and windows, the extension's schema, the functions
-- that make an id an element of a chunk and back, and the highest id of a chunk.
-- generation is the one that is folded to now, cutoff the one that is to go.
CREATE FUNCTION roaring64_dedup_options(set regclass,
										OUT names text[],
										OUT remember interval,
										OUT keep bigint,
										OUT ascending boolean,
										OUT snowflake boolean,
										OUT owned boolean,
										OUT chunk_bits integer,
										OUT clock bigint,
										OUT generation bigint,
										OUT cutoff bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home text := (SELECT quote_ident(nspname) || '.' FROM pg_namespace AS n, pg_class AS c
				  WHERE n.oid = c.relnamespace AND c.oid = $1);
	ext text := (SELECT quote_ident(nspname) FROM pg_extension, pg_namespace AS n
				 WHERE extname = 'roaring64' AND n.oid = extnamespace);
	span bigint;
BEGIN
	IF $1 IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'dedup set must not be null';
	END IF;
	BEGIN
		EXECUTE format('SELECT ARRAY[s.claims, s.chunks, s.windows], s.remember, s.keep, s.ascending,'
					   ' s.snowflake, s.owned, s.chunk_bits, s.clock, s.cutoff FROM ONLY %s AS s', $1)
		INTO STRICT names, remember, keep, ascending, snowflake, owned, chunk_bits, clock, cutoff;
	EXCEPTION WHEN undefined_table OR undefined_column OR syntax_error OR no_data_found OR too_many_rows
			  OR wrong_object_type OR datatype_mismatch OR cannot_coerce THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a dedup set', $1),
			HINT = 'Name a table that roaring64_dedup_create has made.';
	END;
	FOR i IN 1 .. 3 LOOP
		names[i] := home || quote_ident(names[i]);
	END LOOP;
	names := names || CASE WHEN snowflake THEN
		ARRAY[ext, ext || '.roaring64_snowflake_fold', ext || '.roaring64_snowflake_unfold',
			format('(SELECT max(%1$s.roaring64_snowflake_unfold(e)) FROM %1$s.roaring64_elements(members) AS e)', ext)]
	ELSE
		ARRAY[ext, '', '', ext || '.roaring64_max(members)']
	END;
	generation := 0;
	IF remember IS NOT NULL THEN
		-- a generation is half a window long, and goes a window and a half later
		span := greatest(extract(epoch FROM remember) * 500000, 1);
		generation := (clock / span + 1) * span;
		cutoff := greatest(cutoff, (clock - 3 * span) / span * span - CASE WHEN clock < 3 * span THEN span ELSE 0 END);
	END IF;
END $$;
COMMENT ON FUNCTION roaring64_dedup_options(regclass) IS
'options of a dedup set, for its other functions';

-- What the window of a set can be.  A duration is kept in hours, as a day or a
-- month of an interval is not always as long.
CREATE FUNCTION roaring64_dedup_window(remember interval, keep bigint)
RETURNS interval
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF remember IS NOT NULL AND keep IS NOT NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'a dedup set cannot have both a window by time and one by count',
			HINT = 'Specify "remember" or "keep".';
	END IF;
	IF keep < 1 OR keep > 1000000000000 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"keep" must be between 1 and 1000000000000 ids';
	END IF;
	IF extract(year FROM remember) <> 0 OR extract(month FROM remember) <> 0 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"remember" must not include months or years',
			DETAIL = 'Months and years differ in length.',
			HINT = 'Use days, which count as 24 hours, or hours.';
	END IF;
	IF extract(epoch FROM remember) NOT BETWEEN 0.001 AND 36525 * 86400::bigint THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"remember" must be between a millisecond and 36525 days';
	END IF;
	RETURN make_interval(secs => extract(epoch FROM remember)::double precision);
END $$;
COMMENT ON FUNCTION roaring64_dedup_window(interval, bigint) IS
'checks the window of a dedup set';

-- The schema is an argument as only the caller knows its own search_path.
CREATE FUNCTION roaring64_dedup_create(name text,
									   remember interval DEFAULT NULL,
									   keep bigint DEFAULT NULL,
									   ascending boolean DEFAULT false,
									   snowflake boolean DEFAULT false,
									   owned boolean DEFAULT false,
									   chunk_bits integer DEFAULT NULL,
									   schema text DEFAULT pg_catalog.current_schema())
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ext text := (SELECT nspname FROM pg_extension, pg_namespace AS n
				 WHERE extname = 'roaring64' AND n.oid = extnamespace);
	parts text[];
	compression text := '';
	home text;
	base text;
BEGIN
	IF name IS NULL OR ascending IS NULL OR snowflake IS NULL OR owned IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'name and options of a dedup set must not be null';
	END IF;
	EXECUTE format('SELECT %I.roaring64_dedup_window($1, $2)', ext) INTO remember USING remember, keep;
	IF ascending AND remember IS NULL AND keep IS NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"ascending" has no effect without a window',
			HINT = 'Specify "remember" or "keep", too.';
	END IF;
	IF chunk_bits NOT BETWEEN 8 AND 60 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"chunk_bits" must be between 8 and 60';
	END IF;
	BEGIN
		parts := parse_ident(name);
	EXCEPTION WHEN invalid_parameter_value THEN
		RAISE invalid_name USING
			MESSAGE = format('"%s" is not a valid name', name),
			HINT = format('Put names with other characters than lower-case letters, digits and underscores in double quotes: %L.', quote_ident(name));
	END;
	base := parts[cardinality(parts)];
	home := CASE cardinality(parts) WHEN 1 THEN schema WHEN 2 THEN parts[1] END;
	IF home IS NULL THEN
		RAISE invalid_schema_name USING MESSAGE = format('no schema has been selected to create "%s" in', name);
	END IF;
	IF octet_length(base) > 63 - octet_length('_windows_pkey') THEN
		RAISE name_too_long USING
			MESSAGE = format('name of dedup set "%s" is too long', base),
			DETAIL = 'The names of its tables and indexes are up to 13 bytes longer.';
	END IF;
	IF to_regclass(format('%I.%I', home, base)) IS NOT NULL THEN
		RAISE duplicate_table USING MESSAGE = format('relation "%s" already exists', name);
	END IF;
	IF EXISTS (SELECT FROM pg_settings AS s WHERE s.name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)) THEN
		compression := 'COMPRESSION lz4';
	END IF;

	-- Claims come and go, so they are vacuumed for what was deleted rather than
	-- for a part of what there is; so are chunks, of which each fold replaces
	-- some.  A chunk of a kilobyte has room to grow on its page, and is not put
	-- out of line, where it takes longer to find, while two have.
	EXECUTE format('CREATE TABLE %I.%I (key text COLLATE "C" NOT NULL, id bigint NOT NULL,'
				   ' claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (key, id))'
				   ' WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)',
				   home, base || '_claims');
	EXECUTE format('CREATE TABLE %I.%I (key text COLLATE "C" NOT NULL, chunk bigint NOT NULL, generation bigint NOT NULL,'
				   ' members %I.roaring64 %s NOT NULL, PRIMARY KEY (key, chunk, generation))'
				   ' WITH (fillfactor = 85, toast_tuple_target = 3400, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,'
				   ' toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_threshold = 500)',
				   home, base || '_chunks', ext, compression);
	EXECUTE format('CREATE TABLE %I.%I (key text COLLATE "C" PRIMARY KEY, generation bigint, ids bigint, oldest bigint,'
				   ' forgotten bigint) WITH (fillfactor = 80)', home, base || '_windows');
	EXECUTE format('CREATE TABLE %I.%I (claims text PRIMARY KEY, chunks text NOT NULL, windows text NOT NULL,'
				   ' ascending boolean NOT NULL, snowflake boolean NOT NULL, owned boolean NOT NULL,'
				   ' chunk_bits integer NOT NULL, remember interval, keep bigint,'
				   ' clock bigint NOT NULL DEFAULT 0, clock_read timestamptz NOT NULL DEFAULT clock_timestamp(),'
				   ' cutoff bigint NOT NULL DEFAULT -1)', home, base);
	EXECUTE format('INSERT INTO %I.%I (claims, chunks, windows, ascending, snowflake, owned, chunk_bits, remember, keep)'
				   ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', home, base)
	USING base || '_claims', base || '_chunks', base || '_windows', ascending, snowflake, owned,
		coalesce(chunk_bits, CASE WHEN snowflake THEN 24 ELSE 20 END), remember, keep;
	RETURN format('%I.%I', home, base)::regclass;
END $$;
COMMENT ON FUNCTION roaring64_dedup_create(text, interval, bigint, boolean, boolean, boolean, integer, text) IS
'creates the tables of a dedup set';

-- Waits for all that work with the window.  The generations of the window by
-- count, which end here, are numbered on from the highest if it comes back.
CREATE FUNCTION roaring64_dedup_alter(set regclass,
									  remember interval DEFAULT NULL,
									  keep bigint DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ext text := (SELECT quote_ident(nspname) FROM pg_extension, pg_namespace AS n
				 WHERE extname = 'roaring64' AND n.oid = extnamespace);
	o record;
BEGIN
	EXECUTE format('SELECT * FROM %s.roaring64_dedup_options($1)', ext) INTO o USING $1;
	IF $2 IS NULL AND $3 IS NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = 'no window was given',
			HINT = 'Specify "remember" or "keep".';
	END IF;
	EXECUTE format('SELECT %s.roaring64_dedup_window($1, $2)', ext) INTO remember USING $2, $3;
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', $1);
	EXECUTE format('SELECT * FROM %s.roaring64_dedup_options($1)', ext) INTO o USING $1;
	EXECUTE format('UPDATE %s SET remember = $1, keep = $2, clock_read = CASE WHEN remember IS NULL'
				   ' THEN $3 ELSE clock_read END', $1)
	USING remember, keep, clock_timestamp();
	IF o.keep IS NOT NULL AND keep IS NULL THEN
		EXECUTE format('UPDATE %3$s SET generation = NULL, ids = NULL, oldest = NULL', VARIADIC o.names);
	END IF;
END $$;
COMMENT ON FUNCTION roaring64_dedup_alter(regclass, interval, bigint) IS
'changes the window of a dedup set';

CREATE FUNCTION roaring64_dedup_drop(set regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
BEGIN
	EXECUTE (SELECT format('SELECT * FROM %I.roaring64_dedup_options($1)', nspname) FROM pg_extension, pg_namespace AS n
			 WHERE extname = 'roaring64' AND n.oid = extnamespace) INTO o USING $1;
	EXECUTE format('DROP TABLE %s, %s, %s, %s', $1, o.names[1], o.names[2], o.names[3]);
END $$;
COMMENT ON FUNCTION roaring64_dedup_drop(regclass) IS
'drops the tables of a dedup set';

--
-- One id and many.  What only reads is STABLE and can be called on a standby.
--
CREATE FUNCTION roaring64_dedup_claim(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim(regclass, text, bigint) IS
'claims an id: true if it is new, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_claim_many(set regclass, key text, ids bigint[])
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim_many'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim_many(regclass, text, bigint[]) IS
'claims ids: for each whether it is new, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_seen(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, bigint) IS
'whether an id is remembered, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_seen_many(set regclass, key text, ids bigint[])
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen_many'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen_many(regclass, text, bigint[]) IS
'for each id whether it is remembered, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_trigger()
RETURNS trigger
AS 'MODULE_PATHNAME', 'roaring64_dedup_trigger'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_trigger() IS
'claims the ids of rows that are inserted';

-- Claims first: a fold that is at it with one of them is waited for, and then
-- the id is in its chunk.
CREATE FUNCTION roaring64_dedup_forget_many(set regclass, key text, ids bigint[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off
AS $$
DECLARE
	o record;
	numbers bigint[];
	claimed bigint[];
	found bigint;
BEGIN
	EXECUTE (SELECT format('SELECT * FROM %I.roaring64_dedup_options($1)', nspname) FROM pg_extension, pg_namespace AS n
			 WHERE extname = 'roaring64' AND n.oid = extnamespace) INTO o USING $1;
	IF $2 IS NULL OR $3 IS NULL OR array_position($3, NULL) IS NOT NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'key and ids must not be null';
	END IF;
	EXECUTE format('WITH locked AS (SELECT id FROM %1$s WHERE key = $1 AND id = ANY ($2) ORDER BY id FOR UPDATE),'
				   ' gone AS (DELETE FROM %1$s WHERE key = $1 AND id IN (SELECT id FROM locked) RETURNING id)'
				   ' SELECT array_agg(id) FROM gone', VARIADIC o.names)
	INTO claimed USING $2, $3;
	EXECUTE format('SELECT array_agg(DISTINCT %5$s(id) >> $2) FROM unnest($1) AS id', VARIADIC o.names)
	INTO numbers USING $3, o.chunk_bits;
	EXECUTE format('WITH given AS (SELECT %4$s.roaring64_agg(%5$s(id)) AS ids FROM unnest($3) AS id),'
				   ' claimed AS (SELECT %4$s.roaring64_agg(%5$s(id)) AS ids FROM unnest($4) AS id),'
				   ' locked AS (SELECT members FROM %2$s WHERE key = $1 AND chunk = ANY ($2)'
				   ' ORDER BY chunk, generation FOR UPDATE)'
				   ' SELECT %4$s.roaring64_or_cardinality_agg(m) FROM (SELECT locked.members OPERATOR(%4$s.&) given.ids'
				   ' FROM locked, given UNION ALL SELECT ids FROM claimed) AS f (m)', VARIADIC o.names)
	INTO found USING $2, numbers, $3, claimed;
	EXECUTE format('WITH given AS (SELECT %4$s.roaring64_agg(%5$s(id)) AS ids FROM unnest($3) AS id)'
				   ' UPDATE %2$s SET members = members OPERATOR(%4$s.-) ids FROM given'
				   ' WHERE key = $1 AND chunk = ANY ($2) AND members OPERATOR(%4$s.&&) ids', VARIADIC o.names)
	USING $2, numbers, $3;
	EXECUTE format('DELETE FROM %2$s WHERE key = $1 AND chunk = ANY ($2) AND %4$s.roaring64_is_empty(members)', VARIADIC o.names)
	USING $2, numbers;
	RETURN found;
END $$;
COMMENT ON FUNCTION roaring64_dedup_forget_many(regclass, text, bigint[]) IS
'makes ids new again: how many were remembered';

CREATE FUNCTION roaring64_dedup_forget(set regclass, key text, id bigint)
RETURNS boolean
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 100
BEGIN ATOMIC
	SELECT roaring64_dedup_forget_many($1, $2, ARRAY[$3]) > 0;
END;
COMMENT ON FUNCTION roaring64_dedup_forget(regclass, text, bigint) IS
'makes an id new again: whether it was remembered';

--
-- Straight into the chunks.
--

-- Writes those of ids that are not remembered, in the order of the array if one
-- is given, and gives them.  The key's row is written in any case: a
-- REPEATABLE READ transaction that missed it gets an error.
CREATE FUNCTION roaring64_dedup_append(set regclass, key text, ids roaring64, ordered bigint[])
RETURNS roaring64
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	row record;
	fresh record;			-- ids and elements, for their type is not on the path
	piece record;
	numbers bigint[];
	taken bigint := 0;
	n bigint;
BEGIN
	EXECUTE (SELECT format('SELECT * FROM %I.roaring64_dedup_options($1)', nspname) FROM pg_extension, pg_namespace AS n
			 WHERE extname = 'roaring64' AND n.oid = extnamespace) INTO o USING $1;
	IF $2 IS NULL OR $3 IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'key and ids must not be null';
	END IF;
	IF octet_length($2) > 1024 THEN
		RAISE program_limit_exceeded USING
			MESSAGE = 'key is too long',
			DETAIL = format('It has %s bytes; a key has at most 1024.', octet_length($2));
	END IF;
	EXECUTE format('INSERT INTO %3$s AS w (key) VALUES ($1) ON CONFLICT (key) DO UPDATE SET ids = w.ids'
				   ' RETURNING generation, ids, oldest', VARIADIC o.names)
	INTO row USING $2;

	IF o.snowflake THEN
		EXECUTE format('SELECT %4$s.roaring64_agg(%5$s(i)) AS places FROM %4$s.roaring64_elements($1) AS i', VARIADIC o.names)
		INTO fresh USING $3;
		IF o.keep IS NOT NULL AND ordered IS NULL THEN
			EXECUTE format('SELECT %4$s.roaring64_to_array($1)', VARIADIC o.names) INTO ordered USING $3;
		END IF;
	ELSE
		EXECUTE 'SELECT $1 AS places' INTO fresh USING $3;
	END IF;
	EXECUTE format('SELECT array_agg(chunk) FROM %4$s.roaring64_split($1, $2)', VARIADIC o.names)
	INTO numbers USING fresh.places, o.chunk_bits;
	EXECUTE format('SELECT $1 OPERATOR(%4$s.-) coalesce(%4$s.roaring64_or_agg(m), ''{}'') AS places FROM ('
				   'SELECT c.members OPERATOR(%4$s.&) s.members FROM %2$s AS c, %4$s.roaring64_split($1, $4) AS s'
				   ' WHERE c.key = $2 AND c.chunk = ANY ($3) AND c.chunk = s.chunk'
				   ' UNION ALL SELECT %4$s.roaring64_agg(%5$s(id)) FROM %1$s WHERE key = $2) AS f (m)', VARIADIC o.names)
	INTO fresh USING fresh.places, $2, numbers, o.chunk_bits;
	EXECUTE format('SELECT %4$s.roaring64_cardinality($1)', VARIADIC o.names) INTO n USING fresh.places;
	IF ordered IS NOT NULL AND o.keep IS NOT NULL THEN
		EXECUTE format('SELECT array_agg(i ORDER BY n) FROM unnest($1) WITH ORDINALITY AS u (i, n)'
					   ' WHERE $2 OPERATOR(%4$s.@>) %5$s(i)', VARIADIC o.names)
		INTO ordered USING ordered, fresh.places;
	END IF;

	IF row.generation IS NULL AND o.keep IS NOT NULL THEN
		EXECUTE format('SELECT greatest(max(generation), $2) + 1 AS generation, 0::bigint AS ids, NULL::bigint AS oldest'
					   ' FROM %2$s WHERE key = $1', VARIADIC o.names)
		INTO row USING $2, o.clock;
	END IF;
	piece := fresh;
	WHILE taken < n LOOP
		IF o.keep IS NULL THEN
			taken := n;
		ELSE
			IF row.ids >= o.keep THEN
				row.oldest := row.generation;
				row.generation := row.generation + 1;
				row.ids := 0;
			END IF;
			IF ordered IS NULL THEN
				EXECUTE format('SELECT %4$s.roaring64_slice($1, $2, $3) AS places', VARIADIC o.names)
				INTO piece USING fresh.places, taken, least(o.keep - row.ids, n - taken);
			ELSE
				EXECUTE format('SELECT %4$s.roaring64_agg(%5$s(i)) AS places FROM unnest($1) AS i', VARIADIC o.names)
				INTO piece USING ordered[taken + 1 : taken + least(o.keep - row.ids, n - taken)];
			END IF;
			row.ids := row.ids + least(o.keep - row.ids, n - taken);
			EXECUTE format('SELECT $1 + %4$s.roaring64_cardinality($2)', VARIADIC o.names) INTO taken USING taken, piece.places;
			o.generation := row.generation;
		END IF;
		EXECUTE format('INSERT INTO %2$s AS c (key, chunk, generation, members)'
					   ' SELECT $1, chunk, $2, members FROM %4$s.roaring64_split($3, $4) ORDER BY chunk'
					   ' ON CONFLICT (key, chunk, generation) DO UPDATE SET members = c.members OPERATOR(%4$s.|) excluded.members',
					   VARIADIC o.names)
		USING $2, o.generation, piece.places, o.chunk_bits;
	END LOOP;
	IF o.keep IS NOT NULL THEN
		-- not "generation < $4": where that is NULL, Citus leaves out all of it
		EXECUTE format('WITH gone AS (DELETE FROM %2$s WHERE key = $1 AND generation < coalesce($4, 0) RETURNING CASE WHEN $5 THEN %7$s END AS id)'
					   ' UPDATE %3$s AS w SET generation = $2, ids = $3, oldest = $4, forgotten = greatest(w.forgotten, f.id)'
					   ' FROM (SELECT max(id) AS id FROM gone) AS f WHERE key = $1', VARIADIC o.names)
		USING $2, row.generation, row.ids, row.oldest, o.ascending;
	END IF;
	IF o.snowflake THEN
		EXECUTE format('SELECT coalesce(%4$s.roaring64_agg(%6$s(i)), ''{}'') AS places FROM %4$s.roaring64_elements($1) AS i', VARIADIC o.names)
		INTO fresh USING fresh.places;
	END IF;
	RETURN fresh.places;
END $$;
COMMENT ON FUNCTION roaring64_dedup_append(regclass, text, roaring64, bigint[]) IS
'writes ids to the chunks of a dedup set, for its other functions';

CREATE FUNCTION roaring64_dedup_load(set regclass, key text, ids roaring64)
RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 100
BEGIN ATOMIC
	SELECT roaring64_cardinality(roaring64_dedup_append($1, $2, $3, NULL));
END;
COMMENT ON FUNCTION roaring64_dedup_load(regclass, text, roaring64) IS
'remembers all ids of a set: how many were new';

--
-- Fold.  It goes through the keys, some at a time, each time in a transaction.
-- What fails for some keys is tried for half of them, and so on, and the key for
-- which it fails alone is left for the next fold, with a warning.  A lock on a
-- row is waited for so shortly that no deadlock is found meanwhile.
--
-- Rows of windows are locked by DO UPDATE with a condition that is false: it
-- locks and writes nothing, and Citus has no FOR UPDATE over several shards.  A
-- time is a parameter, as Citus takes no volatile function in an UPDATE.
--
CREATE PROCEDURE roaring64_dedup_fold(set regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	most CONSTANT bigint := 500000;
	room bigint := most;
	o record;
	ext pg_catalog.text;
	phase pg_catalog.text;
	source pg_catalog.text;
	reached pg_catalog.text;
	low pg_catalog.text;
	high pg_catalog.text;
	next pg_catalog.text;
	clocked boolean := false;
	index pg_catalog.regclass;
BEGIN
	FOREACH phase IN ARRAY ARRAY['claims', 'windows'] LOOP
		reached := NULL;
		LOOP
			COMMIT;
			SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
				pg_catalog.set_config('enable_hashagg', 'off', true);
			ext := (SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_extension, pg_catalog.pg_namespace AS n
					WHERE extname = 'roaring64' AND n.oid = extnamespace);
			EXECUTE pg_catalog.format('SELECT * FROM %s.roaring64_dedup_options($1)', ext) INTO o USING $1;
			EXECUTE format('SELECT claims FROM ONLY %s FOR NO KEY UPDATE SKIP LOCKED', $1) INTO next;
			IF next IS NULL THEN
				RAISE NOTICE 'dedup set "%" is being folded by another session', $1;
				COMMIT;
				RETURN;
			END IF;
			IF NOT clocked AND o.remember IS NOT NULL THEN
				EXECUTE format('UPDATE ONLY %s SET clock = clock + least(greatest(extract(epoch FROM $1 - clock_read), 0),'
							   ' extract(epoch FROM remember) / 8) * 1000000, clock_read = $1', $1)
				USING clock_timestamp();
				clocked := true;
			END IF;
			EXECUTE format('SELECT * FROM %s.roaring64_dedup_options($1)', ext) INTO o USING $1;
			EXECUTE format('LOCK TABLE %1$s, %2$s IN ROW EXCLUSIVE MODE', VARIADIC o.names);
			PERFORM set_config('lock_timeout', '100ms', true);

			IF phase = 'claims' THEN
				source := o.names[1] || ' WHERE true';
			ELSE
				EXIT WHEN o.remember IS NULL;
				EXECUTE format('SELECT claims FROM ONLY %s WHERE cutoff < $1', $1) INTO next USING o.cutoff;
				EXIT WHEN next IS NULL;
				source := format('%s WHERE generation <= %s', o.names[2], o.cutoff);
			END IF;
			-- the keys from low to high have some "room" of rows, or it is one
			EXECUTE format('SELECT min(key) FROM %s AND ($1 IS NULL OR key > $1)', source) INTO low USING reached;
			IF low IS NULL THEN
				IF phase = 'windows' THEN
					EXECUTE format('UPDATE ONLY %s SET cutoff = $1', $1) USING o.cutoff;
				END IF;
				EXIT;
			END IF;
			EXECUTE format('SELECT key FROM %s AND key >= $1 ORDER BY key OFFSET $2 LIMIT 1', source) INTO next USING low, room;
			EXECUTE format('SELECT max(key) FROM %s AND key >= $1 AND ($2 IS NULL OR key < $2 OR key = $1)', source)
			INTO high USING low, next;
			BEGIN
				IF phase = 'windows' THEN
					IF o.ascending THEN
						EXECUTE format('INSERT INTO %3$s AS w (key) SELECT DISTINCT key FROM %2$s WHERE key BETWEEN $1 AND $2'
									   ' AND generation <= $3 ORDER BY key ON CONFLICT (key) DO UPDATE SET ids = w.ids WHERE false', VARIADIC o.names)
						USING low, high, o.cutoff;
						EXECUTE format('WITH gone AS (DELETE FROM %2$s WHERE key BETWEEN $1 AND $2 AND generation <= $3 RETURNING key, %7$s AS id)'
									   ' INSERT INTO %3$s AS w (key, forgotten) SELECT key, max(id) FROM gone GROUP BY key ORDER BY key'
									   ' ON CONFLICT (key) DO UPDATE SET forgotten = greatest(w.forgotten, excluded.forgotten)', VARIADIC o.names)
						USING low, high, o.cutoff;
					ELSE
						EXECUTE format('DELETE FROM %2$s WHERE key BETWEEN $1 AND $2 AND generation <= $3', VARIADIC o.names)
						USING low, high, o.cutoff;
						EXECUTE format('DELETE FROM %3$s AS w WHERE key BETWEEN $1 AND $2'
									   ' AND NOT EXISTS (SELECT 1 FROM %2$s AS c WHERE c.key = w.key)', VARIADIC o.names)
						USING low, high;
					END IF;
				ELSIF o.keep IS NULL THEN
					EXECUTE format('WITH taken AS (DELETE FROM %1$s WHERE key BETWEEN $1 AND $2 RETURNING key, %5$s(id) AS place)'
								   ' INSERT INTO %2$s AS c (key, chunk, generation, members)'
								   ' SELECT key, place >> $3, $4, %4$s.roaring64_agg(place) FROM taken GROUP BY key, place >> $3 ORDER BY 1, 2'
								   ' ON CONFLICT (key, chunk, generation) DO UPDATE SET members = c.members OPERATOR(%4$s.|) excluded.members',
								   VARIADIC o.names)
					USING low, high, o.chunk_bits, o.generation;
				ELSE
					EXECUTE format('INSERT INTO %3$s AS w (key) SELECT DISTINCT key FROM %1$s WHERE key BETWEEN $1 AND $2 ORDER BY key'
								   ' ON CONFLICT (key) DO UPDATE SET ids = w.ids WHERE false', VARIADIC o.names)
					USING low, high;
					EXECUTE format('UPDATE %3$s AS w SET generation = 1 + CASE WHEN generation IS NULL THEN greatest($4,'
								   ' (SELECT max(generation) FROM %2$s AS c WHERE c.key = w.key)) ELSE generation END, ids = 0, oldest = generation'
								   ' WHERE key BETWEEN $1 AND $2 AND (generation IS NULL OR ids >= $3)', VARIADIC o.names)
					USING low, high, o.keep, o.clock;
					EXECUTE format('WITH taken AS (DELETE FROM %1$s AS c USING %3$s AS w WHERE c.key = w.key AND c.key BETWEEN $1 AND $2'
								   ' RETURNING c.key, %5$s(c.id) AS place, w.generation),'
								   ' written AS (INSERT INTO %2$s AS c (key, chunk, generation, members)'
								   ' SELECT key, place >> $3, generation, %4$s.roaring64_agg(place) FROM taken'
								   ' GROUP BY key, place >> $3, generation ORDER BY 1, 2'
								   ' ON CONFLICT (key, chunk, generation) DO UPDATE SET members = c.members OPERATOR(%4$s.|) excluded.members)'
								   ' UPDATE %3$s AS w SET ids = w.ids + f.n FROM (SELECT key, count(*) AS n FROM taken GROUP BY key) AS f'
								   ' WHERE w.key = f.key', VARIADIC o.names)
					USING low, high, o.chunk_bits;
					EXECUTE format('WITH gone AS (DELETE FROM %2$s AS c USING %3$s AS w WHERE c.key = w.key AND c.key BETWEEN $1 AND $2'
								   ' AND c.generation < w.oldest RETURNING c.key, CASE WHEN $3 THEN %7$s END AS id)'
								   ' UPDATE %3$s AS w SET forgotten = greatest(w.forgotten, f.id)'
								   ' FROM (SELECT key, max(id) AS id FROM gone GROUP BY key) AS f WHERE w.key = f.key AND f.id IS NOT NULL', VARIADIC o.names)
					USING low, high, o.ascending;
				END IF;
				reached := high;
				room := least(room * 2, most);
			EXCEPTION WHEN OTHERS THEN
				-- no privilege, no disk, no statement: nothing of a key
				IF sqlstate ~ '^(0A|42|53|57|58|XX000)' THEN
					RAISE;
				END IF;
				IF low = high THEN
					RAISE WARNING 'key % of dedup set "%" was not folded: %', quote_literal(left(low, 100)), $1, sqlerrm;
					reached := high;
				ELSE
					EXECUTE format('SELECT count(*) / 2 FROM %s AND key BETWEEN $1 AND $2', source) INTO room USING low, high;
				END IF;
			END;
		END LOOP;
	END LOOP;
	COMMIT;

	-- What deleted claims leave in the index is given back when it is mostly
	-- that, nobody is using them and the caller may.
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	FOR index IN SELECT indexrelid FROM pg_index WHERE indrelid = o.names[1]::regclass LOOP
		CONTINUE WHEN pg_relation_size(index) < 1000000 OR pg_relation_size(index) < 4 * pg_relation_size(o.names[1]::regclass);
		BEGIN
			EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE NOWAIT', o.names[1]);
			EXECUTE format('REINDEX INDEX %s', index);
		EXCEPTION WHEN lock_not_available OR insufficient_privilege THEN
			NULL;
		END;
	END LOOP;
	COMMIT;
END $$;
COMMENT ON PROCEDURE roaring64_dedup_fold(regclass) IS
'moves committed claims into chunks, and forgets what is past the window';

--
-- What there is.
--
CREATE FUNCTION roaring64_dedup_export(set regclass, key text)
RETURNS roaring64
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	result record;
BEGIN
	EXECUTE (SELECT format('SELECT * FROM %I.roaring64_dedup_options($1)', nspname) FROM pg_extension, pg_namespace AS n
			 WHERE extname = 'roaring64' AND n.oid = extnamespace) INTO o USING $1;
	IF $2 IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'key must not be null';
	END IF;
	EXECUTE format('SELECT coalesce(%4$s.roaring64_or_agg(m), ''{}'') AS ids FROM ('
				   'SELECT %4$s.roaring64_agg(id) FROM %1$s WHERE key = $1 UNION ALL '
				   || CASE WHEN o.snowflake
						   THEN 'SELECT %4$s.roaring64_agg(%6$s(e)) FROM %2$s, %4$s.roaring64_elements(members) AS e WHERE key = $1'
						   ELSE 'SELECT members FROM %2$s WHERE key = $1' END
				   || ') AS f (m)', VARIADIC o.names)
	INTO result USING $2;
	RETURN result.ids;
END $$;
COMMENT ON FUNCTION roaring64_dedup_export(regclass, text) IS
'all ids of a key that are remembered';

CREATE FUNCTION roaring64_dedup_count(set regclass, key text)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	result bigint;
BEGIN
	EXECUTE (SELECT format('SELECT * FROM %I.roaring64_dedup_options($1)', nspname) FROM pg_extension, pg_namespace AS n
			 WHERE extname = 'roaring64' AND n.oid = extnamespace) INTO o USING $1;
	IF $2 IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'key must not be null';
	END IF;
	EXECUTE format('SELECT coalesce(sum(n), 0) FROM (SELECT count(*) FROM %1$s WHERE key = $1'
				   ' UNION ALL SELECT %4$s.roaring64_cardinality(members) FROM %2$s WHERE key = $1) AS f (n)', VARIADIC o.names)
	INTO result USING $2;
	RETURN result;
END $$;
COMMENT ON FUNCTION roaring64_dedup_count(regclass, text) IS
'how many ids of a key are remembered';

CREATE FUNCTION roaring64_dedup_stats(set regclass,
									  OUT claims bigint,
									  OUT oldest_claim timestamptz,
									  OUT chunks bigint,
									  OUT ids bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
BEGIN
	EXECUTE (SELECT format('SELECT * FROM %I.roaring64_dedup_options($1)', nspname) FROM pg_extension, pg_namespace AS n
			 WHERE extname = 'roaring64' AND n.oid = extnamespace) INTO o USING $1;
	EXECUTE format('SELECT count(*), min(claimed_at) FROM %1$s', VARIADIC o.names) INTO claims, oldest_claim;
	EXECUTE format('SELECT count(*), coalesce(sum(%4$s.roaring64_cardinality(members)), 0) FROM %2$s', VARIADIC o.names)
	INTO chunks, ids;
END $$;
COMMENT ON FUNCTION roaring64_dedup_stats(regclass) IS
'how many claims wait to be folded, since when, and how many chunks and ids in them there are';
