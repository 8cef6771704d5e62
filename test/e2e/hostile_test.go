package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestHostileRequests sends what no client should. Whatever comes, the answer
// is a refusal in the form of the contract or a sound success, and the server
// is none the worse for it. That net/http refuses what is no HTTP, and strictjson
// what is no JSON, is for their own tests.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	t.Run(sqlite, func(t *testing.T) {
		t.Parallel()
		besiege(t, sqlite, func(t *testing.T, g *siege) {
			t.Run("kinds of values", g.kinds)
			t.Run("texts", g.texts)
			t.Run("on the wire", g.wires)
		})
	})
	t.Run(postgres, func(t *testing.T) {
		t.Parallel()
		// What reaches a database; the rest is answered before that.
		besiege(t, postgres, func(t *testing.T, g *siege) { t.Run("texts", g.texts) })
	})
}

// Clients that are slow come all at once, and are cut off.
func TestLongSlowClients(t *testing.T) {
	t.Parallel()
	besiege(t, sqlite, func(t *testing.T, g *siege) {
		wait := g.slowClients(t)
		g.healthy(t)
		wait()
	})
}

// besiege runs an attack on both listeners of a server of its own, and then
// looks how the server is.
func besiege(t *testing.T, dialect string, attack func(*testing.T, *siege)) {
	s := start(t, dialect,
		"WAYBILL_RATE_LIMIT_PER_KEY=1000000/60s",
		"WAYBILL_TRUSTED_PROXIES=127.0.0.1/32", // a client address per request, where failures count
		"WAYBILL_LOG_LEVEL=debug",              // net/http tells of a panic outside a handler there
	)
	sieges := []*siege{newSiege(t, s, live), newSiege(t, s, sandbox)}
	s.connections.CloseIdleConnections()
	goroutines := s.goroutines(t)
	t.Run("on", func(t *testing.T) {
		for _, g := range sieges {
			t.Run(g.env, func(t *testing.T) {
				t.Parallel()
				attack(t, g)
				g.healthy(t)
			})
		}
	})

	s.connections.CloseIdleConnections()
	eventually(t, "the goroutines of hostile requests have ended", func() bool {
		return s.goroutines(t) <= goroutines+8 // timers and pools of the runtime come and go
	})
	if memory := s.metric(t, "process_resident_memory_bytes") / (1 << 20); memory > 256 {
		t.Errorf("the server holds %.0f MiB", memory)
	}
	if n := s.panics(t); n > 0 {
		t.Errorf("the server panicked %d times", n)
	}
}

// siege attacks one environment of a server.
type siege struct {
	*client
	name map[string]string // of a placeholder: what stands for it
}

func newSiege(t *testing.T, s *server, env string) *siege {
	t.Helper()
	c := s.loner(t, env)
	g := &siege{client: c}
	person := c.post("/recipients", m{"phone_number": newPhone()}).is(201).id()
	parcel := c.post("/deliveries", anOrder()).is(201).id()
	g.name = map[string]string{
		"{host}": strings.TrimSuffix(strings.TrimPrefix(s.base(env), "http://"), "/v1"),
		"{key}":  c.key, "{rcp}": person, "{dlv}": parcel, "{hex}": strings.TrimPrefix(parcel, "dlv_"), "{whe}": c.newEndpoint(),
		"{adr}": c.post("/recipients/"+person+"/addresses", anAddress()).is(201).id(),
		"{pkp}": c.post("/pickup-locations", aPlace()).is(201).id(),
	}
	return g
}

// What is wanted of an answer, as judge takes it.
const (
	invalidRequest = "400 INVALID_REQUEST"
	nowhere        = "404 NOT_FOUND"
	tooLarge       = "413 PAYLOAD_TOO_LARGE"
)

// soundOrder is the body that the tables break, with everything a create needs.
const soundOrder = `{"recipient":{"name":"Efua Quartey","phone_number":"+233241234567","address":{"address":"17 Palm Crescent, Labone","latitude":5.58,"longitude":-0.19}},` +
	`"pickup":{"name":"Osu kitchen","contact":"+233302000011","address":"8 Cantonments Close","latitude":5.5571,"longitude":-0.1818},` +
	`"payment":{"type":"delivery_only"},"vehicle_type":"bike"}`

// swapped is the sound order with a part of its text replaced.
func swapped(old, new string) string {
	if !strings.Contains(soundOrder, old) {
		panic("not in the sound order: " + old)
	}
	return strings.Replace(soundOrder, old, new, 1)
}

