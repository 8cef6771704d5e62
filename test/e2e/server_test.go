package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waybill/test/backend"
)

// patience is how long a test waits for what should take moments, on a
// machine that has other things to do.
const patience = time.Minute

// server is one running `waybill dev`, or another process that serves.
type server struct {
	dialect string
	args    []string // of the process
	dir     string
	env     []string // settings
	vars    map[string]string
	logs    string // file

	cmd    *exec.Cmd
	exited chan struct{}
	err    error // of the exit, once exited is closed
	asked  bool  // to stop

	connections *http.Transport

	mu         sync.Mutex
	secrets    map[string]bool   // what must never be logged
	businesses map[string]string // by the tests that have them

	tokenOnce sync.Once
	token     string // of the operator that makes customers

	// expectsErrors is set by a test that breaks something on purpose.
	expectsErrors bool
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
		url := backend.Database(t, func(ctx context.Context, url string) error {
			cmd := exec.CommandContext(ctx, binary, "migrate", "up")
			cmd.Env = environment("WAYBILL_DATABASE_URL=" + url)
			out, err := cmd.CombinedOutput()
			if err != nil {
				return errors.Join(err, errors.New(string(out)))
			}
			return nil
		}, migrationsHash(t))
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
		env: append([]string{
			"WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0", "WAYBILL_PORTAL_ADDR=127.0.0.1:0",
			"WAYBILL_LOG_FORMAT=json",
		}, settings...),
		connections: &http.Transport{MaxIdleConnsPerHost: 64},
	}
	t.Cleanup(s.connections.CloseIdleConnections)
	s.logs = filepath.Join(s.dir, "server.log")
	return s
}

// database is the URL of the server's database.
func (s *server) database() string {
	if s.dialect == sqlite {
		return "sqlite://" + filepath.Join(s.dir, "waybill.db")
	}
	return s.vars["WAYBILL_DATABASE_URL"]
}

// environment is this process's environment without the settings of the program.
func environment(settings ...string) []string {
	kept := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WAYBILL_") })
	return append(kept, settings...)
}

// migrationsHash changes whenever the program does, and with it every migration.
var migrationsHashOnce = sync.OnceValues(func() (string, error) {
	program, err := os.ReadFile(binary)
	sum := sha256.Sum256(program)
	return hex.EncodeToString(sum[:]), err
})

func migrationsHash(t testing.TB) string {
	hash, err := migrationsHashOnce()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// launch starts the process and waits until it is ready.
func (s *server) launch(t testing.TB) {
	t.Helper()
	logs, err := os.OpenFile(s.logs, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	told, err := os.Create(filepath.Join(s.dir, "told"))
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	s.cmd = exec.Command(binary, s.args...)
	s.cmd.Env = environment(s.env...)
	s.cmd.Stdout, s.cmd.Stderr = told, logs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.exited, s.asked = make(chan struct{}), false
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	eventually(t, "the server is ready", func() bool {
		select {
		case <-s.exited:
			t.Fatalf("the server ended before it was ready: %v\n%s", s.err, tail(s.logs))
		default:
		}
		return s.ready()
	})
}

// ready reads where the process listens, and asks it.
func (s *server) ready() bool {
	s.vars = s.addresses()
	if s.vars["WAYBILL_OPS_URL"] == "" {
		return false
	}
	res, err := http.Get(s.vars["WAYBILL_OPS_URL"] + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// addresses are in dev.env, which a first start of dev writes once it knows its
// ports; the processes of production tell theirs. Nothing yet: nil.
func (s *server) addresses() map[string]string {
	vars := map[string]string{}
	if s.args[0] != "dev" {
		var told map[string]string
		file, err := os.ReadFile(filepath.Join(s.dir, "told"))
		if err != nil || json.Unmarshal(file, &told) != nil {
			return nil
		}
		for name, url := range told { // live_url and so on
			vars["WAYBILL_"+strings.ToUpper(name)] = url
		}
		return vars
	}
	file, err := os.ReadFile(filepath.Join(s.dir, "dev.env"))
	if err != nil {
		return nil
	}
	for line := range strings.SplitSeq(string(file), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// base is the address of an environment's API.
func (s *server) base(env string) string {
	if env == live {
		return s.vars["WAYBILL_LIVE_URL"]
	}
	return s.vars["WAYBILL_SANDBOX_URL"]
}

// stop ends the server as an operator would and looks at what it leaves.
func (s *server) stop(t testing.TB) {
	t.Helper()
	s.connections.CloseIdleConnections()
	s.terminate(t)
	s.checkLogs(t)
}

// terminate sends SIGTERM and waits for exit code 0.
func (s *server) terminate(t testing.TB) {
	t.Helper()
	s.askToStop(t)
	select {
	case <-s.exited:
		if s.err != nil {
			t.Errorf("the server ended with %v, want exit code 0\n%s", s.err, tail(s.logs))
		}
	case <-time.After(patience):
		t.Errorf("the server still runs %s after SIGTERM\n%s", patience, tail(s.logs))
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}

// askToStop sends SIGTERM, once: a second one would end the server at once.
func (s *server) askToStop(t testing.TB) {
	t.Helper()
	if s.asked {
		return
	}
	s.asked = true
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

// kill ends the server as a crash would.
func (s *server) kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
}

// tail is the end of a file, for a failure.
func tail(file string) string {
	const lines = 20
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	var last []string
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if last = append(last, scan.Text()); len(last) > lines {
			last = last[1:]
		}
	}
	return strings.Join(last, "\n")
}

// eventually polls until done answers true.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s: not so that %s", patience, what)
		}
	}
}
