# Crash.pm
#	  Ends a server as a power failure would, and starts it again.
#
#	use FindBin;
#	use lib "$FindBin::RealBin/../perl";
#	use Crash;
#
# A server does not start while a process of the one before is still attached
# to its memory, and backends at work notice only when they next wait that
# their parent is gone.  Here they are killed with it, and starting is tried
# until the last has gone.

package Crash;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Time::HiRes qw(usleep);

our @EXPORT = qw(kill_server start_after_kill);

# Kills the postmaster of a PostgreSQL::Test::Cluster and all its processes.
sub kill_server
{
	my ($node) = @_;
	my @pids = split /\n/, $node->safe_psql('postgres',
		'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');

	$node->kill9;
	kill KILL => @pids;
}

# Starts the server, and dies after a minute of trying.
sub start_after_kill
{
	my ($node) = @_;

	for my $try (1 .. 300)
	{
		return if $node->start(fail_ok => 1);
		usleep(200_000);
		# where nobody reaps the old one, it is still taken for running
		$node->{_pid} = undef;
	}
	die 'the server does not start again: see ' . $node->logfile . "\n";
}

1;
