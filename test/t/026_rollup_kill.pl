# 026_rollup_kill.pl
#	  Rollups that are killed, cancelled and kept waiting while they are made,
#	  under writers.
#
# Five writers change two tables, one of them partitioned in such a way that
# one fact may have several rows, with sets that remember, at three isolation levels: upserts, MERGE,
# rows that move to other keys and partitions, savepoints taken back, writes to
# partitions by their own names, rows that a trigger changes, statements within
# statements.  Rollups of both are made meanwhile; at no particular moment the
# backend that makes one is killed with kill -9, cancelled,
# or terminated, or finds a lock that it does not get.  Then it is called again,
# and when it is in step, plain SQL over the rows must give the same sets.
#
# Each happens once by default (test/perl/Effort.pm).

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

my $kills = effort(4);
my $seed = seed();

my $node = PostgreSQL::Test::Cluster->new('rollup');
$node->init;
# A writer finds a deadlock after the rollup has given up waiting.
$node->append_conf('postgresql.conf', "restart_after_crash = on\ndeadlock_timeout = 300ms\n");
$node->start;

$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE TABLE parent (key int PRIMARY KEY);
	INSERT INTO parent SELECT generate_series(1, 40);
	CREATE TABLE facts (key int REFERENCES parent ON DELETE CASCADE, id bigint, mark boolean NOT NULL, note text,
		PRIMARY KEY (key, id)) WITH (fillfactor = 60);
	CREATE TABLE events (key text, id int, at int, mark boolean, PRIMARY KEY (key, id, at)) PARTITION BY RANGE (at);
	CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (10);
	CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (10) TO (20);
	CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (20) TO (30) PARTITION BY RANGE (at);
	CREATE TABLE events_3a PARTITION OF events_3 DEFAULT;

	-- all that the partitioned one has ever had, for sets that remember
	CREATE TABLE noted (key text, id int, mark boolean);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO noted VALUES (NEW.key, NEW.id, NEW.mark); RETURN NULL; END';
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON events FOR EACH ROW EXECUTE FUNCTION note();

	CREATE FUNCTION flip() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE facts SET mark = NOT mark, note = NULL WHERE key = NEW.key AND id = NEW.id;
		DELETE FROM facts WHERE key = NEW.key AND id = NEW.id + 1 AND NEW.id % 3 = 0;
		RETURN NULL;
	END $$;
	CREATE TRIGGER flip AFTER INSERT OR UPDATE ON facts FOR EACH ROW WHEN (NEW.note = 'flip') EXECUTE FUNCTION flip();

	CREATE PROCEDURE fill() LANGUAGE sql AS $$
		INSERT INTO facts SELECT k, i, (k + i) % 2 = 0, 'x' FROM generate_series(1, 2000) AS i, generate_series(1, 30) AS k
			ON CONFLICT DO NOTHING;
		INSERT INTO events SELECT k, i, (i + k) % 30, i % 3 = 0 FROM generate_series(1, 1000) AS i, generate_series(1, 20) AS k
			ON CONFLICT DO NOTHING;
	$$;

	CREATE FUNCTION change() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		k int := 1 + floor(random() * 35);
		other int := 1 + floor(random() * 35);
		i int := 1 + floor(random() * 2100);
		here int := floor(random() * 30);
	BEGIN
		CASE floor(random() * 20)
		WHEN 0 THEN INSERT INTO facts VALUES (k, i, true) ON CONFLICT (key, id) DO UPDATE SET mark = NOT facts.mark;
		WHEN 1 THEN INSERT INTO facts SELECT k, j, j % 2 = 0 FROM generate_series(i, i + 30) AS j ON CONFLICT DO NOTHING;
		WHEN 2 THEN UPDATE facts SET mark = NOT mark WHERE key = k AND id BETWEEN i AND i + 10;
		WHEN 3 THEN DELETE FROM facts WHERE key = k AND id BETWEEN i AND i + 3;
		WHEN 4 THEN UPDATE facts SET key = other WHERE key = k AND id BETWEEN i AND i + 1;
		WHEN 5 THEN UPDATE facts SET id = id + 5000 WHERE key = k AND id = i;
		WHEN 6 THEN UPDATE facts SET note = note || 'x' WHERE key BETWEEN k AND k + 5 AND id BETWEEN i AND i + 20;
		WHEN 7 THEN
			BEGIN
				DELETE FROM facts WHERE key = k;
				UPDATE events SET mark = NOT mark WHERE key = k::text AND id = i;
				RAISE EXCEPTION 'taken back';
			EXCEPTION WHEN raise_exception THEN
				UPDATE facts SET mark = true WHERE key = k AND id = i;
			END;
		WHEN 8 THEN
			IF current_setting('server_version_num')::int >= 150000 THEN
				EXECUTE 'MERGE INTO facts USING generate_series($2, $2 + 8) AS s (id) ON key = $1 AND facts.id = s.id
					WHEN MATCHED AND mark THEN DELETE WHEN MATCHED THEN UPDATE SET mark = true
					WHEN NOT MATCHED THEN INSERT VALUES ($1, s.id, false)' USING k, i;
			END IF;
		WHEN 9 THEN INSERT INTO facts SELECT j, i, false FROM generate_series(1, 35) AS j ON CONFLICT DO NOTHING;
		WHEN 10 THEN INSERT INTO events VALUES (k, i % 1100, here, true) ON CONFLICT (key, id, at) DO UPDATE SET mark = NOT events.mark;
		WHEN 11 THEN INSERT INTO events_2 VALUES (k, i % 1100, 10 + here % 10, NULL) ON CONFLICT DO NOTHING;
		WHEN 12 THEN UPDATE events SET at = here WHERE key = k::text AND id BETWEEN i % 1100 AND i % 1100 + 3;
		WHEN 13 THEN DELETE FROM events_1 WHERE key = k::text AND id % 7 = here % 7;
		WHEN 14 THEN DELETE FROM events_3 WHERE key = k::text AND id BETWEEN i % 1100 AND i % 1100 + 20;
		WHEN 15 THEN UPDATE events_2 SET mark = NOT mark WHERE key = k::text AND id BETWEEN i % 1100 AND i % 1100 + 9;
		WHEN 16 THEN
			WITH d AS (DELETE FROM facts WHERE key = k AND id BETWEEN i AND i + 4 RETURNING *)
			INSERT INTO facts SELECT CASE WHEN id % 2 = 0 THEN other ELSE key END, id + id % 3, mark FROM d ON CONFLICT DO NOTHING;
		WHEN 17 THEN INSERT INTO facts SELECT k, j, j % 2 = 0, 'flip' FROM generate_series(i, i + 5) AS j
			ON CONFLICT (key, id) DO UPDATE SET note = 'flip';
		WHEN 18 THEN UPDATE facts SET note = 'flip', id = id + 3000 WHERE key = k AND id BETWEEN i AND i + 3;
		ELSE
			IF random() < 0.03 THEN
				CASE here % 4
				WHEN 0 THEN DELETE FROM facts;
				WHEN 1 THEN DELETE FROM events_2;
				WHEN 2 THEN TRUNCATE events;
				ELSE DELETE FROM parent WHERE key = k; INSERT INTO parent VALUES (k);
				END CASE;
				CALL fill();
			END IF;
		END CASE;
	EXCEPTION WHEN serialization_failure OR deadlock_detected OR unique_violation OR foreign_key_violation OR object_not_in_prerequisite_state THEN
		NULL;
	END
	$$;
	CALL fill();
});

