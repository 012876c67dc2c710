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
-- NAME_windows has a row for each key that has a window by count or is imported to.
-- It is locked before the chunks are looked at, and written before they are, so that a
-- REPEATABLE READ transaction cannot miss that.  It goes with the last id of its key.
--
-- A change looks at the row and the chunks with one snapshot, writes a row, and
-- looks into the chunks once more with a snapshot taken after that.  If the id was
-- changed before, then either its row is still in the claims and the insertion
-- meets it; or the fold that removed it has committed, and the second look sees
-- the chunk.  An id already in the wanted state writes nothing.
--
-- What a change does is in C (src/dedup/), where plans are kept for each set; it
-- depends only on options that are never changed.  All else is here.
--
-- Chunks of bigints are roaring64 values, chunks of UUIDs sorted arrays.  The
-- statements are the same for both: _roaring64_dedup_names() has what differs.
--
-- Every function locks the table NAME first, until the end of the transaction, and
-- so waits for drop, or drop for it, before either has locked anything else:
--
--	  claim, forget, seen,	ACCESS SHARE
--	  import, forget_key,
--	  and what only reads
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
-- jump forth an eighth, of which the window has four to spare.  A shorter window
-- brings generations back to the one that is written to.
--
-- With a window by count generations are numbered, per key.  All that is written to
-- the chunks goes into the latest, and "filled" counts its ids that are there.  When
-- they are as many as are to be kept, all generations before it go, and the next begins.
-- Its ids may have been claimed before those of the full one only if they waited in the
-- claims at that moment, left there by a part of a fold, a row that was locked, an
-- import or an error.  So "filled" begins with minus the number of claims that wait, also
-- in a key's first generation by count, unless there are no chunks before it: whatever is
-- taken when, a full generation has as many ids that are later.
--
-- No function is STRICT: a NULL is an error, since a NULL answer would look like a claim.
--

-- The options of a set, and the names for its statements.  The only place that says which
-- table is a set.  A set that was made before an option existed lacks its column, so each
-- option that comes later means, when it is null or absent, what was so without it.
-- "generation" is the one that is written to now, without a window by count; those up to
-- "cutoff" are to go, those up to "dropped" have gone.
CREATE FUNCTION _roaring64_dedup_options(dedup regclass)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb;
	found bigint;
	is_set boolean;
	columns text;
	span bigint;
	clock bigint;
