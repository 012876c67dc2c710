--
-- Numbers attached to ids.  A table of numbers has, for every key and every power
-- of two, the set of the ids in whose number that power is; together they are
-- known as a bit-sliced index:
--
--		key ANY TYPE, weight bigint, ids roaring64 NOT NULL,
--		PRIMARY KEY (key, weight)
--
-- The number of an id is the sum of the weights of the rows that have it.  A
-- weight is 0, in the row of all ids that have a number; or 2^0 to 2^62; or, of
-- negative numbers, -2^0 to -2^63.  So every weight and every number is a bigint,
-- a sum is one of weight * count, and a row says all there is to say of it:
-- nothing depends on how many others there are, as the sign of two's complement
-- does.  No row has an empty set, so equal numbers have equal rows.
--
-- Rows, and not one value of type roaring64[], which is as large: it is fetched and
-- written as a whole.  With 17 bits of two million ids, the number of one id took
-- 11 ms from it and 0.3 ms from rows, and one changed bit wrote 9 MB instead of 0.5.
--
-- The key is passed as text and becomes a literal of the column's type.  Whatever
-- writes takes the lock of the row of weight 0 first, and makes it if there is
-- none: so writers of a key come one after the other, and each sees what the one
-- before has written.  The row is written and not only locked, so that a
-- REPEATABLE READ transaction that missed another's rows gets an error.
--

-- Every other function calls this to check the table, before it names a column.
CREATE FUNCTION roaring64_numbers_check(numbers regclass)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF 3 > (SELECT count(*) FROM pg_attribute AS a, pg_type AS t
			WHERE a.attrelid = numbers AND a.attnum > 0 AND NOT a.attisdropped AND t.oid = a.atttypid
			AND (a.attname = 'key' OR (a.attname, t.typname) IN (('weight', 'int8'), ('ids', 'roaring64')))) THEN
		RAISE '"%" is not a table of numbers', numbers USING
			ERRCODE = 'wrong_object_type',
			DETAIL = 'A table of numbers has the columns "key", "weight" of type bigint, and "ids" of type roaring64.';
	END IF;
END $$;
COMMENT ON FUNCTION roaring64_numbers_check(regclass) IS
'raises an error if the table is not a table of numbers';

--
-- Reading
--

-- Both bounds ask for the ids with at least a number.  For a positive one, those
-- whose magnitude is above it less one among the positive numbers; for another,
-- all but those whose magnitude is above the bound's among the negative ones.
-- Who is above a magnitude is found from the lowest weight to the highest: who has
-- a bit that it lacks is above it, whatever the lower bits are; where it has the
-- bit, it takes the bit and to be above below it.  So nobody is above who is not
-- in a row for each bit that is higher than his: bits that have no row end the
-- walk below them.  There is no set to restrict it to: cutting each slice to one first
-- was 1.2 to 1.5 times as fast for a thousandth of the ids, and took four times as
-- long for a tenth, since bitsets become arrays.
CREATE FUNCTION roaring64_numbers_in_range(numbers regclass, key text, range int8range,
										   OUT members roaring64)
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lowest bigint := '-9223372036854775808';
	bound bigint;
	magnitude bigint;
	above members%TYPE;			-- those with a greater magnitude
	up members%TYPE;			-- those who reach the bound
BEGIN
	PERFORM @extschema@.roaring64_numbers_check(numbers);
	FOREACH bound IN ARRAY CASE WHEN NOT isempty(range)
		THEN ARRAY[coalesce(lower(range), lowest), upper(range)] ELSE '{}' END
	LOOP
		EXIT WHEN bound IS NULL;
		magnitude := CASE WHEN bound > 0 THEN bound - 1 ELSE -nullif(bound, lowest) END;
		EXECUTE format($sql$
			SELECT @extschema@.roaring64_and_or_agg(ids, (size & $3 <> 0) IS TRUE ORDER BY size)
			FROM (SELECT ids, abs(nullif(weight, $1)) AS size, bit_or(abs(nullif(weight, $1))) OVER () AS sizes
				FROM %s WHERE key = %L AND CASE WHEN $2 > 0 THEN weight > 0 ELSE weight < 0 AND $2 > $1 END) AS t
			WHERE (size > $3 & ~sizes) IS NOT FALSE
			$sql$, numbers, key) INTO above USING lowest, bound, magnitude;
		IF bound > 0 THEN
			up := above;
		ELSE
			EXECUTE format('SELECT ids OPERATOR(@extschema@.-) $1 FROM %s WHERE key = %L AND weight = 0',
				numbers, key) INTO up USING above;
		END IF;
		members := coalesce(members OPERATOR(@extschema@.-) up, members, up);
	END LOOP;
	members := coalesce(members, '{}');
