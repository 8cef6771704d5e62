package main

import (
	"context"
	"log/slog"

	"waybill/adapters/circuitbreaker"
	"waybill/adapters/cli/term"
	"waybill/adapters/opsapi"
	"waybill/adapters/telemetry"
	"waybill/application/reports"
	"waybill/configs"
	"waybill/ports"
)

// dependencies holds the readiness checks of the services behind prices. Without one of them a
// process serves everything but prices.
type dependencies []opsapi.Check

func newDependencies(c *configs.Config, routing routingEngine) dependencies {
	var beside dependencies
	if c.PricingURL != "" {
		beside = append(beside, opsapi.Check{Name: "pricing", Informational: true, Run: func(ctx context.Context) error {
			return circuitbreaker.Listens(ctx, c.PricingURL)
		}})
	}
	if routing.Client != nil {
		beside = append(beside, opsapi.Check{Name: "routing", Informational: true, Run: routing.Ping})
	}
	return beside
}

// newBoard returns the dashboard, which also shows which dependencies do not respond.
func newBoard(s ports.Storage, c ports.Clock, beside dependencies) *reports.Board {
	var services []reports.PriceService
	for _, check := range beside {
		services = append(services, reports.PriceService{Name: check.Name, Check: check.Run})
	}
	return reports.NewBoard(s, c, services...)
}

// warn logs, a line each, which services do not respond as a process starts. The start
// continues: they may come up later.
func (d dependencies) warn(ctx context.Context, log *slog.Logger) {
	for _, check := range d {
		ctx, cancel := context.WithTimeout(ctx, telemetry.CountTimeout)
		if err := check.Run(ctx); err != nil {
			log.Warn(check.Name, "warning", "the "+check.Name+" service does not answer; until it does, prices and creates answer 503: waybill "+
				"doctor tells more", "error", term.Plainly(err))
		}
		cancel()
	}
}
