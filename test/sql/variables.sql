--
-- Sets in variables.  From PostgreSQL 18 on they are changed in place
-- (src/type/variable.c), if they are not small; no other value must change.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- values that are made of each other
DO $$
DECLARE
	a roaring64 := '{1}';
	b roaring64;
	c roaring64;
	d roaring64;
BEGIN
	a := a | 2::bigint;
	b := a;
	c := a | 3::bigint;
	d := a | 4::bigint;
	a := a - 1::bigint;
	b := roaring64_add(b, '{10,11,10}');
	RAISE NOTICE 'a %, b %, c %, d %', a, b, c, d;
	a := a | a;
	b := roaring64_remove(b | 12::bigint, '{1,2,99}') - 12::bigint;
	c := 5::bigint | c;
	d := NULL;
	RAISE NOTICE 'a %, b %, c %, d %', a, b, c, d;
END $$;

-- of several edits of a value, the last one counts
DO $$
DECLARE
	x roaring64 := '{}';
BEGIN
	FOR i IN 1..3000 LOOP
		x := x | i::bigint;
		x := x - (i - 1)::bigint;
		x := x | -i::bigint;
		IF i % 2 = 0 THEN
			x := x - -i::bigint;
		END IF;
	END LOOP;
	RAISE NOTICE '% elements, max %, min %, -2: %, -1: %',
		roaring64_cardinality(x), roaring64_max(x), roaring64_min(x),
		x @> -2::bigint, -1::bigint <@ x;
END $$;

-- looking at a set while it grows; what is read is what was written
DO $$
DECLARE
	x roaring64 := '{}';
	seen bigint[] := '{}';
	id bigint;
	wrong int := 0;
BEGIN
	FOR i IN 1..2500 LOOP
		id := (i * 7919 % 1009) * (1::bigint << 31);
		IF (x @> id) <> (id = ANY (seen)) THEN
			wrong := wrong + 1;
		END IF;
		IF NOT x @> id THEN
			x := x | id;
			seen := seen || id;
		ELSIF i % 3 = 0 THEN
			x := x - id;
			seen := array_remove(seen, id);
		END IF;
		IF i % 500 = 0 AND x <> seen::roaring64 THEN
			wrong := wrong + 1;
		END IF;
	END LOOP;
	RAISE NOTICE '% elements, % wrong', roaring64_cardinality(x), wrong;
END $$;

