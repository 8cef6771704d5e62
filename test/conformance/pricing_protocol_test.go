package conformance_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waybill/adapters/geo"
	"waybill/adapters/pricing/httppricing"
	"waybill/adapters/pricing/pricingserver"
	"waybill/adapters/pricing/tariff"
	"waybill/adapters/routing"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/conformance"
)

// pricingFunc is a port made of one function.
type pricingFunc func(domain.Trip) (domain.Quote, error)

func (f pricingFunc) Price(_ context.Context, t domain.Trip) (domain.Quote, error) { return f(t) }

// overHTTP puts the server and the client between a pricing and its caller.
func overHTTP(t *testing.T, p ports.Pricing) ports.Pricing {
	t.Helper()
	s := httptest.NewServer(pricingserver.New(pricingserver.Options{Pricing: p, Currency: "GHS", Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(s.Close)
	c, err := httppricing.New(httppricing.Options{URL: s.URL, Currency: "GHS"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestPricingConformance(t *testing.T) {
	t.Parallel()
	market := conformance.Accra()
	conformance.ExaminePricing(t, market, func(t *testing.T) ports.Pricing { return overHTTP(t, &conformance.Plain{Market: market}) })
}

func anywhere() *rapid.Generator[domain.Coordinates] {
	return rapid.Custom(func(t *rapid.T) domain.Coordinates {
		// A little more than the default area, so that every outcome turns up.
		return domain.Coordinates{
			Latitude:  rapid.Float64Range(4.3, 11.5).Draw(t, "latitude"),
			Longitude: rapid.Float64Range(-3.5, 1.4).Draw(t, "longitude"),
		}
	})
}

func TestEveryTripHasTheSamePriceOverTheWire(t *testing.T) {
	t.Parallel()
	direct, err := tariff.New(tariff.Default(), routing.NewStraightLine(), geo.DefaultArea())
	if err != nil {
		t.Fatal(err)
	}
	remote := overHTTP(t, direct)
	outcomes := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		trip := domain.Trip{
			Environment: rapid.SampledFrom([]domain.Environment{domain.Live, domain.Sandbox}).Draw(t, "environment"),
			VehicleType: rapid.SampledFrom(domain.VehicleTypes()).Draw(t, "vehicle"),
			Pickup:      anywhere().Draw(t, "pickup"),
		}
		trip.Dropoff = anywhere().Draw(t, "dropoff")
		if rapid.Bool().Draw(t, "near") {
			trip.Dropoff.Latitude = trip.Pickup.Latitude + rapid.Float64Range(-0.1, 0.1).Draw(t, "north")
			trip.Dropoff.Longitude = trip.Pickup.Longitude + rapid.Float64Range(-0.1, 0.1).Draw(t, "east")
		}
		want, wantErr := direct.Price(context.Background(), trip)
		got, gotErr := remote.Price(context.Background(), trip)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		var wantOutside, gotOutside *ports.OutsideServiceAreaError
		switch {
		case errors.As(wantErr, &wantOutside):
			if !errors.As(gotErr, &gotOutside) || *gotOutside != *wantOutside {
				t.Fatalf("got %v, want %v", gotErr, wantErr)
			}
			outcomes[wantOutside.End]++
		case wantErr != nil || gotErr != nil:
			t.Fatalf("got %v, want %v", gotErr, wantErr)
		case want.RequiresCustomQuote:
			outcomes["custom"]++
		default:
			outcomes["fee"]++
		}
	})
	if len(outcomes) != 4 {
		t.Errorf("only %v turned up, want all four outcomes", outcomes)
	}
}

// Quotes no tariff would make, but another pricing may.
func TestEveryQuoteSurvivesTheWire(t *testing.T) {
	t.Parallel()
	var next domain.Quote
	remote := overHTTP(t, pricingFunc(func(domain.Trip) (domain.Quote, error) { return next, nil }))
	rapid.Check(t, func(t *rapid.T) {
		next = domain.Quote{Currency: "GHS", Distance: domain.Distance{
			Kilometres: rapid.Float64Range(0, 1e12).Draw(t, "km"),
			Source:     rapid.SampledFrom([]domain.DistanceSource{domain.DistanceRoad, domain.DistanceStraightLine}).Draw(t, "source"),
		}}
		if next.RequiresCustomQuote = rapid.Bool().Draw(t, "custom"); !next.RequiresCustomQuote {
			next.Fee = &domain.Money{Minor: rapid.Int64Range(0, 999_999_999_999_999).Draw(t, "fee"), Currency: "GHS"}
		}
		got, err := remote.Price(context.Background(), domain.Trip{Environment: domain.Live, VehicleType: domain.Car})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(next, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAFailureBehindTheServerIsAFailureOfTheClient(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]pricingFunc{
		"error": func(domain.Trip) (domain.Quote, error) { return domain.Quote{}, domain.QuoteUnavailable(nil) },
		"lie":   func(domain.Trip) (domain.Quote, error) { return domain.Quote{Currency: "GHS"}, nil },
	} {
		got, err := overHTTP(t, p).Price(t.Context(), domain.Trip{Environment: domain.Live, VehicleType: domain.Car})
		if !domain.HasCode(err, domain.CodeQuoteUnavailable) || got != (domain.Quote{}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}
