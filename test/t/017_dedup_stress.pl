# 017_dedup_stress.pl
#	  Random operations on dedup sets at once, whose history must be linearizable.
#
# There is a set for each product of a type of ids and a window by count, by time or
# none.  Sessions do a few random things with one of them, over and over, in
# transactions of random isolation levels, some in savepoints that are rolled back.
# What the set answers goes into a table of the same transaction, "history".
#
#	- Who has changed an id holds its row until the commit, so that the changes of
#	  an id, in the order in which they were answered, are those that took effect.
#	  Claims and removals must take turns, beginning with a claim.
#	- An answer that an id was there, or was not, must have been true at a moment
#	  between the question, or the snapshot of its transaction, and the answer.
#	- What a key contains, exported and counted, must be what the history of the same
#	  snapshot says, whichever snapshot that is.
#	- Of ids that only one session imports and changes, each answer is known.
#	- Of a key of a session's own in a set whose window is altered all the time, the
#	  latest ids that are there, as many as the window ever had at least, are
#	  remembered, whatever was forgotten in between.
#
# Beside them folds run, two at a time, VACUUM FULL, REINDEX, renames and two-phase
# commits that stay open for a while; sessions are terminated, and the server is
# killed in the middle.  They work as an ordinary role with row security.  Last, a
# PREPARE TRANSACTION is held by a standby that does not answer.
#
# It goes on until there were 1000 transactions (test/perl/Effort.pm) and each product
# was tried.  It has been run with each of these faults, and failed each time:
#
#	- no second look: what a change finds in the chunks after its insertion is not
#	  looked at (change() in claims.c).  Claims of an id follow each other;
#	- the second look has the transaction's snapshot (change() in claims.c);
#	- fold takes rows that say that an id was forgotten, and leaves it in the chunk
#	  ("subtract" and "empty" of _roaring64_dedup_statement find nothing).  What is exported is not what history says.

use strict;
use warnings FATAL => 'all';

use Time::HiRes qw(time usleep);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $wanted = effort(1000);
my $clients = 6;

my $node = start_server('stress', allows_streaming => 1, conf => q{
fsync = on
max_connections = 50
max_prepared_transactions = 10
deadlock_timeout = 500ms
log_min_messages = fatal
restart_after_crash = off
synchronous_standby_names = nobody
synchronous_commit = local
});

# The sets: their names say what they are.
my @sets = map { my $type = $_; map { $type . $_ } '_none', '_count', '_time' } 'bigint', 'uuid';

