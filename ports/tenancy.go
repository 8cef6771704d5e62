package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// TenancyReader reads the customers: businesses, applications and keys.
type TenancyReader interface {
	// Credential finds a key by a digest of its secret, with its application and
	// business, in one look-up however many digests there are: a secret has one
	// under each pepper, and one of them is stored.
	Credential(ctx context.Context, digests ...[32]byte) (domain.Credential, error)
	// Known tells which digests are those of keys, whether or not these still open
	// anything, in any order. It is asked for at most a thousand.
	Known(ctx context.Context, digests [][32]byte) ([][32]byte, error)
	Business(ctx context.Context, id domain.ID) (domain.Business, error)
	Application(ctx context.Context, id domain.ID) (domain.Application, error)
	APIKey(ctx context.Context, id domain.ID) (domain.APIKey, error)
	// APIKeys lists the keys of an application, oldest first: all that may be used now, and in
	// each environment the newest domain.MaxPastKeysListed of the revoked and expired ones.
	APIKeys(ctx context.Context, applicationID domain.ID, now time.Time) ([]domain.APIKey, error)
	// ExpiringKeys lists keys that are not revoked and expire behind from and not behind
	// until, by ID, behind one of them; empty: from the first one on.
	ExpiringKeys(ctx context.Context, from, until time.Time, after domain.ID, limit int) ([]domain.Credential, error)
	// Businesses and Applications list all there are, oldest first.
	Businesses(ctx context.Context) ([]domain.Business, error)
	Applications(ctx context.Context, businessID domain.ID) ([]domain.Application, error)
	// ApplicationsPage is Applications from a position on, up to Limit+1.
	ApplicationsPage(ctx context.Context, businessID domain.ID, p domain.PageRequest) ([]domain.Application, error)
	// PepperMarks are the marks of all peppers that the storage knows, oldest first.
	PepperMarks(ctx context.Context) ([][32]byte, error)
	// OldPeppers tells what is left under each known pepper but the newest;
	// peppers under which nothing is left are left out.
	OldPeppers(ctx context.Context, now time.Time) ([]domain.PepperUse, error)
	// OldPepperKeys lists the keys that OldPeppers counts, oldest first.
	OldPepperKeys(ctx context.Context, now time.Time) ([]domain.APIKey, error)
}

// TenancyStore stores the customers.
type TenancyStore interface {
	TenancyReader
	InsertBusiness(ctx context.Context, b domain.Business) error
	// LockBusiness reads the business and holds its row until the transaction
	// ends. Records that only refer to the business can be written meanwhile.
	LockBusiness(ctx context.Context, id domain.ID) (domain.Business, error)
	// UpdateBusiness changes the name, the rate limit, and whether it is disabled.
	UpdateBusiness(ctx context.Context, b domain.Business) error
	// InsertApplication answers ErrIDTaken where there is one of the ID.
	InsertApplication(ctx context.Context, a domain.Application) error
	RenameApplication(ctx context.Context, id domain.ID, name string) error
	SetApplicationDisabled(ctx context.Context, id domain.ID, disabled bool) error
	InsertAPIKey(ctx context.Context, k domain.APIKey) error
	// RevokeAPIKey keeps the time of the first revocation when there is one.
	RevokeAPIKey(ctx context.Context, id domain.ID, at time.Time) error
	// TouchAPIKeys keeps when keys were used last: for each the latest of the
	// stored time and the given ones. Keys that do not exist are left out.
	// Several at once, with the same keys in any order, wait for each other and
	// all succeed.
	TouchAPIKeys(ctx context.Context, uses []KeyUse) error
	// RedigestAPIKeys replaces digests of keys. A key that has another digest than
	// From by now, or that does not exist, stays as it is.
	RedigestAPIKeys(ctx context.Context, changes []Redigest) error
	// AddPepperMark adds the mark of a pepper behind the known ones, and returns
	// all there are then. Where another one was added meanwhile, it adds nothing.
	AddPepperMark(ctx context.Context, known [][32]byte, mark [32]byte) ([][32]byte, error)
	// SetPepperMark makes the mark the only one, whatever was there.
	SetPepperMark(ctx context.Context, mark [32]byte) error
}

// Redigest is that a secret is kept as the digest under another pepper.
type Redigest struct {
	ID       domain.ID
	From, To [32]byte
	Pepper   [32]byte // the mark of To's
}

// KeyUse is that a key was used.
type KeyUse struct {
	ID domain.ID
	At time.Time
}

// KeyDigester turns the secret of an API key into what is stored of it.
type KeyDigester interface {
	// Digest is the HMAC-SHA256 of the secret under the server's pepper, so
	// that a stolen table opens nothing.
	Digest(secret string) [32]byte
	// Previous are the digests under the peppers that the server goes by beside
	// its own: none, unless the pepper is being changed.
	Previous(secret string) [][32]byte
}
