# 016_dedup_kill.pl
#	  Dedup sets survive what ends servers: kill -9, failover, dump and restore.
#
# Clients process messages: a transaction claims an id and, if it is new, stores
# a row.  Another folds.  In the middle of that the server is killed, again and
# again, started, and what is there compared:
#
#	- every message that is stored has its claim, and every claim its message;
#	- what was acknowledged is there;
#	- resending everything processes nothing twice.
#
# A message that comes again may be taken back: its row goes, and its id is forgotten.
#
# Then the same ids must be there on a standby, in a dump that is restored, and
# in a prepared transaction that outlives a crash.
#
# It is killed once by default (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use File::Temp qw(tempdir);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $kills = effort(1);
my $clients = 4;
my $dir = tempdir(CLEANUP => 1);

my $node = start_server('kill', allows_streaming => 1, conf => q{
fsync = on
max_prepared_transactions = 5
restart_after_crash = off
});

# Clients draw from the same 100 ids again and again, then from the next 100,
# so that there are duplicates at all times, concurrent ones and folded ones.
value(q{
	CREATE EXTENSION roaring64;
	SELECT roaring64_dedup_create('seen'), roaring64_dedup_create('uuids', id_type => 'uuid'),
		roaring64_dedup_create('imported');
	CREATE TABLE messages (id bigint, client integer);
	CREATE TABLE rounds (n integer);
	INSERT INTO rounds VALUES (0);

	CREATE FUNCTION process(message bigint, by_client integer) RETURNS boolean
	LANGUAGE plpgsql AS $$
	BEGIN
		IF NOT roaring64_dedup_claim('seen', 'k', message) THEN RETURN false; END IF;
		-- the same of its UUID, which must have the same answer
		IF NOT roaring64_dedup_claim('uuids', 'k', md5(message::text)::uuid) THEN
			RAISE 'the UUID of % is there', message;
		END IF;
		INSERT INTO messages VALUES (message, by_client);
		RETURN true;
	END $$;

	-- who forgets one that was processed has it alone
	CREATE FUNCTION take_back(message bigint) RETURNS boolean
	LANGUAGE plpgsql AS $$
	BEGIN
		IF NOT roaring64_dedup_forget('seen', 'k', message) THEN RETURN false; END IF;
		IF NOT roaring64_dedup_forget('uuids', 'k', md5(message::text)::uuid) THEN
			RAISE 'the UUID of % is not there', message;
		END IF;
		DELETE FROM messages AS m WHERE m.id = message;
		IF NOT FOUND THEN RAISE 'message % is not there', message; END IF;
		RETURN true;
	END $$;

	CREATE PROCEDURE work(by_client integer) LANGUAGE plpgsql AS $$
	DECLARE
		base bigint := (SELECT max(n) FROM rounds) * 100000::bigint;
		id bigint;
	BEGIN
		FOR i IN 0..50000 LOOP
			id := base + i / 10 + (random() * 100)::int;
			IF process(id, by_client) THEN
				RAISE NOTICE 'acknowledged %', id;
			END IF;
			COMMIT;
			-- of those of ten alone, so that others are there when they were acknowledged
			IF i % 7 = 0 THEN PERFORM take_back(id - id % 10); COMMIT; END IF;
			IF by_client = 0 AND i % 50 = 49 THEN
				CALL roaring64_dedup_fold('seen');
				CALL roaring64_dedup_fold('uuids');
			END IF;
		END LOOP;
	END $$;
});

my $compare = q{
	SELECT (SELECT count(*) FROM messages) > 0,
		(SELECT count(*) - count(DISTINCT id) FROM messages),
		(SELECT coalesce(roaring64_agg(id), '{}') = roaring64_dedup_export('seen', 'k') FROM messages)
			AND (SELECT array_agg(md5(id::text)::uuid ORDER BY md5(id::text)::uuid)
				= roaring64_dedup_export_uuids('uuids', 'k') FROM messages)};
my %acknowledged;