END $$;
COMMENT ON FUNCTION roaring64_numbers_in_range(regclass, text, int8range) IS
'the ids with a number in the range';

-- From the highest weight to the lowest: the better half of those who are still
-- equal is in if there is place for all of it; if not, the other half is out.
CREATE FUNCTION roaring64_numbers_top(numbers regclass, key text, n bigint,
									  among roaring64 DEFAULT NULL,
									  lowest boolean DEFAULT false,
									  OUT members roaring64)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	equal among%TYPE;			-- those who may still be in, or not
	better among%TYPE;
	slice record;
	more bigint;
BEGIN
	IF numbers IS NULL OR key IS NULL OR n IS NULL OR lowest IS NULL THEN
		RETURN;
	ELSIF n < 0 THEN
		RAISE 'number of ids must not be negative' USING
			ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM @extschema@.roaring64_numbers_check(numbers);
	members := '{}';
	EXECUTE format('SELECT coalesce(ids OPERATOR(@extschema@.&) $1, ids) FROM %s WHERE key = %L AND weight = 0',
		numbers, key) INTO equal USING among;
	IF equal IS NULL THEN
		RETURN;
	END IF;
	FOR slice IN EXECUTE format($sql$
		SELECT (weight > 0) <> $1 AS good, ids FROM %s WHERE key = %L AND weight <> 0
		ORDER BY (weight > 0) <> $1 DESC, abs(weight::numeric) DESC
		$sql$, numbers, key) USING lowest
	LOOP
		better := CASE WHEN slice.good THEN equal OPERATOR(@extschema@.&) slice.ids
			ELSE equal OPERATOR(@extschema@.-) slice.ids END;
		more := @extschema@.roaring64_cardinality(better);
		IF more > n THEN
			equal := better;
		ELSIF more > 0 THEN
			members := members OPERATOR(@extschema@.|) better;
			equal := equal OPERATOR(@extschema@.-) better;
			n := n - more;
		END IF;
		EXIT WHEN n = 0;
	END LOOP;
	members := members OPERATOR(@extschema@.|) @extschema@.roaring64_slice(equal, 0, n);
END $$;
COMMENT ON FUNCTION roaring64_numbers_top(regclass, text, bigint, roaring64, boolean) IS
'the n ids with the largest numbers, or the lowest';

--
-- Writing
--

