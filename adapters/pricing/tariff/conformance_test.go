package tariff_test

import (
	"context"
	"math"
	"testing"

	"waybill/adapters/pricing/tariff"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/conformance"
)

// ghana is a service area: everything west of the meridian at its eastern border.
type ghana struct{}

func (ghana) Contains(c domain.Coordinates) bool { return c.Longitude < 1.2 }

func TestPricingConformance(t *testing.T) {
	t.Parallel()
	market := conformance.Accra()
	// A routing engine that fails for the trips without a price.
	roads := routingFunc(func(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
		km := 111 * math.Hypot(trip.Pickup.Latitude-trip.Dropoff.Latitude, trip.Pickup.Longitude-trip.Dropoff.Longitude)
		for i, unpriced := range market.Unpriced {
			if trip.Pickup != unpriced.Pickup || trip.Dropoff != unpriced.Dropoff {
				continue
			}
			if i > 0 {
				<-ctx.Done()
			}
			return domain.Distance{}, context.DeadlineExceeded
		}
		return domain.Distance{Kilometres: km, Source: domain.DistanceRoad}, nil
	})
	conformance.ExaminePricing(t, market, func(t *testing.T) ports.Pricing {
		p, err := tariff.New(tariff.Default(), roads, ghana{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
