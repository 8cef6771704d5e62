package valhalla

import (
	"fmt"
	"math"

	"waybill/domain"
)

// Limits of a plausible length. No way is shorter than the line, but its ends are the nearest
// roads. None is very much longer: across a lagoon without a bridge it is some twenty times the
// line. 5,000 km are more than a fleet drives.
const (
	earthRadius = 6371.0088 // km, the mean one
	// flattening is how much shorter a line can be than on a ball, because the earth is not
	// one.
	flattening = 0.994
	snapped    = 2 * farthestRoad / 1000.0 // km
	mostLines  = 50
	mostBeside = 50 // km
	mostOfAll  = 5000
	halfTurn   = 180
)

// plausible refuses a length that the trip cannot have. It comes from an engine, or a proxy
// before it, that answers another request, and would become a price.
func plausible(trip domain.Trip, km float64) error {
	line := greatCircle(trip.Pickup, trip.Dropoff)
	if least := line*flattening - snapped; km < least {
		return fmt.Errorf("the length is %.3f km, shorter than the straight line of %.3f km", km, line)
	}
	if most := min(mostLines*line+mostBeside, mostOfAll); km > most {
		return fmt.Errorf("the length is %.3f km, for a straight line of %.3f km", km, line)
	}
	return nil
}

// detour is how much longer a road is than the line, as in routing.StraightLine.
const detour = 1.3

// estimate returns a distance for a trip that the engine finds too long.
func estimate(trip domain.Trip) domain.Distance {
	const hundredths = 100
	km := math.Round(greatCircle(trip.Pickup, trip.Dropoff)*detour*hundredths) / hundredths
	return domain.Distance{Kilometres: km, Source: domain.DistanceStraightLine}
}

func greatCircle(a, b domain.Coordinates) float64 {
	radians := func(degrees float64) float64 { return degrees * math.Pi / halfTurn }
	square := func(x float64) float64 { return x * x }
	h := square(math.Sin(radians(b.Latitude-a.Latitude)/2)) +
		math.Cos(radians(a.Latitude))*math.Cos(radians(b.Latitude))*square(math.Sin(radians(b.Longitude-a.Longitude)/2))
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, h)))
}
