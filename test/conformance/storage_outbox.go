package conformance

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// leaseOf takes the lease of an endpoint, which has to be free.
func leaseOf(t testing.TB, b Backend, e domain.WebhookEndpoint) (token string) {
	t.Helper()
	token = sample.ID("").Hex()
	if _, leased, err := b.Outbox().Lease(t.Context(), e.ID, token, time.Minute); !leased || err != nil {
		t.Fatalf("leased %t (%v)", leased, err)
	}
	return token
}

func release(t testing.TB, b Backend, e domain.WebhookEndpoint, token string) {
	t.Helper()
	if err := b.Outbox().Release(t.Context(), e.ID, token); err != nil {
		t.Fatal(err)
	}
}

func record(t testing.TB, b Backend, e domain.WebhookEndpoint, token string, of ...ports.WebhookOutcome) {
	t.Helper()
	if err := b.Outbox().Record(t.Context(), e.ID, token, of, domain.WebhookHealth{}); err != nil {
		t.Fatalf("record: %v", err)
	}
}

func attemptsOf(t testing.TB, b Backend, e domain.WebhookEndpoint, id domain.ID) []domain.WebhookAttempt {
	t.Helper()
	return must(b.Read().Webhooks.Attempts(t.Context(), e.Tenant, id))(t)
}

func healthy(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{} }

// bookAt makes an event that is due then.
func bookAt(t testing.TB, b Backend, tenant domain.Tenant, at time.Time) ports.BookingWrite {
	t.Helper()
	return bookWrite(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = at }))
}

