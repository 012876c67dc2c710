package pgroaring64

import (
	"database/sql/driver"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Set is a bitmap, or NULL if it has none, for database/sql and all that is
// built on it.
type Set struct{ *roaring64.Bitmap }

// Scan reads a column of the type roaring64, or of one that was cast to bytea.
func (set *Set) Scan(source any) error {
	var err error
	var bitmap *roaring64.Bitmap
	switch source := source.(type) {
	case nil:
	case string:
		bitmap, err = fromText(source)
	case []byte:
		bitmap, err = fromWire(source)
	default:
		err = fmt.Errorf("cannot scan %T into a set of roaring64", source)
	}
	if err == nil {
		set.Bitmap = bitmap
	}
	return err
}

// Value returns the set as text, which every driver sends as it is.
func (set Set) Value() (driver.Value, error) {
	if set.Bitmap == nil {
		return nil, nil
	}
	text, err := appendText(nil, set.Bitmap)
	return string(text), err
}
