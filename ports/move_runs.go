package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// MoveHold is the right of one process to work on a run.
type MoveHold struct {
	Run   domain.ID
	Token string        // 32 hex, the holder's own: fences off earlier holders
	Lease time.Duration // how long a sign of life lasts
}

// MoveRunReader reads runs, whichever operator began them.
type MoveRunReader interface {
	// Get is a run with its items.
	Get(ctx context.Context, id domain.ID) (domain.MoveRun, error)
	// FindByKey is Get by the key.
	FindByKey(ctx context.Context, key string) (domain.MoveRun, error)
	// List goes newest first and returns up to Limit+1, without their items. Of the
	// position behind which it begins the ID alone counts.
	List(ctx context.Context, p domain.PageRequest) ([]domain.MoveRun, error)
	// Left lists, oldest first, runs that are under way and that no process works on.
	Left(ctx context.Context, limit int) ([]domain.ID, error)
}

// MoveRunStore keeps how far a run has come, so that any process can go on with it
// after its own died. Leases go by the database's clock.
type MoveRunStore interface {
	MoveRunReader
	// Begin stores a run with its items under a lease. ErrKeyTaken when another run has
	// the key, ErrKeyBusy when a transaction that stores one takes too long. To begin
	// the same run again under the same token changes nothing.
	Begin(ctx context.Context, r domain.MoveRun, h MoveHold) error
	// Resume takes over a run that is under way and whose lease has run out, or is this
	// very token's. ErrLeaseLost where it is neither.
	Resume(ctx context.Context, h MoveHold) error
	// Extend gives a sign of life, and must be the first statement of every
	// transaction that writes for the run. ErrLeaseLost ends the holder's work.
	Extend(ctx context.Context, h MoveHold) error
	// Settle records the outcome of an item that is pending, behind Extend. ErrItemDone
	// where it is not pending any more.
	Settle(ctx context.Context, h MoveHold, item domain.MoveItem) error
	// Finish ends a run, or ErrLeaseLost.
	Finish(ctx context.Context, h MoveHold, at time.Time) error
	// Release ends the lease at once, so that any process may go on. It does nothing
	// where the lease was lost.
	Release(ctx context.Context, h MoveHold) error
}
