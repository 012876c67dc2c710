package pgroaring64_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	pgroaring64 "a-seed-c7145ffc.example/roaring64/clients/go"
)

type (
	number int64
	uuid   [16]byte
	word   string
)

var errBroken = errors.New("broken")

// claimOnce claims an id that is new, once more, and after a rollback.
func claimOnce[T pgroaring64.ID](t *testing.T, conn *pgx.Conn, dedup string, first, second T) {
	t.Helper()
	ctx := t.Context()
	claim := func(id T, want bool, result error) {
		t.Helper()
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			new, err := pgroaring64.Claim(ctx, tx, dedup, "k", id)
			check(t, err)
			if new != want {
				t.Errorf("%v: new is %t", id, new)
			}
			return result
		})
		if !errors.Is(err, result) {
			t.Error(err)
		}
	}
	claim(first, true, nil)
	claim(first, false, nil)
	claim(second, true, errBroken)
	claim(second, true, nil)

	db := stdlib.OpenDB(*conn.Config())
	defer db.Close()
	for _, id := range []T{first, second} {
		tx, err := db.BeginTx(ctx, nil)
		check(t, err)
		new, err := pgroaring64.ClaimTx(ctx, tx, dedup, "k", id)
		check(t, err)
		if new {
			t.Errorf("%v is new to database/sql", id)
		}
		check(t, tx.Commit())
	}
}

// needsTypes skips a test for which the server is too old: its sets have bigints.
func needsTypes(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	var exists bool
	check(t, conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_proc "+
		"WHERE proname = 'roaring64_dedup_create' AND 'id_type' = ANY (proargnames))").Scan(&exists))
	if !exists {
		t.Skip("dedup sets of this server have only bigints")
	}
}

func TestClaim(t *testing.T) {
	for _, mode := range modes {
		conn := connect(t, mode)
		claimOnce(t, conn, newDedup(t, conn, ""), int64(-1<<63), int64(1<<63-1))
		claimOnce(t, conn, newDedup(t, conn, ""), -1, 7001)
		claimOnce(t, conn, newDedup(t, conn, ""), number(-1), number(7001))
	}
}

func TestClaimUUID(t *testing.T) {
	for _, mode := range modes {
		conn := connect(t, mode)
		needsTypes(t, conn)
		claimOnce(t, conn, newDedup(t, conn, ", id_type => 'uuid'"), [16]byte{0: 1, 15: 2}, [16]byte{})
		dedup := newDedup(t, conn, ", id_type => 'uuid'")
		claimOnce(t, conn, dedup, uuid{0: 1, 15: 2}, uuid{0: 3})
		var new bool // the order of the bytes is that of the text
		check(t, conn.QueryRow(t.Context(), "SELECT roaring64_dedup_claim($1::text::regclass, 'k', "+
			"'01000000-0000-0000-0000-000000000002'::uuid)", dedup).Scan(&new))
		if new {
			t.Error("another UUID was claimed")
		}
	}
}

func TestClaimText(t *testing.T) {
	for _, mode := range modes {
		conn := connect(t, mode)
		needsTypes(t, conn)
		claimOnce(t, conn, newDedup(t, conn, ", id_type => 'text'"), "order 7001", "")
		claimOnce(t, conn, newDedup(t, conn, ", id_type => 'text'"), word("7001"), word("ä'\\"))
	}
}

// The extension is in a schema that is not on the search path, and the function
// of this name that is there is not called.
func TestClaimWithAnotherSearchPath(t *testing.T) {
	ctx := t.Context()
	admin := connect(t, pgx.QueryExecModeCacheStatement)
	_, err := admin.Exec(ctx, `CREATE SCHEMA decoy; CREATE FUNCTION decoy.roaring64_dedup_claim(regclass, text, bigint)
		RETURNS boolean LANGUAGE sql AS 'SELECT true'`)
	check(t, err)
	for _, mode := range modes {
		config, err := pgx.ParseConfig("")
		check(t, err)
		config.DefaultQueryExecMode = mode
		config.RuntimeParams["search_path"] = "decoy, public"
		conn, err := pgx.ConnectConfig(ctx, config)
		check(t, err)
		defer conn.Close(ctx)
		claimOnce(t, conn, newDedup(t, admin, ""), 1, 2)
		check(t, pgroaring64.Register(ctx, conn))
		claimOnce(t, conn, newDedup(t, admin, ""), 1, 2)
	}

	other, err := pgx.Connect(ctx, "dbname=postgres")
	check(t, err)
	defer other.Close(ctx)
	tx, err := other.Begin(ctx)
	check(t, err)
	defer tx.Rollback(ctx)
	if _, err = pgroaring64.Claim(ctx, tx, "d", "k", 1); err == nil || !strings.Contains(err.Error(), "CREATE EXTENSION") {
		t.Errorf("without the extension: %v", err)
	}
}

