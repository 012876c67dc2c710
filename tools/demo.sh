#!/bin/bash
#
# demo.sh
#	  What roaring64 is good for, and what rows are better at, shown on two
#	  million facts.
#
#	usage: tools/private-server tools/demo.sh		("make demo")
#
# Creates two tables with a row for each fact and two tables of sets with the same
# facts, and puts the same questions to both.  Both have the indexes that the
# questions need.  The data are computed without random numbers, so every run has
# the same.  Every statement on tables of facts or sets is printed as it runs, but
# for the comparison that shows that both hold the same facts.
#
# Exits with 1 if any two answers differ.  The server and all in it go away with
# tools/private-server; "tools/private-server sh -c 'tools/demo.sh && psql'" opens
# psql on the data before that.
#
set -u

sql() { psql -X -q -v ON_ERROR_STOP=1 -P footer=off "$@"; }

heading() { printf '\n%s\n%s\n\n' "$1" "${1//?/=}"; }

stop()
{
	printf '\n%s\n' "DEMO FAILED: $1" >&2
	exit 1
}

show() { printf '%s\n' "$1" | sed 's/^/    /'; }

# Prints statements, runs them, and says how long they took.
run()
{
	local began=$SECONDS

	show "$1"
	sql <<<"SET client_min_messages = warning; $1" | sed 's/^/    /'
	[ "${PIPESTATUS[0]}" = 0 ] || stop "an error in these statements"
	printf '    -- %s s\n\n' "$((SECONDS - began))"
}

sql <<'SQL' || stop "could not prepare the database"
CREATE EXTENSION roaring64;
CREATE SCHEMA demo;
CREATE TABLE demo.answers (from_rows text, from_sets text, rows_ms numeric, sets_ms numeric);

-- The first column of the first row of a query, and the shortest time of three.
CREATE FUNCTION demo.timed(query text, OUT answer text, OUT ms numeric)
LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz;
BEGIN
	SET LOCAL work_mem = '64MB';
	FOR attempt IN 1 .. 3 LOOP
		start := clock_timestamp();
		EXECUTE query INTO answer;
		ms := least(ms, 1000 * extract(epoch FROM clock_timestamp() - start));
	END LOOP;
END $$;
SQL

#
heading "1. Two tables with one row per fact, a million rows each"
#
echo "Which customer bought in which month:"
echo
run "CREATE TABLE purchases (month date, customer bigint);
INSERT INTO purchases
SELECT DISTINCT date '2026-01-01' + (i % 12)::int * interval '1 month',
       hashint8extended(i, 1) & 131071
FROM generate_series(1, 1550000) i;"
echo "Which message was sent to which user, and has it been read:"
echo
run "CREATE TABLE deliveries (user_id bigint, message_id bigint, read boolean);
INSERT INTO deliveries
SELECT u, m, hashint8extended(m * 5000 + u, 2) & 3 = 0
FROM generate_series(1, 2000) u, generate_series(1, 2000) m
WHERE hashint8extended(m * 5000 + u, 3) & 3 = 0;"
echo "An index for each of the questions below:"
echo
run "ALTER TABLE purchases ADD PRIMARY KEY (month, customer);
ALTER TABLE deliveries ADD PRIMARY KEY (user_id, message_id);
CREATE INDEX ON deliveries (message_id, user_id);
CREATE INDEX ON deliveries (user_id) WHERE NOT read;
VACUUM ANALYZE purchases;
VACUUM ANALYZE deliveries;"

#
heading "2. The same facts as sets"
#
run "CREATE TABLE months (month date PRIMARY KEY, customers roaring64 NOT NULL);
INSERT INTO months
SELECT month, roaring64_agg(customer) FROM purchases GROUP BY month;
CREATE TABLE inbox (
    user_id bigint PRIMARY KEY,
    sent roaring64 NOT NULL,
    read roaring64 NOT NULL);
