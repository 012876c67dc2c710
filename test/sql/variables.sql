--
-- Sets in variables: changed one element at a time, they share a log
-- (src/type/version.c), and every version must stay what it was.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

-- versions branch off each other
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
RESET plan_cache_mode;
DEALLOCATE add_to;

-- nothing is left of all these versions
SELECT count(*) FROM pg_backend_memory_contexts WHERE name LIKE 'roaring64%';
