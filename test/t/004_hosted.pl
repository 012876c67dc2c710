# 004_hosted.pl
#	  The statements of docs/hosted.md, on a server that has pg_roaringbitmap.
#
# The page shows what that extension does where roaring64 is not to be had.  Each
# of its blocks runs in turn, in one database, and must print what follows it.
# Left out where the server does not have 64-bit sets of pg_roaringbitmap.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('hosted');
my $version = value(q{SELECT default_version FROM pg_available_extensions WHERE name = 'roaringbitmap'});
if ($version !~ /\A[1-9]/)
{
	$node->stop;
	plan skip_all => 'the server has no pg_roaringbitmap 1.0 or newer';
}

# A block of statements, and what they print, if that is shown.
my @blocks = slurp_file('docs/hosted.md') =~ /^```text\n(.*?)^```\n(?:```\n(.*?)^```\n)?/msg;
my $shown = 0;
while (my ($statements, $output) = splice @blocks, 0, 2)
{
	my ($name) = $statements =~ /(.*)/;
	my ($status, $printed, $error) = run_block($statements);

	is("$status $error", '0 ', "$name ...: no error");
	next unless defined $output;
	$shown++;
	is($printed =~ s/[ \t]+$//gmr =~ s/\s+\z//r, $output =~ s/\s+\z//r, "$name ...: what the page shows");
}
cmp_ok($shown, '>=', 4, 'the page shows what its statements print');

sub run_block
{
	my ($statements) = @_;
	my ($printed, $error) = ('', '');
	my $status = 0 + !IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ],
		'<', \$statements, '>', \$printed, '2>', \$error);

	return ($status, $printed, $error);
}

$node->stop;
done_testing();
