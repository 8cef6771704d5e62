package main

import (
	"net/http"
	"strings"
	"testing"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/term"
)

// prepared returns a migrated data directory without customers.
func prepared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if v := inDir[admin.MigrationsView](t, dir, "migrate", "up"); v.Pending != 0 || len(v.Migrations) == 0 {
		t.Fatalf("migrated: %+v", v)
	}
	return dir
}

func TestATenantIsMadeStepByStep(t *testing.T) {
	t.Parallel()
	dir := prepared(t)

	business := inDir[object](t, dir, "business", "create", "--name", " Adom Foods ")
	if names(business) != "id name" || business["name"] != "Adom Foods" {
		t.Errorf("business %v", business)
	}
	id := business["id"].(string)
	limited := inDir[object](t, dir, "business", "create", "--name", "Big", "--rate-limit", "3000/60s")
	if limited["rate_limit"] != "3000/60s" {
		t.Errorf("business %v", limited)
	}
	if list := inDir[[]object](t, dir, "business", "list"); len(list) != 2 || list[0]["id"] != id {
		t.Errorf("businesses %v", list)
	}

	if _, there := inDir[[]object](t, dir, "business", "list")[0]["rate_limit"]; there {
		t.Error("a script is told a limit of its own where there is none")
	}
	table := command(t, []string{"WAYBILL_RATE_LIMIT_PER_BUSINESS=77/30s"}, "business", "list", "--data-dir", dir).stdout
	for _, want := range []string{"Adom Foods  77/30s (the default)\n", "Big         3000/60s\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is missing in\n%s", want, table)
		}
	}

	app := inDir[object](t, dir, "app", "create", "--business", id, "--name", "Web shop")
	if names(app) != "business_id disabled id name" || app["business_id"] != id || app["disabled"] != false {
		t.Errorf("application %v", app)
	}
	appID := app["id"].(string)

	key := inDir[object](t, dir, "key", "create", "--app", appID, "--env", "sandbox", "--scopes", "quotes:read,deliveries:read",
		"--expires-in", "90d")
	if names(key) != "environment expires_at id key scopes" || key["environment"] != "sandbox" || key["expires_at"] == nil ||
		!strings.HasPrefix(key["key"].(string), "svc_test_key_") || len(key["scopes"].([]any)) != 2 {
		t.Errorf("key %v", key)
	}
	live := inDir[object](t, dir, "key", "create", "--app", appID, "--env", "live", "--scopes", "all")
	if expires, there := live["expires_at"]; !there || expires != nil || len(live["scopes"].([]any)) != 7 {
		t.Errorf("key %v", live)
	}
	successor := inDir[object](t, dir, "key", "rotate", key["id"].(string))
	if names(successor) != "environment expires_at id key scopes" || successor["key"] == key["key"] || successor["expires_at"] == nil {
		t.Errorf("successor %v", successor)
	}
	revoked := inDir[object](t, dir, "key", "revoke", key["id"].(string))
	if revoked["revoked_at"] == nil || revoked["id"] != key["id"] {
		t.Errorf("revoked %v", revoked)
	}
	keys := inDir[[]object](t, dir, "key", "list", "--app", appID)
	if len(keys) != 3 || names(keys[0]) != "application_id created_at environment expires_at id last_four last_used_at revoked_at scopes" ||
		keys[0]["revoked_at"] == nil || keys[0]["last_used_at"] != nil || keys[1]["revoked_at"] != nil || !strings.HasSuffix(live["key"].(string),
		keys[1]["last_four"].(string)) {
		t.Errorf("keys %v", keys)
	}

	if renamed := inDir[object](t, dir, "app", "rename", appID, "--name", "Corner shop"); renamed["name"] != "Corner shop" {
		t.Errorf("renamed %v", renamed)
	}
	if off := inDir[object](t, dir, "app", "disable", appID); off["disabled"] != true {
		t.Errorf("disabled %v", off)
	}
	if on := inDir[object](t, dir, "app", "enable", appID); on["disabled"] != false {
		t.Errorf("enabled %v", on)
	}
	if list := inDir[[]object](t, dir, "app", "list", "--business", id); len(list) != 1 || list[0]["id"] != appID {
		t.Errorf("applications %v", list)
	}
}

