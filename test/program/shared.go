package program

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// Home is a folder that all tests of a package share, the data of its server included.
var Home string

var (
	shared *Process
	start  sync.Mutex
)

// Run runs the tests of a package, which share one `waybill dev`:
//
//	func TestMain(m *testing.M) { os.Exit(program.Run(m)) }
func Run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "waybill-dev-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	Home = dir
	code := m.Run()
	if shared != nil {
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL: the server:", err)
			code = max(code, 1)
		}
	}
	return code
}

// Shared returns the server of all tests, which the first of them starts.
func Shared(t testing.TB) *Process {
	t.Helper()
	start.Lock()
	defer start.Unlock()
	if shared != nil {
		return shared
	}
	binary, err := Build(Home)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(binary, Home, FreePorts, "dev", "--data-dir", Home)
	if err == nil {
		err = s.Await()
	}
	if err != nil {
		t.Fatal(err)
	}
	shared = s
	return s
}
