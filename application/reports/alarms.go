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
	// alarmsEvery is the maximum age of alarms. They query more than the database.
	alarmsEvery = 10 * time.Second
	// serviceWithin limits how long a service may take to respond.
	serviceWithin = time.Second
	// MostEndpoints limits the unhealthy endpoints in the alarms.
	MostEndpoints = 100
	// failingFor is how long an endpoint fails before it needs attention. A restart of its program
	// takes less.
	failingFor = 10 * time.Minute
)

// PriceService is a service that prices depend on. Check returns nil while it responds.
type PriceService struct {
	Name  string
	Check func(ctx context.Context) error
}

// Alarms lists what hinders the booking of deliveries or their webhooks.
type Alarms struct {
	At        time.Time
	Down      []string                 // services that do not respond
	Endpoints []domain.WebhookEndpoint // disabled by no caller, or failing for a while; the first MostEndpoints
	More      bool                     // there are more endpoints
	Names     map[domain.ID]string     // of their businesses
}

// Alarms returns alarms of the last 10 s. With an error it returns the last ones that there were.
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

// down checks all services at once.
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
