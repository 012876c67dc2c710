#!/bin/bash
#
# demo.sh
#	  What roaring64 is for, shown on a million messages.
#
#	usage: tools/private-server tools/demo.sh		("make demo")
#
# Makes a table with a row for every message that a user was sent, turns it
# into one row a user with two sets, and asks both the same questions.  The
# data are made without chance, so every run has the same.  Where the test
# data lie beside the tree, does the same with a real data set, and reads sets
# that other programs have written.
#
# Exits with 1 if any two answers differ.  The server and all in it go away
# with tools/private-server.
#
set -u

sql() { psql -X -q -v ON_ERROR_STOP=1 -P footer=off "$@"; }

heading() { printf '\n%s\n%s\n\n' "$1" "${1//?/=}"; }

stop()
{
	printf '\n%s\n' "DEMO FAILED: $1" >&2
	exit 1
}

#
# The tools: question() asks both ways and keeps the answers and times.
#
sql <<'SQL' || stop "could not prepare the database"
CREATE EXTENSION roaring64;
-- What a server built without LZ4 does not offer.
SELECT format('ALTER DATABASE %I SET %s = lz4', current_database(), name)
FROM pg_settings
WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals) \gexec
CREATE TABLE questions (
	question text, from_rows text, from_sets text, rows_ms numeric, sets_ms numeric);

CREATE FUNCTION timed(query text, OUT answer text, OUT ms numeric)
LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz;
BEGIN
	FOR attempt IN 1 .. 5 LOOP
		start := clock_timestamp();
		EXECUTE query INTO answer;
		ms := least(ms, 1000 * extract(epoch FROM clock_timestamp() - start));
	END LOOP;
END $$;

CREATE FUNCTION question(question text, rows_query text, sets_query text)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO questions
	SELECT question, r.answer, s.answer, r.ms, s.ms
	FROM timed(rows_query) r, timed(sets_query) s
$$;

CREATE FUNCTION sizes(VARIADIC tables regclass[])
RETURNS TABLE ("table" regclass, "rows" text, "data" text, "indexes" text, "total" text)
LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	FOREACH "table" IN ARRAY tables LOOP
		EXECUTE format('SELECT count(*) FROM %s', "table") INTO n;
		"rows" := to_char(n, 'FM999,999,999');
		"data" := pg_size_pretty(pg_table_size("table"));
		"indexes" := pg_size_pretty(pg_indexes_size("table"));
		"total" := pg_size_pretty(pg_total_relation_size("table"));
		RETURN NEXT;
	END LOOP;
END $$;
SQL

show_questions()
{
	sql <<'SQL' || stop "could not show the answers"
SELECT question, from_rows AS "from rows", from_sets AS "from sets",
	CASE WHEN from_rows IS NOT DISTINCT FROM from_sets AND from_rows <> ''
		THEN 'equal' ELSE 'DIFFERENT' END AS " ",
	round(rows_ms, 3) AS "rows, ms", round(sets_ms, 3) AS "sets, ms"
FROM questions;
SQL
	[ "$(sql -At -c "SELECT count(*) > 0 AND bool_and(from_rows = from_sets) IS TRUE
		FROM questions")" = t ] || stop "rows and sets gave different answers"
	sql -c 'TRUNCATE questions'
}

#
heading "1. A row for every message that a user was sent"
#
cat <<'TEXT'
100 users, 25,000 messages with snowflake ids, more than half of them sent to
each user, and a flag that says whether the user has read it:

    CREATE TABLE messages (user_id int, message_id bigint, read boolean,
                           PRIMARY KEY (user_id, message_id));
TEXT
sql <<'SQL' || stop "could not make the messages"
CREATE TABLE messages (user_id int, message_id bigint, read boolean);
INSERT INTO messages
SELECT u, ((1279929600000 + m * 37) << 22) | ((m % 4) << 12) | (m % 3),
	m < 10000 + u * 50 OR hash & 7 < 5
