--
-- User state: for every user and month the messages that were pushed and those
-- that were read.  The statements are those of docs/cookbook.md; the cases of one
-- such service's own tests come first, as they stand there.  No function of
-- ours is needed for it; the functions here only give the statements names.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
RESET client_min_messages;

CREATE TABLE user_messages (
	user_id bigint,
	month date,
	pushed roaring64 NOT NULL DEFAULT '{}',
	read roaring64 NOT NULL DEFAULT '{}',
	PRIMARY KEY (user_id, month)
) PARTITION BY RANGE (month);
CREATE TABLE user_messages_2026_10 PARTITION OF user_messages FOR VALUES FROM ('2026-10-01') TO ('2026-11-01');
CREATE TABLE user_messages_2026_11 PARTITION OF user_messages FOR VALUES FROM ('2026-11-01') TO ('2026-12-01');

-- push messages to a user
CREATE FUNCTION push(this_user bigint, this_month date, ids bigint[]) RETURNS void LANGUAGE sql AS $$
	INSERT INTO user_messages AS m (user_id, month, pushed) VALUES (this_user, this_month, ids)
	ON CONFLICT (user_id, month) DO UPDATE SET pushed = m.pushed | excluded.pushed
$$;
-- a message to an audience, in the order of the users
CREATE FUNCTION push_all(users roaring64, this_month date, id bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO user_messages AS m (user_id, month, pushed)
	SELECT user_id, this_month, '{}'::roaring64 | id FROM roaring64_elements(users) AS user_id ORDER BY user_id
	ON CONFLICT (user_id, month) DO UPDATE SET pushed = m.pushed | excluded.pushed
$$;
-- a user has read one
CREATE FUNCTION read(this_user bigint, this_month date, id bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO user_messages AS m (user_id, month, read) VALUES (this_user, this_month, '{}'::roaring64 | id)
	ON CONFLICT (user_id, month) DO UPDATE SET read = m.read | excluded.read
$$;
-- ... or all up to one
CREATE FUNCTION read_up_to(this_user bigint, id bigint) RETURNS void LANGUAGE sql AS $$
	UPDATE user_messages SET read = read | (pushed & int8range(NULL, id, '[]'))
	WHERE user_id = this_user AND pushed - read && int8range(NULL, id, '[]')
$$;
CREATE FUNCTION readable(this_user bigint, id bigint) RETURNS boolean LANGUAGE sql AS $$
	SELECT EXISTS (SELECT FROM user_messages WHERE user_id = this_user AND pushed @> id)
$$;
CREATE FUNCTION been_read(this_user bigint, id bigint) RETURNS boolean LANGUAGE sql AS $$
	SELECT EXISTS (SELECT FROM user_messages WHERE user_id = this_user AND read @> id)
$$;
-- the latest, by the number of the page and by the last one of the page before
CREATE FUNCTION latest(this_user bigint, size bigint, page bigint) RETURNS SETOF bigint LANGUAGE sql AS $$
	SELECT id FROM user_messages, roaring64_elements(pushed, reverse => true) AS id
	WHERE user_id = this_user AND page > 0
	ORDER BY month DESC, id DESC LIMIT size OFFSET size * greatest(page - 1, 0)
$$;
CREATE FUNCTION latest_before(this_user bigint, size integer, before bigint) RETURNS SETOF bigint LANGUAGE sql AS $$
	SELECT id FROM user_messages, unnest(roaring64_last(pushed, size, before)) AS id
	WHERE user_id = this_user ORDER BY month DESC, id DESC LIMIT size
$$;

--
-- The cases
--
SELECT push(1, '2026-11-01', '{2,3,4,6,8,10,11}');
SELECT readable(1, 1), readable(1, 2), readable(99, 2) AS no_record;
SELECT read(1, '2026-11-01', 8);
SELECT been_read(1, 8) AS read_8, been_read(1, 10) AS read_10, been_read(2, 1) AS no_record;
SELECT read(2, '2026-11-01', 1);
SELECT been_read(2, 1);
SELECT page, ARRAY(SELECT latest(1, 3, page)) FROM unnest('{1,2,3,4,0,-1}'::bigint[]) WITH ORDINALITY AS p (page, n) ORDER BY n;
SELECT before, ARRAY(SELECT latest_before(1, 3, before)) FROM unnest('{12,8,3,2}'::bigint[]) AS before;
SELECT before, roaring64_last(pushed, 3, before) FROM user_messages, unnest('{12,8,3,2}'::bigint[]) AS before WHERE user_id = 1;
-- the first page by key has no key
SELECT roaring64_last(pushed, 3) FROM user_messages WHERE user_id = 1;

--
-- Unread: the ids, how many, those of a page; again and again gives the same
--
SELECT pushed - read AS unread, roaring64_andnot_cardinality(pushed, read) FROM user_messages WHERE user_id = 1;
SELECT roaring64_last(pushed - read, 3, 11) FROM user_messages WHERE user_id = 1;
SELECT read_up_to(1, 6);
SELECT pushed - read AS unread, read FROM user_messages WHERE user_id = 1;
SELECT read_up_to(1, 6), push(1, '2026-11-01', '{2,11}'), read(1, '2026-11-01', 8);
TABLE user_messages ORDER BY user_id, month;
-- many, all
UPDATE user_messages SET read = roaring64_add(read, '{10,11}') WHERE user_id = 1 AND month = '2026-11-01';
SELECT pushed - read AS unread FROM user_messages WHERE user_id = 1;
SELECT push(1, '2026-11-01', '{12,13}');
UPDATE user_messages SET read = pushed | read WHERE user_id = 1;
SELECT pushed, read, pushed - read AS unread FROM user_messages WHERE user_id = 1;

--
-- Months: pages and counts go over them, and an old one is dropped
--
SELECT push(1, '2026-10-01', '{-5,0,1}');
SELECT page, ARRAY(SELECT latest(1, 4, page)) FROM generate_series(1, 4) AS page;
SELECT ARRAY(SELECT latest_before(1, 4, 3));
SELECT sum(roaring64_andnot_cardinality(pushed, read)) AS unread FROM user_messages WHERE user_id = 1;
SELECT month, sum(roaring64_cardinality(pushed)) AS pushed, sum(roaring64_cardinality(read)) AS read,
	   count(*) FILTER (WHERE NOT roaring64_is_empty(pushed)) AS users, roaring64_or_cardinality_agg(pushed) AS messages
FROM user_messages GROUP BY month ORDER BY month;
DROP TABLE user_messages_2026_10;
SELECT ARRAY(SELECT latest(1, 4, 3));
-- there is nowhere to put it
SELECT push(1, '2026-10-01', '{7}');

--
-- 100,000 users in one statement: from a set, an array, a query; half of them
-- have no row yet, and those who have it keep it
--
TRUNCATE user_messages;
INSERT INTO user_messages SELECT u, '2026-11-01', roaring64_from_array(ARRAY[u % 7, 100]), '{100}' FROM generate_series(1, 50000) AS u;
SELECT push_all(int8range(1, 100001)::roaring64, '2026-11-01', 100);
SELECT count(*), count(*) FILTER (WHERE pushed @> 100), sum(roaring64_cardinality(pushed)), count(*) FILTER (WHERE pushed = '{100}'), count(*) FILTER (WHERE read = '{100}')
FROM user_messages;
INSERT INTO user_messages AS m (user_id, month, pushed)
SELECT user_id, '2026-11-01', '{101}' FROM unnest(ARRAY(SELECT generate_series(1, 200000, 2))) AS user_id ORDER BY user_id
ON CONFLICT (user_id, month) DO UPDATE SET pushed = m.pushed | excluded.pushed;
INSERT INTO user_messages AS m (user_id, month, pushed)
SELECT user_id, '2026-11-01', '{102}' FROM user_messages WHERE pushed @> 101 ORDER BY user_id
ON CONFLICT (user_id, month) DO UPDATE SET pushed = m.pushed | excluded.pushed;
SELECT count(*), count(*) FILTER (WHERE pushed @> 101), count(*) FILTER (WHERE pushed @> '{101,102}'), count(*) FILTER (WHERE user_id % 2 = 1)
FROM user_messages;
-- who has got it, and read it
SELECT roaring64_cardinality(roaring64_agg(user_id)) AS got, roaring64_cardinality(roaring64_agg(user_id) FILTER (WHERE read @> 100)) AS have_read
FROM user_messages WHERE pushed @> 100;
-- no one twice in an audience
INSERT INTO user_messages AS m (user_id, month, pushed)
SELECT DISTINCT user_id, '2026-11-01'::date, roaring64 '{103}' FROM unnest('{5,6,5}'::bigint[]) AS user_id ORDER BY user_id
ON CONFLICT (user_id, month) DO UPDATE SET pushed = m.pushed | excluded.pushed;
SELECT user_id, pushed FROM user_messages WHERE pushed @> 103 ORDER BY user_id;

--
-- Random pushes and reads against a row for every fact
--
TRUNCATE user_messages;
CREATE TABLE facts (user_id bigint, id bigint, read boolean, PRIMARY KEY (user_id, id));
DO $$
DECLARE
	seed double precision := random();
	u bigint;
	x bigint;
BEGIN
	PERFORM setseed(seed);
	FOR step IN 1 .. 2000 LOOP
		u := (random() * 8)::bigint;
		x := (random() * 300)::bigint;
		CASE (random() * 9)::int
			WHEN 0, 1, 2 THEN
				PERFORM push(u, '2026-11-01', ARRAY[x, x + 1]);
				INSERT INTO facts VALUES (u, x, false), (u, x + 1, false) ON CONFLICT DO NOTHING;
			WHEN 3, 4 THEN
				PERFORM push_all(ARRAY[u, u + 1, u + 2]::roaring64, '2026-11-01', x);
				INSERT INTO facts SELECT g, x, false FROM generate_series(u, u + 2) AS g ON CONFLICT DO NOTHING;
			WHEN 5, 6 THEN
				IF EXISTS (SELECT FROM facts WHERE user_id = u AND id = x) THEN
					PERFORM read(u, '2026-11-01', x);
					UPDATE facts SET read = true WHERE user_id = u AND id = x;
				END IF;
			WHEN 7 THEN
				PERFORM read_up_to(u, x / 4);
				UPDATE facts SET read = true WHERE user_id = u AND id <= x / 4;
			ELSE
				IF readable(u, x) <> EXISTS (SELECT FROM facts WHERE user_id = u AND id = x)
				   OR been_read(u, x) <> EXISTS (SELECT FROM facts WHERE user_id = u AND id = x AND read)
				   OR ARRAY(SELECT latest(u, 7, x / 30)) <>
					  ARRAY(SELECT id FROM facts WHERE user_id = u AND x / 30 > 0 ORDER BY id DESC LIMIT 7 OFFSET greatest(7 * (x / 30 - 1), 0))
				   OR ARRAY(SELECT latest_before(u, 7, x)) <> ARRAY(SELECT id FROM facts WHERE user_id = u AND id < x ORDER BY id DESC LIMIT 7) THEN
					RAISE EXCEPTION 'with setseed(%): answers differ in step %, user %, message %', seed, step, u, x;
				END IF;
		END CASE;
	END LOOP;
	IF EXISTS (SELECT user_id, roaring64_to_array(pushed), roaring64_to_array(read), roaring64_andnot_cardinality(pushed, read) FROM user_messages
			   EXCEPT
			   SELECT user_id, array_agg(id ORDER BY id), coalesce(array_agg(id ORDER BY id) FILTER (WHERE read), '{}'), count(*) FILTER (WHERE NOT read)
			   FROM facts GROUP BY user_id)
	   OR (SELECT count(*) FROM user_messages) <> (SELECT count(DISTINCT user_id) FROM facts) THEN
		RAISE EXCEPTION 'with setseed(%): states differ', seed;
	END IF;
END $$;
DROP TABLE user_messages, facts;
DROP FUNCTION push, push_all, read, read_up_to, readable, been_read, latest, latest_before;
