package e2e

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"waybill/test/program"
)

// The engines that everything is shown on.
const (
	sqlite   = "SQLite"
	postgres = "Postgres"
)

// The environments.
const (
	live    = "live"
	sandbox = "sandbox"
)

// binary is the program under test.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait for servers and for time to pass more than they compute.
	if cores := strconv.Itoa(runtime.GOMAXPROCS(0)); flag.Lookup("test.parallel").Value.String() == cores {
		_ = flag.Set("test.parallel", "8")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// A worker of the fuzzer drives no server, and is killed when it is done.
	if worker := flag.Lookup("test.fuzzworker"); worker != nil && worker.Value.String() == "true" {
		return m.Run()
	}
	if flag.Lookup("test.fuzz").Value.String() != "" {
		return m.Run() // in this process; each worker would build the program first
	}
	dir, err := os.MkdirTemp("", "waybill-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = program.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code, ok := startPooler(); !ok {
		return code
	}
	code := m.Run()
	sharedServers.Range(func(_, s any) bool {
		if !s.(*sharedServer).close() {
			code = max(code, 1)
		}
		return true
	})
	if err := stopPooler(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// both runs a test on each database.
func both(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	for _, dialect := range []string{sqlite, postgres} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			test(t, shared(t, dialect))
		})
	}
}

// everywhere runs a test in each environment on SQLite, and in live on Postgres: no
// database tells the environments apart in a way of its own.
func everywhere(t *testing.T, test func(t *testing.T, s *server, env string)) {
	t.Helper()
	both(t, func(t *testing.T, s *server) {
		environments := []string{live, sandbox}
		if s.dialect == postgres {
			environments = environments[:1]
		}
		for _, env := range environments {
			t.Run(env, func(t *testing.T) {
				t.Parallel()
				test(t, s, env)
			})
		}
	})
}

// sharedServer is started by the first test that needs it and stopped after
// the last.
type sharedServer struct {
	mu     sync.Mutex
	server *server
	life   *lifetime
}

// sharedServers are by their databases and settings.
var sharedServers sync.Map

// shared is the server of all tests with the same database and settings. Each test has a
// client address of its own there, so that their failed authentications are not added up.
func shared(t *testing.T, dialect string, settings ...string) *server {
	t.Helper()
	if len(settings) == 0 {
		settings = []string{"WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s"}
	}
	found, _ := sharedServers.LoadOrStore(dialect+strings.Join(settings, " "), &sharedServer{})
	h := found.(*sharedServer)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		h.life = &lifetime{TB: t}
		h.server = start(h.life, dialect, append([]string{"WAYBILL_TRUSTED_PROXIES=127.0.0.1/32"}, settings...)...)
		h.life.TB = nil
	}
	return h.server
}

func (h *sharedServer) close() (ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life == nil {
		return true
	}
	return h.life.end()
}

// lifetime is a testing.TB that outlasts the test it was made in: cleanups run
// at its end, and what they complain about then fails the whole run.
type lifetime struct {
	testing.TB // nil once that test goes on without it
	cleanups   []func()
	failed     bool
}

func (l *lifetime) Helper()          {}
func (l *lifetime) Cleanup(f func()) { l.cleanups = append(l.cleanups, f) }
func (l *lifetime) Log(args ...any)  { fmt.Fprintln(os.Stderr, args...) }
func (l *lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "waybill-e2e-")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (l *lifetime) Error(args ...any) {
	if l.TB != nil {
		l.TB.Error(args...)
		return
	}
	l.failed = true
	fmt.Fprintln(os.Stderr, append([]any{"FAIL: shared server:"}, args...)...)
}

func (l *lifetime) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }

func (l *lifetime) end() (ok bool) {
	for len(l.cleanups) > 0 {
		last := len(l.cleanups) - 1
		f := l.cleanups[last]
		l.cleanups = l.cleanups[:last]
		f()
	}
	return !l.failed
}
