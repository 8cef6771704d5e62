package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
)

func TestDevServesADemoCustomerAndTellsScriptsAboutIt(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	r, vars := startDev(t, dir)

	for _, name := range []string{
		"WAYBILL_LIVE_URL", "WAYBILL_SANDBOX_URL", "WAYBILL_OPS_URL", "WAYBILL_LIVE_KEY", "WAYBILL_TEST_KEY",
		"WAYBILL_OPS_TOKEN", "WAYBILL_BUSINESS_ID", "WAYBILL_APP_ID", "WAYBILL_PICKUP_ID", "WAYBILL_PICKUP_INACTIVE_ID",
		"WAYBILL_PICKUP_INCOMPLETE_ID", "WAYBILL_LIVE_PICKUP_ID", "WAYBILL_PORTAL_URL", "WAYBILL_PORTAL_LINK",
		"WAYBILL_CONSOLE_URL", "WAYBILL_CONSOLE_LINK",
	} {
		if vars[name] == "" {
			t.Errorf("%s is missing in dev.env", name)
		}
	}
	// Empty, so that a shell forgets those of another installation.
	for _, name := range []string{"WAYBILL_DATABASE_URL", "WAYBILL_REDIS_URL"} {
		if value, there := vars[name]; !there || value != "" {
			t.Errorf("%s is %q, %v", name, value, there)
		}
	}
	for _, file := range []string{"dev.env", "secrets.env", "waybill.db"} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
	}
	for url, key := range map[string]string{vars["WAYBILL_LIVE_URL"]: vars["WAYBILL_LIVE_KEY"],
		vars["WAYBILL_SANDBOX_URL"]: vars["WAYBILL_TEST_KEY"]} {
		code, answer := call(t, "GET", url+"/api-key", key, "")
		if code != http.StatusOK || !strings.HasSuffix(url, "/v1") {
			t.Errorf("%s answers %d: %v", url, code, answer)
		}
	}
	for name, want := range map[string][2]bool{
		"WAYBILL_PICKUP_ID": {true, true}, "WAYBILL_PICKUP_INACTIVE_ID": {false, true}, "WAYBILL_PICKUP_INCOMPLETE_ID": {true, false},
	} {
		_, answer := call(t, "GET", vars["WAYBILL_SANDBOX_URL"]+"/pickup-locations/"+vars[name], vars["WAYBILL_TEST_KEY"], "")
		data, _ := answer["data"].(object)
		if data["active"] != want[0] || data["complete"] != want[1] {
			t.Errorf("%s is %v", name, answer)
		}
	}
	code, answer := call(t, "GET", vars["WAYBILL_LIVE_URL"]+"/pickup-locations/"+vars["WAYBILL_LIVE_PICKUP_ID"], vars["WAYBILL_LIVE_KEY"], "")
	if code != http.StatusOK {
		t.Errorf("the live pickup location answers %d: %v", code, answer)
	}

	shown := r.stdout.String()
	docs := strings.TrimSuffix(vars["WAYBILL_SANDBOX_URL"], "/v1") + "/docs"
	for _, want := range []string{"waybill 1.0.0", "  Docs           " + docs + "\n", vars["WAYBILL_SANDBOX_URL"], vars["WAYBILL_LIVE_URL"], vars["WAYBILL_OPS_URL"],
		vars["WAYBILL_TEST_KEY"], vars["WAYBILL_LIVE_KEY"], vars["WAYBILL_OPS_TOKEN"], vars["WAYBILL_PORTAL_LINK"], vars["WAYBILL_CONSOLE_LINK"],
		"Adom Foods", "dev.env",
		"  Mails          in the log below, with their links",
		"curl", "  Next           waybill demo --data-dir " + dir + " "} {
		if !strings.Contains(shown, want) {
			t.Errorf("the banner lacks %q:\n%s", want, shown)
		}
	}
	letsInOnce(t, vars["WAYBILL_PORTAL_LINK"], vars["WAYBILL_PORTAL_URL"]+"/", "Demo shop")
	letsInOnce(t, vars["WAYBILL_CONSOLE_LINK"], vars["WAYBILL_CONSOLE_URL"]+"/", "Kofi Boateng")
	r.terminate(t)
	if logged := r.stderr.String(); strings.Contains(logged, vars["WAYBILL_TEST_KEY"]) || strings.Contains(logged, vars["WAYBILL_LIVE_KEY"]) ||
		strings.Contains(logged, vars["WAYBILL_OPS_TOKEN"]) {
		t.Error("a key was logged")
	}
	if strings.Contains(shown, "\x1b") {
		t.Error("the banner is coloured")
	}
}

