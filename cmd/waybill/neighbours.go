package main

import (
	"context"
	"log/slog"

	"waybill/adapters/cli/term"
	"waybill/adapters/metrics/gauges"
	"waybill/adapters/opsapi"
	"waybill/adapters/upstream"
	"waybill/configs"
)

// neighbours are the services that prices come from, as readiness looks at them:
// without one a process serves all but prices.
type neighbours []opsapi.Check

func newNeighbours(c *configs.Config, engine roadEngine) neighbours {
	var beside neighbours
	if c.PricingURL != "" {
		beside = append(beside, opsapi.Check{Name: "pricing", Informational: true, Run: func(ctx context.Context) error {
			return upstream.Listens(ctx, c.PricingURL)
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
		ctx, cancel := context.WithTimeout(ctx, gauges.CountTimeout)
		if err := check.Run(ctx); err != nil {
			log.Warn(check.Name, "warning", "the "+check.Name+" service does not answer; until it does, prices and creates answer 503: waybill doctor tells more", "error", term.Plainly(err))
		}
		cancel()
	}
}