func TestPickupLocationsAreReadAsTheAPIReadsThem(t *testing.T) {
	t.Parallel()
	dir := prepared(t)
	business := inDir[object](t, dir, "business", "create", "--name", "Adom Foods")["id"].(string)

	whole := inDir[object](t, dir, "pickup-location", "create", "--business", business, "--env", "live", "--name", "Osu", "--address",
		"12 Oxford Street",
		"--contact", "030 200 0001", "--latitude", "5.5571", "--longitude", "-0.1818", "--inactive")
	if whole["contact"] != "+233302000001" || whole["latitude"] != 5.5571 || whole["longitude"] != -0.1818 || whole["active"] != false ||
		whole["complete"] != true {
		t.Errorf("location %v", whole)
	}
	bare := inDir[object](t, dir, "pickup-location", "create", "--business", business, "--env", "live", "--name", "Bare", "--address",
		"Spintex Road")
	if bare["contact"] != nil || bare["latitude"] != nil || bare["complete"] != false || bare["active"] != true {
		t.Errorf("location %v", bare)
	}
	if live := inDir[[]object](t, dir, "pickup-location", "list", "--business", business, "--env", "live"); len(live) != 2 ||
		live[0]["id"] != bare["id"] {
		t.Errorf("live locations %v", live)
	}
	if sandbox := inDir[[]object](t, dir, "pickup-location", "list", "--business", business, "--env", "sandbox"); len(sandbox) != 3 {
		t.Errorf("sandbox locations %v", sandbox)
	}

	o := command(t, nil, "pickup-location", "create", "--business", business, "--env", "live", "--name", " ", "--address", "x",
		"--contact", "12", "--latitude", "NaN", "--longitude", "181", "--data-dir", dir)
	for _, field := range []string{"name", "address", "contact", "latitude", "longitude"} {
		if o.code != term.ExitFailure || !strings.Contains(o.stderr, field) {
			t.Errorf("exit code %d without %s\n%s", o.code, field, o.stderr)
		}
	}
}

func TestAdvanceMovesADeliveryAsThePlatform(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	body := `{"vehicle_type":"bike","pickup_location_id":"` + vars["WAYBILL_LIVE_PICKUP_ID"] + `","payment":{"type":"delivery_only"},
		"recipient":{"phone_number":"0241234567","address":{"address":"7 Ring Road","latitude":5.6,"longitude":-0.19}}}`
	code, created := call(t, "POST", vars["WAYBILL_LIVE_URL"]+"/deliveries", vars["WAYBILL_LIVE_KEY"], body)
	if code != http.StatusCreated {
		t.Fatalf("create answers %d: %v", code, created)
	}
	data := created["data"].(object)
	moved := inDir[object](t, dir, "delivery", "advance", data["id"].(string), "assigned")
	if moved["status"] != "assigned" || moved["tracking_url"] != data["tracking_url"] || moved["id"] != data["id"] {
		t.Errorf("moved %v, created %v", moved, data)
	}
	failed := inDir[object](t, dir, "delivery", "advance", data["id"].(string), "failed", "--reason", "pickup_unavailable")
	if failed["status"] != "failed" {
		t.Errorf("failed %v", failed)
	}
	o := command(t, nil, "delivery", "advance", data["id"].(string), "delivered", "--data-dir", dir)
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "Cannot go from failed to delivered. Next allowed: assigned, cancelled.") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	o = command(t, nil, "delivery", "advance", data["id"].(string), "failed", "--reason", "pickup_unavailable", "--data-dir", dir)
	if o.code != term.ExitFailure || !strings.Contains(o.stderr, "It is failed already. Next allowed: assigned, cancelled.") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
}

