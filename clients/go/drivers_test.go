package pgroaring64_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	pgroaring64 "a-seed-c7145ffc.example/roaring64/clients/go"
)

var modes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// row is what the tests want of a connection of any kind.
type row func(statement string, arguments, targets []any) error

func rowOf(t *testing.T, conn *pgx.Conn) row {
	return func(statement string, arguments, targets []any) error {
		return conn.QueryRow(t.Context(), statement, arguments...).Scan(targets...)
	}
}

// connections returns one of every kind, with the name of it.
func connections(t *testing.T) map[string]row {
	rows := map[string]row{}
	for _, mode := range modes {
		rows[mode.String()] = rowOf(t, connect(t, mode))
	}
	for name, options := range map[string][]stdlib.OptionOpenDB{
		"database/sql":             nil,
		"database/sql, registered": {stdlib.OptionAfterConnect(pgroaring64.Register)},
	} {
		for _, mode := range modes {
			config, err := pgx.ParseConfig("")
			check(t, err)
			config.DefaultQueryExecMode = mode
			db := stdlib.OpenDB(*config, options...)
			t.Cleanup(func() { db.Close() })
			rows[fmt.Sprint(name, ", ", mode)] = func(statement string, arguments, targets []any) error {
				return db.QueryRowContext(t.Context(), statement, arguments...).Scan(targets...)
			}
		}
	}
	return rows
}

// The same ids go in and come out as a set and as a bigint[], by the same
// driver, and the server compares them too.
func TestAgainstArrays(t *testing.T) {
	for name, query := range connections(t) {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewSource(4))
			for range 30 {
				ids := randomIDs(random)
				bitmap := pgroaring64.Of(shuffled(random, ids)...)
				if random.Intn(2) == 0 {
					bitmap.RunOptimize()
				}
				before := pgroaring64.Set{Bitmap: bitmap.Clone()}
				var same bool
				var set pgroaring64.Set
				var array []int64
				err := query(`SELECT $1::roaring64 = $2::bigint[]::roaring64, $1::roaring64, $1::roaring64::bigint[]`,
					[]any{bitmap, ids}, []any{&same, &set, arrayTarget(name, &array)})
				check(t, err)
				if !same || !slices.Equal(array, ids) {
					t.Fatalf("of %d ids the server has %d", len(ids), len(array))
				}
				if got := set.IDs(); !slices.Equal(got, ids) {
					t.Fatalf("of %d ids came %d", len(ids), len(got))
				}
				if !bitmap.Equal(before) {
					t.Fatal("a parameter was changed")
				}
			}
		})
	}
}

// arrayTarget lets database/sql read an array.
func arrayTarget(name string, array *[]int64) any {
	if strings.HasPrefix(name, "database/sql") {
		return pgtype.NewMap().SQLScanner(array)
	}
	return array
}

// Both forms of the text, whatever the server is told to write.
func TestForms(t *testing.T) {
	for _, mode := range modes {
		for _, form := range []string{"auto", "array", "hex"} {
			conn := connect(t, mode)
			_, err := conn.Exec(t.Context(), "SET roaring64.output_format = '"+form+"'")
			check(t, err)
			for _, n := range []int64{0, 1, 1024, 1025} {
				var read pgroaring64.Set
				err := conn.QueryRow(t.Context(),
					"SELECT coalesce(roaring64_agg(i), '{}') FROM generate_series(1, $1::bigint) AS i", n).Scan(&read)
				check(t, err)
				if read.GetCardinality() != uint64(n) {
					t.Errorf("%v, %s: %d ids of %d", mode, form, read.GetCardinality(), n)
				}
			}
		}
	}
}

// A Set reads what was cast to bytea.
func TestBytea(t *testing.T) {
	for name, query := range connections(t) {
		for _, want := range [][]int64{{}, {-1, 5}} {
			var set pgroaring64.Set
			check(t, query("SELECT $1::roaring64::bytea", []any{pgroaring64.Of(want...)}, []any{&set}))
			if got := set.IDs(); !slices.Equal(got, want) {
				t.Errorf("%s: %v is %v", name, want, got)
			}
		}
	}
}

