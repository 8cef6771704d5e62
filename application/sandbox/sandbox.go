package sandbox

import (
	"context"

	"waybill/application/deliveries"
	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Sandbox implements the calls that move simulated deliveries.
type Sandbox struct {
	deliveries *deliveries.Deliveries
	clock      ports.Clock
	ids        ports.Identifiers
}

// New returns the use cases.
func New(d *deliveries.Deliveries, c ports.Clock, ids ports.Identifiers) *Sandbox {
	return &Sandbox{deliveries: d, clock: c, ids: ids}
}

// Transition moves a delivery one step manually. It returns SIMULATION_RUNNING while a scenario
// moves it. SANDBOX_TRANSITION_INVALID lists the allowed steps.
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

// Start starts a scenario for a booked delivery. It refuses with SIMULATION_RUNNING,
// SIMULATION_NOT_APPLICABLE, or SIMULATION_LIMIT where the application runs as many as it may.
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

// Stop stops the simulation of a delivery, which keeps its status. Where none runs, it returns the
// delivery unchanged.
func (s *Sandbox) Stop(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return s.deliveries.ChangeOnce(ctx, req, id, deliveries.Always(func(d *domain.Delivery) ([]domain.Event, error) {
		d.StopSimulation(s.clock.Now())
		return nil, nil
	}), answer)
}