// letsInOnce uses a link of dev.env, which leads to the start page of its site.
func letsInOnce(t *testing.T, link, home, shows string) {
	t.Helper()
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	for i, want := range []int{http.StatusOK, http.StatusGone} {
		res, err := browser.Post(link, "application/x-www-form-urlencoded", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != want || i == 0 && (!strings.Contains(string(page), shows) ||
			res.Request.URL.String() != home) {
			t.Errorf("use %d of the link: %d, %v\n%s", i+1, res.StatusCode, err, page)
		}
	}
	if !strings.HasPrefix(home, "http://localhost:") {
		t.Errorf("the site is at %s, and passkeys refuse an IP address", home)
	}
}

func TestAServerWithoutAnAddressForThePortalHasNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, append(freePorts[:3:3], "WAYBILL_PORTAL_ADDR="), "dev", "--data-dir", dir)
	vars := awaitDev(t, r, dir)
	if vars["WAYBILL_PORTAL_URL"] != "" || vars["WAYBILL_PORTAL_LINK"] != "" || strings.Contains(r.stderr.String(), "listener=portal") {
		t.Errorf("a portal at %q", vars["WAYBILL_PORTAL_URL"])
	}
	r.terminate(t)
}

func TestASecondStartKeepsTheKeysAndShowsNoneAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, first := startDev(t, dir)
	r.terminate(t)

	r, second := startDev(t, dir)
	for name, value := range first {
		// Ports are free ones, and may differ; a link is good for one sign-in.
		if !strings.HasSuffix(name, "_URL") && !strings.HasSuffix(name, "_LINK") && second[name] != value {
			t.Errorf("%s is %q after %q", name, second[name], value)
		}
	}
	if shown := r.stdout.String(); strings.Contains(shown, second["WAYBILL_TEST_KEY"]) ||
		!strings.Contains(shown, "svc_test_key_..."+second["WAYBILL_TEST_KEY"][len(second["WAYBILL_TEST_KEY"])-4:]) {
		t.Errorf("the banner does not mask the key:\n%s", shown)
	}
	r.terminate(t)

	if err := os.Remove(settings.DataDir(dir).DevEnv()); err != nil {
		t.Fatal(err)
	}
	r, third := startDev(t, dir)
	if third["WAYBILL_BUSINESS_ID"] != first["WAYBILL_BUSINESS_ID"] || third["WAYBILL_APP_ID"] != first["WAYBILL_APP_ID"] {
		t.Error("without dev.env there is another customer")
	}
	if third["WAYBILL_TEST_KEY"] == first["WAYBILL_TEST_KEY"] || !strings.Contains(r.stdout.String(), third["WAYBILL_TEST_KEY"]) {
		t.Error("without dev.env there is no new key, or it is not shown")
	}
	for _, key := range []string{first["WAYBILL_TEST_KEY"], third["WAYBILL_TEST_KEY"]} {
		if code, answer := call(t, "GET", third["WAYBILL_SANDBOX_URL"]+"/api-key", key, ""); code != http.StatusOK {
			t.Errorf("a key answers %d: %v", code, answer)
		}
	}
	r.terminate(t)
}

func TestResetBeginsAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	keep := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(keep, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, first := startDev(t, dir)
	r.terminate(t)
	r, second := startDev(t, dir, "--reset")
	if second["WAYBILL_BUSINESS_ID"] == first["WAYBILL_BUSINESS_ID"] || second["WAYBILL_TEST_KEY"] == first["WAYBILL_TEST_KEY"] {
		t.Error("the old customer is still there")
	}
	if code, _ := call(t, "GET", second["WAYBILL_SANDBOX_URL"]+"/api-key", first["WAYBILL_TEST_KEY"], ""); code != http.StatusUnauthorized {
		t.Errorf("the old key answers %d", code)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("a foreign file is gone: %v", err)
	}
	r.terminate(t)
}

func TestResetRefusesADatabaseOutsideTheDirectory(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://waybill:hunter22@127.0.0.1:1/waybill", "sqlite:///elsewhere/waybill.db"} {
		o := command(t, []string{"WAYBILL_DATABASE_URL=" + url}, "dev", "--reset", "--data-dir", t.TempDir())
		if o.code != term.ExitFailure || !strings.Contains(o.stderr, "WAYBILL_DATABASE_URL names another one") ||
			strings.Contains(o.stderr, "hunter22") {
			t.Errorf("%s: exit code %d\n%s", url, o.code, o.stderr)
		}
	}
}

func TestASecondDevInOneDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, _ := startDev(t, dir)
	o := command(t, freePorts, "dev", "--data-dir", dir)
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "another waybill dev runs in "+dir) || !strings.Contains(o.stderr, "fix:") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	r.terminate(t)
}

func TestAPortInUseIsToldWithItsPurposeAndACure(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	o := command(t, append(freePorts[:2:2], "WAYBILL_OPS_ADDR="+taken.Addr().String()), "dev", "--data-dir", t.TempDir())
	want := "error: port " + port + " is in use on 127.0.0.1\n" +
		"  used for: operations API, health and metrics (WAYBILL_OPS_ADDR)\n" +
		"  fix:      stop the other program, or WAYBILL_OPS_ADDR=127.0.0.1:" + settings.OtherPort(port) + "\n"
	if o.code != term.ExitFailure || o.stderr != want || o.stdout != "" {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// What a proxy and the links in mails lead to stays where it is; only a development
// server takes another port.
func TestOnlyDevMovesThePortalFromAPortInUse(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:8084"
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(10 * time.Millisecond) {
		if taken, err := net.Listen("tcp", address); err == nil { // otherwise another program has it, for how long is not known
			defer taken.Close()
			break
		}
	}
	o := refusal(t, slices.Delete(served(t), 3, 4), "serve")
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "port 8084 is in use on 127.0.0.1") ||
		!strings.Contains(o.stderr, "portal for the people of customers (WAYBILL_PORTAL_ADDR)") ||
		!strings.Contains(o.stderr, "WAYBILL_PORTAL_ADDR=127.0.0.1:9084") {
		t.Errorf("serve: exit code %d\n%s", o.code, o.stderr)
	}
	dir := t.TempDir()
	r := start(t, freePorts[:3:3], "dev", "--data-dir", dir)
	if portal := awaitDev(t, r, dir)["WAYBILL_PORTAL_URL"]; portal == "" || strings.HasSuffix(portal, ":8084") {
		t.Errorf("dev: the portal is at %q", portal)
	}
	r.terminate(t)
}

func TestADevThatCannotStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	portTaken := append(freePorts[:2:2], "WAYBILL_OPS_ADDR="+taken.Addr().String())
	for name, environ := range map[string][]string{
		"a port in use": portTaken,
		"no database":   append(freePorts[:3:3], "WAYBILL_DATABASE_URL=postgres://waybill:waybill@127.0.0.1:1/waybill"),
	} {
		parent := t.TempDir()
		for _, dir := range []string{filepath.Join(parent, "made"), parent} {
			if o := command(t, environ, "dev", "--data-dir", dir); o.code != term.ExitFailure {
				t.Errorf("%s: exit code %d", name, o.code)
			}
			if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
				t.Errorf("%s: in %s is left %v, %v", name, parent, left, err)
			}
		}
	}

	// What was there stays, also where a reset was asked for.
	dir := t.TempDir()
	r, first := startDev(t, dir)
	r.terminate(t)
	for _, args := range [][]string{{"dev", "--data-dir", dir}, {"dev", "--reset", "--data-dir", dir}} {
		if o := command(t, portTaken, args...); o.code != term.ExitFailure {
			t.Errorf("%v: exit code %d", args, o.code)
		}
	}
	r, second := startDev(t, dir)
	if second["WAYBILL_TEST_KEY"] != first["WAYBILL_TEST_KEY"] || second["WAYBILL_BUSINESS_ID"] != first["WAYBILL_BUSINESS_ID"] {
		t.Error("a start that failed took the customer away")
	}
	r.terminate(t)
}

