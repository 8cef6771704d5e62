package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// CountTimeout bounds what a scrape may ask the database.
const CountTimeout = time.Second

// askedGauge is a gauge whose value is asked for with each scrape. The registry collects from
// all its collectors at once, so that they have one CountTimeout together. It would call the
// functions of GaugeFunc one after the other, while it writes.
type askedGauge struct {
	desc  *prometheus.Desc
	value func(context.Context) float64
}

// registerAsked adds such a gauge. The context of value ends with CountTimeout.
func registerAsked(r prometheus.Registerer, o prometheus.GaugeOpts, value func(context.Context) float64) {
	r.MustRegister(askedGauge{desc: prometheus.NewDesc(o.Name, o.Help, nil, o.ConstLabels), value: value})
}

// Describe names the gauge.
func (g askedGauge) Describe(to chan<- *prometheus.Desc) { to <- g.desc }

// Collect asks for the value.
func (g askedGauge) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), CountTimeout)
	defer cancel()
	to <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(ctx))
}
