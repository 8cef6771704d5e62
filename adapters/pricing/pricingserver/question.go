package pricingserver

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"waybill/domain"
)

// question has pointers where a missing member must not look like a zero.
type question struct {
	Environment string `json:"environment"`
	VehicleType string `json:"vehicle_type"`
	Currency    string `json:"currency"`
	Pickup      point  `json:"pickup"`
	Dropoff     point  `json:"dropoff"`
}

type point struct {
	Latitude  *float64 `json:"latitude"`
	Longitude *float64 `json:"longitude"`
}

func (h *handler) readTrip(body []byte) (domain.Trip, error) {
	var q question
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil {
		return domain.Trip{}, err
	}
	environment, ok := domain.ParseEnvironment(q.Environment)
	if !ok {
		return domain.Trip{}, fmt.Errorf("environment is %q; it is live or sandbox", q.Environment)
	}
	vehicle := domain.VehicleType(q.VehicleType)
	if !slices.Contains(domain.VehicleTypes(), vehicle) {
		return domain.Trip{}, fmt.Errorf("vehicle_type is %q; it is one of %v", q.VehicleType, domain.VehicleTypes())
	}
	if q.Currency != h.currency {
		return domain.Trip{}, fmt.Errorf("currency is %q; prices are in %s", q.Currency, h.currency)
	}
	pickup, err := q.Pickup.read("pickup")
	if err != nil {
		return domain.Trip{}, err
	}
	dropoff, err := q.Dropoff.read("dropoff")
	if err != nil {
		return domain.Trip{}, err
	}
	return domain.Trip{Environment: environment, VehicleType: vehicle, Pickup: pickup, Dropoff: dropoff}, nil
}

func (p point) read(name string) (domain.Coordinates, error) {
	if p.Latitude == nil || !domain.MaxLatitude.Holds(*p.Latitude) {
		return domain.Coordinates{}, fmt.Errorf("%s.latitude must be a number from %s", name, domain.MaxLatitude)
	}
	if p.Longitude == nil || !domain.MaxLongitude.Holds(*p.Longitude) {
		return domain.Coordinates{}, fmt.Errorf("%s.longitude must be a number from %s", name, domain.MaxLongitude)
	}
	return domain.Coordinates{Latitude: *p.Latitude, Longitude: *p.Longitude}, nil
}
