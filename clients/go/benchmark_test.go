package pgroaring64_test

import (
	"math/rand"
	"testing"

	"github.com/jackc/pgx/v5"

	pgroaring64 "a-seed-c7145ffc.example/roaring64/clients/go"
)

// BenchmarkMillion reads and writes a million ids, as a set and as a bigint[],
// by pgx in both formats.  "go test -run '^$' -bench Million -count 5" gives the
// times of five runs, and in B the bytes.
func BenchmarkMillion(b *testing.B) {
	random := rand.New(rand.NewSource(1))
	bitmap := pgroaring64.Of()
	for bitmap.GetCardinality() < 1_000_000 {
		bitmap.Add(uint64(random.Int63n(10_000_000) - 5_000_000))
	}
	ids := bitmap.IDs()
	for name, mode := range map[string]pgx.QueryExecMode{
		"binary": pgx.QueryExecModeCacheStatement, "text": pgx.QueryExecModeSimpleProtocol} {
		conn := connect(b, mode)
		_, err := conn.Exec(b.Context(), "CREATE TEMP TABLE t AS SELECT $1::roaring64 AS read, $1::roaring64::bigint[] AS ids", bitmap)
		check(b, err)
		for column, run := range map[string]struct{ target, argument any }{
			"read": {&pgroaring64.Set{}, bitmap}, "ids": {&[]int64{}, ids}} {
			send := map[string]string{"read": "SELECT $1::roaring64 IS NULL", "ids": "SELECT $1::bigint[] IS NULL"}[column]
			size := map[string]string{"binaryread": "octet_length(roaring64_send(read))", "binaryids": "octet_length(array_send(ids))",
				"textread": "length(read::text)", "textids": "length(ids::text)"}[name+column]
			var bytes float64
			check(b, conn.QueryRow(b.Context(), "SELECT "+size+" FROM t").Scan(&bytes))
			b.Run(name+"/out/"+column, func(b *testing.B) {
				for b.Loop() {
					check(b, conn.QueryRow(b.Context(), "SELECT "+column+" FROM t").Scan(run.target))
				}
				b.ReportMetric(bytes, "B")
			})
			b.Run(name+"/in/"+column, func(b *testing.B) {
				for b.Loop() {
					var isNull bool
					check(b, conn.QueryRow(b.Context(), send, run.argument).Scan(&isNull))
				}
				b.ReportMetric(bytes, "B")
			})
		}
	}
}
