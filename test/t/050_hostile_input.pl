# 050_hostile_input.pl
#	  Random text and bytes through everything that makes a set of them.
#
# What comes in is noise, tokens in any order, valid input with mutations, and
# valid input.  Each either becomes a set or is refused with one of the error
# codes that its way in has; the server does not crash or hang.  A set that
# came in must be sound: it is canonical, goes out and in again as itself by
# text and bytes, and the three ways in for bytes agree about it.
#
# For each way and kind, how many were tried, taken and refused with which
# error code is printed.  There are 250 inputs of a kind by default
# (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $cases = effort(250);
my $seed = seed();

# Error codes, by way in.  Arrays and ranges are read by the server first.
my %codes = (
	text => '22P02 22003 22004 22P03 22023',
	soft => '22P02 22003 22004 22P03 22023',
	hex => '22P03 22023',
	bytea => '22P03',
	COPY => '22P03',
	bigints => '22P02 22003 22004 2202E 54000',
	integers => '22P02 22003 22004 2202E 54000',
	range => '22P02 22003 22000 54000',
	multirange => '22P02 22003 22000 54000',
);

sub one_of { return $_[ int rand @_ ] }

#
# Inputs
#
sub number
{
	return one_of(0, 1, -1, 65535, 65536, 4294967295, 4294967296, '9223372036854775807',
		'-9223372036854775808', '9223372036854775808', '-9223372036854775809', '+7', '-0',
		'007', int rand 1000, int(rand 2**52) - 2**51);
}

sub token
{
	return one_of('{', '}', ',', '{}', '\\x', 'NULL', 'null', ' ', "\t", '"', '\\', '-', '+',
		'.', 'e5', '0x1', '[', ']', '(', ')', 'nan', '{{', '}}', "\x{e9}", "\x{1f600}",
		number(), number(), ',', ',');
}

sub random_text
{
	return join '', map { chr one_of(32 + int rand 95, 1 + int rand 127, 0xa0 + int rand 2000) }
	  1 .. int rand 40;
}

sub list { return join ',', map { number() } 1 .. int rand 8 }

# One or two edits of a text: something put in, taken out, replaced, doubled.
sub mutated_text
{
	my ($text) = @_;

	for (1 .. 1 + int rand 2)
	{
		my $at = int rand 1 + length $text;
		my $length = int rand 3;
		my $new = one_of('', token(), substr $text, int rand 1 + length $text, 4);

		$length = length($text) - $at if $at + $length > length $text;
		substr($text, $at, $length) = $new;
	}
	return $text;
}

sub random_bytes { return pack 'C*', map { int rand 256 } 1 .. int rand $_[0] }

sub mutated_bytes
{
	my ($bytes, $other) = @_;

	for (1 .. 1 + int rand 3)
	{
		my $size = length $bytes;
		my $at = int rand(one_of(0, 1) && $size > 64 ? 64 : $size + 1);
		my $how = int rand 7;

		if ($how == 0)
		{
			vec($bytes, 8 * $at + int rand 8, 1) ^= 1 if $at < $size;
		}
		elsif ($how == 1)
		{
			my $width = one_of(1, 2, 4, 8);

			substr($bytes, $at, $width) =
			  substr pack('Q<', one_of(0, 1, 4096, 12346, 12347, 65535, 65536, 2**32 - 1)), 0, $width
			  if $at + $width <= $size;
		}
		elsif ($how == 2)
		{
			$bytes = substr $bytes, 0, $at;
		}
		elsif ($how == 3)
		{
			substr($bytes, $at, 0) = random_bytes(8);
		}
		elsif ($how == 4)
		{
			substr($bytes, $at, int rand 5) = '' if $at + 5 < $size;
		}
		elsif ($how == 5)
		{
			$bytes .= one_of("\0", random_bytes(4));
		}
		else
		{
			$bytes = substr($bytes, 0, $at) . substr $other, int rand length $other;
		}
	}
	return $bytes;
}

my $node = start_server('hostile', conf => "statement_timeout = '10min'\n",
	extra => [ '--locale=C', '--encoding=UTF8' ]);
value('CREATE EXTENSION roaring64');

# Sets of every shape, as bytes.
my @sets = map { pack 'H*', $_ } split /\n/, value(q{
	SELECT encode(roaring64_send(s), 'hex')
	FROM (VALUES ('{}'::roaring64), ('{5}'), ('{5,6,7,8,100}'), ('{-1,0,65536,4294967296}'),
		('{-9223372036854775808,9223372036854775807}')) v (s)
	UNION ALL
	SELECT encode(roaring64_send(roaring64_agg(e)), 'hex')
	FROM (SELECT 1 g, i * 2 e FROM generate_series(1, 4096) i
		UNION ALL SELECT 2, i * 3 FROM generate_series(1, 9000) i
		UNION ALL SELECT 3, i FROM generate_series(-300, 70000) i
		UNION ALL SELECT 4, i << 32 FROM generate_series(-20::bigint, 20) i
		UNION ALL SELECT 5, i << 16 FROM generate_series(1::bigint, 30) i
		UNION ALL SELECT 6, i * 65536 + j FROM generate_series(1::bigint, 6) i, generate_series(1, 50) j) x
	GROUP BY g});
