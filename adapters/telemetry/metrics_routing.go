package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Routing = (*MeteredRouting)(nil)

// The values of the result label.
const (
	measured    = "measured"
	noRoute     = "no_route"
	tooLong     = "too_long"
	unavailable = "unavailable"
)

// MeteredRouting counts and times requests for distances and passes them on.
type MeteredRouting struct {
	routing  ports.Routing
	requests *prometheus.CounterVec
	duration prometheus.Histogram
}

// NewMeteredRouting registers the metrics and wraps the real routing.
func NewMeteredRouting(behind ports.Routing, r prometheus.Registerer) *MeteredRouting {
	m := &MeteredRouting{
		routing: behind,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_routing_requests_total", Help: "Distances requested from the routing engine, by result.",
		}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "waybill_routing_duration_seconds", Help: "Time in seconds that the routing engine took for a distance.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2},
		}),
	}
	r.MustRegister(m.requests, m.duration)
	for _, result := range []string{measured, noRoute, tooLong, unavailable} {
		m.requests.WithLabelValues(result) // present from the start, so that a first failure is an increase
	}
	return m
}

// Distance requests a distance from the wrapped routing.
func (m *MeteredRouting) Distance(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
	began := time.Now()
	distance, err := m.routing.Distance(ctx, trip)
	m.duration.Observe(time.Since(began).Seconds())
	m.requests.WithLabelValues(resultOf(err)).Inc()
	return distance, err
}

func resultOf(err error) string {
	var outside *ports.OutsideServiceAreaError
	var beyond *ports.TripTooLongError
	switch {
	case errors.As(err, &beyond):
		return tooLong
	case errors.Is(err, ports.ErrNoRoute), errors.As(err, &outside):
		return noRoute
	case err != nil:
		return unavailable
	}
	return measured
}
