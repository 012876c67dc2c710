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
-- An owned set has no claims: its ids go straight into the chunks, under a lock
-- of the key's row of windows, which comes before anything is read.
--
-- What a claim does is in C (src/dedup/), where plans are kept for each set; it
-- depends only on options that are never changed.  All else is here.
--
-- Whoever works with a set locks the table NAME first, until the end of the
-- transaction, and so waits for drop, or drop for it, before either has locked
-- anything else:
--
--	  claim, seen, and what	ACCESS SHARE
--	  only reads
--	  load, and claims of	ROW SHARE
--	  an owned set
--	  fold					ROW SHARE, and the row, so that one fold works at a time
--	  alter					EXCLUSIVE: waits for writers of generations
--	  drop					ACCESS EXCLUSIVE: waits for all
--
-- After it, rows are locked in the order of windows, claims, chunks, and in each
-- in that of the primary key; fold waits for none for long.
--
-- The generation of a row of chunks says when it goes.  With a window by time
-- it is a time before which all its ids were folded, on a clock of the set that
-- goes only while folds watch it, an eighth of the window at most from one to
-- the next.  So the clock of the server may jump: a jump back is no time, and a
-- jump forth an eighth, of which the window has four to spare.  With a window
-- by count generations are numbered, per key, and each takes as many ids as are
-- to be kept; when the next one begins, all before the one that is full go.  A
-- fold puts all claims of a key into one generation, however many, and so does a
-- call that writes to the chunks: which of them were the latest only the clock
-- could tell.  Between two parts of a key its ids are not counted, which is NULL,
-- and no generation begins, whether the fold was killed or others load meanwhile.
-- Generations never get smaller, whatever the window is changed to, and what
-- was written under another window counts as written now.
--
-- Nothing is strict here: what is NULL and must not be is an error, lest a
-- claim that was never made look like one.
--

-- The options of a set.  The only place that says which table is a set.  names are
-- put into the statements here: the tables of claims, chunks and windows, the
-- functions that make an id an element of a chunk and back, and the highest id of a
-- chunk.  generation is the one that is written to now, cutoff the one that is to go.
CREATE FUNCTION _roaring64_dedup_options(set regclass, OUT names text[], OUT remember interval, OUT keep bigint,
										 OUT ascending boolean, OUT snowflake boolean, OUT owned boolean,
										 OUT chunk_bits integer, OUT clock bigint, OUT generation bigint,
										 OUT cutoff bigint, OUT distributed boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home text := (SELECT quote_ident(nspname) || '.' FROM pg_namespace AS n, pg_class AS c
				  WHERE n.oid = c.relnamespace AND c.oid = $1);
	found bigint;
	span bigint;
BEGIN
	IF $1 IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'dedup set must not be null';
	END IF;
	SELECT count(*) INTO found FROM pg_attribute AS a JOIN (VALUES
		('claims', 'text'), ('chunks', 'text'), ('windows', 'text'), ('ascending', 'bool'), ('snowflake', 'bool'),
		('owned', 'bool'), ('chunk_bits', 'int4'), ('remember', 'interval'), ('keep', 'int8'), ('clock', 'int8'),
		('clock_read', 'timestamptz'), ('cutoff', 'int8')) AS c (name, type)
		ON a.attname = c.name AND a.atttypid = c.type::regtype AND NOT a.attisdropped
	WHERE a.attrelid = $1;
	IF found = 12 THEN
		EXECUTE format('SELECT ARRAY[s.claims, s.chunks, s.windows], s.remember, s.keep, s.ascending, s.snowflake,'
					   ' s.owned, s.chunk_bits, s.clock, s.cutoff, count(*) OVER () FROM ONLY %s AS s', $1)
		INTO names, remember, keep, ascending, snowflake, owned, chunk_bits, clock, cutoff, found;
	END IF;
	IF found IS DISTINCT FROM 1 OR names IS NULL OR chunk_bits NOT BETWEEN 0 AND 63
		OR num_nulls(VARIADIC names) + num_nulls(ascending, snowflake, owned, chunk_bits, clock, cutoff) > 0 THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a dedup set', $1),
			HINT = 'Name a table that roaring64_dedup_create has made.';
	END IF;
	FOR i IN 1 .. 3 LOOP
		IF NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(home || quote_ident(names[i])) AND relowner = (SELECT relowner FROM pg_class WHERE oid = $1)) THEN
			RAISE undefined_table USING
				MESSAGE = format('table "%s" of dedup set "%s" does not exist', names[i], $1),
				DETAIL = 'It is looked for in the schema of the set, among the tables of its owner.',
				HINT = format('If it was renamed, write its name into column "%s" of "%s".',
							  (ARRAY['claims', 'chunks', 'windows'])[i], $1);
		END IF;
		names[i] := home || quote_ident(names[i]);
	END LOOP;
	distributed := to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL;
	IF distributed THEN
		EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::regclass)' INTO distributed USING names[1];
	END IF;
	names := names || CASE WHEN snowflake THEN
		ARRAY['@extschema@.roaring64_snowflake_fold', '@extschema@.roaring64_snowflake_unfold',
			'(SELECT max(@extschema@.roaring64_snowflake_unfold(e)) FROM @extschema@.roaring64_elements(members) AS e)']
	ELSE
		ARRAY['', '', '@extschema@.roaring64_max(members)']
	END;
	generation := clock;
	IF remember IS NOT NULL THEN
		-- a generation is half a window long, and goes a window and a half later
		span := greatest(extract(epoch FROM remember) * 500000, 1);
		generation := (clock / span + 1) * span;
		cutoff := greatest(cutoff, (clock - 3 * span) / span * span - CASE WHEN clock < 3 * span THEN span ELSE 0 END);
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_options(regclass) IS
'options of a dedup set';

