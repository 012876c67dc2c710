# 028_rollup_chaos.pl
#	  Rollups of one source under writers of all kinds, folds, cancels and kill -9.
#
# Six writers insert, copy and update at three isolation levels, with savepoints
# that are taken back, into a table of which partitions are dropped and rows are
# deleted, and into one that is only added to.  Of the first there is a deferred
# rollup that keeps, of the second a deferred one that refuses and one at
# commit; of a third, whose rows change in every way, one at commit that follows.
# Two sessions fold, two ask again and again whether view and sets are what SQL
# makes of the rows in the same snapshot.  For the sets that keep, the writers
# note every row in a table in the same transaction.  Folds are cancelled and
# terminated, and the server is killed and started.
#
# That is done 25 times by default (test/perl/Effort.pm), and until the server was
# killed and somebody has asked.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Time::HiRes qw(usleep time);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $turns = effort(25);
my $seed = seed();

my $node = PostgreSQL::Test::Cluster->new('chaos');
$node->init;
$node->append_conf('postgresql.conf', "restart_after_crash = on\ndeadlock_timeout = 300ms\nmax_connections = 60\n");
$node->start;
my $dir = $PostgreSQL::Test::Utils::tmp_check;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE TABLE events (site int NOT NULL, day date NOT NULL, who bigint NOT NULL, paid boolean) PARTITION BY RANGE (day);
	CREATE TABLE noted (site int NOT NULL, day date NOT NULL, who bigint NOT NULL, paid boolean);
	CREATE TABLE log (site int NOT NULL, who bigint NOT NULL, paid boolean);
	CREATE TABLE facts (site int NOT NULL, who bigint NOT NULL, paid boolean, note text);
	CREATE INDEX ON facts (site, who);
	CREATE PROCEDURE new_day(d int) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE format('CREATE TABLE IF NOT EXISTS events_%s PARTITION OF events FOR VALUES FROM (%L) TO (%L)',
			d, date '2026-01-01' + d, date '2026-01-02' + d);
	END $$;
	CALL new_day(0); CALL new_day(1); CALL new_day(2); CALL new_day(3);
	INSERT INTO events SELECT i % 9, date '2026-01-01' + i % 4, i % 700, i % 3 = 0 FROM generate_series(1, 20000) i;
	INSERT INTO noted SELECT * FROM events;
	INSERT INTO log SELECT i % 9, i % 700, i % 3 = 0 FROM generate_series(1, 20000) i;
	INSERT INTO facts SELECT i % 9, i % 700, i % 3 = 0 FROM generate_series(1, 20000) i;

	CREATE FUNCTION flip() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE facts SET paid = NOT paid, note = NULL WHERE site = NEW.site AND who = NEW.who;
		DELETE FROM facts WHERE site = NEW.site AND who = NEW.who + 1;
		RETURN NULL;
	END $$;
	CREATE TRIGGER flip AFTER INSERT OR UPDATE ON facts FOR EACH ROW WHEN (NEW.note = 'flip') EXECUTE FUNCTION flip();

	-- adds some rows to the events, which are noted
	CREATE FUNCTION happen(s int, w bigint, n int) RETURNS void LANGUAGE sql AS $$
		WITH days AS (SELECT min(day) AS a, max(day) AS b FROM (SELECT (date '2026-01-01' + substring(relname FROM '\d+')::int) AS day
			FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'events'::regclass) AS p),
		new AS (INSERT INTO events SELECT (s + i) % 12, a + (w + i)::int % (b - a + 1), w + i, i % 2 = 0
			FROM generate_series(1, n) i, days RETURNING *)
		INSERT INTO noted SELECT * FROM new
	$$;
	CREATE FUNCTION change() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		s int := floor(random() * 12);
		w bigint := floor(random() * 3000);
	BEGIN
		CASE floor(random() * 14)
		WHEN 0, 1 THEN PERFORM happen(s, w, 1);
		WHEN 2 THEN PERFORM happen(s, w, 300);
		WHEN 3 THEN DELETE FROM events WHERE site = s AND who BETWEEN w AND w + 20;
		WHEN 4 THEN INSERT INTO log VALUES (s, w, NULL);
		WHEN 5 THEN INSERT INTO log SELECT (s + i) % 12, w + i, i % 4 = 0 FROM generate_series(1, 200) i;
		WHEN 6 THEN UPDATE log SET paid = true WHERE site = s AND who BETWEEN w AND w + 5;
		WHEN 7 THEN
			BEGIN
				INSERT INTO log SELECT s, 100000 + i, true FROM generate_series(1, 50) i;
				PERFORM happen(s, 100000, 20);
				RAISE EXCEPTION 'taken back';
			EXCEPTION WHEN raise_exception THEN
				INSERT INTO log VALUES (s, w, true);
			END;
		WHEN 8 THEN
			BEGIN
				DELETE FROM log WHERE site = s AND who BETWEEN w AND w + 300;
			EXCEPTION WHEN object_not_in_prerequisite_state THEN
				NULL;
			END;
		WHEN 9 THEN INSERT INTO facts SELECT s, w + i, i % 2 = 0, CASE WHEN i % 5 = 0 THEN 'flip' END FROM generate_series(1, 20) i;
		WHEN 10 THEN UPDATE facts SET who = who + 1, paid = NOT paid WHERE site = s AND who BETWEEN w AND w + 10;
		WHEN 11 THEN DELETE FROM facts WHERE site = s AND who BETWEEN w AND w + 15;
		WHEN 12 THEN
			WITH d AS (DELETE FROM facts WHERE site = s AND who BETWEEN w AND w + 4 RETURNING *)
			INSERT INTO facts SELECT CASE WHEN who % 2 = 0 THEN s ELSE (s + 1) % 12 END, who, paid FROM d;
		ELSE UPDATE facts SET site = (s + 5) % 12 WHERE site = s AND who BETWEEN w AND w + 3;
		END CASE;
	EXCEPTION WHEN serialization_failure OR deadlock_detected OR check_violation THEN
		NULL;
	END $$;

	-- who asks notes what it finds
	CREATE TABLE answers (what text, wrong bigint);
});

