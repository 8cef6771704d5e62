package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waybill/adapters/cli/admin"
	"waybill/adapters/cli/term"
	"waybill/configs"
)

// closedPort returns an address at which nothing listens.
const closedPort = "127.0.0.1:1"

func TestAServerTellsAtItsStartWhatDoesNotAnswerAndWhichAddressesCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inDir[admin.MigrationsView](t, dir, "migrate", "up")
	environ := append([]string{"WAYBILL_SANDBOX_ADDR=0.0.0.0:0"}, freePorts[0], freePorts[2], freePorts[3])
	for name, setting := range map[string]string{"pricing": "WAYBILL_PRICING_URL=", "routing": "WAYBILL_ROUTING_URL="} {
		for command, args := range map[string][]string{"serve": {"serve"}, "dev": {"dev"}} {
			home := dir
			if command == "dev" {
				home = filepath.Join(t.TempDir(), "dev")
			}
			r, v := startCommand(t, append([]string{setting + "http://" + closedPort}, environ...), append(args, "--data-dir", home)...)
			body, log := readAll(t, v.Ops+"/readyz"), r.stderr.String()
			if strings.Count(log, "the "+name+" service does not answer") != 1 || !strings.Contains(log, "nothing answers at 127.0.0.1:") ||
				!strings.Contains(body, "Ready, degraded: "+name) {
				t.Errorf("%s without %s: %s\n%s", command, name, body, log)
			}
			if got := strings.Count(log, "nobody else can open them"); command == "serve" && got != 1 || command == "dev" && got != 0 {
				t.Errorf("%s tells %d times that links are this machine's\n%s", command, got, log)
			}
			r.terminate(t)
		}
	}
}

func TestAPricingServiceThatListensIsReady(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(service.Close)
	checks := newDependencies(&configs.Config{PricingURL: service.URL}, routingEngine{})
	if len(checks) != 1 || checks[0].Name != "pricing" || !checks[0].Informational || checks[0].Run(t.Context()) != nil {
		t.Errorf("%+v", checks)
	}
}

func TestAnAddressThatCannotBeReachedIsReportedOnce(t *testing.T) {
	t.Parallel()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5432}, Err: syscall.ECONNREFUSED}
	for want, err := range map[string]error{
		"nothing answers at 127.0.0.1:5432 (connection refused)": fmt.Errorf("gormstore: %w", errors.Join(refused, refused)),
		"there is no host db.invalid (no such host)": &net.OpError{Op: "dial", Net: "tcp",
			Err: &net.DNSError{Err: "no such host", Name: "db.invalid"}},
		"read tcp: connection reset by peer": &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET},
		"the table is gone":                  errors.New("the table\nis gone"),
	} {
		if got := term.Plainly(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
