package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// Why a sign-in at an identity provider fails. The wrapped error has the reason, for a
// log.
var (
	// ErrIdentityUnavailable means that the provider does not answer in time, or not as
	// one: a garbled answer, or a failure of its own.
	ErrIdentityUnavailable = errors.New("the identity provider is not available")
	// ErrIdentityClientRefused means that the provider does not accept the ID and the secret of
	// this client: the secret has expired, or was replaced there. It goes on until an admin
	// sets the right ones.
	ErrIdentityClientRefused = errors.New("the identity provider refuses this client")
	// ErrIdentityUnproven means that what the browser brought proves nothing: a code that
	// was used, expired or made for another client, or a token that does not verify.
	ErrIdentityUnproven = errors.New("the identity provider vouches for nobody")
)

// IdentityRequest is one sign-in at the provider. Each is for one browser and one time.
type IdentityRequest struct {
	State    string // comes back with the browser
	Nonce    string // comes back in the token
	Verifier string // 43 to 128 characters; proves to the provider that both calls are of one caller
	// MaxAge is how old a sign-in at the provider may be before the person is asked for it
	// again; zero: they are asked in any case. Callers check what came of it.
	MaxAge time.Duration
}

// IdentityProvider lets staff prove who they are to the company's own identity provider,
// by OpenID Connect. It stores nothing. It is safe for concurrent use, and no failure is
// remembered for longer than a few seconds.
type IdentityProvider interface {
	// Begin is the address to which the browser is sent.
	Begin(ctx context.Context, r IdentityRequest) (address string, err error)
	// Finish redeems the code with which the browser came back from Begin of the same
	// request. A code works once.
	Finish(ctx context.Context, r IdentityRequest, code string) (domain.Identity, error)
}

// ConnectedIdentityReader reads which accounts of the provider let persons in.
type ConnectedIdentityReader interface {
	Find(ctx context.Context, issuer, subject string) (domain.ConnectedIdentity, error)
	// OfPerson are those of a person, oldest first.
	OfPerson(ctx context.Context, person domain.ID) ([]domain.ConnectedIdentity, error)
}

// ConnectedIdentityStore keeps them.
type ConnectedIdentityStore interface {
	ConnectedIdentityReader
	// Insert answers domain.IdentityTaken where the account is connected with any person.
	Insert(ctx context.Context, c domain.ConnectedIdentity) error
}
