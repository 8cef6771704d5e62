package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
)

// earliness is how early a step may be notified on a machine whose clock is behind the scheduler's.
// The step waits.
const earliness = 2 * time.Second

// Simulator does the steps of scenarios.
type Simulator struct {
	storage  ports.Storage
	clock    ports.Clock
	ids      ports.Identifiers
	renderer ports.EventRenderer
	log      *slog.Logger
	late     Lateness
}

// Lateness is called for every step with the time since it was due.
type Lateness func(time.Duration)

// NewSimulator returns a simulator.
func NewSimulator(s ports.Storage, c ports.Clock, ids ports.Identifiers, r ports.EventRenderer, log *slog.Logger,
	late Lateness) *Simulator {
	return &Simulator{storage: s, clock: c, ids: ids, renderer: r, log: log, late: late}
}

// Handle is the handler of ports.JobSimulation. A failed step stays due, and the Scheduler notifies
// the queue of it again.
func (s *Simulator) Handle(ctx context.Context, stepID string) {
	id, done, err := parseStepID(stepID)
	if err == nil {
		err = s.Step(ctx, id, done)
	}
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "simulation step failed", "step", stepID, "error", err)
	}
}

// Step does the step after done steps, if it is still the next one. It waits where it is a little
// early.
func (s *Simulator) Step(ctx context.Context, id domain.ID, done int) error {
	tenant, err := s.storage.Read().Deliveries.Owner(ctx, id)
	if err != nil {
		return err
	}
	var early, late time.Duration
	step := func(ctx context.Context, tx ports.Stores) error {
		early, late = 0, -1
		_, err := deliveries.Change(ctx, tx, s.renderer, tenant, id, s.clock.Now(), func(d *domain.Delivery) ([]domain.Event, error) {
			// Take the time after the wait for the lock.
			now, simulation := s.clock.Now(), d.Simulation()
			event, due, err := d.Simulate(done, s.ids.ID(domain.PrefixEvent), now)
			switch {
			case err != nil:
				return nil, err
			case due:
				late = event.OccurredAt.Sub(*simulation.NextStepAt)
				return []domain.Event{event}, nil
			case simulation != nil && simulation.Step == done && simulation.NextStepAt != nil:
				early = simulation.NextStepAt.Sub(now)
			}
			return nil, nil
		})
		return err
	}
	if err = s.storage.InTx(ctx, step); err == nil && early > 0 && early <= earliness {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(early):
		}
		err = s.storage.InTx(ctx, step)
	}
	if err == nil && late >= 0 {
		s.late(late)
	}
	return err
}

// stepID names a step for the queue.
func stepID(step ports.DueStep) string {
	return string(step.Delivery) + "/" + strconv.Itoa(step.Done)
}

func parseStepID(stepID string) (id domain.ID, done int, err error) {
	delivery, number, ok := strings.Cut(stepID, "/")
	if !ok {
		return "", 0, errors.New("" + strconv.Quote(stepID) + " names no step")
	}
	if done, err = strconv.Atoi(number); err != nil {
		return "", 0, errors.New("" + strconv.Quote(stepID) + " names no step")
	}
	id, err = domain.ParseID(domain.PrefixDelivery, delivery)
	return id, done, err
}
