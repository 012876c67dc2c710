# 061_extension_update.pl
#	  ALTER EXTENSION ... UPDATE, from every version that there is a script of.
#
# An update is a script, sql/EXTENSION--OLD--NEW.sql; the library is replaced
# before it runs and serves both.  So each old version is installed by its own
# script with the library as it is now, is used, and is updated; and then the
# catalogs must say the same as after CREATE EXTENSION of the new version.
# roaring64 and roaring64_tables have versions of their own, so each is updated by
# itself, beside the default version of the other.
#
# What there is not yet is made up: a version after the last, whose script adds
# a function, changes one, and gives another support function.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

# Only where the installation is a copy that we may write to.
plan skip_all => 'needs an installation of its own: tools/private-server'
  unless $ENV{ROARING64_PRIVATE_SERVER};

chomp(my $sharedir = `pg_config --sharedir`);
my $scripts = "$sharedir/extension";

my $made_up = 'made_up';
my (%default, %versions);

# The version after the last: what its script changes.
my %changes = (
	roaring64 => q{
	CREATE FUNCTION roaring64_new_in_the_test(roaring64) RETURNS bigint
	AS 'MODULE_PATHNAME', 'roaring64_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
	COMMENT ON FUNCTION roaring64_new_in_the_test(roaring64) IS 'how many elements';
	CREATE OR REPLACE FUNCTION roaring64_min(roaring64) RETURNS bigint
	AS 'MODULE_PATHNAME', 'roaring64_min'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 7;
	ALTER FUNCTION roaring64_max(roaring64) COST 8;
	CREATE OPERATOR ~~~ (LEFTARG = roaring64, RIGHTARG = roaring64, FUNCTION = roaring64_overlaps,
		COMMUTATOR = ~~~, RESTRICT = _roaring64_contsel, JOIN = _roaring64_contjoinsel);
},
	roaring64_tables => q{
	CREATE FUNCTION roaring64_delay_new_in_the_test(delay regclass) RETURNS bigint
	LANGUAGE sql STABLE PARALLEL RESTRICTED RETURN @extschema@.roaring64_delay_count(delay);
	ALTER FUNCTION roaring64_delay_count(regclass, timestamptz) COST 8;
});
for my $extension (sort keys %changes)
{
	my %installed;

	($default{$extension}) = slurp_file("$scripts/$extension.control") =~ /^default_version = '(.*)'$/m;
	for my $script (glob "$scripts/$extension--*.sql")
	{
		$installed{$1} = $script if $script =~ /$extension--([^-]+)\.sql$/;
	}
	$versions{$extension} = [ sort { version->parse("v$a") <=> version->parse("v$b") } keys %installed ];
	ok(exists $installed{ $default{$extension} },
		"there is a script of the default version of $extension, $default{$extension}, of "
		  . @{ $versions{$extension} });
	append_to_file("$scripts/$extension--$default{$extension}--$made_up.sql", $changes{$extension});
	append_to_file("$scripts/$extension--$made_up.sql",
		slurp_file($installed{ $default{$extension} }) . $changes{$extension});
}
END
{
	unlink map { glob "$scripts/$_--{*--,}{$made_up,99.0}.sql" } keys %changes if defined $scripts;
}

my $node = start_server('update');

