package directory

import (
	"context"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Place is an address to find or add.
type Place struct {
	Label         string
	Text          string
	Coordinates   domain.Coordinates
	Municipality  string
	DeliveryNotes string
}

// AddAddress returns the recipient's address with this text, and adds it where there is none. An
// existing one stays unchanged.
func (r *Recipients) AddAddress(ctx context.Context, req idempotency.Request, recipient domain.ID,
	form func() (Place, error), answer func(stored domain.Address, created bool) domain.Answer,
) (idempotency.Result, error) {
	return r.gate.Once(ctx, req, func(context.Context) (idempotency.Attempt, error) {
		place, err := form()
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, key domain.KeyRecord) (domain.Answer, error) {
			return r.gate.InTx(ctx, req.Tenant, key, func(ctx context.Context, tx ports.Stores) (domain.Answer, error) {
				stored, created, err := tx.Recipients.AddAddress(ctx, req.Tenant, domain.Address{
					ID: r.ids.ID(domain.PrefixAddress), RecipientID: recipient,
					Label: place.Label, Text: place.Text, MatchKey: r.normalizer.MatchKey(place.Text),
					Coordinates: place.Coordinates, Municipality: place.Municipality,
					DeliveryNotes: place.DeliveryNotes, CreatedAt: r.clock.Now(),
				})
				if err != nil {
					return domain.Answer{}, err
				}
				return answer(stored, created), nil
			})
		}, nil
	})
}
