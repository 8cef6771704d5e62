package settings

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"syscall"

	"waybill/adapters/cli/term"
	"waybill/configs"
)

// Uses of the address of the operations API, for messages.
const (
	OpsUse       = "operations API, health and metrics (WAYBILL_OPS_ADDR)"
	WorkerOpsUse = "health and metrics (WAYBILL_OPS_ADDR)"
	PortalUse    = "portal for the people of customers (WAYBILL_PORTAL_ADDR)"
)

// ListenOn opens an address. Its error names what the address is used for and another one that
// may be free.
func ListenOn(ctx context.Context, address, usedFor string) (net.Listener, *term.StartError) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	host, port, _ := net.SplitHostPort(address) // checked with the settings
	failure := &term.StartError{UsedFor: usedFor, What: "cannot listen on " + address, Err: err, Fix: "use an address of this machine"}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		failure.What, failure.Err = "port "+port+" is in use on "+shownHost(host), nil
		failure.Fix = "stop the other program, or " + setting(usedFor) + "=" + net.JoinHostPort(host, OtherPort(port))
	case errors.Is(err, syscall.EACCES):
		failure.What, failure.Err = "port "+port+" is not open to this user", nil
		failure.Fix = "use a port of 1024 or more: " + setting(usedFor) + "=" + net.JoinHostPort(host, "8080")
	}
	return nil, failure
}

// Listen opens an address like ListenOn. If the port of the portal is in use and may change, it
// opens a free one.
func Listen(ctx context.Context, c *configs.Config, address, usedFor string) (net.Listener, *term.StartError) {
	l, failure := ListenOn(ctx, address, usedFor)
	if failure == nil || usedFor != PortalUse || !c.PortalMayMove() {
		return l, failure
	}
	host, _, _ := net.SplitHostPort(address) // checked with the settings
	return ListenOn(ctx, net.JoinHostPort(host, "0"), usedFor)
}

// setting returns the variable that a usedFor names in parentheses.
func setting(usedFor string) string {
	_, name, _ := strings.Cut(usedFor, "(")
	return strings.TrimSuffix(name, ")")
}

// OtherPort suggests a port when this one is in use.
func OtherPort(port string) string {
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
