# 040_copies.pl
#	  Sets are the same on a standby, on a subscriber, after a dump and after
#	  COPY, and their indexes find the same.  Helpers work after a restore that
#	  leaves out comments, owners or privileges, but for what docs/operations.md says.
#
# Compared are the bytes of every set, what GIN finds, and that equality and
# order hold.  The largest set has 1 MB
# by default, and 32 at most (test/perl/Effort.pm).

use strict;
use warnings FATAL => 'all';

use File::Temp qw(tempdir);

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $large_mb = effort(1, 32);
my $dir = tempdir(CLEANUP => 1);

my $schema = q{
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE TABLE sets (k int PRIMARY KEY, s roaring64);
};
my $indexes = q{
	CREATE INDEX sets_gin ON sets USING gin (s) WHERE k < 70;
	CREATE INDEX sets_containers ON sets USING gin (s gin_roaring64_ops (key = container));
	CREATE INDEX sets_hash ON sets USING hash (s);
	CREATE UNIQUE INDEX sets_btree ON sets (s) WHERE k < 5;
};

# Every shape, small and large, stored compressed and not.
my $fill = qq{
	INSERT INTO sets VALUES (1, NULL), (2, '{}'), (3, '{0}'),
		(4, '{-9223372036854775808,-1,0,1,9223372036854775807}');
	INSERT INTO sets SELECT 10 + n, roaring64_agg(i * n)
		FROM generate_series(1, 19) n, generate_series(1::bigint, 1200) i GROUP BY n;
	INSERT INTO sets SELECT 40 + n, roaring64_agg(int8range(i * 1000, i * 1000 + n * 10))
		FROM generate_series(1, 20) n, generate_series(1::bigint, 100) i GROUP BY n;
	INSERT INTO sets SELECT 70, roaring64_agg((1279929600000 + i * 37) << 22)
		FROM generate_series(1::bigint, 20000) i;
	INSERT INTO sets SELECT 71, roaring64_agg(hashint8extended(i, 1))
		FROM generate_series(1::bigint, 5000) i;
	ALTER TABLE sets ALTER s SET STORAGE EXTERNAL;
	-- every other integer or the next, which takes an eighth of a byte each
	INSERT INTO sets SELECT 80, roaring64_or_agg(roaring64_shift(part, n * 1048576))
		FROM (SELECT roaring64_agg(2 * i + (hashint8extended(i, 2) & 1)) AS part
			FROM generate_series(0::bigint, 524287) i) p,
			generate_series(1::bigint, $large_mb * 8) n;
};

# All that is compared, as one line.
my $state = q{
	SET enable_seqscan = off;
	SELECT (SELECT md5(string_agg(k || ' ' || coalesce(md5(s::bytea), '-'), ',' ORDER BY k)) FROM sets),
		(SELECT sum(roaring64_cardinality(s)) FROM sets),
		(SELECT string_agg(k::text, ' ' ORDER BY k) FROM sets WHERE s @> 3000::bigint AND k < 70),
		(SELECT string_agg(k::text, ' ' ORDER BY k) FROM sets WHERE s && '{-1,7,5368709120000}'),
		(SELECT string_agg(k::text, ' ' ORDER BY s, k) FROM sets WHERE s IS NOT NULL)
};
my $hash_state = q{
	SELECT count(*) FROM sets a JOIN sets b USING (s) WHERE a.k = b.k
};

sub same_state
{
	my ($node, $origin, $name, $database) = @_;
	$database ||= 'postgres';
	is($node->safe_psql($database, $state), $origin->safe_psql('postgres', $state),
		"$name: sets and what indexes find");
	is($node->safe_psql($database, $hash_state), $origin->safe_psql('postgres', $hash_state), "$name: equality");
}

my $origin = PostgreSQL::Test::Cluster->new('origin');
$origin->init(allows_streaming => 'logical');
$origin->append_conf('postgresql.conf', 'max_wal_size = 2GB');
$origin->start;
$origin->safe_psql('postgres', $schema . $indexes);

