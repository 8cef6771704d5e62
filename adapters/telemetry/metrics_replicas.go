package telemetry

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
	"waybill/ports"
)

// RegisterReplicas shows the replicas of a database, and where lists were read. Without replicas it
// shows nothing.
func RegisterReplicas(store ports.StorageState, r prometheus.Registerer) {
	lists := func(server string, count func() int64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "waybill_database_lists_total", Help: "Lists and searches by the server of the database that they were read from.",
			ConstLabels: prometheus.Labels{"server": server},
		}, func() float64 { return float64(count()) }))
	}
	all, _ := store.Replicas()
	for i, one := range all {
		now := func() domain.ReplicaState {
			all, _ := store.Replicas()
			return all[i]
		}
		gauge := func(name, help string, value func() float64) {
			r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: name, Help: help, ConstLabels: prometheus.Labels{"replica": one.Name},
			}, value))
		}
		gauge("waybill_database_replica_lag_seconds", "By how many seconds a replica of the database was behind when it was last looked at.",
			func() float64 { return now().Lag.Seconds() })
		gauge("waybill_database_replica_behind_bytes", "Bytes of the log that a replica of the database had yet to replay then.",
			func() float64 { return float64(now().Behind) })
		lists(one.Name, func() int64 { return now().Lists })
	}
	if len(all) > 0 {
		lists("primary", func() int64 { _, others := store.Replicas(); return others })
	}
}

// ReplicasServe returns an error that names replicas from which no lists are read, or nil.
func ReplicasServe(store ports.StorageState) error {
	var out []error
	all, _ := store.Replicas()
	for _, one := range all {
		if one.LeftOut != "" {
			out = append(out, fmt.Errorf("the replica %s is left out: %s", one.Name, one.LeftOut))
		}
	}
	return errors.Join(out...)
}
