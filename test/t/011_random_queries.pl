# 011_random_queries.pl
#	  Random queries with "id <@ set" give the same with and without indexes.
#
# test/random_queries.sql makes tables with indexes of many shapes, and scripts
# with queries, 2000 by default (test/perl/Effort.pm).
#
# $ROARING64_TEST_PLANT=rows puts a fault in, which the test is to find: no lookup finds
# some of the rows.  With "recheck" the module has the fault of intersect in
# test/run-plants, which not every 2000 queries meet.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $queries = effort(2000);
my $seed = seed();
my $plant = $ENV{ROARING64_TEST_PLANT} // '';

my $node = start_server('queries', conf => q{
autovacuum = off
fsync = off
max_worker_processes = 16
max_parallel_workers = 16
});
value('CREATE EXTENSION roaring64');
value(slurp_file("$FindBin::RealBin/../random_queries.sql"));
if ($plant eq 'rows')
{
	# indexes without these rows, of which the catalog says that they have all
	value(q{
		DO $$
		DECLARE
			one record;
		BEGIN
			FOR one IN
				SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
				FROM pg_index JOIN pg_class c ON c.oid = indexrelid
				WHERE relnamespace = 'random_queries'::regnamespace AND relkind = 'i' AND indpred IS NULL
					AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree') AND NOT relispartition
					AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = indrelid AND attname = 'u')
			LOOP
				EXECUTE 'DROP INDEX ' || one.name;
				EXECUTE one.definition || ' WHERE u % 100 <> 7';
				UPDATE pg_index SET indpred = NULL WHERE indexrelid = one.name::regclass;
			END LOOP;
		END $$});
}

my %plans;
my ($executed, $differing) = (0, 0);

# One query of a script, by the parts that it has printed.
sub compare
{
	my ($query, $plan, $found, $expected) = @_;
	my $is_ordered = $query =~ /^ordered/;
	my @found = split /^/, $found;
	my @expected = split /^/, $expected;

	unless ($is_ordered)
	{
		@found = sort @found;
		@expected = sort @expected;
	}
	$executed++;
	for my $kind ('Roaring64 Lookup', 'ANY', 'Index Scan', 'Index Only Scan', 'Bitmap Index Scan',
		'Merge Join', 'Merge Append', 'Unique', 'WindowAgg', 'Limit', 'Memoize',
		'Left Join', 'Right Join', 'Full Join', 'Semi Join', 'Anti Join', 'Gather')
	{
		$plans{$kind}++ if index($plan, $kind) >= 0;
	}
	$plans{negated}++ if $plan =~ /Index Cond: \(*NOT/;
	$plans{both}++ if $plan =~ /Index Cond: .* AND \(NOT/;
	# of the bitmap scan below a lookup only the bitmap, or all
	$plans{intersection}++ if $plan =~ /Bitmap Heap Scan.*never executed\)\n(?:(?!.*->  ).*\n)*.*->  Bitmap.*\(actual/;
	$plans{'lookup, then bitmap'}++
		if $plan =~ /^( *)(?:->  )?Custom Scan.*\n(?:\1  .*\n)*?\1 +->  Bitmap Heap Scan.*\(actual/m;
	$plans{outer}++ if $plan =~ /Left Join.*Lookup/s;
	$plans{cursor}++ if $plan =~ /Lookup/ && $found =~ /^= \d/m;
	$plans{workers}++ if $plan =~ /Workers Launched: [1-9]/;
	$plans{'lookups in workers'}++ if $plan =~ /Workers Launched: [1-9].*Lookup/s;
	return if "@found" eq "@expected";
	$differing++;
	diag(map { substr($_, 0, 2000) } "$query\n", $plan, "found\n", @found[0 .. ($#found < 20 ? $#found : 20)],
		"expected\n", @expected[0 .. ($#expected < 20 ? $#expected : 20)]) if $differing <= 5 && $plant eq '';
}

for (my $done = 0; $done < $queries; $done += 1000)
{
	my $n = $queries - $done < 1000 ? $queries - $done : 1000;
	my $script = value('SELECT * FROM random_queries.random_script(' . ($seed + $done) . ", $n)");
	my ($status, $stdout, $stderr) = $node->psql('postgres', $script, on_error_stop => 0);
	my @parts = split /^== (query|plan|found|expected|end)\b ?/m, $stdout;
	my %part;

	like($stdout, qr/^== end$/m, 'the queries were executed') or BAIL_OUT($stderr);
	shift @parts;
	while (my ($name, $text) = splice(@parts, 0, 2))
	{
		if ($name eq 'query' || $name eq 'end')
		{
			compare(@part{qw(query plan found expected)}) if %part;
			%part = ();
		}
		$part{$name} = $text // '';
	}
}
note("$executed queries: ", join ', ', map { "$_ $plans{$_}" } sort keys %plans);
is($executed, $queries, 'so many queries have a result');
if ($plant eq '')
{
	is($differing, 0, "$executed queries give the same with and without indexes");
}
else
{
	cmp_ok($differing, '>', 0, "the fault \"$plant\" is found");
}

# that they try what they are to try
for my $kind ('Roaring64 Lookup', 'ANY', 'Index Scan', 'Index Only Scan', 'Bitmap Index Scan',
	'Merge Join', 'Merge Append', 'Unique', 'WindowAgg', 'Limit', 'Memoize',
	'Left Join', 'Right Join', 'Full Join', 'Semi Join', 'Anti Join',
	'cursor', 'negated', 'both', 'outer', 'lookup, then bitmap', 'workers', 'lookups in workers')
{
	cmp_ok($plans{$kind} || 0, '>=', 5, "plans with $kind") if $executed >= 1000;
}
cmp_ok($plans{intersection} || 0, '>=', 1, 'plans with intersection') if $executed >= 1000;

done_testing();
