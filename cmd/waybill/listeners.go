package main

import (
	"context"
	"net"

	"waybill/adapters/cli/settings"
	"waybill/adapters/cli/term"
	"waybill/configs"
)

// listeners holds the TCP listeners of a server process.
type listeners struct {
	live, sandbox, ops, portal net.Listener // portal: nil if there is none
}

// place holds the address of a listener and its use.
type place struct {
	to               *net.Listener
	address, usedFor string
}

// listen opens the listeners of a server.
func listen(ctx context.Context, c *configs.Config) (*listeners, error) {
	l := &listeners{}
	places := []place{
		{&l.live, c.LiveAddr, "live API (WAYBILL_LIVE_ADDR)"},
		{&l.sandbox, c.SandboxAddr, "sandbox API (WAYBILL_SANDBOX_ADDR)"},
		{&l.ops, c.OpsAddr, settings.OpsUse},
	}
	if c.PortalAddr != "" {
		places = append(places, place{&l.portal, c.PortalAddr, settings.PortalUse})
	}
	return l, l.open(ctx, c, places...)
}

// urls returns how clients reach the service at these listeners.
func (l *listeners) urls(c *configs.Config) settings.PublicURLs {
	return settings.PublicURLsOf(c, settings.Origin(l.live), settings.Origin(l.sandbox)).WithPortal(c, l.portal).WithConsole(c, l.ops)
}

// listenOps opens the only listener of a worker.
func listenOps(ctx context.Context, c *configs.Config) (*listeners, error) {
	l := &listeners{}
	return l, l.open(ctx, c, place{&l.ops, c.OpsAddr, settings.WorkerOpsUse})
}

// open opens all listeners, or none and returns every reason.
func (l *listeners) open(ctx context.Context, c *configs.Config, places ...place) error {
	var failed term.StartErrors
	for _, place := range places {
		opened, err := settings.Listen(ctx, c, place.address, place.usedFor)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		*place.to = opened
	}
	if len(failed) > 0 {
		l.close()
		return failed
	}
	return nil
}

// close closes the listeners that are still open. A server has closed its own already.
func (l *listeners) close() {
	for _, listener := range []net.Listener{l.live, l.sandbox, l.ops, l.portal} {
		if listener != nil {
			_ = listener.Close()
		}
	}
}
