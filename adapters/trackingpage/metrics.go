package trackingpage

import "github.com/prometheus/client_golang/prometheus"

// Outcomes of a request for a page.
const (
	resultFound   = "found"
	resultMissing = "missing"
	resultLimited = "limited"
	resultError   = "error"
)

// Metrics counts pages and streams. No label ever names a delivery.
type Metrics struct {
	pages   *prometheus.CounterVec
	streams prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		pages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_tracking_pages_total", Help: "Requests for tracking pages and their streams, by result.",
		}, []string{"result"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waybill_tracking_streams", Help: "Open tracking pages that receive changes.",
		}),
	}
	r.MustRegister(m.pages, m.streams)
	for _, result := range []string{resultFound, resultMissing, resultLimited, resultError} {
		m.pages.WithLabelValues(result) // so that a rate exists from the start
	}
	return m
}
