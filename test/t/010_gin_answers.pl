# 010_gin_answers.pl
#	  A GIN index finds what a table with a row for every id finds.
#
# Documents have sets of 1 to 40 ids, some ids being in many and most in few;
# beside them is the plain table (doc, id), which gives the answers to random
# queries by joins.  Four indexes, by element and by container, with fastupdate
# and without, have to give the same: when just built, when rows were changed
# since, after VACUUM, and after all processes of the server were killed while
# it was writing.  Some of the queries are also compared with a sequential scan.
#
# There are 6000 documents and 200 queries by default (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use IPC::Run;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;
use Time::HiRes qw(time usleep);

my $rows = effort(6000);
# fewer could find nothing of some kind
my $queries = effort(200);
$queries = 200 if $queries < 200;
my $seed = seed();
note("$rows documents, $queries queries");

# The indexes.  One moves its pending entries all the time, one never by itself.
my %indexes = (
	element => '(tags) WITH (fastupdate = on, gin_pending_list_limit = 64)',
	element_direct => '(tags) WITH (fastupdate = off)',
	container =>
	  '(tags gin_roaring64_ops (key = container)) WITH (fastupdate = on, gin_pending_list_limit = 1000000)',
	container_direct =>
	  '(tags gin_roaring64_ops (key = container)) WITH (fastupdate = off)');

# The kinds of queries: the condition, and the documents that the plain table
# knows to meet it, as a query for (n, doc); %s is the kind.
my $matches = 'SELECT n, doc FROM query_ids JOIN facts USING (id) WHERE kind = %s GROUP BY n, doc';
# each range by itself: all of their documents together would not fit in memory
my $in_range = 'SELECT n, doc FROM queries, LATERAL (SELECT doc FROM facts
	WHERE id >= lower(r) AND id < upper(r) GROUP BY doc%s) found WHERE kind = %%1$s';
