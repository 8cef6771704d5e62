package webhooks

import (
	"context"
	"errors"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// testWindow is what domain.MaxWebhookTests counts in.
const testWindow = time.Minute

// Test sends an endpoint an event of its own, by the way of all others and
// once. WEBHOOK_ENDPOINT_DISABLED, RATE_LIMIT_EXCEEDED.
func (w *Webhooks) Test(ctx context.Context, req idempotency.Request, id domain.ID, answer func(domain.WebhookDelivery) domain.Answer) (idempotency.Result, error) {
	return w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		event := w.ids.ID(domain.PrefixEvent) // one, however often the attempt is made
		return w.onEndpoint(req.Tenant, id, func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error) {
			d, err := tx.Webhooks.Delivery(ctx, req.Tenant, domain.WebhookDeliveryID(event, e.Slot))
			if errors.Is(err, domain.ErrNotFound) {
				d, err = w.sendTest(ctx, tx, e, event)
			}
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

// hurry ends the pause of a locked endpoint for whoever asks for an attempt.
func hurry(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, now time.Time) error {
	if !e.Health.Hurry(now) {
		return nil
	}
	return tx.Webhooks.UpdateEndpoint(ctx, e)
}

// mayTest counts the tests of the last minute. The endpoint is held, so that
// two at once are counted one after the other.
func mayTest(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, now time.Time) error {
	since := now.Add(-testWindow)
	n, err := tx.Webhooks.Tests(ctx, e.ID, since)
	if err != nil || n < domain.MaxWebhookTests {
		return err
	}
	last, err := tx.Webhooks.Deliveries(ctx, e.Tenant, e.ID,
		domain.WebhookDeliveryFilter{EventType: domain.EventEndpointTest, CreatedAfter: &since}, domain.PageRequest{Limit: domain.MaxWebhookTests})
	if err != nil {
		return err
	}
	wait := testWindow
	if len(last) >= domain.MaxWebhookTests {
		// Newest first: there is room once the tenth is a minute old.
		wait = last[domain.MaxWebhookTests-1].CreatedAt.Add(testWindow).Sub(now)
	}
	return domain.TooManyWebhookTests(wait)
}

// Deliveries returns up to Limit+1 of what was, or is to be, sent to an
// endpoint, newest first. Nothing of it is due before the endpoint's pause ends.
func (w *Webhooks) Deliveries(ctx context.Context, t domain.Tenant, endpoint domain.ID, f domain.WebhookDeliveryFilter, p domain.PageRequest) ([]domain.WebhookDelivery, error) {
	e, err := w.Get(ctx, t, endpoint)
	if err != nil {
		return nil, err
	}
	found, err := w.storage.Read().Webhooks.Deliveries(ctx, t, endpoint, f, p)
	for i := range found {
		found[i].DueAt = afterPause(found[i].DueAt, e.Health)
	}
	return found, err
}

// Delivery is one event for one endpoint, due as in Deliveries; NOT_FOUND where
// the endpoint is not the application's, or deleted.
func (w *Webhooks) Delivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	d, e, err := w.delivery(ctx, t, id)
	d.DueAt = afterPause(d.DueAt, e.Health)
	return d, err
}

// delivery is a webhook as it is stored, and its endpoint.
func (w *Webhooks) delivery(ctx context.Context, t domain.Tenant, id domain.ID) (d domain.WebhookDelivery, e domain.WebhookEndpoint, err error) {
	stored := w.storage.Read().Webhooks
	if d, err = stored.Delivery(ctx, t, id); err != nil {
		return d, e, err
	}
	e, err = stored.Endpoint(ctx, t, d.EndpointID)
	return d, e, err
}

// Attempts is what was tried, the first one first: the last
// domain.MaxAttemptsListed. What follows the last one waits for the end of the
// endpoint's pause, too.
func (w *Webhooks) Attempts(ctx context.Context, t domain.Tenant, id domain.ID) ([]domain.WebhookAttempt, error) {
	d, e, err := w.delivery(ctx, t, id)
	if err != nil {
		return nil, err
	}
	made, err := w.storage.Read().Webhooks.Attempts(ctx, t, id)
	if n := len(made); n > 0 && d.Status == domain.WebhookPending {
		made[n-1].NextAt = afterPause(made[n-1].NextAt, e.Health)
	}
	return made, err
}

// afterPause is when something due then is attempted: while the circuit is open
// nothing is sent.
func afterPause(due *time.Time, h domain.WebhookHealth) *time.Time {
	if due == nil || h.OpenUntil == nil || h.OpenUntil.Before(*due) {
		return due
	}
	return h.OpenUntil
}

// Redeliver asks for one more attempt now, whatever became of those before.
// WEBHOOK_ENDPOINT_DISABLED.
func (w *Webhooks) Redeliver(ctx context.Context, req idempotency.Request, id domain.ID, answer func(domain.WebhookDelivery) domain.Answer) (idempotency.Result, error) {
	return w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return w.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				d, err := w.redeliver(ctx, tx, req.Tenant, id)
				if err != nil {
					return domain.Answer{}, err
				}
				return answer(d), nil
			})
		}, nil
	})
}

// redeliver locks the endpoint first, as those do who send to it or disable it.
func (w *Webhooks) redeliver(ctx context.Context, tx ports.Stores, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	d, err := tx.Webhooks.Delivery(ctx, t, id)
	if err != nil {
		return d, err
	}
	e, err := tx.Webhooks.LockEndpoint(ctx, t, d.EndpointID)
	if err != nil {
		return d, err
	}
	if !e.Enabled {
		return d, domain.WebhookEndpointDisabled(e.ID, e.Disabled)
	}
	now := w.clock.Now()
	if err := hurry(ctx, tx, e, now); err != nil {
		return d, err
	}
	if d, err = tx.Webhooks.LockDelivery(ctx, t, id); err != nil {
		return d, err
	}
	if d.Redeliver(now) {
		err = tx.Webhooks.UpdateDelivery(ctx, d)
	}
	return d, err
}

// Resend is Redeliver for the platform's operators, who send no Idempotency-Key.
func (w *Webhooks) Resend(ctx context.Context, by domain.AuditActor, t domain.Tenant, id domain.ID) (d domain.WebhookDelivery, err error) {
	err = w.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.Deed, error) {
		if d, err = w.redeliver(ctx, tx, t, id); err != nil {
			return domain.Deed{}, err
		}
		return domain.Deed{Action: domain.ActionWebhookResend, Target: id, BusinessID: t.BusinessID}, nil
	})
	return d, err
}