for my $round (1 .. $kills)
{
	value("INSERT INTO rounds VALUES ($round)");
	my @clients = map { start_session("CALL work($_)") } 0 .. $clients - 1;
	my $deadline = time + 60;
	my $wanted = 100 + int rand 400;

	# kill it while they are at it, at no particular moment
	while (time < $deadline)
	{
		$_->{run}->pump_nb for @clients;
		last if grep({ $_->{err} =~ tr/\n// } @clients) == $clients
		  && length(join '', map { $_->{err} } @clients) > 24 * $wanted;
		select undef, undef, undef, 0.01;
	}
	if ($round % 4 == 0) { $node->stop('immediate') }
	else { kill_server($node) }
	finish($_) for @clients;
	# the notice of an id comes before its commit, but that of the next one after it
	for my $client (@clients)
	{
		my @ids = $client->{err} =~ /acknowledged (\d+)\n/g;
		pop @ids;
		$acknowledged{$_} = 1 for grep { $_ % 10 } @ids;
	}
	start_after_kill($node);
	is(value($compare), 't|0|t', "round $round: messages and claims are the same, each once");
}

cmp_ok(scalar keys %acknowledged, '>', 50 * $kills, 'messages were processed');
my $ids = join ',', keys %acknowledged;
is(value("SELECT count(*) FROM unnest('{$ids}'::bigint[]) AS a (id)
		WHERE NOT EXISTS (SELECT FROM messages AS m WHERE m.id = a.id)"),
	'0',
	'what was acknowledged is there');
is(value('SELECT count(*) FROM (SELECT DISTINCT id FROM messages) m WHERE process(id, 9)'),
	'0',
	'resending all processes nothing twice');
value(q{CALL roaring64_dedup_fold('seen')});
is(value('SELECT count(*) FROM (SELECT DISTINCT id FROM messages) m WHERE process(id, 9)'),
	'0',
	'and neither after another fold');

#
# Two-phase commit: prepared, through a crash, committed or not.
#
value(q{
	BEGIN; SELECT process(-1, 0); PREPARE TRANSACTION 'one';
	BEGIN; SELECT process(-2, 0); PREPARE TRANSACTION 'two';
	BEGIN; SELECT roaring64_dedup_import('imported', 'bulk', '{-3}'); PREPARE TRANSACTION 'three';
});
$node->stop('immediate');
$node->start;
value(q{CALL roaring64_dedup_fold('seen')});
my ($status, $out, $err) = $node->psql('postgres',
	q{SET statement_timeout = '500ms'; SELECT process(-1, 0)});
like($err, qr/statement timeout/, 'a claim waits for one that is prepared');
($status, $out, $err) = $node->psql('postgres',
	q{SET statement_timeout = '500ms'; SELECT roaring64_dedup_import('imported', 'bulk', '{-4}')});
like($err, qr/statement timeout/, 'and an import for another');
value(q{COMMIT PREPARED 'one'; ROLLBACK PREPARED 'two'; COMMIT PREPARED 'three'});
is(value(q{SELECT process(-1, 0), process(-2, 0), roaring64_dedup_claim('imported', 'bulk', -3)}),
	'f|t|f',
	'one that was committed is a duplicate, one that was rolled back is new');

#
# A duplicate writes no WAL, and needs no transaction id.
#
for my $place ('claimed', 'folded')
{
	value(q{SELECT process(-5, 0)});
	value(q{CALL roaring64_dedup_fold('seen')})
	  if $place eq 'folded';
	# hint bits are set, pages pruned, a checkpoint is over
	value(q{SELECT roaring64_dedup_claim('seen', 'k', -5); CHECKPOINT});
	is(value(q{
		SELECT count(*) FILTER (WHERE roaring64_dedup_claim('seen', 'k', -5)
			OR roaring64_dedup_forget('seen', 'k', -7)),
			count(*) FILTER (WHERE roaring64_dedup_claim_many('seen', 'k', ARRAY[-5, -1]) <> '{f,f}'),
			pg_current_xact_id_if_assigned() IS NULL
		FROM generate_series(1, 1000)}),
		'0|0|t', "a duplicate that is $place, and forgetting what is not there, need no transaction id");
	# what this backend writes: the server's own records come at any time
	my $explained = value(q{EXPLAIN (ANALYZE, WAL, TIMING OFF)
		SELECT roaring64_dedup_claim('seen', 'k', -5) FROM generate_series(1, 1000)});
	my $written = $explained =~ /WAL:.* bytes=(\d+)/ ? $1 : 0;
	cmp_ok($written, '<', 1000,
		"a thousand duplicates that are $place do not write a byte each");
}

#
# A standby: asked, refused to claim, promoted.
#
value(q{SELECT roaring64_dedup_create('brief'); ALTER TABLE brief_claims SET UNLOGGED});
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
value(q{SELECT process(-10, 0); SELECT process(-11, 0)});
value(q{CALL roaring64_dedup_fold('seen'); SELECT process(-12, 0)});
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is( $standby->safe_psql(
		'postgres', q{SELECT roaring64_dedup_seen_many('seen', 'k', ARRAY[-10, -12, -13]),
			roaring64_dedup_seen('seen', 'k', -11)}),
	'{t,t,f}|t', 'a standby answers what is seen');
is($standby->safe_psql('postgres', $compare), 't|0|t', 'and has what the primary has');
($status, $out, $err) = $standby->psql('postgres', q{SELECT roaring64_dedup_claim('seen', 'k', -13)});
like($err, qr/cannot execute roaring64_dedup_claim\(\) during recovery/, 'but claims nothing');
($status, $out, $err) = $standby->psql('postgres', q{SELECT roaring64_dedup_seen('brief', 'k', 1)});
like($err, qr/cannot access temporary or unlogged relations during recovery/, 'nor does it read what is unlogged');
$node->stop('immediate');
$standby->promote;
is( $standby->safe_psql('postgres', q{SELECT process(-10, 0), process(-12, 0), process(-13, 0)}),
	'f|f|t', 'a promoted standby goes on');
is( $standby->safe_psql(
		'postgres', 'SELECT count(*) FROM (SELECT DISTINCT id FROM messages) m WHERE process(id, 9)'),
	'0',
	'and processes nothing twice');

#
# Dump and restore, into another database.
#
$standby->safe_psql('postgres', q{CREATE DATABASE restored});
command_ok([ 'pg_dump', '-d', $standby->connstr('postgres'), '-f', "$dir/dump.sql" ], 'dump');
command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $standby->connstr('restored'), '-f', "$dir/dump.sql" ],
	'restore');
is($standby->safe_psql('restored', $compare), 't|0|t', 'all ids are there');
is( $standby->safe_psql('restored', q{SELECT process(-13, 0), process(-14, 0)}),
	'f|t', 'and claimed once');
$standby->safe_psql('restored', q{CALL roaring64_dedup_fold('seen')});
is($standby->safe_psql('restored', $compare), 't|0|t', 'folded, too');

$standby->stop;
done_testing();
