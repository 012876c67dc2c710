-- census.sql
--	  What the sets of test/interop are.  With the variable verdict, how many of
--	  the kinds below occur, and how many do not.

WITH kinds (kind, number) AS (
	SELECT k.* FROM
		(SELECT count(*) AS sets, sum(roaring64_cardinality(members)) AS elements,
			sum(s.array_containers) AS arrays, sum(s.bitset_containers) AS bitsets,
			sum(s.run_containers) AS runs, sum(s.buckets) AS buckets,
			count(*) FILTER (WHERE roaring64_is_empty(members)) AS empty,
			count(*) FILTER (WHERE roaring64_cardinality(members) = 1) AS single,
			count(*) FILTER (WHERE roaring64_min(members) < 0) AS negative,
			count(*) FILTER (WHERE roaring64_max(members) = 9223372036854775807) AS max,
			count(*) FILTER (WHERE members @> -1) AS minus_one,
			count(*) FILTER (WHERE s.buckets > 50) AS many,
			count(*) FILTER (WHERE EXISTS (
				SELECT FROM roaring64_ranges(members) AS r
				WHERE lower(r) <= 9223372036854710272 AND
					coalesce(upper(r), 9223372036854775807) >> 16 >
					(lower(r) + 65535) >> 16)) AS "full"
		 FROM sets, roaring64_stats(members) AS s) AS t,
		LATERAL (VALUES ('sets', t.sets), ('elements', t.elements),
			('array containers', t.arrays), ('bitset containers', t.bitsets),
			('run containers', t.runs), ('buckets', t.buckets),
			('empty sets', t.empty), ('sets of one element', t.single),
			('sets with negative elements', t.negative),
			('sets with the largest bigint', t.max), ('sets with -1', t.minus_one),
			('sets of more than 50 buckets', t.many),
			('sets with full containers', t."full")) AS k (kind, number))
\if :{?verdict}
SELECT count(*) FILTER (WHERE number > 0), count(*) FILTER (WHERE number = 0) FROM kinds;
\else
SELECT string_agg(number || ' ' || kind, ', ') FROM kinds;
\endif
