package requestlog

import (
	"context"
	"time"

	"waybill/domain"
	"waybill/ports"
)

// Requests reads the request log.
type Requests struct {
	storage ports.Storage
	clock   ports.Clock
}

// NewRequests makes the use cases.
func NewRequests(s ports.Storage, c ports.Clock) *Requests { return &Requests{storage: s, clock: c} }

// List is a page of the requests of a business, newest first, and one more.
// domain.ErrNotFound without a business.
func (r *Requests) List(ctx context.Context, business domain.ID, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error) {
	if business == "" {
		return nil, domain.ErrNotFound
	}
	f.BusinessID = business
	return r.storage.Read().Requests.List(ctx, f, p)
}

// ListAll is List over all businesses, for the platform's own operations.
func (r *Requests) ListAll(ctx context.Context, f domain.RequestFilter, p domain.PageRequest) ([]domain.RequestRecord, error) {
	return r.storage.Read().Requests.List(ctx, f, p)
}

// Get is one request of a business. Another's is domain.ErrNotFound.
func (r *Requests) Get(ctx context.Context, business, id domain.ID) (domain.RequestRecord, error) {
	if business == "" {
		return domain.RequestRecord{}, domain.ErrNotFound
	}
	return r.storage.Read().Requests.Get(ctx, business, id)
}

// Usage sums up what a business did. domain.ErrNotFound without a business.
func (r *Requests) Usage(ctx context.Context, q domain.UsageQuery) ([]domain.Usage, error) {
	if q.BusinessID == "" {
		return nil, domain.ErrNotFound
	}
	return r.storage.Read().Requests.Usage(ctx, q)
}

// lately is the time in which a key counts as being used.
const lately = 24 * time.Hour

// RoutesOfKey is which routes a key of a business called in the last 24 hours, the
// one that it called most first.
func (r *Requests) RoutesOfKey(ctx context.Context, business, key domain.ID) ([]domain.Usage, error) {
	now := r.clock.Now()
	return r.Usage(ctx, domain.UsageQuery{BusinessID: business, KeyID: key, From: now.Add(-lately), Until: now.Add(time.Minute), ByRoute: true})
}
