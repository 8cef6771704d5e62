package main

import (
	"database/sql"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/doctor"
	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/adapters/storage/gormstore"
	"waybill/test/backend"
)

// examined runs the doctor; its stdout must be one JSON value, and its exit code
// that of what it found.
func examined(t *testing.T, dir string, environ ...string) []doctor.Finding {
	t.Helper()
	o := command(t, append(slices.Clone(freePorts), environ...), "doctor", "--json", "--data-dir", dir)
	var v doctor.View
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
		t.Fatalf("%v in %s\n%s", err, o.stdout, o.stderr)
	}
	fails := slices.ContainsFunc(v.Findings, func(f doctor.Finding) bool { return f.Verdict == doctor.VerdictFail })
	if v.Healthy == fails || (o.code == term.ExitFailure) != fails || o.code > term.ExitFailure || (o.stderr != "") != fails {
		t.Errorf("exit code %d, healthy %v\n%s%s", o.code, v.Healthy, o.stdout, o.stderr)
	}
	if strings.Contains(o.stdout+o.stderr, "hunter22") {
		t.Errorf("a password shows\n%s%s", o.stdout, o.stderr)
	}
	for _, f := range v.Findings {
		if (f.Verdict == doctor.VerdictOK) != (f.Fix == "") {
			t.Errorf("%+v: a cure belongs to what is not OK, and to that alone", f)
		}
	}
	return v.Findings
}

// found expects a finding of a check with all of the words in it.
func found(t *testing.T, findings []doctor.Finding, v doctor.Verdict, check string, words ...string) {
	t.Helper()
	if !slices.ContainsFunc(findings, func(f doctor.Finding) bool {
		return f.Check == check && f.Verdict == v && !slices.ContainsFunc(words, func(word string) bool {
			return !strings.Contains(f.Message+" | "+f.Fix, word)
		})
	}) {
		t.Errorf("no %s of %s with %q in %+v", v, check, words, findings)
	}
}

func healthy(t *testing.T, findings []doctor.Finding, but ...string) {
	t.Helper()
	for _, f := range findings {
		if f.Verdict != doctor.VerdictOK && !slices.Contains(but, f.Check) {
			t.Errorf("%+v", f)
		}
	}
}

func TestTheDoctorFindsNothingAmissBeforeTheFirstStartAndMakesNothing(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	findings := examined(t, filepath.Join(above, "new", "data"))
	healthy(t, findings)
	for _, check := range []string{"settings", "data directory", "secrets", "database", "redis", "pricing", "routing", "live port",
		"sandbox port", "operations port", "clock"} {
		found(t, findings, doctor.VerdictOK, check)
	}
	if made, err := os.ReadDir(above); err != nil || len(made) > 0 {
		t.Errorf("it made %v, %v", made, err)
	}
}

func TestTheDoctorLooksAtARunningServerFromBeside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	at := func(name, url string) string {
		return name + "=" + strings.TrimSuffix(strings.TrimPrefix(vars[url], "http://"), "/v1")
	}
	findings := examined(t, dir, at("WAYBILL_LIVE_ADDR", "WAYBILL_LIVE_URL"), at("WAYBILL_SANDBOX_ADDR", "WAYBILL_SANDBOX_URL"),
		at("WAYBILL_OPS_ADDR", "WAYBILL_OPS_URL"))
	healthy(t, findings, servers...)
	for _, check := range servers {
		found(t, findings, doctor.VerdictWarn, check, "of this installation", "a second serve here would not start: one is running")
	}
	found(t, findings, doctor.VerdictOK, "database", "SQLite 3.")
	found(t, findings, doctor.VerdictOK, "migrations", "are applied")
	found(t, findings, doctor.VerdictOK, "secrets fit", "both are this database's")
}

var servers = []string{"live port", "sandbox port", "operations port"}

