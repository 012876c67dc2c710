# 060_privileges.pl
#	  Nobody needs more rights than what they do, and nobody gets others': who
#	  may create the extensions, what the functions of the helpers need, and
#	  that they cannot be led astray by search_path.
#
# For the last, a schema is put first that has an object for every function,
# operator, type and table that is built in or belongs to the extensions, each of
# which raises an error when it is used.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $node = start_server('privileges', conf => 'jit = off');

# Runs statements as a role; gives what psql printed, and what it complained of.
sub run_as
{
	my ($role, $sql, @options) = @_;
	my ($out, $err) = ('', '');
	$node->psql('base', "SET SESSION AUTHORIZATION $role; $sql",
		stdout => \$out, stderr => \$err, on_error_stop => 1, @options);
	return ($out, $err);
}

#
# The scripts run as a superuser, and make the members of the extensions.  Of the rows of
# all system catalogs that this transaction has written, those with an object of their own
# are members, and the others are of these objects.
#
my $written = 'xmin = pg_current_xact_id()::xid';
is(value(qq{
	BEGIN;
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE EXTENSION roaring64_compat;
	SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
	WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND query_to_xml(
		format('SELECT FROM pg_catalog.%I WHERE $written LIMIT 1', relname), true, false, '')::text ~ '<row'}),
	'pg_aggregate pg_amop pg_amproc pg_cast pg_constraint pg_depend pg_description pg_extension pg_opclass pg_operator'
	  . ' pg_opfamily pg_proc pg_type',
	'creating the extensions writes to no other catalog than those of what they have');
for my $catalog (qw(pg_cast pg_constraint pg_opclass pg_operator pg_opfamily pg_proc pg_type))
{
	is(value(qq{
		BEGIN;
		CREATE EXTENSION roaring64_tables CASCADE;
		CREATE EXTENSION roaring64_compat;
		SELECT count(*) FROM $catalog AS c WHERE $written AND NOT EXISTS (SELECT FROM pg_depend
			WHERE classid = '$catalog'::regclass AND objid = c.oid
				AND (deptype = 'e' OR refclassid IN ('pg_type'::regclass, 'pg_opclass'::regclass)))}),
		'0', "and in $catalog to nothing that was there");
}

#
# The owner of a database, who is nothing else
#
value(q{
	CREATE ROLE base_owner LOGIN;
	CREATE ROLE app LOGIN;
	CREATE ROLE worker LOGIN;
	CREATE DATABASE base OWNER base_owner;
});
my ($out, $err) = run_as('base_owner', q{
	CREATE SCHEMA ext;
	CREATE EXTENSION roaring64 SCHEMA ext;
	CREATE EXTENSION roaring64_tables SCHEMA ext;
	CREATE SCHEMA app AUTHORIZATION base_owner;
	GRANT USAGE ON SCHEMA ext TO app, worker;
	GRANT USAGE, CREATE ON SCHEMA app TO app;
	GRANT USAGE ON SCHEMA app TO worker;
});
is($err, '', 'the owner of a database creates the extensions');
($out, $err) = run_as('app', 'DROP EXTENSION roaring64');
like($err, qr/must be owner of extension/, 'somebody else cannot drop it');
is($node->safe_psql('base', q{
	SELECT count(*) FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
		AND d.deptype = 'e' AND d.refobjid IN (SELECT oid FROM pg_extension WHERE extname ~ '^roaring64')
	WHERE prosecdef OR NOT has_function_privilege('worker', p.oid, 'EXECUTE')}),
	'0', 'no function borrows the rights of its owner, and all may call all');

#
# Everything, by a role that owns nothing but a few tables.  What a helper made
# belongs to who had it made.
#
my $set_up = q{
	SET search_path = app, ext;
	SELECT roaring64_dedup_create('seen');
	SELECT roaring64_dedup_create('recent', keep => 1);
	SELECT roaring64_dedup_create('folded');
	-- as if a claim of the same id were folded before this one is in
	CREATE FUNCTION folded() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
		INSERT INTO app.folded_chunks VALUES (NEW.key, 0, NEW.id, ARRAY[NEW.id]::ext.roaring64);
		RETURN NEW;
	END $$;
	CREATE TRIGGER folded BEFORE INSERT ON folded_claims FOR EACH ROW EXECUTE FUNCTION folded();
	SELECT roaring64_dedup_import('seen', 'k', '{1,2,3}'), roaring64_dedup_claim('seen', 'k', 4),
		roaring64_dedup_claim('seen', 'other', 4);
	SELECT roaring64_dedup_import('recent', 'k', '{3}'), roaring64_dedup_claim('recent', 'k', 4),
		roaring64_dedup_claim('recent', 'other', 4);
	SELECT roaring64_delay_create('later');
	SELECT roaring64_delay_add('later', 1, 1, '1970-01-01 00:00:01+00');
	SELECT roaring64_numbers_create('points');
	SELECT roaring64_numbers_set('points', 'k', '{1,2}', '{5,-1}');
	SELECT roaring64_dict_create('names', 'text');
	SELECT roaring64_dict_encode('names', '{a}'::text[]);
	CREATE TABLE inbox (queue text, id bigint);
	CREATE FUNCTION once() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF roaring64_dedup_claim('app.seen', NEW.queue, NEW.id) THEN RETURN NEW; END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER once BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION once();
	CREATE TABLE facts (who int, id bigint, done boolean NOT NULL, PRIMARY KEY (who, id));
	INSERT INTO facts SELECT i % 10, i, i % 3 = 0 FROM generate_series(1, 1000) i;
};
($out, $err) = run_as('app', $set_up);
is($err, '', 'an ordinary role makes sets, tables of delayed messages and triggers');
is($node->safe_psql('base', q{SELECT DISTINCT relowner::regrole FROM pg_class
		WHERE relnamespace = 'app'::regnamespace}),
	'app', 'and owns what they consist of');

