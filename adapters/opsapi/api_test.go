package opsapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/opsapi"
)

type answer struct {
	Success    bool   `json:"success"`
	StatusCode int    `json:"statusCode"`
	Message    string `json:"message"`
	Data       *struct {
		Checks []check `json:"checks"`
	} `json:"data"`
	Error *struct {
		Code    string `json:"code"`
		Details *struct {
			Checks []check `json:"checks"`
		} `json:"details"`
	} `json:"error"`
}

type check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Degraded bool   `json:"degraded"`
	Error    string `json:"error"`
}

func newAPI(change func(*opsapi.Options), checks ...opsapi.Check) *opsapi.API {
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "waybill_test_total", Help: "Counts."})
	registry.MustRegister(counter)
	counter.Add(3)
	o := opsapi.Options{Checks: checks, Metrics: registry, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	return opsapi.New(o)
}

func ask(t *testing.T, api *opsapi.API, method, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	api.Handler().ServeHTTP(recorder, httptest.NewRequest(method, "http://127.0.0.1"+path, nil))
	return recorder.Code, recorder.Body.String()
}

func TestNoAnswerMayBeCachedOrGuessedAt(t *testing.T) {
	t.Parallel()
	api := newAPI(nil, fails)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/", "/nowhere"} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			recorder := httptest.NewRecorder()
			api.Handler().ServeHTTP(recorder, httptest.NewRequest(method, "http://127.0.0.1"+path, nil))
			header := recorder.Result().Header
			if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s %s answered %d with %v", method, path, recorder.Code, header)
			}
		}
	}
}

func parse(t *testing.T, status int, body string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	if a.StatusCode != status || a.Success != (status == http.StatusOK) || a.Message == "" || (a.Error == nil) != a.Success {
		t.Errorf("status %d with envelope %s", status, body)
	}
	return a
}

var (
	passes = opsapi.Check{Name: "database", Run: func(context.Context) error { return nil }}
	fails  = opsapi.Check{Name: "migrations", Run: func(context.Context) error { return errors.New("two are pending") }}
)

func TestAPanicOfACheckIsItsFailure(t *testing.T) {
	t.Parallel()
	api := newAPI(nil, passes, opsapi.Check{Name: "redis", Run: func(context.Context) error { panic("a fault") }})
	if code, body := ask(t, api, "GET", "/readyz"); code != 503 || !strings.Contains(body, "Not ready: redis.") {
		t.Errorf("%d %s", code, body)
	}
}

func TestReadinessTellsWhichCheckFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		checks []opsapi.Check
		drain  bool
		status int
		failed string
	}{
		"all pass":  {[]opsapi.Check{passes}, false, 200, ""},
		"one fails": {[]opsapi.Check{passes, fails}, false, 503, "migrations"},
		"draining":  {[]opsapi.Check{passes}, true, 503, "draining"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newAPI(nil, c.checks...)
			if c.drain {
				api.Drain()
			}
			status, body := ask(t, api, "GET", "/readyz")
			a := parse(t, status, body)
			if status != c.status || a.Data != nil {
				t.Errorf("status %d, body %s", status, body)
			}
			if c.failed != "" && (!strings.Contains(a.Message, c.failed) || a.Error.Code != "NOT_READY") {
				t.Errorf("body %s does not name %s", body, c.failed)
			}
			if head, _ := ask(t, api, "HEAD", "/readyz"); head != c.status {
				t.Errorf("HEAD answers %d", head)
			}
			if alive, _ := ask(t, api, "GET", "/healthz"); alive != 200 {
				t.Errorf("/healthz answers %d", alive)
			}
		})
	}
}