BEGIN
	PERFORM @extschema@._roaring64_not_null('dedup set', num_nulls($1));
	IF NOT EXISTS (SELECT FROM pg_class WHERE oid = $1) THEN
		RAISE undefined_table USING
			MESSAGE = 'dedup set does not exist',
			DETAIL = 'It was dropped while this waited for it.';
	END IF;
	-- a view, or of others a cast to json, which the owner can make, would be executed as the caller
	SELECT bool_and(coalesce(a.atttypid = c.type::regtype, c.name IN ('chunk_bits', 'remember', 'keep'))),
		string_agg(format('%1$L, s.%1$I', a.attname), ', ') FILTER (WHERE a.attname IS NOT NULL)
	INTO is_set, columns
	FROM (VALUES
		('claims', 'text'), ('chunks', 'text'), ('windows', 'text'), ('id_type', 'text'), ('chunk_bits', 'int4'),
		('remember', 'interval'), ('keep', 'int8'), ('clock', 'int8'), ('clock_read', 'timestamptz'), ('dropped', 'int8'))
		AS c (name, type) JOIN pg_class AS r ON r.oid = $1 AND r.relkind IN ('r', 'p')
		LEFT JOIN pg_attribute AS a ON a.attrelid = $1 AND a.attname = c.name AND NOT a.attisdropped;
	IF is_set THEN
		EXECUTE format('SELECT jsonb_build_object(%s), count(*) OVER () FROM ONLY %s AS s', columns, $1) INTO o, found;
		IF o IS NULL AND row_security_active($1) THEN
			RAISE insufficient_privilege USING
				MESSAGE = format('permission denied for dedup set "%s"', $1),
				DETAIL = 'Row-level security hides its options.',
				HINT = 'Create a policy for the table, or disable row-level security of it.';
		END IF;
	END IF;
	IF found IS DISTINCT FROM 1 OR o IS NULL OR o->>'id_type' NOT IN ('bigint', 'uuid')
		OR num_nulls(o->>'claims', o->>'chunks', o->>'windows', o->>'id_type', o->>'clock', o->>'dropped') > 0
		OR (o->>'id_type' = 'bigint') <> (coalesce((o->>'chunk_bits')::integer, -1) BETWEEN 0 AND 63) THEN
		RAISE wrong_object_type USING
			MESSAGE = format('"%s" is not a dedup set', $1),
			HINT = 'Create one with roaring64_dedup_create.';
	END IF;
	o := o || @extschema@._roaring64_dedup_tables($1, o) || '{"distributed": false, "cutoff": -1}';
	IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT $2 || jsonb_build_object(''distributed'', EXISTS (SELECT 1 FROM pg_dist_partition'
			' WHERE logicalrelid = $1::regclass))' INTO o USING o->>'claims', o;
	END IF;
	clock := o->>'clock';
	-- a generation is half a window long, and goes a window and a half later
	span := CASE WHEN o->>'remember' IS NOT NULL
		THEN greatest(extract(epoch FROM (o->>'remember')::interval) * 500000, 1) END;
	o := o || jsonb_build_object('generation', coalesce((clock / span + 1) * span, clock),
								 'cutoff', coalesce(greatest(-1, (clock / span - 3) * span), -1));
	RETURN @extschema@._roaring64_dedup_names(o);
END $$;
COMMENT ON FUNCTION _roaring64_dedup_options(regclass) IS
'options of a dedup set, and names for its statements';

-- The qualified names of the tables of claims, chunks and windows.
CREATE FUNCTION _roaring64_dedup_tables(dedup regclass, o jsonb)
RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	home text;
	owner oid;
	kind text;
	name text;
	names jsonb := '{}';
BEGIN
	SELECT quote_ident(nspname) || '.', relowner INTO home, owner
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = $1;
	FOREACH kind IN ARRAY '{claims,chunks,windows}'::text[] LOOP
		name := home || quote_ident(o->>kind);
		IF NOT EXISTS (SELECT FROM pg_class
					   WHERE oid = to_regclass(name) AND relowner = owner AND relkind IN ('r', 'p')) THEN
			RAISE undefined_table USING
				MESSAGE = format('table "%s" of dedup set "%s" does not exist', o->>kind, $1),
				DETAIL = 'It is looked for in the schema of the set, among the tables of its owner.',
				HINT = format('If it was renamed, write its name into column "%s" of "%s".', kind, $1);
		END IF;
		IF @extschema@._roaring64_has_children(to_regclass(name)) THEN
			RAISE wrong_object_type USING
				MESSAGE = format('table "%s" of dedup set "%s" has children by inheritance', o->>kind, $1),
				HINT = 'ALTER TABLE ... NO INHERIT the children.';
		END IF;
		names := names || jsonb_build_object(kind, name);
	END LOOP;
	RETURN names;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_tables(regclass, jsonb) IS
'tables of a dedup set';

-- What differs between the statements of sets, beside the names of their tables:
--
--	  size, andnot, union_of	functions of chunks' members
--	  agg, union				the aggregates that make members of ids, and one of many
--	  parts						what FROM needs after s (key, ids), of WITH, for the parts
--								p (chunk, ids) of s.ids that chunks may hold
--	  new_parts					the same for those that are to be written to chunks
--	  into, window				the generation that is written to, and what FROM needs for it
--	  missing, free				keys without a row in windows that no one inserts, and those whose row no
--								one else has locked; on Citus all, as it cannot tell in one statement
CREATE FUNCTION _roaring64_dedup_names(o jsonb)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known text;
BEGIN
	IF o->>'id_type' = 'bigint' THEN
		known := format(', @extschema@.roaring64_split(s.ids, %s) AS p', o->>'chunk_bits');
		o := o || jsonb_build_object('size', '@extschema@.roaring64_cardinality', 'andnot', '@extschema@.roaring64_andnot',
			'union_of', '@extschema@.roaring64_or', 'agg', '@extschema@.roaring64_agg', 'union', '@extschema@.roaring64_or_agg',
			'parts', known, 'new_parts', known);
	ELSE
		known := @extschema@._roaring64_fill(
			E'\n\t\tJOIN (SELECT key, chunks, max(c.ids[cardinality(c.ids):]) AS last FROM {chunks} AS c'
			'\n\t\t\tJOIN (SELECT key, max(chunk) AS chunk, array_agg(DISTINCT chunk ORDER BY chunk) AS chunks FROM {chunks}'
			'\n\t\t\t\tWHERE key IN (SELECT key FROM s) GROUP BY key) AS l USING (key, chunk)'
			'\n\t\t\tGROUP BY key, chunks) AS b ON b.key = s.key, @extschema@._roaring64_uuids_split(s.ids, b.chunks', o);
		o := o || jsonb_build_object('size', 'cardinality', 'andnot', '@extschema@._roaring64_uuids_andnot',
			'union_of', '@extschema@._roaring64_uuids_or', 'agg', 'array_agg', 'union', '@extschema@._roaring64_uuids_or_agg',
			'parts', known || ', NULL) AS p',
			'new_parts', replace(known, 'JOIN (SELECT key, ch', 'LEFT JOIN (SELECT key, ch')
				|| ', coalesce(b.last, ''{}'')) AS p');
	END IF;
	o := o || CASE WHEN o->>'keep' IS NULL THEN jsonb_build_object('into', o->>'generation', 'window', '')
		ELSE jsonb_build_object('into', 'w.generation', 'window', @extschema@._roaring64_fill(
			E'\n\t\tJOIN (SELECT key, generation FROM {windows} WHERE key = ANY ($1)) AS w ON w.key = s.key', o)) END;
	RETURN o || CASE WHEN (o->>'distributed')::boolean THEN '{"missing": "", "free": "key = ANY ($1)"}'::jsonb
		ELSE jsonb_build_object(
			'missing', @extschema@._roaring64_fill(E' WHERE NOT EXISTS (SELECT FROM {windows} AS w WHERE w.key = k)\n'
				'\tAND NOT @extschema@._roaring64_dedup_inserting({named}, k)',
				o || jsonb_build_object('named', quote_literal(o->>'windows'))),
			'free', @extschema@._roaring64_fill(
				'key IN (SELECT key FROM {windows} WHERE key = ANY ($1) ORDER BY key FOR UPDATE SKIP LOCKED)', o)) END;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_names(jsonb) IS
'what differs in statements on dedup sets';

-- The statements.  $1 is an array of keys unless it says otherwise.
--
-- Citus sends an INSERT from tables to their node as one statement if they are all
-- single shards, and fails: here for a syntax error in what it sends, and in a move,
-- which deletes as well, as that names the table of chunks in place of its shard.
-- What is volatile it does not send: hence random() in both, and where chunks are cut.
-- A time is a parameter, as it takes no volatile function in an UPDATE.
CREATE FUNCTION _roaring64_dedup_statement(o jsonb, name text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- what leaves the chunks: $1 and $2 are keys and ids
	gone CONSTANT text := E'(WITH s AS (SELECT key, {agg}(id) AS ids FROM unnest($1, $2::{id_type}[]) AS t (key, id)'
		' GROUP BY key)\n\tSELECT s.key, p.chunk, p.ids FROM s{parts}) AS p';
	-- the rows of a key that a call of import is about: $1 is the key, $2 the ids
	given CONSTANT text := 'key = $1 AND ' || CASE WHEN (o->>'few')::boolean
		THEN 'id = ANY (@extschema@.roaring64_to_array($2))' ELSE '$2 OPERATOR(@extschema@.@>) id' END;
	-- the ids of the key $1 that the chunks hold and no row of claims is about
	held CONSTANT text := E'SELECT c.chunk, CASE WHEN p.chunk IS NULL THEN c.ids ELSE {andnot}(c.ids, p.ids) END AS m\n'
		'\tFROM {chunks} AS c LEFT JOIN (WITH s AS (SELECT $1 AS key, {agg}(id) AS ids FROM {claims} WHERE key = $1)\n'
		'\t\tSELECT p.chunk, p.ids FROM s{parts}) AS p ON p.chunk = c.chunk\n'
		'\tWHERE c.key = $1';
BEGIN
	RETURN @extschema@._roaring64_fill(CASE $2
		-- the keys that a fold takes next: $1 is the last one that is done or NULL, $2 how many rows they may have
		WHEN 'find' THEN
'SELECT array_agg(key ORDER BY key), sum(n)
FROM (SELECT key, count(*) AS n
	FROM (SELECT key FROM {claims} WHERE $1 IS NULL OR key > $1 ORDER BY key LIMIT $2) AS r
	GROUP BY key ORDER BY key LIMIT 10000) AS k'
		-- the same of keys whose chunks have left the window
		WHEN 'find_expired' THEN
'SELECT array_agg(key ORDER BY key), sum(n)
FROM (SELECT key, count(*) AS n
	FROM (SELECT key FROM {chunks} WHERE generation <= {cutoff} AND ($1 IS NULL OR key > $1) ORDER BY key LIMIT $2) AS r
	GROUP BY key ORDER BY key LIMIT 10000) AS k'
		WHEN 'expire' THEN
'DELETE FROM {chunks} WHERE key = ANY ($1) AND generation <= {cutoff}'
		-- brings all that would outlive the window back to the generation that is written to
		WHEN 'shorten' THEN
'WITH back AS (DELETE FROM {chunks} WHERE generation > {generation} RETURNING key, chunk, ids)
INSERT INTO {chunks} AS c (key, chunk, generation, ids)
SELECT key, chunk, {generation}, {union}(ids) FROM back WHERE random() >= 0 GROUP BY key, chunk ORDER BY 1, 2
ON CONFLICT (key, chunk, generation) DO UPDATE SET ids = {union_of}(c.ids, excluded.ids)'
		-- rows of windows
		WHEN 'add' THEN
'INSERT INTO {windows} (key) SELECT k FROM unnest($1) AS k{missing} ORDER BY k ON CONFLICT (key) DO NOTHING'
		WHEN 'lock' THEN
'WITH l AS (UPDATE {windows} AS w SET
		generation = CASE WHEN {counts} THEN coalesce(w.generation, 1 + greatest({clock},
			(SELECT max(c.generation) FROM {chunks} AS c WHERE c.key = w.key))) END,
		filled = CASE WHEN NOT {counts} THEN 0 WHEN w.generation IS NOT NULL THEN w.filled
			WHEN EXISTS (SELECT 1 FROM {chunks} AS c WHERE c.key = w.key)
				THEN -(SELECT count(*) FROM {claims} AS c WHERE c.key = w.key AND c.present) ELSE 0 END
	WHERE {free} RETURNING key)
SELECT array_agg(key ORDER BY key) FROM l'
		WHEN 'tidy' THEN
'DELETE FROM {windows} AS w WHERE key = ANY ($1) AND NOT EXISTS (SELECT 1 FROM {chunks} AS c WHERE c.key = w.key)'
		-- windows by count: $2 are numbers of ids, or generations
		WHEN 'count' THEN
'UPDATE {windows} AS w SET filled = w.filled + f.n FROM unnest($1, $2) AS f (key, n) WHERE w.key = f.key'
		WHEN 'full' THEN
'SELECT array_agg(key), array_agg(generation) FROM {windows} AS w WHERE key = ANY ($1) AND filled >= {keep}
	AND filled >= {keep} + (SELECT count(*) FROM {claims} AS c WHERE c.key = w.key AND NOT c.present)'
		WHEN 'drop' THEN
'DELETE FROM {chunks} AS c USING unnest($1, $2) AS f (key, generation)
WHERE c.key = f.key AND c.generation < f.generation'
		WHEN 'turn' THEN
'UPDATE {windows} AS w SET generation = w.generation + 1,
	filled = -(SELECT count(*) FROM {claims} AS c WHERE c.key = w.key AND c.present)
WHERE key = ANY ($1)'
		-- a fold takes rows: what was forgotten, or turned over since it came
		WHEN 'take' THEN
'WITH gone AS (DELETE FROM {claims} AS c WHERE {removed} RETURNING c.key, c.id, c.present)
SELECT array_agg(key) AS keys, array_agg(id::text) AS ids,
	array_agg(key) FILTER (WHERE present) AS back, array_agg(id::text) FILTER (WHERE present) AS back_ids
FROM gone'
		-- leaves the chunks, first the count of ids, then chunks that have no other
		WHEN 'uncount' THEN
'UPDATE {windows} AS w SET filled = w.filled - f.n
FROM (SELECT c.key, sum({size}(c.ids) - {size}({andnot}(c.ids, p.ids))) AS n
	FROM {chunks} AS c JOIN {windows} AS g ON g.key = c.key AND g.generation = c.generation, ' || gone || '
	WHERE c.key = p.key AND c.chunk = p.chunk GROUP BY c.key) AS f
WHERE w.key = f.key'
		WHEN 'empty' THEN
'DELETE FROM {chunks} AS c USING ' || gone || '
WHERE c.key = p.key AND c.chunk = p.chunk AND {size}({andnot}(c.ids, p.ids)) = 0'
		WHEN 'subtract' THEN
'UPDATE {chunks} AS c SET ids = {andnot}(c.ids, p.ids)
FROM ' || gone || '
WHERE c.key = p.key AND c.chunk = p.chunk AND {size}({andnot}(c.ids, p.ids)) < {size}(c.ids)'
		-- and goes into them with all that is there: $2 and $3 are keys and ids; one key is
		-- not grouped, as sorting takes a third of the time
		WHEN 'move' THEN
'WITH taken AS (DELETE FROM {claims} AS c WHERE {present} RETURNING c.key, c.id),
s AS (SELECT {key} AS key, {agg}(id) AS ids
	FROM (SELECT key, id FROM taken UNION ALL SELECT * FROM unnest($2, $3::{id_type}[])) AS t{by_key}),
put AS (INSERT INTO {chunks} AS c (key, chunk, generation, ids)
	SELECT s.key, p.chunk, {into}, p.ids FROM s{window}{new_parts}
	WHERE random() >= 0 ORDER BY 1, 2
	ON CONFLICT (key, chunk, generation) DO UPDATE SET ids = {union_of}(c.ids, excluded.ids)
	RETURNING key, chunk, pg_column_size(ids) AS size)
SELECT * FROM (SELECT count(*) AS n FROM taken) AS a,
	(SELECT array_agg(key) AS keys, array_agg({size}(ids)::bigint) AS counts FROM s WHERE ids IS NOT NULL) AS b,
	(SELECT array_agg(key) AS large_keys, array_agg(chunk) AS large FROM put WHERE size > 4024) AS d'
		-- A chunk of more than 250 UUIDs, which are 4,024 bytes, is cut, with those of the same
		-- number in other generations, whose ranges are the same; unless all its ids have the
		-- same first 64 bits, which are 18 characters.  $1 and $2 are keys and numbers.
		WHEN 'cut' THEN
'WITH gone AS (DELETE FROM {chunks} AS c
	USING (SELECT DISTINCT ON (key, chunk) key, chunk, ids
		FROM {chunks} JOIN unnest($1, $2) AS g (key, chunk) USING (key, chunk)
		WHERE pg_column_size(ids) > 4024 AND left(ids[1]::text, 18) <> left(ids[cardinality(ids)]::text, 18)
		ORDER BY key, chunk, pg_column_size(ids) DESC) AS f
	WHERE c.key = f.key AND c.chunk = f.chunk RETURNING c.key, c.generation, c.ids, f.chunk, f.ids AS all_ids)
INSERT INTO {chunks} (key, chunk, generation, ids)
SELECT g.key, p.chunk, g.generation, p.ids
FROM gone AS g,
	LATERAL (SELECT array_agg(p.chunk) AS chunks
		FROM @extschema@._roaring64_uuids_split(g.all_ids, ARRAY[g.chunk], ''{}'') AS p) AS f,
	@extschema@._roaring64_uuids_split(g.ids, f.chunks, NULL) AS p
WHERE random() >= 0 ORDER BY 1, 2'
		-- an import: $1 is the key, $2 the ids
		WHEN 'back' THEN
'WITH back AS (UPDATE {claims} SET present = true, changed = true, claimed_at = $3
	WHERE key = $1 AND id IN (SELECT id FROM {claims} WHERE ' || given || ' AND NOT present ORDER BY id FOR UPDATE)
	RETURNING id)
SELECT coalesce({agg}(id), ''{}'') FROM back'
		WHEN 'known' THEN
'WITH s AS (SELECT $1 AS key, $2 AS ids)
SELECT coalesce({union}(m), ''{}'') FROM (
	SELECT {agg}(id) FROM {claims} WHERE ' || given || '
	UNION ALL
	SELECT @extschema@.roaring64_and(p.ids, c.ids) FROM s{parts}, {chunks} AS c
	WHERE c.key = $1 AND c.chunk = p.chunk) AS f (m)'
		WHEN 'import' THEN
'WITH s AS (SELECT k AS key, $2 AS ids FROM unnest($1) AS k)
INSERT INTO {chunks} AS c (key, chunk, generation, ids)
SELECT s.key, p.chunk, {into}, p.ids FROM s{window}{new_parts}
WHERE random() >= 0 ORDER BY 2
ON CONFLICT (key, chunk, generation) DO UPDATE SET ids = {union_of}(c.ids, excluded.ids)'
		-- what the key $1 has
		WHEN 'export' THEN
'SELECT coalesce({union}(m), ''{}'') FROM (SELECT {agg}(id) AS m FROM {claims} WHERE key = $1 AND present
	UNION ALL SELECT m FROM (' || held || ') AS h) AS f'
		WHEN 'export_uuids' THEN