#
# What each function needs.  As in docs/security.md: with these privileges the call
# works, with any of them missing it is refused.
#
my @needs = (
	[ q{SELECT roaring64_dedup_seen('seen', 'k', 9)},
		'SELECT ON seen', 'SELECT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_seen_many('seen', 'k', '{1,9}')},
		'SELECT ON seen', 'SELECT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_count('seen', 'k')},
		'SELECT ON seen', 'SELECT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_export('seen', 'k')},
		'SELECT ON seen', 'SELECT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_stats('seen')}, 'SELECT ON seen', 'SELECT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_claim('seen', 'k', 5)},
		'SELECT ON seen', 'SELECT, INSERT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_claim_many('seen', 'k', '{5,6}')},
		'SELECT ON seen', 'SELECT, INSERT, UPDATE ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_claim('recent', 'k', 5)},
		'SELECT ON recent', 'SELECT, INSERT ON recent_claims', 'SELECT ON recent_chunks' ],
	[ q{INSERT INTO inbox VALUES ('k', 7)},
		'INSERT ON inbox', 'SELECT ON seen', 'SELECT, INSERT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_forget('seen', 'k', 1)},
		'SELECT ON seen', 'SELECT, INSERT ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_forget_many('seen', 'k', '{1,4}')},
		'SELECT ON seen', 'SELECT, INSERT, UPDATE ON seen_claims', 'SELECT ON seen_chunks' ],
	[ q{SELECT roaring64_dedup_import('seen', 'k', '{9,5000000}')},
		'SELECT ON seen', 'SELECT, UPDATE ON seen_claims', 'SELECT, INSERT, UPDATE ON seen_chunks',
		'SELECT, INSERT, UPDATE ON seen_windows' ],
	[ q{SELECT roaring64_dedup_import('recent', 'k', '{9,5000000}')},
		'SELECT ON recent', 'SELECT, UPDATE ON recent_claims',
		'SELECT, INSERT, UPDATE, DELETE ON recent_chunks', 'SELECT, INSERT, UPDATE ON recent_windows' ],
	[ q{SELECT roaring64_dedup_alter('recent', keep => 50)}, 'SELECT, UPDATE ON recent', 'UPDATE ON recent_windows' ],
	[ q{SELECT roaring64_dedup_alter('recent', remember => '1 day')},
		'SELECT, UPDATE ON recent', 'UPDATE ON recent_windows', 'SELECT, INSERT, UPDATE, DELETE ON recent_chunks' ],
	[ q{SELECT roaring64_dedup_forget_key('recent', 'k')},
		'SELECT ON recent', 'SELECT, UPDATE, DELETE ON recent_claims', 'SELECT, DELETE ON recent_chunks',
		'SELECT, INSERT, UPDATE, DELETE ON recent_windows' ],
	[ q{SELECT roaring64_dedup_claim('folded', 'k', 5), roaring64_dedup_claim_many('folded', 'k', '{6,7}')},
		'SELECT ON folded', 'SELECT, INSERT, UPDATE, DELETE ON folded_claims', 'SELECT ON folded_chunks' ],
	[ q{SELECT roaring64_delay_count('later'), roaring64_delay_next_due('later'), roaring64_delay_stats('later')},
		'SELECT ON later' ],
	[ q{SELECT roaring64_delay_add_many('later', '{1}', '{2}', '{1970-01-01 00:00:01+00}')},
		'SELECT, INSERT, UPDATE ON later' ],
	[ q{SELECT roaring64_delay_add('later', 1, 2, '1970-01-01 00:00:01+00')}, 'SELECT, INSERT, UPDATE ON later' ],
	[ q{SELECT * FROM roaring64_delay_take('later')}, 'SELECT, UPDATE, DELETE ON later' ],
	[ q{SELECT roaring64_delay_cancel('later', 1, 1, '1970-01-01 00:00:01+00')},
		'SELECT, INSERT, UPDATE, DELETE ON later' ],
	[ q{SELECT roaring64_numbers_in_range('points', 'k', '[1,5]')}, 'SELECT ON points' ],
	[ q{SELECT roaring64_numbers_top('points', 'k', 1)}, 'SELECT ON points' ],
	[ q{SELECT roaring64_numbers_get('points', 'k', '{1}'), roaring64_numbers_sum('points', 'k'), }
		  . q{roaring64_numbers_avg('points', 'k'), roaring64_numbers_count('points', 'k'), }
		  . q{roaring64_numbers_stats('points')}, 'SELECT ON points' ],
	[ q{SELECT roaring64_numbers_lock('points', 'k')}, 'SELECT, INSERT, UPDATE, DELETE ON points' ],
	[ q{SELECT roaring64_numbers_set('points', 'k', '{1,3}', '{4,NULL}')}, 'SELECT, INSERT, UPDATE, DELETE ON points' ],
	[ q{SELECT roaring64_numbers_add('points', 'k', '{1,3}', '{4,4}')}, 'SELECT, INSERT, UPDATE, DELETE ON points' ],
	[ q{SELECT roaring64_numbers_merge('points', 'other', 'k')}, 'SELECT, INSERT, UPDATE, DELETE ON points' ],
	[ q{SELECT roaring64_dict_lookup('names', '{a}'::text[]), roaring64_dict_encode('names', '{a}'::text[])},
		'SELECT ON names' ],
	[ q{SELECT roaring64_dict_decode('names', '{1}'), roaring64_dict_stats('names')}, 'SELECT ON names' ],
	[ q{SELECT roaring64_dict_encode('names', '{b}'::text[])}, 'SELECT, INSERT ON names' ],
);

# In a transaction that is taken back.
sub with_privileges
{
	my ($call, @privileges) = @_;
	my $grants = join '', map { "GRANT $_ TO worker;" } @privileges;
	my ($out, $err) = ('', '');
	$node->psql('base',
		"SET search_path = app, ext; BEGIN; SET LOCAL ROLE app; $grants SET LOCAL ROLE worker; $call; ROLLBACK",
		stdout => \$out, stderr => \$err, on_error_stop => 1);
	return $err;
}

# One for every single privilege.
sub single
{
	return map { my ($what, $on) = split / ON /; map { "$_ ON $on" } split /, /, $what } @_;
}

