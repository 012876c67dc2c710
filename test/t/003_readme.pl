# 003_readme.pl
#	  The documentation shows what the server gives, and names all there is.
#
# Run is every example of README.md and of the pages in docs/, in one database,
# so that whoever tries one page after another meets no name twice.  They run
# twice: in one database in the README's order of the pages, each example in a
# session of its own; and in a second one in a random order of the pages, each
# page in a single session, as if it was pasted.  ROARING64_TEST_SEED repeats a
# random order; the seed is shown.  The extension is created first, by the page
# that does that, and with it roaring64_tables, of which each page that needs it says
# so.  An example is
#
#	- a block marked "sql".  A block without a mark
#	  right after it is what psql prints; without one it prints nothing;
#	- a row of a table that has the columns "Example" and "Result".  The example
#	  is what follows SELECT, from the page's table of examples (CREATE TABLE
#	  ..._examples) if it has one, unless it says otherwise.  <br> separates rows and ", " columns; a dash stands for
#	  neither;
#	- the last line of an entry of the reference, "  `example` → `row`, `row`".
#	  An entry is an item of a list that begins with its signature: - **`f(x)`**
#
# How many that were is the name of a test, which passes if all were equal.
#
# The reference is compared with the catalogs in both directions: signatures,
# the functions behind operators and casts, and the setting.  What else can be wrong
# with a page, test/check-pages says.

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use List::Util qw(shuffle);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

#
# Reading the pages.  @examples is what to run, in order: page, name,
# statements, the options of psql, what it should print.  %table has the rows of
# the tables of all pages by the name of their first column.  The statements of
# docs/hosted.md are for another extension: 004_hosted.pl runs them.
#
my @pages = ('README.md', sort grep { $_ ne 'docs/hosted.md' } glob 'docs/*.md docs/*/*.md');
my (@examples, %table);
my @as_result = ('-A', '-t', '-F', ', ', '-P', 'null=NULL');

# The page that is being read, and its lines.
my ($page, @lines);

# The lines up to the end of the block that begins on line $$i; leaves $$i
# after it.
sub read_block
{
	my ($i) = @_;
	my @block;

	while ($lines[ ++$$i ] ne '```')
	{
		push @block, $lines[$$i];
		die "$page: a block has no end" if $$i == $#lines;
	}
	$$i++;
	return join '', map { "$_\n" } @block;
}

