package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/opsapi"
)

// registerChecks shows what readiness goes by, each check by itself, so that an
// alert can tell a database that is gone from one that is behind the program.
func registerChecks(checks []opsapi.Check, r prometheus.Registerer) {
	for _, check := range checks {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "waybill_ready_check", Help: "Whether a check of readiness passes.",
			ConstLabels: prometheus.Labels{"check": check.Name},
		}, func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
			defer cancel()
			if check.Run(ctx) != nil {
				return 0
			}
			return 1
		}))
	}
}
