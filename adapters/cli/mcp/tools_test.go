package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestNoToolWritesOnLiveUnlessThatIsAllowed(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	o := a.options()
	o.Live = true
	s, _ := connect(t, o)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) < 7 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	refused := 0
	for _, tool := range list.Tools {
		text, failed := call(t, s, tool.Name, useful()[tool.Name])
		if tool.Annotations.ReadOnlyHint {
			if failed {
				t.Errorf("%s only reads, and is refused: %s", tool.Name, text)
			}
			continue
		}
		refused++
		if !failed || !strings.Contains(text, "LIVE_WRITES_NOT_ALLOWED") || !strings.Contains(text, "--allow-live-writes") {
			t.Errorf("%s is not refused: %s", tool.Name, text)
		}
	}
	if sent := a.writes(); len(sent) > 0 || refused == 0 {
		t.Errorf("%d tools are refused, and on live there were %q", refused, sent)
	}
	if slices.Contains(names(t, s), "simulate") {
		t.Error("live offers to simulate")
	}

	o.AllowLiveWrites = true
	allowed, _ := connect(t, o)
	if text, failed := call(t, allowed, "book_delivery", order()); failed {
		t.Errorf("with the flag: %s", text)
	}
	if sent := a.writes(); len(sent) != 1 {
		t.Errorf("with the flag there were %q", sent)
	}
}

func TestToolsThatSayTheyReadOnlyRead(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	s, _ := connect(t, a.options())
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 8 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		before := len(a.writes())
		if text, failed := call(t, s, tool.Name, useful()[tool.Name]); failed {
			t.Errorf("%s: %s", tool.Name, text)
		}
		if wrote := len(a.writes()) > before; wrote == tool.Annotations.ReadOnlyHint {
			t.Errorf("%s has readOnlyHint %t and writes: %t", tool.Name, tool.Annotations.ReadOnlyHint, wrote)
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil || !strings.Contains(string(schema), `"description"`) || tool.OutputSchema == nil || tool.Description == "" {
			t.Errorf("%s is not described: %s (%v)", tool.Name, schema, err)
		}
	}
}

func TestAKeyIsInNothingThatLeaves(t *testing.T) {
	t.Parallel()
	other := "svc_live_key_ZzYyXxWwVvUuTtSsRrQqPpOoNnMmLlKkJjIi"
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"in a success": func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "openapi.json") || strings.HasSuffix(r.URL.Path, "/api-key") {
				return false
			}
			data := `{"id": "` + delivery + `", "echo": "` + r.Header.Get("Authorization") + `", "` + other + `": 1}`
			if path := r.URL.Path; r.Method == http.MethodGet && !strings.HasSuffix(path, delivery) {
				data = "[" + data + "]"
			}
			envelope(w, 200, data)
			return true
		},
		"in a refusal": func(w http.ResponseWriter, r *http.Request) bool {
			refuse(w, 422, "VALIDATION_ERROR", "You sent "+secret+" and "+r.Header.Get("Authorization"))
			return true
		},
		"in a page of a proxy": func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, "debug: ", r.Header.Get("Authorization"), secret, other)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, said := connect(t, newAPI(t, answer).options())
			for tool, arguments := range useful() {
				call(t, s, tool, arguments)
			}
			call(t, s, "explain_error", m{"code": secret})
			call(t, s, "get_delivery", m{"external_id": secret})
			call(t, s, "search_docs", m{"query": secret})
			text := said.text()
			if strings.Contains(text, secret) || strings.Contains(text, other) || !strings.Contains(text, "[secret removed]") {
				t.Errorf("the server wrote a key, or nothing was taken out: %.2000s", text)
			}
		})
	}
}

func TestTheSameBookingIsSentUnderTheSameKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	s, _ := connect(t, a.options())
	other := order()
	other["external_id"] = "order-2"
	named := order()
	named["idempotency_key"] = "my-own-key"
	for _, arguments := range []m{order(), order(), other, named} {
		if text, failed := call(t, s, "book_delivery", arguments); failed {
			t.Fatal(text)
		}
	}
	again, _ := connect(t, a.options()) // another process
	call(t, again, "book_delivery", order())
	keys := a.keysOf("/v1/deliveries")
	if len(keys) != 5 || len(keys[0]) < 8 || keys[0] != keys[1] || keys[0] != keys[4] || keys[2] == keys[0] || keys[3] != "my-own-key" {
		t.Errorf("keys %q", keys)
	}
}

func TestAToolThatTheKeyMayNotUseIsNotListed(t *testing.T) {
	t.Parallel()
	answers := 0
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/api-key" {
			return false
		}
		if answers++; answers == 1 {
			refuse(w, 503, "SERVICE_UNAVAILABLE", "Away.")
			return true
		}
		envelope(w, 200, `{"key": {"scopes": ["quotes:read"]}}`)
		return true
	})
	s, _ := connect(t, a.options())
	if got := names(t, s); len(got) != 8 {
		t.Errorf("while the scopes are not known: %q", got)
	}
	want := []string{"explain_error", "quote", "search_docs", "why_did_this_request_fail"}
	if got := names(t, s); !slices.Equal(got, want) {
		t.Errorf("with quotes:read alone: %q, want %q", got, want)
	}
	if names(t, s); answers != 2 {
		t.Errorf("the scopes are asked for %d times; they never change", answers)
	}
}

