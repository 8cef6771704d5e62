package storage

import (
	"context"
	"slices"
	"sync"
	"testing"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testAnnouncements(t *testing.T, b ports.Database) {
	var mu sync.Mutex
	var heard []domain.ID
	b.OnFanout(func(endpoints []domain.ID) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, endpoints...)
	})
	take := func() []domain.ID {
		mu.Lock()
		defer mu.Unlock()
		all := heard
		heard = nil
		slices.Sort(all)
		return slices.Compact(all)
	}
	tenant := newTenant(t, b)
	one, two := insertEndpoint(t, b, tenant), insertEndpoint(t, b, tenant)
	off := insertEndpoint(t, b, tenant, disabled)
	insertEndpoint(t, b, live(tenant))
	insertEndpoint(t, b, tenant, taking("delivery.failed"))
	both := []domain.ID{one.ID, two.ID}
	wantEqual(t, "after inserts", len(take()), 0)

	w := bookWrite(t, b, sample.BookingWrite(tenant))
	wantEqual(t, "after a booking", take(), both)
	wantError(t, "the same again", b.Book(t.Context(), w), ports.ErrKeyTaken)
	wantEqual(t, "after a refusal", len(take()), 0)

	change := func(end error) error {
		return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
			if err != nil {
				return err
			}
			event, err := d.Move(domain.Assigned, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now)
			if err != nil {
				return err
			}
			if err := tx.Deliveries.Update(ctx, tenant, d, sample.Published(event)); err != nil {
				return err
			}
			wantEqual(t, "before the commit", len(take()), 0)
			return end
		})
	}
	wantError(t, "InTx", change(errChangedMind), errChangedMind)
	wantEqual(t, "after a rollback", len(take()), 0)
	wantError(t, "InTx", change(nil), nil)
	wantEqual(t, "after a change", take(), both)

	inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
		_, err := tx.Webhooks.PublishTo(ctx, one, sample.EndpointEvent(domain.EventEndpointTest))
		return err
	})
	wantEqual(t, "after a test", take(), []domain.ID{one.ID})
	d := sentTo(t, b, two)[0]
	settled(t, b, tenant, d.ID, domain.WebhookFailed)
	take()
	changeDelivery(t, b, tenant, d.ID, func(d *domain.WebhookDelivery) { d.Redeliver(later) })
	wantEqual(t, "after a redelivery", take(), []domain.ID{two.ID})
	settled(t, b, tenant, d.ID, domain.WebhookFailed)
	take()
	recovered(t, b, two.ID, domain.Recovery{Since: sample.Now, Until: later}, 10)
	wantEqual(t, "after a recovery", take(), []domain.ID{two.ID})

	one.Enabled, one.Disabled = false, domain.DisabledGone
	if err := b.Outbox().Disable(t.Context(), one, leaseOf(t, b, one), sample.EndpointEvent(domain.EventEndpointDisabled)); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "after a disabling", take(), []domain.ID{two.ID})
	if statusesOf(sentTo(t, b, off))[domain.WebhookHeld] != 3 {
		t.Error("a disabled endpoint keeps what it is not told of")
	}
}