-- Locks keys, in their order.  A key gets its row of weight 0 if it has none.
CREATE FUNCTION roaring64_numbers_lock(numbers regclass, VARIADIC keys text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@.roaring64_numbers_check(numbers);
	EXECUTE format($sql$
		INSERT INTO %1$s AS t (key, weight, ids)
		SELECT key, 0, '{}' FROM (SELECT key FROM %1$s WHERE false %2$s) AS k ORDER BY key
		ON CONFLICT (key, weight) DO UPDATE SET ids = t.ids
		$sql$, numbers, (SELECT string_agg(format('UNION SELECT %L', key), ' ') FROM unnest(keys) AS key));
END $$;
COMMENT ON FUNCTION roaring64_numbers_lock(regclass, text[]) IS
'locks the numbers of keys until the transaction ends';

-- All slices are made in one pass over the ids: an aggregate for each weight that
-- may be needed, with a filter.  What is written can be taken from the rows that
-- were read, as the key is locked; ON CONFLICT has no parameter, which Citus asks.
CREATE FUNCTION roaring64_numbers_set(numbers regclass, key text,
									  ids bigint[], "values" bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, @extschema@, pg_temp
AS $$
DECLARE
	given record;
	weights bigint[];
	slices text;
BEGIN
	IF (cardinality(ids) = cardinality("values")) IS NOT TRUE THEN
		RAISE 'arrays must have the same number of elements' USING
			ERRCODE = 'array_subscript_error',
			DETAIL = format('There are %s ids and %s values.',
							coalesce(cardinality(ids)::text, 'NULL'),
							coalesce(cardinality("values")::text, 'NULL'));
	ELSIF array_position(ids, NULL) IS NOT NULL THEN
		RAISE 'ids must not contain nulls' USING
			ERRCODE = 'null_value_not_allowed';
	END IF;
	EXECUTE 'SELECT s AS ids, roaring64_cardinality(s) AS count FROM CAST($1 AS roaring64) AS s'
	INTO given USING ids;
	IF given.count <> cardinality(ids) THEN
		RAISE 'ids must be distinct' USING
			ERRCODE = 'cardinality_violation',
			HINT = 'To add up several values of an id, use roaring64_numbers_add.';
	END IF;
	PERFORM roaring64_numbers_lock(numbers, key);

	SELECT array_agg(weight), string_agg(format('roaring64_agg(id) FILTER (WHERE %s)',
		CASE WHEN weight = 0 THEN 'value IS NOT NULL' WHEN weight > 0 THEN format('above & %s <> 0', weight)
			WHEN size IS NULL THEN 'value < 0 AND below IS NULL' ELSE format('below & %s <> 0', size) END), ', ')
	INTO weights, slices
	FROM (SELECT weight, abs(nullif(weight, '-9223372036854775808')) AS size
		FROM (SELECT 0::bigint UNION ALL SELECT sign << bit
			FROM unnest('{1,-1}'::bigint[]) AS sign, generate_series(0, 63) AS bit WHERE sign < 0 OR bit < 63) AS w (weight)) AS w,
		(SELECT least(min(v), 0), greatest(max(v), 0) FROM unnest("values") AS v) AS ends (least, most)
	WHERE weight BETWEEN least AND most;
	EXECUTE format($sql$
		INSERT INTO %1$s (key, weight, ids)
		SELECT %2$L, weight, ids
		FROM (SELECT weight, old.ids AS before, coalesce(old.ids - $4, '{}') | coalesce(new.ids, '{}') AS ids
			FROM (SELECT unnest($3) AS weight, unnest(ARRAY[%3$s]) AS ids
				FROM (SELECT id, value, CASE WHEN value > 0 THEN value END AS above,
						CASE WHEN value < 0 THEN -nullif(value, '-9223372036854775808') END AS below
					FROM unnest($1, $2) AS n (id, value)) AS n) AS new
				FULL JOIN (SELECT weight, ids FROM %1$s WHERE key = %2$L) AS old USING (weight)
			WHERE new.ids IS NOT NULL OR old.ids && $4
			OFFSET 0) AS slices
		WHERE ids IS DISTINCT FROM before
		ON CONFLICT (key, weight) DO UPDATE SET ids = excluded.ids
		$sql$, numbers, key, slices) USING ids, "values", weights, given.ids;
	EXECUTE format('DELETE FROM %s WHERE key = %L AND roaring64_is_empty(ids)', numbers, key);
END $$;
COMMENT ON FUNCTION roaring64_numbers_set(regclass, text, bigint[], bigint[]) IS
'sets the number of each id; NULL removes it';

CREATE FUNCTION roaring64_numbers_add(numbers regclass, key text,
									  ids bigint[], "values" bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, @extschema@, pg_temp
AS $$
DECLARE
	sums record;
BEGIN
	IF (cardinality(ids) = cardinality("values")) IS NOT TRUE THEN
		RAISE 'arrays must have the same number of elements' USING
			ERRCODE = 'array_subscript_error',
			DETAIL = format('There are %s ids and %s values.',
							coalesce(cardinality(ids)::text, 'NULL'),
							coalesce(cardinality("values")::text, 'NULL'));
	ELSIF array_position(ids, NULL) IS NOT NULL OR array_position("values", NULL) IS NOT NULL THEN
		RAISE 'ids and values must not contain nulls' USING
			ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM roaring64_numbers_lock(numbers, key);
	EXECUTE format($sql$
		SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(number), '{}') AS numbers
		FROM (SELECT id, sum(number)::bigint AS number
			FROM (SELECT * FROM unnest($1, $2) AS n (id, number)
				UNION ALL
				SELECT roaring64_elements(ids & $1::roaring64), weight FROM %s WHERE key = %L) AS parts
			GROUP BY id) AS sums
		$sql$, numbers, key) INTO sums USING ids, "values";
	PERFORM roaring64_numbers_set(numbers, key, sums.ids, sums.numbers);
END $$;
COMMENT ON FUNCTION roaring64_numbers_add(regclass, text, bigint[], bigint[]) IS
'adds to the number of each id, which is 0 if it has none';

-- A bit at a time, with the carries as a set: first the positive numbers and the
-- negative ones, each for itself.  Those who have both then are subtracted, and
-- those of them who went below 0 are complemented.  Difference and complement are
-- of 63 bits: neither can be larger, and the highest bit of -2^63 is a borrow.
CREATE FUNCTION roaring64_numbers_merge(numbers regclass, key text, source text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, @extschema@, pg_temp
AS $$
DECLARE
	slice text := 'coalesce((SELECT ids FROM %s WHERE key = %L AND weight = %%s), ''{}'')';
	a text := format(slice, numbers, key);
	b text := format(slice, numbers, source);
	put text := format('INSERT INTO %s (key, weight, ids) SELECT %L, %%s FROM t ON CONFLICT (key, weight) DO UPDATE SET ids = excluded.ids',
		numbers, key);
	sign integer;
	state record;
	mixed record;
	overflow boolean := false;
BEGIN
	PERFORM roaring64_numbers_lock(numbers, key, source);

	FOREACH sign IN ARRAY '{1,-1}'::integer[] LOOP
		EXECUTE 'SELECT ''{}''::roaring64 AS carry' INTO state;
		FOR bit IN 0 .. CASE WHEN sign > 0 THEN 62 ELSE 63 END LOOP
			EXECUTE format($sql$
				WITH t AS MATERIALIZED (SELECT a # b # $1 AS sum, (a & b) | ($1 & (a # b)) AS carry
					FROM (SELECT %1$s AS a, %2$s AS b) AS slices
					WHERE NOT (roaring64_is_empty(b) AND roaring64_is_empty($1))),
				w AS (%3$s)
				SELECT coalesce((SELECT carry FROM t), '{}') AS carry
				$sql$, format(a, '$2'), format(b, '$2'), format(put, '$2, sum'))
			INTO state USING state.carry, sign::bigint << bit;
		END LOOP;
		overflow := overflow OR NOT roaring64_is_empty(state.carry);
	END LOOP;
	EXECUTE format($sql$
		SELECT EXISTS (SELECT FROM %1$s WHERE key = %2$L AND weight < 0 AND weight > '-9223372036854775808'
			AND ids && %3$s) OR $1
		$sql$, numbers, key, format(a, '''-9223372036854775808''')) INTO overflow USING overflow;
	IF overflow THEN
		RAISE 'bigint out of range' USING
			ERRCODE = 'numeric_value_out_of_range';
	END IF;
	EXECUTE format('WITH t AS (SELECT %s | %s AS ids) %s', format(a, 0), format(b, 0), format(put, '0, ids'));

	EXECUTE format($sql$
		SELECT coalesce(roaring64_or_agg(ids) FILTER (WHERE weight > 0)
			& roaring64_or_agg(ids) FILTER (WHERE weight < 0), '{}') AS ids
		FROM %s WHERE key = %L
		$sql$, numbers, key) INTO mixed;
	IF NOT roaring64_is_empty(mixed.ids) THEN
		EXECUTE 'SELECT ''{}''::roaring64 AS borrow' INTO state;
		FOR bit IN 0 .. 62 LOOP
			EXECUTE format($sql$
				WITH t AS MATERIALIZED (SELECT p, n, p & $3 AS a, n & $3 AS b
					FROM (SELECT %1$s AS p, %2$s AS n) AS slices),
				w AS (%3$s), v AS (%4$s)
				SELECT ((b | $1) - a) | (b & $1) AS borrow FROM t
				$sql$, format(a, '$2'), format(a, '-$2'), format(put, '$2, (p - $3) | (a # b # $1)'),
				format(put, '-$2, n - $3'))
			INTO state USING state.borrow, 1::bigint << bit, mixed.ids;
		END LOOP;
		EXECUTE format($sql$
			WITH t AS MATERIALIZED (SELECT %1$s AS n), w AS (%2$s)
			SELECT $1 | (n & $2) AS ids FROM t
			$sql$, format(a, '''-9223372036854775808'''), format(put, '''-9223372036854775808''::bigint, n - $2'))
		INTO mixed USING state.borrow, mixed.ids;

		EXECUTE 'SELECT $1 AS carry' INTO state USING mixed.ids;
		FOR bit IN 0 .. 62 LOOP
			EXECUTE format($sql$
				WITH t AS MATERIALIZED (SELECT p, n, $3 - p AS a FROM (SELECT %1$s AS p, %2$s AS n) AS slices),
				w AS (%3$s), v AS (%4$s)
				SELECT a & $1 AS carry FROM t
				$sql$, format(a, '$2'), format(a, '-$2'), format(put, '$2, p - $3'),
				format(put, '-$2, n | (a # $1)'))
			INTO state USING state.carry, 1::bigint << bit, mixed.ids;
		END LOOP;
	END IF;
	EXECUTE format('DELETE FROM %s WHERE key IN (%L, %L) AND roaring64_is_empty(ids)', numbers, key, source);
END $$;
COMMENT ON FUNCTION roaring64_numbers_merge(regclass, text, text) IS
'adds the numbers of another key to those of a key';
