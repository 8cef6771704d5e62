package httppricing

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waybill/domain"
	"waybill/ports"
)

type question struct {
	Environment string `json:"environment"`
	VehicleType string `json:"vehicle_type"`
	Currency    string `json:"currency"`
	Pickup      point  `json:"pickup"`
	Dropoff     point  `json:"dropoff"`
}

type point struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

func newQuestion(trip domain.Trip, currency string) question {
	return question{
		Environment: string(trip.Environment),
		VehicleType: string(trip.VehicleType),
		Currency:    currency,
		Pickup:      point(trip.Pickup),
		Dropoff:     point(trip.Dropoff),
	}
}

type answer struct {
	Currency            string         `json:"currency"`
	Fee                 jsontext.Value `json:"fee"`
	DistanceKM          jsontext.Value `json:"distance_km"`
	DistanceSource      string         `json:"distance_source"`
	RequiresCustomQuote bool           `json:"requires_custom_quote"`
}

// readQuote accepts a response only if every part of it is valid.
func readQuote(body []byte, currency string) (domain.Quote, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return domain.Quote{}, err
	}
	if a.Currency != currency {
		return domain.Quote{}, fmt.Errorf("the answer is in %q, want %q", a.Currency, currency)
	}
	distance, err := readDistance(a)
	if err != nil {
		return domain.Quote{}, err
	}
	quote := domain.Quote{Currency: currency, Distance: distance, RequiresCustomQuote: a.RequiresCustomQuote}
	hasFee := a.Fee != nil && a.Fee.Kind() != jsontext.KindNull
	switch {
	case hasFee && a.RequiresCustomQuote:
		return domain.Quote{}, errors.New("the answer has a fee and requires a custom quote")
	case !hasFee && !a.RequiresCustomQuote:
		return domain.Quote{}, errors.New("the answer has no fee")
	case hasFee:
		if a.Fee.Kind() != jsontext.KindNumber {
			return domain.Quote{}, errors.New("the fee is not a number")
		}
		minor, err := minorUnits(string(a.Fee))
		if err != nil {
			return domain.Quote{}, fmt.Errorf("the fee %.32s: %w", a.Fee, err)
		}
		quote.Fee = &domain.Money{Minor: minor, Currency: currency}
	}
	return quote, nil
}

func readDistance(a answer) (domain.Distance, error) {
	if a.DistanceKM.Kind() != jsontext.KindNumber {
		return domain.Distance{}, errors.New("distance_km is not a number")
	}
	km, err := strconv.ParseFloat(string(a.DistanceKM), 64)
	if err != nil || math.IsInf(km, 0) || km < 0 {
		return domain.Distance{}, fmt.Errorf("distance_km is %.32s", a.DistanceKM)
	}
	source := domain.DistanceSource(a.DistanceSource)
	if source != domain.DistanceRoad && source != domain.DistanceStraightLine {
		return domain.Distance{}, fmt.Errorf("distance_source is %.32q", a.DistanceSource)
	}
	return domain.Distance{Kilometres: math.Abs(km), Source: source}, nil // -0 is 0
}

// readRefusal reads a 422: one end is outside the service area. Anything else is an error.
func readRefusal(body []byte) error {
	var refusal struct {
		Code  string `json:"code"`
		Field string `json:"field"`
	}
	if err := json.Unmarshal(body, &refusal); err != nil {
		return fmt.Errorf("the service answered 422: %w", err)
	}
	if refusal.Code != "OUTSIDE_SERVICE_AREA" || refusal.Field != "pickup" && refusal.Field != "dropoff" {
		return fmt.Errorf("the service answered 422 with code %.64q and field %.64q", refusal.Code, refusal.Field)
	}
	return &ports.OutsideServiceAreaError{End: refusal.Field}
}
