package ports

import (
	"context"
	"time"

	"waybill/domain"
)

// TenancyReader reads who the customers are.
type TenancyReader interface {
	// Credential finds a key by its digest, with its application and business.
	Credential(ctx context.Context, digest [32]byte) (domain.Credential, error)
	Business(ctx context.Context, id domain.ID) (domain.Business, error)
	Application(ctx context.Context, id domain.ID) (domain.Application, error)
	APIKey(ctx context.Context, id domain.ID) (domain.APIKey, error)
	// APIKeys lists the keys of an application, oldest first, revoked ones included.
	APIKeys(ctx context.Context, applicationID domain.ID) ([]domain.APIKey, error)
	// Businesses and Applications list all there are, oldest first.
	Businesses(ctx context.Context) ([]domain.Business, error)
	Applications(ctx context.Context, businessID domain.ID) ([]domain.Application, error)
}

// TenancyStore changes who the customers are.
type TenancyStore interface {
	TenancyReader
	InsertBusiness(ctx context.Context, b domain.Business) error
	// LockBusiness reads the business and holds its row until the transaction
	// ends. What only refers to the business goes on meanwhile.
	LockBusiness(ctx context.Context, id domain.ID) (domain.Business, error)
	// UpdateBusiness changes the name and the rate limit.
	UpdateBusiness(ctx context.Context, b domain.Business) error
	InsertApplication(ctx context.Context, a domain.Application) error
	SetApplicationDisabled(ctx context.Context, id domain.ID, disabled bool) error
	InsertAPIKey(ctx context.Context, k domain.APIKey) error
	// RevokeAPIKey keeps the time of the first revocation when there is one.
	RevokeAPIKey(ctx context.Context, id domain.ID, at time.Time) error
	// TouchAPIKeys keeps when keys were used last: for each the latest of the
	// stored time and the given ones. Keys that do not exist are left out.
	// Several at once, with the same keys in any order, wait for each other and
	// all succeed.
	TouchAPIKeys(ctx context.Context, uses []KeyUse) error
	// AddPepperMark keeps the mark of the pepper that keys are digested with,
	// or returns the one that is there. Of two at once the first one stays.
	AddPepperMark(ctx context.Context, mark [32]byte) (stored [32]byte, err error)
	// SetPepperMark keeps the mark, whatever was there.
	SetPepperMark(ctx context.Context, mark [32]byte) error
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
}
