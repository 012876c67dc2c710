# Effort.pm
#	  How much a test does of what it does at random.
#
#	use FindBin;
#	use lib "$FindBin::RealBin/../perl";
#	use Effort;
#
#	my $rounds = effort(100);
#	my $seed = seed();
#
# A test says how much is enough on every run, as a number of things done and not
# as a time: so it does the same on a slow machine, and takes longer.
# $ROARING64_TEST_EFFORT multiplies that: 0.3 does less, 10 ten times as much.
# $ROARING64_TEST_SEED repeats a run.

package Effort;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use POSIX qw(ceil);
use Test::More;

our @EXPORT = qw(effort seed);

# As many things as the effort asks for, where it is usually $usual, and at least 1.
# What takes long or much room is done $most times at most.
sub effort
{
	my ($usual, $most) = @_;
	my $n = ceil($usual * ($ENV{ROARING64_TEST_EFFORT} || 1));

	return defined $most && $n > $most ? $most : $n;
}

# The seed of random numbers, from 0 to 999999, which Perl's are now made of.  It
# is shown.
sub seed
{
	my $seed = int($ENV{ROARING64_TEST_SEED} // time) % 1_000_000;

	note "ROARING64_TEST_SEED=$seed";
	srand $seed;
	return $seed;
}

1;
