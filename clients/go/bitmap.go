/*
Package pgroaring64 is for the PostgreSQL type roaring64, a set of bigint.

A value is a Bitmap of github.com/RoaringBitmap/roaring/v2/roaring64.  For pgx,
Register teaches a connection to read and write it.  For database/sql, Set is a
Scanner and a Valuer.

The ids of a roaring64 are signed, and the elements of a Bitmap are not: a
Bitmap has 1<<64 - 1 for the id -1, and puts it after 1<<63 - 1.  Of, IDs and All
convert: their ids are signed, and ascend as bigint does.
*/
package pgroaring64

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Of returns the set of some ids, in any order.
func Of(ids ...int64) *roaring64.Bitmap {
	elements := make([]uint64, len(ids))
	for i, id := range ids {
		elements[i] = uint64(id)
	}
	bitmap := roaring64.New()
	bitmap.AddMany(elements)
	return bitmap
}

// IDs returns the ids of a bitmap, signed and in ascending order.
func IDs(bitmap *roaring64.Bitmap) []int64 {
	elements := bitmap.ToArray()
	ids := make([]int64, 0, len(elements))
	first := bitmap.Rank(math.MaxInt64) // where the negative ones begin
	for _, part := range [][]uint64{elements[first:], elements[:first]} {
		for _, element := range part {
			ids = append(ids, int64(element))
		}
	}
	return ids
}

// All yields what IDs returns, without an array of it.
func All(bitmap *roaring64.Bitmap) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		it := bitmap.Iterator()
		for it.AdvanceIfNeeded(1 << 63); it.HasNext(); {
			if !yield(int64(it.Next())) {
				return
			}
		}
		for it = bitmap.Iterator(); it.HasNext() && it.PeekNext() < 1<<63; {
			if !yield(int64(it.Next())) {
				return
			}
		}
	}
}

// FromBytes returns the set that has these bytes in the portable format, of
// which it keeps a copy.  An error says that they are no set's.
func FromBytes(data []byte) (*roaring64.Bitmap, error) {
	// ReadFrom allocates as many buckets as there are said to be; each takes 12
	// bytes at least, 4 of them its high bits and 8 an empty 32-bit bitmap.
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8)/12 {
		return nil, errors.New("the bytes of a roaring64 are too short")
	}
	bitmap, reader := roaring64.New(), bytes.NewReader(data)
	if _, err := bitmap.ReadFrom(reader); err != nil {
		return nil, fmt.Errorf("these are not the bytes of a roaring64: %w", err)
	}
	if reader.Len() != 0 {
		return nil, fmt.Errorf("the bytes of a roaring64 have %d more after them", reader.Len())
	}
	if err := bitmap.Validate(); err != nil {
		return nil, fmt.Errorf("these are not the bytes of a roaring64: %w", err)
	}
	return bitmap, nil
}

// fromText returns the set that has this text, {1,2,3} or \x and the bytes in
// hexadecimal.
func fromText(text string) (*roaring64.Bitmap, error) {
	if digits, found := strings.CutPrefix(text, `\x`); found {
		data, err := hex.DecodeString(digits)
		if err != nil {
			return nil, fmt.Errorf("this is not the text of a roaring64: %w", err)
		}
		return FromBytes(data)
	}
	list, opened := strings.CutPrefix(text, "{")
	list, closed := strings.CutSuffix(list, "}")
	if !opened || !closed {
		return nil, errors.New("the text of a roaring64 begins with { or \\x")
	}
	if list == "" {
		return roaring64.New(), nil
	}
	ids := make([]int64, 0, strings.Count(list, ",")+1)
	for digits := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("this is not the text of a roaring64: %w", err)
		}
		ids = append(ids, id)
	}
	return Of(ids...), nil
}

// fromWire returns the set that a driver hands over in a form that it does not
// tell.  The first 8 bytes are a number far below 1<<56, and text has no zeros.
func fromWire(data []byte) (*roaring64.Bitmap, error) {
	if len(data) >= 8 && data[7] == 0 {
		return FromBytes(data)
	}
	return fromText(string(data))
}

// appendBytes appends the bytes of a set to those that are in buf.
func appendBytes(buf []byte, bitmap *roaring64.Bitmap) ([]byte, error) {
	writer := bytes.NewBuffer(buf)
	writer.Grow(int(bitmap.GetSerializedSizeInBytes()))
	_, err := bitmap.WriteTo(writer)
	return writer.Bytes(), err
}

// appendText appends the bytes of a set in hexadecimal, which any server reads.
func appendText(buf []byte, bitmap *roaring64.Bitmap) ([]byte, error) {
	data, err := appendBytes(nil, bitmap)
	return hex.AppendEncode(append(buf, `\x`...), data), err
}
