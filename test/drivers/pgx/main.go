/*
 * main.go
 *	  roaring64 with Go: pgx and RoaringBitmap/roaring.
 *
 * Connects as libpq would (PGHOST, PGDATABASE and so on) and wants
 * CREATE EXTENSION roaring64 to have been done.
 *
 * A roaring64.Bitmap is unsigned where SQL is signed: -1 there is 2^64 - 1 here.
 */
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

/* Set is a Bitmap that pgx can send and receive, as its bytes. */
type Set struct{ roaring64.Bitmap }

func (s *Set) BytesValue() ([]byte, error)   { return s.ToBytes() }
func (s *Set) ScanBytes(source []byte) error { return s.UnmarshalBinary(source) }

/*
 * register lets a connection take and give []byte and Set for roaring64, whose
 * binary format is its bytes as they are.  With a pool, call it in AfterConnect.
 */
func register(ctx context.Context, conn *pgx.Conn) error {
	var oid uint32
	if err := conn.QueryRow(ctx, "SELECT 'roaring64'::regtype::oid").Scan(&oid); err != nil {
		return err
	}
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "roaring64", OID: oid, Codec: pgtype.ByteaCodec{}})
	return nil
}

/* must ends the program on an error, check on what should hold and does not. */
func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(holds bool, what string) {
	if !holds {
		log.Fatal("wrong: ", what)
	}
	fmt.Println("ok -", what)
}

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, "")
	must(err)
	defer conn.Close(ctx)
	exec := func(sql string, args ...any) {
		_, err := conn.Exec(ctx, sql, args...)
		must(err)
	}
	exec("CREATE TEMP TABLE readers (id int PRIMARY KEY, read roaring64)")

	/* As text: what psql shows. */
	var text string
	exec("INSERT INTO readers VALUES (1, $1::text::roaring64)", "{1,2,3}")
	must(conn.QueryRow(ctx, "SELECT read::text FROM readers WHERE id = 1").Scan(&text))
	check(text == "{1,2,3}", "text")

	/* An array parameter, and an element. */
	var array []int64
	var has10 bool
	exec("INSERT INTO readers VALUES (2, $1::bigint[])", []int64{10, 2, 10, -1})
	must(conn.QueryRow(ctx, "SELECT read::bigint[], read @> $1::bigint FROM readers WHERE id = 2", 10).
		Scan(&array, &has10))
	check(slices.Equal(array, []int64{-1, 2, 10}) && has10, "array")

	/* As bytes: the portable format, which other programs read and write too. */
	must(register(ctx, conn))
	var data, again []byte
	must(conn.QueryRow(ctx, "SELECT read FROM readers WHERE id = 2").Scan(&data))
	exec("INSERT INTO readers VALUES (3, $1)", data)
	must(conn.QueryRow(ctx, "SELECT read FROM readers WHERE id = 3").Scan(&again))
	check(len(data) > 8 && bytes.Equal(data, again), "bytes")

	/* As Set, which is a Bitmap. */
	var million, got, small, union Set
	for i := uint64(0); i < 2000000; i += 2 {
		million.Add(i)
	}
	exec("INSERT INTO readers VALUES (4, $1)", &million)
	must(conn.QueryRow(ctx, "SELECT read FROM readers WHERE id = 4").Scan(&got))
	small.Add(math.MaxUint64)
	must(conn.QueryRow(ctx, "SELECT read | $1::roaring64 FROM readers WHERE id = 1", &small).Scan(&union))
	check(got.Equals(&million.Bitmap) &&
		slices.Equal(union.ToArray(), []uint64{1, 2, 3, math.MaxUint64}), "own type")
}
