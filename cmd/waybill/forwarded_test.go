package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/cli/doctor"
	"waybill/adapters/web/server"
	"waybill/configs"
)

func TestAProxyThatIsNotTrustedIsWarnedOfOnceInFiveMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		c := &configs.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
		registry := prometheus.NewRegistry()
		watch := server.NewProxyWatch(c.TrustedProxies, registry, slog.New(slog.NewTextHandler(&logged, nil)))
		served := 0
		handler := watch.Around(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		ask := func(peer, forwarded string) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = peer
			if forwarded != "" {
				r.Header.Set("X-Forwarded-For", forwarded)
			}
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		warnings := func() int { return strings.Count(logged.String(), "WAYBILL_TRUSTED_PROXIES") / 2 }

		ask("10.1.2.3:1000", "203.0.113.9")          // trusted
		ask("[::ffff:10.1.2.3]:1000", "203.0.113.9") // the same, as a socket of IPv6 sees it
		ask("192.0.2.77:1000", "")                   // no proxy
		if n := warnings(); n != 0 {
			t.Errorf("%d warnings without cause: %s", n, logged.String())
		}
		for range 50 {
			ask("192.0.2.77:1000", "203.0.113.9")
		}
		if n := warnings(); n != 1 || !strings.Contains(logged.String(), "client_network=192.0.2.0/24") ||
			strings.Contains(logged.String(), "192.0.2.77") {
			t.Errorf("%d warnings: %s", n, logged.String())
		}
		time.Sleep(5*time.Minute + time.Second)
		ask("[2001:db8:1:2ff::1]:1000", "203.0.113.9")
		if n := warnings(); n != 2 || !strings.Contains(logged.String(), "client_network=2001:db8:1:200::/56") {
			t.Errorf("%d warnings: %s", n, logged.String())
		}
		counted, err := registry.Gather()
		if err != nil || len(counted) != 1 || counted[0].GetMetric()[0].GetCounter().GetValue() != 51 || served != 54 {
			t.Errorf("counted %v, served %d, %v", counted, served, err)
		}
	})
}

func TestTheDoctorTellsOfAProxyThatIsNotTrusted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, vars := startDev(t, dir)
	ops := "WAYBILL_OPS_ADDR=" + strings.TrimPrefix(vars["WAYBILL_OPS_URL"], "http://")
	found(t, examined(t, dir, ops), doctor.VerdictOK, "proxies", "none is trusted")

	r, err := http.NewRequestWithContext(t.Context(), "GET", vars["WAYBILL_LIVE_URL"]+"/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	found(t, examined(t, dir, ops), doctor.VerdictWarn, "proxies", "1 request:", "WAYBILL_TRUSTED_PROXIES=")

	https := []string{"WAYBILL_LIVE_BASE_URL=https://api.example.com/v1", "WAYBILL_SANDBOX_BASE_URL=https://sandbox.example.com/v1"}
	found(t, examined(t, dir, https...), doctor.VerdictWarn, "proxies", "https://api.example.com/v1 is a proxy's", "WAYBILL_TRUSTED_PROXIES=")
	found(t, examined(t, dir, append(https, "WAYBILL_TRUSTED_PROXIES=10.0.0.0/8")...), doctor.VerdictOK, "proxies", "10.0.0.0/8")
}

func TestEachListenerOfAnHTTPSAddressTellsBrowsersToComeByHTTPS(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string]string{"https": "max-age=31536000", "http": ""} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			server, _ := startServe(t, append(served(t), "WAYBILL_LIVE_BASE_URL="+scheme+"://api.example.com/v1",
				"WAYBILL_SANDBOX_BASE_URL="+scheme+"://sandbox.example.com/v1", "WAYBILL_TRACKING_BASE_URL="+scheme+"://example.com/track",
				"WAYBILL_PORTAL_BASE_URL="+scheme+"://portal.example.com", "WAYBILL_CONSOLE_BASE_URL="+scheme+"://ops.example.com"))
			listening := map[string]string{}
			for line := range strings.Lines(server.stderr.String()) {
				var said struct{ Listener, Listening string }
				if json.Unmarshal([]byte(line), &said) == nil && said.Listening != "" {
					listening[said.Listener] = "http://" + said.Listening
				}
			}
			for _, at := range []struct{ listener, path, host string }{
				{"live", "/v1/api-key", "api.example.com"}, {"live", "/track/none", "example.com"}, {"sandbox", "/v1/api-key", "sandbox.example.com"},
				{"sandbox", "/docs/", "sandbox.example.com"}, {"portal", "/signin", "portal.example.com"}, {"portal", "/none", ""},
				{"operations", "/console/signin", "ops.example.com"},
			} {
				r, err := http.NewRequestWithContext(t.Context(), "GET", listening[at.listener]+at.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Host = at.host
				res, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if got := res.Header.Get("Strict-Transport-Security"); got != want {
					t.Errorf("%s of %s: %q, want %q", at.path, at.listener, got, want)
				}
			}
		})
	}
}
