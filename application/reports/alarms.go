package reports

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"waybill/domain"
)

const (
	// alarmsEvery is how old alarms are at most: they ask more than the database.
	alarmsEvery = 10 * time.Second
	// serviceWithin is how long a service may take to show that it is there.
	serviceWithin = time.Second
	// MostEndpoints is up to how many unhealthy endpoints are told of.
	MostEndpoints = 100
	// failingFor is how long an endpoint fails before it needs attention: a restart of
	// its program takes less.
	failingFor = 10 * time.Minute
)

// Service is one that prices depend on. Check answers nil while it is there.
type PriceService struct {
	Name  string
	Check func(ctx context.Context) error
}

// Alarms are what stands in the way of deliveries that are booked or told of.
type Alarms struct {
	At        time.Time
	Down      []string                 // services that do not answer
	Endpoints []domain.WebhookEndpoint // disabled by no caller, or failing for a while; the first MostEndpoints
	More      bool                     // endpoints
	Names     map[domain.ID]string     // of their businesses
}

// Alarms are at most 10 s old. With an error they are the last that there were.
func (b *Board) Alarms(ctx context.Context) (Alarms, error) { return b.alarms.get(ctx) }

func (b *Board) alarm(ctx context.Context, services []PriceService) (a Alarms, err error) {
	a.At, a.Down = b.clock.Now(), down(ctx, services)
	read := b.storage.Read()
	a.Endpoints, err = read.Webhooks.Unhealthy(ctx, "", a.At.Add(-failingFor), "", MostEndpoints+1)
	if err != nil {
		return a, err
	}
	if a.More = len(a.Endpoints) > MostEndpoints; a.More {
		a.Endpoints = a.Endpoints[:MostEndpoints]
	}
	of := map[domain.ID]bool{}
	for _, e := range a.Endpoints {
		of[e.Tenant.BusinessID] = true
	}
	a.Names, err = read.Platform.BusinessNames(ctx, slices.Sorted(maps.Keys(of)))
	return a, err
}

// down asks all services at once.
func down(ctx context.Context, services []PriceService) []string {
	ctx, cancel := context.WithTimeout(ctx, serviceWithin)
	defer cancel()
	failed := make([]bool, len(services))
	var all sync.WaitGroup
	for i, s := range services {
		all.Go(func() { failed[i] = domain.Safely(func() error { return s.Check(ctx) }) != nil })
	}
	all.Wait()
	var names []string
	for i, s := range services {
		if failed[i] {
			names = append(names, s.Name)
		}
	}
	return names
}