'SELECT ARRAY(SELECT id FROM {claims} WHERE key = $1 AND present
	UNION SELECT u FROM (' || held || ') AS h, unnest(m) AS u ORDER BY 1)'
		WHEN 'number' THEN
'SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM {claims} WHERE key = $1 AND present
	UNION ALL SELECT {size}({union}(m)) FROM (' || held || ') AS h GROUP BY chunk) AS f'
		END, o || jsonb_build_object('counts', o->>'keep' IS NOT NULL));
END $$;
COMMENT ON FUNCTION _roaring64_dedup_statement(jsonb, text) IS
'a statement on a dedup set';

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
	IF coalesce(id_type, '') <> ALL ('{bigint,uuid}') THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"id_type" must be "bigint" or "uuid"';
	END IF;
	IF chunk_bits NOT BETWEEN 8 AND 60 THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"chunk_bits" must be between 8 and 60';
	ELSIF NOT bigints AND chunk_bits IS NOT NULL THEN
		RAISE invalid_parameter_value USING
			MESSAGE = '"chunk_bits" must be null for UUIDs';
	END IF;
	remember := @extschema@._roaring64_dedup_window(remember, keep);
	IF remember < '1 hour' THEN
		RAISE NOTICE USING
			MESSAGE = format('ids are remembered for %s', remember),
			HINT = 'Without a unit, an interval is in seconds: write ''7 days'' for days.';
	END IF;
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
	EXECUTE format('CREATE TABLE %I.%I (key text COLLATE "C" PRIMARY KEY, generation bigint,'
				   ' filled bigint NOT NULL DEFAULT 0)'
				   ' WITH (fillfactor = 80)', home, base || '_windows');
	EXECUTE format('CREATE TABLE %I.%I (claims text PRIMARY KEY, chunks text NOT NULL, windows text NOT NULL,'
				   ' id_type text NOT NULL, chunk_bits integer, remember interval, keep bigint,'
				   ' clock bigint NOT NULL DEFAULT 0, clock_read timestamptz NOT NULL DEFAULT clock_timestamp(),'
				   ' dropped bigint NOT NULL DEFAULT -1)',
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
-- count, which end here, are numbered on from the highest if it comes back.
CREATE FUNCTION roaring64_dedup_alter(dedup regclass,
									  remember interval DEFAULT NULL,
									  keep bigint DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
	counted boolean;
BEGIN
	remember := @extschema@._roaring64_dedup_window($2, $3);
	EXECUTE format('LOCK TABLE ONLY %s, %s IN EXCLUSIVE MODE', $1, o->>'windows');
	counted := @extschema@._roaring64_dedup_options($1)->>'keep' IS NOT NULL;
	EXECUTE format('UPDATE ONLY %s SET remember = $1, keep = $2, clock_read = CASE WHEN remember IS NULL'
				   ' THEN $3 ELSE clock_read END', $1)
	USING remember, keep, clock_timestamp();
	IF counted <> (keep IS NOT NULL) THEN
		EXECUTE format('UPDATE %s SET generation = NULL', o->>'windows');
	END IF;
	IF remember IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(@extschema@._roaring64_dedup_options($1), 'shorten');
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
	o jsonb;
BEGIN
	IF EXISTS (SELECT FROM pg_class WHERE oid = $1) THEN
		EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', $1);
	END IF;
	o := @extschema@._roaring64_dedup_options($1);
	EXECUTE format('DROP TABLE %s, %s, %s, %s', $1, o->>'claims', o->>'chunks', o->>'windows');
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

CREATE AGGREGATE _roaring64_uuids_or_agg(uuid[]) (
	SFUNC = _roaring64_uuids_or,
	STYPE = uuid[], SSPACE = 4096,
	COMBINEFUNC = _roaring64_uuids_or, PARALLEL = SAFE
);
COMMENT ON AGGREGATE _roaring64_uuids_or_agg(uuid[]) IS
'union of sorted arrays';

CREATE FUNCTION _roaring64_uuids_split(uuid[], chunks bigint[], last uuid[], OUT chunk bigint, OUT ids uuid[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_uuids_split'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 100;
COMMENT ON FUNCTION _roaring64_uuids_split(uuid[], bigint[], uuid[]) IS
'ids by the chunks they belong to; of those past the last id, if it is given, many are cut into chunks of their own';

--
-- Windows, import and fold.
--

-- Begins the next generation of the keys whose own is full, and forgets all before that.
-- The rows of windows of these keys must be locked.
CREATE FUNCTION _roaring64_dedup_turn(o jsonb, keys text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	generations bigint[];
BEGIN
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'full') INTO keys, generations USING keys;
	IF keys IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'drop') USING keys, generations;
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'turn') USING keys;
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_turn(jsonb, text[]) IS
'begins and forgets generations of a dedup set';

-- Locks the row of windows of a key, for what writes to its chunks or takes all of it.
CREATE FUNCTION _roaring64_dedup_lock_key(o jsonb, dedup regclass, key text)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF octet_length($3) > 1024 THEN
		RAISE program_limit_exceeded USING
			MESSAGE = 'key is too long',
			DETAIL = format('It has %s bytes; a key has at most 1024.', octet_length($3));
	END IF;
	EXECUTE format('INSERT INTO %s AS w (key) VALUES ($1) ON CONFLICT (key)'
				   ' DO UPDATE SET filled = w.filled WHERE false', o->>'windows') USING $3;
	-- the clock may have gone on, or the window changed, while that was waited for
	RETURN @extschema@._roaring64_dedup_options($2);
END $$;
COMMENT ON FUNCTION _roaring64_dedup_lock_key(jsonb, regclass, text) IS
'locks a key of a dedup set';

-- Rows that say that an id was forgotten are turned over, and locked before that in the
-- order in which a batch locks them; the others say that it is there.  The key's row of
-- windows is written if anything is: a REPEATABLE READ transaction that has missed that
-- gets an error.
CREATE FUNCTION roaring64_dedup_import(dedup regclass, key text, ids roaring64)
RETURNS roaring64
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
	back ids%TYPE;
	known ids%TYPE;
	n bigint;
BEGIN
	PERFORM @extschema@._roaring64_not_null('key and ids', num_nulls($2, $3));
	IF o->>'id_type' <> 'bigint' THEN
		RAISE datatype_mismatch USING
			MESSAGE = format('ids of dedup set "%s" are UUIDs', $1),
			HINT = 'Use roaring64_dedup_claim_many.';
	END IF;
	o := @extschema@._roaring64_dedup_lock_key(o, $1, $2)
		|| jsonb_build_object('few', @extschema@.roaring64_cardinality(ids) <= 10000);
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'back') INTO back USING $2, ids, clock_timestamp();
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'known') INTO known USING $2, ids;
	ids := @extschema@.roaring64_andnot(ids, known);
	n := @extschema@.roaring64_cardinality(ids);
	IF n > 0 THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'lock') USING ARRAY[$2];
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'import') USING ARRAY[$2], ids;
		IF o->>'keep' IS NOT NULL THEN
			EXECUTE @extschema@._roaring64_dedup_statement(o, 'count') USING ARRAY[$2], ARRAY[n];
			PERFORM @extschema@._roaring64_dedup_turn(o, ARRAY[$2]);
		END IF;
	END IF;
	RETURN @extschema@.roaring64_or(ids, back);
