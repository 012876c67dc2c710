# 028_migrate_writers.pl
#	  Eight writers at once, through a migration, its finish and its undo.
#
# pgbench does the same to the source, by its name, and to a plain table, in
# one transaction: inserts, updates of one row and of many, deletes, rows that
# move to other keys, some of it taken back.  Each client has ids of its own,
# so the two tables must be the same whenever one looks; all clients share the
# keys, so they do meet in the target.  Meanwhile the source is migrated,
# replaced by the view, and put back, several times.

use strict;
use warnings FATAL => 'all';

use IPC::Run;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{ROARING64_TEST_SEED} // time;
note "ROARING64_TEST_SEED=$seed";

my $node = PostgreSQL::Test::Cluster->new('writers');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\ndeadlock_timeout = 100ms\n");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION roaring64;
	CREATE TABLE facts (key int, id bigint, mark boolean NOT NULL, star boolean NOT NULL, PRIMARY KEY (key, id));
	CREATE TABLE model (LIKE facts INCLUDING ALL);
	INSERT INTO facts SELECT k, i, i % 2 = 0, i % 3 = 0
	FROM generate_series(1, 20) AS k, generate_series(1, 2000) AS i WHERE (k + i) % 3 > 0;
	INSERT INTO model TABLE facts;
});

# Each statement is for both tables.
my @changes = (
	[ 'UPDATE % SET mark = NOT mark WHERE key = :key AND id = :id',
		'UPDATE % SET star = NOT star WHERE key = :key AND id % 8 = :client_id AND id < :id AND id > :id - 50' ],
	['INSERT INTO % SELECT :key, :id, true, false WHERE NOT EXISTS (SELECT FROM % WHERE key = :key AND id = :id)'],
	['DELETE FROM % WHERE key = :key AND id = :id'],
	['UPDATE % SET key = :other, star = true WHERE key = :key AND id = :id AND NOT EXISTS (SELECT FROM % WHERE key = :other AND id = :id)'],
	[ 'DELETE FROM % WHERE key = :key AND id = :id', 'INSERT INTO % VALUES (:key, :id, true, true)' ]);
my $script = "\\set key random(1, 24)\n\\set other random(1, 24)\n"
  . "\\set id random(1, 300) * 8 + :client_id\n\\set what random(1, 5)\n\\set end random(1, 4)\nBEGIN;\n";
for my $n (1 .. @changes)
{
	$script .= ($n == 1 ? '\\if' : '\\elif') . " :what = $n\n";
	for my $table ('facts', 'model')
	{
		$script .= s/% (?!8)/$table /gr . ";\n" for @{ $changes[ $n - 1 ] };
	}
}
$script .= "\\endif\n\\if :end = 1\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n";
my $file = $node->basedir . '/changes.sql';
append_to_file($file, $script);

# Into files: nobody reads a pipe meanwhile, and pgbench would stop at a full one
# in the middle of its transactions, for which the migration then waits.
my ($out, $err) = map { "$PostgreSQL::Test::Utils::tmp_check/pgbench.$_" } qw(out err);
my $pgbench = IPC::Run::start(
	[
		'pgbench', '-n', '-c', '8', '-j', '2', '-R', '300', '-T', '12', '--random-seed', $seed,
		'--max-tries', '50', '-f', $file, '-d', $node->connstr('postgres')
	],
	'>', $out, '2>', $err);

my $same = 'SELECT count(*) FROM (
	(SELECT key, id, mark, star FROM facts EXCEPT TABLE model) UNION ALL
	(TABLE model EXCEPT SELECT key, id, mark, star FROM facts)) AS d';
for my $round (1 .. 3)
{
	is( $node->psql(
			'postgres',
			q{CALL roaring64_migrate('facts', 'sets', '{key}', 'id', '{"members": true, "marked": "mark", "starred": "star"}', batch_rows => 3000)}
		),
		0, "round $round: migrated");
	for (1 .. 5)
	{
		is($node->safe_psql('postgres', q{SELECT count(*) FROM roaring64_migrate_verify('sets')}),
			0, "round $round: the target agrees");
	}
	is($node->psql('postgres', q{CALL roaring64_migrate_finish('sets')}), 0, "round $round: finished");
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.5)');
	is($node->safe_psql('postgres', $same), 0, "round $round: the view is as the table would be");
	is($node->psql('postgres', q{CALL roaring64_migrate_undo('sets')}), 0, "round $round: undone");
	is($node->safe_psql('postgres', $same), 0, "round $round: and so is the table that is back");
}
ok($pgbench->finish, 'no writer has seen an error') or diag slurp_file($err);
like(slurp_file($out), qr/transactions actually processed: [1-9]\d{2}/, 'and there were changes');
is($node->safe_psql('postgres', $same), 0, 'in the end both are the same');

$node->stop;
done_testing();
