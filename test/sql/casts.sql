--
-- Casts with bytea, arrays, ranges and multiranges, and roaring64_invalid_reason
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- bytea: out as they are, in after a look
SELECT '{}'::roaring64::bytea, '{1,2}'::roaring64::bytea, '{-1}'::roaring64::bytea;
SELECT '\x0000000000000000'::bytea::roaring64;
SELECT '\x0100000000000000ffffffff3a30000001000000ffff000010000000ffff'::bytea::roaring64;
-- a full bitset of 65536 values comes back as the run that it is
SELECT length(b) AS given, length(b::roaring64::bytea) AS stored,
	b::roaring64::int8multirange AS ranges
FROM (SELECT decode('010000000000000000000000' || '3a300000010000000000ffff10000000' ||
					repeat('ff', 8192), 'hex')) AS full_bitset(b);
SELECT ''::bytea::roaring64;
SELECT '\x0100000000000000'::bytea::roaring64;
SELECT '\x000000000000000000'::bytea::roaring64;
SELECT NULL::bytea::roaring64 IS NULL, NULL::roaring64::bytea IS NULL;

-- what the check says
SELECT what, roaring64_invalid_reason(decode(bytes, 'hex'))
FROM (VALUES
	('empty set', '0000000000000000'),
	('{1,2,3}', '0100000000000000000000003a300000010000000000020010000000010002000300'),
	('legal: an empty bucket', '010000000000000007000000' || '3a30000000000000'),
	('legal: a run of one', '010000000000000000000000' || '3b300000010000000001000500' || '0000'),
	('legal: a spare run flag', '0100000000000000' || '00000000' || '3b30000003' || '00000100' || '0100' || '0a000100'),
	('no bytes', ''),
	('seven bytes', '00000000000000'),
	('trailing byte', '000000000000000000'),
	('bucket missing', '0100000000000000'),
	('too many buckets', 'ffffffffffffffff'),
	('no cookie', '0100000000000000000000000000000000000000'),
	('repeated bucket', '0200000000000000'
		|| '00000000' || '3a3000000100000000000000' || '10000000' || '0100'
		|| '00000000' || '3a3000000100000000000000' || '10000000' || '0200'),
	('repeated key', '0100000000000000' || '00000000' || '3a30000002000000'
		|| '0000000000000000' || '180000001a000000' || '0100' || '0200'),
	('false offset', '0100000000000000' || '00000000' || '3a30000001000000' || '00000000' || '11000000' || '0100'),
	('array out of order', '0100000000000000000000003a300000010000000000020010000000030002000100'),
	('array with a repeat', '0100000000000000000000003a300000010000000000020010000000010001000200'),
	('array cut short', '0100000000000000000000003a300000010000000000020010000000010002'),
	('no run', '0100000000000000' || '00000000' || '3b30000001' || '00000000' || '0000'),
	('runs of another number', '0100000000000000' || '00000000' || '3b30000001' || '00000500' || '0100' || '0a000100'),
	('adjacent runs', '0100000000000000' || '00000000' || '3b30000001' || '00000300' || '0200' || '0a000100' || '0c000100'),
	('run past the end', '0100000000000000' || '00000000' || '3b30000001' || '00000100' || '0100' || 'ffff0100'),
	('bitset of another number', '0100000000000000' || '00000000' || '3a30000001000000' || '00000010' || '10000000'
		|| repeat('ff', 8192))
) AS t(what, bytes);
SELECT roaring64_invalid_reason(NULL) IS NULL;
-- the cast agrees with the check
CREATE FUNCTION pg_temp.cast_error(b bytea) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM b::roaring64;
	RETURN NULL;
EXCEPTION WHEN invalid_binary_representation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN detail;
END
$$;
SELECT n AS cut_at, roaring64_invalid_reason(substr(b, 1, n)), pg_temp.cast_error(substr(b, 1, n))
FROM (SELECT '{1,70000}'::roaring64::bytea) AS t(b), generate_series(0, 44, 4) AS n;

-- arrays: any order, repeats, dimensions
SELECT '{3,1,2,3}'::bigint[]::roaring64, '{3,-1,2}'::integer[]::roaring64;
SELECT '{}'::bigint[]::roaring64, '{}'::integer[]::roaring64;
SELECT '{{1,2},{3,1}}'::bigint[]::roaring64, '[5:6]={7,8}'::integer[]::roaring64;
SELECT '{-2147483648,2147483647}'::integer[]::roaring64;
SELECT '{32767,-32768,3,3}'::smallint[]::roaring64, '{}'::smallint[]::roaring64, roaring64_from_array('{2,1}'::smallint[]);
SELECT ARRAY[1, NULL]::smallint[]::roaring64;
SELECT '{9223372036854775807,-9223372036854775808}'::bigint[]::roaring64;
SELECT ARRAY[1, NULL]::bigint[]::roaring64;
SELECT ARRAY[NULL]::integer[]::roaring64;
-- an array that once had a NULL and has none now
SELECT (ARRAY[1, 2, NULL]::bigint[])[1:2]::roaring64 AS s;
SELECT array_remove(ARRAY[1, NULL, 3]::integer[], NULL)::roaring64 AS s;
SELECT NULL::bigint[]::roaring64 IS NULL, NULL::integer[]::roaring64 IS NULL;
SELECT '{3,-1,2}'::roaring64::bigint[] AS three, '{}'::roaring64::bigint[] AS none;
SELECT roaring64_to_array('{-9223372036854775808,0,9223372036854775807}');
-- made by hand, but an array like any other
SELECT array_dims(a), array_ndims(a), array_lower(a, 1), cardinality(a),
	a = ARRAY[1, 2, 3]::bigint[] AS equal, a || 4::bigint AS appended,
	pg_column_size(a) = pg_column_size(ARRAY[1, 2, 3]::bigint[]) AS same_size