END $$;
COMMENT ON FUNCTION roaring64_dedup_import(regclass, text, roaring64) IS
'remembers all ids of a set, one call for a key at a time: those that are new';

-- Rows before chunks, each with a snapshot of its own: what a fold moves meanwhile is
-- found in one or the other.
CREATE FUNCTION roaring64_dedup_forget_key(dedup regclass, key text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
BEGIN
	PERFORM @extschema@._roaring64_not_null('key', num_nulls($2));
	o := @extschema@._roaring64_dedup_lock_key(o, $1, $2);
	EXECUTE format('DELETE FROM %1$s WHERE key = $1 AND id IN (SELECT id FROM %1$s WHERE key = $1 ORDER BY id FOR UPDATE)',
				   o->>'claims') USING $2;
	EXECUTE format('DELETE FROM %s WHERE key = $1', o->>'chunks') USING $2;
	EXECUTE format('DELETE FROM %s WHERE key = $1', o->>'windows') USING $2;
END $$;
COMMENT ON FUNCTION roaring64_dedup_forget_key(regclass, text) IS
'makes all ids of a key new again';

-- A fold leaves out the keys whose rows of windows it would have to wait for: "add" those
-- that an open import has inserted, by this, and "lock" those that one has locked.
CREATE FUNCTION _roaring64_dedup_inserting(windows regclass, key text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_inserting'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10;
COMMENT ON FUNCTION _roaring64_dedup_inserting(regclass, text) IS
'whether another transaction has inserted the row of a key, and has not ended';

-- Rows of windows of keys that have no ids any more go.
CREATE FUNCTION _roaring64_dedup_tidy(o jsonb, keys text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF o->>'keep' IS NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'lock') INTO keys USING keys;
	END IF;
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'tidy') USING keys;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_tidy(jsonb, text[]) IS
'removes rows of windows that nothing needs';

-- A step of a fold: moves the claims of keys to the chunks.  With "room", of one key at most
-- so many, from the lowest id; or those that no one has locked.  Returns whether there may be
-- more.  A row that is turned over in between is left.
CREATE FUNCTION _roaring64_dedup_step(o jsonb, keys text[], room bigint, pass_over boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rows_of text := '{these} AND {which}';
	bound text;
	one boolean;
	gone record;
	put record;
BEGIN
	IF o->>'keep' IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'add') USING keys;
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'lock') INTO keys USING keys;
		IF keys IS NULL THEN
			RETURN false;
		END IF;
	END IF;
	one := cardinality(keys) = 1;
	IF pass_over THEN
		-- in an array, as the planner might execute a subquery for each row; Citus has ids of one key
		rows_of := rows_of || format(E'\n\tAND c.%1$s = ANY (ARRAY(SELECT c.%1$s FROM {claims} AS c WHERE {these} AND {which}'
			' ORDER BY c.key, c.id LIMIT {room} FOR UPDATE SKIP LOCKED))',
			CASE WHEN (o->>'distributed')::boolean THEN 'id' ELSE 'ctid' END);
	ELSIF room IS NOT NULL THEN
		EXECUTE format('SELECT c.id::text FROM %s AS c WHERE key = $1 ORDER BY c.id OFFSET $2 LIMIT 1', o->>'claims')
		INTO bound USING keys[1], room;
		IF bound IS NOT NULL THEN
			rows_of := rows_of || format(' AND c.id < %L::{id_type}', bound);
		END IF;
	END IF;
	o := o || jsonb_build_object(
		'these', CASE WHEN one THEN 'c.key = ' || quote_literal(keys[1]) ELSE 'c.key = ANY ($1)' END,
		'key', CASE WHEN one THEN quote_literal(keys[1]) || '::text' ELSE 'key' END,
		'by_key', CASE WHEN one THEN '' ELSE ' GROUP BY key' END,
		'room', room);
	o := o || jsonb_build_object(
		'removed', @extschema@._roaring64_fill(rows_of, o || '{"which": "(c.changed OR NOT c.present)"}'),
		'present', @extschema@._roaring64_fill(rows_of, o || '{"which": "c.present AND NOT c.changed"}'));

	EXECUTE @extschema@._roaring64_dedup_statement(o, 'take') INTO gone USING keys;
	IF gone.keys IS NOT NULL THEN
		IF o->>'keep' IS NOT NULL THEN
			EXECUTE @extschema@._roaring64_dedup_statement(o, 'uncount') USING gone.keys, gone.ids;
		END IF;
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'empty') USING gone.keys, gone.ids;
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'subtract') USING gone.keys, gone.ids;
	END IF;
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'move') INTO put USING keys, gone.back, gone.back_ids;
	IF o->>'id_type' = 'uuid' AND put.large IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'cut') USING put.large_keys, put.large;
	END IF;
	IF o->>'keep' IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'count') USING put.keys, put.counts;
		PERFORM @extschema@._roaring64_dedup_turn(o, keys);
	END IF;
	IF gone.keys IS NOT NULL THEN
		PERFORM @extschema@._roaring64_dedup_tidy(o, ARRAY(SELECT DISTINCT unnest(gone.keys)));
	END IF;
	RETURN bound IS NOT NULL OR pass_over AND greatest(put.n, cardinality(gone.keys)) >= room;
