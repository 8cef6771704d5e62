package routing_test

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"waybill/adapters/routing"
	"waybill/domain"
)

func measure(t rapid.TB, from, to domain.Coordinates) float64 {
	t.Helper()
	d, err := routing.NewStraightLine().Distance(context.Background(), domain.Trip{Pickup: from, Dropoff: to})
	if err != nil {
		t.Fatal(err)
	}
	if d.Source != domain.DistanceStraightLine {
		t.Fatalf("source %q, want straight_line", d.Source)
	}
	if !(d.Kilometres >= 0 && d.Kilometres <= 26050) { // half around the earth, and the detour
		t.Fatalf("%v to %v: %v km", from, to, d.Kilometres)
	}
	return d.Kilometres
}

func TestKnownDistancesAreTheGreatCircleTimesOnePointThree(t *testing.T) {
	t.Parallel()
	accra := domain.Coordinates{Latitude: 5.5560, Longitude: -0.1969}
	for name, c := range map[string]struct {
		from, to domain.Coordinates
		want     float64
	}{
		"nowhere":                {accra, accra, 0},
		"one degree of meridian": {domain.Coordinates{}, domain.Coordinates{Latitude: 1}, 111.319 * 1.3},
		"one degree of equator":  {domain.Coordinates{}, domain.Coordinates{Longitude: 1}, 111.319 * 1.3},
		"Accra to Kumasi":        {accra, domain.Coordinates{Latitude: 6.6885, Longitude: -1.6244}, 202.1 * 1.3},
		"London to New York": {domain.Coordinates{Latitude: 51.5074, Longitude: -0.1278},
			domain.Coordinates{Latitude: 40.7128, Longitude: -74.0060}, 5576.4 * 1.3},
		"across the date line": {domain.Coordinates{Longitude: 179.5}, domain.Coordinates{Longitude: -179.5}, 111.319 * 1.3},
		"half around":          {domain.Coordinates{Latitude: 90}, domain.Coordinates{Latitude: -90}, math.Pi * 6378.137 * 1.3},
	} {
		if got := measure(t, c.from, c.to); math.Abs(got-c.want) > 0.002*c.want+0.006 {
			t.Errorf("%s: got %v km, want about %.2f", name, got, c.want)
		}
	}
}

func TestEveryDistanceIsFiniteSymmetricAndHasTwoDecimals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) domain.Coordinates {
			return domain.Coordinates{
				Latitude:  rapid.Float64Range(-90, 90).Draw(t, name+" latitude"),
				Longitude: rapid.Float64Range(-180, 180).Draw(t, name+" longitude"),
			}
		}
		a, b := draw("from"), draw("to")
		km := measure(t, a, b)
		if back := measure(t, b, a); math.Abs(back-km) > 0.011 {
			t.Fatalf("%v km there, %v km back", km, back)
		}
		if math.Round(km*100)/100 != km {
			t.Fatalf("%v has more than two decimals", km)
		}
	})
}

func TestOppositeEndsOfTheEarthHaveADistance(t *testing.T) {
	t.Parallel()
	for lat := -90.0; lat <= 90; lat += 0.37 {
		for lon := -180.0; lon <= 0; lon += 7.3 {
			measure(t, domain.Coordinates{Latitude: lat, Longitude: lon}, domain.Coordinates{Latitude: -lat, Longitude: lon + 180})
		}
	}
}

func TestCoordinatesThatAreNoNumbersAreAnError(t *testing.T) {
	t.Parallel()
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		d, err := routing.NewStraightLine().Distance(context.Background(), domain.Trip{Pickup: domain.Coordinates{Latitude: bad}})
		if err == nil {
			t.Errorf("%v: got %v, want an error", bad, d)
		}
	}
}
