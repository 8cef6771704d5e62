package storage

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

// leaseOf takes the lease of an endpoint, which has to be free.
func leaseOf(t testing.TB, b ports.Database, e domain.WebhookEndpoint) (token string) {
	t.Helper()
	token = sample.ID("").Hex()
	if _, leased, err := b.Outbox().Lease(t.Context(), e.ID, token, time.Minute); !leased || err != nil {
		t.Fatalf("leased %t (%v)", leased, err)
	}
	return token
}

func release(t testing.TB, b ports.Database, e domain.WebhookEndpoint, token string) {
	t.Helper()
	if err := b.Outbox().Release(t.Context(), e.ID, token); err != nil {
		t.Fatal(err)
	}
}

func record(t testing.TB, b ports.Database, e domain.WebhookEndpoint, token string, of ...ports.WebhookOutcome) {
	t.Helper()
	if err := b.Outbox().Record(t.Context(), e.ID, token, of, domain.WebhookHealth{}); err != nil {
		t.Fatalf("record: %v", err)
	}
}

func attemptsOf(t testing.TB, b ports.Database, e domain.WebhookEndpoint, id domain.ID) []domain.WebhookAttempt {
	t.Helper()
	return must(b.Read().Webhooks.Attempts(t.Context(), e.Tenant, id))(t)
}

func healthy(e *domain.WebhookEndpoint) { e.Health = domain.WebhookHealth{} }

// bookAt makes an event that is due then.
func bookAt(t testing.TB, b ports.Database, tenant domain.Tenant, at time.Time) ports.BookingWrite {
	t.Helper()
	return bookWrite(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.CreatedAt = at }))
}

func testWaitingWebhooks(t *testing.T, b ports.Database) {
	// soon is Waiting without what other tests left.
	soon := func(t *testing.T, now time.Time, ahead time.Duration, of ...domain.WebhookEndpoint) (found []ports.WaitingEndpoint) {
		t.Helper()
		for _, w := range must(b.Outbox().Waiting(t.Context(), now, ahead, 1000))(t) {
			if slices.ContainsFunc(of, func(e domain.WebhookEndpoint) bool { return e.ID == w.ID }) {
				found = append(found, w)
			}
		}
		for _, e := range of { // both have to tell the same
			one := must(b.Outbox().WaitingFor(t.Context(), e.ID, now, ahead))(t)
			i := slices.IndexFunc(found, func(w ports.WaitingEndpoint) bool { return w.ID == e.ID })
			if (one != nil) != (i >= 0) || one != nil && (one.Slow != found[i].Slow || one.From.Sub(found[i].From).Abs() > time.Minute) {
				t.Errorf("WaitingFor tells %v, Waiting %v", one, found)
			}
		}
		return found
	}
	// waiting is those that wait now, whenever they began to.
	waiting := func(t *testing.T, now time.Time, of ...domain.WebhookEndpoint) []ports.WaitingEndpoint {
		t.Helper()
		found := soon(t, now, 0, of...)
		for i, w := range found {
			if w.From.After(now) {
				t.Errorf("%v waits from after %v", w, now)
			}
			found[i].From = time.Time{}
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
		first := must(b.Outbox().Waiting(t.Context(), later, 0, 1))(t)
		wantEqual(t, "limit", len(first), 1)
		id := nth(t, first, 0).ID
		// The others wait still longer.
		if i := slices.IndexFunc(all, func(e domain.WebhookEndpoint) bool { return e.ID == id }); i == 0 || i == 2 {
			t.Errorf("the first of all is %v", first)
		}
	})

	t.Run("owners take turns, whoever has waited longer", func(t *testing.T) {
		many, one := newTenant(t, b), newTenant(t, b)
		var of []domain.WebhookEndpoint
		for i := range 3 { // each is due since before the next one
			of = append(of, insertEndpoint(t, b, many))
			bookAt(t, b, many, sample.Now.Add(time.Duration(i)*time.Minute))
		}
		second := newSibling(t, b, many)
		of = append(of, insertEndpoint(t, b, second), insertEndpoint(t, b, live(many)), insertEndpoint(t, b, one))
		for i, tenant := range []domain.Tenant{second, live(many), one} {
			bookAt(t, b, tenant, sample.Now.Add(time.Duration(10+i)*time.Minute))
		}
		var order []int
		for _, w := range waiting(t, later, of...) {
			order = append(order, slices.IndexFunc(of, func(e domain.WebhookEndpoint) bool { return e.ID == w.ID }))
		}
		wantEqual(t, "order", order, []int{0, 4, 5, 1, 2, 3})
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

	t.Run("what will wait soon is told with its time", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant, healthy)
		now, due := sample.Now, sample.Now.Add(time.Minute)
		bookAt(t, b, tenant, due)
		from := func(ahead time.Duration) time.Time {
			t.Helper()
			found := soon(t, now, ahead, e)
			if len(found) == 0 {
				return time.Time{}
			}
			return found[0].From
		}
		wantEqual(t, "before it is due", from(time.Minute-time.Millisecond), time.Time{})
		wantEqual(t, "when it is due", from(time.Minute), due)

		open := now.Add(2 * time.Minute)
		e.Health = domain.WebhookHealth{Failures: 10, FailingSince: &now, OpenUntil: &open, Opened: 1, SlowUntil: &open}
		updateEndpoint(t, b, e)
		wantEqual(t, "before its circuit is to be probed", from(2*time.Minute-time.Millisecond), time.Time{})
		wantEqual(t, "when its circuit is to be probed", soon(t, now, 2*time.Minute, e), []ports.WaitingEndpoint{{ID: e.ID, From: open}})

		// Leases are by another clock: the time that is left of one counts from now.
		token := leaseOf(t, b, e)
		began := time.Now()
		must(b.Outbox().Renew(t.Context(), e.ID, token, 5*time.Minute))(t)
		wantEqual(t, "before its lease is over", from(3*time.Minute), time.Time{})
		asked := time.Now()
		rest := from(5*time.Minute + time.Second).Sub(now) // a moment more: the clock may still show the millisecond of Renew
		if least, most := 5*time.Minute-time.Since(began), 5*time.Minute+time.Since(asked); rest < least-time.Millisecond || rest > most {
			t.Errorf("its lease is over in %v, want %v to %v", rest, least, most)
		}
		release(t, b, e, token)
		wantEqual(t, "released", from(2*time.Minute), open)
	})

	t.Run("what does not exist does not wait", func(t *testing.T) {
		for _, id := range []domain.ID{sample.ID(domain.PrefixWebhookEndpoint), "", "nonsense", "whd_0"} {
			if got, err := b.Outbox().WaitingFor(t.Context(), id, later, time.Hour); got != nil || err != nil {
				t.Errorf("WaitingFor %q: %v (%v)", id, got, err)
			}
		}
	})
}

func testDueWebhooks(t *testing.T, b ports.Database) {
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
		var all []domain.ID
		for _, w := range want {
			all = append(all, w.ID)
		}
		have := []domain.ID{want[1].ID, want[3].ID, sample.ID(domain.PrefixWebhookDelivery)}
		wantEqual(t, "but for two", must(b.Outbox().Due(t.Context(), e.ID, later, 3, have...))(t),
			[]ports.OutgoingWebhook{want[0], want[2], want[4]})
		wantEqual(t, "but for all", len(must(b.Outbox().Due(t.Context(), e.ID, later, 9, all...))(t)), 0)
		wantEqual(t, "due after others left them out", due(later, 10), want)
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
