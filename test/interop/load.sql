-- load.sql
--	  The sets of test/interop in the server, from text, and out as files.
--
-- Variables: folder, where "sets" has the texts, "runs" all their lines with the
-- name before them, and "ours" is where the bytes go, and
-- "ours_base64", where the same go in base64.
--
-- The texts are unsigned and in that order.  A run that reaches across 2^63 is
-- two in SQL, one that ends at 2^63 - 1 and one that begins at -2^63.

\set runs_file :folder '/runs'
\set sets_folder :folder '/sets'
\set ours_folder :folder '/ours'
\set base64_folder :folder '/ours_base64'

CREATE EXTENSION roaring64;

CREATE TABLE runs (name text, first numeric, last numeric);
COPY runs FROM :'runs_file' (DELIMITER ' ');

CREATE VIEW pieces AS
SELECT name, first::bigint AS first, least(last, 9223372036854775807)::bigint AS last
FROM runs WHERE first < 9223372036854775808
UNION ALL
SELECT name, (greatest(first, 9223372036854775808) - 18446744073709551616)::bigint,
	(last - 18446744073709551616)::bigint
FROM runs WHERE last >= 9223372036854775808;

-- What the elements are, by the server's own ranges, and as our sets.
CREATE TABLE sets AS
SELECT name, coalesce(range_agg(range), '{}') AS ranges,
	coalesce(roaring64_agg(range), '{}') AS members
FROM pg_ls_dir(:'sets_folder') AS name
	LEFT JOIN (SELECT name, int8range(first, nullif(last, 9223372036854775807) + 1) AS range
			   FROM pieces) AS p USING (name)
GROUP BY name;
ALTER TABLE sets ADD PRIMARY KEY (name);
ANALYZE sets;

-- A large object can be written to a file once the statement that made it ends.
CREATE TABLE files AS
SELECT name, lo_from_bytea(0, members::bytea) AS file,
	lo_from_bytea(0, convert_to(roaring64_to_base64(members), 'UTF8')) AS base64
FROM sets;
SELECT count(lo_export(file, :'ours_folder' || '/' || name)) AS written,
	count(lo_export(base64, :'base64_folder' || '/' || name)) AS written_base64
FROM files \gset

-- The server's values must have the elements that its ranges have; what others
-- write is then compared with the values.
CREATE TEMP VIEW own AS SELECT name, members::int8multirange = ranges AS "right" FROM sets;
SELECT name, 'has other elements' FROM own WHERE NOT "right" ORDER BY name;
SELECT count(*) FILTER (WHERE "right"), count(*) FILTER (WHERE NOT "right") FROM own;