for my $case (@needs)
{
	my ($call, @privileges) = @$case;
	my @single = single(@privileges);
	my @works_without;

	is(with_privileges($call, @single), '', "$call works with " . join(', ', @privileges));
	for my $missing (@single)
	{
		my $err = with_privileges($call, grep { $_ ne $missing } @single);

		push @works_without, $missing . ($err ? ": $err" : '') if $err !~ /permission denied for table/;
	}
	is("@works_without", '', '... and needs each of them');
}
# Fold commits, so it is not in a block here.  Without a privilege it says so,
# and before it has locked anything.
my @fold = ('SELECT, UPDATE (clock) ON SET', 'SELECT, DELETE ON SET_claims', 'SELECT, INSERT, UPDATE ON SET_chunks');
for my $case ([ 'seen', @fold ],
	[ 'recent', @fold, 'DELETE ON recent_chunks', 'SELECT, INSERT, UPDATE ON recent_windows' ])
{
	my ($set, @privileges) = @$case;
	my @single = single(map { s/SET/$set/r } @privileges);

	for my $missing ('', @single)
	{
		my @granted = grep { $_ ne $missing } @single;

		$node->safe_psql('base', join '', 'SET search_path = app, ext; SET ROLE app;',
			map { "GRANT $_ TO worker;" } @granted);
		($out, $err) = run_as('worker', "SET search_path = app, ext; CALL roaring64_dedup_fold('$set')");
		if ($missing) { like($err, qr/permission denied for table/, "fold of $set without $missing"); }
		else { is($err, '', "fold of $set works with @single"); }
		$node->safe_psql('base', join '', 'SET search_path = app, ext; SET ROLE app;',
			"SELECT roaring64_dedup_claim('$set', 'k', 100 + (SELECT count(*) FROM ${set}_claims)
				+ roaring64_dedup_count('$set', 'k'));",
			map { "REVOKE $_ FROM worker;" } @single);
	}
}
# One who may only read keeps nobody from claiming.
$node->safe_psql('base', q{SET search_path = app, ext; SET ROLE app;
	GRANT SELECT ON seen, seen_claims, seen_chunks, seen_windows TO worker});
for my $call ("SELECT roaring64_dedup_import('seen', 'k', '{}')", "SELECT roaring64_dedup_forget('seen', 'k', 1)",
	"SELECT roaring64_dedup_alter('seen', keep => 5)", "SELECT roaring64_dedup_drop('seen')",
	"SELECT roaring64_dedup_forget_key('seen', 'k')",
	"CALL roaring64_dedup_fold('seen')", "SELECT roaring64_dedup_claim('seen', 'k', 555)")
{
	($out, $err) = run_as('worker', "SET search_path = app, ext; $call");
	like($err, qr/permission denied|must be owner/, "$call is refused to one who may read");
}
$node->safe_psql('base', q{SET search_path = app, ext; SET ROLE app;
	REVOKE SELECT ON seen, seen_claims, seen_chunks, seen_windows FROM worker});
for my $call ("SELECT roaring64_dedup_drop('seen')",
	"CALL roaring64_rollup_create('facts', 'sets', '{who}', 'id', '{\"all\": true, \"done\": \"done\"}')")
{
	($out, $err) = run_as('worker', "SET search_path = app, ext; $call");
	like($err, qr/permission denied|must be owner/, "$call is for the owner");
}

#
# A hostile search_path
#
$node->safe_psql('base', q{
	CREATE SCHEMA evil;
	CREATE FUNCTION evil.refuse(what text DEFAULT 'something') RETURNS boolean LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'hostile % was used', what; END $$;

	DO $do$
	DECLARE
		p record;
		planted int := 0;
	BEGIN
		SET LOCAL search_path = pg_catalog;
		-- built in, or ours, with the same name and arguments
		FOR p IN SELECT oid, proname, pg_get_function_identity_arguments(oid) AS arguments,
				pg_get_function_result(oid) AS result
			FROM pg_proc WHERE pronamespace IN ('pg_catalog'::regnamespace, 'ext'::regnamespace)
				AND prokind IN ('f', 'a')
		LOOP
			BEGIN
				EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', p.proname, p.arguments,
					coalesce(p.result, 'boolean'),
					format('BEGIN PERFORM evil.refuse(%L); END', 'function ' || p.oid::regprocedure));
				planted := planted + 1;
			EXCEPTION WHEN OTHERS THEN
				NULL;	-- arguments that only the server makes
			END;
		END LOOP;
		FOR p IN SELECT oid, oprname, format_type(nullif(oprleft, 0), NULL) AS l,
				format_type(nullif(oprright, 0), NULL) AS r
			FROM pg_operator WHERE oprnamespace IN ('pg_catalog'::regnamespace, 'ext'::regnamespace)
		LOOP
			BEGIN
				EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS boolean LANGUAGE plpgsql AS %L',
					'operator_' || p.oid, concat_ws(', ', p.l, p.r),
					format('BEGIN RETURN evil.refuse(%L); END', 'operator ' || p.oid::regoperator));
				EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.%I%s%s)', p.oprname, 'operator_' || p.oid,
					', LEFTARG = ' || p.l, ', RIGHTARG = ' || p.r);
				planted := planted + 1;
			EXCEPTION WHEN OTHERS THEN
				NULL;
			END;
		END LOOP;
		-- pseudotypes too, such as record
		FOR p IN SELECT typname, CASE typtype WHEN 'p' THEN 'integer' ELSE format_type(oid, NULL) END AS type
			FROM pg_type
			WHERE typnamespace IN ('pg_catalog'::regnamespace, 'ext'::regnamespace)
				AND typtype IN ('b', 'r', 'm', 'p') AND typelem = 0
		LOOP
			BEGIN
				EXECUTE format('CREATE DOMAIN evil.%I AS %s CHECK (evil.refuse(%L))',
					p.typname, p.type, 'type ' || p.typname);
				planted := planted + 1;
			EXCEPTION WHEN OTHERS THEN
				NULL;
			END;
		END LOOP;
		FOR p IN SELECT relname, string_agg(quote_ident(attname), ', ') AS columns
			FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
			WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')
				AND attnum > 0 AND atttypid NOT IN ('anyarray'::regtype, 'pg_statistic[]'::regtype)
			GROUP BY relname
		LOOP
			EXECUTE format('CREATE VIEW evil.%I AS SELECT %s FROM pg_catalog.%1$I WHERE evil.refuse(%3$L)',
				p.relname, p.columns, 'table ' || p.relname);
			planted := planted + 1;
		END LOOP;
		-- names that the statements of the helpers use themselves
		FOR p IN SELECT name FROM unnest('{t,m,r,g,c,e,f,u,k,w,s,n,o,given,claimed,locked,taken,numbered,placed,
			written,gone,batch,next,merged,touched,now,done,new_rows,old_rows,seen,seen_claims,seen_chunks,facts,inbox,
			later,points,amounts,slices,old,new,parts,sums,sets_facts}'::text[]) AS n (name)
		LOOP
			EXECUTE format('CREATE VIEW evil.%I AS SELECT 1 AS id WHERE evil.refuse(%L)', p.name, 'table ' || p.name);
		END LOOP;
		IF planted < 3000 THEN
			RAISE EXCEPTION 'only % objects were planted', planted;
		END IF;
	END $do$;
	GRANT USAGE ON SCHEMA evil TO PUBLIC;
	GRANT SELECT ON ALL TABLES IN SCHEMA evil TO PUBLIC;
});

