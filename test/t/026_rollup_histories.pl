# 026_rollup_histories.pl
#	  Rollups beside random writers, folds that are killed, and crashes.
#
# Eight writers change four tables, two of them partitioned: single rows and many,
# keys, ids and conditions that change, ids that repeat within a key, NULL keys and
# ids, ON CONFLICT, MERGE, COPY, foreign keys that cascade, triggers that change rows
# again, partitions by their own names; at all isolation levels, with savepoints,
# rollbacks and prepared transactions that live through a crash.  Two sessions fold,
# and are cancelled and terminated, as is one that makes more rollups.  Four sessions
# read: in one snapshot, all keys of each TARGET_now, and single keys, must be what plain
# SQL makes of the rows.  For sets that keep, a row trigger notes each version of a row,
# and plain SQL reads that.  Each round ends with kill -9 of the server, after which all
# is compared again.
#
# One round by default, of 20,000 statements; with ROARING64_TEST_EFFORT=100, two
# million and 100 crashes (test/perl/Effort.pm).
#
# $ROARING64_TEST_PLANT puts a fault in, which the test is to find: "snapshot" (a fold
# looks rows up with an older snapshot than the one it finds the pending rows with),
# "old row" (the trigger forgets the row as it was), "condition" (the lookup forgets
# the conditions), "lock" (a fold does without).

use strict;
use warnings FATAL => 'all';

use Time::HiRes qw(usleep time);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $wanted = 20_000;
my $seed = seed();
my $plant = $ENV{ROARING64_TEST_PLANT} // '';
# a fault may take longer to be found
my $rounds = effort($plant ? 10 : 1);

my $node = start_server('histories', conf => <<'CONF');
max_connections = 60
max_prepared_transactions = 20
deadlock_timeout = 20ms
autovacuum_naptime = 5s
synchronous_commit = off
jit = off
max_pred_locks_per_transaction = 256
log_min_messages = panic
CONF
my $dir = $PostgreSQL::Test::Utils::tmp_check;
my $has_merge = $node->pg_version >= 15;
my $nulls = $node->pg_version >= 15;