FROM generate_series(1, 100) u, generate_series(1::bigint, 25000) m,
	LATERAL hashint8extended(m, u) hash
WHERE (hash >> 8) & 127 < 72;
ALTER TABLE messages ADD PRIMARY KEY (user_id, message_id);
CREATE INDEX ON messages (message_id);
VACUUM ANALYZE messages;
SQL

#
heading "2. The same as one row for every user"
#
cat <<'TEXT'
    CREATE TABLE user_messages AS
    SELECT user_id, roaring64_agg(message_id) AS pushed,
           roaring64_agg(message_id) FILTER (WHERE read) AS read
    FROM messages GROUP BY user_id;

TEXT
sql <<'SQL' || stop "could not make the sets"
CREATE TABLE user_messages (
	user_id int PRIMARY KEY, pushed roaring64, read roaring64);
INSERT INTO user_messages
SELECT user_id, roaring64_agg(message_id) AS pushed,
	roaring64_agg(message_id) FILTER (WHERE read) AS read
FROM messages GROUP BY user_id;
VACUUM ANALYZE user_messages;
SELECT * FROM sizes('messages', 'user_messages');
SQL
sql -At <<'SQL' || stop "could not compare the sizes"
SELECT 'One row a user takes ' || round(pg_total_relation_size('messages')::numeric
	/ pg_total_relation_size('user_messages'), 1)
	|| ' times less room. (The row table has an index on message_id too, for question 3.)';
SQL

#
heading "3. The same questions, asked of both"
#
sql <<'SQL' >/dev/null || stop "could not ask the questions"
SELECT message_id AS message FROM messages
WHERE user_id = 42 AND NOT read ORDER BY message_id LIMIT 1 OFFSET 500 \gset
SELECT message_id AS old FROM messages
WHERE user_id = 42 AND read ORDER BY message_id LIMIT 1 OFFSET 500 \gset

SELECT question('How many has user 42 not read?',
	'SELECT count(*) FROM messages WHERE user_id = 42 AND NOT read',
	'SELECT roaring64_cardinality(pushed - read) FROM user_messages WHERE user_id = 42');
SELECT question('Has user 42 read message ' || :old || '?',
	'SELECT EXISTS (SELECT FROM messages WHERE user_id = 42 AND message_id = '
		|| :old || ' AND read)',
	'SELECT read @> ' || :old || '::bigint FROM user_messages WHERE user_id = 42');
SELECT question('Has user 42 read message ' || :message || '?',
	'SELECT EXISTS (SELECT FROM messages WHERE user_id = 42 AND message_id = '
		|| :message || ' AND read)',
	'SELECT read @> ' || :message || '::bigint FROM user_messages WHERE user_id = 42');
SELECT question('Who got that message? (how many, sum of ids)',
	'SELECT count(*) || '' users, '' || sum(user_id) FROM messages WHERE message_id = ' || :message,
	'SELECT count(*) || '' users, '' || sum(user_id) FROM user_messages WHERE pushed @> '
		|| :message || '::bigint');
