package backend_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"waybill/test/backend"
)

// start starts a PgBouncer before a Postgres of its own.
func startPgBouncer(t *testing.T, settings ...string) (*backend.PgBouncer, *backend.Postgres) {
	t.Helper()
	postgres, err := backend.StartPostgres(t.Context())
	if err != nil {
		notInstalled(t, err)
	}
	t.Cleanup(func() {
		if err := postgres.Stop(); err != nil {
			t.Error(err)
		}
	})
	server, err := backend.StartPgBouncer(t.Context(), postgres.URL, settings...)
	if err != nil {
		notInstalled(t, err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server, postgres
}

func notInstalled(t *testing.T, err error) {
	t.Helper()
	if (errors.Is(err, backend.ErrNoPostgres) || errors.Is(err, backend.ErrNoPgBouncer)) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	t.Fatal(err)
}

func connectPgBouncer(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url+"&default_query_exec_mode=exec")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func behind(t *testing.T, c interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (pid int) {
	t.Helper()
	if err := c.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestASessionIsAClientsForOneTransactionOnly(t *testing.T) {
	server, postgres := startPgBouncer(t)
	one, two := connectPgBouncer(t, server.URL(postgres.URL)), connectPgBouncer(t, server.URL(postgres.URL))
	first := behind(t, one)
	if second := behind(t, two); second != first {
		t.Errorf("two idle clients have sessions of their own, %d and %d", first, second)
	}
	tx, err := one.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if mine, other := behind(t, tx), behind(t, two); mine == other {
		t.Errorf("a transaction shares session %d", mine)
	}
}

func TestItComesBackOnTheSamePortAndWithItsSettings(t *testing.T) {
	server, postgres := startPgBouncer(t, "ignore_startup_parameters = search_path")
	before := connectPgBouncer(t, server.URL(postgres.URL)+"&search_path=x")
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := before.Ping(t.Context()); err == nil {
		t.Error("a connection outlived the restart")
	}
	behind(t, connectPgBouncer(t, server.URL(postgres.URL)+"&search_path=x"))
}

func TestStopEndsItAndRemovesItsDirectory(t *testing.T) {
	server, postgres := startPgBouncer(t)
	open := connectPgBouncer(t, server.URL(postgres.URL))
	for range 2 {
		if err := server.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(server.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stat %s: %v, want it gone", server.Dir, err)
	}
	if err := open.Ping(t.Context()); err == nil {
		t.Error("a connection outlived it")
	}
	if err := server.Restart(t.Context()); err == nil {
		t.Error("restarted what was stopped")
	}
}

func TestStopTellsThatItHadEndedByItself(t *testing.T) {
	pidfile := filepath.Join("/tmp", fmt.Sprintf("waybill-pgbouncer-%d.pid", os.Getpid())) // where its own user may write
	server, _ := startPgBouncer(t, "pidfile = "+pidfile)
	written, err := os.ReadFile(pidfile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(written)))
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(pidfile)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-server.Done()
	if err := server.Stop(); err == nil || !strings.Contains(err.Error(), "ended before it was stopped") {
		t.Errorf("stopped: %v, want its early end told", err)
	}
}

func TestAMistakeInItsSettingsIsToldWithItsLog(t *testing.T) {
	postgres := "postgres://postgres@127.0.0.1:1/postgres" // which it would not need yet
	_, err := backend.StartPgBouncer(t.Context(), postgres, "pool_mode = nonsense")
	if errors.Is(err, backend.ErrNoPgBouncer) {
		notInstalled(t, err)
	}
	if err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("%v, want its log", err)
	}
}

func TestTheEnvironmentNamesTheBinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my-pgbouncer")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(backend.PgBouncerEnv, path)
	if found, err := backend.FindPgBouncer(); err != nil || found != path {
		t.Errorf("found %q (%v), want %q", found, err, path)
	}
	t.Setenv(backend.PgBouncerEnv, path+"-not")
	if found, err := backend.FindPgBouncer(); err == nil || errors.Is(err, backend.ErrNoPgBouncer) {
		t.Errorf("found %q (%v), want an error that is no reason to skip", found, err)
	}
}
