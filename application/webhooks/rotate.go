package webhooks

import (
	"bytes"
	"context"
	"time"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Rotate gives an endpoint a new secret, which answer alone gets to see. The one
// before signs beside it for the overlap.
func (w *Webhooks) Rotate(ctx context.Context, req idempotency.Request, id domain.ID, form func() (overlap time.Duration, err error),
	answer func(e domain.WebhookEndpoint, secret string) domain.Answer,
) (idempotency.Result, error) {
	return confidential(w.sealer, req)(w.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		overlap, err := form()
		if err != nil {
			return nil, err
		}
		secret, sealed, err := sealSecret(w.sealer, id, w.ids.SigningSecret())
		if err != nil {
			return nil, err
		}
		return w.onEndpoint(req.Tenant, id, func(ctx context.Context, tx ports.Stores, e domain.WebhookEndpoint) (domain.Answer, error) {
			// A commit without an answer is asked again: the secret before must
			// not lose its overlap to the very one that took its place.
			if !bytes.Equal(e.Secrets[0].Sealed, sealed) {
				e.Rotate(sealed, overlap, w.clock.Now())
				if err := tx.Webhooks.UpdateEndpoint(ctx, e); err != nil {
					return domain.Answer{}, err
				}
			}
			return sealAnswer(w.sealer, req, answer(e, secret))
		}), nil
	}))
}