my $dir = $PostgreSQL::Test::Utils::tmp_check;
my $script = "\\set two random(1, 2)\n" . join '', map {
	($_ == 1 ? '\\if' : '\\elif')
	  . " :client_id % 3 = $_\nBEGIN ISOLATION LEVEL "
	  . ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')[$_]
	  . ";\nSELECT change();\n\\if :two = 1\nSELECT change();\n\\endif\nEND;\n"
} 1, 2, 0;
$script .= "\\endif\n";
append_to_file("$dir/change.sql", $script);

# Asks again if the query met a writer and was ended for the deadlock.
sub value
{
	my ($query) = @_;
	my ($status, $out, $err);

	for (1 .. 20)
	{
		$status = $node->psql('postgres', $query, stdout => \$out, stderr => \$err);
		last if $status == 0 || $err !~ /deadlock detected/;
	}
	die "$query: $err" if $status != 0;
	return $out;
}

# A name that says what went wrong is seen where diagnostics are not.
sub works
{
	my ($status, $out, $err, $name) = @_;

	$err =~ s/^NOTICE: .*\n(?:DETAIL: .*\n)?//mg;
	ok($status == 0, $status == 0 ? $name : "$name: status $status, " . join ' ', split /\s+/, $err);
}

# Calls once more if it met a writer of a partition and was ended for the deadlock.
sub call
{
	my ($status, $out, $err);

	for (1 .. 20)
	{
		($status, $out, $err) = $node->psql('postgres', "SET application_name = 'copier'; $_[0]");
		last if $status == 0 || $err !~ /deadlock detected/;
	}
	return ($status, $out, $err);
}

