# 042_shards.pl
#	  Sets that are spread over three servers give the answers of one table.
#
# A fourth server, which the clients talk to, has them as foreign partitions of
# postgres_fdw, and beside them the same rows in ordinary tables.  Each query is
# made of both.  What the three servers are asked is read in the plans, as the
# page docs/sharding.md says what is done there and what is not.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = seed();

my $front = PostgreSQL::Test::Cluster->new('front');
$front->init;
$front->append_conf('postgresql.conf', q{
enable_partitionwise_aggregate = on
enable_partitionwise_join = on
});
$front->start;
if ($front->safe_psql('postgres',
		q{SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'}) eq '0')
{
	$front->stop;
	plan skip_all => 'the server does not have postgres_fdw';
}

#
# The tables: "readers" by a hash of the user, and "reads" likewise, so that a
# user's rows are on one server; "by_shard" by a column that names the server.
#
$front->safe_psql('postgres', q{
	CREATE EXTENSION roaring64;
	CREATE EXTENSION postgres_fdw;
	CREATE SCHEMA one;
	CREATE TABLE one.readers (user_id int, day date, read roaring64, PRIMARY KEY (user_id, day));
	CREATE TABLE one.reads (user_id int, message_id bigint);
	CREATE TABLE one.by_shard (shard int, user_id int, day date, read roaring64);
	CREATE SCHEMA several;
	CREATE TABLE several.readers (LIKE one.readers) PARTITION BY HASH (user_id);
	CREATE TABLE several.reads (LIKE one.reads) PARTITION BY HASH (user_id);
	CREATE TABLE several.by_shard (LIKE one.by_shard) PARTITION BY LIST (shard);
});
my @shards;
for my $n (1 .. 3)
{
	my $shard = PostgreSQL::Test::Cluster->new("shard$n");
	my ($host, $port, $remainder) = ($shard->host, $shard->port, $n - 1);
	my $hashed = "FOR VALUES WITH (MODULUS 3, REMAINDER $remainder) SERVER shard$n";

	push @shards, $shard;
	$shard->init;
	$shard->start;
	$shard->safe_psql('postgres', q{
		CREATE EXTENSION roaring64;
		CREATE TABLE readers (user_id int, day date, read roaring64, PRIMARY KEY (user_id, day));
		CREATE TABLE reads (user_id int, message_id bigint);
		CREATE TABLE by_shard (shard int, user_id int, day date, read roaring64);
	});
	$front->safe_psql('postgres', qq{
		CREATE SERVER shard$n FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port',
			dbname 'postgres', extensions 'roaring64', async_capable 'true', use_remote_estimate 'true',
			batch_size '100');
		CREATE USER MAPPING FOR CURRENT_USER SERVER shard$n;
		SET search_path = several, public;
		CREATE FOREIGN TABLE readers_$n PARTITION OF readers $hashed
			OPTIONS (schema_name 'public', table_name 'readers');
		CREATE FOREIGN TABLE reads_$n PARTITION OF reads $hashed
			OPTIONS (schema_name 'public', table_name 'reads');
		CREATE FOREIGN TABLE by_shard_$n PARTITION OF by_shard FOR VALUES IN ($n) SERVER shard$n
			OPTIONS (schema_name 'public', table_name 'by_shard');
	});
}

# Arrays, runs and bitsets, on both sides of 0; users 1 and 2 have sets that are
# shown in hexadecimal digits.
$front->safe_psql('postgres', qq{
	SELECT setseed(0.$seed);
	INSERT INTO one.reads
	SELECT DISTINCT user_id, CASE user_id % 4
			WHEN 0 THEN (random() * 200)::bigint
			WHEN 1 THEN (random() * 40000)::bigint
			WHEN 2 THEN n / 4 * 2
			ELSE ((random() - 0.5) * 1e18)::bigint END
	FROM generate_series(1, 200) user_id, generate_series(1, 60) n;
	INSERT INTO one.reads SELECT u, n * u FROM generate_series(1, 2) u, generate_series(100000::bigint, 120000) n;
	INSERT INTO one.readers
	SELECT user_id, '2026-01-01'::date + (message_id & 7)::int, roaring64_agg(message_id) FROM one.reads GROUP BY 1, 2;
	INSERT INTO one.readers VALUES (1001, '2026-01-01', NULL), (1002, '2026-01-01', '{}');
	INSERT INTO one.by_shard SELECT user_id % 3 + 1, * FROM one.readers;
	INSERT INTO several.reads SELECT * FROM one.reads;
	INSERT INTO several.readers SELECT * FROM one.readers;
	INSERT INTO several.by_shard SELECT * FROM one.by_shard;
	ANALYZE one.reads, one.readers, one.by_shard;
});
$_->safe_psql('postgres', 'ANALYZE') for @shards;
is($front->safe_psql('postgres',
		'SELECT count(DISTINCT tableoid), min(n) > 30 FROM
		 (SELECT tableoid, count(*) OVER (PARTITION BY tableoid) AS n FROM several.readers) t'),
	'3|t', 'all three servers have rows');

# What the servers are asked in a query's plan.
sub asked
{
	my ($query, $before) = @_;
	my $plan = $front->safe_psql('postgres',
		'SET search_path = several, public; ' . ($before // '') . "; EXPLAIN (VERBOSE, COSTS OFF) $query");

	return $plan =~ /Remote SQL: (.*)/g;
}

# Two tests: a query gives the same of several servers and of one table, and
# each of so many servers is asked what matches.
sub same
{
	my ($name, $query, $servers, $pattern, $query_of_one) = @_;
	my $of_one = $front->safe_psql('postgres',
		'SET search_path = one, public; ' . ($query_of_one // $query));
	my @asked = asked($query);
	my $matching = grep { /$pattern/ } @asked;

	isnt($of_one, '', "$name: there is something to compare");
	is($front->safe_psql('postgres', "SET search_path = several, public; $query"), $of_one, "$name: the answer");
	ok($matching == $servers && @asked == $servers, "$name: what $servers servers are asked")
	  or diag(join "\n", @asked);
	return;
}

#
# Conditions.
#
same('element', 'SELECT user_id, day FROM readers WHERE read @> 12 ORDER BY 1, 2',
	3, qr/WHERE \(\(read OPERATOR\(public\.@>\) 12::bigint\)\)/);
same('overlap', q{SELECT user_id, day FROM readers WHERE read && '{12,100004}' ORDER BY 1, 2},
	3, qr/WHERE \(\(read OPERATOR\(public\.&&\) '\{12,100004\}'(?:::public\.roaring64)?\)\)/);
same('range', q{SELECT user_id, day FROM readers WHERE read && '(,0)'::int8range ORDER BY 1, 2},
	3, qr/WHERE \(\(read OPERATOR\(public\.&&\) '\(,0\)'::int8range\)\)/);
same('count',
	'SELECT user_id, day FROM readers WHERE roaring64_cardinality(read & int8range(0, 100)) > 5 ORDER BY 1, 2',
	3, qr/WHERE \(\(public\.roaring64_cardinality\(/);
same('ids in a set', q{SELECT * FROM reads WHERE message_id <@ '{4,6,100004}'::roaring64 ORDER BY 1, 2},
	3, qr/WHERE \(\(message_id = ANY \('\{4,6,100004\}'::bigint\[\]\)\)\)/);
same('a large set', q{
	SELECT user_id, day FROM readers
	WHERE read && (SELECT roaring64_agg(n * 2) FROM generate_series(100000::bigint, 104000) n) ORDER BY 1, 2},
	3, qr/WHERE \(\(read OPERATOR\(public\.&&\) \$1::public\.roaring64\)\)/);
same('one user', 'SELECT read, roaring64_last(read, 3) FROM readers WHERE user_id = 7 ORDER BY day',
	1, qr/WHERE \(\(user_id = 7\)\)/);

#
# Groups by the key that the partitions are made by: all aggregates.
#
same("roaring64_$_(element) by key", "SELECT user_id, roaring64_$_(message_id) FROM reads GROUP BY 1 ORDER BY 1",
	3, qr/^SELECT user_id, public\.roaring64_$_\(message_id\) FROM public\.reads GROUP BY 1/)
  for qw(agg count_distinct);
same("roaring64_$_(set) by key", "SELECT user_id, roaring64_$_(read) FROM readers GROUP BY 1 ORDER BY 1",
	3, qr/^SELECT user_id, public\.roaring64_$_\(read\) FROM public\.readers GROUP BY 1/)
  for qw(or_agg and_agg xor_agg or_cardinality_agg and_cardinality_agg xor_cardinality_agg);
same('roaring64_agg(array) by key',
	'SELECT user_id, roaring64_agg(ARRAY[message_id, 5]) FROM reads GROUP BY 1 ORDER BY 1',
	3, qr/^SELECT user_id, public\.roaring64_agg\(ARRAY\[/);
same('roaring64_agg(range) by key', q{
	SELECT user_id, roaring64_agg('[3,7)'::int8range) FROM reads GROUP BY 1 ORDER BY 1},
	3, qr/^SELECT user_id, public\.roaring64_agg\('\[3,7\)'::int8range\)/);
same('having', q{
	SELECT user_id, roaring64_agg(message_id) FROM reads GROUP BY 1
	HAVING roaring64_agg(message_id) && '{4,100004}' ORDER BY 1},
	3, qr/HAVING \(\(public\.roaring64_agg\(message_id\) OPERATOR\(public\.&&\)/);
same('join by key', q{
	SELECT user_id FROM readers a JOIN readers b USING (user_id)
	WHERE a.day = '2026-01-01' AND b.day = '2026-01-03' AND roaring64_jaccard(a.read, b.read) < 1 ORDER BY 1},
	3, qr/ INNER JOIN .*public\.roaring64_jaccard\(/);

#
# Of all users: a part on each server, put together here.
#
sub on_each_server
{
	my ($query) = @_;

	return '(' . join(' UNION ALL ', map { $query =~ s/\breaders\b/readers_$_/r } 1 .. 3) . ') parts';
}

for my $kind (qw(or and xor))
{
	my $aggregate = "roaring64_${kind}_agg";

	same("$aggregate of all",
		"SELECT $aggregate(part) FROM "
		  . on_each_server("SELECT $aggregate(read) AS part FROM readers WHERE user_id % 4 = 2"),
		3, qr/^SELECT public\.$aggregate\(read\) FROM public\.readers WHERE/,
		"SELECT $aggregate(read) FROM readers WHERE user_id % 4 = 2");
	same("$aggregate of all, by shard",
		"SELECT $aggregate(part) FROM
			(SELECT $aggregate(read) AS part FROM by_shard GROUP BY shard) parts",
		3, qr/^SELECT (?:shard, )?public\.$aggregate\(read\)(?:, shard)? FROM public\.by_shard GROUP BY \d/,
		"SELECT $aggregate(read) FROM by_shard");
}
my $by_day = on_each_server('SELECT day, roaring64_or_agg(read) AS part FROM readers GROUP BY day');
same('union by day', "SELECT day, roaring64_or_agg(part) FROM $by_day GROUP BY day ORDER BY day",
	3, qr/^SELECT day, public\.roaring64_or_agg\(read\) FROM public\.readers GROUP BY 1/,
	'SELECT day, roaring64_or_agg(read) FROM readers GROUP BY day ORDER BY day');
same('distinct ids by day', 'SELECT day, roaring64_or_cardinality_agg(part) FROM
	(SELECT day, roaring64_or_agg(read) AS part FROM by_shard GROUP BY shard, day) parts GROUP BY day ORDER BY day',
	3, qr/public\.roaring64_or_agg\(read\).* FROM public\.by_shard GROUP BY \d, \d/,
	'SELECT day, roaring64_or_cardinality_agg(read) FROM by_shard GROUP BY day ORDER BY day');
# without the pattern the sets come here
same('all, written plainly', 'SELECT roaring64_or_agg(read) FROM readers', 3, qr/^SELECT read FROM public\.readers$/);

my $plan = $front->safe_psql('postgres', qq{
	SET search_path = several, public;
	EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	SELECT roaring64_or_agg(part) FROM @{[ on_each_server('SELECT roaring64_or_agg(read) AS part FROM readers') ]}});
is(scalar(() = $plan =~ /Async Foreign Scan \(actual rows=1(?:\.00)? loops=1\)/g),
	3, 'each server makes its part at the same time and sends one row')
  or diag($plan);

#
# Changes.
#
is(scalar(grep { /^UPDATE public\.readers SET read = \(read OPERATOR\(public\.\|\) 77::bigint\)/ }
		  asked('UPDATE readers SET read = read | 77 WHERE user_id % 5 = 0')),
	3, 'sets are changed where they are');
$front->safe_psql('postgres', qq{
	SET search_path = $_, public;
	UPDATE readers SET read = read | 77 WHERE user_id % 5 = 0;
	UPDATE readers SET read = read - '{2,4}' WHERE read @> 4;
	DELETE FROM readers WHERE roaring64_is_empty(read);
	INSERT INTO readers VALUES (2001, '2026-01-01', '{9223372036854775807}'),
		(2002, '2026-01-01', '[5,100000]'::int8range::roaring64);
}) for qw(one several);
same('after changes', 'SELECT * FROM readers ORDER BY 1, 2', 3, qr/^SELECT user_id, day, read FROM public\.readers/);

#
# All operators, and all functions on sets, integers, arrays and ranges, may be
# evaluated there.  Those there are come from the catalogs, as expressions.
#
$front->safe_psql('postgres', q{
	CREATE FUNCTION operand(type oid) RETURNS text LANGUAGE sql AS $$
	SELECT CASE type WHEN 'roaring64'::regtype THEN 'read' WHEN 'bigint'::regtype THEN 'user_id::bigint'
		WHEN 'integer'::regtype THEN 'user_id' WHEN 'bigint[]'::regtype THEN 'ARRAY[user_id::bigint]'
		WHEN 'anyrange'::regtype THEN $q$'[1,5)'::int8range$q$ END $$;
	CREATE VIEW expressions AS
	SELECT format('(%s %s %s)', operand(oprleft), oprname, operand(oprright)) AS expression
	FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid
		JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE d.deptype = 'e' AND e.extname = 'roaring64'
	UNION ALL
	SELECT proname || '(' || (SELECT string_agg(operand(t), ', ' ORDER BY i)
		FROM unnest(proargtypes::oid[]) WITH ORDINALITY u(t, i)) || ')'
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
		JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE d.deptype = 'e' AND e.extname = 'roaring64' AND prokind = 'f' AND provolatile = 'i'
		AND NOT proretset AND prorettype <> 'record'::regtype
		AND 'roaring64'::regtype = ANY (proargtypes::oid[])
		AND NOT EXISTS (SELECT FROM unnest(proargtypes::oid[]) t WHERE operand(t) IS NULL)
		-- base64 is made here, of the bytes that come: the server inlines the function,
		-- and postgres_fdw sends no function of text with a collation
		AND prolang <> (SELECT oid FROM pg_language WHERE lanname = 'sql')
		-- these stay within aggregates
		AND p.oid NOT IN (SELECT unnest(ARRAY[aggtransfn, aggcombinefn, aggfinalfn]) FROM pg_aggregate);
});
my @expressions = split /\n/, $front->safe_psql('postgres', 'SELECT expression FROM expressions');
cmp_ok(scalar @expressions, '>', 70, 'there are ' . @expressions . ' operators and functions');
is(join(' ', grep {
		3 != grep { /WHERE .*public\.(?:roaring64_|[^a-z ]+\))/ }
		  asked("SELECT user_id FROM readers WHERE $_ IS NOT NULL")
	} @expressions),
	'', 'all of them are evaluated on the servers');

# Without the option "extensions" none is, and the answers stay.
$front->safe_psql('postgres', join '; ', map { "ALTER SERVER shard$_ OPTIONS (DROP extensions)" } 1 .. 3);
same('nothing is shipped', 'SELECT user_id, day FROM readers WHERE read @> 12 ORDER BY 1, 2',
	3, qr/^SELECT user_id, day, read FROM public\.readers(?: ORDER BY .*)?$/);

#
# The page's example, of two servers, but for where they are: what to do on each of
# them, what to do on the front, and a query, whose first step each server runs.
#
my ($section) = slurp_file('docs/sharding.md') =~ /^## Sets on several servers\n(.*)/ms;
my ($on_shards, $on_front, $query, @more) = $section =~ /^```text\n(.*?)^```/msg;
ok(defined $query && !@more, 'the example is found');

for my $n (1 .. 2)
{
	my $shard = $shards[ $n - 1 ];

	$shard->safe_psql('postgres', 'CREATE DATABASE app');
	$shard->safe_psql('app', $on_shards);
	$on_front =~ s/host 'shard$n'/"host '" . $shard->host . "', port '" . $shard->port . "'"/e;
}
$front->safe_psql('postgres', 'CREATE DATABASE app');
$front->safe_psql('app', $on_front);
$front->safe_psql('app', q{
	INSERT INTO readers SELECT user_id, '2026-01-01'::date + day, roaring64_agg(user_id * day + message)
	FROM generate_series(1, 50) user_id, generate_series(0, 9) day, generate_series(1, 20) message GROUP BY 1, 2});
$_->safe_psql('app', 'ANALYZE readers') for @shards[0, 1];

# on 2026-01-05, user_id * 4 + message: 5 to 220
is($front->safe_psql('app', $query), '216', 'the example gives the number of different ids');
is($front->safe_psql('app', "EXPLAIN (VERBOSE, COSTS OFF) $query"), <<'PLAN' =~ s/\n\z//r, 'each server aggregates');
Aggregate
  Output: roaring64_or_cardinality_agg((roaring64_or_agg(readers_1.read)))
  ->  Append
        ->  Async Foreign Scan
              Output: (roaring64_or_agg(readers_1.read))
              Relations: Aggregate on (public.readers_1)
              Remote SQL: SELECT public.roaring64_or_agg(read) FROM public.readers WHERE ((day = '2026-01-05'))
        ->  Async Foreign Scan
              Output: (roaring64_or_agg(readers_2.read))
              Relations: Aggregate on (public.readers_2)
              Remote SQL: SELECT public.roaring64_or_agg(read) FROM public.readers WHERE ((day = '2026-01-05'))
PLAN

done_testing();
