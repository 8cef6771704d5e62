// Package devserver builds the program and runs `waybill dev`, one for all tests of a
// package, which start it when the first of them needs it:
//
//	func TestMain(m *testing.M) { os.Exit(devserver.Run(m)) }
package devserver

import (
	"fmt"
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
)

// patience is how long a test waits for what should take moments.
const patience = time.Minute

// Home is a folder that all tests share, the server's data included.
var Home string

var (
	running *Server
	start   sync.Mutex
)

// Server is a running `waybill dev`.
type Server struct {
	Vars map[string]string // its dev.env

	cmd  *exec.Cmd
	ends chan error
}

// Run runs the tests, stops the server and returns the exit code.
func Run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "waybill-dev-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Home = dir
	code := m.Run()
	if running != nil {
		if err := running.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL:", err)
			code = max(code, 1)
		}
	}
	return code
}

// For returns the server of all tests.
func For(t testing.TB) *Server {
	t.Helper()
	start.Lock()
	defer start.Unlock()
	if running != nil {
		return running
	}
	binary := filepath.Join(Home, "waybill")
	if out, err := exec.Command("go", "build", "-o", binary, "waybill/cmd/waybill").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	logs, err := os.Create(LogFile())
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close() // the process has its own copy
	s := &Server{cmd: exec.Command(binary, "dev", "--data-dir", Home), ends: make(chan error, 1)}
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WAYBILL_") })
	for _, listener := range []string{"LIVE", "SANDBOX", "OPS", "PORTAL"} {
		s.cmd.Env = append(s.cmd.Env, "WAYBILL_"+listener+"_ADDR=127.0.0.1:0")
	}
	s.cmd.Stdout, s.cmd.Stderr = logs, logs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ends <- s.cmd.Wait() }()
	for deadline := time.Now().Add(patience); !s.ready(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = s.cmd.Process.Kill()
			told, _ := os.ReadFile(LogFile())
			t.Fatalf("the server is not ready after %v\n%s", patience, told)
		}
	}
	running = s
	return s
}

// LogFile is where the server's output goes.
func LogFile() string { return filepath.Join(Home, "server.log") }

func (s *Server) ready() bool {
	file, err := os.ReadFile(filepath.Join(Home, "dev.env"))
	if err != nil {
		return false
	}
	s.Vars = map[string]string{}
	for line := range strings.SplitSeq(string(file), "\n") {
		name, value, _ := strings.Cut(line, "=")
		s.Vars[name] = value
	}
	res, err := http.Get(s.Vars["WAYBILL_OPS_URL"] + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (s *Server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-s.ends:
		return err
	case <-time.After(patience):
		return fmt.Errorf("the server still runs %v after SIGTERM", patience)
	}
}