func TestNull(t *testing.T) {
	for name, query := range connections(t) {
		for _, null := range []any{nil, pgroaring64.Set{}, sql.Null[pgroaring64.Set]{}} {
			isNull, set := false, pgroaring64.Of(1)
			check(t, query("SELECT $1::roaring64 IS NULL, NULL::roaring64", []any{null}, []any{&isNull, &set}))
			if !isNull || set.Bitmap != nil {
				t.Errorf("%s: %T: NULL was not sent or not read", name, null)
			}
		}
		isEmpty, set := false, pgroaring64.Set{}
		check(t, query("SELECT $1::roaring64 = '{}', '{}'::roaring64",
			[]any{pgroaring64.Of()}, []any{&isEmpty, &set}))
		if !isEmpty || set.Bitmap == nil || !set.IsEmpty() {
			t.Errorf("%s: the empty set was not sent or not read", name)
		}
		var nullable sql.Null[pgroaring64.Set]
		check(t, query("SELECT '{7}'::roaring64", nil, []any{&nullable}))
		if !nullable.Valid || !nullable.V.Contains(7) {
			t.Errorf("%s: sql.Null is %v", name, nullable)
		}
	}
}

func TestTypesOfPgx(t *testing.T) {
	for _, mode := range modes {
		conn := connect(t, mode)
		query := rowOf(t, conn)
		set, same := pgroaring64.Of(-1, 5), false
		pointer := &set
		for _, value := range []any{set, pointer, &pointer, "{-1,5}"} {
			check(t, query("SELECT $1::roaring64 = '{-1,5}'", []any{value}, []any{&same}))
			if !same {
				t.Errorf("%v: %T was not sent", mode, value)
			}
		}
		var missing *pgroaring64.Set
		check(t, query("SELECT '{-1,5}'::roaring64, NULL::roaring64, $1::roaring64 IS NULL", []any{missing}, []any{&pointer, &missing, &same}))
		if !pointer.Equal(set) || missing != nil || !same {
			t.Errorf("%v: %v and %v were read", mode, pointer, missing)
		}
		rows, err := conn.Query(t.Context(), "SELECT '{-1,5}'::roaring64, NULL::roaring64")
		check(t, err)
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) ([]any, error) { return row.Values() })
		check(t, err)
		if !all[0][0].(pgroaring64.Set).Equal(set) || all[0][1] != nil {
			t.Errorf("%v: Values() are %v", mode, all)
		}
		// ids are not a set, whether they are nil or not; and the bitmap of the library has no NULL, no JSON and no sign
		var bitmap roaring64.Bitmap
		if err := query("SELECT '{5}'::roaring64", nil, []any{&bitmap}); err == nil {
			t.Errorf("%v: a bitmap was read", mode)
		}
		var text string
		if err := query("SELECT ('{5}' | $1::roaring64)::text", []any{[]int64{1}}, []any{&text}); err == nil && text != "{1,5}" {
			t.Errorf("%v: []int64 is %s", mode, text)
		}
	}
}

// What was read from one row is not changed by the next.
func TestRowsDoNotShare(t *testing.T) {
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	rows, err := conn.Query(t.Context(), "SELECT roaring64_agg(i * k) FROM generate_series(1::bigint, 5000) AS i, "+
		"generate_series(1, 20) AS k GROUP BY k ORDER BY k")
	check(t, err)
	var read pgroaring64.Set
	var kept []pgroaring64.Set
	_, err = pgx.ForEachRow(rows, []any{&read}, func() error {
		kept = append(kept, read)
		return nil
	})
	check(t, err)
	for k := range kept {
		want := roaring64.New()
		for i := range uint64(5000) {
			want.Add((i + 1) * uint64(k+1))
		}
		if !kept[k].Equals(want) {
			t.Errorf("row %d has another set", k+1)
		}
	}
}

