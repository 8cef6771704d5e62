package main

import (
	"bytes"
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
	"waybill/adapters/web/connections"
	"waybill/configs"
)

func TestAProxyThatIsNotTrustedIsWarnedOfOnceInFiveMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		c := &configs.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
		registry := prometheus.NewRegistry()
		watch := connections.NewProxyWatch(c.TrustedProxies, registry, slog.New(slog.NewTextHandler(&logged, nil)))
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
