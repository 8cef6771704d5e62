package simulation

import (
	"context"
	"fmt"
	"time"

	"waybill/domain"
	"waybill/ports"
)

type keyStore struct {
	ports.IdempotencyStore
	p *process
}

func (s keyStore) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, retention time.Duration) error {
	return s.p.through(ctx, claims, "Claim "+r.Key, func(ctx context.Context) error {
		return s.IdempotencyStore.Claim(ctx, t, r, retention)
	})
}

func (s keyStore) Complete(ctx context.Context, t domain.Tenant, key string, a domain.Answer) error {
	return s.p.through(ctx, within, "Complete "+key, func(ctx context.Context) error {
		return s.IdempotencyStore.Complete(ctx, t, key, a)
	})
}

type bulkStore struct {
	ports.BulkStore
	p *process
}

func (s bulkStore) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease,
	retention time.Duration) (ports.BulkHold, error) {
	return ask(ctx, s.p, claims, "Claim bulk "+r.Key, func(ctx context.Context) (ports.BulkHold, error) {
		hold, err := s.BulkStore.Claim(ctx, t, r, token, lease, retention)
		if err == nil {
			noteIn(ctx, "claimed")
		}
		return hold, err
	})
}

func (s bulkStore) Items(ctx context.Context, t domain.Tenant, h ports.BulkHold) ([]domain.BulkItem, error) {
	return ask(ctx, s.p, within, "Items", func(ctx context.Context) ([]domain.BulkItem, error) {
		return s.BulkStore.Items(ctx, t, h)
	})
}

func (s bulkStore) Extend(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	return s.p.through(ctx, within, "Extend", func(ctx context.Context) error {
		return s.BulkStore.Extend(ctx, t, h)
	})
}

func (s bulkStore) AddItem(ctx context.Context, t domain.Tenant, h ports.BulkHold, item domain.BulkItem) error {
	return s.p.through(ctx, within, fmt.Sprint("AddItem ", item.Index), func(ctx context.Context) error {
		return s.BulkStore.AddItem(ctx, t, h, item)
	})
}

func (s bulkStore) Finish(ctx context.Context, t domain.Tenant, h ports.BulkHold, a domain.Answer, retention time.Duration) error {
	return s.p.through(ctx, within, "Finish", func(ctx context.Context) error {
		return s.BulkStore.Finish(ctx, t, h, a, retention)
	})
}

func (s bulkStore) Release(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	return s.p.through(ctx, within, "Release", func(ctx context.Context) error {
		return s.BulkStore.Release(ctx, t, h)
	})
}

type deliveryStore struct {
	ports.DeliveryStore
	p *process
}

func (s deliveryStore) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	return ask(ctx, s.p, within, "Lock "+string(id), func(ctx context.Context) (*domain.Delivery, error) {
		return s.DeliveryStore.Lock(ctx, t, id)
	})
}

func (s deliveryStore) Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...ports.EventWrite) error {
	return s.p.through(ctx, within, "Update "+string(d.ID), func(ctx context.Context) error {
		return s.DeliveryStore.Update(ctx, t, d, events...)
	})
}

type simulationStore struct {
	ports.SimulationStore
	p *process
}

func (s simulationStore) Lock(ctx context.Context, t domain.Tenant) error {
	return s.p.through(ctx, within, "Lock count", func(ctx context.Context) error { return s.SimulationStore.Lock(ctx, t) })
}

func (s simulationStore) Enter(ctx context.Context, t domain.Tenant) error {
	return s.p.through(ctx, within, "Enter", func(ctx context.Context) error {
		return s.SimulationStore.Enter(ctx, t)
	})
}

func (s simulationStore) Leave(ctx context.Context, t domain.Tenant) error {
	return s.p.through(ctx, within, "Leave", func(ctx context.Context) error { return s.SimulationStore.Leave(ctx, t) })
}
