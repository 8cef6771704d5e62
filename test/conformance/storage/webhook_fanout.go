package storage

import (
	"context"
	"errors"
	"testing"
	"time"

	"waybill/domain"
	"waybill/ports"
	"waybill/test/sample"
)

func testWebhookFanout(t *testing.T, b ports.Database) {
	t.Run("each endpoint that takes an event gets it once", func(t *testing.T) {
		tenant := newTenant(t, b)
		all := insertEndpoint(t, b, tenant, taking(domain.AllEvents))
		ofDeliveries := insertEndpoint(t, b, tenant, taking(domain.DeliveryEvents))
		created := insertEndpoint(t, b, tenant, taking("delivery.created"))
		assigned := insertEndpoint(t, b, tenant, taking("delivery.assigned", "delivery.failed"))
		doubly := insertEndpoint(t, b, tenant, taking("delivery.assigned", domain.DeliveryEvents, domain.AllEvents))
		tests := insertEndpoint(t, b, tenant, taking(string(domain.EventEndpointTest)))
		off := insertEndpoint(t, b, tenant, disabled)
		gone := insertEndpoint(t, b, tenant)
		deleteEndpoint(t, b, gone)
		listens := insertEndpoint(t, b, tenant, listener)
		others := []domain.WebhookEndpoint{
			insertEndpoint(t, b, live(tenant)), insertEndpoint(t, b, newSibling(t, b, tenant)), insertEndpoint(t, b, newTenant(t, b)),
		}
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		d, second, err := moveLocked(t.Context(), b, tenant, w.Delivery.ID, domain.Assigned)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			e      domain.WebhookEndpoint
			events []domain.Event // newest first
		}{
			{"all", all, []domain.Event{second, w.Event.Event}},
			{"of deliveries", ofDeliveries, []domain.Event{second, w.Event.Event}},
			{"created", created, []domain.Event{w.Event.Event}},
			{"assigned", assigned, []domain.Event{second}},
			{"doubly", doubly, []domain.Event{second, w.Event.Event}},
			{"tests", tests, nil},
			{"disabled", off, []domain.Event{second, w.Event.Event}},
			{"a listener", listens, []domain.Event{second, w.Event.Event}},
		} {
			var want []domain.WebhookDelivery
			for _, event := range c.events {
				at := event.OccurredAt
				delivery := domain.WebhookDelivery{
					ID: domain.WebhookDeliveryID(event.ID, c.e.Slot), EndpointID: c.e.ID, EventID: event.ID, EventType: event.Type,
					DeliveryID: d.ID, Sequence: event.Sequence, Status: domain.WebhookPending, DueAt: &at,
					Trigger: domain.TriggerSchedule, CreatedAt: at,
				}
				if !c.e.Enabled {
					delivery.Status, delivery.DueAt = domain.WebhookHeld, nil
				}
				want = append(want, delivery)
			}
			got := sentTo(t, b, c.e)
			wantEqual(t, c.name, append([]domain.WebhookDelivery{}, got...), append([]domain.WebhookDelivery{}, want...))
			for _, w := range want {
				wantEqual(t, c.name+": Delivery", must(b.Read().Webhooks.Delivery(t.Context(), tenant, w.ID))(t), w)
			}
		}
		for _, other := range others {
			wantEqual(t, "what others get", len(sentTo(t, b, other)), 0)
			own := bookWrite(t, b, sample.BookingWrite(other.Tenant))
			wantEqual(t, "what others get of their own", theOne(t, b, other).EventID, own.Event.ID)
		}
		wantEqual(t, "of others", len(sentTo(t, b, all)), 2)
	})

	t.Run("a booking that is refused or taken back fans nothing out", func(t *testing.T) {
		tenant := newTenant(t, b)
		e := insertEndpoint(t, b, tenant)
		w := bookWrite(t, b, sample.BookingWrite(tenant))
		wantError(t, "the same again", b.Book(t.Context(), w), ports.ErrKeyTaken)
		clash := sample.BookingWrite(tenant, func(b *domain.Booking) { b.ExternalID = w.Delivery.ExternalID })
		wantError(t, "a clash", b.Book(t.Context(), clash), ports.ErrExternalIDTaken)
		err := b.InTx(t.Context(), func(ctx context.Context, tx ports.Stores) error {
			d, err := tx.Deliveries.Lock(ctx, tenant, w.Delivery.ID)
			if err != nil {
				return err
			}
			event, err := d.Move(domain.Assigned, domain.ActorPlatform, "", sample.ID(domain.PrefixEvent), sample.Now)
			if err != nil {
				return err
			}
			return errors.Join(tx.Deliveries.Update(ctx, tenant, d, sample.Published(event)), errChangedMind)
		})
		wantError(t, "InTx", err, errChangedMind)
		wantEqual(t, "the event", theOne(t, b, e).EventID, w.Event.ID)
		wantEqual(t, "the feed", len(feedOf(t, b, tenant, 1)), 1)
	})

	t.Run("an event of an endpoint goes to one, or to all others that take it", func(t *testing.T) {
		tenant := newTenant(t, b)
		subject := insertEndpoint(t, b, tenant)
		all := insertEndpoint(t, b, tenant)
		named := insertEndpoint(t, b, tenant, taking(string(domain.EventEndpointDisabled)))
		ofDeliveries := insertEndpoint(t, b, tenant, taking(domain.DeliveryEvents))
		off := insertEndpoint(t, b, tenant, disabled)
		other := insertEndpoint(t, b, newSibling(t, b, tenant))

		test := sample.EndpointEvent(domain.EventEndpointTest)
		want := domain.WebhookDelivery{
			ID: domain.WebhookDeliveryID(test.ID, subject.Slot), EndpointID: subject.ID, EventID: test.ID, EventType: test.Type,
			Status: domain.WebhookPending, DueAt: &test.OccurredAt, Trigger: domain.TriggerTest, Back: domain.WebhookFailed,
			CreatedAt: test.OccurredAt,
		}
		disabling := sample.EndpointEvent(domain.EventEndpointDisabled)
		inTx(t, b, func(ctx context.Context, tx ports.Stores) error {
			wantEqual(t, "PublishTo", must(tx.Webhooks.PublishTo(ctx, subject, test))(t), want)
			return tx.Webhooks.Publish(ctx, subject, disabling)
		})
		wantEqual(t, "the test", theOne(t, b, subject), want)
		for name, e := range map[string]domain.WebhookEndpoint{"all": all, "named": named} {
			got := theOne(t, b, e)
			wantEqual(t, name, got.ID, domain.WebhookDeliveryID(disabling.ID, e.Slot))
			wantEqual(t, name+": status", got.Status, domain.WebhookPending)
		}
		wantEqual(t, "a disabled one", theOne(t, b, off).Status, domain.WebhookHeld)
		wantEqual(t, "what others get", len(sentTo(t, b, ofDeliveries))+len(sentTo(t, b, other)), 0)
		for e, payload := range map[domain.ID][]byte{subject.ID: test.Payload, all.ID: disabling.Payload} {
			due := must(b.Outbox().Due(t.Context(), e, later, 10))(t)
			if len(due) != 1 || string(due[0].Payload) != string(payload) {
				t.Errorf("due %v, want %s", due, payload)
			}
		}
		since := sample.Now
		wantEqual(t, "Tests", must(b.Read().Webhooks.Tests(t.Context(), subject.ID, since))(t), 1)
		wantEqual(t, "Tests since then", must(b.Read().Webhooks.Tests(t.Context(), subject.ID, test.OccurredAt.Add(time.Millisecond)))(t), 0)
		wantEqual(t, "Tests of another", must(b.Read().Webhooks.Tests(t.Context(), all.ID, since))(t), 0)
	})

	t.Run("an event without JSON is refused", func(t *testing.T) {
		w := sample.BookingWrite(newTenant(t, b))
		w.Event.Payload = nil
		if err := b.Book(t.Context(), w); err == nil {
			t.Error("no error")
		}
	})
}
