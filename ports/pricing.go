package ports

import (
	"context"
	"errors"
	"fmt"

	"waybill/domain"
)

// Pricing tells what a trip costs.
type Pricing interface {
	// Price answers within 2.5 seconds. A point it does not serve is an
	// *OutsideServiceAreaError; every other failure is a QUOTE_UNAVAILABLE
	// error, of this trip alone: other trips fare by themselves. A fee is never
	// made up.
	Price(ctx context.Context, trip domain.Trip) (domain.Quote, error)
}

// OutsideServiceAreaError names which end of a trip is not served: "pickup" or "dropoff".
type OutsideServiceAreaError struct{ End string }

func (e *OutsideServiceAreaError) Error() string {
	return "the " + e.End + " is outside the service area"
}

// ServiceArea tells where the company delivers.
type ServiceArea interface {
	Contains(c domain.Coordinates) bool
}

// ServiceOutline draws where the company delivers.
type ServiceOutline interface {
	// Outline is the area as closed lines, around holes too, with few enough
	// points to be drawn: a picture of it and no measure.
	Outline() [][]domain.Coordinates
}

// ErrNoRoute means the engine answered that no way leads there.
var ErrNoRoute = errors.New("no route between the two points")

// TripTooLongError means the engine answered that it measures no trip of this
// length. Distance is an estimate by the straight line, never one by road.
type TripTooLongError struct{ Distance domain.Distance }

func (e *TripTooLongError) Error() string {
	return fmt.Sprintf("the trip of some %.0f km is too long for the routing engine", e.Distance.Kilometres)
}

// Routing measures trips.
type Routing interface {
	// Distance is the length of the trip and where it is from. ErrNoRoute means
	// that no way leads there, and an *OutsideServiceAreaError the same where it is
	// known which end no way leads to; a *TripTooLongError that the engine measures
	// no such trips. Any other error is a measure that could not be had; it ends by
	// itself, also where ctx has no deadline.
	Distance(ctx context.Context, trip domain.Trip) (domain.Distance, error)
}
