package webhooks

import (
	"context"
	"time"

	"waybill/domain"
)

// Deliveries returns up to Limit+1 webhooks that were, or will be, sent to an endpoint, newest
// first. None is due before the endpoint's pause ends.
func (w *Webhooks) Deliveries(ctx context.Context, t domain.Tenant, endpoint domain.ID, f domain.WebhookDeliveryFilter,
	p domain.PageRequest) ([]domain.WebhookDelivery, error) {
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

// Delivery returns one event for one endpoint, due as in Deliveries, or NOT_FOUND where the
// endpoint is deleted or belongs to another application.
func (w *Webhooks) Delivery(ctx context.Context, t domain.Tenant, id domain.ID) (domain.WebhookDelivery, error) {
	d, e, err := w.delivery(ctx, t, id)
	d.DueAt = afterPause(d.DueAt, e.Health)
	return d, err
}

// delivery returns a webhook as stored, and its endpoint.
func (w *Webhooks) delivery(ctx context.Context, t domain.Tenant, id domain.ID) (d domain.WebhookDelivery, e domain.WebhookEndpoint,
	err error) {
	stored := w.storage.Read().Webhooks
	if d, err = stored.Delivery(ctx, t, id); err != nil {
		return d, e, err
	}
	e, err = stored.Endpoint(ctx, t, d.EndpointID)
	return d, e, err
}

// Attempts returns the last domain.MaxAttemptsListed attempts, in their order. The time of the next
// one takes the endpoint's pause into account.
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

// afterPause returns when something due then is attempted. While the circuit is open nothing is
// sent.
func afterPause(due *time.Time, h domain.WebhookHealth) *time.Time {
	if due == nil || h.OpenUntil == nil || h.OpenUntil.Before(*due) {
		return due
	}
	return h.OpenUntil
}
