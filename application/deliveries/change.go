package deliveries

import (
	"context"
	"errors"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Decision changes a delivery by the rules of the domain and returns the events of the change, or
// refuses.
type Decision func(d *domain.Delivery) ([]domain.Event, error)

// Change changes an existing delivery. Customers, operators and simulations all use it. It holds
// the delivery's lock, so the second of two concurrent changes decides on the outcome of the first.
// It stores the events in the same transaction and updates the application's count of running
// simulations. Where decide changes nothing, nothing is written. Call it in a transaction that has
// locked no delivery yet.
func Change(ctx context.Context, tx ports.Stores, r ports.EventRenderer, t domain.Tenant, id domain.ID, now time.Time,
	decide Decision) (*domain.Delivery, error) {
	if t.Environment == domain.Sandbox {
		if err := tx.Simulations.Lock(ctx, t); err != nil {
			return nil, err
		}
	}
	d, err := tx.Deliveries.Lock(ctx, t, id)
	if err != nil {
		return nil, err
	}
	before, ran := d.Lifecycle(), d.Simulating()
	events, err := decide(d)
	if err != nil {
		return nil, err
	}
	if d.Lifecycle() == before {
		return d, nil
	}
	switch runs := d.Simulating(); {
	case runs && !ran:
		err = SimulationLimit(ctx, tx.Simulations, t, now, tx.Simulations.Enter(ctx, t))
	case ran && !runs:
		err = tx.Simulations.Leave(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	writes := make([]ports.EventWrite, len(events))
	for i, e := range events {
		if writes[i], err = rendered(r, d, e); err != nil {
			return nil, err
		}
	}
	return d, tx.Deliveries.Update(ctx, t, d, writes...)
}

// rendered returns an event with its published JSON.
func rendered(r ports.EventRenderer, d *domain.Delivery, e domain.Event) (ports.EventWrite, error) {
	payload, err := r.DeliveryEvent(d, e)
	return ports.EventWrite{Event: e, Payload: payload}, err
}

// ChangeOnce applies Change for a request of the API. form validates the request and is called only
// where its key is new. A retry without a key, after a commit without an answer, recognizes its own
// change.
func (d *Deliveries) ChangeOnce(ctx context.Context, req idempotency.Request, id domain.ID,
	form func() (Decision, error), answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return d.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		decide, err := form()
		if err != nil {
			return nil, err
		}
		var tried *domain.Delivery // the delivery as the last attempt left it
		decideOnce := func(found *domain.Delivery) ([]domain.Event, error) {
			if tried != nil && same(found, tried) {
				return nil, nil
			}
			return decide(found)
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return d.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				changed, err := Change(ctx, tx, d.renderer, req.Tenant, id, d.clock.Now(), decideOnce)
				if err != nil {
					return domain.Answer{}, err
				}
				tried = changed
				return answer(changed), nil
			})
		}, nil
	})
}

// same reports whether both have the same sequence, update time and simulation.
func same(a, b *domain.Delivery) bool {
	return a.Lifecycle().Sequence == b.Lifecycle().Sequence && a.UpdatedAt().Equal(b.UpdatedAt()) && a.Simulating() == b.Simulating()
}

// Always returns the form of a request that needs no validation.
func Always(d Decision) func() (Decision, error) {
	return func() (Decision, error) { return d, nil }
}

// SimulationLimit turns ports.ErrSimulationLimit into SIMULATION_LIMIT with the time until a
// simulation ends. It returns any other error unchanged.
func SimulationLimit(ctx context.Context, r ports.SimulationReader, t domain.Tenant, now time.Time, err error) error {
	if !errors.Is(err, ports.ErrSimulationLimit) {
		return err
	}
	_, firstEnd, err := r.Load(ctx, t)
	if err != nil {
		return err
	}
	return domain.SimulationLimit(firstEnd.Sub(now))
}
