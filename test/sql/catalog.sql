--
-- What holds for everything the extensions have in the catalogs, in the manner
-- of the server's own opr_sanity.  Every query gives the offenders: none.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
RESET client_min_messages;

CREATE TEMP VIEW members AS
	SELECT classid::regclass AS class, objid
	FROM pg_depend
	WHERE deptype = 'e' AND refclassid = 'pg_extension'::regclass
		AND refobjid IN (SELECT oid FROM pg_extension WHERE extname IN ('roaring64', 'roaring64_tables'));
CREATE TEMP VIEW functions AS
	SELECT p.*, '{regclass,regclass[]}'::regtype[]::oid[] && array_append(coalesce(proallargtypes, proargtypes::oid[]), prorettype)
			OR prorettype = 'trigger'::regtype
			OR proname ~ '^_?roaring64_rollup_(functions|attach|drop)$' AS on_tables
	FROM pg_proc AS p JOIN members ON class = 'pg_proc'::regclass AND objid = p.oid;
CREATE TEMP VIEW operators AS
	SELECT o.* FROM pg_operator AS o JOIN members ON class = 'pg_operator'::regclass AND objid = o.oid;

-- there is something to look at
SELECT count(*) > 50 AS functions, (SELECT count(*) > 20 FROM operators) AS operators
FROM functions;

-- no description
SELECT pg_describe_object(class, objid, 0)
FROM members
WHERE obj_description(objid, class::text) IS NULL
	AND class IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass,
				  'pg_cast'::regclass, 'pg_opclass'::regclass)
	AND NOT (class = 'pg_type'::regclass AND objid = 'roaring64[]'::regtype);
-- not safe in parallel plans, unless it writes (volatile, unsafe), or reads a
-- table that may be a temporary one (stable, restricted)
SELECT oid::regprocedure FROM functions
WHERE proparallel <> CASE WHEN provolatile = 'v' THEN 'u' WHEN on_tables THEN 'r' ELSE 's' END;
-- volatile, or stable without reason, as it is no helper that works on tables
SELECT oid::regprocedure FROM functions
WHERE provolatile <> 'i' AND NOT on_tables AND proname NOT IN
	('roaring64_out', '_roaring64_typanalyze', '_roaring64_contsel', '_roaring64_contjoinsel',
	 '_roaring64_can_commit', '_roaring64_dict_base_type', 'roaring64_version', '_roaring64_library',
	 '_roaring64_needs_library') AND proname !~ '^_roaring64_dedup_';
-- a name without the prefix, which is another for what users do not call
SELECT oid::regprocedure FROM functions WHERE proname !~ '^_?roaring64_';
SELECT oid::regprocedure FROM functions
WHERE proname ~ '^roaring64_' AND proname !~ '^roaring64_(in|out|recv)$'
	AND '{internal,cstring}'::regtype[]::oid[] && array_append(proargtypes::oid[], prorettype);
-- a parameter that has to be quoted
SELECT oid::regprocedure, name FROM functions, unnest(proargnames) AS name WHERE name NOT IN ('', quote_ident(name));
-- a C symbol that does not start with the function's own name
SELECT oid::regprocedure, prosrc FROM functions
WHERE prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
	AND prosrc !~ ('^' || ltrim(proname, '_') || '($|_)')
	AND proname !~ '^roaring64_(from_.*_array|dedup_.*_many)$';
