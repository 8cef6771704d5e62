package storage

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testWebhookDeliveries(t *testing.T, b ports.Database) {
	read := func() ports.WebhookReader { return b.Read().Webhooks }
	list := func(t *testing.T, e domain.WebhookEndpoint, f domain.WebhookDeliveryFilter) []domain.WebhookDelivery {
		t.Helper()
		return must(read().Deliveries(t.Context(), e.Tenant, e.ID, f, everything))(t)
	}

	t.Run("what is pending is held when its endpoint is disabled, and stays so", func(t *testing.T) {
		tenant := newTenant(t, b)
		e, other := insertEndpoint(t, b, tenant), insertEndpoint(t, b, tenant)
		for range 3 {
			bookWrite(t, b, sample.BookingWrite(tenant))
		}
		settled(t, b, tenant, nth(t, sentTo(t, b, e), 0).ID, domain.WebhookSucceeded)
		failed := nth(t, sentTo(t, b, e), 1)
		settled(t, b, tenant, failed.ID, domain.WebhookFailed)
		asked := changeDelivery(t, b, tenant, failed.ID, func(d *domain.WebhookDelivery) { d.Redeliver(later) })
		wantEqual(t, "a failed one that is asked for again", asked.Back, domain.WebhookFailed)
		disabled(&e)
		updateEndpoint(t, b, e)
		wantEqual(t, "its own", statusesOf(sentTo(t, b, e)), map[domain.WebhookStatus]int{domain.WebhookSucceeded: 1, domain.WebhookHeld: 2})
		for _, d := range list(t, e, domain.WebhookDeliveryFilter{Status: domain.WebhookHeld}) {
			if d.DueAt != nil || d.Trigger != domain.TriggerSchedule || d.Back != "" {
				t.Errorf("held: %+v, want it as one that is due by the schedule some day", d)
			}
		}
		wantEqual(t, "another's", statusesOf(sentTo(t, b, other)), map[domain.WebhookStatus]int{domain.WebhookPending: 3})
		e.Enabled, e.Disabled = true, ""
		updateEndpoint(t, b, e)
		wantEqual(t, "enabled again", statusesOf(sentTo(t, b, e))[domain.WebhookHeld], 2)
		e.Description = "another"
		updateEndpoint(t, b, e)
		bookWrite(t, b, sample.BookingWrite(tenant))
		wantEqual(t, "what comes now", statusesOf(sentTo(t, b, e))[domain.WebhookPending], 1)
	})

	t.Run("the recent ones come newest first, with what is sent", func(t *testing.T) {
		tenant := newTenant(t, b)
		e, other := insertEndpoint(t, b, tenant), insertEndpoint(t, b, newTenant(t, b))
		for range 3 {
			bookWrite(t, b, sample.BookingWrite(tenant))
		}
		bookWrite(t, b, sample.BookingWrite(other.Tenant))
		all := sentTo(t, b, e)
		recent := func(of domain.Tenant, since time.Time, limit int) []ports.OutgoingWebhook {
			t.Helper()
			return must(read().Recent(t.Context(), of, e.ID, since, limit))(t)
		}
		for n, want := range map[int]int{2: 2, 10: 3} {
			got := recent(tenant, all[2].CreatedAt, n)
			wantEqual(t, "how many", len(got), want)
			for i, w := range got {
				wantEqual(t, "the webhook", w.WebhookDelivery, all[i])
				if len(w.Payload) == 0 {
					t.Errorf("the webhook %s has nothing to send", w.ID)
				}
			}
		}
		wantEqual(t, "since later", len(recent(tenant, later, 10)), 0)
		wantEqual(t, "as another's", len(recent(other.Tenant, all[2].CreatedAt, 10)), 0)
		deleteEndpoint(t, b, e)
		wantEqual(t, "of one that is deleted", len(recent(tenant, all[2].CreatedAt, 10)), 0)
	})

	t.Run("what is pending goes with its endpoint, and its log is not shown any more", func(t *testing.T) {
		tenant := newTenant(t, b)
		e, other := insertEndpoint(t, b, tenant), insertEndpoint(t, b, tenant)
		bookWrite(t, b, sample.BookingWrite(tenant))
		arrived := theOne(t, b, e)
		token := leaseOf(t, b, e)
		if err := b.Outbox().Record(t.Context(), e.ID, token,
			[]ports.WebhookOutcome{sample.WebhookOutcome(arrived, sample.Arrived(later), later)}, domain.WebhookHealth{}); err != nil {
			t.Fatal(err)
		}
		bookWrite(t, b, sample.BookingWrite(tenant))
		deleteEndpoint(t, b, e)
		wantEqual(t, "Deliveries", len(sentTo(t, b, e)), 0)
		wantError(t, "Delivery", errorOf(read().Delivery(t.Context(), tenant, arrived.ID)), domain.ErrNotFound)
		wantEqual(t, "Attempts", len(must(read().Attempts(t.Context(), tenant, arrived.ID))(t)), 0)
		wantEqual(t, "Due", len(must(b.Outbox().Due(t.Context(), e.ID, later, 10))(t)), 0)
		wantEqual(t, "another's", statusesOf(sentTo(t, b, other)), map[domain.WebhookStatus]int{domain.WebhookPending: 2})
	})

	t.Run("the list goes newest first, page by page, and by filters", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		insertEndpoint(t, b, tenant) // gets the same
		var moved []*domain.Delivery
		for i := range 4 {
			w := bookWrite(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) {
				b.CreatedAt = sample.Now.Add(time.Duration(i%2) * time.Minute)
			}))
			d, _, err := moveLocked(t.Context(), b, tenant, w.Delivery.ID, domain.Assigned)
			if err != nil {
				t.Fatal(err)
			}
			moved = append(moved, d)
		}
		want := sentTo(t, b, e)
		wantEqual(t, "all", len(want), 8)
		if !slices.IsSortedFunc(want, func(x, y domain.WebhookDelivery) int {
			return -cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
		}) {
			t.Errorf("not newest first: %v", want)
		}
		for _, f := range []domain.WebhookDeliveryFilter{{}, {Status: domain.WebhookPending}} {
			got := pages(t, 3, func(p domain.PageRequest) ([]domain.WebhookDelivery, error) {
				return read().Deliveries(t.Context(), tenant, e.ID, f, p)
			}, func(d domain.WebhookDelivery) domain.Position {
				return domain.Position{CreatedAt: d.CreatedAt, ID: d.ID}
			})
			wantEqual(t, "page by page", got, want)
		}
		settled(t, b, tenant, want[0].ID, domain.WebhookFailed)
		settled(t, b, tenant, want[5].ID, domain.WebhookSucceeded)
		settled(t, b, tenant, want[6].ID, domain.WebhookHeld)
		settled(t, b, tenant, want[7].ID, domain.WebhookFailed)
		at := func(offset time.Duration) *time.Time { return new(sample.Now.Add(offset)) }
		for name, c := range map[string]struct {
			f    domain.WebhookDeliveryFilter
			want []int // of all
		}{
			"pending":                {domain.WebhookDeliveryFilter{Status: domain.WebhookPending}, []int{1, 2, 3, 4}},
			"succeeded":              {domain.WebhookDeliveryFilter{Status: domain.WebhookSucceeded}, []int{5}},
			"failed":                 {domain.WebhookDeliveryFilter{Status: domain.WebhookFailed}, []int{0, 7}},
			"held":                   {domain.WebhookDeliveryFilter{Status: domain.WebhookHeld}, []int{6}},
			"no such status":         {domain.WebhookDeliveryFilter{Status: "no such"}, nil},
			"a type":                 {domain.WebhookDeliveryFilter{EventType: "delivery.created"}, []int{4, 5, 6, 7}},
			"another type":           {domain.WebhookDeliveryFilter{EventType: "delivery.failed"}, nil},
			"what no type can be":    {domain.WebhookDeliveryFilter{EventType: "a\x00b"}, nil},
			"after":                  {domain.WebhookDeliveryFilter{CreatedAfter: at(time.Minute)}, []int{0, 1, 2, 3, 4, 5}},
			"just after":             {domain.WebhookDeliveryFilter{CreatedAfter: at(time.Minute + 1)}, []int{0, 1, 2, 3}},
			"before":                 {domain.WebhookDeliveryFilter{CreatedBefore: at(time.Minute)}, []int{6, 7}},
			"between":                {domain.WebhookDeliveryFilter{CreatedAfter: at(time.Second), CreatedBefore: at(time.Hour)}, []int{4, 5}},
			"a type that failed":     {domain.WebhookDeliveryFilter{Status: domain.WebhookFailed, EventType: "delivery.created"}, []int{7}},
			"what is no delivery":    {domain.WebhookDeliveryFilter{DeliveryID: "nonsense"}, nil},
			"a delivery never heard": {domain.WebhookDeliveryFilter{DeliveryID: sample.ID(domain.PrefixDelivery)}, nil},
			"the far past":           {domain.WebhookDeliveryFilter{CreatedBefore: new(time.Time{})}, nil},
		} {
			var wanted []domain.ID
			for _, i := range c.want {
				wanted = append(wanted, want[i].ID)
			}
			slices.Sort(wanted)
			wantEqual(t, name, idsOf(list(t, e, c.f)), append([]domain.ID{}, wanted...))
		}
		for _, d := range moved {
			got := list(t, e, domain.WebhookDeliveryFilter{DeliveryID: d.ID})
			if len(got) != 2 || got[0].DeliveryID != d.ID || got[1].DeliveryID != d.ID || got[0].Sequence != 2 {
				t.Errorf("of a delivery: %v, want its two, newest first", got)
			}
			one := list(t, e, domain.WebhookDeliveryFilter{DeliveryID: d.ID, EventType: "delivery.assigned"})
			wantEqual(t, "of a delivery by type", len(one), 1)
		}
	})

	t.Run("a change of one is stored, and no other's", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		bookWrite(t, b, sample.BookingWrite(tenant))
		bookWrite(t, b, sample.BookingWrite(tenant))
		before := sentTo(t, b, e)
		due := later.Add(time.Minute)
		want := changeDelivery(t, b, tenant, before[0].ID, func(d *domain.WebhookDelivery) {
			d.DueAt, d.Attempts, d.Used, d.Trigger, d.Back = &due, 4, 3, domain.TriggerManual, domain.WebhookHeld
		})
		wantEqual(t, "Delivery", must(read().Delivery(t.Context(), tenant, want.ID))(t), want)
		wantFilled(t, want)
		wantEqual(t, "the list", sentTo(t, b, e), []domain.WebhookDelivery{want, before[1]})
		unknown := want
		unknown.ID = sample.ID(domain.PrefixWebhookDelivery)
		wantError(t, "one that is not there", b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			return tx.Webhooks.UpdateDelivery(ctx, unknown)
		}), domain.ErrNotFound)
	})

	t.Run("two that ask for the same again decide one after the other", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		bookWrite(t, b, sample.BookingWrite(tenant))
		id := theOne(t, b, e).ID
		settled(t, b, tenant, id, domain.WebhookFailed)
		errs := together(10, func(int) error {
			return b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
				d, err := tx.Webhooks.LockDelivery(ctx, tenant, id)
				if err != nil {
					return err
				}
				if !d.Redeliver(later) {
					return errChangedMind
				}
				return tx.Webhooks.UpdateDelivery(ctx, d)
			})
		})
		wantOneWinner(t, errs, errChangedMind)
	})
}