#
# A standby, from before there were any sets, so that all of them come by WAL.
#
$origin->backup('empty');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($origin, 'empty', has_streaming => 1);
$standby->start;
$origin->safe_psql('postgres', $fill);

is($origin->safe_psql('postgres', 'SELECT octet_length(s::bytea) >> 20 FROM sets WHERE k = 80'),
	$large_mb, "the largest set has $large_mb MB");
like($origin->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN SELECT k FROM sets WHERE s && '{-1}'"),
	qr/sets_containers/, 'the comparison uses the index');
# more than the empty string would be the same everywhere
like($origin->safe_psql('postgres', $state), qr/^\w{32}\|\d{7,}\|[\d ]{8,}\|4 [\d ]+\|2 [\d ]+$/,
	'there is something to compare');

$origin->wait_for_catchup($standby, 'replay', $origin->lsn('insert'));
same_state($standby, $origin, 'standby');

# Advice is measured without writing: on sets, and on ids as rows.  Sizes may differ
# by the maps that VACUUM makes.
for my $column ('s', 'k')
{
	my $advice = "SELECT what, advice, statement FROM roaring64_advise('sets', '$column')";
	my $given  = $standby->safe_psql('postgres', $advice);
	like($given, qr/\|yes/, "advice on column $column, given by a standby");
	is($given, $origin->safe_psql('postgres', $advice), "advice on column $column is that of the primary");
}

#
# Subscribers, by text and by binary messages: what is there at the start is
# copied, the rest comes as changes.  A dedup set goes along, all four tables;
# at the subscriber the row of options makes place for the one that comes.
#
my $dedup = q{SELECT roaring64_dedup_create('seen', keep => 5)};
my $seen = q{
	SELECT roaring64_dedup_export('seen', 'k'), roaring64_dedup_export('seen', 'l'), roaring64_dedup_stats('seen'),
		roaring64_dedup_seen_many('seen', 'k', '{1,2,25,31,77}'), keep FROM seen
};
$origin->safe_psql('postgres', $dedup);
$origin->safe_psql('postgres', $_)
  for q{SELECT roaring64_dedup_claim_many('seen', 'k', '{1,2,3,4,5,6,7,8,9}')}, q{CALL roaring64_dedup_fold('seen')},
	q{SELECT roaring64_dedup_claim_many('seen', 'l', '{-1,2,100000}')};
for my $binary ('false', 'true')
{
	my $subscriber = PostgreSQL::Test::Cluster->new("subscriber_$binary");
	$subscriber->init;
	$subscriber->start;
	$subscriber->safe_psql('postgres', "$schema; $dedup; TRUNCATE seen");
	$origin->safe_psql('postgres',
		"CREATE PUBLICATION p_$binary FOR TABLE sets, seen, seen_claims, seen_chunks, seen_windows");
	$subscriber->safe_psql('postgres', sprintf(
			q{CREATE SUBSCRIPTION s_%s CONNECTION '%s' PUBLICATION p_%s WITH (binary = %s)},
			$binary, $origin->connstr . ' dbname=postgres', $binary, $binary));
	$subscriber->wait_for_subscription_sync($origin, "s_$binary");
	$origin->safe_psql('postgres', q{
		UPDATE sets SET s = s | 3000::bigint - 7::bigint WHERE k BETWEEN 11 AND 15;
		-- the set itself is not sent again
		UPDATE sets SET k = 180 WHERE k = 80;
		UPDATE sets SET k = 80 WHERE k = 180;
		DELETE FROM sets WHERE k BETWEEN 50 AND 52;
		INSERT INTO sets SELECT k + 1000, s FROM sets WHERE k IN (2, 4, 41, 70);
		DELETE FROM sets WHERE k > 1000;
	});
	# rows found by their sets, as a table without a key has them
	$origin->safe_psql('postgres', q{
		ALTER TABLE sets REPLICA IDENTITY FULL;
		UPDATE sets SET s = s # '{5,7}' WHERE k = 60;
		ALTER TABLE sets REPLICA IDENTITY DEFAULT;
	});
	my $first = $binary eq 'true' ? 20 : 30;
	$origin->safe_psql('postgres', $_)
	  for "SELECT roaring64_dedup_claim('seen', 'k', i) FROM generate_series($first, $first + 8) AS i",
		q{CALL roaring64_dedup_fold('seen')},
		"SELECT roaring64_dedup_claim_many('seen', 'k', '{61,62}')", q{CALL roaring64_dedup_fold('seen')},
		"SELECT roaring64_dedup_claim('seen', 'k', 77), roaring64_dedup_forget('seen', 'k', 62),
			roaring64_dedup_alter('seen', keep => 6)";
	$origin->wait_for_catchup("s_$binary");
	is($subscriber->safe_psql('postgres', $seen), $origin->safe_psql('postgres', $seen),
		"subscriber, binary = $binary: a dedup set");
	$subscriber->safe_psql('postgres', $indexes);
	same_state($subscriber, $origin, "subscriber, binary = $binary");
	$subscriber->safe_psql('postgres', "DROP SUBSCRIPTION s_$binary");
	is($subscriber->safe_psql('postgres', q{SELECT roaring64_dedup_claim_many('seen', 'k', '{61,62,77,78}')}),
		'{f,t,f,t}', "subscriber, binary = $binary: the dedup set goes on there");
	$subscriber->stop;
}

