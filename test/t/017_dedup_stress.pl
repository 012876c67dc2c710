# 017_dedup_stress.pl
#	  Random operations on dedup sets at once, with an oracle in their transactions.
#
# Each of some sessions does, over and over, a few random things in a transaction
# of a random isolation level, some in savepoints that are rolled back; what the
# set answers goes into tables of the same transaction:
#
#	- claims, one and many, of ids that all sessions want: won by one at most, and
#	  who gets a duplicate finds that another has won it;
#	- claims and forgets of ids of its own, whose state it knows exactly, while
#	  others change neighbours in the same chunks;
#	- ids of a key of its own in a set with a window that is altered all the
#	  time: the latest, as many as the window ever had at least, are remembered.
#
# Beside them folds run, two at a time, VACUUM FULL, REINDEX, renames and two-phase
# commits; sessions are terminated, and the server is killed in the middle.  They
# claim as an ordinary role with row security.
#
# $ROARING64_TEST_STRESS says for how many seconds; 60 if not given.  It has been
# run for 40 seconds with each of these faults, and failed each time:
#
#	- no second look: what a claim finds in the chunks after its insertion is
#	  not looked at (dedup_claim() in claim.c, claim_many() in many.c).  Ids
#	  have two winners;
#	- no primary key: NAME_claims is made without one, and claims are inserted
#	  with ON CONFLICT DO NOTHING that names no columns.  Ids have two winners;
#	- fold copies claims to the chunks without deleting them, and deletes them
#	  in the next transaction.  What was claimed in between is lost: ids have
#	  two winners, answers are wrong, and what is remembered is not what was won.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Time::HiRes qw(time usleep);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{ROARING64_TEST_STRESS} || 60;
my $clients = 6;

my $node = PostgreSQL::Test::Cluster->new('stress');
$node->init;
$node->append_conf('postgresql.conf', q{
fsync = on
max_prepared_transactions = 10
deadlock_timeout = 500ms
log_min_messages = fatal
restart_after_crash = off
});
$node->start;

sub query { return $node->safe_psql('postgres', $_[0]); }

