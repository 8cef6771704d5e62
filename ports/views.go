package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// ViewReader finds views of customers' portals by people of the staff.
type ViewReader interface {
	// FindByLink finds used and expired ones too.
	FindByLink(ctx context.Context, digest [32]byte) (domain.CustomerView, error)
	// FindByDigest finds one that was opened. Whether it still works is the caller's to check.
	FindByDigest(ctx context.Context, digest [32]byte) (domain.CustomerView, error)
	// Unended are those that were opened and not ended, by ID, behind one, up to limit.
	Unended(ctx context.Context, after domain.ID, limit int) ([]domain.CustomerView, error)
}

// ViewStore keeps views of customers' portals.
type ViewStore interface {
	ViewReader
	// Insert answers domain.ErrNotFound where there is no such person or business.
	Insert(ctx context.Context, v domain.CustomerView) error
	// Open keeps that the link of a view was used, with the digest of the cookie and the time
	// at which the view ends. Of any number of callers at once one succeeds and the others
	// get domain.LinkUsed.
	Open(ctx context.Context, id domain.ID, digest [32]byte, at, expires time.Time) error
	// End keeps when a view ended, and reports whether it had not ended before.
	End(ctx context.Context, id domain.ID, at time.Time) (ended bool, err error)
}
