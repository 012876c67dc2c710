# 032_dict.pl
#	  A dictionary whose writers are killed, and copied.
#
# Eight writers encode batches of random keys, some of which are new and many of
# which another writer adds at the same moment, at three isolation levels; some
# transactions are rolled back.  Each writes down what it was told, in the same
# transaction.  Meanwhile backends are killed, and the server.  In the end every
# key that was told has one code, the one that each of its writers was told, and
# few codes are lost.  A standby looks keys up, and pg_dump and logical replication
# keep all codes and add none twice.
#
# That goes on until 800 batches are encoded (test/perl/Effort.pm); the server is
# killed after half of them.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use Time::HiRes qw(usleep);

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $wanted = effort(800);
my $kills = effort(1);
my $writers = 8;
seed();

my $node = start_server('dict', conf => "restart_after_crash = on\n", allows_streaming => 'logical');
value(q{
	CREATE EXTENSION roaring64_tables CASCADE;
	SELECT roaring64_dict_create('users', 'text');
	CREATE TABLE told (key text NOT NULL, code bigint NOT NULL);
	CREATE TABLE counted (encoded bigint, refused bigint);
	-- a third of the keys is new, and of these a few are those of another writer
	CREATE PROCEDURE write(rounds int) LANGUAGE plpgsql AS $$
	DECLARE
		keys text[];
		codes bigint[];
	BEGIN
		FOR i IN 1 .. rounds LOOP
			keys := ARRAY(SELECT 'key ' || floor((SELECT coalesce(max(code), 0) * 1.5 + 20000 FROM users) * random())
				FROM generate_series(1, 1 + floor(random() * 200)::int));
			BEGIN
				codes := roaring64_dict_encode('users', keys);
				IF cardinality(codes) <> cardinality(keys) OR array_position(codes, NULL) > 0 THEN
					RAISE 'not all keys have codes';
				END IF;
				INSERT INTO told SELECT DISTINCT key, code FROM unnest(keys, codes) AS t (key, code);
				INSERT INTO counted VALUES (cardinality(keys), 0);
			EXCEPTION WHEN serialization_failure THEN
				INSERT INTO counted VALUES (0, 1);
			END;
			COMMIT;
		END LOOP;
	END $$;
});

my $errors = '';

# Writes until the time is over, in sessions that may be killed.
sub writer
{
	my $level = ('repeatable read', 'serializable', ('read committed') x 6)[ rand 8 ];

	return start_session([ "SET default_transaction_isolation = '$level'", 'CALL write(200)' ]);
}

# What a session may say that was killed, met a server that had been, or was
# refused when it wrote down that it had been refused.
sub end_writer
{
	my ($session) = @_;

	finish($session);
	$errors .= $session->{err}
	  if $session->{err} =~ /ERROR|FATAL|PANIC/
	  && $session->{err} !~ /could not serialize access|terminating connection|the database system is/
	  && $session->{err} !~ /server closed the connection|Connection refused|No such file/;
}

