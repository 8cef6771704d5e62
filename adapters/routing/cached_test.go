package routing_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	waybillrouting "waybill/adapters/routing"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/conformance"
)

// engine counts its requests and responds with the result of f.
type engine struct {
	asked atomic.Int64
	f     func(ctx context.Context, trip domain.Trip) (domain.Distance, error)
}

func (e *engine) Distance(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
	e.asked.Add(1)
	return e.f(ctx, trip)
}

// flat returns an engine of a world without hills or rivers.
func flat() *engine {
	return &engine{f: func(_ context.Context, trip domain.Trip) (domain.Distance, error) {
		km := 150 * math.Hypot(trip.Pickup.Latitude-trip.Dropoff.Latitude, trip.Pickup.Longitude-trip.Dropoff.Longitude)
		if math.IsNaN(km) || math.IsInf(km, 0) {
			return domain.Distance{}, errors.New("no number")
		}
		return domain.Distance{Kilometres: km, Source: domain.DistanceRoad}, nil
	}}
}

func wrap(t testing.TB, e *engine) (*waybillrouting.Cached, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	c, err := waybillrouting.NewCached(e, time.Now, registry)
	if err != nil {
		t.Fatal(err)
	}
	return c, registry
}

func trip(latitude float64) domain.Trip {
	return domain.Trip{Environment: domain.Live, VehicleType: domain.Car,
		Pickup: domain.Coordinates{Latitude: latitude, Longitude: -0.2}, Dropoff: domain.Coordinates{Latitude: 5.6, Longitude: -0.19}}
}

func ask(t testing.TB, c *waybillrouting.Cached, trip domain.Trip) domain.Distance {
	t.Helper()
	d, err := c.Distance(t.Context(), trip)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func wantAsked(t testing.TB, e *engine, want int64, what string) {
	t.Helper()
	if got := e.asked.Load(); got != want {
		t.Fatalf("%s: the engine was asked %d times, want %d", what, got, want)
	}
}

func TestCachedRoutingConformance(t *testing.T) {
	t.Parallel()
	conformance.ExamineRouting(t, conformance.Ground{
		Source: domain.DistanceRoad,
		Places: []domain.Coordinates{{Latitude: 5.5560, Longitude: -0.1969}, {Latitude: 5.67, Longitude: -0.01},
			{Latitude: 6.6885, Longitude: -1.6244}},
	}, func(t *testing.T) ports.Routing { c, _ := wrap(t, flat()); return c })
}

func TestATripIsMeasuredOnceAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := flat()
		c, registry := wrap(t, e)
		first := ask(t, c, trip(5.56))
		time.Sleep(time.Hour - 1)
		if again := ask(t, c, trip(5.56)); again != first {
			t.Errorf("%v, then %v", first, again)
		}
		wantAsked(t, e, 1, "within the hour")
		time.Sleep(time.Nanosecond)
		ask(t, c, trip(5.56))
		wantAsked(t, e, 2, "after it")
		if got := counts(t, registry); got["hit"] != 1 || got["miss"] != 2 || got["shared"] != 0 {
			t.Errorf("counted %v", got)
		}
	})
}

func TestThatThereIsNoWayIsKnownForAMinute(t *testing.T) {
	t.Parallel()
	for _, none := range []error{ports.ErrNoRoute, &ports.OutsideServiceAreaError{End: "dropoff"}, &ports.TripTooLongError{}} {
		synctest.Test(t, func(t *testing.T) {
			e := &engine{f: func(context.Context, domain.Trip) (domain.Distance, error) { return domain.Distance{}, none }}
			c, _ := wrap(t, e)
			look := func() {
				if _, err := c.Distance(t.Context(), trip(5.56)); !errors.Is(err, none) {
					t.Errorf("%v, want %v", err, none)
				}
			}
			look()
			time.Sleep(time.Minute - 1)
			look()
			wantAsked(t, e, 1, "within the minute")
			time.Sleep(time.Nanosecond)
			look()
			wantAsked(t, e, 2, "after it")
		})
	}
}

func TestTripsThatDifferAreMeasuredApart(t *testing.T) {
	t.Parallel()
	e := flat()
	c, _ := wrap(t, e)
	ask(t, c, trip(5.56))
	sandbox := trip(5.56)
	sandbox.Environment = domain.Sandbox
	ask(t, c, sandbox)
	ask(t, c, trip(5.560004)) // half a metre away
	wantAsked(t, e, 1, "the same trip")
	back := trip(5.56)
	back.Pickup, back.Dropoff = back.Dropoff, back.Pickup
	bike := trip(5.56)
	bike.VehicleType = domain.Bike
	for _, other := range []domain.Trip{trip(5.56001), back, bike} {
		ask(t, c, other)
	}
	wantAsked(t, e, 4, "three others")
}

