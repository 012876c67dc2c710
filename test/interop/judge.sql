-- judge.sql
--	  Reads what another implementation wrote.
--
-- Variables: folder, ending: the files; names: a folder with a file of each
-- set's name.  Files with the ending .base64 are text.  Prints a line for every set that is not as it must be, and last
-- how many are and are not, and how many of them had other bytes than ours.

CREATE TEMP TABLE verdicts AS
SELECT name, bytes <> CASE WHEN is_text THEN convert_to(roaring64_to_base64(members), 'UTF8') ELSE members::bytea END AS rewritten,
	CASE
		WHEN bytes IS NULL THEN 'was not written'
		WHEN refused IS NOT NULL THEN 'is refused: ' || refused
		WHEN CASE WHEN is_text THEN roaring64_from_base64(convert_from(bytes, 'UTF8')) ELSE bytes::roaring64 END <> members
			THEN 'is another set'
	END AS wrong
FROM pg_ls_dir(:'names') AS name JOIN sets USING (name),
	pg_read_binary_file(:'folder' || '/' || name || :'ending', 0, 1000000000, true) AS bytes,
	LATERAL (SELECT :'ending' = '.base64' AS is_text) AS form,
	LATERAL (SELECT CASE WHEN NOT is_text THEN roaring64_invalid_reason(bytes) END AS refused) AS checked;

SELECT name, wrong FROM verdicts WHERE wrong IS NOT NULL ORDER BY name;
SELECT count(*) FILTER (WHERE wrong IS NULL), count(*) FILTER (WHERE wrong IS NOT NULL),
	'(' || count(*) FILTER (WHERE rewritten) || ' in other bytes)'
FROM verdicts;
