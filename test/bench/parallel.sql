/*
 * parallel.sql
 *	  Aggregation by one process and with two workers.
 *
 * roaring64 must use the workers and give the same bytes as without.
 */
CREATE TABLE parallel_workloads (
	workload text, system text, input text, result text, size text);
INSERT INTO parallel_workloads VALUES
	('build a set of snowflake ids', 'roaring64', 'flakes',
		'roaring64_agg(id)', 'roaring64_cardinality'),
	('build a set of snowflake ids', 'peer', 'flakes',
		'rb64_build_agg(id)', 'rb64_cardinality'),
	('build a set of packed snowflake ids', 'roaring64', 'packed_flakes',
		'roaring64_agg(id)', 'roaring64_cardinality'),
	('build a set of packed snowflake ids', 'peer', 'packed_flakes',
		'rb64_build_agg(id)', 'rb64_cardinality'),
	('union of all users'' sets', 'roaring64', 'users_roaring64',
		'roaring64_or_agg(s)', 'roaring64_cardinality'),
	('union of all users'' sets', 'peer', 'users_peer',
		'rb64_or_agg(s)', 'rb64_cardinality'),
	('union of sets of one snowflake id', 'roaring64', 'single_roaring64',
		'roaring64_or_agg(s)', 'roaring64_cardinality'),
	('union of sets of one packed snowflake id', 'roaring64', 'single_packed',
		'roaring64_or_agg(s)', 'roaring64_cardinality');

CREATE TABLE packed_flakes AS SELECT roaring64_snowflake_pack(id) AS id FROM flakes;
-- The peer takes longer than the statement timeout for ten million of these.
CREATE TABLE single_roaring64 AS SELECT '{}'::roaring64 | id AS s FROM flakes;
CREATE TABLE single_packed AS SELECT '{}'::roaring64 | id AS s FROM packed_flakes;
VACUUM ANALYZE flakes, packed_flakes, single_roaring64, single_packed;
SELECT format('ALTER TABLE %I SET (parallel_workers = 2)', relname)
FROM pg_class
WHERE relname IN ('flakes', 'packed_flakes', 'users_roaring64', 'users_peer',
	'single_roaring64', 'single_packed') \gexec

-- Until the end of the transaction.
CREATE PROCEDURE set_workers(n int)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', n::text, true),
		set_config('parallel_setup_cost', '0', true),
		set_config('parallel_tuple_cost', '0', true);
END $$;

CREATE PROCEDURE check_workers(query text)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	launched int;
	alone text;
	together text;
BEGIN
	CALL set_workers(0);
	EXECUTE query INTO alone;
	CALL set_workers(2);
	EXECUTE query INTO together;
	IF alone IS DISTINCT FROM together THEN
		RAISE 'other bytes with workers: %', query;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ' || query LOOP
		launched := coalesce(substring(line FROM 'Workers Launched: (\d+)')::int, launched);
	END LOOP;
	IF launched IS DISTINCT FROM 2 THEN
		RAISE 'not run by two workers: %', query;
	END IF;
END $$;

SELECT format('CALL check_workers(%L)',
	format('SELECT md5(%s::bytea) FROM %I', result, input))
FROM parallel_workloads
WHERE system = 'roaring64' \gexec

INSERT INTO statements (workload, data, system, query, check_query, setup)
SELECT workload, data, system,
	format('SELECT octet_length(%s::bytea) FROM %I', result, input),
	format('SELECT %s(%s) FROM %I', size, result, input),
	format('CALL set_workers(%s)', workers)
FROM parallel_workloads,
	(VALUES ('one process', 0), ('two workers', 2)) processes (data, workers);
