// Package deliveries books, finds and cancels deliveries on behalf of the
// application that owns them. What a delivery may do is decided in domain;
// that a create happens once is idempotency's promise.
package deliveries

import (
	"context"

	"waybill/application/idempotency"
	"waybill/application/quotes"
	"waybill/domain"
	"waybill/ports"
)

// Deliveries are the use cases of deliveries.
type Deliveries struct {
	storage    ports.Storage
	bookings   ports.Bookings
	gate       *idempotency.Gate
	quotes     *quotes.Quotes
	clock      ports.Clock
	ids        ports.Identifiers
	normalizer ports.Normalizer
	renderer   ports.EventRenderer
}

// New makes the use cases of deliveries.
func New(s ports.Storage, b ports.Bookings, g *idempotency.Gate, q *quotes.Quotes,
	c ports.Clock, ids ports.Identifiers, n ports.Normalizer, r ports.EventRenderer,
) *Deliveries {
	return &Deliveries{storage: s, bookings: b, gate: g, quotes: q, clock: c, ids: ids, normalizer: n, renderer: r}
}

// Get is NOT_FOUND for what the application did not create.
func (d *Deliveries) Get(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	return d.storage.Read().Deliveries.Get(ctx, t, id)
}

// List returns up to Limit+1 deliveries by (created_at, id).
func (d *Deliveries) List(ctx context.Context, t domain.Tenant, f domain.DeliveryFilter, p domain.PageRequest) ([]*domain.Delivery, error) {
	return d.storage.Read().Deliveries.List(ctx, t, f, p)
}

// Timeline is every event of a delivery by sequence, or NOT_FOUND.
func (d *Deliveries) Timeline(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.Event, error) {
	events, err := d.storage.Read().Deliveries.Events(ctx, t, id)
	if err == nil && len(events) == 0 {
		// Every delivery has its first event, so no event means no delivery.
		return nil, domain.ErrNotFound
	}
	return events, err
}
