package pgroaring64_test

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	pgroaring64 "a-seed-c7145ffc.example/roaring64/clients/go"
)

var ends = []int64{
	math.MinInt64, math.MinInt64 + 1, -1<<32 - 1, -1 << 32, -65537, -65536, -2, -1,
	0, 1, 65535, 65536, 1<<32 - 1, 1 << 32, math.MaxInt64 - 1, math.MaxInt64,
}

// randomIDs returns distinct ids of both signs in ascending order: none, ends,
// scattered, dense enough for bitsets, and runs.
func randomIDs(random *rand.Rand) []int64 {
	var ids []int64
	for _, end := range ends {
		if random.Intn(4) == 0 {
			ids = append(ids, end)
		}
	}
	for range random.Intn(4) {
		base := int64(random.Uint64())
		if random.Intn(2) == 0 {
			base = random.Int63n(200_000) - 100_000
		}
		switch random.Intn(3) {
		case 0:
			for range random.Intn(3000) {
				ids = append(ids, int64(random.Uint64()))
			}
		case 1: // of 65,536 ids a tenth
			for range 7000 {
				ids = append(ids, base+random.Int63n(65536))
			}
		case 2:
			for i := range random.Int63n(20_000) {
				ids = append(ids, base+i) // may go from one end to the other
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func shuffled(random *rand.Rand, ids []int64) []int64 {
	ids = slices.Clone(ids)
	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

func TestSignedOrder(t *testing.T) {
	bitmap := pgroaring64.Of(5, -1, math.MaxInt64, math.MinInt64, 5)
	if got := bitmap.ToArray(); !slices.Equal(got, []uint64{5, 1<<63 - 1, 1 << 63, 1<<64 - 1}) {
		t.Errorf("the elements are %v", got)
	}
	if got := pgroaring64.IDs(bitmap); !slices.Equal(got, []int64{math.MinInt64, -1, 5, math.MaxInt64}) {
		t.Errorf("the ids are %v", got)
	}
	random := rand.New(rand.NewSource(1))
	for range 200 {
		ids := randomIDs(random)
		bitmap := pgroaring64.Of(shuffled(random, ids)...)
		if got := pgroaring64.IDs(bitmap); !slices.Equal(got, ids) {
			t.Fatalf("IDs: %d ids of %d differ", len(got), len(ids))
		}
		if got := slices.Collect(pgroaring64.All(bitmap)); !slices.Equal(got, ids) {
			t.Fatalf("All: %d ids of %d differ", len(got), len(ids))
		}
		n := 0
		for range pgroaring64.All(bitmap) { // may end anywhere
			if n++; n > random.Intn(len(ids)) {
				break
			}
		}
	}
}

func TestBytes(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	for range 100 {
		bitmap := pgroaring64.Of(randomIDs(random)...)
		if random.Intn(2) == 0 {
			bitmap.RunOptimize()
		}
		data, err := bitmap.ToBytes()
		check(t, err)
		read, err := pgroaring64.FromBytes(data)
		check(t, err)
		for i := range data {
			data[i] = 0xff // the bitmap has a copy
		}
		if !read.Equals(bitmap) {
			t.Fatal("the set has changed")
		}
	}
}

// Whatever the bytes are, they are a set or an error.
func TestBytesOfNoSet(t *testing.T) {
	good, err := pgroaring64.Of(-1, 5).ToBytes()
	check(t, err)
	for name, data := range map[string][]byte{
		"none":            {},
		"short":           good[:7],
		"a part":          good[:len(good)-1],
		"more":            append(slices.Clone(good), 0),
		"no set, more":    make([]byte, 9),
		"2^64 - 1 of it":  {255, 255, 255, 255, 255, 255, 255, 255},
		"2^60 of it":      {0, 0, 0, 0, 0, 0, 0, 16},
		"a thousand":      {232, 3, 0, 0, 0, 0, 0, 0},
		"buckets swapped": slices.Concat(good[:8], good[8+22:], good[8:8+22]),
		"a bucket twice":  slices.Concat(good[:8], good[8:8+22], good[8:8+22]),
	} {
		if bitmap, err := pgroaring64.FromBytes(data); err == nil {
			t.Errorf("%s: %v", name, bitmap)
		}
		var set pgroaring64.Set
		if err := set.Scan(data); err == nil {
			t.Errorf("%s, by Scan: %v", name, set)
		}
	}
	if bitmap, err := pgroaring64.FromBytes(make([]byte, 8)); err != nil || !bitmap.IsEmpty() {
		t.Errorf("the empty set: %v, %v", bitmap, err)
	}
	random := rand.New(rand.NewSource(3))
	for range 1000 {
		data, err := pgroaring64.Of(randomIDs(random)...).ToBytes()
		check(t, err)
		for range 1 + random.Intn(3) {
			data[random.Intn(len(data))] ^= 1 << random.Intn(8)
		}
		if bitmap, err := pgroaring64.FromBytes(data); err == nil {
			ids := pgroaring64.IDs(bitmap)
			if !slices.IsSorted(ids) || !roaring64.BitmapOf(bitmap.ToArray()...).Equals(bitmap) {
				t.Fatalf("a damaged set of %d ids was taken for one", len(ids))
			}
		}
	}
}

func TestText(t *testing.T) {
	var set pgroaring64.Set
	for _, text := range []string{
		"", "{", "}", "{}}", "{1,}", "{,1}", "{1,,2}", "{ 1}", "{a}", "{1.5}", "{9223372036854775808}",
		"[1]", "1", `\x`, `\x0`, `\x000000000000000`, `\x00000000000000`, `\xzz00000000000000`, "{NULL}",
	} {
		if err := set.Scan(text); err == nil {
			t.Errorf("%q is %v", text, set)
		}
		if err := set.Scan([]byte(text)); err == nil {
			t.Errorf("%q as bytes is %v", text, set)
		}
	}
	for _, wrong := range []any{1, 1.5, true, []int64{1}} {
		if err := set.Scan(wrong); err == nil {
			t.Errorf("%v is %v", wrong, set)
		}
	}
	if set.Bitmap != nil {
		t.Error("an error has left a set")
	}
	for _, text := range []string{"{-1,5}", "{5,-1,5}", `\x02000000000000000000000` +
		`03a300000010000000000000010000000` + `0500` + `ffffffff` + `3a30000001000000ffff000010000000ffff`} {
		for _, source := range []any{text, []byte(text)} {
			check(t, set.Scan(source))
			if got := pgroaring64.IDs(set.Bitmap); !slices.Equal(got, []int64{-1, 5}) {
				t.Errorf("%q as %T is %v", text, source, got)
			}
		}
	}
}
