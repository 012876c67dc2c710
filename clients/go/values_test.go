package pgroaring64_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	pgroaring64 "a-seed-c7145ffc.example/roaring64/clients/go"
)

// holder is what a program has its sets in.
type holder struct {
	N       int32
	Set     pgroaring64.Set
	Pointer *pgroaring64.Set
	List    []pgroaring64.Set
	Map     map[string]pgroaring64.Set
}

func holderOf(set pgroaring64.Set) holder {
	return holder{5, set, &set, []pgroaring64.Set{set, {}}, map[string]pgroaring64.Set{"a": set}}
}

func (h holder) sets() []pgroaring64.Set {
	sets := []pgroaring64.Set{h.Set, h.List[0], h.Map["a"]}
	if h.Pointer != nil { // which NULL becomes in JSON
		sets = append(sets, *h.Pointer)
	}
	return sets
}

// copies makes a copy of a value by each of its ways.
var copies = map[string]func(from, to *holder) error{
	"JSON": func(from, to *holder) error {
		data, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		return err
	},
	"gob": func(from, to *holder) error {
		var buf bytes.Buffer
		err := gob.NewEncoder(&buf).Encode(from)
		if err == nil {
			err = gob.NewDecoder(&buf).Decode(to)
		}
		return err
	},
}

// few returns a few ids of both signs.
func few(random *rand.Rand) []int64 {
	var ids []int64
	base := int64(random.Uint64())
	for range random.Intn(30) {
		ids = append(ids, int64(random.Uint64()), base+random.Int63n(40), ends[random.Intn(len(ends))])
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// another returns a set of as many ids, of which one is another.
func another(ids []int64) pgroaring64.Set {
	id := ids[0]
	for slices.Contains(ids, id) {
		id++
	}
	return pgroaring64.Of(append(slices.Clone(ids[1:]), id)...)
}

// TestValues has 1,000 random sets go all ways but an ORM, for which see
// testdata/gorm_test.go.
func TestValues(t *testing.T) {
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	_, err := conn.Exec(t.Context(), "CREATE TYPE holder AS (n int, set roaring64)")
	check(t, err)
	composite, err := conn.LoadType(t.Context(), "holder")
	check(t, err)
	conn.TypeMap().RegisterType(composite)
	random := rand.New(rand.NewSource(7))
	equal, different := 0, 0
	for round := range 1000 {
		ids := few(random)
		if round%20 == 0 {
			ids = randomIDs(random)
		}
		set := pgroaring64.Of(shuffled(random, ids)...)
		var one pgroaring64.Set
		var list []pgroaring64.Set
		row := struct {
			N   int32
			Set pgroaring64.Set
		}{}
		check(t, conn.QueryRow(t.Context(), "SELECT $1::roaring64, ARRAY[$1, NULL], ROW(5, $1)::holder", set).Scan(&one, &list, &row))
		same := []pgroaring64.Set{one, list[0], row.Set}
		for name, copy := range copies {
			from, to := holderOf(one), holder{}
			check(t, copy(&from, &to))
			if to.N != 5 || to.List[1].Bitmap != nil || !reflect.DeepEqual(from, to) {
				t.Fatalf("%s: %v is %v", name, from, to)
			}
			same = append(same, to.sets()...)
		}
		text, err := one.MarshalText()
		check(t, err)
		var read pgroaring64.Set
		check(t, read.UnmarshalText(text))
		other := set
		if len(ids) > 0 {
			other = another(ids)
		}
		for _, copy := range append(same, read, pgroaring64.Of(read.IDs()...)) {
			if !copy.Equal(set) || !reflect.DeepEqual(copy, set) || copy.String() != set.String() || copy.Bitmap == nil {
				t.Fatalf("%v is not %v", copy, set)
			}
			equal++
			if len(ids) == 0 {
				continue
			}
			if copy.Equal(other) || reflect.DeepEqual(copy, other) {
				t.Fatalf("%v is %v", copy, other)
			}
			different++
		}
	}
	t.Logf("1000 sets, %d comparisons equal and %d not", equal, different)
}

// Everywhere a Set without a bitmap is NULL, and nothing panics.
func TestNullEverywhere(t *testing.T) {
	var null pgroaring64.Set
	data, err := null.MarshalBinary()
	text, textErr := null.MarshalText()
	value, valueErr := null.Value()
	if len(data) != 0 || len(text) != 0 || value != nil || err != nil || textErr != nil || valueErr != nil {
		t.Errorf("NULL is %v, %q and %v", data, text, value)
	}
	if null.IDs() != nil || null.Has(5) || null.String() != "NULL" || len(slices.Collect(null.All())) != 0 {
		t.Error("NULL has ids")
	}
	empty := pgroaring64.Of()
	if empty.Equal(null) || null.Equal(empty) || !null.Equal(null) {
		t.Error("NULL is the empty set")
	}
	for name, copy := range copies {
		for _, set := range []pgroaring64.Set{null, empty} {
			from, to := holderOf(set), holderOf(pgroaring64.Of(5))
			to.Map = nil
			if name == "gob" { // which leaves what it has no value for
				to = holder{}
			}
			check(t, copy(&from, &to))
			for _, got := range to.sets() {
				if !got.Equal(set) {
					t.Errorf("%s: %v is %v", name, set, got)
				}
			}
		}
	}
	for _, set := range []pgroaring64.Set{null, empty, pgroaring64.Of(-1, 5)} {
		got, err := json.Marshal(map[string]any{"set": set})
		check(t, err)
		want := map[string]string{"NULL": "null", "{}": "[]", "{-1,5}": "[-1,5]"}[set.String()]
		if string(got) != `{"set":`+want+`}` {
			t.Errorf("the JSON of %v is %s", set, got)
		}
	}
	for _, wrong := range []string{`{}`, `5`, `"5"`, `[1.5]`, `[1e3]`, `[9223372036854775808]`, `["a"]`, `[null]`, `[[1]]`} {
		set := pgroaring64.Of(7)
		if err := json.Unmarshal([]byte(wrong), &set); err == nil || !set.Has(7) {
			t.Errorf("%s is %v", wrong, set)
		}
	}
	var read pgroaring64.Set
	check(t, json.Unmarshal([]byte(`["-1", 5]`), &read))
	if fmt.Sprint(read) != "{-1,5}" {
		t.Errorf("strings are %v", read)
	}
}