value(q{
	CREATE EXTENSION roaring64;
	SELECT roaring64_dedup_create('recent', keep => 40, chunk_bits => 8);
	CREATE TABLE history (set text, n integer, client integer, level text, how text, what text, answer boolean,
		began timestamptz, at timestamptz, xid xid8 DEFAULT pg_current_xact_id(), call bigint);
	CREATE INDEX ON history (set, n, at DESC) WHERE answer AND what <> 'seen';
	CREATE TABLE ended (xid xid8, at timestamptz);
	CREATE TABLE mine (set text, client integer, n integer, there boolean, PRIMARY KEY (set, client, n));
	CREATE TABLE latest (client integer, i bigint, id bigint, PRIMARY KEY (client, i));
	CREATE TABLE violations (what text, detail text);
	CREATE TABLE done (what text, how text, n bigint);
	CREATE SEQUENCE calls;
});
for my $set (@sets)
{
	my ($type, $window) = split /_/, $set;

	value("SELECT roaring64_dedup_create('$set', id_type => '$type'" . ($type eq 'bigint' ? ', chunk_bits => 8' : '')
		  . ($window eq 'count' ? ', keep => 1000000' : $window eq 'time' ? q{, remember => '1 day'} : '') . ')');
}
value((q{
	CREATE FUNCTION note(what text, detail text) RETURNS void LANGUAGE sql AS 'INSERT INTO violations VALUES ($1, $2)';

	-- the id of a number
	CREATE FUNCTION as_id(set text, n bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE WHEN set ~ 'bigint' THEN (n * 7)::text ELSE md5(n::text)::uuid::text END $$;
	CREATE FUNCTION exported(set text, key text) RETURNS SETOF text LANGUAGE plpgsql AS $$
	BEGIN
		IF set ~ 'bigint' THEN
			RETURN QUERY SELECT e::text FROM roaring64_elements(roaring64_dedup_export(set, key)) AS e;
		ELSE
			RETURN QUERY SELECT e::text FROM unnest(roaring64_dedup_export_uuids(set, key)) AS e;
		END IF;
	END $$;
	CREATE FUNCTION import(set text, key text, numbers bigint[]) RETURNS integer LANGUAGE plpgsql AS $$
	BEGIN
		IF set ~ 'bigint' THEN
			RETURN roaring64_cardinality(roaring64_dedup_import(set, key,
				(SELECT roaring64_agg(as_id(set, n)::bigint) FROM unnest(numbers) AS n)));
		END IF;
		RETURN cardinality(array_positions(roaring64_dedup_claim_many(set, key,
			ARRAY(SELECT as_id(set, n)::uuid FROM unnest(numbers) AS n)), true));
	END $$;

	-- ids that all want, some more than others
	CREATE FUNCTION change_shared(me integer, set text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		kind text := (ARRAY['claim', 'claim', 'forget', 'forget', 'seen'])[1 + floor(random() * 5)];
		numbers bigint[] := ARRAY(
			SELECT DISTINCT (random() * random() * 60)::bigint
			FROM generate_series(1, CASE WHEN random() < 0.5 THEN 1 ELSE 2 + (random() * 8)::int END));
		how text := CASE cardinality(numbers) WHEN 1 THEN 'one' ELSE 'many' END;
		level text := current_setting('transaction_isolation');
		began timestamptz := CASE level WHEN 'read committed' THEN clock_timestamp() ELSE now() END;
		answers boolean[];
	BEGIN
		IF how = 'one' THEN
			EXECUTE format('SELECT ARRAY[roaring64_dedup_%s($1, ''k'', $2)]', kind) INTO answers
			USING set::regclass, as_id(set, numbers[1]);
		ELSE
			EXECUTE format('SELECT roaring64_dedup_%s_many($1, ''k'', $2)', kind) INTO answers
			USING set::regclass, ARRAY(SELECT as_id(set, n) FROM unnest(numbers) AS n)::text[];
		END IF;
		INSERT INTO history
		SELECT set, n, me, level, how, kind, a, began, clock_timestamp(), pg_current_xact_id(), nextval('calls')
		FROM unnest(numbers, answers) AS u (n, a);
		RETURN kind;
	END $$;

	-- all of a key, by the set and by the history, in one snapshot
	CREATE FUNCTION look(set text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		level text := current_setting('transaction_isolation');
		wrong text;
		n bigint;
		m bigint;
	BEGIN
		IF level = 'read committed' THEN RETURN 'nothing'; END IF;
		-- the ids below 0 were imported before
		SELECT string_agg(x.id, ' ') INTO wrong FROM (
			(SELECT as_id(set, h.n) AS id FROM (SELECT DISTINCT ON (h.n) h.n, h.what FROM history AS h
				WHERE h.set = $1 AND h.answer AND h.what <> 'seen' ORDER BY h.n, h.at DESC) AS h WHERE h.what = 'claim')
			EXCEPT SELECT exported(set, 'k')) AS x;
		IF wrong IS NOT NULL THEN PERFORM note('is missing', set || ' ' || level || ': ' || wrong); END IF;
		SELECT count(*) + 5000 INTO n FROM (SELECT DISTINCT ON (h.n) h.n, h.what FROM history AS h
			WHERE h.set = $1 AND h.answer AND h.what <> 'seen' ORDER BY h.n, h.at DESC) AS h WHERE h.what = 'claim';
		SELECT count(*) INTO m FROM exported(set, 'k');
		IF n <> m OR m <> roaring64_dedup_count(set, 'k') THEN
			PERFORM note('is too many',
				set || ' ' || level || ': ' || n || ' ' || m || ' ' || roaring64_dedup_count(set, 'k'));
		END IF;
		RETURN 'look';
	END $$;

	CREATE FUNCTION change_mine(me integer, set text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		x bigint := (random() * 300)::int * 10 + me;
		was boolean := coalesce((SELECT there FROM mine AS m WHERE m.set = $2 AND client = me AND n = x), false);
		kind text := (ARRAY['claim mine', 'forget mine', 'import'])[1 + floor(random() * 3)];
		answer boolean;
	BEGIN
		CASE kind
			WHEN 'claim mine' THEN answer := NOT roaring64_dedup_claim(set, 'm', as_id(set, x));
			WHEN 'import' THEN answer := import(set, 'm', ARRAY[x]) = 0;
			ELSE answer := roaring64_dedup_forget(set, 'm', as_id(set, x));
		END CASE;
		IF answer IS DISTINCT FROM was THEN PERFORM note(kind, set || ' ' || me || ': ' || x); END IF;
		INSERT INTO mine VALUES (set, me, x, kind <> 'forget mine')
			ON CONFLICT ON CONSTRAINT mine_pkey DO UPDATE SET there = excluded.there;
		RETURN kind;
	END $$;

	CREATE FUNCTION change_latest(me integer) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		last bigint := nextval('calls') * 100;
		count integer := 1 + (random() * 12)::int;
		ids bigint[] := ARRAY(SELECT hashint8extended(last + i, me) FROM generate_series(1, count) AS i);
	BEGIN
		IF NOT (SELECT bool_and(a) FROM unnest(roaring64_dedup_claim_many('recent', 'c' || me, ids)) AS a) THEN
			PERFORM note('was not new', me || ': ' || last);
		END IF;
		INSERT INTO latest SELECT me, last + i, ids[i] FROM generate_series(1, count) AS i;
		IF random() < 0.6 THEN
			ids := ARRAY(SELECT id FROM latest WHERE client = me AND i > last
				ORDER BY random() LIMIT (random() * 12)::int);
			IF NOT (SELECT coalesce(bool_and(a), true)
					FROM unnest(roaring64_dedup_forget_many('recent', 'c' || me, ids)) AS a) THEN
				PERFORM note('could not be forgotten', me || ': ' || last);
			END IF;
			DELETE FROM latest WHERE client = me AND id = ANY (ids);
		END IF;
		-- what has once been out of the window is not asked for any more, whatever is forgotten later
		ids := ARRAY(SELECT id FROM latest WHERE client = me ORDER BY i DESC LIMIT 40);
		DELETE FROM latest WHERE client = me AND id <> ALL (ids);
		IF EXISTS (SELECT FROM unnest(roaring64_dedup_seen_many('recent', 'c' || me, ids)) AS s WHERE NOT s) THEN
			PERFORM note('forgotten early', me || ': ' || last);
		END IF;
		RETURN 'window';
	END $$;

	CREATE FUNCTION one_of_them(me integer, set text) RETURNS text LANGUAGE plpgsql AS $$
	BEGIN
		CASE floor(random() * 8)::int
			WHEN 0 THEN RETURN change_mine(me, set);
			WHEN 1 THEN RETURN change_latest(me);
			WHEN 2 THEN RETURN look(set);
			ELSE RETURN change_shared(me, set);
		END CASE;
	END $$;

	CREATE PROCEDURE work(me integer, how_long double precision) LANGUAGE plpgsql AS $$
	DECLARE
		until timestamptz := clock_timestamp() + make_interval(secs => how_long);
		what text;
		set text;
		last xid8;
	BEGIN
		WHILE clock_timestamp() < until LOOP
			PERFORM set_config('default_transaction_isolation',
				(ARRAY['repeatable read', 'serializable', 'read committed', 'read committed'])[1 + floor(random() * 4)],
				false);
			COMMIT;
			IF last IS NOT NULL THEN INSERT INTO ended VALUES (last, clock_timestamp()); COMMIT; END IF;
			last := NULL;
			set := (ARRAY[SETS])[1 + floor(random() * N)];
			BEGIN
				what := one_of_them(me, set);
				FOR i IN 1 .. (random() * 3)::int * (random() < 0.3)::int LOOP
					PERFORM change_shared(me, set);
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
				IF random() < 0.02 THEN PERFORM pg_sleep(random() * 0.3); END IF;
				IF random() < 0.1 THEN RAISE division_by_zero; END IF;
				INSERT INTO done VALUES (what, 'done', 1);
				last := pg_current_xact_id_if_assigned();
			EXCEPTION
				WHEN division_by_zero THEN NULL;
				-- 40001, a deadlock of two changes in one transaction, a table that is being renamed
				WHEN serialization_failure OR deadlock_detected OR undefined_table THEN
					INSERT INTO done VALUES (what, sqlstate, 1);
			END;
		END LOOP;
	END $$;

	-- changes that do not take turns, and answers that were true at no moment
	CREATE FUNCTION check_history() RETURNS TABLE (fault text, n bigint, sample text) LANGUAGE sql AS $$
		WITH changes AS (
			SELECT h.*, row_number() OVER w AS i, lead(h.at) OVER w AS next, lead(e.at) OVER w AS next_end,
				lead(h.xid) OVER w IS NOT NULL AS has_next
			FROM history AS h LEFT JOIN ended AS e USING (xid) WHERE h.answer AND h.what <> 'seen'
			WINDOW w AS (PARTITION BY h.set, h.n ORDER BY h.at)),
		-- from when to when an id may have been there, or not
		states AS (
			SELECT c.set, c.n, c.what = 'claim' AS there, c.at AS first,
				CASE WHEN has_next THEN coalesce(next_end, 'infinity') ELSE 'infinity' END AS last
			FROM changes AS c
			UNION ALL
			SELECT h.set, h.n, false, '-infinity',
				coalesce(min(coalesce(e.at, 'infinity')) FILTER (WHERE c.i = 1), 'infinity')
			FROM (SELECT DISTINCT history.set, history.n FROM history) AS h
				LEFT JOIN changes AS c ON c.set = h.set AND c.n = h.n AND c.i = 1
				LEFT JOIN ended AS e ON e.xid = c.xid
			GROUP BY h.set, h.n),
		said AS (
			SELECT h.set, h.n, h.began, h.at, h.level, h.what,
				CASE h.what WHEN 'seen' THEN h.answer ELSE h.what = 'claim' END AS there
			FROM history AS h WHERE NOT h.answer OR h.what = 'seen')
		SELECT 'no turn', count(*), min(set || ' ' || n || ' ' || what || ' ' || at)
		FROM (SELECT *, what <> CASE i % 2 WHEN 1 THEN 'claim' ELSE 'forget' END AS wrong FROM changes) AS c
		WHERE wrong HAVING count(*) > 0
		UNION ALL
		SELECT 'never true', count(*), min(s.set || ' ' || s.n || ' ' || s.level || ' ' || s.what || ' ' || s.at)
		FROM said AS s
		WHERE NOT EXISTS (SELECT FROM states AS t
			WHERE t.set = s.set AND t.n = s.n AND t.there = s.there AND t.first <= s.at AND t.last >= s.began)
		HAVING count(*) > 0;
	$$;

	-- tables are renamed with what names them, in one transaction
	CREATE FUNCTION rename_chunks() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		old text := (SELECT chunks FROM bigint_none);
		new text := CASE old WHEN 'bigint_none_chunks' THEN 'other_chunks' ELSE 'bigint_none_chunks' END;
	BEGIN
		EXECUTE format('ALTER TABLE %I RENAME TO %I', old, new);
		UPDATE bigint_none SET chunks = new;
	END $$;

	-- an ordinary role, which has nothing but what it was granted
	CREATE ROLE stress LOGIN;
	GRANT CREATE ON SCHEMA public TO stress;
	GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO stress;
	GRANT USAGE ON SEQUENCE calls TO stress;
	ALTER TABLE bigint_none_claims ENABLE ROW LEVEL SECURITY;
	CREATE POLICY all_keys ON bigint_none_claims USING (key <> '') WITH CHECK (key <> '');
} =~ s/\[SETS\]/'[' . join(', ', map { "'$_'" } @sets) . ']'/er =~ s/\* N\)\]/'* ' . scalar(@sets) . ')]'/er));
# so many that there are many chunks of UUIDs, of which some are cut
for my $set (@sets)
{
	value("SELECT import('$set', 'k', ARRAY(SELECT -i FROM generate_series($_, $_ + 2499) AS i))") for 1, 2501;
}

# Errors that belong to what is done to the sessions.
my $expected = join '|', 'terminating connection', 'server closed the connection', 'connection to server',
  'the database system is', 'canceling statement due to lock timeout', 'could not serialize', 'deadlock detected',
  'does not exist', 'being folded by another session', 'was not folded', 'identifier "t_\w+" is already in use';
my @unexpected;

sub end_prepared
{
	for my $gid (split /\n/, value('SELECT gid FROM pg_prepared_xacts ORDER BY random() LIMIT 1'))
	{
		value((rand() < 0.6 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$gid'");
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

	finish($session);
	push @unexpected, grep { /(?:ERROR|FATAL|PANIC):/ && !/$expected/ } split /\n/, $session->{err};
	return;
}

my @others = (
	'VACUUM FULL bigint_none_claims, uuid_count_claims', 'REINDEX TABLE bigint_none_claims',
	'SELECT rename_chunks()', 'SELECT rename_chunks()',
	'VACUUM ANALYZE', 'VACUUM FULL recent_chunks', 'VACUUM FULL uuid_count_chunks, uuid_count_windows',
	(map { "SELECT roaring64_dedup_alter('recent', keep => $_)" } 40, 41, 70, 200),
	"SELECT roaring64_dedup_alter('recent', remember => '1 day')", "SELECT roaring64_dedup_alter('recent')",
	(map { "BEGIN; SELECT change_shared(9, '$_'); PREPARE TRANSACTION 't_$_'" } @sets),
	('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE \'CALL%\'
		ORDER BY random() LIMIT 1') x 3);

# What has been done so far, of which there may be too little yet.
my @kinds = ('claim', 'forget', 'seen', 'claim mine', 'forget mine', 'import', 'window', 'look');
sub transactions { return value(q{SELECT count(*) FROM done WHERE how = 'done'}); }
sub all_tried
{
	return value('SELECT count(*) FROM (SELECT DISTINCT set, level, how, what FROM history) AS a') == 18 * @sets
	  && value(q{SELECT count(*) FROM (SELECT FROM done WHERE how = 'done' AND what <> 'nothing'
		GROUP BY what HAVING count(*) > 3) AS d}) == @kinds;
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
				$client =~ /^fold/ ? start_session(
					[ map { "CALL roaring64_dedup_fold('" . (@sets, 'recent')[ rand(@sets + 1) ] . "')" } 1 .. 5 ],
					'user=stress')
			  : $client eq 'other' ? start_session($others[ rand @others ])
			  : start_session(sprintf('CALL work(%d, %f)', $client, 2), 'user=stress');
		}
		end_prepared();
		usleep(100_000);
	}
	if ($round < $rounds) { kill_server($node); }
	else { wait_for(values %session); }
	finish_session($_) for values %session;
	start_after_kill($node) if $round < $rounds;
}
value("ROLLBACK PREPARED '$_'") for split /\n/, value('SELECT gid FROM pg_prepared_xacts');

# While PREPARE TRANSACTION waits for the standby, its transaction is listed twice
# among those that run.  If a fold commits meanwhile, the list is as long as before,
# and the change that has looked before must look again after it.
value(q{
	CREATE TABLE beside (i integer);
	CREATE FUNCTION wait_for_prepare() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		WHILE current_setting('application_name') = 'claimer'
				AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep') LOOP
			PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
		END LOOP;
		RETURN NEW;
	END $$;
});

sub sleeps
{
	my ($name) = @_;

	return $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity
		WHERE application_name = '$name' AND wait_event = 'PgSleep'");
}

sub change_beside_prepare
{
	my ($set, $call, $is) = @_;
	my $chunks = value("SELECT chunks FROM $set");

	value("CREATE TRIGGER wait BEFORE INSERT ON ${set}_claims FOR EACH ROW EXECUTE FUNCTION wait_for_prepare()");
	# of three transactions with a number the first is as a fold, the last has ended
	value('BEGIN; ' . $is =~ s/CHUNKS/$chunks/r . q{; PREPARE TRANSACTION 'fold'});
	my $prepares = start_session([ 'SET synchronous_commit = on', 'BEGIN', 'INSERT INTO beside VALUES (1)',
		q{DO $$ BEGIN WHILE EXISTS (SELECT FROM pg_prepared_xacts WHERE gid = 'fold')
			LOOP PERFORM pg_sleep(0.01); END LOOP; END $$},
		q{PREPARE TRANSACTION 'held'} ], 'application_name=preparer');
	sleeps('preparer');
	value('INSERT INTO beside VALUES (2)');
	my $changes = start_session("SELECT $call", 'application_name=claimer');
	sleeps('claimer');
	value(q{COMMIT PREPARED 'fold'});
	finish($changes);
	value(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'preparer'});
	finish($prepares);
	value(qq{ROLLBACK PREPARED 'held'; DROP TRIGGER wait ON ${set}_claims});
	return $changes->{out} . $changes->{err};
}

for my $set (@sets)
{
	my $id = value("SELECT as_id('$set', 1)");
	my $split = $set =~ /bigint/
	  ? 'roaring64_split(ARRAY[7]::roaring64, 8)'
	  : "_roaring64_uuids_split(ARRAY[as_id('$set', 1)]::uuid[], NULL, NULL)";
	my $taken = "INSERT INTO CHUNKS SELECT 'held', chunk, 1000000000000000, ids FROM $split";
	my $gone = "DELETE FROM CHUNKS WHERE key = 'held'";

	is(change_beside_prepare($set, "roaring64_dedup_claim('$set', 'held', '$id')", $taken), "f\n",
		"$set: a claim beside a held PREPARE is a duplicate");
	is(change_beside_prepare($set, "roaring64_dedup_forget_many('$set', 'held', ARRAY['$id'])", $gone), "{f}\n",
		'... and who forgets beside one finds it gone');
	is(change_beside_prepare($set, "roaring64_dedup_claim_many('$set', 'held', ARRAY['$id'])", $taken), "{f}\n",
		'... also of many');
	is(change_beside_prepare($set, "roaring64_dedup_forget('$set', 'held', '$id')", $gone), "f\n", '... or of one');
}

diag(value(q{SELECT string_agg(what || ' ' || how || ' ' || n, ', ' ORDER BY what, how)
	FROM (SELECT what, how, sum(n) AS n FROM done GROUP BY what, how) AS d}));
diag('counted ' . value('SELECT count(*) FROM history') . ' answers of shared ids, '
	  . value('SELECT count(DISTINCT xid) FROM history') . ' transactions');
is(join("\n", @unexpected), '', 'no error but those that had to be');
is(value('SELECT what, count(*), min(detail) FROM violations GROUP BY what'), '', 'no answer was wrong');
is(value('SELECT * FROM check_history()'), '', 'the history is linearizable');
is(value(q{SELECT count(*) FROM (SELECT DISTINCT set, level, how, what FROM history) AS a}),
	18 * @sets, 'all products were tried');
for my $turn ('before', 'after')
{
	if ($turn eq 'after') { value("CALL roaring64_dedup_fold('$_')") for @sets; }
	for my $set (@sets)
	{
		value("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT look('$set'); COMMIT");
		is(value("SELECT array_agg(x ORDER BY x) = (SELECT array_agg(as_id('$set', n) ORDER BY as_id('$set', n))
				FROM mine WHERE set = '$set' AND there)
			FROM exported('$set', 'm') AS x"), 't',
			"$set: changed and imported alone, $turn the last fold");
	}
	is(value('SELECT what, count(*), min(detail) FROM violations GROUP BY what'), '',
		"contents and counts are those of the history, $turn the last fold");
}
is(value(q{SELECT string_agg(set, ' ') FROM unnest(ARRAY[SETS]) AS set
	WHERE (roaring64_dedup_stats(set)).claims > 0} =~ s/SETS/join ', ', map { "'$_'" } @sets/er),
	'', 'nothing is left to fold');
for my $what (@kinds)
{
	cmp_ok(value("SELECT coalesce(sum(n), 0) FROM done WHERE what = '$what' AND how = 'done'"), '>', 3,
		"there were transactions with $what");
}

$node->stop;
done_testing();
