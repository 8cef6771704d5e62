package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"waybill/domain"
	"waybill/ports"
)

// TracedStorage traces transactions, and the events that they make.
type TracedStorage struct {
	ports.Storage
	tracing *Tracing
}

var (
	_ ports.Storage       = (*TracedStorage)(nil)
	_ ports.Bookings      = (*TracedBookings)(nil)
	_ ports.WebhookOutbox = (*TracedOutbox)(nil)
)

// Storage wraps the real storage.
func (t *Tracing) Storage(s ports.Storage) *TracedStorage {
	return &TracedStorage{Storage: s, tracing: t}
}

// InTx runs the transaction in a span. It writes the roots of its events after the commit.
func (s *TracedStorage) InTx(ctx context.Context, fn func(ctx context.Context, tx ports.Stores) error) error {
	ctx, span := s.tracing.child(ctx, "transaction", trace.SpanKindClient)
	var events []committed
	tries := 0
	err := s.Storage.InTx(ctx, func(ctx context.Context, tx ports.Stores) error {
		tries++
		events = events[:0]
		heard := func(e committed) { events = append(events, e) }
		tx.Deliveries = &deliveryStore{DeliveryStore: tx.Deliveries, heard: heard}
		tx.Webhooks = &webhookStore{WebhookStore: tx.Webhooks, heard: heard}
		return fn(ctx, tx)
	})
	if tries > 1 {
		span.SetAttributes(attribute.Int("waybill.tries", tries))
	}
	if err == nil {
		s.tracing.announce(span, events)
	}
	end(span, err)
	return err
}

// deliveryStore reports events of deliveries.
type deliveryStore struct {
	ports.DeliveryStore
	heard func(committed)
}

func (s *deliveryStore) Update(ctx context.Context, t domain.Tenant, d *domain.Delivery, events ...ports.EventWrite) error {
	err := s.DeliveryStore.Update(ctx, t, d, events...)
	if err == nil {
		for _, e := range events {
			s.heard(eventOf(d, e))
		}
	}
	return err
}

// webhookStore reports events of endpoints.
type webhookStore struct {
	ports.WebhookStore
	heard func(committed)
}

func (s *webhookStore) PublishTo(ctx context.Context, e domain.WebhookEndpoint, event domain.FeedEvent) (domain.WebhookDelivery, error) {
	d, err := s.WebhookStore.PublishTo(ctx, e, event)
	if err == nil {
		s.heard(committed{id: event.ID, of: string(event.Type)})
	}
	return d, err
}

func (s *webhookStore) Publish(ctx context.Context, except domain.WebhookEndpoint, event domain.FeedEvent) error {
	err := s.WebhookStore.Publish(ctx, except, event)
	if err == nil {
		s.heard(committed{id: event.ID, of: string(event.Type)})
	}
	return err
}

// TracedOutbox traces none of the senders' calls, only the event that Disable makes.
type TracedOutbox struct {
	ports.WebhookOutbox
	tracing *Tracing
}

// Outbox wraps the real outbox.
func (t *Tracing) Outbox(o ports.WebhookOutbox) *TracedOutbox { return &TracedOutbox{o, t} }

// Disable writes the root of its event.
func (o *TracedOutbox) Disable(ctx context.Context, e domain.WebhookEndpoint, token string, event domain.FeedEvent) error {
	err := o.WebhookOutbox.Disable(ctx, e, token, event)
	if err == nil {
		o.tracing.announce(trace.SpanFromContext(ctx), []committed{{id: event.ID, of: string(event.Type)}})
	}
	return err
}

func eventOf(d *domain.Delivery, e ports.EventWrite) committed {
	return committed{id: e.ID, delivery: d.ID, of: string(e.Type)}
}

// TracedBookings traces bookings.
type TracedBookings struct {
	bookings ports.Bookings
	tracing  *Tracing
}

// Bookings wraps the real bookings.
func (t *Tracing) Bookings(b ports.Bookings) *TracedBookings {
	return &TracedBookings{bookings: b, tracing: t}
}

// Book books in a span.
func (b *TracedBookings) Book(ctx context.Context, w ports.BookingWrite) error {
	ctx, span := b.tracing.child(ctx, "book", trace.SpanKindClient, attribute.String("waybill.delivery_id", string(w.Delivery.ID)))
	err := b.bookings.Book(ctx, w)
	if err == nil {
		b.tracing.announce(span, []committed{eventOf(w.Delivery, w.Event)})
	}
	end(span, err)
	return err
}

// BookRun books many deliveries in one span.
func (b *TracedBookings) BookRun(ctx context.Context, writes []ports.BookingWrite) (int, error) {
	ctx, span := b.tracing.child(ctx, "book run", trace.SpanKindClient, attribute.Int("waybill.deliveries", len(writes)))
	n, err := b.bookings.BookRun(ctx, writes)
	events := make([]committed, 0, n)
	for _, w := range writes[:n] {
		events = append(events, eventOf(w.Delivery, w.Event))
	}
	b.tracing.announce(span, events)
	span.SetAttributes(attribute.Int("waybill.booked", n))
	end(span, err)
	return n, err
}
