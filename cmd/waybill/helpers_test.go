package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/test/stage"
)

// patience is how long a test waits for what should take moments.
const patience = time.Minute

// freePorts lets tests run in parallel, and next to a server.
var freePorts = []string{"WAYBILL_LIVE_ADDR=127.0.0.1:0", "WAYBILL_SANDBOX_ADDR=127.0.0.1:0", "WAYBILL_OPS_ADDR=127.0.0.1:0",
	"WAYBILL_PORTAL_ADDR=127.0.0.1:0"}

// outcome is the result of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

// command runs a command to its end.
func command(t *testing.T, environ []string, args ...string) outcome {
	t.Helper()
	var stdout, stderr stage.Log
	code := run(t.Context(), args, environ, &stdout, &stderr)
	return outcome{code, stdout.String(), stderr.String()}
}

// inDir runs a command on a data directory; it must succeed, and its stdout
// must be one JSON value.
func inDir[T any](t *testing.T, dir string, args ...string) T {
	t.Helper()
	o := command(t, nil, append(slices.Clone(args), "--data-dir", dir, "--json")...)
	if o.code != term.ExitOK || o.stderr != "" {
		t.Fatalf("waybill %s: exit code %d\n%s", strings.Join(args, " "), o.code, o.stderr)
	}
	var value T
	decoder := json.NewDecoder(strings.NewReader(o.stdout))
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("waybill %s: %v in %s", strings.Join(args, " "), err, o.stdout)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("waybill %s: more than one value in %s", strings.Join(args, " "), o.stdout)
	}
	return value
}

// made runs a command that creates something in the environment of a server.
func made(t *testing.T, environ []string, args ...string) (answer object) {
	t.Helper()
	o := command(t, environ, append(slices.Clone(args), "--json")...)
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil || o.code != term.ExitOK {
		t.Fatalf("waybill %s: %v\n%s", strings.Join(args, " "), err, o.stderr)
	}
	return answer
}

// madeApp returns an application of a new customer.
func madeApp(t *testing.T, environ []string) (business, app string) {
	t.Helper()
	business = made(t, environ, "business", "create", "--name", "Adom Foods")["id"].(string)
	return business, made(t, environ, "app", "create", "--business", business, "--name", "Shop")["id"].(string)
}

// madeKey returns a key of a new customer in an environment.
func madeKey(t *testing.T, environ []string, env string) (id, key string) {
	t.Helper()
	_, app := madeApp(t, environ)
	k := made(t, environ, "key", "create", "--app", app, "--env", env, "--scopes", "all")
	return k["id"].(string), k["key"].(string)
}

type object = map[string]any

// names returns the members of an object, sorted.
func names(o object) string {
	var all []string
	for name := range o {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// running is a server in this process.
type running struct {
	stdout, stderr stage.Log
	stop           context.CancelFunc // what SIGTERM does
	ended          chan int
}

func start(t *testing.T, environ []string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{stop: cancel, ended: make(chan int, 1)}
	go func() {
		defer close(r.ended)
		r.ended <- run(ctx, args, environ, &r.stdout, &r.stderr)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-r.ended: // it writes into directories of the test until then
		case <-time.After(patience):
			t.Error("the program does not end")
		}
		if t.Failed() {
			t.Logf("waybill %s\n%s", strings.Join(args, " "), r.stderr.String())
		}
	})
	return r
}

// wait returns the exit code.
func (r *running) wait(t *testing.T) int {
	t.Helper()
	select {
	case code := <-r.ended:
		return code
	case <-time.After(patience):
		t.Fatal("the program does not end")
		return 0
	}
}

func (r *running) terminate(t *testing.T) {
	t.Helper()
	r.stop()
	if code := r.wait(t); code != term.ExitOK {
		t.Fatalf("exit code %d\n%s", code, r.stderr.String())
	}
}

// startDev starts dev on free ports and returns dev.env once it is ready.
func startDev(t *testing.T, dir string, args ...string) (*running, map[string]string) {
	t.Helper()
	r := start(t, freePorts, append([]string{"dev", "--data-dir", dir}, args...)...)
	return r, awaitDev(t, r, dir)
}

// devWith is the dev.env of a dev with settings of its own, which runs until the test ends.
func devWith(t *testing.T, environ ...string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	return awaitDev(t, start(t, append(slices.Clone(freePorts), environ...), "dev", "--data-dir", dir), dir)
}

// startPricing starts a pricing service on a free port, and returns its address.
func startPricing(t *testing.T, environ []string, args ...string) (r *running, url string) {
	t.Helper()
	r = start(t, environ, append([]string{"pricing", "serve", "--addr", "127.0.0.1:0", "--json"}, args...)...)
	var v struct {
		URL string `json:"pricing_url"`
	}
	eventually(t, "the pricing service listens", func() bool { return json.Unmarshal([]byte(r.stdout.String()), &v) == nil })
	return r, v.URL
}

// startServe starts serve, and startWorker a worker. Both return where it listens.
func startServe(t *testing.T, environ []string) (*running, admin.ServingView) {
	t.Helper()
	return startCommand(t, environ, "serve")
}

func startWorker(t *testing.T, environ []string) (*running, admin.ServingView) {
	t.Helper()
	return startCommand(t, environ, "worker")
}

func startCommand(t *testing.T, environ []string, args ...string) (*running, admin.ServingView) {
	t.Helper()
	r := start(t, environ, append(args, "--json")...)
	var v admin.ServingView
	eventually(t, args[0]+" is ready", func() bool {
		select {
		case code := <-r.ended:
			t.Fatalf("%s ended with %d\n%s", args[0], code, r.stderr.String())
		default:
		}
		return json.Unmarshal([]byte(r.stdout.String()), &v) == nil && status(v.Ops+"/readyz") == http.StatusOK
	})
	return r, v
}

// awaitDev returns the dev.env of a dev that was started, once it is ready.
func awaitDev(t *testing.T, r *running, dir string) (vars map[string]string) {
	t.Helper()
	eventually(t, "dev is ready", func() bool {
		select {
		case code := <-r.ended:
			t.Fatalf("dev ended with %d\n%s", code, r.stderr.String())
		default:
		}
		var err error
		vars, err = settings.ReadEnvFile(settings.DataDir(dir).DevEnv())
		return err == nil && vars["WAYBILL_OPS_URL"] != "" && status(vars["WAYBILL_OPS_URL"]+"/readyz") == http.StatusOK
	})
	return vars
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline.C:
			t.Fatalf("not so: %s", what)
		case <-tick.C:
		}
	}
}

// eventuallyShows waits until the metrics at an operations listener hold each of
// these texts: a job's first run ends some time after the listener is open.
func eventuallyShows(t *testing.T, ops string, want []string) {
	t.Helper()
	missing := want
	defer func() {
		if len(missing) > 0 {
			t.Errorf("the metrics lack %q", missing)
		}
	}()
	eventually(t, "all metrics are shown", func() bool {
		res, err := http.Get(ops + "/metrics")
		if err != nil {
			return false
		}
		shown, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		missing = slices.DeleteFunc(slices.Clone(missing), func(text string) bool { return strings.Contains(string(shown), text) })
		return err == nil && len(missing) == 0
	})
}

// readAll returns the text at an address.
func readAll(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// status returns the status of a response, or 0 without one.
func status(url string) int {
	res, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// call sends a request with a key and decodes the response.
func call(t *testing.T, method, url, key, body string) (int, object) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "cmd-test-"+t.Name())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer object
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}
