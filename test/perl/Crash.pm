# Crash.pm
#	  Ends a server as a power failure would, and starts it again.
#
#	use FindBin;
#	use lib "$FindBin::RealBin/../perl";
#	use Crash;
#
# A server does not start while a process of the one before is still attached
# to its memory.  Backends at work notice only when they next wait that their
# parent is gone; and one that waits for a lock of a process that was killed
# never does.  So all processes are killed with it, and no one may be missed:
# the postmaster is stopped first, so that it makes no new ones.

package Crash;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Time::HiRes qw(usleep);

our @EXPORT = qw(kill_server start_after_kill);

# The state of a process and its parent; an empty list if there is no such one.
sub process
{
	my ($pid) = @_;

	open my $stat, '<', "/proc/$pid/stat" or return;
	# the name, in parentheses, may have spaces
	return (<$stat> // '') =~ /\) (\S) (\d+)/;
}

# Kills the postmaster of a PostgreSQL::Test::Cluster and all its processes.
sub kill_server
{
	my ($node) = @_;
	my $postmaster = $node->{_pid};

	kill STOP => $postmaster or die "no postmaster: $!\n";
	for my $try (1 .. 60_000)
	{
		last if ((process($postmaster))[0] // 'X') =~ /[TXZ]/;
		die "the postmaster does not stop\n" if $try == 60_000;
		usleep(1000);
	}
	my @children = grep { ((process($_))[1] // 0) == $postmaster }
	  map { m{(\d+)$} } glob '/proc/[0-9]*';
	$node->kill9;
	kill KILL => @children;

	# A process that nobody reaps, as in some containers, is taken for running.
	for my $pid ($postmaster, @children)
	{
		usleep(1000) until ((process($pid))[0] // 'X') =~ /[XZ]/;
	}
	unlink $node->data_dir . '/postmaster.pid', $node->host . '/.s.PGSQL.' . $node->port . '.lock';
}

# Starts the server, and dies after two minutes of trying.
sub start_after_kill
{
	my ($node) = @_;

	for my $try (1 .. 600)
	{
		return if $node->start(fail_ok => 1);
		usleep(200_000);
		$node->{_pid} = undef;
	}
	die 'the server does not start again: see ' . $node->logfile . "\n";
}

1;
