-- NULL as an argument of a function that is not strict, after any number of others that
-- are given: an answer or an error, but none of the server's internal ones.
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
CREATE EXTENSION IF NOT EXISTS roaring64_tables;
CREATE TEMP TABLE given_table (id bigint);
-- what the first arguments are, by type
CREATE FUNCTION pg_temp.given(type regtype) RETURNS text LANGUAGE sql AS $$
	SELECT format('%L::%s', CASE type
		WHEN 'regclass'::regtype THEN 'given_table'
		WHEN 'bigint'::regtype THEN '1' WHEN 'integer'::regtype THEN '1' WHEN 'numeric'::regtype THEN '1'
		WHEN 'double precision'::regtype THEN '1'
		WHEN 'boolean'::regtype THEN 'true'
		WHEN 'roaring64'::regtype THEN '{1,2}' WHEN 'int8range'::regtype THEN '[1,2]'
		WHEN 'json'::regtype THEN '{}' WHEN 'jsonb'::regtype THEN '{}'
		WHEN 'bytea'::regtype THEN '\x00' WHEN 'interval'::regtype THEN '1 day'
		WHEN 'timestamptz'::regtype THEN '2026-01-01' WHEN 'uuid'::regtype THEN '00000000-0000-0000-0000-000000000001'
		ELSE CASE WHEN typelem <> 0 AND typlen = -1 THEN '{}' ELSE 'x' END END, type)
	FROM pg_type WHERE oid = type $$;
CREATE TEMP TABLE calls AS
	SELECT p.oid::regprocedure AS function, k AS given,
		format('SELECT count(*) FROM %s(%s) AS t', p.oid::regproc, (
			SELECT string_agg(CASE WHEN i <= k THEN pg_temp.given(type) ELSE 'NULL::' || type::text END, ', ' ORDER BY i)
			FROM unnest(p.proargtypes) WITH ORDINALITY AS a (oid, i),
				-- of any type: bigint
				LATERAL (SELECT CASE a.oid::regtype WHEN 'anyelement'::regtype THEN 'bigint' WHEN 'anyarray'::regtype THEN 'bigint[]'
							WHEN 'anynonarray'::regtype THEN 'bigint' WHEN '"any"'::regtype THEN 'bigint' ELSE a.oid::regtype END AS type) AS t)) AS call
	FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.deptype = 'e' AND d.classid = 'pg_proc'::regclass
		JOIN pg_extension AS e ON e.oid = d.refobjid, generate_series(0, p.pronargs - 1) AS k
	WHERE e.extname ~ '^roaring64' AND p.prokind = 'f' AND NOT p.proisstrict AND p.prorettype <> 'trigger'::regtype
		AND NOT 'internal'::regtype = ANY (p.proargtypes::regtype[]);
CREATE FUNCTION pg_temp.outcome(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ignored text;
BEGIN
	EXECUTE call INTO ignored;
	RAISE SQLSTATE 'R6400';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE SQLSTATE WHEN 'R6400' THEN 'answered' ELSE SQLSTATE END;
END
$$;
SET client_min_messages = error;
SELECT count(*) > 200 AS enough, count(DISTINCT function) > 60 AS functions FROM calls;
SELECT function, given, outcome FROM calls, pg_temp.outcome(call) AS outcome WHERE outcome ~ '^XX' OR outcome = '42601' AND function::text !~ '^_' ORDER BY 1, 2;
