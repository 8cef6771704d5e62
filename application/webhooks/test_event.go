package webhooks

import (
	"context"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// testWindow is the window of domain.MaxWebhookTests.
const testWindow = time.Minute

// Test sends an endpoint a test event, in the same way as all others, and once. It refuses with
// WEBHOOK_ENDPOINT_DISABLED or RATE_LIMIT_EXCEEDED.
func (w *Webhooks) Test(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(domain.WebhookDelivery) domain.Answer) (idempotency.Result, error) {
	return w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		event := w.ids.ID(domain.PrefixEvent) // the same, however often the attempt is made
		return w.onEndpoint(req.Tenant, id, func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error) {
			d, err := w.TestWithin(ctx, tx, e, event)
			if err != nil {
				return domain.Answer{}, err
			}
			return answer(d), nil
		}), nil
	})
}

func (w *Webhooks) sendTest(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, id domain.ID) (domain.WebhookDelivery, error) {
	if !e.Enabled {
		return domain.WebhookDelivery{}, domain.WebhookEndpointDisabled(e.ID, e.Disabled)
	}
	now := w.clock.Now()
	if err := mayTest(ctx, tx, e, now); err != nil {
		return domain.WebhookDelivery{}, err
	}
	event, err := EndpointEvent(w.renderer, e, id, domain.EventEndpointTest, now)
	if err != nil {
		return domain.WebhookDelivery{}, err
	}
	if err := hurry(ctx, tx, e, now); err != nil {
		return domain.WebhookDelivery{}, err
	}
	return tx.Webhooks.PublishTo(ctx, e, event)
}

// mayTest counts the tests of the last minute. The endpoint is locked, so that concurrent calls are
// counted one after the other.
func mayTest(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, now time.Time) error {
	since := now.Add(-testWindow)
	n, err := tx.Webhooks.Tests(ctx, e.ID, since)
	if err != nil || n < domain.MaxWebhookTests {
		return err
	}
	last, err := tx.Webhooks.Deliveries(ctx, e.Tenant, e.ID,
		domain.WebhookDeliveryFilter{EventType: domain.EventEndpointTest, CreatedAfter: &since},
		domain.PageRequest{Limit: domain.MaxWebhookTests})
	if err != nil {
		return err
	}
	wait := testWindow
	if len(last) >= domain.MaxWebhookTests {
		// Newest first: the next one is allowed once the tenth is a minute old.
		wait = last[domain.MaxWebhookTests-1].CreatedAt.Add(testWindow).Sub(now)
	}
	return domain.TooManyWebhookTests(wait)
}
