# 034_entered_left.pl
#	  What entered and left a set is read once each, through crashes.
#
# The triggers and the reader's statement are those of docs/cookbook.md.  Sessions
# change a few sets, create and delete them.  A reader applies what it takes, in the
# same transaction, to sets of its own, and notes whatever had entered or left
# before.  The server is killed under them, started, and the reader takes the rest:
# its sets are then the others, and nothing came twice or in another order.
#
# It is killed three times by default (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Time::HiRes qw(usleep);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $kills = effort(3);

# The page's statements.
my $page = slurp_file('docs/cookbook.md');
my ($section) = $page =~ /^## What entered and left\n(.*?)^## /ms;
my ($made) = $section =~ /^```sql\n(CREATE TABLE watched .*?)^```/ms;
my ($taken) = $section =~ /^WITH taken AS \((.*?)\)\nSELECT/ms;
ok($made && $taken, 'the page has the statements');

my $node = start_server('entered_left', conf => 'restart_after_crash = off');
value(qq{
	CREATE EXTENSION roaring64;
	$made
	CREATE TABLE copy (name text PRIMARY KEY, users roaring64 NOT NULL DEFAULT '{}');
	CREATE TABLE wrong (LIKE watched_change);
	CREATE TABLE read (n bigint NOT NULL);
	CREATE PROCEDURE read_changes(rounds bigint) LANGUAGE plpgsql AS \$\$
	DECLARE
		c watched_change;
	BEGIN
		FOR i IN 1 .. rounds LOOP
			FOR c IN WITH taken AS ($taken) SELECT * FROM taken ORDER BY id LOOP
				INSERT INTO copy VALUES (c.name) ON CONFLICT DO NOTHING;
				INSERT INTO wrong SELECT c.* FROM copy AS t
				WHERE t.name = c.name AND (t.users && c.entered OR NOT t.users \@> c.departed);
				UPDATE copy AS t SET users = t.users - c.departed | c.entered WHERE t.name = c.name;
				INSERT INTO read VALUES (c.id);
			END LOOP;
			COMMIT;
		END LOOP;
	END \$\$});

my $writes = $node->basedir . '/writes.sql';
append_to_file(
	$writes, q{
	\set n random(1, 5)
	\set i random(1, 200)
	\set kind random(1, 20)
	\if :kind = 1
	DELETE FROM watched WHERE name = 's' || :n;
	\elif :kind < 4
	WITH s AS MATERIALIZED (SELECT * FROM watched ORDER BY name FOR UPDATE)
	UPDATE watched AS w SET users = w.users - int8range(:i, :i + 9) FROM s WHERE s.name = w.name;
	\else
	INSERT INTO watched AS w VALUES ('s' || :n, int8range(:i, :i + 5)::roaring64)
	ON CONFLICT (name) DO UPDATE SET users = w.users | excluded.users;
	\endif
});

sub start
{
	my (@command) = @_;
	my $printed = '';

	return IPC::Run::start(\@command, '<', \undef, '>', \$printed, '2>&1');
}

for my $round (1 .. $kills)
{
	my $before = value('SELECT count(*) FROM read');
	my @clients = (
		start('pgbench', '-n', '-c', 4, '-T', 60, '-f', $writes, $node->connstr('postgres')),
		start('psql', '-X', '-d', $node->connstr('postgres'), '-c', 'CALL read_changes(1000000)'));

	for (1 .. 600)
	{
		last if value('SELECT count(*) FROM read') > $before + 300;
		usleep(100_000);
	}
	usleep(int rand 200_000);
	kill_server($node);
	$_->finish for @clients;
	start_after_kill($node);
}
value(q{
	DO $$ BEGIN
		WHILE EXISTS (SELECT FROM watched_change) LOOP CALL read_changes(1); END LOOP;
	END $$});

cmp_ok(value('SELECT count(*) FROM read'), '>', 300 * $kills, 'changes were read');
is(value(q{
	SELECT name, w.users - c.users, c.users - w.users FROM watched AS w FULL JOIN copy AS c USING (name)
	WHERE coalesce(w.users, '{}') <> coalesce(c.users, '{}')}),
	'',
	"after $kills kills the reader has the same sets");
is(value('SELECT (SELECT count(*) FROM wrong), count(*) - count(DISTINCT n) FROM read'),
	'0|0', 'and nothing came twice or in another order');

$node->stop;
done_testing();