# All that an extension has, by name and with all that was said of it; no OID.
my %catalog = map { $_ => qq{
	SELECT pg_describe_object(d.classid, d.objid, d.objsubid) || ': ' || coalesce(
		CASE d.classid
			WHEN 'pg_proc'::regclass THEN (
				SELECT concat_ws(' ', prosrc, probin, prokind, provolatile, proisstrict, proparallel, procost, prorows,
					prosupport::regproc, proleakproof, prosecdef, proretset, proacl, proconfig, proargmodes,
					proargnames, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid))
				FROM pg_proc p WHERE oid = d.objid)
				|| coalesce((
					SELECT concat_ws(' ', aggtransfn, aggfinalfn, aggcombinefn, aggserialfn, aggmtransfn,
						aggtranstype::regtype, agginitval)
					FROM pg_aggregate WHERE aggfnoid = d.objid), '')
			WHEN 'pg_operator'::regclass THEN (
				SELECT concat_ws(' ', oprcode, oprcom::regoperator, oprnegate::regoperator, oprrest, oprjoin,
					oprcanmerge, oprcanhash, oprresult::regtype)
				FROM pg_operator WHERE oid = d.objid)
			WHEN 'pg_type'::regclass THEN (
				SELECT concat_ws(' ', typinput, typoutput, typreceive, typsend, typanalyze, typlen, typalign,
					typstorage, typcategory, typispreferred)
				FROM pg_type WHERE oid = d.objid)
			WHEN 'pg_cast'::regclass THEN (
				SELECT concat_ws(' ', castfunc::regprocedure, castcontext, castmethod)
				FROM pg_cast WHERE oid = d.objid)
			WHEN 'pg_opclass'::regclass THEN (
				SELECT concat_ws(' ', opcdefault, opcintype::regtype, opckeytype::regtype,
					(SELECT string_agg(concat_ws(' ', amopstrategy, amopopr::regoperator), ', '
						ORDER BY amopstrategy, amopopr::regoperator::text)
					FROM pg_amop WHERE amopfamily = opcfamily),
					(SELECT string_agg(concat_ws(' ', amprocnum, amproc::regprocedure), ', '
						ORDER BY amprocnum, amproc::regprocedure::text)
					FROM pg_amproc WHERE amprocfamily = opcfamily))
				FROM pg_opclass WHERE oid = d.objid)
		END, '-') || ' COMMENT ' || coalesce(obj_description(d.objid, d.classid::regclass::name), '-')
	FROM pg_depend d
	WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = '$_')
	ORDER BY 1
} } keys %changes;

# What 1.x promises to keep of roaring64 (docs/installing.md): names, arguments and
# results.
my $promised = q{
	SELECT pg_describe_object(d.classid, d.objid, d.objsubid)
		|| coalesce(': ' || pg_get_function_arguments(p.oid) || ' -> ' || pg_get_function_result(p.oid), '')
	FROM pg_depend d LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
	WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'roaring64') AND p.proname !~ '^_' IS NOT FALSE
};

# Things that were made with an old version, and what they say.
my $use = q{
	CREATE TABLE sets (k int PRIMARY KEY, s roaring64);
	INSERT INTO sets SELECT i, roaring64_agg(j)
		FROM generate_series(1, 100) i, generate_series(1::bigint, i) j GROUP BY i;
	CREATE INDEX sets_gin ON sets USING gin (s gin_roaring64_ops (key = container));
	CREATE INDEX sets_btree ON sets (s);
	CREATE INDEX sets_min ON sets (roaring64_min(s));
	CREATE VIEW of_sets AS SELECT k, s | 1000::bigint AS more, roaring64_max(s) AS max FROM sets WHERE s && '{5,6}';
	CREATE FUNCTION in_sets(bigint) RETURNS bigint LANGUAGE sql
		BEGIN ATOMIC SELECT count(*) FROM sets WHERE s @> $1; END;
	SELECT roaring64_dedup_create('seen');
	SELECT roaring64_delay_create('later');
	SELECT roaring64_dedup_claim('seen', 'k', i) FROM generate_series(1::bigint, 10) i;
	CALL roaring64_dedup_fold('seen');
	SELECT roaring64_dedup_claim('seen', 'k', 11);
	SELECT roaring64_delay_add('later', 1, 1, '2026-01-01 00:00+00');
	CREATE TABLE inbox (q text, id bigint);
	CREATE FUNCTION once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF roaring64_dedup_claim('public.seen', NEW.q, NEW.id) THEN RETURN NEW; END IF; RETURN NULL; END $$;
	CREATE TRIGGER once BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION once();
	CREATE TABLE facts (who int, id bigint, PRIMARY KEY (who, id));
	INSERT INTO facts SELECT i % 5, i FROM generate_series(1, 100) i;
	CALL roaring64_rollup_create('facts', 'sets_of_facts', '{who}', 'id', '{"all": true}');
	SELECT roaring64_rollup_detach('sets_of_facts');
};
my $answers = q{
	SET enable_seqscan = off;
	SELECT (SELECT md5(string_agg(k || s::text, ',' ORDER BY k)) FROM sets),
		(SELECT count(*) FROM of_sets WHERE more @> 90::bigint),
		(SELECT sum(max) FROM of_sets), in_sets(50), (SELECT k FROM sets WHERE s = '{1,2}'),
		roaring64_dedup_count('seen', 'k'), roaring64_dedup_seen('seen', 'k', 5::bigint),
		roaring64_delay_count('later'), (SELECT count(*) FROM facts)
};
# Writing, which is taken back.
my $write = q{
	BEGIN;
	INSERT INTO sets VALUES (1000, '{1,2,3,5000}');
	INSERT INTO inbox VALUES ('k', 5), ('k', 500);
	INSERT INTO facts VALUES (7, 7);
	SELECT count(*), roaring64_dedup_claim_many('seen', 'k', '{11,12}'::bigint[]) FROM inbox;
	SELECT * FROM roaring64_delay_take('later');
	SELECT all_ FROM sets_of_facts AS s (who, all_) WHERE who = 7;
	ROLLBACK;
};

