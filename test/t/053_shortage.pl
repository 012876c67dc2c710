# 053_shortage.pl
#	  Short of memory or of disk, statements end with an error and undo what
#	  they did; when there is enough again they work.
#
# The limit of a backend's address space is lowered, and for files likewise how
# large one may become.  Statements
# are tried with more and more until they come to their end.  Until then each
# must end with the error that the shortage is, what it works on must be as it
# was, and the session must go on.  There is one exception: PL/pgSQL that has no
# memory left to copy an error for its EXCEPTION clause leaves the session in a
# subtransaction out of which nothing leads.  That is PostgreSQL's own; what the
# statement worked on is then looked at from another session.
#
# A full disk is a small file system in memory, with a tablespace in it.  To
# mount that, the server runs in a user namespace; where the kernel allows
# none, this part is left out.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

plan skip_all => 'there is no prlimit' if system('prlimit --version >/dev/null 2>&1') != 0;

# WAL files are below the limits of file size
my $node = init_server('shortage', extra => ['--wal-segsize=1'], conf => q{
autovacuum = off
jit = off
max_wal_size = 1GB
max_parallel_workers_per_gather = 0
});

# A file system of its own for this server.
my $small = $node->basedir . '/small';
mkdir $small or die "$small: $!";
my @apart = ('unshare', '--user', '--map-current-user', '--keep-caps', '--mount', 'sh', '-c');
my $mount = "mount -t tmpfs -o size=24M,mode=0700 tmpfs '$small'";
my $has_small = system(@apart, "($mount) 2>/dev/null") == 0;
if ($has_small)
{
	system_or_bail(@apart,
		"$mount && exec pg_ctl -s -w -D '" . $node->data_dir . "' -l '" . $node->logfile . "' start");
	$node->_update_pid(1);
}
else
{
	$node->start;
}

value(
	q{
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE TABLE sets (name text, s roaring64);
	ALTER TABLE sets ALTER s SET STORAGE EXTERNAL;
	CREATE FUNCTION get(text) RETURNS roaring64 LANGUAGE sql STABLE
	RETURN (SELECT s FROM sets WHERE name = $1);
	INSERT INTO sets
	SELECT 'wide' || n, roaring64_agg(hashint8extended(i, n))
	FROM generate_series(1::bigint, 200000) i, generate_series(1, 2) n GROUP BY n;
	INSERT INTO sets
	SELECT 'deep', roaring64_or_agg(roaring64_shift(part, n * 1048576))
	FROM (SELECT roaring64_agg(2 * i + (hashint8extended(i, 1) & 1)) AS part
			FROM generate_series(0::bigint, 524287) i) p,
		generate_series(1::bigint, 16) n;
	CREATE TABLE texts AS SELECT get('wide1')::text AS t;
	ALTER TABLE texts ALTER t SET STORAGE EXTERNAL;
	CREATE TABLE ids AS SELECT hashint8extended(i, 5) AS id FROM generate_series(1::bigint, 300000) i;
	CREATE TABLE found (s roaring64);
	INSERT INTO found SELECT roaring64_shift(get('wide1') & int8range(0, NULL), -i) FROM generate_series(1, 2) i;
	CREATE INDEX found_index ON found USING gin (s);
	CREATE TABLE facts (key int, id bigint, mark boolean NOT NULL, PRIMARY KEY (key, id));
	INSERT INTO facts SELECT i % 50, i, i % 3 = 0 FROM generate_series(1, 100000) i;
	SELECT roaring64_dedup_create('seen', chunk_bits => 56), roaring64_delay_create('later', '256 ms');
});

my $seen = q{SELECT (SELECT count(*) FROM seen_claims),
	(SELECT coalesce(sum(roaring64_cardinality(ids)), 0) FROM seen_chunks),
	roaring64_cardinality(roaring64_dedup_export('seen', 'k'))};
my $ids = '(SELECT array_agg(id) FROM ids WHERE id & 1 = 1)';
my $claimed = value('SELECT count(*) FROM ids WHERE id & 1 = 1');
my $later = 'SELECT coalesce(sum(roaring64_cardinality(ids)), 0) FROM later';
my $facts = 'SELECT count(*), sum(id), count(*) FILTER (WHERE mark) FROM facts';
my $in_index = q{SET enable_seqscan = off; SELECT (SELECT count(*) FROM found WHERE s && get('wide1')),
	(SELECT count(*) FROM found WHERE s && roaring64_shift(get('wide1') & int8range(0, NULL), -2))};

