package crypto

import (
	"errors"

	"waybill/domain"
)

// NoSealer serves a process that seals nothing and has no key.
type NoSealer struct{}

var errNoKey = errors.New("signing secrets need the secret key")

// Seal fails: there is no key.
func (NoSealer) Seal(string, []byte) ([]byte, error) { return nil, errNoKey }

// Derive fails: there is no key.
func (NoSealer) Derive(string) ([domain.SigningSecretBytes]byte, error) {
	return [domain.SigningSecretBytes]byte{}, errNoKey
}

// Open fails: there is no key.
func (NoSealer) Open(string, []byte) ([]byte, error) { return nil, errNoKey }

// Current returns false: without a key nothing is sealed.
func (NoSealer) Current([]byte) bool { return false }
