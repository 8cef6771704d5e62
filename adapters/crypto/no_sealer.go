package crypto

import (
	"errors"

	"waybill/domain"
)

// NoSealer stands in a process that seals nothing and has no key.
type NoSealer struct{}

var errNoKey = errors.New("signing secrets need the secret key")

// Seal refuses: there is no key.
func (NoSealer) Seal(string, []byte) ([]byte, error) { return nil, errNoKey }

// Derive refuses: there is no key.
func (NoSealer) Derive(string) ([domain.SigningSecretBytes]byte, error) {
	return [domain.SigningSecretBytes]byte{}, errNoKey
}

// Open refuses: there is no key.
func (NoSealer) Open(string, []byte) ([]byte, error) { return nil, errNoKey }

// Current is false: nothing is sealed under no key.
func (NoSealer) Current([]byte) bool { return false }
