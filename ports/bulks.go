package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

var (
	// ErrLeaseLost means that this holder has lost the bulk. Another process resumed it after the
	// lease had run out, or it was answered.
	ErrLeaseLost = errors.New("the lease of the bulk was lost")

	// ErrItemDone means that the item's outcome is recorded already.
	ErrItemDone = errors.New("the item of the bulk is done")
)

// BulkHold is the right of one process to work on a bulk.
type BulkHold struct {
	Key     string
	ClaimID string        // of the first request of the bulk; its items are kept under it
	Token   string        // 32 hex, unique to the holder: locks out earlier holders
	Lease   time.Duration // how long the lease lasts after each renewal
}

// BulkItemMark makes a booking the outcome of one item of a bulk.
type BulkItemMark struct {
	Hold BulkHold
	Item domain.BulkItem
}

// BulkStore keeps the progress of a bulk, so that the same key resumes it after its process died.
// All times are by the database's clock.
type BulkStore interface {
	// Claim records an unanswered key under a lease. It must be the first statement of its
	// transaction. It takes over a record that has expired. It resumes a record of the same request
	// whose lease has run out, or whose token is the given one. It returns ErrKeyTaken when any
	// other record exists.
	Claim(ctx context.Context, t domain.Tenant, r domain.KeyRecord, token string, lease, retention time.Duration) (BulkHold, error)
	// Items lists the outcomes recorded so far, by index.
	Items(ctx context.Context, t domain.Tenant, h BulkHold) ([]domain.BulkItem, error)
	// Extend renews the lease. It must be the first statement of every transaction that writes for
	// the bulk. After ErrLeaseLost the holder must stop.
	Extend(ctx context.Context, t domain.Tenant, h BulkHold) error
	// AddItem records an outcome, after Extend. It returns ErrItemDone when there is one already.
	// It fails for an index of domain.MaxBulkItems or more.
	AddItem(ctx context.Context, t domain.Tenant, h BulkHold, item domain.BulkItem) error
	// Finish stores the answer of the key for the retention from now on and deletes the items, or
	// returns ErrLeaseLost.
	Finish(ctx context.Context, t domain.Tenant, h BulkHold, a domain.Answer, retention time.Duration) error
	// Release ends the lease at once, so that the next request resumes. It does nothing where the
	// lease was lost.
	Release(ctx context.Context, t domain.Tenant, h BulkHold) error
}
