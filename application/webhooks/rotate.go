package webhooks

import (
	"context"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Rotate gives an endpoint a new secret, which only answer sees. The previous one also signs for
// the overlap.
func (w *Webhooks) Rotate(ctx context.Context, req idempotency.Request, id domain.ID, form func() (overlap time.Duration, err error),
	answer func(e domain.WebhookEndpoint, secret string) domain.Answer,
) (idempotency.Result, error) {
	return confidential(w.sealer, req)(w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		overlap, err := form()
		if err != nil {
			return nil, err
		}
		secret, sealed, err := w.NewSecret(id)
		if err != nil {
			return nil, err
		}
		return w.onEndpoint(req.Tenant, id, func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error) {
			e, err := w.RotateWithin(ctx, tx, e, sealed, overlap)
			if err != nil {
				return domain.Answer{}, err
			}
			return sealAnswer(w.sealer, req, answer(e, secret))
		}), nil
	}))
}