INSERT INTO inbox
SELECT user_id, roaring64_agg(message_id),
       coalesce(roaring64_agg(message_id) FILTER (WHERE read), '{}')
FROM deliveries GROUP BY user_id;
CREATE INDEX ON inbox USING gin (sent);
VACUUM ANALYZE months;
VACUUM ANALYZE inbox;"

# Stops unless both inboxes and both tables of purchases hold the same.
compare()
{
	[ "$(sql -At <<-'SQL'
	SELECT count(*) FROM (
		(SELECT user_id, message_id, read FROM deliveries EXCEPT
		 SELECT user_id, id, read @> id FROM inbox, roaring64_elements(sent) id)
		UNION ALL
		(SELECT user_id, id, read @> id FROM inbox, roaring64_elements(sent) id EXCEPT
		 SELECT user_id, message_id, read FROM deliveries)) AS difference;
	SELECT count(*) FROM (
		(SELECT month, customer FROM purchases EXCEPT
		 SELECT month, id FROM months, roaring64_elements(customers) id)
		UNION ALL
		(SELECT month, id FROM months, roaring64_elements(customers) id EXCEPT
		 SELECT month, customer FROM purchases)) AS difference;
	SQL
	)" = $'0\n0' ] || stop "the sets do not hold what the rows hold"
}
compare
echo "Nothing is lost: the sets give back every row, compared just now.  The sizes:"
echo
run "SELECT name AS \"table\", pg_size_pretty(pg_table_size(name::regclass)) AS data,
       pg_size_pretty(pg_indexes_size(name::regclass)) AS indexes,
       pg_size_pretty(pg_total_relation_size(name::regclass)) AS total
FROM unnest('{purchases,months,deliveries,inbox}'::text[]) AS name;"
cat <<'TEXT'
How small a set is depends on how dense its ids are.  These are: out of 100 ids
between the first and the last, so many are in the set.  Ids of a sequence are often
like that.  Snowflake ids are not, unless they are folded, and random 64-bit numbers
take more space than a bigint.  The last line is what the messages would take if their
ids were snowflake ids, one every 37 ms:

TEXT
run "SELECT ids, round(sum(s.cardinality) / count(*)) AS in_a_set,
       round(100 * sum(s.cardinality) / sum(maximum - minimum + 1)) AS of_100,
       round(sum(s.bytes) / sum(s.cardinality), 2) AS bytes_an_id
FROM (SELECT 'customers' AS ids, customers AS set FROM months UNION ALL
      SELECT 'messages', sent FROM inbox UNION ALL
      SELECT 'snowflake', (SELECT roaring64_agg((1279929600000 + id * 37) << 22)
                           FROM roaring64_elements(sent) id) FROM inbox) AS sets,
     roaring64_stats(set) AS s, CAST(roaring64_min(set) AS numeric) AS minimum,
     CAST(roaring64_max(set) AS numeric) AS maximum
GROUP BY ids ORDER BY ids;"

#
heading "3. The same questions to both"
#
echo "First the query on rows, then that on sets.  Times are the best of three."
echo

# question, how the rows answer it, how the sets do.
ask()
{
	local line

	printf '%s\n\n' "$1"
	show "$2;"
	echo
	show "$3;"
	line=$(sql -At -v rows="$2" -v sets="$3" <<'SQL'
INSERT INTO demo.answers
SELECT r.answer, s.answer, r.ms, s.ms
FROM demo.timed(:'rows') r, demo.timed(:'sets') s
RETURNING format(E'    = %s\n    -- rows %s ms, sets %s ms', from_sets,
	to_char(rows_ms, 'FM999,990.00'), to_char(sets_ms, 'FM999,990.00'));
SQL
	) || stop "could not answer: $1"
	printf '%s\n\n' "$line"
}