# Tries a statement with more and more of something, up to enough for all.
# Gives how often it has failed.
sub try_with_more
{
	my ($what, $error, $name, $statement, $state, $done) = @_;
	my $before = value($state);
	my $failed = 0;
	my @wrong;

	for (my $mb = 1.2; $mb < 5000; $mb *= 4)
	{
		# what has to be loaded to ask is loaded before
		my ($status, $out, $err) = $node->psql('postgres', qq{
			\\set VERBOSITY verbose
			LOAD 'roaring64';
			$state;
			SELECT pg_backend_pid() AS pid, trunc($mb * 1048576 + CASE WHEN '$what' = 'as'
				THEN split_part(pg_read_file('/proc/self/statm'), ' ', 1)::numeric * 4096 ELSE 0 END) AS bytes \\gset
			\\set ignored `prlimit --pid :pid --$what=:bytes:`
			\\o /dev/null
			$statement;
			\\o
			\\set ignored `prlimit --pid :pid --$what=unlimited:`
			\\echo the state
			$state;}, on_error_stop => 0);
		my ($after) = $out =~ /.*the state\n(.*)/s;
		my $stuck = $err =~ /53200: out of memory(?:(?!ERROR:).)* during exception cleanup/s;

		$after = value($state) if $stuck;
		$after = 'no answer' unless defined $after;
		if ($err !~ /ERROR|FATAL|PANIC|server closed/)
		{
			is($after, $done, "$name: works with $mb MB");
			last;
		}
		push @wrong, $err if $err =~ /FATAL|PANIC|server closed/;
		push @wrong, grep { !/$error/ && !($stuck && /25P02/) } $err =~ /ERROR: .*/g;
		# a procedure that commits may fail when all is done
		push @wrong, "$after, not $before, with $mb MB"
		  unless $after eq $before || ($statement =~ /^CALL/ && $after eq $done);
		$failed++;
	}
	# a name that says what went wrong is seen where diagnostics are not
	ok(@wrong == 0, "$name: the right error, and nothing has happened" . join '', map { "; $_" =~ s/\s+/ /gr } @wrong);
	return $failed;
}

#
# Little work_mem: what does not fit is put aside, and the answers are the same
#
my %frugal = (
	'groups' => q{SELECT md5(string_agg(md5(s::bytea), '' ORDER BY g))
		FROM (SELECT id & 2047 AS g, roaring64_agg(id) AS s FROM ids GROUP BY 1) AS t},
	'groups of sets' => q{SELECT md5(string_agg(md5(s::bytea), '' ORDER BY g))
		FROM (SELECT a.id & 511 AS g, roaring64_or_agg(get('deep') & int8range(a.id & 65535, (a.id & 65535) + 70)) AS s
			FROM (SELECT id FROM ids LIMIT 3000) AS a GROUP BY 1) AS t},
	'sets in order' => q{SELECT md5(string_agg(md5(s::bytea), '' ORDER BY s)) FROM spread},
	'distinct sets' => q{SELECT count(*) FROM (SELECT DISTINCT s FROM spread) AS t},
	'join of equal sets' => q{SELECT count(*) FROM spread AS a JOIN spread AS b USING (s)},
	'elements' => q{SELECT count(*), sum(e & 1023) FROM spread, roaring64_elements(s) AS e},
	'search in an index' => q{SET enable_seqscan = off;
		SELECT count(*) FROM spread WHERE s && (SELECT roaring64_agg(id >> 1) FROM ids WHERE id & 255 = 1)},
	'messages taken' => q{BEGIN;
		SELECT roaring64_delay_add_many('later', array_agg(i % 10), array_agg(i), array_agg(to_timestamp(i / 1000.0)))
		FROM generate_series(1::bigint, 50000) i;
		SELECT count(*), sum(id), count(DISTINCT bucket) FROM roaring64_delay_take('later', 'infinity'); ROLLBACK});
value(q{
	CREATE TABLE spread AS SELECT id & 8191 AS g, roaring64_agg(id >> 1) AS s FROM ids GROUP BY 1;
	INSERT INTO spread SELECT g + 10000, s FROM spread WHERE g % 2 = 0;
	CREATE INDEX ON spread USING gin (s); ANALYZE spread});
for my $name (sort keys %frugal)
{
	my $little = "SET work_mem = '64kB'; SET hash_mem_multiplier = 1;";
	my $much = "SET work_mem = '1GB';";
	my $answer = value("$much $frugal{$name}");

	like($answer, qr/^\w{2,}/m, "little work_mem, $name: there is an answer");
	is(value("$little SET enable_sort = off; $frugal{$name}"), $answer, "little work_mem, $name: the same answer");
	is(value("$little SET enable_hashagg = off; SET enable_hashjoin = off; $frugal{$name}"), $answer,
		"little work_mem, $name: and the same by sorting");
}
like(value("SET work_mem = '64kB'; SET hash_mem_multiplier = 1; SET enable_sort = off; "
		. "EXPLAIN (ANALYZE, COSTS off, TIMING off) "
		. 'SELECT id & 2047, roaring64_agg(id) FROM ids GROUP BY 1'),
	qr/Disk Usage: /, 'little work_mem: groups were put aside');

