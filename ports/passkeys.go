package ports

import (
	"context"
	"errors"
	"time"

	"waybill/domain"
)

// ErrPasskeyRefused means that the answer of a browser to a challenge cannot be read
// or proves nothing: another challenge, another site, an unverified person, or a
// signature of another key. The wrapped error has the reason, for a log.
var ErrPasskeyRefused = errors.New("the passkey is refused")

// Passkeys speak WebAuthn with browsers, for the pages of one host. Options and
// answers are the JSON of WebAuthn Level 3. Nothing is stored here, and a person is
// always verified by the device.
type Passkeys interface {
	// Host is the one that passkeys are made for, or domain.CodePasskeysUnavailable with
	// the reason why there are none at the address of the pages. Without a host,
	// CreationOptions and RequestOptions fail in the same way.
	Host() (string, error)
	// CreationOptions ask a browser for a new passkey of the person, on a device that has
	// none of the known ones.
	CreationOptions(challenge [32]byte, p domain.Person, known []domain.Passkey) ([]byte, error)
	// Created is the passkey of an answer to CreationOptions. ID, name and times are left
	// to the caller.
	Created(challenge [32]byte, p domain.Person, answer []byte) (domain.Passkey, error)
	// RequestOptions ask a browser for one of the passkeys; without any, for one that the
	// person chooses there.
	RequestOptions(challenge [32]byte, allowed []domain.Passkey) ([]byte, error)
	// Names tells which credential an answer to RequestOptions claims to be of, and of
	// which person. Nothing of it is proven yet.
	Names(answer []byte) (credentialID []byte, person domain.ID, err error)
	// Verify checks such an answer against the passkey, and returns the count of uses in
	// it. Whether that is higher than the stored one is left to PasskeyStore.Used.
	Verify(challenge [32]byte, answer []byte, k domain.Passkey) (signCount uint32, err error)
}

// PasskeyReader reads passkeys.
type PasskeyReader interface {
	// OfPerson are the passkeys of a person, oldest first.
	OfPerson(ctx context.Context, person domain.ID) ([]domain.Passkey, error)
	FindByCredential(ctx context.Context, credentialID []byte) (domain.Passkey, error)
}

// PasskeyStore keeps passkeys.
type PasskeyStore interface {
	PasskeyReader
	// Insert answers domain.PasskeyTaken where any person has the credential.
	Insert(ctx context.Context, k domain.Passkey) error
	// Used keeps a use. Where the count of uses is not higher than the stored one, and
	// not both are 0, it keeps nothing and answers domain.ErrNotFound, as it does for a
	// passkey that is gone: of two uses with one count the second one fails.
	Used(ctx context.Context, id domain.ID, signCount uint32, at time.Time) error
	// Rename and Remove answer domain.ErrNotFound for a passkey of another person.
	Rename(ctx context.Context, person, id domain.ID, name string) error
	Remove(ctx context.Context, person, id domain.ID) error
	// RemoveAll removes those of a person, and tells how many there were.
	RemoveAll(ctx context.Context, person domain.ID) (int, error)
}

// CeremonyStore keeps challenges until they are answered.
type CeremonyStore interface {
	Insert(ctx context.Context, c domain.Ceremony) error
	// Take returns a challenge and deletes it: of any number of callers at once one gets
	// it and the others get domain.ErrNotFound.
	Take(ctx context.Context, id domain.ID) (domain.Ceremony, error)
}