ask "Distinct customers per quarter, which monthly counts cannot give" \
"SELECT string_agg(n::text, ', ' ORDER BY quarter)
FROM (SELECT date_trunc('quarter', month) AS quarter,
             count(DISTINCT customer) AS n
      FROM purchases GROUP BY quarter) q" \
"SELECT string_agg(n::text, ', ' ORDER BY quarter)
FROM (SELECT date_trunc('quarter', month) AS quarter,
             roaring64_or_cardinality_agg(customers) AS n
      FROM months GROUP BY quarter) q"

ask "Churn: bought in November but not in December" \
"SELECT count(*)
FROM (SELECT customer FROM purchases WHERE month = '2026-11-01' EXCEPT
      SELECT customer FROM purchases WHERE month = '2026-12-01') c" \
"SELECT roaring64_cardinality(a.customers - b.customers)
FROM months a, months b
WHERE a.month = '2026-11-01' AND b.month = '2026-12-01'"

ask "Overlap: the month that has the most customers in common with December" \
"SELECT b.month || ', ' || count(*)
FROM purchases a JOIN purchases b USING (customer)
WHERE a.month = '2026-12-01' AND b.month <> a.month GROUP BY b.month
ORDER BY count(*) DESC, b.month LIMIT 1" \
"SELECT b.month || ', ' ||
       roaring64_and_cardinality(a.customers, b.customers)
FROM months a, months b WHERE a.month = '2026-12-01' AND b.month <> a.month
ORDER BY roaring64_and_cardinality(a.customers, b.customers) DESC,
         b.month LIMIT 1"

ask "Unread messages of all users" \
"SELECT count(*) FROM deliveries WHERE NOT read" \
"SELECT sum(roaring64_andnot_cardinality(sent, read)) FROM inbox"

ask "How many users got both messages 1234 and 1717, by an index" \
"SELECT count(*)
FROM deliveries a JOIN deliveries b USING (user_id)
WHERE a.message_id = 1234 AND b.message_id = 1717" \
"SELECT count(*) FROM inbox WHERE sent @> '{1234,1717}'"

ask "One fact, by the primary key, in which neither is better: did user 77 read 70?" \
"SELECT count(*) FROM deliveries
WHERE user_id = 77 AND message_id = 70 AND read" \
"SELECT count(*) FROM inbox WHERE user_id = 77 AND read @> 70"

[ "$(sql -At -c "SELECT count(*) = 6 AND bool_and(from_rows = from_sets) IS TRUE
	FROM demo.answers")" = t ] || stop "rows and sets gave different answers"
sql -At <<'SQL' || stop "could not add up"
SELECT format(E'All answers are equal.  The same two million facts take %s as rows and %s as\n' ||
		'sets.  The six questions took %s ms of rows and %s ms of sets.',
	pg_size_pretty(pg_total_relation_size('purchases') + pg_total_relation_size('deliveries')),
	pg_size_pretty(pg_total_relation_size('months') + pg_total_relation_size('inbox')),
	to_char(sum(rows_ms), 'FM999,990'), to_char(sum(sets_ms), 'FM999,990'))
FROM demo.answers;
SQL

#
heading "4. What rows do better"
#
cat <<'TEXT'
A new message to each user is a new row for each.  The sets have to be written again,
whole, with all their entries in the index.  A single run of each:

TEXT
# Prints a statement, runs it, and says how many milliseconds it took.
write()
{
	local printed

	show "$1;"
	printed=$(sql -c '\timing on' -c "$1") || stop "could not write"
	printed=${printed##*Time: }
	printf '    -- %s ms\n\n' "${printed%% *}"
}
write "INSERT INTO deliveries SELECT user_id, 3000, false FROM inbox"
write "UPDATE inbox SET sent = sent | 3000"
compare
cat <<'TEXT'
Both still hold the same.  So collect new facts in rows and add them to the sets many
at a time: docs/rollups.md and docs/storage.md say how.
TEXT

cat <<'TEXT'

Next: tools/private-server sh -c 'tools/demo.sh && psql' opens psql on these data, and
tools/private-server psql an empty one.  README.md says how to install roaring64, and
docs/cookbook.md has statements to copy.
TEXT
