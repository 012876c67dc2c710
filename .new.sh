set -x
t0=$SECONDS
apt-get update -q >/tmp/l 2>&1 && apt-get install -y make postgresql >>/tmp/l 2>&1; tail -2 /tmp/l; echo "T apt $((SECONDS-t0))"
tools/install-deps 2>&1 | tail -3; echo "T deps $((SECONDS-t0))"
make -j "$(nproc)" 2>&1 | tail -2; echo "T make $((SECONDS-t0))"
make install 2>&1 | tail -2; echo "T install $((SECONDS-t0))"
pg_lsclusters
service postgresql start; sleep 2; pg_lsclusters
cd /tmp
su postgres -c "psql -X" <<'SQL'
CREATE EXTENSION roaring64;
CREATE TABLE facts AS SELECT i % 100 AS owner, i AS id FROM generate_series(1, 100000) i;
CREATE TABLE sets AS SELECT owner, roaring64_agg(id) AS ids FROM facts GROUP BY owner;
SELECT pg_size_pretty(pg_total_relation_size('facts')), pg_size_pretty(pg_total_relation_size('sets'));
SELECT roaring64_cardinality(ids) FROM sets WHERE owner = 7;
SQL
echo "T answer $((SECONDS-t0))"