# The cells of a table's row.  A bar in a cell is written \|.
sub cells
{
	my ($line) = @_;
	my @cells = split /(?<!\\)\|/, $line;

	shift @cells;
	return map { s/^\s+|\s+$|//gr =~ s/\\\|/|/gr } @cells;
}

# A cell without its marks of code.
sub code { return $_[0] =~ s/`//gr; }

# The FROM of examples that have none.
sub from_examples
{
	my ($table) = map { /^CREATE TABLE (\w+_examples) AS$/ } @lines;

	return defined $table ? " FROM $table" : '';
}

sub read_table
{
	my ($i) = @_;
	my @columns = cells($lines[$$i]);
	my $from_examples = from_examples();

	$$i += 2;
	for (; ($lines[$$i] // '') =~ /^\|/; $$i++)
	{
		my %row;

		@row{@columns} = cells($lines[$$i]);
		push @{ $table{ $columns[0] } }, \%row;
		next if !defined $row{Result} || $row{Example} eq '—';

		my $query = code($row{Example});
		$query .= $from_examples if $query !~ /\bFROM\b/;
		push @examples,
		  {
			page => $page,
			name => "$page, line " . ($$i + 1) . ": $query",
			statements => "SELECT $query;",
			options => \@as_result,
			output => code($row{Result} =~ s/<br>/\n/gr) . "\n"
		  };
	}
	return;
}

# An entry of the reference.  %table gets it as a row, of "Cast" or of "Function",
# which aggregates and procedures are too.
sub read_entry
{
	my ($i) = @_;
	my $place = "$page, line " . ($$i + 1);
	my $from_examples = from_examples();
	my @entry = $lines[ $$i++ ];

	push @entry, $lines[ $$i++ ] while ($lines[$$i] // '') =~ /^  \S/;
	my ($signature, $function, $rest) =
	  join("\n", @entry) =~ /^- \*\*`([^`]+)`\*\*(?: \(`(\w+)`\))?(.*)/s
	  or die "$place: an entry without a signature";
	my ($example, $result) = $rest =~ /\\\n  `([^`]+)`(?: → ([^\n]*))?\z/;
	my $kind = $signature =~ /\(/ ? 'Function' : 'Cast';
	my %row = (
		$kind => $signature =~ s/\s+/ /gr,
		Example => $example // '—',
		Meaning => $rest,
		Function => $function // ($kind eq 'Cast' ? '—' : $signature =~ s/\s+/ /gr));

	push @{ $table{$kind} }, \%row;
	return if !defined $example;
	my $query = $example =~ s/\s+/ /gr;
	$query .= $from_examples if $query !~ /\bFROM\b/;
	push @examples,
	  {
		page => $page,
		name => "$place: $query",
		statements => "SELECT $query;",
		options => \@as_result,
		output => join("\n", ($result // '') =~ /`([^`]*)`/g) . "\n"
	  };
	return;
}

for (@pages)
{
	$page = $_;
	@lines = split /\n/, slurp_file($page);
	for (my $i = 0; $i < @lines;)
	{
		my $place = "$page, line " . ($i + 1);

		if ($lines[$i] eq '```sql')
		{
			my $statements = read_block(\$i);
			my $output = ($lines[$i] // '') eq '```' ? read_block(\$i) : '';

			push @examples,
			  {
				page => $page,
				name => $place,
				statements => $statements,
				options => [],
				output => $output
			  };
		}
		elsif ($lines[$i] eq '```')
		{
			die "$place: the output of nothing";
		}
		elsif ($lines[$i] =~ /^```(?:python|js|go|java|c)$/)
		{
			# a program, whose output test/drivers/run compares
			read_block(\$i);
			read_block(\$i) if ($lines[$i] // '') eq '```';
		}
		elsif ($lines[$i] =~ /^```/) { read_block(\$i); }
		elsif ($lines[$i] =~ /^\|/)  { read_table(\$i); }
		elsif ($lines[$i] =~ /^- \*\*`[^`]*(?:\(| → )/) { read_entry(\$i); }
		else                         { $i++; }
	}
}

cmp_ok(scalar(grep { !@{ $_->{options} } } @examples),
	'>', 10, 'the blocks are understood');
cmp_ok(scalar(grep { @{ $_->{options} } } @examples),
	'>', 80, 'the tables are understood');

#
# Running it.
#
my $node = PostgreSQL::Test::Cluster->new('readme');
$node->init;
# lz4 is the default from 19 on, in servers that have it; one page has a logical slot
$node->append_conf('postgresql.conf', "default_toast_compression = pglz\nwal_level = logical");
$node->start;

# What psql prints in a database, errors included, without space at the ends of
# lines.
sub psql
{
	my ($database, $statements, @options) = @_;
	my $printed = '';

	IPC::Run::run([ 'psql', '-X', '-q', @options, '-d', $node->connstr($database) ],
		'<', \$statements, '>', \$printed, '2>&1');
	$printed =~ s/[ \t]+$//mg;
	$printed =~ s/\n+\z/\n/;
	return $printed;
}

# The pages in the order in which one comes to them: README.md, those that it
# links to, and the rest.
my @read = ('README.md');
{
	my %seen = ('README.md' => 1);

	push @read, grep { -e && !$seen{$_}++ } slurp_file('README.md') =~ /\]\(([^)#]+\.md)/g, @pages;
}

# The same in a random order.
seed();
my @shuffled = shuffle(@read);
note("random order: @shuffled");

# The one example that creates the extension comes before all pages.
my @creation = grep { $_->{statements} =~ /^CREATE EXTENSION roaring64;/m } @examples;
is(join('', map { $_->{statements} } @creation),
	"CREATE EXTENSION roaring64;\n", 'one page creates the extension');
my %examples_of;
push @{ $examples_of{ $_->{page} } }, $_ for grep { $_ != $creation[0] } @examples;

# What a page's examples print, all in one session.
sub paste
{
	my ($database, @list) = @_;
	my $reset = "\\pset format unaligned\n\\pset tuples_only on\n";
	my $script = '';

	for (@list)
	{
		$script .= "${reset}SELECT '-- example --';\n";
		$script .= @{ $_->{options} }
		  ? "\\pset fieldsep ', '\n\\pset null NULL\n"
		  : "\\pset format aligned\n\\pset tuples_only off\n\\pset null ''\n";
		$script .= $_->{statements};
	}
	# the last mark keeps the empty line of a last example that gives nothing
	$script .= "${reset}SELECT '-- example --';\n";
	my (undef, @printed) = split /^-- example --\n/m, psql($database, $script), -1;
	pop @printed;
	s/\n+\z/\n/ for @printed;
	return @printed;
}

my $equal = 0;
for my $order ([ 'in_order', @read ], [ 'shuffled', @shuffled ])
{
	my ($database, @order) = @$order;

	# roles are shared by databases
	$node->safe_psql(
		'postgres', q{
		DROP DATABASE IF EXISTS in_order;
		SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE oid >= 16384 \gexec});
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	is(psql($database, "$creation[0]{statements} CREATE EXTENSION roaring64_tables"),
		'', "$creation[0]{name}, $database");
	for my $examples (map { $examples_of{$_} // [] } @order)
	{
		my @printed =
		  $database eq 'shuffled'
		  ? paste($database, @$examples)
		  : map { psql($database, $_->{statements}, @{ $_->{options} }) } @$examples;

		for (0 .. $#$examples)
		{
			my $example = $examples->[$_];

			$equal += is($printed[$_], $example->{output}, "$example->{name}, $database");
		}
	}
}
my $blocks = grep { !@{ $_->{options} } } @examples;
is($equal, 2 * (@examples - 1),
	sprintf '%d examples run twice, %d blocks and %d rows of tables: all give what is shown',
	scalar @examples, $blocks, @examples - $blocks);

#
# The catalogs: a line for every member of the extension, as the reference has
# to name it.  A function's arguments and result are written as in
#	name(type, name type DEFAULT value) → SETOF (name type, name type)
#
sub catalog
{
	my ($query) = @_;
	my $printed = psql(
		'shuffled',
		qq{
	CREATE TEMP VIEW members AS
	SELECT d.classid, d.objid FROM pg_depend d, pg_extension e
	WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		AND d.deptype = 'e' AND e.extname IN ('roaring64', 'roaring64_tables');
	$query}, '-A', '-t', '-v', 'ON_ERROR_STOP=1');

	return sort split /\n/, $printed;
}

# Of a default only the value is shown, and of a procedure's arguments no IN.
my $signature = q{
	proname || '(' || regexp_replace(regexp_replace(pg_get_function_arguments(p.oid),
			'(DEFAULT (NULL|''[^'']*''))::[a-z0-9 ]+(\[\])?', '\1', 'g'),
			'(^|, )IN ', '\1', 'g') || ')' AS long,
	p.oid::regprocedure::text AS short,
	pg_get_function_result(p.oid) AS result
};

# "f(a, OUT b c) → SETOF record" is written "f(a) → SETOF (b c)".
sub fold_out_arguments
{
	my ($function) = @_;
	my @out;

	push @out, $1 while $function =~ s/(?:, |(?<=\())OUT ([^,)]*)//;
	$function =~ s/→ (SETOF )?record/'→ ' . (defined $1 ? $1 : '') . '(' . join(', ', @out) . ')'/e
	  if @out;
	return $function;
}

# What the rows of a table say in some columns.
sub documented
{
	my (@columns) = @_;

	return sort map {
		my $row = $_;
		join ' ', map { code($row->{$_}) } @columns
	} @{ $table{ $columns[0] } };
}

# One test: two lists of lines are the same.
sub same
{
	my ($name, $got, $expected) = @_;

	return is(join("\n", @$got), join("\n", @$expected), $name);
}

#
# A page that calls what roaring64_tables has says how that is created.
#
my $of_tables = join '|', catalog(
	q{SELECT DISTINCT proname FROM members JOIN pg_proc p ON p.oid = objid JOIN pg_depend d ON d.objid = p.oid
		AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid
		WHERE d.refclassid = 'pg_extension'::regclass AND e.extname = 'roaring64_tables'});
my %calls = map { $_->{page} => 1 } grep { $_->{statements} =~ /\b(?:$of_tables)\(/ } @examples;
cmp_ok(scalar(keys %calls), '>', 5, 'there are pages that need roaring64_tables');
same('and each of them creates it',
	[ grep { slurp_file($_) !~ /`CREATE\s+EXTENSION\s+roaring64_tables\s+CASCADE`/ } sort keys %calls ], []);

#
# Functions have an entry of their own, or are named with the operator or the cast
# that they are behind.  In the table of operators S, E and R stand for types.
#
my %behind;
for my $row (@{ $table{Operator} })
{
	my %type = (S => 'roaring64', E => 'bigint', R => 'anyrange');

	$row->{Operator} = code($row->{Operator}) =~ s/\b([SER])\b/$type{$1}/gr;
}
for my $row (@{ $table{Operator} }, @{ $table{Cast} })
{
	my ($operands) = code($row->{Operator} // $row->{Cast}) =~ /^(.*) →/;
	my @types = grep { /^\w+(?:\[\])?$/ } split / /, $operands;

	$behind{ code($row->{Function}) . '(' . join(',', @types) . ')' } = 1
	  unless $row->{Function} eq '—';
}

# What the reference calls functions: with what arguments and result.
my @named = sort +documented('Function'), documented('Aggregate'), documented('Procedure');
my %named = map { $_ => 1 } @named;

my (@there, %is_there);
for (
	catalog(
		qq{SELECT short || '~' || long || coalesce(' → ' || result, '')
		FROM members JOIN pg_proc p ON p.oid = objid, LATERAL (SELECT $signature) s
		WHERE classid = 'pg_proc'::regclass AND proname !~ '^_roaring64_'}))
{
	my ($short, $long) = split /~/;

	$long = fold_out_arguments($long);
	$is_there{$short} = 1;
	push @there, $long if !$behind{$short} || $named{$long};
}

same('the functions, aggregates and procedures in the reference are those there are', \@named,
	[ sort @there ]);
# Functions that are not called have their comments, which the regression test catalog asks for.
my %internal = map { $_ => 1 } catalog(
	q{SELECT DISTINCT proname FROM members JOIN pg_proc p ON p.oid = objid
	WHERE classid = 'pg_proc'::regclass AND proname ~ '^_roaring64_'});
my @mentioned = slurp_file('docs/how-it-works.md') =~ /`(_roaring64_\w+)`/g;
cmp_ok(scalar @mentioned, '>', 1, 'internal functions are named in how-it-works.md');
same('and are there', [ grep { !$internal{$_} } @mentioned ], []);
same('the functions behind operators and casts are there',
	[ grep { !$is_there{$_} } sort keys %behind ], []);
same(
	'every function that can be called has an example',
	[ grep { !/^`?_|_(?:rollup_\w+|facets|recv|transfn|gin_\w+)\(|\(internal|→ trigger`?$/ && /→/ }
		  map { $_->{Function} } grep { $_->{Example} eq '—' } @{ $table{Function} } ],
	[]);

same(
	'the operators in the reference are those there are',
	[ documented('Operator', 'Function') ],
	[
		catalog(
			q{SELECT format_type(oprleft, NULL) || ' ' || oprname || ' '
			|| format_type(oprright, NULL) || ' → ' || format_type(oprresult, NULL)
			|| ' ' || proname
		FROM members JOIN pg_operator o ON o.oid = objid JOIN pg_proc p ON p.oid = oprcode
		WHERE classid = 'pg_operator'::regclass})
	]);

same(
	'the casts in the reference are those there are',
	[ sort map {
		code("$_->{Cast} $_->{Function}")
		  . ($_->{Meaning} =~ /^\s*Assignment\./ ? ' by assignment' : '')
	} @{ $table{Cast} } ],
	[
		catalog(
			q{SELECT format_type(castsource, NULL) || ' → ' || format_type(casttarget, NULL)
			|| ' ' || coalesce(proname, '—')
			|| CASE castcontext WHEN 'a' THEN ' by assignment' WHEN 'i' THEN ' implicit' ELSE '' END
		FROM members JOIN pg_cast c ON c.oid = objid LEFT JOIN pg_proc p ON p.oid = castfunc
		WHERE classid = 'pg_cast'::regclass})
	]);

same(
	'the other objects in the reference are those there are',
	[ documented('Object') ],
	[
		catalog(
			q{SELECT pg_describe_object(classid, objid, 0) FROM members
		WHERE classid NOT IN ('pg_proc'::regclass, 'pg_operator'::regclass,
			'pg_cast'::regclass, 'pg_opfamily'::regclass)
		-- some versions make the array type that comes with a type a member too
		AND NOT (classid = 'pg_type'::regclass
			AND objid IN (SELECT typarray FROM pg_type))})
	]);

same(
	'the settings in the reference are those there are',
	[ documented('Setting', 'Values', 'Default') ],
	[
		catalog(
			q{LOAD 'roaring64';
		SELECT name || ' ' || CASE vartype WHEN 'bool' THEN 'on, off'
			ELSE array_to_string(enumvals, ', ') END || ' ' || boot_val
		FROM pg_settings WHERE name LIKE 'roaring64.%'})
	]);

$node->stop;
done_testing();