// The first caller's exact points must not decide the next one's price.
func TestTheEngineIsAskedForTheRoundedTrip(t *testing.T) {
	t.Parallel()
	var seen domain.Trip
	e := &engine{f: func(_ context.Context, trip domain.Trip) (domain.Distance, error) {
		seen = trip
		return domain.Distance{}, nil
	}}
	c, _ := wrap(t, e)
	ask(t, c, trip(5.5600049))
	if want := (domain.Trip{Environment: domain.Live, VehicleType: domain.Car, Pickup: trip(5.56).Pickup,
		Dropoff: trip(5.56).Dropoff}); seen != want {
		t.Errorf("asked for %+v, want %+v", seen, want)
	}
}

func TestThatThereIsNoWayIsRememberedAndAFailureIsNot(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for _, c := range []struct {
		err       error
		questions int64
	}{
		{ports.ErrNoRoute, 1}, {&ports.OutsideServiceAreaError{End: "pickup"}, 1}, {&ports.TripTooLongError{}, 1}, {down, 3},
	} {
		e := &engine{f: func(context.Context, domain.Trip) (domain.Distance, error) {
			return domain.Distance{}, fmt.Errorf("engine: %w", c.err)
		}}
		routing, _ := wrap(t, e)
		for range 3 {
			if d, err := routing.Distance(t.Context(), trip(5.56)); !errors.Is(err, c.err) || d != (domain.Distance{}) {
				t.Errorf("got %+v, %v, want %v", d, err, c.err)
			}
		}
		wantAsked(t, e, c.questions, c.err.Error())
	}
}

func TestCallersOfOneTripWaitForOneAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const callers = 50
		answer := make(chan struct{})
		e := flat()
		measure := e.f
		e.f = func(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
			select {
			case <-answer:
				return measure(ctx, trip)
			case <-ctx.Done():
				return domain.Distance{}, ctx.Err()
			}
		}
		c, registry := wrap(t, e)
		first, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := c.Distance(first, trip(5.56))
			left <- err
		}()
		synctest.Wait()
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if d, err := c.Distance(t.Context(), trip(5.56)); err != nil || d.Kilometres == 0 {
					t.Errorf("got %+v, %v", d, err)
				}
			})
		}
		synctest.Wait()
		// The first caller leaves. The others still get their result.
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		close(answer)
		wg.Wait()
		wantAsked(t, e, 1, "all at once")
		if got := counts(t, registry); got["shared"] != callers || got["hit"] != 0 {
			t.Errorf("counted %v", got)
		}
	})
}

// The sandbox's result may come from its breaker, and another business may have to wait for its
// own connections.
func TestCallersOfOtherEnvironmentsAndBusinessesWaitForNoneButTheirOwnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := trip(5.56)
		held.Environment, held.BusinessID = domain.Sandbox, "biz_1"
		release := make(chan struct{})
		e := flat()
		measure := e.f
		e.f = func(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
			if trip.Environment == held.Environment && trip.BusinessID == held.BusinessID {
				<-release
				return domain.Distance{}, errors.New("held up")
			}
			return measure(ctx, trip)
		}
		c, _ := wrap(t, e)
		go func() { _, _ = c.Distance(t.Context(), held) }()
		synctest.Wait()
		other := held
		other.BusinessID = "biz_2"
		ask(t, c, other)
		ask(t, c, trip(5.56))
		wantAsked(t, e, 2, "one is held up, one was asked, and live knows it by then")
		close(release)
	})
}

// NaN is no key: it would never be found again, and never be removed.
func TestATripThatIsNoNumberIsNotRemembered(t *testing.T) {
	t.Parallel()
	e := &engine{f: func(context.Context, domain.Trip) (domain.Distance, error) {
		return domain.Distance{}, ports.ErrNoRoute
	}}
	c, registry := wrap(t, e)
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		if _, err := c.Distance(t.Context(), trip(bad)); !errors.Is(err, ports.ErrNoRoute) {
			t.Error(err)
		}
	}
	if got := counts(t, registry); e.asked.Load() != 2 || got["miss"] != 0 {
		t.Errorf("asked %d times, counted %v", e.asked.Load(), got)
	}
}

func TestWhatIsKnownIsBounded(t *testing.T) {
	t.Parallel()
	e := flat()
	c, _ := wrap(t, e)
	const known = 1 << 16
	for i := range known + 1 {
		ask(t, c, trip(float64(i)/1e4))
	}
	ask(t, c, trip(1/1e4)) // the second of them
	wantAsked(t, e, known+1, "still known")
	ask(t, c, trip(0))
	wantAsked(t, e, known+2, "the first had to go")
}

// counts returns the counter by its label.
func counts(t testing.TB, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "waybill_routing_cache_total" {
		t.Fatal(families, err)
	}
	found := map[string]float64{}
	for _, metric := range families[0].GetMetric() {
		found[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	return found
}
