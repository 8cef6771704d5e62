package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/clients/go/waybillapi"
	"waybill/adapters/crypto"
)

// underKey returns the environment with another secret key, and previous ones.
func underKey(environ []string, key string, previous ...string) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, settings.SecretEnv) })
	if environ = append(environ, settings.SecretEnv+"="+key); len(previous) > 0 {
		environ = append(environ, settings.PreviousSecretEnv+"="+strings.Join(previous, ","))
	}
	return environ
}

// isUnder reports whether the check in the database was sealed under a key.
func isUnder(t *testing.T, environ []string, key string) bool {
	t.Helper()
	i := slices.IndexFunc(environ, func(v string) bool { return strings.HasPrefix(v, "WAYBILL_DATABASE_URL=sqlite://") })
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(environ[i], "WAYBILL_DATABASE_URL=sqlite://"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var sealed []byte
	if err := db.QueryRowContext(t.Context(), "SELECT sealed FROM secret_key_check").Scan(&sealed); err != nil {
		t.Fatal(err)
	}
	sealer, err := crypto.NewSealer([]byte(key))
	return err == nil && sealer.Current(sealed)
}

var oldKey, newKey = strings.Repeat("hunter22", 4), strings.Repeat("hunter33", 4)

func TestUnderAnotherSecretKeyNothingStarts(t *testing.T) {
	t.Parallel()
	environ := underKey(served(t), oldKey)
	r, _ := startWorker(t, environ) // a worker may be the first to start
	r.terminate(t)
	rest := "\n  used for: webhooks, of which none can be signed (now from WAYBILL_SECRET_KEY)\n" +
		"  fix:      set it to that one, or to change it add that one to WAYBILL_SECRET_KEY_PREVIOUS; where it is lost," +
		" delete the row of the table secret_key_check and rotate the secret of every endpoint\n"
	what := "error: WAYBILL_SECRET_KEY is not the one this database's signing secrets were sealed under"
	for _, args := range [][]string{{"serve"}, {"worker"}} {
		for want, environ := range map[string][]string{
			what + rest: underKey(environ, newKey),
			what + ", nor is any of WAYBILL_SECRET_KEY_PREVIOUS" + rest: underKey(environ, newKey, strings.Repeat("hunter44", 4)),
		} {
			if o := refusal(t, environ, args...); o.code != term.ExitFailure || o.stderr != want || o.stdout != "" {
				t.Errorf("%v: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
			}
		}
	}
	o := refusal(t, underKey(environ, newKey), "serve", "--json")
	if o.code != term.ExitFailure ||
		!strings.HasPrefix(o.stderr, `{"error":{"code":"CANNOT_START","message":"WAYBILL_SECRET_KEY is not the one`) {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
}

func TestDevTakesADatabaseOverWithItsSecretKeyAndWarnsOnce(t *testing.T) {
	t.Parallel()
	environ := append(slices.Clone(freePorts), "WAYBILL_DATABASE_URL=sqlite://"+filepath.Join(t.TempDir(), "shared.db"))
	dir := t.TempDir()
	for i, step := range []struct {
		key      []string
		warnings int
	}{
		{[]string{oldKey}, 0}, {[]string{newKey, oldKey}, 0}, {[]string{oldKey}, 1}, {[]string{oldKey}, 0},
	} {
		r, _ := startCommand(t, underKey(environ, step.key[0], step.key[1:]...), "dev", "--data-dir", dir)
		eventually(t, "the check is under the key", func() bool { return isUnder(t, environ, step.key[0]) })
		r.terminate(t)
		if got := strings.Count(r.stderr.String(), "WAYBILL_SECRET_KEY is another one than before"); got != step.warnings {
			t.Errorf("start %d: %d warnings, want %d", i, got, step.warnings)
		}
	}
}

// customer has endpoints, and verifies the webhooks that arrive.
type customer struct {
	t       *testing.T
	key     string
	at      *httptest.Server
	secrets map[string]string // by ID of the endpoint, which is the path, too
	tests   int

	mu   sync.Mutex
	came map[string][]error // by path: what is wrong with it
}

func newCustomer(t *testing.T, environ []string) *customer {
	_, key := madeKey(t, environ, "sandbox")
	c := &customer{t: t, key: key, secrets: map[string]string{}, came: map[string][]error{}}
	c.at = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.came[r.URL.Path] = append(c.came[r.URL.Path], verified(c.secrets[r.URL.Path], r.Header, body))
	}))
	t.Cleanup(c.at.Close)
	return c
}

