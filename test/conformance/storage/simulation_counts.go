package storage

import (
	"context"
	"errors"
	"testing"

	"waybill/domain"
	"waybill/ports"
)

func testSimulationCounts(t *testing.T, b ports.Database) {
	enter := func(tenant domain.Tenant) error {
		return b.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error { return tx.Simulations.Enter(ctx, tenant) })
	}
	leave := func(tenant domain.Tenant) error {
		return b.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error { return tx.Simulations.Leave(ctx, tenant) })
	}

	t.Run("of many at once as many are let in as there may be", func(t *testing.T) {
		tenant := newTenant(t, b)
		errs := together(4*domain.MaxRunningSimulations, func(int) error { return enter(tenant) })
		wantWinners(t, errs, domain.MaxRunningSimulations, ports.ErrSimulationLimit)
		wantCapacity(t, b, tenant, 0)
		if err := leave(tenant); err != nil {
			t.Fatal(err)
		}
		wantWinners(t, together(10, func(int) error { return enter(tenant) }), 1, ports.ErrSimulationLimit)
	})

	t.Run("a count belongs to one application", func(t *testing.T) {
		tenant := newTenant(t, b)
		sibling := newSibling(t, b, tenant)
		for range 3 {
			if err := enter(tenant); err != nil {
				t.Fatal(err)
			}
		}
		wantCapacity(t, b, tenant, domain.MaxRunningSimulations-3)
		wantCapacity(t, b, sibling, domain.MaxRunningSimulations)
		wantCapacity(t, b, newTenant(t, b), domain.MaxRunningSimulations)
	})

	t.Run("no count goes below zero", func(t *testing.T) {
		tenant := newTenant(t, b)
		for range 2 {
			if err := leave(tenant); err == nil {
				t.Error("one that was never counted left")
			}
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Simulations.Lock(ctx, tenant) })
		}
		if err := errors.Join(enter(tenant), leave(tenant)); err != nil {
			t.Fatal(err)
		}
		if err := leave(tenant); err == nil {
			t.Error("one left twice")
		}
		wantCapacity(t, b, tenant, domain.MaxRunningSimulations)
	})
}

// errLookedAround takes back what was done to learn something.
var errLookedAround = errors.New("only looking")

// wantCapacity fails unless exactly so many more simulations are let in.
func wantCapacity(t testing.TB, b ports.Database, tenant domain.Tenant, want int) {
	t.Helper()
	capacity := 0
	err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
		for capacity = 0; capacity <= domain.MaxRunningSimulations; capacity++ {
			switch err := tx.Simulations.Enter(ctx, tenant); {
			case errors.Is(err, ports.ErrSimulationLimit):
				return errLookedAround
			case err != nil:
				return err
			}
		}
		return errLookedAround
	})
	if !errors.Is(err, errLookedAround) || capacity != want {
		t.Errorf("there is capacity for %d more simulations (error %v), want %d", capacity, err, want)
	}
}

// fillSimulations leaves room for so many.
func fillSimulations(t testing.TB, b ports.Database, tenant domain.Tenant, capacity int) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		for range domain.MaxRunningSimulations - capacity {
			if err := tx.Simulations.Enter(ctx, tenant); err != nil {
				return err
			}
		}
		return nil
	})
}
