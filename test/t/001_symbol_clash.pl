# 001_symbol_clash.pl
#	  Another module in the backend exports the same names as CRoaring.
#
# PostgreSQL opens modules so that each sees the names of those opened before.
# pg_roaringbitmap exports all of its own CRoaring, an older one, and code that
# calls the wrong one answers wrongly or crashes.  Here a decoy module exports
# every name that the CRoaring in use exports, and all that our engine asks
# for, as functions that do nothing but raise an error.  Whichever is loaded
# first, roaring64 must answer as plain SQL does, and the decoy must reach its
# own functions.
#
# Fails if the module is linked with CRoaring instead of opening it as
# src/engine/croaring.c does.  With $ROARING_SOURCE its code is in the module,
# and no other library can replace its functions.  Without RTLD_DEEPBIND
# roaring64 must refuse to work where the decoy was there before it.

use strict;
use warnings FATAL => 'all';

use File::Temp qw(tempdir);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('clash');
value('CREATE EXTENSION roaring64');

#
# The CRoaring in use is the one that a backend has mapped.  Reading it there
# also shows that these operators do load it.
#
my $inside = ($ENV{ROARING_SOURCE} // '') ne '';
my ($library) = value(q{
	SELECT roaring64_cardinality('{1,2,3}');
	SELECT substring(pg_read_file('/proc/self/maps') FROM '(/[^\n]*/libroaring[^\n]*)');
}) =~ m{^(/.*libroaring.*)$}m;
if ($inside)
{
	is($library, undef, 'a backend that uses roaring64 has no CRoaring library mapped');
	$library = 'croaring-build/croaring.o';
}
ok(defined $library && -f $library, 'the CRoaring in use is known')
  or BAIL_OUT('CRoaring is not in use');

#
# Names: all that it exports, and all in the engine's table.
#
my (%functions, %objects);
my $dynamic = $inside ? '' : '-D';
for (qx{nm $dynamic -S --defined-only --format=posix '$library'})
{
	my ($name, $type, undef, $size) = split;
	next unless $name =~ /^\w+$/;
	if ($type =~ /^[TW]$/) { $functions{$name} = 1; }
	elsif ($size && $type =~ /^[A-Z]$/) { $objects{$name} = hex $size; }
}
open my $kernels, '<', 'src/engine/croaring.h' or die "croaring.h: $!";
my @kernels = map { /^\s*K\((\w+)\)/ ? $1 : () } <$kernels>;
close $kernels;
$functions{$_} = 1 for @kernels;
cmp_ok(scalar @kernels, '>', 20, 'the engine\'s table of functions is understood');
cmp_ok(scalar keys %functions,
	'>', scalar @kernels, 'CRoaring exports more than that');

#
# Build the decoy, and a module that is linked with CRoaring innocently.
#
my $dir = tempdir(CLEANUP => 1);
open my $names, '>', "$dir/names.h" or die "names.h: $!";
print $names "#define DECOY_FUNCTIONS(F)",
  map({ " \\\n\tF($_)" } sort keys %functions), "\n";
print $names "#define DECOY_OBJECTS(O)",
  map({ " \\\n\tO($_, $objects{$_})" } sort keys %objects), "\n";
close $names;

my $pg_config = $ENV{PG_CONFIG} || 'pg_config';

sub pg_config
{
	my $value = qx{$pg_config --$_[0]};
	chomp $value;
	return $value;
}

my $compiler = pg_config('cc');
my $compile = join ' ', $compiler,
  '-O1 -fPIC -shared -fno-builtin', pg_config('cppflags'),
  '-I' . pg_config('includedir-server'), "-I$dir",
  $inside ? '-isystem croaring-build/include' : $ENV{ROARING_CFLAGS} // '';

sub build
{
	my ($module, @libraries) = @_;

	is(system("$compile -o '$dir/$module.so' test/decoy/$module.c @libraries"),
		0, "$module builds");
	return "$dir/$module";
}
my $decoy = build('decoy');
my $linked = build('linked',
	$inside ? '-w croaring-build/croaring.c' : "-Wl,--no-as-needed '$library'");

value(qq{
	CREATE FUNCTION decoy_strangers() RETURNS text
		LANGUAGE C AS '$decoy', 'decoy_strangers';
	CREATE FUNCTION decoy_call(text) RETURNS void
		LANGUAGE C AS '$decoy', 'decoy_call';
	CREATE FUNCTION linked_cardinality(integer) RETURNS integer
		LANGUAGE C AS '$linked', 'linked_cardinality';
});

#
# Every pair of shapes through every operation, against plain SQL.  The shapes
# have array, bitset and run containers, full and partial, so that all kinds
# of kernel are called.  What plain SQL answers is worked out once: a row for
# every number that is in some shape, with the shapes that have it.
#
value(q{
	CREATE TABLE shapes (id int, name text, list bigint[]);
	INSERT INTO shapes
	SELECT 1, 'bitset', array_agg(i) FROM generate_series(0::bigint, 140000, 2) i
	UNION ALL
	SELECT 2, 'bitset of threes', array_agg(i) FROM generate_series(1::bigint, 90000, 3) i
	UNION ALL
	SELECT 3, 'array', array_agg(i) FROM generate_series(0::bigint, 140000, 37) i
	UNION ALL
	SELECT 4, 'sparse array', array_agg(i) FROM generate_series(5::bigint, 140000, 1001) i
	UNION ALL
	SELECT 5, 'run', array_agg(i) FROM generate_series(30000::bigint, 140000) i
	UNION ALL
	SELECT 6, 'runs', array_agg(i) FROM generate_series(0::bigint, 140000) i
		WHERE i % 100 < 60
	UNION ALL
	SELECT 7, 'snowflakes', array_agg((i * 37) << 22) FROM generate_series(1::bigint, 5000) i
	UNION ALL
	SELECT 8, 'mixed', array_agg(i) FROM generate_series(0::bigint, 140000) i
		WHERE i < 65536 AND i % 50 = 0 OR i BETWEEN 65536 AND 131071 AND i % 3 = 0
			OR i > 131071 AND i % 1000 < 900;

	CREATE TABLE members AS
	SELECT v, sum(1 << id) AS shapes FROM shapes, unnest(list) v GROUP BY v;

	CREATE FUNCTION digest(bigint[]) RETURNS text IMMUTABLE
		RETURN cardinality($1) || ':' || hash_array_extended($1, 0);
	CREATE TABLE expected AS
	SELECT a.id AS a, b.id AS b, w.*
	FROM shapes a, shapes b, LATERAL (
		SELECT digest(coalesce(array_agg(v), '{}')) AS union_,
			digest(coalesce(array_agg(v) FILTER (WHERE in_a AND in_b), '{}')) AS intersection,
			digest(coalesce(array_agg(v) FILTER (WHERE in_a AND NOT in_b), '{}')) AS difference,
			digest(coalesce(array_agg(v) FILTER (WHERE in_a <> in_b), '{}')) AS xor,
			count(*) FILTER (WHERE in_a AND in_b) AS common,
			bool_or(in_a AND in_b) AS overlapping,
			bool_and(NOT in_a OR in_b) AS contained
		FROM (SELECT v, shapes & (1 << a.id) <> 0 AS in_a,
				shapes & (1 << b.id) <> 0 AS in_b FROM members ORDER BY v) m
		WHERE in_a OR in_b) w;
});
cmp_ok(
	value(q{
	SELECT count(DISTINCT (union_, intersection, difference, xor, common)) FROM expected}),
	'>', 50, 'the expected answers differ from each other');

# Gives how many answers are right, and which are not.
my $compare = q{
	WITH sets AS MATERIALIZED (SELECT id, name, list::roaring64 AS s FROM shapes),
	answers AS (
		SELECT a.name || ' ' || op || ' ' || b.name AS question, got = want AS right
		FROM expected e, sets a, sets b,
		LATERAL (VALUES
			('|', digest((a.s | b.s)::bigint[]), union_),
			('&', digest((a.s & b.s)::bigint[]), intersection),
			('-', digest((a.s - b.s)::bigint[]), difference),
			('#', digest((a.s # b.s)::bigint[]), xor),
			('common', roaring64_and_cardinality(a.s, b.s)::text, common::text),
			('&&', (a.s && b.s)::text, overlapping::text),
			('<@', (a.s <@ b.s)::text, contained::text)
		) o(op, got, want)
		WHERE e.a = a.id AND e.b = b.id)
	SELECT count(*) FILTER (WHERE "right") || ' right'
		|| coalesce('; wrong: ' || string_agg(question, ', ')
			FILTER (WHERE "right" IS NOT TRUE), '') FROM answers;
};
my $all_right = 8 * 8 * 7 . ' right';

# What one backend says to a list of commands: output and errors together.
sub backend
{
	my (@commands) = @_;
	my ($status, $out, $err) =
	  $node->psql('postgres', join("\n", map { "$_;" } @commands));

	$err =~ s/^psql:<stdin>:\d+: //mg;
	return join "\n", grep { $_ ne '' } map { s/\n+$//r } $out, $err;
}

is(backend($compare), $all_right, 'roaring64 alone answers right');

# What roaring64 says where another library was there before it, with which its
# CRoaring could be confused.
my $refused = qr/^ERROR: .*another library in this process/s;
my $deepbind = $inside
  || qx{printf '#include <dlfcn.h>\nRTLD_DEEPBIND\n' | $compiler -D_GNU_SOURCE -E -P -}
  !~ /RTLD_DEEPBIND/ && ($ENV{COPT} // '') !~ /R64_NO_DEEPBIND/;

if ($deepbind)
{
	is(backend("LOAD '$decoy'", $compare), $all_right,
		'roaring64 answers right when the decoy was there before it');

	is(backend("LOAD '$decoy'", $compare, 'SELECT decoy_strangers()'),
		$all_right, 'the decoy has its own functions when it was there first');
}
else
{
	like(backend("LOAD '$decoy'", $compare), $refused,
		'roaring64 refuses to work when the decoy was there before it');

	is(backend("LOAD '$decoy'", 'SELECT decoy_strangers()'),
		'', 'the decoy has its own functions when it was there first');
}

is(backend($compare, "LOAD '$decoy'", $compare), "$all_right\n$all_right",
	'roaring64 answers right before and after the decoy comes');

is(backend($compare, 'SELECT decoy_strangers()'), $all_right,
	'the decoy has its own functions when roaring64 was there first');

like(
	backend($compare, "SELECT decoy_call('$kernels[0]')"),
	qr/^\Q$all_right\E\nERROR:  decoy function \Q$kernels[0]\E was called/,
	'and calls them');

#
# A module that brings CRoaring in for everyone to see.  By itself it does no
# harm.  With the decoy before it, its CRoaring's calls to itself end in the
# decoy; ours would too if it were the same, and roaring64 must say so and not
# answer.
#
is(backend('SELECT linked_cardinality(10)', $compare),
	"10\n$all_right", 'roaring64 works beside a module linked with CRoaring');

if ($inside)
{
	is(backend("LOAD '$decoy'", "LOAD '$linked'", $compare), $all_right,
		'roaring64 has a CRoaring that no other library can take over');
}
else
{
	like(backend("LOAD '$decoy'", "LOAD '$linked'", $compare), $refused,
		'roaring64 refuses a CRoaring that another library has taken over');
}

$node->stop;
done_testing();
