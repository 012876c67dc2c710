# 026_migrate_crash.pl
#	  A migration that is killed, cancelled and interrupted, under a writer.
#
# A writer changes the source all the time: inserts, updates, deletes, in
# transactions of which some are taken back.  The migration's backend is killed
# with kill -9 while it copies, which takes the server through crash recovery;
# it is cancelled; and the server is stopped in the middle.  Each time the
# migration is called again.  It must not copy again what was committed, and in
# the end the target must agree with plain SQL over the rows.  Then the same
# through the view after the finish, and back.
#
# All that is random follows from a seed, which is printed.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Time::HiRes qw(usleep);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{ROARING64_TEST_SEED} // time;
note "ROARING64_TEST_SEED=$seed";
srand $seed;

my $node = PostgreSQL::Test::Cluster->new('migrate');
$node->init;
$node->append_conf('postgresql.conf', 'restart_after_crash = on');
$node->start;

# What a row is in, of conditions that take their time, so that there is time
# to kill what evaluates them.
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION roaring64;
	CREATE FUNCTION slowly(id bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
		$$ BEGIN IF id % 100 = 0 THEN PERFORM pg_sleep(0.002); END IF; RETURN id % 3 = 0; END $$;
	CREATE TABLE facts (key int, id bigint, mark boolean NOT NULL, PRIMARY KEY (key, id));
	INSERT INTO facts SELECT k, i, (k + i) % 2 = 0
	FROM generate_series(1, 1000) AS i, generate_series(1, 40) AS k;
});
my $migrate =
  q{CALL roaring64_migrate('facts', 'sets', '{key}', 'id', '{"members": true, "marked": "mark", "third": "slowly(id)"}', batch_rows => 1500)};

# A statement that changes a few rows.
sub change
{
	my $key = 1 + int rand 45;
	my $id = 1 + int rand 1100;
	my $what = int rand 5;

	return "INSERT INTO facts SELECT $key, i, i % 7 = 0 FROM generate_series($id, $id + 5) AS i
		WHERE NOT EXISTS (SELECT FROM facts WHERE key = $key AND id = i)"
	  if $what == 0;
	return "DELETE FROM facts WHERE key = $key AND id BETWEEN $id AND $id + 3" if $what == 1;
	return "UPDATE facts SET id = id + 5000 + " . int(rand 1000000) * 10 . " WHERE key = $key AND id = $id"
	  if $what == 2;
	return "UPDATE facts SET mark = NOT mark WHERE key = $key AND id BETWEEN $id AND $id + 10";
}

# Changes the source: a few transactions, some of which are taken back.  Says
# whether the server was there for them.
sub write_some
{
	my $script = '';

	for (1 .. 5)
	{
		my $end = rand() < 0.25 ? 'ROLLBACK' : 'COMMIT';
		$script .= join ";\n", 'BEGIN', (map { change() } 1 .. 3), "$end;\n";
	}
	return $node->psql('postgres', $script) == 0;
}

# The migration in the background: what to give to pump, and what it says.
sub start_migration
{
	my %run = (out => '', err => '');

	$run{harness} = IPC::Run::start(
		[ 'psql', '-X', '-At', '-d', $node->connstr('postgres'),
			'-c', "SET application_name = 'copier'", '-c', $migrate ],
		'>', \$run{out}, '2>', \$run{err});
	return \%run;
}

sub query
{
	my ($query) = @_;
	my ($status, $out) = $node->psql('postgres', $query);

	return defined $status && $status == 0 ? $out : '';
}

my $progress = 'SELECT rows_done FROM sets_migration';

# Waits until the migration has copied more than so many rows, and writes
# meanwhile.  Returns the process that copies.
sub wait_for_rows
{
	my ($rows) = @_;

	for (1 .. 2000)
	{
		write_some();
		my $done = query($progress);
		return query("SELECT pid FROM pg_stat_activity WHERE application_name = 'copier'")
		  if $done ne '' && $done > $rows;
		usleep 10_000;
	}
	die 'the migration does not get on';
}

