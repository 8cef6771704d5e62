package directory

import (
	"context"

	"waybill/application/idempotency"
	"waybill/domain"
	"waybill/ports"
)

// Recipients implements the use cases of recipients and their addresses.
type Recipients struct {
	storage    ports.Storage
	gate       *idempotency.Gate
	clock      ports.Clock
	ids        ports.Identifiers
	normalizer ports.Normalizer
}

// NewRecipients returns the use cases.
func NewRecipients(s ports.Storage, g *idempotency.Gate, c ports.Clock, ids ports.Identifiers, n ports.Normalizer) *Recipients {
	return &Recipients{storage: s, gate: g, clock: c, ids: ids, normalizer: n}
}

// Get returns a recipient of the business, or NOT_FOUND.
func (r *Recipients) Get(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Recipient, error) {
	return r.storage.Read().Recipients.Get(ctx, t, id)
}

// List returns up to Limit+1 recipients, oldest first. A search for a phone number, or a part of
// one, finds it in any spelling.
func (r *Recipients) List(ctx context.Context, t domain.Tenant, f domain.RecipientFilter, p domain.PageRequest) ([]domain.Recipient,
	error) {
	f.SearchPhone, _ = r.normalizer.PhonePart(f.Search)
	return r.storage.Read().Recipients.List(ctx, t, f, p)
}

// Address returns an address of the business's recipients, or NOT_FOUND.
func (r *Recipients) Address(ctx context.Context, t domain.Tenant, id domain.ID) (domain.Address, error) {
	return r.storage.Read().Recipients.GetAddress(ctx, t, id)
}

// Addresses lists all addresses of a recipient, oldest first, or returns NOT_FOUND when the
// recipient does not exist.
func (r *Recipients) Addresses(ctx context.Context, t domain.Tenant, recipient domain.ID) ([]domain.Address, error) {
	if _, err := r.Get(ctx, t, recipient); err != nil {
		return nil, err
	}
	return r.storage.Read().Recipients.Addresses(ctx, t, recipient)
}
