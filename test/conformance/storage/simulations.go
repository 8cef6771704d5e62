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

// decision changes a delivery and tells what happened to it.
type decision func(d *domain.Delivery) ([]domain.Event, error)

// play changes a delivery as use cases do: the count is locked before the
// delivery, and follows. It also counts how often the storage ran it.
func play(ctx context.Context, b ports.Database, t domain.Tenant, id domain.ID, runs *atomic.Int64, decide decision) (d *domain.Delivery,
	err error) {
	err = b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		runs.Add(1)
		if err := tx.Simulations.Lock(ctx, t); err != nil {
			return err
		}
		if d, err = tx.Deliveries.Lock(ctx, t, id); err != nil {
			return err
		}
		before, ran := d.Lifecycle(), d.Simulating()
		events, err := decide(d)
		if err != nil || d.Lifecycle() == before {
			return err
		}
		switch runs := d.Simulating(); {
		case runs && !ran:
			err = tx.Simulations.Enter(ctx, t)
		case ran && !runs:
			err = tx.Simulations.Leave(ctx, t)
		}
		if err != nil {
			return err
		}
		return tx.Deliveries.Update(ctx, t, d, sample.AllPublished(events)...)
	})
	return d, err
}

// mustPlay is play that has to succeed.
func mustPlay(t testing.TB, b ports.Database, tenant domain.Tenant, id domain.ID, decide decision) *domain.Delivery {
	t.Helper()
	return must(play(t.Context(), b, tenant, id, new(atomic.Int64), decide))(t)
}

// nextStep does what the scenario does next, on time.
func nextStep(d *domain.Delivery) ([]domain.Event, error) {
	s := d.Simulation()
	if s.NextStepAt == nil {
		return nil, nil
	}
	event, _, err := d.Simulate(s.Step, sample.ID(domain.PrefixEvent), *s.NextStepAt)
	return []domain.Event{event}, err
}

func stopIt(d *domain.Delivery) ([]domain.Event, error) {
	d.StopSimulation(d.UpdatedAt().Add(time.Second))
	return nil, nil
}

func startIt(d *domain.Delivery) ([]domain.Event, error) {
	return nil, d.StartSimulation(sample.Plan(), d.UpdatedAt().Add(time.Second))
}

func cancelIt(d *domain.Delivery) ([]domain.Event, error) {
	event, changed, err := d.Cancel(sample.ID(domain.PrefixEvent), d.UpdatedAt().Add(time.Second))
	if !changed {
		return nil, err
	}
	return []domain.Event{event}, err
}

func testSimulations(t *testing.T, b ports.Database) {
	read := func() ports.DeliveryReader { return b.Read().Deliveries }

	t.Run("every state of every scenario comes back", func(t *testing.T) {
		tenant := newTenant(t, b)
		recipient, address := newRecipient(t, b, tenant)
		bystander := book(t, b, sample.SimulatedWrite(tenant))
		for _, scenario := range domain.Scenarios() {
			w := sample.BookingTo(tenant, recipient, address)
			sample.Simulate(w, func(p *domain.Plan) { p.Scenario, p.StepSeconds = scenario, 7 })
			want, events := book(t, b, w), []domain.Event{w.Event.Event}
			for {
				got := must(read().Get(t.Context(), tenant, want.ID))(t)
				wantDelivery(t, "Get in "+string(scenario), got, want)
				wantEqual(t, "when it ends", got.Simulation().EndsAt(), want.Simulation().EndsAt())
				wantEqual(t, "Events", must(read().Events(t.Context(), tenant, want.ID))(t), events)
				if !want.Simulating() {
					break
				}
				want = mustPlay(t, b, tenant, want.ID, func(d *domain.Delivery) ([]domain.Event, error) {
					wantDelivery(t, "Lock in "+string(scenario), d, want)
					happened, err := nextStep(d)
					events = append(events, happened...)
					return happened, err
				})
				if scenario == domain.ScenarioDelivered && want.Status() == domain.InTransit {
					wantFilled(t, want.Lifecycle())
				}
			}
		}
		wantDelivery(t, "another delivery", must(read().Get(t.Context(), tenant, bystander.ID))(t), bystander)
	})

	t.Run("a change of the simulation alone needs no event", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		wantDelivery(t, "without a simulation", must(read().Get(t.Context(), tenant, w.Delivery.ID))(t), w.Delivery)
		manual := func(d *domain.Delivery) ([]domain.Event, error) {
			return nil, d.StartSimulation(domain.Plan{Scenario: domain.ScenarioManual}, d.UpdatedAt().Add(time.Second))
		}
		for _, change := range []struct {
			decide decision
			status domain.SimulationStatus
		}{
			{startIt, domain.SimulationRunning}, {stopIt, domain.SimulationStopped},
			{startIt, domain.SimulationRunning}, {stopIt, domain.SimulationStopped}, {manual, domain.SimulationIdle},
		} {
			want := mustPlay(t, b, tenant, w.Delivery.ID, change.decide)
			if s := want.Simulation(); s.Status != change.status {
				t.Fatalf("the simulation is %s, want %s", s.Status, change.status)
			}
			wantDelivery(t, "Get when it is "+string(change.status), must(read().Get(t.Context(), tenant, want.ID))(t), want)
			wantEqual(t, "Events", must(read().Events(t.Context(), tenant, want.ID))(t), []domain.Event{w.Event.Event})
		}
	})

	t.Run("a change that was decided before an event is refused, whatever it changes", func(t *testing.T) {
		tenant := newTenant(t, b)
		for name, late := range map[string]decision{
			"only the simulation": stopIt, "the status": cancelIt,
			"both, in two steps": func(d *domain.Delivery) ([]domain.Event, error) {
				first, err := nextStep(d)
				if err != nil {
					return nil, err
				}
				second, err := nextStep(d)
				return append(first, second...), err
			},
		} {
			w := bookWrite(t, b, sample.SimulatedWrite(tenant))
			old := must(read().Get(t.Context(), tenant, w.Delivery.ID))(t)
			want := mustPlay(t, b, tenant, w.Delivery.ID, nextStep)
			timeline := must(read().Events(t.Context(), tenant, w.Delivery.ID))(t)
			events, err := late(old)
			if err != nil {
				t.Fatal(err)
			}
			err = b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Deliveries.Update(ctx, tenant, old, sample.AllPublished(events)...)
			})
			if err == nil || errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: error %v, want a failure", name, err)
			}
			wantDelivery(t, "Get after "+name, must(read().Get(t.Context(), tenant, want.ID))(t), want)
			wantEqual(t, "Events", must(read().Events(t.Context(), tenant, want.ID))(t), timeline)
		}
	})

	t.Run("the simulation of what does not exist is not found", func(t *testing.T) {
		tenant := newTenant(t, b)
		missing := sample.SimulatedWrite(tenant).Delivery
		theirs := book(t, b, sample.SimulatedWrite(newTenant(t, b)))
		for _, d := range []*domain.Delivery{missing, theirs} {
			d.StopSimulation(sample.Now.Add(time.Hour))
			wantError(t, "Update", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				return tx.Deliveries.Update(ctx, tenant, d)
			}), domain.ErrNotFound)
		}
	})
}
