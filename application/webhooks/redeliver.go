package webhooks

import (
	"context"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Redeliver asks for one more attempt now, whatever became of those before.
// WEBHOOK_ENDPOINT_DISABLED.
func (w *Webhooks) Redeliver(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(domain.WebhookDelivery) domain.Answer) (idempotency.Result, error) {
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

// redeliver locks the endpoint first, as sending to it and disabling it do.
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

// hurry ends the pause of a locked endpoint, since a caller asked for an attempt.
func hurry(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint, now time.Time) error {
	if !e.Health.Hurry(now) {
		return nil
	}
	return tx.Webhooks.UpdateEndpoint(ctx, e)
}

// Resend is Redeliver for the platform's operators, whose calls carry no
// Idempotency-Key.
func (w *Webhooks) Resend(ctx context.Context, by domain.AuditActor, t domain.Tenant, id domain.ID) (d domain.WebhookDelivery, err error) {
	err = w.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if d, err = w.redeliver(ctx, tx, t, id); err != nil {
			return domain.AuditRecord{}, err
		}
		return domain.AuditRecord{Action: domain.ActionWebhookResend, Target: id, BusinessID: t.BusinessID}, nil
	})
	return d, err
}
