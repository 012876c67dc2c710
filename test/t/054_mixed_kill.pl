# 054_mixed_kill.pl
#	  kill -9 while everything happens at once, again and again.
#
# pgbench claims messages, one by one and in batches; changes sets that two GIN
# indexes are on; and writes to a table of facts.  Whatever it does to a set, it
# does to a plain table too, in the same transaction.  Another session folds
# claims, a third makes a rollup of the facts and drops it.  The server is killed in the middle, started, and what
# is there compared with the plain tables: once more is gone on with, and at
# last the rollup is brought to its end.
#
# It is killed once by default (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use IPC::Run;
use Time::HiRes qw(usleep);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Crash;
use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $kills = effort(1);
my $seed = seed();

my $node = start_server('mixed', conf => q{
restart_after_crash = off
log_statement = none
deadlock_timeout = 100ms
autovacuum_naptime = 1
});

value(q{
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE TABLE operations (kind text);

	SELECT roaring64_dedup_create('seen', chunk_bits => 8);
	CREATE TABLE messages (id bigint);
	CREATE FUNCTION process(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF cardinality(ids) > 1 THEN
			INSERT INTO messages
				SELECT id FROM unnest(ids, roaring64_dedup_claim_many('seen', 'k', ids)) AS c (id, is_new) WHERE is_new;
		ELSIF roaring64_dedup_claim('seen', 'k', ids[1]) THEN
			INSERT INTO messages VALUES (ids[1]);
		END IF;
	END $$;

	CREATE TABLE documents (id int PRIMARY KEY, words roaring64, places roaring64);
	CREATE INDEX by_word ON documents USING gin (words) WITH (gin_pending_list_limit = 64);
	CREATE INDEX by_container ON documents USING gin (places gin_roaring64_ops (key = container));
	CREATE TABLE document_words (document int, word bigint, PRIMARY KEY (document, word));
	CREATE INDEX ON document_words (word);
	INSERT INTO documents SELECT i, '{}', '{}' FROM generate_series(1, 100) i;

	CREATE TABLE facts (key int, id bigint, mark boolean NOT NULL, star boolean NOT NULL, PRIMARY KEY (key, id));
	CREATE TABLE model (LIKE facts INCLUDING ALL);
	INSERT INTO facts SELECT k, i, i % 2 = 0, i % 3 = 0
	FROM generate_series(1, 20) AS k, generate_series(1, 1500) AS i WHERE (k + i) % 3 > 0;
	INSERT INTO model TABLE facts;
});

#
# What is done.  Each round has ids of its own, some of which are claimed again
# and again, and most of which are in chunks of their own, so that a fold takes
# its time.
#
my %scripts = (
	claim => q{
\set n random(1, 300)
\set first :base + random(1, 2000)
\set one random(1, 4)
BEGIN;
\if :one > 1
SELECT process(ARRAY[:first]::bigint[]);
\else
SELECT process((SELECT array_agg((:first + i * 97)::bigint) FROM generate_series(1, :n) AS i));
\endif
INSERT INTO operations VALUES ('claim');
COMMIT;
},
	words => q{
\set document random(1, 100)
\set word random(1, 400)
\set what random(1, 10)
BEGIN;
\if :what < 5
UPDATE documents SET words = words | :word::bigint, places = places | (:word * 65536::bigint) WHERE id = :document;
INSERT INTO document_words VALUES (:document, :word) ON CONFLICT DO NOTHING;
\elif :what < 7
UPDATE documents SET words = words - :word::bigint, places = places - (:word * 65536::bigint) WHERE id = :document;
DELETE FROM document_words WHERE document = :document AND word = :word;
\elif :what < 10
UPDATE documents SET words = words | int8range(:word, :word + 9),
	places = (SELECT places | roaring64_agg(i * 65536) FROM generate_series(:word::bigint, :word + 8) AS i)
WHERE id = :document;
INSERT INTO document_words SELECT :document, generate_series(:word, :word + 8) ON CONFLICT DO NOTHING;
\else
UPDATE documents SET words = '{}', places = '{}' WHERE id = :document;
DELETE FROM document_words WHERE document = :document;
\endif
INSERT INTO operations VALUES ('words');
COMMIT;
});

# Of facts each client has ids of its own; all clients share the keys.
my @changes = (
	'UPDATE % SET mark = NOT mark WHERE key = :key AND id = :id',
	'INSERT INTO % SELECT :key, :id, true, false WHERE NOT EXISTS (SELECT FROM % WHERE key = :key AND id = :id)',
	'DELETE FROM % WHERE key = :key AND id = :id',
	'UPDATE % SET key = :other, star = true WHERE key = :key AND id = :id '
		  . 'AND NOT EXISTS (SELECT FROM % WHERE key = :other AND id = :id)');
$scripts{facts} = "\\set key random(1, 24)\n\\set other random(1, 24)\n"
  . "\\set id random(1, 300) * 8 + :client_id\n\\set what random(1, 4)\n\\set end random(1, 5)\nBEGIN;\n";
for my $n (1 .. @changes)
{
	$scripts{facts} .= ($n == 1 ? '\\if' : '\\elif') . " :what = $n\n";
	$scripts{facts} .= $changes[ $n - 1 ] =~ s/% /$_ /gr . ";\n" for 'facts', 'model';
}
$scripts{facts} .= "\\endif\nINSERT INTO operations VALUES ('facts');\n"
  . "\\if :end = 1\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n";

my $dir = $PostgreSQL::Test::Utils::tmp_check;
append_to_file("$dir/$_.bench", $scripts{$_}) for keys %scripts;

my $rollup =
  q{CALL roaring64_rollup_create('facts', 'sets', '{key}', 'id',
	'{"members": true, "marked": "mark", "starred": "star"}')};
my $cycle = "$rollup;\nSELECT count(*) FROM roaring64_rollup_verify('sets');\n"
  . "SELECT pg_sleep(0.1);\nSELECT roaring64_rollup_drop('sets');\nINSERT INTO operations VALUES ('rollup');\n";
append_to_file("$dir/rollups.sql", $cycle x 2000);
append_to_file("$dir/folds.sql",
	"CALL roaring64_dedup_fold('seen');\nINSERT INTO operations VALUES ('fold');\n" x 100000);

# Starts a program that writes to files.
sub start_program
{
	my ($name, @command) = @_;

	return IPC::Run::start([ @command, '-d', $node->connstr('postgres') ],
		'<', \undef, '>', "$dir/$name.out", '2>', "$dir/$name.err");
}

#
# What must hold
#
# Each gives what is wrong.
my %questions = (
	'messages and claims are the same, each once' => q{
		SELECT id FROM (SELECT id FROM messages EXCEPT ALL
			SELECT e FROM roaring64_elements(roaring64_dedup_export('seen', 'k')) AS e) AS a
		UNION ALL
		SELECT id FROM (SELECT e AS id FROM roaring64_elements(roaring64_dedup_export('seen', 'k')) AS e
			EXCEPT ALL SELECT id FROM messages) AS b},
	'sets are what plain rows are' => q{
		SELECT id FROM documents LEFT JOIN (SELECT document, roaring64_agg(word) AS w,
				roaring64_agg(word * 65536) AS p FROM document_words GROUP BY document) AS d ON document = id
		WHERE words <> coalesce(w, '{}') OR places <> coalesce(p, '{}')},
	'by element the index finds what a scan does' => q{
		SET enable_seqscan = off;
		SELECT w FROM generate_series(1::bigint, 420) AS w WHERE
			(SELECT roaring64_agg(id) FROM documents WHERE words @> w) IS DISTINCT FROM
			(SELECT roaring64_agg(document) FROM document_words WHERE word = w)},
	'by container, too' => q{
		SET enable_seqscan = off;
		SELECT w FROM generate_series(1::bigint, 420) AS w WHERE
			(SELECT roaring64_agg(id) FROM documents WHERE places @> (w * 65536)) IS DISTINCT FROM
			(SELECT roaring64_agg(document) FROM document_words WHERE word = w)},
	'facts are what they should be' => q{
		(SELECT key, id, mark, star FROM facts EXCEPT TABLE model) UNION ALL
		(TABLE model EXCEPT SELECT key, id, mark, star FROM facts)});

sub check_all
{
	my ($name) = @_;

	is(value("SELECT count(*) FROM pg_index WHERE NOT indisvalid"), '0', "$name: indexes are valid");
	is(value($questions{$_}), '', "$name: $_") for sort keys %questions;

	# where the target is in step, it agrees
	my $state = value(q{SELECT coalesce(to_regclass('sets_rollup')::text, '-')}) eq '-' ? 'none' :
	  value(q{SELECT CASE WHEN copied IS NULL THEN 'copying' ELSE 'following' END FROM sets_rollup});
	is(value(q{SELECT * FROM roaring64_rollup_verify('sets')}), '', "$name: the target agrees")
	  if $state eq 'following';
	return $state;
}

like(value("SET enable_seqscan = off; EXPLAIN SELECT FROM documents WHERE $_"),
	qr/Bitmap Index Scan on by_/, 'an index is used')
  for 'words @> 5::bigint', 'places @> 65536::bigint';

my %states;
for my $round (1 .. $kills)
{
	my $before = value('SELECT count(*) FROM operations');
	my @programs = (
		start_program('rollups', 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/rollups.sql"),
		start_program('folds', 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/folds.sql"),
		start_program('bench', 'pgbench', '-n', '-c', '6', '-j', '2', '-T', '600', '--random-seed', $seed + $round,
			'--max-tries', '50', '-D', 'base=' . 100_000 * $round,
			map { ('-f', "$dir/$_.bench") } sort keys %scripts));

	# at no particular moment after there was something of each kind
	for my $try (1 .. 600)
	{
		last if value('SELECT count(*) FROM operations') > $before + 300;
		usleep(100_000);
	}
	usleep(int rand 2_500_000);
	cmp_ok(value('SELECT count(*) FROM operations'), '>', $before + 300, "kill $round: there is work being done");
	kill_server($node);
	$_->finish for @programs;
	for my $name ('rollups', 'folds', 'bench')
	{
		my @errors = grep { /ERROR|FATAL/ && !/terminat|recovery|connection/ } split /\n/, slurp_file("$dir/$name.err");

		is("@errors", '', "kill $round: $name had no other error");
	}
	start_after_kill($node);
	$states{ check_all("kill $round") }++;
}
note 'rollup when killed: ', join ', ', map { "$_ $states{$_}" } sort keys %states;

#
# To the end
#
value($rollup);
value(q{CALL roaring64_dedup_fold('seen')});
check_all('gone on');
is(value(q{SELECT count(*) FROM seen_claims}), '0', 'all claims are folded');
value(q{SELECT roaring64_rollup_detach('sets')});
check_all('finished');

diag("$kills kills; operations that were committed: "
	  . join(', ', split /\n/, value(q{SELECT kind || ' ' || count(*) FROM operations GROUP BY kind ORDER BY kind})));
is(value(q{SELECT count(DISTINCT kind) FROM operations WHERE kind IN ('claim', 'words', 'facts', 'fold')}),
	'4', 'of each kind there were some');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal (?!9)/, 'no process crashed by itself');

$node->stop;
done_testing();
