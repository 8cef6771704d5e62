package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"syscall"
)

const (
	opsUse       = "operations API, health and metrics (WAYBILL_OPS_ADDR)"
	workerOpsUse = "health and metrics (WAYBILL_OPS_ADDR)"
)

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
