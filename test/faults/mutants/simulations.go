//go:build mutants

package gormstore

import (
	"context"
	"os"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// plantedEarliness is how much too early everything is with simulation_early,
// and plantedMemory how long a step stays due with simulation_forgotten.
const (
	plantedEarliness = 100 * time.Millisecond
	plantedMemory    = 500 * time.Millisecond
)

func planted(bug string) bool { return os.Getenv("WAYBILL_PLANT") == bug }

func newDeliveries(s session) ports.DeliveryStore    { return plantedDeliveries{deliveries{s}} }
func newSimulations(s session) ports.SimulationStore { return plantedSimulations{simulations{s}} }

// plantedDeliveries and plantedSimulations break the rule that WAYBILL_PLANT
// names.
type plantedDeliveries struct{ deliveries }

func (s plantedDeliveries) Lock(ctx context.Context, t domain.Tenant, id domain.ID) (*domain.Delivery, error) {
	switch {
	case planted("simulation_unlocked"): // who decides at the same moment decides on the same state
		d, err := s.Get(ctx, t, id)
		time.Sleep(plantedPause)
		return d, err
	case planted("simulation_early"):
		var row deliveryRow
		err := s.ofApplication(ctx, t).Clauses(forUpdate).Where("id = ?", rowIDOf(id)).Take(&row).Error
		if err != nil {
			return nil, s.dialect.failed("read a delivery", err)
		}
		if next := row.SimulationNextAt; next != nil {
			next.time = next.time.Add(-plantedEarliness)
		}
		return row.domain(), nil
	}
	return s.deliveries.Lock(ctx, t, id)
}

type plantedSimulations struct{ simulations }

func (s plantedSimulations) Lock(ctx context.Context, t domain.Tenant) error {
	if planted("simulation_unlocked") {
		return nil
	}
	return s.simulations.Lock(ctx, t)
}

func (s plantedSimulations) Enter(ctx context.Context, t domain.Tenant) error {
	if !planted("simulation_counted") {
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
	time.Sleep(plantedPause)
	return s.with(ctx).Exec("INSERT INTO simulation_counts (application_id, running) VALUES (?, 1)"+
		" ON CONFLICT (application_id) DO UPDATE SET running = simulation_counts.running + 1", rowIDOf(t.ApplicationID)).Error
}

func (s plantedSimulations) Due(ctx context.Context, by time.Time, limit int) ([]ports.DueStep, error) {
	switch {
	case planted("simulation_forgotten"): // what is not done at its time is not looked for
		steps, err := s.simulations.Due(ctx, by, limit)
		var kept []ports.DueStep
		for _, step := range steps {
			if time.Since(step.DueAt) < plantedMemory {
				kept = append(kept, step)
			}
		}
		return kept, err
	case planted("simulation_early"):
		steps, err := s.simulations.Due(ctx, by, limit)
		for i := range steps {
			steps[i].DueAt = steps[i].DueAt.Add(-plantedEarliness)
		}
		return steps, err
	}
	return s.simulations.Due(ctx, by, limit)
}
