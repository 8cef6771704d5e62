package ports

import (
	"context"
	"errors"
	"fmt"

	"waybill/domain"
)

// Pricing prices trips.
type Pricing interface {
	// Price responds within 2.5 seconds. For a point that is not served it returns an
	// *OutsideServiceAreaError. Every other failure is a QUOTE_UNAVAILABLE error of this trip only;
	// it says nothing about other trips. A fee is never made up.
	Price(ctx context.Context, trip domain.Trip) (domain.Quote, error)
}

// OutsideServiceAreaError names which end of a trip is not served: "pickup" or "dropoff".
type OutsideServiceAreaError struct{ End string }

func (e *OutsideServiceAreaError) Error() string {
	return "the " + e.End + " is outside the service area"
}

// ServiceArea reports where the company delivers.
type ServiceArea interface {
	Contains(c domain.Coordinates) bool
}

// ServiceOutline draws where the company delivers.
type ServiceOutline interface {
	// Outline returns the area as closed lines, also around holes, with few enough points to draw.
	// It is a picture and too rough for decisions.
	Outline() [][]domain.Coordinates
}

// ErrNoRoute means that the engine found no route.
var ErrNoRoute = errors.New("no route between the two points")

// TripTooLongError means that the engine refuses to measure a trip of this length. Distance is an
// estimate by the straight line, never one by road.
type TripTooLongError struct{ Distance domain.Distance }

func (e *TripTooLongError) Error() string {
	return fmt.Sprintf("the trip of some %.0f km is too long for the routing engine", e.Distance.Kilometres)
}

// Routing measures trips.
type Routing interface {
	// Distance returns the length of the trip and its source. It returns ErrNoRoute where there is
	// no route, an *OutsideServiceAreaError where the unreachable end is known, and a
	// *TripTooLongError where the engine measures no such trips. With any other error the length is
	// not available. It ends by itself, even where ctx has no deadline.
	Distance(ctx context.Context, trip domain.Trip) (domain.Distance, error)
}
