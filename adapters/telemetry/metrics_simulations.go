package telemetry

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/ports"
)

// NewStepLateness measures how late the steps of simulations are.
func NewStepLateness(r prometheus.Registerer) func(time.Duration) {
	lateness := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "waybill_simulation_lateness_seconds", Help: "Delay in seconds between the due time of a simulation step and its execution.",
		Buckets: []float64{.005, .01, .025, .05, .1, .15, .25, .5, 1, 2.5, 5, 10, 60},
	})
	r.MustRegister(lateness)
	return func(d time.Duration) { lateness.Observe(d.Seconds()) }
}

// RegisterSimulations shows how many simulations run, in all processes together.
func RegisterSimulations(s ports.Storage, r prometheus.Registerer, log *slog.Logger) {
	registerAsked(r, prometheus.GaugeOpts{
		Name: "waybill_simulations_running", Help: "Running simulations of all processes.",
	}, func(ctx context.Context) float64 {
		n, err := s.Read().Simulations.Running(ctx)
		if err != nil {
			log.Debug("running simulations not counted", "error", err)
			return -1
		}
		return float64(n)
	})
}
