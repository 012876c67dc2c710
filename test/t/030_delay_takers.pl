# 030_delay_takers.pl
#	  Eight takers at once, killed or not, get every message once.
#
# Takers note what they took in a table, in the transaction in which they took
# it: so a message that is in the table was delivered, and the primary key
# refuses one that was delivered twice.  Meanwhile messages are added, one by
# one and in batches, and some of them cancelled.  Then the server is killed
# with SIGKILL under the same load, once by default (test/perl/Effort.pm); and at
# last a standby is promoted.

use strict;
use warnings FATAL => 'all';

use Time::HiRes qw(usleep);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $takers = 8;
my $kills = effort(1);

my $node = start_server('delay', conf => "restart_after_crash = off\nmax_connections = 30", allows_streaming => 1);
value(q{
	CREATE EXTENSION roaring64_tables CASCADE;
	SELECT roaring64_delay_create('delayed', '256 ms');
	CREATE TABLE taken (group_id bigint, id bigint, bucket timestamptz,
		taker int, n bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (group_id, id));
	CREATE TABLE added (group_id bigint, id bigint, due timestamptz, PRIMARY KEY (group_id, id));
	CREATE TABLE cancelled (group_id bigint, id bigint, PRIMARY KEY (group_id, id));

	-- takes in transactions of up to "most" messages until there are none and no
	-- more come, or for ever if they do; one in ten is rolled back
	CREATE TABLE come (more boolean);
	INSERT INTO come VALUES (false);
	CREATE PROCEDURE take(me int, most int) LANGUAGE plpgsql AS $$
	DECLARE
		found bigint := 1;
		more boolean := true;
	BEGIN
		WHILE more OR found > 0 LOOP
			SELECT c.more INTO more FROM come AS c;
			INSERT INTO taken (group_id, id, bucket, taker)
			SELECT group_id, id, bucket, me
			FROM roaring64_delay_take('delayed', 'infinity', (1 + random() * most)::bigint);
			GET DIAGNOSTICS found = ROW_COUNT;
			IF random() < 0.1 THEN
				ROLLBACK;
				found := 1;
			ELSE
				COMMIT;
			END IF;
			-- what another one holds may yet come back
			IF found = 0 AND roaring64_delay_count('delayed') > 0 THEN
				PERFORM pg_sleep(0.002);
				found := 1;
			END IF;
		END LOOP;
	END $$;

	-- adds batches, and single messages, and cancels some of those at once
	CREATE PROCEDURE add(first_group int, batches int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR l IN first_group .. first_group + batches - 1 LOOP
			INSERT INTO added SELECT l, e, to_timestamp(random() * 20) FROM generate_series(1, 100) AS e;
			PERFORM roaring64_delay_add_many('delayed', array_agg(group_id), array_agg(id), array_agg(due))
			FROM added WHERE group_id = l;
			COMMIT;
			INSERT INTO added VALUES (l, 101, to_timestamp(random() * 20));
			PERFORM roaring64_delay_add('delayed', group_id, id, due) FROM added WHERE group_id = l AND id = 101;
			COMMIT;
			INSERT INTO cancelled
			SELECT group_id, id
			FROM (SELECT * FROM added WHERE group_id = l AND id % 10 = 0
				ORDER BY date_bin('256 ms', due, '2000-01-01 00:00:00+00')) AS a
			WHERE roaring64_delay_cancel('delayed', group_id, id, due);
			COMMIT;
		END LOOP;
	END $$;
});

# Every message that was added is in one of three places, and no other is.
my $accounts = q{
	SELECT count(*) FROM (
		SELECT group_id, id FROM added
		EXCEPT ALL
		(SELECT group_id, id FROM taken
		 UNION ALL SELECT group_id, id FROM cancelled
		 UNION ALL SELECT group_id, e FROM delayed, roaring64_elements(ids) AS e)) AS t
	UNION ALL
	SELECT count(*) FROM (
		(SELECT group_id, id FROM taken
		 UNION ALL SELECT group_id, id FROM cancelled
		 UNION ALL SELECT group_id, e FROM delayed, roaring64_elements(ids) AS e)
		EXCEPT ALL
		SELECT group_id, id FROM added) AS t};

#
# Eight takers of what is there
#
value(q{CALL add(1, 200)});
value(q{TRUNCATE cancelled, added; DELETE FROM delayed});
value(q{INSERT INTO added SELECT l, e, to_timestamp((l * 40 + e) / 1000.0)
	FROM generate_series(1, 50) AS l, generate_series(1, 1000) AS e});
value(q{SELECT roaring64_delay_add_many('delayed', array_agg(group_id), array_agg(id), array_agg(due)) FROM added});
my @all = map { start_session("CALL take($_, 200)") } 1 .. $takers;
is(join('', map { finish($_) } @all), '', 'eight takers at once end without an error');
is(value($accounts), "0\n0", 'each message was taken once');
is(value(q{SELECT count(*) FROM taken}), '50000', '... and all of them');
cmp_ok(value(q{SELECT count(DISTINCT taker) FROM taken}), '>', 3, '... by several takers');
is(value(
		q{SELECT count(*) FROM (
			SELECT bucket >= lag(bucket) OVER (PARTITION BY taker, xmin::text ORDER BY n) AS ascending FROM taken) AS t
		WHERE NOT ascending}),
	'0', 'each take was in the order of buckets');

#
# The same while messages come and are cancelled
#
value(q{TRUNCATE taken, added, cancelled; UPDATE come SET more = true});
@all = map { start_session("CALL take($_, 50)") } 1 .. $takers;
my @adders = map { start_session("CALL add($_ * 1000, 100)") } 1 .. 2;
is(join('', map { finish($_) } @adders), '', 'messages can be added and cancelled while others are taken');
value(q{UPDATE come SET more = false});
is(join('', map { finish($_) } @all), '', 'takers end without an error');
is(value($accounts), "0\n0", 'each message was taken or cancelled, once');
is(value(q{SELECT count(*) FROM delayed}), '0', '... and nothing is left over');
cmp_ok(value(q{SELECT count(*) FROM cancelled}), '>', 0, '... some were cancelled');

#
# Killed
#
value(q{UPDATE come SET more = true});
for my $kill (1 .. $kills)
{
	@all = map { start_session("CALL take($_, 20)") } 1 .. $takers;
	@adders = map { start_session("CALL add($kill * 100000 + $_ * 10000, 10000)") } 1 .. 2;
	my $before = value(q{SELECT count(*) FROM taken});
	usleep(300_000 + int(rand(500_000)));
	cmp_ok(value(q{SELECT count(*) FROM taken}), '>', $before, "kill $kill: there is work being done");
	kill_server($node);
	finish($_) for @all, @adders;
	start_after_kill($node);
	is(value($accounts), "0\n0", "kill $kill: no message is lost, and none is there twice");
}

#
# A standby knows all of it, and goes on when promoted
#
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('delay_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
value(q{CALL add(5000000, 20)});
$node->wait_for_catchup($standby);
my $waiting = q{SELECT roaring64_delay_count('delayed') || ' '
	|| coalesce(roaring64_delay_next_due('delayed')::text, 'none')};
is($standby->safe_psql('postgres', $waiting), value($waiting), 'a standby counts the same');
$node->stop('immediate');
$standby->promote;
$node = $standby;
ask($node);
value(q{UPDATE come SET more = false});
@all = map { start_session("CALL take($_, 500)") } 1 .. $takers;
is(join('', map { finish($_) } @all), '', 'takers go on after a promotion');
is(value($accounts), "0\n0", '... and each message has been taken or cancelled, once');
is(value(q{SELECT count(*) FROM delayed}), '0', '... and nothing is left over');

#
# Dump and restore
#
value(q{CALL add(6000000, 5)});
my $dump = "$PostgreSQL::Test::Utils::tmp_check/delayed.sql";
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-t', 'delayed', '-t', 'added', '-f', $dump ], 'a dump');
value('CREATE DATABASE copy');
$node->safe_psql('copy', 'CREATE EXTENSION roaring64_tables CASCADE');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('copy'), '-f', $dump ],
	'... is restored');
my $content = q{SELECT md5(string_agg(d::text, ' ' ORDER BY bucket, group_id)) FROM delayed AS d};
is($node->safe_psql('copy', $content), value($content), '... with the same messages');
is( $node->safe_psql('copy', q{
		SELECT roaring64_delay_add('delayed', 1, 1, '2000-01-01 00:00:00.3+00');
		SELECT group_id, bucket = '2000-01-01 00:00:00.256+00' FROM delayed WHERE group_id = 1}),
	"t\n1|t", '... and the same width of buckets');

$node->stop;
done_testing();
