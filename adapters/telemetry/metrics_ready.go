package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// RegisterCheck shows one check of readiness separately, so that an alert can distinguish a missing
// database from one with an older schema than the program.
func RegisterCheck(name string, run func(context.Context) error, r prometheus.Registerer) {
	registerAsked(r, prometheus.GaugeOpts{
		Name: "waybill_ready_check", Help: "1 when a readiness check passes, else 0.",
		ConstLabels: prometheus.Labels{"check": name},
	}, func(ctx context.Context) float64 {
		if run(ctx) != nil {
			return 0
		}
		return 1
	})
}
