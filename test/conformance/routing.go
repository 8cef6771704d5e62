package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geo"

	"waybill/domain"
	"waybill/ports"
)

// Ground is what the exam of ports.Routing is held on.
type Ground struct {
	Source domain.DistanceSource // that every distance has to name
	// Places are two and more on roads that every vehicle may take from each to
	// every other one.
	Places []domain.Coordinates
	// NoWay are impossible trips, with the end at fault, "" where neither is;
	// none where every trip is possible.
	NoWay map[string][]domain.Trip
}

// ExamineRouting examines an adapter of ports.Routing on a ground of its choice.
func ExamineRouting(t *testing.T, g Ground, open func(t *testing.T) ports.Routing) {
	for _, c := range []struct {
		name string
		run  func(r *routed)
	}{
		{"every trip has a length that is no shorter than the straight line", (*routed).lengths},
		{"where nobody goes there is nothing to measure", (*routed).nowhere},
		{"the same trip has the same length in both environments", (*routed).same},
		{"many at once get the lengths they would get alone", (*routed).concurrent},
		{"coordinates that are no numbers have no distance", (*routed).noNumbers},
		{"a trip that nobody can make has no distance and is no failure", (*routed).noWay},
		{"who has gone gets an error or the truth", (*routed).gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&routed{T: t, Routing: open(t), ground: g})
		})
	}
}

type routed struct {
	*testing.T
	ports.Routing
	ground Ground
}

// trips are all there are between two of the places.
func (r *routed) trips() (all []domain.Trip) {
	for _, vehicle := range domain.VehicleTypes() {
		for i, from := range r.ground.Places {
			for j, to := range r.ground.Places {
				if i != j {
					all = append(all, domain.Trip{Environment: domain.Live, VehicleType: vehicle, Pickup: from, Dropoff: to})
				}
			}
		}
	}
	return all
}

func (r *routed) measure(trip domain.Trip) domain.Distance {
	r.Helper()
	d, err := r.Distance(r.Context(), trip)
	if err != nil {
		r.Errorf("%+v: %v", trip, err)
	}
	return d
}

func (r *routed) lengths() {
	for _, trip := range r.trips() {
		d := r.measure(trip)
		straight := geo.DistanceHaversine(
			orb.Point{trip.Pickup.Longitude, trip.Pickup.Latitude}, orb.Point{trip.Dropoff.Longitude, trip.Dropoff.Latitude}) / 1000
		// Written so that NaN fails too.
		if !(d.Kilometres >= straight*0.99 && d.Kilometres < 50_000) || d.Source != r.ground.Source {
			r.Errorf("%+v: got %+v, want at least %.3f km, %s", trip, d, straight, r.ground.Source)
		}
	}
}

func (r *routed) nowhere() {
	for _, vehicle := range domain.VehicleTypes() {
		place := r.ground.Places[0]
		if d := r.measure(domain.Trip{VehicleType: vehicle, Pickup: place, Dropoff: place}); d != (domain.Distance{Source: r.ground.Source}) {
			r.Errorf("%s: got %+v from a place to itself", vehicle, d)
		}
	}
}

func (r *routed) same() {
	for _, trip := range r.trips() {
		live := r.measure(trip)
		trip.Environment = domain.Sandbox
		if again := r.measure(trip); again != live {
			r.Errorf("%+v: %+v on live and %+v in the sandbox", trip, live, again)
		}
	}
}

func (r *routed) concurrent() {
	trips := r.trips()
	alone := make([]domain.Distance, len(trips))
	for i, trip := range trips {
		alone[i] = r.measure(trip)
	}
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for step := range trips {
				i := (step + caller) % len(trips)
				if d := r.measure(trips[i]); d != alone[i] {
					r.Errorf("%+v: %+v among many and %+v alone", trips[i], d, alone[i])
				}
			}
		})
	}
	callers.Wait()
}

func (r *routed) noNumbers() {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, spoil := range map[string]func(*domain.Trip){
			"pickup": func(t *domain.Trip) { t.Pickup.Latitude = bad }, "dropoff": func(t *domain.Trip) { t.Dropoff.Longitude = bad },
		} {
			trip := r.trips()[0]
			spoil(&trip)
			if d, err := r.Distance(r.Context(), trip); err == nil || d != (domain.Distance{}) {
				r.Errorf("%v as %s: got %+v, %v, want an error alone", bad, name, d, err)
			}
		}
	}
}

func (r *routed) noWay() {
	for end, trips := range r.ground.NoWay {
		for _, trip := range trips {
			for _, vehicle := range domain.VehicleTypes() {
				trip.VehicleType = vehicle
				d, err := r.Distance(r.Context(), trip)
				if got, none := endOf(err); !none || got != end || d != (domain.Distance{}) {
					r.Errorf("%+v: got %+v, %v, want no way, %q at fault", trip, d, err, end)
				}
			}
		}
	}
}

// endOf is the end to which no way leads, and whether that is what the error says.
func endOf(err error) (end string, noWay bool) {
	var outside *ports.OutsideServiceAreaError
	if errors.As(err, &outside) {
		return outside.End, true
	}
	return "", errors.Is(err, ports.ErrNoRoute)
}

func (r *routed) gone() {
	for _, trip := range r.trips() {
		ctx, leave := context.WithCancel(r.Context())
		leave()
		d, err := r.Distance(ctx, trip)
		if _, none := endOf(err); none {
			r.Errorf("%+v: %v, though there is a way", trip, err)
		}
		if problem := halfAnswer(d, err, r.ground.Source); problem != nil {
			r.Errorf("%+v: %v", trip, problem)
		}
	}
}

func halfAnswer(d domain.Distance, err error, source domain.DistanceSource) error {
	switch {
	case err != nil && d != (domain.Distance{}):
		return fmt.Errorf("%+v came with the error %w", d, err)
	case err == nil && d.Source != source:
		return fmt.Errorf("got %+v, want %s", d, source)
	}
	return nil
}
