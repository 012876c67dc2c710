/*
 * membership.sql
 *	  Which of many ids are in a set?
 */

/*
 * A probe for every id of both sets of a pair against the first.  Who opens
 * the set for every probe gets a few of them.
 */
SELECT format('CREATE TABLE %I AS SELECT id FROM facts WHERE set IN (%s, %s)
	ORDER BY hashint8extended(id, set)', 'probes ' || name, a, b)
FROM data_sets
WHERE name IN ('uniform', 'snowflake', 'random 64-bit') \gexec
SELECT format('VACUUM ANALYZE %I', 'probes ' || name)
FROM data_sets
WHERE name IN ('uniform', 'snowflake', 'random 64-bit') \gexec

INSERT INTO statements (workload, data, system, query, check_query, scale)
SELECT 'look up the ids of a table in a set, by a join', name, w.system,
	format('SELECT count(*) FROM ' || w.form, probes.all_of_them, a),
	format('SELECT count(*) FROM ' || w.form, probes.few, a),
	w.scale
FROM data_sets, LATERAL (
	SELECT format('%I', 'probes ' || name) AS all_of_them,
		format('(SELECT id FROM %I LIMIT %s)', 'probes ' || name, :peer_probes) AS few)
	probes, LATERAL (VALUES
	('roaring64', '%s p JOIN sets_roaring64 s ON p.id <@ s.s WHERE s.set = %s', 1),
	('rows', '%s p JOIN facts f USING (id) WHERE f.set = %s', 1))
	w (system, form, scale)
WHERE name IN ('uniform', 'snowflake', 'random 64-bit');

INSERT INTO statements (workload, data, system, query, scale)
SELECT 'look up the ids of a table in a set, by a join', name, w.system,
	format('SELECT count(*) FROM (SELECT id FROM %I LIMIT %s) p JOIN %s WHERE s.set = %s',
		'probes ' || name, :peer_probes, w.form, a),
	(SELECT count(*) FROM facts f WHERE f.set IN (a, b)) / :peer_probes::numeric
FROM data_sets, LATERAL (VALUES
	('peer', 'sets_peer s ON p.id <@ s.s'),
	('array', 'sets_array s ON p.id = ANY (s.s)')) w (system, form)
WHERE name IN ('uniform', 'snowflake', 'random 64-bit');

INSERT INTO statements (workload, data, system, query)
SELECT 'look up the ids of a table in a set, by a join', name, 'floor',
	format('SELECT count(id) FROM %I', 'probes ' || name)
FROM data_sets
WHERE name IN ('uniform', 'snowflake', 'random 64-bit');

/*
 * Ten million rows and the set of one user, first from the user's row and then
 * as a constant.  In arrays the row's form looks through 900 ids a row.
 */
CREATE TABLE few_messages AS
SELECT id FROM messages LIMIT (SELECT count(*) / 20 FROM messages);
VACUUM ANALYZE messages, few_messages;

INSERT INTO statements (workload, data, system, query, check_query, scale)
SELECT 'filter rows by a set from a row', 'a user', w.system,
	format('SELECT count(*) FROM ' || w.form, w.input),
	format('SELECT count(*) FROM ' || w.form, 'few_messages'),
	CASE WHEN w.input = 'few_messages' THEN 20 ELSE 1 END
FROM (VALUES
	('roaring64', 'messages', '%s m JOIN users_roaring64 u ON m.id <@ u.s WHERE u.set = 1'),
	('floor', 'messages', '%s m WHERE m.id IS NOT NULL'),
	('peer', 'messages', '%s m JOIN users_peer u ON m.id <@ u.s WHERE u.set = 1'),
	('array', 'few_messages', '%s m JOIN users_array u ON m.id = ANY (u.s) WHERE u.set = 1'),
	('rows', 'messages', '%s m JOIN users_rows u USING (id) WHERE u.set = 1'))
	w (system, input, form);

INSERT INTO statements (workload, data, system, query)
SELECT 'filter rows by a constant set', 'a user', w.*
FROM users_roaring64, LATERAL (VALUES
	('roaring64', format('SELECT count(*) FROM messages WHERE id <@ %L::roaring64',
		roaring64_to_array(s)::text)),
	('floor', 'SELECT count(*) FROM messages WHERE id IS NOT NULL'),
	('peer', format('SELECT count(*) FROM messages WHERE id <@ %L::roaringbitmap64',
		roaring64_to_array(s)::text)),
	('array', format('SELECT count(*) FROM messages WHERE id = ANY (%L::bigint[])',
		roaring64_to_array(s)::text))) w
WHERE set = 1;
