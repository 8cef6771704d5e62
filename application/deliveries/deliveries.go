package deliveries

import (
	"context"
	"sync"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Deliveries implements the use cases of a customer's programs.
type Deliveries struct {
	storage    ports.Storage
	bookings   ports.Bookings
	gate       *idempotency.Gate
	quotes     *Quotes
	clock      ports.Clock
	ids        ports.Identifiers
	normalizer ports.Normalizer
	renderer   ports.EventRenderer
	failures   sync.Map // IDs of applications that have read a failed delivery in the sandbox, as far as known here
}

// New returns the use cases of deliveries.
func New(s ports.Storage, b ports.Bookings, g *idempotency.Gate, q *Quotes,
	c ports.Clock, ids ports.Identifiers, n ports.Normalizer, r ports.EventRenderer,
) *Deliveries {
	return &Deliveries{storage: s, bookings: b, gate: g, quotes: q, clock: c, ids: ids, normalizer: n, renderer: r}
}

// Get returns a delivery that the application created, or NOT_FOUND.
func (d *Deliveries) Get(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	found, err := d.storage.Read().Deliveries.Get(ctx, t, id)
	if err == nil && found.Status() == domain.Failed {
		d.readFailure(ctx, t, id)
	}
	return found, err
}

// List returns up to Limit+1 deliveries by (created_at, id).
func (d *Deliveries) List(ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest) ([]*domain.Delivery, error) {
	return d.storage.Read().Deliveries.List(ctx, t, f, p)
}

// Timeline lists the events of a delivery by sequence, or returns NOT_FOUND.
func (d *Deliveries) Timeline(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.Event, error) {
	events, err := d.storage.Read().Deliveries.Events(ctx, t, id)
	if err == nil && len(events) == 0 {
		// Every delivery has its first event, so no event means no delivery.
		return nil, domain.ErrNotFound
	}
	if err == nil && events[len(events)-1].Status == domain.Failed {
		d.readFailure(ctx, t, id)
	}
	return events, err
}

// noteWithin limits how long a read waits to store that it saw a failed delivery.
const noteWithin = 250 * time.Millisecond

// readFailure stores, once, that an application has read a failed delivery in the sandbox. This is
// one of the steps before going live. Where the database cannot store it, the read still succeeds
// and the next read tries again.
func (d *Deliveries) readFailure(ctx context.Context, t domain.Tenant, id domain.ID) {
	if _, known := d.failures.Load(t.ApplicationID); known || t.Environment != domain.Sandbox {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteWithin)
	defer cancel()
	err := d.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		return tx.Readiness.Insert(ctx, domain.Readied{ApplicationID: t.ApplicationID, Step: domain.ReadyFailure, At: d.clock.Now(), Source: id})
	})
	if err == nil {
		d.failures.Store(t.ApplicationID, true)
	}
}
