# 031_chunked_set.pl
#	  Eight writers change one set in chunks, and no change is lost.
#
# The statements are those of docs/storage.md.  Each writer has ids of its own,
# which lie in the same chunks as those of the others, adds them one by one and
# in batches, and removes every third again.

use strict;
use warnings FATAL => 'all';


use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Utils;
use Server;
use Test::More;

my $writers = 8;

my $node = start_server('chunked_set');
value(q{
	CREATE EXTENSION roaring64;
	CREATE TABLE large (chunk bigint PRIMARY KEY, ids roaring64 NOT NULL);
	CREATE PROCEDURE write(me bigint) LANGUAGE plpgsql AS $$
	DECLARE
		many bigint[];
		x bigint;
	BEGIN
		FOR i IN 0 .. 299 LOOP
			x := ((i * 7919) % 40000) * 1000 + me;
			INSERT INTO large AS l VALUES (x >> 20, '{}'::roaring64 | x)
			ON CONFLICT (chunk) DO UPDATE SET ids = l.ids | x WHERE NOT l.ids @> x;
			COMMIT;
			-- in the order of the chunks, as docs/storage.md says
			many := ARRAY(SELECT ((i * 7919 + j * 613) % 40000) * 1000 + me + 500 FROM generate_series(1, 50) AS j);
			INSERT INTO large AS l SELECT chunk, ids FROM roaring64_split(many::roaring64, 20) ORDER BY chunk
			ON CONFLICT (chunk) DO UPDATE SET ids = l.ids | excluded.ids WHERE NOT l.ids @> excluded.ids;
			COMMIT;
			IF i % 3 = 0 THEN
				UPDATE large SET ids = ids - x WHERE chunk = x >> 20 AND ids @> x;
				COMMIT;
				WITH s AS MATERIALIZED (
					SELECT l.chunk, s.ids
					FROM roaring64_split(many[1:10]::roaring64, 20) AS s JOIN large AS l USING (chunk)
					ORDER BY l.chunk FOR UPDATE OF l)
				UPDATE large AS l SET ids = l.ids - s.ids FROM s WHERE l.chunk = s.chunk;
				COMMIT;
			END IF;
		END LOOP;
	END $$;
});

# What one writer leaves, alone.
my $of_one = q{
	SELECT md5(string_agg(e::text, ' ' ORDER BY e)) || ' ' || count(*)
	FROM large, roaring64_elements(ids) AS e WHERE e % 1000 IN (%d, %d)};
my @alone;
for my $me (0 .. $writers - 1)
{
	value("TRUNCATE large; CALL write($me)");
	push @alone, value(sprintf($of_one =~ s/% 1000/%% 1000/r, $me, $me + 500));
}
is(scalar(grep { /^\w+ \d{4,}$/ } @alone), $writers, 'each writer leaves thousands of ids');

value('TRUNCATE large');
my @sessions = map { start_session("CALL write($_)") } 0 .. $writers - 1;
is(join('', map { finish($_) } @sessions), '', 'eight writers at once end without an error');
for my $me (0 .. $writers - 1)
{
	is(value(sprintf($of_one =~ s/% 1000/%% 1000/r, $me, $me + 500)), $alone[$me],
		"writer $me has left the same among the others");
}

$node->stop;
done_testing();