sub value
{
	my ($query) = @_;
	my ($status, $out, $err);

	for (1 .. 60)
	{
		$status = $node->psql('postgres', $query, stdout => \$out, stderr => \$err);
		last if $status == 0 || $err !~ /deadlock detected|lock timeout|starting up|recovery|No such file|terminat|crash|could not/;
		usleep 200_000;
	}
	die "$query: $err" if $status != 0;
	return $out;
}

my %rollup = (
	kept => q{CALL roaring64_rollup_create('events', 'kept', '{site}', 'who', '{"users": true, "payers": "paid"}', period_column => 'day', period => 'day', deferred => true, deletes => 'keep')},
	later => q{CALL roaring64_rollup_create('log', 'later', '{site}', 'who', '{"users": true, "payers": "paid"}', deferred => true)},
	at_once => q{CALL roaring64_rollup_create('log', 'at_once', '{site}', 'who', '{"users": true, "payers": "paid"}', deletes => 'refuse')},
	followed => q{CALL roaring64_rollup_create('facts', 'followed', '{site}', 'who', '{"users": true, "payers": "paid"}')});
my %question = (
	kept => [ 'noted', 'site, day', 'kept_now' ],
	later => [ 'log', 'site', 'later_now' ],
	at_once => [ 'log', 'site', 'at_once' ],
	followed => [ 'facts', 'site', 'followed' ]);

# How many keys have other sets than SQL makes of the rows, in one statement.
sub question
{
	my ($rows, $keys, $sets) = @{ $question{ $_[0] } };
	my $expected = "SELECT $keys, array_agg(DISTINCT who ORDER BY who) AS users,
		coalesce(array_agg(DISTINCT who ORDER BY who) FILTER (WHERE paid), '{}') FROM $rows GROUP BY $keys";
	my $found = "SELECT $keys, users::bigint[], payers::bigint[] FROM $sets WHERE NOT roaring64_is_empty(users)";
	return "SELECT count(*) FROM (($expected EXCEPT $found) UNION ALL ($found EXCEPT $expected)) AS d";
}

append_to_file("$dir/chaos.sql", "\\set two random(1, 2)\n" . join('', map {
	($_ == 1 ? '\\if' : '\\elif')
	  . " :client_id % 3 = $_\nBEGIN ISOLATION LEVEL "
	  . ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')[$_]
	  . ";\nSELECT change();\n\\if :two = 1\nSELECT change();\n\\endif\nEND;\n"
} 1, 2, 0) . "\\endif\n");
append_to_file("$dir/fold$_.sql", "CALL roaring64_rollup_fold('$_');\n") for 'kept', 'later';
for my $what (sort keys %rollup)
{
	append_to_file("$dir/ask_$what.sql", "INSERT INTO answers SELECT '$what', (" . question($what) . ");\n");
}

my @running;
sub start_program
{
	my ($name, @command) = @_;

	push @running, IPC::Run::start([ @command, '-d', $node->connstr('postgres') ], '<', '/dev/null',
		'>>', "$dir/$name.out", '2>>', "$dir/$name.err");
}

