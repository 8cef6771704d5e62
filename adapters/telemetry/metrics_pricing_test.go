package telemetry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"waybill/adapters/telemetry"
	"waybill/domain"
	"waybill/ports"
)

// fixed answers always the same.
type meteredFixed struct {
	quote domain.Quote
	err   error
}

func (f *meteredFixed) Price(context.Context, domain.Trip) (domain.Quote, error) {
	return f.quote, f.err
}

func TestEveryPriceIsCountedByItsResultAndPassedOn(t *testing.T) {
	t.Parallel()
	registry, behind := prometheus.NewRegistry(), &meteredFixed{}
	pricing := telemetry.NewMeteredPricing(behind, registry)
	for times, answer := range []meteredFixed{
		{quote: domain.Quote{Currency: "GHS", Fee: &domain.Money{Minor: 100, Currency: "GHS"}}},
		{quote: domain.Quote{Currency: "GHS", RequiresCustomQuote: true}},
		{err: &ports.OutsideServiceAreaError{End: "pickup"}},
		{err: domain.QuoteUnavailable(errors.New("down"))},
	} {
		*behind = answer
		for range times + 1 {
			quote, err := pricing.Price(t.Context(), domain.Trip{})
			if quote != answer.quote {
				t.Fatalf("quote: %v, want %v", quote, answer.quote)
			}
			if err != answer.err {
				t.Fatalf("err: %v, want %v", err, answer.err)
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{
		"priced": 1, "custom_quote": 2, "outside_service_area": 3, "unavailable": 4,
	}, counts(t, registry)); diff != "" {
		t.Fatalf("counts(t, registry) (-want +got):\n%s", diff)
	}
}

func TestEveryResultIsThereBeforeTheFirstPrice(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	telemetry.NewMeteredPricing(&meteredFixed{}, registry)
	if got := counts(t, registry); len(got) != 4 {
		t.Fatalf("counts(t, registry): %v, want 4 of them", got)
	}
}

// counts is the counter by its label.
func counts(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 {
		t.Fatalf("families: %v, want 1 of them", families)
	}
	if got := families[0].GetName(); got != "waybill_pricing_requests_total" {
		t.Fatalf("families[0].GetName(): %q, want waybill_pricing_requests_total", got)
	}
	found := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		found[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	return found
}
