package pgroaring64

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// The type is where the extension is, whatever the search path.
const findType = `
SELECT t.oid::bigint, t.typarray::bigint, e.extversion, pg_catalog.string_to_array(e.extversion, '.')::int[] < '{1,0}'
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_type t ON t.typnamespace = e.extnamespace AND t.typname = 'roaring64'
WHERE e.extname = 'roaring64'`

// Register lets a connection send and read the bytes of a Set, and arrays of it as
// slices of Set.  It fits AfterConnect of a pool, and stdlib.OptionAfterConnect.
//
// It returns an error if the database has no extension roaring64, or an older one.
func Register(ctx context.Context, conn *pgx.Conn) error {
	var oid, array uint32
	var version string
	var old bool
	// without a prepared statement, which a pooler in between might lose
	err := conn.QueryRow(ctx, findType, pgx.QueryExecModeSimpleProtocol).Scan(&oid, &array, &version, &old)
	if errors.Is(err, pgx.ErrNoRows) {
		return errors.New("the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64")
	} else if err != nil {
		return fmt.Errorf("looking for the extension roaring64: %w", err)
	} else if old {
		return fmt.Errorf("roaring64 %s is too old, 1.0 is needed: ALTER EXTENSION roaring64 UPDATE", version)
	}
	types := conn.TypeMap()
	element := &pgtype.Type{Name: "roaring64", OID: oid, Codec: codec{}}
	types.RegisterType(element)
	types.RegisterType(&pgtype.Type{Name: "_roaring64", OID: array, Codec: &pgtype.ArrayCodec{ElementType: element}})
	// for where the server is not asked which type a parameter has
	for _, value := range []any{Set{}, &Set{}} {
		types.RegisterDefaultPgType(value, "roaring64")
	}
	for _, value := range []any{[]Set{}, []*Set{}} {
		types.RegisterDefaultPgType(value, "_roaring64")
	}
	return nil
}

// codec is for pgx what translates a roaring64.  The binary format is that of a
// bytea, and the server reads the text of a bytea; its own text may be {1,2,3}.
type codec struct{ pgtype.ByteaCodec }

// BytesValue is what a codec of pgx sends.
func (set Set) BytesValue() ([]byte, error) { return set.MarshalBinary() }

func (codec) PlanScan(_ *pgtype.Map, _ uint32, _ int16, target any) pgtype.ScanPlan {
	switch target.(type) {
	case *Set, *string: // database/sql asks pgx for a string
		return scanPlan{}
	}
	return nil
}

type scanPlan struct{}

func (scanPlan) Scan(source []byte, target any) error {
	switch target := target.(type) {
	case *Set:
		if source == nil {
			return target.Scan(nil)
		}
		return target.Scan(source)
	case *string:
		if source == nil {
			return errors.New("cannot scan NULL into *string")
		}
		*target = string(source)
		if isBytes(source) {
			*target = `\x` + hex.EncodeToString(source)
		}
	}
	return nil
}

func (codec) DecodeDatabaseSQLValue(_ *pgtype.Map, _ uint32, _ int16, source []byte) (driver.Value, error) {
	if source == nil {
		return nil, nil
	}
	return bytes.Clone(source), nil
}

func (codec) DecodeValue(_ *pgtype.Map, _ uint32, _ int16, source []byte) (any, error) {
	if source == nil {
		return nil, nil
	}
	var set Set
	err := set.Scan(source)
	return set, err
}