// What dev.env exports must not disturb the next command.
func TestTheVariablesOfDevEnvCanBeSourced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, vars := startDev(t, dir)
	r.terminate(t)
	var environ []string
	for name, value := range vars {
		environ = append(environ, name+"="+value)
	}
	o := command(t, environ, "key", "create", "--app", vars["WAYBILL_APP_ID"], "--env", "live", "--scopes", "all", "--json", "--data-dir", dir)
	if o.code != term.ExitOK || o.stderr != "" {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	var made object
	if err := json.Unmarshal([]byte(o.stdout), &made); err != nil {
		t.Fatal(err)
	}
	_, vars = startDev(t, dir)
	if code, _ := call(t, "GET", vars["WAYBILL_LIVE_URL"]+"/api-key", made["key"].(string), ""); code != http.StatusOK {
		t.Errorf("the key made with dev.env's variables answers %d", code)
	}
}

func TestDevRefusesPrivateWebhookTargetsWhereOthersReachIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		warns   string
		created bool
	}{
		"on loopback":                  {nil, "", true},
		"on a name of loopback":        {[]string{"WAYBILL_OPS_ADDR=localhost:0"}, "", true},
		"with the live API for others": {[]string{"WAYBILL_LIVE_ADDR=0.0.0.0:0"}, "webhooks to private addresses are refused", false},
		"with the sandbox for others":  {[]string{"WAYBILL_SANDBOX_ADDR=:0"}, "webhooks to private addresses are refused", false},
		"with operations for others":   {[]string{"WAYBILL_OPS_ADDR=[::]:0"}, "webhooks to private addresses are refused", false},
		"for others, set all the same": {[]string{"WAYBILL_LIVE_ADDR=0.0.0.0:0", "WAYBILL_WEBHOOK_ALLOW_PRIVATE=true"},
			"WAYBILL_WEBHOOK_ALLOW_PRIVATE lets them", true},
		"for others, set to what it was": {[]string{"WAYBILL_LIVE_ADDR=0.0.0.0:0", "WAYBILL_WEBHOOK_ALLOW_PRIVATE=false"}, "", false},
		"on loopback, set to false":      {[]string{"WAYBILL_WEBHOOK_ALLOW_PRIVATE=false"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := start(t, append(slices.Clone(freePorts), c.environ...), "dev", "--data-dir", dir)
			vars := awaitDev(t, r, dir)
			code, answer := call(t, "POST", vars["WAYBILL_SANDBOX_URL"]+"/webhook-endpoints", vars["WAYBILL_TEST_KEY"],
				`{"url":"http://127.0.0.1:9/hooks"}`)
			if c.created != (code == http.StatusCreated) {
				t.Errorf("a private target is answered %d: %v", code, answer)
			}
			warned := strings.Contains(r.stderr.String(), "other machines reach this one")
			if warned != (c.warns != "") || !strings.Contains(r.stderr.String(), c.warns) {
				t.Errorf("logged %s", r.stderr.String())
			}
			r.terminate(t)
		})
	}
}