SELECT question('How many did users 7 and 42 both get?',
	'SELECT count(*) FROM messages a JOIN messages b USING (message_id)
		WHERE a.user_id = 7 AND b.user_id = 42',
	'SELECT roaring64_cardinality(a.pushed & b.pushed) FROM user_messages a, user_messages b
		WHERE a.user_id = 7 AND b.user_id = 42');
SELECT question('Unread messages of all users together?',
	'SELECT count(*) FROM messages WHERE NOT read',
	'SELECT sum(roaring64_cardinality(pushed - read)) FROM user_messages');
SQL
show_questions

[ "$(sql -At <<'SQL'
WITH sets AS (
	SELECT user_id, id AS message_id, true AS read
	FROM user_messages, roaring64_elements(read) id
	UNION ALL
	SELECT user_id, id, false
	FROM user_messages, roaring64_elements(pushed - read) id)
SELECT (SELECT count(*) FROM messages) - (SELECT count(*) FROM sets)
	+ (SELECT count(*) FROM messages NATURAL FULL JOIN sets
		WHERE messages IS NULL OR sets IS NULL);
SQL
)" = 0 ] || stop "the sets do not hold what the rows hold"
echo "And every row of the one table can be had back from the other: none is lost."

#
heading "4. Real data: the census of 1881"
#
census=../shared/realdata/census1881.csv.gz
if [ -r "$census" ]; then
	echo "200 attributes and the people who have each, from the Roaring papers:"
	echo
	sql -c 'CREATE TABLE census (attribute int, person bigint)' &&
		gzip -dc "$census" | sql -c '\copy census FROM pstdin (FORMAT csv)' &&
		sql <<'SQL' || stop "could not load the census"
ALTER TABLE census ADD PRIMARY KEY (attribute, person);
CREATE TABLE census_sets AS
SELECT attribute, roaring64_agg(person) AS people FROM census GROUP BY attribute;
ALTER TABLE census_sets ADD PRIMARY KEY (attribute);
VACUUM ANALYZE census, census_sets;
SELECT * FROM sizes('census', 'census_sets');
SQL
	sql <<'SQL' >/dev/null || stop "could not ask the questions"
SELECT attribute AS a FROM census GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1 \gset
SELECT attribute AS b FROM census GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1 OFFSET 1 \gset
SELECT question(format('How many have attribute %s or %s?', :a, :b),
	format('SELECT count(DISTINCT person) FROM census WHERE attribute IN (%s, %s)', :a, :b),
	format('SELECT roaring64_cardinality(a.people | b.people)
		FROM census_sets a, census_sets b WHERE a.attribute = %s AND b.attribute = %s', :a, :b));
SELECT question('How many people are there?',
	'SELECT count(DISTINCT person) FROM census',
	'SELECT roaring64_cardinality(roaring64_or_agg(people)) FROM census_sets');
SQL
	show_questions
else
	printf '%s\n' "Left out: ${census#../} is not here."
fi

#
heading "5. Sets that other programs have written"
#
# A file; the program that wrote it; what it holds: cardinality, least and
# greatest element, and whether its bytes are in canonical form.
sql <<'SQL' || stop "could not make a table for the files"
CREATE TABLE files (
	file text, writer text, elements bigint, min bigint, max bigint,
	canonical boolean, wanted text);
SQL
found=0
while IFS='|' read -r file writer wanted; do
	[ -r "../shared/testdata/$file" ] || continue
	found=$((found + 1))
	sql -v path="$(cd ../shared/testdata && pwd)/$file" -v file="$file" \
		-v writer="$writer" -v wanted="$wanted" <<'SQL' || stop "could not read $file"
INSERT INTO files
SELECT :'file', :'writer', roaring64_cardinality(s), roaring64_min(s),
	roaring64_max(s), s::bytea = bytes, :'wanted'
FROM pg_read_binary_file(:'path') bytes,
	LATERAL (SELECT bytes::roaring64 AS s OFFSET 0) v;
SQL
done <<'FILES'
formatspec/portable_bitmap64.bin|CRoaring (C)|188424 0 4295557118 t
go/roaring64_age_8.bin|roaring (Go)|12741 196198592 4041196483 t
croaring/64maphighvals.bin|CRoaring (C++)|121 -42949672971 -1 f
FILES
if [ "$found" -gt 0 ]; then
	echo "The bytes of a file, cast to roaring64, and back to bytes:"
	echo
	sql <<'SQL' || stop "could not show the files"
SELECT file, writer AS "written by", elements, min, max,
	CASE WHEN canonical THEN 'the same' ELSE 'shorter (canonical)' END AS "bytes back"
FROM files;
SQL
	[ "$(sql -At -c "SELECT bool_and(concat_ws(' ', elements, min, max, canonical)
		= wanted) FROM files")" = t ] ||
		stop "a file does not hold what its writer put into it"
else
	echo "Left out: shared/testdata is not here."
fi

echo
echo "All answers are equal.  The server and its data are removed now."
