# 018_dedup_window.pl
#	  The latest ids of a key are remembered, whatever arrives while it is folded.
#
# A fold takes a few claims at a time here (the number is edited in the procedure), so
# that its keys come in parts all the time.  Eight sessions claim and import random ids
# of a few keys meanwhile, some with their transaction open for a while or rows of claims
# locked; some steps of folds fail.  There are sets that keep from a few to thousands.
#
# An id may have gone only if as many ids as are kept were claimed after it: in a
# transaction that ended after its claim began, on a clock of ticks that all sessions
# draw from.  After each fold that is asked for those that are about to go.
#
# It ends after 60 folds (test/perl/Effort.pm).
#
# $ROARING64_TEST_PLANT=waiting puts a fault in, which the test is to find: a generation
# begins without the claims that wait.

use strict;
use warnings FATAL => 'all';

use IPC::Run;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folds = effort(60);
my $claimers = 8;
my $plant = $ENV{ROARING64_TEST_PLANT} // '';

my $node = PostgreSQL::Test::Cluster->new('window');
$node->init;
$node->append_conf('postgresql.conf', q{
fsync = off
max_connections = 50
log_min_messages = fatal
});
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION roaring64;
	CREATE TABLE sets (name text PRIMARY KEY, keep bigint);
	INSERT INTO sets VALUES ('few', 3), ('some', 25), ('many', 400), ('thousands', 3000);
	SELECT roaring64_dedup_create(name, keep => keep, chunk_bits => 46) FROM sets;
	INSERT INTO sets VALUES ('uuids', 40);
	SELECT roaring64_dedup_create('uuids', keep => 40, id_type => 'uuid');
	CREATE SEQUENCE ticks;
	CREATE TABLE log (set text, key text, id bigint, began bigint, ended bigint);
	CREATE INDEX ON log (set, key, began);
	CREATE INDEX ON log (began);
	CREATE TABLE done (what text, n bigint);
	CREATE TABLE stop (now boolean);
	CREATE FUNCTION as_id(set text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE set WHEN 'uuids' THEN md5(n::text)::uuid::text ELSE n::text END $$;

	-- now and then a step fails
	CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
	CREATE PROCEDURE edit(old text, new text) LANGUAGE plpgsql AS $$
	BEGIN
		EXECUTE replace(pg_get_functiondef('roaring64_dedup_fold'::regproc), old, new);
		IF pg_get_functiondef('roaring64_dedup_fold'::regproc) ~ old THEN RAISE 'nothing was edited'; END IF;
	END $$;
	CALL edit('500000', '4');

	CREATE PROCEDURE claims(me integer) LANGUAGE plpgsql AS $$
	DECLARE
		set text;
		key text;
		tick bigint;
		ids bigint[];
		waiting bigint;
	BEGIN
		WHILE NOT EXISTS (SELECT FROM stop) LOOP
			set := (SELECT name FROM sets ORDER BY random() LIMIT 1);
			key := 'k' || floor(random() * 2);
			-- a fold comes to an end
			EXECUTE format('SELECT count(*) FROM (SELECT FROM %I LIMIT 40) AS c', set || '_claims') INTO waiting;
			IF waiting = 40 THEN PERFORM pg_sleep(0.003); COMMIT; CONTINUE; END IF;
			tick := nextval('ticks');
			ids := ARRAY(SELECT hashint8extended(tick * 100 + i, 0) >> 16
				FROM generate_series(1, 1 + floor(random() * 8)::int) AS i);
			IF set <> 'uuids' AND random() < 0.05 THEN
				PERFORM roaring64_dedup_import(set, key, ids::roaring64);
			ELSE
				PERFORM roaring64_dedup_claim_many(set, key, ARRAY(SELECT as_id(set, i) FROM unnest(ids) AS i));
			END IF;
			IF random() < 0.02 THEN PERFORM pg_sleep(random() * 0.05); END IF;
			INSERT INTO log SELECT set, key, i, tick FROM unnest(ids) AS i;
			COMMIT;
			UPDATE log SET ended = nextval('ticks') WHERE began = tick;
			COMMIT;
			-- rows of claims are locked for longer than a fold waits
			IF random() < 0.003 THEN
				EXECUTE format('SELECT count(*) FROM (SELECT FROM %I WHERE random() < 0.3 FOR UPDATE SKIP LOCKED) AS c',
					set || '_claims');
				PERFORM pg_sleep(random() * 0.3);
				COMMIT;
			END IF;
		END LOOP;
	END $$;

	-- of the ids that are about to leave the window, those that have left it
	CREATE PROCEDURE check_window(of_set text, kept bigint, of_key text) LANGUAGE plpgsql AS $$
	DECLARE
		asked bigint;
		wrong bigint;
		oldest bigint;
	BEGIN
		WITH recent AS MATERIALIZED (SELECT id, began, coalesce(ended, 9e18) AS ended
			FROM log WHERE set = of_set AND key = of_key),
		last AS (SELECT id, began, (SELECT count(*) FROM recent AS y WHERE y.ended >= x.began) AS later
			FROM recent AS x ORDER BY began DESC LIMIT 60 OFFSET greatest(kept - 60, 0))
		SELECT count(*), count(*) FILTER (WHERE NOT roaring64_dedup_seen(of_set, of_key, as_id(of_set, id))), min(began)
		INTO asked, wrong, oldest FROM last WHERE later <= kept;
		INSERT INTO done VALUES ('asked', asked), ('wrong', wrong);
		DELETE FROM log WHERE set = of_set AND key = of_key AND ended < oldest;
		COMMIT;
	END $$;

	CREATE PROCEDURE folds(n bigint, part integer, parts integer) LANGUAGE plpgsql AS $$
	DECLARE
		s record;
	BEGIN
		WHILE (SELECT coalesce(sum(d.n), 0) FROM done AS d WHERE what = 'folds') < n LOOP
			FOR s IN SELECT name, keep, row_number() OVER (ORDER BY keep) AS i FROM sets LOOP
				CONTINUE WHEN s.i % parts <> part;
				CALL roaring64_dedup_fold(s.name);
				INSERT INTO done VALUES ('folds', 1);
				COMMIT;
				CALL check_window(s.name, s.keep, 'k0');
				CALL check_window(s.name, s.keep, 'k1');
			END LOOP;
		END LOOP;
	END $$;
	SELECT format(
		'CREATE TRIGGER fail BEFORE INSERT ON %I FOR EACH ROW WHEN (random() < 0.003) EXECUTE FUNCTION fail()',
		name || '_chunks')
	FROM sets \gexec
});
if ($plant eq 'waiting')
{
	$node->safe_psql('postgres', q{
		DO $$ DECLARE f text := pg_get_functiondef('_roaring64_dedup_statement'::regproc); BEGIN
		IF f !~ 'filled = -\(SELECT' THEN RAISE 'nothing to edit'; END IF;
		EXECUTE regexp_replace(f, 'filled = -\(SELECT', 'filled = 0 * (SELECT'); END $$});
}