# Statements that create an extension in a version, and the other one.
sub creation
{
	my ($extension, $version) = @_;
	my %version = (%default, $extension => $version);

	return join ' ', map { "CREATE EXTENSION $_ VERSION '$version{$_}';" } sort keys %version;
}

# What a fresh one is like, by version.
my (%fresh, %kept);
for my $extension (sort keys %changes)
{
	for my $version (@{ $versions{$extension} }, $made_up)
	{
		value('CREATE DATABASE fresh');
		$node->safe_psql('fresh', creation($extension, $version));
		$fresh{$extension}{$version} = $node->safe_psql('fresh', $catalog{$extension});
		$kept{$version} = [ split /\n/, $node->safe_psql('fresh', $promised) ] if $extension eq 'roaring64';
		value('DROP DATABASE fresh');
	}
	cmp_ok(scalar(split /\n/, $fresh{$extension}{ $default{$extension} }), '>', 75,
		"the catalogs of $extension are read");
	isnt($fresh{$extension}{$made_up}, $fresh{$extension}{ $default{$extension} }, 'the made up version is another');
}

# Updates an extension, with the other beside it, which stays as it is.
sub update
{
	my ($extension, $old, $new) = @_;
	my $name = "$extension $old to $new";
	my ($other) = grep { $_ ne $extension } keys %changes;

	value('CREATE DATABASE updated');
	$node->safe_psql('updated', creation($extension, $old) . $use);
	my $before  = $node->safe_psql('updated', $answers);
	my $written = $node->safe_psql('updated', $write);
	is($before =~ tr/|//, 8, "$name: $old is used, which answers $before");

	# a session that has used the old one goes on
	my $session;
	if (PostgreSQL::Test::BackgroundPsql->can('query_safe'))
	{
		$session = $node->background_psql('updated', on_error_stop => 1);
		$session->query_safe($answers);
	}

	$node->safe_psql('updated', "ALTER EXTENSION $extension UPDATE TO '$new'");
	is($node->safe_psql('updated', $catalog{$extension}), $fresh{$extension}{$new},
		"$name: as if $new had been created");
	is($node->safe_psql('updated', $catalog{$other}), $fresh{$other}{ $default{$other} },
		"$name: the other is as it was");
	is($node->safe_psql('updated', $answers), $before, "$name: what there was answers as before");
	is($node->safe_psql('updated', $write), $written, "$name: and is written to as before");
	if ($session)
	{
		is($session->query_safe($answers) =~ s/\A\s+|\s+\z//gr, $before, "$name: in a session from before");
		$session->quit;
	}

	# dumped, restored
	my $dump = "$PostgreSQL::Test::Utils::tmp_check/updated.dump";
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('updated') ], "$name: dumped");
	value('CREATE DATABASE restored');
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], "$name: restored");
	is($node->safe_psql('restored', $answers), $before, "$name: and the same");
	is($node->safe_psql('restored', $write), $written, "$name: and is written to as before");

	# gone, and back: the helpers' tables need none of roaring64_tables to be there
	my (undef, undef, $error) = $node->psql('restored', 'DROP EXTENSION roaring64');
	like($error, qr/other objects depend on it/, "$name: is not dropped while it is used");
	if ($extension eq 'roaring64_tables')
	{
		$node->safe_psql('restored', "DROP EXTENSION $extension; CREATE EXTENSION $extension VERSION '$new'");
		is($node->safe_psql('restored', $answers), $before,
			"$name: answers as before when it is dropped and created again");
	}
	$node->safe_psql('restored', 'DROP EXTENSION roaring64 CASCADE; ' . creation($extension, $new));
	is($node->safe_psql('restored', $catalog{$extension}), $fresh{$extension}{$new},
		"$name: dropped and created again");
	value('DROP DATABASE restored');
	value('DROP DATABASE updated');
	return;
}

