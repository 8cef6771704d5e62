package telemetry

import (
	"database/sql"
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

// Pooled is a database that keeps connections open, with a pool for each purpose.
type Pooled interface {
	PoolStats() map[string]func() sql.DBStats
}

// RegisterPools shows the load of the connections to the database.
func RegisterPools[D any](open []D, r prometheus.Registerer) {
	pools := map[string]func() sql.DBStats{}
	for _, store := range open {
		if p, ok := any(store).(Pooled); ok {
			maps.Copy(pools, p.PoolStats())
		}
	}
	for pool, stats := range pools {
		gauge := func(name, help string, value func(sql.DBStats) float64) {
			r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: name, Help: help, ConstLabels: prometheus.Labels{"pool": pool},
			}, func() float64 { return value(stats()) }))
		}
		gauge("waybill_database_connections_open", "Open connections to the database.",
			func(s sql.DBStats) float64 { return float64(s.OpenConnections) })
		gauge("waybill_database_connections_in_use", "Database connections in use.",
			func(s sql.DBStats) float64 { return float64(s.InUse) })
		gauge("waybill_database_connections_max", "Upper limit of open database connections.",
			func(s sql.DBStats) float64 { return float64(s.MaxOpenConnections) })
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "waybill_database_wait_seconds_total", Help: "Time in seconds that requests waited for a connection.",
			ConstLabels: prometheus.Labels{"pool": pool},
		}, func() float64 { return stats().WaitDuration.Seconds() }))
	}
}
