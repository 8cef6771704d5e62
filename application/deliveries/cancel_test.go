package deliveries_test

import (
	"context"
	"testing"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
	"waybill/test/stage"
)

func TestCancelStopsADeliveryWithItsEvent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	got, err := s.Cancel(t.Context(), idempotency.Request{Tenant: s.tenant}, d.ID, render)
	if err != nil || got.Replayed {
		t.Fatalf("%+v, %v", got, err)
	}
	stored, err := s.Get(t.Context(), s.tenant, d.ID)
	if err != nil || stored.Status() != domain.Cancelled || string(render(stored).Body) != string(got.Answer.Body) {
		t.Errorf("answered\n%s\nstored\n%s\n%v", got.Answer.Body, render(stored).Body, err)
	}
	events := s.events(t, s.tenant, d.ID)
	if len(events) != 2 || events[1].Type != "delivery.cancelled" || events[1].Sequence != 2 || events[1].Reason != "cancelled_by_caller" {
		t.Errorf("events %+v", events)
	}
}

func TestCancelTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	first, err := s.Cancel(t.Context(), idempotency.Request{Tenant: s.tenant}, d.ID, render)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Cancel(t.Context(), idempotency.Request{Tenant: s.tenant}, d.ID, render)
	if err != nil || !stage.SameAnswer(first, second) || len(s.events(t, s.tenant, d.ID)) != 2 {
		t.Errorf("%s, %v, %d events", second.Answer.Body, err, len(s.events(t, s.tenant, d.ID)))
	}
}

func TestCancelWithAKeyIsReplayed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	first, err := s.Cancel(t.Context(), stage.Key(s.tenant, "cancel-0001", 3), d.ID, render)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Cancel(t.Context(), stage.Key(s.tenant, "cancel-0001", 3), d.ID, render)
	if err != nil || !second.Replayed || !stage.SameAnswer(first, second) {
		t.Errorf("%+v, %v", second, err)
	}
}

func TestWhatIsNotTheirsCannotBeSeenOrCancelled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	live := s.tenant
	live.Environment = domain.Live
	for name, tenant := range map[string]domain.Tenant{
		"another business": s.NewTenant(t), "another application": s.NewApplication(t, s.tenant), "live": live,
	} {
		if _, err := s.Get(t.Context(), tenant, d.ID); !domain.HasCode(err, "NOT_FOUND") {
			t.Errorf("%s reads it: %v", name, err)
		}
		if _, err := s.Timeline(t.Context(), tenant, d.ID); !domain.HasCode(err, "NOT_FOUND") {
			t.Errorf("%s reads its timeline: %v", name, err)
		}
		if _, err := s.Cancel(t.Context(), stage.Key(tenant, "cancel-0001", 3), d.ID, render); !domain.HasCode(err, "NOT_FOUND") {
			t.Errorf("%s cancels it: %v", name, err)
		}
		if found, err := s.List(t.Context(), tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 10}); err != nil || len(found) != 0 {
			t.Errorf("%s lists %d, %v", name, len(found), err)
		}
	}
	if events, err := s.Timeline(t.Context(), s.tenant, d.ID); err != nil || len(events) != 1 {
		t.Errorf("its own timeline: %v, %v", events, err)
	}
	if found, err := s.List(t.Context(), s.tenant, domain.DeliveryFilter{}, domain.PageRequest{Limit: 10}); err != nil || len(found) != 1 {
		t.Errorf("its own list: %d, %v", len(found), err)
	}
}

// move advances the delivery as the platform does, under the same lock.
func (s *scene) move(id domain.ID, to domain.Status) error {
	return s.Store.InTx(context.Background(), func(ctx context.Context, tx ports.Stores) error {
		d, err := tx.Deliveries.Lock(ctx, s.tenant, id)
		if err != nil {
			return err
		}
		event, err := d.Move(to, domain.ActorPlatform, "", s.IDs.ID(domain.PrefixEvent), s.Clock.Now())
		if err != nil {
			return err
		}
		return tx.Deliveries.Update(ctx, s.tenant, d, sample.Published(event))
	})
}

func TestAPickedUpDeliveryIsNotCancelledAndTheKeyStaysFree(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := s.mustCreate(t, stage.Key(s.tenant, "order-0001", 1), order(nil))
	for _, to := range []domain.Status{domain.Assigned, domain.PickedUp} {
		if err := s.move(d.ID, to); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Cancel(t.Context(), stage.Key(s.tenant, "cancel-0001", 3), d.ID, render)
	wantCode(t, err, "DELIVERY_NOT_CANCELLABLE")
	if stored, err := s.Get(t.Context(), s.tenant, d.ID); err != nil || stored.Status() != domain.PickedUp ||
		len(s.events(t, s.tenant, d.ID)) != 3 {
		t.Errorf("%+v, %v", stored, err)
	}
	if _, err := s.Store.Read().Idempotency.Find(t.Context(), s.tenant, "cancel-0001"); !domain.HasCode(err, "NOT_FOUND") {
		t.Errorf("the refusal was remembered: %v", err)
	}
}
