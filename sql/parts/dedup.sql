--
-- The dedup helper: an id is claimed once, in the caller's transaction, and can
-- be forgotten again.
--
-- A set is four ordinary tables.  NAME has one row: the options, and the names
-- of the others, which are in its schema.  NAME_claims has a row for every id
-- that was claimed or forgotten of late: "present" says which, whatever the chunks
-- hold, and "changed" that the row was turned over since it came, so that they may
-- hold the id or not.  Its primary key is what makes two transactions that change
-- the same id wait for each other, and no others.  Fold moves committed rows to
-- NAME_chunks, where a row has all ids of a key that agree in their high bits, or,
-- of UUIDs, all from one to before the next chunk (src/dedup/dedup.h).
-- NAME_windows has a row for a key where its window, or an import, needs one, and for
-- each key of UUIDs: which ids a chunk of these has depends on what other chunks there
-- are, so a fold and an import lock it before they look at them, and write it before
-- they write to them, lest a REPEATABLE READ transaction miss that.  What goes with a
-- window by time only widens the range of the chunk before it, and needs no lock.
--
-- A change looks at the row and the chunks with one snapshot, writes a row, and
-- looks into the chunks once more with a snapshot taken after that.  If the id was
-- changed before, then either its row is still in the claims and the insertion
-- meets it; or the fold that removed it has committed, and the second look sees
-- the chunk.  What is as it is wanted writes nothing.
--
-- What a change does is in C (src/dedup/), where plans are kept for each set; it
-- depends only on options that are never changed.  All else is here.
--
-- Chunks of bigints are roaring64 values, chunks of UUIDs sorted arrays.  The
-- statements are the same for both: what differs in them is in the options.
--
-- Whoever works with a set locks the table NAME first, until the end of the
-- transaction, and so waits for drop, or drop for it, before either has locked
-- anything else:
--
--	  claim, forget, seen,	ACCESS SHARE
--	  import, and what only
--	  reads
--	  fold					ROW SHARE, and the row, so that one fold works at a time
--	  alter					EXCLUSIVE, also that of windows, for which imports wait,
--							and it for them
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
-- to be kept, of which those count that are there; when the next one begins, all
-- before the one that is full go.  A fold puts all claims of a key into one
-- generation, however many, and so does an import: which of them were the latest
-- only the clock could tell.  While claims of a key are left that a fold should
-- have taken with others, or that an import has passed, it is "partly" folded, and
-- no generation begins.
-- Generations never get smaller, whatever the window is changed to, and what
-- was written under another window counts as written now.
--
-- Nothing is strict here: what is NULL and must not be is an error, lest a
-- claim that was never made look like one.
--

-- The options of a set.  The only place that says which table is a set.  names are
-- put into the statements here:
--	  1 to 3	the tables of claims, chunks and windows
--	  4			the beginning of the names of functions of chunks' members
--	  5			the aggregate that makes members of ids
--	  6, 7		the union of members m as members, and what FROM needs for it
--	  8			what FROM needs after s (key, ids), of WITH, for the parts p (chunk, ids) of
--				s.ids that chunks may hold
--	  9			the same for those that are to be written to chunks
--	  10		a statement that cuts chunks that have grown too large, of keys $1 with
--				numbers $2, or nothing
--	  11		the type of ids
--	  12, 13	whether id is one of $3, of which there are few, or any number
-- generation is the one that is written to now, cutoff the one that is to go.
CREATE FUNCTION _roaring64_dedup_options(dedup regclass, OUT names text[], OUT remember interval, OUT keep bigint,
										 OUT id_type text, OUT chunk_bits integer, OUT clock bigint,
										 OUT generation bigint, OUT cutoff bigint, OUT distributed boolean)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found bigint;
	span bigint;
BEGIN
	PERFORM @extschema@._roaring64_dedup_exists($1);
	SELECT count(*) INTO found FROM pg_attribute AS a JOIN (VALUES
		('claims', 'text'), ('chunks', 'text'), ('windows', 'text'), ('id_type', 'text'), ('chunk_bits', 'int4'),
		('remember', 'interval'), ('keep', 'int8'), ('clock', 'int8'), ('clock_read', 'timestamptz'))
		AS c (name, type) ON a.attname = c.name AND a.atttypid = c.type::regtype AND NOT a.attisdropped
	WHERE a.attrelid = $1;
	IF found = 9 THEN
		EXECUTE format('SELECT ARRAY[s.claims, s.chunks, s.windows], s.remember, s.keep, s.id_type, s.chunk_bits,'
					   ' s.clock, count(*) OVER () FROM ONLY %s AS s', $1)
		INTO names, remember, keep, id_type, chunk_bits, clock, found;
	END IF;
	IF found IS DISTINCT FROM 1 OR names IS NULL OR id_type <> ALL ('{bigint,uuid,text}')
		OR num_nulls(VARIADIC names) + num_nulls(id_type, clock) > 0
		OR (id_type = 'bigint') <> (coalesce(chunk_bits, -1) BETWEEN 0 AND 63) THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a dedup set', $1),
			HINT = 'Name a table that roaring64_dedup_create has made.';
	END IF;
	names := @extschema@._roaring64_dedup_tables($1, names);
	distributed := to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL;
	IF distributed THEN
		EXECUTE 'SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::regclass)'
		INTO distributed USING names[1];
	END IF;
	names := names || @extschema@._roaring64_dedup_words(names[2], id_type, chunk_bits);
	generation := clock;
	cutoff := -1;
	IF remember IS NOT NULL THEN
		-- a generation is half a window long, and goes a window and a half later
		span := greatest(extract(epoch FROM remember) * 500000, 1);
		generation := (clock / span + 1) * span;
		cutoff := greatest(-1, (clock / span - 3) * span);
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_options(regclass) IS
'options of a dedup set';

