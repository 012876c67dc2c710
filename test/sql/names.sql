--
-- The rule of names of the helpers (docs/reference/README.md), compared with the
-- catalogs: each query lists what breaks a sentence of it.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
CREATE VIEW helper AS
	SELECT p.oid::regprocedure AS function, p.proname AS name, substring(p.proname FROM '^roaring64_([a-z]+)') AS kind, p.*
	FROM pg_extension AS e
		JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
		JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	WHERE e.extname IN ('roaring64', 'roaring64_tables') AND p.proname ~ '^roaring64_'
		AND (e.extname = 'roaring64_tables' OR p.proname ~ '^roaring64_dedup_');
CREATE VIEW argument AS
	SELECT function, kind, a.n, proargnames[a.n] AS name, a.type::regtype AS type, proargmodes[a.n] IN ('o', 't') AS is_result
	FROM helper, LATERAL unnest(coalesce(proallargtypes, proargtypes::oid[])) WITH ORDINALITY AS a (type, n);

-- a procedure commits, and a function cannot
SELECT prokind, function FROM helper WHERE prokind = 'p' OR prosrc ~* '\mcommit\M' ORDER BY 2;
-- each kind can be made, dropped, and looked at
SELECT kind, suffix AS lacks
FROM (SELECT DISTINCT kind FROM helper WHERE name ~ '_create$') AS k, unnest('{create,drop,stats}'::text[]) AS suffix
WHERE NOT EXISTS (SELECT FROM helper WHERE name = format('roaring64_%s_%s', k.kind, suffix));
SELECT DISTINCT kind FROM helper WHERE name ~ '_create$' ORDER BY 1;
-- what is made has a name, and what exists is a regclass that is called by its kind
SELECT function, name, type FROM argument AS a
WHERE n = 1 AND NOT is_result IS TRUE AND name <> CASE WHEN function::text ~ '_create\(' AND type = 'text'::regtype THEN 'name'
		WHEN type = 'regclass'::regtype AND EXISTS (SELECT FROM argument AS k WHERE k.name = a.kind AND k.n = 1) AND name <> 'source'
		THEN kind ELSE name END
	OR name = kind AND type <> 'regclass'::regtype
	OR type = 'regclass'::regtype AND name <> ALL (ARRAY[kind, 'source']) AND NOT is_result IS TRUE
ORDER BY function::text;
-- an argument has a name, which is no schema's or path's
SELECT function, n, name FROM argument WHERE coalesce(name, '') IN ('', 'schema', 'path', 'search_path');
-- counts, limits and sizes
SELECT function, name, type FROM argument
WHERE type IN ('int2'::regtype, 'int4'::regtype) AND name <> 'chunk_bits'
	OR name ~ '^(n|keep|count|keys|ids|rows_.*|keys_.*|bytes|size|claims|chunks|messages)$'
		AND is_result AND type NOT IN ('int8'::regtype, 'regclass'::regtype)
ORDER BY function::text, n;
-- columns of sets
SELECT roaring64_dedup_create('name_dedup') AS dedup, roaring64_delay_create('name_delay') AS delay,
	roaring64_numbers_create('name_numbers') AS numbers, roaring64_dict_create('name_dict', 'text') AS dict;
CREATE TABLE name_source (k int NOT NULL, id int);
CALL roaring64_rollup_create('name_source', 'name_rollup', '{k}', 'id', '{"ids": true}', deletes => 'keep');
CREATE VIEW name_facets AS SELECT * FROM name_rollup;
CREATE VIEW name_advise AS SELECT * FROM name_rollup;
SELECT attrelid::regclass, attname FROM pg_attribute JOIN pg_class ON oid = attrelid
WHERE relname ~ '^name_' AND relkind = 'r' AND atttypid = 'roaring64'::regtype AND attname <> 'ids' ORDER BY 1, 2;

