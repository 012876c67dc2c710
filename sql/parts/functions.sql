--
-- src/type/counts.c: sizes of sets and of pairs of sets
--

CREATE FUNCTION roaring64_cardinality(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_cardinality(roaring64) IS
'number of elements';

CREATE FUNCTION roaring64_cardinality(roaring64, int8range)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_cardinality_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_cardinality(roaring64, int8range) IS
'number of elements in the range';

CREATE FUNCTION roaring64_is_empty(roaring64)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_is_empty'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1
SUPPORT _roaring64_test_support;
COMMENT ON FUNCTION roaring64_is_empty(roaring64) IS
'is the set empty?';

CREATE FUNCTION roaring64_and_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_and_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_and_cardinality(roaring64, roaring64) IS
'number of elements in both sets';

CREATE FUNCTION roaring64_or_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_or_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_or_cardinality(roaring64, roaring64) IS
'number of elements in either set';

CREATE FUNCTION roaring64_xor_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_xor_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_xor_cardinality(roaring64, roaring64) IS
'number of elements in exactly one of the sets';

CREATE FUNCTION roaring64_andnot_cardinality(roaring64, roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_andnot_cardinality'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_andnot_cardinality(roaring64, roaring64) IS
'number of elements in the first set only';

-- of any number of sets.  Calls with two sets use the functions above, which do
-- not need an array of copies.
CREATE FUNCTION roaring64_and_cardinality(VARIADIC roaring64[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_and_cardinality_many'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_and_cardinality(roaring64[]) IS
'number of elements in all of the sets';

CREATE FUNCTION roaring64_or_cardinality(VARIADIC roaring64[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_or_cardinality_many'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_or_cardinality(roaring64[]) IS
'number of elements in any of the sets';

CREATE FUNCTION roaring64_xor_cardinality(VARIADIC roaring64[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_xor_cardinality_many'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_xor_cardinality(roaring64[]) IS
'number of elements in an odd number of the sets';

CREATE FUNCTION roaring64_andnot_cardinality(VARIADIC roaring64[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_andnot_cardinality_many'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION roaring64_andnot_cardinality(roaring64[]) IS
'number of elements in the first set and no other';

CREATE FUNCTION roaring64_jaccard(roaring64, roaring64)
RETURNS double precision
AS 'MODULE_PATHNAME', 'roaring64_jaccard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_jaccard(roaring64, roaring64) IS
'Jaccard index: number of elements in both sets divided by number in either';

--
-- src/type/rank.c: where an element stands in a set
--

CREATE FUNCTION roaring64_min(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_min'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_min(roaring64) IS
'smallest element, NULL if there is none';

CREATE FUNCTION roaring64_max(roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_max'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_max(roaring64) IS
'largest element, NULL if there is none';

CREATE FUNCTION roaring64_rank(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_rank'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_rank(roaring64, bigint) IS
'number of elements up to and including the value';

CREATE FUNCTION roaring64_select(roaring64, n bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_select'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_select(roaring64, bigint) IS
'nth element, from 1, or from the end if negative; NULL past either end';

CREATE FUNCTION roaring64_next(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_next'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_next(roaring64, bigint) IS
'smallest element at or above the value, NULL if there is none';

CREATE FUNCTION roaring64_prev(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_prev'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_prev(roaring64, bigint) IS
'largest element at or below the value, NULL if there is none';

CREATE FUNCTION roaring64_next_absent(roaring64, bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_next_absent'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_next_absent(roaring64, bigint) IS
'smallest bigint at or above the value that is not an element, NULL if there is none';

--
-- src/type/slice.c: pages, chunks, shifted sets
--

-- not STRICT: without "n" it is all that is left
CREATE FUNCTION roaring64_slice(roaring64, skip bigint,
								n bigint DEFAULT NULL)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_slice'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_slice(roaring64, bigint, bigint) IS
'the n elements after the skip smallest';

-- not STRICT: without "after" it is the first page
CREATE FUNCTION roaring64_first(roaring64, n integer,
								after bigint DEFAULT NULL)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_first'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_first(roaring64, integer, bigint) IS
'the n smallest elements above a value, ascending';

-- not STRICT: without "before" it is the last page
CREATE FUNCTION roaring64_last(roaring64, n integer,
							   before bigint DEFAULT NULL)
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_last'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_last(roaring64, integer, bigint) IS
'the n largest elements below a value, descending';

CREATE FUNCTION roaring64_split(roaring64, bits integer,
								OUT chunk bigint, OUT ids roaring64)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_split'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50 ROWS 100;
COMMENT ON FUNCTION roaring64_split(roaring64, integer) IS
'the set cut at multiples of 2^bits: chunk is element >> bits';

CREATE FUNCTION roaring64_sample(roaring64, n bigint, seed bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_sample'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_sample(roaring64, bigint, bigint) IS
'n elements drawn at random, the same ones for the same seed';

CREATE FUNCTION roaring64_shift(roaring64, delta bigint)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_shift'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_shift(roaring64, bigint) IS
'add delta to every element';

--
-- src/type/set_returning.c: a set as rows
--

CREATE FUNCTION roaring64_elements(roaring64, reverse boolean DEFAULT false)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'roaring64_elements'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 1000
SUPPORT _roaring64_rows_support;
COMMENT ON FUNCTION roaring64_elements(roaring64, boolean) IS
'the elements as rows, ascending, or descending if reverse';

CREATE FUNCTION roaring64_elements_range(roaring64, int8range,
										 reverse boolean DEFAULT false)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'roaring64_elements_range'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 1000
SUPPORT _roaring64_rows_support;
COMMENT ON FUNCTION roaring64_elements_range(roaring64, int8range, boolean) IS
'the elements in the range as rows, ascending, or descending if reverse';

CREATE FUNCTION roaring64_ranges(roaring64)
RETURNS SETOF int8range
AS 'MODULE_PATHNAME', 'roaring64_ranges'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10 ROWS 1000
SUPPORT _roaring64_rows_support;
COMMENT ON FUNCTION roaring64_ranges(roaring64) IS
'the elements as ranges, as few as possible, ascending';

-- Ranges differ by one integer at most, the wider first.  There may be 2^64 integers
-- from the smallest element to the largest, so this is computed as numeric.  Only
-- a damaged set has ends but no elements.
CREATE FUNCTION roaring64_histogram(roaring64, n integer DEFAULT 10,
									OUT range int8range, OUT count bigint,
									OUT bar text)
RETURNS SETOF record
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 1000 ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	low numeric := @extschema@.roaring64_min($1);
	span numeric := @extschema@.roaring64_max($1) - low + 1;
	bars numeric := least(span, n);
BEGIN
	IF n < 1 THEN
		RAISE 'number of ranges must be at least 1' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF span IS NULL THEN
		RETURN;
	END IF;
	RETURN QUERY
	SELECT r.range, r.count, repeat('#', ceil(40.0 * r.count / greatest(max(r.count) OVER (), 1))::integer)
	FROM (
		SELECT b.range, @extschema@.roaring64_cardinality($1, b.range)
		FROM (
			SELECT int8range((low + i * div(span, bars) + least(i, span % bars))::bigint,
				-- the last bigint is in ranges without an upper bound only
				nullif(low + (i + 1) * div(span, bars) + least(i + 1, span % bars), 9223372036854775808)::bigint)
			FROM generate_series(0, bars - 1) AS i) AS b (range)) AS r (range, count);
END $$;
COMMENT ON FUNCTION roaring64_histogram(roaring64, integer) IS
'number of elements in each of n ranges of equal width, with bars';

--
-- src/type/value_stats.c: what a value is made of
--

CREATE FUNCTION roaring64_stats(roaring64,
								OUT cardinality bigint,
								OUT bytes bigint,
								OUT buckets bigint,
								OUT array_containers bigint,
								OUT bitset_containers bigint,
								OUT run_containers bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'roaring64_stats'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION roaring64_stats(roaring64) IS
'number of elements, bytes before compression, buckets, and containers of each kind';

--
-- one set and many values at once; contains_each in src/type/array.c
--

CREATE FUNCTION roaring64_add(roaring64, bigint[])
RETURNS roaring64
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 50
RETURN roaring64_or($1, roaring64_from_array($2));
COMMENT ON FUNCTION roaring64_add(roaring64, bigint[]) IS
'add the values of an array';

CREATE FUNCTION roaring64_remove(roaring64, bigint[])
RETURNS roaring64
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 50
RETURN roaring64_andnot($1, roaring64_from_array($2));
COMMENT ON FUNCTION roaring64_remove(roaring64, bigint[]) IS
'remove the values of an array';

CREATE FUNCTION roaring64_contains_each(roaring64, bigint[])
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_contains_each'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION roaring64_contains_each(roaring64, bigint[]) IS
'for each value of an array, is it an element?';

--
-- src/type/snowflake.c: ids that begin with a clock
--

CREATE FUNCTION roaring64_snowflake_pack(bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_snowflake_pack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_snowflake_pack(bigint) IS
'snowflake id with worker and sequence moved above the clock, for small sets';

CREATE FUNCTION roaring64_snowflake_unpack(bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_snowflake_unpack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION roaring64_snowflake_unpack(bigint) IS
'reverse of roaring64_snowflake_pack';
