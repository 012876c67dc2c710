# 002_foreign_files.pl
#	  Files that other implementations wrote, or that are meant to do harm.
#
# The files lie in the folder testdata of $ROARING64_TEST_SHARED or, by default,
# of "shared" beside this source tree; without it there is nothing to test.  Its
# MANIFEST.md says which are sets, with how many elements, from which to which.
# Bytes come into the server by three ways: COPY with binary format, the cast
# from bytea, and a literal of hexadecimal digits.  They must agree.
#
# What is in a set, and whether its bytes are canonical, is worked out by a
# reader here, which the manifest's numbers verify in turn.

use strict;
use warnings FATAL => 'all';

use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $folder = ($ENV{ROARING64_TEST_SHARED} || '../shared') . '/testdata';
plan skip_all => "there is no $folder" unless -f "$folder/MANIFEST.md";

# A whole file.
sub slurp
{
	my ($name) = @_;

	open my $file, '<:raw', $name or die "$name: $!";
	local $/;
	my $bytes = <$file>;
	close $file;
	return $bytes // '';
}

#
# The manifest: a table for every folder, a row for every file.  In the table
# of hostile files there is no checksum, the third column is the verdict, and
# the next one has the number of elements.
#
# The manifest says of {5,6,7} as an array that it is to be rewritten as a run.
# The two have the same size, and then the array is canonical.
#
my %canonical_nevertheless = ('hostile/arr_tie_3.bin' => 1);