my ($killed, $crashed) = (0, 0);
my $encoded_batches = 0;
my @sessions = map { writer() } 1 .. $writers;
while ($encoded_batches < $wanted)
{
	usleep(50_000 + rand 100_000);
	$encoded_batches = value('SELECT count(*) FROM counted WHERE encoded > 0');
	if ($encoded_batches > $wanted * ($crashed + 1) / ($kills + 1) && $crashed < $kills)
	{
		$crashed++;
		kill_server($node);
		end_writer($_) for @sessions;
		start_after_kill($node);
		@sessions = map { writer() } 1 .. $writers;
	}
	elsif (rand() < 0.1)
	{
		$killed += value(
			q{SELECT count(pg_terminate_backend(pid))
				FROM (SELECT pid FROM pg_stat_activity WHERE query LIKE 'CALL write%' LIMIT 1) AS one});
	}
	for my $session (@sessions)
	{
		next if $session->{run}->pumpable;
		end_writer($session);
		$session = writer();
	}
}
value(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL write%'});
end_writer($_) for @sessions;
is($errors, '', 'no session ends with an error of its own');

my ($batches, $encoded, $refused) = split /\|/,
	value('SELECT count(*) FILTER (WHERE encoded > 0), sum(encoded), sum(refused) FROM counted');
my ($keys, $last) = split /\|/, value(q{SELECT keys, last_code FROM roaring64_dict_stats('users')});
note "$encoded keys in $batches batches; refused $refused, killed $killed sessions and the server $crashed times";
note sprintf '%d keys, %.2f %% of the codes lost', $keys, 100 * (1 - $keys / $last);
cmp_ok($keys, '>', 1000, 'there are keys');
cmp_ok($crashed, '>=', 1, 'the server was killed');
# known keys draw no codes; what is refused or killed has drawn some
cmp_ok($keys, '>', 0.7 * $last, 'few codes are lost');
is(value('SELECT count(*) FROM (SELECT key FROM told GROUP BY key HAVING count(DISTINCT code) > 1) AS t'),
	0, 'no key has two codes');
is(value('SELECT count(*) FROM (SELECT code FROM told GROUP BY code HAVING count(DISTINCT key) > 1) AS t'),
	0, 'no code has two keys');
is(value('SELECT count(*) FROM told LEFT JOIN users USING (key, code) WHERE users.key IS NULL'),
	0, 'the dictionary has all that writers were told');
is(value('SELECT count(*) FROM (SELECT key FROM users EXCEPT SELECT key FROM told) AS t'), 0, 'and nothing else');

# Copies.
my $all = q{SELECT count(*), md5(string_agg(key || code, ' ' ORDER BY code)) FROM users};
my $before = value($all);
my $standby = PostgreSQL::Test::Cluster->new('dict_standby');
$node->backup('base');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
my $some = q{SELECT roaring64_dict_lookup('users', (SELECT array_agg(key ORDER BY code) FROM users))
	= (SELECT array_agg(code ORDER BY code) FROM users)};
is($standby->safe_psql('postgres', $some), 't', 'a standby looks up');
my $known = q{SELECT roaring64_dict_encode('users', (SELECT array_agg(key) FROM users)) IS NOT NULL};
is($standby->safe_psql('postgres', $known), 't', 'and encodes known keys');
my ($status, $out, $err) = $standby->psql('postgres', q{SELECT roaring64_dict_encode('users', '{nobody}'::text[])});
like($err, qr/cannot execute \w+ in a read-only transaction/, 'but not new ones');
$standby->stop;

value('CREATE DATABASE restored');
value('CREATE DATABASE subscriber');
my $dump = $PostgreSQL::Test::Utils::tmp_check . '/dict.sql';
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-f', $dump ], 'dumped');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'restored');
is($node->safe_psql('restored', $all), $before, 'with all codes');
my $add = q{SELECT (roaring64_dict_encode('users', '{brand new}'::text[]))[1]
	> (SELECT max(code) FROM users WHERE key <> 'brand new')};
is($node->safe_psql('restored', $add), 't', 'a new key gets a later one');

$node->safe_psql('subscriber',
	q{CREATE EXTENSION roaring64_tables CASCADE; SELECT roaring64_dict_create('users', 'text')});
value('CREATE PUBLICATION dict FOR TABLE users');
value(q{SELECT pg_create_logical_replication_slot('dict', 'pgoutput')});
$node->safe_psql('subscriber',
	sprintf q{CREATE SUBSCRIPTION dict CONNECTION $c$%s$c$ PUBLICATION dict WITH (create_slot = false)},
		$node->connstr('postgres'));
$node->poll_query_until('subscriber', "SELECT count(*) = $keys FROM users") or die 'no copy';
is($node->safe_psql('subscriber', $all), $before, 'logical replication brings all codes');
$node->safe_psql('subscriber',
	'ALTER SUBSCRIPTION dict DISABLE; ALTER SUBSCRIPTION dict SET (slot_name = NONE); DROP SUBSCRIPTION dict');
# the statement of docs/dictionary.md
$node->safe_psql('subscriber', q{SELECT setval(pg_get_serial_sequence('users', 'code'), max(code)) FROM users});
is($node->safe_psql('subscriber', $add), 't', 'and a new key gets a later one there once the sequence is set');

$node->stop;
done_testing();
