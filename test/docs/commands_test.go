package docs

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// placeholder is what a reader replaces by a key.
const placeholder = "svc_test_key_..."

// marker stands between the answers of commands.
const marker = "\n=== next ===\n"

// TestWhatIsShownToBePastedWorksAsPrinted runs the commands of the pages in one
// shell, in the order of reading. Only the key is put in.
func TestWhatIsShownToBePastedWorksAsPrinted(t *testing.T) {
	needs(t, "curl")
	needs(t, "bash")
	s := serve(t)
	commands := blocks(s.page(t, "/first-delivery"), reRun)
	if len(commands) != 6 || !strings.Contains(commands[0], placeholder) {
		t.Fatalf("the page shows %d commands: %q", len(commands), commands)
	}
	answers := s.run(t, commands...)
	for i, want := range []struct {
		status int
		text   string
	}{
		1: {200, `"environment":"sandbox"`}, 2: {200, `"fee":`}, 3: {201, `"status":"booked"`}, 4: {200, `"external_id":"first-order"`},
		5: {200, `"delivery.created"`},
	} {
		if i == 0 {
			continue
		}
		var envelope struct{ StatusCode int }
		if err := json.Unmarshal([]byte(answers[i]), &envelope); err != nil || envelope.StatusCode != want.status ||
			!strings.Contains(answers[i], want.text) {
			t.Errorf("command\n%s\nanswers %s\nwant %d with %s (%v)", commands[i], answers[i], want.status, want.text, err)
		}
	}
	if t.Failed() {
		return
	}
	again := s.run(t, commands[0], commands[3])[1]
	if again != answers[3] {
		t.Errorf("sent again, the create answers\n%s\nwant the same bytes as\n%s", again, answers[3])
	}
	last := ""
	for deadline := time.Now().Add(patience); !strings.Contains(last, "delivery.delivered"); <-time.After(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v the delivery is not delivered: %s", patience, last)
		}
		last = s.run(t, commands[0], commands[4], commands[5])[2]
	}
}

// TestTheOtherGuidesShowCommandsThatWork runs what they show in the order of
// reading, with the key that the first guide sets and nothing else.
func TestTheOtherGuidesShowCommandsThatWork(t *testing.T) {
	needs(t, "curl")
	needs(t, "bash")
	s := serve(t)
	key := blocks(s.page(t, "/first-delivery"), reRun)[0]
	for path, wants := range map[string][]string{
		"/webhooks": {`"secret":"whsec_`, `"resume_cursor":"`},
		"/sandbox":  {"dlv_", `"status":"assigned"`, `"scenario":"failed_then_retried"`, `"success":true`, "RATE_LIMIT_EXCEEDED"},
		"/limits":   {`"success":true`},
	} {
		commands := blocks(s.page(t, path), reRun)
		answers := s.run(t, append([]string{key}, commands...)...)[1:]
		if len(answers) != len(wants) {
			t.Errorf("%s shows %d commands, want %d", path, len(answers), len(wants))
			continue
		}
		for i, want := range wants {
			if refused := strings.Contains(answers[i], `"success":false`); !strings.Contains(answers[i], want) ||
				refused != (want == "RATE_LIMIT_EXCEEDED") {
				t.Errorf("%s: command\n%s\nanswers %s\nwant %s", path, commands[i], answers[i], want)
			}
		}
	}
}

// run pastes commands into one shell and returns what each printed.
func (s *server) run(t *testing.T, commands ...string) []string {
	t.Helper()
	script := strings.Join(commands, "\nprintf %s '"+marker+"'\n") + "\n"
	script = strings.ReplaceAll(script, placeholder, s.Vars["WAYBILL_TEST_KEY"])
	answers := strings.Split(output(t, t.TempDir(), script, "bash", "-e"), marker)
	if len(answers) != len(commands) {
		t.Fatalf("%d commands gave %d answers: %q", len(commands), len(answers), answers)
	}
	return answers
}

func TestTheDocumentationIsOnTheSandboxAlone(t *testing.T) {
	s := serve(t)
	for base, want := range map[string]int{"WAYBILL_SANDBOX_URL": http.StatusOK, "WAYBILL_LIVE_URL": http.StatusNotFound} {
		for _, path := range []string{"/docs", "/docs/index.md", "/llms.txt"} {
			res, err := http.Get(strings.TrimSuffix(s.Vars[base], "/v1") + path)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s has documentation at %s: %d, want %d", base, path, res.StatusCode, want)
			}
		}
	}
}

// TestEveryErrorWithDetailsLeadsToItsPage asks both hosts for errors.
func TestEveryErrorWithDetailsLeadsToItsPage(t *testing.T) {
	s := serve(t)
	sandbox, live := s.Vars["WAYBILL_SANDBOX_URL"], s.Vars["WAYBILL_LIVE_URL"]
	testKey, liveKey := s.Vars["WAYBILL_TEST_KEY"], s.Vars["WAYBILL_LIVE_KEY"]
	for _, c := range []struct {
		base, key, path, body, code string
		bare                        bool // the code has no details
	}{
		{sandbox, "", "/deliveries", "", "INVALID_API_KEY", false},
		{live, "", "/deliveries", "", "INVALID_API_KEY", false},
		{live, testKey, "/deliveries", "", "ENVIRONMENT_MISMATCH", false},
		{sandbox, testKey, "/deliveries?page=2", "", "INVALID_REQUEST", false},
		{live, liveKey, "/quotes", `{"vehicle_type": 5}`, "VALIDATION_ERROR", false},
		{sandbox, testKey, "/deliveries/bulk", `{"deliveries": [{"vehicle_type": "bike"}]}`, "BULK_VALIDATION_FAILED", false},
		{sandbox, testKey, "/deliveries/dlv_0", "", "NOT_FOUND", true},
		{sandbox, testKey, "/deliveries/bulk", `{"deliveries": [{"vehicle_type": "bike"}]}`, "IDEMPOTENCY_KEY_REQUIRED", true},
	} {
		method, body := http.MethodGet, strings.NewReader(c.body)
		if c.body != "" {
			method = http.MethodPost
		}
		req, err := http.NewRequestWithContext(t.Context(), method, c.base+c.path, body)
		if err != nil {
			t.Fatal(err)
		}
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		if c.code != "IDEMPOTENCY_KEY_REQUIRED" {
			req.Header.Set("Idempotency-Key", "a-key-of-its-own-"+c.code)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Error struct {
				Code    string
				Details map[string]any
			}
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		res.Body.Close()
		url, _ := answer.Error.Details["doc_url"].(string)
		want := s.site + "/errors/" + c.code
		if c.bare {
			want = ""
		}
		if err != nil || answer.Error.Code != c.code || url != want {
			t.Errorf("%s%s: %s with doc_url %q, want %s with %q (%v)", c.base, c.path, answer.Error.Code, url, c.code, want, err)
			continue
		}
		if !c.bare && !strings.Contains(s.page(t, strings.TrimPrefix(url, s.site)), c.code) {
			t.Errorf("the page at %s is not about %s", url, c.code)
		}
	}
}
