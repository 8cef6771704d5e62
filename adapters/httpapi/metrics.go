package httpapi

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

// Metrics counts what the API does. No label ever names a delivery, a key or a recipient.
type Metrics struct {
	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	errors      *prometheus.CounterVec
	idempotency *prometheus.CounterVec
	limited     *prometheus.CounterVec
}

// NewMetrics registers the metrics. The APIs of one process share them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_http_requests_total", Help: "Requests answered, by route, method and status.",
		}, []string{"route", "method", "code", "env"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "waybill_http_request_duration_seconds", Help: "Time in seconds from the request's headers to the end of the answer.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route", "method", "env"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_api_errors_total", Help: "Error answers by error code.",
		}, []string{"code"}),
		idempotency: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_idempotency_total", Help: "Requests with an Idempotency-Key by result: executed, replayed, in conflict, or refused " +
				"while the first one ran.",
		}, []string{"result"}),
		limited: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "waybill_rate_limited_total", Help: "Requests refused by a limit, by the limit's scope.",
		}, []string{"scope"}),
	}
	r.MustRegister(m.requests, m.durations, m.errors, m.idempotency, m.limited)
	return m
}

func (m *Metrics) served(route, method string, status int, e domain.Environment, took time.Duration) {
	method = knownMethod(method)
	m.requests.WithLabelValues(route, method, strconv.Itoa(status), string(e)).Inc()
	m.durations.WithLabelValues(route, method, string(e)).Observe(took.Seconds())
}

func (m *Metrics) failed(e *domain.Error) {
	m.errors.WithLabelValues(e.Code).Inc()
	switch e.Code {
	case domain.CodeRateLimitExceeded:
		scope, _ := e.Details["scope"].(string)
		m.limited.WithLabelValues(scope).Inc()
	case domain.CodeIdempotencyConflict:
		m.idempotency.WithLabelValues("conflict").Inc()
	case domain.CodeIdempotencyInProgress:
		m.idempotency.WithLabelValues("in_progress").Inc()
	}
}

func (m *Metrics) keyed(replayed bool) {
	result := "created"
	if replayed {
		result = "replayed"
	}
	m.idempotency.WithLabelValues(result).Inc()
}