#
# Memory
#
# the server says of a regular expression that it failed
my @memory = ('as', join '|', '53200: out of memory', '53200: could not resize',
	'2201B: (?:invalid regular expression|regular expression failed): out of memory');
my %calls = (
	'union' => q{get('wide1') | get('wide2')},
	'intersection' => q{get('wide1') & get('wide2')},
	'symmetric difference' => q{get('wide1') # get('deep')},
	'range' => 'int8range(0, 1099511627776)::roaring64',
	'shift' => q{roaring64_shift(get('deep'), 5)},
	'text input' => '(SELECT t::roaring64 FROM texts)',
	'text output' => q{get('wide1')::text},
	'bytes' => q{get('wide1')::bytea::roaring64},
	'to bigint[]' => q{get('deep')::bigint[]},
	'to multirange' => q{(get('deep') & int8range(0, 2000000))::int8multirange},
	'add' => "roaring64_add(get('deep'), $ids)",
	'aggregate of elements' => '(SELECT roaring64_agg(id) FROM ids)',
	'aggregate of sets' => '(SELECT roaring64_or_agg(s) FROM sets)',
	'intersection aggregate' => '(SELECT roaring64_and_agg(s) FROM sets)',
	'rank' => q{roaring64_rank(get('wide1'), 5)},
	'elements' => q{(SELECT count(*) FROM (SELECT roaring64_elements(get('deep')) LIMIT 10) AS t)},
	'index search' => q{(SELECT count(*) FROM found WHERE s && get('wide2'))});
for my $name (sort keys %calls)
{
	my $failed = try_with_more(@memory, "memory, $name", "SET enable_seqscan = off; SELECT ($calls{$name}) IS NULL",
		'SELECT roaring64_cardinality(s) FROM found', value('SELECT roaring64_cardinality(s) FROM found'));
	cmp_ok($failed, '>', 0, "memory, $name: was not enough at first");
}

my $rollup = q{CALL roaring64_rollup_create('facts', 'users', '{key}', 'id', '{"members": true, "marked": "mark"}')};
my $all_facts = value($facts);

# What the helpers do, in memory or files that are too small.
sub try_helpers
{
	my ($what, $error) = @_;
	my $name = $what eq 'as' ? 'memory' : 'files';
	my $failed = 0;

	$failed += try_with_more($what, $error, "$name, index build", 'CREATE INDEX made ON found USING gin (s)',
		q{SELECT to_regclass('made') IS NULL}, 'f');
	$failed += try_with_more($what, $error, "$name, index insert",
		q{INSERT INTO found SELECT get('wide1') - 7 | 8},
		q{SELECT count(*) FROM found}, '3');
	is(value($in_index), '1|1', "$name, index: finds what was put in");
	$failed += try_with_more($what, $error, "$name, claim",
		"SELECT cardinality(roaring64_dedup_claim_many('seen', 'k', $ids))", $seen, "$claimed|0|$claimed");
	$failed += try_with_more($what, $error, "$name, fold", q{CALL roaring64_dedup_fold('seen')},
		$seen, "0|$claimed|$claimed");
	$failed += try_with_more($what, $error, "$name, import",
		q{SELECT roaring64_dedup_import('seen', 'l', get('wide1'))},
		q{SELECT roaring64_dedup_count('seen', 'l')}, '200000');
	$failed += try_with_more($what, $error, "$name, export",
		q{SELECT roaring64_dedup_export('seen', 'l')}, $seen, "0|" . ($claimed + 200000) . "|$claimed");
	$failed += try_with_more($what, $error, "$name, forget",
		"SELECT roaring64_dedup_forget_many('seen', 'k', $ids)", $seen, "$claimed|" . ($claimed + 200000) . "|0");
	$failed += try_with_more($what, $error, "$name, fold of what was forgotten",
		q{CALL roaring64_dedup_fold('seen')}, $seen, "0|200000|0");
	$failed += try_with_more($what, $error, "$name, delayed messages, added", q{
		SELECT roaring64_delay_add_many('later', array_agg(i % 10), array_agg(i),
			array_agg(to_timestamp((hashint8(i) & 16777215) / 1000.0)))
		FROM generate_series(1::bigint, 60000) i}, $later, '60000');
	$failed += try_with_more($what, $error, "$name, delayed messages, taken",
		q{SELECT count(*) FROM roaring64_delay_take('later', 'infinity')}, $later, '0');
	# it commits on its way: the source is the same, and it goes on
	$failed += try_with_more($what, $error, "$name, rollup", $rollup, $facts, $all_facts);
	$failed += try_with_more($what, $error, "$name, rollup, verify",
		q{SELECT * FROM roaring64_rollup_verify('users')}, $facts, $all_facts);
	is(value(q{SELECT count(*) FROM roaring64_rollup_verify('users')}), '0', "$name, rollup: no difference");
	$failed += try_with_more($what, $error, "$name, rollup, cancel",
		q{SELECT roaring64_rollup_drop('users')}, $facts, $all_facts);
	is(value(q{SELECT to_regclass('users') IS NULL}), 't', "$name, rollup: taken back");
	value(q{
		DROP INDEX made; DELETE FROM found WHERE s @> 8::bigint AND NOT s @> 7::bigint; VACUUM found;
		SELECT roaring64_dedup_forget_many('seen', 'l', array_agg(e)) FROM roaring64_elements(get('wide1')) e;
		CALL roaring64_dedup_fold('seen');
		VACUUM FULL seen_claims, seen_chunks, later});
	cmp_ok($failed, '>', 8, "$name: there was too little of it $failed times");
	return;
}
try_helpers(@memory);

#
# Files that may not grow, which is what a quota or a full disk is
#
try_helpers('fsize', qr/could not (?:extend|write).*(?:File too large|wrote only)/);

#
# A full disk
#
SKIP:
{
	skip 'no user namespace in which to mount a file system', 12 unless $has_small;

	# Fills it to the last page, and gives that back.
	sub fill
	{
		my ($status, $out, $err) = $node->psql('postgres', q{
			CREATE TABLE filler (a int) TABLESPACE small;
			DO $$
			BEGIN
				LOOP
					INSERT INTO filler SELECT generate_series(1, 100000);
				END LOOP;
			EXCEPTION WHEN disk_full THEN
				BEGIN
					LOOP
						INSERT INTO filler SELECT generate_series(1, 100);
					END LOOP;
				EXCEPTION WHEN disk_full THEN
				END;
			END $$});
		die $err unless $status == 0;
	}
	sub full
	{
		my ($name, $statement, $state) = @_;
		my $before = value($state);
		my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$statement");

		like($err, qr/53100: could not extend file/, "full disk, $name: the right error");
		is(value($state), $before, "full disk, $name: nothing has happened");
	}

	value("CREATE TABLESPACE small LOCATION '$small'");
	full('index build', 'SET default_tablespace = small; CREATE INDEX made ON sets USING gin (s)',
		q{SELECT to_regclass('made'), count(*) FROM sets});
	value(q{SET default_tablespace = small;
		CREATE INDEX made ON sets USING gin (s gin_roaring64_ops (key = container));});
	is(value(q{SET enable_seqscan = off; SELECT string_agg(name, ' ' ORDER BY name) FROM sets WHERE s && get('wide2')}),
		'wide2', 'full disk, index build: one that fits works');

	value(q{DROP INDEX made; SET default_tablespace = small; SELECT roaring64_dedup_create('tight', chunk_bits => 56)});
	value(q{SELECT roaring64_dedup_claim_many('tight', 'k', array_agg(id)) FROM (SELECT id FROM ids LIMIT 20000) AS i});
	my $tight = q{SELECT roaring64_cardinality(roaring64_dedup_export('tight', 'k')), count(*) FROM tight_claims};
	fill();
	full('fold', q{CALL roaring64_dedup_fold('tight')}, $tight);
	full('import', q{SELECT roaring64_dedup_import('tight', 'l', get('wide1'))}, $tight);
	value('DROP TABLE filler');
	value(q{CALL roaring64_dedup_fold('tight')});
	is(value($tight), '20000|0', 'full disk, fold: goes on when there is room');

	value(q{SELECT roaring64_dedup_drop('tight')});
	fill();
	my $restarted = "SET default_tablespace = small; $rollup";
	full('rollup', $restarted, $facts);
	value('DROP TABLE filler');
	value($restarted);
	is(value(q{SELECT count(*), sum(roaring64_cardinality(members)) FROM users}), '50|100000',
		'full disk, rollup: goes on when there is room');
	is(value(q{SELECT count(*) FROM roaring64_rollup_verify('users')}), '0', 'full disk, rollup: no difference');
}

unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|TRAP/, 'no process crashed');
$node->stop;
done_testing();
