# 029_rollup_shapes.pl
#	  Rollups whose sources change their shape at random, between random writes.
#
# Five tables without partitions, each with a rollup of another kind, and a
# partitioned one are written to by all their names, and get other partitions,
# parents, children, names, schemas, files, columns.  After each statement, and again
# after a fold, the sets must be what SQL makes of the rows, where they follow, or of all
# rows that were there after any of the statements, where they remember; or the state must
# be another one than "following", or the fold must have failed with an error that the
# page tells of.
#
# $ROARING64_TEST_PLANT puts a fault in, which the test is to find: with "partitions"
# nobody sees that one has come or gone with its rows; "parents" lets a table become
# a part of another one.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $batches = effort(10);
my $seed = seed();
my $plant = $ENV{ROARING64_TEST_PLANT} // '';

my $node = start_server('shapes', conf => "fsync = off\nautovacuum = off\njit = off\n");

value(q{
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE SCHEMA other;
	CREATE SEQUENCE numbers;
	CREATE TABLE source (kind text, oid oid, target text, keeps boolean);
	CREATE TABLE remembered (target text, k int, id bigint, mark boolean, certain boolean,
		PRIMARY KEY (target, k, id, mark));
	CREATE TABLE states (state text PRIMARY KEY, n bigint);
	CREATE TABLE wrong (step int, target text, set_name text, missing roaring64, surplus roaring64, statement text);

	CREATE FUNCTION rnd(n int) RETURNS int LANGUAGE sql VOLATILE AS $$ SELECT floor(random() * n)::int $$;
	CREATE FUNCTION some_rows(days int[]) RETURNS text LANGUAGE sql VOLATILE AS $$
		SELECT format('SELECT %s + i %% 3, %s + i, (%L::int[])[1 + i %% %s], i %% %s = 0 FROM generate_series(1, %s) i',
			rnd(5), rnd(300), days, cardinality(days), 1 + rnd(3), 1 + rnd(20)) $$;

	-- tables of the partitioned one's shape: in it, or not
	CREATE FUNCTION leaves(inside boolean) RETURNS SETOF regclass LANGUAGE sql AS $$
		SELECT oid FROM pg_class WHERE relkind = 'r' AND relname ~ '^leaf' AND (inside = EXISTS (
			SELECT FROM source, pg_partition_ancestors(pg_class.oid) WHERE kind = 'tree' AND relid = source.oid)) $$;
	CREATE FUNCTION leaf(inside boolean) RETURNS regclass LANGUAGE sql VOLATILE AS $$
		SELECT * FROM leaves(inside) ORDER BY random() LIMIT 1 $$;
	CREATE FUNCTION days(leaf regclass) RETURNS int[] LANGUAGE sql AS $$
		SELECT CASE WHEN relname ~ 'default' THEN ARRAY[9, 10, 11] ELSE ARRAY[substring(relname FROM '_(\d+)')::int] END
		FROM pg_class WHERE oid = leaf $$;
	CREATE FUNCTION number() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT nextval('numbers')::text $$;

	CREATE FUNCTION tree_step() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
	DECLARE
		tree regclass := (SELECT oid FROM source WHERE kind = 'tree' LIMIT 1);
		l regclass := leaf(true);
		o regclass := leaf(false);
		parent regclass := (SELECT inhparent FROM pg_inherits WHERE inhrelid = l);
		day int := 1 + rnd(8);
		new text := format('leaf_%s_%s', day, number());
	BEGIN
		CASE rnd(34)
		WHEN 0, 1, 2 THEN RETURN format('INSERT INTO %s (k, id, day, mark) %s', tree,
			some_rows('{1,2,3,4,5,6,7,8,9,10}'));
		WHEN 3, 4, 5 THEN RETURN format('INSERT INTO %s (k, id, day, mark) %s', l, some_rows(days(l)));
		WHEN 6 THEN RETURN format('UPDATE %s SET day = %s WHERE id %% 7 = %s', tree, 1 + rnd(11), rnd(7));
		WHEN 7 THEN RETURN format('UPDATE %s SET k = k + 1, mark = NOT mark WHERE id %% 5 = %s', l, rnd(5));
		WHEN 8 THEN RETURN format('DELETE FROM %s WHERE id %% 9 = %s', CASE rnd(2) WHEN 0 THEN tree ELSE l END, rnd(9));
		WHEN 9 THEN RETURN format('TRUNCATE %s', CASE rnd(5) WHEN 0 THEN tree ELSE l END);
		WHEN 10, 11 THEN RETURN format('CREATE TABLE %s PARTITION OF %s FOR VALUES IN (%s)', new, tree, day);
		WHEN 12 THEN RETURN format('CREATE TABLE %s PARTITION OF %s FOR VALUES IN (%s) PARTITION BY LIST (day);
			CREATE TABLE leaf_%s_%s PARTITION OF %1$s FOR VALUES IN (%3$s)', new, tree, day, day, number());
		WHEN 13 THEN RETURN format('CREATE TABLE %s (mark boolean, gone int, day int, id int, k int);
			ALTER TABLE %1$s DROP COLUMN gone;
			INSERT INTO %1$s (k, id, day, mark) %s', new, some_rows(ARRAY[day]));
		WHEN 14, 15, 16 THEN RETURN format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES IN (%s)',
			CASE rnd(4) WHEN 0 THEN 'other.tree' ELSE tree::text END, o, (days(o))[1]);
		WHEN 17, 18 THEN RETURN format('ALTER TABLE %s DETACH PARTITION %s', parent, l);
		WHEN 19 THEN RETURN format('ALTER TABLE %s DETACH PARTITION %s',
			coalesce((SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = o), 'other.tree'), o);
		WHEN 20 THEN RETURN format('INSERT INTO %s (k, id, day, mark) %s',
			CASE rnd(2) WHEN 0 THEN 'other.tree'::regclass ELSE o END,
			some_rows(coalesce(days(o), '{1}')));
		WHEN 21 THEN RETURN format('DROP TABLE %s', CASE rnd(2) WHEN 0 THEN l ELSE o END);
		-- as pg_partman does: the rows of a day go from the default partition into a new table
		WHEN 22, 23 THEN RETURN format('DO $d$ BEGIN CREATE TABLE %1$s (LIKE %2$s);
			WITH moved AS (DELETE FROM %3$s WHERE day = %4$s RETURNING *) INSERT INTO %1$s SELECT * FROM moved;
			ALTER TABLE %2$s ATTACH PARTITION %1$s FOR VALUES IN (%4$s); END $d$',
			format('leaf_%s_%s', 9 + day % 3, number()), tree,
			(SELECT r FROM leaves(true) AS r WHERE r::text ~ 'default' LIMIT 1), 9 + day % 3);
		WHEN 24 THEN RETURN format('ALTER TABLE other.forest ATTACH PARTITION %s DEFAULT', tree);
		WHEN 25 THEN RETURN format('ALTER TABLE other.forest DETACH PARTITION %s', tree);
		WHEN 26 THEN RETURN format('INSERT INTO other.forest (k, id, day, mark) %s', some_rows('{1,2,3}'));
		WHEN 27 THEN RETURN format('ALTER TABLE %s RENAME TO leaf_%s_%s', l,
			CASE WHEN l::text ~ 'default' THEN 'default' ELSE (days(l))[1]::text END, number());
		WHEN 28 THEN RETURN format('ALTER TABLE %s SET %s', l,
			(ARRAY['LOGGED', 'UNLOGGED', 'SCHEMA other', 'SCHEMA public'])[1 + rnd(4)]);
		WHEN 29 THEN RETURN format('VACUUM FULL %s', l);
		WHEN 30 THEN RETURN format('ALTER TABLE %s RENAME TO tree_%s', tree, number());
		WHEN 31 THEN RETURN format('ALTER TABLE %s SET SCHEMA %s', tree, (ARRAY['other', 'public'])[1 + rnd(2)]);
		WHEN 32 THEN RETURN format('ALTER TABLE %s ADD COLUMN IF NOT EXISTS extra int', tree);
		ELSE RETURN format('ALTER TABLE %s DROP COLUMN IF EXISTS extra', tree);
		END CASE;
	END $$;

	CREATE FUNCTION plain_step() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
	DECLARE
		t regclass;
		target text;
		named text;
		k text;
		id text;
	BEGIN
		SELECT oid, source.target, format('%I.%I', relnamespace::regnamespace::name, relname) INTO t, target, named
		FROM source JOIN pg_class USING (oid) WHERE kind = 'plain' ORDER BY random() LIMIT 1;
		SELECT quote_ident(attname) INTO k FROM pg_attribute WHERE attrelid = t AND attnum = 1;
		SELECT quote_ident(attname) INTO id FROM pg_attribute WHERE attrelid = t AND attnum = 2;
		CASE rnd(30)
		WHEN 0, 1, 2, 3 THEN RETURN format('INSERT INTO %s (%s, %s, day, mark) %s', t, k, id, some_rows('{1,2}'));
		WHEN 4 THEN RETURN format('UPDATE %s SET mark = NOT mark, %s = %2$s + 1 WHERE %s %% 5 = %s', t, k, id, rnd(5));
		WHEN 5 THEN RETURN format('UPDATE %s SET mark = true, day = day + 1 WHERE %s %% 3 = %s', t, id, rnd(3));
		WHEN 6, 7 THEN RETURN format('DELETE FROM %s WHERE %s %% 9 = %s', t, id, rnd(9));
		WHEN 8 THEN RETURN format('TRUNCATE %s', t);
		WHEN 9 THEN RETURN format('CREATE TABLE part_%s (LIKE %s) PARTITION BY LIST (day);
			ALTER TABLE part_%1$s ATTACH PARTITION %2$s DEFAULT', number(), t);
		WHEN 10 THEN RETURN format('INSERT INTO %s (%s, %s, day, mark) %s',
			coalesce((SELECT inhparent::regclass FROM pg_inherits WHERE inhrelid = t), t), k, id, some_rows('{1,2}'));
		WHEN 11 THEN RETURN format('CREATE TABLE parent_%s (LIKE %s);
			ALTER TABLE %2$s INHERIT parent_%1$s', number(), t);
		WHEN 12 THEN RETURN format('CREATE TABLE child_%s () INHERITS (%s)', number(), t);
		WHEN 13 THEN RETURN (SELECT format('INSERT INTO %s (%s, %s, day, mark) %s',
				inhrelid::regclass, k, id, some_rows('{1}'))
			FROM pg_inherits WHERE inhparent = t LIMIT 1);
		WHEN 14, 15, 16 THEN RETURN (SELECT format('ALTER TABLE %s NO INHERIT %s',
				inhrelid::regclass, inhparent::regclass)
			FROM pg_inherits WHERE inhparent IN (SELECT oid FROM source WHERE kind = 'plain') LIMIT 1);
		WHEN 17 THEN RETURN format('ALTER TABLE %s SET UNLOGGED', t);
		WHEN 18, 19, 20 THEN RETURN (SELECT format('ALTER TABLE %s SET LOGGED', oid::regclass) FROM pg_class
			WHERE relpersistence = 'u' AND oid IN (SELECT source.oid FROM source) LIMIT 1);
		WHEN 21 THEN RETURN format('VACUUM FULL %s', t);
		WHEN 22 THEN RETURN format('CLUSTER %s USING %s', t,
			(SELECT indexrelid::regclass FROM pg_index WHERE indrelid = t LIMIT 1));
		WHEN 23 THEN RETURN format('ALTER TABLE %s RENAME TO plain_%s', t, number());
		WHEN 24 THEN RETURN format('ALTER TABLE %s RENAME %s TO %s_%s', t, k, left(k, 1), number());
		WHEN 25 THEN RETURN format('ALTER TABLE %s SET SCHEMA %s', t, (ARRAY['other', 'public'])[1 + rnd(2)]);
		WHEN 26 THEN RETURN format('ALTER TABLE %s ADD COLUMN extra_%s int, DROP COLUMN IF EXISTS extra_%s',
			t, number(), rnd(100));
		WHEN 27 THEN RETURN format('ALTER TABLE %s %s', t,
			(ARRAY['ALTER day TYPE bigint', format('ALTER %s TYPE bigint', id),
				format('DROP COLUMN %s', k), 'DROP COLUMN mark'])[1 + rnd(4)]);
		-- the target, and back
		WHEN 28 THEN RETURN (SELECT format('ALTER TABLE %s RENAME TO %s', oid::regclass,
				CASE WHEN relname ~ '^away' THEN substr(relname, 6) ELSE 'away_' || relname END)
			FROM pg_class WHERE relkind = 'r' AND relname ~ '^(away_)?sets_\w$'
			ORDER BY relname !~ '^away', random() LIMIT 1);
		ELSE RETURN format('DROP TABLE %s', target);
		END CASE;
	END $$;

	-- What the views hold must be right where the last fold succeeded or the rollup says
	-- that it is following; and then the table, where there was a fold.  Sets that remember
	-- have all rows that were there at such a moment, and no others than were there at all.
	CREATE FUNCTION compare(step int, statement text, folded text[]) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		s record;
		k text;
		id text;
		state text;
		held text;
	BEGIN
		FOR s IN SELECT * FROM source WHERE kind = CASE step % 2 WHEN 1 THEN 'tree' ELSE 'plain' END OR step = 0 LOOP
			SELECT quote_ident(attname) INTO k FROM pg_attribute WHERE attrelid = s.oid AND attnum = 1;
			SELECT quote_ident(attname) INTO id FROM pg_attribute WHERE attrelid = s.oid AND attnum = 2;
			BEGIN
				state := (roaring64_rollup_stats(to_regclass(s.target))).state;
			EXCEPTION WHEN OTHERS THEN
				state := sqlerrm;
			END;
			IF s.target = ANY (folded) THEN
				state := 'following';
			END IF;
			INSERT INTO states AS o VALUES (state, 1) ON CONFLICT ON CONSTRAINT states_pkey DO UPDATE SET n = o.n + 1;
			IF NOT s.keeps THEN
				DELETE FROM remembered WHERE target = s.target;
			END IF;
			EXECUTE format('INSERT INTO remembered SELECT DISTINCT %L, %s, %s, mark, %L::boolean
				FROM %s %s WHERE mark IS NOT NULL
				ON CONFLICT ON CONSTRAINT remembered_pkey DO UPDATE SET certain = true WHERE excluded.certain',
				s.target, k, id, state = 'following', CASE s.kind WHEN 'plain' THEN 'ONLY' END, s.oid::regclass);
			CONTINUE WHEN state <> 'following';
			FOREACH held IN ARRAY ARRAY[s.target || '_now'] || CASE WHEN s.target = ANY (folded) THEN s.target END LOOP
				CONTINUE WHEN held IS NULL;
				EXECUTE format('INSERT INTO wrong
					SELECT $1, $2, n, roaring64_andnot(coalesce(fact, ''{}''), coalesce(held, ''{}'')),
						roaring64_andnot(coalesce(held, ''{}''), coalesce(possible, ''{}'')), $3
					FROM (SELECT k, roaring64_agg(id) FILTER (WHERE certain) AS f1,
						roaring64_agg(id) FILTER (WHERE mark AND certain) AS f2,
						roaring64_agg(id) AS p1, roaring64_agg(id) FILTER (WHERE mark) AS p2
						FROM remembered WHERE target = $4 GROUP BY k) AS f
					FULL JOIN %s AS h ON h.k = f.k,
					LATERAL (VALUES (''ids'', f1, p1, ids), (''mark'', f2, p2, mark)) AS v (n, fact, possible, held)
					WHERE NOT coalesce(fact, ''{}'') <@ coalesce(held, ''{}'')
						OR NOT coalesce(held, ''{}'') <@ coalesce(possible, ''{}'')', held)
				USING step, held, statement, s.target;
			END LOOP;
		END LOOP;
	END $$;

	-- the partitions of the beginning
	CREATE TABLE tree (k int, id int, day int, mark boolean) PARTITION BY LIST (day);
	CREATE TABLE leaf_1_0 PARTITION OF tree FOR VALUES IN (1);
	CREATE TABLE leaf_default_0 PARTITION OF tree DEFAULT;
	ALTER TABLE tree ALTER k SET NOT NULL;
	CREATE TABLE other.tree (LIKE tree) PARTITION BY LIST (day);
	CREATE TABLE other.forest (LIKE tree) PARTITION BY RANGE (day);
	INSERT INTO tree SELECT i % 5, i, i % 3, i % 2 = 0 FROM generate_series(1, 100) i;
	CREATE INDEX ON tree (k, id);
	INSERT INTO source VALUES ('tree', 'tree'::regclass, 'leaves', true), ('tree', 'tree'::regclass, 'living', false);
	DO $$
	DECLARE
		t text;
	BEGIN
		FOREACH t IN ARRAY ARRAY['a', 'b', 'c', 'd', 'e'] LOOP
			EXECUTE format('CREATE TABLE plain_%s (k int NOT NULL, id int, day int, mark boolean)', t);
			EXECUTE format('CREATE INDEX ON plain_%s (k, id)', t);
			EXECUTE format('INSERT INTO source VALUES (''plain'', %L::regclass, %L, %L)',
				'plain_' || t, 'sets_' || t, t IN ('b', 'd'));
		END LOOP;
	END $$;
});

my $what = q{'{k}', 'id', '{"ids": "mark IS NOT NULL", "mark": "mark"}'};
value("CALL roaring64_rollup_create($_)") for
	"'tree', 'leaves', $what, deletes => 'keep'",
	"'tree', 'living', $what",
	"'plain_a', 'sets_a', $what",
	"'plain_b', 'sets_b', $what, deletes => 'keep'",
	"'plain_c', 'sets_c', $what",
	"'plain_d', 'sets_d', $what, deletes => 'keep'",
	"'plain_e', 'sets_e', $what";
# the rows of the beginning, which a set that keeps them has although the first step
# may take them away
value(q{SELECT compare(0, 'the beginning', '{}')});
if ($plant eq 'partitions')
{
	for ([ 'state', 'WHEN partitions <> copied', 'WHEN false' ],
		[ 'catch_up', 'ELSIF m.copied = m.partitions', 'ELSIF true' ])
	{
		my ($function, $from, $to) = @$_;
		value(qq{DO \$do\$
			DECLARE
				def text := pg_get_functiondef('_roaring64_rollup_$function(regclass)'::regprocedure);
			BEGIN
				ASSERT def ~ '$from';
				EXECUTE replace(def, '$from', '$to');
			END \$do\$});
	}
}
elsif ($plant eq 'parents')
{
	value(join ';', map { "DROP TRIGGER sets_${_}_rollup ON plain_$_" } 'a' .. 'e');
}

# The errors that docs/rollups.md tells of, and those that PostgreSQL gives to
# statements at random, whether there is a rollup or not.
my %documented = (
	'refused: truncated' => qr/^55000: cannot truncate \S+, because the sets of/,
	'refused: children' => qr/^55000: cannot update \S+, because it has children|^55000: \S+ has children/,
	'refused: unlogged' => qr/^55000: a table of the rollup \S+ is unlogged/,
	'refused: becomes a partition or a child' => qr/^(?:55000|0A000): trigger "sets_\w_rollup" prevents/,
	'refused: the target is dropped' => qr/^2BP01: cannot drop table \S+ because other objects depend/,
	'refused: a column that is used' => join('|', '^2BP01: cannot drop column',
		'^0A000: cannot alter type of a column used by a view',
		'^0A000: cannot alter table \S+ because function \S+ uses its row type'),
	'refused: the target has another name' => join('|', '^42P01: relation "(?:public\.)?sets_\w" does not exist',
		'^55000: the rollup \S+(?:, or a column of it,)? is not there', '^42809: "\S+" is not a rollup'),
	'refused: the source has another name' => qr/^42704: type "\S+" does not exist|^42846: cannot cast type/);
my $usual = join '|', '23514: (?:no partition|partition constraint|updated partition)',
  '23514: new row for relation \S+ violates partition constraint', '42P17: partition \S+ would overlap',
  '42809: \S+ is (?:not|already)', '2BP01: cannot drop desired',
  '42809: (?:cannot attach|table|ALTER action|"\S+" is not|cannot add column to a partition)',
  '42P01: (?:relation|table)', '42P16: cannot', '42P16: circular',
  '42809: cannot change inheritance', '0A000: cannot (?:cluster|truncate|rename|move|change)', '42P07: ',
  '42601: (?:syntax error|zero-length)', '42701: ', '42703: ', '42804: ',
  '55000: (?:table|could not|partition)';

my %count;
my $steps = 0;
my @unknown;
for my $batch (1 .. $batches)
{
	my $script = "\\set VERBOSITY verbose\n\\set ON_ERROR_STOP off\nSET client_min_messages = warning;\n"
	  . 'SELECT setseed(' . (($seed + $batch) % 1000) / 1000 . ");\n";
	for (1 .. 60)
	{
		$steps++;
		my $kind = $steps % 2 ? 'tree_step' : 'plain_step';
		my @folded = $steps % 2
		  ? $steps % 3 ? () : ('leaves', 'living')
		  : $steps % 5 ? () : map { "sets_$_" } 'a' .. 'e';
		$script .= "SELECT coalesce($kind(), 'SELECT') AS s \\gset\n\\echo STEP $steps :s\n"
		  . "SELECT :'s' \\gexec\nSELECT compare($steps, :'s', '{}');\n";
		$script .= "CALL roaring64_rollup_fold('$_');\n\\set failed_$_ :ERROR\n" for @folded;
		$script .= "SELECT compare($steps, :'s', ARRAY["
		  . join(', ', map { "CASE WHEN NOT :failed_$_ THEN '$_' END" } @folded) . "]);\n"
		  if @folded;
	}
	my ($stdout, $stderr) = ('', '');
	$node->psql('postgres', $script, stdout => \$stdout, stderr => \$stderr, on_error_stop => 0);
	for (grep { /ERROR:  / } split /\n/, $stderr)
	{
		my ($error) = /ERROR:  (.*)/;
		my ($name) = grep { $error =~ $documented{$_} } sort keys %documented;
		$name = 'not of rollups' if !defined $name && $error =~ /^(?:$usual)/;
		$count{$name}++ if defined $name;
		push @unknown, $error if !defined $name;
	}
	last if value('SELECT count(*) FROM wrong') > 0;
}
# a fault that was put in gives errors of its own
is(join("\n", @unknown), '', 'each error is one that is known') if $plant eq '';
my $wrong = value('SELECT step, target, set_name, missing, surplus, statement FROM wrong ORDER BY step LIMIT 5');
if ($plant)
{
	isnt($wrong, '', "$plant: the fault is found");
	diag("$steps steps; $wrong");
}
else
{
	is($wrong, '', "the sets are right after $steps statements");
	# a hundred steps may give none of the errors; thousands give each
	cmp_ok($count{$_} // 0, '>', 0, "seen: $_") for grep { $batches > 100 && !/source has/ } sort keys %documented;
}
diag("counted $steps steps, " . join ', ', map { "$_ $count{$_}" } sort keys %count);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'nothing went wrong in the server');
$node->stop;
done_testing();
