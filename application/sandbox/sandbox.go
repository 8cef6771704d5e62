package sandbox

import (
	"context"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Sandbox are the calls that move simulated deliveries.
type Sandbox struct {
	deliveries *deliveries.Deliveries
	clock      ports.Clock
	ids        ports.Identifiers
}

// New makes the use cases.
func New(d *deliveries.Deliveries, c ports.Clock, ids ports.Identifiers) *Sandbox {
	return &Sandbox{deliveries: d, clock: c, ids: ids}
}

// Transition moves a delivery one step by hand. SIMULATION_RUNNING while a
// scenario moves it; SANDBOX_TRANSITION_INVALID tells which steps are allowed.
func (s *Sandbox) Transition(ctx context.Context, req idempotency.Request, id domain.ID,
	form func() (domain.Status, error), answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return s.deliveries.ChangeOnce(ctx, req, id, func() (deliveries.Decision, error) {
		to, err := form()
		return func(d *domain.Delivery) ([]domain.Event, error) {
			event, err := d.Move(to, domain.ActorHelper, "", s.ids.ID(domain.PrefixEvent), s.clock.Now())
			return []domain.Event{event}, err
		}, err
	}, answer)
}

// Start lets a scenario move a delivery that is booked. SIMULATION_RUNNING,
// SIMULATION_NOT_APPLICABLE, or SIMULATION_LIMIT where the application runs as
// many as it may.
func (s *Sandbox) Start(ctx context.Context, req idempotency.Request, id domain.ID,
	form func() (domain.Plan, error), answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return s.deliveries.ChangeOnce(ctx, req, id, func() (deliveries.Decision, error) {
		plan, err := form()
		return func(d *domain.Delivery) ([]domain.Event, error) {
			return nil, d.StartSimulation(plan, s.clock.Now())
		}, err
	}, answer)
}

// Stop leaves a delivery where its simulation has brought it. Without one that
// runs the delivery is returned unchanged.
func (s *Sandbox) Stop(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return s.deliveries.ChangeOnce(ctx, req, id, deliveries.Always(func(d *domain.Delivery) ([]domain.Event, error) {
		d.StopSimulation(s.clock.Now())
		return nil, nil
	}), answer)
}