-- NULL where something must be given is an error: the helper, and what comes after it
CREATE FUNCTION answer(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'none';
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate;
END $$;
CREATE VIEW call AS
SELECT h.function, h.kind, c.missing, format('SELECT %I(%s)', h.name,
	(SELECT string_agg(CASE WHEN n = missing THEN format('NULL::%s', t.type) ELSE t.given END, ', ' ORDER BY n) FROM (
		SELECT n, CASE a.type WHEN 'anyelement'::regtype THEN 'bigint' WHEN 'anyarray'::regtype THEN 'bigint[]'
			WHEN 'text[]'::regtype THEN 'text' ELSE a.type::text END AS type, CASE
			WHEN n = 1 THEN quote_literal('name_' || h.kind) || '::regclass'
			WHEN a.type IN ('regclass'::regtype, 'interval'::regtype) THEN format('NULL::%s', a.type)
			WHEN a.type = 'anyelement'::regtype THEN '1::bigint'
			WHEN a.type = 'anyarray'::regtype THEN CASE h.kind WHEN 'dict' THEN $q$'{a}'::text[]$q$ ELSE $q$'{1}'::bigint[]$q$ END
			WHEN a.type = 'name'::regtype THEN $q$'ids'$q$
			WHEN a.type::text ~ 'timestamp.*\[' THEN $q$'{2026-01-01}'$q$
			WHEN a.type::text ~ 'timestamp' THEN $q$'2026-01-01'::timestamptz$q$
			WHEN a.type = 'boolean'::regtype THEN 'true'
			WHEN a.type = 'int8range'::regtype THEN $q$'[1,2)'$q$
			WHEN a.type = 'uuid[]'::regtype THEN 'ARRAY[]::uuid[]'
			WHEN a.type IN ('roaring64'::regtype, 'bigint[]'::regtype) THEN $q$'{1}'$q$
			ELSE $q$'1'$q$ END AS given
		FROM argument AS a WHERE a.function = h.function AND NOT a.is_result IS TRUE) AS t)) AS statement
FROM helper AS h, generate_series(0, h.pronargs - h.pronargdefaults) AS c (missing)
WHERE h.kind IN ('dedup', 'delay', 'numbers', 'dict', 'rollup', 'facets', 'advise') AND h.prokind = 'f' AND h.proargtypes[0] = 'regclass'::regtype
	AND NOT 'sets' = ANY (h.proargnames);
SELECT count(*) >= 65 AS calls FROM call WHERE missing > 0;
SELECT function, missing, answer(statement) FROM call WHERE missing > 0 AND answer(statement) <> '22004' ORDER BY function::text, missing;
\set VERBOSITY terse
CALL roaring64_dedup_fold(NULL);
CALL roaring64_rollup_fold(NULL);
CALL roaring64_rollup_create(NULL, 'name');
CALL roaring64_rollup_create('name_source', NULL);
SELECT roaring64_rollup_drop(NULL);
SELECT roaring64_facets('name_facets', 'ids', '{1}', NULL);
\set VERBOSITY default

-- so is a table of another kind: in one form, whichever function is given it
CREATE TABLE name_plain (k int);
CREATE FUNCTION refusal(statement text, OUT state text, OUT message text, OUT detail text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
		hint = PG_EXCEPTION_HINT;
END $$;
SELECT count(*) >= 40 AS calls, count(DISTINCT kind) AS kinds FROM call WHERE missing = 0 AND kind NOT IN ('facets', 'advise');
\x on
SELECT DISTINCT kind, r.* FROM call, refusal(replace(statement, 'name_' || kind, 'name_plain')) AS r
WHERE missing = 0 AND kind NOT IN ('facets', 'advise') ORDER BY kind, message;
\x off
\set SHOW_CONTEXT never
CALL roaring64_dedup_fold('name_plain');
CALL roaring64_rollup_fold('name_plain');
SELECT roaring64_rollup_drop('name_plain');
\set SHOW_CONTEXT errors
DROP TABLE name_plain;
DROP FUNCTION refusal;

DROP VIEW name_facets, name_advise;
SELECT roaring64_dedup_drop('name_dedup') AS dedup, roaring64_delay_drop('name_delay') AS delay,
	roaring64_numbers_drop('name_numbers') AS numbers, roaring64_dict_drop('name_dict') AS dict,
	roaring64_rollup_drop('name_rollup') AS rollup;
DROP TABLE name_source;
DROP VIEW call, argument, helper;
DROP FUNCTION answer;