#
# The tables: f and q are followed, g and p are kept.  All have the same columns.
#
my $columns = 'rid, k, k2, id, paid, amount, bucket, parent, at';
my $tables = '';
for my $t (qw(f g p q))
{
	my $partitioned = $t =~ /[pq]/;
	my $null = $nulls ? '' : ' NOT NULL';

	$tables .= qq{
	CREATE TABLE $t (rid int NOT NULL, k int$null REFERENCES tenant ON DELETE SET NULL ON UPDATE CASCADE, k2 text$null,
		id bigint, paid boolean, amount int, bucket int NOT NULL,
		parent int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE,
		at timestamptz NOT NULL, PRIMARY KEY (rid}
	  . ($partitioned ? ', bucket)) PARTITION BY LIST (bucket)' : ')) WITH (fillfactor = 70)') . qq{;
	CREATE INDEX ON $t (k, k2, id);
	CREATE INDEX ON $t (bucket, id);
	CREATE INDEX ON $t (parent);
	CREATE TRIGGER before BEFORE INSERT OR UPDATE ON $t FOR EACH ROW WHEN (NEW.amount = 13) EXECUTE FUNCTION before();
	CREATE TRIGGER again AFTER INSERT OR UPDATE ON $t FOR EACH ROW WHEN (NEW.amount = 17) EXECUTE FUNCTION again();
	};
	$tables .= qq{
	CREATE TABLE ${t}_1 PARTITION OF $t FOR VALUES IN (1);
	CREATE TABLE ${t}_3 (at timestamptz NOT NULL, gone int, parent int, bucket int NOT NULL, amount int, paid boolean,
		id bigint, k2 text$null, k int$null, rid int NOT NULL) PARTITION BY LIST (bucket);
	ALTER TABLE ${t}_3 DROP gone;
	CREATE TABLE ${t}_3_all PARTITION OF ${t}_3 DEFAULT;
	ALTER TABLE $t ATTACH PARTITION ${t}_3 FOR VALUES IN (3, 4);
	CREATE TABLE ${t}_rest PARTITION OF $t DEFAULT;
	} if $partitioned;
	$tables .= qq{
	CREATE TABLE noted_$t (k int, k2 text, id bigint, paid boolean, large boolean);
	CREATE TABLE noted_all_$t (LIKE noted_$t);
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON $t FOR EACH ROW EXECUTE FUNCTION note();
	} if $t =~ /[gp]/;
}
value(qq{
	CREATE TABLE parent (p int PRIMARY KEY);
	INSERT INTO parent SELECT generate_series(1, 60);
	CREATE TABLE tenant (k int PRIMARY KEY);
	INSERT INTO tenant SELECT generate_series(1, 12);
	CREATE FUNCTION before() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN NEW.id := NEW.id + 1; NEW.paid := NOT NEW.paid; RETURN NEW; END';
	CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS \$\$
	BEGIN
		EXECUTE format('UPDATE %I SET amount = 60, id = id + 2, paid = true WHERE rid = \$1', TG_TABLE_NAME)
			USING NEW.rid;
		EXECUTE format('DELETE FROM %I WHERE rid = \$1', TG_TABLE_NAME) USING NEW.rid + 1;
		RETURN NULL;
	END \$\$;
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS \$\$
	BEGIN
		IF TG_TABLE_NAME = 'g' THEN
			INSERT INTO noted_g VALUES (NEW.k, NEW.k2, NEW.id, NEW.paid,
				NEW.amount > 50 AND NEW.k2 IS DISTINCT FROM 'b');
		ELSE
			INSERT INTO noted_p VALUES (NEW.k, NEW.k2, NEW.id, NEW.paid,
				NEW.amount > 50 AND NEW.k2 IS DISTINCT FROM 'b');
		END IF;
		RETURN NULL;
	END \$\$;
	$tables
});
if ($ENV{ROARING64_TEST_STANDIN})
{
	value('CREATE EXTENSION roaring64');
	$node->psql('postgres', "ALTER DATABASE postgres SET my.fault = '$plant'");
	$node->psql('postgres', slurp_file($ENV{ROARING64_TEST_STANDIN}));
}
else
{
	value('CREATE EXTENSION roaring64_tables CASCADE');
}

# What is asked of each rollup: its source, its key in SQL, and where the rows are.
my $conditions = q{'{"members": true, "payers": "paid", "large": "amount > 50 AND k2 IS DISTINCT FROM ''b''"}'};
my $two = "key_columns => '{k,k2}', id_column => 'id', sets => $conditions";
my %rollup = (
	f_sets => { source => 'f', options => "$two, deletes => 'follow'" },
	f_days => { source => 'f', options => "key_columns => '{bucket}', id_column => 'id', period_column => 'at', "
		  . "period => 'day', sets => $conditions" },
	g_sets => { source => 'g', options => "$two, deletes => 'keep'" },
	p_sets => { source => 'p', options => "$two, deletes => 'keep'" },
	q_sets => { source => 'q', options => "$two, deletes => 'follow'" });
my @lasting = sort keys %rollup;
$rollup{"${_}_made"} = { source => $_, options => $two } for 'f', 'q';
my %key = (map { ($_ => [ 'k, k2', 'k, k2' ]) } keys %rollup);
$key{f_days} = [ 'bucket, at', q{bucket, (at AT TIME ZONE 'UTC')::date AS at} ];

# The rows as (key, id, paid, large).
sub rows
{
	my ($name) = @_;
	my ($source, $keys) = ($rollup{$name}{source}, $key{$name}[1]);

	return "SELECT $keys, id, paid, large
		FROM (TABLE noted_$source UNION ALL TABLE noted_all_$source) AS r WHERE id IS NOT NULL"
	  if $rollup{$name}{options} =~ /keep/;
	return "SELECT $keys, id, paid, amount > 50 AND k2 IS DISTINCT FROM 'b' AS large FROM $source WHERE id IS NOT NULL";
}

# A query for all sets of a table or view that differ from the rows, of which one has
# another key each.
sub question
{
	my ($name, $sets, $where) = @_;
	my $keys = $key{$name}[0];
	my $list = 'coalesce(array_agg(DISTINCT id ORDER BY id)';

	$where //= '';
	return "SELECT 'expected' AS which, *
		FROM (SELECT $keys, $list, '{}') AS m,
			$list FILTER (WHERE paid), '{}') AS p, $list FILTER (WHERE large), '{}') AS l
			FROM (" . rows($name) . ") AS r $where GROUP BY $keys
			EXCEPT SELECT $keys, members::bigint[], payers::bigint[], large::bigint[] FROM $sets $where) AS e
		UNION ALL
		SELECT 'found', *
		FROM (SELECT $keys, members::bigint[], payers::bigint[], large::bigint[]
			FROM $sets $where " . ($where ? 'AND' : 'WHERE') . " NOT roaring64_is_empty(members | payers | large)
			EXCEPT SELECT $keys, $list, '{}'), $list FILTER (WHERE paid), '{}'), $list FILTER (WHERE large), '{}')
			FROM (" . rows($name) . ") AS r $where GROUP BY $keys) AS f";
}

