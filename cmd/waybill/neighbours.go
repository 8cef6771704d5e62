package main

import (
	"context"
	"log/slog"
	"net"
	"net/url"

	"waybill/adapters/opsapi"
	"waybill/configs"
)

// neighbours are the services that prices come from, as readiness looks at them:
// without one a process serves all but prices.
type neighbours []opsapi.Check

func newNeighbours(c *configs.Config, engine roadEngine) neighbours {
	var beside neighbours
	if c.PricingURL != "" {
		beside = append(beside, opsapi.Check{Name: "pricing", Informational: true, Run: func(ctx context.Context) error {
			return listensAt(ctx, c.PricingURL)
		}})
	}
	if engine.Client != nil {
		beside = append(beside, opsapi.Check{Name: "routing", Informational: true, Run: engine.Ping})
	}
	return beside
}

// warn logs, a line each, which services do not answer as a process starts. It
// is no reason not to: they may come up later.
func (n neighbours) warn(ctx context.Context, log *slog.Logger) {
	for _, check := range n {
		ctx, cancel := context.WithTimeout(ctx, countTimeout)
		if err := check.Run(ctx); err != nil {
			log.Warn(check.Name, "warning", "the "+check.Name+" service does not answer; until it does, prices and creates answer 503: waybill doctor tells more", "error", plainly(err))
		}
		cancel()
	}
}

// listensAt reports whether anything listens at an address. The pricing protocol
// has no other question than a price, and asking that for nobody would show in
// the service's figures; whether prices come of it is for the doctor to ask.
func listensAt(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err // was told with the settings
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}