// fill puts real values where a request of a table has names for them.
func (g *siege) fill(text string) string {
	pairs := []string{"{idem}", newKeyText(), "{from}", newAddress()}
	for name, value := range g.name {
		pairs = append(pairs, name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// healthy makes a request that must succeed.
func (g *siege) healthy(t *testing.T) {
	t.Helper()
	c := *g.client
	c.t = t
	c.post("/deliveries", anOrder()).is(201)
}

// judge holds an answer against what every answer must be, and against what
// this one should be: statuses, with their codes where that matters, separated
// by bars, such as "400 INVALID_REQUEST|415"; 4xx is any refusal.
func (g *siege) judge(t *testing.T, name, want, method string, res *http.Response, body []byte) {
	t.Helper()
	if unreadable(res) {
		return
	}
	fault := faultOf(method, res, body)
	code, _ := parse(body).(m)
	inner, _ := code["error"].(m)
	switch {
	case fault != "":
		t.Errorf("%s: answered %d: %s: %.500q", name, res.StatusCode, fault, body)
	case res.StatusCode >= 500:
		t.Errorf("%s: answered %d: %.500s", name, res.StatusCode, body)
	case !expected(want, res.StatusCode, fmt.Sprint(inner["code"])):
		t.Errorf("%s: answered %d, want %s: %.500s", name, res.StatusCode, want, body)
	case strings.Contains(string(body), g.key):
		t.Errorf("%s: the answer repeats the key", name)
	}
}

// unreadable reports whether net/http itself refused the request, as it does for bytes
// that are no HTTP request: the answer is plain text or empty, has no request ID, and
// the connection ends with it.
func unreadable(res *http.Response) bool {
	refusals := []int{400, 417, 431, 501, 505}
	return slices.Contains(refusals, res.StatusCode) && res.Close && res.Header.Get("X-Request-ID") == "" &&
		!strings.Contains(res.Header.Get("Content-Type"), "json")
}

func expected(want string, status int, code string) bool {
	for alternative := range strings.SplitSeq(want, "|") {
		wantStatus, wantCode, _ := strings.Cut(alternative, " ")
		if wantStatus == "4xx" && status/100 == 4 || wantStatus == "2xx" && status/100 == 2 ||
			wantStatus == strconv.Itoa(status) && (wantCode == "" || wantCode == code) {
			return true
		}
	}
	return false
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)

// faultOf says what of the contract for every answer is broken, or "".
func faultOf(method string, res *http.Response, body []byte) string {
	if ids := res.Header.Values("X-Request-ID"); len(ids) != 1 || !requestIDForm.MatchString(ids[0]) {
		return fmt.Sprintf("X-Request-ID is %q", ids)
	}
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		values := res.Header.Values(name)
		if n, err := strconv.Atoi(strings.Join(values, ",")); err != nil || n < 0 {
			return fmt.Sprintf("%s is %q", name, values)
		}
	}
	if method == http.MethodHead {
		return ""
	}
	if mediaType := res.Header.Get("Content-Type"); mediaType != "application/json; charset=utf-8" {
		return "Content-Type is " + mediaType
	}
	envelope, ok := parse(body).(m)
	message, _ := envelope["message"].(string)
	refusal, _ := envelope["error"].(m)
	code, _ := refusal["code"].(string)
	_, data := envelope["data"]
	switch success := res.StatusCode < 400; {
	case !ok:
		return "the body is no JSON object"
	case envelope["success"] != success, fmt.Sprint(envelope["statusCode"]) != strconv.Itoa(res.StatusCode), message == "":
		return "success, statusCode or message is wrong"
	case success != data, success == (code != ""):
		return "data or error.code is wrong"
	}
	return ""
}

// hit sends a request through net/http and judges the answer, also by
// openapi.yaml.
func (g *siege) hit(t *testing.T, name, want, method, path string, body any, options ...option) *answer {
	t.Helper()
	c := *g.client
	c.t = t
	a, err := c.try(method, path, body, append([]option{idem(newKeyText())}, options...)...)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	g.judge(t, name, want, method, &http.Response{StatusCode: a.status, Header: a.header}, a.body)
	return a
}

// metric is a figure of /metrics that has no labels.
func (s *server) metric(t testing.TB, name string) float64 {
	t.Helper()
	for line := range strings.Lines(s.ops(t, "/metrics")) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func (s *server) goroutines(t testing.TB) int { return int(s.metric(t, "go_goroutines")) }

func (s *server) ops(t testing.TB, path string) string {
	t.Helper()
	res, err := http.Get(s.Vars["WAYBILL_OPS_URL"] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %d %v", path, res.StatusCode, err)
	}
	return string(text)
}

// panics counts those in the log, also of net/http itself.
func (s *server) panics(t testing.TB) int {
	t.Helper()
	log, err := os.ReadFile(s.Log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), `"msg":"panic`) + strings.Count(string(log), "panic serving")
}
