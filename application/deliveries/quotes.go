package deliveries

import (
	"context"
	"errors"

	"waybill/domain"
	"waybill/ports"
)

// Quotes prices trips.
type Quotes struct {
	storage ports.Storage
	pricing ports.Pricing
	area    ports.ServiceArea
}

// NewQuotes returns the use cases of quotes.
func NewQuotes(s ports.Storage, p ports.Pricing, a ports.ServiceArea) *Quotes {
	return &Quotes{storage: s, pricing: p, area: a}
}

// QuoteQuestion describes the trip to price. Exactly one of Pickup and PickupLocationID is set.
type QuoteQuestion struct {
	Pickup           *domain.Coordinates
	PickupLocationID *string // unparsed
	Dropoff          domain.Coordinates
	VehicleType      domain.VehicleType
}

// Quote prices a trip. It refuses with PICKUP_SHAPE_CONFLICT, PICKUP_LOCATION_*, VALIDATION_ERROR
// for a point outside the service area, or QUOTE_UNAVAILABLE.
func (q *Quotes) Quote(ctx context.Context, t domain.Tenant, ask QuoteQuestion) (domain.Quote, error) {
	if err := ExactlyOnePickup(ask.Pickup != nil, ask.PickupLocationID != nil); err != nil {
		return domain.Quote{}, err
	}
	trip := Trip{
		Trip:         domain.Trip{BusinessID: t.BusinessID, Environment: t.Environment, VehicleType: ask.VehicleType, Dropoff: ask.Dropoff},
		PickupField:  "pickup",
		DropoffField: "dropoff",
	}
	if ask.Pickup != nil {
		trip.Pickup = *ask.Pickup
	} else {
		place, err := q.PickupAt(ctx, t, *ask.PickupLocationID)
		if err != nil {
			return domain.Quote{}, err
		}
		trip.Pickup, trip.PickupField = place.Coordinates, "pickup_location_id"
	}
	if err := q.Serves(trip, true, true); err != nil {
		return domain.Quote{}, err
	}
	return q.Price(ctx, trip)
}

// Trip is a trip with the request fields that its ends came from.
type Trip struct {
	domain.Trip
	PickupField  string
	DropoffField string
}

// Serves returns a VALIDATION_ERROR that names every known end outside the service area.
func (q *Quotes) Serves(trip Trip, pickupKnown, dropoffKnown bool) error {
	var outside []domain.FieldError
	if pickupKnown && !q.area.Contains(trip.Pickup) {
		outside = append(outside, domain.OutsideServiceArea(trip.PickupField))
	}
	if dropoffKnown && !q.area.Contains(trip.Dropoff) {
		outside = append(outside, domain.OutsideServiceArea(trip.DropoffField))
	}
	if len(outside) > 0 {
		return domain.Invalid(outside...)
	}
	return nil
}

// Price asks the pricing service. It never makes up a price.
func (q *Quotes) Price(ctx context.Context, trip Trip) (domain.Quote, error) {
	quote, err := q.pricing.Price(ctx, trip.Trip)
	var outside *ports.OutsideServiceAreaError
	switch {
	case errors.As(err, &outside) && outside.End == "pickup":
		return domain.Quote{}, domain.Invalid(domain.OutsideServiceArea(trip.PickupField))
	case errors.As(err, &outside):
		return domain.Quote{}, domain.Invalid(domain.OutsideServiceArea(trip.DropoffField))
	}
	return quote, err
}

// PickupAt returns a usable saved pickup location by the ID that a caller sent.
func (q *Quotes) PickupAt(ctx context.Context, t domain.Tenant, sent string) (domain.Pickup, error) {
	id, err := domain.ParseID(domain.PrefixPickupLocation, sent)
	if err != nil {
		return domain.Pickup{}, domain.PickupLocationNotFound()
	}
	location, err := q.storage.Read().PickupLocations.Get(ctx, t, id)
	if errors.Is(err, domain.ErrNotFound) {
		return domain.Pickup{}, domain.PickupLocationNotFound()
	}
	if err != nil {
		return domain.Pickup{}, err
	}
	return location.Pickup()
}

// ExactlyOnePickup checks that a request names its pickup in one way.
func ExactlyOnePickup(inline, byID bool) error {
	message := "Send one of pickup and pickup_location_id; the request has neither."
	switch {
	case inline && byID:
		message = "Send one of pickup and pickup_location_id; the request has both."
	case inline || byID:
		return nil
	}
	return &domain.Error{Kind: domain.KindInvalid, Code: domain.CodePickupShapeConflict, Message: message}
}
