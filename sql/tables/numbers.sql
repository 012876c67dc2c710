--
-- Numbers attached to ids.  A table of numbers has, for every key and every power
-- of two, the set of the ids in whose number that power is; together they are
-- known as a bit-sliced index:
--
--		key text, weight bigint, ids roaring64, PRIMARY KEY (key, weight)
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
-- Statements are formatted once, with the table; all else is a parameter.  Each
-- names its keys by equality, so that on Citus it goes to their shards.
--

CREATE FUNCTION _roaring64_numbers_make(made text)
RETURNS regclass
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	EXECUTE format($sql$
		CREATE TABLE %s (
			key text COLLATE "C" NOT NULL,
			weight bigint NOT NULL,
			ids @extschema@.roaring64 NOT NULL,
			PRIMARY KEY (key, weight))
		$sql$, made);
	RETURN made;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_make(text) IS
'makes a table of numbers';

CREATE FUNCTION roaring64_numbers_create(name text)
RETURNS regclass
LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000
BEGIN ATOMIC
	SELECT _roaring64_numbers_make(_roaring64_new_table($1, pg_catalog.current_schema()));
END;
COMMENT ON FUNCTION roaring64_numbers_create(text) IS
'creates a table of numbers';

-- Every other function calls this to check the table, before it names a column.
CREATE FUNCTION _roaring64_numbers_check(numbers regclass)
RETURNS void
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('table of numbers', num_nulls(numbers));
	IF 3 > (SELECT count(*) FROM pg_attribute AS a, pg_type AS t
			WHERE a.attrelid = numbers AND a.attnum > 0 AND NOT a.attisdropped AND t.oid = a.atttypid
			AND (a.attname, t.typname) IN (('key', 'text'), ('weight', 'int8'), ('ids', 'roaring64')))
		OR @extschema@._roaring64_has_children(numbers) THEN
		RAISE '"%" is not a table of numbers', numbers USING
			ERRCODE = 'wrong_object_type',
			DETAIL = 'A table of numbers has the columns "key" of type text, "weight" of type bigint, '
				'and "ids" of type roaring64, and no children.',
			HINT = 'Create one with roaring64_numbers_create.';
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_check(regclass) IS
'raises an error if it is not a table of numbers';

--
-- Reading
--

CREATE FUNCTION roaring64_numbers_get(numbers regclass, key text, ids bigint[])
RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	found record;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key and ids', num_nulls(key, ids));
	EXECUTE format($sql$
		SELECT array_agg(id) AS ids, array_agg(number) AS numbers
		FROM (SELECT id, sum(weight)::bigint AS number
			FROM (SELECT @extschema@.roaring64_elements(ids OPERATOR(@extschema@.&) $2) AS id, weight
				FROM %s WHERE key = $1) AS parts
			GROUP BY id) AS sums
		$sql$, numbers) INTO found USING key, array_remove(ids, NULL)::@extschema@.roaring64;
	RETURN ARRAY(SELECT f.number FROM unnest(ids) WITH ORDINALITY AS i (id, position)
				 LEFT JOIN unnest(found.ids, found.numbers) AS f (id, number) USING (id)
				 ORDER BY i.position);
END $$;
COMMENT ON FUNCTION roaring64_numbers_get(regclass, text, bigint[]) IS
'for each id its number, NULL if it has none';

-- What counts and sums are made of.  numeric, since a sum may be no bigint; without
-- it, only the set of all ids is read.
CREATE FUNCTION _roaring64_numbers_totals(numbers regclass, key text, among roaring64, with_sum boolean,
										  OUT n bigint, OUT total numeric)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key', num_nulls(key));
	EXECUTE format($sql$
		SELECT coalesce(sum(n) FILTER (WHERE weight = 0), 0), sum(weight * n)
		FROM (SELECT weight, coalesce(@extschema@.roaring64_and_cardinality(ids, $2),
				@extschema@.roaring64_cardinality(ids))::numeric AS n
			FROM %s WHERE key = $1 AND (weight = 0 OR $3)) AS counts
		$sql$, numbers) INTO n, total USING key, among, with_sum;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_totals(regclass, text, roaring64, boolean) IS
