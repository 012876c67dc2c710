#!/bin/bash
#
# demo.sh
#	  What roaring64 is good for, shown on two million facts.
#
#	usage: tools/private-server tools/demo.sh		("make demo")
#
# Creates two tables with a row for each fact, and sets of the same facts, and
# asks both the same questions.  Both have the indexes that the questions need.
# The data are computed without random numbers, so every run has the same.
#
# Exits with 1 if any two answers differ.  The server and all in it go away
# with tools/private-server.
#
set -u

sql() { psql -X -q -v ON_ERROR_STOP=1 -P footer=off "$@"; }

heading() { printf '\n%s\n%s\n\n' "$1" "${1//?/=}"; }

step() { printf '%-66s' "$1"; }
took() { printf '%10s\n' "$((SECONDS - $1)) s"; }

stop()
{
	printf '\n%s\n' "DEMO FAILED: $1" >&2
	exit 1
}

sql <<'SQL' || stop "could not prepare the database"
SET client_min_messages = warning;
CREATE EXTENSION roaring64;
CREATE TABLE questions (
	n int GENERATED ALWAYS AS IDENTITY, question text, from_rows text,
	from_sets text, rows_ms numeric, sets_ms numeric);

-- The answer of a query, and the shortest time of five.
CREATE FUNCTION timed(query text, OUT answer text, OUT ms numeric)
LANGUAGE plpgsql AS $$
DECLARE
	start timestamptz;
BEGIN
	SET LOCAL work_mem = '64MB';
	FOR attempt IN 1 .. 5 LOOP
		start := clock_timestamp();
		EXECUTE query INTO answer;
		ms := least(ms, 1000 * extract(epoch FROM clock_timestamp() - start));
	END LOOP;
END $$;
SQL

#
heading "1. Two tables with one row per fact"
#
cat <<'TEXT'
purchases (customer, month, item)       a million: who bought what, and when
deliveries (user_id, message_id, read)  a million: sent what, and read or not

TEXT
began=$SECONDS
step "Creating the rows ..."
sql <<'SQL' || stop "could not make the rows"
CREATE TABLE purchases (customer bigint, month date, item int);
INSERT INTO purchases
SELECT h & 65535, date '2026-01-01' + ((h >> 16) & 1023)::int % 12 * interval '1 month',
	(h >> 32) & 511
FROM generate_series(1, 1000000) i, LATERAL hashint8extended(i, 1) h;

CREATE TABLE deliveries (user_id bigint, message_id bigint, read boolean);
INSERT INTO deliveries
SELECT u, m, hashint8extended(m * 5000 + u, 2) & 3 = 0
FROM generate_series(1, 2000) u, generate_series(1, 2000) m
WHERE hashint8extended(m * 5000 + u, 3) & 3 = 0;
SQL
took "$began"
began=$SECONDS
step "Indexing them, so that an index answers each question ..."
sql <<'SQL' || stop "could not make the indexes"
CREATE INDEX ON purchases (month, customer);
CREATE INDEX ON purchases (item, customer);
ALTER TABLE deliveries ADD PRIMARY KEY (user_id, message_id);
CREATE INDEX ON deliveries (message_id, user_id);
CREATE INDEX ON deliveries (user_id) WHERE NOT read;
VACUUM ANALYZE purchases, deliveries;
SQL
took "$began"

#
heading "2. The same as sets"
#
cat <<'TEXT'
    CREATE TABLE months AS
    SELECT month, roaring64_agg(customer) AS customers
    FROM purchases GROUP BY month;

    CREATE TABLE items AS
    SELECT item, roaring64_agg(customer) AS customers
    FROM purchases GROUP BY item;

    CREATE TABLE inbox AS
    SELECT user_id, roaring64_agg(message_id) AS sent,
           roaring64_agg(message_id) FILTER (WHERE read) AS read
    FROM deliveries GROUP BY user_id;

    CREATE INDEX ON inbox USING gin (sent);

TEXT
began=$SECONDS
step "Building the sets ..."
sql <<'SQL' || stop "could not make the sets"
CREATE TABLE months (month date PRIMARY KEY, customers roaring64 NOT NULL);
INSERT INTO months
SELECT month, roaring64_agg(customer) FROM purchases GROUP BY month ORDER BY month;
CREATE TABLE items (item int PRIMARY KEY, customers roaring64 NOT NULL);
INSERT INTO items
SELECT item, roaring64_agg(customer) FROM purchases GROUP BY item ORDER BY item;
CREATE TABLE inbox (
	user_id bigint PRIMARY KEY, sent roaring64 NOT NULL, read roaring64 NOT NULL);
INSERT INTO inbox
SELECT user_id, roaring64_agg(message_id),
	coalesce(roaring64_agg(message_id) FILTER (WHERE read), '{}')
FROM deliveries GROUP BY user_id ORDER BY user_id;
CREATE INDEX ON inbox USING gin (sent);
VACUUM ANALYZE months, items, inbox;
SQL
took "$began"
sql <<'SQL' || stop "could not show the sizes"

SELECT name AS "table", to_char(n, 'FM9,999,999') AS "rows",
	pg_size_pretty(pg_table_size(name::regclass)) AS data,
	pg_size_pretty(pg_indexes_size(name::regclass)) AS indexes,
	pg_size_pretty(pg_total_relation_size(name::regclass)) AS total