my (@files, $subfolder);
open my $manifest, '<', "$folder/MANIFEST.md" or die "MANIFEST.md: $!";
while (my $line = <$manifest>)
{
	$subfolder = $1 if $line =~ m{^## (\w[\w-]*)/};
	next unless $line =~ /^\| *\S+ *\| *\d+ *\|/;

	my (undef, $name, $size, $third, $fourth) = split /\s*\|\s*/, $line;
	my $hostile = $subfolder eq 'hostile';
	my $verdict = $hostile ? $third : $fourth;
	my %file = (name => "$subfolder/$name", size => $size);

	$file{sha256} = $third unless $hostile;
	if ($verdict =~ /^accept/)
	{
		$file{accept} = 1;
		$file{rewritten} = $verdict eq 'accept+canon' && !$canonical_nevertheless{ $file{name} };
		($file{elements}) = $fourth =~ /card[ =](\d+)/;
		$file{limits} = "$1 to $2" if $verdict =~ /min=(\d+) max=(\d+)/;
		die "no cardinality: $line" unless defined $file{elements};
	}
	elsif ($verdict !~ /^(MUST REJECT|reject|container file)/)
	{
		die "verdict \"$verdict\" is not understood: $line";
	}
	push @files, \%file;
}
close $manifest;
my %listed = map { $_->{name} => 1 } @files;
is( join(' ',
		grep { -f "$folder/$_" && !$listed{$_} }
		  map { substr $_, length "$folder/" } glob "$folder/*/* $folder/*/*/*"),
	'', 'every file is in the manifest');
cmp_ok(scalar(grep { $_->{accept} } @files), '>', 30, 'the manifest has files with sets');
cmp_ok(scalar(grep { !$_->{accept} } @files), '>', 70, 'the manifest has files to be refused');
cmp_ok(scalar(grep { $_->{rewritten} } @files), '>', 2, 'the manifest has sets that are not canonical');

#
# Reads bytes that are a set, by the format's specification.  Gives the number
# of elements, the least and the greatest, both as unsigned (as in the
# manifest) and as signed (as in SQL), and whether the bytes are canonical.
#
sub read_set
{
	my ($bytes) = @_;
	my $buckets = unpack 'Q<', $bytes;
	my $position = 8;
	my $elements = 0;
	my $canonical = 1;
	my @ends;					# least and greatest of every container

	for (1 .. $buckets)
	{
		my ($high, $cookie) = unpack "x$position L< L<", $bytes;
		my ($count, @has_runs, $runs_seen);

		$position += 8;
		if (($cookie & 0xffff) == 12347)
		{
			my $flags = int((($count = ($cookie >> 16) + 1) + 7) / 8);

			@has_runs = split //, unpack "x$position b" . 8 * $flags, $bytes;
			$canonical = 0 if grep { $_ } @has_runs[ $count .. $#has_runs ];
			$position += $flags;
		}
		else
		{
			die "cookie $cookie" if $cookie != 12346;
			$count = unpack "x$position L<", $bytes;
			$position += 4;
		}
		$canonical = 0 if $count == 0;

		my @header = unpack "x$position (S<)" . 2 * $count, $bytes;
		$position += 4 * $count;
		$position += 4 * $count if !@has_runs || $count >= 4;

		for my $i (0 .. $count - 1)
		{
			my $cardinality = $header[ 2 * $i + 1 ] + 1;
			my $base = ($high << 32) + ($header[ 2 * $i ] << 16);
			my ($kind, $runs, $first, $last);

			if ($has_runs[$i])
			{
				$kind = 'run';
				$runs = unpack "x$position S<", $bytes;
				my @runs = unpack "x$position x2 (S<)" . 2 * $runs, $bytes;
				($first, $last) = ($runs[0], $runs[-2] + $runs[-1]);
				$position += 2 + 4 * $runs;
				$runs_seen = 1;
			}
			elsif ($cardinality <= 4096)
			{
				$kind = 'array';
				my @values = unpack "x$position (S<)$cardinality", $bytes;
				($first, $last) = @values[ 0, -1 ];
				$runs = grep { $_ == 0 || $values[$_] != $values[ $_ - 1 ] + 1 } 0 .. $#values;
				$position += 2 * $cardinality;
			}
			else
			{
				$kind = 'bitset';
				my $bits = unpack "x$position b65536", $bytes;
				($first, $last) = (index($bits, '1'), rindex($bits, '1'));
				$runs = () = $bits =~ /1+/g;
				$position += 8192;
			}

			# what takes least, and no runs if they do not take less
			my $best = $cardinality <= 4096 ? 'array' : 'bitset';
			my $others = $cardinality <= 4096 ? 2 * $cardinality : 8192;
			$best = 'run' if 2 + 4 * $runs < $others;
			$canonical = 0 if $kind ne $best;
			$elements += $cardinality;
			push @ends, $base + $first, $base + $last;
		}
		$canonical = 0 if @has_runs && !$runs_seen;
	}
	die 'bytes left' if $position != length $bytes;

	my %set = (elements => $elements, canonical => $canonical);
	if (@ends)
	{
		my @signed = sort { $a <=> $b } map { unpack 'q', pack 'Q', $_ } @ends;
		my @unsigned = sort { $a <=> $b } @ends;

		$set{unsigned} = "$unsigned[0] to $unsigned[-1]";
		$set{signed} = "$signed[0] to $signed[-1]";
	}
	return \%set;
}

#
# The server's view: one function that takes a file's bytes by a given way.
# The file beside them, with the name's end .copy, is what COPY reads.
#
my $node = start_server('foreign');
value(q{
	CREATE EXTENSION roaring64;
	CREATE TABLE incoming (s roaring64);
	CREATE FUNCTION take(way text, file text, OUT state text, OUT message text, OUT detail text, OUT s roaring64)
	LANGUAGE plpgsql AS $$
	BEGIN
		CASE way
			WHEN 'COPY' THEN
				DELETE FROM incoming;
				EXECUTE format('COPY incoming FROM %L (FORMAT binary)', file || '.copy');
				SELECT incoming.s INTO STRICT s FROM incoming;
			WHEN 'cast' THEN
				s := pg_read_binary_file(file)::roaring64;
			WHEN 'literal' THEN
				EXECUTE format($q$SELECT '\x%s'::roaring64$q$, encode(pg_read_binary_file(file), 'hex')) INTO STRICT s;
		END CASE;
		state := 'accepted';
	EXCEPTION WHEN others THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	END $$;

	-- the answer in a line; a set's least and greatest element are unsigned
	-- ones too, from what lies on either side of 0
	CREATE FUNCTION describe(way text, file text) RETURNS text
	LANGUAGE plpgsql AS $$
	DECLARE
		t record;
		content bytea := pg_read_binary_file(file);
	BEGIN
		t := take(way, file);
		IF t.state <> 'accepted' THEN
			RETURN format('%s: %s, %s, because %s', way, t.state, t.message,
						  regexp_replace(t.detail, '^Invalid data at byte (\d+): (.*)\.$', '\2 at byte \1'));
		END IF;
		RETURN format('%s: %s elements from %s to %s, unsigned from %s to %s, %s, check %s', way,
			roaring64_cardinality(t.s), roaring64_min(t.s), roaring64_max(t.s),
			coalesce(roaring64_next(t.s, 0), roaring64_min(t.s))::numeric
				+ CASE WHEN roaring64_max(t.s) < 0 THEN 18446744073709551616 ELSE 0 END,
			coalesce(roaring64_prev(t.s, -1), roaring64_max(t.s))::numeric
				+ CASE WHEN roaring64_min(t.s) < 0 THEN 18446744073709551616 ELSE 0 END,
			CASE WHEN t.s::bytea = content AND roaring64_send(t.s) = content THEN 'the same bytes'
				 WHEN t.s::bytea = roaring64_send(t.s) AND t.s::bytea::roaring64::bytea = t.s::bytea THEN 'other bytes'
				 ELSE 'bytes that do not agree' END,
			coalesce(roaring64_invalid_reason(content), 'passed'));
	END $$;
});

#
# Every file.
#
my $dir = tempdir(CLEANUP => 1);

for my $file (@files)
{
	my $name = $file->{name};
	my $bytes = slurp("$folder/$name");
	my $copy = "$dir/bytes";

	is(length $bytes, $file->{size}, "$name has its size");
	like(sha256_hex($bytes), qr/^\Q$file->{sha256}\E/, "$name has its checksum")
	  if defined $file->{sha256};

	open my $plain, '>:raw', $copy or die "$copy: $!";
	print $plain $bytes;
	close $plain or die "$copy: $!";
	open my $binary, '>:raw', "$copy.copy" or die "$copy.copy: $!";
	print $binary "PGCOPY\n\xff\r\n\0", pack('N2 n N/a* n', 0, 0, 1, $bytes, 0xffff);
	close $binary or die "$copy.copy: $!";

	my @answers = split /\n/,
	  value(qq{SELECT describe(way, '$copy') FROM unnest('{COPY,cast,literal}'::text[]) AS way});

	if (!$file->{accept})
	{
		my $check = value(qq{SELECT roaring64_invalid_reason(pg_read_binary_file('$copy'))});

		like($check, qr/^[a-z0-9].* at byte \d+$/, "$name is refused for a reason");
		is( join("\n", @answers),
			join("\n",
				map { "$_: 22P03, invalid binary representation of type roaring64, because $check" }
				  qw(COPY cast literal)),
			"$name is refused in every way");
		next;
	}

	my $set = eval { read_set($bytes) };
	unless (ok(defined $set, "$name can be read"))
	{
		diag($@);
		next;
	}
	is($set->{elements}, $file->{elements}, "$name has as many elements as its manifest says");
	is($set->{unsigned}, $file->{limits}, "$name has the limits that its manifest says")
	  if $file->{limits};
	is($set->{canonical}, 0, "$name is not canonical") if $file->{rewritten};
	is($set->{canonical}, 1, "$name is canonical") if $canonical_nevertheless{$name};
	is( join("\n", @answers),
		join("\n",
			map {
				sprintf '%s: %s elements from %s, unsigned from %s, %s bytes, check passed', $_,
				  $set->{elements}, $set->{signed} // ' to ', $set->{unsigned} // ' to ',
				  $set->{canonical} ? 'the same' : 'other'
			} qw(COPY cast literal)),
		"$name is accepted in every way");
}

$node->stop;
done_testing();
