package webhooks

import (
	"context"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Redeliver makes one more attempt now, whatever the earlier results. It refuses with
// WEBHOOK_ENDPOINT_DISABLED.
func (w *Webhooks) Redeliver(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(domain.WebhookDelivery) domain.Answer) (idempotency.Result, error) {
	return w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return w.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				d, err := w.RedeliverWithin(ctx, tx, req.Tenant, id)
				if err != nil {
					return domain.Answer{}, err
				}
				return answer(d), nil
			})
		}, nil
	})
}

// Resend redelivers for the platform's operators, whose calls carry no Idempotency-Key.
func (w *Webhooks) Resend(ctx context.Context, by domain.AuditActor, t domain.Tenant, id domain.ID) (d domain.WebhookDelivery, err error) {
	err = w.log.Change(ctx, by, func(ctx context.Context, tx ports.Stores) (domain.AuditRecord, error) {
		if d, err = w.RedeliverWithin(ctx, tx, t, id); err != nil {
			return domain.AuditRecord{}, err
		}
		return domain.AuditRecord{Action: domain.ActionWebhookResend, Target: id, BusinessID: t.BusinessID}, nil
	})
	return d, err
}