#
# Dumps, in all formats and with all formats of output.
#
my $n = 0;
for my $case (
	[ 'plain' ], [ 'plain', '--inserts' ], [ 'custom' ], [ 'directory', '--jobs=2' ], [ 'tar' ],
	[ 'plain', 'hex' ])
{
	my ($format, $option) = @$case;
	my $hex      = ($option || '') eq 'hex';
	my $database = 'restored' . ++$n;
	my $file     = "$dir/$database";
	local $ENV{PGOPTIONS} = $hex ? '-c roaring64.output_format=hex' : '';

	$origin->command_ok(
		[   'pg_dump', '--format', $format, '--file', $file,
			($option && !$hex ? $option : ()), $origin->connstr('postgres') ],
		"pg_dump, @$case");
	$origin->safe_psql('postgres', "CREATE DATABASE $database");
	my @restore = $format eq 'plain' ?
	  ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $origin->connstr($database)) :
	  ('pg_restore', '--exit-on-error', '-d', $origin->connstr($database),
		($format eq 'tar' ? () : '--jobs=2'), $file);
	$origin->command_ok(\@restore, "restored, @$case");
	same_state($origin, $origin, "dump, @$case", $database);
	$origin->safe_psql('postgres', "DROP DATABASE $database");
}

#
# What a restore leaves out.  A writer of the rollups' source is not their owner.
#
$origin->safe_psql('postgres', q{
	CREATE ROLE app;
	CREATE ROLE writer;
	CREATE DATABASE helpers OWNER app});
$origin->safe_psql('helpers', q{
	CREATE EXTENSION roaring64_tables CASCADE;
	GRANT CREATE ON SCHEMA public TO app;
	SET ROLE app;
	SELECT roaring64_dedup_create('seen', keep => 100), roaring64_dedup_create('uuids', id_type => 'uuid'),
		roaring64_delay_create('later'), roaring64_numbers_create('amounts'), roaring64_dict_create('names', 'text');
	SELECT roaring64_dedup_claim('seen', 'k', 1), roaring64_delay_add('later', 1, 1, '2026-01-01'),
		roaring64_numbers_set('amounts', 'k', '{1}', '{5}'), roaring64_dict_encode('names', '{a,b}'::text[]);
	CREATE TABLE facts (k int, id bigint, PRIMARY KEY (k, id));
	GRANT INSERT ON facts TO writer;
	CALL roaring64_rollup_create('facts', 'follows', '{k}', 'id', '{"ids": true}');
	CALL roaring64_rollup_create('facts', 'keeps', '{k}', 'id', '{"ids": true}', deletes => 'keep');
	INSERT INTO facts VALUES (1, 1)});