-- A regclass may be that of a table which was dropped while it was waited for.
CREATE FUNCTION _roaring64_dedup_exists(dedup regclass)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('dedup set', num_nulls($1));
	IF NOT EXISTS (SELECT FROM pg_class WHERE oid = $1) THEN
		RAISE undefined_table USING
			MESSAGE = 'dedup set does not exist',
			DETAIL = 'It was dropped while this waited for it.';
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_exists(regclass) IS
'refuses what is no table';

-- The qualified names of the tables of claims, chunks and windows.
CREATE FUNCTION _roaring64_dedup_tables(dedup regclass, names text[])
RETURNS text[]
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home text;
	owner oid;
BEGIN
	SELECT quote_ident(nspname) || '.', relowner INTO home, owner
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1;
	FOR i IN 1 .. 3 LOOP
		IF NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(home || quote_ident(names[i])) AND relowner = owner) THEN
			RAISE undefined_table USING
				MESSAGE = format('table "%s" of dedup set "%s" does not exist', names[i], $1),
				DETAIL = 'It is looked for in the schema of the set, among the tables of its owner.',
				HINT = format('If it was renamed, write its name into column "%s" of "%s".',
							  (ARRAY['claims', 'chunks', 'windows'])[i], $1);
		END IF;
		IF @extschema@._roaring64_has_children(to_regclass(home || quote_ident(names[i]))) THEN
			RAISE wrong_object_type USING
				MESSAGE = format('table "%s" of dedup set "%s" has children by inheritance', names[i], $1),
				HINT = 'ALTER TABLE ... NO INHERIT the children.';
		END IF;
		names[i] := home || quote_ident(names[i]);
	END LOOP;
	RETURN names;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_tables(regclass, text[]) IS
'tables of a dedup set';

