package domain

import "time"

const quoteRetryAfter = 5 * time.Second

// DistanceSource says how a distance was found.
type DistanceSource string

// The sources. StraightLine stands where no routing engine is configured, and
// where the engine finds a trip too long to measure: of that no fee is made. An
// engine that fails is never replaced by it.
const (
	DistanceRoad         DistanceSource = "road"
	DistanceStraightLine DistanceSource = "straight_line"
)

// Trip is the subject of a price. BusinessID names the customer that asks, so
// that the failures of one customer are told from those of many; it changes no
// price, and is empty where no customer asks.
type Trip struct {
	BusinessID  ID
	Environment Environment
	VehicleType VehicleType
	Pickup      Coordinates
	Dropoff     Coordinates
}

// Distance is the length of a trip.
type Distance struct {
	Kilometres float64
	Source     DistanceSource
}

// Quote is the price of a trip. It reserves nothing. Fee is nil exactly when
// RequiresCustomQuote is set: no price is ever invented.
type Quote struct {
	Currency            string
	Distance            Distance
	Fee                 *Money
	RequiresCustomQuote bool
}

// QuoteUnavailable is the 503 for a price that could not be had.
func QuoteUnavailable(cause error) *Error {
	return &Error{
		Kind: KindUnavailable, Code: CodeQuoteUnavailable,
		Message:    "No price for this trip can be had right now.",
		Again:      true,
		RetryAfter: quoteRetryAfter,
		Err:        cause,
	}
}

// OutsideServiceArea is the 422 for a point we do not serve.
func OutsideServiceArea(field string) FieldError {
	return FieldError{Field: field, Code: FieldOutOfRange,
		Message: "this point is outside the area we serve; check that latitude and longitude are not swapped"}
}
