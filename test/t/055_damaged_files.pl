# 055_damaged_files.pl
#	  Sets whose bytes were overwritten on disk are answered for or reported.
#
# The server is stopped, bytes of sets are overwritten in the files of a table
# and of its TOAST table, at random, and the server is started.  Headers of
# pages and rows are left alone, as those are PostgreSQL's own concern.  Then
# everything that takes a set is called with each of them, as it lies there.
# Allowed are an answer and the report of corrupted data.
#
# There are 150 sets at least (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $count = 150 * effort(1);
my $seed = seed();

my $page_size = 8192;

my $node = start_server('files', conf => "statement_timeout = '10min'\nautovacuum = off\n", no_data_checksums => 1);

# Sets of each shape, within the row or not, compressed or not; each is there
# again in a table that is left alone.
value(qq{
	CREATE EXTENSION roaring64;
	CREATE TABLE intact (k int PRIMARY KEY, shape text, s roaring64);
	INSERT INTO intact SELECT i, 'small', roaring64_agg(hashint8extended(j, i) >> (i % 50))
	FROM generate_series(1, $count) i, generate_series(1::bigint, 3 + i % 30) j WHERE i % 5 = 0 GROUP BY i;
	INSERT INTO intact SELECT i, 'runs', roaring64_agg(int8range(j * 65000, j * 65000 + 7 * j))
	FROM generate_series(1, $count) i, generate_series(1::bigint, 3 + i % 90) j WHERE i % 5 = 1 GROUP BY i;
	INSERT INTO intact SELECT i, 'buckets', roaring64_agg(hashint8extended(j, i))
	FROM generate_series(1, $count) i, generate_series(1::bigint, 400) j WHERE i % 5 = 2 GROUP BY i;
	INSERT INTO intact SELECT i, 'bitsets', roaring64_agg(j * 2 + i % 2)
	FROM generate_series(1, $count) i, generate_series(1::bigint, 15000 + i * 20) j WHERE i % 5 = 3 GROUP BY i;
	INSERT INTO intact SELECT i, 'arrays', roaring64_agg((j * 37) << (i % 12))
	FROM generate_series(1, $count) i, generate_series(1::bigint, 2000) j WHERE i % 5 = 4 GROUP BY i;
	CREATE TABLE extended (k int, s roaring64);
	CREATE TABLE external (LIKE extended);
	ALTER TABLE external ALTER s SET STORAGE EXTERNAL;
	-- written anew, or they were compressed as they are in the other table
	INSERT INTO extended SELECT k, s | 0::bigint FROM intact;
	INSERT INTO external SELECT k, s | 0::bigint FROM intact;
});
my @tables = ('extended', 'external');
my %files = map {
	my ($heap, $toast) = split /\|/,
	  value("SELECT pg_relation_filepath(oid), pg_relation_filepath(reltoastrelid)
		FROM pg_class WHERE oid = '$_'::regclass");
	("$_" => $heap, "$_, TOAST" => $toast)
} @tables;

# Where the rows of a page begin and end, after their headers.
sub rows_of
{
	my ($page) = @_;
	my ($lower) = unpack 'x12 v', $page;
	my @rows;

	for (my $at = 24; $at < $lower; $at += 4)
	{
		my $item = unpack 'V', substr $page, $at, 4;
		my ($offset, $flags, $length) = ($item & 0x7fff, $item >> 15 & 3, $item >> 17);

		push @rows, [ $offset + ord(substr $page, $offset + 22, 1), $offset + $length ] if $flags == 1;
	}
	return @rows;
}

# The bytes of a set in a row: after an integer, or of TOAST after two, comes a
# value with a header of 4 bytes, or of 1, and of 8 if it is compressed.
sub content_of
{
	my ($page, $from, $to, $is_toast) = @_;

	$from += $is_toast ? 8 : 4;
	my $first = ord substr $page, $from, 1;
	return if $first == 1;		# a pointer to elsewhere
	$from += $first & 1 ? 1 : $first & 2 ? 8 : 4;
	return $from < $to ? ($from, $to) : ();
}

sub overwrite
{
	my ($name) = @_;
	my $path = $node->data_dir . "/$files{$name}";
	my $changed = 0;

	open my $file, '+<:raw', $path or die "$path: $!";
	for (my $block = 0; read($file, my $page, $page_size) == $page_size; $block++)
	{
		for my $row (rows_of($page))
		{
			my ($from, $to) = content_of($page, @$row, $name =~ /TOAST/) or next;
			my $length = 1 + int rand(rand() < 0.7 ? 2 : 20);
			# headers are where it hurts
			my $at = $from + int rand(rand() < 0.5 && $to - $from > 40 ? 40 : $to - $from);

			$length = $to - $at if $length > $to - $at;
			next if rand() < ($name =~ /TOAST/ ? 0.6 : 0.1);
			substr($page, $at, $length) = join '',
				map { chr(rand() < 0.3 ? 255 * int rand 2 : int rand 256) } 1 .. $length;
			$changed++;
		}
		seek $file, $block * $page_size, 0 or die "$path: $!";
		print $file $page or die "$path: $!";
		seek $file, ($block + 1) * $page_size, 0 or die "$path: $!";
	}
	close $file or die "$path: $!";
	return $changed;
}

value('CHECKPOINT');
$node->stop;
my %overwritten = map { $_ => overwrite($_) } sort keys %files;
$node->start;
cmp_ok($overwritten{$_}, '>', 20, "$_: there were sets to overwrite") for sort keys %overwritten;

# Everything that takes a set, with the one that is stored in each place.
value(q{
	CREATE TABLE calls AS
	SELECT CASE WHEN p.prokind = 'a'
			THEN format('(SELECT %s(v%s) FROM unnest(ARRAY[$2, s, $2, s]) AS v)',
				p.proname, CASE p.pronargs WHEN 2 THEN ', false' END)
			WHEN p.proretset THEN format('(SELECT count(*) FROM %s(%s) AS r)', p.proname, q.args)
			ELSE format('%s(%s)', p.proname, q.args) END AS expression
	FROM pg_proc AS p, generate_subscripts(p.proargtypes::oid[], 1) AS place,
		LATERAL (SELECT string_agg(CASE t::regtype::text
				WHEN 'roaring64' THEN CASE WHEN i = place + 1 THEN 's' ELSE '$2' END
				WHEN 'integer' THEN '7' WHEN 'bigint' THEN '30000' WHEN 'boolean' THEN 'true'
				WHEN 'int8range' THEN 'int8range(-7, 70001)' WHEN 'anyrange' THEN 'int8range(-7, 70001)'
				WHEN 'bigint[]' THEN '''{1,70000}''::bigint[]'
				ELSE 'NULL::' || t::regtype END, ', ' ORDER BY i)
			FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS u(t, i)) AS q(args)
	WHERE p.proname ~ '^roaring64_' AND p.prokind IN ('f', 'a') AND p.proargtypes[place] = 'roaring64'::regtype
		AND 'regclass'::regtype <> ALL (p.proargtypes::oid[]) AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
		AND NOT EXISTS (SELECT FROM pg_aggregate AS a WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn));
	INSERT INTO calls VALUES ('s::text'), ('s::bytea::roaring64'), ('s::bigint[]'), ('s::int8multirange');

	CREATE FUNCTION outcome(expression text, stored text, key int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		ignored text;
	BEGIN
		EXECUTE format('SELECT (%s)::text FROM %I WHERE k = $1', expression, stored)
		INTO ignored USING key, '{-5,-4,1,2,3,15,65537,70000}'::roaring64;
		RETURN 'answered';
	EXCEPTION WHEN OTHERS THEN
		RETURN SQLSTATE || ' ' || SQLERRM;
	END $$;
	CREATE TABLE outcomes (stored text, k int, expression text, outcome text);
});
cmp_ok(value('SELECT count(*) FROM calls'), '>', 60, 'there is enough to call');
for my $table (@tables)
{
	my ($status, $out, $err) = $node->psql('postgres', qq{
		INSERT INTO outcomes SELECT '$table', k, expression, outcome(expression, '$table', k) FROM $table, calls});

	is($status, 0, "$table: nothing ended the session (seed $seed)") or diag($err);
}

# Bytes that are read as foreign ones are refused as such; a shift can go past
# the last bigint, and a result be too large.  The server has no error code of
# its own for a compression method that there is not.
is(value(q{
	SELECT stored, k, expression, outcome FROM outcomes
	WHERE outcome <> 'answered' AND outcome !~ '^XX001'
		AND NOT (outcome ~ '^22P03' AND expression ~ 's::bytea::roaring64')
		AND NOT (outcome ~ '^22003' AND expression ~ 'roaring64_shift')
		AND outcome !~ '^54000|^XX000 invalid compression method id'
	ORDER BY 1, 2, 3 LIMIT 20}),
	'', 'all is answered or reported');
diag("seed $seed: " . join '; ', map { s/\|/, /gr } split /\n/, value(q{
	SELECT stored, count(*) || ' calls', count(*) FILTER (WHERE outcome = 'answered') || ' answered',
		count(*) FILTER (WHERE outcome ~ '^XX001') || ' reported',
		count(DISTINCT k) FILTER (WHERE outcome ~ '^XX001') || ' sets found damaged'
	FROM outcomes GROUP BY 1 ORDER BY 1}));
is(value(q{SELECT count(*) FROM (SELECT stored FROM outcomes GROUP BY 1
	HAVING count(*) FILTER (WHERE outcome = 'answered') > 1000
		AND count(*) FILTER (WHERE outcome ~ '^XX001') > 1000) AS g}),
	'2', 'both happen often');

# What serves a whole table meets them too.
for my $table (@tables)
{
	for my $statement ("ANALYZE $table", "CREATE INDEX ON $table USING gin (s)",
		"CREATE INDEX ON $table USING gin (s gin_roaring64_ops (key = container))",
		"CREATE INDEX ON $table USING hash (s)", "SELECT s FROM $table ORDER BY s",
		"SELECT roaring64_or_agg(s) FROM $table", "COPY $table TO '/dev/null'",
		"COPY $table TO '/dev/null' (FORMAT binary)")
	{
		my ($status, $out, $err) = $node->psql('postgres', "\\o /dev/null\n\\set VERBOSITY verbose\n$statement");

		like($err, qr/^(?:psql:<stdin>:\d+: ERROR:  (?:XX001|54000|XX000: invalid compression method id)\b.*)?$/s,
			"$statement: done or reported");
	}
}
is(value('SELECT count(*) FROM intact WHERE roaring64_invalid_reason(s::bytea) IS NULL'),
	value('SELECT count(*) FROM intact'), 'other tables are as they were');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|TRAP/, 'no process crashed');

$node->stop;
done_testing();
