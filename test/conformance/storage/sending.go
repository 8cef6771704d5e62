package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// pause stops or resumes the sending of an environment.
func pause(t testing.TB, b ports.Database, p domain.SendingPause) (paused bool) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		paused, err = tx.Sending.Pause(ctx, p)
		return err
	})
	return paused
}

func resume(t testing.TB, b ports.Database, e domain.Environment, at time.Time) (ended *domain.SendingPause) {
	t.Helper()
	inTx(t, b, func(ctx context.Context, tx ports.Stores) (err error) {
		ended, err = tx.Sending.Resume(ctx, e, at)
		return err
	})
	return ended
}

func testSending(t *testing.T, b ports.Database) {
	sandbox := newTenant(t, b)
	since := sample.Now.Add(-time.Hour)
	failing := func(w *domain.WebhookEndpoint) { w.Health = domain.WebhookHealth{Failures: 3, FailingSince: &since} }
	mine, other := insertEndpoint(t, b, sandbox, failing), insertEndpoint(t, b, live(sandbox), failing)
	bookAt(t, b, sandbox, sample.Now)
	bookAt(t, b, live(sandbox), sample.Now)
	waits := func(e domain.WebhookEndpoint) bool {
		t.Helper()
		one := must(b.Outbox().WaitingFor(t.Context(), e.ID, sample.Now, 0))(t)
		among := false
		for _, w := range must(b.Outbox().Waiting(t.Context(), sample.Now, 0, 1000))(t) {
			among = among || w.ID == e.ID
		}
		wantEqual(t, "Waiting, as WaitingFor", among, one != nil)
		return among
	}
	leases := func(e domain.WebhookEndpoint) bool {
		t.Helper()
		token := sample.ID("").Hex()
		_, leased, err := b.Outbox().Lease(t.Context(), e.ID, token, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		release(t, b, e, token)
		return leased
	}
	token := leaseOf(t, b, mine) // from before the pause

	p := domain.SendingPause{Environment: domain.Sandbox, Since: sample.Now, By: "Ama ünïcode", Reason: "the network is down"}
	wantEqual(t, "Pause", pause(t, b, p), true)
	again := p
	again.By, again.Reason = "Kofi", "another reason"
	wantEqual(t, "Pause of what is paused", pause(t, b, again), false)
	wantEqual(t, "Pauses", must(b.Outbox().Pauses(t.Context()))(t), []domain.SendingPause{p})
	wantEqual(t, "Pauses for all", must(b.Read().Sending.Pauses(t.Context()))(t), []domain.SendingPause{p})

	must(b.Outbox().Renew(t.Context(), mine.ID, token, time.Minute))(t) // what is on its way is still recorded
	release(t, b, mine, token)
	wantEqual(t, "the sandbox waits", waits(mine), false)
	wantEqual(t, "the sandbox is leased", leases(mine), false)
	wantEqual(t, "live waits", waits(other), true)
	wantEqual(t, "live is leased", leases(other), true)

	at := sample.Now.Add(72 * time.Hour)
	wantEqual(t, "Resume of the other", resume(t, b, domain.Live, at), (*domain.SendingPause)(nil))
	wantEqual(t, "Resume", resume(t, b, domain.Sandbox, at), &p)
	wantEqual(t, "Resume twice", resume(t, b, domain.Sandbox, at), (*domain.SendingPause)(nil))
	wantEqual(t, "Pauses afterwards", len(must(b.Outbox().Pauses(t.Context()))(t)), 0)
	wantEqual(t, "the sandbox waits afterwards", waits(mine), true)
	wantEqual(t, "the sandbox is leased afterwards", leases(mine), true)
	since = sample.Now.Add(-time.Hour)
	wantEqual(t, "live fails since", must(b.Read().Webhooks.Endpoint(t.Context(), other.Tenant, other.ID))(t).Health.FailingSince, &since)
	wantEqual(t, "the sandbox fails since", must(b.Read().Webhooks.Endpoint(t.Context(), mine.Tenant, mine.ID))(t).Health.FailingSince, &at)
}
