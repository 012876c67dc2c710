# 017_dedup_stress.pl
#	  Random operations on dedup sets at once, with an oracle in their transactions.
#
# There is a set for each product of owned, ascending, snowflake, and a window by
# count, by time or none.  Each of some sessions does, over and over, a few random
# things with one of them, in a transaction of a random isolation level, some in
# savepoints that are rolled back; what the set answers goes into tables of the
# same transaction:
#
#	- claims, one and many, of ids that all sessions want: won by one at most, also
#	  after they were forgotten where ids ascend, and who gets a duplicate finds
#	  that another has won it.  Other windows are longer than an id is wanted;
#	- claims, forgets and loads of ids of its own, whose state it knows exactly,
#	  while others change neighbours in the same chunks;
#	- ids of a key of its own in a set with a window that is altered all the
#	  time: the latest, as many as the window ever had at least, are remembered.
#
# Beside them folds run, two at a time, VACUUM FULL, REINDEX, renames and two-phase
# commits that stay open for a while; sessions are terminated, and the server is
# killed in the middle.  They claim as an ordinary role with row security.  Last, a
# PREPARE TRANSACTION is held by a standby that does not answer.
#
# It goes on until there were 6000 transactions (test/perl/Effort.pm) and each product
# was tried.  With more effort than usual, the number of answers of each product is
# printed.  It has been run with each of these faults, and failed each time:
#
#	- no second look: what a claim finds in the chunks after its insertion is
#	  not looked at (claim() in claim.c, claim_many() in batch.c).  Ids have two
#	  winners;
#	- no primary key: NAME_claims is made without one, and claims are inserted
#	  with ON CONFLICT DO NOTHING that names no columns.  Ids have two winners;
#	- fold copies claims to the chunks without deleting them, and deletes them
#	  in the next transaction.  What was claimed in between is lost: ids have
#	  two winners, answers are wrong, and what is remembered is not what was won;
#	- what was forgotten is read before the key's row is locked, and not after
#	  (_roaring64_dedup_append).  Ids of owned, ascending sets have two winners;
#	- the second look is left out if xmax and the number of running transactions
#	  are the same (dedup_unchanged() in claim.c).  The claim beside the held
#	  PREPARE TRANSACTION wins what another has won.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Time::HiRes qw(time usleep);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $wanted = effort(6000);
my $clients = 6;

my $node = PostgreSQL::Test::Cluster->new('stress');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', q{
fsync = on
max_connections = 50
max_prepared_transactions = 10
deadlock_timeout = 500ms
log_min_messages = fatal
restart_after_crash = off
synchronous_standby_names = nobody
synchronous_commit = local
});
$node->start;

sub query { return $node->safe_psql('postgres', $_[0]); }

# The sets: their names say what they are.
my @sets;
for my $owned ('', 'owned_')
{
	for my $window ('none', 'count', 'time', 'asc_count', 'asc_time')
	{
		push @sets, map { $owned . $window . $_ } '', '_flakes';
	}
}
my @forever = grep { /none/ } @sets;

