/*
Package pgroaring64 is for the PostgreSQL type roaring64, a set of bigint.

A value is a Set, which has a Bitmap of github.com/RoaringBitmap/roaring/v2/roaring64,
or is NULL.  database/sql takes it as it is; for pgx, Register teaches a connection
to send and read its bytes.

The ids of a roaring64 are signed, and the elements of a Bitmap are not: a Bitmap
has 1<<64 - 1 for the id -1, and puts it after 1<<63 - 1.  The ids of Of, Has, IDs
and All are signed, and ascend as bigint does.
*/
package pgroaring64

import (
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Set is a bitmap, or NULL if it has none.
//
// NULL is null in SQL and in JSON, no bytes to MarshalBinary and gob, and no text
// to MarshalText; it has no ids.
type Set struct{ *roaring64.Bitmap }

// Of returns the set of some ids, in any order; of none, the empty set.
func Of(ids ...int64) Set {
	elements := make([]uint64, len(ids))
	for i, id := range ids {
		elements[i] = uint64(id)
	}
	bitmap := roaring64.New()
	bitmap.AddMany(elements)
	bitmap.RunOptimize() // as the server has it
	return Set{bitmap}
}

// Has returns whether an id is in the set.
func (set Set) Has(id int64) bool { return set.Bitmap != nil && set.Contains(uint64(id)) }

// IDs returns the ids of the set, signed and in ascending order.
func (set Set) IDs() []int64 {
	if set.Bitmap == nil {
		return nil
	}
	return slices.AppendSeq(make([]int64, 0, set.GetCardinality()), set.All())
}

// All yields what IDs returns.
func (set Set) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		if set.Bitmap == nil {
			return
		}
		it := set.Iterator()
		for it.AdvanceIfNeeded(1 << 63); it.HasNext(); {
			if !yield(int64(it.Next())) {
				return
			}
		}
		for it = set.Iterator(); it.HasNext() && it.PeekNext() <= math.MaxInt64; {
			if !yield(int64(it.Next())) {
				return
			}
		}
	}
}

// Equal returns whether two sets have the same ids, or are both NULL.
func (set Set) Equal(other Set) bool {
	if set.Bitmap == nil || other.Bitmap == nil {
		return set.Bitmap == other.Bitmap
	}
	return set.Equals(other.Bitmap)
}

// String returns {-1,5}, of more than a hundred ids the first ones.
func (set Set) String() string {
	if set.Bitmap == nil {
		return "NULL"
	}
	var ids []string
	for id := range set.All() {
		if len(ids) == 100 {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	return "{" + strings.Join(ids, ",") + "}"
}

// MarshalBinary returns the bytes of the set in the portable format.
func (set Set) MarshalBinary() ([]byte, error) {
	if set.Bitmap == nil {
		return nil, nil
	}
	return set.ToBytes()
}

func (set *Set) UnmarshalBinary(data []byte) error {
	return set.read(len(data) == 0, func() (Set, error) { return FromBytes(data) })
}

// MarshalText returns the bytes of the set in hexadecimal, which the server reads.
func (set Set) MarshalText() ([]byte, error) {
	data, err := set.MarshalBinary()
	if data == nil || err != nil {
		return nil, err
	}
	return hex.AppendEncode([]byte(`\x`), data), nil
}

// UnmarshalText reads what MarshalText returns, and {-1,5}.
func (set *Set) UnmarshalText(text []byte) error {
	return set.read(len(text) == 0, func() (Set, error) { return fromText(string(text)) })
}

// MarshalJSON returns an array of the ids.
func (set Set) MarshalJSON() ([]byte, error) { return json.Marshal(set.IDs()) }

// UnmarshalJSON reads an array of ids, which may be strings.
func (set *Set) UnmarshalJSON(data []byte) error {
	var list []json.Number
	err := json.Unmarshal(data, &list)
	if err == nil {
		err = set.read(list == nil, func() (Set, error) { return parse(list) })
	}
	return err
}

// read sets the set to NULL or to what comes of a call, unless that is an error.
func (set *Set) read(isNull bool, call func() (Set, error)) (err error) {
	var value Set
	if !isNull {
		value, err = call()
	}
	if err == nil {
		*set = value
	}
	return err
}

func parse[T ~string](list []T) (Set, error) {
	ids := make([]int64, len(list))
	for i, digits := range list {
		var err error
		if ids[i], err = strconv.ParseInt(string(digits), 10, 64); err != nil {
			return Set{}, fmt.Errorf("this is not an id: %w", err)
		}
	}
	return Of(ids...), nil
}

// fromText returns the set that has this text, {1,2,3} or \x and the bytes in
// hexadecimal.
func fromText(text string) (Set, error) {
	if digits, found := strings.CutPrefix(text, `\x`); found {
		data, err := hex.DecodeString(digits)
		if err != nil {
			return Set{}, fmt.Errorf("this is not the text of a roaring64: %w", err)
		}
		return FromBytes(data)
	}
	list, opened := strings.CutPrefix(text, "{")
	list, closed := strings.CutSuffix(list, "}")
	if !opened || !closed {
		return Set{}, errors.New("the text of a roaring64 begins with { or \\x")
	} else if list == "" {
		return Of(), nil
	}
	return parse(strings.Split(list, ","))
}

// isBytes returns whether a driver has handed over bytes and not text: the first
// eight are a number far below 1<<56, and text has no zeros.
func isBytes(data []byte) bool { return len(data) >= 8 && data[7] == 0 }

// Scan reads a column of the type roaring64, or of one that was cast to bytea.
func (set *Set) Scan(source any) error {
	return set.read(source == nil, func() (Set, error) {
		switch source := source.(type) {
		case string:
			return fromText(source)
		case []byte:
			if isBytes(source) {
				return FromBytes(source)
			}
			return fromText(string(source))
		}
		return Set{}, fmt.Errorf("cannot scan %T into a set of roaring64", source)
	})
}

// Value returns the set as text, which every driver sends as it is.
func (set Set) Value() (driver.Value, error) {
	text, err := set.MarshalText()
	if text == nil || err != nil {
		return nil, err
	}
	return string(text), nil
}