# The traps are set: what is not qualified falls into them.
my $path = 'SET search_path = evil, pg_catalog;';
for my $bait ('SELECT 1 OPERATOR(evil.=) 1', 'SELECT 1 = 1', "SELECT 'a'::text = 'a'::text",
	'SELECT count(*) FROM pg_catalog.pg_am',
	'SELECT sum(1)', q{SELECT now()}, 'SELECT 1 FROM pg_class', q{SELECT 'a'::text || 'b'}, q{SELECT '{1}'::roaring64},
	q{SELECT NULLIF('a'::pg_catalog.text, 'b')}, q{SELECT CASE 1::pg_catalog.oid WHEN 0 THEN 1 END},
	q{SELECT '{1}'::ext.roaring64 | '{2}'::ext.roaring64}, q{SELECT roaring64_min('{1}'::ext.roaring64)})
{
	($out, $err) = run_as('app', "$path $bait");
	like($err, qr/hostile .* was used|is not an aggregate function/, "trap: $bait");
}

# All statements name what they mean themselves.
my @calls = (
	q{SELECT ext.roaring64_dedup_create('app.a', keep => 100);
	  SELECT ext.roaring64_dedup_create('app.b', remember => '1 hour');
	  SELECT ext.roaring64_dedup_create('app.c');
	  SELECT ext.roaring64_dedup_create('app.d', id_type => 'uuid', keep => 100)},
	(map { my $set = $_; map { s/SET/$set/gr }
		q{SELECT ext.roaring64_dedup_claim('app.SET', 'k', 1), ext.roaring64_dedup_claim('app.SET', 'k', 1)},
		q{SELECT ext.roaring64_dedup_claim_many('app.SET', 'k', '{1,2,3}'),
		  ext.roaring64_dedup_claim_many('app.SET', 'k', '{2,3,4}')},
		q{SELECT ext.roaring64_dedup_import('app.SET', 'k', '{4,5,6,7}'), ext.roaring64_dedup_seen('app.SET', 'k', 5)},
		q{SELECT ext.roaring64_dedup_seen_many('app.SET', 'k', '{1,99}'), ext.roaring64_dedup_count('app.SET', 'k')},
		q{SELECT ext.roaring64_dedup_export('app.SET', 'k'); SELECT * FROM ext.roaring64_dedup_stats('app.SET')},
		q{CALL ext.roaring64_dedup_fold('app.SET')},
		q{SELECT ext.roaring64_dedup_forget('app.SET', 'k', 1),
		  ext.roaring64_dedup_forget_many('app.SET', 'k', '{1,2,3}')},
		q{SELECT ext.roaring64_dedup_import('app.SET', 'k', '{1,2,3,100,101}')},
		q{BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT ext.roaring64_dedup_claim('app.SET', 'k', 50),
		  ext.roaring64_dedup_claim_many('app.SET', 'k', '{51,52}'); COMMIT},
		q{SELECT ext.roaring64_dedup_alter('app.SET', remember => '1 day'); CALL ext.roaring64_dedup_fold('app.SET')},
		# the clock goes by an eighth of the window at a time
		(map { q{UPDATE app.SET set clock_read = 'epoch'; CALL ext.roaring64_dedup_fold('app.SET')} } 1 .. 2),
	} 'a', 'b'),
	q{SELECT ext.roaring64_dedup_claim_many('app.d', 'k',
	  '{00000000-0000-0000-0000-000000000001,10000000-0000-0000-0000-000000000000}');
	  CALL ext.roaring64_dedup_fold('app.d')},
	q{SELECT ext.roaring64_dedup_forget('app.d', 'k', '00000000-0000-0000-0000-000000000001'),
	  ext.roaring64_dedup_forget_key('app.d', 'j'),
	  ext.roaring64_dedup_export_uuids('app.d', 'k'), ext.roaring64_dedup_count('app.d', 'k')},
	q{CALL ext.roaring64_dedup_fold('app.d'); SELECT * FROM ext.roaring64_dedup_stats('app.d')},
	q{SELECT ext.roaring64_dedup_claim_many('app.c', 'k', '{1,2,3}'); CALL ext.roaring64_dedup_fold('app.c')},
	q{ALTER TABLE app.c_claims ENABLE ROW LEVEL SECURITY; ALTER TABLE app.c_claims FORCE ROW LEVEL SECURITY;
	  CREATE POLICY all_rows ON app.c_claims USING (true);
	  SELECT ext.roaring64_dedup_claim('app.c', 'k', 80), ext.roaring64_dedup_seen('app.c', 'k', 80)},
	q{CREATE TABLE app.mail (queue pg_catalog.text, id bigint);
	  CREATE FUNCTION app.once_too() RETURNS pg_catalog.trigger LANGUAGE plpgsql AS $$
	  BEGIN IF ext.roaring64_dedup_claim('app.c', NEW.queue, NEW.id) THEN RETURN NEW; END IF; RETURN NULL; END $$;
	  CREATE TRIGGER once BEFORE INSERT ON app.mail FOR EACH ROW EXECUTE FUNCTION app.once_too();
	  INSERT INTO app.mail VALUES ('x', 1), ('x', 2), ('x', 1)},
	q{SELECT ext.roaring64_dedup_drop('app.a'), ext.roaring64_dedup_drop('app.b')},

	q{SELECT ext.roaring64_delay_create('app.wait')},
	q{SELECT ext.roaring64_delay_add('app.wait', 1, 1, '1970-01-01 00:00:01+00'),
	  ext.roaring64_delay_add('app.wait', 1, 1, '1970-01-01 00:00:01+00'),
	  ext.roaring64_delay_add('app.wait', 1, 2, '1970-01-01 00:00:01+00'),
	  ext.roaring64_delay_add('app.wait', 2, 2, '2026-01-01 00:00:00+00')},
	q{SELECT ext.roaring64_delay_add_many('app.wait', '{3,3,4}', '{1,2,3}',
		'{1970-01-01 00:00:05+00,1970-01-01 00:00:05+00,1970-01-01 00:00:09+00}'),
	  ext.roaring64_delay_add_many('app.wait', '{3,3,4}', '{1,2,3}',
		'{1970-01-01 00:00:05+00,1970-01-01 00:00:05+00,1970-01-01 00:00:09+00}')},
	q{SELECT ext.roaring64_delay_next_due('app.wait'), ext.roaring64_delay_count('app.wait'),
	  ext.roaring64_delay_count('app.wait', '1970-01-01 00:00:06+00')},
	q{SELECT ext.roaring64_delay_cancel('app.wait', 1, 2, '1970-01-01 00:00:01+00'),
	  ext.roaring64_delay_cancel('app.wait', 4, 3, '1970-01-01 00:00:09+00')},
	q{SELECT * FROM ext.roaring64_delay_take('app.wait', '1970-01-01 00:00:06+00', 2);
	  SELECT * FROM ext.roaring64_delay_take('app.wait', 'infinity')},
	q{SELECT ext.roaring64_delay_stats('app.wait'), ext.roaring64_delay_drop('app.wait')},

	q{SELECT ext.roaring64_dict_create('app.words', 'pg_catalog.text'),
	  ext.roaring64_dict_create('app.keys', 'pg_catalog.uuid')},
	q{SELECT ext.roaring64_dict_encode('app.words', '{b,a,b}'::pg_catalog._text),
	  ext.roaring64_dict_lookup('app.words', '{a,c}'::pg_catalog._text),
	  ext.roaring64_dict_encode('app.keys',
		'{00000000-0000-0000-0000-00000000000b,00000000-0000-0000-0000-00000000000a}'::pg_catalog._uuid)},
	q{SELECT * FROM ext.roaring64_dict_decode('app.words', '{1,2}');
	  SELECT * FROM ext.roaring64_dict_decode('app.keys', '{1,2}');
	  SELECT * FROM ext.roaring64_dict_stats('app.words')},
	q{SELECT ext.roaring64_dict_drop('app.words'), ext.roaring64_dict_drop('app.keys')},

	q{SELECT ext.roaring64_numbers_create('app.score')},
	q{SELECT ext.roaring64_numbers_set('app.score', '1', '{1,2,3,4}', '{5,-3,0,9}'),
	  ext.roaring64_numbers_add('app.score', '1', '{1,2,2,7}', '{1,1,1,1}')},
	q{SELECT ext.roaring64_numbers_lock('app.score', '1', '2'),
	  ext.roaring64_numbers_merge('app.score', '2', '1'), ext.roaring64_numbers_merge('app.score', '2', '1')},
	q{SELECT ext.roaring64_numbers_in_range('app.score', '2', '[-2,12]'),
	  ext.roaring64_numbers_top('app.score', '2', 2), ext.roaring64_numbers_top('app.score', '2', 1, '{2,3}', true)},
	q{SELECT ext.roaring64_numbers_get('app.score', '2', '{1,9}'),
	  ext.roaring64_numbers_sum('app.score', '2', '{1,2}'), ext.roaring64_numbers_avg('app.score', '2'),
	  ext.roaring64_numbers_count('app.score', '2', '{1}')},
	q{SELECT kind, name, waiting FROM ext.roaring64_helpers()},
	q{SELECT ext.roaring64_numbers_stats('app.score'),
	  ext.roaring64_numbers_drop(ext.roaring64_numbers_create('app.none'))},

	q{GRANT SELECT, INSERT, UPDATE, DELETE ON app.facts TO worker; GRANT SELECT ON app.facts TO PUBLIC},
	q{CALL ext.roaring64_rollup_create('app.facts', 'app.sets', '{who}', 'id', '{"all": true, "done": "done"}')},
	q{INSERT INTO app.facts VALUES (3, 5000, true), (77, 1, false); UPDATE app.facts SET done = true;
	  DELETE FROM app.facts WHERE id OPERATOR(pg_catalog.<) 20},
	q{CALL ext.roaring64_rollup_fold('app.sets')},
	q{SELECT * FROM ext.roaring64_rollup_verify('app.sets')},
	q{SELECT ext.roaring64_rollup_detach('app.sets')},
	q{CREATE TABLE app.dated (who int, id bigint, at pg_catalog.timestamptz NOT NULL, done boolean NOT NULL,
		PRIMARY KEY (who, id, at));
	  INSERT INTO app.dated VALUES (1, 1, '2026-01-05', true), (1, 2, '2026-02-05', false),
		(2, 2, '2026-02-05', false)},
	q{CALL ext.roaring64_rollup_create('app.dated', 'app.months', '{who}', 'id',
		'{"all": true, "done": "done IS TRUE"}', period_column => 'at')},
	q{INSERT INTO app.dated VALUES (5, 5, '2031-01-01', true); UPDATE app.dated SET done = NOT done;
	  SELECT * FROM ext.roaring64_rollup_verify('app.months')},
	q{DELETE FROM app.dated; SELECT * FROM ext.roaring64_rollup_verify('app.months')},
	q{SELECT ext.roaring64_rollup_drop('app.months')},
	q{CALL ext.roaring64_rollup_create('app.dated', 'app.day_sets', '{who}', 'id', '{"all": true}',
		period_column => 'at', period => 'day', deletes => 'keep')},
	q{INSERT INTO app.dated VALUES (6, 6, '2031-01-02', true); UPDATE app.dated SET done = NOT done;
	  SELECT * FROM app.day_sets_now},
	q{CALL ext.roaring64_rollup_fold('app.day_sets')},
	q{SELECT * FROM ext.roaring64_rollup_verify('app.day_sets');
	  SELECT * FROM ext.roaring64_facets('app.day_sets', 'all', '{6}')},
	q{SELECT ext.roaring64_rollup_drop('app.day_sets')},

	# nothing of the type itself looks for names
	q{CREATE TABLE app.s (k int, s ext.roaring64);
	  INSERT INTO app.s SELECT g, '{1,2,3}'::ext.roaring64 OPERATOR(ext.|) g::bigint
	  FROM pg_catalog.generate_series(1, 300) g;
	  CREATE INDEX ON app.s USING gin (s); CREATE INDEX ON app.s (s); CREATE INDEX ON app.s USING hash (s);
	  ANALYZE app.s; SET enable_seqscan = off; SELECT pg_catalog.count(*) FROM app.s WHERE s OPERATOR(ext.@>) 7::bigint;
	  SELECT ext.roaring64_or_agg(s) FROM app.s GROUP BY s;
	  SELECT x.k FROM app.s x, app.s y WHERE y.k::bigint OPERATOR(ext.<@) x.s LIMIT 1},
);
for my $call (@calls)
{
	($out, $err) = run_as('app', "SET client_min_messages = warning; $path $call");
	is($err, '', "not led astray: " . ($call =~ s/\s+/ /gr));
}
# what was done under it is what should have been done
is($node->safe_psql('base', q{SET search_path = app, ext;
	SELECT roaring64_dedup_export('c', 'k'), roaring64_dedup_export('c', 'x'), (SELECT count(*) FROM mail),
		(SELECT count(*) FROM facts), (SELECT sum(roaring64_cardinality("all")) FROM sets),
		(SELECT sum(weight * roaring64_cardinality(ids)) FROM score)}),
	'{1,2,3,80}|{1,2}|2|982|982|45', 'and did the right thing');

