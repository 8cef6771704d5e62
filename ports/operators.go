package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// OperatorReader reads the operators of the platform.
type OperatorReader interface {
	// FindByDigest finds a token by a digest of its secret. A secret has one digest under each
	// pepper.
	FindByDigest(ctx context.Context, digests ...[32]byte) (domain.OperatorToken, error)
	Get(ctx context.Context, id domain.ID) (domain.OperatorToken, error)
	// List lists all tokens, oldest first, including revoked ones.
	List(ctx context.Context) ([]domain.OperatorToken, error)
}

// OperatorStore stores the operators of the platform.
type OperatorStore interface {
	OperatorReader
	Insert(ctx context.Context, t domain.OperatorToken) error
	// Revoke stores the time, unless an earlier revocation is stored.
	Revoke(ctx context.Context, id domain.ID, at time.Time) error
	// Touch stores when a token was last used, unless a later time is stored.
	Touch(ctx context.Context, id domain.ID, at time.Time) error
	// Redigest replaces the digest of a token if it still is From.
	Redigest(ctx context.Context, r Redigest) error
}

// AuditReader reads what operators, persons and commands changed.
type AuditReader interface {
	// List lists entries, newest first, up to Limit+1. Of the start position only the ID counts.
	List(ctx context.Context, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error)
	// ListOfBusiness lists the entries about one business only, as List does.
	ListOfBusiness(ctx context.Context, business domain.ID, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error)
}

// AuditStore stores what operators, persons and commands changed. Entries are never changed or
// removed.
type AuditStore interface {
	AuditReader
	// Append stores an entry in the transaction of its change.
	Append(ctx context.Context, e domain.AuditEntry) error
}

// PlatformReader reads across all tenants, for the platform's own operations.
type PlatformReader interface {
	// Deliveries lists up to Limit+1 deliveries by ID, ascending unless the search says newest
	// first. Of the start position only the ID counts. The booking time of a delivery and the time
	// in its ID differ by at most a minute.
	Deliveries(ctx context.Context, s domain.DeliverySearch, p domain.PageRequest) ([]*domain.Delivery, error)
	// Work counts the deliveries of an environment that need work at a moment, by business, status
	// and band of age. These are the deliveries that domain.WorkFilter.Search finds then.
	Work(ctx context.Context, e domain.Environment, at time.Time) (domain.WorkTallies, error)
	// BusinessNames returns the names of those businesses that exist.
	BusinessNames(ctx context.Context, of []domain.ID) (map[domain.ID]string, error)
	// Named lists the deliveries that have one of the IDs or references, in any order. Callers pass
	// at most domain.MaxMoves of each.
	Named(ctx context.Context, ids []domain.ID, references []domain.Reference) ([]*domain.Delivery, error)
	// Businesses lists up to Limit+1 businesses by (created_at, id), oldest first.
	Businesses(ctx context.Context, p domain.PageRequest) ([]domain.Business, error)
	// Customers lists up to Limit+1 customers by (created_at, id), newest first. now decides which
	// keys are active.
	Customers(ctx context.Context, s domain.CustomerSearch, now time.Time, p domain.PageRequest) ([]domain.Customer, error)
	// Footprint counts what a business has or, where application is set, one of its applications.
	// The counts of a malformed or unknown one are zero.
	Footprint(ctx context.Context, business, application domain.ID, now time.Time) (domain.Footprint, error)
	// Owner returns the owner of a record by its ID: an API key, a recipient, a pickup location, an
	// event of a delivery, a webhook endpoint that is no listener, or a webhook delivery or attempt
	// to one. A deleted record and any other ID are domain.ErrNotFound.
	Owner(ctx context.Context, id domain.ID) (domain.Owned, error)
}
