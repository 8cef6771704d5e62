package backend_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/test/backend"

	"github.com/jackc/pgx/v5"
)

// raceEnv makes the test binary one of the processes that race for a template.
const raceEnv = "WAYBILL_TEST_TEMPLATE_RACE"

// migrate stands for an adapter's migrations; slow enough for races to meet.
func migrate(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE TABLE parcel (id int PRIMARY KEY); SELECT pg_sleep(0.1)")
	return errors.Join(err, conn.Close(ctx))
}

// server is private to these tests, whose templates and leftovers must not meet
// those of the project. It is started by the first test that uses it.
var server *backend.Postgres

func TestMain(m *testing.M) {
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func useOwnServer(t *testing.T) {
	t.Helper()
	if server == nil {
		own, err := backend.StartPostgres(context.Background())
		if errors.Is(err, backend.ErrNoPostgres) && os.Getenv("CI") != "true" {
			t.Skip("no Postgres: install the package postgresql")
		}
		if err != nil {
			t.Fatal(err)
		}
		server = own
	}
	t.Setenv(backend.PostgresURLEnv, server.URL)
}

func execute(t *testing.T, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func query[T any](t *testing.T, url, sql string, args ...any) []T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func databases(t *testing.T, prefix string) []string {
	t.Helper()
	return query[string](t, server.URL, "SELECT datname FROM pg_database WHERE starts_with(datname, $1) ORDER BY 1", prefix)
}

func TestLongEachTestHasAMigratedDatabaseOfItsOwnThatGoesWithIt(t *testing.T) {
	useOwnServer(t)
	const hash = "aaaaaaaaaaaaaaaa"
	var migrated atomic.Int32
	counting := func(ctx context.Context, url string) error {
		migrated.Add(1)
		return migrate(ctx, url)
	}

	t.Run("tests", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				url := backend.Database(t, counting, hash)
				query[int](t, url, "INSERT INTO parcel VALUES (1) RETURNING id") // taken, were it shared
				// Left open: the drop must not wait for it.
				if _, err := pgx.Connect(context.Background(), url); err != nil {
					t.Fatal(err)
				}
			})
		}
	})

	if n := migrated.Load(); n != 1 {
		t.Errorf("migrated %d times, want once for all tests", n)
	}
	if left := databases(t, "waybill_test_"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if got := databases(t, "waybill_template_a"); !slices.Equal(got, []string{"waybill_template_aaaaaaaaaaaa"}) {
		t.Errorf("templates %v, want the one, kept for later processes", got)
	}
}

func TestLongManyProcessesMakeATemplateOnce(t *testing.T) {
	if hash := os.Getenv(raceEnv); hash != "" {
		backend.Database(t, func(ctx context.Context, url string) error {
			fmt.Println("migrated")
			return migrate(ctx, url)
		}, hash)
		return
	}
	useOwnServer(t)
	const processes = 6
	var migrated atomic.Int32
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			out, err := race(t, "bbbbbbbbbbbb").CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			migrated.Add(int32(strings.Count(string(out), "migrated\n")))
		})
	}
	wg.Wait()
	if n := migrated.Load(); n != 1 {
		t.Errorf("%d processes migrated %d templates, want 1", processes, n)
	}
}

// race runs this test binary as another process that asks for a database.
func race(t *testing.T, hash string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLongManyProcessesMakeATemplateOnce$")
	cmd.Env = append(os.Environ(), raceEnv+"="+hash)
	return cmd
}

func TestLongOldDatabasesAreDroppedUnlessAProcessUsesThem(t *testing.T) {
	useOwnServer(t)
	inUse := backend.Database(t, migrate, "cccccccccccc") // this process, until it ends
	abandoned := []string{"waybill_template_000000000000", "waybill_template_111111111111_making", "waybill_test_0123456789ab_7"}
	for _, name := range abandoned {
		execute(t, "CREATE DATABASE "+name)
	}

	if out, err := race(t, "dddddddddddd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	left := databases(t, "waybill_")
	for _, name := range abandoned {
		if slices.Contains(left, name) {
			t.Errorf("%s is still there, and no process uses it", name)
		}
	}
	query[int](t, inUse, "SELECT id FROM parcel")
	if !slices.Contains(left, "waybill_template_cccccccccccc") {
		t.Error("the template that this process uses was dropped")
	}
}

func TestLongAFailedMigrationLeavesNoTemplate(t *testing.T) {
	useOwnServer(t)
	failing := &failureRecorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		backend.Database(failing, func(context.Context, string) error { return errors.New("no such column") }, "eeeeeeeeeeee")
	}()
	<-done
	if !strings.Contains(failing.message, "no such column") {
		t.Errorf("the test was told %q, want the migration's error", failing.message)
	}
	if slices.Contains(databases(t, "waybill_template_"), "waybill_template_eeeeeeeeeeee") {
		t.Error("a template that was not migrated has its final name")
	}
}

func TestLongACopyWaitsForASessionOnTheTemplateToEnd(t *testing.T) {
	useOwnServer(t)
	const hash = "ffffffffffff"
	backend.Database(t, migrate, hash)
	execute(t, "ALTER DATABASE waybill_template_"+hash+" ALLOW_CONNECTIONS true")
	intruder, err := pgx.Connect(t.Context(), strings.Replace(server.URL, "/postgres?", "/waybill_template_"+hash+"?", 1))
	if err != nil {
		t.Fatal(err)
	}
	// Postgres itself waits 5 s before it refuses; stay longer than that.
	time.AfterFunc(5500*time.Millisecond, func() { intruder.Close(context.Background()) })
	backend.Database(t, migrate, hash)
}

func TestWithoutPostgresATestIsSkippedAndFailsInCI(t *testing.T) {
	t.Setenv(backend.PostgresURLEnv, "")
	for _, c := range []struct{ ci, want string }{{"", "skipped"}, {"true", "failed"}} {
		t.Setenv("CI", c.ci)
		recorder := &failureRecorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			backend.Database(recorder, migrate, "aaaaaaaaaaaa")
		}()
		<-done
		if recorder.outcome != c.want || !strings.Contains(recorder.message, backend.PostgresURLEnv) {
			t.Errorf("CI=%q: %s with %q, want %s", c.ci, recorder.outcome, recorder.message, c.want)
		}
	}
}