func TestArrays(t *testing.T) {
	sent := []pgroaring64.Set{pgroaring64.Of(-1, 5), {}, pgroaring64.Of(), pgroaring64.Of()}
	for i := range uint64(3000) {
		sent[3].Add(i * 7) // its text is hexadecimal
	}
	for _, mode := range modes {
		query := rowOf(t, connect(t, mode))
		var text string
		var sets []pgroaring64.Set
		var pointers []*pgroaring64.Set
		check(t, query(`SELECT (SELECT string_agg(coalesce(roaring64_cardinality(s)::text, '-'), ' ' ORDER BY n)
			FROM unnest($1::roaring64[]) WITH ORDINALITY AS u (s, n)), $1::roaring64[], $1::roaring64[]`,
			[]any{sent}, []any{&text, &sets, &pointers}))
		if text != "2 - 0 3000" || !slices.EqualFunc(sets, sent, pgroaring64.Set.Equal) {
			t.Fatalf("%v: the server has %q, and %v came", mode, text, sets)
		}
		for i, set := range sent {
			if (set.Bitmap == nil) != (pointers[i] == nil) || pointers[i] != nil && !pointers[i].Equal(set) {
				t.Errorf("%v: element %d is %v", mode, i, pointers[i])
			}
		}
		for _, empty := range []string{"NULL::roaring64[]", "'{}'::roaring64[]"} {
			check(t, query("SELECT "+empty, nil, []any{&sets}))
			if len(sets) != 0 || (sets == nil) != strings.HasPrefix(empty, "NULL") {
				t.Errorf("%v: %s is %v", mode, empty, sets)
			}
		}
	}
}

// No statement reaches the server with what is no set.
func TestBadInput(t *testing.T) {
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	for _, wrong := range []any{1, 1.5, true, []int64{1}, []int64{}, []float64{1}, []uint64{1}, map[int64]bool{1: true}, struct{}{}} {
		_, err := conn.Exec(t.Context(), "SELECT $1::roaring64", wrong)
		if err == nil || !strings.Contains(err.Error(), "failed to encode") {
			t.Errorf("%T: %v", wrong, err)
		}
	}
}

func TestCopy(t *testing.T) {
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	_, err := conn.Exec(t.Context(), "CREATE TEMP TABLE copied (id bigint, ids roaring64)")
	check(t, err)
	_, err = conn.CopyFrom(t.Context(), pgx.Identifier{"copied"}, []string{"id", "ids"},
		pgx.CopyFromRows([][]any{{int64(1), pgroaring64.Of(-1, 5)}, {int64(2), nil}, {int64(3), pgroaring64.Of()}}))
	check(t, err)
	var text string
	check(t, conn.QueryRow(t.Context(),
		"SELECT string_agg(coalesce(ids::bigint[]::text, '-'), ' ' ORDER BY id) FROM copied").Scan(&text))
	if text != "{-1,5} - {}" {
		t.Errorf("copied %s", text)
	}
}

func TestRegister(t *testing.T) {
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	config, err := pgxpool.ParseConfig("")
	check(t, err)
	config.AfterConnect = pgroaring64.Register
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	check(t, err)
	defer pool.Close()
	var read pgroaring64.Set
	check(t, pool.QueryRow(t.Context(), "SELECT '{5}'::roaring64").Scan(&read))
	if !read.Contains(5) {
		t.Error("a pool read another set")
	}

	// the schema need not be on the search path
	_, err = conn.Exec(t.Context(), "SET search_path = pg_catalog")
	check(t, err)
	check(t, pgroaring64.Register(t.Context(), conn))
	check(t, conn.QueryRow(t.Context(), `SELECT '{6}'::"my types".roaring64`).Scan(&read))
	if !read.Contains(6) {
		t.Error("another set was read")
	}

	other, err := pgx.Connect(t.Context(), "dbname=postgres")
	check(t, err)
	defer other.Close(context.Background())
	if err := pgroaring64.Register(t.Context(), other); err == nil || !strings.Contains(err.Error(), "CREATE EXTENSION") {
		t.Errorf("without the extension: %v", err)
	}

	_, err = conn.Exec(t.Context(), "BEGIN; UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'roaring64'")
	check(t, err)
	if err := pgroaring64.Register(t.Context(), conn); err == nil ||
		err.Error() != "roaring64 0.9 is too old, 1.0 is needed: ALTER EXTENSION roaring64 UPDATE" {
		t.Errorf("of an old server: %v", err)
	}
	_, err = conn.Exec(t.Context(), "ROLLBACK")
	check(t, err)
}