func TestVerboseReadinessListsEveryCheckInOrder(t *testing.T) {
	t.Parallel()
	status, body := ask(t, newAPI(nil, passes, fails), "GET", "/readyz?verbose")
	a := parse(t, status, body)
	want := []check{{Name: "database", OK: true}, {Name: "migrations", Error: "two are pending"}, {Name: "draining", OK: true}}
	if a.Error == nil || a.Error.Details == nil || len(a.Error.Details.Checks) != len(want) {
		t.Fatalf("body %s", body)
	}
	for i, got := range a.Error.Details.Checks {
		if got != want[i] {
			t.Errorf("check %d is %+v, want %+v", i, got, want[i])
		}
	}
	status, body = ask(t, newAPI(nil, passes), "GET", "/readyz?verbose")
	if a := parse(t, status, body); status != 200 || a.Data == nil || len(a.Data.Checks) != 2 {
		t.Errorf("ready: status %d, body %s", status, body)
	}
}

func TestWhatTheProcessGoesOnWithoutLeavesItReady(t *testing.T) {
	t.Parallel()
	gone := opsapi.Check{Name: "redis", Informational: true, Run: func(context.Context) error { return errors.New("refused") }}
	status, body := ask(t, newAPI(nil, passes, gone), "GET", "/readyz?verbose")
	a := parse(t, status, body)
	if status != 200 || a.Message != "Ready, degraded: redis." ||
		a.Data.Checks[1] != (check{Name: "redis", Degraded: true, Error: "refused"}) {
		t.Errorf("status %d, body %s", status, body)
	}
	status, body = ask(t, newAPI(nil, passes, gone, fails), "GET", "/readyz?verbose")
	if a := parse(t, status, body); status != 503 || a.Message != "Not ready: migrations." {
		t.Errorf("status %d, body %s", status, body)
	}
	there := gone
	there.Run = passes.Run
	status, body = ask(t, newAPI(nil, there), "GET", "/readyz?verbose")
	if a := parse(t, status, body); a.Message != "Ready." || a.Data.Checks[0] != (check{Name: "redis", OK: true}) {
		t.Errorf("status %d, body %s", status, body)
	}
}

func TestMetricsAndProfilesAreThere(t *testing.T) {
	t.Parallel()
	api := newAPI(func(o *opsapi.Options) { o.Profiles = true })
	for path, want := range map[string]string{
		"/metrics":                       "waybill_test_total 3",
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/heap?debug=1":      "heap profile",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
	} {
		if status, body := ask(t, api, "GET", path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d without %q", path, status, want)
		}
	}
}

func TestProfilesAreOffUnlessTheyAreSetOn(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/profile?seconds=1", "/debug/pprof/heap"} {
		status, body := ask(t, newAPI(nil), "GET", path)
		if a := parse(t, status, body); status != http.StatusForbidden || a.Error.Code != "PROFILES_OFF" {
			t.Errorf("%s: status %d, body %s", path, status, body)
		}
	}
}

func TestStrangePathsAndMethodsGetTheEnvelope(t *testing.T) {
	t.Parallel()
	api := newAPI(nil)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/", 404, "NOT_FOUND"},
		{"GET", "/healthz/", 404, "NOT_FOUND"},
		{"POST", "/readyz", 405, "METHOD_NOT_ALLOWED"},
		{"DELETE", "/metrics", 405, "METHOD_NOT_ALLOWED"},
	} {
		status, body := ask(t, api, c.method, c.path)
		if a := parse(t, status, body); status != c.status || a.Error.Code != c.code {
			t.Errorf("%s %s: status %d, body %s", c.method, c.path, status, body)
		}
	}
}

func TestAPanicIsLoggedAndAnsweredWithTheEnvelope(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	registry := prometheus.GathererFunc(nil) // calling it panics
	api := opsapi.New(opsapi.Options{Metrics: registry, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	status, body := ask(t, api, "GET", "/metrics")
	if a := parse(t, status, body); status != 500 || a.Error.Code != "INTERNAL_SERVER_ERROR" {
		t.Errorf("status %d, body %s", status, body)
	}
	if !strings.Contains(logged.String(), "route=/metrics") {
		t.Errorf("logged %q", logged.String())
	}
}

func TestServeEndsWithShutdown(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	api := newAPI(nil, passes)
	served := make(chan error, 1)
	go func() { served <- api.Serve(listener) }()
	resp, err := http.Get("http://" + listener.Addr().String() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := api.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve returned %v", err)
	}
}
