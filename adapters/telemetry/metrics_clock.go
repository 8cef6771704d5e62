package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RegisterClock shows the error of this machine's clock.
func RegisterClock(clock interface{ Skew() time.Duration }, r prometheus.Registerer) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "waybill_clock_skew_seconds",
		Help: "Seconds by which this machine's clock is ahead of the database's, which decides what is due and what is old.",
	}, func() float64 { return clock.Skew().Seconds() }))
}
