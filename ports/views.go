package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// ViewReader finds views of customers' portals by people of the staff.
type ViewReader interface {
	// FindByLink also finds used and expired views.
	FindByLink(ctx context.Context, digest [32]byte) (domain.CustomerView, error)
	// FindByDigest finds an opened view. The caller checks whether it is still valid.
	FindByDigest(ctx context.Context, digest [32]byte) (domain.CustomerView, error)
	// Unended lists views that were opened and not ended, by ID, after a given one, up to limit.
	Unended(ctx context.Context, after domain.ID, limit int) ([]domain.CustomerView, error)
}

// ViewStore stores views of customers' portals.
type ViewStore interface {
	ViewReader
	// Insert returns domain.ErrNotFound where the person or business does not exist.
	Insert(ctx context.Context, v domain.CustomerView) error
	// Open stores that the link of a view was used, with the digest of the cookie and the time at
	// which the view ends. Of concurrent callers one succeeds, and the others get domain.LinkUsed.
	Open(ctx context.Context, id domain.ID, digest [32]byte, at, expires time.Time) error
	// End stores when a view ended, and reports whether it had not ended before.
	End(ctx context.Context, id domain.ID, at time.Time) (ended bool, err error)
}
