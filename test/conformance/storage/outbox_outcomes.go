package storage

import (
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testWebhookOutcomes(t *testing.T, b ports.Database) {
	o := b.Outbox()
	delivery := func(t *testing.T, e domain.WebhookEndpoint, id domain.ID) domain.WebhookDelivery {
		t.Helper()
		return must(b.Read().Webhooks.Delivery(t.Context(), e.Tenant, id))(t)
	}
	// scene is an endpoint under a lease with so many events due.
	scene := func(t *testing.T, n int) (e domain.WebhookEndpoint, token string, due []domain.WebhookDelivery) {
		t.Helper()
		tenant := newTenant(t, b)
		e = insertEndpoint(t, b, tenant)
		for range n {
			bookWrite(t, b, sample.BookingWrite(tenant))
		}
		token = leaseOf(t, b, e)
		for _, w := range must(o.Due(t.Context(), e.ID, later, 1000))(t) {
			due = append(due, w.WebhookDelivery)
		}
		return e, token, due
	}

	t.Run("a batch is stored as it ended, with the health of the endpoint", func(t *testing.T) {
		e, token, due := scene(t, 130)
		other := insertEndpoint(t, b, e.Tenant)
		var outcomes []ports.WebhookOutcome
		for i, d := range due {
			r := []domain.WebhookResult{
				sample.Arrived(later), sample.Refused(later),
				{Error: domain.ErrorTimeoutConnect, StartedAt: later, Duration: 3 * time.Second},
			}[i%3]
			if i%6 == 4 {
				d.Used = 4 // the last of the schedule
			}
			outcomes = append(outcomes, sample.WebhookOutcome(d, r, later))
		}
		health := domain.WebhookHealth{
			Failures: 2, FailingSince: new(later), OpenUntil: new(later.Add(time.Millisecond)), Opened: 3, SlowUntil: new(later.Add(time.Second)),
		}
		if err := o.Record(t.Context(), e.ID, token, outcomes, health); err != nil {
			t.Fatal(err)
		}
		e.Health = health
		wantEqual(t, "the endpoint", must(b.Read().Webhooks.Endpoint(t.Context(), e.Tenant, e.ID))(t), e)
		for _, w := range outcomes {
			wantEqual(t, "the webhook delivery", delivery(t, e, w.Delivery.ID), w.Delivery)
			wantEqual(t, "its attempts", attemptsOf(t, b, e, w.Delivery.ID), []domain.WebhookAttempt{w.Attempt})
		}
		wantEqual(t, "statuses", statusesOf(sentTo(t, b, e)), map[domain.WebhookStatus]int{
			domain.WebhookSucceeded: 44, domain.WebhookPending: 65, domain.WebhookFailed: 21,
		})
		wantEqual(t, "another's", len(sentTo(t, b, other)), 0)
	})

	t.Run("attempts are kept, one behind the other", func(t *testing.T) {
		e, token, due := scene(t, 1)
		d, at := nth(t, due, 0), later
		var want []domain.WebhookAttempt
		for range 4 {
			w := sample.WebhookOutcome(d, sample.Refused(at), at)
			record(t, b, e, token, w)
			d, want, at = w.Delivery, append(want, w.Attempt), at.Add(time.Hour)
			wantEqual(t, "the webhook delivery", delivery(t, e, d.ID), d)
			wantEqual(t, "Attempts", attemptsOf(t, b, e, d.ID), want)
			wantFilled(t, w.Attempt, "WebhookAttempt.Result.RetryAfter")
		}
		w := sample.WebhookOutcome(d, sample.Arrived(at), at)
		record(t, b, e, token, w)
		wantEqual(t, "in the end", attemptsOf(t, b, e, d.ID), append(want, w.Attempt))
	})

	t.Run("an excerpt may hold anything", func(t *testing.T) {
		texts := []string{
			"", "plain", `quotes " ' \ \u0041 \x00 {}[] $1 ? :name %s`, "<script>&amp;</script>", "ɔkada 🛵  é", "line\nbreak\ttab\r\v\x01\x7f",
			strings.Repeat("🛵", 256), "\ufffd\ufeff\ufffe\U0010ffff", "\u202egnp",
		}
		e, token, due := scene(t, len(texts)+3)
		var outcomes []ports.WebhookOutcome
		for i, text := range append(texts, "NUL \x00 in it", "not \xff UTF-8", "half a surrogate \xed\xa0\x80") {
			r := sample.Refused(later)
			r.Excerpt = text
			outcomes = append(outcomes, sample.WebhookOutcome(due[i], r, later))
		}
		record(t, b, e, token, outcomes...)
		for i, w := range outcomes {
			got := attemptsOf(t, b, e, w.Delivery.ID)
			if len(got) != 1 || i < len(texts) && got[0].Result.Excerpt != texts[i] {
				t.Errorf("%q was stored as %v", w.Attempt.Result.Excerpt, got)
			}
		}
	})

	t.Run("who lost the lease stores nothing", func(t *testing.T) {
		e, token, due := scene(t, 2)
		w := sample.WebhookOutcome(due[0], sample.Arrived(later), later)
		nothing := func(what string, token string) {
			t.Helper()
			health := domain.WebhookHealth{Failures: 9, FailingSince: new(later)}
			wantError(t, what, o.Record(t.Context(), e.ID, token, []ports.WebhookOutcome{w}, health), ports.ErrEndpointLost)
			disabled := e
			disabled.Enabled, disabled.Disabled, disabled.Health = false, domain.DisabledGone, health
			err := o.Disable(t.Context(), disabled, token, sample.EndpointEvent(domain.EventEndpointDisabled))
			wantError(t, what+": Disable", err, ports.ErrEndpointLost)
			wantEqual(t, what+": the webhook delivery", delivery(t, e, due[0].ID), due[0])
			wantEqual(t, what+": attempts", len(attemptsOf(t, b, e, due[0].ID)), 0)
			wantEqual(t, what+": the endpoint", must(b.Read().Webhooks.Endpoint(t.Context(), e.Tenant, e.ID))(t), e)
		}
		nothing("another token", sample.ID("").Hex())
		must(o.Renew(t.Context(), e.ID, token, -time.Second))(t)
		next := leaseOf(t, b, e)
		nothing("the one before", token)
		release(t, b, e, next)
		nothing("after its release", next)
		last := leaseOf(t, b, e)
		deleteEndpoint(t, b, e)
		wantError(t, "a deleted endpoint", o.Record(t.Context(), e.ID, last, []ports.WebhookOutcome{w}, domain.WebhookHealth{}),
			ports.ErrEndpointLost)
	})

	t.Run("a repeat of the same outcomes changes nothing", func(t *testing.T) {
		e, token, due := scene(t, 2)
		first := sample.WebhookOutcome(due[0], sample.Refused(later), later)
		batch := []ports.WebhookOutcome{first, sample.WebhookOutcome(due[1], sample.Arrived(later), later)}
		record(t, b, e, token, batch...)
		asked := changeDelivery(t, b, e.Tenant, due[1].ID, func(d *domain.WebhookDelivery) { d.Redeliver(later) })
		record(t, b, e, token, batch...)
		wantEqual(t, "the first", delivery(t, e, due[0].ID), first.Delivery)
		wantEqual(t, "its attempts", attemptsOf(t, b, e, due[0].ID), []domain.WebhookAttempt{first.Attempt})
		wantEqual(t, "one that was asked for again meanwhile", delivery(t, e, due[1].ID), asked)
	})

	t.Run("what was held meanwhile stays so unless it arrived", func(t *testing.T) {
		e, token, due := scene(t, 2)
		disabled(&e)
		updateEndpoint(t, b, e)
		failed := sample.WebhookOutcome(due[0], sample.Refused(later), later)
		arrived := sample.WebhookOutcome(due[1], sample.Arrived(later), later)
		record(t, b, e, token, failed, arrived)
		wantEqual(t, "one that arrived", delivery(t, e, due[1].ID), arrived.Delivery)
		held := due[0]
		held.Status, held.DueAt, held.Attempts = domain.WebhookHeld, nil, 1
		wantEqual(t, "one that failed", delivery(t, e, due[0].ID), held)
		wantEqual(t, "its attempts", attemptsOf(t, b, e, due[0].ID), []domain.WebhookAttempt{failed.Attempt})
	})

	t.Run("what was asked for again while it was on its way is tried again, unless it arrived", func(t *testing.T) {
		e, token, due := scene(t, 2)
		for _, d := range due {
			settled(t, b, e.Tenant, d.ID, domain.WebhookHeld)
		}
		queued, _ := recovered(t, b, e.ID, domain.Recovery{Since: sample.Now, Until: later}, 10)
		wantEqual(t, "queued", queued, 2)
		want := delivery(t, e, due[0].ID)
		want.Attempts = 1
		due[0].Used = 4 // the last of the schedule, as far as the sender knows
		failed := sample.WebhookOutcome(due[0], sample.Refused(later), later)
		arrived := sample.WebhookOutcome(due[1], sample.Arrived(later), later)
		record(t, b, e, token, failed, arrived)
		wantEqual(t, "one that arrived", delivery(t, e, due[1].ID), arrived.Delivery)
		wantEqual(t, "one that failed", delivery(t, e, due[0].ID), want)
		wantEqual(t, "its attempts", attemptsOf(t, b, e, due[0].ID), []domain.WebhookAttempt{failed.Attempt})
	})

	t.Run("an attempt at what is not there any more is forgotten", func(t *testing.T) {
		e, token, due := scene(t, 1)
		gone := due[0]
		gone.ID = sample.ID(domain.PrefixWebhookDelivery)
		w, of := sample.WebhookOutcome(due[0], sample.Arrived(later), later), sample.WebhookOutcome(gone, sample.Arrived(later), later)
		record(t, b, e, token, of, w)
		wantEqual(t, "the other", delivery(t, e, due[0].ID), w.Delivery)
	})

	t.Run("an endpoint that is disabled keeps what is pending, and the others are told", func(t *testing.T) {
		e, token, due := scene(t, 3)
		all := insertEndpoint(t, b, e.Tenant)
		ofDeliveries := insertEndpoint(t, b, e.Tenant, taking(domain.DeliveryEvents))
		record(t, b, e, token, sample.WebhookOutcome(due[0], sample.Arrived(later), later))
		e.Enabled, e.Disabled, e.UpdatedAt = false, domain.DisabledGone, later
		e.Health = domain.WebhookHealth{Failures: 50, FailingSince: new(later)}
		event := sample.EndpointEvent(domain.EventEndpointDisabled)
		if err := o.Disable(t.Context(), e, token, event); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "the endpoint", must(b.Read().Webhooks.Endpoint(t.Context(), e.Tenant, e.ID))(t), e)
		wantEqual(t, "its own", statusesOf(sentTo(t, b, e)), map[domain.WebhookStatus]int{domain.WebhookSucceeded: 1, domain.WebhookHeld: 2})
		wantEqual(t, "what another gets", theOne(t, b, all).ID, domain.WebhookDeliveryID(event.ID, all.Slot))
		wantEqual(t, "what others get", len(sentTo(t, b, ofDeliveries)), 0)
		release(t, b, e, token)
	})

	for how, disable := range map[string]func(t *testing.T, e domain.WebhookEndpoint, token string){
		"by its customer": func(t *testing.T, e domain.WebhookEndpoint, _ string) { updateEndpoint(t, b, e) },
		"by its owner": func(t *testing.T, e domain.WebhookEndpoint, token string) {
			wantError(t, "Disable", o.Disable(t.Context(), e, token, sample.EndpointEvent(domain.EventEndpointDisabled)), nil)
		},
	} {
		t.Run("one disabled "+how+" amidst its webhooks gets none of the others, and is counted", func(t *testing.T) {
			was, count := must(o.Disabled(t.Context()))(t), func(what string, want int) {
				t.Helper()
				wantEqual(t, what, must(o.Disabled(t.Context()))(t), want)
			}
			backlog, _, err := o.Backlog(t.Context(), later)
			wantError(t, "Backlog", err, nil)
			e, token, due := scene(t, 5)
			nothing := func(what string, held int) {
				t.Helper()
				wantEqual(t, what+": due", len(must(o.Due(t.Context(), e.ID, later, 10))(t)), 0)
				wantEqual(t, what+": waiting", must(o.WaitingFor(t.Context(), e.ID, later, 0))(t), nil)
				n, _, err := o.Backlog(t.Context(), later)
				wantError(t, "Backlog", err, nil)
				wantEqual(t, what+": backlog", n, backlog)
				wantEqual(t, what+": held", statusesOf(sentTo(t, b, e))[domain.WebhookHeld], held)
			}
			record(t, b, e, token, sample.WebhookOutcome(due[0], sample.Arrived(later), later))
			count("before", was)
			disabled(&e)
			e.Health, e.UpdatedAt = domain.WebhookHealth{}, later
			disable(t, e, token)
			count("disabled", was+1)
			nothing("disabled", 4)
			wantEqual(t, "what its owner learns", must(o.Renew(t.Context(), e.ID, token, time.Minute))(t), e)
			record(t, b, e, token, sample.WebhookOutcome(due[1], sample.Arrived(later), later), sample.WebhookOutcome(due[2], sample.Refused(later),
				later))
			nothing("what was on its way is recorded", 3)
			release(t, b, e, token)
			nothing("released", 3)
			wantError(t, "Renew after Release", errorOf(o.Renew(t.Context(), e.ID, token, time.Minute)), ports.ErrEndpointLost)
			bookWrite(t, b, sample.BookingWrite(e.Tenant))
			leaseOf(t, b, e)
			nothing("leased again", 4)

			e.Enabled, e.Disabled = true, ""
			updateEndpoint(t, b, e)
			count("enabled", was)
			disabled(&e)
			updateEndpoint(t, b, e)
			count("disabled again", was+1)
			deleteEndpoint(t, b, e)
			count("deleted", was)
		})
	}

	t.Run("of very many attempts the last are listed", func(t *testing.T) {
		e, token, due := scene(t, 1)
		d := due[0]
		var all []ports.WebhookOutcome
		var want []domain.WebhookAttempt
		for range domain.MaxAttemptsListed + 2 {
			w := sample.WebhookOutcome(d, sample.Refused(later), later)
			d, all, want = w.Delivery, append(all, w), append(want, w.Attempt)
		}
		record(t, b, e, token, all...)
		wantEqual(t, "Attempts", attemptsOf(t, b, e, d.ID), want[2:])
	})

	t.Run("of two owners' writes the living lease's is stored", func(t *testing.T) {
		e, token, due := scene(t, 20)
		tokens := []string{token, sample.ID("").Hex()}
		var wg sync.WaitGroup
		stored := make([]int, len(tokens))
		for i, token := range tokens {
			wg.Go(func() {
				for n, d := range due {
					if n == len(due)/2 && i == 0 {
						_, _ = o.Renew(t.Context(), e.ID, token, -time.Second) // it stalls, and goes on
					}
					if i == 1 {
						_, _, _ = o.Lease(t.Context(), e.ID, token, time.Minute)
					}
					if o.Record(t.Context(), e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(d, sample.Arrived(later), later)},
						domain.WebhookHealth{}) == nil {
						stored[i]++
					}
				}
			})
		}
		wg.Wait()
		for _, d := range due {
			if got := delivery(t, e, d.ID); got.Attempts != len(attemptsOf(t, b, e, d.ID)) {
				t.Errorf("%d attempts counted, %d logged", got.Attempts, len(attemptsOf(t, b, e, d.ID)))
			}
		}
		if stored[0] == 0 {
			t.Error("the first owner stored nothing")
		}
	})
}
