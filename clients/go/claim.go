package pgroaring64

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// ID is what can be claimed: a bigint, a UUID (16 bytes, as those of
// github.com/google/uuid are), or text.  A set that was made for UUIDs takes
// them as such only, and one that was made for text takes strings.
type ID interface {
	~int | ~int64 | ~[16]byte | ~string
}

// Claim claims an id of a dedup set, and returns whether it is new.  What the
// transaction does for a new id is committed with the claim, or neither is, and
// then the id is as new as before: that is also what comes of a context that is
// cancelled.
//
//	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//		new, err := pgroaring64.Claim(ctx, tx, "processed", "payments", message.ID)
//		if err != nil || !new {
//			return err
//		}
//		_, err = tx.Exec(ctx, "UPDATE accounts SET ...")
//		return err
//	})
//
// Another transaction that has claimed the id is waited for.  Unless the
// connection is registered, the server is asked first where the extension is.
func Claim[T ID](ctx context.Context, tx pgx.Tx, dedup, key string, id T) (bool, error) {
	var new bool
	statement, arguments, err := claim(dedup, key, reflect.ValueOf(id))
	if err != nil {
		return false, err
	}
	schema, err := schemaOf(ctx, tx)
	if err == nil {
		err = tx.QueryRow(ctx, "SELECT "+schema+statement, arguments...).Scan(&new)
	}
	return new, err
}

// schemaOf returns where the extension is.  A connection remembers it with the type.
func schemaOf(ctx context.Context, tx pgx.Tx) (string, error) {
	if conn := tx.Conn(); conn != nil {
		if registered, ok := conn.TypeMap().TypeForName("roaring64"); ok {
			if known, ok := registered.Codec.(codec); ok {
				return known.schema, nil
			}
		}
	}
	found, err := find(ctx, tx)
	return found.schema, err
}

// ClaimTx does what Claim does in a transaction of database/sql.  It always asks
// where the extension is.
func ClaimTx[T ID](ctx context.Context, tx *sql.Tx, dedup, key string, id T) (bool, error) {
	var new bool
	statement, arguments, err := claim(dedup, key, reflect.ValueOf(id))
	if err != nil {
		return false, err
	}
	found, err := scanExtension(tx.QueryRowContext(ctx, findExtension))
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT "+found.schema+statement, arguments...).Scan(&new)
	}
	return new, err
}

// claim returns the statement from the dot after the schema, and its arguments,
// all but a bigint as text.
func claim(dedup, key string, id reflect.Value) (string, []any, error) {
	var cast string
	var argument any
	switch id.Kind() {
	case reflect.Array:
		uuid := id.Convert(reflect.TypeFor[[16]byte]()).Interface().([16]byte)
		cast, argument = "CAST(CAST($3 AS text) AS uuid)", hex.EncodeToString(uuid[:])
	case reflect.String:
		cast, argument = "CAST($3 AS text)", id.String()
	default:
		cast, argument = "CAST($3 AS bigint)", id.Int()
	}
	arguments := []any{dedup, key, argument}
	for _, argument := range arguments {
		if text, ok := argument.(string); ok && (strings.Contains(text, "\x00") || !utf8.ValidString(text)) {
			return "", nil, fmt.Errorf("%q is no text that PostgreSQL could have", text)
		}
	}
	return ".roaring64_dedup_claim(CAST(CAST($1 AS text) AS regclass), CAST($2 AS text), " + cast + ")", arguments, nil
}