-- The names from the fourth on.  A chunk that was written and has more than 250 UUIDs, which
-- are 4,024 bytes, is cut, with those of the same number in other generations, whose ranges
-- are the same; unless all its ids have the same first 64 bits, which are 18 characters.
CREATE FUNCTION _roaring64_dedup_words(chunks text, id_type text, chunk_bits integer)
RETURNS text[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known text;
BEGIN
	IF id_type = 'bigint' THEN
		known := format(', @extschema@.roaring64_split(s.ids, %s) AS p', chunk_bits);
		RETURN ARRAY['@extschema@.roaring64', '@extschema@.roaring64_agg', '@extschema@.roaring64_or_agg(m)', '',
			known, known, '', 'bigint', 'id = ANY (@extschema@.roaring64_to_array($3))', '$3 OPERATOR(@extschema@.@>) id'];
	END IF;
	known := format(' JOIN (SELECT key, chunks, max(c.ids[cardinality(c.ids):]) AS last FROM %1$s AS c JOIN'
					' (SELECT key, max(chunk) AS chunk, array_agg(DISTINCT chunk ORDER BY chunk) AS chunks FROM %1$s'
					' WHERE key IN (SELECT key FROM s) GROUP BY key) AS l USING (key, chunk) GROUP BY key, chunks) AS b'
					' ON b.key = s.key, @extschema@._roaring64_uuids_split(s.ids, b.chunks', chunks);
	RETURN ARRAY['@extschema@._roaring64_uuids', 'array_agg', 'array_agg(DISTINCT u ORDER BY u)', ', unnest(m) AS u',
		known || ', NULL) AS p', ' LEFT' || known || ', coalesce(b.last, ''{}'')) AS p',
		format('WITH gone AS (DELETE FROM %1$s AS c USING (SELECT DISTINCT ON (key, chunk) key, chunk, ids FROM %1$s'
			   ' JOIN unnest($1, $2) AS g (key, chunk) USING (key, chunk) WHERE pg_column_size(ids) > 4024'
			   ' AND left(ids[1]::text, 18) <> left(ids[cardinality(ids)]::text, 18)'
			   ' ORDER BY key, chunk, pg_column_size(ids) DESC) AS f WHERE c.key = f.key AND c.chunk = f.chunk'
			   ' RETURNING c.key, c.generation, c.ids, f.chunk, f.ids AS all_ids)'
			   ' INSERT INTO %1$s (key, chunk, generation, ids) SELECT g.key, p.chunk, g.generation, p.ids FROM gone AS g,'
			   ' LATERAL (SELECT array_agg(p.chunk) AS chunks FROM'
			   ' @extschema@._roaring64_uuids_split(g.all_ids, ARRAY[g.chunk], ''{}'') AS p) AS f,'
			   ' @extschema@._roaring64_uuids_split(g.ids, f.chunks, NULL) AS p WHERE random() >= 0 ORDER BY 1, 2', chunks),
		'uuid', 'id = ANY ($3)', 'id = ANY ($3)'];
END $$;
COMMENT ON FUNCTION _roaring64_dedup_words(text, text, integer) IS
'what differs in statements on dedup sets';

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

-- Claims come and go, so they are vacuumed for what was deleted rather than for a
-- part of what there is; so are chunks, of which each fold replaces some.  A chunk of
-- bigints of a kilobyte has room to grow on its page, and is not put out of line, where it
-- takes longer to find, while two have.  Two chunks of UUIDs fill a page, and one goes out of
-- line only if it has grown too large for a page before it is cut.  Nothing is compressed:
-- that would save little, and a part of a set could not be read alone.  The
-- short columns of claims come first, as most keys leave room for them before the
-- alignment of the rest.
CREATE FUNCTION _roaring64_dedup_make(name text, schema text, remember interval, keep bigint, id_type text,
									  chunk_bits integer)
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	made text := @extschema@._roaring64_new_table(name, schema);
	home text := (parse_ident(made))[1];
	base text := (parse_ident(made))[2];
	bigints boolean := id_type = 'bigint';
BEGIN
	IF coalesce(id_type, '') <> ALL ('{bigint,uuid,text}') THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"id_type" must be "bigint", "uuid" or "text"';
	END IF;
	IF chunk_bits NOT BETWEEN 8 AND 60 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"chunk_bits" must be between 8 and 60';
	ELSIF NOT bigints AND chunk_bits IS NOT NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"chunk_bits" must be null for UUIDs and texts';
	END IF;
	remember := @extschema@._roaring64_dedup_window(remember, keep);
	IF octet_length(base) > 63 - octet_length('_windows_pkey') THEN
		RAISE name_too_long USING
			MESSAGE = format('name of dedup set "%s" is too long', base),
			DETAIL = 'The names of its tables and indexes are up to 13 bytes longer.';
	END IF;
	IF to_regclass(made) IS NOT NULL THEN
		RAISE duplicate_table USING MESSAGE = format('relation "%s" already exists', base);
	END IF;
	EXECUTE format('CREATE TABLE %I.%I (key text COLLATE "C" NOT NULL, present boolean NOT NULL DEFAULT true,'
				   ' changed boolean NOT NULL DEFAULT false, id %s NOT NULL,'
				   ' claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (key, id))'
				   ' WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000)',
				   home, base || '_claims', CASE WHEN bigints THEN 'bigint' ELSE 'uuid' END);
	EXECUTE format('CREATE TABLE %I.%I (key text COLLATE "C" NOT NULL, chunk bigint NOT NULL, generation bigint NOT NULL,'
				   ' ids %s NOT NULL, PRIMARY KEY (key, chunk, generation))'
				   ' WITH (fillfactor = %s, toast_tuple_target = %s, autovacuum_vacuum_scale_factor = 0.01,'
				   ' autovacuum_vacuum_threshold = 500, toast.autovacuum_vacuum_scale_factor = 0.01,'
				   ' toast.autovacuum_vacuum_threshold = 500)', home, base || '_chunks',
				   CASE WHEN bigints THEN '@extschema@.roaring64' ELSE 'uuid[]' END,
				   CASE WHEN bigints THEN 85 ELSE 100 END, CASE WHEN bigints THEN 3400 ELSE 8160 END);
	EXECUTE format('ALTER TABLE %I.%I ALTER ids SET STORAGE EXTERNAL', home, base || '_chunks');
	EXECUTE format('CREATE TABLE %I.%I (key text COLLATE "C" PRIMARY KEY, generation bigint, oldest bigint,'
				   ' partly boolean NOT NULL DEFAULT false, written uuid)'
				   ' WITH (fillfactor = 80)', home, base || '_windows');
	EXECUTE format('CREATE TABLE %I.%I (claims text PRIMARY KEY, chunks text NOT NULL, windows text NOT NULL,'
				   ' id_type text NOT NULL, chunk_bits integer, remember interval, keep bigint,'
				   ' clock bigint NOT NULL DEFAULT 0, clock_read timestamptz NOT NULL DEFAULT clock_timestamp())',
				   home, base);
	EXECUTE format('INSERT INTO %I.%I (claims, chunks, windows, id_type, chunk_bits, remember, keep)'
				   ' VALUES ($1, $2, $3, $4, $5, $6, $7)', home, base)
	USING base || '_claims', base || '_chunks', base || '_windows', id_type,
		CASE WHEN bigints THEN coalesce(chunk_bits, 20) END, remember, keep;
	RETURN made::regclass;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_make(text, text, interval, bigint, text, integer) IS
'checks the options of a dedup set, and makes its tables';

-- The name is that of a table in the caller's search_path.
CREATE FUNCTION roaring64_dedup_create(name text,
									   remember interval DEFAULT NULL,
									   keep bigint DEFAULT NULL,
									   id_type text DEFAULT 'bigint',
									   chunk_bits integer DEFAULT NULL)
RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 100
BEGIN ATOMIC
	SELECT _roaring64_dedup_make($1, pg_catalog.current_schema(), $2, $3, $4, $5);
END;
COMMENT ON FUNCTION roaring64_dedup_create(text, interval, bigint, text, integer) IS
'creates the tables of a dedup set';

-- Waits for writers of generations.  The generations of the window by
-- count, which end here, are numbered on from the highest if it comes back.  A key that
-- the snapshot does not see loses its own when it is written to.
CREATE FUNCTION roaring64_dedup_alter(dedup regclass,
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
	EXECUTE format('LOCK TABLE ONLY %s, %s IN EXCLUSIVE MODE', $1, o.names[3]);
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	EXECUTE format('UPDATE ONLY %s SET remember = $1, keep = $2, clock_read = CASE WHEN remember IS NULL'
				   ' THEN $3 ELSE clock_read END', $1)
	USING remember, keep, clock_timestamp();
	IF (o.keep IS NULL) <> (keep IS NULL) THEN
		EXECUTE format('UPDATE %3$s SET generation = NULL, oldest = NULL', VARIADIC o.names);
	END IF;
END $$;
COMMENT ON FUNCTION roaring64_dedup_alter(regclass, interval, bigint) IS
'changes the window of a dedup set, or takes it away';

-- Locks before it reads the options: two at once would wait for each other.
CREATE FUNCTION roaring64_dedup_drop(dedup regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
BEGIN
	PERFORM @extschema@._roaring64_dedup_exists($1);
	EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', $1);
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	EXECUTE format('DROP TABLE %s, %s, %s, %s', $1, o.names[1], o.names[2], o.names[3]);
END $$;
COMMENT ON FUNCTION roaring64_dedup_drop(regclass) IS
'drops the tables of a dedup set';

--
-- One id and many.  What only reads is STABLE and can be called on a standby.  An
-- id is a value of the set's type; an unknown literal is taken for text, which is
-- read as one.
--
CREATE FUNCTION roaring64_dedup_claim(dedup regclass, key text, id anyelement)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim(regclass, text, anyelement) IS
'makes an id remembered: whether it is new';

CREATE FUNCTION roaring64_dedup_claim(dedup regclass, key text, id text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim(regclass, text, text) IS
'makes an id, given as text, remembered: whether it is new';

CREATE FUNCTION roaring64_dedup_claim_many(dedup regclass, key text, ids anyarray)
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim_many(regclass, text, anyarray) IS
'makes ids remembered: for each whether it is new';

CREATE FUNCTION roaring64_dedup_claim_many(dedup regclass, key text, ids text)
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim_many(regclass, text, text) IS
'makes ids, given as the text of an array, remembered: for each whether it is new';

CREATE FUNCTION roaring64_dedup_forget(dedup regclass, key text, id anyelement)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget(regclass, text, anyelement) IS
'makes an id new again: whether it was remembered';

CREATE FUNCTION roaring64_dedup_forget(dedup regclass, key text, id text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget(regclass, text, text) IS
'makes an id, given as text, new again: whether it was remembered';

CREATE FUNCTION roaring64_dedup_forget_many(dedup regclass, key text, ids anyarray)
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget_many(regclass, text, anyarray) IS
'makes ids new again: for each whether it was remembered';

CREATE FUNCTION roaring64_dedup_forget_many(dedup regclass, key text, ids text)
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget_many(regclass, text, text) IS
'makes ids, given as the text of an array, new again: for each whether it was remembered';

CREATE FUNCTION roaring64_dedup_seen(dedup regclass, key text, id anyelement)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, anyelement) IS
'whether an id is remembered';

CREATE FUNCTION roaring64_dedup_seen(dedup regclass, key text, id text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, text) IS
'whether an id, given as text, is remembered';

CREATE FUNCTION roaring64_dedup_seen_many(dedup regclass, key text, ids anyarray)
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen_many(regclass, text, anyarray) IS
'for each id whether it is remembered';

CREATE FUNCTION roaring64_dedup_seen_many(dedup regclass, key text, ids text)
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen_many(regclass, text, text) IS
'for each id, given as the text of an array, whether it is remembered';

-- The same as hash_text() of src/dedup/claims.c.
CREATE FUNCTION roaring64_dedup_hash(id text)
RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
BEGIN ATOMIC
	SELECT pg_catalog.encode(pg_catalog.substring(pg_catalog.sha256(pg_catalog.convert_to($1, 'UTF8')), 1, 16),
							 'hex')::uuid;
END;
COMMENT ON FUNCTION roaring64_dedup_hash(text) IS
'as what a dedup set of texts keeps an id: the first 128 bits of its SHA-256';

--
-- Members of chunks of UUIDs: sorted arrays.
--
CREATE FUNCTION _roaring64_uuids_or(uuid[], uuid[])
RETURNS uuid[]
AS 'MODULE_PATHNAME', 'roaring64_uuids_or'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION _roaring64_uuids_or(uuid[], uuid[]) IS
'union of sorted arrays';

CREATE FUNCTION _roaring64_uuids_andnot(uuid[], uuid[])
RETURNS uuid[]
AS 'MODULE_PATHNAME', 'roaring64_uuids_andnot'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION _roaring64_uuids_andnot(uuid[], uuid[]) IS
'difference of sorted arrays';

CREATE FUNCTION _roaring64_uuids_cardinality(uuid[])
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1
RETURN pg_catalog.cardinality($1);
COMMENT ON FUNCTION _roaring64_uuids_cardinality(uuid[]) IS
'number of elements';

CREATE FUNCTION _roaring64_uuids_split(uuid[], chunks bigint[], last uuid[], OUT chunk bigint, OUT ids uuid[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_uuids_split'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 100;
COMMENT ON FUNCTION _roaring64_uuids_split(uuid[], bigint[], uuid[]) IS
'ids by the chunks they belong to; of those past the last id, if it is given, many are cut into chunks of their own';

--
-- Generations, import and fold.
--

-- Begins the next generation of the keys from low to high whose own is full, and
-- forgets the generations before that.  Full is one with so many ids that are there,
-- also if all that wait to leave chunks of the key were in it.  The rows of windows
-- of these keys must be locked, or of several those with a mark.
CREATE FUNCTION _roaring64_dedup_turn(names text[], low text, high text, keep bigint, clock bigint, mark uuid)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	ids CONSTANT text := '(SELECT coalesce(sum(%4$s_cardinality(ids)), 0) FROM %2$s AS c'
		' WHERE c.key = w.key AND c.generation = w.generation)';
BEGIN
	EXECUTE format('UPDATE %3$s AS w SET oldest = generation, generation = 1 + CASE WHEN generation IS NULL'
				   ' THEN greatest($4, (SELECT max(generation) FROM %2$s AS c WHERE c.key = w.key)) ELSE generation END'
				   ' WHERE key BETWEEN $1 AND $2 AND ($5 IS NULL OR written = $5)'
				   ' AND CASE WHEN partly THEN false WHEN generation IS NULL THEN true'
				   ' WHEN ' || ids || ' < $3 THEN false ELSE ' || ids || ' >='
				   ' $3 + (SELECT count(*) FROM %1$s AS c WHERE c.key = w.key AND NOT c.present) END', VARIADIC names)
	USING low, high, keep, clock, mark;
	EXECUTE format('DELETE FROM %2$s AS c USING %3$s AS w WHERE c.key = w.key AND c.key BETWEEN $1 AND $2'
				   ' AND c.generation < w.oldest', VARIADIC names)
	USING low, high;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_turn(text[], text, text, bigint, bigint, uuid) IS
'begins and forgets generations of a dedup set';

-- Remembers ids, as members of chunks, and returns those that are new.  The key's
-- row of windows is locked before anything is read that counts, and written if anything
-- is: a REPEATABLE READ transaction that has missed that gets an error.  Rows that say
-- that an id was forgotten are turned over, and locked before that in the order in which
-- a batch locks them; the others say that it is there.
CREATE FUNCTION _roaring64_dedup_import(dedup regclass, key text, ids anyelement, nothing anyelement)
RETURNS anyelement
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	rows_of text;
	back ids%TYPE;
	known ids%TYPE;
	any_new boolean;
BEGIN
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	PERFORM @extschema@._roaring64_not_null('key and ids', num_nulls($2, $3));
	IF octet_length($2) > 1024 THEN
		RAISE program_limit_exceeded USING
			MESSAGE = 'key is too long',
			DETAIL = format('It has %s bytes; a key has at most 1024.', octet_length($2));
	ELSIF (o.id_type = 'bigint') = (pg_typeof(ids) = 'uuid[]'::regtype) THEN
		RAISE datatype_mismatch USING
			MESSAGE = format('ids of dedup set "%s" are of type %s', $1, o.id_type),
			HINT = 'roaring64_dedup_import is for bigints, roaring64_dedup_import_uuids for all others.';
	END IF;
	EXECUTE format('INSERT INTO %3$s AS w (key) VALUES ($1) ON CONFLICT (key)'
				   ' DO UPDATE SET written = w.written WHERE false', VARIADIC o.names) USING $2;
	-- the clock may have gone on, or the window changed, while that was waited for
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	EXECUTE format('SELECT coalesce(%6$s, $2) FROM (SELECT $1) AS f (m)%7$s', VARIADIC o.names)
	INTO ids USING ids, nothing;
	EXECUTE format('SELECT CASE WHEN %4$s_cardinality($1) <= 10000 THEN %12$L ELSE %13$L END', VARIADIC o.names)
	INTO rows_of USING ids;
	rows_of := ' WHERE key = $1 AND ' || rows_of;

	EXECUTE format('WITH back AS (UPDATE %1$s SET present = true, changed = true, claimed_at = $4 WHERE key = $1'
				   ' AND id IN (SELECT id FROM %1$s' || rows_of || ' AND NOT present ORDER BY id FOR UPDATE)'
				   ' RETURNING id) SELECT coalesce(%5$s(id), $5) FROM back', VARIADIC o.names)
	INTO back USING $2, $2, ids, clock_timestamp(), nothing;
	EXECUTE format('WITH s AS (SELECT $1 AS key, $3 AS ids)'
				   ' SELECT coalesce(%6$s, $4) FROM (SELECT %5$s(id) FROM %1$s' || rows_of
				   || ' UNION ALL SELECT %4$s_andnot(p.ids, %4$s_andnot(p.ids, c.ids)) FROM s%8$s, %2$s AS c'
				   ' WHERE c.key = $1 AND c.chunk = p.chunk) AS f (m)%7$s', VARIADIC o.names)
	INTO known USING $2, $2, ids, nothing;
	EXECUTE format('SELECT m, %4$s_cardinality(m) > 0 FROM %4$s_andnot($1, $2) AS m', VARIADIC o.names)
	INTO ids, any_new USING ids, known;
	IF any_new THEN
		PERFORM @extschema@._roaring64_dedup_write(o.names, $2, ids, o.keep, o.clock, o.generation);
	END IF;
	EXECUTE format('SELECT coalesce(%6$s, $3) FROM (VALUES ($1), ($2)) AS f (m)%7$s', VARIADIC o.names)
	INTO ids USING ids, back, nothing;
	RETURN ids;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_import(regclass, text, anyelement, anyelement) IS
'remembers ids in the chunks of a dedup set: those that are new';

-- Writes ids of a key, of which the chunks have none.
--
-- Citus sends an INSERT from tables to their node as one statement if they are all
-- single shards, and fails: here for a syntax error in what it sends, and in a move,
-- which deletes as well, as that names the table of chunks in place of its shard.
-- What is volatile it does not send: hence random() in both, and where chunks are cut.
CREATE FUNCTION _roaring64_dedup_write(names text[], key text, ids anyelement, keep bigint, clock bigint,
									   generation bigint)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	grown_keys text[];
	grown_chunks bigint[];
BEGIN
	IF keep IS NOT NULL THEN
		PERFORM @extschema@._roaring64_dedup_turn(names, $2, $2, keep, clock, NULL);
	END IF;
	EXECUTE format('UPDATE %3$s SET written = NULL, partly = partly OR EXISTS'
				   ' (SELECT FROM %1$s AS c WHERE c.key = $1), generation = CASE WHEN $3 THEN generation END,'
				   ' oldest = CASE WHEN $3 THEN oldest END WHERE key = $1 RETURNING coalesce(generation, $2)', VARIADIC names)
	INTO generation USING $2, generation, keep IS NOT NULL;
	EXECUTE format('WITH s AS (SELECT $1 AS key, $3 AS ids), put AS (INSERT INTO %2$s AS c (key, chunk, generation, ids)'
				   ' SELECT s.key, p.chunk, $4, p.ids FROM s%9$s'
				   ' WHERE random() >= 0 ORDER BY 2 ON CONFLICT (key, chunk, generation)'
				   ' DO UPDATE SET ids = %4$s_or(c.ids, excluded.ids) RETURNING key, chunk, pg_column_size(ids) AS size)'
				   ' SELECT array_agg(key), array_agg(chunk) FROM put WHERE size > 4024', VARIADIC names)
	INTO grown_keys, grown_chunks USING $2, $2, ids, generation;
	IF names[10] <> '' AND grown_keys IS NOT NULL THEN
		EXECUTE names[10] USING grown_keys, grown_chunks;
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_write(text[], text, anyelement, bigint, bigint, bigint) IS
'writes to the chunks of a dedup set';

CREATE FUNCTION roaring64_dedup_import(dedup regclass, key text, ids roaring64)
RETURNS roaring64
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 100
BEGIN ATOMIC
	SELECT _roaring64_dedup_import($1, $2, $3, '{}'::roaring64);
END;
COMMENT ON FUNCTION roaring64_dedup_import(regclass, text, roaring64) IS
'remembers all ids of a set, one call for a key at a time: those that are new';

CREATE FUNCTION roaring64_dedup_import_uuids(dedup regclass, key text, ids uuid[])
RETURNS uuid[]
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 100
BEGIN ATOMIC
	SELECT _roaring64_dedup_import($1, $2, $3, '{}'::uuid[]);
END;
COMMENT ON FUNCTION roaring64_dedup_import_uuids(regclass, text, uuid[]) IS
'remembers all ids of an array, one call for a key at a time: those that are new, ascending';

-- What a fold does next: of the claims or, past them, of what goes with the window, the
-- keys from low to high, which have some "room" of rows; or it is one key, and of it the
-- ids from part to before rest.  low is NULL if nothing is left above the keys that are done.
-- Rows are compared, as two conditions would be taken for so few that they are sorted.
CREATE FUNCTION _roaring64_dedup_next(names text[], windows boolean, cutoff bigint, reached text, part text,
									  room bigint, INOUT low text, OUT high text, OUT rest text)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	source CONSTANT text := CASE WHEN windows
		THEN format('(SELECT key, chunk AS id FROM %s WHERE generation <= %s) AS s', names[2], cutoff)
		ELSE format('(SELECT key, id FROM %s) AS s', names[1]) END;
	next text;
BEGIN
	IF part IS NULL THEN
		EXECUTE format('SELECT min(key) FROM %s WHERE $1 IS NULL OR key > $1', source) INTO low USING reached;
		EXECUTE format('SELECT key, s.id::text FROM %s WHERE key >= $1 ORDER BY key, s.id OFFSET $2 LIMIT 1', source)
		INTO next, rest USING low, room;
	ELSE
		EXECUTE format('SELECT key, s.id::text FROM %s WHERE (key, s.id) >= ($1, $2::%s) ORDER BY key, s.id'
					   ' OFFSET $3 LIMIT 1', source, names[11])
		INTO next, rest USING low, part, room;
	END IF;
	rest := CASE WHEN next = low THEN rest END;
	high := low;
	IF part IS NULL AND next IS DISTINCT FROM low THEN
		EXECUTE format('SELECT max(key) FROM %s WHERE key >= $1 AND ($2 IS NULL OR key < $2)', source)
		INTO high USING low, next;
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_next(text[], boolean, bigint, text, text, bigint, text) IS
'which keys a fold of a dedup set takes next';

-- Moves the claims of the keys from low to high, of those with the mark unless that is
-- NULL, of one key those from part to before rest.  First what was forgotten, or turned over
-- since it came, leaves the chunks, of which one with nothing in it goes; then what is there
-- goes into them.  A row that is turned over in between is left.  If the rows that others
-- hold are passed over, the key is folded partly.
CREATE FUNCTION _roaring64_dedup_move(names text[], generation bigint, low text, high text, mark uuid,
									  part text, rest text, pass_over boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	one CONSTANT boolean := low = high;
	these text := CASE WHEN one THEN 'c.key = $1' ELSE 'c.key BETWEEN $1 AND $2' END
		|| CASE WHEN mark IS NULL OR one THEN '' ELSE
			' AND c.key IN (SELECT w.key FROM %3$s AS w WHERE w.key BETWEEN $1 AND $2 AND w.written = $5)' END
		|| CASE WHEN part IS NULL THEN '' ELSE ' AND c.id >= $3::%11$s' END
		|| CASE WHEN rest IS NULL THEN '' ELSE ' AND c.id < $4::%11$s' END;
	parts CONSTANT text := '(WITH s AS (SELECT key, %5$s(id) AS ids FROM unnest($3, $4::%11$s[]) AS t (key, id)'
		' GROUP BY key) SELECT s.key, p.chunk, p.ids FROM s%8$s) AS p WHERE c.key = p.key AND c.chunk = p.chunk';
	turned record;
	grown_keys text[];
	grown_chunks bigint[];
BEGIN
	IF pass_over THEN
		these := these || ' AND c.id IN (SELECT c.id FROM %1$s AS c WHERE ' || these || ' FOR UPDATE SKIP LOCKED)';
	END IF;
	EXECUTE format('WITH gone AS (DELETE FROM %1$s AS c WHERE ' || these || ' AND (c.changed OR NOT c.present)'
				   ' RETURNING c.key, c.id, c.present) SELECT array_agg(key) AS keys, array_agg(id::text) AS ids,'
				   ' array_agg(key) FILTER (WHERE present) AS back, array_agg(id::text) FILTER (WHERE present) AS back_ids'
				   ' FROM gone', VARIADIC names)
	INTO turned USING low, high, part, rest, mark;
	IF turned.keys IS NOT NULL THEN
		EXECUTE format('DELETE FROM %2$s AS c USING ' || parts
					   || ' AND %4$s_cardinality(%4$s_andnot(c.ids, p.ids)) = 0', VARIADIC names)
		USING low, high, turned.keys, turned.ids;
		EXECUTE format('UPDATE %2$s AS c SET ids = %4$s_andnot(c.ids, p.ids) FROM ' || parts
					   || ' AND %4$s_cardinality(%4$s_andnot(c.ids, p.ids)) < %4$s_cardinality(c.ids)', VARIADIC names)
		USING low, high, turned.keys, turned.ids;
	END IF;
	-- one key is not grouped, as sorting takes a third of the time
	EXECUTE format('WITH taken AS (DELETE FROM %1$s AS c WHERE ' || these || ' AND c.present AND NOT c.changed'
				   ' RETURNING c.key, c.id), s AS (SELECT ' || CASE WHEN one THEN '$1' ELSE 'key' END
				   || ' AS key, %5$s(id) AS ids FROM (SELECT key, id FROM taken UNION ALL SELECT * FROM unnest($7, $8::%11$s[]))'
				   ' AS t' || CASE WHEN one THEN '' ELSE ' GROUP BY key' END
				   || '), put AS (INSERT INTO %2$s AS c (key, chunk, generation, ids)'
				   ' SELECT s.key, p.chunk, coalesce(w.generation, $6), p.ids FROM s LEFT JOIN'
				   ' (SELECT key, generation FROM %3$s WHERE key BETWEEN $1 AND $2) AS w ON w.key = s.key%9$s'
				   ' WHERE random() >= 0 ORDER BY 1, 2 ON CONFLICT (key, chunk, generation)'
				   ' DO UPDATE SET ids = %4$s_or(c.ids, excluded.ids) RETURNING key, chunk, pg_column_size(ids) AS size)'
				   ' SELECT array_agg(key), array_agg(chunk) FROM put WHERE size > 4024', VARIADIC names)
	INTO grown_keys, grown_chunks USING low, high, part, rest, mark, generation, turned.back, turned.back_ids;
	IF names[10] <> '' AND grown_keys IS NOT NULL THEN
		EXECUTE names[10] USING grown_keys, grown_chunks;
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_move(text[], bigint, text, text, uuid, text, text, boolean) IS
'moves claims of a dedup set into its chunks';

-- The same with generations; or, past the claims, what goes with the window.  Where the
-- rows of windows matter, those of the keys are locked and marked: another key between them
-- can get claims meanwhile, and is not folded.
CREATE FUNCTION _roaring64_dedup_step(names text[], windows boolean, cutoff bigint, keep bigint, clock bigint,
									  generation bigint, low text, high text, part text, rest text, pass_over boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	mark uuid := CASE WHEN keep IS NOT NULL OR names[10] <> '' THEN gen_random_uuid() END;
BEGIN
	IF windows THEN
		EXECUTE format('DELETE FROM %2$s WHERE key BETWEEN $1 AND $2 AND generation <= $3', VARIADIC names)
		USING low, high, cutoff;
		RETURN;
	END IF;
	IF mark IS NOT NULL THEN
		EXECUTE format('INSERT INTO %3$s (key, written) ' || CASE WHEN low = high THEN 'VALUES ($1, $3)'
			ELSE 'SELECT DISTINCT key, $3 FROM %1$s WHERE key BETWEEN $1 AND $2 ORDER BY key' END
			|| ' ON CONFLICT (key) DO UPDATE SET written = excluded.written', VARIADIC names) USING low, high, mark;
	END IF;
	IF keep IS NOT NULL AND part IS NULL THEN
		PERFORM @extschema@._roaring64_dedup_turn(names, low, high, keep, clock, mark);
	END IF;
	EXECUTE format('UPDATE %3$s SET partly = $3, generation = CASE WHEN $4 THEN generation END,'
				   ' oldest = CASE WHEN $4 THEN oldest END WHERE key BETWEEN $1 AND $2 AND ($5 IS NULL OR written = $5)'
				   ' AND (partly <> $3 OR NOT $4 AND generation IS NOT NULL)', VARIADIC names)
	USING low, high, rest IS NOT NULL OR pass_over, keep IS NOT NULL, mark;
	PERFORM @extschema@._roaring64_dedup_move(names, generation, low, high, mark, part, rest, pass_over);
END $$;
COMMENT ON FUNCTION _roaring64_dedup_step(text[], boolean, bigint, bigint, bigint, bigint,
											text, text, text, text, boolean) IS
'begins generations of a dedup set, and moves claims into them';

-- Begins a transaction of a fold: locks the set against other folds, lets its clock
-- go on if that has to be read, and locks what is written.  A lock on a row is waited
-- for so shortly that no deadlock is found meanwhile.  False if another session
-- folds the set.
CREATE FUNCTION _roaring64_dedup_begin(dedup regclass, read_clock boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	name text;
BEGIN
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	EXECUTE format('SELECT claims FROM ONLY %s FOR NO KEY UPDATE SKIP LOCKED', $1) INTO name;
	IF name IS NULL THEN
		RAISE NOTICE 'dedup set "%" is being folded by another session', $1;
		RETURN false;
	END IF;
	IF read_clock AND o.remember IS NOT NULL THEN
		EXECUTE format('UPDATE ONLY %s SET clock = clock + least(greatest(extract(epoch FROM $1 - clock_read), 0),'
					   ' extract(epoch FROM remember) / 8) * 1000000, clock_read = $1 WHERE remember IS NOT NULL', $1)
		USING clock_timestamp();
	END IF;
	EXECUTE format('LOCK TABLE %1$s, %2$s IN ROW EXCLUSIVE MODE', VARIADIC o.names);
	PERFORM set_config('lock_timeout', '100ms', true);
	RETURN true;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_begin(regclass, boolean) IS
'begins a transaction of a fold of a dedup set';

-- What deleted claims leave in an index is given back when it is mostly that,
-- nobody is using them and the caller may.
CREATE FUNCTION _roaring64_dedup_reindex(claims regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	index regclass;
BEGIN
	FOR index IN SELECT indexrelid FROM pg_index WHERE indrelid = $1 LOOP
		CONTINUE WHEN (pg_relation_size(index) >= greatest(1000000, 4 * pg_relation_size($1))) IS NOT TRUE;
		BEGIN
			EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE NOWAIT', $1);
			EXECUTE format('REINDEX INDEX %s', index);
		EXCEPTION WHEN lock_not_available OR insufficient_privilege OR undefined_table THEN
			NULL;
		END;
	END LOOP;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_reindex(regclass) IS
'rebuilds indexes of claims that are mostly empty';

-- Goes through the keys, some at a time, each time in a transaction: whole keys, or a part
-- of one that has many claims.  After a failure with several keys it goes on with one claim,
-- then two, and so on.  What fails for one key is tried without the rows that others hold;
-- and the key for which that fails, too, is left for the next fold, with a warning.
--
-- Rows of windows are locked by DO UPDATE, as Citus has no FOR UPDATE over several shards.  A
-- time is a parameter, as Citus takes no volatile function in an UPDATE.
CREATE PROCEDURE roaring64_dedup_fold(dedup regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	room bigint := 500000;
	o pg_catalog.record;
	low pg_catalog.text;
	high pg_catalog.text;
	rest pg_catalog.text;
	windows boolean := false;	-- is it past the claims, at what goes with its window?
	begun boolean := false;
	reached pg_catalog.text;	-- all keys up to this one are done
	part pg_catalog.text;		-- of a key, the lowest id that is not done
	pass_over boolean := false;
BEGIN
	PERFORM @extschema@._roaring64_can_commit('roaring64_dedup_fold');
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
			pg_catalog.set_config('enable_hashagg', 'off', true);
		EXIT WHEN NOT @extschema@._roaring64_dedup_begin($1, NOT begun);
		begun := true;
		SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
		SELECT * INTO low, high, rest
		FROM @extschema@._roaring64_dedup_next(o.names, windows, o.cutoff, reached, part, room, low);
		IF low IS NULL THEN
			EXIT WHEN windows OR o.remember IS NULL;
			windows := true;
			reached := NULL;
			CONTINUE;
		END IF;
		BEGIN
			PERFORM @extschema@._roaring64_dedup_step(o.names, windows, o.cutoff, o.keep, o.clock, o.generation, low, high,
				part, rest, pass_over);
			part := CASE WHEN windows THEN NULL ELSE rest END;
			reached := CASE WHEN part IS NULL THEN high ELSE reached END;
			pass_over := pass_over AND part IS NOT NULL;
			room := least(room * 2, 500000);
		EXCEPTION WHEN OTHERS THEN
			IF sqlstate ~ '^(0A|42|53|57|58|XX000)' THEN
				RAISE;			-- no privilege, no disk, no statement: nothing of a key
			ELSIF low <> high THEN
				room := 1;
			ELSIF sqlstate = '55P03' AND NOT pass_over AND NOT windows THEN
				pass_over := true;
			ELSE
				RAISE WARNING 'key % of dedup set "%" was not folded: %', quote_literal(left(low, 100)), $1, sqlerrm;
				reached := high;
				part := NULL;
				pass_over := false;
			END IF;
		END;
	END LOOP;
	COMMIT;
	IF begun THEN
		PERFORM @extschema@._roaring64_dedup_reindex(pg_catalog.to_regclass(o.names[1]));
		COMMIT;
	END IF;
END $$;
COMMENT ON PROCEDURE roaring64_dedup_fold(regclass) IS
'moves what was claimed and forgotten into chunks, and forgets what is past the window';

--
-- What there is: what the chunks hold of which there is no row of claims, and what
-- these say.
--

-- The statement that gives these of the key $1 as members m.
CREATE FUNCTION _roaring64_dedup_remembered(members text, claims text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10
BEGIN ATOMIC
	SELECT 'SELECT ' || claims || ' FROM %1$s WHERE key = $1 AND present UNION ALL SELECT ' || members
		|| ' FROM %2$s AS c LEFT JOIN (WITH s AS (SELECT $1 AS key, %5$s(id) AS ids FROM %1$s WHERE key = $1)'
		' SELECT p.chunk, p.ids FROM s%8$s) AS p ON p.chunk = c.chunk WHERE c.key = $1';
END;
COMMENT ON FUNCTION _roaring64_dedup_remembered(text, text) IS
'a query for what a dedup set remembers of a key';

CREATE FUNCTION _roaring64_dedup_export(dedup regclass, key text, nothing anyelement)
RETURNS anyelement
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
BEGIN
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	PERFORM @extschema@._roaring64_not_null('key', num_nulls($2));
	IF (o.id_type = 'bigint') = (pg_typeof(nothing) = 'uuid[]'::regtype) THEN
		RAISE datatype_mismatch USING
			MESSAGE = format('ids of dedup set "%s" are of type %s', $1, o.id_type),
			HINT = 'roaring64_dedup_export is for bigints, roaring64_dedup_export_uuids for all others.';
	END IF;
	EXECUTE format('SELECT coalesce(%6$s, $3) FROM ('
				   || @extschema@._roaring64_dedup_remembered(
						'CASE WHEN p.chunk IS NULL THEN c.ids ELSE %4$s_andnot(c.ids, p.ids) END', '%5$s(id)')
				   || ') AS f (m)%7$s', VARIADIC o.names)
	INTO nothing USING $2, $2, nothing;
	RETURN nothing;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_export(regclass, text, anyelement) IS
'all ids of a key that are remembered';

CREATE FUNCTION roaring64_dedup_export(dedup regclass, key text)
RETURNS roaring64
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100
BEGIN ATOMIC
	SELECT _roaring64_dedup_export($1, $2, '{}'::roaring64);
END;
COMMENT ON FUNCTION roaring64_dedup_export(regclass, text) IS
'all ids of a key that are remembered';

CREATE FUNCTION roaring64_dedup_export_uuids(dedup regclass, key text)
RETURNS uuid[]
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100
BEGIN ATOMIC
	SELECT _roaring64_dedup_export($1, $2, '{}'::uuid[]);
END;
COMMENT ON FUNCTION roaring64_dedup_export_uuids(regclass, text) IS
'all ids of a key that are remembered, ascending';

CREATE FUNCTION roaring64_dedup_count(dedup regclass, key text)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o record;
	result bigint;
BEGIN
	SELECT * INTO o FROM @extschema@._roaring64_dedup_options($1);
	PERFORM @extschema@._roaring64_not_null('key', num_nulls($2));
	EXECUTE format('SELECT coalesce(sum(n), 0) FROM ('
				   || @extschema@._roaring64_dedup_remembered(
						'%4$s_cardinality(CASE WHEN p.chunk IS NULL THEN c.ids ELSE %4$s_andnot(c.ids, p.ids) END)',
						'count(*)') || ') AS f (n)', VARIADIC o.names)
	INTO result USING $2, $2;
	RETURN result;
END $$;
COMMENT ON FUNCTION roaring64_dedup_count(regclass, text) IS
'how many ids of a key are remembered';

CREATE FUNCTION roaring64_dedup_stats(dedup regclass,
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
	EXECUTE format('SELECT count(nullif(n, 0)), coalesce(sum(n), 0) FROM %2$s AS c, %4$s_cardinality(c.ids) AS n',
				   VARIADIC o.names)
	INTO chunks, ids;
END $$;
COMMENT ON FUNCTION roaring64_dedup_stats(regclass) IS
'how many claims wait to be folded, since when, and how many chunks and ids in them there are';