sub create
{
	value("CALL roaring64_rollup_create('$rollup{$_[0]}{source}', '$_[0]', $rollup{$_[0]}{options})");
}

#
# Statements of a writer, in text for psql.  Ids come from a window that moves, so that
# most are new to the sets that keep.
#
my $moved = 0;
sub r { return int rand $_[0] }
sub one { return $_[ rand @_ ] }
sub key_of { return r(10) || !$nulls ? 1 + r(12) : 'NULL' }
sub word { return r(12) || !$nulls ? "'" . one('a' .. 'c') . "'" : 'NULL' }
sub id { return r(40) ? int($moved++ / 50) + r(150) : one('NULL', 0, -5 - r(20), '9223372036854775000') }
sub flag { return one('true', 'false', 'NULL') }
sub amount { return r(25) ? r(100) : one(13, 17) }
sub parent { return r(3) ? 'NULL' : 1 + r(60) }
sub at { return sprintf "'2026-11-%02d %02d:30+00'", 1 + r(4), r(24) }

sub values_of
{
	my ($rid) = @_;

	return join ', ', $rid, key_of(), word(), id(), flag(), amount(), 1 + r(6), parent(), at();
}

# Of each row, what the statement with many rows computes.
sub series
{
	my ($n) = @_;
	my ($k, $i, $rid) = (1 + r(12), id(), 1 + r(800));
	return "SELECT $rid + i, 1 + ($k + i) % " . one(1, 3, 12) . ", 'a', "
	  . ($i eq 'NULL' || $i > 1e15 ? 1 : $i) . " + i / 2, i % 3 = 0, i % 97, 1 + i % 6, NULL::int,
		timestamptz '2026-11-02 10:00+00' FROM generate_series(1, $n) AS i";
}

