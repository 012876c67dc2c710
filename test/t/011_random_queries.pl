# 011_random_queries.pl
#	  Random queries with "id <@ set" give the same with and without indexes.
#
# test/random_queries.sql makes tables with indexes of many shapes, and the
# queries, 4000 by default (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $queries = effort(4000);
my $seed = seed();

my $node = PostgreSQL::Test::Cluster->new('queries');
$node->init;
$node->append_conf('postgresql.conf', q{
autovacuum = off
fsync = off
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION roaring64');
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../random_queries.sql"));

my ($status, $stdout, $stderr) = $node->psql('postgres',
	"SELECT * FROM random_queries.compare_queries($seed, $queries)");
is($status, 0, 'the queries were executed') or BAIL_OUT($stderr);
my ($executed, $differing, $plans) = split /\|/, $stdout, 3;
note("$executed queries: $plans");
is($differing, 0, "$executed queries give the same with and without indexes") or diag($stderr);

# that they try what they are to try
for my $kind ('Roaring64 Lookup', 'ANY', 'Index Scan', 'Index Only Scan', 'Bitmap Index Scan', 'Merge Join', 'Merge Append',
	'Unique', 'WindowAgg', 'Limit', 'Memoize', 'Left Join', 'Right Join', 'Full Join', 'Semi Join', 'Anti Join', 'cursor', 'negated', 'both', 'outer')
{
	my ($count) = $plans =~ /"$kind": (\d+)/;
	cmp_ok($count || 0, '>=', 5, "plans with $kind") if $executed >= 1000;
}

done_testing();
