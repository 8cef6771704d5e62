package crypto

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
	"sync"

	"waybill/ports"
)

var _ ports.KeyDigester = (*KeyDigester)(nil)

// minPepper is the least a pepper has: fewer bytes could be searched for.
const minPepper = 16

// KeyDigester digests under the server's pepper, and under previous ones while that
// is being changed. It is safe for concurrent use.
type KeyDigester struct {
	current  *sync.Pool // of hash.Hash: half of a digest is to get ready for it
	previous []*sync.Pool
}

// New makes a digester. A pepper of fewer than 16 bytes is an error.
func NewKeyDigester(pepper string, previous ...string) (*KeyDigester, error) {
	var pools []*sync.Pool
	for _, p := range append([]string{pepper}, previous...) {
		if len(p) < minPepper {
			return nil, errors.New("a pepper has fewer than 16 bytes")
		}
		key := []byte(p)
		pools = append(pools, &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }})
	}
	return &KeyDigester{current: pools[0], previous: pools[1:]}, nil
}

// Digest is the HMAC-SHA256 of the secret under the pepper.
func (d *KeyDigester) Digest(secret string) [32]byte { return digest(d.current, secret) }

// Previous are the digests under the previous peppers, in their order.
func (d *KeyDigester) Previous(secret string) [][32]byte {
	var digests [][32]byte
	for _, macs := range d.previous {
		digests = append(digests, digest(macs, secret))
	}
	return digests
}

func digest(macs *sync.Pool, secret string) (sum [32]byte) {
	mac := macs.Get().(hash.Hash)
	defer macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(secret))
	mac.Sum(sum[:0])
	return sum
}