my @small = grep { length $_ < 1000 } @sets;
is(scalar(@sets), 11, 'there are sets to mutate');
cmp_ok(scalar(@small), '>', 6, 'and most of them are small');

# The inputs, hexadecimal: way, kind, content.
my @inputs;
sub add_text
{
	my ($way, $kind, $text) = @_;

	$text =~ tr/\0//d;
	utf8::encode($text);
	push @inputs, [ $way, $kind, unpack 'H*', $text ];
}
sub add_bytes
{
	my ($kind, $bytes) = @_;

	push @inputs, [ $_, $kind, unpack 'H*', $bytes ] for qw(bytea hex COPY);
}
for (1 .. $cases)
{
	my $set = int rand 4 ? one_of(@small) : one_of(@sets);

	add_text('text', 'noise', random_text());
	add_text('text', 'tokens', join '', map { token() } 1 .. int rand 12);
	add_text('text', 'mutated', mutated_text('{' . list() . '}'));
	add_text('text', 'valid', '{' . join(',', map { int rand 1e15 } 1 .. int rand 50) . '}');
	add_text('text', 'mutated hex',
		mutated_text('\\x' . unpack 'H*', one_of(@small)));
	add_bytes('noise', random_bytes(60));
	add_bytes('mutated', mutated_bytes($set, one_of(@small)));
	add_bytes('mutated twice', mutated_bytes(mutated_bytes($set, one_of(@small)), one_of(@small)));
	add_bytes('valid', $set);
	for my $way (qw(bigints integers))
	{
		add_text($way, 'mutated',
			mutated_text(one_of('{' . list() . '}', '{{1,2},{3,4}}', '{NULL}', '[5:6]={1,2}')));
		add_text($way, 'valid', '{' . join(',', map { int rand 2**31 } 1 .. int rand 50) . '}');
	}

	# ranges of up to a million, empty, or so large that no set can hold them
	my @ranges = map {
		my $from = int(rand 2**50) - 2**49;
		my $to = $from + int rand 1e6;
		one_of('[', '(') . "$from,$to" . one_of(']', ')')
	} 1 .. 3;
	add_text('range', 'valid', one_of(@ranges, 'empty'));
	add_text('range', 'unbounded', one_of('(,)', '[0,)', '(,5)', '[-9223372036854775808,0]',
			'[0,9223372036854775807)'));
	add_text('range', 'mutated', one_of('[', '(', '') . one_of('1', ' 2', 'x', '-') . ','
		  . one_of('7', '0', '9223372036854775808', '1 2') . one_of(']', ')', '', '))'));
	add_text('multirange', 'valid', '{' . join(',', @ranges) . '}');
	add_text('multirange', 'mutated', '{' . one_of('[1,2)', '[1,2', '(5,1)', '') . one_of(',', '')
		  . one_of('[2,3]', '[,]', 'empty', '[') . one_of('}', ''));
}

#
# The server's view.  A COPY file holds one row of one column.
#
my $folder = PostgreSQL::Test::Utils::tempdir;
my $number = 0;
for my $input (@inputs)
{
	my ($way, undef, $hex) = @$input;
	my $path = '';

	if ($way eq 'COPY')
	{
		my $bytes = pack 'H*', $hex;

		$path = "$folder/" . $number++;
		open my $file, '>:raw', $path or die "$path: $!";
		print $file "PGCOPY\n\377\r\n\0", pack('N N n N', 0, 0, 1, length $bytes), $bytes,
		  pack 'n', 0xffff;
		close $file or die "$path: $!";
	}
	push @$input, $path;
}
open my $list, '>:raw', "$folder/inputs" or die "inputs: $!";
print $list join("\t", @$_), "\n" for @inputs;
close $list or die "inputs: $!";

my $soft = value(q{SELECT count(*) FROM pg_proc WHERE proname = 'pg_input_is_valid'});
my $valid = $soft ? q{pg_input_is_valid(words, 'roaring64')} : 'NULL';

