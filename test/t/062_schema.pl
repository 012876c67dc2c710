# 062_schema.pl
#	  The extensions in any schema, both in the same: the bodies of their functions
#	  name the schema that CREATE EXTENSION was given, so all that runs statements
#	  of its own is called in two databases with different schemas, one of which
#	  must be quoted, with neither in search_path; then dumped and restored.  If the
#	  server can, one of the databases has text in another order than that of bytes.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('schema');

# What each of these gives is the same in every schema.
my $make = q{
	CREATE TABLE items (id bigint PRIMARY KEY, "set" X.roaring64);
	INSERT INTO items SELECT i, ARRAY[i, i + 1]::X.roaring64 FROM generate_series(1, 2000) i;
	CREATE INDEX ON items USING gin ("set" X.gin_roaring64_ops);
	ANALYZE items;
	SELECT X.roaring64_dedup_create('seen', keep => 100), X.roaring64_delay_create('later'),
		X.roaring64_numbers_create('amounts'), X.roaring64_dict_create('names', 'text');
	SELECT X.roaring64_numbers_set('amounts', 'a', '{1,2,3}', '{5,-7,9}'),
		X.roaring64_numbers_set('amounts', 'b', '{1}', '{2}');
	CREATE FUNCTION no_b() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not this one'; END $$;
	CREATE TRIGGER no_b BEFORE INSERT ON seen_chunks FOR EACH ROW WHEN (NEW.key = 'B') EXECUTE FUNCTION no_b();
};
my $use = q{
	SELECT count(*) FROM items WHERE id OPERATOR(X.<@) '{5,17,9000}'::X.roaring64;
	SELECT count(*) FROM items WHERE "set" OPERATOR(X.@>) 7;
	SELECT X.roaring64_dedup_claim('seen', 'k', 7), X.roaring64_dedup_claim_many('seen', 'k', '{7,8}');
	CALL X.roaring64_dedup_fold('seen');
	SELECT X.roaring64_dedup_export('seen', 'k'), X.roaring64_dedup_count('seen', 'k');
	-- a key that cannot be folded keeps no other
	SELECT X.roaring64_dedup_claim('seen', key, 1) FROM unnest('{B,a}'::text[]) AS key;
	CALL X.roaring64_dedup_fold('seen');
	SELECT key FROM seen_claims;
	SELECT X.roaring64_delay_add('later', 1, 1, to_timestamp(0)),
		X.roaring64_delay_add_many('later', '{1,2}', '{2,3}', ARRAY[to_timestamp(0), to_timestamp(5)]);
	SELECT X.roaring64_delay_count('later'), extract(epoch FROM X.roaring64_delay_next_due('later'))::int,
		X.roaring64_delay_cancel('later', 1, 2, to_timestamp(0));
	SELECT count(*) FROM X.roaring64_delay_take('later');
	SELECT X.roaring64_numbers_add('amounts', 'a', '{1,4}', '{1,1}'), X.roaring64_numbers_merge('amounts', 'a', 'b');
	SELECT X.roaring64_numbers_in_range('amounts', 'a', '[0,)'), X.roaring64_numbers_top('amounts', 'a', 1),
		X.roaring64_numbers_get('amounts', 'a', '{3}'), X.roaring64_numbers_sum('amounts', 'a'),
		X.roaring64_numbers_avg('amounts', 'a'), X.roaring64_numbers_count('amounts', 'a');
	SELECT kind, name FROM X.roaring64_helpers();
	SELECT X.roaring64_numbers_set('amounts', 'a', '{1,4}', '{5,NULL}');
	SELECT X.roaring64_dict_encode('names', '{b,a}'::text[]);
	SELECT X.roaring64_dict_lookup('names', '{a,c}'::text[]);
	SELECT * FROM X.roaring64_dict_decode('names', '{1,2}');
};
sub in_schema
{
	my ($schema, $sql) = @_;
	return $sql =~ s/\bX\./$schema./gr;
}

my $icu = value(q{SELECT count(*) FROM pg_collation
	WHERE collname = 'en-x-icu' AND current_setting('server_version_num')::int >= 150000});
my %answers;
my %schema = (plain => 'bitmaps', quoted => '"x y"');
for my $base (sort keys %schema)
{
	my $order = $base eq 'quoted' && $icu
	  ? "TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en'" : '';
	value("CREATE DATABASE $base $order");
	$node->safe_psql($base,
		"CREATE SCHEMA $schema{$base}; CREATE EXTENSION roaring64_tables SCHEMA $schema{$base} CASCADE");
	$node->safe_psql($base, in_schema($schema{$base}, $make));
	$answers{$base} = $node->safe_psql($base, in_schema($schema{$base}, $use));
}
is($answers{plain},
	join("\n", 2, 2, 't|{f,t}', '{7,8}|2', 't', 't', 'B', 't|', '3|0|t', 2, '|',
		'{1,3,4}|{3}|{9}|11|2.7500000000000000|4', 'dedup|seen', 'delay|later', 'dictionary|names', 'numbers|amounts',
		'', '{2,1}', '{1,NULL}', '1|a', '2|b'),
	'what all functions give');
is($answers{quoted}, $answers{plain}, 'and in a schema whose name is quoted');

for my $base (sort keys %schema)
{
	my $dump = "$PostgreSQL::Test::Utils::tmp_check/$base.dump";
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr($base) ], "$base: dumped");
	value("CREATE DATABASE restored_$base");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr("restored_$base"), $dump ],
		"$base: restored");
	my $again = in_schema($schema{$base}, q{
		SELECT X.roaring64_dedup_claim_many('seen', 'k', '{7,8,9}'),
			X.roaring64_delay_add('later', 9, 9, to_timestamp(9)),
			X.roaring64_numbers_in_range('amounts', 'a', '[5,5]')});
	is($node->safe_psql("restored_$base", $again), '{f,f,t}|t|{1}', "$base: and works");
}

# A name that would become code within a string or a format is refused.
for my $name ('50%', q{o'clock}, 'a$b', 'a\\b', 'a""b')
{
	my (undef, undef, $error) = $node->psql('postgres',
		qq{CREATE SCHEMA "$name"; CREATE EXTENSION roaring64_tables SCHEMA "$name" CASCADE});
	like($error, qr/whose name contains|must not contain any of/, "not in schema $name");
}
is(value('SELECT count(*) FROM pg_extension WHERE extname ~ \'^roaring64\''), '0', 'and neither is there');

$node->stop;
done_testing();
