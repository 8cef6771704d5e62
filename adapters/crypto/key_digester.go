package crypto

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"

	"waybill/ports"
)

var _ ports.KeyDigester = (*KeyDigester)(nil)

// minPepper is the minimum length of a pepper in bytes: a search could find a shorter one.
const minPepper = 16

// KeyDigester digests keys under the server's pepper, and under previous ones during a
// rotation. It is safe for concurrent use.
type KeyDigester struct {
	current  []byte
	previous [][]byte
}

// NewKeyDigester creates a digester. A pepper of fewer than 16 bytes is an error.
func NewKeyDigester(pepper string, previous ...string) (*KeyDigester, error) {
	var peppers [][]byte
	for _, p := range append([]string{pepper}, previous...) {
		if len(p) < minPepper {
			return nil, errors.New("a pepper has fewer than 16 bytes")
		}
		peppers = append(peppers, []byte(p))
	}
	return &KeyDigester{current: peppers[0], previous: peppers[1:]}, nil
}

// Digest returns the HMAC-SHA256 of the secret under the pepper.
func (d *KeyDigester) Digest(secret string) [32]byte { return digest(d.current, secret) }

// Previous returns the digests under the previous peppers, in their order.
func (d *KeyDigester) Previous(secret string) [][32]byte {
	var digests [][32]byte
	for _, pepper := range d.previous {
		digests = append(digests, digest(pepper, secret))
	}
	return digests
}

func digest(pepper []byte, secret string) [32]byte {
	mac := hmac.New(sha256.New, pepper)
	mac.Write([]byte(secret))
	return [32]byte(mac.Sum(nil))
}