value(qq{
	CREATE TABLE incoming (s roaring64);
	CREATE TABLE inputs (way text, kind text, hex text, file text, id serial,
		state text, message text, s roaring64, soft boolean);
	COPY inputs (way, kind, hex, file) FROM '$folder/inputs';
	CREATE FUNCTION take(way text, hex text, file text, OUT state text, OUT message text,
		OUT s roaring64, OUT soft boolean)
	LANGUAGE plpgsql AS \$\$
	DECLARE
		bytes bytea := decode(hex, 'hex');
		words text := CASE WHEN way NOT IN ('bytea', 'hex', 'COPY') THEN convert_from(bytes, 'UTF8') END;
	BEGIN
		IF way = 'text' THEN
			soft := $valid;
		END IF;
		CASE way
			WHEN 'text' THEN s := words::roaring64;
			WHEN 'hex' THEN s := ('\\x' || hex)::roaring64;
			WHEN 'bytea' THEN s := bytes::roaring64;
			WHEN 'COPY' THEN
				DELETE FROM incoming;
				EXECUTE format('COPY incoming FROM %L (FORMAT binary)', file);
				SELECT i.s INTO STRICT s FROM incoming i;
			WHEN 'bigints' THEN s := words::bigint[]::roaring64;
			WHEN 'integers' THEN s := words::integer[]::roaring64;
			WHEN 'range' THEN s := words::int8range::roaring64;
			WHEN 'multirange' THEN s := words::int8multirange::roaring64;
		END CASE;
		state := 'taken';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
	END \$\$;});

my ($status, $out, $err) = $node->psql(
	'postgres', q{
	UPDATE inputs i SET (state, message, s, soft) = (SELECT t.state, t.message, t.s, t.soft
		FROM take(way, hex, file) t)});
is($status, 0, "no input ended the session (seed $seed)") or diag($err);

diag("random input, seed $seed: way, kind, tried, taken, refused");
diag(
	value(q{
	SELECT format('%s %s: %s tried, %s taken%s', way, kind, sum(n),
			coalesce(sum(n) FILTER (WHERE state = 'taken'), 0),
		string_agg(format(', %s with %s', n, state), '' ORDER BY state) FILTER (WHERE state <> 'taken'))
	FROM (SELECT way, kind, state, count(*) n FROM inputs GROUP BY way, kind, state) c
	GROUP BY way, kind ORDER BY way, kind}));

# What must give no row: question, condition on inputs.
my $allowed = join ' OR ',
  map { my $way = $_; "way = '$way' AND state IN (" . join(',', map { "'$_'" } split / /, $codes{$way}) . ')' }
  sort keys %codes;
my $sample = q{way || ' ' || kind || ': ' || left(hex, 200) || ' ' || state || ' ' || coalesce(message, '')};
sub none
{
	my ($condition, $name) = @_;

	is(value("SELECT $sample FROM inputs WHERE $condition ORDER BY id LIMIT 5"),
		'', $name);
}
none("state IS NULL OR (state <> 'taken' AND ($allowed) IS NOT TRUE)",
	'what is refused has one of the error codes of its way in');
none("state <> 'taken' AND message ~ '^[A-Z]'", 'messages begin in lower case');
none("state <> 'taken' AND kind = 'valid' AND NOT (way = 'range' AND hex = '')",
	'what is valid is taken');
none("kind = 'unbounded' AND state <> '54000'", 'what no set can hold is refused for its size');
none( q{state = 'taken' AND (roaring64_invalid_reason(s::bytea) IS NOT NULL
		OR s::bytea::roaring64::bytea <> s::bytea)},
	'what is taken is canonical');
none( q{state = 'taken' AND (s::text::roaring64 <> s
		OR (roaring64_cardinality(s) < 100000 AND s::bigint[]::roaring64 <> s)
		OR s::int8multirange::roaring64 <> s)},
	'what is taken goes out and in again as itself');
none( q{way IN ('bytea', 'COPY', 'hex')
		AND (roaring64_invalid_reason(decode(hex, 'hex')) IS NULL) <> (state = 'taken')},
	'roaring64_invalid_reason says what is refused');
none( q{way = 'bytea' AND EXISTS (SELECT FROM inputs o
		WHERE o.way IN ('COPY', 'hex') AND o.id BETWEEN inputs.id + 1 AND inputs.id + 2
		AND (o.hex <> inputs.hex OR o.s IS DISTINCT FROM inputs.s))},
	'the three ways in for bytes agree');
none("soft <> (state = 'taken')", 'soft errors are for the same input as hard ones');

# Or the mutations have become too wild to say anything.  Some are taken once in 25
# times, so fewer than are usual may all be refused.
is(value(q{
	SELECT way, kind FROM inputs WHERE kind = 'mutated'
	GROUP BY way, kind
	HAVING count(*) >= 250
		AND (count(*) FILTER (WHERE state = 'taken') = 0 OR count(*) FILTER (WHERE state <> 'taken') = 0)}),
	'', 'of each mutated kind some are taken and some refused');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|TRAP/, 'no process crashed');

$node->stop;
done_testing();