-- What the window of a set can be.  A duration is kept in hours, as a day or a
-- month of an interval is not always as long.
CREATE FUNCTION _roaring64_dedup_window(remember interval, keep bigint)
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
COMMENT ON FUNCTION _roaring64_dedup_window(interval, bigint) IS
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
	compression text := '';
	made text;
	home text;
	base text;
BEGIN
	IF ascending IS NULL OR snowflake IS NULL OR owned IS NULL THEN
		RAISE null_value_not_allowed USING
			MESSAGE = 'options of a dedup set must not be null';
	END IF;
	remember := @extschema@._roaring64_dedup_window(remember, keep);
	IF ascending AND remember IS NULL AND keep IS NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"ascending" has no effect without a window',
			HINT = 'Specify "remember" or "keep", too.';
	END IF;
	IF chunk_bits NOT BETWEEN 8 AND 60 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"chunk_bits" must be between 8 and 60';
	END IF;
	made := @extschema@._roaring64_new_table(name, schema);
	home := (parse_ident(made))[1];
	base := (parse_ident(made))[2];
	IF octet_length(base) > 63 - octet_length('_windows_pkey') THEN
		RAISE name_too_long USING
			MESSAGE = format('name of dedup set "%s" is too long', base),
			DETAIL = 'The names of its tables and indexes are up to 13 bytes longer.';
	END IF;
	IF to_regclass(made) IS NOT NULL THEN
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
				   ' members @extschema@.roaring64 %s NOT NULL, PRIMARY KEY (key, chunk, generation))'
				   ' WITH (fillfactor = 85, toast_tuple_target = 3400, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,'
				   ' toast.autovacuum_vacuum_scale_factor = 0.01, toast.autovacuum_vacuum_threshold = 500)',
				   home, base || '_chunks', compression);
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
	RETURN made::regclass;
END $$;
COMMENT ON FUNCTION roaring64_dedup_create(text, interval, bigint, boolean, boolean, boolean, integer, text) IS
'creates the tables of a dedup set';

