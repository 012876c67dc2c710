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
