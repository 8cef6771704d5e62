package telemetry

import "github.com/prometheus/client_golang/prometheus"

// RegisterLog shows how many lines of the log were dropped.
func RegisterLog(dropped func() uint64, r prometheus.Registerer) {
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "waybill_log_lines_dropped_total", Help: "Log lines dropped because the reader of the log is slow, stands still or has ended.",
	}, func() float64 { return float64(dropped()) }))
}