query(q{
	CREATE EXTENSION roaring64;
	SELECT roaring64_dedup_create('recent', keep => 40, chunk_bits => 8);
	CREATE TABLE won (set text, id bigint);
	CREATE TABLE lost (set text, id bigint);
	CREATE TABLE too_old (set text, id bigint);
	CREATE TABLE mine (set text, client integer, id bigint, there boolean, PRIMARY KEY (set, client, id));
	CREATE TABLE latest (client integer, n bigint, id bigint, PRIMARY KEY (client, n));
	CREATE TABLE violations (what text, detail text);
	CREATE TABLE answers (set text, level text, how text, n bigint);
	CREATE TABLE done (what text, how text, n bigint);
});
for my $set (@sets)
{
	query("SELECT roaring64_dedup_create('$set', chunk_bits => 8"
		  . ($set =~ /owned/ ? ', owned => true' : '')
		  . ($set =~ /asc/ ? ', ascending => true' : '')
		  . ($set =~ /flakes/ ? ', snowflake => true' : '')
		  . ($set =~ /asc_count/ ? ', keep => 10' : $set =~ /count/ ? ', keep => 1000' : '')
		  . ($set =~ /asc_time/ ? q{, remember => '200 ms'} : $set =~ /time/ ? q{, remember => '10 minutes'} : '') . ')');
}
query((q{
	CREATE FUNCTION note(what text, detail text) RETURNS void LANGUAGE sql AS 'INSERT INTO violations VALUES ($1, $2)';

	-- ids that come up now and go on to the next, so that all want the same
	CREATE FUNCTION wanted() RETURNS bigint LANGUAGE sql AS
	'SELECT (extract(epoch FROM clock_timestamp())::bigint % 100000000) * 40 + (random() * 60)::int';

	CREATE FUNCTION claim_shared(set text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		ids bigint[] := ARRAY(SELECT DISTINCT wanted() FROM generate_series(1, CASE WHEN random() < 0.5 THEN 1 ELSE 2 + (random() * 8)::int END));
		answers boolean[];
		level text := current_setting('transaction_isolation');
	BEGIN
		IF cardinality(ids) = 1 THEN
			answers := ARRAY[roaring64_dedup_claim(set, 'k', ids[1])];
		ELSE
			answers := roaring64_dedup_claim_many(set, 'k', ids);
		END IF;
		INSERT INTO answers VALUES (set, level, CASE cardinality(ids) WHEN 1 THEN 'one' ELSE 'many' END, cardinality(ids));
		INSERT INTO won SELECT set, i FROM unnest(ids, answers) AS u (i, a) WHERE a;
		INSERT INTO lost SELECT set, i FROM unnest(ids, answers) AS u (i, a) WHERE NOT a;
		INSERT INTO too_old SELECT set, i FROM unnest(ids, answers) AS u (i, a) WHERE a IS NULL;
		IF level = 'read committed'
			AND EXISTS (SELECT FROM unnest(roaring64_dedup_seen_many(set, 'k', ids)) AS s WHERE NOT s) THEN
			PERFORM note('claimed and not seen', ids::text);
		END IF;
		RETURN 'claim';
	END $$;

	CREATE FUNCTION change_mine(me integer, set text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		x bigint := (random() * 30)::int * 10 + me;
		was boolean := (SELECT there FROM mine AS m WHERE m.set = $2 AND client = me AND id = x);
		kind text := (ARRAY['claim mine', 'claim mine', 'forget', 'load'])[1 + floor(random() * 4)];
		answer boolean;
	BEGIN
		CASE kind
			WHEN 'claim mine' THEN answer := NOT roaring64_dedup_claim(set, 'm', x);
			WHEN 'load' THEN answer := roaring64_dedup_load(set, 'm', ARRAY[x]::roaring64) = 0;
			ELSE answer := roaring64_dedup_forget(set, 'm', x);
		END CASE;
		IF answer IS DISTINCT FROM coalesce(was, false) THEN PERFORM note(kind, set || ' ' || me || ': ' || x); END IF;
		INSERT INTO mine VALUES (set, me, x, kind <> 'forget') ON CONFLICT ON CONSTRAINT mine_pkey DO UPDATE SET there = excluded.there;
		RETURN kind;
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

	CREATE FUNCTION one_of_them(me integer, set text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		CASE floor(random() * 8)::int
			WHEN 0 THEN RETURN change_mine(me, (ARRAY[FOREVER])[1 + floor(random() * 4)]);
			WHEN 1 THEN RETURN claim_latest(me);
			ELSE RETURN claim_shared(set);
		END CASE;
	END $$;

	CREATE PROCEDURE work(me integer, how_long double precision) LANGUAGE plpgsql AS $$
	DECLARE
		until timestamptz := clock_timestamp() + make_interval(secs => how_long);
		what text;
		set text;
	BEGIN
		WHILE clock_timestamp() < until LOOP
			PERFORM set_config('default_transaction_isolation',
				(ARRAY['repeatable read', 'serializable', 'read committed', 'read committed'])[1 + floor(random() * 4)], false);
			COMMIT;
			set := (ARRAY[SETS])[1 + floor(random() * 20)];
			BEGIN
				what := one_of_them(me, set);
				FOR i IN 1 .. (random() * 3)::int * (random() < 0.3)::int LOOP
					PERFORM claim_shared(set);
				END LOOP;
				IF random() < 0.2 THEN
					BEGIN
						PERFORM one_of_them(me, set);
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
		old text := (SELECT chunks FROM none);
		new text := CASE old WHEN 'none_chunks' THEN 'other_chunks' ELSE 'none_chunks' END;
	BEGIN
		EXECUTE format('ALTER TABLE %I RENAME TO %I', old, new);
		UPDATE none SET chunks = new;
	END $$;

	-- an ordinary role, which has nothing but what it was granted
	CREATE ROLE stress LOGIN;
	GRANT CREATE ON SCHEMA public TO stress;
	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO stress;
	ALTER TABLE none_claims ENABLE ROW LEVEL SECURITY;
	CREATE POLICY all_keys ON none_claims USING (key <> '') WITH CHECK (key <> '');
} =~ s/\[SETS\]/'[' . join(', ', map { "'$_'" } @sets) . ']'/er =~ s/\[FOREVER\]/'[' . join(', ', map { "'$_'" } @forever) . ']'/er));

sub start_session
{
	my ($statement, $connection) = @_;
	my $session = { out => '', err => '' };

	$session->{run} = IPC::Run::start(
		[ 'psql', '-X', '-q', '-At', '-d', $node->connstr('postgres') . ($connection ? " $connection" : ''),
			map { ('-c', $_) } ref $statement ? @$statement : $statement ],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

# Errors that belong to what is done to the sessions.
my $expected = qr/terminating connection|server closed the connection|connection to server|the database system is|canceling statement due to lock timeout|could not serialize|deadlock detected|does not exist|being folded by another session|was not folded|identifier "t_\w+" is already in use/;
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
	'VACUUM FULL none_claims, count_claims', 'REINDEX TABLE none_claims', 'SELECT rename_chunks()', 'SELECT rename_chunks()',
	'VACUUM ANALYZE', 'VACUUM FULL recent_chunks', 'VACUUM FULL owned_asc_count_chunks, owned_asc_count_windows',
	(map { "SELECT roaring64_dedup_alter('recent', keep => $_)" } 40, 41, 70, 200),
	"SELECT roaring64_dedup_alter('recent', remember => '1 day')", "SELECT roaring64_dedup_alter('recent')",
	(map { "BEGIN; SELECT claim_shared('$_'); PREPARE TRANSACTION 't_$_'" } @sets),
	('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE \'CALL%\' ORDER BY random() LIMIT 1') x 3);

# What has been done so far, of which there may be too little yet.
sub transactions { return query(q{SELECT count(*) FROM done WHERE how = 'done'}); }
sub all_tried
{
	return query('SELECT count(*) FROM (SELECT DISTINCT set, level, how FROM answers) AS a') == 6 * @sets
	  && query(q{SELECT count(*) FROM (SELECT FROM done WHERE how = 'done' GROUP BY what HAVING count(*) > 3) AS d}) == 5
	  && query('SELECT count(DISTINCT set) FROM lost') >= 20
	  && query('SELECT count(DISTINCT set) FROM too_old') >= 1;
}

my $rounds = 1 + effort(1);
for my $round (1 .. $rounds)
{
	my %session;

	while (transactions() < $wanted * $round / $rounds || $round == $rounds && !all_tried())
	{
		for my $client (0 .. $clients - 1, 'fold 1', 'fold 2', 'other')
		{
			my $session = $session{$client};

			next if $session && runs($session);
			finish_session($session) if $session;
			$session{$client} =
				$client =~ /^fold/ ? start_session([ map { "CALL roaring64_dedup_fold('" . $sets[ rand @sets ] . "')" } 1 .. 5 ], 'user=stress')
			  : $client eq 'other' ? start_session($others[ rand @others ])
			  : start_session(sprintf('CALL work(%d, %f)', $client, 2), 'user=stress');
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

# While PREPARE TRANSACTION waits for the standby, its transaction is listed twice
# among those that run.  If a fold commits meanwhile, the list is as long as before,
# and the claim that has looked before must look again after it.
query(q{
	CREATE TABLE beside (i integer);
	CREATE FUNCTION wait_for_prepare() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		WHILE current_setting('application_name') = 'claimer' AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep') LOOP
			PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		END LOOP;
		RETURN NEW;
	END $$;
});

sub sleeps
{
	my ($name) = @_;

	return $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = '$name' AND wait_event = 'PgSleep'");
}

sub claim_beside_prepare
{
	my ($set, $call) = @_;
	my $chunks = query("SELECT chunks FROM $set");
	my $place = $set =~ /flakes/ ? 'roaring64_snowflake_fold(1)' : '1::bigint';

	query("DELETE FROM $chunks WHERE key = 'held'; SELECT roaring64_dedup_claim('$set', 'held', 1);"
		. "CREATE TRIGGER wait BEFORE INSERT ON ${set}_claims FOR EACH ROW EXECUTE FUNCTION wait_for_prepare()");
	# of three transactions with a number the first is a fold, the last has ended
	query("BEGIN; DELETE FROM ${set}_claims WHERE key = 'held';"
		. "INSERT INTO $chunks SELECT 'held', $place >> 8, 1000000000000000, ARRAY[$place]::roaring64; PREPARE TRANSACTION 'fold'");
	my $prepares = start_session([ 'SET synchronous_commit = on', 'BEGIN', 'INSERT INTO beside VALUES (1)',
		q{DO $$ BEGIN WHILE EXISTS (SELECT FROM pg_prepared_xacts WHERE gid = 'fold') LOOP PERFORM pg_sleep(0.01); END LOOP; END $$},
		q{PREPARE TRANSACTION 'held'} ], 'application_name=preparer');
	sleeps('preparer');
	query('INSERT INTO beside VALUES (2)');
	my $claims = start_session("SELECT $call", 'application_name=claimer');
	sleeps('claimer');
	query(q{COMMIT PREPARED 'fold'});
	$claims->{run}->finish;
	query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'preparer'});
	$prepares->{run}->finish;
	query(qq{ROLLBACK PREPARED 'held'; DROP TRIGGER wait ON ${set}_claims});
	return $claims->{out} . $claims->{err};
}

for my $set (grep { !/owned/ } @sets)
{
	is(claim_beside_prepare($set, "roaring64_dedup_claim('$set', 'held', 1)"), "f\n", "$set: a claim beside a held PREPARE is a duplicate");
	is(claim_beside_prepare($set, "roaring64_dedup_claim_many('$set', 'held', '{1}')"), "{f}\n", '... and one of many');
}

diag(query(q{SELECT string_agg(what || ' ' || how || ' ' || n, ', ' ORDER BY what, how) FROM (SELECT what, how, sum(n) AS n FROM done GROUP BY what, how) AS d}));
if ($wanted > 6000)
{
	diag("counted answers of each set: read committed (one, many), repeatable read, serializable");
	diag("counted $_") for split /\n/, query(q{
		SELECT format('%s %s = %s', rpad(set, 24), string_agg(n, '  ' ORDER BY level), sum(total)) FROM (
			SELECT set, level, string_agg(n::text, ' ' ORDER BY how DESC) AS n, sum(n) AS total FROM (
				SELECT set, level, how, sum(n) AS n FROM answers GROUP BY set, level, how) AS a GROUP BY set, level) AS b
		GROUP BY set ORDER BY set});
	diag('counted ' . query('SELECT sum(n) FROM answers') . ' answers in all');
}
is(join("\n", @unexpected), '', 'no error but those that had to be');
is(query('SELECT what, count(*), min(detail) FROM violations GROUP BY what'), '', 'no answer was wrong');
is(query('SELECT set, id, count(*) FROM won GROUP BY set, id HAVING count(*) > 1 LIMIT 5'), '', 'each id has one winner');
is(query('SELECT set, count(*) FROM (SELECT set, id FROM lost EXCEPT SELECT set, id FROM won) AS l GROUP BY set'), '', 'who lost, lost to a winner');
is(query(q{SELECT set, count(*) FROM too_old AS t WHERE set !~ 'asc' OR id > (SELECT max(id) FROM won AS w WHERE w.set = t.set) GROUP BY set}), '',
	'only what others are above is too old');
for my $turn ('before', 'after')
{
	if ($turn eq 'after') { query("CALL roaring64_dedup_fold('$_')") for @sets; }
	for my $set (@sets)
	{
		my $what = $set =~ /none/ ? '=' : '<@';

		is(query("SELECT roaring64_dedup_export('$set', 'k') $what coalesce(roaring64_agg(id), '{}') FROM won WHERE set = '$set'"), 't', "$set: remembered is what was won, $turn the last fold");
		next if $set !~ /none/;
		is(query("SELECT roaring64_dedup_export('$set', 'm') = coalesce(roaring64_agg(id), '{}') FROM mine WHERE set = '$set' AND there"), 't', "$set: claimed and forgotten alone, $turn the last fold");
	}
}
ok(all_tried(), 'all products were tried, and there was all that can be');

$node->stop;
done_testing();