# the writers of others, with the traps in their way
($out, $err) = run_as('worker', "$path INSERT INTO app.facts VALUES (9, 9000, true)");
is($err, '', 'one who was granted it still writes');

# The triggers leave search_path as it is, unless what is not built in may use it.
$node->safe_psql('base', q{SET search_path = app, ext; SET ROLE app;
	CREATE FUNCTION is_done(boolean) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 AND 1 = 1; END';
	GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON dated TO worker;
	CALL roaring64_rollup_create('dated', 'day_sets', '{who}', 'id', '{"all": true}',
		period_column => 'at', period => 'day');
	CALL roaring64_rollup_create('dated', 'done_sets', '{who}', 'id', '{"done": "is_done(done)"}')});
is($node->safe_psql('base', q{SELECT proname FROM pg_proc
		WHERE proname IN ('day_sets_insert', 'done_sets_insert') AND proconfig IS NULL}),
	'day_sets_insert', 'only a condition that is not built in has its search_path set');
is($node->safe_psql('base', q{SELECT count(*) FROM pg_proc
		WHERE prosecdef AND proname ~ '^(day|done)_sets_|^_?roaring64_rollup'}),
	'0', 'no function runs as its owner');
($out, $err) = run_as('worker',
	"$path INSERT INTO app.dated VALUES (7, 7, '2031-01-03', true), (7, 8, '2031-01-03', false); "
	  . 'UPDATE app.dated SET done = true WHERE id OPERATOR(pg_catalog.=) 8');
