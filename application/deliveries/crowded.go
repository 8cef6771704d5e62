package deliveries

import (
	"context"

	"waybill/domain"
)

// Crowded reports which drafts add one address too many to their recipient, by position. Earlier
// drafts count. A single draft needs no such check, since Book refuses it. A nil draft adds no
// address.
func (d *Deliveries) Crowded(ctx context.Context, t domain.Tenant, drafts []*Draft) (map[int]*domain.Error, error) {
	crowded := map[int]*domain.Error{}
	known := map[domain.ID]map[string]bool{} // match keys by recipient
	for i, draft := range drafts {
		if draft == nil || !draft.to.newAddress || draft.to.newRecipient {
			continue
		}
		recipient := draft.to.recipient.ID
		if known[recipient] == nil {
			stored, err := d.storage.Read().Recipients.Addresses(ctx, t, recipient)
			if err != nil {
				return nil, err
			}
			known[recipient] = map[string]bool{}
			for _, a := range stored {
				known[recipient][a.MatchKey] = true
			}
		}
		addresses, matchKey := known[recipient], draft.to.address.MatchKey
		if !addresses[matchKey] && len(addresses) >= domain.MaxAddressesPerRecipient {
			crowded[i] = domain.TooManyAddresses(draft.to.field)
			continue
		}
		addresses[matchKey] = true
	}
	return crowded, nil
}
