package deliveries_test

import (
	"context"
	"errors"
	"maps"
	"testing"

	"waybill/application/deliveries"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

func TestAdvanceMovesADeliveryOfAnyTenantAndKeepsWhoDidIt(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	if _, err := m.Advance(t.Context(), dispatcher, m.id, domain.Assigned, ""); err != nil {
		t.Fatal(err)
	}
	moved, err := m.Advance(t.Context(), dispatcher, m.id, domain.Failed, domain.ReasonNoRider)
	if err != nil || moved.Status() != domain.Failed || moved.Lifecycle().Sequence != 3 {
		t.Fatalf("%+v, %v", moved, err)
	}
	s := m.story(t)
	if e := s.Timeline[2]; s.Delivery.Lifecycle() != moved.Lifecycle() || e.Type != "delivery.failed" || e.Previous != domain.Assigned ||
		e.Reason != domain.ReasonNoRider || !e.OccurredAt.Equal(moved.Lifecycle().UpdatedAt) {
		t.Errorf("stored %+v, event %+v", s.Delivery.Lifecycle(), e)
	}
	for i, details := range []map[string]string{{"from": "assigned", "to": "failed", "reason_code": "no_rider"}, {"from": "booked", "to": "assigned"}} {
		if c := s.Changes[i]; c.Actor != dispatcher || c.Action != "delivery.advance" || c.Target != m.id ||
			c.BusinessID != moved.Tenant.BusinessID || !maps.Equal(c.Details, details) {
			t.Errorf("kept %+v", c)
		}
	}
}

func TestAdvanceLeavesToAScenarioWhatItStillMoves(t *testing.T) {
	t.Parallel()
	for status, code := range map[domain.SimulationStatus]string{domain.SimulationRunning: "SIMULATION_RUNNING", domain.SimulationStopped: ""} {
		m := newMoving(t, func(w *ports.BookingWrite) {
			w.Delivery.Tenant.Environment = domain.Sandbox
			sample.Simulate(*w)
			life := w.Delivery.Lifecycle()
			if life.Simulation.Status = status; status == domain.SimulationStopped {
				life.Simulation.NextStepAt = nil
			}
			w.Delivery = domain.RestoreDelivery(w.Delivery.Booking, life)
		})
		_, err := m.Advance(t.Context(), dispatcher, m.id, domain.Assigned, "")
		if code == "" && err != nil || code != "" && !domain.HasCode(err, code) {
			t.Errorf("%s: %v", status, err)
		}
		if s := m.story(t); (s.Delivery.Status() == domain.Assigned) != (code == "") || len(s.Changes) != len(s.Timeline)-1 {
			t.Errorf("%s: %s, %d changes", status, s.Delivery.Status(), len(s.Changes))
		}
	}
}

// again is a storage that starts every transaction over.
type again struct{ ports.Storage }

func (a again) InTx(ctx context.Context, fn func(context.Context, ports.Stores) error) error {
	undone := errors.New("undone")
	if err := a.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error { return errors.Join(fn(ctx, tx), undone) }); !errors.Is(err, undone) {
		return err
	}
	return a.Storage.InTx(ctx, fn)
}

// A delivery kept from the first run would be refused, since it was moved already.
func TestAdvanceDecidesAgainWhenTheStorageStartsOver(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	o := deliveries.NewOperations(again{m.Store}, m.Clock, m.IDs, stage.Renderer{})
	if moved, err := o.Advance(t.Context(), dispatcher, m.id, domain.Assigned, ""); err != nil || moved.Lifecycle().Sequence != 2 {
		t.Errorf("%+v, %v", moved, err)
	}
	if s := m.story(t); len(s.Timeline) != 2 || len(s.Changes) != 1 {
		t.Errorf("%d events, %d changes", len(s.Timeline), len(s.Changes))
	}
}

func TestAStepThePlatformMayNotTakeChangesNothing(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	for _, c := range []struct {
		to     domain.Status
		reason domain.ReasonCode
		code   string
	}{
		{domain.Delivered, "", "TRANSITION_INVALID"},
		{domain.Booked, "", "TRANSITION_INVALID"},
		{domain.Assigned, domain.ReasonOther, "VALIDATION_ERROR"},
		{domain.Cancelled, domain.ReasonCancelledByCaller, "VALIDATION_ERROR"}, // it does not act in the customer's name
	} {
		if moved, err := m.Advance(t.Context(), dispatcher, m.id, c.to, c.reason); moved != nil || !domain.HasCode(err, c.code) {
			t.Errorf("%s %s: %+v, %v", c.to, c.reason, moved, err)
		}
	}
	if s := m.story(t); len(s.Timeline) != 1 || len(s.Changes) != 0 {
		t.Errorf("%d events, %d changes", len(s.Timeline), len(s.Changes))
	}
}
