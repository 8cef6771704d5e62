package storage

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
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

	t.Run("who comes and goes at once is counted right", func(t *testing.T) {
		tenant := newTenant(t, b)
		for range domain.MaxRunningSimulations - 5 {
			if err := enter(tenant); err != nil {
				t.Fatal(err)
			}
		}
		var stayed atomic.Int64
		for _, err := range together(30, func(i int) error {
			for range 3 {
				switch err := enter(tenant); {
				case errors.Is(err, ports.ErrSimulationLimit):
					continue
				case err != nil:
					return err
				}
				if i%10 == 0 {
					stayed.Add(1)
					return nil
				}
				if err := leave(tenant); err != nil {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		wantCapacity(t, b, tenant, 5-int(stayed.Load()))
	})

	t.Run("what is taken back was never counted", func(t *testing.T) {
		tenant := newTenant(t, b)
		if err := enter(tenant); err != nil {
			t.Fatal(err)
		}
		for _, step := range []func(context.Context, ports.SimulationStore) error{
			func(ctx context.Context, s ports.SimulationStore) error { return s.Enter(ctx, tenant) },
			func(ctx context.Context, s ports.SimulationStore) error { return s.Leave(ctx, tenant) },
		} {
			wantError(t, "InTx", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return errors.Join(step(ctx, tx.Simulations), errChangedMind)
			}), errChangedMind)
			wantCapacity(t, b, tenant, domain.MaxRunningSimulations-1)
		}
	})

	t.Run("a lock holds until the transaction ends", func(t *testing.T) {
		for name, hold := range map[string]func(context.Context, ports.Stores, domain.Tenant) error{
			"Lock":  func(ctx context.Context, tx ports.Stores, t domain.Tenant) error { return tx.Simulations.Lock(ctx, t) },
			"Enter": func(ctx context.Context, tx ports.Stores, t domain.Tenant) error { return tx.Simulations.Enter(ctx, t) },
		} {
			tenant := newTenant(t, b)
			var inside, met atomic.Int64
			for _, err := range together(20, func(int) error {
				return b.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error {
					if err := hold(ctx, tx, tenant); err != nil {
						return err
					}
					if inside.Add(1) > 1 {
						met.Add(1)
					}
					defer inside.Add(-1)
					// A statement's time for another one to come in, if it can.
					runtime.Gosched()
					_, _, err := tx.Simulations.Load(ctx, tenant)
					return err
				})
			}) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if n := met.Load(); n > 0 {
				t.Errorf("%s: two were inside at the same time, %d times", name, n)
			}
		}
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
