package httpapi

import (
	"github.com/prometheus/client_golang/prometheus"

	"waybill/application/monitoring"
	"waybill/domain"
)

// RegisterRecorder registers the metric of requests that the recorder of an environment
// dropped.
func RegisterRecorder(e domain.Environment, recorder *monitoring.Recorder, r prometheus.Registerer) {
	for reason, of := range map[string]func(monitoring.DroppedRecords) uint64{
		"full":    func(d monitoring.DroppedRecords) uint64 { return d.Full },
		"bounded": func(d monitoring.DroppedRecords) uint64 { return d.Bounded },
		"sampled": func(d monitoring.DroppedRecords) uint64 { return d.Sampled },
		"lost":    func(d monitoring.DroppedRecords) uint64 { return d.Lost },
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "waybill_request_log_dropped_total", ConstLabels: prometheus.Labels{"env": string(e), "reason": reason},
			Help: "Requests without a record of their own in the request log: the buffer was full, one application failed too often within a " +
				"second, " +
				"one of many that another stands for, or lost because the database did not take it.",
		}, func() float64 { return float64(of(recorder.Dropped())) }))
	}
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "waybill_usage_uncounted_total", ConstLabels: prometheus.Labels{"env": string(e)},
		Help: "Requests missing from usage figures because the database accepted no writes for too long.",
	}, func() float64 { return float64(recorder.Dropped().Uncounted) }))
}