-- Waits for writers of generations.  The generations of the window by
-- count, which end here, are numbered on from the highest if it comes back.
CREATE FUNCTION roaring64_dedup_alter(set regclass,
									  remember interval DEFAULT NULL,
									  keep bigint DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
BEGIN
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	remember := @extschema@._roaring64_dedup_window($2, $3);
	EXECUTE format('LOCK TABLE ONLY %s IN EXCLUSIVE MODE', $1);
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	EXECUTE format('UPDATE %s SET remember = $1, keep = $2, clock_read = CASE WHEN remember IS NULL'
				   ' THEN $3 ELSE clock_read END', $1)
	USING remember, keep, clock_timestamp();
	IF o.keep IS NOT NULL AND keep IS NULL THEN
		EXECUTE format('UPDATE %3$s SET generation = NULL, ids = NULL, oldest = NULL', VARIADIC o.names);
	END IF;
END $$;
COMMENT ON FUNCTION roaring64_dedup_alter(regclass, interval, bigint) IS
'changes the window of a dedup set, or takes it away';

-- Locks before it reads the options: two at once would wait for each other.
CREATE FUNCTION roaring64_dedup_drop(set regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
BEGIN
	IF $1 IS NOT NULL THEN
		EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', $1);
	END IF;
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
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

CREATE FUNCTION roaring64_dedup_seen_many(set regclass, key text, ids bigint[])
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen_many'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen_many(regclass, text, bigint[]) IS
'for each id whether it is remembered, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_seen(set regclass, key text, id bigint)
RETURNS boolean
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100
BEGIN ATOMIC
	SELECT (roaring64_dedup_seen_many($1, $2, ARRAY[$3]))[1];
END;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, bigint) IS
'whether an id is remembered, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_load(set regclass, key text, ids roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_load'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_load(regclass, text, roaring64) IS
'remembers all ids of a set: how many were new';

-- Claims first: a fold that is at it with one of them is waited for, and then
-- the id is in its chunk.
CREATE FUNCTION roaring64_dedup_forget_many(set regclass, key text, ids bigint[])
RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	numbers bigint[];
	claimed bigint[];
	found bigint;
BEGIN
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	IF $2 IS NULL OR $3 IS NULL OR array_position($3, NULL) IS NOT NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'key and ids must not be null';
	END IF;
	EXECUTE format('WITH locked AS (SELECT id FROM %1$s WHERE key = $1 AND id = ANY ($2) ORDER BY id FOR UPDATE),'
				   ' gone AS (DELETE FROM %1$s WHERE key = $1 AND id IN (SELECT id FROM locked) RETURNING id)'
				   ' SELECT array_agg(id) FROM gone', VARIADIC o.names)
	INTO claimed USING $2, $3;
	EXECUTE format('SELECT array_agg(DISTINCT %4$s(id) >> $2) FROM unnest($1) AS id', VARIADIC o.names)
	INTO numbers USING $3, o.chunk_bits;
	EXECUTE format('WITH given AS (SELECT @extschema@.roaring64_agg(%4$s(id)) AS ids FROM unnest($3) AS id),'
				   ' claimed AS (SELECT @extschema@.roaring64_agg(%4$s(id)) AS ids FROM unnest($4) AS id),'
				   ' locked AS (SELECT members FROM %2$s WHERE key = $1 AND chunk = ANY ($2)'
				   ' ORDER BY chunk, generation FOR UPDATE)'
				   ' SELECT @extschema@.roaring64_or_cardinality_agg(m) FROM (SELECT locked.members OPERATOR(@extschema@.&) given.ids'
				   ' FROM locked, given UNION ALL SELECT ids FROM claimed) AS f (m)', VARIADIC o.names)
	INTO found USING $2, numbers, $3, claimed;
	EXECUTE format('WITH given AS (SELECT @extschema@.roaring64_agg(%4$s(id)) AS ids FROM unnest($3) AS id)'
				   ' UPDATE %2$s SET members = members OPERATOR(@extschema@.-) ids FROM given'
				   ' WHERE key = $1 AND chunk = ANY ($2) AND members OPERATOR(@extschema@.&&) ids', VARIADIC o.names) USING $2, numbers, $3;
	EXECUTE format('DELETE FROM %2$s WHERE key = $1 AND chunk = ANY ($2) AND @extschema@.roaring64_is_empty(members)', VARIADIC o.names) USING $2, numbers;
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
-- Generations, straight into the chunks, and fold.
--

-- Begins the next generation of the keys from low to high whose own is full, if
-- there is a window by count, and forgets the generations past the window.  The
-- rows of windows of these keys must be locked.
CREATE FUNCTION _roaring64_dedup_turn(names text[], low text, high text, keep bigint,
									  clock bigint, cutoff bigint, ascending boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF keep IS NOT NULL THEN
		EXECUTE format('UPDATE %3$s AS w SET generation = 1 + CASE WHEN generation IS NULL THEN greatest($4,'
					   ' (SELECT max(generation) FROM %2$s AS c WHERE c.key = w.key)) ELSE generation END, ids = 0, oldest = generation'
					   ' WHERE key BETWEEN $1 AND $2 AND (generation IS NULL OR ids >= $3)', VARIADIC names)
		USING low, high, keep, clock;
	END IF;
	EXECUTE format('WITH gone AS (DELETE FROM %2$s AS c USING %3$s AS w WHERE c.key = w.key AND c.key BETWEEN $1 AND $2'
				   ' AND c.generation <= coalesce(w.oldest - 1, $3) RETURNING c.key, CASE WHEN $4 THEN %6$s END AS id)'
				   ' UPDATE %3$s AS w SET forgotten = greatest(w.forgotten, f.id)'
				   ' FROM (SELECT key, max(id) AS id FROM gone GROUP BY key) AS f WHERE w.key = f.key AND f.id IS NOT NULL', VARIADIC names)
	USING low, high, cutoff, ascending;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_turn(text[], text, text, bigint, bigint, bigint, boolean) IS
'begins and forgets generations of a dedup set';

-- Writes ids that are not remembered, as elements of chunks, and returns them as
-- fresh; old are ids that are not written, as they are too old to tell.  The key's row is
-- locked before anything else is read, and written if anything is: a REPEATABLE
-- READ transaction that has missed that gets an error.
CREATE FUNCTION _roaring64_dedup_append(set regclass, key text, places roaring64,
										OUT fresh roaring64, OUT old roaring64)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	numbers bigint[];
	mark bigint;
BEGIN
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	EXECUTE format('INSERT INTO %3$s AS w (key) VALUES ($1) ON CONFLICT (key) DO UPDATE SET ids = w.ids WHERE false', VARIADIC o.names) USING $2;
	IF o.remember IS NOT NULL THEN		-- the clock may have gone on while the row was waited for
		SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	END IF;

	numbers := ARRAY(SELECT s.chunk FROM @extschema@.roaring64_split($3, o.chunk_bits) AS s);
	EXECUTE format('SELECT $1 OPERATOR(@extschema@.-) coalesce(@extschema@.roaring64_or_agg(m), ''{}'') FROM ('
				   'SELECT c.members OPERATOR(@extschema@.&) s.members FROM %2$s AS c, @extschema@.roaring64_split($1, $4) AS s'
				   ' WHERE c.key = $2 AND c.chunk = ANY ($3) AND c.chunk = s.chunk'
				   ' UNION ALL SELECT @extschema@.roaring64_agg(%4$s(id)) FROM %1$s WHERE key = $2) AS f (m)', VARIADIC o.names)
	INTO fresh USING $3, $2, numbers, o.chunk_bits;
	old := '{}';
	IF o.ascending THEN
		EXECUTE format('SELECT forgotten FROM %3$s WHERE key = $1', VARIADIC o.names) INTO mark USING $2;
		IF o.snowflake THEN
			old := (SELECT coalesce(@extschema@.roaring64_agg(e), '{}') FROM @extschema@.roaring64_elements(fresh) AS e
					WHERE @extschema@.roaring64_snowflake_unfold(e) <= mark);
		ELSIF mark IS NOT NULL THEN
			old := @extschema@.roaring64_slice(fresh, 0, @extschema@.roaring64_rank(fresh, mark));
		END IF;
		fresh := fresh OPERATOR(@extschema@.-) old;
	END IF;
	IF @extschema@.roaring64_is_empty(fresh) THEN
		RETURN;
	END IF;

	IF o.keep IS NOT NULL THEN
		PERFORM @extschema@._roaring64_dedup_turn(o.names, $2, $2, o.keep, o.clock, o.cutoff, o.ascending);
	END IF;
	EXECUTE format('UPDATE %3$s SET ids = ids + $2 WHERE key = $1 RETURNING coalesce(generation, $3)', VARIADIC o.names)
	INTO o.generation USING $2, @extschema@.roaring64_cardinality(fresh), o.generation;
	EXECUTE format('INSERT INTO %2$s AS c (key, chunk, generation, members)'
				   ' SELECT $1, chunk, $2, members FROM @extschema@.roaring64_split($3, $4) ORDER BY chunk'
				   ' ON CONFLICT (key, chunk, generation) DO UPDATE SET members = c.members OPERATOR(@extschema@.|) excluded.members', VARIADIC o.names)
	USING $2, o.generation, fresh, o.chunk_bits;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_append(regclass, text, roaring64) IS
'writes to the chunks of a dedup set';

-- A procedure that commits asks first, to say more than the server does.
CREATE FUNCTION _roaring64_can_commit()
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_can_commit'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1;
COMMENT ON FUNCTION _roaring64_can_commit() IS
'whether the calling procedure may commit';

-- Goes through the keys, some at a time, each time in a transaction: whole keys,
-- or a part of one that has many claims.  What fails for some keys is tried for
-- half of them, and so on, and the key for which it fails alone is left for the
-- next fold, with a warning.  A lock on a row is waited for so shortly that no
-- deadlock is found meanwhile.
--
-- Rows of windows are locked by DO UPDATE with a condition that is false: it
-- locks and writes nothing, and Citus has no FOR UPDATE over several shards.  A
-- time is a parameter, as Citus takes no volatile function in an UPDATE.
CREATE PROCEDURE roaring64_dedup_fold(set regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	most CONSTANT bigint := 500000;
	room bigint := most;
	o pg_catalog.record;
	phase pg_catalog.text;
	source pg_catalog.text;
	keys pg_catalog.text;
	reached pg_catalog.text;	-- all keys up to this one are done
	low pg_catalog.text;
	high pg_catalog.text;
	next pg_catalog.text;
	part bigint;				-- of a key, the lowest id that is not done
	rest bigint;				-- and the lowest that is left for later
	clocked boolean := false;
	index pg_catalog.regclass;
BEGIN
	IF NOT @extschema@._roaring64_can_commit() THEN
		RAISE invalid_transaction_termination USING
			MESSAGE = 'roaring64_dedup_fold cannot be called in a transaction block or by a function',
			DETAIL = 'It commits after each part of its work.',
			HINT = 'Call it by itself, from a session in autocommit mode.';
	END IF;
	FOREACH phase IN ARRAY ARRAY['claims', 'windows'] LOOP
		reached := NULL;
		LOOP
			COMMIT;
			SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
				pg_catalog.set_config('enable_hashagg', 'off', true);
			SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
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
			SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
			EXECUTE format('LOCK TABLE %1$s, %2$s IN ROW EXCLUSIVE MODE', VARIADIC o.names);
			PERFORM set_config('lock_timeout', '100ms', true);

			IF phase = 'claims' THEN
				source := format('(SELECT key, id FROM %1$s) AS s', VARIADIC o.names);
			ELSE
				EXIT WHEN o.remember IS NULL;
				EXECUTE format('SELECT claims FROM ONLY %s WHERE cutoff < $1', $1) INTO next USING o.cutoff;
				EXIT WHEN next IS NULL;
				source := format('(SELECT key, chunk AS id FROM %s WHERE generation <= %s) AS s', o.names[2], o.cutoff);
			END IF;
			IF part IS NULL THEN
				EXECUTE format('SELECT min(key) FROM %s WHERE $1 IS NULL OR key > $1', source) INTO low USING reached;
				IF low IS NULL THEN
					IF phase = 'windows' THEN
						EXECUTE format('UPDATE ONLY %s SET cutoff = $1', $1) USING o.cutoff;
					END IF;
					EXIT;
				END IF;
			END IF;
			-- The keys from low to high have some "room" of rows, or it is one, and a
			-- part of it.  Rows are compared, as two conditions would be taken for so
			-- few that they are sorted.
			EXECUTE format('SELECT key, id FROM %s WHERE (key, id) >= ($1, $2) ORDER BY key, id OFFSET $3 LIMIT 1', source)
			INTO next, rest USING low, coalesce(part, -9223372036854775808), room;
			rest := CASE WHEN next = low AND phase = 'claims' THEN rest END;
			IF part IS NOT NULL OR next = low THEN
				high := low;
			ELSE
				EXECUTE format('SELECT max(key) FROM %s WHERE key >= $1 AND ($2 IS NULL OR key < $2)', source) INTO high USING low, next;
			END IF;
			keys := CASE WHEN low = high THEN 'key = $1' ELSE 'key BETWEEN $1 AND $2' END;
			BEGIN
				IF phase = 'windows' OR o.keep IS NOT NULL THEN
					EXECUTE format('INSERT INTO %s AS w (key) SELECT DISTINCT key FROM %s WHERE %s ORDER BY key'
								   ' ON CONFLICT (key) DO UPDATE SET ids = w.ids WHERE false', o.names[3], source, keys)
					USING low, high;
					PERFORM @extschema@._roaring64_dedup_turn(o.names, low, high, o.keep, o.clock, o.cutoff, o.ascending);
				END IF;
				IF phase = 'windows' THEN
					EXECUTE format('DELETE FROM %3$s AS w WHERE key BETWEEN $1 AND $2 AND forgotten IS NULL'
								   ' AND NOT EXISTS (SELECT 1 FROM %2$s AS c WHERE c.key = w.key)', VARIADIC o.names)
					USING low, high;
				ELSE
					IF o.keep IS NOT NULL THEN
						EXECUTE format('UPDATE %3$s AS w SET ids = CASE WHEN $4 IS NULL THEN n + coalesce(w.ids,'
									   ' (SELECT sum(@extschema@.roaring64_cardinality(members)) FROM %2$s AS c'
									   ' WHERE c.key = w.key AND c.generation = w.generation), 0) END'
									   ' FROM (SELECT key, count(*) AS n FROM %1$s WHERE ' || keys || ' AND ($3 IS NULL OR id >= $3)'
									   ' AND ($4 IS NULL OR id < $4) GROUP BY key) AS f'
									   ' WHERE w.key = f.key', VARIADIC o.names)
						USING low, high, part, rest;
					END IF;
					-- sorted by what differs, as sorting takes a third of the time
					EXECUTE format('WITH taken AS (DELETE FROM %1$s AS c ' || CASE WHEN o.keep IS NULL THEN 'WHERE c.' ELSE 'USING %3$s AS w WHERE c.key = w.key AND c.' END
								   || keys || ' AND ($5 IS NULL OR c.id >= $5) AND ($6 IS NULL OR c.id < $6)'
								   ' RETURNING c.key, %4$s(c.id) AS place' || CASE WHEN o.keep IS NULL THEN '' ELSE ', w.generation' END || ')'
								   ' INSERT INTO %2$s AS c (key, chunk, generation, members) SELECT ' || CASE WHEN low = high THEN '$1' ELSE 'key' END
								   || ', place >> $3, ' || CASE WHEN o.keep IS NULL THEN '$4' ELSE 'min(generation)' END
								   || ', @extschema@.roaring64_agg(place) FROM taken GROUP BY ' || CASE WHEN low = high THEN '' ELSE 'key, ' END || 'place >> $3 ORDER BY 1, 2'
								   ' ON CONFLICT (key, chunk, generation) DO UPDATE SET members = c.members OPERATOR(@extschema@.|) excluded.members', VARIADIC o.names)
					USING low, high, o.chunk_bits, o.generation, part, rest;
				END IF;
				reached := CASE WHEN rest IS NULL THEN high ELSE reached END;
				part := rest;
				room := least(room * 2, most);
			EXCEPTION WHEN OTHERS THEN
				-- no privilege, no disk, no statement: nothing of a key
				IF sqlstate ~ '^(0A|42|53|57|58|XX000)' THEN
					RAISE;
				END IF;
				IF low = high THEN
					RAISE WARNING 'key % of dedup set "%" was not folded: %', quote_literal(left(low, 100)), $1, sqlerrm;
					reached := high;
					part := NULL;
				ELSE
					EXECUTE format('SELECT greatest(count(*) / 2, 1) FROM %s WHERE key BETWEEN $1 AND $2', source) INTO room USING low, high;
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
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	IF $2 IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'key must not be null';
	END IF;
	EXECUTE format('SELECT coalesce(@extschema@.roaring64_or_agg(m), ''{}'') AS ids FROM ('
				   'SELECT @extschema@.roaring64_agg(id) FROM %1$s WHERE key = $1 UNION ALL '
				   || CASE WHEN o.snowflake
						   THEN 'SELECT @extschema@.roaring64_agg(%5$s(e)) FROM %2$s, @extschema@.roaring64_elements(members) AS e WHERE key = $1'
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
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	IF $2 IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'key must not be null';
	END IF;
	EXECUTE format('SELECT @extschema@.roaring64_or_cardinality_agg(m) FROM ('
				   'SELECT @extschema@.roaring64_agg(%4$s(id)) FROM %1$s WHERE key = $1'
				   ' UNION ALL SELECT members FROM %2$s WHERE key = $1) AS f (m)', VARIADIC o.names)
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
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	EXECUTE format('SELECT count(*), min(claimed_at) FROM %1$s', VARIADIC o.names) INTO claims, oldest_claim;
	EXECUTE format('SELECT count(*), coalesce(sum(@extschema@.roaring64_cardinality(members)), 0) FROM %2$s', VARIADIC o.names)
	INTO chunks, ids;
END $$;
COMMENT ON FUNCTION roaring64_dedup_stats(regclass) IS
'how many claims wait to be folded, since when, and how many chunks and ids in them there are';
