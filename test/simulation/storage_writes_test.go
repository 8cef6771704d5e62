package simulation

import (
	"context"
	"errors"
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
		err := s.IdempotencyStore.Claim(ctx, t, r, retention)
		if errors.Is(err, ports.ErrKeyTaken) {
			noteIn(ctx, "key taken")
		}
		return err
	})
}

func (s keyStore) Complete(ctx context.Context, t domain.Tenant, key string, a domain.Answer) error {
	return s.p.through(ctx, within, "Complete "+key, func(ctx context.Context) error {
		return s.IdempotencyStore.Complete(ctx, t, key, a)
	})
}

type bulkStore struct {
	ports.BulkStore
	p    *process
	held *sign
}

// sign tells a transaction that only extends a lease from others.
type sign struct{ extended, wrote bool }

func (s bulkStore) Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease,
	retention time.Duration) (ports.BulkHold, error) {
	return ask(ctx, s.p, claims, "Claim bulk "+r.Key, func(ctx context.Context) (ports.BulkHold, error) {
		hold, err := s.BulkStore.Claim(ctx, t, r, token, lease, retention)
		if err == nil {
			noteIn(ctx, "claimed")
		}
		switch {
		case errors.Is(err, ports.ErrKeyTaken):
			noteIn(ctx, "key taken")
		case err == nil && hold.ClaimID != r.ClaimID:
			noteIn(ctx, "claim kept")
			s.p.world.noteRival(ctx)
		}
		return hold, err
	})
}

func (s bulkStore) Items(ctx context.Context, t domain.Tenant, h ports.BulkHold) ([]domain.BulkItem, error) {
	return ask(ctx, s.p, within, "Items", func(ctx context.Context) ([]domain.BulkItem, error) {
		items, err := s.BulkStore.Items(ctx, t, h)
		if len(items) > 0 {
			noteIn(ctx, "items found")
		}
		return items, err
	})
}

func (s bulkStore) Extend(ctx context.Context, t domain.Tenant, h ports.BulkHold) error {
	return s.p.through(ctx, within, "Extend", func(ctx context.Context) error {
		s.held.extended = true
		err := s.p.world.mutant.extend(ctx, s.BulkStore, t, h)
		if errors.Is(err, ports.ErrLeaseLost) {
			noteIn(ctx, "lease lost")
		}
		return err
	})
}

func (s bulkStore) AddItem(ctx context.Context, t domain.Tenant, h ports.BulkHold, item domain.BulkItem) error {
	return s.p.through(ctx, within, fmt.Sprint("AddItem ", item.Index), func(ctx context.Context) error {
		s.held.wrote = true
		err := s.BulkStore.AddItem(ctx, t, h, item)
		if errors.Is(err, ports.ErrItemDone) {
			noteIn(ctx, "item done")
		}
		return err
	})
}

func (s bulkStore) Finish(ctx context.Context, t domain.Tenant, h ports.BulkHold, a domain.Answer, retention time.Duration) error {
	return s.p.through(ctx, within, "Finish", func(ctx context.Context) error {
		s.held.wrote = true
		err := s.BulkStore.Finish(ctx, t, h, a, retention)
		if errors.Is(err, ports.ErrLeaseLost) {
			noteIn(ctx, "lease lost")
		}
		return err
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
		d, err := s.p.world.mutant.lock(ctx, s.DeliveryStore, t, id)
		if err == nil && !d.Simulating() {
			noteIn(ctx, "at rest")
		} else if err == nil && d.Simulation().NextStepAt.Sub(clock{s.p}.Now()) > 2*time.Second {
			noteIn(ctx, "far ahead")
		}
		return d, err
	})
}

func (s deliveryStore) Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...ports.EventWrite) error {
	return s.p.through(ctx, within, "Update "+string(d.ID), func(ctx context.Context) error {
		noteIn(ctx, "updated")
		if simulation := d.Simulation(); simulation != nil && simulation.Status == domain.SimulationCompleted {
			s.p.world.reach("a simulation was completed")
		}
		return s.p.world.mutant.update(ctx, s.DeliveryStore, t, d, events)
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
		err := s.SimulationStore.Enter(ctx, t)
		if errors.Is(err, ports.ErrSimulationLimit) {
			noteIn(ctx, "limit in the commit")
		}
		return err
	})
}

func (s simulationStore) Leave(ctx context.Context, t domain.Tenant) error {
	return s.p.through(ctx, within, "Leave", func(ctx context.Context) error { return s.p.world.mutant.leave(ctx, s.SimulationStore, t) })
}
