package crypto

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"waybill/domain"
	"waybill/ports"
)

var _ ports.Sealer = (*Sealer)(nil)

const (
	version    = 1
	keySize    = 32
	keyIDSize  = 8
	headerSize = 1 + keyIDSize
	overhead   = 12 + 16 // nonce and tag

	// minSecret is the minimum length of a secret in bytes: a search could find a shorter one.
	minSecret = 16

	derivation = "waybill/sealer/aesgcm/v1"
	// derivedFor is the prefix of the purpose of a derived secret.
	derivedFor = "waybill/sealer/derived/v1/"
)

var (
	errShort  = errors.New("the sealed text is too short, or none")
	errKey    = errors.New("the sealed text was made under a key that is not known")
	errOpened = errors.New("the sealed text was changed, or has another purpose")
)

// header holds the version and the key ID of a sealed text.
type header [headerSize]byte

// Sealer seals under one key and opens under several. It is safe for concurrent use.
type Sealer struct {
	secret  []byte // the current secret of the server
	current header
	keys    map[header]cipher.AEAD
}

// NewSealer creates a sealer. It seals under the current secret of the server and also opens
// texts sealed under a previous one. A secret of fewer than 16 bytes is an error.
func NewSealer(current []byte, previous ...[]byte) (*Sealer, error) {
	s := &Sealer{secret: bytes.Clone(current), keys: make(map[header]cipher.AEAD, 1+len(previous))}
	for i, secret := range append([][]byte{current}, previous...) {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("a secret has fewer than %d bytes", minSecret)
		}
		id, key, err := derive(secret)
		if err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
		s.keys[id] = key
		if i == 0 {
			s.current = id
		}
	}
	return s, nil
}

func derive(secret []byte) (id header, key cipher.AEAD, err error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, derivation, keySize)
	if err != nil {
		return id, nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return id, nil, err
	}
	digest := sha256.Sum256(derived)
	id[0] = version
	copy(id[1:], digest[:])
	key, err = cipher.NewGCMWithRandomNonce(block)
	return id, key, err
}

// Seal encrypts under the current key.
func (s *Sealer) Seal(purpose string, plain []byte) ([]byte, error) {
	sealed := make([]byte, headerSize, headerSize+len(plain)+overhead)
	copy(sealed, s.current[:])
	//nolint:gosec // this AEAD draws each nonce itself and takes none
	return s.keys[s.current].Seal(sealed, nil, plain, authenticated(s.current, purpose)), nil
}

// Open decrypts a text with the key that sealed it.
func (s *Sealer) Open(purpose string, sealed []byte) ([]byte, error) {
	if len(sealed) < headerSize+overhead {
		return nil, errShort
	}
	id := header(sealed)
	key, ok := s.keys[id]
	if !ok {
		return nil, errKey
	}
	plain, err := key.Open(nil, nil, sealed[headerSize:], authenticated(id, purpose))
	if err != nil {
		return nil, errOpened // the cause adds nothing
	}
	return plain, nil
}

// Current reports whether a text was sealed under the current key.
func (s *Sealer) Current(sealed []byte) bool { return bytes.HasPrefix(sealed, s.current[:]) }

// Derive derives a secret for the purpose, by HKDF from the server's current secret.
func (s *Sealer) Derive(purpose string) (derived [domain.SigningSecretBytes]byte, err error) {
	key, err := hkdf.Key(sha256.New, s.secret, nil, derivedFor+purpose, len(derived))
	if err != nil {
		return derived, fmt.Errorf("derive a secret: %w", err)
	}
	copy(derived[:], key)
	return derived, nil
}

func authenticated(id header, purpose string) []byte {
	return bytes.Join([][]byte{id[:], []byte(purpose)}, nil)
}
