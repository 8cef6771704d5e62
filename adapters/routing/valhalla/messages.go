package valhalla

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

// farthestRoad is how many metres a point may be from a road.
const farthestRoad = 2000

// The error codes of the engine for a trip without a way, or with one that it does not measure.
const (
	codeTooLong     = 154 // the ends are farther apart than its max_distance
	codeUnconnected = 170 // the ends are in parts of the map that nothing joins
	codeOffRoad     = 171 // an end is too far from every road for this vehicle
	codeNoPath      = 442 // the search found none
)

// errTooLong reports codeTooLong.
var errTooLong = errors.New("the trip is longer than the engine measures")

// errOffRoad reports codeOffRoad, which does not name the end.
var errOffRoad = fmt.Errorf("an end is not near a road: %w", ports.ErrNoRoute)

type question struct {
	Locations      []location `json:"locations"`
	Costing        string     `json:"costing"`
	Units          string     `json:"units"`
	DirectionsType string     `json:"directions_type"`
}

type location struct {
	Latitude     float64 `json:"lat"`
	Longitude    float64 `json:"lon"`
	SearchCutoff int     `json:"search_cutoff"`
}

func newQuestion(trip domain.Trip, costing string) question {
	return question{
		Locations: []location{newLocation(trip.Pickup), newLocation(trip.Dropoff)},
		Costing:   costing, Units: "kilometers", DirectionsType: "none",
	}
}

func newLocation(c domain.Coordinates) location {
	return location{Latitude: c.Latitude, Longitude: c.Longitude, SearchCutoff: farthestRoad}
}

// readDistance accepts a response only if its length is valid.
func readDistance(body []byte) (domain.Distance, error) {
	var answer struct {
		Trip struct {
			Status  *int   `json:"status"`
			Units   string `json:"units"`
			Summary struct {
				Length jsontext.Value `json:"length"`
			} `json:"summary"`
		} `json:"trip"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return domain.Distance{}, fmt.Errorf("the answer cannot be read: %w", err)
	}
	switch trip := answer.Trip; {
	case trip.Status == nil:
		return domain.Distance{}, errors.New("the answer has no status")
	case *trip.Status != 0:
		return domain.Distance{}, fmt.Errorf("the answer has the status %d", *trip.Status)
	case trip.Units != "kilometers":
		return domain.Distance{}, fmt.Errorf("the answer is in %.32q, want kilometers", trip.Units)
	case trip.Summary.Length.Kind() != jsontext.KindNumber:
		return domain.Distance{}, errors.New("the answer has no number as length")
	}
	length := answer.Trip.Summary.Length
	km, err := strconv.ParseFloat(string(length), 64)
	if err != nil || math.IsInf(km, 0) || km < 0 {
		return domain.Distance{}, fmt.Errorf("the length is %.32s", length)
	}
	// Whole metres, if the number has any; Abs makes 0 of -0.
	if metres := math.Round(km * 1000); !math.IsInf(metres, 0) {
		km = metres / 1000
	}
	return domain.Distance{Kilometres: math.Abs(km), Source: domain.DistanceRoad}, nil
}

// readRefusal reads a 400: there is no way, or none that is measured, or a failure.
func readRefusal(body []byte) error {
	var refusal struct {
		Code int    `json:"error_code"`
		Text string `json:"error"`
	}
	if err := json.Unmarshal(body, &refusal); err != nil {
		return fmt.Errorf("the engine answered 400: %w", err)
	}
	switch refusal.Code {
	case codeTooLong:
		return errTooLong
	case codeOffRoad:
		return errOffRoad
	case codeUnconnected, codeNoPath:
		return ports.ErrNoRoute
	}
	return fmt.Errorf("the engine refused the question with error %d, %.100q", refusal.Code, refusal.Text)
}

// readStatus requires what any Valhalla has in its status.
func readStatus(body []byte) error {
	var status struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(body, &status); err != nil {
		return fmt.Errorf("the status cannot be read: %w", err)
	}
	if status.Version == "" {
		return errors.New("what answers there is no Valhalla: its status has no version")
	}
	return nil
}