END $$;
COMMENT ON FUNCTION _roaring64_dedup_step(jsonb, text[], bigint, boolean) IS
'moves claims of a dedup set into its chunks';

-- Begins a transaction of a fold: locks the set against other folds, lets its clock
-- go on if that has to be read, and locks what is written.  A lock on a row is waited
-- for so shortly that no deadlock is found meanwhile; Citus passes the setting on to its
-- nodes only if a statement makes it.  False if another session folds the set.
CREATE FUNCTION _roaring64_dedup_begin(dedup regclass, read_clock boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
	name text;
BEGIN
	EXECUTE format('SELECT claims FROM ONLY %s FOR NO KEY UPDATE SKIP LOCKED', $1) INTO name;
	IF name IS NULL THEN
		RAISE NOTICE 'dedup set "%" is being folded by another session', $1;
		RETURN false;
	END IF;
	IF read_clock AND o->>'remember' IS NOT NULL THEN
		EXECUTE format('UPDATE ONLY %s SET clock = clock + least(greatest(extract(epoch FROM $1 - clock_read), 0),'
					   ' extract(epoch FROM remember) / 8) * 1000000, clock_read = $1 WHERE remember IS NOT NULL', $1)
		USING clock_timestamp();
	END IF;
	EXECUTE format('LOCK TABLE %s, %s IN ROW EXCLUSIVE MODE', o->>'claims', o->>'chunks');
	IF (o->>'distributed')::boolean THEN
		PERFORM set_config('citus.propagate_set_commands', 'local', true);
	END IF;
	SET LOCAL lock_timeout = '100ms';
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

-- Goes through the keys, some at a time, each time in a transaction, and then through those
-- of which something leaves the window by time.  Of a key with very many claims a step takes
-- a number, and the next goes on with it.  Where rows of claims are locked a step is done
-- again without them; on Citus, which cannot skip them in several shards, with one key at a
-- time.  After another failure with several keys it goes on with one claim, then two, and so
-- on; and a key for which that fails is left for the next fold, with a warning.
CREATE PROCEDURE roaring64_dedup_fold(dedup regclass)
LANGUAGE plpgsql
AS $$
DECLARE
	room bigint := 500000;
	o pg_catalog.jsonb;
	claims pg_catalog.text;
	keys pg_catalog.text[];
	n bigint;
	expiring boolean := false;	-- is it past the claims?
	cutoff bigint;				-- of what goes with the window
	begun boolean := false;
	reached pg_catalog.text;	-- all keys up to this one are done
	more boolean := false;		-- the key has more claims
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
		o := @extschema@._roaring64_dedup_options($1);
		claims := o->>'claims';
		IF NOT more AND NOT pass_over THEN
			EXECUTE @extschema@._roaring64_dedup_statement(o, CASE WHEN expiring THEN 'find_expired' ELSE 'find' END)
			INTO keys, n USING reached, room + 1;
			IF keys IS NULL THEN
				IF NOT expiring AND (o->>'cutoff')::bigint > (o->>'dropped')::bigint THEN
					expiring := true;
					cutoff := o->>'cutoff';
					reached := NULL;
					CONTINUE;
				ELSIF cutoff IS NOT NULL THEN
					EXECUTE format('UPDATE ONLY %s SET dropped = $1', $1) USING cutoff;
				END IF;
				EXIT;
			ELSIF n > room THEN
				more := cardinality(keys) = 1 AND NOT expiring;
				-- the last one has more rows than those
				keys := trim_array(keys, (cardinality(keys) > 1)::integer);
			END IF;
		END IF;
		BEGIN
			IF expiring THEN
				EXECUTE @extschema@._roaring64_dedup_statement(o, 'expire') USING keys;
				PERFORM @extschema@._roaring64_dedup_tidy(o, keys);
			ELSE
				more := @extschema@._roaring64_dedup_step(o, keys, CASE WHEN more OR pass_over THEN room END, pass_over);
			END IF;
			IF NOT more THEN
				reached := keys[cardinality(keys)];
				pass_over := false;
			END IF;
			room := least(room * 2, 500000);
		EXCEPTION WHEN OTHERS THEN
			IF sqlstate ~ '^(0A|42|53|57|58|XX000)' THEN
				RAISE;			-- no privilege, no disk, no statement: nothing of a key
			ELSIF sqlstate = '55P03' AND NOT pass_over AND NOT expiring
				AND (cardinality(keys) = 1 OR NOT (o->>'distributed')::boolean) THEN
				pass_over := true;
			ELSIF cardinality(keys) > 1 THEN
				room := 1;
				more := false;
				pass_over := false;
			ELSE
				RAISE WARNING 'key % of dedup set "%" was not folded: %', quote_literal(left(keys[1], 100)), $1, sqlerrm;
				reached := keys[1];
				more := false;
				pass_over := false;
				cutoff := NULL;
			END IF;
		END;
	END LOOP;
	COMMIT;
	IF begun THEN
		PERFORM @extschema@._roaring64_dedup_reindex(pg_catalog.to_regclass(claims));
		COMMIT;
	END IF;
END $$;
COMMENT ON PROCEDURE roaring64_dedup_fold(regclass) IS
'moves what was claimed and forgotten into chunks, and forgets what is past the window';

--
-- What there is: what the chunks hold of which there is no row of claims, and what
-- these say.
--
CREATE FUNCTION roaring64_dedup_export(dedup regclass, key text)
RETURNS roaring64
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
	result @extschema@.roaring64;
BEGIN
	PERFORM @extschema@._roaring64_not_null('key', num_nulls($2));
	IF o->>'id_type' <> 'bigint' THEN
		RAISE datatype_mismatch USING
			MESSAGE = format('ids of dedup set "%s" are UUIDs', $1),
			HINT = 'Use roaring64_dedup_export_uuids.';
	END IF;
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'export') INTO result USING $2;
	RETURN result;