# Made under writers, as in 026_rollup_kill.pl; then all at once.
sub start_all
{
	start_program('writers', 'pgbench', '-n', '-c', '6', '-j', '2', '-T', '3600', '--max-tries=1', '-f', "$dir/chaos.sql")
	  if $node->pg_version >= 15;
	start_program('writers', 'pgbench', '-n', '-c', '6', '-j', '2', '-T', '3600', '-f', "$dir/chaos.sql")
	  if $node->pg_version < 15;
}
sub start_others
{
	start_program("fold$_", 'pgbench', '-n', '-c', '2', '-T', '3600', '-f', "$dir/fold$_.sql") for 'kept', 'later';
	start_program('ask', 'pgbench', '-n', '-c', '2', '-T', '3600', map { ('-f', "$dir/ask_$_.sql") } sort keys %rollup);
}

start_all();
for my $what (sort keys %rollup)
{
	# rows that keep are copied while nothing goes
	value($rollup{$what}) if $what ne 'kept';
}
$_->kill_kill(grace => 1) for @running;
@running = ();
value('TRUNCATE noted; INSERT INTO noted SELECT * FROM events');
value($rollup{kept});

my %count = (kill => 0, cancel => 0, terminate => 0, drop => 0);
my $turn = 0;
my $day = 3;
start_all();
start_others();
while ($turn++ < $turns || !$count{kill} || value('SELECT count(*) FROM answers') == 0)
{
	usleep 300_000 + rand 700_000;
	my $what = rand;
	if ($what < 0.04 || !$count{kill} && $turn > $turns / 2)
	{
		my $log = -s $node->logfile;
		my $pid = value(q{SELECT pid FROM pg_stat_activity WHERE query ~ 'rollup_fold|change' AND backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1});
		my $killed = $pid ne '' && kill 'KILL', $pid;
		# it may have ended meanwhile: the server says so once it has waited for it
		usleep 100_000 while $killed && kill 0, $pid;
		sleep 1 if $killed;
		if ($killed && slurp_file($node->logfile, $log) =~ /\(PID $pid\) was terminated by signal 9/)
		{
			$node->wait_for_log(qr/database system is ready to accept connections/, $log);
			$count{kill}++;
			$_->kill_kill(grace => 1) for @running;
			@running = ();
			is(value(question($_)), 0, "after a crash $_ is what SQL makes of the rows") for sort keys %rollup;
			start_all();
			start_others();
		}
	}
	elsif ($what < 0.75)
	{
		my $how = rand() < 0.7 ? 'cancel' : 'terminate';
		my $n = value("SELECT count(pg_${how}_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE query ~ 'rollup_fold' AND state = 'active' AND pid <> pg_backend_pid() LIMIT 1) AS a");
		$count{$how} += $n;
		if ($n)
		{
			# the client has ended; another takes its place
			start_program("fold$_", 'pgbench', '-n', '-c', '1', '-T', '3600', '-f', "$dir/fold$_.sql") for ('kept', 'later')[ rand 2 ];
		}
	}
	else
	{
		$day++;
		value("CALL new_day($day)");
		value(q{SELECT set_config('lock_timeout', '2s', false); DROP TABLE events_} . ($day - 4)) && $count{drop}++
		  if rand() < 0.7;
	}
}
my $answers = value('SELECT count(*) FROM answers');
is(value(q{SELECT coalesce(string_agg(DISTINCT what, ', '), '') FROM answers WHERE wrong > 0}), '', "no answer was wrong, of $answers");
cmp_ok($answers, '>', 0, 'somebody asked');
$_->kill_kill(grace => 1) for @running;
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'});
is(value(question($_)), 0, "$_ is what SQL makes of the rows") for sort keys %rollup;
for my $what ('kept', 'later')
{
	# goes on, too, with what a session that was killed did of a new partition
	value("CALL roaring64_rollup_fold('$what')");
	is(value("SELECT count(*) FROM ${what}_pending"), 0, "$what: nothing is pending after a fold");
	is(value(question($what) =~ s/_now\b//gr), 0, "$what: the sets themselves are what SQL makes of the rows");
}
for my $what (sort keys %rollup)
{
	is(value("SELECT count(*) FROM roaring64_rollup_verify('$what')"), 0, "$what: so does verify say");
}
diag("chaos: $turns turns, kill -9 $count{kill}, cancelled $count{cancel}, terminated $count{terminate}, "
	  . "partitions dropped $count{drop}, answers $answers, rows noted " . value('SELECT count(*) FROM noted')
	  . ', in log ' . value('SELECT count(*) FROM log'));
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'nothing went wrong in the server');

$node->stop;
done_testing();