# Every version has what the one before it had, within a major version.
for my $old (@{ $versions{roaring64} })
{
	my $major = $old =~ s/\..*//r;
	my @later = grep { /^\Q$major\E\./ && version->parse("v$_") > version->parse("v$old") } @{ $versions{roaring64} };

	cmp_ok(scalar @{ $kept{$old} }, '>', 150, "names of roaring64 $old are read");
	for my $new (@later, $made_up)
	{
		my %has = map { $_ => 1 } @{ $kept{$new} };

		is(join("\n", grep { !$has{$_} } @{ $kept{$old} }), '', "roaring64 $new has all names of $old");
	}
}

for my $extension (sort keys %changes)
{
	my @versions = @{ $versions{$extension} };

	for my $old (@versions)
	{
		update($extension, $old, $_)
		  for (grep { version->parse("v$_") > version->parse("v$old") } @versions), $made_up;
	}

	# Every version leads to the default one.
	is(value(qq{SELECT string_agg(source, ' ') FROM pg_extension_update_paths('$extension')
		WHERE target = '$default{$extension}' AND path IS NULL AND source <> '$made_up'}),
		'', "every version of $extension can be updated to $default{$extension}");
}

# The script of a version newer than the library is refused, whether it creates the
# extension or updates it, and nothing of it stays.
my $newer = '99.0';
my $guard = "SELECT \@extschema\@._roaring64_needs_library('$newer');";
append_to_file("$scripts/roaring64--$newer.sql",
	slurp_file("$scripts/roaring64--$default{roaring64}.sql")
	  =~ s/(_roaring64_needs_library\(')\Q$default{roaring64}\E'/$1$newer'/r);
append_to_file("$scripts/roaring64--$default{roaring64}--$newer.sql", "$guard\nCREATE TABLE is_not_left ();");
my $refused = qr{^psql:<stdin>:[12]: ERROR:  roaring64 99\.0 needs its library, and that of [0-9.]+ is loaded$}m;
my (undef, undef, $created) = $node->psql('postgres', "CREATE EXTENSION roaring64 VERSION '$newer'");
my (undef, undef, $updated) = $node->psql('postgres',
	creation('roaring64', $default{roaring64}) . "\nALTER EXTENSION roaring64 UPDATE TO '$newer'");
like($created, $refused, 'a newer script does not create the extension with this library');
like($updated, $refused, 'nor does it update the extension');
is(value(q{SELECT (roaring64_version()).script, to_regclass('is_not_left')}),
	"$default{roaring64}|", 'which stays as it was');

$node->stop;
done_testing();
