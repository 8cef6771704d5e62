package clients

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"waybill/adapters/httpapi"
)

// patience is how long a test waits for what should take moments.
const patience = time.Minute

// adapters is the folder of the clients.
const adapters = "../../adapters/clients"

// home holds what all tests share.
var home string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "waybill-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	home = dir
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
	binary := filepath.Join(home, "waybill")
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

// operation is one of the description.
type operation struct {
	id, method, path string
	successes        []int
}

// operations are all of the description, by their ID.
func operations(t *testing.T) map[string]operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(httpapi.OpenAPI.YAML(), &doc); err != nil {
		t.Fatal(err)
	}
	all := map[string]operation{}
	for path, item := range doc.Paths {
		for method, node := range item {
			var described struct {
				ID        string         `yaml:"operationId"`
				Responses map[string]any `yaml:"responses"`
			}
			if node.Kind != yaml.MappingNode { // parameters of all methods
				continue
			}
			if err := node.Decode(&described); err != nil {
				t.Fatal(err)
			}
			op := operation{id: described.ID, method: strings.ToUpper(method), path: path}
			for code := range described.Responses {
				if status, err := strconv.Atoi(code); err == nil && status < 300 {
					op.successes = append(op.successes, status)
				}
			}
			slices.Sort(op.successes)
			all[op.id] = op
		}
	}
	if len(all) < 30 {
		t.Fatalf("the description has %d operations, so the test misreads it", len(all))
	}
	return all
}

// tools is the folder of the packages that .tools/npm pins.
func tools(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../../.tools/npm.sh")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci { // anything unreadable is not CI
		t.Fatalf(".tools/npm.sh: %v\n%s", err, stderr.String())
	}
	t.Skipf("the packages of npm are not there: %v\n%s", err, stderr.String())
	return ""
}

// output runs a program with an input and a deadline.
func output(t *testing.T, input string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(input)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