sub start_program
{
	my ($name, @command) = @_;

	return IPC::Run::start(\@command, '<', '/dev/null', '>', "$dir/$name.out", '2>', "$dir/$name.err");
}

my %rollup = (
	sets => q{CALL roaring64_rollup_create('facts', 'sets', '{key}', 'id', '{"members": true, "marked": "mark"}')},
	lists => q{CALL roaring64_rollup_create('events', 'lists', '{key}', 'id', '{"members": true, "marked": "mark"}', deferred => true, deletes => 'keep')});

# How many keys have other sets than plain SQL gives, in one snapshot: of the
# partitioned table, they have what is there, and nothing that never was.
sub differences
{
	my ($target) = @_;
	if ($target eq 'lists')
	{
		return value(q{SELECT count(*) FROM (
			SELECT key, roaring64_agg(id) FILTER (WHERE here) AS rows, roaring64_agg(id) FILTER (WHERE here AND mark) AS marked_rows,
				roaring64_agg(id) AS noted, roaring64_agg(id) FILTER (WHERE mark) AS marked_noted
			FROM (SELECT key, id, mark, true FROM events UNION ALL SELECT key, id, mark, false FROM noted) AS r (key, id, mark, here) GROUP BY key) AS r
			FULL JOIN lists_now AS l USING (key)
			WHERE NOT coalesce(rows, '{}') <@ coalesce(members, '{}') OR NOT coalesce(marked_rows, '{}') <@ coalesce(marked, '{}')
				OR NOT coalesce(members, '{}') <@ coalesce(noted, '{}') OR NOT coalesce(marked, '{}') <@ coalesce(marked_noted, '{}')});
	}
	my $expected = "SELECT key, array_agg(DISTINCT id::bigint ORDER BY id::bigint) AS members,
			coalesce(array_agg(DISTINCT id::bigint ORDER BY id::bigint) FILTER (WHERE mark), '{}') AS marked
		FROM facts GROUP BY key";
	my $found = "SELECT key, members::bigint[], marked::bigint[] FROM sets WHERE NOT roaring64_is_empty(members | marked)";
	return value("SELECT count(*) FROM (($expected EXCEPT $found) UNION ALL ($found EXCEPT $expected)) AS d");
}