'how many ids have a number, and the sum of these';

CREATE FUNCTION roaring64_numbers_count(numbers regclass, key text,
										among roaring64 DEFAULT NULL)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000
RETURN (_roaring64_numbers_totals(numbers, key, among, false)).n;
COMMENT ON FUNCTION roaring64_numbers_count(regclass, text, roaring64) IS
'how many ids have a number: of a set, or all';

CREATE FUNCTION roaring64_numbers_sum(numbers regclass, key text,
									  among roaring64 DEFAULT NULL)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000
BEGIN ATOMIC
	SELECT CASE WHEN n > 0 THEN total END FROM _roaring64_numbers_totals(numbers, key, among, true);
END;
COMMENT ON FUNCTION roaring64_numbers_sum(regclass, text, roaring64) IS
'sum of the numbers of a set of ids, or of all';

CREATE FUNCTION roaring64_numbers_avg(numbers regclass, key text,
									  among roaring64 DEFAULT NULL)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000
BEGIN ATOMIC
	SELECT total / nullif(n, 0) FROM _roaring64_numbers_totals(numbers, key, among, true);
END;
COMMENT ON FUNCTION roaring64_numbers_avg(regclass, text, roaring64) IS
'average of the numbers of a set of ids, or of all';

CREATE FUNCTION _roaring64_and_or_agg_transfn(roaring64, roaring64, boolean)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_and_or_agg_transfn'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _roaring64_and_or_agg_transfn(roaring64, roaring64, boolean) IS
'aggregate transition function';

