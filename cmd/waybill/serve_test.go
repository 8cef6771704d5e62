package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
)

// served returns the environment of a server on a SQLite file of its own.
func served(t *testing.T) (environ []string) {
	t.Helper()
	database := "WAYBILL_DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "served.db")
	if o := command(t, []string{database}, "migrate", "up"); o.code != term.ExitOK {
		t.Fatalf("migrate: %s", o.stderr)
	}
	return append(slices.Clone(freePorts), database,
		"WAYBILL_KEY_PEPPER="+strings.Repeat("p", 32), "WAYBILL_SECRET_KEY="+strings.Repeat("s", 32))
}

func TestServeServesUntilItIsTold(t *testing.T) {
	t.Parallel()
	environ := served(t)
	r, v := startServe(t, environ)

	// Keys come from commands in the same environment.
	_, app := madeApp(t, environ)
	for env, url := range map[string]string{"live": v.Live, "sandbox": v.Sandbox} {
		key := made(t, environ, "key", "create", "--app", app, "--env", env, "--scopes", "all")["key"].(string)
		if code, answer := call(t, "GET", url+"/api-key", key, ""); code != http.StatusOK {
			t.Errorf("%s answers %d: %v", env, code, answer)
		}
	}
	eventuallyShows(t, v.Ops, []string{"waybill_http_requests_total{", "go_goroutines ",
		jobShown("cleaning"), jobShown("clock"), jobShown("webhook_notifications")})
	r.terminate(t)
	for line := range strings.Lines(r.stderr.String()) {
		var fields object
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("logged %q: %v", line, err)
		}
	}
	if status(v.Ops+"/healthz") != 0 {
		t.Error("a listener is still open")
	}
}

func TestServeTellsWhatItNeeds(t *testing.T) {
	t.Parallel()
	pepper, secret := "WAYBILL_KEY_PEPPER="+strings.Repeat("p", 32), "WAYBILL_SECRET_KEY="+strings.Repeat("s", 32)
	empty := "WAYBILL_DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "empty.db")
	for name, c := range map[string]struct {
		environ []string
		want    []string
	}{
		"no database": {[]string{pepper, secret}, []string{"WAYBILL_DATABASE_URL is not set", "fix:"}},
		"no secrets": {[]string{empty}, []string{"WAYBILL_KEY_PEPPER is not set; API keys and cursors need it",
			"WAYBILL_SECRET_KEY is not set; webhooks need it", "WAYBILL_SECRET_KEY_FILE="}},
		"database behind": {[]string{empty, pepper, secret}, []string{"error: the database is behind this program\n",
			"fix:      waybill migrate up\n"}},
		"routing": {[]string{empty, pepper, secret, "WAYBILL_ROUTING_URL=valhalla:8002"},
			[]string{"WAYBILL_ROUTING_URL is", "no address of a service"}},
		"unreadable area": {[]string{empty, pepper, secret, "WAYBILL_SERVICE_AREA_FILE=serve_test.go"},
			[]string{"WAYBILL_SERVICE_AREA_FILE cannot be used", "set in:   WAYBILL_SERVICE_AREA_FILE"}},
		"unknown phone region": {[]string{empty, pepper, secret, "WAYBILL_PHONE_REGION=XX"}, []string{"WAYBILL_PHONE_REGION cannot be used"}},
		"several bad settings": {[]string{"WAYBILL_LIVE_ADDR=x", "WAYBILL_LOG_LEVEL=y"},
			[]string{"WAYBILL_LIVE_ADDR is", "WAYBILL_LOG_LEVEL is"}},
		"a file for the secret": {[]string{empty, pepper, "WAYBILL_SECRET_KEY_FILE=/none"},
			[]string{"WAYBILL_SECRET_KEY_FILE names a file that cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := command(t, append(slices.Clone(freePorts), c.environ...), "serve", "--data-dir", filepath.Join(t.TempDir(), "none"))
			for _, want := range c.want {
				if o.code != term.ExitFailure || !strings.Contains(o.stderr, want) {
					t.Errorf("exit code %d without %q\n%s", o.code, want, o.stderr)
				}
			}
			if strings.Contains(o.stderr, "hunter22") {
				t.Errorf("the password shows\n%s", o.stderr)
			}
		})
	}
}

func TestServersAndWorkersDoNotTakeTheDirectoryOfDevByThemselves(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	prepared := inDir[admin.MigrationsView](t, settings.DefaultDataDir, "migrate", "up")
	if prepared.Pending != 0 {
		t.Fatal("not migrated")
	}
	for _, name := range []string{"serve", "worker"} {
		o := refusal(t, freePorts, name)
		if o.code != term.ExitFailure || !strings.Contains(o.stderr, "WAYBILL_DATABASE_URL is not set") {
			t.Errorf("%s: exit code %d\n%s", name, o.code, o.stderr)
		}
	}
	if o := command(t, nil, "business", "list"); o.code != term.ExitOK {
		t.Errorf("commands do not find it: exit code %d\n%s", o.code, o.stderr)
	}
}

