package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testDueSteps(t *testing.T, b ports.Database) {
	due := func(t *testing.T, by time.Time, limit int) []ports.DueStep {
		t.Helper()
		return must(b.Read().Simulations.Due(t.Context(), by, limit))(t)
	}
	wantDue := func(t *testing.T, what string, got []ports.DueStep, want ...ports.DueStep) {
		t.Helper()
		if len(want) == 0 && len(got) == 0 {
			return
		}
		wantEqual(t, what, got, want)
	}
	stepOf := func(d *domain.Delivery) ports.DueStep {
		s := d.Simulation()
		return ports.DueStep{Delivery: d.ID, Done: s.Step, DueAt: *s.NextStepAt}
	}
	wantLoad := func(t *testing.T, tenant domain.Tenant, running int, firstEnd time.Time) {
		t.Helper()
		n, end, err := b.Read().Simulations.Load(t.Context(), tenant)
		if err != nil || n != running || !end.Equal(firstEnd) {
			t.Errorf("a load of %d, the first of which ends at %v (error %v), want %d and %v", n, end, err, running, firstEnd)
		}
	}
	always := sample.Now.Add(1000 * time.Hour)

	// No other test writes to this database, so all its rows are known.
	wantDue(t, "where nothing was ever started", due(t, always, 10))
	tenant := newTenant(t, b)
	sibling, foreign := newSibling(t, b, tenant), newTenant(t, b)
	wantLoad(t, tenant, 0, time.Time{})
	paced := func(of domain.Tenant, seconds int) *domain.Delivery {
		return book(t, b, sample.SimulatedWrite(of, func(p *domain.Plan) { p.StepSeconds = seconds }))
	}
	third, first, fourth, second := paced(tenant, 30), paced(foreign, 10), paced(sibling, 40), paced(tenant, 20)
	all := []ports.DueStep{stepOf(first), stepOf(second), stepOf(third), stepOf(fourth)}

	t.Run("steps come by their time, of all applications", func(t *testing.T) {
		wantDue(t, "Due", due(t, always, 10), all...)
		wantDue(t, "the first two", due(t, always, 2), all[:2]...)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			wantDue(t, "Due in a transaction", must(tx.Simulations.Due(ctx, always, 3))(t), all[:3]...)
			return nil
		})
	})

	t.Run("a step is due at its time and not before", func(t *testing.T) {
		for by, want := range map[time.Duration]int{
			-time.Hour: 0, -time.Millisecond: 0, -time.Nanosecond: 0, 0: 1, 999 * time.Microsecond: 1,
			10 * time.Second: 2, 30*time.Second - time.Nanosecond: 3, 30 * time.Second: 4,
		} {
			wantDue(t, "Due "+by.String()+" from the first", due(t, all[0].DueAt.Add(by), 10), all[:want]...)
		}
	})

	t.Run("the load is an application's own, and in the sandbox only", func(t *testing.T) {
		wantLoad(t, tenant, 2, *second.Simulation().EndsAt())
		wantLoad(t, sibling, 1, *fourth.Simulation().EndsAt())
		wantLoad(t, foreign, 1, *first.Simulation().EndsAt())
		wantLoad(t, live(tenant), 0, time.Time{})
		wantLoad(t, newTenant(t, b), 0, time.Time{})
		wantEqual(t, "Running", must(b.Read().Simulations.Running(t.Context()))(t), 4)
	})

	t.Run("only what runs is due and counts", func(t *testing.T) {
		for range 3 {
			book(t, b, sample.BookingWrite(tenant))
			book(t, b, sample.BookingWrite(live(tenant)))
		}
		stopped, cancelled, completed := paced(tenant, 1), paced(tenant, 1), paced(tenant, 1)
		mustPlay(t, b, tenant, stopped.ID, nextStep)
		mustPlay(t, b, tenant, stopped.ID, stopIt)
		mustPlay(t, b, tenant, cancelled.ID, cancelIt)
		for completed.Simulating() {
			completed = mustPlay(t, b, tenant, completed.ID, nextStep)
		}
		wantDue(t, "Due", due(t, always, 10), all...)
		wantLoad(t, tenant, 2, *second.Simulation().EndsAt())
		wantEqual(t, "Running", must(b.Read().Simulations.Running(t.Context()))(t), 4)
	})

	t.Run("a step that is done makes room for the next", func(t *testing.T) {
		first = mustPlay(t, b, foreign, first.ID, nextStep) // due with the second now
		first = mustPlay(t, b, foreign, first.ID, nextStep) // due with the third
		got := due(t, always, 10)
		if len(got) != 4 || got[0] != all[1] || stepOf(first).Done != 2 {
			t.Fatalf("due %+v", got)
		}
		if both := [2]ports.DueStep{got[1], got[2]}; both != [2]ports.DueStep{all[2], stepOf(first)} &&
			both != [2]ports.DueStep{stepOf(first), all[2]} {
			t.Errorf("due %+v", got)
		}
		wantLoad(t, foreign, 1, *first.Simulation().EndsAt())
	})

	t.Run("a step that was late puts off the end", func(t *testing.T) {
		before := *first.Simulation().EndsAt()
		first = mustPlay(t, b, foreign, first.ID, func(d *domain.Delivery) ([]domain.Event, error) {
			event, _, err := d.Simulate(2, sample.ID(domain.PrefixEvent), d.Simulation().NextStepAt.Add(5*time.Second))
			return []domain.Event{event}, err
		})
		wantLoad(t, foreign, 1, before.Add(5*time.Second))
	})
}