-- It depends on the order, so there is nothing to combine.
CREATE AGGREGATE _roaring64_and_or_agg(roaring64, boolean) (
	SFUNC = _roaring64_and_or_agg_transfn,
	STYPE = roaring64,
	SSPACE = 8192,
	FINALFUNC = _roaring64_set_finalfn,
	INITCOND = '{}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE _roaring64_and_or_agg(roaring64, boolean) IS
'starting with the empty set, the intersection with each set whose flag is true '
'and the union with each whose flag is false';

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
CREATE FUNCTION roaring64_numbers_in_range(numbers regclass, key text, range int8range)
RETURNS roaring64
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lowest bigint := '-9223372036854775808';
	bound bigint;
	magnitude bigint;
	above @extschema@.roaring64;		-- ids whose numbers have a greater magnitude
	up @extschema@.roaring64;			-- ids whose numbers reach the bound
	reach @extschema@.roaring64;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key and range', num_nulls(key, range));
	FOREACH bound IN ARRAY CASE WHEN NOT isempty(range)
		THEN ARRAY[coalesce(lower(range), lowest), upper(range)] ELSE '{}' END
	LOOP
		EXIT WHEN bound IS NULL;
		magnitude := CASE WHEN bound > 0 THEN bound - 1 ELSE -nullif(bound, lowest) END;
		EXECUTE format($sql$
			SELECT @extschema@._roaring64_and_or_agg(ids, (size & $4 <> 0) IS TRUE ORDER BY size)
			FROM (SELECT ids, abs(nullif(weight, $2)) AS size, bit_or(abs(nullif(weight, $2))) OVER () AS sizes
				FROM %s WHERE key = $1 AND CASE WHEN $3 > 0 THEN weight > 0 ELSE weight < 0 AND $3 > $2 END) AS t
			WHERE (size > $4 & ~sizes) IS NOT FALSE
			$sql$, numbers) INTO above USING key, lowest, bound, magnitude;
		IF bound > 0 THEN
			up := above;
		ELSE
			EXECUTE format('SELECT ids OPERATOR(@extschema@.-) $2 FROM %s WHERE key = $1 AND weight = 0', numbers)
			INTO up USING key, above;
		END IF;
		reach := coalesce(reach OPERATOR(@extschema@.-) up, reach, up);
	END LOOP;
	RETURN coalesce(reach, '{}');
END $$;
COMMENT ON FUNCTION roaring64_numbers_in_range(regclass, text, int8range) IS
'the ids with a number in the range';

-- From the highest weight to the lowest: of the ids that are still equal, the better
-- half is in if there is place for all of it; if not, the other half is out.
CREATE FUNCTION roaring64_numbers_top(numbers regclass, key text, n bigint,
									  among roaring64 DEFAULT NULL,
									  lowest boolean DEFAULT false)
RETURNS roaring64
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	best @extschema@.roaring64 := '{}';
	equal @extschema@.roaring64;		-- ids that may be in or not
	better @extschema@.roaring64;
	more bigint;
	slice record;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key, "n" and "lowest"', num_nulls(key, n, lowest));
	EXECUTE format('SELECT coalesce(ids OPERATOR(@extschema@.&) $2, ids) FROM %s WHERE key = $1 AND weight = 0', numbers)
	INTO equal USING key, among;
	FOR slice IN EXECUTE format($sql$
		SELECT (weight > 0) <> $2 AS good, ids FROM %s WHERE key = $1 AND weight <> 0
		ORDER BY (weight > 0) <> $2 DESC, abs(weight::numeric) DESC
		$sql$, numbers) USING key, lowest
	LOOP
		IF slice.good THEN
			better := equal OPERATOR(@extschema@.&) slice.ids;
		ELSE
			better := equal OPERATOR(@extschema@.-) slice.ids;
		END IF;
		more := @extschema@.roaring64_cardinality(better);
		IF more > n THEN
			equal := better;
		ELSIF more > 0 THEN
			best := best OPERATOR(@extschema@.|) better;
			equal := equal OPERATOR(@extschema@.-) better;
			n := n - more;
		END IF;
		EXIT WHEN n = 0;
	END LOOP;
	RETURN best OPERATOR(@extschema@.|) @extschema@.roaring64_slice(coalesce(equal, '{}'), 0, n);
END $$;
COMMENT ON FUNCTION roaring64_numbers_top(regclass, text, bigint, roaring64, boolean) IS
'the n ids with the largest numbers, or the lowest';

--
-- Writing
--

-- Writers of a key come one after the other, as each writes the row of weight 0
-- first; it is written and not only locked, so that a REPEATABLE READ transaction
-- that missed another's rows gets an error, and locked before, so that one gets it too
-- that still sees rows which the key has lost.  A key that has no such row gets one
-- and loses it at once: who inserts it too waits for us just so, and no empty set
-- stays.  A statement a key: one INSERT ... SELECT of several is planned by Citus as
-- one that has no shards, and locks nothing.
CREATE FUNCTION roaring64_numbers_lock(numbers regclass, VARIADIC keys text[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	key text;
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	PERFORM @extschema@._roaring64_not_null('key', coalesce(num_nulls(VARIADIC keys), 1));
	FOR key IN SELECT DISTINCT k COLLATE "C" FROM unnest(keys) AS k ORDER BY 1 LOOP
		EXECUTE format('SELECT 1 FROM %s WHERE key = $1 AND weight = 0 FOR UPDATE', numbers) USING key;
		EXECUTE format($sql$
			INSERT INTO %s AS t (key, weight, ids) VALUES ($1, 0, '{}')
			ON CONFLICT (key, weight) DO UPDATE SET ids = t.ids
			$sql$, numbers) USING key;
		EXECUTE format('DELETE FROM %s WHERE key = $1 AND weight = 0 AND @extschema@.roaring64_is_empty(ids)', numbers)
		USING key;
	END LOOP;
END $$;
COMMENT ON FUNCTION roaring64_numbers_lock(regclass, text[]) IS
'locks the numbers of keys until the transaction ends';

-- What set and add are given: an amount for each id.
CREATE FUNCTION _roaring64_numbers_given(ids bigint[], amounts bigint[])
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_not_null('ids and amounts', num_nulls(ids, amounts));
	IF cardinality(ids) <> cardinality(amounts) THEN
		RAISE 'arrays must have the same number of elements' USING
			ERRCODE = 'array_subscript_error',
			DETAIL = format('There are %s ids and %s amounts.', cardinality(ids), cardinality(amounts));
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_given(bigint[], bigint[]) IS
'raises an error if ids and amounts are not as many';

-- All slices are made in one pass over the ids: an aggregate for each weight that
-- may be needed, with a filter.  What is written can be taken from the rows that
-- were read, as the key is locked; ON CONFLICT has no parameter, which Citus asks.
CREATE FUNCTION roaring64_numbers_set(numbers regclass, key text,
									  ids bigint[], amounts bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given @extschema@.roaring64;
	weights bigint[];
	slices text;
BEGIN
	PERFORM @extschema@._roaring64_numbers_given(ids, amounts);
	given := ids::@extschema@.roaring64;
	IF @extschema@.roaring64_cardinality(given) <> cardinality(ids) THEN
		RAISE 'ids must be distinct' USING
			ERRCODE = 'cardinality_violation',
			HINT = 'To add up several amounts of an id, use roaring64_numbers_add.';
	END IF;
	PERFORM @extschema@.roaring64_numbers_lock(numbers, key);

	SELECT array_agg(weight), string_agg(format('@extschema@.roaring64_agg(id) FILTER (WHERE %s)',
		CASE WHEN weight = 0 THEN 'amount IS NOT NULL' WHEN weight > 0 THEN format('above & %s <> 0', weight)
			WHEN size IS NULL THEN 'amount < 0 AND below IS NULL' ELSE format('below & %s <> 0', size) END), ', ')
	INTO weights, slices
	FROM (SELECT weight, abs(nullif(weight, '-9223372036854775808')) AS size
		FROM (SELECT 0::bigint UNION ALL SELECT sign << bit
			FROM unnest('{1,-1}'::bigint[]) AS sign, generate_series(0, 63) AS bit
			WHERE sign < 0 OR bit < 63) AS w (weight)) AS w,
		(SELECT least(min(a), 0), greatest(max(a), 0) FROM unnest(amounts) AS a) AS ends (least, most)
	WHERE weight BETWEEN least AND most;
	EXECUTE format($sql$
		INSERT INTO %1$s (key, weight, ids)
		SELECT $1, weight, ids
		FROM (SELECT weight, old.ids AS before,
				coalesce(@extschema@.roaring64_or(@extschema@.roaring64_andnot(old.ids, $5), new.ids), new.ids,
						 @extschema@.roaring64_andnot(old.ids, $5)) AS ids
			FROM (SELECT unnest($4) AS weight, unnest(ARRAY[%2$s]) AS ids
				FROM (SELECT id, amount, CASE WHEN amount > 0 THEN amount END AS above,
						CASE WHEN amount < 0 THEN -nullif(amount, '-9223372036854775808') END AS below
					FROM unnest($2, $3) AS n (id, amount)) AS n) AS new
				FULL JOIN (SELECT weight, ids FROM %1$s WHERE key = $1) AS old USING (weight)
			WHERE new.ids IS NOT NULL OR old.ids OPERATOR(@extschema@.&&) $5
			OFFSET 0) AS slices
		WHERE ids OPERATOR(@extschema@.=) before IS NOT TRUE
		ON CONFLICT (key, weight) DO UPDATE SET ids = excluded.ids
		$sql$, numbers, slices) USING key, ids, amounts, weights, given;
	EXECUTE format('DELETE FROM %s WHERE key = $1 AND @extschema@.roaring64_is_empty(ids)', numbers) USING key;
END $$;
COMMENT ON FUNCTION roaring64_numbers_set(regclass, text, bigint[], bigint[]) IS
'sets the number of each id; NULL removes it';

CREATE FUNCTION roaring64_numbers_add(numbers regclass, key text,
									  ids bigint[], amounts bigint[])
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	sums record;
BEGIN
	PERFORM @extschema@._roaring64_numbers_given(ids, amounts);
	IF array_position(amounts, NULL) IS NOT NULL THEN
		RAISE 'amounts must not contain nulls' USING
			ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM @extschema@.roaring64_numbers_lock(numbers, key);
	EXECUTE format($sql$
		SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(number), '{}') AS numbers
		FROM (SELECT id, sum(amount)::bigint AS number
			FROM (SELECT unnest($2) AS id, unnest($3) AS amount
				UNION ALL
				SELECT @extschema@.roaring64_elements(ids OPERATOR(@extschema@.&) $4), weight FROM %s WHERE key = $1) AS parts
			GROUP BY id) AS sums
		$sql$, numbers) INTO sums USING key, ids, amounts, ids::@extschema@.roaring64;
	PERFORM @extschema@.roaring64_numbers_set(numbers, key, sums.ids, sums.numbers);
END $$;
COMMENT ON FUNCTION roaring64_numbers_add(regclass, text, bigint[], bigint[]) IS
'adds to the number of each id, which is 0 if it has none';

-- Adds the numbers of two keys a bit at a time, in two's complement, where adding needs
-- no cases.  There a number below 0 is its magnitude inverted, and one more, hence a
-- carry for each of the two to begin with; and so is the way back, for which the sign of
-- the sum must be known.  Without it, only that is found, which is the sum's highest
-- bit: ids whose sum is negative.  minus, minus_a and minus_b are ids with a negative
-- number: in the sum, in key, in source.
CREATE FUNCTION _roaring64_numbers_add_up(numbers regclass, key text, source text, bits integer,
										  minus_a roaring64, minus_b roaring64, minus roaring64)
RETURNS roaring64
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	get text := format($sql$
		SELECT coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight = $3), '{}') AS plus_a,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight = $4), '{}') AS minus_a,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $2 AND weight = $3), '{}') AS plus_b,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $2 AND weight = $4), '{}') AS minus_b
		FROM %s WHERE key IN ($1, $2) AND weight IN ($3, $4)
		$sql$, numbers);
	slice record;
	-- ids that have the bit, or carry it to the next
	a @extschema@.roaring64;
	b @extschema@.roaring64;
	half @extschema@.roaring64;
	sum @extschema@.roaring64;
	carry_a @extschema@.roaring64 := minus_a;
	carry_b @extschema@.roaring64 := minus_b;
	carry @extschema@.roaring64 := minus;