func refusing(status int, code, message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { refuse(w, status, code, message) }
}

func TestAnErrorSaysWhatToDoNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   []string
	}{
		"a refused key": {refusing(401, "API_KEY_REVOKED", "Revoked."),
			[]string{"API_KEY_REVOKED (HTTP 401)", "WAYBILL_TEST_KEY", "explain_error", "Request ID: req_"}},
		"a scope that is missing": {refusing(403, "INSUFFICIENT_SCOPE", "Needs quotes:read."),
			[]string{"INSUFFICIENT_SCOPE", "Needs quotes:read.", "key with the scope"}},
		"a limit": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "40")
			refuse(w, 429, "RATE_LIMIT_EXCEEDED", "Too many.")
		}, []string{"Wait 40s", "same arguments"}},
		"a mistake": {refusing(422, "VALIDATION_ERROR", "Wrong."), []string{"Change the arguments", "explain_error"}},
		"a stranger": {func(w http.ResponseWriter) { w.WriteHeader(404); fmt.Fprint(w, "<h1>nginx") },
			[]string{"NOT_WAYBILL", "Check the address"}},
		"a collapse": {refusing(500, "INTERNAL_SERVER_ERROR", "Sorry."), []string{"after a pause"}},
		"a redirect": {func(w http.ResponseWriter) { w.Header().Set("Location", "http://127.0.0.1:1/"); w.WriteHeader(302) },
			[]string{"NOT_WAYBILL"}},
		"no envelope": {func(w http.ResponseWriter) { fmt.Fprint(w, "{}") }, []string{"NOT_WAYBILL"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := connect(t, newAPI(t, func(w http.ResponseWriter, _ *http.Request) bool { c.answer(w); return true }).options())
			text, failed := call(t, s, "quote", useful()["quote"])
			for _, want := range c.want {
				if !failed || !strings.Contains(text, want) {
					t.Errorf("failed %t, and %q lacks %q", failed, text, want)
				}
			}
		})
	}
}

func TestSearchFindsTheSectionAndNoCodeIsTakenForOne(t *testing.T) {
	t.Parallel()
	s, _ := connect(t, newAPI(t, nil).options())
	text, failed := call(t, s, "search_docs", m{"query": "verify signatures", "limit": 1})
	var found struct {
		Results []struct{ Page, Section, URL, Text string }
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil || failed || len(found.Results) != 1 {
		t.Fatalf("%s (%v)", text, err)
	}
	if r := found.Results[0]; r.Page != "Webhooks" || r.Section != "Verify the signature" || r.URL != "http://docs.example/docs/webhooks" ||
		!strings.Contains(r.Text, "# Source of nothing\n## no heading") {
		t.Errorf("found %+v", r)
	}
	if text, _ := call(t, s, "search_docs", m{"query": "zebra"}); !strings.Contains(text, "there are pages about: Webhooks") {
		t.Errorf("nothing found: %s", text)
	}
}

func TestWhyARequestFailedIsToldFromWhatIsKnown(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, delivery) {
			return false
		}
		refuse(w, 404, "NOT_FOUND", "Nothing here.")
		return true
	})
	s, _ := connect(t, a.options())
	call(t, s, "get_delivery", m{"delivery_id": delivery})
	body := m{"statusCode": 404, "message": "Gone.", "error": m{
		"code": "NOT_FOUND", "details": m{"fields": []m{{"field": "id", "message": "odd"}}},
	}}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		arguments m
		failed    bool
		want      []string
	}{
		"a request of this server": {m{"request_id": requestID}, false, []string{"Nothing here.", `"tool":"get_delivery"`, "Compare."}},
		"a request of another": {m{"request_id": "req_other"}, false,
			[]string{"does not tell about requests", "developer portal has req_other"}},
		"a body":               {m{"body": body}, false, []string{"Gone.", `"field":"id"`, "A typing error."}},
		"a body as text":       {m{"body": string(encoded)}, false, []string{"Gone.", "Send it again? No."}},
		"a body of a proxy":    {m{"body": "<html>"}, true, []string{"proxy"}},
		"a code":               {m{"code": "not_found"}, false, []string{"Another environment."}},
		"an unknown code":      {m{"code": "TEAPOT"}, true, []string{"There are: NOT_FOUND"}},
		"a status":             {m{"status": 404}, false, []string{`"candidates":["NOT_FOUND"]`}},
		"a status of no error": {m{"status": 418}, false, []string{"a proxy may have answered"}},
		"nothing":              {m{}, true, []string{"give the body"}},
	} {
		text, failed := call(t, s, "why_did_this_request_fail", c.arguments)
		for _, want := range c.want {
			if failed != c.failed || !strings.Contains(text, want) {
				t.Errorf("%s: failed %t, and %s lacks %q", name, failed, text, want)
			}
		}
	}
}
