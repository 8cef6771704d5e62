package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// Why a sign-in at an identity provider fails. The wrapped error has the reason, for a log.
var (
	// ErrIdentityUnavailable means that the provider did not respond in time, or not properly: an
	// unreadable response, or an internal failure.
	ErrIdentityUnavailable = errors.New("the identity provider is not available")
	// ErrIdentityClientRefused means that the provider does not accept the ID and the secret of
	// this client. The secret has expired, or was replaced there. Sign-ins fail until an admin sets
	// the right ones.
	ErrIdentityClientRefused = errors.New("the identity provider refuses this client")
	// ErrIdentityUnproven means that the browser brought no proof: a code that was used, expired or
	// made for another client, or a token that does not verify.
	ErrIdentityUnproven = errors.New("the identity provider vouches for nobody")
)

// IdentityRequest is one sign-in at the provider. Each serves one browser once.
type IdentityRequest struct {
	State    string // returned by the browser
	Nonce    string // returned in the token
	Verifier string // 43 to 128 characters; proves to the provider that both calls have one caller
	// MaxAge limits the age of a sign-in at the provider before the person must sign in again. Zero
	// means always. Callers check the result.
	MaxAge time.Duration
}

// IdentityProvider verifies staff at the company's own identity provider, by OpenID Connect. It
// stores nothing and is safe for concurrent use. It remembers no failure for longer than a few
// seconds.
type IdentityProvider interface {
	// Begin returns the address to which the browser is sent.
	Begin(ctx context.Context, r IdentityRequest) (address string, err error)
	// Finish redeems the code that the browser brought back from Begin of the same request. A code
	// works once.
	Finish(ctx context.Context, r IdentityRequest, code string) (domain.Identity, error)
}

// ConnectedIdentityReader reads which accounts of the provider are connected with persons.
type ConnectedIdentityReader interface {
	Find(ctx context.Context, issuer, subject string) (domain.ConnectedIdentity, error)
	// OfPerson lists the accounts of a person, oldest first.
	OfPerson(ctx context.Context, person domain.ID) ([]domain.ConnectedIdentity, error)
}

// ConnectedIdentityStore stores connected accounts.
type ConnectedIdentityStore interface {
	ConnectedIdentityReader
	// Insert returns domain.IdentityTaken where the account is connected with any person.
	Insert(ctx context.Context, c domain.ConnectedIdentity) error
	// RemoveAll disconnects all accounts of a person.
	RemoveAll(ctx context.Context, person domain.ID) error
}