BEGIN
	FOR bit IN 0 .. bits - 1 LOOP
		EXECUTE get INTO slice USING key, source, CASE WHEN bit < 63 THEN 1::bigint << bit END, -1::bigint << bit;
		a := @extschema@.roaring64_or(slice.plus_a, @extschema@.roaring64_andnot(minus_a, slice.minus_a));
		b := @extschema@.roaring64_or(slice.plus_b, @extschema@.roaring64_andnot(minus_b, slice.minus_b));
		half := @extschema@.roaring64_xor(a, b);
		sum := @extschema@.roaring64_xor(half, carry_a);
		carry_a := @extschema@.roaring64_or(@extschema@.roaring64_and(a, b), @extschema@.roaring64_and(half, carry_a));
		half := sum;
		sum := @extschema@.roaring64_xor(half, carry_b);
		carry_b := @extschema@.roaring64_and(half, carry_b);
		CONTINUE WHEN minus IS NULL;
		half := @extschema@.roaring64_xor(sum, minus);
		a := @extschema@.roaring64_xor(half, carry);
		carry := @extschema@.roaring64_and(half, carry);
		PERFORM @extschema@._roaring64_numbers_put(numbers, key, 1::bigint << bit, slice.plus_a,
												   @extschema@.roaring64_andnot(a, minus)),
			@extschema@._roaring64_numbers_put(numbers, key, -1::bigint << bit, slice.minus_a,
											   @extschema@.roaring64_and(a, minus));
	END LOOP;
	RETURN sum;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_add_up(regclass, text, text, integer, roaring64, roaring64, roaring64) IS
