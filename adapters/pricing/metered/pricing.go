package metered

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Pricing = (*Pricing)(nil)

// The results that are told apart.
const (
	priced      = "priced"
	customQuote = "custom_quote"
	outside     = "outside_service_area"
	unavailable = "unavailable"
)

// Pricing counts and passes on.
type Pricing struct {
	pricing  ports.Pricing
	requests *prometheus.CounterVec
}

// New registers the counter and wraps the pricing that does the work.
func New(p ports.Pricing, r prometheus.Registerer) *Pricing {
	m := &Pricing{pricing: p, requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_pricing_requests_total", Help: "Prices requested, by result.",
	}, []string{"result"})}
	r.MustRegister(m.requests)
	for _, result := range []string{priced, customQuote, outside, unavailable} {
		m.requests.WithLabelValues(result) // there from the start, so that a first failure is a rise
	}
	return m
}

// Price asks the pricing behind it.
func (m *Pricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	quote, err := m.pricing.Price(ctx, trip)
	m.requests.WithLabelValues(resultOf(quote, err)).Inc()
	return quote, err
}

func resultOf(q domain.Quote, err error) string {
	var beyond *ports.OutsideServiceAreaError
	switch {
	case errors.As(err, &beyond):
		return outside
	case err != nil:
		return unavailable
	case q.RequiresCustomQuote:
		return customQuote
	}
	return priced
}
