/*
 * changes.sql
 *	  Adding ids: to a value, to stored sets, to a variable.
 *
 * To be run last, as the row table is changed.  Every UPDATE finds a copy that
 * has just been made and a checkpoint just done: else each pays for what the
 * system still has to write of the one before.
 */
CREATE TABLE changed_roaring64 (set int, s roaring64);
ALTER TABLE changed_roaring64 ALTER s SET STORAGE EXTERNAL;
CREATE TABLE changed_array (set int, s bigint[]);
\if :peer
CREATE TABLE changed_peer (set int, s roaringbitmap64);
\endif

CREATE FUNCTION copy_of(source text, kind text, condition text)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('TRUNCATE changed_%1$s; INSERT INTO changed_%1$s
		SELECT set, s FROM %2$s_%1$s WHERE %3$s; CHECKPOINT', kind, source, condition)
$$;

-- A thousand ids that a pair's second set has and the first has not.
CREATE TABLE new_ids AS
SELECT name, array_agg(id ORDER BY hashint8(id)) AS ids
FROM data_sets, LATERAL (
	SELECT id FROM facts other
	WHERE set = b
		AND NOT EXISTS (SELECT FROM facts WHERE set = a AND id = other.id)
	ORDER BY hashint8(id) LIMIT 1000) new
GROUP BY name;

/*
 * One id and a stored set, without storing the result.
 */
INSERT INTO statements (workload, data, system, query, check_query)
SELECT 'add one id, without storing', name, w.system,
	format('SELECT octet_length((s | %s)::bytea) FROM sets_%s WHERE set = %s', ids[1], w.system, a),
	format('SELECT %s(s | %s) FROM sets_%s WHERE set = %s', w.size, ids[1], w.system, a)
FROM data_sets JOIN new_ids USING (name), LATERAL (VALUES
	('roaring64', 'roaring64_cardinality'), ('peer', 'rb64_cardinality'))
	w (system, size)
ORDER BY a;

INSERT INTO statements (workload, data, system, query)
SELECT 'add one id, without storing', name, w.system,
	format(w.query, a, ids[1])
FROM data_sets JOIN new_ids USING (name), LATERAL (VALUES
	('floor', 'SELECT get_byte(s::bytea, 0) FROM sets_roaring64 WHERE set = %s'),
	('peer_floor', 'SELECT get_byte(s::bytea, 0) FROM sets_peer WHERE set = %s'),
	('array', 'SELECT cardinality(s || %2$s::bigint) FROM sets_array WHERE set = %1$s'))
	w (system, query);

/*
 * UPDATE of every user's set.  The rows of a set get one row more each.
 */
INSERT INTO statements (workload, data, system, query, check_query, setup, scale)
SELECT 'add one id to each set', 'users', w.system, w.query, w.check_query, w.setup,
	CASE WHEN w.system IN ('array', 'rows') THEN part ELSE 1 END
FROM collections, LATERAL (VALUES
	('roaring64',
		'UPDATE changed_roaring64 SET s = s | 20005::bigint',
		format('SELECT sum(roaring64_cardinality(s | 20005::bigint))
			FROM changed_roaring64 WHERE set <= %s', few),
		copy_of('users', 'roaring64', 'true')),
	('peer',
		'UPDATE changed_peer SET s = s | 20005::bigint',
		format('SELECT sum(rb64_cardinality(s | 20005::bigint))
			FROM changed_peer WHERE set <= %s', few),
		copy_of('users', 'peer', 'true')),
	('array',
		'UPDATE changed_array SET s = s || 20005::bigint WHERE 20005 <> ALL (s)',
		'SELECT sum(cardinality(s || 20005::bigint)) FROM changed_array',
		copy_of('users', 'array', format('set <= %s', few))),
	('rows',
		format('INSERT INTO users_rows SELECT set, 20005 FROM generate_series(1, %s) set
			ON CONFLICT DO NOTHING', few),
		format('SELECT count(*) + %s FROM users_rows', few),
		'DELETE FROM users_rows WHERE id = 20005')) w (system, query, check_query, setup)
WHERE name = 'users';

/*
 * UPDATE of one large set.
 */
INSERT INTO statements (workload, data, system, query, check_query, setup)
SELECT 'add 1,000 ids to a large set', name, w.*
FROM data_sets JOIN new_ids USING (name), LATERAL (VALUES
	('roaring64',
		format('UPDATE changed_roaring64 SET s = roaring64_add(s, %L)', ids),
		format('SELECT roaring64_cardinality(roaring64_add(s, %L)) FROM changed_roaring64', ids),
		copy_of('sets', 'roaring64', format('set = %s', a))),
	('peer',
		format('UPDATE changed_peer SET s = s | rb64_build(%L)', ids),
		format('SELECT rb64_cardinality(s | rb64_build(%L)) FROM changed_peer', ids),
		copy_of('sets', 'peer', format('set = %s', a))),
	('array',
		format('UPDATE changed_array SET s = ARRAY(SELECT unnest(s)
			UNION SELECT unnest(%L::bigint[]))', ids),
		format('SELECT cardinality(ARRAY(SELECT unnest(s)
			UNION SELECT unnest(%L::bigint[]))) FROM changed_array', ids),
		copy_of('sets', 'array', format('set = %s', a))),
	('rows',
		format('INSERT INTO facts SELECT %s, unnest(%L::bigint[])
			ON CONFLICT DO NOTHING', a, ids),
		format('SELECT count(*) + %s FROM facts WHERE set = %s', cardinality(ids), a),
		format('DELETE FROM facts WHERE set = %s AND id = ANY (%L)', a, ids))) w
WHERE name IN ('uniform', 'snowflake', 'packed snowflake')
ORDER BY a;

/*
 * A plpgsql loop that adds one id after the other to a variable.  The longer
 * loops show whether the time grows with the number of ids or with its square;
 * which it does for a set before PostgreSQL 18, so there it has the shortest only.
 */
SELECT format('CREATE FUNCTION loop_%s(n bigint) RETURNS bigint
	LANGUAGE plpgsql AS $$
	DECLARE
		s %s := ''{}'';
	BEGIN
		FOR i IN 0 .. n - 1 LOOP
			s := s | (((1279929600000 + i * 37) << 22) | ((i & 3) << 12));
		END LOOP;
		RETURN %s(s);
	END $$', system, type, size)
FROM (VALUES
	('roaring64', 'roaring64', 'roaring64_cardinality'),
	('peer', 'roaringbitmap64', 'rb64_cardinality')) w (system, type, size)
WHERE to_regtype(type) IS NOT NULL \gexec

-- Which does not look for repeats.
CREATE FUNCTION loop_array(n bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	s bigint[] := '{}';
BEGIN
	FOR i IN 0 .. n - 1 LOOP
		s := array_append(s, ((1279929600000 + i * 37) << 22) | ((i & 3) << 12));
	END LOOP;
	RETURN cardinality(s);
END $$;

INSERT INTO statements (workload, data, system, query)
SELECT 'add ids to a variable in a loop', to_char(n, 'FM999,999,999') || ' ids', system,
	format('SELECT loop_%s(%s)', system, n)
FROM (VALUES (:short_loop), (:loop), (2 * :loop)) loops (n),
	(VALUES ('roaring64'), ('peer'), ('array')) w (system)
WHERE system = 'array' OR n = :short_loop
	OR (system = 'roaring64' AND current_setting('server_version_num')::integer >= 180000)
ORDER BY n;
