package metered_test

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"waybill/adapters/pricing/metered"
	"waybill/domain"
	"waybill/ports"
)

// fixed answers always the same.
type fixed struct {
	quote domain.Quote
	err   error
}

func (f *fixed) Price(context.Context, domain.Trip) (domain.Quote, error) { return f.quote, f.err }

func TestEveryPriceIsCountedByItsResultAndPassedOn(t *testing.T) {
	t.Parallel()
	registry, behind := prometheus.NewRegistry(), &fixed{}
	pricing := metered.New(behind, registry)
	for times, answer := range []fixed{
		{quote: domain.Quote{Currency: "GHS", Fee: &domain.Money{Minor: 100, Currency: "GHS"}}},
		{quote: domain.Quote{Currency: "GHS", RequiresCustomQuote: true}},
		{err: &ports.OutsideServiceAreaError{End: "pickup"}},
		{err: domain.QuoteUnavailable(errors.New("down"))},
	} {
		*behind = answer
		for range times + 1 {
			quote, err := pricing.Price(t.Context(), domain.Trip{})
			require.Equal(t, answer.quote, quote)
			require.Equal(t, answer.err, err)
		}
	}
	require.Equal(t, map[string]float64{
		"priced": 1, "custom_quote": 2, "outside_service_area": 3, "unavailable": 4,
	}, counts(t, registry))
}

func TestEveryResultIsThereBeforeTheFirstPrice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	metered.New(&fixed{}, registry)
	require.Len(t, counts(t, registry), 4)
}

// counts is the counter by its label.
func counts(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.Equal(t, "waybill_pricing_requests_total", families[0].GetName())
	found := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		found[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	return found
}
