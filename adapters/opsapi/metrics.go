package opsapi

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
)

// Metrics counts the requests of operators that the operations API refuses. No label names an
// operator.
type Metrics struct {
	refusals *prometheus.CounterVec
}

// refusedTooMany is the outcome for an address that failed too often.
const refusedTooMany = "too_many"

// refusalCodes lists the codes that have an outcome of their own. INVALID_OPERATOR_TOKEN has
// one for each reason.
var refusalCodes = map[string]string{
	domain.CodeOperatorTokenRevoked: "revoked", domain.CodeOperatorTokenExpired: "expired", domain.CodeOperatorKindRefused: "kind",
	domain.CodeRateLimitExceeded: refusedTooMany,
}

// NewMetrics registers the metrics of the operations API.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_operators_refused_total",
		Help: "Requests to the operations API that were refused for their operator token, by outcome: missing, malformed, unknown, revoked, " +
			"expired, kind (it does not include the call), or too_many (its address failed too often).",
	}, []string{"outcome"})}
	r.MustRegister(m.refusals)
	for _, outcome := range []string{"missing", "malformed", "unknown", "revoked", "expired", "kind", refusedTooMany} {
		m.refusals.WithLabelValues(outcome) // there from the start, so that the first one counts as an increase
	}
	return m
}

// refused counts an error of the identification of an operator. A storage failure does not
// count.
func (m *Metrics) refused(err error) {
	var e *domain.Error
	if m == nil || !errors.As(err, &e) {
		return
	}
	outcome := refusalCodes[e.Code]
	if e.Code == domain.CodeInvalidOperatorToken {
		outcome, _ = e.Details["reason"].(string)
	}
	if outcome != "" {
		m.refusals.WithLabelValues(outcome).Inc()
	}
}