is($err, '', 'a worker writes');
($out, $err) = run_as('worker', "$path TRUNCATE app.dated");
like($err, qr/cannot truncate app\.dated, because/, 'it is not truncated');
is($node->safe_psql('base', q{SET search_path = app, ext;
	SELECT (SELECT array_agg(who || ':' || "all"::text) FROM day_sets_now WHERE who = 7),
		(SELECT done FROM done_sets_now WHERE who = 7)}),
	'{"7:{7,8}"}|{7,8}', 'and all of it is there');
# what a writer may do to what is pending changes nothing, and it may do no more
($out, $err) = run_as('worker',
	"$path INSERT INTO app.day_sets_pending VALUES (8, '2031-01-03', 8), (7, '2031-01-03', 99)");
is($err, '', 'a worker forges pending rows');
for my $attack ('SELECT * FROM app.day_sets_pending', 'DELETE FROM app.day_sets_pending',
	'UPDATE app.day_sets SET "all" = NULL',
	"UPDATE app.day_sets_rollup SET given = '{}'", 'SELECT * FROM app.day_sets_rows', 'SELECT * FROM app.day_sets_now',
	"SELECT app.day_sets_fold('(0,0)', '(9,0)')", 'SELECT app.day_sets_copy()', 'TRUNCATE app.day_sets_pending')
{
	($out, $err) = run_as('worker', "$path $attack");
	like($err, qr/permission denied/, "refused: $attack");
}
for my $attack ("CALL ext.roaring64_rollup_fold('app.day_sets')", "SELECT ext.roaring64_rollup_detach('app.day_sets')",
	"SELECT ext.roaring64_rollup_drop('app.day_sets')")
{
	($out, $err) = run_as('worker', $attack);
	like($err, qr/must be owner|permission denied/, "refused: $attack");
}
is($node->safe_psql('base', q{SET search_path = app, ext; CALL roaring64_rollup_fold('day_sets');
	SELECT (SELECT array_agg(who || ':' || "all"::text) FROM day_sets WHERE who >= 7),
		(SELECT count(*) FROM roaring64_rollup_verify('day_sets'))}),
	'{"7:{7,8}"}|0', 'what was forged is in no set');

