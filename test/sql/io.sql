--
-- Text and binary input and output, and roaring64.output_format
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- braces: any order, repeats, white space as in an array literal
SELECT '{}'::roaring64, '{1}'::roaring64, '{3,1,2}'::roaring64,
	'{7,7,7}'::roaring64;
SELECT E' \t\n\r\x0b\f{ 3 ,\n-1\t, +2 } '::roaring64, ' { } '::roaring64;
-- signed order, up to both ends of bigint
SELECT '{5,-1,0,-9223372036854775808,9223372036854775807}'::roaring64;
-- quotes, as drivers write arrays of strings
SELECT '{"1","2", "-3" ,4}'::roaring64, '{"9223372036854775807"}'::roaring64;
SELECT '{-0,0,00,+0}'::roaring64,
	'{000000000000000000000000000000001,-0000000000000000000000001}'::roaring64;
SELECT '{65535,65536,4294967295,4294967296,-4294967296,-4294967297}'::roaring64;
SELECT NULL::roaring64;

-- hex: portable bytes, upper or lower case
SELECT '\x0000000000000000'::roaring64;
SELECT '\x0100000000000000000000003a300000010000000000020010000000010002000300'::roaring64;
SELECT ' \x0100000000000000FFFFFFFF3A30000001000000FFFF000010000000FFFF '::roaring64;

-- what is legal without being canonical is rewritten
CREATE TEMP TABLE foreign_bytes (what text, bytes text);
INSERT INTO foreign_bytes VALUES
	('empty bucket', '010000000000000007000000'
		'3a30000000000000'),
	('one value as a run', '010000000000000000000000'
		'3b300000010000000001000500'
		'0000'),
	('two values as a run', '010000000000000000000000'
		'3b300000010000010001000500'
		'0100'),
	('three values as a run', '010000000000000000000000'
		'3b300000010000020001000500'
		'0200'),
	('three values as an array', '010000000000000000000000'
		'3a3000000100000000000200'
		'10000000'
		'050006000700'),
	('four values as an array', '010000000000000000000000'
		'3a3000000100000000000300'
		'10000000'
		'0500060007000800');
SELECT what, length(bytes) / 2 AS given, ('\x' || bytes)::roaring64 AS value,
	roaring64_send(('\x' || bytes)::roaring64) AS stored
FROM foreign_bytes;

-- malformed text: the type and the place
SELECT ''::roaring64;
SELECT '   '::roaring64;
SELECT '1,2'::roaring64;
SELECT '[1,2]'::roaring64;
SELECT '{'::roaring64;
SELECT '{1'::roaring64;
SELECT '{1,'::roaring64;
SELECT '{1,}'::roaring64;
SELECT '{,1}'::roaring64;
SELECT '{1,,2}'::roaring64;
SELECT '{1 2}'::roaring64;
SELECT '{1.5}'::roaring64;
SELECT '{1e3}'::roaring64;
SELECT '{1,2'::roaring64;
SELECT '{1-5}'::roaring64;
SELECT '{1:5}'::roaring64;
SELECT '{-}'::roaring64;
SELECT '{+-1}'::roaring64;
SELECT '{- 1}'::roaring64;
SELECT '{abc}'::roaring64;
SELECT '{"1}'::roaring64;
SELECT '{"1,2"}'::roaring64;
SELECT '{""}'::roaring64;
SELECT '{"NULL"}'::roaring64;
SELECT '{1"2"}'::roaring64;
SELECT '{0x10}'::roaring64;
SELECT '{1}x'::roaring64;
SELECT '{1}{2}'::roaring64;
SELECT '{{1}}'::roaring64;
-- a long literal is clipped; the place is still told
SELECT ('{' || repeat('1234567,', 100) || '}')::roaring64;
-- no bigint
SELECT '{9223372036854775808}'::roaring64;
SELECT '{1,-9223372036854775809}'::roaring64;
SELECT '{18446744073709551616}'::roaring64;
SELECT ('{1,' || repeat('9', 1000) || '}')::roaring64;
-- NULL is no element, and a word that only starts so is no number
SELECT '{1,NULL}'::roaring64;
SELECT '{ null , 1}'::roaring64;
SELECT '{nullable}'::roaring64;

-- malformed hex, and well-formed hex of bytes that are no set
SELECT '\'::roaring64;
SELECT '\X00'::roaring64;
SELECT '\x000'::roaring64;
SELECT '\x00zz'::roaring64;
SELECT '\x00 00000000000000'::roaring64;
SELECT '\x0000000000000000 x'::roaring64;
SELECT '\x'::roaring64;
SELECT '\x00'::roaring64;
SELECT '\x000000000000000000'::roaring64;
SELECT '\x0100000000000000'::roaring64;
SELECT '\x0100000000000000000000003a300000010000000000020010000000030002000100'::roaring64;

