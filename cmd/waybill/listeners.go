package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"syscall"

	"waybill/configs"
)

// listeners are the doors of a server process.
type listeners struct {
	live, sandbox, ops net.Listener
}

// place is where a door is to be.
type place struct {
	to               *net.Listener
	address, usedFor string
}

// listen opens the doors of a server.
func listen(ctx context.Context, c *configs.Config) (*listeners, error) {
	l := &listeners{}
	return l, l.open(ctx,
		place{&l.live, c.LiveAddr, "live API (WAYBILL_LIVE_ADDR)"},
		place{&l.sandbox, c.SandboxAddr, "sandbox API (WAYBILL_SANDBOX_ADDR)"},
		place{&l.ops, c.OpsAddr, opsUse},
	)
}

// listenOps opens the only door of a worker.
func listenOps(ctx context.Context, c *configs.Config) (*listeners, error) {
	l := &listeners{}
	return l, l.open(ctx, place{&l.ops, c.OpsAddr, workerOpsUse})
}

const (
	opsUse       = "operations API, health and metrics (WAYBILL_OPS_ADDR)"
	workerOpsUse = "health and metrics (WAYBILL_OPS_ADDR)"
)

// open opens all doors, or none and tells everything that is in the way.
func (l *listeners) open(ctx context.Context, places ...place) error {
	var failed startErrors
	for _, door := range places {
		opened, err := listenOn(ctx, door.address, door.usedFor)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		*door.to = opened
	}
	if len(failed) > 0 {
		l.close()
		return failed
	}
	return nil
}

func listenOn(ctx context.Context, address, usedFor string) (net.Listener, *startError) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	host, port, _ := net.SplitHostPort(address) // checked with the settings
	failure := &startError{usedFor: usedFor, what: "cannot listen on " + address, err: err, fix: "use an address of this machine"}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		failure.what, failure.err = "port "+port+" is in use on "+shownHost(host), nil
		failure.fix = "stop the other program, or " + setting(usedFor) + "=" + net.JoinHostPort(host, otherPort(port))
	case errors.Is(err, syscall.EACCES):
		failure.what, failure.err = "port "+port+" is not open to this user", nil
		failure.fix = "use a port of 1024 or more: " + setting(usedFor) + "=" + net.JoinHostPort(host, "8080")
	}
	return nil, failure
}

// setting is the variable that a usedFor names in parentheses.
func setting(usedFor string) string {
	_, name, _ := strings.Cut(usedFor, "(")
	return strings.TrimSuffix(name, ")")
}

func otherPort(port string) string {
	n, err := strconv.Atoi(port)
	if err != nil || n > 64000 {
		return "0"
	}
	return strconv.Itoa(n + 1000)
}

func shownHost(host string) string {
	if host == "" {
		return "all addresses"
	}
	return host
}

// close closes what is still open; who served there has closed it already.
func (l *listeners) close() {
	for _, listener := range []net.Listener{l.live, l.sandbox, l.ops} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}

// origin is how the listener is reached from this machine.
func origin(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "http://" + l.Addr().String()
	}
	return "http://" + net.JoinHostPort(reachable(host), port)
}

// reachable replaces "all addresses", which nobody can call.
func reachable(host string) string {
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return host
}

// publicURLs is how clients reach the service.
type publicURLs struct {
	live, sandbox string // end in /v1
	tracking      string
}

// publicURLsOf derives what the settings leave open from the origins.
func publicURLsOf(c *configs.Config, liveOrigin, sandboxOrigin string) publicURLs {
	u := publicURLs{live: c.LiveBaseURL, sandbox: c.SandboxBaseURL, tracking: c.TrackingBaseURL}
	if u.live == "" {
		u.live = liveOrigin + "/v1"
	}
	if u.sandbox == "" {
		u.sandbox = sandboxOrigin + "/v1"
	}
	if u.tracking == "" {
		u.tracking = strings.TrimSuffix(u.live, "/v1") + "/track"
	}
	return u
}
