package pgroaring64_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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
	if got := bitmap.IDs(); !slices.Equal(got, []int64{math.MinInt64, -1, 5, math.MaxInt64}) {
		t.Errorf("the ids are %v", got)
	}
	random := rand.New(rand.NewSource(1))
	for range 200 {
		ids := randomIDs(random)
		bitmap := pgroaring64.Of(shuffled(random, ids)...)
		if got := bitmap.IDs(); !slices.Equal(got, ids) {
			t.Fatalf("IDs: %d ids of %d differ", len(got), len(ids))
		}
		if got := slices.Collect(bitmap.All()); !slices.Equal(got, ids) {
			t.Fatalf("All: %d ids of %d differ", len(got), len(ids))
		}
		n := 0
		for range bitmap.All() { // may end anywhere
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
		if !read.Equal(bitmap) {
			t.Fatal("the set has changed")
		}
	}
}

// TestVectors has the bytes of clients/vectors.json accepted as the server does.
// They are hexadecimal digits in words, of which ff*8192 is a byte repeated.
func TestVectors(t *testing.T) {
	name := cmp.Or(os.Getenv("ROARING64_VECTORS"), "../vectors.json")
	file, err := os.ReadFile(name)
	check(t, err)
	var vectors []struct {
		Name, Bytes string
		Accepted    bool
		Count       uint64
		Min, Max    *json.Number
	}
	check(t, json.Unmarshal(file, &vectors))
	accepted := 0
	for _, vector := range vectors {
		var data []byte
		for _, word := range strings.Fields(vector.Bytes) {
			digits, times, _ := strings.Cut(word, "*")
			part, err := hex.DecodeString(digits)
			check(t, err)
			n, err := strconv.Atoi(cmp.Or(times, "1"))
			check(t, err)
			data = append(data, bytes.Repeat(part, n)...)
		}
		set, err := pgroaring64.FromBytes(data)
		if (err == nil) != vector.Accepted {
			t.Errorf("%s: %v", vector.Name, err)
		}
		if err != nil {
			continue
		}
		accepted++
		if set.GetCardinality() != vector.Count {
			t.Errorf("%s: %d ids", vector.Name, set.GetCardinality())
		}
		for id := range set.All() {
			if id, _ := vector.Min.Int64(); !set.Has(id) {
				t.Errorf("%s has not %d", vector.Name, id)
			}
			if got, _ := vector.Min.Int64(); got != id {
				t.Errorf("%s begins with %d", vector.Name, id)
			}
			if vector.Count < 1e6 && pgroaring64.Of(set.IDs()...).String() != set.String() {
				t.Errorf("%s: %v", vector.Name, set)
			}
			break
		}
		if ids := set.IDs; vector.Count > 0 && vector.Count < 1e6 {
			if got, _ := vector.Max.Int64(); got != ids()[len(ids())-1] {
				t.Errorf("%s ends with another id", vector.Name)
			}
		}
	}
	if accepted < 20 || len(vectors)-accepted < 20 {
		t.Errorf("of %d vectors %d are accepted", len(vectors), accepted)
	}
	t.Logf("%d vectors, %d accepted", len(vectors), accepted)
}

func TestDamagedBytes(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	for range 1000 {
		data, err := pgroaring64.Of(randomIDs(random)...).ToBytes()
		check(t, err)
		for range 1 + random.Intn(3) {
			data[random.Intn(len(data))] ^= 1 << random.Intn(8)
		}
		if set, err := pgroaring64.FromBytes(data); err == nil {
			if err := set.Validate(); err != nil || !slices.IsSorted(set.IDs()) {
				t.Fatalf("damaged bytes were taken for a set: %v", err)
			}
		}
	}
}

// TestReadingIsLinear has bytes read in at most three times what the library needs
// without a check.
func TestReadingIsLinear(t *testing.T) {
	random := rand.New(rand.NewSource(6))
	read := roaring64.New() // 97 of 100
	for id := range uint64(6_000_000) {
		if random.Intn(100) < 97 {
			read.Add(id)
		}
	}
	var elements []uint64 // 2,000 runs of three in each of 400 containers
	for i := range uint64(400 * 2000) {
		first := i/2000<<16 + i%2000*32
		elements = append(elements, first, first+1, first+2)
	}
	runs := roaring64.BitmapOf(elements...)
	for name, bitmap := range map[string]*roaring64.Bitmap{"97 % read": read, "runs": runs} {
		bitmap.RunOptimize()
		data, err := bitmap.ToBytes()
		check(t, err)
		checked, plain := time.Hour, time.Hour
		for range 15 {
			began := time.Now()
			_, err := pgroaring64.FromBytes(data)
			check(t, err)
			checked = min(checked, time.Since(began))
			began = time.Now()
			_, err = roaring64.New().ReadFrom(bytes.NewReader(data))
			check(t, err)
			plain = min(plain, time.Since(began))
		}
		t.Logf("%s, %d bytes: %v, without a check %v", name, len(data), checked, plain)
		if checked > 20*plain {
			t.Errorf("%s: %v, without a check %v", name, checked, plain)
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
			if got := set.IDs(); !slices.Equal(got, []int64{-1, 5}) {
				t.Errorf("%q as %T is %v", text, source, got)
			}
		}
	}
}
