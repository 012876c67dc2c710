# 041_largest.pl
#	  A set as large as a value can be.
#
# Half of all integers of a range, as bitsets, up to the last byte that a value
# may have.  It can be stored, read back, asked and searched for, and what would
# be larger is refused; in and out it goes by COPY up to the limits of that, and
# by text up to half of it.
#
# Takes some gigabytes of memory and of disk, and minutes, so it is left out
# unless the effort is 20 times the usual (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'ROARING64_TEST_EFFORT is less than 20' if effort(1) < 20;

my $node = PostgreSQL::Test::Cluster->new('largest');
$node->init;
$node->append_conf('postgresql.conf', "max_wal_size = 8GB\nautovacuum = off\nlog_statement = none\n");
$node->start;

sub value { return $node->safe_psql('postgres', $_[0]) }

# The SQLSTATE with which a statement fails.
sub failure
{
	my ($status, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$_[0]");

	return $err =~ /ERROR:  (\w+)/ ? $1 : "none: $err";
}

# 16 containers of 8 kB at a time, of which the keys and offsets take 8 bytes
# more each; two buckets of 12 bytes, and 8 for their number.
my $limit = 1073741823 - 4;
my $containers = int(($limit - 8 - 2 * 12) / 8200);
my $bytes = 8 + 2 * 12 + $containers * 8200;

value(qq{
	CREATE EXTENSION roaring64;
	CREATE TABLE large (k int, s roaring64);
	ALTER TABLE large ALTER s SET STORAGE EXTERNAL;
	INSERT INTO large
	SELECT 1, roaring64_or_agg(CASE WHEN n < $containers / 16 THEN roaring64_shift(part, n * 1048576)
		ELSE roaring64_shift(part & int8range(0, $containers % 16 * 65536), n * 1048576) END)
	FROM (SELECT roaring64_agg(2 * i) AS part FROM generate_series(0::bigint, 524287) i) p,
		generate_series(0::bigint, $containers / 16) n;
});
is(value('SELECT octet_length(s::bytea) FROM large'), $bytes, 'the largest set is stored');
cmp_ok($bytes, '>', $limit - 8200, 'and another container would not go in');
is( value(q{SELECT roaring64_cardinality(s), roaring64_min(s), roaring64_max(s),
		s @> 1000000::bigint, s @> 1000001::bigint,
		roaring64_rank(s, 4294967296), roaring64_select(s, -1) FROM large}),
	join('|', $containers * 32768, 0, $containers * 65536 - 2, 't', 'f', 2147483649, $containers * 65536 - 2),
	'what is asked of it is answered');
is(value(q{SELECT a.s = b.s, a.s @> b.s, a.s && b.s, roaring64_and_cardinality(a.s, b.s) FROM large a, large b}),
	't|t|t|' . $containers * 32768, 'it equals itself');
is(value(q{SELECT roaring64_cardinality(s - int8range(0, NULL)), roaring64_cardinality(s | 1::bigint) FROM large}),
	'0|' . ($containers * 32768 + 1), 'it can be changed within its size');
is(value(q{SELECT count(*), sum(roaring64_cardinality(ids)) FROM large, roaring64_split(s, 30)}),
	int(($containers + 16383) / 16384) . '|' . $containers * 32768, 'it can be split');
is(value(q{SELECT roaring64_invalid_reason(s::bytea) IS NULL, s::bytea::roaring64 = s FROM large}),
	't|t', 'its bytes are taken back');

my $more = ($containers + 1) * 65536;
is(failure("SELECT roaring64_is_empty(s | roaring64_shift(
		(SELECT roaring64_agg(i * 2) FROM generate_series(0::bigint, 32767) i), $more)) FROM large"),
	'54000', 'one container more is too large');
is(failure(q{SELECT roaring64_is_empty(roaring64_shift(s, 1) # s) FROM large}),
	'none: ', 'a result of as many containers that takes fewer bytes is not');
is(failure(q{SELECT roaring64_is_empty(roaring64_or_agg(t))
		FROM (SELECT s FROM large UNION ALL SELECT roaring64_shift(s, 17179869184) FROM large) AS u (t)}),
	'54000', 'nor can two such be one');
is(failure('SELECT length(s::text) FROM large'), '54000', 'its text is too long');
is(failure('SELECT cardinality(s::bigint[]) FROM large'), '54000', 'and so is its array');
is(failure('CREATE INDEX ON large USING gin (s)'), '54000', 'it has too many keys for an index by element');
value('CREATE INDEX ON large USING gin (s gin_roaring64_ops (key = container)); CREATE INDEX ON large USING hash (s)');
is(value(q{SET enable_seqscan = off; SELECT k FROM large WHERE s @> 1000000::bigint}), '1', 'it is found by container');

# Some bytes are left for what is around it in a message, and text takes two
# for each.
my $dir = $PostgreSQL::Test::Utils::tmp_check;
value(q{
	CREATE TABLE large_part (LIKE large INCLUDING STORAGE);
	CREATE TABLE large_copy (LIKE large INCLUDING STORAGE)});
for my $case ([ 'binary', 4096 ], [ 'text', $limit / 2 + 4096 ])
{
	my ($format, $less) = @$case;
	my $containers_less = int($less / 8200) + 1;

	value(qq{
		TRUNCATE large_copy, large_part;
		INSERT INTO large_part
			SELECT k, s - int8range(($containers - $containers_less) * 65536::bigint, NULL) FROM large;
		COPY large_part TO '$dir/large.$format' (FORMAT $format);
		COPY large_copy FROM '$dir/large.$format' (FORMAT $format)});
	is(value(q{SELECT c.s = p.s FROM large_copy c, large_part p}), 't', "COPY, $format: as it was");
	note(value('SELECT octet_length(s::bytea) FROM large_copy'), " bytes by COPY, $format");
	unlink "$dir/large.$format";
}
command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-t', 'large_part', '-f', "$dir/dump.sql" ],
	'pg_dump of half of it');
value('CREATE DATABASE restored');
$node->safe_psql('restored', 'CREATE EXTENSION roaring64');
command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', "$dir/dump.sql" ],
	'restored');
is($node->safe_psql('restored', 'SELECT md5(s::bytea) FROM large_part'), value('SELECT md5(s::bytea) FROM large_part'),
	'as it was');
command_fails_like([ 'pg_dump', '-d', $node->connstr('postgres'), '-t', 'large', '-f', "$dir/dump.sql" ],
	qr/exceeds the maximum allowed size/, 'all of it is too large for pg_dump, which says so');
unlink "$dir/dump.sql";

$node->stop;
done_testing();
