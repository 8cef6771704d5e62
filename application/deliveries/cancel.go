package deliveries

import (
	"context"

	"waybill/application/idempotency"
	"waybill/domain"
)

// Cancel stops a delivery that was never picked up, and its simulation. A cancelled delivery is
// returned unchanged.
func (d *Deliveries) Cancel(ctx context.Context, req idempotency.Request, id domain.ID,
	answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return d.ChangeOnce(ctx, req, id, Always(func(delivery *domain.Delivery) ([]domain.Event, error) {
		event, changed, err := delivery.Cancel(d.ids.ID(domain.PrefixEvent), d.clock.Now())
		if err != nil || !changed {
			return nil, err
		}
		return []domain.Event{event}, nil
	}), answer)
}
