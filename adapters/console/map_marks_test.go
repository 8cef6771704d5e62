package console

import (
	"math"
	"strconv"
	"testing"
	"time"

	"waybill/domain"
	"waybill/test/sample"
)

// TestNoMarkOfTheMapHidesAnother has towns whose deliveries are many and lie at the edges of
// squares, where the middles of two squares are next to each other.
func TestNoMarkOfTheMapHidesAnother(t *testing.T) {
	t.Parallel()
	a := mapAsk{zoom: 7}
	a.x, a.y = project(domain.Coordinates{Latitude: 5.6, Longitude: -.2}, a.zoom)
	var open []domain.OpenDelivery
	book := func(x, y float64, many int) {
		for range many {
			open = append(open, domain.OpenDelivery{ID: sample.ID(domain.PrefixDelivery), Dropoff: unproject(x, y, a.zoom)})
		}
	}
	corner := func(at float64) float64 { return math.Ceil(at/cellSize) * cellSize }
	for i, side := range [][2]float64{{-1, -1}, {-1, 1}, {1, -1}, {1, 1}} {
		book(corner(a.x)+side[0], corner(a.y)+side[1], []int{400, 40, 4, 1}[i])
		book(corner(a.x)+2*cellSize+side[0]*cellSize/2, corner(a.y)+side[1], 1000)
	}
	marks, shown := a.marks(open, time.Time{})
	if len(marks) != 8 || shown != len(open) {
		t.Fatalf("%d marks with %d of %d deliveries", len(marks), shown, len(open))
	}
	for i := range open {
		open[i].Pickup = open[0].Dropoff
	}
	if spots := a.spots(open); len(spots) != 1 {
		t.Errorf("one pickup location has %d squares", len(spots))
	}
	number := func(text string) float64 {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for i, one := range marks {
		for _, other := range marks[:i] {
			apart := math.Hypot(number(one.X)-number(other.X), number(one.Y)-number(other.Y))
			if most := number(one.R) + number(other.R); apart < most-.2 { // they are rounded to tenths
				t.Errorf("marks of %d and %d deliveries are %.1f apart, and need %.1f", one.Count, other.Count, apart, most)
			}
		}
		if off := math.Hypot(number(one.X)-one.x, number(one.Y)-one.y); off > 2*number(one.R) {
			t.Errorf("a mark of %d deliveries is %.1f from them", one.Count, off)
		}
	}
}
