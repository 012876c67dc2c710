package pgroaring64

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// FromBytes returns the set that has these bytes in the portable format, of
// which it keeps a copy.  An error says that they are not a set's: the same bytes
// are refused as by the server.
func FromBytes(data []byte) (Set, error) {
	data, err := withoutEmpty(data)
	bitmap := roaring64.New()
	if err == nil {
		_, err = bitmap.ReadFrom(bytes.NewReader(data))
	}
	if err != nil {
		return Set{}, fmt.Errorf("these are not the bytes of a roaring64: %w", err)
	}
	return Set{bitmap}, nil
}

var (
	errShort  = errors.New("they are too short")
	errOrder  = errors.New("elements are not in order, or runs touch")
	errCount  = errors.New("a container has another number of elements")
	errHeader = errors.New("the header of a bucket is wrong")
)

// withoutEmpty checks bytes in one pass, which the library does not (it compares
// each run with each other), and returns them without empty buckets, which the
// library does not expect.
//
// The bytes are the number of buckets, and for each the upper 32 bits of its
// elements and a 32-bit bitmap.
func withoutEmpty(data []byte) ([]byte, error) {
	if len(data) < 8 {
		return nil, errShort
	}
	buckets, rest := binary.LittleEndian.Uint64(data), data[8:]
	kept := [][]byte{make([]byte, 8)}
	for last, i := int64(-1), uint64(0); i < buckets; i++ {
		if len(rest) < 12 {
			return nil, errShort
		}
		upper := int64(binary.LittleEndian.Uint32(rest))
		containers, size, err := checkBitmap(rest[4:])
		if err != nil {
			return nil, err
		} else if upper <= last {
			return nil, errOrder
		} else if containers > 0 {
			kept = append(kept, rest[:4+size])
		}
		rest, last = rest[4+size:], upper
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%d more are after them", len(rest))
	}
	if n := uint64(len(kept) - 1); n < buckets {
		binary.LittleEndian.PutUint64(kept[0], n)
		return slices.Concat(kept...), nil
	}
	return data, nil
}

// checkBitmap returns how many containers a 32-bit bitmap of 8 bytes at least has,
// and its size.  It has a cookie, which of the containers are runs, for each bits 16
// to 31 of its elements and how many they are, where the containers are, and these.
func checkBitmap(data []byte) (containers, size int, err error) {
	const cookie, cookieWithRuns = 12346, 12347
	var flags []byte
	first := binary.LittleEndian.Uint32(data)
	containers, heads := int(binary.LittleEndian.Uint32(data[4:])), 8
	if first&0xffff == cookieWithRuns {
		containers = int(first>>16) + 1
		heads = 4 + (containers+7)/8
		flags = data[4:min(heads, len(data))]
	} else if first != cookie || uint(containers) > 1<<16 {
		return 0, 0, errHeader
	}
	offsets := heads + 4*containers
	hasOffsets := flags == nil || containers >= 4
	size = offsets
	if hasOffsets {
		size += 4 * containers
	}
	if len(data) < size {
		return 0, 0, errShort
	}
	for i, last := 0, -1; i < containers; i++ {
		key := int(binary.LittleEndian.Uint16(data[heads+4*i:]))
		count := int(binary.LittleEndian.Uint16(data[heads+4*i+2:])) + 1
		if key <= last {
			return 0, 0, errOrder
		} else if hasOffsets && int(binary.LittleEndian.Uint32(data[offsets+4*i:])) != size {
			return 0, 0, errHeader
		}
		used, err := checkContainer(data[size:], count, flags != nil && flags[i/8]>>(i%8)&1 == 1)
		if err != nil {
			return 0, 0, err
		}
		size, last = size+used, key
	}
	return containers, size, nil
}

// checkContainer returns the size of a container, which has runs, a bitset or, of
// up to 4,096 elements, an array.
func checkContainer(data []byte, count int, isRuns bool) (size int, err error) {
	size = min(2*count, 8192)
	if isRuns && len(data) >= 2 {
		size = 2 + 4*int(binary.LittleEndian.Uint16(data))
	}
	if len(data) < size {
		return 0, errShort
	}
	n, last := 0, -2
	switch data = data[:size]; {
	case isRuns:
		for data = data[2:]; len(data) >= 4; data = data[4:] {
			first, more := int(binary.LittleEndian.Uint16(data)), int(binary.LittleEndian.Uint16(data[2:]))
			if first <= last+1 {
				return 0, errOrder
			}
			last = first + more
			n += more + 1
		}
	case count > 4096:
		for ; len(data) >= 8; data = data[8:] {
			n += bits.OnesCount64(binary.LittleEndian.Uint64(data))
		}
	default:
		for ; len(data) >= 2; data = data[2:] {
			element := int(binary.LittleEndian.Uint16(data))
			if element <= last {
				return 0, errOrder
			}
			last = element
			n++
		}
	}
	if n != count || last > 65535 {
		return 0, errCount
	}
	return size, nil
}
