package faults

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// engines are those that everything is shown on.
var engines = []Dialect{SQLite, Postgres}

// binaries is where the programs are built.
var binaries string

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "4") // the tests wait more than they compute
	}
	os.Exit(func() int {
		var err error
		if binaries, err = os.MkdirTemp("", "waybill-faults-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(binaries)
		return m.Run()
	}())
}

// program is built when it is first needed.
var program = sync.OnceValues(func() (string, error) { return buildProgram("waybill") })

func buildProgram(name string, flags ...string) (string, error) {
	path := filepath.Join(binaries, name)
	args := append([]string{"build", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, "waybill/cmd/waybill")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// environment is this process's environment without the settings of the program.
func environment(settings ...string) []string {
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WAYBILL_") })
	return append(kept, settings...)
}

// customer is a client that creates deliveries.
type customer struct {
	BusinessID, AppID, Key string
	KeyID                  string
}

// command runs a subcommand and reads the JSON it prints.
func command(ctx context.Context, binary string, env []string, into any, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = environment(env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("waybill %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("waybill %s printed %q: %w", strings.Join(args, " "), out, err)
	}
	return nil
}

// noLimit is more requests than any test here sends.
const noLimit = "1000000/1s"

// enroll makes a customer as an operator would, with a limit of requests for
// the business.
func enroll(t *testing.T, binary string, env []string, limit string) customer {
	t.Helper()
	var record struct{ ID, Key string }
	var c customer
	run := func(args ...string) {
		if err := command(t.Context(), binary, env, &record, append(args, "--json")...); err != nil {
			t.Fatal(err)
		}
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
