package bulk_test

import (
	"context"
	"testing"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
)

func TestAnItemWhoseSimulationCannotRunFailsAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Write(t, func(ctx context.Context, tx ports.Stores) error { // room for two more
		for range domain.MaxRunningSimulations - 2 {
			if err := tx.Simulations.Enter(ctx, s.tenant); err != nil {
				return err
			}
		}
		return nil
	})
	scenarios := []domain.Scenario{"delivered", "cod_refused", "stalled", "delivered", "manual", ""}
	got, err := s.start("a").send(t.Context(), s.ask, orders(len(scenarios), func(i int, o *deliveries.Order) {
		if scenarios[i] != "" {
			o.Simulation = &domain.Plan{Scenario: scenarios[i], StepSeconds: 15}
		}
	}))
	s.wantOutcome(t, got, err, len(scenarios), 2)
	for i, want := range []string{"", "SIMULATION_NOT_APPLICABLE", "", "SIMULATION_LIMIT", "", ""} {
		if e := outcomeOf(t, got).Results[i]; e.Code != want {
			t.Errorf("item %d: %+v, want %q", i, e, want)
		}
	}
	running, _, err := s.Store.Read().Simulations.Load(t.Context(), s.tenant)
	if err != nil || running != 2 {
		t.Errorf("%d run (error %v), want 2", running, err)
	}
}