# Whether the target agrees with the source, by plain SQL.
my $differences = q{
	WITH expected AS (
		SELECT key, array_agg(id ORDER BY id) AS members,
			array_agg(id ORDER BY id) FILTER (WHERE mark) AS marked,
			array_agg(id ORDER BY id) FILTER (WHERE id % 3 = 0) AS third
		FROM facts GROUP BY key),
	found AS (
		SELECT key, members::bigint[], nullif(marked::bigint[], '{}'), nullif(third::bigint[], '{}')
		FROM sets WHERE NOT roaring64_is_empty(members | marked | third))
	SELECT count(*) FROM (
		(TABLE expected EXCEPT TABLE found) UNION ALL (TABLE found EXCEPT TABLE expected)) AS d};

#
# Killed twice, cancelled, and stopped with the server.
#
my $copied = 0;
for my $end ('kill -9', 'kill -9', 'pg_cancel_backend', 'restart')
{
	my $run = start_migration();
	my $pid = wait_for_rows($copied + 4000);

	my $log = -s $node->logfile;

	like($pid, qr/^\d+$/, "$end: the migration is under way");
	if    ($end eq 'kill -9')           { kill 'KILL', $pid; }
	elsif ($end eq 'pg_cancel_backend') { query("SELECT pg_cancel_backend($pid)"); }
	else                                { $node->restart; }
	ok(!$run->{harness}->finish, "$end: it has ended");
	# To ask it would not do: it may not have noticed yet, and a psql that is
	# refused breaks the pipe on which it gets its query, which ends the test.
	$node->wait_for_log(qr/database system is ready to accept connections/, $log) if $end eq 'kill -9';

	my $now = query($progress);
	cmp_ok($now, '>', $copied, "$end: what was committed is kept");
	is(query('SELECT state FROM sets_migration'), 'copying', "$end: it is not done");
	$copied = $now;
	ok(write_some(), "$end: the application can write");
}

my $run = start_migration();
wait_for_rows($copied) if $copied < 36000;
write_some() for 1 .. 10;
ok($run->{harness}->finish, 'it comes to its end') or diag $run->{err};
like($run->{err}, qr/is in step with "facts"/, 'and says so');
unlike($run->{err}, qr/begins again/, 'without having begun again');
is(query($differences), 0, 'the target agrees with the source');

#
# In step: the target follows at once.
#
write_some() for 1 .. 20;
is(query($differences), 0, 'and goes on agreeing');
is(query(q{SELECT count(*) FROM roaring64_migrate_verify('sets')}), 0, 'verify says so too');

#
# A dump in the middle of one is restored, and the migration goes on there.
#
query(q{CALL roaring64_migrate_undo('sets')});
$run = start_migration();
wait_for_rows(4000);
my $dump = $node->basedir . '/dump.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'pg_dump in the middle');
ok($run->{harness}->finish, 'which goes on');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ],
	'psql restores it');
my ($status, $out, $err) = $node->psql('restored', q{CALL roaring64_migrate('facts', 'sets')});
is($status, 0, 'and the migration goes on in the restored database') or diag $err;
is($node->safe_psql('restored', $differences), 0, 'until the target agrees with the source');

#
# The view, with everything that the writer does, and a crash.  Without the set
# of the condition: what is inserted through the view has to say whether it is
# in that, and the writer does not.
#
is(query($differences), 0, 'the target where it went on agrees too');
query(q{CALL roaring64_migrate_undo('sets')});
query(q{CALL roaring64_migrate('facts', 'sets', '{key}', 'id', '{"members": true, "marked": "mark"}')});
query('CREATE TABLE model AS TABLE facts');
is($node->psql('postgres', q{CALL roaring64_migrate_finish('sets')}), 0, 'finish');
my $wrong = 0;
for (1 .. 60)
{
	my $change = change();
	my $on_model = $change =~ s/\bfacts\b/model/gr;

	$wrong++ unless $node->psql('postgres', "BEGIN; $change; $on_model; COMMIT;") == 0;
}
is($wrong, 0, 'the writer\'s statements are executed on the view');
my $same = 'SELECT count(*) FROM (
	(SELECT key, id, mark FROM facts EXCEPT TABLE model) UNION ALL
	(TABLE model EXCEPT SELECT key, id, mark FROM facts)) AS d';
is(query($same), 0, 'with the same result as on a table');
$node->stop('immediate');
$node->start;
is(query($same), 0, 'also after a crash');
is($node->psql('postgres', q{CALL roaring64_migrate_undo('sets')}), 0, 'undo');
is(query($same), 0, 'and back in the table');
is(query(q{SELECT count(*) FROM pg_class WHERE relname ~ '^(sets|facts_old)'}), 0, 'nothing else is left');

$node->stop;
done_testing();
