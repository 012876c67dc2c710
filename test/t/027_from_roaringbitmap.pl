# 027_from_roaringbitmap.pl
#	  Columns of pg_roaringbitmap's 64-bit type become roaring64.
#
# docs/migration.md says how: by their bytes.  Here it is done with
# bytes that pg_roaringbitmap 1.2 made, which are in this file, and where the
# server has that extension, with random sets that it makes now.  There each row
# of the page's table of names is asked on both sides too.
#
# What the page says of a table that is being written to is done with writers:
# nothing that they commit is lost.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('peer');
value('CREATE EXTENSION roaring64');

#
# Made there: {1,5,-1}; the multiples of 3 up to 15; {}; all from 10 to 199,999.
# Of the last one CRoaring makes runs.
#
my %bytes = (
	'0200000000000000000000003a30000001000000000001001000000001000500ffffffff3a30000001000000ffff000010000000ffff'
	  => '{-1,1,5}',
	'0100000000000000000000003a3000000100000000000400100000000300060009000c000f00' => '{3,6,9,12,15}',
	'0000000000000000' => '{}');
for my $hex (sort keys %bytes)
{
	is(value(qq{
			CREATE TABLE t (id int PRIMARY KEY, members bytea);
			INSERT INTO t VALUES (1, '\\x$hex'), (2, NULL);
			ALTER TABLE t ALTER COLUMN members TYPE roaring64 USING members::bytea::roaring64;
			SELECT members, members::bytea = '\\x$hex' FROM t ORDER BY id;
			DROP TABLE t;}),
		"$bytes{$hex}|t\n|",
		"$bytes{$hex} comes in by its bytes");
}

#
# The page's statements, with a bytea column in the place of the other type,
# while two sessions add to its sets.
#
my (undef, $begin, $fill, $compare, $switch) =
  slurp_file('docs/migration.md') =~ /^```text\n(.*?)^```/msg;

value(q{
	CREATE TABLE audience (id int PRIMARY KEY, members bytea);
	INSERT INTO audience SELECT i, int8range(i, i + 100)::roaring64::bytea FROM generate_series(1, 30000) i;
	INSERT INTO audience VALUES (0, NULL)});
my $writes = $node->basedir . '/writes.sql';
append_to_file($writes, q{\set id random(1, 200)
\set x random(1, 1000000000)
UPDATE audience SET members = (members::roaring64 | :x)::bytea WHERE id = :id;
INSERT INTO audience VALUES (30000 + random() * 100000000, int8range(:x, :x + 9)::roaring64::bytea)
ON CONFLICT DO NOTHING;
});
my $errors = $node->basedir . '/writers';
my $writers = IPC::Run::start(
	[ 'pgbench', '-n', '-c', '2', '-T', '600', '-f', $writes, $node->connstr('postgres') ],
	'>', '/dev/null', '2>', $errors);

$node->poll_query_until('postgres', 'SELECT count(*) > 30050 FROM audience') or die 'nothing is written';
value($begin);
my $filled = 0;
$filled++ while value("$fill\\echo :ROW_COUNT") ne '0';
$writers->signal('TERM');
$writers->finish;
unlike(slurp_file($errors), qr/error/i, 'no writer gets an error');
cmp_ok($filled, '>=', 3, 'the rows are filled in batches');
is(value($compare), '0', 'nothing that was written is lost');
my $sum = value('SELECT sum(hashtext(members::text)) FROM audience');
value($switch);
is(value(q{SELECT sum(hashtext(members::bytea::text)), count(roaring64_min(members)) FROM audience}),
	$sum . '|' . value('SELECT count(members_old) FROM audience'),
	'the new column has taken the place of the old one');
value('DROP TABLE audience');

