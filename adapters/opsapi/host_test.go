package opsapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAPageThatLetsItsNameLeadHereReadsNothing(t *testing.T) {
	t.Parallel()
	api := newAPI(nil)
	for _, c := range []struct {
		host, at string
		status   int
	}{
		{"127.0.0.1:8082", "127.0.0.1", 200}, {"[::1]:8082", "::1", 200}, {"localhost", "127.0.0.1", 200},
		{"api:8082", "127.0.0.1", 200}, {"api.waybill.internal", "127.0.0.1", 200},
		{"evil.example", "127.0.0.1", 403}, {"evil.example:8082", "::1", 403}, {"127.0.0.1.evil.example", "127.0.0.1", 403},
		{"waybill.example.com", "10.0.0.7", 200}, // a scraper on another machine
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/cmdline"} {
			ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP(c.at), Port: 8082})
			request := httptest.NewRequestWithContext(ctx, "GET", path, nil)
			request.Host = c.host
			recorder := httptest.NewRecorder()
			api.Handler().ServeHTTP(recorder, request)
			if recorder.Code != c.status {
				t.Errorf("%s as %s at %s: status %d, want %d", path, c.host, c.at, recorder.Code, c.status)
			}
		}
	}
}
