package faults

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"waybill/test/program"
)

// engines are those that everything is shown on.
var engines = []Dialect{SQLite, Postgres}

// executable is the program.
var executable string

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "4") // the tests wait more than they compute
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "waybill-faults-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if executable, err = program.Build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// customer is a client that creates deliveries.
type customer struct {
	BusinessID, AppID, Key string
	KeyID                  string
}

// command runs a command, and reads the JSON that it prints.
func command(t *testing.T, env []string, into any, args ...string) {
	t.Helper()
	if err := program.Command(t.Context(), executable, env, into, args...); err != nil {
		t.Fatal(err)
	}
}

// noLimit is more requests than any test here sends.
const noLimit = "1000000/1s"

// enroll makes a customer as an operator would, with a limit of requests for
// the business.
func enroll(t *testing.T, env []string, limit string) customer {
	t.Helper()
	var record struct{ ID, Key string }
	var c customer
	run := func(args ...string) {
		t.Helper()
		command(t, env, &record, args...)
	}
	run("business", "create", "--name", "Stormy Foods", "--rate-limit", limit)
	c.BusinessID = record.ID
	run("app", "create", "--business", c.BusinessID, "--name", "Web shop")
	c.AppID = record.ID
	run("key", "create", "--app", c.AppID, "--env", "live", "--scopes", "all")
	c.KeyID, c.Key = record.ID, record.Key
	return c
}

// openDatabase is a look into the database beside the program, over one
// connection and, on SQLite, without its constraints.
func openDatabase(t *testing.T, url string) *sql.DB {
	t.Helper()
	driver := "pgx"
	if path, ok := strings.CutPrefix(url, "sqlite://"); ok {
		driver, url = "sqlite", path
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// alongside lets the small forms run beside each other: mostly they wait.
func alongside(t *testing.T) {
	t.Helper()
	if !full() {
		t.Parallel()
	}
}
