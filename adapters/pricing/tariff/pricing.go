package tariff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Pricing = (*Pricing)(nil)

// routingTimeout leaves half a second of the 2.5 that a price may take.
const routingTimeout = 2 * time.Second

// Pricing prices trips by a table.
type Pricing struct {
	table   Table
	routing ports.Routing
	area    ports.ServiceArea
}

// New creates a pricing of a valid table. Distances come from routing, and both ends of a trip
// must be in the area.
func New(table Table, routing ports.Routing, area ports.ServiceArea) (*Pricing, error) {
	if err := table.Valid(); err != nil {
		return nil, err
	}
	table.Vehicles = maps.Clone(table.Vehicles)
	return &Pricing{table: table, routing: routing, area: area}, nil
}

// Price returns the fee. It returns RequiresCustomQuote for a vehicle without prices and for a
// trip beyond the vehicle's range or too long to be measured. If no way leads to an end, the
// end counts as outside the service area. If no distance is available the error is
// QUOTE_UNAVAILABLE, whatever the cause.
func (p *Pricing) Price(ctx context.Context, trip domain.Trip) (domain.Quote, error) {
	if !p.area.Contains(trip.Pickup) {
		return domain.Quote{}, &ports.OutsideServiceAreaError{End: "pickup"}
	}
	if !p.area.Contains(trip.Dropoff) {
		return domain.Quote{}, &ports.OutsideServiceAreaError{End: "dropoff"}
	}
	ctx, cancel := context.WithTimeout(ctx, routingTimeout)
	defer cancel()
	distance, err := p.routing.Distance(ctx, trip)
	var tooLong *ports.TripTooLongError
	switch {
	case errors.As(err, &tooLong):
		return domain.Quote{Currency: p.table.Currency, Distance: tooLong.Distance, RequiresCustomQuote: true}, nil
	case err != nil:
		return domain.Quote{}, withoutDistance(err)
	}
	// Not as distance < 0: NaN must end here too.
	if !(distance.Kilometres >= 0) || math.IsInf(distance.Kilometres, 0) {
		return domain.Quote{}, domain.QuoteUnavailable(fmt.Errorf("routing measured %v km", distance.Kilometres))
	}

	quote := domain.Quote{Currency: p.table.Currency, Distance: distance, RequiresCustomQuote: true}
	rate, priced := p.table.Vehicles[trip.VehicleType]
	// Compared as floats first: a distance beyond an int64 has no whole metres.
	if !priced || distance.Kilometres > maxRange {
		return quote, nil
	}
	metres := int64(math.Round(distance.Kilometres * 1000))
	if metres > rate.RangeKilometres*1000 {
		return quote, nil
	}
	quote.RequiresCustomQuote = false
	quote.Fee = &domain.Money{Minor: rate.fee(metres, p.table.StepMinor), Currency: p.table.Currency}
	return quote, nil
}

// withoutDistance distinguishes an impossible trip from a failed measurement: only the second
// is worth a retry. If it is unknown which end is at fault it names the dropoff, which differs
// from trip to trip.
func withoutDistance(err error) error {
	var outside *ports.OutsideServiceAreaError
	switch {
	case errors.As(err, &outside):
		return outside
	case errors.Is(err, ports.ErrNoRoute):
		return &ports.OutsideServiceAreaError{End: "dropoff"}
	}
	return domain.QuoteUnavailable(err)
}
