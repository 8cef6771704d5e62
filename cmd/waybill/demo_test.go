package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/domain"
)

func TestDemoPlaysALifeAndShowsEveryCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	r := start(t, nil, "demo", "--data-dir", dir, "--step-seconds", "1")
	eventually(t, "the first step is shown", func() bool { return strings.Contains(r.stdout.String(), "  assigned\n") })
	if shown := r.stdout.String(); strings.Contains(shown, "  delivered\n") {
		t.Errorf("the events come at the end:\n%s", shown)
	}
	if code := r.wait(t); code != term.ExitOK || r.stderr.String() != "" {
		t.Fatalf("exit code %d\n%s", code, r.stderr.String())
	}
	shown := r.stdout.String()
	if strings.Contains(shown, vars["WAYBILL_TEST_KEY"]) || strings.Contains(shown, "\x1b") ||
		!strings.Contains(shown, ". "+dir+"/dev.env\n") {
		t.Errorf("a key or a colour is in it, or the way to the key is not:\n%s", shown)
	}
	at := 0
	for _, want := range []string{
		"/quotes", "-> 200: ", " GHS, ", " km (straight_line)", "/webhook-listeners \\", "-> 201: whe_", " listens for delivery.*\n",
		"/openapi.yaml\n", "/deliveries \\", "-> 201: dlv_", " is booked, reference ", "/track/",
		"/simulation \\", "-> 200: running, 4 steps, the first at ", "/events \\",
		"  booked\n", "  assigned\n", "  picked_up\n", "  in_transit\n", "  delivered\n", "\ndelivered after ", "the simulation is completed",
		"waybill listen --forward-to http://localhost:3000/webhooks/waybill --data-dir " + dir + " ",
		"waybill trigger failed_then_retried --wait --data-dir " + dir + " ",
	} {
		next := strings.Index(shown[at:], want)
		if next < 0 {
			t.Fatalf("%q is missing or in another place:\n%s", want, shown)
		}
		at += next
	}

	for _, kind := range domain.DeliveryEventTypes()[:5] { // created to delivered
		if lines := regexp.MustCompile(`(?m)^      webhook `+string(kind)+`, signature valid, \d+ ms after the event$`).FindAllString(shown,
			-1); len(lines) != 1 {
			t.Errorf("%d webhooks %s are shown:\n%s", len(lines), kind, shown)
		}
	}
	for i, status := range domain.Statuses()[:5] {
		step, webhook := strings.Index(shown, "  "+string(status)+"\n"), strings.Index(shown, "  webhook "+string(domain.DeliveryEventTypes()[i])+
			",")
		if webhook < step {
			t.Errorf("the webhook of %s stands above it:\n%s", status, shown)
		}
	}
	listener := regexp.MustCompile(`whe_\w+`).FindString(shown)
	if code, answer := call(t, http.MethodPost, vars["WAYBILL_SANDBOX_URL"]+"/webhook-listeners/"+listener+"/fetch", vars["WAYBILL_TEST_KEY"],
		`{"wait_seconds":0}`); code != http.StatusNotFound {
		t.Errorf("the listener is left: %d, %v", code, answer)
	}
}

func TestDemoWithJSONPrintsTheWholeLifeAsOneValue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir)
	v := inDir[struct {
		Quote, Delivery  object
		Events, Webhooks []object
	}](t, dir, "demo", "--scenario", "cod_refused", "--step-seconds", "1")
	if v.Quote["fee"] == nil || v.Delivery["status"] != "failed" || len(v.Events) != 5 || v.Events[4]["reason_code"] != "cod_refused" {
		t.Errorf("%+v", v)
	}
	if len(v.Webhooks) != len(v.Events) {
		t.Fatalf("%d webhooks for %d events", len(v.Webhooks), len(v.Events))
	}
	for i, w := range v.Webhooks {
		if w["event_id"] != v.Events[i]["id"] || w["type"] != v.Events[i]["type"] || w["signature_valid"] != true {
			t.Errorf("webhook %d is %v", i, w)
		}
	}
}