FROM (SELECT roaring64_to_array('{3,2,1}')) AS t(a);
SELECT a = '{}'::bigint[] AS empty, array_ndims(a) AS ndims
FROM (SELECT roaring64_to_array('{}')) AS t(a);
SELECT a::roaring64::bigint[] = a AS same
FROM (SELECT array_agg(i * i * i ORDER BY i)
	  FROM generate_series(-20000::bigint, 20000) AS i) AS t(a);
SELECT a::roaring64::bigint[] = a AS same
FROM (SELECT array_agg(i ORDER BY i)
	  FROM generate_series(-100000::bigint, 100000) AS i) AS t(a);
-- too many for an array, though not for a set
SELECT roaring64_to_array(int8range(0, 200000000)::roaring64);

-- assignment takes arrays and nothing else
CREATE TEMP TABLE assigned (s roaring64);
INSERT INTO assigned VALUES (ARRAY[3, 1]), (ARRAY[5, 4]::bigint[]), (ARRAY[7, 6]::smallint[]);
SELECT s FROM assigned;
INSERT INTO assigned VALUES (int8range(1, 5));
INSERT INTO assigned VALUES (int8multirange(int8range(1, 5)));
INSERT INTO assigned VALUES ('\x00'::bytea);
INSERT INTO assigned VALUES ('{1.5}'::numeric[]);
\set VERBOSITY terse
SELECT length('{1}'::roaring64);
\set VERBOSITY default

-- ranges: bounds of either kind, none, and the empty range
SELECT '[3,6]'::int8range::roaring64, '(3,6)'::int8range::roaring64,
	'[3,3]'::int8range::roaring64, 'empty'::int8range::roaring64,
	'[3,3)'::int8range::roaring64;
SELECT '[-2,3)'::int8range::roaring64, '[4294967294,4294967298)'::int8range::roaring64;
SELECT '(,-9223372036854775806]'::int8range::roaring64;
SELECT '[9223372036854775806,)'::int8range::roaring64;
SELECT '[-9223372036854775808,-9223372036854775806)'::int8range::roaring64;
-- nothing below the first bigint
SELECT '(,-9223372036854775808)'::int8range::roaring64,
	'{(,-9223372036854775808)}'::int8multirange::roaring64;
SELECT NULL::int8range::roaring64 IS NULL;
-- a whole bucket of 2^32, and more than a value can hold
SELECT int8range(0, 4294967296)::roaring64::int8multirange;
SELECT '(,)'::int8range::roaring64;

-- multiranges
SELECT '{}'::int8multirange::roaring64,
	'{[1,3),[5,6],[9,9]}'::int8multirange::roaring64,
	'{[1,3),[2,6),[6,8)}'::int8multirange::roaring64;
SELECT '{[9223372036854775806,),(,-9223372036854775807]}'::int8multirange::roaring64;
SELECT '{}'::roaring64::int8multirange, '{5}'::roaring64::int8multirange,
	'{1,2,3,5,7,8}'::roaring64::int8multirange,
	'{-2,-1,0,1}'::roaring64::int8multirange,
	'{65535,65536,4294967295,4294967296}'::roaring64::int8multirange;
SELECT '{-9223372036854775808,9223372036854775807}'::roaring64::int8multirange;
SELECT '{9223372036854775805,9223372036854775806}'::roaring64::int8multirange;
SELECT NULL::roaring64::int8multirange IS NULL, NULL::int8multirange::roaring64 IS NULL;
SELECT s::int8multirange::roaring64 = s AS same,
	(SELECT count(*) FROM unnest(s::int8multirange)) AS ranges
FROM (SELECT array_agg(i * i / 7)::roaring64
	  FROM generate_series(-2000::bigint, 2000) AS i) AS t(s);
SELECT s::int8multirange::roaring64 = s AS same,
	s::int8multirange = range_agg(int8range(i, i, '[]')) AS as_range_agg
FROM (SELECT array_agg(i * i % 10007)::roaring64
	  FROM generate_series(1::bigint, 3000) AS i) AS t(s),
	unnest(s::bigint[]) AS i
GROUP BY s;

-- every cast of the type, and when it applies
SELECT castsource::regtype AS source, casttarget::regtype AS target,
	castcontext, castmethod
FROM pg_cast
WHERE 'roaring64'::regtype IN (castsource, casttarget)
ORDER BY castsource::regtype::text COLLATE "C", casttarget::regtype::text COLLATE "C";

-- a range without a bound that cannot be meant
SELECT int8range(1, NULL)::roaring64;
SELECT '{1}'::roaring64 | int8range(NULL, 5);
SELECT '{[7,7],[9,)}'::int8multirange::roaring64;
SELECT roaring64_agg(int8range(1, NULL));
SELECT int8range(9223372036854775800, NULL)::roaring64 & int8range(NULL, 9223372036854775803) AS fits;