func TestTheDoctorTellsAnotherInstallationFromOurs(t *testing.T) {
	t.Parallel()
	theirs, vars := startDev(t, t.TempDir())
	ours := t.TempDir()
	inDir[admin.MigrationsView](t, ours, "migrate", "up")
	at := func(name, url string) string {
		return name + "=" + strings.TrimSuffix(strings.TrimPrefix(vars[url], "http://"), "/v1")
	}
	live, ops := at("WAYBILL_LIVE_ADDR", "WAYBILL_LIVE_URL"), at("WAYBILL_OPS_ADDR", "WAYBILL_OPS_URL")
	findings := examined(t, ours, live, ops)
	found(t, findings, doctor.VerdictFail, "live port", "another installation", "another database", "WAYBILL_LIVE_ADDR=")
	found(t, findings, doctor.VerdictFail, "operations port", "another installation", "WAYBILL_OPS_ADDR=")
	found(t, examined(t, ours, live), doctor.VerdictFail, "live port", "tells of which installation")
	theirs.terminate(t)
}

func TestAddressesThatOnlyThisMachineCanOpenAreTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inDir[admin.MigrationsView](t, dir, "migrate", "up")
	elsewhere := filepath.Join(t.TempDir(), "w.db")
	public := []string{"WAYBILL_LIVE_BASE_URL=https://api.example.com/v1", "WAYBILL_SANDBOX_BASE_URL=https://sandbox.example.com/v1",
		"WAYBILL_PORTAL_BASE_URL=https://portal.example.com"}
	found(t, examined(t, dir, public[:2]...), doctor.VerdictWarn, "addresses", "links to the portal begin with http://localhost:",
		"nobody else can open them", "WAYBILL_PORTAL_BASE_URL=")
	found(t, examined(t, dir, append(public[:2:2], "WAYBILL_PORTAL_ADDR=")...), doctor.VerdictOK, "addresses")
	found(t, examined(t, dir), doctor.VerdictOK, "addresses", "tracking links begin with http://127.0.0.1:")
	for _, environ := range [][]string{{"WAYBILL_DATABASE_URL=sqlite://" + elsewhere}, {"WAYBILL_LIVE_ADDR=0.0.0.0:0"}} {
		found(t, examined(t, dir, environ...), doctor.VerdictWarn, "addresses", "tracking links begin with http://127.0.0.1:",
			"nobody else can open them",
			"WAYBILL_TRACKING_BASE_URL=", "WAYBILL_LIVE_BASE_URL=", "WAYBILL_SANDBOX_BASE_URL=")
		found(t, examined(t, dir, append(environ, public...)...), doctor.VerdictOK, "addresses", "https://api.example.com/track")
		found(t, examined(t, dir, append(append(environ, public...), "WAYBILL_TRACKING_BASE_URL=http://localhost/t")...), doctor.VerdictWarn,
			"addresses", "tracking links begin with http://localhost/t;")
	}
}

