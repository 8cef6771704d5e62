package aesgcm

import (
	"errors"

	"waybill/domain"
)

// None stands in a process that seals nothing and has no key.
type None struct{}

var errNoKey = errors.New("signing secrets need the secret key")

// Seal refuses: there is no key.
func (None) Seal(string, []byte) ([]byte, error) { return nil, errNoKey }

// Derive refuses: there is no key.
func (None) Derive(string) ([domain.SigningSecretBytes]byte, error) {
	return [domain.SigningSecretBytes]byte{}, errNoKey
}

// Open refuses: there is no key.
func (None) Open(string, []byte) ([]byte, error) { return nil, errNoKey }

// Current is false: nothing is sealed under no key.
func (None) Current([]byte) bool { return false }
