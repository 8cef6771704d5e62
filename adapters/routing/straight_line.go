package routing

import (
	"context"
	"fmt"
	"math"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geo"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Routing = StraightLine{}

// detour is how much longer the road is than the straight line.
const detour = 1.3

// StraightLine measures trips in straight lines.
type StraightLine struct{}

// NewStraightLine returns a StraightLine.
func NewStraightLine() StraightLine { return StraightLine{} }

// Distance returns 1.3 times the great circle in kilometres, rounded to two decimals. It fails
// only for coordinates that are not finite numbers.
func (StraightLine) Distance(_ context.Context, trip domain.Trip) (domain.Distance, error) {
	// geo.Distance is faster and flat: it is off by a percent over 1,000 km.
	metres := geo.DistanceHaversine(point(trip.Pickup), point(trip.Dropoff))
	if math.IsNaN(metres) {
		if !finite(trip.Pickup) || !finite(trip.Dropoff) {
			return domain.Distance{}, fmt.Errorf("no distance between %v and %v", trip.Pickup, trip.Dropoff)
		}
		// Rounding pushes the haversine of opposite ends of the earth past 1.
		metres = math.Pi * orb.EarthRadius
	}
	return domain.Distance{
		Kilometres: math.Round(metres*detour/10) / 100,
		Source:     domain.DistanceStraightLine,
	}, nil
}

func finite(c domain.Coordinates) bool {
	sum := math.Abs(c.Latitude) + math.Abs(c.Longitude)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func point(c domain.Coordinates) orb.Point { return orb.Point{c.Longitude, c.Latitude} }
