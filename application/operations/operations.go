// Package operations is what the delivery company itself does: it moves
// deliveries through their life, in any environment and for any business.
package operations

import (
	"context"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
)

// Operations are the use cases of the platform.
type Operations struct {
	storage  ports.Storage
	clock    ports.Clock
	ids      ports.Identifiers
	renderer ports.EventRenderer
}

// New makes the use cases of the platform.
func New(s ports.Storage, c ports.Clock, ids ports.Identifiers, r ports.EventRenderer) *Operations {
	return &Operations{storage: s, clock: c, ids: ids, renderer: r}
}

// Advance moves a delivery one step as the platform. TRANSITION_INVALID tells
// which steps are allowed instead; SIMULATION_RUNNING, that a scenario moves it.
func (o *Operations) Advance(ctx context.Context, id domain.ID, to domain.Status, reason domain.ReasonCode) (*domain.Delivery, error) {
	tenant, err := o.storage.Read().Deliveries.Owner(ctx, id)
	if err != nil {
		return nil, err
	}
	var moved *domain.Delivery
	err = o.storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) (err error) {
		now := o.clock.Now()
		moved, err = deliveries.Change(ctx, tx, o.renderer, tenant, id, now, func(d *domain.Delivery) ([]domain.Event, error) {
			event, err := d.Move(to, domain.ActorPlatform, reason, o.ids.ID(domain.PrefixEvent), now)
			return []domain.Event{event}, err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}
