package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// MoveHold is the right of one process to work on a run.
type MoveHold struct {
	Run   domain.ID
	Token string        // 32 hex, unique to the holder: locks out earlier holders
	Lease time.Duration // how long the lease lasts after each renewal
}

// MoveRunReader reads runs of all operators.
type MoveRunReader interface {
	// Get returns a run with its items.
	Get(ctx context.Context, id domain.ID) (domain.MoveRun, error)
	// FindByKey returns the run of a key with its items.
	FindByKey(ctx context.Context, key string) (domain.MoveRun, error)
	// List lists runs, newest first, up to Limit+1, without their items. Of the start position only
	// the ID counts.
	List(ctx context.Context, p domain.PageRequest) ([]domain.MoveRun, error)
	// Left lists runs in progress that no process works on, oldest first.
	Left(ctx context.Context, limit int) ([]domain.ID, error)
}

// MoveRunStore keeps the progress of a run, so that any process can resume it after its own died.
// Leases use the database's clock.
type MoveRunStore interface {
	MoveRunReader
	// Begin stores a run with its items under a lease. It returns ErrKeyTaken when another run has
	// the key, and ErrKeyBusy when a transaction that stores one takes too long. A repetition with
	// the same run and token changes nothing.
	Begin(ctx context.Context, r domain.MoveRun, h MoveHold) error
	// Resume takes over a run in progress whose lease has run out, or whose token is the given one.
	// Otherwise it returns ErrLeaseLost.
	Resume(ctx context.Context, h MoveHold) error
	// Extend renews the lease. It must be the first statement of every transaction that writes for
	// the run. After ErrLeaseLost the holder must stop.
	Extend(ctx context.Context, h MoveHold) error
	// Settle records the outcome of a pending item, after Extend. It returns ErrItemDone where the
	// item is no longer pending.
	Settle(ctx context.Context, h MoveHold, item domain.MoveItem) error
	// Finish ends a run, or returns ErrLeaseLost.
	Finish(ctx context.Context, h MoveHold, at time.Time) error
	// Release ends the lease at once, so that any process may resume. It does nothing where the
	// lease was lost.
	Release(ctx context.Context, h MoveHold) error
}
