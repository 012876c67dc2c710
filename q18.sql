SET search_path = random_queries, public;
\set q 'SELECT k, id, count(*), sum(u), row_number() OVER (ORDER BY k, id DESC) FROM by_two t WHERE roaring64_contains_element(E\'\\\\x0100000000000000000000003b3000000100002700010014002700\'::roaring64, t.id) AND t.k BETWEEN 12 AND 15 GROUP BY k, id ORDER BY k, id DESC LIMIT 18'
EXPLAIN (COSTS OFF) :q;
SET constraint_exclusion = on;
EXPLAIN (COSTS OFF) :q;
EXPLAIN (COSTS OFF) SELECT count(*) FROM by_two t WHERE id >= 20 AND id <= 59 AND t.k BETWEEN 12 AND 15;
EXPLAIN (COSTS OFF) SELECT count(*) FROM by_two t WHERE id >= 20::bigint AND id <= 59::bigint AND t.k >= 12 AND t.k <= 15;
EXPLAIN (COSTS OFF) SELECT count(*) FROM by_two t WHERE t.k BETWEEN 12 AND 15 AND id >= 20::bigint AND id <= 59::bigint;
EXPLAIN (COSTS OFF) SELECT count(*) FROM by_two t WHERE t.k BETWEEN 12 AND 15;
RESET constraint_exclusion;
SELECT * FROM random_queries.compare_queries(668478, 2000);
