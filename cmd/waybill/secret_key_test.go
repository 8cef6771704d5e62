package main

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
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

// The order that the settings tell of. Until the old key is taken out, the secret that was given out is told again.
func TestTheSecretKeyIsChangedUnnoticed(t *testing.T) {
	t.Parallel()
	environ := append(served(t), "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true")
	_, key := madeKey(t, environ, "sandbox")
	first := ""
	for _, under := range [][]string{{oldKey}, {oldKey, newKey}, {newKey, oldKey}} {
		server, v := startServe(t, underKey(environ, under[0], under[1:]...))
		code, answer := call(t, http.MethodPost, v.Sandbox+"/webhook-endpoints", key, `{"url":"http://127.0.0.1:9/hooks"}`)
		server.terminate(t)
		if code != http.StatusCreated {
			t.Fatalf("%d: %v", code, answer)
		}
		if secret := answer["data"].(object)["secret"].(string); first == "" {
			first = secret
		} else if secret != first {
			t.Errorf("a request that comes again is answered with the secret %s, was %s", secret, first)
		}
	}
	worker, _ := startWorker(t, underKey(environ, newKey, oldKey))
	eventually(t, "all is sealed anew", func() bool { return isUnder(t, environ, newKey) })
	worker.terminate(t)
	if o := refusal(t, underKey(environ, oldKey), "worker"); o.code != term.ExitFailure {
		t.Errorf("under the old key: exit code %d\n%s", o.code, o.stderr)
	}
	server, _ := startServe(t, underKey(environ, newKey)) // nothing needs the old key any more
	server.terminate(t)
}
