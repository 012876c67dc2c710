package pgroaring64

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// Type and functions are where the extension is, whatever the search path.
const findExtension = `
SELECT t.oid::bigint, t.typarray::bigint, pg_catalog.quote_ident(n.nspname)
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'roaring64'
WHERE e.extname = 'roaring64'`

// extension is what findExtension finds.
type extension struct {
	oid, array uint32
	schema     string // within quotes where it has to be
}

// scanExtension reads the row of findExtension, of pgx or of database/sql.
func scanExtension(row interface{ Scan(...any) error }) (extension, error) {
	var found extension
	err := row.Scan(&found.oid, &found.array, &found.schema)
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, sql.ErrNoRows) {
		err = errors.New("the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64")
	} else if err != nil {
		err = fmt.Errorf("looking for the extension roaring64: %w", err)
	}
	return found, err
}

// find asks the server without a prepared statement, which a pooler in between
// might lose.
func find(ctx context.Context, db interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) (extension, error) {
	return scanExtension(db.QueryRow(ctx, findExtension, pgx.QueryExecModeSimpleProtocol))
}

// Register lets a connection read and write roaring64 as *roaring64.Bitmap and
// Set, and arrays of it as slices of these; a parameter may also be a []int64 of
// ids, or a []byte, the bytes of a set.  It fits AfterConnect of a pool, and stdlib.OptionAfterConnect.
//
// It returns an error if the database has no extension roaring64.
func Register(ctx context.Context, conn *pgx.Conn) error {
	found, err := find(ctx, conn)
	if err != nil {
		return err
	}
	types := conn.TypeMap()
	element := &pgtype.Type{Name: "roaring64", OID: found.oid, Codec: codec{schema: found.schema}}
	types.RegisterType(element)
	types.RegisterType(&pgtype.Type{Name: "_roaring64", OID: found.array, Codec: &pgtype.ArrayCodec{ElementType: element}})
	// for where the server is not asked which type a parameter has
	for _, value := range []any{roaring64.Bitmap{}, &roaring64.Bitmap{}, Set{}, &Set{}} {
		types.RegisterDefaultPgType(value, "roaring64")
	}
	for _, value := range []any{[]roaring64.Bitmap{}, []*roaring64.Bitmap{}, []Set{}, []*Set{}} {
		types.RegisterDefaultPgType(value, "_roaring64")
	}
	return nil
}

// codec is for pgx what translates a roaring64, in both formats.
type codec struct{ schema string }

func (codec) FormatSupported(format int16) bool {
	return format == pgtype.BinaryFormatCode || format == pgtype.TextFormatCode
}

func (codec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

func (codec) PlanEncode(_ *pgtype.Map, _ uint32, format int16, value any) pgtype.EncodePlan {
	switch value.(type) {
	case roaring64.Bitmap, *roaring64.Bitmap, Set, []int64, []byte:
		if format == pgtype.BinaryFormatCode {
			return encodePlan(appendBytes)
		}
		return encodePlan(appendText)
	}
	return nil
}

type encodePlan func(buf []byte, bitmap *roaring64.Bitmap) ([]byte, error)

// Encode returns nil for NULL.
func (encode encodePlan) Encode(value any, buf []byte) ([]byte, error) {
	var bitmap *roaring64.Bitmap
	var err error
	switch value := value.(type) {
	case roaring64.Bitmap:
		bitmap = &value
	case *roaring64.Bitmap:
		bitmap = value
	case Set:
		bitmap = value.Bitmap
	case []int64:
		bitmap = Of(value...)
	case []byte:
		bitmap, err = FromBytes(value)
	}
	if bitmap == nil || err != nil {
		return nil, err
	}
	return encode(buf, bitmap)
}

func (codec) PlanScan(_ *pgtype.Map, _ uint32, format int16, target any) pgtype.ScanPlan {
	switch target.(type) {
	case *roaring64.Bitmap, *Set:
		return scanPlan(format)
	case *string: // which is what database/sql asks pgx for
		return scanPlan(format)
	}
	return nil
}

type scanPlan int16 // the format

func (format scanPlan) Scan(source []byte, target any) error {
	if set, ok := target.(*Set); ok && source == nil {
		set.Bitmap = nil
		return nil
	} else if source == nil {
		return fmt.Errorf("cannot scan NULL into %T", target)
	}
	bitmap, err := decode(int16(format), source)
	if err != nil {
		return err
	}
	switch target := target.(type) {
	case *roaring64.Bitmap:
		*target = *bitmap // what the target had belongs to whoever has copied it
	case *Set:
		target.Bitmap = bitmap
	case *string:
		text, err := appendText(nil, bitmap)
		*target = string(text)
		return err
	}
	return nil
}

func (codec) DecodeDatabaseSQLValue(_ *pgtype.Map, _ uint32, format int16, source []byte) (driver.Value, error) {
	if source == nil {
		return nil, nil
	}
	bitmap, err := decode(format, source)
	if err != nil {
		return nil, err
	}
	return Set{bitmap}.Value()
}

func (codec) DecodeValue(_ *pgtype.Map, _ uint32, format int16, source []byte) (any, error) {
	if source == nil {
		return nil, nil
	}
	return decode(format, source)
}

func decode(format int16, source []byte) (*roaring64.Bitmap, error) {
	if format == pgtype.BinaryFormatCode {
		return FromBytes(source)
	}
	return fromText(string(source))
}
