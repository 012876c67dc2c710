module a-seed-c7145ffc.example/roaring64/clients/go

go 1.24.0

require (
	github.com/RoaringBitmap/roaring/v2 v2.30.0
	github.com/jackc/pgx/v5 v5.8.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.2 // indirect
	github.com/mschoch/smat v0.2.0 // indirect
	golang.org/x/sync v0.17.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	golang.org/x/text v0.29.0 // indirect
)