func TestTheDoctorNamesWhatIsWrongAndTheCure(t *testing.T) {
	t.Parallel()
	secrets := []string{"WAYBILL_KEY_PEPPER=" + strings.Repeat("p", 32), "WAYBILL_SECRET_KEY=" + strings.Repeat("s", 32)}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	unknown := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(unknown.Close)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		dir     string
		environ []string
		check   string
		words   []string
	}{
		"settings": {none, []string{"WAYBILL_LOG_LEVEL=loud", "WAYBILL_LIVE_ADDR=x"}, "settings",
			[]string{"WAYBILL_LOG_LEVEL is", "debug, info"}},
		"all settings": {none, []string{"WAYBILL_LOG_LEVEL=loud", "WAYBILL_LIVE_ADDR=x"}, "settings",
			[]string{"WAYBILL_LIVE_ADDR is", "127.0.0.1:8080"}},
		"no secrets": {none, []string{"WAYBILL_DATABASE_URL=postgres://u:hunter22@127.0.0.1:1/d"}, "secrets",
			[]string{"WAYBILL_KEY_PEPPER is not set", "openssl rand"}},
		"database": {none, append(secrets, "WAYBILL_DATABASE_URL=postgres://u:hunter22@127.0.0.1:1/d"), "database",
			[]string{"cannot be opened", "start the database"}},
		"database file": {none, append(secrets, "WAYBILL_DATABASE_URL=sqlite://"+none+".db"), "database",
			[]string{"no file", "migrate up makes it"}},
		"directory":         {filepath.Join(file, "data"), nil, "data directory", []string{file, "--data-dir"}},
		"directory is file": {file, nil, "data directory", []string{"is no directory"}},
		"redis": {none, []string{"WAYBILL_REDIS_URL=redis://:hunter22@127.0.0.1:1/0"}, "redis",
			[]string{"does not answer", "start Redis"}},
		"redis URL": {none, []string{"WAYBILL_REDIS_URL=redis://127.0.0.1/none"}, "redis", []string{"WAYBILL_REDIS_URL cannot be used"}},
		"pricing": {none, []string{"WAYBILL_PRICING_URL=" + unknown.URL}, "pricing",
			[]string{"the service answered 404", "start the pricing service"}},
		"routing": {none, []string{"WAYBILL_ROUTING_URL=" + unknown.URL}, "routing",
			[]string{"the engine answered 404", "start the Valhalla"}},
		"area": {none, []string{"WAYBILL_SERVICE_AREA_FILE=doctor_test.go"}, "pricing",
			[]string{"WAYBILL_SERVICE_AREA_FILE cannot be used"}},
		"live port": {none, []string{"WAYBILL_LIVE_ADDR=" + taken.Addr().String()}, "live port",
			[]string{"is in use on 127.0.0.1", "WAYBILL_LIVE_ADDR=127.0.0.1:"}},
		"sandbox port": {none, []string{"WAYBILL_SANDBOX_ADDR=" + unknown.Listener.Addr().String()}, "sandbox port",
			[]string{"is in use on 127.0.0.1", "stop the other program"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found(t, examined(t, c.dir, c.environ...), doctor.VerdictFail, c.check, c.words...)
		})
	}
}

func TestTheDoctorWarnsOfWhatWillCauseTrouble(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inDir[admin.MigrationsView](t, dir, "migrate", "up")
	if err := os.Chmod(settings.DataDir(dir).Secrets(), 0o644); err != nil {
		t.Fatal(err)
	}
	findings := examined(t, dir, "WAYBILL_PRICING_TIMEOUTS=1s", "WAYBILL_ROUTING_URL=http://127.0.0.1:1",
		"WAYBILL_PRICING_URL=http://127.0.0.1:1")
	found(t, findings, doctor.VerdictWarn, "settings", "WAYBILL_PRICING_TIMEOUTS")
	found(t, findings, doctor.VerdictWarn, "data directory", "can be read by other users", "chmod 600")
	found(t, findings, doctor.VerdictWarn, "routing", "the pricing service measures")
	found(t, findings, doctor.VerdictFail, "pricing", "connection refused")
}

func TestTheDoctorSeesThatSecretsAreAnotherDatabasesAndLeavesNoMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inDir[admin.MigrationsView](t, dir, "migrate", "up")
	url, err := settings.DataDir(dir).DatabaseURL()
	if err != nil {
		t.Fatal(err)
	}
	wrong := []string{"WAYBILL_DATABASE_URL=" + url, "WAYBILL_KEY_PEPPER=" + strings.Repeat("p", 32),
		"WAYBILL_SECRET_KEY=" + strings.Repeat("s", 32)}
	healthy(t, examined(t, dir, wrong...)) // the database has no mark yet, and gets none
	_, app := madeApp(t, []string{"WAYBILL_DATABASE_URL=" + url})
	made(t, []string{"WAYBILL_DATABASE_URL=" + url}, "key", "create", "--app", app, "--env", "live", "--scopes", "all")
	healthy(t, examined(t, dir))
	findings := examined(t, dir, wrong...)
	found(t, findings, doctor.VerdictFail, "secrets fit", "WAYBILL_KEY_PEPPER is not the one this database's keys were made with",
		"set it to that one")
}