my %kinds = (
	'@> id' => [ 'tags @> e', 'SELECT n, doc FROM queries JOIN facts ON id = e WHERE kind = %s' ],
	'id <@' => [ 'e <@ tags', 'SELECT n, doc FROM queries JOIN facts ON id = e WHERE kind = %s' ],
	'@> set' => [ 'tags @> s', "$matches, size HAVING count(*) = query_ids.size" ],
	'&& set' => [ 'tags && s', $matches ],
	'<@ set' => [ 'tags <@ s', "$matches HAVING count(*) = (SELECT size FROM sizes WHERE sizes.doc = facts.doc)
		UNION ALL SELECT n, doc FROM queries, sizes WHERE kind = %1\$s AND sizes.size = 0" ],
	'= set' => [ 'tags = s', "$matches, size HAVING count(*) = query_ids.size
		AND count(*) = (SELECT size FROM sizes WHERE sizes.doc = facts.doc)" ],
	'@> range' => [ 'tags @> r', sprintf($in_range, ' HAVING count(*) = upper(r) - lower(r)') ],
	'&& range' => [ 'tags && r', sprintf($in_range, '') ],
	'<@ range' => [ 'tags <@ r', sprintf($in_range,
			' HAVING count(*) = (SELECT size FROM sizes WHERE sizes.doc = facts.doc)')
		. ' UNION ALL SELECT n, doc FROM queries, sizes WHERE kind = %1$s AND sizes.size = 0' ]);

my $node = start_server('gin', conf => q{
autovacuum = off
jit = off
work_mem = '64MB'
maintenance_work_mem = '256MB'
max_wal_size = '4GB'
max_parallel_workers_per_gather = 0
});

#
# Documents and queries.  The nth most common id is about n ** -(2/3) as common
# as the first.  Ids come in eights side by side, four of those in a container;
# some are negative, and some far from each other.
#
value(qq{
	CREATE EXTENSION roaring64;
	CREATE FUNCTION as_id(i bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS \$\$
		SELECT CASE i % 10 WHEN 0 THEN -i WHEN 1 THEN i << 20
			ELSE ((i >> 3) << 14) | (i & 7) END \$\$;
	-- one to ask for: most of these are in few documents
	CREATE FUNCTION an_id() RETURNS bigint LANGUAGE sql VOLATILE AS \$\$
		SELECT as_id(1 + floor($rows * random() ^ 1.5)::bigint) \$\$;
	CREATE TABLE facts (doc int, id bigint);
	CREATE TABLE docs (doc int, tags roaring64);
	CREATE TABLE sizes (doc int PRIMARY KEY, size int);
	CREATE SEQUENCE new_docs START @{[$rows + 1]};

	-- documents first to last, the facts before them; one of 500 is empty, and
	-- one of 500 has no set
	CREATE PROCEDURE add_docs(first int, last int)
	LANGUAGE plpgsql SET enable_nestloop = off AS \$\$
	BEGIN
		INSERT INTO facts
		SELECT DISTINCT doc, as_id(i)
		FROM (SELECT doc, 1 + floor($rows * random() ^ 3)::bigint AS i
			  FROM (SELECT doc, 1 + floor(40 * random())::int AS size
					FROM generate_series(first, last) doc
					WHERE doc % 500 > 1) sizes, generate_series(1, size)) ids;
		INSERT INTO docs
		SELECT doc, CASE doc % 500 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE tags END
		FROM generate_series(first, last) doc LEFT JOIN
			(SELECT doc, roaring64_agg(id) AS tags FROM facts
			 WHERE doc BETWEEN first AND last GROUP BY doc) sets USING (doc);
	END \$\$;
	SELECT setseed($seed / 1000000.0);
	CALL add_docs(1, $rows);
	CREATE INDEX facts_id ON facts (id, doc);
	CREATE INDEX facts_doc ON facts (doc);
	CREATE INDEX docs_doc ON docs (doc);
});
is(value('SELECT count(DISTINCT s) >= 40 FROM (SELECT roaring64_cardinality(tags) AS s FROM docs) d'),
	't', 'there are sets of all sizes');

my $kinds = join ', ', map { "'$_'" } sort keys %kinds;
value(qq{
	SELECT setseed($seed / 1000000.0);
	CREATE TABLE queries AS
	SELECT n, kind, an_id() AS e, s, int8range(lo, lo + width) AS r
	FROM (SELECT n, (ARRAY[$kinds])[1 + n % @{[scalar keys %kinds]}] AS kind, an_id() AS lo,
				1 + floor(3 * random())::int AS few,
				1 + floor(10 * random())::int AS more,
				1 + floor(random() * $rows)::int AS some_doc
		  FROM generate_series(1, $queries) n) given,
		LATERAL (SELECT CASE WHEN kind = '\@> range' THEN few
			ELSE 1 + floor(CASE WHEN n % 20 = 0 THEN 300000 ELSE 10000 END * random() ^ 3)::bigint END AS width) w,
		LATERAL (
			SELECT roaring64_agg(id) AS s FROM (
				-- what a document has, all of it or a part
				(SELECT id FROM facts WHERE doc = some_doc AND kind <> '&& set'
				 LIMIT CASE kind WHEN '= set' THEN NULL WHEN '<@ set' THEN 6 ELSE few END)
				UNION ALL
				-- and anything, which in a set to equal or contain rarely helps
				SELECT an_id() FROM generate_series(1,
					CASE kind WHEN '&& set' THEN more WHEN '<@ set' THEN 5
						ELSE (n % 20 = 0)::int END)) ids) sets;
	-- a document's set may be empty or missing
	UPDATE queries SET s = roaring64_from_array(ARRAY[e]) WHERE s IS NULL OR s = '{}';
	CREATE TABLE query_ids AS
	SELECT n, kind, id, roaring64_cardinality(s) AS size
	FROM queries, roaring64_elements(s) id WHERE kind LIKE '% set';
	CREATE TABLE expected (n int PRIMARY KEY, count bigint, sum numeric);
	VACUUM ANALYZE facts, docs, queries, query_ids;
});

# What a few of the queries, and some extreme ones, find by reading all rows.
value(q{
	CREATE TABLE extreme AS
	SELECT row_number() OVER () AS n, * FROM (
		SELECT e, s, r FROM (SELECT * FROM queries ORDER BY n LIMIT 9) few
		UNION ALL VALUES
			(0, '{}', 'empty'::int8range),
			(1, int8range(-500, 500)::roaring64, '(,)'),
			(-9223372036854775808, '{-9223372036854775808,1}', '(,5)'),
			(9223372036854775807, '{2,9223372036854775807}', '[100,)'),
			(NULL, NULL, NULL),
			(1048576, (SELECT roaring64_agg(i * 16384) FROM generate_series(1, 2000) i), '[2,1000000)'),
			(5, (SELECT roaring64_agg(i * 3) FROM generate_series(1, 50000) i), '[2,3]')) v;
});

my %condition = map { $_ => $kinds{$_}->[0] } keys %kinds;

sub by_reading
{
	return value(
		'SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off;'
		  . join('', map { "SELECT n, count(doc), sum(hashint8(doc)) FROM extreme LEFT JOIN docs
			ON $condition{$_} GROUP BY n ORDER BY n;" } sort keys %condition));
}

# Finds the answers to all queries in the plain table.
sub find_expected
{
	value('TRUNCATE expected, sizes; INSERT INTO sizes
		SELECT doc, count(id) FROM docs LEFT JOIN facts USING (doc) WHERE tags IS NOT NULL GROUP BY doc;
		ANALYZE sizes;'
		  . join('', map { my $wanted = sprintf $kinds{$_}->[1], "'$_'";
			"INSERT INTO expected SELECT n, count(*), sum(hashint8(doc)) FROM ($wanted) found GROUP BY n;" }
			sort keys %kinds));
	return;
}

# All queries by one index, in a transaction in which there is no other one.
sub check
{
	my ($index, $when) = @_;
	my $start = time;
	my $alone = 'BEGIN;' . join('', map { "DROP INDEX docs_$_;" } grep { $_ ne $index } sort keys %indexes)
	  . 'SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;';
	my $question = sub {
		my ($kind, $from) = @_;
		return "SELECT n, answer.* FROM $from, LATERAL (SELECT count(*), sum(hashint8(doc))
			FROM docs WHERE $condition{$kind}) answer";
	};
	my @parts = map { $question->($_, 'queries') . " WHERE kind = '$_'" } sort keys %kinds;

	my $plan = value($alone . join('', map { "EXPLAIN (COSTS OFF) $_;" } @parts));
	my $scans = () = $plan =~ /Bitmap Index Scan on docs_$index\b/g;
	is($scans, scalar keys %kinds, "$when: every kind of query can use the index by $index");

	is(value($alone . 'SELECT n, kind, found.count, found.sum, expected.count, expected.sum
			FROM (' . join(' UNION ALL ', @parts) . ') found JOIN queries USING (n) LEFT JOIN expected USING (n)
			WHERE (found.count, found.sum) IS DISTINCT FROM (coalesce(expected.count, 0), expected.sum)
			ORDER BY n LIMIT 10'),
		'', "$when: $queries queries by $index find what the plain table has");
	is(value($alone . join('', map { 'SELECT * FROM (' . $question->($_, 'extreme') . ') x ORDER BY n;' }
			sort keys %condition)),
		by_reading(), "$when: by $index the same as by reading all rows");
	note(sprintf('%s, %s: %.1f s', $when, $index, time - $start));
	return;
}

#
# Just built
#
find_expected();
is(value('SELECT count(*) > 0 AND bool_and(found > 0) FROM (SELECT kind, count(e.n) AS found
		FROM queries LEFT JOIN expected e USING (n) GROUP BY kind) k'),
	't', 'queries of every kind find something');
for my $index (sort keys %indexes)
{
	value("CREATE INDEX docs_$index ON docs USING gin $indexes{$index}");
}
check($_, 'just built') for qw(element container);

# With workers: a server from 18 on builds GIN indexes so, others by themselves.
my (undef, undef, $messages) = $node->psql('postgres', qq{
	SET min_parallel_table_scan_size = 0;
	SET max_parallel_maintenance_workers = 2;
	ALTER TABLE docs SET (parallel_workers = 2);
	SET client_min_messages = debug1;
	DROP INDEX docs_element_direct;
	CREATE INDEX docs_element_direct ON docs USING gin $indexes{element_direct};
	DROP INDEX docs_container_direct;
	CREATE INDEX docs_container_direct ON docs USING gin $indexes{container_direct};
});
my $parallel = () = $messages =~ /building index "docs_\w+" on table "docs" with request for [12] parallel worker/g;
is($parallel, $node->pg_version >= 18 ? 2 : 0, 'the indexes were built by workers from 18 on');
check($_, 'built with workers') for qw(element_direct container_direct);

#
# Rows added, changed and deleted since
#
value(qq{
	SELECT setseed($seed / 1000000.0);
	CREATE TABLE changed AS SELECT doc FROM docs WHERE doc % 20 = 3;
	CREATE TABLE gone AS SELECT doc FROM docs WHERE doc % 33 = 5;
	DELETE FROM facts WHERE doc IN (SELECT doc FROM gone);
	DELETE FROM docs WHERE doc IN (SELECT doc FROM gone);
	-- one id more, and all even ones less
	DELETE FROM facts WHERE id % 2 = 0 AND doc IN (SELECT doc FROM changed);
	INSERT INTO facts SELECT doc, -7777777 FROM docs WHERE doc IN (SELECT doc FROM changed);
	UPDATE docs SET tags = (SELECT roaring64_agg(id) FROM facts WHERE facts.doc = docs.doc)
	WHERE doc IN (SELECT doc FROM changed);
	CALL add_docs(nextval('new_docs')::int, setval('new_docs', $rows + $rows / 20)::int);
	ANALYZE docs;
	VACUUM ANALYZE facts;
});
find_expected();
check($_, 'rows changed') for sort keys %indexes;
cmp_ok(value(q{SELECT gin_clean_pending_list('docs_container')}),
	'>', 0, 'there were entries pending');

#
# After VACUUM
#
value('VACUUM docs');
check($_, 'after VACUUM') for qw(element container_direct);

#
# After a crash: of every process, while documents are being added
#
value(q{
	CREATE PROCEDURE add_without_end() LANGUAGE plpgsql AS $$
	DECLARE
		first int;
	BEGIN
		LOOP
			first := nextval('new_docs');
			PERFORM setval('new_docs', first + 9);
			CALL add_docs(first, first + 9);
			COMMIT;
		END LOOP;
	END $$;
	CHECKPOINT;
});
for my $round (1 .. 2)
{
	my ($stdin, $stdout, $stderr) = ('', '', '');
	my $before = value('SELECT count(*) FROM docs');
	my $load = IPC::Run::start(
		[ 'psql', '-X', '-d', $node->connstr('postgres'), '-c', 'CALL add_without_end()' ],
		\$stdin, \$stdout, \$stderr);
	$node->poll_query_until('postgres', "SELECT count(*) > $before + 200 FROM docs")
	  or BAIL_OUT('no documents are being added');
	usleep(1000 * int rand 300);
	kill_server($node);
	$load->finish;
	start_after_kill($node);
	cmp_ok(value('SELECT count(*) FROM docs'), '>', $before + 200, "round $round: what was committed is there");
}
like(slurp_file($node->logfile), qr/automatic recovery in progress/, 'the server did recover');
find_expected();
check($_, 'after crash recovery') for sort keys %indexes;

done_testing();
