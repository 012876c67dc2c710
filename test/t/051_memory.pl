# 051_memory.pl
#	  A backend's memory stays as it is however often a function is called.
#
# For each family of functions one query makes many calls, with new arguments
# each time.  When a tenth of its rows is done and again at the last row it
# asks the operating system how much memory the process has for itself, and
# the server how much its memory contexts have.  The second shows small leaks
# soon, but not what a library gets from malloc.  The answers at the first row
# are not used: what asking takes is then part of both others.
#
# Of the helpers that keep state, those that change the same row again and
# again are left out, as the server itself notes each change until the
# transaction ends.
#
# There are 200,000 calls in all by default (test/perl/Effort.pm); with
# 10,000,000 a leak of one or two bytes per call is seen.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Effort;
use PostgreSQL::Test::Utils;
use Server;
use Test::More;

plan skip_all => 'there is no /proc' unless -r '/proc/self/statm';

my $calls = effort(200_000);

# How much more is no leak: blocks that are kept, malloc's own affairs.
my $context_slack = 64 * 1024;
my $process_slack = 256 * 1024;

# One call or more for each row of sets (a, b), with i to make it another one
# each time; t has a and b in compressed and in external storage.
my %families = (
	'text' => q{length((a | i)::text), ('{' || i || ',1,2}')::roaring64 IS NULL},
	'bytes' => q{roaring64_invalid_reason((a | i)::bytea), (b | i)::bytea::roaring64 IS NULL,
		length(roaring64_send(a | i))},
	'arrays' => q{cardinality((a | i)::bigint[]), ARRAY[i, 1, -i]::roaring64 IS NULL,
		ARRAY[1, 2, i::integer]::roaring64 IS NULL},
	'ranges' => q{int8range(i, i + 1000)::roaring64 IS NULL,
		isempty((int8multirange(int8range(i, i + 10))::roaring64)::int8multirange)},
	'comparisons' => q{a = b, a | i < b, roaring64_cmp(a - i, b), roaring64_hash(a | i),
		roaring64_hash_extended(b, i)},
	'set operators' => q{(a | i) & b IS NULL, a - (b | i) IS NULL, (a # i) | b IS NULL, i | a IS NULL},
	'range operators' => q{a | int8range(i, i + 7) IS NULL, a & int8range(i, i + 7000) IS NULL,
		b - int8range(i, i + 70) IS NULL, a # int8range(1, i) IS NULL},
	'tests' => q{a @> i, i <@ b, a @> (b | i), a <@ b, a && b, a @> int8range(i, i + 3),
		b && int8range(i, i + 3)},
	'counts' => q{roaring64_cardinality(a | i), roaring64_cardinality(a, int8range(1, i)),
		roaring64_and_cardinality(a, b | i), roaring64_or_cardinality(a, b),
		roaring64_xor_cardinality(a, b), roaring64_andnot_cardinality(a, b),
		roaring64_jaccard(a, b), roaring64_is_empty(a), roaring64_or_cardinality(a, b, a | i)},
	'order' => q{roaring64_min(a | i), roaring64_max(a | i), roaring64_rank(a, i),
		roaring64_select(a, i), roaring64_next(b, i), roaring64_prev(b, i), roaring64_next_absent(a, i)},
	'parts' => q{roaring64_slice(a, i % 50, 10) IS NULL, cardinality(roaring64_first(b, 5, i)),
		cardinality(roaring64_last(b, 5, i)), roaring64_shift(a, i) IS NULL,
		roaring64_sample(a, 5, i) IS NULL},
	'bulk' => q{roaring64_add(a, ARRAY[i, i + 9]) IS NULL, roaring64_remove(b, ARRAY[i, 3]) IS NULL,
		roaring64_contains_each(a, ARRAY[i, 2]) IS NULL},
	'ids' => q{roaring64_snowflake_pack(i), roaring64_snowflake_unpack(i)},
	'rows' => q{(SELECT count(*) FROM roaring64_elements(a & int8range(i, i + 99)) e),
		(SELECT count(*) FROM roaring64_ranges(b & int8range(i, i + 99)) e),
		(SELECT count(*) FROM roaring64_split(a | i, 16) e),
		(SELECT count(*) FROM roaring64_histogram(a | i, 3) e),
		(SELECT cardinality FROM roaring64_stats(a | i) e)},
	'rows left early' => q{(SELECT roaring64_elements(a | i) LIMIT 1),
		(SELECT roaring64_ranges(a | i) LIMIT 1)},
	'lookups' => q{(SELECT count(*) FROM ids WHERE id <@ (a & int8range(i, i + 99))),
		(SELECT count(*) FROM ids WHERE id <@ (a | i)), (SELECT id FROM ids WHERE id <@ (a | i) LIMIT 1) IS NULL},
	'aggregates' => q{(SELECT roaring64_agg(e * i) FROM generate_series(1, 20) e) IS NULL,
		(SELECT roaring64_agg(int8range(i, i + e)) FROM generate_series(1, 3) e) IS NULL,
		(SELECT roaring64_agg(ARRAY[i, e]) FROM generate_series(1, 3) e) IS NULL,
		(SELECT roaring64_count_distinct(e * i) FROM generate_series(1, 20) e)},
	'aggregates of sets' => q{
		(SELECT roaring64_or_agg(s) FROM (VALUES (a), (b), (a | i)) v (s)) IS NULL,
		(SELECT roaring64_and_agg(s) FROM (VALUES (a), (b), (a | i)) v (s)) IS NULL,
		(SELECT roaring64_xor_agg(s) FROM (VALUES (a), (b), (a | i)) v (s)) IS NULL,
		(SELECT roaring64_or_cardinality_agg(s) FROM (VALUES (a), (b), (a | i)) v (s))},
	'variables' => q{with_variable(a, i)},
	'claims' => q{roaring64_dedup_claim('seen', 'k', i), roaring64_dedup_seen('seen', 'k', i),
		roaring64_dedup_claim_many('seen', 'l', ARRAY[i, i + 1])},
	'delays' => q{roaring64_delay_next_due('later'), roaring64_delay_count('later', to_timestamp(i % 9))},
	'refusals' => q{refused(a, i)},
);

my $node = start_server('memory', conf => "jit = off\nmax_parallel_workers_per_gather = 0\n");
value(q{
	CREATE EXTENSION roaring64_tables CASCADE;
	CREATE TABLE t (a roaring64, b roaring64);
	ALTER TABLE t ALTER b SET STORAGE EXTERNAL;
	INSERT INTO t
	SELECT roaring64_agg(i * 5), roaring64_agg(i * i) FROM generate_series(1, 2000) i;
	INSERT INTO t VALUES ('{1,2,3,4,5,6,-7}', '{3,5,1000000}');
	CREATE TABLE ids AS SELECT i * 5 AS id FROM generate_series(1::bigint, 300) i;
	CREATE INDEX ON ids (id);
	ANALYZE ids;
	SELECT roaring64_dedup_create('seen'), roaring64_delay_create('later');
	SELECT roaring64_delay_add('later', 1, i, to_timestamp(i % 9)) FROM generate_series(1, 30) i;
	CREATE FUNCTION process_bytes() RETURNS bigint VOLATILE LANGUAGE sql
	RETURN (SELECT (m[2]::bigint - m[3]::bigint) * 4096
		FROM string_to_array(pg_read_file('/proc/self/statm'), ' ') m);
	CREATE FUNCTION context_bytes() RETURNS bigint VOLATILE LANGUAGE sql
	RETURN (SELECT sum(total_bytes) FROM pg_backend_memory_contexts);
	CREATE FUNCTION with_variable(a roaring64, i bigint) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE
		s roaring64 := a;
	BEGIN
		FOR k IN 1..5 LOOP
			s := s | (i * k);
		END LOOP;
		RETURN s @> i;
	END $$;
	CREATE FUNCTION refused(a roaring64, i bigint) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		CASE i % 4
			WHEN 0 THEN PERFORM roaring64_shift(a | 1 | i, 9223372036854775807);
			WHEN 1 THEN PERFORM roaring64_from_bytea(a::bytea || '\x00');
			WHEN 2 THEN PERFORM ('{' || i || ',x}')::roaring64;
			WHEN 3 THEN PERFORM a | int8range(NULL, i);
		END CASE;
		RETURN false;
	EXCEPTION WHEN numeric_value_out_of_range OR invalid_binary_representation
		OR invalid_text_representation OR program_limit_exceeded THEN
		RETURN true;
	END $$;});

# "expression, expression": all of them counted, so that none is left out.
my $per_family = $calls / keys %families;
my $made = 0;
for my $family (sort keys %families)
{
	my $expressions = $families{$family};
	my $each = value("SELECT num_nulls($expressions) + num_nonnulls($expressions)
		FROM t, (VALUES (1::bigint)) v (i) LIMIT 1");
	# two rows in t
	my $rounds = int($per_family / $each / 2) + 100;
	my $tenth = int($rounds / 10);

	my $grown = value(qq{
		SELECT max(process) FILTER (WHERE i = $rounds) - max(process) FILTER (WHERE i = $tenth),
			max(contexts) FILTER (WHERE i = $rounds) - max(contexts) FILTER (WHERE i = $tenth)
		FROM (SELECT i,
				CASE WHEN i IN (1, $tenth, $rounds) THEN process_bytes() END AS process,
				CASE WHEN i IN (1, $tenth, $rounds) THEN context_bytes() END AS contexts
			FROM (SELECT i, num_nulls($expressions) AS called
				FROM generate_series(1::bigint, $rounds) i, t OFFSET 0) called
			WHERE called >= 0) measured});
	my ($process, $contexts) = split /\|/, $grown;

	$made += 2 * $rounds * $each;
	cmp_ok($process, '<', $process_slack, "$family: the process does not grow");
	cmp_ok($contexts, '<', $context_slack, "$family: the memory contexts do not grow");
	note("$family: " . 2 * $rounds * $each . " calls, $process bytes more, contexts $contexts");
}
cmp_ok($made, '>=', $calls, 'so many calls were made');
diag("$made calls measured");

# What a session knew of a dedup set goes with it.  The server keeps some 6 kB of
# its own for the tables.
my $dropped = value(q{
	CREATE PROCEDURE come_and_go(n int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1..n LOOP
			PERFORM roaring64_dedup_create('gone');
			COMMIT;
			PERFORM roaring64_dedup_claim('gone', 'k', i), roaring64_dedup_claim_many('gone', 'k', ARRAY[i, i + 1]),
				roaring64_dedup_seen('gone', 'k', i), roaring64_dedup_seen_many('gone', 'k', ARRAY[i]);
			COMMIT;
			PERFORM roaring64_dedup_drop('gone');
			COMMIT;
		END LOOP;
	END $$;
	CALL come_and_go(20);
	SELECT sum(used_bytes) AS before FROM pg_backend_memory_contexts \gset
	CALL come_and_go(50);
	SELECT sum(used_bytes) - :before FROM pg_backend_memory_contexts});
cmp_ok($dropped, '<', 50 * 20 * 1024, 'dropped sets: the memory contexts do not grow');
note("dropped sets: $dropped bytes more after 50");

# A batch has one chunk in memory at a time, of however many its ids are: 1,000 of
# 128 kB that are compressed, and as many that are not.  The shared buffers that it
# reads have been touched before, since they count towards the process.
value(q{
	SELECT roaring64_dedup_create('wide');
	ALTER TABLE wide_chunks ALTER ids SET STORAGE EXTENDED;
	INSERT INTO wide_chunks (key, chunk, generation, ids)
	SELECT 'k', c, 0, roaring64_shift(s, c << 20)
	FROM (SELECT roaring64_agg(2 * v) FROM generate_series(0::bigint, (1 << 19) - 1) v) a (s),
		generate_series(0::bigint, 999) c;
	ALTER TABLE wide_chunks ALTER ids SET STORAGE EXTERNAL;
	INSERT INTO wide_chunks SELECT 'plain', chunk, generation, ids | 1 FROM wide_chunks});
my $wide = value(q{
	CREATE FUNCTION pg_temp.peak() RETURNS bigint VOLATILE LANGUAGE sql RETURN
		(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:[[:space:]]*([0-9]+)')::bigint * 1024);
	SELECT count(*) AS touched FROM generate_series(0::bigint, 999) c, unnest('{k,plain}'::text[]) key
	WHERE roaring64_dedup_seen('wide', key, c << 20) \gset
	SELECT pg_temp.peak() AS before \gset
	SELECT count(*) FROM unnest('{k,plain}'::text[]) key,
		unnest(roaring64_dedup_seen_many('wide', key, ARRAY(SELECT c << 20 FROM generate_series(0::bigint, 999) c))) s
	WHERE s;
	SELECT pg_temp.peak() - :before});
my ($seen, $peak) = split /\n/, $wide;
is($seen, 2000, 'ids of many chunks are seen');
cmp_ok($peak, '<', 32 * 1024 * 1024, 'and not all of the chunks are in memory at once');
note("many chunks: $peak bytes more");

# The same of UUIDs, a batch of which has one id of each chunk.
value(q{
	SELECT roaring64_dedup_create('parts', id_type => 'uuid');
	INSERT INTO parts_chunks (key, chunk, generation, ids)
	SELECT 'k', ((c::bigint << 48)::bit(64) # b'1'::bit(64))::bigint, 0,
		ARRAY(SELECT (lpad(to_hex(c), 4, '0') || md5(i::text || c::text))::varchar(32)::uuid AS u
			FROM generate_series(1, 300) i ORDER BY u)
	FROM generate_series(0, 8191) c});
my $parts = value(q{
	CREATE FUNCTION pg_temp.peak() RETURNS bigint VOLATILE LANGUAGE sql RETURN
		(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:[[:space:]]*([0-9]+)')::bigint * 1024);
	CREATE TEMP TABLE asked AS SELECT array_agg(ids[c % 300 + 1]) AS ids
		FROM (SELECT ids, row_number() OVER () AS c FROM parts_chunks) AS p;
	SELECT count(*) AS touched FROM asked, unnest(asked.ids) AS id WHERE roaring64_dedup_seen('parts', 'k', id) \gset
	SELECT pg_temp.peak() AS before \gset
	SELECT count(*) FROM asked, unnest(roaring64_dedup_seen_many('parts', 'k', asked.ids)) AS s WHERE s;
	SELECT pg_temp.peak() - :before});
($seen, $peak) = split /\n/, $parts;
is($seen, 8192, 'UUIDs of many chunks are seen');
cmp_ok($peak, '<', 8 * 1024 * 1024, 'and not all of the chunks are in memory at once');
note("many chunks of UUIDs: $peak bytes more");

$node->stop;
done_testing();
