package storage

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testTracking(t *testing.T, b ports.Database) {
	find := func(r domain.Reference) (domain.Tracking, error) { return b.Read().Tracking.Find(t.Context(), r) }

	t.Run("of many references those are known that lead somewhere", func(t *testing.T) {
		one, two := book(t, b, sample.BookingWrite(newTenant(t, b))).Reference, book(t, b, sample.BookingWrite(live(newTenant(t, b)))).Reference
		asked := []domain.Reference{one, "none", "", two, "----.----.----", "7K3M-Q9XT-2WH\x00"}
		for len(asked) < 100 {
			asked = append(asked, sample.Reference())
		}
		got := must(b.Read().Tracking.Known(t.Context(), asked))(t)
		want := []domain.Reference{one, two}
		slices.Sort(got)
		slices.Sort(want)
		wantEqual(t, "Known", got, want)
		wantEqual(t, "Known of none", len(must(b.Read().Tracking.Known(t.Context(), asked[4:]))(t)), 0)
		wantEqual(t, "Known of nothing", len(must(b.Read().Tracking.Known(t.Context(), nil))(t)), 0)
	})

	t.Run("a reference finds what may be seen, whoever it belongs to", func(t *testing.T) {
		business := sample.Business(func(b *domain.Business) { b.Name = "Ɔdɔ & Söhne <Foods>" })
		application := sample.Application(business.ID)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			if err := tx.Tenancy.InsertBusiness(ctx, business); err != nil {
				return err
			}
			return tx.Tenancy.InsertApplication(ctx, application)
		})
		ours := domain.Tenant{BusinessID: business.ID, ApplicationID: application.ID, Environment: domain.Live}
		d := book(t, b, sample.BookingWrite(ours, func(b *domain.Booking) { b.Dropoff.Municipality = "Tɛma" }))
		other := book(t, b, sample.BookingWrite(newTenant(t, b), func(b *domain.Booking) { b.Dropoff.Municipality = "" }))

		booked := domain.TrackedEvent{Status: domain.Booked, OccurredAt: d.CreatedAt}
		wantEqual(t, "Find", must(find(d.Reference))(t), domain.Tracking{
			Sender: "Ɔdɔ & Söhne <Foods>", Municipality: "Tɛma", Status: domain.Booked, Sequence: 1,
			Events: []domain.TrackedEvent{booked},
		})
		wantEqual(t, "Find another tenant's", must(find(other.Reference))(t), domain.Tracking{
			Sender: "Kejetia Foods", Test: true, Status: domain.Booked, Sequence: 1,
			Events: []domain.TrackedEvent{{Status: domain.Booked, OccurredAt: other.CreatedAt}},
		})

		cod := book(t, b, sample.BookingWrite(ours, func(b *domain.Booking) {
			b.Payment = domain.Payment{Type: domain.CashOnDelivery, GoodsValue: &domain.Money{Minor: 12_050, Currency: b.Quote.Currency}}
		}))
		for _, shows := range []bool{true, false} {
			business.TrackingCash = shows
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error { return tx.Tenancy.UpdateBusiness(ctx, business) })
			var want *domain.Money
			if shows {
				want = cod.Payment.GoodsValue
			}
			wantEqual(t, "the cash", must(find(cod.Reference))(t).Cash, want)
		}

		walk(t, b, d, domain.Assigned, domain.Failed)
		at := d.CreatedAt
		wantEqual(t, "Find after it failed", must(find(d.Reference))(t), domain.Tracking{
			Sender: "Ɔdɔ & Söhne <Foods>", Municipality: "Tɛma", Status: domain.Failed, Sequence: 3,
			Events: []domain.TrackedEvent{
				booked,
				{Status: domain.Assigned, OccurredAt: at.Add(2 * time.Minute)},
				{Status: domain.Failed, OccurredAt: at.Add(3 * time.Minute), Reason: domain.ReasonAddressProblem},
			},
		})
	})

	t.Run("a long timeline is shown from its end", func(t *testing.T) {
		d := book(t, b, sample.BookingWrite(newTenant(t, b)))
		for range domain.MaxTrackedEvents / 2 {
			walk(t, b, d, domain.Assigned, domain.Failed)
		}
		got := must(find(d.Reference))(t)
		first, last := nth(t, got.Events, 0), got.Events[len(got.Events)-1]
		if got.Sequence != domain.MaxTrackedEvents+1 || len(got.Events) != domain.MaxTrackedEvents ||
			first.Status != domain.Assigned || last.Status != domain.Failed || !first.OccurredAt.Before(last.OccurredAt) {
			t.Errorf("sequence %d with %d events from %+v to %+v", got.Sequence, len(got.Events), first, last)
		}
	})

	t.Run("anything else finds nothing", func(t *testing.T) {
		d := book(t, b, sample.BookingWrite(newTenant(t, b)))
		texts := append([]string{
			"", string(sample.Reference()), strings.ToLower(string(d.Reference)) + " ", string(d.ID), d.ExternalID,
			"%", "____-____-____", string(d.Reference[:13]), string(d.Reference) + "\x00", "' OR ''='",
		}, oddTexts...)
		for _, text := range texts {
			wantError(t, "Find "+text, errorOf(find(domain.Reference(text))), domain.ErrNotFound)
		}
	})
}

// walk moves a delivery on, each step at the minute of its sequence.
func walk(t *testing.T, b ports.Database, d *domain.Delivery, steps ...domain.Status) {
	t.Helper()
	for _, to := range steps {
		var reason domain.ReasonCode
		if to == domain.Failed {
			reason = domain.ReasonAddressProblem
		}
		at := d.CreatedAt.Add(time.Duration(d.Lifecycle().Sequence+1) * time.Minute)
		event := must(d.Move(to, domain.ActorPlatform, reason, sample.ID(domain.PrefixEvent), at))(t)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			return tx.Deliveries.Update(ctx, d.Tenant, d, sample.Published(event))
		})
	}
}
