package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// CountTimeout limits the time of a scrape's queries to the database.
const CountTimeout = time.Second

// askedGauge is a gauge whose value is read at each scrape. The registry collects from all its
// collectors at once, so that they share one CountTimeout. It would call the functions of GaugeFunc
// one after the other, while it writes.
type askedGauge struct {
	desc  *prometheus.Desc
	value func(context.Context) float64
}

// registerAsked registers an askedGauge. The context of value ends with CountTimeout.
func registerAsked(r prometheus.Registerer, o prometheus.GaugeOpts, value func(context.Context) float64) {
	r.MustRegister(askedGauge{desc: prometheus.NewDesc(o.Name, o.Help, nil, o.ConstLabels), value: value})
}

// Describe sends the description of the gauge.
func (g askedGauge) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

// Collect reads the value and sends it.
func (g askedGauge) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), CountTimeout)
	defer cancel()
	to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(ctx))
}