// A pepper of another database would make a key that opens nothing.
func TestSecretsOfAnotherDatabaseAreNotUsed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	inDir[admin.MigrationsView](t, settings.DefaultDataDir, "migrate", "up")
	elsewhere := []string{"WAYBILL_DATABASE_URL=sqlite://" + filepath.Join(t.TempDir(), "other.db")}
	command(t, elsewhere, "migrate", "up")
	id := "app_" + strings.Repeat("0", 32)
	o := command(t, elsewhere, "key", "create", "--app", id, "--env", "live", "--scopes", "all")
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "WAYBILL_KEY_PEPPER is not set") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	o = command(t, elsewhere, "key", "create", "--app", id, "--env", "live", "--scopes", "all", "--data-dir", settings.DefaultDataDir)
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "There is no application") {
		t.Errorf("with --data-dir: exit code %d\n%s", o.code, o.stderr)
	}
}

func TestThePricingServiceServesTheTariff(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "waybill.yaml")
	if err := os.WriteFile(file, []byte(
		"currency: EUR\ntariff: {step: 0.10, vehicles: {bike: {base: 3, per_km: 0, minimum: 0, range_km: 50}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, at := startPricing(t, nil, "--config", file)
	res, err := http.Post(at+"/prices", "application/json", strings.NewReader(
		`{"environment":"live","vehicle_type":"bike","currency":"EUR","pickup":{"latitude":5.56,"longitude":-0.2},"dropoff":{"latitude":5.6,"longitude":-0.19}}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"fee":3,`) {
		t.Errorf("status %d: %s", res.StatusCode, answer)
	}
	r.terminate(t)
}

func TestConfigShowsWhereASettingComesFromAndNoSecret(t *testing.T) {
	t.Parallel()
	environ := []string{
		"WAYBILL_KEY_PEPPER=" + strings.Repeat("hunter22", 4), "WAYBILL_DATABASE_URL=postgres://u:hunter22@h/d",
		"WAYBILL_LOG_LEVEL=debug", "WAYBILL_LIVE_ADR=x",
	}
	for _, args := range [][]string{{"config"}, {"config", "--json"}} {
		o := command(t, environ, append(args, "--sandbox-addr", "127.0.0.1:9")...)
		if o.code != term.ExitOK || strings.Contains(o.stdout+o.stderr, "hunter22") {
			t.Errorf("%v: exit code %d\n%s%s", args, o.code, o.stdout, o.stderr)
		}
		for _, want := range []string{"127.0.0.1:9", "--sandbox-addr", "WAYBILL_LOG_LEVEL", "[redacted]"} {
			if !strings.Contains(o.stdout, want) {
				t.Errorf("%v lacks %q\n%s", args, want, o.stdout)
			}
		}
		if !strings.Contains(o.stdout+o.stderr, "did you mean WAYBILL_LIVE_ADDR?") {
			t.Errorf("%v does not warn", args)
		}
	}
}

// The output shows the settings that dev supplies to the other commands; an
// unreadable one does not hide the others.
func TestConfigShowsWhatADataDirectorySupplies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := func(environ ...string) (sources map[string]string, warnings []any) {
		t.Helper()
		v := made(t, environ, "config", "--data-dir", dir)
		sources = map[string]string{}
		for _, s := range v["settings"].([]any) {
			sources[s.(object)["name"].(string)] = s.(object)["source"].(string)
		}
		return sources, v["warnings"].([]any)
	}
	if s, warnings := from(); s["database_url"] != "default" || len(warnings) != 0 {
		t.Errorf("of an empty directory: %v, %v", s, warnings)
	}
	r, _ := startDev(t, dir)
	r.terminate(t)
	if s, warnings := from(); s["database_url"] != settings.DataDir(dir).Label() || s["key_pepper"] != settings.DataDir(dir).Secrets() ||
		s["live_addr"] != "default" || len(warnings) != 0 {
		t.Errorf("beside dev: %v, %v", s, warnings)
	}
	if s, _ := from("WAYBILL_DATABASE_URL=postgres://u:p@h/d"); s["database_url"] != "WAYBILL_DATABASE_URL" {
		t.Errorf("with a database: %v", s)
	}
	if err := os.Remove(settings.DataDir(dir).Secrets()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(settings.DataDir(dir).Secrets(), 0o700); err != nil {
		t.Fatal(err)
	}
	if s, warnings := from(); s["log_level"] != "default" || len(warnings) != 1 ||
		!strings.Contains(warnings[0].(string), "the secrets cannot be read") {
		t.Errorf("with secrets that cannot be read: %v, %v", s, warnings)
	}
}

func TestAProcessInProductionWarnsThatPrivateAddressesAreAllowed(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{true, false} {
		environ := append(served(t), "WAYBILL_WEBHOOK_ALLOW_PRIVATE="+strconv.FormatBool(allowed))
		server, _ := startServe(t, environ)
		worker, _ := startWorker(t, environ)
		for _, r := range []*running{server, worker} {
			r.terminate(t)
			logged := r.stderr.String()
			if n := strings.Count(logged, "WAYBILL_WEBHOOK_ALLOW_PRIVATE lets "); (n == 1) != allowed || n > 1 || allowed &&
				!strings.Contains(logged, `"level":"WARN"`) {
				t.Errorf("allowed %t: %d warnings\n%s", allowed, n, logged)
			}
		}
	}
}
