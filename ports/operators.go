package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// OperatorReader reads the operators of the platform.
type OperatorReader interface {
	// FindByDigest finds a token by a digest of its secret, of which there is one
	// under each pepper.
	FindByDigest(ctx context.Context, digests ...[32]byte) (domain.OperatorToken, error)
	Get(ctx context.Context, id domain.ID) (domain.OperatorToken, error)
	// List is all tokens, oldest first, revoked ones included.
	List(ctx context.Context) ([]domain.OperatorToken, error)
}

// OperatorStore stores the operators of the platform.
type OperatorStore interface {
	OperatorReader
	Insert(ctx context.Context, t domain.OperatorToken) error
	// Revoke keeps the time of the first revocation when there is one.
	Revoke(ctx context.Context, id domain.ID, at time.Time) error
	// Touch keeps when a token was used last, unless a later time is there.
	Touch(ctx context.Context, id domain.ID, at time.Time) error
	// Redigest replaces the digest of a token, unless that is another one than
	// From by now.
	Redigest(ctx context.Context, r Redigest) error
}

// AuditReader reads what operators, persons and commands changed.
type AuditReader interface {
	// List goes newest first and returns up to Limit+1. Of the position behind
	// which it begins the ID alone counts.
	List(ctx context.Context, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error)
	// ListOfBusiness is List of the entries about one business alone.
	ListOfBusiness(ctx context.Context, business domain.ID, f domain.AuditFilter, p domain.PageRequest) ([]domain.AuditEntry, error)
}

// AuditStore keeps what operators, persons and commands changed. Nothing changes
// or removes an entry.
type AuditStore interface {
	AuditReader
	// Append is part of the transaction that makes the change.
	Append(ctx context.Context, e domain.AuditEntry) error
}

// PlatformReader looks across all tenants, for the platform's own operations.
type PlatformReader interface {
	// Deliveries go by ID, ascending unless the search says newest first, and
	// are up to Limit+1. Of the position behind which they begin the ID alone
	// counts. The time a delivery was booked at and that in its ID may differ by
	// a minute, no more.
	Deliveries(ctx context.Context, s domain.DeliverySearch, p domain.PageRequest) ([]*domain.Delivery, error)
	// Work counts the deliveries of an environment that are work at a moment, by
	// business, status and band of age: what domain.WorkFilter.Search finds of it then.
	Work(ctx context.Context, e domain.Environment, at time.Time) (domain.WorkTallies, error)
	// BusinessNames are the names of those businesses that there are.
	BusinessNames(ctx context.Context, of []domain.ID) (map[domain.ID]string, error)
	// Named are the deliveries that have one of the IDs or references, in any order;
	// at most domain.MaxMoves of each are asked for.
	Named(ctx context.Context, ids []domain.ID, references []domain.Reference) ([]*domain.Delivery, error)
	// Businesses go oldest first, by (created_at, id), and are up to Limit+1.
	Businesses(ctx context.Context, p domain.PageRequest) ([]domain.Business, error)
	// Customers go newest first, by (created_at, id), and are up to Limit+1. now decides
	// which keys work.
	Customers(ctx context.Context, s domain.CustomerSearch, now time.Time, p domain.PageRequest) ([]domain.Customer, error)
	// Footprint counts what a business has or, where it is not empty, one of its
	// applications. A malformed or unknown one has nothing.
	Footprint(ctx context.Context, business, application domain.ID, now time.Time) (domain.Footprint, error)
	// Owner tells whose record has an ID: an API key, a recipient, a pickup location, an
	// event of a delivery, a webhook endpoint that is no listener, or a webhook delivery
	// or attempt to one. What was deleted is domain.ErrNotFound, as is every other ID.
	Owner(ctx context.Context, id domain.ID) (domain.Owned, error)
}
