package storage

import (
	"context"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testDeliveries(t *testing.T, b ports.Database) {
	read := func() ports.DeliveryReader { return b.Read().Deliveries }

	t.Run("every field comes back", func(t *testing.T) {
		tenant := newTenant(t, b)
		full := sample.BookingWrite(tenant)
		wantFilled(t, full.Delivery.Booking)
		bare := sample.BookingWrite(live(tenant), func(b *domain.Booking) {
			b.ExternalID, b.Instructions, b.Recipient.Name = "", "", ""
			b.Dropoff.Label, b.Dropoff.Municipality, b.Dropoff.DeliveryNotes = "", "", ""
			b.Payment = domain.Payment{Type: domain.DeliveryOnly}
			b.Quote.Fee, b.VehicleType = nil, domain.Truck
			b.Quote.Distance = domain.Distance{Source: domain.DistanceStraightLine}
		})
		free := sample.BookingWrite(tenant, func(b *domain.Booking) {
			b.Quote.Fee, b.Quote.RequiresCustomQuote = &domain.Money{Currency: "GHS"}, false
		})
		for _, w := range []ports.BookingWrite{full, bare, free} {
			want := book(t, b, w)
			owner := want.Tenant
			wantDelivery(t, "Get", must(read().Get(t.Context(), owner, want.ID))(t), want)
			wantEqual(t, "Events", must(read().Events(t.Context(), owner, want.ID))(t), []domain.Event{w.Event.Event})
			wantEqual(t, "Owner", must(read().Owner(t.Context(), want.ID))(t), owner)
			if want.ExternalID != "" {
				wantDelivery(t, "FindByExternalID", must(read().FindByExternalID(t.Context(), owner, want.ExternalID))(t), want)
			}
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				wantDelivery(t, "Lock", must(tx.Deliveries.Lock(ctx, owner, want.ID))(t), want)
				return nil
			})
		}
	})

	t.Run("what does not exist is not found", func(t *testing.T) {
		tenant := newTenant(t, b)
		there := book(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = "" }))
		ctx := t.Context()
		for _, id := range []domain.ID{sample.ID(domain.PrefixDelivery), "", "dlv_1", "rcp_" + domain.ID(there.ID.Hex())} {
			wantError(t, "Get "+string(id), errorOf(read().Get(ctx, tenant, id)), domain.ErrNotFound)
			wantError(t, "Owner "+string(id), errorOf(read().Owner(ctx, id)), domain.ErrNotFound)
			if got := must(read().Events(ctx, tenant, id))(t); len(got) != 0 {
				t.Errorf("Events of %q: %d", id, len(got))
			}
			wantError(t, "Lock "+string(id), b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
				_, err := tx.Deliveries.Lock(ctx, tenant, id)
				return err
			}), domain.ErrNotFound)
		}
		for _, odd := range append(oddTexts, "") {
			wantError(t, "FindByExternalID "+odd, errorOf(read().FindByExternalID(ctx, tenant, odd)), domain.ErrNotFound)
		}
		missing := sample.Delivery(func(b *domain.Booking) { b.Tenant = tenant })
		event := must(missing.Move(domain.Assigned, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now))(t)
		wantError(t, "Update", b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
			return tx.Deliveries.Update(ctx, tenant, missing, sample.Published(event))
		}), domain.ErrNotFound)
	})

	t.Run("an external_id is told apart by case", func(t *testing.T) {
		tenant := newTenant(t, b)
		lower := book(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = "order-ä" }))
		upper := book(t, b, sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = "ORDER-Ä" }))
		for _, want := range []*domain.Delivery{lower, upper} {
			wantDelivery(t, "FindByExternalID", must(read().FindByExternalID(t.Context(), tenant, want.ExternalID))(t), want)
		}
	})

	t.Run("a life is stored with its timeline", func(t *testing.T) {
		tenant := newTenant(t, b)
		w := sample.BookingWrite(tenant)
		book(t, b, w)
		bystander := book(t, b, sample.BookingWrite(tenant))
		events := []domain.Event{w.Event.Event}
		var last *domain.Delivery
		for i, step := range []struct {
			to     domain.Status
			reason domain.ReasonCode
		}{
			{domain.Assigned, ""}, {domain.PickedUp, ""}, {domain.InTransit, ""},
			{domain.Failed, domain.ReasonCODRefused}, {domain.Assigned, ""}, {domain.PickedUp, ""},
		} {
			inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
				d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
				if err != nil {
					return err
				}
				event, err := d.Move(step.to, domain.ActorPlatform, step.reason, sample.ID(domain.PrefixEvent),
					w.Delivery.CreatedAt.Add(time.Duration(i+1)*time.Minute))
				if err != nil {
					return err
				}
				events, last = append(events, event), d
				return tx.Deliveries.Update(ctx, tenant, d, sample.Published(event))
			})
			wantDelivery(t, "Get after "+string(step.to), must(read().Get(t.Context(), tenant, last.ID))(t), last)
		}
		wantFilled(t, last.Lifecycle(), "Lifecycle.Simulation") // that has a suite of its own
		wantFilled(t, events[4])
		wantEqual(t, "Events", must(read().Events(t.Context(), tenant, last.ID))(t), events)
		wantDelivery(t, "another delivery", must(read().Get(t.Context(), tenant, bystander.ID))(t), bystander)
	})
}

// moveLocked is how a use case changes a delivery.
func moveLocked(ctx context.Context, b ports.Database, tenant domain.Tenant, id domain.ID, to domain.Status) (d *domain.Delivery,
	e domain.Event, err error) {
	err = b.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		if d, err = tx.Deliveries.Lock(ctx, tenant, id); err != nil {
			return err
		}
		e, err = d.Move(to, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now.Add(time.Hour))
		if err != nil {
			return err
		}
		return tx.Deliveries.Update(ctx, tenant, d, sample.Published(e))
	})
	return d, e, err
}
