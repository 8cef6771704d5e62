package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
)

// underPepper returns the environment with another pepper, and previous ones.
func underPepper(environ []string, pepper string, previous ...string) []string {
	others := slices.DeleteFunc(slices.Clone(environ), func(v string) bool { return strings.HasPrefix(v, settings.PepperEnv) })
	return append(others, settings.PepperEnv+"="+pepper, settings.PreviousPepperEnv+"="+strings.Join(previous, ","))
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
		"  fix:      set it to that one, or to change it add that one to WAYBILL_KEY_PEPPER_PREVIOUS; where it is lost, delete the rows of the " +
		"table key_pepper and make every key anew\n"
	for _, args := range [][]string{
		{"serve"},
		{"key", "create", "--app", app, "--env", "live", "--scopes", "all"},
		{"key", "rotate", key["id"].(string)},
	} {
		if o := refusal(t, wrong, args...); o.code != term.ExitFailure || o.stderr != want || o.stdout != "" {
			t.Errorf("%v: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
	}
	for _, args := range [][]string{
		{"key", "list", "--app", app}, {"app", "list", "--business", business}, {"key", "revoke", key["id"].(string)},
	} {
		if o := command(t, wrong, args...); o.code != term.ExitOK || strings.Count(o.stdout, "\n") > 2 {
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

func TestDevTakesADatabaseOverAndWarnsOnce(t *testing.T) {
	t.Parallel()
	database := "WAYBILL_DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "shared.db")
	warned := func(dir string) int {
		t.Helper()
		r, v := startCommand(t, append(slices.Clone(freePorts), database), "dev", "--data-dir", dir)
		vars, err := settings.ReadEnvFile(v.EnvFile)
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

func TestWhatIsLeftUnderAnOldPepperIsToldAndKeepsItThere(t *testing.T) {
	t.Parallel()
	before, after := strings.Repeat("hunter22", 4), strings.Repeat("hunter33", 4)
	environ := underPepper(served(t), before)
	prepared, changing, changed := underPepper(environ, before, after), underPepper(environ, after, before), underPepper(environ, after)
	_, app := madeApp(t, environ)
	used := made(t, environ, "key", "create", "--app", app, "--env", "live", "--scopes", "all")
	forgotten := made(t, environ, "key", "create", "--app", app, "--env", "live", "--scopes", "all")

	for _, begun := range [][]string{prepared, changing} { // whichever way round: nothing has changed yet
		found(t, examined(t, t.TempDir(), begun...), doctor.VerdictOK, "key pepper", "is still the same",
			"leave WAYBILL_KEY_PEPPER_PREVIOUS as it is")
	}
	opens := func(environ []string, shown ...string) {
		t.Helper()
		r, v := startServe(t, environ)
		if code, answer := call(t, "GET", v.Live+"/api-key", used["key"].(string), ""); code != http.StatusOK {
			t.Errorf("a key of before: %d, %v", code, answer)
		}
		eventuallyShows(t, v.Ops, shown)
		r.terminate(t) // writes what moved
	}
	opens(prepared)
	opens(changing, `waybill_old_pepper_keys{kind="operator_token"} 0`, `waybill_old_pepper_keys{kind="api_key"} `)

	dir := t.TempDir()
	found(t, examined(t, dir, changing...), doctor.VerdictWarn, "key pepper",
		"1 API key and 0 operator tokens are still under a previous pepper, never used", "waybill key list --old-pepper")
	left := command(t, changing, "key", "list", "--old-pepper", "--json")
	if !strings.Contains(left.stdout, forgotten["id"].(string)) || strings.Contains(left.stdout, used["id"].(string)) {
		t.Errorf("left: %s%s", left.stdout, left.stderr)
	}
	want := "error: 1 API keys and 0 operator tokens, never used, are still under a previous pepper\n"
	if o := refusal(t, changed, "serve"); o.code != term.ExitFailure || !strings.HasPrefix(o.stderr, want) ||
		!strings.Contains(o.stderr, "put it back into WAYBILL_KEY_PEPPER_PREVIOUS") {
		t.Errorf("without the old one: %d\n%s", o.code, o.stderr)
	}

	// A key that is not used any more is revoked, and the old pepper is taken out.
	if o := command(t, changing, "key", "revoke", forgotten["id"].(string)); o.code != term.ExitOK {
		t.Fatal(o.stderr)
	}
	found(t, examined(t, dir, changing...), doctor.VerdictOK, "key pepper", "no operator token is left under WAYBILL_KEY_PEPPER_PREVIOUS",
		"leave it until 30 days after")
	opens(changed)
	found(t, examined(t, dir, changed...), doctor.VerdictOK, "key pepper", "all keys are under WAYBILL_KEY_PEPPER")
}

// Two installations with one pepper by mistake would show the same name, were it
// derived from it.
func TestHealthShowsNothingThatIsMadeOfThePepper(t *testing.T) {
	t.Parallel()
	environ := served(t)
	name := func(environ []string) string {
		t.Helper()
		r, v := startServe(t, environ)
		defer r.terminate(t)
		_, answer := call(t, "GET", v.Ops+"/healthz", "", "")
		installation, _ := answer["data"].(object)["installation"].(string)
		return installation
	}
	one := name(environ)
	if again := name(environ); one != again || len(one) != 32 {
		t.Errorf("named %q, then %q", one, again)
	}
	if other := name(served(t)); other == one {
		t.Errorf("another database under the same pepper is named %q too", other)
	}
}
