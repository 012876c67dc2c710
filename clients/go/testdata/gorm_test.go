package pgroaring64_test

import (
	"math/rand"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	pgroaring64 "a-seed-c7145ffc.example/roaring64/clients/go"
)

// thing is what a user of GORM has.
type thing struct {
	ID   int
	Read pgroaring64.Set `gorm:"type:roaring64"`
}

// TestGorm has 1,000 random sets written, read, and changed to others of the size.
// It is in a folder that Go does not look into, for the module not to need GORM:
// test/run-go moves it.
func TestGorm(t *testing.T) {
	db, err := gorm.Open(postgres.Open(""), &gorm.Config{})
	check(t, err)
	check(t, db.AutoMigrate(&thing{}))
	random := rand.New(rand.NewSource(11))
	things := []thing{{ID: 1}, {ID: 2, Read: pgroaring64.Of()}}
	for id := range 1000 {
		ids := few(random)
		if id%20 == 0 {
			ids = randomIDs(random)
		}
		things = append(things, thing{ID: 3 + id, Read: pgroaring64.Of(ids...)})
	}
	check(t, db.CreateInBatches(things, 100).Error)
	changed := 0
	for i := range things {
		var read thing
		check(t, db.First(&read, things[i].ID).Error)
		if !read.Read.Equal(things[i].Read) {
			t.Fatalf("%v is %v", things[i].Read, read.Read)
		}
		if ids := read.Read.IDs(); len(ids) > 0 {
			things[i].Read = another(ids)
			check(t, db.Save(&things[i]).Error)
			changed++
		}
	}
	var all []thing
	check(t, db.Order("id").Find(&all).Error)
	for i := range things {
		if !all[i].Read.Equal(things[i].Read) {
			t.Fatalf("%v is %v", things[i].Read, all[i].Read)
		}
	}
	t.Logf("%d sets, %d changed to others of the size", len(all), changed)
}