'adds the numbers of two keys: the ids whose sum is negative';

CREATE FUNCTION _roaring64_numbers_put(numbers regclass, key text, weight bigint, before roaring64, ids roaring64)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF ids OPERATOR(@extschema@.<>) before THEN
		EXECUTE format($sql$
			INSERT INTO %s (key, weight, ids) VALUES ($1, $2, $3)
			ON CONFLICT (key, weight) DO UPDATE SET ids = excluded.ids
			$sql$, numbers) USING key, weight, ids;
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_numbers_put(regclass, text, bigint, roaring64, roaring64) IS
'writes a row of a table of numbers, unless it is as it was';

-- The bits are added once for the sign of the sum, unless there are no negative numbers,
-- and once for the sum.  The signs tell an overflow, too.  The sum has two bits more
-- than the largest magnitude, or 64.
CREATE FUNCTION roaring64_numbers_merge(numbers regclass, key text, source text)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	keys record;
	minus @extschema@.roaring64 := '{}';
BEGIN
	PERFORM @extschema@.roaring64_numbers_lock(numbers, key, source);
	EXECUTE format($sql$
		SELECT @extschema@.roaring64_or_agg(ids) FILTER (WHERE weight = 0) AS ids,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight = 0), '{}') AS ids_before,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $1 AND weight < 0), '{}') AS minus_a,
			coalesce(@extschema@.roaring64_or_agg(ids) FILTER (WHERE key = $2 AND weight < 0), '{}') AS minus_b,
			least(coalesce(max(round(log(2, abs(nullif(weight, 0)::numeric))))::integer, 0) + 3, 64) AS bits
		FROM %s WHERE key IN ($1, $2)
		$sql$, numbers) INTO keys USING key, source;
	PERFORM @extschema@._roaring64_numbers_put(numbers, key, 0, keys.ids_before, keys.ids);
	IF NOT @extschema@.roaring64_is_empty(@extschema@.roaring64_or(keys.minus_a, keys.minus_b)) THEN
		minus := @extschema@._roaring64_numbers_add_up(numbers, key, source, keys.bits, keys.minus_a, keys.minus_b, NULL);
	END IF;
	minus := @extschema@._roaring64_numbers_add_up(numbers, key, source, keys.bits, keys.minus_a, keys.minus_b, minus);
	-- of two with the same sign, the sum has it
	IF NOT (@extschema@.roaring64_and(keys.minus_a, keys.minus_b) OPERATOR(@extschema@.<@) minus
			AND minus OPERATOR(@extschema@.<@) @extschema@.roaring64_or(keys.minus_a, keys.minus_b)) THEN
		RAISE 'bigint out of range' USING
			ERRCODE = 'numeric_value_out_of_range';
	END IF;
	EXECUTE format('DELETE FROM %s WHERE key = $1 AND @extschema@.roaring64_is_empty(ids)', numbers) USING key;
END $$;
COMMENT ON FUNCTION roaring64_numbers_merge(regclass, text, text) IS
'adds the numbers of another key to those of a key';

CREATE FUNCTION roaring64_numbers_stats(numbers regclass,
										OUT keys bigint,
										OUT ids bigint,
										OUT bytes bigint)
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 100000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	EXECUTE format('SELECT count(*), coalesce(sum(@extschema@.roaring64_cardinality(ids)), 0) FROM %s WHERE weight = 0',
				   numbers) INTO keys, ids;
	bytes := @extschema@._roaring64_helpers_bytes(numbers);
END $$;
COMMENT ON FUNCTION roaring64_numbers_stats(regclass) IS
'number of keys, of the ids in them that have a number, and bytes on disk';

CREATE FUNCTION roaring64_numbers_drop(numbers regclass)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 1000
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM @extschema@._roaring64_numbers_check(numbers);
	EXECUTE format('DROP TABLE %s', numbers);
END $$;
COMMENT ON FUNCTION roaring64_numbers_drop(regclass) IS
'drops a table of numbers';
