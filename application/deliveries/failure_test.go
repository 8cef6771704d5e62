package deliveries_test

import (
	"context"
	"errors"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

// fails lets the delivery fail, whatever its status.
func (s *scene) fails(t *testing.T, id domain.ID) {
	t.Helper()
	s.Write(t, func(ctx context.Context, tx ports.Stores) error {
		d, err := tx.Deliveries.Lock(ctx, s.tenant, id)
		if err != nil {
			return err
		}
		for _, to := range []domain.Status{domain.Assigned, domain.Failed} {
			e, err := d.Move(to, domain.ActorHelper, "", sample.ID(domain.PrefixEvent), s.Clock.Now())
			if err != nil {
				return err
			}
			if err := tx.Deliveries.Update(ctx, d.Tenant, d, ports.EventWrite{Event: e, Payload: []byte("{}")}); err != nil {
				return err
			}
		}
		return nil
	})
}

// readOnly is storage that refuses every write.
type readOnly struct {
	ports.Storage
	tried int
	on    bool
}

func (r *readOnly) InTx(ctx context.Context, work func(context.Context, ports.Stores) error) error {
	r.tried++
	if r.on {
		return errors.New("read-only")
	}
	return r.Storage.InTx(ctx, work)
}

func TestThatAFailedDeliveryWasReadIsKeptOnceAndNeverInTheWayOfTheRead(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(s *scene, id domain.ID) error{
		"get":      func(s *scene, id domain.ID) error { _, err := s.Get(t.Context(), s.tenant, id); return err },
		"timeline": func(s *scene, id domain.ID) error { _, err := s.Timeline(t.Context(), s.tenant, id); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			storage := &readOnly{Storage: s.Store}
			s.storage = storage
			s.build()
			id := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil)).ID
			shown := func() []domain.Readied {
				t.Helper()
				kept, err := s.Store.Read().Readiness.OfApplication(t.Context(), s.tenant.ApplicationID)
				if err != nil {
					t.Fatal(err)
				}
				return kept
			}
			reads := func(what string, want, tries int) {
				t.Helper()
				storage.tried = 0
				if err := read(s, id); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if kept := shown(); len(kept) != want || storage.tried != tries {
					t.Errorf("%s: %+v are kept after %d transactions, want %d after %d", what, kept, storage.tried, want, tries)
				}
			}
			reads("under way", 0, 0)
			s.fails(t, id)
			storage.on = true
			reads("failed, while nothing can be written", 0, 1)
			storage.on = false
			reads("failed", 1, 1)
			reads("failed, once more", 1, 0)
			if kept := shown(); kept[0].Step != domain.ReadyFailure || kept[0].Source != id || kept[0].ApplicationID != s.tenant.ApplicationID {
				t.Errorf("kept is %+v", kept)
			}
		})
	}
}
