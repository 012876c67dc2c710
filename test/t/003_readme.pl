# 003_readme.pl
#	  The README shows what the server gives, and names all there is.
#
# Run is every example of README.md, one after the other in one database:
#
#	- a block marked "sql", in a session of its own.  A block without a mark
#	  right after it is what psql prints; without one it prints nothing;
#	- a row of a table that has the columns "Example" and "Result".  The example
#	  is what follows SELECT, from the table t unless it says otherwise.  <br>
#	  separates rows and ", " columns; a dash stands for neither.
#
# How many that were is the name of a test, which passes if all were equal.
#
# The reference is compared with the catalogs in both directions: signatures,
# the functions behind operators and casts, costs, and the setting.  Links
# within the page and to files have to lead somewhere.

use strict;
use warnings FATAL => 'all';

use IPC::Run;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

#
# Reading README.md.  @examples is what to run, in order: name, statements, the
# options of psql, what it should print.  %table has the rows of the tables of
# the reference by the name of their first column.
#
open my $readme, '<', 'README.md' or die "README.md: $!";
my @lines = <$readme>;
close $readme;
chomp @lines;

my (@examples, %table);
my @as_result = ('-A', '-t', '-F', ', ', '-P', 'null=NULL');

# The lines up to the end of the block that begins on line $$i; leaves $$i
# after it.
sub read_block
{
	my ($i) = @_;
	my @block;

	push @block, $lines[$$i] while $lines[ ++$$i ] ne '```';
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

sub read_table
{
	my ($i) = @_;
	my @columns = cells($lines[$$i]);

	$$i += 2;
	for (; $lines[$$i] =~ /^\|/; $$i++)
	{
		my %row;

		@row{@columns} = cells($lines[$$i]);
		push @{ $table{ $columns[0] } }, \%row;
		next if !defined $row{Result} || $row{Example} eq '—';

		my $query = code($row{Example});
		$query .= ' FROM t' unless $query =~ /\bFROM\b/;
		push @examples,
		  {
			name => 'line ' . ($$i + 1) . ": $query",
			statements => "SELECT $query;",
			options => \@as_result,
			output => code($row{Result} =~ s/<br>/\n/gr) . "\n"
		  };
	}
	return;
}

for (my $i = 0; $i < @lines;)
{
	if ($lines[$i] eq '```sql')
	{
		my $name = 'the block on line ' . ($i + 1);
		my $statements = read_block(\$i);
		my $output = $lines[$i] eq '```' ? read_block(\$i) : '';

		push @examples,
		  {
			name => $name,
			statements => $statements,
			options => [],
			output => $output
		  };
	}
	elsif ($lines[$i] eq '```')
	{
		die 'the block on line ' . ($i + 1) . ' is the output of nothing';
	}
	elsif ($lines[$i] =~ /^```/) { read_block(\$i); }
	elsif ($lines[$i] =~ /^\|/)  { read_table(\$i); }
	else                         { $i++; }
}

cmp_ok(scalar(grep { !@{ $_->{options} } } @examples),
	'>', 10, 'the blocks of the README are understood');
cmp_ok(scalar(grep { @{ $_->{options} } } @examples),
	'>', 80, 'the tables of the README are understood');

#
# Running it.
#
my $node = PostgreSQL::Test::Cluster->new('readme');
$node->init;
$node->start;

# What psql prints, errors included, without space at the ends of lines.
sub psql
{
	my ($statements, @options) = @_;
	my $printed = '';

	IPC::Run::run([ 'psql', '-X', '-q', @options, '-d', $node->connstr('postgres') ],
		'<', \$statements, '>', \$printed, '2>&1');
	$printed =~ s/[ \t]+$//mg;
	$printed =~ s/\n+\z/\n/;
	return $printed;
}

my $equal = grep { is(psql($_->{statements}, @{ $_->{options} }), $_->{output}, $_->{name}) }
  @examples;
my $blocks = grep { !@{ $_->{options} } } @examples;
is($equal, scalar @examples, sprintf '%d examples run, %d blocks and %d rows of tables: all give what is shown',
	scalar @examples, $blocks, @examples - $blocks);

#
# Links.  A heading's anchor is its text in lower case, with hyphens for spaces
# and without marks.
#
my (%anchor, @links, $in_block);
for (@lines)
{
	$in_block = !$in_block if /^```/;
	next if $in_block;
	$anchor{ '#' . lc($1) =~ s/[^\w -]//gr =~ s/ /-/gr }++ if /^#+ (.*)/;
	push @links, /\]\(([^)]+)\)/g;
}
cmp_ok(scalar(@links), '>', 40, 'the links of the README are understood');
is(join(' ', grep { !/^https:/ && !$anchor{$_} && !-e $_ } @links), '', 'links lead somewhere');
is(join(' ', grep { $anchor{$_} > 1 } sort keys %anchor), '', 'no two headings have one anchor');

#
# The catalogs: a line for every member of the extension, as the README has to
# name it.  A function's arguments and result are written as in
#	name(type, name type DEFAULT value) → SETOF (name type, name type)
#
sub catalog
{
	my ($query) = @_;
	my $printed = psql(
		qq{
	CREATE TEMP VIEW members AS
	SELECT d.classid, d.objid FROM pg_depend d, pg_extension e
	WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
		AND d.deptype = 'e' AND e.extname = 'roaring64';
	$query}, '-A', '-t', '-v', 'ON_ERROR_STOP=1');

	return sort split /\n/, $printed;
}

# Of a default only the value is shown, and of a procedure's arguments no IN.
my $signature = q{
	proname || '(' || regexp_replace(regexp_replace(pg_get_function_arguments(p.oid),
			'(DEFAULT (NULL|''[^'']*''))::[a-z ]+(\[\])?', '\1', 'g'),
			'(^|, )IN ', '\1', 'g') || ')' AS long,
	p.oid::regprocedure::text AS short,
	pg_get_function_result(p.oid) AS result
};

# "f(a, OUT b c) → SETOF record" is written "f(a) → SETOF (b c)".
sub fold_out_arguments
{
	my ($function) = @_;
	my @out;

	push @out, $1 while $function =~ s/, OUT ([^,)]*)//;
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
# Functions have a row of their own, or are named in the row of the operator or
# the cast that they are behind.  %behind gives the cost that is said there.
#
my %behind;
for my $row (@{ $table{Operator} }, @{ $table{Cast} })
{
	my ($operands) = code($row->{Operator} // $row->{Cast}) =~ /^(.*) →/;
	my @types = grep { /^\w+(?:\[\])?$/ } split / /, $operands;
	my $function = code($row->{Function}) . '(' . join(',', @types) . ')';

	$behind{$function} = $row->{Cost} unless $row->{Function} eq '—';
}

my %cost;    # of every function, as regprocedure writes it
my %row;     # and what a row of its own has to say
for (
	catalog(
		qq{SELECT short || '~' || procost || '~' || long || ' → ' || result || ' ' || procost
		FROM members JOIN pg_proc p ON p.oid = objid, LATERAL (SELECT $signature) s
		WHERE classid = 'pg_proc'::regclass AND prokind = 'f'}))
{
	my ($function, $cost, $row) = split /~/;

	$cost{$function} = $cost;
	$row{$function} = fold_out_arguments($row);
}

same(
	'the functions in the README are those there are, with that result and that cost',
	[ documented('Function', 'Cost') ],
	[ sort map { $row{$_} } grep {
		my $function = $_;
		!exists $behind{$function}
		  || grep { $_ eq $row{$function} } documented('Function', 'Cost')
	} keys %row ]);
same(
	'the functions behind operators and casts are there, with that cost',
	[ map { "$_ $behind{$_}" } sort keys %behind ],
	[ map { "$_ " . ($cost{$_} // 'is no function') } sort keys %behind ]);
same(
	'every function that can be called has an example',
	[ grep { !/_(?:recv|transfn|gin_\w+)\(|\(internal|→ trigger`?$/ } map { $_->{Function} }
		  grep { $_->{Example} eq '—' } @{ $table{Function} } ],
	[]);

same(
	'the operators in the README are those there are',
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
	'the casts in the README are those there are',
	[ sort map {
		code("$_->{Cast} $_->{Function}")
		  . ($_->{Meaning} =~ /^Assignment\./ ? ' by assignment' : '')
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
	'the aggregates in the README are those there are',
	[ documented('Aggregate') ],
	[
		catalog(
			qq{SELECT long || ' → ' || result
		FROM members JOIN pg_proc p ON p.oid = objid, LATERAL (SELECT $signature) s
		WHERE classid = 'pg_proc'::regclass AND prokind IN ('a', 'w')})
	]);

same(
	'the procedures in the README are those there are',
	[ documented('Procedure') ],
	[
		catalog(
			qq{SELECT long
		FROM members JOIN pg_proc p ON p.oid = objid, LATERAL (SELECT $signature) s
		WHERE classid = 'pg_proc'::regclass AND prokind = 'p'})
	]);

same(
	'the other objects in the README are those there are',
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
	'the settings in the README are those there are',
	[ documented('Setting', 'Values', 'Default') ],
	[
		catalog(
			q{LOAD 'roaring64';
		SELECT name || ' ' || array_to_string(enumvals, ', ') || ' ' || boot_val
		FROM pg_settings WHERE name LIKE 'roaring64.%'})
	]);

$node->stop;
done_testing();
