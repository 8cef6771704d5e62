package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
	"waybill/test/program"
)

const patience = program.Patience

// server is one running `waybill dev`, or another process that serves.
type server struct {
	*program.Process
	dialect string
	args    []string // of the process
	dir     string
	env     []string // settings

	connections *http.Transport

	mu      sync.Mutex
	secrets map[string]bool // what must never be logged

	making     sync.Mutex
	businesses map[string]string // by the tests that have them

	tokenOnce sync.Once
	token     string // of the operator that makes customers
}

// start runs a server until the test ends; then it must stop cleanly.
func start(t testing.TB, dialect string, settings ...string) *server {
	t.Helper()
	s := prepare(t, dialect, settings...)
	s.launch(t)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// prepare makes everything a server needs and does not start it.
func prepare(t testing.TB, dialect string, settings ...string) *server {
	t.Helper()
	// First, as it skips the test where there is no Postgres.
	if dialect == postgres {
		url := backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
		if pooler != nil {
			url = pooler.URL(url)
			settings = append(settings, "WAYBILL_DATABASE_POOLER=transaction")
		}
		settings = append(settings, "WAYBILL_DATABASE_URL="+url)
	} else if pooler != nil {
		t.Skip("no pooler stands before " + dialect)
	}
	dir := t.TempDir()
	s := &server{
		dialect: dialect, args: []string{"dev", "--data-dir", dir}, dir: dir, secrets: map[string]bool{}, businesses: map[string]string{},
		env:         slices.Concat(program.FreePorts, []string{"WAYBILL_LOG_FORMAT=json"}, settings),
		connections: &http.Transport{MaxIdleConnsPerHost: 64},
	}
	t.Cleanup(s.connections.CloseIdleConnections)
	return s
}

// database is the URL of the server's database.
func (s *server) database() string {
	if s.dialect == sqlite {
		return "sqlite://" + filepath.Join(s.dir, "waybill.db")
	}
	return s.Vars["WAYBILL_DATABASE_URL"]
}

// launch starts the process and waits until it is ready.
func (s *server) launch(t testing.TB) {
	t.Helper()
	var err error
	if s.Process, err = program.Start(binary, s.dir, s.env, s.args...); err == nil {
		err = s.Await()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// base is the address of an environment's API, or of that of operators.
func (s *server) base(env string) string {
	switch env {
	case live:
		return s.Vars["WAYBILL_LIVE_URL"]
	case operations:
		return s.Vars["WAYBILL_OPS_URL"] + "/ops/v1"
	}
	return s.Vars["WAYBILL_SANDBOX_URL"]
}

// stop ends the server as an operator would and looks at what it leaves.
func (s *server) stop(t testing.TB) {
	t.Helper()
	s.connections.CloseIdleConnections()
	s.terminate(t)
	s.checkLogs(t)
}

// terminate ends the server as an operator would, and wants exit code 0.
func (s *server) terminate(t testing.TB) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

// kill ends the server as a crash would.
func (s *server) kill(testing.TB) { s.Kill() }

// eventually polls until done answers true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s: not so that %s", patience, what)
		}
	}
}
