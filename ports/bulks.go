package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

var (
	// ErrLeaseLost means that the bulk is not this holder's any more: another
	// process resumed it after the lease had run out, or it was answered.
	ErrLeaseLost = errors.New("the lease of the bulk was lost")

	// ErrItemDone means that the item's outcome is recorded already.
	ErrItemDone = errors.New("the item of the bulk is done")
)

// BulkHold is the right of one process to work on a bulk.
type BulkHold struct {
	Key     string
	ClaimID string        // of the first request of the bulk; its items are kept under it
	Token   string        // 32 hex, the holder's own: fences off earlier holders
	Lease   time.Duration // how long a sign of life lasts
}

// BulkItemMark makes a booking the outcome of one item of a bulk.
type BulkItemMark struct {
	Hold BulkHold
	Item domain.BulkItem
}

// BulkStore keeps how far a bulk has come, so that the same key resumes it
// after its process died. All times are by the database's clock.
type BulkStore interface {
	// Claim records an unanswered key under a lease, and must be the first
	// statement of its transaction. It takes over a record that has expired,
	// and resumes one of the same request whose lease has run out, or whose
	// token is this one. ErrKeyTaken when any other record is there.
	Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease, retention time.Duration) (BulkHold, error)
	// Items are the outcomes recorded so far, by index.
	Items(ctx context.Context, t domain.Tenant, h BulkHold) ([]domain.BulkItem, error)
	// Extend gives a sign of life, and must be the first statement of every
	// transaction that writes for the bulk. ErrLeaseLost ends the holder's work.
	Extend(ctx context.Context, t domain.Tenant, h BulkHold) error
	// AddItem records an outcome behind Extend. ErrItemDone when there is one. It
	// fails for an index that no item has: they are below domain.MaxBulkItems.
	AddItem(ctx context.Context, t domain.Tenant, h BulkHold, item domain.BulkItem) error
	// Finish answers the key for the retention from now on and forgets the
	// items, or ErrLeaseLost.
	Finish(ctx context.Context, t domain.Tenant, h BulkHold, a domain.Answer, retention time.Duration) error
	// Release ends the lease at once, so that the next request resumes. It
	// does nothing where the lease was lost.
	Release(ctx context.Context, t domain.Tenant, h BulkHold) error
}