func TestDemoTellsWhatItNeeds(t *testing.T) {
	t.Parallel()
	calls := new(atomic.Int32)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(elsewhere.Close)
	live, test := domain.MakeAPIKey(domain.Live, [32]byte{}), domain.MakeAPIKey(domain.Sandbox, [32]byte{})
	gone, empty := t.TempDir(), t.TempDir()
	if err := settings.WriteEnvFile(settings.DataDir(gone).DevEnv(), "", [][2]string{{"WAYBILL_SANDBOX_URL", "http://127.0.0.1:1/v1"},
		{"WAYBILL_TEST_KEY", test}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		environ, args []string
		code          int
		want          []string
	}{
		"no directory": {nil, []string{"--data-dir", empty}, term.ExitFailure, []string{"error: there is no " + empty + "/dev.env\n",
			"fix:      make run (or waybill dev)"}},
		"not running": {nil, []string{"--data-dir", gone}, term.ExitFailure, []string{"error: nothing runs at http://127.0.0.1:1/v1\n",
			"used for: the sandbox API (WAYBILL_SANDBOX_URL in " + gone + "/dev.env)", "make run"}},
		"many, not running": {nil, []string{"--data-dir", gone, "--deliveries", "300"}, term.ExitFailure,
			[]string{"error: nothing runs at http://127.0.0.1:1/v1\n"}},
		"the key of another": {nil, []string{"--data-dir", gone, "--url", elsewhere.URL + "/v1"}, term.ExitFailure,
			[]string{"error: there is no key for " + elsewhere.URL + "/v1\n", "--key-file FILE"}},
		"not Waybill": {[]string{"WAYBILL_TEST_KEY" + "=" + test}, []string{"--url", elsewhere.URL + "/v1"}, term.ExitFailure,
			[]string{"is not Waybill: 200 OK, no Content-Type", "--url"}},
		"a live key": {[]string{"WAYBILL_TEST_KEY" + "=" + live}, []string{"--url", elsewhere.URL + "/v1"}, term.ExitFailure,
			[]string{"error: that is a live key", "used for: the sandbox API (WAYBILL_TEST_KEY)"}},
		"half a key": {[]string{"WAYBILL_TEST_KEY" + "=" + test[:30]}, []string{"--url", elsewhere.URL + "/v1"}, term.ExitFailure,
			[]string{"error: that is no API key, or not a whole one"}},
		"no file": {nil, []string{"--url", elsewhere.URL + "/v1", "--key-file", "/none"}, term.ExitFailure,
			[]string{"error: the key cannot be read", "(--key-file)"}},
		"no address": {nil, []string{"--url", "127.0.0.1:8081/v1"}, term.ExitFailure,
			[]string{"error: --url is no address of a sandbox\n"}},
		"an address without /v1": {[]string{"WAYBILL_SANDBOX_URL" + "=http://127.0.0.1:8081"}, nil, term.ExitFailure,
			[]string{"error: WAYBILL_SANDBOX_URL is no address of a sandbox\n"}},
		"a password in it": {[]string{"WAYBILL_SANDBOX_URL" + "=http://u:hunter22@127.0.0.1/v1"}, nil, term.ExitFailure,
			[]string{"error: WAYBILL_SANDBOX_URL is no address of a sandbox\n"}},
		"no such scenario": {nil, []string{"--scenario", "deliverd"}, term.ExitUsage,
			[]string{`error: "deliverd" is no scenario; did you mean delivered?`, "failed_then_retried", "fix:      waybill demo --help"}},
		"too fast": {nil, []string{"--step-seconds", "0"}, term.ExitUsage, []string{"error: --step-seconds is 0; it is 1 to 300\n"}},
		"none":     {nil, []string{"--deliveries", "0"}, term.ExitUsage, []string{"error: --deliveries is 0; it is 1 to 10000\n"}},
		"too many": {nil, []string{"--deliveries", "10001"}, term.ExitUsage, []string{"error: --deliveries is 10001; it is 1 to 10000\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := command(t, c.environ, append([]string{"demo"}, c.args...)...)
			for _, want := range c.want {
				if o.code != c.code || !strings.Contains(o.stderr, want) {
					t.Errorf("exit code %d without %q\n%s", o.code, want, o.stderr)
				}
			}
			if shown := o.stdout + o.stderr; strings.Contains(shown, "hunter22") || strings.Contains(shown, test[:30]) ||
				strings.Contains(shown, live) {
				t.Errorf("a secret shows in\n%s", shown)
			}
		})
	}
	if calls.Load() != 1 { // by "not Waybill"
		t.Errorf("the other server was called %d times", calls.Load())
	}
}

func TestManyDeliveriesAreTalliedByTheirErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	o := command(t, nil, "demo", "--data-dir", dir, "--deliveries", "130", "--scenario", "delivered", "--step-seconds", "300")
	if o.code != term.ExitFailure ||
		!strings.HasSuffix(o.stderr, "error: 30 of 130 deliveries were refused\n  fix:      100 simulations may run at a time: "+
			"leave --scenario out, which books without moving anything, or wait for some to end and ask for fewer\n") {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	for _, want := range []string{"2 requests like this one", "Created      100 of 130\n", "Refused      30", "SIMULATION_LIMIT\n",
		"Per second ", "Requests     2\n"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is missing in\n%s", want, o.stdout)
		}
	}
	if lines := strings.Split(o.stderr, "\n"); !strings.HasPrefix(lines[0], "booking: ") ||
		!strings.Contains(o.stderr, "booking: 130 of 130\n") || strings.ContainsAny(o.stderr, "\r\x1b") {
		t.Errorf("progress is shown as %q", o.stderr)
	}
	if strings.Contains(o.stdout, vars["WAYBILL_TEST_KEY"]) {
		t.Error("the key shows")
	}
	if few := command(t, nil, "demo", "--data-dir", dir, "--deliveries", "2").stdout; !strings.HasPrefix(few,
		"One request like this one, with 2 deliveries:\nIt can be pasted into a shell, after:  . "+dir+"/dev.env\n\n  curl ") {
		t.Errorf("two deliveries are told as\n%s", few)
	}
}

// A batch that is refused as a whole ends the demo, with what was done until then.
func TestARefusedBatchEndsTheDemo(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	sandbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			_, _ = io.WriteString(w, `{"success":true,"data":{"created":100,"failed":0,"results":[]}}`)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"success":false,"message":"The key was revoked.","error":{"code":"API_KEY_REVOKED"}}`)
	}))
	defer sandbox.Close()
	key := domain.MakeAPIKey(domain.Sandbox, [32]byte{})
	o := command(t, []string{"WAYBILL_TEST_KEY=" + key}, "demo", "--url", sandbox.URL+"/v1", "--deliveries", "2000")
	if o.code != term.ExitFailure || !strings.HasSuffix(o.stderr, "error: The key was revoked.\n  set in:   WAYBILL_TEST_KEY\n") ||
		!strings.Contains(o.stdout, "Created      100 of 2000\n") {
		t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	const atOnce = 2
	if calls.Load() > 1+2*atOnce {
		t.Errorf("%d calls were made", calls.Load())
	}
}
