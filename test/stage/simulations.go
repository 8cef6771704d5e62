package stage

import (
	"context"
	"errors"
	"testing"

	"waybill/domain"
	"waybill/ports"
)

// WantRunning fails unless exactly so many simulations of the application run,
// and as many are counted.
func (s *Stage) WantRunning(t *testing.T, tenant domain.Tenant, want int) {
	t.Helper()
	running, _, err := s.Store.Read().Simulations.Load(context.Background(), tenant)
	if counted := s.counted(t, tenant); err != nil || running != want || counted != want {
		t.Errorf("%d simulations run and %d are counted (error %v), want %d", running, counted, err, want)
	}
}

// counted is found out by letting in as many more as there may be, and taking
// them back.
func (s *Stage) counted(t *testing.T, tenant domain.Tenant) (n int) {
	t.Helper()
	lookedAround := errors.New("only looking")
	err := s.Store.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error {
		for n = domain.MaxRunningSimulations; n >= 0; n-- {
			if err := tx.Simulations.Enter(ctx, tenant); errors.Is(err, ports.ErrSimulationLimit) {
				return lookedAround
			} else if err != nil {
				return err
			}
		}
		return lookedAround
	})
	if !errors.Is(err, lookedAround) {
		t.Fatal(err)
	}
	return n
}
