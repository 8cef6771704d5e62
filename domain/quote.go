package domain

import "time"

const quoteRetryAfter = 5 * time.Second

// DistanceSource says how a distance was measured.
type DistanceSource string

// The sources. StraightLine is used where no routing engine is configured, and where the engine
// finds a trip too long to measure, which gets no fee. It never replaces an engine that fails.
const (
	DistanceRoad         DistanceSource = "road"
	DistanceStraightLine DistanceSource = "straight_line"
)

// Trip is the trip to price. BusinessID names the customer that asks, so that failures of one
// customer and of many can be distinguished. It changes no price, and is empty where no customer
// asks.
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

// Quote is the price of a trip. It reserves nothing. Fee is nil exactly when RequiresCustomQuote is
// set: no price is ever made up.
type Quote struct {
	Currency            string
	Distance            Distance
	Fee                 *Money
	RequiresCustomQuote bool
}

// QuoteUnavailable returns the 503 for a price that is not available.
func QuoteUnavailable(cause error) *Error {
	return &Error{
		Kind: KindUnavailable, Code: CodeQuoteUnavailable,
		Message:    "No price for this trip can be had right now.",
		Again:      true,
		RetryAfter: quoteRetryAfter,
		Err:        cause,
	}
}

// OutsideServiceArea returns the 422 for a point that we do not serve.
func OutsideServiceArea(field string) FieldError {
	return FieldError{Field: field, Code: FieldOutOfRange,
		Message: "this point is outside the area we serve; check that latitude and longitude are not swapped"}
}
