package deliveries

import (
	"context"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Cancel stops a delivery that was never picked up. A cancelled one is
// returned unchanged. The row is locked before the decision, so that of a
// cancel and a pickup at the same moment exactly one wins.
func (d *Deliveries) Cancel(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return d.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return d.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				delivery, err := tx.Deliveries.Lock(ctx, req.Tenant, id)
				if err != nil {
					return domain.Answer{}, err
				}
				event, changed, err := delivery.Cancel(d.ids.ID(domain.PrefixEvent), d.clock.Now())
				if err != nil {
					return domain.Answer{}, err
				}
				if changed {
					if err := tx.Deliveries.Update(ctx, req.Tenant, delivery, event); err != nil {
						return domain.Answer{}, err
					}
				}
				return answer(delivery), nil
			})
		}, nil
	})
}
