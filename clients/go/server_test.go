package pgroaring64_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	pgroaring64 "a-seed-c7145ffc.example/roaring64/clients/go"
)

// TestMain has a server for the tests: that of PGHOST and so on, or a private
// one of this tree.  There they have a database of their own, which PGDATABASE
// names, with the extension in a schema that is on the search path.
func TestMain(m *testing.M) {
	os.Exit(withServer(func() int { return withDatabase(m.Run) }))
}

func withServer(run func() int) int {
	if os.Getenv("PGHOST") != "" {
		return run()
	}
	command := exec.Command("../../tools/private-server", "bash", "-c", `echo "$PGHOST $PGPORT"; exec cat >/dev/null`)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	must(err)
	output, err := command.StdoutPipe()
	must(err)
	must(command.Start())
	defer func() {
		must(input.Close())
		must(command.Wait())
	}()
	line, err := bufio.NewReader(output).ReadString('\n')
	must(err)
	words := strings.Fields(line)
	for name, value := range map[string]string{"PGHOST": words[0], "PGPORT": words[1], "PGUSER": "postgres"} {
		must(os.Setenv(name, value))
	}
	return run()
}

func withDatabase(run func() int) int {
	ctx := context.Background()
	name := newName("roaring64_go")
	server, err := pgx.Connect(ctx, "dbname=postgres")
	must(err)
	_, err = server.Exec(ctx, "CREATE DATABASE "+name)
	must(err)
	defer func() {
		_, err = server.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		must(err)
		must(server.Close(ctx))
	}()
	_, err = server.Exec(ctx, "ALTER DATABASE "+name+` SET search_path = public, "my types"`)
	must(err)
	must(os.Setenv("PGDATABASE", name))
	conn, err := pgx.Connect(ctx, "")
	must(err)
	_, err = conn.Exec(ctx, `CREATE SCHEMA "my types"; CREATE EXTENSION roaring64 SCHEMA "my types"`)
	must(err)
	must(conn.Close(ctx))
	return run()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newName(prefix string) string { return prefix + "_" + strings.ToLower(rand.Text()[:10]) }

// connect returns a registered connection, in one of pgx's ways to run a query.
func connect(t testing.TB, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig("")
	check(t, err)
	config.DefaultQueryExecMode = mode
	conn, err := pgx.ConnectConfig(t.Context(), config)
	check(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	check(t, pgroaring64.Register(t.Context(), conn))
	return conn
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
