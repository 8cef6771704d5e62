package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// underPepper is the environment with another pepper.
func underPepper(environ []string, pepper string) []string {
	others := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, pepperEnv+"=") })
	return append(others, pepperEnv+"="+pepper)
}

// refusal is a command that should end by itself; a server that starts all the
// same ends the test.
func refusal(t *testing.T, environ []string, args ...string) outcome {
	t.Helper()
	r := start(t, environ, args...)
	return outcome{r.wait(t), r.stdout.String(), r.stderr.String()}
}

func TestUnderAnotherPepperNothingIsServedAndNoKeyMade(t *testing.T) {
	t.Parallel()
	environ := served(t)
	business, app := madeApp(t, environ)
	key := made(t, environ, "key", "create", "--app", app, "--env", "live", "--scopes", "all")

	pepper := strings.Repeat("hunter22", 4)
	wrong := underPepper(environ, pepper)
	want := "error: WAYBILL_KEY_PEPPER is not the one this database's keys were made with\n" +
		"  used for: API keys, which are all refused under another one (now from WAYBILL_KEY_PEPPER)\n" +
		"  fix:      set it to that one; where it is lost, delete the row of the table key_pepper and make every key anew\n"
	for _, args := range [][]string{
		{"serve"},
		{"key", "create", "--app", app, "--env", "live", "--scopes", "all"},
		{"key", "rotate", key["id"].(string)},
	} {
		if o := refusal(t, wrong, args...); o.code != exitFailure || o.stderr != want || o.stdout != "" {
			t.Errorf("%v: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	for _, args := range [][]string{
		{"key", "list", "--app", app}, {"app", "list", "--business", business}, {"key", "revoke", key["id"].(string)},
	} {
		if o := command(t, wrong, args...); o.code != exitOK || strings.Count(o.stdout, "\n") > 2 {
			t.Errorf("%v: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}

	r, v := startServe(t, environ)
	successor := made(t, environ, "key", "create", "--app", app, "--env", "live", "--scopes", "all")["key"].(string)
	if code, answer := call(t, "GET", v.Live+"/api-key", successor, ""); code != http.StatusOK {
		t.Errorf("under the right pepper a key answers %d: %v", code, answer)
	}
	r.terminate(t)
}

// The first server claims the database, before there is any key.
func TestServersOfOneDatabaseShareItsPepper(t *testing.T) {
	t.Parallel()
	environ := served(t)
	r, _ := startServe(t, environ)
	o := refusal(t, underPepper(environ, strings.Repeat("q", 32)), "serve", "--json")
	if o.code != exitFailure || !strings.HasPrefix(o.stderr, `{"error":{"code":"CANNOT_START","message":"WAYBILL_KEY_PEPPER is not the one`) {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	r.terminate(t)
	r, _ = startServe(t, environ)
	r.terminate(t)
}

func TestDevTakesADatabaseOverAndWarnsOnce(t *testing.T) {
	t.Parallel()
	database := "WAYBILL_DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "shared.db")
	warned := func(dir string) int {
		t.Helper()
		r := start(t, append(slices.Clone(freePorts), database), "dev", "--data-dir", dir, "--json")
		var v servingView
		eventually(t, "dev is ready", func() bool {
			return json.Unmarshal([]byte(r.stdout.String()), &v) == nil && status(v.Ops+"/readyz") == http.StatusOK
		})
		vars, err := readEnvFile(v.EnvFile)
		if err != nil {
			t.Fatal(err)
		}
		if code, answer := call(t, "GET", vars["WAYBILL_LIVE_URL"]+"/api-key", vars["WAYBILL_LIVE_KEY"], ""); code != http.StatusOK {
			t.Errorf("the key answers %d: %v", code, answer)
		}
		r.terminate(t)
		return strings.Count(r.stderr.String(), "WAYBILL_KEY_PEPPER is another one than before")
	}
	one, other := t.TempDir(), t.TempDir()
	for i, step := range []struct {
		dir      string
		warnings int
	}{{one, 0}, {one, 0}, {other, 1}, {other, 0}, {one, 1}} {
		if got := warned(step.dir); got != step.warnings {
			t.Errorf("start %d: %d warnings, want %d", i, got, step.warnings)
		}
	}
}
