package server

import "github.com/prometheus/client_golang/prometheus"

// Metrics counts the connections of the listeners of a process. A nil one counts nothing.
type Metrics struct {
	registry prometheus.Registerer
	refusals *prometheus.CounterVec
	bodies   *prometheus.CounterVec // refused
}

// NewMetrics registers the metrics. The listeners of one process share them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{registry: r, refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_connections_refused_total", Help: "Connections closed at once because the listener, or the client's network or address, had too many.",
	}, []string{"listener"}), bodies: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_bodies_refused_total", Help: "Request bodies not read to the end because too many of the listener or the client were arriving.",
	}, []string{"listener"})}
	r.MustRegister(m.refusals, m.bodies)
	return m
}

func (m *Metrics) show(listener string, inUse func() int) {
	if m == nil {
		return
	}
	m.refusals.WithLabelValues(listener)
	m.bodies.WithLabelValues(listener)
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "waybill_connections", Help: "Open connections of the listener.",
		ConstLabels: prometheus.Labels{"listener": listener},
	}, func() float64 { return float64(inUse()) }))
}

func (m *Metrics) refused(listener string) {
	if m != nil {
		m.refusals.WithLabelValues(listener).Inc()
	}
}

func (m *Metrics) refusedBody(listener string) {
	if m != nil {
		m.bodies.WithLabelValues(listener).Inc()
	}
}