#
# Whoever may create in the schema of a rollup, or owns something that its triggers meet,
# does not get the owner's rights: what she makes runs as herself.
#
$node->safe_psql('base', q{
	CREATE ROLE keeper; CREATE ROLE mallory LOGIN;
	GRANT USAGE ON SCHEMA ext TO keeper, mallory;
	GRANT CREATE ON DATABASE base TO mallory;
	CREATE SCHEMA shared;
	GRANT ALL ON SCHEMA shared TO keeper, mallory;
	SET search_path = shared, ext;
	SET ROLE keeper;
	CREATE TABLE secret AS SELECT 'the secret'::text AS s;
	SET ROLE mallory;
	CREATE FUNCTION read_it() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		RAISE 'evil runs as %: %', current_user, (SELECT s FROM shared.secret); END $$;
	CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); RETURN NEW; END $$;
	CREATE TYPE key AS ENUM ('x');
	CREATE FUNCTION to_int(key) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); RETURN 1; END $$;
	CREATE CAST (key AS int) WITH FUNCTION to_int(key) AS ASSIGNMENT});

# A schema with rollups of keeper's, whatever was done to those before.
sub rollups
{
	my ($schema, $then) = @_;

	$node->safe_psql('base', "CREATE SCHEMA $schema; GRANT ALL ON SCHEMA $schema TO keeper, mallory;
		SET search_path = $schema, ext; SET ROLE keeper;" . q{
		SET client_min_messages = warning;
		CREATE TABLE visit (site int NOT NULL, id bigint NOT NULL, PRIMARY KEY (site, id));
		CREATE TABLE event (site int NOT NULL, id bigint NOT NULL) PARTITION BY RANGE (id);
		CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM (0) TO (1000);
		CALL roaring64_rollup_create('visit', 'sets', '{site}', 'id', '{"ids": true}');
		GRANT INSERT ON visit, event, event_1 TO mallory;
		CALL roaring64_rollup_create('visit', 'later', '{site}', 'id', '{"ids": true}', deletes => 'keep');
		CALL roaring64_rollup_create('event', 'events', '{site}', 'id', '{"ids": true}', deletes => 'keep');
		GRANT INSERT ON sets_pending TO mallory;
		INSERT INTO visit VALUES (1, 1);
		INSERT INTO event VALUES (1, 1);
	} . "RESET ROLE; $then");
	return;
}
my $number = 0;
for my $case (
	# what was done, what mallory makes, what is called then, and what comes of it: her code, as
	# herself, may not read the secret
	[ 'a renamed target', 'ALTER TABLE sets RENAME TO sets_2025',
		q{CREATE TABLE sets (site int PRIMARY KEY, ids roaring64 DEFAULT '{}'); GRANT ALL ON sets TO PUBLIC;
		  CREATE TRIGGER evil BEFORE INSERT ON sets FOR EACH ROW EXECUTE FUNCTION shared.evil()},
		'INSERT INTO visit VALUES (1, 2)', qr/^$/ ],
	[ 'what was pending', 'ALTER TABLE later_pending RENAME TO old_pending',
		q{CREATE TABLE later_pending (k1 int DEFAULT shared.to_int('x'), c1 boolean, id bigint,
			x text DEFAULT shared.read_it());
		  GRANT ALL ON later_pending TO PUBLIC},
		'INSERT INTO visit VALUES (1, 2)', qr/permission denied for table secret/ ],
	[ 'the function of facts', 'DROP FUNCTION events_facts(events_row)',
		q{CREATE FUNCTION events_facts(events_row) RETURNS TABLE (k1 int, i bigint, id bigint, c1 boolean)
		  LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); END $$},
		'INSERT INTO event VALUES (1, 2)', qr/permission denied for table secret/ ],
	[ 'the type of a row', 'ALTER DOMAIN events_row RENAME TO old_row',
		q{CREATE DOMAIN events_row AS event;
		  CREATE FUNCTION events_facts(events_row) RETURNS TABLE (k1 int, i bigint, id bigint, c1 boolean)
			LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); END $$},
		'INSERT INTO event VALUES (1, 2)', qr/permission denied for table secret/ ],
	[ 'a renamed partitioned source', 'ALTER TABLE event RENAME TO event_2025',
		q{CREATE TABLE event (site int NOT NULL, id bigint NOT NULL);
		  CREATE FUNCTION to_mine(event_1) RETURNS event LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); END $$;
		  CREATE CAST (event_1 AS event) WITH FUNCTION to_mine(event_1);
		  CREATE FUNCTION to_theirs(event) RETURNS event_2025
			LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); END $$;
		  CREATE CAST (event AS event_2025) WITH FUNCTION to_theirs(event)},
		'INSERT INTO event_2025 VALUES (1, 2)', qr/permission denied for table secret/ ],
	[ 'a partition', 'ALTER TABLE event_1 OWNER TO mallory',
		q{CREATE FUNCTION to_whole(event_1) RETURNS event LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); END $$;
		  CREATE CAST (event_1 AS event) WITH FUNCTION to_whole(event_1)},
		'INSERT INTO event_1 VALUES (1, 2)', qr/permission denied for table secret/ ],
	[ 'a partition that came',
		'SET ROLE mallory; CREATE TABLE event_2 (site int NOT NULL, id bigint NOT NULL);
		INSERT INTO event_2 VALUES (1, 1001); GRANT ALL ON event_2 TO keeper;
		CREATE POLICY evil ON event_2 USING (shared.read_it() IS NULL);
		ALTER TABLE event_2 ENABLE ROW LEVEL SECURITY; RESET ROLE;
		ALTER TABLE event ATTACH PARTITION event_2 FOR VALUES FROM (1000) TO (2000)', '',
		"CALL roaring64_rollup_fold('events')",
		qr/query would be affected by row-level security policy for table "event_2"/ ],
	# the schema belongs to a superuser, and mallory makes another one of its name
	[ 'a renamed schema', 'ALTER SCHEMA HERE RENAME TO HERE_v2',
		q{CREATE SCHEMA HERE; GRANT USAGE ON SCHEMA HERE TO PUBLIC;
		  CREATE TABLE HERE.events_pending (k1 int, c1 boolean, id bigint); GRANT ALL ON HERE.events_pending TO PUBLIC;
		  CREATE TABLE HERE.event (site int, id bigint); CREATE DOMAIN HERE.events_row AS HERE_v2.event;
		  CREATE FUNCTION HERE.events_facts(HERE.events_row) RETURNS TABLE (k1 int, i bigint, id bigint, c1 boolean)
			LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); END $$;
		  CREATE TABLE HERE.later_pending (k1 int, c1 boolean, id bigint); GRANT ALL ON HERE.later_pending TO PUBLIC;
		  CREATE DOMAIN HERE.later_row AS HERE_v2.visit;
		  CREATE FUNCTION HERE.later_facts(HERE.later_row) RETURNS TABLE (k1 int, i bigint, id bigint, c1 boolean)
			LANGUAGE plpgsql AS $$ BEGIN PERFORM shared.read_it(); END $$;
		  CREATE TABLE HERE.sets (site int PRIMARY KEY, ids roaring64)},
		q{INSERT INTO HERE_v2.visit VALUES (1, 2)}, qr/permission denied for table secret/ ],
	# as a restore without privileges leaves it
	[ 'a table of her own', 'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA HERE TO PUBLIC',
		q{CREATE TABLE mine (site shared.key, id bigint);
		  CREATE TRIGGER x AFTER INSERT ON mine REFERENCING NEW TABLE AS roaring64_new
			FOR EACH STATEMENT EXECUTE FUNCTION later_insert()},
		q{INSERT INTO mine VALUES ('x', 666)}, qr/permission denied for table secret/ ],
	[ 'a temporary table of her own', 'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA HERE TO PUBLIC', '',
		q{CREATE TEMP TABLE mine (site shared.key, id bigint);
		  CREATE TRIGGER x AFTER INSERT ON mine REFERENCING NEW TABLE AS roaring64_new
			FOR EACH STATEMENT EXECUTE FUNCTION later_insert();
		  INSERT INTO mine VALUES ('x', 666)}, qr/permission denied for table secret/ ],
	[ 'a trigger without transition tables',
		'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA HERE TO PUBLIC; GRANT INSERT, TRIGGER ON visit TO mallory', '',
		q{CREATE TEMP VIEW roaring64_new AS SELECT 1 AS site, length(shared.read_it())::bigint AS id;
		  GRANT SELECT ON roaring64_new TO PUBLIC;
		  CREATE TRIGGER x AFTER INSERT ON visit FOR EACH STATEMENT EXECUTE FUNCTION later_insert();
		  INSERT INTO visit VALUES (9, 9)}, qr/permission denied for table secret/ ])
{
	my ($what, $done, $made, $call, $outcome) = map { my $here = 'rollups_' . $number; s/HERE/$here/gr } @$case;
	my $schema = 'rollups_' . $number++;
	my $caller = $call =~ /^CALL/ ? 'keeper' : 'mallory';

	rollups($schema, "$done;");
	(undef, $err) = run_as('mallory', "SET search_path = $schema, ext; $made");
	is($err, '', "mallory makes what she can of $what");
	$err = '';
	$node->psql('base', "SET search_path = $schema, ext; SET SESSION AUTHORIZATION $caller; $call",
		stderr => \$err, on_error_stop => 1);
	like($err, $outcome, '... it does nothing, or runs as herself');
	my $all = $err;
	for my $role ('keeper', 'postgres')
	{
		$err = '';
		$node->psql('base', "SET search_path = $schema, ext; SET SESSION AUTHORIZATION $role;" . join(' ', map {
			"CALL roaring64_rollup_fold('$_');
			SELECT * FROM roaring64_rollup_verify('$_');" } 'sets', 'later', 'events')
			. ($role eq 'postgres'
				? join ' ', map { "SELECT roaring64_rollup_drop('$_');" } 'sets', 'later', 'events'
				: ''),
			stderr => \$err, on_error_stop => 0);
		$all .= $err;
	}
	unlike($all, qr/evil runs/, '... and as nobody else, whoever folds, verifies and drops');
}

# A view or a table of the state's name, for one who calls: nothing is read
$node->safe_psql('base', q{SET search_path = shared, ext;
	CREATE TABLE orders (site int NOT NULL, id bigint NOT NULL, PRIMARY KEY (site, id));
	SET ROLE mallory;
	CREATE VIEW buyers_rollup AS SELECT shared.read_it() AS state;
	CREATE VIEW orders_rollup AS SELECT shared.read_it() AS state;
	CREATE TABLE sellers_rollup (state text);
	CREATE FUNCTION buyers_insert() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
	CREATE FUNCTION orders_insert() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
	CREATE FUNCTION sellers_insert() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'});
for my $case (
	[ "CALL roaring64_rollup_create('orders', 'buyers', '{site}', 'id', '{\"ids\": true}')",
		qr/relation "buyers_rollup" already exists/ ],
	[ "SELECT roaring64_rollup_stats('orders')", qr/"shared\.orders" is not a rollup/ ],
	[ "CALL roaring64_rollup_create('orders', 'sellers', '{site}', 'id', '{\"ids\": true}')",
		qr/relation "sellers_rollup" already exists/ ])
{
	my ($call, $refused) = @$case;

	$err = '';
	$node->psql('base', "SET search_path = shared, ext; $call", stderr => \$err);
	like($err, qr/ERROR:  $refused/, "$call does not execute what is there");
}
rollups('mixed', 'ALTER TABLE later_pending OWNER TO mallory');
for my $call ("SELECT roaring64_rollup_stats('later')", "CALL roaring64_rollup_fold('later')",
	"SELECT * FROM roaring64_rollup_verify('later')", "SELECT roaring64_rollup_detach('later')")
{
	$err = '';
	$node->psql('base', "SET search_path = mixed, ext; $call", stderr => \$err);
	like($err, qr/ERROR:  later_pending belongs to mallory, and mixed.later to keeper/,
		"$call is for tables of one owner");
}
rollups('again', '');
# A condition ends with no session
($out, $err) = run_as('keeper', q{SET search_path = again, ext;
	CREATE FUNCTION pg_temp.big(bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $1 > 5';
	CALL roaring64_rollup_create('visit', 'brief', '{site}', 'id', '{"ids": "pg_temp.big(id)"}')});
like($err, qr/set ids cannot have the condition pg_temp\.big\(id\): pg_temp_\d+\.big\(bigint\) ends with this session/,
	'a condition uses nothing temporary');

# The owner's role, which a step takes, ends with it
is($node->safe_psql('base', q{DO $$ BEGIN CALL ext.roaring64_rollup_fold('again.sets');
		ASSERT current_user = session_user; END $$}),
	'', 'fold gives back the role');

$node->stop;
done_testing();