FROM (VALUES ('purchases', (SELECT count(*) FROM purchases)),
	('months', (SELECT count(*) FROM months)), ('items', (SELECT count(*) FROM items)),
	('deliveries', (SELECT count(*) FROM deliveries)),
	('inbox', (SELECT count(*) FROM inbox))) AS t (name, n);
SQL
[ "$(sql -At <<'SQL'
SELECT count(*) FROM (
	(SELECT user_id, message_id, read FROM deliveries EXCEPT
	 SELECT user_id, id, read @> id FROM inbox, roaring64_elements(sent) id)
	UNION ALL
	(SELECT user_id, id, read @> id FROM inbox, roaring64_elements(sent) id EXCEPT
	 SELECT user_id, message_id, read FROM deliveries)) AS difference
SQL
)" = 0 ] || stop "the sets do not hold what the rows hold"
echo "Nothing is lost: inbox gives back every row of deliveries."

#
heading "3. The same questions, asked of both"
#
cat <<'TEXT'
The queries shown are those on sets.  Times are the best of five.

TEXT

# question, how the rows answer it, how the sets do.
ask()
{
	local line
	printf '%s\n' "$1"
	printf '%s\n' "$3" | sed 's/^/    /'
	line=$(sql -At -v question="$1" -v rows="$2" -v sets="$3" <<'SQL'
INSERT INTO questions (question, from_rows, from_sets, rows_ms, sets_ms)
SELECT :'question', r.answer, s.answer, r.ms, s.ms
FROM timed(:'rows') r, timed(:'sets') s
RETURNING format('    = %s   rows %s ms, sets %s ms', from_sets,
	to_char(rows_ms, 'FM9,990.00'), to_char(sets_ms, 'FM9,990.00'));
SQL
	) || stop "could not ask: $1"
	printf '%s\n\n' "$line"
}

ask "Distinct customers per month: the sum, and December" \
"SELECT sum(n) || ', ' || max(n) FILTER (WHERE month = '2026-12-01')
FROM (SELECT month, count(DISTINCT customer) AS n FROM purchases GROUP BY month) m" \
"SELECT sum(n) || ', ' || max(n) FILTER (WHERE month = '2026-12-01')
FROM (SELECT month, roaring64_cardinality(customers) AS n
      FROM months) m"

ask "Distinct customers per quarter, which monthly counts cannot give" \
"SELECT string_agg(n::text, ', ' ORDER BY q)
FROM (SELECT q, count(DISTINCT customer) AS n
FROM generate_series(date '2026-01-01', '2026-10-01', '3 months') AS q
JOIN purchases ON month >= q::date AND month < (q + interval '3 months')::date
GROUP BY q) m" \
"SELECT string_agg(n::text, ', ' ORDER BY q)
FROM (SELECT date_trunc('quarter', month) AS q,
             roaring64_or_cardinality_agg(customers) AS n
      FROM months GROUP BY q) m"

ask "Churn: bought in November but not in December" \
"SELECT count(*) FROM (SELECT customer FROM purchases WHERE month = '2026-11-01'
EXCEPT SELECT customer FROM purchases WHERE month = '2026-12-01') c" \
"SELECT roaring64_cardinality(a.customers - b.customers)
FROM months a, months b
WHERE a.month = '2026-11-01' AND b.month = '2026-12-01'"

ask "Overlap: the item that shares the most buyers with item 7" \
"SELECT b.item || ', ' || count(DISTINCT a.customer)
FROM purchases a JOIN purchases b USING (customer)
WHERE a.item = 7 AND b.item <> 7 GROUP BY b.item
ORDER BY count(DISTINCT a.customer) DESC, b.item LIMIT 1" \
"SELECT b.item || ', ' ||
       roaring64_and_cardinality(a.customers, b.customers)
FROM items a, items b WHERE a.item = 7 AND b.item <> 7
ORDER BY roaring64_and_cardinality(a.customers, b.customers) DESC,
         b.item LIMIT 1"

ask "Unread messages of all users" \
"SELECT count(*) FROM deliveries WHERE NOT read" \
"SELECT sum(roaring64_andnot_cardinality(sent, read)) FROM inbox"

ask "Who got both messages 1234 and 1717, by index: count and sum of ids" \
"SELECT count(*) || ', ' || sum(user_id)
FROM deliveries a JOIN deliveries b USING (user_id)
WHERE a.message_id = 1234 AND b.message_id = 1717" \
"SELECT count(*) || ', ' || sum(user_id)
FROM inbox WHERE sent @> '{1234,1717}'"

[ "$(sql -At -c "SELECT count(*) = 6 AND bool_and(from_rows = from_sets) IS TRUE
	FROM questions")" = t ] || stop "rows and sets gave different answers"

sql -At <<'SQL' || stop "could not add up"
SELECT format(E'All answers are equal.\n' ||
		'Two million facts, six questions: rows %s, %s ms; sets %s, %s ms.',
	pg_size_pretty(pg_total_relation_size('purchases') + pg_total_relation_size('deliveries')),
	to_char(sum(rows_ms), 'FM9,990'),
	pg_size_pretty(pg_total_relation_size('months') + pg_total_relation_size('items')
		+ pg_total_relation_size('inbox')),
	to_char(sum(sets_ms), 'FM9,990'))
FROM questions;
SQL
cat <<'TEXT'

Next: README.md says how to install it, and docs/cookbook.md has statements to
copy.  "tools/private-server psql" opens psql on a server like this one, which
is removed now with its data.
TEXT
