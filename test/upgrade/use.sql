--
-- Using all of it after an upgrade, which changes it; an error is a failure
--
\set ON_ERROR_STOP 1
DO $$
DECLARE
	t text;
	base bigint := (SELECT 1000000000 + n * 1000 FROM uses);
BEGIN
	-- what was claimed before is claimed no more, folded or not
	FOREACH t IN ARRAY '{forever,days}'::text[] LOOP
		ASSERT (SELECT NOT bool_or(roaring64_dedup_claim(t, 'k' || i % 3, i)) FROM generate_series(1::bigint, 400) i), t;
		ASSERT roaring64_dedup_import(t, 'bulk', int8range(4990, 5001)::roaring64) = '{}', t;
	END LOOP;
	ASSERT (SELECT NOT bool_or(coalesce(roaring64_dedup_claim('latest', 'k' || i % 3, i), false)) FROM generate_series(1::bigint, 400) i);
	FOREACH t IN ARRAY '{forever,latest,days}'::text[] LOOP
		ASSERT roaring64_dedup_claim(t, 'k0', base), t;
		ASSERT NOT roaring64_dedup_claim(t, 'k0', base), t;
		ASSERT roaring64_dedup_claim_many(t, 'k0', ARRAY[base, base + 1]) = '{f,t}', t;
	END LOOP;
	ASSERT (SELECT NOT bool_or(roaring64_dedup_claim('uuids', 'k', md5(i::text)::uuid)) FROM generate_series(8, 2000) i);
	INSERT INTO inbox SELECT 'mail', i FROM generate_series(1, 50) i;
	ASSERT (SELECT count(*) = 50 + (SELECT n FROM uses) FROM inbox);
	INSERT INTO inbox VALUES ('mail', base);

	-- messages
	ASSERT (SELECT count(*) = 10 FROM roaring64_delay_take('later', 'infinity', 10));
	ASSERT roaring64_delay_add('later', 9, base, to_timestamp(5000));

	-- rollups
	UPDATE finished_sets SET "all" = "all" | base WHERE who = 1;
	INSERT INTO followed VALUES (1, base, true);
	UPDATE followed SET done = NOT done WHERE id < 100;
	ASSERT (SELECT count(*) = 0 FROM roaring64_rollup_verify('followed_sets'));

	-- by the names of pg_roaringbitmap
	UPDATE audience SET members = rb64_fill(members, base, base + 5), small = rb_add(small, 9) WHERE id < 4;
	ASSERT (SELECT bool_and(rb64_range_cardinality(members, base, base + 5) = 5) FROM audience WHERE id < 4);

	-- sets and their indexes
	UPDATE sets SET s = s | base WHERE k IN (3, 12, 45, 70);
	INSERT INTO by_hash VALUES (ARRAY[base]::roaring64);
	SET LOCAL enable_seqscan = off;
	ASSERT (SELECT array_agg(k ORDER BY k) = '{3,12,45,70}' FROM sets WHERE s && ARRAY[base]::roaring64);
	BEGIN
		INSERT INTO sets VALUES (0, '{}');
		RAISE 'a duplicate was accepted';
	EXCEPTION WHEN unique_violation THEN
		NULL;
	END;
	UPDATE uses SET n = uses.n + 1;
END $$;
CALL roaring64_dedup_fold('forever');
CALL roaring64_dedup_fold('days');