-- a function that does not prepare with parameters of no known type, as most
-- drivers send them, or takes them for something else
CREATE FUNCTION pg_temp.prepares(statement text, types oid[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	same boolean;
BEGIN
	EXECUTE 'PREPARE untyped AS ' || statement;
	SELECT parameter_types::oid[] = types INTO same FROM pg_prepared_statements WHERE name = 'untyped';
	DEALLOCATE untyped;
	RETURN same;
EXCEPTION WHEN syntax_error_or_access_rule_violation THEN
	RETURN false;
END $$;
CREATE TEMP VIEW calls AS
	SELECT oid, n, CASE WHEN n > pronargs THEN array_fill(provariadic, ARRAY[n]) ELSE proargtypes[0 : n - 1]::oid[] END AS types,
		format('SELECT %I(%s %s)', proname, CASE WHEN provariadic <> 0 AND n = 1 THEN 'VARIADIC' END,
			(SELECT string_agg('$' || i, ', ') FROM generate_series(1, n) AS i)) AS call
	FROM functions, generate_series(greatest(pronargs - pronargdefaults, 1), CASE WHEN provariadic <> 0 THEN 4 ELSE pronargs END) AS n
	WHERE prokind = 'f' AND NOT on_tables
		AND NOT EXISTS (SELECT FROM pg_type WHERE typtype = 'p' AND pg_type.oid = ANY (proargtypes));
SELECT count(*) > 70 AS calls FROM calls;
SELECT oid::regprocedure, n FROM calls WHERE NOT pg_temp.prepares(call, types);
-- an operator beside a set: the other operand is one as well
SELECT oid::regoperator FROM operators, LATERAL (VALUES
		(oprleft, '$1 %s ''{1}''::roaring64'), (oprright, '''{1}''::roaring64 %s $1')) AS t (type, call)
WHERE type = 'roaring64'::regtype
	AND NOT pg_temp.prepares('SELECT ' || format(call, oprname), ARRAY[type]);
-- rows without an estimate of their own, by a support function or by ROWS
SELECT oid::regprocedure FROM functions
WHERE proretset AND (prorows <= 1 OR
	(prorows = 1000 AND prosupport = 0 AND NOT on_tables));

-- a commutator that does not point back, or compares in the wrong direction
SELECT a.oid::regoperator, b.oid::regoperator
FROM operators AS a LEFT JOIN pg_operator AS b ON b.oid = a.oprcom
WHERE a.oprcom <> 0
	AND (b.oid IS NULL OR b.oprcom <> a.oid
		 OR a.oprleft <> b.oprright OR a.oprright <> b.oprleft);
-- a negator that does not point back
SELECT a.oid::regoperator
FROM operators AS a LEFT JOIN pg_operator AS b ON b.oid = a.oprnegate
WHERE a.oprnegate <> 0
	AND (b.oid IS NULL OR b.oprnegate <> a.oid
		 OR a.oprleft <> b.oprleft OR a.oprright <> b.oprright);
-- a test without estimators
SELECT oid::regoperator FROM operators
WHERE oprresult = 'boolean'::regtype AND (oprrest = 0 OR oprjoin = 0);
-- one of ours with the constant estimates of the server
SELECT oid::regoperator FROM operators
WHERE oprrest = 'contsel'::regproc OR oprjoin = 'contjoinsel'::regproc;
-- an operator and its function that differ in their arguments or result
SELECT o.oid::regoperator, p.oid::regprocedure
FROM operators AS o JOIN pg_proc AS p ON p.oid = o.oprcode
WHERE p.prorettype <> o.oprresult
	OR p.pronargs <> 2
	OR p.proargtypes[0] <> o.oprleft OR p.proargtypes[1] <> o.oprright;
-- an operator class that is not valid
SELECT opcname FROM pg_opclass JOIN members ON class = 'pg_opclass'::regclass AND objid = oid
WHERE NOT amvalidate(oid);

-- an aggregate of which one server, or one process, cannot do a part for another:
-- its state has to be a value, to be sent as any other, and combined; and one of
-- which the planner would not know how large it gets.  What depends on the order
-- cannot be done in parts, and chunks of UUIDs are arrays.
SELECT aggfnoid::regprocedure
FROM functions AS p JOIN pg_aggregate ON aggfnoid = p.oid
WHERE aggtranstype <> ALL ('{roaring64,uuid[]}'::regtype[]) OR (aggcombinefn = 0 AND proname <> '_roaring64_and_or_agg')
	OR pg_get_function_arguments(nullif(aggcombinefn, 0)) <> concat_ws(', ', aggtranstype::regtype, aggtranstype::regtype)
	OR aggtransspace = 0;
-- the type that lacks what sends a value as text or bytes, or what finds the
-- server of a value: a default hash class with the hash of 64 bits
SELECT typname FROM pg_type AS t
WHERE t.oid = 'roaring64'::regtype
	AND (typinput = 0 OR typoutput = 0 OR typreceive = 0 OR typsend = 0
		 OR NOT EXISTS (
			SELECT FROM pg_opclass AS o JOIN pg_am AS am ON am.oid = opcmethod
				JOIN pg_amproc AS h ON amprocfamily = opcfamily AND amprocnum = 2
					AND amproclefttype = t.oid AND amprocrighttype = t.oid
			WHERE amname = 'hash' AND opcdefault AND opcintype = t.oid));

-- the extensions stay in their schema: bodies of functions name it
CREATE SCHEMA elsewhere;
ALTER EXTENSION roaring64 SET SCHEMA elsewhere;
ALTER EXTENSION roaring64_tables SET SCHEMA elsewhere;
DROP SCHEMA elsewhere;
-- the owner of a database, who is no superuser, may create them
CREATE ROLE regress_roaring64_owner;
CREATE DATABASE regress_roaring64 OWNER regress_roaring64_owner;
\set database :DBNAME
\c regress_roaring64
SET SESSION AUTHORIZATION regress_roaring64_owner;
SET client_min_messages = warning;
CREATE EXTENSION roaring64_tables CASCADE;
SELECT extname, extowner::regrole, extrelocatable FROM pg_extension WHERE extname ~ '^roaring64' ORDER BY extname;
\c :database
DROP DATABASE regress_roaring64;
DROP ROLE regress_roaring64_owner;
