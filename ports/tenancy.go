package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// TenancyReader reads the customers: businesses, applications and keys.
type TenancyReader interface {
	// Credential finds a key by a digest of its secret, with its application and business. It makes
	// one lookup for any number of digests. A secret has one digest under each pepper, and one of
	// them is stored.
	Credential(ctx context.Context, digests ...[32]byte) (domain.Credential, error)
	// Known returns those digests that belong to keys, whether or not these are active, in any
	// order. Callers pass at most a thousand.
	Known(ctx context.Context, digests [][32]byte) ([][32]byte, error)
	Business(ctx context.Context, id domain.ID) (domain.Business, error)
	Application(ctx context.Context, id domain.ID) (domain.Application, error)
	APIKey(ctx context.Context, id domain.ID) (domain.APIKey, error)
	// APIKeys lists the keys of an application, oldest first: all active ones, and in each
	// environment the newest domain.MaxPastKeysListed of the revoked and expired ones.
	APIKeys(ctx context.Context, applicationID domain.ID, now time.Time) ([]domain.APIKey, error)
	// ExpiringKeys lists keys that are not revoked and expire after from and not after until, by
	// ID. It starts after one of them; empty means from the first one on.
	ExpiringKeys(ctx context.Context, from, until time.Time, after domain.ID, limit int) ([]domain.Credential, error)
	// Businesses and Applications list all of them, oldest first.
	Businesses(ctx context.Context) ([]domain.Business, error)
	Applications(ctx context.Context, businessID domain.ID) ([]domain.Application, error)
	// ApplicationsPage lists applications from a position on, up to Limit+1.
	ApplicationsPage(ctx context.Context, businessID domain.ID, p domain.PageRequest) ([]domain.Application, error)
	// PepperMarks lists the marks of all peppers that the storage knows, oldest first.
	PepperMarks(ctx context.Context) ([][32]byte, error)
	// OldPeppers returns what is left under each known pepper but the newest. Peppers without
	// anything left are omitted.
	OldPeppers(ctx context.Context, now time.Time) ([]domain.PepperUse, error)
	// OldPepperKeys lists the keys that OldPeppers counts, oldest first.
	OldPepperKeys(ctx context.Context, now time.Time) ([]domain.APIKey, error)
}

// TenancyStore stores the customers.
type TenancyStore interface {
	TenancyReader
	InsertBusiness(ctx context.Context, b domain.Business) error
	// LockBusiness reads the business and locks its row until the transaction ends. Records that
	// only refer to the business can be written meanwhile.
	LockBusiness(ctx context.Context, id domain.ID) (domain.Business, error)
	// UpdateBusiness changes the name, the rate limit, and whether it is disabled.
	UpdateBusiness(ctx context.Context, b domain.Business) error
	// InsertApplication returns ErrIDTaken where the ID exists.
	InsertApplication(ctx context.Context, a domain.Application) error
	RenameApplication(ctx context.Context, id domain.ID, name string) error
	SetApplicationDisabled(ctx context.Context, id domain.ID, disabled bool) error
	InsertAPIKey(ctx context.Context, k domain.APIKey) error
	// RevokeAPIKey stores the time, unless an earlier revocation is stored.
	RevokeAPIKey(ctx context.Context, id domain.ID, at time.Time) error
	// TouchAPIKeys stores when keys were last used: for each the latest of the stored time and the
	// given ones. Keys that do not exist are left out. Concurrent calls with the same keys in any
	// order wait for each other and all succeed.
	TouchAPIKeys(ctx context.Context, uses []KeyUse) error
	// RedigestAPIKeys replaces digests of keys. A key whose digest is no longer From, or that does
	// not exist, stays unchanged.
	RedigestAPIKeys(ctx context.Context, changes []Redigest) error
	// AddPepperMark adds the mark of a pepper after the known ones, and returns all marks. Where
	// another one was added meanwhile, it adds nothing.
	AddPepperMark(ctx context.Context, known [][32]byte, mark [32]byte) ([][32]byte, error)
	// SetPepperMark makes the mark the only one, whatever was stored.
	SetPepperMark(ctx context.Context, mark [32]byte) error
}

// Redigest replaces a stored digest by one under another pepper.
type Redigest struct {
	ID       domain.ID
	From, To [32]byte
	Pepper   [32]byte // mark of the pepper of To
}

// KeyUse is one use of a key.
type KeyUse struct {
	ID domain.ID
	At time.Time
}

// KeyDigester turns the secret of an API key into what is stored of it.
type KeyDigester interface {
	// Digest returns the HMAC-SHA256 of the secret under the server's pepper, so that a stolen
	// table is useless.
	Digest(secret string) [32]byte
	// Previous returns the digests under the other peppers that the server accepts. There are none,
	// unless the pepper is being changed.
	Previous(secret string) [][32]byte
}
