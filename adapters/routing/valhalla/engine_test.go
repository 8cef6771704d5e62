package valhalla_test

import (
	"errors"
	"math"
	"testing"

	"waybill/adapters/routing/valhalla"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/conformance/routing"
	engine "waybill/test/servers/valhalla"
)

func TestLongTheRealEngine(t *testing.T) {
	t.Parallel()
	s := engine.ForTest(t)
	t.Run("passes the exam", func(t *testing.T) { passesTheExam(t, s) })
	t.Run("finds a trip of 4900 km too long", func(t *testing.T) { findsATripTooLong(t, s) })
	t.Run("has a way for every vehicle", func(t *testing.T) { hasAWayForEveryVehicle(t, s) })
	t.Run("answers a ping, and its end is a failure", func(t *testing.T) { answersAPingAndEnds(t, s) })
}

func passesTheExam(t *testing.T, s *engine.Server) {
	routing.Examine(t, routing.Ground{
		Source: domain.DistanceRoad,
		Places: []domain.Coordinates{engine.A, engine.B, engine.C, engine.D, engine.E},
		NoWay: map[string][]domain.Trip{
			"":        {{Pickup: engine.A, Dropoff: engine.F}, {Pickup: engine.G, Dropoff: engine.B}},
			"pickup":  {{Pickup: engine.Sea, Dropoff: engine.A}, {Pickup: engine.Sea, Dropoff: engine.Sea}},
			"dropoff": {{Pickup: engine.A, Dropoff: engine.Sea}},
		},
	}, func(t *testing.T) ports.Routing { return ask(t, valhalla.Options{URL: s.URL}) })
}

func findsATripTooLong(t *testing.T, s *engine.Server) {
	client := ask(t, valhalla.Options{URL: s.URL})
	for _, vehicle := range domain.VehicleTypes() {
		_, err := client.Distance(t.Context(), domain.Trip{VehicleType: vehicle, Pickup: engine.A, Dropoff: domain.Coordinates{Latitude: 50}})
		var tooLong *ports.TripTooLongError
		if !errors.As(err, &tooLong) || tooLong.Distance.Kilometres < 4900 {
			t.Errorf("%s: got %v", vehicle, err)
		}
	}
}

// The lengths are those of the map in test/servers/valhalla.
func hasAWayForEveryVehicle(t *testing.T, s *engine.Server) {
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
		{"a road of everyone", "", engine.A, engine.B, all(2)},
		{"a road closed to trucks", "", engine.B, engine.C, lengths{domain.Bike: 1, domain.Car: 1, domain.Van: 1, domain.Truck: 3}},
		{"one way", "", engine.C, engine.D, all(1)},
		{"against the one way", "", engine.D, engine.C, all(2)},
		{"round the path of bicycles", "", engine.D, engine.E, all(4)},
		{"round it on a motorcycle", "motorcycle", engine.D, engine.E, all(4)},
		{"the path of bicycles", "bicycle", engine.D, engine.E, lengths{domain.Bike: 1, domain.Car: 4, domain.Van: 4, domain.Truck: 4}},
		{"all of it", "", engine.A, engine.E, lengths{domain.Bike: 8, domain.Car: 8, domain.Van: 8, domain.Truck: 10}},
		{"all of it by bicycle", "bicycle", engine.A, engine.E, lengths{domain.Bike: 5, domain.Car: 8, domain.Van: 8, domain.Truck: 10}},
		{"back", "", engine.E, engine.A, lengths{domain.Bike: 9, domain.Car: 9, domain.Van: 9, domain.Truck: 11}},
		{"an island", "", engine.F, engine.G, all(1)},
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

func answersAPingAndEnds(t *testing.T, s *engine.Server) {
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