query(q{
	CREATE EXTENSION roaring64;
	SELECT roaring64_dedup_create('shared', chunk_bits => 8),
		roaring64_dedup_create('owned', owned => true, chunk_bits => 8),
		roaring64_dedup_create('recent', keep => 40, chunk_bits => 8);
	CREATE TABLE won (set text, id bigint);
	CREATE TABLE lost (set text, id bigint);
	CREATE TABLE mine (client integer, id bigint, there boolean, PRIMARY KEY (client, id));
	CREATE TABLE latest (client integer, n bigint, id bigint, PRIMARY KEY (client, n));
	CREATE TABLE violations (what text, detail text);
	CREATE TABLE done (what text, how text, n bigint);

	CREATE FUNCTION note(what text, detail text) RETURNS void LANGUAGE sql AS 'INSERT INTO violations VALUES ($1, $2)';

	-- ids that come up now and go on to the next, so that all want the same
	CREATE FUNCTION wanted() RETURNS bigint LANGUAGE sql AS
	'SELECT (extract(epoch FROM clock_timestamp())::bigint % 100000000) * 40 + (random() * 60)::int';

	CREATE FUNCTION claim_shared(set text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		ids bigint[] := ARRAY(SELECT DISTINCT wanted() FROM generate_series(1, 1 + (random() * 8)::int));
		answers boolean[];
	BEGIN
		IF cardinality(ids) = 1 THEN
			answers := ARRAY[roaring64_dedup_claim(set, 'k', ids[1])];
		ELSE
			answers := roaring64_dedup_claim_many(set, 'k', ids);
		END IF;
		INSERT INTO won SELECT set, i FROM unnest(ids, answers) AS u (i, a) WHERE a;
		INSERT INTO lost SELECT set, i FROM unnest(ids, answers) AS u (i, a) WHERE NOT a;
		IF NOT (SELECT bool_and(s) FROM unnest(roaring64_dedup_seen_many(set, 'k', ids)) AS s)
			AND current_setting('transaction_isolation') = 'read committed' THEN
			PERFORM note('claimed and not seen', ids::text);
		END IF;
		RETURN 'shared';
	END $$;

	CREATE FUNCTION change_mine(me integer) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		x bigint := (random() * 30)::int * 10 + me;
		was boolean := (SELECT there FROM mine WHERE client = me AND id = x);
		answer boolean;
	BEGIN
		IF random() < 0.5 THEN
			answer := roaring64_dedup_claim('shared', 'm', x);
			IF answer = coalesce(was, false) THEN PERFORM note('claim', me || ': ' || x); END IF;
			INSERT INTO mine VALUES (me, x, true) ON CONFLICT (client, id) DO UPDATE SET there = true;
			RETURN 'claim';
		ELSIF random() < 0.8 THEN
			answer := roaring64_dedup_forget('shared', 'm', x);
			IF answer <> coalesce(was, false) THEN PERFORM note('forget', me || ': ' || x); END IF;
			INSERT INTO mine VALUES (me, x, false) ON CONFLICT (client, id) DO UPDATE SET there = false;
			RETURN 'forget';
		END IF;
		answer := roaring64_dedup_load('shared', 'm', ARRAY[x]::roaring64) = 1;
		IF answer = coalesce(was, false) THEN PERFORM note('load', me || ': ' || x); END IF;
		INSERT INTO mine VALUES (me, x, true) ON CONFLICT (client, id) DO UPDATE SET there = true;
		RETURN 'load';
	END $$;

	CREATE FUNCTION claim_latest(me integer) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		last bigint := coalesce((SELECT max(n) FROM latest WHERE client = me), 0);
		count integer := 1 + (random() * 12)::int;
		ids bigint[] := ARRAY(SELECT hashint8extended(last + i, me) FROM generate_series(1, count) AS i);
	BEGIN
		IF NOT (SELECT bool_and(a) FROM unnest(roaring64_dedup_claim_many('recent', 'c' || me, ids)) AS a) THEN
			PERFORM note('was not new', me || ': ' || last);
		END IF;
		INSERT INTO latest SELECT me, last + i, ids[i] FROM generate_series(1, count) AS i;
		ids := ARRAY(SELECT id FROM latest WHERE client = me ORDER BY n DESC LIMIT 40);
		IF EXISTS (SELECT FROM unnest(roaring64_dedup_seen_many('recent', 'c' || me, ids)) AS s WHERE NOT s) THEN
			PERFORM note('forgotten early', me || ': ' || last);
		END IF;
		RETURN 'window';
	END $$;

	CREATE FUNCTION one_of_them(me integer) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		CASE (random() * 5)::int
			WHEN 0, 1 THEN RETURN claim_shared('shared');
			WHEN 2 THEN RETURN claim_shared('owned');
			WHEN 3, 4 THEN RETURN change_mine(me);
			ELSE RETURN claim_latest(me);
		END CASE;
	END $$;

	CREATE PROCEDURE work(me integer, how_long double precision) LANGUAGE plpgsql AS $$
	DECLARE
		until timestamptz := clock_timestamp() + make_interval(secs => how_long);
		what text;
		level float8;
	BEGIN
		WHILE clock_timestamp() < until LOOP
			level := random();
			PERFORM set_config('default_transaction_isolation', CASE WHEN level < 0.15 THEN 'repeatable read'
				WHEN level < 0.25 THEN 'serializable' ELSE 'read committed' END, false);
			COMMIT;
			BEGIN
				what := one_of_them(me);
				IF random() < 0.2 THEN
					BEGIN
						PERFORM one_of_them(me);
						RAISE division_by_zero;
					EXCEPTION WHEN division_by_zero THEN
						NULL;
					END;
				END IF;
				IF random() < 0.1 THEN PERFORM pg_sleep(random() * 0.02); END IF;
				IF random() < 0.1 THEN RAISE division_by_zero; END IF;
				INSERT INTO done VALUES (what, 'done', 1);
			EXCEPTION
				WHEN division_by_zero THEN NULL;
				-- 40001, a deadlock of two changes in one transaction, a table that is being renamed
				WHEN serialization_failure OR deadlock_detected OR undefined_table THEN
					INSERT INTO done VALUES (what, sqlstate, 1);
			END;
		END LOOP;
	END $$;

	-- tables are renamed with what names them, in one transaction
	CREATE FUNCTION rename_chunks() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		old text := (SELECT chunks FROM shared);
		new text := CASE old WHEN 'shared_chunks' THEN 'other_chunks' ELSE 'shared_chunks' END;
	BEGIN
		EXECUTE format('ALTER TABLE %I RENAME TO %I', old, new);
		UPDATE shared SET chunks = new;
	END $$;

	-- an ordinary role, which has nothing but what it was granted
	CREATE ROLE stress LOGIN;
	GRANT CREATE ON SCHEMA public TO stress;
	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO stress;
	ALTER TABLE shared_claims ENABLE ROW LEVEL SECURITY;
	CREATE POLICY all_keys ON shared_claims USING (key <> '') WITH CHECK (key <> '');
});

sub start_session
{
	my ($statement, $user) = @_;
	my $session = { out => '', err => '' };

	$session->{run} = IPC::Run::start(
		[ 'psql', '-X', '-q', '-d', $node->connstr('postgres') . ($user ? " user=$user" : ''), '-c', $statement ],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

# Errors that belong to what is done to the sessions.
my $expected = qr/terminating connection|server closed the connection|connection to server|the database system is|canceling statement due to lock timeout|could not serialize|deadlock detected|does not exist|being folded by another session|was not folded|identifier "t\d" is already in use/;
my @unexpected;

sub runs
{
	my ($session) = @_;

	return $session->{run}->pumpable && do { $session->{run}->pump_nb; $session->{run}->pumpable };
}

sub end_prepared
{
	for my $gid (split /\n/, query('SELECT gid FROM pg_prepared_xacts ORDER BY random() LIMIT 1'))
	{
		query((rand() < 0.6 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'");
	}
	return;
}

# What they wait for may be a prepared transaction.
sub wait_for
{
	while (grep { runs($_) } @_)
	{
		end_prepared();
		usleep(100_000);
	}
	return;
}

sub finish_session
{
	my ($session) = @_;

	$session->{run}->finish;
	push @unexpected, grep { /(?:ERROR|FATAL|PANIC):/ && !/$expected/ } split /\n/, $session->{err};
	return;
}

my @others = (
	'VACUUM FULL shared_claims', 'REINDEX TABLE shared_claims', 'SELECT rename_chunks()', 'SELECT rename_chunks()',
	'VACUUM ANALYZE', 'VACUUM FULL recent_chunks', 'VACUUM FULL owned_chunks, owned_windows',
	(map { "SELECT roaring64_dedup_alter('recent', keep => $_)" } 40, 41, 70, 200),
	"SELECT roaring64_dedup_alter('recent', remember => '1 day')",
	(map { my $id = $_; "BEGIN; SELECT claim_shared('shared'); PREPARE TRANSACTION 't$id'" } 1 .. 4),
	('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE \'CALL%\' ORDER BY random() LIMIT 1') x 3);
my $rounds = $seconds > 200 ? int($seconds / 60) : 3;
my $started = time;
for my $round (1 .. $rounds)
{
	my $length = $seconds / $rounds;
	my $stop = $started + $length * $round;
	my %session;

	while (time < $stop)
	{
		for my $client (0 .. $clients - 1, 'fold 1', 'fold 2', 'other')
		{
			my $session = $session{$client};

			next if $session && runs($session);
			finish_session($session) if $session;
			$session{$client} =
				$client =~ /^fold/ ? start_session("CALL roaring64_dedup_fold('shared')", 'stress')
			  : $client eq 'other' ? start_session($others[ rand @others ])
			  : start_session(sprintf('CALL work(%d, %f)', $client, 2), 'stress');
		}
		if (rand() < 0.1)
		{
			my $fold = start_session(q{CALL roaring64_dedup_fold('recent')});

			wait_for($fold);
			finish_session($fold);
		}
		end_prepared();
		usleep(100_000);
	}
	if ($round < $rounds) { kill_server($node); }
	else { wait_for(values %session); }
	finish_session($_) for values %session;
	start_after_kill($node) if $round < $rounds;
}
query("ROLLBACK PREPARED '$_'") for split /\n/, query('SELECT gid FROM pg_prepared_xacts');

diag(query(q{SELECT string_agg(what || ' ' || how || ' ' || n, ', ' ORDER BY what, how) FROM (SELECT what, how, sum(n) AS n FROM done GROUP BY what, how) AS d}));
is(join("\n", @unexpected), '', 'no error but those that had to be');
is(query('SELECT what, count(*), min(detail) FROM violations GROUP BY what'), '', 'no answer was wrong');
for my $turn ('before', 'after')
{
	query(q{CALL roaring64_dedup_fold('shared')}) if $turn eq 'after';
	for my $set ('shared', 'owned')
	{
		is(query("SELECT id, count(*) FROM won WHERE set = '$set' GROUP BY id HAVING count(*) > 1"), '', "$set: each id has one winner");
		is(query("SELECT count(*) FROM (SELECT id FROM lost WHERE set = '$set' EXCEPT SELECT id FROM won WHERE set = '$set') AS l"), '0', "$set: who lost, lost to a winner");
		is(query("SELECT roaring64_dedup_export('$set', 'k') = coalesce(roaring64_agg(id), '{}') FROM won WHERE set = '$set'"), 't', "$set: remembered is what was won, $turn the last fold");
	}
	is(query(q{SELECT roaring64_dedup_export('shared', 'm') = coalesce(roaring64_agg(id), '{}') FROM mine WHERE there}), 't', "claimed and forgotten alone, $turn the last fold");
}
for my $what ('shared', 'claim', 'forget', 'load', 'window')
{
	cmp_ok(query("SELECT coalesce(sum(n), 0) FROM done WHERE what = '$what' AND how = 'done'"), '>', 3, "there were transactions with $what");
}
cmp_ok(query('SELECT count(*) FROM lost'), '>', 5, 'and ids that several wanted');

$node->stop;
done_testing();