sub statement
{
	my ($writer) = @_;
	my $t = one(qw(f f f g p q));
	my $unique = $t =~ /[pq]/ ? 'rid, bucket' : 'rid';
	my $rid = 1 + r(800);
	my $some = "rid BETWEEN $rid AND " . ($rid + r(8));
	my $choice = r(100);

	return "INSERT INTO $t ($columns) VALUES (" . values_of($rid) . ') ON CONFLICT DO NOTHING' if $choice < 12;
	return "INSERT INTO $t ($columns) VALUES (" . values_of($rid) . "), (" . values_of(801 + r(800)) . ")
		ON CONFLICT ($unique) DO UPDATE SET
		k = excluded.k, k2 = excluded.k2, id = excluded.id, paid = excluded.paid, amount = excluded.amount"
	  if $choice < 24;
	return "INSERT INTO $t ($columns) " . series(1 + r(40)) . ' ON CONFLICT DO NOTHING' if $choice < 28;
	return "UPDATE $t SET id = id + " . one(1, 2, 7, -1) . " WHERE $some" if $choice < 34;
	return "UPDATE $t SET k = " . key_of() . ", k2 = " . word() . " WHERE $some" if $choice < 41;
	return "UPDATE $t SET paid = " . flag() . ", amount = " . amount() . " WHERE $some" if $choice < 49;
	return "UPDATE $t SET bucket = " . (1 + r(6)) . ", at = " . at() . " WHERE $some" if $choice < 53;
	return "UPDATE $t SET id = NULL WHERE rid = $rid" if $choice < 54;
	return "UPDATE $t SET amount = amount + 1, paid = NOT paid WHERE k = " . (1 + r(12))
	  . " AND k2 = 'a' AND id % 16 = " . r(16)
	  if $choice < 56;
	return "UPDATE $t SET k2 = 'c' WHERE k = " . (1 + r(12)) . " AND k2 = 'b' AND id % 16 = " . r(16) if $choice < 57;
	return "DELETE FROM $t WHERE $some" if $choice < 66;
	return "DELETE FROM $t WHERE rid % 32 = " . r(32) . ' AND bucket = ' . (1 + r(6)) if $choice < 67;
	return "DELETE FROM $t WHERE k = " . (1 + r(12)) . " AND k2 = " . word() . " AND id % 8 = " . r(8) if $choice < 68;
	# an id more than once in a key
	return "INSERT INTO $t ($columns) SELECT rid + 800, k, k2, id, " . flag() . ", amount, bucket, NULL, at
		FROM $t WHERE $some ON CONFLICT DO NOTHING"
	  if $choice < 75;
	return "WITH gone AS (DELETE FROM $t WHERE $some RETURNING *)
		INSERT INTO $t ($columns)
		SELECT rid, CASE WHEN id % 2 = 0 THEN " . key_of() . " ELSE k END,
			k2, id + id % 3, paid, amount, bucket, parent, at
		FROM gone"
	  if $choice < 79;
	return ($has_merge && $t =~ /[fg]/
		? "MERGE INTO $t USING (" . series(1 + r(6)) . ") AS s (rid, k, k2, id, paid, amount, bucket, parent, at)
			ON $t.rid = s.rid
			WHEN MATCHED AND $t.paid THEN DELETE
			WHEN MATCHED THEN UPDATE SET id = s.id, k = s.k
			WHEN NOT MATCHED THEN
				INSERT VALUES (s.rid, s.k, s.k2, s.id, s.paid, s.amount, s.bucket, s.parent, s.at)"
		: "UPDATE $t SET (k, id) = (" . key_of() . ', ' . id() . ") WHERE $some") if $choice < 84;
	return 'DELETE FROM parent WHERE p = ' . (1 + r(60)) if $choice < 86;
	return 'INSERT INTO parent VALUES (' . (1 + r(60)) . ') ON CONFLICT DO NOTHING' if $choice < 88;
	return 'UPDATE parent SET p = ' . (1 + r(60)) . ' WHERE p = ' . (1 + r(60))
	  . ' AND NOT EXISTS (SELECT FROM parent AS o WHERE o.p = ' . (1 + r(60)) . ')'
	  if $choice < 89;
	return one('UPDATE tenant SET k = 100 WHERE k = ' . (1 + r(12)),
		'UPDATE tenant SET k = ' . (1 + r(12)) . ' WHERE k = 100',
		$nulls ? 'DELETE FROM tenant WHERE k = ' . (1 + r(12)) : (),
		'INSERT INTO tenant SELECT generate_series(1, 12) ON CONFLICT DO NOTHING',
		'INSERT INTO tenant SELECT generate_series(1, 12) ON CONFLICT DO NOTHING')
	  if $choice < 90;
	return "COPY $t ($columns) FROM STDIN;\n"
	  . join('', map { (values_of(2000 + $_) =~ s/NULL/\\N/gr =~ s/'//gr =~ s/, /\t/gr) . "\n" }
		  map { 1000 * $writer + r(1000) } 0 .. r(5))
	  . "\\.\n\\r\nSELECT"
	  if $choice < 93;
	return "DELETE FROM $t WHERE rid > 2000 AND rid % 64 = " . r(64) if $choice < 95;
	$t = one(qw(p q));
	my ($partition, $bucket) = @{ one([ '1', 1 ], [ '3', 3 ], [ '3_all', 4 ], [ 'rest', 2 ]) };
	return "INSERT INTO ${t}_$partition ($columns) VALUES ("
	  . join(', ', $rid, key_of(), word(), id(), flag(), amount(), $bucket, 'NULL', at())
	  . ') ON CONFLICT DO NOTHING'
	  if $choice < 97;
	return "UPDATE ${t}_$partition SET id = id + 3, paid = NOT paid WHERE $some" if $choice < 98;
	return "DELETE FROM ${t}_$partition WHERE $some" if $choice < 99;
	return "UPDATE ${t} SET bucket = 1 + bucket % 6 WHERE k = " . (1 + r(12)) . ' AND id % 16 = ' . r(16);
}

# Where psql shows all results of one message, a message has many statements, as this
# takes less time.
my $joint = $has_merge ? '\\;' : ';';
my $gid = 0;
sub transaction
{
	my ($writer) = @_;
	my $saved = 0;
	my @statements = map { statement($writer) } 0 .. r(10);
	my $text = r(3)
	  ? 'BEGIN ISOLATION LEVEL ' . one(('READ COMMITTED') x 5, ('REPEATABLE READ') x 3, 'SERIALIZABLE') . $joint
	  : '';

	return join '', map { "$_;\n" } @statements if $text eq '' && r(2);
	for my $statement (@statements)
	{
		if (r(6) == 0 && $text =~ /^BEGIN/)
		{
			$text .= $saved && r(2) ? one('ROLLBACK TO s', 'ROLLBACK TO s', 'RELEASE s') . $joint : "SAVEPOINT s$joint";
			$saved = $text !~ /RELEASE s\\?;\z/;
		}
		# what is copied follows at once
		$text =~ s/\\;\z/;/ if $statement =~ /STDIN/;
		$text .= ($text =~ /\\;\z/ ? '' : "\n") . $statement . ($statement =~ /STDIN/ ? ";\n" : $joint);
		$text .= 'SELECT pg_sleep(' . rand(0.01) . ")$joint" if r(100) == 0;
	}
	$gid++;
	return $text
	  . ($text =~ /^BEGIN/ ? one(('COMMIT') x 70, ('ROLLBACK') x 8, "PREPARE TRANSACTION '$writer/$$/$gid'") : 'SELECT')
	  . ";\nROLLBACK;\n";
}

#
# Sessions: each a process that hands text to psql, and begins anew where that ends,
# until the file "stop" is there or the test has ended.
# What they have done is counted from what they print, with what readers found.
#
my (@sessions, %at, %count, @wrong);
sub session
{
	my ($name, $n, $next) = @_;
	my $parent = $$;
	my $pid = fork // die "cannot fork: $!";

	if ($pid)
	{
		push @sessions, $pid;
		return;
	}
	srand($seed + 7919 * $n + ($count{statements} // 0));
	$moved = ($count{statements} // 0) / 2;
	$SIG{PIPE} = 'IGNORE';
	my $goes_on = sub { return !-e "$dir/stop" && getppid == $parent };
	while ($goes_on->())
	{
		if (open my $psql, '|-', 'psql -XAt -v ON_ERROR_STOP=0 -d ' . "'" . $node->connstr('postgres') . "'"
			  . " >>$dir/$name.out 2>>$dir/$name.err")
		{
			$psql->autoflush(1);
			print $psql "SET application_name = '$name'; SET client_min_messages = error;\n";
			while ($goes_on->())
			{
				print $psql $next->() or last;
			}
			close $psql;
		}
		usleep 50_000;
	}
	# not the cluster's END blocks
	require POSIX;
	POSIX::_exit(0);
}

sub start_sessions
{
	unlink "$dir/stop";
	for my $n (1 .. 8)
	{
		session("writer$n", $n, sub { return transaction($n) });
	}
	for my $n (1 .. 2)
	{
		session("fold$n", 20 + $n, sub {
			return 'SET default_transaction_isolation = '
			  . one("'read committed'", "'repeatable read'", "'serializable'") . ";\n"
			  . "CALL roaring64_rollup_fold('" . one(@lasting) . "');\n"
			  . 'SELECT pg_sleep(' . one(0, 0.05, rand(0.3)) . ");\n" });
	}
	# "READ" and a line for each set that differs
	for my $n (1 .. 3)
	{
		session("reader$n", 30 + $n, sub {
			my $name = one(@lasting);
			my $text = "\\echo READ $name\n";
			my $keys = $name eq 'f_days' ? 'WHERE bucket = ' . (1 + r(6)) . ' AND at = ' . (at() =~ s/ .*/'/r)
			  : one('WHERE k = ' . (1 + r(12)), 'WHERE k = ' . (1 + r(12)) . " AND k2 = 'a'",
				$nulls ? ('WHERE k IS NULL', "WHERE k2 IS NULL AND k > 3") : ());
			return $text . question($name, "${name}_now") . ";\n" . 'SELECT pg_sleep(' . rand(0.4) . ");\n"
			  if r(3) == 0;
			return "\\echo READ $name $keys\n" . question($name, "${name}_now", $keys) . ";\n"
			  . 'SELECT pg_sleep(' . rand(0.1) . ");\n"
			  if r(2) == 0;
			$text = 'BEGIN ISOLATION LEVEL ' . one('REPEATABLE READ', 'SERIALIZABLE') . ";\n";
			for my $again (0 .. 1)
			{
				$text .= "\\echo READ $_ in a transaction\n" . question($_, "${_}_now") . ";\n"
				  . 'SELECT pg_sleep(' . rand(0.4) . ");\n"
				  for @lasting;
			}
			return $text . "COMMIT;\nROLLBACK;\n"; });
	}
	# what was prepared goes on, or not
	session('prepared', 40, sub {
		return q{SELECT format('%s PREPARED %L', CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)
			FROM pg_prepared_xacts
			WHERE prepared < clock_timestamp() - random() * interval '0.2 s' \gexec} . "\nSELECT pg_sleep(0.02);\n" });
	session('killer', 41, sub {
		my $how = one('cancel', 'terminate');
		return "SELECT pg_${how}_backend(pid) AS $how FROM pg_stat_activity
			WHERE (query ~ 'rollup_(?:fold|create)' AND state = 'active'
					OR random() < 0.01 AND application_name ~ 'writer')
				AND pid <> pg_backend_pid()
			ORDER BY random() LIMIT 1;\nSELECT pg_sleep(" . rand(0.6) . ");\n" });
	# makes and ends two more rollups, and goes on with what was interrupted
	session('maker', 43, sub {
		my $name = one('f_made', 'q_made');
		my $create = "CALL roaring64_rollup_create('$rollup{$name}{source}', '$name', $rollup{$name}{options});\n";
		return "SET lock_timeout = '1s';\n" . $create x 2
		  . "SELECT state = 'following' AS made FROM roaring64_rollup_stats(to_regclass('$name')) \\gset\n"
		  . "\\if :{?made}\n\\if :made\n\\echo READ $name\n"
		  . (question($name, "${name}_now") . ";\nSELECT pg_sleep(" . rand(0.3) . ");\n") x 2
		  . "\\endif\n\\endif\n\\unset made\nSELECT roaring64_rollup_drop('$name');\n"
		  . "SELECT pg_sleep(" . rand(2) . ");\n" });
	session('compact', 42, sub {
		return join('', map { "WITH gone AS (DELETE FROM noted_$_ RETURNING *)
			INSERT INTO noted_all_$_ SELECT DISTINCT * FROM gone;\n" } qw(g p)) . "SELECT pg_sleep(2);\n" });
}

sub stop_sessions
{
	append_to_file("$dir/stop", '');
	waitpid $_, 0 for @sessions;
	@sessions = ();
}

sub look
{
	for my $file (glob "$dir/writer*.out $dir/reader*.out $dir/maker.out "
		  . "$dir/fold*.out $dir/killer.out $dir/prepared.out")
	{
		open my $in, '<', $file or next;
		seek $in, $at{$file} // 0, 0;
		while (my $line = <$in>)
		{
			last if $line !~ /\n\z/;
			$at{$file} = tell $in;
			if ($file =~ /writer/ && $line =~ /^(INSERT|UPDATE|DELETE|MERGE|COPY) /)
			{
				$count{$1}++;
				$count{statements}++;
			}
			elsif ($line =~ /^(READ|CALL|t$|COMMIT|ROLLBACK PREPARED|PREPARE TRANSACTION|SAVEPOINT)/) { $count{$1}++ }
			elsif ($line =~ /^(expected|found)\|/) { push @wrong, $line if @wrong < 10 }
		}
	}
	return;
}

# Rewrites a function, in which the pattern has to be.
sub rewrite
{
	my ($function, $pattern, $by) = @_;

	value(qq{DO \$do\$
		DECLARE
			def text := pg_get_functiondef('$function'::regprocedure);
			other text := regexp_replace(def, \$p\$$pattern\$p\$, \$p\$$by\$p\$, 'g');
		BEGIN
			ASSERT def <> other, def;
			EXECUTE other;
		END \$do\$});
}

create($_) for @lasting;
for my $name (grep { $rollup{$_}{options} !~ /keep/ } $plant ? @lasting : ())
{
	rewrite("${name}_update()", 'UNION ALL SELECT f[.][*], -1 FROM .* AS f[)] AS f', ') AS f')
	  if $plant eq 'old row' && $name !~ /^q/;
	rewrite("${name}_fold(tid,tid)", ' FILTER [(]WHERE r(_\d+)?[.]c\d[)]', '') if $plant eq 'condition';
	if ($plant eq 'snapshot')
	{
		rewrite("${name}_fold(tid,tid)", 'LANGUAGE sql\s+BEGIN ATOMIC(.*)END\s*$',
			"LANGUAGE plpgsql SET search_path = public AS \$f\$ BEGIN
				CREATE TEMP TABLE looked ON COMMIT DROP AS TABLE public.${name}_rows;
				PERFORM pg_sleep(0.01); \\1 END \$f\$");
		rewrite("${name}_fold(tid,tid)", "FROM (public[.])?${name}_rows", 'FROM pg_temp.looked');
	}
}
rewrite('_roaring64_rollup_lock(regclass)', 'SHARE UPDATE EXCLUSIVE', 'ACCESS SHARE') if $plant eq 'lock';
if ($plant eq '')
{
	is(value(question($_, $_)), '', "$_: the sets are those of the rows") for @lasting;
}

my $start = time;
for my $round (1 .. $rounds)
{
	start_sessions();
	my $before = $count{statements} // 0;
	my $last = time;
	while (!@wrong && ($count{statements} // 0) < $before + $wanted)
	{
		usleep 100_000;
		my $seen = $count{statements} // 0;
		look();
		$last = time if ($count{statements} // 0) > $seen;
		die 'nothing happens: see ' . $dir if time - $last > 120;
	}
	usleep 1000 * r(300);
	kill_server($node);
	stop_sessions();
	start_after_kill($node);
	look();
	last if @wrong;

	# all that was prepared is ended now and then only
	if ($round % 2 == 0 || $round == $rounds)
	{
		value(q{SELECT format('%s PREPARED %L', CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END, gid)
			FROM pg_prepared_xacts \gexec});
	}
	for my $name (@lasting)
	{
		my $wrong = value(question($name, "${name}_now"));
		value("CALL roaring64_rollup_fold('$name')");
		$wrong .= value(question($name, $name)) . value(question($name, "${name}_now"));
		push @wrong, "$name after a crash: $wrong" if $wrong ne '';
		push @wrong, "$name: a fold leaves rows" if value("SELECT count(*) FROM ${name}_pending") > 0;
		push @wrong, "$name: verify finds differences"
		  if value("SELECT count(*) FROM roaring64_rollup_verify('$name')") > 0;
	}
	last if @wrong;
	if ($round % 2 == 0 && $round < $rounds)
	{
		for my $name ('g_sets', 'p_sets')
		{
			my $t = $rollup{$name}{source};
			value("SELECT roaring64_rollup_drop('$name')");
			value("TRUNCATE noted_$t, noted_all_$t");
			value("INSERT INTO noted_$t SELECT k, k2, id, paid, amount > 50 AND k2 IS DISTINCT FROM 'b' FROM $t");
			create($name);
		}
	}
}

my $errors = join '', map { slurp_file($_) } glob "$dir/*.err";
my %known = (
	'could not serialize' => 'serialization', 'deadlock detected' => 'deadlock',
	'duplicate key' => 'unique', 'foreign key constraint' => 'foreign key', 'lock timeout' => 'lock timeout',
	'canceling statement' => 'cancelled', 'terminating connection' => 'terminated');
my $usual = join '|', 'current transaction is aborted', 'prepared transaction with identifier', 'already been modified',
  'cannot affect row a second time', 'savepoint "s" does not exist', 'not in a transaction', 'MERGE command cannot',
  'starting up', 'recovery', 'shutting down', 'tuple to be (?:updated|deleted)', 'maximum number of prepared',
  'already moved to another partition', 'is not a rollup', 'rollup must not be null', 'crash',
  'another server process', 'connection to server';
my %seen;
for my $line (grep { /ERROR|FATAL|PANIC/ } split /\n/, $errors)
{
	next if $line =~ /$usual/;
	my ($known) = grep { $line =~ /$_/ } sort keys %known;
	$seen{ $known ? $known{$known} : $line }++;
}
my $took = time - $start;
diag(sprintf "counted $rounds rounds, %d statements in %d s (%s), %d readings, %d folds, %d interrupted; %s",
	$count{statements}, $took,
	join(', ', map { "$_ $count{$_}" } grep { !/statements|READ$|CALL|^t$/ } sort keys %count),
	$count{READ} // 0, $count{CALL} // 0, $count{"t"} // 0,
	join(', ', map { "$_ $seen{$_}" } sort keys %seen));
my %names = reverse %known;
is(join("\n", grep { !exists $names{$_} } sort keys %seen), '', 'each error is one that writers expect');
if ($plant)
{
	isnt(join('', @wrong), '', "the fault \"$plant\" is found");
}
else
{
	is(join('', @wrong), '', 'all sets were those of the rows');
	cmp_ok($count{READ}, '>', 0, 'somebody read');
	cmp_ok($count{CALL}, '>', 0, 'somebody folded');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'nothing went wrong in the server');

$node->stop('immediate');
done_testing();
