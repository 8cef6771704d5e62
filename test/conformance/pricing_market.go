package conformance

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Market is what the exam of ports.Pricing is held on.
type Market struct {
	Currency string
	Priced   []domain.Trip            // two and more that have a fee, each another one
	Custom   []domain.Trip            // that a person has to price
	Outside  map[string][]domain.Trip // that have an end, "pickup" or "dropoff", that is not served
	Unpriced []domain.Trip            // of which no price can be had, or none in time
}

// Accra is a market of a few trips.
func Accra() Market {
	osu, legon := domain.Coordinates{Latitude: 5.5571, Longitude: -0.1818}, domain.Coordinates{Latitude: 5.6508, Longitude: -0.1869}
	tema, lagos := domain.Coordinates{Latitude: 5.6698, Longitude: -0.0166}, domain.Coordinates{Latitude: 6.4541, Longitude: 3.3947}
	trip := func(v domain.VehicleType, from, to domain.Coordinates) domain.Trip {
		return domain.Trip{Environment: domain.Live, VehicleType: v, Pickup: from, Dropoff: to}
	}
	return Market{
		Currency: "GHS",
		Priced: []domain.Trip{
			trip(domain.Bike, osu, legon), trip(domain.Bike, osu, tema), trip(domain.Car, osu, legon), trip(domain.Van, legon, tema),
		},
		Custom: []domain.Trip{trip(domain.Truck, osu, legon)},
		Outside: map[string][]domain.Trip{
			"pickup": {trip(domain.Bike, lagos, osu)}, "dropoff": {trip(domain.Bike, osu, lagos)},
		},
		Unpriced: []domain.Trip{trip(domain.Bike, tema, legon), trip(domain.Car, tema, osu)},
	}
}

var _ ports.Pricing = (*Plain)(nil)

// Plain prices the trips of a market and no other: what stands behind an adapter
// that asks another one.
type Plain struct{ Market Market }

// Price gives each priced trip a fee of its own. The second unpriced trip, the fourth and
// so on fail after two seconds, the others at once.
func (p *Plain) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	quote := domain.Quote{Currency: p.Market.Currency, Distance: domain.Distance{Kilometres: 5.3, Source: domain.DistanceRoad}}
	if i := index(p.Market.Priced, trip); i >= 0 {
		quote.Fee = &domain.Money{Minor: int64(i) * 1050, Currency: quote.Currency}
		return quote, nil
	}
	if index(p.Market.Custom, trip) >= 0 {
		quote.RequiresCustomQuote = true
		return quote, nil
	}
	for end, trips := range p.Market.Outside {
		if index(trips, trip) >= 0 {
			return domain.Quote{}, &ports.OutsideServiceAreaError{End: end}
		}
	}
	if index(p.Market.Unpriced, trip)%2 == 1 {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		<-ctx.Done()
	}
	return domain.Quote{}, domain.QuoteUnavailable(errors.New("the market has no such trip"))
}

// index compares what a price depends on.
func index(trips []domain.Trip, trip domain.Trip) int {
	for i, t := range trips {
		if t.VehicleType == trip.VehicleType && t.Pickup == trip.Pickup && t.Dropoff == trip.Dropoff {
			return i
		}
	}
	return -1
}