-- Any changes of a variable, of its copies, and of what is made of it, against
-- an array of booleans; beside base, which is left as it is.
CREATE FUNCTION id_of(k int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT k * (1::bigint << 31)';
CREATE FUNCTION changed(base roaring64, n int, OUT in_place int, OUT wrong int) LANGUAGE plpgsql AS $$
DECLARE
	x roaring64 := base;
	copy roaring64 := base;
	other roaring64;
	want boolean[] := array_fill(false, '{200}');
	copied boolean[] := want;
	k int;
	ids bigint[];
BEGIN
	wrong := 0;
	FOR i IN 1..n LOOP
		k := 1 + abs(hashint4(i)) % 200;
		CASE abs(hashint4(-i)) % 16
			WHEN 0, 1, 2 THEN x := x | id_of(k); want[k] := true;
			WHEN 3, 4 THEN x := id_of(k) | x; want[k] := true;
			WHEN 5, 6 THEN x := x - id_of(k); want[k] := false;
			WHEN 7 THEN
				ids := ARRAY[id_of(k), id_of(1 + k / 2), id_of(k)];
				x := roaring64_add(x, ids); want[k] := true; want[1 + k / 2] := true;
			WHEN 8 THEN x := roaring64_remove(x, ARRAY[id_of(k), 5]); want[k] := false;
			WHEN 9 THEN
				wrong := wrong + ((x @> id_of(k)) <> want[k])::int + ((id_of(k) <@ x) <> want[k])::int;
			WHEN 10 THEN
				-- the variable twice, once in what is added
				x := x | (id_of(1) + 0 * roaring64_cardinality(x)); want[1] := true;
			WHEN 11 THEN copy := x; copied := want;
			WHEN 12 THEN other := x | id_of(201);
				wrong := wrong + (other <> x | (id_of(201) + 0) OR x @> id_of(201))::int;
			WHEN 13 THEN
				BEGIN
					x := x | id_of(k); want[k] := true;
					x := roaring64_add(x, ARRAY[id_of(1 + k % 200), NULL]);
				EXCEPTION WHEN null_value_not_allowed THEN
					x := x - id_of(2); want[2] := false;
				END;
			WHEN 14 THEN
				-- a branch that is given up
				other := x;
				other := other - id_of(k);
				other := other | id_of(202);
			ELSE x := x | '{}'::roaring64;
		END CASE;
		IF i % 97 = 0 THEN
			wrong := wrong
				+ (x <> base | (SELECT coalesce(roaring64_agg(id_of(t.k::int)), '{}') FROM unnest(want) WITH ORDINALITY AS t (b, k) WHERE b))::int
				+ (copy <> base | (SELECT coalesce(roaring64_agg(id_of(t.k::int)), '{}') FROM unnest(copied) WITH ORDINALITY AS t (b, k) WHERE b))::int;
		END IF;
		-- so that the object has room for more edits than are looked through
		IF i % 500 = 0 THEN
			x := roaring64_add(x, ARRAY(SELECT -2 * g::bigint FROM generate_series(1, 1500) AS g));
			x := x | id_of(k); want[k] := true;
			wrong := wrong + (NOT x @> -2::bigint OR x @> -3::bigint)::int;
			x := roaring64_remove(x, ARRAY(SELECT -2 * g::bigint FROM generate_series(1, 1500) AS g));
		END IF;
	END LOOP;
	x := x | id_of(k);
	SELECT count(*) INTO in_place FROM pg_backend_memory_contexts WHERE name = 'roaring64 variable';
END $$;
SELECT wrong FROM changed('{}', 3000);
SELECT wrong, (in_place > 0) = (current_setting('server_version_num')::int >= 180000) AS as_the_server_can
FROM changed((SELECT roaring64_agg(-65537::bigint * i - 1000000) FROM generate_series(1, 2000) AS i), 3000);
DROP FUNCTION changed, id_of;

-- through an error, a subtransaction and the end of a transaction
CREATE PROCEDURE across_transactions() LANGUAGE plpgsql AS $$
DECLARE
	x roaring64 := '{1}';
BEGIN
	x := x | 2::bigint;
	COMMIT;
	x := x | 3::bigint;
	BEGIN
		x := x | 4::bigint;
		PERFORM 1 / 0;
	EXCEPTION WHEN division_by_zero THEN
		x := x | 5::bigint;
	END;
	ROLLBACK;
	x := x - 1::bigint;
	RAISE NOTICE '%', x;
END $$;
CALL across_transactions();
DROP PROCEDURE across_transactions;

-- a function that returns its variable, and one that fails with it
CREATE FUNCTION first_squares(n bigint) RETURNS roaring64
LANGUAGE plpgsql AS $$
DECLARE
	x roaring64 := '{}';
BEGIN
	FOR i IN 1..n LOOP
		x := x | (i * i);
	END LOOP;
	IF n > 100 THEN
		RAISE EXCEPTION 'too many';
	END IF;
	RETURN x;
END $$;
SELECT n, first_squares(n), roaring64_cardinality(first_squares(n) | 50)
FROM generate_series(0, 4) n;
SELECT first_squares(1000);
CREATE TEMP TABLE squares AS SELECT first_squares(7) AS s;
UPDATE squares SET s = s | first_squares(8);
SELECT s, s = '{1,4,9,16,25,36,49,64}' FROM squares;
DROP FUNCTION first_squares;

-- parameters of a prepared statement are no variables, but look like them
PREPARE add_to(roaring64, bigint) AS
	SELECT $1 | $2 AS one, ($1 | $2) - 1::bigint AS two, $1 AS zero;
EXECUTE add_to('{1,2}', 3);
SET plan_cache_mode = force_generic_plan;
EXECUTE add_to('{1,2}', 3);
CREATE TEMP TABLE added AS EXECUTE add_to('{1}', 7);
SELECT * FROM added;
-- and are not made objects, row for row
PREPARE added_to(roaring64) AS
	SELECT max(roaring64_cardinality($1 | i)), max((SELECT count(*) FROM pg_backend_memory_contexts
		WHERE name = 'roaring64 variable' AND $1 | i <> '{}')) AS objects
	FROM generate_series(1, 3::bigint) i;
SELECT roaring64_agg(i * 65537) AS many FROM generate_series(1, 5000::bigint) i \gset
EXECUTE added_to(:'many');
RESET plan_cache_mode;
DEALLOCATE add_to;
DEALLOCATE added_to;

-- nothing is left of all these variables
SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'roaring64%';
