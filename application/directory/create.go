package directory

import (
	"context"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Person is a recipient to find or add.
type Person struct {
	PhoneNumber domain.PhoneNumber
	Name        string
}

// Create returns the recipient with this phone number, and adds one where there is none. An
// existing one keeps its name, unless it had none. The form is read only when the key is new.
func (r *Recipients) Create(ctx context.Context, req idempotency.Request,
	form func() (Person, error), answer func(stored domain.Recipient, created bool) domain.Answer,
) (idempotency.Result, error) {
	return r.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		person, err := form()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return r.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				now := r.clock.Now()
				stored, created, err := tx.Recipients.Add(ctx, req.Tenant, domain.Recipient{
					ID: r.ids.ID(domain.PrefixRecipient), PhoneNumber: person.PhoneNumber, Name: person.Name,
					CreatedAt: now, UpdatedAt: now,
				})
				if err != nil {
					return domain.Answer{}, err
				}
				return answer(stored, created), nil
			})
		}, nil
	})
}
