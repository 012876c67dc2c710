# Server.pm
#	  The server of a test, and sessions on it.
#
#	use FindBin;
#	use lib "$FindBin::RealBin/../perl";
#	use Server;
#
#	my $node = start_server('name', conf => "jit = off\n");
#	is(value('SELECT 1'), '1', 'it answers');
#	my $session = start_session('CALL work()');
#	is(finish($session), '', 'no error');
#
# The server is a PostgreSQL::Test::Cluster.  value() and start_session() ask the
# first one of a test, until ask() names another.

package Server;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;

our @EXPORT = qw(init_server start_server ask value start_session runs finish);

my $asked;

# A server that has not been started.  "conf" goes to postgresql.conf, the other
# options to PostgreSQL::Test::Cluster's init.
sub init_server
{
	my ($name, %options) = @_;
	my $conf = delete $options{conf};
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%options);
	$node->append_conf('postgresql.conf', $conf) if defined $conf;
	$asked //= $node;
	return $node;
}

sub start_server
{
	my $node = init_server(@_);

	$node->start;
	return $node;
}

# The server that value() and start_session() ask from now on.
sub ask
{
	($asked) = @_;
	return;
}

# What statements print: dies if one fails.
sub value
{
	my ($statements) = @_;

	return $asked->safe_psql('postgres', $statements);
}

# A psql that executes statements one by one, beside the test.  "out" and "err" are
# what it has printed, once pumped or finished; $connection adds to its connection
# string.
sub start_session
{
	my ($statements, $connection) = @_;
	my $session = { out => '', err => '' };

	$session->{run} = IPC::Run::start(
		[
			'psql', '-X', '-q', '-At', '-d', join(' ', $asked->connstr('postgres'), $connection // ()),
			map { ('-c', $_) } ref $statements ? @$statements : $statements
		],
		'<', \undef, '>', \$session->{out}, '2>', \$session->{err});
	return $session;
}

# Whether it has not ended.
sub runs
{
	my ($session) = @_;

	return $session->{run}->pumpable && do { $session->{run}->pump_nb; $session->{run}->pumpable };
}

# Waits until it has ended: what it complained of if that was with an error, or ''.
sub finish
{
	my ($session) = @_;

	return $session->{run}->finish ? '' : "failed: $session->{err}";
}

1;
