package opsapi_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/opsapi"
)

func TestASiteHasItsPathsOnTheListenerUnderItsOwnNamesOnly(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	a := opsapi.New(opsapi.Options{
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), Hosts: []string{"ops.example.com"},
		Sites: []opsapi.Site{{Prefix: "/console", End: func() { close(ended) }, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the console") })}},
	})
	for at, want := range map[string]int{
		"http://localhost:8082/console": http.StatusOK, "http://127.0.0.1:8082/console/staff": http.StatusOK,
		"https://ops.example.com/console/": http.StatusOK, "http://evil.example/console/signin": http.StatusForbidden,
		"http://localhost:8082/consoles": http.StatusNotFound, "http://localhost:8082/healthz": http.StatusOK,
	} {
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: %d, want %d: %s", at, w.Code, want, w.Body)
		}
	}
	if err := a.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	<-ended
}
