package pgroaring64

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// The type is where the extension is, whatever the search path.
const findType = `
SELECT t.oid::bigint, t.typarray::bigint
FROM pg_catalog.pg_extension e
JOIN pg_catalog.pg_type t ON t.typnamespace = e.extnamespace AND t.typname = 'roaring64'
WHERE e.extname = 'roaring64'`

// Register lets a connection read and write roaring64 as *roaring64.Bitmap and
// Set, and arrays of it as slices of these; a parameter may also be a []int64 of
// ids, or a []byte, the bytes of a set.  It fits AfterConnect of a pool, and stdlib.OptionAfterConnect.
//
// It returns an error if the database has no extension roaring64.
func Register(ctx context.Context, conn *pgx.Conn) error {
	var oid, array uint32
	// without a prepared statement, which a pooler in between might lose
	err := conn.QueryRow(ctx, findType, pgx.QueryExecModeSimpleProtocol).Scan(&oid, &array)
	if errors.Is(err, pgx.ErrNoRows) {
		return errors.New("the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64")
	} else if err != nil {
		return fmt.Errorf("looking for the type roaring64: %w", err)
	}
	types := conn.TypeMap()
	element := &pgtype.Type{Name: "roaring64", OID: oid, Codec: codec{}}
	types.RegisterType(element)
	types.RegisterType(&pgtype.Type{Name: "_roaring64", OID: array, Codec: &pgtype.ArrayCodec{ElementType: element}})
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
type codec struct{}

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