# How long who changes rows has waited so far for a rollup, in ms, again and
# again, and when that was.  TRUNCATE waits for a whole step and is left out.
append_to_file("$dir/watch.sql", q{
	SELECT coalesce(round(1000 * max(extract(epoch FROM clock_timestamp() - l.waitstart))), 0),
		round(1000 * extract(epoch FROM clock_timestamp()))
	FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.application_name = 'copier' AND a.pid = ANY (pg_blocking_pids(l.pid))
	WHERE NOT l.granted AND l.mode <> 'AccessExclusiveLock' \watch 0.02
});
sub start_watch
{
	my ($name) = @_;
	return start_program($name, 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', "$dir/watch.sql");
}

my @ways = ('kill -9', 'pg_cancel_backend', 'lock', 'pg_terminate_backend');
my $worst = 0;
my $waited = 0;
my $looks = 0;
my $longest_look = 0;
my %states;
for my $n (0 .. $kills - 1)
{
	my $way = $ways[ $n % @ways ];
	my $target = $n % 3 == 2 || $way eq 'lock' ? 'sets' : (keys %rollup)[ rand 2 ];
	my $writers = start_program('writers', 'pgbench', '-n', '-c', '5', '-j', '2', '-T', '600', '-l', "--log-prefix=$dir/latency$n",
		'--random-seed', $seed + $n, '-f', "$dir/change.sql", '-d', $node->connstr('postgres'));
	usleep 200_000;

	my @watches = (start_watch("watch$n"));
	my $holder;
	if ($way eq 'lock')
	{
		# a writer that goes on and on, and a rollup that does not wait
		$holder = start_program('holder', 'psql', '-X', '-d', $node->connstr('postgres'), '-c',
			'BEGIN; UPDATE facts SET mark = mark WHERE key = 1 AND id < 3; SELECT pg_sleep(2.5); COMMIT');
		usleep 200_000;
	}
	my $call = start_program('call', 'psql', '-X', '-d', $node->connstr('postgres'),
		$way eq 'lock' && $n % 8 < 4 ? ('-c', "SET lock_timeout = '200ms'") : (),
		'-c', "SET application_name = 'copier'", '-c', $rollup{$target});
	usleep 20_000 + rand 1_500_000;
	$states{ value(qq{
		SELECT to_regclass('${target}_rollup') IS NULL AS none \\gset
		\\if :none
		SELECT 'none';
		\\else
		SELECT state FROM ${target}_rollup;
		\\endif}) }++;
	my $pid = value(q{SELECT pid FROM pg_stat_activity WHERE application_name = 'copier'});
	my $log = -s $node->logfile;
	if ($way =~ /^pg/ && $pid ne '')
	{
		value("SELECT $way($pid)");
	}
	my $killed = $way eq 'kill -9' && $pid ne '' && kill 'KILL', $pid;
	# it may have ended meanwhile, and not yet have been waited for
	if (!$call->finish && $killed)
	{
		$node->wait_for_log(qr/database system is ready to accept connections/, $log);
	}
	$holder->finish if defined $holder;
	if ($way eq 'kill -9')
	{
		$writers->kill_kill(grace => 1);
		$writers = start_program('writers', 'pgbench', '-n', '-c', '5', '-j', '2', '-T', '600', '-l', "--log-prefix=$dir/latency$n-again",
			'--random-seed', $seed + 1000 + $n, '-f', "$dir/change.sql", '-d', $node->connstr('postgres'));
	}

	# once more, both of them, to the end
	push @watches, start_watch("watch$n-again");
	for my $t (sort keys %rollup)
	{
		works(call($rollup{$t}), "$n, $way: $t is in step");
		is(differences($t), 0, "$n, $way: $t is what SQL makes of the rows") for 1 .. 3;
		is(value("SELECT count(*) FROM roaring64_rollup_verify('$t')"), 0, "$n, $way: so does verify say of $t");
	}
	is($writers->pumpable ? 'on' : 'off', 'on', "$n, $way: the writers go on");
	$_->kill_kill(grace => 1) for $writers, @watches;
	is(differences($_), 0, "$n, $way: $_ still is") for sort keys %rollup;
	value("SELECT roaring64_rollup_drop('$_')") for $n % 2 ? 'lists' : ('lists', 'sets');
	for my $file (glob "$dir/watch$n.out $dir/watch$n-again.out")
	{
		my $last;
		for (slurp_file($file) =~ /^\d+\|\d+$/mg)
		{
			my ($ms, $now) = split /\|/;
			$looks++;
			$waited = $ms if $ms > $waited;
			$longest_look = $now - $last if defined $last && $now - $last > $longest_look;
			$last = $now;
		}
	}
	for my $file (glob "$dir/latency$n*")
	{
		for (split /\n/, slurp_file($file))
		{
			my $took = (split)[2] // '';
			$worst = $took if $took =~ /^\d+$/ && $took > $worst;
		}
	}
}
diag(sprintf '%d interruptions, in state %s; a writer waited for a rollup for %d ms, in %d looks of up to %d ms, and its transaction took %.1f s, at most',
	$kills, join(', ', map { "$_: $states{$_}" } sort keys %states), $waited, $looks, $longest_look, $worst / 1e6);

# A rollup that waits for the holder of a lock, for 2.5 s, has writers wait behind it;
# more is for machines that are busy, on which looks take longer, too.
cmp_ok($looks, '>', 0, 'somebody looked');
cmp_ok($waited, '<', 3000 + 10 * $longest_look, 'no writer waited for long');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'nothing went wrong in the server');

$node->stop;
done_testing();
