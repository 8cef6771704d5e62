package deliveries

import (
	"context"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Create books a delivery exactly once per Idempotency-Key. answer renders the response that is
// stored and replayed. A used key decides whatever form returns; form may not even be called.
// Refusals come in this order: those of the key, of form, of Draft, of Price, of Book.
func (d *Deliveries) Create(ctx context.Context, req idempotency.Request,
	form func() (Order, error), answer func(*domain.Delivery) domain.Answer,
) (idempotency.Result, error) {
	return d.gate.Once(ctx, req, func(ctx context.Context) (idempotency.Attempt, error) {
		order, err := form()
		if err != nil {
			return nil, err
		}
		draft, err := d.prepare(ctx, req.Tenant, &order)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			err := d.Book(ctx, draft, func(w *ports.BookingWrite) {
				key.Answer = answer(w.Delivery)
				w.Key, w.Retention = key, d.gate.Retention()
			})
			if err != nil {
				return domain.Answer{}, err
			}
			return key.Answer, nil
		}, nil
	})
}

// prepare reads and prices an order. No transaction is open meanwhile.
func (d *Deliveries) prepare(ctx context.Context, t domain.Tenant, o *Order) (*Draft, error) {
	draft, problems, err := d.Draft(ctx, t, o)
	switch {
	case err != nil:
		return nil, err
	case len(problems) > 0:
		return nil, problems[0]
	}
	return draft, d.Price(ctx, draft)
}
