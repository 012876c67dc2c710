# 063_other_queries.pl
#	  CREATE EXTENSION changes no expression that has none of its types: each name of
#	  an operator is tried with each pair of types, and with a literal or a parameter
#	  without a type on either side, first without extensions and then with one after
#	  the other.  An expression that was valid has to choose the same operator.  One
#	  that was not may become valid only where something without a type is then taken
#	  for a set.
#
#	  Only expressions for which some operator accepts both types are handed to the
#	  parser: others are not valid.
#
#	  What an expression chooses is read from a view that holds it.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('other_queries');

value(q{
	CREATE SCHEMA test;
	CREATE DOMAIN test.seats AS int8range;
	CREATE DOMAIN test.id AS bigint;
	CREATE TYPE test.mood AS ENUM ('glad', 'sad');
	CREATE TYPE test.pair AS (a bigint, b int8range);
	CREATE TYPE test.span AS RANGE (subtype = bigint);

	-- the server's types, its arrays as far as sets are cast to or from such, and
	-- these
	CREATE TABLE test.operand AS
		SELECT oid AS type, coalesce(nullif(typbasetype, 0), oid) AS base, typtype AS kind,
			typcategory AS category, 'NULL::' || format_type(oid, NULL) AS word
		FROM pg_type
		WHERE typtype IN ('b', 'r', 'm') AND typnamespace = 'pg_catalog'::regnamespace
			AND (typcategory <> 'A' OR oid IN ('bigint[]'::regtype, 'int[]'::regtype,
				'smallint[]'::regtype, 'text[]'::regtype, 'int8range[]'::regtype))
			OR typnamespace = 'test'::regnamespace AND typcategory <> 'A'
		UNION ALL VALUES (NULL::oid, NULL::oid, NULL::"char", NULL::"char", 'NULL');

	-- Which of them an operator's argument accepts, or more.
	CREATE VIEW test.accepted AS
		SELECT word, argument
		FROM test.operand,
			(SELECT oprleft AS argument FROM pg_operator UNION SELECT oprright FROM pg_operator) AS arguments
			JOIN pg_type ON oid = argument
		WHERE type IS NULL OR base = argument OR typcategory = 'P' AND typname !~ '(array|range|enum|record)$'
			OR (category = 'A' OR base IN ('oidvector'::regtype, 'int2vector'::regtype)) AND typname ~ 'array$'
			OR category = 'A' AND typcategory = 'A' OR category = 'R' AND typname ~ 'range$'
			OR category = 'E' AND typname = 'anyenum' OR kind = 'c' AND typname = 'record'
			OR EXISTS (SELECT FROM pg_cast WHERE castsource = base AND casttarget = argument AND castcontext = 'i');
	CREATE VIEW test.possible AS
		SELECT DISTINCT oprname AS operator, concat_ws(' ', a.word, oprname, b.word) AS expression
		FROM pg_operator JOIN test.accepted AS a ON a.argument = oprleft
			JOIN test.accepted AS b ON b.argument = oprright;

	CREATE TABLE test.tried (operator name, expression text, valid boolean, chosen oid, given text);

	CREATE FUNCTION test.is_valid(expression text) RETURNS boolean LANGUAGE plpgsql AS $$
		BEGIN
			EXECUTE 'SELECT ' || expression;
			RETURN true;
		EXCEPTION WHEN OTHERS THEN
			RETURN SQLSTATE NOT LIKE '42%';		-- such as not existing, or not unique
		END $$;

	-- The operators that expressions choose; NULL for one that is not valid.
	CREATE FUNCTION test.chosen(expressions text[]) RETURNS oid[] LANGUAGE plpgsql AS $$
		DECLARE
			n int := cardinality(expressions);
			found oid[];
		BEGIN
			EXECUTE 'CREATE VIEW test.holder AS SELECT ARRAY[(' ||
				array_to_string(expressions, ') IS NULL, (') || ') IS NULL]';
			SELECT array_agg(match[1]::oid) INTO found
			FROM pg_rewrite, regexp_matches(ev_action::text, '\x7bOPEXPR :opno (\d+) ', 'g') AS match
			WHERE ev_class = 'test.holder'::regclass;
			DROP VIEW test.holder;
			ASSERT cardinality(found) = n;
			RETURN found;
		EXCEPTION WHEN OTHERS THEN
			RETURN CASE n WHEN 1 THEN '{NULL}' ELSE
				test.chosen(expressions[:n / 2]) || test.chosen(expressions[n / 2 + 1:]) END;
		END $$;

	-- The types that parameters get where the expression has no type.
	CREATE FUNCTION test.given(expression text) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE
			types text;
		BEGIN
			EXECUTE format('PREPARE test AS SELECT (%s)', expression);
			SELECT parameter_types INTO types FROM pg_prepared_statements WHERE name = 'test';
			DEALLOCATE test;
			RETURN types;
		EXCEPTION WHEN OTHERS THEN
			RETURN SQLSTATE;
		END $$;
	CREATE FUNCTION test.with_parameters(expression text) RETURNS text LANGUAGE sql AS $$
		SELECT regexp_replace(regexp_replace(expression, '^NULL ', '$1 '), ' NULL$',
			CASE WHEN expression ~ '^NULL ' THEN ' $2' ELSE ' $1' END)
	$$;

	CREATE VIEW test.now AS
		SELECT u.expression, u.chosen
		FROM (SELECT array_agg(expression) AS part
			FROM (SELECT expression, row_number() OVER () / 500 AS part FROM test.tried WHERE valid) AS t
			GROUP BY t.part) AS parts,
			unnest(part, test.chosen(part)) AS u (expression, chosen);

	INSERT INTO test.tried SELECT operator, expression, test.is_valid(expression) FROM test.possible;
	UPDATE test.tried SET chosen = n.chosen FROM test.now AS n WHERE n.expression = tried.expression;
	UPDATE test.tried SET given = test.given(test.with_parameters(expression))
	WHERE valid AND expression ~ '^NULL | NULL$';
});

