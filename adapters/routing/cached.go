package routing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Routing = (*Cached)(nil)

const (
	lifetime = time.Hour
	// noWayFor is how long "no way" is cached: an engine that is still loading its map says so
	// of every trip.
	noWayFor  = time.Minute
	cacheSize = 1 << 16
	// grid is how many points a degree has: 1.1 m are between two.
	grid = 1e5
)

// The results that the metric distinguishes.
const (
	hit    = "hit"    // cached
	shared = "shared" // waited for another caller's request
	miss   = "miss"   // requested
)

// Cached caches the distances of another routing.
type Cached struct {
	behind ports.Routing
	now    func() time.Time
	known  *lru.Cache[domain.Trip, answer]
	calls  singleflight.Group
	looks  *prometheus.CounterVec
}

// answer is a distance, or the error instead of it.
type answer struct {
	distance domain.Distance
	err      error
	until    time.Time
}

// NewCached registers the counter and wraps the routing that measures.
func NewCached(behind ports.Routing, now func() time.Time, r prometheus.Registerer) (*Cached, error) {
	known, err := lru.New[domain.Trip, answer](cacheSize)
	if err != nil {
		return nil, fmt.Errorf("measure a distance: %w", err)
	}
	c := &Cached{behind: behind, now: now, known: known, looks: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "waybill_routing_cache_total", Help: "Distances looked up, by whether the cache had them.",
	}, []string{"result"})}
	if err := r.Register(c.looks); err != nil {
		return nil, fmt.Errorf("measure a distance: %w", err)
	}
	for _, result := range []string{hit, shared, miss} {
		c.looks.WithLabelValues(result)
	}
	return c, nil
}

// Distance returns a distance measured within the last hour, or asks the routing behind.
func (c *Cached) Distance(ctx context.Context, trip domain.Trip) (domain.Distance, error) {
	trip.Pickup, trip.Dropoff = rounded(trip.Pickup), rounded(trip.Dropoff)
	if !isFinite(trip.Pickup) || !isFinite(trip.Dropoff) { // NaN as a key is never found again, nor removed
		return c.behind.Distance(ctx, trip)
	}
	if a, ok := c.known.Get(way(trip)); ok && c.now().Before(a.until) {
		c.looks.WithLabelValues(hit).Inc()
		return a.distance, a.err
	}
	asked := false
	answers := c.calls.DoChan(fmt.Sprint(trip), func() (any, error) {
		asked = true
		return c.ask(context.WithoutCancel(ctx), trip), nil
	})
	select {
	case <-ctx.Done():
		return domain.Distance{}, fmt.Errorf("the caller went away: %w", ctx.Err())
	case got := <-answers:
		if asked {
			c.looks.WithLabelValues(miss).Inc()
		} else {
			c.looks.WithLabelValues(shared).Inc()
		}
		a := got.Val.(answer)
		return a.distance, a.err
	}
}

func (c *Cached) ask(ctx context.Context, trip domain.Trip) (a answer) {
	if known, ok := c.known.Get(way(trip)); ok && c.now().Before(known.until) {
		return known // stored since this caller looked
	}
	a.distance, a.err = c.behind.Distance(ctx, trip)
	var outside *ports.OutsideServiceAreaError
	var tooLong *ports.TripTooLongError
	switch {
	case a.err == nil:
		a.until = c.now().Add(lifetime)
	case errors.Is(a.err, ports.ErrNoRoute), errors.As(a.err, &outside), errors.As(a.err, &tooLong):
		a.until = c.now().Add(noWayFor)
	default:
		return a
	}
	c.known.Add(way(trip), a)
	return a
}

// way returns the part of a trip that its length depends on.
func way(trip domain.Trip) domain.Trip {
	trip.BusinessID, trip.Environment = "", ""
	return trip
}

func isFinite(c domain.Coordinates) bool {
	sum := math.Abs(c.Latitude) + math.Abs(c.Longitude)
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func rounded(c domain.Coordinates) domain.Coordinates {
	return domain.Coordinates{
		Latitude:  math.Round(c.Latitude*grid) / grid,
		Longitude: math.Round(c.Longitude*grid) / grid,
	}
}