END $$;
COMMENT ON FUNCTION roaring64_dedup_export(regclass, text) IS
'all ids of a key that are remembered';

CREATE FUNCTION roaring64_dedup_export_uuids(dedup regclass, key text)
RETURNS uuid[]
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
	result uuid[];
BEGIN
	PERFORM @extschema@._roaring64_not_null('key', num_nulls($2));
	IF o->>'id_type' <> 'uuid' THEN
		RAISE datatype_mismatch USING
			MESSAGE = format('ids of dedup set "%s" are bigints', $1),
			HINT = 'Use roaring64_dedup_export.';
	END IF;
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'export_uuids') INTO result USING $2;
	RETURN result;
END $$;
COMMENT ON FUNCTION roaring64_dedup_export_uuids(regclass, text) IS
'all ids of a key that are remembered, ascending';

CREATE FUNCTION roaring64_dedup_count(dedup regclass, key text)
RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
	result bigint;
BEGIN
	PERFORM @extschema@._roaring64_not_null('key', num_nulls($2));
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'number') INTO result USING $2;
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
	o jsonb := @extschema@._roaring64_dedup_options($1);
BEGIN
	EXECUTE format('SELECT count(*), min(claimed_at) FROM %s', o->>'claims') INTO claims, oldest_claim;
	EXECUTE format('SELECT count(nullif(n, 0)), coalesce(sum(n), 0) FROM %s AS c, %s(c.ids) AS n',
				   o->>'chunks', o->>'size')
	INTO chunks, ids;
END $$;
COMMENT ON FUNCTION roaring64_dedup_stats(regclass) IS
'how many claims wait to be folded, since when, and how many chunks and ids in them there are';
