--
-- Random sets of every shape through every function and operator, against
-- plain SQL over arrays of the same elements.
--
-- All that is random follows from one number.  A comparison that fails warns
-- with it, and "PGOPTIONS='-c roaring64_test.seed=N'" or, for a private server,
-- "--conf roaring64_test.seed=N" does the same run again.  The server's log has
-- the number of every run.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
RESET client_min_messages;

DO $$
BEGIN
	IF coalesce(current_setting('roaring64_test.seed', true), '') = '' THEN
		PERFORM set_config('roaring64_test.seed',
						   (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text, false);
	END IF;
	RAISE LOG 'roaring64_test.seed = %', current_setting('roaring64_test.seed');
END $$;

-- compiling the long queries below would take longer than they do
SET jit = off;

-- any bigint, and one of 0 to n - 1; the same again for the same key
CREATE FUNCTION any_bigint(key bigint) RETURNS bigint
LANGUAGE sql STABLE
RETURN hashint8extended(key, current_setting('roaring64_test.seed')::bigint);
CREATE FUNCTION pick(key bigint, n bigint) RETURNS bigint
LANGUAGE sql STABLE
RETURN abs(any_bigint(key) % n);

-- where encodings and signs change
CREATE TEMP TABLE borders AS
SELECT row_number() OVER (ORDER BY x) - 1 AS n, x
FROM (SELECT sign * (1::bigint << bit) + d
	  FROM unnest('{1,-1}'::int[]) AS sign, unnest('{0,12,15,16,17,31,32,33,48,61,62}'::int[]) AS bit,
		   generate_series(-2, 2) AS d
	  UNION
	  SELECT unnest('{-9223372036854775808,-9223372036854775807,-9223372036854775806,9223372036854775805,9223372036854775806,9223372036854775807}'::bigint[])) AS t (x);

--
-- The sets.  Those of a family lie in one place, so that they have elements,
-- containers and buckets in common.  Most families have sets of hundreds of
-- elements; some of thousands, for bitsets and long arrays; one of more than
-- 65536, for full containers.
--
CREATE TEMP TABLE families AS
SELECT f, CASE WHEN f <= 9 THEN 400 WHEN f <= 11 THEN 10000 ELSE 70000 END AS span,
	   CASE WHEN f <= 9 THEN 12 WHEN f <= 11 THEN 8 ELSE 3 END AS sets,
	   CASE f % 9 WHEN 0 THEN 0
				  WHEN 1 THEN 65536 - pick(f, 400)
				  WHEN 2 THEN 4294967296 - pick(f, 400)
				  WHEN 3 THEN - pick(f, 400)
				  WHEN 4 THEN -9223372036854775808
				  WHEN 5 THEN 9223372036854775807 - pick(f, 400)
				  WHEN 6 THEN (pick(f, 1000) - 500) * 4294967296 - pick(f + 100, 10000)
				  WHEN 7 THEN 65536 - pick(f, 10000)
				  WHEN 8 THEN any_bigint(f) END AS base
FROM generate_series(1, 12) AS f;

CREATE FUNCTION offsets(shape bigint, family bigint, key bigint, span bigint) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
	p bigint := 1 + pick(key, 50);
	q bigint := 1 + pick(key + 1, 50);
BEGIN
	CASE shape
		WHEN 0 THEN					-- all
			RETURN QUERY SELECT i FROM generate_series(0, span - 1) AS i;
		WHEN 1 THEN					-- every so many
			RETURN QUERY SELECT i FROM generate_series(p % 7, span - 1, CASE WHEN span > 1000 THEN 2 ELSE 2 + q % 5 END) AS i;
		WHEN 2 THEN					-- of a given density
			RETURN QUERY SELECT i FROM generate_series(0, span - 1) AS i
						 WHERE pick(key + 1000 + i, 50) < CASE WHEN span > 1000 THEN 20 + p % 20 ELSE p END;
		WHEN 3 THEN					-- one
			RETURN NEXT pick(key + 2, span);
		WHEN 4 THEN					-- few
			RETURN QUERY SELECT pick(key + 1000 + i, span) FROM generate_series(0, p * (span / 400)) AS i;
		WHEN 5 THEN					-- nearly all
			RETURN QUERY SELECT i FROM generate_series(p, span - 1 - q) AS i WHERE i % (10 * q + 2) <> p;
		WHEN 6 THEN					-- runs and gaps of one length
			RETURN QUERY SELECT i FROM generate_series(0, span - 1) AS i WHERE i % (p + q) < p;
		WHEN 7 THEN					-- runs of any length
			RETURN QUERY SELECT i FROM generate_series(0, span - 1) AS i
						 WHERE pick(key + 1000 + i / 9 + i / 14, 2) = 0;
		WHEN 8 THEN					-- ids of a clock
			RETURN QUERY SELECT (i * 37 << 22) | ((i % 4) << 12) | (i % 3)
						 FROM generate_series(0, span / 10) AS i WHERE pick(key + 1000 + i, 3) > 0;
		ELSE						-- none (others have elements elsewhere)
	END CASE;
END $$;

CREATE TEMP TABLE sets (id bigint, f integer, shape bigint, n integer, lo bigint, hi bigint, v bigint[], s roaring64);
ALTER TABLE sets ALTER v SET STORAGE EXTERNAL;
INSERT INTO sets
SELECT row_number() OVER (ORDER BY f, shape) AS id, f, shape, cardinality(v), v[1], v[cardinality(v)], v, v::roaring64
FROM families,
	 LATERAL (SELECT shape, (f * 12 + shape) * 1000000 AS key FROM generate_series(0::bigint, sets - 1) AS shape) AS k,
	 LATERAL (SELECT coalesce(array_agg(DISTINCT e ORDER BY e), '{}') AS v
			  FROM (SELECT base + o FROM offsets(shape, f, key, span) AS o
					WHERE base <= 0 OR o <= 9223372036854775807 - base
					UNION ALL		-- at borders
					SELECT x FROM borders WHERE shape IN (9, 11) AND pick(key + n, 2) = 0
					UNION ALL		-- anywhere, the same places for all of a family
					SELECT any_bigint(f * 1000 + i) FROM generate_series(1, 100) AS i
					WHERE (shape = 4 AND pick(key + i, 4) = 0) OR (shape = 11 AND pick(key + i, 2) = 0)) AS t (e)) AS m;
ANALYZE sets;
-- there is something of everything
SELECT count(*) AS sets, count(*) FILTER (WHERE n = 0) >= 9 AS empty, max(n) AS largest,
	   sum((roaring64_stats(s)).array_containers) > 500 AS arrays,
	   sum((roaring64_stats(s)).bitset_containers) >= 3 AS bitsets,
	   sum((roaring64_stats(s)).run_containers) > 50 AS runs,
	   sum((roaring64_stats(s)).buckets) > 500 AS buckets
FROM sets;

-- what has been compared; "what" is an operator or function as regoperator and
-- regprocedure name it
CREATE TEMP TABLE compared (what text, example text, ok boolean);

-- whether a set is what SQL gives: its elements, and its bytes those of the
-- set made from them at once
CREATE FUNCTION same(s roaring64, elements bigint[]) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN roaring64_to_array(s) = elements AND s::bytea = elements::roaring64::bytea;

--
-- One set
--
INSERT INTO compared
SELECT what, format('set %s', id), ok
FROM sets,
	 LATERAL (SELECT coalesce(array_agg(int8range(lo::bigint, CASE WHEN hi < 9223372036854775807 THEN hi::bigint + 1 END) ORDER BY lo), '{}') AS runs
			  FROM (SELECT min(e) AS lo, max(e) AS hi
					FROM (SELECT e::numeric, e::numeric - row_number() OVER (ORDER BY e) AS island FROM unnest(v) AS e) AS t
					GROUP BY island) AS t) AS r,
	 LATERAL (SELECT count(DISTINCT high) AS buckets,
					 count(*) FILTER (WHERE kind = 'array') AS arrays,
					 count(*) FILTER (WHERE kind = 'bitset') AS bitsets,
					 count(*) FILTER (WHERE kind = 'run') AS runs
			  FROM (SELECT e >> 32 AS high, e >> 16 AS container,
						   CASE WHEN 2 + 4 * count(*) FILTER (WHERE starts) < least(2 * count(*), 8192) THEN 'run'
								WHEN count(*) <= 4096 THEN 'array' ELSE 'bitset' END AS kind
					FROM (SELECT e, lag(e) OVER (PARTITION BY e >> 16 ORDER BY e) + 1 IS DISTINCT FROM e AS starts
						  FROM unnest(v) AS e) AS t
					GROUP BY 1, 2) AS t) AS c,
	 LATERAL (VALUES
		('roaring64_to_array(roaring64)', s::bigint[] = v),
		('roaring64_from_array(bigint[])', ARRAY(SELECT e FROM unnest(v || v) AS e ORDER BY hashint8(e))::roaring64::bytea = s::bytea),
		('roaring64_from_bytea(bytea)', s::bytea::roaring64::bytea = s::bytea),
		('roaring64_to_base64(roaring64)', roaring64_to_base64(s) !~ '\s' AND decode(roaring64_to_base64(s), 'base64') = s::bytea),
		('roaring64_from_base64(text)', roaring64_from_base64(encode(s::bytea, 'base64'))::bytea = s::bytea),
		('roaring64_send(roaring64)', roaring64_send(s) = s::bytea),
		('roaring64_invalid_reason(bytea)', roaring64_invalid_reason(s::bytea) IS NULL),
		('roaring64_invalid_reason(bytea)', roaring64_invalid_reason(s::bytea || '\x00') IS NOT NULL),
		('roaring64_invalid_reason(bytea)', roaring64_invalid_reason(substring(s::bytea FROM 1 FOR octet_length(s::bytea) - 1)) IS NOT NULL),
		('roaring64_out(roaring64)', n > 1024 OR s::text = '{' || array_to_string(v, ',') || '}'),
		('roaring64_out(roaring64)', n <= 1024 OR s::text = '\x' || encode(s::bytea, 'hex')),
		('roaring64_in(cstring)', s::text::roaring64::bytea = s::bytea),
		('roaring64_in(cstring)', (SELECT '{ ' || coalesce(string_agg(e::text, ' , ' ORDER BY hashint8(e)), '') || ' }'
								   FROM unnest(v) AS e)::roaring64::bytea = s::bytea),
		('roaring64_cardinality(roaring64)', roaring64_cardinality(s) = n),
		('roaring64_is_empty(roaring64)', roaring64_is_empty(s) = (n = 0)),
		('roaring64_min(roaring64)', roaring64_min(s) IS NOT DISTINCT FROM (SELECT min(e) FROM unnest(v) AS e)),
		('roaring64_max(roaring64)', roaring64_max(s) IS NOT DISTINCT FROM (SELECT max(e) FROM unnest(v) AS e)),
		('roaring64_elements(roaring64,boolean)', ARRAY(SELECT roaring64_elements(s)) = v),
		('roaring64_elements(roaring64,boolean)', ARRAY(SELECT roaring64_elements(s, true)) = ARRAY(SELECT e FROM unnest(v) AS e ORDER BY e DESC)),
		('roaring64_ranges(roaring64)', ARRAY(SELECT roaring64_ranges(s)) = r.runs),
		('roaring64_to_multirange(roaring64)', s::int8multirange = (SELECT coalesce(range_agg(x), '{}') FROM unnest(r.runs) AS x)),
		('roaring64_from_multirange(int8multirange)', (SELECT coalesce(range_agg(x), '{}') FROM unnest(r.runs) AS x)::roaring64::bytea = s::bytea),
		('roaring64_agg(int8range)', (SELECT roaring64_agg(x ORDER BY hashint8(lower(x))) FROM unnest(r.runs || '{empty}') AS x)::bytea = s::bytea),
		('roaring64_agg(bigint)', (SELECT coalesce(roaring64_agg(e), '{}') FROM unnest(v || v || NULL) AS e)::bytea = s::bytea),
		('roaring64_count_distinct(bigint)', (SELECT roaring64_count_distinct(e) FROM unnest(v || v || NULL) AS e) = n),
		('roaring64_stats(roaring64)', roaring64_stats(s) = ROW(n::bigint, octet_length(s::bytea)::bigint, buckets, arrays, bitsets, c.runs)),
		('roaring64_hash(roaring64)', roaring64_hash(s) = roaring64_hash(s::text::roaring64)),
		('roaring64_hash_extended(roaring64,bigint)', roaring64_hash_extended(s, id) = roaring64_hash_extended(v::roaring64, id)),
		-- the server's convention for hash functions
		('roaring64_hash_extended(roaring64,bigint)', roaring64_hash_extended(s, 0)::bit(32) = roaring64_hash(s)::bit(32))
	 ) AS t (what, ok);
-- different sets hash differently, but for an accident in 2^32
INSERT INTO compared
SELECT what, 'all sets', ok
FROM (SELECT count(DISTINCT v) AS n, count(DISTINCT roaring64_hash(s)) AS hashes,
			 count(DISTINCT roaring64_hash_extended(s, 1)) AS extended,
			 count(DISTINCT roaring64_hash_extended(s, 1) # roaring64_hash_extended(s, 2)) AS seeded FROM sets) AS t,
	 LATERAL (VALUES ('roaring64_hash(roaring64)', hashes > n - 2),
					 ('roaring64_hash_extended(roaring64,bigint)', extended = n AND seeded = n)) AS u (what, ok);
INSERT INTO compared
SELECT 'roaring64_from_integer_array(integer[])', format('set %s', id), same(v::integer[]::roaring64, v)
FROM (SELECT id, ARRAY(SELECT e FROM unnest(v) AS e WHERE e BETWEEN -2147483648 AND 2147483647) AS v FROM sets) AS t;
INSERT INTO compared
SELECT 'roaring64_from_smallint_array(smallint[])', format('set %s', id), same(v::smallint[]::roaring64, v)
FROM (SELECT id, ARRAY(SELECT e FROM unnest(v) AS e WHERE e BETWEEN -32768 AND 32767) AS v FROM sets) AS t;

-- with numbers: places, sizes of pages, bits
INSERT INTO compared
SELECT what, format('set %s, numbers %s, %s, %s', id, i, j, bits), ok
FROM sets,
	 LATERAL (SELECT pick(id * 100 + 20 + k, n + 3) AS i, pick(id * 100 + 40 + k, n + 3)::integer AS j,
					 pick(id * 100 + 60 + k, 64)::integer AS bits, 1 + pick(id * 100 + 80 + k, CASE WHEN f <= 9 THEN 40 ELSE 4 END)::integer AS bars
			  FROM generate_series(1, CASE WHEN f <= 9 THEN 8 ELSE 3 END) AS k OFFSET 0) AS p,
	 LATERAL (SELECT coalesce(array_agg(ROW(chunk, ids)::text ORDER BY chunk), '{}') AS chunks
			  FROM (SELECT e >> bits AS chunk, array_agg(e ORDER BY e)::text AS ids
					FROM unnest(v) AS e WHERE n < 1000 OR bits > 8 GROUP BY 1) AS t) AS c,
	 LATERAL (SELECT coalesce(array_agg(ROW(int8range(b, CASE WHEN c < 9223372036854775807 THEN c + 1 END),
											elements, repeat('#', ceil(40.0 * elements / most)::integer))::text ORDER BY b), '{}') AS expected
			  FROM (SELECT b, c, elements, max(elements) OVER () AS most
					FROM (SELECT (lo + k * div(width, m) + least(k, mod(width, m)))::bigint AS b,
								 (lo + (k + 1) * div(width, m) + least(k + 1, mod(width, m)) - 1)::bigint AS c
						  FROM (SELECT width, least(bars, width) AS m FROM (SELECT hi - lo::numeric + 1 WHERE n > 0) AS t (width)) AS t,
							   generate_series(0, m - 1) AS k
						  OFFSET 0) AS t,
						 LATERAL (SELECT count(*) AS elements FROM unnest(v) AS e WHERE e BETWEEN b AND c) AS e) AS t) AS h,
	 LATERAL (VALUES
		('roaring64_select(roaring64,bigint)', roaring64_select(s, i + 1) IS NOT DISTINCT FROM v[i + 1]),
		('roaring64_select(roaring64,bigint)', roaring64_select(s, - i - 1) IS NOT DISTINCT FROM v[n - i]),
		('roaring64_slice(roaring64,bigint,bigint)', same(roaring64_slice(s, i, j), v[i + 1 : i + j])),
		('roaring64_slice(roaring64,bigint,bigint)', same(roaring64_slice(s, i), v[i + 1 :])),
		('roaring64_first(roaring64,integer,bigint)', roaring64_first(s, j) = v[: j]),
		('roaring64_last(roaring64,integer,bigint)', roaring64_last(s, j) = ARRAY(SELECT e FROM unnest(v) AS e ORDER BY e DESC LIMIT j)),
		('roaring64_split(roaring64,integer)',
			chunks = ARRAY(SELECT ROW(chunk, ids::bigint[]::text)::text FROM roaring64_split(s, bits) WHERE n < 1000 OR bits > 8)),
		('roaring64_histogram(roaring64,integer)', expected = ARRAY(SELECT h::text FROM roaring64_histogram(s, bars) AS h))
	 ) AS t (what, ok);

-- moved; NULL if an element would leave the range of bigint
CREATE FUNCTION shift_or_null(roaring64, bigint) RETURNS roaring64
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN roaring64_shift($1, $2);
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN NULL;
END $$;
INSERT INTO compared
SELECT 'roaring64_shift(roaring64,bigint)', format('set %s, delta %s', id, d),
	   CASE WHEN n = 0 OR (lo + d::numeric >= -9223372036854775808 AND hi + d::numeric <= 9223372036854775807)
			THEN same(shift_or_null(s, d), ARRAY(SELECT e + d FROM unnest(v) AS e))
			ELSE shift_or_null(s, d) IS NULL END
FROM sets,
	 LATERAL (SELECT pick(id * 100 + 1, 200000) - 100000 UNION ALL
			  SELECT x FROM borders WHERE borders.n % 12 = pick(id * 100 + 2, 12) UNION ALL
			  SELECT - lo WHERE lo > -9223372036854775808 UNION ALL
			  SELECT 9223372036854775807 - hi WHERE hi >= 0 UNION ALL
			  SELECT 4294967296 * (pick(id * 100 + 3, 9) - 4)) AS t (d);

--
-- A set and an element: some of its own, next to them, at borders, anywhere
--
CREATE TEMP TABLE probes AS
SELECT id, x, x = ANY (v) AS member, 1 + pick(id * 100 + 90, 20)::integer AS page
FROM sets,
	 LATERAL (SELECT v[1 + pick(id * 100 + i, n)] + d
			  FROM generate_series(1, CASE WHEN f <= 9 THEN 3 ELSE 1 END) AS i, generate_series(-1, 1) AS d
			  WHERE n > 0 AND v[1 + pick(id * 100 + i, n)] BETWEEN -9223372036854775807 AND 9223372036854775806
			  UNION ALL SELECT lo UNION ALL SELECT hi
			  UNION ALL SELECT borders.x FROM borders WHERE borders.n % 20 = pick(id * 100 + 10, 20)
			  UNION ALL SELECT any_bigint(id * 100 + 11)
			  UNION ALL SELECT -9223372036854775808 UNION ALL SELECT 9223372036854775807) AS t (x)
WHERE x IS NOT NULL AND (f <= 11 OR pick(x & 65535, 3) = 0);
INSERT INTO compared
SELECT what, format('set %s, element %s', id, x), ok
FROM probes JOIN sets USING (id),
	 LATERAL (SELECT ARRAY(SELECT unnest(v) UNION SELECT x ORDER BY 1) AS plus OFFSET 0) AS p,
	 LATERAL (SELECT count(*) FILTER (WHERE e <= x) AS rank, min(e) FILTER (WHERE e >= x) AS next,
					 max(e) FILTER (WHERE e <= x) AS prev FROM unnest(v) AS e) AS o,
	 LATERAL (SELECT min(e) AS run_end
			  FROM (SELECT e, lead(e) OVER (ORDER BY e) AS after FROM unnest(v) AS e WHERE e >= x) AS t
			  WHERE after IS NULL OR after - 1 <> e) AS g,
	 LATERAL (VALUES
		('@>(roaring64,bigint)', (s @> x) = member),
		('<@(bigint,roaring64)', (x <@ s) = member),
		('|(roaring64,bigint)', same(s | x, plus)),
		('|(bigint,roaring64)', same(x | s, plus)),
		('&(roaring64,bigint)', same(s & x, ARRAY(SELECT unnest(v) INTERSECT SELECT x))),
		('-(roaring64,bigint)', same(s - x, array_remove(v, x))),
		('#(roaring64,bigint)', same(s # x, CASE WHEN member THEN array_remove(v, x) ELSE plus END)),
		('roaring64_rank(roaring64,bigint)', roaring64_rank(s, x) = rank),
		('roaring64_next(roaring64,bigint)', roaring64_next(s, x) IS NOT DISTINCT FROM next),
		('roaring64_prev(roaring64,bigint)', roaring64_prev(s, x) IS NOT DISTINCT FROM prev),
		('roaring64_next_absent(roaring64,bigint)', roaring64_next_absent(s, x) IS NOT DISTINCT FROM
			CASE WHEN NOT member THEN x WHEN run_end < 9223372036854775807 THEN run_end + 1 END),
		('roaring64_first(roaring64,integer,bigint)', roaring64_first(s, page, x) =
			ARRAY(SELECT e FROM unnest(v) AS e WHERE e > x ORDER BY e LIMIT page)),
		('roaring64_last(roaring64,integer,bigint)', roaring64_last(s, page, x) =
			ARRAY(SELECT e FROM unnest(v) AS e WHERE e < x ORDER BY e DESC LIMIT page))
	 ) AS t (what, ok);

-- ids: bits as SQL's bit strings have them
INSERT INTO compared
SELECT what, x::text, ok
FROM (SELECT DISTINCT x FROM probes) AS t,
	 LATERAL (SELECT (substring(x::bit(64) FROM 1 FOR 1) || substring(x::bit(64) FROM 43 FOR 22)
					  || substring(x::bit(64) FROM 2 FOR 41))::bit(64)::bigint AS packed) AS u,
	 LATERAL (VALUES
		('roaring64_snowflake_pack(bigint)', roaring64_snowflake_pack(x) = packed),
		('roaring64_snowflake_unpack(bigint)', roaring64_snowflake_unpack(packed) = x)
	 ) AS w (what, ok);

--
-- A set and a range: between elements or places next to them, without a bound,
-- empty, of every inclusiveness
--
CREATE TEMP TABLE ranges (id bigint, r int8range, inside bigint[], outside bigint[], integers bigint[]);
ALTER TABLE ranges ALTER inside SET STORAGE EXTERNAL, ALTER outside SET STORAGE EXTERNAL,
	ALTER integers SET STORAGE EXTERNAL;
INSERT INTO ranges
SELECT id, r, ARRAY(SELECT e FROM unnest(v) AS e WHERE e <@ r) AS inside,
	   ARRAY(SELECT e FROM unnest(v) AS e WHERE NOT e <@ r) AS outside,
	   -- all its integers, if they are not too many
	   CASE WHEN isempty(r) THEN '{}'
			WHEN upper(r)::numeric - lower(r) <= 20000 THEN ARRAY(SELECT generate_series(lower(r), upper(r) - 1)) END AS integers
FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY x) AS k FROM probes) AS a
	 JOIN (SELECT id, x, row_number() OVER (PARTITION BY id ORDER BY hashint8(x), x) AS k FROM probes) AS b USING (id, k)
	 JOIN sets USING (id),
	 LATERAL (SELECT CASE pick(id * 100 + k, 12)
					 WHEN 0 THEN int8range(NULL, greatest(a.x, b.x), '(]')
					 WHEN 1 THEN int8range(least(a.x, b.x), NULL)
					 WHEN 2 THEN int8range(a.x, a.x)
					 WHEN 3 THEN int8range(NULL, NULL)
					 WHEN 4 THEN int8range(least(a.x, b.x), greatest(a.x, b.x))
					 WHEN 5 THEN int8range(nullif(least(a.x, b.x), 9223372036854775807), nullif(greatest(a.x, b.x), 9223372036854775807), '(]')
					 ELSE int8range(least(a.x, 9223372036854775807 - 1000), least(a.x, 9223372036854775807 - 1000) + pick(id * 100 + 50 + k, 1000), '[]') END AS r) AS t
WHERE greatest(a.x, b.x) < 9223372036854775807 AND least(a.x, b.x) > -9223372036854775808 AND (f <= 9 OR k <= 6);
SELECT count(*) > 1000 AS ranges, count(integers) > 500 AS narrow, count(*) FILTER (WHERE isempty(r)) > 50 AS empty,
	   count(*) FILTER (WHERE upper_inf(r)) > 100 AS unbounded, count(*) FILTER (WHERE inside <> '{}') > 500 AS inhabited
FROM ranges;
INSERT INTO compared
SELECT what, format('set %s, range %s', id, r), ok
FROM ranges JOIN sets USING (id),
	 LATERAL (VALUES
		('&(roaring64,anyrange)', same(s & r, inside)),
		('-(roaring64,anyrange)', same(s - r, outside)),
		('roaring64_cardinality(roaring64,int8range)', roaring64_cardinality(s, r) = cardinality(inside)),
		('&&(roaring64,anyrange)', (s && r) = (inside <> '{}')),
		('<@(roaring64,anyrange)', (s <@ r) = (outside = '{}')),
		('roaring64_elements_range(roaring64,int8range,boolean)', ARRAY(SELECT roaring64_elements_range(s, r)) = inside),
		('roaring64_elements_range(roaring64,int8range,boolean)',
			ARRAY(SELECT roaring64_elements_range(s, r, true)) = ARRAY(SELECT e FROM unnest(inside) AS e ORDER BY e DESC))
	 ) AS t (what, ok);
INSERT INTO compared
SELECT what, format('set %s, range %s', id, r), ok
FROM ranges JOIN sets USING (id),
	 LATERAL (VALUES
		('roaring64_from_range(int8range)', same(r::roaring64, integers)),
		('|(roaring64,anyrange)', same(s | r, ARRAY(SELECT unnest(v) UNION SELECT unnest(integers) ORDER BY 1))),
		('#(roaring64,anyrange)', same(s # r, ARRAY((SELECT unnest(v) UNION SELECT unnest(integers))
													 EXCEPT SELECT unnest(inside) ORDER BY 1))),
		('@>(roaring64,anyrange)', (s @> r) = (cardinality(inside) = cardinality(integers)))
	 ) AS t (what, ok)
WHERE integers IS NOT NULL;
-- a range that is in the set
INSERT INTO compared
SELECT what, format('set %s, range %s', id, r), ok
FROM sets, LATERAL (SELECT r FROM roaring64_ranges(s) AS r ORDER BY hashint8(lower(r)) LIMIT 3) AS t,
	 LATERAL (VALUES
		('@>(roaring64,anyrange)', s @> r),
		('@>(roaring64,anyrange)', CASE WHEN upper(r) < 9223372036854775807 THEN NOT s @> int8range(lower(r), upper(r), '[]') ELSE true END),
		('#(roaring64,anyrange)', roaring64_cardinality(s # r) = n - roaring64_cardinality(s, r))
	 ) AS u (what, ok);

--
-- Two sets of a family, each with each and itself
--
INSERT INTO compared
SELECT what, format('sets %s and %s', a.id, b.id), ok
FROM sets AS a JOIN sets AS b USING (f),
	 LATERAL (SELECT ARRAY(SELECT unnest(a.v) UNION SELECT unnest(b.v) ORDER BY 1) AS either,
					 ARRAY(SELECT unnest(a.v) INTERSECT SELECT unnest(b.v) ORDER BY 1) AS common,
					 ARRAY(SELECT unnest(a.v) EXCEPT SELECT unnest(b.v) ORDER BY 1) AS minus,
					 ARRAY((SELECT unnest(a.v) EXCEPT SELECT unnest(b.v)) UNION
						   (SELECT unnest(b.v) EXCEPT SELECT unnest(a.v)) ORDER BY 1) AS one
			  OFFSET 0) AS o,
	 LATERAL (VALUES
		('|(roaring64,roaring64)', same(a.s | b.s, either)),
		('&(roaring64,roaring64)', same(a.s & b.s, common)),
		('-(roaring64,roaring64)', same(a.s - b.s, minus)),
		('#(roaring64,roaring64)', same(a.s # b.s, one)),
		('@>(roaring64,roaring64)', (a.s @> b.s) = (common = b.v)),
		('<@(roaring64,roaring64)', (a.s <@ b.s) = (common = a.v)),
		('&&(roaring64,roaring64)', (a.s && b.s) = (common <> '{}')),
		('roaring64_or_cardinality(roaring64,roaring64)', roaring64_or_cardinality(a.s, b.s) = cardinality(either)),
		('roaring64_and_cardinality(roaring64,roaring64)', roaring64_and_cardinality(a.s, b.s) = cardinality(common)),
		('roaring64_andnot_cardinality(roaring64,roaring64)', roaring64_andnot_cardinality(a.s, b.s) = cardinality(minus)),
		('roaring64_xor_cardinality(roaring64,roaring64)', roaring64_xor_cardinality(a.s, b.s) = cardinality(one)),
		('roaring64_or_cardinality(roaring64[])', roaring64_or_cardinality(a.s, b.s, a.s - b.s) = cardinality(either)),
		('roaring64_and_cardinality(roaring64[])', roaring64_and_cardinality(a.s | b.s, a.s, b.s) = cardinality(common)),
		('roaring64_andnot_cardinality(roaring64[])', roaring64_andnot_cardinality(a.s, b.s, '{}') = cardinality(minus)),
		('roaring64_xor_cardinality(roaring64[])', roaring64_xor_cardinality(a.s, b.s, '{}') = cardinality(one)),
		('roaring64_sample(roaring64,bigint,bigint)', roaring64_sample(a.s, a.n / 3, b.id) <@ a.s
			AND roaring64_cardinality(roaring64_sample(a.s, a.n / 3, b.id)) = a.n / 3),
		('roaring64_jaccard(roaring64,roaring64)', roaring64_jaccard(a.s, b.s) =
			CASE WHEN either = '{}' THEN 1 ELSE cardinality(common)::float8 / cardinality(either) END),
		-- a result is a subset of an argument, or the argument one of a result
		('@>(roaring64,roaring64)', (a.s | b.s) @> a.s AND a.s @> (a.s & b.s) AND a.s @> (a.s - b.s)),
		('<@(roaring64,roaring64)', a.s <@ (a.s | b.s) AND (a.s & b.s) <@ b.s AND (a.s - b.s) <@ a.s),
		('&&(roaring64,roaring64)', NOT (a.s - b.s) && b.s),
		('=(roaring64,roaring64)', (a.s = b.s) = (a.v = b.v)),
		('<>(roaring64,roaring64)', (a.s <> b.s) = (a.v <> b.v)),
		('<(roaring64,roaring64)', (a.s < b.s) = (a.s::bytea < b.s::bytea)),
		('<=(roaring64,roaring64)', (a.s <= b.s) = (a.s::bytea <= b.s::bytea)),
		('>(roaring64,roaring64)', (a.s > b.s) = (a.s::bytea > b.s::bytea)),
		('>=(roaring64,roaring64)', (a.s >= b.s) = (a.s::bytea >= b.s::bytea)),
		('roaring64_cmp(roaring64,roaring64)', sign(roaring64_cmp(a.s, b.s)) =
			CASE WHEN a.s::bytea < b.s::bytea THEN -1 WHEN a.s::bytea = b.s::bytea THEN 0 ELSE 1 END)
	 ) AS t (what, ok);

-- a set and many elements, of another set, in any order and repeated
INSERT INTO compared
SELECT what, format('sets %s and %s', a.id, b.id), ok
FROM sets AS a JOIN sets AS b USING (f),
	 LATERAL (SELECT coalesce(array_agg(e ORDER BY hashint8(e)), '{}') AS list
			  FROM unnest(b.v || b.v[1 : 10] || ARRAY[a.lo]) WITH ORDINALITY AS t (e, o)
			  WHERE e IS NOT NULL AND pick(o, 5) < 1 + a.id % 5) AS l,
	 LATERAL (VALUES
		('roaring64_add(roaring64,bigint[])', same(roaring64_add(a.s, list), ARRAY(SELECT unnest(a.v) UNION SELECT unnest(list) ORDER BY 1))),
		('roaring64_remove(roaring64,bigint[])', same(roaring64_remove(a.s, list), ARRAY(SELECT unnest(a.v) EXCEPT SELECT unnest(list) ORDER BY 1))),
		('roaring64_contains_each(roaring64,bigint[])', roaring64_contains_each(a.s, list) =
			ARRAY(SELECT m.e IS NOT NULL
				  FROM unnest(list) WITH ORDINALITY AS t (e, o) LEFT JOIN unnest(a.v) AS m (e) USING (e) ORDER BY o)),
		('roaring64_agg(bigint[])', same((SELECT roaring64_agg(x) FROM (VALUES (a.v), (list)) AS t (x)),
										 ARRAY(SELECT unnest(a.v) UNION SELECT unnest(list) ORDER BY 1)))
	 ) AS t (what, ok)
WHERE a.f <= 9 OR a.shape % 3 = 0;

--
-- Several sets: some of each family, the empty one in few
--
INSERT INTO compared
SELECT what, format('family %s, sets %s', f, ids), ok
FROM families, generate_series(1, 6) AS k,
	 LATERAL (SELECT array_agg(id) AS ids, count(*) AS sets, roaring64_or_agg(s) AS o, roaring64_and_agg(s) AS a,
					 roaring64_xor_agg(s) AS x, roaring64_or_cardinality_agg(s) AS oc,
					 roaring64_and_cardinality_agg(s) AS ac, roaring64_xor_cardinality_agg(s) AS xc,
					 _roaring64_and_or_agg(s, id % 3 = 0 ORDER BY id) AS ao
			  FROM sets WHERE sets.f = families.f AND pick(id * 100 + k, 12) < 2 * k AND (k = 6 OR cardinality(v) > 0)) AS t,
	 LATERAL (SELECT coalesce(array_agg(e ORDER BY e), '{}') AS either,
					 coalesce(array_agg(e ORDER BY e) FILTER (WHERE times = t.sets), '{}') AS every,
					 coalesce(array_agg(e ORDER BY e) FILTER (WHERE times % 2 = 1), '{}') AS odd,
					 -- the last set that adds it comes after the last one that takes it away
					 coalesce(array_agg(e ORDER BY e) FILTER (WHERE added > coalesce(
						(SELECT max(i) FROM unnest(ids) AS i WHERE i % 3 = 0 AND i <> ALL (owners)), added - 1)), '{}') AS mixed
			  FROM (SELECT e, count(*) AS times, max(id) FILTER (WHERE id % 3 <> 0) AS added, array_agg(id) AS owners FROM sets, unnest(v) AS e WHERE id = ANY (ids) GROUP BY e) AS x) AS w,
	 LATERAL (VALUES
		('roaring64_or_agg(roaring64)', same(o, either)),
		('roaring64_and_agg(roaring64)', same(a, every)),
		('roaring64_xor_agg(roaring64)', same(x, odd)),
		('_roaring64_and_or_agg(roaring64,boolean)', same(ao, mixed)),
		('roaring64_or_cardinality_agg(roaring64)', oc = cardinality(either)),
		('roaring64_and_cardinality_agg(roaring64)', ac = cardinality(every)),
		('roaring64_xor_cardinality_agg(roaring64)', xc = cardinality(odd))
	 ) AS u (what, ok)
WHERE t.sets > 0;

--
-- Sets in variables, changed step by step, copied and combined, against arrays
-- that are changed the same way
--
CREATE FUNCTION walk(key bigint, steps integer, looks integer) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
	a roaring64 := '{}';
	b roaring64 := '{}';
	old_a roaring64;
	list_a bigint[] := '{}';
	list_b bigint[] := '{}';
	old_list bigint[];
	x bigint;
	few bigint[];
BEGIN
	FOR i IN 1..steps LOOP
		x := CASE pick(key + 3 * i, 4) WHEN 0 THEN (SELECT borders.x FROM borders WHERE n = 1 + pick(key + 3 * i + 1, 16))
									   ELSE pick(key + 3 * i + 1, 200) END;
		CASE pick(key + 3 * i + 2, 16)
			WHEN 0, 1, 2, 3 THEN
				a := a | x;
				list_a := array_remove(list_a, x) || x;
			WHEN 4 THEN
				a := x | a;
				list_a := array_remove(list_a, x) || x;
			WHEN 5, 6, 7 THEN
				a := a - x;
				list_a := array_remove(list_a, x);
			WHEN 8 THEN
				a := a # x;
				list_a := CASE WHEN x = ANY (list_a) THEN array_remove(list_a, x) ELSE list_a || x END;
			WHEN 9 THEN
				-- the two go different ways from here
				b := a | x;
				list_b := array_remove(list_a, x) || x;
				a := a - (x + 1);
				list_a := array_remove(list_a, x + 1);
			WHEN 10 THEN
				old_a := a;
				old_list := list_a;
				a := b;
				list_a := list_b;
				b := old_a;
				list_b := old_list;
			WHEN 11 THEN
				few := ARRAY[x, x - 1, x, x / 2];
				a := roaring64_add(a, few);
				list_a := ARRAY(SELECT unnest(list_a) UNION SELECT unnest(few));
			WHEN 12 THEN
				few := ARRAY[x, x + 1, x, x / 2];
				a := roaring64_remove(a, few);
				list_a := ARRAY(SELECT unnest(list_a) EXCEPT SELECT unnest(few));
			WHEN 13 THEN
				a := (a - x) | (b - x);
				list_a := array_remove(ARRAY(SELECT unnest(list_a) UNION SELECT unnest(list_b)), x);
			WHEN 14 THEN
				IF (a @> x) <> (x = ANY (list_a)) OR (x <@ b) <> (x = ANY (list_b)) THEN
					RETURN false;
				END IF;
			ELSE
				IF roaring64_rank(a, x) <> (SELECT count(*) FROM unnest(list_a) AS e WHERE e <= x) THEN
					RETURN false;
				END IF;
		END CASE;
		IF (i % looks = 0 OR i = steps)
		   AND NOT (same(a, ARRAY(SELECT e FROM unnest(list_a) AS e ORDER BY e))
					AND same(b, ARRAY(SELECT e FROM unnest(list_b) AS e ORDER BY e))) THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN true;
END $$;
INSERT INTO compared
SELECT '|(roaring64,bigint)', format('walk %s', w), walk(w * 100000, CASE WHEN w % 25 = 0 THEN 3000 ELSE 100 END, 1 + (w % 25)::integer)
FROM generate_series(1::bigint, 50) AS w;

--
-- The verdict
--
SELECT what::text, count(*) FILTER (WHERE ok IS NOT TRUE) AS wrong
FROM compared GROUP BY what ORDER BY what COLLATE "C";
SELECT count(*) >= 40000 AS enough, count(*) FILTER (WHERE ok IS NOT TRUE) AS wrong FROM compared;

-- what has been left out: nothing but what serves inside of the rest, what SQL
-- cannot call, and the helpers, which are about tables: their tests are their own
WITH done AS (
	SELECT what::regoperator::oid AS operator, NULL::oid AS function FROM compared WHERE what !~ '^_?roaring64_'
	UNION SELECT NULL, what::regprocedure::oid FROM compared WHERE what ~ '^_?roaring64_'),
members AS (
	SELECT classid, objid FROM pg_depend
	WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'roaring64'))
SELECT objid::regoperator::text AS left_out
FROM members WHERE classid = 'pg_operator'::regclass AND objid NOT IN (SELECT operator FROM done WHERE operator IS NOT NULL)
UNION ALL
SELECT objid::regprocedure::text
FROM members JOIN pg_proc f ON f.oid = objid
WHERE classid = 'pg_proc'::regclass
	AND 'internal'::regtype <> ALL (proargtypes)
	AND 'regclass'::regtype <> ALL (array_append(proargtypes::oid[], prorettype))
	AND prorettype <> 'trigger'::regtype
	AND proname !~ '^_roaring64_|^roaring64_dedup|^roaring64_version$'
	AND objid NOT IN (SELECT function FROM done WHERE function IS NOT NULL)
	AND objid NOT IN (SELECT oprcode FROM pg_operator JOIN done ON operator = pg_operator.oid)
	AND objid NOT IN (SELECT unnest(ARRAY[aggtransfn, aggcombinefn, aggfinalfn]::oid[])
					  FROM pg_aggregate JOIN done ON function = aggfnoid::oid)
ORDER BY 1;

DO $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT what, example FROM compared WHERE ok IS NOT TRUE LIMIT 20 LOOP
		RAISE WARNING 'with roaring64_test.seed = %: % is wrong of %',
			current_setting('roaring64_test.seed'), c.what, c.example;
	END LOOP;
END $$;

DROP FUNCTION any_bigint, pick, offsets, same, shift_or_null, walk;
