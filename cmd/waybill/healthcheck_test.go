package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/adapters/cli/term"
)

func TestHealthcheckExitsByWhatReadyzSays(t *testing.T) {
	t.Parallel()
	r, vars := startDev(t, t.TempDir())
	ops := vars["WAYBILL_OPS_URL"]
	addr := "WAYBILL_OPS_ADDR=" + strings.TrimPrefix(ops, "http://")
	for _, o := range []outcome{
		command(t, nil, "healthcheck", "--url", ops),
		command(t, []string{addr}, "healthcheck"),
		command(t, []string{strings.Replace(addr, "127.0.0.1", "0.0.0.0", 1)}, "healthcheck"),
		command(t, nil, "healthcheck", "--ops-addr", strings.TrimPrefix(ops, "http://")),
	} {
		if o.code != term.ExitOK || o.stdout != "Ready.\n" || o.stderr != "" {
			t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
		}
	}
	if o := command(t, nil, "healthcheck", "--url", ops, "--json"); o.code != term.ExitOK ||
		!strings.Contains(o.stdout, `{"ready":true,"url":"`+ops+`/readyz"`) {
		t.Errorf("exit code %d: %s", o.code, o.stdout)
	}
	r.terminate(t)
	if o := command(t, nil, "healthcheck", "--url", ops); o.code != term.ExitFailure || o.stdout != "" ||
		!strings.Contains(o.stderr, "nothing answers on "+ops+"/readyz") || !strings.Contains(o.stderr, "fix:") {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
}

func TestHealthcheckTellsNotReadyFromNoWaybill(t *testing.T) {
	t.Parallel()
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, c := range []struct {
		url, code, want string
		exit            int
	}{
		{answers(503, `{"success":false,"message":"Not ready: database."}`), "NOT_READY", "Not ready: database.", term.ExitFailure},
		{answers(200, `<html>It works!</html>`), "NOT_WAYBILL", "is no Waybill", term.ExitFailure},
		{answers(200, `{"status":"ok"}`), "NOT_WAYBILL", "is no Waybill", term.ExitFailure},
		{answers(404, ``), "NOT_WAYBILL", "404", term.ExitFailure},
		{"127.0.0.1:8082", "USAGE", "--url is", term.ExitUsage},
		{"http://", "USAGE", "--url is", term.ExitUsage},
	} {
		o := command(t, nil, "healthcheck", "--url", c.url, "--json")
		if o.code != c.exit || o.stdout != "" || !strings.Contains(o.stderr, `"code":"`+c.code+`"`) || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: exit code %d: %s%s", c.url, o.code, o.stdout, o.stderr)
		}
	}
}