func testWaitingWebhooks(t *testing.T, b Backend) {
	// waiting is Waiting without what other tests left.
	waiting := func(t *testing.T, now time.Time, of ...domain.WebhookEndpoint) (found []ports.WaitingEndpoint) {
		t.Helper()
		for _, w := range must(b.Outbox().Waiting(t.Context(), now, 1000))(t) {
			if slices.ContainsFunc(of, func(e domain.WebhookEndpoint) bool { return e.ID == w.ID }) {
				found = append(found, w)
			}
		}
		for _, e := range of { // both have to tell the same
			one := must(b.Outbox().WaitingFor(t.Context(), e.ID, now))(t)
			i := slices.IndexFunc(found, func(w ports.WaitingEndpoint) bool { return w.ID == e.ID })
			if (one != nil) != (i >= 0) || one != nil && *one != found[i] {
				t.Errorf("WaitingFor tells %v, Waiting %v", one, found)
			}
		}
		return found
	}
	waits := func(e domain.WebhookEndpoint) []ports.WaitingEndpoint { return []ports.WaitingEndpoint{{ID: e.ID}} }
	none := []ports.WaitingEndpoint(nil)

	t.Run("who waits longest comes first", func(t *testing.T) {
		var all []domain.WebhookEndpoint
		for _, after := range []time.Duration{2 * time.Minute, time.Minute, 3 * time.Minute} {
			tenant := newTenant(t, b)
			all = append(all, insertEndpoint(t, b, tenant))
			bookAt(t, b, tenant, sample.Now.Add(after))
			bookAt(t, b, tenant, sample.Now.Add(after+time.Hour))
		}
		wantEqual(t, "order", waiting(t, later, all...), []ports.WaitingEndpoint{{ID: all[1].ID}, {ID: all[0].ID}, {ID: all[2].ID}})
		wantEqual(t, "due by then", waiting(t, sample.Now.Add(2*time.Minute), all...), []ports.WaitingEndpoint{{ID: all[1].ID}, {ID: all[0].ID}})
		wantEqual(t, "not due yet", waiting(t, sample.Now.Add(time.Minute-time.Millisecond), all...), none)
		first := must(b.Outbox().Waiting(t.Context(), later, 1))(t)
		wantEqual(t, "limit", len(first), 1)
		// The others wait still longer.
		if i := slices.IndexFunc(all, func(e domain.WebhookEndpoint) bool { return e.ID == first[0].ID }); i == 0 || i == 2 {
			t.Errorf("the first of all is %v", first)
		}
	})

	t.Run("only what is enabled, free and closed waits", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant, healthy)
		heard := insertEndpoint(t, b, tenant, listener)
		idle := insertEndpoint(t, b, tenant, taking(string(domain.EventEndpointTest)))
		bookWrite(t, b, sample.BookingWrite(tenant))
		wantEqual(t, "at first", waiting(t, later, e, heard, idle), waits(e))

		token := leaseOf(t, b, e)
		wantEqual(t, "under a lease", waiting(t, later, e), none)
		must(b.Outbox().Renew(t.Context(), e.ID, token, -time.Second))(t)
		wantEqual(t, "after the lease", waiting(t, later, e), waits(e))
		must(b.Outbox().Renew(t.Context(), e.ID, token, time.Minute))(t)
		release(t, b, e, token)
		wantEqual(t, "released", waiting(t, later, e), waits(e))

		open := later.Add(time.Second)
		e.Health = domain.WebhookHealth{Failures: 10, FailingSince: &later, OpenUntil: &open, Opened: 1}
		updateEndpoint(t, b, e)
		wantEqual(t, "an open circuit", waiting(t, open.Add(-time.Millisecond), e), none)
		wantEqual(t, "a circuit to probe", waiting(t, open, e), waits(e))
		e.Health = domain.WebhookHealth{SlowUntil: &open}
		updateEndpoint(t, b, e)
		wantEqual(t, "a slow one", waiting(t, later, e), []ports.WaitingEndpoint{{ID: e.ID, Slow: true}})
		wantEqual(t, "one that was slow", waiting(t, open, e), waits(e))
		e.Health = domain.WebhookHealth{}
		updateEndpoint(t, b, e)

		d := theOne(t, b, e)
		settled(t, b, tenant, d.ID, domain.WebhookFailed)
		wantEqual(t, "nothing pending", waiting(t, later, e), none)
		changeDelivery(t, b, tenant, d.ID, func(d *domain.WebhookDelivery) { d.Redeliver(later) })
		wantEqual(t, "asked for again", waiting(t, later, e), waits(e))
		disabled(&e)
		updateEndpoint(t, b, e)
		wantEqual(t, "disabled", waiting(t, later, e), none)
		e.Enabled, e.Disabled = true, ""
		updateEndpoint(t, b, e)
		wantEqual(t, "enabled again: held is not due", waiting(t, later, e), none)
		recovered(t, b, e.ID, domain.Recovery{Since: sample.Now, Until: later}, 10)
		wantEqual(t, "recovered", waiting(t, later, e), waits(e))
		deleteEndpoint(t, b, e)
		wantEqual(t, "deleted", waiting(t, later, e), none)
	})

	t.Run("what does not exist does not wait", func(t *testing.T) {
		for _, id := range []domain.ID{sample.ID(domain.PrefixWebhookEndpoint), "", "nonsense", "whd_0"} {
			if got, err := b.Outbox().WaitingFor(t.Context(), id, later); got != nil || err != nil {
				t.Errorf("WaitingFor %q: %v (%v)", id, got, err)
			}
		}
	})
}