// The transaction is as it was, since nothing was sent.
func TestClaimOfNoText(t *testing.T) {
	ctx := t.Context()
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	dedup := newDedup(t, conn, "")
	tx, err := conn.Begin(ctx)
	check(t, err)
	for _, text := range []string{"a\x00b", "\xff"} {
		for _, wrong := range []func() (bool, error){
			func() (bool, error) { return pgroaring64.Claim(ctx, tx, text, "k", 1) },
			func() (bool, error) { return pgroaring64.Claim(ctx, tx, dedup, text, 1) },
			func() (bool, error) { return pgroaring64.Claim(ctx, tx, dedup, "k", text) },
		} {
			if new, err := wrong(); err == nil || new {
				t.Errorf("%q: %t, %v", text, new, err)
			}
		}
	}
	new, err := pgroaring64.Claim(ctx, tx, dedup, "k", 1)
	if err != nil || !new {
		t.Errorf("%t, %v", new, err)
	}
	check(t, tx.Commit(ctx))
}

// A claim that waits for another transaction is cancelled, and one that has got
// the id is: neither keeps it.
func TestCancelledClaim(t *testing.T) {
	conn, other := connect(t, pgx.QueryExecModeCacheStatement), connect(t, pgx.QueryExecModeCacheStatement)
	dedup := newDedup(t, conn, "")
	holder, err := other.Begin(t.Context())
	check(t, err)
	new, err := pgroaring64.Claim(t.Context(), holder, dedup, "k", 1)
	check(t, err)
	if !new {
		t.Error("the id is not new")
	}
	waiting := connect(t, pgx.QueryExecModeCacheStatement)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = pgx.BeginFunc(ctx, waiting, func(tx pgx.Tx) error {
		new, err := pgroaring64.Claim(ctx, tx, dedup, "k", 1)
		if new || err == nil {
			t.Errorf("while another has it: %t, %v", new, err)
		}
		return err
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	check(t, holder.Rollback(t.Context()))

	// Within the work
	ctx, cancel = context.WithCancel(t.Context())
	err = pgx.BeginFunc(ctx, other, func(tx pgx.Tx) error {
		new, err := pgroaring64.Claim(ctx, tx, dedup, "k", 1)
		if err != nil || !new {
			t.Errorf("after the rollback: %t, %v", new, err)
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The server may not yet have seen that the client has gone; a claim waits.
	claimOnce(t, conn, dedup, 1, 2)
}

// Workers whose contexts end at any moment claim the same ids and do the work;
// then one does what is left.  Each id was done once, by either driver.
func TestCancelledWorkers(t *testing.T) {
	const ids, workers = 200, 8
	conn := connect(t, pgx.QueryExecModeCacheStatement)
	dedup, done := newDedup(t, conn, ""), newName("done")
	_, err := conn.Exec(t.Context(), "CREATE TABLE "+done+" (id bigint)")
	check(t, err)
	pool, err := pgxpool.New(t.Context(), "")
	check(t, err)
	defer pool.Close()
	db := stdlib.OpenDB(*conn.Config())
	defer db.Close()

	insert := "INSERT INTO " + done + " VALUES ($1)"
	withPgx := func(ctx context.Context, id int) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			new, err := pgroaring64.Claim(ctx, tx, dedup, "k", id)
			if err != nil || !new {
				return err
			}
			_, err = tx.Exec(ctx, insert, id)
			return err
		})
	}
	withSQL := func(ctx context.Context, id int) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		new, err := pgroaring64.ClaimTx(ctx, tx, dedup, "k", id)
		if err != nil || !new {
			return err
		}
		if _, err = tx.ExecContext(ctx, insert, id); err != nil {
			return err
		}
		return tx.Commit()
	}

	var group sync.WaitGroup
	var cancelled, succeeded atomic.Int64
	for worker := range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			random := rand.New(rand.NewSource(int64(worker)))
			work := withPgx
			if worker%2 == 1 {
				work = withSQL
			}
			// The mean time limit settles where about as many are cancelled as succeed,
			// however fast the server is.
			limit := float64(time.Millisecond)
			for id := range ids {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.ExpFloat64()*limit))
				if err := work(ctx, id); err != nil {
					cancelled.Add(1)
					limit *= 1.5
				} else {
					succeeded.Add(1)
					limit /= 1.5
				}
				cancel()
			}
		}()
	}
	group.Wait()
	for id := range ids {
		check(t, withPgx(t.Context(), id))
	}
	var total, distinct, claimed int
	check(t, conn.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT id), "+
		"(SELECT roaring64_cardinality(roaring64_dedup_export($1::text::regclass, 'k'))) FROM "+done, dedup).
		Scan(&total, &distinct, &claimed))
	if total != ids || distinct != ids || claimed != ids {
		t.Errorf("%d rows of %d ids were done, and %d are claimed", total, distinct, claimed)
	}
	if cancelled.Load() == 0 || succeeded.Load() == 0 {
		t.Errorf("%d were cancelled and %d succeeded", cancelled.Load(), succeeded.Load())
	}
}
