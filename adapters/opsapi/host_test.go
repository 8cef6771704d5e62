package opsapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/adapters/opsapi"
)

// Behind a published port of a container every request arrives on an address that is not
// loopback, also that of a page in the browser of that machine.
func TestAPageThatLetsItsNameLeadHereReadsNothing(t *testing.T) {
	t.Parallel()
	api := newAPI(func(o *opsapi.Options) {
		o.Hosts, o.Profiles = []string{"api", "Ops.Example.com"}, true
	}, fails)
	api.Name("the-installation")
	for _, c := range []struct {
		host string
		own  bool
	}{
		{"127.0.0.1:8082", true}, {"[::1]:8082", true}, {"[fe80::1%25eth0]:8082", true}, {"10.1.2.3", true}, {"localhost", true},
		{"LOCALHOST.:8082", true}, {"", true},
		{"api:8082", true}, {"API", true}, {"ops.example.com", true}, {"ops.example.com.:8082", true},
		{"evil.example", false}, {"evil.example:8082", false}, {"127.0.0.1.evil.example", false}, {"ops.example.com.evil.example", false},
		{"printer.local", false}, {"worker:8082", false}, {"api.waybill.internal", false}, {"evil.localhost", false},
	} {
		for _, at := range []string{"127.0.0.1", "172.17.0.2"} {
			for path, told := range map[string]string{"/metrics": "", "/debug/pprof/cmdline": "", "/readyz?verbose": "two are pending",
				"/readyz?verbose=1": "two are pending"} {
				status, body := askAs(t, api, c.host, at, path)
				if forbidden := status == http.StatusForbidden; forbidden == c.own || !c.own && (!strings.Contains(body, "HOST_NOT_ALLOWED") ||
					!strings.Contains(body, "Host "+c.host+".")) {
					t.Errorf("%s as %q at %s: status %d, %s", path, c.host, at, status, body)
				}
				if told != "" && strings.Contains(body, told) != c.own {
					t.Errorf("%s as %q at %s: %s", path, c.host, at, body)
				}
			}
			// Probes reveal nothing and may use any name. The response names the installation
			// only to requests by one of the listener's own names.
			if status, _ := askAs(t, api, c.host, at, "/readyz"); status != http.StatusServiceUnavailable {
				t.Errorf("/readyz as %q at %s: status %d", c.host, at, status)
			}
			status, body := askAs(t, api, c.host, at, "/healthz")
			if status != http.StatusOK || strings.Contains(body, "the-installation") != c.own {
				t.Errorf("/healthz as %q at %s: status %d, %s", c.host, at, status, body)
			}
		}
	}
}

func askAs(t *testing.T, api *opsapi.API, host, at, path string) (int, string) {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP(at), Port: 8082})
	request := httptest.NewRequestWithContext(ctx, "GET", path, http.NoBody)
	request.Host = host
	recorder := httptest.NewRecorder()
	api.Handler().ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}
