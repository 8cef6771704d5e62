package telemetry

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Pricing = (*MeteredPricing)(nil)

// The values of the result label.
const (
	priced             = "priced"
	customQuote        = "custom_quote"
	outside            = "outside_service_area"
	meteredUnavailable = "unavailable"
)

// MeteredPricing counts requests for prices and passes them on.
type MeteredPricing struct {
	pricing  ports.Pricing
	requests *prometheus.CounterVec
}

// NewMeteredPricing registers the counter and wraps the real pricing.
func NewMeteredPricing(p ports.Pricing, r prometheus.Registerer) *MeteredPricing {
	m := &MeteredPricing{pricing: p, requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_pricing_requests_total", Help: "Prices requested, by result.",
	}, []string{"result"})}
	r.MustRegister(m.requests)
	for _, result := range []string{priced, customQuote, outside, meteredUnavailable} {
		m.requests.WithLabelValues(result) // present from the start, so that a first failure is an increase
	}
	return m
}

// Price requests a price from the wrapped pricing.
func (m *MeteredPricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	quote, err := m.pricing.Price(ctx, trip)
	m.requests.WithLabelValues(meteredResultOf(quote, err)).Inc()
	return quote, err
}

func meteredResultOf(q domain.Quote, err error) string {
	var beyond *ports.OutsideServiceAreaError
	switch {
	case errors.As(err, &beyond):
		return outside
	case err != nil:
		return meteredUnavailable
	case q.RequiresCustomQuote:
		return customQuote
	}
	return priced
}