SKIP:
{
	skip 'the server does not have pg_roaringbitmap 1.2 or newer', 1
	  unless value(q{SELECT count(*) FROM pg_available_extension_versions
		WHERE name = 'roaringbitmap' AND version ~ '^(1\.[2-9]|[2-9])'});

	my $seed = seed();

	# Sets of every kind of container, without and with negative elements.
	value(qq{
		CREATE EXTENSION roaringbitmap;
		SELECT setseed(0.$seed);
		CREATE TABLE elements AS
		SELECT DISTINCT id, CASE id % 6
			WHEN 0 THEN (random() * 200)::bigint
			WHEN 1 THEN (random() * 100000)::bigint
			WHEN 2 THEN i
			WHEN 3 THEN (random() * 1e18)::bigint
			WHEN 4 THEN i / 60 * 160 + i % 60
			ELSE ((random() - 0.5) * 1.8e19)::bigint END AS e
		FROM generate_series(1, 60) AS id, generate_series(1, 200 * id) AS i;
		CREATE TABLE audience (id int, members roaringbitmap64);
		INSERT INTO audience SELECT id, rb64_build_agg(e) FROM elements GROUP BY id;
		INSERT INTO audience VALUES (0, '{}'), (61, rb64_fill('{}', 10, 300000));
		CREATE TABLE theirs AS SELECT * FROM audience;
		ALTER TABLE audience ALTER COLUMN members TYPE roaring64 USING members::bytea::roaring64;
	});
	is(value(q{
			SELECT count(*) FROM (
				(SELECT id, e FROM audience, roaring64_elements(members) AS e EXCEPT TABLE elements)
				UNION ALL
				(TABLE elements EXCEPT SELECT id, e FROM audience, roaring64_elements(members) AS e)) AS d
			WHERE id BETWEEN 1 AND 60}),
		0, 'random sets have the same elements');

	# a, b: theirs; c, d: the same as ours; x: an element or not.
	my @same = (
		'rb64_to_array(a)' => 'roaring64_to_array(c)',
		'ARRAY(SELECT rb64_iterate(a))' => 'ARRAY(SELECT roaring64_elements(c))',
		'rb64_cardinality(a)' => 'roaring64_cardinality(c)',
		'rb64_is_empty(a)' => 'roaring64_is_empty(c)',
		'rb64_min(a)' => 'roaring64_min(c)',
		'rb64_max(a)' => 'roaring64_max(c)',
		'rb64_rank(a, x)' => 'roaring64_rank(c, x)',
		'rb64_index(a, x)' => 'CASE WHEN c @> x THEN roaring64_rank(c, x) - 1 WHEN NOT c @> x THEN -1 END',
		'rb64_to_array(a | b)' => '(c | d)::bigint[]',
		'rb64_to_array(a & b)' => '(c & d)::bigint[]',
		'rb64_to_array(a # b)' => '(c # d)::bigint[]',
		'rb64_to_array(a - b)' => '(c - d)::bigint[]',
		'rb64_to_array(a | x)' => '(c | x)::bigint[]',
		'rb64_to_array(a - x)' => '(c - x)::bigint[]',
		'a @> b' => 'c @> d',
		'a @> x' => 'c @> x',
		'x <@ a' => 'x <@ c',
		'a && b' => 'c && d',
		'a = b' => 'c = d',
		'rb64_and_cardinality(a, b)' => 'roaring64_and_cardinality(c, d)',
		'rb64_or_cardinality(a, b)' => 'roaring64_or_cardinality(c, d)',
		'rb64_xor_cardinality(a, b)' => 'roaring64_xor_cardinality(c, d)',
		'rb64_andnot_cardinality(a, b)' => 'roaring64_andnot_cardinality(c, d)',
		# of two empty sets it is ours to say 1
		'CASE WHEN NOT rb64_is_empty(a | b) THEN rb64_jaccard_dist(a, b) END'
		  => 'CASE WHEN NOT roaring64_is_empty(c | d) THEN roaring64_jaccard(c, d) END',
		'rb64_to_array(rb64_range(a, 50, 900))' => '(c & int8range(50, 900))::bigint[]',
		'rb64_range_cardinality(a, 50, 900)' => 'roaring64_cardinality(c, int8range(50, 900))',
		'rb64_to_array(rb64_fill(a, 50, 900))' => '(c | int8range(50, 900))::bigint[]',
		'rb64_to_array(rb64_clear(a, 50, 900))' => '(c - int8range(50, 900))::bigint[]',
		'rb64_to_array(rb64_flip(a, 50, 900))' => '(c # int8range(50, 900))::bigint[]',
		'rb64_to_array(rb64_select(a, 10, 20))' => 'roaring64_slice(c, 20, 10)::bigint[]',
		'ARRAY(SELECT e FROM unnest(rb64_to_array(rb64_select(a, 10, 0, true))) AS e ORDER BY e DESC)'
		  => 'roaring64_last(c, 10)',
		'rb64_to_array(rb64_select(a, 10, 20, true))'
		  => '((roaring64_last(c, 20 + 10))[20 + 1:]::roaring64)::bigint[]',
		'rb64_to_array(rb64_select(a, 10, 0, true, 50, 900))'
		  => '((roaring64_last(c & int8range(50, 900), 0 + 10))[0 + 1:]::roaring64)::bigint[]',
		'rb64_to_array(rb64_select(a, 10, 2, false, 50, 900))'
		  => 'roaring64_slice(c & int8range(50, 900), 2, 10)::bigint[]',
		'rb64_to_array(rb64_range(a, 50, 0))'
		  => '(c & int8range(least(50, nullif(0, 0)), nullif(0, 0)))::bigint[]',
		'rb64_to_array(rb64_range(a, 50, 9))'
		  => '(c & int8range(least(50, nullif(9, 0)), nullif(9, 0)))::bigint[]',
		'a <> b' => 'c <> d',
		'rb64_to_array(a << 1000)' => 'roaring64_shift(c - int8range(0, 1000), -1000)::bigint[]',
		'rb64_to_array(a >> 1000)' => 'roaring64_shift(c, 1000)::bigint[]');
	while (my ($theirs, $ours) = splice @same, 0, 2)
	{
		is(value(qq{
				SELECT count(*), count(*) FILTER (WHERE ($theirs) IS DISTINCT FROM ($ours))
				FROM (SELECT t.members AS a, u.members AS b, o.members AS c, p.members AS d,
						coalesce(roaring64_select(o.members, 3), 0) + t.id % 2 AS x
					FROM theirs AS t JOIN audience AS o USING (id)
					JOIN theirs AS u ON u.id IN (t.id, (t.id + 6) % 62) JOIN audience AS p ON p.id = u.id
					WHERE NOT o.members && int8range(NULL, 0) AND NOT p.members && int8range(NULL, 0)) AS s}
			) =~ /^[1-9]\d+\|0$/ ? 'same' : 'different',
			'same', "$theirs is $ours");
	}
	is(value(q{
			SELECT rb64_to_array(rb64_or_agg(t.members)) IS NOT DISTINCT FROM roaring64_or_agg(o.members)::bigint[],
				rb64_to_array(rb64_xor_agg(t.members)) IS NOT DISTINCT FROM roaring64_xor_agg(o.members)::bigint[],
				rb64_to_array(rb64_and_agg(t.members)) IS NOT DISTINCT FROM roaring64_and_agg(o.members)::bigint[],
				rb64_or_cardinality_agg(t.members) = roaring64_or_cardinality_agg(o.members),
				rb64_xor_cardinality_agg(t.members) = roaring64_xor_cardinality_agg(o.members),
				rb64_and_cardinality_agg(t.members) = roaring64_and_cardinality_agg(o.members)
			FROM theirs AS t JOIN audience AS o USING (id) WHERE NOT o.members && int8range(NULL, 0)}),
		't|t|t|t|t|t', 'aggregates');
	# where elements are negative, the order is the difference
	is(value(q{SELECT rb64_max('{1,-1}'), roaring64_max('{1,-1}'),
			rb64_rank('{1,5,-1}', 5), roaring64_rank('{1,5,-1}', 5)}),
		'-1|1|2|3', 'negative elements are last there and first here');
	is(value(q{SELECT '{-1,5}'::roaringbitmap::roaringbitmap64::bytea::roaring64}),
		'{-1,5}', 'a 32-bit set by way of the 64-bit type');
}

$node->stop;
done_testing();
