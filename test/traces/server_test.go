package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const patience = time.Minute

var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "waybill-traces-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "waybill")
		if out, err := exec.Command("go", "build", "-o", binary, "waybill/cmd/waybill").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// server is a running `waybill dev`, or another process beside it.
type server struct {
	t      *testing.T
	name   string
	dir    string
	vars   map[string]string
	cmd    *exec.Cmd
	exited chan error
}

func start(t *testing.T, variables ...string) *server {
	t.Helper()
	return launch(t, "dev", t.TempDir(), variables...)
}

// launch runs a command on a data directory.
func launch(t *testing.T, name, dir string, variables ...string) *server {
	t.Helper()
	logs, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	told, err := os.Create(filepath.Join(dir, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	s := &server{t: t, name: name, dir: dir, cmd: exec.Command(binary, name, "--data-dir", dir, "--json"), exited: make(chan error, 1)}
	s.cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "WAYBILL_") || strings.HasPrefix(v, "OTEL_")
	}), append([]string{"WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0",
		"WAYBILL_PORTAL_ADDR=127.0.0.1:0"}, variables...)...)
	s.cmd.Stdout, s.cmd.Stderr = told, logs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.exited <- s.cmd.Wait() }()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.eventually("the server is ready", func() bool {
		select {
		case err := <-s.exited:
			t.Fatalf("the server ended before it was ready: %v\n%s", err, s.log())
		default:
		}
		return s.readVars() && s.metric("waybill_database_connections_max") != ""
	})
	return s
}

func (s *server) readVars() bool {
	file, err := os.ReadFile(filepath.Join(s.dir, "dev.env"))
	s.vars = map[string]string{}
	for line := range strings.SplitSeq(string(file), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			s.vars[name] = value
		}
	}
	told, toldErr := os.ReadFile(filepath.Join(s.dir, s.name+".json"))
	var addresses map[string]string
	if err != nil || toldErr != nil || json.Unmarshal(told, &addresses) != nil {
		return false // not yet
	}
	for name, url := range addresses { // live_url and so on
		s.vars["WAYBILL_"+strings.ToUpper(name)] = url
	}
	return s.vars["WAYBILL_OPS_URL"] != ""
}

func (s *server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, s.name+".log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// stop ends the server as an operator would, and tells how long that took.
func (s *server) stop() time.Duration {
	s.t.Helper()
	begun := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.exited:
		if err != nil {
			s.t.Errorf("the server ended with %v\n%s", err, s.log())
		}
	case <-time.After(patience + 10*time.Second):
		s.t.Fatalf("the server does not end\n%s", s.log())
	}
	return time.Since(begun)
}

// metric is the value of the first line of a metric; empty where there is none.
func (s *server) metric(name string) string {
	res, err := http.Get(s.vars["WAYBILL_OPS_URL"] + "/metrics")
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "{")) {
			return line[strings.LastIndexByte(line, ' ')+1:]
		}
	}
	return ""
}

// post calls the sandbox and returns the data of a 201.
func (s *server) post(path, requestID string, body map[string]any, headers ...string) map[string]any {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.vars["WAYBILL_SANDBOX_URL"]+path, bytes.NewReader(encoded))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.vars["WAYBILL_TEST_KEY"])
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "key-of-"+requestID)
	req.Header.Set("X-Request-ID", requestID)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Data map[string]any `json:"data"`
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusCreated || json.Unmarshal(text, &answer) != nil {
		s.t.Fatalf("POST %s: %d %v %s", path, res.StatusCode, err, text)
	}
	return answer.Data
}

func (s *server) order(externalID string) map[string]any {
	return map[string]any{
		"external_id": externalID, "pickup_location_id": s.vars["WAYBILL_PICKUP_ID"], "vehicle_type": "bike",
		"recipient": map[string]any{
			"name": "Ama Mensah-Traced", "phone_number": "024 412 3456",
			"address": map[string]any{"address": "7 Independence Avenue, Accra", "latitude": 5.6037, "longitude": -0.1870},
		},
		"payment": map[string]any{"type": "delivery_only"},
	}
}

func (s *server) eventually(what string, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("after %s: not so that %s\n%s", patience, what, s.log())
		}
	}
}
