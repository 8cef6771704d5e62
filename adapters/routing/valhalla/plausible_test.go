package valhalla_test

import (
	"fmt"
	"strings"
	"testing"

	"waybill/adapters/routing/valhalla"
	"waybill/domain"
)

func TestALengthThatTheTripCannotHaveIsAFailure(t *testing.T) {
	t.Parallel()
	// Accra to Kumasi: 200.1 km as the crow flies.
	far := domain.Trip{VehicleType: domain.Car, Pickup: domain.Coordinates{Latitude: 5.5560, Longitude: -0.1969},
		Dropoff: domain.Coordinates{Latitude: 6.6885, Longitude: -1.6244}}
	near := domain.Trip{VehicleType: domain.Car, Pickup: far.Pickup, Dropoff: far.Pickup}
	for _, c := range []struct {
		trip  domain.Trip
		km    float64
		sound bool
	}{
		{far, 0, false}, {far, 2, false}, {far, 190, false}, {far, 198, true}, {far, 248, true}, {far, 5000, true}, {far, 5000.1, false},
		{far, 1e9, false},
		{near, 0, true}, {near, 50, true}, {near, 50.1, false},
	} {
		body := strings.Replace(good, `"time":120.5,"length":2.0`, fmt.Sprintf(`"length":%g`, c.km), 1)
		d, err := ask(t, valhalla.Options{URL: serve(t, answers(200, body))}).Distance(t.Context(), c.trip)
		if (err == nil) != c.sound || c.sound && d.Kilometres != c.km {
			t.Errorf("%g km: %+v, %v", c.km, d, err)
		}
	}
}
