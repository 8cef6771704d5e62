package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
)

// patience is how long a test waits for what should take moments, on a machine
// that has other things to do.
const patience = time.Minute

// service is the real program, and a customer of it.
type service struct {
	url   string           // of the sandbox API
	key   string           // of the customer
	store *gormstore.Store // a look into its database

	requests atomic.Int64 // so far
}

// embedded is all in one process, on SQLite.
func embedded(t *testing.T) *service {
	t.Helper()
	dir := t.TempDir()
	url := "sqlite://" + filepath.Join(dir, "waybill.db")
	if err := gormstore.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	return start(t, url, nil, []string{"dev", "--data-dir", dir})
}

// production is a server and a worker on Postgres and Redis.
func production(t *testing.T) *service {
	t.Helper()
	url := backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	return start(t, url, []string{"WAYBILL_REDIS_URL=" + backend.OwnRedis(t).URL}, []string{"serve"}, []string{"worker"})
}

// start runs each command until the test ends. The first one serves.
func start(t *testing.T, database string, with []string, commands ...[]string) *service {
	t.Helper()
	store, err := gormstore.Open(t.Context(), database, gormstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	binary := filepath.Join(t.TempDir(), "waybill")
	if out, err := exec.Command("go", "build", "-o", binary, "waybill/cmd/waybill").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "WAYBILL_") })
	env = append(env,
		"WAYBILL_DATABASE_URL="+database, "WAYBILL_KEY_PEPPER="+strings.Repeat("5a", 32), "WAYBILL_SECRET_KEY="+strings.Repeat("a5", 32),
		"WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0", "WAYBILL_PORTAL_ADDR=127.0.0.1:0",
		"WAYBILL_WEBHOOK_ALLOW_PRIVATE=true", "WAYBILL_WEBHOOK_RETRY_SCHEDULE=100ms,1s,1s", "WAYBILL_LOG_LEVEL=warn",
	)
	env = append(env, with...)
	s := &service{store: store, key: enroll(t, binary, env)}
	for i, command := range commands {
		if url := launch(t, binary, env, command); i == 0 {
			s.url = url
		}
	}
	return s
}

// enroll makes a customer as an operator would, and returns his key.
func enroll(t *testing.T, binary string, env []string) string {
	t.Helper()
	var made struct{ ID, Key string }
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(binary, append(args, "--json")...)
		var stderr bytes.Buffer
		cmd.Env, cmd.Stderr = env, &stderr
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &made)
		}
		if err != nil {
			t.Fatalf("waybill %s: %v\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
		}
	}
	run("business", "create", "--name", "Turning Foods")
	run("app", "create", "--business", made.ID, "--name", "Web shop")
	run("key", "create", "--app", made.ID, "--env", "sandbox", "--scopes", "all")
	return made.Key
}

// launch runs a process until the test ends, and returns the address of its
// sandbox API, where it has one. It must end well.
func launch(t *testing.T, binary string, env, args []string) string {
	t.Helper()
	logs, err := os.Create(filepath.Join(t.TempDir(), args[0]+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	tail := func() []byte {
		text, _ := os.ReadFile(logs.Name()) // none is told too
		return text[max(0, len(text)-4000):]
	}
	cmd := exec.Command(binary, append(args, "--json")...)
	cmd.Env, cmd.Stderr = env, logs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	var told struct {
		Sandbox string `json:"sandbox_url"`
		Ops     string `json:"ops_url"`
	}
	err = json.NewDecoder(stdout).Decode(&told) // ends where the process does
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		exited <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails only where it has ended
		select {
		case err := <-exited:
			if err != nil {
				t.Errorf("waybill %s ended with %v; its log:\n%s", args[0], err, tail())
			}
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-exited
			t.Errorf("waybill %s still ran %s after SIGTERM; its log:\n%s", args[0], patience, tail())
		}
	})
	if err != nil {
		t.Fatalf("waybill %s told no address: %v; its log:\n%s", args[0], err, tail())
	}
	eventually(t, "waybill "+args[0]+" is ready", func() bool {
		res, err := http.Get(told.Ops + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return told.Sandbox
}

// eventually polls until done answers true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s: not so that %s", patience, what)
		}
	}
}

// post sends a request under a key of its own, and wants the status.
func (s *service) post(ctx context.Context, path string, body any, status int, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprintf("request-%d", s.requests.Add(1)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != status {
		err = fmt.Errorf("POST %s was answered %d: %s", path, res.StatusCode, answer[:min(len(answer), 500)])
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}