// change runs statements directly in a database.
func change(t *testing.T, driver, at, statements string) {
	t.Helper()
	db, err := sql.Open(driver, at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func TestADatabaseOfAnEarlierBuildSaysHowToStartAnew(t *testing.T) {
	t.Parallel()
	const earlier = "CREATE TABLE goose_db_version (version_id INTEGER); INSERT INTO goose_db_version VALUES (37)"
	dir, url := t.TempDir(), freshPostgres(t)
	change(t, "sqlite", settings.DataDir(dir).Database(), earlier)
	change(t, "pgx", url, earlier)
	found(t, examined(t, dir), doctor.VerdictFail, "database", "by an earlier build", "waybill dev --reset")
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "status"}, {"business", "list"}} {
		o := command(t, []string{"WAYBILL_DATABASE_URL=" + url}, append(args, "--data-dir", dir)...)
		if o.code != term.ExitFailure || !strings.Contains(o.stderr, "by an earlier build") ||
			!strings.Contains(o.stderr, "fix:      create an empty database and name it in WAYBILL_DATABASE_URL\n") {
			t.Errorf("%v: exit code %d, %s", args, o.code, o.stderr)
		}
	}
	change(t, "sqlite", settings.DataDir(dir).Database(), "DELETE FROM goose_db_version")
	inDir[admin.MigrationsView](t, dir, "migrate", "up")
}

func TestADatabaseThatIsAheadIsToldAndServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inDir[admin.MigrationsView](t, dir, "migrate", "up")
	change(t, "sqlite", settings.DataDir(dir).Database(), "INSERT INTO schema_versions (version_id, is_applied) VALUES (9999, 1)")
	found(t, examined(t, dir), doctor.VerdictWarn, "migrations", "the database is ahead of this program: it is at 9999",
		"run everywhere the version that migrated it")
	for _, args := range [][]string{{"serve"}, {"worker"}} {
		r, _ := startCommand(t, freePorts, append(args, "--data-dir", dir)...)
		if log := r.stderr.String(); !strings.Contains(log, "the database is ahead of this program: it is at 9999, and this program knows the "+
			"steps up to") {
			t.Errorf("%s tells nothing\n%s", args[0], log)
		}
		r.terminate(t)
	}
	if o := command(t, nil, "migrate", "up", "--data-dir", dir); o.code != term.ExitOK {
		t.Errorf("migrate up: exit code %d\n%s", o.code, o.stderr)
	}
}

