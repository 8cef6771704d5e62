package webhooks

import (
	"context"

	"waybill/domain"
	"waybill/ports"
)

// Feed lists the events of an application over all its deliveries.
type Feed struct{ storage ports.Storage }

// NewFeed returns the use case.
func NewFeed(s ports.Storage) *Feed { return &Feed{storage: s} }

// Events returns a page of events after a position, nil for the beginning. A caller that continues
// from Next misses none.
func (f *Feed) Events(ctx context.Context, t domain.Tenant, filter domain.FeedFilter, after *domain.FeedPosition,
	limit int) (domain.FeedPage, error) {
	return f.storage.Read().Feed.Events(ctx, t, filter, after, limit)
}