sub start_session
{
	my ($statement) = @_;
	my $session = { out => '', err => '' };

	$session->{run} = IPC::Run::start(
		[ 'psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-c', $statement ],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

my @claimers = map { start_session("CALL claims($_)") } 1 .. $claimers;
my @folders = map { start_session("CALL folds($folds, $_, 2)") } 0 .. 1;
$_->{run}->finish for @folders;
$node->safe_psql('postgres', 'INSERT INTO stop VALUES (true)');
$_->{run}->finish for @claimers;

my @unexpected = grep { /ERROR|FATAL/ && !/not now/ } map { split /\n/, $_->{err} } @claimers, @folders;
is(join("\n", @unexpected[0 .. ($#unexpected > 9 ? 9 : $#unexpected)]), '', 'no other error');
my %n = map { split /\|/ } split /\n/, $node->safe_psql('postgres', 'SELECT what, sum(n) FROM done GROUP BY what');
diag("counted $n{folds} folds, $n{asked} ids asked for");
cmp_ok($n{asked}, '>', $n{folds}, 'ids were asked for');
if ($plant eq '')
{
	is($n{wrong}, '0', 'of the latest none is forgotten');
}
else
{
	cmp_ok($n{wrong}, '>', 0, "the fault \"$plant\" is found");
}
is( $node->safe_psql(
		'postgres', "SELECT bool_and(generation > 3) FROM few_windows"),
	't', 'generations have ended');
$node->stop;
done_testing();