# What has changed, as lines.
sub changed
{
	return value(q{
		SELECT format('%s: %s, not %s', t.expression, n.chosen::regoperator, t.chosen::regoperator)
		FROM test.tried AS t JOIN test.now AS n USING (expression)
		WHERE n.chosen IS DISTINCT FROM t.chosen
		UNION ALL
		SELECT format('%s: $1 is %s, not %s', expression, now, given)
		FROM test.tried, test.given(test.with_parameters(expression)) AS now
		WHERE given <> now
		UNION ALL
		SELECT format('%s: valid', expression)
		FROM test.possible AS p
		WHERE expression !~ '^NULL | NULL$' AND test.is_valid(expression)
			AND NOT EXISTS (SELECT FROM test.tried AS t WHERE t.expression = p.expression AND valid)
			AND EXISTS (SELECT FROM pg_operator WHERE oid >= 16384 AND oprname = p.operator)
		ORDER BY 1});
}

my ($tried, $possible, $valid) = split /\|/, value(q{
	SELECT (SELECT count(DISTINCT oprname) FROM pg_operator WHERE oprkind = 'b') *
		(SELECT count(*) FROM test.operand) ^ 2, count(*), count(chosen) FROM test.tried});
is(value('SELECT count(*) FROM test.tried WHERE valid AND chosen IS NULL'), 0,
	'what is valid chooses an operator');
cmp_ok($valid, '>', 2000, 'expressions are valid');
is(changed(), '', 'without extensions nothing changes');

for my $extension (qw(roaring64 roaring64_tables roaring64_compat))
{
	value("CREATE EXTENSION $extension");
	is(changed(), '', "nothing changes with $extension");
}
note("counted $tried expressions of two types, $possible of them parsed, $valid valid, with each of 3 extensions");

# The other ways to take a call that is not ours.
is(value(q{
	SELECT castsource::regtype || ' to ' || casttarget::regtype FROM pg_cast
	WHERE oid >= 16384 AND castcontext = 'i'
	UNION ALL
	SELECT p.oid::regprocedure::text FROM pg_proc AS p JOIN pg_proc AS c USING (proname)
	WHERE p.oid >= 16384 AND p.pronamespace = 'public'::regnamespace AND c.oid < 16384
	UNION ALL
	SELECT t.typname FROM pg_type AS t JOIN pg_type AS c USING (typname)
	WHERE t.typnamespace = 'public'::regnamespace AND c.typnamespace = 'pg_catalog'::regnamespace
	UNION ALL
	SELECT typname FROM pg_type WHERE oid >= 16384 AND (typispreferred OR typcategory NOT IN ('U', 'A', 'C', 'E', 'R'))
		AND typnamespace = 'public'::regnamespace}),
	'', 'no implicit cast, no preferred type, no name of the server\'s');

# An exclusion constraint's usual queries.
value(q{
	CREATE TABLE booking (id int PRIMARY KEY, seats int8range NOT NULL, EXCLUDE USING gist (seats WITH &&));
	INSERT INTO booking VALUES (1, '[1,10)'), (2, '[10,20)');
	CREATE FUNCTION overlapping(word text) RETURNS bigint LANGUAGE plpgsql AS $$
		BEGIN RETURN (SELECT count(*) FROM booking WHERE seats && '[5,12)'); END $$;
});
my %answers = (
	q{seats && '[5,12)'} => '1 2', q{'[5,12)' && seats} => '1 2', q{seats @> '[5,6)'} => '1',
	q{'[0,12)' @> seats} => '1', q{seats <@ '[0,12)'} => '1', q{'[5,6)' <@ seats} => '1',
	q{'[5,12)' - seats = '[10,12)'} => '1');
for my $condition (sort keys %answers)
{
	my $query = "SELECT string_agg(id::text, ' ' ORDER BY id) FROM booking WHERE";

	is(value("$query $condition"), $answers{$condition}, $condition);
	my ($literal) = $condition =~ /('[^']*')/;
	is(value('PREPARE q AS ' . "$query $condition" =~ s/\Q$literal/\$1/r . "; EXECUTE q($literal)"),
		$answers{$condition}, "$condition with a parameter");
}
is(value(q{SELECT overlapping('[5,12)')}), 2, 'in a function');

# An operator that would take others' expressions is found.
value(q{
	CREATE FUNCTION planted(int8range, roaring64) RETURNS boolean LANGUAGE sql RETURN $2 && $1;
	CREATE OPERATOR && (LEFTARG = int8range, RIGHTARG = roaring64, FUNCTION = planted);
} =~ s/RETURN \$2 && \$1/AS 'SELECT \$2 && \$1'/r);
like(changed(), qr/^NULL::int8range && NULL: &&\(int8range,roaring64\), not &&\(anyrange,anyrange\)$/m,
	'a planted operator is found');
like(changed(), qr/^NULL::int8range && NULL: \$1 is \{roaring64\}, not \{int8range\}$/m,
	'and what it makes of a parameter');

done_testing();
