# 017_dedup_load.pl
#	  Dedup sets under load: batches that overlap, folds, and the space of claims.
#
# 16 sessions claim shuffled batches of the same ids while two others fold: each
# id is won once, and nobody runs into a deadlock.
#
# Then the index of the claims, which was made for many, is made anew for few;
# but not while a transaction uses it, nor does anybody wait for that.
#
# $ROARING64_TEST_BATCHES says how many batches there are; 4,000 if not given.

use strict;
use warnings FATAL => 'all';

use POSIX ();

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $calls = $ENV{ROARING64_TEST_BATCHES} || 4000;
my $sessions = 16;
my $ids = 10000;

my $node = PostgreSQL::Test::Cluster->new('load');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nmax_connections = 40\nmax_prepared_transactions = 1\n");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION roaring64;
	SELECT roaring64_dedup_create('shuffled');
	CREATE TABLE winners (id bigint);
});

sub query { return $node->safe_psql('postgres', shift); }

# runs a script of pgbench, whose messages go to a file
sub pgbench
{
	my ($script, $clients, $transactions) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();

	append_to_file("$dir/script", $script);
	my @command = ('pgbench', '-n', '-M', 'prepared', '-c', $clients, '-j', 2,
		'-t', $transactions, '-f', "$dir/script", $node->connstr('postgres'));
	my $pid = fork() // die "fork failed: $!";
	return [ $pid, "$dir/out" ] if $pid;
	open STDOUT, '>', "$dir/out";
	open STDERR, '>&', \*STDOUT;
	exec @command or POSIX::_exit(127);
}

# waits for it
sub finish
{
	my ($pid, $out) = @{ $_[0] };

	waitpid($pid, 0);
	return $? == 0 ? 'ended well' : slurp_file($out);
}

#
# Batches that overlap.
#
my $claims = pgbench(
	"\\set base random(1, $ids)\n"
	  . "INSERT INTO winners SELECT unnest(roaring64_dedup_claim('shuffled', 'k', (SELECT array_agg(i ORDER BY random()) FROM generate_series(:base, :base + 19) AS i)));\n",
	$sessions, int($calls / $sessions));
my $folds = pgbench("CALL roaring64_dedup_fold('shuffled');\n\\sleep 50 ms\n", 2, 20);
is(finish($claims), 'ended well', "$calls batches of $sessions sessions");
is(finish($folds), 'ended well', 'and folds meanwhile');
cmp_ok(query('SELECT count(*) FROM winners'), '>', $ids / 4, 'ids were won');
is( query(q{SELECT count(*) - count(DISTINCT id),
		count(*) - roaring64_dedup_count('shuffled', 'k') FROM winners}),
	'0|0', 'each of them once');
is(query(q{SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'}),
	'0', 'without a deadlock');

#
# The space of claims.
#
my $pages = q{SELECT pg_relation_size('many_index') / 8192};
query(q{SELECT roaring64_dedup_create('many')});
query(q{ALTER INDEX many_claims_pkey RENAME TO many_index;
	SELECT count(roaring64_dedup_claim('many', 'k', (SELECT array_agg(i) FROM generate_series(n * 10000, n * 10000 + 9999) AS i)))
	FROM generate_series(1::bigint, 10) AS n});
query(q{CALL roaring64_dedup_fold('many')});
cmp_ok(query($pages), '>', 200, 'the index is as large as the claims were many');
query(q{VACUUM many_claims});
is(query(q{SELECT pg_relation_size('many_claims')}), '0', 'VACUUM cuts the table off');

query(q{BEGIN; SELECT roaring64_dedup_claim('many', 'k', -1); PREPARE TRANSACTION 'busy'});
query(q{SET lock_timeout = '50ms'; CALL roaring64_dedup_fold('many')});
cmp_ok(query($pages), '>', 200, 'fold leaves the index if somebody claims');
is(query(q{SET lock_timeout = '50ms'; SELECT roaring64_dedup_claim('many', 'k', -2)}),
	't', 'and others claim');
query(q{COMMIT PREPARED 'busy'});

query(q{CALL roaring64_dedup_fold('many')});
cmp_ok(query($pages), '<', 10, 'it makes the index anew if nobody does');
is( query(q{SELECT roaring64_dedup_claim('many', 'k', -1), roaring64_dedup_claim('many', 'k', 10000),
		roaring64_dedup_claim('many', 'k', -3), roaring64_dedup_count('many', 'k')}),
	'f|f|t|100002', 'and all ids are remembered');
query(q{BEGIN; SELECT roaring64_dedup_claim('many', 'k', -4); CALL roaring64_dedup_fold('many'); ROLLBACK});
is(query(q{SELECT roaring64_dedup_count('many', 'k')}), '100003', 'whatever is rolled back');

$node->stop;
done_testing();