func testEndpointLeases(t *testing.T, b Backend) {
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
		opened(now.Add(time.Hour))
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

func testDueWebhooks(t *testing.T, b Backend) {
	t.Run("what is due comes by due time and ID, with the bytes that were stored", func(t *testing.T) {
		tenant := newTenant(t, b)
		e, other := insertEndpoint(t, b, tenant), insertEndpoint(t, b, tenant)
		payload := []byte(`{"name":"Ama \u0000 <b>&amp;</b> ` + "ɔ 🛵" + `  "}` + "\n\x00\xff")
		var writes []ports.BookingWrite
		for i := range 6 {
			w := sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = sample.Now.Add(time.Duration(-i/2) * time.Minute) })
			w.Event.Payload = append(slices.Clone(payload), byte('0'+i))
			writes = append(writes, bookWrite(t, b, w))
		}
		var want []ports.OutgoingWebhook
		for _, d := range sentTo(t, b, e) {
			i := slices.IndexFunc(writes, func(w ports.BookingWrite) bool { return w.Event.ID == d.EventID })
			want = append(want, ports.OutgoingWebhook{WebhookDelivery: d, Payload: writes[i].Event.Payload})
		}
		slices.SortFunc(want, func(x, y ports.OutgoingWebhook) int {
			return cmp.Or(x.DueAt.Compare(*y.DueAt), cmp.Compare(x.ID, y.ID))
		})
		due := func(now time.Time, limit int) []ports.OutgoingWebhook {
			t.Helper()
			return must(b.Outbox().Due(t.Context(), e.ID, now, limit))(t)
		}
		wantEqual(t, "due", due(later, 10), want)
		wantEqual(t, "the first", due(later, 4), want[:4])
		wantEqual(t, "due by then", due(sample.Now.Add(-time.Minute), 10), want[:4])
		wantEqual(t, "not due yet", len(due(sample.Now.Add(-3*time.Minute), 10)), 0)
		settled(t, b, tenant, want[0].ID, domain.WebhookSucceeded)
		settled(t, b, tenant, want[1].ID, domain.WebhookFailed)
		settled(t, b, tenant, want[2].ID, domain.WebhookHeld)
		wantEqual(t, "what is pending", due(later, 10), want[3:])
		wantEqual(t, "another's", len(must(b.Outbox().Due(t.Context(), other.ID, later, 10))(t)), 6)
		for _, id := range []domain.ID{sample.ID(domain.PrefixWebhookEndpoint), "", "nonsense"} {
			if got, err := b.Outbox().Due(t.Context(), id, later, 10); len(got) != 0 || err != nil {
				t.Errorf("Due of %q: %d (%v)", id, len(got), err)
			}
		}
	})

	t.Run("the backlog counts what is due, and knows the oldest", func(t *testing.T) {
		before, _, err := b.Outbox().Backlog(t.Context(), later)
		if err != nil {
			t.Fatal(err)
		}
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		insertEndpoint(t, b, tenant, disabled)
		insertEndpoint(t, b, tenant, listener)
		long := sample.Now.Add(-1000 * time.Hour)
		bookAt(t, b, tenant, long)
		bookAt(t, b, tenant, later.Add(time.Second))
		n, since, err := b.Outbox().Backlog(t.Context(), later)
		if n != before+1 || !since.Equal(long) || err != nil {
			t.Errorf("%d since %v (%v), want %d since %v", n, since, err, before+1, long)
		}
		n, since, err = b.Outbox().Backlog(t.Context(), long.Add(-time.Second))
		if n != 0 || !since.IsZero() || err != nil {
			t.Errorf("%d since %v (%v), want none", n, since, err)
		}
		deleteEndpoint(t, b, e)
		if n, _, _ := b.Outbox().Backlog(t.Context(), later); n != before {
			t.Errorf("%d, want what was there before, %d", n, before)
		}
	})
}

func testWebhookOutcomes(t *testing.T, b Backend) {
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
		d, at := due[0], later
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
			condemned := e
			condemned.Enabled, condemned.Disabled, condemned.Health = false, domain.DisabledGone, health
			err := o.Disable(t.Context(), condemned, token, sample.EndpointEvent(domain.EventEndpointDisabled))
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
		wantError(t, "a deleted endpoint", o.Record(t.Context(), e.ID, last, []ports.WebhookOutcome{w}, domain.WebhookHealth{}), ports.ErrEndpointLost)
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

	t.Run("an empty batch stores the health", func(t *testing.T) {
		e, token, _ := scene(t, 0)
		e.Health = domain.WebhookHealth{SlowUntil: new(later)}
		if err := o.Record(t.Context(), e.ID, token, nil, e.Health); err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "the endpoint", must(b.Read().Webhooks.Endpoint(t.Context(), e.Tenant, e.ID))(t), e)
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
				wantEqual(t, what+": waiting", must(o.WaitingFor(t.Context(), e.ID, later))(t), nil)
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
			record(t, b, e, token, sample.WebhookOutcome(due[1], sample.Arrived(later), later), sample.WebhookOutcome(due[2], sample.Refused(later), later))
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
					if o.Record(t.Context(), e.ID, token, []ports.WebhookOutcome{sample.WebhookOutcome(d, sample.Arrived(later), later)}, domain.WebhookHealth{}) == nil {
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

func testAnnouncements(t *testing.T, b Backend) {
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
