package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// ErrPasskeyRefused means that a browser's response to a challenge is unreadable or proves nothing:
// another challenge, another site, an unverified person, or a signature of another key. The wrapped
// error has the reason, for a log.
var ErrPasskeyRefused = errors.New("the passkey is refused")

// Passkeys implements WebAuthn for the pages of one host. Options and responses are the JSON of
// WebAuthn Level 3. It stores nothing, and the device always verifies the person.
type Passkeys interface {
	// Host returns the host that passkeys are made for, or domain.CodePasskeysUnavailable with the
	// reason why the address of the pages has none. Without a host, CreationOptions and
	// RequestOptions return the same error.
	Host() (string, error)
	// CreationOptions returns options to create a passkey of the person, on a device that has none
	// of the known ones.
	CreationOptions(challenge [32]byte, p domain.Person, known []domain.Passkey) ([]byte, error)
	// Created returns the passkey of a response to CreationOptions. The caller sets ID, name and
	// times.
	Created(challenge [32]byte, p domain.Person, answer []byte) (domain.Passkey, error)
	// RequestOptions returns options to sign in with one of the passkeys. Without any, the person
	// chooses one in the browser.
	RequestOptions(challenge [32]byte, allowed []domain.Passkey) ([]byte, error)
	// Names returns the credential and the person that a response to RequestOptions claims. Nothing
	// of it is proven yet.
	Names(answer []byte) (credentialID []byte, person domain.ID, err error)
	// Verify checks such a response against the passkey, and returns its signature counter.
	// PasskeyStore.Used compares the counter with the stored one.
	Verify(challenge [32]byte, answer []byte, k domain.Passkey) (signCount uint32, err error)
}

// PasskeyReader reads passkeys.
type PasskeyReader interface {
	// OfPerson lists the passkeys of a person, oldest first.
	OfPerson(ctx context.Context, person domain.ID) ([]domain.Passkey, error)
	FindByCredential(ctx context.Context, credentialID []byte) (domain.Passkey, error)
}

// PasskeyStore stores passkeys.
type PasskeyStore interface {
	PasskeyReader
	// Insert returns domain.PasskeyTaken where any person has the credential.
	Insert(ctx context.Context, k domain.Passkey) error
	// Used stores a use. Where signCount is not higher than the stored one, and not both are 0, it
	// stores nothing and returns domain.ErrNotFound, as for a deleted passkey. So the second of two
	// uses with one count fails.
	Used(ctx context.Context, id domain.ID, signCount uint32, at time.Time) error
	// Rename and Remove return domain.ErrNotFound for a passkey of another person.
	Rename(ctx context.Context, person, id domain.ID, name string) error
	Remove(ctx context.Context, person, id domain.ID) error
	// RemoveAll removes the passkeys of a person and returns their number.
	RemoveAll(ctx context.Context, person domain.ID) (int, error)
}

// CeremonyStore stores challenges until they are answered, and those of sign-ins once they have
// succeeded.
type CeremonyStore interface {
	// Insert returns ErrIDTaken where the ID exists.
	Insert(ctx context.Context, c domain.Ceremony) error
	// Take returns a challenge and deletes it. Of concurrent callers one gets it, and the others
	// get domain.ErrNotFound.
	Take(ctx context.Context, id domain.ID) (domain.Ceremony, error)
}
