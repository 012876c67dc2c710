--
-- Time-based ids, rearranged to suit a bitmap.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- worker and sequence go above the clock
SELECT ms, worker, sequence, id, roaring64_snowflake_pack(id) AS packed,
	   roaring64_snowflake_pack(id) =
	   (((worker << 12) | sequence) << 41) | ms AS as_documented
FROM (SELECT ms, worker, sequence, (ms << 22) | (worker << 12) | sequence
	  FROM (VALUES (0::bigint, 0::bigint, 0::bigint),
				   (1, 0, 0),
				   (0, 1, 0),
				   (0, 0, 1),
				   (1279929600000, 3, 2),
				   (2199023255551, 1023, 4095)) AS t (ms, worker, sequence)) AS t (ms, worker, sequence, id);

-- ids of one worker and sequence stay in the order of their time
SELECT bool_and(roaring64_snowflake_pack(ms << 22 | 4099) < roaring64_snowflake_pack((ms + 1) << 22 | 4099))
FROM generate_series(1279929600000, 1279929600100) AS ms;

-- the sign stays, so that this is defined for all of bigint
SELECT x, roaring64_snowflake_pack(x), roaring64_snowflake_unpack(x)
FROM unnest('{-9223372036854775808,-1,0,1,9223372036854775807}'::bigint[]) AS x;

-- A bijection: each of the 64 bits goes to a bit of its own, whatever the
-- others are.
WITH bits AS (SELECT (1::bigint << bit) AS x FROM generate_series(0, 63) AS bit),
	 images AS (SELECT roaring64_snowflake_pack(x) AS pack,
					   roaring64_snowflake_unpack(x) AS unpack FROM bits)
SELECT count(DISTINCT pack) FILTER (WHERE pack IN (SELECT x FROM bits)) AS pack,
	   count(DISTINCT unpack) FILTER (WHERE unpack IN (SELECT x FROM bits)) AS unpack
FROM images;
SELECT count(*) AS pairs,
	   count(*) FILTER (WHERE roaring64_snowflake_pack(x | y) =
						roaring64_snowflake_pack(x) | roaring64_snowflake_pack(y)) AS pack,
	   count(*) FILTER (WHERE roaring64_snowflake_unpack(x | y) =
						roaring64_snowflake_unpack(x) | roaring64_snowflake_unpack(y)) AS unpack
FROM (SELECT hashint8extended(i, 1), hashint8extended(i, 2)
	  FROM generate_series(1, 1000) AS i) AS t (x, y);

-- undone both ways
SELECT count(*) AS ids,
	   count(*) FILTER (WHERE roaring64_snowflake_unpack(roaring64_snowflake_pack(x)) = x) AS there_and_back,
	   count(*) FILTER (WHERE roaring64_snowflake_pack(roaring64_snowflake_unpack(x)) = x) AS back_and_there
FROM (SELECT hashint8extended(i, 3) FROM generate_series(1, 10000) AS i
	  UNION ALL
	  SELECT sign * (1::bigint << bit) + d
	  FROM unnest('{1,-1}'::int[]) AS sign, generate_series(0, 62) AS bit,
		   generate_series(-1, 1) AS d) AS t (x);

-- what it is for: bytes an id
SELECT round(avg(octet_length(plain::bytea)) / 100000, 1) AS plain,
	   round(avg(octet_length(packed::bytea)) / 100000, 1) AS packed
FROM (SELECT array_agg(id)::roaring64 AS plain,
			 array_agg(roaring64_snowflake_pack(id))::roaring64 AS packed
	  FROM (SELECT ((1279929600000 + i * 37) << 22)
				   | ((hashint8(i) & 3)::bigint << 12)
				   | abs(hashint8(-i) % 3) AS id
			FROM generate_series(1::bigint, 100000) AS i) AS t) AS t;

-- NULL in, NULL out
SELECT roaring64_snowflake_pack(NULL) IS NULL AS pack,
	   roaring64_snowflake_unpack(NULL) IS NULL AS unpack;
