package simulation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// mutant is a bug injected into a port: nil is none.
type mutant struct{ bug string }

func (p *mutant) is(bug string) bool { return p != nil && p.bug == bug }

func (p *mutant) book(ctx context.Context, w *world, write ports.BookingWrite) error {
	switch {
	case p.is("a key is not remembered") && write.Bulk == nil:
		write.Key.Key = fmt.Sprint("forgotten-", write.Delivery.ID)
	case p.is("an item is not recorded") && write.Bulk != nil:
		return w.store.Book(ctx, unmarked(write))
	case p.is("a lost lease is not noticed") && write.Bulk != nil:
		err := w.store.Book(ctx, write)
		if errors.Is(err, ports.ErrLeaseLost) {
			err = w.store.Book(ctx, unmarked(write))
		}
		return err
	case p.is("a running simulation is not counted") && write.Delivery.Simulating():
		live := write.Delivery.Lifecycle()
		err := w.store.Book(ctx, write)
		if err == nil && live.Simulation != nil {
			err = w.store.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				return tx.Simulations.Leave(ctx, write.Delivery.Tenant)
			})
		}
		return err
	}
	return w.store.Book(ctx, write)
}

// unmarked is the booking of an item that nothing tells from a single create.
func unmarked(w ports.BookingWrite) ports.BookingWrite {
	w.Key = domain.KeyRecord{
		Key: fmt.Sprint("forgotten-", w.Delivery.ID), ClaimID: w.Delivery.ID.Hex(), CreatedAt: w.Delivery.CreatedAt,
		Answer: domain.Answer{Status: 201, Location: "/v1/deliveries/" + string(w.Delivery.ID), Body: []byte(`{}`)},
	}
	w.Retention, w.Bulk = retention, nil
	return w
}

func (p *mutant) find(ctx context.Context, r ports.IdempotencyReader, t domain.Tenant, key string) (domain.KeyRecord, error) {
	found, err := r.Find(ctx, t, key)
	if p.is("a replay is rendered anew") && err == nil && len(found.Answer.Body) > 0 {
		found.Answer.Body = append([]byte(" "), found.Answer.Body...)
	}
	return found, err
}

func (p *mutant) list(ctx context.Context, r ports.DeliveryReader, t domain.Tenant, f domain.DeliveryFilter,
	page domain.PageRequest) ([]*domain.Delivery, error) {
	if p.is("a page begins with the last record of the one before") && page.After != nil {
		page.After.CreatedAt = page.After.CreatedAt.Add(-time.Millisecond)
	}
	return r.List(ctx, t, f, page)
}

func (p *mutant) lock(ctx context.Context, s ports.DeliveryStore, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	d, err := s.Lock(ctx, t, id)
	if err != nil {
		return d, err
	}
	life := d.Lifecycle()
	switch {
	case p.is("a step is early") && d.Simulating():
		early, due := *life.Simulation, life.Simulation.NextStepAt.Add(-1500*time.Millisecond)
		early.NextStepAt, life.Simulation = &due, &early
	case p.is("a pickup is forgotten"):
		life.PickedUpAt = nil
	}
	return domain.RestoreDelivery(d.Booking, life), nil
}

func (p *mutant) update(ctx context.Context, s ports.DeliveryStore, t domain.Tenant, d *domain.Delivery, events []ports.EventWrite) error {
	simulation := d.Simulation()
	if p.is("a stop is not stored") && len(events) == 0 && simulation != nil && simulation.Status == domain.SimulationStopped {
		return nil
	}
	return s.Update(ctx, t, d, events...)
}

func (p *mutant) leave(ctx context.Context, s ports.SimulationStore, t domain.Tenant) error {
	if p.is("a count is not taken back") {
		return nil
	}
	return s.Leave(ctx, t)
}

func (p *mutant) extend(ctx context.Context, s ports.BulkStore, t domain.Tenant, h ports.BulkHold) error {
	err := s.Extend(ctx, t, h)
	if p.is("a lost lease is not noticed") && errors.Is(err, ports.ErrLeaseLost) {
		return nil
	}
	return err
}

// A checker that never complained proves nothing.
func TestLongMutantsAreFound(t *testing.T) {
	t.Parallel()
	for _, bug := range []string{
		"a key is not remembered", "an item is not recorded", "a running simulation is not counted", "a replay is rendered anew",
		"a page begins with the last record of the one before", "a step is early", "a pickup is forgotten", "a stop is not stored",
		"a count is not taken back", "a lost lease is not noticed",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= 150; seed++ {
				if r := run(t, seed, &mutant{bug}); r.oops != nil {
					t.Logf("seed %d: %v", seed, r.oops)
					return
				}
			}
			t.Error("150 worlds did not notice")
		})
	}
}