func TestCommandLinesThatCannotBeMeantExitWith2(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("0", 32)
	for _, c := range []struct {
		line, want string
	}{
		{"bussiness", `did you mean business?`},
		{"business", "needs one of: create, list"},
		{"business creat", "did you mean create?"},
		{"business create", "needs --name"},
		{"business create --name", "flag needs an argument"},
		{"business create --name x --rate-limit 600", "600/60s"},
		{"business create x", "takes no arguments"},
		{"serve postgres://u:hunter22@db/w", `there is "postgres://[redacted]@db/w"`},
		{"app create --business app_" + id + " --name x", "is no ID of a business: one is biz_"},
		{"app create", "needs --business and --name"},
		{"app disable", "takes ID"},
		{"key create --app app_" + id + " --env prod --scopes all", "live or sandbox"},
		{"key create --app app_" + id + " --env live --scopes everything", "quotes:read"},
		{"key create --app app_" + id + " --env live --scopes all --expires-in 90", "90d"},
		{"key create --app app_" + id + " --env live --scopes all --expires-in -1s", "90d"},
		{"key create --app app_" + id + " --env live --scopes all --expires-in=", "90d"},
		{"delivery advance dlv_" + id + " flying", "in_transit"},
		{"delivery advance dlv_" + id + " failed --reason bored", "recipient_unreachable"},
		{"delivery advance dlv_" + id, "takes ID STATUS"},
		{"serve --key-pepper x", "unknown flag: --key-pepper"},
		{"pricing serve --addr 8090", "host:port"},
	} {
		o := command(t, nil, append([]string{"--data-dir", t.TempDir()}, strings.Fields(c.line)...)...)
		if o.code != term.ExitUsage || !strings.Contains(o.stderr, c.want) || !strings.Contains(o.stderr, "--help") || o.stdout != "" {
			t.Errorf("%s: exit code %d\n%s%s", c.line, o.code, o.stdout, o.stderr)
		}
	}
}

func TestWhatIsNotThereIsToldInTheOperatorsWords(t *testing.T) {
	t.Parallel()
	dir := prepared(t)
	id := strings.Repeat("0", 32)
	for line, want := range map[string]string{
		"app create --name x --business biz_" + id:                                      "There is no business biz_" + id,
		"app list --business biz_" + id:                                                 "There is no business biz_" + id,
		"app disable app_" + id:                                                         "There is no application app_" + id,
		"key create --env live --scopes all --app app_" + id:                            "There is no application app_" + id,
		"key list --app app_" + id:                                                      "There is no application app_" + id,
		"key revoke key_" + id:                                                          "There is no key key_" + id,
		"key rotate key_" + id:                                                          "There is no key key_" + id,
		"delivery advance dlv_" + id + " assigned":                                      "There is no delivery dlv_" + id,
		"pickup-location list --env live --business biz_" + id:                          "There is no business biz_" + id,
		"pickup-location create --env live --name xx --address yy --business biz_" + id: "There is no business biz_" + id,
	} {
		o := command(t, nil, append(strings.Fields(line), "--data-dir", dir)...)
		if o.code != term.ExitFailure || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit code %d\n%s", line, o.code, o.stderr)
		}
	}
	o := command(t, nil, "key", "revoke", "key_"+id, "--data-dir", dir, "--json")
	if o.code != term.ExitFailure || o.stdout != "" || !strings.HasPrefix(o.stderr, `{"error":{"code":"NOT_FOUND","message":`) {
		t.Errorf("as JSON: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestPeopleReadTablesAndHelp(t *testing.T) {
	t.Parallel()
	dir := prepared(t)
	for line, want := range map[string]string{
		"business create --name Shop --data-dir " + dir:  "waybill app create --business biz_",
		"business create --name Stall --data-dir " + dir: "waybill person invite --business biz_",
		"business list --data-dir " + dir:                "RATE LIMIT",
		"migrate status --data-dir " + dir:               "APPLIED",
		"version":                                        "waybill " + version,
		"key create --help":                              "Examples:",
		"--help":                                         "pickup-location",
		"":                                               "waybill dev",
		"config --docs":                                  "WAYBILL_LIVE_ADDR",
		"config":                                         "127.0.0.1:8080",
	} {
		o := command(t, nil, strings.Fields(line)...)
		if o.code != term.ExitOK || !strings.Contains(o.stdout, want) || strings.Contains(o.stdout, "\x1b") {
			t.Errorf("%q: exit code %d without %q\n%s%s", line, o.code, want, o.stdout, o.stderr)
		}
	}
}
