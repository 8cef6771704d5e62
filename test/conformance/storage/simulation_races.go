package storage

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testSimulationRaces(t *testing.T, b ports.Database) {
	t.Run("nothing happens behind a stop", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		for range 10 {
			w := sample.BookingTo(tenant, recipient, address)
			sample.Simulate(w)
			id := book(t, b, w).ID
			seen := -1 // events when the stop was answered
			for _, err := range together(6, func(i int) error {
				if i > 0 {
					_, err := play(context.Background(), b, tenant, id, new(atomic.Int64), nextStep)
					return err
				}
				d, err := play(context.Background(), b, tenant, id, new(atomic.Int64), stopIt)
				if err == nil {
					seen = d.Lifecycle().Sequence
				}
				return err
			}) {
				if err != nil {
					t.Error(err)
				}
			}
			d := must(b.Read().Deliveries.Get(t.Context(), tenant, id))(t)
			events := must(b.Read().Deliveries.Events(t.Context(), tenant, id))(t)
			if s := d.Simulation(); s.Status != domain.SimulationStopped || s.Step != seen-1 || len(events) != seen ||
				d.Lifecycle().Sequence != seen {
				t.Fatalf("stopped with %d events; now %d, sequence %d, %+v", seen, len(events), d.Lifecycle().Sequence, s)
			}
		}
		wantCapacity(t, b, tenant, domain.MaxRunningSimulations)
	})

	t.Run("a step happens once, whoever does it", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.SimulatedWrite(tenant))
		due := *w.Delivery.Simulation().NextStepAt
		var happened atomic.Int64
		for _, err := range together(racers, func(int) error {
			_, err := play(context.Background(), b, tenant, w.Delivery.ID, new(atomic.Int64), func(d *domain.Delivery) ([]domain.Event, error) {
				event, isDue, err := d.Simulate(0, sample.ID(domain.PrefixEvent), due.Add(time.Hour))
				if !isDue {
					return nil, err
				}
				happened.Add(1)
				return []domain.Event{event}, err
			})
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if events := must(b.Read().Deliveries.Events(t.Context(), tenant, w.Delivery.ID))(t); happened.Load() != 1 || len(events) != 2 {
			t.Errorf("the step happened %d times, and there are %d events", happened.Load(), len(events))
		}
	})

	t.Run("all that happens at once ends with a right count and without a deadlock", func(t *testing.T) {
		const workers, long, patience = 8, time.Second, 30 * time.Second
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		fillSimulations(t, b, tenant, 10) // so that the limit is met
		var shared [4]atomic.Pointer[domain.Delivery]
		var plays, runs atomic.Int64
		end := time.Now().Add(long)
		for _, err := range together(workers, func(worker int) error {
			for turn := worker; time.Now().Before(end) || plays.Load() < workers && time.Now().Before(end.Add(patience)); turn++ {
				place := &shared[turn%len(shared)]
				d := place.Load()
				if d == nil || turn%workers == 0 {
					w := sample.BookingTo(tenant, recipient, address)
					sample.Simulate(w, func(p *domain.Plan) { p.Scenario = domain.Scenarios()[1+turn%10] })
					switch err := b.Book(context.Background(), w); {
					case err == nil:
						place.Store(w.Delivery)
					case !errors.Is(err, ports.ErrSimulationLimit):
						return err
					}
					continue
				}
				plays.Add(1)
				_, err := play(context.Background(), b, tenant, d.ID, &runs, []decision{nextStep, nextStep, nextStep, stopIt, startIt,
					cancelIt}[turn%6])
				if err != nil && !errors.As(err, new(*domain.Error)) && !errors.Is(err, ports.ErrSimulationLimit) {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		// A deadlock shows as a transaction that the storage ran again.
		if plays.Load() != runs.Load() {
			t.Errorf("%d changes took %d transactions", plays.Load(), runs.Load())
		}
		if plays.Load() < workers {
			t.Errorf("only %d changes within %s", plays.Load(), long+patience)
		}
		running, _, err := b.Read().Simulations.Load(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		wantCapacity(t, b, tenant, 10-running)
	})
}