func verified(secret string, header http.Header, body []byte) error {
	verifier, err := waybillapi.NewVerifier(secret)
	if err != nil {
		return err
	}
	return verifier.Verify(header, body)
}

// post sends a request under a key, and expects its response.
func (c *customer) post(v admin.ServingView, path, idempotencyKey, body string, want int) (data object) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, v.Sandbox+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Idempotency-Key", "cmd-test-"+idempotencyKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Data object }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != want {
		c.t.Fatalf("%s answers %d: %v (%v)", path, res.StatusCode, answer.Data, err)
	}
	return answer.Data
}

// adds creates an endpoint. The same name again returns the same one.
func (c *customer) adds(v admin.ServingView, name string) (secret string) {
	c.t.Helper()
	made := c.post(v, "/webhook-endpoints", name, fmt.Sprintf(`{"url":"%s/%s"}`, c.at.URL, name), http.StatusCreated)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets["/"+name] = made["secret"].(string)
	c.secrets[name] = made["id"].(string)
	return c.secrets["/"+name]
}

// isTold sends an event to every endpoint, and expects each to be signed correctly.
func (c *customer) isTold(v admin.ServingView, names ...string) {
	c.t.Helper()
	for _, name := range names {
		c.tests++
		c.post(v, "/webhook-endpoints/"+c.secrets[name]+"/test", fmt.Sprint("test-", c.tests), "", http.StatusAccepted)
	}
	for _, name := range names {
		eventually(c.t, name+" is told", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.came["/"+name]) > 0
		})
		c.mu.Lock()
		if came := c.came["/"+name]; len(came) != 1 || came[0] != nil {
			c.t.Errorf("%s: %d webhooks: %v", name, len(came), came)
		}
		delete(c.came, "/"+name)
		c.mu.Unlock()
	}
}

// The order that the settings tell of, with what customers do meanwhile.
func TestTheSecretKeyIsChangedUnnoticed(t *testing.T) {
	t.Parallel()
	environ := append(served(t), "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true")
	var server, worker *running
	var v admin.ServingView
	serve := func(key string, previous ...string) {
		if server != nil {
			server.terminate(t)
		}
		server, v = startServe(t, underKey(environ, key, previous...))
	}
	work := func(key string, previous ...string) {
		if worker != nil {
			worker.terminate(t)
		}
		worker, _ = startWorker(t, underKey(environ, key, previous...))
	}
	serve(oldKey)
	work(oldKey)
	c := newCustomer(t, environ)
	secret := c.adds(v, "first")
	c.isTold(v, "first")
	_, page := call(t, http.MethodGet, v.Sandbox+"/events", c.key, "")
	cursor := page["meta"].(object)["next_cursor"].(string)

	// First all processes learn the new key, one after the other.
	work(oldKey, newKey)
	serve(oldKey, newKey)
	c.adds(v, "prepared")
	c.isTold(v, "first", "prepared")

	// Then one after the other seals under it.
	serve(newKey, oldKey)
	c.adds(v, "mixed")
	c.isTold(v, "first", "prepared", "mixed")
	if again := c.adds(v, "first"); again != secret {
		t.Errorf("a request that comes again is answered with the secret %s, was %s", again, secret)
	}
	if code, answer := call(t, http.MethodGet, v.Sandbox+"/events?cursor="+cursor, c.key, ""); code != http.StatusOK {
		t.Errorf("a cursor from before is answered %d: %v", code, answer)
	}
	work(oldKey, newKey) // one that is not changed yet may have to start again
	c.isTold(v, "first", "prepared", "mixed")
	serve(oldKey, newKey) // and one that is may have to be changed back
	c.adds(v, "back")
	serve(newKey, oldKey)
	work(newKey, oldKey)
	c.adds(v, "changed")
	c.isTold(v, "first", "prepared", "mixed", "back", "changed")

	// In the end nothing needs the old key any more.
	eventually(t, "all is sealed anew", func() bool { return isUnder(t, environ, newKey) })
	if o := refusal(t, underKey(environ, oldKey), "worker"); o.code != term.ExitFailure {
		t.Errorf("under the old key: exit code %d\n%s", o.code, o.stderr)
	}
	serve(newKey)
	work(newKey)
	c.isTold(v, "first", "prepared", "mixed", "back", "changed")
	server.terminate(t)
	worker.terminate(t)
}
