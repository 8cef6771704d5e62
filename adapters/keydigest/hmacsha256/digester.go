// Package hmacsha256 digests API keys with HMAC-SHA256 under a pepper.
//
// The pepper is what a stolen table lacks. A slow password hash was rejected:
// keys have 190 random bits, so that there is nothing to guess, and the digest
// is computed in the path of every request.
package hmacsha256

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"hash"
	"sync"

	"waybill/ports"
)

var _ ports.KeyDigester = (*Digester)(nil)

// minPepper is the least a pepper has: fewer bytes could be searched for.
const minPepper = 16

// Digester digests under one pepper. It is safe for concurrent use.
type Digester struct {
	macs sync.Pool // of hash.Hash: half of a digest is to get ready for it
}

// New makes a digester. A pepper of fewer than 16 bytes is an error.
func New(pepper string) (*Digester, error) {
	if len(pepper) < minPepper {
		return nil, errors.New("hmacsha256: the pepper has fewer than 16 bytes")
	}
	key := []byte(pepper)
	return &Digester{macs: sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}, nil
}

// Digest is the HMAC-SHA256 of the secret.
func (d *Digester) Digest(secret string) (digest [32]byte) {
	mac := d.macs.Get().(hash.Hash)
	defer d.macs.Put(mac)
	mac.Reset()
	mac.Write([]byte(secret))
	mac.Sum(digest[:0])
	return digest
}
