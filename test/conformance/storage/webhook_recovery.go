package storage

import (
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testWebhookRecovery(t *testing.T, b ports.Database) {
	// scene has an endpoint with eight events a minute apart, the newest first:
	// two of each status, pending, succeeded, failed and held.
	scene := func(t *testing.T) (domain.WebhookEndpoint, []domain.WebhookDelivery) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		insertEndpoint(t, b, tenant)
		for i := range 8 {
			bookWrite(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = sample.Now.Add(time.Duration(i) * time.Minute) }))
		}
		all := sentTo(t, b, e)
		for i, s := range []domain.WebhookStatus{"", domain.WebhookSucceeded, domain.WebhookFailed, domain.WebhookHeld} {
			if s != "" {
				settled(t, b, tenant, all[i].ID, s)
				settled(t, b, tenant, all[i+4].ID, s)
			}
		}
		return e, sentTo(t, b, e)
	}
	long := domain.Recovery{Since: sample.Now.Add(-time.Hour), Until: sample.Now.Add(time.Hour)}

	for name, c := range map[string]struct {
		change func(*domain.Recovery)
		limit  int
		want   []int // of all, which are a minute apart and the newest first
	}{
		"all that failed or was held": {func(*domain.Recovery) {}, 100, []int{2, 3, 6, 7}},
		"what failed":                 {func(r *domain.Recovery) { r.Only = domain.WebhookFailed }, 100, []int{2, 6}},
		"what was held":               {func(r *domain.Recovery) { r.Only = domain.WebhookHeld }, 100, []int{3, 7}},
		"the oldest first":            {func(*domain.Recovery) {}, 3, []int{3, 6, 7}},
		"since then, inclusively":     {func(r *domain.Recovery) { r.Since = sample.Now.Add(4 * time.Minute) }, 100, []int{2, 3}},
		"since a moment later":        {func(r *domain.Recovery) { r.Since = sample.Now.Add(4*time.Minute + 1) }, 100, []int{2}},
		"until then, exclusively":     {func(r *domain.Recovery) { r.Until = sample.Now.Add(4 * time.Minute) }, 100, []int{6, 7}},
		"nothing":                     {func(r *domain.Recovery) { r.Until = r.Since }, 100, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e, want := scene(t)
			r := long
			c.change(&r)
			queued, running := recovered(t, b, e.ID, r, c.limit)
			if queued != len(c.want) || running {
				t.Errorf("queued %d, running %t, want %d", queued, running, len(c.want))
			}
			for _, i := range c.want {
				d := &want[i]
				d.Status, d.DueAt, d.Used, d.Trigger, d.Back = domain.WebhookPending, new(later), 0, domain.TriggerRecover, ""
			}
			wantEqual(t, "afterwards", sentTo(t, b, e), want)
		})
	}

	t.Run("one at a time, until all of it were tried", func(t *testing.T) {
		e, all := scene(t)
		queued, running := recovered(t, b, e.ID, long, 2)
		wantEqual(t, "queued", queued, 2)
		wantEqual(t, "running", running, false)
		before := sentTo(t, b, e)
		queued, running = recovered(t, b, e.ID, long, 100)
		wantEqual(t, "queued beside it", queued, 0)
		wantEqual(t, "running beside it", running, true)
		wantEqual(t, "meanwhile", sentTo(t, b, e), before)

		token := leaseOf(t, b, e)
		for i, r := range []domain.WebhookResult{sample.Arrived(later), sample.Refused(later)} {
			d := must(b.Read().Webhooks.Delivery(t.Context(), e.Tenant, all[7-i].ID))(t)
			if err := b.Outbox().Record(t.Context(), e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(d, r, later)},
				domain.WebhookHealth{}); err != nil {
				t.Fatal(err)
			}
		}
		queued, running = recovered(t, b, e.ID, long, 100)
		wantEqual(t, "queued afterwards", queued, 2)
		wantEqual(t, "running afterwards", running, false)
	})

	t.Run("what another endpoint recovers does not matter", func(t *testing.T) {
		one, _ := scene(t)
		two, _ := scene(t)
		recovered(t, b, one.ID, long, 1)
		queued, running := recovered(t, b, two.ID, long, 100)
		wantEqual(t, "queued", queued, 4)
		wantEqual(t, "running", running, false)
	})
}
