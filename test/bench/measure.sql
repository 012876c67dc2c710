/*
 * measure.sql
 *	  Runs all statements that have not been run yet, in turn.
 *
 * Every other round goes from the last to the first, as a statement may be
 * slower after one than after another: whatever writes leaves work behind.
 *
 * Every call is a statement of its own, so that each has the whole of the
 * statement timeout.
 */
\if :peer
\else
DELETE FROM statements WHERE system IN ('peer', 'peer_floor');
\endif

-- The workloads in the order in which they were written down.
CREATE TEMPORARY VIEW pending AS
SELECT id, min(id) OVER (PARTITION BY workload, data) AS workload_id
FROM statements
WHERE NOT measured;

SELECT call
FROM pending, LATERAL (
	SELECT 0 AS round, format('CALL answer(%s)', id) AS call
	UNION ALL
	SELECT round, format('CALL take_time(%s, %s)', id, round)
	FROM generate_series(1, :rounds) round) calls
ORDER BY workload_id, round, CASE round % 2 WHEN 0 THEN id ELSE -id END \gexec

UPDATE statements SET measured = true WHERE NOT measured;
