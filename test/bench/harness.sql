/*
 * harness.sql
 *	  What is timed, how, and what is wrong with the result.
 *
 * A statement is one contestant's way to do a workload on a data set.  Those
 * of one workload and data set are timed in turn.
 */

-- The compression that was asked for; else lz4, if the server has it.
SELECT format('ALTER DATABASE %I SET %s = %L', current_database(), name,
	coalesce(nullif(:'compression', ''), 'lz4'))
FROM pg_settings
WHERE name = 'default_toast_compression'
	AND (:'compression' <> '' OR 'lz4' = ANY (enumvals)) \gexec

-- Workers only where a workload is about them.
SELECT format('ALTER DATABASE %I SET max_parallel_workers_per_gather = 0',
	current_database()) \gexec

/*
 * system: roaring64, peer (roaringbitmap64), array (bigint[]), rows; and
 * floor, peer_floor: what it costs to read the same input and do nothing with
 * it, for roaring64 and for the peer.  A floor without another for the peer is
 * the floor of both.
 *
 * query is timed, after setup, which is not.  check_query gives the answer
 * that must agree; if it is NULL, query does.  A floor has no answer.  The
 * time is to be multiplied by scale, since the statement does only a part of
 * the work, or (below 1) does it several times.
 *
 * What takes little time is executed several times for one measurement.  A time
 * includes the planning.
 */
CREATE TABLE statements (
	id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	workload text NOT NULL,
	data text NOT NULL,
	system text NOT NULL CHECK (system IN
		('roaring64', 'peer', 'array', 'rows', 'floor', 'peer_floor')),
	query text NOT NULL,
	check_query text,
	setup text,
	scale numeric NOT NULL DEFAULT 1,
	answer text,
	repeats int NOT NULL DEFAULT 1,
	timed_out boolean NOT NULL DEFAULT false,
	measured boolean NOT NULL DEFAULT false,
	UNIQUE (workload, data, system));

CREATE TABLE times (
	statement int NOT NULL REFERENCES statements, round int NOT NULL,
	ms numeric NOT NULL);

/*
 * Lets a statement give its answer, brings what it reads into memory, and finds
 * out how often to execute it for a measurement: for 10 ms, at most 100 times,
 * and once where there is something to set up.
 */
CREATE PROCEDURE answer(statement_id int)
LANGUAGE plpgsql AS $$
DECLARE
	st statements;
	start timestamptz;
	ms numeric;
BEGIN
	SELECT * INTO STRICT st FROM statements WHERE id = statement_id;
	BEGIN
		IF st.setup IS NOT NULL THEN
			EXECUTE st.setup;
		END IF;
		EXECUTE coalesce(st.check_query, st.query) INTO st.answer;
		UPDATE statements
		SET answer = coalesce(st.answer, 'none')
		WHERE id = st.id AND system NOT IN ('floor', 'peer_floor');
		IF st.setup IS NULL THEN
			start := clock_timestamp();
			EXECUTE st.query;
			ms := 1000 * extract(epoch FROM clock_timestamp() - start);
			UPDATE statements
			SET repeats = least(100, ceil(10 / greatest(ms, 0.01)))
			WHERE id = st.id;
		END IF;
	EXCEPTION WHEN query_canceled THEN	-- the statement timeout
		UPDATE statements SET timed_out = true WHERE id = st.id;
	END;
END $$;

-- Takes the measurement of a round.
CREATE PROCEDURE take_time(statement_id int, round int)
LANGUAGE plpgsql AS $$
DECLARE
	st statements;
	start timestamptz;
	stop timestamptz;
BEGIN
	SELECT * INTO STRICT st FROM statements WHERE id = statement_id;
	IF st.timed_out THEN
		RETURN;
	END IF;
	BEGIN
		IF st.setup IS NOT NULL THEN
			EXECUTE st.setup;
		END IF;
		start := clock_timestamp();
		FOR i IN 1 .. st.repeats LOOP
			EXECUTE st.query;
		END LOOP;
		stop := clock_timestamp();
		INSERT INTO times
		VALUES (st.id, round, 1000 * extract(epoch FROM stop - start) / st.repeats);
	EXCEPTION WHEN query_canceled THEN
		UPDATE statements SET timed_out = true WHERE id = st.id;
	END;
END $$;

-- What must not be; the run fails with it.
CREATE VIEW problems AS
SELECT format('%s, %s: answers differ: %s', workload, data,
	string_agg(format('%s %s', system, left(answer, 80)), ', ' ORDER BY id))
FROM statements
WHERE answer IS NOT NULL
GROUP BY workload, data
HAVING count(DISTINCT answer) > 1
UNION ALL
SELECT format('%s, %s: roaring64 was not timed', workload, data)
FROM statements s
WHERE system = 'roaring64'
	AND (timed_out OR NOT EXISTS (SELECT FROM times WHERE statement = s.id))
UNION ALL
SELECT 'nothing was measured'
WHERE NOT EXISTS (SELECT FROM times);