$origin->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/helpers", $origin->connstr('helpers') ], 'dumped, with helpers');
my $no_rights = qr/permission denied.*HINT:  GRANT INSERT ON public.(?:follows|keeps)_pending TO writer/s;
for my $case (
	[ [], qr/^$/ ],
	[ ['--no-comments'], qr/^$/ ],
	[ ['--no-owner'], qr/^$/ ],
	[ [ '--no-owner', '--no-privileges' ], $no_rights ])
{
	my ($options, $write_error) = @$case;
	my $owner = "@$options" =~ /no-owner/ ? 'postgres' : 'app';
	my $err;

	$origin->safe_psql('postgres', 'CREATE DATABASE restored');
	$origin->command_ok(
		[ 'pg_restore', '--exit-on-error', @$options, '-d', $origin->connstr('restored'), "$dir/helpers" ],
		"restored, @$options");
	$origin->safe_psql('restored', 'GRANT USAGE ON SCHEMA public TO writer; GRANT INSERT ON facts TO writer');
	$origin->psql('restored', 'SET ROLE writer; INSERT INTO facts VALUES (1, 2)', stderr => \$err);
	like($err, $write_error, "a writer, @$options");
	is( $origin->safe_psql('restored', qq{
		SET client_min_messages = warning;
		SET ROLE $owner;
		INSERT INTO facts VALUES (1, 3);
		CALL roaring64_dedup_fold('seen');
		CALL roaring64_rollup_fold('follows');
		CALL roaring64_rollup_fold('keeps');
		SELECT roaring64_dedup_seen('seen', 'k', 1), roaring64_dedup_claim('uuids', 'k', gen_random_uuid()),
			(SELECT count(*) FROM roaring64_delay_take('later')), roaring64_numbers_sum('amounts', 'k'),
			roaring64_dict_encode('names', '{b,c}'::text[]), (SELECT count(*) FROM roaring64_helpers());
		SELECT (SELECT ids = (SELECT roaring64_agg(id) FROM facts) FROM follows), f.ids = k.ids
			FROM follows AS f JOIN keeps AS k USING (k);
		SELECT count(*) FROM roaring64_rollup_verify('follows')}),
		"t|t|1|5|{2,3}|7\nt|t\n0", "helpers work, @$options");
	is( $origin->safe_psql('restored', qq{
		SET ROLE $owner;
		SELECT roaring64_rollup_drop('follows'), roaring64_rollup_detach('keeps');
		INSERT INTO facts VALUES (1, 4);
		SELECT relname FROM pg_class WHERE relname ~ '^(follows|keeps)' AND relkind <> 'i'
		UNION ALL SELECT proname FROM pg_proc WHERE proname ~ '^(follows|keeps)'
		UNION ALL SELECT typname FROM pg_type WHERE typname ~ '^(follows|keeps).*_row'
		UNION ALL SELECT tgname FROM pg_trigger WHERE tgname ~ '^(follows|keeps)'}),
		"|\nkeeps", "and rollups end, with nothing left but the sets, @$options");
	$origin->safe_psql('postgres', 'DROP DATABASE restored');
}

#
# Files of COPY.
#
for my $format ('text', 'csv', 'binary')
{
	$origin->safe_psql('postgres', qq{
		COPY sets TO '$dir/copy.$format' (FORMAT $format);
		CREATE DATABASE copied;
	});
	$origin->safe_psql('copied', $schema . $indexes . "COPY sets FROM '$dir/copy.$format' (FORMAT $format)");
	same_state($origin, $origin, "COPY, $format", 'copied');
	$origin->safe_psql('postgres', 'DROP DATABASE copied');
}

#
# The standby takes over.
#
$origin->wait_for_catchup($standby, 'replay', $origin->lsn('insert'));
same_state($standby, $origin, 'standby after all changes');
$origin->stop;
$standby->promote;
$standby->safe_psql('postgres', q{
	UPDATE sets SET s = s | 12345678901::bigint WHERE k IN (4, 80);
	DELETE FROM sets WHERE k = 70;
});
is($standby->safe_psql('postgres', q{
	SET enable_seqscan = off;
	SELECT string_agg(k::text, ' ' ORDER BY k) FROM sets WHERE s @> 12345678901::bigint}),
	'4 80', 'the promoted standby changes sets and indexes');

done_testing();