-- the codes of these errors
CREATE FUNCTION pg_temp.input_error(literal text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	RETURN 'accepted: ' || literal::roaring64::text;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SELECT literal, pg_temp.input_error(literal)
FROM unnest(ARRAY['{1,2}', '{1', 'x', '{9223372036854775808}', '{NULL}',
				  '\x0g', '\x00']) AS literal;

-- soft errors, where the server has them
DO $$
DECLARE
	wrong text;
BEGIN
	IF to_regproc('pg_input_is_valid') IS NOT NULL THEN
		EXECUTE $q$
			SELECT string_agg(literal, ' ')
			FROM (VALUES ('{1', false), ('x', false), ('{9223372036854775808}', false),
				('{NULL}', false), ('\x0g', false), ('\x00', false), ('{}x', false),
				('{1,}', false), ('{1}', true), ('{}', true), ('\x0000000000000000', true)
				) AS t(literal, valid)
			WHERE pg_input_is_valid(literal, 'roaring64') <> valid
			$q$ INTO wrong;
		IF wrong IS NOT NULL THEN
			RAISE 'soft errors are wrong: %', wrong;
		END IF;
	END IF;
END
$$;

-- output: braces up to 1024 elements, hex above, unless told otherwise
SHOW roaring64.output_format;
CREATE TEMP TABLE sized AS
	SELECT n, (SELECT array_agg(i * 1000) FROM generate_series(1, n) AS i)::roaring64 AS s
	FROM unnest(ARRAY[1023, 1024, 1025]) AS n;
SELECT n, left(s::text, 20) FROM sized ORDER BY n;
SET roaring64.output_format = 'array';
SELECT n, left(s::text, 20), right(s::text, 20) FROM sized ORDER BY n;
SELECT '{}'::roaring64, '{2,1}'::roaring64;
SET roaring64.output_format = hex;
SELECT '{}'::roaring64, '{2,1}'::roaring64, '{-1}'::roaring64;
SET roaring64.output_format = 'nonsense';
RESET roaring64.output_format;
-- only our settings have our prefix, where the server can be told so
DO $$
BEGIN
	SET roaring64.no_such_setting = 1;
	IF current_setting('server_version_num')::int >= 150000 THEN
		RAISE 'a setting that does not exist was set';
	END IF;
EXCEPTION
	WHEN invalid_name THEN
		NULL;
END
$$;

-- text written either way reads back as the same set, whatever its size
CREATE TEMP TABLE shapes (shape text, s roaring64);
INSERT INTO shapes
	SELECT 'empty', '{}'::roaring64
	UNION ALL SELECT 'one', '{42}'
	UNION ALL SELECT 'ends', '{-9223372036854775808,9223372036854775807}'
	UNION ALL SELECT 'batch', (SELECT array_agg(i * 3) FROM generate_series(1, 512) AS i)::roaring64
	UNION ALL SELECT 'batch and one', (SELECT array_agg(i * 3) FROM generate_series(1, 513) AS i)::roaring64
	UNION ALL SELECT 'to the last', (SELECT array_agg(9223372036854775807 - i) FROM generate_series(0, 1023) AS i)::roaring64
	UNION ALL SELECT 'dense', (SELECT array_agg(i) FROM generate_series(-100000, 100000, 2) AS i)::roaring64
	UNION ALL SELECT 'run', int8range(-70000, 70000)::roaring64
	UNION ALL SELECT 'sparse', (SELECT array_agg(i * 123456789012) FROM generate_series(-2000, 2000) AS i)::roaring64;
SET roaring64.output_format = 'array';
SELECT shape, s::text::roaring64 = s AS same,
	s::text = '{' || array_to_string(s::bigint[], ',') || '}' AS elements
FROM shapes;
SET roaring64.output_format = 'hex';
SELECT shape, s::text::roaring64 = s AS same,
	s::text = s::bytea::text AS bytes
FROM shapes;
RESET roaring64.output_format;

-- COPY, text and binary.  A file of bytea in binary format holds the same
-- bytes as one of sets, so it shows what recv takes.
\setenv ROARING64_FILE `mktemp`
CREATE TEMP TABLE copied (LIKE shapes);
\copy shapes TO PROGRAM 'cat > "$ROARING64_FILE"'
\copy copied FROM PROGRAM 'cat "$ROARING64_FILE"'
SELECT count(*) FROM shapes JOIN copied USING (shape, s);
TRUNCATE copied;
\copy shapes TO PROGRAM 'cat > "$ROARING64_FILE"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "$ROARING64_FILE"' (FORMAT binary)
SELECT count(*) FROM shapes JOIN copied USING (shape, s);
TRUNCATE copied;
\copy (SELECT what, decode(bytes, 'hex') FROM foreign_bytes) TO PROGRAM 'cat > "$ROARING64_FILE"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "$ROARING64_FILE"' (FORMAT binary)
SELECT shape, s::bytea FROM copied;
TRUNCATE copied;
\copy (SELECT 'trailing byte', '\x000000000000000000'::bytea) TO PROGRAM 'cat > "$ROARING64_FILE"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "$ROARING64_FILE"' (FORMAT binary)
\copy (SELECT 'nothing', ''::bytea) TO PROGRAM 'cat > "$ROARING64_FILE"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "$ROARING64_FILE"' (FORMAT binary)
\copy (SELECT NULL::text, NULL::bytea) TO PROGRAM 'cat > "$ROARING64_FILE"' (FORMAT binary)
\copy copied FROM PROGRAM 'cat "$ROARING64_FILE"' (FORMAT binary)
SELECT shape IS NULL, s IS NULL FROM copied;
\! rm -f "$ROARING64_FILE"
SELECT roaring64_send(s) = s::bytea AS same FROM shapes GROUP BY 1;
SELECT roaring64_send(NULL) IS NULL;

-- stored compressed and out of line
CREATE TEMP TABLE stored (s roaring64);
INSERT INTO stored
	SELECT array_agg((1279929600000 + i * 37) << 22 | i % 3)::roaring64
	FROM generate_series(1::bigint, 50000) AS i;
SELECT s = (SELECT array_agg((1279929600000 + i * 37) << 22 | i % 3)
			FROM generate_series(1::bigint, 50000) AS i)::roaring64 AS same,
	pg_column_size(s) < octet_length(s::bytea) AS compressed
FROM stored;
ALTER TABLE stored ALTER s SET STORAGE external;
UPDATE stored SET s = s | 5;
SELECT s @> 5 AS has, s - 5 = (SELECT array_agg((1279929600000 + i * 37) << 22 | i % 3)
			FROM generate_series(1::bigint, 50000) AS i)::roaring64 - 5 AS same,
	pg_column_size(s) = octet_length(s::bytea) AS plain
FROM stored;
SELECT typstorage, typalign, typlen, typcategory, typbyval
FROM pg_type WHERE oid = 'roaring64'::regtype;

-- bytes in the 32-bit format, of the same set with what they lack before them
SELECT substring('{1,2,70000}'::roaring64::bytea FROM 13)::roaring64;
SELECT roaring64_invalid_reason(substring('{1,2,70000}'::roaring64::bytea FROM 13));
SELECT ('\x010000000000000000000000'::bytea || substring('{1,2,70000}'::roaring64::bytea FROM 13))::roaring64;

-- base64, on one line as RFC 4648 has it, of any length; the bytes are validated
SELECT roaring64_to_base64('{1,2,3}'), roaring64_from_base64('AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAEAAgADAA=='), roaring64_to_base64('{}'), roaring64_from_base64('AAAAAAAAAAA=');
SELECT count(*) AS sets, count(*) FILTER (WHERE roaring64_from_base64(roaring64_to_base64(s)) = s) AS same,
	count(*) FILTER (WHERE decode(roaring64_to_base64(s), 'base64') = s::bytea) AS same_bytes,
	count(*) FILTER (WHERE roaring64_to_base64(s) ~ '^[A-Za-z0-9+/]*={0,2}$') AS on_one_line
FROM (SELECT s FROM shapes UNION ALL SELECT roaring64_agg(i * 70001) FROM generate_series(1, 40) AS i UNION ALL SELECT '{-1,9223372036854775807,-9223372036854775808}') AS t;
SELECT roaring64_from_base64(E' AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIA\r\nEAAAAAEAAgADAA==\n');
SELECT roaring64_to_base64(NULL) IS NULL AND roaring64_from_base64(NULL) IS NULL;
\set SHOW_CONTEXT never
SELECT roaring64_from_base64('AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAEAAgADAA');
SELECT roaring64_from_base64('AQAA-_AA');
SELECT roaring64_from_base64('');
SELECT roaring64_from_base64('AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAEAAgADAA==AAAA');
