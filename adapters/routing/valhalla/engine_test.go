package valhalla_test

import (
	"errors"
	"math"
	"testing"

	"waybill/adapters/routing/valhalla"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/backend"
	"waybill/test/conformance"
)

func TestLongTheRealEngine(t *testing.T) {
	t.Parallel()
	s := backend.ValhallaForTest(t)
	t.Run("passes the exam", func(t *testing.T) { passesTheExam(t, s) })
	t.Run("finds a trip of 4900 km too long", func(t *testing.T) { findsATripTooLong(t, s) })
	t.Run("has a way for every vehicle", func(t *testing.T) { hasAWayForEveryVehicle(t, s) })
	t.Run("answers a ping, and its end is a failure", func(t *testing.T) { answersAPingAndEnds(t, s) })
}

func passesTheExam(t *testing.T, s *backend.Valhalla) {
	conformance.ExamineRouting(t, conformance.Ground{
		Source: domain.DistanceRoad,
		Places: []domain.Coordinates{backend.PlaceA, backend.PlaceB, backend.PlaceC, backend.PlaceD, backend.PlaceE},
		NoWay: map[string][]domain.Trip{
			"":        {{Pickup: backend.PlaceA, Dropoff: backend.PlaceF}, {Pickup: backend.PlaceG, Dropoff: backend.PlaceB}},
			"pickup":  {{Pickup: backend.PlaceAtSea, Dropoff: backend.PlaceA}, {Pickup: backend.PlaceAtSea, Dropoff: backend.PlaceAtSea}},
			"dropoff": {{Pickup: backend.PlaceA, Dropoff: backend.PlaceAtSea}},
		},
	}, func(t *testing.T) ports.Routing { return ask(t, valhalla.Options{URL: s.URL}) })
}

func findsATripTooLong(t *testing.T, s *backend.Valhalla) {
	client := ask(t, valhalla.Options{URL: s.URL})
	for _, vehicle := range domain.VehicleTypes() {
		_, err := client.Distance(t.Context(), domain.Trip{VehicleType: vehicle, Pickup: backend.PlaceA, Dropoff: domain.Coordinates{Latitude: 50}})
		var tooLong *ports.TripTooLongError
		if !errors.As(err, &tooLong) || tooLong.Distance.Kilometres < 4900 {
			t.Errorf("%s: got %v", vehicle, err)
		}
	}
}

// The lengths are those of the map in test/backend.
func hasAWayForEveryVehicle(t *testing.T, s *backend.Valhalla) {
	type lengths map[domain.VehicleType]float64
	all := func(km float64) lengths {
		return lengths{domain.Bike: km, domain.Car: km, domain.Van: km, domain.Truck: km}
	}
	for _, c := range []struct {
		name     string
		bike     string
		from, to domain.Coordinates
		want     lengths
	}{
		{"a road of everyone", "", backend.PlaceA, backend.PlaceB, all(2)},
		{"a road closed to trucks", "", backend.PlaceB, backend.PlaceC, lengths{domain.Bike: 1, domain.Car: 1, domain.Van: 1, domain.Truck: 3}},
		{"one way", "", backend.PlaceC, backend.PlaceD, all(1)},
		{"against the one way", "", backend.PlaceD, backend.PlaceC, all(2)},
		{"round the path of bicycles", "", backend.PlaceD, backend.PlaceE, all(4)},
		{"round it on a motorcycle", "motorcycle", backend.PlaceD, backend.PlaceE, all(4)},
		{"the path of bicycles", "bicycle", backend.PlaceD, backend.PlaceE, lengths{domain.Bike: 1, domain.Car: 4, domain.Van: 4, domain.Truck: 4}},
		{"all of it", "", backend.PlaceA, backend.PlaceE, lengths{domain.Bike: 8, domain.Car: 8, domain.Van: 8, domain.Truck: 10}},
		{"all of it by bicycle", "bicycle", backend.PlaceA, backend.PlaceE, lengths{domain.Bike: 5, domain.Car: 8, domain.Van: 8, domain.Truck: 10}},
		{"back", "", backend.PlaceE, backend.PlaceA, lengths{domain.Bike: 9, domain.Car: 9, domain.Van: 9, domain.Truck: 11}},
		{"an island", "", backend.PlaceF, backend.PlaceG, all(1)},
	} {
		client := ask(t, valhalla.Options{URL: s.URL, BikeCosting: c.bike})
		for vehicle, want := range c.want {
			got, err := client.Distance(t.Context(), domain.Trip{VehicleType: vehicle, Pickup: c.from, Dropoff: c.to})
			if err != nil || got.Source != domain.DistanceRoad || math.Abs(got.Kilometres-want) > want/100 {
				t.Errorf("%s, %s: got %+v, %v, want %v km", c.name, vehicle, got, err, want)
			}
		}
	}
}

func answersAPingAndEnds(t *testing.T, s *backend.Valhalla) {
	client := ask(t, valhalla.Options{URL: s.URL})
	if err := client.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if err := client.Ping(t.Context()); err == nil {
		t.Error("the ping of an engine that was killed succeeds")
	}
	requireFault(t, client)
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Distance(t.Context(), trip); err != nil || got.Kilometres != 2 {
		t.Errorf("after a restart: %+v, %v", got, err)
	}
}
