//go:build mutants

package gormstore

import (
	"context"
	"os"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// mutantEarliness is how much too early everything is with simulation_early,
// and mutantMemory how long a step stays due with simulation_forgotten.
const (
	mutantEarliness = 100 * time.Millisecond
	mutantMemory    = 500 * time.Millisecond
)

func mutant(bug string) bool { return os.Getenv("WAYBILL_MUTANT") == bug }

func newDeliveries(s session) ports.DeliveryStore    { return mutantDeliveries{deliveries{s}} }
func newSimulations(s session) ports.SimulationStore { return mutantSimulations{simulations{s}} }

// mutantDeliveries and mutantSimulations break the rule that WAYBILL_MUTANT
// names.
type mutantDeliveries struct{ deliveries }

func (s mutantDeliveries) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	switch {
	case mutant("simulation_unlocked"): // two steps at the same moment decide on the same state
		d, err := s.Get(ctx, t, id)
		time.Sleep(mutantPause)
		return d, err
	case mutant("simulation_early"):
		var row deliveryRow
		err := s.ofApplication(ctx, t).Clauses(forUpdate).Where("id = ?", rowIDOf(id)).Take(&row).Error
		if err != nil {
			return nil, s.dialect.failed("read a delivery", err)
		}
		if next := row.SimulationNextAt; next != nil {
			next.time = next.time.Add(-mutantEarliness)
		}
		return row.domain(), nil
	}
	return s.deliveries.Lock(ctx, t, id)
}

type mutantSimulations struct{ simulations }

func (s mutantSimulations) Lock(ctx context.Context, t domain.Tenant) error {
	if mutant("simulation_unlocked") {
		return nil
	}
	return s.simulations.Lock(ctx, t)
}

func (s mutantSimulations) Enter(ctx context.Context, t domain.Tenant) error {
	if !mutant("simulation_counted") {
		return s.simulations.Enter(ctx, t)
	}
	// Of those that count at the same moment none sees the others.
	running, _, err := s.Load(ctx, t)
	if err != nil {
		return err
	}
	if running >= domain.MaxRunningSimulations {
		return ports.ErrSimulationLimit
	}
	time.Sleep(mutantPause)
	return s.with(ctx).Exec("INSERT INTO simulation_counts (business_id, application_id, running) VALUES (?, ?, 1)"+
		" ON CONFLICT (application_id) DO UPDATE SET running = simulation_counts.running + 1",
		rowIDOf(t.BusinessID), rowIDOf(t.ApplicationID)).Error
}

func (s mutantSimulations) Due(ctx context.Context, by time.Time, limit int) ([]ports.DueStep, error) {
	switch {
	case mutant("simulation_forgotten"): // what is not done at its time is not looked for
		steps, err := s.simulations.Due(ctx, by, limit)
		var kept []ports.DueStep
		for _, step := range steps {
			if time.Since(step.DueAt) < mutantMemory {
				kept = append(kept, step)
			}
		}
		return kept, err
	case mutant("simulation_early"):
		steps, err := s.simulations.Due(ctx, by, limit)
		for i := range steps {
			steps[i].DueAt = steps[i].DueAt.Add(-mutantEarliness)
		}
		return steps, err
	}
	return s.simulations.Due(ctx, by, limit)
}