func TestADatabaseThatIsBehindFailsUnlessDevMendsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(settings.DataDir(dir).Database(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found(t, examined(t, dir), doctor.VerdictWarn, "migrations", "is behind this program: it is at 0 of ", "waybill dev applies the rest")
	url, err := settings.DataDir(dir).DatabaseURL()
	if err != nil {
		t.Fatal(err)
	}
	found(t, examined(t, dir, "WAYBILL_DATABASE_URL="+url), doctor.VerdictFail, "migrations", "is behind this program: it is at 0 of ",
		"waybill migrate up")
}

func TestTheDoctorAsksPostgresAndRedisWhatTheyAre(t *testing.T) {
	t.Parallel()
	server := backend.OwnRedis(t)
	database := backend.Database(t, gormstore.Migrate, gormstore.MigrationsHash())
	production := []string{
		"WAYBILL_DATABASE_URL=" + database, "WAYBILL_REDIS_URL=" + server.URL,
		"WAYBILL_KEY_PEPPER=" + strings.Repeat("p", 32), "WAYBILL_SECRET_KEY=" + strings.Repeat("s", 32),
	}
	none := filepath.Join(t.TempDir(), "none")
	client := goredis.NewClient(must(goredis.ParseURL(server.URL)))
	t.Cleanup(func() { client.Close() })
	for policy, want := range map[string]doctor.Verdict{"noeviction": doctor.VerdictOK, "allkeys-lru": doctor.VerdictWarn} {
		if err := client.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		findings := examined(t, none, production...)
		found(t, findings, want, "redis", "Redis ", policy, "answers in")
		found(t, findings, doctor.VerdictOK, "database", "Postgres ", "answers in")
		found(t, findings, doctor.VerdictOK, "migrations", "are applied")
		found(t, findings, doctor.VerdictOK, "secrets fit", "both are this database's")
		found(t, findings, doctor.VerdictOK, "clock")
		healthy(t, findings, "redis", "addresses")
	}
	for _, c := range []struct {
		refuse []any
		fix    string
	}{
		{[]any{"CONFIG", "SET", "maxmemory", "1"}, "maxmemory"},
		{[]any{"ACL", "SETUSER", "default", "-@scripting"}, "ACL SETUSER"},
	} {
		if err := client.Do(t.Context(), c.refuse...).Err(); err != nil {
			t.Fatal(err)
		}
		found(t, examined(t, none, production...), doctor.VerdictFail, "redis", "answers and cannot be used", "Redis refuses", c.fix)
	}
}

func TestTheDoctorComparesRightsAndLimitsOfTheRoleWithWhatAServerNeeds(t *testing.T) {
	t.Parallel()
	direct := freshPostgres(t)
	operator, address := newRole(t, direct, "CONNECTION LIMIT 10")
	none := filepath.Join(t.TempDir(), "none")
	look := func() []doctor.Finding {
		return examined(t, none, "WAYBILL_DATABASE_URL="+address, "WAYBILL_KEY_PEPPER="+strings.Repeat("p", 32),
			"WAYBILL_SECRET_KEY="+strings.Repeat("s", 32))
	}
	operator("GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ROLE")
	operator("GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO ROLE")
	findings := look()
	found(t, findings, doctor.VerdictWarn, "connections", "a process may hold 25 connections, and the role ", " may have 10", "WAYBILL_DATABASE_POOL_SIZE")
	found(t, findings, doctor.VerdictFail, "rights", "lacks rights that a server needs: ", "INSERT ON api_keys", "and on ", "GRANT SELECT, INSERT")
	found(t, findings, doctor.VerdictFail, "rights", "may not make partitions of the request log, which has room until", "waybill migrate up")

	operator("GRANT INSERT ON ALL TABLES IN SCHEMA public TO ROLE")
	operator("ALTER ROLE CONNECTION LIMIT 60")
	if o := command(t, []string{"WAYBILL_DATABASE_URL=" + direct}, "migrate", "up"); o.code != term.ExitOK {
		t.Fatal(o.stderr)
	}
	findings = look()
	found(t, findings, doctor.VerdictOK, "connections", " may have 60")
	found(t, findings, doctor.VerdictWarn, "rights", "may not make partitions of the request log, which has room until", "every two weeks")
	healthy(t, findings, "rights", "addresses")
}

func TestAMigrationShowsTheHintOfTheDatabase(t *testing.T) {
	t.Parallel()
	direct := freshPostgres(t)
	operator, address := newRole(t, direct, "")
	operator("GRANT ALL ON SCHEMA public TO ROLE")
	empty := strings.Replace(address, "sslmode=disable", "sslmode=disable&search_path=empty", 1)
	o := command(t, []string{"WAYBILL_DATABASE_URL=" + empty}, "migrate", "up")
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "fix:      create the schema that search_path names first") {
		t.Errorf("no schema: %s", o.stderr)
	}
	operator("CREATE SCHEMA empty AUTHORIZATION ROLE")
	o = command(t, []string{"WAYBILL_DATABASE_URL=" + empty}, "migrate", "up")
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "fix:      Add public to the end of the search_path") ||
		strings.Contains(o.stderr, "start the database") {
		t.Errorf("the extension is elsewhere: %s", o.stderr)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func doctorAsksForATrip(t *testing.T, routing *backend.Valhalla) {
	none := filepath.Join(t.TempDir(), "none")
	found(t, examined(t, none, "WAYBILL_ROUTING_URL="+routing.URL), doctor.VerdictOK, "routing", routing.URL, "answers in")
	_, at := startPricing(t, nil)
	found(t, examined(t, none, "WAYBILL_PRICING_URL="+at), doctor.VerdictOK, "pricing", at, "answers in")
}
