package storage

import (
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testEndpointLeases(t *testing.T, b ports.Database) {
	o := b.Outbox()

	t.Run("one owner at a time", func(t *testing.T) {
		e := insertEndpoint(t, b, newTenant(t, b))
		one, two := sample.ID("").Hex(), sample.ID("").Hex()
		lease := func(token string, lasting time.Duration, want bool) {
			t.Helper()
			got, leased, err := o.Lease(t.Context(), e.ID, token, lasting)
			if leased != want || err != nil {
				t.Errorf("leased %t (%v), want %t", leased, err, want)
			}
			if leased {
				wantEqual(t, "the endpoint", got, e)
			}
		}
		lease(one, time.Minute, true)
		lease(one, time.Minute, true)
		lease(two, time.Minute, false)
		wantError(t, "Renew by another", errorOf(o.Renew(t.Context(), e.ID, two, time.Minute)), ports.ErrEndpointLost)
		release(t, b, e, two) // does nothing
		lease(two, time.Minute, false)
		release(t, b, e, one)
		wantError(t, "Renew after Release", errorOf(o.Renew(t.Context(), e.ID, one, time.Minute)), ports.ErrEndpointLost)
		lease(two, time.Minute, true)
		wantEqual(t, "Renew", must(o.Renew(t.Context(), e.ID, two, time.Minute))(t), e)

		must(o.Renew(t.Context(), e.ID, two, -time.Second))(t) // its time is over
		wantEqual(t, "Renew by who was slow", must(o.Renew(t.Context(), e.ID, two, -time.Second))(t), e)
		lease(one, time.Minute, true)
		wantError(t, "Renew by who was too slow", errorOf(o.Renew(t.Context(), e.ID, two, time.Minute)), ports.ErrEndpointLost)
		release(t, b, e, two)
		lease(two, time.Minute, false)
	})

	t.Run("a lease ends by the clock of the database", func(t *testing.T) {
		e := insertEndpoint(t, b, newTenant(t, b))
		one, two := sample.ID("").Hex(), sample.ID("").Hex()
		begun := time.Now()
		const lasting = 400 * time.Millisecond
		if _, leased, err := o.Lease(t.Context(), e.ID, one, lasting); !leased || err != nil {
			t.Fatal(leased, err)
		}
		eventually(t, "the lease ends", func() bool {
			_, leased, err := o.Lease(t.Context(), e.ID, two, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return leased
		})
		if took := time.Since(begun); took < lasting-10*time.Millisecond {
			t.Errorf("a lease of %v ended after %v", lasting, took)
		}
	})

	t.Run("of many one gets it", func(t *testing.T) {
		e := insertEndpoint(t, b, newTenant(t, b))
		wantOneWinner(t, together(racers, func(int) error {
			_, leased, err := o.Lease(t.Context(), e.ID, sample.ID("").Hex(), time.Minute)
			if err == nil && !leased {
				err = ports.ErrEndpointLost
			}
			return err
		}), ports.ErrEndpointLost)
	})

	t.Run("an endpoint whose circuit is open is nobody's, but where it is disabled", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		opened := func(until time.Time) {
			t.Helper()
			token := leaseOf(t, b, e)
			e.Health = domain.WebhookHealth{Failures: 10, FailingSince: &until, OpenUntil: &until, Opened: 1}
			wantError(t, "Record", o.Record(t.Context(), e.ID, token, nil, e.Health), nil)
			release(t, b, e, token)
		}
		lease := func(want bool) {
			t.Helper()
			token := sample.ID("").Hex()
			if _, leased, err := o.Lease(t.Context(), e.ID, token, time.Minute); leased != want || err != nil {
				t.Errorf("leased %t (%v), want %t", leased, err, want)
			}
			release(t, b, e, token)
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		opened(now.Add(-time.Second))
		lease(true)
		opened(now.Add(10 * time.Minute)) // as long as one is at most
		lease(false)
		e.Enabled, e.Disabled, e.UpdatedAt = false, domain.DisabledByCaller, now
		updateEndpoint(t, b, e)
		lease(true)
	})

	t.Run("an endpoint that is gone is nobody's", func(t *testing.T) {
		e := insertEndpoint(t, b, newTenant(t, b))
		token := leaseOf(t, b, e)
		deleteEndpoint(t, b, e)
		wantError(t, "Renew", errorOf(o.Renew(t.Context(), e.ID, token, time.Minute)), ports.ErrEndpointLost)
		wantError(t, "Release", o.Release(t.Context(), e.ID, token), nil)
		for _, id := range []domain.ID{e.ID, sample.ID(domain.PrefixWebhookEndpoint), "", "nonsense"} {
			if _, leased, err := o.Lease(t.Context(), id, token, time.Minute); leased || err != nil {
				t.Errorf("Lease of %q: %t (%v)", id, leased, err)
			}
		}
	})

	t.Run("what was made pending beside a disabling is held when the endpoint is leased", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		disabled(&e)
		updateEndpoint(t, b, e)
		changeDelivery(t, b, tenant, domain.WebhookDeliveryID(w.Event.ID, e.Slot), func(d *domain.WebhookDelivery) { d.Redeliver(later) })
		leaseOf(t, b, e)
		if d := theOne(t, b, e); d.Status != domain.WebhookHeld || d.DueAt != nil {
			t.Errorf("the webhook delivery is %s, due %v, want it held", d.Status, d.DueAt)
		}
	})
}
