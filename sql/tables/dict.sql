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
