package docs

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what should take moments.
const patience = time.Minute

// home holds what all tests share, and binary is the program.
var home, binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "waybill-docs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	home, binary = dir, filepath.Join(dir, "waybill")
	code := m.Run()
	if running != nil {
		if err := running.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL:", err)
			code = max(code, 1)
		}
	}
	return code
}

// server is a running `waybill dev`.
type server struct {
	cmd  *exec.Cmd
	ends chan error
	vars map[string]string
	site string // address of the documentation
}

var (
	running *server
	start   sync.Mutex
)

// serve is the server of all tests, built and started for the first of them.
func serve(t *testing.T) *server {
	t.Helper()
	start.Lock()
	defer start.Unlock()
	if running != nil {
		return running
	}
	if out, err := exec.Command("go", "build", "-o", binary, "waybill/cmd/waybill").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	logs, err := os.Create(filepath.Join(home, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	s := &server{cmd: exec.Command(binary, "dev", "--data-dir", home), ends: make(chan error, 1)}
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WAYBILL_") })
	s.cmd.Env = append(s.cmd.Env, "WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0",
		"WAYBILL_PORTAL_ADDR=127.0.0.1:0")
	s.cmd.Stdout, s.cmd.Stderr = logs, logs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ends <- s.cmd.Wait() }()
	for deadline := time.Now().Add(patience); !s.ready(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = s.cmd.Process.Kill()
			told, _ := os.ReadFile(logs.Name())
			t.Fatalf("the server is not ready after %v\n%s", patience, told)
		}
	}
	s.site = strings.TrimSuffix(s.vars["WAYBILL_SANDBOX_URL"], "/v1") + "/docs"
	running = s
	return s
}

func (s *server) ready() bool {
	file, err := os.ReadFile(filepath.Join(home, "dev.env"))
	if err != nil {
		return false
	}
	s.vars = map[string]string{}
	for line := range strings.SplitSeq(string(file), "\n") {
		name, value, _ := strings.Cut(line, "=")
		s.vars[name] = value
	}
	res, err := http.Get(s.vars["WAYBILL_OPS_URL"] + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (s *server) stop() error {
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

// page is the HTML at a path below the site.
func (s *server) page(t *testing.T, path string) string {
	t.Helper()
	res, err := http.Get(s.site + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return string(body)
}

var (
	reRun  = regexp.MustCompile(`(?s)<pre tabindex="0" data-run><code>(.*?)</code></pre>`)
	reCode = regexp.MustCompile(`(?s)<pre tabindex="0"><code>(.*?)</code></pre>`)
	reHref = regexp.MustCompile(`href="(/docs[^"#]*)"`)
)

// blocks are the texts that a pattern finds in a page, as a reader copies them.
func blocks(page string, pattern *regexp.Regexp) []string {
	var texts []string
	for _, m := range pattern.FindAllStringSubmatch(page, -1) {
		texts = append(texts, html.UnescapeString(m[1]))
	}
	return texts
}

// paths are all pages, found by following links from the first.
func (s *server) paths(t *testing.T) []string {
	t.Helper()
	paths := []string{""}
	for i := 0; i < len(paths); i++ {
		for _, m := range reHref.FindAllStringSubmatch(s.page(t, paths[i]), -1) {
			path := strings.TrimPrefix(m[1], "/docs")
			if !strings.HasPrefix(path, "/assets/") && !strings.HasSuffix(path, ".md") && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// needs skips the test where a program is missing; with CI=true it fails.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci { // anything unreadable is not CI
		t.Fatalf("install %s", program)
	}
	t.Skipf("install %s", program)
}

// output runs a program with an input and a deadline.
func output(t *testing.T, dir, input, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, problems.String(), out)
	}
	return string(out)
}
